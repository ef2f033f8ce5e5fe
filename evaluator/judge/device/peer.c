#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counters_wire.h"
#include "wire.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "hold.h"
#include "patience.h"

#define COMMAND_SECONDS 20.0 /* for what takes a runner microseconds */
#define LATE_SECONDS 0.5     /* for that behind the deadline */
#define SPIN_SECONDS 0.1     /* most batches are shorter */
#define PING_SPIN_SECONDS 0.002
#define MOST_WORDS 8 /* of a runner's command line, beside program and binary */

struct kf_peer {
    kf_sandbox *sandbox;
    uint64_t memory_limit;
    int socket;
    const volatile int *stop;
    bool frozen, dead;
    bool greeted, paused, at_launcher;
    kf_wakeful *wakeful;
    kf_hold hold;
    char *inbox,
        *binary; /* a folder that only this runner sees, and the path in it that it will load; NULL when it was started for a binary */
    double start_seconds;
    kf_runner_kind kind;
    bool open;
    uint64_t calls;
    void *attachment;
    void (*release)(void *attachment);
    double awake_until; /* kf_now() until which waiting for it does not sleep, so that waking up is not in the time */
    int honest_threads;
    uint64_t honest_who; /* which they are */
    double deadline;     /* kf_now() when a candidate's time is over; 0: nobody hurries */
    kf_patience hurry;   /* for all commands but LOAD and BATCH together, where somebody does */
    double stopping;     /* seconds that stopping it took behind these commands */
    kf_error error;
};

/* ---- waiting ------------------------------------------------------------------------------------------------------------------------------- */

/* The peer is of no use any more. */
static kf_peer_event end(kf_peer *peer, kf_peer_event event)
{
    peer->dead = true;
    kf_sandbox_kill(peer->sandbox);
    return event;
}

/* Reads `size` bytes while there is patience, and the peer's output meanwhile. The caller's stop flag is looked at as often as the patience. */
static kf_peer_event receive(kf_peer *peer, void *data, size_t size, kf_patience *patience)
{
    char *bytes = data;
    while (size) {
        ssize_t got = recv(peer->socket, bytes, size, MSG_DONTWAIT);
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) { /* closed: by its end, most likely */
            if (kf_sandbox_pump(peer->sandbox, 1.0)) return end(peer, KF_PEER_ENDED);
            return end(peer, KF_PEER_CLOSED);
        }
        if (peer->awake_until > 0 && kf_now() < peer->awake_until) continue;
        if (peer->stop && *peer->stop) return end(peer, KF_PEER_STOPPED);
        if (!kf_patience_look(patience, kf_sandbox_pid(peer->sandbox), kf_now())) return end(peer, KF_PEER_TIMEOUT);
        struct pollfd watched[2] = {{.fd = peer->socket, .events = POLLIN},
                                    {.fd = kf_sandbox_descriptor(peer->sandbox), .events = POLLIN}};
        if (poll(watched, 2, kf_patience_sleep(patience)) < 0 && errno != EINTR) {
            kf_fail(&peer->error, KF_ERROR_MACHINE, "poll: %s", strerror(errno));
            return end(peer, KF_PEER_MACHINE);
        }
        if (watched[1].revents && kf_sandbox_pump(peer->sandbox, 0)) {
            /* It has ended; what it had sent before still counts as sent, but an answer of a dead runner is of no use. */
            return end(peer, KF_PEER_ENDED);
        }
    }
    return KF_PEER_OK;
}

static kf_peer_event send_all(kf_peer *peer, const void *data, size_t size, int fd, kf_patience *patience)
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
        ssize_t sent = sendmsg(peer->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
            fd = -1;
            continue;
        }
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) { /* it does not read */
            struct pollfd watched = {.fd = peer->socket, .events = POLLOUT};
            if (kf_sandbox_pump(peer->sandbox, 0)) return end(peer, KF_PEER_ENDED);
            if (!kf_patience_look(patience, kf_sandbox_pid(peer->sandbox), kf_now())) return end(peer, KF_PEER_TIMEOUT);
            poll(&watched, 1, 20);
            continue;
        }
        int refused = sent < 0 ? errno : EPIPE;
        if (kf_sandbox_pump(peer->sandbox, 1.0)) return end(peer, KF_PEER_ENDED);
        if (refused == EPIPE || refused == ECONNRESET) return end(peer, KF_PEER_CLOSED);
        /* Of descriptors under way it counts those of all of a user's processes. */
        kf_fail(&peer->error, KF_ERROR_MACHINE, "the kernel takes no message for a runner: %s", strerror(refused));
        return end(peer, KF_PEER_MACHINE);
    }
    return KF_PEER_OK;
}

