/* Which parts of one stretch of memory are taken: what stands for cudaMalloc in a runner in Python
 * divides the judge's arena by it (torch_cuda.c).
 *
 * PyTorch's own allocator asks for segments of 2 MiB and more and divides them itself, so there are
 * few blocks and first fit is enough. Knows nothing of CUDA; not thread-safe. */
#ifndef KFORGE_BLOCKS_H
#define KFORGE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KF_BLOCK_SMALL 512          /* sizes and places are multiples of this */
#define KF_BLOCK_LARGE (2ull << 20) /* and of this, from half of it on, as cudaMalloc's are */
#define KF_NO_BLOCK UINT64_MAX

typedef struct kf_block {
    uint64_t offset, size;
    bool used;
} kf_block;

typedef struct kf_blocks {
    kf_block *list; /* by offset, without gaps; no two free ones are neighbours */
    size_t count, room;
} kf_blocks;

/* One free block of `size` bytes; false: no memory. Free with kf_blocks_free. */
bool kf_blocks_make(kf_blocks *blocks, uint64_t size);
void kf_blocks_free(kf_blocks *blocks);
/* The offset, or KF_NO_BLOCK when nothing free is large enough. */
uint64_t kf_blocks_take(kf_blocks *blocks, uint64_t size);
/* False: no block that is taken begins there. */
bool kf_blocks_give_back(kf_blocks *blocks, uint64_t offset);
/* The size of the taken block that begins there, 0: none. */
uint64_t kf_blocks_size(const kf_blocks *blocks, uint64_t offset);

#endif
