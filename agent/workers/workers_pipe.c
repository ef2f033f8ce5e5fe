/* A worker that is a child process: jobs go to its stdin as lines, verdicts come from its stdout.
 * The end of its stderr is kept for messages.
 *
 *   down ──start──► starting ──hello──► idle ◄──last verdict── busy
 *    ▲                                    └──────job──────►
 *    └── failed: it ended, wrote an invalid answer, or took too long
 * A failed worker is killed, reaped and started again after a pause. The pause doubles each time.
 *
 * A job may be larger than a pipe holds, and a worker may not read. So both pipes are non-blocking,
 * and the job is written in parts. Before the hello a few lines that are not JSON are skipped,
 * because login shells print banners. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api_key.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/run_capture.h"
#include "worker_protocol.h"
#include "workers_internal.h"

#define READ_BYTES 65536
/* Bytes of stderr kept. */
#define TAIL_BYTES 400
#define BANNER_LINES 200
/* Limit for `local`. A command may wait in a batch queue. */
#define HELLO_SECONDS 120
/* How often to look for the end of a process if the kernel has no pidfd (before Linux 5.3). */
#define POLL_SECONDS 0.02
#define FIRST_PAUSE 0.1
/* Time for a command that is given up to end by itself. srun needs the KillWait of Slurm. */
#define DISMISSED_SECONDS 60
/* The same once the workers are closed, and the least of it after SIGTERM. */
#define COMMAND_CLOSE_SECONDS 10
#define COMMAND_END_SECONDS 1
/* Time for a worker to stop its only job, which was cancelled. */
#define CANCEL_SECONDS 20
/* Time for a killed worker to end. */
#define END_SECONDS 5

typedef enum pipe_state { DOWN, STARTING, IDLE, BUSY } pipe_state;

/* A command that was asked to end. pid 0: there is no such command. */
struct dismissed {
    pid_t pid;
    int out, err;
    double until;
};

/* The end of its stderr. */
struct tail {
    char text[TAIL_BYTES + 1];
    size_t size;
};

typedef struct pipe_channel {
    kf_channel channel;
    /* command NULL: local. */
    char *command, *program, *device;
    double grace;
    pipe_state state;
    /* 0: no process. Also its process group. */
    pid_t pid;
    int pidfd, in, out, err;
    double restart_at, deadline;
    /* When it counts as lost without a line. 0: never, because it has no job or writes no signs of
     * life. */
    double silent_at;
    /* What it did then, for messages. */
    char doing[64];
    /* The jobs of the worker, in the order sent. */
    kf_pending *jobs;
    size_t job_count;
    /* Bytes sent of the last job's line. Earlier jobs are sent whole. */
    size_t written;
    /* Lines that cancel jobs, to be sent once the last job's line is sent. */
    kf_buffer cancels;
    kf_buffer line;
    size_t looked;
    int banner_lines;
    struct tail tail;
    /* True once the workers are closed. A command that still runs at `deadline` is then killed. */
    bool closing;
    struct dismissed dismissed;
} pipe_channel;

/* ---- starting -------------------------------------------------------------------------------- */

/* Returns the environment for a local worker, without variables that look like secrets: a judge
 * needs no keys. The array is malloc'd, its texts are those of environ. */
static char **without_secrets(void)
{
    static const char *const marks[] = {"API_KEY", "APIKEY",   "TOKEN",
                                        "SECRET",  "PASSWORD", "CREDENTIAL"};
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **clean = calloc(count + 1, sizeof *clean);
    for (size_t i = 0; clean && i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
        bool secret = false;
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            secret |= strcasestr(name, marks[k]) != NULL;
        if (!secret) clean[kept++] = environ[i];
    }
    return clean;
}

/* Becomes the worker. Runs between fork and exec, so it calls async-signal-safe functions only. */
static void exec_worker(const pipe_channel *p, pid_t parent, char *const *environment, int in,
                        int out, int err)
{
    kf_child_begin(parent, in, out, err);
    if (p->command) {
        char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, p->command, NULL};
        execve("/bin/sh", argv, environ);
    } else {
        char *const argv[] = {(char[]){"kforge"}, (char[]){"worker"},
                              p->device ? (char[]){"--device"} : NULL, p->device, NULL};
        execve(p->program ? p->program : "/proc/self/exe", argv, environment);
    }
    static const char message[] = "can't be executed\n";
    if (write(2, message, sizeof message - 1) < 0) _exit(126);
    _exit(127);
}

