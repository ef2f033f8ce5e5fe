/* Hardware cards: what a prompt says about a GPU generation, in addition to what the machine
 * reports and what was measured on it.
 *
 * Limits: CUDA Programming Guide, "Compute Capabilities", tables of features and of technical
 * specifications
 * (docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html; 7.0
 * from the guide of CUDA 12, the last that lists it). FP32 lanes: the guide's table of
 * arithmetic throughput. Instructions: PTX ISA, the "Target ISA Notes" of each instruction.
 * Uncertain facts are left out. */
#include "hardware_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct card {
    int major, minor;
    /* products, as the driver spells them, with '|' between them */
    const char *names;
    /* most that are resident on a multiprocessor */
    int warps, blocks;
    /* in KiB, configurable maximum */
    int shared_sm, shared_block;
    /* f32 results for each clock and multiprocessor */
    int lanes;
    /* instructions worth using, in words */
    const char *instructions;
} card;

#define SYNC "warp shuffles and votes with masks (__shfl_sync), cooperative groups"
#define AMPERE                                                                                    \
    SYNC "; cp.async (16-byte copies from global to shared memory without registers), ldmatrix, " \
         "mma.sync on f16, bf16, tf32 and "                                                       \
         "int8, "                                                                                 \
         "mbarrier, redux.sync for integers"

static const card cards[] = {
    {7, 0, "V100|TITAN V", 64, 32, 96, 96, 64,
     SYNC "; mma.sync m8n8k4 on f16 with f32 accumulation (WMMA)"},
    {7, 5, "T4|RTX 20|RTX 2|Quadro RTX|TITAN RTX|GTX 16", 32, 16, 64, 64, 64,
     SYNC "; ldmatrix, mma.sync m16n8k8 on f16, int8 and int4 tensor cores"},
    {8, 0, "A100|A30|A800", 64, 32, 164, 163, 64,
     AMPERE "; mma.sync on f64; residency of data in L2 by access policy windows"},
    {8, 6, "A40|A10|A16|A2|RTX A|RTX 30", 48, 16, 100, 99, 128, AMPERE},
    {8, 7, "Orin", 48, 16, 164, 163, 128, AMPERE},
    {8, 9, "L40|L4|RTX 40|Ada", 48, 24, 100, 99, 128, AMPERE "; mma.sync on FP8 (e4m3, e5m2)"},
    {9, 0, "H100|H200|H800|H20|GH200", 64, 32, 228, 227, 128,
     AMPERE "; TMA (cp.async.bulk.tensor) with mbarrier transactions, wgmma (asynchronous "
            "warp-group matrix products that read "
            "operands from "
            "shared memory), thread block clusters with distributed shared memory, setmaxnreg for "
            "producer and consumer warps"},
    {10, 0, "B200|GB200|B100", 64, 32, 228, 227, 128,
     AMPERE "; TMA, clusters, tcgen05 (matrix products by one thread with accumulators in tensor "
            "memory, pairs of "
            "multiprocessors), FP8, FP6 and FP4 "
            "with block scales; wgmma is not there"},
    {10, 3, "B300|GB300", 64, 32, 228, 227, 128,
     AMPERE
     "; TMA, clusters, tcgen05 with tensor memory, FP4 with block scales; wgmma is not there"},
    {11, 0, "Thor", 48, 24, 228, 227, 128,
     AMPERE "; TMA, clusters, tcgen05 with tensor memory; wgmma is not there"},
    {12, 0, "RTX 50|RTX PRO", 48, 24, 100, 99, 128,
     AMPERE "; TMA, mma.sync on FP8 and on FP4 with block scales; neither wgmma nor tcgen05"},
    {12, 1, "GB10", 48, 24, 100, 99, 128,
     AMPERE "; TMA, mma.sync on FP8 and on FP4 with block scales; neither wgmma nor tcgen05"},
};

/* Returns the length of the longest product name in `hardware`, or 0: "A10" must not match
 * "A100". */
static size_t match(const card *c, const char *hardware)
{
    size_t longest = 0;
    for (const char *name = c->names; *name;) {
        size_t size = strcspn(name, "|");
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)size, name);
        const char *at = strstr(hardware, word);
        if (at && size > longest) longest = size;
        name += size + (name[size] == '|');
    }
    return longest;
}

static const card *find(const char *hardware)
{
    int major, minor;
    const char *at = strstr(hardware, "capability ");
    const card *found = NULL;
    size_t longest = 0;
    if (at && sscanf(at, "capability %d.%d", &major, &minor) == 2) {
        for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
            if (cards[i].major == major &&
                (cards[i].minor == minor || (!found && cards[i].minor < minor)))
                found = &cards[i];
        return found;
    }
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        size_t size = strstr(hardware, "NVIDIA") ? match(&cards[i], hardware) : 0;
        if (size > longest) found = &cards[i], longest = size;
    }
    return found;
}

void kf_hardware_card(const char *hardware, kf_buffer *out)
{
    const card *c = hardware ? find(hardware) : NULL;
    if (!c) return;
    kf_buffer_format(out,
                     "Compute capability %d.%d, for each multiprocessor: %d threads (%d warps) and "
                     "%d blocks at most, 65536 registers (255 a "
                     "thread), %d KiB of shared memory of which a block can have %d KiB (over 48 "
                     "KiB only as dynamic shared memory, after "
                     "cudaFuncSetAttribute), %d f32 results a clock. Global memory moves in "
                     "sectors of 32 bytes: neighbouring threads should "
                     "read neighbouring addresses, 16 bytes each where alignment allows. Shared "
                     "memory has 32 banks of 4 bytes.\n",
                     c->major, c->minor, 32 * c->warps, c->warps, c->blocks, c->shared_sm,
                     c->shared_block, c->lanes);
    kf_buffer_format(out, "Worth using: %s.\n", c->instructions);
}
