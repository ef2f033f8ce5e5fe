/* From what a runner sends to JSON: the fields are an untrusted process's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../evaluator/runner/counters_wire.h"
#include "kforge/counters.h"
#include "kforge/json.h"
#include "kforge/roofline.h"

static const kf_counters_origin origin = {.candidate = "abc", .code = "def", .workload = "main", .major = 9, .minor = 0};

static void lists_that_may_be_asked_for(void **state)
{
    (void)state;
    kf_error error = {0};
    static const char *const good[] = {"all", "none", "sm__inst_executed.sum", "a.b,c_d,e1.pct"};
    static const char *const bad[] = {"", ",", "a,,b", "a,", ",a", "a b", "a\nb", "a;b", "a/../b", "a=b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(kf_counters_check(good[i], &error));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (kf_counters_check(bad[i], &error)) fail_msg("\"%s\" was accepted", bad[i]);
    char many[KF_COUNT_METRICS * 2 + 1];
    for (int i = 0; i < KF_COUNT_METRICS; i++) memcpy(many + 2 * i, "a,", 2);
    many[2 * KF_COUNT_METRICS - 1] = '\0'; /* 96 names, and time on top */
    assert_false(kf_counters_check(many, &error));
    many[2 * KF_COUNT_METRICS - 3] = '\0';
    assert_true(kf_counters_check(many, &error));
    kf_autofree char *names = kf_counters_names("lts__t_bytes.sum,gpu__time_duration.sum,x.sum");
    assert_string_equal(names, "gpu__time_duration.sum,lts__t_bytes.sum,x.sum");
    kf_autofree char *all = kf_counters_names("all");
    const char *const *rows;
    size_t count = kf_counters_all(&rows), commas = 0;
    for (const char *c = all; *c; c++) commas += *c == ',';
    assert_int_equal(commas + 1, count);
    assert_string_equal(rows[0], "gpu__time_duration.sum");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) assert_string_not_equal(rows[i], rows[k]);
}

static void names_of_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *symbol, *name;
    } rows[] = {
        {"_Z11gemm_kernelPKfS0_Pflll", "gemm_kernel"},
        {"gemm_kernel", "gemm_kernel"},
        {"_ZN3cub6detail9transform5EmptyEv", "cub::detail::transform::Empty"},
        {"_ZN12_GLOBAL__N_14loopEPf", "loop"},
        {"_ZN2ns4loopIfLi4EEEvPT_", "ns::loop"},
        {"_Z99short", "_Z99short"},
        {"_Z", "_Z"},
        {"_ZN", "_ZN"},
        {"_Z0", "_Z0"},
        {"_Z99999999999999999999999x", "_Z99999999999999999999999x"},
        {"_ZL5addupPf", "addup"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[256];
        kf_kernel_name(rows[i].symbol, name, sizeof name);
        assert_string_equal(name, rows[i].name);
    }
    char tiny[8];
    kf_kernel_name("_ZN9abcdefghi9abcdefghiEv", tiny, sizeof tiny); /* what does not fit is left out, nothing is overrun */
    assert_true(strlen(tiny) < sizeof tiny);
}

static void launch(kf_count_launch *l, const char *name, uint32_t threads, double time, double sum, double percent)
{
    *l = (kf_count_launch){.grid = {10, 1, 1}, .block = {threads, 1, 1}, .registers = 40, .static_shared = 1024};
    snprintf(l->name, sizeof l->name, "%s", name);
    l->values[0] = time;
    l->values[1] = sum;
    l->values[2] = percent;
}

/* The compiler is believed before the process that the candidate lives in. */
static void registers_are_the_compilers(void **state)
{
    (void)state;
    kf_auto(cJSON) build = cJSON_Parse(
        "{\"kernels\":[{\"name\":\"_Z1bPf\",\"registers\":1},{\"name\":\"_Z1aPf\",\"registers\":128,\"shared_bytes\":4096}]}");
    kf_counters_origin with = origin;
    with.build = build;
    kf_count_header header = {.launches = 1, .available = {1}};
    kf_count_launch *launches = calloc(KF_COUNT_LAUNCHES, sizeof *launches);
    launch(&launches[0], "_Z1aPf", 128, 1000, 0, 0);
    launches[0].dynamic_shared = 512;
    kf_auto(cJSON) json = kf_counters_json(&with, "gpu__time_duration.sum", &header, launches);
    const cJSON *kernel = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "kernels"), 0);
    assert_true(kf_json_get_number(kernel, "registers", 0) == 128);
    assert_true(kf_json_get_number(kernel, "shared_bytes", 0) == 4608);
    assert_true(kf_json_get_number(kernel, "occupancy", 0) == 0.25);
    free(launches);
}

