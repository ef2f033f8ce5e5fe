/* Lint without execution: a function for each group of rules, in the order of task.json.
 *
 * A formula depends on the params that it names, and on those that their formulas name in any
 * layer. There are at most 64 params, so a set of params is one 64-bit word. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kforge/inputs.h"
#include "kforge/lint.h"
#include "task_internal.h"

_Static_assert(KF_MAX_PARAMS <= 64, "sets of params are 64-bit words");

typedef struct kf_lint {
    const kf_task *task;
    kf_lint_limits limits;
    kf_lint_report *report;
    void *context;
    int errors;
    /* params that the value of a param depends on, itself included */
    uint64_t reach[KF_MAX_PARAMS];
    /* over all resolved workloads */
    int timed[KF_TASK_DEVICES], applying[KF_TASK_DEVICES];
    /* values in the first workload that applies */
    int64_t first[KF_TASK_DEVICES][KF_MAX_PARAMS];
    /* params with different values in different workloads */
    uint64_t varying;
    bool ragged[KF_TASK_DEVICES];
    /* inputs that are not constant in some workload */
    bool drawn[KF_MAX_ARGUMENTS];
    /* the problem's own get_inputs makes an input */
    bool generated;
    /* the judge may vary an input, or a workload draws it in another way */
    bool varied;
    /* 1 + number of the first timed workload in which most input elements follow from the task */
    int predictable[KF_MAX_ARGUMENTS];
    /* outputs that were reported in another workload */
    uint64_t loose, imprecise;
    uint64_t too_much_work;
} kf_lint;

__attribute__((format(printf, 6, 7))) static void say(kf_lint *lint, kf_lint_severity severity,
                                                      const char *rule, const char *path,
                                                      const char *advice, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (severity == KF_LINT_ERROR) lint->errors++;
    lint->report(
        lint->context,
        &(kf_lint_finding){
            .severity = severity, .rule = rule, .path = path, .text = text, .advice = advice});
}

static const char *argument_path(const kf_task *task, int argument, char path[KF_NAME_BYTES + 32])
{
    snprintf(path, KF_NAME_BYTES + 32, "arguments[%d] (%s)", argument,
             task->arguments[argument].name);
    return path;
}

static bool is_output(const kf_task_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT;
}

static bool is_filled(const kf_task_argument *argument)
{
    return argument->kind == KF_INPUT || argument->kind == KF_INOUT;
}

/* ---- dependence on params -------------------------------------------------------------------- */

typedef struct kf_mention {
    const kf_task *task;
    uint64_t set;
} kf_mention;

static void mention(void *context, const char *name)
{
    kf_mention *mention = context;
    for (int i = 0; i < mention->task->params.count; i++)
        if (strcmp(mention->task->params.names[i], name) == 0) mention->set |= (uint64_t)1 << i;
}

static uint64_t mentioned(const kf_task *task, const kf_formula *formula)
{
    kf_mention set = {.task = task};
    if (formula->expression) kf_expression_names(formula->expression, mention, &set);
    return set.set;
}

static uint64_t closure(const kf_lint *lint, uint64_t set)
{
    uint64_t all = 0;
    for (int i = 0; i < lint->task->params.count; i++)
        if (set >> i & 1) all |= lint->reach[i];
    return all;
}

static void find_reach(kf_lint *lint)
{
    const kf_task *task = lint->task;
    for (int p = 0; p < task->params.count; p++) {
        uint64_t set = (uint64_t)1 << p | mentioned(task, &task->params.formulas[p]);
        for (int d = 0; d < KF_TASK_DEVICES; d++)
            if (task->params.device[d]) set |= mentioned(task, &task->params.device[d][p]);
        for (int w = 0; w < task->workload_count; w++) {
            const kf_task_workload *workload = &task->workloads[w];
            if (workload->params) set |= mentioned(task, &workload->params[p]);
            for (int d = 0; d < KF_TASK_DEVICES; d++)
                if (workload->device_params[d])
                    set |= mentioned(task, &workload->device_params[d][p]);
        }
        lint->reach[p] = set;
    }
    for (int k = 0; k < task->params.count; k++) /* Warshall's transitive closure */
        for (int p = 0; p < task->params.count; p++)
            if (lint->reach[p] >> k & 1) lint->reach[p] |= lint->reach[k];
}

