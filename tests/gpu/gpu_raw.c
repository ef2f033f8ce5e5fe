/* Writes the raw times behind the figures, as one line of JSON for each timed workload, to the file
 * in GPU_RAW: for trying other rules on the same measurements. All times are in microseconds:
 * batches (not calls) of both sides, the uncharged part of their wake-ups, empty batches, the
 * baseline alone. */
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
    const kf_timing_record *record = &r->record;
    fprintf(file,
            "{\"task\": \"%s\", \"workload\": \"%s\", \"calls\": [%u, %u], \"alone_calls\": %u, "
            "\"recalled\": %d",
            kf_task_name(r->bench->task), r->bench->problem->workload, record->calls[0],
            record->calls[1], record->solo_calls, r->history.recalled);
    for (int side = 0; side < 2; side++) {
        const kf_series *batches = &record->batches[side], *singles = &record->singles[side];
        put(file, side ? "c" : "b", 2, batches->seconds, batches->count, 1e6 * record->calls[side]);
        put(file, side ? "c_woken" : "b_woken", 2, batches->waking, batches->count, 1e6);
        put(file, side ? "c_single" : "b_single", 2, singles->seconds, singles->count, 1e6);
        put(file, side ? "c_single_woken" : "b_single_woken", 2, singles->waking, singles->count,
            1e6);
    }
    put(file, "n", 2, record->empty.seconds, record->empty.count, 1e6);
    put(file, "n_woken", 2, record->empty.waking, record->empty.count, 1e6);
    put(file, "a", 2, record->solo.seconds, record->solo.count, 1e6 * record->solo_calls);
    put(file, "a_woken", 2, record->solo.waking, record->solo.count, 1e6);
    bool done = __real_kf_measurement_conclude(r, error);
    const kf_interval *s = &r->bench->result->speedup;
    put(file, "speedup", 5, (const double[]){s->value, s->low, s->high}, 3, 1);
    fputs("}\n", file);
    fclose(file);
    return done;
}
