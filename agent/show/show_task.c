/* Shows one task: its arguments, and its workloads on each kind of device. */
#include <math.h>
#include <string.h>

#include "kforge/json.h"
#include "show.h"
#include "table.h"
#include "terminal.h"

static const char *const devices[] = {"cuda", "cpu"};
#define DEVICES (sizeof devices / sizeof *devices)

static const char *kind_name(kf_argument_kind kind)
{
    static const char *const names[] = {[KF_INPUT] = "input",
                                        [KF_OUTPUT] = "output",
                                        [KF_INOUT] = "inout",
                                        [KF_SCALAR] = "scalar",
                                        [KF_WORKSPACE] = "workspace"};
    return names[kind];
}

static void shape_text(const kf_problem_argument *argument, kf_buffer *text)
{
    for (int d = 0; d < argument->dims; d++)
        kf_buffer_format(text, "%s%lld", d ? "x" : "", (long long)argument->shape[d]);
}

/* Prints "x y 4096x4096, z 4096": arguments of one shape together. */
static void shapes_text(const kf_problem *problem, kf_buffer *text)
{
    bool done[KF_MAX_ARGUMENTS] = {0};
    for (int i = 0; i < problem->argument_count; i++) {
        if (done[i] || problem->arguments[i].kind == KF_SCALAR) continue;
        kf_autobuffer shape = {0};
        shape_text(&problem->arguments[i], &shape);
        if (text->size) kf_buffer_string(text, ", ");
        for (int j = i; j < problem->argument_count; j++) {
            if (problem->arguments[j].kind == KF_SCALAR) continue;
            kf_autobuffer other = {0};
            shape_text(&problem->arguments[j], &other);
            if (!shape.data || !other.data || strcmp(shape.data, other.data) != 0) continue;
            done[j] = true;
            kf_buffer_format(text, "%s ", problem->arguments[j].name);
        }
        kf_buffer_string(text, shape.data ? shape.data : "");
    }
}

/* Prints an object of task.json in a line: {"kind":"normal","std":3} as "normal std=3". */
static void object_text(const cJSON *object, kf_buffer *text)
{
    for (const cJSON *value = object ? object->child : NULL; value; value = value->next) {
        char *rest = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
        const char *words = rest ? rest : cJSON_IsString(value) ? value->valuestring : "";
        if (text->size) kf_buffer_string(text, " ");
        if (strcmp(value->string, "kind") == 0)
            kf_buffer_string(text, words);
        else
            kf_buffer_format(text, "%s=%s", value->string, words);
        cJSON_free(rest);
    }
}

static void list_arguments(const kf_view *view, const kf_task *task)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "ARGUMENT", "KIND", "DTYPE", "~SHAPE OR VALUE",
                         "~DATA OR TOLERANCE", NULL);
    const cJSON *argument;
    cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "arguments"))
    {
        static const char *const keys[] = {"name", "kind", "dtype"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(argument, keys[k]);
            kf_table_cell(&table, "%s", cJSON_IsString(value) ? value->valuestring : "");
        }
        kf_autobuffer shape = {0}, data = {0};
        const cJSON *extent, *value = cJSON_GetObjectItemCaseSensitive(argument, "value"),
                             *bytes = cJSON_GetObjectItemCaseSensitive(argument, "bytes");
        cJSON_ArrayForEach(extent, cJSON_GetObjectItemCaseSensitive(argument, "shape"))
        {
            kf_buffer_string(&shape, shape.size ? " x " : "");
            if (cJSON_IsString(extent))
                kf_buffer_string(&shape, extent->valuestring);
            else
                kf_buffer_format(&shape, "%.0f", extent->valuedouble);
        }
        if (!value) value = bytes;
        if (cJSON_IsString(value))
            kf_buffer_string(&shape, value->valuestring);
        else if (cJSON_IsNumber(value))
            kf_buffer_format(&shape, "%g", value->valuedouble);
        else if (cJSON_IsBool(value))
            kf_buffer_string(&shape, cJSON_IsTrue(value) ? "true" : "false");
        object_text(cJSON_GetObjectItemCaseSensitive(argument, "distribution"), &data);
        object_text(cJSON_GetObjectItemCaseSensitive(argument, "tolerance"), &data);
        kf_table_cell(&table, "%s", shape.data ? shape.data : "");
        kf_table_cell(&table, "%s", data.data ? data.data : "");
    }
    fputc('\n', view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
}

static bool list_workloads(const kf_view *view, const kf_task *task, kf_error *error)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "WORKLOAD", "DEVICE", "~SHAPES", ">BUFFERS", ">WORK", ">FLOP", "",
                         NULL);
    for (int w = 0; w < kf_task_workload_count(task); w++)
        for (size_t d = 0; d < DEVICES; d++) {
            kf_problem problem;
            bool applies;
            if (!kf_task_resolve(task, w, devices[d], &problem, &applies, error)) return false;
            if (!applies) continue;
            kf_autobuffer shapes = {0};
            shapes_text(&problem, &shapes);
            char figure[KF_FIGURE];
            kf_table_cell(&table, "%s", problem.workload);
            kf_table_cell(&table, "%s", devices[d]);
            kf_table_cell(&table, "%s", shapes.data ? shapes.data : "");
            kf_table_cell(&table, "%s", kf_figure_bytes((double)problem.total_bytes, figure));
            kf_table_cell(&table, "%s", kf_figure_bytes(problem.work_bytes, figure));
            if (problem.work_flops > 0)
                kf_table_cell(&table, "%.3g", problem.work_flops);
            else
                kf_table_cell(&table, "%s", "");
            if (problem.unseen)
                kf_table_cell(&table, "unseen %s%s", kf_unseen_name(problem.unseen),
                              problem.own_shapes ? ", Python only" : "");
            else
                kf_table_cell(&table, "%s%s%s", problem.timed ? "" : "untimed",
                              !problem.timed && problem.hidden ? ", " : "",
                              problem.hidden ? "hidden" : "");
        }
    fputc('\n', view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
    return true;
}