static bool make_pipe(int *read_end, int *write_end)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) return false;
    *read_end = fds[0];
    *write_end = fds[1];
    return true;
}

/* Takes a descriptor out of a variable that would close it. */
static int move_fd(int *fd)
{
    int kept = *fd;
    *fd = -1;
    return kept;
}

static bool start(pipe_channel *p, double now, kf_error *error)
{
    kf_autoclose int in_read = -1, in_write = -1, out_read = -1, out_write = -1, err_read = -1,
                     err_write = -1;
    if (!make_pipe(&in_read, &in_write) || !make_pipe(&out_read, &out_write) ||
        !make_pipe(&err_read, &err_write))
        return kf_fail(error, KF_ERROR_MACHINE, "no pipe: %s", strerror(errno));
    fcntl(in_write, F_SETFL, O_NONBLOCK);
    fcntl(out_read, F_SETFL, O_NONBLOCK);
    fcntl(err_read, F_SETFL, O_NONBLOCK);
    kf_autofree char **environment = without_secrets();
    if (!environment) return kf_fail_memory(error, "the environment of a worker");
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) return kf_fail(error, KF_ERROR_MACHINE, "no process: %s", strerror(errno));
    if (pid == 0) exec_worker(p, parent, environment, in_read, out_write, err_write);
    /* In both processes, because either may run first. */
    setpgid(pid, pid);
    p->pid = pid;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    p->in = move_fd(&in_write);
    p->out = move_fd(&out_read);
    p->err = move_fd(&err_read);
    p->state = STARTING;
    p->deadline = p->command ? 0 : now + HELLO_SECONDS;
    p->banner_lines = 0;
    p->tail.size = 0;
    p->looked = 0;
    return true;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool has_ended(const pipe_channel *p)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == p->pid;
}

/* Returns the wait status of a killed child. While a driver call hangs, even SIGKILL does not end
 * the child. It is then left to end later, and counts as failed. */
static int await_end(pid_t pid)
{
    int status;
    double until = kf_now() + END_SECONDS;
    for (pid_t got; (got = waitpid(pid, &status, WNOHANG)) != pid;) {
        if ((got < 0 && errno != EINTR) || kf_now() > until) return W_EXITCODE(3, 0);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return status;
}

/* Kills the group, then reaps its leader: until then the group's number is not reused. Returns the
 * wait status. */
static int kill_group(pid_t pid)
{
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    return await_end(pid);
}

/* True once all that inherited `out` are gone. Waits for that, at the latest until `until`. Drops
 * what they write, because a full pipe would keep them. */
static bool await_hangup(int out, int err, double until)
{
    struct pollfd polled[] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    char dropped[4096];
    for (;;) {
        double left = fmax(0, until - kf_now());
        int ready = poll(polled, 2, (int)(left * 1000));
        if (ready < 0 && errno != EINTR) return true;
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (!polled[i].revents) continue;
            if (polled[i].revents & POLLIN && read(polled[i].fd, dropped, sizeof dropped) > 0)
                continue;
            if (i == 0) return true;
            polled[i].fd = -1;
        }
        if (left <= 0) return false;
    }
}

/* Kills a dismissed command once all that inherited its output are gone, at the latest at its
 * deadline. */
static void end_dismissed(pipe_channel *p, double now)
{
    if (!p->dismissed.pid) return;
    if (!await_hangup(p->dismissed.out, p->dismissed.err, now) && kf_now() < p->dismissed.until)
        return;
    kill_group(p->dismissed.pid);
    p->dismissed.pid = 0;
    kf_close(&p->dismissed.out);
    kf_close(&p->dismissed.err);
}

/* Sends SIGTERM to a command that is given up, and lets it end while its successor runs. srun, ssh
 * and kubectl then end the worker on the other machine. Killed at once, srun leaves its job, which
 * holds the node. Its output stays open, because a closed one would end it. */
