/* UTF-8 (RFC 3629). */
#ifndef KFORGE_UTF8_H
#define KFORGE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of the valid sequence at `s`, with `left` > 0 bytes left. Returns 0 for an
 * invalid one: overlong, a surrogate, past U+10FFFF, or NUL. */
static inline size_t kf_utf8_length(const unsigned char *s, size_t left)
{
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80         ? 1
                    : (s[0] >> 5) == 6  ? 2
                    : (s[0] >> 4) == 14 ? 3
                    : (s[0] >> 3) == 30 ? 4
                                        : 0;
    if (length == 0 || length > left) return 0;
    uint32_t code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0
                                                                                        : length;
}

#endif
