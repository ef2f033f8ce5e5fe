/* The judge's side of one runner. wire.h is the protocol.
 *
 * A runner is frozen, with every thread stopped, except during a function of this file that sends
 * it a command. So nothing of it runs while another runner is timed or while the judge reads a
 * byte.
 *
 * Functions return a kf_runner_event. After any event but KF_RUNNER_OK and KF_RUNNER_DEVICE_ERROR
 * the runner is dead and its process tree gone. kf_runner_explain turns an event into a finding.
 * A runner belongs to the thread that started it.
 */
#ifndef KFORGE_RUNNER_PROCESS_H
#define KFORGE_RUNNER_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"
#include "kforge/sandbox.h"
#include "kforge/verdict.h"
#include "cpu_idle_guard.h"

typedef enum kf_runner_event {
    KF_RUNNER_OK,
    /* It crashed, exited or was killed by a limit. */
    KF_RUNNER_ENDED,
    /* It is alive, but its end of the socket is closed. */
    KF_RUNNER_CLOSED,
    /* It did not answer in time, and was killed. */
    KF_RUNNER_TIMEOUT,
    /* It answered without a command, or with a wrong nonce. */
    KF_RUNNER_FORGED,
    /* It ran while it was to be stopped. */
    KF_RUNNER_WOKEN,
    /* A thread that it had before it loaded its binary has ended. */
    KF_RUNNER_THREAD_ENDED,
    /* It has a file on a disk open, although it is sealed. */
    KF_RUNNER_FILES_OPEN,
    /* Its first thread left the processor that it is to launch from. */
    KF_RUNNER_MOVED,
    /* LOAD: the binary does not load. MAP: no memory for a buffer. */
    KF_RUNNER_REFUSED,
    /* The device reports an error: `code` of the batch. */
    KF_RUNNER_DEVICE_ERROR,
    /* The caller's stop flag was set, and the runner was killed. */
    KF_RUNNER_STOPPED,
    /* The machine failed: kf_runner_error. */
    KF_RUNNER_MACHINE,
} kf_runner_event;

/* The key of a plan begins with this (torch_plan.h). A runner in Python loads a plan in place of a
 * binary. */
#define KF_TORCH_KEY "torch:"

/* The program of a runner. */
typedef enum kf_runner_kind {
    KF_RUNNER_PLAIN,
    /* For a candidate built with AddressSanitizer. */
    KF_RUNNER_ASAN,
    /* Python with PyTorch. */
    KF_RUNNER_TORCH,
    /* It reads hardware counters (counters.h). */
    KF_RUNNER_COUNT,
    /* Like KF_RUNNER_TORCH, for a task's own baseline through torch.compile. It may start compilers
     * until it has loaded its plan. It serves one plan only. */
    KF_RUNNER_COMPILED,
    /* Like KF_RUNNER_TORCH. It measures the device time of a solution's kernels. */
    KF_RUNNER_TORCH_COUNT,
    KF_RUNNER_KINDS
} kf_runner_kind;

/* True for Python runners: they load plans, and their results stay in their own memory
 * (output_directory.h). */
static inline bool kf_runner_is_python(kf_runner_kind kind)
{
    return kind == KF_RUNNER_TORCH || kind == KF_RUNNER_COMPILED || kind == KF_RUNNER_TORCH_COUNT;
}

typedef struct kf_runner_spec {
    kf_runner_kind kind;
    /* kforge-runner. */
    const char *program;
    /* Arguments before the binary, with NULL at the end. May be NULL. */
    const char *const *arguments;
    /* The runner's working directory. */
    const char *directory;
    /* The binary to load. NULL: kf_runner_give brings it later. */
    const char *binary;
    const kf_sandbox_path *paths;
    size_t path_count;
    const char *const *environment;
    kf_sandbox_limits limits;
    bool strict;
    /* True if the runner launches on the first processor (kfcpu_ready). The judge then waits for
     * its batches on that processor. */
    bool at_launcher;
    /* True if all threads that it has at its hello live until its end, and it opens no file once it
     * has loaded its binary. */
    bool sealed;
    /* Processors for its first thread during timed batches. NULL: any. Outlives the runner. */
    const cpu_set_t *launcher;
    /* For its timed batches. May be NULL. Outlives the runner. */
    kf_cpu_idle_guard *idle_guard;
    /* As in kf_sandbox_spec. */
    bool same_addresses;
    /* Seconds until its hello. 0: 20. */
    double start_seconds;
    /* Interrupts waiting for it. May be NULL. */
    const volatile int *stop;
} kf_runner_spec;

typedef struct kf_runner kf_runner;

/* Spawns the runner and waits for its hello. The candidate is not loaded yet. NULL: a fault of the
 * machine. */
kf_runner *kf_runner_start(const kf_runner_spec *spec, kf_error *error);
/* The same in two steps, so that several runners start at the same time. kf_runner_spawn does not
 * wait. kf_runner_greet waits for the hello and stops the runner. If it returns false, the runner
 * can only be freed. */
