/* Files of the served folder, for clients that may name any path. A path leads neither out of the
 * folder nor to anything but a regular file. A file of a task that only the judge may read, its
 * oracle, is refused. Thread-safe. */
#ifndef KFORGE_SERVED_FILES_H
#define KFORGE_SERVED_FILES_H

#include <stddef.h>

#include "kforge/error.h"
#include "kforge/task.h"

/* largest file of a candidate */
#define KF_SERVED_BYTES (256u << 10)

typedef struct kf_served {
    /* O_PATH; -1: no folder is served */
    int folder;
    /* its real path */
    char *path;
} kf_served;

/* Opens the folder. KF_ERROR_INPUT if it is no folder. */
bool kf_served_open(kf_served *served, const char *path, kf_error *error);
void kf_served_close(kf_served *served);

/* Reads a file. `path` is relative to the folder, or absolute and below it. The text ends with a
 * NUL; the caller frees. Errors say what a client may do instead. */
char *kf_served_read(const kf_served *served, const char *path, size_t *size, kf_error *error);
/* Loads the task of a folder below the served one: NAME, tasks/NAME or a path to its task.json.
 * *found is false, without an error, if there is no task. The caller frees. */
kf_task *kf_served_task(const kf_served *served, const char *path, bool *found, kf_error *error);

#endif
