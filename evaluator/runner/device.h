/* What a runner needs of its device. One program a device: device_cpu.c makes kforge-runner,
 * device_cuda.c kforge-runner-cuda. */
#ifndef KFORGE_RUNNER_DEVICE_H
#define KFORGE_RUNNER_DEVICE_H

#include "counters_wire.h"
#include "wire.h"

/* Starts the device, with all threads that it will ever need, and returns the non-blocking stream
 * that calls get; NULL, having said why. */
void *kf_runner_start(void);
/* Maps one buffer so that touching what lies outside of it faults, and returns the address of its
 * data; NULL, having said why. The descriptor stays the caller's. */
void *kf_runner_map(const kf_wire_command *command, int fd);
void kf_runner_unmap(void); /* everything */
/* Seconds to look out for the request behind a ping without sleeping, where waking up would be in
 * the time of a batch. */
extern const double kf_runner_lookout;
/* A batch follows: whatever makes its beginning like that of any other may happen now, outside of
 * the time. */
void kf_runner_ready(void);
/* The least that makes the device do anything in this process: what an empty batch consists of. */
void kf_runner_nothing(void);
/* Waits for the stream, then for all that this process has on the device; the device's error code,
 * 0 none. */
int kf_runner_wait_stream(void);
int kf_runner_wait_device(void);
/* Words for an error, to standard error. */
void kf_runner_complain(int code);
/* Counters of one call, which is repeated for it `passes` times at most; 0 where the device has
 * none (counters.h). */
int kf_runner_count(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_header *header, kf_count_launch *launches);

#endif
