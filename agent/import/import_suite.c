/* Finds problems, and decides whether a folder is a checkout of KernelBench or of robust-kbench, or
 * has files with a Model:
 *
 * - KernelBench: [CHECKOUT/][KernelBench/]levelL/ID_Name.py
 * - robust-kbench: [CHECKOUT/][tasks/]…/NAME/ with config_forward.json, func_forward.py,
 *   config_backward.json, func_backward.py
 * - CUDA-L1: a file of JSON lines with the text of a problem in each
 *
 * A configuration of robust-kbench has arguments for get_inputs and Model. Lines behind the file's
 * own text redefine both functions for it. For the backward pass, a ModelBackward around Model
 * returns the gradients. So the baseline's time includes forward, and the variant says so. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "kforge/verdict.h"

#define CONFIG_BYTES (1u << 20)
#define RELEASE_BYTES ((size_t)512 << 20)
/* maximum of a task's name, which is its entry, too: ENTRY_oracle has to be a name */
#define NAME_BYTES 56
/* depth of the search for folders in a suite */
#define DEPTH 5

/* ---- ranges ---------------------------------------------------------------------------------- */

bool kf_import_ranges_parse(const char *text, const char *what, kf_import_ranges *ranges,
                            kf_error *error)
{
    *ranges = (kf_import_ranges){0};
    for (const char *at = text; at && *at;) {
        char *end;
        errno = 0;
        long long low = strtoll(at, &end, 10), high = low;
        bool good = end != at && low >= 0;
        if (good && strncmp(end, "..", 2) == 0) {
            const char *second = end + 2;
            high = strtoll(second, &end, 10);
            good = end != second && high >= low;
        }
        if (!good || errno || (*end && *end != ',') || (*end == ',' && !end[1]))
            return kf_fail(error, KF_ERROR_INPUT,
                           "--%s %s: expected numbers and ranges such as 1..3,7", what, text);
        if (ranges->count == sizeof ranges->ranges / sizeof *ranges->ranges)
            return kf_fail(error, KF_ERROR_LIMIT, "--%s: more than %zu ranges", what,
                           ranges->count);
        ranges->ranges[ranges->count].low = low;
        ranges->ranges[ranges->count++].high = high;
        at = *end ? end + 1 : end;
    }
    return true;
}

bool kf_import_ranges_hold(const kf_import_ranges *ranges, int64_t number)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (number >= ranges->ranges[i].low && number <= ranges->ranges[i].high) return true;
    return ranges->count == 0;
}

/* ---- suites ---------------------------------------------------------------------------------- */

void kf_import_suite_clear(kf_import_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        kf_import_problem *p = &suite->problems[i];
        char *const texts[] = {p->task, p->path,    p->relative, p->append,
                               p->text, p->variant, p->rule,     p->fault};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    }
    free(suite->problems);
    for (size_t i = 0; i < suite->solution_count; i++)
        free(suite->solutions[i].name), free(suite->solutions[i].text);
    free(suite->solutions);
    char *const texts[] = {suite->name,   suite->folder,  suite->url,
                           suite->commit, suite->license, suite->notes};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free(texts[k]);
    *suite = (kf_import_suite){0};
}

/* Writes a name of letters, digits and single _, at most NAME_BYTES long. */
static char *task_name(const char *wanted)
{
    kf_autobuffer name = {0};
    for (const char *c = wanted; *c && name.size < NAME_BYTES; c++) {
        bool good = isalnum((unsigned char)*c);
        if (good)
            kf_buffer_append(&name, c, 1);
        else if (name.size && name.data[name.size - 1] != '_')
            kf_buffer_string(&name, "_");
    }
    while (name.size && name.data[name.size - 1] == '_') name.data[--name.size] = '\0';
    return name.size ? kf_buffer_take(&name) : strdup("problem");
}

