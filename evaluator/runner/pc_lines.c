/* The GPU notes at regular times where a warp of each scheduler is, and why it does not issue.
 * CUPTI gives the number of samples for each instruction. The line tables of the kernel's cubin
 * (nvcc -lineinfo) give its source line. */
#include "pc_lines.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES 64
#define MODULE_BYTES (32u << 20)
#define PCS 4096
#define ROWS 1024
#define REASONS 64
#define HARDWARE_BYTES (64u << 20)
#define SCRATCH_BYTES (32u << 20)
/* Samples of a call that are enough. A second of a large GPU has about 10^12 cycles of schedulers.
 * The period is a power of two of cycles. */
#define ENOUGH 2e5
#define CYCLES 1e12
#define SHORTEST_PERIOD 5
#define LONGEST_PERIOD 24
#define PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define IDLE "_not_issued"

typedef struct row {
    char kernel[KF_COUNT_NAME], file[KF_COUNT_FILE];
    uint32_t line, samples, reasons[REASONS];
} row;

static struct {
#define X(name, symbol, arguments) cupti_result(*name) arguments;
    KF_CUPTI_SAMPLING(X)
#undef X
    bool wanted, ready;
    cu_context context;
    struct {
        char *cubin;
        size_t size;
        uint64_t crc;
    } modules[MODULES];
    size_t module_count;
    char reasons[REASONS][CUPTI_REASON_BYTES];
    uint32_t reason_index[REASONS];
    size_t reason_count;
    row *rows;
    size_t row_count;
    uint64_t samples;
    char note[KF_COUNT_NOTE];
} sampler;

static int fail(const char *doing, cupti_result code)
{
    const char *text = NULL;
    if (code && sampler.result_text) sampler.result_text(code, &text);
    snprintf(sampler.note, sizeof sampler.note, "%s%s%s", doing, text ? ": " : "",
             text ? text : "");
    return 0;
}

static int check(cupti_result code, const char *doing)
{
    return code == 0 || fail(doing, code);
}

static int find_functions(void *library)
{
#define X(name, symbol, arguments)                    \
    *(void **)&sampler.name = dlsym(library, symbol); \
    if (!sampler.name) return fail("CUPTI lacks " symbol, 0);
    KF_CUPTI_SAMPLING(X)
#undef X
    return 1;
}

void kf_lines_open(void *library, cu_context context)
{
    if (!getenv(KF_COUNT_SAMPLE_LINES)) return;
    sampler.wanted = true;
    sampler.context = context;
    sampler.ready = find_functions(library) != 0;
}

int kf_lines_wanted(void)
{
    return sampler.wanted;
}

/* ---- modules --------------------------------------------------------------------------------- */

void kf_lines_module(uint32_t number, const cupti_resource *resource)
{
    const cupti_module *module = resource->module;
    if (!sampler.ready || number != CUPTI_MODULE_LOADED || !module || !module->cubin ||
        module->size > MODULE_BYTES || sampler.module_count == MODULES)
        return;
    cupti_cubin_crc crc = {.size = CUPTI_SIZE(cupti_cubin_crc, crc),
                           .cubin_size = module->size,
                           .cubin = module->cubin};
    char *copy = malloc(module->size);
    if (!copy || sampler.cubin_crc(&crc) != 0) {
        free(copy);
        return;
    }
    memcpy(copy, module->cubin, module->size);
    sampler.modules[sampler.module_count].cubin = copy;
    sampler.modules[sampler.module_count].size = module->size;
    sampler.modules[sampler.module_count++].crc = crc.crc;
}

