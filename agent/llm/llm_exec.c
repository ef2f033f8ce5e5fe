/* exec:COMMAND: a program of the user answers.
 *
 * Each request runs /bin/sh -c COMMAND in a process group of its own. The child's stdin is a file
 * in memory with the prompt, so no pipe can block or break. `poll` reads the pipes of stdout and
 * stderr. A pidfd signals the end. After the shell has ended, kforge reads the rest of the pipes
 * and kills the rest of the group: a background process that holds a pipe open must neither delay
 * the reply nor stay behind. kforge signals the group before it reaps the leader, because until
 * then the group's number is not reused.
 *
 * The command runs with the user's environment, without the keys of model providers (api_key.h).
 * All descriptors of kforge are closed in it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/run_capture.h"
#include "llm_dialect.h"
#include "llm_provider.h"
#include "api_key.h"

#define MAX_PARALLEL 64
/* Bytes of stderr kept for an error. */
#define TAIL_BYTES 600
#define READ_BYTES 65536
/* to find the program of a command */
#define LOOK_SECONDS 20
#define PATH_BYTES 4096
/* How often to look for the end of a process if the kernel has no pidfd (before Linux 5.3). */
#define POLL_SECONDS 0.02

enum { OPTION_TIMEOUT, OPTION_PARALLEL };

typedef struct call {
    int64_t tag;
    /* 0: the slot is free. Also the process group. */
    pid_t pid;
    /* -1: closed. */
    int pidfd, out, err;
    double started, deadline;
    kf_buffer text;
    char tail[TAIL_BYTES + 1];
    size_t tail_size;
} call;

typedef struct exec {
    char *command;
    double timeout;
    int parallel, in_flight;
    call calls[MAX_PARALLEL];
} exec;

/* ---- starting -------------------------------------------------------------------------------- */

/* Becomes the command. Runs between fork and exec, so it calls async-signal-safe functions only. */
static void exec_command(const char *command, pid_t parent, int in, int out, int err)
{
    kf_child_begin(parent, in, out, err);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)command, NULL};
    execve("/bin/sh", argv, environ);
    static const char message[] = "/bin/sh can't be executed\n";
    if (write(2, message, sizeof message - 1) < 0) _exit(126);
    _exit(127);
}

/* Returns a file in memory with the system text, a blank line and the prompt. -1 with *error on
 * failure. */
static int prompt_file(const kf_llm_request *request, kf_error *error)
{
    kf_autoclose int fd = memfd_create("prompt", MFD_CLOEXEC);
    bool written = fd >= 0;
    if (written && request->system && *request->system)
        written = kf_write_all(fd, request->system, strlen(request->system)) &&
                  kf_write_all(fd, "\n\n", 2);
    written = written && kf_write_all(fd, request->prompt, strlen(request->prompt)) &&
              lseek(fd, 0, SEEK_SET) == 0;
    /* Reopened, so that the child has its own offset and can't write. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int reading = written ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    /* No /proc. */
    if (reading < 0 && written) reading = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (reading < 0)
        kf_fail(error, KF_ERROR_MACHINE, "exec: can't make a file in memory for the prompt: %s",
                strerror(errno));
    return reading;
}

