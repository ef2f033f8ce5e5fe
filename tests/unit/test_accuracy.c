/* Simulates judgings: which arithmetic passes the comparison of compare.h, by the number of terms.
 * Each judging draws inputs plainly and with every variation that applies, and fails if one of them
 * fails. As in the judge, an output that fails is compared again after inputs were moved by one
 * rounding. The tables show how many judgings pass with the baseline that accepts least. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/cleanup.h"
#include "kforge/compare.h"
#include "kforge/inputs.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

typedef enum function { DOT, ROW_SUM, MEAN, VARIANCE, SOFTMAX, LAYERNORM } function;
static const char *const function_names[] = {"gemm",     "rowsum",  "mean",
                                             "variance", "softmax", "layernorm"};

typedef enum order { SEQUENTIAL, PAIRWISE, STRIDED, SPLIT } order;

/* How a candidate computes. */
typedef struct arithmetic {
    const char *name;
    order order;
    kf_dtype a, b, accumulator;
    /* the operands in two bf16 parts; the number of products */
    int products;
} arithmetic;

enum { HONEST = 4, LOWER = 6 };
static const arithmetic honest[HONEST] = {
    {"in sequence", SEQUENTIAL, KF_F32, KF_F32, KF_F32, 1},
    {"pairwise", PAIRWISE, KF_F32, KF_F32, KF_F32, 1},
    {"256 threads, tree", STRIDED, KF_F32, KF_F32, KF_F32, 1},
    {"split in 64, any order", SPLIT, KF_F32, KF_F32, KF_F32, 1},
};
static const arithmetic lower[LOWER] = {
    {"tf32", PAIRWISE, KF_TF32, KF_TF32, KF_F32, 1},
    {"tf32 of one operand", PAIRWISE, KF_TF32, KF_F32, KF_F32, 1},
    {"bf16", PAIRWISE, KF_BF16, KF_BF16, KF_F32, 1},
    {"two bf16 products", PAIRWISE, KF_F32, KF_F32, KF_F32, 2},
    {"f16 accumulator", SEQUENTIAL, KF_F32, KF_F32, KF_F16, 1},
    {"three bf16 products", PAIRWISE, KF_F32, KF_F32, KF_F32, 3},
};

static float rounded(kf_dtype dtype, float value)
{
    uint32_t bits;
    uint16_t room;
    if (dtype == KF_F32) return value;
    memcpy(&bits, &value, 4);
    if (dtype == KF_TF32) {
        bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
        memcpy(&value, &bits, 4);
        return value;
    }
    if (dtype == KF_BF16) {
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
        memcpy(&value, &bits, 4);
        return value;
    }
    kf_dtype_store(dtype, &room, (double)value);
    return (float)kf_dtype_load(dtype, &room);
}

static float in_pairs(const float *terms, int count)
{
    if (count <= 8) {
        float sum = 0;
        for (int k = 0; k < count; k++) sum += terms[k];
        return sum;
    }
    return in_pairs(terms, count / 2) + in_pairs(terms + count / 2, count - count / 2);
}

static float in_sequence(const float *terms, int count, kf_dtype accumulator)
{
    float sum = 0;
    if (accumulator == KF_F32)
        for (int k = 0; k < count; k++) sum += terms[k];
    else
        for (int k = 0; k < count; k++) sum = rounded(accumulator, sum + terms[k]);
    return sum;
}

static float add(const float *terms, int count, const arithmetic *how)
{
    float partial[256] = {0}, sum = 0;
    switch (how->order) {
    case SEQUENTIAL: return in_sequence(terms, count, how->accumulator);
    case PAIRWISE: return in_pairs(terms, count);
    case STRIDED:
        for (int k = 0; k < count; k++) partial[k % 256] += terms[k];
        for (int half = 128; half > 0; half /= 2)
            for (int t = 0; t < half; t++) partial[t] += partial[t + half];
        return partial[0];
    case SPLIT:
        for (int piece = 0; piece < 64; piece++) {
            int number = piece * 27 % 64, first = (int)((int64_t)count * number / 64),
                end = (int)((int64_t)count * (number + 1) / 64);
            sum += in_sequence(terms + first, end - first, KF_F32);
        }
        return sum;
    }
    return 0;
}

