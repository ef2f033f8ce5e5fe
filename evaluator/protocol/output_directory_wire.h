/* The ledger: shared memory in which a runner in Python (evaluator/torch/runner.py) says where in
 * its own memory the results of each call lie.
 *
 * One record a set: a head, then an entry for each output of the task. The runner writes the
 * records of a batch before it answers; by then its process is about to be stopped, and the judge
 * reads results with process_vm_readv (evaluator/judge/python/output_directory.c). Nothing in it is
 * believed: whatever the addresses lead to is compared with the truth. */
#ifndef KFORGE_LEDGER_WIRE_H
#define KFORGE_LEDGER_WIRE_H

#include <stdint.h>

#define KF_OUTPUT_DIRECTORY_DIMS 8

enum kf_output_directory_flaw {
    KF_OUTPUT_DIRECTORY_FINE,
    /* something else than a tensor was returned, or a container where one tensor is due */
    KF_OUTPUT_DIRECTORY_TYPE,
    KF_OUTPUT_DIRECTORY_LAYOUT,   /* sparse, or on another device */
    KF_OUTPUT_DIRECTORY_REPLACED, /* PyTorch says that a later call's result is where it was */
};

typedef struct kf_output_directory_head {
    uint32_t tensors; /* returned */
    uint32_t flaw;
    uint64_t unused;
} kf_output_directory_head;

typedef struct kf_output_directory_entry {
    uint64_t address; /* of element 0 */
    /* kf_dtype; others are no type that a task can have */
    uint32_t dtype;
    uint32_t dims; /* may be more than there is room for */
    int64_t sizes[KF_OUTPUT_DIRECTORY_DIMS], strides[KF_OUTPUT_DIRECTORY_DIMS]; /* in elements */
} kf_output_directory_entry;

#endif
