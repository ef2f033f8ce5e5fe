/* Counts one call, kernel by kernel.
 *
 * A GPU has far fewer counters than metrics. So the call is repeated, once in each pass, and each
 * pass reads other counters: CUPTI's user replay. In kernel replay CUPTI itself repeats each
 * kernel, with caches full of the kernel's own data. Here every pass begins with an empty L2, like
 * the calls that the judge times. An inout holds the results of the pass before.
 *
 * The judge limits the number of passes, since a pass of a slow kernel takes long. If all metrics
 * need more passes, the last ones of the list are left out before the first pass. CUPTI can compute
 * the passes of a configuration without a GPU, and decodes only a complete configuration.
 *
 * CUPTI gives no kernel names in this mode. A callback records them at each launch of the first
 * pass. Their order is the order of the ranges. */
#include "cupti_counters.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti.h"
#include "kernel_work.h"
#include "pc_lines.h"
#include "wire.h"

#define FUNCTION_STATIC_SHARED 1 /* CUfunction_attribute */
#define FUNCTION_LOCAL 3
#define FUNCTION_REGISTERS 4

static struct {
    kf_cupti cupti;
    const kf_cuda *cuda;
    cu_context context;
    cu_stream stream;
    cu_result (*function_attribute)(int *value, int attribute, cu_function function);
    /* CUDA 12 */
    cu_result (*kernel_attribute)(int *value, int attribute, cu_function kernel, cu_device device);
    enum kf_count_stage stage;
    cupti_result code;
    char note[KF_COUNT_NOTE], chip[32];
    /* The list, cut into words. */
    char *names;
    const char *metrics[KF_COUNT_METRICS], *asked[KF_COUNT_METRICS];
    size_t metric_count, asked_count;
    /* enum kf_count_metric of each that was asked for */
    uint8_t became[KF_COUNT_METRICS];
    /* level_ends: a semicolon followed the metric. leveled: the list has a semicolon. */
    bool level_ends[KF_COUNT_METRICS], leveled;
    void *host, *profiler, *subscriber;
    uint8_t *config, *data, *availability;
    size_t config_size, data_size, passes, all_passes, ranges;
    cu_pointer flush;
    size_t flush_bytes;
    double setup_seconds, enable_seconds, start_seconds, stop_seconds;
    /* While the first pass runs. */
    kf_count_launch *launches;
    /* All of them, also those without a record. */
    uint32_t launch_count;
    /* launches since the beginning, whether something is counted or not */
    uint32_t seen;
    /* True if a graph was launched, which launches an unknown number of kernels. */
    int graph;
} count = {.stage = KF_COUNT_NO_LIBRARY};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int fail(enum kf_count_stage stage, cupti_result code, const char *doing, const char *words)
{
    const char *text = words;
    if (!text && count.cupti.result_text) count.cupti.result_text(code, &text);
    count.stage = stage;
    count.code = code;
    snprintf(count.note, sizeof count.note, "%s%s%s", doing, text && *text ? ": " : "",
             text ? text : "");
    return 0;
}

static int check(cupti_result code, const char *doing)
{
    return code == 0 || fail(KF_COUNT_REFUSED, code, doing, NULL);
}

/* ---- before the candidate is loaded ---------------------------------------------------------- */

static int load(const char *path)
{
    static const struct {
        const char *symbol;
        size_t offset;
    } entries[] = {
#define X(name, symbol, arguments) {symbol, offsetof(kf_cupti, name)},
        KF_CUPTI_FUNCTIONS(X)
#undef X
    };
    count.cupti.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!count.cupti.library) return fail(KF_COUNT_NO_LIBRARY, 0, "loading it", dlerror());
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *function = dlsym(count.cupti.library, entries[i].symbol);
        if (!function)
            return fail(KF_COUNT_NO_LIBRARY, 0, "it lacks a function of CUDA 13",
                        entries[i].symbol);
        memcpy((char *)&count.cupti + entries[i].offset, &function, sizeof function);
    }
    void *function = dlsym(count.cuda->library, "cuFuncGetAttribute");
    memcpy(&count.function_attribute, &function, sizeof function);
    function = dlsym(count.cuda->library, "cuKernelGetAttribute");
    memcpy(&count.kernel_attribute, &function, sizeof function);
    return 1;
}

