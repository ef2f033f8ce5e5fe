/* Jobs: one candidate to judge, as JSON lines between kforge and a judge (`kforge worker`),
 * whatever machine that runs on.
 *
 *   {"schema":"kforge-job/1","id":"…","task":{bundle},"source":"…","flags":["-DBLOCK=256"],"device":"cpu",
 *    "known_code":["HASH",…],"options":{…}}
 *
 * and the answer is a verdict ("kforge-verdict/1") with the same id, one line each. Other lines a
 * worker may write:
 *   {"schema":"kforge-hello/1","device":…,"version":…}   once, at the start
 *
 * "flags", "device", "known_code", "options" and every key of "options" may be left out. Reading is
 * strict: a job may come from another machine.
 */
#ifndef KFORGE_JOB_H
#define KFORGE_JOB_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/task.h"

#define KF_JOB_SCHEMA "kforge-job/1"
#define KF_JOB_BYTES (64u << 20) /* longest line either side accepts */
/* letters, digits, '.', '_', ':' and '-', none of the marks first: an id may become a file's name
 */
#define KF_JOB_ID_BYTES 128
#define KF_JOB_FLAGS 64   /* most extra compiler flags */
#define KF_FLAG_BYTES 256 /* longest of them */
#define KF_JOB_KNOWN 256  /* most hashes of known code */
/* a build may take so many times its processor time; after that the machine is at fault */
#define KF_BUILD_TIMEOUT_FACTOR 10
#define KF_COMPILE_SECONDS                                                                         \
    600.0 /* that torch.compile may take for a baseline, of one workload: a network of hundreds of \
             layers, on few processors */
/* builds' time that the extensions of a solution may take: each reads PyTorch's headers */
#define KF_EXTENSION_BUILDS 4
/* likewise its dry run, where it compiles when it is called: others wait for the device meanwhile
 */
#define KF_DRY_RUN_BUILDS 4

typedef struct kf_job_options {
    /* time budget for timing all workloads; 0: the device's own (CPU 0.9, GPU 3); the build has its
     * own */
    double seconds;
    double timeout_seconds; /* of one candidate from load to last verdict (120) */
    double build_seconds;   /* processor time of one build (60); a solution's extensions in Python
                             * together may take KF_EXTENSION_BUILDS times that   on the wall, and its
                             * dry run KF_DRY_RUN_BUILDS times */
    /* stopping rule, 0.01; below 0.005 it holds for candidates that are far slower than the
     * baseline, too */
    double half_width;
    bool check_only; /* correctness only, few batches, no speedup */
    bool strict_sandbox;
    /* of such a source: run KernelBench's own protocol, too, after the verdict (true) */
    bool kernelbench;
    /* the source is a Python file with class ModelNew, for a task that has a problem file
     * (docs/internals/pytorch.md) */
    bool torch;
    bool asan;     /* CPU device: AddressSanitizer build; never timed */
    bool sanitize; /* GPU: compute-sanitizer on a correct candidate, after the verdict
                      (evaluator/judge/judge_sanitize.h); `verify` does it too */
    bool verify;   /* measure twice, in fresh processes, and say whether the intervals agree */
    /* hardware counters to take after the verdict (kforge/counters.h): "all", names, "none" or NULL
     */
    char *counters;
    char *baseline;   /* named alternative baseline, or NULL */
    char *replay_key; /* hex secret (1 to 64 digits) to repeat a verdict, or NULL for a fresh one */
} kf_job_options;

typedef struct kf_job {
    char *id;
    kf_task *task;
    char *source; /* NUL-terminated; a NUL inside is refused before a job exists */
    size_t source_size;
    char **flags; /* extra compiler flags, from an allow list */
    size_t flag_count;
    /* "cpu", "cuda:0", …: what the sender expects the judge to have; "" whatever it has */
    char *device;
    char **known_code; /* machine-code hashes that the sender has verdicts on: such a candidate is
                          built and not measured (finding "code.known") */
    size_t known_count;
    kf_job_options options;
} kf_job;

/* Defaults for all options. */
kf_job_options kf_job_options_default(void);
/* A job with copies of id, source and flags and default options; takes `task` over, also when it
 * fails. NULL for KF_ERROR_INPUT (what kf_source_check, kf_flag_check and the rule for ids refuse)
 * or KF_ERROR_MEMORY. */
kf_job *kf_job_new(const char *id, kf_task *task, const char *source, size_t source_size,
                   const char *const *flags, size_t flag_count, kf_error *error);
/* Adds a hash; the oldest gives way when there are KF_JOB_KNOWN. False when out of memory. */
bool kf_job_add_known(kf_job *job, const char *code_hash);
void kf_job_free(kf_job *job);
KF_DEFINE_AUTO(kf_job, kf_job_free)
/* Does this text of a solution in Python mention what compiles when it is called (Triton,
 * torch.compile)? Then it has a dry run (docs/internals/pytorch.md). Pure. */
bool kf_compiles_when_called(const char *source);
kf_job *kf_job_from_json(const cJSON *json, kf_error *error);
cJSON *kf_job_to_json(const kf_job *job); /* NULL when out of memory */
/* The same, to be printed only, with the printed bundle of its task, which many jobs share. */
cJSON *kf_job_to_json_around(const kf_job *job, const char *bundle);

/* Refuses what is no candidate at all: a NUL byte, bytes that are not UTF-8, over KF_SOURCE_BYTES,
 * nothing but white space. `where` names the file. */
bool kf_source_check(const char *source, size_t size, const char *where, kf_error *error);

/* Refuses a compiler flag that is not on the allow list (evaluator/task/flags.c): flags reach nvcc
 * or the host compiler, so none may name a file, a program or another option. */
bool kf_flag_check(const char *flag, kf_error *error);

#endif
