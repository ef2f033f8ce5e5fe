/* The plan of a bench: made for a new one, read from the options of its runs for a resumed one. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "llm.h"

#define OPTION_BYTES (16u << 20)
#define EPOCH 1735689600 /* 2025-01-01 */
#define TASK_WORD "{task}"

/* ---- beginning ------------------------------------------------------------------------------- */

/* Makes an id: 'b', then the time and three random characters in Crockford's base32. So ids sort by
 * their start. */
static bool make_id(char id[KF_RUN_ID], kf_error *error)
{
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint16_t chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel gives no random numbers");
    uint64_t value = ((uint64_t)(time(NULL) - EPOCH) << 15) | (chance & 0x7fff);
    id[0] = 'b';
    for (int i = KF_RUN_ID - 2; i >= 1; i--, value >>= 5) id[i] = digits[value & 31];
    id[KF_RUN_ID - 1] = '\0';
    return true;
}

static void describe_tasks(const kf_bench_suite *suite, cJSON *description)
{
    cJSON *tasks = cJSON_AddArrayToObject(description, "tasks");
    for (size_t i = 0; i < suite->count; i++) {
        const kf_bench_task *task = &suite->tasks[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "name", task->name);
        if (task->fault) cJSON_AddStringToObject(entry, "fault", task->fault);
        if (task->rule) cJSON_AddStringToObject(entry, "rule", task->rule);
        if (task->hash[0]) cJSON_AddStringToObject(entry, "hash", task->hash);
        if (task->level >= 0) cJSON_AddNumberToObject(entry, "level", (double)task->level);
        if (task->problem >= 0) cJSON_AddNumberToObject(entry, "problem", (double)task->problem);
        if (task->torch) cJSON_AddTrueToObject(entry, "torch");
        cJSON_AddItemToArray(tasks, entry);
    }
}

bool kf_bench_plan_begin(kf_bench_plan *plan, kf_error *error)
{
    if (!make_id(plan->id, error)) return false;
    if (!plan->name && !(plan->name = strdup(plan->suite.name)))
        return kf_fail_memory(error, "the plan of a bench");
    cJSON *json = plan->description = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "schema", KF_BENCH_SCHEMA);
    cJSON_AddStringToObject(json, "id", plan->id);
    cJSON_AddStringToObject(json, "name", plan->name);
    cJSON_AddStringToObject(json, "suite", plan->suite.path);
    cJSON_AddNumberToObject(json, "started", (double)time(NULL));
    cJSON_AddNumberToObject(json, "cost", plan->cost_usd);
    if (plan->source) cJSON_AddStringToObject(json, "source", plan->source);
    cJSON *models = cJSON_AddArrayToObject(json, "models");
    for (size_t i = 0; i < plan->search.model_count; i++)
        cJSON_AddItemToArray(models, cJSON_CreateString(plan->search.models[i]));
    if (plan->once) cJSON_AddTrueToObject(json, "once");
    /* Older benches lack this field. They all ran the protocol. */
    if (!plan->protocol) cJSON_AddFalseToObject(json, "protocol");
    cJSON *against = plan->extra_baseline_count ? cJSON_AddArrayToObject(json, "against") : NULL;
    for (size_t i = 0; i < plan->extra_baseline_count; i++)
        cJSON_AddItemToArray(against, cJSON_CreateString(plan->extra_baselines[i]));
    describe_tasks(&plan->suite, json);
    cJSON *imports = plan->suite.imports ? cJSON_Duplicate(plan->suite.imports, true) : NULL;
    if (imports) cJSON_AddItemToObject(json, "imports", imports);
    plan->search.bench = json;
    return (models && (imports || !plan->suite.imports)) ||
           kf_fail_memory(error, "the plan of a bench");
}

char *kf_bench_model_for(const char *spec, const char *task)
{
    kf_autobuffer text = {0};
    for (const char *at = spec; at;) {
        const char *word = strstr(at, TASK_WORD);
        kf_buffer_append(&text, at, word ? (size_t)(word - at) : strlen(at));
        if (word) kf_buffer_string(&text, task);
        at = word ? word + strlen(TASK_WORD) : NULL;
    }
    return kf_buffer_take(&text);
}

/* ---- finding one ----------------------------------------------------------------------------- */

const cJSON *kf_bench_of_options(const char *options, cJSON **memory)
{
    *memory = NULL;
    /* Most runs have no bench. Do not parse them. */
    if (!strstr(options, KF_BENCH_SCHEMA)) return NULL;
    *memory = kf_json_parse(options, strlen(options), OPTION_BYTES, "options of the run", NULL);
    const cJSON *bench = cJSON_GetObjectItemCaseSensitive(*memory, "bench");
    return strcmp(kf_json_get_text(bench, "schema", ""), KF_BENCH_SCHEMA) == 0 ? bench : NULL;
}