static void dismiss(pipe_channel *p)
{
    if (p->dismissed.pid) kill_group(p->dismissed.pid);
    kf_close(&p->dismissed.out);
    kf_close(&p->dismissed.err);
    kill(-p->pid, SIGTERM);
    p->dismissed = (struct dismissed){p->pid, p->out, p->err, kf_now() + DISMISSED_SECONDS};
    p->pid = 0;
    p->out = p->err = -1;
}

/* Ends the worker. Returns its wait status. */
static int reap(pipe_channel *p)
{
    int status = 0;
    if (p->pid && p->command && p->out >= 0 && !p->closing && !has_ended(p)) dismiss(p);
    if (p->pid) status = kill_group(p->pid);
    p->pid = 0;
    kf_close(&p->pidfd);
    kf_close(&p->in);
    kf_close(&p->out);
    kf_close(&p->err);
    kf_buffer_free(&p->line);
    kf_buffer_free(&p->cancels);
    p->looked = 0;
    p->silent_at = 0;
    p->state = DOWN;
    return status;
}

static const char *last_stderr_line(pipe_channel *p)
{
    while (p->tail.size &&
           (p->tail.text[p->tail.size - 1] == '\n' || p->tail.text[p->tail.size - 1] == '\r'))
        p->tail.size--;
    p->tail.text[p->tail.size] = '\0';
    const char *feed = strrchr(p->tail.text, '\n');
    return feed ? feed + 1 : p->tail.text;
}

static kf_pending *last_job(const pipe_channel *p)
{
    kf_pending *job = p->jobs;
    while (job && job->next) job = job->next;
    return job;
}

static kf_pending *take_job(pipe_channel *p, kf_pending *job)
{
    kf_pending **at = &p->jobs;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
    job->next = NULL;
    p->job_count--;
    return job;
}

/* Fails the channel. With several jobs, any of them may be the cause. */
static void fail(pipe_channel *p, bool wrong_machine, const kf_error *why)
{
    reap(p);
    kf_pending *culprit = p->job_count == 1 ? take_job(p, p->jobs) : NULL;
    /* Each goes to the front, so the first one goes last. */
    while (p->jobs) kf_pool_return(p->channel.pool, take_job(p, last_job(p)));
    kf_pool_failed(p->channel.pool, &p->channel, culprit, wrong_machine, why);
    double pause = FIRST_PAUSE * (double)(1 << (p->channel.failures > 8 ? 8 : p->channel.failures));
    p->restart_at = kf_now() + pause;
}

/* Gives the channel up because its machine failed too often. Others get its jobs. */
static void retire(pipe_channel *p)
{
    kf_error why = p->channel.why;
    reap(p);
    while (p->jobs) kf_pool_hand_back(p->channel.pool, take_job(p, last_job(p)));
    kf_pool_failed(p->channel.pool, &p->channel, NULL, true, &why);
}

/* True if a signal from outside ended the worker, and the job is no reason. 130 is the exit status
 * after an interruption. SIGKILL may come from the kernel because a job needs too much memory, so
 * it is forgiven KF_JOB_KILLS times. */
static bool ended_outside(kf_pending *job, int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status)
                 : WIFEXITED(status) ? WEXITSTATUS(status) - 128
                                     : 0;
    if (number == SIGKILL) return ++job->kills <= KF_JOB_KILLS;
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

static void fail_ended(pipe_channel *p)
{
    kf_error why;
    bool starting = p->state == STARTING;
    int status = reap(p);
    /* A shell repeats the command that it can't run. */
    kf_autofree char *clean = kf_api_keys_without(last_stderr_line(p), NULL);
    const char *words = clean ? clean : "", *comma = *words ? ": " : "";
    /* kforge itself reports the reason, and a new start would fail the same way. */
    bool final = !p->command && starting && WIFEXITED(status) && WEXITSTATUS(status) > 0 &&
                 strncmp(words, "kforge: ", 8) == 0;
    if (final) {
        kf_fail(&why, WEXITSTATUS(status) == 2 ? KF_ERROR_INPUT : KF_ERROR_MACHINE, "%s",
                words + 8);
        fail(p, true, &why);
        return;
    }
    if (WIFSIGNALED(status))
        kf_fail(&why, KF_ERROR_MACHINE, "it was ended by signal %d%s%s", WTERMSIG(status), comma,
                words);
    else
        kf_fail(&why, KF_ERROR_MACHINE, "it ended with status %d%s%s", WEXITSTATUS(status), comma,
                words);
    while (p->jobs && ended_outside(last_job(p), status))
        kf_pool_hand_back(p->channel.pool, take_job(p, last_job(p)));
    fail(p, false, &why);
}

