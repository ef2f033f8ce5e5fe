/* A queue of row ids in which each id occurs once, for walking a graph breadth first. It takes 24
 * bytes an id. */
#include "internal.h"

#include <string.h>

struct kf_id_queue {
    struct entry {
        int64_t id;
        int depth;
    } * entries;
    /* entries ever put in; allocated entries; the first entry that is not yet taken out */
    size_t count, capacity, next;
    /* Open-addressed set of ids, 0 is free. Its size is twice `capacity`, a power of two. */
    int64_t *seen;
};

void kf_id_queue_free(kf_id_queue *queue)
{
    if (!queue) return;
    free(queue->entries);
    free(queue->seen);
    free(queue);
}

/* Returns the slot in which `id` is, or would go, in a set of `size` slots. */
static size_t slot_of(const int64_t *seen, size_t size, int64_t id)
{
    size_t slot = (uint64_t)id * 0x9e3779b97f4a7c15u >> 32 & (size - 1);
    while (seen[slot] && seen[slot] != id) slot = (slot + 1) & (size - 1);
    return slot;
}

static bool grow(kf_id_queue *queue)
{
    size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
    struct entry *entries = realloc(queue->entries, capacity * sizeof *entries);
    if (!entries) return false;
    queue->entries = entries;
    int64_t *seen = calloc(2 * capacity, sizeof *seen);
    if (!seen) return false;
    for (size_t i = 0; i < queue->count; i++)
        seen[slot_of(seen, 2 * capacity, entries[i].id)] = entries[i].id;
    free(queue->seen);
    queue->seen = seen;
    queue->capacity = capacity;
    return true;
}

kf_id_queue *kf_id_queue_new(int64_t first)
{
    kf_id_queue *queue = calloc(1, sizeof *queue);
    if (queue && kf_id_queue_put(queue, first, 0)) return queue;
    kf_id_queue_free(queue);
    return NULL;
}

bool kf_id_queue_put(kf_id_queue *queue, int64_t id, int depth)
{
    if (queue->count == queue->capacity && !grow(queue)) return false;
    size_t slot = slot_of(queue->seen, 2 * queue->capacity, id);
    if (queue->seen[slot]) return true;
    queue->seen[slot] = id;
    queue->entries[queue->count++] = (struct entry){id, depth};
    return true;
}

int64_t kf_id_queue_head(const kf_id_queue *queue, int *depth)
{
    *depth = queue->entries[queue->next].depth;
    return queue->entries[queue->next].id;
}

bool kf_id_queue_advance(kf_id_queue *queue)
{
    if (queue->next + 1 >= queue->count) return false;
    queue->next++;
    return true;
}
