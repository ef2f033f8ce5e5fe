/* Facts about GPUs from the CUDA driver, which is loaded at run time. Names and numbers are those
 * of cuda.h and nvml.h: https://docs.nvidia.com/cuda/cuda-driver-api/ and
 * https://docs.nvidia.com/deploy/nvml-api/. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/gpu.h"
#include "throttling.h"

typedef struct driver {
    void *library;
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*count)(int *devices);
    int (*name)(char *text, int size, int device);
    int (*memory)(size_t *bytes, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*error_string)(int error, const char **text);
    int (*uuid)(unsigned char bytes[16], int device);
} driver;

/* the share of a GPU's time, in percent, that other programs may use */
#define LEAST_USE 10
#define CAPABILITY_MAJOR 75
#define CAPABILITY_MINOR 76

static bool load(driver *d)
{
    const struct {
        void *place;
        const char *name;
    } functions[] = {
        {&d->init, "cuInit"},
        {&d->driver_version, "cuDriverGetVersion"},
        {&d->count, "cuDeviceGetCount"},
        {&d->name, "cuDeviceGetName"},
        {&d->memory, "cuDeviceTotalMem_v2"},
        {&d->attribute, "cuDeviceGetAttribute"},
        {&d->error_string, "cuGetErrorString"},
        {&d->uuid, "cuDeviceGetUuid_v2"},
    };
    d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library) return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(d->library, functions[i].name);
        if (!symbol) return false;
        memcpy(functions[i].place, &symbol, sizeof symbol);
    }
    return true;
}

/* NVML. A function that an old version lacks is NULL. */
typedef struct nvml {
    int (*start)(void), (*stop)(void);
    int (*version)(char *text, unsigned size);
    int (*find)(const char *uuid, void **device);
    int (*reasons)(void *device, unsigned long long *bits);
    /* of the GPU's and its memory's time, in percent */
    int (*use)(void *device, unsigned shares[2]);
} nvml;

static bool load_nvml(nvml *n)
{
    const struct {
        void *place;
        const char *name;
    } functions[] = {
        {&n->start, "nvmlInit_v2"},
        {&n->stop, "nvmlShutdown"},
        {&n->version, "nvmlSystemGetDriverVersion"},
        {&n->find, "nvmlDeviceGetHandleByUUID"},
        {&n->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons"},
        {&n->use, "nvmlDeviceGetUtilizationRates"},
    };
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        memcpy(functions[i].place, &symbol, sizeof symbol);
    }
    return n->start && n->stop && n->version;
}

/* Returns NVML's handle of a CUDA device, or NULL: its own numbers are in another order, and do not
 * heed CUDA_VISIBLE_DEVICES. */
