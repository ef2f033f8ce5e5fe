#!/bin/sh
# usage: vectorises.sh KFORGE-CPUCC   the loop over the threads of an element-wise kernel must come out as vector instructions
set -eu
[ "$(uname -m)" = x86_64 ] || exit 0
command -v objdump >/dev/null || exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/axpy.cu" <<'CUDA'
#include <cooperative_groups.h>
#include <cuda_runtime.h>
__global__ void axpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" void run(float *x, float *y, int n, cudaStream_t stream) { axpy<<<(n + 255) / 256, 256, 0, stream>>>(2, x, y, n); }
CUDA
"$1" "$folder/axpy.cu" -o "$folder/axpy.so"
objdump -d --no-show-raw-insn "$folder/axpy.so" >"$folder/text"
grep -qE 'fmadd[0-9]+ps|mulps' "$folder/text" || {
    echo "no packed multiplication in the code of axpy"
    exit 1
}
