/* The clock of a job: how much time is left, how long its current workload has been measured, and
 * how much of the time the candidate took.
 *
 * The clock can be paused, because some waiting must not count: for a build, for other jobs on the
 * device, for Python to start. A pause of the job moves its deadline. A pause of the workload alone
 * moves only the start of the measurement. All times are seconds of kf_now(), and the caller passes
 * them: these functions read no clock.
 *
 * A stall is time of a wait that other programs took (runner_timeout.h). It moves the deadline, so
 * that a busy machine convicts no candidate. But the job has a ceiling that stalls do not move:
 * KF_JOB_CEILING times its budget. */
#ifndef KFORGE_CLOCK_H
#define KFORGE_CLOCK_H

#include <stdbool.h>

/* What a pause stops: the clock of the workload, that of the job too, or both but not the way to
 * the ceiling. */
typedef enum kf_pause { KF_PAUSE_WORKLOAD, KF_PAUSE_JOB, KF_PAUSE_STALL } kf_pause;

typedef struct kf_clock {
    /* when the job's time is over */
    double deadline;
    /* when the job ends in any case; 0: never */
    double ceiling;
    /* seconds of stalls so far, also of those that have not moved the deadline */
    double stalled;
    /* when the measurement of the current workload began, moved on by its pauses */
    double started;
    double paused_at;
    bool paused;
    /* seconds that the candidate took: in earlier workloads, and in the current one */
    double candidate_before, candidate;
} kf_clock;

/* Returns the clock of a job that begins, and has `budget` seconds. */
kf_clock kf_clock_begin_job(double budget, double now);
/* Begins another workload of the same job. */
void kf_clock_begin_workload(kf_clock *clock, double now);
/* Stops the clock until kf_clock_resume, which says what the pause was for. Pauses do not nest. */
void kf_clock_pause(kf_clock *clock, double now);
void kf_clock_resume(kf_clock *clock, kf_pause pause, double now);
/* Takes seconds out that have passed already. */
void kf_clock_exclude(kf_clock *clock, kf_pause pause, double seconds);

/* Seconds that the job has left, and for which the workload has been measured. */
double kf_clock_left(const kf_clock *clock, double now);
double kf_clock_elapsed(const kf_clock *clock, double now);

/* A paused clock is never at its ceiling. */
bool kf_clock_at_ceiling(const kf_clock *clock, double now);
/* True at the ceiling if stalls took at least the budget: the machine is to blame. */
bool kf_clock_is_starved(const kf_clock *clock, double budget, double now);
/* True at the ceiling before the deadline: rounds that the machine spoiled moved the deadline. */
bool kf_clock_is_cut(const kf_clock *clock, double now);

/* Notes that the candidate took so many seconds. */
void kf_clock_charge_candidate(kf_clock *clock, double seconds);
/* Returns the seconds that the candidate took in all workloads so far. */
double kf_clock_candidate_total(const kf_clock *clock);
/* True if the candidate took most of the time, of the job with its `budget` of seconds or of the
 * current workload. The second counts too: else a candidate could use up the time of workloads
 * before, and so choose where the cut falls. */
bool kf_clock_blames_candidate(const kf_clock *clock, double budget, double now);

#endif
