/* Lint: the static rules on changes of a sound task, the rules about outputs on arrays made for
 * them. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/json.h"
#include "kforge/lint.h"

/* ---- static ---------------------------------------------------------------------------------- */

static const char sound[] =
    "{\"schema\":\"kforge-task/1\",\"name\":\"t\",\"description\":\"y = 2 "
    "x\",\"params\":{\"n\":1024,\"m\":\"2*n\"},"
    "\"arguments\":[{\"name\":\"x\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[\"m\"]},"
    "{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"f32\",\"shape\":[\"m\"]},"
    "{\"name\":\"n\",\"kind\":\"scalar\",\"dtype\":\"i64\",\"value\":\"n\"}],"
    "\"oracle\":{\"file\":\"o.cu\"},\"baseline\":{\"file\":\"b.cu\"},\"work\":{\"bytes\":\"8*m\"},"
    "\"workloads\":[{\"name\":\"main\"},{\"name\":\"ragged\",\"params\":{\"n\":1003},\"timed\":"
    "false,\"hidden\":true}]}";

static void collect(void *context, const kf_lint_finding *finding)
{
    assert_true(finding->rule[0] && finding->path[0] && finding->text[0] && finding->advice[0]);
    assert_null(strchr(finding->text, '\n'));
    kf_buffer_format(context, "%c:%s@%s: %s; ", finding->severity == KF_LINT_ERROR ? 'E' : 'W',
                     finding->rule, finding->path, finding->text);
}

/* Findings for the sound task with the top-level key `key` replaced by the JSON text `value` (NULL:
 * removed), and another one if `key2`. */
static int lint_changed(const char *key, const char *value, const char *key2, const char *value2,
                        const kf_lint_limits *limits, kf_buffer *found)
{
    kf_error error = {0};
    cJSON *json = cJSON_Parse(sound);
    assert_non_null(json);
    const char *const keys[2] = {key, key2}, *const values[2] = {value, value2};
    for (int i = 0; i < 2; i++) {
        if (!keys[i]) continue;
        cJSON_DeleteItemFromObject(json, keys[i]);
        cJSON *item = values[i] ? cJSON_Parse(values[i]) : NULL;
        if (values[i] && !item) fail_msg("%s", values[i]);
        if (item) cJSON_AddItemToObject(json, keys[i], item);
    }
    kf_auto(cJSON) bundle =
        cJSON_Parse("{\"schema\":\"kforge-bundle/1\",\"files\":{\"o.cu\":\"x\",\"b.cu\":\"x\"}}");
    cJSON_AddItemToObject(bundle, "json", json);
    kf_auto(kf_task) task = kf_task_from_bundle(bundle, &error);
    if (!task) fail_msg("%s", error.text);
    return kf_task_lint_static(task, limits, collect, found);
}

static void sound_task_has_no_findings(void **state)
{
    (void)state;
    kf_autobuffer found = {0};
    assert_int_equal(lint_changed(NULL, NULL, NULL, NULL, NULL, &found), 0);
    if (found.size) fail_msg("%s", found.data);
}

#define ARGUMENTS(X, Y, MORE)                                                        \
    "[{\"name\":\"x\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[\"m\"]" X "}," \
    "{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"f32\",\"shape\":[\"m\"]" Y "}" MORE "]"
#define SCALAR ",{\"name\":\"n\",\"kind\":\"scalar\",\"dtype\":\"i64\",\"value\":\"n\"}"

