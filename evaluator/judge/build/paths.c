#include "paths.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"

static char root[4096], root_of_library[4096];
static pthread_once_t root_once = PTHREAD_ONCE_INIT;

static void find_root(void)
{
    const char *given = getenv("KFORGE_ROOT");
    if (given && given[0] == '/') {
        snprintf(root, sizeof root, "%s", given);
        return;
    }
    if (root_of_library[0]) {
        snprintf(root, sizeof root, "%s", root_of_library);
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
    pthread_once(&root_once, find_root);
    return root;
}

void kf_root_set(const char *path)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!root_of_library[0]) snprintf(root_of_library, sizeof root_of_library, "%s", path);
    pthread_once(&root_once, find_root);
    pthread_mutex_unlock(&mutex);
}

char *kf_root_file(const char *name, kf_error *error)
{
    kf_autofree char *path = kf_path_join(kf_root(), name);
    if (!path) {
        kf_fail_memory(error, "a path");
        return NULL;
    }
    if (access(path, R_OK) != 0) {
        kf_fail(error, KF_ERROR_MACHINE,
                "%s is missing: build or install kforge completely, or set KFORGE_ROOT to where "
                "bin/ and lib/kforge/ are",
                path);
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
    while ((got = fread(piece, 1, sizeof piece, file)) > 0 && !text.failed)
        kf_buffer_append(&text, piece, got);
    fclose(file);
    /* Bytes over the limit are left out. */
    text.failed = false;
    return kf_buffer_take(&text);
}

/* Links resolved: the folder above bin/ is the toolkit, which the jail shows. */
bool kf_cuda_toolkit(char toolkit[4096], kf_error *error)
{
    const char *homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char path[4400], real[4096] = "";
    for (size_t i = 0; i < 3 && !real[0]; i++) {
        if (!homes[i] || homes[i][0] != '/') continue;
        snprintf(path, sizeof path, "%.4000s/bin/nvcc", homes[i]);
        if (access(path, X_OK) != 0 || !realpath(path, real)) real[0] = '\0';
    }
    for (const char *list = getenv("PATH"); list && *list && !real[0];
         list += strcspn(list, ":"), list += *list == ':') {
        snprintf(path, sizeof path, "%.*s/nvcc", (int)strcspn(list, ":"), list);
        if (path[0] != '/' || access(path, X_OK) != 0 || !realpath(path, real)) real[0] = '\0';
    }
    for (int level = 0; level < 2 && real[0]; level++) {
        char *slash = strrchr(real, '/');
        if (slash) *slash = '\0';
    }
    if (!real[0])
        return kf_fail(error, KF_ERROR_MACHINE,
                       "nvcc is missing (looked in $CUDA_HOME/bin, /usr/local/cuda/bin and $PATH): "
                       "install the CUDA toolkit, or "
                       "set CUDA_HOME");
    snprintf(toolkit, 4096, "%s", real);
    return true;
}

/* Takes a folder that has the headers. */
static bool take_cutlass(const char *place, char folder[4096])
{
    char path[4400];
    snprintf(path, sizeof path, "%.4000s/cutlass/cutlass.h", place);
    return access(path, R_OK) == 0 && realpath(place, folder);
}

/* Takes the first folder of a pattern that has the headers. */
static bool find_cutlass(const char *pattern, char folder[4096])
{
    glob_t found = {0};
    bool good = false;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !good; i++)
            good = take_cutlass(found.gl_pathv[i], folder);
    globfree(&found);
    return good;
}

bool kf_compiler_includes(const char *folder)
{
    static const char *const searched[] = {"/usr/include", "/usr/local/include"};
    struct stat own, other;
    if (stat(folder, &own) != 0) return false;
    for (size_t i = 0; i < sizeof searched / sizeof *searched; i++)
        if (stat(searched[i], &other) == 0 && own.st_dev == other.st_dev &&
            own.st_ino == other.st_ino)
            return true;
    return false;
}

bool kf_cutlass_headers(char folder[4096], kf_error *error)
{
    static const char package[] = "cutlass_library/source/include";
    const char *given = getenv("KFORGE_CUTLASS"), *python = getenv("KFORGE_PYTHON"),
               *home = getenv("HOME");
    char pattern[4400];
    if (given && *given) {
        snprintf(pattern, sizeof pattern, "%.4000s/include", given);
        return take_cutlass(given, folder) || take_cutlass(pattern, folder) ||
               kf_fail(
                   error, KF_ERROR_MACHINE,
                   "KFORGE_CUTLASS: %s has no cutlass/cutlass.h: name the folder with CUTLASS's "
                   "headers",
                   given);
    }
    const char *slash = python ? strrchr(python, '/') : NULL;
    if (slash) {
        snprintf(pattern, sizeof pattern, "%.*s/../lib/python3*/site-packages/%s",
                 (int)(slash - python), python, package);
        if (find_cutlass(pattern, folder)) return true;
    }
    if (home && *home == '/') {
        snprintf(pattern, sizeof pattern, "%.4000s/.local/lib/python3*/site-packages/%s", home,
                 package);
        if (find_cutlass(pattern, folder)) return true;
    }
    static const char *const places[] = {
        "/usr/local/cutlass/include", "/opt/cutlass/include", "/usr/local/include", "/usr/include",
        "/usr/local/lib/python3*/dist-packages/cutlass_library/source/include"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (find_cutlass(places[i], folder)) return true;
    return kf_fail(error, KF_ERROR_MACHINE,
                   "the task allows CUTLASS, and its headers are missing: `pip install "
                   "nvidia-cutlass`, or set KFORGE_CUTLASS to the folder with cutlass/cutlass.h");
}
