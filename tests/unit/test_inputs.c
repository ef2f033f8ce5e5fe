/* Inputs: Philox against its published vectors, bulk code against the scalar formulas, and what
 * each distribution promises. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "dtype_bulk.h"
#include "inputs_formula.h"
#include "kforge/cleanup.h"
#include "kforge/inputs.h"

static const kf_key key = {0x0123456789abcdefull, 3, 7};

static kf_problem_argument argument_of(kf_dtype dtype, kf_distribution distribution, int64_t rows,
                                       int64_t columns)
{
    return (kf_problem_argument){.name = "x",
                                 .kind = KF_INPUT,
                                 .dtype = dtype,
                                 .dims = 2,
                                 .shape = {rows, columns},
                                 .elements = rows * columns,
                                 .bytes = (uint64_t)(rows * columns) * kf_dtype_size(dtype),
                                 .distribution = distribution};
}

/* A filled buffer, malloc'd. */
static void *filled(const kf_problem_argument *argument, kf_variation variation)
{
    void *data = calloc(1, argument->bytes + 16);
    assert_non_null(data);
    kf_input_fill(argument, key, variation, data, 0, argument->elements);
    return data;
}

static void philox_known_answers(void **state)
{
    (void)state;
    /* Random123, tests/kat_vectors, philox4x32 10 */
    const uint32_t rows[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        kf_philox(rows[i], rows[i] + 4, out);
        assert_memory_equal(out, rows[i] + 6, sizeof out);
    }
}

/* Element i of a stream of values, one word each, from the public primitive alone. */
static uint32_t word_of(uint64_t word, uint32_t purpose)
{
    const uint32_t counter[4] = {(uint32_t)(word / 4), (uint32_t)(word / 4 >> 32) | purpose << 16,
                                 key.argument, key.set};
    const uint32_t philox_key[2] = {(uint32_t)key.secret, (uint32_t)(key.secret >> 32)};
    uint32_t out[4];
    kf_philox(counter, philox_key, out);
    return out[word % 4];
}

static void bulk_equals_the_formulas(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    kf_problem_argument normal =
        argument_of(KF_F32, (kf_distribution){.kind = KF_NORMAL, .a = 0.5, .b = 2}, 1, COUNT);
    kf_problem_argument uniform =
        argument_of(KF_F32, (kf_distribution){.kind = KF_UNIFORM, .a = -1, .b = 3}, 1, COUNT);
    kf_problem_argument wide =
        argument_of(KF_F64, (kf_distribution){.kind = KF_NORMAL, .a = 0, .b = 1}, 1, COUNT);
    kf_problem_argument integers =
        argument_of(KF_I64, (kf_distribution){.kind = KF_INTEGERS, .a = -5, .b = 1e15}, 1, COUNT);
    kf_autofree float *n = filled(&normal, KF_VARY_NONE), *u = filled(&uniform, KF_VARY_NONE);
    kf_autofree double *w = filled(&wide, KF_VARY_NONE);
    kf_autofree int64_t *k = filled(&integers, KF_VARY_NONE);
    for (uint64_t i = 0; i < COUNT; i++) {
        float z[2];
        kf_normal_pair(word_of(i & ~1ull, 0), word_of(i | 1, 0), &z[0], &z[1]);
        assert_true(n[i] == fmaf(z[i & 1], 2.0f, 0.5f));
        assert_true(u[i] == fmaf((float)(word_of(i, 0) >> 8) * 0x1p-24f, 4.0f, -1.0f));
        kf_normal_pair(word_of(4 * (i / 2), 0), word_of(4 * (i / 2) + 1, 0), &z[0], &z[1]);
        assert_true(w[i] == kf_refine_normal(z[i & 1], word_of(4 * (i / 2) + 2 + i % 2, 0)));
        unsigned __int128 product =
            (unsigned __int128)((uint64_t)word_of(2 * i, 0) << 32 | word_of(2 * i + 1, 0)) *
            1000000000000005ull;
        assert_true(k[i] == -5 + (int64_t)(product >> 64));
    }
}

