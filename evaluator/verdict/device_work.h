/* Origin of a call's device time: the candidate's own kernels, a library, the framework, copies.
 * Pure.
 *
 * The records come from a runner, so the shares are evidence and never part of a verdict. An honest
 * process reports the file that launches a kernel. A dishonest process can report anything.
 *
 * "work" in a verdict's counters:
 *   {"own", "library", "framework", "copies": parts of the device time, "rest": the part without a
 * row, if there is one, "seconds": device time of the call, "rows": [{"class": "own" | "library" |
 * "framework" | "copies", "from": "cuBLAS"…, "name": of the kernel, "launches", "part"}…], the
 * longest first}, or null with "work_note": the reason.
 */
#ifndef KFORGE_DEVICE_WORK_H
#define KFORGE_DEVICE_WORK_H

#include "kforge/counters.h"

struct kf_count_line;
struct kf_count_work; /* evaluator/protocol/counters_wire.h */

/* "lines", if source lines were sampled: [{"file", "line", "kernel", "part": of the samples,
 * "stalls":
 * [{"name": a warp state, "percent": of the line's samples}…]}…], the most samples first; without
 * samples "lines_note": the reason. */

typedef enum kf_work_class {
    KF_WORK_OWN,
    KF_WORK_LIBRARY,
    KF_WORK_FRAMEWORK,
    KF_WORK_COPIES,
    KF_WORK_CLASSES
} kf_work_class;

const char *kf_work_class_name(kf_work_class kind);
/* Returns the class of a runner's row. `from`: "own kernels", "cuBLAS", "PyTorch", …
 *   1. The file that launched the kernel decides, if it is the candidate's, a library's or
 *      PyTorch's.
 *   2. Otherwise (a compiler's launcher, an unknown file) the kernel's name decides: own if the
 *      candidate's build or source has it, a library's or PyTorch's if it looks so.
 *   3. A name that says nothing is own in CUDA C, and the framework's in Python. */
kf_work_class kf_work_classify(const kf_counters_origin *origin, const struct kf_count_work *work,
                               char from[32]);
/* Adds "work" to a verdict's counters, and "work_note". False without memory. */
bool kf_work_put(cJSON *counters, const kf_counters_origin *origin,
                 const struct kf_count_header *header, const struct kf_count_work *works);
/* The same without a measurement. */
bool kf_work_put_note(cJSON *counters, const char *note);
/* Adds "lines" or "lines_note" if lines were sampled. False without memory. */
bool kf_lines_put(cJSON *counters, const struct kf_count_header *header,
                  const struct kf_count_line *lines);
/* Appends a text line for each of the first sampled lines. */
void kf_lines_words(const cJSON *counters, kf_buffer *out);
/* Returns the part of a class; NaN if `counters` (may be NULL) have none. */
double kf_work_part(const cJSON *counters, kf_work_class kind);
/* Appends "device time: 93 % own kernels, 7 % cuBLAS". Appends nothing without a measurement. */
void kf_work_words(const cJSON *counters, kf_buffer *out);

#endif
