/* The judge's side of one runner: its state, and the functions that its files share.
 * runner_process.h has the interface. */
#ifndef KFORGE_RUNNER_PROCESS_INTERNAL_H
#define KFORGE_RUNNER_PROCESS_INTERNAL_H

#include "launch_affinity.h"
#include "runner_process.h"
#include "runner_timeout.h"
#include "wire.h"

/* The time in which a process ends that something has killed, on a busy machine too. Only a runner
 * that has failed makes the judge wait for it. */
#define KF_RUNNER_ENDING_SECONDS 5.0

typedef struct kf_runner_attached {
    void *data;
    void (*release)(void *data);
} kf_runner_attached;

/* The batch that runs, kf_now() at its request, and the seconds from then to the next look at what
 * is mapped. NULL: no look. */
typedef struct kf_runner_look {
    kf_batch *batch;
    double began, after;
} kf_runner_look;

/* What a runner is held to once it has loaded its binary. */
typedef struct kf_runner_seal {
    /* The ids of its threads before that. If it is sealed, each of them must live on, otherwise
     * only the first. */
    pid_t *threads;
    size_t thread_count;
    /* The text of /proc/PID/maps before that. */
    char *maps;
    /* The same from when its files were taken: paths no longer show where a file was. */
    char *last_maps;
    /* A text of that kind was cut off. */
    bool maps_cut;
    bool sealed, loaded;
    /* It may write to files of /proc (kf_sandbox_protect_proc). */
    bool writes_proc;
} kf_runner_seal;

typedef struct kf_runner_limits {
    /* kf_now() at the end of the candidate's time. 0: no deadline. */
    double deadline;
    /* With a deadline: of all commands but LOAD and BATCH together. */
    kf_runner_timeout command;
    /* Seconds that it took to stop the runner after these commands. */
    double stopping;
} kf_runner_limits;

struct kf_runner {
    kf_sandbox *sandbox;
    uint64_t memory_limit;
    int socket;
    const volatile int *stop;
    bool frozen, dead;
    bool greeted, paused, at_launcher;
    kf_cpu_idle_guard *idle_guard;
    kf_launch_affinity affinity;
    /* A folder that only this runner sees, and the path in it that it loads. NULL for a runner that
     * was spawned with a binary. */
    char *inbox, *binary;
    double start_seconds;
    kf_runner_kind kind;
    bool open;
    uint64_t calls;
    kf_runner_attached attached;
    /* NULL where the runner does not show it. */
    kf_wire_progress *progress;
    /* kf_now() until which the judge waits without sleeping, so that its own wake-up is not timed.
     */
    double awake_until;
    kf_runner_seal held;
    kf_runner_look look;
    kf_runner_limits limits;
    kf_error error;
};

/* ---- runner_messages.c ----------------------------------------------------------------------- */

/* Kills the runner and returns `event`. */
kf_runner_event kf_runner_end(kf_runner *runner, kf_runner_event event);
/* Reads `size` bytes until the timeout, and the runner's output meanwhile. Checks the caller's stop
 * flag as often as the timeout. */
kf_runner_event kf_runner_receive(kf_runner *runner, void *data, size_t size,
                                  kf_runner_timeout *runner_timeout);
kf_runner_event kf_runner_send(kf_runner *runner, const void *data, size_t size, int fd,
                               kf_runner_timeout *runner_timeout);
/* Receives the answer to a command. The answer must repeat the nonce. */
kf_runner_event kf_runner_await(kf_runner *runner, uint64_t nonce,
                                kf_runner_timeout *runner_timeout, kf_wire_answer *answer);
/* Ends the runner after an answer other than OK, for commands that cannot fail. */
kf_runner_event kf_runner_only_good(kf_runner *runner, kf_runner_event event,
                                    const kf_wire_answer *answer);
/* Sends a command with a nonce of its own. */
kf_runner_event kf_runner_request(kf_runner *runner, kf_wire_command *command, const void *payload,
                                  size_t size, int fd, kf_runner_timeout *runner_timeout);
kf_runner_event kf_runner_ask_within(kf_runner *runner, kf_wire_command *command,
                                     const void *payload, size_t size, int fd,
                                     kf_runner_timeout *runner_timeout, kf_wire_answer *answer);
kf_runner_event kf_runner_ask(kf_runner *runner, kf_wire_command *command, const void *payload,
                              size_t size, int fd, double seconds, kf_wire_answer *answer);
/* Returns the timeout of a command that takes microseconds: `own`, or, with a deadline, the time
 * that is left for all of these commands. */
kf_runner_timeout *kf_runner_command_timeout(kf_runner *runner, kf_runner_timeout *own);
kf_runner_event kf_runner_ask_command(kf_runner *runner, kf_wire_command *command,
                                      const void *payload, size_t size, kf_wire_answer *answer);

/* ---- runner_maps.c --------------------------------------------------------------------------- */

/* Appends what is mapped to what earlier looks saw. The next look is after twice the time, so that
 * a batch of any length has a few looks at any part of it. */
void kf_runner_look_at_maps(kf_runner *runner);

/* ---- runner_freeze.c ------------------------------------------------------------------------- */

/* Notes the ids of all threads. False without memory. */
bool kf_runner_note_threads(kf_runner *runner);
kf_runner_event kf_runner_freeze(kf_runner *runner);
kf_runner_event kf_runner_wake(kf_runner *runner);
/* Lets a sealed runner open files, or ends that. */
kf_runner_event kf_runner_let_open(kf_runner *runner, bool may);
/* Stops a runner that may have opened files. A sealed runner must have closed those on disks, and
 * opens no others. */
kf_runner_event kf_runner_freeze_and_seal(kf_runner *runner);

#endif
