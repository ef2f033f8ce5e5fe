/* What the parts of measuring a workload share: measure.c (the order of batches), measure_peers.c (starting runners, wording what became of them),
 * measure_figures.c (what the times mean). */
#ifndef KFORGE_MEASURE_INTERNAL_H
#define KFORGE_MEASURE_INTERNAL_H

#include "check.h"
#include "kforge/file.h"
#include "measure.h"

typedef enum kf_side { BASELINE, CANDIDATE } kf_side;

#define KF_WAKINGS 64

typedef struct kf_run {
    kf_workbench *bench;
    const kf_device_operations *device;
    kf_checker *checker;
    kf_sets *sets;
    uint32_t set_count;
    kf_peer *peers[2], *oracle;
    kf_choices choices;
    kf_set_variation *variations;
    uint32_t *order, *list;     /* sets in the order called; sets to compare */
    bool *chosen, *true_known;  /* by set: called in this batch; its truth is there in this pair */
    double baseline_call;       /* seconds of one baseline call, roughly */
    double empty_batch;         /* seconds of an empty batch, roughly */
    double set_cost, pair_time; /* seconds: of a set in a pair beside its calls; that a pair may take */
    uint32_t calls[2];          /* in a batch of each side */
    uint32_t alone_calls;       /* in the batches of r->alone */
    double candidate_time;      /* seconds that the candidate's batches took in all */
    double *seconds[2], *latency[2], *alone, *null;
    double waking[2]
                 [KF_WAKINGS]; /* of the latest batches of each side: seconds from waking a runner to its answer that it is awake */
    size_t wakings[2];
    double quickest_waking;              /* of the baseline */
    double woke[2][2];                   /* by side, batch and single call: the part of the last waking that was not charged */
    double *woken[2], *latency_woken[2]; /* of each pair, beside seconds and latency */
    size_t pairs, latency_pairs, alone_count, null_count, capacity;
    int serial; /* of the next pair: no two share keys, repeated warm-ups included */
    bool timed;
    bool in_place;         /* the task has inouts: a call needs its inputs anew */
    int spare_threads;     /* the device's own may appear later */
    int gaps, gap_batches; /* of the candidate: batches with work left beside the stream, and all */
    bool over;             /* a finding ended it */
    double started;
} kf_run;

static inline bool no_memory(kf_error *error)
{
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while measuring");
}

static inline double kf_run_time_left(const kf_run *r)
{
    return r->bench->deadline - kf_now();
}

/* Turns an event of a runner into a finding, and the run is over; false for what is the machine's or the caller's. */
bool kf_run_report(kf_run *r, kf_peer *peer, kf_role role, kf_peer_event event, int code, const char *doing, kf_error *error);
/* Starts a runner, loads its binary, gives it its scalars. */
bool kf_run_start_peer(kf_run *r, kf_role role, kf_peer **peer, kf_error *error);
/* Maps all buffers. */
bool kf_run_hand_over(kf_run *r, kf_role role, kf_peer *peer, kf_error *error);

/* The baseline's batches with no candidate there, into r->alone. */
bool kf_run_measure_alone(kf_run *r, uint32_t calls, kf_error *error);

/* Times to figures: fixed cost, speedups, interference, floor. */
bool kf_run_conclude(kf_run *r, kf_error *error);

#endif