static void static_rules(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *expected;
        int errors;
    } rows[] = {
        {"description", "\" \\n\"", "W:description.empty@description: there is no description; ",
         0},
        {"description", "\"x times two, not yy or y_\"",
         "W:description.output@description: the output \"y\" is not mentioned; ", 0},
        {"params", "{\"n\":1024,\"m\":\"2*n\",\"k\":3}",
         "W:params.unused@params.k: nothing depends on it; ", 0},
        {"arguments", ARGUMENTS("", "", ""), "W:params.not_passed@params.n: shapes depend on it",
         0},
        {"arguments",
         "[{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"f32\",\"shape\":[\"m\", 2]}" SCALAR "]",
         "E:inputs.none@arguments: ", 1},
        {"arguments",
         ARGUMENTS(",\"distribution\":{\"kind\":\"constant\",\"value\":1}", "", SCALAR),
         "E:inputs.constant@arguments: ", 1},
        {"arguments",
         ARGUMENTS("", "",
                   SCALAR ",{\"name\":\"b\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[1],"
                          "\"distribution\":{\"kind\":\"constant\"}}"),
         "W:distribution.constant@arguments[3] (b): it is constant in every workload; ", 0},
        {"arguments",
         ARGUMENTS(",\"distribution\":{\"kind\":\"normal\",\"vary\":false}", "", SCALAR),
         "W:distribution.not_varied@arguments: ", 0},
        {"arguments",
         "[{\"name\":\"x\",\"kind\":\"input\",\"dtype\":\"i32\",\"shape\":[\"m\"],"
         "\"distribution\":{\"kind\":\"sorted\",\"high\":9}},"
         "{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"f32\",\"shape\":[\"m\"]}" SCALAR "]",
         "W:distribution.predictable@arguments[0] (x): in the timed workload \"main\" ", 0},
        {"arguments", ARGUMENTS(",\"distribution\":{\"kind\":\"one_hot\"}", "", SCALAR),
         "W:distribution.predictable@arguments[0] (x): in the timed workload \"main\" ", 0},
        {"workloads",
         "[{\"name\":\"a\",\"timed\":false,\"hidden\":true},{\"name\":\"b\",\"params\":{\"n\":3},"
         "\"distributions\":{\"x\":{\"kind\":\"constant\"}}}]",
         "W:distribution.predictable@workloads[1].distributions.x: in the timed workload \"b\" ",
         0},
        {"tolerance", "{\"allclose\":{\"rtol\":1,\"atol\":0}}",
         "E:tolerance.zeros@arguments[1] (y): rtol is 1 in workload \"main\": all zeros pass; ", 1},
        {"tolerance", "{\"allclose\":{\"rtol\":1e-3,\"atol\":0.1}}",
         "W:tolerance.loose@arguments[1] (y): rtol 0.001, atol 0.1 in workload \"main\" are "
         "loose; ",
         0},
        {"arguments",
         "[{\"name\":\"x\",\"kind\":\"output\",\"dtype\":\"i32\",\"shape\":[\"m\"],"
         "\"tolerance\":{\"any_order\":true}},"
         "{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"i32\",\"shape\":[\"m\"],"
         "\"tolerance\":{\"any_order\":true}},"
         "{\"name\":\"z\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[\"m\"]}" SCALAR "]",
         "W:tolerance.pairs@arguments[1] (y): in workload \"main\" another output may be in any "
         "order, too: which of their elements belong together is not checked; ",
         0},
        {"tolerance", "{\"error_ratio\":1000}",
         "W:tolerance.loose@arguments[1] (y): error_ratio 1000 ", 0},
        {"precision", "\"tf32\"",
         "W:precision.lower@arguments[1] (y): the task allows tf32 arithmetic", 0},
        {"work", NULL, "W:work.absent@work.bytes: it is derived", 0},
        {"work", "{\"bytes\":\"9*m\"}",
         "W:work.bytes@work.bytes: 18432 bytes in workload \"main\" on cpu are more than the 16384 "
         "of its inputs and outputs; ",
         0},
        {"workloads",
         "[{\"name\":\"a\",\"timed\":false,\"hidden\":true},{\"name\":\"b\",\"timed\":false,"
         "\"params\":{\"n\":3}}]",
         "E:workload.none_timed@workloads: no workload on cpu is timed, so there is no speedup; "
         "E:workload.none_timed@workloads: no workload on cuda",
         2},
        {"workloads",
         "[{\"name\":\"a\",\"devices\":[\"cuda\"],\"hidden\":true},{\"name\":\"b\",\"timed\":false,"
         "\"params\":{\"n\":3}}]",
         "E:workload.none_timed@workloads: no workload on cpu is timed", 1},
        {"workloads", "[{\"name\":\"a\",\"hidden\":true,\"params\":{\"n\":3}}]",
         "W:workload.single@workloads: there is only one workload; ", 0},
        {"workloads", "[{\"name\":\"a\",\"hidden\":true},{\"name\":\"b\",\"params\":{\"n\":2}}]",
         "W:workload.none_ragged@workloads: on cpu all sizes are powers of two", 0},
        {"workloads", "[{\"name\":\"a\"},{\"name\":\"b\",\"params\":{\"n\":3}}]",
         "W:workload.none_hidden@workloads: no workload is hidden from models; ", 0},
        {"device_params", "{\"cpu\":{\"n\":67108864}}",
         "W:size.large@workloads[0]: two sets of buffers and the oracle's outputs take 3072 MiB on "
         "cpu; the limit is 512 MiB; ",
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_autobuffer found = {0};
        int errors = lint_changed(rows[i].key, rows[i].value, NULL, NULL, NULL, &found);
        if (errors != rows[i].errors || !found.data ||
            strncmp(found.data, rows[i].expected, strlen(rows[i].expected)) != 0)
            fail_msg("%s: \"%s\", %d errors; expected \"%s\"", rows[i].key,
                     found.data ? found.data : "", errors, rows[i].expected);
    }
    kf_lint_limits limits = {.cpu_bytes = 100000, .cuda_bytes = 1000};
    kf_autobuffer found = {0};
    lint_changed(NULL, NULL, NULL, NULL, &limits, &found);
    assert_non_null(strstr(found.data, "W:size.large@workloads[0]: two sets of buffers and the "
                                       "oracle's outputs take 0 MiB on cuda"));
    assert_null(strstr(found.data, "on cpu"));
}

