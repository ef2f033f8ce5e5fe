/* Subcommands and their options as tables. A command is one file, agent/commands/cmd_NAME.c, which
 * exports a `const kf_command kf_command_NAME`. A row in agent/main.c lists it. Its options are
 * rows, too. The parser, the help texts, the man page, docs/reference/commands.md and the
 * completions of bash and zsh are made from them.
 *
 * The value of an option comes from the last of these that gives one: the default in its row,
 * kforge.json, the environment variable KFORGE_NAME (in capitals, '-' as '_'), the command line.
 * Options without `config` come from the command line only. Options of one name mean the same in
 * every command: same type, same choices.
 *
 * A command may write to invocation->output without checks. main checks the stream after the
 * command. */
#ifndef KFORGE_COMMAND_H
#define KFORGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kforge/error.h"

/* Exit statuses (docs/internals/architecture.md). */
enum kf_exit {
    /* For `eval`: correct. */
    KF_EXIT_DONE = 0,
    /* Done, but nothing correct. */
    KF_EXIT_NOTHING = 1,
    /* Usage or bad input. */
    KF_EXIT_INPUT = 2,
    /* The machine lacks or refuses something. */
    KF_EXIT_MACHINE = 3,
    /* The budget was spent before anything was correct. */
    KF_EXIT_BUDGET = 4,
    /* For `eval --reply`: the reply has no usable source. */
    KF_EXIT_NO_SOURCE = 5,
    KF_EXIT_INTERRUPTED = 130,
};

typedef enum kf_option_type {
    /* bool. --no-NAME sets it to false. */
    KF_OPTION_FLAG,
    /* const char *. NULL without a default. */
    KF_OPTION_TEXT,
    /* kf_option_list: may be repeated. A stronger source replaces the whole list of a weaker one.
     */
    KF_OPTION_LIST,
    /* int64_t within [low, high]. */
    KF_OPTION_INTEGER,
    /* double within [low, high]. */
    KF_OPTION_NUMBER,
    /* double seconds within [low, high]: "90", "90s", "1.5m", "2h", "1h30m", "500ms". */
    KF_OPTION_DURATION,
    /* const char *, one of `choices` ("a|b|c"). */
    KF_OPTION_CHOICE,
    /* const char *: cpu, cuda or cuda:N. */
    KF_OPTION_DEVICE,
    /* const char *, as text. In kforge.json a relative path is relative to that file. */
    KF_OPTION_PATH,
} kf_option_type;

#define KF_OPTION_LIST_MAX 64
typedef struct kf_option_list {
    const char *items[KF_OPTION_LIST_MAX];
    size_t count;
} kf_option_list;

typedef struct kf_option {
    /* The long name without dashes. Not "help", not "no-…". */
    const char *name;
    /* The short form, or 0. Not 'h'. */
    char letter;
    kf_option_type type;
    /* The name of the value in help texts: "SECONDS". NULL for flags. */
    const char *argument;
    /* Of the value in the command's settings struct. */
    size_t offset;
    /* The default, as on the command line. NULL: 0, NULL, false or an empty list. */
    const char *fallback;
    /* Limits of a number. Both 0: no limits. */
    double low, high;
    /* For KF_OPTION_CHOICE. */
    const char *choices;
    /* May come from kforge.json and the environment. */
    bool config;
    /* It limits spending, so a misspelt variable for it is an error: a run without it is costly. */
    bool budget;
    /* One or two sentences, no newline. */
    const char *help;
} kf_option;

/* agent/cli/options.h */
typedef struct kf_config kf_config;
typedef struct kf_command kf_command;

typedef struct kf_invocation {
    /* Without the options. */
    const char *const *arguments;
    size_t argument_count;
    /* Results, and progress and notes, which --quiet omits. */
    FILE *output, *log;
    /* Errors that are no reason to end at once. */
    FILE *errors;
    /* log is a terminal: a progress line may be redrawn. */
    bool terminal;
    /* The number of Ctrl-C (SIGINT) or SIGTERM so far. 1: finish the work in flight. 2: stop. The
     * third ends the process. */
    const volatile int *interrupts;
    /* output may be coloured: it is a terminal, and NO_COLOR is not set. */
    bool color;
    /* Columns of output. 0: no terminal, no line needs to be cut. */
    int width;
    /* All commands. Ends with NULL. */
    const kf_command *const *commands;
    /* The files in force. NULL if they can't be read, for tolerant commands only. */
    const kf_config *config;
    /* The reason if `config` is NULL. */
    const kf_error *config_error;
} kf_invocation;

struct kf_command {
    /* One word, or two for a group: "task new". */
    const char *name;
    /* The arguments: "TASK FILE.cu". The words TASK, FILE, DIR and RUN select the completion. */
    const char *synopsis;
    /* Half a line. */
    const char *summary;
    /* Paragraphs with blank lines between them. A line that begins with two blanks is kept as it
     * is. */
    const char *description;
    /* Lines "command<TAB>what it does". May be NULL. */
    const char *examples;
    size_t least_arguments, most_arguments;
    /* Ends with a row without a name. May be NULL. */
    const kf_option *options;
    size_t settings_size;
    /* Not in overviews. */
    bool hidden;
    /* Runs even if kforge.json or the environment is wrong: `help`, `doctor`. */
    bool tolerant;
    /* Returns an exit status. Or returns -1 and fills *error: main prints it as one line and maps
     * it to a status. */
    int (*run)(const kf_invocation *invocation, const void *settings, kf_error *error);
};

