// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_cublas.cu:4: unsupported on the CPU device: .*a CUDA library
#include <cublas_v2.h>
void f() { cublasHandle_t handle; cublasCreate(&handle); }
