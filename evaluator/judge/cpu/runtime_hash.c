/* Hashes kforge's own files that a candidate is compiled with and runs on: the CPU device's
 * library, compiler driver and headers. Precompiled headers do not count, since they hold paths and
 * come from the same text. The host's g++ belongs to the machine. */
#include <fts.h>
#include <stdio.h>
#include <string.h>

#include "device_cpu.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "paths.h"

#define FILE_BYTES (64u << 20)

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Appends a line "HASH NAME". The name is relative to the root, so that it does not depend on the
 * folder of the installation. */
static bool add_file(kf_buffer *list, const char *path, const char *name, kf_error *error)
{
    size_t size;
    kf_autofree char *data = kf_file_read(path, FILE_BYTES, &size, error);
    if (!data) return false;
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, hex);
    kf_buffer_format(list, "%s %s\n", hex, name);
    return true;
}

static bool add_folder(kf_buffer *list, const char *folder, kf_error *error)
{
    char *const roots[] = {(char *)folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!tree) return kf_fail(error, KF_ERROR_MACHINE, "%s: cannot be read", folder);
    bool ok = true;
    for (FTSENT *entry; ok && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            ok = add_file(list, entry->fts_path, entry->fts_path + strlen(folder), error);
    fts_close(tree);
    return ok;
}

bool kf_runtime_hash(char *hex, size_t size, kf_error *error)
{
    static const char *const files[] = {"bin/kforge-cpucc", "lib/kforge/libkfcpu.so"};
    kf_autobuffer list = {0};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_autofree char *path = kf_root_file(files[i], error);
        if (!path || !add_file(&list, path, files[i], error)) return false;
    }
    kf_autofree char *folder = kf_root_file("lib/kforge/cpu/include", error);
    if (!folder || !add_folder(&list, folder, error)) return false;
    if (list.failed) return kf_fail_memory(error, "a hash");
    char whole[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(list.data, list.size);
    kf_hash_hex(&hash, whole);
    snprintf(hex, size, "%.12s", whole);
    return true;
}
