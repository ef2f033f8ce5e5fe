/* Which processor runners of a GPU launch from.
 *
 * What a batch costs beside its calls changes by 35 us of 160 in steps that last, which is 1.3 % of
 * a batch, and looks as if its process had gone to another processor (docs/results/README.md). Left
 * to the kernel, baseline and candidate come to be on different ones. So all runners of a GPU
 * launch from one and the same, and neither the judge, that waits for them without sleeping, nor
 * its compilers use its core.
 *
 * Judges that may use the same processors and see the same GPUs come to the same result, each for
 * all of them, and keep off each other's. Those in containers with one GPU each do not see the
 * others, but the number of a GPU's device file is the whole machine's: it says how far from the
 * end to go. */
#ifndef KFORGE_PROCESSORS_H
#define KFORGE_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define KF_LAUNCH_CPU_GPUS 64

typedef struct kf_gpu_place {
    cpu_set_t near; /* processors next to it; empty: not known */
    int number;     /* N of /dev/nvidiaN; -1: not known */
} kf_gpu_place;

typedef struct kf_launch_cpu {
    int processor;      /* that runners of this GPU launch from */
    cpu_set_t launcher; /* the same */
    cpu_set_t cores;    /* all processors of the cores that launchers of all GPUs are on */
} kf_launch_cpu;

/* The processors of a processor's core (hyperthreads), with itself. */
typedef void kf_core(int processor, cpu_set_t *core);
kf_core kf_core_of_system; /* as /sys has it */

/* For GPU `which` of `gpus`: of the cores next to it that may be used the one that is `number` from
 * the last, counted round, or the next that has no launcher; of all where there is none next to it.
 * False where there are fewer than four processors for each GPU or launchers would leave none: then
 * nobody has one for itself. */
bool kf_launch_cpu_assign(const cpu_set_t *allowed, const kf_gpu_place *places, size_t gpus,
                          size_t which, kf_core *core_of, kf_launch_cpu *processors);

/* Those that this thread may use, without the cores of launchers; false where none are left, or it
 * is not to be known. */
bool kf_launch_cpu_others(const kf_launch_cpu *processors, cpu_set_t *others);

#endif
