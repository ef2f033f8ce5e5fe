/* Replies: whatever a model sends, extraction gives a NUL-terminated source or an error. The first
 * line of the input is the entry's name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "extract.h"
#include "tuner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *feed = memchr(data, '\n', size);
    if (!feed || feed - data > 64) return 0;
    kf_autofree char *entry = strndup((const char *)data, (size_t)(feed - data));
    /* A copy of exactly the size, so that a read past the end is found. */
    size_t length = size - (size_t)(feed + 1 - data);
    kf_autofree char *reply = malloc(length ? length : 1);
    memcpy(reply, feed + 1, length);
    kf_error error = {0};
    bool python;
    kf_autofree char *candidate = kf_extract_candidate(reply, length, entry, true, &python, &error);
    if (!candidate && !error.text[0]) abort();
    kf_autofree char *source = kf_extract_source(reply, length, entry, &error);
    if (!source) {
        if (!error.text[0] || strchr(error.text, '\n')) abort();
        return 0;
    }
    if (strspn(source, " \t\r\n\v\f") == strlen(source)) abort();
    /* The tuner reads what was extracted. */
    kf_auto(kf_tune_space) space = kf_tune_space_read(source, &error);
    if (space) {
        kf_tune_point point;
        kf_tune_point_default(space, &point);
        if (!kf_tune_point_valid(space, &point)) abort();
        kf_autofree char *tuned = kf_tune_point_apply(space, &point, source, &error);
        if (!tuned) abort();
    }
    return 0;
}