/* A budget of 0 is refused: it would mean "no limit", the opposite of what `--cost 0` says. */
#define KF_MIN_SECONDS 0.001
#define KF_MIN_USD 0.000001

/* The first members of a row: its type is KF_OPTION_TYPE, and its value a member of SETTINGS. */
#define KF_OPTION(TYPE, NAME, ARGUMENT, SETTINGS, MEMBER)         \
    .name = NAME, .type = KF_OPTION_##TYPE, .argument = ARGUMENT, \
    .offset = offsetof(SETTINGS, MEMBER)

/* Rows that several commands share. SETTINGS is the settings struct of the command and has a member
 * of that name. */
#define KF_ROW_STORE(SETTINGS)                                                           \
    {                                                                                    \
        .name = "store", .type = KF_OPTION_PATH, .argument = "FILE",                     \
        .offset = offsetof(SETTINGS, store), .config = true,                             \
        .help = "The database with all runs and candidates. Default: "                   \
                "$XDG_DATA_HOME/kforge/kforge.db, else ~/.local/share/kforge/kforge.db." \
    }
#define KF_ROW_JSON(SETTINGS)                                                       \
    {                                                                               \
        .name = "json", .type = KF_OPTION_FLAG, .offset = offsetof(SETTINGS, json), \
        .help = "Write one JSON object instead of text (docs/reference/json.md)."   \
    }
/* main.c leaves out progress and notes then. If its result has details, it prints one line. */
#define KF_ROW_QUIET(SETTINGS)                                                           \
    {                                                                                    \
        .name = "quiet", .letter = 'q', .type = KF_OPTION_FLAG,                          \
        .offset = offsetof(SETTINGS, quiet), .help = "Print only the result and errors." \
    }
#define KF_ROW_VERBOSE(SETTINGS)                                                           \
    {                                                                                      \
        .name = "verbose", .letter = 'v', .type = KF_OPTION_FLAG,                          \
        .offset = offsetof(SETTINGS, verbose), .help = "Print each step with its details." \
    }
#define KF_ROW_EVENTS(SETTINGS)                                            \
    {                                                                      \
        .name = "events", .type = KF_OPTION_PATH, .argument = "FILE|fd:N", \
        .offset = offsetof(SETTINGS, events),                              \
        .help = "Append events as JSON lines (docs/reference/json.md)."    \
    }
#define KF_ROW_DEVICE(SETTINGS)                                                          \
    {                                                                                    \
        .name = "device", .letter = 'd', .type = KF_OPTION_DEVICE, .argument = "DEVICE", \
        .offset = offsetof(SETTINGS, device), .config = true,                            \
        .help = "The device: cpu, cuda or cuda:N. Default: the first GPU, else the CPU." \
    }
#define KF_ROW_WORKERS(SETTINGS)                                                              \
    {                                                                                         \
        .name = "workers", .letter = 'w', .type = KF_OPTION_LIST, .argument = "SPEC",         \
        .offset = offsetof(SETTINGS, workers), .config = true,                                \
        .help = "The workers that judge: local, a command that speaks JSON lines ('ssh host " \
                "kforge worker'), or spool:DIR. Append *N for N of them."                     \
    }
#define KF_ROW_BASELINE(SETTINGS)                                       \
    {                                                                   \
        .name = "baseline", .type = KF_OPTION_TEXT, .argument = "NAME", \
        .offset = offsetof(SETTINGS, baseline),                         \
        .help = "Time against this further baseline of the task."       \
    }
#define KF_ROW_SANDBOX(SETTINGS)                                                                  \
    {                                                                                             \
        .name = "sandbox", .type = KF_OPTION_CHOICE, .argument = "HOW", .choices = "best|strict", \
        .fallback = "best", .offset = offsetof(SETTINGS, sandbox), .config = true,                \
        .help = "strict: judge only if every layer of the sandbox works. best: use the layers "   \
                "that work."                                                                      \
    }
#define KF_ROW_ENSEMBLE(SETTINGS)                                                                  \
    {                                                                                              \
        .name = "ensemble", .type = KF_OPTION_CHOICE, .argument = "HOW",                           \
        .choices = "bandit|share", .fallback = "bandit", .offset = offsetof(SETTINGS, ensemble),   \
        .config = true,                                                                            \
        .help = "How to choose among several models. bandit: by success for the money. share: by " \
                "weight=W in their SPEC."                                                          \
    }
#define KF_ROW_TIMEOUT(SETTINGS)                                                            \
    {                                                                                       \
        .name = "timeout", .type = KF_OPTION_DURATION, .argument = "SECONDS",               \
        .offset = offsetof(SETTINGS, timeout), .fallback = "30", .low = 0.1, .high = 86400, \
        .help = "Limit for a candidate, from loading to its last result."                   \
    }
#define KF_ROW_PROMPTS(SETTINGS)                                                    \
    {                                                                               \
        .name = "prompts", .type = KF_OPTION_PATH, .argument = "DIR",               \
        .offset = offsetof(SETTINGS, prompts), .config = true,                      \
        .help = "Prompt templates that replace the built-in ones of the same name." \
    }

#endif
