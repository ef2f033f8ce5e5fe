/* Tests of a whole measurement in which everything is simulated: the clock, the device, and the
 * runners. The clock moves only when an operation takes time. The device behaves like a GPU on its
 * host, and the runners behave as each test sets them. The simulated delays (alternation, late
 * wake-ups, stalls) are those that docs/results/README.md reports for an H100. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "test_main.h"
#include "error_codes.h"
#include "input_generator.h"
#include "kforge/stats.h"
#include "libraries.h"
#include "runner_timeout.h"
#include "measure_internal.h"
#include "torch_plan.h"
#include "wire.h"

double __wrap_kf_now(void); /* the linker's --wrap sends all calls here */

static struct {
    double now;
    uint64_t random;
    const struct kf_runner *last; /* the runner of the last batch */
    /* mean seconds of the delay that hits one batch in fifty */
    double stall;
    /* extra seconds of a Python batch if the last batch was another process's */
    double cold_python;
    /* extra seconds of a batch with calls if the previous calls were another process's */
    double cold_calls;
    /* extra seconds of a batch with calls if inputs were drawn since its process's last calls */
    double cold_later;
    /* extra seconds of a batch with calls if the last results of its process were not fetched */
    double unread;
    const struct kf_runner *called; /* the runner of the last calls */
    /* the last set that was filled in; the set of the candidate's last single call */
    uint64_t inputs, rehearsed;
    int fills;   /* all sets that were filled in */
    bool varied; /* some of the sets, in the last fill */
    bool varied_sets[1024];
    /* sets of the candidate's last batch with several calls */
    uint64_t timed_on;
    /* by set: its inputs, and the inputs of its computed truth */
    uint64_t holds[1024], truth[1024];
    /* standard deviation of the difference between batches of two Python processes, in seconds */
    double python_extra;
    /* factor on the baseline's calls while a candidate process exists; 0: no effect */
    double disturbance;
    int candidates;          /* candidate processes */
    bool wrong[1024];        /* by set: the last call on it was left out */
    bool of_candidate[1024]; /* by set: the last call on it was the candidate's */
    /* RMS error on one input in four: the baseline's, the candidate's */
    double errors[2];
    int held_results;
    /* The candidate's results share memory from that call on. 0: never. */
    uint64_t shares_from;
    bool explains;      /* outputs are fetched to explain a mismatch, too */
    double longest;     /* the largest timeout of a candidate's batch */
    int comparisons;    /* comparisons in the job */
    double set_seconds; /* seconds to fill, poison or inspect a set */
    /* factor on a call's time for sets that were used shortly before; 0: no cache */
    double cached;
    bool coarse; /* the workbench's `coarse` after the last job */
    /* calls of the candidate after the comparisons of the first two pairs (two comparisons each) */
    uint64_t later_calls;
    /* the runner that reports a device error with each call */
    const struct behaviour *failing;
    /* A candidate changes inputs while the oracle reads them. */
    bool changes, changed;
    bool shared;  /* the sides map the same buffers */
    bool starved; /* only while a candidate lives, and there is no memory for sets then */
    int failure;  /* the error's code; 0: no error */
    /* seconds for which the driver clears memory after a call of the oracle, which frees its
     * temporaries */
    double clearing;
    double cleared, waited; /* when the clearing ends; how long the judge waited for it */
    kf_runner *timed_last;  /* of both sides */
    /* How the batch of a task's own check ends, and the empty batch after a refusal; and how often
     * an oracle has started. */
    kf_runner_event check_event;
    int check_code, code_after, oracles;
    /* The batches of the check so far; the code of the second, which gets the reference's outputs.
     * 0: it passes, -1: it ends like the first. */
    int checks, second_check;
    const struct kf_runner *checked;
    /* how the process of a check that ends is explained */
    kf_runner_explanation check_end;
    /* Other programs take all but 1/20 of the candidate's processor time, and it never answers. */
    bool busy_for_ever;
    /* seconds in which a program in Python is loaded; 20 times as many if it is compiled */
    double loading;
    /* seconds for which other jobs have the device at each request, the requests, and the
     * workbench's `waited` after the last job */
    double others;
    int requests;
    double waited_for_others;
    double building; /* seconds in which the candidate is built after its job has begun */
    /* the runner that never answers */
    const struct behaviour *hangs;
    /* True while the device is occupied; since before the last fill. */
    bool occupied, filled_occupied;
    bool withheld;
    /* Runners that made calls since the last fill. */
    int called_since;
    int occupations;
    /* The part of occupations that other work interrupts: with and without a candidate's process.
     */
    double busy_with, busy_without;
    /* The part of long occupations in which work of the candidate runs, because its own buffers
     * have changed. Since this occupation began: the buffers have, and it is long. */
    double waits;
    bool given, is_long;
    uint32_t open; /* gates of the candidate's stream */
    int held;      /* batches with a closed gate */
    int cache_looks;
    /* the reasons that each sample has */
    uint64_t throttle;
    uint32_t samples; /* taken since the last poison */
    /* Runners show which calls of a batch have begun; how many have in the batch that runs. */
    bool watchable;
    uint32_t begun;
    int looks; /* at batches while they ran */
    /* batches without calls, those since the candidate's last batch, and those before it */
    int empties, empties_since, empties_before;
    /* Inputs that the problem itself makes (input_generator.h): the memory of the rows, their
     * bytes, all calls of get_inputs, and how the calls after the first `good_makes` end. */
    unsigned char *rows;
    size_t row_bytes;
    int makes, good_makes;
    kf_runner_event make_event;
    int make_code;
    /* by set: the source of its numbers */
    uint32_t sources[1024];
    uint64_t secret;
    bool holding;
    /* by set: the inputs that the candidate read, and what the judge wrote to a part of them */
    uint64_t seen[1024];
    unsigned char parts[1024][4096];
    uint64_t original[1024];
    /* The sets of the last snapshot, and those that the baseline has overwritten since. */
    bool looked[1024], overwritten[1024], late;
    /* So many more looks find a late result, if another program worked in the last occupation. */
    int late_when_busy;
    bool busy, always_late;
} world;

double __wrap_kf_now(void)
{
    return world.now;
}

/* Sleeping takes simulated time. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    world.now += (double)time->tv_sec + 1e-9 * (double)time->tv_nsec;
    world.is_long = world.occupied;
    return 0;
}

static double uniform(void)
{
    world.random = world.random * 6364136223846793005u + 1442695040888963407u;
    return ((double)(world.random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* ---- runners --------------------------------------------------------------------------------- */

typedef struct behaviour {
    double call; /* seconds of a call */
    /* the first calls take `slow` times as long, for `slow_for` seconds in all */
    double slow_for, slow;
    double jitter; /* relative noise of a batch */
    bool merged;   /* the calls of a batch are one launch: further calls cost nothing */
    /* The first call of a batch reads the inputs of all. With `claims` it says that all have begun,
     * and with `finishes` it has all outputs by then. */
    bool reads_all, claims, finishes;
    /* It takes the number of calls that have begun back now and then. */
    bool falls;
    double ahead; /* seconds of a batch's work that the process does in the single call before it */
    double early; /* and while it is woken for that call */
    double meanwhile; /* the part that another thread does while it is woken for a batch */
    /* number of the call to skip after the first two pairs; 0: skips no call */
    uint64_t left_out;
    /* seconds for which the driver clears memory freed at the end of a batch, if the batch before
     * it was also this process's */
    double frees;
    /* begins work before its turn in the stream; ends it after its turn */
    bool too_early, too_late;
    /* The first only where inputs are varied, as a glance at the next ones shows. */
    bool early_if_varied;
    /* Inputs are read early in one of so many held batches. 0: in all. */
    int cached_seldom;
    double cached_share;
    /* wrong in the first held batch, whatever the order */
    bool unsteady;
} behaviour;

struct kf_runner {
    kf_runner_kind kind;
    const behaviour *does; /* NULL: nothing is loaded */
    /* seconds by which this process differs for its whole life, and seconds of its last short
     * call */
    double waking, extra, launch;
    double spent;
    uint64_t calls;
    uint32_t results; /* Python runners: results held until a batch discards them */
    int fills;        /* results held at its last calls */
    bool read;        /* results were fetched since its last batch with calls */
    bool wrong[1024]; /* Python runners: by set: the result in its own memory is wrong */
};

static behaviour baseline_does, candidate_does, oracle_does;

kf_runner *kf_runner_spawn(const kf_runner_spec *spec, kf_error *error)
{
    (void)error;
    kf_runner *runner = calloc(1, sizeof *runner);
    assert_non_null(runner);
    *runner = (kf_runner){.kind = spec->kind,
                          .waking = 8e-6 * fabs(normal()),
                          .extra = 3e-6 * normal(),
                          .launch = 0.3e-6 * normal()};
    if (spec->kind == KF_RUNNER_TORCH) runner->extra += world.python_extra * normal();
    return runner;
}

bool kf_runner_greet(kf_runner *runner, kf_error *error)
{
    (void)runner, (void)error;
    world.now += 0.05;
    return true;
}

bool kf_runner_give(kf_runner *runner, const char *binary, kf_error *error)
{
    (void)error;
    runner->does = strcmp(binary, "baseline") == 0 ? &baseline_does
                   : strcmp(binary, "oracle") == 0 ? &oracle_does
                                                   : &candidate_does;
    world.candidates += runner->does == &candidate_does;
    world.oracles += runner->does == &oracle_does;
    return true;
}

bool kf_runner_give_text(kf_runner *runner, const char *text, size_t size, kf_error *error)
{
    (void)runner, (void)text, (void)size, (void)error;
    return false;
}

kf_runner_event kf_runner_load(kf_runner *runner, double seconds)
{
    kf_runner_timeout wait;
    kf_runner_timeout_begin(&wait, seconds, world.now);
    double end =
        world.now + (world.loading > 0 && kf_runner_is_python(runner->kind) ? world.loading : 0.04);
    while (world.now < end) {
        world.now += fmin(KF_RUNNER_TIMEOUT_TURN, end - world.now);
        if (!kf_runner_timeout_look(&wait, 0, world.now)) return KF_RUNNER_TIMEOUT;
    }
    return KF_RUNNER_OK;
}

void kf_runner_set_deadline(kf_runner *runner, double deadline)
{
    (void)runner, (void)deadline;
}

double kf_runner_late_seconds(const kf_runner *runner)
{
    (void)runner;
    return 0;
}

kf_runner_event kf_runner_scalars(kf_runner *runner, const uint64_t *values, uint32_t count)
{
    (void)runner, (void)values, (void)count;
    return KF_RUNNER_OK;
}

kf_runner_event kf_runner_unmap(kf_runner *runner)
{
    (void)runner;
    world.now += 0.002;
    return KF_RUNNER_OK;
}

void kf_runner_free(kf_runner *runner)
{
    if (!runner) return;
    if (world.last == runner) world.last = NULL;
    if (world.called == runner) world.called = NULL;
    if (world.checked == runner) world.checked = NULL;
    world.candidates -= runner->does == &candidate_does;
    free(runner);
}

uint64_t kf_runner_calls(const kf_runner *runner)
{
    return runner->calls;
}

void *kf_runner_attachment(const kf_runner *runner)
{
    (void)runner;
    return NULL;
}

bool kf_runner_is_open(const kf_runner *runner)
{
    (void)runner;
    return false;
}
kf_runner_kind kf_runner_kind_of(const kf_runner *runner)
{
    return runner->kind;
}

int kf_runner_extra_threads(kf_runner *runner)
{
    (void)runner;
    return 0;
}

bool kf_runner_ended_outside(const kf_runner *runner)
{
    (void)runner;
    return false;
}

bool kf_runner_hide_files(kf_runner *runner)
{
    (void)runner;
    return true;
}

bool kf_runner_writes_proc(const kf_runner *runner)
{
    (void)runner;
    return false;
}

bool kf_runner_can_stop(const kf_runner *runner)
{
    (void)runner;
    return true;
}

int kf_runner_layers(const kf_runner *runner)
{
    (void)runner;
    return 0;
}

const char *kf_runner_inbox(const kf_runner *runner)
{
    (void)runner;
    return NULL;
}

char *kf_runner_output(const kf_runner *runner, size_t most)
{
    (void)runner, (void)most;
    return NULL;
}

void kf_runner_explain(const kf_runner *runner, kf_runner_event event, const char *doing,
                       kf_runner_explanation *explanation)
{
    (void)runner;
    if (event == KF_RUNNER_MACHINE) {
        *explanation = (kf_runner_explanation){.status = KF_JUDGE_ERROR, .rule = "machine"};
        return;
    }
    if (event == KF_RUNNER_TIMEOUT) {
        *explanation = (kf_runner_explanation){.status = KF_TIMEOUT, .rule = "time.limit"};
        return;
    }
    if (!world.failure) fail_msg("a runner failed while %s", doing);
    *explanation = (kf_runner_explanation){.status = KF_CRASH, .rule = "device.error"};
    if (event == KF_RUNNER_ENDED && world.check_end.rule) *explanation = world.check_end;
    snprintf(explanation->text, sizeof explanation->text, "an error while %s", doing);
}

/* Only a problem's own check and its own inputs map buffers past the device. */
kf_runner_event kf_runner_map(kf_runner *runner, const kf_runner_buffer *buffers, size_t count)
{
    if (count && buffers[0].generate) {
        if (world.rows) munmap(world.rows, world.row_bytes);
        world.row_bytes = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(buffers[i].set < KF_WIRE_MAX_SETS);
            world.row_bytes = buffers[i].offset + buffers[i].length;
        }
        world.rows =
            mmap(NULL, world.row_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffers[0].fd, 0);
        assert_true(world.rows != MAP_FAILED);
        world.row_bytes /= count; /* one argument has generated inputs */
        return KF_RUNNER_OK;
    }
    assert_true(world.check_code > 0 && runner->does == &oracle_does);
    for (size_t i = 0; i < count; i++) assert_true(buffers[i].check);
    return KF_RUNNER_OK;
}

void kf_runner_begin_kill(kf_runner *runner)
{
    (void)runner;
}

void kf_runner_pause(kf_runner *runner)
{
    (void)runner;
}

void kf_runner_resume(kf_runner *runner)
{
    (void)runner;
}

bool kf_runner_shows_progress(const kf_runner *runner)
{
    return world.watchable && runner->does == &candidate_does;
}

/* Calls begin one after the other, while the judge looks. */
uint32_t kf_runner_begun(const kf_runner *runner)
{
    (void)runner;
    world.looks++;
    return candidate_does.falls && world.looks % 3 == 2 ? 0 : world.begun;
}

