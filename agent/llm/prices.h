/* Prices of tokens: the table that is compiled in (prices.json, a date for every row), or the file
 * that $KFORGE_PRICES names. */
#ifndef KFORGE_PRICES_H
#define KFORGE_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "kforge/error.h"

typedef struct kf_price {
    double input, cached, cache_write, output; /* USD per million tokens */
    /* The date of the table's row. "": the user gave the price. */
    char date[16];
    bool known;
} kf_price;

/* Looks a model up. A row also matches a name with a date or "latest" behind it
 * ("gpt-4o-2024-08-06"). If no row matches, price->known is false. Returns false if the user's
 * table can't be read. */
bool kf_price_find(const char *provider, const char *model, kf_price *price, kf_error *error);
/* Returns the cost in USD. Counts below 0 count as 0. `prompt` includes both kinds of cached
 * tokens. */
double kf_price_of(const kf_price *price, int64_t prompt, int64_t cached, int64_t cache_write,
                   int64_t completion);

#endif
