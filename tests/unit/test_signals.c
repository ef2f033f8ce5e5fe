/* Signals from outside to compilers and runners. A thread plays the scheduler: it looks for
 * descendants of this process by name and signals them. Signals to stopped runners are sent where
 * the judge has just stopped one, or is about to continue it. */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "build_common.h"
#include "kforge/sandbox.h"
#include "measure.h"
#include "test_judge_common.h"
#include "test_main.h"

#define MOST_SEEN 64
#define FLAG_SECONDS 0.2

/* The instant of a signal: while the process runs, after it was stopped, before it continues. */
typedef enum instant { RUNNING, STOPPED, CONTINUING } instant;

typedef struct sender {
    const char *name;
    /* Of the processes of that name, in order: `first`, and each `step`-th after it, `count` in
     * all. */
    int first, step, count;
    int signal;
    instant instant;
    /* Such instants of each process that pass before its signal. */
    int pass;
    /* NULL, or a flag that is set FLAG_SECONDS after the first signal. */
    volatile int *flag;
    /* Results and state. */
    double first_sent;
    int sent, seen_count, passed;
    pid_t seen[MOST_SEEN];
    volatile int end;
    pthread_t thread;
} sender;

typedef struct process {
    char name[32], state;
    pid_t parent;
} process;

static bool read_process(pid_t pid, process *p)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = '\0';
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close) return false;
    *close = '\0';
    snprintf(p->name, sizeof p->name, "%s", open + 1);
    return sscanf(close + 2, "%c %d", &p->state, &p->parent) == 2;
}

static bool descends(pid_t pid)
{
    process p;
    while (pid > 1 && pid != getpid()) pid = read_process(pid, &p) ? p.parent : 0;
    return pid == getpid();
}

/* Returns the number of the process in the order of appearance. */
static int number_of(sender *s, pid_t pid)
{
    for (int i = 0; i < s->seen_count; i++)
        if (s->seen[i] == pid) return i;
    if (s->seen_count == MOST_SEEN) return -1;
    s->seen[s->seen_count] = pid;
    return s->seen_count++;
}

static void signal_if_wanted(sender *s, pid_t pid)
{
    int number = number_of(s, pid);
    if (number != s->first + s->sent * s->step || s->sent == s->count) return;
    if (s->passed++ < s->pass || kill(pid, s->signal) != 0) return;
    s->passed = 0;
    if (!s->sent) s->first_sent = kf_now();
    s->sent++;
}

/* Others' processes are looked at once in a judgement, since there may be hundreds of them. */
static bool is_others[1 << 22];

static void look(sender *s, pid_t pid)
{
    process p;
    if (pid >= (pid_t)sizeof is_others || is_others[pid] || !read_process(pid, &p)) return;
    is_others[pid] = !descends(pid);
    if (!is_others[pid] && strcmp(p.name, s->name) == 0 && p.state != 'Z') signal_if_wanted(s, pid);
}

/* The sender of the judgement that goes on. */
static sender *sending;

static void at_instant(instant now, const kf_sandbox *sandbox)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!sending || sending->instant != now) return;
    pthread_mutex_lock(&lock);
    signal_if_wanted(sending, kf_sandbox_pid(sandbox));
    pthread_mutex_unlock(&lock);
}

bool __real_kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error);
bool __wrap_kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error);
bool __wrap_kf_sandbox_freeze(kf_sandbox *sandbox, kf_error *error)
{
    bool stopped = __real_kf_sandbox_freeze(sandbox, error);
    if (stopped) at_instant(STOPPED, sandbox);
    return stopped;
}

bool __real_kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error);
bool __wrap_kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error);
bool __wrap_kf_sandbox_thaw(kf_sandbox *sandbox, kf_error *error)
{
    at_instant(CONTINUING, sandbox);
    return __real_kf_sandbox_thaw(sandbox, error);
}

