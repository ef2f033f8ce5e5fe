/* The man page and docs/reference/commands.md. An option that several commands have is explained
 * once, in a section of its own. The commands only name it. */
#include <stdlib.h>
#include <string.h>

#include "help.h"

/* ---- shared options -------------------------------------------------------------------------- */

static void describe(const kf_option *option, kf_buffer *usage, kf_buffer *explanation)
{
    kf_option_usage(option, usage);
    kf_option_explanation(option, explanation);
}

/* True if both rows look the same on a page. */
static bool equal_options(const kf_option *a, const kf_option *b)
{
    kf_autobuffer usage_a = {0}, usage_b = {0}, text_a = {0}, text_b = {0};
    describe(a, &usage_a, &text_a);
    describe(b, &usage_b, &text_b);
    return usage_a.data && usage_b.data && text_a.data && text_b.data &&
           strcmp(usage_a.data, usage_b.data) == 0 && strcmp(text_a.data, text_b.data) == 0;
}

/* Where a page explains an option. */
typedef enum option_scope {
    /* With its command: no other command has the same row. */
    SCOPE_COMMAND,
    /* With its group: all commands that have the same row begin with the same word ("import"). */
    SCOPE_GROUP,
    SCOPE_ALL,
} option_scope;

static size_t group_length(const kf_command *command)
{
    return strcspn(command->name, " ");
}

static bool same_group(const kf_command *a, const kf_command *b)
{
    size_t length = group_length(a);
    return length == group_length(b) && memcmp(a->name, b->name, length) == 0;
}

/* Returns the scope of an option of `command`. *first is the first command with the same row. */
static option_scope scope_of(const kf_command *const *commands, const kf_command *command,
                             const kf_option *option, const kf_command **first)
{
    option_scope scope = SCOPE_COMMAND;
    *first = NULL;
    for (; *commands; commands++) {
        const kf_option *other =
            (*commands)->hidden ? NULL : kf_option_find(*commands, option->name);
        if (!other || !equal_options(option, other)) continue;
        if (!*first) *first = *commands;
        if (*commands == command) continue;
        if (!same_group(*commands, command))
            scope = SCOPE_ALL;
        else if (scope == SCOPE_COMMAND)
            scope = SCOPE_GROUP;
    }
    return scope;
}

static bool has_scope(const kf_command *const *commands, const kf_command *command,
                      const kf_option *option, option_scope scope)
{
    const kf_command *first;
    return scope_of(commands, command, option, &first) == scope;
}

/* Appends "`--store`, `--json`": the options of that scope, each between `quote` marks. */
static void list_names(const kf_command *const *commands, const kf_command *command,
                       option_scope scope, const char *quote, kf_buffer *list)
{
    for (const kf_option *option = command->options; option && option->name; option++)
        if (has_scope(commands, command, option, scope))
            kf_buffer_format(list, "%s%s--%s%s", list->size ? ", " : "", quote, option->name,
                             quote);
}

/* Calls `entry` once for each option of that scope; with `group`, only for those of its group. */
static void for_each_option(FILE *out, const kf_command *const *commands, option_scope scope,
                            const kf_command *group,
                            void (*entry)(FILE *out, const kf_option *option))
{
    for (const kf_command *const *row = commands; *row; row++) {
        if ((*row)->hidden || (group && !same_group(*row, group))) continue;
        for (const kf_option *option = (*row)->options; option && option->name; option++) {
            const kf_command *first;
            if (scope_of(commands, *row, option, &first) == scope && first == *row)
                entry(out, option);
        }
    }
}

/* Calls `title` for the first command of each group that shares options, then `entry` for those. */
static void for_each_group(FILE *out, const kf_command *const *commands,
                           void (*title)(FILE *out, const char *group, size_t length),
                           void (*entry)(FILE *out, const kf_option *option))
{
    for (const kf_command *const *row = commands; *row; row++) {
        bool seen = (*row)->hidden;
        for (const kf_command *const *earlier = commands; earlier < row && !seen; earlier++)
            seen = !(*earlier)->hidden && same_group(*earlier, *row);
        bool shares = false;
        for (const kf_command *const *member = row; *member && !seen && !shares; member++)
            for (const kf_option *option = (*member)->options; option && option->name; option++)
                shares |= !(*member)->hidden && same_group(*member, *row) &&
                          has_scope(commands, *member, option, SCOPE_GROUP);
        if (!shares) continue;
        title(out, (*row)->name, group_length(*row));
        for_each_option(out, commands, SCOPE_GROUP, *row, entry);
    }
}

