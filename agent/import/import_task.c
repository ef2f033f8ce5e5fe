/* Writes a task folder from a description. The author of the problem controls the description. So
 * it goes into task.json unchanged, and the loader checks the task before the folder gets its name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/task.h"

/* ---- task.json ------------------------------------------------------------------------------- */

static const cJSON *list_of(const cJSON *description, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(description, key);
    return cJSON_IsArray(list) ? list : NULL;
}

static bool copy_member(cJSON *to, const cJSON *from, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(from, key);
    if (!value) return true;
    cJSON *copy = cJSON_Duplicate(value, true);
    return copy && cJSON_AddItemToObject(to, key, copy);
}

static bool add_name(cJSON *names, const char *name)
{
    cJSON *text = cJSON_CreateString(name);
    return text && cJSON_AddItemToArray(names, text);
}

/* Appends one argument for each element of a list of the description, and its name to `names`. */
static bool add_arguments(cJSON *arguments, const cJSON *list, const char *kind,
                          const char *name_key, cJSON *names)
{
    static const char *const members[] = {"dtype", "shape", "distribution", "value"};
    const cJSON *element;
    cJSON_ArrayForEach(element, list)
    {
        const char *name = kf_json_get_text(element, name_key, "");
        cJSON *argument = cJSON_CreateObject();
        if (!argument || !cJSON_AddItemToArray(arguments, argument) ||
            !cJSON_AddStringToObject(argument, "name", name) ||
            !cJSON_AddStringToObject(argument, "kind", kind))
            return false;
        for (size_t i = 0; i < sizeof members / sizeof *members; i++)
            if (!copy_member(argument, element, members[i])) return false;
        const cJSON *extents = list_of(element, "extents");
        cJSON *shape = extents ? cJSON_Duplicate(extents, true) : NULL;
        if (extents && !(shape && cJSON_ReplaceItemInObjectCaseSensitive(argument, "shape", shape)))
            return false;
        if (names && !add_name(names, name)) return false;
    }
    return true;
}

static bool add_state(cJSON *state, const cJSON *list)
{
    const cJSON *element;
    cJSON_ArrayForEach(element, list)
    {
        cJSON *row = cJSON_CreateObject();
        if (!row || !cJSON_AddItemToArray(state, row) ||
            !cJSON_AddStringToObject(row, "argument", kf_json_get_text(element, "argument", "")) ||
            !cJSON_AddStringToObject(row, "name", kf_json_get_text(element, "name", "")))
            return false;
    }
    return true;
}

static bool add_torch(cJSON *task, const cJSON *description, cJSON **inputs, cJSON **outputs,
                      cJSON **scalars, cJSON **sizes)
{
    cJSON *torch = cJSON_AddObjectToObject(task, "torch");
    if (!torch || !copy_member(torch, description, "class")) return false;
    *inputs = cJSON_AddArrayToObject(torch, "inputs");
    cJSON *state = cJSON_AddArrayToObject(torch, "state");
    *outputs = cJSON_AddArrayToObject(torch, "outputs");
    *scalars = cJSON_AddArrayToObject(torch, "scalars");
    *sizes = cJSON_AddArrayToObject(torch, "sizes");
    cJSON *forward = cJSON_AddArrayToObject(torch, "forward");
    const cJSON *name;
    if (!*inputs || !state || !*outputs || !*scalars || !*sizes || !forward ||
        !add_state(state, list_of(description, "state")))
        return false;
    cJSON_ArrayForEach(
        name,
        list_of(description, "order")) if (cJSON_IsString(name) &&
                                           !add_name(forward, name->valuestring)) return false;
    return copy_member(torch, description, "init") && copy_member(torch, description, "mode") &&
           copy_member(torch, description, "mode_matters") &&
           copy_member(torch, description, "structure") &&
           copy_member(torch, description, "tf32") && copy_member(torch, description, "frozen") &&
           copy_member(torch, description, "own_precision") &&
           copy_member(torch, description, "check") &&
           copy_member(torch, description, "solution") &&
           cJSON_AddNumberToObject(torch, "seed", 42) && copy_member(torch, description, "patches");
}

