// A failed assertion in a kernel ends the launch with cudaErrorAssert. On the host it aborts, as
// usual. Each #include of this header applies NDEBUG again.
#if !defined(__cplusplus) || defined(KFCPU_RUNTIME)
#include_next <assert.h>
#else
#include "kfcpu/builtins.h"
#undef assert
#ifdef NDEBUG
#define assert(expression) (static_cast<void>(0))
#else
#define assert(expression)         \
    (static_cast<bool>(expression) \
         ? static_cast<void>(0)    \
         : kfcpu_assert_failed(kfcpu::thread_number, #expression, __FILE__, __LINE__, __func__))
#endif
#ifndef KFCPU_ASSERT
#define KFCPU_ASSERT
// Another declaration of __assert_fail may lack noexcept, as with the C library's header.
#pragma GCC system_header
extern "C" __attribute__((visibility("default"), noreturn, cold)) void kfcpu_assert_failed(
    unsigned thread, const char *expression, const char *file, int line, const char *function);
// The C library's function. Programs also declare and call it themselves.
extern "C" {
static inline __attribute__((noreturn, cold)) void __assert_fail(const char *expression,
                                                                 const char *file, unsigned line,
                                                                 const char *function) noexcept
{
    kfcpu_assert_failed(kfcpu::thread_number, expression, file, (int)line, function);
}
}
#endif
#endif
