/* Turns task.json into a kf_task: every key of docs/reference/task-format.md, with the field path
 * in every message.
 *
 * Params come first, because all other formulas may use their names. Strings stay in the JSON tree,
 * which the task owns. task_sources.c lists the files, and task_load.c reads them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task_internal.h"

/* ---- params -------------------------------------------------------------------------------- */

/* Reads a number in a place where true and false are wrong. */
static bool read_number(const kf_task *task, kf_json_reader *reader, const char *key,
                        const cJSON *value, kf_formula *formula)
{
    if (cJSON_IsBool(value))
        return kf_json_complain(
            reader, key, "expected a number or an expression in a string, found true or false");
    return kf_formula_read(task, reader, key, value, formula);
}

static bool read_param(const kf_task *task, kf_json_reader *reader, const cJSON *value,
                       kf_formula *formula)
{
    const char *key = value->string;
    if (cJSON_IsNumber(value) && !(value->valuedouble == floor(value->valuedouble) &&
                                   fabs(value->valuedouble) <= (double)KF_EXACT_INTEGER))
        return kf_json_complain(reader, key, "%.17g; expected an integer within 2^53",
                                value->valuedouble);
    if (!cJSON_IsNumber(value) && !cJSON_IsString(value))
        return kf_json_complain(reader, key, "expected an integer or an expression in a string");
    return kf_formula_read(task, reader, key, value, formula);
}

static bool read_params(kf_task *task, kf_json_reader *top)
{
    const cJSON *object = kf_json_object_or_null(top, "params");
    if (!object) return !top->failed;
    kf_json_reader reader = kf_task_child(top, object, "params", -1);
    for (const cJSON *child = object->child; child; child = child->next) {
        const char *fault = kf_param_fault(child->string);
        if (fault) return kf_json_complain(&reader, NULL, "\"%s\" %s", child->string, fault);
        if (task->params.count == KF_MAX_PARAMS)
            return kf_json_complain(&reader, NULL, "more than %d params", KF_MAX_PARAMS);
        task->params.names[task->params.count++] = child->string;
    }
    int index = 0;
    for (const cJSON *child = object->child; child; child = child->next)
        if (!read_param(task, &reader, child, &task->params.formulas[index++])) return false;
    return true;
}

/* Reads {"rows": 64, …}: overrides of the task's params. */
static bool read_overrides(const kf_task *task, const kf_json_reader *parent, const cJSON *object,
                           const char *key, kf_formula **overrides)
{
    kf_json_reader reader = kf_task_child(parent, object, key, -1);
    if (reader.failed) return false;
    *overrides = calloc((size_t)task->params.count + 1, sizeof **overrides);
    if (!*overrides) return kf_fail_memory(reader.error, "the overrides of a workload");
    for (int i = 0; i < task->params.count; i++) {
        const cJSON *value = kf_json_any(&reader, task->params.names[i]);
        if (value && !read_param(task, &reader, value, &(*overrides)[i])) return false;
    }
    return kf_json_finish(&reader);
}

static bool read_device_params(const kf_task *task, kf_json_reader *parent,
                               kf_formula *overrides[KF_TASK_DEVICES])
{
    const cJSON *object = kf_json_object_or_null(parent, "device_params");
    if (!object) return !parent->failed;
    kf_json_reader reader = kf_task_child(parent, object, "device_params", -1);
    for (int i = 0; i < KF_TASK_DEVICES; i++) {
        const cJSON *layer = kf_json_any(&reader, kf_task_devices[i]);
        if (layer && !read_overrides(task, &reader, layer, kf_task_devices[i], &overrides[i]))
            return false;
    }
    return kf_json_finish(&reader);
}

/* ---- tolerance ------------------------------------------------------------------------------- */

static bool read_allclose(const kf_json_reader *parent, const cJSON *object,
                          kf_tolerance *tolerance)
{
    kf_json_reader reader = kf_task_child(parent, object, "allclose", -1);
    if (reader.failed) return false;
    if (!kf_json_any(&reader, "rtol"))
        return kf_json_complain(&reader, "rtol", "missing; expected a number");
    if (!kf_json_any(&reader, "atol"))
        return kf_json_complain(&reader, "atol", "missing; expected a number");
    tolerance->kind = KF_ALLCLOSE;
    tolerance->rtol = kf_json_number_or(&reader, "rtol", 0, 1e30, 0);
    tolerance->atol = kf_json_number_or(&reader, "atol", 0, 1e30, 0);
    return kf_json_finish(&reader);
}