/* The tasks that kforge ships load, and lint refuses none of them. */
static void shipped_tasks(void **state)
{
    (void)state;
    DIR *directory = opendir(KFORGE_SOURCE_DIR "/tasks");
    int tasks = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[sizeof KFORGE_SOURCE_DIR + 320];
        snprintf(path, sizeof path, "%s/tasks/%s/task.json", KFORGE_SOURCE_DIR, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, F_OK) != 0) continue;
        kf_error error = {0};
        kf_auto(kf_task) task = kf_task_load(path, &error);
        if (!task) fail_msg("%s", error.text);
        kf_autobuffer found = {0};
        if (kf_task_lint_static(task, NULL, collect, &found) != 0)
            fail_msg("%s: %s", entry->d_name, found.data);
        tasks++;
    }
    if (directory) closedir(directory);
    if (!tasks) skip();
}

/* ---- outputs --------------------------------------------------------------------------------- */

enum { ROWS = 8, COLS = 16, N = ROWS * COLS, CASES = 4 };

/* x, w (inputs), y (output), s (inout): four cases, of which the third is the first with x drawn
 * anew, the fourth with w drawn anew. */
typedef struct fixture {
    kf_problem problem;
    double x[CASES][N], w[CASES][N], y[CASES][N], s_before[CASES][N], s_after[CASES][N],
        baseline_y[CASES][N];
    const double *given[CASES][4], *expected[CASES][4], *baseline[CASES][4];
    kf_lint_case cases[CASES];
} fixture;

static uint64_t random_state;

