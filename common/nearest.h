/* The nearest known word, for "did you mean". */
#ifndef KFORGE_NEAREST_H
#define KFORGE_NEAREST_H

#include <stddef.h>

/* Returns the known word that `word` most likely means. NULL if no word is near. In this order: a
 * synonym ("float16" for "f16"), the least number of inserted, removed, replaced or swapped letters
 * (at most half of the shorter word), a word that begins with `word`. Capitals, '-' and '_' count
 * as equal. */
const char *kf_nearest(const char *word, const char *const *known, size_t count);

#endif