static bool read_tolerance(kf_json_reader *parent, bool *has, kf_tolerance *tolerance)
{
    static const char *const forms[] = {"error_ratio", "allclose", "exact", "any_order"};
    const cJSON *object = kf_json_object_or_null(parent, "tolerance");
    if (!object) return !parent->failed;
    kf_json_reader reader = kf_task_child(parent, object, "tolerance", -1);
    *has = true;
    *tolerance = (kf_tolerance){.ratio = KF_ERROR_RATIO_DEFAULT};
    int given = 0;
    const cJSON *values[4];
    for (int i = 0; i < 4; i++) given += (values[i] = kf_json_any(&reader, forms[i])) != NULL;
    if (!kf_json_finish(&reader)) return false;
    if (given != 1)
        return kf_json_complain(
            &reader, NULL,
            "%d forms; expected exactly one of error_ratio, allclose, exact, any_order", given);
    if (values[0]) {
        tolerance->kind = KF_ERROR_RATIO;
        tolerance->ratio =
            kf_json_number_or(&reader, "error_ratio", 0, 1e6, KF_ERROR_RATIO_DEFAULT);
        if (!reader.failed && !(tolerance->ratio > 0))
            return kf_json_complain(&reader, "error_ratio", "0; expected more than 0");
        return !reader.failed;
    }
    if (values[1]) return read_allclose(&reader, values[1], tolerance);
    const char *form = values[2] ? "exact" : "any_order";
    tolerance->kind = values[2] ? KF_EXACT : KF_ANY_ORDER;
    if (!kf_json_boolean_or(&reader, form, false) && !reader.failed)
        return kf_json_complain(&reader, form, "expected true, found false");
    return !reader.failed;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool read_shape(const kf_task *task, kf_json_reader *reader, kf_task_argument *argument)
{
    int count;
    const cJSON *shape = kf_task_array(reader, "shape", KF_MAX_DIMS, &count);
    if (reader->failed) return false;
    if (!shape)
        return kf_json_complain(reader, "shape",
                                "missing; expected an array of integers or expressions");
    if (!count)
        return kf_json_complain(reader, "shape", "expected 1 to %d extents, found none",
                                KF_MAX_DIMS);
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "shape[%d]", i);
        if (!read_number(task, reader, key, cJSON_GetArrayItem(shape, i), &argument->shape[i]))
            return false;
        argument->dims = i + 1;
    }
    return true;
}

static bool read_buffer(const kf_task *task, kf_json_reader *reader, kf_task_argument *argument)
{
    const cJSON *bytes = argument->kind == KF_WORKSPACE ? kf_json_any(reader, "bytes") : NULL;
    if (!bytes)
        return kf_task_dtype(reader, "dtype", kf_json_string(reader, "dtype"), &argument->dtype) &&
               read_shape(task, reader, argument);
    if (kf_json_any(reader, "dtype") || kf_json_any(reader, "shape"))
        return kf_json_complain(reader, "bytes",
                                "a workspace has either bytes, or dtype and shape; found both");
    argument->untyped = true;
    argument->dtype = KF_U8;
    argument->dims = 1;
    return read_number(task, reader, "bytes", bytes, &argument->shape[0]);
}

static bool read_argument_distribution(const kf_task *task, kf_json_reader *reader,
                                       kf_task_argument *argument)
{
    const cJSON *object = kf_json_any(reader, "distribution");
    if (object)
        return kf_distribution_read(task, reader, object, "distribution", argument->dtype,
                                    &argument->distribution);
    if (kf_distribution_default(argument->dtype, &argument->distribution)) return true;
    return kf_json_complain(reader, "distribution",
                            "missing; an input of dtype %s needs one, e.g. {\"kind\": "
                            "\"integers\", \"low\": 0, \"high\": 100}",
                            kf_dtype_name(argument->dtype));
}

static bool read_scalar(const kf_task *task, kf_json_reader *reader, kf_task_argument *argument)
{
    if (!kf_task_dtype(reader, "dtype", kf_json_string(reader, "dtype"), &argument->dtype))
        return false;
    const cJSON *value = kf_json_any(reader, "value");
    if (!value)
        return kf_json_complain(reader, "value", "missing; expected a number or an expression");
    if (cJSON_IsBool(value) && argument->dtype != KF_BOOL)
        return kf_json_complain(
            reader, "value", "expected a number or an expression for dtype %s, found true or false",
            kf_dtype_name(argument->dtype));
    return kf_formula_read(task, reader, "value", value, &argument->value);
}

