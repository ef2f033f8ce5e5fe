#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

const char kf_tagline[] =
    "makes CUDA kernels faster with language models, and proves that they are";

const kf_exit_row kf_exit_rows[] = {
    {KF_EXIT_DONE, "done; for eval: correct"},
    {KF_EXIT_NOTHING, "done, but nothing correct"},
    {KF_EXIT_INPUT, "usage or bad input"},
    {KF_EXIT_MACHINE, "the machine lacks or refuses something"},
    {KF_EXIT_BUDGET, "budget spent before anything correct"},
    {KF_EXIT_NO_SOURCE, "the model's reply holds no usable source"},
    {KF_EXIT_INTERRUPTED, "interrupted"},
    {0, NULL},
};

const char kf_config_text[] =
    "The value of a setting comes from the first of: the command line, the environment, the "
    "project's kforge.json, the user's kforge.json, the default. The environment variable of "
    "--build-seconds is KFORGE_BUILD_SECONDS. Every command refuses an unknown key and a value "
    "that does not fit, and names an unknown KFORGE_ variable.\n\n"
    "kforge.json is one JSON object. Its keys are names of options. The user's file is "
    "$XDG_CONFIG_HOME/kforge/kforge.json, by default ~/.config/kforge/kforge.json. The project's "
    "file is the first kforge.json on the way from the working directory up to the folder with "
    ".git, or to the home directory. Outside both, kforge looks in the working directory only. "
    "Relative paths in the file are relative to it. An option that may be repeated takes a string "
    "or an array of strings, in the environment one string.\n\n"
    "  {\"device\": \"cpu\", \"store\": \"runs.db\"}";

/* ---- pieces ---------------------------------------------------------------------------------- */

void kf_paragraphs(const char *text, kf_paragraph *paragraph, void *context)
{
    if (!text) return;
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        paragraph(context, text, size, size > 2 && text[0] == ' ' && text[1] == ' ');
        text += size;
        while (*text == '\n') text++;
    }
}

void kf_option_usage(const kf_option *option, kf_buffer *text)
{
    if (option->letter) kf_buffer_format(text, "-%c, ", option->letter);
    kf_buffer_format(text, "--%s", option->name);
    if (option->argument) kf_buffer_format(text, "=%s", option->argument);
}

/* A range up to there is not shown. */
#define NO_LIMIT 1e9

void kf_option_explanation(const kf_option *option, kf_buffer *text)
{
    kf_buffer_string(text, option->help);
    kf_autobuffer more = {0};
    if (option->type == KF_OPTION_CHOICE) {
        kf_buffer_string(&more, "one of ");
        for (const char *c = option->choices; *c; c++)
            kf_buffer_format(&more, *c == '|' ? ", " : "%c", *c);
    }
    if (option->type == KF_OPTION_LIST && !strstr(option->help, "given again"))
        kf_buffer_string(&more, "may be given again");
    bool number = option->type == KF_OPTION_INTEGER || option->type == KF_OPTION_NUMBER ||
                  option->type == KF_OPTION_DURATION;
    const char *unit = option->type == KF_OPTION_DURATION ? " s" : "";
    if (number && option->high >= NO_LIMIT && option->low > 0)
        kf_buffer_format(&more, "at least %.12g%s", option->low, unit);
    else if (number && option->high < NO_LIMIT && (option->low != 0 || option->high != 0))
        kf_buffer_format(&more, "%.12g to %.12g%s", option->low, option->high, unit);
    if (option->fallback && option->fallback[0])
        kf_buffer_format(&more, "%sdefault %s", more.size ? "; " : "", option->fallback);
    if (more.size) kf_buffer_format(text, " (%s)", more.data);
}

void kf_command_usage(const kf_command *command, kf_buffer *text)
{
    bool options = command->options && command->options->name;
    kf_buffer_format(text, "kforge %s%s", command->name, options ? " [OPTION…]" : "");
    if (command->synopsis && command->synopsis[0]) kf_buffer_format(text, " %s", command->synopsis);
}

