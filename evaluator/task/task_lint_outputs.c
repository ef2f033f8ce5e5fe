/* Finds degenerate tasks by the outputs of their oracle (kforge/lint.h).
 *
 * The first check for each shortcut: does it pass the task's own tolerance in every case? It uses
 * the formulas of the comparison in double, without the errors of long sums. A shortcut that passes
 * is an error. Thresholds on the deviation then find tasks that are close to one. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/compare.h"
#include "kforge/lint.h"
#include "kforge/stats.h"
#include "task_internal.h"

typedef struct kf_outputs_lint {
    const kf_lint_case *cases;
    size_t count;
    /* the output under examination */
    int argument;
    const kf_problem_argument *shape;
    /* room for the largest output */
    double *scratch[2];
    kf_lint_report *report;
    void *context;
    int errors;
} kf_outputs_lint;

__attribute__((format(printf, 5, 6))) static void say(kf_outputs_lint *lint,
                                                      kf_lint_severity severity, const char *rule,
                                                      const char *advice, const char *format, ...)
{
    char text[512], path[KF_NAME_BYTES + 32];
    snprintf(path, sizeof path, "arguments[%d] (%s)", lint->argument,
             lint->cases->problem->arguments[lint->argument].name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (severity == KF_LINT_ERROR) lint->errors++;
    lint->report(
        lint->context,
        &(kf_lint_finding){
            .severity = severity, .rule = rule, .path = path, .text = text, .advice = advice});
}

/* ---- would it pass? -------------------------------------------------------------------------- */

static double rounded(kf_dtype dtype, double value)
{
    _Alignas(8) unsigned char element[8] = {0};
    kf_dtype_store(dtype, element, value);
    return kf_dtype_load(dtype, element);
}

/* True for NaN and NaN, and for equal infinities. */
static bool same_nonfinite(double got, double expected)
{
    return isnan(expected) ? isnan(got) : got == expected;
}

/* Returns the errors of `got`, over elements that are finite in both, and the scale of the expected
 * ones. */
static kf_error_sums errors_of(const double *got, const double *expected, int64_t elements)
{
    kf_error_sums sums = KF_NO_ERRORS;
    for (int64_t i = 0; i < elements; i++) {
        if (!isfinite(expected[i]) || !isfinite(got[i])) {
            sums.nonfinite += !same_nonfinite(got[i], expected[i]);
            continue;
        }
        double error = fabs(got[i] - expected[i]), scale = fabs(expected[i]);
        sums.sum_square += error * error;
        sums.max = fmax(sums.max, error);
        sums.scale_square += scale * scale;
        sums.scale_max = fmax(sums.scale_max, scale);
        sums.count++;
    }
    return sums;
}

static double scale_of(const double *expected, int64_t elements)
{
    kf_error_sums sums = errors_of(expected, expected, elements);
    return sums.count ? sqrt(sums.scale_square / (double)sums.count) : 0;
}

/* Without a baseline its error is one rounding of the scale. */
static bool passes_error_ratio(const kf_problem_argument *argument, const double *got,
                               const double *expected, const double *baseline)
{
    double rms, max, roundoff = kf_dtype_roundoff(argument->dtype);
    kf_error_sums error = errors_of(got, expected, argument->elements),
                  own = errors_of(baseline ? baseline : expected, expected, argument->elements);
    if (!baseline) {
        own.sum_square = roundoff * roundoff * own.scale_square;
        own.max = roundoff * own.scale_max;
    }
    kf_error_limits(argument, &error, &own, &rms, &max);
    return !error.nonfinite && kf_error_rms(&error) <= rms && error.max <= max;
}

static bool passes_elementwise(const kf_problem_argument *argument, const double *got,
                               const double *expected)
{
    bool exact = argument->tolerance.kind == KF_EXACT;
    for (int64_t i = 0; i < argument->elements; i++) {
        double want = exact ? rounded(argument->dtype, expected[i]) : expected[i];
        double have = rounded(argument->dtype, got[i]);
        if (!isfinite(want) || !isfinite(have) || exact) {
            if (!same_nonfinite(have, want)) return false;
        } else if (!(fabs(have - want) <=
                     argument->tolerance.atol + argument->tolerance.rtol * fabs(want))) {
            return false;
        }
    }
    return true;
}

static bool passes_any_order(kf_outputs_lint *lint, const double *got, const double *expected)
{
    int64_t elements = lint->shape->elements;
    const double *const from[2] = {got, expected};
    double *sorted[2];
    for (int k = 0; k < 2; k++) {
        sorted[k] = lint->scratch[k];
        for (int64_t i = 0; i < elements; i++)
            sorted[k][i] = rounded(lint->shape->dtype, from[k][i]);
        qsort(sorted[k], (size_t)elements, sizeof *sorted[k], kf_compare_doubles);
    }
    for (int64_t i = 0; i < elements; i++)
        if (!same_nonfinite(sorted[0][i], sorted[1][i])) return false;
    return true;
}

/* `got` may be scratch[0]. */
static bool passes(kf_outputs_lint *lint, const kf_lint_case *of, const double *got)
{
    const double *expected = of->expected[lint->argument];
    switch (lint->shape->tolerance.kind) {
    case KF_ERROR_RATIO:
        return passes_error_ratio(lint->shape, got, expected,
                                  of->baseline ? of->baseline[lint->argument] : NULL);
    case KF_ANY_ORDER: return passes_any_order(lint, got, expected);
    case KF_ALLCLOSE:
    case KF_EXACT: break;
    }
    return passes_elementwise(lint->shape, got, expected);
}

/* ---- the baseline -------------------------------------------------------------------------------
 *
 * With error_ratio the tolerance is made from the baseline's error, so a wrong baseline or oracle
 * passes any comparison. Two rules find it. Its error is too large for rounding in any algorithm
 * that is worth a task. Or a factor and an offset explain almost all of its error, which rounding
 * never looks like: its signs differ from element to element. */

/* Largest RMS error, in terms of the output's RMS and in roundoffs of its type. */
#define BASELINE_ERROR 0.01
#define BASELINE_ROUNDOFFS 16
/* Largest error of an element, in terms of the element or the output's RMS. */
#define ELEMENT_ERROR 0.1
#define ELEMENT_ROUNDOFFS 64
/* A fit counts from this many roundoffs on, if it leaves this part of the error. Few elements are
 * fitted by chance. */
#define FIT_ROUNDOFFS 64
#define FIT_ROUNDOFFS_OF_FEW 1024
#define FIT_LEAVES 0.1
#define FIT_FEW 16

typedef struct kf_baseline_fit {
    /* error = offset + slope * expected, by least squares */
    double slope, offset;
    /* RMS of the error, of what the fit leaves, and of the expected values */
    double error, left, scale;
    int64_t count;
} kf_baseline_fit;

/* Fits the error of the baseline over all cases, from elements that are finite on both sides. */
static kf_baseline_fit fit_baseline(const kf_outputs_lint *lint)
{
    double n = 0, x = 0, e = 0, xx = 0, xe = 0, ee = 0;
    for (size_t c = 0; c < lint->count; c++) {
        const double *expected = lint->cases[c].expected[lint->argument],
                     *got = lint->cases[c].baseline[lint->argument];
        for (int64_t i = 0; i < lint->shape->elements; i++) {
            if (!isfinite(expected[i]) || !isfinite(got[i])) continue;
            double error = got[i] - expected[i];
            n += 1, x += expected[i], e += error;
            xx += expected[i] * expected[i], xe += expected[i] * error, ee += error * error;
        }
    }
    kf_baseline_fit fit = {.count = (int64_t)n};
    if (n < 1) return fit;
    double variance = xx - x * x / n;
    /* An offset needs elements that differ. */
    bool both = n >= FIT_FEW && variance > 1e-6 * xx;
    fit.slope = both ? (xe - x * e / n) / variance : xx > 0 ? xe / xx : 0;
    fit.offset = both ? (e - fit.slope * x) / n : 0;
    double left = ee - fit.slope * xe - fit.offset * e;
    fit.error = sqrt(ee / n);
    fit.left = sqrt(fmax(left, 0) / n);
    fit.scale = sqrt(xx / n);
    return fit;
}

/* Returns the first element that is beyond the task's own tolerance, or beyond any rounding with
 * error_ratio; -1 if all are within. */
static int64_t first_wrong(kf_outputs_lint *lint, const double *expected, const double *got,
                           double roundoff)
{
    kf_problem_argument one = *lint->shape;
    one.elements = 1;
    bool ratio = one.tolerance.kind == KF_ERROR_RATIO;
    double scale = scale_of(expected, lint->shape->elements),
           most = fmax(ELEMENT_ERROR, ELEMENT_ROUNDOFFS * roundoff);
    for (int64_t i = 0; i < lint->shape->elements; i++) {
        bool finite = isfinite(expected[i]) && isfinite(got[i]);
        bool fits = !ratio   ? passes_elementwise(&one, got + i, expected + i)
                    : finite ? fabs(got[i] - expected[i]) <= most * fmax(fabs(expected[i]), scale)
                             : same_nonfinite(got[i], rounded(lint->shape->dtype, expected[i]));
        if (!fits) return i;
    }
    return -1;
}

/* Reports the first element that is wrong in a case. False if there is one. */
static bool check_baseline_elements(kf_outputs_lint *lint, double roundoff)
{
    for (size_t c = 0; c < lint->count; c++) {
        const double *expected = lint->cases[c].expected[lint->argument],
                     *got = lint->cases[c].baseline[lint->argument];
        int64_t at = 0;
        if (lint->shape->tolerance.kind == KF_ANY_ORDER) {
            if (passes(lint, &lint->cases[c], got)) continue;
        } else if ((at = first_wrong(lint, expected, got, roundoff)) < 0) {
            continue;
        }
        say(lint, KF_LINT_ERROR, "baseline.disagrees", "mend one of them",
            "in workload \"%s\" the baseline disagrees with the oracle, at element %lld: the "
            "oracle "
            "has %.9g, the baseline %.9g",
            lint->cases->problem->workload, (long long)at, expected[at], got[at]);
        return false;
    }
    return true;
}

/* False if the baseline and the oracle compute different things. Other findings mean nothing then.
 */
static bool check_baseline(kf_outputs_lint *lint)
{
    for (size_t c = 0; c < lint->count; c++)
        if (!lint->cases[c].baseline) return true;
    /* Processors cut factors to tf32 instead of rounding them. */
    double roundoff = lint->shape->tf32 ? 0x1p-10 : kf_dtype_roundoff(lint->shape->dtype);
    if (!check_baseline_elements(lint, roundoff)) return false;
    if (lint->shape->tolerance.kind != KF_ERROR_RATIO) return true;
    const char *workload = lint->cases->problem->workload;
    kf_baseline_fit fit = fit_baseline(lint);
    if (fit.error > fmax(BASELINE_ERROR, BASELINE_ROUNDOFFS * roundoff) * fit.scale) {
        say(lint, KF_LINT_ERROR, "baseline.disagrees", "mend one of them",
            "in workload \"%s\" the baseline disagrees with the oracle: its error is %.3g RMS "
            "where "
            "values are %.3g RMS",
            workload, fit.error, fit.scale);
        return false;
    }
    double least = fit.count < FIT_FEW ? FIT_ROUNDOFFS_OF_FEW : FIT_ROUNDOFFS;
    if (fit.count < 3 || fit.error <= least * roundoff * fit.scale ||
        fit.left > FIT_LEAVES * fit.error)
        return true;
    say(lint, KF_LINT_ERROR, "baseline.disagrees", "mend one of them",
        "in workload \"%s\" the baseline disagrees with the oracle: it is %.6g times the oracle, "
        "plus %.3g, which is no rounding",
        workload, 1 + fit.slope, fit.offset);
    return false;
}

/* ---- shortcuts ------------------------------------------------------------------------------- */

static bool constant_passes(kf_outputs_lint *lint, double constant)
{
    for (size_t c = 0; c < lint->count; c++) {
        for (int64_t i = 0; i < lint->shape->elements; i++) lint->scratch[0][i] = constant;
        if (!passes(lint, &lint->cases[c], lint->scratch[0])) return false;
    }
    return true;
}

static double mean_of_all(const kf_outputs_lint *lint)
{
    double sum = 0, count = 0;
    for (size_t c = 0; c < lint->count; c++)
        for (int64_t i = 0; i < lint->shape->elements; i++) {
            double value = lint->cases[c].expected[lint->argument][i];
            if (!isfinite(value)) continue;
            sum += value;
            count++;
        }
    return count > 0 ? sum / count : 0;
}

/* False when one passes: then all that follows passes as well and need not be said. */
static bool check_constants(kf_outputs_lint *lint)
{
    double mean = mean_of_all(lint);
    if (constant_passes(lint, 0)) {
        say(lint, KF_LINT_ERROR, "output.zeros",
            "tighten the tolerance, or choose inputs that give larger outputs",
            "an output of zeros would pass");
        return false;
    }
    if (constant_passes(lint, mean)) {
        say(lint, KF_LINT_ERROR, "output.mean",
            "tighten the tolerance, or choose inputs that make the output vary",
            "an output that is %g everywhere, the mean, would pass", mean);
        return false;
    }
    return true;
}

static void check_copies(kf_outputs_lint *lint)
{
    const kf_problem *problem = lint->cases->problem;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *input = &problem->arguments[i];
        if ((input->kind != KF_INPUT && input->kind != KF_INOUT) ||
            input->elements != lint->shape->elements)
            continue;
        bool all = true;
        for (size_t c = 0; all && c < lint->count; c++)
            all = passes(lint, &lint->cases[c], lint->cases[c].given[i]);
        if (all && i == lint->argument)
            say(lint, KF_LINT_ERROR, "output.untouched",
                "choose inputs that make the result differ from what is there already",
                "leaving it untouched would pass");
        else if (all)
            say(lint, KF_LINT_ERROR, "output.copy",
                "choose inputs for which the computation matters",
                "a copy of the input \"%s\" would pass", input->name);
    }
}

