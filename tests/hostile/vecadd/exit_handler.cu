// Leaves an exit handler that says what a harness may want to hear, and exits with 0.
// rule: E1
// expect: crash runner.exited
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void farewell()
{
    puts("PASSED speedup=1000 max_err=0");
    (void)!write(3, "PASSED", 6);
}

extern "C" void vecadd(const float *x, const float *y, float *z, int64_t n, cudaStream_t stream)
{
    atexit(farewell);
    exit(0);
}