/* The answer to a command, which must repeat its nonce. */
static kf_peer_event await(kf_peer *peer, uint64_t nonce, kf_patience *patience, kf_wire_answer *answer)
{
    kf_peer_event event = receive(peer, answer, sizeof *answer, patience);
    if (event != KF_PEER_OK) return event;
    if (answer->magic != KF_WIRE_MAGIC || answer->nonce != nonce || answer->result > KF_WIRE_BAD_COMMAND)
        return end(peer, KF_PEER_FORGED);
    return KF_PEER_OK;
}

/* For questions that have one good answer. */
static kf_peer_event only_good(kf_peer *peer, kf_peer_event event, const kf_wire_answer *answer)
{
    return event == KF_PEER_OK && answer->result != KF_WIRE_OK ? end(peer, KF_PEER_FORGED) : event;
}

static kf_peer_event ask_patiently(kf_peer *peer, kf_wire_command *command, const void *payload, size_t size, int fd,
                                   kf_patience *patience, kf_wire_answer *answer)
{
    command->magic = KF_WIRE_MAGIC;
    if (!kf_random(&command->nonce, sizeof command->nonce)) {
        kf_fail(&peer->error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
        return end(peer, KF_PEER_MACHINE);
    }
    kf_peer_event event = send_all(peer, command, sizeof *command, fd, patience);
    if (event == KF_PEER_OK && size) event = send_all(peer, payload, size, -1, patience);
    return event == KF_PEER_OK ? await(peer, command->nonce, patience, answer) : event;
}

static kf_peer_event ask(kf_peer *peer, kf_wire_command *command, const void *payload, size_t size, int fd, double seconds,
                         kf_wire_answer *answer)
{
    kf_patience patience;
    kf_patience_begin(&patience, seconds, kf_now());
    kf_patience_watch(&patience, kf_sandbox_pid(peer->sandbox));
    return ask_patiently(peer, command, payload, size, fd, &patience, answer);
}

/* Patience with a command that takes microseconds: `own`, or what is left of that for all of them. */
static kf_patience *be_patient(kf_peer *peer, kf_patience *own)
{
    double now = kf_now();
    if (!peer->deadline) {
        kf_patience_begin(own, COMMAND_SECONDS, now);
        return own;
    }
    kf_patience *hurry = &peer->hurry;
    hurry->looked = now;
    hurry->threads = -1; /* what queued before is not what queues now */
    hurry->seconds = fmin(COMMAND_SECONDS, hurry->used + fmax(peer->deadline - now, LATE_SECONDS)) + hurry->granted;
    return hurry;
}

static kf_peer_event ask_shortly(kf_peer *peer, kf_wire_command *command, const void *payload, size_t size, kf_wire_answer *answer)
{
    kf_patience own;
    return ask_patiently(peer, command, payload, size, -1, be_patient(peer, &own), answer);
}

/* ---- stopping and waking --------------------------------------------------------------------------------------------------------------- */

static kf_peer_event freeze(kf_peer *peer)
{
    if (peer->frozen) return KF_PEER_OK;
    kf_error error;
    double asked = kf_now();
    bool stopped = kf_sandbox_freeze(peer->sandbox, &error);
    peer->stopping += kf_now() - asked;
    if (!stopped) {
        if (kf_sandbox_pump(peer->sandbox, 0)) return end(peer, KF_PEER_ENDED);
        peer->error = error;
        bool endless = error.code == KF_ERROR_LIMIT; /* a call of the kernel's that it chose */
        return end(peer, error.code == KF_ERROR_INPUT ? KF_PEER_WOKEN : endless ? KF_PEER_TIMEOUT : KF_PEER_MACHINE);
    }
    peer->frozen = true;
    /* Nothing is due now: what lies in the socket was written to answer a question not yet asked. */
    char byte;
    ssize_t waiting = recv(peer->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    if (waiting > 0) return end(peer, KF_PEER_FORGED);
    return KF_PEER_OK;
}

static kf_peer_event wake(kf_peer *peer)
{
    if (peer->dead) return KF_PEER_ENDED;
    if (!peer->frozen) return KF_PEER_OK;
    kf_error error;
    peer->frozen = false;
    kf_wakeful_rest(peer->wakeful);
    if (kf_sandbox_thaw(peer->sandbox, &error)) return KF_PEER_OK;
    if (kf_sandbox_pump(peer->sandbox, 0)) return end(peer, KF_PEER_ENDED);
    peer->error = error;
    return end(peer, error.code == KF_ERROR_INPUT ? KF_PEER_WOKEN : KF_PEER_MACHINE);
}

/* ---- life ------------------------------------------------------------------------------------------------------------------------------- */

/* The path to load in a folder of the peer's own, which `paths` (of path_count + 1 entries) then shows it. */
static bool make_inbox(kf_peer *peer, const kf_peer_spec *spec, kf_sandbox_path *paths, kf_error *error)
{
    if (!(peer->inbox = kf_directory_temporary("kforge-runner", error))) return false;
    if (!(peer->binary = kf_path_join(peer->inbox, "candidate.so"))) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    memcpy(paths, spec->paths, spec->path_count * sizeof *paths);
    paths[spec->path_count] = (kf_sandbox_path){peer->inbox, KF_PATH_READ | KF_PATH_EXEC, false};
    return true;
}

kf_peer *kf_peer_spawn(const kf_peer_spec *spec, kf_error *error)
{
    kf_auto(kf_peer) peer = calloc(1, sizeof *peer);
    kf_autofree kf_sandbox_path *paths = calloc(spec->path_count + 1, sizeof *paths);
    int pair[2];
    if (!peer || !paths) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for a runner");
        if (peer) peer->socket = -1;
        return NULL;
    }
    peer->socket = -1;
    peer->stop = spec->stop;
    peer->kind = spec->kind;
    peer->at_launcher = spec->at_launcher;
    peer->wakeful = spec->wakeful;
    peer->hold.launcher = spec->launcher;
    peer->memory_limit = spec->limits.memory_bytes;
    peer->start_seconds = spec->start_seconds > 0 ? spec->start_seconds : COMMAND_SECONDS;
    if (!spec->binary && !make_inbox(peer, spec, paths, error)) return NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        kf_fail(error, KF_ERROR_MACHINE, "socketpair: %s", strerror(errno));
        return NULL;
    }
    peer->socket = pair[0];
    const char *argv[MOST_WORDS + 3] = {spec->program};
    size_t words = 1;
    for (const char *const *word = spec->arguments; word && *word && words <= MOST_WORDS; word++) argv[words++] = *word;
    argv[words] = spec->binary ? spec->binary : peer->binary;
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
    peer->sandbox = kf_sandbox_spawn(&sandbox, error);
    close(pair[1]);
    if (!peer->sandbox) {
        kf_fail_prefix(error, "runner");
        return NULL;
    }
    return kf_steal(&peer);
}

