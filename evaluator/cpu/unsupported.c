/* The tables of names and headers of unsupported features (unsupported.h). */
#include "unsupported.h"

#include <string.h>

enum { TENSOR, TEXTURE, CLUSTER, TMA, LIBRARY, CCCL, DRIVER, PIPELINE, FP8, PTX };

static const kf_unsupported constructs[] = {
    [TENSOR] = {"tensor cores (nvcuda::wmma)",
                "write the product with ordinary arithmetic, or use a CUDA device", false},
    [TEXTURE] = {"textures and surfaces", "read the array through a pointer, or use a CUDA device",
                 false},
    [CLUSTER] = {"thread block clusters and distributed shared memory",
                 "use one block's shared memory, or a CUDA device", false},
    [TMA] = {"the tensor memory accelerator (TMA)",
             "copy with ordinary loads, or use a CUDA device", false},
    [LIBRARY] = {"a CUDA library (cuBLAS, cuDNN, cuFFT, cuRAND, cuSPARSE, cuSOLVER)",
                 "write the kernel by hand, or use a CUDA device", false},
    [CCCL] = {"CUB, Thrust or libcu++", "write the kernel by hand, or use a CUDA device", false},
    [DRIVER] = {"the driver API, NVRTC or loading of device code",
                "use the runtime API, or a CUDA device", false},
    [PIPELINE] = {"asynchronous copy pipelines",
                  "copy with ordinary loads and __syncthreads, or use a CUDA device", false},
    [FP8] = {"4-bit and 6-bit floating types",
             "use float, half, bfloat16 or 8-bit types, or a CUDA device", false},
    [PTX] = {"intrinsics for inline PTX", "write it in CUDA C, or use a CUDA device", false},
};

const kf_unsupported kf_unsupported_assembly = {
    "inline PTX (asm)",
    "write it in CUDA C, keep the PTX under #ifdef __CUDA_ARCH__, or use a CUDA device", true};
const kf_unsupported kf_unsupported_device_launch = {
    "a kernel launch in device code", "launch from the host, or use a CUDA device", true};

typedef struct row {
    const char *prefix;
    /* How `prefix` is compared: with the whole word, its beginning, or a namespace. */
    enum { WHOLE, PREFIX, SCOPE } how;
    int construct;
} row;

static const row words[] = {
    {"nvcuda", SCOPE, TENSOR},
    {"wmma", SCOPE, TENSOR},
    {"mma_sync", WHOLE, TENSOR},
    {"load_matrix_sync", WHOLE, TENSOR},
    {"tex1D", PREFIX, TEXTURE},
    {"tex2D", PREFIX, TEXTURE},
    {"tex3D", PREFIX, TEXTURE},
    {"texCubemap", PREFIX, TEXTURE},
    {"surf1D", PREFIX, TEXTURE},
    {"surf2D", PREFIX, TEXTURE},
    {"surf3D", PREFIX, TEXTURE},
    {"cudaTextureObject_t", WHOLE, TEXTURE},
    {"cudaSurfaceObject_t", WHOLE, TEXTURE},
    {"cudaCreateTextureObject", WHOLE, TEXTURE},
    {"cudaCreateSurfaceObject", WHOLE, TEXTURE},
    {"cudaBindTexture", PREFIX, TEXTURE},
    {"cudaMallocArray", WHOLE, TEXTURE},
    {"cudaMalloc3DArray", WHOLE, TEXTURE},
    {"this_cluster", WHOLE, CLUSTER},
    {"cluster_group", WHOLE, CLUSTER},
    {"map_shared_rank", WHOLE, CLUSTER},
    {"__cluster_dims__", WHOLE, CLUSTER},
    {"__cluster_", PREFIX, CLUSTER},
    {"__clusterDim", WHOLE, CLUSTER},
    {"__clusterIdx", WHOLE, CLUSTER},
    {"cudaLaunchAttributeClusterDimension", WHOLE, CLUSTER},
    {"cudaOccupancyMaxActiveClusters", WHOLE, CLUSTER},
    {"CUtensorMap", PREFIX, TMA},
    {"cuTensorMapEncode", PREFIX, TMA},
    {"cp_async_bulk", PREFIX, TMA},
    {"cublas", PREFIX, LIBRARY},
    {"cudnn", PREFIX, LIBRARY},
    {"cufft", PREFIX, LIBRARY},
    {"curand", PREFIX, LIBRARY},
    {"cusparse", PREFIX, LIBRARY},
    {"cusolver", PREFIX, LIBRARY},
    {"cutlass", SCOPE, LIBRARY},
    {"cute", SCOPE, LIBRARY},
    {"cub", SCOPE, CCCL},
    {"thrust", SCOPE, CCCL},
    {"cuda", SCOPE, CCCL},
    {"nvrtc", PREFIX, DRIVER},
    {"cuModule", PREFIX, DRIVER},
    {"cuLaunchKernel", PREFIX, DRIVER},
    {"cuLibrary", PREFIX, DRIVER},
    {"cudaLibrary", PREFIX, DRIVER},
    {"cudaGetDriverEntryPoint", PREFIX, DRIVER},
    {"cuMem", PREFIX, DRIVER},
    {"cudaGraphConditionalHandle", PREFIX, DRIVER},
    {"cudaGraphInstantiateFlagDeviceLaunch", WHOLE, DRIVER},
    {"__mbarrier_", PREFIX, PIPELINE},
    {"__nv_fp4", PREFIX, FP8},
    {"__nv_fp6", PREFIX, FP8},
    {"__cvta_generic_to_", PREFIX, PTX},
    {"__nvvm_", PREFIX, PTX},
    {"__nv_ptx_", PREFIX, PTX},
};

