/* Binaries of a task's own sources, oracles and baselines, built once and kept in the cache folder
 * under a hash of everything that goes into them. Candidates are never cached here and never see
 * the folder. */
#ifndef KFORGE_TRUSTED_H
#define KFORGE_TRUSTED_H

#include "device.h"

typedef struct kf_task_binary {
    char *path;      /* of the binary; owned */
    char *directory; /* to be removed with it when it is not cached; owned, NULL */
    char *reason;    /* why the task's source does not build; owned, NULL when it does */
    bool machine;    /* it is the machine's fault, not the task's */
} kf_task_binary;

/* `cache` NULL: no cache. False with an error that blames machine or task. Free with
 * kf_task_binary_free. */
bool kf_task_binary_get(kf_device *device, const char *cache, const kf_task *task,
                        const kf_task_file *file, bool oracle, double seconds,
                        kf_task_binary *binary, kf_error *error);
void kf_task_binary_free(kf_task_binary *binary);

/* $XDG_CACHE_HOME/kforge or ~/.cache/kforge; malloc'd, NULL when neither is known. */
char *kf_cache_folder(void);

#endif
