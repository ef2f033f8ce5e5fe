/* The CUDA driver, loaded at run time. So one program runs with and without a GPU, and the build
 * needs no CUDA headers. Types and numbers are those of cuda.h, as far as kforge uses them. The ABI
 * of a versioned symbol does not change. Runners link this file, so it uses only gpu_remedy.h. */
#ifndef KFORGE_DRIVER_CUDA_H
#define KFORGE_DRIVER_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_pointer, cu_handle;
typedef struct CUctx_st *cu_context;
typedef struct CUstream_st *cu_stream;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUevent_st *cu_event;
typedef struct CUmemPoolHandle_st *cu_pool;

typedef struct cu_uuid {
    unsigned char bytes[16];
} cu_uuid;

typedef struct cu_location {
    int type, id;
} cu_location;

typedef struct cu_allocation { /* CUmemAllocationProp */
    int type, handle_types;
    cu_location location;
    void *windows;
    struct {
        unsigned char compression, gpu_direct;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} cu_allocation;

typedef struct cu_access { /* CUmemAccessDesc */
    cu_location location;
    int flags;
} cu_access;

typedef struct cu_row_end { /* one side of a CUDA_MEMCPY2D */
    size_t x, y;
    int type;
    const void *host;
    cu_pointer device;
    void *array;
    size_t pitch;
} cu_row_end;

typedef struct cu_rows { /* CUDA_MEMCPY2D */
    cu_row_end from, to;
    size_t width, height;
} cu_rows;

enum {
    CU_SUCCESS = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_ATTRIBUTE_MULTIPROCESSORS = 16,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_VMM = 102,
    CU_ATTRIBUTE_POSIX_HANDLES = 103,
    CU_ALLOCATION_PINNED = 1,
    CU_HANDLE_POSIX = 1,
    CU_LOCATION_DEVICE = 1,
    CU_ACCESS_READ = 1,
    CU_ACCESS_READ_WRITE = 3,
    CU_SCHEDULE_SPIN = 1,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DEFAULT = 0,
    CU_HOST_ON_DEVICE = 2, /* CU_MEMHOSTALLOC_DEVICEMAP */
    CU_WAIT_EQUAL = 1,
    CU_MEMORY_HOST = 1,
    CU_MEMORY_DEVICE = 2,
    CU_POOL_RELEASE_THRESHOLD = 4,
};

/* Each row: the member's name, the symbol, the parameters, and the same as arguments. */
#define KF_CUDA_FUNCTIONS(X)                                                                       \
    X(init, "cuInit", (unsigned flags), (flags))                                                   \
    X(version, "cuDriverGetVersion", (int *version), (version))                                    \
    X(error_name, "cuGetErrorName", (cu_result result, const char **name), (result, name))         \
    X(error_text, "cuGetErrorString", (cu_result result, const char **text), (result, text))       \
    X(device_count, "cuDeviceGetCount", (int *count), (count))                                     \
    X(device_get, "cuDeviceGet", (cu_device * device, int ordinal), (device, ordinal))             \
    X(device_name, "cuDeviceGetName", (char *name, int length, cu_device device),                  \
      (name, length, device))                                                                      \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device),     \
      (value, attribute, device))                                                                  \
    X(device_uuid, "cuDeviceGetUuid_v2", (cu_uuid * uuid, cu_device device), (uuid, device))       \
    X(context_flags, "cuDevicePrimaryCtxSetFlags_v2", (cu_device device, unsigned flags),          \
      (device, flags))                                                                             \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cu_context * context, cu_device device),        \
      (context, device))                                                                           \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (cu_device device), (device))               \
    X(context_set, "cuCtxSetCurrent", (cu_context context), (context))                             \
    X(context_get, "cuCtxGetCurrent", (cu_context * context), (context))                           \
    X(context_synchronize, "cuCtxSynchronize", (void), ())                                         \
    X(context_reset_l2, "cuCtxResetPersistingL2Cache", (void), ())                                 \
    X(stream_create, "cuStreamCreate", (cu_stream * stream, unsigned flags), (stream, flags))      \
    X(stream_destroy, "cuStreamDestroy_v2", (cu_stream stream), (stream))                          \
    X(stream_synchronize, "cuStreamSynchronize", (cu_stream stream), (stream))                     \
    X(stream_wait, "cuStreamWaitValue32_v2",                                                       \
      (cu_stream stream, cu_pointer address, uint32_t value, unsigned flags),                      \
      (stream, address, value, flags))                                                             \
    X(event_create, "cuEventCreate", (cu_event * event, unsigned flags), (event, flags))           \
    X(event_destroy, "cuEventDestroy_v2", (cu_event event), (event))                               \
    X(event_record, "cuEventRecord", (cu_event event, cu_stream stream), (event, stream))          \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, cu_event start, cu_event end),    \
      (milliseconds, start, end))                                                                  \
    X(launch_host, "cuLaunchHostFunc",                                                             \
      (cu_stream stream, void (*function)(void *), void *argument), (stream, function, argument))  \
    X(module_load, "cuModuleLoadData", (cu_module * module, const void *image), (module, image))   \
    X(module_unload, "cuModuleUnload", (cu_module module), (module))                               \
    X(module_function, "cuModuleGetFunction",                                                      \
      (cu_function * function, cu_module module, const char *name), (function, module, name))      \
    X(launch, "cuLaunchKernel",                                                                    \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                \
       void **parameters, void **extra),                                                           \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,          \
       parameters, extra))                                                                         \
    X(memory_info, "cuMemGetInfo_v2", (size_t * free_bytes, size_t * total_bytes),                 \
      (free_bytes, total_bytes))                                                                   \
    X(allocate, "cuMemAlloc_v2", (cu_pointer * pointer, size_t bytes), (pointer, bytes))           \
    X(allocate_async, "cuMemAllocAsync", (cu_pointer * pointer, size_t bytes, cu_stream stream),   \
      (pointer, bytes, stream))                                                                    \
    X(release, "cuMemFree_v2", (cu_pointer pointer), (pointer))                                    \
    X(allocate_host, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags),             \
      (pointer, bytes, flags))                                                                     \
    X(release_host, "cuMemFreeHost", (void *pointer), (pointer))                                   \
    X(release_async, "cuMemFreeAsync", (cu_pointer pointer, cu_stream stream), (pointer, stream))  \
    X(copy_in, "cuMemcpyHtoDAsync_v2",                                                             \
      (cu_pointer to, const void *from, size_t bytes, cu_stream stream),                           \
      (to, from, bytes, stream))                                                                   \
    X(copy_out, "cuMemcpyDtoHAsync_v2",                                                            \
      (void *to, cu_pointer from, size_t bytes, cu_stream stream), (to, from, bytes, stream))      \
    X(copy_over, "cuMemcpyDtoDAsync_v2",                                                           \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream), (to, from, bytes, stream)) \
    X(copy_rows, "cuMemcpy2DAsync_v2", (const cu_rows *rows, cu_stream stream), (rows, stream))    \
    X(set_bytes, "cuMemsetD8Async",                                                                \
      (cu_pointer to, unsigned char value, size_t bytes, cu_stream stream),                        \
      (to, value, bytes, stream))                                                                  \
    X(default_pool, "cuDeviceGetDefaultMemPool", (cu_pool * pool, cu_device device),               \
      (pool, device))                                                                              \
    X(pool_set, "cuMemPoolSetAttribute", (cu_pool pool, int attribute, void *value),               \
      (pool, attribute, value))                                                                    \
    X(granularity, "cuMemGetAllocationGranularity",                                                \
      (size_t * bytes, const cu_allocation *allocation, int option), (bytes, allocation, option))  \
    X(handle_create, "cuMemCreate",                                                                \
      (cu_handle * handle, size_t bytes, const cu_allocation *allocation,                          \
       unsigned long long flags),                                                                  \
      (handle, bytes, allocation, flags))                                                          \
    X(handle_release, "cuMemRelease", (cu_handle handle), (handle))                                \
    X(handle_export, "cuMemExportToShareableHandle",                                               \
      (void *fd, cu_handle handle, int type, unsigned long long flags), (fd, handle, type, flags)) \
    X(handle_import, "cuMemImportFromShareableHandle", (cu_handle * handle, void *fd, int type),   \
      (handle, fd, type))                                                                          \
    X(address_reserve, "cuMemAddressReserve",                                                      \
      (cu_pointer * pointer, size_t bytes, size_t alignment, cu_pointer wanted,                    \
       unsigned long long flags),                                                                  \
      (pointer, bytes, alignment, wanted, flags))                                                  \
    X(address_free, "cuMemAddressFree", (cu_pointer pointer, size_t bytes), (pointer, bytes))      \
    X(map, "cuMemMap",                                                                             \
      (cu_pointer pointer, size_t bytes, size_t offset, cu_handle handle,                          \
       unsigned long long flags),                                                                  \
      (pointer, bytes, offset, handle, flags))                                                     \
    X(unmap, "cuMemUnmap", (cu_pointer pointer, size_t bytes), (pointer, bytes))                   \
    X(set_access, "cuMemSetAccess",                                                                \
      (cu_pointer pointer, size_t bytes, const cu_access *access, size_t count),                   \
      (pointer, bytes, access, count))

typedef struct kf_cuda {
    void *library;
#define X(name, symbol, parameters, arguments) cu_result(*name) parameters;
    KF_CUDA_FUNCTIONS(X)
#undef X
} kf_cuda;

/* Loads and initialises the driver. False: `text` says what is missing, followed by "; " and what
 * to do. */
bool kf_cuda_load(kf_cuda *cuda, char *text, size_t size);
/* Writes the name and the description of an error: "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory
 * access was encountered (700)". */
void kf_cuda_describe(const kf_cuda *cuda, cu_result result, char *text, size_t size);
/* Finds the folder of the loaded driver, with links resolved. */
bool kf_cuda_folder(const kf_cuda *cuda, char *folder, size_t size);

#endif
