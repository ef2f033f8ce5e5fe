#include "clock.h"

#include "kforge/job.h"

/* The candidate is to blame if it took more than this part of the time. */
#define BLAMED_PART 0.5

kf_clock kf_clock_begin_job(double budget, double now)
{
    return (kf_clock){.deadline = now + budget, .ceiling = now + KF_JOB_CEILING * budget};
}

void kf_clock_begin_workload(kf_clock *clock, double now)
{
    clock->started = now;
    clock->candidate_before += clock->candidate;
    clock->candidate = 0;
}

void kf_clock_pause(kf_clock *clock, double now)
{
    clock->paused = true;
    clock->paused_at = now;
}

void kf_clock_resume(kf_clock *clock, kf_pause pause, double now)
{
    clock->paused = false;
    kf_clock_exclude(clock, pause, now - clock->paused_at);
}

void kf_clock_exclude(kf_clock *clock, kf_pause pause, double seconds)
{
    clock->started += seconds;
    if (pause != KF_PAUSE_WORKLOAD) clock->deadline += seconds;
    if (pause == KF_PAUSE_JOB && clock->ceiling > 0) clock->ceiling += seconds;
}

double kf_clock_left(const kf_clock *clock, double now)
{
    double end = clock->deadline;
    if (clock->ceiling > 0 && clock->ceiling < end) end = clock->ceiling;
    return end - now;
}

double kf_clock_elapsed(const kf_clock *clock, double now)
{
    return now - clock->started;
}

bool kf_clock_at_ceiling(const kf_clock *clock, double now)
{
    return clock->ceiling > 0 && !clock->paused && now >= clock->ceiling;
}

bool kf_clock_is_starved(const kf_clock *clock, double budget, double now)
{
    return kf_clock_at_ceiling(clock, now) && clock->stalled >= budget;
}

bool kf_clock_is_cut(const kf_clock *clock, double now)
{
    return kf_clock_at_ceiling(clock, now) && now < clock->deadline;
}

void kf_clock_charge_candidate(kf_clock *clock, double seconds)
{
    clock->candidate += seconds;
}

double kf_clock_candidate_total(const kf_clock *clock)
{
    return clock->candidate_before + clock->candidate;
}

bool kf_clock_blames_candidate(const kf_clock *clock, double budget, double now)
{
    double began = clock->deadline - budget;
    return clock->candidate > BLAMED_PART * kf_clock_elapsed(clock, now) ||
           kf_clock_candidate_total(clock) > BLAMED_PART * (now - began);
}
