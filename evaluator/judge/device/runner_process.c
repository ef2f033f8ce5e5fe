#include "runner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counters_wire.h"
#include "wire.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "launch_affinity.h"
#include "paths.h"
#include "runner_timeout.h"

/* The least timeout of these commands after the deadline. */
#define LATE_SECONDS 0.5
/* The judge waits actively for the first part of a batch. Most batches are shorter. */
#define SPIN_SECONDS 0.1
#define PING_SPIN_SECONDS 0.002
/* Arguments between the program and the binary. */
#define MAX_WORDS 8
/* The time in which a process ends that something has killed. */
#define ENDING_SECONDS 1.0
/* More than /proc/PID/maps can have: 65,530 mappings of files without folders of their own. */
#define MAPS_BYTES (64u << 20)

typedef struct attachment {
    void *data;
    void (*release)(void *data);
} attachment;

/* The batch that runs, kf_now() at its request, and the seconds from then to the next look at what
 * is mapped. NULL: no look. */
typedef struct next_look {
    kf_batch *batch;
    double began, after;
} next_look;

/* What a runner is held to once it has loaded its binary. */
typedef struct seal {
    /* The ids of its threads before that. If it is sealed, each of them must live on, otherwise
     * only the first. */
    pid_t *threads;
    size_t thread_count;
    /* The text of /proc/PID/maps before that. */
    char *maps;
    /* The same from when its files were taken: paths no longer show where a file was. */
    char *last_maps;
    bool sealed, loaded;
} seal;

typedef struct limits {
    /* kf_now() at the end of the candidate's time. 0: no deadline. */
    double deadline;
    /* With a deadline: of all commands but LOAD and BATCH together. */
    kf_runner_timeout command;
    /* Seconds that it took to stop the runner after these commands. */
    double stopping;
} limits;

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
    attachment attached;
    /* NULL where the runner does not show it. */
    kf_wire_progress *progress;
    /* kf_now() until which the judge waits without sleeping, so that its own wake-up is not timed.
     */
    double awake_until;
    seal held;
    next_look look;
    limits limits;
    kf_error error;
};

/* ---- waiting --------------------------------------------------------------------------------- */

/* Kills the runner and returns `event`. */
static kf_runner_event end(kf_runner *runner, kf_runner_event event)
{
    runner->dead = true;
    kf_sandbox_kill(runner->sandbox);
    return event;
}

/* Appends what is mapped to what earlier looks saw. The next look is after twice the time, so that
 * a batch of any length has a few looks at any part of it. */
static void look(kf_runner *runner)
{
    kf_batch *batch = runner->look.batch;
    kf_autofree char *maps = kf_runner_maps(runner), *before = batch->maps;
    if (asprintf(&batch->maps, "%s%s", before ? before : "", maps ? maps : "") < 0)
        batch->maps = NULL;
    runner->look.after *= 2;
    if (!batch->looks_on) runner->look.batch = NULL;
}

/* Reads `size` bytes until the timeout, and the runner's output meanwhile. Checks the caller's stop
 * flag as often as the timeout. */
static kf_runner_event receive(kf_runner *runner, void *data, size_t size,
                               kf_runner_timeout *runner_timeout)
{
    char *bytes = data;
    while (size) {
        ssize_t got = recv(runner->socket, bytes, size, MSG_DONTWAIT);
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        /* The socket is closed, probably because the runner ended. */
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
            if (kf_sandbox_pump(runner->sandbox, 1.0)) return end(runner, KF_RUNNER_ENDED);
            return end(runner, KF_RUNNER_CLOSED);
        }
        if (runner->look.batch && kf_now() >= runner->look.began + runner->look.after) {
            look(runner);
            continue;
        }
        if (runner->awake_until > 0 && kf_now() < runner->awake_until) continue;
        if (runner->stop && *runner->stop) return end(runner, KF_RUNNER_STOPPED);
        if (!kf_runner_timeout_look(runner_timeout, kf_sandbox_pid(runner->sandbox), kf_now()))
            return end(runner, KF_RUNNER_TIMEOUT);
        struct pollfd watched[2] = {
            {.fd = runner->socket, .events = POLLIN},
            {.fd = kf_sandbox_descriptor(runner->sandbox), .events = POLLIN}};
        int sleep = kf_runner_timeout_sleep(runner_timeout);
        double due = runner->look.began + runner->look.after - kf_now();
        if (runner->look.batch) sleep = (int)fmin(sleep, fmax(1e3 * due, 0));
        if (poll(watched, 2, sleep) < 0 && errno != EINTR) {
            kf_fail(&runner->error, KF_ERROR_MACHINE, "poll: %s", strerror(errno));
            return end(runner, KF_RUNNER_MACHINE);
        }
        if (watched[1].revents && kf_sandbox_pump(runner->sandbox, 0)) {
            /* It has ended. The judge needs no answer of a dead runner, even if one was sent. */
            return end(runner, KF_RUNNER_ENDED);
        }
    }
    return KF_RUNNER_OK;
}

