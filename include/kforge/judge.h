/* The judge: the trusted side of judging one candidate on one device. Owns the buffers, the secret
 * keys, the oracle's outputs, the clock and the verdict; runs the candidate, the baseline and the
 * oracle each in a sandboxed runner of its own (docs/internals/trust.md).
 *
 * A kf_judge belongs to the thread that made it: runners die with that thread. One judge a device:
 * two of them on one device disturb each other's timing. Jobs are independent; nothing of one job
 * reaches the next but the cache of trusted builds (oracles and baselines).
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
    const char *device; /* "cpu", "cuda:1", "cuda" (the first GPU that nobody times on now); NULL or
                           "": as "cuda", without a GPU "cpu" */
    /* folder for trusted builds; NULL: $XDG_CACHE_HOME/kforge or ~/.cache/kforge; "": none */
    const char *cache;
} kf_judge_settings;

/* Opens the device and measures what every job needs of it (memory bandwidth, caches, the sandbox's
 * layers): some 0.1 s. Errors: KF_ERROR_INPUT unknown device; KF_ERROR_MACHINE the device or
 * kforge's own files are missing. */
kf_judge *kf_judge_new(const kf_judge_settings *settings, kf_error *error);
void kf_judge_free(kf_judge *judge);
KF_DEFINE_AUTO(kf_judge, kf_judge_free)

/* GPUs that the driver shows; 0 without a driver. */
int kf_judge_gpu_count(void);
/* Is there a driver that does not start, for another reason than that there is no GPU? Then `text`
 * says why, "; " and what to do. */
bool kf_judge_gpu_trouble(char *text, size_t size);

/* "cpu" or "cuda:0"; and the hardware in words that are the same on each machine of its kind:
 * "NVIDIA H200", "cpu AMD EPYC 9654". Borrowed. */
const char *kf_judge_device(const kf_judge *judge);
const char *kf_judge_hardware(const kf_judge *judge);
/* Under what conditions times and verdicts come about here: the hardware, the rules, on the CPU
 * device the runtime, and the compiler. Verdicts are comparable, and one may stand for another,
 * only where these words are equal: the store calls a device so. "cpu AMD EPYC 9654; judge 1,
 * runtime 53f842232d22, g++ 12.2.0". Borrowed.
 *
 * The rules are a number that people count up (below). A hash over the judge's sources would change
 * with every comment and throw away what weeks of GPU time have found. The runtime is a hash of the
 * files that candidates are compiled with and run on, made when the device opens: the library, the
 * compiler driver and the headers as they are installed, not their sources. Building them again
 * from the same sources gives the same files, in whatever folder; a change that reaches the machine
 * code gives others, and nobody has to remember to say so.
 *
 * The compiler is the version of nvcc and of the gcc that it leaves the host's half to, or of the
 * g++ behind kforge-cpucc, as it is when the device opens ("no nvcc" where there is none): another
 * makes another program of the same source. What its distribution calls the package is left out. */
const char *kf_judge_environment_id(const kf_judge *judge);
/* Add one with each change after which an unchanged candidate may get another time or status: what
 * is timed, subtracted, repeated or left out; inputs, tolerances, floors, convictions. Not for how
 * fast the judge is, for its words, or for what it reports beside. On a GPU nothing else tells old
 * verdicts from new ones. */
#define KF_PROTOCOL_VERSION 22
#define KF_JUDGE_MARK "; judge " /* between the hardware and the rest of the conditions */
/* What the judge knows of its device, for `doctor` and provenance: a new JSON object, NULL when out
 * of memory. */
cJSON *kf_judge_describe(const kf_judge *judge);

/* Judges one job. Whatever goes wrong becomes a verdict: NULL only when there is no memory for one,
 * or when the device was lost (KF_ERROR_MACHINE): then nothing is known of the candidate, and this
 * judge is of no more use; a process of its own may find the device again. `stop` (may be NULL) is
 * polled: once it is non-zero the candidate is killed and NULL is returned with KF_ERROR_BUSY
 * "interrupted". */
kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stop,
                         kf_error *error);

/* The same in two steps, so that compilers work ahead of the device. kf_judge_prepare starts the
 * builds on threads of their own and returns; `job` has to outlive what it returns. When the
 * candidate's build is over a byte is written to the descriptor `notify` (-1: none).
 * kf_judge_measure does the rest, on the judge's thread; where starting is slow (a GPU) it makes
 * ready what it can while the candidate still builds. `more`: another job will follow soon, and
 * what it needs may be started. kf_prepared_free waits for the builds. */
typedef struct kf_prepared kf_prepared;
kf_prepared *kf_judge_prepare(kf_judge *judge, const kf_job *job, int notify, kf_error *error);
bool kf_prepared_is_built(const kf_prepared *prepared);
kf_verdict *kf_judge_measure(kf_judge *judge, kf_prepared *prepared, bool more,
                             const volatile int *stop, kf_error *error);
void kf_prepared_free(kf_prepared *prepared);
KF_DEFINE_AUTO(kf_prepared, kf_prepared_free)
/* How many jobs it is worth having at hand: one that is measured, and others whose builds go on
 * meanwhile. 1 where compilers would disturb the timing. */
size_t kf_judge_jobs(const kf_judge *judge);

/* The Python and PyTorch that problem files and solutions in Python run in, found without importing
 * them: {"python","program","torch"}; NULL with what is missing and what to install. */
cJSON *kf_judge_torch(kf_error *error);

/* The second part of `task lint`: runs oracle and baseline of every workload that fits the device
 * and applies kf_lint_outputs and kf_lint_pace. Returns the number of errors reported, or -1 when a
 * trusted source does not build or run, or when interrupted (KF_ERROR_BUSY; `stop` as above). */
int kf_judge_lint(kf_judge *judge, const kf_task *task, kf_lint_report *report, void *context,
                  const volatile int *stop, kf_error *error);

#endif
