/* A check for memory errors of the replies that become rows: their sources run once with
 * AddressSanitizer on the CPU device. A correct result can hide a read beyond the end of a buffer,
 * which a model would learn. */
#ifndef KFORGE_EXPORT_MEMORY_H
#define KFORGE_EXPORT_MEMORY_H

#include "kforge/export.h"
#include "workers.h"

/* Zero-initialise. */
typedef struct kf_memory_check {
    kf_store *store;
    kf_workers *workers;
    const volatile int *interrupts;
    /* Sources that passed, and those that the CPU device could not check: they stay. */
    int64_t passed, unchecked;
    /* Jobs so far. */
    int64_t jobs;
} kf_memory_check;

bool kf_memory_check_open(kf_memory_check *check, kf_store *store, const volatile int *interrupts,
                          kf_error *error);
void kf_memory_check_close(kf_memory_check *check);
/* For kf_export_options.admit, with the check as its context. */
bool kf_memory_check_admit(void *check, const kf_export_admission *asked, bool *admitted,
                           kf_error *error);

#endif
