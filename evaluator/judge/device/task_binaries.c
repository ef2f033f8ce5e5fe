#include "task_binaries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/file.h"

char *kf_cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (cache && cache[0] == '/') return kf_path_join(cache, "kforge");
    if (!home || home[0] != '/' || asprintf(&path, "%s/.cache/kforge", home) < 0) return NULL;
    return path;
}

/* Returns CACHE/builds/HASH.so. The caller frees it. */
static char *cached_path(kf_device *device, const char *cache, const kf_task *task,
                         const kf_task_file *file, bool oracle)
{
    kf_autofree char *toolchain = device->operations->toolchain(device);
    kf_autofree char *prototype = kf_build_prototype_header(task, oracle);
    kf_autofree char *shim = kf_build_shim(task, oracle);
    char hex[KF_HASH_HEX], *path = NULL;
    if (!toolchain || !prototype || !shim) return NULL;
    const char *parts[] = {KFORGE_VERSION, device->operations->kind, toolchain, prototype, shim,
                           file->text};
    size_t sizes[6];
    for (size_t i = 0; i < 6; i++) sizes[i] = strlen(parts[i]);
    sizes[5] = file->size;
    kf_hash_parts_hex(hex, parts, sizes, 6);
    return asprintf(&path, "%s/builds/%s.so", cache, hex) < 0 ? NULL : path;
}

/* Puts a copy into the cache. After a failure the next job builds again. */
static bool keep(const char *from, const char *to)
{
    size_t size;
    kf_autofree char *data = kf_file_read(from, KF_BINARY_BYTES, &size, NULL);
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", to);
    char *slash = strrchr(folder, '/');
    if (!data || !slash) return false;
    *slash = '\0';
    return kf_directory_make_private(folder, NULL) && kf_file_write(to, data, size, NULL);
}

/* Copies a problem file, which needs no build, into a folder of its own. Its path is then unlike
 * the path of any other job. */
static bool take_problem(const kf_task_file *file, kf_task_binary *binary, kf_error *error)
{
    if (!(binary->directory = kf_directory_temporary("kforge-trusted", error))) return false;
    binary->path = kf_path_join(binary->directory, "problem.py");
    if (binary->path && kf_file_write(binary->path, file->text, file->size, error)) return true;
    bool memory = !binary->path;
    kf_task_binary_free(binary);
    return memory ? kf_fail_memory(error, "a build") : false;
}

bool kf_task_binary_get(kf_device *device, const char *cache, const kf_task *task,
                        const kf_task_file *file, bool oracle, double seconds,
                        const volatile int *stop, kf_task_binary *binary, kf_error *error)
{
    *binary = (kf_task_binary){0};
    if (file->kind == KF_SOURCE_TORCH) return take_problem(file, binary, error);
    kf_autofree char *cached = cache ? cached_path(device, cache, task, file, oracle) : NULL;
    if (cached && access(cached, R_OK) == 0) {
        binary->path = kf_steal(&cached);
        return true;
    }
    if (!(binary->directory = kf_directory_temporary("kforge-trusted", error))) return false;
    const char *slash = strrchr(file->name, '/');
    kf_build_request request = {.task = task,
                                .oracle = oracle,
                                .source = file->text,
                                .size = file->size,
                                .name = slash ? slash + 1 : file->name,
                                .libraries = kf_task_file_libraries(task, file),
                                .seconds = seconds,
                                .directory = binary->directory,
                                .stop = stop};
    kf_build build;
    if (!device->operations->build(device, &request, &build, error)) {
        kf_task_binary_free(binary);
        return kf_fail_prefix(error, "%s", file->name);
    }
    if (!build.ok) {
        if (asprintf(&binary->reason, "%s does not build: %s", file->name, build.reason) < 0)
            binary->reason = NULL;
        binary->machine = build.status == KF_JUDGE_ERROR;
        kf_build_free(&build);
        if (binary->reason) return true;
        kf_task_binary_free(binary);
        return kf_fail_memory(error, "a build");
    }
    binary->path = kf_steal(&build.binary);
    kf_build_free(&build);
    if (cached && keep(binary->path, cached)) {
        kf_directory_remove(binary->directory, NULL);
        free(binary->directory);
        free(binary->path);
        binary->directory = NULL;
        binary->path = kf_steal(&cached);
    }
    return true;
}

void kf_task_binary_free(kf_task_binary *binary)
{
    if (binary->directory) kf_directory_remove(binary->directory, NULL);
    free(binary->directory);
    free(binary->path);
    free(binary->reason);
    *binary = (kf_task_binary){0};
}
