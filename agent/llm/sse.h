/* Event streams (https://html.spec.whatwg.org/multipage/server-sent-events.html, "Parsing an event
 * stream"): bytes in, events out. Pure.
 *
 * Pieces may be cut anywhere. Lines end in CRLF, LF or CR; a byte order mark at the start,
 * comments, ids and unknown fields are skipped; several data lines become one text with line feeds
 * between. Bytes are handed out as they came: whether they are UTF-8 is the reader's question, so a
 * character cut by a piece's border is whole again. An event left without its blank line at the end
 * of the stream is handed out by kf_sse_end, unlike in the standard: servers forget it, and what
 * was paid for is not dropped.
 */
#ifndef KFORGE_SSE_H
#define KFORGE_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define KF_SSE_BYTES (5u << 20) /* of one event's data, and of one line */

/* `name` is "" when the event has none. `data` is NUL-terminated. Both belong to the parser.
 * Returns false to stop. */
typedef bool (*kf_sse_handler)(void *context, const char *name, const char *data, size_t size);

typedef struct kf_sse {
    kf_sse_handler handler;
    void *context;
    kf_buffer line, data; /* a line that has not ended; the event's data until now */
    char name[64];        /* longer ones are cut */
    bool has_data, after_cr, started, stopped;
    int mark; /* bytes of the byte order mark seen */
} kf_sse;

void kf_sse_open(kf_sse *sse, kf_sse_handler handler, void *context);
/* False when the handler stopped it or an event is over KF_SSE_BYTES (KF_ERROR_LIMIT); then nothing
 * more is handed out. */
bool kf_sse_feed(kf_sse *sse, const char *data, size_t size, kf_error *error);
bool kf_sse_end(kf_sse *sse, kf_error *error);
void kf_sse_close(kf_sse *sse);

#endif
