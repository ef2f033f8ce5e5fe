/* Finds out why a candidate is wrong. Does a kernel depend on the order of threads? Would a
 * solution in Python be right with other weights than it was given?
 *
 * A module has to follow its parameters, and kforge passes them as arguments with new values in
 * each set. Some solutions fold, transpose or convert weights and keep the result. They do so in
 * their first call, or in their constructor, where KernelBench's weights come from the same seed.
 * Their results are wrong, and "8 million elements wrong" does not say why. Other solutions fold
 * batch norms into convolutions. That is right for a module that evaluates, but KernelBench's
 * train.
 *
 * So new processes of the solution run again: on sets with the same weights, and with the weights
 * of their own constructor, while the oracle keeps its own. If the mode matters, they also run in
 * the other mode. Their findings go to a verdict that is thrown away, and their failures change no
 * other result.
 *
 * A solution that cannot be called with other weights than its constructor's (lacks_weights,
 * wants_its_own) has no results to compare. The round with frozen weights judges it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "mismatches.h"
#include "measure_internal.h"
#include "torch_plan.h"

#define MAX_CALLS 3
#define NOT_CALLED (1u << MAX_CALLS)
/* for a new process, its calls and their comparison */
#define MIN_SECONDS 2.0

static bool is_mismatch(const kf_measurement *r)
{
    const kf_workload_verdict *result = r->bench->result;
    return r->over && result->finding_count == 1 &&
           (strcmp(result->findings[0].rule, "output.mismatch") == 0 ||
            strcmp(result->findings[0].rule, "output.inaccurate") == 0);
}

static uint32_t called(const kf_measurement *r)
{
    return r->set_count < MAX_CALLS ? r->set_count : MAX_CALLS;
}

static const cJSON *state_of(const kf_task *task)
{
    return cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"), "state");
}

/* Draws new inputs for every set. With `shared`, all sets get the weights of the first one. */
static bool fill(kf_measurement *r, int number, bool shared, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    for (uint32_t set = 0; set < r->set_count; set++)
        r->lists.variations[set] = (kf_set_variation){.argument = -1};
    if (!r->device->buffers.fill(r->sets, kf_measurement_draw(r, "state", number),
                                 r->lists.variations, error))
        return false;
    memset(r->lists.true_known, 0, r->set_count * sizeof *r->lists.true_known);
    if (!shared) return true;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, state_of(r->bench->task))
    {
        const char *name = kf_json_get_text(entry, "argument", NULL);
        for (int i = 0; name && i < problem->argument_count; i++) {
            if (strcmp(problem->arguments[i].name, name) != 0) continue;
            for (uint32_t set = 1; set < r->set_count; set++)
                if (!r->device->buffers.copy_input(r->sets, 0, set, i, error)) return false;
        }
    }
    return true;
}

/* Starts an oracle with a module that keeps the weights of its constructor. */
static bool give_oracle_its_own(kf_measurement *r, kf_error *error)
{
    char key[4400];
    if (kf_runner_unmap(r->oracle) != KF_RUNNER_OK)
        return kf_fail(error, KF_ERROR_MACHINE, "the oracle's runner cannot unmap its buffers");
    kf_runner_pool_keep_trusted(r->bench->pool, KF_ROLE_ORACLE,
                                kf_measurement_key(r->bench, KF_ROLE_ORACLE, key),
                                r->bench->options->strict_sandbox, kf_measurement_take_oracle(r));
    return kf_measurement_start_runner(r, KF_ROLE_ORACLE, &r->oracle, error) &&
           (r->over || kf_measurement_hand_over(r, KF_ROLE_ORACLE, r->oracle, error));
}

/* Runs a batch of the solution. *wrong gets a bit for each call, 1 if it is wrong. */
static bool call(kf_measurement *r, int number, bool shared, uint32_t *wrong, kf_error *error)
{
    kf_batch batch;
    if (!fill(r, number, shared, error)) return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = r->lists.list[i] = i;
    if (!kf_measurement_refresh(r, number, CANDIDATE, called(r), error)) return false;
    if (!kf_measurement_batch(r, CANDIDATE, 0, called(r), 0, -1, &batch, error)) return false;
    if (!r->over && !kf_measurement_find_truth(r, r->lists.list, called(r), error)) return false;
    if (r->over) return true;
    *wrong = 0;
    for (uint32_t i = 0; i < called(r); i++, r->over = false) {
        if (!kf_measurement_compare(r, CANDIDATE, r->lists.list + i, 1, NULL, error)) return false;
        *wrong |= (uint32_t)r->over << i;
    }
    return true;
}

