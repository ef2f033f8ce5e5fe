#include "check_outputs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* times the RMS error, and the largest error, that is allowed */
#define FAR_OFF 2
#define FAR_OFF_MAX 8
/* Each workload varies at least so many sets, or one or two if it has two sets only. */
#define VARIED_A_WORKLOAD 3

typedef struct variation_list {
    kf_set_variation *rows;
    /* next: the next one to use; used: how often one was used */
    uint32_t count, next, used;
} variation_list;

struct kf_checker {
    kf_workbench *bench;
    int classes;
    kf_error_sums *baseline; /* [argument * classes + class] */
    bool *known;             /* [class] */
    bool varies;
    bool begun;
    bool brief;
    /* of the last pair: 0 if its first set could be varied */
    uint32_t phase;
    /* variations of all inputs, shuffled: those that keep the speed of a program, and the others */
    variation_list keeping, changing;
};

static int class_of(kf_set_variation variation)
{
    return (variation.argument + 1) * KF_VARIATION_COUNT + (int)variation.variation;
}

static bool is_output(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
}

/* Collects and shuffles the variations that change the speed of programs, or the others. It is
 * unknown which of them would show a shortcut, so each gets its turn. Each set of each workload
 * takes the next one, and all come once before one comes again. */
static bool shuffle_variations(kf_checker *checker, variation_list *list, bool changing)
{
    const kf_workbench *bench = checker->bench;
    const kf_problem *problem = bench->problem;
    list->rows = calloc((size_t)checker->classes, sizeof *list->rows);
    kf_autofree uint32_t *order = calloc((size_t)checker->classes, sizeof *order);
    kf_autofree kf_set_variation *sorted = calloc((size_t)checker->classes, sizeof *sorted);
    if (!list->rows || !order || !sorted) return false;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_argument_kind kind = problem->arguments[i].kind;
        for (int v = KF_VARY_NONE + 1;
             v < KF_VARIATION_COUNT && (kind == KF_INPUT || kind == KF_INOUT); v++)
            if ((checker->varies || v == KF_VARY_STRAY) &&
                kf_variation_applies(&problem->arguments[i], (kf_variation)v) &&
                kf_variation_changes_speed((kf_variation)v) == changing)
                sorted[list->count++] = (kf_set_variation){i, (kf_variation)v};
    }
    /* All workloads of a job have the same order, and each begins about where the last one ended.
     */
    kf_choices choices = {
        .state = kf_secret_draw(bench->secret, "variations", (uint32_t)bench->attempt, changing)};
    for (uint32_t i = 0; i < list->count; i++) order[i] = i;
    kf_choices_permute(&choices, order, list->count);
    for (uint32_t i = 0; i < list->count; i++) list->rows[i] = sorted[order[i]];
    return true;
}

/* Returns the next variation, of the list that was used less for its length. With `changing` false
 * it keeps the speed of programs. NULL without one. */
static const kf_set_variation *next_variation(kf_checker *checker, bool changing)
{
    variation_list *keeping = &checker->keeping, *list = keeping;
    if (changing && checker->changing.count &&
        (uint64_t)checker->changing.used * keeping->count <=
            (uint64_t)keeping->used * checker->changing.count)
        list = &checker->changing;
    if (!list->count) return NULL;
    const kf_set_variation *next = &list->rows[list->next];
    list->next = (list->next + 1) % list->count;
    list->used++;
    return next;
}

/* Returns one by chance, for a set that may not be called. */
static const kf_set_variation *any_variation(const kf_checker *checker, kf_choices *choices,
                                             bool changing)
{
    uint32_t count = checker->keeping.count + (changing ? checker->changing.count : 0);
    if (!count) return NULL;
    uint32_t which = kf_choices_below(choices, count);
    return which < checker->keeping.count ? &checker->keeping.rows[which]
                                          : &checker->changing.rows[which - checker->keeping.count];
}

