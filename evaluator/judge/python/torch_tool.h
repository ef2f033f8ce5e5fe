/* Runs a mode of kforge_torch.py that reads foreign files and answers with JSON (describe.py,
 * formats/translate.py): in the sandbox, without network, with one folder to read, and with limits
 * of time and memory. The answer is a claim of the files' author.
 *
 * The call blocks until the answer is there. Several threads may call it at a time. */
#ifndef KFORGE_TORCH_TOOL_H
#define KFORGE_TORCH_TOOL_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_TORCH_TOOL_BYTES (64u << 20) /* most of an answer */
#define KF_TORCH_TOOL_ARGUMENTS 160     /* most arguments */

typedef struct kf_torch_tool {
    /* the mode and its arguments, with NULL at the end */
    const char *const *arguments;
    /* the one folder that it may read; it starts there */
    const char *folder;
    /* the file or folder that messages name */
    const char *name;
    int threads;    /* of PyTorch */
    double seconds; /* wall clock, at most */
    uint64_t memory_bytes;
    /* True if every layer of the sandbox is required. */
    bool strict;
} kf_torch_tool;

/* Returns the object that the mode answered, which the caller frees. Errors: KF_ERROR_INPUT for
 * faulty files; KF_ERROR_LIMIT for too much time or memory; KF_ERROR_MACHINE if Python, PyTorch or
 * the sandbox is missing; KF_ERROR_BUSY "interrupted" once *stop is non-zero (`stop` may be NULL).
 */
cJSON *kf_torch_tool_run(const kf_torch_tool *tool, const volatile int *stop, kf_error *error);

/* Appends the PyTorch that ran to a reason with an exception, since another version may not raise
 * it, and the Pythons that come before it and are not used. */
void kf_torch_tool_name_python(const char *reason, kf_buffer *text);

#endif
