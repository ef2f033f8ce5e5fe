/* What both kinds of worker share: one job's text in, one answer's text out. */
#ifndef KFORGE_WORKER_ANSWER_H
#define KFORGE_WORKER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/judge.h"

/* Judges the job in `text` and returns the answer's one line of JSON without a newline, malloc'd: a verdict, or a refusal when the text is no
 * job or not one for this judge. `id` (may be NULL) is what the job's id has to be. NULL: KF_ERROR_BUSY when *stop became non-zero, else
 * KF_ERROR_MEMORY. */
char *kf_worker_answer(kf_judge *judge, const char *text, size_t size, const char *id, const volatile int *stop, kf_error *error);
/* The hello line and a refusal, likewise. `id` may be NULL when the line had none that could be read. */
char *kf_worker_hello(const kf_judge *judge, kf_error *error);
char *kf_worker_refusal(const char *id, const kf_error *why, kf_error *error);

#endif