static bool exec_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    exec *e = state;
    if (e->in_flight >= e->parallel)
        return kf_fail(error, KF_ERROR_BUSY,
                       "exec: %d requests are in flight, as many as `parallel` allows",
                       e->in_flight);
    call *c = e->calls;
    while (c->pid) c++;
    kf_autoclose int in = prompt_file(request, error);
    if (in < 0) return false;
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "exec: no pipe: %s", strerror(errno));
    kf_autoclose int out_read = out[0], out_write = out[1];
    if (pipe2(err, O_CLOEXEC) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "exec: no pipe: %s", strerror(errno));
    kf_autoclose int err_read = err[0], err_write = err[1];
    fcntl(out_read, F_SETFL, O_NONBLOCK);
    fcntl(err_read, F_SETFL, O_NONBLOCK);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) return kf_fail(error, KF_ERROR_MACHINE, "exec: no process: %s", strerror(errno));
    if (pid == 0) exec_command(e->command, parent, in, out_write, err_write);
    /* In both processes, because either may run first. */
    setpgid(pid, pid);
    double now = kf_now();
    *c = (call){.tag = request->tag,
                .pid = pid,
                .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                .out = out_read,
                .err = err_read,
                .started = now,
                .deadline = now + e->timeout,
                .text = {.limit = KF_REPLY_BYTES}};
    out_read = err_read = -1;
    e->in_flight++;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void keep_tail(call *c, const char *data, size_t size)
{
    if (size > TAIL_BYTES) data += size - TAIL_BYTES, size = TAIL_BYTES;
    size_t kept = c->tail_size + size > TAIL_BYTES ? TAIL_BYTES - size : c->tail_size;
    memmove(c->tail, c->tail + c->tail_size - kept, kept);
    memcpy(c->tail + kept, data, size);
    c->tail_size = kept + size;
    c->tail[c->tail_size] = '\0';
}

/* Reads what has arrived, up to a limit. True if there may be more. */
static bool read_some(call *c, int *fd, bool is_text)
{
    char data[READ_BYTES];
    for (int round = 0; round < 16 && *fd >= 0; round++) {
        ssize_t size = read(*fd, data, sizeof data);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) return false;
        if (size <= 0)
            kf_close(fd);
        else if (is_text)
            kf_buffer_append(&c->text, data, (size_t)size);
        else
            keep_tail(c, data, (size_t)size);
    }
    return *fd >= 0;
}

