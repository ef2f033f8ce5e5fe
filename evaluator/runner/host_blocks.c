#include "host_blocks.h"

void *kf_host_blocks_take(kf_host_blocks *blocks, size_t size)
{
    kf_host_block *best = NULL;
    for (size_t i = 0; i < blocks->count; i++) {
        kf_host_block *block = &blocks->list[i];
        bool suits =
            !block->used && block->size >= size && block->size / KF_HOST_BLOCK_PART <= size;
        if (suits && (!best || block->size < best->size)) best = block;
    }
    if (!best) return NULL;
    best->used = true;
    return best->pointer;
}

bool kf_host_blocks_add(kf_host_blocks *blocks, void *pointer, size_t size)
{
    if (blocks->count == KF_HOST_BLOCKS) return false;
    blocks->list[blocks->count++] = (kf_host_block){.pointer = pointer, .size = size, .used = true};
    return true;
}

bool kf_host_blocks_give_back(kf_host_blocks *blocks, const void *pointer)
{
    for (size_t i = 0; i < blocks->count; i++) {
        if (blocks->list[i].pointer != pointer || !blocks->list[i].used) continue;
        blocks->list[i].used = false;
        return true;
    }
    return false;
}

void *kf_host_blocks_drop(kf_host_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        if (blocks->list[i].used) continue;
        void *pointer = blocks->list[i].pointer;
        blocks->list[i] = blocks->list[--blocks->count];
        return pointer;
    }
    return NULL;
}
