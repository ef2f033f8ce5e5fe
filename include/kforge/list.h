/* Arrays that grow by one item at a time. */
#ifndef KFORGE_LIST_H
#define KFORGE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for item number `count` of an array: `list` is the address of the pointer to its items
 * (a NULL pointer while count is 0). True if the room is there; false without memory, and the array
 * is as before. Grow an array with this macro alone and from empty on: its capacity follows from
 * `count` (4, 8, 16, ... items), and need not be stored. Release the items with free.
 *
 *     if (!kf_list_grow(&names, count)) return kf_fail_memory(error, "names");
 *     names[count++] = name;
 */
#define kf_list_grow(list, count)                                                        \
    ({                                                                                   \
        __typeof__(*(list)) kf_grown = kf_list_grown(*(list), (count), sizeof **(list)); \
        if (kf_grown) *(list) = kf_grown;                                                \
        kf_grown != NULL;                                                                \
    })

/* Returns `items` with room for one more item of `size` bytes after the first `count`, perhaps at
 * another address; NULL without memory, and `items` stays valid. */
void *kf_list_grown(void *items, size_t count, size_t size);

#endif
