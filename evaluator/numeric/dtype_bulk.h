/* Conversion of many elements to and from wider types. Agrees bit for bit with kf_dtype_load and
 * kf_dtype_store. */
#ifndef KFORGE_DTYPE_BULK_H
#define KFORGE_DTYPE_BULK_H

#include <stddef.h>
#include <stdint.h>

#include "kforge/dtype.h"

/* Returns the largest finite value of a type (2^63 for i64). */
double kf_dtype_largest(kf_dtype dtype);
/* Stores floats in any floating type but f64, rounded to nearest even. Values that would overflow
 * become the largest finite value. `values` has no NaN. */
void kf_store_floats(kf_dtype dtype, const float *values, size_t count, void *elements);
/* Loads elements of any type as doubles. */
void kf_load_doubles(kf_dtype dtype, const void *elements, size_t count, double *values);

#endif