static void list_files(const kf_view *view, const kf_task *task)
{
    fprintf(view->out, "\noracle    %s\nbaseline  %s\n", kf_task_oracle(task)->name,
            kf_task_baseline(task)->name);
    const cJSON *named;
    cJSON_ArrayForEach(named, cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "baselines"))
    {
        const kf_task_file *file = kf_task_baseline_named(task, named->string);
        if (file) fprintf(view->out, "          %s (--baseline %s)\n", file->name, named->string);
    }
    for (int i = 0; i < kf_task_seed_count(task); i++)
        fprintf(view->out, "%s%s\n", i ? "          " : "seeds     ", kf_task_seed(task, i)->name);
    kf_autobuffer tolerance = {0};
    object_text(cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "tolerance"), &tolerance);
    if (tolerance.size) fprintf(view->out, "tolerance %s\n", tolerance.data);
    fprintf(view->out, "precision %s\n", kf_task_precision(task));
    const char *const *libraries = kf_task_libraries(task);
    for (int i = 0; libraries && libraries[i]; i++)
        fprintf(view->out, "%s%s", i ? ", " : "libraries ", libraries[i]);
    if (libraries && libraries[0]) fputc('\n', view->out);
    int count = 0;
    const cJSON *text;
    cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "forbidden"))
        fprintf(view->out, "%s%s", count++ ? ", " : "forbidden ", text->valuestring);
    if (count) fputc('\n', view->out);
}

static cJSON *workload_json(const kf_problem *problem, const char *device)
{
    cJSON *json = cJSON_CreateObject(), *arguments;
    cJSON_AddStringToObject(json, "name", problem->workload);
    cJSON_AddStringToObject(json, "device", device);
    cJSON_AddBoolToObject(json, "timed", problem->timed);
    cJSON_AddBoolToObject(json, "hidden", problem->hidden);
    if (problem->unseen) cJSON_AddStringToObject(json, "unseen", kf_unseen_name(problem->unseen));
    kf_add_figure(json, "buffer_bytes", (double)problem->total_bytes);
    kf_add_figure(json, "work_bytes", problem->work_bytes);
    kf_add_figure(json, "work_flops", problem->work_flops > 0 ? problem->work_flops : NAN);
    arguments = cJSON_AddArrayToObject(json, "arguments");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(arguments, row);
        cJSON_AddStringToObject(row, "name", argument->name);
        cJSON_AddStringToObject(row, "kind", kind_name(argument->kind));
        cJSON_AddStringToObject(row, "dtype", kf_dtype_name(argument->dtype));
        if (argument->kind == KF_SCALAR) continue;
        cJSON *shape = cJSON_AddArrayToObject(row, "shape");
        for (int d = 0; d < argument->dims; d++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)argument->shape[d]));
        kf_add_figure(row, "bytes", (double)argument->bytes);
    }
    return json;
}

static bool print_json(const kf_view *view, const kf_task *task, const char *prototype,
                       kf_error *error)
{
    kf_auto(cJSON) json = kf_json_document("kforge-task-shapes/1");
    kf_autofree char *canonical = kf_task_canonical(task);
    cJSON_AddStringToObject(json, "hash", kf_task_hash(task));
    if (kf_task_folder(task))
        cJSON_AddStringToObject(json, "folder", kf_task_folder(task));
    else
        cJSON_AddNullToObject(json, "folder");
    cJSON_AddStringToObject(json, "prototype", prototype);
    kf_add_embedded(json, "task", canonical);
    cJSON *workloads = cJSON_AddArrayToObject(json, "workloads");
    for (int w = 0; w < kf_task_workload_count(task); w++)
        for (size_t d = 0; d < DEVICES; d++) {
            kf_problem problem;
            bool applies;
            if (!kf_task_resolve(task, w, devices[d], &problem, &applies, error)) return false;
            if (applies) cJSON_AddItemToArray(workloads, workload_json(&problem, devices[d]));
        }
    return kf_print_json(view->out, kf_steal(&json), error);
}

bool kf_show_task(const kf_view *view, const kf_task *task, kf_error *error)
{
    kf_autofree char *prototype = kf_task_prototype(task, false);
    if (!prototype) return kf_fail_memory(error, "the prototype");
    if (view->json) return print_json(view, task, prototype, error);
    int width = view->width ? view->width : 100;
    const char *description = kf_task_description(task);
    fprintf(view->out,
            view->color ? KF_STYLE_BOLD "%s" KF_STYLE_PLAIN "  %.12s%s%s\n" : "%s  %.12s%s%s\n",
            kf_task_name(task), kf_task_hash(task), kf_task_folder(task) ? "  " : "",
            kf_task_folder(task) ? kf_task_folder(task) : "");
    if (*description) kf_text_wrap(view->out, description, strlen(description), width, 0, false);
    fputc('\n', view->out);
    kf_text_wrap(view->out, prototype, strlen(prototype), width, 4, false);
    list_arguments(view, task);
    if (!list_workloads(view, task, error)) return false;
    list_files(view, task);
    return true;
}