static bool read_argument_tolerance(kf_json_reader *reader, kf_task_argument *argument)
{
    if (!read_tolerance(reader, &argument->has_tolerance, &argument->tolerance)) return false;
    bool floats_only =
        argument->tolerance.kind == KF_ERROR_RATIO || argument->tolerance.kind == KF_ALLCLOSE;
    if (!argument->has_tolerance || !floats_only || kf_dtype_is_float(argument->dtype)) return true;
    return kf_json_complain(reader, "tolerance",
                            "error_ratio and allclose are for floating outputs; expected exact or "
                            "any_order for dtype %s",
                            kf_dtype_name(argument->dtype));
}

static bool read_argument(kf_task *task, kf_json_reader *reader, kf_task_argument *argument)
{
    static const char *const kinds[] = {"input", "output", "inout", "scalar", "workspace"};
    argument->name = kf_task_name_field(reader, "name", NULL, kf_argument_fault);
    if (!argument->name) return false;
    for (int i = 0; i < task->argument_count; i++)
        if (strcmp(task->arguments[i].name, argument->name) == 0)
            return kf_json_complain(reader, "name", "\"%s\" is the name of arguments[%d] already",
                                    argument->name, i);
    if (strcmp(argument->name, task->entry) == 0)
        return kf_json_complain(reader, "name", "\"%s\" is the name of the entry", argument->name);
    int kind = kf_task_choose(reader, "kind", kf_json_string(reader, "kind"), kinds, 5,
                              "kind of argument");
    if (kind < 0) return false;
    argument->kind = (kf_argument_kind)kind;
    if (argument->kind == KF_SCALAR) {
        if (!read_scalar(task, reader, argument)) return false;
    } else if (!read_buffer(task, reader, argument)) {
        return false;
    }
    bool filled = argument->kind == KF_INPUT || argument->kind == KF_INOUT,
         compared = argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
    if (filled && !read_argument_distribution(task, reader, argument)) return false;
    if (compared && !read_argument_tolerance(reader, argument)) return false;
    return kf_json_finish(reader);
}

static bool read_arguments(kf_task *task, kf_json_reader *top)
{
    int count, outputs = 0;
    const cJSON *array = kf_task_array(top, "arguments", KF_MAX_ARGUMENTS, &count), *element;
    if (top->failed) return false;
    if (!count)
        return kf_json_complain(top, "arguments", "%s; expected 1 to %d arguments",
                                array ? "empty" : "missing", KF_MAX_ARGUMENTS);
    cJSON_ArrayForEach(element, array)
    {
        kf_json_reader reader = kf_task_child(top, element, "arguments", task->argument_count);
        kf_task_argument *argument = &task->arguments[task->argument_count];
        bool read = !reader.failed && read_argument(task, &reader, argument);
        /* counts after a failure, too, so that kf_task_free frees its formulas */
        task->argument_count++;
        if (!read) return false;
        outputs += argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
    }
    return outputs > 0 ||
           kf_json_complain(top, "arguments",
                            "no argument is an output; expected at least one output or inout");
}

