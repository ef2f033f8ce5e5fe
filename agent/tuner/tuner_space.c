/* Reads a tune space from a source, and writes its points: as compiler flags, as text, or as a
 * source.
 *
 * Declarations are found line by line in the text with comments and literals blanked out
 * (c_lexer.h). So a `kforge:` inside a string or a block comment declares nothing, and a
 * #define inside a comment defines nothing. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "c_lexer.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "nearest.h"
#include "tuner_internal.h"

#define MAX_FLAG_BYTES 128
#define MAX_FLAGS 8
/* most steps to find out whether the constraints can hold */
#define READ_BUDGET 2000000
/* most bytes of a macro's name */
#define GUARD_SIZE 128

static void free_axis(kf_flag_axis *axis)
{
    for (int i = 0; i < axis->count; i++) free(axis->alternatives[i]);
}

void kf_tune_space_free(kf_tune_space *space)
{
    if (!space) return;
    for (int i = 0; i < space->constraint_count; i++)
        kf_expression_free(space->constraints[i].expression);
    for (int i = 0; i < space->flag_count; i++) free_axis(&space->flags[i]);
    free(space);
}

int kf_tune_space_axes(const kf_tune_space *space)
{
    return space->tunable_count + space->flag_count;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Takes the next word off *text. Words are separated by blanks, and with `commas` by commas. */
static bool next_word(const char **text, bool commas, char *word, size_t size)
{
    const char *at = *text;
    while (*at == ' ' || *at == '\t' || (commas && *at == ',')) at++;
    size_t length = 0;
    for (; *at && *at != ' ' && *at != '\t' && !(commas && *at == ','); at++)
        if (length + 1 < size) word[length++] = *at;
    word[length] = '\0';
    *text = at;
    return length > 0;
}

static bool is_identifier(const char *word)
{
    if (!*word || isdigit((unsigned char)*word)) return false;
    for (; *word; word++)
        if (!kf_code_is_word(*word)) return false;
    return true;
}

/* Reads a C integer constant with sign and suffix. */
static bool parse_integer(const char *word, int64_t *value)
{
    char *end;
    errno = 0;
    long long number = strtoll(word, &end, 0);
    if (errno || end == word) return false;
    while (*end && strchr("uUlL", *end)) end++;
    *value = number;
    return *end == '\0';
}

/* ---- declarations ---------------------------------------------------------------------------- */

static int find_tunable(const kf_tune_space *space, const char *name)
{
    for (int i = 0; i < space->tunable_count; i++)
        if (strcmp(space->tunables[i].name, name) == 0) return i;
    return -1;
}

static bool read_tune(kf_tune_space *space, const char *text, int line, kf_error *error)
{
    char word[128];
    if (!next_word(&text, true, word, sizeof word) || !is_identifier(word))
        return kf_fail(error, KF_ERROR_INPUT,
                       "line %d: `kforge: tune` needs a name and its values, as in `kforge: tune "
                       "BLOCK_SIZE 128 256`",
                       line);
    kf_tunable *tunable = &space->tunables[space->tunable_count];
    if (strlen(word) >= sizeof tunable->name)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "line %d: the tunable's name has more than %zu characters", line,
                       sizeof tunable->name - 1);
    int twin = find_tunable(space, word);
    if (twin >= 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "line %d: the tunable %s is already declared at line %d", line, word,
                       space->lines[twin]);
    if (space->tunable_count == KF_MAX_TUNABLES)
        return kf_fail(error, KF_ERROR_LIMIT, "line %d: more than %d tunables", line,
                       KF_MAX_TUNABLES);
    *tunable = (kf_tunable){0};
    memcpy(tunable->name, word, strlen(word) + 1);
    while (next_word(&text, true, word, sizeof word)) {
        int64_t value;
        if (!parse_integer(word, &value))
            return kf_fail(error, KF_ERROR_INPUT,
                           "line %d: the value \"%s\" of %s is not an integer", line, word,
                           tunable->name);
        for (int i = 0; i < tunable->count; i++)
            if (tunable->values[i] == value)
                return kf_fail(error, KF_ERROR_INPUT,
                               "line %d: the value %lld of %s is listed twice", line,
                               (long long)value, tunable->name);
        if (tunable->count == KF_MAX_TUNABLE_VALUES)
            return kf_fail(error, KF_ERROR_LIMIT, "line %d: %s has more than %d values", line,
                           tunable->name, KF_MAX_TUNABLE_VALUES);
        tunable->values[tunable->count++] = value;
    }
    if (!tunable->count)
        return kf_fail(error, KF_ERROR_INPUT, "line %d: the tunable %s has no values", line,
                       tunable->name);
    space->lines[space->tunable_count++] = line;
    return true;
}

