/* The lists of calls: in flight, waiting replies, due requests. */
#include <stdlib.h>

#include "search_internal.h"

void kf_call_free(kf_call *call)
{
    if (!call) return;
    free(call->prompt);
    free(call->text);
    free(call);
}

kf_call *kf_call_unlink(kf_calls *calls, int64_t tag)
{
    for (kf_call **at = &calls->in_flight; *at; at = &(*at)->next) {
        kf_call *call = *at;
        if (call->tag != tag) continue;
        *at = call->next;
        call->next = NULL;
        return call;
    }
    return NULL;
}

int64_t kf_calls_count(const kf_calls *calls, int model)
{
    int64_t count = 0;
    for (const kf_call *c = calls->in_flight; c; c = c->next)
        count += model < 0 || c->origin.model == model;
    return count;
}

void kf_calls_clear(kf_calls *calls)
{
    for (kf_call *c; (c = calls->in_flight);) calls->in_flight = c->next, kf_call_free(c);
    for (kf_call *c; (c = calls->replies);) calls->replies = c->next, kf_call_free(c);
    for (kf_due *d; (d = calls->dues);) calls->dues = d->next, free(d);
    kf_episodes_clear(calls);
}
