/* From times to figures. */
#include <math.h>
#include <string.h>

#include "measure_internal.h"

/* seconds beyond the lower quartile of empty batches that are believed to be fixed cost */
#define MAX_LATE 0.00025
/* seconds more than an empty batch costs that are believed to be fixed cost */
#define MAX_PAIRED 0.00006
/* seconds that one process may usually wake later than another and nobody has worked */
#define PROCESS_WAKING 0.000025
/* wakings beyond this, these times the baseline's, and this part of a batch are work done early */
#define EARLY_SECONDS 0.001
#define EARLY_FACTOR 8.0
#define EARLY_PART 0.1

/* times what the baseline's rehearsals take beyond a call of its batch */
#define REHEARSED_FACTOR 2.0
#define REHEARSED_COLD 2.0 /* times python_cold, where the baseline has none */

/* times a call of a batch that a call alone may take longer, beside what the baseline's does */
#define MERGED_CALLS 2.0
#define INTERFERENCE 0.03 /* the baseline may be so much slower beside a candidate than alone */

static void subtract(double *values, size_t count, double cost)
{
    for (size_t i = 0; i < count; i++) values[i] -= cost;
}

/* Of a waking, WAKING_SECONDS and some are not charged when it happens. What goes beyond the
 * baseline's usual waking is charged now, to all batches, those of the baseline alone and the empty
 * ones included: a machine that is late adds as much to any, work done early adds to one side's. */
static void charge_wakings(kf_series *series, size_t count, uint32_t calls, double usual)
{
    for (size_t i = 0; i < count && !isnan(usual); i++)
        series->seconds[i] += fmax(series->woken[i] - usual, 0) / calls;
}

/* What a call of one process has against one of another, as part of it: launch_bias where calls
 * wait for their launch, and less the longer they are, but not at once nothing. In the baseline
 * beside itself, whole lives of processes: 10 % of 4 us, 1 % of 17 us (H200), 0.5 % of 22 us
 * (H100), 0.1 % of 108 us. */
static double launch_part(const kf_device *device, double call)
{
    double longer = call / device->launch_bound;
    if (!(device->launch_bound > 0)) return 0;
    return device->launch_bias / call / (longer > 1 ? longer * longer * longer : 1);
}

/* What calls that wait for their launch vary by is no interference. */
static bool slower_than(const kf_device *device, const kf_interval *beside,
                        const kf_interval *alone)
{
    double bias = launch_part(device, alone->value) * alone->value;
    return beside->low > alone->high + bias &&
           beside->value > alone->value * (1 + INTERFERENCE) + bias;
}

/* Was the baseline slower because the candidate was there? Alone before and alone after have to
 * agree on it: a machine that drifts disagrees. */
static bool check_interference(kf_measurement *r, double usual_waking, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_interval beside = kf_median_interval(r->throughput[BASELINE].seconds, r->pairs, 0.95),
                before = kf_median_interval(r->alone.seconds, r->solo_count, 0.95);
    r->stale = (beside.high < before.low || beside.low > before.high) &&
               fabs(beside.value / before.value - 1) > INTERFERENCE / 2;
    if (!slower_than(bench->device, &beside, &before)) return true;
    kf_runner_free(r->runners[CANDIDATE]);
    r->runners[CANDIDATE] = NULL;
    if (!kf_measurement_solo(r, r->solo_calls, error)) return false;
    if (r->over) return true;
    charge_wakings(&r->alone, r->solo_count, r->solo_calls, usual_waking);
    kf_interval after = kf_median_interval(r->alone.seconds, r->solo_count, 0.95);
    if (!slower_than(bench->device, &beside, &after)) return true;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_INTERFERENCE, KF_BLAME_MACHINE,
                                  "baseline.disturbed", beside.value / after.value,
                                  1 + INTERFERENCE,
                                  "the baseline took %.3g s a call beside the candidate, %.3g s "
                                  "alone before and %.3g s alone after",
                                  beside.value, before.value, after.value) != NULL ||
           no_memory(error);
}

