// Floating-point functions of CUDA that the C library lacks, and the fast forms (__expf and the
// like), which are accurate here.
#pragma once
#include <math.h>
#include "rounding.h"

// The C library's fmaxf is a call. This one is an instruction or two and vectorises, as CUDA's
// does. If one operand is NaN, the other is the result.
#define KFCPU_MINMAX(type, max_name, min_name)                                              \
    extern inline __attribute__((gnu_inline, always_inline)) type max_name(type a,          \
                                                                           type b) noexcept \
    {                                                                                       \
        return a > b || b != b ? a : b;                                                     \
    }                                                                                       \
    extern inline __attribute__((gnu_inline, always_inline)) type min_name(type a,          \
                                                                           type b) noexcept \
    {                                                                                       \
        return a < b || b != b ? a : b;                                                     \
    }
extern "C" {
KFCPU_MINMAX(float, fmaxf, fminf)
KFCPU_MINMAX(double, fmax, fmin)
}
#undef KFCPU_MINMAX
static inline float max(float a, float b)
{
    return fmaxf(a, b);
}
static inline float min(float a, float b)
{
    return fminf(a, b);
}
static inline double max(double a, double b)
{
    return fmax(a, b);
}
static inline double min(double a, double b)
{
    return fmin(a, b);
}
static inline double max(float a, double b)
{
    return fmax((double)a, b);
}
static inline double min(float a, double b)
{
    return fmin((double)a, b);
}
static inline double max(double a, float b)
{
    return fmax(a, (double)b);
}
static inline double min(double a, float b)
{
    return fmin(a, (double)b);
}

static inline float rsqrtf(float a)
{
    return 1.0f / __builtin_sqrtf(a);
}
static inline double rsqrt(double a)
{
    return 1.0 / __builtin_sqrt(a);
}
static inline float rsqrt(float a)
{
    return rsqrtf(a);
}
static inline float rcbrtf(float a)
{
    return 1.0f / cbrtf(a);
}
static inline double rcbrt(double a)
{
    return 1.0 / cbrt(a);
}
static inline float fdividef(float a, float b)
{
    return a / b;
}
static inline float saturatef(float a)
{
    return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f;
} // NaN becomes 0

namespace kfcpu
{
// sin(pi x) and cos(pi x). The argument is reduced exactly before the multiplication by pi.
static inline double sin_pi(double x)
{
    if (x - x != 0) return NAN;
    double r = fmod(x, 2.0);
    double a = r < 0 ? -r : r, s;
    if (a > 1)
        a -= 1, s = -1;
    else
        s = 1;
    if (a > 0.5) a = 1 - a;
    s *= a == 0 ? 0.0 : a <= 0.25 ? ::sin(a * M_PI) : ::cos((0.5 - a) * M_PI);
    return r < 0 ? -s : s;
}
static inline double cos_pi(double x)
{
    if (x - x != 0) return NAN;
    double a = fmod(x < 0 ? -x : x, 2.0);
    if (a > 1) a = 2 - a;
    return a == 0.5    ? 0.0
           : a <= 0.25 ? ::cos(a * M_PI)
           : a < 0.75  ? ::sin((0.5 - a) * M_PI)
                       : -::cos((1 - a) * M_PI);
}
// Inverse error functions. They start with Giles's approximation ("Approximating the erfinv
// function", GPU Computing Gems, 2010). Newton steps on erf follow, which converge quadratically.
static inline double erf_inverse(double x)
{
    if (!(x > -1 && x < 1)) return x == 1 ? INFINITY : x == -1 ? -INFINITY : NAN;
    double w = -log((1 - x) * (1 + x)), p;
    if (w < 5) {
        w -= 2.5;
        p = 2.81022636e-08;
        p = 3.43273939e-07 + p * w, p = -3.5233877e-06 + p * w, p = -4.39150654e-06 + p * w,
        p = 0.00021858087 + p * w;
        p = -0.00125372503 + p * w, p = -0.00417768164 + p * w, p = 0.246640727 + p * w,
        p = 1.50140941 + p * w;
    } else {
        w = sqrt(w) - 3;
        p = -0.000200214257;
        p = 0.000100950558 + p * w, p = 0.00134934322 + p * w, p = -0.00367342844 + p * w,
        p = 0.00573950773 + p * w;
        p = -0.0076224613 + p * w, p = 0.00943887047 + p * w, p = 1.00167406 + p * w,
        p = 2.83297682 + p * w;
    }
    double y = p * x;
    for (int i = 0; i < 2; i++) {
        // Near 1 the complement is more accurate.
        double error = y > 0.5 ? -(erfc(y) - (1 - x)) : y < -0.5 ? erfc(-y) - (1 + x) : erf(y) - x;
        y -= error / (M_2_SQRTPI * exp(-y * y));
    }
    return y;
}
static inline double erfc_inverse(double x)
{
    if (!(x > 0 && x < 2)) return x == 0 ? INFINITY : x == 2 ? -INFINITY : NAN;
    if (x > 0.0625) return erf_inverse(1 - x);
    double t = sqrt(-2 * log(x / 2)),
           y = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
    for (int i = 0; i < 3; i++) { // Halley's method on erfc
        double error = (erfc(y) - x) / (M_2_SQRTPI * exp(-y * y));
        y += error / (1 - y * error);
    }
    return y;
}
// exp(x^2) erfc(x). For large x it uses the continued fraction.
static inline double erfc_scaled(double x)
{
    if (x < 25) return exp(x * x) * erfc(x);
    double f = 0;
    for (int k = 40; k > 0; k--) f = k / 2.0 / (x + f);
    return 1 / (sqrt(M_PI) * (x + f));
}
} // namespace kfcpu

