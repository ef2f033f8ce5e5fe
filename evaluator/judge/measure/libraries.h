/* Libraries: whether a candidate's process has mapped code that it may not have. */
#ifndef KFORGE_LIBRARIES_H
#define KFORGE_LIBRARIES_H

#include "measure_internal.h"

/* What a candidate's process may have mapped. */
typedef struct kf_mapped {
    /* Path of its own binary. May be NULL. */
    const char *candidate;
    /* The text of /proc/PID/maps from before the binary was loaded, and of the oracle's process on
     * the same device, or "". The oracle's says whether the driver makes code at run time. */
    const char *first, *oracle;
    /* The text from before the process lost its files, when it was judged. NULL: it has them. */
    const char *last;
    /* Libraries that the task allows, with NULL at the end. May be NULL. */
    const char *const *allowed;
} kf_mapped;

/* True if the text of /proc/PID/maps has executable memory, or a library, that is not allowed.
 * Writes the base name of the first to `name`, "" for executable memory without a file. */
bool kf_library_forbidden(const char *maps, const kf_mapped *mapped, char name[64]);

/* Does the same for a process of Python with PyTorch, where only files count. Its `oracle` is the
 * text of the oracle's process. Its libraries are allowed. */
bool kf_python_library_forbidden(const char *maps, const kf_mapped *mapped, char name[64]);

/* Looks at the candidate's process, which is stopped. A finding "library.loaded" ends the run.
 * False: no memory. Where the machine does
 * not let the judge read the process's maps, nothing is found. */
bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error);
/* Decides before a batch whether the judge looks at the process while the batch runs. */
void kf_measurement_plan_look(kf_measurement *r, kf_side side, int pair, kf_batch *batch);
/* After a batch: judges what was seen, and, if the process lives, looks again now and then. */
bool kf_measurement_look(kf_measurement *r, kf_side side, kf_batch *batch, bool alive,
                         kf_error *error);

#endif
