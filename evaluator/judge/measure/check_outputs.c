#include "check_outputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mismatches.h"
#include "wrong_output.h"

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

/* Elements of one output of one call, at equal distances. */
#define SAMPLED 32
#define REMEMBERED 16384
typedef struct result_sample {
    int argument;
    double values[SAMPLED];
} result_sample;

struct kf_checker {
    kf_workbench *bench;
    int classes;
    kf_error_sums *baseline; /* [argument * classes + class] */
    bool *known;             /* [class] */
    bool varies;
    bool begun;
    bool brief;
    /* a called set of this workload had smaller inputs; and pairs with called sets before they are
     * known */
    bool had_small;
    int pairs;
    kf_checker_accepts *accepts;
    void *accepts_context;
    /* of the last pair: 0 if its first set could be varied */
    uint32_t phase;
    /* variations of all inputs, shuffled: those that keep the speed of a program, and the others */
    variation_list keeping, changing;
    /* earlier calls of the candidate: how many were right, and whether any wrote an output */
    int64_t right;
    bool wrote;
    /* of earlier calls; from REMEMBERED on a new one takes the place of the oldest */
    result_sample *samples;
    size_t remembered;
};

static int class_of(kf_set_variation variation)
{
    return (variation.argument + 1) * KF_VARIATION_COUNT + (int)variation.variation;
}

/* True if wrong results look inexact: an input is nearly constant, or has little effect. */
static bool hides_errors(kf_set_variation variation)
{
    return variation.argument >= 0 &&
           (variation.variation == KF_VARY_OFFSET || variation.variation == KF_VARY_SCALE_DOWN);
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
    free(checker->samples);
    free(checker);
}

void kf_checker_ask(kf_checker *checker, kf_checker_accepts *accepts, void *context)
{
    checker->accepts = accepts;
    checker->accepts_context = context;
}

/* Returns one of the variations with smaller inputs, by chance. NULL without one. */
static const kf_set_variation *small_variation(const kf_checker *checker, kf_choices *choices)
{
    const kf_set_variation *chosen = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < checker->keeping.count; i++) {
        const kf_set_variation *row = &checker->keeping.rows[i];
        if (row->variation == KF_VARY_SCALE_DOWN && kf_choices_below(choices, ++count) == 0)
            chosen = row;
    }
    return chosen;
}

/* Gives a called set smaller inputs, if no set of the first two pairs has them. Large sums have so
 * much allowance that leaving out small terms shows on them alone. */