static void parts_equal_the_whole(void **state)
{
    (void)state;
    for (int kind = 0; kind < KF_DISTRIBUTION_COUNT; kind++) {
        for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++) {
            kf_problem_argument x =
                argument_of((kf_dtype)dtype,
                            (kf_distribution){.kind = (kf_distribution_kind)kind,
                                              .a = 1,
                                              .b = 20,
                                              .vary = true,
                                              .nonfinite = true},
                            61, 67);
            kf_variation variation = (kf_variation)(kind + dtype) % KF_VARIATION_COUNT;
            kf_autofree char *whole = filled(&x, variation), *parts = calloc(1, x.bytes + 16);
            for (int64_t first = 0, count = 1; first < x.elements;
                 first += count, count = count * 7 % 1500 + 1)
                kf_input_fill(&x, key, variation, parts, first, count);
            assert_memory_equal(whole, parts, x.bytes + 16); /* and nothing behind it was touched */
            kf_autofree char *other = calloc(1, x.bytes);
            kf_input_fill(&x, (kf_key){key.secret + 1, key.set, key.argument}, variation, other, 0,
                          x.elements);
            bool fixed = kind == KF_CONSTANT || kind == KF_OFFSETS /* of total 1 */ ||
                         dtype == KF_BOOL || kind == KF_POSITIVE_DEFINITE;
            if (!fixed && memcmp(whole, other, x.bytes) == 0)
                fail_msg("kind %d dtype %d does not depend on the secret", kind, dtype);
        }
    }
}

static void moments(void **state)
{
    (void)state;
    const int64_t count = 1 << 20;
    kf_problem_argument x =
        argument_of(KF_F32, (kf_distribution){.kind = KF_NORMAL, .b = 1}, 1, count);
    kf_autofree float *values = filled(&x, KF_VARY_NONE);
    double sums[5] = {0}, products = 0, beyond_two = 0;
    for (int64_t i = 0; i < count; i++) {
        double power = 1;
        for (int k = 0; k < 5; k++, power *= (double)values[i]) sums[k] += power;
        products += (double)values[i] * (double)values[i ^ 1];
        beyond_two += fabsf(values[i]) > 2;
    }
    double n = (double)count; /* standard errors: 0.001, 0.0014, 0.004, 0.01 */
    assert_true(fabs(sums[1] / n) < 0.005);
    assert_true(fabs(sums[2] / n - 1) < 0.007);
    assert_true(fabs(sums[3] / n) < 0.02);
    assert_true(fabs(sums[4] / n - 3) < 0.05);
    assert_true(fabs(products / n) < 0.005);
    assert_true(fabs(beyond_two / n - 0.0455) < 0.001);

    x.distribution = (kf_distribution){.kind = KF_UNIFORM, .a = 2, .b = 5};
    kf_input_fill(&x, key, KF_VARY_NONE, values, 0, count);
    int64_t bins[16] = {0};
    for (int64_t i = 0; i < count; i++) {
        assert_true(values[i] >= 2 && values[i] < 5);
        bins[(int)((values[i] - 2) / 3 * 16)]++;
    }
    double chi_square = 0;
    for (int b = 0; b < 16; b++)
        chi_square += ((double)bins[b] - n / 16) * ((double)bins[b] - n / 16) / (n / 16);
    assert_true(chi_square < 40); /* 15 degrees of freedom: one in 2000 */
}

static void uniform_stays_in_its_interval(void **state)
{
    (void)state;
    const double bounds[][2] = {{0, 1},     {-1, 0},       {1, 1.001}, {-3, -2.9},
                                {0.1, 0.3}, {-1e-3, 1e-3}, {100, 300}};
    for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++) {
        if (!kf_dtype_is_float((kf_dtype)dtype)) continue;
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
            for (int kind = 0; kind < 2; kind++) {
                kf_distribution d = {
                    .kind = kind ? KF_SORTED : KF_UNIFORM, .a = bounds[b][0], .b = bounds[b][1]};
                kf_problem_argument x = argument_of((kf_dtype)dtype, d, 4, 5000);
                kf_autofree char *data = filled(&x, KF_VARY_NONE);
                kf_autofree double *values = calloc(20000, sizeof *values);
                kf_load_doubles((kf_dtype)dtype, data, 20000, values);
                /* Coarse types may have no number in a narrow interval. */
                double slack =
                    bounds[b][1] - bounds[b][0] < 0.2 && kf_dtype_roundoff((kf_dtype)dtype) > 1e-4
                        ? 0.3
                        : 0;
                for (int i = 0; i < 20000; i++) {
                    if (!(values[i] >= d.a - slack && values[i] < d.b + slack))
                        fail_msg("%s: %g not in [%g, %g)", kf_dtype_name((kf_dtype)dtype),
                                 values[i], d.a, d.b);
                    if (kind && i % 5000) assert_true(values[i] >= values[i - 1]);
                }
            }
        }
    }
}

