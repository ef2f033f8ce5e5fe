#include "kforge/counters.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters_wire.h"
#include "kforge/json.h"
#include "kforge/occupancy.h"
#include "kforge/roofline.h"
#include "kforge/verdict.h"

#define TIME "gpu__time_duration.sum"
/* rows that are kept */
#define MAX_KERNELS 16
#define MAX_VALUE 1e18
/* Counting may add one second to a candidate. On an H200, a call of 0.15 ms takes 0.55 s (11
 * passes). Longer calls take up to 3.5 calls for each pass (40 ms a pass for 12 ms a call).
 * PASSES_SECONDS of the second are for that. */
#define PASSES_SECONDS 0.35
#define PASS_CALLS 3.5
#define STALL(reason) "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"

/* The metrics of "all": the 24 of CudaForge that the chip has (arXiv:2511.01884; registers and
 * occupancy limits come from the launch), all stall reasons, pipes, use of sectors, bank conflicts,
 * local memory.
 *
 * Metrics of one request share passes. Without time for all passes the last metrics are left out.
 * So the most useful come first, followed by those that need no further pass on a GH100
 * (tests/unit/test_counters.c asks CUPTI). The first pass shows the bound of a kernel. It takes the
 * sectors of the L2 and the wavefronts of loads and stores in the L1, which are usually the busiest
 * parts of these units. They need one pass, the throughputs of the units five. */
static const char *const all[] = {
    TIME,
    "sm__issue_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warps_active_per_issue_active.ratio",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "sm__cycles_active.avg",
    "dram__bytes.sum.per_second",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    STALL("long_scoreboard"),
    STALL("short_scoreboard"),
    STALL("barrier"),
    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    STALL("mio_throttle"),
    STALL("lg_throttle"),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    STALL("math_pipe_throttle"),
    STALL("wait"),
    STALL("gmma"),
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "smsp__sass_average_branch_targets_threads_uniform.pct",
    STALL("not_selected"),
    STALL("selected"),
    STALL("no_instruction"),
    STALL("branch_resolving"),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_active",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "sm__inst_executed.sum",
    STALL("dispatch_stall"),
    STALL("drain"),
    STALL("imc_miss"),
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    STALL("membar"),
    STALL("misc"),
    STALL("sleeping"),
    STALL("tex_throttle"),
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
};
/* The number of metrics that fit in one pass, in two passes, … */
static const size_t pass_ends[] = {15, 22, 28, 31, 34, 40, 44, 47, 49, 52};
#define ALL_COUNT (sizeof all / sizeof *all)
_Static_assert(ALL_COUNT <= KF_COUNT_METRICS, "more metrics than a record holds");

size_t kf_counters_passes_end(size_t passes)
{
    size_t count = sizeof pass_ends / sizeof *pass_ends;
    return passes == 0 ? 0 : passes <= count ? pass_ends[passes - 1] : ALL_COUNT;
}

size_t kf_counters_all(const char *const **names)
{
    *names = all;
    return ALL_COUNT;
}

/* ---- number of passes ------------------------------------------------------------------------ */

uint32_t kf_counters_passes(double call_seconds)
{
    double passes = PASSES_SECONDS / (PASS_CALLS * call_seconds);
    if (!(call_seconds > 0) || passes >= KF_COUNT_PASSES) return KF_COUNT_PASSES;
    return passes < 1 ? 1 : (uint32_t)passes;
}

/* ---- requested metrics ----------------------------------------------------------------------- */

