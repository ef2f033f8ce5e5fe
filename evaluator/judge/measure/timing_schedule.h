/* Decides how many calls make a batch, which pair comes next, and when a measurement ends.
 *
 * Pure: the schedule sees seconds that its caller measured, and reads no clock. measure_sets.c
 * feeds it before the pairs, measure.c during them. The steps, in order:
 *   1. kf_schedule_set_call: a call of the baseline has been timed.
 *   2. kf_schedule_size_batches: so has all else that a pair takes; kf_schedule_shorten corrects
 * it.
 *   3. kf_schedule_begin_pairs, then for each pair kf_schedule_next, kf_schedule_adapt,
 *      kf_schedule_judge, and for a pair that counts kf_schedule_is_done. */
#ifndef KFORGE_TIMING_SCHEDULE_H
#define KFORGE_TIMING_SCHEDULE_H

#include "input_secret.h"
#include "kforge/stats.h"
#include "timing_record.h"

/* Each measurement begins with so many sets, unless memory is short. */
#define KF_MIN_SETS 3
/* No measurement has more pairs. */
#define KF_MAX_PAIRS 400

typedef struct kf_schedule {
    /* as asked, and as it applies to this candidate */
    kf_stopping_rule rule, bound;
    /* relative half width of the interval that the caller asked for */
    double half_width;
    /* A vague interval may take so many times rule.seconds (0: as 1). */
    double vague_times;
    /* seconds of calls that a batch should have */
    double batch_length;
    /* some workloads are only checked */
    bool timed;
    /* by side: calls in a batch */
    uint32_t calls[2];
    /* roughly, seconds: of a call of the baseline, of a batch without calls */
    double baseline_call, empty_batch;
    /* the same of the candidate's first calls; 0 before them */
    double candidate_call;
    /* seconds: what a set adds to a pair besides its calls, the truth included; of a whole pair */
    double set_cost, pair_time;
    /* of the next pair; the warm-up is 0 */
    int number;
    /* No two pairs have the same serial number, repeated warm-ups included. */
    int serial;
    /* the warm-up has been repeated with more sets */
    bool repeated;
    /* decides the order of pairs, and what follows each: a stream of the job's secret */
    kf_choices choices;
    /* of the last pair */
    bool candidate_first;
    /* of four pairs: bits of those that a watched batch follows */
    unsigned watched;
    /* of the first eight timed pairs: the number of the one without single calls, or more */
    uint32_t without_single;
} kf_schedule;

/* How many sets there can be: at least, and by memory and by the cost of a buffer at most. */
typedef struct kf_set_limits {
    uint32_t least;
    double room, most;
} kf_set_limits;

/* Returns how many sets batches of so many calls need: some more than are called, within limits. */
uint32_t kf_schedule_sets_for(const kf_set_limits *limits, double calls);

/* Sets what a call of the baseline takes, and as many calls a batch as `sets` sets allow. */
void kf_schedule_set_call(kf_schedule *schedule, double seconds, uint32_t sets);

/* Sets what a call of the candidate takes, before its first batch. If its
 * batch would take more than `most` seconds, it gets fewer calls. */
void kf_schedule_set_candidate_call(kf_schedule *schedule, double seconds, double most);

/* Seconds, measured on `sets` sets. */
typedef struct kf_schedule_probe {
    uint32_t sets;
    double filling; /* to draw inputs for all of them */
    double around;  /* of a batch: all that comes before and after it */
    double truth;   /* of a set: the oracle's call */
    bool primed;    /* a side makes a priming call before each batch */
} kf_schedule_probe;
/* Decides how many calls make a batch, and returns how many sets that takes. */
uint32_t kf_schedule_size_batches(kf_schedule *schedule, const kf_schedule_probe *probe,
                                  const kf_set_limits *limits);
/* Makes batches shorter after a warm-up on all sets. `seconds`: of its shortest batch, INFINITY if
 * there was one batch only. The calls that sized the batches ran on few sets, which a cache may
 * hold, so that they seemed shorter than they are. */
void kf_schedule_shorten(kf_schedule *schedule, double seconds);

typedef struct kf_pair_plan {
    int number;
    int serial;
    /* The baseline's outputs are compared too, so that its errors become known. */
    bool baseline_compared;
    bool timed;
    bool latency;
    bool candidate_first;
    /* A batch follows in which the judge overwrites inputs (measure_watch.c). */
    bool watched;
    /* Batches without calls before the pair, and before its watched batch. A candidate sees how
     * long it was stopped, so both are drawn alike. */
    uint32_t empties, watched_empties;
} kf_pair_plan;

void kf_schedule_begin_pairs(kf_schedule *schedule);
/* Plans the next pair. False if no pair follows: a workload that is only checked has enough. */
bool kf_schedule_next(kf_schedule *schedule, kf_pair_plan *plan);
/* Returns how many of the `planned` batches without calls are needed, if `made` have been made. */
size_t kf_schedule_empty_batches(const kf_pair_plan *plan, uint32_t planned, size_t made);

/* After the warm-up pair, whose batches took `seconds`: gives the candidate another number of
 * calls. A faster candidate needs more calls for its batch to stand out from the fixed cost. A
 * slower one gets few, and a wider interval suffices. Returns how many sets that takes, `sets` if
 * no more. The warm-up may then be repeated. */
uint32_t kf_schedule_adapt(kf_schedule *schedule, const double seconds[2],
                           const kf_set_limits *limits, uint32_t sets);

typedef enum kf_schedule_step {
    KF_STEP_SKIP,        /* the pair does not count */
    KF_STEP_KEEP,        /* it counts */
    KF_STEP_RESTART,     /* it does not, nor do those before: batches have another length now */
    KF_STEP_END,         /* no time is left, and there are enough pairs without this one */
    KF_STEP_OUT_OF_TIME, /* no time is left */
} kf_schedule_step;
/* Decides what becomes of a pair whose batches took `seconds`, after `pairs` that count. */
kf_schedule_step kf_schedule_judge(kf_schedule *schedule, const kf_pair_plan *plan,
                                   const double seconds[2], size_t pairs, double time_left);
/* True if the pairs of the record are enough after `elapsed` seconds. */
bool kf_schedule_is_done(const kf_schedule *schedule, const kf_timing_record *record,
                         double elapsed);

#endif
