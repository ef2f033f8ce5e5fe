/* What the parts of measuring a workload share: measure.c (how many batches of what),
 * measure_batches.c (one batch), measure_pairs.c (one of each side on the same sets),
 * measure_runners.c (starting runners, wording what became of them), measure_figures.c (what the
 * times mean), measure_state.c (why a module may be wrong). Functions that take a kf_error return
 * false for what is the machine's or the caller's; what there is to say of a candidate or a task
 * becomes a finding, and r->over. */
#ifndef KFORGE_MEASURE_INTERNAL_H
#define KFORGE_MEASURE_INTERNAL_H

#include "check_outputs.h"
#include "kforge/file.h"
#include "measure.h"
#include "timing_record.h"

typedef struct kf_measurement {
    kf_workbench *bench;
    const kf_device_operations *device;
    kf_checker *checker;
    kf_sets *sets;
    uint32_t set_count;
    kf_runner *runners[2], *oracle;
    kf_runner *idle; /* a runner of the candidate's kind with nothing loaded, where the baseline's
                        is of another: what does nothing costs there */
    kf_timing_record record;
    kf_choices choices;
    kf_set_variation *variations;
    /* sets in the order called; sets to compare: all that were called, until doubts drop some */
    uint32_t *order, *list;
    bool *chosen, *true_known; /* by set: called in this batch; its truth is there in this pair */
    bool *heard, *doubtful;    /* by set: as in kf_doubts, for the batch that is compared */
    double baseline_call;      /* seconds of one baseline call, roughly */
    double empty_batch;        /* seconds of an empty batch, roughly */
    /* seconds: of a set in a pair beside its calls, its truth included; that a pair may take */
    double set_cost, pair_time;
    uint32_t calls[2]; /* in a batch of each side */
    int serial;        /* of the next pair: no two share keys, repeated warm-ups included */
    bool timed;
    /* of the baseline alone, for jobs to come; `task` is empty where that is of no use to them */
    kf_known known;
    bool recalled; /* from an earlier job */
    /* beside a candidate the baseline was another: alone it has to be measured anew */
    bool stale;
    bool dirty;            /* something went wrong that no finding tells */
    bool own_state;        /* modules keep what their constructors have drawn (measure_state.c) */
    bool other_mode;       /* modules evaluate where the task's train (measure_state.c) */
    bool in_place;         /* the task has inouts: a call needs its inputs anew */
    int spare_threads;     /* the device's own may appear later */
    int gaps, gap_batches; /* of the candidate: batches with work left beside the stream, and all */
    bool over;             /* a finding ended it */
    double awaited;        /* seconds that the device's memory was waited for */
    bool unquiet;          /* it is not any more: that has taken too long */
} kf_measurement;

static inline bool no_memory(kf_error *error)
{
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while measuring");
}

static inline double kf_measurement_time_left(const kf_measurement *r)
{
    return kf_clock_left(&r->bench->clock, kf_now());
}

/* ---- measure_batches.c ----------------------------------------------------------------------- */

/* A random number of this workload and measurement, another for each purpose and number. */
uint64_t kf_measurement_draw(kf_measurement *r, const char *purpose, int number);
/* Seconds that a batch of so many calls may take. */
double kf_measurement_timeout(const kf_measurement *r, kf_side side, uint32_t calls);
/* Waits until nobody's freed memory is being cleared, before anything that is timed; not between a
 * rehearsal and its batch. */
void kf_measurement_memory_settle(kf_measurement *r);
/* Everything between two batches that is not timed. */
bool kf_measurement_refresh(kf_measurement *r, int number, kf_side side, uint32_t called,
                            kf_error *error);
/* What a batch of the baseline that is only timed needs: its inputs, and nothing in a cache. It has
 * no use for poison. */
bool kf_measurement_ready_baseline(kf_measurement *r, int number, uint32_t called, kf_error *error);
/* One batch of one side on r->order[first…], and what is to be said about it but for damage. A
 * letter: it is a sample of that pair, or KF_PRIMING_CALL. */
