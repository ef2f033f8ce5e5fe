/* The judge's side of one runner (wire.h is the protocol). A peer is frozen, every thread of it stopped, except between kf_peer_wake and
 * the end of the call that needs it awake; so nothing of it runs while another peer is timed or the judge reads a byte.
 *
 * Every function tells how it went as a kf_peer_event; after anything but KF_PEER_OK or KF_PEER_DEVICE_ERROR the peer is dead and its process
 * tree gone. kf_peer_explain words it for a finding. Peers belong to the thread that started them.
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
#include "wakeful.h"

typedef enum kf_peer_event {
    KF_PEER_OK,
    KF_PEER_ENDED,        /* crashed, exited or was killed by a limit */
    KF_PEER_CLOSED,       /* alive, but its end of the socket is closed */
    KF_PEER_TIMEOUT,      /* no answer in time; killed */
    KF_PEER_FORGED,       /* answered what was not asked, or before it was asked */
    KF_PEER_WOKEN,        /* something made it run while it was to be stopped */
    KF_PEER_MOVED,        /* it went to another processor than the one that it is to launch from */
    KF_PEER_REFUSED,      /* LOAD: the binary does not load; MAP: no memory for a buffer */
    KF_PEER_DEVICE_ERROR, /* the device reports an error; `code` says which */
    KF_PEER_STOPPED,      /* the caller's stop flag was raised; killed */
    KF_PEER_MACHINE,      /* the machine failed: the error says how */
} kf_peer_event;

/* Which program a runner is. */
/* Such a runner loads a plan instead of a binary; the plan's key begins with this (torch_plan.h). */
#define KF_TORCH_KEY "torch:"

typedef enum kf_runner_kind {
    KF_RUNNER_PLAIN,
    KF_RUNNER_ASAN,  /* for a candidate built with AddressSanitizer */
    KF_RUNNER_TORCH, /* Python with PyTorch; what it loads is a plan (torch_plan.h) */
    KF_RUNNER_COUNT, /* one that takes hardware counters (counters.h) */
    /* As KF_RUNNER_TORCH, for a task's own baseline through torch.compile: it may start compilers until it has loaded its plan, the only one that it serves. */
    KF_RUNNER_COMPILED,
    KF_RUNNER_KINDS
} kf_runner_kind;

/* Has it its results in its own memory (ledger.h), and does it load plans? */
static inline bool kf_runner_is_python(kf_runner_kind kind)
{
    return kind == KF_RUNNER_TORCH || kind == KF_RUNNER_COMPILED;
}

typedef struct kf_peer_spec {
    kf_runner_kind kind;
    const char *program;          /* kforge-runner */
    const char *const *arguments; /* in front of the binary; terminated by NULL; may be NULL */
    const char *directory;        /* it starts there */
    const char *binary;           /* what it loads; NULL: not known yet, kf_peer_give will bring it */
    const kf_sandbox_path *paths;
    size_t path_count;
    const char *const *environment;
    kf_sandbox_limits limits;
    bool strict;
    bool at_launcher;          /* it launches on the first processor (kfcpu_ready), and the judge waits for its batches there */
    const cpu_set_t *launcher; /* processors that its first thread runs timed batches on; NULL: any; outlives the peer */
    kf_wakeful *wakeful;       /* for its timed batches; may be NULL; outlives the peer */
    bool same_addresses;       /* as in kf_sandbox_spec */
    double start_seconds;      /* to say hello; 0: 20 */
    const volatile int *stop;  /* may be NULL */
} kf_peer_spec;

typedef struct kf_peer kf_peer;

/* Spawns the runner and waits for its hello; the candidate is not loaded yet. NULL: the machine's fault. */
kf_peer *kf_peer_start(const kf_peer_spec *spec, kf_error *error);
/* The same in two steps, so that several start side by side: spawn does not wait, greet waits for the hello and stops the runner. After a
 * false kf_peer_greet the peer is of no use but to kf_peer_free. */
kf_peer *kf_peer_spawn(const kf_peer_spec *spec, kf_error *error);
bool kf_peer_greet(kf_peer *peer, kf_error *error);
/* Stops one that is still starting, so that others can be timed, and lets it go on. One that has said hello is greeted instead, and both do nothing
 * with a greeted one. */
void kf_peer_pause(kf_peer *peer);
void kf_peer_resume(kf_peer *peer);
/* The binary for a runner that was spawned without one: copied into a folder of the runner's own, which it can read and nothing else can write. */
bool kf_peer_give(kf_peer *peer, const char *binary, kf_error *error);
/* The same from memory. */
bool kf_peer_give_text(kf_peer *peer, const char *text, size_t size, kf_error *error);
/* The folder that both are put into; NULL for a runner that was started for a binary. Borrowed. */
const char *kf_peer_inbox(const kf_peer *peer);
void kf_peer_free(kf_peer *peer);
/* Of KF_RUNNER_COMPILED: might it start programs behind its loading, too, as far as the kernel tells? */
bool kf_peer_is_open(const kf_peer *peer);
kf_runner_kind kf_peer_kind(const kf_peer *peer);
/* Something that a device keeps with a runner; it is released when the process is gone. One at most. */
void kf_peer_attach(kf_peer *peer, void *data, void (*release)(void *data));
void *kf_peer_attachment(const kf_peer *peer); /* NULL: none */
/* From now on it is this flag (may be NULL) that interrupts waiting for it. */
void kf_peer_obey(kf_peer *peer, const volatile int *stop);
/* What has nothing to do with a call (waking, scalars, buffers) may take a runner 20 s a question. From now on it has 20 s for all of that together, and not
 * beyond `deadline` (kf_now()), behind which it has half a second more: for one that a candidate is in, which may answer as late as it likes. */