static void write_shape(kf_buffer *text, const cJSON *row)
{
    const cJSON *extent, *extents = list_of(row, "extents"),
                         *shape = extents ? extents : list_of(row, "shape");
    kf_buffer_format(text, "%s[", kf_json_get_text(row, "dtype", ""));
    cJSON_ArrayForEach(extent, shape)
    {
        kf_buffer_string(text, extent == shape->child ? "" : ", ");
        if (cJSON_IsString(extent))
            kf_buffer_string(text, extent->valuestring);
        else
            kf_buffer_format(text, "%.0f", extent->valuedouble);
    }
    kf_buffer_string(text, "]");
}

/* Writes the text for models. It names every output. */
static char *describe(const kf_import_problem *problem, const cJSON *description)
{
    kf_autobuffer text = {0};
    const char *doc = kf_json_get_text(description, "doc", "");
    if (*doc) kf_buffer_format(&text, "%s%s ", doc, doc[strlen(doc) - 1] == '.' ? "" : ".");
    kf_buffer_format(&text, "Compute what %s.forward of the problem file returns: ",
                     kf_json_get_text(description, "class", ""));
    const cJSON *row, *outputs = list_of(description, "outputs"),
                      *state = list_of(description, "state");
    cJSON_ArrayForEach(row, outputs)
    {
        kf_buffer_format(&text, "%s%s, ", row == outputs->child ? "" : "; ",
                         kf_json_get_text(row, "name", ""));
        write_shape(&text, row);
    }
    kf_buffer_string(&text, ", row-major and contiguous.");
    if (cJSON_GetArraySize(state))
        kf_buffer_string(&text, " Its parameters and buffers are arguments, by their names in "
                                "state_dict with _ for a dot.");
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(description, "mode_matters")))
        kf_buffer_format(&text, " The module is in %s.",
                         strcmp(kf_json_get_text(description, "mode", ""), "eval") == 0
                             ? "evaluation mode (batch norms take their running statistics)"
                             : "training mode (batch norms take the statistics of the batch)");
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(description, "tf32")))
        kf_buffer_string(&text, " On a GPU convolutions may round their f32 operands to tf32, as "
                                "PyTorch's defaults allow.");
    if (problem->variant)
        kf_buffer_format(&text, " This is the configuration %s.", problem->variant);
    const cJSON *fixed = list_of(description, "fixed");
    if (cJSON_GetArraySize(fixed) && cJSON_GetArraySize(fixed) <= 8) {
        kf_buffer_string(&text, " No arguments are:");
        cJSON_ArrayForEach(row, fixed)
            kf_buffer_format(&text, "%s %s", row == fixed->child ? "" : ",",
                             cJSON_IsString(row) ? row->valuestring : "");
        kf_buffer_string(&text, " (fixed by the constructor, or without influence on the output).");
    }
    return kf_buffer_take(&text);
}

static double elements_of(const cJSON *row)
{
    const cJSON *extent;
    double product = 1;
    cJSON_ArrayForEach(extent, list_of(row, "shape")) product *= extent->valuedouble;
    return product;
}

/* Half of a triangular or symmetric matrix is enough to read. The derived bytes would make such a
 * candidate impossible. */
static double least_bytes(const cJSON *description, bool *derived)
{
    static const char *const lists[] = {"inputs", "state", "outputs"};
    double bytes = 0;
    *derived = true;
    for (int i = 0; i < 3; i++) {
        const cJSON *row;
        cJSON_ArrayForEach(row, list_of(description, lists[i]))
        {
            kf_dtype dtype;
            const char *kind =
                kf_json_get_text(cJSON_GetObjectItemCaseSensitive(row, "distribution"), "kind", "");
            bool half = strstr(kind, "triangular") || strcmp(kind, "symmetric") == 0;
            if (!kf_dtype_parse(kf_json_get_text(row, "dtype", ""), &dtype)) continue;
            bytes += elements_of(row) * (double)kf_dtype_size(dtype) * (half ? 0.5 : 1);
            if (half) *derived = false;
        }
    }
    return bytes;
}

