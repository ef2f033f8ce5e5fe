/* A stream of events for dashboards and experiment trackers (docs/reference/json.md#events).
 *
 * Each event is one line of JSON:
 *
 *   {"schema":"kforge-event/1","t":SECONDS,"run":"…","seq":N,"event":"attempt", fields…}
 *
 * `t` is in seconds since 1970. `seq` rises by one from line to line, so a gap shows lost lines.
 * The fields of each kind are in docs/reference/kforge-event.schema.json.
 *
 * Writing never fails and never waits, because a run must not depend on its dashboard. If the disk
 * is full or the reader is slow, up to KF_EVENT_BACKLOG bytes wait for their turn, and later events
 * are lost. Events are also lost while a named pipe has no reader. kf_event_stream_trouble reports
 * the first loss.
 *
 * Threads may share a stream. So may forked processes: they share `seq`, and a child starts without
 * the lines that wait in its parent. Callers ignore SIGPIPE. A stream may be NULL: then the
 * functions do nothing, apart from freeing `fields`. */
#ifndef KFORGE_EVENT_STREAM_H
#define KFORGE_EVENT_STREAM_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_EVENT_SCHEMA "kforge-event/1"
/* Bytes that wait at most. */
#define KF_EVENT_BACKLOG (1u << 20)
/* Bytes of a text in an event; longer ones are cut. */
#define KF_EVENT_TEXT 400
/* A longer line is lost: writes of at most so many bytes to a pipe are atomic. */
#define KF_EVENT_LINE 4096
/* Bytes of kf_event_stream_id, with the NUL. */
#define KF_EVENT_ID 20

/* In the order of the names in the format. */
typedef enum kf_event_kind {
    KF_EVENT_RUN_START,
    KF_EVENT_CALL,
    KF_EVENT_ATTEMPT,
    KF_EVENT_BEST,
    KF_EVENT_VERIFY,
    KF_EVENT_BUDGET,
    KF_EVENT_WORKER,
    KF_EVENT_RUN_END,
    KF_EVENT_KIND_COUNT
} kf_event_kind;

typedef struct kf_event_stream kf_event_stream;

/* Opens "fd:N", an inherited descriptor, or a file. A file is made with mode 0600, or appended to.
 * It may be a named pipe. A symbolic link is followed only if it belongs to this user or to root.
 * KF_ERROR_INPUT names the fault, as in "--events FILE: …". A full disk is no error here. */
kf_event_stream *kf_event_stream_open(const char *where, kf_error *error);
/* Writes what waits, for a few seconds at most, and closes. */
void kf_event_stream_close(kf_event_stream *stream);
KF_DEFINE_AUTO(kf_event_stream, kf_event_stream_close)

/* Returns a random id, for the field `run` of a process without a run in the store. */
const char *kf_event_stream_id(const kf_event_stream *stream);

/* Writes one event. Takes ownership of `fields`, an object or NULL. `run`: id of the run. */
void kf_event_write(kf_event_stream *stream, kf_event_kind kind, const char *run, cJSON *fields);
/* Tries again to write what waits. Call it now and then while there are no events. */
void kf_event_stream_flush(kf_event_stream *stream);
/* True once, after the first loss or delay. *why is the message for the user. Of several processes
 * that share the stream, one gets it. */
bool kf_event_stream_trouble(kf_event_stream *stream, kf_error *why);

/* Returns the fields that every `run.start` begins with: `kind` ("search", "bench", "worker" or
 * "serve"), version of kforge, $TRACEPARENT. */
cJSON *kf_event_start_fields(const char *kind);

/* Write the first and the last event of a worker or a server. `device`: the hardware that judges,
 * or NULL. `why`: what ended the process early, or NULL. */
void kf_event_process_start(kf_event_stream *stream, const char *kind, const char *device);
void kf_event_process_end(kf_event_stream *stream, const kf_error *why, bool interrupted);

/* ---- fields ---------------------------------------------------------------------------------- */

/* Add a field to an event. A text is cut, and control characters and invalid UTF-8 become '?'. NULL
 * becomes "". A number that is not finite becomes null. */
void kf_event_text(cJSON *fields, const char *name, const char *text);
void kf_event_number(cJSON *fields, const char *name, double value);
void kf_event_boolean(cJSON *fields, const char *name, bool value);
/* Adds [value, low, high], or null if `value` is not finite. */
void kf_event_interval(cJSON *fields, const char *name, double value, double low, double high);
/* Returns the W3C trace context in $TRACEPARENT, or "" if it is unset or malformed. */
const char *kf_event_traceparent(void);

#endif
