/* A CUPTI that needs no GPU, with the functions that cupti_counters.c and kernel_work.c call. The
 * records of a call are one for each launch of 1, 2, … microseconds, a copy and a fill. It knows
 * every metric except names that begin with "lacks". It puts a fixed number of metrics into a pass.
 * A metric's value is the number in its name plus a hundred for each earlier range. It refuses
 * calls out of order. */
#include "fake_cupti.h"

#include <stdlib.h>
#include <string.h>

#include "../../evaluator/runner/cupti.h"

#define REFUSED 999

extern fake_cupti fake; /* the test finds these by name; no other file includes this header */
fake_cupti fake;
void fake_launch(const char *symbol);
#define X(name, symbol, arguments) cupti_result name arguments __asm__(symbol);
KF_CUPTI_FUNCTIONS(X)
#undef X
cupti_result set_buffers(cupti_give_buffer give,
                         cupti_take_buffer take) __asm__("cuptiActivityRegisterCallbacks");
cupti_result enable_records(int kind) __asm__("cuptiActivityEnable");
cupti_result disable_records(int kind) __asm__("cuptiActivityDisable");
cupti_result flush_records(uint32_t flags) __asm__("cuptiActivityFlushAll");
cupti_result next_record(uint8_t *buffer, size_t valid,
                         cupti_record **record) __asm__("cuptiActivityGetNextRecord");

typedef struct fake_host {
    size_t metrics;
} fake_host;

static struct {
    cupti_callback_function callback;
    void *user;
    /* of the configuration in force; the last: of the first pass */
    size_t metrics, pass, ranges_in_pass, ranges;
    int running, decoded;
    cupti_give_buffer give;
    cupti_take_buffer take;
    int records; /* bits: the kinds that are on */
    uint32_t correlation;
    cupti_kernel_record kernels[64];
    size_t kernel_count;
    cupti_samples *buffer; /* of the rest */
    int sampling;          /* 1: enabled, 2: started, 3: stopped */
    int modules;           /* callbacks of loaded modules are on */
} now;

static size_t passes_of(size_t metrics)
{
    return fake.metrics_a_pass ? (metrics + fake.metrics_a_pass - 1) / fake.metrics_a_pass : 1;
}

cupti_result initialize(cupti_initialize *p)
{
    (void)p;
    return 0;
}

cupti_result chip_name(cupti_chip *p)
{
    p->name = "FAKE";
    return 0;
}

cupti_result availability(cupti_availability *p)
{
    p->image_size = 1;
    return 0;
}

cupti_result host_initialize(cupti_host *p)
{
    if (fake.hosts++ && fake.refuses_fewer) return REFUSED;
    p->host = calloc(1, sizeof(fake_host));
    return p->host ? 0 : REFUSED;
}

cupti_result host_end(cupti_host_end *p)
{
    free(p->host);
    return 0;
}

cupti_result add_metrics(cupti_add_metrics *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (strncmp(p->names[i], "lacks", 5) == 0) return REFUSED;
    ((fake_host *)p->host)->metrics += p->count;
    return 0;
}

cupti_result config_size(cupti_config_size *p)
{
    p->config_size = sizeof(size_t);
    return 0;
}

cupti_result config_image(cupti_config_image *p)
{
    memcpy(p->config, &((fake_host *)p->host)->metrics, sizeof(size_t));
    fake.configured++;
    return 0;
}

cupti_result passes(cupti_passes *p)
{
    size_t metrics;
    memcpy(&metrics, p->config, sizeof metrics);
    p->passes = passes_of(metrics);
    return 0;
}

cupti_result enable(cupti_enable *p)
{
    p->profiler = &now;
    return 0;
}

cupti_result data_size(cupti_data_size *p)
{
    fake.data_ranges = p->most_ranges;
    fake.nodes = p->most_nodes;
    now.metrics = p->count;
    p->data_size = 16;
    return p->profiler == &now ? 0 : REFUSED;
}

cupti_result data_initialize(cupti_data_initialize *p)
{
    return p->data && p->data_size == 16 ? 0 : REFUSED;
}

cupti_result set_config(cupti_set_config *p)
{
    size_t metrics;
    memcpy(&metrics, p->config, sizeof metrics);
    fake.set_up = metrics;
    fake.ranges = p->ranges_a_pass;
    return metrics == now.metrics && p->ranges_a_pass == fake.data_ranges ? 0 : REFUSED;
}

cupti_result start(cupti_start *p)
{
    (void)p;
    if (now.running) return REFUSED;
    now.running = 1;
    now.ranges_in_pass = 0;
    fake.started++;
    return 0;
}