static void integers_and_structures(void **state)
{
    (void)state;
    kf_problem_argument x =
        argument_of(KF_I32, (kf_distribution){.kind = KF_INTEGERS, .a = -3, .b = 7}, 1, 100000);
    kf_autofree int32_t *k = filled(&x, KF_VARY_NONE);
    int counts[10] = {0};
    for (int i = 0; i < 100000; i++) {
        assert_in_range(k[i] + 3, 0, 9);
        counts[k[i] + 3]++;
    }
    for (int b = 0; b < 10; b++) assert_in_range(counts[b], 9500, 10500);

    const int64_t sizes[] = {1, 2, 3, 5, 1000, 1024, 70000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        x = argument_of(KF_I64, (kf_distribution){.kind = KF_PERMUTATION}, 1, sizes[s]);
        kf_autofree int64_t *p = filled(&x, KF_VARY_NONE);
        kf_autofree char *seen = calloc(1, (size_t)sizes[s]);
        int64_t fixed = 0;
        for (int64_t i = 0; i < sizes[s]; i++) {
            assert_true(p[i] >= 0 && p[i] < sizes[s] && !seen[p[i]]);
            seen[p[i]] = 1;
            fixed += p[i] == i;
        }
        if (sizes[s] >= 1000) assert_true(fixed < 10);
    }

    const double skews[] = {1, 3, 0.3};
    for (int s = 0; s < 3; s++) {
        x = argument_of(KF_I32, (kf_distribution){.kind = KF_OFFSETS, .a = 1e6, .b = skews[s]}, 1,
                        30001);
        kf_autofree int32_t *o = filled(&x, KF_VARY_NONE);
        assert_int_equal(o[0], 0);
        assert_int_equal(o[30000], 1000000);
        int32_t longest = 0;
        for (int i = 1; i <= 30000; i++) {
            assert_true(o[i] >= o[i - 1]);
            if (o[i] - o[i - 1] > longest) longest = o[i] - o[i - 1];
        }
        /* The middle varies like that of sorted draws: five deviations of sqrt(1/4/30000). */
        assert_true(o[15000] > 1e6 * pow(0.5 - 0.0145, skews[s]));
        assert_true(o[15000] < 1e6 * pow(0.5 + 0.0145, skews[s]));
        assert_true(longest >= 50); /* rows differ: the mean is 33 */
    }

    x = argument_of(KF_F16, (kf_distribution){.kind = KF_ONE_HOT}, 500, 37);
    kf_autofree uint16_t *hot = filled(&x, KF_VARY_NONE);
    int first_column = 0;
    for (int r = 0; r < 500; r++) {
        int ones = 0;
        for (int c = 0; c < 37; c++) {
            assert_true(hot[r * 37 + c] == 0 || hot[r * 37 + c] == 0x3c00);
            ones += hot[r * 37 + c] != 0;
        }
        assert_int_equal(ones, 1);
        first_column += hot[r * 37] != 0;
    }
    assert_in_range(first_column, 3, 30);

    x = argument_of(KF_F32, (kf_distribution){.kind = KF_SPARSE, .a = 0.1}, 1, 100000);
    kf_autofree float *sparse = filled(&x, KF_VARY_NONE);
    int nonzeros = 0;
    for (int i = 0; i < 100000; i++) nonzeros += sparse[i] != 0;
    assert_in_range(nonzeros, 9500, 10500);
}

static void positive_definite_is(void **state)
{
    (void)state;
    enum { N = 33 };
    kf_problem_argument x =
        argument_of(KF_F64, (kf_distribution){.kind = KF_POSITIVE_DEFINITE, .a = 1}, N, N);
    x.dims = 3;
    x.shape[0] = 2, x.shape[1] = N, x.shape[2] = N;
    x.elements = 2 * N * N, x.bytes = (uint64_t)x.elements * 8;
    kf_autofree double *a = filled(&x, KF_VARY_SCALE_UP);
    for (int m = 0; m < 2; m++) {
        double l[N][N];
        const double *matrix = a + m * N * N;
        for (int i = 0; i < N; i++) {
            for (int j = 0; j <= i; j++) {
                assert_true(matrix[i * N + j] == matrix[j * N + i]);
                double sum = matrix[i * N + j];
                for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
                if (i == j) assert_true(sum > 0); /* Cholesky goes through */
                l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
            }
        }
    }
    assert_memory_not_equal(a, a + N * N, N * N * 8);
}

