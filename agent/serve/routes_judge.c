/* POST /v1/judge and /v1/judge/batch, and the jobs that clients poll. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "judge_request.h"
#include "kforge/json.h"
#include "polling.h"
#include "serve.h"

#define NDJSON "application/x-ndjson"

/* ---- judging and waiting for the answers ----------------------------------------------------- */

typedef struct judging judging;

/* One candidate of a request. */
typedef struct item {
    judging *whole;
    kf_ticket *ticket;
    kf_judge_wish *wish;
    /* Of a request that was refused. */
    kf_serve_error failure;
    bool is_final, is_sent;
} item;

/* The candidates of one exchange. The exchange holds a reference, and each ticket that waits. */
struct judging {
    pthread_mutex_t lock;
    int references;
    kf_exchange *exchange;
    bool is_ordered, is_stream;
    size_t count, finals, sent;
    item *items;
};

static void judging_release(judging *j)
{
    pthread_mutex_lock(&j->lock);
    bool last = --j->references == 0;
    pthread_mutex_unlock(&j->lock);
    if (!last) return;
    for (size_t i = 0; i < j->count; i++) {
        kf_ticket_release(j->items[i].ticket);
        kf_judge_wish_free(j->items[i].wish);
    }
    kf_exchange_release(j->exchange);
    pthread_mutex_destroy(&j->lock);
    free(j->items);
    free(j);
}

/* The client has its answer, or has gone. */
static void judging_end(void *state)
{
    judging *j = state;
    for (size_t i = 0; i < j->count; i++)
        if (j->items[i].ticket) kf_ticket_cancel(j->items[i].ticket);
    judging_release(j);
}

static judging *judging_new(kf_exchange *exchange, size_t count)
{
    judging *j = calloc(1, sizeof *j);
    if (!j || !(j->items = calloc(count + 1, sizeof *j->items))) {
        free(j);
        return NULL;
    }
    pthread_mutex_init(&j->lock, NULL);
    j->references = 1;
    j->count = count;
    j->exchange = kf_exchange_hold(exchange);
    for (size_t i = 0; i < count; i++) j->items[i].whole = j;
    kf_exchange_set_state(exchange, j, judging_end);
    return j;
}

static cJSON *item_answer(const item *i, unsigned *status)
{
    *status = i->failure.status;
    return i->ticket ? kf_judge_request_answer(i->ticket, i->wish, status)
                     : kf_serve_error_json(&i->failure, i->wish);
}

static void write_item(item *i)
{
    unsigned status;
    kf_auto(cJSON) json = item_answer(i, &status);
    if (json) cJSON_AddNumberToObject(json, "index", (double)(i - i->whole->items));
    kf_autofree char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    i->is_sent = true;
    i->whole->sent++;
    if (!text) return;
    kf_exchange_write(i->whole->exchange, text, strlen(text));
    kf_exchange_write(i->whole->exchange, "\n", 1);
}

/* Writes the answers that may go out now. With the lock held. */
static void write_ready(judging *j)
{
    for (size_t k = 0; k < j->count; k++) {
        item *i = &j->items[k];
        if (i->is_sent) continue;
        if (i->is_final)
            write_item(i);
        else if (j->is_ordered)
            break;
    }
    if (j->sent == j->count) kf_exchange_close(j->exchange);
}

/* Called on any thread when a ticket is final. */
static void ticket_done(void *context, kf_ticket *ticket)
{
    item *i = context;
    judging *j = i->whole;
    (void)ticket;
    pthread_mutex_lock(&j->lock);
    i->is_final = true;
    j->finals++;
    /* Otherwise the submission has not returned yet, and is written after it. */
    if (j->is_stream && i->ticket) write_ready(j);
    pthread_mutex_unlock(&j->lock);
    kf_exchange_wake(j->exchange);
    judging_release(j);
}