static void launches_are_folded(void **state)
{
    (void)state;
    const char *names = "gpu__time_duration.sum,sm__inst_executed.sum,x.pct";
    kf_count_header header = {.launches = 4, .passes = 3, .available = {1, 1, 1}, .dropped = 2, .chip = "GH100"};
    kf_count_launch *launches = calloc(KF_COUNT_LAUNCHES, sizeof *launches);
    launch(&launches[0], "_Z1aPf", 128, 1000, 10, 50);
    launch(&launches[1], "_Z1bPf", 128, 9000, 1, 1);
    launch(&launches[2], "_Z1aPf", 128, 3000, 20, 90);
    launch(&launches[3], "_Z1aPf", 256, 1000, 5, 7); /* another block: another row */
    kf_auto(cJSON) json = kf_counters_json(&origin, names, &header, launches);
    assert_non_null(json);
    assert_string_equal(cJSON_GetObjectItem(json, "candidate")->valuestring, "abc");
    assert_true(kf_json_get_number(json, "dropped", 0) == 2);
    const cJSON *kernels = cJSON_GetObjectItem(json, "kernels");
    assert_int_equal(cJSON_GetArraySize(kernels), 3);
    const cJSON *b = cJSON_GetArrayItem(kernels, 0), *a = cJSON_GetArrayItem(kernels, 1);
    assert_string_equal(cJSON_GetObjectItem(b, "name")->valuestring, "b"); /* takes longest */
    assert_string_equal(cJSON_GetObjectItem(a, "symbol")->valuestring, "_Z1aPf");
    assert_true(kf_json_get_number(a, "launches", 0) == 2);
    assert_true(fabs(kf_json_get_number(a, "part", 0) - 4.0 / 14) < 1e-12);
    assert_true(fabs(kf_json_get_number(a, "occupancy", 0) - 0.75) < 1e-12); /* 40 registers: 48 of 64 warps */
    assert_string_equal(cJSON_GetObjectItem(a, "occupancy_limit")->valuestring, "registers");
    const cJSON *metrics = cJSON_GetObjectItem(a, "metrics");
    assert_true(kf_json_get_number(metrics, "sm__inst_executed.sum", 0) == 30);
    assert_true(fabs(kf_json_get_number(metrics, "x.pct", 0) - 80) < 1e-9); /* (50 + 3 × 90) / 4 */
    free(launches);
}

/* A candidate may write whatever it likes. */
static void lies_are_cut(void **state)
{
    (void)state;
    const char *names = "gpu__time_duration.sum,a.sum,b.pct";
    kf_count_header header = {
        .launches = 2, .passes = 0xffffffff, .available = {1, 1, 0}, .setup_seconds = NAN, .count_seconds = -1};
    kf_count_launch *launches = calloc(KF_COUNT_LAUNCHES, sizeof *launches);
    memset(header.chip, 'x', sizeof header.chip); /* no end */
    memset(&launches[0], 0xff, sizeof launches[0]);
    launch(&launches[1], "\033[31mred\n", 128, INFINITY, -5, 1e300);
    kf_auto(cJSON) json = kf_counters_json(&origin, names, &header, launches);
    assert_non_null(json);
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    kf_auto(cJSON) again = kf_json_parse(text, strlen(text), 1 << 20, "counters", NULL); /* valid UTF-8 */
    assert_non_null(again);
    assert_null(cJSON_GetObjectItem(again, "setup_seconds"));
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(again, "kernels"))
    {
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(kernel, "metrics")), 0);
        assert_null(cJSON_GetObjectItem(kernel, "roofline"));
    }
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(again, "missing"), 0)->valuestring, "b.pct");
    kf_autobuffer words = {0};
    kf_counters_words(again, &words); /* no crash, whatever is missing */
    assert_non_null(words.data);
    free(launches);
}

static void reasons_have_remedies(void **state)
{
    (void)state;
    char note[256], remedy[256];
    kf_count_header header = {.stage = KF_COUNT_REFUSED, .code = 35};
    memset(header.note, 'y', sizeof header.note);
    kf_counters_explain(&header, note, remedy);
    assert_non_null(strstr(note, "CUPTI refuses (35)"));
    assert_non_null(strstr(remedy, "NVreg_RestrictProfilingToAdminUsers"));
    header = (kf_count_header){.stage = KF_COUNT_NO_LIBRARY, .note = "loading it: no such file"};
    kf_counters_explain(&header, note, remedy);
    assert_non_null(strstr(remedy, "CUPTI of CUDA 13"));
    kf_auto(cJSON) json = kf_counters_note(&origin, note, remedy);
    kf_autobuffer words = {0};
    kf_counters_words(json, &words);
    assert_non_null(strstr(words.data, "no counters: CUPTI can't be used: loading it: no such file; install"));
    header.stage = 77;
    kf_counters_explain(&header, note, remedy);
    assert_non_null(strstr(note, "counting did not end"));
}

/* ---- roofline ------------------------------------------------------------------------------------------------------------------------ */

static kf_roofline of(const char *text)
{
    kf_auto(cJSON) metrics = cJSON_Parse(text);
    kf_roofline r;
    assert_non_null(metrics);
    kf_roofline_of(metrics, &r);
    return r;
}

