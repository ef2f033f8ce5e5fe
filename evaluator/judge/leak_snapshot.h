/* Finds what a program and its child processes left on the machine: processes, descriptors, files
 * and segments. Take a snapshot before and one after, and compare them. Linux only, for one
 * thread. */
#ifndef KFORGE_LEAK_SNAPSHOT_H
#define KFORGE_LEAK_SNAPSHOT_H

#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_leak_snapshot kf_leak_snapshot;

/* Takes a snapshot of
 *   - descendants and open descriptors,
 *   - the entries of `folder`, which only this program uses (may be NULL),
 *   - this user's entries in /tmp, /var/tmp and /dev/shm,
 *   - System V segments, semaphores and queues, and abstract sockets.
 * From the first snapshot on, orphaned descendants become children of this process
 * (PR_SET_CHILD_SUBREAPER), so that every descendant stays visible. Errors: KF_ERROR_MACHINE
 * without /proc, KF_ERROR_MEMORY. */
kf_leak_snapshot *kf_leak_snapshot_take(const char *folder, kf_error *error);
void kf_leak_snapshot_free(kf_leak_snapshot *snapshot);
KF_DEFINE_AUTO(kf_leak_snapshot, kf_leak_snapshot_free)

typedef struct kf_leak_snapshot_news {
    /* Processes, descriptors and entries of `folder`, which only this program can have made. */
    size_t own;
    /* The rest, which another program may have made meanwhile. */
    size_t others;
} kf_leak_snapshot_news;

/* Counts the items of `after` that `before` lacks. Appends a line for each to `text` (may be NULL).
 */
kf_leak_snapshot_news kf_leak_snapshot_compare(const kf_leak_snapshot *before,
                                               const kf_leak_snapshot *after, kf_buffer *text);

#endif
