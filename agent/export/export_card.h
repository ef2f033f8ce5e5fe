/* The card of a data set: README.md with the YAML header that `datasets` and the hub read. */
#ifndef KFORGE_EXPORT_CARD_H
#define KFORGE_EXPORT_CARD_H

#include "export_output.h"

typedef struct kf_card {
    const kf_export_options *options; /* with digest and tools */
    const kf_export_report *report;
    const kf_output_file *files;
    size_t file_count;
    /* SPDX identifier, or "unknown" */
    const char *license;
    /* the command of the export, without paths */
    const char *command;
    kf_packing packing;
} kf_card;

/* Return in words why attempts were left out: by --only or --own-work, and by the format. malloc'd;
 * NULL without memory. */
char *kf_export_filtered_words(const kf_export_options *options);
char *kf_export_unused_words(const kf_export_options *options);

/* Returns the text, malloc'd; NULL without memory. */
char *kf_card_text(const kf_card *card, kf_error *error);

#endif
