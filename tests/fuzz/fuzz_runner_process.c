/* Fuzzes the judge's side of the protocol with any answers of a runner, at any time. The sandbox is
 * simulated. The input is a script of the "process": its acts each time the judge waits for it. It
 * writes to the other end of the same socket that a runner has.
 *
 * Each byte is an action, and some take the next byte as an argument. The fuzzer knows which
 * answers may count. So it crashes if the judge accepts a forged, replayed, early or second answer,
 * or if a wait does not end. */
#include "../../evaluator/judge/device/runner_process_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "paths.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ANSWER,
    WRONG_NONCE,
    WRONG_MAGIC,
    DEVICE_ERROR,
    NO_CODE,
    ODD_RESULT,
    CUT,
    NOISE,
    AGAIN,
    TWICE,
    CLOSE,
    END,
    EARLY,
    REFUSE,
    ACTIONS
};

struct kf_sandbox {
    int fd, ended_fd;
    bool ended, frozen;
    kf_sandbox_result result;
    kf_buffer output;
};

static struct {
    const uint8_t *data;
    size_t size, at;
    uint64_t asked; /* the nonce of the question that is open */
    bool open;      /* there is one */
    /* exactly one answer with its nonce was written, and nothing else since the one before */
    bool honest;
    bool cut;     /* a right answer came in pieces: what comes of them is not known here */
    uint8_t said; /* what that answer was */
    kf_wire_answer last;
    char rest[sizeof(kf_wire_command)]; /* of a command that came in pieces */
} script;

static uint8_t next(void)
{
    return script.at < script.size ? script.data[script.at++] : END;
}