cupti_result stop(cupti_stop *p)
{
    if (!now.running) return REFUSED;
    now.running = 0;
    now.ranges = now.ranges_in_pass;
    fake.stopped++;
    p->all_submitted = ++now.pass == passes_of(now.metrics) && !fake.endless;
    return 0;
}

cupti_result decode(cupti_decode *p)
{
    p->dropped = 0;
    fake.decoded++;
    now.decoded = !now.running && now.pass == passes_of(now.metrics);
    return now.decoded ? 0 : REFUSED; /* what is not whole */
}

cupti_result data_info(cupti_data_info *p)
{
    p->ranges = now.ranges;
    return now.decoded ? 0 : REFUSED;
}

cupti_result evaluate(cupti_evaluate *p)
{
    if (!now.decoded || p->count != now.metrics || ((fake_host *)p->host)->metrics != now.metrics)
        return REFUSED;
    for (size_t i = 0; i < p->count; i++)
        p->values[i] = (double)strtol(p->names[i] + strcspn(p->names[i], "0123456789"), NULL, 10) +
                       100 * (double)p->range;
    fake.evaluated++;
    fake.evaluated_names = p->count;
    return 0;
}

cupti_result subscribe(void **subscriber, cupti_callback_function function, void *user)
{
    *subscriber = &now;
    now.callback = function;
    now.user = user;
    return 0;
}

cupti_result enable_callback(uint32_t on, void *subscriber, int domain, uint32_t number)
{
    (void)subscriber, (void)number;
    if (domain == CUPTI_CALLBACKS_RESOURCE) now.modules = (int)on;
    return 0;
}

cupti_result set_buffers(cupti_give_buffer give, cupti_take_buffer take)
{
    now.give = give;
    now.take = take;
    return 0;
}

cupti_result enable_records(int kind)
{
    if (fake.refuses_records || now.running) return REFUSED;
    now.records |= 1 << kind;
    return 0;
}

cupti_result disable_records(int kind)
{
    now.records &= ~(1 << kind);
    return 0;
}

/* Each buffer has one record, copied to its begin. */
static void give_record(const void *record, size_t size)
{
    uint8_t *buffer;
    size_t room, most;
    now.give(&buffer, &room, &most);
    memcpy(buffer, record, size);
    now.take(NULL, 0, buffer, room, size);
}

cupti_result flush_records(uint32_t flags)
{
    static const cupti_copy_record copy = {.kind = CUPTI_RECORD_COPY, .start = 10, .end = 5010},
                                   fill = {.kind = CUPTI_RECORD_FILL, .start = 10, .end = 3010};
    (void)flags;
    for (size_t i = 0; i < now.kernel_count; i++)
        give_record(&now.kernels[i], sizeof now.kernels[i]);
    if (now.kernel_count && now.records & 1 << CUPTI_RECORD_COPY) give_record(&copy, sizeof copy);
    if (now.kernel_count && now.records & 1 << CUPTI_RECORD_FILL) give_record(&fill, sizeof fill);
    now.kernel_count = 0;
    return 0;
}

cupti_result next_record(uint8_t *buffer, size_t valid, cupti_record **record)
{
    if (!valid || *record) return REFUSED;
    *record = (cupti_record *)buffer;
    return 0;
}

/* ---- PC sampling ----------------------------------------------------------------------------- */

/* The instructions of one kernel: line 10 + offset / 16 of k.cu. Two come in parts, one with the
 * end. There are three warp states, each with a second count that is to be left out. */
#define SAMPLER(name, symbol) cupti_result name __asm__(symbol)
SAMPLER(sampling_enable(cupti_sampling *p), "cuptiPCSamplingEnable");
SAMPLER(sampling_disable(cupti_sampling *p), "cuptiPCSamplingDisable");
SAMPLER(sampling_start(cupti_sampling *p), "cuptiPCSamplingStart");
SAMPLER(sampling_stop(cupti_sampling *p), "cuptiPCSamplingStop");
SAMPLER(sampling_configure(cupti_sampling_settings *p), "cuptiPCSamplingSetConfigurationAttribute");
SAMPLER(sampling_data(cupti_sampling_data *p), "cuptiPCSamplingGetData");
SAMPLER(sampling_reason_count(cupti_reason_count *p), "cuptiPCSamplingGetNumStallReasons");
SAMPLER(sampling_reason_names(cupti_reason_names *p), "cuptiPCSamplingGetStallReasons");
SAMPLER(sampling_line(cupti_source_line *p), "cuptiGetSassToSourceCorrelation");
SAMPLER(sampling_crc(cupti_cubin_crc *p), "cuptiGetCubinCrc");

