/* Definitions of FlashInfer-Bench and SOL-ExecBench, and their published solutions. A program in
 * the sandbox finds and translates them (evaluator/torch/formats/flashinfer.py). Here its answer
 * becomes problems, which are described like any problem file, and files of solutions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench_solutions.h"
#include "import.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "torch_tool.h"

#define SECONDS 600.0
#define MEMORY_BYTES ((uint64_t)8 << 30)
#define SOLUTIONS "solutions"

/* ---- the answer ------------------------------------------------------------------------------ */

static bool add_translated(kf_import_suite *suite, const cJSON *row, kf_error *error)
{
    kf_autofree char *path = kf_path_join(suite->folder, kf_json_get_text(row, "file", ""));
    if (!path) return kf_fail_memory(error, "the definitions");
    if (!kf_import_add(suite, kf_json_get_text(row, "name", ""), path, -1, -1, NULL, NULL, error))
        return false;
    kf_import_problem *p = &suite->problems[suite->count - 1];
    const cJSON *fault = cJSON_GetObjectItemCaseSensitive(row, "fault");
    if (fault) {
        p->rule = strdup(kf_json_get_text(fault, "rule", ""));
        p->fault = strdup(kf_json_get_text(fault, "reason", ""));
        return (p->rule && p->fault) || kf_fail_memory(error, "the definitions");
    }
    /* the description runs Python, whatever the definition's file is called */
    free(p->path);
    p->declared = true;
    p->text = strdup(kf_json_get_text(row, "text", ""));
    p->path = strdup("/problem.py");
    return (p->text && p->path) || kf_fail_memory(error, "the definitions");
}

static bool add_solution(kf_import_suite *suite, const cJSON *row, kf_error *error)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(row, "problem"),
                *claimed = cJSON_GetObjectItemCaseSensitive(row, "claimed");
    if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0) ||
        !(number->valuedouble < (double)suite->count))
        return true;
    if (!kf_list_grow(&suite->solutions, suite->solution_count))
        return kf_fail_memory(error, "the solutions");
    kf_import_solution *s = &suite->solutions[suite->solution_count++];
    *s = (kf_import_solution){.problem = (size_t)number->valuedouble,
                              .name = strdup(kf_json_get_text(row, "name", "")),
                              .text = strdup(kf_json_get_text(row, "text", "")),
                              .claimed = cJSON_IsNumber(claimed) ? claimed->valuedouble : NAN};
    return (s->name && s->text) || kf_fail_memory(error, "the solutions");
}

static bool take_answer(kf_import_suite *suite, const cJSON *answer, kf_error *error)
{
    const cJSON *row;
    kf_autobuffer notes = {0};
    cJSON_ArrayForEach(
        row, cJSON_GetObjectItemCaseSensitive(
                 answer, "problems")) if (!add_translated(suite, row, error)) return false;
    cJSON_ArrayForEach(row,
                       cJSON_GetObjectItemCaseSensitive(
                           answer, "solutions")) if (!add_solution(suite, row, error)) return false;
    cJSON_ArrayForEach(row,
                       cJSON_GetObjectItemCaseSensitive(answer, "notes")) if (cJSON_IsString(row))
        kf_buffer_format(&notes, "%s\n", row->valuestring);
    if (notes.size && !(suite->notes = kf_buffer_take(&notes)))
        return kf_fail_memory(error, "the definitions");
    return kf_import_tell_apart(suite, error);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Makes `folder` that of a definition's file: the one with definitions/, else the one it is in. */
static void folder_of_file(char *folder)
{
    char *last = NULL;
    for (char *at = folder; (at = strstr(at, "/definitions/")); at++) last = at;
    if (!last) last = strrchr(folder, '/');
    if (last > folder) *last = '\0';
}

bool kf_import_definitions(const char *format, const char *path, bool strict,
                           const volatile int *stop, kf_import_suite *suite, kf_error *error)
{
    struct stat status;
    if (!kf_import_begin(suite, format, path, error)) return false;
    kf_autofree char *file = strdup(suite->folder);
    if (!file) return kf_fail_memory(error, "the definitions");
    if (stat(file, &status) == 0 && !S_ISDIR(status.st_mode)) folder_of_file(suite->folder);
    suite->license = kf_import_license(suite->folder);
    const char *const arguments[] = {"definitions", format, file, NULL};
    const kf_torch_tool tool = {.arguments = arguments,
                                .folder = suite->folder,
                                .name = path,
                                .seconds = SECONDS,
                                .memory_bytes = MEMORY_BYTES,
                                .strict = strict};
    kf_auto(cJSON) answer = kf_torch_tool_run(&tool, stop, error);
    return answer && take_answer(suite, answer, error);
}

/* ---- solutions ------------------------------------------------------------------------------- */

/* The first line has the claim, which a bench compares with its own figure. */
static bool write_solution(const char *folder, const kf_import_solution *solution, size_t number,
                           kf_error *error)
{
    char base[160];
    kf_autobuffer text = {0};
    snprintf(base, sizeof base, number ? "%.120s-%zu.py" : "%.120s.py", solution->name, number + 1);
    kf_autofree char *path = kf_path_join(folder, base);
    if (isfinite(solution->claimed))
        kf_buffer_format(&text, KF_BENCH_CLAIM "%.6g\n", solution->claimed);
    kf_buffer_string(&text, solution->text);
    if (!path || text.failed) return kf_fail_memory(error, "the solutions");
    return kf_directory_make(folder, error) && kf_file_write(path, text.data, text.size, error);
}

/* Returns how many earlier solutions of the same problem have the same name. */
static size_t namesakes(const kf_import_suite *suite, size_t index)
{
    size_t count = 0;
    for (size_t i = 0; i < index; i++)
        count += suite->solutions[i].problem == suite->solutions[index].problem &&
                 strcmp(suite->solutions[i].name, suite->solutions[index].name) == 0;
    return count;
}

static bool is_known(const kf_import_suite *suite, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (suite->solutions[i].problem == suite->solutions[index].problem &&
            strcmp(suite->solutions[i].text, suite->solutions[index].text) == 0)
            return true;
    return false;
}

bool kf_import_write_solutions(const kf_import_suite *suite, const kf_import_options *options,
                               const kf_import_result *results, size_t *written, kf_error *error)
{
    *written = 0;
    kf_autofree char *top = kf_path_join(options->output, SOLUTIONS);
    if (!top) return kf_fail_memory(error, "the solutions");
    for (size_t i = 0; i < suite->solution_count; i++) {
        const kf_import_solution *s = &suite->solutions[i];
        kf_import_status status = results[s->problem].status;
        if (status != KF_IMPORT_MADE && status != KF_IMPORT_UNCHANGED) continue;
        if (is_known(suite, i)) continue;
        kf_autofree char *folder = kf_path_join(top, suite->problems[s->problem].task);
        if (!folder) return kf_fail_memory(error, "the solutions");
        if (!kf_directory_make(top, error) ||
            !write_solution(folder, s, namesakes(suite, i), error))
            return false;
        ++*written;
    }
    return true;
}
