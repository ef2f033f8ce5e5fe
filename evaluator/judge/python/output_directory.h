/* Results of a runner in Python, read out of its memory while it is stopped
 * (../runner/ledger_wire.h says how it tells where they lie).
 *
 * A kf_output_directory is shared with one runner and belongs to one kf_sets. What the runner
 * writes into it is a claim: it is copied before it is looked at, and an address is only ever used
 * to read from the runner's own memory. */
#ifndef KFORGE_LEDGER_H
#define KFORGE_LEDGER_H

#include <sys/types.h>

#include "device.h"

typedef struct kf_output_directory kf_output_directory;

kf_output_directory *kf_output_directory_new(uint32_t sets, uint32_t outputs, kf_error *error);
void kf_output_directory_free(kf_output_directory *output_directory);
/* Forgets where results lay; `ledger` may be NULL. */
void kf_output_directory_clear(kf_output_directory *output_directory);
/* What to hand over. */
kf_runner_buffer kf_output_directory_buffer(const kf_output_directory *output_directory);

/* Output number `output` of the call on `set` into `data`, contiguous. True also with a fault: its
 * rule is "output.type", "output.count", "output.dtype", "output.shape", "output.unreadable", or
 * machine is set. False: out of memory. `argument_number` is for the fault. */
bool kf_output_directory_fetch(const kf_output_directory *output_directory, pid_t pid, uint32_t set,
                               uint32_t output, const kf_problem_argument *argument,
                               int argument_number, void *data, kf_fetch_fault *fault,
                               kf_error *error);
/* Where a result lies, as the runner says, and how. */
typedef struct kf_output_directory_place {
    uint64_t address, span; /* bytes from element 0 on that it reaches */
    bool plain;             /* contiguous */
    uint32_t dims;
    int64_t sizes[8], strides[8]; /* in elements, none negative */
} kf_output_directory_place;

/* From now on, until the ledger is cleared, what it says of these sets now is what counts: for
 * devices that look at results before the runner is stopped. False: out of memory. */
bool kf_output_directory_remember(kf_output_directory *output_directory, const uint32_t *list,
                                  uint32_t count);
/* False with a fault as kf_output_directory_fetch's, but for what only reading could tell. */
bool kf_output_directory_locate(const kf_output_directory *output_directory, uint32_t set,
                                uint32_t output, const kf_problem_argument *argument,
                                int argument_number, kf_output_directory_place *place,
                                kf_fetch_fault *fault);
void kf_output_directory_unreadable(kf_fetch_fault *fault, uint32_t set, int argument_number,
                                    const kf_problem_argument *argument, const char *why);
/* Do results of different sets among those that `chosen` flags share memory? Fault
 * "output.aliased". False: out of memory. */
bool kf_output_directory_check_overlap(const kf_output_directory *output_directory,
                                       const bool *chosen, uint32_t sets, const int *arguments,
                                       kf_fetch_fault *fault, kf_error *error);

#endif
