#error kforge-unsupported: the CUDA library cuFFT
