/* From what a runner sends to JSON: the fields are an untrusted process's. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "counters_wire.h"
#include "../../evaluator/runner/cupti.h"
#include "device_cuda.h"
#include "device_work.h"
#include "kforge/counters.h"
#include "kforge/json.h"
#include "kforge/roofline.h"

static const kf_counters_origin origin = {
    .candidate = "abc", .code = "def", .workload = "main", .major = 9, .minor = 0};

static void lists_that_may_be_asked_for(void **state)
{
    (void)state;
    kf_error error = {0};
    static const char *const good[] = {"all", "none", "sm__inst_executed.sum", "a.b,c_d,e1.pct"};
    static const char *const bad[] = {"",    ",",    "a,,b", "a,",     ",a",
                                      "a b", "a\nb", "a;b",  "a/../b", "a=b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(kf_counters_check(good[i], &error));
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
    for (const char *c = all; *c; c++) commas += *c == ',' || *c == ';';
    assert_int_equal(commas + 1, count);
    char *level = strchr(all, ';'); /* behind the first pass */
    assert_non_null(level);
    assert_int_equal(strncmp(level + 1, rows[kf_counters_passes_end(1)],
                             strlen(rows[kf_counters_passes_end(1)])),
                     0);
    assert_null(strchr(names, ';'));
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
    /* a name that does not fit is cut, and no byte past the buffer is written */
    kf_kernel_name("_ZN9abcdefghi9abcdefghiEv", tiny, sizeof tiny);
    assert_true(strlen(tiny) < sizeof tiny);
}

static void launch(kf_count_launch *l, const char *name, uint32_t threads, double time, double sum,
                   double percent)
{
    *l = (kf_count_launch){
        .grid = {10, 1, 1}, .block = {threads, 1, 1}, .registers = 40, .static_shared = 1024};
    snprintf(l->name, sizeof l->name, "%s", name);
    l->values[0] = time;
    l->values[1] = sum;
    l->values[2] = percent;
}

/* The compiler is believed before the process that the candidate lives in. */
static void registers_are_the_compilers(void **state)
{
    (void)state;
    kf_auto(cJSON) build =
        cJSON_Parse("{\"kernels\":[{\"name\":\"_Z1bPf\",\"registers\":1},{\"name\":\"_Z1aPf\","
                    "\"registers\":128,\"shared_bytes\":4096}]}");
    kf_counters_origin with = origin;
    with.build = build;
    kf_count_header header = {.launches = 1, .metrics = {1}};
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
    kf_count_header header = {
        .launches = 4, .passes = 3, .metrics = {1, 1, 1}, .dropped = 2, .chip = "GH100"};
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
    /* 40 registers: 48 of 64 warps */
    assert_true(fabs(kf_json_get_number(a, "occupancy", 0) - 0.75) < 1e-12);
    assert_string_equal(cJSON_GetObjectItem(a, "occupancy_limit")->valuestring, "registers");
    const cJSON *metrics = cJSON_GetObjectItem(a, "metrics");
    assert_true(kf_json_get_number(metrics, "sm__inst_executed.sum", 0) == 30);
    assert_true(fabs(kf_json_get_number(metrics, "x.pct", 0) - 80) < 1e-9); /* (50 + 3 × 90) / 4 */
    free(launches);
}