/* ---- reading and writing --------------------------------------------------------------------- */

/* Writes like write(), but without SIGPIPE if the reader is gone. */
static ssize_t write_without_signal(int fd, const void *data, size_t size)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t written = write(fd, data, size);
    int number = errno;
    if (written < 0 && number == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return written;
}

static void write_job(pipe_channel *p)
{
    const kf_pending *job = last_job(p);
    while (job && p->written < job->size) {
        ssize_t size = write_without_signal(p->in, job->line + p->written, job->size - p->written);
        if (size < 0 && errno == EINTR) continue;
        /* The pipe is full, or the worker has ended or is about to. */
        if (size <= 0) return;
        p->written += (size_t)size;
    }
    while (p->cancels.size) {
        ssize_t size = write_without_signal(p->in, p->cancels.data, p->cancels.size);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return;
        memmove(p->cancels.data, p->cancels.data + size, p->cancels.size - (size_t)size);
        p->cancels.size -= (size_t)size;
    }
}

/* True if bytes for the worker wait. */
static bool has_output(const pipe_channel *p)
{
    const kf_pending *last = last_job(p);
    return (last && p->written < last->size) || p->cancels.size;
}

static void read_tail(pipe_channel *p)
{
    char data[4096];
    for (int round = 0; round < 16 && p->err >= 0; round++) {
        ssize_t got = read(p->err, data, sizeof data);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) {
            kf_close(&p->err);
            return;
        }
        size_t size = (size_t)got, skipped = size > TAIL_BYTES ? size - TAIL_BYTES : 0,
               fresh = size - skipped;
        size_t kept = p->tail.size + fresh > TAIL_BYTES ? TAIL_BYTES - fresh : p->tail.size;
        memmove(p->tail.text, p->tail.text + p->tail.size - kept, kept);
        memcpy(p->tail.text + kept, data + skipped, fresh);
        p->tail.size = kept + fresh;
    }
}

/* Starts to wait for the next sign of life. */
static void expect_life(pipe_channel *p)
{
    p->silent_at = p->jobs && p->channel.writes_alive
                       ? kf_now() + p->channel.pool->alive_seconds * KF_ALIVE_MISSED
                       : 0;
}

/* Notes that the worker began the job. It reads the first of its jobs at once, and names each of
 * the others in a sign of life. */
static void note_begun(kf_pending *job)
{
    if (!job->began) job->began = kf_now();
}

/* True if the line is a sign of life. */
static bool take_alive(pipe_channel *p, const char *text, size_t size)
{
    if (!memmem(text, size < 64 ? size : 64, KF_ALIVE_SCHEMA, strlen(KF_ALIVE_SCHEMA)))
        return false;
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "sign of life", NULL);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(json, "schema"),
                *doing = cJSON_GetObjectItemCaseSensitive(json, "doing"),
                *id = cJSON_GetObjectItemCaseSensitive(json, "id");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, KF_ALIVE_SCHEMA) != 0) return false;
    if (cJSON_IsString(doing)) {
        snprintf(p->doing, sizeof p->doing, "%s", doing->valuestring);
        snprintf(p->channel.pool->doing, sizeof p->doing, "%s", doing->valuestring);
    }
    for (kf_pending *job = p->jobs; job && cJSON_IsString(id); job = job->next)
        if (strcmp(job->id, id->valuestring) == 0) note_begun(job);
    expect_life(p);
    return true;
}

