/* The output directory: shared memory in which a runner in Python
 * (evaluator/torch/output_directory.py) says where in its own memory the results of each call lie.
 *
 * Each set has one record: a head, then an entry for each output of the task. The runner writes the
 * records of a batch before its answer. Then its process is stopped, and the judge reads the
 * results (evaluator/judge/python/output_directory.c). The judge believes no record: it compares
 * the bytes at the addresses with the truth. */
#ifndef KFORGE_OUTPUT_DIRECTORY_WIRE_H
#define KFORGE_OUTPUT_DIRECTORY_WIRE_H

#include <stdint.h>

#define KF_OUTPUT_DIRECTORY_DIMS 8

enum kf_output_directory_flaw {
    KF_OUTPUT_DIRECTORY_FINE,
    /* The call returned no tensor, or a container in place of one tensor. */
    KF_OUTPUT_DIRECTORY_TYPE,
    /* The tensor is sparse, or on another device. */
    KF_OUTPUT_DIRECTORY_LAYOUT,
    /* PyTorch reports a later result at the same address. */
    KF_OUTPUT_DIRECTORY_REPLACED,
};

typedef struct kf_output_directory_head {
    /* The number of returned tensors. */
    uint32_t tensors;
    uint32_t flaw;
    uint64_t unused;
} kf_output_directory_head;

typedef struct kf_output_directory_entry {
    /* Of element 0. */
    uint64_t address;
    /* kf_dtype. Other numbers stand for types that no task has. */
    uint32_t dtype;
    /* May be more than KF_OUTPUT_DIRECTORY_DIMS. */
    uint32_t dims;
    /* In elements. */
    int64_t sizes[KF_OUTPUT_DIRECTORY_DIMS], strides[KF_OUTPUT_DIRECTORY_DIMS];
} kf_output_directory_entry;

#endif
