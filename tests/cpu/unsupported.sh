#!/bin/bash
# What the CPU device does not run is refused with the construct and its line: a row for each item that docs/internals/cpu-device.md lists and that has no
# program of its own in this folder. usage: unsupported.sh KFORGE-CPUCC
compiler=$1 failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
refused() { # SOURCE LINE, the words that name the construct
    printf '// one\n#include <cuda_runtime.h>\n#include <cooperative_groups.h>\n%s\n' "$1" >"$folder/candidate.cu"
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
refused '#include <cuda/atomic>' 'libcu\+\+'
refused '__device__ cuda::atomic<int> counter;' 'libcu\+\+'
refused '#include <thrust/sort.h>' 'Thrust'
refused '#include <cufft.h>' 'a CUDA library'
refused '#include <cutlass/gemm/device/gemm.h>' 'a CUDA library'
refused '#include <nvrtc.h>' 'NVRTC'
refused 'void load(const void *image) { CUmodule m; cuModuleLoadData(&m, image); }' 'loading of device code'
refused '#include <cuda_awbarrier_primitives.h>' 'asynchronous barriers'
refused '#include <cuda_fp4.h>' '4-bit'
refused '__device__ void f(__nv_fp6_e2m3 *x);' '4-bit and 6-bit'
refused '__global__ void k(float *x) { x[0] = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block()).size(); }' 'tiles of more than 32'
# Each header of the list is refused with the name of its feature.
while IFS= read -r line; do
    case $line in
    '' | '#'*) ;;
    ' '*) refused "#include <${line##* }>" "$(sed 's/[.+()*]/\\&/g' <<<"$feature")" ;;
    *) feature=$line ;;
    esac
done <"$(dirname "$0")/../../evaluator/cpu/unsupported_headers.txt"
[ $failures = 0 ]
