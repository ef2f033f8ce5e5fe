/* Finds existing solutions and their tasks. */
#include "bench_solutions.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"

#define LINES_BYTES ((size_t)512 << 20)
#define LINE_BYTES (8u << 20)

typedef struct finder {
    const kf_bench_suite *suite;
    kf_bench_solutions *found;
    kf_error *error;
} finder;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static size_t task_of_origin(const kf_bench_suite *suite, int64_t level, int64_t problem)
{
    for (size_t i = 0; i < suite->count; i++)
        if (!suite->tasks[i].fault && suite->tasks[i].level == level &&
            suite->tasks[i].problem == problem)
            return i;
    return SIZE_MAX;
}

static size_t task_of_name(const kf_bench_suite *suite, const char *name, size_t length)
{
    for (size_t i = 0; i < suite->count; i++) {
        const kf_bench_task *task = &suite->tasks[i];
        const char *folder = last_part(task->folder);
        bool fits = (strlen(task->name) == length && strncmp(task->name, name, length) == 0) ||
                    (*folder && strlen(folder) == length && strncmp(folder, name, length) == 0);
        if (!task->fault && fits) return i;
    }
    return SIZE_MAX;
}

static void count_stranger(finder *f, const char *file)
{
    if (!f->found->unmatched_count++)
        snprintf(f->found->unmatched, sizeof f->found->unmatched, "%s", file);
}

/* Adds a solution and takes ownership of source and why. Both NULL means lack of memory. */
static bool add(finder *f, size_t task, const char *file, int64_t sample, kf_language language,
                char *source, size_t size, char *why, double claimed, bool other_text)
{
    kf_bench_solutions *found = f->found;
    char *name = kf_text_clean(file, strlen(file), true);
    if (source && language == KF_LANGUAGE_PYTHON && !f->suite->tasks[task].torch)
        why = strdup("a Python solution (ModelNew), but the task has no problem file for PyTorch");
    bool grown = kf_list_grow(&found->items, found->count);
    if (!grown || !name || (!source && !why)) {
        free(name), free(source), free(why);
        return kf_fail_memory(f->error, "the solutions");
    }
    found->items[found->count++] = (kf_bench_solution){.task = task,
                                                       .file = name,
                                                       .sample = sample,
                                                       .language = language,
                                                       .source = source,
                                                       .size = size,
                                                       .why = why,
                                                       .claimed = claimed,
                                                       .other_text = other_text};
    return true;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool read_number(const char **at, const char *before, int64_t *value)
{
    size_t length = strlen(before);
    char *end;
    if (strncmp(*at, before, length) != 0 || !isdigit((unsigned char)(*at)[length])) return false;
    errno = 0;
    *value = strtoll(*at + length, &end, 10);
    *at = end;
    return errno == 0 && *value < 1000000000;
}

static bool language_of(const char *end, kf_language *language)
{
    *language = strcmp(end, ".py") == 0 ? KF_LANGUAGE_PYTHON : KF_LANGUAGE_CUDA;
    return strcmp(end, ".py") == 0 || strcmp(end, ".cu") == 0;
}

bool kf_bench_kernelbench_name(const char *name, int64_t *level, int64_t *problem, int64_t *sample,
                               kf_language *language)
{
    const char *at = name;
    if (!read_number(&at, "level_", level) || !read_number(&at, "_problem_", problem) ||
        !read_number(&at, "_sample_", sample))
        return false;
    return strncmp(at, "_kernel", 7) == 0 && language_of(at + 7, language);
}

static bool add_file(finder *f, const char *path, const char *file, const char *folder_name)
{
    int64_t level, problem, sample = -1;
    kf_language language;
    const char *name = last_part(file), *dot = strrchr(name, '.');
    size_t task;
    if (kf_bench_kernelbench_name(name, &level, &problem, &sample, &language))
        task = task_of_origin(f->suite, level, problem);
    else if (!dot || !language_of(dot, &language))
        return true; /* another kind of file */
    else
        task = folder_name ? task_of_name(f->suite, folder_name, strlen(folder_name))
                           : task_of_name(f->suite, name, (size_t)(dot - name));
    if (task == SIZE_MAX) {
        count_stranger(f, file);
        return true;
    }
    kf_error why = {0};
    size_t size = 0;
    char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, &why);
    double claimed = NAN;
    if (source && sscanf(source, KF_BENCH_CLAIM "%lf", &claimed) != 1) claimed = NAN;
    return add(f, task, file, sample, language, source, size, source ? NULL : strdup(why.text),
               claimed, false);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* `within` is the name of the folder below the top, or NULL at the top. */
static bool add_folder(finder *f, const char *folder, const char *within)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, by_name);
    if (count < 0) return kf_fail(f->error, KF_ERROR_INPUT, "%s: cannot read it", folder);
    bool added = true;
    for (int i = 0; i < count; i++) {
        kf_autofree char *path = added ? kf_path_join(folder, entries[i]->d_name) : NULL;
        kf_autofree char *file =
            added ? (within ? kf_path_join(within, entries[i]->d_name) : strdup(entries[i]->d_name))
                  : NULL;
        struct stat status;
        free(entries[i]);
        if (added && (!path || !file)) added = kf_fail_memory(f->error, "the solutions");
        if (!added || stat(path, &status) != 0) continue;
        if (S_ISREG(status.st_mode))
            added = add_file(f, path, file, within);
        else if (S_ISDIR(status.st_mode) && !within)
            added = add_folder(f, path, file);
    }
    free(entries);
    return added;
}

