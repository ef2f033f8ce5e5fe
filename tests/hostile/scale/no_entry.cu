// Defines another function than the task's entry.
// rule: B3
// expect: compile_error build.failed
extern "C" void scale2(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    y[0] = a * x[0] + n;
}
