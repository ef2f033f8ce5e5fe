/* Builds a solution in Python (build_common.h): runs `kforge_torch.py check` in the build jail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_common.h"
#include "machine_failures.h"
#include "extensions.h"
#include "jail.h"
#include "kforge/file.h"
#include "kforge/job.h"
#include "paths.h"
#include "python_installation.h"

#define SECONDS 20 /* of processor time */

static bool take_source(const kf_build_request *request, kf_build *build)
{
    kf_hash hash = kf_hash_bytes(request->source, request->size);
    kf_hash_hex(&hash, build->binary_hash);
    kf_hash_hex(&hash, build->code_hash);
    build->binary = kf_path_join(request->directory, request->name);
    build->ok = build->binary != NULL;
    build->status = KF_CORRECT;
    return build->ok;
}

/* Returns the first line with an error. */
static char *complaint(const kf_sandbox_result *result, const char *log)
{
    char words[256], *text = NULL;
    const char *line = strstr(log, "error: ");
    while (line && line > log && line[-1] != '\n') line--;
    if (line) return strndup(line, strcspn(line, "\n"));
    kf_sandbox_describe(result, words, sizeof words);
    return asprintf(&text, "reading it as Python failed: %s", words) < 0 ? NULL : text;
}

static bool check(const kf_build_request *request, kf_build *build, kf_error *error)
{
    *build = (kf_build){.status = KF_JUDGE_ERROR};
    const kf_python *python = kf_python_find(error);
    kf_autofree char *script =
        python ? kf_root_file("lib/kforge/torch/kforge_torch.py", error) : NULL;
    kf_autofree char *path = script ? kf_path_join(request->directory, request->name) : NULL;
    if (!path) return script ? kf_fail_memory(error, "a build") : false;
    if (!kf_file_write(path, request->source, request->size, error)) return false;
    const char *const argv[] = {python->program,
                                "-I",
                                script,
                                "check",
                                request->name,
                                kf_task_solution_name(request->task),
                                NULL};
    const char *const environment[] = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/tmp",
                                       "TMPDIR=/tmp", NULL};
    kf_jail paths;
    kf_jail_init(&paths, request->directory, KF_PATH_READ);
    for (size_t i = 0; i < python->path_count && paths.count < KF_JAIL_PATHS; i++)
        paths.paths[paths.count++] =
            (kf_sandbox_path){python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = request->directory,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = {.wall_seconds = KF_BUILD_TIMEOUT_FACTOR * SECONDS,
                   .cpu_seconds = SECONDS,
                   .memory_bytes = 2ull << 30,
                   .file_bytes = 1u << 20,
                   .output_bytes = KF_BUILD_LOG_BYTES,
                   .processes = 64},
        .seccomp = KF_SECCOMP_BUILD,
        .strict = request->strict_sandbox,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return kf_fail_prefix(error, "build jail");
    build->layers = kf_sandbox_layers(jail);
    if (!kf_build_await(request, jail, error)) return false;
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    const kf_buffer *output = kf_sandbox_output(jail);
    build->log = kf_text_clean(output->size ? output->data : "", output->size, false);
    build->seconds = result->wall_seconds;
    bool good = result->end == KF_END_EXITED && result->status == 0;
    if (build->log && good && take_source(request, build)) return true;
    if (build->log && (result->end == KF_END_WALL || kf_sandbox_ended_outside(result)) &&
        kf_build_over_limit(result, "reading it as Python", build))
        return true;
    build->status = KF_COMPILE_ERROR;
    if (build->log && !good && (build->reason = complaint(result, build->log))) return true;
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while reading %s", request->name);
}

/* True if a build failed as it does if the machine ends a compiler or has too little memory. */
static bool is_doubtful(const kf_build *build)
{
    return !build->ok &&
           (build->killed || kf_words_of_a_kill(build->log) || kf_words_of_a_shortage(build->log));
}

/* Compiles an extension that does nothing. *fails: true if the machine ends that, too. */
static bool compile_empty(struct kf_device *device, const kf_build_request *request, bool *fails,
                          kf_error *error)
{
    static const char source[] =
        "import torch\n"
        "from torch.utils.cpp_extension import load_inline\n"
        "load_inline(name='kforge_empty', cpp_sources='int nothing() { return 0; }', "
        "functions=['nothing'])\n"
        "class ModelNew(torch.nn.Module):\n"
        "    pass\n";
    kf_autofree char *directory = kf_directory_temporary("kforge-empty", error),
                     *path = directory ? kf_path_join(directory, request->name) : NULL;
    if (!directory) return false;
    if (!path) return kf_fail_memory(error, "a build");
    kf_build_request empty = *request;
    empty.source = source;
    empty.size = sizeof source - 1;
    empty.directory = directory;
    kf_build result = {.status = KF_JUDGE_ERROR};
    bool built = kf_file_write(path, source, sizeof source - 1, error) &&
                 (take_source(&empty, &result) || kf_fail_memory(error, "a build")) &&
                 kf_extensions_build(device, NULL, &empty, &result, error);
    *fails = built && is_doubtful(&result);
    kf_build_free(&result);
    kf_directory_remove(directory, NULL);
    return built;
}

/* Decides about a build that the machine seems to have ended each time. The solution's own code
 * runs where extensions are compiled, and can write every word and send every signal. So it is the
 * solution's fault if an extension that does nothing compiles. */
static bool find_fault(struct kf_device *device, const kf_build_request *request, kf_build *build,
                       kf_error *error)
{
    bool fails;
    if (!compile_empty(device, request, &fails, error)) return false;
    build->status = fails ? KF_JUDGE_ERROR : KF_COMPILE_ERROR;
    return true;
}

bool kf_build_torch(struct kf_device *device, const char *cache, const kf_build_request *request,
                    kf_build *build, kf_error *error)
{
    double limit = KF_EXTENSION_BUILDS * request->seconds, repeats = 0;
    bool own_words = kf_has_extensions(request->source);
    for (int made = 1;; made++) {
        if (!check(request, build, error) ||
            (build->ok && own_words &&
             !kf_extensions_build(device, cache, request, build, error))) {
            kf_build_free(build);
            return false;
        }
        if (!is_doubtful(build)) return true;
        bool kill = build->killed || kf_words_of_a_kill(build->log);
        if (made > 1) repeats += build->seconds;
        if (made >= (kill ? KF_BUILDS_KILLED : KF_BUILDS_SHORT) ||
            (made > 1 && repeats + build->seconds > limit)) {
            build->same_ends = made;
            if (!own_words || find_fault(device, request, build, error)) return true;
            kf_build_free(build);
            return false;
        }
        kf_build_free(build);
    }
}
