/* Finding candidates that are the same, by hashes of their normalised source and of their machine
 * code. Exports keep one of them. */
#include <ctype.h>
#include <string.h>

#include "export_internal.h"

/* ---- normalised source ----------------------------------------------------------------------- */

/* Returns the end of the string or character literal that begins at `at`. */
static size_t skip_literal(const char *text, size_t size, size_t at)
{
    char quote = text[at++];
    while (at < size && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return at < size ? at + 1 : size;
}

static bool is_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

uint64_t kf_normalised_source(const char *source, size_t size)
{
    uint64_t hash = KF_HASH_START;
    bool gap = false;       /* white space or a comment since the last byte */
    unsigned char last = 0; /* byte that was hashed last */
    for (size_t at = 0; at < size;) {
        unsigned char c = (unsigned char)source[at];
        if (c == '/' && at + 1 < size && source[at + 1] == '/') {
            while (at < size && source[at] != '\n') at++;
            gap = true;
        } else if (c == '/' && at + 1 < size && source[at + 1] == '*') {
            at += 2;
            while (at < size && !(source[at] == '*' && at + 1 < size && source[at + 1] == '/'))
                at++;
            at += 2;
            gap = true;
        } else if (isspace(c)) {
            /* The end of a preprocessor line has a meaning. Other white space only separates words.
             */
            gap = true;
            at++;
        } else {
            if (gap &&
                ((is_word(last) && is_word(c)) || (last == c && strchr("+-&|<>=", c)) || c == '#'))
                hash = kf_hash_step(hash, ' ');
            gap = false;
            size_t end = c == '"' || c == '\'' ? skip_literal(source, size, at) : at + 1;
            if (end > size) end = size;
            for (; at < end; at++) hash = kf_hash_step(hash, (unsigned char)source[at]);
            last = (unsigned char)source[end - 1];
        }
    }
    return kf_hash_finish(hash);
}

/* ---- folding --------------------------------------------------------------------------------- */

uint64_t kf_fold_code(const char *code_hash, size_t size)
{
    return code_hash && size ? kf_hash_mix(1, code_hash, size) : 0;
}

kf_fold kf_fold_of(int64_t task, int64_t device, const char *source, size_t size, uint64_t code)
{
    uint64_t place[3] = {(uint64_t)task, (uint64_t)device, kf_normalised_source(source, size)};
    kf_fold fold = {.source = kf_hash_mix(2, place, sizeof place)};
    place[2] = code;
    if (code) fold.code = kf_hash_mix(3, place, sizeof place);
    return fold;
}

bool kf_fold_has(const kf_hash_set *seen, const kf_fold *fold)
{
    return (fold->source && kf_hash_set_has(seen, fold->source)) ||
           (fold->code && kf_hash_set_has(seen, fold->code));
}

void kf_fold_add(kf_hash_set *seen, const kf_fold *fold)
{
    if (fold->source) kf_hash_set_add(seen, fold->source);
    if (fold->code) kf_hash_set_add(seen, fold->code);
}

bool kf_export_is_new(kf_exporter *e, const kf_fold *fold)
{
    if (!e->options->dedup) return true;
    if (kf_fold_has(&e->seen, fold)) return e->report->duplicates++, false;
    kf_fold_add(&e->seen, fold);
    return true;
}
