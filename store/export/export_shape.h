/* Rows in another shape: columns that are renamed, joined or nested. export_dialect.c has the
 * columns of trainers, export_columns.c reads --columns, export_shape.c makes the rows.
 *
 * A column has a template: JSON with placeholders <FIELD>, which stand for the value of a field of
 * the format's own row.
 *
 *   <FIELD>            the value
 *   <FIELD+FIELD>      two lists of messages as one
 *   <FIELD:first>      the first element of a list
 *   <FIELD:system>     the text of the first message of this role, "" without one; also user and
 *                      assistant
 *   <FIELD:weighted>   messages, with "weight" 1 for replies that were correct, else 0
 *   <@split>, <@index> the split, and the number of rows before this one */
#ifndef KFORGE_EXPORT_SHAPE_H
#define KFORGE_EXPORT_SHAPE_H

#include "kforge/buffer.h"
#include "kforge/export.h"

#define KF_SHAPE_COLUMNS 64

typedef struct kf_shape_column {
    /* Borrowed from a table, or from `texts` of the shape. */
    const char *name;
    kf_export_type type;
    const char *form;
    /* NULL: the help of the field that the template names. */
    const char *help;
} kf_shape_column;

struct kf_export_shape {
    kf_export_format format;
    kf_export_dialect dialect;
    kf_shape_column columns[KF_SHAPE_COLUMNS];
    size_t count;
    /* The same for cards and Parquet, with an empty one at the end. */
    kf_export_field fields[KF_SHAPE_COLUMNS + 1];
    /* Names and templates of --columns. */
    char *texts[2 * KF_SHAPE_COLUMNS];
    size_t text_count;
};

/* Returns the columns that a dialect has for a format, up to one without a name. NULL with
 * KF_ERROR_INPUT: it has no such rows. */
const kf_shape_column *kf_dialect_columns(kf_export_dialect dialect, kf_export_format format,
                                          kf_error *error);
/* Writes the row of the shape for `row`, a row of the format. */
bool kf_shape_row(const kf_export_shape *shape, const kf_buffer *row, const char *split,
                  int64_t index, kf_buffer *out, kf_error *error);

#endif