static int independent_cases(const kf_outputs_lint *lint)
{
    int count = 0;
    for (size_t c = 0; c < lint->count; c++) count += lint->cases[c].base < 0;
    return count;
}

/* Element by element, the mean over cases is the best table of the answer that a candidate could
 * carry along. */
static void check_seeds(kf_outputs_lint *lint)
{
    int cases = independent_cases(lint);
    if (cases < 2) return;
    double *mean = lint->scratch[0], sum_square = 0, scale_square = 0;
    for (int64_t i = 0; i < lint->shape->elements; i++) {
        double sum = 0, square = 0;
        for (size_t c = 0; c < lint->count; c++)
            if (lint->cases[c].base < 0) sum += lint->cases[c].expected[lint->argument][i];
        mean[i] = sum / cases;
        for (size_t c = 0; c < lint->count; c++) {
            double value = lint->cases[c].expected[lint->argument][i];
            if (lint->cases[c].base >= 0 || !isfinite(value) || !isfinite(mean[i])) continue;
            square += (value - mean[i]) * (value - mean[i]);
            scale_square += value * value;
        }
        sum_square += square;
    }
    double elements = (double)lint->shape->elements * cases, spread = sqrt(sum_square / elements),
           scale = sqrt(scale_square / elements);
    bool any_order = lint->shape->tolerance.kind == KF_ANY_ORDER, all = !any_order;
    bool exact = lint->shape->tolerance.kind == KF_EXACT;
    for (size_t c = 0; all && c < lint->count; c++)
        if (lint->cases[c].base < 0) all = passes(lint, &lint->cases[c], mean);
    bool absolute = lint->shape->tolerance.kind == KF_ALLCLOSE;
    if (all)
        say(lint, KF_LINT_ERROR, "output.same_for_all_inputs",
            "choose inputs that matter: a table of the answer would pass",
            "it is the same for all inputs, within the tolerance");
    else if (!exact && spread < KF_LINT_DEVIATION * (absolute ? 1 : scale))
        say(lint, absolute ? KF_LINT_ERROR : KF_LINT_WARNING, "output.deviation_over_inputs",
            "choose inputs that make the output vary more",
            "its standard deviation over inputs is %.3g at a scale of %.3g", spread, scale);
}

