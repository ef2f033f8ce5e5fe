// printf in kernels writes to the standard error output, one call at a time, because the standard
// output belongs to the program that runs the kernel.
#pragma once
#include <cstdio>
#include "exec.h"
extern "C" __attribute__((visibility("default"), format(__printf__, 1, 2))) int kfcpu_printf(
    const char *format, ...);
namespace std
{
using ::kfcpu_printf;
}
#define printf kfcpu_printf
