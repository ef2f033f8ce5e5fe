/* Event streams: bytes in, events out. Pure. Source:
 * https://html.spec.whatwg.org/multipage/server-sent-events.html, "Parsing an event stream".
 *
 * A piece may end anywhere. Lines end in CRLF, LF or CR. The parser skips a byte order mark at the
 * start, comments, ids and unknown fields. It joins several data lines with line feeds. It hands
 * bytes out unchanged and does not check UTF-8, so a character that spans two pieces is whole
 * again. Unlike the standard, kf_sse_end hands out a last event without its blank line: servers
 * forget it, and the user has paid for the text. */
#ifndef KFORGE_SSE_H
#define KFORGE_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

/* Limit of one event's data, and of one line. */
#define KF_SSE_BYTES (5u << 20)

/* Takes an event. `name` is "" if the event has none. `data` is NUL-terminated. Both belong to the
 * parser. Returns false to stop. */
typedef bool (*kf_sse_handler)(void *context, const char *name, const char *data, size_t size);

typedef struct kf_sse {
    kf_sse_handler handler;
    void *context;
    /* The unfinished line, and the data of the event so far. */
    kf_buffer line, data;
    /* Longer names are cut. */
    char name[64];
    bool has_data, after_cr, started, stopped;
    /* Bytes of the byte order mark seen so far. */
    int mark;
} kf_sse;

void kf_sse_open(kf_sse *sse, kf_sse_handler handler, void *context);
/* False if the handler stopped or an event exceeds KF_SSE_BYTES (KF_ERROR_LIMIT). The parser then
 * hands out no more events. */
bool kf_sse_feed(kf_sse *sse, const char *data, size_t size, kf_error *error);
bool kf_sse_end(kf_sse *sse, kf_error *error);
void kf_sse_close(kf_sse *sse);

#endif
