/* The extensions of a solution in Python (torch.utils.cpp_extension). They are compiled in the
 * build jail before the solution is judged, because a runner starts no programs.
 *
 * The jail executes the solution, which is foreign code, with compilers, and without a writable
 * folder of the host. One file of limited size leaves it, the build archive (build_archive.h). The
 * judge puts the libraries into the candidate's folder as KEY-NAME.so, and from there into the
 * runner's inbox. The cache keeps archives under the hash of all inputs, with the solution's whole
 * text. So no solution gets an archive that another solution's jail has written.
 */
#ifndef KFORGE_JUDGE_EXTENSIONS_H
#define KFORGE_JUDGE_EXTENSIONS_H

#include "kforge/build.h"

#define KF_EXTENSIONS_MAX 64 /* libraries of a solution */
/* In the folder of the candidate. */
#define KF_EXTENSIONS_FOLDER "extensions"

struct kf_device;

/* True if the source may compile extensions. */
bool kf_has_extensions(const char *source);
/* Compiles the extensions of a solution whose check has passed, or takes them from `cache` (may be
 * NULL). The candidate is at build->binary. False: a fault of the machine or the caller. */
bool kf_extensions_build(struct kf_device *device, const char *cache,
                         const kf_build_request *request, kf_build *build, kf_error *error);
/* Copies a candidate's extensions into a folder. */
bool kf_extensions_copy(const char *candidate, const char *folder, kf_error *error);

#endif