/* ---- the terminal ---------------------------------------------------------------------------- */

typedef struct page {
    FILE *out;
    int width, indent;
} page;

/* Lines over 100 columns are hard to read. */
static page start_page(FILE *out, int width)
{
    return (page){.out = out, .width = width <= 0 ? 80 : width > 100 ? 100 : width};
}

static void print_paragraph(void *context, const char *text, size_t size, bool verbatim)
{
    const page *p = context;
    fputc('\n', p->out);
    if (verbatim)
        fprintf(p->out, "%.*s\n", (int)size, text);
    else
        kf_text_wrap(p->out, text, size, p->width, p->indent, false);
}

/* Prints "  NAME   TEXT". A long name gets a line of its own. */
static void print_entry(const page *p, const char *name, const char *text, int column)
{
    int used = fprintf(p->out, "  %s", name);
    used = 2 + (int)kf_text_width(name, strlen(name));
    if (used + 2 > column)
        fprintf(p->out, "\n%*s", column, "");
    else
        fprintf(p->out, "%*s", column - used, "");
    kf_text_wrap(p->out, text, strlen(text), p->width, column, true);
}

static void print_examples(const page *p, const char *examples)
{
    for (const char *line = examples; line && *line;) {
        size_t size = strcspn(line, "\n"), command = strcspn(line, "\t\n");
        fprintf(p->out, "  %.*s\n", (int)command, line);
        if (command < size)
            kf_text_wrap(p->out, line + command + 1, size - command - 1, p->width, 6, false);
        line += size;
        if (*line) line++;
    }
}

/* Prints the commands of a group, all with `group` NULL. Returns their number. */
static int list_commands(const page *p, const kf_command *const *commands, const char *group)
{
    size_t length = group ? strlen(group) : 0;
    int count = 0, column = 0;
    for (int pass = 0; pass < 2; pass++)
        for (const kf_command *const *row = commands; *row; row++) {
            const char *name = (*row)->name;
            if ((*row)->hidden ||
                (group && (strncmp(name, group, length) != 0 || name[length] != ' ')))
                continue;
            if (pass)
                print_entry(p, name, (*row)->summary, column);
            else if ((int)strlen(name) + 5 > column)
                column = (int)strlen(name) + 5;
            count += pass;
        }
    return count;
}

bool kf_help_group(FILE *out, const kf_command *const *commands, const char *group, int width)
{
    page p = start_page(out, width);
    for (const kf_command *const *row = commands; *row; row++)
        if (strcmp((*row)->name, group) == 0) /* The word is a command, not a group. */
            return false;
    if (list_commands(&p, commands, group) == 0) return false;
    fprintf(out, "\n\"kforge help %s COMMAND\" explains one command.\n", group);
    return true;
}

/* Commands by their first words, in the order of the overview. */
static const struct {
    const char *title, *words;
} groups[] = {
    {"Search and judge", " optimize eval bench prompt scan "},
    {"Look", " list show watch diff "},
    {"Tasks", " task import "},
    {"Results", " export store verdict "},
    {"For other programs", " worker mcp serve "},
    {"This machine", " doctor selftest trust help "},
};
#define GROUPS (sizeof groups / sizeof *groups)

/* Returns the group of a command, GROUPS without one. */
static size_t group_of(const kf_command *command)
{
    char first[32];
    snprintf(first, sizeof first, " %.*s ", (int)strcspn(command->name, " "), command->name);
    size_t group = 0;
    while (group < GROUPS && !strstr(groups[group].words, first)) group++;
    return group;
}

/* True if `name` begins with the word `first`. */
static bool begins_with(const char *name, const char *first)
{
    size_t length = strcspn(name, " ");
    return strlen(first) == length && strncmp(name, first, length) == 0;
}