/* ---- roff ------------------------------------------------------------------------------------ */

/* Writes text in roff: backslashes and hyphens are escaped, and a line must not begin with a
 * control character. */
static void roff(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\'')) fputs("\\&", out);
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

static void roff_text(FILE *out, const char *text)
{
    roff(out, text, strlen(text));
}

static void roff_paragraph(void *context, const char *text, size_t size, bool verbatim)
{
    FILE *out = context;
    fputs(verbatim ? ".PP\n.nf\n" : ".PP\n", out);
    roff(out, text, size);
    fputs(verbatim ? "\n.fi\n" : "\n", out);
}

static void roff_entry(FILE *out, const char *name, const char *text)
{
    fputs(".TP\n.B ", out);
    roff_text(out, name);
    fputc('\n', out);
    roff_text(out, text);
    fputc('\n', out);
}

static void roff_option(FILE *out, const kf_option *option)
{
    kf_autobuffer name = {0}, text = {0};
    describe(option, &name, &text);
    if (name.data && text.data) roff_entry(out, name.data, text.data);
}

static void roff_names(FILE *out, const char *title, const char *names)
{
    if (!names) return;
    fprintf(out, ".PP\n%s: ", title);
    roff_text(out, names);
    fputs(".\n", out);
}

static void roff_options(FILE *out, const kf_command *const *commands, const kf_command *command)
{
    for (const kf_option *option = command->options; option && option->name; option++)
        if (has_scope(commands, command, option, SCOPE_COMMAND)) roff_option(out, option);
    kf_autobuffer group = {0}, all = {0};
    list_names(commands, command, SCOPE_GROUP, "", &group);
    list_names(commands, command, SCOPE_ALL, "", &all);
    roff_names(out, "Options of the group", group.data);
    roff_names(out, "Shared options", all.data);
}

static void roff_group(FILE *out, const char *group, size_t length)
{
    fprintf(out, ".SS Options of kforge %.*s\n", (int)length, group);
}

static void roff_examples(FILE *out, const char *examples)
{
    for (const char *line = examples; line && *line;) {
        size_t size = strcspn(line, "\n"), command = strcspn(line, "\t\n");
        fputs(".TP\n.B ", out);
        roff(out, line, command);
        fputc('\n', out);
        if (command < size) roff(out, line + command + 1, size - command - 1);
        fputc('\n', out);
        line += size + (line[size] != '\0');
    }
}