static float product(float a, float b, const arithmetic *how)
{
    if (how->products == 1) return rounded(how->a, a) * rounded(how->b, b);
    float a1 = rounded(KF_BF16, a), a2 = rounded(KF_BF16, a - a1), b1 = rounded(KF_BF16, b),
          b2 = rounded(KF_BF16, b - b1);
    return how->products == 2 ? a1 * b1 + a2 * b1 : a1 * b1 + (a2 * b1 + a1 * b2);
}

/* ---- one set --------------------------------------------------------------------------------- */

typedef struct set {
    function function;
    kf_problem_argument x, output;
    int rows, columns;
    /* in the type of x; the second is only for DOT */
    void *inputs[2];
    float *values[2], *terms, *numbers;
    void *out;
    double *expected;
    /* of the change, once it is measured */
    kf_error_sums change;
    bool measured;
    kf_variation variation;
    /* of the function, 0 until it is measured */
    double term_count;
} set;

static set make_set(function what, kf_dtype dtype, kf_distribution_kind kind, int rows, int columns)
{
    bool wide = what == SOFTMAX || what == LAYERNORM;
    size_t inputs = (size_t)rows * (size_t)columns, outputs = wide ? inputs : (size_t)rows;
    set s = {.function = what, .rows = rows, .columns = columns};
    s.x = (kf_problem_argument){.dtype = dtype,
                                .dims = 2,
                                .shape = {rows, columns},
                                .elements = (int64_t)inputs,
                                .distribution = {.kind = kind, .b = 1, .vary = true}};
    s.output = (kf_problem_argument){.name = "y",
                                     .kind = KF_OUTPUT,
                                     .dtype = dtype,
                                     .dims = 2,
                                     .shape = {rows, wide ? columns : 1},
                                     .elements = (int64_t)outputs,
                                     .tolerance = {.kind = KF_ERROR_RATIO, .ratio = 8}};
    for (int i = 0; i < 2; i++) {
        s.inputs[i] = malloc(4 * inputs);
        s.values[i] = malloc(4 * inputs);
    }
    s.terms = malloc(4 * (size_t)columns);
    s.numbers = malloc(4 * outputs);
    s.out = malloc(4 * outputs);
    s.expected = malloc(8 * outputs);
    return s;
}

static void free_set(set *s)
{
    for (int i = 0; i < 2; i++) {
        free(s->inputs[i]);
        free(s->values[i]);
    }
    free(s->terms);
    free(s->numbers);
    free(s->out);
    free(s->expected);
}

static void load_values(set *s)
{
    size_t size = kf_dtype_size(s->x.dtype);
    for (int i = 0; i < (s->function == DOT ? 2 : 1); i++) {
        if (s->x.dtype == KF_F32) {
            memcpy(s->values[i], s->inputs[i], (size_t)s->x.elements * size);
            continue;
        }
        for (int64_t k = 0; k < s->x.elements; k++)
            s->values[i][k] =
                (float)kf_dtype_load(s->x.dtype, (char *)s->inputs[i] + (size_t)k * size);
    }
}

/* Computes the function in float64. */
static void find_expected(const set *s, double *expected)
{
    int n = s->columns;
    bool centred = s->function == VARIANCE || s->function == LAYERNORM;
    for (int row = 0; row < s->rows; row++) {
        const float *x = s->values[0] + (size_t)row * (size_t)n,
                    *y = s->values[1] + (size_t)row * (size_t)n;
        double sum = 0, squares = 0, most = (double)x[0];
        for (int k = 0; k < n; k++)
            sum += s->function == DOT ? (double)x[k] * (double)y[k] : (double)x[k];
        for (int k = 0; k < n && s->function == SOFTMAX; k++) most = fmax(most, (double)x[k]);
        double mean = sum / n;
        for (int k = 0; k < n && centred; k++)
            squares += ((double)x[k] - mean) * ((double)x[k] - mean);
        if (s->function == SOFTMAX) {
            double *out = expected + (size_t)row * (size_t)n, all = 0;
            for (int k = 0; k < n; k++) all += out[k] = exp((double)x[k] - most);
            for (int k = 0; k < n; k++) out[k] /= all;
        } else if (s->function == LAYERNORM) {
            for (int k = 0; k < n; k++)
                expected[(size_t)row * (size_t)n + (size_t)k] =
                    ((double)x[k] - mean) / sqrt(squares / n + 1e-5);
        } else {
            expected[row] = s->function == MEAN       ? mean
                            : s->function == VARIANCE ? squares / n
                                                      : sum;
        }
    }
}