#define DRAM "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\":"
#define L2 "\"lts__throughput.avg.pct_of_peak_sustained_elapsed\":"
#define L1 "\"l1tex__throughput.avg.pct_of_peak_sustained_active\":"
#define ISSUE "\"sm__issue_active.avg.pct_of_peak_sustained_active\":"
#define TENSOR "\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active\":"
#define FMA "\"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active\":"
#define STALLED(name) "\"smsp__average_warps_issue_stalled_" name "_per_issue_active.ratio\":"

static void what_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *metrics;
        kf_bound bound;
        double percent;
    } rows[] = {
        {"{" DRAM "88," L2 "40," ISSUE "20}", KF_BOUND_DRAM, 88},
        {"{" DRAM "30," L2 "71," ISSUE "20}", KF_BOUND_L2, 71},
        {"{" DRAM "10," L1 "93," FMA "50," ISSUE "60}", KF_BOUND_L1, 93},
        {"{" DRAM "10," TENSOR "80," ISSUE "15}", KF_BOUND_TENSOR, 80},
        {"{" DRAM "10," FMA "75," ISSUE "70}", KF_BOUND_PIPE, 75},
        {"{" DRAM "10," FMA "45," ISSUE "92}", KF_BOUND_ISSUE, 92},
        {"{" DRAM "59.9," ISSUE "20}", KF_BOUND_LATENCY, 59.9},
        {"{" DRAM "60," ISSUE "20}", KF_BOUND_DRAM, 60},
        {"{" DRAM "70," L2 "70}", KF_BOUND_DRAM, 70},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_roofline r = of(rows[i].metrics);
        if (r.bound != rows[i].bound || r.percent != rows[i].percent)
            fail_msg("row %zu: %s %g", i, kf_bound_name(r.bound), r.percent);
    }
    kf_roofline none;
    kf_auto(cJSON) empty = cJSON_Parse("{}");
    assert_false(kf_roofline_of(empty, &none));
    kf_autobuffer words = {0};
    kf_roofline_words(&none, &words);
    assert_int_equal(words.size, 0);
}

static void three_stalls(void **state)
{
    (void)state;
    kf_roofline r = of("{" DRAM "20," STALLED("long_scoreboard") "6," STALLED("barrier") "2," STALLED("wait") "1," STALLED(
        "selected") "1," STALLED("not_selected") "8," STALLED("membar") "1.5," STALLED("misc") "0.5}");
    assert_int_equal(r.stall_count, 3);
    assert_string_equal(r.stalls[0].name, "long_scoreboard");
    assert_true(fabs(r.stalls[0].percent - 30) < 1e-9); /* of all 20 cycles */
    assert_string_equal(r.stalls[1].name, "barrier");
    assert_string_equal(r.stalls[2].name, "membar");
    kf_autobuffer words = {0};
    kf_roofline_words(&r, &words);
    assert_non_null(strstr(words.data, "bound by latency"));
    assert_non_null(strstr(words.data, "30 % long_scoreboard: data from global or local memory"));
    kf_auto(cJSON) json = kf_roofline_json(&r);
    assert_string_equal(cJSON_GetObjectItem(json, "bound")->valuestring, "latency");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "stalls")), 3);
}

static void words_for_people(void **state)
{
    (void)state;
    kf_auto(cJSON) counters = cJSON_Parse(
        "{\"kernels\":[{\"name\":\"gemm_kernel\",\"launches\":2,\"part\":0.97,\"grid\":[64,64,1],\"block\":[16,16,1],\"registers\":"
        "40,"
        "\"shared_bytes\":2048,\"occupancy\":0.75,\"occupancy_limit\":\"registers\",\"metrics\":{" L1 "90," DRAM "10,"
        "\"sm__warps_active.avg.pct_of_peak_sustained_active\":71.5,\"dram__bytes_read.sum\":2e6,\"dram__bytes_write.sum\":1e6,"
        "\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\":200,\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum\":50}}],"
        "\"dropped\":3}");
    kf_autobuffer words = {0};
    kf_counters_words(counters, &words);
    static const char *const parts[] = {
        "gemm_kernel: 97 % of the time, 2 launches, grid 64x64x1, block 16x16x1, 40 registers a thread, 2 KiB",
        "bound by L1 and shared memory: 90 % of its peak",
        "occupancy 72 %, possible 75 % (limited by registers)",
        "DRAM 2 MB read, 1 MB written",
        "25 % of its wavefronts are bank conflicts",
        "3 more launches"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(words.data, parts[i])) fail_msg("\"%s\" is not in:\n%s", parts[i], words.data);
    kf_autobuffer nothing = {0};
    kf_counters_words(NULL, &nothing);
    assert_int_equal(nothing.size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_may_be_asked_for),
        cmocka_unit_test(names_of_kernels),
        cmocka_unit_test(registers_are_the_compilers),
        cmocka_unit_test(launches_are_folded),
        cmocka_unit_test(lies_are_cut),
        cmocka_unit_test(reasons_have_remedies),
        cmocka_unit_test(what_bounds),
        cmocka_unit_test(three_stalls),
        cmocka_unit_test(words_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
