/* The man page and docs/reference/commands.md. */
#include <stdlib.h>
#include <string.h>

#include "help.h"

/* ---- roff ------------------------------------------------------------------------------------ */

/* Text in roff: backslashes and hyphens are escaped, and a line may not begin with a control
 * character. */
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

static void roff_options(FILE *out, const kf_command *command)
{
    for (const kf_option *option = command->options; option && option->name; option++) {
        kf_autobuffer name = {0}, text = {0};
        kf_option_usage(option, &name);
        kf_option_explanation(option, &text);
        if (name.data && text.data) roff_entry(out, name.data, text.data);
    }
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
    for (; *commands; commands++) {
        const kf_command *command = *commands;
        if (command->hidden) continue;
        kf_autobuffer usage = {0};
        kf_command_usage(command, &usage);
        fputs(".SS ", out);
        roff_text(out, usage.data ? usage.data : command->name);
        fputc('\n', out);
        roff_text(out, command->summary);
        fputs(".\n", out);
        kf_paragraphs(command->description, roff_paragraph, out);
        roff_options(out, command);
        if (command->examples) fputs(".PP\nExamples:\n", out);
        roff_examples(out, command->examples);
    }
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

/* A cell of a table: '|' would end it, '<' would be HTML. */
static void markdown_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputs("\\|", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else
            fputc(*text, out);
    }
}

static void markdown_options(FILE *out, const kf_command *command)
{
    if (command->options && command->options->name)
        fputs("\n| option | meaning |\n|---|---|\n", out);
    for (const kf_option *option = command->options; option && option->name; option++) {
        kf_autobuffer name = {0}, text = {0};
        kf_option_usage(option, &name);
        kf_option_explanation(option, &text);
        fprintf(out, "| `%s` | ", name.data ? name.data : "");
        markdown_cell(out, text.data ? text.data : "");
        fputs(" |\n", out);
    }
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

void kf_help_markdown(FILE *out, const kf_command *const *commands)
{
    fputs("# Commands\n\nMade from the command tables by `kforge help --markdown`; do not "
          "edit.\n\n| command | what it does "
          "|\n|---|---|\n",
          out);
    for (const kf_command *const *row = commands; *row; row++)
        if (!(*row)->hidden) fprintf(out, "| `%s` | %s |\n", (*row)->name, (*row)->summary);
    fputs("\n| exit status | meaning |\n|---|---|\n", out);
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
        markdown_options(out, command);
        markdown_examples(out, command->examples);
    }
    fputs("\n## Settings\n", out);
    kf_paragraphs(kf_config_text, markdown_paragraph, out);
    fputs("\n| setting | variable | commands |\n|---|---|---|\n", out);
    for (const kf_command *const *row = commands; *row; row++)
        for (const kf_option *option = (*row)->options; option && option->name; option++) {
            char variable[128];
            if (!option->config || kf_option_configurable(commands, option->name) != option ||
                !kf_environment_name(option->name, variable, sizeof variable))
                continue;
            fprintf(out, "| `%s` | `%s` |", option->name, variable);
            const char *separator = " ";
            for (const kf_command *const *user = commands; *user; user++) {
                const kf_option *same = kf_option_find(*user, option->name);
                if (!same || !same->config || (*user)->hidden) continue;
                fprintf(out, "%s%s", separator, (*user)->name);
                separator = ", ";
            }
            fputs(" |\n", out);
        }
    fputs("\n| variable of the environment alone | meaning |\n|---|---|\n", out);
    for (const kf_variable *variable = kf_variables; variable->name; variable++) {
        fprintf(out, "| `%s` | ", variable->name);
        markdown_cell(out, variable->help);
        fputs(" |\n", out);
    }
}
