/* CUPTI records the begin and end of each kernel, copy and fill of a call. A row sums up all
 * records with one name from one file.
 *
 * A record has the kernel's name, but not its origin: a candidate may name a kernel like one of
 * PyTorch's. So a callback walks the stack at each launch, to the first file outside the driver and
 * the CUDA runtime. Kernels of a graph have no launch of their own. They get the file that launched
 * or captured a kernel with this name before. */
#include "kernel_work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define BUFFER_BYTES (1u << 20)
#define MODULES 64
#define NAMES 1024
#define LAUNCHES 8192
#define FRAMES 64
#define NO_MODULE (-1)

static struct {
    pthread_mutex_t lock;
    void *library;
#define X(name, symbol, arguments) cupti_result(*name) arguments;
    KF_CUPTI_ACTIVITY(X)
#undef X
    char modules[MODULES][KF_COUNT_MODULE];
    int module_count;
    /* Files by kernel name, of the first launch with that name. */
    struct {
        char *name;
        int module;
    } names[NAMES];
    size_t name_count;
    /* Files by correlation number, while a call is measured. */
    struct {
        uint32_t correlation;
        int module;
    } launches[LAUNCHES];
    size_t launch_count;
    bool measures;
    kf_count_header *header;
    kf_count_work *works;
    char note[KF_COUNT_NOTE];
} work = {.lock = PTHREAD_MUTEX_INITIALIZER, .note = "CUPTI is not loaded"};

/* ---- the file that launches ------------------------------------------------------------------ */

typedef struct walk {
    int frames;
    const void *self;
    const char *file;
} walk;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* True for files between a caller and the driver. */
static bool is_between(const char *file)
{
    static const char *const names[] = {"libcuda.so", "libcudart.so", "libcupti.so",
                                        "libnvidia-", "libgcc_s.so",  "libc.so"};
    const char *name = base_name(file);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data)
{
    walk *w = data;
    Dl_info info;
    /* A return address may lie behind the end of its function. */
    const uintptr_t address = _Unwind_GetIP(context) - 1;
    if (w->frames++ >= FRAMES) return _URC_END_OF_STACK;
    if (!dladdr((const void *)address, &info) || !info.dli_fname) return _URC_NO_REASON;
    if (info.dli_fbase == w->self || is_between(info.dli_fname)) return _URC_NO_REASON;
    w->file = info.dli_fname;
    return _URC_END_OF_STACK;
}

/* Returns the number of the file that holds the call of the launch function. */
static int find_module(void)
{
    Dl_info own;
    walk w = {.self = dladdr((void *)find_module, &own) ? own.dli_fbase : NULL};
    _Unwind_Backtrace(look, &w);
    if (!w.file) return NO_MODULE;
    size_t length = strlen(w.file);
    const char *end = length < KF_COUNT_MODULE ? w.file : w.file + length - KF_COUNT_MODULE + 1;
    for (int i = 0; i < work.module_count; i++)
        if (strcmp(work.modules[i], end) == 0) return i;
    if (work.module_count == MODULES) return NO_MODULE;
    snprintf(work.modules[work.module_count], KF_COUNT_MODULE, "%s", end);
    return work.module_count++;
}

static int module_of_name(const char *name)
{
    for (size_t i = 0; i < work.name_count; i++)
        if (strcmp(work.names[i].name, name) == 0) return work.names[i].module;
    return NO_MODULE;
}

void kf_work_launched(uint32_t number, const cupti_callback *callback)
{
    bool graph = number == CUPTI_LAUNCH_GRAPH || number == CUPTI_LAUNCH_GRAPH_PTSZ;
    if (!work.library || graph) return;
    pthread_mutex_lock(&work.lock);
    bool known = !callback->symbol || module_of_name(callback->symbol) != NO_MODULE;
    if (!known || work.measures) {
        int module = find_module();
        if (!known && work.name_count < NAMES && module != NO_MODULE) {
            char *name = strdup(callback->symbol);
            if (name) {
                work.names[work.name_count].name = name;
                work.names[work.name_count++].module = module;
            }
        }
        if (work.measures && work.launch_count < LAUNCHES) {
            work.launches[work.launch_count].correlation = callback->correlation;
            work.launches[work.launch_count++].module = module;
        }
    }
    pthread_mutex_unlock(&work.lock);
}

/* ---- records --------------------------------------------------------------------------------- */

static int module_of(const cupti_kernel_record *kernel)
{
    for (size_t i = 0; i < work.launch_count; i++)
        if (work.launches[i].correlation == kernel->correlation) return work.launches[i].module;
    return kernel->name ? module_of_name(kernel->name) : NO_MODULE;
}

static void add(uint32_t kind, const char *name, const char *module, uint64_t start, uint64_t end)
{
    kf_count_header *header = work.header;
    double seconds = end > start ? (double)(end - start) * 1e-9 : 0;
    char cut[KF_COUNT_NAME];
    snprintf(cut, sizeof cut, "%s", name);
    uint32_t i = 0;
    while (i < header->works &&
           (work.works[i].kind != kind || strcmp(work.works[i].name, cut) != 0 ||
            strcmp(work.works[i].module, module) != 0))
        i++;
    if (i == KF_COUNT_WORKS) {
        header->work_rest_seconds += seconds;
        return;
    }
    kf_count_work *row = &work.works[i];
    if (i == header->works) {
        header->works++;
        *row = (kf_count_work){.kind = kind};
        snprintf(row->name, sizeof row->name, "%s", cut);
        snprintf(row->module, sizeof row->module, "%s", module);
    }
    row->launches++;
    row->seconds += seconds;
}