bool kf_bench_find(kf_store *store, const char *word, char id[KF_RUN_ID], kf_error *error)
{
    bool last = kf_store_means_latest(word), several = false;
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, NULL, error);
    kf_autoresult kf_store_run run = {0};
    int row = cursor ? 1 : -1;
    id[0] = '\0';
    while ((row = row == 1 ? kf_store_next_run(cursor, &run, error) : row) == 1) {
        kf_auto(cJSON) memory = NULL;
        const char *found = kf_json_get_text(kf_bench_of_options(run.options, &memory), "id", "");
        if (!*found || strlen(found) >= KF_RUN_ID ||
            (!last && strncmp(found, word, strlen(word)) != 0))
            continue;
        /* ids sort by their start */
        if (last ? strcmp(found, id) > 0 : !*id) snprintf(id, KF_RUN_ID, "%s", found);
        several |= !last && strcmp(found, id) != 0;
    }
    if (row < 0) return false;
    if (several)
        return kf_fail(error, KF_ERROR_INPUT,
                       "several benches begin with \"%s\"; give more of the id", word);
    if (*id) return true;
    return last ? kf_fail(error, KF_ERROR_INPUT,
                          "%s: the store holds no bench; \"kforge bench SUITE\" starts one",
                          kf_store_path(store))
                : kf_fail(error, KF_ERROR_INPUT,
                          "no bench \"%s\" in %s; \"kforge bench report\" lists them", word,
                          kf_store_path(store));
}

/* ---- going on -------------------------------------------------------------------------------- */

static bool read_tasks(kf_bench_plan *plan, kf_error *error)
{
    const cJSON *entry, *tasks = cJSON_GetObjectItemCaseSensitive(plan->description, "tasks");
    int count = cJSON_GetArraySize(tasks);
    plan->suite.tasks = calloc(count > 0 ? (size_t)count : 1, sizeof *plan->suite.tasks);
    if (!plan->suite.tasks) return kf_fail_memory(error, "the plan of a bench");
    cJSON_ArrayForEach(entry, tasks)
    {
        kf_bench_task *task = &plan->suite.tasks[plan->suite.count++];
        const char *fault = kf_json_get_text(entry, "fault", ""),
                   *rule = kf_json_get_text(entry, "rule", "");
        const cJSON *level = cJSON_GetObjectItemCaseSensitive(entry, "level");
        const cJSON *problem = cJSON_GetObjectItemCaseSensitive(entry, "problem");
        task->name = strdup(kf_json_get_text(entry, "name", ""));
        task->folder = strdup("");
        task->fault = *fault ? strdup(fault) : NULL;
        task->rule = *rule ? strdup(rule) : NULL;
        task->level = cJSON_IsNumber(level) ? (int64_t)level->valuedouble : -1;
        task->torch = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "torch"));
        task->problem = cJSON_IsNumber(problem) ? (int64_t)problem->valuedouble : -1;
        if (!task->name || !task->folder || (*fault && !task->fault) || (*rule && !task->rule))
            return kf_fail_memory(error, "the plan of a bench");
    }
    return true;
}

static kf_bench_task *task_named(kf_bench_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->count; i++)
        if (!suite->tasks[i].fault && strcmp(suite->tasks[i].name, name) == 0)
            return &suite->tasks[i];
    return NULL;
}

/* The first run of a bench gives settings and description. They are equal in all its runs. */
static bool read_settings(kf_bench_plan *plan, const kf_store_run *run, kf_error *error)
{
    if (!kf_search_options_read(run->options, &plan->search, plan->models, &plan->options, error))
        return false;
    plan->description = cJSON_Duplicate(plan->search.bench, true);
    cJSON_DeleteItemFromObjectCaseSensitive(plan->description,
                                            "solutions"); /* belongs to that run only */
    plan->search.bench = plan->description;
    const char *source = kf_json_get_text(plan->description, "source", "");
    const cJSON *cost = cJSON_GetObjectItemCaseSensitive(plan->description, "cost"), *model;
    plan->name = strdup(kf_json_get_text(plan->description, "name", ""));
    plan->suite.path = strdup(kf_json_get_text(plan->description, "suite", ""));
    plan->suite.name = strdup(kf_json_get_text(plan->description, "name", ""));
    plan->source = *source ? strdup(source) : NULL;
    plan->cost_usd = cJSON_IsNumber(cost) ? cost->valuedouble : 0;
    plan->once = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(plan->description, "once"));
    plan->protocol =
        !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(plan->description, "protocol"));
    plan->search.model_count = 0;
    cJSON_ArrayForEach(model, cJSON_GetObjectItemCaseSensitive(plan->description, "models"))
    {
        if (cJSON_IsString(model) && plan->search.model_count < KF_SEARCH_MODELS)
            plan->models[plan->search.model_count++] = model->valuestring;
    }
    /* The store's name of the device may have text after the hardware's name. */
    const char *more = plan->search.baseline ? strstr(run->device, ", against baseline ") : NULL;
    plan->hardware =
        more ? strndup(run->device, (size_t)(more - run->device)) : strdup(run->device);
    bool complete =
        plan->description && plan->name && plan->suite.path && plan->suite.name && plan->hardware;
    return complete ? read_tasks(plan, error) : kf_fail_memory(error, "the plan of a bench");
}

