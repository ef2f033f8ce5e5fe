// printf goes to the standard error output, a call at a time: the program that runs a kernel keeps its output to itself.
#pragma once
#include <cstdio>
#include "exec.h"
extern "C" __attribute__((visibility("default"), format(__printf__, 1, 2))) int kfcpu_printf(const char *format, ...);
namespace std
{
using ::kfcpu_printf;
}
#define printf kfcpu_printf
