// Integer intrinsics: bits, products, dot products, packed arithmetic, min and max.
#include "exec_check.h"

__global__ void integers(int *ok)
{
    int bad = 0;
#define IS(expression, value) bad += !((expression) == (value))
    IS(__popc(0xf0f0u), 8);
    IS(__popcll(~0ull), 64);
    IS(__clz(1), 31);
    IS(__clz(0), 32);
    IS(__clzll(1ll << 40), 23);
    IS(__ffs(8), 4);
    IS(__ffs(0), 0);
    IS(__ffsll(1ll << 40), 41);
    IS(__brev(1u), 0x80000000u);
    IS(__brevll(2ull), 0x4000000000000000ull);
    IS(__byte_perm(0x03020100u, 0x07060504u, 0x0527), 0x00050207u);
    IS(__byte_perm(0x80, 0, 0x8888), 0xffffffffu);
    IS(__funnelshift_l(0x80000000u, 1, 1), 3u);
    IS(__funnelshift_r(2, 1, 1), 0x80000001u);
    IS(__funnelshift_lc(5, 9, 40), 5u);
    IS(__funnelshift_rc(5, 9, 40), 9u);
    IS(__mulhi(-2147483647 - 1, 2), -1);
    IS(__umulhi(0x80000000u, 6u), 3u);
    IS(__mul64hi(1ll << 62, 8), 2);
    IS(__umul64hi(1ull << 63, 6), 3u);
    IS(__mul24(-3, 5), -15);
    IS(__umul24(0x1000003u, 5), 15u);
    IS(__sad(-5, 3, 2u), 10u);
    IS(__usad(5u, 3u, 2u), 4u);
    IS(__hadd(-3, 2), -1);
    IS(__rhadd(-3, 2), 0);
    IS(__uhadd(0xffffffffu, 1u), 0x80000000u);
    IS(__urhadd(2u, 3u), 3u);
    IS(__dp4a(0x01ff02fe, 0x02030405, 10), 10 + 2 - 3 + 8 - 10);
    IS(__dp4a(0x01ff02feu, 0x02030405u, 10u), 10u + 2 + 765 + 8 + 1270);
    IS(__dp2a_lo(0x0002ffff, 0x01020304, 1), 1 - 4 + 6);
    IS(__dp2a_hi(0x0002ffff, 0x01020304, 1), 1 - 2 + 2);
    IS(__vadd4(0xff010203u, 0x01010101u), 0x00020304u);
    IS(__vsub2(0x00010000u, 0x00000001u), 0x0001ffffu);
    IS(__vaddus4(0xff010203u, 0x01010101u), 0xff020304u);
    IS(__vaddss4(0x7f800001u, 0x01ff0001u), 0x7f800002u);
    IS(__vmaxs4(0xff017f80u, 0x00000000u), 0x00017f00u);
    IS(__vminu4(0xff017f80u, 0x10101010u), 0x10011010u);
    IS(__vabsdiffu4(0x05010000u, 0x01050001u), 0x04040001u);
    IS(__vavgu4(0x01030000u, 0x02050001u), 0x02040001u);
    IS(__vcmpeq4(0x01020304u, 0x01000300u), 0xff00ff00u & 0xff00ff00u);
    IS(__vcmpgts2(0x0001ffffu, 0x00000000u), 0xffff0000u);
    IS(__vsadu4(0x05010000u, 0x01050001u), 9u);
    IS(min(-1, 2), -1);
    IS(max(3u, 4), 4u);
    IS(max(-1ll, 2ll), 2);
    IS(min(1.5f, 2.5f), 1.5f);
    IS(max(1.5f, 2.5), 2.5);
    IS(abs(-4), 4);
    ok[threadIdx.x] = bad == 0;
}

int main()
{
    int *ok = memory<int>(32);
    integers<<<1, 32>>>(ok);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) CHECK(ok[i]);
    return result();
}