static bool read_require(kf_tune_space *space, const char *text, int line, kf_error *error)
{
    if (space->constraint_count == KF_MAX_CONSTRAINTS)
        return kf_fail(error, KF_ERROR_LIMIT, "line %d: more than %d constraints", line,
                       KF_MAX_CONSTRAINTS);
    kf_expression *expression = kf_expression_parse(text, error);
    if (!expression) return kf_fail_prefix(error, "line %d: in `kforge: require`", line);
    space->constraints[space->constraint_count++] =
        (kf_constraint){.expression = expression, .line = line};
    return true;
}

/* True if the flag starts with '-' and has plain characters only, which no shell or response
 * file reads in another way. */
static bool flag_is_plain(const char *flag)
{
    if (flag[0] != '-' || strlen(flag) > MAX_FLAG_BYTES - 2) return false;
    for (; *flag; flag++)
        if (!kf_code_is_word(*flag) && !strchr("-+=.,", *flag)) return false;
    return true;
}

static bool read_alternative(kf_flag_axis *axis, const char *text, kf_error *error)
{
    kf_autobuffer flags = {0};
    char word[MAX_FLAG_BYTES];
    int count = 0;
    while (next_word(&text, false, word, sizeof word)) {
        if (!flag_is_plain(word))
            return kf_fail(error, KF_ERROR_INPUT, "\"%s\" is not a plain compiler flag", word);
        if (++count > MAX_FLAGS)
            return kf_fail(error, KF_ERROR_LIMIT, "more than %d flags in one alternative",
                           MAX_FLAGS);
        kf_buffer_format(&flags, "%s%s", count > 1 ? " " : "", word);
    }
    char *alternative = kf_buffer_take(&flags);
    if (!alternative) return kf_fail_memory(error, "tunables");
    for (int i = 0; i < axis->count; i++) {
        if (strcmp(axis->alternatives[i], alternative) != 0) continue;
        free(alternative);
        return kf_fail(error, KF_ERROR_INPUT, "the alternative \"%s\" is listed twice",
                       axis->alternatives[i]);
    }
    if (!count) axis->initial = axis->count;
    if (count > axis->most) axis->most = count;
    axis->alternatives[axis->count++] = alternative;
    return true;
}

static bool add_flag_axis(kf_tune_space *space, const char *alternatives, kf_error *error)
{
    if (kf_tune_space_axes(space) >= KF_MAX_TUNE_AXES)
        return kf_fail(error, KF_ERROR_LIMIT, "more than %d tunables and `flags` lines together",
                       KF_MAX_TUNE_AXES);
    kf_autofree char *copy = strdup(alternatives);
    if (!copy) return kf_fail_memory(error, "tunables");
    /* Count the axis at once, so that freeing the space frees it. */
    kf_flag_axis *axis = &space->flags[space->flag_count++];
    *axis = (kf_flag_axis){0};
    for (char *text = copy, *bar; text; text = bar) {
        bar = strchr(text, '|');
        if (bar) *bar++ = '\0';
        if (axis->count == KF_MAX_TUNABLE_VALUES)
            return kf_fail(error, KF_ERROR_LIMIT, "more than %d alternatives of flags",
                           KF_MAX_TUNABLE_VALUES);
        if (!read_alternative(axis, text, error)) return false;
    }
    int most = 0;
    for (int i = 0; i < space->flag_count; i++) most += space->flags[i].most;
    if (most > MAX_FLAGS)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "more than %d compiler flags at once over all `flags` lines", MAX_FLAGS);
    return true;
}