bool kf_counters_check(const char *list, kf_error *error)
{
    size_t count = 1, length = strlen(list);
    if (length == 0 || length > KF_COUNTERS_LIST_BYTES)
        return kf_fail(error, KF_ERROR_INPUT,
                       "expected all, none, or CUPTI's names with commas between them");
    for (size_t i = 0; i < length; i++) {
        char c = list[i];
        if (c == ',') count++;
        if (c == ',' ? i > 0 && i + 1 < length && list[i - 1] != ','
                     : isalnum((unsigned char)c) || c == '_' || c == '.')
            continue;
        return kf_fail(
            error, KF_ERROR_INPUT,
            "\"%.60s\" is no list of names: letters, digits, '_' and '.', commas between", list);
    }
    /* the metric of time is added */
    if (count < KF_COUNT_METRICS) return true;
    return kf_fail(error, KF_ERROR_INPUT, "%zu names; at most %d at a time", count,
                   KF_COUNT_METRICS - 1);
}

char *kf_counters_names(const char *list)
{
    kf_autobuffer text = {0};
    kf_buffer_string(&text, TIME);
    bool everything = strcmp(list, "all") == 0;
    for (size_t i = 1, passes = 1; i < ALL_COUNT && everything; i++) {
        bool end = i == kf_counters_passes_end(passes);
        passes += end;
        kf_buffer_format(&text, "%c%s", end ? ';' : ',', all[i]);
    }
    for (const char *at = list; *at && !everything; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (length != strlen(TIME) || strncmp(at, TIME, length) != 0)
            kf_buffer_format(&text, ",%.*s", (int)length, at);
        at += length;
    }
    return kf_buffer_take(&text);
}

/* ---- names of kernels ------------------------------------------------------------------------ */

/* Reads "11gemm_kernel": returns the start of the identifier and its length, NULL without one. */
static const char *identifier(const char *at, size_t *length)
{
    if (!isdigit((unsigned char)*at)) return NULL;
    *length = strtoul(at, (char **)&at, 10);
    return *length > 0 && *length <= strlen(at) ? at : NULL;
}

/* Decodes names mangled by the Itanium C++ ABI, without arguments: _Z <length identifier> or _ZN
 * <length identifier>… [I arguments E] E. */
void kf_kernel_name(const char *symbol, char *name, size_t size)
{
    snprintf(name, size, "%s", symbol);
    if (strncmp(symbol, "_Z", 2) != 0) return;
    bool nested = symbol[2] == 'N';
    const char *at = symbol + 2 + nested;
    size_t length, used = 0;
    /* L marks a static function */
    if (*at == 'L') at++;
    for (const char *start; (start = identifier(at, &length)); at = start + length) {
        /* an anonymous namespace */
        bool nameless = length >= 11 && strncmp(start, "_GLOBAL__N_", 11) == 0;
        if (!nameless && used + length + 3 < size)
            used += (size_t)snprintf(name + used, size - used, "%s%.*s", used ? "::" : "",
                                     (int)length, start);
        if (!nested) break;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct row {
    char symbol[KF_COUNT_NAME];
    const kf_count_launch *first;
    int launches;
    double seconds, weight;
    /* sums, weighted sums or extremes */
    double values[KF_COUNT_METRICS];
    double weights[KF_COUNT_METRICS];
} row;

typedef enum folding { FOLD_SUM, FOLD_MEAN, FOLD_MAX, FOLD_MIN } folding;

static folding folding_of(const char *name, size_t length)
{
    static const struct {
        const char *end;
        folding folding;
    } ends[] = {{".sum", FOLD_SUM}, {".max", FOLD_MAX}, {".min", FOLD_MIN}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length > 4 && strncmp(name + length - 4, ends[i].end, 4) == 0) return ends[i].folding;
    return FOLD_MEAN;
}

static bool is_plausible(double value)
{
    return isfinite(value) && value >= 0 && value < MAX_VALUE;
}

static void fold(row *r, size_t metric, folding how, double value, double weight)
{
    bool first = r->weights[metric] == 0;
    double *kept = &r->values[metric];
    r->weights[metric] += weight;
    switch (how) {
    case FOLD_SUM: *kept += value; break;
    case FOLD_MEAN: *kept += value * weight; break;
    case FOLD_MAX: *kept = first ? value : fmax(*kept, value); break;
    case FOLD_MIN: *kept = first ? value : fmin(*kept, value); break;
    }
}

typedef struct metric_name {
    /* without a NUL */
    const char *text;
    size_t length;
    folding folding;
} metric_name;

static size_t cut_names(const char *names, metric_name *cut)
{
    size_t count = 0;
    for (const char *at = names; *at && count < KF_COUNT_METRICS; at += *at != '\0') {
        size_t length = strcspn(at, ",;");
        cut[count++] = (metric_name){at, length, folding_of(at, length)};
        at += length;
    }
    return count;
}

static row *find_row(row *rows, size_t *count, const kf_count_launch *launch, const char *symbol)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(rows[i].symbol, symbol) == 0 &&
            memcmp(rows[i].first->block, launch->block, sizeof launch->block) == 0)
            return &rows[i];
    row *added = &rows[(*count)++];
    *added = (row){.first = launch};
    snprintf(added->symbol, sizeof added->symbol, "%s", symbol);
    return added;
}

