#include "build_common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/job.h"
#include "machine_failures.h"

/* Between two looks at a stop flag. */
#define LOOK_SECONDS 0.1

void kf_build_free(kf_build *build)
{
    free(build->log);
    free(build->reason);
    free(build->binary);
    cJSON_Delete(build->report);
    *build = (kf_build){0};
}

/* Returns the reason in one line: the missing entry, or the first line with "error". Names the
 * prototype if the entry has another. */
static char *first_complaint(const kf_build_request *request, const char *log)
{
    char symbol[256], gold[256], *text = NULL;
    const char *entry = kf_task_entry(request->task), *end = request->oracle ? "_oracle" : "";
    snprintf(symbol, sizeof symbol, "undefined reference to `%s%s'", entry, end);
    snprintf(gold, sizeof gold, "undefined reference to '%s%s'", entry, end);
    kf_autofree char *prototype = strstr(log, symbol) || strstr(log, gold)
                                      ? kf_task_prototype(request->task, request->oracle)
                                      : NULL;
    if (prototype)
        return asprintf(&text, "%s does not define %s", request->name, prototype) < 0 ? NULL : text;
    const char *line = strstr(log, "error:");
    if (!line) line = strstr(log, "error   :"); /* ptxas */
    if (!line) line = strstr(log, "fatal");
    if (line && strncmp(line, "error: ld returned", 18) == 0 && strstr(log, "undefined reference"))
        line = strstr(log, "undefined reference");
    if (line)
        while (line > log && line[-1] != '\n') line--;
    else
        line = log;
    size_t length = strcspn(line, "\n");
    kf_autofree char *first = strndup(line, length < 400 ? length : 400);
    /* the words of gcc and of nvcc */
    bool other =
        first && strstr(first, entry) &&
        (strstr(first, "conflicting declaration") || strstr(first, "is incompatible with"));
    kf_autofree char *wanted = other ? kf_task_prototype(request->task, request->oracle) : NULL;
    if (wanted) return asprintf(&text, "%s. Define %s", first, wanted) < 0 ? NULL : text;
    return length ? strndup(line, length < 400 ? length : 400)
                  : strdup("the compiler failed without a message");
}

bool kf_build_write_sources(const kf_build_request *request, const char *own_shim, kf_error *error)
{
    kf_autofree char *header = kf_build_prototype_header(request->task, request->oracle);
    kf_autofree char *shim =
        own_shim ? strdup(own_shim) : kf_build_shim(request->task, request->oracle);
    if (!header || !shim)
        return kf_fail(error, KF_ERROR_INPUT, "task %s: no workload resolves, or out of memory",
                       kf_task_name(request->task));
    const struct {
        const char *name, *text;
        size_t size;
    } files[] = {{"kforge_prototype.h", header, strlen(header)},
                 {"kforge_shim.cpp", shim, strlen(shim)},
                 {request->name, request->source, request->size}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        kf_autofree char *path = kf_path_join(request->directory, files[i].name);
        if (!path) return kf_fail_memory(error, "a build");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        const struct timespec same[2] = {{0}}; /* for __TIMESTAMP__ */
        bool written =
            fd >= 0 && kf_write_all(fd, files[i].text, files[i].size) && futimens(fd, same) == 0;
        int cause = errno;
        if (fd >= 0) close(fd);
        if (!written)
            return kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", path, strerror(cause));
    }
    return true;
}

/* Hashes the compiler's result, which must be a regular file of at most KF_BINARY_BYTES, not a
 * link. */
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

kf_sandbox_limits kf_build_limits(double seconds, uint64_t memory_bytes)
{
    return (kf_sandbox_limits){.wall_seconds = KF_BUILD_TIMEOUT_FACTOR * seconds,
                               .cpu_seconds = seconds,
                               .memory_bytes = memory_bytes ? memory_bytes : 4ull << 30,
                               .file_bytes = KF_BINARY_BYTES,
                               .output_bytes = 2 * KF_BUILD_LOG_BYTES,
                               .processes = 256};
}

double kf_build_cpu_seconds(const kf_build_request *request)
{
    return request->seconds * (request->compilations > 1 ? request->compilations : 1);
}

bool kf_build_over_limit(const kf_sandbox_result *result, const char *what, kf_build *build)
{
    char words[256];
    bool starved = result->end == KF_END_WALL;
    int made;
    kf_sandbox_describe(result, words, sizeof words);
    build->killed = kf_sandbox_ended_outside(result);
    build->status = starved || build->killed ? KF_JUDGE_ERROR : KF_COMPILE_ERROR;
    if (starved)
        made = asprintf(&build->reason,
                        "%s got %.1f s of processor time in %.1f s: this machine is too busy, or "
                        "was stopped",
                        what, result->cpu_seconds, result->wall_seconds);
    else if (build->killed)
        made = asprintf(&build->reason,
                        "%s was ended from outside by %s. If the machine has too little memory, "
                        "free some",
                        what, words);
    else
        made = asprintf(&build->reason, "%s went over a limit: %s%s", what, words,
                        result->end == KF_END_CPU ? ". --build-seconds of kforge eval sets "
                                                    "the processor time of a compilation"
                                                  : "");
    if (made < 0) build->reason = NULL;
    return made >= 0;
}

