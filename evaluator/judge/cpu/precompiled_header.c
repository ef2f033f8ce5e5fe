/* Makes and finds precompiled headers and compiled shims in the user's cache.
 *
 * The candidate's compiler reads them in the build jail, which shows the folder read-only. Only
 * kforge's own header is compiled while the folder can be written. A header appears under its name
 * by rename, so that a build sees a whole header or no header. */
#include "precompiled_header.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "device_cpu.h"
#include "jail.h"
#include "kforge/run_capture.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/sandbox.h"
#include "paths.h"

#define NAME "kforge_cpu.h"
#define MAKE_SECONDS 120
#define LOCK_SECONDS 60
/* Of /proc/cpuinfo: the first processor. */
#define PROCESSOR_BYTES (16u << 10)
#define VERSION_BYTES (16u << 10)
#define VERSION_SECONDS 20
#define SHIM_BYTES (1u << 20)
/* Unused headers of other versions are removed after this time. */
#define UNUSED_SECONDS (30 * 24 * 3600)
/* One failure may pass: a full disk, or a compiler that the machine ended. */
#define MOST_FAILURES 3

static const struct {
    const char *name, *flag;
} variants[KF_HEADER_VARIANTS] = {
    [KF_HEADER_PLAIN] = {"plain", NULL},
    [KF_HEADER_LIGHT] = {"light", "--light"},
    [KF_HEADER_FAST] = {"fast", "--use_fast_math"},
    [KF_HEADER_ASAN] = {"asan", "--asan"},
};

/* "" if this machine cannot be described. */
static char key[KF_HASH_HEX];
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Failures in a row. A header takes seconds, so after MOST_FAILURES this process does not try
 * again.
 */
static int failures[KF_HEADER_VARIANTS][2];

/* Appends the lines of /proc/cpuinfo that decide what -march=native means. */
static void describe_processor(kf_buffer *text)
{
    static const char *const names[] = {"model name", "flags", "Features", "CPU part"};
    kf_autofree char *list = kf_system_file("/proc/cpuinfo", PROCESSOR_BYTES);
    for (const char *line = list; line && *line && *line != '\n';) {
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0)
                kf_buffer_append(text, line, length);
        line += length + (line[length] == '\n');
    }
}

/* Hashes all that a precompiled header depends on: kforge's headers, where they lie, the compiler
 * and the processor. */
static void find_key(void)
{
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8",
                                              NULL};
    char runtime[KF_HASH_HEX];
    kf_autobuffer processor = {0};
    kf_autofree char *driver = kf_root_file("bin/kforge-cpucc", NULL);
    if (!driver || !kf_runtime_hash(runtime, sizeof runtime, NULL)) return;
    const char *const argv[] = {driver, "--version", NULL};
    kf_autofree char *version = kf_run_capture(argv, environment, VERSION_BYTES, VERSION_SECONDS);
    describe_processor(&processor);
    if (!version || !processor.data || processor.failed) return;
    const char *parts[] = {KFORGE_VERSION, kf_root(), runtime, version, processor.data};
    size_t sizes[sizeof parts / sizeof *parts];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) sizes[i] = strlen(parts[i]);
    kf_hash_parts_hex(key, parts, sizes, sizeof parts / sizeof *parts);
}

/* True for a folder that only this user can write. */
static bool is_private(const char *folder)
{
    struct stat status;
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & 022) == 0;
}

/* True if the header is there. Marks it as used, so that it is not removed. */
static bool is_made(const char *folder, const char *header)
{
    return access(header, R_OK) == 0 && is_private(folder) &&
           utimensat(AT_FDCWD, folder, NULL, 0) == 0;
}

/* Waits for the folder's lock. -1: another process has had it for LOCK_SECONDS, or there are no
 * locks here. */
static int take_lock(const char *folder)
{
    kf_autofree char *path = kf_path_join(folder, ".lock");
    kf_autoclose int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd < 0) return -1;
    const struct timespec pause = {.tv_nsec = 20000000};
    for (double end = kf_now() + LOCK_SECONDS; flock(fd, LOCK_EX | LOCK_NB) != 0;) {
        if (errno != EWOULDBLOCK && errno != EINTR) return -1;
        if (kf_now() > end) return -1;
        nanosleep(&pause, NULL);
    }
    int held = fd;
    fd = -1;
    return held;
}

/* Runs kforge-cpucc in the build jail, with `folder` as what it may write. argv[0] is set here. */
static bool compile(const char *folder, const char *argv[])
{
    kf_autofree char *driver = kf_root_file("bin/kforge-cpucc", NULL);
    if (!driver) return false;
    argv[0] = driver;
    char home[4200], temporary[4200];
    snprintf(home, sizeof home, "HOME=%s", folder);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    const char *const environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", KF_BUILD_EPOCH, home, temporary, NULL};
    kf_jail paths;
    kf_jail_init(&paths, folder, KF_PATH_READ | KF_PATH_WRITE);
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = folder,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = {.wall_seconds = MAKE_SECONDS,
                   .cpu_seconds = MAKE_SECONDS,
                   .memory_bytes = 4ull << 30,
                   .file_bytes = KF_BINARY_BYTES,
                   .output_bytes = KF_BUILD_LOG_BYTES,
                   .processes = 256},
        .seccomp = KF_SECCOMP_BUILD,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, NULL);
    if (!jail) return false;
    kf_sandbox_pump(jail, -1);
    const kf_sandbox_result *outcome = kf_sandbox_outcome(jail);
    return outcome->end == KF_END_EXITED && outcome->status == 0;
}

