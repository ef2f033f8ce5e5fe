/* Parquet files through a child process: Python with pyarrow (KFORGE_PYTHON, else python3), which
 * is the well-kept library there is.
 *
 * A writer writes one file at a time and as many as wanted; rows are JSON objects, types come from
 * the fields. Not thread-safe. Freeing a writer in the middle of a file ends the child; the file is
 * the caller's to remove. */
#ifndef KFORGE_EXPORT_PARQUET_H
#define KFORGE_EXPORT_PARQUET_H

#include "kforge/export.h"

typedef struct kf_parquet kf_parquet;
/* Starts the child and waits until it has pyarrow. KF_ERROR_MACHINE when it has none. */
kf_parquet *kf_parquet_open(const kf_export_field *fields, kf_error *error);
void kf_parquet_close(kf_parquet *parquet);
KF_DEFINE_AUTO(kf_parquet, kf_parquet_close)

/* Errors name `shown`, which is what the user knows the file by and must outlive the writer:
 * KF_ERROR_IO disk full or not writable, KF_ERROR_MEMORY, KF_ERROR_MACHINE when the child is gone.
 */
bool kf_parquet_begin(kf_parquet *parquet, const char *path, const char *shown, kf_error *error);
/* Whole rows, each with a newline at its end. */
bool kf_parquet_rows(kf_parquet *parquet, const char *rows, size_t size, kf_error *error);
/* The file is complete when this is true. */
bool kf_parquet_end(kf_parquet *parquet, kf_error *error);

#endif