static int cut_names(const char *list)
{
    char *at = count.names = strdup(list);
    if (!at) return fail(KF_COUNT_UNFINISHED, 0, "out of memory", "");
    while (*at && count.asked_count < KF_COUNT_METRICS) {
        size_t length = strcspn(at, ",;");
        bool level = at[length] == ';', last = !at[length];
        at[length] = '\0';
        if (length) {
            count.level_ends[count.asked_count] = level;
            count.asked[count.asked_count++] = at;
        }
        count.leveled |= level;
        at += length + !last;
    }
    return 1;
}

/* Records a launch. */
static void launched(void *user, int domain, uint32_t number, const cupti_callback *callback)
{
    (void)user;
    if (domain == CUPTI_CALLBACKS_RESOURCE) kf_lines_module(number, (const void *)callback);
    if (domain != CUPTI_CALLBACKS_DRIVER || callback->site != 0) return;
    kf_work_launched(number, callback);
    count.seen++;
    if (number == CUPTI_LAUNCH_GRAPH || number == CUPTI_LAUNCH_GRAPH_PTSZ) count.graph = 1;
    if (!count.launches) return;
    uint32_t index = count.launch_count++;
    if (index >= KF_COUNT_LAUNCHES) return;
    kf_count_launch *launch = &count.launches[index];
    const cupti_launch *plain = callback->parameters;
    const cupti_launch_ex *extended = callback->parameters;
    cu_function function;
    switch (number) {
    case CUPTI_LAUNCH_GRAPH:
    case CUPTI_LAUNCH_GRAPH_PTSZ: snprintf(launch->name, sizeof launch->name, "(graph)"); return;
    case CUPTI_LAUNCH_EX:
    case CUPTI_LAUNCH_EX_PTSZ:
        memcpy(launch->grid, extended->config->grid, sizeof launch->grid);
        memcpy(launch->block, extended->config->block, sizeof launch->block);
        launch->dynamic_shared = extended->config->shared;
        function = extended->function;
        break;
    default:
        memcpy(launch->grid, plain->grid, sizeof launch->grid);
        memcpy(launch->block, plain->block, sizeof launch->block);
        launch->dynamic_shared = plain->shared;
        function = plain->function;
    }
    if (callback->symbol) snprintf(launch->name, sizeof launch->name, "%s", callback->symbol);
    const struct {
        int attribute;
        uint32_t *value;
    } wanted[] = {{FUNCTION_REGISTERS, &launch->registers},
                  {FUNCTION_STATIC_SHARED, &launch->static_shared},
                  {FUNCTION_LOCAL, &launch->local_bytes}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && count.function_attribute; i++) {
        /* what the runtime launches is a kernel of a library, not a function of a module */
        int value = -1;
        if (count.function_attribute(&value, wanted[i].attribute, function) != CU_SUCCESS &&
            count.kernel_attribute)
            count.kernel_attribute(&value, wanted[i].attribute, function, 0);
        if (value >= 0) *wanted[i].value = (uint32_t)value;
    }
}

static int subscribe(void)
{
    static const uint32_t numbers[] = {KF_CUPTI_LAUNCHES};
    if (!check(count.cupti.subscribe(&count.subscriber, launched, NULL), "subscribing to launches"))
        return 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        count.cupti.enable_callback(1, count.subscriber, CUPTI_CALLBACKS_DRIVER,
                                    numbers[i]); /* those that it knows */
    if (kf_lines_wanted())
        count.cupti.enable_callback(1, count.subscriber, CUPTI_CALLBACKS_RESOURCE,
                                    CUPTI_MODULE_LOADED);
    return 1;
}

