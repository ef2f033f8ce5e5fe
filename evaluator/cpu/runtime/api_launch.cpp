// Launches: the stack of configurations that `<<<…>>>` pushes, the calls of a kernel's stub
// (include/kfcpu_stub.h), launches by address, function attributes and occupancy.
#include "api_internal.h"

#include <dlfcn.h>
#include <string.h>

#include "kfcpu/exec.h"

using namespace kfcpu_api;

namespace
{

thread_local std::vector<kfcpu_geometry> configured; // pushed and not yet taken
// The question of the runtime to the stub that it is about to call.
thread_local kfcpu::call *asked;
thread_local kfcpu::call taken; // the configured launch that a stub works on
// The error of the last kfcpu_bound for a launch by address.
thread_local cudaError_t bound_error;
// Where a launch by address stores its kernel in place of running it.
thread_local kernel_call *bound_to;
constexpr size_t default_dynamic_shared = 48 << 10;

#if defined __x86_64__
constexpr unsigned char no_operation[] = {0x90};
#elif defined __aarch64__
constexpr unsigned char no_operation[] = {0x1f, 0x20, 0x03, 0xd5};
#else
#error "add the no-operation instruction of this processor"
#endif
constexpr size_t prefix_size = KFCPU_KERNEL_PREFIX * sizeof no_operation;

bool has_prefix(const unsigned char *code)
{
    for (size_t i = 0; i < prefix_size; i++)
        if (code[-ptrdiff_t(prefix_size) + ptrdiff_t(i)] != no_operation[i % sizeof no_operation])
            return false;
    return true;
}

// True if no-operations stand before `address`, as KFCPU_KERNEL requires. Reads only addresses
// inside a loaded program or library.
bool is_kernel(const void *address)
{
    Dl_info info, before;
    if (!address || !dladdr(address, &info) || !info.dli_fbase) return false;
    const char *first = static_cast<const char *>(address) - prefix_size;
    return dladdr(first, &before) && before.dli_fbase == info.dli_fbase &&
           has_prefix(static_cast<const unsigned char *>(address));
}

// Returns the kernel with the stub that contains the instruction. A stub is short.
const void *kernel_around(const void *instruction)
{
    auto code = static_cast<const unsigned char *>(instruction);
    for (size_t back = 0; back < 4096; back++)
        if (has_prefix(code - back)) return code - back;
    return nullptr;
}
thread_local const void *caller; // the caller of kfcpu_take_call

// Returns the error of a GPU for an address that is no kernel.
cudaError_t no_kernel(const void *address)
{
    return address ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
}

size_t dynamic_limit(const kfcpu::stub *kernel)
{
    return kernel && size_t(kernel->max_dynamic_shared) > default_dynamic_shared
               ? size_t(kernel->max_dynamic_shared)
               : default_dynamic_shared;
}

int thread_limit(const kfcpu::stub &kernel)
{
    return kernel.max_threads > 0 && kernel.max_threads < kfcpu_limits.threads_per_block
               ? kernel.max_threads
               : kfcpu_limits.threads_per_block;
}

// Notes which limit of a launch is exceeded. CUDA's error code does not say that.
cudaError_t refuse(const kfcpu_geometry &geometry, const char *what, uint64_t value, uint64_t most,
                   cudaError_t error = cudaErrorInvalidValue)
{
    if (!value) return cudaError_t(kfcpu_refuse(&geometry, error, "0 %s, must be 1 or more", what));
    return cudaError_t(kfcpu_refuse(&geometry, error, "%llu %s, limit %llu",
                                    (unsigned long long)value, what, (unsigned long long)most));
}

void fill_kernel(kernel_call *to, const kfcpu::call &from, const void *address)
{
    to->geometry = from.geometry;
    to->loop = from.loop;
    to->closure = std::shared_ptr<void>(from.clone(from.closure), from.destroy);
    to->address = address;
    to->values.clear();
    to->pointers.clear();
    for (int i = 0; i < from.parameters; i++) {
        const char *value = static_cast<const char *>(from.values[i]);
        to->values.emplace_back(value, value + from.sizes[i]);
    }
    for (auto &value : to->values) to->pointers.push_back(value.data());
}

// Launches a stub with its kernel: at once, or as a node of the graph that its stream captures.
cudaError_t launch_bound(const kfcpu::call &c, const void *address)
{
    cudaError_t error = check_launch(c.geometry, c.kernel);
    if (error != cudaSuccess) return error;
    bool captures;
    {
        guard hold(state);
        cudaStream_t stream = find_stream_locked(c.geometry.stream);
        if (!stream) return cudaErrorInvalidResourceHandle;
        error = stream->capture ? cudaSuccess : refuse_legacy_locked(stream);
        if (error != cudaSuccess) return error;
        captures = stream->capture != nullptr;
    }
    if (!captures) return run_kernel(c.geometry, c.loop, const_cast<void *>(c.closure));
    operation what;
    what.type = cudaGraphNodeTypeKernel;
    fill_kernel(&what.kernel, c, address);
    return issue(c.geometry.stream, std::move(what));
}

cudaError_t launch_by_address(const void *address, const kfcpu_geometry &geometry, void **arguments)
{
    return entry([&]() -> cudaError_t {
        kfcpu::call c{};
        c.what = kfcpu::intent::packed;
        c.geometry = geometry;
        c.arguments = arguments;
        bound_error = cudaErrorUnknown;
        return ask_kernel(address, &c) ? bound_error : no_kernel(address);
    });
}

} // namespace

