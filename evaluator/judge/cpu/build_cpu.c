/* Builds for the CPU device: kforge-cpucc in the build jail (include/kforge/build.h). */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_common.h"
#include "jail.h"
#include "kforge/file.h"
#include "paths.h"
#include "precompiled_header.h"

#define MAX_ARGV 96
/* kforge-cpucc tries with and without __CUDA_ARCH__, and may repeat the first to show its messages.
 */
#define COMPILATIONS 3
/* Exit status of kforge-cpucc. */
#define KFORGE_CPUCC_UNSUPPORTED 3
#define KFORGE_CPUCC_KILLED 4

static kf_status status_of(int exit_status, const char *log)
{
    (void)log;
    return exit_status == KFORGE_CPUCC_UNSUPPORTED ? KF_UNSUPPORTED_DEVICE
           : exit_status == KFORGE_CPUCC_KILLED    ? KF_STATUS_COUNT
           : exit_status == 1                      ? KF_COMPILE_ERROR
                                                   : KF_JUDGE_ERROR;
}

/* True if `name` is one of the headers that are whole without the C++ library. */
static bool is_light_header(const char *name, size_t size)
{
    static const char *const names[] = {"assert.h",
                                        "cassert",
                                        "cfloat",
                                        "climits",
                                        "cmath",
                                        "cooperative_groups.h",
                                        "cstdint",
                                        "cstdio",
                                        "cstdlib",
                                        "cstring",
                                        "cuda.h",
                                        "cuda_bf16.h",
                                        "cuda_fp16.h",
                                        "cuda_runtime.h",
                                        "cuda_runtime_api.h",
                                        "device_launch_parameters.h",
                                        "float.h",
                                        "limits.h",
                                        "math.h",
                                        "math_constants.h",
                                        "stddef.h",
                                        "stdint.h",
                                        "stdio.h",
                                        "stdlib.h",
                                        "string.h",
                                        "vector_types.h"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0) return true;
    return false;
}

/* True if the line is no #include, or one of a header that is_light_header knows. */
static bool includes_light(const char *line)
{
    const char *at = line + strspn(line, " \t");
    if (*at != '#') return true;
    at += 1 + strspn(at + 1, " \t");
    if (strncmp(at, "include", 7) != 0) return true;
    at += 7 + strspn(at + 7, " \t");
    return (*at == '<' || *at == '"') && is_light_header(at + 1, strcspn(at + 1, ">\"\n"));
}

/* True if the source cannot need the C++ library: it includes none of its headers, and the word
 * "std" does not occur. */
static bool uses_cuda_alone(const char *source)
{
    for (const char *line = source; *line;) {
        if (!includes_light(line)) return false;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    for (const char *at = source; (at = strstr(at, "std")); at += 3) {
        bool begins = at == source || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[3]) && at[3] != '_') return false;
    }
    return true;
}

/* Returns the set of flags that kforge-cpucc takes this build's header for. */
static kf_header_variant header_variant(const kf_build_request *request)
{
    if (request->asan) return KF_HEADER_ASAN;
    for (const char *const *flag = request->flags; flag && *flag; flag++)
        if (strcmp(*flag, "--use_fast_math") == 0 || strcmp(*flag, "-use_fast_math") == 0)
            return KF_HEADER_FAST;
    return uses_cuda_alone(request->source) ? KF_HEADER_LIGHT : KF_HEADER_PLAIN;
}

/* True if the last flag about the language asks for C++20. */
static bool is_cxx20(const kf_build_request *request)
{
    bool found = false;
    for (const char *const *flag = request->flags; flag && *flag; flag++) {
        const char *value = strstr(*flag, "-std=");
        if (value && value - *flag <= 1)
            found = strcmp(value, "-std=c++20") == 0 || strcmp(value, "-std=gnu++20") == 0;
    }
    return found;
}

/* Puts the compiled shim into the build's folder. False: it has to be compiled. */
static bool place_shim(const kf_build_request *request, const char *shim)
{
    size_t size;
    kf_autofree char *object =
        shim && !request->asan ? kf_compiled_shim(request->cache, shim, &size) : NULL;
    kf_autofree char *path = object ? kf_path_join(request->directory, "kforge_shim.o") : NULL;
    /* Left by a build that was repeated. */
    if (path) unlink(path);
    kf_autoclose int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
    return fd >= 0 && kf_write_all(fd, object, size);
}

static bool build_once(const void *device, const kf_build_request *request, kf_build *build,
                       kf_error *error)
{
    (void)device;
    *build = (kf_build){.status = KF_JUDGE_ERROR};
    kf_autofree char *compiler = kf_root_file("bin/kforge-cpucc", error);
    kf_autofree char *shim = kf_build_plain_shim(request->task, request->oracle);
    if (!compiler || !kf_build_write_sources(request, shim, error)) return false;

    const char *argv[MAX_ARGV];
    int argc = 0;
    argv[argc++] = compiler;
    argv[argc++] = "-o";
    argv[argc++] = "candidate.so";
    argv[argc++] = "-include";
    argv[argc++] = "kforge_prototype.h";
    if (request->asan) argv[argc++] = "--asan";
    /* Before the candidate's own flags, which may ask for another level. The header fits both. */
    if (request->untimed) argv[argc++] = "-O1";
    kf_header_variant variant = header_variant(request);
    kf_autofree char *headers = kf_precompiled_header(request->cache, variant, is_cxx20(request));
    if (variant == KF_HEADER_LIGHT) argv[argc++] = "--light";
    if (headers) {
        argv[argc++] = "--precompiled";
        argv[argc++] = headers;
    }
    for (const char *const *flag = request->flags; flag && *flag; flag++) {
        if (argc >= MAX_ARGV - 4)
            return kf_fail(error, KF_ERROR_LIMIT, "more than %d compiler flags", MAX_ARGV - 10);
        argv[argc++] = *flag;
    }
    argv[argc++] = request->name;
    if (place_shim(request, shim)) {
        argv[argc++] = "kforge_shim.o";
    } else {
        if (shim) argv[argc++] = "--plain";
        argv[argc++] = "kforge_shim.cpp";
    }
    argv[argc] = NULL;

    char home[4200], temporary[4200];
    snprintf(home, sizeof home, "HOME=%s", request->directory);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", request->directory);
    const char *const environment[] = {
        "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", KF_BUILD_EPOCH, home, temporary, NULL};
    kf_jail paths;
    kf_jail_init(&paths, request->directory, KF_PATH_READ | KF_PATH_WRITE);
    if (headers) paths.paths[paths.count++] = (kf_sandbox_path){headers, KF_PATH_READ, false};
    kf_sandbox_limits limits = kf_build_limits(request->seconds, request->memory_bytes);
    limits.cpu_seconds = kf_build_cpu_seconds(request);
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = request->directory,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = limits,
        .seccomp = KF_SECCOMP_BUILD,
        .no_proc_files = true,
        .strict = request->strict_sandbox,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return kf_fail_prefix(error, "build jail");
    build->layers = kf_sandbox_layers(jail);
    if (!kf_build_await(request, jail, error)) return false;
    if (kf_build_conclude(request, jail, status_of, build)) return true;
    kf_build_free(build);
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while building %s", request->name);
}

bool kf_build_cpu(const kf_build_request *request, kf_build *build, kf_error *error)
{
    kf_build_request whole = *request;
    whole.compilations = strstr(request->source, "__CUDA_ARCH__") ? COMPILATIONS : 1;
    return kf_build_repeat(NULL, build_once, &whole, build, error);
}
