/* What a program and those it started have left on the machine: processes, descriptors, files,
 * segments. A census before, one after, and what the second has that the first had not. Linux; one
 * thread. */
#ifndef KFORGE_LEAK_SNAPSHOT_H
#define KFORGE_LEAK_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_leak_snapshot kf_leak_snapshot;

/* From the first census on, descendants whose parents end become this process's own children
 * (PR_SET_CHILD_SUBREAPER), so that none is lost sight of. Listed are: descendants and open
 * descriptors; what is in `folder`, which is nobody else's (NULL: none); this user's entries in
 * /tmp, /var/tmp and /dev/shm; System V segments, semaphores and queues; abstract sockets. Errors:
 * KF_ERROR_MACHINE no /proc, KF_ERROR_MEMORY. */
kf_leak_snapshot *kf_leak_snapshot_take(const char *folder, kf_error *error);
void kf_leak_snapshot_free(kf_leak_snapshot *snapshot);
KF_DEFINE_AUTO(kf_leak_snapshot, kf_leak_snapshot_free)

typedef struct kf_leak_snapshot_news {
    size_t own;    /* processes, descriptors, entries of `folder`: nobody else's */
    size_t others; /* the rest, which another program may have made meanwhile */
} kf_leak_snapshot_news;

/* What `after` has and `before` has not; a line for each is appended to `text` (may be NULL). */
kf_leak_snapshot_news kf_leak_snapshot_compare(const kf_leak_snapshot *before,
                                               const kf_leak_snapshot *after, kf_buffer *text);

#endif
