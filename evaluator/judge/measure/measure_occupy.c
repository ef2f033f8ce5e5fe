/* Batches on a device that does not stop with its runner (device.h: occupy, withhold, vacate).
 *
 * The judge occupies it from before a side's inputs are filled until the clock of its batch runs.
 * Each side has inputs of its own, because the candidate could work on those of the baseline during
 * the baseline's batch. If other work ran meanwhile, the pair does not count. So work before the
 * clock gains nothing, seen or not.
 *
 * Some of these times, chosen at random, are longer than the GPU lets one context run while another
 * waits. They show work that waits for inputs. The judge accuses a candidate only if many of them
 * were interrupted, and if there is no interruption after the end of its process. Otherwise another
 * program uses the GPU. */
#include "input_generator.h"
#include "measure_internal.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Seconds of a long time: at least, and the random part. */
#define PROBE_SECONDS 0.006
#define PROBE_MORE 0.002
/* The first ones are long, later one of so many, and all of them after an interruption. Half of the
 * new inputs end a wait for a bit, so the first ones find none once in sixteen measurements. */
#define FIRST_PROBES 4
#define PROBES_PART 16
/* Interrupted long ones, and the part of all of them, before the judge looks at the device without
 * the candidate. Work that waits for a bit of an input begins in half of them. */
#define MIN_BUSY 3
#define BUSY_PART 3
/* Long ones without the candidate. If another program interrupts one in three, then this
 * many are undisturbed once in 600 times. The judge repeats all of that twice before it accuses. */
#define CONTROLS 16

bool kf_measurement_occupies(const kf_measurement *r)
{
    return r->device->buffers.occupy && r->schedule.timed;
}

bool kf_measurement_make_inputs(kf_measurement *r, uint64_t secret, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    int argument = 0;
    if (!r->device->buffers.make_fresh || !kf_generator_is_needed(problem)) return true;
    while (!problem->arguments[argument].distribution.generated) argument++;
    for (uint32_t set = 0; set < r->set_count; set++)
        if (!kf_generator_take(r->bench->device->next_sets.generator, secret, set, argument, error))
            return false;
    return true;
}

bool kf_measurement_make_fresh(kf_measurement *r, const uint32_t *list, uint32_t count,
                               kf_error *error)
{
    return !r->device->buffers.make_fresh || !kf_generator_is_needed(r->bench->problem) ||
           r->device->buffers.make_fresh(r->sets, list, count, error);
}

bool kf_measurement_occupy(kf_measurement *r, kf_error *error)
{
    if (!kf_measurement_occupies(r)) return true;
    /* The context of a starting runner would interrupt it. */
    kf_runner_pool_pause(r->bench->pool);
    return r->device->buffers.occupy(r->sets, error);
}

/* Sleeps with the device occupied. That time is not the candidate's. */
static void wait_occupied(kf_measurement *r)
{
    double seconds = PROBE_SECONDS + PROBE_MORE * kf_choices_below(&r->choices, 1000) / 1000,
           began = kf_now();
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_WORKLOAD, kf_now() - began);
}

void kf_measurement_probe(kf_measurement *r, kf_side side)
{
    kf_occupations *seen = &r->occupations;
    if (!kf_measurement_occupies(r) || !r->runners[CANDIDATE]) return;
    /* The candidate's own buffers do not change before the baseline's batch. */
    if (side == BASELINE && !kf_measurement_shares_buffers(r)) return;
    if (seen->probes >= FIRST_PROBES && !(seen->longest > 0) &&
        kf_choices_below(&r->choices, PROBES_PART))
        return;
    wait_occupied(r);
    seen->probing = true;
}

static void vacate(void *context)
{
    kf_measurement *r = context;
    r->device->buffers.vacate(r->sets);
}

bool kf_measurement_occupy_batch(kf_measurement *r, kf_batch *batch, kf_error *error)
{
    if (!kf_measurement_occupies(r)) return true;
    batch->begun = vacate;
    batch->begun_context = r;
    return kf_measurement_occupy(r, error) && r->device->buffers.withhold(r->sets, error);
}

/* Ends an occupation, and finds out how long other work ran in it. */
static bool end_occupation(kf_measurement *r, double *gap, kf_error *error)
{
    r->device->buffers.vacate(r->sets); /* a runner that failed may not have begun */
    return r->device->buffers.interruption(r->sets, gap, error);
}

bool kf_measurement_end_occupation(kf_measurement *r, kf_error *error)
{
    kf_occupations *seen = &r->occupations;
    double gap;
    if (!kf_measurement_occupies(r)) return true;
    if (!end_occupation(r, &gap, error)) return false;
    bool other_work = gap > 0 && isfinite(gap);
    seen->interrupted = seen->interrupted || gap > 0;
    seen->probes += seen->probing;
    seen->busy += seen->probing && other_work;
    seen->probing = false;
    if (other_work) seen->longest = fmax(seen->longest, gap);
    return true;
}

/* Counts interruptions of long occupations without the candidate's process. */
static bool count_without_candidate(kf_measurement *r, uint32_t *busy, kf_error *error)
{
    kf_runner_free(r->runners[CANDIDATE]);
    r->runners[CANDIDATE] = NULL;
    *busy = 0;
    for (int i = 0; i < CONTROLS; i++) {
        double gap;
        kf_measurement_memory_settle(r);
        uint64_t secret = kf_measurement_draw(r, "control", i);
        if (!kf_measurement_make_inputs(r, secret, error) || !kf_measurement_occupy(r, error) ||
            !r->device->buffers.fill(r->sets, secret, r->lists.variations, error))
            return false;
        wait_occupied(r);
        if (!end_occupation(r, &gap, error)) return false;
        *busy += gap > 0;
    }
    return true;
}

bool kf_measurement_suspects_work(const kf_measurement *r)
{
    const kf_occupations *seen = &r->occupations;
    return seen->longest > 0 && seen->busy < MIN_BUSY && seen->probes < BUSY_PART * MIN_BUSY;
}

bool kf_measurement_check_interruptions(kf_measurement *r, kf_error *error)
{
    const kf_occupations *seen = &r->occupations;
    kf_workbench *bench = r->bench;
    uint32_t busy;
    if (seen->busy < MIN_BUSY || BUSY_PART * seen->busy <= seen->probes) return true;
    if (!count_without_candidate(r, &busy, error)) return false;
    r->over = true;
    if (busy)
        return kf_verdict_add_finding(bench->verdict, bench->result, KF_INTERFERENCE,
                                      KF_BLAME_MACHINE, "device.shared", seen->longest, 0,
                                      "another program computes on the device, for %.3g s at a "
                                      "time. Stop it, or choose "
                                      "another GPU with --device",
                                      seen->longest) != NULL ||
               kf_fail_memory(error, "a finding");
    return kf_verdict_add_finding(
               bench->verdict, bench->result, KF_CHEATING, KF_BLAME_CANDIDATE, "device.busy",
               seen->longest, 0,
               "the device worked for the candidate for %.3g s while its process was stopped, "
               "after "
               "%u of %u times that inputs were written. Begin all work in the call, and let the "
               "call's stream wait for all of it",
               seen->longest, seen->busy, seen->probes) != NULL ||
           kf_fail_memory(error, "a finding");
}
