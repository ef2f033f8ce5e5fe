#!/bin/bash
# What the CPU device does not run is refused with the construct and its line: a row for each item that docs/internals/cpu-device.md lists and that has no
# program of its own in this folder. usage: unsupported.sh KFORGE-CPUCC
compiler=$1 failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
refused() { # SOURCE LINE, the words that name the construct, a header
    printf '// one\n#include <cuda_runtime.h>\n#include <%s>\n%s\n' \
        "${3:-cooperative_groups.h}" "$1" >"$folder/candidate.cu"
    "$compiler" -o "$folder/x.so" "$folder/candidate.cu" >"$folder/output" 2>&1
    local status=$?
    if [ $status = 3 ] && grep -qE "candidate\.cu:4: unsupported on the CPU device: .*$2" "$folder/output"; then return; fi
    echo "status $status for: $1"
    cat "$folder/output"
    failures=$((failures + 1))
}
refused '__global__ void k(float *x) { cooperative_groups::this_cluster().sync(); }' 'thread block clusters'
refused '__global__ void __cluster_dims__(2, 1, 1) k(float *x) { x[0] = 1; }' 'thread block clusters'
refused '__global__ void k(const __grid_constant__ CUtensorMap map) {}' 'tensor memory accelerator'
refused '__global__ void k(cudaSurfaceObject_t s) { surf2Dwrite(1.0f, s, 0, 0); }' 'textures and surfaces'
refused '__device__ cuda::counting_semaphore<> semaphore;' 'libcu\+\+' cuda/semaphore
refused '__device__ cuda::std::span<int> x;' 'libcu\+\+' cuda/std/span
refused 'void f(thrust::default_random_engine *x);' 'Thrust' thrust/random.h
refused 'void f(int *x) { thrust::merge(thrust::device, x, x, x, x, x); }' 'Thrust' thrust/sort.h
refused 'typedef cub::BlockShuffle<float, 128> A; typedef cub::WarpReduce<int> B;' 'CUB' cub/cub.cuh
refused 'void f(size_t &b) { cub::DeviceScan::Backwards(nullptr, b, 0, 0); }' 'CUB' cub/cub.cuh
refused 'using namespace cub; typedef BlockShuffle<float, 128> A;' 'CUB' cub/block/block_shuffle.cuh
refused 'using namespace nvcuda::wmma; __global__ void k() { fragment<matrix_a, 16, 16, 16, half, row_major> a; fill_fragment(a, half(0)); }' 'tensor cores'
refused 'cufftHandle plan;' 'a CUDA library'
refused 'static curandState s; __device__ float f() { return curand_uniform(&s); }' 'a CUDA library'
refused 'int f() { return CUBLAS_STATUS_SUCCESS; }' 'a CUDA library'
refused 'cutlass::half_t x;' 'a CUDA library'
refused 'void f() { nvrtcProgram p; }' 'NVRTC'
refused 'void f() { cudaIpcMemHandle_t h; cudaIpcGetMemHandle(&h, nullptr); }' 'other processes'
refused '__global__ void k() { cudaGridDependencySynchronize(); }' 'this device lacks'
refused 'void f() { cudaGraphNodeParams p; }' 'this device lacks'
refused '__device__ int f(int a, int b) { return __viaddmax_s32(a, b, 0); }' 'this device lacks'
refused 'void load(const void *image) { CUmodule m; cuModuleLoadData(&m, image); }' 'loading of device code'
refused '__device__ __nv_fp4_e2m1 x;' '4-bit'
refused '__device__ void f(__nv_fp6_e2m3 *x);' '4-bit and 6-bit'
refused '__global__ void k(float *x) { x[0] = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block()).size(); }' 'tiles of more than 32'
refused 'void f(cooperative_groups::block_tile_memory<64> m) { (void)sizeof m; }' 'tiles of more than 32'
# Without the macro this kernel would be empty.
kernel=$(printf '__global__ void k() {\n#if __CUDA_ARCH__ >= 800\n#line 4\nasm("exit;");\n#endif\n}')
refused "$kernel" PTX
refused 'template <int n> __global__ void k() { asm("exit;"); } void f() { k<1><<<1, 1>>>(); }' PTX
refused 'static __device__ void f() { asm("exit;"); } __global__ void k() { f(); }' 'inline PTX'

# A header alone is no use of its feature: what compiles without it is fine.
compiles() { # SOURCE
    printf '// one\n#include <cuda_runtime.h>\n%s\n' "$1" >"$folder/candidate.cu"
    "$compiler" -o "$folder/x.so" "$folder/candidate.cu" >"$folder/output" 2>&1
}
fine() { # SOURCE
    compiles "$1" && return
    echo "not compiled: $1"
    cat "$folder/output"
    failures=$((failures + 1))
}
add='__global__ void k(float *x) { x[0] += 1; }'
headers="mma.h crt/mma.h texture_types.h surface_functions.h cudaTypedefs.h nvrtc.h cuda_fp4.h \
    cuda_awbarrier_primitives.h cublas_v2.h cublasLt.h curand_kernel.h cufft.h cusparse.h nccl.h \
    cusolverDn.h nvml.h cudnn.h cutlass/cutlass.h cute/tensor.hpp cub/cub.cuh thrust/sort.h \
    cub/block/block_shuffle.cuh thrust/async/copy.h cuda/atomic cuda/std/optional nv/target"
