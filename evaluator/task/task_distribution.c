/* The distributions, one table row each. docs/reference/task-format.md has the formulas,
 * evaluator/numeric/inputs.c the generators. */
#include <math.h>
#include <string.h>

#include "task_internal.h"
#include "nearest.h"

enum { FLOATS = 1, INTEGERS = 2, BOOLS = 4 };
#define REQUIRED NAN
/* It has no formula, and every dtype. */
#define GENERATED "generated"
#define NUMBERS (FLOATS | INTEGERS)

static const struct {
    const char *name;
    int types;
    /* names of the parameters, NULL without one */
    const char *a;
    double a_default;
    const char *b;
    double b_default;
} distributions[KF_DISTRIBUTION_COUNT] = {
    [KF_NORMAL] = {"normal", FLOATS, "mean", 0, "std", 1},
    [KF_UNIFORM] = {"uniform", FLOATS, "low", 0, "high", 1},
    [KF_INTEGERS] = {"integers", NUMBERS | BOOLS, "low", 0, "high", REQUIRED}, /* bool: high 2 */
    [KF_PERMUTATION] = {"permutation", INTEGERS, NULL, 0, NULL, 0},
    [KF_SORTED] = {"sorted", NUMBERS, "low", 0, "high", REQUIRED}, /* floating: high 1 */
    [KF_OFFSETS] = {"offsets", INTEGERS, "total", REQUIRED, "skew", 1},
    [KF_SPARSE] = {"sparse", FLOATS, "density", 0.1, NULL, 0},
    [KF_CONSTANT] = {"constant", NUMBERS | BOOLS, "value", 0, NULL, 0},
    [KF_ONE_HOT] = {"one_hot", NUMBERS | BOOLS, NULL, 0, NULL, 0},
    [KF_POSITIVE_DEFINITE] = {"positive_definite", FLOATS, "dominance", 1, NULL, 0},
    [KF_SYMMETRIC] = {"symmetric", FLOATS, "low", 0, "high", 1},
    [KF_UPPER_TRIANGULAR] = {"upper_triangular", FLOATS, "low", 0, "high", 1},
    [KF_LOWER_TRIANGULAR] = {"lower_triangular", FLOATS, "low", 0, "high", 1},
    [KF_SIGNS] = {"signs", NUMBERS, NULL, 0, NULL, 0},
};

static int type_class(kf_dtype dtype)
{
    return kf_dtype_is_float(dtype) ? FLOATS : dtype == KF_BOOL ? BOOLS : INTEGERS;
}

static bool read_kind(kf_json_reader *reader, kf_dtype dtype, kf_distribution_kind *kind)
{
    const char *name = kf_json_string(reader, "kind");
    if (reader->failed) return false;
    const char *names[KF_DISTRIBUTION_COUNT];
    for (int i = 0; i < KF_DISTRIBUTION_COUNT; i++) {
        names[i] = distributions[i].name;
        if (strcmp(name, names[i]) != 0) continue;
        *kind = (kf_distribution_kind)i;
        if (distributions[i].types & type_class(dtype)) return true;
        return kf_json_complain(
            reader, "kind", "%s does not work with dtype %s%s", name, kf_dtype_name(dtype),
            type_class(dtype) == FLOATS ? ""
                                        : "; integers, constant and one_hot work with every dtype");
    }
    const char *near = kf_nearest(name, names, KF_DISTRIBUTION_COUNT);
    return kf_json_complain(reader, "kind", "there is no distribution \"%s\"; %s%s", name,
                            near ? "did you mean "
                                 : "expected normal, uniform, integers, permutation, sorted, "
                                   "offsets, sparse, constant, one_hot, "
                                   "positive_definite, symmetric, "
                                   "upper_triangular, lower_triangular, signs or generated",
                            near ? near : "");
}

static bool read_parameter(const kf_task *task, kf_json_reader *reader, const char *key,
                           double fallback, kf_formula *formula)
{
    if (!key) {
        *formula = kf_formula_number(0);
        return true;
    }
    const cJSON *value = kf_json_any(reader, key);
    if (value) return kf_formula_read(task, reader, key, value, formula);
    if (isnan(fallback))
        return kf_json_complain(reader, key, "missing; expected a number or an expression");
    *formula = kf_formula_number(fallback);
    return true;
}

static bool can_vary(kf_distribution_kind kind)
{
    return kind != KF_CONSTANT && kind != KF_SYMMETRIC && kind != KF_UPPER_TRIANGULAR &&
           kind != KF_LOWER_TRIANGULAR;
}

