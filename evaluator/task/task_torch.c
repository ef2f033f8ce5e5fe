/* Reads the "torch" object: the role of each argument in a problem file with KernelBench's layout
 * (docs/internals/pytorch.md).
 *
 * Its four lists name every argument once, in the order of "arguments": inputs of forward, state
 * (parameters and buffers with their names in state_dict), outputs, scalars of forward, sizes
 * (scalars that forward does not take). Patches override constants of the file, so that its shapes
 * match those of a workload. */
#include <string.h>

#include "task_internal.h"
#include "kforge/json.h"

bool kf_task_is_torch(const kf_task *task)
{
    return task->torch.object != NULL;
}

const char *kf_task_solution_name(const kf_task *task)
{
    return task ? kf_json_get_text(task->torch.object, "solution", NULL) : NULL;
}

bool kf_task_is_solution(const kf_task *task, const char *source)
{
    const char *name = kf_task_solution_name(task);
    char function[KF_NAME_BYTES + 8], class[KF_NAME_BYTES + 8];
    if (!kf_task_is_torch(task)) return false;
    if (strstr(source, "class ModelNew")) return true;
    if (!name) return false;
    snprintf(function, sizeof function, "def %s(", name);
    snprintf(class, sizeof class, "class %s(", name);
    return strstr(source, function) || strstr(source, class);
}

bool kf_task_baseline_compiled(const kf_task *task, const char *name)
{
    if (!name) return task->sources.compiled;
    for (int i = 0; i < task->sources.baseline_count; i++)
        if (strcmp(task->sources.baselines[i].name, name) == 0)
            return task->sources.baselines[i].compiled;
    return false;
}

static const char *const kind_words[] = {"an input", "an output", "an inout", "a scalar",
                                         "workspace"};

/* Checks that the next argument of the task has this name and kind. */
static bool expect_argument(const kf_task *task, kf_json_reader *reader, const char *key,
                            const char *name, kf_argument_kind kind, int *next)
{
    if (*next == task->argument_count)
        return kf_json_complain(reader, key, "\"%s\": the task has only %d arguments", name,
                                task->argument_count);
    const kf_task_argument *argument = &task->arguments[*next];
    if (strcmp(argument->name, name) != 0)
        return kf_json_complain(reader, key,
                                "\"%s\", but arguments[%d] is \"%s\"; expected inputs, state, "
                                "outputs and scalars in the order of \"arguments\"",
                                name, *next, argument->name);
    if (argument->kind != kind)
        return kf_json_complain(reader, key, "arguments[%d], \"%s\", is %s; expected %s", *next,
                                name, kind_words[argument->kind], kind_words[kind]);
    ++*next;
    return true;
}

static bool read_names(const kf_task *task, kf_json_reader *reader, const char *key,
                       kf_argument_kind kind, int *next)
{
    const cJSON *array = kf_json_array_or_null(reader, key), *element;
    int index = 0;
    cJSON_ArrayForEach(element, array)
    {
        char place[KF_NAME_BYTES];
        snprintf(place, sizeof place, "%s[%d]", key, index++);
        if (!cJSON_IsString(element))
            return kf_json_complain(reader, place, "expected the name of an argument");
        if (!expect_argument(task, reader, place, element->valuestring, kind, next)) return false;
    }
    return !reader->failed;
}

static bool read_state(const kf_task *task, kf_json_reader *parent, int *next)
{
    const cJSON *array = kf_json_array_or_null(parent, "state"), *element;
    int index = 0;
    cJSON_ArrayForEach(element, array)
    {
        kf_json_reader reader = kf_task_child(parent, element, "state", index++);
        const char *argument = kf_json_string(&reader, "argument"),
                   *name = kf_json_string(&reader, "name");
        if (reader.failed) return false;
        if (!name[0])
            return kf_json_complain(&reader, "name", "is empty; expected a name in state_dict");
        if (!expect_argument(task, &reader, "argument", argument, KF_INPUT, next) ||
            !kf_json_finish(&reader))
            return false;
    }
    return !parent->failed;
}

/* Reads "forward": inputs and scalars in the order of forward. Without it inputs come first. */
static bool read_forward(const kf_task *task, kf_json_reader *reader, int inputs, int first_scalar,
                         int first_size)
{
    const cJSON *array = kf_json_array_or_null(reader, "forward"), *element;
    int index = 0;
    if (!array) return !reader->failed;
    if (cJSON_GetArraySize(array) != inputs + first_size - first_scalar)
        return kf_json_complain(reader, "forward",
                                "%d names; expected each of \"inputs\" and \"scalars\" once",
                                cJSON_GetArraySize(array));
    cJSON_ArrayForEach(element, array)
    {
        char place[KF_NAME_BYTES];
        bool known = false;
        snprintf(place, sizeof place, "forward[%d]", index++);
        if (!cJSON_IsString(element))
            return kf_json_complain(reader, place, "expected the name of an argument");
        for (int i = 0; i < first_size; i++)
            known = known || ((i < inputs || i >= first_scalar) &&
                              strcmp(task->arguments[i].name, element->valuestring) == 0);
        for (const cJSON *before = array->child; before != element; before = before->next)
            if (strcmp(before->valuestring, element->valuestring) == 0)
                return kf_json_complain(reader, place, "\"%s\" comes twice", element->valuestring);
        if (!known)
            return kf_json_complain(reader, place,
                                    "\"%s\" is neither in \"inputs\" nor in \"scalars\"",
                                    element->valuestring);
    }
    return true;
}

