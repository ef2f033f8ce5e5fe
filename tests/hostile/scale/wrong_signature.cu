// The entry takes doubles.
// rule: B3
// expect: compile_error build.failed
extern "C" void scale(const double *x, double *y, float a, int64_t n, cudaStream_t stream)
{
    y[0] = a * x[0] + n;
}
