/* Where the wrong elements of an output are, in words; inside kf_model only. */
#ifndef KFORGE_MISMATCHES_H
#define KFORGE_MISMATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/argument.h"

typedef struct kf_mismatches {
    int64_t elements, columns; /* of the output; columns: the last axis */
    /* magnitudes that data of this scale may have; random bits mostly lie outside */
    double least_sane, most_sane;
    int64_t count, first, last, stride;
    int64_t row, row_first; /* of the last one, and that row's first element: indices ascend */
    int64_t least_row, most_row, least_column, most_column;
    double first_expected, first_got;
    bool same_value; /* all wrong elements hold the same */
    /* of the wrong elements: NaN; of a magnitude that only random bits have (or NaN) */
    int64_t nan, absurd;
} kf_mismatches;

kf_mismatches kf_mismatches_begin(const kf_problem_argument *argument, double scale);
/* Indices ascending. */
void kf_mismatch_add(kf_mismatches *m, int64_t index, double expected, double got);
/* "tail from 4096, zeros"; at most `size` bytes with the NUL. */
void kf_mismatches_describe(const kf_mismatches *m, char *text, size_t size);

#endif