namespace kfcpu_api
{

bool ask_kernel(const void *address, kfcpu::call *what)
{
    if (!is_kernel(address)) return false;
    kfcpu::call *outer = asked;
    asked = what;
    reinterpret_cast<void (*)()>(const_cast<void *>(address))();
    asked = outer;
    return true;
}

// The error codes are those of a CUDA 13 driver. It has one code for every invalid geometry.
cudaError_t check_launch(const kfcpu_geometry &geometry, const kfcpu::stub *kernel)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!geometry.grid[i] || geometry.grid[i] > kfcpu_limits.grid[i])
            return refuse(geometry, "blocks in one axis of the grid", geometry.grid[i],
                          kfcpu_limits.grid[i]);
        threads *= geometry.block[i];
    }
    uint64_t most = uint64_t(kernel ? thread_limit(*kernel) : kfcpu_limits.threads_per_block);
    if (threads > most) return refuse(geometry, "threads in a block", threads, most);
    for (int i = 0; i < 3; i++)
        if (!geometry.block[i] || geometry.block[i] > kfcpu_limits.block[i])
            return refuse(geometry, "threads in one axis of a block", geometry.block[i],
                          kfcpu_limits.block[i]);
    if (geometry.dynamic_shared > dynamic_limit(kernel))
        return refuse(geometry, "bytes of dynamic shared memory", geometry.dynamic_shared,
                      dynamic_limit(kernel));
    if (geometry.cooperative) {
        uint64_t blocks = uint64_t(geometry.grid[0]) * geometry.grid[1] * geometry.grid[2];
        uint64_t room = uint64_t(kfcpu_blocks_per_sm(int(threads), geometry.dynamic_shared)) *
                        uint64_t(kfcpu_thread_count());
        if (blocks > room)
            return refuse(geometry, "blocks of a cooperative launch", blocks, room,
                          cudaErrorCooperativeLaunchTooLarge);
    }
    return cudaSuccess;
}

cudaError_t run_kernel(const kfcpu_geometry &geometry, kfcpu_loop loop, void *closure)
{
    cudaError_t error = cudaError_t(kfcpu_execute(&geometry, loop, closure));
    bool broken = error == cudaErrorLaunchFailure || error == cudaErrorAssert ||
                  error == cudaErrorIllegalAddress || error == cudaErrorMisalignedAddress ||
                  error == cudaErrorIllegalInstruction || error == cudaErrorLaunchTimeout;
    if (broken) break_context(error);
    return error;
}

cudaError_t bind_kernel(const cudaKernelNodeParams &parameters, kernel_call *bound)
{
    /* The driver API's packed buffer: only the compiler knows its layout. */
    if (parameters.extra) return cudaErrorNotSupported;
    kfcpu::call c{};
    c.what = kfcpu::intent::packed;
    c.geometry =
        kfcpu_geometry{{parameters.gridDim.x, parameters.gridDim.y, parameters.gridDim.z},
                       {parameters.blockDim.x, parameters.blockDim.y, parameters.blockDim.z},
                       parameters.sharedMemBytes,
                       nullptr,
                       bound->geometry.cooperative,
                       nullptr};
    c.arguments = parameters.kernelParams;
    bound_error = cudaErrorUnknown;
    bound_to = bound;
    bool asked_it = ask_kernel(parameters.func, &c);
    bound_to = nullptr;
    if (!asked_it) return no_kernel(parameters.func);
    bound->address = parameters.func;
    return bound_error;
}

} // namespace kfcpu_api

void kfcpu_push_call(const kfcpu_geometry *geometry)
{
    configured.push_back(*geometry);
}

kfcpu::call *kfcpu_take_call(const char *)
{
    if (asked) {
        kfcpu::call *c = asked;
        asked = nullptr;
        return c;
    }
    if (configured.empty()) {
        note(cudaErrorMissingConfiguration);
        return nullptr;
    }
    caller = __builtin_return_address(0);
    taken = kfcpu::call{};
    taken.what = kfcpu::intent::configured;
    taken.geometry = configured.back();
    configured.pop_back();
    return &taken;
}

