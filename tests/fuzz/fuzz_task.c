/* Any bytes as the line that holds a bundle: strict JSON, then the whole loader. What loads has to
 * resolve, to have an address that a bundle of it keeps, a canonical form that parses, and findings
 * of lint that are complete. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/lint.h"
#include "kforge/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count_error(void *context, const kf_lint_finding *finding)
{
    if (!finding->rule[0] || !finding->path[0] || !finding->text[0] || !finding->advice[0]) abort();
    *(int *)context += finding->severity == KF_LINT_ERROR;
}

static void check(const kf_task *task)
{
    static kf_problem problem;
    kf_error error = {0};
    bool applies;
    for (int workload = 0; workload < kf_task_workload_count(task); workload++)
        for (int device = 0; device < 2; device++)
            if (!kf_task_resolve(task, workload, device ? "cuda" : "cpu", &problem, &applies,
                                 &error))
                abort();
    for (int i = 0; i < problem.argument_count; i++)
        if (problem.arguments[i].elements < 1 || problem.arguments[i].elements > KF_MAX_ELEMENTS)
            abort();
    int errors = 0;
    if (kf_task_lint_static(task, NULL, count_error, &errors) != errors) abort();
    kf_autofree char *prototype = kf_task_prototype(task, true);
    kf_autofree char *canonical = kf_task_canonical(task);
    if (!prototype || !canonical) abort();
    kf_auto(cJSON) parsed = kf_json_parse(canonical, strlen(canonical), 0, "canonical", &error);
    if (!parsed) abort();
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    kf_auto(kf_task) again = kf_task_from_bundle(bundle, &error);
    if (!again || strcmp(kf_task_hash(again), kf_task_hash(task)) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* kf_json_parse takes a length. The copy makes reads past it visible. */
    kf_autofree char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    kf_error error = {0};
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JSON_TASK_BYTES, "fuzz", &error);
    if (!json) {
        if (!error.text[0]) abort();
        return 0;
    }
    kf_auto(kf_task) task = kf_task_from_bundle(json, &error);
    if (task)
        check(task);
    else if (!error.text[0] || strchr(error.text, '\n'))
        abort();
    return 0;
}