/* Reads the pipes after the shell has ended: until they are empty, or the reply is too large. */
static void read_rest(call *c)
{
    while (!c->text.failed && read_some(c, &c->out, true)) continue;
    for (int round = 0; round < 64 && read_some(c, &c->err, false); round++) continue;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* Kills the group and reaps its leader. Returns the wait status. */
static int end_call(exec *e, call *c)
{
    int status = 0;
    kill(-c->pid, SIGKILL);
    /* If the child did not reach its setpgid. */
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
    kf_close(&c->pidfd);
    kf_close(&c->out);
    kf_close(&c->err);
    c->pid = 0;
    e->in_flight--;
    return status;
}

#define BLANKS " \t\r\n"

/* True if the text begins and ends like {"text": …}. */
static bool is_meant_as_json(const char *text, size_t size)
{
    static const char key[] = "\"text\"";
    const char *at = text + strspn(text, BLANKS);
    while (size && strchr(BLANKS, text[size - 1])) size--;
    if (*at != '{' || text[size - 1] != '}') return false;
    return strncmp(at + 1 + strspn(at + 1, BLANKS), key, sizeof key - 1) == 0;
}

/* Reads {"text": …}. Missing fields and fields of a wrong type are ignored. False: the reply is
 * plain text. */
static bool read_json_reply(kf_llm_reply *reply, const char *text, size_t size)
{
    kf_error why = {0};
    if (text[strspn(text, BLANKS)] != '{') return false;
    kf_autofree char *mended = kf_mend_json(text, size);
    if (!mended || strlen(mended) != size) return false;
    kf_auto(cJSON) json = kf_json_parse(mended, strlen(mended), KF_REPLY_BYTES, "reply", &why);
    if (!json && is_meant_as_json(mended, size)) {
        kf_fail(&reply->error, KF_ERROR_IO,
                "exec: the reply is no valid JSON: %.300s; write it with a JSON library, which "
                "escapes line ends",
                why.text);
        return true;
    }
    const cJSON *answer = cJSON_GetObjectItemCaseSensitive(json, "text"),
                *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    const cJSON *nested = cJSON_GetObjectItemCaseSensitive(json, "usage"),
                *usage = cJSON_IsObject(nested) ? nested : json,
                *outcome = cJSON_GetObjectItemCaseSensitive(json, "outcome");
    if (!cJSON_IsString(answer)) return false;
    char *copy = strdup(answer->valuestring);
    if (!copy) return false;
    kf_llm_reply_set_text(reply, copy, strlen(copy));
    if (cJSON_IsString(model)) reply->model = strdup(model->valuestring);
    double prompt = kf_json_get_number(usage, "prompt_tokens", -1),
           completion = kf_json_get_number(usage, "completion_tokens", -1);
    double cost = kf_json_get_number(json, "cost_usd", -1);
    if (prompt >= 0 && prompt < 1e15) reply->prompt_tokens = (int64_t)prompt;
    if (completion >= 0 && completion < 1e15) reply->completion_tokens = (int64_t)completion;
    if (cost >= 0 && cost < 1e9) reply->cost_usd = cost;
    kf_llm_outcome known;
    if (cJSON_IsString(outcome) && kf_llm_outcome_parse(outcome->valuestring, &known) &&
        known != KF_LLM_EXHAUSTED) {
        reply->outcome = known;
        if (known == KF_LLM_FAILED)
            kf_fail(&reply->error, KF_ERROR_IO, "exec: the command says that it failed: %.300s",
                    reply->text);
    }
    return true;
}

/* Returns the end of stderr for an error, from the start of a line if there is one. */
static const char *stderr_end(const call *c)
{
    const char *text = c->tail;
    if (c->tail_size == TAIL_BYTES) {
        const char *feed = strchr(text, '\n');
        if (feed && feed[1]) text = feed + 1;
    }
    return *text ? text : "(nothing)";
}

static void finish(exec *e, call *c, bool timed_out, kf_llm_reply *reply)
{
    *reply = kf_llm_reply_empty(c->tag);
    reply->seconds = kf_now() - c->started;
    bool too_large = c->text.failed;
    int status = end_call(e, c);
    size_t size = c->text.size;
    kf_autofree char *text = kf_buffer_take(&c->text);
    if (timed_out) {
        kf_fail(&reply->error, KF_ERROR_LIMIT, "exec: no reply within %g s; it wrote to stderr: %s",
                e->timeout, stderr_end(c));
    } else if (too_large) {
        kf_fail(&reply->error, KF_ERROR_LIMIT, "exec: the reply has more than %u bytes",
                KF_REPLY_BYTES);
    } else if (WIFSIGNALED(status)) {
        kf_fail(&reply->error, KF_ERROR_IO,
                "exec: the command was ended by signal %d; it wrote to stderr: %s",
                WTERMSIG(status), stderr_end(c));
    } else if (WEXITSTATUS(status) != 0) {
        /* The shell's status for a program that is not there, or that nothing can run. */
        bool missing = WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126;
        kf_fail(&reply->error, missing ? KF_ERROR_INPUT : KF_ERROR_IO,
                "exec: the command ended with status %d; it wrote to stderr: %s",
                WEXITSTATUS(status), stderr_end(c));
    } else if (!text) {
        kf_fail_memory(&reply->error, "the reply of an exec: command");
    } else if (memchr(text, '\0', size)) {
        kf_fail(&reply->error, KF_ERROR_IO, "exec: the reply holds a NUL byte");
    } else if (!read_json_reply(reply, text, size)) {
        kf_llm_reply_set_text(reply, kf_steal(&text), size);
    }
    if (!reply->model) reply->model = strdup("exec");
}

/* True if the call has ended and *reply is filled. */
static bool advance(exec *e, call *c, kf_llm_reply *reply)
{
    read_some(c, &c->out, true);
    read_some(c, &c->err, false);
    siginfo_t info = {0};
    bool ended = waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                 info.si_pid == c->pid;
    bool timed_out = !ended && kf_now() >= c->deadline;
    if (!ended && !timed_out && !c->text.failed) return false;
    if (ended) read_rest(c);
    finish(e, c, timed_out, reply);
    return true;
}

static int exec_poll(void *state, double seconds, kf_llm_reply *reply)
{
    exec *e = state;
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    for (;;) {
        struct pollfd fds[3 * MAX_PARALLEL];
        nfds_t count = 0;
        double wake = until;
        for (call *c = e->calls; c < e->calls + MAX_PARALLEL; c++) {
            if (!c->pid) continue;
            if (advance(e, c, reply)) return 1;
            if (c->deadline < wake) wake = c->deadline;
            if (c->pidfd < 0 && kf_now() + POLL_SECONDS < wake) wake = kf_now() + POLL_SECONDS;
            const int waiting[] = {c->pidfd, c->out, c->err};
            for (int i = 0; i < 3; i++)
                if (waiting[i] >= 0)
                    fds[count++] = (struct pollfd){.fd = waiting[i], .events = POLLIN};
        }
        double left = wake - kf_now();
        if (!count || until <= kf_now()) return 0;
        /* Returns on a signal, so that the caller sees the flag of its signal handler. */
        if (poll(fds, count, left > 0 ? (int)(left * 1000) + 1 : 0) < 0 && errno == EINTR) return 0;
    }
}

static size_t exec_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    const exec *e = state;
    size_t count = 0;
    for (const call *c = e->calls; c < e->calls + MAX_PARALLEL; c++) {
        if (!c->pid) continue;
        if (c->deadline < *wake) *wake = c->deadline;
        if (c->pidfd < 0 && kf_now() + POLL_SECONDS < *wake) *wake = kf_now() + POLL_SECONDS;
        const int waiting[] = {c->pidfd, c->out, c->err};
        for (int i = 0; i < 3; i++)
            if (waiting[i] >= 0 && count < most)
                fds[count++] = (struct pollfd){.fd = waiting[i], .events = POLLIN};
    }
    return count;
}

