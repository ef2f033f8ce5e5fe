/* Watched batches: whether a candidate works on a call before that call begins, or after it.
 *
 * A watched batch looks like any other, and is not timed. At random moments in it the judge reads
 * how many calls have begun (kf_runner_begun), and overwrites a few elements in an input of a call
 * that has not. The outputs of that call must be those of the new inputs. A candidate that has read
 * them already is wrong, whatever it has won by that. The new elements are nowhere in its process
 * before, and the judge sends no message.
 *
 * A candidate can change the number. If it is too low, the judge overwrites inputs that were read.
 * If it is too high, calls count as ended that are not. So at each look the judge also copies a few
 * bytes of an output of an ended call, which must not change any more. The runner only raises the
 * number, so one that falls was written by the candidate.
 *
 * A call that begins while the judge overwrites its input may see either. It is not compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input_generator.h"
#include "measure_internal.h"
#include "runner_timeout.h"
#include "kforge/stats.h"

/* looks in a batch: those in the time that batches usually take, and more if this one takes longer
 */
#define USUAL_LOOKS 8
#define LOOKS 16
/* times the usual time: the last look, at most */
#define LATEST 16.0
/* On a busy machine the judge often misses a batch, and tries so many. */
#define TRIES 3
/* bytes that the judge overwrites at a time, at most */
#define MOST_BYTES 4096
/* bytes of an output that the judge copies */
#define OUTPUT_BYTES 64

typedef struct change {
    /* in the order of the batch */
    uint32_t place;
    int argument;
    kf_part part;
    /* The call began meanwhile. */
    bool raced;
    /* Of an inout: the call left the new values as they were. */
    bool left;
    _Alignas(16) unsigned char before[MOST_BYTES], after[MOST_BYTES];
} change;

/* An output of a call that had ended. */
typedef struct ended {
    uint32_t place;
    int argument;
    kf_part part;
    unsigned char data[OUTPUT_BYTES];
} ended;

typedef struct kf_watch {
    kf_measurement *r;
    kf_choices choices;
    uint32_t calls;
    /* seconds from the request, ascending */
    double moments[LOOKS];
    change changes[LOOKS];
    ended outputs[LOOKS];
    int change_count, output_count;
    /* changes in the course of the calls */
    int telling;
    /* the largest number of calls begun that was seen; a smaller one followed */
    uint32_t most;
    bool fell;
    bool failed;
    kf_error *error;
} kf_watch;

static double draw_part(kf_choices *choices)
{
    return (double)(kf_choices_next(choices) >> 11) * 0x1p-53;
}

/* Draws a number from 1 to `most`. All orders of magnitude are as likely. */
static uint64_t draw_magnitude(kf_choices *choices, uint64_t most)
{
    uint64_t drawn = (uint64_t)exp(draw_part(choices) * log((double)most + 1));
    return drawn < 1 ? 1 : drawn > most ? most : drawn;
}

static int64_t most_elements(const kf_problem_argument *argument)
{
    int64_t room = MOST_BYTES / (int64_t)kf_dtype_size(argument->dtype);
    return argument->elements < room ? argument->elements : room;
}

/* True if the judge may draw some elements anew. */
static bool is_replaceable(const kf_problem_argument *argument)
{
    int64_t start = 0;
    return (argument->kind == KF_INPUT || argument->kind == KF_INOUT) &&
           kf_input_part(argument, &start, most_elements(argument)) > 0;
}

static bool is_written(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
}

/* Draws one of the arguments that are fit; -1 without one. */
static int draw_argument(const kf_problem *problem, kf_choices *choices,
                         bool (*fit)(const kf_problem_argument *argument))
{
    uint32_t count = 0;
    for (int i = 0; i < problem->argument_count; i++) count += fit(&problem->arguments[i]);
    if (!count) return -1;
    uint32_t drawn = kf_choices_below(choices, count);
    for (int i = 0; i < problem->argument_count; i++)
        if (fit(&problem->arguments[i]) && !drawn--) return i;
    return -1;
}

