/* From times to figures. */
#include <math.h>
#include <string.h>

#include "measure_internal.h"

#define MOST_LATE 0.00025   /* seconds beyond the lower quartile of empty batches that are believed to be fixed cost */
#define MOST_BESIDE 0.00006 /* seconds more than an empty batch costs that are believed to be fixed cost */
#define EARLY_SECONDS 0.001 /* wakings beyond this, these times the baseline's, and this part of a batch are work done early */
#define EARLY_FACTOR 8.0
#define EARLY_PART 0.1

#define MERGED_CALLS 2.0  /* times a call of a batch that a call alone may take longer, beside what the baseline's does */
#define INTERFERENCE 0.03 /* the baseline may be so much slower beside a candidate than alone */

static void subtract(double *values, size_t count, double cost)
{
    for (size_t i = 0; i < count; i++) values[i] -= cost;
}

/* Of a waking, WAKING_SECONDS and some are not charged when it happens. What goes beyond the baseline's usual waking is charged now, to all batches,
 * those of the baseline alone and the empty ones included: a machine that is late adds as much to any, work done early adds to one side's. */
static void charge_wakings(kf_series *series, size_t count, uint32_t calls, double usual)
{
    for (size_t i = 0; i < count && !isnan(usual); i++) series->seconds[i] += fmax(series->woken[i] - usual, 0) / calls;
}

/* What calls that wait for their launch vary by is no interference. */
static bool slower_than(const kf_device *device, const kf_interval *beside, const kf_interval *alone)
{
    double bias = alone->value < device->launch_bound ? device->launch_bias : 0;
    return beside->low > alone->high + bias && beside->value > alone->value * (1 + INTERFERENCE) + bias;
}

/* Was the baseline slower because the candidate was there? Alone before and alone after have to agree on it: a machine that drifts disagrees. */
static bool check_interference(kf_run *r, double usual_waking, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_interval beside = kf_median_interval(r->throughput[BASELINE].seconds, r->pairs, 0.95),
                before = kf_median_interval(r->alone.seconds, r->alone_count, 0.95);
    if (!slower_than(bench->device, &beside, &before)) return true;
    kf_peer_free(r->peers[CANDIDATE]);
    r->peers[CANDIDATE] = NULL;
    if (!kf_run_measure_alone(r, r->alone_calls, error)) return false;
    if (r->over) return true;
    charge_wakings(&r->alone, r->alone_count, r->alone_calls, usual_waking);
    kf_interval after = kf_median_interval(r->alone.seconds, r->alone_count, 0.95);
    if (!slower_than(bench->device, &beside, &after)) return true;
    return kf_verdict_add_finding(
               bench->verdict, bench->result, KF_INTERFERENCE, KF_BLAME_MACHINE, "baseline.disturbed", beside.value / after.value,
               1 + INTERFERENCE, "the baseline took %.3g s a call beside the candidate, %.3g s alone before and %.3g s alone after",
               beside.value, before.value, after.value) != NULL ||
           no_memory(error);
}

/* What one process has against another in calls that wait for their launch: no number of pairs shows it, so it widens the interval. Independent on
 * both sides. */
static kf_interval widen_launches(const kf_device *device, kf_interval speedup, double baseline, double candidate)
{
    if (!(fmin(baseline, candidate) < device->launch_bound)) return speedup;
    double factor = 1 + hypot(device->launch_bias / baseline, device->launch_bias / candidate);
    return (kf_interval){speedup.value, speedup.low / factor, speedup.high * factor};
}

/* Faster than physics allows, all of the candidate's interval and what is not known of the fixed cost included: than the memory can be, or than calls can
 * be launched, when the calls of a batch are done by one launch and return without any of their own. */
static bool check_floor(kf_run *r, double uncertainty, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    kf_interval candidate = kf_median_interval(r->throughput[CANDIDATE].seconds, r->pairs, 0.95);
    double slowest = candidate.high + uncertainty / r->calls[CANDIDATE], margin = bench->device->floor_margin;
    for (int look = 0; look < 2; look++) { /* a busy machine may have looked slow when its ceilings were measured */
        if (look == 1 && r->device->measure_ceilings && !r->device->measure_ceilings(bench->device, error)) return false;
        result->floor_seconds = r->device->floor_seconds(bench->device, bench->problem);
        bool enough = bench->problem->work_bytes_derived || !(slowest < margin * result->floor_seconds);
        if (enough && !(slowest < bench->device->least_call)) return true;
    }
    if (slowest < bench->device->least_call)
        return kf_verdict_add_finding(bench->verdict, result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, "launch.undercut", slowest,
                                      bench->device->least_call,
                                      "at most %.3g s a call, less than half of what launching an empty kernel takes here: not "
                                      "every call has the device do something",
                                      slowest) != NULL ||
               no_memory(error);
    return kf_verdict_add_finding(
               bench->verdict, result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, "floor.undercut", slowest, margin * result->floor_seconds,
               "at most %.3g s a call, less than %.0f %% of the %.3g s that the task's memory traffic takes on this machine",
               slowest, 100 * margin, result->floor_seconds) != NULL ||
           no_memory(error);
}