static void submit_item(kf_service *service, item *i, const cJSON *request, double deadline)
{
    judging *j = i->whole;
    kf_submission base = {.deadline_seconds = deadline, .done = ticket_done, .done_context = i};
    pthread_mutex_lock(&j->lock);
    j->references++;
    pthread_mutex_unlock(&j->lock);
    kf_ticket *ticket = kf_judge_request_submit(service, request, &base, &i->wish, &i->failure);
    pthread_mutex_lock(&j->lock);
    i->ticket = ticket;
    if (!ticket) i->is_final = true, j->finals++;
    if (j->is_stream) write_ready(j);
    pthread_mutex_unlock(&j->lock);
    if (!ticket) judging_release(j);
}

static bool all_final(judging *j)
{
    pthread_mutex_lock(&j->lock);
    bool all = j->finals == j->count;
    pthread_mutex_unlock(&j->lock);
    return all;
}

/* ---- one candidate --------------------------------------------------------------------------- */

static void answer_one(kf_exchange *exchange, judging *j)
{
    unsigned status;
    cJSON *json = item_answer(&j->items[0], &status);
    if (status == 429) kf_exchange_add_header(exchange, "Retry-After", "1");
    kf_exchange_json(exchange, status, json);
}

static void no_memory(kf_exchange *exchange)
{
    kf_exchange_json(exchange, 500, NULL);
}

static void judge(kf_exchange *exchange)
{
    judging *j = kf_exchange_state(exchange);
    if (!j) {
        kf_auto(cJSON) request = kf_serve_body(exchange);
        if (!request) return;
        if (!(j = judging_new(exchange, 1))) return no_memory(exchange);
        submit_item(kf_exchange_context(exchange), &j->items[0], request, KF_SERVE_DEADLINE);
    }
    if (all_final(j))
        answer_one(exchange, j);
    else
        kf_exchange_wait(exchange, KF_SERVE_MOST_DEADLINE);
}

/* ---- a batch --------------------------------------------------------------------------------- */

/* Reads the fields of a batch. NULL: the exchange is answered. */
static const cJSON *read_batch(kf_exchange *exchange, const cJSON *request, bool *ordered,
                               double *deadline)
{
    kf_error why = {0};
    kf_serve_error failure;
    kf_json_reader reader = kf_json_object(request, "request", "", &why);
    const cJSON *items = kf_json_array_or_null(&reader, "items");
    *ordered = kf_json_boolean_or(&reader, "ordered", true);
    *deadline =
        kf_json_number_or(&reader, "deadline_s", 0.001, KF_SERVE_MOST_DEADLINE, KF_SERVE_DEADLINE);
    int count = cJSON_GetArraySize(items);
    if (!reader.failed && (count < 1 || count > KF_SERVE_BATCH_ITEMS))
        kf_json_complain(&reader, "items", "expected 1 to %d requests", KF_SERVE_BATCH_ITEMS);
    if (kf_json_finish(&reader)) return items;
    kf_serve_error_set(&failure, 400, &why,
                       "Correct the request; docs/guide/serve.md lists its fields.");
    kf_serve_fail(exchange, &failure);
    return NULL;
}

static void answer_batch(kf_exchange *exchange, judging *j)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *results = cJSON_AddArrayToObject(json, "results");
    bool made = results != NULL;
    for (size_t i = 0; made && i < j->count; i++) {
        unsigned status;
        cJSON *answer = item_answer(&j->items[i], &status);
        made = answer && cJSON_AddItemToArray(results, answer);
    }
    kf_exchange_json(exchange, 200, made ? kf_steal(&json) : NULL);
}

static judging *begin_batch(kf_exchange *exchange)
{
    bool ordered;
    double deadline;
    kf_auto(cJSON) request = kf_serve_body(exchange);
    const cJSON *items = request ? read_batch(exchange, request, &ordered, &deadline) : NULL;
    if (!items) return NULL;
    judging *j = judging_new(exchange, (size_t)cJSON_GetArraySize(items));
    if (!j) return no_memory(exchange), NULL;
    const char *accept = kf_exchange_header(exchange, "Accept");
    j->is_ordered = ordered;
    j->is_stream = accept && strstr(accept, NDJSON);
    size_t at = 0;
    const cJSON *one;
    cJSON_ArrayForEach(one, items)
        submit_item(kf_exchange_context(exchange), &j->items[at++], one, deadline);
    return j;
}

