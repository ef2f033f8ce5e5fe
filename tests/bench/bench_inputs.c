/* How fast one core fills and checks buffers: GB/s over 64 MiB, best of five. One line a figure. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kforge/inputs.h"

#define BYTES ((size_t)64 << 20)

static const kf_key key = {0x243f6a8885a308d3ull, 1, 2};

/* Returns this process's CPU time, which other programs do not affect. */
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void report(const char *what, double seconds, double target)
{
    double rate = (double)BYTES / seconds / 1e9;
    printf("bench_inputs: %-28s %6.2f GB/s per core", what, rate);
    if (target > 0) printf(" (target %.0f)", target);
    printf("\n");
}

static void time_fill(const char *what, kf_dtype dtype, kf_distribution distribution,
                      kf_variation variation, void *data, double target)
{
    kf_problem_argument argument = {
        .dtype = dtype, .dims = 2, .distribution = distribution, .bytes = BYTES};
    argument.elements = (int64_t)(BYTES / kf_dtype_size(dtype));
    argument.shape[1] = 4096;
    argument.shape[0] = argument.elements / 4096;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double start = processor_seconds();
        kf_input_fill(&argument, key, variation, data, 0, argument.elements);
        double seconds = processor_seconds() - start;
        if (seconds < best) best = seconds;
    }
    report(what, best, target);
}

int main(void)
{
    void *data = aligned_alloc(4096, BYTES);
    if (!data) return 1;
    double fill = 1e9, check = 1e9;
    for (int i = 0; i < 5; i++) {
        double start = processor_seconds();
        kf_poison_fill(key, data, 0, BYTES);
        double middle = processor_seconds();
        bool intact = kf_poison_intact(key, data, 0, BYTES, NULL);
        double end = processor_seconds();
        if (!intact) return 1;
        if (middle - start < fill) fill = middle - start;
        if (end - middle < check) check = end - middle;
    }
    report("poison fill", fill, 4);
    report("poison check", check, 4);
    const kf_distribution uniform = {.kind = KF_UNIFORM, .b = 1, .vary = true},
                          normal = {.kind = KF_NORMAL, .b = 1, .vary = true};
    time_fill("uniform f32", KF_F32, uniform, KF_VARY_NONE, data, 2);
    time_fill("normal f32", KF_F32, normal, KF_VARY_NONE, data, 1);
    time_fill("normal f32, cancellation", KF_F32, normal, KF_VARY_CANCELLATION, data, 1);
    time_fill("normal f16", KF_F16, normal, KF_VARY_NONE, data, 0);
    time_fill("normal bf16", KF_BF16, normal, KF_VARY_NONE, data, 0);
    time_fill("normal f64", KF_F64, normal, KF_VARY_NONE, data, 0);
    time_fill("integers i32", KF_I32, (kf_distribution){.kind = KF_INTEGERS, .b = 1000},
              KF_VARY_NONE, data, 0);
    time_fill("permutation i32", KF_I32, (kf_distribution){.kind = KF_PERMUTATION}, KF_VARY_NONE,
              data, 0);
    time_fill("sorted f32", KF_F32, (kf_distribution){.kind = KF_SORTED, .b = 1}, KF_VARY_NONE,
              data, 0);
    time_fill("sorted i32", KF_I32, (kf_distribution){.kind = KF_SORTED, .b = 200}, KF_VARY_NONE,
              data, 0);
    time_fill("sorted u8", KF_U8, (kf_distribution){.kind = KF_SORTED, .b = 200}, KF_VARY_NONE,
              data, 0);
    time_fill("offsets i32", KF_I32, (kf_distribution){.kind = KF_OFFSETS, .a = 1e9, .b = 1},
              KF_VARY_NONE, data, 0);
    time_fill("offsets i32, skew 3", KF_I32,
              (kf_distribution){.kind = KF_OFFSETS, .a = 1e9, .b = 3}, KF_VARY_NONE, data, 0);
    time_fill("sparse f32", KF_F32, (kf_distribution){.kind = KF_SPARSE, .a = 0.1}, KF_VARY_NONE,
              data, 0);
    time_fill("positive definite f32", KF_F32,
              (kf_distribution){.kind = KF_POSITIVE_DEFINITE, .a = 1}, KF_VARY_NONE, data, 0);
    free(data);
    return 0;
}