/* True if the axis sets a flag ("-maxrregcount" of "-maxrregcount=64") that one of the source's
 * own axes sets. */
static bool declared_already(const kf_tune_space *space, const kf_flag_axis *axis)
{
    for (int i = 0; i < axis->count; i++) {
        const char *text = axis->alternatives[i];
        char word[MAX_FLAG_BYTES];
        while (next_word(&text, false, word, sizeof word)) {
            size_t length = strcspn(word, "=");
            word[length] = '\0';
            for (int k = 0; k < space->flag_count - 1 - space->late_count; k++)
                for (int j = 0; j < space->flags[k].count; j++) {
                    const char *at = strstr(space->flags[k].alternatives[j], word);
                    if (at && strchr(" =", at[length])) return true;
                }
        }
    }
    return false;
}

bool kf_tune_space_add_flags(kf_tune_space *space, const char *alternatives, kf_error *error)
{
    int before = space->flag_count;
    bool added = add_flag_axis(space, alternatives, error);
    if (added && !declared_already(space, &space->flags[before])) {
        space->late_count++;
    } else if (space->flag_count > before) {
        free_axis(&space->flags[before]);
        space->flag_count = before;
    }
    return added;
}

static bool read_flags(kf_tune_space *space, const char *text, int line, kf_error *error)
{
    if (add_flag_axis(space, text, error)) return true;
    return kf_fail_prefix(error, "line %d: in `kforge: flags`", line);
}

static const struct {
    const char *word;
    bool (*read)(kf_tune_space *space, const char *text, int line, kf_error *error);
} declarations[] = {
    {"tune", read_tune},
    {"require", read_require},
    {"flags", read_flags},
};

/* Reads a declaration; `text` follows "kforge:" on its line. */
static bool read_declaration(kf_tune_space *space, const char *text, int line, kf_error *error)
{
    char word[64];
    next_word(&text, false, word, sizeof word);
    const char *known[sizeof declarations / sizeof *declarations];
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++) {
        known[i] = declarations[i].word;
        if (strcmp(word, known[i]) == 0) return declarations[i].read(space, text, line, error);
    }
    const char *near = kf_nearest(word, known, sizeof known / sizeof *known);
    return kf_fail(error, KF_ERROR_INPUT, "line %d: unknown declaration `kforge: %s`; %s%s", line,
                   word, near ? "did you mean " : "declarations are tune, require and flags",
                   near ? near : "");
}

/* ---- #define lines --------------------------------------------------------------------------- */

/* Finds the word of a preprocessor directive ("define"), with *rest after it. False if the line
 * is no directive. */
static bool directive(const char *line, char *word, size_t size, const char **rest)
{
    while (*line == ' ' || *line == '\t') line++;
    if (*line++ != '#') return false;
    *rest = line;
    return next_word(rest, false, word, size);
}

/* Copies the name in `#ifndef NAME`, `#if !defined(NAME)` or `#if !defined NAME`; "" for other
 * conditions. */
static void guarded_name(const char *word, const char *rest, char name[GUARD_SIZE])
{
    int end = 0;
    name[0] = '\0';
    if (strcmp(word, "ifndef") == 0) {
        next_word(&rest, false, name, GUARD_SIZE);
    } else if (strcmp(word, "if") == 0) {
        bool found =
            (sscanf(rest, " ! defined ( %127[A-Za-z0-9_] ) %n", name, &end) == 1 && end &&
             !rest[end]) ||
            (sscanf(rest, " ! defined %127[A-Za-z0-9_] %n", name, &end) == 1 && end && !rest[end]);
        if (!found) name[0] = '\0';
    }
}

