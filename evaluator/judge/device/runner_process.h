/* The judge's side of one runner (wire.h is the protocol). A peer is frozen, every thread of it
 * stopped, except between kf_runner_wake and the end of the call that needs it awake; so nothing of
 * it runs while another peer is timed or the judge reads a byte.
 *
 * Every function tells how it went as a kf_runner_event; after anything but KF_RUNNER_OK or
 * KF_RUNNER_DEVICE_ERROR the peer is dead and its process tree gone. kf_runner_explain words it for
 * a finding. Peers belong to the thread that started them.
 */
#ifndef KFORGE_PEER_H
#define KFORGE_PEER_H

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
    KF_RUNNER_ENDED,   /* crashed, exited or was killed by a limit */
    KF_RUNNER_CLOSED,  /* alive, but its end of the socket is closed */
    KF_RUNNER_TIMEOUT, /* no answer in time; killed */
    KF_RUNNER_FORGED,  /* answered what was not asked, or before it was asked */
    KF_RUNNER_WOKEN,   /* something made it run while it was to be stopped */
    /* it went to another processor than the one that it is to launch from */
    KF_RUNNER_MOVED,
    KF_RUNNER_REFUSED,      /* LOAD: the binary does not load; MAP: no memory for a buffer */
    KF_RUNNER_DEVICE_ERROR, /* the device reports an error; `code` says which */
    KF_RUNNER_STOPPED,      /* the caller's stop flag was raised; killed */
    KF_RUNNER_MACHINE,      /* the machine failed: the error says how */
} kf_runner_event;

/* Which program a runner is. */
/* Such a runner loads a plan instead of a binary; the plan's key begins with this (torch_plan.h).
 */
#define KF_TORCH_KEY "torch:"

typedef enum kf_runner_kind {
    KF_RUNNER_PLAIN,
    KF_RUNNER_ASAN,  /* for a candidate built with AddressSanitizer */
    KF_RUNNER_TORCH, /* Python with PyTorch; what it loads is a plan (torch_plan.h) */
    KF_RUNNER_COUNT, /* one that takes hardware counters (counters.h) */
    /* As KF_RUNNER_TORCH, for a task's own baseline through torch.compile: it may start compilers
       until it has loaded its plan, the only one that it serves. */
    KF_RUNNER_COMPILED,
    KF_RUNNER_KINDS
} kf_runner_kind;

/* Has it its results in its own memory (output_directory.h), and does it load plans? */
static inline bool kf_runner_is_python(kf_runner_kind kind)
{
    return kind == KF_RUNNER_TORCH || kind == KF_RUNNER_COMPILED;
}

typedef struct kf_runner_spec {
    kf_runner_kind kind;
    const char *program;          /* kforge-runner */
    const char *const *arguments; /* in front of the binary; terminated by NULL; may be NULL */
    const char *directory;        /* it starts there */
    /* what it loads; NULL: not known yet, kf_runner_give will bring it */
    const char *binary;
    const kf_sandbox_path *paths;
    size_t path_count;
    const char *const *environment;
    kf_sandbox_limits limits;
    bool strict;
    /* it launches on the first processor (kfcpu_ready), and the judge waits for its batches there
     */
    bool at_launcher;
    /* processors that its first thread runs timed batches on; NULL: any; outlives the peer */
    const cpu_set_t *launcher;
    kf_cpu_idle_guard *idle_guard; /* for its timed batches; may be NULL; outlives the peer */
    bool same_addresses;           /* as in kf_sandbox_spec */
    double start_seconds;          /* to say hello; 0: 20 */
    const volatile int *stop;      /* may be NULL */
} kf_runner_spec;

typedef struct kf_runner kf_runner;

/* Spawns the runner and waits for its hello; the candidate is not loaded yet. NULL: the machine's
 * fault. */
kf_runner *kf_runner_start(const kf_runner_spec *spec, kf_error *error);
/* The same in two steps, so that several start side by side: spawn does not wait, greet waits for
 * the hello and stops the runner. After a false kf_runner_greet the peer is of no use but to
 * kf_runner_free. */
kf_runner *kf_runner_spawn(const kf_runner_spec *spec, kf_error *error);
bool kf_runner_greet(kf_runner *runner, kf_error *error);
/* Stops one that is still starting, so that others can be timed, and lets it go on. One that has
 * said hello is greeted instead, and both do nothing with a greeted one. */
void kf_runner_pause(kf_runner *runner);
void kf_runner_resume(kf_runner *runner);
/* The binary for a runner that was spawned without one: copied into a folder of the runner's own,
 * which it can read and nothing else can write. */
bool kf_runner_give(kf_runner *runner, const char *binary, kf_error *error);
/* The same from memory. */
bool kf_runner_give_text(kf_runner *runner, const char *text, size_t size, kf_error *error);
/* The folder that both are put into; NULL for a runner that was started for a binary. Borrowed. */
const char *kf_runner_inbox(const kf_runner *runner);
void kf_runner_free(kf_runner *runner);
/* Of KF_RUNNER_COMPILED: might it start programs behind its loading, too, as far as the kernel
 * tells? */
