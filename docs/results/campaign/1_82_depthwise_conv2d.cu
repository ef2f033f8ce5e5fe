// Depthwise 3x3 convolution: two columns a thread, register window sliding down a strip.

// kforge: tune STRIP_ROWS 6 10 15 30
#ifndef STRIP_ROWS
#define STRIP_ROWS 10
#endif

#include <cuda_runtime.h>
#include <stdint.h>
constexpr int PLANES = 16 * 64, IN = 512, OUTW = 510;

static_assert(OUTW % STRIP_ROWS == 0, "strips");
__global__ void __launch_bounds__(256) conv_k(const float* x, const float* wt, float* out) {
  constexpr int unrolled = STRIP_ROWS;
  const int tx = threadIdx.x, plane = blockIdx.y, r0 = blockIdx.x * STRIP_ROWS;
  if (tx >= OUTW / 2) return;
  float w[9];
#pragma unroll
  for (int i = 0; i < 9; i++) w[i] = __ldg(wt + (plane & 63) * 9 + i);
  const float* p = x + ((size_t)plane * IN + r0) * IN + 2 * tx;
  float* o = out + ((size_t)plane * OUTW + r0) * OUTW + 2 * tx;
  float2 u[unrolled + 2], v[unrolled + 2];
#pragma unroll
  for (int r = 0; r < unrolled + 2; r++) {
    u[r] = __ldg((const float2*)(p + r * IN));
    v[r] = __ldg((const float2*)(p + r * IN + 2));
  }
#pragma unroll
  for (int r = 0; r < unrolled; r++) {
    float s0 = 0.f, s1 = 0.f;
#pragma unroll
    for (int i = 0; i < 3; i++) {
      const float c0 = w[i * 3], c1 = w[i * 3 + 1], c2 = w[i * 3 + 2];
      s0 = fmaf(c0, u[r + i].x, fmaf(c1, u[r + i].y, fmaf(c2, v[r + i].x, s0)));
      s1 = fmaf(c0, u[r + i].y, fmaf(c1, v[r + i].x, fmaf(c2, v[r + i].y, s1)));
    }
    __stcs((float2*)(o + r * OUTW), make_float2(s0, s1));
  }
}

extern "C" void level1_82_conv_depthwise_2D_square_input_square_kernel(
    const float* x, const float* conv2d_weight, float* out, cudaStream_t stream) {
  conv_k<<<dim3(OUTW / STRIP_ROWS, PLANES), 256, 0, stream>>>(x, conv2d_weight, out);
}
