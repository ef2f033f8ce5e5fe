/* The state of one measurement, and the functions of the files measure_*.c on it.
 *
 * A function that takes a kf_error returns false if the machine or the caller is at fault. A fault
 * of a candidate or a task becomes a finding in the verdict, sets r->over, and the function returns
 * true. So a caller checks r->over after each call that returned true. */
#ifndef KFORGE_MEASURE_INTERNAL_H
#define KFORGE_MEASURE_INTERNAL_H

#include "check_outputs.h"
#include "kforge/file.h"
#include "measure.h"
#include "timing_schedule.h"
#include "timing_record.h"

/* Arrays by set, except the first two, which list sets. */
typedef struct kf_set_lists {
    /* in the order called */
    uint32_t *order;
    /* to compare: all that were called, until some are left out as doubtful */
    uint32_t *list;
    kf_set_variation *variations;
    /* called since the last refresh; its truth is there in this pair */
    bool *chosen, *true_known;
    /* as in kf_doubts, for the batch that is compared */
    bool *baseline_ran, *doubtful;
} kf_set_lists;

/* What jobs know from each other about the baseline alone. */
typedef struct kf_history {
    /* `task` is empty where later jobs cannot use it */
    kf_known known;
    /* it is from an earlier job */
    bool recalled;
    /* In pairs the baseline was different: measure it alone anew. */
    bool stale;
} kf_history;

/* How modules of PyTorch are loaded (measure_state.c). */
typedef struct kf_module_mode {
    /* they keep the weights that their constructors drew */
    bool own_state;
    /* they evaluate where the task's trains, or the other way round */
    bool other_mode;
} kf_module_mode;

/* What the candidate's batches left behind. */
typedef struct kf_leftovers {
    /* threads of the device's own that may appear later */
    int spare_threads;
    /* batches with work left outside the stream, and all batches */
    int gaps, gap_batches;
} kf_leftovers;

/* Waiting for the device's memory to be as fast as usual (memory_settle.h). */
typedef struct kf_settling {
    double seconds;
    /* it took too long: no batch waits any more */
    bool given_up;
} kf_settling;

/* Times in which the judge occupied the device (kf_buffer_operations). */
typedef struct kf_occupations {
    /* Other work ran before a batch of this pair, so the pair does not count. */
    bool interrupted;
    /* Those long enough to show work that waits for inputs, and how many were interrupted. */
    uint32_t probes, busy;
    /* The last one is long enough. */
    bool probing;
    /* Pairs that were repeated for that. */
    uint32_t repeated;
    /* Pairs that are repeated, with results that seemed to change after the clock; and if this is
     * one of them. */
    uint32_t late;
    bool late_pair;
    /* Seconds of the longest interruption. */
    double longest;
} kf_occupations;

struct kf_measurement;
/* Watched batches (measure_watch.c). */
typedef struct kf_watching {
    /* NULL except in a watched batch */
    struct kf_watch *watch;
    /* Looks at the batch while it runs. `context`: watch */
    void (*look_on)(void *context);
    /* seconds from the request to the first look */
    double first_look;
    /* Overwrites in one set what was overwritten in another, if it has the inputs of that. */
    bool (*repeat)(struct kf_measurement *r, uint32_t from, uint32_t to, kf_error *error);
    /* Batches were watched, or should be, but all inputs are generated. */
    bool tried;
    /* how often the judge has overwritten inputs in time in all of them */
    int changes;
} kf_watching;

