/* Tests of the task loader: the contents of a good task, and the error for each kind of bad task.
 *
 * tests/unit/data/tasks/good uses every key. tests/unit/data/tasks/broken.json is a table of
 * changes to it. {"at": {PATH: VALUE, …}} sets fields, and null removes them. "error" is a part of
 * the expected message. "accepted": true marks a change that the loader accepts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/task.h"

#define DATA KFORGE_SOURCE_DIR "/tests/unit/data/tasks/"

static kf_task *load_good(void)
{
    kf_error error = {0};
    kf_task *task = kf_task_load(DATA "good", &error);
    if (!task) fail_msg("%s", error.text);
    return task;
}

static cJSON *read_json(const char *path)
{
    kf_error error = {0};
    size_t size;
    kf_autofree char *text = kf_file_read(path, 1 << 20, &size, &error);
    cJSON *json = text ? kf_json_parse(text, size, 1 << 20, path, &error) : NULL;
    if (!json) fail_msg("%s", error.text);
    return json;
}

/* Returns a bundle of the good task, or of another task, with JSON that a test may change. */
static cJSON *bundle_of(const char *folder)
{
    kf_error error = {0};
    char path[512];
    snprintf(path, sizeof path, DATA "%s", folder);
    kf_auto(kf_task) task = kf_task_load(path, &error);
    if (!task) fail_msg("%s", error.text);
    cJSON *bundle = kf_task_bundle(task);
    assert_non_null(bundle);
    return bundle;
}

static cJSON *good_bundle(void)
{
    return bundle_of("good");
}

/* ---- a good task ----------------------------------------------------------------------------- */

static void everything_is_read(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    assert_string_equal(kf_task_name(task), "weighted_rows");
    assert_string_equal(kf_task_entry(task), "weighted_rows");
    assert_string_equal(kf_task_precision(task), "f32");
    assert_non_null(strstr(kf_task_description(task), "state += y"));
    assert_string_equal(kf_task_folder(task), DATA "good");
    assert_int_equal(kf_task_workload_count(task), 3);
    assert_string_equal(kf_task_workload_name(task, 2), "ragged");
    assert_null(kf_task_workload_name(task, 3));
    assert_string_equal(kf_task_oracle(task)->name, "oracle.cu");
    assert_string_equal(kf_task_oracle(task)->text,
                        "// oracle.cu of the test task\nint only_text;\n");
    assert_int_equal(kf_task_oracle(task)->size, strlen(kf_task_oracle(task)->text));
    assert_string_equal(kf_task_baseline(task)->name, "baseline.cu");
    assert_string_equal(kf_task_baseline_named(task, "cublas")->name, "other/cublas.cu");
    assert_null(kf_task_baseline_named(task, "other"));
    assert_int_equal(kf_task_seed_count(task), 2);
    assert_string_equal(kf_task_seed(task, 0)->name, "seed.cu");
    assert_ptr_equal(kf_task_seed(task, 1), kf_task_baseline(task));
    assert_null(kf_task_seed(task, 2));
    assert_string_equal(kf_task_libraries(task)[0], "cublas");
    assert_string_equal(kf_task_libraries(task)[1], "cutlass");
    assert_null(kf_task_libraries(task)[2]);
    const char *const *own = kf_task_file_libraries(task, kf_task_baseline_named(task, "cublas"));
    assert_string_equal(own[0], "cudnn"); /* its own, not the candidates' */
    assert_null(own[1]);
    assert_ptr_equal(kf_task_file_libraries(task, kf_task_baseline(task)), kf_task_libraries(task));
    assert_true(kf_task_held_out(task));
    assert_string_equal(cJSON_GetObjectItem(kf_task_json(task), "license")->valuestring, "MIT");
}

static void main_workload_is_resolved(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    kf_problem problem;
    bool applies;
    kf_error error = {0};
    assert_true(kf_task_resolve(task, 0, "cuda", &problem, &applies, &error));
    assert_true(applies && problem.timed && !problem.hidden);
    assert_string_equal(problem.workload, "main");
    assert_int_equal(problem.argument_count, 12);
    const kf_problem_argument *a = problem.arguments;
    assert_true(a[0].kind == KF_INPUT && a[0].dtype == KF_F32 && a[0].dims == 2 &&
                a[0].shape[0] == 4096 && a[0].shape[1] == 1024);
    assert_true(a[0].elements == 4096 * 1024 && a[0].bytes == 4096u * 1024 * 4);
    assert_true(a[0].distribution.kind == KF_NORMAL && a[0].distribution.a == 0.5 &&
                a[0].distribution.b == 2 && !a[0].distribution.vary);
    assert_true(a[1].distribution.kind == KF_UNIFORM && a[1].distribution.a == -1 &&
                a[1].distribution.vary && a[1].distribution.nonfinite);
    assert_true(a[2].distribution.kind == KF_INTEGERS && a[2].distribution.b == 4096 &&
                a[2].distribution.vary);
    assert_true(a[3].tolerance.kind == KF_ALLCLOSE && a[3].tolerance.rtol == 1e-4 &&
                a[3].tolerance.atol == 1e-5);
    assert_true(a[4].tolerance.kind == KF_ANY_ORDER);
    assert_true(a[5].kind == KF_INOUT && a[5].tolerance.kind == KF_ERROR_RATIO &&
                a[5].tolerance.ratio == 4 && a[5].distribution.kind == KF_NORMAL);
    assert_true(!a[6].value.is_integer && a[6].value.number == 1.0 / 1024);
    assert_true(a[7].value.is_integer && a[7].value.integer == 1);
    assert_true(a[8].value.integer == 4096 && a[9].value.integer == 1024);
    assert_true(a[10].kind == KF_WORKSPACE && a[10].shape[0] == 128 &&
                a[10].bytes == 128u * 32 * 8);
    assert_true(a[11].kind == KF_WORKSPACE && a[11].dtype == KF_U8 &&
                a[11].bytes == 4u * 4096 * 1024);
    assert_true(problem.work_bytes == 4.0 * 4096 * 1024 &&
                problem.work_flops == 2.0 * 4096 * 1024 && !problem.work_bytes_derived);
    uint64_t bytes = 0;
    for (int i = 0; i < 12; i++)
        if (a[i].kind != KF_SCALAR) bytes += a[i].bytes;
    assert_true(problem.total_bytes == bytes);
}

