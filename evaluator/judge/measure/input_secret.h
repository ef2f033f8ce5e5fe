/* What only the judge knows: one secret a job, from which every key, order and choice is drawn.
 * Draws with different labels tell nothing of each other (SHA-256 over the secret and the label),
 * so the keys of one batch do not give away those of the next. */
#ifndef KFORGE_SECRET_H
#define KFORGE_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_secret {
    unsigned char bytes[32];
} kf_secret;

/* From the kernel's random source, or from `replay` (1 to 64 hexadecimal digits; not NULL) to
 * repeat a verdict. */
bool kf_secret_new(kf_secret *secret, const char *replay, kf_error *error);
void kf_secret_hex(const kf_secret *secret, char hex[65]);
uint64_t kf_secret_draw(const kf_secret *secret, const char *purpose, uint32_t a, uint32_t b);

/* A stream of choices; seeded by one draw (`state`, all else zero). A candidate sees the orders
 * that were drawn and must not learn from them which of its outputs will be compared: SHA-256 over
 * the seed and a counter. */
typedef struct kf_choices {
    uint64_t state, counter;
    uint64_t ready[4];
    unsigned left; /* of ready */
} kf_choices;
uint64_t kf_choices_next(kf_choices *choices);
uint32_t kf_choices_below(kf_choices *choices, uint32_t limit); /* uniform in [0, limit) */
void kf_choices_permute(kf_choices *choices, uint32_t *items, uint32_t count);

#endif