/* Makes PLACE/kforge_cpu.h, which includes the installation's, and compiles it. */
static bool make_header(const char *place, kf_header_variant variant, bool cxx20,
                        const char *header)
{
    static const char new_name[] = NAME ".new";
    kf_autofree char *text = kf_path_join(place, NAME);
    kf_autofree char *result = kf_path_join(place, new_name);
    kf_autobuffer line = {0};
    if (!text || !result || !kf_directory_make_private(place, NULL)) return false;
    if (variant == KF_HEADER_LIGHT) kf_buffer_string(&line, "#define KFORGE_CPU_LIGHT\n");
    kf_buffer_format(&line, "#include \"%s/lib/kforge/cpu/include/" NAME "\"\n", kf_root());
    if (line.failed || !kf_file_write(text, line.data, line.size, NULL)) return false;
    /* Left by a process that was killed. */
    unlink(result);
    const char *argv[8] = {NULL, "--precompile", "-o", new_name, NAME};
    int argc = 5;
    if (variants[variant].flag) argv[argc++] = variants[variant].flag;
    if (cxx20) argv[argc++] = "-std=c++20";
    if (compile(place, argv) && rename(result, header) == 0) return true;
    unlink(result);
    return false;
}

/* Removes the headers of other versions and compilers that no build has used for a month. */
static void remove_unused(const char *headers)
{
    DIR *folders = opendir(headers);
    time_t now = time(NULL);
    for (struct dirent *entry; folders && (entry = readdir(folders));) {
        struct stat status;
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, key) == 0) continue;
        if (fstatat(dirfd(folders), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
        if (now - status.st_mtim.tv_sec < UNUSED_SECONDS) continue;
        kf_autofree char *path = kf_path_join(headers, entry->d_name);
        if (path) kf_directory_remove(path, NULL);
    }
    if (folders) closedir(folders);
}

/* Makes the header under the folder's lock, unless another process has made it meanwhile. */
static bool make_once(const char *headers, const char *folder, const char *place,
                      kf_header_variant variant, bool cxx20, const char *header)
{
    if (!kf_directory_make_private(headers, NULL)) return false;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
    if (!is_private(folder)) return false;
    kf_autoclose int lock = take_lock(folder);
    if (lock < 0) return false;
    if (is_made(folder, header)) return true;
    remove_unused(headers);
    return make_header(place, variant, cxx20, header);
}

/* True for a build folder, which makes its headers with its programs. */
static bool is_installed(kf_header_variant variant)
{
    char name[100];
    snprintf(name, sizeof name, "lib/kforge/cpu/pch/%s/" NAME ".gch", variants[variant].name);
    kf_autofree char *own = kf_path_join(kf_root(), name);
    return own && access(own, R_OK) == 0;
}

char *kf_precompiled_header(const char *cache, kf_header_variant variant, bool cxx20)
{
    kf_autofree char *headers = NULL, *folder = NULL, *place = NULL, *header = NULL;
    if (!cache || (!cxx20 && is_installed(variant)) ||
        __atomic_load_n(&failures[variant][cxx20], __ATOMIC_RELAXED) >= MOST_FAILURES)
        return NULL;
    pthread_once(&once, find_key);
    headers = key[0] ? kf_path_join(cache, "headers") : NULL;
    folder = headers ? kf_path_join(headers, key) : NULL;
    char name[40];
    snprintf(name, sizeof name, "%s%s", variants[variant].name, cxx20 ? "-c++20" : "");
    place = folder ? kf_path_join(folder, name) : NULL;
    header = place ? kf_path_join(place, NAME ".gch") : NULL;
    if (!header) return NULL;
    if (is_made(folder, header) || make_once(headers, folder, place, variant, cxx20, header)) {
        __atomic_store_n(&failures[variant][cxx20], 0, __ATOMIC_RELAXED);
        return kf_steal(&folder);
    }
    __atomic_fetch_add(&failures[variant][cxx20], 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Compiles the text in a new folder, and puts the object into the cache. That takes little more
 * than to compile the shim with the candidate, so each build may try again. */
static bool make_shim(const char *text, const char *shims, const char *object)
{
    kf_autofree char *folder =
        kf_directory_make_private(shims, NULL) ? kf_directory_temporary("kforge-shim", NULL) : NULL;
    if (!folder) return false;
    const char *argv[] = {NULL, "-c", "-o", "kforge_shim.o", "--plain", "kforge_shim.cpp", NULL};
    kf_autofree char *source = kf_path_join(folder, argv[5]),
                     *result = kf_path_join(folder, argv[3]);
    size_t size;
    kf_autofree char *data =
        source && result && kf_file_write(source, text, strlen(text), NULL) && compile(folder, argv)
            ? kf_file_read(result, SHIM_BYTES, &size, NULL)
            : NULL;
    kf_directory_remove(folder, NULL);
    return data && kf_file_write(object, data, size, NULL);
}

char *kf_compiled_shim(const char *cache, const char *text, size_t *size)
{
    char name[KF_HASH_HEX + 2];
    if (!cache) return NULL;
    pthread_once(&once, find_key);
    kf_hash hash = kf_hash_bytes(text, strlen(text));
    kf_hash_hex(&hash, name);
    strcat(name, ".o");
    kf_autofree char *headers = key[0] ? kf_path_join(cache, "headers") : NULL;
    kf_autofree char *folder = headers ? kf_path_join(headers, key) : NULL;
    kf_autofree char *shims = folder ? kf_path_join(folder, "shims") : NULL;
    kf_autofree char *object = shims ? kf_path_join(shims, name) : NULL;
    if (!object) return NULL;
    if (!is_made(shims, object) &&
        !(kf_directory_make_private(folder, NULL) && make_shim(text, shims, object)))
        return NULL;
    return kf_file_read(object, SHIM_BYTES, size, NULL);
}
