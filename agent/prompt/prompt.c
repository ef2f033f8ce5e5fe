/* Fills the templates of prompts. One table holds the values of all placeholders, so that each
 * template may use all of them. */
#include "prompt.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "nearest.h"
#include "prompt_template.h"

#define TEMPLATE_BYTES (1u << 20)
/* bytes kept from the start of a build log, since the first error counts */
#define LOG_HEAD 4500
#define LOG_TAIL 1500
/* most tokens of a block */
#define NOTES_TOKENS 1500
#define HARDWARE_TOKENS 1500
#define FIGURES_TOKENS 2000
#define DIAGNOSIS_TOKENS 1000
#define FLAGS_TOKENS 400
/* of one source; longer ones are left out */
#define EXEMPLAR_TOKENS 6000

static const char *const kind_names[KF_PROMPT_KIND_COUNT] = {
    [KF_PROMPT_SYSTEM] = "system",
    [KF_PROMPT_FIRST_DRAFT] = "first_draft",
    [KF_PROMPT_IMPROVE] = "improve",
    [KF_PROMPT_REPAIR_BUILD] = "repair_build",
    [KF_PROMPT_REPAIR_WRONG] = "repair_wrong",
    [KF_PROMPT_CONTRAST] = "contrast",
    [KF_PROMPT_CROSSOVER] = "crossover",
    [KF_PROMPT_RETHINK] = "rethink",
    [KF_PROMPT_CRITIC_OPTIMISE] = "critic_optimise",
    [KF_PROMPT_CRITIC_REPAIR] = "critic_repair",
    [KF_PROMPT_SUMMARY] = "summary",
    [KF_PROMPT_EPISODE] = "episode",
};

int64_t kf_prompt_tokens(size_t bytes)
{
    return (int64_t)ceil((double)bytes / 3.6);
}

/* Writes "1.520 (95 % interval 1.490 to 1.550)". */
static void word_interval(const kf_interval *speedup, char *text, size_t size)
{
    text[0] = '\0';
    if (!(speedup->value > 0)) return;
    if (isnan(speedup->low) || isnan(speedup->high))
        snprintf(text, size, "%.3g", speedup->value);
    else
        snprintf(text, size, "%.3f (95 %% interval %.3f to %.3f)", speedup->value, speedup->low,
                 speedup->high);
}

/* Returns the log without its middle if it is long, cut at line breaks; malloc'd. */
static char *shorten_log(const char *log)
{
    size_t size = strlen(log);
    if (size <= LOG_HEAD + LOG_TAIL + 200) return strdup(log);
    size_t head = LOG_HEAD, tail = size - LOG_TAIL;
    while (head > LOG_HEAD / 2 && log[head - 1] != '\n') head--;
    while (tail < size - LOG_TAIL / 2 && log[tail - 1] != '\n') tail++;
    kf_autobuffer out = {0};
    kf_buffer_append(&out, log, head);
    kf_buffer_format(&out, "[… %zu bytes left out …]\n", tail - head);
    kf_buffer_string(&out, log + tail);
    return kf_buffer_take(&out);
}

/* Returns 1 if `file` is NAME.md of a template, 0 if it is another kind of file, -1 if it is a
 * NAME.md of no template. */
static int is_template(const char *directory, const char *file, kf_error *error)
{
    const char *names[64], *near;
    size_t count = 0, length = strlen(file);
    if (length < 4 || strcmp(file + length - 3, ".md") != 0 || file[0] == '.' ||
        strcmp(file, "README.md") == 0)
        return 0;
    for (const kf_template_builtin *row = kf_template_builtins; row->name && count < 64; row++) {
        if (strlen(row->name) == length - 3 && strncmp(row->name, file, length - 3) == 0) return 1;
        names[count++] = row->name;
    }
    kf_autofree char *stem = strndup(file, length - 3);
    kf_autobuffer all = {0};
    for (size_t i = 0; i < count; i++) kf_buffer_format(&all, "%s%s", i ? ", " : "", names[i]);
    if (!stem || all.failed) return kf_fail_memory(error, "a prompt") - 1;
    if ((near = kf_nearest(stem, names, count)))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s/%s: no prompt template has this name; did you mean %s.md?", directory,
                       file, near) -
               1;
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s/%s: no prompt template has this name; the templates are %s", directory, file,
                   all.data) -
           1;
}