static bool can_watch(const kf_measurement *r)
{
    return r->device->buffers.write_part && r->schedule.calls[CANDIDATE] > 1 &&
           kf_runner_shows_progress(r->runners[CANDIDATE]);
}

static bool has_replaceable(const kf_problem *problem)
{
    for (int i = 0; i < problem->argument_count; i++)
        if (is_replaceable(&problem->arguments[i])) return true;
    return false;
}

/* ---- while the batch runs -------------------------------------------------------------------- */

static uint32_t begun(kf_watch *w)
{
    uint32_t number = kf_runner_begun(w->r->runners[CANDIDATE]);
    if (number < w->most) w->fell = true;
    if (number > w->most) w->most = number;
    return number < w->calls ? number : w->calls;
}

static bool has_change(const kf_watch *w, uint32_t place)
{
    for (int i = 0; i < w->change_count; i++)
        if (w->changes[i].place == place) return true;
    return false;
}

/* Returns the place of a call that has not begun, often one of the next; w->calls without one. */
static uint32_t draw_later_call(kf_watch *w, uint32_t first)
{
    uint32_t place = first + (uint32_t)draw_magnitude(&w->choices, w->calls - first) - 1;
    while (place < w->calls && has_change(w, place)) place++;
    return place;
}

/* Draws which elements of an input change. Returns how many; 0 if the judge has to draw again. */
static int64_t draw_place(kf_watch *w, const kf_problem_argument *argument, int64_t *start)
{
    int64_t most = most_elements(argument),
            count = (int64_t)draw_magnitude(&w->choices, (uint64_t)most);
    /* A small part of a structure often changes no result. */
    if (kf_choices_below(&w->choices, 2)) count = most;
    *start = (int64_t)(draw_part(&w->choices) * (double)(argument->elements - count + 1));
    count = kf_input_part(argument, start, count);
    return count < most ? count : most;
}

/* Draws which elements of an input change, and their new values, of the same distribution. *found:
 * false if nothing changes. */
static bool draw_elements(kf_watch *w, change *c, bool *found)
{
    const kf_measurement *r = w->r;
    const kf_problem_argument *argument = &r->bench->problem->arguments[c->argument];
    uint32_t set = r->lists.order[c->place];
    const kf_set_variation *varied = &r->lists.variations[set];
    uint64_t size = kf_dtype_size(argument->dtype);
    int64_t start, count = draw_place(w, argument, &start);
    kf_key key = {
        .secret = kf_choices_next(&w->choices), .set = set, .argument = (uint32_t)c->argument};
    *found = false;
    if (!count) return true;
    c->part =
        (kf_part){.offset = (uint64_t)start * size, .bytes = (uint32_t)count * (uint32_t)size};
    if (!r->device->buffers.read_part(r->sets, set, c->argument, &c->part, c->before, w->error))
        return false;
    kf_variation variation = varied->argument == c->argument ? varied->variation : KF_VARY_NONE;
    kf_input_part_draw(argument, key, variation, start, count, c->before, c->after);
    *found = memcmp(c->before, c->after, c->part.bytes) != 0;
    return true;
}

/* Overwrites a part of an input of a later call. */
static bool change_later_call(kf_watch *w)
{
    kf_measurement *r = w->r;
    const kf_problem *problem = r->bench->problem;
    change *c = &w->changes[w->change_count];
    c->argument = draw_argument(problem, &w->choices, is_replaceable);
    uint32_t first = begun(w), place = first < w->calls ? draw_later_call(w, first) : w->calls;
    bool found;
    if (place == w->calls) return true;
    c->place = place;
    if (!draw_elements(w, c, &found)) return false;
    if (!found || begun(w) > place) return true;
    w->change_count++;
    if (!r->device->buffers.write_part(r->sets, r->lists.order[place], c->argument, &c->part,
                                       c->after, true, w->error))
        return false;
    c->raced = begun(w) > place;
    w->telling += first > 0 && !c->raced;
    return true;
}