/* Writes the source line of an instruction. Returns its number, 0 if unknown. */
static uint32_t find_line(const cupti_pc *pc, char file[KF_COUNT_FILE])
{
    file[0] = '\0';
    for (size_t i = 0; i < sampler.module_count; i++) {
        if (sampler.modules[i].crc != pc->cubin_crc) continue;
        cupti_source_line line = {.size = CUPTI_SIZE(cupti_source_line, folder),
                                  .cubin = sampler.modules[i].cubin,
                                  .function = pc->function,
                                  .cubin_size = sampler.modules[i].size,
                                  .offset = pc->offset};
        if (sampler.source_line(&line) != 0) return 0;
        const char *slash = line.file ? strrchr(line.file, '/') : NULL;
        snprintf(file, KF_COUNT_FILE, "%s", slash ? slash + 1 : line.file ? line.file : "");
        free(line.file);
        free(line.folder);
        return line.line;
    }
    return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

static row *find_row(const char *kernel, const char *file, uint32_t line)
{
    for (size_t i = 0; i < sampler.row_count; i++) {
        row *r = &sampler.rows[i];
        if (r->line == line && strcmp(r->file, file) == 0 && strcmp(r->kernel, kernel) == 0)
            return r;
    }
    if (sampler.row_count == ROWS) return NULL;
    row *added = &sampler.rows[sampler.row_count++];
    snprintf(added->kernel, sizeof added->kernel, "%s", kernel);
    snprintf(added->file, sizeof added->file, "%s", file);
    added->line = line;
    return added;
}

static void add(const cupti_pc *pc)
{
    char file[KF_COUNT_FILE], kernel[KF_COUNT_NAME];
    snprintf(kernel, sizeof kernel, "%s", pc->function ? pc->function : "");
    uint32_t line = find_line(pc, file);
    row *r = find_row(kernel, file, line);
    for (size_t i = 0; i < pc->reason_count; i++) {
        sampler.samples += pc->reasons[i].samples;
        for (size_t k = 0; r && k < sampler.reason_count; k++) {
            if (sampler.reason_index[k] != pc->reasons[i].reason) continue;
            r->reasons[k] += pc->reasons[i].samples;
            r->samples += pc->reasons[i].samples;
        }
    }
}

static void take(const cupti_samples *data)
{
    for (size_t i = 0; i < data->pcs && i < data->most_pcs; i++) add(&data->pc[i]);
}

static int make_buffer(cupti_samples *data)
{
    *data = (cupti_samples){.size = sizeof *data, .most_pcs = PCS};
    data->pc = calloc(PCS, sizeof *data->pc);
    cupti_reason_samples *reasons = calloc((size_t)PCS * REASONS, sizeof *reasons);
    if (!data->pc || !reasons) return fail("out of memory", 0);
    for (size_t i = 0; i < PCS; i++)
        data->pc[i] = (cupti_pc){.size = sizeof *data->pc, .reasons = &reasons[i * REASONS]};
    return 1;
}

/* Lists the warp states. CUPTI counts each a second time for cycles in which the scheduler issues
 * no instruction; those are left out. */
static int find_reasons(void)
{
    size_t count = 0;
    char *names[REASONS];
    uint32_t index[REASONS];
    static char texts[REASONS][CUPTI_REASON_BYTES];
    cupti_reason_count number = {
        .size = CUPTI_SIZE(cupti_reason_count, count), .context = sampler.context, .count = &count};
    if (!check(sampler.reason_count_of(&number), "the number of warp states")) return 0;
    if (count > REASONS) return fail("more warp states than a record holds", 0);
    for (size_t i = 0; i < REASONS; i++) names[i] = texts[i];
    cupti_reason_names list = {.size = CUPTI_SIZE(cupti_reason_names, names),
                               .context = sampler.context,
                               .count = count,
                               .index = index,
                               .names = names};
    if (!check(sampler.reason_names(&list), "the names of warp states")) return 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]), tail = strlen(IDLE);
        if (length > tail && strcmp(texts[i] + length - tail, IDLE) == 0) continue;
        bool known = strncmp(texts[i], PREFIX, strlen(PREFIX)) == 0;
        snprintf(sampler.reasons[sampler.reason_count], CUPTI_REASON_BYTES, "%s",
                 texts[i] + (known ? strlen(PREFIX) : 0));
        sampler.reason_index[sampler.reason_count++] = index[i];
    }
    return 1;
}

