/* Held batches: whether calls respect their stream, on devices that work on after a call returns.
 *
 * A held batch is untimed, and looks like any other to the candidate: the same command, the same
 * number of calls on the same buffers. The gate of one call, chosen at random, is closed
 * (stream_page.h). The runner calls the entry for all sets, and the stream stands still before that
 * call. After a delay that is long compared with a call, the judge gives the sets behind the gate
 * new inputs, and opens it. Work that did not wait for the stream has read the inputs of before, so
 * its results are wrong.
 *
 * A batch with open gates and a second held one follow a wrong one. If the first is right and the
 * second wrong, the order is at fault. Otherwise the results change from call to call.
 *
 * Reading changes no result, but it leaves inputs in the device's cache, where the next call finds
 * them sooner. So at the end of the delay the judge times reads of inputs behind the gate. It does
 * so before the batch too, when nothing can have read them. How the inputs got into the cache, and
 * in which stream, makes no difference.
 *
 * Work that ends late is found in every batch: the stream copies samples of outputs right behind
 * some calls, and the judge compares them with the outputs in the end. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "measure_internal.h"

/* A held batch follows the first pair, and one in LATER_CHANCE of the others. */
#define LATER_CHANCE 4
/* The sets behind a gate that get new inputs and are compared. */
#define MAX_HELD_SETS 4
/* The delay: seconds, plus up to as many again, plus these times the calls before the gate. */
#define DELAY_SECONDS 0.0015
#define DELAY_FACTOR 2.0
#define DELAY_CALLS 4.0
#define MAX_DELAY_SECONDS 0.25
/* An input was read early if more than this share of it was, and more than by chance, in
 * AHEAD_BATCHES of at most AHEAD_TRIES held batches. A candidate may read early now and then. */
#define AHEAD_SHARE 0.01
#define AHEAD_BATCHES 3
#define AHEAD_TRIES 12

typedef struct held {
    kf_measurement *r;
    /* The first call behind the closed gate, and all calls. */
    uint32_t from, calls;
    /* The sets behind the gate that get new inputs. */
    uint32_t list[MAX_HELD_SETS], count;
    double delay;
    /* True if the judge looks into the cache: early reads gain time, and no more. */
    bool looks;
    /* The share of one of their inputs that was read before the gate opened. */
    double ahead;
    /* False after a fault of the machine. */
    bool released, looked;
    kf_error *error;
} held;

static void release_later(void *context)
{
    held *h = context;
    const struct timespec delay = {.tv_sec = (time_t)h->delay,
                                   .tv_nsec = (long)((h->delay - floor(h->delay)) * 1e9)};
    const kf_order_operations *order = &h->r->device->order;
    nanosleep(&delay, NULL);
    h->released = (!h->looks || order->cached(h->r->sets, h->list[0], true, &h->ahead, h->error)) &&
                  order->release(h->r->sets, h->list, h->count, h->error);
}

static void look(void *context)
{
    held *h = context;
    h->looked = h->r->device->buffers.snapshot(h->r->sets, h->r->lists.order, h->calls, h->error);
}

/* Chooses the gate among all calls: a glance at inputs shows a candidate if they are varied. */
static void choose_gate(kf_measurement *r, held *h)
{
    h->calls = r->schedule.calls[CANDIDATE];
    h->from = (uint32_t)(kf_choices_next(&r->choices) % h->calls);
    for (uint32_t i = h->from; i < h->calls && h->count < MAX_HELD_SETS; i++)
        h->list[h->count++] = r->lists.order[i];
    double part = (double)(kf_choices_next(&r->choices) >> 11) * 0x1p-53;
    h->delay = fmin(DELAY_SECONDS * (1 + part) +
                        r->schedule.baseline_call * (DELAY_CALLS + DELAY_FACTOR * h->from),
                    MAX_DELAY_SECONDS);
}

