/* Walking up a family, breadth first: the edges of a candidate, then those of its parents, and so
 * on. Each candidate is visited once, at its least depth.
 *
 * This is C and not a recursive query: that can drop rows that it has seen or count the depth, not
 * both. */
#include "internal.h"

/* The statement yields the edges of one child. At their end it is bound to the next in the queue.
 */
int kf_ancestors_step(kf_store_cursor *cursor, kf_error *error)
{
    kf_id_queue *queue = cursor->ancestors;
    int row, depth;
    while ((row = kf_cursor_step(cursor, error)) == 0) {
        if (!kf_id_queue_advance(queue)) return 0;
        sqlite3_reset(cursor->statement);
        sqlite3_bind_int64(cursor->statement, 1, kf_id_queue_head(queue, &depth));
        sqlite3_bind_int64(cursor->statement, 3, depth + 1);
        cursor->done = false;
    }
    if (row != 1) return row;
    kf_id_queue_head(queue, &depth);
    if (kf_id_queue_put(queue, sqlite3_column_int64(cursor->statement, 1), depth + 1)) return 1;
    kf_fail_memory(error, "a family");
    return -1;
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
        " WHERE l.child = ?1 AND (?2 = 0 OR l.run = ?2) AND " KF_FIRST_EDGE(
            "?2") " ORDER BY l.ordinal",
        "iii", candidate, row, (int64_t)1);
    if (!cursor) return NULL;
    cursor->ancestors = kf_id_queue_new(candidate);
    if (!cursor->ancestors) {
        kf_fail_memory(error, "a family");
        return NULL;
    }
    return kf_steal(&cursor);
}

kf_store_cursor *kf_store_parents(kf_store *store, const char *run, int64_t attempt,
                                  kf_error *error)
{
    int64_t row = kf_run_row(store, run, error);
    if (!row) return NULL;
    return kf_cursor(store, error,
                     "SELECT l.child, l.parent, l.attempt, r.key, 1, l.role FROM lineage l JOIN "
                     "run r ON r.id = l.run WHERE l.run = ?1 AND l.attempt = ?2 ORDER BY l.ordinal",
                     "ii", row, attempt);
}