static kf_runner_event send_all(kf_runner *runner, const void *data, size_t size, int fd,
                                kf_runner_timeout *runner_timeout)
{
    const char *bytes = data;
    while (size) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control = {0};
        struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (fd >= 0) {
            message.msg_control = control.bytes;
            message.msg_controllen = sizeof control.bytes;
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof fd);
            memcpy(CMSG_DATA(header), &fd, sizeof fd);
        }
        ssize_t sent = sendmsg(runner->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
            fd = -1;
            continue;
        }
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) { /* The runner does not read. */
            struct pollfd watched = {.fd = runner->socket, .events = POLLOUT};
            if (kf_sandbox_pump(runner->sandbox, 0)) return end(runner, KF_RUNNER_ENDED);
            if (!kf_runner_timeout_look(runner_timeout, kf_sandbox_pid(runner->sandbox), kf_now()))
                return end(runner, KF_RUNNER_TIMEOUT);
            poll(&watched, 1, 20);
            continue;
        }
        int refused = sent < 0 ? errno : EPIPE;
        if (kf_sandbox_pump(runner->sandbox, 1.0)) return end(runner, KF_RUNNER_ENDED);
        if (refused == EPIPE || refused == ECONNRESET) return end(runner, KF_RUNNER_CLOSED);
        /* The kernel limits the descriptors in flight of all processes of a user together. */
        kf_fail(&runner->error, KF_ERROR_MACHINE, "cannot send a message to a runner: %s",
                strerror(refused));
        return end(runner, KF_RUNNER_MACHINE);
    }
    return KF_RUNNER_OK;
}

/* Receives the answer to a command. The answer must repeat the nonce. */
static kf_runner_event await(kf_runner *runner, uint64_t nonce, kf_runner_timeout *runner_timeout,
                             kf_wire_answer *answer)
{
    kf_runner_event event = receive(runner, answer, sizeof *answer, runner_timeout);
    if (event != KF_RUNNER_OK) return event;
    if (answer->magic != KF_WIRE_MAGIC || answer->nonce != nonce ||
        answer->result > KF_WIRE_BAD_COMMAND)
        return end(runner, KF_RUNNER_FORGED);
    return KF_RUNNER_OK;
}

/* Ends the runner after an answer other than OK, for commands that cannot fail. */
static kf_runner_event only_good(kf_runner *runner, kf_runner_event event,
                                 const kf_wire_answer *answer)
{
    return event == KF_RUNNER_OK && answer->result != KF_WIRE_OK ? end(runner, KF_RUNNER_FORGED)
                                                                 : event;
}

/* Sends a command with a nonce of its own. */
static kf_runner_event request(kf_runner *runner, kf_wire_command *command, const void *payload,
                               size_t size, int fd, kf_runner_timeout *runner_timeout)
{
    command->magic = KF_WIRE_MAGIC;
    if (!kf_random(&command->nonce, sizeof command->nonce)) {
        kf_fail(&runner->error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
        return end(runner, KF_RUNNER_MACHINE);
    }
    kf_runner_event event = send_all(runner, command, sizeof *command, fd, runner_timeout);
    if (event == KF_RUNNER_OK && size) event = send_all(runner, payload, size, -1, runner_timeout);
    return event;
}

static kf_runner_event ask_within(kf_runner *runner, kf_wire_command *command, const void *payload,
                                  size_t size, int fd, kf_runner_timeout *runner_timeout,
                                  kf_wire_answer *answer)
{
    kf_runner_event event = request(runner, command, payload, size, fd, runner_timeout);
    return event == KF_RUNNER_OK ? await(runner, command->nonce, runner_timeout, answer) : event;
}

static kf_runner_event ask(kf_runner *runner, kf_wire_command *command, const void *payload,
                           size_t size, int fd, double seconds, kf_wire_answer *answer)
{
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, seconds, kf_now());
    kf_runner_timeout_watch(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    return ask_within(runner, command, payload, size, fd, &runner_timeout, answer);
}

/* Returns the timeout of a command that takes microseconds: `own`, or, with a deadline, the time
 * that is left for all of these commands. */
static kf_runner_timeout *command_timeout(kf_runner *runner, kf_runner_timeout *own)
{
    double now = kf_now();
    if (!runner->limits.deadline) {
        kf_runner_timeout_begin(own, KF_RUNNER_COMMAND_SECONDS, now);
        return own;
    }
    kf_runner_timeout *shared = &runner->limits.command;
    shared->looked = now;
    /* Queueing before this command does not count. */
    shared->threads = -1;
    shared->seconds = fmin(KF_RUNNER_COMMAND_SECONDS,
                           shared->used + fmax(runner->limits.deadline - now, LATE_SECONDS)) +
                      shared->granted;
    return shared;
}

static kf_runner_event ask_command(kf_runner *runner, kf_wire_command *command, const void *payload,
                                   size_t size, kf_wire_answer *answer)
{
    kf_runner_timeout own;
    return ask_within(runner, command, payload, size, -1, command_timeout(runner, &own), answer);
}

/* ---- stopping and waking --------------------------------------------------------------------- */

static bool has_thread(const pid_t *ids, size_t count, pid_t thread)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == thread) return true;
    return false;
}

