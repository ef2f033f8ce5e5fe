#error kforge-unsupported: the CUDA library cuSPARSE
