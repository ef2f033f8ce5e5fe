// Launch configurations and kernel stubs: the code that the rewriter's output refers to.
//
// `kernel<<<grid, block>>>(x)` becomes `(::kfcpu::configure(grid, block) ? (void)0 : kernel(x))`.
// configure pushes the configuration on a stack of the calling thread. The kernel is a stub: it
// takes the configuration from the stack and passes its body and arguments to the launch.
//
// The same stub serves launches by address. The runtime pushes a call that holds packed arguments
// (or only asks for attributes) and calls the address as a function without parameters. The stub
// reads its own parameters only for a configured launch. The runtime recognises a kernel by the
// no-operation instructions that KFCPU_KERNEL places before it.
#pragma once
#include "driver_types.h"
#include "kfcpu/launch.h"

// The number of bytes of no-operations before a kernel's first instruction.
#define KFCPU_KERNEL_PREFIX 16
#define KFCPU_KERNEL                            \
    __attribute__((noipa, visibility("hidden"), \
                   patchable_function_entry(KFCPU_KERNEL_PREFIX, KFCPU_KERNEL_PREFIX)))
#define KFCPU_BODY inline

namespace kfcpu
{

// One for each kernel, and for each instance of a template.
struct stub {
    const char *name;
    int max_threads;        // from __launch_bounds__, 0 without one
    int max_dynamic_shared; // set by cudaFuncSetAttribute, 0 for the default limit
    int carveout;
    constexpr stub(const char *what, int threads)
        : name(what), max_threads(threads), max_dynamic_shared(0), carveout(-1)
    {
    }
};

enum class intent { configured, packed, attributes };

// The question of the runtime to a stub, and the stub's answer.
struct call {
    intent what;
    kfcpu_geometry geometry;
    void *const *arguments; // packed: one pointer for each parameter
    // The stub's answer.
    stub *kernel;
    const size_t *sizes; // of the parameters
    int parameters;
    kfcpu_loop loop;
    // Belongs to the stub, like the members below: valid only inside kfcpu_bound.
    const void *closure;
    const void *const *values; // the arguments in `closure`
    size_t closure_size;
    void *(*clone)(const void *);
    void (*destroy)(void *);
};

} // namespace kfcpu

#pragma GCC visibility push(default)
extern "C" {
void kfcpu_push_call(const kfcpu_geometry *geometry);
// Takes the innermost pending call of this thread. Returns null after a call of a kernel without a
// launch, and stores an error.
kfcpu::call *kfcpu_take_call(const char *kernel);
// Called when the stub has filled in its answer.
void kfcpu_bound(kfcpu::call *call);
}
#pragma GCC visibility pop

namespace kfcpu
{

inline bool configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
{
    kfcpu_geometry geometry = {
        {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, 0, nullptr};
    kfcpu_push_call(&geometry);
    return false;
}

// Allocates a static __shared__ object for AddressSanitizer. There is one worker, so one of each
// object.
inline void *new_shared(size_t size)
{
    void *memory = nullptr;
    return posix_memalign(&memory, 256, size) == 0 ? memory : nullptr;
}

template <size_t I, class T> struct argument {
    T value;
};

// The body of a kernel and its arguments. A std::tuple would cost the compiler a hundred functions
// for each kernel.
template <class Body, class Numbers, class... T> struct kernel_closure;
template <class Body, size_t... I, class... T>
struct kernel_closure<Body, std::index_sequence<I...>, T...> : argument<I, T>... {
    template <class... A> static kernel_closure of(A &...a) { return {argument<I, T>{a}...}; }
    static kernel_closure of_packed(void *const *a)
    {
        return {argument<I, T>{*static_cast<const T *>(a[I])}...};
    }
    static void *clone(const void *from)
    {
        return new kernel_closure(*static_cast<const kernel_closure *>(from));
    }
    static void destroy(void *what) { delete static_cast<kernel_closure *>(what); }
    inline void operator()() { Body::run(static_cast<const argument<I, T> &>(*this).value...); }
    void bind(call *c) const
    {
        const void *values[] = {
            static_cast<const void *>(&static_cast<const argument<I, T> &>(*this).value)...,
            nullptr};
        c->loop = start_threads<kernel_closure>;
        c->closure = this;
        c->closure_size = sizeof *this;
        c->clone = clone;
        c->destroy = destroy;
        c->values = values;
        kfcpu_bound(c);
    }
};

// The whole work of a stub. `a` are its parameters, which it reads only for a configured launch.
template <class Body, class... P, class... A>
__attribute__((always_inline)) inline void enter(stub &kernel, void (*)(P...), A &...a)
{
    using closure = kernel_closure<Body, std::index_sequence_for<P...>, std::decay_t<P>...>;
    static constexpr size_t sizes[] = {sizeof(std::decay_t<P>)..., 0};
    call *c = kfcpu_take_call(kernel.name);
    if (!c) return;
    c->kernel = &kernel;
    c->sizes = sizes;
    c->parameters = int(sizeof...(P));
    if (c->what == intent::configured)
        closure::of(a...).bind(c);
    else if (c->what == intent::packed)
        closure::of_packed(c->arguments).bind(c);
    else
        kfcpu_bound(c);
}

} // namespace kfcpu