bool kf_prompt_check(const char *directory, kf_error *error)
{
    if (!directory) return true;
    DIR *folder = opendir(directory);
    if (!folder)
        return kf_fail(error, errno == ENOENT || errno == ENOTDIR ? KF_ERROR_INPUT : KF_ERROR_IO,
                       "%s: %s; expected a folder of prompt templates (--prompts)", directory,
                       strerror(errno));
    int found = 0, kind = 0;
    for (const struct dirent *entry; kind >= 0 && (entry = readdir(folder));)
        found |= (kind = is_template(directory, entry->d_name, error)) == 1;
    closedir(folder);
    return kind >= 0 && (found || kf_fail(error, KF_ERROR_INPUT,
                                          "%s: the folder has no prompt template; expected "
                                          "NAME.md, such as improve.md (--prompts)",
                                          directory));
}

/* Reads a template. `stem` is the file name without ".md". Errors use *name. */
static char *load_template(const char *stem, const char *directory, char *name, size_t name_size,
                           size_t *size, kf_error *error)
{
    if (directory) {
        char file[64];
        snprintf(file, sizeof file, "%s.md", stem);
        kf_autofree char *path = kf_path_join(directory, file);
        if (!path) {
            kf_fail_memory(error, "a prompt");
            return NULL;
        }
        snprintf(name, name_size, "%s", path);
        if (access(path, F_OK) == 0 || errno != ENOENT)
            return kf_file_read(path, TEMPLATE_BYTES, size, error);
    }
    snprintf(name, name_size, "%s.md", stem);
    for (const kf_template_builtin *builtin = kf_template_builtins; builtin->name; builtin++) {
        if (strcmp(builtin->name, stem) != 0) continue;
        char *text = malloc(builtin->size + 1);
        if (text)
            memcpy(text, builtin->text, builtin->size), text[builtin->size] = '\0';
        else
            kf_fail_memory(error, "a prompt");
        *size = builtin->size;
        return text;
    }
    kf_fail(error, KF_ERROR_INTERNAL, "%s is not compiled in", name);
    return NULL;
}

