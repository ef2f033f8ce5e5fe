/* Jobs: one candidate to judge, as JSON lines between kforge and a judge (`kforge worker`) on the
 * same or another machine.
 *
 *   {"schema":"kforge-job/1","id":"…","task":{bundle},"source":"…","flags":["-DBLOCK=256"],"device":"cpu",
 *    "known_code":["HASH",…],"options":{…}}
 *
 * The answer is a verdict ("kforge-verdict/1") with the same id. Each is one line. At its start a
 * worker writes {"schema":"kforge-hello/1","device":…,"version":…} once.
 *
 * "alive" asks for signs of life: at least every so many seconds until its last verdict, the worker
 * writes {"schema":"kforge-alive/1","id":…,"doing":"measuring"}. 0, the default: none.
 *
 * "flags", "device", "known_code", "alive", "options" and its keys are optional. Reading is
 * strict, because a job may come from another machine. A job belongs to one thread at a time.
 */
#ifndef KFORGE_JOB_H
#define KFORGE_JOB_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/task.h"
#include "kforge/verdict_types.h"

#define KF_JOB_SCHEMA "kforge-job/1"
/* longest line that either side accepts */
#define KF_JOB_BYTES (64u << 20)
/* Longest id. An id has letters, digits, '.', '_', ':' and '-', and begins with a letter or digit,
 * because it may become the name of a file. */
#define KF_JOB_ID_BYTES 128
/* most extra compiler flags, and the longest of them */
#define KF_JOB_FLAGS 64
#define KF_FLAG_BYTES 256
/* most hashes of known code */
#define KF_JOB_KNOWN 256
/* A build's limit of wall time, as a multiple of its limit of CPU time. Beyond it the machine is at
 * fault. */
#define KF_BUILD_TIMEOUT_FACTOR 10
/* On a busy machine a measurement ends after so many times its timeout at most, without the waits
 * for builds, other jobs and Python's start. */
#define KF_JOB_CEILING 3
/* Limit of torch.compile for a baseline and one workload: a network of hundreds of layers, on few
 * processors. */
#define KF_COMPILE_SECONDS 600.0
/* Limit of a Python solution's extensions, in limits of a build: each reads PyTorch's headers. */
#define KF_EXTENSION_BUILDS 4
/* Limit of a dry run, in limits of a build. Other jobs wait for the device meanwhile. */
#define KF_DRY_RUN_BUILDS 4

typedef struct kf_job_options {
    /* for timing all workloads, without the build; 0: the device's default (CPU 0.9, GPU 3) */
    double seconds;
    /* from loading a candidate to its verdict (120) */
    double timeout_seconds;
    /* CPU time of one build (60). All extensions of a Python solution together may take
     * KF_EXTENSION_BUILDS times that in wall time, its dry run KF_DRY_RUN_BUILDS times. */
    double build_seconds;
    /* relative half-width at which timing stops (0.01). Below 0.005 this also holds for candidates
     * that are far slower than the baseline. */
    double half_width;
    /* correctness only: few batches, no speedup */
    bool check_only;
    bool strict_sandbox;
    /* for `torch`: also run KernelBench's own protocol, after the verdict (true) */
    bool kernelbench;
    /* the source is a Python file with class ModelNew, for a task with a problem file
     * (docs/internals/pytorch.md) */
    bool torch;
    /* CPU device: build with AddressSanitizer; never timed */
    bool asan;
    /* GPU: run compute-sanitizer on a correct candidate, after the verdict
     * (evaluator/judge/judge_sanitize.h). `verify` does that, too. */
    bool sanitize;
    /* measure twice, in new processes, and report whether the intervals agree */
    bool verify;
    /* also run the workloads that only show if a correct candidate generalises (true); with
     * `verify` at the second measurement */
    bool unseen;
    /* hardware counters to take after the verdict (counters.h): "all", names, "none" or NULL */
    char *counters;
    /* name of another baseline, or NULL */
    char *baseline;
    /* secret that repeats a verdict (1 to 64 hexadecimal digits), or NULL for a new secret */
    char *replay_key;
} kf_job_options;

typedef struct kf_job {
    char *id;
    kf_task *task;
    /* ends with NUL; has no other NUL */
    char *source;
    size_t source_size;
    /* extra compiler flags, from an allow list */
    char **flags;
    size_t flag_count;
    /* the device that the sender expects: "cpu", "cuda:0", …; "" for any */
    char *device;
    /* seconds between two signs of life; 0: none */
    double alive_seconds;
    /* hashes of machine code that the sender has verdicts for. The judge builds a candidate with
     * one of them, but does not measure it (finding "code.known"). */
    char **known_code;
    size_t known_count;
    /* the source is the task's own baseline, to which "forbidden" does not apply */
    bool of_baseline;
    kf_job_options options;
} kf_job;

/* Returns the defaults of all options. */
kf_job_options kf_job_options_default(void);
/* True if a verdict of this status and provenance also holds within the limits of `options`. A
 * timeout and a failed build under lower limits prove nothing. A verdict that does not give its
 * limits had the default ones. */
bool kf_job_limits_hold(const kf_job_options *options, kf_status status, const cJSON *provenance);
/* Makes a job with default options. Copies id, source and flags. Takes ownership of `task`, even if
 * it fails. Errors: KF_ERROR_INPUT (kf_source_check, kf_flag_check, an invalid id),
 * KF_ERROR_MEMORY. The caller frees. */
kf_job *kf_job_new(const char *id, kf_task *task, const char *source, size_t source_size,
                   const char *const *flags, size_t flag_count, kf_error *error);
/* Makes a job that judges a baseline of `task` as a candidate; `name` as in options.baseline. The
 * job has a copy of the task. NULL with *error: no such baseline, or as kf_job_new. */
kf_job *kf_job_of_baseline(const char *id, const kf_task *task, const char *name, kf_error *error);
/* Adds a hash to known_code, and drops the oldest beyond KF_JOB_KNOWN. False without memory. */
bool kf_job_add_known(kf_job *job, const char *code_hash);
/* True if known_code has the hash. */
bool kf_job_knows(const kf_job *job, const char *code_hash);
void kf_job_free(kf_job *job);
KF_DEFINE_AUTO(kf_job, kf_job_free)
/* True if a Python solution mentions a module that compiles during calls (Triton, torch.compile).
 * The judge then makes a dry run (docs/internals/pytorch.md). Pure. */
bool kf_compiles_when_called(const char *source);
kf_job *kf_job_from_json(const cJSON *json, kf_error *error);
/* Returns the job as JSON; the caller frees. NULL without memory. */
cJSON *kf_job_to_json(const kf_job *job);
/* The same for printing only. `bundle` is the printed bundle of the task, which many jobs share. */
cJSON *kf_job_to_json_around(const kf_job *job, const char *bundle);

/* False with KF_ERROR_INPUT for a source with NUL bytes, invalid UTF-8, more than KF_SOURCE_BYTES,
 * or only white space. `where` names the file in the error. */
bool kf_source_check(const char *source, size_t size, const char *where, kf_error *error);

/* False with KF_ERROR_INPUT for a compiler flag that is not on the allow list
 * (evaluator/task/flags.c). Flags reach nvcc or the host compiler, so they must not name a file, a
 * program or another option. */
bool kf_flag_check(const char *flag, kf_error *error);

#endif
