/* Parts of a build for every device: the compiler's input files, its limits, and the build's
 * status. */
#ifndef KFORGE_BUILD_COMMON_H
#define KFORGE_BUILD_COMMON_H

#include "kforge/build.h"
#include "kforge/sandbox.h"

/* The most builds of a source if signals end them, and if the machine fails in another way. */
#define KF_BUILDS_KILLED 10
#define KF_BUILDS_SHORT 2

/* Writes kforge_prototype.h, kforge_shim.cpp and the source into the request's directory.
 * `own_shim` NULL: kf_build_shim. */
bool kf_build_write_sources(const kf_build_request *request, const char *own_shim, kf_error *error);
/* Returns the limits of a compiler and its child processes. A busy machine makes a build longer,
 * but does not add processor time. So processor time is limited to `seconds`, and wall-clock time
 * to KF_BUILD_TIMEOUT_FACTOR times that. `memory_bytes` 0: 4 GiB. */
kf_sandbox_limits kf_build_limits(double seconds, uint64_t memory_bytes);
/* Returns the processor time that all compilations of a build share. */
double kf_build_cpu_seconds(const kf_build_request *request);
/* Sets the status and reason of a compiler that exceeded a limit or was ended by a signal. If only
 * the wall-clock time was over, or something else sent the signal, it is a fault of the machine.
 * False without memory. */
bool kf_build_over_limit(const kf_sandbox_result *result, const char *what, kf_build *build);
/* Waits for the end of a compiler. False if the request's stop flag came first: the jail is then
 * killed, and the error is KF_ERROR_BUSY. */
bool kf_build_await(const kf_build_request *request, kf_sandbox *jail, kf_error *error);
/* Fills `build` from a compiler that has ended and should have left candidate.so. `status_of` gives
 * the status of an exit status other than 0, and KF_STATUS_COUNT if a signal ended a program of the
 * compiler. False without memory. */
bool kf_build_conclude(const kf_build_request *request, kf_sandbox *jail,
                       kf_status (*status_of)(int exit_status, const char *log), kf_build *build);

/* Builds with `once`, and again if something outside ended the build. All repeats together
 * get the processor time of one build: a source can print the words of a killed compiler. `once`
 * fails if the machine or the sandbox does; that is repeated, too.
 *
 * A source can influence the compiler's exit status and messages. So if those blame the machine
 * twice, this builds an entry that does nothing. If that works, `build` becomes a fault of the
 * source. False: as in kf_build_cpu. */
typedef bool (*kf_build_function)(const void *device, const kf_build_request *request,
                                  kf_build *build, kf_error *error);
bool kf_build_repeat(const void *device, kf_build_function once, const kf_build_request *request,
                     kf_build *build, kf_error *error);

/* Builds a solution in Python: checks that it is Python and defines class ModelNew. The solution
 * runs only if it compiles extensions (extensions.h). The "binary" is the file itself, in one
 * folder with its extensions. `cache` may be NULL. */
struct kf_device;
bool kf_build_torch(struct kf_device *device, const char *cache, const kf_build_request *request,
                    kf_build *build, kf_error *error);

#endif