/* By how much the baseline was slower beside the candidate than alone, at least; 1: that is not
 * certain. Less than what is interference may be the candidate's doing, too (timers that run out
 * while it is stopped, pages that the kernel gives back later), and then it is no merit: nobody is
 * called faster by it. Not where calls go on behind a launch: there batches alone may be an earlier
 * job's. */
static double slowed(const kf_measurement *r)
{
    if (!r->bench->device->calls_block || r->calls[BASELINE] != r->solo_calls || !r->solo_count)
        return 1;
    kf_interval beside = kf_median_interval(r->throughput[BASELINE].seconds, r->pairs, 0.95),
                alone = kf_median_interval(r->alone.seconds, r->solo_count, 0.95);
    return beside.low > alone.high ? beside.low / alone.high : 1; /* NaN is no certainty either */
}

/* What one process has against another in calls that wait for their launch: no number of pairs
 * shows it, so it widens the interval. Independent on both sides. */
static kf_interval widen_launches(const kf_device *device, kf_interval speedup, double baseline,
                                  double candidate)
{
    double factor = 1 + hypot(launch_part(device, baseline), launch_part(device, candidate));
    return (kf_interval){speedup.value, speedup.low / factor, speedup.high * factor};
}

/* Do the calls seem to take less than nothing, by as much as `least` is more? Then a busy machine
 * was later when nothing was called. Nobody's calls can do that, so it is no evidence. */
static bool is_less_than_nothing(double seconds, double least)
{
    return seconds < 0 && seconds <= -least;
}

/* Faster than physics allows, all of the candidate's interval and what is not known of the fixed
 * cost included: than the memory can be, or than calls can be launched, when the calls of a batch
 * are done by one launch and return without any of their own. */
static bool check_floor(kf_measurement *r, double uncertainty, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    kf_interval candidate = kf_median_interval(r->throughput[CANDIDATE].seconds, r->pairs, 0.95);
    double slowest = candidate.high + uncertainty / r->calls[CANDIDATE],
           margin = bench->device->floor_margin;
    /* a busy machine may have looked slow when its ceilings were measured */
    for (int look = 0; look < 2; look++) {
        if (look == 1 && r->device->measure_ceilings &&
            !r->device->measure_ceilings(bench->device, error))
            return false;
        result->floor_seconds = r->device->floor_seconds(bench->device, bench->problem);
        bool counts = !bench->problem->work_bytes_derived;
        bool enough = !counts || !(slowest < margin * result->floor_seconds);
        if (enough && !(slowest < bench->device->least_call)) return true;
        if (is_less_than_nothing(slowest, fmax(bench->device->least_call,
                                               counts ? margin * result->floor_seconds : 0)))
            return true;
    }
    if (slowest < bench->device->least_call)
        return kf_verdict_add_finding(bench->verdict, result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE,
                                      "launch.undercut", slowest, bench->device->least_call,
                                      "at most %.3g s a call, less than half of what launching an "
                                      "empty kernel takes here: not "
                                      "every call has the device do something",
                                      slowest) != NULL ||
               no_memory(error);
    return kf_verdict_add_finding(bench->verdict, result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE,
                                  "floor.undercut", slowest, margin * result->floor_seconds,
                                  "at most %.3g s a call, less than %.0f %% of the %.3g s that the "
                                  "task's memory traffic takes on this machine",
                                  slowest, 100 * margin, result->floor_seconds) != NULL ||
           no_memory(error);
}

/* The machine delays both sides' waking alike; work on the inputs before the clock runs delays one.
 * All late wakings are charged; to convict, most of the candidate's have to be later than nearly
 * all of the baseline's, and on a processor its threads have to have been. */
