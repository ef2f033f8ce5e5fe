/* What builds for every device share: the files that a compiler is given, and words for how it
 * ended. */
#ifndef KFORGE_BUILD_COMMON_H
#define KFORGE_BUILD_COMMON_H

#include "kforge/build.h"
#include "kforge/sandbox.h"

/* kforge_prototype.h, kforge_shim.cpp and the source, in the request's directory. */
bool kf_build_write_sources(const kf_build_request *request, kf_error *error);
/* Of a compiler and all that it starts. A busy or stalled machine makes a build take long, but does
 * not make it compute more: so its processor time is limited, and the time on the wall,
 * KF_BUILD_TIMEOUT_FACTOR times that, only so that it ends at all. `memory_bytes` 0: 4 GiB. */
kf_sandbox_limits kf_build_limits(double seconds, uint64_t memory_bytes);
/* Status and reason of one that did not end by itself: the machine's fault when nothing but its
 * time on the wall was over. False: out of memory. */
bool kf_build_over_limit(const kf_sandbox_result *result, const char *what, kf_build *build);
/* Fills `build` from a compiler that has ended; candidate.so is what it was to leave. `status_of`
 * says what an exit status other than 0 means. False: out of memory. */
bool kf_build_conclude(const kf_build_request *request, kf_sandbox *jail,
                       kf_status (*status_of)(int exit_status, const char *log), kf_build *build);

/* A compiler says of its exit status or in its messages that the machine lacks something. A source
 * has its say in both, so an entry that does nothing is built in its place: where that works,
 * `build` becomes the source's fault. `once` builds, without asking this. False: as kf_build_cpu.
 */
typedef bool (*kf_build_function)(const void *device, const kf_build_request *request,
                                  kf_build *build, kf_error *error);
bool kf_build_doubt_machine(const void *device, kf_build_function once,
                            const kf_build_request *request, kf_build *build, kf_error *error);

/* The build of a solution in Python: it has to be Python and to define class ModelNew; nothing of
 * it runs unless it compiles extensions (extensions.h). The "binary" is the file itself, with those
 * beside it. `cache`: NULL for none. */
struct kf_device;
bool kf_build_torch(struct kf_device *device, const char *cache, const kf_build_request *request,
                    kf_build *build, kf_error *error);

#endif
