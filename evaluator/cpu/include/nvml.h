#error kforge-unsupported: the CUDA library NVML