/* Sets the deadline of the next answer: the longest limit of its jobs. */
static void set_deadline(pipe_channel *p)
{
    expect_life(p);
    double longest = 0;
    for (const kf_pending *job = p->jobs; job; job = job->next) longest = fmax(longest, job->limit);
    p->deadline = p->jobs ? kf_now() + longest + p->grace : 0;
}

/* Returns the job that an answer is for. If there is one job, the answer is for it. */
static kf_pending *job_of(const pipe_channel *p, const char *text, size_t size)
{
    if (p->job_count == 1) return p->jobs;
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "answer", NULL);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(json, "id");
    for (kf_pending *job = p->jobs; job && cJSON_IsString(id); job = job->next)
        if (strcmp(job->id, id->valuestring) == 0) return job;
    return p->jobs;
}

/* Reads an answer to one of its jobs. False if the answer is invalid. */
static bool take_answer(pipe_channel *p, const char *text, size_t size, kf_error *why)
{
    kf_pending *job = job_of(p, text, size), *before = NULL;
    if (!job->next && p->written < job->size)
        return kf_fail(why, KF_ERROR_INPUT, "it answered before it had read the job");
    bool last = !job->next;
    for (kf_pending *each = p->jobs; each != job; each = each->next) before = each;
    kf_pending *after = job->next;
    if (!kf_pool_answer(p->channel.pool, &p->channel, job, text, size, why)) return false;
    /* The job itself is freed. */
    if (before)
        before->next = after;
    else
        p->jobs = after;
    p->job_count--;
    if (last && before) p->written = before->size;
    p->state = p->jobs ? BUSY : IDLE;
    if (p->jobs) note_begun(p->jobs);
    set_deadline(p);
    return true;
}

/* Reads one line of the worker. False: the worker failed and is down. */
static bool take_line(pipe_channel *p, const char *text, size_t size)
{
    kf_error why = {0};
    size_t blank = 0;
    while (blank < size && (text[blank] == ' ' || text[blank] == '\t' || text[blank] == '\r'))
        blank++;
    if (blank == size) return true;
    if (p->state == STARTING) {
        if (text[blank] != '{' && ++p->banner_lines <= BANNER_LINES) return true;
        if (kf_pool_hello(p->channel.pool, &p->channel, text, size, &why)) {
            p->state = IDLE;
            p->deadline = 0;
            return true;
        }
        fail(p, why.code == KF_ERROR_MACHINE, &why);
        return false;
    }
    /* The last one may cross the verdict. */
    if (take_alive(p, text, size)) return true;
    if (p->state != BUSY)
        kf_fail(&why, KF_ERROR_INPUT, "it wrote a line without a job");
    else if (take_answer(p, text, size, &why)) {
        if (p->channel.retiring) retire(p);
        return !p->channel.retiring;
    }
    fail(p, false, &why);
    return false;
}

/* Takes complete lines out of the buffer. False: the worker is down. */
static bool take_lines(pipe_channel *p)
{
    size_t start = 0;
    for (char *feed; p->line.size > p->looked &&
                     (feed = memchr(p->line.data + p->looked, '\n', p->line.size - p->looked));) {
        size_t end = (size_t)(feed - p->line.data), size = end - start;
        /* The buffer is freed if the worker fails. A line may hold zero bytes. */
        kf_autofree char *text = calloc(size + 1, 1);
        if (text && size) memcpy(text, p->line.data + start, size);
        if (text && !take_line(p, text, size)) return false;
        start = p->looked = end + 1;
    }
    if (start) {
        memmove(p->line.data, p->line.data + start, p->line.size - start);
        p->line.size -= start;
        if (!p->line.size) kf_buffer_free(&p->line);
    }
    p->looked = p->line.size;
    if (p->line.size <= KF_JOB_BYTES) return true;
    kf_error why;
    kf_fail(&why, KF_ERROR_LIMIT, "it wrote a line of more than %u bytes", KF_JOB_BYTES);
    fail(p, false, &why);
    return false;
}