kf_checker *kf_checker_new(kf_workbench *bench)
{
    const kf_problem *problem = bench->problem;
    kf_auto(kf_checker) checker = calloc(1, sizeof *checker);
    if (!checker) return NULL;
    checker->bench = bench;
    checker->classes = (problem->argument_count + 1) * KF_VARIATION_COUNT;
    size_t entries = (size_t)problem->argument_count * (size_t)checker->classes;
    checker->baseline = calloc(entries ? entries : 1, sizeof *checker->baseline);
    checker->known = calloc((size_t)checker->classes, sizeof *checker->known);
    if (!checker->baseline || !checker->known) return NULL;
    for (size_t i = 0; i < entries; i++) checker->baseline[i] = KF_NO_ERRORS;
    /* An absolute tolerance only suits inputs as large as the task's. Strays are among those. */
    checker->varies = true;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_tolerance *tolerance = &problem->arguments[i].tolerance;
        bool absolute = (tolerance->kind == KF_ALLCLOSE || tolerance->kind == KF_ANY_ORDER) &&
                        tolerance->atol > 0;
        if (is_output(&problem->arguments[i]) && absolute) checker->varies = false;
    }
    if (!shuffle_variations(checker, &checker->keeping, false) ||
        !shuffle_variations(checker, &checker->changing, true))
        return NULL;
    for (int i = 0; i < bench->workload * VARIED_A_WORKLOAD; i++) next_variation(checker, true);
    return kf_steal(&checker);
}

void kf_checker_free(kf_checker *checker)
{
    if (!checker) return;
    free(checker->baseline);
    free(checker->known);
    free(checker->keeping.rows);
    free(checker->changing.rows);
    free(checker);
}