#define KF_PRIMING_CALL 'r'
bool kf_measurement_batch(kf_measurement *r, kf_side side, uint32_t first, uint32_t count,
                          char letter, int pair, kf_batch *batch, kf_error *error);
/* Is an empty batch of a third process made before each batch that is timed? On a GPU a batch costs
 * some 30 us less where its process had the last one, too, whatever the judge did in between: so
 * none has, but for those that rehearse. */
bool kf_measurement_steps_aside(const kf_measurement *r);
/* Does that side make a call that nobody times right before each batch that is timed? A module of
 * PyTorch's takes 70 to 400 us longer until its first kernel is launched where another process has
 * computed since it was called last (docs/results/README.md), and an empty batch, which calls
 * nothing, does not tell by how much. A batch may be no longer than one call of 3 ms, so on a GPU
 * who computes in Python rehearses. */
bool kf_measurement_needs_priming(const kf_measurement *r, kf_side side);
/* Makes that call, on the first set of the order. The sets must not hold the inputs that a
 * candidate will be timed on. */
bool kf_measurement_prime(kf_measurement *r, kf_side side, double *seconds, kf_error *error);
/* Empty batches before one of that side: into r->null, of the oracle where the run steps aside and
 * it is a runner of the baseline's kind, else of the baseline; and where those of the candidate's
 * kind cost something else, into r->null_candidate. Of a side that rehearses behind another one of
 * the same process. */
bool kf_measurement_empty_batch(kf_measurement *r, kf_side side, uint32_t count, kf_error *error);
/* One of the baseline's whose process has had the last batch, too, as before a single call, into
 * r->null_again. */
bool kf_measurement_empty_again(kf_measurement *r, kf_error *error);
/* Stands for a look at outputs where there is nothing to look at: it takes the same path and time.
 */
void kf_measurement_snapshot_nothing(void *context);
/* What the batches since the last refresh broke. */
bool kf_measurement_inspect(kf_measurement *r, kf_side side, kf_error *error);
/* Runs the oracle for those of the listed sets whose truth is not there yet. */
bool kf_measurement_find_truth(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error);
/* Outputs of the listed sets with the truth; what is doubtful into `doubts`, where it is not NULL,
 * instead of a finding. */
bool kf_measurement_compare(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                            kf_doubts *doubts, kf_error *error);
/* Words for a wrong result of a solution in Python that keeps what it has made of its first weights
 * (measure_state.c). */
bool kf_measurement_explain_state(kf_measurement *r, kf_error *error);
/* The baseline on the very inputs of a doubtful set, in a spare one, which may take another set
 * from the list. */
bool kf_measurement_hear_baseline(kf_measurement *r, uint32_t doubtful, kf_doubts *doubts,
                                  uint32_t *list, uint32_t *count, kf_error *error);

/* ---- measure_pairs.c ------------------------------------------------------------------------- */

typedef struct kf_pair_plan {
    int number; /* of the pair, 0 the warm-up */
    int serial; /* for keys */
    /* its outputs, too, so that its errors become known; the candidate's always are */
    bool baseline_compared;
    bool timed;
    bool latency;
    bool candidate_first;
} kf_pair_plan;

/* Draws fresh inputs and runs a batch of each side. Fills `times`, except for calls that the plan
 * does not ask for. */
bool kf_measurement_pair(kf_measurement *r, const kf_pair_plan *plan, kf_pair_times times[2],
                         kf_error *error);

/* ---- measure_runners.c ----------------------------------------------------------------------- */

/* Turns an event of a runner into a finding, and the run is over; false for what is the machine's
 * or the caller's. */
bool kf_measurement_report(kf_measurement *r, kf_runner *runner, kf_role role,
                           kf_runner_event event, int code, const char *doing, kf_error *error);
