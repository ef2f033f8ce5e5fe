/* A list of GPUs, as `--devices` takes it. Pure. */
#ifndef KFORGE_DEVICES_H
#define KFORGE_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_DEVICES_MOST 64

typedef struct kf_devices {
    char names[KF_DEVICES_MOST][16]; /* "cuda:0" */
    const char *items[KF_DEVICES_MOST];
    size_t count;
} kf_devices;

/* "all" of the `available` GPUs, or numbers with commas between them ("0,2", "cuda:0,cuda:2"), each once. KF_ERROR_INPUT for anything else,
 * KF_ERROR_MACHINE for GPUs that are not there. */
bool kf_devices_parse(const char *text, int available, kf_devices *devices, kf_error *error);

#endif