static bool check_waking(kf_measurement *r, kf_error *error)
{
    size_t counts[2] = {r->wakings[BASELINE] < KF_WAKINGS ? r->wakings[BASELINE] : KF_WAKINGS,
                        r->wakings[CANDIDATE] < KF_WAKINGS ? r->wakings[CANDIDATE] : KF_WAKINGS};
    /* Beside a baseline of another kind nothing that works is there to compare with, and on a busy
     * machine threads that have worked wake later than those of the idle runner: what is late is
     * charged, and accuses nobody. */
    if (r->idle) return true;
    double usual = kf_median(r->waking[BASELINE], counts[BASELINE]),
           late = kf_quantile(r->waking[BASELINE], counts[BASELINE], 0.9),
           its = kf_quantile(r->waking[CANDIDATE], counts[CANDIDATE], 0.25);
    double batch = kf_median(r->throughput[CANDIDATE].seconds, r->pairs) * r->calls[CANDIDATE];
    double limit = fmax(fmax(EARLY_SECONDS, late), EARLY_FACTOR * usual);
    double worked =
        r->bench->device->calls_block ? kf_quantile(r->worked, counts[CANDIDATE], 0.25) : NAN;
    if (worked < EARLY_SECONDS)
        return true; /* it waited; false for NaN: elsewhere a waiting thread may have a device work
                        for it */
    if (!(its > limit) || !(its > EARLY_PART * batch)) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CHEATING,
                                  KF_BLAME_CANDIDATE, "runner.early", its, limit,
                                  "worked for %.3g s between being woken and the request, when "
                                  "inputs are there and the clock does not "
                                  "run; the baseline's process takes %.3g s",
                                  its, usual) != NULL ||
           no_memory(error);
}

/* Waking the judge and stopping the runner take longer behind calls, which have turned processors
 * and caches to something else, than behind nothing. How much longer is seen on the baseline, whose
 * clock around its calls nobody has an interest in. A busy machine makes much more of it, by
 * chance; that is no fixed cost, so only some is believed, and never more than the least that a
 * batch took beside its calls. */
static double paired_calls(const kf_measurement *r, double empty)
{
    if (!r->paired_count) return 0;
    double more = kf_quantile(r->beside.seconds, r->paired_count, 0.25) - empty,
           least = kf_quantile(r->beside.seconds, r->paired_count, 0);
    return fmin(fmin(fmax(more, 0), MAX_PAIRED), fmax(least, 0) - empty);
}

/* What may have been subtracted too much: as little as some empty batch took is certain, and a
 * candidate is held to no more than that. */
static double overcharged(const kf_series *series, size_t count, double cost)
{
    return count ? fmax(cost - kf_quantile(series->seconds, count, 0), 0) : 0;
}

/* The median of empty batches, and what is not known of it. A machine that wakes late half of the
 * time does so in all batches; but what a busy one makes of them is no fixed cost, and subtracting
 * it would leave less than nothing of a short batch that was spared. */
static double fixed_cost(const kf_series *series, size_t count, double *uncertainty)
{
    double cost = fmin(kf_median(series->seconds, count),
                       kf_quantile(series->seconds, count, 0.25) + MAX_LATE);
    kf_interval interval = kf_median_interval(series->seconds, count, 0.95);
    *uncertainty =
        isnan(interval.low) ? kf_mad(series->seconds, count) : (interval.high - interval.low) / 2;
    if (cost >= 0) return cost;
    *uncertainty = 0;
    return 0;
}

/* Are calls in a batch as fast as they are because others do their work? Whoever knows what a batch
 * will call can have one call do all of it, side by side on a device that one call does not fill. A
 * single call tells: it is on a set that the batch left out. It takes longer than one of a batch,
 * for its launch and cold caches are all its own, but so does the baseline's, and what honest
 * candidates need more of that stays below some times their call. Quartiles on the side that
 * accuses less, so that a noisy machine convicts nobody, and where a process wakes late all its
 * life that is not the call's. Where others may have the very processors that calls run on, most of
 * one side's few single calls and none of the other's wait for one too often; so there the
 * candidate's quickest is held against the baseline's slowest: of eight each that is chance once in
 * 12,870 times, and who does a batch's work in each single call does it in the quickest, too. In
 * Python a call alone is mostly the interpreter's. */