void kf_peer_pause(kf_peer *peer)
{
    kf_wire_answer hello;
    if (peer->greeted || peer->dead || peer->paused) return;
    if (recv(peer->socket, &hello, sizeof hello, MSG_DONTWAIT | MSG_PEEK) == sizeof hello)
        kf_peer_greet(peer, NULL);
    else
        peer->paused = kf_sandbox_freeze(peer->sandbox, NULL);
}

void kf_peer_resume(kf_peer *peer)
{
    if (peer->paused && !peer->dead) kf_sandbox_thaw(peer->sandbox, NULL);
    peer->paused = false;
}

bool kf_peer_greet(kf_peer *peer, kf_error *error)
{
    kf_wire_answer hello;
    kf_sandbox_census census;
    if (peer->greeted) return true;
    kf_peer_resume(peer);
    kf_patience patience;
    kf_patience_begin(&patience, peer->start_seconds, kf_now());
    kf_peer_event event = await(peer, 0, &patience, &hello);
    event = only_good(peer, event, &hello);
    if (event == KF_PEER_OK && kf_sandbox_take_census(peer->sandbox, &census, NULL)) {
        peer->honest_threads = census.threads;
        peer->honest_who = census.who;
    }
    if (event == KF_PEER_OK) event = freeze(peer);
    peer->greeted = event == KF_PEER_OK;
    if (peer->greeted) return true;
    if (event == KF_PEER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    if (event == KF_PEER_MACHINE) return kf_fail_copy(error, &peer->error);
    kf_peer_explanation why;
    kf_autofree char *said = kf_peer_output(peer, 2000);
    kf_peer_explain(peer, event, "starting", &why);
    return kf_fail(error, KF_ERROR_MACHINE, "the runner does not start: %s%s%s", why.text, said ? ": " : "", said ? said : "");
}

kf_peer *kf_peer_start(const kf_peer_spec *spec, kf_error *error)
{
    kf_auto(kf_peer) peer = kf_peer_spawn(spec, error);
    return peer && kf_peer_greet(peer, error) ? kf_steal(&peer) : NULL;
}

/* A copy, not a link: what the runner sees must not be the file that others load. */
bool kf_peer_give(kf_peer *peer, const char *binary, kf_error *error)
{
    size_t size;
    kf_autofree char *data = kf_file_read(binary, KF_BINARY_BYTES, &size, error);
    return data && kf_peer_give_text(peer, data, size, error);
}

bool kf_peer_give_text(kf_peer *peer, const char *text, size_t size, kf_error *error)
{
    kf_autoclose int fd = open(peer->binary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0 && kf_write_all(fd, text, size)) return true;
    return kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", peer->binary, strerror(errno));
}

const char *kf_peer_inbox(const kf_peer *peer)
{
    return peer->inbox;
}

kf_runner_kind kf_peer_kind(const kf_peer *peer)
{
    return peer->kind;
}

bool kf_peer_is_open(const kf_peer *peer)
{
    return peer->open;
}

void kf_peer_attach(kf_peer *peer, void *data, void (*release)(void *data))
{
    peer->attachment = data;
    peer->release = release;
}

void *kf_peer_attachment(const kf_peer *peer)
{
    return peer->attachment;
}

void kf_peer_obey(kf_peer *peer, const volatile int *stop)
{
    peer->stop = stop;
}

void kf_peer_hurry(kf_peer *peer, double deadline)
{
    peer->deadline = deadline;
    kf_patience_begin(&peer->hurry, COMMAND_SECONDS, kf_now());
    peer->stopping = 0;
    kf_patience_watch(&peer->hurry, kf_sandbox_pid(peer->sandbox));
}

double kf_peer_dawdled(const kf_peer *peer)
{
    return peer->deadline ? peer->hurry.used + peer->stopping : 0;
}

uint64_t kf_peer_calls(const kf_peer *peer)
{
    return peer->calls;
}

void kf_peer_doom(kf_peer *peer)
{
    if (!peer) return;
    peer->dead = true;
    kf_sandbox_doom(peer->sandbox);
}

void kf_peer_free(kf_peer *peer)
{
    if (!peer) return;
    kf_sandbox_free(peer->sandbox);
    if (peer->attachment) peer->release(peer->attachment);
    if (peer->socket >= 0) close(peer->socket);
    if (peer->inbox) kf_directory_remove(peer->inbox, NULL);
    free(peer->inbox);
    free(peer->binary);
    free(peer);
}

/* ---- commands ----------------------------------------------------------------------------------------------------------------------------- */

kf_peer_event kf_peer_load(kf_peer *peer, double seconds)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_LOAD};
    kf_peer_event event = wake(peer);
    if (event == KF_PEER_OK) event = ask(peer, &command, NULL, 0, -1, seconds, &answer);
    if (event == KF_PEER_OK) event = freeze(peer);
    if (event == KF_PEER_OK && answer.result != KF_WIRE_OK) event = end(peer, KF_PEER_REFUSED);
    peer->open = event == KF_PEER_OK && peer->kind == KF_RUNNER_COMPILED && !kf_sandbox_settle(peer->sandbox);
    return event;
}