static char *render_file(const char *stem, const char *directory, const kf_template_value *values,
                         size_t count, kf_error *error)
{
    char name[4096];
    size_t size;
    kf_autofree char *template = load_template(stem, directory, name, sizeof name, &size, error);
    return template ? kf_template_render(name, template, size, values, count, error) : NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Returns the text, or the part that fits, cut at a line; malloc'd. */
static char *cut(const char *text, int64_t tokens)
{
    size_t size = text ? strlen(text) : 0, most = (size_t)((double)tokens * 3.6);
    if (size <= most) return strdup(text ? text : "");
    while (most > 0 && text[most - 1] != '\n') most--;
    kf_autobuffer out = {0};
    kf_buffer_append(&out, text, most);
    kf_buffer_string(&out, "[… the rest is left out …]\n");
    return kf_buffer_take(&out);
}

/* Returns the sources with their speedups, malloc'd. Each is between fences that it cannot
 * close, so the result may be inserted as it is. */
static char *word_exemplars(const kf_prompt_exemplar *list, int count, const char *title)
{
    kf_autobuffer out = {0};
    for (int i = 0; i < count; i++) {
        if (kf_prompt_tokens(strlen(list[i].source)) > EXEMPLAR_TOKENS) continue;
        kf_buffer_format(&out, "%s### %s %c: speedup %.3f\n\n", out.size ? "\n" : "", title,
                         'A' + i, list[i].speedup);
        kf_template_quote(&out, list[i].source, "cuda");
        kf_buffer_string(&out, "\n");
    }
    return kf_buffer_take(&out);
}

typedef struct blocks {
    char *log, *notes, *hardware, *figures, *diagnosis, *flags, *exemplars, *negatives;
} blocks;

static void blocks_clear(blocks *b)
{
    char **all[] = {&b->log,       &b->notes, &b->hardware,  &b->figures,
                    &b->diagnosis, &b->flags, &b->exemplars, &b->negatives};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(*all[i]);
}

static bool make_blocks(const kf_prompt_context *context, blocks *b)
{
    b->log = shorten_log(context->parent.build_log ? context->parent.build_log : "");
    b->notes = cut(context->notes, NOTES_TOKENS);
    b->hardware = cut(context->hardware, HARDWARE_TOKENS);
    b->figures = cut(context->parent.figures, FIGURES_TOKENS);
    b->diagnosis = cut(context->parent.diagnosis, DIAGNOSIS_TOKENS);
    b->flags = cut(context->parent.flags, FLAGS_TOKENS);
    b->exemplars = word_exemplars(context->exemplars, context->exemplar_count, "Candidate");
    b->negatives = word_exemplars(context->negatives, context->negative_count, "Slower candidate");
    return b->log && b->notes && b->hardware && b->figures && b->diagnosis && b->flags &&
           b->exemplars && b->negatives;
}

/* Removes line breaks at the end: the tag's own line has one. */
static void trim(char *text)
{
    size_t size = strlen(text);
    while (size && text[size - 1] == '\n') text[--size] = '\0';
}

static char *build(kf_prompt_kind kind, const kf_prompt_context *context, const char *directory,
                   kf_error *error)
{
    char parent_speedup[96], best_speedup[32] = "", other_speedup[32] = "";
    __attribute__((cleanup(blocks_clear))) blocks b = {0};
    if (!make_blocks(context, &b)) {
        kf_fail_memory(error, "a prompt");
        return NULL;
    }
    word_interval(&context->parent.speedup, parent_speedup, sizeof parent_speedup);
    if (context->best.speedup > 0)
        snprintf(best_speedup, sizeof best_speedup, "%.3f", context->best.speedup);
    if (context->other.speedup > 0)
        snprintf(other_speedup, sizeof other_speedup, "%.3f", context->other.speedup);
    kf_template_value values[] = {
        {"task", context->task.name, false},
        {"description", context->task.description, false},
        {"entry", context->task.entry, false},
        {"prototype", context->task.prototype, false},
        {"precision", context->task.precision, false},
        {"tolerance", context->task.tolerance, false},
        {"libraries", context->task.libraries, false},
        {"forbidden", context->task.forbidden, false},
        {"device", context->device, false},
        {"hardware", b.hardware, false},
        {"workloads", context->task.workloads, false},
        {"baseline_source", context->task.baseline_source, true},
        {"baseline_module", context->task.baseline_module ? "yes" : "", false},
        {"oracle_source", context->task.oracle_source, true},
        {"parent_source", context->parent.source, true},
        {"parent_hash", context->parent.hash, false},
        {"parent_speedup", parent_speedup, false},
        {"best_speedup", best_speedup, false},
        {"best_source", context->best.source, true},
        {"other_source", context->other.source, true},
        {"other_speedup", other_speedup, false},
        {"exemplars", b.exemplars, false},
        {"negatives", b.negatives, false},
        {"diagnosis", b.diagnosis, true},
        {"flags", b.flags, true},
        {"figures", b.figures, true},
        {"build_log", b.log, true},
        {"failure", context->parent.failure, true},
        {"notes", b.notes, true},
        {"last", context->last, true},
        {"edits", context->edits ? "yes" : "", false},
        /* Parts that several templates share. They are last, so that they cannot contain each
         * other. */
        {"task_sheet", NULL, false},
        {"answer_format", NULL, false},
        {"notes_part", NULL, false},
    };
    enum { COUNT = sizeof values / sizeof *values, PARTS = 3 };
    kf_autofree char *task_sheet =
        render_file("task_sheet", directory, values, COUNT - PARTS, error);
    kf_autofree char *answer_format =
        task_sheet ? render_file("answer_format", directory, values, COUNT - PARTS, error) : NULL;
    kf_autofree char *notes_part =
        answer_format ? render_file("notes_part", directory, values, COUNT - PARTS, error) : NULL;
    if (!notes_part) return NULL;
    trim(task_sheet), trim(answer_format), trim(notes_part);
    values[COUNT - 3].text = task_sheet;
    values[COUNT - 2].text = answer_format;
    values[COUNT - 1].text = notes_part;
    return render_file(kind_names[kind], directory, values, COUNT, error);
}

/* ---- the budget ------------------------------------------------------------------------------ */

static void drop_slowest(kf_prompt_context *context)
{
    memmove(context->exemplars, context->exemplars + 1,
            (size_t)--context->exemplar_count * sizeof *context->exemplars);
}

/* Leaves out the next block; false without one. kf_prompt_build promises the order. */
static bool drop_one(kf_prompt_context *context)
{
    const char **texts[] = {&context->notes, &context->hardware};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*texts[i] && **texts[i]) return *texts[i] = NULL, true;
    if (context->negative_count) return context->negative_count = 0, true;
    if (context->best.source && *context->best.source) return context->best.source = NULL, true;
    if (context->exemplar_count > 2) return drop_slowest(context), true;
    if (context->parent.figures && *context->parent.figures)
        return context->parent.figures = NULL, true;
    if (context->exemplar_count) return drop_slowest(context), true;
    if (context->task.oracle_source && *context->task.oracle_source)
        return context->task.oracle_source = NULL, true;
    return false;
}

char *kf_prompt_build(kf_prompt_kind kind, const kf_prompt_context *given, const char *directory,
                      kf_error *error)
{
    if ((unsigned)kind >= KF_PROMPT_KIND_COUNT) {
        kf_fail(error, KF_ERROR_INTERNAL, "no prompt of kind %d", (int)kind);
        return NULL;
    }
    kf_prompt_context context = *given;
    for (;;) {
        kf_autofree char *text = build(kind, &context, directory, error);
        bool fits = text && (!context.tokens || kf_prompt_tokens(strlen(text)) <= context.tokens);
        if (!text || fits || !drop_one(&context)) return kf_steal(&text);
    }
}