/* The machine delays both sides' waking alike; work on the inputs before the clock runs delays one. All late wakings are charged; to convict, most of
 * the candidate's have to be later than nearly all of the baseline's, and on a processor its threads have to have been. */
static bool check_waking(kf_run *r, kf_error *error)
{
    size_t counts[2] = {r->wakings[BASELINE] < KF_WAKINGS ? r->wakings[BASELINE] : KF_WAKINGS,
                        r->wakings[CANDIDATE] < KF_WAKINGS ? r->wakings[CANDIDATE] : KF_WAKINGS};
    /* Beside a baseline of another kind nothing that works is there to compare with, and on a busy machine threads that have worked wake later than
     * those of the idle runner: what is late is charged, and accuses nobody. */
    if (r->idle) return true;
    double usual = kf_median(r->waking[BASELINE], counts[BASELINE]), late = kf_quantile(r->waking[BASELINE], counts[BASELINE], 0.9),
           its = kf_quantile(r->waking[CANDIDATE], counts[CANDIDATE], 0.25);
    double batch = kf_median(r->throughput[CANDIDATE].seconds, r->pairs) * r->calls[CANDIDATE];
    double limit = fmax(fmax(EARLY_SECONDS, late), EARLY_FACTOR * usual);
    double worked = r->bench->device->calls_block ? kf_quantile(r->worked, counts[CANDIDATE], 0.25) : NAN;
    if (worked < EARLY_SECONDS)
        return true; /* it waited; false for NaN: elsewhere a waiting thread may have a device work for it */
    if (!(its > limit) || !(its > EARLY_PART * batch)) return true;
    r->over = true;
    return kf_verdict_add_finding(
               r->bench->verdict, r->bench->result, KF_CHEATING, KF_BLAME_CANDIDATE, "runner.early", its, limit,
               "worked for %.3g s between being woken and the request, when inputs are there and the clock does not "
               "run; the baseline's process takes %.3g s",
               its, usual) != NULL ||
           no_memory(error);
}

/* Waking the judge and stopping the runner take longer behind calls, which have turned processors and caches to something else, than behind nothing.
 * How much longer is seen on the baseline, whose clock around its calls nobody has an interest in. A busy machine makes much more of it, by chance;
 * that is no fixed cost, so only some is believed, and never more than the least that a batch took beside its calls. */
static double beside_calls(const kf_run *r, double empty)
{
    if (!r->beside_count) return 0;
    double more = kf_quantile(r->beside.seconds, r->beside_count, 0.25) - empty,
           least = kf_quantile(r->beside.seconds, r->beside_count, 0);
    return fmin(fmin(fmax(more, 0), MOST_BESIDE), fmax(least, 0) - empty);
}

/* The median of empty batches, and what is not known of it. A machine that wakes late half of the time does so in all batches; but what a busy one
 * makes of them is no fixed cost, and subtracting it would leave less than nothing of a short batch that was spared. */
static double fixed_cost(const kf_series *series, size_t count, double *uncertainty)
{
    double cost = fmin(kf_median(series->seconds, count), kf_quantile(series->seconds, count, 0.25) + MOST_LATE);
    kf_interval interval = kf_median_interval(series->seconds, count, 0.95);
    *uncertainty = isnan(interval.low) ? kf_mad(series->seconds, count) : (interval.high - interval.low) / 2;
    if (cost >= 0) return cost;
    *uncertainty = 0;
    return 0;
}

/* Are calls in a batch as fast as they are because others do their work? Whoever knows what a batch will call can have one call do all of it,
 * side by side on a device that one call does not fill. A single call tells: it is on a set that the batch left out. It takes longer than one of a
 * batch, for its launch and cold caches are all its own, but so does the baseline's, and what honest candidates need more of that stays below some
 * times their call. Quartiles on the side that accuses less, so that a noisy machine convicts nobody. In Python a call alone is mostly the
 * interpreter's. */