kf_peer_event kf_peer_scalars(kf_peer *peer, const uint64_t *values, uint32_t count)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_SCALARS, .count = count};
    kf_peer_event event = wake(peer);
    if (event == KF_PEER_OK) event = only_good(peer, ask_shortly(peer, &command, values, count * sizeof *values, &answer), &answer);
    if (event == KF_PEER_OK) event = freeze(peer);
    return event;
}

/* Many at a time, because each would wait for an answer otherwise. */
kf_peer_event kf_peer_map(kf_peer *peer, const kf_peer_buffer *buffers, size_t count)
{
    enum { AHEAD = 32 }; /* so that neither side's messages fill the socket */
    kf_peer_event event = wake(peer);
    for (size_t first = 0; first < count && event == KF_PEER_OK; first += AHEAD) {
        size_t some = count - first < AHEAD ? count - first : AHEAD;
        uint64_t nonces[AHEAD];
        kf_patience own, *patience = be_patient(peer, &own);
        if (!kf_random(nonces, sizeof nonces)) return kf_peer_fail(peer, "the kernel's random source (getrandom) refuses");
        for (size_t i = 0; i < some && event == KF_PEER_OK; i++) {
            const kf_peer_buffer *b = &buffers[first + i];
            kf_wire_command command = {.magic = KF_WIRE_MAGIC,
                                       .type = KF_WIRE_MAP,
                                       .nonce = nonces[i],
                                       .flags = (b->read_only ? KF_WIRE_READ_ONLY : 0) | (b->ledger ? KF_WIRE_LEDGER : 0) |
                                                (b->arena ? KF_WIRE_ARENA : 0),
                                       .set = b->set,
                                       .argument = b->argument,
                                       .offset = b->offset,
                                       .length = b->length,
                                       .data_offset = b->data_offset,
                                       .bytes = b->bytes,
                                       .region_bytes = b->region_bytes,
                                       .address = b->address,
                                       .region = b->region};
            event = send_all(peer, &command, sizeof command, b->fd, patience);
        }
        for (size_t i = 0; i < some && event == KF_PEER_OK; i++) {
            kf_wire_answer answer;
            event = await(peer, nonces[i], patience, &answer);
            if (event == KF_PEER_OK && answer.result != KF_WIRE_OK) event = end(peer, KF_PEER_REFUSED);
        }
    }
    return event == KF_PEER_OK ? freeze(peer) : event;
}