static void square_matrices_have_their_structure(void **state)
{
    (void)state;
    enum { N = 37 };
    static const kf_distribution_kind kinds[] = {KF_SYMMETRIC, KF_UPPER_TRIANGULAR,
                                                 KF_LOWER_TRIANGULAR};
    for (int k = 0; k < 3; k++) {
        kf_problem_argument x =
            argument_of(KF_F32, (kf_distribution){.kind = kinds[k], .a = 1, .b = 3}, N, N);
        x.dims = 3;
        x.shape[0] = 2, x.shape[1] = N, x.shape[2] = N;
        x.elements = 2 * N * N, x.bytes = (uint64_t)x.elements * 4;
        kf_autofree float *values = filled(&x, KF_VARY_NONE);
        double sum = 0;
        int inside = 0;
        for (int m = 0; m < 2; m++)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    float here = values[m * N * N + i * N + j],
                          mirrored = values[m * N * N + j * N + i];
                    bool zero = (k == 1 && i > j) || (k == 2 && i < j);
                    if (zero) assert_true(here == 0);
                    if (zero) continue;
                    assert_true(here >= 1 && here < 3);
                    if (k == 0) assert_true(here == mirrored);
                    sum += (double)here;
                    inside++;
                }
        assert_true(fabs(sum / inside - 2) < 0.08); /* standard error 0.016 */
        assert_memory_not_equal(values, values + N * N, N * N * 4);
    }
}

/* ---- parts that change --------------------------------------------------------------------- */

static bool ascends(const kf_problem_argument *x, const char *data)
{
    size_t size = kf_dtype_size(x->dtype);
    int64_t n = x->shape[x->dims - 1];
    for (int64_t i = 1; i < x->elements; i++)
        if (i % n && kf_dtype_load(x->dtype, data + (size_t)(i - 1) * size) >
                         kf_dtype_load(x->dtype, data + (size_t)i * size))
            return false;
    return true;
}

/* True if the numbers are legal for their distribution. */
static bool is_legal(const kf_problem_argument *x, const char *data, const char *before)
{
    size_t size = kf_dtype_size(x->dtype);
    int64_t n = x->shape[x->dims - 1], all = x->elements;
    kf_autofree char *seen = calloc(1, (size_t)all);
    for (int64_t i = 0; i < all; i++) {
        double value = kf_dtype_load(x->dtype, data + (size_t)i * size);
        int64_t row = i / n, column = i % n;
        switch (x->distribution.kind) {
        case KF_PERMUTATION:
            if (value < 0 || value >= (double)all || seen[(int64_t)value]++) return false;
            break;
        case KF_ONE_HOT:
            if (value > 0 && seen[row]++) return false;
            if (column == n - 1 && !seen[row]) return false;
            break;
        case KF_POSITIVE_DEFINITE:
            if (row == column && value < x->distribution.a * (double)n) return false;
            if (row != column && memcmp(data + i * (int64_t)size, before + i * (int64_t)size, size))
                return false;
            break;
        case KF_SYMMETRIC:
            if (memcmp(data + i * (int64_t)size, data + (column * n + row) * (int64_t)size, size))
                return false;
            break;
        case KF_UPPER_TRIANGULAR:
            if (row > column ? !(value == 0) : value < x->distribution.a) return false;
            break;
        default:
            if (!(fabs(value) < 1e6)) return false;
        }
    }
    if (x->distribution.kind == KF_OFFSETS &&
        (memcmp(data, before, size) ||
         memcmp(data + (size_t)(all - 1) * size, before + (size_t)(all - 1) * size, size)))
        return false;
    return (x->distribution.kind != KF_SORTED && x->distribution.kind != KF_OFFSETS) ||
           ascends(x, data);
}

/* Parts change within the structure, mostly also where only some pairs of neighbours are written
 * yet. */
