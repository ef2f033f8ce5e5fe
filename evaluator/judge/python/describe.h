/* Asks PyTorch what a problem file is: arguments, shapes, distributions, outputs, and whether it
 * can be judged (evaluator/torch/describe.py).
 *
 * A problem file is somebody else's code: it runs in the sandbox with no network, no files but its
 * own copy, limits of time and memory. What comes back is its author's word about his own problem
 * and is checked like any task.json by whoever loads the task.
 *
 * Blocks until the description is there; several threads may each ask for one.
 */
#ifndef KFORGE_DESCRIBE_H
#define KFORGE_DESCRIBE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_DESCRIBE_BYTES (16u << 20) /* most of an answer */

typedef struct kf_describe_request {
    const char *text; /* of the problem file */
    size_t size;
    const char *name;           /* its file name, for messages; without folders */
    const char *class_name;     /* NULL: "Model" */
    const char *mode;           /* "train" or "eval"; NULL: "train" */
    const char *const *patches; /* "NAME=INTEGER"; ends with NULL; NULL none */
    /* halve constants until the arguments together have at most so many elements; 0: as it is */
    int64_t max_elements;
    int threads;    /* of PyTorch */
    double seconds; /* wall clock, at most */
    uint64_t memory_bytes;
    bool strict; /* every layer of the sandbox has to be there */
} kf_describe_request;

/* What the file is, as describe.py words it: an object with "inputs", "state", …, or with "unfit":
 * {"rule", "reason"}. The caller frees. Errors: KF_ERROR_INPUT when the file is at fault (no
 * Python, no Model); KF_ERROR_LIMIT when it took too long or too much memory; KF_ERROR_MACHINE when
 * Python, PyTorch or the sandbox is missing: then the next file fails alike. *stop (may be NULL)
 * not 0: KF_ERROR_BUSY, "interrupted". */
cJSON *kf_describe(const kf_describe_request *request, const volatile int *stop, kf_error *error);

#endif
