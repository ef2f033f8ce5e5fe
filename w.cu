#include <cuda_runtime.h>
extern "C" void wrong(int n){}
