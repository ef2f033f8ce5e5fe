#include "build_archive.h"

#include <ctype.h>
#include <string.h>

/* evaluator/torch/cpp_extension/build.py writes the same: little-endian, without gaps. */
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
    size_t length = strnlen(name, KF_BUILD_ARCHIVE_NAME);
    if (length == 0 || length == KF_BUILD_ARCHIVE_NAME) return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_') return false;
    return true;
}

bool kf_build_archive_next(const void *archive, size_t size, size_t *at,
                           kf_build_archive_record *record)
{
    head h;
    if (*at > size || size - *at < sizeof h) return false;
    memcpy(&h, (const char *)archive + *at, sizeof h);
    if (memcmp(h.magic, "kfx1", 4) != 0 || h.kind < KF_BUILD_ARCHIVE_LIBRARY ||
        h.kind >= KF_BUILD_ARCHIVE_KINDS)
        return false;
    if (h.size > size - *at - sizeof h) return false;
    bool keyed = h.kind == KF_BUILD_ARCHIVE_LIBRARY || h.kind == KF_BUILD_ARCHIVE_FAILED;
    if ((keyed && !is_key(h.key)) || (h.kind == KF_BUILD_ARCHIVE_LIBRARY && !is_name(h.name)))
        return false;
    *record = (kf_build_archive_record){.kind = (kf_build_archive_kind)h.kind,
                                        .data = (const char *)archive + *at + sizeof h,
                                        .size = (size_t)h.size};
    if (keyed) memcpy(record->key, h.key, sizeof h.key);
    if (h.kind == KF_BUILD_ARCHIVE_LIBRARY)
        memcpy(record->name, h.name, strnlen(h.name, KF_BUILD_ARCHIVE_NAME));
    *at += sizeof h + record->size;
    return true;
}
