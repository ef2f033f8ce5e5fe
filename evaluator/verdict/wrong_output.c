#include "wrong_output.h"

#include <math.h>
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