/* Metrics left out for lack of time and metrics that the chip lacks are reported apart. */
static void what_was_left_out(void **state)
{
    (void)state;
    const char *names =
        "gpu__time_duration.sum,a.sum,b.pct,c.pct,d.sum,e.sum,f.sum,g.sum,h.sum,i.sum,j.sum";
    kf_count_header header = {.launches = 1,
                              .passes = 3,
                              .all_passes = 11,
                              .ranges = 5,
                              .metrics = {1, 1, 0},
                              .pass_seconds = {1, 2, 3}};
    memset(header.metrics + 3, KF_COUNT_LEFT_OUT, 8);
    kf_count_launch *launches = calloc(KF_COUNT_LAUNCHES, sizeof *launches);
    launch(&launches[0], "_Z1aPf", 128, 1000, 10, 50);
    launches[0].values[4] = 7; /* not believed */
    kf_auto(cJSON) json = kf_counters_json(
        &origin,
        "gpu__time_duration.sum,a.sum,b.pct;c.pct,d.sum;e.sum,f.sum,g.sum,h.sum,i.sum;j.sum",
        &header, launches); /* semicolons are commas here */
    const cJSON *left = cJSON_GetObjectItem(json, "left_out"),
                *missing = cJSON_GetObjectItem(json, "missing");
    assert_int_equal(cJSON_GetArraySize(missing), 1);
    assert_int_equal(cJSON_GetArraySize(left), 8);
    assert_string_equal(cJSON_GetArrayItem(left, 0)->valuestring, "c.pct");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(
                         cJSON_GetArrayItem(cJSON_GetObjectItem(json, "kernels"), 0), "metrics")),
                     2);
    assert_int_equal(
        cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(json, "seconds"), "passes")), 3);
    kf_autobuffer words = {0};
    kf_counters_words(json, &words);
    assert_non_null(strstr(words.data, "only 3 of 11 passes were made; not counted: c.pct, d.sum, "
                                       "e.sum, f.sum, g.sum, h.sum and 2 more\n"));
    memset(header.metrics + 3, KF_COUNT_COUNTED, 8);
    kf_auto(cJSON) whole = kf_counters_json(&origin, names, &header, launches);
    kf_autobuffer nothing = {0};
    kf_counters_words(whole, &nothing);
    assert_null(strstr(nothing.data, "not counted"));
    free(launches);
}

/* Seconds of a call, and how many passes there is time for. */
static void passes_there_is_time_for(void **state)
{
    (void)state;
    static const struct {
        double call;
        uint32_t passes;
    } rows[] = {{0, KF_COUNT_PASSES},
                {NAN, KF_COUNT_PASSES},
                {-1, KF_COUNT_PASSES},
                {1e-9, KF_COUNT_PASSES},
                {150e-6, KF_COUNT_PASSES},
                {2.1e-3, 47},
                {9e-3, 11},
                {12e-3, 8},
                {0.03, 3},
                {0.1, 1},
                {2, 1},
                {INFINITY, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (kf_counters_passes(rows[i].call) != rows[i].passes)
            fail_msg("%g s: %u passes instead of %u", rows[i].call,
                     kf_counters_passes(rows[i].call), rows[i].passes);
}

/* Returns the number of passes that the first `count` metrics of "all" take on a GH100. CUPTI
 * computes it without a GPU. */
static size_t passes_of_first(const kf_cupti *cupti, size_t count)
{
    const char *const *names;
    kf_counters_all(&names);
    cupti_host host = {.size = CUPTI_SIZE(cupti_host, host), .chip = "GH100"};
    assert_int_equal(cupti->host_initialize(&host), 0);
    cupti_add_metrics add = {.size = CUPTI_SIZE(cupti_add_metrics, count),
                             .host = host.host,
                             .names = (const char **)(uintptr_t)names,
                             .count = count};
    assert_int_equal(cupti->add_metrics(&add), 0);
    cupti_config_size size = {.size = CUPTI_SIZE(cupti_config_size, config_size),
                              .host = host.host};
    assert_int_equal(cupti->config_size(&size), 0);
    kf_autofree uint8_t *config = malloc(size.config_size);
    cupti_config_image image = {.size = CUPTI_SIZE(cupti_config_image, config),
                                .host = host.host,
                                .config_size = size.config_size,
                                .config = config};
    cupti_passes passes = {.size = CUPTI_SIZE(cupti_passes, passes),
                           .config_size = size.config_size,
                           .config = config};
    assert_int_equal(cupti->config_image(&image), 0);
    assert_int_equal(cupti->passes(&passes), 0);
    cupti->host_end(&(cupti_host_end){.size = CUPTI_SIZE(cupti_host_end, host), .host = host.host});
    return passes.passes;
}

/* The metrics that show a kernel's bound take one pass. A metric at no extra cost is never left for
 * a later pass. CUPTI checks the order of the table. */
static void the_first_cost_least(void **state)
{
    (void)state;
    char path[4096];
    kf_cupti cupti = {.library = NULL};
#ifdef __SANITIZE_ADDRESS__
    skip(); /* what it allocates for good is its own affair */
#endif
    if (!kf_cupti_find(path) || !(cupti.library = dlopen(path, RTLD_NOW | RTLD_LOCAL))) skip();
#define X(name, symbol, arguments)                                       \
    {                                                                    \
        void *function = dlsym(cupti.library, symbol);                   \
        assert_non_null(function);                                       \
        memcpy((void *)&cupti.name, (void *)&function, sizeof function); \
    }
    KF_CUPTI_FUNCTIONS(X)
#undef X
    static const char *const wanted[] = {
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",
        "sm__issue_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "dram__bytes_read.sum",
        "dram__bytes_write.sum"};
    const char *const *names;
    size_t all = kf_counters_all(&names);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t at = 0;
        while (at < all && strcmp(names[at], wanted[i]) != 0) at++;
        assert_true(at < kf_counters_passes_end(1));
    }
    size_t passes = 1;
    for (size_t end; (end = kf_counters_passes_end(passes)) < all; passes++) {
        assert_int_equal(passes_of_first(&cupti, end), passes);
        assert_int_equal(passes_of_first(&cupti, end + 1), passes + 1);
    }
    assert_int_equal(passes_of_first(&cupti, all), passes);
    assert_int_equal(passes, 11);
}

/* A candidate may write whatever it likes. */
static void lies_are_cut(void **state)
{
    (void)state;
    const char *names = "gpu__time_duration.sum,a.sum,b.pct";
    kf_count_header header = {.launches = 2,
                              .passes = 0xffffffff,
                              .metrics = {1, 1, 0},
                              .setup_seconds = NAN,
                              .count_seconds = -1};
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
    /* valid UTF-8 */
    kf_auto(cJSON) again = kf_json_parse(text, strlen(text), 1 << 20, "counters", NULL);
    assert_non_null(again);
    assert_null(cJSON_GetObjectItem(again, "setup_seconds"));
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(again, "kernels"))
    {
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(kernel, "metrics")), 0);
        assert_null(cJSON_GetObjectItem(kernel, "roofline"));
    }
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(again, "missing"), 0)->valuestring,
                        "b.pct");
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
    assert_non_null(
        strstr(words.data, "no counters: CUPTI can't be used: loading it: no such file; install"));
    header.stage = 77;
    kf_counters_explain(&header, note, remedy);
    assert_non_null(strstr(note, "counting did not end"));
}

