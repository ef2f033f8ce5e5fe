/* Turns the output of compute-sanitizer into findings. Pure. The text is untrusted, because the
 * candidate runs in the examined process.
 *
 * Lines begin with "=========". A headline follows after one space ("Invalid __global__ write of
 * size 4 bytes", "Error: Race reported between …"). Its details are indented: "at KERNEL+0x90 in
 * FILE:LINE", the thread, the address. Blocks with the same headline at the same place are one
 * finding.
 */
#ifndef KFORGE_SANITIZE_H
#define KFORGE_SANITIZE_H

#include <stdbool.h>
#include <stddef.h>

/* most findings that are kept of one tool */
#define KF_SANITIZE_FINDINGS 12

typedef struct kf_sanitize_finding {
    /* the headline */
    char kind[160];
    /* "" if unknown */
    char kernel[160];
    /* "candidate.cu"; "" if unknown */
    char file[64];
    /* 0 if unknown */
    int line;
    /* "by thread (100,0,0) in block (0,0,0); Access to 0x… is out of bounds; …" */
    char detail[320];
    /* number of such blocks */
    int count;
    /* the tool calls it a warning */
    bool warning;
} kf_sanitize_finding;

typedef struct kf_sanitize_report {
    kf_sanitize_finding findings[KF_SANITIZE_FINDINGS];
    size_t count;
    /* the tool printed its summary */
    bool finished;
    /* the tool's own error; "" if it worked */
    char trouble[200];
} kf_sanitize_report;

/* Finds compute-sanitizer in nvcc's CUDA toolkit and writes its path without links. Not pure;
 * evaluator/judge implements it. */
bool kf_sanitizer_find(char path[4096]);

/* Parses `text`, which ends with NUL. */
void kf_sanitize_parse(const char *text, kf_sanitize_report *report);

#endif