/* Puts the mean of every line along `axis` in its place; returns the RMS of the deviation from it.
 */
static double flatten(const double *expected, const kf_problem_argument *shape, int axis,
                      double *flat)
{
    int64_t inner = 1, extent = shape->shape[axis];
    for (int d = axis + 1; d < shape->dims; d++) inner *= shape->shape[d];
    double square = 0;
    for (int64_t outer = 0; outer < shape->elements; outer += extent * inner)
        for (int64_t i = outer; i < outer + inner; i++) {
            double sum = 0;
            for (int64_t k = 0; k < extent; k++) sum += expected[i + k * inner];
            double mean = sum / (double)extent;
            for (int64_t k = 0; k < extent; k++) {
                double distance = expected[i + k * inner] - mean;
                if (isfinite(distance)) square += distance * distance;
                flat[i + k * inner] = mean;
            }
        }
    return sqrt(square / (double)shape->elements);
}

static void check_axes(kf_outputs_lint *lint)
{
    if (lint->shape->tolerance.kind == KF_ANY_ORDER) return;
    bool absolute = lint->shape->tolerance.kind == KF_ALLCLOSE;
    for (int axis = 0; axis < lint->shape->dims; axis++) {
        if (lint->shape->shape[axis] < 2) continue;
        bool all = true, close = true;
        double worst = 0;
        for (size_t c = 0; c < lint->count; c++) {
            const double *expected = lint->cases[c].expected[lint->argument];
            double spread = flatten(expected, lint->shape, axis, lint->scratch[0]);
            double scale = scale_of(expected, lint->shape->elements);
            close &= spread < KF_LINT_DEVIATION * (absolute ? 1 : scale);
            all = all && passes(lint, &lint->cases[c], lint->scratch[0]);
            if (spread > worst) worst = spread;
        }
        if (all)
            say(lint, KF_LINT_ERROR, "output.same_along_axis",
                "choose inputs that make the output vary, or leave the axis out",
                "it is the same along axis %d, within the tolerance", axis);
        else if (close && lint->shape->tolerance.kind != KF_EXACT)
            say(lint, absolute ? KF_LINT_ERROR : KF_LINT_WARNING, "output.deviation_along_axis",
                "choose inputs that make the output vary more",
                "its standard deviation along axis %d is at most %.3g", axis, worst);
    }
}