static bool note_threads(kf_runner *runner)
{
    const pid_t *ids;
    runner->held.thread_count = kf_sandbox_threads(runner->sandbox, &ids);
    runner->held.threads = calloc(runner->held.thread_count + 1, sizeof *ids);
    if (!runner->held.threads) return false;
    memcpy(runner->held.threads, ids, runner->held.thread_count * sizeof *ids);
    return true;
}

/* True if a thread that the runner had before it loaded its binary has ended. */
static bool lacks_a_thread(const kf_runner *runner)
{
    const pid_t *ids;
    size_t count = kf_sandbox_threads(runner->sandbox, &ids);
    for (size_t i = 0; i < runner->held.thread_count; i++)
        if ((runner->held.sealed || runner->held.threads[i] == kf_runner_pid(runner)) &&
            !has_thread(ids, count, runner->held.threads[i]))
            return true;
    return false;
}

static kf_runner_event freeze(kf_runner *runner)
{
    if (runner->frozen) return KF_RUNNER_OK;
    kf_error error;
    double asked = kf_now();
    bool stopped = kf_sandbox_freeze(runner->sandbox, &error);
    runner->limits.stopping += kf_now() - asked;
    if (!stopped) {
        if (kf_sandbox_pump(runner->sandbox, ENDING_SECONDS)) return end(runner, KF_RUNNER_ENDED);
        runner->error = error;
        /* A thread does not return from a system call of its own choice. */
        bool endless = error.code == KF_ERROR_LIMIT;
        return end(runner, error.code == KF_ERROR_INPUT ? KF_RUNNER_WOKEN
                           : endless                    ? KF_RUNNER_TIMEOUT
                                                        : KF_RUNNER_MACHINE);
    }
    runner->frozen = true;
    if (lacks_a_thread(runner)) {
        /* The threads of a killed process end before the process does. */
        bool ended = kf_sandbox_pump(runner->sandbox, ENDING_SECONDS);
        return end(runner, ended ? KF_RUNNER_ENDED : KF_RUNNER_THREAD_ENDED);
    }
    /* No answer is due now. Bytes in the socket are a forged answer to a later command. */
    char byte;
    ssize_t waiting = recv(runner->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (waiting > 0) return end(runner, KF_RUNNER_FORGED);
    return KF_RUNNER_OK;
}

static kf_runner_event wake(kf_runner *runner)
{
    if (runner->dead) return KF_RUNNER_ENDED;
    if (!runner->frozen) return KF_RUNNER_OK;
    kf_error error;
    runner->frozen = false;
    kf_cpu_idle_guard_rest(runner->idle_guard);
    if (kf_sandbox_thaw(runner->sandbox, &error)) return KF_RUNNER_OK;
    if (kf_sandbox_pump(runner->sandbox, ENDING_SECONDS)) return end(runner, KF_RUNNER_ENDED);
    runner->error = error;
    return end(runner, error.code == KF_ERROR_INPUT ? KF_RUNNER_WOKEN : KF_RUNNER_MACHINE);
}

/* Lets a sealed runner open files, or ends that. */
static kf_runner_event let_open(kf_runner *runner, bool may)
{
    kf_error error;
    if (!runner->held.sealed || !runner->held.loaded ||
        kf_sandbox_let_open(runner->sandbox, may, &error))
        return KF_RUNNER_OK;
    if (kf_sandbox_pump(runner->sandbox, ENDING_SECONDS)) return end(runner, KF_RUNNER_ENDED);
    return kf_runner_fail(runner, error.text);
}

/* Stops a runner that may have opened files. A sealed runner must have closed those on disks, and
 * opens no others. */
static kf_runner_event freeze_and_seal(kf_runner *runner)
{
    kf_runner_event event = freeze(runner);
    if (event == KF_RUNNER_OK) event = let_open(runner, false);
    if (event == KF_RUNNER_OK && runner->held.sealed && runner->held.loaded &&
        kf_sandbox_open_files(runner->sandbox) > 0)
        return end(runner, KF_RUNNER_FILES_OPEN);
    return event;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Makes the runner's inbox, and appends it to `paths` (path_count + 1 entries). */
static bool make_inbox(kf_runner *runner, const kf_runner_spec *spec, kf_sandbox_path *paths,
                       kf_error *error)
{
    if (!(runner->inbox = kf_directory_temporary("kforge-runner", error))) return false;
    if (!(runner->binary = kf_path_join(runner->inbox, "candidate.so")))
        return kf_fail_memory(error, "a runner");
    memcpy(paths, spec->paths, spec->path_count * sizeof *paths);
    paths[spec->path_count] = (kf_sandbox_path){runner->inbox, KF_PATH_READ | KF_PATH_EXEC, false};
    return true;
}

kf_runner *kf_runner_spawn(const kf_runner_spec *spec, kf_error *error)
{
    kf_auto(kf_runner) runner = calloc(1, sizeof *runner);
    kf_autofree kf_sandbox_path *paths = calloc(spec->path_count + 1, sizeof *paths);
    int pair[2];
    if (!runner || !paths) {
        kf_fail_memory(error, "a runner");
        if (runner) runner->socket = -1;
        return NULL;
    }
    runner->socket = -1;
    runner->stop = spec->stop;
    runner->kind = spec->kind;
    runner->at_launcher = spec->at_launcher;
    runner->held.sealed = spec->sealed;
    runner->idle_guard = spec->idle_guard;
    runner->affinity.launcher = spec->launcher;
    runner->memory_limit = spec->limits.memory_bytes;
    runner->start_seconds =
        spec->start_seconds > 0 ? spec->start_seconds : KF_RUNNER_COMMAND_SECONDS;
    if (!spec->binary && !make_inbox(runner, spec, paths, error)) return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        kf_fail(error, KF_ERROR_MACHINE, "socketpair: %s", strerror(errno));
        return NULL;
    }
    runner->socket = pair[0];
    const char *argv[MAX_WORDS + 3] = {spec->program};
    size_t words = 1;
    for (const char *const *word = spec->arguments; word && *word && words <= MAX_WORDS; word++)
        argv[words++] = *word;
    argv[words] = spec->binary ? spec->binary : runner->binary;
    const kf_sandbox_fd fds[] = {{.host = pair[1], .child = KF_WIRE_FD}};
    kf_sandbox_spec sandbox = {
        .argv = argv,
        .environment = spec->environment,
        .directory = spec->directory,
        .paths = spec->binary ? spec->paths : paths,
        .path_count = spec->path_count + (spec->binary ? 0 : 1),
        .fds = fds,
        .fd_count = 1,
        .limits = spec->limits,
        .seccomp = spec->kind == KF_RUNNER_COMPILED ? KF_SECCOMP_SETTLES : KF_SECCOMP_RUNNER,
        .strict = spec->strict,
        .same_addresses = spec->same_addresses,
    };
    runner->sandbox = kf_sandbox_spawn(&sandbox, error);
    close(pair[1]);
    if (!runner->sandbox) {
        kf_fail_prefix(error, "runner");
        return NULL;
    }
    return kf_steal(&runner);
}

void kf_runner_pause(kf_runner *runner)
{
    kf_wire_answer hello;
    if (runner->greeted || runner->dead || runner->paused) return;
    if (recv(runner->socket, &hello, sizeof hello, MSG_DONTWAIT | MSG_PEEK) == sizeof hello)
        kf_runner_greet(runner, NULL);
    else
        runner->paused = kf_sandbox_freeze(runner->sandbox, NULL);
}

void kf_runner_resume(kf_runner *runner)
{
    if (runner->paused && !runner->dead) kf_sandbox_thaw(runner->sandbox, NULL);
    runner->paused = false;
}

bool kf_runner_greet(kf_runner *runner, kf_error *error)
{
    kf_wire_answer hello;
    if (runner->greeted) return true;
    kf_runner_resume(runner);
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, runner->start_seconds, kf_now());
    kf_runner_event event = await(runner, 0, &runner_timeout, &hello);
    event = only_good(runner, event, &hello);
    if (event == KF_RUNNER_OK) event = freeze(runner);
    if (event == KF_RUNNER_OK && !note_threads(runner)) {
        end(runner, KF_RUNNER_MACHINE);
        return kf_fail_memory(error, "a runner");
    }
    runner->greeted = event == KF_RUNNER_OK;
    if (runner->greeted) return true;
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    if (event == KF_RUNNER_MACHINE) return kf_fail_copy(error, &runner->error);
    kf_runner_explanation why;
    kf_autofree char *said = kf_runner_output(runner, 2000);
    kf_runner_explain(runner, event, "starting", &why);
    return kf_fail(error, KF_ERROR_MACHINE, "the runner does not start: %s%s%s", why.text,
                   said ? ": " : "", said ? said : "");
}

