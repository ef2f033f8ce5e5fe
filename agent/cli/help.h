/* Documentation made from the tables of command.h: help on the terminal, man page,
 * docs/reference/commands.md, completions. Each writes to a stream and returns nothing: whoever
 * owns the stream checks it once at the end. */
#ifndef KFORGE_HELP_H
#define KFORGE_HELP_H

#include "options.h"

/* `width` 0: 80 columns. */
void kf_help_overview(FILE *out, const kf_command *const *commands, int width);
/* The commands of a group: "task". False, and nothing written, when there is no such group. */
bool kf_help_group(FILE *out, const kf_command *const *commands, const char *group, int width);
void kf_help_command(FILE *out, const kf_command *command, int width);
/* kforge.json, environment and all settings that they may hold. */
void kf_help_settings(FILE *out, const kf_command *const *commands, int width);

/* kforge(1) in roff (man(7)), docs/reference/commands.md, and what bash and zsh source. */
void kf_help_man(FILE *out, const kf_command *const *commands);
void kf_help_markdown(FILE *out, const kf_command *const *commands);
void kf_help_bash(FILE *out, const kf_command *const *commands);
void kf_help_zsh(FILE *out, const kf_command *const *commands);

/* Shared words. */
typedef struct kf_exit_row {
    int status;
    const char *meaning;
} kf_exit_row;
extern const kf_exit_row kf_exit_rows[]; /* ends with a row without a meaning */
extern const char kf_tagline[];
extern const char kf_config_text[]; /* paragraphs on where settings come from */

/* Calls `paragraph` for each paragraph of `text` (separated by blank lines); `verbatim` when its
 * lines stay as they are. */
typedef void kf_paragraph(void *context, const char *text, size_t size, bool verbatim);
void kf_paragraphs(const char *text, kf_paragraph *paragraph, void *context);

/* "-d, --device=DEVICE" without what is not there. */
void kf_option_usage(const kf_option *option, kf_buffer *text);
/* The help sentence with choices, default and range put behind it. */
void kf_option_explanation(const kf_option *option, kf_buffer *text);
/* "kforge eval [OPTION…] TASK FILE.cu" */
void kf_command_usage(const kf_command *command, kf_buffer *text);

#endif
