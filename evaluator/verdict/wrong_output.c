#include "wrong_output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns an integer of any type as its bits, in 64. */
static uint64_t bits_of(const char *element, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, element, size);
    return bits;
}

static bool is_near(double a, double b, double slack, double allowed)
{
    return a == b || fabs(a - b) <= fmax(slack * fabs(b), allowed);
}

/* True if an integer is the expected one plus what was there, with overflow. */
static bool is_integer_sum(size_t size, uint64_t got, uint64_t expected, uint64_t before)
{
    uint64_t mask = size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
    return ((got - before) & mask) == (expected & mask);
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* A fit has to leave this share of the mean square, at most. */
#define FIT_LEAVES (1 / 16.0)
/* Least elements of a group, and of the output. */
#define FIT_GROUP 8
#define FIT_ALL 16
/* A relation holds everywhere, so this share of the elements is wrong, at least. */
#define FIT_WRONG 0.75
/* A single error has at most this share of the sum of squares. */
#define FIT_SHARE 0.25

static void fit_add(kf_error_fit *fit, double got, double expected)
{
    double error = got - expected;
    fit->count++;
    fit->expected += expected;
    fit->error += error;
    fit->got += got;
    fit->expected_square += expected * expected;
    fit->error_square += error * error;
    fit->got_square += got * got;
    fit->product += error * expected;
    fit->most = fmax(fit->most, error * error);
}

/* Returns the sum of squares of what the result varies by. */
static double spread_of(const kf_error_fit *fit)
{
    return fit->got_square - fit->got * fit->got / fit->count;
}

/* Fits a factor and an offset. Returns the sum of squares that is left. One large error fits any
 * line, so it counts as left. */
static double fit_line(const kf_error_fit *fit, double least, double *factor, double *offset)
{
    *factor = *offset = 0;
    if (fit->count < least || fit->most > FIT_SHARE * fit->error_square) return fit->error_square;
    double spread = fit->expected_square - fit->expected * fit->expected / fit->count,
           product = fit->product - fit->error * fit->expected / fit->count,
           left = fit->error_square - fit->error * fit->error / fit->count;
    if (spread > 1e-9 * fit->expected_square) {
        *factor = product / spread;
        left -= product * *factor;
    }
    *offset = (fit->error - *factor * fit->expected) / fit->count;
    return fmax(left, 0);
}

static void end_row(kf_wrong_output *w)
{
    double factor, offset;
    w->row_left += fit_line(&w->row, FIT_GROUP, &factor, &offset);
    w->row_freedom += w->row.count - 2;
    w->row_spread += spread_of(&w->row);
    w->row = (kf_error_fit){0};
}

/* Adds an element to the sums of all, of its row and of its column. A zero that is right is right
 * with any factor. */
static void add_to_fits(kf_wrong_output *w, double got, double expected, double slack)
{
    int64_t index = w->elements - 1;
    double error = fabs(got - expected);
    fit_add(&w->all, got, expected);
    w->telling += got != 0 || expected != 0;
    w->off += error > slack * fabs(expected) || (w->allowed > 0 && error > w->allowed);
    if (w->columns < 2) return;
    int64_t column = index % w->columns,
            step = w->columns > KF_FIT_COLUMNS ? w->columns / KF_FIT_COLUMNS : 1;
    fit_add(&w->row, got, expected);
    if (column == w->columns - 1) end_row(w);
    if (column % step == 0 && column / step < KF_FIT_COLUMNS)
        fit_add(&w->column[column / step], got, expected);
}

/* True if a fit leaves little of the error, and the result is more than what it leaves. */
static bool explains(double left, double freedom, double error, double spread, double count)
{
    if (!(freedom > 0) || !(error > 0)) return false;
    double limit = FIT_LEAVES * fmin(error, spread) / count;
    return left / freedom < limit;
}

static bool columns_fit(const kf_wrong_output *w)
{
    double left = 0, freedom = 0, error = 0, spread = 0, count = 0, factor, offset;
    for (int i = 0; i < KF_FIT_COLUMNS; i++) {
        const kf_error_fit *fit = &w->column[i];
        if (!(fit->count > 0)) continue;
        left += fit_line(fit, FIT_GROUP, &factor, &offset);
        freedom += fit->count - 2;
        error += fit->error_square;
        spread += spread_of(fit);
        count += fit->count;
    }
    return explains(left, freedom, error, spread, count);
}

bool kf_wrong_output_relation(const kf_wrong_output *w, char *text, size_t size)
{
    const kf_error_fit *all = &w->all;
    double factor, offset, n = all->count, spread = spread_of(all);
    if (!(n >= FIT_ALL) || !isfinite(all->got_square + all->expected_square) ||
        w->same == w->elements || (double)w->off < FIT_WRONG * (double)w->telling)
        return false;
    double left = fit_line(all, FIT_ALL, &factor, &offset);
    if (explains(left, n - 2, all->error_square, spread, n)) {
        double alone = all->product / all->expected_square;
        if (explains(all->error_square - all->product * alone, n - 1, all->error_square, spread, n))
            snprintf(text, size, "%.5g times the expected value", 1 + alone);
        else if (explains(all->error_square - all->error * all->error / n, n - 1, all->error_square,
                          spread, n))
            snprintf(text, size, "the expected value plus %.4g", all->error / n);
        else
            snprintf(text, size, "%.5g times the expected, plus %.4g", 1 + factor, offset);
        return true;
    }
    const char *group = NULL;
    if (w->columns >= 2 && all->most <= FIT_SHARE * all->error_square) {
        if (columns_fit(w))
            group = "column";
        else if (explains(w->row_left, w->row_freedom, all->error_square, w->row_spread, n))
            group = "row";
    }
    if (group) snprintf(text, size, "one factor and offset for each %s", group);
    return group != NULL;
}

/* ---- elements -------------------------------------------------------------------------------- */

void kf_wrong_output_add(kf_wrong_output *w, kf_dtype dtype, const void *got, const void *expected,
                         const void *before, int64_t count)
{
    size_t size = kf_dtype_size(dtype);
    bool is_float = kf_dtype_is_float(dtype);
    double slack = is_float ? fmax(64 * kf_dtype_roundoff(dtype), 1e-5) : 0;
    for (int64_t i = 0; i < count; i++) {
        const char *a = (const char *)got + (size_t)i * size,
                   *b = before ? (const char *)before + (size_t)i * size : a;
        const void *e = is_float ? (const void *)((const double *)expected + i)
                                 : (const void *)((const char *)expected + (size_t)i * size);
        double value = kf_dtype_load(dtype, a),
               truth = is_float ? *(const double *)e : kf_dtype_load(dtype, e);
        if (w->elements++ == 0) w->first = value, w->first_expected = truth;
        w->same += value == w->first;
        w->expected_same += truth == w->first_expected;
        if (is_float) add_to_fits(w, value, truth, slack);
        if (!before) continue;
        bool unwritten = memcmp(a, b, size) == 0, right, added;
        if (is_float) {
            double old = kf_dtype_load(dtype, b);
            right = is_near(value, truth, slack, w->allowed);
            added = is_near(value, old + truth, slack, w->allowed) ||
                    (!isfinite(old) && !isfinite(value));
        } else {
            right = memcmp(a, e, size) == 0;
            added = is_integer_sum(size, bits_of(a, size), bits_of(e, size), bits_of(b, size));
        }
        w->unwritten += unwritten;
        w->added += added && !right && !unwritten;
        w->explained += unwritten || right || added;
    }
}

bool kf_is_constant(const kf_wrong_output *w)
{
    return w->elements > 1 && isfinite(w->first) && w->same == w->elements &&
           w->expected_same < w->elements;
}
