/* The stream page: device memory through which the judge holds the stream of a runner on a GPU, and
 * through which it learns what that stream sees (evaluator/judge/measure/measure_stream_order.c).
 *
 * Before each call of a batch the runner lets the stream wait until the call's gate has the value
 * KF_GATE_OPEN. No kernel begins under such a wait, so a dependent launch cannot reach across two
 * calls. After KF_SAMPLE_SLOTS calls of each batch the runner lets the stream copy some bytes of an
 * output into a slot. The nonce of the command decides which calls and bytes, so both sides know
 * them, and the command is the same for every batch.
 *
 * Only the candidate's runner gets a page of the judge. The others have one of their own, with open
 * gates. */
#ifndef KFORGE_STREAM_PAGE_H
#define KFORGE_STREAM_PAGE_H

#include <stdint.h>

#include "wire.h"

/* The four bytes of an open gate are equal, so that setting bytes opens gates. */
#define KF_GATE_OPEN 0x01010101u
#define KF_SAMPLE_SLOTS 2
#define KF_SAMPLE_ROWS 64
#define KF_SAMPLE_WIDTH 16
/* The driver copies rows with steps below this. */
#define KF_SAMPLE_PITCH (1ull << 30)

typedef struct kf_stream_page {
    uint32_t gates[KF_WIRE_MAX_SETS];
    unsigned char samples[KF_SAMPLE_SLOTS][KF_SAMPLE_ROWS * KF_SAMPLE_WIDTH];
} kf_stream_page;

/* The bytes of one sample: `rows` rows of `width` bytes, `pitch` bytes apart, from `offset` on. In
 * the slot the rows lie one after the other. */
typedef struct kf_stream_sample {
    uint64_t offset, pitch;
    uint32_t rows, width;
} kf_stream_sample;

static inline uint64_t kf_sample_draw(uint64_t nonce, uint32_t slot, uint32_t purpose)
{
    uint64_t x = nonce + (3ull * slot + purpose + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Returns the number of the call that a slot has an output of. */
static inline uint32_t kf_sample_call(uint64_t nonce, uint32_t slot, uint32_t calls)
{
    return (uint32_t)(kf_sample_draw(nonce, slot, 0) % (calls ? calls : 1));
}

/* Returns the number of the sampled output among a call's outputs. */
static inline uint32_t kf_sample_output(uint64_t nonce, uint32_t slot, uint32_t outputs)
{
    return (uint32_t)(kf_sample_draw(nonce, slot, 1) % (outputs ? outputs : 1));
}

/* Returns which bytes of `bytes` bytes are sampled. Any run of bytes as long as `pitch` holds a
 * row, except at the ends, where chance decides. */
static inline kf_stream_sample kf_sample_layout(uint64_t nonce, uint32_t slot, uint64_t bytes)
{
    uint64_t blocks = bytes / KF_SAMPLE_WIDTH, draw = kf_sample_draw(nonce, slot, 2);
    if (!blocks) return (kf_stream_sample){0, KF_SAMPLE_WIDTH, 1, (uint32_t)bytes};
    uint64_t rows = blocks < KF_SAMPLE_ROWS ? blocks : KF_SAMPLE_ROWS, step = blocks / rows;
    if (step * KF_SAMPLE_WIDTH >= KF_SAMPLE_PITCH) step = rows = 1;
    uint64_t first = draw % (blocks - (rows - 1) * step);
    return (kf_stream_sample){first * KF_SAMPLE_WIDTH, step * KF_SAMPLE_WIDTH, (uint32_t)rows,
                              KF_SAMPLE_WIDTH};
}

#endif