void kf_help_man(FILE *out, const kf_command *const *commands)
{
    fprintf(out, ".TH KFORGE 1 \"\" \"kforge %s\" \"User commands\"\n.SH NAME\nkforge \\- %s\n",
            KFORGE_VERSION, kf_tagline);
    fputs(".SH SYNOPSIS\n.B kforge\n.I COMMAND\n[OPTION...] [ARGUMENT...]\n.SH COMMANDS\n", out);
    for (const kf_command *const *row = commands; *row; row++) {
        const kf_command *command = *row;
        if (command->hidden) continue;
        kf_autobuffer usage = {0};
        kf_command_usage(command, &usage);
        fputs(".SS ", out);
        roff_text(out, usage.data ? usage.data : command->name);
        fputc('\n', out);
        roff_text(out, command->summary);
        fputs(".\n", out);
        kf_paragraphs(command->description, roff_paragraph, out);
        roff_options(out, commands, command);
        if (command->examples) fputs(".PP\nExamples:\n", out);
        roff_examples(out, command->examples);
    }
    fputs(".SH SHARED OPTIONS\n", out);
    for_each_option(out, commands, SCOPE_ALL, NULL, roff_option);
    for_each_group(out, commands, roff_group, roff_option);
    fputs(".SH SETTINGS\n", out);
    kf_paragraphs(kf_config_text, roff_paragraph, out);
    fputs(".SH ENVIRONMENT\n", out);
    for (const kf_variable *variable = kf_variables; variable->name; variable++)
        roff_entry(out, variable->name, variable->help);
    fputs(".SH EXIT STATUS\n", out);
    for (const kf_exit_row *row = kf_exit_rows; row->meaning; row++) {
        char number[16];
        snprintf(number, sizeof number, "%d", row->status);
        roff_entry(out, number, row->meaning);
    }
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void markdown_paragraph(void *context, const char *text, size_t size, bool verbatim)
{
    FILE *out = context;
    fprintf(out, verbatim ? "\n```\n%.*s\n```\n" : "\n%.*s\n", (int)size, text);
}

/* '<' would begin an HTML tag. */
static void markdown_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

static void markdown_option(FILE *out, const kf_option *option)
{
    kf_autobuffer name = {0}, text = {0};
    describe(option, &name, &text);
    fprintf(out, "- `%s`: ", name.data ? name.data : "");
    markdown_text(out, text.data ? text.data : "");
    fputc('\n', out);
}

static void markdown_options(FILE *out, const kf_command *const *commands,
                             const kf_command *command)
{
    bool first = true;
    for (const kf_option *option = command->options; option && option->name; option++) {
        if (!has_scope(commands, command, option, SCOPE_COMMAND)) continue;
        if (first) fputc('\n', out);
        first = false;
        markdown_option(out, option);
    }
    kf_autobuffer group = {0}, all = {0};
    list_names(commands, command, SCOPE_GROUP, "`", &group);
    list_names(commands, command, SCOPE_ALL, "`", &all);
    if (group.data)
        fprintf(out, "\n[Options of the group](#options-of-kforge-%.*s): %s\n",
                (int)group_length(command), command->name, group.data);
    if (all.data) fprintf(out, "\n[Shared options](#shared-options): %s\n", all.data);
}

static void markdown_group(FILE *out, const char *group, size_t length)
{
    fprintf(out, "\n## Options of kforge %.*s\n\n", (int)length, group);
}

static void markdown_examples(FILE *out, const char *examples)
{
    if (examples) fputs("\n```sh\n", out);
    for (const char *line = examples; line && *line;) {
        size_t size = strcspn(line, "\n"), command = strcspn(line, "\t\n");
        fprintf(out, "%.*s", (int)command, line);
        if (command < size) fprintf(out, "  # %.*s", (int)(size - command - 1), line + command + 1);
        fputc('\n', out);
        line += size + (line[size] != '\0');
    }
    if (examples) fputs("```\n", out);
}

/* The options that kforge.json and the environment may hold, in table order. */
static void markdown_settings(FILE *out, const kf_command *const *commands)
{
    const char *separator = "\nSettings: ";
    for (const kf_command *const *row = commands; *row; row++)
        for (const kf_option *option = (*row)->options; option && option->name; option++) {
            if (!option->config || kf_option_configurable(commands, option->name) != option)
                continue;
            fprintf(out, "%s`%s`", separator, option->name);
            separator = ", ";
        }
    fputs(".\n\nOther variables:\n\n", out);
    for (const kf_variable *variable = kf_variables; variable->name; variable++) {
        fprintf(out, "- `%s`: ", variable->name);
        markdown_text(out, variable->help);
        fputc('\n', out);
    }
}

void kf_help_markdown(FILE *out, const kf_command *const *commands)
{
    fputs("# Commands\n\n`kforge help --markdown` writes this page; do not edit it.\n\n"
          "| exit status | meaning |\n|---|---|\n",
          out);
    for (const kf_exit_row *row = kf_exit_rows; row->meaning; row++)
        fprintf(out, "| %d | %s |\n", row->status, row->meaning);
    for (const kf_command *const *row = commands; *row; row++) {
        const kf_command *command = *row;
        if (command->hidden) continue;
        kf_autobuffer usage = {0};
        kf_command_usage(command, &usage);
        fprintf(out, "\n## kforge %s\n\n```\n%s\n```\n\n%s.\n", command->name,
                usage.data ? usage.data : "", command->summary);
        kf_paragraphs(command->description, markdown_paragraph, out);
        markdown_options(out, commands, command);
        markdown_examples(out, command->examples);
    }
    fputs("\n## Shared options\n\nEach of these options means the same in every command that names "
          "it.\n\n",
          out);
    for_each_option(out, commands, SCOPE_ALL, NULL, markdown_option);
    for_each_group(out, commands, markdown_group, markdown_option);
    fputs("\n## Settings\n\n[Settings](settings.md) describes kforge.json and the environment.\n",
          out);
    markdown_settings(out, commands);
}
