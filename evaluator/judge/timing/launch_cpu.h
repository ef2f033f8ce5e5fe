/* Decides which processor the runners of a GPU launch from.
 *
 * The fixed cost of a batch changes by 35 us of 160 when its process moves to another processor
 * (docs/results/README.md). That is 1.3 % of a batch, and lasts. The kernel would put baseline and
 * candidate on different processors. So all runners of a GPU launch from the same one. Neither the
 * judge, which waits for them without sleeping, nor its compilers use that core.
 *
 * Judges with the same processors and the same GPUs compute the same result, each for all GPUs, and
 * so avoid each other's processors. In containers with one GPU each, a judge does not see the
 * others. But the number of a GPU's device file is that of the whole machine, and says how far from
 * the last processor to go. */
#ifndef KFORGE_LAUNCH_CPU_H
#define KFORGE_LAUNCH_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define KF_LAUNCH_CPU_GPUS 64

typedef struct kf_gpu_place {
    cpu_set_t near; /* processors next to it; empty if unknown */
    int number;     /* N of /dev/nvidiaN; -1 if unknown */
} kf_gpu_place;

typedef struct kf_launch_cpu {
    /* the processor that runners of this GPU launch from, also as a set */
    int processor;
    cpu_set_t launcher;
    /* all processors of the cores with launchers, of all GPUs */
    cpu_set_t cores;
} kf_launch_cpu;

/* Finds the processors of a processor's core (hyperthreads), itself included. */
typedef void kf_core(int processor, cpu_set_t *core);
/* Reads them from /sys. */
kf_core kf_core_of_system;

/* Assigns a processor to GPU `which` of `gpus`. It is the last one of the core that lies `number`
 * cores before the last, counted round, or of the next core without a launcher. Cores next to the
 * GPU come first, then all allowed ones. False if there are fewer than four processors a GPU, or if
 * launchers would leave no other processor. */
bool kf_launch_cpu_assign(const cpu_set_t *allowed, const kf_gpu_place *places, size_t gpus,
                          size_t which, kf_core *core_of, kf_launch_cpu *processors);

/* Finds the processors of this thread without the cores of launchers. False if that leaves no
 * processor, or if the system does not say. */
bool kf_launch_cpu_others(const kf_launch_cpu *processors, cpu_set_t *others);

#endif