static const row headers[] = {
    {"mma.h", WHOLE, TENSOR},
    {"crt/mma", PREFIX, TENSOR},
    {"texture_", PREFIX, TEXTURE},
    {"surface_", PREFIX, TEXTURE},
    {"cudaTypedefs.h", WHOLE, TMA},
    {"cublas", PREFIX, LIBRARY},
    {"cudnn", PREFIX, LIBRARY},
    {"cufft", PREFIX, LIBRARY},
    {"curand", PREFIX, LIBRARY},
    {"cusparse", PREFIX, LIBRARY},
    {"cusolver", PREFIX, LIBRARY},
    {"cutlass/", PREFIX, LIBRARY},
    {"cute/", PREFIX, LIBRARY},
    {"npp", PREFIX, LIBRARY},
    {"nccl", PREFIX, LIBRARY},
    {"cub/", PREFIX, CCCL},
    {"thrust/", PREFIX, CCCL},
    {"cuda/", PREFIX, CCCL},
    {"nv/target", WHOLE, CCCL},
    {"nvrtc", PREFIX, DRIVER},

    {"cuda_awbarrier", PREFIX, PIPELINE},

    {"cuda_fp4", PREFIX, FP8},
    {"cuda_fp6", PREFIX, FP8},
    {"cudaGL", PREFIX, DRIVER},
    {"cuda_gl_", PREFIX, DRIVER},
    {"cuda_device_runtime_api.h", WHOLE, DRIVER},
    {"nvml.h", WHOLE, DRIVER},

    {"torch/", PREFIX, LIBRARY},
    {"ATen/", PREFIX, LIBRARY},
    {"c10/", PREFIX, LIBRARY},
};

static const kf_unsupported *look_up(const row *rows, size_t count, const char *name, size_t size,
                                     bool scope)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(rows[i].prefix);
        if (name[0] != rows[i].prefix[0] || size < length ||
            memcmp(name, rows[i].prefix, length) != 0)
            continue;
        if (rows[i].how == PREFIX || (size == length && (rows[i].how == WHOLE || scope)))
            return &constructs[rows[i].construct];
    }
    return NULL;
}

const kf_unsupported *kf_unsupported_find(const char *word, size_t size, bool scope)
{
    return look_up(words, sizeof words / sizeof *words, word, size, scope);
}

const kf_unsupported *kf_unsupported_header(const char *name, size_t size)
{
    return look_up(headers, sizeof headers / sizeof *headers, name, size, false);
}
