/* Builds: from CUDA C source to a shared object for the runner, in the build jail.
 *
 * The candidate, the generated prototype and the shim that calls the entry are separate files. The
 * prototype is included before the candidate's first line, so a wrong signature is a compile error
 * that names it. The shim is a translation unit of its own, so no macro of the candidate reaches
 * it. Every build has a fresh directory. The jail can read only the toolchain and that directory.
 * The task's own sources (oracle, baselines) are built the same way, and their binaries are cached
 * by content.
 */
#ifndef KFORGE_BUILD_H
#define KFORGE_BUILD_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/hash.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

/* The most of the compiler's messages that a build keeps. */
#define KF_BUILD_LOG_BYTES (256u << 10)
/* The largest binary. */
#define KF_BINARY_BYTES (256u << 20)

typedef struct kf_build_request {
    const kf_task *task;
    /* True: the entry is ENTRY_oracle with float64 outputs. */
    bool oracle;
    const char *source; /* NUL-terminated */
    size_t size;
    /* File name in messages: "candidate.cu". */
    const char *name;
    /* Extra compiler flags, with NULL at the end. May be NULL. */
    const char *const *flags;
    /* Libraries to link, with NULL at the end. NULL: those that the task allows to candidates. */
    const char *const *libraries;
    bool asan; /* AddressSanitizer */
    /* The CPU device: the binary is checked and never timed, so it needs the least optimisation. */
    bool untimed;
    /* Source lines of machine code, for compute-sanitizer. Equal programs then differ. */
    bool line_info;
    /* The limit of processor time. The wall-clock limit is KF_BUILD_TIMEOUT_FACTOR (kforge/job.h)
     * times that. */
    double seconds;
    /* How often the compiler may compile the source. All times together have so many times that
     * processor time. 0: once. */
    int compilations;
    uint64_t memory_bytes; /* 0: 4 GiB */
    bool strict_sandbox;
    /* An existing, empty directory for this build alone. */
    const char *directory;
    /* The CPU device: the folder for precompiled headers. May be NULL. */
    const char *cache;
    /* Once it is non-zero the build is killed, and fails with KF_ERROR_BUSY. May be NULL. */
    const volatile int *stop;
} kf_build_request;

typedef struct kf_build {
    bool ok;
    /* KF_CORRECT when ok, else KF_COMPILE_ERROR, KF_UNSUPPORTED_DEVICE, KF_OUT_OF_MEMORY or
     * KF_JUDGE_ERROR */
    kf_status status;
    /* The compiler's messages in valid UTF-8. May be "". */
    char *log;
    /* The reason in one line if not ok. */
    char *reason;
    /* Path of the shared object inside `directory`. */
    char *binary;
    char binary_hash[KF_HASH_HEX], code_hash[KF_HASH_HEX];
    double seconds, cpu_seconds;
    /* True if only the compiler's messages caused KF_JUDGE_ERROR, not its time. */
    bool excusable;
    /* True if a signal that kforge did not send ended the compiler. */
    bool killed;
    /* True if it had used so much processor time that the kernel's limit may have killed it. */
    bool spent;
    /* Builds in a row that ended like this one, if that clears the machine. 0: no question. */
    int same_ends;
    /* Sandbox layers that were active. */
    int layers;
    /* The compiler's report on the machine code
     * ({"kernels":[{"name","registers","spill_bytes",…}]}), or NULL. */
    cJSON *report;
} kf_build;

/* Builds for the CPU device. False only for a fault of the machine or the caller. A candidate that
 * does not compile is a result. Free the build with kf_build_free. */
bool kf_build_cpu(const kf_build_request *request, kf_build *build, kf_error *error);
void kf_build_free(kf_build *build);

/* Return the two generated files, for builds, tests and `task show`. The caller frees them. */
char *kf_build_prototype_header(const kf_task *task, bool oracle);
char *kf_build_shim(const kf_task *task, bool oracle);
/* Returns a shim that needs no header of CUDA, which compiles ten times as fast: pointers are void
 * *, which the C calling convention does not tell apart. NULL also for a scalar of another type
 * than C's. The caller frees it. */
char *kf_build_plain_shim(const kf_task *task, bool oracle);

/* Computes the SHA-256 of an ELF64 file, every byte of it. The compilers get fixed file names and
 * leave out symbols, build ids and lines (build_cuda.c, cpucc.c). So texts that differ in comments,
 * layout and names of locals usually give equal files. KF_ERROR_INPUT for any other file. */
bool kf_elf_code_hash(const void *data, size_t size, char hex[KF_HASH_HEX], kf_error *error);

#endif
