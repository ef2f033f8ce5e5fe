#include "crate.h"

#include <ctype.h>
#include <string.h>

/* evaluator/torch/build.py writes the same: little-endian, without gaps. */
typedef struct head {
    char magic[4];
    uint32_t kind;
    uint64_t size;
    char key[64], name[64];
} head;

static bool is_key(const char *key)
{
    for (int i = 0; i < 64; i++)
        if (!isdigit((unsigned char)key[i]) && !(key[i] >= 'a' && key[i] <= 'f')) return false;
    return true;
}

/* It becomes part of a file's name. */
static bool is_name(const char *name)
{
    size_t length = strnlen(name, KF_CRATE_NAME);
    if (length == 0 || length == KF_CRATE_NAME) return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_') return false;
    return true;
}

bool kf_crate_next(const void *crate, size_t size, size_t *at, kf_crate_record *record)
{
    head h;
    if (*at > size || size - *at < sizeof h) return false;
    memcpy(&h, (const char *)crate + *at, sizeof h);
    if (memcmp(h.magic, "kfx1", 4) != 0 || h.kind < KF_CRATE_LIBRARY || h.kind >= KF_CRATE_KINDS) return false;
    if (h.size > size - *at - sizeof h) return false;
    bool keyed = h.kind == KF_CRATE_LIBRARY || h.kind == KF_CRATE_FAILED;
    if ((keyed && !is_key(h.key)) || (h.kind == KF_CRATE_LIBRARY && !is_name(h.name))) return false;
    *record =
        (kf_crate_record){.kind = (kf_crate_kind)h.kind, .data = (const char *)crate + *at + sizeof h, .size = (size_t)h.size};
    if (keyed) memcpy(record->key, h.key, sizeof h.key);
    if (h.kind == KF_CRATE_LIBRARY) memcpy(record->name, h.name, strnlen(h.name, KF_CRATE_NAME));
    *at += sizeof h + record->size;
    return true;
}