/* Copies a part of an output of a call that has ended, often one of the last. */
static bool copy_ended_call(kf_watch *w)
{
    kf_measurement *r = w->r;
    const kf_problem *problem = r->bench->problem;
    ended *e = &w->outputs[w->output_count];
    uint32_t number = begun(w);
    if (number < 2) return true;
    e->place = number - 1 - (uint32_t)draw_magnitude(&w->choices, number - 1);
    e->argument = draw_argument(problem, &w->choices, is_written);
    if (e->argument < 0) return true;
    uint64_t bytes = problem->arguments[e->argument].bytes;
    e->part.bytes = bytes < OUTPUT_BYTES ? (uint32_t)bytes : OUTPUT_BYTES;
    e->part.offset = (uint64_t)(draw_part(&w->choices) * (double)(bytes - e->part.bytes + 1));
    w->output_count++;
    return r->device->buffers.read_part(r->sets, r->lists.order[e->place], e->argument, &e->part,
                                        e->data, w->error);
}

/* Sleeps until that time. True if the batch is over then, or the job is to stop. */
static bool is_over_before(const kf_watch *w, double time)
{
    const volatile int *stop = w->r->bench->stop;
    for (double left = time - kf_now();; left = time - kf_now()) {
        if (stop && *stop) return true;
        double turn = fmin(left, KF_RUNNER_TIMEOUT_TURN);
        if (kf_runner_answers_before(w->r->runners[CANDIDATE], kf_now() + turn)) return true;
        if (left <= turn) return false;
    }
}

/* Comes at the first moment. The judge sleeps between its looks, so that nothing differs from
 * another batch until the first look. */
static void look_on(void *context)
{
    kf_watch *w = context;
    double started = kf_now() - w->moments[0];
    for (int i = 0; i < LOOKS && !w->failed; i++) {
        if (is_over_before(w, started + w->moments[i])) return;
        w->failed = !change_later_call(w) || !copy_ended_call(w);
    }
}

/* ---- after it -------------------------------------------------------------------------------- */

/* Writes to a set what its changes have overwritten, or what they have written. */
static bool put(kf_measurement *r, uint32_t place, uint32_t set, bool after, kf_error *error)
{
    const kf_watch *w = r->watching.watch;
    for (int i = 0; i < w->change_count; i++) {
        const change *c = &w->changes[i];
        if (c->place != place) continue;
        if (!r->device->buffers.write_part(r->sets, set, c->argument, &c->part,
                                           after ? c->after : c->before, false, error) ||
            !r->device->buffers.accept_input(r->sets, set, c->argument, error))
            return false;
        r->lists.true_known[set] = false;
    }
    return true;
}

static bool put_all(kf_measurement *r, bool after, kf_error *error)
{
    const kf_watch *w = r->watching.watch;
    for (int i = 0; i < w->change_count; i++) {
        uint32_t place = w->changes[i].place;
        if (!put(r, place, r->lists.order[place], after && !w->changes[i].raced, error))
            return false;
    }
    return true;
}

static bool repeat(kf_measurement *r, uint32_t from, uint32_t to, kf_error *error)
{
    for (uint32_t place = 0; place < r->watching.watch->calls; place++)
        if (r->lists.order[place] == from) return put(r, place, to, true, error);
    return true;
}

/* Checks that inputs hold what the judge wrote to them, and restores them, so that their digests
 * show all other changes. Inouts hold results now. */
static bool restore_inputs(kf_measurement *r, kf_error *error)
{
    kf_watch *w = r->watching.watch;
    const kf_buffer_operations *buffers = &r->device->buffers;
    for (int i = 0; i < w->change_count && !r->over; i++) {
        change *c = &w->changes[i];
        unsigned char now[MOST_BYTES];
        uint32_t set = r->lists.order[c->place];
        if (!buffers->read_part(r->sets, set, c->argument, &c->part, now, error)) return false;
        const kf_damage damage = {
            .kind = KF_DAMAGE_INPUT, .set = (int)set, .argument = c->argument, .byte = -1};
        bool inout = r->bench->problem->arguments[c->argument].kind == KF_INOUT;
        c->left = memcmp(now, c->after, c->part.bytes) == 0;
        if (!inout && !c->left) {
            r->over = true;
            return kf_checker_damage(r->checker, &damage) || kf_fail_memory(error, "a finding");
        }
        if (!buffers->write_part(r->sets, set, c->argument, &c->part, c->before, false, error))
            return false;
    }
    return kf_measurement_inspect(r, CANDIDATE, error);
}