static void *handle_of(const driver *d, const nvml *n, int gpu)
{
    unsigned char bytes[16];
    char text[48] = "GPU-";
    size_t size = strlen(text);
    void *device;
    if (d->uuid(bytes, gpu) != 0) return NULL;
    for (int i = 0; i < 16; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
    return n->find(text, &device) == 0 ? device : NULL;
}

/* Adds what disturbs timing on a CUDA device. */
static void add_noise(kf_doctor *doctor, const driver *d, const nvml *n, int gpu)
{
    void *device = handle_of(d, n, gpu);
    unsigned long long bits = 0;
    unsigned shares[2] = {0};
    const char *remedy = "";
    if (!device) return;
    const char *words =
        n->reasons && n->reasons(device, &bits) == 0 ? kf_throttling_now(bits, &remedy) : NULL;
    if (words)
        kf_doctor_add(doctor, "noise", KF_FACT_WARNING, remedy, "timing is noisy: cuda:%d: %s", gpu,
                      words);
    if (n->use && n->use(device, shares) == 0 && shares[0] >= LEAST_USE)
        kf_doctor_add(doctor, "noise", KF_FACT_WARNING,
                      "end them, or choose another GPU with --device cuda:N",
                      "timing is noisy: cuda:%d: other programs use %u %% of its time", gpu,
                      shares[0]);
}

/* Reads the version of the kernel driver, which differs from CUDA's: "580.65.06". Adds what
 * disturbs timing now. */
static void ask_nvml(kf_doctor *doctor, const driver *d, int count, char release[96])
{
    nvml n = {0};
    release[0] = '\0';
    if (!load_nvml(&n)) return;
    kf_gpu_enter("nvmlInit_v2");
    bool started = n.start() == 0;
    if (started && n.version(release, 96) != 0) release[0] = '\0';
    for (int i = 0; started && n.find && i < count; i++) add_noise(doctor, d, &n, i);
    if (started) n.stop();
    kf_gpu_leave();
}

static void describe(kf_doctor *doctor, const driver *d, int count)
{
    int version = 0;
    char release[96];
    ask_nvml(doctor, d, count, release);
    d->driver_version(&version);
    for (int i = 0; i < count; i++) {
        char name[128] = "?";
        size_t bytes = 0;
        int major = 0, minor = 0;
        d->name(name, sizeof name, i);
        d->memory(&bytes, i);
        d->attribute(&major, CAPABILITY_MAJOR, i);
        d->attribute(&minor, CAPABILITY_MINOR, i);
        bool old = major < KF_GPU_MIN_MAJOR;
        kf_doctor_add(doctor, "gpu", old ? KF_FACT_MISSING : KF_FACT_GOOD,
                      old ? "kforge needs compute capability 7.0 or later" : "",
                      "cuda:%d %s, %.0f GiB, compute capability %d.%d, CUDA %d.%d%s%s", i, name,
                      (double)bytes / (1 << 30), major, minor, version / 1000, version % 1000 / 10,
                      release[0] ? ", driver " : "", release);
    }
}

/* Adds a fact and returns true if a missing MIG instance is the reason why the driver shows no GPU
 * or does not start. */
static bool no_instance(kf_doctor *doctor)
{
    char text[512], *todo = kf_gpu_without_instance(text, sizeof text) ? strstr(text, "; ") : NULL;
    if (!todo) return false;
    *todo = '\0';
    kf_doctor_add(doctor, "gpu", KF_FACT_MISSING, todo + 2, "the driver shows no GPU: %s", text);
    return true;
}

int kf_doctor_gpu(kf_doctor *doctor)
{
    driver d = {0};
    if (!load(&d)) {
        kf_doctor_add(
            doctor, "gpu", KF_FACT_MISSING,
            "install NVIDIA's driver; without one, kernels run on the CPU device (--device cpu)",
            d.library ? "libcuda.so.1 is too old: it lacks functions of CUDA 11"
                      : "no NVIDIA driver: libcuda.so.1 was not found");
        return 0;
    }
    int count = 0;
    kf_gpu_enter("cuInit");
    int error = d.init(0);
    if (error == 0) error = d.count(&count);
    kf_gpu_leave();
    if (error == KF_GPU_NONE && no_instance(doctor)) return 0;
    if (error != 0) {
        const char *text = NULL;
        if (d.error_string(error, &text) != 0 || !text) text = "unknown error";
        const char *remedy = kf_gpu_remedy(error);
        kf_doctor_add(doctor, "gpu", error == KF_GPU_NONE ? KF_FACT_MISSING : KF_FACT_FAULT,
                      remedy ? remedy : "check nvidia-smi, and the kernel log with dmesg",
                      "the CUDA driver does not start: %s (error %d)", text, error);
        return 0;
    }
    if (count == 0 && !no_instance(doctor))
        kf_doctor_add(doctor, "gpu", KF_FACT_MISSING,
                      "check whether CUDA_VISIBLE_DEVICES hides them",
                      "the driver works, but shows no GPU");
    describe(doctor, &d, count);
    if (count && access("/dev/cpu_dma_latency", W_OK) != 0)
        kf_doctor_add(
            doctor, "timing", KF_FACT_WARNING,
            "run as root, or give kforge's user write access to /dev/cpu_dma_latency (a udev rule)",
            "processors may sleep while a GPU is timed: intervals get wider or take longer");
    return count;
}

/* ---- in a child process -------------------------------------------------------------------------
 *
 * The child writes a line of JSON for each fact as soon as it is known, and one at the end. If the
 * driver does not answer, the thread that notices it (kforge/gpu.h) writes that as a fact and ends
 * the process. Earlier lines are not lost. */

static int output = -1; /* the child's */

static void send_line(cJSON *line)
{
    kf_autofree char *text = line ? cJSON_PrintUnformatted(line) : NULL;
    kf_autobuffer whole = {0};
    kf_buffer_format(&whole, "%s\n", text ? text : "{}");
    /* the parent has ended */
    if (whole.data && !kf_write_all(output, whole.data, whole.size)) _exit(1);
}

static void tell_silence(const char *text)
{
    kf_doctor own = {.facts = cJSON_CreateArray()};
    const char *todo = strstr(text, "; ");
    kf_doctor_add(&own, "gpu", KF_FACT_FAULT, todo ? todo + 2 : "", "%.*s",
                  (int)(todo ? (size_t)(todo - text) : strlen(text)), text);
    send_line(cJSON_GetArrayItem(own.facts, 0));
    /* the driver may keep the process from ending */
    close(output);
    _exit(1);
}

/* Runs the checks in the child and ends it. */
static void look_here(bool (*look)(kf_doctor *doctor, cJSON *judges), bool full, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    kf_gpu_on_silence(tell_silence);
    kf_doctor doctor = {.facts = cJSON_CreateArray(), .full = full, .on_fact = send_line};
    cJSON *end = cJSON_CreateObject(), *judges = cJSON_AddArrayToObject(end, "judges");
    bool judging = look(&doctor, judges);
    cJSON_AddBoolToObject(end, "judging", judging);
    send_line(end);
    _exit(0);
}

static bool take_line(kf_doctor *doctor, cJSON *judges, cJSON *line)
{
    cJSON *list = cJSON_GetObjectItem(line, "judges");
    bool judging = cJSON_IsTrue(cJSON_GetObjectItem(line, "judging"));
    if (cJSON_GetObjectItem(line, "subject")) {
        cJSON_AddItemToArray(doctor->facts, line);
        return false;
    }
    while (cJSON_GetArraySize(list))
        cJSON_AddItemToArray(judges, cJSON_DetachItemFromArray(list, 0));
    cJSON_Delete(line);
    return judging;
}

static bool failed(kf_doctor *doctor, const char *what)
{
    kf_doctor_add(doctor, "gpu", KF_FACT_FAULT, "", "the process that checks the GPU %s", what);
    return false;
}

bool kf_doctor_gpu_child(kf_doctor *doctor, bool (*look)(kf_doctor *doctor, cJSON *judges),
                         cJSON *judges)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) < 0) return failed(doctor, strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        output = ends[1];
        close(ends[0]);
        look_here(look, doctor->full, parent);
    }
    close(ends[1]);
    kf_autoclose int input = ends[0];
    if (pid < 0) return failed(doctor, "can't be started");
    kf_autobuffer text = {0};
    char data[4096];
    for (ssize_t got; (got = read(input, data, sizeof data)) != 0;) {
        if (got < 0 && errno != EINTR) break;
        if (got > 0) kf_buffer_append(&text, data, (size_t)got);
    }
    bool judging = false;
    for (char *rest = text.data, *word; rest && (word = strsep(&rest, "\n"));) {
        cJSON *line = *word ? cJSON_Parse(word) : NULL;
        if (line) judging |= take_line(doctor, judges, line);
    }
    /* All lines are read. Do not wait for a child that the driver blocks. */
    if (waitpid(pid, &status, WNOHANG) == 0) {
        kill(pid, SIGKILL);
        usleep(20000);
        waitpid(pid, &status, WNOHANG);
    } else if (WIFSIGNALED(status)) {
        failed(doctor, "crashed in the driver");
    }
    return judging;
}