static int exec_in_flight(const void *state)
{
    return ((const exec *)state)->in_flight;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Copies the next word of a simple command and moves *command behind it. False at the command's
 * end, and for a word that only a shell could read. */
static bool next_word(const char **command, char *word, size_t size)
{
    static const char ends[] = " \t\n;|&<>", special[] = "\"'\\$`(){}*?[]~#!=";
    *command += strspn(*command, " \t");
    size_t length = strcspn(*command, ends);
    if (length == 0 || length >= size) return false;
    snprintf(word, size, "%.*s", (int)length, *command);
    *command += length;
    return strcspn(word, special) == length;
}

/* True for a program that reads a script from its first argument. */
static bool is_interpreter(const char *program)
{
    /* not node, which also finds ask.js by the name ask */
    static const char *const names[] = {"python", "pypy", "sh",   "bash",    "dash", "ksh",
                                        "zsh",    "perl", "ruby", "Rscript", "php",  "lua"};
    const char *slash = strrchr(program, '/');
    program = slash ? slash + 1 : program;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        /* python3.11 */
        if (strncmp(program, names[i], length) == 0 &&
            program[length + strspn(program + length, "0123456789.")] == '\0')
            return true;
    }
    return false;
}

/* Returns the path of a program in PATH or the name of a builtin, "" without one, both malloc'd.
 * NULL if the shell does not say. */
static char *look_up(const char *program)
{
    const char *const argv[] = {"/bin/sh", "-c", "command -v -- \"$1\"", "sh", program, NULL};
    return kf_run_capture(argv, NULL, PATH_BYTES, LOOK_SECONDS);
}

/* False with *error if the interpreter's first argument in `rest` is a script that can't be read.
 * The first call decides on other arguments: an option may take the next word. */
static bool find_script(const char *interpreter, const char *rest, kf_error *error)
{
    char word[512];
    if (!is_interpreter(interpreter) || !next_word(&rest, word, sizeof word)) return true;
    while (strcmp(word, "-u") == 0)
        if (!next_word(&rest, word, sizeof word)) return true;
    if (word[0] == '-' || !strpbrk(word, "./") || access(word, R_OK) == 0) return true;
    bool exists = access(word, F_OK) == 0;
    /* bash also looks in PATH. */
    kf_autofree char *path = strchr(word, '/') ? NULL : look_up(word);
    if (path && *path) return true;
    return kf_fail(error, KF_ERROR_INPUT,
                   exists ? "exec: %s can't read its script %s: give it the right with chmod +r"
                          : "exec: %s finds no script %s: check its path",
                   interpreter, word);
}