static double draw(void) /* uniform in [-1, 1), xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(int64_t)(random_state * 0x2545f4914f6cdd1dull) * 0x1p-63;
}

/* Sound: y = x * w, s += y. */
static void prepare(fixture *f)
{
    random_state = 42;
    static const struct {
        const char *name;
        kf_argument_kind kind;
    } arguments[4] = {{"x", KF_INPUT}, {"w", KF_INPUT}, {"y", KF_OUTPUT}, {"s", KF_INOUT}};
    f->problem = (kf_problem){.workload = "main", .argument_count = 4};
    for (int a = 0; a < 4; a++)
        f->problem.arguments[a] =
            (kf_problem_argument){.name = arguments[a].name,
                                  .kind = arguments[a].kind,
                                  .dtype = KF_F32,
                                  .dims = 2,
                                  .shape = {ROWS, COLS},
                                  .elements = N,
                                  .bytes = 4 * N,
                                  .tolerance = {.kind = KF_ERROR_RATIO, .ratio = 8}};
    for (int c = 0; c < CASES; c++) {
        for (int i = 0; i < N; i++) {
            f->x[c][i] = c == 3 ? f->x[0][i] : draw();
            f->w[c][i] = c == 2 ? f->w[0][i] : draw();
            f->s_before[c][i] = c >= 2 ? f->s_before[0][i] : draw();
            f->y[c][i] = f->x[c][i] * f->w[c][i];
            f->s_after[c][i] = f->s_before[c][i] + f->y[c][i];
            f->baseline_y[c][i] = f->y[c][i] * (1 + 1e-7);
        }
        f->given[c][0] = f->x[c], f->given[c][1] = f->w[c], f->given[c][2] = NULL,
        f->given[c][3] = f->s_before[c];
        f->expected[c][0] = f->expected[c][1] = NULL, f->expected[c][2] = f->y[c],
        f->expected[c][3] = f->s_after[c];
        f->baseline[c][0] = f->baseline[c][1] = NULL, f->baseline[c][2] = f->baseline_y[c],
        f->baseline[c][3] = f->s_after[c];
        f->cases[c] = (kf_lint_case){.problem = &f->problem,
                                     .given = f->given[c],
                                     .expected = f->expected[c],
                                     .baseline = f->baseline[c],
                                     .base = c >= 2 ? 0 : -1,
                                     .changed = c - 2};
    }
}

static void expect(fixture *f, size_t count, int errors, const char *expected)
{
    kf_autobuffer found = {0};
    kf_error error = {0};
    int got = kf_lint_outputs(f->cases, count, collect, &found, &error);
    const char *text = found.data ? found.data : "";
    if (got != errors || (expected[0] ? !strstr(text, expected) : text[0]))
        fail_msg("%d errors, \"%s\"; expected %d, \"%s\"", got, text, errors, expected);
}

/* Sets y of every case from a formula of c and i. Keeps s away from y. */
#define SET_Y(f, FORMULA)           \
    for (int c = 0; c < CASES; c++) \
        for (int i = 0; i < N; i++) \
    (f)->y[c][i] = (FORMULA), (f)->baseline_y[c][i] = (float)(f)->y[c][i]

static void sound_outputs_have_no_findings(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f);
    expect(&f, CASES, 0, "");
    expect(&f, 1, 0, "");
    for (int c = 0; c < CASES; c++) f.cases[c].baseline = NULL;
    expect(&f, CASES, 0, "");
    f.problem.arguments[2].tolerance = f.problem.arguments[3].tolerance =
        (kf_tolerance){.kind = KF_ALLCLOSE, .rtol = 1e-4, .atol = 1e-4};
    expect(&f, CASES, 0, "");
    f.problem.arguments[2].tolerance = f.problem.arguments[3].tolerance =
        (kf_tolerance){.kind = KF_EXACT};
    expect(&f, CASES, 0, "");
    f.problem.arguments[2].tolerance = f.problem.arguments[3].tolerance =
        (kf_tolerance){.kind = KF_ANY_ORDER};
    expect(&f, CASES, 0, "");
    /* softmax-like: tiny but varied outputs are fine where the tolerance is relative */
    prepare(&f);
    SET_Y(&f, 1e-6 * f.x[c][i] * f.w[c][i]);
    expect(&f, CASES, 0, "");
}

