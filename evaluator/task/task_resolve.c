/* Makes a workload concrete for a device: shapes, values, distributions, tolerances, work. */
#include <math.h>
#include <string.h>

#include "task_internal.h"

_Static_assert(KF_MAX_ELEMENTS <= INT64_MAX / (8 * KF_MAX_ARGUMENTS),
               "the bytes of all arguments together cannot overflow");

typedef struct kf_making {
    const kf_task *task;
    int workload, device;
    const kf_binding *bindings;
    size_t count;
    kf_problem *problem;
    kf_error *error;
} kf_making;

/* Fails with "FILE: arguments[2] (x).shape[0]: TEXT (workload "wide" on cpu)". */
static bool refuse(const kf_making *making, int argument, const char *field, const kf_error *inner)
{
    const kf_task *task = making->task;
    char path[KF_NAME_BYTES + 64] = "";
    if (argument >= 0)
        snprintf(path, sizeof path, "arguments[%d] (%s)", argument, task->arguments[argument].name);
    return kf_fail(making->error, inner->code, "%s: %s%s: %s (workload \"%s\" on %s)", task->where,
                   path, field, inner->text, task->workloads[making->workload].name,
                   kf_task_devices[making->device]);
}

static bool make_shape(const kf_making *making, int index, kf_problem_argument *argument)
{
    const kf_task_argument *from = &making->task->arguments[index];
    kf_error inner = {0};
    char field[32], text[KF_NAME_BYTES];
    const kf_task_workload *workload = &making->task->workloads[making->workload];
    const int64_t *own = workload->shapes ? workload->shapes[index] : NULL;
    argument->dims = from->dims;
    argument->elements = 1;
    for (int d = 0; d < from->dims; d++) {
        if (from->untyped)
            snprintf(field, sizeof field, ".bytes");
        else
            snprintf(field, sizeof field, ".shape[%d]", d);
        int64_t extent = own ? own[d] : 0;
        if (!extent &&
            !kf_formula_integer(&from->shape[d], making->bindings, making->count, &extent, &inner))
            return refuse(making, index, field, &inner);
        if (extent < 1) {
            kf_fail(&inner, KF_ERROR_INPUT, "%s is %lld; expected at least 1",
                    kf_formula_text(&from->shape[d], text), (long long)extent);
            return refuse(making, index, field, &inner);
        }
        if (__builtin_mul_overflow(argument->elements, extent, &argument->elements) ||
            argument->elements > KF_MAX_ELEMENTS) {
            kf_fail(&inner, KF_ERROR_INPUT, "%s is %lld, which makes more than 2^40 elements",
                    kf_formula_text(&from->shape[d], text), (long long)extent);
            return refuse(making, index, field, &inner);
        }
        argument->shape[d] = extent;
    }
    argument->bytes = (uint64_t)argument->elements * kf_dtype_size(from->dtype);
    making->problem->total_bytes += argument->bytes;
    return true;
}

static bool make_scalar(const kf_making *making, int index, kf_problem_argument *argument)
{
    const kf_task_argument *from = &making->task->arguments[index];
    kf_error inner = {0};
    char text[KF_NAME_BYTES];
    argument->elements = 1;
    argument->bytes = kf_dtype_size(from->dtype);
    if (!kf_formula_evaluate(&from->value, making->bindings, making->count, &argument->value,
                             &inner))
        return refuse(making, index, ".value", &inner);
    if (!kf_value_fits(from->dtype, argument->value)) {
        kf_fail(&inner, KF_ERROR_INPUT, "%s is %.17g, which does not fit %s",
                kf_formula_text(&from->value, text), argument->value.number,
                kf_dtype_name(from->dtype));
        return refuse(making, index, ".value", &inner);
    }
    if (!kf_dtype_is_float(from->dtype) && !argument->value.is_integer)
        argument->value = (kf_value){.is_integer = true,
                                     .integer = (int64_t)argument->value.number,
                                     .number = argument->value.number};
    return true;
}

