#include "misplaced_word.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/store.h"
#include "llm.h"
#include "named_task.h"
#include "shell_command.h"

/* ---- kinds of words -------------------------------------------------------------------------- */

static bool ends_with(const char *word, const char *end)
{
    size_t length = strlen(word), size = strlen(end);
    return length > size && strcmp(word + length - size, end) == 0;
}

static bool is_path(const char *word)
{
    return access(word, F_OK) == 0;
}

static bool is_model(const char *word)
{
    return kf_llm_is_spec(word) && !is_path(word);
}

/* True for a task in a folder. */
static bool is_task(const char *word)
{
    kf_error why;
    kf_autofree char *path = kf_named_task_path(word, &why);
    kf_autofree char *file = path ? kf_path_join(path, "task.json") : NULL;
    return file && is_path(file);
}

static bool is_latest(const char *word)
{
    return kf_store_means_latest(word) && !is_path(word);
}

static bool is_device(const char *word)
{
    bool numbered = strncmp(word, "cuda:", 5) == 0 && word[5];
    return (numbered || strcmp(word, "cpu") == 0 || strcmp(word, "cuda") == 0) && !is_path(word);
}

static bool is_candidate(const char *word)
{
    return word[0] == 'c' && word[1] && !word[1 + strspn(word + 1, "0123456789")] && !is_path(word);
}

static bool is_number(const char *word)
{
    return word[0] && !word[strspn(word, "0123456789")] && !is_path(word);
}

static bool is_cuda(const char *word)
{
    return ends_with(word, ".cu");
}

static bool is_python(const char *word)
{
    return ends_with(word, ".py");
}

static bool is_store(const char *word)
{
    return ends_with(word, ".db");
}

static bool is_document(const char *word)
{
    return ends_with(word, ".json");
}

/* True for the folder of tasks that `bench` takes. */
static bool is_tasks(const char *word)
{
    return strcmp(word, "tasks") == 0 && !is_task(word);
}

/* True if `word` is one of "a|b|c". */
static bool is_choice(const char *choices, const char *word)
{
    for (size_t length; *choices; choices += length + (choices[length] != '\0')) {
        length = strcspn(choices, "|");
        if (strlen(word) == length && memcmp(choices, word, length) == 0) return !is_path(word);
    }
    return false;
}

static bool is_any(const char *word)
{
    return word[0] != '\0';
}

/* ---- arguments of a command ------------------------------------------------------------------ */

typedef enum place {
    /* Also if the command takes that many arguments. */
    ANYWHERE,
    /* Only if there are too many arguments. */
    TOO_MANY,
    /* Only behind an argument that may stay. */
    LATER,
} place;

/* The first row of a command that fits decides. */
static const struct misplaced {
    const char *command;
    /* NULL: the word is a choice of the option. */
    bool (*fits)(const char *word);
    place place;
    /* The word's option. "": the word stays an argument. */
    const char *option;
    /* The command that was meant. NULL: the same one. */
    const char *instead;
    /* An argument that the command still needs if no other is left. May be NULL. */
    const char *needs;
    /* The option has no value. */
    bool flag;
} rows[] = {
    {"optimize", is_model, ANYWHERE, .option = "model", .needs = "TASK"},
    {"optimize", is_device, ANYWHERE, .option = "device", .needs = "TASK"},
    {"optimize", is_latest, ANYWHERE, .option = "resume"},
    {"optimize", is_cuda, ANYWHERE, .option = "", .instead = "eval", .needs = "TASK"},
    {"optimize", is_python, LATER, .option = "", .instead = "eval"},
    {"optimize", is_python, ANYWHERE, .option = "", .instead = "import torch"},
    {"optimize", is_tasks, ANYWHERE, .option = "", .instead = "bench"},
    {"optimize", is_task, TOO_MANY, .option = "only", .instead = "bench tasks"},
    {"bench", is_model, ANYWHERE, .option = "model", .needs = "tasks"},
    {"bench", is_device, ANYWHERE, .option = "device", .needs = "tasks"},
    {"bench", is_latest, ANYWHERE, .option = "resume"},
    {"bench", is_task, TOO_MANY, .option = "only", .needs = "tasks"},
    {"bench", is_cuda, ANYWHERE, .option = "", .instead = "eval", .needs = "TASK"},
    {"bench", is_path, LATER, .option = "solutions"},
    {"eval", is_device, ANYWHERE, .option = "device", .needs = "TASK"},
    {"eval", is_model, ANYWHERE, .option = "model", .instead = "optimize", .needs = "TASK"},
    {"prompt", is_latest, ANYWHERE, .option = "run"},
    {"list", is_tasks, ANYWHERE, .option = "tasks", .flag = true},
    {"list", is_any, ANYWHERE, .option = "task"},
    {"show", is_latest, TOO_MANY, .option = "run"},
    {"watch", is_candidate, ANYWHERE, .option = "", .instead = "show"},
    {"export", NULL, ANYWHERE, .option = "format"},
    {"export", is_latest, ANYWHERE, .option = "run"},
    {"export", is_task, ANYWHERE, .option = "task"},
    {"selftest", is_device, ANYWHERE, .option = "device"},
    {"selftest", is_any, ANYWHERE, .option = "filter"},
    {"doctor", is_model, ANYWHERE, .option = "model"},
    {"worker", is_device, ANYWHERE, .option = "device"},
    {"worker", is_path, ANYWHERE, .option = "spool"},
    {"serve", is_number, ANYWHERE, .option = "port"},
    {"serve", is_device, ANYWHERE, .option = "device"},
    {"mcp", is_device, ANYWHERE, .option = "device"},
    {"mcp", is_path, ANYWHERE, .option = "root"},
};
#define ROWS (sizeof rows / sizeof *rows)