static bool try_again(kf_measurement *r, bool own, uint32_t *wrong, kf_error *error)
{
    *wrong = NOT_CALLED;
    if (own && !give_oracle_its_own(r, error)) return false;
    if (!r->over &&
        !kf_measurement_start_runner(r, KF_ROLE_CANDIDATE, &r->runners[CANDIDATE], error))
        return false;
    if (!r->over && !kf_measurement_hand_over(r, KF_ROLE_CANDIDATE, r->runners[CANDIDATE], error))
        return false;
    return r->over || call(r, 0, !own, wrong, error);
}

/* Tries the weights that constructors draw. */
static bool try_own(kf_measurement *r, bool other_mode, uint32_t *wrong, kf_error *error)
{
    *wrong = NOT_CALLED;
    if (kf_measurement_time_left(r) < MIN_SECONDS) return true;
    kf_runner_pool_retire(r->bench->pool, kf_steal(&r->runners[CANDIDATE]), true);
    r->modules.own_state = true;
    r->modules.other_mode = other_mode;
    bool done = try_again(r, true, wrong, error);
    r->modules.own_state = r->bench->modules.frozen;
    r->modules.other_mode = false;
    return done;
}

/* True if the task's module depends on its mode, or the solution's text mentions it. Without this
 * check, trying the other mode would take time for each wrong solution. */
static bool may_depend_on_mode(const kf_measurement *r)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(r->bench->task), "torch");
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(torch, "mode_matters"))) return true;
    size_t size;
    kf_autofree char *text =
        kf_file_read(r->bench->programs.candidate, KF_SOURCE_BYTES, &size, NULL);
    return text && strstr(text, "training");
}

/* When the solution is right: unknown, with the weights of its first call, with those of its
 * constructor, or in the other mode. */
typedef enum cause { UNKNOWN, CACHED, CONSTRUCTED, EVALUATED, TRAINED } cause;

/* Finds the cause. A solution that is right with some weights has to be wrong with all others,
 * because some solutions are wrong now and then with any weights. */
static bool find_cause(kf_measurement *r, cause *found, kf_error *error)
{
    uint32_t wrong = NOT_CALLED, others = NOT_CALLED, all = (1u << called(r)) - 1;
    if (!r->bench->modules.frozen && !try_again(r, false, &wrong, error)) return false;
    /* The same process with other weights. If it kept a view of the first set's, that set stays
     * right.
     */
    if (wrong == 0) {
        if (!call(r, 1, false, &others, error)) return false;
        *found = others == all || others == (all & ~1u) ? CACHED : UNKNOWN;
        return true;
    }
    if (!r->bench->modules.frozen && wrong != all) return true;
    if (!try_own(r, false, &wrong, error)) return false;
    if (wrong == 0) *found = CONSTRUCTED;
    if (wrong != all || !may_depend_on_mode(r)) return true;
    if (!try_own(r, true, &wrong, error)) return false;
    if (wrong == 0) *found = kf_torch_evaluates(r->bench->task) ? TRAINED : EVALUATED;
    return true;
}

static bool has_only_wrong_results(const kf_verdict *verdict)
{
    for (size_t w = 0; w < verdict->workload_count; w++)
        for (size_t i = 0; i < verdict->workloads[w].finding_count; i++)
            if (verdict->workloads[w].findings[i].status != KF_WRONG_RESULT) return false;
    return !verdict->finding_count;
}

/* Finds the cause, with all findings in a verdict that is thrown away. */
static bool find_unseen(kf_measurement *r, cause *found, kf_error *error)
{
    kf_workbench *bench = r->bench;
    kf_verdict *verdict = bench->verdict;
    kf_workload_verdict *result = bench->result;
    kf_auto(kf_verdict) unseen = kf_verdict_new("", "", "");
    if (!unseen || !(bench->result = kf_verdict_add_workload(unseen, result->workload, false))) {
        bench->result = result;
        return kf_fail_memory(error, "a measurement");
    }
    bench->verdict = unseen;
    kf_checker_be_brief(r->checker, true);
    kf_runner_pool_retire(bench->pool, kf_steal(&r->runners[CANDIDATE]), true);
    r->over = false;
    r->leftovers.gaps = r->leftovers.gap_batches = 0; /* its first batch may take long again */
    bool done = find_cause(r, found, error);
    kf_checker_be_brief(r->checker, false);
    r->over = true;
    r->dirty = !done || !has_only_wrong_results(unseen);
    bench->verdict = verdict;
    bench->result = result;
    return done;
}

/* True if the task suits solutions with the weights of their constructors, as its import found out.
 */
static bool admits_frozen(const kf_task *task)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch");
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(torch, "frozen"));
}

