/* Lists of GPUs, as `--devices` takes them. */
#ifndef KFORGE_DEVICES_H
#define KFORGE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kforge/error.h"

#define KF_DEVICES_MAX 64

typedef struct kf_devices {
    /* "cuda:0" */
    char names[KF_DEVICES_MAX][16];
    const char *items[KF_DEVICES_MAX];
    size_t count;
} kf_devices;

/* Reads "all", or GPUs by number with commas between them ("0,2", "cuda:0,cuda:2"), each once.
 * "all" stands for the `available` GPUs. KF_ERROR_INPUT for any other text, KF_ERROR_MACHINE for a
 * GPU that is not available. */
bool kf_devices_parse(const char *text, int available, kf_devices *devices, kf_error *error);

/* kf_judge_gpu_trouble (kforge/judge.h). Only the program itself links it. */
typedef bool kf_gpu_trouble(char *text, size_t size);
/* Writes a line to `log` if kforge chose the CPU ("cpu …" as hardware) because the driver of a GPU
 * does not start. */
void kf_devices_explain_cpu(FILE *log, const char *hardware, kf_gpu_trouble *trouble);

#endif
