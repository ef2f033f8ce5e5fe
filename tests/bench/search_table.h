/* The verdicts on the variants of the benchmark's tasks: tests/bench/search_space/measured.jsonl,
 * one line for each variant. Each was measured once on the CPU device (bench_search --measure), and
 * every run of the benchmark reads them. A line holds the parts of the verdict that a search
 * uses. */
#ifndef KFORGE_BENCH_SEARCH_TABLE_H
#define KFORGE_BENCH_SEARCH_TABLE_H

#include "kforge/verdict.h"
#include "search_space.h"

typedef struct measured {
    char key[256]; /* space_key */
    kf_status status;
    kf_blame blame;
    kf_interval speedup;
    double baseline_seconds, candidate_seconds, floor_seconds;
    char code[65];
    char message[400];
} measured;

typedef struct table {
    char task[64];
    measured *rows;
    size_t count;
} table;

char *table_path(void); /* malloc'd */
/* Reads the rows of one task. A missing table has no rows. */
bool table_read(table *t, const char *task, kf_error *error);
void table_free(table *t);
const measured *table_find(const table *t, const char *key);
/* Appends a line to the file. */
bool table_append(const char *task, const measured *row, kf_error *error);

/* Fills the table: every variant, and every mistake in the plainest, judged by `program worker
 * --device cpu`. */
int measure_all(const char *program, const char *const *tasks, size_t count);
/* A worker that looks verdicts up in the table instead of judging. */
int serve_table(const char *task);
/* A worker that finds every candidate correct at once, with a speedup that its source determines.
 */
int serve_instant(void);
/* search_loop.c */
int measure_loop(const char *self, int64_t candidates);
/* The synthetic model: prompt on stdin, reply on stdout. `any`: asked for another algorithm it
 * changes any one choice, not the mapping. */
int answer(const char *task, unsigned long long seed, const char *state, bool any);

#endif
