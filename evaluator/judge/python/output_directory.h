/* Reads the results of a stopped runner in Python from its memory. The runner says where they lie
 * in an output directory (evaluator/protocol/output_directory_wire.h).
 *
 * A kf_output_directory is shared with one runner, and belongs to one kf_sets. Its records are
 * claims. The judge copies a record before it checks it, and uses an address only to read from the
 * runner's own memory. */
#ifndef KFORGE_LEDGER_H
#define KFORGE_LEDGER_H

#include <sys/types.h>

#include "device.h"

typedef struct kf_output_directory kf_output_directory;

kf_output_directory *kf_output_directory_new(uint32_t sets, uint32_t outputs, kf_error *error);
void kf_output_directory_free(kf_output_directory *output_directory);
/* Clears all records. `output_directory` may be NULL. */
void kf_output_directory_clear(kf_output_directory *output_directory);
/* Returns the buffer to hand over. */
kf_runner_buffer kf_output_directory_buffer(const kf_output_directory *output_directory);

/* Reads output number `output` of the call on `set` into `data`, contiguous. True with a fault,
 * too: its rule is "output.type", "output.count", "output.dtype", "output.shape" or
 * "output.unreadable", or `machine` is set. False without memory. `argument_number` is for the
 * fault. */
bool kf_output_directory_fetch(const kf_output_directory *output_directory, pid_t pid, uint32_t set,
                               uint32_t output, const kf_problem_argument *argument,
                               int argument_number, void *data, kf_fetch_fault *fault,
                               kf_error *error);
/* The claimed place and layout of a result. */
typedef struct kf_output_directory_place {
    /* `span`: the bytes from element 0 to the end of the last element. */
    uint64_t address, span;
    /* True if contiguous. */
    bool plain;
    uint32_t dims;
    /* In elements, never negative. */
    int64_t sizes[8], strides[8];
} kf_output_directory_place;

/* Copies the records of the listed sets. Until the directory is cleared, the copies count: for
 * devices that read results before the runner is stopped. False without memory. */
bool kf_output_directory_remember(kf_output_directory *output_directory, const uint32_t *list,
                                  uint32_t count);
/* Copies the records of the listed sets. Until the directory is cleared,
 * kf_output_directory_check_overlap counts them as those of further sets. False without memory. */
bool kf_output_directory_hold(kf_output_directory *output_directory, const uint32_t *list,
                              uint32_t count);
/* Checks a record and fills *place. False with a fault as in kf_output_directory_fetch, except for
 * faults that only reading shows. */
bool kf_output_directory_locate(const kf_output_directory *output_directory, uint32_t set,
                                uint32_t output, const kf_problem_argument *argument,
                                int argument_number, kf_output_directory_place *place,
                                kf_fetch_fault *fault);
void kf_output_directory_unreadable(kf_fetch_fault *fault, uint32_t set, int argument_number,
                                    const kf_problem_argument *argument, const char *why);
/* Sets the fault "output.aliased" if results of different sets share memory, among the sets with a
 * flag in `chosen` and the held records. False without memory. */
bool kf_output_directory_check_overlap(const kf_output_directory *output_directory,
                                       const bool *chosen, uint32_t sets, const int *arguments,
                                       kf_fetch_fault *fault, kf_error *error);

#endif