kf_runner *kf_runner_spawn(const kf_runner_spec *spec, kf_error *error);
bool kf_runner_greet(kf_runner *runner, kf_error *error);
/* Stops a runner that still starts, so that others can be timed, and lets it continue. A runner
 * that has sent its hello is greeted instead. Both do nothing with a greeted runner. */
void kf_runner_pause(kf_runner *runner);
void kf_runner_resume(kf_runner *runner);
/* Copies the binary into the inbox of a runner that was spawned without one. The runner can read
 * the inbox, and only the judge can write to it. */
bool kf_runner_give(kf_runner *runner, const char *binary, kf_error *error);
/* The same from memory. */
bool kf_runner_give_text(kf_runner *runner, const char *text, size_t size, kf_error *error);
/* Returns the folder for both; NULL for a runner that was spawned with a binary. The runner owns
 * the text. */
const char *kf_runner_inbox(const kf_runner *runner);
void kf_runner_free(kf_runner *runner);
/* True if a runner of KF_RUNNER_COMPILED might still start programs after it has loaded its plan.
 */
bool kf_runner_is_open(const kf_runner *runner);
kf_runner_kind kf_runner_kind_of(const kf_runner *runner);
/* Attaches data of the device to a runner. kf_runner_free releases it after the end of the process.
 * A runner has one attachment at most. */
void kf_runner_attach(kf_runner *runner, void *data, void (*release)(void *data));
/* Returns the attachment; NULL without one. */
void *kf_runner_attachment(const kf_runner *runner);
/* Sets the flag that interrupts waiting for the runner. May be NULL. */
void kf_runner_set_interrupt(kf_runner *runner, const volatile int *stop);
/* Limits the time for commands without a call (waking, scalars, buffers). By default each command
 * may take 20 s. From now on all commands together may take 20 s, and end at most half a second
 * after `deadline` (kf_now()). For the candidate's runner, which could answer late on purpose. */
void kf_runner_set_deadline(kf_runner *runner, double deadline);
/* Returns the seconds (as in runner_timeout.h) that it has used of that time. */
double kf_runner_late_seconds(const kf_runner *runner);
/* Begins to kill the runner. kf_runner_free waits for its end. */
void kf_runner_begin_kill(kf_runner *runner);
KF_DEFINE_AUTO(kf_runner, kf_runner_free)

kf_runner_event kf_runner_load(kf_runner *runner, double seconds);
kf_runner_event kf_runner_scalars(kf_runner *runner, const uint64_t *values, uint32_t count);
/* `length` bytes at `offset` of `fd`, which become buffer `argument` of `set`. Element 0 is at
 * data_offset from there. */
typedef struct kf_runner_buffer {
    int fd;
    uint32_t set, argument;
    uint64_t offset, length, data_offset, bytes;
    /* On a device: the size of the allocation that `fd` stands for. `region` is its number. A
     * runner maps each region once. */
    uint64_t region_bytes;
    /* The wanted address. All runners get the same one, so that addresses favour no side. */
    uint64_t address;
    uint32_t region;
    bool read_only;
    /* True for KF_WIRE_OUTPUT_DIRECTORY, which is no buffer. */
    bool output_directory;
    /* True for KF_WIRE_DEVICE_POOL, which is no buffer. */
    bool device_pool;
    /* True for KF_WIRE_STREAM_PAGE, which is no buffer. */
    bool stream_page;
    /* True for KF_WIRE_RESULT. */
    bool result;
    /* True for KF_WIRE_CHECK. */
    bool check;
    /* True for KF_WIRE_GENERATE. */
    bool generate;
} kf_runner_buffer;
kf_runner_event kf_runner_map(kf_runner *runner, const kf_runner_buffer *buffers, size_t count);
/* Ends the runner because the caller failed. Returns KF_RUNNER_MACHINE; `words` become its error.
 */
kf_runner_event kf_runner_fail(kf_runner *runner, const char *words);
kf_runner_event kf_runner_unmap(kf_runner *runner);

/* Timeout of all commands together that take a runner microseconds. */
#define KF_RUNNER_COMMAND_SECONDS 20.0

/* One batch: the runner calls the entry once for each set of `order`, synchronises the device, and
 * is stopped. */
