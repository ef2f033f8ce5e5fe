#include "sse.h"

#include <string.h>

void kf_sse_open(kf_sse *sse, kf_sse_handler handler, void *context)
{
    *sse = (kf_sse){.handler = handler,
                    .context = context,
                    .line = {.limit = KF_SSE_BYTES + 64},
                    .data = {.limit = KF_SSE_BYTES}};
}

void kf_sse_close(kf_sse *sse)
{
    kf_buffer_free(&sse->line);
    kf_buffer_free(&sse->data);
}

static bool fail_size(kf_sse *sse, kf_error *error)
{
    sse->stopped = true;
    return kf_fail(error, KF_ERROR_LIMIT, "an event of the stream has more than %u bytes",
                   KF_SSE_BYTES);
}

/* Hands the event out at a blank line, if it has data. */
static bool dispatch(kf_sse *sse)
{
    bool go_on =
        !sse->has_data ||
        sse->handler(sse->context, sse->name, sse->data.data ? sse->data.data : "", sse->data.size);
    /* A large event must not keep its memory for the rest of a long stream. */
    if (sse->data.capacity > 65536) kf_buffer_free(&sse->data);
    kf_buffer_clear(&sse->data);
    sse->name[0] = '\0';
    sse->has_data = false;
    sse->stopped = !go_on;
    return go_on;
}

static bool is_field(const char *line, size_t length, const char *name, const char **value,
                     size_t *size)
{
    size_t known = strlen(name);
    if (length < known || memcmp(line, name, known) != 0 || (length > known && line[known] != ':'))
        return false;
    size_t start = length > known ? known + 1 : length;
    if (start < length && line[start] == ' ') start++;
    *value = line + start;
    *size = length - start;
    return true;
}

static bool take_line(kf_sse *sse, const char *line, size_t length, kf_error *error)
{
    const char *value;
    size_t size;
    if (length == 0) return dispatch(sse);
    if (is_field(line, length, "data", &value, &size)) {
        if (sse->has_data) kf_buffer_append(&sse->data, "\n", 1);
        kf_buffer_append(&sse->data, value, size);
        sse->has_data = true;
        return !sse->data.failed || fail_size(sse, error);
    }
    if (is_field(line, length, "event", &value, &size)) {
        if (size >= sizeof sse->name) size = sizeof sse->name - 1;
        memcpy(sse->name, value, size);
        sse->name[size] = '\0';
    }
    return true;
}

/* Skips a byte order mark, even in pieces. Gives the bytes back to the line if they are no mark. */
static void skip_mark(kf_sse *sse, const char **data, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    while (!sse->started && *data < end) {
        if (sse->mark < 3 && **data == mark[sse->mark]) {
            sse->mark++;
            ++*data;
            if (sse->mark == 3) sse->started = true;
        } else {
            kf_buffer_append(&sse->line, mark, (size_t)sse->mark);
            sse->started = true;
        }
    }
}

bool kf_sse_feed(kf_sse *sse, const char *data, size_t size, kf_error *error)
{
    const char *end = data + size;
    skip_mark(sse, &data, end);
    while (data < end && !sse->stopped) {
        if (sse->after_cr) {
            sse->after_cr = false;
            if (*data == '\n' && ++data == end) break;
        }
        size_t left = (size_t)(end - data);
        const char *feed = memchr(data, '\n', left),
                   *stop = memchr(data, '\r', feed ? (size_t)(feed - data) : left);
        if (!stop) stop = feed;
        if (!stop) {
            kf_buffer_append(&sse->line, data, left);
            return !sse->line.failed || fail_size(sse, error);
        }
        size_t length = (size_t)(stop - data);
        if (sse->line.size) {
            kf_buffer_append(&sse->line, data, length);
            if (sse->line.failed) return fail_size(sse, error);
            take_line(sse, sse->line.data, sse->line.size, error);
            if (sse->line.capacity > 65536) kf_buffer_free(&sse->line);
            kf_buffer_clear(&sse->line);
        } else {
            take_line(sse, data, length, error);
        }
        sse->after_cr = *stop == '\r';
        data = stop + 1;
    }
    return !sse->stopped;
}

bool kf_sse_end(kf_sse *sse, kf_error *error)
{
    if (sse->stopped) return false;
    if (!sse->started && sse->mark)
        kf_buffer_append(&sse->line, "\xef\xbb\xbf", (size_t)sse->mark), sse->started = true;
    if (sse->line.size && !take_line(sse, sse->line.data, sse->line.size, error)) return false;
    kf_buffer_clear(&sse->line);
    return dispatch(sse);
}
