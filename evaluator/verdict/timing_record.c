#include "timing_record.h"

#include <math.h>
#include <stdlib.h>

#define ALL_SERIES 13

static void list_series(kf_timing_record *record, kf_series *all[ALL_SERIES])
{
    kf_series *list[ALL_SERIES] = {
        &record->batches[0], &record->batches[1], &record->primings[0], &record->primings[1],
        &record->singles[0], &record->singles[1], &record->solo,        &record->solo_after,
        &record->empty,      &record->overhead,   &record->idle_again,  &record->empty_candidate,
        &record->empty_again};
    for (size_t i = 0; i < ALL_SERIES; i++) all[i] = list[i];
}

bool kf_timing_record_reserve(kf_timing_record *record, size_t capacity)
{
    kf_series *all[ALL_SERIES];
    *record = (kf_timing_record){.capacity = capacity};
    list_series(record, all);
    for (size_t i = 0; i < ALL_SERIES; i++)
        if (!(all[i]->seconds = calloc(capacity, sizeof(double))) ||
            !(all[i]->waking = calloc(capacity, sizeof(double))))
            return false;
    return true;
}

void kf_timing_record_free(kf_timing_record *record)
{
    kf_series *all[ALL_SERIES];
    list_series(record, all);
    for (size_t i = 0; i < ALL_SERIES; i++) {
        free(all[i]->seconds);
        free(all[i]->waking);
    }
    *record = (kf_timing_record){0};
}

void kf_series_append(const kf_timing_record *record, kf_series *series, double seconds,
                      uint32_t calls, double waking)
{
    if (series->count == record->capacity) return;
    series->seconds[series->count] = seconds / calls;
    series->waking[series->count++] = waking;
}

void kf_wakings_append(kf_wakings *wakings, double seconds)
{
    wakings->seconds[wakings->count % KF_WAKINGS] = seconds;
    if (wakings->count++ == 0 || seconds < wakings->quickest) wakings->quickest = seconds;
}

void kf_timing_record_add_pair(kf_timing_record *record, const kf_pair_times times[2],
                               const uint32_t calls[2])
{
    bool has_singles = !isnan(times[BASELINE].single) && !isnan(times[CANDIDATE].single);
    for (int side = 0; side < 2; side++) {
        const kf_pair_times *t = &times[side];
        record->calls[side] = calls[side];
        kf_series_append(record, &record->batches[side], t->batch, calls[side], t->batch_waking);
        kf_series_append(record, &record->primings[side], t->priming, 1, NAN);
        if (has_singles)
            kf_series_append(record, &record->singles[side], t->single, 1, t->single_waking);
    }
}

void kf_timing_record_drop_pairs(kf_timing_record *record)
{
    for (int side = 0; side < 2; side++)
        record->batches[side].count = record->primings[side].count = record->singles[side].count =
            0;
}
