/* Describes a problem file with PyTorch: arguments, shapes, distributions, outputs, and whether the
 * problem is fit for judging (evaluator/torch/describe.py).
 *
 * A problem file is foreign code. It runs in the sandbox, without network, with no file but its own
 * copy, and with limits of time and memory. The description is a claim of the file's author.
 * Loading the task checks it like any task.json.
 *
 * The call blocks until the description is there. Several threads may call it at a time.
 */
#ifndef KFORGE_DESCRIBE_H
#define KFORGE_DESCRIBE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_describe_request {
    const char *text; /* of the problem file */
    size_t size;
    /* Its file name without folders, for messages. */
    const char *name;
    /* True: the text is a bundle (evaluator/torch/formats/translate.py). The description then has
     * the text of the problem file as "problem". */
    bool bundle;
    const char *class_name; /* NULL: "Model" */
    /* "train" or "eval"; NULL: "train". */
    const char *mode;
    /* "NAME=INTEGER", with NULL at the end. May be NULL. */
    const char *const *patches;
    /* Constants are halved until all arguments together have at most so many elements. 0: no
     * change. */
    int64_t max_elements;
    int threads;    /* of PyTorch */
    double seconds; /* wall clock, at most */
    uint64_t memory_bytes;
    /* True if every layer of the sandbox is required. */
    bool strict;
} kf_describe_request;

/* Returns describe.py's object: "inputs", "state" and others, or "unfit": {"rule", "reason"}. The
 * caller frees it. Errors: KF_ERROR_INPUT for a faulty file (no Python, no Model); KF_ERROR_LIMIT
 * for too much time or memory; KF_ERROR_MACHINE if Python, PyTorch or the sandbox is missing, so
 * that every file fails; KF_ERROR_BUSY "interrupted" once *stop is non-zero (`stop` may be NULL).
 */
cJSON *kf_describe(const kf_describe_request *request, const volatile int *stop, kf_error *error);

#endif