static void scale_one_down(kf_checker *checker, kf_choices *choices, const uint32_t *order,
                           uint32_t called, kf_set_variation *variations)
{
    for (uint32_t k = 0; k < called; k++)
        checker->had_small |= variations[order[k]].variation == KF_VARY_SCALE_DOWN;
    if (++checker->pairs != 2 || checker->had_small) return;
    const kf_set_variation *small = small_variation(checker, choices);
    for (uint32_t k = 0; k < called && small; k++) {
        if (variations[order[k]].argument >= 0) continue;
        variations[order[k]] = *small;
        return;
    }
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
    /* A batch of one call needs its inputs as they are. */
    if (!known && called > 1) scale_one_down(checker, choices, order, called, variations);
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
    /* wrong or inexact: these inputs do not show which */
    bool unclear;
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

/* Leaves the figures of an output that is right although it differs. */
static void forget_figures(item *it)
{
    it->figures = (kf_error_figures){.compared = it->figures.compared,
                                     .allowed_rms = it->figures.allowed_rms,
                                     .allowed_max = it->figures.allowed_max,
                                     .first_index = -1};
}

/* Accepts indices that differ from the oracle's only where an input has ties. */
static bool accept_ties(const kf_workbench *bench, kf_sets *sets, item *it, kf_error *error)
{
    const kf_problem *problem = bench->problem;
    if (it->passed || !it->data || it->error.code || it->argument->tolerance.kind == KF_ANY_ORDER ||
        kf_dtype_is_float(it->argument->dtype))
        return true;
    kf_indexed inputs[KF_MAX_ARGUMENTS];
    int count = 0;
    bool ranked = false;
    for (int i = 0; i < problem->argument_count && !ranked; i++)
        ranked = problem->arguments[i].kind == KF_INPUT &&
                 kf_dtype_is_float(problem->arguments[i].dtype) &&
                 kf_may_be_indexed(it->argument, &problem->arguments[i]);
    for (int i = 0; i < problem->argument_count && ranked; i++) {
        const kf_problem_argument *input = &problem->arguments[i];
        if (input->kind != KF_INPUT || !kf_may_be_indexed(it->argument, input)) continue;
        inputs[count] =
            (kf_indexed){input, bench->device->operations->buffers.input(sets, it->set, i, error)};
        if (!inputs[count++].data) return false;
    }
    it->passed = kf_indices_agree(it->argument, it->data, it->truth, inputs, count);
    if (it->passed) forget_figures(it);
    return true;
}

/* Asks the task's own check about each set with an output that is wrong so far. The items of a set
 * follow each other. */
static bool accept_by_check(const kf_checker *checker, item *items, size_t used, kf_error *error)
{
    for (size_t first = 0, end; first < used && checker->accepts; first = end) {
        bool wrong = false, accepted = false;
        for (end = first; end < used && items[end].set == items[first].set; end++)
            wrong |= !items[end].passed;
        if (wrong &&
            !checker->accepts(checker->accepts_context, items[first].set, &accepted, error))
            return false;
        for (size_t n = first; n < end && accepted; n++) {
            if (items[n].passed) continue;
            items[n].passed = true;
            items[n].fails = false;
            items[n].error = (kf_error){0};
            forget_figures(&items[n]);
        }
    }
    return true;
}

static bool bring(item *it, kf_sets *sets, const kf_device_operations *device, int argument,
                  kf_error *error)
{
    it->looked = true;
    it->data = device->buffers.output(sets, it->set, argument, error);
    it->truth = it->data ? device->buffers.truth(sets, it->set, argument, error) : NULL;
    return it->truth != NULL;
}

/* Adds the figures of one set. `described`: the finding is about this set, so the place is its. */
static void worse(kf_error_figures *all, const kf_error_figures *one, bool first, bool described)
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
    const kf_error_figures *place = described ? one : all;
    if (place->mismatched) {
        sum.first_index = place->first_index;
        sum.first_expected = place->first_expected;
        sum.first_got = place->first_got;
        memcpy(sum.pattern, place->pattern, sizeof sum.pattern);
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

/* ---- why an output is wrong ------------------------------------------------------------------ */

static double element_of(const kf_problem_argument *argument, const void *data, bool truth,
                         int64_t index)
{
    if (truth && kf_dtype_is_float(argument->dtype)) return ((const double *)data)[index];
    return kf_dtype_load(argument->dtype,
                         (const char *)data + (size_t)index * kf_dtype_size(argument->dtype));
}

static void take_sample(const kf_problem_argument *argument, const void *data, bool truth,
                        double values[SAMPLED])
{
    for (int i = 0; i < SAMPLED; i++)
        values[i] = argument->elements
                        ? element_of(argument, data, truth,
                                     (int64_t)((double)argument->elements * i / SAMPLED))
                        : 0;
}

/* Remembers the result of a call: its truth, or what the candidate wrote. Without memory, nothing.
 */
static void remember(kf_checker *checker, const kf_problem_argument *argument, const void *data,
                     bool truth)
{
    if (!data) return;
    if (!checker->samples) checker->samples = calloc(REMEMBERED, sizeof *checker->samples);
    if (!checker->samples) return;
    result_sample *sample = &checker->samples[checker->remembered++ % REMEMBERED];
    sample->argument = (int)(argument - checker->bench->problem->arguments);
    take_sample(argument, data, truth, sample->values);
}

/* True if two samples are one result: equal to an 8th of a bf16 rounding, or all but equal where
 * few numbers could agree by chance. */
static bool is_same_result(const kf_problem_argument *argument, const double *a, const double *b)
{
    double distance = 0, scale = 0;
    for (int i = 0; i < SAMPLED; i++) {
        distance = fmax(distance, fabs(a[i] - b[i]));
        scale = fmax(scale, fabs(b[i]));
        if (isnan(a[i]) || isnan(b[i])) return false;
    }
    bool exact = !kf_dtype_is_float(argument->dtype);
    double slack = exact ? 0 : argument->elements >= 8 ? 0x1p-7 : 0x1p-20;
    return scale > 0 && distance <= slack * scale;
}

/* True if an output is the right result of another call, and not nearly right for this one. */
static bool is_stale(const kf_checker *checker, const item *it)
{
    size_t count = checker->remembered < REMEMBERED ? checker->remembered : REMEMBERED;
    double got[SAMPLED], truth[SAMPLED];
    take_sample(it->argument, it->data, false, got);
    take_sample(it->argument, it->truth, true, truth);
    if (is_same_result(it->argument, got, truth)) return false;
    for (size_t i = 0; i < count; i++) {
        const result_sample *sample = &checker->samples[i];
        if (&checker->bench->problem->arguments[sample->argument] == it->argument &&
            is_same_result(it->argument, got, sample->values))
            return true;
    }
    return false;
}

/* True if the judge knows what an output held before the call. */
static bool has_poison(const kf_checker *checker, const kf_problem_argument *argument)
{
    const kf_workbench *bench = checker->bench;
    return argument->kind == KF_OUTPUT && bench->device->operations->buffers.poison_read &&
           !kf_runner_is_python(bench->kinds[KF_ROLE_CANDIDATE]);
}

#define EXAMINED_BYTES 32768
static kf_wrong_output examine(const kf_checker *checker, kf_sets *sets, const item *it)
{
    double allowed = it->figures.allowed_max;
    const kf_problem_argument *argument = it->argument;
    kf_wrong_output w = {.allowed = isfinite(allowed) ? allowed : 0,
                         .columns = argument->dims > 1 ? argument->shape[argument->dims - 1] : 0};
    size_t size = kf_dtype_size(argument->dtype),
           truth_size = kf_dtype_is_float(argument->dtype) ? sizeof(double) : size;
    bool known = has_poison(checker, argument);
    uint64_t before[EXAMINED_BYTES / 8];
    for (int64_t first = 0; first < argument->elements;) {
        int64_t count = argument->elements - first, most = (int64_t)(EXAMINED_BYTES / size);
        if (count > most) count = most;
        const char *got = (const char *)it->data + (size_t)first * size;
        if (known)
            checker->bench->device->operations->buffers.poison_read(
                sets, it->set, (int)(argument - checker->bench->problem->arguments),
                (uint64_t)first * size, (uint64_t)count * size, before);
        kf_wrong_output_add(&w, argument->dtype, got,
                            (const char *)it->truth + (size_t)first * truth_size,
                            known ? (const void *)before : NULL, count);
        first += count;
    }
    return w;
}

void kf_checker_note_written(kf_checker *checker, kf_sets *sets, uint32_t count)
{
    const kf_workbench *bench = checker->bench;
    const kf_device_operations *device = bench->device->operations;
    for (int i = 0; i < bench->problem->argument_count; i++) {
        const kf_problem_argument *argument = &bench->problem->arguments[i];
        /* A copy from a device takes time. */
        bool small = !device->buffers.device_compare || argument->bytes <= EXAMINED_BYTES;
        if (!has_poison(checker, argument) || !small) continue;
        for (uint32_t set = 0; set < count; set++) {
            uint64_t bytes = argument->bytes < 64 ? argument->bytes : 64, before[8];
            const void *data = device->buffers.output(sets, set, i, NULL);
            if (!data) return;
            device->buffers.poison_read(sets, set, i, 0, bytes, before);
            if (memcmp(before, data, bytes) == 0) continue;
            checker->wrote = true;
            remember(checker, argument, data, false);
        }
    }
}

/* Returns the rule of what looks like a cheat, or NULL. An honest mistake can look like it: a
 * launch that fails writes nothing. So a call that writes its outputs in part is not suspected. */
static const char *suspicion(const kf_checker *checker, kf_sets *sets, const item *items,
                             size_t used, const item *it, const kf_wrong_output *w)
{
    bool unwritten = has_poison(checker, it->argument) && kf_is_unwritten(w);
    for (size_t n = 0; n < used && unwritten; n++) {
        const item *other = &items[n];
        if (other->set != it->set || other == it) continue;
        kf_wrong_output of_other = {0};
        if (!other->passed && other->data) of_other = examine(checker, sets, other);
        unwritten = !other->passed && (!other->data || kf_is_unwritten(&of_other));
    }
    if (unwritten)
        return checker->right || checker->wrote ? "state.skips_work" : "output.unwritten";
    if (is_stale(checker, it)) return "state.stale_output";
    return kf_is_constant(w) ? "output.constant" : NULL;
}

/* Returns what the size of an error, that no fit explains, says about the formula, or "". */
static const char *find_cause(const item *it)
{
    if (it->unclear) return ". The formula is wrong, or bits are missing";
    return it->figures.inaccurate
               ? ". The error is small: bits are missing, or a constant is slightly off"
               : "";
}

/* Returns what to try, or "". */
static const char *find_remedy(const item *it)
{
    bool larger = it->variation.argument >= 0 && (it->variation.variation == KF_VARY_SCALE_UP ||
                                                  it->variation.variation == KF_VARY_OFFSET ||
                                                  it->variation.variation == KF_VARY_OUTLIER);
    if (it->figures.inaccurate || it->unclear) {
        switch (it->argument->tf32 ? KF_TF32 : it->argument->dtype) {
        case KF_F64: return ". Compute in f64";
        case KF_F32:
            return ". f32 products and f32 sums of like terms in any order pass; tf32 and f16 keep "
                   "10 bits of an operand, bf16 keeps 7. Keep operands and intermediate results in "
                   "f32, add long sums in pieces or in double, since a long sum in sequence loses "
                   "small terms, and check constants like an epsilon";
        case KF_TF32:
            return ". Operands in tf32 (10 bits) with f32 sums pass, bf16 (7 bits) does not";
        default:
            return ". Sums in f32 that are rounded once at the end pass; sums in a 16-bit type do "
                   "not";
        }
    }
    if (isinf(it->figures.max) && larger) return KF_OVERFLOW_REMEDY;
    return "";
}

/* Replaces "random values" in the pattern if it is known what the wrong elements hold. */
static bool note_old_values(kf_error_figures *f, const kf_wrong_output *w)
{
    bool added = kf_is_added_to(w);
    if (!added && w->unwritten < f->mismatched) return false;
    char *end = strrchr(f->pattern, ',');
    bool place = !end || strncmp(end, ", columns", 9) == 0 || strncmp(end, ", like", 6) == 0;
    size_t length = place ? strlen(f->pattern) : (size_t)(end - f->pattern);
    snprintf(f->pattern + length, sizeof f->pattern - length, "%s",
             added ? KF_PATTERN_ADDED : KF_PATTERN_UNWRITTEN);
    return true;
}

/* Writes the relation of all elements to the expected ones as the pattern, which says more than the
 * places of those beyond the limit. False without one. */
static bool note_relation(kf_error_figures *f, const kf_wrong_output *w)
{
    char relation[48];
    if (!kf_wrong_output_relation(w, relation, sizeof relation)) return false;
    snprintf(f->pattern, sizeof f->pattern, "everywhere, %s", relation);
    return true;
}

/* Writes "y[3][1000]", or the rank in an output without an order. */
static void word_place(const kf_problem_argument *argument, int64_t index, kf_buffer *text)
{
    if (argument->tolerance.kind == KF_ANY_ORDER || argument->dims < 1) {
        kf_buffer_format(text, "%lld", (long long)index);
        return;
    }
    int64_t inner = argument->elements;
    kf_buffer_string(text, argument->name);
    for (int d = 0; d < argument->dims; d++) {
        inner /= argument->shape[d];
        kf_buffer_format(text, "[%lld]", (long long)(index / inner));
        index %= inner;
    }
}

/* Writes two more of the wrong elements. */
static void word_samples(const item *it, kf_buffer *text)
{
    const kf_error_figures *f = &it->figures;
    const int64_t indices[] = {f->middle_index, f->last_index};
    int64_t before = f->first_index;
    if (it->argument->tolerance.kind == KF_ANY_ORDER) return;
    for (int i = 0; i < 2; i++) {
        if (indices[i] <= before) continue;
        before = indices[i];
        kf_buffer_string(text, ", ");
        word_place(it->argument, before, text);
        kf_buffer_format(text, ": expected %.9g, got %.9g",
                         element_of(it->argument, it->truth, true, before),
                         element_of(it->argument, it->data, false, before));
    }
}

static bool report_mismatch(kf_checker *checker, kf_sets *sets, const item *items, size_t used,
                            item *it)
{
    kf_workbench *bench = checker->bench;
    kf_error_figures *f = &it->figures;
    char varied[128];
    kf_autobuffer text = {0};
    kf_wrong_output w = examine(checker, sets, it);
    const char *suspected =
        f->inaccurate || it->unclear ? NULL : suspicion(checker, sets, items, used, it, &w);
    /* An inexact element is near the expected value, so nothing was added to it. */
    bool known = has_poison(checker, it->argument) && !f->inaccurate && note_old_values(f, &w),
         related = !known && !suspected && note_relation(f, &w);
    describe_variation(bench->problem, it->variation, varied, sizeof varied);
    kf_buffer_format(&text, "%s: %lld of %lld elements %s in one set of inputs%s, first at ",
                     it->argument->name, (long long)f->mismatched, (long long)f->compared,
                     f->inaccurate ? "too inexact" : "wrong", varied);
    word_place(it->argument, f->first_index, &text);
    kf_buffer_format(&text, ": expected %.9g, got %.9g", f->first_expected, f->first_got);
    word_samples(it, &text);
    if (f->pattern[0]) kf_buffer_format(&text, ", pattern: %s", f->pattern);
    if (it->argument->tolerance.kind == KF_ERROR_RATIO)
        kf_buffer_format(&text, "; RMS error %.3g, allowed %.3g; maximum %.3g, allowed %.3g",
                         f->rms, f->allowed_rms, f->max, f->allowed_max);
    const char *cause = known || related ? kf_mismatch_cause(f->pattern, f->inaccurate) : NULL;
    if (cause)
        kf_buffer_format(&text, ". %.*s", (int)strlen(cause) - 1, cause);
    else
        kf_buffer_format(&text, "%s%s", find_cause(it), find_remedy(it));
    kf_autofree char *words = kf_buffer_take(&text);
    if (!words ||
        (suspected && !kf_verdict_add_flag(bench->verdict, KF_FLAG_SUSPECTED "%s", suspected)))
        return false;
    return kf_verdict_add_finding(bench->verdict, bench->result, KF_WRONG_RESULT,
                                  KF_BLAME_CANDIDATE,
                                  f->inaccurate ? "output.inaccurate" : "output.mismatch", f->max,
                                  f->allowed_max, "%s", words) != NULL;
}

/* Checks the baseline, because its error is the candidate's tolerance. Only the size of that error
 * can show that it is wrong: a tenth of the output's RMS, or in one element a quarter of the
 * largest value. Rounding to f8e5m2 is an eighth, also of the RMS of few elements. */
#define FAR_RMS 0.1
#define FAR_MAX 0.25
static bool check_baseline(kf_workbench *bench, const item *it, bool *passed, kf_error *error)
{
    double scale = it->own.count ? sqrt(it->own.scale_square / (double)it->own.count) : 0;
    double far_rms = fmax(FAR_RMS, 1.25 * kf_dtype_roundoff(it->argument->dtype));
    bool far_off =
        it->accumulate && it->variation.argument < 0 && scale > 0 &&
        (kf_error_rms(&it->own) > far_rms * scale || it->own.max > FAR_MAX * it->own.scale_max);
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

kf_error_sums *kf_checker_sums(kf_checker *checker, int argument, kf_set_variation variation)
{
    const kf_problem_argument *a = &checker->bench->problem->arguments[argument];
    bool ratio = is_output(a) && a->tolerance.kind == KF_ERROR_RATIO && kf_dtype_is_float(a->dtype);
    return ratio ? &checker->baseline[argument * checker->classes + class_of(variation)] : NULL;
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
 * it, for its last bits. Then the next one follows. Outputs that are just inexact come last. */
static bool find_first_failure(const kf_workbench *bench, kf_sets *sets, item *items, size_t used,
                               const kf_doubts *doubts, kf_error *error)
{
    for (size_t n = 0; n < 2 * used; n++) {
        item *it = &items[n % used];
        if (!it->fails || (doubts && may_be_doubted(it, doubts))) continue;
        if (n < used && (it->figures.inaccurate || hides_errors(it->variation))) continue;
        if (!bring(it, sets, bench->device->operations,
                   (int)(it->argument - bench->problem->arguments), error))
            return false;
        it->fails = false;
        compare_one(it, 0);
        if (!it->passed) return true;
    }
    return true;
}

/* Returns the failed output that the finding describes: one that is wrong rather than inexact. */
static item *choose_failure(item *items, size_t used, const kf_doubts *doubts)
{
    item *chosen = NULL;
    int least = 0;
    for (size_t n = 0; n < used; n++) {
        item *it = &items[n];
        if (it->passed || !it->data || (doubts && may_be_doubted(it, doubts))) continue;
        /* The relation to the expected values shows best on inputs that are not varied. */
        int rank = hides_errors(it->variation) ? 3
                   : it->figures.inaccurate    ? 1 + (it->variation.argument >= 0)
                                               : 0;
        if (!chosen || rank < least) chosen = it, least = rank;
    }
    if (chosen && hides_errors(chosen->variation) && chosen->figures.inaccurate) {
        chosen->figures.inaccurate = false;
        chosen->unclear = true;
    }
    return chosen;
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
            item *it = &items[used++];
            *it = (item){.argument = argument, .set = list[k], .variation = variations[list[k]]};
            it->sums = kf_checker_sums(checker, i, variations[list[k]]);
            it->accumulate = baseline && it->sums;
            judge_by_device_compare(
                it, &comparisons[(size_t)k * (size_t)problem->argument_count + (size_t)i]);
            if (!it->settled && !it->fails && !bring(it, sets, device, i, error)) return false;
        }
    if (checker->brief && !checker->accepts && !doubts && is_far_off(items, used)) {
        *passed = false;
        return true;
    }
    kf_parallel_for(bench->parallel, used, compare_one, items);
    for (size_t n = 0; n < used; n++)
        if (!accept_ties(bench, sets, &items[n], error)) return false;
    if (!accept_by_check(checker, items, used, error)) return false;
    if (doubts && find_doubts(bench, items, used, doubts)) return true;
    if (!find_first_failure(bench, sets, items, used, doubts, error)) return false;
    /* A certain failure may have been accepted. */
    if (doubts && find_doubts(bench, items, used, doubts)) return true;
    item *failure = baseline ? NULL : choose_failure(items, used, doubts);
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
        if (it == failure && !report_mismatch(checker, sets, items, used, it))
            return kf_fail_memory(error, "a comparison");
        worse(&check->figures, &it->figures, check->figures.compared == 0, it == failure);
        if (it->figures.tf32 && !(doubts && may_be_doubted(it, doubts)) &&
            !kf_verdict_add_flag(bench->verdict, KF_FLAG_TF32))
            return kf_fail_memory(error, "a comparison");
        if (!it->passed) {
            /* Another output is certainly wrong, and has the finding. */
            if (doubts && may_be_doubted(it, doubts)) continue;
            *passed = false;
        }
        checker->right += it->passed;
        remember(checker, it->argument, it->truth, true);
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
    for (uint32_t k = 0; k < count && !*wrong; k++) {
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
                if (!accept_ties(bench, sets, &it, error)) return false;
            }
            *wrong = is_certainly_wrong(&it);
        }
        bool accepted = false;
        if (*wrong && checker->accepts &&
            !checker->accepts(checker->accepts_context, list[k], &accepted, error))
            return false;
        *wrong = *wrong && !accepted;
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
