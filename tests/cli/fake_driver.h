/* Shared by the two files of the simulated libcuda.so.1. fake_NAME is the driver's cuSOMETHING, by
 * the rows of driver_cuda.h. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "driver_cuda.h"

#define X(name, symbol, parameters, arguments) cu_result fake_##name parameters __asm__(symbol);
KF_CUDA_FUNCTIONS(X)
#undef X

/* Returns the result of `function` (its symbol) at this time: CU_SUCCESS, or the error in
 * $FAKE_CUDA_LOSS. */
cu_result fake_answer(const char *function);

#endif