static void *send_signals(void *argument)
{
    sender *s = argument;
    while (!s->end) {
        DIR *all = s->instant == RUNNING ? opendir("/proc") : NULL;
        for (struct dirent *entry; all && (entry = readdir(all));)
            if (isdigit((unsigned char)entry->d_name[0])) look(s, (pid_t)atoi(entry->d_name));
        if (all) closedir(all);
        if (s->flag && s->sent && kf_now() - s->first_sent > FLAG_SECONDS) *s->flag = 1;
        usleep(500);
    }
    return NULL;
}

/* Judges the baseline of a task while signals come. NULL: interrupted. */
static kf_verdict *judged_under(sender *s, const volatile int *stop)
{
    kf_error error = {0};
    kf_job *job = job_of(KFORGE_SOURCE_DIR "/tests/selftest/scale", NULL);
    job->options.check_only = true;
    memset(is_others, 0, sizeof is_others);
    sending = s;
    assert_int_equal(pthread_create(&s->thread, NULL, send_signals, s), 0);
    kf_verdict *verdict = kf_judge_run(judge, job, stop, &error);
    s->end = 1;
    sending = NULL;
    pthread_join(s->thread, NULL);
    kf_job_free(job);
    if (!verdict && error.code != KF_ERROR_BUSY) fail_msg("%s", error.text);
    return verdict;
}

/* Tries again if a process was too quick for its signal. */
static void expect(sender wanted, kf_status status, kf_blame blame)
{
    sender s = wanted;
    kf_verdict *verdict = judged_under(&s, NULL);
    for (int turn = 0; turn < 60 && s.sent != s.count; turn++) {
        kf_verdict_free(verdict);
        s = wanted;
        verdict = judged_under(&s, NULL);
    }
    if (s.sent != s.count)
        fail_msg("%d signals of %d to %d processes %s: %s, %s", s.sent, s.count, s.seen_count,
                 s.name, kf_status_name(verdict->status), verdict->message);
    if (verdict->status != status || verdict->blame != blame)
        fail_msg("signal %d to %s %d: %s, %s: %s", s.signal, s.name, s.first,
                 kf_status_name(verdict->status), kf_blame_name(verdict->blame), verdict->message);
    assert_int_equal(verdict->flag_count, 0);
    kf_verdict_free(verdict);
}

static void a_killed_compiler_is_started_again(void **state)
{
    (void)state;
    expect((sender){.name = "cc1plus", .count = 1, .step = 1, .signal = SIGKILL}, KF_CORRECT,
           KF_BLAME_NOBODY);
    expect((sender){.name = "cc1plus", .count = 2, .step = 1, .signal = SIGTERM}, KF_CORRECT,
           KF_BLAME_NOBODY);
    expect((sender){.name = "kforge-cpucc", .count = 1, .step = 1, .signal = SIGKILL}, KF_CORRECT,
           KF_BLAME_NOBODY);
    /* Each time: one signal for each build, and for what builds the header. */
    sender s = {.name = "kforge-cpucc", .count = MOST_SEEN, .step = 1, .signal = SIGKILL};
    kf_auto(kf_verdict) verdict = judged_under(&s, NULL);
    assert_int_equal(verdict->status, KF_JUDGE_ERROR);
    assert_int_equal(verdict->blame, KF_BLAME_MACHINE);
    assert_true(s.sent >= KF_BUILDS_KILLED);
}

/* The first three runners are the baseline's, the oracle's and the candidate's. */
static void a_killed_runner_is_started_again(void **state)
{
    (void)state;
    for (int first = 0; first < 4; first++) {
        sender s = {.name = "kforge-runner",
                    .first = first,
                    .count = 1,
                    .step = 1,
                    .signal = SIGKILL,
                    .instant = STOPPED};
        expect(s, KF_CORRECT, KF_BLAME_NOBODY);
        s.instant = CONTINUING;
        expect(s, KF_CORRECT, KF_BLAME_NOBODY);
        s.signal = SIGCONT;
        s.instant = first % 2 ? STOPPED : CONTINUING;
        expect(s, KF_CORRECT, KF_BLAME_NOBODY);
    }
    expect((sender){.name = "kforge-runner", .count = 1, .step = 1, .signal = SIGKILL}, KF_CORRECT,
           KF_BLAME_NOBODY);
}

