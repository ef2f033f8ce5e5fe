#error kforge-unsupported: a CUDA library (cuBLAS, cuDNN, cuFFT, cuRAND, cuSPARSE, cuSOLVER)