/* ---- range ----------------------------------------------------------------------------------- */

/* False if the oracle has values that are not finite and should be. */
static bool check_range(kf_outputs_lint *lint)
{
    const kf_problem *problem = lint->cases->problem;
    bool declared = false;
    for (int i = 0; i < problem->argument_count; i++)
        declared |= problem->arguments[i].distribution.nonfinite;
    int64_t nonfinite = 0, overflow = 0;
    double largest = 0;
    for (size_t c = 0; c < lint->count; c++)
        for (int64_t i = 0; i < lint->shape->elements; i++) {
            double value = lint->cases[c].expected[lint->argument][i];
            if (!isfinite(value)) {
                nonfinite++;
                continue;
            }
            if (kf_dtype_is_float(lint->shape->dtype))
                overflow += !isfinite(rounded(lint->shape->dtype, value));
            largest = fmax(largest, fabs(value));
        }
    if (nonfinite && !declared)
        say(lint, KF_LINT_ERROR, "output.nonfinite",
            "mend the oracle, choose other inputs, or declare \"nonfinite\" on the input that "
            "brings them",
            "the oracle gives NaN or infinity for %lld elements from finite inputs",
            (long long)nonfinite);
    if (overflow)
        say(lint, KF_LINT_ERROR, "output.overflow",
            "choose smaller inputs, \"vary\": false, or a wider dtype",
            "%lld elements are finite in float64 but overflow %s", (long long)overflow,
            kf_dtype_name(lint->shape->dtype));
    if (lint->shape->tolerance.kind == KF_ALLCLOSE && lint->shape->tolerance.atol > 0 &&
        largest <= KF_LINT_RANGE)
        say(lint, KF_LINT_ERROR, "output.small",
            "use error_ratio, or choose inputs that give larger outputs",
            "all elements are within %.3g of zero, and the tolerance is absolute (atol %g)",
            largest, lint->shape->tolerance.atol);
    return declared || !nonfinite;
}

