/* Names of tasks and families that an export was given and that nothing in the store has: a
 * misspelt one would hold nothing out, in silence. */
#ifndef KFORGE_EXPORT_NAMES_H
#define KFORGE_EXPORT_NAMES_H

#include <stdio.h>

#include "kforge/store.h"
#include "kforge/task.h"
#include "options.h"

/* What a task says, else its name. Borrowed. */
const char *kf_export_family(const kf_task *task);

/* A line in `log` for each such name of `held_out` (names, hashes and families of tasks) and
 * `families`, with the nearest that there is. A list may well name tasks that a store does not have
 * yet, so it is no error. */
bool kf_export_tell_unknown(kf_store *store, const kf_option_list *held_out,
                            const kf_option_list *families, FILE *log, kf_error *error);

#endif