static bool check_number(kf_measurement *r, kf_error *error)
{
    if (!r->watching.watch->fell) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CHEATING,
                                  KF_BLAME_CANDIDATE, "calls.early", NAN, NAN,
                                  "the runner's number of calls that had begun fell in a batch. "
                                  "Write to no memory of the runner") != NULL ||
           kf_fail_memory(error, "a finding");
}

static bool check_ended_calls(kf_measurement *r, kf_error *error)
{
    const kf_watch *w = r->watching.watch;
    for (int i = 0; i < w->output_count && !r->over; i++) {
        const ended *e = &w->outputs[i];
        unsigned char now[OUTPUT_BYTES];
        uint32_t set = r->lists.order[e->place];
        if (!r->device->buffers.read_part(r->sets, set, e->argument, &e->part, now, error))
            return false;
        if (memcmp(now, e->data, e->part.bytes) == 0) continue;
        r->over = true;
        return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CHEATING,
                                      KF_BLAME_CANDIDATE, "calls.late", NAN, NAN,
                                      "%s of a call changed after the call had ended and a later "
                                      "call had begun. Do all work of a call in it",
                                      r->bench->problem->arguments[e->argument].name) != NULL ||
               kf_fail_memory(error, "a finding");
    }
    return true;
}

/* Puts calls that were not compared behind the others of the order. Returns how many are left. */
static uint32_t leave_out_raced(kf_measurement *r)
{
    kf_watch *w = r->watching.watch;
    uint32_t left = w->calls, *order = r->lists.order;
    for (uint32_t place = w->calls; place-- > 0;)
        for (int i = 0; i < w->change_count; i++) {
            change *c = &w->changes[i];
            if (c->place != place || !c->raced) continue;
            uint32_t raced = order[place];
            left--;
            order[place] = order[left];
            order[left] = raced;
            for (int k = 0; k < w->change_count; k++)
                if (w->changes[k].place == left) w->changes[k].place = place;
            c->place = left;
            break;
        }
    return left;
}

/* Finds out which changed calls are right for the inputs that their sets have now. */
static bool find_right(kf_measurement *r, bool right[LOOKS], kf_error *error)
{
    const kf_watch *w = r->watching.watch;
    for (int i = 0; i < w->change_count; i++) {
        uint32_t set = r->lists.order[w->changes[i].place];
        if (w->changes[i].raced) continue;
        r->over = false;
        r->lists.true_known[set] = false;
        if (!kf_measurement_find_truth(r, &set, 1, error) ||
            (!r->over && !kf_measurement_compare(r, CANDIDATE, &set, 1, NULL, error)))
            return false;
        right[i] = !r->over;
    }
    return true;
}

/* Compares the changed calls with the truth of their new and of their old inputs, with all findings
 * in a verdict that is thrown away. *stale: one of them is right for the old ones only, or is wrong
 * and has left the new values of an inout. Most changes alter no result of some tasks, for example
 * of topk. */
static bool compare_with_old(kf_measurement *r, bool *stale, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_verdict *verdict = bench->verdict;
    kf_workload_verdict *result = bench->result;
    const kf_watch *w = r->watching.watch;
    kf_auto(kf_verdict) unseen = kf_verdict_new("", "", "");
    if (!unseen || !(bench->result = kf_verdict_add_workload(unseen, result->workload, false))) {
        bench->result = result;
        return kf_fail_memory(error, "a measurement");
    }
    bench->verdict = unseen;
    bool now[LOOKS] = {false}, before[LOOKS] = {false};
    bool done = put_all(r, true, error) && find_right(r, now, error) && put_all(r, false, error) &&
                find_right(r, before, error);
    for (int i = 0; i < w->change_count && done; i++) {
        bool inout = bench->problem->arguments[w->changes[i].argument].kind == KF_INOUT;
        *stale = *stale || (!now[i] && (before[i] || (inout && w->changes[i].left)));
    }
    r->over = true;
    bench->verdict = verdict;
    bench->result = result;
    return done;
}