/* Gets the data that CUPTI needs for a chip that is newer than the library, in 0.1 s. */
static int read_availability(void)
{
    cupti_availability availability = {.size = CUPTI_SIZE(cupti_availability, image),
                                       .context = count.context};
    if (!check(count.cupti.availability(&availability), "asking which counters there are"))
        return 0;
    availability.image = count.availability = malloc(availability.image_size + 1);
    if (!availability.image) return fail(KF_COUNT_UNFINISHED, 0, "out of memory", "");
    return check(count.cupti.availability(&availability), "asking which counters there are");
}

static int open_host(void)
{
    cupti_host_end end = {.size = CUPTI_SIZE(cupti_host_end, host), .host = count.host};
    cupti_host host = {.size = CUPTI_SIZE(cupti_host, host),
                       .chip = count.chip,
                       .availability = count.availability};
    if (count.host) count.cupti.host_end(&end);
    count.host = NULL;
    cupti_result result = count.cupti.host_initialize(&host);
    if (result != 0 && !count.availability) {
        if (!read_availability()) return 0;
        host.availability = count.availability;
        result = count.cupti.host_initialize(&host);
    }
    count.host = host.host;
    return check(result, "the chip's metrics");
}

static cupti_result add_metrics(const char **names, size_t number)
{
    cupti_add_metrics add = {.size = CUPTI_SIZE(cupti_add_metrics, count),
                             .host = count.host,
                             .names = names,
                             .count = number};
    return count.cupti.add_metrics(&add);
}

/* Finds the requested metrics that this chip has. One call adds all of them, so that CUPTI puts
 * many into one pass; added one by one, each would take passes of its own. An unknown name spoils
 * the whole object. Only then are they tried one by one. */
static int choose_metrics(void)
{
    if (!open_host()) return 0;
    if (add_metrics(count.asked, count.asked_count) == 0) {
        memset(count.became, KF_COUNT_COUNTED, count.asked_count);
        memcpy(count.metrics, count.asked, sizeof count.metrics);
        count.metric_count = count.asked_count;
        return 1;
    }
    for (size_t i = 0; i < count.asked_count; i++) {
        if (!open_host()) return 0;
        if (add_metrics(&count.asked[i], 1) != 0) continue;
        count.became[i] = KF_COUNT_COUNTED;
        count.metrics[count.metric_count++] = count.asked[i];
    }
    if (!count.metric_count) return fail(KF_COUNT_NO_METRIC, 0, count.chip, "");
    return open_host() && check(add_metrics(count.metrics, count.metric_count), "choosing metrics");
}

static int start_profiler(void)
{
    cupti_initialize initialize = {.size = CUPTI_SIZE(cupti_initialize, private_data)};
    cupti_chip chip = {.size = CUPTI_SIZE(cupti_chip, name)};
    if (!check(count.cupti.initialize(&initialize), "starting the profiler") ||
        !check(count.cupti.chip_name(&chip), "the chip's name"))
        return 0;
    snprintf(count.chip, sizeof count.chip, "%s", chip.name ? chip.name : "?");
    return 1;
}

static int configure(void)
{
    const kf_cupti *c = &count.cupti;
    cupti_config_size size = {.size = CUPTI_SIZE(cupti_config_size, config_size),
                              .host = count.host};
    if (!check(c->config_size(&size), "the size of the configuration")) return 0;
    count.config_size = size.config_size;
    free(count.config);
    if (!(count.config = malloc(size.config_size)))
        return fail(KF_COUNT_UNFINISHED, 0, "out of memory", "");
    cupti_config_image image = {.size = CUPTI_SIZE(cupti_config_image, config),
                                .host = count.host,
                                .config_size = count.config_size,
                                .config = count.config};
    cupti_passes passes = {.size = CUPTI_SIZE(cupti_passes, passes),
                           .config_size = count.config_size,
                           .config = count.config};
    if (!check(c->config_image(&image), "the configuration") ||
        !check(c->passes(&passes), "the number of passes"))
        return 0;
    count.passes = passes.passes;
    return 1;
}