/* Adds a problem. Takes ownership of `append` and `variant`. */
bool kf_import_add(kf_import_suite *suite, const char *wanted, const char *path, int64_t level,
                   int64_t problem, char *append, char *variant, kf_error *error)
{
    kf_autofree char *owned_append = append, *owned_variant = variant;
    if (suite->count == KF_IMPORT_PROBLEMS)
        return kf_fail(error, KF_ERROR_LIMIT, "%s: more than %d problems", suite->folder,
                       KF_IMPORT_PROBLEMS);
    if (!kf_list_grow(&suite->problems, suite->count))
        return kf_fail_memory(error, "the problems of the suite");
    size_t length = strlen(suite->folder);
    const char *relative =
        strncmp(path, suite->folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
    kf_import_problem *p = &suite->problems[suite->count++];
    *p = (kf_import_problem){.task = task_name(wanted),
                             .path = strdup(path),
                             .relative = strdup(relative),
                             .append = kf_steal(&owned_append),
                             .variant = kf_steal(&owned_variant),
                             .level = level,
                             .problem = problem};
    return (p->task && p->path && p->relative) ||
           kf_fail_memory(error, "the problems of the suite");
}

static int by_number(const void *a, const void *b)
{
    const kf_import_problem *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    if (x->problem != y->problem) return x->problem < y->problem ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Adds numbers to names that were cut to the same text. Problems are in their order. */
bool kf_import_tell_apart(kf_import_suite *suite, kf_error *error)
{
    for (size_t i = 1; i < suite->count; i++) {
        int number = 2;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(suite->problems[i].task, suite->problems[k].task) != 0) continue;
            char ending[16];
            snprintf(ending, sizeof ending, "_%d", number++);
            size_t keep = strlen(suite->problems[k].task);
            if (keep + strlen(ending) > NAME_BYTES) keep = NAME_BYTES - strlen(ending);
            char *name = NULL;
            if (asprintf(&name, "%.*s%s", (int)keep, suite->problems[k].task, ending) < 0)
                return kf_fail_memory(error, "the problems of the suite");
            free(suite->problems[i].task);
            suite->problems[i].task = name;
            k = (size_t)-1; /* start again from the first */
        }
    }
    return true;
}

bool kf_import_begin(kf_import_suite *suite, const char *name, const char *folder, kf_error *error)
{
    char real[PATH_MAX];
    struct stat status;
    *suite = (kf_import_suite){0};
    if (!realpath(folder, real) || stat(real, &status) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: %s", folder, strerror(errno));
    suite->name = strdup(name);
    suite->folder = strdup(real);
    if (!suite->name || !suite->folder) return kf_fail_memory(error, "the problems of the suite");
    kf_import_checkout(real, &suite->url, &suite->commit);
    return true;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- KernelBench ----------------------------------------------------------------------------- */

static bool add_level(kf_import_suite *suite, const char *folder, int64_t level,
                      const kf_import_ranges *ids, kf_error *error)
{
    DIR *listing = opendir(folder);
    if (!listing) return kf_fail(error, KF_ERROR_IO, "%s: %s", folder, strerror(errno));
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(listing));) {
        const char *name = entry->d_name, *end = strrchr(name, '.');
        char *behind, wanted[300];
        long long id = strtoll(name, &behind, 10);
        if (!isdigit((unsigned char)name[0]) || *behind != '_' || !end || strcmp(end, ".py") != 0 ||
            !kf_import_ranges_hold(ids, id))
            continue;
        kf_autofree char *path = kf_path_join(folder, name);
        snprintf(wanted, sizeof wanted, "level%lld_%.*s", (long long)level, (int)(end - name),
                 name);
        good = path ? kf_import_add(suite, wanted, path, level, id, NULL, NULL, error)
                    : kf_fail_memory(error, "the problems of the suite");
    }
    closedir(listing);
    return good;
}

static char *license_text(const char *folder)
{
    static const char *const names[] = {"LICENSE", "LICENCE", "LICENSE.txt", "LICENSE.md",
                                        "COPYING"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kf_autofree char *path = kf_path_join(folder, names[i]);
        kf_autofree char *text = path ? kf_file_read(path, 1 << 20, NULL, NULL) : NULL;
        if (text) return kf_steal(&text);
    }
    return NULL;
}

