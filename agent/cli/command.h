/* Subcommands and their options as tables. A command is one file, agent/cmd_NAME.c, that exports
 * one `const kf_command kf_command_NAME`; a row in agent/main.c lists it. Its options are rows too,
 * and the parser, the help text, the man page, docs/reference/commands.md and the completions of
 * bash and zsh are all made from them, so that none can disagree.
 *
 * Where an option's value comes from, weakest first: the default in its row, kforge.json (options
 * with `config`), the environment variable KFORGE_NAME (name in capitals, '-' as '_'; options with
 * `config`), the command line. Options of one name mean the same in every command that has them:
 * same type, same choices.
 *
 * A command that writes results to invocation->output need not check each write: main does once it
 * has returned.
 */
#ifndef KFORGE_COMMAND_H
#define KFORGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kforge/error.h"

/* Exit status (docs/internals/architecture.md). */
enum kf_exit {
    KF_EXIT_DONE = 0,    /* for `eval`: correct */
    KF_EXIT_NOTHING = 1, /* done, but nothing correct */
    KF_EXIT_INPUT = 2,   /* usage or bad input */
    KF_EXIT_MACHINE = 3, /* the machine lacks or refuses something */
    KF_EXIT_BUDGET = 4,  /* budget spent before anything correct */
    KF_EXIT_INTERRUPTED = 130,
};

typedef enum kf_option_type {
    KF_OPTION_FLAG, /* bool; --no-NAME takes it back */
    KF_OPTION_TEXT, /* const char *, NULL when there is no default */
    /* kf_option_list: may be given again; a stronger source replaces the whole list of a weaker one
     */
    KF_OPTION_LIST,
    KF_OPTION_INTEGER, /* int64_t within [low, high] */
    KF_OPTION_NUMBER,  /* double within [low, high] */
    /* double seconds within [low, high]; "90", "90s", "1.5m", "2h", "1h30m", "500ms" */
    KF_OPTION_DURATION,
    KF_OPTION_CHOICE, /* const char *, one of `choices` ("a|b|c") */
    /* const char * as for text; a relative one in kforge.json is relative to that file */
    KF_OPTION_PATH,
} kf_option_type;

#define KF_OPTION_LIST_MAX 64
typedef struct kf_option_list {
    const char *items[KF_OPTION_LIST_MAX];
    size_t count;
} kf_option_list;

typedef struct kf_option {
    const char *name; /* long name without dashes; not "help", not "no-…" */
    char letter;      /* short form, 0 none; not 'h' */
    kf_option_type type;
    const char *argument; /* what help calls the value: "SECONDS", NULL for flags */
    size_t offset;        /* of the value in the command's settings struct */
    /* default as one would write it on the command line, NULL none (0, NULL, false, empty list) */
    const char *fallback;
    double low, high;    /* of numbers; both 0: no limits */
    const char *choices; /* of KF_OPTION_CHOICE */
    bool config;         /* may come from kforge.json and the environment */
    const char *help;    /* one sentence or two, no newline */
} kf_option;

typedef struct kf_config kf_config; /* agent/cli/options.h */
typedef struct kf_command kf_command;

typedef struct kf_invocation {
    const char *program;          /* "kforge" */
    const char *const *arguments; /* behind the options */
    size_t argument_count;
    FILE *output, *log; /* results; progress and errors */
    bool terminal;      /* log is a terminal: a progress line may be redrawn */
    /* how often Ctrl-C (SIGINT) or SIGTERM came: 1 drain, 2 stop; the third ends the process */
    const volatile int *interrupts;
    /* output may be coloured: a terminal, and NO_COLOR is not set */
    bool color;
    /* columns of output; 0: not a terminal, nothing needs to be cut */
    int width;
    const kf_command *const *commands; /* all of them, ends with NULL */
    /* files in force; NULL when they can't be read (only for tolerant commands) */
    const kf_config *config;
    const kf_error *config_error; /* why not */
} kf_invocation;

