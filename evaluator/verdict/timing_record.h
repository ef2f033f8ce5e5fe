/* The raw timings of one workload: every batch that counts, in the order measured.
 *
 * The judge appends to a record, and never changes a sample in it. timing_analysis.h turns a record
 * into figures. All memory is there from the start, because an allocation between two batches could
 * disturb the second. A record belongs to one thread. */
#ifndef KFORGE_TIMING_RECORD_H
#define KFORGE_TIMING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kf_side { BASELINE, CANDIDATE } kf_side;

/* Batches of one kind. Each has the seconds of one call: those of the batch, with the part of its
 * waking that the judge charged at once, over its calls. */
typedef struct kf_series {
    double *seconds;
    /* by batch: seconds of its waking that are not charged yet */
    double *waking;
    size_t count;
} kf_series;

/* The latest wakings of one side: seconds from waking a runner to its answer. */
#define KF_WAKINGS 64
typedef struct kf_wakings {
    double seconds[KF_WAKINGS];
    /* of all wakings so far; the arrays hold the last KF_WAKINGS of them */
    size_t count;
    double quickest;
} kf_wakings;

typedef struct kf_timing_record {
    /* by side, one entry a pair: batches, and calls before them that are not timed ("priming") */
    kf_series batches[2], primings[2];
    /* by side: single calls, in the first pairs */
    kf_series singles[2];
    /* batches of the baseline while no candidate is loaded, before the pairs and after them */
    kf_series solo, solo_after;
    /* batches without calls, as they come before batches of the baseline */
    kf_series empty;
    /* the same of the candidate's kind of runner, where that costs something else */
    kf_series empty_candidate;
    /* batches without calls right after another batch of the same process, as single calls come:
     * of the baseline, and of the idle runner of the candidate's kind */
    kf_series empty_again, idle_again;
    /* seconds of the baseline's batches that its own clock did not see in its calls */
    kf_series overhead;
    kf_wakings wakings[2], idle_wakings;
    /* calls in each of `batches`, by side, and in each of `solo` */
    uint32_t calls[2], solo_calls;
    /* each series ignores samples beyond so many */
    size_t capacity;
} kf_timing_record;

/* Makes an empty record. False without memory; kf_timing_record_free releases that one, too. */
bool kf_timing_record_reserve(kf_timing_record *record, size_t capacity);
void kf_timing_record_free(kf_timing_record *record);

/* Appends a batch of `calls` calls that took `seconds`. Ignores it if the series is full. */
void kf_series_append(const kf_timing_record *record, kf_series *series, double seconds,
                      uint32_t calls, double waking);
void kf_wakings_append(kf_wakings *wakings, double seconds);

/* One side of a pair: seconds and waking of its batch, of its single call (NAN without one), and
 * seconds of its priming call. */
typedef struct kf_pair_times {
    double batch, batch_waking;
    double single, single_waking;
    double priming;
} kf_pair_times;

/* Appends a pair whose batches had so many calls, by side. */
void kf_timing_record_add_pair(kf_timing_record *record, const kf_pair_times times[2],
                               const uint32_t calls[2]);
/* Begins with no pairs again, because batches get another number of calls. */
void kf_timing_record_drop_pairs(kf_timing_record *record);

static inline size_t kf_timing_record_pairs(const kf_timing_record *record)
{
    return record->batches[BASELINE].count;
}

#endif
