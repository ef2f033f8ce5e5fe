/* Vendor libraries: whether a candidate's process has loaded one that the task does not allow. */
#ifndef KFORGE_LIBRARIES_H
#define KFORGE_LIBRARIES_H

#include "measure_internal.h"

/* True if the text of /proc/PID/maps names a vendor library that the task's libraries do not cover.
 * Writes the base name of the first one to `name`. `allowed` ends with NULL, and may be NULL. A
 * library covers those that it loads itself (cuBLAS loads cublasLt, cuDNN loads cuBLAS). */
bool kf_library_forbidden(const char *maps, const char *const *allowed, char name[64]);

/* Looks at the candidate's process, which is stopped; a finding "library.loaded" ends the run.
 * False: no memory. Not at Python with PyTorch, which is linked to such libraries. Where the
 * machine does not let the judge read the process's maps nothing is said. */
bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error);

#endif