static bool check_merged(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    const kf_workload_verdict *result = bench->result;
    if (!(bench->device->merged_call > 0) || r->idle || bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH) return true;
    double alone = kf_quantile(r->latency[CANDIDATE].seconds, r->latency_pairs, 0.25) -
                   kf_quantile(r->latency[BASELINE].seconds, r->latency_pairs, 0.75),
           together = kf_quantile(r->throughput[CANDIDATE].seconds, r->pairs, 0.75) -
                      kf_quantile(r->throughput[BASELINE].seconds, r->pairs, 0.25),
           limit = MERGED_CALLS * result->candidate_seconds + bench->device->merged_call;
    if (!(alone - together > limit)) return true;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, "calls.merged",
                                  alone - together, limit,
                                  "a call takes %.3g s in a batch; alone, on inputs that no batch shows, it takes %.3g s more than "
                                  "that and what the baseline's "
                                  "calls take more alone: the calls of a batch are not made one after the other",
                                  result->candidate_seconds, alone - together) != NULL ||
           no_memory(error);
}

bool kf_run_conclude(kf_run *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    if (!check_waking(r, error)) return false;
    if (r->over) return true;
    double usual = kf_median(r->throughput[BASELINE].woken, r->pairs),
           single = kf_median(r->latency[BASELINE].woken, r->latency_pairs);
    double idle = r->idle_wakings ? kf_median(r->idle_waking, r->idle_wakings) : NAN; /* of the candidate's own kind of runner */
    for (int side = 0; side < 2; side++) {
        bool other = side == CANDIDATE && !isnan(idle);
        charge_wakings(&r->throughput[side], r->pairs, r->calls[side], other ? idle : usual);
        charge_wakings(&r->latency[side], r->latency_pairs, 1, other ? idle : single);
    }
    charge_wakings(&r->null_candidate, r->null_candidate_count, 1, isnan(idle) ? usual : idle);
    charge_wakings(&r->alone, r->alone_count, r->alone_calls, usual);
    charge_wakings(&r->null, r->null_count, 1, usual);
    charge_wakings(&r->beside, r->beside_count, 1, usual);
    if (r->calls[BASELINE] == r->alone_calls && r->alone_count && !check_interference(r, usual, error)) return false;
    if (r->over) return true;

    double unsure[2], costs[2];
    for (int side = 0; side < 2; side++) {
        bool own = side == CANDIDATE && r->null_candidate_count;
        costs[side] = fixed_cost(own ? &r->null_candidate : &r->null, own ? r->null_candidate_count : r->null_count, &unsure[side]);
    }
    double more = beside_calls(r, costs[BASELINE]);
    for (int side = 0; side < 2; side++) costs[side] += more;
    double uncertainty = fmax(unsure[BASELINE], unsure[CANDIDATE]) + fmax(more, 0) / 2;
    result->batch_cost_seconds = costs[CANDIDATE];
    for (int side = 0; side < 2; side++) {
        /* Of a single call only what a batch of one costs. */
        double single_cost = r->null_candidate_count && side == BASELINE ? fmin(costs[side], r->empty_batch) : costs[side];
        subtract(r->throughput[side].seconds, r->pairs, costs[side] / r->calls[side]);
        subtract(r->latency[side].seconds, r->latency_pairs, single_cost);
    }
    result->baseline_seconds = kf_median(r->throughput[BASELINE].seconds, r->pairs);
    result->candidate_seconds = kf_median(r->throughput[CANDIDATE].seconds, r->pairs);
    result->speedup = kf_speedup_widen(
        kf_speedup(r->throughput[BASELINE].seconds, r->throughput[CANDIDATE].seconds, r->pairs, KF_TIMING_CONFIDENCE),
        result->baseline_seconds * r->calls[BASELINE], result->candidate_seconds * r->calls[CANDIDATE], uncertainty);
    result->speedup = widen_launches(bench->device, result->speedup, result->baseline_seconds, result->candidate_seconds);
    result->latency_baseline_seconds = kf_median(r->latency[BASELINE].seconds, r->latency_pairs);
    result->latency_candidate_seconds = kf_median(r->latency[CANDIDATE].seconds, r->latency_pairs);
    result->latency_speedup = kf_speedup_widen(
        kf_speedup(r->latency[BASELINE].seconds, r->latency[CANDIDATE].seconds, r->latency_pairs, KF_TIMING_CONFIDENCE),
        result->latency_baseline_seconds, result->latency_candidate_seconds, uncertainty);

    if (!check_floor(r, uncertainty, error) || !check_merged(r, error)) return false;
    if (r->latency_pairs && result->latency_speedup.high < result->speedup.low / 2 &&
        !kf_verdict_add_flag(bench->verdict, "latency.disagrees:%s", result->workload))
        return no_memory(error);
    return true;
}
