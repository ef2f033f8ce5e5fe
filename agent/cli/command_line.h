/* A command line that tells a command again what it was told: every option with its value, wherever
 * that came from, so that it means the same where other configuration holds. Words are quoted for a
 * POSIX shell. */
#ifndef KFORGE_COMMAND_LINE_H
#define KFORGE_COMMAND_LINE_H

#include "command.h"

/* Instead of the value in the settings; text NULL: the option is left out. */
typedef struct kf_command_word {
    const char *name, *text;
} kf_command_word;

/* "kforge NAME --option value … ARGUMENT…"; `instead` ends with a row without a name. Malloc'd,
 * NULL when out of memory. */
char *kf_command_line(const kf_command *command, const void *settings,
                      const kf_command_word *instead, const char *const *arguments,
                      size_t argument_count, kf_error *error);

#endif
