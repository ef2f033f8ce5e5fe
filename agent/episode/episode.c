/* The life of an episode: folder, jail, limits, end. */
#include "episode.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "episode_internal.h"
#include "kforge/file.h"

/* seconds between SIGTERM and SIGKILL */
#define GRACE 5.0
#define READ_BYTES 65536
/* reads of one step */
#define READS 16
/* bytes of stdout after which the agent is ended */
#define MAX_STREAM (256ull << 20)
/* bytes of stderr in an error */
#define SHOWN_ERROR 400

struct kf_episode {
    kf_episode_settings settings;
    kf_episode_folder folder;
    kf_episode_server server;
    kf_episode_stream stream;
    kf_sandbox *jail;
    /* the agent's stdout; -1: closed */
    int output;
    double started;
    /* kf_now of SIGKILL; 0: not ending */
    double kill_at;
    bool ended;
    /* why kforge ended it; "": it ended by itself */
    char why[128];
};

/* Returns a read-only file in memory with what the agent reads on stdin. */
static int input_file(const kf_episode_files *files, kf_error *error)
{
    kf_autoclose int fd = memfd_create("task", MFD_CLOEXEC);
    bool written = fd >= 0 && kf_write_all(fd, files->rules, strlen(files->rules)) &&
                   kf_write_all(fd, "\n\n", 2) &&
                   kf_write_all(fd, files->task, strlen(files->task));
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reading = written ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (reading < 0)
        kf_fail(error, KF_ERROR_MACHINE, "an episode: no file in memory: %s", strerror(errno));
    return reading;
}

static bool start(kf_episode *e, const kf_episode_files *files, kf_error *error)
{
    int output[2];
    if (!kf_episode_check(&e->settings, error) ||
        !kf_episode_folder_make(&e->folder, &e->settings, files, error) ||
        !kf_episode_server_open(&e->server, e->folder.socket, error))
        return false;
    kf_autoclose int input = input_file(files, error);
    if (input < 0) return false;
    if (pipe2(output, O_CLOEXEC) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "an episode: no pipe: %s", strerror(errno));
    kf_autoclose int writing = output[1];
    e->output = output[0];
    fcntl(e->output, F_SETFL, O_NONBLOCK);
    e->started = kf_now();
    e->server.deadline = e->started + e->settings.seconds;
    e->jail = kf_episode_jail(&e->folder, &e->settings, input, writing, error);
    return e->jail;
}