static uint64_t params_of_shapes(const kf_lint *lint)
{
    uint64_t set = 0;
    for (int i = 0; i < lint->task->argument_count; i++)
        for (int d = 0; d < lint->task->arguments[i].dims; d++)
            set |= mentioned(lint->task, &lint->task->arguments[i].shape[d]);
    return closure(lint, set);
}

static uint64_t params_of_scalars(const kf_lint *lint)
{
    uint64_t set = 0;
    for (int i = 0; i < lint->task->argument_count; i++)
        set |= mentioned(lint->task, &lint->task->arguments[i].value);
    return closure(lint, set);
}

static uint64_t params_of_distributions(const kf_task *task)
{
    uint64_t set = 0;
    for (int i = 0; i < task->argument_count; i++) {
        set |= mentioned(task, &task->arguments[i].distribution.a) |
               mentioned(task, &task->arguments[i].distribution.b);
        for (int w = 0; w < task->workload_count; w++)
            if (task->workloads[w].distributions)
                set |= mentioned(task, &task->workloads[w].distributions[i].a) |
                       mentioned(task, &task->workloads[w].distributions[i].b);
    }
    return set;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool ends = !(isalnum((unsigned char)at[length]) || at[length] == '_');
        if (starts && ends) return true;
    }
    return false;
}

static void check_description(kf_lint *lint)
{
    const kf_task *task = lint->task;
    if (strspn(task->description, " \t\r\n") == strlen(task->description)) {
        say(lint, KF_LINT_WARNING, "description.empty", "description",
            "describe the computation, with its formula; models read it",
            "there is no description");
        return;
    }
    for (int i = 0; i < task->argument_count; i++)
        if (is_output(&task->arguments[i]) && !has_word(task->description, task->arguments[i].name))
            say(lint, KF_LINT_WARNING, "description.output", "description",
                "give the formula of every output by its name",
                "the output \"%s\" is not mentioned", task->arguments[i].name);
}

static void check_params(kf_lint *lint)
{
    const kf_task *task = lint->task;
    uint64_t shapes = params_of_shapes(lint), scalars = params_of_scalars(lint);
    uint64_t used =
        shapes | scalars | closure(lint, params_of_distributions(task)) |
        closure(lint, mentioned(task, &task->work_bytes) | mentioned(task, &task->work_flops));
    char path[KF_NAME_BYTES + 16];
    for (int p = 0; p < task->params.count; p++) {
        uint64_t bit = (uint64_t)1 << p;
        snprintf(path, sizeof path, "params.%s", task->params.names[p]);
        if (!(used & bit))
            say(lint, KF_LINT_WARNING, "params.unused", path,
                "remove it, or use it in a shape, a value or the work", "nothing depends on it");
        else if ((shapes & lint->varying & ~scalars & bit) && lint->reach[p] == bit)
            say(lint, KF_LINT_WARNING, "params.not_passed", path,
                "pass it, or a value from which it follows, as a scalar",
                "shapes depend on it and it differs between workloads, but no scalar passes it to "
                "the candidate");
    }
}

/* Returns log2 of the number of ways to choose `few` of `all`. */
static double choices_bits(double all, double few)
{
    int sign;
    return (lgamma_r(all + 1, &sign) - lgamma_r(few + 1, &sign) - lgamma_r(all - few + 1, &sign)) /
           log(2);
}

/* Returns about how many bits an input holds that the task does not tell: its entropy. Floats
 * count 16 bits. */
static double entropy(const kf_problem_argument *argument)
{
    const kf_distribution *d = &argument->distribution;
    double n = (double)argument->elements, last = (double)argument->shape[argument->dims - 1];
    bool is_float = kf_dtype_is_float(argument->dtype);
    if (d->generated) return 8 * n;
    switch (d->kind) {
    case KF_CONSTANT: return 0;
    case KF_INTEGERS: return n * log2(fmax(d->b - d->a, 1));
    case KF_SORTED: return is_float ? 8 * n : n / last * choices_bits(last + d->b - d->a - 1, last);
    case KF_OFFSETS: return choices_bits(d->a + n - 2, n - 2);
    case KF_PERMUTATION: return n * log2(n);
    case KF_ONE_HOT: return n / last * log2(last);
    case KF_SIGNS: return n;
    case KF_SPARSE: return 17 * n * d->a;
    default: return 8 * n;
    }
}

