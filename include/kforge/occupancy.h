/* Theoretical occupancy: how many warps of a kernel fit on a multiprocessor, from what one block
 * takes. Pure.
 *
 * Limits of compute capabilities are those of the CUDA C++ Programming Guide, "Compute
 * Capabilities, Technical Specifications per Compute Capability"; granularities and the arithmetic
 * are those of cuda_occupancy.h, which the toolkit ships. What a launch really reaches is a counter
 * (sm__warps_active); this is its ceiling.
 */
#ifndef KFORGE_OCCUPANCY_H
#define KFORGE_OCCUPANCY_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Of one multiprocessor. */
typedef struct kf_sm_limits {
    int warps, blocks;
    int registers;       /* 32-bit */
    int shared_bytes;    /* at most, with the L1 at its smallest */
    int reserved_shared; /* bytes that the system takes of it for each block */
} kf_sm_limits;

/* What allows no more blocks; of several that do the first. */
typedef enum kf_occupancy_limit {
    /* warps, or threads, which is the same: nothing of the kernel's limits it */
    KF_OCCUPANCY_WARPS,
    KF_OCCUPANCY_BLOCKS,
    KF_OCCUPANCY_REGISTERS,
    KF_OCCUPANCY_SHARED,
    KF_OCCUPANCY_LIMITS
} kf_occupancy_limit;

typedef struct kf_occupancy {
    int blocks[KF_OCCUPANCY_LIMITS]; /* that each allows */
    int resident;                    /* blocks, the least of these */
    int warps;                       /* resident */
    double part;                     /* of the warps there could be, 0 to 1 */
    kf_occupancy_limit limit;
} kf_occupancy;

/* False for a compute capability that is not in the table (7.0 to 12.1 are, but for 11.0). */
bool kf_sm_limits_of(int major, int minor, kf_sm_limits *limits);
/* Of blocks of `threads` (1 to 1024) that take `registers` a thread and `shared_bytes` of shared
 * memory, static and dynamic together. False for figures that no kernel has; a block that does not
 * fit at all is a result: 0 resident. */
bool kf_occupancy_of(const kf_sm_limits *limits, int threads, int registers, int shared_bytes,
                     kf_occupancy *occupancy);
/* The highest that any block size from 32 to 1024 in steps of 32 reaches, and the smallest such
 * size. */
bool kf_occupancy_best(const kf_sm_limits *limits, int registers, int shared_bytes,
                       kf_occupancy *occupancy, int *threads);

/* "warps", "blocks", "registers", "shared memory" */
const char *kf_occupancy_limit_name(kf_occupancy_limit limit);

/* Adds to what ptxas says of each kernel (build report, "kernels") the occupancy it can reach at
 * its best block size with its static shared memory: "occupancy" 0 to 1, "occupancy_limit",
 * "occupancy_threads"; and to the report the least of these. A report without kernels, or of a
 * compute capability that is not known, stays as it is. False: out of memory. */
bool kf_occupancy_report(cJSON *report, int major, int minor);

#endif
