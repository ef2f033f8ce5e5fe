/* Shared by extract.c (whole sources) and extract_edit.c (search/replace edits). Internal to
 * agent/. */
#ifndef KFORGE_AGENT_EXTRACT_INTERNAL_H
#define KFORGE_AGENT_EXTRACT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

typedef struct kf_span {
    const char *data; /* borrowed */
    size_t size;
} kf_span;

/* Takes the next line off `rest`, without its line break (LF or CRLF). False at the end. */
bool kf_span_line(kf_span *rest, kf_span *line);
/* The same line without white space at both ends. */
kf_span kf_span_trim(kf_span line);
bool kf_span_equal(kf_span span, const char *text);

/* The part of a reply behind its reasoning (<think>…</think> and the like). *only_reasoning: the
 * reply never gets past it; then the whole reply is returned. */
kf_span kf_reply_answer(const char *reply, size_t size, bool *only_reasoning);
/* Size limit, NUL bytes, emptiness. */
bool kf_reply_check(const char *reply, size_t size, kf_error *error);

#endif
