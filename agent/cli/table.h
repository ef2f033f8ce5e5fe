/* Text for terminals: tables, wrapped paragraphs, and figures with units. Widths count characters,
 * not bytes. */
#ifndef KFORGE_TABLE_H
#define KFORGE_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "kforge/buffer.h"
#include "kforge/stats.h"

/* ---- tables ---------------------------------------------------------------------------------- */

typedef enum kf_align { KF_LEFT, KF_RIGHT } kf_align;

#define KF_TABLE_COLUMNS 16
typedef struct kf_table_column {
    /* Borrowed. A column without text in its cells is left out. */
    const char *title;
    kf_align align;
    /* Cut with "…" if the table is too wide. */
    bool flexible;
} kf_table_column;

typedef struct kf_table {
    kf_table_column columns[KF_TABLE_COLUMNS];
    int column_count;
    /* Owned, row by row. */
    char **cells;
    size_t cell_count;
    /* Out of memory: prints the cells so far. */
    bool failed;
} kf_table;

/* Add columns first, then cells from left to right, row by row. */
void kf_table_add_column(kf_table *table, const char *title, kf_align align, bool flexible);
/* Adds columns by their titles, up to NULL. ">TITLE" is aligned to the right, "~TITLE" flexible. */
void kf_table_add_columns(kf_table *table, ...) __attribute__((sentinel));
void kf_table_cell(kf_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the table. `width` 0: a file or a pipe, where $COLUMNS counts. Without it a row has any
 * width. Flexible columns are cut first. If that is not enough, each row continues on further
 * lines. `indent`: blanks before each line. A table without rows prints nothing. */
void kf_table_print(const kf_table *table, FILE *out, int width, int indent, bool bold_titles);
void kf_table_free(kf_table *table);
#define kf_autotable __attribute__((cleanup(kf_table_free))) kf_table

/* ---- text ------------------------------------------------------------------------------------ */

size_t kf_text_width(const char *text, size_t size);
/* Breaks `text` at blanks into lines of `width` columns, with `indent` blanks before each line.
 * `hang`: but not before the first. */
void kf_text_wrap(FILE *out, const char *text, size_t size, int width, int indent, bool hang);

/* Each function writes into `text` and returns it. NaN gives "-". */
#define KF_FIGURE 64
/* "1.24 ms", "12.3 s", "1 h 05 min" */
const char *kf_figure_seconds(double seconds, char text[KF_FIGURE]);
/* "16.0 MiB" */
const char *kf_figure_bytes(double bytes, char text[KF_FIGURE]);
/* "12,345" */
const char *kf_figure_count(double count, char text[KF_FIGURE]);
/* "1.84x": three digits if the interval allows three, else two */
const char *kf_figure_speedup(kf_interval speedup, char text[KF_FIGURE]);
/* "1.84x": three digits of a figure without an interval, as for a claim or a mean */
const char *kf_figure_ratio(double ratio, char text[KF_FIGURE]);
/* "[1.82, 1.86]", with the decimals of its speedup. "" without an interval. */
const char *kf_figure_interval(kf_interval interval, char text[KF_FIGURE]);
/* "$1.25", "$0.0031", "at least $1.25" or "cost unknown" */
const char *kf_figure_cost(double usd, bool partly_unknown, char text[KF_FIGURE]);
/* "3 min ago" */
const char *kf_figure_age(double when, double now, char text[KF_FIGURE]);
/* "2026-03-01 12:34:56", local time */
const char *kf_figure_time(double when, char text[KF_FIGURE]);

#endif