static inline double sinpi(double x)
{
    return kfcpu::sin_pi(x);
}
static inline double cospi(double x)
{
    return kfcpu::cos_pi(x);
}
static inline float sinpif(float x)
{
    return (float)kfcpu::sin_pi(x);
}
static inline float cospif(float x)
{
    return (float)kfcpu::cos_pi(x);
}
static inline float sinpi(float x)
{
    return sinpif(x);
}
static inline float cospi(float x)
{
    return cospif(x);
}
static inline void sincospif(float x, float *s, float *c)
{
    *s = sinpif(x), *c = cospif(x);
}
static inline void sincospi(double x, double *s, double *c)
{
    *s = sinpi(x), *c = cospi(x);
}
static inline void sincos(float x, float *s, float *c)
{
    *s = sinf(x), *c = cosf(x);
}

static inline double normcdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}
static inline float normcdff(float x)
{
    return (float)normcdf(x);
}
static inline double erfinv(double x)
{
    return kfcpu::erf_inverse(x);
}
static inline float erfinvf(float x)
{
    return (float)kfcpu::erf_inverse(x);
}
static inline double erfcinv(double x)
{
    return kfcpu::erfc_inverse(x);
}
static inline float erfcinvf(float x)
{
    return (float)kfcpu::erfc_inverse(x);
}
static inline double normcdfinv(double p)
{
    return -M_SQRT2 * kfcpu::erfc_inverse(2 * p);
}
static inline float normcdfinvf(float p)
{
    return (float)normcdfinv(p);
}
static inline double erfcx(double x)
{
    return kfcpu::erfc_scaled(x);
}
static inline float erfcxf(float x)
{
    return (float)kfcpu::erfc_scaled(x);
}
static inline double norm3d(double a, double b, double c)
{
    return sqrt(a * a + b * b + c * c);
}
static inline float norm3df(float a, float b, float c)
{
    return (float)norm3d(a, b, c);
}
static inline double norm4d(double a, double b, double c, double d)
{
    return sqrt(a * a + b * b + c * c + d * d);
}
static inline float norm4df(float a, float b, float c, float d)
{
    return (float)norm4d(a, b, c, d);
}
static inline double rhypot(double a, double b)
{
    return 1 / hypot(a, b);
}
static inline float rhypotf(float a, float b)
{
    return (float)(1 / sqrt((double)a * a + (double)b * b));
}
static inline double rnorm3d(double a, double b, double c)
{
    return 1 / norm3d(a, b, c);
}
static inline float rnorm3df(float a, float b, float c)
{
    return (float)rnorm3d(a, b, c);
}
static inline double rnorm4d(double a, double b, double c, double d)
{
    return 1 / norm4d(a, b, c, d);
}
static inline float rnorm4df(float a, float b, float c, float d)
{
    return (float)rnorm4d(a, b, c, d);
}
static inline double norm(int n, const double *a)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * a[i];
    return sqrt(sum);
}
static inline float normf(int n, const float *a)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * a[i];
    return (float)sqrt(sum);
}
static inline double rnorm(int n, const double *a)
{
    return 1 / norm(n, a);
}
static inline float rnormf(int n, const float *a)
{
    return 1 / normf(n, a);
}
// Modified Bessel functions of the first kind, by their power series (all terms are positive).
static inline double cyl_bessel_i0(double x)
{
    double q = x * x / 4, term = 1, sum = 1;
    for (int k = 1; k < 500 && term > sum * 1e-17; k++) sum += term *= q / ((double)k * k);
    return sum;
}
static inline double cyl_bessel_i1(double x)
{
    double q = x * x / 4, term = x / 2, sum = term;
    for (int k = 1; k < 500 && fabs(term) > fabs(sum) * 1e-17; k++)
        sum += term *= q / ((double)k * (k + 1));
    return sum;
}
static inline float cyl_bessel_i0f(float x)
{
    return (float)cyl_bessel_i0(x);
}
static inline float cyl_bessel_i1f(float x)
{
    return (float)cyl_bessel_i1(x);
}

// Macros, because the C library reserves these names without defining them here. math.h has been
// read already.
static inline void kfcpu_sincosf(float x, float *s, float *c)
{
    *s = sinf(x), *c = cosf(x);
}
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __tanhf(x) tanhf(x)
#define __sincosf(x, s, c) kfcpu_sincosf(x, s, c)
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline float __saturatef(float a)
{
    return saturatef(a);
}
static inline float __frsqrt_rn(float a)
{
    return (float)(1.0 / __builtin_sqrt((double)a));
}
