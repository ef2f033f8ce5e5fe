#include "best_so_far.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/list.h"

/* True if `a` comes before `b`. Of equal figures the older candidate comes first. */
static bool ranks_above(const kf_ranked *a, const kf_ranked *b)
{
    double keys[KF_RANK_KEYS], other[KF_RANK_KEYS];
    kf_store_rank(a->speedup, a->verified, keys);
    kf_store_rank(b->speedup, b->verified, other);
    return kf_store_ranks_above(keys, other) ||
           (a->candidate < b->candidate && !kf_store_ranks_above(other, keys));
}

static kf_ranked *find(kf_best_so_far *best, int64_t candidate)
{
    for (size_t i = best->ranked_count; i > 0; i--)
        if (best->ranked[i - 1].candidate == candidate) return &best->ranked[i - 1];
    return NULL;
}

static bool add_step(kf_best_so_far *best, double time)
{
    const kf_ranked *top = NULL;
    for (size_t i = 0; i < best->ranked_count; i++)
        if (!isnan(best->ranked[i].speedup.value) && (!top || ranks_above(&best->ranked[i], top)))
            top = &best->ranked[i];
    const kf_best_step *last = best->step_count ? &best->steps[best->step_count - 1] : NULL;
    kf_best_step step = {.time = time, .speedup = {NAN, NAN, NAN}};
    if (top) {
        step.candidate = top->candidate;
        step.speedup = top->speedup;
        step.verified = top->verified;
    }
    if (last && last->candidate == step.candidate && last->verified == step.verified) return true;
    if (!kf_list_grow(&best->steps, best->step_count)) return false;
    best->steps[best->step_count++] = step;
    return true;
}

bool kf_best_so_far_add(kf_best_so_far *best, const kf_store_attempt *attempt)
{
    if (!attempt->verdict || !attempt->candidate || attempt->unverified ||
        strcmp(attempt->step, "baseline") == 0)
        return true;
    bool again = attempt->outcome == KF_ATTEMPT_REVERIFIED,
         timed = attempt->status == KF_CORRECT && !isnan(attempt->speedup.value),
         fault = attempt->blame != KF_BLAME_NOBODY && attempt->blame != KF_BLAME_CANDIDATE;
    kf_ranked *known = find(best, attempt->candidate);
    if (!known && !timed) return true;
    /* A candidate that was measured again stands as that measurement says, unless another part
     * than the candidate failed. */
    if (known && ((known->again && !again) || fault)) return true;
    if (!known) {
        if (!kf_list_grow(&best->ranked, best->ranked_count)) return false;
        known = &best->ranked[best->ranked_count++];
    }
    *known = (kf_ranked){.candidate = attempt->candidate,
                         .speedup = timed ? attempt->speedup : (kf_interval){NAN, NAN, NAN},
                         .again = again,
                         .verified = again && timed && attempt->reverified};
    return add_step(best, attempt->created);
}

void kf_best_so_far_clear(kf_best_so_far *best)
{
    free(best->steps);
    free(best->ranked);
    *best = (kf_best_so_far){0};
}