static void draw(set *s, kf_variation variation, uint64_t seed)
{
    for (uint32_t i = 0; i < 2; i++)
        kf_input_fill(&s->x, (kf_key){seed, (uint32_t)s->columns, i}, i ? KF_VARY_NONE : variation,
                      s->inputs[i], 0, s->x.elements);
    load_values(s);
    find_expected(s, s->expected);
    s->change = KF_NO_ERRORS;
    s->measured = false;
    s->variation = variation;
}

/* Computes the function as a candidate does, into s->out. */
static void compute(set *s, const arithmetic *how)
{
    int n = s->columns;
    for (int row = 0; row < s->rows; row++) {
        const float *x = s->values[0] + (size_t)row * (size_t)n,
                    *y = s->values[1] + (size_t)row * (size_t)n;
        float *out = s->numbers + (size_t)row * (size_t)n, most = x[0], sum;
        if (s->function == SOFTMAX) {
            for (int k = 0; k < n; k++) most = fmaxf(most, x[k]);
            for (int k = 0; k < n; k++) out[k] = expf(x[k] - most);
            sum = add(out, n, how);
            for (int k = 0; k < n; k++) out[k] /= sum;
            continue;
        }
        for (int k = 0; k < n; k++)
            s->terms[k] = s->function == DOT ? product(x[k], y[k], how) : x[k];
        sum = add(s->terms, n, how);
        if (s->function == DOT || s->function == ROW_SUM) {
            s->numbers[row] = sum;
            continue;
        }
        float mean = sum / (float)n;
        if (s->function == MEAN) {
            s->numbers[row] = mean;
            continue;
        }
        for (int k = 0; k < n; k++) s->terms[k] = (x[k] - mean) * (x[k] - mean);
        float variance = add(s->terms, n, how) / (float)n;
        if (s->function == VARIANCE) {
            s->numbers[row] = variance;
            continue;
        }
        float scale = 1 / sqrtf(variance + 1e-5f);
        for (int k = 0; k < n; k++) out[k] = (x[k] - mean) * scale;
    }
    for (int64_t i = 0; i < s->output.elements; i++)
        kf_dtype_store(s->output.dtype, (char *)s->out + (size_t)i * kf_dtype_size(s->output.dtype),
                       (double)s->numbers[i]);
}

/* Moves a share of the inputs, and returns a sample of expected values. */
static int64_t move(set *s, double share, int number, double *sample)
{
    size_t bytes = (size_t)s->x.elements * kf_dtype_size(s->x.dtype);
    void *kept[2] = {malloc(bytes), malloc(bytes)};
    double *moved = malloc(8 * (size_t)s->output.elements);
    for (int i = 0; i < 2; i++) {
        memcpy(kept[i], s->inputs[i], bytes);
        if (share > 0)
            kf_nudge(s->x.dtype, s->inputs[i], s->x.elements, (uint64_t)(2 * number + i), share);
    }
    load_values(s);
    find_expected(s, moved);
    int64_t used = kf_condition_sample(moved, s->output.elements, sample);
    for (int i = 0; i < 2; i++) {
        memcpy(s->inputs[i], kept[i], bytes);
        free(kept[i]);
    }
    load_values(s);
    free(moved);
    return used;
}

/* Does what measure_results.c does. */
static void measure_change(set *s, uint64_t seed)
{
    double *before = malloc(8 * KF_CONDITION_SAMPLE), *after = malloc(8 * KF_CONDITION_SAMPLE),
           *all = malloc(8 * KF_CONDITION_SAMPLE), share;
    kf_terms_search search = {0};
    kf_variation variation = s->variation;
    int64_t used = move(s, 0, 0, before);
    for (int run = 0; run < kf_condition_runs(s->output.elements); run++) {
        move(s, 1, run, after);
        assert_true(kf_condition_add(before, after, used, kf_nudge_unit(s->x.dtype), &s->change));
    }
    kf_error_sums change = s->change;
    if (!(s->term_count > 0)) {
        draw(s, KF_VARY_NONE, seed);
        move(s, 0, 0, before);
        move(s, KF_TERMS_ALL, 99, all);
        for (int run = 0; (share = kf_terms_share(&search)) > 0; run++) {
            move(s, share, 100 + run, after);
            kf_terms_note(&search, before, before, all, after, used);
        }
        s->term_count = search.terms;
        draw(s, variation, seed);
    }
    s->change = change;
    s->change.terms = s->term_count;
    s->change.one_way = variation == KF_VARY_OUTLIER ? s->term_count : 0;
    s->measured = true;
    free(before);
    free(after);
    free(all);
}

