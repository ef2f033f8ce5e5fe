/* Text for both kinds of worker: parses a job, prints an answer. An answer is one line of JSON
 * without its newline. The caller frees it. */
#ifndef KFORGE_WORKER_ANSWER_H
#define KFORGE_WORKER_ANSWER_H

#include <stddef.h>

#include "kforge/judge.h"

/* Parses a job. NULL if the text is no job for this judge. *refusal is the answer then, or NULL
 * without memory. `id` is the id that the job must have; NULL: any. */
kf_job *kf_worker_read_job(const kf_judge *judge, const char *text, size_t size, const char *id,
                           char **refusal, kf_error *error);
/* Prints a verdict. NULL without memory. */
char *kf_worker_print(const kf_verdict *verdict, kf_error *error);
/* Print the hello line and a refusal. `id`: NULL if the text has no readable id. */
char *kf_worker_hello(const kf_judge *judge, kf_error *error);
char *kf_worker_refusal(const char *id, const kf_error *why, kf_error *error);

#endif
