/* The extensions of a solution in Python (torch.utils.cpp_extension): compiled in the build jail
 * before anything is judged, because a runner starts no programs.
 *
 * The jail executes the solution: a stranger's code, with compilers, without any folder of the
 * host's to write to. What leaves it is one file of limited size (build_archive.h), whose libraries
 * are put beside the candidate, KEY-NAME.so, and into the runner's inbox from there. Crates are
 * kept in the cache under the hash of all that they came from, the solution's whole text among it,
 * so that no solution gets what another one's jail has written.
 */
#ifndef KFORGE_JUDGE_EXTENSIONS_H
#define KFORGE_JUDGE_EXTENSIONS_H

#include "kforge/build.h"

#define KF_EXTENSIONS_MAX 64              /* libraries of a solution */
#define KF_EXTENSIONS_FOLDER "extensions" /* beside the candidate */

struct kf_device;

/* Might this source compile anything? */
bool kf_has_extensions(const char *source);
/* Goes on with a build that has found the source good: compiles what it asks for, or takes it from
 * `cache` (may be NULL). The candidate is at build->binary. False: the machine's or the caller's
 * fault. */
bool kf_extensions_build(struct kf_device *device, const char *cache,
                         const kf_build_request *request, kf_build *build, kf_error *error);
/* Copies a candidate's extensions into a folder. */
bool kf_extensions_copy(const char *candidate, const char *folder, kf_error *error);

#endif