/* Returns the SPDX identifier of a checkout's licence file by its words, else its first line: a
 * licence of its own has no identifier, and its conditions have to travel with the tasks. */
char *kf_import_license(const char *folder)
{
    static const struct {
        const char *words, *identifier;
    } known[] = {
        {"SPDX-License-Identifier: Apache-2.0", "Apache-2.0"},
        {"Permission is hereby granted, free of charge", "MIT"},
        {"MIT License", "MIT"},
        {"Apache License", "Apache-2.0"},
        {"GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL-3.0-only"},
        {"Mozilla Public License Version 2.0", "MPL-2.0"},
        {"Neither the name of", "BSD-3-Clause"},
        {"Redistribution and use in source and binary forms", "BSD-2-Clause"},
    };
    kf_autofree char *text = license_text(folder);
    if (!text) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(text, known[i].words)) return strdup(known[i].identifier);
    const char *line = text + strspn(text, " \t\r\n");
    kf_autofree char *first = strndup(line, strcspn(line, "\r\n"));
    return first && *first ? kf_text_clean(first, strlen(first), true) : NULL;
}

bool kf_import_kernelbench(const char *folder, const kf_import_ranges *levels,
                           const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error)
{
    if (!kf_import_begin(suite, "kernelbench", folder, error)) return false;
    suite->license = kf_import_license(suite->folder);
    kf_autofree char *inner = kf_path_join(suite->folder, "KernelBench");
    if (!inner) return kf_fail_memory(error, "the problems of the suite");
    const char *top = is_folder(inner) ? inner : suite->folder;
    bool any_level = false;
    for (int64_t level = 0; level < 10; level++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/level%lld", top, (long long)level) >=
                (int)sizeof path ||
            !is_folder(path))
            continue;
        any_level = true;
        if (kf_import_ranges_hold(levels, level) && !add_level(suite, path, level, ids, error))
            return false;
    }
    if (!any_level) {
        kf_autofree char *robust = kf_path_join(suite->folder, "robust_kbench");
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a checkout of KernelBench: it has no folders level1/ …%s", folder,
                       robust && is_folder(robust)
                           ? "; it looks like robust-kbench: use kforge import robust-kbench"
                           : "");
    }
    if (!suite->count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no problem has one of these levels and ids",
                       folder);
    qsort(suite->problems, suite->count, sizeof *suite->problems, by_number);
    return kf_import_tell_apart(suite, error);
}

/* ---- robust-kbench --------------------------------------------------------------------------- */

/* In Python 2.0 is another value than 2. cJSON does not keep the difference, so a number with a
 * point or an exponent becomes a string with this mark before it is parsed. */
#define FLOAT_MARK '\1'
#define FLOAT_MARK_JSON "\\u0001"

static void mark_floats(const char *json, kf_buffer *marked)
{
    bool quoted = false;
    for (const char *at = json; *at;) {
        size_t number = quoted ? 0 : strspn(at, "+-.0123456789eE");
        /* The "e" of true and false is no number. */
        if (number && strchr("-0123456789", *at)) {
            bool real = strcspn(at, ".eE") < number;
            kf_buffer_format(marked, "%s%.*s%s", real ? "\"" FLOAT_MARK_JSON : "", (int)number, at,
                             real ? "\"" : "");
            at += number;
            continue;
        }
        size_t size = quoted && *at == '\\' && at[1] ? 2 : 1;
        if (*at == '"') quoted = !quoted;
        kf_buffer_append(marked, at, size);
        at += size;
    }
}

static cJSON *read_config(const char *path, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_file_read(path, CONFIG_BYTES, &size, error);
    kf_autobuffer marked = {0};
    if (!text) return NULL;
    mark_floats(text, &marked);
    if (!marked.data || marked.failed) {
        kf_fail_memory(error, path);
        return NULL;
    }
    return kf_json_parse(marked.data, marked.size, 2 * CONFIG_BYTES, path, error);
}