static bool add_origin(cJSON *task, const kf_import_suite *suite, const kf_import_problem *problem,
                       const cJSON *description, const char *hash)
{
    cJSON *origin = cJSON_AddObjectToObject(task, "origin");
    if (!origin || !cJSON_AddStringToObject(origin, "suite", suite->name)) return false;
    if (problem->level >= 0 && !cJSON_AddNumberToObject(origin, "level", (double)problem->level))
        return false;
    if (problem->problem >= 0 &&
        !cJSON_AddNumberToObject(origin, "problem", (double)problem->problem))
        return false;
    if (!cJSON_AddStringToObject(origin, "file", problem->relative) ||
        !cJSON_AddStringToObject(origin, "sha256", hash))
        return false;
    if (suite->url && !cJSON_AddStringToObject(origin, "url", suite->url)) return false;
    if (suite->commit && !cJSON_AddStringToObject(origin, "commit", suite->commit)) return false;
    if (problem->variant && !cJSON_AddStringToObject(origin, "variant", problem->variant))
        return false;
    cJSON *dims = cJSON_AddArrayToObject(origin, "output_dims");
    const cJSON *output;
    cJSON_ArrayForEach(output, list_of(description, "outputs"))
    {
        const cJSON *count = cJSON_GetObjectItemCaseSensitive(output, "dims");
        cJSON *number = cJSON_CreateNumber(cJSON_IsNumber(count)
                                               ? count->valuedouble
                                               : cJSON_GetArraySize(list_of(output, "shape")));
        if (!dims || !number || !cJSON_AddItemToArray(dims, number)) return false;
    }
    return copy_member(origin, description, "torch") && copy_member(origin, description, "notes") &&
           copy_member(origin, description, "fixed") &&
           copy_member(origin, description, "definition") &&
           copy_member(origin, description, "not_frozen");
}

/* `compiled`: with torch.compile. */
static bool add_source(cJSON *task, const char *key, const kf_import_problem *problem,
                       const kf_import_options *options, const char *hash, bool compiled)
{
    cJSON *source = cJSON_AddObjectToObject(task, key);
    if (!source || !cJSON_AddStringToObject(source, "kind", "torch") ||
        !cJSON_AddStringToObject(source, "file", KF_IMPORT_FILE))
        return false;
    if (compiled && !cJSON_AddTrueToObject(source, "compile")) return false;
    if (options->link && !problem->append && !problem->text &&
        !cJSON_AddStringToObject(source, "source", problem->path))
        return false;
    return cJSON_AddStringToObject(source, "sha256", hash) != NULL;
}

/* Adds the other mode as an extra baseline, so that a bench can give both figures. */
static bool add_further(cJSON *task, const kf_import_problem *problem,
                        const kf_import_options *options, const char *hash)
{
    cJSON *baselines = cJSON_AddObjectToObject(task, "baselines");
    return baselines && add_source(baselines, options->compiled ? "eager" : "compiled", problem,
                                   options, hash, !options->compiled);
}

/* True if an argument in one of the lists of a description has this name. */
static bool names_argument(const cJSON *description, const char *name)
{
    static const char *const keys[] = {"arguments", "inputs",  "state",
                                       "outputs",   "scalars", "sizes"};
    const cJSON *row;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(description, keys[i]))
        {
            const char *key = strcmp(keys[i], "state") == 0 ? "argument" : "name";
            if (strcmp(kf_json_get_text(row, key, ""), name) == 0) return true;
        }
    return false;
}

/* Makes a free C name of a task's name: "exp", "class", "2d-conv" and the name of an argument get a
 * prefix. */
static void entry_of(const char *name, const cJSON *description, char *entry, size_t size)
{
    for (int i = 0; i < 2; i++) {
        /* with the prefix, at most 56 characters */
        snprintf(entry, size, "%s%.*s", i ? "task_" : "", i ? 51 : 56, name);
        for (char *c = entry; *c; c++)
            if (*c == '-' || *c == '.') *c = '_';
        if (!kf_entry_fault(entry) && !names_argument(description, entry)) return;
    }
}

/* KernelBench's convention gives a problem one size, for which its solutions are written. */
static bool has_fixed_sizes(const kf_import_suite *suite)
{
    static const char *const fixed[] = {"kernelbench", "robust-kbench", "cuda-l1"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(suite->name, fixed[i]) == 0) return true;
    return false;
}

