/* Random words of a key, in bulk; inside kf_model only. */
#ifndef KFORGE_PHILOX_H
#define KFORGE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

#include "kforge/inputs.h"

/* Streams of one key that never overlap: 16 bits of the counter. */
typedef enum kf_purpose {
    KF_FOR_VALUES,
    KF_FOR_POISON,
    KF_FOR_VALUES_TOO,  /* a second number per element: what the non-zeros of KF_SPARSE are */
    KF_FOR_OUTLIERS,    /* where the outliers of a run of elements are */
    KF_FOR_NONFINITE,   /* which elements become infinite or NaN */
    KF_FOR_PERMUTATION, /* round keys */
    KF_FOR_CHOICE,      /* which variation a set gets */
} kf_purpose;

/* Writes 4 * blocks words: block b of the stream is Philox of counter (b low, b high | purpose << 16, argument, set), key (secret). */
void kf_random_words(kf_key key, kf_purpose purpose, uint64_t first_block, size_t blocks, uint32_t *words);

#endif