static bool make_distribution(const kf_making *making, int index, kf_problem_argument *argument)
{
    const kf_task_workload *workload = &making->task->workloads[making->workload];
    const kf_distribution_spec *spec = &making->task->arguments[index].distribution;
    if (workload->distributions && workload->distributions[index].present)
        spec = &workload->distributions[index];
    kf_error inner = {0};
    const cJSON *torch = making->task->torch.object;
    int inputs = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(torch, "inputs"));
    const kf_task_file *oracle = &making->task->sources.files[making->task->sources.oracle];
    if (spec->generated && (index >= inputs || oracle->kind != KF_SOURCE_TORCH)) {
        kf_fail(&inner, KF_ERROR_INPUT,
                "\"generated\" is for \"inputs\" of \"torch\", and needs an oracle of kind "
                "\"torch\"");
        return refuse(making, index, ".distribution", &inner);
    }
    if (kf_distribution_resolve(spec, making->bindings, making->count, argument, &inner))
        return true;
    return refuse(making, index, ".distribution", &inner);
}

/* ---- integers that are legal in any place of an argument --------------------------------------
 *
 * A candidate can tell workloads with equal params apart only by their data. So the data of one
 * has to be right in the other. An argument that one workload sorts, and another draws in any
 * order, may be in any order. */

static bool same_distribution(const kf_distribution *a, const kf_distribution *b)
{
    return a->kind == b->kind && a->generated == b->generated && a->a == b->a && a->b == b->b;
}

static bool has_same_params(const kf_making *making, int workload)
{
    kf_binding bindings[KF_MAX_PARAMS];
    if (making->task->workloads[workload].unseen ||
        !making->task->workloads[workload].devices[making->device] ||
        !kf_params_resolve(making->task, workload, making->device, bindings, NULL))
        return false;
    for (size_t p = 0; p < making->count; p++)
        if (bindings[p].value != making->bindings[p].value) return false;
    return true;
}

/* Finds the only argument that another workload draws in another way, and that way. Returns -1 if
 * there are several. */
static int only_difference(const kf_making *making, int workload, kf_distribution *other)
{
    kf_making sibling = *making;
    sibling.workload = workload;
    sibling.error = NULL;
    int found = -1;
    for (int i = 0; i < making->problem->argument_count; i++) {
        kf_problem_argument argument = making->problem->arguments[i];
        bool given = argument.kind == KF_INPUT || argument.kind == KF_INOUT;
        kf_distribution here = argument.distribution;
        if (!given) continue;
        if (!make_distribution(&sibling, i, &argument)) return -1;
        if (same_distribution(&here, &argument.distribution)) continue;
        if (found >= 0) return -1;
        found = i;
        *other = argument.distribution;
    }
    return found;
}

/* Adds the range of `other` to the strays of an argument, if they touch. */
static void add_strays(kf_distribution *distribution, const kf_distribution *other)
{
    bool first = distribution->stray_low == distribution->stray_high;
    if (!first && (other->a > distribution->stray_high || other->b < distribution->stray_low))
        return;
    distribution->stray_low = first ? other->a : fmin(distribution->stray_low, other->a);
    distribution->stray_high = first ? other->b : fmax(distribution->stray_high, other->b);
}

static void find_strays(const kf_making *making)
{
    kf_problem *problem = making->problem;
    for (int i = 0; i < problem->argument_count; i++) {
        kf_distribution *d = &problem->arguments[i].distribution;
        bool given =
            problem->arguments[i].kind == KF_INPUT || problem->arguments[i].kind == KF_INOUT;
        if (given && d->kind == KF_INTEGERS) add_strays(d, d);
    }
    if (making->task->workloads[making->workload].unseen) return;
    for (int w = 0; w < making->task->workload_count; w++) {
        kf_distribution other = {0};
        if (w == making->workload || !has_same_params(making, w)) continue;
        int i = only_difference(making, w, &other);
        if (i >= 0 && other.kind == KF_INTEGERS)
            add_strays(&problem->arguments[i].distribution, &other);
    }
}

/* Returns the tolerance of the workload, else of the argument, else of the task. error_ratio and
 * allclose of task or workload leave integers exact. */
static kf_tolerance tolerance_of(const kf_task *task, int workload, int argument)
{
    const kf_task_workload *at = &task->workloads[workload];
    const kf_task_argument *of = &task->arguments[argument];
    bool is_float = kf_dtype_is_float(of->dtype);
    kf_tolerance tolerance = {.kind = is_float ? KF_ERROR_RATIO : KF_EXACT,
                              .ratio = KF_ERROR_RATIO_DEFAULT};
    const kf_tolerance *general[2] = {task->has_tolerance ? &task->tolerance : NULL,
                                      at->has_tolerance ? &at->tolerance : NULL};
    for (int i = 0; i < 2; i++) {
        if (general[i] &&
            (is_float || general[i]->kind == KF_EXACT || general[i]->kind == KF_ANY_ORDER))
            tolerance = *general[i];
        if (i == 0 && of->has_tolerance) tolerance = of->tolerance;
    }
    return tolerance;
}