static void write_python(kf_buffer *text, const cJSON *value)
{
    const cJSON *member;
    const char *comma = "";
    if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        kf_buffer_string(text, cJSON_IsArray(value) ? "[" : "{");
        cJSON_ArrayForEach(member, value)
        {
            kf_auto(cJSON) name = member->string ? cJSON_CreateString(member->string) : NULL;
            kf_buffer_string(text, comma);
            if (name) write_python(text, name);
            if (name) kf_buffer_string(text, ": ");
            write_python(text, member);
            comma = ", ";
        }
        kf_buffer_string(text, cJSON_IsArray(value) ? "]" : "}");
    } else if (cJSON_IsBool(value) || cJSON_IsNull(value)) {
        kf_buffer_string(text, cJSON_IsNull(value)   ? "None"
                               : cJSON_IsTrue(value) ? "True"
                                                     : "False");
    } else if (cJSON_IsString(value) && value->valuestring[0] == FLOAT_MARK) {
        kf_buffer_string(text, value->valuestring + 1);
    } else {
        /* Python and JSON write integers and strings alike */
        kf_autofree char *json = cJSON_PrintUnformatted(value);
        kf_buffer_string(text, json ? json : "None");
    }
}

/* Appends "NAME=VALUE, …" of an object, with overrides from a second one. */
static bool is_constant(const cJSON *value)
{
    return cJSON_IsNumber(value) && value->valuedouble == (double)(long long)value->valuedouble;
}

/* Writes integers of a configuration as constants of the module, so that --patch can change them.
 */
static void write_constants(kf_buffer *text, const cJSON *object, const cJSON *over,
                            const char *kind)
{
    const cJSON *member;
    cJSON_ArrayForEach(
        member, object) if (is_constant(member) &&
                            !(over && cJSON_GetObjectItemCaseSensitive(over, member->string)))
        kf_buffer_format(text, "%s_%s = %lld\n", kind, member->string,
                         (long long)member->valuedouble);
}

/* `kind`: write integers as the names of their constants. NULL: write their values. */
static void write_keywords(kf_buffer *text, const cJSON *object, const cJSON *over,
                           const char *kind)
{
    const cJSON *const both[] = {object, over};
    const char *const kinds[] = {kind, "shared"};
    const char *comma = "";
    for (int i = 0; i < 2; i++) {
        const cJSON *member;
        cJSON_ArrayForEach(member, both[i])
        {
            if (i == 0 && cJSON_GetObjectItemCaseSensitive(over, member->string)) continue;
            kf_buffer_format(text, "%s%s=", comma, member->string);
            if (kind && is_constant(member))
                kf_buffer_format(text, "%s_%s", kinds[i], member->string);
            else
                write_python(text, member);
            comma = ", ";
        }
    }
}

static const char backward_model[] =
    "\n\n"
    "class ModelBackward(torch.nn.Module):\n"
    "    \"\"\"The gradients of what the problem's Model computes: of its inputs and its "
    "parameters, given the gradient of its "
    "output.\"\"\"\n\n"
    "    def __init__(self, *arguments, **keywords):\n"
    "        super().__init__()\n"
    "        self.forward_model = Model(*arguments, **keywords)\n"
    "        for parameter in self.forward_model.parameters():\n"
    "            parameter.requires_grad_(parameter.is_floating_point())\n\n"
    "    def forward(self, grad_output, *inputs):\n"
    "        with torch.enable_grad():\n"
    "            given = [v.detach().requires_grad_(True) if isinstance(v, torch.Tensor) and "
    "v.is_floating_point() else v for v in "
    "inputs]\n"
    "            wanted = [v for v in given if isinstance(v, torch.Tensor) and v.requires_grad]\n"
    "            wanted += [p for p in self.forward_model.parameters() if p.requires_grad]\n"
    "            output = self.forward_model(*given)\n"
    "            gradients = torch.autograd.grad(output, wanted, "
    "grad_output.reshape(output.shape), allow_unused=True)\n"
    "        return tuple(g for g in gradients if g is not None)\n\n\n"
    "_kforge_forward_inputs = get_inputs\n\n\n"
    "def get_inputs():\n"
    "    inputs = _kforge_forward_inputs()\n"
    "    with torch.no_grad():\n"
    "        output = Model(*get_init_inputs())(*inputs)\n"
    "    return [torch.randn(output.shape, dtype=output.dtype)] + [v.detach() if isinstance(v, "
    "torch.Tensor) else v for v in "
    "inputs]\n";

