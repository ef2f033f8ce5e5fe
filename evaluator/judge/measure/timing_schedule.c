#include "timing_schedule.h"

#include <math.h>

#define MIN_PAIRS 8
/* pairs of a workload that is only checked */
#define CHECK_PAIRS 3
/* The baseline's outputs are compared in so many pairs. */
#define COMPARED_PAIRS 2
/* Of the first timed pairs, all or all but one have single calls, as many as an interval needs. Of
 * later ones, every LATENCY_LATER-th has, on average. */
#define LATENCY_PAIRS 8
#define LATENCY_LATER 4
/* In each of these groups of pairs, watched batches follow one or two. */
#define WATCHED_GROUP 4
/* On a busy machine the median of batches without calls needs many of them. */
#define EMPTY_BATCHES 36
/* so many at a time, on average */
#define EMPTIES_A_TIME 4

/* A candidate this much slower is judged on few calls. */
#define SLOW 3.0
/* A candidate this much faster may need more calls than the baseline. */
#define FASTER 1.5
/* An interval of less than this on either side, if asked for, holds for slow candidates too. */
#define EXACT 0.005
/* the half width that is enough for a slow candidate */
#define SLOW_HALF_WIDTH 0.1

/* pairs wanted in the time there is for them */
#define PAIRS_WANTED 16.0
/* The same where a side has priming calls, and how often a pair fills the sets then. What disturbs
 * those batches does not vanish with more pairs, but with longer batches. */
#define PYTHON_PAIRS 9.0
#define PYTHON_FILLS 2.5
/* of all the time; the rest warms up, and measures the baseline alone */
#define PAIRS_PART 0.75
/* empty batches: a batch of calls this long stands out from the fixed cost */
#define TELLING 8.0
/* times the time for pairs: may be spent on longer batches */
#define OVERTIME 2.0
/* seconds; shorter batches of a candidate get more calls */
#define SHORT_BATCH 0.002
/* An interval whose ends are so many times apart is vague. */
#define VAGUE 1.25
/* times that a call may be faster on sets that a cache holds */
#define CACHED 4.0

/* Returns how many sets no batch calls, so that no call can do the work of several. */
static uint32_t left_out(uint32_t sets)
{
    return sets >= 16 ? sets / 8 : sets > 1;
}

static void set_calls(kf_schedule *s, double calls, uint32_t sets)
{
    s->calls[BASELINE] = s->calls[CANDIDATE] =
        (uint32_t)fmin(fmax(calls, 1), sets - left_out(sets));
}

/* ---- the length of batches ------------------------------------------------------------------- */

uint32_t kf_schedule_sets_for(const kf_set_limits *limits, double calls)
{
    if (limits->least < KF_MIN_SETS) return limits->least; /* there is no room for more */
    return (uint32_t)fmax(fmin(fmin(ceil(calls * 8 / 7) + 1, limits->room), limits->most),
                          limits->least);
}

void kf_schedule_set_call(kf_schedule *s, double seconds, uint32_t sets)
{
    s->baseline_call = seconds;
    s->calls[BASELINE] = s->calls[CANDIDATE] = sets - left_out(sets);
}

void kf_schedule_set_candidate_call(kf_schedule *s, double seconds, double most)
{
    s->candidate_call = seconds;
    if (seconds * s->calls[CANDIDATE] <= most) return;
    s->calls[CANDIDATE] = seconds < most ? (uint32_t)(most / seconds) : 1;
}

/* Returns the calls of a batch, if many pairs of short batches say less than the fewest pairs that
 * make an interval, of batches that stand out from the fixed cost. That holds where sets are costly
 * and calls short. */
static double fewer_longer_batches(kf_schedule *s, double pairs, double calls)
{
    double call = s->baseline_call, time = OVERTIME * s->pair_time * pairs / MIN_PAIRS;
    double longer = fmin(ceil(TELLING * s->empty_batch / call),
                         floor((time - 2 * call) / (s->set_cost + 2 * call)));
    if (longer <= calls) return calls;
    s->pair_time = longer * (s->set_cost + 2 * call) + 2 * call;
    return longer;
}