/* Keeps only the first `number` metrics, before their passes are set up. */
static int take_first(size_t number)
{
    return open_host() && check(add_metrics(count.metrics, number), "choosing fewer metrics") &&
           configure();
}

/* Lists the places at which the list may end, in metrics that the chip has: from the first level to
 * all metrics. */
static size_t find_ends(size_t ends[KF_COUNT_METRICS])
{
    size_t levels = 0, metrics = 0;
    for (size_t asked = 0; asked < count.asked_count; asked++) {
        metrics += count.became[asked] == KF_COUNT_COUNTED;
        bool may_end = count.level_ends[asked] || !count.leveled || asked + 1 == count.asked_count;
        if (may_end && metrics && (!levels || ends[levels - 1] < metrics)) ends[levels++] = metrics;
    }
    return levels;
}

/* Leaves out the last levels until no more passes than `most` are needed; the first stays in any
 * case. More metrics never take fewer passes, so that halving finds the place, but CUPTI plans 5 to
 * 20 ms for each try: the first is what the share of the passes suggests, the second its neighbour.
 * Levels begin where another pass does, so that one that takes just as many as there may be is the
 * last. */
static int shorten(size_t most)
{
    size_t ends[KF_COUNT_METRICS] = {0}, levels = find_ends(ends);
    count.all_passes = count.passes;
    if (count.passes <= most) return 1;
    size_t fits = 0, fails = levels, tried = levels, guess = levels * most / count.passes;
    bool first = true, exact = false;
    while (fails - fits > 1 && !exact) {
        tried = guess <= fits ? fits + 1 : guess >= fails ? fails - 1 : guess;
        if (!take_first(ends[tried - 1])) return 0;
        bool good = count.passes <= most;
        exact = count.leveled && count.passes == most;
        *(good ? &fits : &fails) = tried;
        guess = !first ? (fits + fails) / 2 : good ? tried + 1 : tried - 1;
        first = false;
    }
    if (!fits) fits = 1;
    if (tried != fits && !take_first(ends[fits - 1])) return 0;
    for (size_t asked = 0, number = 0; asked < count.asked_count; asked++)
        if (count.became[asked] == KF_COUNT_COUNTED && number++ >= ends[fits - 1])
            count.became[asked] = KF_COUNT_LEFT_OUT;
    count.metric_count = ends[fits - 1];
    return 1;
}

/* Room for as many launches as there were so far, a call's, and some more: CUPTI makes, sets up and
 * reads as much memory as it is told to have room for. Where nothing is repeated, no call may have
 * been made ahead. */
static size_t room(size_t most_passes)
{
    if (!count.seen || count.graph || most_passes < 2) return KF_COUNT_LAUNCHES;
    size_t wanted = (size_t)count.seen + count.seen / 2 + 4;
    return wanted < KF_COUNT_LAUNCHES ? wanted : KF_COUNT_LAUNCHES;
}

/* Touches the GPU's counters only for a request, since this process may start while others are
 * timed. */