static bool check_merged(kf_measurement *r, double single, kf_error *error)
{
    kf_workbench *bench = r->bench;
    const kf_workload_verdict *result = bench->result;
    if (!(bench->device->merged_call > 0) || r->idle ||
        bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH)
        return true;
    double later = kf_measurement_steps_aside(r)
                       ? kf_median(r->latency[CANDIDATE].woken, r->latency_pairs) - single
                       : 0;
    double quick = bench->device->calls_block ? 0 : 0.25;
    double alone = kf_quantile(r->latency[CANDIDATE].seconds, r->latency_pairs, quick) -
                   fmin(fmax(later, 0), PROCESS_WAKING) -
                   kf_quantile(r->latency[BASELINE].seconds, r->latency_pairs, 1 - quick),
           together = kf_quantile(r->throughput[CANDIDATE].seconds, r->pairs, 0.75) -
                      kf_quantile(r->throughput[BASELINE].seconds, r->pairs, 0.25),
           limit = MERGED_CALLS * fmax(result->candidate_seconds, 0) + bench->device->merged_call;
    if (!(alone - together > limit)) return true;
    return kf_verdict_add_finding(
               bench->verdict, bench->result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE, "calls.merged",
               alone - together, limit,
               "a call takes %.3g s in a batch; alone, on inputs that no batch shows, it takes "
               "%.3g s more than "
               "that and what the baseline's "
               "calls take more alone: the calls of a batch are not made one after the other",
               result->candidate_seconds, alone - together) != NULL ||
           no_memory(error);
}

/* Two processes are woken in different times by nature, on a GPU's host by up to some 30 us for as
 * long as they live, and charging that would make the one that wakes later the slower one. So the
 * figure is free of it: here what is charged is beyond a side's own usual waking, where a
 * candidate's is not more than PROCESS_WAKING above the baseline's. The low end of the interval is
 * the lower one of both ways: nobody is called faster for what he may have done early. */
static bool speed_up_fairly(const kf_measurement *r, double usual, kf_interval *speedup,
                            double seconds[2], kf_error *error)
{
    kf_autofree double *values = calloc(2 * r->pairs + r->empty_count + 1, sizeof *values);
    if (!values) return no_memory(error);
    double own = kf_median(r->throughput[CANDIDATE].woken, r->pairs),
           empty = kf_median(r->null.woken, r->empty_count), unsure;
    kf_series both[2], null = {values + 2 * r->pairs, r->null.woken};
    for (int side = 0; side < 2; side++) {
        both[side] = (kf_series){values + (size_t)side * r->pairs, r->throughput[side].woken};
        memcpy(both[side].seconds, r->throughput[side].seconds, r->pairs * sizeof *values);
        charge_wakings(&both[side], r->pairs, r->calls[side],
                       side == BASELINE ? usual : fmin(fmax(own, usual), usual + PROCESS_WAKING));
    }
    memcpy(null.seconds, r->null.seconds, r->empty_count * sizeof *values);
    charge_wakings(&null, r->empty_count, 1, fmin(empty, usual));
    double cost = fixed_cost(&null, r->empty_count, &unsure);
    for (int side = 0; side < 2; side++) {
        subtract(both[side].seconds, r->pairs, cost / r->calls[side]);
        seconds[side] = kf_median(both[side].seconds, r->pairs);
    }
    *speedup =
        kf_speedup(both[BASELINE].seconds, both[CANDIDATE].seconds, r->pairs, KF_TIMING_CONFIDENCE);
    return true;
}

/* The value of the first, the ends of both; NaN stays. */
static kf_interval unite(kf_interval a, kf_interval b)
{
    bool known = !isnan(a.low) && !isnan(a.high) && !isnan(b.low) && !isnan(b.high);
    return (kf_interval){a.value, known ? fmin(a.low, b.low) : NAN,
                         known ? fmax(a.high, b.high) : NAN};
}

/* What a batch of one process has against one of another, beside its calls and in them: no number
 * of pairs shows it. */