static void take(const cupti_record *record)
{
    const cupti_kernel_record *kernel = (const void *)record;
    const cupti_copy_record *copy = (const void *)record;
    int module;
    switch (record->kind) {
    case CUPTI_RECORD_KERNEL:
    case CUPTI_RECORD_CONCURRENT_KERNEL:
        module = module_of(kernel);
        add(KF_COUNT_KERNEL, kernel->name ? kernel->name : "",
            module == NO_MODULE ? "" : work.modules[module], kernel->start, kernel->end);
        break;
    case CUPTI_RECORD_COPY:
    case CUPTI_RECORD_FILL:
        add(record->kind == CUPTI_RECORD_COPY ? KF_COUNT_COPY : KF_COUNT_FILL, "", "", copy->start,
            copy->end);
        break;
    default: break;
    }
}

static void give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = malloc(BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *records = 0;
}

/* CUPTI may call it from a thread of its own. */
static void take_buffer(cu_context context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    cupti_record *record = NULL;
    (void)context, (void)stream, (void)size;
    pthread_mutex_lock(&work.lock);
    while (valid && work.header && work.next_record(buffer, valid, &record) == 0) take(record);
    pthread_mutex_unlock(&work.lock);
    free(buffer);
}

/* ---- CUPTI ----------------------------------------------------------------------------------- */

static int fail(const char *doing, cupti_result code)
{
    const char *text = NULL;
    if (code && work.result_text) work.result_text(code, &text);
    snprintf(work.note, sizeof work.note, "%s%s%s", doing, text ? ": " : "", text ? text : "");
    work.library = NULL;
    return 0;
}

static int check(cupti_result code, const char *doing)
{
    return code == 0 || fail(doing, code);
}

static int find_functions(void *library)
{
#define X(name, symbol, arguments)                 \
    *(void **)&work.name = dlsym(library, symbol); \
    if (!work.name) return fail("CUPTI lacks " symbol, 0);
    KF_CUPTI_ACTIVITY(X)
#undef X
    work.library = library;
    work.note[0] = '\0';
    return 1;
}

static int open_records(void *library)
{
    return find_functions(library) &&
           check(work.set_buffers(give_buffer, take_buffer), "buffers for activity records");
}

void kf_work_open(void *library)
{
    open_records(library);
}

static void launched(void *user, int domain, uint32_t number, const cupti_callback *callback)
{
    (void)user;
    if (domain == CUPTI_CALLBACKS_DRIVER && callback->site == 0) kf_work_launched(number, callback);
}

void kf_work_prepare(void)
{
    static const char *const loaded[] = {"libcupti.so.13", "libcupti.so.12"};
    static const uint32_t numbers[] = {KF_CUPTI_LAUNCHES};
    const char *path = getenv(KF_COUNT_LIBRARY);
    void *library = NULL, *subscriber = NULL;
    if (!path) return;
    /* PyTorch has loaded one. A second CUPTI in a process would get no records. */
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded && !library; i++)
        library = dlopen(loaded[i], RTLD_NOW | RTLD_NOLOAD);
    if (!library) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fail("CUPTI does not load", 0);
        return;
    }
    if (!open_records(library) ||
        !check(work.subscribe(&subscriber, launched, NULL), "subscribing to launches"))
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        work.enable_callback(1, subscriber, CUPTI_CALLBACKS_DRIVER, numbers[i]);
}

static int enable(void)
{
    static const int kinds[] = {CUPTI_RECORD_CONCURRENT_KERNEL, CUPTI_RECORD_COPY,
                                CUPTI_RECORD_FILL};
    int good = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && good; i++)
        good = check(work.enable(kinds[i]), "enabling activity records");
    return good;
}

/* The profiler of counters works only while no records are made. */
static void disable(void)
{
    work.disable(CUPTI_RECORD_CONCURRENT_KERNEL);
    work.disable(CUPTI_RECORD_COPY);
    work.disable(CUPTI_RECORD_FILL);
}

static void set_measures(bool on)
{
    pthread_mutex_lock(&work.lock);
    work.measures = on;
    pthread_mutex_unlock(&work.lock);
}

void kf_work_measure(void (*call)(void *context), void *context, cu_result (*synchronize)(void),
                     kf_count_header *header, kf_count_work *works)
{
    header->works = 0;
    header->work_rest_seconds = 0;
    if (work.library) {
        synchronize();
        work.header = header;
        work.works = works;
        work.launch_count = 0;
        if (enable()) {
            set_measures(true);
            call(context);
            synchronize();
            set_measures(false);
            check(work.flush(1), "reading activity records");
            disable();
        }
        pthread_mutex_lock(&work.lock);
        work.header = NULL;
        pthread_mutex_unlock(&work.lock);
        if (work.library && !header->works) fail("the call did no work on the device", 0);
    }
    memcpy(header->work_note, work.note, sizeof work.note);
}
