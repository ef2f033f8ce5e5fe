/* Event streams: the same events however the bytes are cut, whatever they are. The first byte says
 * into what pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool note(void *context, const char *name, const char *data, size_t size)
{
    kf_buffer *events = context;
    if (data[size] != '\0') abort();
    kf_buffer_append(events, name, strlen(name) + 1);
    kf_buffer_append(events, &size, sizeof size);
    kf_buffer_append(events, data, size);
    return true;
}

static void parse(const uint8_t *data, size_t size, size_t piece, kf_buffer *events)
{
    kf_sse sse;
    kf_error error = {0};
    kf_sse_open(&sse, note, events);
    bool fed = true;
    for (size_t at = 0; at < size && fed; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        kf_autofree char *copy = malloc(length);
        memcpy(copy, data + at, length);
        fed = kf_sse_feed(&sse, copy, length, &error);
    }
    if (fed) fed = kf_sse_end(&sse, &error);
    if (!fed && error.code != KF_ERROR_LIMIT) abort();
    kf_sse_close(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    kf_autobuffer whole = {0}, pieces = {0};
    parse(data + 1, size - 1, size, &whole);
    parse(data + 1, size - 1, 1 + data[0] % 64, &pieces);
    if (whole.size != pieces.size ||
        (whole.size && memcmp(whole.data, pieces.data, whole.size) != 0))
        abort();
    return 0;
}
