/* What both kinds of worker share: one job's text in, one answer's text out. */
#ifndef KFORGE_WORKER_ANSWER_H
#define KFORGE_WORKER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/judge.h"

/* The job in a line. NULL with the *refusal that answers it, when the text is no job or not one for
 * this judge: one line of JSON without a newline, malloc'd, NULL when there is no memory for one.
 * `id` (may be NULL) is what the job's id has to be. */
kf_job *kf_worker_read_job(const kf_judge *judge, const char *text, size_t size, const char *id,
                           char **refusal, kf_error *error);
/* A verdict as such a line; NULL: no memory. */
char *kf_worker_print(const kf_verdict *verdict, kf_error *error);
/* The hello line and a refusal, likewise. `id` may be NULL when the line had none that could be
 * read. */
char *kf_worker_hello(const kf_judge *judge, kf_error *error);
char *kf_worker_refusal(const char *id, const kf_error *why, kf_error *error);

#endif