/* ---- roofline -------------------------------------------------------------------------------- */

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
#define L2_PART "\"lts__t_sectors.avg.pct_of_peak_sustained_elapsed\":"
#define L1_PART "\"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active\":"
#define ACTIVE "\"smsp__average_warps_active_per_issue_active.ratio\":"
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

/* If the units' throughputs were left out, the bound follows from those of their parts that were
 * counted. */
static void bounds_of_the_first_pass(void **state)
{
    (void)state;
    kf_roofline r = of("{" DRAM "20," L1_PART "91," L2_PART "30}");
    assert_int_equal(r.bound, KF_BOUND_L1);
    assert_true(r.percent == 91 && r.l2 == 30);
    r = of("{" DRAM "20," L1_PART "10," L2_PART "75}");
    assert_int_equal(r.bound, KF_BOUND_L2);
    r = of("{" DRAM "20," L1_PART "65," L1 "70," L2_PART "75," L2 "68}"); /* the whole is known */
    assert_true(r.bound == KF_BOUND_L1 && r.percent == 70 && r.l2 == 68);
    /* Three of all states counted: their parts are of all active warps, not of the three. */
    r = of("{" DRAM "20," ACTIVE "20," STALLED("long_scoreboard") "6," STALLED("barrier") "2}");
    assert_int_equal(r.stall_count, 2);
    assert_true(fabs(r.stalls[0].percent - 30) < 1e-9);
    /* of another pass, and less */
    r = of("{" DRAM "20," ACTIVE "5," STALLED("long_scoreboard") "6," STALLED("barrier") "2}");
    assert_true(fabs(r.stalls[0].percent - 75) < 1e-9);
}

