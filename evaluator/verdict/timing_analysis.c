#include "timing_analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

/* seconds beyond the lower quartile of empty batches that still count as fixed cost */
#define MAX_LATE 0.00025
/* seconds more than an empty batch takes that still count as fixed cost */
#define MAX_PAIRED 0.00006
/* seconds that one idle process may usually wake later than another */
#define PROCESS_WAKING 0.000025
/* times the time that the baseline's priming calls take beyond a call of its batch */
#define PRIMING_FACTOR 2.0
/* times python_cold, where the baseline has no priming calls */
#define PRIMING_COLD 2.0

/* The series of a record with the charges of this analysis in their seconds. */
typedef struct charged {
    const kf_timing_record *record;
    const kf_timing_calibration *calibration;
    kf_series batches[2], singles[2], solo, solo_after, empty, empty_candidate, empty_again,
        idle_again, overhead;
} charged;

/* ---- copies ---------------------------------------------------------------------------------- */

#define COPIED 11
static void list_copies(charged *c, kf_series *copies[COPIED], const kf_series *originals[COPIED])
{
    const kf_timing_record *r = c->record;
    const struct {
        kf_series *copy;
        const kf_series *original;
    } rows[COPIED] = {{&c->batches[0], &r->batches[0]},
                      {&c->batches[1], &r->batches[1]},
                      {&c->singles[0], &r->singles[0]},
                      {&c->singles[1], &r->singles[1]},
                      {&c->solo, &r->solo},
                      {&c->solo_after, &r->solo_after},
                      {&c->empty, &r->empty},
                      {&c->empty_candidate, &r->empty_candidate},
                      {&c->empty_again, &r->empty_again},
                      {&c->idle_again, &r->idle_again},
                      {&c->overhead, &r->overhead}};
    for (size_t i = 0; i < COPIED; i++) {
        copies[i] = rows[i].copy;
        originals[i] = rows[i].original;
    }
}

/* Copies the record's seconds into memory that the caller frees; NULL without memory. */
static double *copy_series(charged *c)
{
    kf_series *copies[COPIED];
    const kf_series *originals[COPIED];
    size_t total = 0;
    list_copies(c, copies, originals);
    for (size_t i = 0; i < COPIED; i++) total += originals[i]->count;
    double *memory = calloc(total + 1, sizeof *memory), *next = memory;
    for (size_t i = 0; i < COPIED && memory; i++) {
        *copies[i] = *originals[i];
        copies[i]->seconds = next;
        if (originals[i]->count)
            memcpy(next, originals[i]->seconds, originals[i]->count * sizeof *next);
        next += originals[i]->count;
    }
    return memory;
}

static double median_seconds(const kf_series *series)
{
    return kf_median(series->seconds, series->count);
}

static double median_waking(const kf_series *series)
{
    return kf_median(series->waking, series->count);
}

static kf_interval seconds_interval(const kf_series *series)
{
    return kf_median_interval(series->seconds, series->count, 0.95);
}

/* ---- charges --------------------------------------------------------------------------------- */

static void subtract(kf_series *series, double cost)
{
    for (size_t i = 0; i < series->count; i++) series->seconds[i] -= cost;
}

/* Each call waits for its gate first (stream_page.h), on both sides. */
static void subtract_gates(charged *c)
{
    kf_series *series[] = {&c->batches[0], &c->batches[1], &c->singles[0],
                           &c->singles[1], &c->solo,       &c->solo_after};
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        subtract(series[i], c->calibration->gate);
}

/* Charges to each batch the part of its waking beyond `usual`; none if that is NAN. All series are
 * charged, those of the baseline alone and the empty ones too. A late machine adds as much to each
 * of them, and work done early adds to one side's. */
static void charge_wakings(kf_series *series, uint32_t calls, double usual)
{
    for (size_t i = 0; i < series->count && !isnan(usual); i++)
        series->seconds[i] += fmax(series->waking[i] - usual, 0) / calls;
}

