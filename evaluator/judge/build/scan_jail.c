/* Preprocessing and disassembling for `kforge scan`, in the build jail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/sandbox.h"
#include "kforge/scan.h"
#include "paths.h"

#define SECONDS 60
#define TEXT_BYTES (32u << 20)
#define LISTING_BYTES (64u << 20)

static kf_sandbox *run(const char *folder, const char *const *argv, const char *toolkit,
                       size_t output, kf_error *error)
{
    char home[4200], temporary[4200];
    snprintf(home, sizeof home, "HOME=%s", folder);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", home,
                                       temporary, NULL};
    kf_jail paths;
    kf_jail_init(&paths, folder, KF_PATH_READ | KF_PATH_WRITE);
    if (toolkit && paths.count < KF_JAIL_PATHS)
        paths.paths[paths.count++] = (kf_sandbox_path){toolkit, KF_PATH_READ | KF_PATH_EXEC, false};
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = folder,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = {.wall_seconds = SECONDS,
                   .cpu_seconds = 4 * SECONDS,
                   .memory_bytes = 4ull << 30,
                   .file_bytes = KF_BINARY_BYTES,
                   .output_bytes = output,
                   .processes = 256},
        .seccomp = KF_SECCOMP_BUILD,
        .no_proc_files = true,
    };
    kf_sandbox *jail = kf_sandbox_spawn(&spec, error);
    if (jail)
        kf_sandbox_pump(jail, -1);
    else
        kf_fail_prefix(error, "build jail");
    return jail;
}

/* Reads a regular file that the jail has left. Follows no link. */
static char *take(const char *folder, const char *name, size_t limit, size_t *size)
{
    struct stat status;
    kf_autofree char *path = kf_path_join(folder, name);
    if (!path || lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    return kf_file_read(path, limit, size, NULL);
}

bool kf_scan_compile(const char *source, size_t size, char **text, size_t *text_size, char **binary,
                     size_t *binary_size, kf_error *error)
{
    *text = *binary = NULL;
    kf_autofree char *compiler = kf_root_file("bin/kforge-cpucc", error);
    kf_autofree char *folder = compiler ? kf_directory_temporary("kforge-scan", error) : NULL;
    kf_autofree char *path = folder ? kf_path_join(folder, "candidate.cu") : NULL;
    if (!path) return folder ? kf_fail_memory(error, "a scan") : false;
    const char *const argv[] = {compiler, "--keep",       "kept",         "-O0",
                                "-o",     "candidate.so", "candidate.cu", NULL};
    kf_autofree char *kept = kf_path_join(folder, "kept");
    bool done = kept && kf_directory_make(kept, error) && kf_file_write(path, source, size, error);
    kf_sandbox *jail = done ? run(folder, argv, NULL, 1 << 20, error) : NULL;
    if (jail) {
        *text = take(folder, "kept/0.ii", TEXT_BYTES, text_size);
        *binary = take(folder, "candidate.so", KF_BINARY_BYTES, binary_size);
    }
    kf_sandbox_free(jail);
    kf_directory_remove(folder, NULL);
    return jail != NULL;
}

/* Returns the toolkit that has cuobjdump; NULL without it. */
static const char *find_toolkit(char toolkit[4096])
{
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    char path[4200];
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        if (!homes[i] || homes[i][0] != '/' || !realpath(homes[i], toolkit)) continue;
        snprintf(path, sizeof path, "%.4000s/bin/cuobjdump", toolkit);
        if (access(path, X_OK) == 0) return toolkit;
    }
    return NULL;
}

char *kf_scan_disassemble(const char *path, size_t *size, kf_error *error)
{
    char toolkit[4096], program[4200];
    *size = 0;
    if (!find_toolkit(toolkit)) return NULL;
    snprintf(program, sizeof program, "%.4000s/bin/cuobjdump", toolkit);
    size_t bytes;
    kf_autofree char *data = kf_file_read(path, KF_BINARY_BYTES, &bytes, error);
    kf_autofree char *folder = data ? kf_directory_temporary("kforge-scan", error) : NULL;
    kf_autofree char *copy = folder ? kf_path_join(folder, "candidate.so") : NULL;
    if (!copy) return NULL;
    const char *const argv[] = {program, "-sass", "candidate.so", NULL};
    kf_sandbox *jail = kf_file_write(copy, data, bytes, error)
                           ? run(folder, argv, toolkit, LISTING_BYTES, error)
                           : NULL;
    char *listing = NULL;
    if (jail) {
        const kf_buffer *output = kf_sandbox_output(jail);
        if (output && output->size && (listing = malloc(output->size)))
            memcpy(listing, output->data, *size = output->size);
    }
    kf_sandbox_free(jail);
    kf_directory_remove(folder, NULL);
    return listing;
}
