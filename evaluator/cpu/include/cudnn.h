#error kforge-unsupported: the CUDA library cuDNN
