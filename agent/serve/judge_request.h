/* A request for one candidate, as JSON (docs/guide/serve.md). */
#ifndef KFORGE_JUDGE_REQUEST_H
#define KFORGE_JUDGE_REQUEST_H

#include "web.h"
#include "jobs.h"
#include "kforge/job.h"
#include "kforge/json.h"

/* An error for a client. */
typedef struct kf_serve_error {
    unsigned status;
    char what[1024], where[160];
    const char *todo;
} kf_serve_error;

/* The reward and the names that a client wants back. */
typedef struct kf_judge_wish {
    bool has_choice;
    kf_reward_choice choice;
    /* Owned; NULL: not given. */
    char *id, *group;
} kf_judge_wish;

void kf_judge_wish_free(void *wish);

/* Reads "reward" and "shape" into the wish. */
bool kf_judge_choice_read(kf_json_reader *reader, kf_judge_wish *wish);
/* Parses a request and submits it. `wish` is made in both cases, as far as the request has one; the
 * caller frees it. `base` has the fields that the request does not set: deadline, done, kept. With
 * `base->kept` the ticket takes the wish over. NULL with *failure. */
kf_ticket *kf_judge_request_submit(kf_service *service, const cJSON *request,
                                   const kf_submission *base, kf_judge_wish **wish,
                                   kf_serve_error *failure);
/* Returns the answer to a final ticket: the judgement with "id" and "group", or {"error":…} with
 * its status in *status. NULL without memory. */
cJSON *kf_judge_request_answer(kf_ticket *ticket, const kf_judge_wish *wish, unsigned *status);
/* Returns {"error":{…}} with the id of the wish (may be NULL). */
cJSON *kf_serve_error_json(const kf_serve_error *failure, const kf_judge_wish *wish);
/* Answers an exchange with an error. 429 gets Retry-After. */
void kf_serve_fail(kf_exchange *exchange, const kf_serve_error *failure);
/* Parses the body of an exchange. NULL: the exchange is answered. */
cJSON *kf_serve_body(kf_exchange *exchange);
/* Fills an error from that of a function. The text may begin with "request: FIELD: ". */
void kf_serve_error_set(kf_serve_error *failure, unsigned status, const kf_error *why,
                        const char *todo);

#endif
