#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(kf_devices *devices, int number, int available, kf_error *error)
{
    char name[16];
    snprintf(name, sizeof name, "cuda:%d", number);
    if (!available)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "devices: the driver shows no GPU; `kforge doctor` says why");
    if (number >= available)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "devices: %s: the driver shows %d GPU%s (CUDA_VISIBLE_DEVICES hides some "
                       "where it is set)",
                       name, available, available == 1 ? "" : "s");
    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(devices->names[i], name) == 0)
            return kf_fail(error, KF_ERROR_INPUT, "devices: %s is named twice", name);
    if (devices->count == KF_DEVICES_MAX)
        return kf_fail(error, KF_ERROR_INPUT, "devices: more than %d", KF_DEVICES_MAX);
    memcpy(devices->names[devices->count], name, sizeof name);
    devices->items[devices->count] = devices->names[devices->count];
    devices->count++;
    return true;
}

bool kf_devices_parse(const char *text, int available, kf_devices *devices, kf_error *error)
{
    devices->count = 0;
    if (strcmp(text, "all") == 0) {
        for (int i = 0; i < available && i < KF_DEVICES_MAX; i++)
            if (!add(devices, i, available, error)) return false;
        return devices->count ||
               kf_fail(error, KF_ERROR_MACHINE,
                       "devices: the driver shows no GPU; `kforge doctor` says why");
    }
    for (const char *at = text;; at++) {
        if (strncmp(at, "cuda:", 5) == 0) at += 5;
        size_t digits = strspn(at, "0123456789");
        if (digits < 1 || digits > 4 || (at[digits] && at[digits] != ','))
            return kf_fail(error, KF_ERROR_INPUT,
                           "devices \"%.80s\": expected all, or GPUs by number as in 0,2", text);
        if (!add(devices, atoi(at), available, error)) return false;
        at += digits;
        if (!*at) return true;
    }
}

void kf_devices_explain_cpu(FILE *log, const char *hardware, kf_gpu_trouble *trouble)
{
    char text[512];
    if (strncmp(hardware, "cpu ", 4) == 0 && trouble(text, sizeof text))
        fprintf(log, "on the CPU, since %s\n", text);
}
