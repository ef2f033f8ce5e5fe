/* All functions of the driver that nothing depends on: they do nothing and succeed. One in
 * fake_driver.c comes before its namesake here. */
#include "fake_driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, parameters, arguments)             \
    __attribute__((weak)) cu_result fake_##name parameters \
    {                                                      \
        return fake_answer(symbol);                        \
    }
KF_CUDA_FUNCTIONS(X)
