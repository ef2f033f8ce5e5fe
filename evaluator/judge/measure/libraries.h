/* Vendor libraries: what a task may allow, and whether a candidate's process has loaded one that it
 * may not. */
#ifndef KFORGE_LIBRARIES_H
#define KFORGE_LIBRARIES_H

#include "measure_internal.h"

/* The first vendor library in the text of /proc/PID/maps that the task's libraries (terminated by
 * NULL, may be NULL) do not cover, as the base name of its file, into `name`; false when there is
 * none. What a library loads by itself (cuBLAS's cublasLt, cuDNN's cuBLAS) is covered with it. */
bool kf_library_forbidden(const char *maps, const char *const *allowed, char name[64]);

/* Looks at the candidate's process, which is stopped; a finding "library.loaded" ends the run.
 * False: no memory. Not at Python with PyTorch, which is linked to such libraries. Where the
 * machine does not let the judge read the process's maps nothing is said. */
bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error);

#endif