/* Reads a #define's value, a constant expression without names. *known: it is an integer. False
 * only without memory. */
static bool evaluate_default(const char *text, int64_t *value, bool *known)
{
    *known = parse_integer(text, value);
    if (*known) return true;
    kf_error error = {0};
    kf_auto(kf_expression) expression = kf_expression_parse(text, &error);
    kf_value result;
    if (!expression) return error.code != KF_ERROR_MEMORY;
    *known = kf_expression_evaluate(expression, NULL, 0, &result, NULL) && result.is_integer;
    if (*known) *value = result.integer;
    return true;
}

static bool add_default(kf_tunable *tunable, int64_t value, int line, kf_error *error)
{
    for (int i = 0; i < tunable->count; i++) {
        if (tunable->values[i] != value) continue;
        tunable->initial = i;
        return true;
    }
    if (tunable->count == KF_MAX_TUNABLE_VALUES)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "line %d: with the default %lld of its #define, %s has more than %d values",
                       line, (long long)value, tunable->name, KF_MAX_TUNABLE_VALUES);
    tunable->initial = tunable->count;
    tunable->values[tunable->count++] = value;
    return true;
}

/* Reads one blanked line: a guarded #define of a tunable sets its default. `guard` is the name
 * in the directive before this one. */
static bool read_define(kf_tune_space *space, const char *line, size_t offset, int number,
                        char guard[GUARD_SIZE], kf_error *error)
{
    char word[32], name[GUARD_SIZE];
    const char *rest;
    if (!directive(line, word, sizeof word, &rest)) return true;
    if (strcmp(word, "define") != 0) {
        guarded_name(word, rest, guard);
        return true;
    }
    next_word(&rest, false, name, sizeof name);
    int index = find_tunable(space, name);
    bool guarded = strcmp(guard, name) == 0;
    guard[0] = '\0';
    if (index < 0 || space->defined[index]) return true;
    if (!guarded)
        return kf_fail(error, KF_ERROR_INPUT,
                       "line %d: the #define of the tunable %s is not guarded; put #ifndef %s "
                       "before it and #endif after it",
                       number, name, name);
    while (*rest == ' ' || *rest == '\t') rest++;
    size_t size = strcspn(rest, (const char[]){KF_LINE_COMMENT, '\r', '\0'});
    while (size && (rest[size - 1] == ' ' || rest[size - 1] == '\t')) size--;
    kf_autofree char *text = strndup(rest, size);
    if (!text) return kf_fail_memory(error, "tunables");
    space->defined[index] = true;
    space->value_at[index] = offset + (size_t)(rest - line);
    space->value_size[index] = size;
    int64_t value;
    bool known;
    if (!evaluate_default(text, &value, &known)) return kf_fail_memory(error, "tunables");
    return !known || add_default(&space->tunables[index], value, number, error);
}

/* ---- the whole source ------------------------------------------------------------------------ */

/* Returns the text after "// kforge:" if the line is only that comment, else NULL. */
static const char *declaration_text(const char *line, const char *blank)
{
    while (*line == ' ' || *line == '\t') line++, blank++;
    if (*blank != KF_LINE_COMMENT || line[0] != '/' || line[1] != '/') return NULL;
    line += 2;
    while (*line == ' ' || *line == '\t') line++;
    return strncmp(line, "kforge:", 7) == 0 ? line + 7 : NULL;
}

typedef bool line_reader(kf_tune_space *space, const char *line, const char *blank, size_t offset,
                         int number, void *context, kf_error *error);