struct kf_command {
    const char *name; /* one word, or two for a group: "task new" */
    /* the arguments: "TASK FILE.cu"; a word with TASK, FILE, DIR or RUN in it is completed as such
     */
    const char *synopsis;
    const char *summary; /* half a line */
    /* paragraphs separated by blank lines; a line that begins with two spaces stays as it is */
    const char *description;
    const char *examples; /* lines "command<TAB>what it does", NULL none */
    size_t least_arguments, most_arguments;
    const kf_option *options; /* ends with a row without a name; NULL none */
    size_t settings_size;
    bool hidden;   /* not in overviews */
    bool tolerant; /* runs even when kforge.json or the environment is at fault: `help`, `doctor` */
    /* Returns an exit status; or -1 with `error` filled, which main prints as one line and maps to
     * a status. */
    int (*run)(const kf_invocation *invocation, const void *settings, kf_error *error);
};

/* Budgets of 0 are refused: "no limit" would be the opposite of what `--cost 0` seems to say. */
#define KF_MIN_SECONDS 0.001
#define KF_MIN_USD 0.000001

/* Rows that several commands share. SETTINGS is the command's settings struct with a member of that
 * name. */
#define KF_ROW_STORE(SETTINGS)                                        \
    {                                                                 \
        .name = "store", .type = KF_OPTION_PATH, .argument = "FILE",  \
        .offset = offsetof(SETTINGS, store), .config = true,          \
        .help = "The database with all runs and candidates; default " \
                "$XDG_DATA_HOME/kforge/kforge.db or "                 \
                "~/.local/share/kforge/kforge.db."                    \
    }
#define KF_ROW_JSON(SETTINGS)                                                       \
    {                                                                               \
        .name = "json", .type = KF_OPTION_FLAG, .offset = offsetof(SETTINGS, json), \
        .help = "Write one JSON value instead of text."                             \
    }
#define KF_ROW_DEVICE(SETTINGS)                                                                \
    {                                                                                          \
        .name = "device", .letter = 'd', .type = KF_OPTION_TEXT, .argument = "DEVICE",         \
        .offset = offsetof(SETTINGS, device), .config = true,                                  \
        .help = "Where kernels run: cpu, cuda or cuda:N; default the first GPU, else the CPU." \
    }
#define KF_ROW_WORKERS(SETTINGS)                                                                   \
    {                                                                                              \
        .name = "workers", .letter = 'w', .type = KF_OPTION_LIST, .argument = "SPEC",              \
        .offset = offsetof(SETTINGS, workers), .config = true,                                     \
        .help = "Who judges: local, a command that speaks JSON lines ('ssh host kforge worker'), " \
                "or spool:DIR; *N behind it for "                                                  \
                "N of them."                                                                       \
    }
#define KF_ROW_BASELINE(SETTINGS)                                        \
    {                                                                    \
        .name = "baseline", .type = KF_OPTION_TEXT, .argument = "NAME",  \
        .offset = offsetof(SETTINGS, baseline),                          \
        .help = "Time against this one of the task's further baselines." \
    }
#define KF_ROW_SANDBOX(SETTINGS)                                                                  \
    {                                                                                             \
        .name = "sandbox", .type = KF_OPTION_CHOICE, .argument = "HOW", .choices = "best|strict", \
        .fallback = "best", .offset = offsetof(SETTINGS, sandbox), .config = true,                \
        .help = "strict: judge nothing unless every layer of the sandbox is there; best: with "   \
                "those the machine has."                                                          \
    }
#define KF_ROW_ENSEMBLE(SETTINGS)                                                                 \
    {                                                                                             \
        .name = "ensemble", .type = KF_OPTION_CHOICE, .argument = "HOW",                          \
        .choices = "bandit|share", .fallback = "bandit", .offset = offsetof(SETTINGS, ensemble),  \
        .config = true,                                                                           \
        .help = "Which of several models is asked: the one that promises most for its money, or " \
                "each by its share, weight=W in its "                                             \
                "SPEC."                                                                           \
    }
#define KF_ROW_TIMEOUT(SETTINGS)                                                            \
    {                                                                                       \
        .name = "timeout", .type = KF_OPTION_DURATION, .argument = "SECONDS",               \
        .offset = offsetof(SETTINGS, timeout), .fallback = "30", .low = 0.1, .high = 86400, \
        .help = "Most time for a candidate from loading to the last result."                \
    }
#define KF_ROW_PROMPTS(SETTINGS)                                                    \
    {                                                                               \
        .name = "prompts", .type = KF_OPTION_PATH, .argument = "DIR",               \
        .offset = offsetof(SETTINGS, prompts), .config = true,                      \
        .help = "Prompt templates that replace the built-in ones of the same name." \
    }

#endif