static int longer(const void *a, const void *b)
{
    double x = ((const row *)a)->seconds, y = ((const row *)b)->seconds;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool put_three(cJSON *object, const char *key, const uint32_t numbers[3])
{
    const int values[3] = {(int)(numbers[0] & 0x7fffffff), (int)(numbers[1] & 0x7fffffff),
                           (int)(numbers[2] & 0x7fffffff)};
    return kf_json_put(object, key, cJSON_CreateIntArray(values, 3));
}

static bool put_text(cJSON *object, const char *key, const char *text, size_t most)
{
    kf_autofree char *clean = kf_text_clean(text, strnlen(text, most), true);
    return clean && kf_json_put(object, key, cJSON_CreateString(clean));
}

static void put_occupancy(cJSON *object, const kf_counters_origin *origin,
                          const kf_count_launch *launch)
{
    kf_sm_limits limits;
    kf_occupancy occupancy;
    double threads = (double)launch->block[0] * launch->block[1] * launch->block[2];
    double shared = (double)launch->static_shared + launch->dynamic_shared;
    if (threads > 1024 || launch->registers == 0 || launch->registers > 255 || shared > 1 << 24 ||
        !kf_sm_limits_of(origin->major, origin->minor, &limits) ||
        !kf_occupancy_of(&limits, (int)threads, (int)launch->registers, (int)shared, &occupancy))
        return;
    kf_json_add_number(object, "occupancy", occupancy.part);
    cJSON_AddStringToObject(object, "occupancy_limit", kf_occupancy_limit_name(occupancy.limit));
}

/* Returns the launch with the compiler's figures of its kernel. */
static kf_count_launch compiled(const kf_counters_origin *origin, const row *r)
{
    kf_count_launch launch = *r->first;
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItemCaseSensitive(origin->build, "kernels"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(kernel, "name");
        if (!cJSON_IsString(name) || strcmp(name->valuestring, r->symbol) != 0) continue;
        double registers = kf_json_get_number(kernel, "registers", -1),
               shared = kf_json_get_number(kernel, "shared_bytes", -1);
        if (registers >= 0 && registers <= 255) launch.registers = (uint32_t)registers;
        if (shared >= 0 && shared <= 1 << 24) launch.static_shared = (uint32_t)shared;
    }
    return launch;
}

static bool put_row(cJSON *array, const kf_counters_origin *origin, const row *r,
                    const metric_name *names, size_t count, double total)
{
    cJSON *object = cJSON_CreateObject(), *metrics;
    char name[KF_COUNT_NAME];
    const kf_count_launch launch = compiled(origin, r);
    kf_kernel_name(r->symbol, name, sizeof name);
    if (!kf_json_put(array, NULL, object) ||
        !put_text(object, "name", name[0] ? name : "(unnamed)", sizeof name) ||
        !put_text(object, "symbol", r->symbol, sizeof r->symbol))
        return false;
    kf_json_add_number(object, "launches", r->launches);
    if (total > 0) kf_json_add_number(object, "part", r->seconds / total);
    if (!put_three(object, "grid", launch.grid) || !put_three(object, "block", launch.block))
        return false;
    kf_json_add_number(object, "registers", launch.registers);
    kf_json_add_number(object, "shared_bytes",
                       (double)launch.static_shared + launch.dynamic_shared);
    kf_json_add_number(object, "local_bytes", launch.local_bytes);
    put_occupancy(object, origin, &launch);
    if (!kf_json_put(object, "metrics", metrics = cJSON_CreateObject())) return false;
    for (size_t i = 0; i < count; i++) {
        if (r->weights[i] == 0) continue;
        char key[KF_COUNTERS_LIST_BYTES + 1];
        snprintf(key, sizeof key, "%.*s", (int)names[i].length, names[i].text);
        kf_json_add_number(metrics, key,
                           names[i].folding == FOLD_MEAN ? r->values[i] / r->weights[i]
                                                         : r->values[i]);
    }
    kf_roofline roofline;
    return !kf_roofline_of(metrics, &roofline) ||
           kf_json_put(object, "roofline", kf_roofline_json(&roofline));
}

/* Adds the names of the metrics with this result. */
static bool put_names(cJSON *object, const char *key, const metric_name *names, size_t count,
                      const kf_count_header *header, enum kf_count_metric what)
{
    cJSON *array = cJSON_AddArrayToObject(object, key);
    for (size_t m = 0; array && m < count; m++) {
        char name[KF_COUNTERS_LIST_BYTES + 1];
        if (header->metrics[m] != what) continue;
        snprintf(name, sizeof name, "%.*s", (int)names[m].length, names[m].text);
        if (!kf_json_put(array, NULL, cJSON_CreateString(name))) return false;
    }
    return array != NULL;
}

/* Adds the times that the runner reports. */
static bool put_times(cJSON *object, const kf_count_header *header)
{
    cJSON *seconds = cJSON_AddObjectToObject(object, "seconds");
    const struct {
        cJSON *parent;
        const char *key;
        double value;
    } times[] = {{object, "setup_seconds", header->setup_seconds},
                 {object, "count_seconds", header->count_seconds},
                 {seconds, "enable", header->enable_seconds},
                 {seconds, "start", header->start_seconds},
                 {seconds, "stop", header->stop_seconds},
                 {seconds, "read", header->read_seconds}};
    for (size_t i = 0; seconds && i < sizeof times / sizeof *times; i++)
        if (is_plausible(times[i].value))
            kf_json_add_number(times[i].parent, times[i].key, times[i].value);
    cJSON *passes = seconds ? cJSON_AddArrayToObject(seconds, "passes") : NULL;
    for (uint32_t i = 0; passes && i < header->passes && i < KF_COUNT_PASSES; i++)
        if (!kf_json_put(passes, NULL,
                         cJSON_CreateNumber(
                             is_plausible(header->pass_seconds[i]) ? header->pass_seconds[i] : 0)))
            return false;
    return passes != NULL;
}

static cJSON *begin(const kf_counters_origin *origin)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool good =
        json && cJSON_AddStringToObject(json, "candidate", origin->candidate) &&
        (!origin->code[0] || cJSON_AddStringToObject(json, "code", origin->code)) &&
        (!origin->workload[0] || cJSON_AddStringToObject(json, "workload", origin->workload));
    return good ? kf_steal(&json) : NULL;
}

