#include "kforge/roofline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device_work.h"
#include "kforge/json.h"

/* names of left-out metrics in a text */
#define LEFT_OUT_NAMES 6
/* percent of peak, as in Nsight Compute's section "GPU Speed Of Light" */
#define BUSY 60.0

static double metric(const cJSON *metrics, const char *name)
{
    return kf_json_get_number(metrics, name, NAN);
}

const char *kf_bound_name(kf_bound bound)
{
    static const char *const names[KF_BOUND_COUNT] = {
        [KF_BOUND_UNKNOWN] = "unknown", [KF_BOUND_DRAM] = "dram",      [KF_BOUND_L2] = "l2",
        [KF_BOUND_L1] = "l1",           [KF_BOUND_TENSOR] = "tensor",  [KF_BOUND_PIPE] = "pipe",
        [KF_BOUND_ISSUE] = "issue",     [KF_BOUND_LATENCY] = "latency"};
    return names[bound];
}

/* ---- stalls ---------------------------------------------------------------------------------- */

/* Warp states of Hopper with their meaning, from Nsight Compute's documentation ("Warp Stall
 * Reasons"). */
static const struct state {
    const char *name, *meaning;
    /* false: the warp could have issued */
    bool waits;
} states[] = {
    {"barrier", "other warps at a barrier", true},
    {"branch_resolving", "the target of a branch", true},
    {"dispatch_stall", "the dispatcher", true},
    {"drain", "its last stores before it ends", true},
    {"gmma", "tensor operations of the warp group", true},
    {"imc_miss", "constants that are not cached", true},
    {"lg_throttle", "room in the queue of global and local memory: too many such instructions",
     true},
    {"long_scoreboard", "data from global or local memory", true},
    {"math_pipe_throttle", "an arithmetic pipe that is busy", true},
    {"membar", "a memory fence", true},
    {"mio_throttle", "room in the queue of shared memory and special functions", true},
    {"misc", "something else", true},
    {"no_instruction", "instructions that are not cached", true},
    {"not_selected", "its turn: another warp was chosen", false},
    {"selected", "nothing: it issues", false},
    {"short_scoreboard", "data from shared memory or special functions", true},
    {"sleeping", "the end of a sleep", true},
    {"tex_throttle", "room in the queue of textures", true},
    {"wait", "a fixed latency of the instruction before", true},
};
#define STATE_COUNT (sizeof states / sizeof *states)

static void find_stalls(const cJSON *metrics, kf_roofline *r)
{
    double cycles[STATE_COUNT], total = 0;
    bool whole = true;
    for (size_t i = 0; i < STATE_COUNT; i++) {
        char name[128];
        snprintf(name, sizeof name, "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio",
                 states[i].name);
        cycles[i] = metric(metrics, name);
        if (isfinite(cycles[i]) && cycles[i] > 0) total += cycles[i];
        if (isnan(cycles[i])) whole = false;
    }
    /* An active warp is in one of the states. If some states were not counted, the active cycles
     * give the total. */
    double active = metric(metrics, "smsp__average_warps_active_per_issue_active.ratio");
    if (!whole && active > total && isfinite(active)) total = active;
    while (total > 0 && r->stall_count < KF_ROOFLINE_STALLS) {
        size_t longest = STATE_COUNT;
        for (size_t i = 0; i < STATE_COUNT; i++)
            if (states[i].waits && cycles[i] > 0 &&
                (longest == STATE_COUNT || cycles[i] > cycles[longest]))
                longest = i;
        if (longest == STATE_COUNT) break;
        r->stalls[r->stall_count++] = (kf_stall){states[longest].name, states[longest].meaning,
                                                 100 * cycles[longest] / total};
        cycles[longest] = 0;
    }
}

/* ---- ceilings -------------------------------------------------------------------------------- */

static double either(double a, double b)
{
    return isnan(a) ? b : a;
}

static void find_pipe(const cJSON *metrics, kf_roofline *r)
{
    static const struct {
        const char *name, *words;
    } pipes[] = {{"fma", "FMA"},
                 {"alu", "ALU"},
                 {"fp64", "FP64"},
                 {"xu", "special functions"},
                 {"lsu", "load/store"}};
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        char name[96];
        snprintf(name, sizeof name, "sm__inst_executed_pipe_%s.avg.pct_of_peak_sustained_active",
                 pipes[i].name);
        double percent = metric(metrics, name);
        if (isnan(percent) || percent <= r->pipe) continue;
        r->pipe = percent;
        r->pipe_name = pipes[i].words;
    }
}