void kf_checker_vary(kf_checker *checker, kf_choices *choices, const uint32_t *order,
                     uint32_t called, uint32_t count, bool known, uint32_t changing,
                     kf_set_variation *variations)
{
    /* If a batch is one call, one of the first two pairs varies its set. Else the baseline's error
     * on varied inputs might stay unknown, and later pairs would vary no set. */
    uint32_t drawn_phase = kf_choices_below(choices, 2),
             phase = checker->begun && !known ? !checker->phase : drawn_phase;
    checker->phase = phase;
    checker->begun = true;
    for (uint32_t k = 0; k < count; k++) {
        variations[order[k]] = (kf_set_variation){-1, KF_VARY_NONE};
        if ((k + phase) % 2) continue;
        /* a set that is not compared uses up no variation */
        const kf_set_variation *drawn =
            k < called ? next_variation(checker, changing > 0)
                       : any_variation(checker, choices, changing == KF_ALL_SETS);
        if (!drawn || (known && !checker->known[class_of(*drawn)])) continue;
        variations[order[k]] = *drawn;
        bool changes = kf_variation_changes_speed(drawn->variation);
        if (k < called && changes && changing != KF_ALL_SETS) changing--;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct item {
    const kf_problem_argument *argument;
    const void *data, *truth;
    kf_error_sums *sums; /* of the baseline for this class */
    bool accumulate;
    bool passed;
    uint32_t set;
    kf_set_variation variation;
    kf_error_figures figures;
    kf_error_sums own;
    /* right by the device's sums alone */
    bool settled;
    /* almost certainly wrong by them; only the finding is missing */
    bool fails;
    /* its elements are on the host */
    bool looked;
    kf_error error;
} item;

static void compare_one(void *context, size_t i)
{
    item *it = &((item *)context)[i];
    if (it->settled || it->fails) return;
    kf_error_sums own = KF_NO_ERRORS;
    if (it->accumulate) {
        kf_error_accumulate(it->argument, it->data, it->truth, &own);
        it->own = own;
    }
    it->figures = (kf_error_figures){0};
    it->error = (kf_error){0};
    it->passed = kf_compare_output(it->argument, it->data, it->truth,
                                   it->accumulate ? &own : it->sums, &it->figures, &it->error);
}

/* Judges an output by the device's sums. Most outputs pass by them. The others are compared element
 * by element. */
static void judge_by_device_compare(item *it, const kf_device_compare *device_compare)
{
    if (!device_compare->known) return;
    if (it->accumulate) it->own = device_compare->sums;
    it->settled = kf_compare_sums(it->argument, &device_compare->sums, device_compare->failed,
                                  it->accumulate ? &it->own : it->sums, &it->figures);
    it->passed = it->settled;
    it->fails = !it->settled && it->sums && !it->accumulate;
}

static bool bring(item *it, kf_sets *sets, const kf_device_operations *device, int argument,
                  kf_error *error)
{
    it->looked = true;
    it->data = device->buffers.output(sets, it->set, argument, error);
    it->truth = it->data ? device->buffers.truth(sets, it->set, argument, error) : NULL;
    return it->truth != NULL;
}

static void worse(kf_error_figures *all, const kf_error_figures *one, bool first)
{
    if (first) {
        *all = *one;
        return;
    }
    kf_error_figures sum = *all;
    /* Of the figures the set that came closest to its limit is shown. */
    double now = one->allowed_rms > 0 ? one->rms / one->allowed_rms : one->rms,
           before = all->allowed_rms > 0 ? all->rms / all->allowed_rms : all->rms;
    if (one->mismatched > all->mismatched || (one->mismatched == all->mismatched && now > before))
        sum = *one;
    sum.compared = all->compared + one->compared;
    sum.mismatched = all->mismatched + one->mismatched;
    if (all->mismatched) {
        sum.first_index = all->first_index;
        sum.first_expected = all->first_expected;
        sum.first_got = all->first_got;
        memcpy(sum.pattern, all->pattern, sizeof sum.pattern);
    }
    *all = sum;
}

static kf_output_check *output_check(kf_workbench *bench, const char *name)
{
    for (size_t i = 0; i < bench->result->output_count; i++)
        if (strcmp(bench->result->outputs[i].argument, name) == 0)
            return &bench->result->outputs[i];
    kf_output_check *added = kf_workload_add_output(bench->result, name);
    if (added) added->figures = (kf_error_figures){.first_index = -1};
    return added;
}

static void describe_variation(const kf_problem *problem, kf_set_variation variation, char *text,
                               size_t size)
{
    text[0] = '\0';
    if (variation.argument >= 0)
        snprintf(text, size, ", with %s varied (%s)", problem->arguments[variation.argument].name,
                 kf_variation_name(variation.variation));
}

static bool report_mismatch(kf_workbench *bench, const item *it)
{
    const kf_error_figures *f = &it->figures;
    char varied[128], pattern[96] = "", errors[160] = "";
    describe_variation(bench->problem, it->variation, varied, sizeof varied);
    if (f->pattern[0]) snprintf(pattern, sizeof pattern, ", pattern: %.60s", f->pattern);
    if (it->argument->tolerance.kind == KF_ERROR_RATIO)
        snprintf(errors, sizeof errors,
                 "; RMS error %.3g, allowed %.3g; maximum %.3g, allowed %.3g", f->rms,
                 f->allowed_rms, f->max, f->allowed_max);
    return kf_verdict_add_finding(
               bench->verdict, bench->result, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
               "output.mismatch", f->max, f->allowed_max,
               "%s: %lld of %lld elements wrong%s, first at %lld: expected %.9g, got %.9g%s%s",
               it->argument->name, (long long)f->mismatched, (long long)f->compared, varied,
               (long long)f->first_index, f->first_expected, f->first_got, pattern, errors) != NULL;
}

/* Checks the baseline, because its error is the candidate's tolerance. Only the size of that error
 * can show that it is wrong: a tenth of the output's RMS, or in one element a quarter of the
 * largest value (rounding to f8e5m2 is an eighth). */
#define FAR_RMS 0.1
#define FAR_MAX 0.25
static bool check_baseline(kf_workbench *bench, const item *it, bool *passed, kf_error *error)
{
    double scale = it->own.count ? sqrt(it->own.scale_square / (double)it->own.count) : 0;
    bool far_off =
        it->accumulate && it->variation.argument < 0 && scale > 0 &&
        (kf_error_rms(&it->own) > FAR_RMS * scale || it->own.max > FAR_MAX * it->own.scale_max);
    if (it->passed && !far_off) return true;
    *passed = false;
    bench->found.coarse = bench->found.coarse || it->argument->tf32;
    char how[320], varied[128];
    const kf_error_figures *f = &it->figures;
    describe_variation(bench->problem, it->variation, varied, sizeof varied);
    if (it->passed) /* no element is beyond its tolerance, which was made from this very error */
        snprintf(
            how, sizeof how,
            "its error is %.3g RMS and at most %.3g, where values are %.3g RMS and at most %.3g",
            kf_error_rms(&it->own), it->own.max, scale, it->own.scale_max);
    else
        snprintf(how, sizeof how, "%lld of %lld elements%s, first at %lld: expected %.9g, got %.9g",
                 (long long)f->mismatched, (long long)it->argument->elements, varied,
                 (long long)f->first_index, f->first_expected, f->first_got);
    if (kf_verdict_add_finding(bench->verdict, bench->result, KF_JUDGE_ERROR, KF_BLAME_TASK,
                               "baseline.wrong", f->max, f->allowed_max,
                               "the task's baseline disagrees with its oracle: %s: %s",
                               it->argument->name, how))
        return true;
    return kf_fail_memory(error, "a comparison");
}

/* True if the baseline may have as large an error on this set. Errors may have a heavy tail, so
 * those of other sets say little. A value that is not finite where it should be is wrong in any
 * case. */
static bool may_be_doubted(const item *it, const kf_doubts *doubts)
{
    return it->sums && isfinite(it->figures.max) && !doubts->baseline_ran[it->set];
}

/* True if one set has shown that the candidate uses tf32 where the baseline, on the same inputs,
 * does not. */
static bool tf32_is_settled(const kf_workbench *bench, const item *items, size_t used,
                            const kf_doubts *doubts)
{
    for (size_t n = 0; n < used; n++)
        if (items[n].passed && items[n].figures.tf32 && doubts->baseline_ran[items[n].set])
            return true;
    return kf_verdict_has_flag(bench->verdict, KF_FLAG_TF32);
}

/* Names all doubtful sets. They fail, or pass only by the tolerance for tf32, and the baseline may
 * have as large an error there. Names no set if another one is certainly wrong. True if it named
 * one. */
static bool find_doubts(const kf_workbench *bench, const item *items, size_t used,
                        kf_doubts *doubts)
{
    bool settled = tf32_is_settled(bench, items, used, doubts);
    for (size_t n = 0; n < used; n++)
        if (!items[n].passed && !may_be_doubted(&items[n], doubts)) return false;
    uint32_t before = doubts->count;
    for (size_t n = 0; n < used; n++) {
        bool passes = items[n].passed && (settled || !items[n].figures.tf32);
        if (passes || !may_be_doubted(&items[n], doubts) || doubts->doubtful[items[n].set])
            continue;
        doubts->doubtful[items[n].set] = true;
        doubts->count++;
    }
    return doubts->count > before;
}

/* Compares the first output that fails by the device's sums element by element, on the host. One is
 * enough for a finding, and an output of gigabytes takes seconds. That comparison may still accept
 * it, for its last bits. Then the next one follows. */
static bool find_first_failure(const kf_workbench *bench, kf_sets *sets, item *items, size_t used,
                               const kf_doubts *doubts, kf_error *error)
{
    for (size_t n = 0; n < used; n++) {
        item *it = &items[n];
        if (!it->fails || (doubts && may_be_doubted(it, doubts))) continue;
        if (!bring(it, sets, bench->device->operations,
                   (int)(it->argument - bench->problem->arguments), error))
            return false;
        it->fails = false;
        compare_one(it, 0);
        if (!it->passed) return true;
    }
    return true;
}

void kf_checker_be_brief(kf_checker *checker, bool brief)
{
    checker->brief = brief;
}

/* True if an output fails by so much that no comparison by elements would accept it. */
static bool is_far_off(const item *items, size_t used)
{
    for (size_t n = 0; n < used; n++)
        if (items[n].fails && items[n].figures.rms > FAR_OFF * items[n].figures.allowed_rms)
            return true;
    return false;
}

bool kf_checker_compare(kf_checker *checker, kf_sets *sets, const kf_set_variation *variations,
                        const uint32_t *list, uint32_t count, bool baseline, kf_doubts *doubts,
                        bool *passed, kf_error *error)
{
    kf_workbench *bench = checker->bench;
    const kf_problem *problem = bench->problem;
    kf_autofree item *items =
        calloc((size_t)count * (size_t)problem->argument_count + 1, sizeof *items);
    if (!items) return kf_fail_memory(error, "a comparison");
    const kf_device_operations *device = bench->device->operations;
    kf_autofree kf_device_compare *comparisons =
        calloc((size_t)count * (size_t)problem->argument_count + 1, sizeof *comparisons);
    if (!comparisons) return kf_fail_memory(error, "a comparison");
    if (device->buffers.device_compare &&
        !device->buffers.device_compare(sets, list, count, comparisons, error))
        return false;
    *passed = true;
    size_t used = 0;
    for (uint32_t k = 0; k < count; k++)
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (!is_output(argument)) continue;
            int class = class_of(variations[list[k]]);
            item *it = &items[used++];
            *it = (item){.argument = argument, .set = list[k], .variation = variations[list[k]]};
            bool ratio =
                argument->tolerance.kind == KF_ERROR_RATIO && kf_dtype_is_float(argument->dtype);
            it->sums = ratio ? &checker->baseline[i * checker->classes + class] : NULL;
            it->accumulate = baseline && ratio;
            judge_by_device_compare(
                it, &comparisons[(size_t)k * (size_t)problem->argument_count + (size_t)i]);
            if (!it->settled && !it->fails && !bring(it, sets, device, i, error)) return false;
        }
    if (checker->brief && !doubts && is_far_off(items, used)) {
        *passed = false;
        return true;
    }
    kf_parallel_for(bench->parallel, used, compare_one, items);
    if (doubts && find_doubts(bench, items, used, doubts)) return true;
    if (!find_first_failure(bench, sets, items, used, doubts, error)) return false;
    /* A certain failure may have been accepted. */
    if (doubts && find_doubts(bench, items, used, doubts)) return true;
    for (size_t n = 0; n < used; n++) {
        item *it = &items[n];
        if (!it->passed && it->error.code == KF_ERROR_MEMORY)
            return kf_fail_copy(error, &it->error);
        if (baseline) {
            if (it->accumulate) kf_error_merge(it->sums, &it->own);
            checker->known[class_of(it->variation)] = true;
            if (*passed && !check_baseline(bench, it, passed, error)) return false;
            continue;
        }
        kf_output_check *check = output_check(bench, it->argument->name);
        if (!check) return kf_fail_memory(error, "a comparison");
        if (it->fails && !it->looked) continue;
        worse(&check->figures, &it->figures, check->figures.compared == 0);
        if (it->figures.tf32 && !(doubts && may_be_doubted(it, doubts)) &&
            !kf_verdict_add_flag(bench->verdict, KF_FLAG_TF32))
            return kf_fail_memory(error, "a comparison");
        if (!it->passed) {
            /* Another output is certainly wrong, and has the finding. */
            if (doubts && may_be_doubted(it, doubts)) continue;
            if (*passed && !report_mismatch(bench, it))
                return kf_fail_memory(error, "a comparison");
            *passed = false;
        }
    }
    return true;
}

/* True if an output that was compared is wrong by more than another order of summation could be. */
static bool is_certainly_wrong(const item *it)
{
    const kf_error_figures *f = &it->figures;
    if (it->passed) return false;
    if (!it->sums) return true;
    return !(f->rms <= FAR_OFF * f->allowed_rms) || !(f->max <= FAR_OFF_MAX * f->allowed_max);
}

bool kf_checker_find_wrong(kf_checker *checker, kf_sets *sets, const kf_set_variation *variations,
                           const uint32_t *list, uint32_t count, bool *wrong, kf_error *error)
{
    kf_workbench *bench = checker->bench;
    const kf_problem *problem = bench->problem;
    const kf_device_operations *device = bench->device->operations;
    size_t arguments = (size_t)problem->argument_count;
    kf_autofree kf_device_compare *comparisons =
        calloc((size_t)count * arguments + 1, sizeof *comparisons);
    if (!comparisons) return kf_fail_memory(error, "a comparison");
    if (device->buffers.device_compare &&
        !device->buffers.device_compare(sets, list, count, comparisons, error))
        return false;
    *wrong = false;
    for (uint32_t k = 0; k < count && !*wrong; k++)
        for (int i = 0; i < problem->argument_count && !*wrong; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (!is_output(argument)) continue;
            item it = {.argument = argument, .set = list[k], .variation = variations[list[k]]};
            if (argument->tolerance.kind == KF_ERROR_RATIO && kf_dtype_is_float(argument->dtype))
                it.sums = &checker->baseline[i * checker->classes + class_of(it.variation)];
            judge_by_device_compare(&it, &comparisons[(size_t)k * arguments + (size_t)i]);
            if (!it.settled && !it.fails) {
                if (!bring(&it, sets, device, i, error)) return false;
                compare_one(&it, 0);
            }
            *wrong = is_certainly_wrong(&it);
        }
    return true;
}

bool kf_checker_damage(kf_checker *checker, const kf_damage *damage)
{
    kf_workbench *bench = checker->bench;
    const kf_problem_argument *argument = &bench->problem->arguments[damage->argument];
    double at = (double)damage->byte;
    switch (damage->kind) {
    case KF_DAMAGE_NONE: return true;
    case KF_DAMAGE_INPUT:
        return kf_verdict_add_finding(bench->verdict, bench->result, KF_CONTRACT_VIOLATION,
                                      KF_BLAME_CANDIDATE, "input.mutated", NAN, NAN,
                                      "the call changed input %s. Inputs are read-only",
                                      argument->name);
    case KF_DAMAGE_GUARD:
        return kf_verdict_add_finding(
            bench->verdict, bench->result, KF_CONTRACT_VIOLATION, KF_BLAME_CANDIDATE,
            "guard.broken", at, (double)argument->bytes,
            damage->byte < 0 ? "%s: written %lld bytes in front of its %llu bytes"
                             : "%s: written at byte %lld of %llu bytes",
            argument->name, (long long)llabs(damage->byte), (unsigned long long)argument->bytes);
    case KF_DAMAGE_UNCHOSEN:
        return kf_verdict_add_finding(bench->verdict, bench->result, KF_CHEATING,
                                      KF_BLAME_CANDIDATE, "unchosen.written", at, NAN,
                                      "%s of a buffer set that was not called was written: work "
                                      "for other calls was done in one call",
                                      argument->name);
    case KF_DAMAGE_LATE:
        return kf_verdict_add_finding(
            bench->verdict, bench->result, KF_CHEATING, KF_BLAME_CANDIDATE, "output.late", NAN, NAN,
            "%s was written after the runner had reported the end of all calls", argument->name);
    case KF_DAMAGE_UNORDERED:
        return kf_verdict_add_finding(
            bench->verdict, bench->result, KF_WRONG_RESULT, KF_BLAME_CANDIDATE, "stream.unordered",
            NAN, NAN,
            "%s was incomplete when the call's stream had passed the call: some work ended late. "
            "Let the stream wait for all work of the call, for example with cudaStreamWaitEvent",
            argument->name);
    }
    return false;
}