/* ---- influence ------------------------------------------------------------------------------- */

/* True if the input was drawn anew and came out the same: an input with one legal value. */
static bool is_unchanged(const kf_outputs_lint *lint, const kf_lint_case *changed, int input)
{
    const double *now = changed->given[input], *before = lint->cases[changed->base].given[input];
    int64_t count = lint->cases->problem->arguments[input].elements;
    return now && before && memcmp(now, before, (size_t)count * sizeof *now) == 0;
}

/* A candidate that ignored the change would still pass, in this output, in every pair with this
 * input changed. */
static bool ignores(kf_outputs_lint *lint, int input, int *pairs)
{
    bool all = true;
    *pairs = 0;
    for (size_t c = 0; c < lint->count; c++) {
        const kf_lint_case *changed = &lint->cases[c];
        if (changed->base < 0 || changed->changed != input) continue;
        if (is_unchanged(lint, changed, input)) continue;
        (*pairs)++;
        all = all && passes(lint, changed, lint->cases[changed->base].expected[lint->argument]);
    }
    return all;
}

static bool is_output(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
}

static void check_influence(kf_outputs_lint *lint)
{
    const kf_problem *problem = lint->cases->problem;
    for (int input = 0; input < problem->argument_count; input++) {
        int pairs = 0, outputs = 0, ignoring = 0;
        for (int i = 0; i < problem->argument_count; i++) {
            if (!is_output(&problem->arguments[i])) continue;
            lint->argument = i;
            lint->shape = &problem->arguments[i];
            outputs++;
            ignoring += ignores(lint, input, &pairs);
        }
        lint->argument = input;
        if (pairs && ignoring == outputs)
            say(lint, KF_LINT_ERROR, "input.without_influence",
                "choose inputs for which it matters, or leave the argument out",
                "a candidate that ignores this input would pass");
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool cases_fit(const kf_lint_case *cases, size_t count, int64_t *largest, kf_error *error)
{
    if (!count)
        return kf_fail(error, KF_ERROR_INTERNAL, "lint needs at least one run of the oracle");
    const kf_problem *first = cases[0].problem;
    for (size_t c = 0; c < count; c++) {
        const kf_problem *problem = cases[c].problem;
        bool fits = problem->argument_count == first->argument_count &&
                    cases[c].base < (int)count &&
                    (cases[c].base < 0 ||
                     (cases[c].changed >= 0 && cases[c].changed < first->argument_count));
        for (int i = 0; fits && i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            fits = argument->kind == first->arguments[i].kind &&
                   argument->elements == first->arguments[i].elements;
            if (is_output(argument)) {
                fits = fits && cases[c].expected[i];
                if (argument->elements > *largest) *largest = argument->elements;
            }
            if (argument->kind == KF_INPUT || argument->kind == KF_INOUT)
                fits = fits && cases[c].given[i];
        }
        if (!fits)
            return kf_fail(error, KF_ERROR_INTERNAL,
                           "case %zu does not belong to the same workload as the first", c);
    }
    return true;
}

int kf_lint_outputs(const kf_lint_case *cases, size_t count, kf_lint_report *report, void *context,
                    kf_error *error)
{
    int64_t largest = 1;
    if (!cases_fit(cases, count, &largest, error)) return -1;
    kf_autofree double *scratch = calloc((size_t)largest, 2 * sizeof *scratch);
    if (!scratch) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory for %lld elements", (long long)largest);
        return -1;
    }
    kf_outputs_lint lint = {.cases = cases,
                            .count = count,
                            .scratch = {scratch, scratch + largest},
                            .report = report,
                            .context = context};
    for (int i = 0; i < cases->problem->argument_count; i++) {
        if (!is_output(&cases->problem->arguments[i])) continue;
        lint.argument = i;
        lint.shape = &cases->problem->arguments[i];
        /* A baseline does not repeat infinities of the oracle that are wrong. */
        if (check_range(&lint) && !check_baseline(&lint)) continue;
        if (!check_constants(&lint)) continue;
        check_copies(&lint);
        check_seeds(&lint);
        check_axes(&lint);
    }
    check_influence(&lint);
    return lint.errors;
}

void kf_lint_pace(const kf_problem *problem, double oracle, double baseline, kf_lint_report *report,
                  void *context)
{
    if (!problem->timed || oracle < KF_LINT_ORACLE_SECONDS ||
        oracle < KF_LINT_ORACLE_CALLS * baseline)
        return;
    char text[256], path[KF_NAME_BYTES + 32];
    snprintf(path, sizeof path, "workloads (%s)", problem->workload);
    snprintf(text, sizeof text,
             "a call of the oracle takes %.3g ms, one of the baseline %.3g ms: few calls are "
             "timed, and intervals are wide",
             1e3 * oracle, 1e3 * baseline);
    report(
        context,
        &(kf_lint_finding){
            .severity = KF_LINT_WARNING,
            .rule = "oracle.slow",
            .path = path,
            .text = text,
            .advice =
                "let the oracle use more of the device, or give candidates more time (--seconds)"});
}