/* Says why calls of the batch were wrong, if they are right for the inputs that the judge has
 * overwritten. */
static bool explain_mismatch(kf_measurement *r, kf_error *error)
{
    kf_workload_verdict *result = r->bench->result;
    kf_finding *last = result->finding_count ? &result->findings[result->finding_count - 1] : NULL;
    bool stale = false;
    if (!last || last->status != KF_WRONG_RESULT) return true;
    if (!compare_with_old(r, &stale, error)) return false;
    if (!stale) return true;
    kf_workload_drop_finding(result);
    return kf_verdict_add_finding(
               r->bench->verdict, result, KF_CHEATING, KF_BLAME_CANDIDATE, "calls.early", NAN, NAN,
               "the outputs of a call are those of inputs that the judge had overwritten before "
               "the call began: an earlier call read them. Read the inputs of a call in it") !=
               NULL ||
           kf_fail_memory(error, "a finding");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool prepare(kf_measurement *r, int number, kf_error *error)
{
    kf_watch *w = r->watching.watch;
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    kf_choices_permute(&w->choices, r->lists.order, r->set_count);
    kf_checker_vary(r->checker, &w->choices, r->lists.order, w->calls, r->set_count, true, 0,
                    r->lists.variations);
    return r->device->buffers.fill(r->sets, kf_measurement_draw(r, "watched inputs", number),
                                   r->lists.variations, error) &&
           kf_measurement_refresh(r, -2 - number, CANDIDATE, w->calls, error);
}

static bool run(kf_measurement *r, kf_error *error)
{
    kf_watch *w = r->watching.watch;
    kf_batch batch;
    if (!kf_measurement_batch(r, CANDIDATE, 0, w->calls, 0, -1, &batch, error)) return false;
    if (w->failed) return false;
    r->watching.changes += w->telling;
    if (!r->over && !check_number(r, error)) return false;
    if (!r->over && !check_ended_calls(r, error)) return false;
    if (!r->over && !restore_inputs(r, error)) return false;
    uint32_t compared = leave_out_raced(r);
    if (r->over || !compared) return true;
    if (!put_all(r, true, error) || !kf_measurement_check_results(r, CANDIDATE, compared, error))
        return false;
    return !r->over || explain_mismatch(r, error);
}

/* Draws when the judge looks. */
static void draw_moments(kf_watch *w)
{
    const kf_measurement *r = w->r;
    const kf_series *batches = &r->record.batches[CANDIDATE];
    double batch = kf_quantile(batches->seconds, batches->count, 0) * w->calls,
           seconds = fmax(batch - r->schedule.empty_batch, batch / 4);
    for (int i = 0; i < LOOKS; i++)
        w->moments[i] = seconds * (i < USUAL_LOOKS ? draw_part(&w->choices)
                                                   : pow(LATEST, draw_part(&w->choices)));
    qsort(w->moments, LOOKS, sizeof *w->moments, kf_compare_doubles);
}

bool kf_measurement_watch(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    if (!can_watch(r)) return true;
    if (!has_replaceable(r->bench->problem)) {
        r->watching.tried = r->watching.tried || kf_generator_is_needed(r->bench->problem);
        return true;
    }
    kf_autofree kf_watch *w = malloc(sizeof *w);
    if (!w) return kf_fail_memory(error, "a watched batch");
    bool done = true;
    r->watching.tried = true;
    r->watching.watch = w;
    r->watching.look_on = look_on;
    r->watching.repeat = repeat;
    for (int i = 0, telling = 0; i < TRIES && !telling && done && !r->over; i++) {
        int number = plan->serial * TRIES + i;
        *w = (kf_watch){.r = r,
                        .choices.state = kf_measurement_draw(r, "watched", number),
                        .calls = r->schedule.calls[CANDIDATE],
                        .error = error};
        draw_moments(w);
        r->watching.first_look = w->moments[0];
        done = kf_measurement_empty_batches(r, plan, plan->watched_empties, error) &&
               (r->over || (prepare(r, number, error) && run(r, error)));
        telling = w->telling;
    }
    r->watching.watch = NULL;
    return done;
}
