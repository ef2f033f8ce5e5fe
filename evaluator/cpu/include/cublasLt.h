#error kforge-unsupported: the CUDA library cuBLASLt
