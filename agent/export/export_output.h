/* Where exported rows go: a file, standard output, or the folder of a data set with shards a split
 * and a card.
 *
 * Nothing half-written ever has the final name (export_atomic_output.h). Standard output is a
 * stream and takes what comes. */
#ifndef KFORGE_EXPORT_OUTPUT_H
#define KFORGE_EXPORT_OUTPUT_H

#include <stdio.h>

#include "kforge/export.h"

typedef enum kf_packing { KF_PACK_NONE, KF_PACK_GZIP, KF_PACK_ZSTD, KF_PACK_PARQUET } kf_packing;
const char *kf_packing_suffix(kf_packing packing); /* ".jsonl.gz" */
/* By the end of a file's name; false when it has none of the known ones. */
bool kf_packing_of_name(const char *name, kf_packing *packing);

typedef struct kf_output_settings {
    const char *path; /* "-": standard output */
    FILE *standard;   /* for "-" */
    bool folder;      /* a data set in a folder */
    bool force;       /* replace what is there */
    kf_packing packing;
    int64_t shard_rows;            /* rows a shard; 0: one shard a split */
    const kf_export_field *fields; /* Parquet needs the types */
} kf_output_settings;

typedef struct kf_output kf_output;
/* Errors: KF_ERROR_INPUT when something is there and not `force`; KF_ERROR_MACHINE when Parquet's
 * writer is missing; KF_ERROR_IO. */
kf_output *kf_output_open(const kf_output_settings *settings, kf_error *error);
/* A kf_export_sink; context is the output. */
bool kf_output_row(void *context, const char *split, const char *row, size_t size, kf_error *error);
/* Ends all files of the folder and lists them: *count of them; valid until the output is closed. */
typedef struct kf_output_file {
    char *name; /* within the folder */
    char split[8];
    int64_t rows, bytes;
    char hash[KF_HASH_HEX];
} kf_output_file;
bool kf_output_finish(kf_output *output, const kf_output_file **files, size_t *count,
                      kf_error *error);
/* Another file of the folder, such as the card. */
bool kf_output_add(kf_output *output, const char *name, const void *data, size_t size,
                   kf_error *error);
/* Moves what was written to its name. Without it, kf_output_close removes it. */
bool kf_output_commit(kf_output *output, kf_error *error);
void kf_output_close(kf_output *output);
KF_DEFINE_AUTO(kf_output, kf_output_close)

#endif
