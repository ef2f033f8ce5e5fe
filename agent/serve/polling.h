/* Exchanges that wait for tickets which other requests may hold, too. */
#ifndef KFORGE_POLLING_H
#define KFORGE_POLLING_H

#include "jobs.h"
#include "web.h"

/* Begins to wait for all tickets, at most `seconds`. Takes over the `count` references, even if it
 * fails. False without memory. */
bool kf_poll(kf_exchange *exchange, kf_ticket *const *tickets, size_t count, double seconds);
/* Returns the first ticket of kf_poll; NULL before kf_poll. */
kf_ticket *kf_polled_ticket(kf_exchange *exchange);
/* Returns ticket `index`. */
kf_ticket *kf_polled(kf_exchange *exchange, size_t index);
/* True if the time is over or all tickets are final: answer now. Otherwise the exchange waits. */
bool kf_poll_again(kf_exchange *exchange);
/* Reads seconds from the query, from 0 to KF_SERVE_MOST_WAIT; 0 if the parameter is missing. False:
 * the exchange is answered. */
bool kf_poll_seconds(kf_exchange *exchange, const char *name, double *seconds);

#endif
