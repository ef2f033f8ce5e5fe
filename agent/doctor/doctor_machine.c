#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "kforge/run_capture.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "noise.h"
#include "python_installation.h"
#include "table.h"

#define ANSWER_BYTES (16u << 10)
/* a compiler on a network disk may be slow at first */
#define ANSWER_SECONDS 20

/* Reads the value after "NAME : " in /proc/cpuinfo, "NAME: " in /proc/meminfo. */
static bool proc_value(const char *path, const char *name, char *value, size_t size)
{
    kf_autofclose FILE *file = fopen(path, "re");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, strlen(name)) != 0) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(value, size, "%s", colon);
        return true;
    }
    return false;
}

static void cache_sizes(kf_buffer *text)
{
    for (int index = 0; index < 8; index++) {
        char values[3][64] = {"", "", ""};
        static const char *const names[] = {"level", "type", "size"};
        for (int i = 0; i < 3; i++) {
            char path[128];
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
                     names[i]);
            kf_autofclose FILE *file = fopen(path, "re");
            if (file && fgets(values[i], sizeof values[i], file))
                values[i][strcspn(values[i], "\n")] = '\0';
        }
        if (!values[2][0] || strcmp(values[1], "Instruction") == 0) continue;
        char *end, figure[KF_FIGURE];
        double bytes = strtod(values[2], &end) * (*end == 'K' ? 1024 : *end == 'M' ? 1 << 20 : 1);
        kf_buffer_format(text, ", L%s %s", values[0], kf_figure_bytes(bytes, figure));
    }
}

static void processor(kf_doctor *doctor)
{
    char model[256] = "unknown processor", memory[64], figure[KF_FIGURE];
    proc_value("/proc/cpuinfo", "model name", model, sizeof model);
    cpu_set_t allowed;
    int own = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    kf_autobuffer caches = {0};
    cache_sizes(&caches);
    if (proc_value("/proc/meminfo", "MemTotal", memory, sizeof memory))
        kf_buffer_format(&caches, ", memory %s", kf_figure_bytes(atof(memory) * 1024, figure));
    kf_doctor_add(
        doctor, "cpu", own > 1 ? KF_FACT_GOOD : KF_FACT_WARNING,
        own > 1 ? ""
                : "judge and candidate share one core, so timing is noisy: expect `interference`",
        "%s, %d of %ld cores%s", model, own, all, caches.data ? caches.data : "");
}

/* Returns the first line of `PROGRAM --version` with `word` in it; NULL if the program does not
 * run. */
static char *version_line(const char *program, const char *word)
{
    const char *const arguments[] = {program, "--version", NULL};
    kf_autofree char *text = kf_run_capture(arguments, NULL, ANSWER_BYTES, ANSWER_SECONDS);
    for (char *rest = text, *line; rest && (line = strsep(&rest, "\n"));)
        if (rest && strstr(line, word)) return strdup(line);
    return NULL;
}

/* Returns the path of `name` in one of `folders` (separated by colons), malloc'd. */
static char *find_program(const char *name, const char *folders)
{
    kf_autofree char *copy = folders ? strdup(folders) : NULL;
    for (char *rest = copy, *folder; rest && (folder = strsep(&rest, ":"));) {
        kf_autofree char *path = *folder ? kf_path_join(folder, name) : NULL;
        if (path && access(path, X_OK) == 0) return kf_steal(&path);
    }
    return NULL;
}

static void host_compiler(kf_doctor *doctor)
{
    kf_autofree char *path = find_program("g++", getenv("PATH"));
    kf_autofree char *line = path ? version_line(path, "") : NULL;
    if (line)
        kf_doctor_add(doctor, "g++", KF_FACT_GOOD, "", "%s: %s", path, line);
    else
        kf_doctor_add(doctor, "g++", KF_FACT_MISSING,
                      "install g++ (Debian, Ubuntu: apt install g++): the CPU device builds "
                      "candidates with it",
                      path ? "%s does not run" : "not in PATH", path);
}

static void cuda_compiler(kf_doctor *doctor)
{
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    kf_autofree char *path = find_program("nvcc", getenv("PATH"));
    for (size_t i = 0; i < 2 && !path; i++) {
        kf_autofree char *folder = getenv(homes[i]) ? kf_path_join(getenv(homes[i]), "bin") : NULL;
        path = find_program("nvcc", folder);
    }
    if (!path) path = find_program("nvcc", "/usr/local/cuda/bin");
    kf_autofree char *line = path ? version_line(path, "release") : NULL;
    if (line)
        kf_doctor_add(doctor, "nvcc", KF_FACT_GOOD, "", "%s: %s", path, line);
    else
        kf_doctor_add(doctor, "nvcc", KF_FACT_MISSING,
                      "install the CUDA toolkit, or set CUDA_HOME to its folder; the CPU device "
                      "does not need it",
                      path ? "%s does not run"
                           : "not found in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda",
                      path);
}

/* Checks PyTorch, which problem files for PyTorch and solutions in Python need. */
static void pytorch(kf_doctor *doctor)
{
    kf_error error = {0};
    const kf_python *found = kf_python_find(&error);
    if (found) {
        bool all = !*found->unused;
        kf_doctor_add(doctor, "pytorch", KF_FACT_GOOD,
                      all ? "" : "to use another Python, set KFORGE_PYTHON",
                      "PyTorch %s, Python %s (%s, from %s)%s%s", found->torch, found->version,
                      found->program, found->from, all ? "" : "; not used: ", found->unused);
        return;
    }
    char *todo = strstr(error.text, "; ");
    if (todo) *todo = '\0', todo += 2;
    kf_doctor_add(doctor, "pytorch", KF_FACT_MISSING, todo ? todo : "", "%s", error.text);
}

/* `start`: before the checks, which keep the processor busy for a moment. */
static void noise(kf_doctor *doctor, const kf_noise *start)
{
    kf_noise now;
    kf_autobuffer words = {0};
    kf_noise_read("", &now);
    if (!kf_noise_words(start, &now, (kf_interval){NAN, NAN, NAN}, &words)) {
        kf_doctor_add(doctor, "noise", KF_FACT_GOOD, "", "no other program disturbs timing now");
        return;
    }
    const char *todo = kf_noise_remedy(words.data);
    kf_doctor_add(doctor, "noise", KF_FACT_WARNING, todo, "%s", words.data ? words.data : "");
}

void kf_doctor_machine(kf_doctor *doctor)
{
    kf_noise start;
    kf_noise_read("", &start);
    processor(doctor);
    host_compiler(doctor);
    cuda_compiler(doctor);
    pytorch(doctor);
    noise(doctor, &start);
}
