/* What tokens cost: a table compiled in (agent/llm/prices.json, a date for every row), or the file
 * that $KFORGE_PRICES names in its place. */
#ifndef KFORGE_PRICES_H
#define KFORGE_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_price {
    double input, cached, cache_write, output; /* USD per million tokens */
    char date[16];                             /* of the table's row; "" given by the user */
    bool known;
} kf_price;

/* Looks the model up: its row, or that of the name it begins with when only a date or "latest"
 * follows ("gpt-4o-2024-08-06"). An unknown model is no error: price->known is false. False when
 * the table of the user can't be read. */
bool kf_price_find(const char *provider, const char *model, kf_price *price, kf_error *error);
/* What so many tokens cost; counts below 0 count as 0. `prompt` includes both kinds of cached
 * tokens. */
double kf_price_of(const kf_price *price, int64_t prompt, int64_t cached, int64_t cache_write,
                   int64_t completion);

#endif
