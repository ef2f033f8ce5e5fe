/* The canonical form of any text: no crash, a hash exactly if there is a form, the same result each
 * time, and the same after a comment. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "canonical_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *source = (const char *)data;
    kf_error error = {0};
    kf_autobuffer form = {0}, again = {0}, commented = {0};
    char hash[KF_HASH_HEX] = "", behind[KF_HASH_HEX] = "";
    bool has_text = kf_canonical_source_text(source, size, &form, &error),
         has_hash = kf_canonical_source_hash(source, size, hash, &error);
    if (has_text != has_hash) abort();
    if (!has_text) {
        if (error.code == KF_ERROR_NONE) abort();
        return 0;
    }
    if (*hash && strlen(hash) != KF_HASH_HEX - 1) abort();
    if (!*hash && form.size) abort();
    if (!kf_canonical_source_text(source, size, &again, &error) || again.size != form.size) abort();
    if (form.size && memcmp(form.data, again.data, form.size) != 0) abort();
    kf_buffer_string(&commented, "// of a model that likes to explain\n\n");
    kf_buffer_append(&commented, source, size);
    if (kf_canonical_source_hash(commented.data, commented.size, behind, &error) &&
        strcmp(hash, behind) != 0)
        abort();
    return 0;
}