bool kf_runner_answers_before(const kf_runner *runner, double time)
{
    (void)runner;
    world.now = fmax(world.now, time);
    return false;
}

void kf_runner_set_interrupt(kf_runner *runner, const volatile int *stop)
{
    (void)runner, (void)stop;
}

bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error)
{
    (void)r, (void)candidate, (void)error;
    return true;
}
void kf_measurement_plan_look(kf_measurement *r, kf_side side, int pair, kf_batch *batch)
{
    (void)r, (void)side, (void)pair, (void)batch;
}
bool kf_measurement_look(kf_measurement *r, kf_side side, kf_batch *batch, bool alive,
                         kf_error *error)
{
    (void)r, (void)side, (void)batch, (void)alive, (void)error;
    return true;
}

bool __wrap_kf_torch_give(kf_runner *runner, const kf_torch_request *request, kf_error *error);
bool __wrap_kf_torch_give(kf_runner *runner, const kf_torch_request *request, kf_error *error)
{
    return kf_runner_give(runner,
                          request->role == KF_ROLE_BASELINE ? "baseline"
                          : request->role == KF_ROLE_ORACLE ? "oracle"
                                                            : "candidate",
                          error);
}

static double calls_take(kf_runner *runner, uint32_t count)
{
    const behaviour *does = runner->does;
    double one = does->call + (does->call < 10e-6 ? runner->launch : 0), seconds = 0;
    for (uint32_t i = 0; i < count; i++) {
        double this = runner->spent + seconds < does->slow_for ? one * does->slow : one;
        seconds += does->merged && i ? 1e-9 : this;
    }
    if (does == &baseline_does && world.candidates && world.disturbance > 0)
        seconds *= world.disturbance;
    if (does != &oracle_does && world.now < world.cleared) seconds *= 1.12;
    runner->spent += seconds;
    runner->calls += count;
    return fmax(seconds * (1 + does->jitter * normal()), 0);
}

/* Records the results of a batch's calls. */
static void write_outputs(const kf_runner *runner, const kf_batch *batch)
{
    bool candidate = runner->does == &candidate_does;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (runner->does == &oracle_does) {
            world.truth[batch->order[i]] = world.holds[batch->order[i]];
            continue;
        }
        world.of_candidate[batch->order[i]] = candidate;
        bool later = candidate && world.comparisons >= 4;
        world.later_calls += later;
        world.wrong[batch->order[i]] = later && world.later_calls == candidate_does.left_out;
    }
}

/* Has the judge look at a batch. An honest candidate reads the inputs of a call in it. */
static void run_watched(kf_batch *batch)
{
    const behaviour *does = &candidate_does;
    /* Nothing differs from a timed batch: not what comes before it, nor how it begins. */
    assert_true(batch->running_after > 0 && (world.empties_before || world.empties >= 36));
    world.begun = does->claims ? batch->count : 1 + batch->count / 2;
    for (uint32_t i = 0; i < batch->count && (does->reads_all || i < world.begun); i++)
        world.seen[batch->order[i]] = world.holds[batch->order[i]];
    batch->running(batch->running_context);
    for (uint32_t i = 0; i < batch->count && !does->reads_all; i++)
        world.seen[batch->order[i]] = world.holds[batch->order[i]];
    world.begun = 0;
}

/* Makes a row of inputs, each with the seed as its bytes. */
static kf_runner_event make_row(kf_runner *runner, kf_batch *batch)
{
    uint64_t seed = batch->order[1] | (uint64_t)batch->order[2] << 32;
    assert_true(runner == NULL || runner->does == &oracle_does);
    assert_false(world.occupied || world.holding);
    world.now += 1e-5;
    if (++world.makes > world.good_makes && world.make_event != KF_RUNNER_OK) {
        kf_runner_timeout wait;
        kf_runner_timeout_begin(&wait, batch->timeout, world.now);
        while (world.make_event == KF_RUNNER_TIMEOUT && kf_runner_timeout_look(&wait, 0, world.now))
            world.now += KF_RUNNER_TIMEOUT_TURN;
        return batch->code = world.make_code, world.make_event;
    }
    memcpy(world.rows + batch->order[0] * world.row_bytes, &seed, sizeof seed);
    return KF_RUNNER_OK;
}

/* An empty batch takes 160 us if the last batch was the same process's, else 185 us. Its wake-ups
 * take 30 us and 55 us. */
kf_runner_event kf_runner_batch(kf_runner *runner, kf_batch *batch)
{
    bool again = world.last == runner;
    if (batch->generate) return make_row(runner, batch);
    /* a candidate's call with results that the judge does not compare */
    bool priming_call = !batch->null && batch->answered == kf_measurement_snapshot_nothing;
    /* What the candidate is timed on came to an occupied device, and no other process had it. */
    if (runner->does == &candidate_does && batch->begun && !batch->null && !priming_call &&
        batch->count > 1 && world.comparisons)
        assert_true(world.filled_occupied && !world.called_since);
    if (batch->begun) {
        assert_true(world.occupied && world.withheld);
        batch->begun(batch->begun_context);
    }
    assert_false(world.occupied || world.withheld);
    world.called_since += !batch->null;
    for (uint32_t i = 0; i < batch->count && !batch->null && runner->does == &baseline_does; i++)
        world.overwritten[batch->order[i]] |= world.shared && runner->kind == KF_RUNNER_PLAIN;
    world.empties += batch->null;
    world.empties_before = world.empties_since;
    world.empties_since = runner->does == &candidate_does ? 0 : world.empties_since + batch->null;
    if (runner->does == &candidate_does) world.longest = fmax(world.longest, batch->timeout);
    if (!batch->keep) runner->results = 0;
    if (!batch->null) runner->results += batch->count;
    world.changed = world.changes && world.candidates && runner->does == &oracle_does;
    if (world.failure && runner->does == world.failing && !batch->null &&
        (!world.starved || world.candidates))
        return batch->code = world.failure, KF_RUNNER_DEVICE_ERROR;
    if (batch->check) {
        world.checked = runner;
        if (++world.checks > 1 && world.second_check >= 0)
            return batch->code = world.second_check,
                   world.second_check ? KF_RUNNER_DEVICE_ERROR : KF_RUNNER_OK;
        kf_runner_timeout wait;
        kf_runner_timeout_begin(&wait, batch->timeout, world.now);
        while (world.check_event == KF_RUNNER_TIMEOUT &&
               kf_runner_timeout_look(&wait, 0, world.now))
            world.now += KF_RUNNER_TIMEOUT_TURN;
        return batch->code = world.check_code, world.check_event;
    }
    if (world.code_after && runner == world.checked)
        return batch->code = world.code_after, KF_RUNNER_DEVICE_ERROR;
    if (runner->does == world.hangs && !batch->null) {
        kf_runner_timeout wait;
        kf_runner_timeout_begin(&wait, batch->timeout, world.now);
        while (kf_runner_timeout_look(&wait, 0, world.now)) world.now += KF_RUNNER_TIMEOUT_TURN;
        return KF_RUNNER_TIMEOUT;
    }
    if (world.busy_for_ever && runner->does == &candidate_does) {
        kf_runner_timeout wait;
        kf_runner_timeout_begin(&wait, batch->timeout, world.now);
        while (kf_runner_timeout_look(&wait, 0, world.now))
            world.now += 20 * 2 * KF_RUNNER_TIMEOUT_TURN;
        batch->stalled = wait.stalled;
        batch->waking = 1e-4;
        return KF_RUNNER_TIMEOUT;
    }
    for (uint32_t i = 0; i < batch->count && !batch->null && runner->does != &oracle_does; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_true(batch->count > 900 || batch->count == 32 ||
                        batch->order[i] != batch->order[k]);
    double stall = uniform() < 0.02 ? -world.stall * log(uniform()) : 0;
    batch->waking = (again ? 30e-6 : 55e-6) + runner->waking + 2e-6 * fabs(normal());
    batch->seconds = (again ? 160e-6 : 185e-6) + runner->extra + 3e-6 * normal() + stall;
    batch->waking_work = 0.6 * batch->waking + (runner->does ? runner->does->meanwhile : 0);
    if (!batch->null) batch->seconds -= runner->does->meanwhile;
    if (!again && runner->kind == KF_RUNNER_TORCH)
        batch->seconds += world.cold_python * (1 + 0.1 * normal());
    if (!batch->null) {
        if (runner->kind == KF_RUNNER_TORCH && world.called != runner)
            batch->seconds += world.cold_calls * (1 + 0.1 * normal());
        if (runner->kind == KF_RUNNER_TORCH && runner->fills != world.fills)
            batch->seconds += world.cold_later * (1 + 0.1 * normal());
        if (runner->kind == KF_RUNNER_TORCH && !runner->read) batch->seconds += world.unread;
        world.called = runner;
        runner->fills = world.fills;
        runner->read = false;
        if (runner->does == &candidate_does && runner->kind == KF_RUNNER_TORCH && !batch->keep) {
            if (priming_call) {
                world.rehearsed = world.inputs;
                /* the judge must not reveal which sets are compared */
                assert_true(!world.varied || world.timed_on == world.inputs);
            } else {
                world.timed_on = world.inputs;
                assert_true(world.rehearsed != world.inputs);
            }
            batch->seconds +=
                priming_call ? candidate_does.ahead : -candidate_does.ahead - candidate_does.early;
            if (priming_call) batch->waking += candidate_does.early;
        }
        double seconds = calls_take(runner, batch->count);
        batch->seconds +=
            world.cached > 0 && batch->count == 32 && batch->order[3] == batch->order[0]
                ? world.cached * seconds
                : seconds;
        uint64_t before[1024];
        memcpy(before, world.holds, sizeof before);
        bool held = batch->running && !world.watchable;
        if (held) batch->running(batch->running_context);
        assert_true(world.open == UINT32_MAX);
        write_outputs(runner, batch);
        for (uint32_t i = 0; held && i < batch->count && runner->does->unsteady; i++)
            world.wrong[batch->order[i]] = world.held == 1;
        for (uint32_t i = 0; i < batch->count && runner->does->too_early; i++)
            if (before[batch->order[i]] != world.holds[batch->order[i]] &&
                (!runner->does->early_if_varied || world.varied_sets[batch->order[i]]))
                world.wrong[batch->order[i]] = true;
        for (uint32_t i = 0; i < batch->count; i++)
            runner->wrong[batch->order[i]] = world.wrong[batch->order[i]];
        if (runner->does == &oracle_does && world.clearing > 0)
            world.cleared = world.now + batch->seconds + world.clearing;
        if (runner->does->frees > 0 && world.timed_last == runner)
            world.cleared = world.now + batch->seconds + runner->does->frees;
        if (runner->does != &oracle_does) world.timed_last = runner;
    }
    if (!batch->null && batch->running && world.watchable) run_watched(batch);
    batch->claimed = batch->seconds - 20e-6;
    batch->gap = 0;
    batch->code = 0;
    world.now += batch->waking + batch->seconds + 50e-6;
    world.last = runner;
    if (batch->answered) batch->answered(batch->context);
    return KF_RUNNER_OK;
}

/* ---- the device ------------------------------------------------------------------------------ */

#define ARGUMENTS 4 /* of the task, and elements of its output */
#define ELEMENTS 60000

struct kf_sets {
    uint32_t count;
    kf_generator *generator; /* NULL: the device makes all inputs */
};

static int made_sets;

static bool place(kf_device *device, kf_runner_kind kind, kf_runner_place *place, kf_error *error)
{
    (void)device, (void)error;
    *place = (kf_runner_place){.kind = kind, .program = "runner"};
    return true;
}

static kf_sets *sets_new(kf_device *device, const kf_problem *problem, uint32_t count, bool truth,
                         kf_error *error)
{
    (void)problem, (void)truth;
    if (world.starved && world.candidates) {
        kf_fail(error, KF_ERROR_LIMIT, "no memory for sets");
        return NULL;
    }
    kf_sets *sets = calloc(1, sizeof *sets);
    assert_non_null(sets);
    sets->count = count;
    sets->generator = device->next_sets.generator;
    world.now += 0.005;
    made_sets++;
    return sets;
}

static void sets_free(kf_sets *sets)
{
    free(sets);
}

static kf_runner_event hand_over(kf_sets *sets, kf_runner *runner, kf_role role)
{
    (void)sets, (void)runner, (void)role;
    world.now += 0.003;
    return KF_RUNNER_OK;
}

static bool turn_to(kf_sets *sets, kf_role side, kf_error *error)
{
    (void)sets, (void)error;
    assert_true(side == KF_ROLE_CANDIDATE || side == KF_ROLE_BASELINE);
    world.given = world.given || side == KF_ROLE_CANDIDATE;
    return true;
}

static bool sides_share(const kf_sets *sets)
{
    (void)sets;
    return world.shared;
}

/* Takes the numbers of a set from the problem's own generator, if it has one. */
static bool take_row(kf_sets *sets, uint32_t source, kf_error *error)
{
    return !sets->generator || kf_generator_take(sets->generator, world.secret, source, 0, error);
}

static bool make_fresh(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (!take_row(sets, world.sources[list[i]] + sets->count, error)) return false;
    return true;
}

/* As on a GPU: `fill` and `poison` end a snapshot, and the next one compares it first. */
static void forget_snapshot(void)
{
    memset(world.looked, 0, sizeof world.looked);
    memset(world.overwritten, 0, sizeof world.overwritten);
    world.late = false;
}

static bool fill(kf_sets *sets, uint64_t secret, const kf_set_variation *variations,
                 kf_error *error)
{
    world.secret = secret;
    forget_snapshot();
    for (uint32_t i = 0; i < sets->count; i++)
        if (!take_row(sets, world.sources[i] = i, error)) return false;
    world.now += sets->count * world.set_seconds;
    world.inputs = secret;
    world.varied = false;
    for (uint32_t i = 0; i < sets->count; i++) {
        world.varied_sets[i] = variations[i].argument >= 0;
        world.varied = world.varied || world.varied_sets[i];
    }
    world.fills++;
    world.filled_occupied = world.occupied;
    world.called_since = 0;
    for (uint32_t i = 0; i < sets->count; i++)
        world.holds[i] = world.original[i] = world.seen[i] = secret + i;
    return true;
}

/* A part of an input looks like its set's number of inputs, until the judge writes to it. Outputs
 * of a candidate that says too early what has ended change once more. */
static bool read_part(kf_sets *sets, uint32_t set, int argument, const kf_part *part, void *data,
                      kf_error *error)
{
    unsigned char *bytes = data;
    (void)error;
    assert_true(set < sets->count && part->bytes >= 8 && part->bytes <= 4096);
    bool input = argument == 0;
    uint64_t pattern = input                                               ? world.original[set]
                       : candidate_does.claims && !candidate_does.finishes ? (world.begun > 0)
                                                                           : 7;
    for (uint32_t i = 0; i < part->bytes; i++) bytes[i] = (unsigned char)(pattern >> i % 8 * 8);
    if (input && world.holds[set] != world.original[set])
        memcpy(data, world.parts[set], part->bytes);
    return true;
}

static bool write_part(kf_sets *sets, uint32_t set, int argument, const kf_part *part,
                       const void *data, bool live, kf_error *error)
{
    (void)live;
    unsigned char before[4096];
    uint64_t holds = world.holds[set];
    (void)argument;
    world.holds[set] = world.original[set];
    read_part(sets, set, 0, part, before, error);
    memcpy(world.parts[set], data, part->bytes);
    if (memcmp(before, data, part->bytes) != 0)
        world.holds[set] = holds == world.original[set] ? holds + 1000000 : holds;
    return true;
}

static bool accept_input(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    (void)error;
    return set < sets->count && argument == 0;
}

static bool poison(kf_sets *sets, kf_role side, uint64_t secret, kf_error *error)
{
    (void)secret;
    turn_to(sets, side, error);
    forget_snapshot();
    world.now += sets->count * world.set_seconds;
    world.samples = 0;
    return true;
}

static void cache_flush(kf_sets *sets, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) assert_true(list[i] < sets->count);
    world.now += 50e-6;
}

