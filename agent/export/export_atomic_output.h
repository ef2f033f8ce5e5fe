/* Where an export is made before it has its name, so that nothing half-written is ever there under
 * it.
 *
 * A file or folder is written beside its place as NAME.part-kforge-PID, synced, and gets its name
 * in one step. A folder that is replaced changes names with the new one (renameat2,
 * RENAME_EXCHANGE) and is removed after that; where the file system can't do this it is
 * NAME.old-kforge-PID for the moment in which the name is free. Failures and interrupts remove the
 * part.
 *
 * A process that is killed can't. Whoever has a part holds a lock on it (flock), which ends with
 * the process, so the next export to the same name removes the parts that nobody holds, and gives
 * an old folder its name back if it was killed in that moment. Only regular files and folders of
 * the same user with exactly these names are touched; where locks do not work nothing is removed.
 */
#ifndef KFORGE_EXPORT_PLACE_H
#define KFORGE_EXPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

typedef struct kf_atomic_output kf_atomic_output;

/* Makes the part of `path`: an empty file, or with `folder` an empty folder (whose parents are
 * made). Errors: KF_ERROR_INPUT when something is there and not `force`, or is no file or folder as
 * wanted, or is a folder that holds no export (kf_atomic_output_is_export); KF_ERROR_IO. */
kf_atomic_output *kf_atomic_output_open(const char *path, bool folder, bool force, kf_error *error);
/* The name that it will have, without slashes at its end; what there is to write to until then. */
const char *kf_atomic_output_path(const kf_atomic_output *place);
const char *kf_atomic_output_part(const kf_atomic_output *place);
/* A file within the folder, synced; `name` may be in a folder of the folder, which is made. For a
 * place that is a file, `name` is NULL. */
bool kf_atomic_output_write(const kf_atomic_output *place, const char *name, const void *data,
                            size_t size, kf_error *error);
/* "PATH: the disk is full; …" by errno; false. */
bool kf_atomic_output_failed(const char *path, kf_error *error);
/* Gives it its name. Files that others wrote into the part are synced already. */
bool kf_atomic_output_commit(kf_atomic_output *place, kf_error *error);
/* Without a commit nothing is left behind. */
void kf_atomic_output_close(kf_atomic_output *place);
KF_DEFINE_AUTO(kf_atomic_output, kf_atomic_output_close)

/* May --force remove this folder: is it empty, or an export (its README.md or provenance.json
 * speaks of kforge)? */
bool kf_atomic_output_is_export(const char *path);

#endif