static void parts_change_within_their_structure(void **state)
{
    (void)state;
    static const struct {
        kf_dtype dtype;
        kf_distribution distribution;
        int64_t rows, columns;
    } rows[] = {
        {KF_I32, {.kind = KF_PERMUTATION}, 1, 1001},
        {KF_I64, {.kind = KF_PERMUTATION}, 1, 2},
        {KF_I32, {.kind = KF_SORTED, .a = 0, .b = 100000}, 7, 191},
        {KF_F16, {.kind = KF_SORTED, .a = -1, .b = 1}, 3, 400},
        {KF_I64, {.kind = KF_OFFSETS, .a = 50000, .b = 1}, 1, 601},
        {KF_I32, {.kind = KF_OFFSETS, .a = 7, .b = 1}, 1, 3},
        {KF_F32, {.kind = KF_ONE_HOT}, 30, 37},
        {KF_F64, {.kind = KF_POSITIVE_DEFINITE, .a = 1}, 33, 33},
        {KF_F32, {.kind = KF_SYMMETRIC, .a = 1, .b = 3}, 33, 33},
        {KF_F32, {.kind = KF_UPPER_TRIANGULAR, .a = 1, .b = 3}, 33, 33},
        {KF_F32, {.kind = KF_NORMAL, .a = 0, .b = 1}, 1, 1001},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        kf_problem_argument x =
            argument_of(rows[k].dtype, rows[k].distribution, rows[k].rows, rows[k].columns);
        kf_autofree char *data = filled(&x, KF_VARY_NONE);
        kf_autofree char *before = malloc(x.bytes), *after = malloc(x.bytes),
                         *part = malloc(x.bytes + 16);
        size_t size = kf_dtype_size(x.dtype);
        int changed = 0;
        memcpy(before, data, x.bytes);
        for (int turn = 0; turn < 400; turn++) {
            int64_t start = turn * 7919 % x.elements,
                    count = kf_input_part(&x, &start, 1 + turn * 31 % 64);
            if (!count) continue;
            assert_true(start >= 0 && start + count <= x.elements);
            char *at = data + (size_t)start * size;
            kf_input_part_draw(&x, (kf_key){(uint64_t)turn, 1, 2}, KF_VARY_NONE, start, count, at,
                               part);
            changed += memcmp(at, part, (size_t)count * size) != 0;
            for (int mixture = 0; mixture < 3; mixture++) {
                memcpy(after, data, x.bytes);
                for (int64_t i = 0; i < count; i++)
                    if (((start + i) / 2 + mixture) % 3)
                        memcpy(after + (size_t)(start + i) * size, part + (size_t)i * size, size);
                /* For a moment a number may be there twice, but no other number. */
                if (x.distribution.kind != KF_PERMUTATION) assert_true(is_legal(&x, after, before));
            }
            memcpy(at, part, (size_t)count * size);
            assert_true(is_legal(&x, data, before));
        }
        assert_true(changed > 40);
    }
    kf_problem_argument all_equal =
        argument_of(KF_F32, (kf_distribution){.kind = KF_CONSTANT, .a = 1}, 1, 100);
    int64_t start = 5;
    assert_int_equal(kf_input_part(&all_equal, &start, 10), 0);
}

/* Returns how many of the sorted keys are below `value`. */
static int64_t below(const uint8_t *keys, int64_t count, int value)
{
    int64_t least = 0;
    while (least < count && keys[least] < value) least++;
    return least;
}

static void sorted_keys_follow_no_formula(void **state)
{
    (void)state;
    enum { N = 40003, KEYS = 100 };
    const double sizes[] = {2, 200};
    for (int s = 0; s < 2; s++) {
        kf_problem_argument x = argument_of(
            KF_U8, (kf_distribution){.kind = KF_SORTED, .b = sizes[s], .vary = true}, 1, N);
        double sum = 0, square = 0, between = 0;
        static uint8_t keys[N];
        for (uint64_t k = 0; k < KEYS; k++) {
            kf_input_fill(&x, (kf_key){k, 1, 2}, KF_VARY_NONE, keys, 0, N);
            for (int i = 1; i < N; i++) assert_true(keys[i] >= keys[i - 1]);
            double middle = (double)below(keys, N, (int)sizes[s] / 2) - N / 2.0;
            sum += middle, square += middle * middle;
            /* Every 64th key does not tell the place of a step: it is uniform between them. */
            between += (double)(below(keys, N, (int)sizes[s] / 2) % 64) - 31.5;
        }
        double deviation = sqrt(square / KEYS);
        assert_true(fabs(sum / KEYS) < 5 * sqrt(N) / 2 / sqrt(KEYS));
        assert_true(deviation > 0.8 * sqrt(N) / 2 && deviation < 1.25 * sqrt(N) / 2);
        assert_true(fabs(between / KEYS) < 5 * 18.5 / sqrt(KEYS));
    }
}

/* Neighbours of sorted draws differ by exponential numbers: their deviation is their mean. */
static void gaps_are_those_of_draws(void **state)
{
    (void)state;
    enum { N = 60000 };
    kf_problem_argument x =
        argument_of(KF_I32, (kf_distribution){.kind = KF_OFFSETS, .a = 64e6, .b = 1}, 1, N + 1);
    kf_autofree int32_t *o = filled(&x, KF_VARY_NONE);
    double square = 0, mean = 64e6 / N;
    int short_ones = 0;
    for (int i = 0; i < N; i++) {
        double gap = o[i + 1] - o[i] - mean;
        square += gap * gap;
        short_ones += o[i + 1] - o[i] < mean / 4;
    }
    assert_true(fabs(sqrt(square / N) / mean - 1) < 0.15);
    assert_in_range(short_ones, 0.17 * N, 0.30 * N); /* 1 - exp(-1/4) is 0.22 */
}

