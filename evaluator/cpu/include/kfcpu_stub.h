// What the rewriter's output is made of: launch configurations and kernels that hand their body over.
//
// `kernel<<<grid, block>>>(x)` becomes `(::kfcpu::configure(grid, block) ? (void)0 : kernel(x))`: the configuration is pushed on a stack
// of the calling thread, and the kernel, a stub by now, takes it off and passes body and arguments on. The same stub serves launches by
// address: the runtime pushes a call that holds packed arguments (or only asks for attributes) and then calls the address as if it took no
// parameters; the stub looks at its own parameters only for a configured launch. That a pointer is a kernel at all is seen by the
// no-operation instructions that KFCPU_KERNEL puts in front of one.
#pragma once
#include "driver_types.h"
#include "kfcpu/launch.h"

#define KFCPU_KERNEL_PREFIX 16 // bytes of no-operations before a kernel's first instruction
#define KFCPU_KERNEL \
    __attribute__((noipa, visibility("hidden"), patchable_function_entry(KFCPU_KERNEL_PREFIX, KFCPU_KERNEL_PREFIX)))
#define KFCPU_BODY inline

namespace kfcpu
{

// One for each kernel (each instance of a template).
struct stub {
    const char *name;
    int max_threads;        // __launch_bounds__, 0: none
    int max_dynamic_shared; // set by cudaFuncSetAttribute; 0: the default limit
    int carveout;
    constexpr stub(const char *what, int threads) : name(what), max_threads(threads), max_dynamic_shared(0), carveout(-1) {}
};

enum class intent { configured, packed, attributes };

// The conversation between the runtime and a stub.
struct call {
    intent what;
    kfcpu_geometry geometry;
    void *const *arguments; // packed: one pointer for each parameter
    // The stub's answer.
    stub *kernel;
    const size_t *sizes; // of the parameters
    int parameters;
    kfcpu_loop loop;
    const void *closure;       // the stub's own, like all that follows: valid inside kfcpu_bound only
    const void *const *values; // the arguments in it
    size_t closure_size;
    void *(*clone)(const void *);
    void (*destroy)(void *);
};

} // namespace kfcpu

#pragma GCC visibility push(default)
extern "C" {
void kfcpu_push_call(const kfcpu_geometry *geometry);
// The innermost call that waits in this thread; null: the kernel was called without a launch, which has been noted as an error.
kfcpu::call *kfcpu_take_call(const char *kernel);
// The stub has filled in its answer.
void kfcpu_bound(kfcpu::call *call);
}
#pragma GCC visibility pop

namespace kfcpu
{

inline bool configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
{
    kfcpu_geometry geometry = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, stream, 0, nullptr};
    kfcpu_push_call(&geometry);
    return false;
}

// A static __shared__ object under AddressSanitizer: there is one worker, hence one of each.
inline void *new_shared(size_t size)
{
    void *memory = nullptr;
    return posix_memalign(&memory, 256, size) == 0 ? memory : nullptr;
}

template <class Body, class... P> struct kernel_closure {
    std::tuple<std::decay_t<P>...> arguments;
    inline void operator()()
    {
        std::apply([](const auto &...a) { Body::run(a...); }, arguments);
    }
};

template <class Closure> void bind(call *c, const Closure &closure)
{
    c->loop = start_threads<Closure>;
    c->closure = &closure;
    c->closure_size = sizeof closure;
    c->clone = [](const void *from) -> void * { return new Closure(*static_cast<const Closure *>(from)); };
    c->destroy = [](void *what) { delete static_cast<Closure *>(what); };
    std::apply(
        [c](const auto &...each) {
            const void *values[] = {static_cast<const void *>(&each)..., nullptr};
            c->values = values;
            kfcpu_bound(c);
        },
        closure.arguments);
}

template <class Closure, class... P, size_t... I> void bind_packed(call *c, std::index_sequence<I...>)
{
    bind(c, Closure{std::tuple<std::decay_t<P>...>(*static_cast<std::decay_t<P> *>(c->arguments[I])...)});
}

// A stub's whole work. `a` are its parameters, to be looked at for a configured launch only.
template <class Body, class... P, class... A>
__attribute__((always_inline)) inline void enter(stub &kernel, void (*)(P...), A &...a)
{
    using closure = kernel_closure<Body, P...>;
    static constexpr size_t sizes[] = {sizeof(std::decay_t<P>)..., 0};
    call *c = kfcpu_take_call(kernel.name);
    if (!c) return;
    c->kernel = &kernel;
    c->sizes = sizes;
    c->parameters = int(sizeof...(P));
    if (c->what == intent::configured)
        bind(c, closure{std::tuple<std::decay_t<P>...>(a...)});
    else if (c->what == intent::packed)
        bind_packed<closure, P...>(c, std::index_sequence_for<P...>());
    else
        kfcpu_bound(c);
}

} // namespace kfcpu
