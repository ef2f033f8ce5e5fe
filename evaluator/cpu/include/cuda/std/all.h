// cuda::std: the C++ library of the host, which device code may call here.
//
// This file is included behind the rewriter. The candidate's own standard headers are plain text
// then, without their guards. So it may use only the standard headers of kforge_cpu.h. Those of
// others stand in alias_headers.txt.
#pragma once
#include "../../kforge_cpu.h"

namespace cuda
{

enum thread_scope {
    thread_scope_system,
    thread_scope_device,
    thread_scope_block,
    thread_scope_thread
};

namespace std
{
using namespace ::std;

template <class To, class From> To bit_cast(const From &from)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
} // namespace std

struct KfcpuMaximum {
    template <class T, class U>::std::common_type_t<T, U> operator()(const T &a, const U &b) const
    {
        return a < b ? b : a;
    }
};
struct KfcpuMinimum {
    template <class T, class U>::std::common_type_t<T, U> operator()(const T &a, const U &b) const
    {
        return b < a ? b : a;
    }
};
template <class = void> struct maximum : KfcpuMaximum {
};
template <class = void> struct minimum : KfcpuMinimum {
};

template <class T, class U> constexpr auto ceil_div(T a, U b)
{
    return (a + b - 1) / b;
}
template <class Result, class Function> Function proclaim_return_type(Function function)
{
    return function;
}

} // namespace cuda