typedef struct kf_batch {
    const uint32_t *order;
    uint32_t count;
    /* True for an empty batch: everything but the calls. It gives the fixed cost. */
    bool null;
    /* True for KF_WIRE_CHECK, or for KF_WIRE_GENERATE. The latter's order is no list of sets. */
    bool check, generate;
    /* CPU device: the order in which the warps of each block start (kfcpu_reverse). */
    int warp_order;
    /* True if the judge still needs the results of the last batch in the runner's own memory. */
    bool keep;
    /* Seconds, as in runner_timeout.h. */
    double timeout;
    /* For devices on which stopped threads do not stop the work. The clock then stops at the
     * answer, and this function is called at once, before the runner is stopped. */
    void (*answered)(void *context);
    void *context;
    /* NULL, or called once the clock runs, before the request is sent. */
    void (*begun)(void *context);
    void *begun_context;
    /* Called once while the batch runs, so many seconds after the request, unless the answer came
     * before. Then it is called on a thread of its own, for which the caller's thread waits. 0:
     * called right after the request, in any case. NULL: the judge only waits. */
    void (*running)(void *context);
    void *running_context;
    double running_after;
    /* Seconds after the request at which the judge first reads what is mapped in the running
     * process. Each later look, if `looks_on`, is after twice the time. 0: no look. */
    double look_at;
    bool looks_on;
    /* Results. */
    /* The nonce of the request, which decides about samples (stream_page.h). */
    uint64_t nonce;
    /* The texts of /proc/PID/maps at these times, one after the other. NULL: the answer came
     * earlier. The caller frees it. */
    char *maps;
    /* Seconds from the wake-up to the answer that the runner is awake. They are not part of
     * `seconds`, so the runner must do no work in them. */
    double waking;
    /* The processor time of all its threads in that time. 0 if unknown. */
    double waking_work;
    /* Seconds of the judge's clock, from the request until every thread is stopped, or until the
     * answer if `answered` is set. */
    double seconds;
    /* The seconds that the runner claims. */
    double claimed;
    /* The part of `claimed` between the end of the stream and the end of all other work. A claim.
     */
    double gap;
    /* The part of `seconds` in which the machine stood still (runner_timeout.h). */
    double stalled;
    /* The device's error; 0 without one. */
    int code;
} kf_batch;
kf_runner_event kf_runner_batch(kf_runner *runner, kf_batch *batch);

/* True if the runner shows how many calls of a batch have begun (kf_wire_progress). It said so
 * before it loaded the candidate. */
bool kf_runner_shows_progress(const kf_runner *runner);
/* Returns that number, 0 before the first call. For `running` of a batch. The candidate can change
 * it. */
uint32_t kf_runner_begun(const kf_runner *runner);
/* Sleeps until that time, an answer or a signal. True if the runner has answered, or is gone. For
 * `running` of a batch. A runner could see a judge that waits actively: on its own processor the
 * first call comes late, and another one is busy. */
bool kf_runner_answers_before(const kf_runner *runner, double time);

/* Counts one call on `set`, with at most `passes` repetitions (kf_counters_passes). The runner must
 * be of KF_RUNNER_COUNT or KF_RUNNER_TORCH_COUNT. REFUSED: it cannot count. FORGED: a header that
 * breaks the protocol. The other fields are unchecked claims. */
struct kf_count_records;
kf_runner_event kf_runner_count(kf_runner *runner, uint32_t set, uint32_t passes, double seconds,
                                struct kf_count_records *records);

/* Takes all files from a loaded runner (kf_sandbox_hide_files). False if the machine refuses. */
bool kf_runner_hide_files(kf_runner *runner);
/* True if it may write to files of /proc (kf_sandbox_protect_proc). */
bool kf_runner_writes_proc(const kf_runner *runner);
/* Returns the text of /proc/PID/maps from before that, "" if it has its files. */
const char *kf_runner_last_maps(const kf_runner *runner);
/* Returns how many calls of the entry were requested since the runner started. */
uint64_t kf_runner_calls(const kf_runner *runner);
/* Returns the number of threads and processes that are not those before the candidate was loaded;
 * negative if unreadable. */
int kf_runner_extra_threads(kf_runner *runner);
/* False if the judge could not stop it. That is its own fault, however little time it had. */
bool kf_runner_can_stop(const kf_runner *runner);
int kf_runner_layers(const kf_runner *runner);
/* Returns the text of /proc/PID/maps, cut off at 16 MiB; NULL if it is unreadable. The caller frees
 * it. */
char *kf_runner_maps(kf_runner *runner);
/* True if a text was cut off, so that what the runner has mapped is unknown. */
bool kf_runner_has_too_many_maps(const kf_runner *runner);
/* Returns the same from before the candidate was loaded, "" if it is not known, and the path of
 * what was loaded, NULL for a runner that was spawned with a binary. The runner owns both. */
const char *kf_runner_first_maps(const kf_runner *runner);
const char *kf_runner_loaded(const kf_runner *runner);
pid_t kf_runner_pid(const kf_runner *runner);
/* Returns the last `most` bytes that the runner printed, without control characters. NULL without
 * output or memory. The caller frees the text. */
char *kf_runner_output(const kf_runner *runner, size_t most);
/* The status, the rule ("runner.crashed") and the line of text of an event. */
typedef struct kf_runner_explanation {
    kf_status status;
    const char *rule;
    /* True if something outside may have caused the event: a signal ended the process, or continued
     * it while it was stopped. */
    bool outside;
    char text[512];
} kf_runner_explanation;
void kf_runner_explain(const kf_runner *runner, kf_runner_event event, const char *doing,
                       kf_runner_explanation *explanation);
/* True if the runner is dead, and a signal that the judge did not send ended it. */
bool kf_runner_ended_outside(const kf_runner *runner);
/* Returns the error of KF_RUNNER_MACHINE. */
const kf_error *kf_runner_error(const kf_runner *runner);

#endif
