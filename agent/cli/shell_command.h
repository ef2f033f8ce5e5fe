/* Writes command lines for the user to paste. Words are quoted for a POSIX shell, and a terminal
 * stream prints them as they are. */
#ifndef KFORGE_SHELL_COMMAND_H
#define KFORGE_SHELL_COMMAND_H

#include "command.h"
#include "kforge/buffer.h"

/* Replaces the value in the settings. text NULL: the option is left out. */
typedef struct kf_command_word {
    const char *name, *text;
} kf_command_word;

/* Appends a word, quoted if the shell or the terminal would change it. */
void kf_command_append_word(kf_buffer *out, const char *word);
/* Appends " --NAME VALUE", or " --NAME=VALUE" for a value that looks like an option. */
void kf_command_append_option(kf_buffer *out, const char *name, const char *value);

typedef enum kf_command_options {
    /* Every option, so that the line does the same under another configuration. */
    KF_COMMAND_ALL,
    /* Options with another value than the default. */
    KF_COMMAND_CHANGED,
} kf_command_options;

/* Writes a command line that repeats a command with the values of its options. Returns "kforge NAME
 * --option value … ARGUMENT…", malloc'd. NULL: out of memory. `instead` ends with a row without a
 * name. */
char *kf_command_line(const kf_command *command, const void *settings, kf_command_options which,
                      const kf_command_word *instead, const char *const *arguments,
                      size_t argument_count, kf_error *error);

#endif