static void put(kf_sandbox *s, const void *bytes, size_t size)
{
    if (s->fd >= 0 && send(s->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        script.honest = false;
}

static void end_process(kf_sandbox *s)
{
    uint64_t one = 1;
    s->ended = true;
    s->result.end = KF_END_EXITED;
    if (write(s->ended_fd, &one, sizeof one) < 0) abort();
}

/* Reads the judge's requests meanwhile. It ignores a command's payload and descriptors. */
static void listen_to_judge(kf_sandbox *s)
{
    char bytes[65536];
    ssize_t got;
    while (s->fd >= 0 && (got = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i + (ssize_t)sizeof(kf_wire_command) <= got; i += 4) {
            kf_wire_command command;
            memcpy(&command, bytes + i, sizeof command);
            if (command.magic != KF_WIRE_MAGIC) continue;
            script.asked = command.nonce;
            script.open = true;
            break;
        }
}

static void act(kf_sandbox *s)
{
    listen_to_judge(s);
    uint8_t action = next() % ACTIONS;
    kf_wire_answer answer = {
        .magic = KF_WIRE_MAGIC, .nonce = script.asked, .claimed_seconds = 1e-9};
    bool first = script.open;
    if (action == CLOSE) {
        if (s->fd >= 0) close(s->fd);
        s->fd = -1;
        return;
    }
    if (action == END || s->ended || s->fd < 0) {
        if (!s->ended) end_process(s);
        return;
    }
    int noise = action == NOISE ? next() : 1;
    if (!noise) {
        act(s);
        return;
    }
    script.honest = first && (action == ANSWER || action == DEVICE_ERROR || action == REFUSE);
    script.open = false;
    script.said = action;
    switch (action) {
    case WRONG_NONCE: answer.nonce ^= 1ull << next() % 64; break;
    case WRONG_MAGIC: answer.magic ^= 1u << next() % 32; break;
    case DEVICE_ERROR: answer.result = KF_WIRE_DEVICE_ERROR, answer.code = 1 + next(); break;
    case REFUSE: answer.result = KF_WIRE_LOAD_FAILED; break;
    case NO_CODE: answer.result = KF_WIRE_DEVICE_ERROR; break;
    case ODD_RESULT: answer.result = 5 + next(); break;
    case AGAIN: answer = script.last; break;
    case EARLY: answer.nonce = script.asked + 1; break;
    default: break;
    }
    if (action == CUT) {
        script.cut = true;
        put(s, &answer, 1 + next() % (sizeof answer - 1));
        return;
    }
    if (action == NOISE) {
        for (; noise > 0; noise--) {
            uint8_t byte = next();
            put(s, &byte, 1);
        }
        return;
    }
    put(s, &answer, sizeof answer);
    if (action == TWICE) put(s, &answer, sizeof answer);
    script.last = answer;
}

/* ---- the stand-in ---------------------------------------------------------------------------- */

kf_sandbox *kf_sandbox_spawn(const kf_sandbox_spec *spec, kf_error *error)
{
    (void)error;
    kf_sandbox *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->fd = dup(spec->fds[0].host);
    s->ended_fd = eventfd(0, EFD_NONBLOCK);
    script.open = true; /* the hello is asked for by starting it */
    script.asked = 0;
    return s;
}
void kf_sandbox_free(kf_sandbox *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    close(s->ended_fd);
    free(s);
}
void kf_sandbox_kill(kf_sandbox *s)
{
    if (!s->ended) end_process(s);
}
void kf_sandbox_begin_kill(kf_sandbox *s)
{
    kf_sandbox_kill(s);
}
pid_t kf_sandbox_pid(const kf_sandbox *s)
{
    (void)s;
    return 0; /* no process: this number names files of /proc */
}
bool kf_sandbox_pump(kf_sandbox *s, double seconds)
{
    if (seconds > 0 && !s->ended) act(s);
    return s->ended;
}
int kf_sandbox_descriptor(const kf_sandbox *s) /* asked for before each wait */
{
    act((kf_sandbox *)s);
    return s->ended_fd;
}
bool kf_sandbox_freeze(kf_sandbox *s, kf_error *error)
{
    if (s->ended) return kf_fail(error, KF_ERROR_INPUT, "ended");
    s->frozen = true;
    return true;
}
double kf_sandbox_stopped_at(const kf_sandbox *s)
{
    (void)s;
    return kf_now();
}
bool kf_sandbox_thaw(kf_sandbox *s, kf_error *error)
{
    if (s->ended) return kf_fail(error, KF_ERROR_INPUT, "ended");
    s->frozen = false;
    return true;
}
bool kf_sandbox_settle(kf_sandbox *s)
{
    return s->frozen;
}
bool kf_sandbox_ended_outside(const kf_sandbox_result *result)
{
    (void)result;
    return false;
}

char *kf_system_file(const char *path, size_t most)
{
    (void)path, (void)most;
    return strdup("");
}

bool kf_sandbox_take_census(kf_sandbox *s, kf_sandbox_census *census, kf_error *error)
{
    (void)error;
    *census = (kf_sandbox_census){.threads = 1};
    return !s->ended;
}
size_t kf_sandbox_threads(const kf_sandbox *s, const pid_t **ids)
{
    static const pid_t only; /* kf_sandbox_pid's */
    (void)s;
    *ids = &only;
    return 1;
}
void kf_sandbox_distrust(kf_sandbox *s)
{
    (void)s;
}
bool kf_sandbox_hide_files(kf_sandbox *s)
{
    return !s->result.peak_memory_bytes;
}

bool kf_sandbox_protect_proc(kf_sandbox *s)
{
    return !s->result.peak_memory_bytes;
}

bool kf_sandbox_let_open(kf_sandbox *s, bool may, kf_error *error)
{
    (void)may;
    return !s->ended || kf_fail(error, KF_ERROR_INPUT, "ended");
}
int kf_sandbox_open_files(const kf_sandbox *s)
{
    (void)s;
    return 0;
}
int kf_sandbox_layers(const kf_sandbox *s)
{
    (void)s;
    return 0;
}
const kf_sandbox_result *kf_sandbox_outcome(const kf_sandbox *s)
{
    return &s->result;
}
const kf_buffer *kf_sandbox_output(const kf_sandbox *s)
{
    return &s->output;
}
void kf_sandbox_describe(const kf_sandbox_result *result, char *text, size_t size)
{
    snprintf(text, size, "%d", result->status);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static void check(kf_runner *runner, kf_runner_event event)
{
    kf_runner_explanation why;
    bool went_well = event == KF_RUNNER_OK || event == KF_RUNNER_DEVICE_ERROR;
    /* the script ends the process before that */
    if (event == KF_RUNNER_TIMEOUT || event == KF_RUNNER_STOPPED) abort();
    if (went_well && ((!script.honest && !script.cut) || runner->dead)) abort();
    if (went_well && !script.cut && script.said != (event == KF_RUNNER_OK ? ANSWER : DEVICE_ERROR))
        abort();
    if (went_well && !runner->frozen) abort();
    if (!went_well && !runner->dead) abort();
    kf_runner_explain(runner, event, "being fuzzed", &why);
    if (!went_well && (why.status == KF_CORRECT || !why.rule[0] || !why.text[0])) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&script, 0, sizeof script);
    script.data = data;
    script.size = size;
    kf_error error = {0};
    kf_runner_spec spec = {.program = "p", .binary = "b", .directory = "/"};
    kf_auto(kf_runner) runner = kf_runner_start(&spec, &error);
    if (!runner) {
        if (!error.text[0]) abort();
        return 0;
    }
    if (!script.cut && (!script.honest || script.said != ANSWER)) abort();
    uint32_t order[3] = {2, 0, 1};
    uint64_t scalars[2] = {1, 2};
    kf_runner_event event = kf_runner_load(runner, 1e9);
    check(runner, event);
    if (event == KF_RUNNER_OK) check(runner, event = kf_runner_scalars(runner, scalars, 2));
    for (int batch = 0; batch < 8 && event == KF_RUNNER_OK; batch++) {
        kf_batch b = {.order = order, .count = 3, .timeout = 1e9};
        check(runner, event = kf_runner_batch(runner, &b));
        if (event == KF_RUNNER_OK && b.code) abort();
        if (event == KF_RUNNER_DEVICE_ERROR && !b.code) abort();
    }
    if (event == KF_RUNNER_OK) check(runner, event = kf_runner_unmap(runner));
    if (runner->dead && kf_runner_unmap(runner) != KF_RUNNER_ENDED) abort();
    return 0;
}
