// Copies and fills, and the execution of operations.
#include "api_internal.h"

#include <string.h>

using namespace kfcpu_api;

namespace
{

// Computes the bytes from the first to the last byte that a pitched box touches. False on overflow.
bool span(const cudaExtent &extent, size_t pitch, size_t slice, size_t *bytes)
{
    if (!extent.width || !extent.height || !extent.depth) {
        *bytes = 0;
        return true;
    }
    size_t rows, slices;
    return !__builtin_mul_overflow(extent.height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(extent.depth - 1, slice, &slices) &&
           !__builtin_add_overflow(rows, slices, bytes) &&
           !__builtin_add_overflow(*bytes, extent.width, bytes);
}

char *begin(const cudaPitchedPtr &pitched, const cudaPos &position)
{
    return static_cast<char *>(pitched.ptr) + position.z * pitched.pitch * pitched.ysize +
           position.y * pitched.pitch + position.x;
}

void copy_box(const cudaMemcpy3DParms &copy)
{
    char *to = begin(copy.dstPtr, copy.dstPos);
    const char *from = begin(copy.srcPtr, copy.srcPos);
    const cudaExtent &extent = copy.extent;
    bool one_piece = extent.height * extent.depth == 1 ||
                     (copy.dstPtr.pitch == extent.width && copy.srcPtr.pitch == extent.width &&
                      (extent.depth == 1 ||
                       (copy.dstPtr.ysize == extent.height && copy.srcPtr.ysize == extent.height)));
    if (one_piece) {
        memmove(to, from, extent.width * extent.height * extent.depth);
        return;
    }
    for (size_t z = 0; z < extent.depth; z++)
        for (size_t y = 0; y < extent.height; y++)
            memmove(to + (z * copy.dstPtr.ysize + y) * copy.dstPtr.pitch,
                    from + (z * copy.srcPtr.ysize + y) * copy.srcPtr.pitch, extent.width);
}

void fill_row(char *to, unsigned value, unsigned size, size_t width)
{
    if (size == 1) {
        memset(to, int(value & 0xff), width);
    } else if (size == 2) {
        for (size_t i = 0; i < width; i++) reinterpret_cast<uint16_t *>(to)[i] = uint16_t(value);
    } else {
        for (size_t i = 0; i < width; i++) reinterpret_cast<uint32_t *>(to)[i] = value;
    }
}

void fill_box(const operation &what)
{
    const cudaMemsetParams &fill = what.fill;
    for (size_t z = 0; z < what.fill_depth; z++)
        for (size_t y = 0; y < fill.height; y++)
            fill_row(static_cast<char *>(fill.dst) + z * what.fill_slice + y * fill.pitch,
                     fill.value, fill.elementSize, fill.width);
}

operation copy_operation(const cudaMemcpy3DParms &copy)
{
    operation what;
    what.type = cudaGraphNodeTypeMemcpy;
    what.copy = copy;
    return what;
}

cudaMemcpy3DParms box_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms copy{};
    copy.srcPtr = cudaPitchedPtr{const_cast<void *>(from), from_pitch, width, height};
    copy.dstPtr = cudaPitchedPtr{to, to_pitch, width, height};
    copy.extent = cudaExtent{width, height, 1};
    copy.kind = kind;
    return copy;
}

cudaError_t issue_copy(const cudaMemcpy3DParms &copy, cudaStream_t stream, bool synchronous)
{
    return entry([&]() -> cudaError_t {
        cudaError_t error = check_copy(copy);
        if (error == cudaSuccess && synchronous) error = refuse_during_capture();
        return error != cudaSuccess ? error : issue(stream, copy_operation(copy));
    });
}

cudaError_t issue_fill(const cudaMemsetParams &fill, size_t depth, size_t slice,
                       cudaStream_t stream)
{
    return entry([&]() -> cudaError_t {
        operation what;
        what.type = cudaGraphNodeTypeMemset;
        what.fill = fill;
        what.fill_depth = depth;
        what.fill_slice = slice;
        if (fill.width == 0 || fill.height == 0 || depth == 0) return cudaSuccess;
        cudaError_t error = check_fill(fill);
        return error != cudaSuccess ? error : issue(stream, std::move(what));
    });
}

} // namespace

