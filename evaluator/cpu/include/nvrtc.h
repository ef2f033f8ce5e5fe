#error kforge-unsupported: run-time compilation (NVRTC)
