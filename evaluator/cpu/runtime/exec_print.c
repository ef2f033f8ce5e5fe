// printf and assert in kernels.
#include <stdarg.h>
#include <stdio.h>
#include "kfcpu/exec.h"

#pragma GCC visibility push(default)
int kfcpu_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kfcpu_assert_failed(unsigned thread, const char *expression, const char *file, int line,
                         const char *function) __attribute__((noreturn));
#pragma GCC visibility pop

int kfcpu_printf(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    // One call holds the stream's lock, so that lines of different threads do not mix.
    int count = vfprintf(stderr, format, list);
    va_end(list);
    return count;
}

void kfcpu_assert_failed(unsigned thread, const char *expression, const char *file, int line,
                         const char *function)
{
    char text[400];
    snprintf(text, sizeof text, "%s:%d: %s: assertion `%s' failed", file, line, function,
             expression);
    kfcpu_trap(thread, 710, text);
}