kf_runner *kf_runner_start(const kf_runner_spec *spec, kf_error *error)
{
    kf_auto(kf_runner) runner = kf_runner_spawn(spec, error);
    return runner && kf_runner_greet(runner, error) ? kf_steal(&runner) : NULL;
}

/* Copies the file, since a link would let the runner see the file that others load. */
bool kf_runner_give(kf_runner *runner, const char *binary, kf_error *error)
{
    size_t size;
    kf_autofree char *data = kf_file_read(binary, KF_BINARY_BYTES, &size, error);
    return data && kf_runner_give_text(runner, data, size, error);
}

bool kf_runner_give_text(kf_runner *runner, const char *text, size_t size, kf_error *error)
{
    kf_autoclose int fd =
        open(runner->binary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0 && kf_write_all(fd, text, size)) return true;
    return kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", runner->binary, strerror(errno));
}

const char *kf_runner_inbox(const kf_runner *runner)
{
    return runner->inbox;
}

kf_runner_kind kf_runner_kind_of(const kf_runner *runner)
{
    return runner->kind;
}

bool kf_runner_is_open(const kf_runner *runner)
{
    return runner->open;
}

void kf_runner_attach(kf_runner *runner, void *data, void (*release)(void *data))
{
    runner->attached.data = data;
    runner->attached.release = release;
}

void *kf_runner_attachment(const kf_runner *runner)
{
    return runner->attached.data;
}

void kf_runner_set_interrupt(kf_runner *runner, const volatile int *stop)
{
    runner->stop = stop;
}

