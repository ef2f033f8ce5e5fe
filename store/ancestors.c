/* Walking up a family, breadth first: the edges of a candidate, then those of its parents, and so
 * on, each candidate once at its least depth. In C and not as a recursive query, because a family
 * may have circles (a tuned setting that goes back to where it came from), and SQL can drop what it
 * has seen or count depth, not both. Memory: 24 bytes an ancestor. */
#include "internal.h"

#include <string.h>

struct kf_kin {
    struct kin_entry {
        int64_t id;
        int depth;
    } * queue;
    /* of the queue: entries ever put in, allocated, first not yet expanded */
    size_t count, capacity, next;
    /* open-addressed set of ids, 0 is free; twice the queue's capacity, a power of two */
    int64_t *seen;
};

void kf_kin_free(struct kf_kin *kin)
{
    if (!kin) return;
    free(kin->queue);
    free(kin->seen);
    free(kin);
}

/* Slot of `id` in a set of `size`: where it is or would go. */
static size_t slot_of(const int64_t *seen, size_t size, int64_t id)
{
    size_t slot = (uint64_t)id * 0x9e3779b97f4a7c15u >> 32 & (size - 1);
    while (seen[slot] && seen[slot] != id) slot = (slot + 1) & (size - 1);
    return slot;
}

static bool grow(struct kf_kin *kin)
{
    size_t capacity = kin->capacity ? 2 * kin->capacity : 64;
    struct kin_entry *queue = realloc(kin->queue, capacity * sizeof *queue);
    if (!queue) return false;
    kin->queue = queue;
    int64_t *seen = calloc(2 * capacity, sizeof *seen);
    if (!seen) return false;
    for (size_t i = 0; i < kin->count; i++)
        seen[slot_of(seen, 2 * capacity, queue[i].id)] = queue[i].id;
    free(kin->seen);
    kin->seen = seen;
    kin->capacity = capacity;
    return true;
}

/* Puts a candidate in the queue unless it was there before; false: out of memory. */
static bool visit(struct kf_kin *kin, int64_t id, int depth)
{
    if (kin->count == kin->capacity && !grow(kin)) return false;
    size_t slot = slot_of(kin->seen, 2 * kin->capacity, id);
    if (kin->seen[slot]) return true;
    kin->seen[slot] = id;
    kin->queue[kin->count++] = (struct kin_entry){id, depth};
    return true;
}

static int out_of_memory(kf_store *store, kf_error *error)
{
    kf_fail(error, KF_ERROR_MEMORY, "%s: reading: out of memory", store->path);
    return -1;
}

/* The statement yields the edges of one child; at their end it is bound to the next in the queue.
 */
int kf_kin_step(kf_store_cursor *cursor, kf_error *error)
{
    struct kf_kin *kin = cursor->kin;
    int row;
    while ((row = kf_cursor_step(cursor, error)) == 0) {
        if (++kin->next >= kin->count) {
            kin->next = kin->count - 1;
            return 0;
        }
        sqlite3_reset(cursor->statement);
        sqlite3_bind_int64(cursor->statement, 1, kin->queue[kin->next].id);
        sqlite3_bind_int64(cursor->statement, 3, kin->queue[kin->next].depth + 1);
        cursor->done = false;
    }
    if (row == 1 &&
        !visit(kin, sqlite3_column_int64(cursor->statement, 1), kin->queue[kin->next].depth + 1))
        return out_of_memory(cursor->store, error);
    return row;
}

kf_store_cursor *kf_store_ancestors(kf_store *store, int64_t candidate, const char *run,
                                    kf_error *error)
{
    int64_t row = run ? kf_run_row(store, run, error) : 0;
    if (run && !row) return NULL;
    kf_auto(kf_store_cursor) cursor = kf_cursor(
        store, error,
        "SELECT l.child, l.parent, l.attempt, r.key, ?3, l.role FROM lineage l INDEXED BY "
        "lineage_child JOIN run r ON r.id = l.run"
        " WHERE l.child = ?1 AND (?2 = 0 OR l.run = ?2) ORDER BY l.run, l.attempt, l.ordinal",
        "iii", candidate, row, (int64_t)1);
    if (!cursor) return NULL;
    cursor->kin = calloc(1, sizeof *cursor->kin);
    if (!cursor->kin || !visit(cursor->kin, candidate, 0)) {
        out_of_memory(store, error);
        return NULL;
    }
    return kf_steal(&cursor);
}