typedef struct kf_measurement {
    kf_workbench *bench;
    const kf_device_operations *device;
    kf_checker *checker;
    kf_sets *sets;
    uint32_t set_count;
    kf_set_lists lists;
    kf_choices choices;
    kf_runner *runners[2], *oracle;
    /* a runner of the candidate's kind that has loaded no program, where the baseline's kind is
     * another: its batches show what a batch without calls costs there */
    kf_runner *idle;
    kf_schedule schedule;
    kf_timing_record record;
    kf_history history;
    kf_module_mode modules;
    kf_leftovers leftovers;
    kf_settling settling;
    kf_occupations occupations;
    /* Processor time of the baseline while it was woken. */
    kf_wakings waking_work;
    kf_watching watching;
    /* the task has inouts: each call needs its inputs anew */
    bool in_place;
    /* a process may be damaged although no finding says so */
    bool dirty;
    /* the task's own check has damaged its process */
    bool check_broke;
    /* a finding ended the measurement */
    bool over;
} kf_measurement;

static inline double kf_measurement_time_left(const kf_measurement *r)
{
    return kf_clock_left(&r->bench->clock, kf_now());
}

/* ---- measure_kinds.c ------------------------------------------------------------------------- */

/* Returns which program runs for a role: `kinds`, except for a baseline through torch.compile. */
kf_runner_kind kf_measurement_kind(const kf_workbench *bench, kf_role role);
/* True if a side is in Python. Then batches without calls are measured for each side on its own. */
bool kf_measurement_has_python(const kf_measurement *r);
/* True if a batch without calls of a third process comes before each timed batch. On a GPU a batch
 * costs about 30 us less if its process had the last one too, whatever the judge did in between.
 * This way no side has that advantage, except where priming calls give it to both. */
bool kf_measurement_separates_batches(const kf_measurement *r);
/* True if that side makes an untimed call right before each timed batch. After another process has
 * computed, a module of PyTorch takes 70 to 400 us longer until its first kernel is launched
 * (docs/results/README.md), and a batch without calls does not show how much. A batch may be one
 * call of 3 ms only, so on a GPU each side in Python has a priming call. */
bool kf_measurement_needs_priming(const kf_measurement *r, kf_side side);
/* True if the sides map the same buffers, because memory is short. */
bool kf_measurement_shares_buffers(const kf_measurement *r);
/* True if the baseline's results are fetched after batches that are only timed, too. On a processor
 * the candidate's are fetched after each batch, and the next batch of a process is up to 3 % faster
 * if its results have just been read. */
bool kf_measurement_fetches_all(const kf_measurement *r);

/* ---- measure_report.c ------------------------------------------------------------------------ */

/* True if the end of the job's time, and no limit of its own, ended a wait for a runner. */
bool kf_measurement_ends_with_job(const kf_workbench *bench, kf_role role);
/* Turns an event of a runner into a finding. */
bool kf_measurement_report(kf_measurement *r, kf_runner *runner, kf_role role,
                           kf_runner_event event, int code, const char *doing, kf_error *error);
/* Finds out whether the candidate's process held the memory that others lack. Ends it. If it held
 * much, frees the sets and makes them again; if there is room then, adds a finding and sets *held.
 */
bool kf_measurement_blame_holder(kf_measurement *r, bool *held, kf_error *error);
/* Adds a finding that the job's time is over. The candidate is to blame if it took most of it. */
bool kf_measurement_out_of_time(kf_measurement *r, kf_error *error);

/* ---- measure_check.c ------------------------------------------------------------------------- */

/* True if the task has a check of its own. */
bool kf_measurement_has_check(const kf_measurement *r);
/* A kf_checker_accepts: asks that check about the outputs of a set. `context`: the measurement. */
bool kf_measurement_accepts(void *context, uint32_t set, bool *accepted, kf_error *error);

/* ---- measure_runners.c ----------------------------------------------------------------------- */

/* Returns the key of a task's own runner in the pool: its binary, or for PyTorch the task and the
 * workload, because its shapes are in the plan. `key` is memory for it. */
const char *kf_measurement_key(const kf_workbench *bench, kf_role role, char key[4400]);
/* Starts a runner, or takes one from the pool, with its program loaded and its scalars set. */
bool kf_measurement_start_runner(kf_measurement *r, kf_role role, kf_runner **runner,
                                 kf_error *error);