/* Prints the commands of a group. A command comes before those that add a word to its name. */
static void print_group(const page *p, const kf_command *const *commands, size_t group)
{
    const kf_command *printed = NULL;
    const char *title = group < GROUPS ? groups[group].title : "Other";
    for (const kf_command *const *row = commands; *row; row++) {
        const kf_command *parent = *row;
        if ((*row)->hidden || *row == printed || group_of(*row) != group) continue;
        if (title) fprintf(p->out, "\n%s:\n", title);
        title = NULL;
        for (const kf_command *const *other = row; *other; other++)
            if (begins_with((*row)->name, (*other)->name)) parent = *other;
        if (parent != *row && parent != printed) print_entry(p, parent->name, parent->summary, 26);
        print_entry(p, (*row)->name, (*row)->summary, 26);
        printed = parent;
    }
}

void kf_help_overview(FILE *out, const kf_command *const *commands, int width)
{
    page p = start_page(out, width);
    fprintf(out,
            "kforge %s %s.\n\nUsage: kforge COMMAND [OPTION…] [ARGUMENT…]\nStart: kforge optimize "
            "row_softmax\n",
            KFORGE_VERSION, kf_tagline);
    for (size_t group = 0; group <= GROUPS; group++) print_group(&p, commands, group);
    static const char more[] = "\"kforge help COMMAND\" explains one command, \"kforge help "
                               "settings\" kforge.json and the environment.";
    fputc('\n', out);
    kf_text_wrap(out, more, sizeof more - 1, p.width, 0, false);
}

void kf_help_command(FILE *out, const kf_command *command, int width)
{
    page p = start_page(out, width);
    kf_autobuffer usage = {0};
    kf_command_usage(command, &usage);
    fprintf(out, "Usage: %s\n\n", usage.data ? usage.data : "");
    kf_text_wrap(out, command->summary, strlen(command->summary), p.width, 0, false);
    kf_paragraphs(command->description, print_paragraph, &p);
    if (command->options && command->options->name) fputs("\nOptions:\n", out);
    for (const kf_option *option = command->options; option && option->name; option++) {
        kf_autobuffer name = {0}, text = {0};
        if (!option->letter) kf_buffer_string(&name, "    ");
        kf_option_usage(option, &name);
        kf_option_explanation(option, &text);
        if (name.data && text.data) print_entry(&p, name.data, text.data, 28);
    }
    if (command->examples) {
        fputs("\nExamples:\n", out);
        print_examples(&p, command->examples);
    }
}

void kf_help_entry(FILE *out, const char *name, const char *text, int column, int width)
{
    page p = start_page(out, width);
    print_entry(&p, name, text, column);
}

void kf_help_settings(FILE *out, const kf_command *const *commands, int width)
{
    page p = start_page(out, width);
    fputs("Settings of kforge.json and the environment\n", out);
    kf_paragraphs(kf_config_text, print_paragraph, &p);
    fputs("\nSettings, and the commands that use them:\n", out);
    for (const kf_command *const *row = commands; *row; row++)
        for (const kf_option *option = (*row)->options; option && option->name; option++) {
            if (!option->config || kf_option_configurable(commands, option->name) != option)
                continue;
            char variable[128];
            kf_autobuffer text = {0};
            if (!kf_environment_name(option->name, variable, sizeof variable)) continue;
            kf_option_explanation(option, &text);
            kf_buffer_format(&text, " %s;", variable);
            const char *separator = " ";
            for (const kf_command *const *user = commands; *user; user++) {
                const kf_option *same = kf_option_find(*user, option->name);
                if (!same || !same->config || (*user)->hidden) continue;
                kf_buffer_format(&text, "%s%s", separator, (*user)->name);
                separator = ", ";
            }
            if (text.data) print_entry(&p, option->name, text.data, 24);
        }
    fputs("\nOther variables:\n", out);
    for (const kf_variable *variable = kf_variables; variable->name; variable++)
        print_entry(&p, variable->name, variable->help, 24);
}