cJSON *kf_counters_note(const kf_counters_origin *origin, const char *note, const char *remedy)
{
    kf_auto(cJSON) json = begin(origin);
    bool good = json && put_text(json, "note", note, 1000) &&
                (!remedy[0] || put_text(json, "remedy", remedy, 1000));
    return good ? kf_steal(&json) : NULL;
}

cJSON *kf_counters_json(const kf_counters_origin *origin, const char *names,
                        const kf_count_header *header, const kf_count_launch *launches)
{
    kf_auto(cJSON) json = begin(origin);
    kf_autofree row *rows = calloc(KF_COUNT_LAUNCHES, sizeof *rows);
    metric_name cut[KF_COUNT_METRICS];
    size_t count = cut_names(names, cut), row_count = 0;
    double total = 0;
    if (!json || !rows || !put_text(json, "chip", header->chip, sizeof header->chip)) return NULL;
    kf_json_add_number(json, "passes", header->passes);
    kf_json_add_number(json, "all_passes", header->all_passes);
    kf_json_add_number(json, "ranges", header->ranges);
    if (!put_times(json, header)) return NULL;
    for (uint32_t i = 0; i < header->launches && i < KF_COUNT_LAUNCHES; i++) {
        char symbol[KF_COUNT_NAME];
        snprintf(symbol, sizeof symbol, "%.*s", (int)strnlen(launches[i].name, KF_COUNT_NAME),
                 launches[i].name);
        row *r = find_row(rows, &row_count, &launches[i], symbol);
        double time = launches[i].values[0], weight = is_plausible(time) && time > 0 ? time : 1;
        r->launches++;
        if (is_plausible(time)) r->seconds += time * 1e-9, total += time * 1e-9;
        for (size_t m = 0; m < count; m++)
            if (header->metrics[m] == KF_COUNT_COUNTED && is_plausible(launches[i].values[m]))
                fold(r, m, cut[m].folding, launches[i].values[m], weight);
    }
    qsort(rows, row_count, sizeof *rows, longer);
    cJSON *kernels = cJSON_AddArrayToObject(json, "kernels");
    if (!kernels) return NULL;
    for (size_t i = 0; i < row_count && i < MAX_KERNELS; i++)
        if (!put_row(kernels, origin, &rows[i], cut, count, total)) return NULL;
    if (!put_names(json, "missing", cut, count, header, KF_COUNT_LACKING) ||
        !put_names(json, "left_out", cut, count, header, KF_COUNT_LEFT_OUT))
        return NULL;
    if (header->dropped) kf_json_add_number(json, "dropped", header->dropped);
    return kf_steal(&json);
}

