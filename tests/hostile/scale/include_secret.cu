// Includes a file of the machine, to have the compiler quote it.
// rule: B1
// expect: compile_error build.failed
#include "/etc/passwd"
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    y[0] = a * x[0] + n;
}
