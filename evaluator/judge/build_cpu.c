/* Building for the CPU device: kforge-cpucc in the build jail. See include/kforge/build.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/sandbox.h"
#include "paths.h"

#define MAX_ARGV 96
#define KFORGE_CPUCC_UNSUPPORTED 3 /* exit status of kforge-cpucc */

void kf_build_free(kf_build *build)
{
    free(build->log);
    free(build->reason);
    free(build->binary);
    *build = (kf_build){0};
}

/* The one-line reason: a missing entry in the task's words, else the first line that says "error". */
static char *first_complaint(const kf_build_request *request, const char *log)
{
    char symbol[256], *text = NULL;
    snprintf(symbol, sizeof symbol, "undefined reference to `%s%s'", kf_task_entry(request->task),
             request->oracle ? "_oracle" : "");
    kf_autofree char *prototype = strstr(log, symbol) ? kf_task_prototype(request->task, request->oracle) : NULL;
    if (prototype) return asprintf(&text, "%s does not define %s", request->name, prototype) < 0 ? NULL : text;
    const char *line = strstr(log, "error:");
    if (line && strncmp(line, "error: ld returned", 18) == 0 && strstr(log, "undefined reference"))
        line = strstr(log, "undefined reference");
    if (line)
        while (line > log && line[-1] != '\n') line--;
    else
        line = log;
    size_t length = strcspn(line, "\n");
    return length ? strndup(line, length < 400 ? length : 400) : strdup("the compiler failed without a message");
}

static bool write_sources(const kf_build_request *request, kf_error *error)
{
    kf_autofree char *header = kf_build_prototype_header(request->task, request->oracle);
    kf_autofree char *shim = kf_build_shim(request->task, request->oracle);
    if (!header || !shim)
        return kf_fail(error, KF_ERROR_INPUT, "task %s: no workload resolves, or out of memory", kf_task_name(request->task));
    const struct {
        const char *name, *text;
        size_t size;
    } files[] = {{"kforge_prototype.h", header, strlen(header)},
                 {"kforge_shim.cpp", shim, strlen(shim)},
                 {request->name, request->source, request->size}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_autofree char *path = kf_path_join(request->directory, files[i].name);
        if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        bool written = fd >= 0 && kf_write_all(fd, files[i].text, files[i].size);
        int cause = errno;
        if (fd >= 0) close(fd);
        if (!written) return kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", path, strerror(cause));
    }
    return true;
}

/* Hashes what the compiler left behind: a regular file of reasonable size, not a link to somewhere else. */
static bool take_binary(const kf_build_request *request, kf_build *build)
{
    kf_autofree char *path = kf_path_join(request->directory, "candidate.so");
    if (!path) return false;
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        (uint64_t)status.st_size > KF_BINARY_BYTES)
        return false;
    size_t size = (size_t)status.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return false;
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, build->binary_hash);
    bool good = kf_elf_code_hash(data, size, build->code_hash, NULL);
    munmap(data, size);
    if (good) build->binary = kf_steal(&path);
    return good && build->binary;
}

/* Words for how the jailed compiler ended. */
static bool conclude(const kf_build_request *request, kf_sandbox *jail, kf_build *build)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    const kf_buffer *output = kf_sandbox_output(jail);
    size_t kept = output->size < KF_BUILD_LOG_BYTES ? output->size : KF_BUILD_LOG_BYTES;
    build->log = kf_text_clean(kept ? output->data : "", kept, false);
    if (!build->log) return false;
    build->seconds = result->wall_seconds;
    if (result->end == KF_END_EXITED && result->status == 0) {
        build->ok = take_binary(request, build);
        build->status = build->ok ? KF_CORRECT : KF_COMPILE_ERROR;
        if (!build->ok) build->reason = strdup("the compiler left no usable binary");
        return build->ok || build->reason;
    }
    build->status = KF_COMPILE_ERROR;
    char words[256];
    if (result->end == KF_END_EXITED && result->status == KFORGE_CPUCC_UNSUPPORTED) {
        build->status = KF_UNSUPPORTED_DEVICE;
        build->reason = first_complaint(request, build->log);
    } else if (result->end == KF_END_EXITED && result->status == 1) {
        build->reason = first_complaint(request, build->log);
    } else if (result->end == KF_END_EXITED) {
        build->status = KF_JUDGE_ERROR;
        build->reason = first_complaint(request, build->log);
    } else {
        kf_sandbox_describe(result, words, sizeof words);
        if (asprintf(&build->reason, "the build went over a limit: %s", words) < 0) build->reason = NULL;
    }
    return build->reason != NULL;
}

bool kf_build_cpu(const kf_build_request *request, kf_build *build, kf_error *error)
{
    *build = (kf_build){.status = KF_JUDGE_ERROR};
    kf_autofree char *compiler = kf_root_file("bin/kforge-cpucc", error);
    if (!compiler || !write_sources(request, error)) return false;

    const char *argv[MAX_ARGV];
    int argc = 0;
    argv[argc++] = compiler;
    argv[argc++] = "-o";
    argv[argc++] = "candidate.so";
    argv[argc++] = "-include";
    argv[argc++] = "kforge_prototype.h";
    if (request->asan) argv[argc++] = "--asan";
    for (const char *const *flag = request->flags; flag && *flag; flag++) {
        if (argc >= MAX_ARGV - 4) return kf_fail(error, KF_ERROR_LIMIT, "more than %d compiler flags", MAX_ARGV - 10);
        argv[argc++] = *flag;
    }
    argv[argc++] = request->name;
    argv[argc++] = "kforge_shim.cpp";
    argv[argc] = NULL;

    char home[4200], temporary[4200];
    snprintf(home, sizeof home, "HOME=%s", request->directory);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", request->directory);
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", home, temporary, NULL};
    kf_jail paths;
    kf_jail_init(&paths, request->directory, KF_PATH_READ | KF_PATH_WRITE);
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = request->directory,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = {.wall_seconds = request->seconds,
                   .cpu_seconds = 4 * request->seconds,
                   .memory_bytes = request->memory_bytes ? request->memory_bytes : 4ull << 30,
                   .file_bytes = KF_BINARY_BYTES,
                   .output_bytes = 2 * KF_BUILD_LOG_BYTES,
                   .processes = 256},
        .seccomp = KF_SECCOMP_BUILD,
        .strict = request->strict_sandbox,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return kf_fail_prefix(error, "build jail");
    build->layers = kf_sandbox_layers(jail);
    kf_sandbox_pump(jail, -1);
    if (conclude(request, jail, build)) return true;
    kf_build_free(build);
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while building %s", request->name);
}
