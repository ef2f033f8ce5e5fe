#include "extensions.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_common.h"
#include "build_archive.h"
#include "build_archive_file.h"
#include "jail.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/job.h"
#include "kforge/json.h"
#include "paths.h"
#include "python_installation.h"
#include "torch_plan.h"

/* For several compilers at a time, each of which reads PyTorch's headers. */
#define JAIL_MEMORY (8ull << 30)
/* The jail's folder for temporary files. */
#define JAIL_TEMPORARY (2ull << 30)
/* The most of a text record, and of a source that is compiled again. */
#define WORDS_BYTES (128u << 10)
#define SOURCE_BYTES (8u << 20)
/* The cache keeps the newest archives: so many, each of at most so many bytes. */
#define CACHED_ARCHIVES 256
#define CACHED_BYTES ((size_t)64 << 20)

bool kf_has_extensions(const char *source)
{
    return strstr(source, "cpp_extension") != NULL;
}

/* ---- what the jail is given ------------------------------------------------------------------ */

/* Folders of programs and of CUDA. The environment and the paths borrow these texts. */
typedef struct surroundings {
    char toolkit[4096], path[6000], home[4200], architectures[64], jobs[32];
    const char *environment[16];
    kf_jail jail;
} surroundings;

static void surround(surroundings *s, const kf_device *device, const kf_python *python,
                     const char *directory)
{
    bool cuda = strcmp(device->operations->kind, "cuda") == 0 && kf_cuda_toolkit(s->toolkit, NULL);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    /* A virtual environment has ninja here. */
    const char *slash = strrchr(python->program, '/');
    snprintf(s->path, sizeof s->path, "PATH=%.*s:%s%s/usr/local/bin:/usr/bin:/bin",
             (int)(slash - python->program), python->program, cuda ? s->toolkit : "",
             cuda ? "/bin:" : "");
    snprintf(s->jobs, sizeof s->jobs, "MAX_JOBS=%ld", processors > 0 ? processors : 1);
    size_t count = 0;
    s->environment[count++] = s->path;
    s->environment[count++] = s->jobs;
    s->environment[count++] = "LANG=C.UTF-8";
    s->environment[count++] = KF_BUILD_EPOCH;
    s->environment[count++] = "HOME=/tmp";
    s->environment[count++] = "TMPDIR=/tmp";
    static const char *const variables[] = {KF_PYTHON_VARIABLES};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        s->environment[count++] = variables[i];
    kf_jail_init(&s->jail, directory, KF_PATH_READ);
    for (size_t i = 0; i < python->path_count && s->jail.count < KF_JAIL_PATHS - 2; i++)
        s->jail.paths[s->jail.count++] =
            (kf_sandbox_path){python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    if (cuda) {
        snprintf(s->home, sizeof s->home, "CUDA_HOME=%s", s->toolkit);
        snprintf(s->architectures, sizeof s->architectures, "TORCH_CUDA_ARCH_LIST=%d.%d",
                 device->major, device->minor);
        s->environment[count++] = s->home;
        s->environment[count++] = s->architectures;
        s->jail.paths[s->jail.count++] =
            (kf_sandbox_path){s->toolkit, KF_PATH_READ | KF_PATH_EXEC, false};
        s->jail.paths[s->jail.count++] =
            (kf_sandbox_path){"/opt", KF_PATH_READ | KF_PATH_EXEC, true};
    }
    s->environment[count] = NULL;
}

/* ---- the jail -------------------------------------------------------------------------------- */

/* Runs the build phase, or compiles the source of the file `again` once more. *limit: a text about
 * an exceeded limit, which the caller frees; NULL if it ended within its limits. */
static bool run_jail(const kf_device *device, const kf_build_request *request, const char *plans,
                     const char *again, kf_build_archive_file *c, kf_build *build, char **limit,
                     kf_error *error)
{
    const kf_python *python = kf_python_find(error);
    kf_autofree char *script =
        python ? kf_root_file("lib/kforge/torch/kforge_torch.py", error) : NULL;
    kf_autofree char *path = script ? kf_path_join(request->directory, "plans.json") : NULL;
    kf_autofree surroundings *s = calloc(1, sizeof *s);
    if (!script) return false;
    if (!path || !s) return kf_fail_memory(error, "a solution's extensions");
    if (!kf_file_write(path, plans, strlen(plans), error)) return false;
    kf_autoclose int fd = kf_build_archive_file_open(error);
    if (fd < 0) return false;
    surround(s, device, python, request->directory);
    const char *const argv[] = {python->program, "-I", script, "build", path, again, NULL};
    const kf_sandbox_fd fds[] = {{.host = fd, .child = KF_BUILD_ARCHIVE_FD}};
    double seconds = KF_EXTENSION_BUILDS * request->seconds;
    const kf_sandbox_spec spec = {
        .argv = argv,
        .environment = s->environment,
        .directory = request->directory,
        .paths = s->jail.paths,
        .path_count = s->jail.count,
        .fds = fds,
        .fd_count = 1,
        .limits = {.wall_seconds = seconds,
                   .memory_bytes = request->memory_bytes ? request->memory_bytes : JAIL_MEMORY,
                   .file_bytes = KF_BINARY_BYTES,
                   .output_bytes = KF_BUILD_LOG_BYTES,
                   .processes = 256,
                   .temporary_bytes = JAIL_TEMPORARY},
        .seccomp = KF_SECCOMP_BUILD,
        .strict = request->strict_sandbox,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return kf_fail_prefix(error, "build jail");
    if (!kf_build_await(request, jail, error)) return false;
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    build->seconds += result->wall_seconds;
    if (result->end != KF_END_EXITED && result->end != KF_END_SIGNAL) {
        char words[256];
        kf_sandbox_describe(result, words, sizeof words);
        const char *which = result->end == KF_END_WALL
                                ? ". All extensions together have that much (a multiple of "
                                  "--build-seconds of kforge eval)"
                                : "";
        if (asprintf(limit, "compiling its extensions went over a limit: %s%s", words, which) < 0)
            *limit = NULL;
        return *limit || kf_fail_memory(error, "a solution's extensions");
    }
    build->killed = kf_sandbox_ended_outside(result);
    if (build->killed) {
        char words[256];
        kf_sandbox_describe(result, words, sizeof words);
        if (asprintf(limit, "compiling its extensions was ended from outside by %s", words) < 0)
            *limit = NULL;
        return *limit || kf_fail_memory(error, "a solution's extensions");
    }
    c->whole = result->end == KF_END_EXITED && result->status == 0;
    return kf_build_archive_file_map(c, fd, error);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* Returns the cache's path for a hash of everything that can change the archive; NULL if it must
 * not be cached. The caller frees it. */
static char *cached_path(const kf_device *device, const char *cache, const char *plans)
{
    const kf_python *python = kf_python_find(NULL);
    kf_autofree char *toolchain = device->operations->toolchain(device);
    char compiler[128], hex[KF_HASH_HEX], *path = NULL;
    struct stat status = {0};
    if (!cache || !python || !toolchain || stat("/usr/bin/c++", &status) < 0) return NULL;
    snprintf(compiler, sizeof compiler, "%lld %lld", (long long)status.st_size,
             (long long)status.st_mtime);
    const char *parts[] = {
        KFORGE_VERSION,  device->operations->kind, device->hardware, toolchain, compiler,
        python->program, python->version,          python->torch,    plans};
    size_t sizes[sizeof parts / sizeof *parts];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) sizes[i] = strlen(parts[i]);
    kf_hash_parts_hex(hex, parts, sizes, sizeof parts / sizeof *parts);
    return asprintf(&path, "%s/extensions/%s.crate", cache, hex) < 0 ? NULL : path;
}

/* Removes the oldest archive if there are too many. */
static void make_room(const char *folder)
{
    DIR *files = opendir(folder);
    char oldest[300] = "";
    struct timespec when = {0};
    size_t count = 0;
    for (struct dirent *file; files && (file = readdir(files));) {
        struct stat status;
        if (file->d_name[0] == '.' ||
            fstatat(dirfd(files), file->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bool older =
            !oldest[0] || status.st_mtim.tv_sec < when.tv_sec ||
            (status.st_mtim.tv_sec == when.tv_sec && status.st_mtim.tv_nsec < when.tv_nsec);
        if (older) snprintf(oldest, sizeof oldest, "%s", file->d_name), when = status.st_mtim;
        count++;
    }
    if (files && count > CACHED_ARCHIVES) unlinkat(dirfd(files), oldest, 0);
    if (files) closedir(files);
}

/* Keeps an archive in the cache. After a failure the next job compiles again. */
static void keep(const char *path, const kf_build_archive_file *c)
{
    kf_autofree char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (!slash || !c->size || c->size > CACHED_BYTES) return;
    *slash = '\0';
    if (kf_directory_make_private(folder, NULL) && kf_file_write(path, c->data, c->size, NULL))
        make_room(folder);
}

/* ---- what came of it ------------------------------------------------------------------------- */

typedef struct hashes {
    size_t count, failed;
    char binary[KF_EXTENSIONS_MAX + 1][KF_HASH_HEX], code[KF_EXTENSIONS_MAX + 1][KF_HASH_HEX];
} hashes;

static bool note_library(cJSON *list, const kf_build_archive_record *record, const char *hash)
{
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return false;
    }
    return cJSON_AddStringToObject(object, "name", record->name) &&
           cJSON_AddStringToObject(object, "key", record->key) &&
           cJSON_AddStringToObject(object, "sha256", hash) &&
           cJSON_AddNumberToObject(object, "bytes", (double)record->size);
}

/* Writes a file into the candidate's folder. Skips a second file of the same name. */
static bool put_file(const char *folder, const kf_build_archive_record *record, kf_error *error)
{
    char name[KF_HASH_HEX + KF_BUILD_ARCHIVE_NAME + 8];
    if (record->kind == KF_BUILD_ARCHIVE_LIBRARY)
        snprintf(name, sizeof name, "%s-%s.so", record->key, record->name);
    else
        snprintf(name, sizeof name, "%s.failed", record->key);
    kf_autofree char *path = kf_path_join(folder, name);
    if (!path) return kf_fail_memory(error, "a solution's extensions");
    return access(path, F_OK) == 0 || kf_file_write(path, record->data, record->size, error);
}
/* Sets the reason of a failed build. False without memory. */
__attribute__((format(printf, 2, 3))) static bool refuse(kf_build *build, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    build->ok = false;
    build->status = KF_COMPILE_ERROR;
    if (vasprintf(&build->reason, format, arguments) < 0) build->reason = NULL;
    va_end(arguments);
    return build->reason != NULL;
}

static bool take_library(const kf_build_archive_record *record, const char *folder, hashes *all,
                         cJSON *list, kf_build *build, kf_error *error)
{
    kf_hash hash = kf_hash_bytes(record->data, record->size);
    if (all->count > KF_EXTENSIONS_MAX)
        return refuse(build, "more than %d extensions: no room for %s", KF_EXTENSIONS_MAX,
                      record->name) ||
               kf_fail_memory(error, "a solution's extensions");
    if (!kf_elf_code_hash(record->data, record->size, all->code[all->count], NULL))
        return refuse(build, "extension %s is no shared object", record->name) ||
               kf_fail_memory(error, "a solution's extensions");
    kf_hash_hex(&hash, all->binary[all->count]);
    if (!note_library(list, record, all->binary[all->count]))
        return kf_fail_memory(error, "a solution's extensions");
    all->count++;
    return put_file(folder, record, error);
}

/* Uses the records of an archive. The first complaint decides the build. The log gets the
 * compilers' messages, as far as they fit. */
static bool take_words(const kf_build_archive_record *record, kf_buffer *log, kf_build *build,
                       kf_error *error)
{
    size_t size = strnlen(record->data, record->size);
    kf_autofree char *text =
        kf_text_clean(record->data, size < WORDS_BYTES ? size : WORDS_BYTES, false);
    if (!text) return kf_fail_memory(error, "a solution's extensions");
    if (log->size + strlen(text) < KF_BUILD_LOG_BYTES) kf_buffer_format(log, "%s\n", text);
    if (record->kind == KF_BUILD_ARCHIVE_NOTE || !build->ok) return true;
    return refuse(build, "%.*s", (int)strcspn(text, "\n"), text) ||
           kf_fail_memory(error, "a solution's extensions");
}

static void sum_up(const hashes *all, kf_build *build)
{
    const char *binary[KF_EXTENSIONS_MAX + 1], *code[KF_EXTENSIONS_MAX + 1];
    size_t sizes[KF_EXTENSIONS_MAX + 1];
    for (size_t i = 0; i < all->count; i++)
        binary[i] = all->binary[i], code[i] = all->code[i], sizes[i] = KF_HASH_HEX - 1;
    if (all->count == 1) return; /* Only the source. */
    kf_hash_parts_hex(build->binary_hash, binary, sizes, all->count);
    kf_hash_parts_hex(build->code_hash, code, sizes, all->count);
}

/* *unsupported: the complaint that decided the build if it blames this machine, else no data. */
static bool unpack(const kf_build_archive_file *c, bool known, const kf_build_request *request,
                   kf_build_archive_record *unsupported, kf_build *build, kf_error *error)
{
    *unsupported = (kf_build_archive_record){0};
    kf_autofree char *folder = kf_path_join(request->directory, KF_EXTENSIONS_FOLDER);
    kf_autofree hashes *all = calloc(1, sizeof *all);
    kf_auto(cJSON) list = cJSON_CreateArray();
    kf_autobuffer log = {0};
    if (!folder || !all || !list) return kf_fail_memory(error, "a solution's extensions");
    if (!kf_directory_make(folder, error)) return false;
    memcpy(all->binary[0], build->binary_hash, KF_HASH_HEX);
    memcpy(all->code[0], build->code_hash, KF_HASH_HEX);
    all->count = 1;
    kf_build_archive_record record;
    for (size_t at = 0; kf_build_archive_next(c->data, c->size, &at, &record);) {
        bool taken = true;
        if (record.kind == KF_BUILD_ARCHIVE_UNSUPPORTED && build->ok) *unsupported = record;
        if (record.kind == KF_BUILD_ARCHIVE_LIBRARY)
            taken = !build->ok || take_library(&record, folder, all, list, build, error);
        else if (record.kind == KF_BUILD_ARCHIVE_CACHES)
            continue; /* this was no dry run */
        else if (record.kind != KF_BUILD_ARCHIVE_FAILED)
            taken = take_words(&record, &log, build, error);
        else if (record.size <= WORDS_BYTES && all->failed++ < KF_EXTENSIONS_MAX)
            taken = put_file(folder, &record, error);
        if (!taken) return false;
    }
    if (log.size) {
        free(build->log);
        if (!(build->log = kf_buffer_take(&log)))
            return kf_fail_memory(error, "a solution's extensions");
    }
    sum_up(all, build);
    if (!build->report) build->report = cJSON_CreateObject();
    if (!build->report || !cJSON_AddItemToObject(build->report, "extensions", list))
        return kf_fail_memory(error, "a solution's extensions");
    kf_steal(&list);
    return !known || cJSON_AddTrueToObject(build->report, "cached") ||
           kf_fail_memory(error, "a solution's extensions");
}

/* Blames this machine for a build if kforge-cpucc does so in a jail of its own, in which only
 * compilers run. The solution wrote the record, so the record's words decide nothing. */
static bool confirm(const kf_device *device, const kf_build_request *request, const char *plans,
                    const kf_build_archive_record *unsupported, kf_build *build, kf_error *error)
{
    size_t words = strnlen(unsupported->data, unsupported->size), size = unsupported->size - words;
    if (strcmp(device->operations->kind, "cpu") != 0 || size < 2 || size > SOURCE_BYTES)
        return true;
    kf_autofree char *again = kf_path_join(request->directory, "again.json"), *limit = NULL;
    if (!again) return kf_fail_memory(error, "a solution's extensions");
    if (!kf_file_write(again, unsupported->data + words + 1, size - 1, error)) return false;
    kf_build_archive_file c = {0};
    kf_build_archive_record record;
    size_t at = 0;
    bool done = run_jail(device, request, plans, again, &c, build, &limit, error);
    if (done && build->killed) build->status = KF_JUDGE_ERROR;
    if (done && !limit && kf_build_archive_next(c.data, c.size, &at, &record) &&
        record.kind == KF_BUILD_ARCHIVE_UNSUPPORTED) {
        kf_autobuffer log = {0};
        free(build->reason);
        build->reason = NULL;
        build->ok = true;
        done = take_words(&record, &log, build, error);
        build->status = KF_UNSUPPORTED_DEVICE;
    }
    kf_build_archive_file_free(&c);
    return done;
}

bool kf_extensions_build(kf_device *device, const char *cache, const kf_build_request *request,
                         kf_build *build, kf_error *error)
{
    kf_autofree char *plans = kf_torch_plans(request->task, device->operations->kind, build->binary,
                                             error),
                     *cached = NULL, *limit = NULL;
    kf_build_archive_file c = {0};
    kf_build_archive_record unsupported;
    if (!plans) return false;
    if ((cached = cached_path(device, cache, plans)) &&
        (c.data = kf_file_read(cached, CACHED_BYTES, &c.size, NULL))) {
        bool unpacked = unpack(&c, true, request, &unsupported, build, error);
        kf_build_archive_file_free(&c);
        return unpacked;
    }
    bool done = run_jail(device, request, plans, NULL, &c, build, &limit, error);
    if (done && limit) {
        build->ok = false;
        build->status = build->killed ? KF_JUDGE_ERROR : KF_COMPILE_ERROR;
        build->reason = kf_steal(&limit);
    } else if (done) {
        done = unpack(&c, false, request, &unsupported, build, error) &&
               (!unsupported.data || confirm(device, request, plans, &unsupported, build, error));
        if (done && cached && c.whole && build->ok) keep(cached, &c);
    }
    kf_build_archive_file_free(&c);
    return done;
}

bool kf_extensions_copy(const char *candidate, const char *folder, kf_error *error)
{
    char from[4300];
    const char *slash = strrchr(candidate, '/');
    snprintf(from, sizeof from, "%.*s/%s", slash ? (int)(slash - candidate) : 1,
             slash ? candidate : ".", KF_EXTENSIONS_FOLDER);
    DIR *files = opendir(from);
    bool copied = true;
    for (struct dirent *file; files && copied && (file = readdir(files));) {
        if (file->d_name[0] == '.') continue;
        size_t size;
        kf_autofree char *source = kf_path_join(from, file->d_name),
                         *target = kf_path_join(folder, file->d_name);
        if (source && target && access(target, F_OK) == 0)
            continue; /* a runner that has been given the candidate before has it loaded */
        kf_autofree char *data =
            source && target ? kf_file_read(source, KF_BINARY_BYTES, &size, error) : NULL;
        if (!source || !target)
            copied = kf_fail_memory(error, "a solution's extensions");
        else
            copied = data && kf_file_write(target, data, size, error);
    }
    if (files) closedir(files);
    return copied;
}