/* Starts r->idle where one is needed. */
bool kf_measurement_start_idle(kf_measurement *r, kf_error *error);
/* Takes the oracle's runner out of the measurement. */
kf_runner *kf_measurement_take_oracle(kf_measurement *r);
/* Maps all buffers into a runner. */
bool kf_measurement_hand_over(kf_measurement *r, kf_role role, kf_runner *runner, kf_error *error);

/* ---- measure_pool.c -------------------------------------------------------------------------- */

/* Has the pool start the runners of this workload. */
void kf_measurement_expect_runners(const kf_measurement *r);
/* Has the pool start runners for later jobs, and the one that counts. */
void kf_measurement_expect_spares(const kf_measurement *r);
/* Waits until those have started, except for Python, which takes seconds. */
bool kf_measurement_await_spares(const kf_measurement *r, kf_error *error);
/* Waits for runners that start, where starting would disturb the baseline's batches. */
bool kf_measurement_await_starting(kf_measurement *r, kf_error *error);
/* Frees memory of runners that this workload does not use. */
void kf_measurement_make_room(const kf_measurement *r);
/* Gives the task's own runners back to the pool, with what was learned about the baseline. */
void kf_measurement_keep_trusted(kf_measurement *r);
/* Keeps the candidate's runner for the next workload of this round. */
bool kf_measurement_keep_candidate(kf_measurement *r, kf_error *error);
/* Charges to the candidate what its runner was late. */
void kf_measurement_charge_lateness(kf_measurement *r);

/* ---- measure_baseline_cache.c ---------------------------------------------------------------- */

/* True if an earlier job measured this baseline, and its runner still lives. */
bool kf_measurement_recall(kf_measurement *r);
/* Fills schedule and record from that. */
void kf_measurement_use_known(kf_measurement *r);
/* Notes for later jobs what this one found out about the baseline. */
void kf_measurement_learn(kf_measurement *r);

/* ---- measure_sets.c -------------------------------------------------------------------------- */

/* Makes new sets in place of those there are, which no runner maps yet. If the candidate's process
 * holds the memory for them, that is a finding. */
bool kf_measurement_make_sets(kf_measurement *r, uint32_t count, kf_error *error);
void kf_measurement_drop_sets(kf_measurement *r);
/* Makes new sets, and maps them into all runners there are. */
bool kf_measurement_change_sets(kf_measurement *r, uint32_t count, kf_error *error);
/* Returns how many sets a measurement begins with. */
uint32_t kf_measurement_least_sets(const kf_measurement *r);
kf_set_limits kf_measurement_set_limits(const kf_measurement *r);
/* Returns how many seconds of calls a batch should have. Cold code and caches matter less in a
 * longer batch, so a larger budget makes batches longer. */
double kf_measurement_find_batch_length(const kf_measurement *r);
/* Measures what the schedule has to know, and makes as many sets as it asks for. */
bool kf_measurement_size_batches(kf_measurement *r, kf_error *error);

/* ---- measure_batches.c ----------------------------------------------------------------------- */

/* Draws a random number of this workload and measurement, a different one for each purpose and
 * number. */
uint64_t kf_measurement_draw(const kf_measurement *r, const char *purpose, int number);
/* Returns how many seconds a batch of so many calls may take. */
double kf_measurement_timeout(const kf_measurement *r, kf_side side, uint32_t calls);
/* Returns the part of it that a slow call has whatever the baseline takes. Loading has it, too. */
double kf_measurement_call_seconds(const kf_measurement *r);
/* Waits until the driver clears no freed memory. Comes before anything that is timed, but not
 * between a priming call and its batch. */
void kf_measurement_memory_settle(kf_measurement *r);
/* Has the device mean this side's buffers. */
bool kf_measurement_turn_to(kf_measurement *r, kf_side side, kf_error *error);
/* Prepares all buffers for a batch that calls the first `called` sets of the order. */
bool kf_measurement_refresh(kf_measurement *r, int number, kf_side side, uint32_t called,
                            kf_error *error);
