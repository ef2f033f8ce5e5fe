/* Help on the terminal, the man page, docs/reference/commands.md and completions, made from the
 * tables of command.h. Each function writes to a stream. The owner of the stream checks it once at
 * the end. */
#ifndef KFORGE_HELP_H
#define KFORGE_HELP_H

#include "options.h"

/* `width` 0: 80 columns. */
void kf_help_overview(FILE *out, const kf_command *const *commands, int width);
/* Prints the commands of a group ("task"). False if there is no such group. */
bool kf_help_group(FILE *out, const kf_command *const *commands, const char *group, int width);
void kf_help_command(FILE *out, const kf_command *command, int width);
/* Prints the text on kforge.json and the environment, and all settings. */
void kf_help_settings(FILE *out, const kf_command *const *commands, int width);

/* Prints "  NAME   TEXT", with the text in `column`. */
void kf_help_entry(FILE *out, const char *name, const char *text, int column, int width);

/* Write kforge(1) in roff (man(7)), docs/reference/commands.md, and the completions of bash and
 * zsh. */
void kf_help_man(FILE *out, const kf_command *const *commands);
void kf_help_markdown(FILE *out, const kf_command *const *commands);
void kf_help_bash(FILE *out, const kf_command *const *commands);
void kf_help_zsh(FILE *out, const kf_command *const *commands);

/* Texts that several pages share. */
typedef struct kf_exit_row {
    int status;
    const char *meaning;
} kf_exit_row;
/* Ends with a row without a meaning. */
extern const kf_exit_row kf_exit_rows[];
extern const char kf_tagline[];
/* Paragraphs on the sources of settings. */
extern const char kf_config_text[];

/* Calls `paragraph` for each paragraph of `text`. Blank lines separate them. `verbatim`: its lines
 * stay as they are. */
typedef void kf_paragraph(void *context, const char *text, size_t size, bool verbatim);
void kf_paragraphs(const char *text, kf_paragraph *paragraph, void *context);

/* Appends "-d, --device=DEVICE", without the parts that the option lacks. */
void kf_option_usage(const kf_option *option, kf_buffer *text);
/* Appends the help sentence with the choices, the range and the default. */
void kf_option_explanation(const kf_option *option, kf_buffer *text);
/* Appends "kforge eval [OPTION…] TASK FILE.cu". */
void kf_command_usage(const kf_command *command, kf_buffer *text);

#endif
