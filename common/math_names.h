/* The names of mathematical functions of C and CUDA. */
#ifndef KFORGE_MATH_NAMES_H
#define KFORGE_MATH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* True for the name of a mathematical function that C's or CUDA's headers declare: "sin", also
 * "sinf" and "sinl". `name` has `size` bytes, and need not end there. Pure. */
bool kf_is_math_function(const char *name, size_t size);

#endif