static void shortcuts_that_pass(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f);
    SET_Y(&f, 0.0);
    expect(&f, CASES, 1, "E:output.zeros@arguments[2] (y): an output of zeros would pass");
    prepare(&f);
    SET_Y(&f, 3.25);
    expect(
        &f, CASES, 1,
        "E:output.mean@arguments[2] (y): an output that is 3.25 everywhere, the mean, would pass");
    prepare(&f);
    SET_Y(&f, f.x[c][i]);
    expect(&f, CASES, 1, "E:output.copy@arguments[2] (y): a copy of the input \"x\" would pass");
    prepare(&f);
    for (int c = 0; c < CASES; c++) memcpy(f.s_after[c], f.s_before[c], sizeof f.s_after[c]);
    expect(&f, CASES, 1, "E:output.untouched@arguments[3] (s): leaving it untouched would pass");
    /* a ratio so large that it lets zeros through */
    prepare(&f);
    f.problem.arguments[2].tolerance.ratio = 1e8;
    expect(&f, CASES, 1, "E:output.zeros@arguments[2] (y)");
    /* absolute tolerance, small outputs */
    prepare(&f);
    SET_Y(&f, 1e-3 * f.x[c][i] * f.w[c][i]);
    f.problem.arguments[2].tolerance =
        (kf_tolerance){.kind = KF_ALLCLOSE, .rtol = 1e-2, .atol = 1e-2};
    expect(&f, CASES, 2, "E:output.small@arguments[2] (y): all elements are within");
    expect(&f, CASES, 2, "E:output.zeros@arguments[2] (y): an output of zeros would pass");
    /* sorting where the order is free: the input is as good as the output */
    prepare(&f);
    SET_Y(&f, f.x[c][N - 1 - i]);
    f.problem.arguments[2].tolerance = (kf_tolerance){.kind = KF_ANY_ORDER};
    expect(&f, CASES, 1, "E:output.copy@arguments[2] (y): a copy of the input \"x\" would pass");
    f.problem.arguments[2].tolerance = (kf_tolerance){.kind = KF_EXACT};
    expect(&f, CASES, 0, "");
}

/* With error_ratio, the baseline's own error is the tolerance. So size and shape of the error
 * count.
 */
static void baselines_that_disagree(void **state)
{
    (void)state;
    static fixture f;
    static const struct {
        double factor, offset, noise, wrong;
        kf_dtype dtype;
        bool tf32;
        const char *expected;
    } rows[] = {
        {1.001, 0, 0, NAN, KF_F32, false, "it is 1.001 times the oracle"},
        {1 / 1.001, 0, 1e-6, NAN, KF_F32, false, "it is 0.999001 times the oracle"},
        {1, 1e-3, 0, NAN, KF_F32, false, "plus 0.001"},
        {1.001, 0, 0, NAN, KF_F32, true, ""},
        {1.001, 0, 0, NAN, KF_F16, false, ""},
        {1.5, 0, 0, NAN, KF_F32, false, "at element 0: the oracle has"},
        {1, 0, 1e-3, NAN, KF_F32, false, ""},
        {1, 0, 0.05, NAN, KF_F32, false, "its error is"},
        {1, 0, 0.01, NAN, KF_BF16, false, ""},
        {1, 0, 1e-7, 3, KF_F32, false, "at element 77: the oracle has"},
        {1, 0, 1e-7, INFINITY, KF_F32, false, "the baseline inf"},
        {1 + 1e-6, 0, 0, NAN, KF_F32, false, ""},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        prepare(&f);
        f.problem.arguments[2].dtype = rows[r].dtype;
        f.problem.arguments[2].tf32 = rows[r].tf32;
        for (int c = 0; c < CASES; c++)
            for (int i = 0; i < N; i++)
                f.baseline_y[c][i] = f.y[c][i] * rows[r].factor + rows[r].offset +
                                     rows[r].noise * f.y[c][i] * draw();
        if (!isnan(rows[r].wrong)) f.baseline_y[2][77] = rows[r].wrong;
        kf_autobuffer expected = {0};
        if (rows[r].expected[0])
            kf_buffer_string(&expected, "E:baseline.disagrees@arguments[2] (y): ");
        expect(&f, CASES, rows[r].expected[0] != 0, expected.size ? expected.data : "");
        if (expected.size) expect(&f, CASES, 1, rows[r].expected);
    }
    /* An exact output, and an array in any order. */
    prepare(&f);
    f.problem.arguments[2].tolerance.kind = KF_EXACT;
    SET_Y(&f, floor(100 * f.x[c][i] * f.w[c][i]));
    f.baseline_y[1][5] += 1;
    expect(&f, CASES, 1, "at element 5: the oracle has");
    f.problem.arguments[2].tolerance.kind = KF_ANY_ORDER;
    expect(&f, CASES, 1, "E:baseline.disagrees@arguments[2] (y)");
    /* Rounding errors of a single element look like a factor by chance. */
    prepare(&f);
    f.problem.arguments[2].elements = 1;
    for (int c = 0; c < CASES; c++)
        f.y[c][0] = 1 + f.x[c][0], f.baseline_y[c][0] = f.y[c][0] * (1 + 2e-5);
    expect(&f, CASES, 0, "");
}