/* Adds the given workload, and those of the description that only show if a candidate generalises.
 */
static bool add_workloads(cJSON *task, const kf_import_suite *suite, const cJSON *description)
{
    const cJSON *list = list_of(description, "unseen"), *row;
    if (!cJSON_GetArraySize(list)) return true;
    cJSON *workloads = cJSON_AddArrayToObject(task, "workloads"), *main = cJSON_CreateObject();
    if (!workloads || !main || !cJSON_AddItemToArray(workloads, main)) {
        cJSON_Delete(main);
        return false;
    }
    if (!cJSON_AddStringToObject(main, "name", "main")) return false;
    cJSON_ArrayForEach(row, list)
    {
        if (has_fixed_sizes(suite) && cJSON_GetObjectItemCaseSensitive(row, "shapes")) continue;
        cJSON *copy = cJSON_Duplicate(row, true);
        if (!copy || !cJSON_AddItemToArray(workloads, copy)) return false;
    }
    return true;
}

static bool fill(cJSON *task, const kf_import_suite *suite, const kf_import_problem *problem,
                 const kf_import_options *options, const cJSON *description, const char *hash)
{
    char entry[128], family[64];
    entry_of(problem->task, description, entry, sizeof entry);
    kf_autofree char *about = describe(problem, description);
    if (!about || !cJSON_AddStringToObject(task, "schema", KF_TASK_SCHEMA) ||
        !cJSON_AddStringToObject(task, "name", problem->task) ||
        !cJSON_AddStringToObject(task, "description", about) ||
        !cJSON_AddStringToObject(task, "entry", entry))
        return false;
    cJSON *arguments = cJSON_AddArrayToObject(task, "arguments"), *inputs, *outputs, *scalars,
          *sizes;
    if (!arguments || !add_source(task, "oracle", problem, options, hash, false) ||
        !add_source(task, "baseline", problem, options, hash, options->compiled) ||
        !add_further(task, problem, options, hash) ||
        !add_torch(task, description, &inputs, &outputs, &scalars, &sizes) ||
        !copy_member(task, description, "tolerance") ||
        !copy_member(task, description, "forbidden") ||
        !add_arguments(arguments, list_of(description, "inputs"), "input", "name", inputs) ||
        !add_arguments(arguments, list_of(description, "state"), "input", "argument", NULL) ||
        !add_arguments(arguments, list_of(description, "outputs"), "output", "name", outputs) ||
        !add_arguments(arguments, list_of(description, "scalars"), "scalar", "name", scalars) ||
        !add_arguments(arguments, list_of(description, "sizes"), "scalar", "name", sizes))
        return false;
    const cJSON *file, *files = cJSON_GetObjectItemCaseSensitive(description, "files");
    cJSON *seeds = cJSON_GetArraySize(files) ? cJSON_AddArrayToObject(task, "seeds") : NULL;
    cJSON_ArrayForEach(file, files) if (!seeds || !add_name(seeds, file->string)) return false;
    bool derived;
    double bytes = least_bytes(description, &derived);
    /* With workloads of other sizes, the derived bytes have to do. */
    bool sized = cJSON_HasObjectItem(description, "workloads");
    if ((!sized && !add_workloads(task, suite, description)) ||
        !cJSON_AddStringToObject(task, "aliasing",
                                 options->aliasing ? options->aliasing : "forbid"))
        return false;
    cJSON *work = sized ? NULL : cJSON_AddObjectToObject(task, "work");
    const cJSON *flops = cJSON_GetObjectItemCaseSensitive(description, "flops");
    if (!sized && (!work || !cJSON_AddNumberToObject(work, "bytes", bytes))) return false;
    if (!copy_member(task, description, "params") || !copy_member(task, description, "workloads"))
        return false;
    /* The estimate counts all operations of the module. A candidate may need fewer, so it is not a
     * lower bound. It goes into "origin", for readers. */
    (void)derived;
    if (problem->level >= 0)
        snprintf(family, sizeof family, "%s-level%lld", suite->name, (long long)problem->level);
    else
        snprintf(family, sizeof family, "%s", suite->name);
    if (!cJSON_AddStringToObject(task, "family", family)) return false;
    const char *license = kf_json_get_text(description, "license", "");
    if (!*license && suite->license) license = suite->license;
    if (*license && !cJSON_AddStringToObject(task, "license", license)) return false;
    if (!add_origin(task, suite, problem, description, hash)) return false;
    cJSON *origin = cJSON_GetObjectItemCaseSensitive(task, "origin");
    return !cJSON_IsNumber(flops) || cJSON_AddNumberToObject(origin, "flops", flops->valuedouble);
}

