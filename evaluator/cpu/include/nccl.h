#error kforge-unsupported: the CUDA library NCCL
