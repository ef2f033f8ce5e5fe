#include "runner_process_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kforge/build.h"
#include "kforge/file.h"
#include "paths.h"

/* Arguments between the program and the binary. */
#define MAX_WORDS 8

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
        .fixed_code = spec->sealed,
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
    kf_runner_event event = kf_runner_await(runner, 0, &runner_timeout, &hello);
    event = kf_runner_only_good(runner, event, &hello);
    if (event == KF_RUNNER_OK) event = kf_runner_freeze(runner);
    /* A driver writes to /proc, but has done so by now. */
    if (event == KF_RUNNER_OK && !runner->held.sealed)
        runner->held.writes_proc = !kf_sandbox_protect_proc(runner->sandbox);
    if (event == KF_RUNNER_OK && !kf_runner_note_threads(runner)) {
        kf_runner_end(runner, KF_RUNNER_MACHINE);
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

pid_t kf_runner_pid(const kf_runner *runner)
{
    return kf_sandbox_pid(runner->sandbox);
}

int kf_runner_layers(const kf_runner *runner)
{
    return kf_sandbox_layers(runner->sandbox);
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
