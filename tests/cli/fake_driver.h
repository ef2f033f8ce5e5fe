/* What the two halves of the stand-in for libcuda.so.1 share: fake_NAME is what the driver calls
 * cuSOMETHING, by the rows of driver_cuda.h. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "driver_cuda.h"

#define X(name, symbol, parameters, arguments) cu_result fake_##name parameters __asm__(symbol);
KF_CUDA_FUNCTIONS(X)
#undef X

/* What `function` (its symbol) says now: CU_SUCCESS, or what $FAKE_CUDA_LOSS wants. */
cu_result fake_answer(const char *function);

#endif
