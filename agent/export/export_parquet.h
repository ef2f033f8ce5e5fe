/* Parquet files through a child process: the first Python with pyarrow.
 *
 * A writer writes any number of files, one at a time. Rows are JSON objects; the fields give the
 * types. Not thread-safe. kf_parquet_close in the middle of a file ends the child; the caller
 * removes the file. */
#ifndef KFORGE_EXPORT_PARQUET_H
#define KFORGE_EXPORT_PARQUET_H

#include "kforge/export.h"

typedef struct kf_parquet kf_parquet;
/* Starts the child and waits until it has loaded pyarrow. KF_ERROR_MACHINE if pyarrow is missing.
 */
kf_parquet *kf_parquet_open(const kf_export_field *fields, kf_error *error);
void kf_parquet_close(kf_parquet *parquet);
KF_DEFINE_AUTO(kf_parquet, kf_parquet_close)

/* Begins a file. Errors name it `shown`, which must outlive the writer. KF_ERROR_IO: disk full or
 * not writable. KF_ERROR_MEMORY. KF_ERROR_MACHINE: the child has ended. */
bool kf_parquet_begin(kf_parquet *parquet, const char *path, const char *shown, kf_error *error);
/* Writes whole rows, each with a newline at its end. */
bool kf_parquet_rows(kf_parquet *parquet, const char *rows, size_t size, kf_error *error);
/* Ends the file. True if it is complete. */
bool kf_parquet_end(kf_parquet *parquet, kf_error *error);

#endif
