/* Blocks of the host's memory that a GPU can use. An oracle takes them where its device has no
 * memory left (torch_cuda.c).
 *
 * The driver needs seconds to make a block of several GiB. So a block that PyTorch gives back is
 * kept for the next call, until all are dropped. The list calls no CUDA function, and is not
 * thread-safe. */
#ifndef KFORGE_HOST_BLOCKS_H
#define KFORGE_HOST_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#define KF_HOST_BLOCKS 64
/* A block serves for sizes down to this part of its own. */
#define KF_HOST_BLOCK_PART 2

typedef struct kf_host_block {
    void *pointer;
    size_t size;
    bool used;
} kf_host_block;

typedef struct kf_host_blocks {
    kf_host_block list[KF_HOST_BLOCKS];
    size_t count;
} kf_host_blocks;

/* Takes the smallest unused block that suits, and returns it. NULL without one. */
void *kf_host_blocks_take(kf_host_blocks *blocks, size_t size);
/* Adds a new block, which is used. False if the list is full. */
bool kf_host_blocks_add(kf_host_blocks *blocks, void *pointer, size_t size);
/* Notes that a block is unused. False without a used block at the pointer. */
bool kf_host_blocks_give_back(kf_host_blocks *blocks, const void *pointer);
/* Removes an unused block from the list and returns it, for the caller to free. NULL without
 * one. */
void *kf_host_blocks_drop(kf_host_blocks *blocks);

#endif