kf_peer_event kf_peer_fail(kf_peer *peer, const char *words)
{
    kf_fail(&peer->error, KF_ERROR_MACHINE, "%s", words);
    return end(peer, KF_PEER_MACHINE);
}

kf_peer_event kf_peer_unmap(kf_peer *peer)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_UNMAP};
    kf_peer_event event = wake(peer);
    if (event == KF_PEER_OK) event = only_good(peer, ask_shortly(peer, &command, NULL, 0, &answer), &answer);
    return event == KF_PEER_OK ? freeze(peer) : event;
}

/* What the process has spent on processors, all threads together. */
static double processor_seconds(const kf_peer *peer)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(kf_sandbox_pid(peer->sandbox), &clock) || clock_gettime(clock, &t)) return NAN;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Binds this thread to the first processor that it may use. */
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

static kf_peer_event run_batch(kf_peer *peer, kf_batch *batch)
{
    kf_wire_answer answer;
    kf_wire_command ping = {.type = KF_WIRE_PING, .flags = batch->keep ? 0 : KF_WIRE_FORGET};
    kf_wire_command command = {.type = KF_WIRE_BATCH, .count = batch->count, .flags = batch->null ? KF_WIRE_NULL : 0};
    batch->code = 0;
    /* Waking takes a runner a while; the ping keeps that out of the time. A candidate's signal handler may run there, on inputs that are ready: the
     * caller is told how long it took. */
    kf_patience patience;
    kf_patience_begin(&patience, batch->timeout, kf_now());
    kf_patience_watch(&patience, kf_sandbox_pid(peer->sandbox)); /* before anything of it is timed */
    double spent = processor_seconds(peer), woken_at = kf_now();
    /* Nor does the judge sleep meanwhile, where it will not behind the ping: a processor that comes out of deep sleep is slow for a while. */
    if (batch->answered) peer->awake_until = woken_at + PING_SPIN_SECONDS;
    kf_peer_event event = wake(peer);
    if (event == KF_PEER_OK) event = only_good(peer, ask_shortly(peer, &ping, NULL, 0, &answer), &answer);
    peer->awake_until = 0;
    if (event != KF_PEER_OK) return event;
    if (!batch->null) peer->calls += batch->count;
    double worked = processor_seconds(peer) - spent, started = kf_now();
    batch->waking = started - woken_at;
    batch->worked = worked;
    peer->awake_until = batch->answered ? started + SPIN_SECONDS : 0;
    patience.looked = started;
    event = ask_patiently(peer, &command, batch->order, batch->count * sizeof *batch->order, -1, &patience, &answer);
    peer->awake_until = 0;
    batch->stalled = patience.stalled;
    if (batch->answered) batch->seconds = kf_now() - started;
    if (batch->answered && event == KF_PEER_OK) batch->answered(batch->context);
    double stopping = peer->stopping;
    if (event == KF_PEER_OK) event = freeze(peer);
    if (!batch->answered) {
        batch->seconds = kf_now() - started; /* only now nothing of it can run any more */
        peer->stopping = stopping;
    }
    if (event != KF_PEER_OK) return event;
    batch->claimed = answer.claimed_seconds;
    batch->gap = answer.gap_seconds;
    if (answer.result == KF_WIRE_OK) return KF_PEER_OK;
    if (answer.result != KF_WIRE_DEVICE_ERROR || !answer.code) return end(peer, KF_PEER_FORGED);
    batch->code = answer.code;
    return KF_PEER_DEVICE_ERROR;
}