static kf_interval widen_processes(const kf_measurement *r, kf_interval speedup,
                                   const double batches[2])
{
    const kf_device *device = r->bench->device;
    bool python[2] = {r->bench->kinds[KF_ROLE_BASELINE] == KF_RUNNER_TORCH,
                      r->bench->kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH};
    double parts[2];
    for (int side = 0; side < 2; side++) {
        double bias = python[side] ? (python[!side] ? device->python_bias : device->python_cold)
                                   : (kf_measurement_steps_aside(r) ? device->batch_bias : 0);
        parts[side] = bias / batches[side];
    }
    double own = kf_measurement_is_apart(r)
                     ? fmax(device->process_bias, device->python_process_bias)
                     : device->process_bias;
    double factor = (1 + hypot(parts[BASELINE], parts[CANDIDATE])) * (1 + own);
    return (kf_interval){speedup.value, speedup.low / factor, speedup.high * factor};
}

/* Seconds that a rehearsal took beyond a call of the batch behind it, as that was made. */
static double excess(const kf_measurement *r, kf_side side, size_t pair)
{
    return r->priming_calls[side].seconds[pair] - r->throughput[side].seconds[pair];
}

/* Nobody times a rehearsal, so work that knows no inputs (memory that is allocated and cleared for
 * the calls to come) could be done there. What one takes beyond a call of its batch, what is cold
 * in it and what any batch costs is therefore in the batch's time. */
static bool charge_priming_calls(kf_measurement *r, kf_error *error)
{
    if (!kf_measurement_needs_priming(r, CANDIDATE)) return true;
    const kf_device *device = r->bench->device;
    double allowed = r->empty_batch + REHEARSED_COLD * device->python_cold;
    if (kf_measurement_needs_priming(r, BASELINE)) {
        kf_autofree double *values = calloc(r->pairs + 1, sizeof *values);
        if (!values) return no_memory(error);
        for (size_t i = 0; i < r->pairs; i++) values[i] = excess(r, BASELINE, i);
        allowed = REHEARSED_FACTOR * fmax(kf_median(values, r->pairs), r->empty_batch) +
                  device->python_cold;
    }
    for (size_t i = 0; i < r->pairs; i++)
        r->throughput[CANDIDATE].seconds[i] +=
            fmax(excess(r, CANDIDATE, i) - allowed, 0) / r->calls[CANDIDATE];
    return true;
}

