/* The rewriter on any text: no crash, bounded output, as many lines as before, and its own output
 * can be rewritten again. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    kf_rewrite_result once, twice;
    kf_error error;
    bool sanitize = size && (data[size - 1] & 1);
    if (kf_rewrite(text, size, sanitize, &once, &error)) {
        if (once.text.size > 4 * size + (1u << 16)) abort();
        /* Tokens that hold newlines (raw strings, continued lines) may be copied to another place,
         * newlines included. */
        bool plain = !memmem(text, size, "R\"", 2) && !memmem(text, size, "\\\n", 2);
        if (plain && count_lines(text, size) !=
                         count_lines(once.text.data ? once.text.data : "", once.text.size))
            abort();
        for (size_t i = 0; i < once.finding_count; i++)
            if (!once.findings[i].construct || !once.findings[i].advice ||
                !memchr(once.findings[i].word, '\0', sizeof once.findings[i].word))
                abort();
        kf_rewrite(once.text.data ? once.text.data : "", once.text.size, false, &twice, &error);
        kf_rewrite_free(&twice);
    }
    kf_rewrite_free(&once);
    return 0;
}
