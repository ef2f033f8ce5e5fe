/* The rewriter on any text: no crash, bounded output, and rewriting its own output again works as well. */
#include <stdint.h>
#include <stdlib.h>

#include "rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kf_rewrite_result once, twice;
    kf_error error;
    bool sanitize = size && data[size - 1] & 1;
    if (kf_rewrite((const char *)data, size, sanitize, &once, &error)) {
        if (once.text.size > 4 * size + (1u << 16)) abort();
        for (size_t i = 0; i < once.finding_count; i++)
            if (once.findings[i].line < 0 || !once.findings[i].construct || !once.findings[i].advice) abort();
        if (kf_rewrite(once.text.data ? once.text.data : "", once.text.size, false, &twice, &error)) {
            if (twice.launches) abort(); /* none are left the first time, but where they are refused */
        }
        kf_rewrite_free(&twice);
    }
    kf_rewrite_free(&once);
    return 0;
}
