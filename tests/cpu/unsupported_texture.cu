// cpu-test: compile 3
// cpu-test: output ^[^ ]*unsupported_texture.cu:3: unsupported on the CPU device: .*textures
__global__ void k(cudaTextureObject_t t, float *x) { *x = tex1Dfetch<float>(t, 3); }