static void nearly_constant_outputs(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f); /* depends on the place alone */
    SET_Y(&f, sin(i * i));
    expect(&f, CASES, 1,
           "E:output.same_for_all_inputs@arguments[2] (y): it is the same for all inputs, within "
           "the tolerance");
    prepare(&f); /* one number a row */
    SET_Y(&f, f.x[c][i / COLS] * f.w[c][i / COLS]);
    expect(&f, CASES, 1,
           "E:output.same_along_axis@arguments[2] (y): it is the same along axis 1, within the "
           "tolerance");
    prepare(&f); /* varies by a thousandth: fine for the comparison, close to degenerate */
    SET_Y(&f, 1 + 1e-3 * f.x[c][i] * f.w[c][i]);
    expect(&f, CASES, 0, "W:output.deviation_over_inputs@arguments[2] (y)");
    expect(&f, CASES, 0,
           "W:output.deviation_along_axis@arguments[2] (y): its standard deviation along axis 0");
    /* No table passes an exact comparison. */
    f.problem.arguments[2].tolerance = (kf_tolerance){.kind = KF_EXACT};
    expect(&f, CASES, 0, "");
    f.problem.arguments[2].tolerance = (kf_tolerance){
        .kind = KF_ALLCLOSE, .rtol = 1e-6, .atol = 1e-6}; /* robust-kbench's filter is absolute */
    expect(&f, CASES, 3, "E:output.deviation_over_inputs@arguments[2] (y)");
}

static void range_of_outputs(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f);
    f.y[1][5] = NAN;
    f.y[0][6] = -INFINITY;
    expect(&f, 2, 1,
           "E:output.nonfinite@arguments[2] (y): the oracle gives NaN or infinity for 2 elements "
           "from finite inputs");
    f.problem.arguments[0].distribution.nonfinite = true;
    expect(&f, 2, 1, "E:baseline.disagrees@arguments[2] (y): in workload \"main\"");
    f.baseline_y[1][5] = NAN;
    f.baseline_y[0][6] = -INFINITY;
    expect(&f, 2, 0, "");
    prepare(&f);
    f.problem.arguments[2].dtype = KF_F16;
    SET_Y(&f, 1e6 * f.x[c][i] * f.w[c][i]);
    expect(&f, CASES, 1, "elements are finite in float64 but overflow f16");
}

static void inputs_without_influence(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f); /* w is not used */
    SET_Y(&f, f.x[c][i] * f.x[c][i]);
    for (int c = 0; c < CASES; c++)
        for (int i = 0; i < N; i++) f.s_after[c][i] = f.s_before[c][i] + f.y[c][i];
    expect(&f, CASES, 1,
           "E:input.without_influence@arguments[1] (w): a candidate that ignores this input would "
           "pass");
    /* used in one output is enough */
    for (int c = 0; c < CASES; c++)
        for (int i = 0; i < N; i++) f.s_after[c][i] = f.s_before[c][i] + f.w[c][i];
    expect(&f, CASES, 0, "");
    expect(&f, 3, 0, ""); /* no case with w changed: nothing to say */
    /* w has one legal value, as offsets of one row: drawing it anew changes nothing */
    SET_Y(&f, f.x[c][i] * f.x[c][i]);
    for (int c = 0; c < CASES; c++)
        for (int i = 0; i < N; i++) {
            f.w[c][i] = f.w[0][i];
            f.s_after[c][i] = f.s_before[c][i] + f.y[c][i];
        }
    expect(&f, CASES, 0, "");
}

