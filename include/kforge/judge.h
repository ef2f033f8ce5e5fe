/* The judge: the trusted side of judging one candidate on one device. It owns the buffers, the
 * secret keys, the oracle's outputs, the clock and the verdict. It runs the candidate, the baseline
 * and the oracle each in a sandboxed runner of its own (evaluator/judge/README.md,
 * docs/internals/trust.md).
 *
 * A kf_judge belongs to the thread that made it, since its runners die with that thread. Make one
 * judge for each device: two judges on one device disturb each other's timing. Jobs are
 * independent. Only the cache of trusted builds (oracles and baselines) passes from one job to the
 * next.
 */
#ifndef KFORGE_JUDGE_H
#define KFORGE_JUDGE_H

#include <stdbool.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/job.h"
#include "kforge/lint.h"
#include "kforge/verdict.h"

typedef struct kf_judge kf_judge;

typedef struct kf_judge_settings {
    /* "cpu", "cuda:1", or "cuda" for the first GPU on which no other judge times. NULL or "": the
     * same as "cuda", or "cpu" on a machine without a GPU. */
    const char *device;
    /* Folder for trusted builds. NULL: $XDG_CACHE_HOME/kforge or ~/.cache/kforge. "": no cache. */
    const char *cache;
} kf_judge_settings;

/* Opens the device and measures its memory bandwidth, caches and sandbox layers, in about 0.1 s.
 * Errors: KF_ERROR_INPUT for an unknown device; KF_ERROR_MACHINE if the device or kforge's own
 * files are missing. */
kf_judge *kf_judge_new(const kf_judge_settings *settings, kf_error *error);
void kf_judge_free(kf_judge *judge);
KF_DEFINE_AUTO(kf_judge, kf_judge_free)

/* Returns the number of GPUs that the driver shows; 0 without a driver. */
int kf_judge_gpu_count(void);
/* True if a driver is installed but does not start, for another reason than a missing GPU. `text`
 * then says why, followed by "; " and what to do. */
bool kf_judge_gpu_trouble(char *text, size_t size);

/* Returns the device's name: "cpu" or "cuda:0". The judge owns the text. */
const char *kf_judge_device(const kf_judge *judge);
/* Returns the hardware's name, equal on all machines of a kind: "NVIDIA H200", "cpu AMD EPYC 9654".
 * The judge owns the text. */
const char *kf_judge_hardware(const kf_judge *judge);
/* Returns the environment id: the hardware, the protocol version, the runtime (on the CPU device)
 * and the compiler. "cpu AMD EPYC 9654; judge 1, runtime 53f842232d22, g++ 12.2.0". Two verdicts
 * are comparable only if their environment ids are equal. The store names devices by it. The judge
 * owns the text.
 *
 * Protocol version: KF_PROTOCOL_VERSION. A hash over the judge's sources would change with every
 * comment, and would make weeks of verdicts worthless.
 *
 * Runtime: a hash of the installed files that candidates are compiled with and run on (library,
 * compiler driver, headers). The device computes the hash when it opens. Equal sources give an
 * equal hash, in any folder.
 *
 * Compiler: the version of nvcc and of its host gcc, or of the g++ behind kforge-cpucc, as of the
 * opening of the device. "no nvcc" on a machine without nvcc. The name of the distribution's
 * package is left out. */
const char *kf_judge_environment_id(const kf_judge *judge);
/* Add one with each change after which an unchanged candidate may get another time or status:
 * timing, inputs, tolerances, floors, convictions. Do not add one for the speed of the judge, for
 * its messages, or for extra reports. On a GPU only this number separates old verdicts from new. */
#define KF_PROTOCOL_VERSION 35
/* Separates the hardware from the rest of the environment id. */
#define KF_JUDGE_MARK "; judge "
/* Returns a new JSON object that describes the device, for `doctor` and provenance; NULL without
 * memory. */
cJSON *kf_judge_describe(const kf_judge *judge);

/* Sets a function that gets each step of a job in words, at most 63 bytes ("timing large, 2 of 3"),
 * on the judge's thread. NULL: no function. */
void kf_judge_watch(kf_judge *judge, void (*step)(void *context, const char *words), void *context);

/* Judges one job. Every failure becomes a verdict, with three exceptions that return NULL: no
 * memory for a verdict; a lost device (KF_ERROR_MACHINE); an interruption (KF_ERROR_BUSY
 * "interrupted"). After a lost device the candidate has no verdict, and this judge must not be used
 * again; a new process may find the device again. `stop` (may be NULL) is polled. Once it is
 * non-zero the judge kills the candidate. */
kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stop,
                         kf_error *error);

/* The same in two steps, so that compilers work ahead of the device. kf_judge_prepare starts the
 * builds on threads of their own and returns. A source with what the task forbids is not built.
 * `job` has to outlive the result. At the end of the candidate's build, a byte is written to the
 * descriptor `notify` (-1: no notification). kf_judge_measure does the rest, on the judge's thread.
 * On a GPU, where runners start slowly, it starts them while the candidate still builds. `more`:
 * another job follows soon, and its runners may start. kf_prepared_free ends builds that still run.
 */
typedef struct kf_prepared kf_prepared;
kf_prepared *kf_judge_prepare(kf_judge *judge, const kf_job *job, int notify, kf_error *error);
bool kf_prepared_is_built(const kf_prepared *prepared);
kf_verdict *kf_judge_measure(kf_judge *judge, kf_prepared *prepared, bool more,
                             const volatile int *stop, kf_error *error);
void kf_prepared_free(kf_prepared *prepared);
KF_DEFINE_AUTO(kf_prepared, kf_prepared_free)
/* Returns how many jobs to prepare at a time: one to measure, and others to build meanwhile.
 * Returns 1 if compilers would disturb the timing. */
size_t kf_judge_jobs(const kf_judge *judge);

/* Finds the Python and PyTorch for problem files and solutions in Python, without importing them:
 * {"python","program","torch"}. NULL with an error that names what is missing and how to install
 * it. */
cJSON *kf_judge_torch(kf_error *error);

/* Does the second part of `task lint`: runs the oracle and the baseline of every workload that fits
 * the device, and applies kf_lint_outputs and kf_lint_pace. Returns the number of errors reported.
 * Returns -1 if a trusted source does not build or run, or after an interruption (KF_ERROR_BUSY;
 * `stop` as above). */
int kf_judge_lint(kf_judge *judge, const kf_task *task, kf_lint_report *report, void *context,
                  const volatile int *stop, kf_error *error);

#endif
