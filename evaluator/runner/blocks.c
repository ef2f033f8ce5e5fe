#include "blocks.h"

#include <stdlib.h>
#include <string.h>

bool kf_blocks_make(kf_blocks *blocks, uint64_t size)
{
    *blocks = (kf_blocks){.list = malloc(64 * sizeof *blocks->list), .room = 64, .count = 1};
    if (!blocks->list) return false;
    blocks->list[0] = (kf_block){.size = size};
    return true;
}

void kf_blocks_free(kf_blocks *blocks)
{
    free(blocks->list);
    *blocks = (kf_blocks){0};
}

static bool insert(kf_blocks *blocks, size_t at, kf_block block)
{
    if (blocks->count == blocks->room) {
        kf_block *grown = realloc(blocks->list, 2 * blocks->room * sizeof *grown);
        if (!grown) return false;
        blocks->list = grown;
        blocks->room *= 2;
    }
    memmove(blocks->list + at + 1, blocks->list + at, (blocks->count - at) * sizeof *blocks->list);
    blocks->list[at] = block;
    blocks->count++;
    return true;
}

static void drop(kf_blocks *blocks, size_t at)
{
    memmove(blocks->list + at, blocks->list + at + 1,
            (--blocks->count - at) * sizeof *blocks->list);
}

uint64_t kf_blocks_take(kf_blocks *blocks, uint64_t size)
{
    uint64_t step = size >= KF_BLOCK_LARGE / 2 ? KF_BLOCK_LARGE : KF_BLOCK_SMALL;
    if (!size || size > UINT64_MAX - step) return KF_NO_BLOCK;
    size = (size + step - 1) / step * step;
    for (size_t i = 0; i < blocks->count; i++) {
        kf_block *b = &blocks->list[i];
        uint64_t offset = (b->offset + step - 1) / step * step, end = b->offset + b->size;
        if (b->used || offset > end || end - offset < size) continue;
        /* Splits off the rest after the block first, then the rest before it. The block stays in
         * place. */
        if (end > offset + size &&
            !insert(blocks, i + 1, (kf_block){offset + size, end - offset - size, false}))
            return KF_NO_BLOCK;
        if (offset > blocks->list[i].offset) {
            uint64_t front = blocks->list[i].offset;
            if (!insert(blocks, i, (kf_block){front, offset - front, false})) {
                if (end > offset + size) drop(blocks, i + 1);
                return KF_NO_BLOCK;
            }
            i++;
        }
        blocks->list[i] = (kf_block){offset, size, true};
        return offset;
    }
    return KF_NO_BLOCK;
}

/* Returns the index of the block that begins at `offset`; count without one. */
static size_t find(const kf_blocks *blocks, uint64_t offset)
{
    size_t low = 0, high = blocks->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks->list[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < blocks->count && blocks->list[low].offset == offset && blocks->list[low].used
               ? low
               : blocks->count;
}

bool kf_blocks_give_back(kf_blocks *blocks, uint64_t offset)
{
    size_t at = find(blocks, offset);
    if (at == blocks->count) return false;
    blocks->list[at].used = false;
    if (at + 1 < blocks->count && !blocks->list[at + 1].used) {
        blocks->list[at].size += blocks->list[at + 1].size;
        drop(blocks, at + 1);
    }
    if (at > 0 && !blocks->list[at - 1].used) {
        blocks->list[at - 1].size += blocks->list[at].size;
        drop(blocks, at);
    }
    return true;
}
