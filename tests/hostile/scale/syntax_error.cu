// Does not parse.
// rule: B3
// expect: compile_error build.failed
extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    y[0] = ;
}