/* Reads what has arrived. False: the worker is down now. */
static bool read_lines(pipe_channel *p)
{
    char data[READ_BYTES];
    for (int round = 0; round < 64 && p->out >= 0; round++) {
        ssize_t size = read(p->out, data, sizeof data);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return true;
        if (size <= 0) {
            kf_close(&p->out);
            return true;
        }
        kf_buffer_append(&p->line, data, (size_t)size);
        if (!take_lines(p)) return false;
    }
    return true;
}

/* ---- the channel's interface ----------------------------------------------------------------- */

static size_t pipe_room(const kf_channel *channel)
{
    const pipe_channel *p = (const pipe_channel *)channel;
    bool serves = p->state == IDLE || p->state == BUSY;
    return serves && channel->max_jobs > p->job_count ? channel->max_jobs - p->job_count : 0;
}

static size_t pipe_busy(const kf_channel *channel)
{
    return ((const pipe_channel *)channel)->job_count;
}

static bool pipe_takes(const kf_channel *channel, const kf_pending *job)
{
    const pipe_channel *p = (const pipe_channel *)channel;
    const kf_pending *last = last_job(p);
    if (!last) return !p->cancels.size;
    return !last->alone && !job->alone && !has_output(p);
}

static void pipe_begin(kf_channel *channel, kf_pending *job)
{
    pipe_channel *p = (pipe_channel *)channel;
    kf_pending *last = last_job(p);
    job->next = NULL;
    if (last)
        last->next = job;
    else
        p->jobs = job;
    p->job_count++;
    p->written = 0;
    p->state = BUSY;
    double deadline = kf_now() + job->limit + p->grace;
    if (!last || deadline > p->deadline) p->deadline = deadline;
    if (!last) {
        snprintf(p->doing, sizeof p->doing, "%s", "reading");
        note_begun(job);
        expect_life(p);
    }
    write_job(p);
}

static void pipe_advance(kf_channel *channel, double now)
{
    pipe_channel *p = (pipe_channel *)channel;
    kf_error why;
    if (p->closing) {
        if (p->pid && has_ended(p) && (!p->command || await_hangup(p->out, p->err, now))) reap(p);
        return;
    }
    end_dismissed(p, now);
    if (p->state == DOWN) {
        if (now >= p->restart_at && !start(p, now, &why)) fail(p, false, &why);
        return;
    }
    /* Checked before reading, so that the last output of an ended worker is read. */
    bool ended = has_ended(p);
    read_tail(p);
    write_job(p);
    if (!read_lines(p)) return;
    if (ended || p->out < 0) {
        /* Output of the time between the two reads. */
        read_tail(p);
        fail_ended(p);
    } else if (p->deadline && now >= p->deadline) {
        if (p->state == STARTING)
            kf_fail(&why, KF_ERROR_MACHINE, "no hello within %d s", HELLO_SECONDS);
        else
            kf_fail(&why, KF_ERROR_MACHINE,
                    "no verdict within %.0f s, more than the job's own limits allow",
                    p->jobs->limit + p->grace);
        fail(p, false, &why);
    } else if (p->silent_at && now >= p->silent_at) {
        kf_fail(&why, KF_ERROR_MACHINE,
                "no sign of life for %.0f s while it was %s; check that its machine still runs",
                p->channel.pool->alive_seconds * KF_ALIVE_MISSED, p->doing);
        fail(p, false, &why);
    }
}

static int pipe_watch(const kf_channel *channel, struct pollfd fds[KF_CHANNEL_FDS], double *wake)
{
    const pipe_channel *p = (const pipe_channel *)channel;
    int count = 0;
    double first = p->state == DOWN ? p->restart_at : p->deadline;
    if (p->state == BUSY && p->silent_at && p->silent_at < first) first = p->silent_at;
    if (p->pid && p->pidfd < 0) first = kf_now() + POLL_SECONDS;
    if (!p->closing && first > 0 && first < *wake) *wake = first;
    if (!p->pid) return 0;
    if (p->pidfd >= 0) fds[count++] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
    if (p->out >= 0) fds[count++] = (struct pollfd){.fd = p->out, .events = POLLIN};
    if (p->err >= 0) fds[count++] = (struct pollfd){.fd = p->err, .events = POLLIN};
    if (has_output(p)) fds[count++] = (struct pollfd){.fd = p->in, .events = POLLOUT};
    return count ? count : p->closing;
}