static void integers_vary_within_their_declaration(void **state)
{
    (void)state;
    enum { ROWS = 3, N = 4001, ALL = ROWS * N };
    static int32_t v[ALL], plain[ALL];
    int all_strays = 0, all_outside = 0, single = 0;
    for (uint64_t k = 0; k < 12; k++) {
        kf_key each = {k, 4, 1};
        kf_problem_argument x = argument_of(
            KF_I32, (kf_distribution){.kind = KF_INTEGERS, .a = -3, .b = 9, .vary = true}, ROWS, N);
        for (int how = 0; how < KF_VARIATION_COUNT; how++) {
            kf_input_fill(&x, each, (kf_variation)how, v, 0, ALL);
            for (int i = 0; i < ALL; i++) assert_true(v[i] >= -3 && v[i] < 9);
            if (how == KF_VARY_EQUAL)
                for (int i = 0; i < ALL; i++) assert_int_equal(v[i], v[0]);
        }
        kf_input_fill(&x, each, KF_VARY_NONE, plain, 0, ALL);
        x.distribution.stray_low = -50, x.distribution.stray_high = 60;
        kf_input_fill(&x, each, KF_VARY_STRAY, v, 0, ALL);
        int strays = 0, outside = 0;
        for (int i = 0; i < ALL; i++) {
            strays += v[i] != plain[i];
            outside += v[i] < -3 || v[i] >= 9;
            assert_true(v[i] >= -50 && v[i] < 60);
        }
        assert_in_range(strays, 0, (ALL + 1023) / 1024);
        assert_in_range(outside, 0, strays);
        all_strays += strays, all_outside += outside, single += strays <= 1;

        x.distribution = (kf_distribution){.kind = KF_SORTED, .a = 5, .b = 90, .vary = true};
        for (int how = 0; how < KF_VARIATION_COUNT; how++) {
            kf_input_fill(&x, each, (kf_variation)how, v, 0, ALL);
            for (int i = 0; i < ALL; i++) {
                assert_true(v[i] >= 5 && v[i] < 90);
                if (i % N) assert_true(v[i] >= v[i - 1]);
                if (how == KF_VARY_EQUAL) assert_int_equal(v[i], v[0]);
            }
        }
        x.distribution = (kf_distribution){.kind = KF_OFFSETS, .a = 777, .b = 2, .vary = true};
        for (int how = 0; how < KF_VARIATION_COUNT; how++) {
            kf_input_fill(&x, each, (kf_variation)how, v, 0, ALL);
            assert_int_equal(v[0], 0);
            assert_int_equal(v[ALL - 1], 777);
            int steps = 0;
            for (int i = 1; i < ALL; i++) {
                assert_true(v[i] >= v[i - 1]);
                steps += v[i] != v[i - 1];
            }
            if (how == KF_VARY_EQUAL) assert_int_equal(steps, 1);
        }
        x.distribution = (kf_distribution){.kind = KF_PERMUTATION, .vary = true};
        for (int how = 0; how < KF_VARIATION_COUNT; how++) {
            static bool seen[ALL];
            memset(seen, 0, sizeof seen);
            kf_input_fill(&x, each, (kf_variation)how, v, 0, ALL);
            for (int i = 0; i < ALL; i++) {
                assert_true(v[i] >= 0 && v[i] < ALL && !seen[v[i]]);
                seen[v[i]] = true;
            }
        }
        x.distribution = (kf_distribution){.kind = KF_ONE_HOT, .vary = true};
        for (int how = 0; how < KF_VARIATION_COUNT; how++) {
            kf_input_fill(&x, each, (kf_variation)how, v, 0, ALL);
            for (int r = 0; r < ROWS; r++) {
                int ones = 0;
                for (int c = 0; c < N; c++) ones += v[r * N + c] == 1;
                for (int c = 0; c < N; c++) assert_in_range(v[r * N + c], 0, 1);
                assert_int_equal(ones, 1);
            }
            if (how == KF_VARY_EQUAL) assert_memory_equal(v, v + N, N * sizeof *v);
        }
    }
    /* The mean of strays is 12 (1/4 12 + 3/4), less those that are what was there. */
    assert_in_range(all_strays, 15, 90);
    assert_in_range(all_outside, all_strays / 2, all_strays);
    assert_in_range(single, 4, 11);
    /* One row that has millions would take a thread seconds, and no row of clusters is near. */
    enum { MANY = 1 << 20 };
    kf_problem_argument rows = argument_of(
        KF_I32, (kf_distribution){.kind = KF_OFFSETS, .a = 32.0 * MANY, .b = 1, .vary = true}, 1,
        MANY + 1);
    assert_false(kf_variation_applies(&rows, KF_VARY_EQUAL));
    kf_autofree int32_t *uneven = filled(&rows, KF_VARY_CLUSTERS);
    int32_t longest = 0;
    for (int i = 0; i < MANY; i++)
        if (uneven[i + 1] - uneven[i] > longest) longest = uneven[i + 1] - uneven[i];
    assert_in_range(longest, 32 * 20, 32 * 2000);
    /* A mask has another number of ones in each way. */
    kf_problem_argument mask =
        argument_of(KF_BOOL, (kf_distribution){.kind = KF_INTEGERS, .b = 2, .vary = true}, 1, ALL);
    int counts[3] = {0};
    const kf_variation ways[] = {KF_VARY_NONE, KF_VARY_EQUAL, KF_VARY_CLUSTERS};
    for (int w = 0; w < 3; w++) {
        kf_autofree bool *m = filled(&mask, ways[w]);
        for (int i = 0; i < ALL; i++) counts[w] += m[i];
    }
    assert_true(counts[1] == 0 || counts[1] == ALL);
    assert_true(abs(counts[0] - ALL / 2) < 300 && abs(counts[2] - ALL / 2) > 300);
}