static void judge_batch(kf_exchange *exchange)
{
    judging *j = kf_exchange_state(exchange);
    if (!j && !(j = begin_batch(exchange))) return;
    if (j->is_stream)
        kf_exchange_stream(exchange, NDJSON);
    else if (all_final(j))
        answer_batch(exchange, j);
    else
        kf_exchange_wait(exchange, KF_SERVE_MOST_DEADLINE);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void answer_state(kf_exchange *exchange, unsigned status, kf_ticket *ticket)
{
    unsigned ignored;
    kf_auto(cJSON) json = cJSON_CreateObject();
    kf_ticket_state state = kf_ticket_state_now(ticket);
    bool made = cJSON_AddStringToObject(json, "job", kf_ticket_id(ticket)) &&
                cJSON_AddStringToObject(json, "state", kf_ticket_state_name(state));
    if (made && state >= KF_TICKET_DONE) {
        cJSON *result =
            kf_judge_request_answer(ticket, kf_ticket_data(ticket, kf_judge_wish_free), &ignored);
        made = result && cJSON_AddItemToObject(json, "result", result);
    }
    kf_exchange_json(exchange, status, made ? kf_steal(&json) : NULL);
}

static void submit_job(kf_exchange *exchange)
{
    kf_auto(cJSON) request = kf_serve_body(exchange);
    if (!request) return;
    kf_serve_error failure;
    kf_judge_wish *wish;
    kf_submission base = {.deadline_seconds = KF_SERVE_JOB_DEADLINE, .kept = true};
    kf_auto(kf_ticket) ticket =
        kf_judge_request_submit(kf_exchange_context(exchange), request, &base, &wish, &failure);
    if (ticket) return answer_state(exchange, 202, ticket);
    kf_serve_fail(exchange, &failure);
    kf_judge_wish_free(wish);
}

static kf_ticket *find_job(kf_exchange *exchange)
{
    kf_ticket *ticket =
        kf_service_find(kf_exchange_context(exchange), kf_exchange_part(exchange, 0));
    if (ticket && !kf_ticket_data(ticket, kf_judge_wish_free)) {
        kf_ticket_release(ticket);
        ticket = NULL;
    }
    if (!ticket)
        kf_exchange_error(exchange, 404, "there is no such job", kf_exchange_path(exchange),
                          "Submit it again: the verdict is stored, and comes at once.");
    return ticket;
}

static void poll_job(kf_exchange *exchange)
{
    kf_ticket *ticket = kf_polled_ticket(exchange);
    if (!ticket) {
        double seconds;
        if (!kf_poll_seconds(exchange, "wait", &seconds)) return;
        if (!(ticket = find_job(exchange))) return;
        if (!kf_poll(exchange, &ticket, 1, seconds)) return no_memory(exchange);
    }
    if (kf_poll_again(exchange)) answer_state(exchange, 200, ticket);
}

static void cancel_job(kf_exchange *exchange)
{
    kf_auto(kf_ticket) ticket = find_job(exchange);
    if (!ticket) return;
    kf_ticket_cancel(ticket);
    answer_state(exchange, 200, ticket);
}

const kf_route kf_serve_judge_routes[] = {
    {"POST", "/v1/judge", KF_SERVE_BODY_BYTES, judge},
    {"POST", "/v1/judge/batch", KF_SERVE_BATCH_BYTES, judge_batch},
    {"POST", "/v1/jobs", KF_SERVE_BODY_BYTES, submit_job},
    {"GET", "/v1/jobs/*", 0, poll_job},
    {"DELETE", "/v1/jobs/*", 0, cancel_job},
    {0},
};
