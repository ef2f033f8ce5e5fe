/* The Python that has PyTorch: its program, versions and folders. It is found once in a process,
 * without importing PyTorch. */
#ifndef KFORGE_JUDGE_PYTHON_INSTALLATION_H
#define KFORGE_JUDGE_PYTHON_INSTALLATION_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_PYTHON_PATHS 12
#define KF_TORCH_MIN "1.13"

typedef struct kf_python {
    /* The interpreter itself, not a wrapper. */
    char program[1024];
    /* "3.11.2" and "1.13.1". `torch` is "" without PyTorch. */
    char version[32], torch[64];
    /* The folders that it reads. */
    char paths[KF_PYTHON_PATHS][1024];
    size_t path_count;
} kf_python;

/* Variables for a sandbox without /etc/passwd and without writable folders. Parts of PyTorch
 * (torch._dynamo, from 2.9 on) need a user's name and a folder, or cannot be imported. */
#define KF_PYTHON_VARIABLES "USER=nobody", "TORCHINDUCTOR_CACHE_DIR=/tmp"

/* For sources, objects and caches of what torch.compile makes of a baseline. */
#define KF_COMPILED_TEMPORARY (2ull << 30)
/* headers of ATen that PyTorch 2.11 has g++ precompile are 118 MiB */
#define KF_COMPILED_FILE (512u << 20)

/* Returns $KFORGE_PYTHON, or the first of /usr/bin/python3 and python3 in PATH that has PyTorch.
 * NULL with KF_ERROR_MACHINE without Python or PyTorch, or for a PyTorch older than KF_TORCH_MIN;
 * the error says what to install. The result is valid for the life of the process. */
const kf_python *kf_python_find(kf_error *error);

#endif