/* The arguments of a command line. */
typedef struct line {
    const kf_command *command;
    const kf_parsed *parsed;
    /* Without those that are misplaced anywhere, there are too many. */
    bool many;
} line;

/* Returns the row of an argument, or NULL. `later`: another argument that may stay is before it. */
static const struct misplaced *row_at(const line *l, size_t index, bool many, bool later)
{
    const char *word = l->parsed->arguments[index];
    for (size_t i = 0; i < ROWS; i++) {
        const struct misplaced *row = &rows[i];
        if (strcmp(row->command, l->command->name) != 0) continue;
        if ((row->place == TOO_MANY && !many) || (row->place == LATER && !later)) continue;
        const kf_option *option = row->fits ? NULL : kf_option_find(l->command, row->option);
        if (row->fits ? row->fits(word) : option && is_choice(option->choices, word)) return row;
    }
    return NULL;
}

static const struct misplaced *row_of(const line *l, size_t index)
{
    bool later = false;
    for (size_t i = 0; i < index; i++) later |= !row_at(l, i, false, false);
    return row_at(l, index, l->many, later);
}

static bool has_many(const line *l)
{
    size_t count = 0;
    for (size_t i = 0; i < l->parsed->argument_count; i++) count += !row_at(l, i, false, false);
    return count > l->command->most_arguments;
}

static bool same_command(const struct misplaced *a, const struct misplaced *b)
{
    return a->instead == b->instead ||
           (a->instead && b->instead && strcmp(a->instead, b->instead) == 0);
}

/* Appends the words, misplaced arguments with their options. Returns the number of arguments that
 * are left. *twice: an option that takes one value has several. */
static size_t append_words(const line *l, const char *const *words, size_t count,
                           const struct misplaced *first, kf_buffer *text, bool *twice)
{
    size_t left = 0, next = 0;
    const char *used = "";
    for (size_t i = 0; i < count; i++) {
        /* Arguments are borrowed from `words`, in their order. */
        bool argument = next < l->parsed->argument_count && l->parsed->arguments[next] == words[i];
        const struct misplaced *row = argument ? row_of(l, next) : NULL;
        next += argument;
        if (row && !same_command(row, first)) row = NULL;
        if (row && row->flag) {
            kf_buffer_format(text, " --%s", row->option);
        } else if (row && *row->option) {
            const kf_option *option = kf_option_find(l->command, row->option);
            *twice |= option && option->type != KF_OPTION_LIST && strcmp(used, row->option) == 0;
            used = row->option;
            kf_command_append_option(text, row->option, words[i]);
        } else {
            left += argument;
            kf_buffer_string(text, " ");
            kf_command_append_word(text, words[i]);
        }
    }
    return left;
}

bool kf_misplaced_word(const kf_command *command, const char *const *words, size_t count,
                       const kf_parsed *parsed, kf_error *error)
{
    line l = {.command = command, .parsed = parsed};
    const struct misplaced *first = NULL;
    size_t index = 0;
    bool twice = false;
    l.many = has_many(&l);
    for (; index < parsed->argument_count && !first; index++) first = row_of(&l, index);
    if (!first) return false;
    kf_autobuffer text = {0};
    size_t left = append_words(&l, words, count, first, &text, &twice);
    bool moved = *first->option != '\0';
    bool lacks = first->needs && left < (moved ? 1 : 2);
    size_t most = !first->instead ? command->most_arguments : !moved ? 2 : first->needs ? 1 : 0;
    /* Words that no row explains: a correction would not work either. */
    if (text.failed || twice || left > most) return false;
    kf_fail(error, KF_ERROR_INPUT, "%s: unexpected argument \"%s\"; did you mean: kforge %s%s%s%s",
            command->name, parsed->arguments[index - 1],
            first->instead ? first->instead : command->name, lacks ? " " : "",
            lacks ? first->needs : "", text.data ? text.data : "");
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Names that other programs have for a command. */
static const struct {
    const char *word, *command;
} other_names[] = {
    {"run", "optimize"},
    {"search", "optimize"},
    {"tune", "optimize"},
    {"optimise", "optimize"},
    {"judge", "eval"},
    {"evaluate", "eval"},
    {"profile", "eval"},
    {"time", "eval"},
    {"benchmark", "bench"},
    {"ls", "list"},
    {"runs", "list"},
    {"tasks", "list --tasks"},
    {"history", "list"},
    {"log", "show"},
    {"status", "show"},
    {"resume", "optimize --resume"},
    {"continue", "optimize --resume"},
    {"rm", "store delete"},
    {"config", "help settings"},
    {"settings", "help settings"},
    {"strategies", "help strategies"},
    {"test", "selftest"},
    {"check", "eval --check-only"},
    {"models", "doctor --model"},
};

/* Second words that are no command of their group. */
static const struct {
    const char *group;
    bool (*fits)(const char *word);
    const char *command;
} group_words[] = {
    {"import", is_python, "import torch"},
    {"task", is_task, "task show"},
    {"store", is_store, "store stats --store"},
    {"verdict", is_document, "verdict verify"},
};

bool kf_meant_command(const char *first, const char *second, kf_buffer *text)
{
    for (size_t i = 0; i < sizeof group_words / sizeof *group_words && second; i++)
        if (strcmp(group_words[i].group, first) == 0 && group_words[i].fits(second)) {
            kf_buffer_format(text, "%s ", group_words[i].command);
            kf_command_append_word(text, second);
            return !text->failed;
        }
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(other_names[i].word, first) == 0) {
            kf_buffer_string(text, other_names[i].command);
            return !text->failed;
        }
    return false;
}
