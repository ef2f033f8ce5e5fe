#error kforge-unsupported: the CUDA library cuRAND