static bool read_precision(kf_task *task, kf_json_reader *top)
{
    const kf_task_argument *first = NULL;
    for (int i = 0; i < task->argument_count; i++) {
        const kf_task_argument *argument = &task->arguments[i];
        if (argument->kind != KF_OUTPUT && argument->kind != KF_INOUT) continue;
        if (!first || (kf_dtype_is_float(argument->dtype) && !kf_dtype_is_float(first->dtype)))
            first = argument;
    }
    task->precision = kf_json_string_or(top, "precision", kf_dtype_name(first->dtype));
    kf_dtype dtype;
    return !top->failed && kf_task_dtype(top, "precision", task->precision, &dtype);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static bool read_devices(kf_json_reader *reader, kf_task_workload *workload)
{
    int count;
    const cJSON *array = kf_task_array(reader, "devices", KF_TASK_DEVICES, &count), *element;
    for (int i = 0; i < KF_TASK_DEVICES; i++) workload->devices[i] = array == NULL;
    if (!array) return !reader->failed;
    if (!count) return kf_json_complain(reader, "devices", "empty; expected \"cpu\" or \"cuda\"");
    cJSON_ArrayForEach(element, array)
    {
        if (!cJSON_IsString(element))
            return kf_json_complain(reader, "devices", "expected strings");
        int which = kf_task_choose(reader, "devices", element->valuestring, kf_task_devices,
                                   KF_TASK_DEVICES, "device");
        if (which < 0) return false;
        workload->devices[which] = true;
    }
    return true;
}

static bool read_distributions(const kf_task *task, kf_json_reader *parent,
                               kf_task_workload *workload)
{
    const cJSON *object = kf_json_object_or_null(parent, "distributions");
    if (!object) return !parent->failed;
    kf_json_reader reader = kf_task_child(parent, object, "distributions", -1);
    workload->distributions = calloc((size_t)task->argument_count, sizeof *workload->distributions);
    if (!workload->distributions)
        return kf_fail_memory(reader.error, "the distributions of a workload");
    for (int i = 0; i < task->argument_count; i++) {
        const kf_task_argument *argument = &task->arguments[i];
        if (argument->kind != KF_INPUT && argument->kind != KF_INOUT) continue;
        const cJSON *child = kf_json_any(&reader, argument->name);
        if (child && !kf_distribution_read(task, &reader, child, argument->name, argument->dtype,
                                           &workload->distributions[i]))
            return false;
    }
    return kf_json_finish(&reader);
}

/* Reads "shapes": the extents of some arguments of a PyTorch problem, in place of their own. */
static bool read_shapes(const kf_task *task, kf_json_reader *parent, kf_task_workload *workload)
{
    const cJSON *object = kf_json_object_or_null(parent, "shapes");
    if (!object) return !parent->failed;
    if (workload->unseen != KF_UNSEEN_SIZES)
        return kf_json_complain(parent, "shapes",
                                "needs \"unseen\": \"sizes\"; other workloads "
                                "have params");
    kf_json_reader reader = kf_task_child(parent, object, "shapes", -1);
    workload->shapes = calloc((size_t)task->argument_count, sizeof *workload->shapes);
    if (!workload->shapes) return kf_fail_memory(reader.error, "the shapes of a workload");
    for (int i = 0; i < task->argument_count && !reader.failed; i++) {
        const kf_task_argument *argument = &task->arguments[i];
        const cJSON *row = kf_json_any(&reader, argument->name), *extent;
        if (!row) continue;
        if (argument->kind == KF_SCALAR || cJSON_GetArraySize(row) != argument->dims)
            return kf_json_complain(&reader, argument->name, "expected %d extents", argument->dims);
        int d = 0;
        cJSON_ArrayForEach(extent, row)
        {
            double value = cJSON_IsNumber(extent) ? extent->valuedouble : 0;
            if (!(value >= 1 && value <= (double)KF_MAX_ELEMENTS) ||
                value != (double)(int64_t)value)
                return kf_json_complain(&reader, argument->name,
                                        "expected integers from 1 to 2^40");
            workload->shapes[i][d++] = (int64_t)value;
        }
    }
    return kf_json_finish(&reader);
}

/* Reads "unseen". A workload that has it is neither timed nor shown. */
static bool read_unseen(kf_json_reader *reader, kf_task_workload *workload)
{
    const char *unseen = kf_json_string_or(reader, "unseen", NULL);
    if (!unseen) return !reader->failed;
    if (!kf_unseen_parse(unseen, &workload->unseen))
        return kf_json_complain(reader, "unseen", "\"%s\"; expected \"sizes\" or \"data\"", unseen);
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(reader->object, "timed")))
        return kf_json_complain(reader, "timed", "a workload with \"unseen\" is not timed");
    workload->timed = false;
    workload->hidden = true;
    return true;
}

static bool read_workload(kf_task *task, kf_json_reader *reader, kf_task_workload *workload)
{
    workload->name = kf_task_name_field(reader, "name", NULL, kf_name_fault);
    if (!workload->name) return false;
    for (int i = 0; i < task->workload_count; i++)
        if (strcmp(task->workloads[i].name, workload->name) == 0)
            return kf_json_complain(reader, "name", "\"%s\" is the name of workloads[%d] already",
                                    workload->name, i);
    workload->timed = kf_json_boolean_or(reader, "timed", true);
    workload->hidden = kf_json_boolean_or(reader, "hidden", false);
    if (!read_unseen(reader, workload)) return false;
    const cJSON *params = kf_json_object_or_null(reader, "params");
    if (params && !read_overrides(task, reader, params, "params", &workload->params)) return false;
    return read_shapes(task, reader, workload) &&
           read_device_params(task, reader, workload->device_params) &&
           read_devices(reader, workload) && read_distributions(task, reader, workload) &&
           read_tolerance(reader, &workload->has_tolerance, &workload->tolerance) &&
           kf_json_finish(reader);
}