static void three_stalls(void **state)
{
    (void)state;
    kf_roofline r = of(
        "{" DRAM
        "20," STALLED("long_scoreboard") "6," STALLED("barrier") "2," STALLED("wait") "1," STALLED(
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
    kf_auto(cJSON) counters =
        cJSON_Parse("{\"kernels\":[{\"name\":\"gemm_kernel\",\"launches\":2,\"part\":0.97,\"grid\":"
                    "[64,64,1],\"block\":[16,16,1],\"registers\":"
                    "40,"
                    "\"shared_bytes\":2048,\"occupancy\":0.75,\"occupancy_limit\":\"registers\","
                    "\"metrics\":{" L1 "90," DRAM "10,"
                    "\"sm__warps_active.avg.pct_of_peak_sustained_active\":71.5,\"dram__bytes_read."
                    "sum\":2e6,\"dram__bytes_write.sum\":1e6,"
                    "\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\":200,\"l1tex__data_bank_"
                    "conflicts_pipe_lsu_mem_shared_op_ld.sum\":50}}],"
                    "\"dropped\":3}");
    kf_autobuffer words = {0};
    kf_counters_words(counters, &words);
    static const char *const parts[] = {"gemm_kernel: 97 % of the time, 2 launches, grid 64x64x1, "
                                        "block 16x16x1, 40 registers a thread, 2 KiB",
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

/* ---- origin of device time ------------------------------------------------------------------- */

#define TORCH "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so"
#define PYTORCH_CALLS "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_python.so"
#define CUBLAS "/usr/local/cuda/lib64/libcublasLt.so.13"
#define TRITON "/opt/venv/lib/python3.12/site-packages/triton/_C/libtriton.so"
#define ELEMENTWISE "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi"

static const char solution[] = "@triton.jit\ndef add_kernel(x): ...\n"
                               "load_inline(cuda_sources='__global__ void scale<T>(T *x)')";

static kf_counters_origin origin_of(bool python, const cJSON *build)
{
    return (kf_counters_origin){.candidate = "abc",
                                .code = "",
                                .workload = "main",
                                .source = python ? solution : "__global__ void f() {}",
                                .python = python,
                                .build = build};
}

static kf_count_work work_of(const char *name, const char *module, double seconds)
{
    kf_count_work work = {.kind = KF_COUNT_KERNEL, .launches = 1, .seconds = seconds};
    snprintf(work.name, sizeof work.name, "%s", name);
    snprintf(work.module, sizeof work.module, "%s", module);
    return work;
}

static void the_file_decides_before_the_name(void **state)
{
    (void)state;
    static const struct {
        bool python;
        const char *name, *module;
        kf_work_class kind;
        const char *from;
    } rows[] = {
        /* CUDA C: the candidate's file, a library's, none */
        {false, "_Z4gemmPf", "/tmp/inbox/candidate.so", KF_WORK_OWN, "own kernels"},
        {false, ELEMENTWISE, "/tmp/inbox/candidate.so", KF_WORK_OWN, "own kernels"},
        {false, "nvjet_sm90_tst_128", "/tmp/inbox/candidate.so", KF_WORK_OWN, "own kernels"},
        {false, "_Z6decoyxPf", CUBLAS, KF_WORK_LIBRARY, "cuBLAS"},
        {false, "_Z5builtPf", "", KF_WORK_OWN, "own kernels"},
        {false, "nvjet_sm90_tst_128", "", KF_WORK_LIBRARY, "cuBLAS"},
        {false, "_Z7unknownPf", "", KF_WORK_OWN, "own kernels"},
        /* Python: an extension, also below a home folder of a package of this name */
        {true, ELEMENTWISE, "/tmp/x/mixed.so", KF_WORK_OWN, "own kernels"},
        {true, ELEMENTWISE, TORCH, KF_WORK_FRAMEWORK, "PyTorch"},
        {true, "_Z10add_kernelPf", TORCH, KF_WORK_FRAMEWORK, "PyTorch"},
        {true, "cudnn_infer_kernel", "/x/site-packages/nvidia/cudnn/lib/libcudnn_ops.so.9",
         KF_WORK_LIBRARY, "cuDNN"},
        {true, "flash_fwd", "/x/site-packages/flash_attn_2_cuda.so", KF_WORK_LIBRARY,
         "flash_attn_2_cuda"},
        /* of a compiler's launcher, the name decides */
        {true, "add_kernel", "/tmp/.triton/cache/A/__triton_launcher.so", KF_WORK_OWN,
         "own kernels"},
        {true, "add_kernel", TRITON, KF_WORK_OWN, "own kernels"},
        {true, "_ZN6cudapy8__main__10add_kernelB2v1E", "/usr/lib/libffi.so.8", KF_WORK_OWN,
         "own kernels"},
        {true, "_Z5scaleIfEvPT_", "", KF_WORK_OWN, "own kernels"},
        {true, "add_kernels", TRITON, KF_WORK_FRAMEWORK, "unknown origin"},
        {true, "", "", KF_WORK_FRAMEWORK, "unknown origin"},
        {true, "triton_poi_fused_relu_0", PYTORCH_CALLS, KF_WORK_FRAMEWORK, "torch.compile"},
        {true, "triton_poi_fused_relu_0", TRITON, KF_WORK_FRAMEWORK, "torch.compile"},
        {true, ELEMENTWISE, "/usr/bin/python3.12", KF_WORK_FRAMEWORK, "PyTorch"},
    };
    kf_auto(cJSON) build = cJSON_Parse("{\"kernels\":[{\"name\":\"_Z5builtPf\"}]}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char from[32];
        const kf_counters_origin of = origin_of(rows[i].python, build);
        const kf_count_work work = work_of(rows[i].name, rows[i].module, 1);
        kf_work_class kind = kf_work_classify(&of, &work, from);
        if (kind != rows[i].kind || strcmp(from, rows[i].from) != 0)
            fail_msg("row %zu, %s from \"%s\": %s, %s", i, rows[i].name, rows[i].module,
                     kf_work_class_name(kind), from);
    }
}

static void parts_of_the_device_time(void **state)
{
    (void)state;
    kf_count_work works[] = {work_of("nvjet_a", CUBLAS, 7e-6),
                             work_of("_Z1fv", "/tmp/c.so", 80e-6),
                             work_of("nvjet_b", CUBLAS, 3e-6),
                             {.kind = KF_COUNT_COPY, .launches = 2, .seconds = 4e-6},
                             {.kind = KF_COUNT_FILL, .launches = 1, .seconds = 1e-6}};
    kf_count_header header = {.works = 5, .work_rest_seconds = 5e-6};
    const kf_counters_origin of = origin_of(false, NULL);
    kf_auto(cJSON) counters = cJSON_CreateObject();
    assert_true(kf_work_put(counters, &of, &header, works));
    assert_true(fabs(kf_work_part(counters, KF_WORK_OWN) - 0.8) < 1e-9);
    assert_true(fabs(kf_work_part(counters, KF_WORK_LIBRARY) - 0.1) < 1e-9);
    assert_true(kf_work_part(counters, KF_WORK_FRAMEWORK) == 0);
    assert_true(fabs(kf_work_part(counters, KF_WORK_COPIES) - 0.05) < 1e-9);
    const cJSON *work = cJSON_GetObjectItem(counters, "work"),
                *first = cJSON_GetArrayItem(cJSON_GetObjectItem(work, "rows"), 0);
    assert_true(fabs(kf_json_get_number(work, "rest", 0) - 0.05) < 1e-9);
    assert_true(fabs(kf_json_get_number(work, "seconds", 0) - 100e-6) < 1e-12);
    assert_string_equal(cJSON_GetObjectItem(first, "name")->valuestring, "f");
    kf_autobuffer words = {0};
    kf_work_words(counters, &words);
    assert_string_equal(words.data, "device time: 80 % own kernels, 10 % cuBLAS, 4 % memcpy, "
                                    "1 % memset, 5 % other\n");
}

/* A note in place of parts; and a runner that lies gets no parts beyond all. */
static void without_times_and_with_lies(void **state)
{
    (void)state;
    const kf_counters_origin of = origin_of(true, NULL);
    static const double lies[] = {NAN, INFINITY, -1, 1e300};
    kf_count_work works[5] = {work_of("a\x1b[31m", "/tmp/\xff.so", 1e-6)};
    for (int i = 0; i < 4; i++) works[1 + i] = work_of("b", TORCH, lies[i]);
    memset(works[0].module, 'x', sizeof works[0].module);
    kf_count_header header = {.works = 0xffffffff, .work_rest_seconds = NAN};
    kf_count_work many[KF_COUNT_WORKS] = {0};
    memcpy(many, works, sizeof works);
    kf_auto(cJSON) counters = cJSON_CreateObject();
    assert_true(kf_work_put(counters, &of, &header, many));
    double sum = 0;
    for (int kind = 0; kind < KF_WORK_CLASSES; kind++) sum += kf_work_part(counters, kind);
    assert_true(fabs(sum - 1) < 1e-9);
    kf_autofree char *text = cJSON_PrintUnformatted(counters);
    assert_null(strchr(text, 0x1b));
    kf_auto(cJSON) none = cJSON_CreateObject();
    header = (kf_count_header){.work_note = "refused\x1b"};
    assert_true(kf_work_put(none, &of, &header, many));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(none, "work")));
    assert_true(isnan(kf_work_part(none, KF_WORK_OWN)));
    assert_int_equal(strncmp(cJSON_GetObjectItem(none, "work_note")->valuestring, "refused", 7), 0);
    kf_autobuffer words = {0};
    kf_work_words(none, &words);
    assert_int_equal(words.size, 0);
}

static void sampled_lines(void **state)
{
    (void)state;
    kf_count_line lines[] = {
        {.kernel = "_Z1fv", .file = "candidate.cu", .line = 7, .samples = 60},
        {.kernel = "_Z1fv", .line = 0, .samples = 30},
        {.kernel = "a\x1b", .file = "b\x1b", .line = 9, .samples = 4000000000}};
    snprintf(lines[0].reasons[0].name, KF_COUNT_FILE, "long_scoreboard");
    lines[0].reasons[0].samples = 45;
    kf_count_header header = {.lines = 0xffff, .line_samples = 100};
    kf_count_line many[KF_COUNT_LINES] = {0};
    memcpy(many, lines, sizeof lines);
    kf_auto(cJSON) counters = cJSON_CreateObject();
    assert_true(kf_lines_put(counters, &header, many));
    const cJSON *rows = cJSON_GetObjectItem(counters, "lines");
    assert_int_equal(cJSON_GetArraySize(rows), 2);
    assert_true(kf_json_get_number(cJSON_GetArrayItem(rows, 1), "part", 0) == 1);
    kf_autofree char *text = cJSON_PrintUnformatted(counters);
    assert_null(strchr(text, 0x1b));
    kf_autobuffer words = {0};
    kf_lines_words(counters, &words);
    assert_int_equal(strncmp(words.data,
                             "60 % of the samples are at candidate.cu:7: 75 % long_scoreboard\n",
                             64),
                     0);
    kf_auto(cJSON) none = cJSON_CreateObject();
    header = (kf_count_header){.line_note = "refused"};
    assert_true(kf_lines_put(none, &header, many));
    assert_null(cJSON_GetObjectItem(none, "lines"));
    assert_string_equal(cJSON_GetObjectItem(none, "lines_note")->valuestring, "refused");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_may_be_asked_for),
        cmocka_unit_test(names_of_kernels),
        cmocka_unit_test(registers_are_the_compilers),
        cmocka_unit_test(launches_are_folded),
        cmocka_unit_test(lies_are_cut),
        cmocka_unit_test(what_was_left_out),
        cmocka_unit_test(passes_there_is_time_for),
        cmocka_unit_test(the_first_cost_least),
        cmocka_unit_test(reasons_have_remedies),
        cmocka_unit_test(what_bounds),
        cmocka_unit_test(bounds_of_the_first_pass),
        cmocka_unit_test(three_stalls),
        cmocka_unit_test(words_for_people),
        cmocka_unit_test(the_file_decides_before_the_name),
        cmocka_unit_test(parts_of_the_device_time),
        cmocka_unit_test(without_times_and_with_lies),
        cmocka_unit_test(sampled_lines),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