/* Compares s->out, first without the change, then with it. */
static bool passes(set *s, const kf_error_sums *baseline, uint64_t seed, kf_error_figures *figures)
{
    if (kf_compare_output(&s->output, s->out, s->expected, baseline, figures, NULL)) return true;
    if (!s->measured) measure_change(s, seed);
    kf_error_sums both = *baseline;
    kf_error_merge(&both, &s->change);
    both.count = baseline->count;
    return kf_compare_output(&s->output, s->out, s->expected, &both, figures, NULL);
}

/* ---- judgings -------------------------------------------------------------------------------- */

enum { SIZES = 6, BASELINES = 2 };
static const int sizes[SIZES] = {64, 512, 1024, 4096, 32768, 262144};

/* Returns a bit for each arithmetic that passes all inputs of a judging, with both baselines. */
static unsigned judge(set *s, const arithmetic *all, int count, uint64_t seed, int draws)
{
    unsigned right = (1u << count) - 1;
    for (int number = 0; number < draws * KF_VARY_NONFINITE && right; number++) {
        kf_error_sums baselines[BASELINES];
        int v = number % KF_VARY_NONFINITE;
        if (!kf_variation_applies(&s->x, (kf_variation)v)) continue;
        uint64_t drawn = seed * 100 + (uint64_t)number;
        draw(s, (kf_variation)v, drawn);
        for (int b = 0; b < BASELINES; b++) {
            baselines[b] = KF_NO_ERRORS;
            compute(s, &honest[b]);
            kf_error_accumulate(&s->output, s->out, s->expected, &baselines[b]);
        }
        for (int i = 0; i < count; i++) {
            kf_error_figures f;
            compute(s, &all[i]);
            for (int b = 0; b < BASELINES; b++)
                if ((right >> i & 1) && !passes(s, &baselines[b], drawn, &f)) {
                    right &= ~(1u << i);
                    if (getenv("KFORGE_TEST_SHOW"))
                        print_message("  %s %d %s baseline %s, %s: rms %.2g of %.2g, max %.2g of "
                                      "%.2g\n",
                                      function_names[s->function], s->columns, all[i].name,
                                      honest[b].name, kf_variation_name((kf_variation)v), f.rms,
                                      f.allowed_rms, f.max, f.allowed_max);
                }
        }
    }
    return right;
}

/* Prints how many judgings each arithmetic passes, and returns the counts of the last size in
 * `passed`, by arithmetic and size. */
static void simulate(function what, kf_dtype dtype, kf_distribution_kind kind,
                     const arithmetic *all, int count, int passed[][SIZES], int judgings[SIZES])
{
    memset(passed, 0, (size_t)count * sizeof *passed);
    for (int size = 0; size < SIZES; size++) {
        int rows = sizes[size] > 4096 ? 4 : 16;
        judgings[size] = sizes[size] > 4096 ? 1 : 4;
        set s = make_set(what, dtype, kind, rows, sizes[size]);
        for (int n = 0; n < judgings[size]; n++) {
            unsigned right = judge(&s, all, count, (uint64_t)(1000 * what + n + 1), 1);
            for (int i = 0; i < count; i++) passed[i][size] += right >> i & 1;
        }
        free_set(&s);
    }
    for (int i = 0; i < count; i++) {
        char line[160];
        int used =
            snprintf(line, sizeof line, "%-9s %-4s %-7s %-23s", function_names[what],
                     kf_dtype_name(dtype), kind == KF_NORMAL ? "normal" : "uniform", all[i].name);
        for (int size = 0; size < SIZES; size++)
            used += snprintf(line + used, sizeof line - (size_t)used, " %3d of %-2d",
                             passed[i][size], judgings[size]);
        print_message("%s\n", line);
    }
}