static bool read_workloads(kf_task *task, kf_json_reader *top)
{
    int count;
    const cJSON *array = kf_task_array(top, "workloads", KF_MAX_WORKLOADS, &count), *element;
    if (top->failed) return false;
    if (!array) {
        task->workloads[0] =
            (kf_task_workload){.name = "main", .timed = true, .devices = {true, true}};
        task->workload_count = 1;
        return true;
    }
    if (!count)
        return kf_json_complain(top, "workloads", "empty; expected 1 to %d workloads",
                                KF_MAX_WORKLOADS);
    cJSON_ArrayForEach(element, array)
    {
        kf_json_reader reader = kf_task_child(top, element, "workloads", task->workload_count);
        bool read =
            !reader.failed && read_workload(task, &reader, &task->workloads[task->workload_count]);
        /* counts after a failure, too, so that kf_task_free frees its formulas */
        task->workload_count++;
        if (!read) return false;
    }
    return true;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool read_work(kf_task *task, kf_json_reader *top)
{
    const cJSON *object = kf_json_object_or_null(top, "work");
    if (!object) return !top->failed;
    kf_json_reader reader = kf_task_child(top, object, "work", -1);
    const cJSON *bytes = kf_json_any(&reader, "bytes"), *flops = kf_json_any(&reader, "flops");
    return (!bytes || read_number(task, &reader, "bytes", bytes, &task->work_bytes)) &&
           (!flops || read_number(task, &reader, "flops", flops, &task->work_flops)) &&
           kf_json_finish(&reader);
}

static bool read_metadata(kf_task *task, kf_json_reader *top)
{
    static const char *const policies[] = {"forbid", "allow"};
    task->held_out = kf_json_boolean_or(top, "held_out", false);
    int policy = kf_task_choose(top, "aliasing", kf_json_string_or(top, "aliasing", "forbid"),
                                policies, 2, "policy");
    if (policy < 0) return false;
    task->aliasing = policy == 1;
    int forbidden_count;
    task->forbidden = kf_task_array(top, "forbidden", 64, &forbidden_count);
    const cJSON *text;
    cJSON_ArrayForEach(text, task->forbidden) if (
        !cJSON_IsString(text) ||
        !text->valuestring[0]) return kf_json_complain(top, "forbidden",
                                                       "expected strings that are not empty");
    kf_json_string_or(top, "family", NULL);
    kf_json_string_or(top, "license", NULL);
    kf_json_object_or_null(top, "origin");
    int count;
    const cJSON *tags = kf_task_array(top, "tags", 64, &count), *element;
    cJSON_ArrayForEach(element, tags) if (!cJSON_IsString(element)) return kf_json_complain(
        top, "tags", "expected strings");
    return !top->failed;
}

static bool read_head(kf_task *task, kf_json_reader *top)
{
    const char *schema = kf_json_string(top, "schema");
    if (!top->failed && strcmp(schema, KF_TASK_SCHEMA) != 0)
        return kf_json_complain(top, "schema", "\"%s\"; expected \"%s\"", schema, KF_TASK_SCHEMA);
    task->name = kf_task_name_field(top, "name", NULL, kf_name_fault);
    if (!task->name) return false;
    task->description = kf_json_string_or(top, "description", "");
    task->entry = kf_task_name_field(top, "entry", task->name, kf_entry_fault);
    return task->entry != NULL;
}

/* Resolves every workload on every device, so that later calls cannot fail. */
static bool resolve_everything(const kf_task *task, kf_error *error)
{
    kf_problem *problem = malloc(sizeof *problem);
    if (!problem) return kf_fail_memory(error, "a workload of a task");
    bool resolved = true, applies;
    for (int workload = 0; resolved && workload < task->workload_count; workload++)
        for (int device = 0; resolved && device < KF_TASK_DEVICES; device++)
            resolved =
                kf_task_resolve(task, workload, kf_task_devices[device], problem, &applies, error);
    free(problem);
    return resolved;
}

bool kf_task_parse(kf_task *task, kf_error *error)
{
    kf_json_reader top = kf_json_object(task->json, task->where, "", error);
    return !top.failed && read_head(task, &top) && read_params(task, &top) &&
           read_device_params(task, &top, task->params.device) && read_arguments(task, &top) &&
           read_precision(task, &top) &&
           read_tolerance(&top, &task->has_tolerance, &task->tolerance) && read_work(task, &top) &&
           read_workloads(task, &top) && kf_task_read_files(task, &top) &&
           kf_task_read_torch(task, &top) && read_metadata(task, &top) && kf_json_finish(&top) &&
           resolve_everything(task, error);
}