/* On the CPU device the thread that launches goes to the first processor (kfcpu_ready), and the judge, which waits while that works, goes there, too: what
 * one hands the other is then a matter of microseconds, where elsewhere a processor that sleeps has to wake up, or one that is busy to come round. */
kf_peer_event kf_peer_batch(kf_peer *peer, kf_batch *batch)
{
    cpu_set_t before;
    bool moved = peer->at_launcher && go_to_launcher(&before);
    bool bound = batch->answered && peer->frozen && kf_hold_bind(&peer->hold, kf_sandbox_pid(peer->sandbox));
    kf_peer_event event = run_batch(peer, batch);
    if (event == KF_PEER_OK && batch->answered) {
        if (!peer->deadline) kf_wakeful_note(peer->wakeful, batch->waking); /* no candidate has a say in it */
        kf_wakeful_keep(peer->wakeful);
        if (bound) kf_hold_free_threads(&peer->hold, kf_sandbox_pid(peer->sandbox));
        if (bound && kf_hold_left(&peer->hold, kf_sandbox_pid(peer->sandbox))) event = end(peer, KF_PEER_MOVED);
    }
    if (moved) sched_setaffinity(0, sizeof before, &before);
    return event;
}

kf_peer_event kf_peer_count(kf_peer *peer, uint32_t set, uint32_t passes, double seconds, kf_count_header *header,
                            kf_count_launch *launches)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_COUNT, .set = set, .count = passes};
    kf_patience patience;
    kf_patience_begin(&patience, seconds, kf_now());
    kf_peer_event event = wake(peer);
    if (event == KF_PEER_OK) event = ask_patiently(peer, &command, NULL, 0, -1, &patience, &answer);
    if (event == KF_PEER_OK && answer.result != KF_WIRE_OK) return end(peer, KF_PEER_REFUSED);
    if (event == KF_PEER_OK) event = receive(peer, header, sizeof *header, &patience);
    if (event == KF_PEER_OK && (header->magic != KF_WIRE_MAGIC || header->launches > KF_COUNT_LAUNCHES))
        event = end(peer, KF_PEER_FORGED);
    if (event == KF_PEER_OK) event = receive(peer, launches, header->launches * sizeof *launches, &patience);
    return event == KF_PEER_OK ? freeze(peer) : event;
}