/* Of a bf16 output, the ratio multiplies only the baseline's error beyond one rounding, as in the
 * comparison. */
static void small_influence_on_bf16(void **state)
{
    (void)state;
    static const double parts[] = {0.001, 0.01};
    for (int k = 0; k < 2; k++) {
        static fixture f;
        prepare(&f);
        f.problem.arguments[2].dtype = KF_BF16;
        for (int c = 0; c < CASES; c++)
            for (int i = 0; i < N; i++) {
                unsigned char element[8];
                f.y[c][i] = f.x[c][i] + parts[k] * f.w[c][i];
                f.s_after[c][i] = f.s_before[c][i] + f.x[c][i];
                kf_dtype_store(KF_BF16, element, f.y[c][i]);
                f.baseline_y[c][i] = kf_dtype_load(KF_BF16, element);
            }
        /* A copy of x passes where the part is small. */
        expect(&f, CASES, k ? 0 : 2, k ? "" : "E:input.without_influence@arguments[1] (w)");
    }
}

static void integers(void **state)
{
    (void)state;
    static fixture f;
    prepare(&f);
    f.problem.arguments[2].dtype = KF_I32;
    f.problem.arguments[2].tolerance = (kf_tolerance){.kind = KF_EXACT};
    SET_Y(&f, floor(100 * f.x[c][i] * f.w[c][i]));
    expect(&f, CASES, 0, "");
    SET_Y(&f, 7);
    expect(&f, CASES, 1, "E:output.mean@arguments[2] (y): an output that is 7 everywhere");
}

static void cases_that_do_not_fit(void **state)
{
    (void)state;
    static fixture f;
    kf_error error = {0};
    kf_autobuffer found = {0};
    assert_int_equal(kf_lint_outputs(f.cases, 0, collect, &found, &error), -1);
    assert_int_equal(error.code, KF_ERROR_INTERNAL);
    prepare(&f);
    kf_problem other = f.problem;
    other.arguments[2].elements = 1;
    f.cases[1].problem = &other;
    assert_int_equal(kf_lint_outputs(f.cases, CASES, collect, &found, &error), -1);
    prepare(&f);
    f.expected[2][3] = NULL;
    assert_int_equal(kf_lint_outputs(f.cases, CASES, collect, &found, &error), -1);
    prepare(&f);
    f.cases[2].base = CASES;
    assert_int_equal(kf_lint_outputs(f.cases, CASES, collect, &found, &error), -1);
    assert_int_equal(found.size, 0);
}

static void slow_oracles(void **state)
{
    (void)state;
    const struct {
        double oracle, baseline;
        bool timed, found;
    } rows[] = {
        {0.104, 230e-6, true, true}, /* atomics of all blocks on one table, on an H100 */
        {0.104, 230e-6, false, false}, {0.004, 1e-6, true, false},   {0.5, 0.1, true, false},
        {0.02, 0.00099, true, true},   {0.02, 0.00101, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_autobuffer found = {0};
        kf_problem problem = {.workload = "main", .timed = rows[i].timed};
        kf_lint_pace(&problem, rows[i].oracle, rows[i].baseline, collect, &found);
        if ((found.size > 0) != rows[i].found)
            fail_msg("row %zu: %s", i, found.size ? found.data : "nothing");
        if (found.size)
            assert_true(strncmp(found.data, "W:oracle.slow@workloads (main): ", 31) == 0);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_oracles),
        cmocka_unit_test(sound_task_has_no_findings),
        cmocka_unit_test(static_rules),
        cmocka_unit_test(shipped_tasks),
        cmocka_unit_test(sound_outputs_have_no_findings),
        cmocka_unit_test(shortcuts_that_pass),
        cmocka_unit_test(baselines_that_disagree),
        cmocka_unit_test(nearly_constant_outputs),
        cmocka_unit_test(range_of_outputs),
        cmocka_unit_test(inputs_without_influence),
        cmocka_unit_test(small_influence_on_bf16),
        cmocka_unit_test(integers),
        cmocka_unit_test(cases_that_do_not_fit),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
