/* What the three readers share: rows of words, and counting what was found. */
#ifndef KFORGE_SCAN_INTERNAL_H
#define KFORGE_SCAN_INTERNAL_H

#include "kforge/scan.h"

typedef struct kf_scan_rule {
    const char *rule, *text;
    const char *words; /* between blanks, with one at either end */
} kf_scan_rule;

/* The rule that a name belongs to, NULL for ordinary ones. */
const kf_scan_rule *kf_scan_name(const char *name, size_t size);

typedef struct kf_scan_found {
    kf_scan_flag *list;
    size_t count, capacity;
} kf_scan_found;

/* Counts one more; false when out of memory. */
bool kf_scan_add(kf_scan_found *found, const char *rule, const char *text, const char *word,
                 size_t size, long line);
/* Reports all, and frees them. */
void kf_scan_finish(kf_scan_found *found, kf_scan_report *report, void *context);

#endif
