#include "polling.h"

#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "serve.h"

/* The state of the exchange. Each watcher holds a reference to the exchange. */
typedef struct polling {
    kf_exchange *exchange;
    double until;
    size_t count;
    kf_ticket *tickets[];
} polling;

static void is_done(void *context, kf_ticket *ticket)
{
    (void)ticket;
    kf_exchange_wake(context);
    kf_exchange_release(context);
}

static void polling_end(void *state)
{
    polling *p = state;
    for (size_t i = 0; i < p->count; i++) {
        if (kf_ticket_unwatch(p->tickets[i], p->exchange)) kf_exchange_release(p->exchange);
        kf_ticket_release(p->tickets[i]);
    }
    free(p);
}

bool kf_poll(kf_exchange *exchange, kf_ticket *const *tickets, size_t count, double seconds)
{
    polling *p = calloc(1, sizeof *p + count * sizeof *p->tickets);
    if (!p) {
        for (size_t i = 0; i < count; i++) kf_ticket_release(tickets[i]);
        return false;
    }
    *p = (polling){.exchange = exchange, .until = kf_now() + seconds, .count = count};
    memcpy(p->tickets, tickets, count * sizeof *tickets);
    kf_exchange_set_state(exchange, p, polling_end);
    for (size_t i = 0; i < count && seconds > 0; i++)
        if (!kf_ticket_watch(p->tickets[i], is_done, kf_exchange_hold(exchange)))
            kf_exchange_release(exchange);
    return true;
}

kf_ticket *kf_polled(kf_exchange *exchange, size_t index)
{
    polling *p = kf_exchange_state(exchange);
    return p && index < p->count ? p->tickets[index] : NULL;
}

kf_ticket *kf_polled_ticket(kf_exchange *exchange)
{
    return kf_polled(exchange, 0);
}

bool kf_poll_again(kf_exchange *exchange)
{
    polling *p = kf_exchange_state(exchange);
    double left = p->until - kf_now();
    bool all = true;
    for (size_t i = 0; i < p->count && all; i++)
        all = kf_ticket_state_now(p->tickets[i]) >= KF_TICKET_DONE;
    if (all || left <= 0) return true;
    kf_exchange_wait(exchange, left);
    return false;
}

bool kf_poll_seconds(kf_exchange *exchange, const char *name, double *seconds)
{
    const char *text = kf_exchange_query(exchange, name);
    char *end = NULL;
    *seconds = text ? strtod(text, &end) : 0;
    if (!text || (end != text && !*end && *seconds >= 0 && *seconds <= KF_SERVE_MOST_WAIT))
        return true;
    kf_exchange_error(exchange, 400, "expected a number of seconds from 0 to 600", name,
                      "Wait for at most 600 seconds, and ask again.");
    return false;
}