bool kf_roofline_of(const cJSON *metrics, kf_roofline *r)
{
    *r = (kf_roofline){.pipe = NAN, .pipe_name = "", .ceiling = "", .percent = NAN};
    r->dram = either(metric(metrics, "dram__throughput.avg.pct_of_peak_sustained_elapsed"),
                     metric(metrics, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"));
    r->l2 = either(
        either(metric(metrics, "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
               metric(metrics, "lts__throughput.avg.pct_of_peak_sustained_active")),
        metric(metrics,
               "lts__t_sectors.avg.pct_of_peak_sustained_elapsed")); /* a part of the throughput */
    r->l1 = either(
        metric(metrics, "l1tex__throughput.avg.pct_of_peak_sustained_active"),
        metric(metrics,
               "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active")); /* likewise */
    r->issue = metric(metrics, "sm__issue_active.avg.pct_of_peak_sustained_active");
    r->tensor =
        either(metric(metrics, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
               metric(metrics, "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"));
    find_pipe(metrics, r);
    find_stalls(metrics, r);
    /* of two equal ones the first counts, which is further from the arithmetic */
    const struct {
        kf_bound bound;
        double percent;
        const char *words;
    } ceilings[] = {
        {KF_BOUND_DRAM, r->dram, "DRAM bandwidth"},
        {KF_BOUND_L2, r->l2, "L2 bandwidth"},
        {KF_BOUND_L1, r->l1, "L1 and shared memory"},
        {KF_BOUND_TENSOR, r->tensor, "the tensor pipe"},
        {KF_BOUND_PIPE, r->pipe, "an arithmetic or load/store pipe"},
        {KF_BOUND_ISSUE, r->issue, "the issue slots"},
    };
    for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++) {
        if (isnan(ceilings[i].percent) || (r->bound && ceilings[i].percent <= r->percent)) continue;
        r->bound = ceilings[i].bound;
        r->percent = ceilings[i].percent;
        r->ceiling = ceilings[i].words;
    }
    if (r->bound && r->percent < BUSY) r->bound = KF_BOUND_LATENCY;
    return r->bound != KF_BOUND_UNKNOWN;
}

cJSON *kf_roofline_json(const kf_roofline *r)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    if (!json || !cJSON_AddStringToObject(json, "bound", kf_bound_name(r->bound)) ||
        !cJSON_AddStringToObject(json, "ceiling", r->ceiling))
        return NULL;
    kf_json_add_number(json, "percent", r->percent);
    cJSON *stalls = cJSON_AddArrayToObject(json, "stalls");
    for (int i = 0; stalls && i < r->stall_count; i++) {
        cJSON *stall = cJSON_CreateObject();
        if (!stall || !cJSON_AddItemToArray(stalls, stall) ||
            !cJSON_AddStringToObject(stall, "name", r->stalls[i].name))
            return NULL;
        kf_json_add_number(stall, "percent", r->stalls[i].percent);
    }
    return stalls ? kf_steal(&json) : NULL;
}

/* ---- words ----------------------------------------------------------------------------------- */

void kf_roofline_words(const kf_roofline *r, kf_buffer *out)
{
    if (r->bound == KF_BOUND_UNKNOWN) return;
    if (r->bound == KF_BOUND_LATENCY)
        kf_buffer_format(
            out,
            "bound by latency: no unit is at %.0f %% of its peak, the nearest is %s with %.0f %%",
            BUSY, r->ceiling, r->percent);
    else
        kf_buffer_format(out, "bound by %s%s%s%s: %.0f %% of its peak", r->ceiling,
                         r->bound == KF_BOUND_PIPE ? " (" : "",
                         r->bound == KF_BOUND_PIPE ? r->pipe_name : "",
                         r->bound == KF_BOUND_PIPE ? ")" : "", r->percent);
    const struct {
        const char *words;
        double percent;
    } others[] = {{"DRAM", r->dram},          {"L2", r->l2},
                  {"L1/shared", r->l1},       {"issue", r->issue},
                  {"tensor pipe", r->tensor}, {r->pipe_name, r->pipe}};
    int count = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!isnan(others[i].percent))
            kf_buffer_format(out, "%s%s %.0f %%", count++ ? ", " : " (", others[i].words,
                             others[i].percent);
    if (count) kf_buffer_string(out, ")");
    for (int i = 0; i < r->stall_count; i++)
        kf_buffer_format(out, "%s%.0f %% %s: %s", i ? "; " : "; warps wait for ",
                         r->stalls[i].percent, r->stalls[i].name, r->stalls[i].meaning);
}

static void word_three(const cJSON *kernel, const char *key, kf_buffer *out)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(kernel, key);
    for (int i = 0; i < 3; i++) {
        const cJSON *item = cJSON_GetArrayItem(array, i);
        kf_buffer_format(out, "%s%.0f", i ? "x" : "", cJSON_IsNumber(item) ? item->valuedouble : 0);
    }
}