bool kf_measurement_conclude(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    if (!check_waking(r, error) || (!r->over && !charge_priming_calls(r, error))) return false;
    if (r->over) return true;
    double usual = kf_median(r->throughput[BASELINE].woken, r->pairs),
           single = kf_median(r->latency[BASELINE].woken, r->latency_pairs);
    bool aside = kf_measurement_steps_aside(r), fairly = aside && !kf_measurement_is_apart(r);
    kf_interval fair = {NAN, NAN, NAN};
    double fair_seconds[2] = {NAN, NAN};
    if (fairly && !speed_up_fairly(r, usual, &fair, fair_seconds, error)) return false;
    /* of the candidate's own kind of runner */
    double idle = r->idle_wakings ? kf_median(r->idle_waking, r->idle_wakings) : NAN;
    for (int side = 0; side < 2; side++) {
        bool other = side == CANDIDATE && !isnan(idle);
        charge_wakings(&r->throughput[side], r->pairs, r->calls[side], other ? idle : usual);
        charge_wakings(&r->latency[side], r->latency_pairs, 1, other ? idle : single);
    }
    /* Without r->idle they are of the baseline's process, and how late that is woken for them is no
     * concern of the candidate's batches. */
    charge_wakings(&r->empty_candidate, r->empty_candidate_count, 1, idle);
    charge_wakings(&r->alone, r->solo_count, r->solo_calls, usual);
    charge_wakings(&r->null, r->empty_count, 1, usual);
    charge_wakings(&r->empty_again, r->empty_again_count, 1, single);
    charge_wakings(&r->idle_again, r->idle_again_count, 1, isnan(idle) ? single : idle);
    charge_wakings(&r->beside, r->paired_count, 1, usual);
    if (r->calls[BASELINE] == r->solo_calls && r->solo_count &&
        !check_interference(r, usual, error))
        return false;
    if (r->over) return true;
    double unearned = slowed(r); /* now that batches are all as they were made */

    double unsure[2], costs[2], over = 0; /* of the candidate */
    bool one_process = !r->idle && r->empty_candidate_count;
    for (int side = 0; side < 2; side++) {
        bool own = side == CANDIDATE && r->empty_candidate_count;
        const kf_series *empty = own ? &r->empty_candidate : &r->null;
        size_t count = own ? r->empty_candidate_count : r->empty_count;
        costs[side] = fixed_cost(empty, count, &unsure[side]);
        /* The candidate's are those without any calls: what makes them dearer is chance, by which
         * nobody is faster. */
        if (own && one_process) costs[CANDIDATE] = fmin(costs[CANDIDATE], costs[BASELINE]);
        over = overcharged(empty, count, costs[side]);
    }
    double more = paired_calls(r, costs[BASELINE]);
    for (int side = 0; side < 2; side++) costs[side] += more;
    double uncertainty = fmax(unsure[BASELINE], unsure[CANDIDATE]) + fmax(more, 0) / 2;
    result->batch_cost_seconds = costs[CANDIDATE];
    for (int side = 0; side < 2; side++) {
        /* Of a single call only what a batch of one costs. */
        bool of_one = r->empty_candidate_count && (side == BASELINE || one_process);
        double single_cost = of_one ? fmin(costs[side], r->empty_batch) : costs[side], ignored;
        bool idle_kind = side == CANDIDATE && r->idle;
        const kf_series *again = idle_kind ? &r->idle_again : &r->empty_again;
        size_t again_count = idle_kind ? r->idle_again_count : r->empty_again_count;
        if (kf_measurement_needs_priming(r, side))
            single_cost = costs[side];
        else if (aside && again_count)
            single_cost = fixed_cost(again, again_count, &ignored);
        subtract(r->throughput[side].seconds, r->pairs, costs[side] / r->calls[side]);
        subtract(r->latency[side].seconds, r->latency_pairs, single_cost);
    }
    result->baseline_seconds =
        fairly ? fair_seconds[BASELINE] : kf_median(r->throughput[BASELINE].seconds, r->pairs);
    result->candidate_seconds =
        fairly ? fair_seconds[CANDIDATE] : kf_median(r->throughput[CANDIDATE].seconds, r->pairs);
    double batches[2] = {result->baseline_seconds * r->calls[BASELINE],
                         result->candidate_seconds * r->calls[CANDIDATE]};
    kf_interval charged =
        kf_speedup(r->throughput[BASELINE].seconds, r->throughput[CANDIDATE].seconds, r->pairs,
                   KF_TIMING_CONFIDENCE);
    result->speedup = kf_speedup_widen(fairly ? unite(fair, charged) : charged, batches[BASELINE],
                                       batches[CANDIDATE], uncertainty);
    result->speedup = widen_processes(r, result->speedup, batches);
    result->speedup = widen_launches(bench->device, result->speedup, result->baseline_seconds,
                                     result->candidate_seconds);
    result->speedup.low /= unearned;
    result->latency_baseline_seconds = kf_median(r->latency[BASELINE].seconds, r->latency_pairs);
    result->latency_candidate_seconds = kf_median(r->latency[CANDIDATE].seconds, r->latency_pairs);
    result->latency_speedup = kf_speedup_widen(
        kf_speedup(r->latency[BASELINE].seconds, r->latency[CANDIDATE].seconds, r->latency_pairs,
                   KF_TIMING_CONFIDENCE),
        result->latency_baseline_seconds, result->latency_candidate_seconds, uncertainty);

    /* Nobody is infinitely fast. */
    if (!(result->baseline_seconds > 0) || !(result->candidate_seconds > 0) ||
        !(result->speedup.value > 0 && isfinite(result->speedup.value)))
        result->speedup = (kf_interval){NAN, NAN, NAN};
    if (!check_floor(r, fmax(uncertainty, over), error) || !check_merged(r, single, error))
        return false;
    if (r->unquiet && !kf_verdict_add_flag(bench->verdict, "memory.unquiet:%s", result->workload))
        return no_memory(error);
    if (r->latency_pairs && result->latency_speedup.high < result->speedup.low / 2 &&
        !kf_verdict_add_flag(bench->verdict, "latency.disagrees:%s", result->workload))
        return no_memory(error);
    return true;
}
