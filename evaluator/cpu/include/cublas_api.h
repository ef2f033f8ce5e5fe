#error kforge-unsupported: the CUDA library cuBLAS