/* True if the solution has folded its weights into others and registered those alone. The text is
 * runner.py's. */
static bool lacks_weights(const kf_measurement *r)
{
    const kf_workload_verdict *result = r->bench->result;
    return r->over && result->finding_count == 1 &&
           strcmp(result->findings[0].rule, "load.failed") == 0 &&
           strstr(result->findings[0].text, "it has no parameter ");
}

/* True if the solution needs weights of another type or layout than the task's. The code is
 * runner.py's. */
static bool wants_its_own(const kf_measurement *r)
{
    const kf_workload_verdict *result = r->bench->result;
    return r->over && result->finding_count == 1 &&
           strcmp(result->findings[0].rule, "forward.raised") == 0 &&
           result->findings[0].measured == KF_WIRE_EXCEPTION_OF_OTHERS;
}

static bool reword(kf_finding *finding, const char *with_rule, const char *words, kf_error *error)
{
    char *rule = strdup(with_rule), *text = NULL;
    if (!rule || asprintf(&text, "%s: %s", words, finding->text) < 0) {
        free(rule);
        return kf_fail_memory(error, "a measurement");
    }
    free(finding->rule);
    free(finding->text);
    finding->rule = rule;
    finding->text = text;
    return true;
}

bool kf_measurement_explain_state(kf_measurement *r, kf_error *error)
{
    static const struct {
        const char *rule, *words;
    } causes[] = {
        [CACHED] = {"state.cached", "right only as long as its weights are those of its first "
                                    "call, and they are arguments like any other"},
        [CONSTRUCTED] = {"state.constructed", "right only with the weights that its constructor "
                                              "draws, and they are arguments like any other"},
        [EVALUATED] = {"mode.other",
                       "right only in evaluation mode, and the task's module is in training mode"},
        [TRAINED] = {"mode.other",
                     "right only in training mode, and the task's module is in evaluation mode"},
    };
    kf_workbench *bench = r->bench;
    if (bench->kinds[KF_ROLE_CANDIDATE] != KF_RUNNER_TORCH) return true;
    if (lacks_weights(r) || wants_its_own(r)) {
        bench->found.freezes =
            bench->kinds[KF_ROLE_ORACLE] == KF_RUNNER_TORCH && admits_frozen(bench->task);
        return true;
    }
    if (!is_mismatch(r) || r->set_count < 2) return true;
    if (bench->kinds[KF_ROLE_ORACLE] != KF_RUNNER_TORCH ||
        !cJSON_GetArraySize(state_of(bench->task)) || kf_measurement_time_left(r) < MIN_SECONDS)
        return true;
    kf_error why = {0};
    cause found = UNKNOWN;
    /* A failure here leaves the finding as it is. */
    if (!find_unseen(r, &found, &why))
        return why.code != KF_ERROR_BUSY || kf_fail_copy(error, &why);
    bench->found.freezes = (found == CACHED || found == CONSTRUCTED) && admits_frozen(bench->task);
    if (bench->modules.frozen && found != EVALUATED && found != TRAINED) return true;
    return found == UNKNOWN ||
           reword(&bench->result->findings[0], causes[found].rule, causes[found].words, error);
}

/* ---- the order of threads -------------------------------------------------------------------- */

/* Counts the elements in which two outputs differ by more than rounding. */
static int64_t count_differences(const kf_problem_argument *argument, const void *a, const void *b)
{
    int64_t count = 0;
    size_t size = kf_dtype_size(argument->dtype);
    double slack = kf_dtype_is_float(argument->dtype) ? 0x1p-6 : 0;
    for (int64_t i = 0; i < argument->elements; i++) {
        double x = kf_dtype_load(argument->dtype, (const char *)a + (size_t)i * size),
               y = kf_dtype_load(argument->dtype, (const char *)b + (size_t)i * size);
        bool same =
            x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= slack * fmax(fabs(x), fabs(y));
        count += !same;
    }
    return count;
}

/* Calls one set, with the warps of each block in an order (kfcpu_reverse). *differs: its outputs
 * differ from those of set 0. False after a fault, which changes no finding. */
