/* The runner's interface to its device. Each device is a program of its own: kforge-runner has
 * device_cpu.c, and kforge-runner-cuda has device_cuda.c. */
#ifndef KFORGE_RUNNER_DEVICE_H
#define KFORGE_RUNNER_DEVICE_H

#include "counters_wire.h"
#include "wire.h"

/* Starts the device with all threads that it will need. Returns the non-blocking stream for calls.
 * NULL after a message on standard error. */
void *kf_runner_start(void);
/* Maps one buffer so that accesses outside of it fault. Returns the address of its data; NULL after
 * a message on standard error. The caller keeps the descriptor. */
void *kf_runner_map(const kf_wire_command *command, int fd);
/* Unmaps all buffers. */
void kf_runner_unmap(void);
/* Seconds to wait for the command after a ping without sleeping, if waking up would be timed. */
extern const double kf_runner_lookout;
/* Prepares for a batch, before the clock starts. */
void kf_runner_ready(void);
/* Sets the order in which the warps of each block start (kfcpu_reverse). Does nothing on a GPU. */
void kf_runner_reverse(int order);
/* Gives the device the least work of this process: the content of an empty batch. */
void kf_runner_nothing(void);
/* Takes the judge's stream page (stream_page.h). NULL: the device's own, with open gates. */
void kf_runner_take_page(void *page);
/* Shows in *begun, which the judge reads, how many calls of a batch have begun. Returns 0 if the
 * device has gates instead. */
int kf_runner_show_progress(uint32_t *begun);
/* Begins call `number` of a batch; the first is 0. The stream waits for its gate, or it is shown
 * that so many calls and this one have begun. */
void kf_runner_begin_call(uint32_t number);
/* Has the stream copy the sample of `nonce` of an output to a slot. */
void kf_runner_sample(uint64_t nonce, uint32_t slot, const void *output, uint64_t bytes);
/* Wait for the stream, and for all work of this process on the device. Return the device's error
 * code; 0 without an error. */
int kf_runner_wait_stream(void);
int kf_runner_wait_device(void);
/* Prints an error to standard error. */
void kf_runner_complain(int code);
/* Counts one call, with at most `passes` repetitions. Returns 0 on a device without counters
 * (kforge/counters.h). */
int kf_runner_count(void (*call)(void *context), void *context, uint32_t passes,
                    kf_count_records *records);

#endif