/* Returns the lines behind a file's own text for one configuration. */
static char *configuration(const cJSON *input, const cJSON *init, const cJSON *shared,
                           bool backward)
{
    kf_autobuffer text = {0}, inputs = {0}, inits = {0}, constants = {0};
    write_keywords(&inputs, input, shared, "inputs");
    write_keywords(&inits, init, shared, "init");
    write_constants(&constants, input, shared, "inputs");
    write_constants(&constants, init, shared, "init");
    write_constants(&constants, shared, NULL, "shared");
    kf_buffer_format(
        &text,
        "\n\n# ---- this configuration, appended by kforge import ----\n"
        "import inspect as _kforge_inspect\n\n"
        "%s"
        "_kforge_get_inputs = get_inputs\n"
        "_kforge_inputs = dict(%s)\n"
        "_kforge_init = dict(%s)\n"
        "_kforge_model = Model\n\n\n"
        "def _kforge_known(function, keywords):\n"
        "    known = _kforge_inspect.signature(function).parameters\n"
        "    return {name: value for name, value in keywords.items() if name in known}\n\n\n"
        "def get_inputs():\n"
        "    return _kforge_get_inputs(**_kforge_known(_kforge_get_inputs, _kforge_inputs))\n\n\n"
        "def get_init_inputs():\n"
        "    bound = _kforge_inspect.signature(_kforge_model).bind(**_kforge_known(_kforge_model, "
        "_kforge_init))\n"
        "    bound.apply_defaults()\n"
        "    return list(bound.args)\n",
        constants.data ? constants.data : "", inputs.data ? inputs.data : "",
        inits.data ? inits.data : "");
    if (backward) kf_buffer_string(&text, backward_model);
    return kf_buffer_take(&text);
}

static char *variant_of(const cJSON *input, const cJSON *init, const cJSON *shared, bool backward)
{
    kf_autobuffer text = {0}, both = {0};
    write_keywords(&text, input, shared, NULL);
    write_keywords(&both, init, shared, NULL);
    kf_autobuffer variant = {0};
    kf_buffer_format(&variant, "%s: inputs %s; model %s%s", backward ? "backward" : "forward",
                     text.data ? text.data : "as they are", both.data ? both.data : "as it is",
                     backward ? "; the baseline computes forward, too" : "");
    return kf_buffer_take(&variant);
}

static const cJSON *configs(const cJSON *config, const char *kind, bool multi, kf_error *error)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%s_configs", multi ? "multi" : "single", kind);
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(config, key);
    if (cJSON_IsArray(array) && cJSON_GetArraySize(array) > 0) return array;
    kf_fail(error, KF_ERROR_INPUT, "\"%s\" is missing or empty", key);
    return NULL;
}

/* Adds the problems of one task folder in one direction. Adds nothing if the files of that
 * direction are missing. */