static void sums_in_any_order_pass(void **state)
{
    (void)state;
    int passed[HONEST][SIZES], judgings[SIZES];
    for (int what = DOT; what <= LAYERNORM; what++)
        for (int kind = 0; kind < 2; kind++) {
            simulate((function)what, KF_F32, kind ? KF_UNIFORM : KF_NORMAL, honest, HONEST, passed,
                     judgings);
            for (int i = 0; i < HONEST; i++)
                for (int size = 0; size < SIZES; size++)
                    assert_int_equal(passed[i][size], judgings[size]);
        }
}

static void fewer_bits_fail(void **state)
{
    (void)state;
    int passed[LOWER][SIZES], judgings[SIZES];
    for (int kind = 0; kind < 2; kind++) {
        simulate(DOT, KF_F32, kind ? KF_UNIFORM : KF_NORMAL, lower, LOWER, passed, judgings);
        for (int i = 0; i < 5; i++)
            for (int size = i == 4 ? 2 : 0; size < SIZES; size++)
                /* positive terms: their rounding errors average out, those of a long sum do not */
                if (kind == 0 || i == 4 || sizes[size] <= 4096)
                    assert_int_equal(passed[i][size], 0);
    }
}

static void narrow_types_need_wide_accumulators(void **state)
{
    (void)state;
    static const arithmetic rows[] = {
        {"in sequence", SEQUENTIAL, KF_F32, KF_F32, KF_F32, 1},
        {"256 threads, tree", STRIDED, KF_F32, KF_F32, KF_F32, 1},
        {"f16 accumulator", SEQUENTIAL, KF_F32, KF_F32, KF_F16, 1},
        {"bf16 accumulator", SEQUENTIAL, KF_F32, KF_F32, KF_BF16, 1},
    };
    int passed[4][SIZES], judgings[SIZES];
    for (int type = 0; type < 2; type++) {
        simulate(DOT, type ? KF_BF16 : KF_F16, KF_NORMAL, rows, 4, passed, judgings);
        for (int size = 0; size < SIZES; size++) {
            assert_int_equal(passed[0][size], judgings[size]);
            assert_int_equal(passed[1][size], judgings[size]);
            if (sizes[size] >= 1024) assert_int_equal(passed[type ? 3 : 2][size], 0);
        }
    }
}

/* A sum to one number: a baseline in sequence adds just the neighbours that cancel, and errs by
 * nearly 0. */
static void trees_to_one_number_pass(void **state)
{
    (void)state;
    enum { JUDGINGS = 1000 };
    const int columns[] = {1003, 8192};
    for (int c = 0; c < 2; c++) {
        int right = 0, lowered = 0;
        set s = make_set(ROW_SUM, KF_F32, KF_NORMAL, 1, columns[c]);
        set d = make_set(DOT, KF_F32, KF_NORMAL, 1, columns[c]);
        for (int n = 0; n < JUDGINGS; n++) {
            right += judge(&s, &honest[2], 1, (uint64_t)n, 1) == 1;
            lowered += judge(&d, &lower[0], 1, (uint64_t)n, 4) == 1;
        }
        print_message("%d terms to one number: %d of %d trees pass, %d tf32 products\n", columns[c],
                      right, JUDGINGS, lowered);
        assert_int_equal(right, JUDGINGS);
        assert_int_equal(lowered, 0);
        free_set(&s);
        free_set(&d);
    }
}

/* Varied offsets may put all elements into one segment. Its sum in sequence errs by 0.2 sqrt(K)
 * changes, more than the K of an average segment allows. */
