/* Lines and spans, which the files of this folder share. Internal to agent/. */
#ifndef KFORGE_AGENT_EXTRACT_INTERNAL_H
#define KFORGE_AGENT_EXTRACT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

typedef struct kf_span {
    /* Borrowed. */
    const char *data;
    size_t size;
} kf_span;

/* Takes the next line from `rest`, without its line break (LF or CRLF). False at the end. */
bool kf_span_line(kf_span *rest, kf_span *line);
/* Returns the line without white space at both ends. */
kf_span kf_span_trim(kf_span line);
bool kf_span_equal(kf_span span, const char *text);

/* Returns the part of a reply behind its reasoning (<think>…</think> and others). *only_reasoning:
 * the reasoning has no end, and the whole reply is returned. */
kf_span kf_reply_answer(const char *reply, size_t size, bool *only_reasoning);
/* Checks the size, NUL bytes and that there is text. */
bool kf_reply_check(const char *reply, size_t size, kf_error *error);

#endif
