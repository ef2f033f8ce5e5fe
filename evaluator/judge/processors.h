/* Which processor runners of a GPU launch from.
 *
 * What a batch costs beside its calls depends on where its process is: by 35 us of 160 between two processors of the same virtual machine, which is 1.3 % of a
 * batch, for as long as the process stays there (docs/measurements/2026-11-23-h200.md). Left to the kernel, baseline and candidate come to be on different
 * ones. So all runners of a GPU launch from one and the same, which neither the judge, that waits for them without sleeping, nor its compilers use.
 *
 * Several judges on one machine come to the same result, each for all GPUs, and keep off each other's. */
#ifndef KFORGE_PROCESSORS_H
#define KFORGE_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define KF_PROCESSORS_GPUS 64

typedef struct kf_processors {
    cpu_set_t launcher;  /* of this GPU: one processor */
    cpu_set_t launchers; /* of all */
} kf_processors;

/* For GPU `which` of `gpus`, of which GPU i is next to near[i] (empty: not known): the last of those next to it that may be used and no GPU before it has, else
 * the last at all. False where there are fewer than four processors for each GPU: then nobody has one for itself. */
bool kf_processors_assign(const cpu_set_t *allowed, const cpu_set_t *near, size_t gpus, size_t which, kf_processors *processors);

/* Those that this thread may use, without the launchers; false where none are left, or it is not to be known. */
bool kf_processors_others(const kf_processors *processors, cpu_set_t *others);

#endif
