/* Candidates of a run that a second measurement did not confirm. */
#ifndef KFORGE_REFUTED_H
#define KFORGE_REFUTED_H

#include "kforge/store.h"

typedef struct kf_refuted {
    int64_t *items;
    size_t count;
} kf_refuted;

/* Reads them from the attempts of a run. Release with kf_refuted_clear, also after an error. */
bool kf_refuted_read(kf_store *store, const char *run, kf_refuted *refuted, kf_error *error);
bool kf_refuted_has(const kf_refuted *refuted, int64_t candidate);
void kf_refuted_clear(kf_refuted *refuted);
#define kf_autorefuted __attribute__((cleanup(kf_refuted_clear))) kf_refuted

#endif
