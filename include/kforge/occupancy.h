/* Theoretical occupancy: the number of warps of a kernel that fit on a multiprocessor, from the
 * resources of one block. Pure.
 *
 * Limits of compute capabilities are those of the CUDA C++ Programming Guide, "Compute
 * Capabilities, Technical Specifications per Compute Capability". Granularities and arithmetic are
 * those of cuda_occupancy.h, which the toolkit ships. The counter sm__warps_active measures the
 * occupancy of a launch; this is its ceiling.
 */
#ifndef KFORGE_OCCUPANCY_H
#define KFORGE_OCCUPANCY_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* The limits of one multiprocessor. */
typedef struct kf_sm_limits {
    int warps, blocks;
    /* of 32 bits */
    int registers;
    /* with the smallest L1 */
    int shared_bytes;
    /* bytes of shared memory that the system takes for each block */
    int reserved_shared;
} kf_sm_limits;

/* The resource that limits the blocks; of several the first. */
typedef enum kf_occupancy_limit {
    /* warps, which equals threads: the kernel itself does not limit them */
    KF_OCCUPANCY_WARPS,
    KF_OCCUPANCY_BLOCKS,
    KF_OCCUPANCY_REGISTERS,
    KF_OCCUPANCY_SHARED,
    KF_OCCUPANCY_LIMITS
} kf_occupancy_limit;

typedef struct kf_occupancy {
    /* blocks that each resource allows */
    int blocks[KF_OCCUPANCY_LIMITS];
    /* resident blocks: the least of these */
    int resident;
    /* resident warps */
    int warps;
    /* resident warps over the most possible, 0 to 1 */
    double part;
    kf_occupancy_limit limit;
} kf_occupancy;

/* Looks up the limits. False for a compute capability that is not in the table (7.0 to 12.1,
 * without 11.0). */
bool kf_sm_limits_of(int major, int minor, kf_sm_limits *limits);
/* Computes the occupancy for blocks of `threads` (1 to 1024) with `registers` a thread and
 * `shared_bytes` of shared memory, static and dynamic. False for figures that no kernel has. For a
 * block that does not fit, the result is 0 resident blocks. */
bool kf_occupancy_of(const kf_sm_limits *limits, int threads, int registers, int shared_bytes,
                     kf_occupancy *occupancy);
/* Finds the highest occupancy over block sizes from 32 to 1024 in steps of 32, and the smallest
 * such size. */
bool kf_occupancy_best(const kf_sm_limits *limits, int registers, int shared_bytes,
                       kf_occupancy *occupancy, int *threads);

/* Returns "warps", "blocks", "registers" or "shared memory". */
const char *kf_occupancy_limit_name(kf_occupancy_limit limit);

/* Adds to each kernel of a build report ("kernels", from ptxas) the occupancy at its best block
 * size with its static shared memory: "occupancy" 0 to 1, "occupancy_limit", "occupancy_threads".
 * The report itself gets the least of them. A report without kernels, or of an unknown compute
 * capability, stays as it is. False without memory. */
bool kf_occupancy_report(cJSON *report, int major, int minor);

#endif