void kf_runner_set_deadline(kf_runner *runner, double deadline)
{
    runner->limits.deadline = deadline;
    kf_sandbox_distrust(runner->sandbox);
    kf_runner_timeout_begin(&runner->limits.command, KF_RUNNER_COMMAND_SECONDS, kf_now());
    runner->limits.stopping = 0;
    kf_runner_timeout_watch(&runner->limits.command, kf_sandbox_pid(runner->sandbox));
}

double kf_runner_late_seconds(const kf_runner *runner)
{
    return runner->limits.deadline ? runner->limits.command.used + runner->limits.stopping : 0;
}

uint64_t kf_runner_calls(const kf_runner *runner)
{
    return runner->calls;
}

void kf_runner_begin_kill(kf_runner *runner)
{
    if (!runner) return;
    runner->dead = true;
    kf_sandbox_begin_kill(runner->sandbox);
}

void kf_runner_free(kf_runner *runner)
{
    if (!runner) return;
    kf_sandbox_free(runner->sandbox);
    if (runner->attached.data) runner->attached.release(runner->attached.data);
    if (runner->socket >= 0) close(runner->socket);
    if (runner->progress) munmap(runner->progress, sizeof *runner->progress);
    if (runner->inbox) kf_directory_remove(runner->inbox, NULL);
    free(runner->inbox);
    free(runner->binary);
    free(runner->held.threads);
    free(runner->held.maps);
    free(runner->held.last_maps);
    free(runner);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Shares the page in which the runner shows its progress. Comes before any foreign code. */
static kf_runner_event share_progress(kf_runner *runner, double seconds)
{
    kf_autoclose int fd = memfd_create("kforge-progress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    long page = sysconf(_SC_PAGESIZE);
    if (fd < 0 || ftruncate(fd, page) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return kf_runner_fail(runner, "no shared memory for a runner's progress");
    void *shared = mmap(NULL, sizeof *runner->progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) return kf_runner_fail(runner, "cannot map a runner's progress");
    runner->progress = shared;
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_MAP, .flags = KF_WIRE_PROGRESS};
    kf_runner_event event = wake(runner);
    if (event == KF_RUNNER_OK)
        event = only_good(runner, ask(runner, &command, NULL, 0, fd, seconds, &answer), &answer);
    if (event != KF_RUNNER_OK || runner->progress->kept) return event;
    munmap(shared, sizeof *runner->progress);
    runner->progress = NULL;
    return event;
}

kf_runner_event kf_runner_load(kf_runner *runner, double seconds)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_LOAD};
    kf_runner_event event =
        runner->kind == KF_RUNNER_PLAIN || (runner->kind == KF_RUNNER_TORCH && !runner->held.loaded)
            ? share_progress(runner, seconds)
            : KF_RUNNER_OK;
    if (!runner->held.maps) runner->held.maps = kf_runner_maps(runner);
    if (event == KF_RUNNER_OK) event = wake(runner);
    if (event == KF_RUNNER_OK) event = ask(runner, &command, NULL, 0, -1, seconds, &answer);
    runner->held.loaded = true;
    if (event == KF_RUNNER_OK) event = freeze_and_seal(runner);
    if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK)
        event = end(runner, KF_RUNNER_REFUSED);
    runner->open = event == KF_RUNNER_OK && runner->kind == KF_RUNNER_COMPILED &&
                   !kf_sandbox_settle(runner->sandbox);
    return event;
}

kf_runner_event kf_runner_scalars(kf_runner *runner, const uint64_t *values, uint32_t count)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_SCALARS, .count = count};
    kf_runner_event event = wake(runner);
    if (event == KF_RUNNER_OK)
        event = only_good(runner,
                          ask_command(runner, &command, values, count * sizeof *values, &answer),
                          &answer);
    if (event == KF_RUNNER_OK) event = freeze(runner);
    return event;
}

/* Sends many commands at a time, since one at a time would wait for each answer. */
kf_runner_event kf_runner_map(kf_runner *runner, const kf_runner_buffer *buffers, size_t count)
{
    /* So few that the messages of neither side fill the socket. */
    enum { AHEAD = 32 };
    kf_runner_event event = runner->dead ? KF_RUNNER_ENDED : let_open(runner, true);
    if (event == KF_RUNNER_OK) event = wake(runner);
    for (size_t first = 0; first < count && event == KF_RUNNER_OK; first += AHEAD) {
        size_t some = count - first < AHEAD ? count - first : AHEAD;
        uint64_t nonces[AHEAD];
        kf_runner_timeout own, *runner_timeout = command_timeout(runner, &own);
        if (!kf_random(nonces, sizeof nonces))
            return kf_runner_fail(runner, "the kernel's random source (getrandom) refuses");
        for (size_t i = 0; i < some && event == KF_RUNNER_OK; i++) {
            const kf_runner_buffer *b = &buffers[first + i];
            kf_wire_command command = {
                .magic = KF_WIRE_MAGIC,
                .type = KF_WIRE_MAP,
                .nonce = nonces[i],
                .flags = (b->read_only ? KF_WIRE_READ_ONLY : 0) |
                         (b->output_directory ? KF_WIRE_OUTPUT_DIRECTORY : 0) |
                         (b->device_pool ? KF_WIRE_DEVICE_POOL : 0) |
                         (b->stream_page ? KF_WIRE_STREAM_PAGE : 0) |
                         (b->result ? KF_WIRE_RESULT : 0) | (b->check ? KF_WIRE_CHECK : 0),
                .set = b->set,
                .argument = b->argument,
                .offset = b->offset,
                .length = b->length,
                .data_offset = b->data_offset,
                .bytes = b->bytes,
                .region_bytes = b->region_bytes,
                .address = b->address,
                .region = b->region};
            event = send_all(runner, &command, sizeof command, b->fd, runner_timeout);
        }
        for (size_t i = 0; i < some && event == KF_RUNNER_OK; i++) {
            kf_wire_answer answer;
            event = await(runner, nonces[i], runner_timeout, &answer);
            if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK)
                event = end(runner, KF_RUNNER_REFUSED);
        }
    }
    return event == KF_RUNNER_OK ? freeze_and_seal(runner) : event;
}

