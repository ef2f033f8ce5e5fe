/* fallback:SPEC then SPEC…: each request goes to the first model that takes it. If it fails there
 * with all its retries, it goes to the next model. A model with an open circuit breaker is skipped.
 * An exec: command may contain " then ", so it ends the list. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api_key.h"
#include "kforge/file.h"
#include "llm_provider.h"

#define MAX_MEMBERS 8
#define SEPARATOR " then "

typedef struct pending {
    struct pending *next;
    char *system, *prompt;
    kf_llm_request request;
    int member;
    /* A member failed in a way that may pass. */
    bool may_pass;
    /* Of the members that failed. Tokens are -1 as soon as one did not report them. */
    int64_t prompt_tokens, completion_tokens, requests;
    double cost_usd, seconds;
} pending;

typedef struct fallback {
    kf_llm *members[MAX_MEMBERS];
    char *specs[MAX_MEMBERS];
    int count, in_flight;
    pending *pending_list;
    bool cancelled;
} fallback;

static void pending_free(pending *p)
{
    free(p->system);
    free(p->prompt);
    free(p);
}

static void fallback_close(void *state)
{
    fallback *f = state;
    for (int i = 0; i < MAX_MEMBERS; i++) kf_llm_close(f->members[i]), free(f->specs[i]);
    for (pending *p; (p = f->pending_list);) f->pending_list = p->next, pending_free(p);
    free(f);
}

/* Adds to the error which member it is about. */
static bool name_member(const fallback *f, kf_error *error)
{
    const char *given = f->specs[f->count];
    if (strstr(error->text, given))
        return kf_fail_prefix(error, "fallback: model %d", f->count + 1);
    kf_autofree char *shown = kf_api_keys_without(given, NULL);
    return kf_fail_prefix(error, "fallback: model %d (%.100s)", f->count + 1, shown ? shown : "");
}

static bool add_member(fallback *f, const char *spec, size_t length, kf_error *error)
{
    if (f->count == MAX_MEMBERS)
        return kf_fail(error, KF_ERROR_INPUT, "fallback: more than %d models", MAX_MEMBERS);
    f->specs[f->count] = strndup(spec, length);
    if (!f->specs[f->count]) return kf_fail_memory(error, "a model spec");
    f->members[f->count] = kf_llm_open(f->specs[f->count], error);
    if (!f->members[f->count]) return name_member(f, error);
    if (kf_llm_episodes(f->members[f->count]))
        return f->count++, kf_fail(error, KF_ERROR_INPUT,
                                   "fallback: an agent can't be one of the models; give it with a "
                                   "--model of its own");
    if (kf_llm_is_none(f->members[f->count++]))
        return kf_fail(error, KF_ERROR_INPUT, "fallback: \"none\" is no model; leave it out");
    return true;
}

static void *fallback_open(const char *argument, const double *options, kf_error *error)
{
    (void)options;
    fallback *f = calloc(1, sizeof *f);
    if (!f) {
        kf_fail_memory(error, "a model");
        return NULL;
    }
    for (const char *at = argument; at;) {
        const char *separator = strncmp(at, "exec", 4) == 0 || strncmp(at, "agent", 5) == 0
                                    ? NULL
                                    : strstr(at, SEPARATOR);
        if (!add_member(f, at, separator ? (size_t)(separator - at) : strlen(at), error)) {
            fallback_close(f);
            return NULL;
        }
        at = separator ? separator + sizeof SEPARATOR - 1 : NULL;
    }
    return f;
}

/* Sends the request to the first member, from `from` on, that takes it. */
static bool submit_from(fallback *f, pending *p, int from, kf_error *error)
{
    for (p->member = from; p->member < f->count; p->member++)
        if (kf_llm_submit(f->members[p->member], &p->request, error)) return true;
    return false;
}

static bool fallback_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    fallback *f = state;
    pending *p = calloc(1, sizeof *p);
    if (p) {
        *p = (pending){.system = request->system ? strdup(request->system) : NULL,
                       .prompt = strdup(request->prompt),
                       .request = *request,
                       .cost_usd = NAN};
        p->request.system = p->system;
        p->request.prompt = p->prompt;
    }
    if (!p || !p->prompt || (request->system && !p->system)) {
        if (p) pending_free(p);
        return kf_fail_memory(error, "a request");
    }
    if (!submit_from(f, p, 0, error)) {
        pending_free(p);
        return false;
    }
    p->next = f->pending_list;
    f->pending_list = p;
    f->in_flight++;
    return true;
}

static pending *unlink_pending(fallback *f, int member, int64_t tag)
{
    for (pending **at = &f->pending_list; *at; at = &(*at)->next) {
        pending *p = *at;
        if (p->member != member || p->request.tag != tag) continue;
        *at = p->next;
        return p;
    }
    return NULL;
}