/* Less is little: a candidate can find out all of the input from a few elements. */
#define LEAST_BITS (1.0 / 16)

/* Finds an input with at least half of all input elements that says nearly nothing new. */
static void find_predictable(kf_lint *lint, const kf_problem *problem, int workload)
{
    int64_t all = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (is_filled(&lint->task->arguments[i])) all += problem->arguments[i].elements;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (is_filled(&lint->task->arguments[i]) && 2 * argument->elements >= all &&
            !lint->predictable[i] && entropy(argument) < LEAST_BITS * (double)argument->elements &&
            !kf_variation_applies(argument, KF_VARY_STRAY))
            lint->predictable[i] = 1 + workload;
    }
}

static void say_predictable(kf_lint *lint, int argument)
{
    const kf_task *task = lint->task;
    int workload = lint->predictable[argument] - 1;
    const kf_distribution_spec *own = task->workloads[workload].distributions;
    char path[2 * KF_NAME_BYTES + 64];
    if (own && own[argument].present)
        snprintf(path, sizeof path, "workloads[%d].distributions.%s", workload,
                 task->arguments[argument].name);
    else
        argument_path(task, argument, path);
    say(lint, KF_LINT_WARNING, "distribution.predictable", path,
        "set \"timed\": false in this workload, widen the range, or draw the argument as integers "
        "in a workload with the same params: then single elements may differ",
        "in the timed workload \"%s\" most input elements follow from a few of them: a candidate "
        "that reads only these seems fast",
        task->workloads[workload].name);
}

static void check_inputs(kf_lint *lint)
{
    const kf_task *task = lint->task;
    char path[KF_NAME_BYTES + 32];
    int inputs = 0, drawn = 0;
    for (int i = 0; i < task->argument_count; i++) {
        inputs += is_filled(&task->arguments[i]);
        drawn += lint->drawn[i];
    }
    if (!inputs)
        say(lint, KF_LINT_ERROR, "inputs.none", "arguments",
            "add an input: a candidate could compute the output once and replay it",
            "there is no input: the output is the same in every call");
    else if (!drawn)
        say(lint, KF_LINT_ERROR, "inputs.constant", "arguments",
            "draw at least one input at random: a table of the answer would pass",
            "every input is constant in every workload");
    for (int i = 0; drawn && i < task->argument_count; i++)
        if (is_filled(&task->arguments[i]) && !lint->drawn[i])
            say(lint, KF_LINT_WARNING, "distribution.constant", argument_path(task, i, path),
                "draw it at random in at least one workload, or leave the argument out",
                "it is constant in every workload");
    for (int i = 0; i < task->argument_count; i++)
        if (lint->drawn[i] && lint->predictable[i]) say_predictable(lint, i);
    if (lint->generated)
        say(lint, KF_LINT_WARNING, "distribution.generated", "arguments",
            "describe them by distributions if you can",
            "the problem's own get_inputs makes inputs: the judge draws its seeds, and varies "
            "nothing else");
    else if (drawn && !lint->varied)
        say(lint, KF_LINT_WARNING, "distribution.not_varied", "arguments",
            "let one vary if the mathematics allows it, or add workloads with other "
            "distributions",
            "every input always has one distribution, which the judge may not vary: a shortcut for "
            "one kind of data passes");
}

/* Adds `bit` to the set. True if it was not in the set. */
static bool first_time(uint64_t *set, int bit)
{
    bool first = !(*set >> bit & 1);
    *set |= (uint64_t)1 << bit;
    return first;
}

/* True if an output before this one has as many elements, and may have them in any order, too. */
static bool loses_pairs(const kf_problem *problem, int argument)
{
    for (int i = 0; i < argument; i++)
        if (problem->arguments[i].tolerance.kind == KF_ANY_ORDER &&
            problem->arguments[i].elements == problem->arguments[argument].elements)
            return true;
    return false;
}