kf_runner_event kf_runner_fail(kf_runner *runner, const char *words)
{
    kf_fail(&runner->error, KF_ERROR_MACHINE, "%s", words);
    return end(runner, KF_RUNNER_MACHINE);
}

kf_runner_event kf_runner_unmap(kf_runner *runner)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_UNMAP};
    kf_runner_event event = wake(runner);
    if (event == KF_RUNNER_OK)
        event = only_good(runner, ask_command(runner, &command, NULL, 0, &answer), &answer);
    return event == KF_RUNNER_OK ? freeze(runner) : event;
}

/* Returns the processor time of all threads of the runner, 0 if unknown. */
static double processor_seconds(const kf_runner *runner)
{
    struct timespec time;
    clockid_t clock;
    return clock_getcpuclockid(kf_sandbox_pid(runner->sandbox), &clock) == 0 &&
                   clock_gettime(clock, &time) == 0
               ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec
               : 0;
}

/* Binds this thread to the first processor that it may use. *before: its processors until now. */
static bool go_to_launcher(cpu_set_t *before)
{
    cpu_set_t first;
    if (sched_getaffinity(0, sizeof *before, before) || CPU_COUNT(before) < 2) return false;
    int cpu = 0;
    while (!CPU_ISSET(cpu, before)) cpu++;
    CPU_ZERO(&first);
    CPU_SET(cpu, &first);
    return sched_setaffinity(0, sizeof first, &first) == 0;
}

