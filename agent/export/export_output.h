/* The output of exported rows: a file, standard output, or the folder of a data set with shards for
 * each split and a card.
 *
 * Files and folders appear under their name when they are complete (export_atomic_output.h).
 * Standard output gets rows at once. */
#ifndef KFORGE_EXPORT_OUTPUT_H
#define KFORGE_EXPORT_OUTPUT_H

#include <stdio.h>

#include "kforge/export.h"

typedef enum kf_packing { KF_PACK_NONE, KF_PACK_GZIP, KF_PACK_ZSTD, KF_PACK_PARQUET } kf_packing;
const char *kf_packing_suffix(kf_packing packing); /* ".jsonl.gz" */
/* Finds the packing by the end of a file's name. False if it is unknown. */
bool kf_packing_of_name(const char *name, kf_packing *packing);

typedef struct kf_output_settings {
    const char *path; /* "-" for standard output */
    FILE *standard;   /* for "-" */
    /* True for a data set in a folder */
    bool folder;
    /* True: replace an existing output */
    bool force;
    kf_packing packing;
    /* rows in a shard; 0 for one shard for each split */
    int64_t shard_rows;
    const kf_export_field *fields; /* Parquet needs the types */
} kf_output_settings;

typedef struct kf_output kf_output;
/* KF_ERROR_INPUT if the output exists without `force`; KF_ERROR_MACHINE if the Parquet writer is
 * missing; KF_ERROR_IO. */
kf_output *kf_output_open(const kf_output_settings *settings, kf_error *error);
/* Writes a row. A kf_export_sink; context is the output. */
bool kf_output_row(void *context, const char *split, const char *row, size_t size, kf_error *error);
/* Ends all files of the folder and lists them. The list is valid until the output is closed. */
typedef struct kf_output_file {
    char *name; /* within the folder */
    char split[8];
    int64_t rows, bytes;
    char hash[KF_HASH_HEX];
} kf_output_file;
bool kf_output_finish(kf_output *output, const kf_output_file **files, size_t *count,
                      kf_error *error);
/* Adds another file to the folder, for example the card. */
bool kf_output_add(kf_output *output, const char *name, const void *data, size_t size,
                   kf_error *error);
/* Gives the output its final name. Without it, kf_output_close removes the output. */
bool kf_output_commit(kf_output *output, kf_error *error);
void kf_output_close(kf_output *output);
KF_DEFINE_AUTO(kf_output, kf_output_close)

#endif
