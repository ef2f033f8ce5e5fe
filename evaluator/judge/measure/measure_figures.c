/* The end of a measurement: writes the figures of its record into the verdict, and turns evidence
 * into findings. ../../verdict/timing_analysis.c computes both. */
#include <math.h>

#include "measure_internal.h"
#include "throttling.h"
#include "timing_analysis.h"

static double gate_seconds(const kf_measurement *r)
{
    return r->device->order.gate_seconds ? r->device->order.gate_seconds(r->bench->device) : 0;
}

static kf_timing_calibration calibrate(const kf_measurement *r)
{
    const kf_device *device = r->bench->device;
    const kf_runner_kind *kinds = r->bench->kinds;
    return (kf_timing_calibration){.launch_bound = device->launch_bound,
                                   .launch_bias = device->launch_bias,
                                   .batch_bias = device->batch_bias,
                                   .python_bias = device->python_bias,
                                   .python_cold = device->python_cold,
                                   .process_bias = device->process_bias,
                                   .python_process_bias = device->python_process_bias,
                                   .calls_block = device->calls_block,
                                   .separated = kf_measurement_separates_batches(r),
                                   .python = {kinds[KF_ROLE_BASELINE] == KF_RUNNER_TORCH,
                                              kinds[KF_ROLE_CANDIDATE] == KF_RUNNER_TORCH},
                                   .primed = {kf_measurement_needs_priming(r, BASELINE),
                                              kf_measurement_needs_priming(r, CANDIDATE)},
                                   .has_idle = r->idle != NULL,
                                   .empty_batch = r->schedule.empty_batch,
                                   .gate = gate_seconds(r)};
}

/* Measures the baseline alone once more, without the candidate's process, and analyses again. */
static bool measure_solo_after(kf_measurement *r, const kf_timing_calibration *calibration,
                               kf_figures *figures, kf_error *error)
{
    kf_runner_free(r->runners[CANDIDATE]);
    r->runners[CANDIDATE] = NULL;
    if (!kf_measurement_solo(r, r->record.solo_calls, &r->record.solo_after, error)) return false;
    return r->over || kf_timing_analyse(&r->record, calibration, figures, error);
}

static bool report_interference(kf_measurement *r, const kf_interference *found, kf_error *error)
{
    double paired = found->paired.value, before = found->before.value, after = found->after.value;
    return kf_verdict_add_finding(
               r->bench->verdict, r->bench->result, KF_INTERFERENCE, KF_BLAME_MACHINE,
               "baseline.disturbed", paired / after, 1 + KF_TIMING_INTERFERENCE,
               "the baseline took %.3g s a call in pairs with the candidate, but "
               "alone %.3g s before and %.3g s after: something disturbed it",
               paired, before, after) != NULL ||
           kf_fail_memory(error, "a finding");
}

static void write_figures(kf_workload_verdict *result, const kf_figures *figures)
{
    result->speedup = figures->speedup;
    result->baseline_seconds = figures->seconds[BASELINE];
    result->candidate_seconds = figures->seconds[CANDIDATE];
    result->latency_speedup = figures->latency_speedup;
    result->latency_baseline_seconds = figures->latency_seconds[BASELINE];
    result->latency_candidate_seconds = figures->latency_seconds[CANDIDATE];
    result->batch_cost_seconds = figures->batch_cost;
}

/* True if calls seem to take less than nothing, by as much as `least` is more. Then a busy machine
 * delayed the batches without calls, and the figure proves nothing. */
static bool is_less_than_nothing(double seconds, double least)
{
    return seconds < 0 && seconds <= -least;
}

/* Adds a finding if calls were faster than physics allows: than memory traffic, or than a launch
 * when one launch does the calls of a whole batch. All of the candidate's interval and of the fixed
 * cost's uncertainty have to be below the limit. */
static bool check_floor(kf_measurement *r, const kf_figures *figures, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    double slowest = figures->candidate_call.high +
                     figures->cost_uncertainty / r->record.calls[CANDIDATE],
           margin = bench->device->floor_margin;
    /* The ceilings may have been measured while the machine was busy: measure them again first. */
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
                                      "empty kernel takes here: some calls launch no work",
                                      slowest) != NULL ||
               kf_fail_memory(error, "a finding");
    return kf_verdict_add_finding(bench->verdict, result, KF_IMPOSSIBLE, KF_BLAME_CANDIDATE,
                                  "floor.undercut", slowest, margin * result->floor_seconds,
                                  "at most %.3g s a call, less than %.0f %% of the %.3g s that the "
                                  "task's memory traffic takes on this machine",
                                  slowest, 100 * margin, result->floor_seconds) != NULL ||
           kf_fail_memory(error, "a finding");
}

bool kf_measurement_conclude(kf_measurement *r, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_workload_verdict *result = bench->result;
    kf_timing_calibration calibration = calibrate(r);
    kf_figures figures;
    if (!kf_timing_analyse(&r->record, &calibration, &figures, error)) return false;
    r->history.stale = figures.interference.stale;
    if (figures.interference.suspected && !measure_solo_after(r, &calibration, &figures, error))
        return false;
    if (r->over) return true;
    if (figures.interference.confirmed && !report_interference(r, &figures.interference, error))
        return false;
    write_figures(result, &figures);
    if (!check_floor(r, &figures, error)) return false;
    if (r->settling.given_up &&
        !kf_verdict_add_flag(bench->verdict, "memory.unquiet:%s", result->workload))
        return kf_fail_memory(error, "a flag");
    if (r->occupations.repeated && !kf_verdict_add_flag(bench->verdict, "device.interrupted:%s:%u",
                                                        result->workload, r->occupations.repeated))
        return kf_fail_memory(error, "a flag");
    if (!kf_throttling_flag(bench->verdict, result)) return kf_fail_memory(error, "a flag");
    if (r->watching.tried && !r->watching.changes &&
        !kf_verdict_add_flag(bench->verdict, "calls.unwatched:%s", result->workload))
        return kf_fail_memory(error, "a flag");
    if (r->record.singles[BASELINE].count &&
        result->latency_speedup.high < result->speedup.low / 2 &&
        !kf_verdict_add_flag(bench->verdict, "latency.disagrees:%s", result->workload))
        return kf_fail_memory(error, "a flag");
    return true;
}