/* Returns the seconds by which a priming call was longer than a call of its batch, as measured. */
static double priming_excess(const kf_timing_record *record, kf_side side, size_t pair)
{
    return record->primings[side].seconds[pair] - record->batches[side].seconds[pair];
}

/* Charges to the candidate's batches what their priming calls took too long. Priming calls are not
 * timed, so a candidate could do work there that needs no inputs, as allocating and clearing
 * memory. A call of the batch, the cost of cold code and the cost of any batch are free. */
static bool charge_priming_calls(charged *c, kf_error *error)
{
    const kf_timing_record *record = c->record;
    const kf_timing_calibration *known = c->calibration;
    size_t pairs = kf_timing_record_pairs(record);
    if (!known->primed[CANDIDATE]) return true;
    double allowed = known->empty_batch + PRIMING_COLD * known->python_cold;
    if (known->primed[BASELINE]) {
        kf_autofree double *values = calloc(pairs + 1, sizeof *values);
        if (!values) return kf_fail_memory(error, "the excess of priming calls");
        for (size_t i = 0; i < pairs; i++) values[i] = priming_excess(record, BASELINE, i);
        allowed = PRIMING_FACTOR * fmax(kf_median(values, pairs), known->empty_batch) +
                  known->python_cold;
    }
    for (size_t i = 0; i < pairs; i++)
        c->batches[CANDIDATE].seconds[i] +=
            fmax(priming_excess(record, CANDIDATE, i) - allowed, 0) / record->calls[CANDIDATE];
    return true;
}

/* ---- fixed cost ------------------------------------------------------------------------------ */

/* Returns the median of empty batches, and in *uncertainty by how much it may be wrong. A machine
 * that wakes late half of the time does so in all batches. The delay of a busy machine is no fixed
 * cost: subtracting it would leave less than nothing of a batch without that delay. */
static double fixed_cost(const kf_series *series, double *uncertainty)
{
    double cost =
        fmin(median_seconds(series), kf_quantile(series->seconds, series->count, 0.25) + MAX_LATE);
    kf_interval interval = seconds_interval(series);
    *uncertainty = isnan(interval.low) ? kf_mad(series->seconds, series->count)
                                       : (interval.high - interval.low) / 2;
    if (cost >= 0) return cost;
    *uncertainty = 0;
    return 0;
}

/* Returns how much of `cost` the quickest empty batch did without: it may have been subtracted
 * wrongly. */
static double overcharged(const kf_series *series, double cost)
{
    return series->count ? fmax(cost - kf_quantile(series->seconds, series->count, 0), 0) : 0;
}

/* Returns the seconds by which a batch with calls costs more than an empty one.
 *
 * After calls, processors and caches hold other data, so that waking the judge and stopping the
 * runner take longer. The baseline's batches show how much, because its own clock around its calls
 * has no reason to lie. A busy machine adds far more by chance, which is no fixed cost. Therefore
 * the result is limited, also by the least overhead of any batch. */
static double cost_of_calls(const charged *c, double empty)
{
    const kf_series *overhead = &c->overhead;
    if (!overhead->count) return 0;
    double more = kf_quantile(overhead->seconds, overhead->count, 0.25) - empty,
           least = kf_quantile(overhead->seconds, overhead->count, 0);
    return fmin(fmin(fmax(more, 0), MAX_PAIRED), fmax(least, 0) - empty);
}

typedef struct costs {
    double batch[2];    /* by side: of a batch */
    double uncertainty; /* of the larger cost */
    double overcharged; /* to the candidate, at most */
} costs;

