/* Finds the places of compiler messages in the candidate's own file. A message about the rewritten
 * text has a line and a column there. Two steps undo what moved it:
 *
 *   rewritten text ── copies of kf_rewrite ──► expanded text ── marks of g++ ──► the file
 *
 * `g++ -E -fdebug-cpp` writes a mark with file, line and column before each token. Without the
 * marks it is the expanded text, byte by byte. Pure functions. Columns count bytes, from 1. */
#ifndef KFORGE_CPU_REWRITE_PLACES_H
#define KFORGE_CPU_REWRITE_PLACES_H

#include "kforge/cleanup.h"
#include "rewrite.h"

typedef struct kf_place {
    char file[256];
    /* `column` 0: unknown. */
    long line, column;
} kf_place;

typedef struct kf_places kf_places;

/* Keeps pointers to `file`, `source` (its text, NUL-terminated, or NULL), `expanded` and
 * `rewritten`, and none to `traced`. If `traced` is NULL or does
 * not fit, columns are unknown. NULL without memory. */
kf_places *kf_places_new(const char *file, const char *source, const char *expanded, size_t size,
                         const char *traced, size_t traced_size,
                         const kf_rewrite_result *rewritten);
/* Returns the start of a line of the text, or NULL. Lines count from 1. */
const char *kf_places_line(const char *text, long line);
void kf_places_free(kf_places *places);
KF_DEFINE_AUTO(kf_places, kf_places_free)

/* Replaces a place in the rewritten text by the one in the file. `before`: by the end of the token
 * before it, without CUDA's qualifiers, because that is where a semicolon is missing. If the place
 * is in the body of a macro, *use is the macro's use, else its line is 0. A macro of a header has
 * its use as *place. False if the rewritten text has no such place. */
bool kf_places_find(const kf_places *places, bool before, kf_place *place, kf_place *use);

#endif