/* Calls `read` for each line, which is NUL-terminated during the call. */
static bool each_line(kf_tune_space *space, char *text, char *blank, size_t size, line_reader *read,
                      void *context, kf_error *error)
{
    int number = 1;
    for (size_t start = 0; start <= size; number++) {
        char *feed = memchr(text + start, '\n', size - start);
        size_t end = feed ? (size_t)(feed - text) : size;
        size_t cut = end > start && text[end - 1] == '\r' ? end - 1 : end;
        char saved[2] = {text[cut], blank[cut]};
        text[cut] = blank[cut] = '\0';
        bool fine = read(space, text + start, blank + start, start, number, context, error);
        text[cut] = saved[0];
        blank[cut] = saved[1];
        if (!fine) return false;
        start = end + 1;
    }
    return true;
}

static bool line_declaration(kf_tune_space *space, const char *line, const char *blank,
                             size_t offset, int number, void *context, kf_error *error)
{
    (void)offset, (void)context;
    const char *text = declaration_text(line, blank);
    return !text || read_declaration(space, text, number, error);
}

static bool line_define(kf_tune_space *space, const char *line, const char *blank, size_t offset,
                        int number, void *context, kf_error *error)
{
    (void)line;
    return read_define(space, blank, offset, number, context, error);
}

typedef struct name_check {
    const kf_tune_space *space;
    uint32_t axes;
    char unknown[64];
} name_check;

static void check_name(void *context, const char *name)
{
    name_check *check = context;
    int index = find_tunable(check->space, name);
    if (index >= 0)
        check->axes |= 1u << index;
    else if (!check->unknown[0])
        snprintf(check->unknown, sizeof check->unknown, "%s", name);
}

/* Checks that each tunable has a guarded #define. Without one the source would not compile
 * alone, and best values could not be written into it. */
static bool check_defined(const kf_tune_space *space, kf_error *error)
{
    for (int i = 0; i < space->tunable_count; i++)
        if (!space->defined[i])
            return kf_fail(
                error, KF_ERROR_INPUT,
                "line %d: the tunable %s has no #define; add #ifndef %s, #define %s %lld, #endif",
                space->lines[i], space->tunables[i].name, space->tunables[i].name,
                space->tunables[i].name, (long long)space->tunables[i].values[0]);
    return true;
}

static bool bind_constraints(kf_tune_space *space, kf_error *error)
{
    const char *known[KF_MAX_TUNABLES];
    for (int i = 0; i < space->tunable_count; i++) known[i] = space->tunables[i].name;
    for (int i = 0; i < space->constraint_count; i++) {
        kf_constraint *constraint = &space->constraints[i];
        name_check check = {.space = space};
        kf_expression_names(constraint->expression, check_name, &check);
        if (check.unknown[0]) {
            const char *near = kf_nearest(check.unknown, known, (size_t)space->tunable_count);
            return kf_fail(error, KF_ERROR_INPUT,
                           "line %d: %s is not a tunable of this source%s%s%s", constraint->line,
                           check.unknown, near ? "; did you mean " : "", near ? near : "",
                           near ? "?" : "");
        }
        if (!check.axes)
            return kf_fail(error, KF_ERROR_INPUT, "line %d: the constraint names no tunable",
                           constraint->line);
        constraint->axes = check.axes;
    }
    return true;
}

/* Returns the tunables that constraint `last` is connected with, through itself and earlier
 * constraints. */
static uint32_t connected(const kf_tune_space *space, int last)
{
    uint32_t axes = space->constraints[last].axes;
    for (int k = 0; k <= last; k++)
        for (int j = 0; j <= last; j++)
            if (space->constraints[j].axes & axes) axes |= space->constraints[j].axes;
    return axes;
}

/* True if constraint `index` alone excludes every value. */
static bool impossible_alone(const kf_tune_space *space, int index)
{
    kf_tune_space alone = *space;
    alone.constraints[0] = space->constraints[index];
    alone.constraint_count = 1;
    kf_tune_point point = {{0}};
    long budget = READ_BUDGET;
    return kf_tune_solve(&alone, alone.constraints[0].axes, 1, NULL, &point, &budget) ==
           KF_SOLVE_NONE;
}