/* ---- reasons --------------------------------------------------------------------------------- */

void kf_counters_explain(const kf_count_header *header, char note[256], char remedy[256])
{
    static const struct {
        /* CUptiResult */
        int code;
        const char *remedy;
    } remedies[] = {
        {35, "counters are for administrators here: run as root, or load the driver with "
             "NVreg_RestrictProfilingToAdminUsers=0"},
        {40, "the virtual GPU's host must allow counters"},
        {33, "this virtual GPU has no counters"},
        {26, "another profiler uses the GPU (ncu, DCGM): stop it, or dcgmi profile --pause"},
        {39, "another profiler is in the process"},
        {41, "counters are off in confidential computing mode"},
        {43, "this MIG instance has no counters"},
    };
    char said[KF_COUNT_NOTE + 1];
    snprintf(said, sizeof said, "%.*s", (int)strnlen(header->note, KF_COUNT_NOTE), header->note);
    remedy[0] = '\0';
    switch (header->stage) {
    case KF_COUNT_NO_LIBRARY:
        snprintf(note, 256, "CUPTI can't be used: %s", said);
        snprintf(
            remedy, 256,
            "install the CUPTI of CUDA 13 (package cuda-cupti, or the toolkit's extras/CUPTI)");
        break;
    case KF_COUNT_REFUSED:
        snprintf(note, 256, "CUPTI refuses (%d) %s", header->code, said);
        for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
            if (remedies[i].code == header->code) snprintf(remedy, 256, "%s", remedies[i].remedy);
        break;
    case KF_COUNT_NO_METRIC:
        snprintf(note, 256, "%s has none of these metrics", said);
        snprintf(remedy, 256, "\"ncu --query-metrics\" lists their names");
        break;
    case KF_COUNT_WORK_ONLY:
        snprintf(note, 256, "solutions in Python have device times, and no hardware counters");
        break;
    default: snprintf(note, 256, "counting did not end: %s", said);
    }
}
