/* Which template a prompt uses and what its placeholders hold: one table, so that a template may use any of them. */
#include "kforge/prompt.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "prompt_template.h"

#define TEMPLATE_BYTES (1u << 20)
#define LOG_HEAD 4500 /* bytes of a build log from its start: the first error is the one that counts */
#define LOG_TAIL 1500

static const char *const kind_names[KF_PROMPT_KIND_COUNT] = {
    [KF_PROMPT_SYSTEM] = "system",
    [KF_PROMPT_FIRST_DRAFT] = "first_draft",
    [KF_PROMPT_IMPROVE] = "improve",
    [KF_PROMPT_REPAIR_BUILD] = "repair_build",
    [KF_PROMPT_REPAIR_WRONG] = "repair_wrong",
};

const char *kf_prompt_kind_name(kf_prompt_kind kind)
{
    return (unsigned)kind < KF_PROMPT_KIND_COUNT ? kind_names[kind] : "unknown";
}

int64_t kf_prompt_tokens(size_t bytes)
{
    return (int64_t)ceil((double)bytes / 3.6);
}

/* "1.52 (95 % interval 1.49 to 1.55)". */
static void word_interval(const kf_interval *speedup, char *text, size_t size)
{
    text[0] = '\0';
    if (!(speedup->value > 0)) return;
    if (isnan(speedup->low) || isnan(speedup->high))
        snprintf(text, size, "%.3g", speedup->value);
    else
        snprintf(text, size, "%.3f (95 %% interval %.3f to %.3f)", speedup->value, speedup->low, speedup->high);
}

/* Long logs lose their middle, at line breaks. */
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

/* `stem` is the file name without ".md"; *name becomes what errors call it. */
static char *load_template(const char *stem, const char *directory, char *name, size_t name_size, size_t *size, kf_error *error)
{
    if (directory) {
        char file[64];
        snprintf(file, sizeof file, "%s.md", stem);
        kf_autofree char *path = kf_path_join(directory, file);
        if (!path) {
            kf_fail(error, KF_ERROR_MEMORY, "out of memory");
            return NULL;
        }
        snprintf(name, name_size, "%s", path);
        if (access(path, F_OK) == 0 || errno != ENOENT) return kf_file_read(path, TEMPLATE_BYTES, size, error);
    }
    snprintf(name, name_size, "%s.md", stem);
    for (const kf_template_builtin *builtin = kf_template_builtins; builtin->name; builtin++) {
        if (strcmp(builtin->name, stem) != 0) continue;
        char *text = malloc(builtin->size + 1);
        if (text)
            memcpy(text, builtin->text, builtin->size), text[builtin->size] = '\0';
        else
            kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        *size = builtin->size;
        return text;
    }
    kf_fail(error, KF_ERROR_INTERNAL, "%s is not compiled in", name);
    return NULL;
}

static char *render_file(const char *stem, const char *directory, const kf_template_value *values, size_t count, kf_error *error)
{
    char name[4096];
    size_t size;
    kf_autofree char *template = load_template(stem, directory, name, sizeof name, &size, error);
    return template ? kf_template_render(name, template, size, values, count, error) : NULL;
}

char *kf_prompt_build(kf_prompt_kind kind, const kf_prompt_context *context, const char *directory, kf_error *error)
{
    if ((unsigned)kind >= KF_PROMPT_KIND_COUNT) {
        kf_fail(error, KF_ERROR_INTERNAL, "no prompt of kind %d", (int)kind);
        return NULL;
    }
    char parent_speedup[96], best_speedup[32] = "";
    kf_autofree char *log = shorten_log(context->build_log ? context->build_log : "");
    if (!log) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    word_interval(&context->parent_speedup, parent_speedup, sizeof parent_speedup);
    if (context->best_speedup > 0) snprintf(best_speedup, sizeof best_speedup, "%.3f", context->best_speedup);
    kf_template_value values[] = {
        {"task", context->task, false},
        {"description", context->description, false},
        {"entry", context->entry, false},
        {"prototype", context->prototype, false},
        {"precision", context->precision, false},
        {"tolerance", context->tolerance, false},
        {"libraries", context->libraries, false},
        {"device", context->device, false},
        {"workloads", context->workloads, false},
        {"baseline_source", context->baseline_source, true},
        {"oracle_source", context->oracle_source, true},
        {"parent_source", context->parent_source, true},
        {"parent_hash", context->parent_hash, false},
        {"parent_speedup", parent_speedup, false},
        {"best_speedup", best_speedup, false},
        {"best_source", context->best_source, true},
        {"figures", context->figures, true},
        {"build_log", log, true},
        {"failure", context->failure, true},
        {"notes", context->notes, true},
        {"edits", context->edits ? "yes" : "", false},
        /* Parts that several templates share, last so that they can't use each other. */
        {"task_sheet", NULL, false},
        {"answer_format", NULL, false},
    };
    enum { COUNT = sizeof values / sizeof *values, PARTS = 2 };
    kf_autofree char *task_sheet = render_file("task_sheet", directory, values, COUNT - PARTS, error);
    kf_autofree char *answer_format = task_sheet ? render_file("answer_format", directory, values, COUNT - PARTS, error) : NULL;
    if (!answer_format) return NULL;
    values[COUNT - 2].text = task_sheet;
    values[COUNT - 1].text = answer_format;
    return render_file(kind_names[kind], directory, values, COUNT, error);
}