static void signs_are_two(void **state)
{
    (void)state;
    kf_problem_argument x = argument_of(KF_I32, (kf_distribution){.kind = KF_SIGNS}, 1, 10000);
    kf_autofree int32_t *values = filled(&x, KF_VARY_NONE);
    int ups = 0;
    for (int i = 0; i < 10000; i++) {
        assert_true(values[i] == 1 || values[i] == -1);
        ups += values[i] == 1;
    }
    assert_in_range(ups, 4700, 5300);
}

static void variations_do_what_they_say(void **state)
{
    (void)state;
    kf_problem_argument x = argument_of(
        KF_F32, (kf_distribution){.kind = KF_NORMAL, .b = 2, .vary = true, .nonfinite = true}, 1,
        8192);
    kf_autofree float *plain = filled(&x, KF_VARY_NONE), *up = filled(&x, KF_VARY_SCALE_UP),
                      *down = filled(&x, KF_VARY_SCALE_DOWN);
    kf_autofree float *offset = filled(&x, KF_VARY_OFFSET),
                      *cancel = filled(&x, KF_VARY_CANCELLATION);
    kf_autofree float *outlier = filled(&x, KF_VARY_OUTLIER),
                      *strange = filled(&x, KF_VARY_NONFINITE);
    int outliers = 0, nonfinite = 0;
    double sum = 0, absolute = 0;
    for (int i = 0; i < 8192; i++) {
        assert_true(up[i] == 64 * plain[i] && down[i] == plain[i] / 64);
        assert_true(fabsf(offset[i] - plain[i] - 16) < 1e-5f);
        outliers += outlier[i] == 32 * plain[i] && plain[i] != 0;
        nonfinite += !isfinite(strange[i]);
        sum += (double)cancel[i], absolute += (double)fabsf(cancel[i]);
    }
    assert_int_equal(outliers, 8);
    assert_in_range(nonfinite, 1, 4);
    assert_true(fabs(sum) < absolute / 500);

    /* Only where they may, and never out of the type's range. */
    assert_false(kf_variation_applies(
        &(kf_problem_argument){.dtype = KF_I32,
                               .distribution = {.kind = KF_INTEGERS, .b = 9, .vary = true}},
        KF_VARY_SCALE_UP));
    x.distribution.vary = false;
    assert_false(kf_variation_applies(&x, KF_VARY_OFFSET));
    for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++) {
        for (int kind = 0; kind < KF_DISTRIBUTION_COUNT; kind++) {
            for (int v = 0; v < KF_VARY_NONFINITE; v++) {
                kf_problem_argument y = argument_of(
                    (kf_dtype)dtype,
                    (kf_distribution){
                        .kind = (kf_distribution_kind)kind, .a = 100, .b = 3000, .vary = true},
                    30, 30);
                kf_autofree char *data = filled(&y, (kf_variation)v);
                double values[900];
                kf_load_doubles((kf_dtype)dtype, data, 900, values);
                for (int i = 0; i < 900; i++)
                    if (!isfinite(values[i]))
                        fail_msg("%s kind %d variation %d: %g", kf_dtype_name((kf_dtype)dtype),
                                 kind, v, values[i]);
            }
        }
    }
    int chosen[KF_VARIATION_COUNT] = {0};
    x.distribution.vary = true;
    for (uint32_t set = 0; set < 1000; set++)
        chosen[kf_variation_choose(&x, (kf_key){1, set, 0})]++;
    assert_in_range(chosen[KF_VARY_NONE], 450, 700);
    for (int v = 1; v < KF_VARIATION_COUNT; v++) {
        assert_true(strlen(kf_variation_name((kf_variation)v)) > 3);
        assert_true(!kf_variation_applies(&x, (kf_variation)v) || chosen[v] > 30);
    }
}

