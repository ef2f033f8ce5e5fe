/* Rebuilds a run's sources, tuners, population and counters from its stored attempts, after a
 * resume.
 *
 * An attempt has a start, when its source was added or its point was handed out by a tuner, and
 * an end, its verdict. With several jobs in flight others end in between. Both matter: a tuner
 * treats a point that it handed out differently from an unknown one, and of two equally good
 * sources the earlier one gets the next point. So each attempt is stored with the number that
 * the next attempt had at its start. Starts and ends are replayed in their original order. Work
 * that was in flight when the run was left has a start only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/list.h"
#include "search_internal.h"

/* The start of a stored attempt, or of a proposal that was under way. */
typedef struct beginning {
    /* the number that the next attempt had */
    int64_t began;
    /* of the attempt; INT64_MAX: it was under way */
    int64_t number;
    /* of the reply; INT64_MAX: no reply */
    int64_t call;
    int64_t candidate, parent;
    kf_step step;
    /* JSON of a point */
    char *tunables;
    kf_under_way *work;
    kf_tunable_source *tunable;
} beginning;

typedef struct descent {
    int64_t attempt, parent;
} descent;

/* A verdict that blames the machine, and its subject. The candidate is judged again. */
typedef struct flake {
    int64_t candidate, call;
} flake;

typedef struct history {
    kf_search *s;
    /* the parents of candidates, in the order of attempts */
    descent *family;
    size_t family_count, next_parent;
    /* in the order in which they happened */
    beginning *beginnings;
    size_t count, next;
    /* by number of the attempt, less 1: index of its start, plus 1; 0: it has no candidate */
    size_t *of_attempt;
    int64_t attempts;
    flake *flakes;
    size_t flake_count;
} history;

static void history_clear(history *h)
{
    for (size_t i = 0; i < h->count; i++) free(h->beginnings[i].tunables);
    free(h->beginnings);
    free(h->of_attempt);
    free(h->family);
    free(h->flakes);
}

/* ---- what has begun, and when ---------------------------------------------------------------- */

static bool read_family(history *h, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_family(h->s->store, h->s->progress.run, error);
    kf_autoresult kf_store_edge edge = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_edge(cursor, &edge, error) : row) == 1) {
        if (strcmp(edge.role, "tuned") != 0 && strcmp(edge.role, "base") != 0) continue;
        if (!kf_list_grow(&h->family, h->family_count))
            return kf_fail_memory(error, "the history of a run");
        h->family[h->family_count++] = (descent){edge.attempt, edge.parent};
    }
    return row == 0;
}

/* Returns the parent of an attempt, or 0. Must be called in the order of attempts. */
static int64_t parent_of(history *h, int64_t attempt)
{
    while (h->next_parent < h->family_count && h->family[h->next_parent].attempt < attempt)
        h->next_parent++;
    bool found = h->next_parent < h->family_count && h->family[h->next_parent].attempt == attempt;
    return found ? h->family[h->next_parent].parent : 0;
}

static bool add_beginning(history *h, const beginning *b, kf_error *error)
{
    if (!kf_list_grow(&h->beginnings, h->count))
        return kf_fail_memory(error, "the history of a run");
    h->beginnings[h->count++] = *b;
    return true;
}

static bool read_beginnings(history *h, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(h->s->store, h->s->progress.run, 1, error);
    kf_autoresult kf_store_attempt a = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &a, error) : row) == 1) {
        /* Runs of an older version do not store it. */
        beginning b = {.began = a.began ? a.began : a.number,
                       .number = a.number,
                       .call = a.model_call ? a.model_call : INT64_MAX,
                       .candidate = a.candidate,
                       .parent = parent_of(h, a.number)};
        h->attempts = a.number;
        if (!a.candidate || !kf_step_parse(a.step, &b.step)) continue;
        if (b.step == KF_STEP_TUNE && !(b.tunables = strdup(a.tunables)))
            return kf_fail_memory(error, "the history of a run");
        if (!add_beginning(h, &b, error)) {
            free(b.tunables);
            return false;
        }
    }
    return row == 0;
}

