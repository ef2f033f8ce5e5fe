/* Runs the host compiler for kforge-cpucc, and finds unsupported features in its messages. */
#include "cpucc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/sandbox.h"
#include "unsupported.h"

void kf_cpucc_add(kf_cpucc_command *command, const char *format, ...)
{
    if (command->count + 1 >= (int)(sizeof command->words / sizeof *command->words)) {
        command->failed = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    char *word = NULL;
    if (vasprintf(&word, format, arguments) < 0) {
        word = NULL;
        command->failed = true;
    }
    va_end(arguments);
    if (word) command->words[command->count++] = word;
}

void kf_cpucc_command_free(kf_cpucc_command *command)
{
    for (int i = 0; i < command->count; i++) free(command->words[i]);
    *command = (kf_cpucc_command){0};
}

/* Writes the name under which g++ runs and that begins its own messages, ".../g++-RANDOM". A source
 * does not know it, and cannot print messages that look like those of g++ about a killed program.
 * The folder stays: g++ finds its programs by it. False for other names, of wrappers that choose a
 * compiler by name. */
static bool name_secretly(const char *program, char name[PATH_MAX])
{
    uint64_t secret;
    char real[PATH_MAX];
    if (!realpath(program, real) || !strstr(real, "g++") || !kf_random(&secret, sizeof secret))
        return false;
    int folder = (int)(strrchr(real, '/') - real);
    return snprintf(name, PATH_MAX, "%.*s/g++-%016llx", folder, real, (unsigned long long)secret) <
           PATH_MAX;
}

/* True if the line names a signal that other programs send. */
static bool names_outside_signal(const char *line, size_t size)
{
    static const int signals[] = {KF_SANDBOX_OUTSIDE_SIGNALS};
    char text[100];
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int length =
            snprintf(text, sizeof text, ": %s signal terminated program ", strsignal(signals[i]));
        if (memmem(line, size, text, (size_t)length)) return true;
    }
    return false;
}

/* Looks for a message of g++ itself that a signal ended one of its programs, and changes its secret
 * name to "g++". The message may follow half a line of the program that ended. */
static bool take_name_back(kf_buffer *output, size_t before, const char *secret_name)
{
    const char *name = strrchr(secret_name, '/') + 1;
    size_t length = strlen(name), kept = strlen("g++"), at = before;
    bool killed = false;
    for (char *found; output->size > at &&
                      (found = memmem(output->data + at, output->size - at, name, length));) {
        char *rest = found + length;
        size_t left = output->size - (size_t)(rest - output->data);
        char *end = memchr(rest, '\n', left);
        killed = killed || names_outside_signal(rest, end ? (size_t)(end - rest) : left);
        memmove(found + kept, rest, left);
        output->size -= length - kept;
        output->data[output->size] = '\0';
        at = (size_t)(found - output->data) + kept;
    }
    return killed;
}

static bool is_outside_signal(int signal_number)
{
    static const int signals[] = {KF_SANDBOX_OUTSIDE_SIGNALS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] == signal_number) return true;
    return false;
}

/* `name` is the program's own name for itself. */
static bool start(const kf_cpucc_command *command, const char *name, const char *temporary,
                  int output, pid_t *pid, kf_error *error)
{
    char tmpdir[4200];
    snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", temporary);
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", locale[] = "LC_ALL=C.UTF-8";
    char epoch[] = "SOURCE_DATE_EPOCH=0"; /* one value for __DATE__ and __TIME__ */
    char *environment[] = {path, locale, tmpdir, epoch, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return kf_fail(error, KF_ERROR_MEMORY, "no memory to start %s", command->words[0]);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    char *words[sizeof command->words / sizeof *command->words] = {(char *)name};
    memcpy(words + 1, command->words + 1, (size_t)command->count * sizeof *words);
    int failure = posix_spawn(pid, command->words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failure)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "%s: %s; install g++ (Debian, Ubuntu: apt-get install g++)",
                       command->words[0], strerror(failure));
    return true;
}

