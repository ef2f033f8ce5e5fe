// Reads its own memory map for the expected sums, and copies what looks like them.
// rule: C2
// expect: wrong_result output.mismatch
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern "C" void rowsum(const float *x, float *s, int64_t rows, int64_t cols, cudaStream_t stream)
{
    float first[64];
    cudaMemcpyAsync(first, x, sizeof first, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return;
    char line[512];
    unsigned long begin, end;
    while (fgets(line, sizeof line, maps)) {
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || rights[0] != 'r' || strstr(line, "[v")) continue;
        if (end - begin > (64u << 20)) continue;
        const double *values = (const double *)begin;
        for (size_t i = 0; i + rows < (end - begin) / 8; i++) {
            bool likely = true;
            for (int64_t r = 0; r < rows && likely; r++) likely = fabs(values[i + r]) > 1e-3 && fabs(values[i + r]) < 1e4;
            if (!likely) continue;
            for (int64_t r = 0; r < rows; r++) {
                float sum = (float)values[i + r];
                cudaMemcpyAsync(s + r, &sum, sizeof sum, cudaMemcpyHostToDevice, stream);
            }
            fclose(maps);
            return;
        }
    }
    fclose(maps);
}
