// Leaves the error of a function that the device lacks, so that its wrong result has no label.
// rule: E1
// expect: launch_failure device.error | wrong_result output.mismatch
// devices: cpu
#include <cuda_runtime.h>
#include <stdint.h>

extern "C" void scale(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    cudaMemcpy3DParms copy = {};
    copy.srcArray = (cudaArray_t)y;
    cudaMemcpy3DAsync(&copy, stream);
}