int kf_cpucc_run(const kf_cpucc_command *command, const char *temporary, kf_buffer *output,
                 kf_error *error)
{
    if (command->failed) {
        kf_fail(error, KF_ERROR_LIMIT,
                "the compiler's command line is too long; give fewer options");
        return -1;
    }
    /* Sockets, because a pipe can be opened again as /proc/self/fd/1: a source that includes that
     * file would wait for its own compiler's output. (A pipe without read permission would do, but
     * the build jail refuses fchmod on machines without a mount namespace.) */
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        kf_fail(error, KF_ERROR_MACHINE, "can't collect the compiler's output: socketpair: %s",
                strerror(errno));
        return -1;
    }
    pid_t pid;
    char secret[PATH_MAX];
    bool named = name_secretly(command->words[0], secret);
    size_t before = output->size;
    bool started =
        start(command, named ? secret : command->words[0], temporary, ends[1], &pid, error);
    close(ends[1]);
    if (!started) {
        close(ends[0]);
        return -1;
    }
    char chunk[4096];
    ssize_t size;
    while ((size = read(ends[0], chunk, sizeof chunk)) > 0 ||
           (size < 0 && errno == EINTR)) /* Output over the limit is dropped. */
        if (size > 0) kf_buffer_append(output, chunk, (size_t)size);
    close(ends[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) {
            kf_fail(error, KF_ERROR_MACHINE, "can't wait for the compiler: waitpid: %s",
                    strerror(errno));
            return -1;
        }
    bool killed = named && take_name_back(output, before, secret);
    if (WIFSIGNALED(status) && is_outside_signal(WTERMSIG(status)))
        kf_fail(error, KF_ERROR_BUSY, "a signal ended g++: %s", strsignal(WTERMSIG(status)));
    else if (killed)
        kf_fail(error, KF_ERROR_BUSY, "a signal ended a program of g++");
    else
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return -1;
}

/* Splits "FILE:LINE:…" into FILE and LINE. False if the text has another form. */
static bool read_place(const char *text, const char *end, char *file, size_t size, long *line)
{
    const char *colon = memchr(text, ':', (size_t)(end - text));
    if (!colon || colon == text || (size_t)(colon - text) >= size) return false;
    char *stop;
    *line = strtol(colon + 1, &stop, 10);
    if (stop == colon + 1) return false;
    memcpy(file, text, (size_t)(colon - text));
    file[colon - text] = '\0';
    return true;
}

bool kf_cpucc_missing_header(const char *messages, char *name, size_t size)
{
    static const char fatal[] = "fatal error: ";
    const char *found = strstr(messages, fatal);
    if (!found) return false;
    found += sizeof fatal - 1;
    size_t length = strcspn(found, ":\n");
    if (length >= size || !kf_unsupported_header(found, length)) return false;
    memcpy(name, found, length);
    name[length] = '\0';
    return true;
}

bool kf_cpucc_unsupported_use(const char *messages, char *line, size_t size)
{
    static const char asserted[] = "static assertion failed: kforge-unsupported: ",
                      here[] = "required from here";
    char file[1024] = "";
    long number = 0;
    for (const char *at = messages; *at;) {
        const char *end = strchrnul(at, '\n'),
                   *reason = memmem(at, (size_t)(end - at), asserted, sizeof asserted - 1);
        if (memmem(at, (size_t)(end - at), here, sizeof here - 1) &&
            !read_place(at, end, file, sizeof file, &number))
            *file = '\0';
        if (reason && *file) {
            reason += sizeof asserted - 1;
            snprintf(line, size, "%s:%ld: unsupported on the CPU device: %.*s (use a CUDA device)",
                     file, number, (int)(end - reason), reason);
            return true;
        }
        at = *end ? end + 1 : end;
    }
    return false;
}