/* ---- CUDA-L1 --------------------------------------------------------------------------------- */

/* Reads a number, or digits in a text. */
static int64_t whole_number(const cJSON *line, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    if (cJSON_IsString(item)) {
        char *end;
        long long value = strtoll(item->valuestring, &end, 10);
        return end > item->valuestring && !*end ? value : -1;
    }
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e9
               ? (int64_t)item->valuedouble
               : -1;
}

/* Reads a figure, or a figure in a text. */
static double figure_of(const cJSON *item)
{
    char *end;
    if (cJSON_IsNumber(item)) return item->valuedouble;
    if (!cJSON_IsString(item)) return NAN;
    double value = strtod(item->valuestring, &end);
    return end > item->valuestring && !*end && value > 0 && value < 1e9 ? value : NAN;
}

/* score_default, and score alone, are against eager PyTorch. A release with only other scores gives
 * the first of them. */
static double claim_of(const cJSON *line)
{
    double claim = figure_of(cJSON_GetObjectItemCaseSensitive(line, "score_default"));
    if (isnan(claim)) claim = figure_of(cJSON_GetObjectItemCaseSensitive(line, "score"));
    const cJSON *item;
    cJSON_ArrayForEach(item, line)
    {
        if (isnan(claim) && item->string && strncmp(item->string, "score_", 6) == 0)
            claim = figure_of(item);
    }
    return claim;
}

/* True if the solution's problem text differs from the task's problem file, without regard to a
 * last line break. */
static bool is_other_text(const kf_bench_task *task, const cJSON *reference)
{
    char hash[KF_HASH_HEX];
    if (!task->text_hash[0] || !cJSON_IsString(reference) || !*reference->valuestring) return false;
    const char *text = reference->valuestring;
    size_t size = strlen(text), bare = size;
    while (bare && text[bare - 1] == '\n') bare--;
    kf_autofree char *ended = strndup(text, bare + 1);
    if (!ended) return false;
    /* strndup has copied the byte behind the text, or ended there, so there is room for it */
    ended[bare] = '\n';
    kf_hash hashes[] = {kf_hash_bytes(text, size), kf_hash_bytes(text, bare),
                        kf_hash_bytes(ended, bare + 1)};
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
        kf_hash_hex(&hashes[i], hash);
        if (strcmp(hash, task->text_hash) == 0) return false;
    }
    return true;
}

static bool add_line(finder *f, const cJSON *line, int64_t level, int64_t number)
{
    char file[64];
    int64_t problem = whole_number(line, "task_id");
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(line, "custom_code");
    snprintf(file, sizeof file, "level %lld problem %lld, line %lld", (long long)level,
             (long long)problem, (long long)number);
    size_t task = level >= 0 && problem >= 0 ? task_of_origin(f->suite, level, problem) : SIZE_MAX;
    if (task == SIZE_MAX) {
        count_stranger(f, file);
        return true;
    }
    bool given = cJSON_IsString(code) && *code->valuestring &&
                 strcmp(code->valuestring, "None") != 0; /* in Python's syntax */
    bool python = given && (strstr(code->valuestring, "import torch") ||
                            strstr(code->valuestring, "class ModelNew"));
    return add(
        f, task, file, -1, python ? KF_LANGUAGE_PYTHON : KF_LANGUAGE_CUDA,
        given ? strdup(code->valuestring) : NULL, given ? strlen(code->valuestring) : 0,
        given ? NULL : strdup("the release has no code for this problem"), claim_of(line),
        is_other_text(&f->suite->tasks[task], cJSON_GetObjectItemCaseSensitive(line, "ref_code")));
}