/* Replies start in the order in which they came. */
static int compare(const void *a, const void *b)
{
    const beginning *x = a, *y = b;
    if (x->began != y->began) return x->began < y->began ? -1 : 1;
    if (x->call != y->call) return x->call < y->call ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool order_beginnings(history *h, kf_under_way *work, size_t work_count, kf_error *error)
{
    for (size_t i = 0; i < work_count; i++) {
        const kf_under_way *w = &work[i];
        beginning b = {.began = w->began ? w->began : h->attempts + 1,
                       .number = INT64_MAX,
                       .call = w->reply ? w->reply->origin.call : INT64_MAX,
                       .step = w->step,
                       .work = &work[i]};
        if (!add_beginning(h, &b, error)) return false;
    }
    if (h->count) qsort(h->beginnings, h->count, sizeof *h->beginnings, compare);
    h->of_attempt = calloc((size_t)h->attempts + 1, sizeof *h->of_attempt);
    if (!h->of_attempt) return kf_fail_memory(error, "the history of a run");
    for (size_t i = 0; i < h->count; i++)
        if (!h->beginnings[i].work) h->of_attempt[h->beginnings[i].number - 1] = i + 1;
    return true;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Finds the tunable source of the attempt, or adds it. It stays NULL if it belonged to the task
 * and the task has changed. */
static bool source_of(kf_search *s, beginning *b, kf_error *error)
{
    size_t size;
    kf_autofree char *source = kf_store_source(s->store, b->candidate, &size, error);
    if (!source) return false;
    b->tunable = kf_tunable_source_find(&s->sources, source, size);
    if (b->tunable || b->step == KF_STEP_BASELINE || b->step == KF_STEP_SEED ||
        b->step == KF_STEP_TUNE)
        return true;
    b->tunable = kf_tunable_source_add(s, kf_step_name(b->step), source, size, false, error);
    return b->tunable;
}

static void hand_out(beginning *b, const kf_tune_point *point)
{
    if (b->tunable->tuner) kf_tuner_handed_out(b->tunable->tuner, point);
}

static bool begin_attempt(kf_search *s, beginning *b, kf_error *error)
{
    if (b->step == KF_STEP_VERIFY) return true;
    for (size_t i = 0; i < s->sources.count && b->step == KF_STEP_TUNE && b->parent; i++)
        if (s->sources.items[i]->base == b->parent) b->tunable = s->sources.items[i];
    if (!b->tunable && !source_of(s, b, error)) return false;
    if (!b->tunable) return true;
    kf_tune_point point = b->tunable->initial;
    bool known = b->step != KF_STEP_TUNE || !b->tunables[0] ||
                 kf_point_read(b->tunable, b->tunables, &point);
    if (b->step == KF_STEP_TUNE && known) hand_out(b, &point);
    /* Others end meanwhile. */
    if (b->number != b->began) b->tunable->in_flight++;
    return true;
}

static kf_tunable_source *tunable_called(const kf_search *s, const char *hash)
{
    for (size_t i = 0; i < s->sources.count && *hash; i++)
        if (strncmp(s->sources.items[i]->hash, hash, strlen(hash)) == 0) return s->sources.items[i];
    return NULL;
}

/* Makes a proposal of work that was under way. Without its source there is no proposal. */
static bool begin_work(kf_search *s, beginning *b, kf_error *error)
{
    kf_under_way *w = b->work;
    /* Its episode begins anew. */
    if (w->step == KF_STEP_TRY) return true;
    if (w->step == KF_STEP_VERIFY) return kf_verify_again(s, w->candidate, &w->proposal, error);
    b->tunable = tunable_called(s, w->digits);
    if (w->reply) {
        if (!kf_replies_propose_again(s, w->reply, w->digits, b->tunable, &w->proposal, error))
            return false;
        b->tunable = w->proposal ? w->proposal->tunable : NULL;
    } else if (b->tunable) {
        kf_tune_point point = b->tunable->initial;
        if (w->step == KF_STEP_TUNE && !kf_point_read(b->tunable, w->point, &point)) return true;
        if (w->step == KF_STEP_TUNE) {
            hand_out(b, &point);
            b->tunable->points++;
        }
        if (!(w->proposal = kf_proposal_new(w->step, b->tunable, &point, error))) return false;
        if (w->step == KF_STEP_TUNE) w->proposal->origin.parent = w->parent;
    }
    if (b->tunable && !w->waits) b->tunable->in_flight++;
    return true;
}

/* Replays all starts up to the end of attempt `number`. */
static bool begin_until(history *h, int64_t number, kf_error *error)
{
    for (; h->next < h->count && h->beginnings[h->next].began <= number; h->next++) {
        beginning *b = &h->beginnings[h->next];
        if (b->work ? !begin_work(h->s, b, error) : !begin_attempt(h->s, b, error)) return false;
    }
    return true;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool is_fault(const kf_store_attempt *attempt)
{
    return attempt->outcome == KF_ATTEMPT_JUDGED && attempt->status == KF_JUDGE_ERROR &&
           attempt->blame == KF_BLAME_MACHINE;
}

/* Sets *spoilt to whether the verdict does not count, as in kf_record_result: the first one
 * that blames machine or judge, and in a benchmark every one that blames the machine. */
static bool is_spoilt(history *h, const kf_store_attempt *attempt, bool *spoilt, kf_error *error)
{
    bool postponed = h->s->settings->samples && attempt->model_call &&
                     (is_fault(attempt) || attempt->outcome == KF_ATTEMPT_LOST);
    *spoilt = attempt->outcome == KF_ATTEMPT_JUDGED &&
              (attempt->blame == KF_BLAME_MACHINE || attempt->blame == KF_BLAME_JUDGE);
    for (size_t i = 0; i < h->flake_count && *spoilt; i++)
        if (h->flakes[i].candidate == attempt->candidate &&
            h->flakes[i].call == attempt->model_call)
            return *spoilt = postponed, true;
    if (!*spoilt) return *spoilt = postponed, true;
    if (!kf_list_grow(&h->flakes, h->flake_count))
        return kf_fail_memory(error, "the history of a run");
    h->flakes[h->flake_count++] = (flake){attempt->candidate, attempt->model_call};
    return true;
}

/* Gives the result of the attempt to the selection. */
static bool take(history *h, const kf_store_attempt *attempt, const beginning *b, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    if (!kf_store_get_candidate(h->s->store, attempt->candidate, h->s->progress.run, &candidate,
                                error))
        return false;
    h->s->progress.known +=
        attempt->outcome == KF_ATTEMPT_KNOWN && candidate.attempt == attempt->number;
    return kf_selection_take(
        h->s,
        &(kf_outcome){.step = b->step,
                      .candidate = attempt->candidate,
                      .parent = b->parent,
                      .island = attempt->island,
                      .of_model = attempt->model_call > 0 && b->step != KF_STEP_TRY,
                      .status = attempt->verdict ? attempt->status : KF_JUDGE_ERROR,
                      .blame = attempt->verdict ? attempt->blame : KF_BLAME_MACHINE,
                      .speedup = attempt->verdict ? attempt->speedup.value : NAN,
                      .floor_share = kf_features_floor(candidate.features),
                      .cell = candidate.cell},
        error);
}

static bool end_attempt(history *h, const kf_store_attempt *attempt, beginning *b, kf_error *error)
{
    kf_search *s = h->s;
    bool spoilt;
    const kf_interval no_figure = {NAN, NAN, NAN};
    bool of_this =
        attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_REVERIFIED;
    kf_interval figure = of_this && attempt->status == KF_CORRECT ? attempt->speedup : no_figure;
    if (b->step == KF_STEP_VERIFY) {
        kf_verify_tried(&s->verification, attempt->candidate, figure);
        return take(h, attempt, b, error);
    }
    if (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE ||
        attempt->outcome == KF_ATTEMPT_LOST)
        s->progress.judged += !is_fault(attempt);
    if (attempt->outcome == KF_ATTEMPT_JUDGED || attempt->outcome == KF_ATTEMPT_SAME_CODE)
        s->verification.judged_since++;
    bool correct = of_this && attempt->verdict && attempt->status == KF_CORRECT;
    if (correct && b->step == KF_STEP_BASELINE)
        s->progress.baseline = figure;
    else if (correct)
        kf_verify_first(&s->verification, attempt->candidate, figure);
    kf_tunable_source *tunable = b->tunable;
    if (tunable && b->number != b->began) tunable->in_flight--;
    if (!is_spoilt(h, attempt, &spoilt, error)) return false;
    if (spoilt) return true;
    if (!take(h, attempt, b, error)) return false;
    if (!tunable) return true;
    kf_tune_point point = tunable->initial;
    if (attempt->tunables[0] && b->step == KF_STEP_TUNE &&
        !kf_point_read(tunable, attempt->tunables, &point))
        return true;
    bool timed = attempt->verdict && attempt->status == KF_CORRECT && attempt->speedup.value > 0;
    kf_tunable_source_report(tunable, &point, timed ? attempt->speedup.value : NAN);
    if (b->step == KF_STEP_TUNE) {
        tunable->points++;
        return true;
    }
    tunable->settled = true;
    if (!tunable->base) tunable->base = attempt->candidate;
    if (b->step == KF_STEP_BASELINE) s->sources.baseline_candidate = attempt->candidate;
    return true;
}

static bool end_attempts(history *h, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(h->s->store, h->s->progress.run, 1, error);
    kf_autoresult kf_store_attempt attempt = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_attempt(cursor, &attempt, error) : row) == 1) {
        if (attempt.number > h->attempts) break;
        if (!begin_until(h, attempt.number, error)) return false;
        size_t index = h->of_attempt[attempt.number - 1];
        h->s->progress.attempts = attempt.number;
        h->s->progress.useless +=
            attempt.outcome == KF_ATTEMPT_NO_SOURCE || attempt.outcome == KF_ATTEMPT_BAD_EDIT;
        if (index && !end_attempt(h, &attempt, &h->beginnings[index - 1], error)) return false;
    }
    return row >= 0 && begin_until(h, INT64_MAX, error);
}

bool kf_rebuild(kf_search *s, kf_under_way *work, size_t work_count, kf_error *error)
{
    history h = {.s = s};
    bool rebuilt = read_family(&h, error) && read_beginnings(&h, error) &&
                   order_beginnings(&h, work, work_count, error) && end_attempts(&h, error);
    history_clear(&h);
    return rebuilt;
}
