/* An output file or folder that appears under its name only when it is complete.
 *
 * A file or folder is written next to its final path as NAME.part-kforge-PID (the "part"), synced,
 * and renamed in one step. A replaced folder is exchanged with the new one (renameat2,
 * RENAME_EXCHANGE) and then removed. If the file system can't exchange, the old folder is
 * NAME.old-kforge-PID while the name is free. Failures and interrupts remove the part.
 *
 * A killed process leaves its part. Each process holds a lock (flock) on its part, which ends with
 * the process. The next export to the same name removes unlocked parts, and renames an old folder
 * back if needed. It touches only regular files and folders of the same user with exactly these
 * names. If locks do not work, it removes nothing. */
#ifndef KFORGE_EXPORT_ATOMIC_OUTPUT_H
#define KFORGE_EXPORT_ATOMIC_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_atomic_output kf_atomic_output;

/* Makes the part of `path`: an empty file, or with `folder` an empty folder, with its parents.
 * KF_ERROR_INPUT if the path exists without `force`, is of another kind, or is a folder that is not
 * an export (kf_atomic_output_is_export). KF_ERROR_IO. */
kf_atomic_output *kf_atomic_output_open(const char *path, bool folder, bool force, kf_error *error);
/* Return the final name without slashes at its end, and the name of the part to write to. */
const char *kf_atomic_output_path(const kf_atomic_output *output);
const char *kf_atomic_output_part(const kf_atomic_output *output);
/* Writes and syncs a file of the folder. `name` may contain a subfolder, which is made. `name` is
 * NULL for a file. */
bool kf_atomic_output_write(const kf_atomic_output *output, const char *name, const void *data,
                            size_t size, kf_error *error);
/* Fails with "PATH: the disk is full …" or another text for errno. Returns false. */
bool kf_atomic_output_failed(const char *path, kf_error *error);
/* Renames the part. Files that others wrote into it must be synced. */
bool kf_atomic_output_commit(kf_atomic_output *output, kf_error *error);
/* Removes the part if it was not committed. */
void kf_atomic_output_close(kf_atomic_output *output);
KF_DEFINE_AUTO(kf_atomic_output, kf_atomic_output_close)

/* True if --force may remove this folder: it is empty, or an export (its README.md or
 * provenance.json names kforge). */
bool kf_atomic_output_is_export(const char *path);

#endif