/* Builds an entry that does nothing. *works: true if that succeeds. */
static bool build_empty(const void *device, kf_build_function once, const kf_build_request *request,
                        bool *works, kf_error *error)
{
    kf_autofree char *prototype = kf_task_prototype(request->task, request->oracle), *text = NULL,
                     *directory = NULL;
    if (!prototype || asprintf(&text, "%s\n{\n}\n", prototype) < 0) {
        text = NULL;
        return kf_fail_memory(error, "a build");
    }
    if (!(directory = kf_directory_temporary("kforge-empty", error))) return false;
    kf_build_request empty = *request;
    kf_build result;
    empty.source = text;
    empty.size = strlen(text);
    empty.directory = directory;
    bool built = once(device, &empty, &result, error);
    *works = built && result.ok;
    if (built) kf_build_free(&result);
    kf_directory_remove(directory, NULL);
    return built;
}

bool kf_build_repeat(const void *device, kf_build_function once, const kf_build_request *request,
                     kf_build *build, kf_error *error)
{
    int complaints = 0, spent = 0;
    double repeats = 0; /* processor time of all builds but the first */
    for (int made = 1;; made++) {
        kf_error why;
        bool built = once(device, request, build, &why);
        int most = KF_BUILDS_SHORT;
        if (built) {
            complaints += build->excusable;
            spent += build->spent;
            if (build->killed || (build->excusable && kf_words_of_a_kill(build->log)))
                most = spent >= KF_BUILDS_SHORT ? made : KF_BUILDS_KILLED;
            if (made > 1) repeats += build->cpu_seconds;
            if (made > 1 && repeats + build->cpu_seconds > kf_build_cpu_seconds(request)) break;
            if (made >= most || !(build->killed || build->excusable)) break;
        }
        kf_build_free(build);
        if (!built && (why.code != KF_ERROR_MACHINE || made >= most))
            return kf_fail_copy(error, &why);
    }
    if (spent >= KF_BUILDS_SHORT) {
        build->status = KF_COMPILE_ERROR;
        build->same_ends = spent;
    }
    if (build->status != KF_JUDGE_ERROR || !build->excusable) return true;
    bool works = false;
    if (!build_empty(device, once, request, &works, error)) {
        kf_build_free(build);
        return false;
    }
    if (!works) return true;
    build->status = KF_COMPILE_ERROR;
    build->same_ends = complaints;
    return true;
}

/* True if a failed compiler that complains about memory had used up what it may use. */
static bool had_its_memory(const kf_build_request *request, const kf_sandbox_result *result)
{
    kf_sandbox_limits limits = kf_build_limits(request->seconds, request->memory_bytes);
    return result->peak_memory_bytes > limits.memory_bytes / 10 * 9;
}

bool kf_build_await(const kf_build_request *request, kf_sandbox *jail, kf_error *error)
{
    while (!kf_sandbox_pump(jail, request->stop ? LOOK_SECONDS : -1)) {
        if (!request->stop) break;
        if (!__atomic_load_n(request->stop, __ATOMIC_RELAXED)) continue;
        kf_sandbox_kill(jail);
        return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    }
    return true;
}

static bool over_limit(const kf_build_request *request, const kf_sandbox_result *result,
                       kf_build *build)
{
    char what[64] = "the build";
    if (request->compilations > 1)
        snprintf(what, sizeof what, "the build of up to %d compilations", request->compilations);
    return kf_build_over_limit(result, what, build);
}

/* Describes the end of the compiler. */
bool kf_build_conclude(const kf_build_request *request, kf_sandbox *jail,
                       kf_status (*status_of)(int, const char *), kf_build *build)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    const kf_buffer *output = kf_sandbox_output(jail);
    size_t kept = output->size < KF_BUILD_LOG_BYTES ? output->size : KF_BUILD_LOG_BYTES;
    build->log = kf_text_clean(kept ? output->data : "", kept, false);
    if (!build->log) return false;
    build->seconds = result->wall_seconds;
    build->cpu_seconds = result->cpu_seconds;
    if (result->end == KF_END_EXITED && result->status == 0) {
        build->ok = take_binary(request, build);
        build->status = build->ok ? KF_CORRECT : KF_COMPILE_ERROR;
        if (!build->ok) build->reason = strdup("the compiler left no usable binary");
        return build->ok || build->reason;
    }
    if (result->end != KF_END_EXITED) return over_limit(request, result, build) && build->reason;
    build->status = status_of(result->status, build->log);
    build->killed = build->status == KF_STATUS_COUNT;
    bool complains = kf_words_of_a_kill(build->log) || kf_words_of_a_shortage(build->log);
    /* The kernel kills a program that is over its own processor time. It counts whole ticks, which
     * on a busy virtual machine is up to twice the time used. */
    build->spent = build->killed && result->cpu_seconds >= 0.5 * kf_build_cpu_seconds(request);
    if (build->killed) {
        build->status = KF_JUDGE_ERROR;
    } else if (complains && build->status == KF_COMPILE_ERROR) {
        if (had_its_memory(request, result))
            build->same_ends = 1;
        else
            build->status = KF_JUDGE_ERROR;
    }
    build->excusable = !build->killed && build->status == KF_JUDGE_ERROR;
    build->reason = first_complaint(request, build->log);
    return build->reason != NULL;
}