static void overrides_take_their_turn(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    static const struct {
        int workload;
        const char *device;
        int64_t rows, cols;
    } rows[] = {{0, "cpu", 64, 1024},
                {0, "cuda", 4096, 1024},
                {1, "cpu", 16, 4096},
                {1, "cuda", 16, 65536},
                {2, "cuda", 1001, 77}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_binding bindings[KF_MAX_PARAMS];
        kf_error error = {0};
        assert_int_equal(kf_task_params(task, rows[i].workload, rows[i].device, bindings, &error),
                         3);
        assert_string_equal(bindings[2].name, "total");
        assert_true(bindings[0].value == rows[i].rows && bindings[1].value == rows[i].cols &&
                    bindings[2].value == rows[i].rows * rows[i].cols);
    }
    kf_problem problem;
    bool applies;
    kf_error error = {0};
    assert_true(kf_task_resolve(task, 2, "cpu", &problem, &applies, &error));
    assert_false(applies);
    assert_true(kf_task_resolve(task, 2, "cuda", &problem, &applies, &error));
    assert_true(applies && !problem.timed && problem.hidden);
    /* The workload is hidden on a device that it does not have, too. */
    assert_true(kf_task_hides(task, kf_task_workload_name(task, 2)));
    assert_false(kf_task_hides(task, kf_task_workload_name(task, 0)));
    assert_true(kf_task_hides(task, "unknown"));
    assert_true(kf_task_hides(NULL, kf_task_workload_name(task, 0)));
    const kf_problem_argument *a = problem.arguments;
    assert_true(a[0].distribution.kind == KF_SPARSE && a[0].distribution.a == 0.25 &&
                !a[0].distribution.vary);
    assert_true(a[5].distribution.kind == KF_CONSTANT && a[5].distribution.a == 3);
    /* the workload's beats the arguments' */
    for (int i = 3; i < 6; i++) assert_true(a[i].tolerance.kind == KF_EXACT);
    assert_false(kf_task_resolve(task, 0, "tpu", &problem, &applies, &error));
    assert_non_null(strstr(error.text, "no device \"tpu\"; expected cpu or cuda"));
    assert_false(kf_task_resolve(task, 3, "cpu", &problem, &applies, &error));
    assert_false(kf_task_resolve(task, -1, "cpu", &problem, &applies, &error));
    assert_int_equal(kf_task_params(task, 3, "cpu", (kf_binding[KF_MAX_PARAMS]){{0}}, &error), -1);
}

/* Inputs of a problem's own generator have no formula and no variation. Only inputs of a module may
 * have it, if the oracle is that module. */
static void generated_inputs(void **state)
{
    (void)state;
    static const struct {
        const char *argument, *error;
    } rows[] = {{"x", NULL},
                {"conv_weight", "arguments[2] (conv_weight).distribution: \"generated\" is for "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(cJSON) bundle = bundle_of("torch");
        cJSON *json = cJSON_GetObjectItemCaseSensitive(bundle, "json"), *argument;
        cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(json, "arguments"))
        {
            const char *name =
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(argument, "name"));
            if (strcmp(name, rows[i].argument) != 0) continue;
            cJSON_DeleteItemFromObject(argument, "distribution");
            cJSON_AddItemToObject(argument, "distribution",
                                  cJSON_Parse("{\"kind\": \"generated\"}"));
        }
        kf_error error = {0};
        kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
        if (rows[i].error) {
            assert_null(task);
            if (!strstr(error.text, rows[i].error)) fail_msg("%s", error.text);
            continue;
        }
        if (!task) fail_msg("%s", error.text);
        kf_problem problem;
        bool applies;
        assert_true(kf_task_resolve(task, 0, "cpu", &problem, &applies, &error));
        assert_true(problem.arguments[0].distribution.generated);
        assert_false(problem.arguments[0].distribution.vary);
        assert_false(problem.arguments[1].distribution.generated);
    }
}

