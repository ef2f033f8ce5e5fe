/* `kforge help`: the option tables as help text, man page, Markdown or completion. */
#include <string.h>

#include "help.h"
#include "kforge/buffer.h"
#include "nearest.h"
#include "strategy.h"

#define MAX_NAMES 128

typedef struct settings {
    bool man, markdown;
    const char *completion;
} settings;

/* Prints the named strategies, and the keys of a strategy file. */
static void print_strategies(FILE *out, int width)
{
    fputs("Named strategies\n\n", out);
    for (const char *const *name = kf_strategy_names(); *name; name++)
        kf_help_entry(out, *name, kf_strategy_summary(*name), 18, width);
    fputs("\nKeys of a strategy file. \"like\" names the strategy that it starts from.\n", out);
    kf_lever lever;
    const char *group = "";
    for (size_t i = 0; kf_strategy_lever(i, &lever); i++) {
        if (strcmp(group, lever.group) != 0) fprintf(out, "\n%s\n", lever.group);
        group = lever.group;
        kf_autobuffer text = {0};
        kf_buffer_format(&text, "%s (%s)", lever.help, lever.values);
        if (text.data) kf_help_entry(out, lever.name, text.data, 18, width);
    }
}

/* Replaces the error of an unknown command if a topic is nearer. */
static void fail_topic(const kf_invocation *invocation, kf_error *error)
{
    static const char *const topics[] = {"settings", "strategies"};
    const char *names[MAX_NAMES], *given = invocation->arguments[0], *near;
    size_t count = sizeof topics / sizeof *topics;
    memcpy(names, topics, sizeof topics);
    for (const kf_command *const *row = invocation->commands; *row && count < MAX_NAMES; row++)
        names[count++] = (*row)->name;
    near = kf_nearest(given, names, count);
    for (size_t i = 0; near && i < sizeof topics / sizeof *topics; i++)
        if (near == topics[i])
            kf_fail(error, KF_ERROR_INPUT,
                    "there is no help on \"%s\"; did you mean \"kforge help %s\"?", given, near);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    FILE *out = invocation->output;
    if (wanted->man)
        kf_help_man(out, invocation->commands);
    else if (wanted->markdown)
        kf_help_markdown(out, invocation->commands);
    else if (wanted->completion)
        (strcmp(wanted->completion, "bash") == 0 ? kf_help_bash
                                                 : kf_help_zsh)(out, invocation->commands);
    else if (invocation->argument_count == 0)
        kf_help_overview(out, invocation->commands, invocation->width);
    else if (strcmp(invocation->arguments[0], "settings") == 0)
        kf_help_settings(out, invocation->commands, invocation->width);
    else if (strcmp(invocation->arguments[0], "strategies") == 0)
        print_strategies(out, invocation->width);
    else if (invocation->argument_count > 1 ||
             !kf_help_group(out, invocation->commands, invocation->arguments[0],
                            invocation->width)) {
        size_t used = 0;
        const kf_command *command = kf_command_find(invocation->commands, invocation->arguments,
                                                    invocation->argument_count, &used, error);
        if (!command) {
            fail_topic(invocation, error);
            return -1;
        }
        kf_help_command(out, command, invocation->width);
    }
    return KF_EXIT_DONE;
}

static const kf_option options[] = {
    {KF_OPTION(FLAG, "man", NULL, settings, man), .help = "Write the man page kforge(1)."},
    {KF_OPTION(FLAG, "markdown", NULL, settings, markdown),
     .help = "Write docs/reference/commands.md."},
    {KF_OPTION(CHOICE, "completion", "SHELL", settings, completion), .choices = "bash|zsh",
     .help = "Write a script that completes kforge's commands and options in this shell."},
    {0},
};

const kf_command kf_command_help = {
    .name = "help",
    .synopsis = "[COMMAND|settings|strategies]",
    .summary = "Explain a command, or the settings of files and environment",
    .description = "Without an argument it lists the commands. \"kforge COMMAND --help\" is the "
                   "same as \"kforge help COMMAND\".",
    .examples = "kforge help settings\tlists the keys of kforge.json and the KFORGE_ variables\n"
                "kforge help strategies\tlists the strategies and the keys of a strategy file\n"
                "source <(kforge help --completion bash)\tcompletes commands, options and values "
                "in this shell",
    .most_arguments = 2,
    .options = options,
    .settings_size = sizeof(settings),
    .tolerant = true,
    .run = run,
};
