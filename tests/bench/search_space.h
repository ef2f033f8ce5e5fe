/* The variants that the synthetic model of bench_search can write. Each task has one file,
 * tests/bench/search_space/TASK.cu, a source with choices.
 *
 *   //@ move NAME 0:0.60 1:0.40 | words for 0 / words for 1
 *                                   a choice of structure, with its frequencies in a first draft
 *   //@ if NAME VALUE … //@ end     lines that apply if NAME has VALUE; may be nested
 *   //@ bug VARIABLE                the place of a mistake, in the entry function; VARIABLE is one
 *                                   of its sizes
 *   // kforge: tune NAME a b c      a tunable, as in any candidate
 *
 * A variant is one value for each choice and tunable, and at most one mistake. Its source holds the
 * lines that apply, so that the text shows the structure as a model's would. The first line names
 * the variant: "// variant: ROW=1 KEEP=0 THREADS=128", with " BUG=1" at the end of a faulty one. */
#ifndef KFORGE_BENCH_SEARCH_SPACE_H
#define KFORGE_BENCH_SEARCH_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

#define AXES 12
#define CHOICES 8

enum bug { BUG_NONE, BUG_COMPILE, BUG_WRONG, BUG_CHEAT, BUG_COUNT };

typedef struct axis {
    char name[32];
    int count, values[CHOICES]; /* a move's values are 0, 1, … */
    double prior[CHOICES];      /* of a first draft */
    char words[CHOICES][96];    /* "" for tunables */
    bool tunable;
} axis;

typedef struct space {
    char task[64];
    char *text; /* the file */
    axis axes[AXES];
    int count;
} space;

typedef struct variant {
    int index[AXES]; /* into the values of each axis */
    enum bug bug;
} variant;

/* Reads tests/bench/search_space/TASK.cu of the source tree. */
bool space_read(space *s, const char *task, kf_error *error);
void space_free(space *s);
/* All zero but the tunables, which have the file's defaults. */
variant space_naive(const space *s);
/* Writes the source. With `declared`, its tunables are declared as tunables, else they are plain
 * numbers. */
void space_emit(const space *s, const variant *v, bool declared, kf_buffer *out);
/* "ROW=1 KEEP=0 THREADS=128", and " BUG=1". */
void space_key(const space *s, const variant *v, char *text, size_t size);
/* Reads a variant from the first variant line in `source`, the reverse of space_emit(). Values that
 * the line leaves out are those of space_naive(). False without a variant line. */
bool space_parse(const space *s, const char *source, variant *v);
/* Sets an axis from "-DNAME=VALUE" flags. */
void space_flag(const space *s, variant *v, const char *flag);
/* Advances to the next variant without a mistake. False after the last one. */
bool space_next(const space *s, variant *v);

#endif