/* Does the same for a batch of the baseline that is only timed: it needs no poison. */
bool kf_measurement_ready_baseline(kf_measurement *r, int number, uint32_t called, kf_error *error);
/* Runs a batch of one side on `count` sets of the order, from `first` on. A letter other than 0
 * makes it a sample of that pair in the verdict, or is KF_PRIMING_CALL. */
#define KF_PRIMING_CALL 'r'
/* As a letter: an untimed call that keeps the results of the call before it. */
#define KF_SECOND_CALL 's'
bool kf_measurement_batch(kf_measurement *r, kf_side side, uint32_t first, uint32_t count,
                          char letter, int pair, kf_batch *batch, kf_error *error);
/* Checks what the batches since the last refresh broke. */
bool kf_measurement_inspect(kf_measurement *r, kf_side side, kf_error *error);
/* Does nothing, in place of a snapshot of outputs, so that the batch takes the same path. */
void kf_measurement_snapshot_nothing(void *context);
/* Adds a sample to the verdict; false without memory. */
bool kf_measurement_add_sample(kf_measurement *r, char side, int pair, const kf_batch *batch);
/* Adds to the batch's seconds what its waking took too long. The second function notes the waking
 * in the record first. */
void kf_measurement_charge_late(const kf_measurement *r, kf_side side, kf_batch *batch);
void kf_measurement_charge_waking(kf_measurement *r, kf_side side, kf_batch *batch);

/* ---- measure_occupy.c --------------------------------------------------------------------------
 */

/* True if the device can be occupied, so that each side's inputs come right before its batch. */
bool kf_measurement_occupies(const kf_measurement *r);
/* Have the problem itself make inputs before the device is occupied or a batch is held: those of
 * all sets for the next fill with that secret, or fresh ones for the listed sets. Nothing where the
 * judge makes the inputs. */
bool kf_measurement_make_inputs(kf_measurement *r, uint64_t secret, kf_error *error);
bool kf_measurement_make_fresh(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error);
/* Occupies the device, from before inputs are filled. Nothing on other devices. */
bool kf_measurement_occupy(kf_measurement *r, kf_error *error);
/* Waits with inputs of that side filled, if this time is to show work that waits for them. */
void kf_measurement_probe(kf_measurement *r, kf_side side);
/* Comes right before a batch: occupies the device, and has the batch vacate it. */
bool kf_measurement_occupy_batch(kf_measurement *r, kf_batch *batch, kf_error *error);
/* Comes right after a batch, and notes an interruption. */
bool kf_measurement_end_occupation(kf_measurement *r, kf_error *error);
/* True if an interruption was seen, and too few long occupations to judge it. Then more pairs
 * follow. */
bool kf_measurement_suspects_work(const kf_measurement *r);
/* Adds a finding if work waits for inputs. The candidate is to blame if the device is not busy
 * without its process. */
bool kf_measurement_check_interruptions(kf_measurement *r, kf_error *error);

/* ---- measure_watch.c ------------------------------------------------------------------------- */

/* Runs a batch of the candidate in which the judge overwrites inputs of calls that have not begun,
 * and compares it; another one if the judge came too late. `plan` is that of the pair before it.
 * Does nothing where that is not possible. */
bool kf_measurement_watch(kf_measurement *r, const kf_pair_plan *plan, kf_error *error);

/* ---- measure_empty.c ------------------------------------------------------------------------- */

/* Makes a priming call on the first set of the order. The sets must not hold the inputs that a
 * candidate will be timed on. */
bool kf_measurement_prime(kf_measurement *r, kf_side side, double *seconds, kf_error *error);
/* Runs the batches without calls that come before a batch of that side, and records their times.
 * Where batches are separated, the last of them is another process's. */
bool kf_measurement_empty_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error);
/* Runs so many of the planned ones as are needed, where batches are not separated. */
bool kf_measurement_empty_batches(kf_measurement *r, const kf_pair_plan *plan, uint32_t planned,
                                  kf_error *error);
