/* The rules by name, and the list of flags, for the three scanners. */
#ifndef KFORGE_SCAN_INTERNAL_H
#define KFORGE_SCAN_INTERNAL_H

#include "kforge/scan.h"
#include "tokens.h"

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
/* Each costs a pass over the text. */
#define KF_SCAN_ENTRIES 64

/* What the tokens of the main file say about accesses of the host (scan_host.c). Zero-initialise.
 */
typedef struct kf_scan_host {
    /* a name is CUDA's */
    bool cuda;
    int externs, count;
    /* tokens `cudaStream_t`, and what to add to lines of the text there */
    uint32_t streams[KF_SCAN_ENTRIES];
    long shifts[KF_SCAN_ENTRIES];
} kf_scan_host;

/* Takes token `i` of the main file. Its line there is its line in the text plus `shift`. */
void kf_scan_host_note(kf_scan_host *host, const kf_tokens *tokens, uint32_t i, long shift);
/* Returns the first token with which the host accesses the memory of an argument, and its line.
 * KF_NO_TOKEN without one. */
uint32_t kf_scan_host_access(const kf_scan_host *host, const kf_tokens *tokens, long *line);
/* Reports all flags and frees them. `report` may be NULL. */
void kf_scan_finish(kf_scan_found *found, kf_scan_report *report, void *context);

#endif
