/* Hardware counters of a candidate's kernels: the valid requests, and the JSON of a runner's
 * records. Pure.
 *
 * The candidate lives in the process that counts. So its counters are information for people,
 * prompts and archives, and never part of a verdict. A candidate that lies here harms only its own
 * next version. Records have a fixed size, and every field is checked before it is kept.
 *
 * A verdict's "counters":
 *   {"candidate": SHA-256 of the source, "code": hash of the machine code, "workload", "chip":
 * "GH100", "passes", "all_passes": that all metrics would have taken, "ranges": launches there was
 * room for, "setup_seconds": of the runner, started ahead, "count_seconds": of the runner behind
 * that, "seconds": {by the judge's clock "lock", "buffers", "runner", "load", "hand_over",
 * "warm_up", "count", and by the runner's, within "count", "enable", "start", "stop": CUPTI's
 * around the calls of all passes, "read", "passes": [each]}, "kernels": [{"name", "symbol",
 * "launches", "part": of the time of a call, "grid": [x,y,z], "block": [x,y,z], "registers",
 * "shared_bytes", "local_bytes", "occupancy", "occupancy_limit": what theory allows this launch,
 * "metrics": {NAME: value…}, "roofline": see kforge/roofline.h}…],        the one that takes
 * longest first "missing": names that this chip lacks, "left_out": names beyond the allowed passes,
 * "dropped": launches without a record} or, without counters, {"candidate", "note": why there are
 * none, "remedy": what to do}. Both have "work": the origin of the device time
 * (evaluator/verdict/device_work.h).
 */
#ifndef KFORGE_COUNTERS_H
#define KFORGE_COUNTERS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

/* The longest list of names. */
#define KF_COUNTERS_LIST_BYTES 4096

struct kf_count_header; /* evaluator/protocol/counters_wire.h */
struct kf_count_launch;

/* Returns the number of metrics of "all". *names: CUPTI's names, the most informative first, each
 * followed by those that fit into the same pass. All of them take 11 passes on a GH100. */
size_t kf_counters_all(const char *const **names);
/* Returns how many of them, from the first on, take at most so many passes on a GH100. */
size_t kf_counters_passes_end(size_t passes);
/* Returns how many passes a call of this length may get, so that counting adds at most a second:
 * KF_COUNT_PASSES for a short or unknown time, and at least one. */
uint32_t kf_counters_passes(double call_seconds);
/* True for a valid request: "all", "none", or names with commas between them, each of letters,
 * digits, '_' and '.'. */
bool kf_counters_check(const char *list, kf_error *error);
/* Returns the names for a runner: those of a valid list, with commas between them and the metric of
 * time first. For "all" a semicolon stands where another pass begins. The caller frees the text. */
char *kf_counters_names(const char *list);

typedef struct kf_counters_origin {
    /* Hashes and a name. "" if unknown. */
    const char *candidate, *code, *workload;
    /* compute capability, for the occupancy that theory allows */
    int major, minor;
    /* The report of ptxas on the kernels, which the judge trusts more than the runner. May be NULL.
     */
    const cJSON *build;
    /* The candidate's source. May be NULL. */
    const char *source;
    /* True for a solution in Python. */
    bool python;
} kf_counters_origin;

/* Returns the JSON above for a runner's records. `names`: the names that the runner got. Launches
 * of one kernel with the same block become one row: sums are added, extremes are kept, and other
 * values are means weighted by time. NULL without memory. */
cJSON *kf_counters_json(const kf_counters_origin *origin, const char *names,
                        const struct kf_count_header *header,
                        const struct kf_count_launch *launches);
/* Returns the JSON of a missing result: a note and a remedy. NULL without memory. */
cJSON *kf_counters_note(const kf_counters_origin *origin, const char *note, const char *remedy);
/* Writes a note and a remedy for the stage at which a runner's counting ended. */
void kf_counters_explain(const struct kf_count_header *header, char note[256], char remedy[256]);

/* True if this machine can read counters, as far as its files show. `text` says why or why not, and
 * `remedy` what to do; for `doctor`. (In kf_judge_cuda, not pure.) */
bool kf_counters_available(char text[512], char remedy[512]);

/* Writes the name of a mangled kernel: "gemm_kernel" for "_Z11gemm_kernelPKfS0_Pflll", "ns::name"
 * for a nested name. An unknown form stays as it is. */
void kf_kernel_name(const char *symbol, char *name, size_t size);

#endif