static int enable(size_t most_passes)
{
    const kf_cupti *c = &count.cupti;
    count.ranges = room(most_passes);
    cupti_enable on = {.size = CUPTI_SIZE(cupti_enable, profiler), .context = count.context};
    if (!check(c->enable(&on), "enabling the profiler")) return 0;
    count.profiler = on.profiler;
    cupti_data_size data = {.size = CUPTI_SIZE(cupti_data_size, data_size),
                            .profiler = count.profiler,
                            .names = count.metrics,
                            .count = count.metric_count,
                            .most_ranges = count.ranges,
                            .most_nodes = (uint32_t)count.ranges};
    if (!check(c->data_size(&data), "the size of the counters")) return 0;
    count.data_size = data.data_size;
    if (!(count.data = malloc(data.data_size)))
        return fail(KF_COUNT_UNFINISHED, 0, "out of memory", "");
    cupti_data_initialize fresh = {.size = CUPTI_SIZE(cupti_data_initialize, data),
                                   .profiler = count.profiler,
                                   .data_size = count.data_size,
                                   .data = count.data};
    cupti_set_config set = {.size = CUPTI_SIZE(cupti_set_config, target_nesting),
                            .profiler = count.profiler,
                            .config_size = count.config_size,
                            .config = count.config,
                            .data_size = count.data_size,
                            .data = count.data,
                            .range = CUPTI_AUTO_RANGE,
                            .replay = CUPTI_USER_REPLAY,
                            .ranges_a_pass = count.ranges,
                            .nesting_levels = 1,
                            .least_nesting = 1,
                            .target_nesting = 0};
    return check(c->data_initialize(&fresh), "memory for the counters") &&
           check(c->set_config(&set), "setting up the passes");
}

static void make_flush(void)
{
    int l2 = 0;
    if (count.flush_bytes) return;
    count.cuda->device_attribute(&l2, CU_ATTRIBUTE_L2_BYTES, 0);
    count.flush_bytes = l2 > 0 ? 2 * (size_t)l2 : 0;
    if (count.flush_bytes && count.cuda->allocate(&count.flush, count.flush_bytes) != CU_SUCCESS)
        count.flush_bytes = 0;
}