static bool make_argument(const kf_making *making, int index)
{
    const kf_task_argument *from = &making->task->arguments[index];
    kf_problem_argument *argument = &making->problem->arguments[index];
    argument->name = from->name;
    argument->kind = from->kind;
    argument->dtype = from->dtype;
    if (from->kind == KF_SCALAR) return make_scalar(making, index, argument);
    if (!make_shape(making, index, argument)) return false;
    if (from->kind == KF_OUTPUT || from->kind == KF_INOUT) {
        argument->tolerance = tolerance_of(making->task, making->workload, index);
        argument->tf32 = making->task->torch.tf32 && from->dtype == KF_F32 &&
                         making->device == kf_task_device("cuda");
    }
    return (from->kind != KF_INPUT && from->kind != KF_INOUT) ||
           make_distribution(making, index, argument);
}

static bool make_work(const kf_making *making)
{
    const kf_formula *formulas[2] = {&making->task->work_bytes, &making->task->work_flops};
    double *figures[2] = {&making->problem->work_bytes, &making->problem->work_flops};
    for (int i = 0; i < 2; i++) {
        kf_error inner = {0};
        kf_value value = {0};
        if (!formulas[i]->present || making->problem->own_shapes) continue;
        bool known =
            kf_formula_evaluate(formulas[i], making->bindings, making->count, &value, &inner);
        if (known && value.number < 0)
            known = kf_fail(&inner, KF_ERROR_INPUT, "is %.17g; expected at least 0", value.number);
        if (!known) return refuse(making, -1, i ? "work.flops" : "work.bytes", &inner);
        *figures[i] = value.number;
    }
    if (making->task->work_bytes.present && !making->problem->own_shapes) return true;
    making->problem->work_bytes_derived = true;
    making->problem->work_bytes = kf_problem_least_bytes(making->problem);
    return true;
}

double kf_problem_least_bytes(const kf_problem *problem)
{
    double bytes = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        int times = argument->kind == KF_INOUT                                  ? 2
                    : argument->kind == KF_INPUT || argument->kind == KF_OUTPUT ? 1
                                                                                : 0;
        bytes += times * (double)argument->bytes;
    }
    return bytes;
}

bool kf_task_resolve(const kf_task *task, int workload, const char *device, kf_problem *problem,
                     bool *applies, kf_error *error)
{
    int which = kf_task_device(device);
    if (which < 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: there is no device \"%s\"; expected cpu or cuda",
                       task->where, device);
    if (workload < 0 || workload >= task->workload_count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: there is no workload number %d; it has %d",
                       task->where, workload, task->workload_count);
    const kf_task_workload *from = &task->workloads[workload];
    *applies = from->devices[which];
    *problem = (kf_problem){.workload = from->name,
                            .timed = from->timed,
                            .hidden = from->hidden,
                            .unseen = from->unseen,
                            .own_shapes = from->shapes != NULL};
    if (!*applies) return true;

    kf_binding bindings[KF_MAX_PARAMS];
    if (!kf_params_resolve(task, workload, which, bindings, error)) return false;
    kf_making making = {.task = task,
                        .workload = workload,
                        .device = which,
                        .bindings = bindings,
                        .count = (size_t)task->params.count,
                        .problem = problem,
                        .error = error};
    problem->argument_count = task->argument_count;
    for (int i = 0; i < task->argument_count; i++)
        if (!make_argument(&making, i)) return false;
    find_strays(&making);
    return make_work(&making);
}

int kf_task_params(const kf_task *task, int workload, const char *device,
                   kf_binding bindings[KF_MAX_PARAMS], kf_error *error)
{
    int which = kf_task_device(device);
    if (which < 0 || workload < 0 || workload >= task->workload_count) {
        kf_fail(error, KF_ERROR_INPUT, "%s: there is no workload number %d on device \"%s\"",
                task->where, workload, device);
        return -1;
    }
    return kf_params_resolve(task, workload, which, bindings, error) ? task->params.count : -1;
}