cJSON *kf_import_task(const kf_import_suite *suite, const kf_import_problem *problem,
                      const kf_import_options *options, const cJSON *description, const char *text,
                      size_t size, kf_error *error)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(text, size);
    kf_hash_hex(&hash, hex);
    kf_auto(cJSON) task = cJSON_CreateObject();
    if (!task || !fill(task, suite, problem, options, description, hex)) {
        kf_fail_memory(error, "an imported task");
        return NULL;
    }
    return kf_steal(&task);
}

cJSON *kf_import_ready_task(const kf_import_suite *suite, const kf_import_problem *problem,
                            const cJSON *ready, kf_error *error)
{
    char entry[128];
    entry_of(problem->task, ready, entry, sizeof entry);
    kf_auto(cJSON) task = cJSON_CreateObject();
    bool good = task && cJSON_AddStringToObject(task, "schema", KF_TASK_SCHEMA) &&
                cJSON_AddStringToObject(task, "name", problem->task) &&
                cJSON_AddStringToObject(task, "entry", entry) &&
                cJSON_AddStringToObject(task, "family", suite->name);
    const cJSON *member;
    cJSON_ArrayForEach(member, ready) if (good) good = copy_member(task, ready, member->string);
    if (good && suite->license) good = cJSON_AddStringToObject(task, "license", suite->license);
    cJSON *origin = good ? cJSON_AddObjectToObject(task, "origin") : NULL;
    good = origin && cJSON_AddStringToObject(origin, "suite", suite->name) &&
           cJSON_AddStringToObject(origin, "file", problem->relative) &&
           (!suite->url || cJSON_AddStringToObject(origin, "url", suite->url)) &&
           (!suite->commit || cJSON_AddStringToObject(origin, "commit", suite->commit));
    if (good) return kf_steal(&task);
    kf_fail_memory(error, "an imported task");
    return NULL;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static bool is_same(const char *folder, const char *name, const char *text, size_t size)
{
    kf_autofree char *path = kf_path_join(folder, name);
    size_t there;
    kf_autofree char *old = path ? kf_file_read(path, KF_SOURCE_BYTES, &there, NULL) : NULL;
    return old && there == size && memcmp(old, text, size) == 0;
}

char *kf_import_file_text(const cJSON *task, const cJSON *file)
{
    static const char mark[] = "KFORGE_ENTRY";
    kf_autobuffer text = {0};
    const char *at = cJSON_IsString(file) ? file->valuestring : "";
    for (const char *found; (found = strstr(at, mark)); at = found + strlen(mark)) {
        kf_buffer_append(&text, at, (size_t)(found - at));
        kf_buffer_string(&text, kf_json_get_text(task, "entry", ""));
    }
    kf_buffer_string(&text, at);
    return kf_buffer_take(&text);
}

/* True if a further file may have this name: it comes from code of the problem. */
static bool is_free_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && strcmp(name, "task.json") != 0 &&
           strcmp(name, KF_IMPORT_FILE) != 0;
}

static bool write_others(const char *folder, const cJSON *task, const cJSON *files, kf_error *error)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        kf_autofree char *text = kf_import_file_text(task, file);
        kf_autofree char *path = kf_path_join(folder, file->string);
        if (!is_free_name(file->string))
            return kf_fail(error, KF_ERROR_INPUT, "a translator named a file \"%.80s\"",
                           file->string);
        if (!path || !text) return kf_fail_memory(error, "an imported task");
        if (!kf_file_write(path, text, strlen(text), error)) return false;
    }
    return true;
}

