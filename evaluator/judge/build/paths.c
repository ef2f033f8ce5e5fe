#include "paths.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"

static char root[4096];

static void find_root(void)
{
    const char *given = getenv("KFORGE_ROOT");
    if (given && given[0] == '/') {
        snprintf(root, sizeof root, "%s", given);
        return;
    }
    ssize_t length = readlink("/proc/self/exe", root, sizeof root - 1);
    root[length > 0 ? length : 0] = '\0';
    for (int level = 0; level < 2; level++) { /* ROOT/bin/program */
        char *slash = strrchr(root, '/');
        if (slash) *slash = '\0';
    }
}

const char *kf_root(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_root);
    return root;
}

char *kf_root_file(const char *name, kf_error *error)
{
    kf_autofree char *path = kf_path_join(kf_root(), name);
    if (!path) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (access(path, R_OK) != 0) {
        kf_fail(error, KF_ERROR_MACHINE,
                "%s is missing: build or install kforge completely, or set KFORGE_ROOT to where bin/ and lib/kforge/ are", path);
        return NULL;
    }
    return kf_steal(&path);
}

char *kf_system_file(const char *path, size_t limit)
{
    kf_autobuffer text = {.limit = limit};
    char piece[4096];
    size_t got;
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0 && !text.failed) kf_buffer_append(&text, piece, got);
    fclose(file);
    text.failed = false; /* what is over the limit is left out */
    return kf_buffer_take(&text);
}