int kf_peer_extra_threads(kf_peer *peer)
{
    kf_sandbox_census census;
    if (peer->dead || !kf_sandbox_take_census(peer->sandbox, &census, NULL)) return -1;
    int extra = census.threads - peer->honest_threads + census.processes;
    return extra == 0 && census.who != peer->honest_who ? 1 : extra; /* as many, but others: one that was there had to go */
}

pid_t kf_peer_pid(const kf_peer *peer)
{
    return kf_sandbox_pid(peer->sandbox);
}

int kf_peer_layers(const kf_peer *peer)
{
    return kf_sandbox_layers(peer->sandbox);
}

/* ---- words ---------------------------------------------------------------------------------------------------------------------------------- */

char *kf_peer_output(const kf_peer *peer, size_t most)
{
    if (!peer->dead) kf_sandbox_pump(peer->sandbox, 0); /* an answer may have come before what was printed ahead of it was read */
    const kf_buffer *output = kf_sandbox_output(peer->sandbox);
    if (!output || !output->size) return NULL;
    size_t first = output->size > most ? output->size - most : 0;
    return kf_text_clean(output->data + first, output->size - first, false);
}

const kf_error *kf_peer_error(const kf_peer *peer)
{
    return &peer->error;
}

static void explain_end(const kf_peer *peer, const char *doing, kf_peer_explanation *e)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(peer->sandbox);
    char words[256];
    kf_sandbox_describe(result, words, sizeof words);
    e->status = KF_CRASH;
    e->rule = "runner.crashed";
    if (result->end == KF_END_MEMORY) e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    if (result->end == KF_END_CPU || result->end == KF_END_WALL) e->status = KF_TIMEOUT, e->rule = "time.limit";
    if (result->end == KF_END_EXITED) e->rule = "runner.exited";
    /* Where no cgroup counts, an allocation fails at the limit, and the program falls over that. */
    if (result->end == KF_END_SIGNAL && peer->memory_limit && result->peak_memory_bytes > peer->memory_limit / 10 * 9)
        e->status = KF_OUT_OF_MEMORY, e->rule = "memory.limit";
    snprintf(e->text, sizeof e->text, "the process ended while %s: %s", doing, words);
}

void kf_peer_explain(const kf_peer *peer, kf_peer_event event, const char *doing, kf_peer_explanation *e)
{
    static const struct {
        kf_status status;
        const char *rule, *text;
    } table[] = {
        [KF_PEER_OK] = {KF_CORRECT, "", ""},
        [KF_PEER_CLOSED] = {KF_CONTRACT_VIOLATION, "protocol.closed", "the process closed the judge's connection while"},
        [KF_PEER_TIMEOUT] = {KF_TIMEOUT, "time.limit", "no end in time while"},
        [KF_PEER_FORGED] = {KF_CHEATING, "protocol.forged", "an answer was written that the runner did not give, while"},
        [KF_PEER_WOKEN] = {KF_CHEATING, "runner.woken", "the process was made to run while the judge had stopped it, after"},
        [KF_PEER_MOVED] = {KF_CONTRACT_VIOLATION, "runner.moved",
                           "the thread that launches was bound to other processors than the one that it is to launch from, while"},
        [KF_PEER_REFUSED] = {KF_LAUNCH_FAILURE, "load.failed", "the runner can't go on while"},
        [KF_PEER_DEVICE_ERROR] = {KF_LAUNCH_FAILURE, "device.error", "the device reports an error after"},
        [KF_PEER_STOPPED] = {KF_JUDGE_ERROR, "interrupted", "interrupted while"},
        [KF_PEER_MACHINE] = {KF_JUDGE_ERROR, "machine", "the machine failed while"},
    };
    if (event == KF_PEER_ENDED) {
        explain_end(peer, doing, e);
        return;
    }
    e->status = table[event].status;
    e->rule = table[event].rule;
    snprintf(e->text, sizeof e->text, "%s %s%s%.300s", table[event].text, doing, event == KF_PEER_MACHINE ? ": " : "",
             event == KF_PEER_MACHINE ? peer->error.text : "");
}