/* The first forbidden string that a source contains, with its line, comments included. */
static void forbidden_strings(void **state)
{
    (void)state;
    kf_auto(cJSON) bundle = bundle_of("torch");
    cJSON *json = cJSON_GetObjectItemCaseSensitive(bundle, "json");
    cJSON_AddItemToObject(json, "forbidden", cJSON_Parse("[\"torch.topk\", \".sort(\"]"));
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
    if (!task) fail_msg("%s", error.text);
    int line = 0;
    assert_null(kf_task_forbidden(task, "import torch\ntorch.argsort(x)\n", &line));
    assert_string_equal(kf_task_forbidden(task, "\nx.sort()\n# torch.topk\n", &line), "torch.topk");
    assert_int_equal(line, 3);
    cJSON_ReplaceItemInObject(json, "forbidden", cJSON_Parse("[\"\"]"));
    kf_auto(kf_task) empty = kf_task_from_bundle(bundle, &error);
    assert_null(empty);
    assert_non_null(strstr(error.text, "forbidden: expected strings that are not empty"));
}

/* A workload that is only for generalisation has shapes of its own, and is neither timed nor shown.
 */
static void unseen_workloads(void **state)
{
    (void)state;
    kf_auto(cJSON) bundle = bundle_of("torch");
    cJSON *json = cJSON_GetObjectItemCaseSensitive(bundle, "json");
    cJSON *list =
        cJSON_Parse("[{\"name\": \"main\"}, {\"name\": \"ragged\", \"unseen\": \"sizes\", "
                    "\"shapes\": {\"x\": [1, 3, 7, 5], \"out\": [1, 8, 7, 5]}}]");
    assert_true(cJSON_AddItemToObject(json, "workloads", list));
    cJSON_AddStringToObject(json, "aliasing", "allow");
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
    if (!task) fail_msg("%s", error.text);
    assert_true(kf_task_allows_aliasing(task));
    assert_false(kf_task_is_unseen(task, 0));
    assert_true(kf_task_is_unseen(task, 1));
    assert_true(kf_task_hides(task, "ragged"));
    assert_false(kf_task_hides(task, "main"));
    assert_false(kf_task_is_unseen(task, 2));
    kf_problem problem;
    bool applies;
    assert_true(kf_task_resolve(task, 1, "cpu", &problem, &applies, &error));
    assert_true(applies && problem.hidden && !problem.timed && problem.own_shapes);
    assert_int_equal(problem.unseen, KF_UNSEEN_SIZES);
    assert_int_equal(problem.arguments[0].elements, 3 * 7 * 5);
    assert_int_equal(problem.arguments[1].elements, 8); /* not named, so as in the task */
    assert_int_equal(problem.arguments[3].shape[2], 7);
    assert_true(kf_task_resolve(task, 0, "cpu", &problem, &applies, &error));
    assert_true(problem.timed && !problem.own_shapes);
    assert_int_equal(problem.unseen, KF_GIVEN);
    assert_int_equal(problem.arguments[0].elements, 2 * 3 * 16 * 16);
}

static void prototypes(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    kf_autofree char *candidate = kf_task_prototype(task, false),
                     *oracle = kf_task_prototype(task, true);
    assert_string_equal(candidate, "extern \"C\" void weighted_rows(const float *x, const "
                                   "__nv_bfloat16 *w, const int32_t *index, float *y, "
                                   "int64_t *count, __half *state, float scale, bool flag, int64_t "
                                   "rows, int32_t cols, double *partial, "
                                   "void *scratch, cudaStream_t stream)");
    assert_string_equal(oracle, "extern \"C\" void weighted_rows_oracle(const float *x, const "
                                "__nv_bfloat16 *w, const int32_t *index, double *y, "
                                "int64_t *count, double *state, float scale, bool flag, int64_t "
                                "rows, int32_t cols, double *partial, "
                                "void *scratch, cudaStream_t stream)");
}

static void defaults(void **state)
{
    (void)state;
    kf_auto(cJSON) bundle = good_bundle();
    cJSON *json = cJSON_GetObjectItem(bundle, "json");
    static const char *const optional[] = {"description", "entry",     "device_params", "precision",
                                           "tolerance",   "libraries", "work",          "workloads",
                                           "held_out",    "family",    "tags",          "license"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        cJSON_DeleteItemFromObject(json, optional[i]);
    for (int i = 0; i < 12; i++) {
        cJSON *argument = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "arguments"), i);
        cJSON_DeleteItemFromObject(argument, "tolerance");
        if (i != 2) cJSON_DeleteItemFromObject(argument, "distribution");
    }
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
    if (!task) fail_msg("%s", error.text);
    assert_string_equal(kf_task_entry(task), "weighted_rows");
    assert_string_equal(kf_task_description(task), "");
    assert_string_equal(kf_task_precision(task), "f32");
    assert_null(kf_task_libraries(task)[0]);
    assert_null(kf_task_folder(task));
    assert_false(kf_task_held_out(task));
    assert_int_equal(kf_task_workload_count(task), 1);
    kf_problem problem;
    bool applies;
    assert_true(kf_task_resolve(task, 0, "cpu", &problem, &applies, &error));
    assert_true(applies && problem.timed && !problem.hidden);
    const kf_problem_argument *a = problem.arguments;
    assert_true(a[0].distribution.kind == KF_NORMAL && a[0].distribution.a == 0 &&
                a[0].distribution.b == 1 && a[0].distribution.vary);
    assert_true(a[3].tolerance.kind == KF_ERROR_RATIO && a[3].tolerance.ratio == 8);
    assert_true(a[4].tolerance.kind == KF_EXACT);
    /* inputs count once, outputs once, inout twice, scalars and workspaces not at all */
    assert_true(problem.work_bytes_derived && problem.work_flops == 0);
    assert_true(problem.work_bytes == (double)(a[0].bytes + a[1].bytes + a[2].bytes + a[3].bytes +
                                               a[4].bytes + 2 * a[5].bytes));
}

