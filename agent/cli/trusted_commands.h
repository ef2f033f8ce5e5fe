/* Which commands of files may run. Models exec:COMMAND and agent:COMMAND and a worker COMMAND run
 * programs. They may stand in places that somebody else wrote: in the kforge.json of a project, and
 * in the runs of a store. kforge runs such a command only if the user typed it before, or allowed
 * it with `kforge trust`.
 *
 * The file kforge/trusted in the folder of the user's settings has a line for each allowed command:
 * the SHA-256 of the place and the command, as sha256sum prints it. The place is the real path of
 * the folder of kforge.json, or of the store. A command that changes must be allowed again. */
#ifndef KFORGE_TRUSTED_COMMANDS_H
#define KFORGE_TRUSTED_COMMANDS_H

#include <stdbool.h>

#include "kforge/error.h"

/* True if the value of the option `workers` or `model` runs a program. False for other options. */
bool kf_trust_is_command(const char *option, const char *value);
/* True if the command is allowed in that place. `environment` is as environ. */
bool kf_trust_has(const char *const *environment, const char *place, const char *command);
/* Allows a command. Does nothing if it is allowed already. */
bool kf_trust_add(const char *const *environment, const char *place, const char *command,
                  kf_error *error);
/* False with KF_ERROR_INPUT if another user owns the file or may change it. */
bool kf_trust_check_owner(const char *path, kf_error *error);

#endif