/* Finds the defaults, or the nearest point that satisfies all constraints. It adds one
 * constraint after the other, so that the message names the first one that cannot hold. */
static bool find_first(kf_tune_space *space, kf_error *error)
{
    long budget = READ_BUDGET;
    for (int i = 0; i < space->tunable_count; i++)
        space->first.index[i] = (uint8_t)space->tunables[i].initial;
    const kf_tune_point defaults = space->first;
    for (int i = 0; i < space->constraint_count; i++) {
        const kf_constraint *constraint = &space->constraints[i];
        if (kf_constraint_holds(space, constraint, &space->first)) continue;
        uint32_t axes = connected(space, i);
        for (int k = 0; k < space->tunable_count; k++)
            if (axes >> k & 1) space->first.index[k] = defaults.index[k];
        kf_solve_result result = kf_tune_solve(space, axes, i + 1, NULL, &space->first, &budget);
        if (result == KF_SOLVE_FOUND) continue;
        const char *text = kf_expression_text(constraint->expression);
        while (*text == ' ' || *text == '\t') text++;
        if (result == KF_SOLVE_GAVE_UP)
            return kf_fail(error, KF_ERROR_LIMIT,
                           "line %d: found no values that satisfy `%s` together with the "
                           "constraints before it; simplify them",
                           constraint->line, text);
        return kf_fail(error, KF_ERROR_INPUT, "line %d: no values of the tunables satisfy `%s`%s",
                       constraint->line, text,
                       impossible_alone(space, i) ? "" : " together with the constraints above it");
    }
    return true;
}

kf_tune_space *kf_tune_space_read(const char *source, kf_error *error)
{
    size_t size = strlen(source);
    kf_auto(kf_tune_space) space = calloc(1, sizeof *space);
    kf_autofree char *text = strdup(source);
    kf_autofree char *blank = kf_code_blank(source, size);
    if (!space || !text || !blank) {
        kf_fail_memory(error, "tunables");
        return NULL;
    }
    space->source_size = size;
    char guard[GUARD_SIZE] = "";
    if (!each_line(space, text, blank, size, line_declaration, NULL, error) ||
        !each_line(space, text, blank, size, line_define, guard, error) ||
        !check_defined(space, error) || !bind_constraints(space, error) ||
        !find_first(space, error))
        return NULL;
    return kf_steal(&space);
}

/* ---- points ---------------------------------------------------------------------------------- */

int kf_tune_point_flags(const kf_tune_space *space, const kf_tune_point *point, char **flags,
                        kf_error *error)
{
    int count = 0;
    bool failed = false;
    for (int i = 0; i < space->tunable_count && !failed; i++) {
        const kf_tunable *tunable = &space->tunables[i];
        char *flag = NULL;
        failed = asprintf(&flag, "-D%s=%lld", tunable->name,
                          (long long)tunable->values[point->index[i]]) < 0;
        if (!failed) flags[count++] = flag;
    }
    for (int i = 0; i < space->flag_count && !failed; i++) {
        const char *text = space->flags[i].alternatives[point->index[space->tunable_count + i]];
        char word[MAX_FLAG_BYTES];
        while (!failed && next_word(&text, false, word, sizeof word)) {
            flags[count] = strdup(word);
            failed = !flags[count];
            if (!failed) count++;
        }
    }
    if (!failed) return count;
    while (count) free(flags[--count]);
    kf_fail_memory(error, "tunables");
    return -1;
}