static void varied_indices_may_put_all_into_one_sum(void **state)
{
    (void)state;
    kf_problem_argument arguments[] = {{.kind = KF_INPUT, .dtype = KF_F32, .elements = 30011},
                                       {.kind = KF_INPUT, .dtype = KF_I32, .elements = 212},
                                       {.kind = KF_OUTPUT,
                                        .dtype = KF_F32,
                                        .elements = 211,
                                        .tolerance = {.kind = KF_ERROR_RATIO, .ratio = 10}}};
    assert_true(kf_terms_varied(arguments, 3, -1, 142) == 142);
    assert_true(kf_terms_varied(arguments, 3, 0, 142) == 142);
    assert_true(kf_terms_varied(arguments, 3, 1, 142) == 30011);
    /* A segment's sum of 30011 terms in sequence: -40.2, wrong by 0.000288. */
    kf_error_sums own = KF_NO_ERRORS, baseline = KF_NO_ERRORS;
    own.count = baseline.count = baseline.change_count = 211;
    own.sum_square = 0.000288 * 0.000288, own.max = 0.000288;
    own.scale_square = 40.2 * 40.2, own.scale_max = 40.2;
    double change = sqrt(30011) * 0x1p-24, rms, max;
    baseline.change_square = change * change, baseline.change_max = change;
    for (int varied = -1; varied < 2; varied += 2) {
        baseline.terms = kf_terms_varied(arguments, 3, varied, 142);
        kf_error_limits(&arguments[2], &own, &baseline, &rms, &max);
        assert_int_equal(own.max <= max && kf_error_rms(&own) <= rms, varied == 1);
    }
}

/* All elements of a row change together, and few rows make an estimate doubtful. */
static void few_rows_tell_their_terms(void **state)
{
    (void)state;
    enum { ROWS = 11, COLUMNS = 5007, EACH = 300 };
    static double before[ROWS * EACH], after[ROWS * EACH], all[ROWS * EACH];
    double least = INFINITY, most = 0;
    uint64_t chance = 1;
    for (int i = 0; i < ROWS * EACH; i++) before[i] = 1, all[i] = 2;
    for (int search = 0; search < 300; search++) {
        kf_terms_search s = {0};
        for (double share; (share = kf_terms_share(&s)) > 0;) {
            double stays = pow(1 - share, COLUMNS);
            for (int row = 0; row < ROWS; row++) {
                chance = chance * 6364136223846793005u + 1442695040888963407u;
                double value = (double)(chance >> 11) * 0x1p-53 < stays ? 1 : 2;
                for (int i = 0; i < EACH; i++) after[row * EACH + i] = value;
            }
            kf_terms_note(&s, before, before, all, after, ROWS * EACH);
        }
        least = fmin(least, s.terms), most = fmax(most, s.terms);
    }
    printf("%d terms in %d rows: estimates from %.0f to %.0f\n", COLUMNS, ROWS, least, most);
    assert_true(least > COLUMNS / 3.0 && most < COLUMNS * 3.0);
}

/* Three of four elements are no sums: masked with -inf or a number, zeros of a ReLU, NaN. Counted,
 * the ones that are not finite made 2^18 terms of one, and the others a few of thousands. */
static void only_elements_that_move_tell_terms(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static const double others[] = {-INFINITY, NAN, 0, -1e9};
    static const int columns[] = {1, 64, 5000, 100000};
    static double before[COUNT], after[COUNT], all[COUNT];
    uint64_t chance = 1;
    for (size_t kind = 0; kind < sizeof others / sizeof *others; kind++)
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            kf_terms_search s = {0};
            for (int i = 0; i < COUNT; i++) {
                before[i] = all[i] = after[i] = others[kind];
                if (i % 4 == 0) before[i] = 1, all[i] = 2;
            }
            for (double share; (share = kf_terms_share(&s)) > 0;) {
                double stays = pow(1 - share, columns[c]);
                for (int i = 0; i < COUNT; i += 4) {
                    chance = chance * 6364136223846793005u + 1442695040888963407u;
                    after[i] = (double)(chance >> 11) * 0x1p-53 < stays ? 1 : 2;
                }
                kf_terms_note(&s, before, before, all, after, COUNT);
            }
            assert_true(s.terms > columns[c] / 1.5 && s.terms < columns[c] * 1.5);
        }
    kf_terms_search none = {0};
    assert_true(kf_terms_share(&none) > 0);
    for (int i = 0; i < COUNT; i++) before[i] = 0;
    kf_terms_note(&none, before, before, before, before, COUNT);
    assert_true(kf_terms_share(&none) == 0 && none.terms == 1);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_in_any_order_pass),
        cmocka_unit_test(fewer_bits_fail),
        cmocka_unit_test(narrow_types_need_wide_accumulators),
        cmocka_unit_test(few_rows_tell_their_terms),
        cmocka_unit_test(only_elements_that_move_tell_terms),
        cmocka_unit_test(trees_to_one_number_pass),
        cmocka_unit_test(varied_indices_may_put_all_into_one_sum),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