/* ---- bundles and hashes ---------------------------------------------------------------------- */

static void bundle_round_trip(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    kf_autofree char *line = cJSON_PrintUnformatted(bundle);
    kf_error error = {0};
    kf_auto(cJSON) parsed = kf_json_parse(line, strlen(line), 0, "line", &error);
    kf_auto(kf_task) again = kf_task_from_bundle(parsed, &error);
    if (!again) fail_msg("%s", error.text);
    assert_string_equal(kf_task_hash(again), kf_task_hash(task));
    assert_int_equal(strlen(kf_task_hash(task)), 64);
    kf_autofree char *a = kf_task_canonical(task), *b = kf_task_canonical(again);
    assert_string_equal(a, b);
}

static void reverse_objects(cJSON *value)
{
    for (cJSON *child = value->child; child; child = child->next) reverse_objects(child);
    if (!cJSON_IsObject(value) || !value->child) return;
    cJSON *reversed = cJSON_CreateObject();
    while (value->child) {
        cJSON *item = cJSON_DetachItemViaPointer(value, value->child);
        char *key = strdup(item->string);
        cJSON_InsertItemInArray(reversed, 0, item);
        free(item->string);
        item->string = key;
    }
    value->child = reversed->child;
    reversed->child = NULL;
    cJSON_Delete(reversed);
}

static void hash_depends_on_content_alone(void **state)
{
    (void)state;
    kf_auto(kf_task) task = load_good();
    kf_error error = {0};

    kf_auto(cJSON) reordered = good_bundle();
    reverse_objects(reordered);
    kf_auto(kf_task) same = kf_task_from_bundle(reordered, &error);
    if (!same) fail_msg("%s", error.text);
    kf_autofree char *spaced = cJSON_Print(cJSON_GetObjectItem(reordered, "json"));
    assert_true(strncmp(strstr(spaced, "\""), "\"license\"", 9) == 0); /* it was reversed */
    /* "params" keep their order of declaration out of the hash, too */
    assert_string_equal(kf_task_hash(same), kf_task_hash(task));

    kf_auto(cJSON) changed = good_bundle();
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(changed, "json"), "description",
                              cJSON_CreateString("another"));
    kf_auto(kf_task) other = kf_task_from_bundle(changed, &error);
    assert_string_not_equal(kf_task_hash(other), kf_task_hash(task));

    kf_auto(cJSON) edited = good_bundle();
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(edited, "files"), "seed.cu",
                              cJSON_CreateString("int x;"));
    kf_auto(kf_task) third = kf_task_from_bundle(edited, &error);
    assert_string_not_equal(kf_task_hash(third), kf_task_hash(task));
}

static void canonical_text(void **state)
{
    (void)state;
    kf_auto(cJSON) bundle = good_bundle();
    cJSON *json = cJSON_GetObjectItem(bundle, "json");
    cJSON_ReplaceItemInObject(json, "description", cJSON_CreateString("a\"b\\c\n\tz\xc3\xa4"));
    cJSON_ReplaceItemInObject(json, "work", cJSON_Parse("{\"flops\": 1e3, \"bytes\": 0.1}"));
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
    kf_autofree char *text = kf_task_canonical(task);
    assert_non_null(strstr(text, "\"description\":\"a\\\"b\\\\c\\u000a\\u0009z\xc3\xa4\",\"device_"
                                 "params\":{\"cpu\":{\"rows\":64}"));
    assert_non_null(strstr(text, "\"work\":{\"bytes\":0.10000000000000001,\"flops\":1000}"));
    kf_auto(cJSON) parsed = kf_json_parse(text, strlen(text), 0, "canonical", &error);
    assert_true(cJSON_Compare(parsed, kf_task_json(task), true));
}