static bool read_runs(kf_bench_plan *plan, kf_store *store, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_runs(store, NULL, error);
    kf_autoresult kf_store_run run = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_run(cursor, &run, error) : row) == 1) {
        kf_auto(cJSON) memory = NULL;
        if (strcmp(kf_json_get_text(kf_bench_of_options(run.options, &memory), "id", ""),
                   plan->id) != 0)
            continue;
        if (!plan->description && !read_settings(plan, &run, error)) return false;
        kf_bench_task *task = task_named(&plan->suite, run.task_name);
        if (!task || task->run[0]) continue;
        snprintf(task->run, sizeof task->run, "%s", run.id);
        snprintf(task->hash, sizeof task->hash, "%s", run.task);
        task->finished = run.status == KF_RUN_FINISHED;
    }
    return row == 0;
}

/* Loads tasks that were not begun from their folders. */
static bool find_folders(kf_bench_plan *plan, const char *path, kf_error *error)
{
    kf_bench_suite found = {0};
    size_t missing = 0;
    for (size_t i = 0; i < plan->suite.count; i++)
        missing += !plan->suite.tasks[i].fault && !plan->suite.tasks[i].run[0];
    if (!missing) return true;
    bool loaded = kf_bench_suite_load(path ? path : plan->suite.path, NULL, 0, &found, error);
    for (size_t i = 0; loaded && i < plan->suite.count; i++) {
        kf_bench_task *task = &plan->suite.tasks[i], *there = task_named(&found, task->name);
        if (task->fault || task->run[0]) continue;
        if (!there) {
            loaded = kf_fail(error, KF_ERROR_INPUT,
                             "task %s of the bench is missing from %s; give the suite's folder",
                             task->name, found.path);
            continue;
        }
        free(task->folder);
        task->folder = kf_steal(&there->folder);
        memcpy(task->hash, there->hash, sizeof task->hash);
        memcpy(task->text_hash, there->text_hash, sizeof task->text_hash);
    }
    kf_bench_suite_clear(&found);
    return loaded;
}

/* True if the search drew all replies that are wanted, and judged them. */
static bool has_its_samples(const kf_bench_plan *plan, const cJSON *state)
{
    return plan->search.samples &&
           kf_json_get_number(state, "answered", 0) >= (double)plan->search.samples &&
           !cJSON_GetArraySize(cJSON_GetObjectItem(state, "under-way")) &&
           !cJSON_GetArraySize(cJSON_GetObjectItem(state, "replies"));
}

/* Opens the tasks with a search that a budget ended early, so that it can continue. A search
 * without a number of samples always can. */
static bool open_again(kf_bench_plan *plan, kf_store *store, kf_error *error)
{
    for (size_t i = 0; i < plan->suite.count; i++) {
        kf_bench_task *task = &plan->suite.tasks[i];
        kf_autofree char *text = NULL;
        size_t size;
        if (!task->finished || plan->source) continue;
        if (!kf_store_run_state(store, task->run, &text, &size, error)) return false;
        kf_auto(cJSON) state = size ? cJSON_Parse(text) : NULL;
        task->finished = has_its_samples(plan, state);
    }
    return true;
}

bool kf_bench_plan_resume(kf_bench_plan *plan, kf_store *store, const char *id, const char *suite,
                          bool more, kf_error *error)
{
    return kf_bench_find(store, id, plan->id, error) && read_runs(plan, store, error) &&
           (!more || open_again(plan, store, error)) && find_folders(plan, suite, error);
}

bool kf_bench_conditions_changed(const kf_bench_plan *plan, kf_error *error)
{
    const kf_error why = *error;
    return kf_fail(error, KF_ERROR_INPUT,
                   "bench %s was started under other conditions: %s; resume it there, or start "
                   "another one here",
                   plan->id, why.text);
}

void kf_bench_plan_clear(kf_bench_plan *plan)
{
    for (size_t i = 0; i < KF_SEARCH_MODELS; i++) free(plan->frozen[i]);
    kf_bench_suite_clear(&plan->suite);
    cJSON_Delete(plan->description);
    cJSON_Delete(plan->options);
    free(plan->name);
    free(plan->source);
    free(plan->hardware);
    *plan = (kf_bench_plan){0};
}