void kfcpu_bound(kfcpu::call *c)
{
    if (c->what == kfcpu::intent::attributes) return;
    c->geometry.kernel = c->kernel->name;
    if (c->what == kfcpu::intent::configured) {
        /* A copy, because the kernel's host functions may launch again in this thread. */
        kfcpu::call own = *c;
        const void *from = caller;
        entry([&] {
            return launch_bound(own,
                                is_capturing(own.geometry.stream) ? kernel_around(from) : nullptr);
        });
    } else if (bound_to) {
        bound_error = check_launch(c->geometry, c->kernel);
        if (bound_error == cudaSuccess) fill_kernel(bound_to, *c, bound_to->address);
    } else {
        bound_error = launch_bound(*c, nullptr);
    }
}

// ---- Launches by address

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    return launch_by_address(
        kernel, {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, 0, nullptr},
        arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        size_t shared, cudaStream_t stream)
{
    return launch_by_address(
        kernel, {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, 1, nullptr},
        arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments)
{
    if (!config || (config->numAttrs && !config->attrs)) return note(cudaErrorInvalidValue);
    int cooperative = 0;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute &attribute = config->attrs[i];
        if (attribute.id == cudaLaunchAttributeCooperative) {
            cooperative = attribute.val.cooperative;
        } else if (attribute.id == cudaLaunchAttributeClusterDimension) {
            /* A cluster of one block is allowed. */
            const auto &cluster = attribute.val.clusterDim;
            if (uint64_t(cluster.x) * cluster.y * cluster.z != 1)
                return note(cudaErrorInvalidClusterSize);
        } else if (attribute.id == cudaLaunchAttributeProgrammaticEvent &&
                   attribute.val.programmaticEvent.event) {
            cudaError_t error =
                cudaEventRecord(attribute.val.programmaticEvent.event, config->stream);
            if (error != cudaSuccess) return error;
        } /* the other attributes are hints */
    }
    const dim3 &grid = config->gridDim, &block = config->blockDim;
    return launch_by_address(kernel,
                             {{grid.x, grid.y, grid.z},
                              {block.x, block.y, block.z},
                              config->dynamicSmemBytes,
                              config->stream,
                              cooperative,
                              nullptr},
                             arguments);
}

// ---- Attributes and occupancy

namespace
{
template <class Body> cudaError_t with_kernel(const void *address, Body body)
{
    return entry([&]() -> cudaError_t {
        kfcpu::call c{};
        c.what = kfcpu::intent::attributes;
        return ask_kernel(address, &c) && c.kernel ? body(*c.kernel) : no_kernel(address);
    });
}
} // namespace

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    return with_kernel(kernel, [&](kfcpu::stub &stub) {
        switch (attribute) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize:
            if (value < 0 || size_t(value) > kfcpu_limits.shared_per_block_optin)
                return cudaErrorInvalidValue;
            stub.max_dynamic_shared = value;
            return cudaSuccess;
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            if (value < -1 || value > 100) return cudaErrorInvalidValue;
            stub.carveout = value;
            return cudaSuccess;
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    return with_kernel(kernel, [&](kfcpu::stub &stub) {
        if (!attributes) return cudaErrorInvalidValue;
        *attributes = cudaFuncAttributes{};
        attributes->maxThreadsPerBlock = thread_limit(stub);
        attributes->numRegs = 32; /* an assumed number; registers never limit occupancy here */
        attributes->ptxVersion = attributes->binaryVersion = 86;
        attributes->maxDynamicSharedSizeBytes = int(dynamic_limit(&stub));
        attributes->preferredShmemCarveout = stub.carveout;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache)
{
    return with_kernel(kernel, [](kfcpu::stub &) { return cudaSuccess; });
}

cudaError_t cudaFuncSetSharedMemConfig(const void *kernel, enum cudaSharedMemConfig)
{
    return with_kernel(kernel, [](kfcpu::stub &) { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(const char **name, const void *kernel)
{
    return with_kernel(kernel, [&](kfcpu::stub &stub) {
        if (!name) return cudaErrorInvalidValue;
        *name = stub.name;
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int threads, size_t shared)
{
    return with_kernel(kernel, [&](kfcpu::stub &) {
        if (!blocks || threads < 1) return cudaErrorInvalidValue;
        bool fits = threads <= kfcpu_limits.threads_per_block &&
                    shared <= kfcpu_limits.shared_per_block_optin;
        *blocks = fits ? kfcpu_blocks_per_sm(threads, shared) : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel,
                                                                   int threads, size_t shared,
                                                                   unsigned int)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *kernel,
                                                      int blocks, int threads)
{
    return with_kernel(kernel, [&](kfcpu::stub &) {
        if (!shared || blocks < 1 || threads < 1) return cudaErrorInvalidValue;
        size_t share = kfcpu_limits.shared_per_sm / size_t(blocks);
        *shared = share < kfcpu_limits.shared_per_block_optin ? share
                                                              : kfcpu_limits.shared_per_block_optin;
        return cudaSuccess;
    });
}