kf_episode *kf_episode_start(const kf_episode_settings *settings, const kf_episode_files *files,
                             kf_error *error)
{
    kf_episode *e = calloc(1, sizeof *e);
    if (!e) return kf_fail_memory(error, "an episode"), NULL;
    *e = (kf_episode){.settings = *settings,
                      .output = -1,
                      .server = {.listener = -1},
                      .stream.usage = kf_episode_no_usage};
    for (size_t i = 0; i < KF_EPISODE_CONNECTIONS; i++) e->server.connections[i].fd = -1;
    e->server.settings = &e->settings;
    if (start(e, files, error)) return e;
    kf_episode_free(e);
    return NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void read_stream(kf_episode *e, int reads)
{
    char data[READ_BYTES];
    for (int i = 0; i < reads && e->output >= 0; i++) {
        ssize_t size = read(e->output, data, sizeof data);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return;
        if (size > 0) {
            kf_episode_stream_take(&e->stream, data, (size_t)size);
        } else {
            close(e->output);
            e->output = -1;
        }
    }
}

/* Ends the agent at the first limit that it has reached. */
static void watch_limits(kf_episode *e, double now)
{
    if (kf_episode_server_left(&e->server, now) <= 0)
        kf_episode_end(e, "the time of the episode is used up", true);
    else if (*e->server.account.overspent)
        kf_episode_end(e, e->server.account.overspent, true);
    else if (e->stream.dropped > MAX_STREAM)
        kf_episode_end(e, "the agent wrote more than 256 MiB to stdout", true);
}

void kf_episode_end(kf_episode *e, const char *why, bool patient)
{
    if (e->ended) return;
    if (!e->kill_at) {
        snprintf(e->why, sizeof e->why, "%s", why);
        e->kill_at = kf_now() + GRACE;
        if (patient) kf_sandbox_terminate(e->jail);
    }
    if (patient) return;
    e->kill_at = kf_now();
    kf_sandbox_begin_kill(e->jail);
}

kf_episode_usage kf_episode_spent(const kf_episode *e)
{
    return kf_episode_stream_usage(&e->stream);
}

bool kf_episode_step(kf_episode *e)
{
    if (e->ended) return true;
    read_stream(e, READS);
    kf_episode_server_step(&e->server);
    double now = kf_now();
    if (!e->kill_at) watch_limits(e, now);
    if (e->kill_at && now >= e->kill_at) kf_sandbox_begin_kill(e->jail);
    if (!kf_sandbox_pump(e->jail, 0)) return false;
    /* All writers are gone, so this reads what is left in the pipe. */
    read_stream(e, MAX_STREAM / READ_BYTES);
    e->ended = true;
    return true;
}

size_t kf_episode_watch(const kf_episode *e, struct pollfd *fds, size_t most, double *wake)
{
    size_t count = 0;
    if (e->ended) return *wake = fmin(*wake, kf_now()), 0;
    /* An answer comes through kf_episode_answer, and the caller then steps. */
    double deadline = e->server.open_since ? INFINITY : e->server.deadline;
    *wake = fmin(*wake, e->kill_at ? e->kill_at : deadline);
    if (count < most)
        fds[count++] = (struct pollfd){.fd = kf_sandbox_descriptor(e->jail), .events = POLLIN};
    if (count < most && e->output >= 0)
        fds[count++] = (struct pollfd){.fd = e->output, .events = POLLIN};
    return count + kf_episode_server_watch(&e->server, fds + count, most - count);
}

void kf_episode_pause(kf_episode *e)
{
    struct pollfd fds[KF_EPISODE_CONNECTIONS + 3];
    double wake = kf_now() + 0.1;
    size_t count = kf_episode_watch(e, fds, sizeof fds / sizeof *fds, &wake);
    double left = wake - kf_now();
    poll(fds, count, left > 0 ? (int)(left * 1000) + 1 : 0);
}

bool kf_episode_next(kf_episode *e, kf_episode_question *question)
{
    return !e->ended && !e->kill_at && kf_episode_server_next(&e->server, question);
}

void kf_episode_answer(kf_episode *e, int64_t id, const char *json, double device_seconds,
                       double judging_seconds, const char *reason)
{
    kf_episode_server_answer(&e->server, id, json, device_seconds, judging_seconds, reason);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Says how the agent ended, for the stored line and for errors. */
static void describe_end(const kf_episode *e, char *text, size_t size)
{
    char end[128];
    kf_sandbox_describe(kf_sandbox_outcome(e->jail), end, sizeof end);
    snprintf(text, size, "%s", *e->why ? e->why : end);
}

bool kf_episode_take(kf_episode *e, kf_episode_result *result, kf_error *error)
{
    char ended[160];
    size_t size = 0;
    *result = (kf_episode_result){.seconds = kf_now() - e->started,
                                  .waited_seconds = e->server.account.waited_seconds};
    const kf_sandbox_result *end = kf_sandbox_outcome(e->jail);
    const kf_buffer *errors = kf_sandbox_output(e->jail);
    describe_end(e, ended, sizeof ended);
    kf_autofree char *candidate = kf_episode_folder_candidate(&e->folder, &size, &result->why);
    result->changed = candidate && strcmp(candidate, e->folder.candidate) != 0;
    bool in_order = *e->why || (end->end == KF_END_EXITED && end->status == 0);
    result->failed = !result->changed && (!candidate || !in_order);
    if (result->failed && candidate)
        kf_fail(&result->why, KF_ERROR_IO,
                "the agent ended with %s and left candidate.cu as it was; it wrote to stderr: %.*s",
                ended, SHOWN_ERROR, errors->data ? errors->data : "(nothing)");
    result->text = kf_episode_stream_close(&e->stream, ended, &e->server.account, e->server.turns,
                                           result->changed ? candidate : NULL, &result->size);
    result->usage = kf_episode_stream_usage(&e->stream);
    return result->text || kf_fail_memory(error, "the text of an episode");
}

void kf_episode_free(kf_episode *e)
{
    if (!e) return;
    kf_sandbox_free(e->jail);
    kf_episode_server_close(&e->server);
    if (e->output >= 0) close(e->output);
    kf_episode_stream_free(&e->stream);
    kf_episode_folder_remove(&e->folder);
    free(e);
}