static void bad_bundles(void **state)
{
    (void)state;
    static const struct {
        const char *remove, *key, *value, *error;
    } rows[] = {
        {"schema", NULL, NULL, "bundle: schema: missing"},
        {"json", NULL, NULL, "bundle: expected an object, found nothing"},
        {"files", NULL, NULL, "bundle: files: expected an object"},
        {"schema", "schema", "\"kforge-bundle/2\"",
         "bundle: schema: \"kforge-bundle/2\"; expected \"kforge-bundle/1\""},
        {NULL, "extra", "1", "bundle: extra: unknown key"},
        {"files", "files", "{}", "bundle: files.oracle.cu: missing; expected a string"},
        {"files", "files", "{\"oracle.cu\": 7}",
         "bundle: files.oracle.cu: expected a string, found a number"},
        {"files", "files", "{\"oracle.cu\": \"\"}", "bundle: the file \"oracle.cu\" is empty"},
        {"json", "json", "[]", "bundle: expected an object, found an array"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(cJSON) bundle = good_bundle();
        if (rows[i].remove) cJSON_DeleteItemFromObject(bundle, rows[i].remove);
        if (rows[i].key) cJSON_AddItemToObject(bundle, rows[i].key, cJSON_Parse(rows[i].value));
        kf_error error = {0};
        assert_null(kf_task_from_bundle(bundle, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (strncmp(error.text, rows[i].error, strlen(rows[i].error)) != 0)
            fail_msg("\"%s\": expected \"%s\"", error.text, rows[i].error);
    }
    kf_error error = {0};
    kf_auto(cJSON) more = good_bundle();
    cJSON_AddStringToObject(cJSON_GetObjectItem(more, "files"), "seeds.cu", "x");
    assert_null(kf_task_from_bundle(more, &error));
    assert_string_equal(error.text,
                        "bundle: files.seeds.cu: unknown key; did you mean \"seed.cu\"?");
    assert_null(kf_task_from_bundle(NULL, &error));
    kf_auto(cJSON) large = good_bundle();
    kf_autofree char *text = malloc(KF_SOURCE_BYTES + 2);
    memset(text, 'x', KF_SOURCE_BYTES + 1);
    text[KF_SOURCE_BYTES + 1] = '\0';
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(large, "files"), "seed.cu",
                              cJSON_CreateString(text));
    assert_null(kf_task_from_bundle(large, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    assert_string_equal(error.text,
                        "bundle: the file \"seed.cu\" has 4194305 bytes; the limit is 4194304");
}

/* ---- changes to the good task ---------------------------------------------------------------- */

/* Finds the container and the key or index of the last step of a path like "arguments[2].shape[0]".
 * All containers have to exist. */
static cJSON *walk(cJSON *root, const char *path, char last[64], int *index)
{
    cJSON *at = root, *parent = NULL;
    while (*path) {
        parent = at;
        *index = -1;
        if (*path == '[') {
            *index = (int)strtol(path + 1, NULL, 10);
            at = cJSON_GetArrayItem(parent, *index);
            path = strchr(path, ']') + 1;
        } else {
            path += *path == '.';
            size_t length = strcspn(path, ".[");
            memcpy(last, path, length);
            last[length] = '\0';
            at = cJSON_GetObjectItemCaseSensitive(parent, last);
            path += length;
        }
        if (!at && *path) fail_msg("no %s", path);
    }
    return parent;
}

static void set(cJSON *root, const char *path, const cJSON *value)
{
    char last[64];
    int index = -1;
    cJSON *parent = walk(root, path, last, &index);
    if (index < 0)
        cJSON_DeleteItemFromObjectCaseSensitive(parent, last);
    else
        cJSON_DeleteItemFromArray(parent, index);
    if (cJSON_IsNull(value)) return;
    if (index < 0)
        cJSON_AddItemToObject(parent, last, cJSON_Duplicate(value, true));
    else
        cJSON_InsertItemInArray(parent, index, cJSON_Duplicate(value, true));
}

static void table_of_broken_tasks(void **state)
{
    (void)state;
    kf_auto(cJSON) table = read_json(DATA "broken.json");
    const cJSON *row, *change;
    int rows = 0, failures = 0;
    cJSON_ArrayForEach(row, table)
    {
        const char *folder = cJSON_GetStringValue(cJSON_GetObjectItem(row, "of"));
        kf_auto(cJSON) bundle = bundle_of(folder ? folder : "good");
        cJSON *json = cJSON_GetObjectItem(bundle, "json");
        cJSON_ArrayForEach(change, cJSON_GetObjectItem(row, "at"))
            set(json, change->string, change);
        kf_error error = {0};
        kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
        const char *expected = cJSON_GetStringValue(cJSON_GetObjectItem(row, "error"));
        kf_autofree char *text = cJSON_PrintUnformatted(row);
        bool accepted = cJSON_IsTrue(cJSON_GetObjectItem(row, "accepted"));
        bool fine = accepted ? task != NULL
                             : !task && strstr(error.text, expected) &&
                                   strncmp(error.text, "bundle: ", 8) == 0;
        if (!fine) print_error("%s gives \"%s\"\n", text, task ? "no error" : error.text);
        failures += !fine;
        rows++;
    }
    assert_int_equal(failures, 0);
    assert_true(rows > 100);
}

/* Replaces every value of the task by one of each other type. Numbers may become expressions and
 * vice versa. Any other change gives an error that names the key. */
static int wrong_types(cJSON *root, cJSON *container, cJSON *bundle)
{
    static const char *const replacements[] = {"null", "true", "7",    "\"text\"",
                                               "[]",   "{}",   "[[]]", "-1.5"};
    int failures = 0;
    for (cJSON *child = container->child; child; child = child->next) {
        if (child->child) failures += wrong_types(root, child, bundle);
        cJSON saved = *child;
        for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++) {
            kf_auto(cJSON) other = cJSON_Parse(replacements[i]);
            if ((other->type & 0xff) == (saved.type & 0xff)) continue;
            child->type = other->type;
            child->child = other->child;
            child->valuestring = other->valuestring;
            child->valuedouble = other->valuedouble;
            kf_error error = {0};
            kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
            child->type = saved.type;
            child->child = saved.child;
            child->valuestring = saved.valuestring;
            child->valuedouble = saved.valuedouble;
            bool scalars = !cJSON_IsObject(&saved) && !cJSON_IsArray(&saved) &&
                           !cJSON_IsNull(other) && !cJSON_IsObject(other) && !cJSON_IsArray(other);
            if (task && !scalars)
                fail_msg("%s = %s is accepted", saved.string ? saved.string : "an element",
                         replacements[i]);
            if (task) continue;
            failures++;
            if (error.code != KF_ERROR_INPUT || strncmp(error.text, "bundle: ", 8) != 0)
                fail_msg("%s = %s: %s", saved.string ? saved.string : "an element", replacements[i],
                         error.text);
            if (saved.string && !strstr(error.text, saved.string) &&
                !strstr(error.text, "declare it")) /* or what depends on a param */
                fail_msg("%s = %s does not name the key: %s", saved.string, replacements[i],
                         error.text);
        }
    }
    return failures;
}

static void wrong_type_of_every_key(void **state)
{
    (void)state;
    kf_auto(cJSON) bundle = good_bundle();
    int failures = wrong_types(bundle, cJSON_GetObjectItem(bundle, "json"), bundle);
    assert_true(failures > 800);
    kf_auto(cJSON) torch = bundle_of("torch");
    set(cJSON_GetObjectItem(torch, "json"), "torch.init", NULL); /* the problem's business */
    assert_true(wrong_types(torch, cJSON_GetObjectItem(torch, "json"), torch) > 200);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *directory; /* a copy of the good task */

static void put(const char *name, const void *data, size_t size)
{
    kf_autofree char *path = kf_path_join(directory, name);
    kf_error error = {0};
    if (!kf_file_write(path, data, size, &error)) fail_msg("%s", error.text);
}

static int copy_good(void **state)
{
    (void)state;
    static const char *const names[] = {"task.json", "oracle.cu", "baseline.cu", "seed.cu",
                                        "other/cublas.cu"};
    directory = kf_directory_temporary("kforge-test-task", NULL);
    assert_non_null(directory);
    kf_autofree char *other = kf_path_join(directory, "other");
    assert_true(kf_directory_make(other, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kf_autofree char *path = kf_path_join(DATA "good", names[i]);
        size_t size;
        kf_autofree char *text = kf_file_read(path, 1 << 20, &size, NULL);
        put(names[i], text, size);
    }
    return 0;
}

static int copy_torch(void **state)
{
    (void)state;
    directory = kf_directory_temporary("kforge-test-task", NULL);
    assert_non_null(directory);
    for (int i = 0; i < 2; i++) {
        kf_autofree char *path = kf_path_join(DATA "torch", i ? "task.json" : "problem.py");
        size_t size;
        kf_autofree char *text = kf_file_read(path, 1 << 20, &size, NULL);
        put(i ? "task.json" : "problem.py", text, size);
    }
    return 0;
}

static int remove_copy(void **state)
{
    (void)state;
    kf_directory_remove(directory, NULL);
    free(directory);
    return 0;
}

static void refused(kf_error_code code, const char *expected)
{
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_load(directory, &error);
    if (task) fail_msg("accepted; expected \"%s\"", expected);
    if (!strstr(error.text, expected)) fail_msg("\"%s\": expected \"%s\"", error.text, expected);
    assert_int_equal(error.code, code);
}

static void a_torch_task(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(kf_task) plain = load_good();
    assert_false(kf_task_is_torch(plain));
    kf_auto(kf_task) task = kf_task_load(DATA "torch", &error);
    if (!task) fail_msg("%s", error.text);
    assert_true(kf_task_is_torch(task));
    assert_int_equal(kf_task_oracle(task)->kind, KF_SOURCE_TORCH);
    assert_ptr_equal(kf_task_oracle(task), kf_task_baseline(task));
    assert_false(kf_task_baseline_compiled(task, NULL));
    assert_true(kf_task_baseline_compiled(task, "compiled"));
    kf_auto(cJSON) patches = kf_task_torch_patches(task, 0, "cpu", &error);
    kf_autofree char *text = cJSON_PrintUnformatted(patches);
    assert_string_equal(text, "{\"batch\":2,\"size\":16}");
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    kf_auto(kf_task) again = kf_task_from_bundle(bundle, &error);
    if (!again) fail_msg("%s", error.text);
    assert_string_equal(kf_task_hash(task), kf_task_hash(again));
}

/* A problem file of a checkout stays there. The task stores its hash, and its text is part of the
 * task's hash. */
static void problem_file_elsewhere(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *elsewhere = kf_directory_temporary("kforge-test-problem", NULL);
    kf_autofree char *path = kf_path_join(elsewhere, "7_Conv.py"),
                     *inside = kf_path_join(directory, "problem.py");
    size_t size;
    kf_autofree char *text = kf_file_read(inside, 1 << 20, &size, NULL);
    assert_true(kf_file_write(path, text, size, NULL));
    assert_int_equal(unlink(inside), 0);
    kf_hash hash = kf_hash_bytes(text, size);
    char hex[KF_HASH_HEX];
    kf_hash_hex(&hash, hex);
    kf_auto(cJSON) json = read_json(DATA "torch/task.json");
    cJSON *oracle = cJSON_GetObjectItem(json, "oracle");
    assert_non_null(cJSON_AddStringToObject(oracle, "source", path));
    assert_non_null(cJSON_AddStringToObject(oracle, "sha256", hex));
    kf_autofree char *changed = cJSON_PrintUnformatted(json);
    put("task.json", changed, strlen(changed));
    kf_auto(kf_task) task = kf_task_load(directory, &error);
    if (!task) fail_msg("%s", error.text);
    assert_string_equal(kf_task_oracle(task)->text, text);
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    cJSON_DeleteItemFromObject(cJSON_GetObjectItem(bundle, "files"), "problem.py");
    cJSON_AddStringToObject(cJSON_GetObjectItem(bundle, "files"), "problem.py",
                            "class Model: pass\n");
    kf_auto(kf_task) other = kf_task_from_bundle(bundle, &error);
    assert_null(other);
    assert_non_null(strstr(error.text, "has changed since the task was made"));
    text[0] = '#';
    assert_true(kf_file_write(path, text, size, NULL));
    refused(KF_ERROR_INPUT, "has changed since the task was made");
    assert_int_equal(unlink(path), 0);
    refused(KF_ERROR_INPUT, "7_Conv.py");
    kf_directory_remove(elsewhere, NULL);
}

/* Sizes are scalars that forward does not take. A solution may define another name. */
static void sizes_and_another_solution(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(cJSON) json = read_json(DATA "torch/task.json");
    cJSON *torch = cJSON_GetObjectItem(json, "torch"),
          *sizes = cJSON_AddArrayToObject(torch, "sizes"), *argument = cJSON_CreateObject();
    assert_non_null(cJSON_AddStringToObject(torch, "solution", "custom_kernel"));
    cJSON_AddItemToArray(sizes, cJSON_CreateString("extent"));
    cJSON_AddStringToObject(argument, "name", "extent");
    cJSON_AddStringToObject(argument, "kind", "scalar");
    cJSON_AddStringToObject(argument, "dtype", "i64");
    cJSON_AddNumberToObject(argument, "value", 4);
    cJSON_AddItemToArray(cJSON_GetObjectItem(json, "arguments"), argument);
    kf_autofree char *good = cJSON_PrintUnformatted(json);
    put("task.json", good, strlen(good));
    kf_auto(kf_task) task = kf_task_load(directory, &error), *plain = load_good();
    if (!task) fail_msg("%s", error.text);
    assert_string_equal(kf_task_solution_name(task), "custom_kernel");
    assert_null(kf_task_solution_name(plain));
    assert_true(kf_task_is_solution(task, "def custom_kernel(data):"));
    assert_true(kf_task_is_solution(task, "class ModelNew(Model):"));
    assert_false(kf_task_is_solution(task, "void custom_kernel(int x);"));
    assert_false(kf_task_is_solution(plain, "class ModelNew(Model):"));
    assert_null(kf_task_solution_name(NULL));
    cJSON_ReplaceItemInObject(torch, "solution", cJSON_CreateString("no name"));
    kf_autofree char *unnamed = cJSON_PrintUnformatted(json);
    put("task.json", unnamed, strlen(unnamed));
    refused(KF_ERROR_INPUT, "torch.solution");
    cJSON_ReplaceItemInObject(torch, "solution", cJSON_CreateString("Model"));
    cJSON_DeleteItemFromObject(torch, "sizes");
    kf_autofree char *missing = cJSON_PrintUnformatted(json);
    put("task.json", missing, strlen(missing));
    refused(KF_ERROR_INPUT, "scalars or sizes");
}

static void task_json_or_folder(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(kf_task) good = load_good();
    kf_autofree char *path = kf_path_join(directory, "task.json"),
                     *slash = kf_path_join(directory, "");
    const char *const paths[] = {directory, path, slash};
    for (int i = 0; i < 3; i++) {
        kf_auto(kf_task) task = kf_task_load(paths[i], &error);
        if (!task) fail_msg("%s", error.text);
        /* a task's path is not part of its hash */
        assert_string_equal(kf_task_hash(task), kf_task_hash(good));
    }
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(directory), 0);
    kf_auto(kf_task) here = kf_task_load("task.json", &error);
    assert_int_equal(chdir(before), 0);
    free(before);
    assert_non_null(here);
    assert_string_equal(kf_task_folder(here), ".");
    assert_null(kf_task_load("/nonexistent/task", &error));
    assert_string_equal(
        error.text,
        "/nonexistent/task: No such file or directory; expected a task.json or the folder of one");
    assert_null(kf_task_load("/dev/null", &error));
    assert_string_equal(error.text, "/dev/null: not a regular file");
}

static void missing_and_unreadable_files(void **state)
{
    (void)state;
    kf_autofree char *seed = kf_path_join(directory, "seed.cu"),
                     *json = kf_path_join(directory, "task.json");
    unlink(seed);
    refused(KF_ERROR_INPUT,
            "task.json: cannot read the file \"seed.cu\": No such file or directory");
    assert_int_equal(mkdir(seed, 0700), 0);
    refused(KF_ERROR_INPUT, "seed.cu: not a regular file");
    rmdir(seed);
    put("seed.cu", "", 0);
    refused(KF_ERROR_INPUT, "the file \"seed.cu\" is empty");
    put("seed.cu", "a\0b", 3);
    refused(KF_ERROR_INPUT, "the file \"seed.cu\" is not text (a NUL byte or invalid UTF-8)");
    static const char *const invalid[] = {"\xff",
                                          "\xc3",
                                          "\xc0\x80",
                                          "\xe0\x80\x80",
                                          "\xed\xa0\x80",
                                          "\xf0\x80\x80\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xe2\x82"};
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        put("seed.cu", invalid[i], strlen(invalid[i]));
        refused(KF_ERROR_INPUT, "not text");
    }
    kf_autofree char *large = calloc(1, KF_SOURCE_BYTES + 1);
    memset(large, 'x', KF_SOURCE_BYTES + 1);
    put("seed.cu", large, KF_SOURCE_BYTES + 1);
    refused(KF_ERROR_LIMIT, "seed.cu: 4194305 bytes, more than the limit of 4194304");
    put("seed.cu", "// \xe2\x82\xac\n", 7);
    kf_auto(kf_task) task = kf_task_load(directory, NULL);
    assert_non_null(task);
    unlink(json);
    refused(KF_ERROR_INPUT, "there is no task.json in this folder");
}

static void links(void **state)
{
    (void)state;
    kf_autofree char *seed = kf_path_join(directory, "seed.cu"),
                     *other = kf_path_join(directory, "other"),
                     *up = kf_path_join(directory, "../kforge-test-up.cu");
    unlink(seed);
    assert_int_equal(symlink("other/cublas.cu", seed), 0); /* within the folder */
    kf_auto(kf_task) task = kf_task_load(directory, NULL);
    assert_non_null(task);
    unlink(seed);
    assert_int_equal(symlink("/etc/passwd", seed), 0);
    refused(KF_ERROR_INPUT, "the file \"seed.cu\" is a link out of the task's folder");
    unlink(seed);
    put("../kforge-test-up.cu", "x", 1);
    assert_int_equal(symlink("../kforge-test-up.cu", seed), 0);
    refused(KF_ERROR_INPUT, "the file \"seed.cu\" is a link out of the task's folder");
    unlink(up);
    unlink(seed);
    assert_int_equal(symlink("seed.cu", seed), 0);
    refused(KF_ERROR_INPUT, "cannot read the file \"seed.cu\": Too many levels of symbolic links");
    unlink(seed);
    put("seed.cu", "x", 1);
    assert_true(kf_directory_remove(other, NULL));
    assert_int_equal(symlink("/etc", other), 0);
    refused(KF_ERROR_INPUT, "cannot read the file \"other/cublas.cu\": No such file");
}

static void malformed_json(void **state)
{
    (void)state;
    kf_autofree char *path = kf_path_join(directory, "task.json");
    size_t size;
    kf_autofree char *text = kf_file_read(path, 1 << 20, &size, NULL);
    /* without white space at the end, every prefix is truncated */
    while (size && text[size - 1] != '}') size--;
    for (size_t length = 0; length < size; length += length < 200 || length > size - 200 ? 1 : 13) {
        put("task.json", text, length);
        kf_error error = {0};
        kf_auto(kf_task) task = kf_task_load(directory, &error);
        assert_null(task);
        assert_int_equal(error.code, KF_ERROR_INPUT);
        assert_non_null(strstr(error.text, "task.json:"));
    }
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"{\"schema\" \"kforge-task/1\"}", "task.json:1:11: not valid JSON here"},
        {"{\"schema\": \"kforge-task/1\", \"schema\": 1}",
         "the key \"schema\" comes twice in one object"},
        {"[]", "task.json: expected an object, found an array"},
        {"{}", "task.json: schema: missing; expected a string"},
        {"{} {}", "task.json:1:4: something follows the end"},
        {"\xff", "task.json:1:1: invalid UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("task.json", rows[i].text, strlen(rows[i].text));
        refused(KF_ERROR_INPUT, rows[i].error);
    }
    put("task.json", "{\"a\":\0}", 7);
    refused(KF_ERROR_INPUT, "task.json:1:6: a NUL byte");
    kf_autobuffer deep = {0};
    for (int i = 0; i < 100000; i++) kf_buffer_string(&deep, "{\"a\":");
    put("task.json", deep.data, deep.size);
    refused(KF_ERROR_INPUT, "nested too deep");
    kf_autobuffer huge = {0};
    kf_buffer_string(&huge, "{\"description\": \"");
    for (int i = 0; i < KF_JSON_TASK_BYTES; i++) kf_buffer_string(&huge, "x");
    kf_buffer_string(&huge, "\"}");
    put("task.json", huge.data, huge.size);
    refused(KF_ERROR_LIMIT, "more than the limit of 1048576");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(main_workload_is_resolved),
        cmocka_unit_test(overrides_take_their_turn),
        cmocka_unit_test(unseen_workloads),
        cmocka_unit_test(generated_inputs),
        cmocka_unit_test(forbidden_strings),
        cmocka_unit_test(prototypes),
        cmocka_unit_test(defaults),
        cmocka_unit_test(bundle_round_trip),
        cmocka_unit_test(hash_depends_on_content_alone),
        cmocka_unit_test(canonical_text),
        cmocka_unit_test(bad_bundles),
        cmocka_unit_test(table_of_broken_tasks),
        cmocka_unit_test(a_torch_task),
        cmocka_unit_test_setup_teardown(problem_file_elsewhere, copy_torch, remove_copy),
        cmocka_unit_test_setup_teardown(sizes_and_another_solution, copy_torch, remove_copy),
        cmocka_unit_test(wrong_type_of_every_key),
        cmocka_unit_test_setup_teardown(task_json_or_folder, copy_good, remove_copy),
        cmocka_unit_test_setup_teardown(missing_and_unreadable_files, copy_good, remove_copy),
        cmocka_unit_test_setup_teardown(links, copy_good, remove_copy),
        cmocka_unit_test_setup_teardown(malformed_json, copy_good, remove_copy),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
