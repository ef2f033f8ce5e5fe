/* Commands to a runner, and its answers: nonces, time limits, forged answers. */
#include "runner_process_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "kforge/file.h"

/* The least timeout of these commands after the deadline. */
#define LATE_SECONDS 0.5

kf_runner_event kf_runner_end(kf_runner *runner, kf_runner_event event)
{
    runner->dead = true;
    kf_sandbox_kill(runner->sandbox);
    return event;
}

kf_runner_event kf_runner_fail(kf_runner *runner, const char *words)
{
    kf_fail(&runner->error, KF_ERROR_MACHINE, "%s", words);
    return kf_runner_end(runner, KF_RUNNER_MACHINE);
}

kf_runner_event kf_runner_receive(kf_runner *runner, void *data, size_t size,
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
            if (kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS))
                return kf_runner_end(runner, KF_RUNNER_ENDED);
            return kf_runner_end(runner, KF_RUNNER_CLOSED);
        }
        if (runner->look.batch && kf_now() >= runner->look.began + runner->look.after) {
            kf_runner_look_at_maps(runner);
            continue;
        }
        if (runner->awake_until > 0 && kf_now() < runner->awake_until) continue;
        if (runner->stop && *runner->stop) return kf_runner_end(runner, KF_RUNNER_STOPPED);
        if (!kf_runner_timeout_look(runner_timeout, kf_sandbox_pid(runner->sandbox), kf_now()))
            return kf_runner_end(runner, KF_RUNNER_TIMEOUT);
        struct pollfd watched[2] = {
            {.fd = runner->socket, .events = POLLIN},
            {.fd = kf_sandbox_descriptor(runner->sandbox), .events = POLLIN}};
        int sleep = kf_runner_timeout_sleep(runner_timeout);
        double due = runner->look.began + runner->look.after - kf_now();
        if (runner->look.batch) sleep = (int)fmin(sleep, fmax(1e3 * due, 0));
        if (poll(watched, 2, sleep) < 0 && errno != EINTR) {
            kf_fail(&runner->error, KF_ERROR_MACHINE, "poll: %s", strerror(errno));
            return kf_runner_end(runner, KF_RUNNER_MACHINE);
        }
        if (watched[1].revents && kf_sandbox_pump(runner->sandbox, 0)) {
            /* It has ended. The judge needs no answer of a dead runner, even if one was sent. */
            return kf_runner_end(runner, KF_RUNNER_ENDED);
        }
    }
    return KF_RUNNER_OK;
}

kf_runner_event kf_runner_send(kf_runner *runner, const void *data, size_t size, int fd,
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
            if (kf_sandbox_pump(runner->sandbox, 0)) return kf_runner_end(runner, KF_RUNNER_ENDED);
            if (!kf_runner_timeout_look(runner_timeout, kf_sandbox_pid(runner->sandbox), kf_now()))
                return kf_runner_end(runner, KF_RUNNER_TIMEOUT);
            poll(&watched, 1, 20);
            continue;
        }
        int refused = sent < 0 ? errno : EPIPE;
        if (kf_sandbox_pump(runner->sandbox, KF_RUNNER_ENDING_SECONDS))
            return kf_runner_end(runner, KF_RUNNER_ENDED);
        if (refused == EPIPE || refused == ECONNRESET)
            return kf_runner_end(runner, KF_RUNNER_CLOSED);
        /* The kernel limits the descriptors in flight of all processes of a user together. */
        kf_fail(&runner->error, KF_ERROR_MACHINE, "cannot send a message to a runner: %s",
                strerror(refused));
        return kf_runner_end(runner, KF_RUNNER_MACHINE);
    }
    return KF_RUNNER_OK;
}

kf_runner_event kf_runner_await(kf_runner *runner, uint64_t nonce,
                                kf_runner_timeout *runner_timeout, kf_wire_answer *answer)
{
    kf_runner_event event = kf_runner_receive(runner, answer, sizeof *answer, runner_timeout);
    if (event != KF_RUNNER_OK) return event;
    if (answer->magic != KF_WIRE_MAGIC || answer->nonce != nonce ||
        answer->result > KF_WIRE_BAD_COMMAND)
        return kf_runner_end(runner, KF_RUNNER_FORGED);
    return KF_RUNNER_OK;
}

kf_runner_event kf_runner_only_good(kf_runner *runner, kf_runner_event event,
                                    const kf_wire_answer *answer)
{
    return event == KF_RUNNER_OK && answer->result != KF_WIRE_OK
               ? kf_runner_end(runner, KF_RUNNER_FORGED)
               : event;
}

kf_runner_event kf_runner_request(kf_runner *runner, kf_wire_command *command, const void *payload,
                                  size_t size, int fd, kf_runner_timeout *runner_timeout)
{
    command->magic = KF_WIRE_MAGIC;
    if (!kf_random(&command->nonce, sizeof command->nonce)) {
        kf_fail(&runner->error, KF_ERROR_MACHINE, "the kernel's random source (getrandom) refuses");
        return kf_runner_end(runner, KF_RUNNER_MACHINE);
    }
    kf_runner_event event = kf_runner_send(runner, command, sizeof *command, fd, runner_timeout);
    if (event == KF_RUNNER_OK && size)
        event = kf_runner_send(runner, payload, size, -1, runner_timeout);
    return event;
}

kf_runner_event kf_runner_ask_within(kf_runner *runner, kf_wire_command *command,
                                     const void *payload, size_t size, int fd,
                                     kf_runner_timeout *runner_timeout, kf_wire_answer *answer)
{
    kf_runner_event event = kf_runner_request(runner, command, payload, size, fd, runner_timeout);
    return event == KF_RUNNER_OK ? kf_runner_await(runner, command->nonce, runner_timeout, answer)
                                 : event;
}

kf_runner_event kf_runner_ask(kf_runner *runner, kf_wire_command *command, const void *payload,
                              size_t size, int fd, double seconds, kf_wire_answer *answer)
{
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, seconds, kf_now());
    kf_runner_timeout_watch(&runner_timeout, kf_sandbox_pid(runner->sandbox));
    return kf_runner_ask_within(runner, command, payload, size, fd, &runner_timeout, answer);
}

kf_runner_timeout *kf_runner_command_timeout(kf_runner *runner, kf_runner_timeout *own)
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

kf_runner_event kf_runner_ask_command(kf_runner *runner, kf_wire_command *command,
                                      const void *payload, size_t size, kf_wire_answer *answer)
{
    kf_runner_timeout own;
    return kf_runner_ask_within(runner, command, payload, size, -1,
                                kf_runner_command_timeout(runner, &own), answer);
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
