/* The rules by name, and the list of flags, for the three scanners. */
#ifndef KFORGE_SCAN_INTERNAL_H
#define KFORGE_SCAN_INTERNAL_H

#include "kforge/scan.h"

typedef struct kf_scan_rule {
    const char *rule, *text;
    /* separated by blanks, with a blank at each end */
    const char *words;
} kf_scan_rule;

/* Returns the rule for a name, NULL if no rule has it. */
const kf_scan_rule *kf_scan_name(const char *name, size_t size);

typedef struct kf_scan_found {
    kf_scan_flag *list;
    size_t count;
} kf_scan_found;

/* Adds a word, or counts it again. False without memory. */
bool kf_scan_add(kf_scan_found *found, const char *rule, const char *text, const char *word,
                 size_t size, long line);
/* As kf_scan_source, for a solution in Python. */
bool kf_scan_python(const char *text, size_t size, kf_scan_report *report, void *context,
                    kf_error *error);
/* Reports all flags and frees them. `report` may be NULL. */
void kf_scan_finish(kf_scan_found *found, kf_scan_report *report, void *context);

#endif