static bool occupy(kf_sets *sets, kf_error *error)
{
    (void)sets, (void)error;
    world.occupations += !world.occupied;
    if (!world.occupied) world.given = world.is_long = false;
    world.occupied = true;
    return true;
}

static bool withhold(kf_sets *sets, kf_error *error)
{
    (void)sets, (void)error;
    assert_true(world.occupied && !world.withheld);
    world.withheld = true;
    return true;
}

static void vacate(kf_sets *sets)
{
    (void)sets;
    if (world.occupied) world.now += 8e-6;
    world.occupied = world.withheld = false;
}

static bool interruption(kf_sets *sets, double *seconds, kf_error *error)
{
    (void)sets, (void)error;
    double part = world.candidates ? world.busy_with : world.busy_without;
    *seconds = uniform() < part ? 0.6e-3 : 0;
    if (world.waits > 0 && world.candidates && world.given && world.is_long)
        *seconds = uniform() < world.waits ? 0.6e-3 : 0;
    world.busy = *seconds > 0;
    return true;
}

static void memory_settle(kf_device *device, double most)
{
    (void)device;
    double longer = fmin(fmax(world.cleared - world.now, 0), most);
    world.waited += longer;
    world.now += longer + 50e-6;
}

static bool inspect(kf_sets *sets, const bool *chosen, kf_damage *damage, kf_error *error)
{
    (void)chosen, (void)error;
    world.now += sets->count * world.set_seconds / 2;
    *damage = (kf_damage){.kind = world.changed ? KF_DAMAGE_INPUT : KF_DAMAGE_NONE};
    return true;
}

static bool settled(kf_sets *sets, kf_damage *damage, kf_error *error)
{
    (void)error;
    for (uint32_t i = 0; i < sets->count; i++)
        world.late = world.late || (world.looked[i] && world.overwritten[i]);
    if (world.busy && world.late_when_busy > 0) world.late_when_busy--, world.late = true;
    world.late = world.late || world.always_late;
    *damage = (kf_damage){.kind = world.late ? KF_DAMAGE_LATE : KF_DAMAGE_NONE};
    return true;
}

static bool snapshot(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    kf_damage before;
    settled(sets, &before, error);
    memset(world.looked, 0, sizeof world.looked);
    memset(world.overwritten, 0, sizeof world.overwritten);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(list[i] < sets->count);
        world.looked[list[i]] = true;
    }
    return true;
}

static bool device_compare(kf_sets *sets, const uint32_t *list, uint32_t count,
                           kf_device_compare *comparisons, kf_error *error)
{
    (void)error;
    world.now += count * world.set_seconds / 2;
    world.comparisons++;
    assert_true(count <= sets->count);
    for (uint32_t i = 0; i < count; i++) assert_true(world.truth[list[i]] == world.holds[list[i]]);
    for (uint32_t i = 0; i < count && candidate_does.reads_all; i++)
        world.wrong[list[i]] = world.of_candidate[list[i]] &&
                               world.holds[list[i]] != world.original[list[i]] &&
                               world.seen[list[i]] == world.original[list[i]];
    for (uint32_t i = 0; i < count * ARGUMENTS; i++) {
        uint32_t set = list[i / ARGUMENTS];
        double deviation = (world.holds[set] * 0x9e3779b97f4a7c15u) >> 62
                               ? 0
                               : world.errors[world.of_candidate[set]];
        comparisons[i] =
            (kf_device_compare){.known = !world.wrong[set],
                                .sums = {.sum_square = ELEMENTS * deviation * deviation,
                                         .max = 3 * deviation,
                                         .count = ELEMENTS,
                                         .scale_square = ELEMENTS,
                                         .scale_max = 4,
                                         .first_nonfinite = -1}};
    }
    return true;
}

/* Fetches a full output only to report a mismatch element by element. */
static const void *output(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    static const float poison[ELEMENTS] = {-7}, zeros[ELEMENTS];
    (void)sets, (void)argument, (void)error;
    if (world.explains && !world.wrong[set]) return zeros;
    assert_true(world.wrong[set]);
    return poison;
}

static const void *truth(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    static double ones[ELEMENTS];
    (void)sets, (void)set, (void)argument, (void)error;
    for (int i = 0; i < ELEMENTS; i++) ones[i] = 1;
    return ones;
}

static bool prepare_truth(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    (void)sets, (void)list, (void)count, (void)error;
    return true;
}

static bool copy_input(kf_sets *sets, uint32_t from, uint32_t to, int argument, kf_error *error)
{
    assert_true(to < sets->count);
    world.sources[to] = from == KF_FRESH_INPUT   ? world.sources[to] + sets->count
                        : from == KF_PLAIN_INPUT ? from
                                                 : world.sources[from];
    if (argument == 0 && !take_row(sets, world.sources[to], error)) return false;
    world.holds[to] = from == KF_FRESH_INPUT   ? ~world.inputs + to
                      : from == KF_PLAIN_INPUT ? ~world.inputs
                                               : world.holds[from];
    world.original[to] = world.seen[to] = world.holds[to];
    return true;
}

static bool hold(kf_sets *sets, uint32_t open, kf_error *error)
{
    (void)error;
    assert_true(open == UINT32_MAX || open < sets->count);
    world.open = open;
    world.holding = open != UINT32_MAX;
    return true;
}

static bool cached(kf_sets *sets, uint32_t set, bool again, double *share, kf_error *error)
{
    (void)error;
    assert_true(set < sets->count);
    assert_true(again == (world.open != UINT32_MAX));
    *share = !again ? 0
             : candidate_does.cached_seldom && world.cache_looks++ % candidate_does.cached_seldom
                 ? 0
                 : candidate_does.cached_share;
    return true;
}

static bool release_stream(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    (void)error;
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(list[i] < sets->count);
        world.holds[list[i]] += 1ull << 40;
        world.sources[list[i]] += sets->count;
        if (!take_row(sets, world.sources[list[i]], error)) return false;
    }
    world.holding = false;
    world.held += world.open != UINT32_MAX;
    world.open = UINT32_MAX;
    return true;
}

static bool take_samples(kf_sets *sets, uint64_t nonce, const uint32_t *order, uint32_t count,
                         kf_error *error)
{
    (void)nonce, (void)error;
    assert_true(count > 0 && order[0] < sets->count);
    world.samples++;
    return true;
}

static bool check_samples(kf_sets *sets, kf_damage *damage, kf_error *error)
{
    (void)sets, (void)error;
    assert_true(world.samples > 0);
    *damage = (kf_damage){.kind = candidate_does.too_late ? KF_DAMAGE_UNORDERED : KF_DAMAGE_NONE,
                          .argument = 1};
    return true;
}

static void sample(kf_device *device, kf_sample *sample)
{
    (void)device;
    sample->throttle = world.throttle;
}

static double floor_seconds(const kf_device *device, const kf_problem *problem)
{
    (void)device, (void)problem;
    return 0.2e-6;
}

static bool fetch(kf_sets *sets, kf_runner *runner, kf_role role, const uint32_t *list,
                  uint32_t count, const bool *called, kf_fetch_fault *fault, kf_error *error)
{
    (void)sets, (void)called, (void)error;
    assert_true(runner->results >= count);
    runner->read = true;
    for (uint32_t i = 0; i < count; i++) {
        world.overwritten[list[i]] |= world.shared && role == KF_ROLE_BASELINE;
        world.wrong[list[i]] = runner->wrong[list[i]];
        world.of_candidate[list[i]] = role == KF_ROLE_CANDIDATE;
    }
    *fault = (kf_fetch_fault){0};
    /* Memory is shared by results that are there at the same time. */
    if (role == KF_ROLE_CANDIDATE && runner->results > 1 && world.shares_from &&
        runner->calls > world.shares_from)
        snprintf(fault->rule, sizeof fault->rule, "output.aliased");
    return true;
}

static const kf_device_operations operations = {.kind = "cuda",
                                                .place = place,
                                                .error_status = kf_cuda_error_status,
                                                .floor_seconds = floor_seconds,
                                                .sample = sample,
                                                .buffers.sets_new = sets_new,
                                                .buffers.sets_free = sets_free,
                                                .buffers.hand_over = hand_over,
                                                .buffers.turn_to = turn_to,
                                                .buffers.sides_share = sides_share,
                                                .buffers.fill = fill,
                                                .buffers.poison = poison,
                                                .buffers.cache_flush = cache_flush,
                                                .buffers.occupy = occupy,
                                                .buffers.withhold = withhold,
                                                .buffers.vacate = vacate,
                                                .buffers.interruption = interruption,
                                                .memory_settle = memory_settle,
                                                .buffers.inspect = inspect,
                                                .buffers.snapshot = snapshot,
                                                .buffers.settled = settled,
                                                .buffers.device_compare = device_compare,
                                                .buffers.output = output,
                                                .buffers.truth = truth,
                                                .buffers.prepare_truth = prepare_truth,
                                                .buffers.copy_input = copy_input,
                                                .buffers.make_fresh = make_fresh,
                                                .buffers.read_part = read_part,
                                                .buffers.write_part = write_part,
                                                .buffers.accept_input = accept_input,
                                                .python.fetch = fetch};

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef struct machine {
    kf_device device; /* these figures are those of device_cuda.c */
    kf_runner_pool *pool;
    kf_parallel *parallel;
    kf_task *task;
    kf_problem problem;
    kf_job_options options;
    kf_runner_kind kinds[3]; /* by role */
    bool compiled;           /* the baseline */
    double spoiled;          /* seconds of earlier rounds, given back to the deadline */
} machine;

static machine *started(double baseline)
{
    machine *m = calloc(1, sizeof *m);
    kf_error error = {0};
    bool applies;
    assert_non_null(m);
    memset(&world, 0, sizeof world);
    world.now = 1000;
    world.open = UINT32_MAX;
    world.random = 1;
    world.set_seconds = 0.0001;
    baseline_does = candidate_does = (behaviour){.call = baseline, .jitter = 0.003};
    oracle_does = (behaviour){.call = 1e-4};
    m->device = (kf_device){.operations = &operations,
                            .default_seconds = 3,
                            .batch_seconds = 0.002,
                            .launch_bound = 10e-6,
                            .launch_bias = 0.8e-6,
                            .batch_bias = 5e-6,
                            .python_bias = 30e-6,
                            .python_cold = 300e-6,
                            .slow_start = true,
                            .floor_margin = 0.9,
                            .least_call = 1.5e-6,
                            .most_sets = 1024,
                            .set_bytes = 40u << 20};
    m->pool = kf_runner_pool_new(&m->device);
    m->parallel = kf_parallel_new();
    m->task = kf_task_load(KFORGE_SOURCE_DIR "/tests/selftest/scale", &error);
    if (!m->pool || !m->parallel || !m->task ||
        !kf_task_resolve(m->task, 0, "cuda", &m->problem, &applies, &error))
        fail_msg("%s", error.text);
    assert_true(m->problem.argument_count == ARGUMENTS &&
                m->problem.arguments[1].elements == ELEMENTS);
    m->options = kf_job_options_default();
    m->options.seconds = 3;
    return m;
}

static void stopped(machine *m)
{
    kf_runner_pool_free(m->pool);
    kf_parallel_free(m->parallel);
    kf_task_free(m->task);
    free(m);
}

/* Returns the verdict on the candidate as configured. The caller frees it. */
static const char *await_candidate(void *context, bool *failed, kf_error *error)
{
    (void)context, (void)failed, (void)error;
    world.now += world.building;
    return "candidate";
}

static kf_verdict *judged_or_failed(machine *m, int number, kf_error *error)
{
    kf_secret secret;
    char key[16];
    snprintf(key, sizeof key, "%x", 1000 + number);
    assert_true(kf_secret_new(&secret, key, error));
    world.comparisons = 0;
    world.later_calls = 0;
    kf_verdict *verdict = kf_verdict_new("id", "scale", "cuda");
    kf_workbench bench = {
        .device = &m->device,
        .parallel = m->parallel,
        .options = &m->options,
        .kinds = {[KF_ROLE_CANDIDATE] = m->kinds[KF_ROLE_CANDIDATE],
                  [KF_ROLE_BASELINE] = m->kinds[KF_ROLE_BASELINE],
                  [KF_ROLE_ORACLE] = m->kinds[KF_ROLE_ORACLE]},
        .task = m->task,
        .problem = &m->problem,
        .programs = {.candidate = world.building > 0 ? NULL : "candidate",
                     .await_candidate = await_candidate,
                     .baseline = "baseline",
                     .oracle = "oracle",
                     .compiled = m->compiled},
        .pool = m->pool,
        .round = {.spare = 1, .last = true},
        .secret = &secret,
        .seconds = m->options.seconds > 0 ? m->options.seconds : m->device.default_seconds,
        .clock = kf_clock_begin_job(m->options.timeout_seconds, world.now - m->spoiled),
        .verdict = verdict,
        .result = kf_verdict_add_workload(verdict, "main", true)};
    bench.clock.deadline += m->spoiled;
    if (!kf_measure_workload(&bench, error)) assert_true(error->code != KF_ERROR_NONE);
    world.coarse = bench.found.coarse;
    world.waited_for_others = bench.waited;
    return verdict;
}

static kf_verdict *judged(machine *m, int number)
{
    kf_error error = {0};
    kf_verdict *verdict = judged_or_failed(m, number, &error);
    if (error.code != KF_ERROR_NONE) fail_msg("%s", error.text);
    return verdict;
}

