#include "kforge/list.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST 4 /* items */

void *kf_list_grown(void *items, size_t count, size_t size)
{
    bool full = count == 0 || (count >= FIRST && (count & (count - 1)) == 0);
    if (!full) return items;
    size_t capacity = count < FIRST ? FIRST : 2 * count;
    if (capacity < count || capacity > SIZE_MAX / size) return NULL;
    return realloc(items, capacity * size);
}