void kf_count_prepare(const kf_cuda *cuda, cu_context context, cu_stream stream)
{
    const char *library = getenv(KF_COUNT_LIBRARY), *names = getenv(KF_COUNT_NAMES);
    if (!library || !names) return;
    double started = now();
    count.cuda = cuda;
    count.context = context;
    count.stream = stream;
    bool loaded = load(library) && cut_names(names);
    if (loaded) kf_lines_open(count.cupti.library, context);
    if (loaded && subscribe()) {
        kf_work_open(count.cupti.library);
        if (start_profiler() && choose_metrics() && configure()) count.stage = KF_COUNT_DONE;
    }
    count.setup_seconds = now() - started;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void flush(void)
{
    if (count.flush_bytes)
        count.cuda->set_bytes(count.flush, 0x5a, count.flush_bytes, count.stream);
    count.cuda->context_synchronize();
}

static int one_pass(void (*call)(void *context), void *context, int *last)
{
    const kf_cupti *c = &count.cupti;
    cupti_start start = {.size = CUPTI_SIZE(cupti_start, profiler), .profiler = count.profiler};
    cupti_stop stop = {.size = CUPTI_SIZE(cupti_stop, all_submitted), .profiler = count.profiler};
    flush();
    double flushed = now();
    if (!check(c->start(&start), "starting a pass")) return 0;
    count.start_seconds += now() - flushed;
    call(context);
    count.cuda->context_synchronize();
    double called = now();
    if (!check(c->stop(&stop), "ending a pass")) return 0;
    count.stop_seconds += now() - called;
    *last = stop.all_submitted != 0;
    return 1;
}

static int read_values(kf_count_header *header, kf_count_launch *launches)
{
    const kf_cupti *c = &count.cupti;
    cupti_decode decode = {.size = CUPTI_SIZE(cupti_decode, dropped), .profiler = count.profiler};
    cupti_data_info info = {.size = CUPTI_SIZE(cupti_data_info, ranges),
                            .data = count.data,
                            .data_size = count.data_size};
    if (!check(c->decode(&decode), "decoding") ||
        !check(c->data_info(&info), "the number of kernels"))
        return 0;
    uint32_t ranges = info.ranges < KF_COUNT_LAUNCHES ? (uint32_t)info.ranges : KF_COUNT_LAUNCHES;
    /* If a graph or several threads launch kernels, the order does not give their names. */
    if (info.ranges != count.launch_count && count.launch_count <= KF_COUNT_LAUNCHES)
        for (uint32_t i = 0; i < KF_COUNT_LAUNCHES; i++)
            memset(&launches[i], 0, sizeof launches[i]);
    for (uint32_t i = 0; i < ranges; i++) {
        double values[KF_COUNT_METRICS];
        cupti_evaluate evaluate = {.size = CUPTI_SIZE(cupti_evaluate, values),
                                   .host = count.host,
                                   .data = count.data,
                                   .data_size = count.data_size,
                                   .range = i,
                                   .names = count.metrics,
                                   .count = count.metric_count,
                                   .values = values};
        if (!check(c->evaluate(&evaluate), "the values")) return 0;
        for (size_t asked = 0, got = 0; asked < KF_COUNT_METRICS; asked++)
            launches[i].values[asked] =
                count.became[asked] == KF_COUNT_COUNTED ? values[got++] : NAN;
    }
    header->launches = ranges;
    header->dropped =
        count.launch_count > ranges ? count.launch_count - ranges : (uint32_t)decode.dropped;
    return 1;
}

/* Does everything between the warm-up call and the first pass. */
static void make_ready(uint32_t passes)
{
    double started = now();
    if (count.stage == KF_COUNT_DONE && !count.profiler && shorten(passes)) enable(passes);
    count.enable_seconds = now() - started;
}

/* Measures the device time of one more call, and samples its lines in another, before the profiler
 * is enabled: CUPTI does one of the three at a time. */
static void measure_work(void (*call)(void *context), void *context, kf_count_records *records)
{
    uint32_t seen = count.seen;
    double seconds = 0;
    cu_result (*synchronize)(void) = count.cuda ? count.cuda->context_synchronize : NULL;
    if (count.cupti.library) {
        make_flush();
        flush();
    }
    kf_work_measure(call, context, synchronize, &records->header, records->works);
    for (uint32_t i = 0; i < records->header.works; i++) seconds += records->works[i].seconds;
    kf_lines_sample(call, context, synchronize, seconds, &records->header, records->lines);
    /* The number of launches of the warm-up decides about room. */
    count.seen = seen;
}

void kf_count_calls(void (*call)(void *context), void *context, uint32_t most_passes,
                    kf_count_records *records)
{
    kf_count_header *header = &records->header;
    kf_count_launch *launches = records->launches;
    double started = now();
    int last = 0;
    uint32_t passes = 0;
    memset(launches, 0, KF_COUNT_LAUNCHES * sizeof *launches);
    count.launch_count = 0;
    *header = (kf_count_header){.magic = KF_WIRE_MAGIC, .setup_seconds = count.setup_seconds};
    measure_work(call, context, records);
    make_ready(most_passes);
    while (count.stage == KF_COUNT_DONE && !last) {
        double began = now();
        count.launches = passes ? NULL : launches;
        if (passes == KF_COUNT_PASSES)
            fail(KF_COUNT_UNFINISHED, 0, "the passes never end", "");
        else if (one_pass(call, context, &last))
            header->pass_seconds[passes++] = (float)(now() - began);
    }
    count.launches = NULL;
    double counted = now();
    if (count.stage == KF_COUNT_DONE) read_values(header, launches);
    header->read_seconds = now() - counted;
    if (count.stage != KF_COUNT_DONE) header->launches = 0;
    header->stage = count.stage;
    header->code = count.code;
    header->passes = passes;
    header->all_passes = (uint32_t)count.all_passes;
    header->ranges = (uint32_t)count.ranges;
    header->enable_seconds = count.enable_seconds;
    header->start_seconds = count.start_seconds;
    header->stop_seconds = count.stop_seconds;
    header->count_seconds = now() - started;
    memcpy(header->chip, count.chip, sizeof header->chip);
    memcpy(header->note, count.note, sizeof header->note);
    memcpy(header->metrics, count.became, sizeof header->metrics);
}