/* What these promise says nothing of the size of their values. */
static bool varies_by_default(kf_distribution_kind kind)
{
    return can_vary(kind) && kind != KF_SPARSE && kind != KF_POSITIVE_DEFINITE;
}

bool kf_distribution_read(const kf_task *task, const kf_json_reader *parent, const cJSON *object,
                          const char *key, kf_dtype dtype, kf_distribution_spec *spec)
{
    kf_json_reader reader = kf_task_child(parent, object, key, -1);
    if (reader.failed) return false;
    const char *kind = kf_json_string(&reader, "kind");
    if (!reader.failed && strcmp(kind, GENERATED) == 0) {
        *spec = (kf_distribution_spec){.present = true,
                                       .kind = KF_CONSTANT,
                                       .a = kf_formula_number(0),
                                       .b = kf_formula_number(0),
                                       .generated = true};
        return kf_json_finish(&reader);
    }
    if (!read_kind(&reader, dtype, &spec->kind)) return false;
    spec->present = true;
    double a = distributions[spec->kind].a_default, b = distributions[spec->kind].b_default;
    if (spec->kind == KF_INTEGERS && dtype == KF_BOOL) b = 2;
    if (spec->kind == KF_SORTED && kf_dtype_is_float(dtype)) b = 1;
    if (!read_parameter(task, &reader, distributions[spec->kind].a, a, &spec->a) ||
        !read_parameter(task, &reader, distributions[spec->kind].b, b, &spec->b))
        return false;
    spec->vary = kf_json_boolean_or(&reader, "vary", varies_by_default(spec->kind));
    spec->nonfinite = kf_json_boolean_or(&reader, "nonfinite", false);
    if (spec->vary && !can_vary(spec->kind))
        return kf_json_complain(&reader, "vary",
                                "constant, symmetric and triangular inputs cannot vary; expected "
                                "false, found true");
    if (spec->nonfinite && !kf_dtype_is_float(dtype))
        return kf_json_complain(&reader, "nonfinite",
                                "%s has no infinities or NaN; expected false, found true",
                                kf_dtype_name(dtype));
    return kf_json_finish(&reader);
}

void kf_distribution_free(kf_distribution_spec *spec)
{
    kf_formula_free(&spec->a);
    kf_formula_free(&spec->b);
}

bool kf_distribution_default(kf_dtype dtype, kf_distribution_spec *spec)
{
    *spec = (kf_distribution_spec){.present = true,
                                   .kind = KF_NORMAL,
                                   .a = kf_formula_number(0),
                                   .b = kf_formula_number(1),
                                   .vary = true};
    return kf_dtype_is_float(dtype);
}

void kf_integer_range(kf_dtype dtype, int64_t *low, int64_t *high)
{
    int bits = (int)kf_dtype_size(dtype) * 8;
    *low = dtype == KF_U8 || dtype == KF_BOOL ? 0 : INT64_MIN >> (64 - bits);
    *high = dtype == KF_BOOL ? 1 : dtype == KF_U8 ? UINT8_MAX : INT64_MAX >> (64 - bits);
}

bool kf_value_fits(kf_dtype dtype, kf_value value)
{
    if (kf_dtype_is_float(dtype)) {
        _Alignas(8) unsigned char element[8];
        kf_dtype_store(dtype, element, value.number);
        return isfinite(kf_dtype_load(dtype, element));
    }
    int64_t low, high, integer = value.integer;
    kf_integer_range(dtype, &low, &high);
    if (!value.is_integer) {
        if (value.number != floor(value.number) || fabs(value.number) > (double)KF_EXACT_INTEGER)
            return false;
        integer = (int64_t)value.number;
    }
    return integer >= low && integer <= high;
}

/* Checks [low, high) of an argument. For integers both must be exact in a double, and both ends
 * must fit the dtype. */
static bool check_range(const kf_problem_argument *argument, double low, double high,
                        kf_error *error)
{
    if (!(low < high))
        return kf_fail(error, KF_ERROR_INPUT,
                       "low is %.17g and high is %.17g; expected low less than high", low, high);
    bool integers =
        !kf_dtype_is_float(argument->dtype) || argument->distribution.kind == KF_INTEGERS;
    if (integers && (low != floor(low) || high != floor(high) ||
                     fabs(low) > (double)KF_EXACT_INTEGER || fabs(high) > (double)KF_EXACT_INTEGER))
        return kf_fail(error, KF_ERROR_INPUT,
                       "low is %.17g and high is %.17g; expected integers within 2^53", low, high);
    double last = integers ? high - 1 : high;
    if (!kf_value_fits(argument->dtype, (kf_value){.number = low}) ||
        !kf_value_fits(argument->dtype, (kf_value){.number = last}))
        return kf_fail(error, KF_ERROR_INPUT, "[%.17g, %.17g) does not fit %s", low, high,
                       kf_dtype_name(argument->dtype));
    return true;
}