/* False with *error if the first line of an executable script names an interpreter that does not
 * exist. */
static bool find_shebang(const char *path, kf_error *error)
{
    char line[256], *program = line + 2;
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file) || strncmp(line, "#!", 2) != 0) return true;
    program += strspn(program, " \t");
    program[strcspn(program, " \t\n")] = '\0';
    size_t length = strlen(program);
    if (program[0] != '/' || access(program, F_OK) == 0) return true;
    bool of_windows = program[length - 1] == '\r';
    if (of_windows) program[length - 1] = '\0';
    return kf_fail(error, KF_ERROR_INPUT, "exec: %s:1: there is no program %s%s", path, program,
                   of_windows ? " with a carriage return: save the file with Unix line ends"
                              : ": correct the line, or install the program");
}

/* False with *error if the command can't start: its program or its script does not exist. */
static bool find_program(const char *command, kf_error *error)
{
    char word[512];
    command += strspn(command, " \t\n");
    if (!next_word(&command, word, sizeof word)) return true;
    if (strchr(word, '/') && access(word, X_OK) == 0)
        return find_shebang(word, error) && find_script(word, command, error);
    kf_autofree char *path = strchr(word, '/') ? strdup("") : look_up(word);
    /* Without an answer the first call finds out. */
    if (!path || *path) return find_script(word, command, error);
    if (strchr(word, '/') && access(word, F_OK) == 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "exec: %s can't be executed: make it executable with chmod +x, or name its "
                       "interpreter first (exec:python3 %s)",
                       word, word);
    return kf_fail(error, KF_ERROR_INPUT,
                   "exec: there is no program %s: check its name, or give its path as in "
                   "exec:./ask.sh",
                   word);
}

static void *exec_open(const char *argument, const double *options, kf_error *error)
{
    if (!kf_api_keys_check_command("model", argument, error) || !find_program(argument, error))
        return NULL;
    exec *e = calloc(1, sizeof *e);
    if (e) e->command = strdup(argument);
    if (!e || !e->command) {
        free(e);
        kf_fail_memory(error, "a model");
        return NULL;
    }
    e->parallel = (int)options[OPTION_PARALLEL];
    e->timeout = options[OPTION_TIMEOUT];
    const char *from_environment = getenv("KFORGE_EXEC_TIMEOUT");
    if (e->timeout == 0 && from_environment) {
        char *end;
        e->timeout = strtod(from_environment, &end);
        if (end == from_environment || *end || !(e->timeout > 0 && e->timeout <= 86400)) {
            kf_fail(error, KF_ERROR_INPUT,
                    "KFORGE_EXEC_TIMEOUT=%s is not a number of seconds up to 86400",
                    from_environment);
            free(e->command);
            free(e);
            return NULL;
        }
    }
    if (e->timeout == 0) e->timeout = 600;
    return e;
}

static void exec_close(void *state)
{
    exec *e = state;
    for (call *c = e->calls; c < e->calls + MAX_PARALLEL; c++) {
        if (!c->pid) continue;
        end_call(e, c);
        kf_buffer_free(&c->text);
    }
    free(e->command);
    free(e);
}

const kf_llm_provider kf_llm_exec = {
    .name = "exec",
    .form = "exec:COMMAND",
    .takes_argument = true,
    .options = {[OPTION_TIMEOUT] = {"timeout", 0, 0.01, 86400, kf_llm_duration},
                [OPTION_PARALLEL] = {"parallel", 16, 1, MAX_PARALLEL, NULL}},
    .open = exec_open,
    .submit = exec_submit,
    .in_flight = exec_in_flight,
    .poll = exec_poll,
    .close = exec_close,
    .watch = exec_watch,
};