static void check_tolerance(kf_lint *lint, const kf_problem *problem, int argument, int workload)
{
    const kf_tolerance *tolerance = &problem->arguments[argument].tolerance;
    char path[KF_NAME_BYTES + 32], where[KF_NAME_BYTES + 32];
    argument_path(lint->task, argument, path);
    snprintf(where, sizeof where, "workload \"%s\"", lint->task->workloads[workload].name);
    if (tolerance->kind == KF_ALLCLOSE && tolerance->rtol >= 1 &&
        first_time(&lint->loose, argument))
        say(lint, KF_LINT_ERROR, "tolerance.zeros", path, "use error_ratio, or a small rtol",
            "rtol is %g in %s: all zeros pass", tolerance->rtol, where);
    else if (tolerance->kind == KF_ALLCLOSE && (tolerance->rtol > 0.05 || tolerance->atol > 0.05) &&
             first_time(&lint->loose, argument))
        say(lint, KF_LINT_WARNING, "tolerance.loose", path,
            "use error_ratio: it needs no guess about magnitudes",
            "rtol %g, atol %g in %s are loose", tolerance->rtol, tolerance->atol, where);
    else if (tolerance->kind == KF_ERROR_RATIO && tolerance->ratio > 100 &&
             first_time(&lint->loose, argument))
        say(lint, KF_LINT_WARNING, "tolerance.loose", path,
            "8 leaves room for other orders of summation; a lower precision needs 100s",
            "error_ratio %g in %s lets a lower precision pass", tolerance->ratio, where);
    else if (tolerance->kind == KF_ANY_ORDER && loses_pairs(problem, argument) &&
             first_time(&lint->loose, argument))
        say(lint, KF_LINT_WARNING, "tolerance.pairs", path,
            "give both parts of a pair in one i64 element, or fix the order of the outputs",
            "in %s another output may be in any order, too: which of their elements belong "
            "together is not checked",
            where);
    kf_dtype precision;
    if (tolerance->kind == KF_ERROR_RATIO && kf_dtype_parse(lint->task->precision, &precision) &&
        kf_dtype_is_float(precision) &&
        kf_dtype_roundoff(precision) > kf_dtype_roundoff(problem->arguments[argument].dtype) &&
        first_time(&lint->imprecise, argument))
        say(lint, KF_LINT_WARNING, "precision.lower", path,
            "give the output the dtype of the precision (tf32 is stored as f32), or raise "
            "error_ratio",
            "the task allows %s arithmetic, but this output is held to the rounding of %s",
            lint->task->precision, kf_dtype_name(problem->arguments[argument].dtype));
}

static void check_size(kf_lint *lint, const kf_problem *problem, int workload, int device)
{
    double bytes = 2.0 * (double)problem->total_bytes,
           limit = (double)(device == 0 ? lint->limits.cpu_bytes : lint->limits.cuda_bytes);
    for (int i = 0; i < problem->argument_count; i++)
        if (is_output(&lint->task->arguments[i]))
            bytes += 8.0 * (double)problem->arguments[i].elements;
    char path[32];
    snprintf(path, sizeof path, "workloads[%d]", workload);
    if (bytes > limit)
        say(lint, KF_LINT_WARNING, "size.large", path,
            device == 0 ? "give smaller params under device_params.cpu, or restrict it to devices: "
                          "[\"cuda\"]"
                        : "use smaller params",
            "two sets of buffers and the oracle's outputs take %.0f MiB on %s; the limit is %.0f "
            "MiB",
            bytes / 0x1p20, kf_task_devices[device], limit / 0x1p20);
}