void kf_tune_point_describe(const kf_tune_space *space, const kf_tune_point *point, char *text,
                            size_t size)
{
    kf_autobuffer words = {.limit = size ? size - 1 : 0};
    for (int i = 0; i < space->tunable_count; i++)
        kf_buffer_format(&words, "%s%s=%lld", i ? " " : "", space->tunables[i].name,
                         (long long)space->tunables[i].values[point->index[i]]);
    int described = kf_tune_first_late(space);
    for (int i = described; i < kf_tune_space_axes(space); i++)
        if (point->index[i] != kf_tune_axis_initial(space, i))
            described = kf_tune_space_axes(space);
    for (int i = 0; i < described - space->tunable_count; i++)
        kf_buffer_format(&words, "%s[%s]", words.size ? " " : "",
                         space->flags[i].alternatives[point->index[space->tunable_count + i]]);
    if (size) snprintf(text, size, "%s", words.data ? words.data : "");
}

bool kf_tune_point_parse(const kf_tune_space *space, const char *text, kf_tune_point *point,
                         kf_error *error)
{
    kf_tune_point_default(space, point);
    const char *at = text;
    for (int i = 0; i < space->tunable_count; i++) {
        const kf_tunable *tunable = &space->tunables[i];
        size_t length = strlen(tunable->name);
        char word[128];
        int64_t value;
        if (!next_word(&at, false, word, sizeof word) ||
            strncmp(word, tunable->name, length) != 0 || word[length] != '=' ||
            !parse_integer(word + length + 1, &value))
            return kf_fail(error, KF_ERROR_INPUT,
                           "\"%s\" is not a point of this space: expected %s=VALUE", text,
                           tunable->name);
        int index = 0;
        while (index < tunable->count && tunable->values[index] != value) index++;
        if (index == tunable->count)
            return kf_fail(error, KF_ERROR_INPUT,
                           "\"%s\" is not a point of this space: %lld is not a value of %s", text,
                           (long long)value, tunable->name);
        point->index[i] = (uint8_t)index;
    }
    for (int i = 0; i < space->flag_count; i++) {
        while (*at == ' ') at++;
        if (!*at && space->tunable_count + i == kf_tune_first_late(space)) break;
        const char *close = *at == '[' ? strchr(at, ']') : NULL;
        int index = 0, count = space->flags[i].count;
        while (
            close && index < count &&
            (strlen(space->flags[i].alternatives[index]) != (size_t)(close - at - 1) ||
             strncmp(space->flags[i].alternatives[index], at + 1, (size_t)(close - at - 1)) != 0))
            index++;
        if (!close || index == count)
            return kf_fail(
                error, KF_ERROR_INPUT,
                "\"%s\" is not a point of this space: expected compiler flags in brackets, "
                "as declared",
                text);
        point->index[space->tunable_count + i] = (uint8_t)index;
        at = close + 1;
    }
    while (*at == ' ') at++;
    return !*at || kf_fail(error, KF_ERROR_INPUT,
                           "\"%s\" is not a point of this space: \"%s\" is left over", text, at);
}

char *kf_tune_point_apply(const kf_tune_space *space, const kf_tune_point *point,
                          const char *source, kf_error *error)
{
    if (strlen(source) != space->source_size) {
        kf_fail(error, KF_ERROR_INPUT, "the tunables were read from another source");
        return NULL;
    }
    /* the #defines in the order of their places */
    int order[KF_MAX_TUNABLES], count = 0;
    for (int i = 0; i < space->tunable_count; i++) {
        if (!space->defined[i]) continue;
        int at = count++;
        for (; at > 0 && space->value_at[order[at - 1]] > space->value_at[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    kf_autobuffer out = {0};
    size_t copied = 0;
    for (int k = 0; k < count; k++) {
        int i = order[k];
        kf_buffer_append(&out, source + copied, space->value_at[i] - copied);
        kf_buffer_format(&out, space->value_size[i] ? "%lld" : " %lld",
                         (long long)space->tunables[i].values[point->index[i]]);
        copied = space->value_at[i] + space->value_size[i];
    }
    kf_buffer_string(&out, source + copied);
    char *text = kf_buffer_take(&out);
    if (!text) kf_fail_memory(error, "tunables");
    return text;
}