/* `own` NULL, or the processors that this thread had before it went to the launcher's. */
static kf_runner_event run_batch(kf_runner *runner, kf_batch *batch, const cpu_set_t *own)
{
    kf_wire_answer answer;
    kf_wire_command ping = {.type = KF_WIRE_PING, .flags = batch->keep ? 0 : KF_WIRE_FORGET};
    kf_wire_command command = {.type = KF_WIRE_BATCH,
                               .count = batch->count,
                               .flags = (batch->null ? KF_WIRE_EMPTY : 0) |
                                        (batch->check ? KF_WIRE_CHECK : 0) |
                                        (batch->warp_order == 1 ? KF_WIRE_REVERSED : 0) |
                                        (batch->warp_order == 2 ? KF_WIRE_REVERSED_BUT_LAST : 0)};
    batch->code = 0;
    /* Before every batch, because a candidate can read it. */
    if (runner->progress) __atomic_store_n(&runner->progress->begun, 0, __ATOMIC_SEQ_CST);
    /* A runner needs time to wake up. The ping keeps it out of `seconds`. A candidate's signal
     * handler could run in it, on inputs that are ready, so the caller gets `waking`. */
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, batch->timeout, kf_now());
    /* Before the clock starts. */
    kf_runner_timeout_watch(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    double worked = processor_seconds(runner), woken_at = kf_now();
    /* The judge does not sleep during the ping if it will not sleep after it: a processor that
     * comes out of deep sleep is slow at first. */
    if (batch->answered) runner->awake_until = woken_at + PING_SPIN_SECONDS;
    kf_runner_event event = wake(runner);
    if (event == KF_RUNNER_OK)
        event = only_good(runner, ask_command(runner, &ping, NULL, 0, &answer), &answer);
    runner->awake_until = 0;
    if (event != KF_RUNNER_OK) return event;
    if (!batch->null) runner->calls += batch->count;
    batch->waking_work = processor_seconds(runner) - worked;
    double started = kf_now();
    batch->waking = started - woken_at;
    runner->awake_until = batch->answered ? started + SPIN_SECONDS : 0;
    runner_timeout.looked = started;
    if (batch->begun) batch->begun(batch->begun_context);
    batch->maps = NULL;
    runner->look.batch = batch->look_at > 0 ? batch : NULL;
    runner->look.began = started;
    runner->look.after = batch->look_at;
    event = request(runner, &command, batch->order, batch->count * sizeof *batch->order, -1,
                    &runner_timeout);
    if (event == KF_RUNNER_OK && batch->running) {
        /* A judge with something to do in the batch needs another processor for that. */
        if (own) sched_setaffinity(0, sizeof *own, own);
        batch->running(batch->running_context);
    }
    if (event == KF_RUNNER_OK) event = await(runner, command.nonce, &runner_timeout, &answer);
    runner->awake_until = 0;
    runner->look.batch = NULL;
    batch->nonce = command.nonce;
    if (batch->answered) batch->seconds = kf_now() - started;
    if (batch->answered && event == KF_RUNNER_OK) batch->answered(batch->context);
    double stopping = runner->limits.stopping;
    if (event == KF_RUNNER_OK) event = freeze(runner);
    if (!batch->answered) {
        /* Without the time in which the judge looked at stopped threads. */
        batch->seconds = kf_sandbox_stopped_at(runner->sandbox) - started;
        runner->limits.stopping = stopping;
    }
    if (event == KF_RUNNER_OK)
        kf_runner_timeout_end(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    batch->stalled = runner_timeout.stalled;
    if (event != KF_RUNNER_OK) return event;
    batch->claimed = answer.claimed_seconds;
    batch->gap = answer.gap_seconds;
    if (answer.result == KF_WIRE_OK) return KF_RUNNER_OK;
    if (answer.result != KF_WIRE_DEVICE_ERROR || !answer.code) return end(runner, KF_RUNNER_FORGED);
    batch->code = answer.code;
    return KF_RUNNER_DEVICE_ERROR;
}

/* On the CPU device the launching thread runs on the first processor (kfcpu_ready). The judge waits
 * on the same processor. So a message takes microseconds: no sleeping processor has to wake up, and
 * no busy one has to switch. */
kf_runner_event kf_runner_batch(kf_runner *runner, kf_batch *batch)
{
    cpu_set_t before;
    bool moved = runner->at_launcher && go_to_launcher(&before);
    bool bound = batch->answered && runner->frozen &&
                 kf_launch_affinity_bind(&runner->affinity, kf_sandbox_pid(runner->sandbox));
    kf_runner_event event = run_batch(runner, batch, moved ? &before : NULL);
    if (event == KF_RUNNER_OK && batch->answered) {
        /* Only runners without a deadline: a candidate could choose its waking time. */
        if (!runner->limits.deadline) kf_cpu_idle_guard_note(runner->idle_guard, batch->waking);
        kf_cpu_idle_guard_keep(runner->idle_guard);
        if (bound)
            kf_launch_affinity_free_threads(&runner->affinity, kf_sandbox_pid(runner->sandbox));
        if (bound && kf_launch_affinity_left(&runner->affinity, kf_sandbox_pid(runner->sandbox)))
            event = end(runner, KF_RUNNER_MOVED);
    }
    if (moved) sched_setaffinity(0, sizeof before, &before);
    return event;
}

bool kf_runner_shows_progress(const kf_runner *runner)
{
    return runner->progress != NULL;
}

uint32_t kf_runner_begun(const kf_runner *runner)
{
    return __atomic_load_n(&runner->progress->begun, __ATOMIC_SEQ_CST);
}

bool kf_runner_has_answered(const kf_runner *runner)
{
    char byte;
    return recv(runner->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 ||
           (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static kf_runner_event receive_header(kf_runner *runner, kf_count_header *header,
                                      kf_runner_timeout *runner_timeout)
{
    kf_runner_event event = receive(runner, header, sizeof *header, runner_timeout);
    bool known = header->magic == KF_WIRE_MAGIC && header->launches <= KF_COUNT_LAUNCHES &&
                 header->works <= KF_COUNT_WORKS && header->lines <= KF_COUNT_LINES;
    return event == KF_RUNNER_OK && !known ? end(runner, KF_RUNNER_FORGED) : event;
}

kf_runner_event kf_runner_count(kf_runner *runner, uint32_t set, uint32_t passes, double seconds,
                                kf_count_records *records)
{
    kf_wire_answer answer;
    const kf_count_header *header = &records->header;
    kf_wire_command command = {.type = KF_WIRE_COUNT, .set = set, .count = passes};
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, seconds, kf_now());
    kf_runner_event event = wake(runner);
    if (event == KF_RUNNER_OK)
        event = ask_within(runner, &command, NULL, 0, -1, &runner_timeout, &answer);
    if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK) return end(runner, KF_RUNNER_REFUSED);
    if (event == KF_RUNNER_OK) event = receive_header(runner, &records->header, &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = receive(runner, records->launches, header->launches * sizeof records->launches[0],
                        &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = receive(runner, records->works, header->works * sizeof records->works[0],
                        &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = receive(runner, records->lines, header->lines * sizeof records->lines[0],
                        &runner_timeout);
    return event == KF_RUNNER_OK ? freeze(runner) : event;
}

int kf_runner_extra_threads(kf_runner *runner)
{
    kf_sandbox_census census;
    if (runner->dead || !kf_sandbox_take_census(runner->sandbox, &census, NULL)) return -1;
    const pid_t *ids;
    size_t count = kf_sandbox_threads(runner->sandbox, &ids);
    int extra = census.processes;
    for (size_t i = 0; i < count; i++)
        extra += !has_thread(runner->held.threads, runner->held.thread_count, ids[i]);
    return extra;
}

pid_t kf_runner_pid(const kf_runner *runner)
{
    return kf_sandbox_pid(runner->sandbox);
}

bool kf_runner_can_stop(const kf_runner *runner)
{
    return runner->error.code != KF_ERROR_LIMIT;
}

bool kf_runner_hide_files(kf_runner *runner)
{
    if (runner->dead) return true;
    if (!runner->held.last_maps) runner->held.last_maps = kf_runner_maps(runner);
    return runner->held.last_maps && kf_sandbox_hide_files(runner->sandbox);
}

const char *kf_runner_last_maps(const kf_runner *runner)
{
    return runner->held.last_maps ? runner->held.last_maps : "";
}

char *kf_runner_maps(const kf_runner *runner)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)kf_sandbox_pid(runner->sandbox));
    return kf_system_file(path, MAPS_BYTES);
}

const char *kf_runner_first_maps(const kf_runner *runner)
{
    return runner->held.maps ? runner->held.maps : "";
}

const char *kf_runner_loaded(const kf_runner *runner)
{
    return runner->binary;
}

int kf_runner_layers(const kf_runner *runner)
{
    return kf_sandbox_layers(runner->sandbox);
}

/* ---- words ----------------------------------------------------------------------------------- */

char *kf_runner_output(const kf_runner *runner, size_t most)
{
    /* The answer may arrive before the output that was printed ahead of it. */
    if (!runner->dead) kf_sandbox_pump(runner->sandbox, 0);
    const kf_buffer *output = kf_sandbox_output(runner->sandbox);
    if (!output || !output->size) return NULL;
    size_t first = output->size > most ? output->size - most : 0;
    return kf_text_clean(output->data + first, output->size - first, false);
}

const kf_error *kf_runner_error(const kf_runner *runner)
{
    return &runner->error;
}

bool kf_runner_ended_outside(const kf_runner *runner)
{
    return runner->dead && kf_sandbox_ended_outside(kf_sandbox_outcome(runner->sandbox));
}

static void explain_end(const kf_runner *runner, const char *doing, kf_runner_explanation *e)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(runner->sandbox);
    char words[256];
    kf_sandbox_describe(result, words, sizeof words);
    e->status = KF_CRASH;
    e->rule = "runner.crashed";
    if (result->end == KF_END_MEMORY) e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    if (result->end == KF_END_CPU || result->end == KF_END_WALL)
        e->status = KF_TIMEOUT, e->rule = "time.limit";
    if (result->end == KF_END_EXITED) e->rule = "runner.exited";
    /* Without a cgroup, an allocation fails at the limit, and the program crashes. */
    if (result->end == KF_END_SIGNAL && runner->memory_limit &&
        result->peak_memory_bytes > runner->memory_limit / 10 * 9)
        e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    e->outside = e->status == KF_CRASH && kf_sandbox_ended_outside(result);
    snprintf(e->text, sizeof e->text, "the process ended while %s: %s", doing, words);
}

void kf_runner_explain(const kf_runner *runner, kf_runner_event event, const char *doing,
                       kf_runner_explanation *e)
{
    static const struct {
        kf_status status;
        const char *rule, *text;
    } table[] = {
        [KF_RUNNER_OK] = {KF_CORRECT, "", ""},
        [KF_RUNNER_CLOSED] = {KF_CONTRACT_VIOLATION, "protocol.closed",
                              "the process closed the judge's connection while"},
        [KF_RUNNER_TIMEOUT] = {KF_TIMEOUT, "time.limit", "the time limit passed while"},
        [KF_RUNNER_FORGED] = {KF_CHEATING, "protocol.forged",
                              "an answer was written that the runner did not give, while"},
        [KF_RUNNER_WOKEN] = {KF_CHEATING, "runner.woken",
                             "the process was made to run while the judge had stopped it, after"},
        [KF_RUNNER_THREAD_ENDED] = {KF_CONTRACT_VIOLATION, "threads.ended",
                                    "a thread of the runner itself has ended. End only threads "
                                    "that the call has started. Noticed after"},
        [KF_RUNNER_FILES_OPEN] = {KF_CONTRACT_VIOLATION, "files.open",
                                  "a file is open that the process opened while it was loaded. "
                                  "Close it in the constructor. Noticed after"},
        [KF_RUNNER_MOVED] = {KF_CONTRACT_VIOLATION, "runner.moved",
                             "the launching thread left the processor that it was bound to, while"},
        [KF_RUNNER_REFUSED] = {KF_LAUNCH_FAILURE, "load.failed",
                               "the runner cannot continue while"},
        [KF_RUNNER_DEVICE_ERROR] = {KF_LAUNCH_FAILURE, "device.error",
                                    "the device reports an error after"},
        [KF_RUNNER_STOPPED] = {KF_JUDGE_ERROR, "interrupted", "interrupted while"},
        [KF_RUNNER_MACHINE] = {KF_JUDGE_ERROR, "machine", "the machine failed while"},
    };
    e->outside = event == KF_RUNNER_WOKEN;
    if (event == KF_RUNNER_ENDED) {
        explain_end(runner, doing, e);
        return;
    }
    e->status = table[event].status;
    e->rule = table[event].rule;
    bool has_reason =
        event == KF_RUNNER_MACHINE || (event == KF_RUNNER_TIMEOUT && !kf_runner_can_stop(runner));
    snprintf(e->text, sizeof e->text, "%s %s%s%.300s", table[event].text, doing,
             has_reason ? ": " : "", has_reason ? runner->error.text : "");
}