/* Runs one of the baseline right after another batch of its process, as before a single call. */
bool kf_measurement_empty_again(kf_measurement *r, kf_error *error);

/* ---- measure_results.c ----------------------------------------------------------------------- */

/* Copies what a runner in Python computed into the sets. */
bool kf_measurement_fetch(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                          kf_error *error);
/* Runs the oracle on those of the listed sets that have no truth yet. */
bool kf_measurement_find_truth(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error);
/* Compares outputs of the listed sets with the truth. Doubtful sets go to `doubts`, unless it is
 * NULL, and are no finding. */
bool kf_measurement_compare(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                            kf_doubts *doubts, kf_error *error);
/* Finds out if outputs of the candidate on the listed sets are far off, without a finding. Before
 * it says so, it runs the baseline on the inputs of these sets. */
bool kf_measurement_find_wrong(kf_measurement *r, const uint32_t *list, uint32_t count, bool *wrong,
                               kf_error *error);
/* Runs the baseline on the inputs of a doubtful set, and overwrites another set for it. That may
 * take one from the list. */
bool kf_measurement_run_baseline_on(kf_measurement *r, uint32_t doubtful, kf_doubts *doubts,
                                    uint32_t *list, uint32_t *count, kf_error *error);

/* ---- measure_baseline_alone.c ---------------------------------------------------------------- */

/* Runs one or two calls of the candidate, which show how many calls its batches may have. */
bool kf_measurement_first_calls(kf_measurement *r, kf_error *error);
/* Runs batches that do not count until a side's calls are as fast as they get. `least`: seconds of
 * the shortest of at least two, INFINITY without. */
bool kf_measurement_warm_up(kf_measurement *r, kf_side side, double *least, kf_error *error);
/* Times the baseline's batches while no candidate is loaded, into a series of the record, which it
 * empties first. */
bool kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series, kf_error *error);

/* ---- measure_pairs.c ------------------------------------------------------------------------- */

/* Draws fresh inputs and runs a batch of each side. Fills `times`, except for calls that the plan
 * does not ask for. */
/* Checks what the first `called` sets of the order hold now: inspects buffers and compares outputs.
 * All calls are compared in every pair, so that a candidate cannot do some of them less well. */
bool kf_measurement_check_side(kf_measurement *r, kf_side side, uint32_t called, kf_error *error);
/* Compares outputs only. The buffers have been inspected since the side last ran. */
bool kf_measurement_check_results(kf_measurement *r, kf_side side, uint32_t called,
                                  kf_error *error);
bool kf_measurement_pair(kf_measurement *r, const kf_pair_plan *plan, kf_pair_times times[2],
                         kf_error *error);

/* ---- measure_stream_order.c ------------------------------------------------------------------ */

/* Runs held batches of the candidate after a pair, on the sets and in the order of that pair. Adds
 * a finding if work began before its turn in the call's stream. */
bool kf_measurement_check_order(kf_measurement *r, const kf_pair_plan *plan, kf_error *error);
/* Adds a finding if work of the batches since the last refresh ended late. For after they have been
 * compared. */
bool kf_measurement_check_samples(kf_measurement *r, kf_error *error);

/* ---- measure_state.c ------------------------------------------------------------------------- */

/* CPU device: finds out whether a wrong result depends on the order of threads, and says so in the
 * finding. */
bool kf_measurement_explain_order(kf_measurement *r, kf_error *error);
/* Finds out whether a solution in Python is wrong because it keeps what it made of its first
 * weights, and says so in the finding. */
bool kf_measurement_explain_state(kf_measurement *r, kf_error *error);

/* ---- measure_figures.c ----------------------------------------------------------------------- */

/* Writes the figures of the record into the verdict, and turns evidence into findings. */
bool kf_measurement_conclude(kf_measurement *r, kf_error *error);

#endif
