// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_wmma.cu:4: unsupported on the CPU device: .*tensor cores
#include <mma.h>
__global__ void k() { nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, float> a; }
