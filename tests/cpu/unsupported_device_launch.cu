// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_device_launch.cu:4: unsupported on the CPU device: .*a kernel launch in device code
__global__ void child() {}
__global__ void k() { child<<<1, 1>>>(); }