static costs find_costs(const charged *c)
{
    costs found = {.overcharged = 0};
    double unsure[2];
    /* The baseline's process made the empty batches of both sides. */
    bool one_process = !c->calibration->has_idle && c->empty_candidate.count;
    for (int side = 0; side < 2; side++) {
        bool own = side == CANDIDATE && c->empty_candidate.count;
        const kf_series *empty = own ? &c->empty_candidate : &c->empty;
        found.batch[side] = fixed_cost(empty, &unsure[side]);
        /* The candidate's have fewer calls to pass than the baseline's. If they cost more, that is
         * chance, and chance must not make the candidate faster. */
        if (own && one_process)
            found.batch[CANDIDATE] = fmin(found.batch[CANDIDATE], found.batch[BASELINE]);
        found.overcharged = overcharged(empty, found.batch[side]);
    }
    double more = cost_of_calls(c, found.batch[BASELINE]);
    for (int side = 0; side < 2; side++) found.batch[side] += more;
    found.uncertainty = fmax(unsure[BASELINE], unsure[CANDIDATE]) + fmax(more, 0) / 2;
    return found;
}

/* Returns the fixed cost of a single call. It comes right after a batch of its own process, and
 * costs as much as an empty batch there does, where those were measured. */
static double single_cost(const charged *c, kf_side side, const costs *found)
{
    const kf_timing_calibration *known = c->calibration;
    bool one_process = !known->has_idle && c->empty_candidate.count;
    bool of_one = c->empty_candidate.count && (side == BASELINE || one_process);
    const kf_series *again =
        side == CANDIDATE && known->has_idle ? &c->idle_again : &c->empty_again;
    double ignored;
    if (known->primed[side]) return found->batch[side];
    if (known->separated && again->count) return fixed_cost(again, &ignored);
    return of_one ? fmin(found->batch[side], known->empty_batch) : found->batch[side];
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Returns the part of a call by which two processes of one program may differ. That is launch_bias
 * where calls wait for their launch, and less the longer they are. For the baseline against itself
 * it was 10 % of 4 us and 1 % of 17 us (H200), 0.5 % of 22 us (H100), 0.1 % of 108 us. */
static double launch_part(const kf_timing_calibration *known, double call)
{
    double longer = call / known->launch_bound;
    if (!(known->launch_bound > 0)) return 0;
    return known->launch_bias / call / (longer > 1 ? longer * longer * longer : 1);
}

/* Widens an interval by the launches' difference of two processes, which no number of pairs shows.
 * The two sides are independent. */
static kf_interval widen_launches(const kf_timing_calibration *known, kf_interval speedup,
                                  const double seconds[2])
{
    double factor =
        1 + hypot(launch_part(known, seconds[BASELINE]), launch_part(known, seconds[CANDIDATE]));
    return (kf_interval){speedup.value, speedup.low / factor, speedup.high * factor};
}

/* Widens an interval by the difference of two processes in a batch and in its calls. `batches`:
 * seconds of a batch, by side. */
static kf_interval widen_processes(const kf_timing_calibration *known, kf_interval speedup,
                                   const double batches[2])
{
    double parts[2];
    for (int side = 0; side < 2; side++) {
        double bias = known->python[side]
                          ? (known->python[!side] ? known->python_bias : known->python_cold)
                          : (known->separated ? known->batch_bias : 0);
        parts[side] = bias / batches[side];
    }
    double own = known->python[BASELINE] || known->python[CANDIDATE]
                     ? fmax(known->process_bias, known->python_process_bias)
                     : known->process_bias;
    double factor = (1 + hypot(parts[BASELINE], parts[CANDIDATE])) * (1 + own);
    return (kf_interval){speedup.value, speedup.low / factor, speedup.high * factor};
}

/* Returns the value of the first interval and the outer ends of both; NAN stays NAN. */
static kf_interval unite(kf_interval a, kf_interval b)
{
    bool known = !isnan(a.low) && !isnan(a.high) && !isnan(b.low) && !isnan(b.high);
    return (kf_interval){a.value, known ? fmin(a.low, b.low) : NAN,
                         known ? fmax(a.high, b.high) : NAN};
}

static kf_interval speedup_of(const kf_series sides[2])
{
    return kf_speedup(sides[BASELINE].seconds, sides[CANDIDATE].seconds, sides[BASELINE].count,
                      KF_TIMING_CONFIDENCE);
}

/* Computes the speedup with each side's usual waking free of charge.
 *
 * On a GPU's host one process may wake up to 30 us later than another for as long as it lives.
 * Charging that would make the later process the slower one. So the figure charges what lies beyond
 * a side's own usual waking. The candidate's may be PROCESS_WAKING above the baseline's. The
 * interval later takes the lower end of both ways, so that work done early gains nothing. */
static bool speed_up_fairly(const charged *c, double usual, kf_interval *speedup, double seconds[2],
                            kf_error *error)
{
    const kf_timing_record *record = c->record;
    size_t pairs = kf_timing_record_pairs(record);
    kf_autofree double *values = calloc(2 * pairs + record->empty.count + 1, sizeof *values);
    if (!values) return kf_fail_memory(error, "copies of batches");
    double own = median_waking(&record->batches[CANDIDATE]), unsure;
    kf_series both[2], empty = record->empty;
    for (int side = 0; side < 2; side++) {
        both[side] = c->batches[side];
        both[side].seconds = values + (size_t)side * pairs;
        memcpy(both[side].seconds, c->batches[side].seconds, pairs * sizeof *values);
        charge_wakings(&both[side], record->calls[side],
                       side == BASELINE ? usual : fmin(fmax(own, usual), usual + PROCESS_WAKING));
    }
    empty.seconds = values + 2 * pairs;
    memcpy(empty.seconds, record->empty.seconds, empty.count * sizeof *values);
    charge_wakings(&empty, 1, fmin(median_waking(&record->empty), usual));
    double cost = fixed_cost(&empty, &unsure);
    for (int side = 0; side < 2; side++) {
        subtract(&both[side], cost / record->calls[side]);
        seconds[side] = median_seconds(&both[side]);
    }
    *speedup = speedup_of(both);
    return true;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* True if calls in pairs were slower than alone by more than calls that wait for their launch vary.
 */
static bool slower_than(const kf_timing_calibration *known, const kf_interval *paired,
                        const kf_interval *alone)
{
    double bias = launch_part(known, alone->value) * alone->value;
    return paired->low > alone->high + bias &&
           paired->value > alone->value * (1 + KF_TIMING_INTERFERENCE) + bias;
}

/* Compares the baseline in pairs with the baseline alone. Both measurements alone, before the pairs
 * and after them, have to agree: a machine that drifts disagrees. */
static kf_interference find_interference(const charged *c)
{
    const kf_timing_record *record = c->record;
    kf_interference found = {.paired = seconds_interval(&c->batches[BASELINE]),
                             .before = seconds_interval(&c->solo),
                             .after = seconds_interval(&c->solo_after)};
    if (record->calls[BASELINE] != record->solo_calls || !record->solo.count) return found;
    found.stale = (found.paired.high < found.before.low || found.paired.low > found.before.high) &&
                  fabs(found.paired.value / found.before.value - 1) > KF_TIMING_INTERFERENCE / 2;
    found.suspected = slower_than(c->calibration, &found.paired, &found.before);
    found.confirmed = found.suspected && slower_than(c->calibration, &found.paired, &found.after);
    return found;
}

/* Returns by how much the baseline was certainly slower in pairs than alone; 1 if that is not
 * certain. Less than what counts as interference may be the candidate's doing (timers that run out
 * while it is stopped, pages that the kernel takes back later), so the candidate gains nothing by
 * it. Where calls go on after their launch the batches alone may be an earlier job's: always 1. */
static double slowdown(const charged *c, const kf_interference *found)
{
    const kf_timing_record *record = c->record;
    const kf_interval *alone = record->solo_after.count ? &found->after : &found->before;
    if (!c->calibration->calls_block || record->calls[BASELINE] != record->solo_calls ||
        !record->solo.count)
        return 1;
    return found->paired.low > alone->high ? found->paired.low / alone->high : 1; /* 1 for NAN */
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Charges wakings to every series. `usual`, `usual_single`: the baseline's, before batches and
 * before single calls. */
static void charge_all_wakings(charged *c, double usual, double usual_single)
{
    const kf_timing_record *record = c->record;
    /* of an idle runner of the candidate's own kind */
    double idle = record->idle_wakings.count
                      ? kf_median(record->idle_wakings.seconds, record->idle_wakings.count)
                      : NAN;
    for (int side = 0; side < 2; side++) {
        bool other = side == CANDIDATE && !isnan(idle);
        charge_wakings(&c->batches[side], record->calls[side], other ? idle : usual);
        charge_wakings(&c->singles[side], 1, other ? idle : usual_single);
    }
    /* Without an idle runner they are of the baseline's process. How late that wakes for them is
     * no matter of the candidate's batches. */
    charge_wakings(&c->empty_candidate, 1, idle);
    charge_wakings(&c->solo, record->solo_calls, usual);
    charge_wakings(&c->solo_after, record->solo_calls, usual);
    charge_wakings(&c->empty, 1, usual);
    charge_wakings(&c->empty_again, 1, usual_single);
    charge_wakings(&c->idle_again, 1, isnan(idle) ? usual_single : idle);
    charge_wakings(&c->overhead, 1, usual);
}

bool kf_timing_analyse(const kf_timing_record *record, const kf_timing_calibration *known,
                       kf_figures *figures, kf_error *error)
{
    charged c = {.record = record, .calibration = known};
    kf_autofree double *memory = copy_series(&c);
    if (!memory) return kf_fail_memory(error, "copies of timings");
    *figures = (kf_figures){0};
    subtract_gates(&c);
    if (!charge_priming_calls(&c, error)) return false;
    double usual = median_waking(&record->batches[BASELINE]),
           usual_single = median_waking(&record->singles[BASELINE]);
    bool fairly = known->separated && !known->python[BASELINE] && !known->python[CANDIDATE];
    kf_interval fair = {NAN, NAN, NAN};
    double fair_seconds[2] = {NAN, NAN};
    if (fairly && !speed_up_fairly(&c, usual, &fair, fair_seconds, error)) return false;
    charge_all_wakings(&c, usual, usual_single);
    figures->interference = find_interference(&c);
    double unearned = slowdown(&c, &figures->interference);

    costs found = find_costs(&c);
    figures->batch_cost = found.batch[CANDIDATE];
    figures->cost_uncertainty = fmax(found.uncertainty, found.overcharged);
    for (int side = 0; side < 2; side++) {
        double single = single_cost(&c, (kf_side)side, &found);
        subtract(&c.batches[side], found.batch[side] / record->calls[side]);
        subtract(&c.singles[side], single);
    }

    double batches[2];
    for (int side = 0; side < 2; side++) {
        figures->seconds[side] = fairly ? fair_seconds[side] : median_seconds(&c.batches[side]);
        figures->latency_seconds[side] = median_seconds(&c.singles[side]);
        batches[side] = figures->seconds[side] * record->calls[side];
    }
    kf_interval speedup = speedup_of(c.batches);
    speedup = kf_speedup_widen(fairly ? unite(fair, speedup) : speedup, batches[BASELINE],
                               batches[CANDIDATE], found.uncertainty);
    speedup = widen_processes(known, speedup, batches);
    speedup = widen_launches(known, speedup, figures->seconds);
    speedup.low /= unearned;
    /* No call takes no time: there is no figure then. */
    bool positive = figures->seconds[BASELINE] > 0 && figures->seconds[CANDIDATE] > 0 &&
                    speedup.value > 0 && isfinite(speedup.value);
    figures->speedup = positive ? speedup : (kf_interval){NAN, NAN, NAN};
    figures->latency_speedup =
        kf_speedup_widen(speedup_of(c.singles), figures->latency_seconds[BASELINE],
                         figures->latency_seconds[CANDIDATE], found.uncertainty);
    figures->candidate_call = seconds_interval(&c.batches[CANDIDATE]);
    return true;
}