/* Returns the calls of each counted sample of side `side`, or -1 if the samples differ. Stores the
 * number of samples in `pairs` unless it is NULL. */
static int calls_of(const kf_workload_verdict *w, char side, int *pairs)
{
    int calls = 0, count = 0;
    for (size_t i = 0; i < w->sample_count; i++) {
        if (w->samples[i].side != side || (w->samples[i].pair < 0 && side != 'a')) continue;
        if (calls && w->samples[i].calls != calls) return -1;
        calls = w->samples[i].calls;
        count++;
    }
    if (pairs) *pairs = count;
    return calls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Judges many jobs in a row. Call lengths range from calls hidden behind their launch to calls of
 * which one fills a batch. Each honest candidate is correct, every figure is present, and the
 * intervals contain the true speedup. */
static void honest_candidates_are_judged_rightly(void **state)
{
    (void)state;
    static const double calls[] = {3.5e-6, 8e-6, 21e-6, 108e-6, 650e-6, 2.1e-3, 4.7e-3};
    static const double speedups[] = {1, 1.02, 0.06, 0.3, 1.4, 2.5, 12};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
        for (size_t s = 0; s < sizeof speedups / sizeof *speedups; s++) {
            enum { JOBS = 40 };
            double off[JOBS];
            int inside = 0;
            if (calls[c] / speedups[s] < 3e-6) continue; /* no call is shorter than its launch */
            machine *m = started(calls[c]);
            world.stall = 0.0005;
            candidate_does.call = calls[c] / speedups[s];
            for (int i = 0; i < JOBS; i++) {
                kf_verdict *v = judged(m, i);
                const kf_workload_verdict *w = v->workloads;
                if (w->finding_count)
                    fail_msg("%g us, %gx: %s", calls[c] * 1e6, speedups[s], w->findings[0].text);
                assert_true(w->speedup.low > 0 && w->speedup.high >= w->speedup.low &&
                            isfinite(w->speedup.high));
                assert_true(isfinite(w->speedup.value) && w->baseline_seconds > 0 &&
                            w->candidate_seconds > 0);
                int pairs[2] = {0},
                    made[2] = {calls_of(w, 'b', &pairs[0]), calls_of(w, 'c', &pairs[1])};
                assert_true(made[0] > 0 && made[1] > 0 && made[0] < w->sets && made[1] < w->sets);
                assert_true(pairs[0] == w->pairs && pairs[1] == w->pairs && w->pairs >= 8);
                inside += w->speedup.low <= speedups[s] && speedups[s] <= w->speedup.high;
                off[i] = fabs(w->speedup.value / speedups[s] - 1);
                kf_verdict_free(v);
            }
            qsort(off, JOBS, sizeof *off, compare);
            if (getenv("KFORGE_TEST_WORDS"))
                print_message("%g us, %gx: %d of %d inside, median deviation %.2f %%\n",
                              calls[c] * 1e6, speedups[s], inside, JOBS, 100 * off[JOBS / 2]);
            assert_true(inside >= 36);
            assert_true(off[JOBS / 2] <
                        (fmin(calls[c], candidate_does.call) < 10e-6 ? 0.15 : 0.01));
            stopped(m);
        }
}

/* A Python process is 0.1 ms slower if the last batch was another process's. It is slower still if
 * another process made calls since its own. If memory is short, a batch has only a few calls. A
 * rehearsal absorbs the cold start. A candidate rehearses on other inputs than those of the timed
 * batch. The figures must be those of the calls. The interval must include the difference between
 * two processes. */
static void who_computes_in_python_rehearses(void **state)
{
    (void)state;
    static const struct {
        kf_runner_kind candidate, baseline, oracle;
    } rows[] = {{KF_RUNNER_TORCH, KF_RUNNER_TORCH, KF_RUNNER_TORCH},
                {KF_RUNNER_PLAIN, KF_RUNNER_TORCH, KF_RUNNER_TORCH},
                {KF_RUNNER_TORCH, KF_RUNNER_PLAIN, KF_RUNNER_PLAIN},
                {KF_RUNNER_PLAIN, KF_RUNNER_TORCH, KF_RUNNER_PLAIN}};
    static const double calls[] = {60e-6, 1.1e-3, 3.3e-3};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            enum { JOBS = 40 };
            double off[JOBS], widths[JOBS], times[2][JOBS], singles[2][JOBS];
            int inside = 0, made = 0;
            machine *m = started(calls[c]);
            m->kinds[KF_ROLE_CANDIDATE] = rows[k].candidate;
            m->kinds[KF_ROLE_BASELINE] = rows[k].baseline;
            m->kinds[KF_ROLE_ORACLE] = rows[k].oracle;
            m->device.set_bytes = 3u << 20; /* twelve sets */
            world.cold_python = 1e-4;
            world.cold_calls = 1.5e-4;
            world.cold_later = 8e-5;
            world.python_extra = 1.5e-5;
            for (int i = 0; i < JOBS; i++) {
                kf_verdict *v = judged(m, i);
                const kf_workload_verdict *w = v->workloads;
                if (w->finding_count)
                    fail_msg("%g us, kinds %zu: %s", calls[c] * 1e6, k, w->findings[0].text);
                inside += w->speedup.low <= 1 && 1 <= w->speedup.high;
                off[i] = w->speedup.value;
                widths[i] = w->speedup.high / w->speedup.low - 1;
                made = calls_of(w, 'b', NULL);
                times[0][i] = w->baseline_seconds;
                times[1][i] = w->candidate_seconds;
                singles[0][i] = w->latency_baseline_seconds;
                singles[1][i] = w->latency_candidate_seconds;
                kf_verdict_free(v);
            }
            double middle = kf_median(off, JOBS), width = kf_median(widths, JOBS),
                   batch = made * calls[c];
            if (getenv("KFORGE_TEST_WORDS"))
                print_message("kinds %zu, %g us, %d calls: %d of %d inside, median %.4f, width "
                              "%.4f; %.1f and %.1f us, alone %.1f and %.1f\n",
                              k, calls[c] * 1e6, made, inside, JOBS, middle, width,
                              kf_median(times[0], JOBS) * 1e6, kf_median(times[1], JOBS) * 1e6,
                              kf_median(singles[0], JOBS) * 1e6, kf_median(singles[1], JOBS) * 1e6);
            assert_true(inside >= 36);
            double bias = rows[k].candidate != rows[k].baseline ? m->device.python_cold : 4.3e-5;
            assert_true(width < 0.013 + pow(1 + 1.25 * bias / batch, 2) - 1);
            /* The baseline keeps one process throughout. */
            double left_of_one =
                rows[k].candidate == KF_RUNNER_TORCH && rows[k].baseline != KF_RUNNER_TORCH
                    ? world.cold_later
                    : 0;
            assert_true(fabs(middle - 1 / (1 + left_of_one / batch)) < 0.003 + 4e-5 / batch);
            for (int side = 0; side < 2; side++) {
                /* A Python candidate keeps some cold cost: it must not rehearse on the inputs of
                 * the timed batch. Its baseline gets the same treatment. */
                double left = rows[k].candidate == KF_RUNNER_TORCH &&
                                      (side || rows[k].baseline == KF_RUNNER_TORCH)
                                  ? world.cold_later
                                  : 0;
                double more = kf_median(times[side], JOBS) - calls[c] - left / made;
                assert_true(fabs(more) < 4e-5 / made);
                if (made > 1) assert_true(fabs(kf_median(singles[side], JOBS) - calls[c]) < 6e-5);
            }
            stopped(m);
        }
}

/* No process rehearses on a CPU. A PyTorch process is faster in its next batch if its results were
 * just fetched. So the judge fetches the baseline's results too, even if it does not compare
 * them. */
static void both_sides_hand_over_what_they_computed(void **state)
{
    (void)state;
    machine *m = started(1.6e-3);
    for (int role = 0; role < 3; role++) m->kinds[role] = KF_RUNNER_TORCH;
    m->device.slow_start = false;
    m->device.calls_block = true;
    m->device.python_bias = 0;
    m->device.set_bytes = 3u << 20; /* twelve sets */
    world.unread = 1e-3;
    for (int i = 0; i < 10; i++) {
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) fail_msg("%s", w->findings[0].text);
        if (!(fabs(w->speedup.value - 1) < 0.02)) fail_msg("%g", w->speedup.value);
        double alone = 0, beside = 0;
        int counts[2] = {0};
        for (size_t k = 0; k < w->sample_count; k++) {
            if (w->samples[k].side == 'a')
                alone += w->samples[k].seconds / w->samples[k].calls, counts[0]++;
            if (w->samples[k].side == 'b' && w->samples[k].pair >= 0)
                beside += w->samples[k].seconds / w->samples[k].calls, counts[1]++;
        }
        assert_true(fabs(alone / counts[0] / (beside / counts[1]) - 1) < 0.02);
        kf_verdict_free(v);
    }
    stopped(m);
}

/* A candidate faster than the baseline makes calls on sets that held other inputs in the baseline's
 * single call. The judge compares each output with the truth of the inputs of its own call, as the
 * other tests check (survey). */
static void a_faster_one_in_python_has_its_own_inputs_truth(void **state)
{
    (void)state;
    machine *m = started(1.1e-3);
    for (int role = 0; role < 3; role++) m->kinds[role] = KF_RUNNER_TORCH;
    m->device.set_bytes = 12u << 20;
    candidate_does.call = 1.1e-4;
    for (int i = 0; i < 10; i++) {
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) fail_msg("%s", w->findings[0].text);
        assert_true(calls_of(w, 'c', NULL) > calls_of(w, 'b', NULL));
        assert_true(w->speedup.low <= 10 && 10 <= w->speedup.high);
        kf_verdict_free(v);
    }
    stopped(m);
}

static uint32_t two_sets(const kf_device *device, const kf_problem *problem, bool own_results)
{
    (void)device, (void)problem, (void)own_results;
    return 2;
}

static uint32_t one_set(const kf_device *device, const kf_problem *problem, bool own_results)
{
    (void)device, (void)problem;
    return own_results ? 1 : 2;
}

static uint32_t one_truth(const kf_sets *sets)
{
    (void)sets;
    return 1;
}

/* If memory has no room for three sets, a batch is one call on one of two sets. That holds even if
 * later jobs find more room. Memory holds the truth of one set at a time. */
static void two_sets_are_enough(void **state)
{
    (void)state;
    static const double speedups[] = {1, 0.2, 3};
    for (int python = 0; python < 2; python++)
        for (size_t s = 0; s < sizeof speedups / sizeof *speedups; s++) {
            machine *m = started(6e-3);
            kf_device_operations few = operations;
            few.python.least_sets = two_sets;
            few.buffers.truth_room = one_truth;
            m->device.operations = &few;
            if (s) m->device.set_bytes = 1;
            m->kinds[KF_ROLE_CANDIDATE] = python ? KF_RUNNER_TORCH : KF_RUNNER_PLAIN;
            m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] = KF_RUNNER_TORCH;
            candidate_does.call = 6e-3 / speedups[s];
            /* the second job may reuse the first job's figures */
            for (int job = 0; job < 2; job++) {
                kf_verdict *v = judged(m, job);
                const kf_workload_verdict *w = v->workloads;
                if (w->finding_count) fail_msg("%g times: %s", speedups[s], w->findings[0].text);
                assert_int_equal(w->sets, 2);
                assert_true(calls_of(w, 'b', NULL) == 1 && calls_of(w, 'c', NULL) == 1 &&
                            w->pairs >= 8);
                assert_true(w->speedup.low <= speedups[s] && speedups[s] <= w->speedup.high);
                assert_true(fabs(w->speedup.value / speedups[s] - 1) < 0.03);
                kf_verdict_free(v);
            }
            stopped(m);
        }
}

static bool hold_results(kf_sets *sets, const uint32_t *list, uint32_t count, kf_error *error)
{
    (void)sets, (void)error;
    assert_true(count == 1 && list[0] == 0);
    world.held_results++;
    return true;
}

/* If memory has room for one set only, a batch is one call, and every call has inputs of its own.
 * One more call shows whether results share memory. An error within the limits does not accuse
 * anything: the baseline runs on the same set. A candidate in CUDA C has two sets. */
static void one_set_is_enough_in_python(void **state)
{
    (void)state;
    static const double speedups[] = {1, 0.2, 3};
    for (int python = 0; python < 2; python++)
        for (size_t s = 0; s < sizeof speedups / sizeof *speedups; s++) {
            machine *m = started(6e-3);
            kf_device_operations few = operations;
            few.python.least_sets = one_set;
            few.python.hold_results = hold_results;
            few.buffers.truth_room = one_truth;
            m->device.operations = &few;
            m->device.set_bytes = 1;
            m->kinds[KF_ROLE_CANDIDATE] = python ? KF_RUNNER_TORCH : KF_RUNNER_PLAIN;
            m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] = KF_RUNNER_TORCH;
            candidate_does.call = 6e-3 / speedups[s];
            world.errors[0] = world.errors[1] = s == 1 ? 1e-4 : 0;
            for (int job = 0; job < 2; job++) {
                world.held_results = 0;
                kf_verdict *v = judged(m, job);
                const kf_workload_verdict *w = v->workloads;
                if (w->finding_count) fail_msg("%g times: %s", speedups[s], w->findings[0].text);
                assert_int_equal(w->sets, python ? 1 : 2);
                if (python)
                    assert_true(world.held_results > 0);
                else
                    assert_int_equal(world.held_results, 0);
                assert_true(calls_of(w, 'b', NULL) == 1 && calls_of(w, 'c', NULL) == 1 &&
                            w->pairs >= 8);
                assert_true(w->speedup.low <= speedups[s] && speedups[s] <= w->speedup.high);
                kf_verdict_free(v);
            }
            stopped(m);
        }
}

/* Results that begin to share memory in a later pair are found, with one set and with two. A task
 * may allow that. */
