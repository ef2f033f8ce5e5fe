/* One block of Philox4x32-10, shared by CPU and CUDA; philox.c has the source. */
#ifndef KFORGE_PHILOX_FORMULA_H
#define KFORGE_PHILOX_FORMULA_H

#include "inputs_formula.h"

#define KF_PHILOX_M0 0xD2511F53u
#define KF_PHILOX_M1 0xCD9E8D57u
#define KF_PHILOX_W0 0x9E3779B9u
#define KF_PHILOX_W1 0xBB67AE85u

KF_FORMULA void kf_philox_block(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                                uint32_t k1, uint32_t out[4])
{
    for (int round = 0; round < 10; round++, k0 += KF_PHILOX_W0, k1 += KF_PHILOX_W1) {
        uint64_t p0 = (uint64_t)KF_PHILOX_M0 * c0, p1 = (uint64_t)KF_PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Computes one block of a stream (kf_random_words). */
KF_FORMULA void kf_stream_block(uint64_t secret, uint32_t set, uint32_t argument, uint32_t purpose,
                                uint64_t block, uint32_t out[4])
{
    kf_philox_block((uint32_t)block, (uint32_t)(block >> 32) | purpose << 16, argument, set,
                    (uint32_t)secret, (uint32_t)(secret >> 32), out);
}

#endif