static void bulk_conversions_equal_single_ones(void **state)
{
    (void)state;
    const kf_dtype dtypes[] = {KF_F16, KF_BF16, KF_F8E4M3, KF_F8E5M2, KF_F32};
    for (size_t t = 0; t < 5; t++) {
        size_t size = kf_dtype_size(dtypes[t]);
        double most = kf_dtype_largest(dtypes[t]);
        for (uint32_t block = 0; block < 64; block++) {
            float values[1024];
            char bulk[4096], single[4];
            for (uint32_t i = 0; i < 1024; i++)
                values[i] =
                    kf_float_of_bits(word_of(block * 1024 + i, 1) & 0xff7fffff); /* finite */
            kf_store_floats(dtypes[t], values, 1024, bulk);
            for (int i = 0; i < 1024; i++) {
                double value = fmax(-most, fmin(most, (double)values[i]));
                kf_dtype_store(dtypes[t], single, value);
                if (memcmp(bulk + (size_t)i * size, single, size) != 0)
                    fail_msg("%s of %g", kf_dtype_name(dtypes[t]), value);
            }
        }
        if (size > 2) continue;
        for (uint32_t code = 0; code < (size == 2 ? 65536u : 256u); code++) {
            double wide, expected = kf_dtype_load(dtypes[t], &code);
            kf_load_doubles(dtypes[t], &code, 1, &wide);
            if (!(memcmp(&wide, &expected, 8) == 0 || (isnan(wide) && isnan(expected))))
                fail_msg("%s code %x: %g, expected %g", kf_dtype_name(dtypes[t]), code, wide,
                         expected);
        }
    }
}

static void poison_is_found_intact_or_not(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    kf_autofree unsigned char *whole = calloc(1, SIZE), *parts = calloc(1, SIZE);
    kf_poison_fill(key, whole, 0, SIZE);
    for (uint64_t first = 0, count = 1; first < SIZE; first += count, count = count * 5 % 20011 + 1)
        kf_poison_fill(key, parts, first, count < SIZE - first ? count : SIZE - first);
    assert_memory_equal(whole, parts, SIZE);
    uint64_t where = 1;
    assert_true(kf_poison_intact(key, whole, 0, SIZE, &where));
    assert_true(kf_poison_intact(key, whole, 77, 0, NULL));
    for (uint64_t at = 3; at < SIZE; at += 9973) {
        whole[at] ^= 1;
        assert_false(kf_poison_intact(key, whole, 0, SIZE, &where));
        assert_true(where == at);
        assert_true(kf_poison_intact(key, whole, at + 1, SIZE - at - 1, &where));
        assert_false(kf_poison_intact(key, whole, at, 1, NULL));
        whole[at] ^= 1;
    }
    int counts[256] = {0};
    for (int i = 0; i < SIZE; i++) counts[whole[i]]++;
    for (int i = 0; i < 256; i++) assert_in_range(counts[i], 280, 510);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(bulk_equals_the_formulas),
        cmocka_unit_test(parts_equal_the_whole),
        cmocka_unit_test(moments),
        cmocka_unit_test(uniform_stays_in_its_interval),
        cmocka_unit_test(integers_and_structures),
        cmocka_unit_test(positive_definite_is),
        cmocka_unit_test(square_matrices_have_their_structure),
        cmocka_unit_test(signs_are_two),
        cmocka_unit_test(parts_change_within_their_structure),
        cmocka_unit_test(sorted_keys_follow_no_formula),
        cmocka_unit_test(gaps_are_those_of_draws),
        cmocka_unit_test(integers_vary_within_their_declaration),
        cmocka_unit_test(variations_do_what_they_say),
        cmocka_unit_test(bulk_conversions_equal_single_ones),
        cmocka_unit_test(poison_is_found_intact_or_not),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