/* What the crew knows a runner of the task's own by: its binary; for PyTorch task and workload,
 * whose shapes it has been told. `key` is room for it. */
const char *kf_measurement_key(const kf_workbench *bench, kf_role role, char key[4400]);
/* Which program a role's runner is: `kinds`, but for a baseline through torch.compile, which is
 * timed as any in Python. */
kf_runner_kind kf_measurement_kind(const kf_workbench *bench, kf_role role);
/* Starts a runner, loads its binary, gives it its scalars. */
bool kf_measurement_start_runner(kf_measurement *r, kf_role role, kf_runner **runner,
                                 kf_error *error);
/* Starts r->idle where there has to be one. */
bool kf_measurement_start_idle(kf_measurement *r, kf_error *error);
/* Is what an empty batch costs the candidate measured apart from the baseline's? */
bool kf_measurement_is_apart(const kf_measurement *r);
/* Brings what a runner in Python computed into the sets; a fault is a finding. */
bool kf_measurement_fetch(kf_measurement *r, kf_side side, const uint32_t *list, uint32_t count,
                          kf_error *error);
/* Are the baseline's results brought also behind batches that are only timed? On a processor they
 * are where the candidate's are, behind each of its batches: what has just been read has its
 * process's next batch be faster, a module beside itself by 3 %. */
bool kf_measurement_fetches_all(const kf_measurement *r);
/* Maps all buffers. */
bool kf_measurement_hand_over(kf_measurement *r, kf_role role, kf_runner *runner, kf_error *error);

/* ---- measure_sizes.c ------------------------------------------------------------------------- */

#define KF_MIN_PAIRS 8
#define KF_SLOW 3.0 /* a candidate this much slower is judged on few calls */

/* New sets instead of those there are, which no runner has been handed yet. */
bool kf_measurement_make_sets(kf_measurement *r, uint32_t count, kf_error *error);
void kf_measurement_drop_sets(kf_measurement *r);
/* How many a measurement begins with. */
uint32_t kf_measurement_least_sets(const kf_measurement *r);
/* Sets for batches of so many calls: as many as memory allows, some more than are called. */
uint32_t kf_measurement_sets_for(const kf_measurement *r, double calls);
/* Seconds of calls that a batch should have. What a batch has to become cold costs, which an empty
 * one has not, counts less in a longer one: who gives more time gets that. */
double kf_measurement_batch_length(const kf_measurement *r);
/* How long a call of the baseline takes and what a set costs beside it, and with that how many sets
 * make a batch. */
bool kf_measurement_size_batches(kf_measurement *r, kf_error *error);
/* After a warm-up whose shortest batch took so many seconds (INFINITY: there was one only). Short
 * calls were timed on few sets, which a cache may hold: what all of them take says whether a batch
 * of so many is longer than it has to be. */
void kf_measurement_shorten_batches(kf_measurement *r, double seconds);
/* A candidate that is much faster than the baseline needs more calls for its batch to stand out
 * against the fixed cost; one that is much slower gets a few short ones, and `rule` asks for less
 * of it. `seconds`: of the warm-up pair's batches; `*again`: in, whether that has been repeated,
 * out, whether it is to be. */
bool kf_measurement_adapt(kf_measurement *r, const double seconds[2], kf_stopping_rule *rule,
                          bool *again, kf_error *error);

/* ---- measure.c ------------------------------------------------------------------------------- */

/* A finding that the job's time is over: the candidate's fault where it took most of it. */
bool kf_measurement_out_of_time(kf_measurement *r, kf_error *error);
/* Times the baseline's batches while no candidate is loaded, into a series of the record, which it
 * empties first. */
bool kf_measurement_solo(kf_measurement *r, uint32_t calls, kf_series *series, kf_error *error);

/* ---- measure_figures.c ----------------------------------------------------------------------- */

/* Times to figures: fixed cost, speedups, interference, floor. */
bool kf_measurement_conclude(kf_measurement *r, kf_error *error);

#endif
