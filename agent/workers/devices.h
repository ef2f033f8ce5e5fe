/* A list of GPUs, as `--devices` takes it; and why it is none that a machine judges on. */
#ifndef KFORGE_DEVICES_H
#define KFORGE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kforge/error.h"

#define KF_DEVICES_MAX 64

typedef struct kf_devices {
    char names[KF_DEVICES_MAX][16]; /* "cuda:0" */
    const char *items[KF_DEVICES_MAX];
    size_t count;
} kf_devices;

/* "all" of the `available` GPUs, or numbers with commas between them ("0,2", "cuda:0,cuda:2"), each
 * once. KF_ERROR_INPUT for anything else, KF_ERROR_MACHINE for GPUs that are not there. */
bool kf_devices_parse(const char *text, int available, kf_devices *devices, kf_error *error);

/* kf_judge_gpu_trouble (kforge/judge.h), which only the program itself links. */
typedef bool kf_gpu_trouble(char *text, size_t size);
/* Where no device was named and it became the CPU ("cpu …" as hardware): a line in `log` if that is
 * for a GPU's driver that does not start. */
void kf_devices_explain_cpu(FILE *log, const char *hardware, kf_gpu_trouble *trouble);

#endif
