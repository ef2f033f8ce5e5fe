/* How fast one core compares outputs that pass: GB of output a second, best of five. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kforge/compare.h"
#include "kforge/inputs.h"

#define COUNT ((int64_t)8 << 20)

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void)
{
    double *expected = malloc((size_t)COUNT * 8);
    char *data = malloc((size_t)COUNT * 8);
    if (!expected || !data) return 1;
    kf_problem_argument y = {
        .name = "y", .dtype = KF_F64, .dims = 1, .shape = {COUNT}, .elements = COUNT};
    y.distribution = (kf_distribution){.kind = KF_NORMAL, .b = 1};
    kf_input_fill(&y, (kf_key){1, 0, 0}, KF_VARY_NONE, expected, 0, COUNT);
    const kf_dtype dtypes[] = {KF_F32, KF_F16, KF_BF16, KF_F8E4M3, KF_F64};
    const kf_tolerance tolerances[] = {{KF_ERROR_RATIO, 8, 0, 0}, {KF_ALLCLOSE, 0, 0.1, 0.1}};
    for (int t = 0; t < 5; t++) {
        y.dtype = dtypes[t];
        size_t size = kf_dtype_size(y.dtype);
        for (int64_t i = 0; i < COUNT; i++)
            kf_dtype_store(y.dtype, data + (size_t)i * size, expected[i]);
        for (int k = 0; k < 2; k++) {
            y.tolerance = tolerances[k];
            double best = 1e9;
            kf_error_figures figures;
            for (int i = 0; i < 5; i++) {
                double start = processor_seconds();
                if (!kf_compare_output(&y, data, expected, NULL, &figures, NULL)) return 1;
                double seconds = processor_seconds() - start;
                if (seconds < best) best = seconds;
            }
            printf(
                "bench_compare: %-7s %-11s %6.2f GB/s of output per core, %5.0f M elements/s%s\n",
                kf_dtype_name(y.dtype), k ? "allclose" : "error_ratio",
                (double)COUNT * (double)size / best / 1e9, (double)COUNT / best / 1e6,
                y.dtype == KF_F32 ? " (target 1 GB/s)" : "");
        }
    }
    free(expected);
    free(data);
    return 0;
}
