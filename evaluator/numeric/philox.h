/* Random words of a key, in bulk, for this folder. */
#ifndef KFORGE_PHILOX_H
#define KFORGE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

#include "inputs_plan.h"
#include "kforge/inputs.h"

/* Writes 4 * blocks words. Block b of the stream is Philox of the counter (b low, b high | purpose
 * << 16, argument, set) under the key (secret). */
void kf_random_words(kf_key key, kf_purpose purpose, uint64_t first_block, size_t blocks,
                     uint32_t *words);

#endif