static bool pipe_cancel(kf_channel *channel, int64_t ticket, double *began)
{
    pipe_channel *p = (pipe_channel *)channel;
    kf_pending *job = p->jobs;
    while (job && job->ticket != ticket) job = job->next;
    if (!job) return false;
    if (job->cancelled) return true;
    job->cancelled = true;
    *began = job->began;
    /* A worker of an older version judges it to its end. */
    if (!channel->takes_cancels) return true;
    /* The id of a job needs no escapes (job.h). */
    kf_buffer_format(&p->cancels, "{\"schema\":\"%s\",\"id\":\"%s\"}\n", KF_CANCEL_SCHEMA, job->id);
    if (job->limit > CANCEL_SECONDS) job->limit = CANCEL_SECONDS;
    if (p->job_count == 1) set_deadline(p);
    write_job(p);
    return true;
}

/* Closes the pipes: the end of file ends an idle worker, the lost reader a busy one. SIGTERM ends
 * whatever the shell runs. A command's output stays open (see dismiss). */
static void pipe_begin_close(kf_channel *channel)
{
    pipe_channel *p = (pipe_channel *)channel;
    p->closing = true;
    p->deadline = kf_now() + COMMAND_CLOSE_SECONDS;
    if (!p->pid) return;
    kf_close(&p->in);
    if (!p->command) {
        kf_close(&p->out);
        kf_close(&p->err);
    }
    if (p->state != IDLE) kill(-p->pid, SIGTERM);
}

/* Ends a command that does not end with its input. It takes its worker along, on which it may have
 * to wait, and killed at once it could not. */
static void end_command(pipe_channel *p)
{
    if (p->pid && p->out >= 0 && !await_hangup(p->out, p->err, kf_now())) {
        kill(-p->pid, SIGTERM);
        await_hangup(p->out, p->err, fmax(p->deadline, kf_now() + COMMAND_END_SECONDS));
    }
    p->dismissed.until = fmin(p->dismissed.until, p->deadline);
    end_dismissed(p, p->deadline);
}

static void pipe_close(kf_channel *channel)
{
    pipe_channel *p = (pipe_channel *)channel;
    if (!p->closing) pipe_begin_close(channel);
    if (p->command) end_command(p);
    reap(p);
    while (p->jobs) kf_pending_free(take_job(p, p->jobs));
    free(p->command);
    free(p->program);
    free(p->device);
    free(p->channel.name);
    free(p);
}

static const kf_channel_kind pipe_kind = {
    .room = pipe_room,
    .busy = pipe_busy,
    .takes = pipe_takes,
    .begin = pipe_begin,
    .advance = pipe_advance,
    .watch = pipe_watch,
    .cancel = pipe_cancel,
    .begin_close = pipe_begin_close,
    .close = pipe_close,
};

kf_channel *kf_pipe_open(kf_workers *pool, const char *command, const kf_workers_options *options,
                         kf_error *error)
{
    pipe_channel *p = calloc(1, sizeof *p);
    if (!p) {
        kf_fail_memory(error, "a worker");
        return NULL;
    }
    *p = (pipe_channel){.channel = {.kind = &pipe_kind, .pool = pool},
                        .pidfd = -1,
                        .in = -1,
                        .out = -1,
                        .err = -1,
                        .dismissed = {.out = -1, .err = -1}};
    p->grace = options->grace_seconds > 0 ? options->grace_seconds : 60;
    if (command || !options->device_count) p->channel.name = strdup(command ? command : "local");
    /* The device distinguishes it from the others. */
    else if (asprintf(&p->channel.name, "local %s", options->device) < 0)
        p->channel.name = NULL;
    p->command = command ? strdup(command) : NULL;
    p->program = options->program ? strdup(options->program) : NULL;
    p->device = options->device && *options->device ? strdup(options->device) : NULL;
    bool copied = p->channel.name && (!command || p->command) && (!options->program || p->program);
    if (!copied) kf_fail_memory(error, "a worker");
    if (copied && start(p, kf_now(), error)) return &p->channel;
    pipe_close(&p->channel);
    return NULL;
}
