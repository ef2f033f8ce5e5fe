#include "launch_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

/* processors a GPU: the launcher, the judge's, and two for other programs */
#define EACH 4

static void without(cpu_set_t *set, const cpu_set_t *others)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, others)) CPU_CLR(cpu, set);
}

/* Parses a list like "0,64" or "0-1". */
void kf_core_of_system(int processor, cpu_set_t *core)
{
    char path[96], text[256] = "";
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file)) text[0] = '\0';
    CPU_ZERO(core);
    CPU_SET(processor, core);
    for (char *at = text, *end; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        long first = strtol(at, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++) CPU_SET((int)cpu, core);
    }
}

/* Returns the last processor of the core that lies `number` cores before the last, counted round,
 * or of the next core outside `taken`; -1 without one. */
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

bool kf_launch_cpu_assign(const cpu_set_t *allowed, const kf_gpu_place *places, size_t gpus,
                          size_t which, kf_core *core_of, kf_launch_cpu *processors)
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

bool kf_launch_cpu_others(const kf_launch_cpu *processors, cpu_set_t *others)
{
    if (sched_getaffinity(0, sizeof *others, others)) return false;
    without(others, &processors->cores);
    return CPU_COUNT(others) > 0;
}