static void word_memory(const cJSON *metrics, kf_buffer *out)
{
    double loads = metric(metrics, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
           stores =
               metric(metrics, "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"),
           conflicts =
               either(metric(metrics, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
                      0) +
               either(metric(metrics, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
                      0),
           wavefronts = metric(metrics, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
           local = either(metric(metrics, "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum"), 0) +
                   either(metric(metrics, "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum"), 0),
           read = metric(metrics, "dram__bytes_read.sum"),
           written = metric(metrics, "dram__bytes_write.sum"),
           l2 = metric(metrics, "lts__t_sector_hit_rate.pct"),
           l1 = metric(metrics, "l1tex__t_sector_hit_rate.pct"),
           threads = metric(metrics, "smsp__thread_inst_executed_per_inst_executed.ratio");
    const char *between = "  ";
    if (read >= 0 && written >= 0) {
        kf_buffer_format(out, "%sDRAM %.4g MB read, %.4g MB written", between, read / 1e6,
                         written / 1e6);
        between = "; ";
    }
    if (l1 >= 0 && l2 >= 0) {
        kf_buffer_format(out, "%shits: L1 %.0f %%, L2 %.0f %%", between, l1, l2);
        between = "; ";
    }
    if (loads > 0 || stores > 0) {
        kf_buffer_format(out, "%sof the global sectors moved are used: ", between);
        if (loads > 0) kf_buffer_format(out, "loads %.0f %%%s", loads, stores > 0 ? ", " : "");
        if (stores > 0) kf_buffer_format(out, "stores %.0f %%", stores);
        between = "; ";
    }
    if (wavefronts > 0) {
        kf_buffer_format(out, "%sshared memory: %.0f %% of its wavefronts are bank conflicts",
                         between, 100 * conflicts / wavefronts);
        between = "; ";
    }
    if (local > 0) {
        kf_buffer_format(out, "%slocal memory (spills or indexed arrays): %.4g MB", between,
                         local / 1e6);
        between = "; ";
    }
    if (threads > 0 && threads < 31.5) {
        kf_buffer_format(out, "%s%.1f of 32 threads of a warp active", between, threads);
        between = "; ";
    }
    if (between[0] == ';') kf_buffer_string(out, "\n");
}

static void word_kernel(const cJSON *kernel, kf_buffer *out)
{
    const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(kernel, "metrics");
    double part = kf_json_get_number(kernel, "part", NAN),
           launches = kf_json_get_number(kernel, "launches", 1);
    double shared = kf_json_get_number(kernel, "shared_bytes", 0),
           possible = kf_json_get_number(kernel, "occupancy", NAN);
    double achieved = metric(metrics, "sm__warps_active.avg.pct_of_peak_sustained_active");
    kf_buffer_format(out, "%s: ", kf_json_get_text(kernel, "name", ""));
    if (!isnan(part)) kf_buffer_format(out, "%.0f %% of the time, ", 100 * part);
    if (launches > 1) kf_buffer_format(out, "%.0f launches, ", launches);
    kf_buffer_string(out, "grid ");
    word_three(kernel, "grid", out);
    kf_buffer_string(out, ", block ");
    word_three(kernel, "block", out);
    kf_buffer_format(out, ", %.0f registers a thread", kf_json_get_number(kernel, "registers", 0));
    if (shared > 0) kf_buffer_format(out, ", %.4g KiB shared memory a block", shared / 1024);
    kf_buffer_string(out, "\n");
    kf_roofline roofline;
    if (kf_roofline_of(metrics, &roofline)) {
        kf_buffer_string(out, "  ");
        kf_roofline_words(&roofline, out);
        kf_buffer_string(out, "\n");
    }
    if (!isnan(achieved)) {
        kf_buffer_format(out, "  occupancy %.0f %%", achieved);
        if (!isnan(possible)) kf_buffer_format(out, ", possible %.0f %%", 100 * possible);
        if (!isnan(possible) && possible < 1)
            kf_buffer_format(out, " (limited by %s)",
                             kf_json_get_text(kernel, "occupancy_limit", ""));
        kf_buffer_string(out, "\n");
    }
    word_memory(metrics, out);
}

/* Appends the metrics for which there was no time, the first of them by name. */
static void word_left_out(const cJSON *counters, kf_buffer *out)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(counters, "left_out"), *name;
    int count = cJSON_GetArraySize(names), said = 0;
    if (!count) return;
    kf_buffer_format(out, "a call takes long, so only %.0f of %.0f passes were made; not counted:",
                     kf_json_get_number(counters, "passes", 0),
                     kf_json_get_number(counters, "all_passes", 0));
    cJSON_ArrayForEach(name, names) if (cJSON_IsString(name) && said < LEFT_OUT_NAMES)
        kf_buffer_format(out, "%s %s", said++ ? "," : "", name->valuestring);
    if (count > said) kf_buffer_format(out, " and %d more", count - said);
    kf_buffer_string(out, "\n");
}

void kf_counters_words(const cJSON *counters, kf_buffer *out)
{
    const char *note = kf_json_get_text(counters, "note", ""),
               *remedy = kf_json_get_text(counters, "remedy", "");
    kf_work_words(counters, out);
    if (*note) kf_buffer_format(out, "no counters: %s%s%s\n", note, *remedy ? "; " : "", remedy);
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItemCaseSensitive(counters, "kernels"))
        word_kernel(kernel, out);
    kf_lines_words(counters, out);
    double dropped = kf_json_get_number(counters, "dropped", 0);
    if (dropped > 0)
        kf_buffer_format(out, "and %.0f more launches that were not looked at\n", dropped);
    word_left_out(counters, out);
}