namespace kfcpu_api
{

cudaMemcpy3DParms linear_copy(void *to, const void *from, size_t count, cudaMemcpyKind kind)
{
    return box_copy(to, count, from, count, count, 1, kind);
}

cudaError_t check_copy(const cudaMemcpy3DParms &copy)
{
    if (copy.srcArray || copy.dstArray) return cudaErrorNotSupported;
    if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    const cudaExtent &extent = copy.extent;
    if (!extent.width || !extent.height || !extent.depth) return cudaSuccess;
    if (!copy.srcPtr.ptr || !copy.dstPtr.ptr) return cudaErrorInvalidValue;
    bool rows = extent.height > 1 || extent.depth > 1;
    if (rows && (copy.srcPtr.pitch < extent.width || copy.dstPtr.pitch < extent.width))
        return cudaErrorInvalidPitchValue;
    size_t from, to, from_slice, to_slice;
    if (__builtin_mul_overflow(copy.srcPtr.pitch, copy.srcPtr.ysize, &from_slice) ||
        __builtin_mul_overflow(copy.dstPtr.pitch, copy.dstPtr.ysize, &to_slice) ||
        !span(extent, copy.srcPtr.pitch, from_slice, &from) ||
        !span(extent, copy.dstPtr.pitch, to_slice, &to))
        return cudaErrorInvalidValue;
    bool valid = range_is_valid(begin(copy.srcPtr, copy.srcPos), from) &&
                 range_is_valid(begin(copy.dstPtr, copy.dstPos), to);
    return valid ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t check_fill(const cudaMemsetParams &fill)
{
    if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4)
        return cudaErrorInvalidValue;
    size_t row, bytes;
    if (__builtin_mul_overflow(fill.width, size_t(fill.elementSize), &row))
        return cudaErrorInvalidValue;
    if (!fill.dst || reinterpret_cast<uintptr_t>(fill.dst) % fill.elementSize)
        return cudaErrorInvalidValue;
    if (fill.height > 1 && fill.pitch < row) return cudaErrorInvalidValue;
    if (!span(cudaExtent{row, fill.height, 1}, fill.pitch, 0, &bytes)) return cudaErrorInvalidValue;
    return range_is_valid(fill.dst, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t perform(const operation &what)
{
    switch (what.type) {
    case cudaGraphNodeTypeKernel:
        return run_kernel(what.kernel.geometry, what.kernel.loop, what.kernel.closure.get());
    case cudaGraphNodeTypeMemcpy:
        if (what.copy.extent.width && what.copy.extent.height && what.copy.extent.depth)
            copy_box(what.copy);
        return cudaSuccess;
    case cudaGraphNodeTypeMemset: fill_box(what); return cudaSuccess;
    case cudaGraphNodeTypeHost:
        if (what.callback)
            what.callback(what.callback_stream, cudaSuccess, what.host.userData);
        else
            what.host.fn(what.host.userData);
        return cudaSuccess;
    case cudaGraphNodeTypeGraph: return run_graph(*what.child);
    case cudaGraphNodeTypeEventRecord: {
        guard hold(state);
        if (!is_event_locked(what.event)) return cudaErrorInvalidResourceHandle;
        clock_gettime(CLOCK_MONOTONIC, &what.event->time);
        what.event->recorded = true;
        return cudaSuccess;
    }
    /* Empty nodes, waits and graph memory have nothing left to do. */
    default: return cudaSuccess;
    }
}

} // namespace kfcpu_api

cudaError_t cudaMemcpy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind)
{
    return issue_copy(linear_copy(to, from, count, kind), nullptr, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return issue_copy(linear_copy(to, from, count, kind), stream, false);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return issue_copy(box_copy(to, to_pitch, from, from_pitch, width, height, kind), nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    return issue_copy(box_copy(to, to_pitch, from, from_pitch, width, height, kind), stream, false);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    return parameters ? issue_copy(*parameters, nullptr, true) : note(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
    return parameters ? issue_copy(*parameters, stream, false) : note(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t count)
{
    if (to_device != 0 || from_device != 0) return note(cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, count, cudaMemcpyDefault);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t count, cudaStream_t stream)
{
    if (to_device != 0 || from_device != 0) return note(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, count, cudaMemcpyDefault, stream);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream)
{
    return issue_fill(cudaMemsetParams{to, count, unsigned(value) & 0xff, 1, count, 1}, 1, 0,
                      stream);
}

cudaError_t cudaMemset(void *to, int value, size_t count)
{
    return cudaMemsetAsync(to, value, count, nullptr);
}

cudaError_t cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    return issue_fill(cudaMemsetParams{to, pitch, unsigned(value) & 0xff, 1, width, height}, 1, 0,
                      stream);
}

cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    size_t slice, bytes;
    if (__builtin_mul_overflow(to.pitch, to.ysize, &slice) ||
        !span(extent, to.pitch, slice, &bytes) || !range_is_valid(to.ptr, bytes))
        return note(cudaErrorInvalidValue);
    return issue_fill(
        cudaMemsetParams{to.ptr, to.pitch, unsigned(value) & 0xff, 1, extent.width, extent.height},
        extent.depth, slice, stream);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    return cudaMemset3DAsync(to, value, extent, nullptr);
}
