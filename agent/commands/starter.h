/* The task that `kforge task new` writes (agent/commands/starter/, compiled in). */
#ifndef KFORGE_STARTER_H
#define KFORGE_STARTER_H

#include <stdbool.h>

#include "kforge/error.h"

/* Makes `folder` with a task that loads, lints and is correct. The task gets the name of the
 * folder. The folder is written completely or not at all. KF_ERROR_INPUT if it exists already, or
 * if its name is not possible for a task. */
bool kf_starter_write(const char *folder, kf_error *error);

#endif
