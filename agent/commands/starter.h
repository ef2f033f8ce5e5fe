/* The task that `kforge task new` starts from (agent/commands/starter/, compiled in). */
#ifndef KFORGE_STARTER_H
#define KFORGE_STARTER_H

#include <stdbool.h>

#include "kforge/error.h"

/* Makes `folder` with a task in it that loads, lints and is correct; the task is called like the
 * folder's last part. The folder is there completely or not at all. KF_ERROR_INPUT when it exists
 * already, or when its name can't be a task's. */
bool kf_starter_write(const char *folder, kf_error *error);

#endif
