/* What builds for every device share: the files that a compiler is given, and words for how it ended. */
#ifndef KFORGE_BUILD_COMMON_H
#define KFORGE_BUILD_COMMON_H

#include "kforge/build.h"
#include "kforge/sandbox.h"

/* kforge_prototype.h, kforge_shim.cpp and the source, in the request's directory. */
bool kf_build_write_sources(const kf_build_request *request, kf_error *error);
/* Fills `build` from a compiler that has ended; candidate.so is what it was to leave. `status_of` says what an exit status other than 0 means.
 * False: out of memory. */
bool kf_build_conclude(const kf_build_request *request, kf_sandbox *jail, kf_status (*status_of)(int exit_status, const char *log),
                       kf_build *build);

/* The build of a solution in Python: it has to be Python and to define class ModelNew; nothing of it runs unless it compiles extensions (extensions.h).
 * The "binary" is the file itself, with those beside it. `cache`: NULL for none. */
struct kf_device;
bool kf_build_torch(struct kf_device *device, const char *cache, const kf_build_request *request, kf_build *build, kf_error *error);

#endif
