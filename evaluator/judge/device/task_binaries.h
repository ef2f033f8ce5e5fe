/* Binaries of a task's own sources, the oracle and the baselines. They are built once and kept in
 * the cache folder, under a hash of all their inputs. Candidates are never cached here, and never
 * see the folder. */
#ifndef KFORGE_TASK_BINARIES_H
#define KFORGE_TASK_BINARIES_H

#include "device.h"

typedef struct kf_task_binary {
    /* The binary. Owned. */
    char *path;
    /* The folder of an uncached binary, to be removed with it. Owned, NULL for a cached one. */
    char *directory;
    /* Why the task's source does not build. Owned, NULL if it builds. */
    char *reason;
    /* True if `reason` is a fault of the machine, not of the task. */
    bool machine;
} kf_task_binary;

/* Takes a binary from the cache, or builds it. `cache` may be NULL. `stop`: as in
 * kf_build_request. Free the binary with
 * kf_task_binary_free. */
bool kf_task_binary_get(kf_device *device, const char *cache, const kf_task *task,
                        const kf_task_file *file, bool oracle, double seconds,
                        const volatile int *stop, kf_task_binary *binary, kf_error *error);
void kf_task_binary_free(kf_task_binary *binary);

/* Returns $XDG_CACHE_HOME/kforge or ~/.cache/kforge; NULL without both variables. The caller frees
 * it. */
char *kf_cache_folder(void);

#endif
