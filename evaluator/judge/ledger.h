/* Results of a runner in Python, read out of its memory while it is stopped (../runner/ledger_wire.h says how it tells where they lie).
 *
 * A kf_ledger is shared with one runner and belongs to one kf_sets. What the runner writes into it is a claim: it is copied before it is looked at, and
 * an address is only ever used to read from the runner's own memory. */
#ifndef KFORGE_LEDGER_H
#define KFORGE_LEDGER_H

#include <sys/types.h>

#include "device.h"

typedef struct kf_ledger kf_ledger;

kf_ledger *kf_ledger_new(uint32_t sets, uint32_t outputs, kf_error *error);
void kf_ledger_free(kf_ledger *ledger);
/* Forgets where results lay; `ledger` may be NULL. */
void kf_ledger_clear(kf_ledger *ledger);
/* What to hand over. */
kf_peer_buffer kf_ledger_buffer(const kf_ledger *ledger);

/* Output number `output` of the call on `set` into `data`, contiguous. True also with a fault: its rule is "output.type", "output.count",
 * "output.dtype", "output.shape", "output.unreadable", or machine is set. False: out of memory. `argument_number` is for the fault. */
bool kf_ledger_fetch(const kf_ledger *ledger, pid_t pid, uint32_t set, uint32_t output, const kf_problem_argument *argument,
                     int argument_number, void *data, kf_fetch_fault *fault, kf_error *error);
/* Do results of different sets among those that `chosen` flags share memory? Fault "output.aliased". False: out of memory. */
bool kf_ledger_check_overlap(const kf_ledger *ledger, const bool *chosen, uint32_t sets, const int *arguments,
                             kf_fetch_fault *fault, kf_error *error);

#endif