/* Runs the batch, with the gate closed or open, and finds out if results behind it are wrong. */
static bool run(kf_measurement *r, held *h, int number, bool closed, bool *wrong, kf_error *error)
{
    const kf_order_operations *order = &r->device->order;
    kf_runner *runner = r->runners[CANDIDATE];
    *wrong = false;
    h->ahead = 0;
    if (!kf_measurement_refresh(r, number, CANDIDATE, h->calls, error)) return false;
    if (!kf_measurement_make_fresh(r, h->list, h->count, error)) return false;
    h->looks = closed && order->cached && r->schedule.timed;
    if (h->looks && !order->cached(r->sets, h->list[0], false, &h->ahead, error)) return false;
    if (!closed && !order->release(r->sets, h->list, h->count, error)) return false;
    if (!order->hold(r->sets, closed ? h->from : UINT32_MAX, error)) return false;
    h->released = h->looked = true;
    kf_batch batch = {.order = r->lists.order,
                      .count = h->calls,
                      .timeout = kf_measurement_timeout(r, CANDIDATE, h->calls) + h->delay,
                      .answered = look,
                      .running = closed ? release_later : NULL,
                      .running_context = h,
                      .context = h};
    kf_runner_event event = kf_runner_batch(runner, &batch);
    if (!h->released || !h->looked) return false;
    if (event != KF_RUNNER_OK)
        return kf_measurement_report(r, runner, KF_ROLE_CANDIDATE, event, batch.code,
                                     "running a batch of calls", error);
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_STALL, batch.stalled);
    kf_clock_charge_candidate(&r->bench->clock,
                              fmax(batch.seconds - batch.stalled - (closed ? h->delay : 0), 0));
    for (uint32_t i = 0; i < h->calls; i++) r->lists.chosen[r->lists.order[i]] = true;
    for (uint32_t i = 0; i < h->count; i++) r->lists.true_known[h->list[i]] = false;
    if (!order->take_samples(r->sets, batch.nonce, r->lists.order, h->calls, error) ||
        !kf_measurement_inspect(r, CANDIDATE, error) || r->over)
        return r->over;
    if (!kf_measurement_find_wrong(r, h->list, h->count, wrong, error)) return false;
    return r->over || *wrong || kf_measurement_check_samples(r, error);
}

bool kf_measurement_check_samples(kf_measurement *r, kf_error *error)
{
    kf_damage damage;
    if (!r->device->order.check_samples) return true;
    if (!r->device->order.check_samples(r->sets, &damage, error)) return false;
    if (damage.kind == KF_DAMAGE_NONE) return true;
    r->over = r->dirty = true;
    return kf_checker_damage(r->checker, &damage) || kf_fail_memory(error, "a finding");
}

static bool report_wrong(kf_measurement *r, bool early, kf_error *error)
{
    r->over = r->dirty = true;
    return kf_verdict_add_finding(
               r->bench->verdict, r->bench->result, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
               early ? "stream.unordered" : "output.mismatch", NAN, NAN, "%s",
               early ? "results are wrong when earlier work in the call's stream ends late: some "
                       "work of the call began before it. Launch into the call's stream, or let "
                       "other streams wait for it, for example with cudaStreamWaitEvent"
                     : "results are wrong in one of several batches of the same calls. Look for "
                       "races, and for results that depend on earlier calls") != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Finds out if wrong results come from work that began early. */
static bool explain_wrong(kf_measurement *r, held *h, int number, kf_error *error)
{
    bool wrong;
    if (!run(r, h, number, false, &wrong, error) || r->over) return r->over;
    if (wrong) return kf_measurement_compare(r, CANDIDATE, h->list, h->count, NULL, error);
    if (!run(r, h, number, true, &wrong, error) || r->over) return r->over;
    return report_wrong(r, wrong, error);
}

static bool report_ahead(kf_measurement *r, double share, kf_error *error)
{
    r->over = r->dirty = true;
    return kf_verdict_add_finding(
               r->bench->verdict, r->bench->result, KF_CHEATING, KF_BLAME_CANDIDATE, "calls.early",
               share, AHEAD_SHARE,
               "%.0f %% of an input was in the device's cache before its call began: earlier calls "
               "read it. Read the inputs of a call in it",
               100 * share) != NULL ||
           kf_fail_memory(error, "a finding");
}

/* Repeats a batch in which an input was read early, and adds a finding if that goes on. */
static bool confirm_ahead(kf_measurement *r, held *h, int number, kf_error *error)
{
    double least = h->ahead;
    int seen = 1;
    for (int tries = 1; tries < AHEAD_TRIES && seen < AHEAD_BATCHES; tries++) {
        bool wrong;
        if (!run(r, h, number, true, &wrong, error) || r->over) return r->over;
        if (wrong) return explain_wrong(r, h, number, error);
        if (h->ahead <= AHEAD_SHARE) continue;
        least = fmin(least, h->ahead);
        seen++;
    }
    return seen < AHEAD_BATCHES || report_ahead(r, least, error);
}

static bool held_batch(kf_measurement *r, int number, kf_error *error)
{
    held h = {.r = r, .error = error};
    bool wrong;
    choose_gate(r, &h);
    if (!run(r, &h, number, true, &wrong, error)) return false;
    if (r->over) return true;
    if (wrong) return explain_wrong(r, &h, number, error);
    return h.ahead <= AHEAD_SHARE || confirm_ahead(r, &h, number, error);
}

bool kf_measurement_check_order(kf_measurement *r, const kf_pair_plan *plan, kf_error *error)
{
    if (!r->device->order.hold || r->bench->options->asan) return true;
    bool due = plan->number == 0 || kf_choices_next(&r->choices) % LATER_CHANCE == 0;
    return !due || held_batch(r, plan->serial, error);
}