cupti_result sampling_enable(cupti_sampling *p)
{
    (void)p;
    if (fake.refuses_samples || now.running || now.records) return REFUSED;
    now.sampling = 1;
    return 0;
}

static cupti_pc *add_pc(cupti_samples *data, uint64_t offset, uint32_t reason, uint32_t samples)
{
    cupti_pc *pc = &data->pc[data->pcs++];
    pc->cubin_crc = 77;
    pc->offset = offset;
    pc->function = "kernel0";
    pc->reason_count = 1;
    pc->reasons[0] = (cupti_reason_samples){reason, samples};
    return pc;
}

cupti_result sampling_disable(cupti_sampling *p)
{
    (void)p;
    now.sampling = 0;
    if (now.buffer) add_pc(now.buffer, 16, 5, 4);
    if (now.buffer) add_pc(now.buffer, 16, 7, 9);
    return 0;
}

cupti_result sampling_start(cupti_sampling *p)
{
    (void)p;
    if (now.sampling != 1 || !now.buffer) return REFUSED;
    now.sampling = 2;
    return 0;
}

cupti_result sampling_stop(cupti_sampling *p)
{
    (void)p;
    if (now.sampling != 2) return REFUSED;
    now.sampling = 3;
    return 0;
}

cupti_result sampling_configure(cupti_sampling_settings *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->settings[i].type == CUPTI_SAMPLING_BUFFER) now.buffer = p->settings[i].value.pointer;
    return 0;
}

cupti_result sampling_data(cupti_sampling_data *p)
{
    if (now.sampling != 3) return REFUSED;
    p->data->remaining = fake.parts++ ? 0 : 1;
    add_pc(p->data, p->data->remaining ? 0 : 20, p->data->remaining ? 3 : 5, 6);
    return 0;
}

cupti_result sampling_reason_count(cupti_reason_count *p)
{
    *p->count = 5;
    return 0;
}

cupti_result sampling_reason_names(cupti_reason_names *p)
{
    static const char *const names[] = {"long_scoreboard", "long_scoreboard_not_issued", "barrier",
                                        "barrier_not_issued", "selected"};
    for (size_t i = 0; i < p->count; i++) {
        p->index[i] = 3 + (uint32_t)i;
        strcpy(p->names[i], "smsp__pcsamp_warps_issue_stalled_");
        strcat(p->names[i], names[i]);
    }
    return 0;
}

cupti_result sampling_line(cupti_source_line *p)
{
    if (memcmp(p->cubin, "cubin", 5) != 0) return REFUSED;
    p->line = 10 + (uint32_t)(p->offset / 16);
    p->file = strdup("/src/k.cu");
    return 0;
}

cupti_result sampling_crc(cupti_cubin_crc *p)
{
    p->crc = 77;
    return 0;
}

cupti_result result_text(cupti_result result, const char **text)
{
    (void)result;
    *text = "it was made to";
    return 0;
}

void fake_launch(const char *symbol)
{
    cupti_launch parameters = {.grid = {8, 1, 1}, .block = {32, 1, 1}};
    cupti_callback callback = {
        .parameters = &parameters, .symbol = symbol, .correlation = ++now.correlation};
    if (symbol && now.records & 1 << CUPTI_RECORD_CONCURRENT_KERNEL && now.kernel_count < 64) {
        cupti_kernel_record *kernel = &now.kernels[now.kernel_count++];
        *kernel = (cupti_kernel_record){.kind = CUPTI_RECORD_CONCURRENT_KERNEL,
                                        .start = 100,
                                        .end = 100 + 1000 * now.kernel_count,
                                        .correlation = fake.late_records ? 0 : now.correlation,
                                        .name = strdup(symbol)};
    }
    static const cupti_module module = {.size = 5, .cubin = "cubin"};
    const cupti_resource loaded = {.module = &module};
    if (now.correlation == 1 && now.modules)
        now.callback(now.user, CUPTI_CALLBACKS_RESOURCE, CUPTI_MODULE_LOADED,
                     (const cupti_callback *)&loaded);
    if (!now.running) fake.outside++;
    if (now.running && now.ranges_in_pass < fake.ranges) now.ranges_in_pass++;
    now.callback(now.user, CUPTI_CALLBACKS_DRIVER,
                 symbol ? CUPTI_LAUNCH_KERNEL : CUPTI_LAUNCH_GRAPH, &callback);
}