static bool add_direction(kf_import_suite *suite, const char *folder, bool backward, bool multi,
                          kf_error *error)
{
    kf_autofree char *config_path =
        kf_path_join(folder, backward ? "config_backward.json" : "config_forward.json");
    kf_autofree char *file =
        kf_path_join(folder, backward ? "func_backward.py" : "func_forward.py");
    if (!config_path || !file) return kf_fail_memory(error, "the problems of the suite");
    if (!is_file(config_path) || !is_file(file)) return true;
    kf_auto(cJSON) config = read_config(config_path, error);
    if (!config) return false;
    const cJSON *inputs = configs(config, "input", multi, error),
                *inits = inputs ? configs(config, "init", multi, error) : NULL,
                *shareds = inits ? configs(config, "shared", multi, error) : NULL, *input, *init,
                *shared;
    if (!shareds) return kf_fail_prefix(error, "%s", config_path);
    const char *name = strrchr(folder, '/') + 1;
    long long level = -1, id = -1;
    const char *numbers = strstr(folder, "/level_");
    if (numbers && sscanf(numbers, "/level_%lld/task_%lld", &level, &id) != 2) level = id = -1;
    int number = 0, count = cJSON_GetArraySize(inputs) * cJSON_GetArraySize(inits) *
                            cJSON_GetArraySize(shareds);
    cJSON_ArrayForEach(init, inits) cJSON_ArrayForEach(input, inputs)
        cJSON_ArrayForEach(shared, shareds)
    {
        char wanted[300], ending[32] = "";
        if (count > 1) snprintf(ending, sizeof ending, "_%d", ++number);
        if (level >= 0)
            snprintf(wanted, sizeof wanted, "robust_level%lld_%lld_%s%s", level, id,
                     backward ? "backward" : "forward", ending);
        else
            snprintf(wanted, sizeof wanted, "robust_%.200s_%s%s", name,
                     backward ? "backward" : "forward", ending);
        char *append = configuration(input, init, shared, backward),
             *variant = append ? variant_of(input, init, shared, backward) : NULL;
        if (!variant) return free(append), kf_fail_memory(error, "the problems of the suite");
        if (!kf_import_add(suite, wanted, file, level, id, append, variant, error)) return false;
        if (backward) suite->problems[suite->count - 1].class_name = "ModelBackward";
    }
    return true;
}

static bool search_robust(kf_import_suite *suite, const char *folder, int depth, bool multi,
                          kf_error *error)
{
    if (!add_direction(suite, folder, false, multi, error) ||
        !add_direction(suite, folder, true, multi, error))
        return false;
    DIR *listing = depth ? opendir(folder) : NULL;
    bool good = true;
    for (struct dirent *entry; listing && good && (entry = readdir(listing));) {
        if (entry->d_name[0] == '.') continue;
        kf_autofree char *path = kf_path_join(folder, entry->d_name);
        struct stat status;
        if (path && lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
            good = search_robust(suite, path, depth - 1, multi, error);
    }
    if (listing) closedir(listing);
    return good;
}

bool kf_import_robust(const char *folder, bool multi, kf_import_suite *suite, kf_error *error)
{
    if (!kf_import_begin(suite, "robust-kbench", folder, error)) return false;
    suite->license = kf_import_license(suite->folder);
    kf_autofree char *tasks = kf_path_join(suite->folder, "tasks");
    if (!tasks) return kf_fail_memory(error, "the problems of the suite");
    if (!search_robust(suite, is_folder(tasks) ? tasks : suite->folder, DEPTH, multi, error))
        return false;
    if (!suite->count)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a checkout or a task of robust-kbench: no folder has "
                       "config_forward.json and func_forward.py",
                       folder);
    qsort(suite->problems, suite->count, sizeof *suite->problems, by_number);
    return kf_import_tell_apart(suite, error);
}

/* ---- CUDA-L1 --------------------------------------------------------------------------------- */

static int64_t number_in(const cJSON *line, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, key);
    double value = cJSON_IsString(item)   ? strtod(item->valuestring, NULL)
                   : cJSON_IsNumber(item) ? item->valuedouble
                                          : -1;
    return value >= 0 && value < 1e9 && value == floor(value) ? (int64_t)value : -1;
}