static bool call_in_order(kf_measurement *r, uint32_t set, int order, bool *differs)
{
    const kf_problem *problem = r->bench->problem;
    kf_batch batch = {.order = &set,
                      .count = 1,
                      .warp_order = order,
                      .timeout = kf_measurement_timeout(r, CANDIDATE, 1)};
    *differs = false;
    if (kf_measurement_time_left(r) <= 0) return false;
    if (kf_runner_batch(r->runners[CANDIDATE], &batch) != KF_RUNNER_OK) {
        r->dirty = true;
        return false;
    }
    kf_clock_exclude(&r->bench->clock, KF_PAUSE_STALL, batch.stalled);
    kf_clock_charge_candidate(&r->bench->clock, batch.seconds - batch.stalled);
    for (int i = 0; i < problem->argument_count && set > 0 && !*differs; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT) continue;
        const void *first = r->device->buffers.output(r->sets, 0, i, NULL),
                   *now = r->device->buffers.output(r->sets, set, i, NULL);
        *differs = first && now && count_differences(argument, first, now) > 0;
    }
    return true;
}

/* What a result depends on. */
typedef enum dependence { NOTHING, CALLS, THREADS } dependence;

/* Calls in one order that seems to matter, and as always, drawn at random. The order is the cause
 * only if results differ in it and in no other call. A candidate that counts its calls differs at
 * some other time too. */
#define CONFIRMING_CALLS 12
static dependence confirm_order(kf_measurement *r, int order)
{
    for (int i = 0; i < CONFIRMING_CALLS; i++) {
        bool other = kf_choices_below(&r->choices, 2) == 1, differs;
        if (!call_in_order(r, 2, other ? order : 0, &differs)) return NOTHING;
        if (differs != other) return CALLS;
    }
    return THREADS;
}

/* Calls the candidate on equal inputs: twice as always, then with other orders of warps. */
static bool compare_orders(kf_measurement *r, dependence *on, kf_error *error)
{
    const kf_problem *problem = r->bench->problem;
    bool differs;
    if (!fill(r, 0, false, error)) return false;
    for (uint32_t set = 1; set < MAX_CALLS; set++)
        for (int i = 0; i < problem->argument_count; i++)
            if (problem->arguments[i].kind == KF_INPUT &&
                !r->device->buffers.copy_input(r->sets, 0, set, i, error))
                return false;
    for (uint32_t i = 0; i < r->set_count; i++) r->lists.order[i] = i;
    if (!kf_measurement_refresh(r, 0, CANDIDATE, MAX_CALLS, error)) return false;
    if (!call_in_order(r, 0, 0, &differs) || !call_in_order(r, 1, 0, &differs)) return true;
    if (differs) *on = CALLS;
    for (int order = 1; order <= 2 && *on == NOTHING; order++) {
        if (!call_in_order(r, 2, order, &differs)) return true;
        if (differs) *on = confirm_order(r, order);
    }
    return true;
}

/* Adds words to the pattern of the wrong output, from which the next step follows, and drops the
 * advice on larger inputs: a race explains those too. */
static void note_race(kf_workload_verdict *result, const char *words)
{
    char *text = result->findings[0].text, *advice = strstr(text, KF_OVERFLOW_REMEDY);
    if (advice) *advice = '\0';
    for (size_t i = 0; i < result->output_count; i++) {
        const char *name = result->outputs[i].argument;
        kf_error_figures *figures = &result->outputs[i].figures;
        if (strncmp(text, name, strlen(name)) != 0 || text[strlen(name)] != ':') continue;
        kf_pattern_append(figures->pattern, sizeof figures->pattern, words);
    }
}

bool kf_measurement_explain_order(kf_measurement *r, kf_error *error)
{
    kf_workload_verdict *result = r->bench->result;
    dependence on = NOTHING;
    if (!is_mismatch(r) || kf_runner_is_python(r->bench->kinds[KF_ROLE_CANDIDATE]) || r->in_place ||
        !r->bench->device->calls_block || r->set_count < MAX_CALLS || !r->runners[CANDIDATE] ||
        result->findings[0].blame != KF_BLAME_CANDIDATE)
        return true;
    if (!compare_orders(r, &on, error)) return false;
    kf_finding *finding = &result->findings[0];
    char *text = NULL;
    /* What a call did not write, or added to, differs from call to call. */
    if (on == NOTHING || (on == CALLS && (strstr(finding->text, KF_PATTERN_UNWRITTEN) ||
                                          strstr(finding->text, KF_PATTERN_ADDED) ||
                                          strstr(finding->text, ", random values"))))
        return true;
    const char *words = on == THREADS ? KF_PATTERN_THREADS : KF_PATTERN_CALLS,
               *advice = kf_mismatch_cause(words, false);
    if (on == THREADS)
        kf_verdict_remove_flags(r->bench->verdict, KF_FLAG_SUSPECTED); /* an honest mistake */
    note_race(result, words);
    if (asprintf(&text, "%s. %.*s", finding->text, (int)strlen(advice) - 1, advice) < 0)
        return kf_fail_memory(error, "a measurement");
    free(finding->text);
    finding->text = text;
    return true;
}
