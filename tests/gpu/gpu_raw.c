/* What figures are made of, as one line of JSON a timed workload, into the file that GPU_RAW names:
 * for looking at other rules on the same measurements. All in microseconds: batches (not calls) of
 * both sides, the uncharged part of their wakings, empty batches, the baseline alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kforge/task.h"
#include "measure_internal.h"

static void put(FILE *file, const char *name, int digits, const double *values, size_t count,
                double factor)
{
    fprintf(file, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            fprintf(file, "%s%.*f", i ? ", " : "", digits, values[i] * factor);
        else
            fprintf(file, "%snull", i ? ", " : ""); /* JSON has no other numbers */
    fprintf(file, "]");
}

bool __real_kf_measurement_conclude(kf_measurement *r, kf_error *error);
_Static_assert(__builtin_types_compatible_p(__typeof__(kf_measurement_conclude),
                                            __typeof__(__real_kf_measurement_conclude)),
               "");
bool __wrap_kf_measurement_conclude(kf_measurement *r, kf_error *error);
bool __wrap_kf_measurement_conclude(kf_measurement *r, kf_error *error)
{
    const char *path = getenv("GPU_RAW");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return __real_kf_measurement_conclude(r, error);
    fprintf(file,
            "{\"task\": \"%s\", \"workload\": \"%s\", \"calls\": [%u, %u], \"alone_calls\": %u, "
            "\"recalled\": %d",
            kf_task_name(r->bench->task), r->bench->problem->workload, r->calls[0], r->calls[1],
            r->solo_calls, r->recalled);
    for (int side = 0; side < 2; side++) {
        put(file, side ? "c" : "b", 2, r->throughput[side].seconds, r->pairs, 1e6 * r->calls[side]);
        put(file, side ? "c_woken" : "b_woken", 2, r->throughput[side].woken, r->pairs, 1e6);
        put(file, side ? "c_single" : "b_single", 2, r->latency[side].seconds, r->latency_pairs,
            1e6);
        put(file, side ? "c_single_woken" : "b_single_woken", 2, r->latency[side].woken,
            r->latency_pairs, 1e6);
    }
    put(file, "n", 2, r->null.seconds, r->empty_count, 1e6);
    put(file, "n_woken", 2, r->null.woken, r->empty_count, 1e6);
    put(file, "a", 2, r->alone.seconds, r->solo_count, 1e6 * r->solo_calls);
    put(file, "a_woken", 2, r->alone.woken, r->solo_count, 1e6);
    bool done = __real_kf_measurement_conclude(r, error);
    const kf_interval *s = &r->bench->result->speedup;
    put(file, "speedup", 5, (const double[]){s->value, s->low, s->high}, 3, 1);
    fputs("}\n", file);
    fclose(file);
    return done;
}