/* A candidate that meets the same in each round did it. Its own signals cannot kill it where it has
 * a namespace of processes, so the test sends them. A runner that dies before it has loaded the
 * candidate does not count, so this tries later stops if that leaves the candidate right. */
static void expect_in_each_round(int signal, const char *status)
{
    for (int pass = 0; pass < 60; pass++) {
        sender s = {.name = "kforge-runner",
                    .first = 2,
                    .count = KF_OUTSIDE_ROUNDS,
                    .step = 3,
                    .signal = signal,
                    .instant = CONTINUING,
                    .pass = pass};
        kf_auto(kf_verdict) verdict = judged_under(&s, NULL);
        if (verdict->status == KF_CORRECT) continue;
        if (verdict->status == KF_JUDGE_ERROR && verdict->blame == KF_BLAME_MACHINE) continue;
        if (verdict->status == KF_TIMEOUT) continue; /* killed while its threads were counted */
        if (strcmp(kf_status_name(verdict->status), status) != 0) fail_msg("%s", verdict->message);
        assert_int_equal(s.sent, KF_OUTSIDE_ROUNDS);
        assert_true(kf_verdict_has_flag(verdict, "machine.cleared:5"));
        return;
    }
    fail_msg("no round counted");
}

static void what_happens_in_each_round_is_the_candidates(void **state)
{
    (void)state;
    expect_in_each_round(SIGKILL, "crash");
    expect_in_each_round(SIGCONT, "cheating");
}

/* Neither the task nor the candidate is to blame if no runner lives. Tries again if a runner was
 * too quick for a signal. */
static void a_machine_that_kills_each_runner_is_to_blame(void **state)
{
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        sender s = {.name = "kforge-runner", .count = MOST_SEEN, .step = 1, .signal = SIGKILL};
        kf_auto(kf_verdict) verdict = judged_under(&s, NULL);
        if (verdict->status == KF_CORRECT) continue;
        assert_string_equal(kf_status_name(verdict->status), "judge_error");
        assert_string_equal(kf_blame_name(verdict->blame), "machine");
        assert_true(s.sent >= 2);
        return;
    }
    fail_msg("a runner lived each time");
}

/* Tries again if no process got the signal: the candidate is right then. */
static void expect_interrupted(sender wanted)
{
    for (int turn = 0; turn < 30; turn++) {
        volatile int stop = 0;
        sender s = wanted;
        s.flag = &stop;
        kf_auto(kf_verdict) verdict = judged_under(&s, &stop);
        if (!verdict) return;
        if (verdict->status != KF_CORRECT) fail_msg("%s", verdict->message);
    }
    fail_msg("no signal to %s was noticed", wanted.name);
}

/* A scheduler that ends all processes of a job signals the judge last. */
static void the_judge_waits_for_its_own_stop(void **state)
{
    (void)state;
    expect_interrupted((sender){.name = "kforge-runner",
                                .first = 2,
                                .count = 1,
                                .step = 1,
                                .signal = SIGCONT,
                                .instant = CONTINUING});
    expect_interrupted(
        (sender){.name = "kforge-cpucc", .count = KF_BUILDS_KILLED, .step = 1, .signal = SIGKILL});
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_compiler_is_started_again),
        cmocka_unit_test(a_killed_runner_is_started_again),
        cmocka_unit_test(what_happens_in_each_round_is_the_candidates),
        cmocka_unit_test(a_machine_that_kills_each_runner_is_to_blame),
        cmocka_unit_test(the_judge_waits_for_its_own_stop),
    };
    return TEST_GROUP(tests, open_judge, close_judge);
}
