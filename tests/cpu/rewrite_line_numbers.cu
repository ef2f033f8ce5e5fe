// cpu-test: compile 1
// cpu-test: output rewrite_line_numbers.cu:18:.*missing_name
// cpu-test: output rewrite_line_numbers.cu:27:.*missing_argument
// cpu-test: output rewrite_line_numbers.cu:30:.*missing_last
// Errors are reported at the candidate's own lines.
#include "check.h"

#define LONG_MACRO(x) \
    do {              \
        (x)++;        \
    } while (0)

template <class T>
__global__ void kernel(T *x, int n)
{
#pragma unroll 2
    for (int i = 0; i < n; i++) LONG_MACRO(x[i]);
    x[0] = missing_name;
}

void launch(int *x)
{
    kernel<int><<<
        dim3(1, 2),
        256>>>(
        x,
        missing_argument);
    kernel
        <<<1, 1>>>(x, 3);
    missing_last();
}