static void add_up(pending *p, kf_llm_reply *reply)
{
    reply->seconds += p->seconds;
    reply->requests += p->requests;
    if (!isnan(p->cost_usd))
        reply->cost_usd = p->cost_usd + (isnan(reply->cost_usd) ? 0 : reply->cost_usd);
    if (p->requests && (p->prompt_tokens < 0 || reply->prompt_tokens < 0))
        reply->prompt_tokens = reply->completion_tokens = -1;
    else if (p->requests)
        reply->prompt_tokens += p->prompt_tokens, reply->completion_tokens += p->completion_tokens;
}

/* True if the reply is final. False if the request went to another member. */
static bool settle(fallback *f, int member, kf_llm_reply *reply)
{
    pending *p = unlink_pending(f, member, reply->tag);
    if (!p) return true;
    bool charged = reply->prompt_tokens >= 0 || reply->cost_usd > 0;
    bool has_next = (reply->outcome == KF_LLM_FAILED || reply->outcome == KF_LLM_EXHAUSTED) &&
                    member + 1 < f->count && !f->cancelled;
    kf_error error = {0};
    add_up(p, reply);
    bool failed = reply->outcome == KF_LLM_FAILED;
    p->may_pass |= failed && reply->error.code != KF_ERROR_INPUT;
    if (has_next && submit_from(f, p, member + 1, &error)) {
        p->requests = reply->requests;
        p->prompt_tokens = charged ? reply->prompt_tokens : 0;
        p->completion_tokens = charged ? reply->completion_tokens : 0;
        p->cost_usd = reply->cost_usd;
        p->seconds = reply->seconds;
        p->next = f->pending_list;
        f->pending_list = p;
        kf_llm_reply_free(reply);
        return false;
    }
    /* One refusal is not that of the whole list. */
    if (failed && p->may_pass && reply->error.code == KF_ERROR_INPUT)
        reply->error.code = KF_ERROR_IO;
    pending_free(p);
    f->in_flight--;
    return true;
}

static size_t fallback_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    const fallback *f = state;
    size_t count = 0;
    for (int i = 0; i < f->count; i++)
        count += kf_llm_watch(f->members[i], fds + count, most - count, wake);
    return count;
}

static int fallback_poll(void *state, double seconds, kf_llm_reply *reply)
{
    fallback *f = state;
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    while (f->in_flight) {
        for (int i = 0; i < f->count; i++)
            while (kf_llm_poll(f->members[i], 0, reply) == 1)
                if (settle(f, i, reply)) return 1;
        double wake = until, now = kf_now();
        if (now >= until) return 0;
        struct pollfd fds[256];
        size_t count = fallback_watch(f, fds, sizeof fds / sizeof *fds, &wake);
        /* A member has no descriptor. */
        if (!count) wake = fmin(wake, now + 0.02);
        if (poll(fds, count, wake > now ? (int)fmin(ceil((wake - now) * 1000), 1e6) : 0) < 0)
            return 0;
    }
    return 0;
}

static int fallback_in_flight(const void *state)
{
    return ((const fallback *)state)->in_flight;
}

static void fallback_cancel(void *state)
{
    fallback *f = state;
    /* No request goes to another member any more. */
    f->cancelled = true;
    for (int i = 0; i < f->count; i++) kf_llm_cancel(f->members[i]);
}

static void fallback_set_budget(void *state, kf_budget *budget)
{
    fallback *f = state;
    for (int i = 0; i < f->count; i++) kf_llm_set_budget(f->members[i], budget);
}

static bool fallback_is_remote(const void *state)
{
    const fallback *f = state;
    for (int i = 0; i < f->count; i++)
        if (!kf_llm_is_remote(f->members[i])) return false;
    return true;
}

static void fallback_progress(void *state, int64_t done)
{
    fallback *f = state;
    for (int i = 0; i < f->count; i++) kf_llm_progress(f->members[i], done);
}

static bool fallback_check_budget(const void *state, const kf_budget *budget, kf_error *error)
{
    const fallback *f = state;
    for (int i = 0; i < f->count; i++)
        if (!kf_llm_check_budget(f->members[i], budget, error)) return false;
    return true;
}

static bool fallback_freeze(const void *state, kf_buffer *options)
{
    const fallback *f = state;
    kf_buffer_string(options, "fallback:");
    for (int i = 0; i < f->count; i++) {
        kf_autofree char *spec = kf_llm_freeze(f->specs[i], NULL);
        if (!spec) return false;
        kf_buffer_format(options, "%s%s", i ? SEPARATOR : "", spec);
    }
    return !options->failed;
}

const kf_llm_provider kf_llm_fallback = {
    .name = "fallback",
    .form = "fallback:SPEC then SPEC",
    .takes_argument = true,
    .open = fallback_open,
    .submit = fallback_submit,
    .in_flight = fallback_in_flight,
    .poll = fallback_poll,
    .close = fallback_close,
    .is_remote = fallback_is_remote,
    .watch = fallback_watch,
    .cancel = fallback_cancel,
    .set_budget = fallback_set_budget,
    .check_budget = fallback_check_budget,
    .progress = fallback_progress,
    .freeze = fallback_freeze,
};