static bool write_files(const char *folder, bool with_problem, const char *json, const char *text,
                        size_t size, kf_error *error)
{
    kf_autofree char *task = kf_path_join(folder, "task.json"),
                     *file = kf_path_join(folder, KF_IMPORT_FILE);
    if (!task || !file) return kf_fail_memory(error, "an imported task");
    return kf_file_write(task, json, strlen(json), error) &&
           (!with_problem || kf_file_write(file, text, size, error));
}

/* The error names the temporary folder. Keep the text after its task.json. */
static bool loads(const char *folder, kf_error *error)
{
    kf_error reason = {0};
    kf_auto(kf_task) task = kf_task_load(folder, &reason);
    if (task) return true;
    const char *behind = strstr(reason.text, "task.json: ");
    return kf_fail(error, reason.code, "it cannot become a task: %s",
                   behind ? behind + 11 : reason.text);
}

/* Moves `temporary` to `target`, then removes the old target. */
static bool put_in_place(const char *temporary, const char *target, kf_error *error)
{
    kf_autofree char *old = NULL;
    mode_t mask = umask(0);
    umask(mask);
    if (asprintf(&old, "%s.old", temporary) < 0) old = NULL;
    if (!old) return kf_fail_memory(error, "an imported task");
    bool replaced = rename(target, old) == 0;
    if (chmod(temporary, 0777 & ~mask) != 0 || rename(temporary, target) != 0) {
        int reason = errno;
        if (replaced) (void)!rename(old, target);
        return kf_fail(error, KF_ERROR_IO, "%s: cannot make it: %s", target, strerror(reason));
    }
    if (replaced) kf_directory_remove(old, NULL);
    return true;
}

/* True if the folder has these further files. */
static bool has_files(const char *folder, const cJSON *task, const cJSON *files)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        kf_autofree char *text = kf_import_file_text(task, file);
        if (!text || !is_same(folder, file->string, text, strlen(text))) return false;
    }
    return true;
}

bool kf_import_look(const kf_import_problem *problem, const kf_import_options *options,
                    const cJSON *task, const cJSON *files, const char *text, size_t size,
                    bool *unchanged, kf_error *error)
{
    bool copied = text && (!options->link || problem->append || problem->text);
    kf_autofree char *json = cJSON_Print(task),
                     *target = kf_path_join(options->output, problem->task);
    struct stat status;
    *unchanged = false;
    if (!json || !target) return kf_fail_memory(error, "an imported task");
    if (lstat(target, &status) != 0) return true;
    *unchanged = is_same(target, "task.json", json, strlen(json)) &&
                 (!copied || is_same(target, KF_IMPORT_FILE, text, size)) &&
                 has_files(target, task, files);
    return *unchanged || options->force ||
           kf_fail(error, KF_ERROR_INPUT,
                   "%s exists and differs; --force replaces it, --output names another folder",
                   target);
}

bool kf_import_write(const kf_import_problem *problem, const kf_import_options *options,
                     const cJSON *task, const cJSON *files, const char *text, size_t size,
                     bool *unchanged, kf_error *error)
{
    bool copied = text && (!options->link || problem->append || problem->text);
    kf_autofree char *json = cJSON_Print(task),
                     *target = kf_path_join(options->output, problem->task), *temporary = NULL;
    if (asprintf(&temporary, "%s/.%.60s.XXXXXX", options->output, problem->task) < 0)
        temporary = NULL;
    if (!json || !target || !temporary) return kf_fail_memory(error, "an imported task");
    if (!kf_import_look(problem, options, task, files, text, size, unchanged, error)) return false;
    if (*unchanged) return true;
    if (!kf_directory_make(options->output, error)) return false;
    if (!mkdtemp(temporary))
        return kf_fail(error, KF_ERROR_IO, "%s: cannot make a folder there: %s", options->output,
                       strerror(errno));
    bool written = write_files(temporary, copied, json, text, size, error) &&
                   write_others(temporary, task, files, error) && loads(temporary, error) &&
                   put_in_place(temporary, target, error);
    if (!written) kf_directory_remove(temporary, NULL);
    return written;
}