static int configure(double seconds, cupti_samples *buffer)
{
    uint32_t period = SHORTEST_PERIOD;
    while (period < LONGEST_PERIOD && seconds * CYCLES / (double)(1u << period) > ENOUGH) period++;
    cupti_sampling_setting settings[] = {
        {.type = CUPTI_SAMPLING_MODE, .value.number = CUPTI_SAMPLING_CONTINUOUS},
        {.type = CUPTI_SAMPLING_START_STOP, .value.number = 1},
        {.type = CUPTI_SAMPLING_PERIOD, .value.number = period},
        {.type = CUPTI_SAMPLING_REASONS,
         .value.reasons = {sampler.reason_count, sampler.reason_index}},
        {.type = CUPTI_SAMPLING_HARDWARE_BUFFER, .value.bytes = HARDWARE_BYTES},
        {.type = CUPTI_SAMPLING_SCRATCH, .value.bytes = SCRATCH_BYTES},
        {.type = CUPTI_SAMPLING_BUFFER, .value.pointer = buffer},
    };
    cupti_sampling_settings all = {.size = CUPTI_SIZE(cupti_sampling_settings, settings),
                                   .context = sampler.context,
                                   .count = sizeof settings / sizeof *settings,
                                   .settings = settings};
    return check(sampler.configure(&all), "setting up PC sampling");
}

/* Takes what CUPTI has parsed, in parts. */
static void drain(cupti_samples *data)
{
    cupti_sampling_data get = {
        .size = CUPTI_SIZE(cupti_sampling_data, data), .context = sampler.context, .data = data};
    for (int part = 0; part < 64; part++) {
        data->pcs = data->remaining = 0;
        if (sampler.get_data(&get) != 0) return;
        take(data);
        if (!data->remaining) return;
    }
}

static int more(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return x->samples < y->samples ? 1 : x->samples > y->samples ? -1 : 0;
}

/* True if a warp in this state waits for nothing. */
static bool is_free(const char *reason)
{
    return strcmp(reason, "selected") == 0 || strcmp(reason, "not_selected") == 0;
}

static void write_line(const row *r, kf_count_line *line)
{
    uint32_t left[REASONS];
    *line = (kf_count_line){.line = r->line, .samples = r->samples};
    memcpy(line->kernel, r->kernel, sizeof line->kernel);
    memcpy(line->file, r->file, sizeof line->file);
    memcpy(left, r->reasons, sizeof left);
    for (size_t k = 0; k < sampler.reason_count; k++)
        if (is_free(sampler.reasons[k])) left[k] = 0;
    for (int i = 0; i < KF_COUNT_REASONS; i++) {
        size_t most = 0;
        for (size_t k = 1; k < sampler.reason_count; k++)
            if (left[k] > left[most]) most = k;
        if (!left[most]) return;
        snprintf(line->reasons[i].name, sizeof line->reasons[i].name, "%.63s",
                 sampler.reasons[most]);
        line->reasons[i].samples = left[most];
        left[most] = 0;
    }
}

/* Enables sampling around one call. */
static int sample(void (*call)(void *context), void *context, cu_result (*synchronize)(void),
                  double seconds)
{
    cupti_samples parts, rest;
    cupti_sampling control = {.size = CUPTI_SIZE(cupti_sampling, context),
                              .context = sampler.context};
    if (!make_buffer(&parts) || !make_buffer(&rest) ||
        !check(sampler.enable(&control), "enabling PC sampling"))
        return 0;
    int good = find_reasons() && configure(seconds, &rest) &&
               check(sampler.start(&control), "starting PC sampling");
    if (good) {
        call(context);
        synchronize();
        good = check(sampler.stop(&control), "ending PC sampling");
        drain(&parts);
    }
    good = check(sampler.disable(&control), "disabling PC sampling") && good;
    if (good) take(&rest);
    return good;
}

void kf_lines_sample(void (*call)(void *context), void *context, cu_result (*synchronize)(void),
                     double seconds, kf_count_header *header, kf_count_line *lines)
{
    header->lines = 0;
    if (!sampler.wanted) return;
    sampler.rows = calloc(ROWS, sizeof *sampler.rows);
    if (sampler.ready && sampler.rows && sample(call, context, synchronize, seconds)) {
        qsort(sampler.rows, sampler.row_count, sizeof *sampler.rows, more);
        for (size_t i = 0; i < sampler.row_count && i < KF_COUNT_LINES; i++)
            write_line(&sampler.rows[i], &lines[header->lines++]);
        header->line_samples = sampler.samples;
        if (!sampler.samples) fail("the call is too short for a sample", 0);
    }
    free(sampler.rows);
    sampler.rows = NULL;
    memcpy(header->line_note, sampler.note, sizeof header->line_note);
}
