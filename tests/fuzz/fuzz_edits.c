/* Search/replace edits: parent source and reply are separated by the first line that is "%%". */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "extract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *split = memmem(data, size, "\n%%\n", 4);
    if (!split) return 0;
    kf_autofree char *parent = strndup((const char *)data, (size_t)(split - data) + 1);
    size_t length = size - (size_t)(split + 4 - data);
    kf_autofree char *reply = malloc(length ? length : 1);
    memcpy(reply, split + 4, length);
    int applied = -1;
    kf_error error = {0};
    kf_autofree char *source = kf_extract_apply(parent, reply, length, &applied, &error);
    if (applied < 0) abort();
    if (!source && (!error.text[0] || strchr(error.text, '\n'))) abort();
    if (source && (applied < 1 || !kf_extract_has_edits(reply, length))) abort();
    return 0;
}
