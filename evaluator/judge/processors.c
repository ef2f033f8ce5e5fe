#include "processors.h"

#define EACH 4 /* processors a GPU: its launcher, the judge's, and some for everybody else */

/* -1: none. */
static int last_of(const cpu_set_t *set)
{
    int last = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set)) last = cpu;
    return last;
}

static void without(cpu_set_t *set, const cpu_set_t *others)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, others)) CPU_CLR(cpu, set);
}

bool kf_processors_assign(const cpu_set_t *allowed, const cpu_set_t *near, size_t gpus, size_t which, kf_processors *processors)
{
    if (which >= gpus || (size_t)CPU_COUNT(allowed) / EACH < gpus) return false;
    CPU_ZERO(&processors->launchers);
    for (size_t i = 0; i < gpus; i++) {
        cpu_set_t left = *allowed, nearby;
        without(&left, &processors->launchers);
        CPU_AND(&nearby, &left, &near[i]);
        int cpu = last_of(CPU_COUNT(&nearby) ? &nearby : &left);
        CPU_SET(cpu, &processors->launchers);
        if (i != which) continue;
        CPU_ZERO(&processors->launcher);
        CPU_SET(cpu, &processors->launcher);
    }
    return true;
}

bool kf_processors_others(const kf_processors *processors, cpu_set_t *others)
{
    if (sched_getaffinity(0, sizeof *others, others)) return false;
    without(others, &processors->launchers);
    return CPU_COUNT(others) > 0;
}
