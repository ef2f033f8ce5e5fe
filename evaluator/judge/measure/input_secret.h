/* The judge's secret: one a job, from which every key, order and choice is drawn. Draws with
 * different labels are independent (SHA-256 over the secret and the label), so the keys of one
 * batch do not reveal those of the next. */
#ifndef KFORGE_INPUT_SECRET_H
#define KFORGE_INPUT_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_secret {
    unsigned char bytes[32];
} kf_secret;

/* Makes a secret from the kernel's random source. If `replay` (1 to 64 hexadecimal digits) is not
 * NULL, makes it from that, to repeat a verdict. */
bool kf_secret_new(kf_secret *secret, const char *replay, kf_error *error);
void kf_secret_hex(const kf_secret *secret, char hex[65]);
/* Draws 64 bits for a purpose and two numbers. */
uint64_t kf_secret_draw(const kf_secret *secret, const char *purpose, uint32_t a, uint32_t b);

/* A stream of choices. Set `state` to a draw, and all else to zero. A candidate sees the orders
 * that were drawn, and must not learn from them which of its outputs will be compared. So the
 * stream is SHA-256 over the state and a counter. */
typedef struct kf_choices {
    uint64_t state, counter;
    uint64_t ready[4];
    unsigned left; /* in `ready` */
} kf_choices;
uint64_t kf_choices_next(kf_choices *choices);
uint32_t kf_choices_below(kf_choices *choices, uint32_t limit); /* uniform in [0, limit) */
void kf_choices_permute(kf_choices *choices, uint32_t *items, uint32_t count);

#endif