static bool check(const kf_problem_argument *argument, kf_error *error)
{
    double a = argument->distribution.a, b = argument->distribution.b;
    const char *type = kf_dtype_name(argument->dtype);
    switch (argument->distribution.kind) {
    case KF_NORMAL:
        if (!(b > 0))
            return kf_fail(error, KF_ERROR_INPUT, "std is %.17g; expected more than 0", b);
        if (!kf_value_fits(argument->dtype, (kf_value){.number = fabs(a) + b}))
            return kf_fail(error, KF_ERROR_INPUT, "mean %.17g and std %.17g do not fit %s", a, b,
                           type);
        return true;
    case KF_UNIFORM:
    case KF_INTEGERS:
    case KF_SORTED: return check_range(argument, a, b, error);
    case KF_PERMUTATION:
        if (!kf_value_fits(argument->dtype,
                           (kf_value){.is_integer = true, .integer = argument->elements - 1}))
            return kf_fail(error, KF_ERROR_INPUT, "a permutation of %lld elements does not fit %s",
                           (long long)argument->elements, type);
        return true;
    case KF_OFFSETS:
        if (a < 0 || !kf_value_fits(argument->dtype, (kf_value){.number = a}))
            return kf_fail(error, KF_ERROR_INPUT,
                           "total is %.17g; expected an integer from 0 that fits %s", a, type);
        if (!(b > 0 && b <= 64))
            return kf_fail(error, KF_ERROR_INPUT, "skew is %.17g; expected more than 0, at most 64",
                           b);
        if (argument->elements < 2)
            return kf_fail(error, KF_ERROR_INPUT, "offsets need at least 2 elements, found %lld",
                           (long long)argument->elements);
        return true;
    case KF_SPARSE:
        if (!(a > 0 && a <= 1))
            return kf_fail(error, KF_ERROR_INPUT,
                           "density is %.17g; expected more than 0, at most 1", a);
        return true;
    case KF_CONSTANT:
        if (!kf_value_fits(argument->dtype, (kf_value){.number = a}))
            return kf_fail(error, KF_ERROR_INPUT, "value %.17g does not fit %s", a, type);
        return true;
    case KF_POSITIVE_DEFINITE:
        if (!(a > 0))
            return kf_fail(error, KF_ERROR_INPUT, "dominance is %.17g; expected more than 0", a);
        if (argument->dims < 2 ||
            argument->shape[argument->dims - 1] != argument->shape[argument->dims - 2])
            return kf_fail(error, KF_ERROR_INPUT,
                           "positive_definite needs square matrices: the last two extents equal");
        return true;
    case KF_SYMMETRIC:
    case KF_UPPER_TRIANGULAR:
    case KF_LOWER_TRIANGULAR:
        if (argument->dims < 2 ||
            argument->shape[argument->dims - 1] != argument->shape[argument->dims - 2])
            return kf_fail(
                error, KF_ERROR_INPUT,
                "symmetric and triangular need square matrices: the last two extents equal");
        return check_range(argument, a, b, error);
    case KF_SIGNS:
        if (!kf_value_fits(argument->dtype,
                           (kf_value){.is_integer = true, .integer = -1, .number = -1}))
            return kf_fail(error, KF_ERROR_INPUT, "-1 does not fit %s", type);
        return true;
    case KF_ONE_HOT:
    case KF_DISTRIBUTION_COUNT: break;
    }
    return true;
}

bool kf_distribution_resolve(const kf_distribution_spec *spec, const kf_binding *bindings,
                             size_t count, kf_problem_argument *argument, kf_error *error)
{
    kf_value a, b;
    if (!kf_formula_evaluate(&spec->a, bindings, count, &a, error) ||
        !kf_formula_evaluate(&spec->b, bindings, count, &b, error))
        return false;
    argument->distribution = (kf_distribution){.kind = spec->kind,
                                               .a = a.number,
                                               .b = b.number,
                                               .vary = spec->vary,
                                               .nonfinite = spec->nonfinite,
                                               .generated = spec->generated};
    return check(argument, error);
}
