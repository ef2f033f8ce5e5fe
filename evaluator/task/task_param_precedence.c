/* Values of params. Four layers may set a param, from weakest to strongest: params of the task, its
 * device_params, params of the workload, its device_params. Expressions are evaluated after the
 * layers are merged, by depth-first search. A param that is met again while it is evaluated is part
 * of a cycle. */
#include <string.h>

#include "kforge/buffer.h"
#include "task_internal.h"

const char *const kf_task_devices[KF_TASK_DEVICES] = {"cpu", "cuda"};

int kf_task_device(const char *name)
{
    for (int i = 0; i < KF_TASK_DEVICES; i++)
        if (strcmp(kf_task_devices[i], name) == 0) return i;
    return -1;
}

typedef enum kf_progress { UNSEEN, UNDERWAY, DONE } kf_progress;

typedef struct kf_resolution {
    const kf_task *task;
    int workload, device;
    /* all names; values are filled in one by one */
    kf_binding *bindings;
    kf_progress progress[KF_MAX_PARAMS];
    /* params under evaluation, for the message of a cycle */
    int stack[KF_MAX_PARAMS], depth;
    bool failed;
    kf_error *error;
} kf_resolution;

/* Returns the strongest formula of a param, and writes its field path. */
static const kf_formula *strongest(const kf_resolution *resolution, int param, char *path,
                                   size_t size)
{
    const kf_task *task = resolution->task;
    const kf_task_workload *workload = &task->workloads[resolution->workload];
    const char *device = kf_task_devices[resolution->device], *name = task->params.names[param];
    const kf_formula *layer = workload->device_params[resolution->device];
    if (layer && layer[param].present) {
        snprintf(path, size, "workloads[%d].device_params.%s.%s", resolution->workload, device,
                 name);
        return &layer[param];
    }
    if (workload->params && workload->params[param].present) {
        snprintf(path, size, "workloads[%d].params.%s", resolution->workload, name);
        return &workload->params[param];
    }
    layer = task->params.device[resolution->device];
    if (layer && layer[param].present) {
        snprintf(path, size, "device_params.%s.%s", device, name);
        return &layer[param];
    }
    snprintf(path, size, "params.%s", name);
    return &task->params.formulas[param];
}

static void resolve(kf_resolution *resolution, int param);

static void resolve_name(void *context, const char *name)
{
    kf_resolution *resolution = context;
    for (int i = 0; i < resolution->task->params.count; i++)
        if (strcmp(resolution->task->params.names[i], name) == 0) resolve(resolution, i);
}

static void report_cycle(kf_resolution *resolution, int param)
{
    kf_autobuffer cycle = {.limit = 600};
    int start = 0;
    while (resolution->stack[start] != param) start++;
    for (int i = start; i < resolution->depth; i++)
        kf_buffer_format(&cycle, "%s -> ", resolution->task->params.names[resolution->stack[i]]);
    char path[256];
    strongest(resolution, param, path, sizeof path);
    kf_fail(resolution->error, KF_ERROR_INPUT,
            "%s: %s: params depend on each other in a cycle: %s%s", resolution->task->where, path,
            cycle.data ? cycle.data : "", resolution->task->params.names[param]);
    resolution->failed = true;
}

static void resolve(kf_resolution *resolution, int param)
{
    if (resolution->failed || resolution->progress[param] == DONE) return;
    if (resolution->progress[param] == UNDERWAY) {
        report_cycle(resolution, param);
        return;
    }
    resolution->progress[param] = UNDERWAY;
    resolution->stack[resolution->depth++] = param;
    const kf_task *task = resolution->task;
    char path[256];
    const kf_formula *formula = strongest(resolution, param, path, sizeof path);
    if (formula->expression) kf_expression_names(formula->expression, resolve_name, resolution);
    resolution->depth--;
    if (resolution->failed) return;

    int64_t value;
    kf_error inner = {0};
    bool evaluated = kf_formula_integer(formula, resolution->bindings, (size_t)task->params.count,
                                        &value, &inner);
    if (evaluated && (value > KF_EXACT_INTEGER || value < -KF_EXACT_INTEGER))
        evaluated = kf_fail(&inner, KF_ERROR_INPUT, "%lld is out of range; expected -2^53 to 2^53",
                            (long long)value);
    if (!evaluated) {
        resolution->failed = true;
        kf_fail(resolution->error, inner.code, "%s: %s: %s (workload \"%s\" on %s)", task->where,
                path, inner.text, task->workloads[resolution->workload].name,
                kf_task_devices[resolution->device]);
        return;
    }
    resolution->bindings[param].value = value;
    resolution->progress[param] = DONE;
}

bool kf_params_resolve(const kf_task *task, int workload, int device,
                       kf_binding bindings[KF_MAX_PARAMS], kf_error *error)
{
    kf_resolution resolution = {
        .task = task, .workload = workload, .device = device, .bindings = bindings, .error = error};
    for (int i = 0; i < task->params.count; i++)
        bindings[i] = (kf_binding){.name = task->params.names[i]};
    for (int i = 0; i < task->params.count; i++) resolve(&resolution, i);
    return !resolution.failed;
}
