#include "processors.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

#define EACH 4 /* processors a GPU: its launcher, the judge's, and some for everybody else */

/* ---- cores ------------------------------------------------------------------------------------------------------------------------------------ */

static void without(cpu_set_t *set, const cpu_set_t *others)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, others)) CPU_CLR(cpu, set);
}

/* The list is like "0,64" or "0-1". */
void kf_core_of_system(int processor, cpu_set_t *core)
{
    char path[96], text[256] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file)) text[0] = '\0';
    CPU_ZERO(core);
    CPU_SET(processor, core);
    for (char *at = text, *end; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) CPU_SET((int)cpu, core);
    }
}

/* The processor in the `number`-th core from the end, counted round, or the next that is not of `taken`; -1: there is none. Of a core the last one counts. */
static int from_the_end(cpu_set_t left, int number, const cpu_set_t *taken, kf_core *core_of)
{
    int ends[CPU_SETSIZE], count = 0;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (!CPU_ISSET(cpu, &left)) continue;
        cpu_set_t core;
        ends[count++] = cpu;
        core_of(cpu, &core);
        without(&left, &core);
    }
    for (int i = 0; i < count; i++) {
        int cpu = ends[((number > 0 ? number : 0) + i) % count];
        if (!CPU_ISSET(cpu, taken)) return cpu;
    }
    return -1;
}

bool kf_processors_assign(const cpu_set_t *allowed, const kf_gpu_place *places, size_t gpus, size_t which, kf_core *core_of,
                          kf_processors *processors)
{
    if (which >= gpus || (size_t)CPU_COUNT(allowed) / EACH < gpus) return false;
    CPU_ZERO(&processors->cores);
    for (size_t i = 0; i < gpus; i++) {
        cpu_set_t nearby, core;
        CPU_AND(&nearby, allowed, &places[i].near);
        int cpu = from_the_end(nearby, places[i].number, &processors->cores, core_of);
        if (cpu < 0) cpu = from_the_end(*allowed, places[i].number, &processors->cores, core_of);
        if (cpu < 0) return false;
        core_of(cpu, &core);
        CPU_OR(&processors->cores, &processors->cores, &core);
        if (i != which) continue;
        CPU_ZERO(&processors->launcher);
        CPU_SET(cpu, &processors->launcher);
        processors->processor = cpu;
    }
    cpu_set_t left = *allowed;
    without(&left, &processors->cores);
    return CPU_COUNT(&left) > 0;
}

bool kf_processors_others(const kf_processors *processors, cpu_set_t *others)
{
    if (sched_getaffinity(0, sizeof *others, others)) return false;
    without(others, &processors->cores);
    return CPU_COUNT(others) > 0;
}

void kf_processors_free_threads(pid_t pid, const cpu_set_t *processors)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *item; (item = readdir(folder));) {
        pid_t thread = (pid_t)strtol(item->d_name, NULL, 10);
        if (thread > 0 && thread != pid) sched_setaffinity(thread, sizeof *processors, processors);
    }
    closedir(folder);
}

/* ---- control groups --------------------------------------------------------------------------------------------------------------------------- */

static bool read_numbers(const char *folder, const char *name, double *first, double *second)
{
    char path[PATH_MAX], text[128] = "", word[64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file)) return false;
    int found = sscanf(text, "%63s %lf", word, second);
    *first = strtod(word, NULL); /* "max" is 0 */
    return found >= 1;
}

/* The least of a group and all above it, up to the mount. */
static double granted_below(const char *mount, const char *group, bool second_version)
{
    char folder[PATH_MAX];
    double least = INFINITY;
    size_t top = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group) >= (int)sizeof folder) return least;
    for (;;) {
        double quota = 0, period = 0, unused;
        bool known = second_version ? read_numbers(folder, "cpu.max", &quota, &period)
                                    : read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) &&
                                          read_numbers(folder, "cpu.cfs_period_us", &period, &unused);
        if (known && quota > 0 && period > 0) least = fmin(least, quota / period);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) return least;
        *slash = '\0';
    }
}

double kf_processors_granted(const char *own, const char *root)
{
    char line[PATH_MAX + 256], mount[PATH_MAX];
    double least = INFINITY;
    kf_autofclose FILE *file = fopen(own, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        bool second_version = !names[1];
        if (second_version) least = fmin(least, granted_below(root, group, true));
        bool processors = false;
        for (char *save = NULL, *name = strtok_r(names + 1, ",", &save); name; name = strtok_r(NULL, ",", &save))
            processors = processors || strcmp(name, "cpu") == 0;
        if (!processors) continue;
        for (int turn = 0; turn < 2; turn++) /* it is mounted by either name */
            if (snprintf(mount, sizeof mount, "%s/%s", root, turn ? "cpu,cpuacct" : "cpu") < (int)sizeof mount)
                least = fmin(least, granted_below(mount, group, false));
    }
    return least;
}