static void later_pairs_look_for_shared_results(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        machine *m = started(6e-3);
        kf_device_operations few = operations;
        few.python.least_sets = two ? two_sets : one_set;
        few.python.hold_results = hold_results;
        m->device.operations = &few;
        m->device.set_bytes = 1;
        for (int role = 0; role < 3; role++) m->kinds[role] = KF_RUNNER_TORCH;
        candidate_does.call = 6e-3;
        world.shares_from = 12;
        kf_verdict *v = judged(m, 0);
        assert_int_equal(v->workloads->sets, two ? 2 : 1);
        assert_int_equal(v->workloads->finding_count, 1);
        assert_string_equal(v->workloads->findings[0].rule, "output.aliased");
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A candidate that does part of a batch's work in the rehearsal gains no more than the cold cost.
 * It may do so in the call or while it is woken (a signal handler, a finalizer of a result). */
static void work_in_a_rehearsal_is_charged(void **state)
{
    (void)state;
    static const kf_runner_kind baselines[] = {KF_RUNNER_TORCH, KF_RUNNER_PLAIN};
    for (int i = 0; i < 4; i++) {
        machine *m = started(1.1e-3);
        m->kinds[KF_ROLE_CANDIDATE] = KF_RUNNER_TORCH;
        m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] = baselines[i % 2];
        m->device.set_bytes = 3u << 20;
        *(i < 2 ? &candidate_does.ahead : &candidate_does.early) = 3.5e-3; /* of 5.5 ms */
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) fail_msg("%s", w->findings[0].text);
        assert_int_equal(calls_of(w, 'c', NULL), 5);
        if (w->speedup.value > 1.2) fail_msg("%g", w->speedup.value);
        kf_verdict_free(v);
        candidate_does.ahead = candidate_does.early = 0;
        v = judged(m, 10 + i);
        if (!(fabs(v->workloads->speedup.value - 1) < 0.03))
            fail_msg("honest: %g", v->workloads->speedup.value);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A thread that works while the runner is woken gains little: its processor time is charged. */
static void work_while_waking_is_charged(void **state)
{
    (void)state;
    /* 400 seeds: mean 0.98, deviation 0.004 to 0.006; of 20 seeds 0.001. Without the charge 1.18.
     */
    for (int more = 0, jobs = 20; more < 2; more++) {
        double sum = 0;
        for (int i = 0; i < jobs; i++) {
            machine *m = started(1.1e-3);
            m->device.calls_block = true;
            world.random = (uint64_t)i + 1;
            candidate_does.meanwhile = more ? 400e-6 : 0;
            kf_verdict *v = judged(m, more + 2 * i);
            const kf_workload_verdict *w = v->workloads;
            if (w->finding_count) fail_msg("%s", w->findings[0].text);
            sum += w->speedup.value;
            kf_verdict_free(v);
            stopped(m);
        }
        if (!(fabs(sum / jobs - 1) < 0.025)) fail_msg("%d: %g", more, sum / jobs);
    }
}

/* A wrong candidate is called with other orders of threads. These calls have the limit of the
 * others, not the time of a whole job each. */
static void a_wrong_candidate_gets_no_more_time(void **state)
{
    (void)state;
    machine *m = started(1.1e-3);
    m->device.calls_block = true;
    m->device.slow_start = false;
    candidate_does.left_out = 2;
    world.explains = true;
    kf_verdict *v = judged(m, 0);
    assert_string_equal(v->workloads->findings[0].rule, "output.mismatch");
    assert_true(world.longest > 1 && world.longest < m->options.timeout_seconds / 10);
    kf_verdict_free(v);
    stopped(m);
}

/* Two processes with the same code differ for their whole lives. No interval may report that
 * difference as a speedup. The difference is large if calls wait for their launch and small if
 * calls are long. */
static void what_processes_differ_by_is_no_speedup(void **state)
{
    (void)state;
    static const struct {
        double call, differs; /* a part of it */
        bool covered;
    } rows[] = {{4e-6, 0.1, true},
                {17.4e-6, 0.01, true},
                {22e-6, 0.005, true},
                {17.4e-6, 0.06, false},
                {108e-6, 0.02, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(rows[i].call);
        int covered = 0;
        candidate_does.call = rows[i].call * (1 + rows[i].differs);
        for (int job = 0; job < 10; job++) {
            kf_verdict *v = judged(m, job);
            const kf_workload_verdict *w = v->workloads;
            if (w->finding_count) fail_msg("%g us: %s", rows[i].call * 1e6, w->findings[0].text);
            covered += w->speedup.low <= 1 && 1 <= w->speedup.high;
            kf_verdict_free(v);
        }
        if (rows[i].covered ? covered < 10 : covered > 0)
            fail_msg("%g us, %g: %d of 10", rows[i].call * 1e6, rows[i].differs, covered);
        stopped(m);
    }
}

/* A job reuses the baseline's figures from the job before it. If a new baseline process replaces
 * the old one, the judge measures it like the first. */
static void a_new_process_of_the_baseline_is_measured_like_the_first(void **state)
{
    (void)state;
    machine *m = started(21e-6);
    int first = 0, alone = 0;
    for (int i = 0; i < 450; i++) {
        kf_verdict *v = judged(m, i);
        int calls = calls_of(v->workloads, 'b', NULL);
        if (!i) first = calls;
        alone += calls_of(v->workloads, 'a', NULL) > 0;
        if (calls < 0.9 * first || calls > 1.1 * first)
            fail_msg("%d calls make a batch in job %d, %d in the first", calls, i, first);
        kf_verdict_free(v);
    }
    /* at the beginning, every 20 s, and for every process */
    assert_true(alone >= 3 && alone < 200);
    stopped(m);
}

/* A candidate is ten times as slow until its warm-up or its first pairs are over. The judge must
 * not size its batches by the slow calls: that would give it a tenth of the calls. */
static void who_is_slow_at_first_gets_whole_batches(void **state)
{
    (void)state;
    for (int trial = 0; trial < 4; trial++) {
        machine *m = started(108e-6);
        if (trial % 2) kf_verdict_free(judged(m, 0)); /* the baseline's figures are recalled */
        candidate_does.slow = 10;
        candidate_does.slow_for =
            trial < 2
                ? 0.058
                : 0.068; /* warm-up takes 30 ms, the first pair another 30 ms, a short pair 3 ms */
        kf_verdict *v = judged(m, 1);
        const kf_workload_verdict *w = v->workloads;
        int pairs[2] = {0}, made[2] = {calls_of(w, 'b', &pairs[0]), calls_of(w, 'c', &pairs[1])};
        assert_int_equal(w->finding_count, 0);
        assert_int_equal(made[0], made[1]);
        assert_int_equal(pairs[0], w->pairs);
        assert_int_equal(pairs[1], w->pairs);
        assert_true(w->speedup.low <= 1 && w->speedup.high >= 1 &&
                    fabs(w->speedup.value - 1) < 0.01);
        bool thrown = false; /* samples on few calls stay in the record but do not count */
        for (size_t i = 0; i < w->sample_count; i++)
            thrown = thrown || (w->samples[i].side == 'c' && w->samples[i].calls < made[1] &&
                                w->samples[i].pair == -1);
        assert_true(thrown);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The baseline's times alone come from an earlier job. If the machine has slowed down since then,
 * the judge discards them, accuses no candidate, and measures anew in the next job. If the
 * candidate causes the slowdown, the verdict is interference. */
static void a_slower_baseline_is_the_machine_s_or_the_candidate_s_doing(void **state)
{
    (void)state;
    for (int disturbed = 0; disturbed < 2; disturbed++) {
        machine *m = started(108e-6);
        int news[4];
        for (int i = 0; i < 4; i++) {
            if (i == 2 && disturbed) world.disturbance = 1.1;
            if (i == 2 && !disturbed) baseline_does.call *= 1.1, candidate_does.call *= 1.1;
            kf_verdict *v = judged(m, i);
            const kf_workload_verdict *w = v->workloads;
            assert_int_equal(w->finding_count, disturbed && i >= 2);
            if (w->finding_count) assert_string_equal(w->findings[0].rule, "baseline.disturbed");
            if (!w->finding_count) assert_true(fabs(w->speedup.value - 1) < 0.01);
            news[i] = calls_of(w, 'a', NULL) > 0;
            kf_verdict_free(v);
        }
        assert_true(news[0] && !news[1] && news[2] && news[3]);
        stopped(m);
    }
}

/* The driver clears the oracle's freed temporaries for 65 ms. Meanwhile, calls on memory take 12 %
 * longer. That covers most of the baseline's calls and half of the candidate's. Without a wait, the
 * verdict would be "interference" or a false speedup. */
static void memory_that_is_cleared_is_waited_for(void **state)
{
    (void)state;
    static const double calls[] = {2e-3, 12e-3};
    for (int i = 0; i < 8; i++) {
        machine *m = started(calls[i % 2]);
        world.random = (uint64_t)i;
        world.clearing = 0.065;
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) fail_msg("%s: %s", w->findings[0].rule, w->findings[0].text);
        assert_true(fabs(w->speedup.value - 1) < 0.01);
        assert_true(world.waited > 0.065 * w->pairs);
        /* includes each of the baseline's batches alone */
        for (size_t s = 0; s < w->sample_count; s++)
            if (strchr("abc", w->samples[s].side) &&
                w->samples[s].seconds / w->samples[s].calls > 1.03 * calls[i % 2] + 300e-6)
                fail_msg("side %c, pair %d: %g s a call", w->samples[s].side, w->samples[s].pair,
                         w->samples[s].seconds / w->samples[s].calls);
        assert_int_equal(v->flag_count, 0);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A candidate frees memory so that the driver clears it during the baseline's batch and never
 * before its own batch. It recognizes the moment by being called twice. */
static void who_frees_memory_gains_nothing(void **state)
{
    (void)state;
    static const double frees[] = {0.02, 0.065, 0.15, 0.36};
    for (int i = 0; i < 8; i++) {
        machine *m = started(9e-3);
        world.random = (uint64_t)i;
        m->options.seconds = 20;
        m->options.half_width = 1e-6;
        candidate_does.frees = frees[i / 2];
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) fail_msg("%s: %s", w->findings[0].rule, w->findings[0].text);
        if (!(w->speedup.value < 1.01))
            fail_msg("frees for %g s: %g times, of %d pairs", frees[i / 2], w->speedup.value,
                     w->pairs);
        assert_true(w->pairs >= 8);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A flag says that the GPU was too hot while it was timed, and changes no status. */
static void a_hot_gpu_is_reported(void **state)
{
    (void)state;
    for (int hot = 0; hot < 2; hot++) {
        machine *m = started(2e-3);
        world.throttle = hot ? 0x60 : 0x2;
        kf_verdict *v = judged(m, 0);
        const kf_workload_verdict *w = v->workloads;
        char flag[64];
        snprintf(flag, sizeof flag, "clocks.throttled:main:%d:%d:heat", 2 * w->pairs, 2 * w->pairs);
        assert_int_equal(w->finding_count, 0);
        assert_int_equal(kf_verdict_has_flag(v, flag), hot);
        assert_int_equal(v->flag_count, hot);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A device that keeps clearing memory does not prolong a job without end. The verdict reports
 * it. */
static void nobody_waits_for_ever(void **state)
{
    (void)state;
    machine *m = started(2e-3);
    world.clearing = 1e6;
    double before = world.now;
    kf_verdict *v = judged(m, 0);
    assert_int_equal(v->workloads->finding_count, 0);
    assert_true(world.waited > 1 && world.waited <= 4.6 &&
                world.now - before < m->options.seconds + 10);
    assert_true(kf_verdict_has_flag(v, "memory.unquiet:main"));
    kf_verdict_free(v);
    stopped(m);
}

/* Jobs that time nothing do not wait. */
static void checks_do_not_wait(void **state)
{
    (void)state;
    machine *m = started(2e-3);
    m->options.check_only = true;
    world.clearing = 0.065;
    kf_verdict *v = judged(m, 0);
    assert_int_equal(v->workloads->status, KF_CORRECT);
    assert_true(world.waited == 0);
    kf_verdict_free(v);
    stopped(m);
}

/* A candidate that launches one kernel for a whole batch is found, even if the GPU's host
 * stalls. */
static void one_launch_for_a_batch_is_impossible(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        machine *m = started(3.5e-6);
        world.random = (uint64_t)i;
        world.stall = 0.0005;
        candidate_does.merged = true;
        kf_verdict *v = judged(m, i);
        assert_int_equal(v->workloads->finding_count, 1);
        assert_string_equal(v->workloads->findings[0].rule, "launch.undercut");
        kf_verdict_free(v);
        stopped(m);
    }
}

static void a_number_of_calls_that_falls_is_found(void **state)
{
    (void)state;
    kf_device_operations stoppable = operations;
    stoppable.buffers.occupy = NULL;
    machine *m = started(100e-6);
    m->device.operations = &stoppable;
    m->device.calls_block = true;
    world.watchable = candidate_does.falls = true;
    kf_verdict *v = judged(m, 1);
    assert_int_equal(v->workloads->finding_count, 1);
    assert_int_equal(v->workloads->findings[0].status, KF_CHEATING);
    assert_string_equal(v->workloads->findings[0].rule, "calls.early");
    assert_non_null(strstr(v->workloads->findings[0].text, "fell"));
    kf_verdict_free(v);
    stopped(m);
}

/* In some batches the judge overwrites inputs of later calls. A candidate that reads them in the
 * first call is found, also if it says that all calls have begun. An honest one is not. */
static void calls_that_read_ahead_are_found(void **state)
{
    (void)state;
    /* No occupation is needed where work stops with its process. */
    kf_device_operations stoppable = operations;
    stoppable.buffers.occupy = NULL;
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < 8; i++) {
            machine *m = started(100e-6);
            m->device.operations = &stoppable;
            m->device.calls_block = true;
            world.random = (uint64_t)i;
            world.watchable = true;
            candidate_does.reads_all = kind > 0;
            candidate_does.claims = kind > 1;
            candidate_does.finishes = kind > 2;
            kf_verdict *v = judged(m, i);
            const kf_workload_verdict *w = v->workloads;
            assert_true(world.looks > 0);
            /* A candidate that has done all of it by then is too quick to be watched. */
            assert_int_equal(w->finding_count, kind == 1 || kind == 2);
            if (kind == 1) assert_string_equal(w->findings[0].rule, "calls.early");
            if (kind == 2) assert_string_equal(w->findings[0].rule, "calls.late");
            if (w->finding_count) assert_int_equal(w->findings[0].status, KF_CHEATING);
            assert_int_equal(kf_verdict_has_flag(v, "calls.unwatched:main"), kind == 3);
            kf_verdict_free(v);
            stopped(m);
        }
    machine *m = started(100e-6);
    stoppable.buffers.make_fresh = NULL;
    m->device.operations = &stoppable;
    m->device.calls_block = true;
    world.watchable = true;
    for (int i = 0; i < ARGUMENTS; i++)
        if (m->problem.arguments[i].kind == KF_INPUT)
            m->problem.arguments[i].distribution =
                (kf_distribution){.kind = KF_CONSTANT, .generated = true};
    kf_verdict *v = judged(m, 0);
    assert_int_equal(world.looks, 0);
    assert_int_equal(v->workloads->finding_count, 0);
    assert_true(kf_verdict_has_flag(v, "calls.unwatched:main"));
    kf_verdict_free(v);
    stopped(m);
}

/* The candidate leaves out one call only, in a batch or a single call, long after the first pairs.
 * A judge that compared a quarter of the calls missed three of four such candidates. */
static void no_call_is_left_out_unnoticed(void **state)
{
    (void)state;
    static const double calls[] = {3.5e-6, 108e-6, 650e-6, 2.1e-3};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        machine *m = started(calls[c]);
        kf_verdict *honest = judged(m, 0);
        assert_int_equal(honest->workloads->finding_count, 0);
        uint64_t batch = (uint64_t)calls_of(honest->workloads, 'c', NULL);
        kf_verdict_free(honest);
        for (uint64_t k = 0; k < 24; k++) {
            candidate_does.left_out =
                k == 0
                    ? batch + 1
                    : 1 + k * (5 * batch) / 24; /* the first is a single call, if the job has any */
            kf_verdict *v = judged(m, (int)k + 1);
            if (v->workloads->finding_count != 1)
                fail_msg("%g us, call %d: not noticed", calls[c] * 1e6,
                         (int)candidate_does.left_out);
            assert_string_equal(v->workloads->findings[0].rule, "output.mismatch");
            kf_verdict_free(v);
        }
        stopped(m);
    }
}

/* A candidate with errors of tf32's size gets the hint about tf32 only on inputs where the baseline
 * is more exact. Where both err, the verdict accepts the baseline's error. */
static void tf32_is_told_where_the_baseline_is_more_exact(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        machine *m = started(650e-6);
        m->problem.arguments[1].tf32 = true;
        /* in units of the output: 32 units of f32 are 2e-6, three units of tf32 are 1.5e-3 */
        world.errors[1] = 1e-4;
        world.errors[0] = both ? 1e-4 : 0;
        for (int i = 0; i < 10; i++) {
            kf_verdict *v = judged(m, i);
            assert_int_equal(v->workloads->finding_count, 0);
            if (kf_verdict_has_flag(v, KF_FLAG_TF32) == both)
                fail_msg("job %d, %s: %zu flags", i, both ? "both" : "one", v->flag_count);
            /* one report is enough */
            if (!both) assert_true(world.comparisons < 2 * v->workloads->pairs + 4);
            kf_verdict_free(v);
        }
        stopped(m);
    }
}

/* An output of few elements in f8e5m2 may err by an eighth, which is one rounding. */
static void a_baseline_may_round_to_eight_bits(void **state)
{
    (void)state;
    static const struct {
        kf_dtype dtype;
        double error;
        bool wrong;
    } rows[] = {{KF_F8E5M2, 0.12, false}, {KF_F8E5M2, 0.2, true}, {KF_F8E4M3, 0.12, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(650e-6);
        m->problem.arguments[1].dtype = rows[i].dtype;
        world.errors[0] = world.errors[1] = rows[i].error;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, rows[i].wrong);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* No tolerance follows from a baseline with an error of a tenth of the output. If tf32 may cause
 * the error, the measurement reports it, and the judge asks for f32. */
static void a_baseline_too_coarse_in_tf32_is_told(void **state)
{
    (void)state;
    static const struct {
        bool tf32;
        double error;
        bool coarse;
    } rows[] = {{true, 0.3, true}, {true, 0.01, false}, {false, 0.3, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(650e-6);
        m->problem.arguments[1].tf32 = rows[i].tf32;
        world.errors[0] = world.errors[1] = rows[i].error;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(world.coarse, rows[i].coarse);
        assert_int_equal(v->workloads->finding_count, rows[i].error > 0.1);
        if (v->workloads->finding_count)
            assert_string_equal(v->workloads->findings[0].rule, "baseline.wrong");
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Comparing every call takes one oracle call per candidate call. With a far slower oracle, the
 * judge makes fewer calls, so that the job stays within its time. */
static void a_slow_oracle_does_not_make_a_job_long(void **state)
{
    (void)state;
    static const double oracles[] = {20e-6, 1e-3, 10e-3, 45e-3};
    for (size_t o = 0; o < sizeof oracles / sizeof *oracles; o++) {
        machine *m = started(650e-6);
        oracle_does.call = oracles[o];
        candidate_does.call = 40e-6;
        double before = world.now;
        kf_verdict *v = judged(m, 0);
        assert_int_equal(v->workloads->finding_count, 0);
        if (getenv("KFORGE_TEST_WORDS"))
            print_message("oracle %g ms: %.2f s, %d and %d calls in %d pairs, %.2f [%.2f, %.2f]\n",
                          oracles[o] * 1e3, world.now - before, calls_of(v->workloads, 'b', NULL),
                          calls_of(v->workloads, 'c', NULL), v->workloads->pairs,
                          v->workloads->speedup.value, v->workloads->speedup.low,
                          v->workloads->speedup.high);
        assert_true(v->workloads->pairs >= 8 && world.now - before < 1.5 * m->options.seconds);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Filling 256 MiB of inputs takes milliseconds. One call on them takes no longer than a batch's
 * fixed cost. Batches of one such call give wide intervals, however many batches there are
 * (histogram on an H100: 1.90 [0.64, 3.18]). A few longer batches give narrow ones. */
static void dear_inputs_still_make_batches_that_tell(void **state)
{
    (void)state;
    static const double speedups[] = {1, 1.9, 4};
    for (size_t s = 0; s < sizeof speedups / sizeof *speedups; s++) {
        machine *m = started(220e-6);
        world.set_seconds = 0.002;
        m->options.seconds = 0.2;
        candidate_does.call = baseline_does.call / speedups[s];
        double before = world.now;
        kf_verdict *v = judged(m, 0);
        const kf_workload_verdict *w = v->workloads;
        assert_int_equal(w->finding_count, 0);
        if (getenv("KFORGE_TEST_WORDS"))
            print_message("%.2f s, %d and %d calls in %d pairs, %.2f [%.2f, %.2f]\n",
                          world.now - before, calls_of(w, 'b', NULL), calls_of(w, 'c', NULL),
                          w->pairs, w->speedup.value, w->speedup.low, w->speedup.high);
        assert_true(w->speedup.low <= speedups[s] && speedups[s] <= w->speedup.high);
        assert_true(w->speedup.high / w->speedup.low < 1.25);
        assert_true(world.now - before < 2.5);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The device sets the length of a batch. That holds for the default budget, and if a cache makes
 * calls look short while batches are sized. Larger budgets lengthen batches. */
static void batches_are_as_long_as_the_device_says(void **state)
{
    (void)state;
    static const double calls[] = {17e-6, 88e-6, 220e-6}, budgets[] = {0, 3, 6};
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
        for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
            for (int turn = 0; turn < 2; turn++) {
                machine *m = started(calls[c]);
                world.cached = turn ? 0.75 : 0;
                world.set_seconds = 1e-6;
                m->device.set_bytes = 1u << 30;
                m->options.seconds = budgets[b];
                double wanted =
                    m->device.batch_seconds * fmax(budgets[b] / m->device.default_seconds, 1);
                /* the second job reuses the first job's figures */
                for (int job = 0; job < 2; job++) {
                    kf_verdict *v = judged(m, job);
                    double length = calls_of(v->workloads, 'b', NULL) * calls[c];
                    if (length > 1.03 * wanted + calls[c] || length < 0.9 * wanted)
                        fail_msg("%g us, %g s, job %d: batches of %g ms in place of %g",
                                 calls[c] * 1e6, budgets[b], job, length * 1e3, wanted * 1e3);
                    kf_verdict_free(v);
                }
                /* the same number of calls, in the first job as in others */
                candidate_does.call = calls[c] / 2;
                double own[2];
                for (int job = 0; job < 2; job++) {
                    kf_verdict *v = judged(m, 2 + job);
                    own[job] = calls_of(v->workloads, 'c', NULL) * candidate_does.call;
                    kf_verdict_free(v);
                    kf_runner_pool_free(m->pool);
                    m->pool = kf_runner_pool_new(&m->device);
                }
                if (fabs(own[0] / own[1] - 1) > 0.1 || own[1] < 0.8 * m->device.batch_seconds)
                    fail_msg("%g us, %g s: a candidate's batches of %g ms in a job after others, "
                             "%g in the first",
                             calls[c] * 1e6, budgets[b], own[0] * 1e3, own[1] * 1e3);
                stopped(m);
            }
}

/* Stalls while batches are sized do not shorten the batches. */
static void a_machine_that_stands_still_makes_no_short_batches(void **state)
{
    (void)state;
    enum { JOBS = 1000 };
    int shorter = 0;
    for (int turn = 0; turn < JOBS; turn++) {
        machine *m = started(17e-6);
        world.random = (uint64_t)turn;
        world.set_seconds = 1e-6;
        world.stall = 0.02;
        m->device.set_bytes = 1u << 30;
        kf_verdict *v = judged(m, turn);
        double length = calls_of(v->workloads, 'b', NULL) * 17e-6;
        shorter += length < 0.8 * m->device.batch_seconds;
        kf_verdict_free(v);
        stopped(m);
    }
    if (getenv("KFORGE_TEST_WORDS")) print_message("%d of %d shorter\n", shorter, JOBS);
    /* too few oracle calls to rely on their time */
    assert_true(shorter < JOBS / 100);
}

/* The machine is to blame for an error if one of the task's own runners reports a device error. A
 * candidate's report clears no candidate, since the candidate can forge it. */
static void errors_of_the_machine_are_told_from_those_of_programs(void **state)
{
    (void)state;
    static const struct {
        const behaviour *failing;
        int code;
        kf_status status;
        kf_blame blame;
        const char *rule;
    } rows[] = {
        {&baseline_does, 2, KF_JUDGE_ERROR, KF_BLAME_TASK, "memory.short"},
        {&oracle_does, 2, KF_JUDGE_ERROR, KF_BLAME_TASK, "memory.short"},
        {&candidate_does, 2, KF_OUT_OF_MEMORY, KF_BLAME_CANDIDATE, "device.error"},
        {&baseline_does, 46, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "baseline.failed"},
        {&baseline_does, 214, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "baseline.failed"},
        {&baseline_does, 999, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "baseline.failed"},
        {&oracle_does, 100, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "oracle.failed"},
        {&oracle_does, 35, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "oracle.failed"},
        {&baseline_does, 700, KF_JUDGE_ERROR, KF_BLAME_TASK, "baseline.failed"},
        {&oracle_does, 719, KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed"},
        {&candidate_does, 700, KF_CRASH, KF_BLAME_CANDIDATE, "device.error"},
        {&candidate_does, 719, KF_CRASH, KF_BLAME_CANDIDATE, "device.error"},
        {&candidate_does, 46, KF_LAUNCH_FAILURE, KF_BLAME_CANDIDATE, "device.error"},
        {&candidate_does, 214, KF_CRASH, KF_BLAME_CANDIDATE, "device.error"},
        {&candidate_does, 999, KF_LAUNCH_FAILURE, KF_BLAME_CANDIDATE, "device.error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        world.failing = rows[i].failing;
        world.failure = rows[i].code;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        if (f->status != rows[i].status || f->blame != rows[i].blame ||
            strcmp(f->rule, rows[i].rule) != 0)
            fail_msg("error %d: %s, %s, %s: %s", rows[i].code, kf_status_name(f->status),
                     kf_blame_name(f->blame), f->rule, f->text);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The import has seen that a task's own check takes the reference's result. So if it fails on the
 * candidate's outputs, these are wrong. Its process may be damaged, so another oracle follows. If
 * the check hangs, they are wrong if that oracle's check of the reference's outputs ends. */
static void a_check_that_fails_refuses(void **state)
{
    (void)state;
    static const kf_runner_explanation ends[] = {
        [1] = {.status = KF_CRASH, .rule = "runner.crashed"},
        [2] = {.status = KF_OUT_OF_MEMORY, .rule = "memory.limit"},
        [3] = {.status = KF_CRASH, .rule = "runner.crashed", .outside = true},
    };
    const struct {
        kf_runner_event event;
        int code, code_after;
        kf_status status;
        kf_blame blame;
        const char *rule;
        int oracles, second_check;
    } rows[] = {
        {KF_RUNNER_TIMEOUT, 1, 0, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", 2, 0},
        {KF_RUNNER_TIMEOUT, 1, 0, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", 2,
         KF_WIRE_REFUSED},
        {KF_RUNNER_TIMEOUT, 1, 0, KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed", 2, -1},
        {KF_RUNNER_DEVICE_ERROR, KF_WIRE_REFUSED, 0, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
         "output.mismatch", 1, -1},
        {KF_RUNNER_DEVICE_ERROR, KF_WIRE_REFUSED, 710, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
         "output.mismatch", 2, -1},
        {KF_RUNNER_DEVICE_ERROR, 700, 0, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", 2,
         0},
        {KF_RUNNER_ENDED, 1, 0, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "output.mismatch", 2, -1},
        {KF_RUNNER_ENDED, 2, 0, KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed", 1, -1},
        {KF_RUNNER_ENDED, 3, 0, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "signal.outside", 1, -1},
        {KF_RUNNER_DEVICE_ERROR, 214, 0, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "oracle.failed", 1, -1},
        {KF_RUNNER_DEVICE_ERROR, KF_WIRE_REFUSED, 214, KF_JUDGE_ERROR, KF_BLAME_MACHINE,
         "oracle.failed", 1, -1},
        {KF_RUNNER_DEVICE_ERROR, 2, 0, KF_OUT_OF_MEMORY, KF_BLAME_CANDIDATE, "memory.held", 1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        cJSON *torch = cJSON_AddObjectToObject((cJSON *)kf_task_json(m->task), "torch");
        cJSON_AddTrueToObject(torch, "check");
        m->kinds[KF_ROLE_ORACLE] = KF_RUNNER_TORCH;
        candidate_does.left_out = 2;
        world.failure = 1;
        world.check_event = rows[i].event;
        world.check_code = rows[i].code;
        world.code_after = rows[i].code_after;
        world.second_check = rows[i].second_check;
        if (rows[i].event == KF_RUNNER_ENDED) world.check_end = ends[rows[i].code];
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        if (f->status != rows[i].status || f->blame != rows[i].blame ||
            strcmp(f->rule, rows[i].rule) != 0 || world.oracles != rows[i].oracles)
            fail_msg("row %zu: %s, %s, %s, %d oracles: %s", i, kf_status_name(f->status),
                     kf_blame_name(f->blame), f->rule, world.oracles, f->text);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A candidate that never answers, on a machine that gives it a twentieth of a processor, holds the
 * judge for three times the job's time at most. The candidate is to blame only if it had its time:
 * here a call has 1/24 of it, and never less than a second. */
static void a_busy_machine_makes_no_job_long(void **state)
{
    (void)state;
    const struct {
        double timeout;
        kf_status status;
        kf_blame blame;
        const char *rule;
    } rows[] = {
        {1, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "time.budget"},
        {5, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "time.budget"},
        {120, KF_TIMEOUT, KF_BLAME_CANDIDATE, "time.limit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        world.busy_for_ever = true;
        m->options.timeout_seconds = rows[i].timeout;
        double before = world.now;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        if (f->status != rows[i].status || f->blame != rows[i].blame ||
            strcmp(f->rule, rows[i].rule) != 0)
            fail_msg("--timeout %g: %s, %s, %s: %s", rows[i].timeout, kf_status_name(f->status),
                     kf_blame_name(f->blame), f->rule, f->text);
        if (world.now - before > 3 * rows[i].timeout + 5)
            fail_msg("--timeout %g: %g s", rows[i].timeout, world.now - before);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Other jobs have the device at each request for it. */
static bool wait_for_others(kf_device *device, bool take, const volatile int *stop, kf_error *error)
{
    (void)device, (void)stop, (void)error;
    if (take) world.now += world.others;
    world.requests += take;
    return true;
}

/* A job may wait for the device of a GPU, or for its candidate's build, much longer than its own
 * time. The self-test subtracts `waited`, in which its other jobs had the device. */
static void waiting_for_other_jobs_takes_no_time_of_the_job(void **state)
{
    (void)state;
    static const struct {
        bool reserves, times_alone;
        double building;
        int requests;
    } rows[] = {{true, false, 0, 1}, {false, true, 0, 2}, {true, true, 500, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        kf_device_operations shared = operations;
        if (rows[i].reserves) shared.reserve = wait_for_others;
        if (rows[i].times_alone) shared.time_alone = wait_for_others;
        m->device.operations = &shared;
        m->options.timeout_seconds = 30;
        world.others = 400;
        world.building = rows[i].building;
        kf_verdict *v = judged(m, (int)i);
        if (v->workloads->finding_count) fail_msg("row %zu: %s", i, v->workloads->findings[0].text);
        if (world.requests != rows[i].requests) fail_msg("row %zu: %d", i, world.requests);
        assert_float_equal(world.waited_for_others, 400 * world.requests, 1e-6);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The pair in which the job's time ends does not count, interrupted or not, and its samples say so.
 */
static void samples_of_the_last_pair_count_with_it(void **state)
{
    (void)state;
    int ended = 0;
    for (int busy = 0; busy < 2; busy++)
        for (int i = 0; i < 40; i++) {
            machine *m = started(6e-3);
            world.busy_with = world.busy_without = 0.1 * busy;
            m->options.seconds = 100;
            m->options.half_width = 1e-9;
            m->options.timeout_seconds = 3 + 0.05 * i;
            kf_verdict *v = judged(m, i);
            const kf_workload_verdict *w = v->workloads;
            int baseline, candidate;
            calls_of(w, 'b', &baseline);
            calls_of(w, 'c', &candidate);
            if (!w->finding_count && (baseline != w->pairs || candidate != w->pairs))
                fail_msg("%.2f s: %d pairs, %d and %d samples", m->options.timeout_seconds,
                         w->pairs, baseline, candidate);
            ended += !w->finding_count;
            kf_verdict_free(v);
            stopped(m);
        }
    if (ended < 60) fail_msg("%d jobs", ended);
}

/* Oracle and baseline in Python have limits of their own. To compile one, or to construct a large
 * module, moves the deadline and the ceiling. */
static void loading_the_baseline_takes_no_time_of_the_job(void **state)
{
    (void)state;
    for (int compiled = 0; compiled < 2; compiled++) {
        machine *m = started(108e-6);
        m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] = KF_RUNNER_TORCH;
        m->compiled = compiled;
        world.loading = 25;
        m->options.timeout_seconds = 30;
        double before = world.now;
        kf_verdict *v = judged(m, 0);
        if (v->workloads->finding_count) fail_msg("%s", v->workloads->findings[0].text);
        assert_true(world.now - before > 2 * m->options.timeout_seconds - 10);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A program that hangs is to blame, also at the ceiling, which comes before the oracle's limit. But
 * after spoiled rounds, which moved the deadline alone, the ceiling comes too early. */
static void a_program_that_hangs_is_to_blame(void **state)
{
    (void)state;
    const struct {
        const behaviour *hangs;
        double spoiled;
        kf_status status;
        kf_blame blame;
        const char *rule;
    } rows[] = {{&oracle_does, 0, KF_JUDGE_ERROR, KF_BLAME_TASK, "oracle.failed"},
                {&oracle_does, 55, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "time.budget"},
                {&candidate_does, 0, KF_TIMEOUT, KF_BLAME_CANDIDATE, "time.limit"},
                {&candidate_does, 59.5, KF_JUDGE_ERROR, KF_BLAME_MACHINE, "time.budget"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        world.hangs = rows[i].hangs;
        m->options.timeout_seconds = 20;
        m->spoiled = rows[i].spoiled;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        if (f->status != rows[i].status || f->blame != rows[i].blame ||
            strcmp(f->rule, rows[i].rule) != 0)
            fail_msg("row %zu: %s, %s, %s: %s", i, kf_status_name(f->status),
                     kf_blame_name(f->blame), f->rule, f->text);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Other work during an occupation drops the pair. If it is frequent, and does not occur after the
 * end of the candidate's process, then the candidate did it. */
static void work_before_the_clock_gains_nothing(void **state)
{
    (void)state;
    static const struct {
        double with, without;
        kf_status status;
        const char *rule;
    } rows[] = {{0, 0, KF_CORRECT, NULL},
                {0.1, 0.1, KF_CORRECT, NULL},
                {0.1, 0, KF_CORRECT, NULL},
                {1, 0, KF_CHEATING, "device.busy"},
                {1, 1, KF_INTERFERENCE, "device.shared"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(21e-6);
        world.busy_with = rows[i].with, world.busy_without = rows[i].without;
        kf_verdict *v = judged(m, (int)i);
        const kf_workload_verdict *w = v->workloads;
        assert_true(world.occupations > 0);
        if (rows[i].rule) {
            assert_true(w->finding_count == 1 && w->findings[0].status == rows[i].status);
            assert_string_equal(w->findings[0].rule, rows[i].rule);
        } else {
            int pairs;
            if (w->finding_count) fail_msg("row %zu: %s", i, w->findings[0].text);
            assert_true(w->speedup.low <= 1.01 && w->speedup.high >= 0.99);
            assert_true(calls_of(w, 'c', &pairs) > 0 && pairs == w->pairs);
        }
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Results that seem to change late convict at once, but not where another program worked in the
 * pair. Such a pair is repeated, twice at most. */
static void late_results_are_looked_at_again(void **state)
{
    (void)state;
    static const struct {
        double busy;
        int late;
        const char *rule;
    } rows[] = {{0.1, 1, NULL}, {0.1, 2, NULL}, {0.1, 3, "output.late"}, {0, -1, "output.late"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        world.busy_with = world.busy_without = rows[i].busy;
        world.late_when_busy = rows[i].late;
        world.always_late = rows[i].late < 0;
        kf_verdict *v = judged(m, (int)i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count != (rows[i].rule != NULL))
            fail_msg("row %zu: %s", i, w->finding_count ? w->findings[0].text : "no finding");
        if (rows[i].rule) assert_string_equal(w->findings[0].rule, rows[i].rule);
        assert_true(world.late_when_busy <= 0);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Work that waits for a bit of its own inputs runs in half of the long times, and only where the
 * candidate's buffers change. A short measurement finds that in nearly all jobs. */
static void work_that_waits_for_a_bit_is_found(void **state)
{
    (void)state;
    int found = 0, jobs = 40;
    for (int i = 0; i < jobs; i++) {
        machine *m = started(108e-6);
        world.waits = 0.5;
        world.random = (uint64_t)i + 1;
        m->device.default_seconds = 0.5;
        kf_verdict *v = judged(m, i);
        const kf_workload_verdict *w = v->workloads;
        if (w->finding_count) assert_string_equal(w->findings[0].rule, "device.busy");
        found += w->finding_count > 0;
        kf_verdict_free(v);
        stopped(m);
    }
    if (found < jobs * 8 / 10) fail_msg("%d of %d jobs", found, jobs);
}

/* Where sides share buffers, inputs that change while the oracle reads them are the candidate's
 * doing, also if the oracle then fails. The verdict says that they share. */
static void inputs_are_inspected_after_the_oracle(void **state)
{
    (void)state;
    for (int code = 0; code <= 700; code += 700) {
        machine *m = started(108e-6);
        world.failing = &oracle_does;
        world.failure = code;
        world.starved = code; /* fails only while the candidate lives */
        world.changes = world.shared = true;
        kf_verdict *v = judged(m, code);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        assert_int_equal(f->status, KF_CONTRACT_VIOLATION);
        assert_string_equal(f->rule, "input.mutated");
        kf_verdict_free(v);
        stopped(m);
    }
    for (int shared = 0; shared < 2; shared++) {
        machine *m = started(108e-6);
        world.shared = shared;
        kf_verdict *v = judged(m, 0);
        assert_int_equal(v->workloads->finding_count, 0);
        bool said = false;
        for (size_t i = 0; i < v->flag_count; i++)
            said = said || strcmp(v->flags[i], "buffers.shared:main") == 0;
        assert_int_equal(said, shared);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The problem's own generator never runs while the device is occupied or a batch is held
 * (make_row), and its rows fit into their memory. */
static void generated_inputs_are_made_ahead(void **state)
{
    (void)state;
    kf_device_operations ordered = operations;
    ordered.order = (kf_order_operations){.hold = hold,
                                          .release = release_stream,
                                          .take_samples = take_samples,
                                          .check_samples = check_samples};
    for (int i = 0; i < 4; i++) {
        machine *m = started(i % 2 ? 3.5e-6 : 108e-6);
        m->device.operations = &ordered;
        m->device.set_bytes = (uint64_t)1 << 40;
        m->problem.arguments[0].distribution.generated = true;
        if (i == 3) m->problem.arguments[0].bytes = 100u << 20;
        world.random = (uint64_t)i;
        world.busy_with = i < 2 ? 0 : 0.9; /* some pairs are followed by the control */
        kf_verdict *v = judged(m, i);
        assert_true(world.makes > 0 && world.held > 0);
        assert_int_equal(v->workloads->finding_count, i >= 2);
        if (i >= 2) assert_string_equal(v->workloads->findings[0].rule, "device.busy");
        if (i == 3) assert_true(v->workloads->sets <= 9);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* A task is not to blame if its generator is killed, or the machine fails. */
static void a_generator_that_fails_is_judged_as_an_oracle(void **state)
{
    (void)state;
    const struct {
        kf_runner_event event;
        int code, good;
        bool outside;
        double spoiled; /* seconds of earlier rounds */
        kf_blame blame;
        const char *rule; /* NULL: an error */
        kf_error_code error;
    } rows[] = {
        {KF_RUNNER_ENDED, 0, 0, true, 0, KF_BLAME_MACHINE, "signal.outside", KF_ERROR_NONE},
        {KF_RUNNER_ENDED, 0, 400, true, 0, KF_BLAME_MACHINE, "signal.outside", KF_ERROR_NONE},
        {KF_RUNNER_ENDED, 0, 400, false, 0, KF_BLAME_TASK, "oracle.failed", KF_ERROR_NONE},
        {KF_RUNNER_TIMEOUT, 0, 400, false, 0, KF_BLAME_TASK, "oracle.failed", KF_ERROR_NONE},
        {KF_RUNNER_TIMEOUT, 0, 400, false, 55, KF_BLAME_MACHINE, "time.budget", KF_ERROR_NONE},
        {KF_RUNNER_DEVICE_ERROR, 214, 400, false, 0, KF_BLAME_MACHINE, "oracle.failed",
         KF_ERROR_NONE},
        {KF_RUNNER_DEVICE_ERROR, KF_WIRE_EXCEPTION, 400, false, 0, KF_BLAME_TASK, NULL,
         KF_ERROR_INPUT},
        {KF_RUNNER_MACHINE, 0, 400, false, 0, KF_BLAME_MACHINE, NULL, KF_ERROR_MACHINE},
        {KF_RUNNER_STOPPED, 0, 400, false, 0, KF_BLAME_NOBODY, NULL, KF_ERROR_BUSY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        m->problem.arguments[0].distribution.generated = true;
        m->options.timeout_seconds = 20;
        m->spoiled = rows[i].spoiled;
        world.failure = 1;
        world.good_makes = rows[i].good;
        world.make_event = rows[i].event;
        world.make_code = rows[i].code;
        world.check_end = (kf_runner_explanation){
            .status = KF_CRASH, .rule = "runner.crashed", .outside = rows[i].outside};
        kf_error error = {0};
        kf_verdict *v = judged_or_failed(m, 1, &error);
        assert_int_equal(error.code, rows[i].error);
        assert_int_equal(v->workloads->finding_count, rows[i].rule != NULL);
        if (rows[i].rule) {
            assert_string_equal(v->workloads->findings[0].rule, rows[i].rule);
            assert_int_equal(v->workloads->findings[0].blame, rows[i].blame);
            assert_int_equal(v->workloads->findings[0].status, KF_JUDGE_ERROR);
        }
        kf_verdict_free(v);
        stopped(m);
    }
}

/* The same pair of secret and source gives the same bytes, also after its row had others. */
static void a_generator_keeps_the_rows_taken_last(void **state)
{
    (void)state;
    machine *m = started(1e-4);
    kf_error error = {0};
    m->problem.arguments[0].distribution.generated = true;
    kf_generator *generator = kf_generator_new(&m->problem, 3, NULL, &error);
    assert_non_null(generator);
    assert_null(kf_generator_take(generator, 1, 0, 0, &error));
    kf_runner oracle = {.does = &oracle_does};
    assert_int_equal(kf_generator_hand_over(generator, &oracle), KF_RUNNER_OK);
    uint64_t seeds[4];
    for (uint32_t source = 0; source < 4; source++) {
        const void *made = kf_generator_take(generator, 1, source, 0, &error);
        assert_non_null(made);
        memcpy(&seeds[source], made, sizeof *seeds);
        for (uint32_t k = 0; k < source; k++) assert_true(seeds[k] != seeds[source]);
        /* The first row stays, since it is taken each time. */
        assert_memory_equal(kf_generator_take(generator, 1, 0, 0, &error), &seeds[0], 8);
        assert_int_equal(world.makes, source + 1);
    }
    assert_memory_equal(kf_generator_take(generator, 1, 1, 0, &error), &seeds[1], 8);
    assert_int_equal(world.makes, 5);
    assert_memory_not_equal(kf_generator_take(generator, 2, 1, 0, &error), &seeds[1], 8);
    /* A call that fails leaves no row behind. */
    world.failure = 1;
    world.make_event = KF_RUNNER_DEVICE_ERROR;
    world.make_code = KF_WIRE_EXCEPTION;
    for (int i = 0; i < 2; i++) assert_null(kf_generator_take(generator, 3, 0, 0, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    assert_int_equal(world.makes, 8);
    world.make_event = KF_RUNNER_OK;
    assert_int_equal(kf_generator_hand_over(generator, NULL), KF_RUNNER_OK);
    assert_null(kf_generator_take(generator, 3, 0, 0, &error));
    assert_int_equal(kf_generator_hand_over(generator, &oracle), KF_RUNNER_OK);
    assert_non_null(kf_generator_take(generator, 3, 0, 0, &error));
    kf_generator_free(generator);
    stopped(m);
}

/* A candidate that begins early is wrong in every held batch, and in no other. */
static void calls_respect_their_stream(void **state)
{
    (void)state;
    kf_device_operations ordered = operations;
    ordered.order = (kf_order_operations){.hold = hold,
                                          .release = release_stream,
                                          .take_samples = take_samples,
                                          .check_samples = check_samples};
    machine *odd = started(108e-6);
    odd->device.operations = &ordered;
    candidate_does.unsteady = true;
    kf_verdict *mismatch = judged(odd, 7);
    assert_int_equal(mismatch->workloads->finding_count, 1);
    assert_string_equal(mismatch->workloads->findings[0].rule, "output.mismatch");
    assert_int_equal(world.held, 2);
    kf_verdict_free(mismatch);
    stopped(odd);
    int found = 0;
    for (int i = 0; i < 8; i++) {
        machine *m = started(108e-6);
        m->device.operations = &ordered;
        candidate_does.too_early = candidate_does.early_if_varied = true;
        kf_verdict *v = judged(m, i);
        found += v->workloads->finding_count == 1;
        kf_verdict_free(v);
        stopped(m);
    }
    assert_true(found >= 7);
    for (int early = 0; early < 2; early++)
        for (int late = 0; late < 2; late++) {
            machine *m = started(108e-6);
            m->device.operations = &ordered;
            candidate_does.too_early = early;
            candidate_does.too_late = late;
            kf_verdict *v = judged(m, 7);
            const kf_workload_verdict *w = v->workloads;
            if (early || late) {
                assert_int_equal(w->finding_count, 1);
                assert_string_equal(w->findings[0].rule, "stream.unordered");
                assert_int_equal(w->findings[0].status, KF_WRONG_RESULT);
                assert_int_equal(w->findings[0].blame, KF_BLAME_CANDIDATE);
            } else {
                assert_int_equal(w->finding_count, 0);
                assert_true(world.held >= 1);
            }
            kf_verdict_free(v);
            stopped(m);
        }
}

/* With one set of buffers, the only call of a held batch is behind the gate, and its set gets new
 * inputs and its truth again, varied or not. */
static void held_batches_have_room_in_one_set(void **state)
{
    (void)state;
    kf_device_operations few = operations;
    few.order = (kf_order_operations){.hold = hold,
                                      .release = release_stream,
                                      .take_samples = take_samples,
                                      .check_samples = check_samples};
    few.python.least_sets = one_set;
    few.python.hold_results = hold_results;
    few.buffers.truth_room = one_truth;
    for (int early = 0; early < 2; early++)
        for (int late = 0; late < 2; late++) {
            machine *m = started(6e-3);
            m->device.operations = &few;
            m->device.set_bytes = 1;
            m->kinds[KF_ROLE_CANDIDATE] = m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] =
                KF_RUNNER_TORCH;
            candidate_does.call = 6e-3;
            candidate_does.too_early = early;
            candidate_does.too_late = late;
            for (int job = 0; job < 80; job++) {
                kf_verdict *v = judged(m, job);
                const kf_workload_verdict *w = v->workloads;
                if (w->finding_count != (early || late))
                    fail_msg("job %d, early %d, late %d: %zu findings, %d sets, %d pairs, %d held",
                             job, early, late, w->finding_count, w->sets, w->pairs, world.held);
                if (w->finding_count)
                    assert_string_equal(w->findings[0].rule, "stream.unordered");
                else
                    assert_true(w->sets == 1 && w->pairs >= 8);
                kf_verdict_free(v);
            }
            /* Work that ends late shows in the first batch. */
            assert_true(late || world.held >= 80);
            stopped(m);
        }
}

/* Errors on some inputs are no mistake where the baseline errs as much. The sets of a workload that
 * is only checked are few, so it may not have shown that before a held batch. */
static void held_batches_allow_the_errors_of_the_baseline(void **state)
{
    (void)state;
    kf_device_operations ordered = operations;
    ordered.order = (kf_order_operations){.hold = hold,
                                          .release = release_stream,
                                          .take_samples = take_samples,
                                          .check_samples = check_samples};
    for (int both = 0; both < 2; both++) {
        machine *m = started(108e-6);
        int wrong = 0;
        m->device.operations = &ordered;
        m->options.check_only = true;
        world.explains = !both;
        world.errors[1] = 1e-4;
        world.errors[0] = both ? 1e-4 : 0;
        for (int i = 0; i < 60; i++) {
            kf_verdict *v = judged(m, i);
            const kf_workload_verdict *w = v->workloads;
            if (both && w->finding_count) fail_msg("job %d: %s", i, w->findings[0].text);
            wrong += w->finding_count > 0;
            kf_verdict_free(v);
        }
        assert_true(both ? world.held >= 60 : wrong > 40);
        stopped(m);
    }
}

/* Where sides share buffers, the baseline overwrites results of the candidate only when the judge
 * has looked whether they stayed. */
static void shared_results_are_not_late(void **state)
{
    (void)state;
    kf_device_operations ordered = operations;
    ordered.order = (kf_order_operations){.hold = hold,
                                          .release = release_stream,
                                          .take_samples = take_samples,
                                          .check_samples = check_samples};
    for (int row = 0; row < 16; row++) {
        machine *m = started(row & 1 ? 3e-3 : 108e-6);
        m->device.operations = &ordered;
        m->options.check_only = row & 2;
        m->kinds[KF_ROLE_BASELINE] = m->kinds[KF_ROLE_ORACLE] =
            row & 4 ? KF_RUNNER_TORCH : KF_RUNNER_PLAIN;
        m->device.most_sets = row & 8 ? 2 : 1024;
        world.shared = true;
        world.errors[1] = world.errors[0] = 1e-4;
        for (int i = 0; i < 20; i++) {
            kf_verdict *v = judged(m, i);
            const kf_workload_verdict *w = v->workloads;
            if (w->finding_count) fail_msg("row %d, job %d: %s", row, i, w->findings[0].text);
            kf_verdict_free(v);
        }
        stopped(m);
    }
}

/* Inputs of a call that are cached before its gate opens were read early. */
static void inputs_are_read_in_their_call(void **state)
{
    (void)state;
    kf_device_operations ordered = operations;
    ordered.order = (kf_order_operations){.hold = hold,
                                          .cached = cached,
                                          .release = release_stream,
                                          .take_samples = take_samples,
                                          .check_samples = check_samples};
    static const struct {
        double ahead;
        /* In one of so many batches; 0: in all. */
        int seldom, held;
        const char *rule;
    } rows[] = {{0, 0, 1, NULL},
                {0.005, 0, 1, NULL},
                {0.02, 0, 3, "calls.early"},
                {1, 4, 9, "calls.early"},
                {1, 30, 12, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        m->device.operations = &ordered;
        candidate_does.cached_share = rows[i].ahead;
        candidate_does.cached_seldom = rows[i].seldom;
        kf_verdict *v = judged(m, 7);
        const kf_workload_verdict *w = v->workloads;
        assert_true(world.held >= rows[i].held);
        assert_int_equal(w->finding_count, rows[i].rule != NULL);
        if (rows[i].rule) {
            assert_string_equal(w->findings[0].rule, rows[i].rule);
            assert_int_equal(w->findings[0].status, KF_CHEATING);
            assert_int_equal(w->findings[0].blame, KF_BLAME_CANDIDATE);
        }
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Memory of a device on which a candidate holds 64 GiB, or one. */
static uint64_t held_bytes;

static bool memory(kf_device *device, uint64_t *free_bytes, uint64_t *all_bytes, kf_error *error)
{
    (void)device, (void)error;
    *all_bytes = 80ull << 30;
    *free_bytes = (70ull << 30) - (world.candidates ? held_bytes : 0);
    return true;
}

/* The task's programs find no memory, but only while the candidate lives. It is to blame if it held
 * much. If it did not, another program has freed memory meanwhile. */
static void held_memory_is_the_candidates_fault(void **state)
{
    (void)state;
    kf_device_operations known = operations;
    known.buffers.memory = memory;
    static const struct {
        const behaviour *failing;
        uint64_t held;
    } rows[] = {{&baseline_does, 0},
                {&oracle_does, 0},
                {&baseline_does, 64ull << 30},
                {&oracle_does, 64ull << 30},
                {&baseline_does, 1ull << 30}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        machine *m = started(108e-6);
        if (rows[i].held) m->device.operations = &known;
        held_bytes = rows[i].held;
        world.failing = rows[i].failing;
        world.failure = 2;
        world.starved = true;
        kf_verdict *v = judged(m, (int)i);
        assert_int_equal(v->workloads->finding_count, 1);
        const kf_finding *f = &v->workloads->findings[0];
        bool little = rows[i].held == 1ull << 30;
        assert_int_equal(f->status, little ? KF_JUDGE_ERROR : KF_OUT_OF_MEMORY);
        assert_int_equal(f->blame, little ? KF_BLAME_TASK : KF_BLAME_CANDIDATE);
        assert_string_equal(f->rule, little ? "memory.short" : "memory.held");
        assert_int_equal(world.candidates, 0);
        kf_verdict_free(v);
        stopped(m);
    }
}

/* Returns how often the inputs of all sets were drawn for one job. */
static int fills_of(machine *m, int number, bool check_only)
{
    int before = world.fills;
    m->options.check_only = check_only;
    kf_verdict *v = judged(m, number);
    assert_int_equal(v->workloads->finding_count, 0);
    kf_verdict_free(v);
    return (int)world.fills - before;
}

/* A check takes the time of the baseline's call from an earlier check. It fills the sets for its
 * three pairs alone. Jobs with times in between keep figures of their own. */
static void a_later_check_measures_no_baseline(void **state)
{
    (void)state;
    machine *m = started(1e-3);
    assert_int_equal(fills_of(m, 0, true), 4);
    assert_int_equal(fills_of(m, 1, true), 3);
    int first = fills_of(m, 2, false);
    assert_int_equal(fills_of(m, 3, true), 3);
    assert_true(fills_of(m, 4, false) < first);
    assert_int_equal(fills_of(m, 5, true), 3);
    stopped(m);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_check_measures_no_baseline),
        cmocka_unit_test(honest_candidates_are_judged_rightly),
        cmocka_unit_test(who_computes_in_python_rehearses),
        cmocka_unit_test(both_sides_hand_over_what_they_computed),
        cmocka_unit_test(two_sets_are_enough),
        cmocka_unit_test(one_set_is_enough_in_python),
        cmocka_unit_test(later_pairs_look_for_shared_results),
        cmocka_unit_test(a_faster_one_in_python_has_its_own_inputs_truth),
        cmocka_unit_test(a_check_that_fails_refuses),
        cmocka_unit_test(a_busy_machine_makes_no_job_long),
        cmocka_unit_test(samples_of_the_last_pair_count_with_it),
        cmocka_unit_test(waiting_for_other_jobs_takes_no_time_of_the_job),
        cmocka_unit_test(loading_the_baseline_takes_no_time_of_the_job),
        cmocka_unit_test(a_program_that_hangs_is_to_blame),
        cmocka_unit_test(work_before_the_clock_gains_nothing),
        cmocka_unit_test(late_results_are_looked_at_again),
        cmocka_unit_test(work_that_waits_for_a_bit_is_found),
        cmocka_unit_test(work_in_a_rehearsal_is_charged),
        cmocka_unit_test(work_while_waking_is_charged),
        cmocka_unit_test(a_wrong_candidate_gets_no_more_time),
        cmocka_unit_test(what_processes_differ_by_is_no_speedup),
        cmocka_unit_test(a_new_process_of_the_baseline_is_measured_like_the_first),
        cmocka_unit_test(inputs_are_read_in_their_call),
        cmocka_unit_test(who_is_slow_at_first_gets_whole_batches),
        cmocka_unit_test(a_slower_baseline_is_the_machine_s_or_the_candidate_s_doing),
        cmocka_unit_test(memory_that_is_cleared_is_waited_for),
        cmocka_unit_test(who_frees_memory_gains_nothing),
        cmocka_unit_test(nobody_waits_for_ever),
        cmocka_unit_test(a_hot_gpu_is_reported),
        cmocka_unit_test(checks_do_not_wait),
        cmocka_unit_test(one_launch_for_a_batch_is_impossible),
        cmocka_unit_test(calls_that_read_ahead_are_found),
        cmocka_unit_test(a_number_of_calls_that_falls_is_found),
        cmocka_unit_test(no_call_is_left_out_unnoticed),
        cmocka_unit_test(tf32_is_told_where_the_baseline_is_more_exact),
        cmocka_unit_test(a_baseline_too_coarse_in_tf32_is_told),
        cmocka_unit_test(a_baseline_may_round_to_eight_bits),
        cmocka_unit_test(a_slow_oracle_does_not_make_a_job_long),
        cmocka_unit_test(inputs_are_inspected_after_the_oracle),
        cmocka_unit_test(held_memory_is_the_candidates_fault),
        cmocka_unit_test(errors_of_the_machine_are_told_from_those_of_programs),
        cmocka_unit_test(batches_are_as_long_as_the_device_says),
        cmocka_unit_test(a_machine_that_stands_still_makes_no_short_batches),
        cmocka_unit_test(dear_inputs_still_make_batches_that_tell),
        cmocka_unit_test(calls_respect_their_stream),
        cmocka_unit_test(generated_inputs_are_made_ahead),
        cmocka_unit_test(a_generator_that_fails_is_judged_as_an_oracle),
        cmocka_unit_test(a_generator_keeps_the_rows_taken_last),
        cmocka_unit_test(held_batches_have_room_in_one_set),
        cmocka_unit_test(held_batches_allow_the_errors_of_the_baseline),
        cmocka_unit_test(shared_results_are_not_late),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