bool kf_runner_is_open(const kf_runner *runner);
kf_runner_kind kf_runner_kind_of(const kf_runner *runner);
/* Something that a device keeps with a runner; it is released when the process is gone. One at
 * most. */
void kf_runner_attach(kf_runner *runner, void *data, void (*release)(void *data));
void *kf_runner_attachment(const kf_runner *runner); /* NULL: none */
/* From now on it is this flag (may be NULL) that interrupts waiting for it. */
void kf_runner_obey(kf_runner *runner, const volatile int *stop);
/* What has nothing to do with a call (waking, scalars, buffers) may take a runner 20 s a question.
 * From now on it has 20 s for all of that together, and not beyond `deadline` (kf_now()), behind
 * which it has half a second more: for one that a candidate is in, which may answer as late as it
 * likes. */
void kf_runner_set_deadline(kf_runner *runner, double deadline);
/* What it has used of that: seconds in the sense of runner_timeout.h. */
double kf_runner_late_seconds(const kf_runner *runner);
/* Begins to kill it; kf_runner_free then waits for what is left. */
void kf_runner_begin_kill(kf_runner *runner);
KF_DEFINE_AUTO(kf_runner, kf_runner_free)

kf_runner_event kf_runner_load(kf_runner *runner, double seconds);
kf_runner_event kf_runner_scalars(kf_runner *runner, const uint64_t *values, uint32_t count);
/* Maps `length` bytes at `offset` of `fd` as buffer `argument` of `set`; the data begin data_offset
 * bytes into it. */
typedef struct kf_runner_buffer {
    int fd;
    uint32_t set, argument;
    uint64_t offset, length, data_offset, bytes;
    /* on a device: fd is an allocation of this size, number `region` of the caller's; it is sent
     * once */
    uint64_t region_bytes;
    /* where it had best lie: at the same place for all runners, so that none has luckier addresses
     */
    uint64_t address;
    uint32_t region;
    bool read_only;
    bool output_directory; /* no buffer: KF_WIRE_OUTPUT_DIRECTORY */
    bool device_pool;      /* no buffer: KF_WIRE_DEVICE_POOL */
} kf_runner_buffer;
kf_runner_event kf_runner_map(kf_runner *runner, const kf_runner_buffer *buffers, size_t count);
/* Ends a peer because the caller's part failed: KF_RUNNER_MACHINE with these words. */
kf_runner_event kf_runner_fail(kf_runner *runner, const char *words);
kf_runner_event kf_runner_unmap(kf_runner *runner);

/* Runs one batch: the entry once for each set of `order`, then everything synchronised, then the
 * peer stopped. */
typedef struct kf_batch {
    const uint32_t *order;
    uint32_t count;
    bool null; /* everything but the calls: the fixed cost */
    /* results that the runner has in its own memory from the batch before are still wanted */
    bool keep;
    double timeout; /* seconds, in the sense of runner_timeout.h */
    /* Where stopping threads does not stop the work: the clock stops at the answer, and this is
     * called at once, before the peer is stopped. */
    void (*answered)(void *context);
    void *context;
    /* results */
    /* from waking it to its answer that it is awake: outside of the time, so nothing may be done in
     * it */
    double waking;
    /* of that, what its threads spent on a processor (of them all); NaN when the system does not
     * tell */
    double worked;
    /* judge's clock, from the request to every thread stopped, or to the answer where `answered` is
     * set */
    double seconds;
    double claimed; /* what the runner says */
    /* of that, between the stream's end and that of all else; what the runner says */
    double gap;
    double stalled; /* of that, what the machine stood still: runner_timeout.h */
    int code;       /* of the device, 0 none */
} kf_batch;
kf_runner_event kf_runner_batch(kf_runner *runner, kf_batch *batch);

/* Counters of one call on `set`, repeated `passes` times at most (kf_count_calls), by a runner that
 * was started for it. REFUSED: it can't count. What it says is checked by nobody here; a header
 * that breaks the protocol is FORGED. `launches` has room for KF_COUNT_LAUNCHES. */
struct kf_count_header;
struct kf_count_launch;
kf_runner_event kf_runner_count(kf_runner *runner, uint32_t set, uint32_t passes, double seconds,
                                struct kf_count_header *header, struct kf_count_launch *launches);

/* Calls of the entry that it has been asked for since it was started. */
uint64_t kf_runner_calls(const kf_runner *runner);
/* Threads now beyond those it had before the candidate was loaded. Negative when it can't be read.
 */
int kf_runner_extra_threads(kf_runner *runner);
int kf_runner_layers(const kf_runner *runner);
pid_t kf_runner_pid(const kf_runner *runner);
/* The last `most` bytes of what the peer printed so far, cleaned; malloc'd, NULL when nothing or no
 * memory. */
char *kf_runner_output(const kf_runner *runner, size_t most);
/* The status, the rule ("runner.crashed") and one line of words for an event. */
typedef struct kf_runner_explanation {
    kf_status status;
    const char *rule;
    char text[512];
} kf_runner_explanation;
void kf_runner_explain(const kf_runner *runner, kf_runner_event event, const char *doing,
                       kf_runner_explanation *explanation);
const kf_error *kf_runner_error(const kf_runner *runner); /* of KF_RUNNER_MACHINE */

#endif
