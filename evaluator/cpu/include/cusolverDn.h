#error kforge-unsupported: the CUDA library cuSOLVER