uint32_t kf_schedule_size_batches(kf_schedule *s, const kf_schedule_probe *probe,
                                  const kf_set_limits *limits)
{
    double call = s->baseline_call, pairs = probe->primed ? PYTHON_PAIRS : PAIRS_WANTED;
    s->pair_time = s->rule.seconds * PAIRS_PART / pairs;
    /* Comparing costs about as much again as poison and inspection. */
    s->set_cost =
        ((probe->primed ? PYTHON_FILLS : 1) * probe->filling + 3 * probe->around) / probe->sets +
        probe->truth;
    /* Apart from its batches a pair has a single call of each side, and perhaps priming calls. */
    double fitting =
        floor((s->pair_time - (probe->primed ? 4 : 2) * call) / (s->set_cost + 2 * call));
    if (fitting * call < TELLING * s->empty_batch)
        fitting = fewer_longer_batches(s, pairs, fmax(fitting, 1));
    double wanted = fmin(ceil(s->batch_length / call), fmax(fitting, 1));
    uint32_t count = kf_schedule_sets_for(limits, wanted);
    set_calls(s, wanted, count);
    return count;
}

/* A cache makes calls at most CACHED times faster, but a machine may stand still for far longer
 * than a call. */
void kf_schedule_shorten(kf_schedule *s, double seconds)
{
    if (isinf(seconds)) return;
    double call = fmax(seconds - s->empty_batch, 1e-6) / s->calls[BASELINE],
           enough = ceil(s->batch_length / call);
    enough = fmax(enough, ceil(s->calls[BASELINE] / CACHED));
    if (enough < s->calls[BASELINE]) s->calls[BASELINE] = s->calls[CANDIDATE] = (uint32_t)enough;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

void kf_schedule_begin_pairs(kf_schedule *s)
{
    s->rule.least_pairs = MIN_PAIRS;
    s->rule.most_pairs = KF_MAX_PAIRS;
    s->bound = s->rule;
    s->number = 0;
    s->repeated = false;
}

static bool draw_latency(kf_schedule *s, int number)
{
    if (number == 1) s->without_single = 1 + kf_choices_below(&s->choices, 2 * LATENCY_PAIRS);
    if (number > LATENCY_PAIRS) return kf_choices_below(&s->choices, LATENCY_LATER) == 0;
    return (uint32_t)number != s->without_single;
}

static bool draw_watched(kf_schedule *s, int number)
{
    unsigned place = (unsigned)(number - 1) % WATCHED_GROUP;
    if (place == 0) {
        s->watched = 1u << kf_choices_below(&s->choices, WATCHED_GROUP);
        s->watched |= 1u << kf_choices_below(&s->choices, WATCHED_GROUP);
    }
    return s->watched >> place & 1;
}

static uint32_t draw_empties(kf_schedule *s)
{
    return 1 + kf_choices_below(&s->choices, 2 * EMPTIES_A_TIME - 1);
}

/* The baseline comes first in the first two pairs, because errors of the candidate are judged by
 * the baseline's. Of each two pairs after that, one has the candidate first, so that drift cancels.
 * Chance decides which one, and what follows a pair. So a candidate cannot know what a batch is
 * for. */
bool kf_schedule_next(kf_schedule *s, kf_pair_plan *plan)
{
    int number = s->number++;
    if (!s->timed && number == CHECK_PAIRS) return false;
    bool timed = s->timed && number > 0;
    if (number < COMPARED_PAIRS || !timed)
        s->candidate_first = false;
    else
        s->candidate_first =
            number % 2 == 0 ? kf_choices_below(&s->choices, 2) == 1 : !s->candidate_first;
    *plan = (kf_pair_plan){.number = number,
                           .serial = s->serial++,
                           .timed = timed,
                           .baseline_compared = number < COMPARED_PAIRS || !s->timed,
                           .latency = timed && draw_latency(s, number),
                           .candidate_first = s->candidate_first,
                           .watched = timed && draw_watched(s, number)};
    plan->empties = draw_empties(s);
    plan->watched_empties = draw_empties(s);
    return true;
}

size_t kf_schedule_empty_batches(const kf_pair_plan *plan, uint32_t planned, size_t made)
{
    if (!plan->timed || made >= EMPTY_BATCHES) return 0;
    return EMPTY_BATCHES - made < planned ? EMPTY_BATCHES - made : planned;
}

uint32_t kf_schedule_adapt(kf_schedule *s, const double seconds[2], const kf_set_limits *limits,
                           uint32_t sets)
{
    double call = fmax(seconds[CANDIDATE] - s->empty_batch, 1e-6) / s->calls[CANDIDATE];
    double slower =
        (seconds[CANDIDATE] / s->calls[CANDIDATE]) / (seconds[BASELINE] / s->calls[BASELINE]);
    if (slower > SLOW && s->half_width >= EXACT) {
        s->bound.half_width = fmax(s->bound.half_width, SLOW_HALF_WIDTH);
        s->bound.most_pairs = s->bound.least_pairs;
        /* The baseline's calls stay, so that it can still be compared with itself alone. */
        double fewer = s->calls[BASELINE] / slower;
        s->calls[CANDIDATE] = fewer < 1 ? 1 : (uint32_t)fewer;
        return sets;
    }
    /* The fixed cost of a batch is less a call where there are more calls. Without a large
     * difference between the sides both have as many. */
    if (1 / slower < FASTER) return sets;
    double enough = fmin(fmax(SHORT_BATCH, 20 * s->empty_batch), s->batch_length);
    if (s->repeated || call * s->calls[CANDIDATE] >= enough) return sets;
    /* Half as many pairs are still enough, and each is worth more with twice the calls. */
    double time_for_sets =
        fmax(2 * s->pair_time - s->calls[BASELINE] * s->baseline_call, s->pair_time);
    double wanted = fmin(ceil(enough / call), floor(time_for_sets / (s->set_cost + call)));
    /* The candidate's batch is never longer than the baseline's: both have the same fixed cost. */
    wanted = fmin(wanted, fmax(seconds[BASELINE] - s->empty_batch, 0) / call);
    uint32_t count = kf_schedule_sets_for(limits, wanted),
             calls = (uint32_t)fmin(fmax(wanted, 1), count - left_out(count));
    if (calls <= s->calls[CANDIDATE]) return sets;
    s->calls[CANDIDATE] = calls;
    s->repeated = true;
    s->number = 0;
    return count > sets ? count : sets;
}

/* True if the candidate gets more calls, because its batches are under half as long as the
 * baseline's. It was slow in the warm-up, by chance or on purpose: with few calls chance is large.
 * It gets at least twice as many, so this ends soon. */
static bool recovers(kf_schedule *s, const double seconds[2])
{
    double longer = seconds[BASELINE] / seconds[CANDIDATE],
           slower = s->calls[BASELINE] / (longer * s->calls[CANDIDATE]);
    if (s->calls[CANDIDATE] >= s->calls[BASELINE] || !(longer > 2)) return false;
    s->calls[CANDIDATE] =
        slower > SLOW ? (uint32_t)(longer * s->calls[CANDIDATE]) : s->calls[BASELINE];
    if (!(slower > SLOW)) s->bound = s->rule;
    s->number = 1;
    return true;
}

kf_schedule_step kf_schedule_judge(kf_schedule *s, const kf_pair_plan *plan,
                                   const double seconds[2], size_t pairs, double time_left)
{
    if (time_left <= 0) return pairs >= s->bound.least_pairs ? KF_STEP_END : KF_STEP_OUT_OF_TIME;
    if (!plan->timed) return KF_STEP_SKIP;
    return recovers(s, seconds) ? KF_STEP_RESTART : KF_STEP_KEEP;
}

bool kf_schedule_is_done(const kf_schedule *s, const kf_timing_record *record, double elapsed)
{
    size_t pairs = kf_timing_record_pairs(record);
    kf_interval speedup = {NAN, NAN, NAN};
    /* Without an interval the time so far would be wasted. */
    if (pairs < s->bound.least_pairs) return false;
    if (pairs == record->capacity) return true;
    bool look = kf_stopping_look(&s->bound, pairs);
    if (look)
        speedup = kf_speedup(record->batches[BASELINE].seconds, record->batches[CANDIDATE].seconds,
                             pairs, KF_TIMING_CONFIDENCE);
    bool late = elapsed >= s->bound.seconds && elapsed < s->vague_times * s->bound.seconds;
    if (!late) return kf_stop_measuring(&s->bound, &speedup, pairs, elapsed);
    return kf_stop_measuring(&s->bound, &speedup, pairs, 0) ||
           (look && speedup.high <= VAGUE * speedup.low);
}
