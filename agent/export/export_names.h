/* A check of the names of tasks and families on the command line. A misspelt name would hold out
 * nothing, without a message. */
#ifndef KFORGE_EXPORT_NAMES_H
#define KFORGE_EXPORT_NAMES_H

#include <stdio.h>

#include "kforge/store.h"
#include "kforge/task.h"
#include "options.h"

/* Returns the family that the task declares, else its name. Borrowed. */
const char *kf_export_family(const kf_task *task);

/* Prints a line to `log` for each name of `held_out` (names, hashes and families of tasks) and
 * `families` that the store does not have, with the nearest known name. An unknown name is not an
 * error, because a list may contain tasks of other stores. */
bool kf_export_tell_unknown(kf_store *store, const kf_option_list *held_out,
                            const kf_option_list *families, FILE *log, kf_error *error);

#endif