# All at once. If that fails, each alone, to name it.
together=$(printf '#include <%s>\n' $headers)
compiles "$together
$add" || {
    cat "$folder/output"
    failures=$((failures + 1))
    for header in $headers; do
        fine "#include <$header>
$add"
    done
}
fine '#include <mma.h>
#include <cub/cub.cuh>
using namespace nvcuda;
using namespace cub;
'"$add"
# PTX that no kernel in use reaches, in more places than the rewriter has findings.
fine "template <int n> __device__ void wait(int x) {
    if (x) asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(n));
    else asm(\"exit;\"); }
template <int n> __global__ void other(float *x) {
    $(for i in $(seq 60); do echo 'asm("bar.sync 0;");'; done)
    wait<n>(1); }
static __device__ __forceinline__ void none() { asm(\"exit;\"); }
$add"
printf '#pragma once\n#include <cub/cub.cuh>\n' >"$folder/mine.cuh"
fine '#include "mine.cuh"
'"$add"
# Of several files, the message names the one with the PTX that is in use.
printf '__global__ void a(float *x) { x[0] = 1; }\ntemplate <int n> __global__ void unused() { asm("exit;"); }\n' >"$folder/first.cu"
printf '\n\n__global__ void b() { asm("exit;"); }\n' >"$folder/second.cu"
"$compiler" -o "$folder/x.so" "$folder/first.cu" "$folder/second.cu" >"$folder/output" 2>&1
[ $? = 3 ] && grep -q 'second\.cu:3: .*inline PTX' "$folder/output" || {
    cat "$folder/output"
    failures=$((failures + 1))
}
# Equal programs are equal files, wherever PTX that no kernel uses stands.
unused='template <int n> __global__ void unused() { asm("exit;"); }'
for text in "$add" "$unused
$add" "$(for i in 1 2 3; do echo "template <int n> __device__ void f$i() { asm(\"exit;\"); }"; done)
$unused
$add"; do
    fine "$text"
    sha256sum "$folder/x.so"
done | sort -u >"$folder/sums"
[ "$(wc -l <"$folder/sums")" = 1 ] || { cat "$folder/sums"; failures=$((failures + 1)); }
# Headers of PyTorch are for the host, where the macro is undefined.
mkdir -p "$folder/include/torch"
printf '#pragma once\n#ifdef __CUDA_ARCH__\n#error device\n#endif\ninline int of_torch() { return 7; }\n' >"$folder/include/torch/extension.h"
for name in '<torch/extension.h>' '"torch/extension.h"'; do
    printf '#include %s\n__global__ void k(int *x) {\n#if __CUDA_ARCH__ >= 800\n*x = 1;\n#endif\n}\nint f() { return of_torch(); }\n' "$name" >"$folder/candidate.cu"
    "$compiler" -I "$folder/include" -o "$folder/x.so" "$folder/candidate.cu" >"$folder/output" 2>&1 || {
        echo "$name"
        cat "$folder/output"
        failures=$((failures + 1))
    }
done
# Outside of the folder for such headers nothing is written.
printf '#include <cub/../../../escaped.h>\n%s\n' "$add" >"$folder/candidate.cu"
"$compiler" -o "$folder/x.so" "$folder/candidate.cu" >"$folder/output" 2>&1
[ $? = 1 ] || { echo "a name with .. did not fail"; failures=$((failures + 1)); }

# A mistake of the candidate's own stays one, whatever it includes.
wrong() { # SOURCE, words of the message
    printf '%s\n' "$1" >"$folder/candidate.cu"
    "$compiler" -o "$folder/x.so" "$folder/candidate.cu" >"$folder/output" 2>&1
    local status=$?
    if [ $status = 1 ] && grep -q "$2" "$folder/output"; then return; fi
    echo "status $status for: $1"
    cat "$folder/output"
    failures=$((failures + 1))
}
wrong '#include <mma.h>
__global__ void k(float *x) { y[0] = 1; }' "candidate.cu:2:.*was not declared"
wrong '#include <cublas_v2.h>
void f() { cudaMemcpyAsyn(nullptr, nullptr, 0); }' "candidate.cu:2:.*was not declared"
wrong 'void f() { cudaMemcpy(1); }' "cudaMemcpy"
wrong '#include <cub/cub.cuh>
__global__ void k(float *x) { cub::WarpReduce<float>::TempStorage t; x[0] = y; }' \
    "candidate.cu:2:.*was not declared"
wrong '__device__ cuda::atomic<int> without_its_header;' "candidate.cu:1:.*cuda"
wrong 'void f() { cudaGraphLunch(nullptr); }' "cudaGraphLunch"
wrong '#include <torch/extension.h>
torch::Tensor f(torch::Tensor a);' "torch/.*: No such file"
[ $failures = 0 ]
