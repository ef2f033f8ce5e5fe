/* What compute-sanitizer prints, as findings. Pure; the text is untrusted: the candidate lives in
 * the process that is watched.
 *
 * Lines begin with "=========". A headline follows at one space ("Invalid __global__ write of size
 * 4 bytes", "Error: Race reported between …"), what belongs to it is indented: "at KERNEL+0x90 in
 * FILE:LINE", which thread, which address. Blocks of the same headline at the same place are one
 * finding.
 */
#ifndef KFORGE_SANITIZE_H
#define KFORGE_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>

#define KF_SANITIZE_FINDINGS 12 /* most that are kept of one tool */

typedef struct kf_sanitize_finding {
    char kind[160];   /* the headline */
    char kernel[160]; /* "" unknown */
    char file[64];    /* "candidate.cu", "" unknown */
    int line;         /* of the file, 0 unknown */
    /* "by thread (100,0,0) in block (0,0,0); Access to 0x… is out of bounds; …" */
    char detail[320];
    int count;    /* blocks like this */
    bool warning; /* the tool itself calls it a warning */
} kf_sanitize_finding;

typedef struct kf_sanitize_report {
    kf_sanitize_finding findings[KF_SANITIZE_FINDINGS];
    size_t count;
    bool finished;     /* the tool's own summary was there */
    char trouble[200]; /* the tool could not do its work: its words */
} kf_sanitize_report;

/* compute-sanitizer of the CUDA toolkit that nvcc is from, links resolved. (Of kf_judge, not pure.)
 */
bool kf_sanitizer_find(char path[4096]);

/* `text` ends with NUL. */
void kf_sanitize_parse(const char *text, kf_sanitize_report *report);

#endif
