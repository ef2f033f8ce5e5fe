/* Free and taken blocks of one range of memory. The replacement of cudaMalloc in a runner in Python
 * divides its device pool with it (torch_cuda.c).
 *
 * PyTorch's own allocator requests segments of 2 MiB and more and divides them itself. So there are
 * few blocks, and first fit is enough. It calls no CUDA function, and is not thread-safe. */
#ifndef KFORGE_BLOCKS_H
#define KFORGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes and places are multiples of this. */
#define KF_BLOCK_SMALL 512
/* From half of this on, they are multiples of this, as in cudaMalloc. */
#define KF_BLOCK_LARGE (2ull << 20)
#define KF_NO_BLOCK UINT64_MAX

typedef struct kf_block {
    uint64_t offset, size;
    bool used;
} kf_block;

typedef struct kf_blocks {
    /* By offset, without gaps. Two free blocks are never neighbours. */
    kf_block *list;
    size_t count, room;
} kf_blocks;

/* Makes one free block of `size` bytes. False without memory. Free it with kf_blocks_free. */
bool kf_blocks_make(kf_blocks *blocks, uint64_t size);
void kf_blocks_free(kf_blocks *blocks);
/* Takes a block and returns its offset; KF_NO_BLOCK if no free block is large enough. */
uint64_t kf_blocks_take(kf_blocks *blocks, uint64_t size);
/* Gives a block back. False if no taken block begins there. */
bool kf_blocks_give_back(kf_blocks *blocks, uint64_t offset);

#endif
