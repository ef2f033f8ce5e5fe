// In a kernel a failed assertion ends the launch with cudaErrorAssert; elsewhere it aborts as ever. Included again it obeys NDEBUG anew.
#if !defined(__cplusplus) || defined(KFCPU_RUNTIME)
#include_next <assert.h>
#else
#include "kfcpu/builtins.h"
#undef assert
#ifdef NDEBUG
#define assert(expression) (static_cast<void>(0))
#else
#define assert(expression)                                \
    (static_cast<bool>(expression) ? static_cast<void>(0) \
                                   : kfcpu_assert_failed(kfcpu::thread_number, #expression, __FILE__, __LINE__, __func__))
#endif
#ifndef KFCPU_ASSERT
#define KFCPU_ASSERT
extern "C" __attribute__((visibility("default"), noreturn, cold)) void kfcpu_assert_failed(unsigned thread, const char *expression,
                                                                                           const char *file, int line,
                                                                                           const char *function);
#endif
#endif