static bool read_patches(kf_task *task, kf_json_reader *parent)
{
    const cJSON *object = kf_json_object_or_null(parent, "patches"), *child;
    if (!object) return !parent->failed;
    kf_json_reader reader = kf_task_child(parent, object, "patches", -1);
    cJSON_ArrayForEach(child, object)
    {
        if (task->torch.patch_count == KF_MAX_PARAMS)
            return kf_json_complain(&reader, NULL, "more than %d patches", KF_MAX_PARAMS);
        kf_formula *patch = &task->torch.patches[task->torch.patch_count];
        if (!kf_formula_read(task, &reader, child->string, child, patch)) return false;
        task->torch.patch_names[task->torch.patch_count++] = child->string;
    }
    return true;
}

static bool has_torch_file(const kf_task *task)
{
    for (int i = 0; i < task->sources.file_count; i++)
        if (task->sources.files[i].kind == KF_SOURCE_TORCH) return true;
    return false;
}

bool kf_task_read_torch(kf_task *task, kf_json_reader *top)
{
    const cJSON *object = kf_json_object_or_null(top, "torch");
    bool wanted = has_torch_file(task);
    if (top->failed) return false;
    if (!object && !wanted) return true;
    if (!object)
        return kf_json_complain(
            top, "torch",
            "missing; a task with a source of kind torch needs it for the roles of its arguments");
    if (!wanted)
        return kf_json_complain(top, "torch",
                                "only a task with a source of kind torch may have it; remove it");
    kf_json_reader reader = kf_task_child(top, object, "torch", -1);
    const char *class = kf_json_string_or(&reader, "class", "Model"),
               *mode = kf_json_string_or(&reader, "mode", "train"),
               *solution = kf_json_string_or(&reader, "solution", "ModelNew");
    kf_json_integer_or(&reader, "seed", 0, KF_EXACT_INTEGER, 42);
    kf_json_any(&reader, "init");
    kf_json_any(&reader, "structure");
    kf_json_boolean_or(&reader, "mode_matters", false);
    kf_json_boolean_or(&reader, "frozen", false);
    kf_json_boolean_or(&reader, "own_precision", false);
    kf_json_boolean_or(&reader, "check", false);
    task->torch.tf32 = kf_json_boolean_or(&reader, "tf32", false);
    if (reader.failed) return false;
    const char *fault = kf_param_fault(class);
    if (fault) return kf_json_complain(&reader, "class", "\"%s\" %s", class, fault);
    fault = kf_param_fault(solution);
    if (fault) return kf_json_complain(&reader, "solution", "\"%s\" %s", solution, fault);
    if (strcmp(mode, "train") != 0 && strcmp(mode, "eval") != 0)
        return kf_json_complain(&reader, "mode",
                                "there is no mode \"%s\"; expected \"train\" or \"eval\"", mode);
    int next = 0, inputs, first_scalar;
    if (!read_names(task, &reader, "inputs", KF_INPUT, &next)) return false;
    inputs = next;
    if (!read_state(task, &reader, &next)) return false;
    int first_output = next;
    if (!read_names(task, &reader, "outputs", KF_OUTPUT, &next)) return false;
    if (next == first_output)
        return kf_json_complain(&reader, "outputs", "missing; expected the names of the outputs");
    first_scalar = next;
    if (!read_names(task, &reader, "scalars", KF_SCALAR, &next)) return false;
    int first_size = next;
    if (!read_names(task, &reader, "sizes", KF_SCALAR, &next)) return false;
    if (next != task->argument_count)
        return kf_json_complain(
            &reader, NULL,
            "arguments[%d], \"%s\", is missing; add it to inputs, state, outputs, scalars or sizes",
            next, task->arguments[next].name);
    if (!read_forward(task, &reader, inputs, first_scalar, first_size) ||
        !read_patches(task, &reader) || !kf_json_finish(&reader))
        return false;
    task->torch.object = object;
    return true;
}

cJSON *kf_task_torch_patches(const kf_task *task, int workload, const char *device, kf_error *error)
{
    kf_binding bindings[KF_MAX_PARAMS];
    int count = kf_task_params(task, workload, device, bindings, error);
    if (count < 0) return NULL;
    kf_auto(cJSON) object = cJSON_CreateObject();
    for (int i = 0; object && i < task->torch.patch_count; i++) {
        kf_value value;
        if (!kf_formula_evaluate(&task->torch.patches[i], bindings, (size_t)count, &value, error)) {
            kf_fail_prefix(error, "%s: torch.patches.%s", task->where, task->torch.patch_names[i]);
            return NULL;
        }
        if (!cJSON_AddNumberToObject(object, task->torch.patch_names[i],
                                     value.is_integer ? (double)value.integer : value.number))
            cJSON_Delete(kf_steal(&object));
    }
    if (!object) kf_fail_memory(error, "the patches of a problem file");
    return kf_steal(&object);
}