/* Reads {"1": [{"task_id": 1, …}, …], "2": …}, one value over many lines. */
static bool add_levels(finder *f, const char *path, const char *text, size_t size)
{
    int64_t number = 0;
    kf_auto(cJSON) json = kf_json_parse(text, size, LINES_BYTES, path, f->error);
    const cJSON *level, *entry;
    if (!json) return false;
    cJSON_ArrayForEach(level, json)
    {
        char *end;
        long long id = strtoll(level->string ? level->string : "", &end, 10);
        if (!level->string || end == level->string || *end || !cJSON_IsArray(level))
            return kf_fail(
                f->error, KF_ERROR_INPUT,
                "%s: expected JSON lines, or an object of levels: {\"1\": [{\"task_id\": …}]}",
                path);
        cJSON_ArrayForEach(entry, level)
        {
            if (!add_line(f, entry, id, ++number)) return false;
        }
    }
    return true;
}

static bool add_lines(finder *f, const char *path)
{
    size_t size;
    int64_t number = 0;
    kf_autofree char *text = kf_file_read(path, LINES_BYTES, &size, f->error);
    if (!text) return false;
    size_t opening = strspn(text, "{ \t\r");
    /* the first line is not a whole value */
    if (opening && opening == strcspn(text, "\n")) return add_levels(f, path, text, size);
    for (const char *at = text; at < text + size;) {
        const char *end = memchr(at, '\n', (size_t)(text + size - at));
        size_t length = (size_t)((end ? end : text + size) - at);
        number++;
        if (strspn(at, " \t\r") < length) {
            char where[64];
            snprintf(where, sizeof where, "line %lld", (long long)number);
            kf_auto(cJSON) line = kf_json_parse(at, length, LINE_BYTES, where, f->error);
            if (!line) return kf_fail_prefix(f->error, "%s", path);
            if (!cJSON_IsObject(line))
                return kf_fail(f->error, KF_ERROR_INPUT, "%s: %s is not an object", path, where);
            if (!add_line(f, line, whole_number(line, "level_id"), number)) return false;
        }
        at += length + 1;
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int by_task(const void *a, const void *b)
{
    const kf_bench_solution *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    if (x->sample != y->sample) return x->sample < y->sample ? -1 : 1;
    return strverscmp(x->file, y->file);
}

bool kf_bench_solutions_load(const char *path, const kf_bench_suite *suite,
                             kf_bench_solutions *solutions, kf_error *error)
{
    struct stat status;
    finder f = {.suite = suite, .found = solutions, .error = error};
    if (stat(path, &status) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no such file or folder of solutions", path);
    if (S_ISDIR(status.st_mode) ? !add_folder(&f, path, NULL) : !add_lines(&f, path)) return false;
    if (!solutions->count)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: no solution is for a task of the suite; %zu are for other tasks%s%s",
                       path, solutions->unmatched_count,
                       solutions->unmatched_count ? ", for example " : "", solutions->unmatched);
    qsort(solutions->items, solutions->count, sizeof *solutions->items, by_task);
    int64_t next = 0;
    for (size_t i = 0; i < solutions->count; i++) {
        kf_bench_solution *s = &solutions->items[i];
        if (i && s->task != s[-1].task) next = 0;
        if (s->sample < 0) s->sample = next;
        next++;
    }
    return true;
}

void kf_bench_solutions_clear(kf_bench_solutions *solutions)
{
    for (size_t i = 0; i < solutions->count; i++) {
        free(solutions->items[i].file);
        free(solutions->items[i].source);
        free(solutions->items[i].why);
    }
    free(solutions->items);
    *solutions = (kf_bench_solutions){0};
}
