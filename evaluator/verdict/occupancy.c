#include "kforge/occupancy.h"

#include <string.h>

#include "kforge/json.h"

#define WARP 32
/* registers are allocated to a warp in units of this size, since 7.0 */
#define REGISTER_UNIT 256
/* of a multiprocessor, each with a quarter of the registers */
#define PARTITIONS 4
#define MAX_THREADS 1024
#define MAX_REGISTERS 255

static const struct row {
    int major, minor;
    kf_sm_limits limits;
} rows[] = {
    {7, 0, {64, 32, 65536, 96 * 1024, 0}},      {7, 2, {64, 32, 65536, 96 * 1024, 0}},
    {7, 5, {32, 16, 65536, 64 * 1024, 0}},      {8, 0, {64, 32, 65536, 164 * 1024, 1024}},
    {8, 6, {48, 16, 65536, 100 * 1024, 1024}},  {8, 7, {48, 16, 65536, 164 * 1024, 1024}},
    {8, 9, {48, 24, 65536, 100 * 1024, 1024}},  {9, 0, {64, 32, 65536, 228 * 1024, 1024}},
    {10, 0, {64, 32, 65536, 228 * 1024, 1024}}, {10, 3, {64, 32, 65536, 228 * 1024, 1024}},
    {12, 0, {48, 24, 65536, 100 * 1024, 1024}}, {12, 1, {48, 24, 65536, 100 * 1024, 1024}},
};

bool kf_sm_limits_of(int major, int minor, kf_sm_limits *limits)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].major == major && rows[i].minor == minor) {
            *limits = rows[i].limits;
            return true;
        }
    return false;
}

static int round_up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

bool kf_occupancy_of(const kf_sm_limits *limits, int threads, int registers, int shared_bytes,
                     kf_occupancy *occupancy)
{
    *occupancy = (kf_occupancy){0};
    if (threads < 1 || threads > MAX_THREADS || registers < 0 || registers > MAX_REGISTERS ||
        shared_bytes < 0 || shared_bytes > 1 << 24)
        return false;
    int warps = round_up(threads, WARP) / WARP;
    int *blocks = occupancy->blocks;
    blocks[KF_OCCUPANCY_WARPS] = limits->warps / warps;
    blocks[KF_OCCUPANCY_BLOCKS] = limits->blocks;
    blocks[KF_OCCUPANCY_REGISTERS] = limits->blocks;
    if (registers) {
        int a_warp = round_up(registers * WARP, REGISTER_UNIT);
        int resident = limits->registers / PARTITIONS / a_warp * PARTITIONS;
        blocks[KF_OCCUPANCY_REGISTERS] =
            round_up(warps, PARTITIONS) * a_warp > limits->registers ? 0 : resident / warps;
    }
    /* 128 bytes since 8.0 */
    int unit = limits->reserved_shared ? 128 : 256;
    int shared = round_up(shared_bytes + limits->reserved_shared, unit);
    blocks[KF_OCCUPANCY_SHARED] = shared ? limits->shared_bytes / shared : limits->blocks;
    occupancy->resident = blocks[0];
    for (int i = 1; i < KF_OCCUPANCY_LIMITS; i++)
        if (blocks[i] < occupancy->resident) {
            occupancy->resident = blocks[i];
            occupancy->limit = (kf_occupancy_limit)i;
        }
    occupancy->warps = occupancy->resident * warps;
    occupancy->part = (double)occupancy->warps / limits->warps;
    return true;
}

bool kf_occupancy_best(const kf_sm_limits *limits, int registers, int shared_bytes,
                       kf_occupancy *occupancy, int *threads)
{
    bool any = false;
    for (int size = WARP; size <= MAX_THREADS; size += WARP) {
        kf_occupancy tried;
        if (!kf_occupancy_of(limits, size, registers, shared_bytes, &tried)) return false;
        if (any && tried.warps <= occupancy->warps) continue;
        any = true;
        *occupancy = tried;
        *threads = size;
    }
    return any;
}

const char *kf_occupancy_limit_name(kf_occupancy_limit limit)
{
    static const char *const names[] = {"warps", "blocks", "registers", "shared memory"};
    return names[limit];
}

/* Returns an integer field of the kernel within [0, most], -1 without one. */
static int figure(const cJSON *kernel, const char *key, double most)
{
    double value = kf_json_get_number(kernel, key, -1);
    return value >= 0 && value <= most ? (int)value : -1;
}

bool kf_occupancy_report(cJSON *report, int major, int minor)
{
    kf_sm_limits limits;
    cJSON *kernel;
    double least = 2;
    if (!kf_sm_limits_of(major, minor, &limits)) return true;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItemCaseSensitive(report, "kernels"))
    {
        int registers = figure(kernel, "registers", MAX_REGISTERS),
            shared = figure(kernel, "shared_bytes", 1 << 24), threads;
        kf_occupancy best;
        if (registers < 0 || shared < 0 ||
            !kf_occupancy_best(&limits, registers, shared, &best, &threads))
            continue;
        kf_json_add_number(kernel, "occupancy", best.part);
        kf_json_add_number(kernel, "occupancy_threads", threads);
        if (!cJSON_AddStringToObject(kernel, "occupancy_limit",
                                     kf_occupancy_limit_name(best.limit)))
            return false;
        if (best.part < least) least = best.part;
    }
    if (least <= 1) kf_json_add_number(report, "occupancy", least);
    return true;
}
