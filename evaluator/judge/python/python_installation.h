/* The Pythons of this machine, and the one that has PyTorch: its program, versions and folders. It
 * is found once in a process, without importing PyTorch. */
#ifndef KFORGE_JUDGE_PYTHON_INSTALLATION_H
#define KFORGE_JUDGE_PYTHON_INSTALLATION_H

#include <stddef.h>

#include "kforge/error.h"

#define KF_PYTHON_PATHS 12
#define KF_PYTHON_PROGRAMS 3
#define KF_TORCH_MIN "1.13"

typedef struct kf_python_program {
    char path[1024];
    /* "KFORGE_PYTHON", "VIRTUAL_ENV", "PATH" or "/usr/bin" */
    const char *from;
} kf_python_program;

typedef struct kf_python {
    /* The interpreter itself, not a wrapper. */
    char program[1024];
    /* "3.11.2" and "1.13.1". `torch` is "" without PyTorch. */
    char version[32], torch[64];
    /* as in kf_python_program */
    const char *from;
    /* the Pythons before it and why each is not used: "/venv/bin/python3 of VIRTUAL_ENV has no
     * PyTorch"; "": it is the first one */
    char unused[2048];
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

/* Writes the Pythons to try, the first one first, and returns how many: only $KFORGE_PYTHON if it
 * is set, else python3 of $VIRTUAL_ENV, of PATH and of /usr/bin. Runs nothing. */
size_t kf_python_programs(kf_python_program programs[KF_PYTHON_PROGRAMS]);

/* Returns the first of kf_python_programs with KF_TORCH_MIN or later. NULL with KF_ERROR_MACHINE
 * without one; the error says what to install. The result is valid for the life of the process. */
const kf_python *kf_python_find(kf_error *error);

#endif