/* Checks a workload on a device, and collects facts about all of them. */
static void check_workload(kf_lint *lint, int workload, int device)
{
    const kf_task *task = lint->task;
    kf_problem problem;
    kf_binding bindings[KF_MAX_PARAMS];
    bool applies;
    if (!kf_task_resolve(task, workload, kf_task_devices[device], &problem, &applies, NULL) ||
        !applies || !kf_params_resolve(task, workload, device, bindings, NULL))
        return;
    uint64_t shapes = params_of_shapes(lint);
    bool is_first = lint->applying[device]++ == 0;
    lint->timed[device] += problem.timed;
    for (int p = 0; p < task->params.count; p++) {
        int64_t value = bindings[p].value;
        if (is_first)
            lint->first[device][p] = value;
        else if (lint->first[device][p] != value)
            lint->varying |= (uint64_t)1 << p;
        if (lint->reach[p] == (uint64_t)1 << p && (shapes >> p & 1) && value > 0 &&
            (value & (value - 1)) != 0)
            lint->ragged[device] = true;
    }
    for (int i = 0; i < problem.argument_count; i++) {
        if (is_filled(&task->arguments[i])) {
            const kf_distribution *drawn = &problem.arguments[i].distribution;
            lint->drawn[i] |= drawn->kind != KF_CONSTANT || drawn->generated;
            lint->generated |= drawn->generated;
            const kf_distribution_spec *own = task->workloads[workload].distributions;
            lint->varied |= problem.arguments[i].distribution.vary || (own && own[i].present);
        }
        if (is_output(&task->arguments[i]) &&
            (device == 0 || !task->workloads[workload].devices[0]))
            check_tolerance(lint, &problem, i, workload);
    }
    if (problem.timed) find_predictable(lint, &problem, workload);
    check_size(lint, &problem, workload, device);
    double least = kf_problem_least_bytes(&problem);
    if (problem.work_bytes > least && first_time(&lint->too_much_work, 0))
        say(lint, KF_LINT_WARNING, "work.bytes", "work.bytes",
            "count each input read once and each output written once; otherwise the judge calls a "
            "fast candidate impossible",
            "%.0f bytes in workload \"%s\" on %s are more than the %.0f of its inputs and outputs",
            problem.work_bytes, problem.workload, kf_task_devices[device], least);
}

static void check_workloads(kf_lint *lint)
{
    const kf_task *task = lint->task;
    bool hidden = false;
    for (int w = 0; w < task->workload_count; w++) {
        hidden |= task->workloads[w].hidden;
        for (int d = 0; d < KF_TASK_DEVICES; d++) check_workload(lint, w, d);
    }
    for (int d = 0; d < KF_TASK_DEVICES; d++) {
        if (lint->applying[d] && !lint->timed[d])
            say(lint, KF_LINT_ERROR, "workload.none_timed", "workloads",
                "leave \"timed\" out of at least one",
                "no workload on %s is timed, so there is no speedup", kf_task_devices[d]);
        if (lint->applying[d] && !lint->ragged[d] && params_of_shapes(lint))
            say(lint, KF_LINT_WARNING, "workload.none_ragged", "workloads",
                "add one with odd sizes, e.g. 1003, untimed",
                "on %s all sizes are powers of two: a candidate without bounds checks passes",
                kf_task_devices[d]);
    }
    if (task->workload_count == 1)
        say(lint, KF_LINT_WARNING, "workload.single", "workloads",
            "add other shapes: a candidate for one shape alone passes",
            "there is only one workload");
    if (!hidden)
        say(lint, KF_LINT_WARNING, "workload.none_hidden", "workloads",
            "add one with \"hidden\": true, \"timed\": false: a candidate that switches on the "
            "known shapes passes",
            "no workload is hidden from models");
}

int kf_task_lint_static(const kf_task *task, const kf_lint_limits *limits, kf_lint_report *report,
                        void *context)
{
    kf_lint lint = {.task = task,
                    .limits = {KF_LINT_CPU_BYTES, KF_LINT_CUDA_BYTES},
                    .report = report,
                    .context = context};
    if (limits) lint.limits = *limits;
    find_reach(&lint);
    check_description(&lint);
    check_workloads(&lint);
    check_params(&lint);
    check_inputs(&lint);
    if (!task->work_bytes.present)
        say(&lint, KF_LINT_WARNING, "work.absent", "work.bytes",
            "give the unavoidable bytes, if not every element of every input matters",
            "it is derived: each input read once, each output written once");
    return lint.errors;
}
