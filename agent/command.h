/* Subcommands and their options as tables. A command is one file, agent/cmd_NAME.c, that exports one `const kf_command kf_command_NAME`; a
 * row in agent/main.c lists it. Its options are rows too, and the parser, the help text, the man page, docs/commands.md and the completions
 * of bash and zsh are all made from them, so that none can disagree.
 *
 * Where an option's value comes from, weakest first: the default in its row, kforge.json (options with `config`), the environment variable
 * KFORGE_NAME (name in capitals, '-' as '_'; options with `config`), the command line.
 */
#ifndef KFORGE_COMMAND_H
#define KFORGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kforge/error.h"

/* Exit status (docs/architecture.md). */
enum kf_exit {
    KF_EXIT_DONE = 0,        /* for `eval`: correct */
    KF_EXIT_NOTHING = 1,     /* done, but nothing correct */
    KF_EXIT_INPUT = 2,       /* usage or bad input */
    KF_EXIT_MACHINE = 3,     /* the machine lacks or refuses something */
    KF_EXIT_BUDGET = 4,      /* budget spent before anything correct */
    KF_EXIT_INTERRUPTED = 130,
};

typedef enum kf_option_type {
    KF_OPTION_FLAG,     /* bool */
    KF_OPTION_TEXT,     /* const char *, NULL when there is no default */
    KF_OPTION_LIST,     /* kf_option_list: may be given again */
    KF_OPTION_INTEGER,  /* int64_t within [low, high] */
    KF_OPTION_NUMBER,   /* double within [low, high] */
    KF_OPTION_DURATION, /* double seconds within [low, high]; "90", "90s", "5m", "2h" */
    KF_OPTION_CHOICE,   /* const char *, one of `choices` ("a|b|c") */
} kf_option_type;

#define KF_OPTION_LIST_MAX 64
typedef struct kf_option_list {
    const char *items[KF_OPTION_LIST_MAX];
    size_t count;
} kf_option_list;

typedef struct kf_option {
    const char *name;     /* long name without dashes */
    char letter;          /* short form, 0 none */
    kf_option_type type;
    const char *argument; /* what help calls the value: "SECONDS", NULL for flags */
    size_t offset;        /* of the value in the command's settings struct */
    const char *fallback; /* default as one would write it on the command line, NULL none */
    double low, high;     /* of numbers; both 0: no limits */
    const char *choices;  /* of KF_OPTION_CHOICE */
    bool config;          /* may come from kforge.json and the environment */
    const char *help;     /* one sentence or two, no newline */
} kf_option;

typedef struct kf_invocation {
    const char *program;           /* "kforge" */
    const char *const *arguments;  /* behind the options */
    size_t argument_count;
    FILE *output, *log;            /* results; progress and errors */
    bool terminal;                 /* log is a terminal: a progress line may be redrawn */
    const volatile int *interrupts; /* how often Ctrl-C (SIGINT) or SIGTERM came: 1 drain, 2 stop */
} kf_invocation;

typedef struct kf_command {
    const char *name;
    const char *synopsis;    /* the arguments: "TASK FILE.cu" */
    const char *summary;     /* half a line */
    const char *description; /* paragraphs separated by blank lines */
    const char *examples;    /* lines "command<TAB>what it does", NULL none */
    size_t least_arguments, most_arguments;
    const kf_option *options; /* ends with a row without a name */
    size_t settings_size;
    bool hidden;
    /* Returns an exit status; or -1 with `error` filled, which main prints as one line and maps to a status. */
    int (*run)(const kf_invocation *invocation, const void *settings, kf_error *error);
} kf_command;

#endif