void kf_peer_hurry(kf_peer *peer, double deadline);
/* What it has used of that: seconds in the sense of patience.h. */
double kf_peer_dawdled(const kf_peer *peer);
/* Begins to kill it; kf_peer_free then waits for what is left. */
void kf_peer_doom(kf_peer *peer);
KF_DEFINE_AUTO(kf_peer, kf_peer_free)

kf_peer_event kf_peer_load(kf_peer *peer, double seconds);
kf_peer_event kf_peer_scalars(kf_peer *peer, const uint64_t *values, uint32_t count);
/* Maps `length` bytes at `offset` of `fd` as buffer `argument` of `set`; the data begin data_offset bytes into it. */
typedef struct kf_peer_buffer {
    int fd;
    uint32_t set, argument;
    uint64_t offset, length, data_offset, bytes;
    uint64_t region_bytes; /* on a device: fd is an allocation of this size, number `region` of the caller's; it is sent once */
    uint64_t address;      /* where it had best lie: at the same place for all runners, so that none has luckier addresses */
    uint32_t region;
    bool read_only;
    bool ledger; /* no buffer: KF_WIRE_LEDGER */
    bool arena;  /* no buffer: KF_WIRE_ARENA */
} kf_peer_buffer;
kf_peer_event kf_peer_map(kf_peer *peer, const kf_peer_buffer *buffers, size_t count);
/* Ends a peer because the caller's part failed: KF_PEER_MACHINE with these words. */
kf_peer_event kf_peer_fail(kf_peer *peer, const char *words);
kf_peer_event kf_peer_unmap(kf_peer *peer);

/* Runs one batch: the entry once for each set of `order`, then everything synchronised, then the peer stopped. */
typedef struct kf_batch {
    const uint32_t *order;
    uint32_t count;
    bool null;      /* everything but the calls: the fixed cost */
    bool keep;      /* results that the runner has in its own memory from the batch before are still wanted */
    double timeout; /* seconds, in the sense of patience.h */
    /* Where stopping threads does not stop the work: the clock stops at the answer, and this is called at once, before the peer is stopped. */
    void (*answered)(void *context);
    void *context;
    /* results */
    double waking;  /* from waking it to its answer that it is awake: outside of the time, so nothing may be done in it */
    double worked;  /* of that, what its threads spent on a processor (of them all); NaN when the system does not tell */
    double seconds; /* judge's clock, from the request to every thread stopped, or to the answer where `answered` is set */
    double claimed; /* what the runner says */
    double gap;     /* of that, between the stream's end and that of all else; what the runner says */
    double stalled; /* of that, what the machine stood still: patience.h */
    int code;       /* of the device, 0 none */
} kf_batch;
kf_peer_event kf_peer_batch(kf_peer *peer, kf_batch *batch);

/* Counters of one call on `set`, repeated `passes` times at most (kf_count_calls), by a runner that was started for it. REFUSED: it can't count. What it
 * says is checked by nobody here; a header that breaks the protocol is FORGED. `launches` has room for KF_COUNT_LAUNCHES. */
struct kf_count_header;
struct kf_count_launch;
kf_peer_event kf_peer_count(kf_peer *peer, uint32_t set, uint32_t passes, double seconds, struct kf_count_header *header,
                            struct kf_count_launch *launches);

/* Calls of the entry that it has been asked for since it was started. */
uint64_t kf_peer_calls(const kf_peer *peer);
/* Threads now beyond those it had before the candidate was loaded. Negative when it can't be read. */
int kf_peer_extra_threads(kf_peer *peer);
int kf_peer_layers(const kf_peer *peer);
pid_t kf_peer_pid(const kf_peer *peer);
/* The last `most` bytes of what the peer printed so far, cleaned; malloc'd, NULL when nothing or no memory. */
char *kf_peer_output(const kf_peer *peer, size_t most);
/* The status, the rule ("runner.crashed") and one line of words for an event. */
typedef struct kf_peer_explanation {
    kf_status status;
    const char *rule;
    char text[512];
} kf_peer_explanation;
void kf_peer_explain(const kf_peer *peer, kf_peer_event event, const char *doing, kf_peer_explanation *explanation);
const kf_error *kf_peer_error(const kf_peer *peer); /* of KF_PEER_MACHINE */

#endif
