#include "math_names.h"

#include <string.h>

static const char *const names[] = {
    "abs",    "acos",  "acosh",     "asin",      "asinh",  "atan",    "atan2", "atanh",
    "cbrt",   "ceil",  "copysign",  "cos",       "cosh",   "cospi",   "erf",   "erfc",
    "erfinv", "exp",   "exp10",     "exp2",      "expm1",  "fabs",    "fdim",  "floor",
    "fma",    "fmax",  "fmin",      "fmod",      "frexp",  "hypot",   "ilogb", "isfinite",
    "isinf",  "isnan", "j0",        "j1",        "jn",     "labs",    "ldexp", "lgamma",
    "llabs",  "log",   "log10",     "log1p",     "log2",   "logb",    "lrint", "lround",
    "modf",   "nan",   "nearbyint", "nextafter", "norm",   "pow",     "rcbrt", "remainder",
    "remquo", "rint",  "round",     "rsqrt",     "scalbn", "signbit", "sin",   "sincos",
    "sinh",   "sinpi", "sqrt",      "tan",       "tanh",   "tgamma",  "trunc", "y0",
    "y1",     "yn",
};

bool kf_is_math_function(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        bool other = size == length + 1 && (name[length] == 'f' || name[length] == 'l');
        if ((size == length || other) && memcmp(name, names[i], length) == 0) return true;
    }
    return false;
}