static bool add_release_line(kf_import_suite *suite, const cJSON *line, size_t number,
                             const kf_import_ranges *levels, const kf_import_ranges *ids,
                             kf_error *error)
{
    int64_t level = number_in(line, "level_id"), id = number_in(line, "task_id");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(line, "ref_code");
    if (level < 0 || id < 0 || !cJSON_IsString(text))
        return kf_fail(error, KF_ERROR_INPUT,
                       "line %zu: expected \"level_id\", \"task_id\" and \"ref_code\"", number);
    if (!kf_import_ranges_hold(levels, level) || !kf_import_ranges_hold(ids, id)) return true;
    for (size_t i = 0; i < suite->count; i++)
        if (suite->problems[i].level == level && suite->problems[i].problem == id)
            /* another solution of the same problem */
            return true;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "level%lld_%lld", (long long)level, (long long)id);
    snprintf(path, sizeof path, "%s/%s.py", suite->folder, name);
    if (!kf_import_add(suite, name, path, level, id, NULL, NULL, error)) return false;
    suite->problems[suite->count - 1].text = strdup(text->valuestring);
    return suite->problems[suite->count - 1].text ||
           kf_fail_memory(error, "the problems of the suite");
}

bool kf_import_cuda_l1(const char *file, const kf_import_ranges *levels,
                       const kf_import_ranges *ids, kf_import_suite *suite, kf_error *error)
{
    if (!kf_import_begin(suite, "cuda-l1", file, error)) return false;
    if (!is_file(suite->folder))
        return kf_fail(error, KF_ERROR_INPUT, "%s: not a file of CUDA-L1's release", file);
    size_t size, number = 0;
    kf_autofree char *text = kf_file_read(suite->folder, RELEASE_BYTES, &size, error);
    if (!text) return false;
    for (const char *at = text; at < text + size;) {
        const char *end = memchr(at, '\n', (size_t)(text + size - at));
        size_t length = (size_t)((end ? end : text + size) - at);
        number++;
        if (strspn(at, " \t\r") < length) {
            kf_auto(cJSON) line = kf_json_parse(at, length, RELEASE_BYTES, "a line", error);
            if (!line) return kf_fail_prefix(error, "%s, line %zu", file, number);
            if (!add_release_line(suite, line, number, levels, ids, error))
                return kf_fail_prefix(error, "%s", file);
        }
        at += length + 1;
    }
    if (!suite->count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no problem has one of these levels and ids",
                       file);
    qsort(suite->problems, suite->count, sizeof *suite->problems, by_number);
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool add_file(kf_import_suite *suite, const char *path, kf_error *error)
{
    const char *name = strrchr(path, '/') + 1, *end = strrchr(name, '.');
    kf_autofree char *wanted = strndup(name, end ? (size_t)(end - name) : strlen(name));
    return wanted ? kf_import_add(suite, wanted, path, -1, -1, NULL, NULL, error)
                  : kf_fail_memory(error, "the problems of the suite");
}

bool kf_import_file(const char *path, kf_import_suite *suite, kf_error *error)
{
    if (!kf_import_begin(suite, "torch", path, error)) return false;
    if (is_folder(suite->folder)) {
        DIR *listing = opendir(suite->folder);
        bool good = listing || kf_fail(error, KF_ERROR_IO, "%s: %s", path, strerror(errno));
        for (struct dirent *entry; listing && good && (entry = readdir(listing));) {
            const char *end = strrchr(entry->d_name, '.');
            if (!end || strcmp(end, ".py") != 0 || entry->d_name[0] == '.' ||
                entry->d_name[0] == '_')
                continue;
            kf_autofree char *file = kf_path_join(suite->folder, entry->d_name);
            good = file ? add_file(suite, file, error)
                        : kf_fail_memory(error, "the problems of the suite");
        }
        if (listing) closedir(listing);
        if (!good) return false;
        if (!suite->count)
            return kf_fail(error, KF_ERROR_INPUT, "%s: the folder has no Python files", path);
        qsort(suite->problems, suite->count, sizeof *suite->problems, by_number);
        return kf_import_tell_apart(suite, error);
    }
    char *slash = strrchr(suite->folder, '/');
    kf_autofree char *file = strdup(suite->folder);
    if (!file) return kf_fail_memory(error, "the problems of the suite");
    if (slash > suite->folder) *slash = '\0';
    return add_file(suite, file, error);
}
