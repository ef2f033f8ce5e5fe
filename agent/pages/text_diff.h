/* The difference of two texts, by the program diff. */
#ifndef KFORGE_TEXT_DIFF_H
#define KFORGE_TEXT_DIFF_H

#include "kforge/error.h"

typedef struct kf_diff_side {
    /* Names the text in the head of the difference. */
    const char *label;
    const char *text;
} kf_diff_side;

/* Returns the unified difference with `context` lines around each change, "" for equal texts. The
 * texts are hostile, so diff gets them as files in a private folder, and time and size are limited.
 * The caller frees. KF_ERROR_MACHINE: diff is missing, or it took too long. */
char *kf_text_diff(const kf_diff_side *before, const kf_diff_side *after, int context,
                   kf_error *error);

#endif
