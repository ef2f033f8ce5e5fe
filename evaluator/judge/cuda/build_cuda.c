/* Builds for a GPU: nvcc in the build jail (include/kforge/build.h).
 *
 * The shim is the same for all candidates of a task. It is compiled once, in a jail without the
 * candidate, and kept in the cache. So a build compiles only the candidate. nvcc starts five
 * programs and takes about a second. Its figures of registers and memory (-Xptxas -v) become the
 * build's report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_common.h"
#include "device_cuda.h"
#include "jail.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/occupancy.h"
#include "ptxas.h"
#include "paths.h"

#define MAX_ARGV 96
/* The jail's PATH after the toolkit's bin/. */
#define SYSTEM_PATH ":/usr/local/bin:/usr/bin:/bin"
/* Processor time. */
#define SHIM_SECONDS 60

/* ---- libraries that a task allows ------------------------------------------------------------ */

static const struct {
    const char *name, *flag;
} libraries[] = {
    {"cublas", "-lcublas"},     {"cublaslt", "-lcublasLt"}, {"cudnn", "-lcudnn"},
    {"cufft", "-lcufft"},       {"curand", "-lcurand"},     {"cusolver", "-lcusolver"},
    {"cusparse", "-lcusparse"}, {"nvrtc", "-lnvrtc"},
};

static const char *library_flag(const char *name)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i].name, name) == 0) return libraries[i].flag;
    /* cutlass has only headers. The linker reports an unknown library. */
    return NULL;
}

/* The libraries that this source may use. */
static const char *const *allowed(const kf_build_request *request)
{
    return request->libraries ? request->libraries : kf_task_libraries(request->task);
}

/* True if a line includes a header of CUTLASS or CuTe. */
static bool includes_cutlass(const char *source)
{
    for (const char *line = source; *line;) {
        const char *at = line + strspn(line, " \t");
        line = strchrnul(line, '\n');
        line += *line == '\n';
        if (*at != '#') continue;
        at += 1 + strspn(at + 1, " \t");
        if (strncmp(at, "include", 7) != 0) continue;
        at += 7 + strspn(at + 7, " \t");
        if (*at != '<' && *at != '"') continue;
        if (strncmp(at + 1, "cutlass/", 8) == 0 || strncmp(at + 1, "cute/", 5) == 0) return true;
    }
    return false;
}

/* True if the source may use CUTLASS or CuTe, and includes a header of theirs. */
static bool uses_cutlass(const kf_build_request *request)
{
    for (const char *const *name = allowed(request); name && *name; name++)
        if (strcmp(*name, "cutlass") == 0) return includes_cutlass(request->source);
    return false;
}

/* ---- the jail -------------------------------------------------------------------------------- */

static kf_sandbox *start(const kf_build_request *request, const char *toolkit, const char *headers,
                         const char *const *argv, double seconds, kf_error *error)
{
    char home[4200], temporary[4200], path[4400];
    snprintf(home, sizeof home, "HOME=%s", request->directory);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", request->directory);
    snprintf(path, sizeof path, "PATH=%s/bin" SYSTEM_PATH, toolkit);
    const char *const environment[] = {path, "LANG=C.UTF-8", KF_BUILD_EPOCH, home, temporary, NULL};
    kf_jail paths;
    kf_jail_init(&paths, request->directory, KF_PATH_READ | KF_PATH_WRITE);
    paths.paths[paths.count++] = (kf_sandbox_path){toolkit, KF_PATH_READ | KF_PATH_EXEC, false};
    if (paths.count < KF_JAIL_PATHS)
        paths.paths[paths.count++] = (kf_sandbox_path){"/opt", KF_PATH_READ | KF_PATH_EXEC, true};
    if (headers && paths.count < KF_JAIL_PATHS)
        paths.paths[paths.count++] = (kf_sandbox_path){headers, KF_PATH_READ, false};
    kf_sandbox_spec spec = {
        .argv = argv,
        .environment = environment,
        .directory = request->directory,
        .paths = paths.paths,
        .path_count = paths.count,
        .limits = kf_build_limits(seconds, request->memory_bytes),
        .seccomp = KF_SECCOMP_BUILD,
        .no_proc_files = true,
        .strict = request->strict_sandbox,
    };
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) {
        kf_fail_prefix(error, "build jail");
        return NULL;
    }
    return kf_build_await(request, jail, error) ? kf_steal(&jail) : NULL;
}

static bool copy_file(const char *from, const char *to)
{
    size_t size;
    kf_autofree char *data = kf_file_read(from, 16u << 20, &size, NULL);
    return data && kf_file_write(to, data, size, NULL);
}

/* ---- the shim -------------------------------------------------------------------------------- */

/* Returns CACHE/shims/HASH.o. The caller frees it. */
static char *shim_path(const kf_cuda_device *gpu, const kf_build_request *request)
{
    kf_autofree char *prototype = kf_build_prototype_header(request->task, request->oracle);
    kf_autofree char *shim = kf_build_shim(request->task, request->oracle);
    kf_autofree char *toolchain = kf_cuda_toolchain(gpu);
    char hex[KF_HASH_HEX], *path = NULL;
    if (!gpu->cache || !prototype || !shim || !toolchain) return NULL;
    const char *parts[] = {KFORGE_VERSION, toolchain, prototype, shim};
    const size_t sizes[] = {strlen(parts[0]), strlen(toolchain), strlen(prototype), strlen(shim)};
    kf_hash_parts_hex(hex, parts, sizes, 4);
    return asprintf(&path, "%s/shims/%s.o", gpu->cache, hex) < 0 ? NULL : path;
}

static bool make_shim(const kf_cuda_device *gpu, const kf_build_request *request,
                      const char *toolkit, const char *nvcc, kf_error *error)
{
    kf_autofree char *object = kf_path_join(request->directory, "kforge_shim.o"),
                     *cached = shim_path(gpu, request);
    if (!object) return kf_fail_memory(error, "a build");
    if (cached && access(cached, R_OK) == 0 && copy_file(cached, object)) return true;
    const char *const argv[] = {nvcc,
                                "-c",
                                "-O2",
                                "-std=c++17",
                                "-Xcompiler",
                                "-fPIC",
                                "kforge_shim.cpp",
                                "-o",
                                "kforge_shim.o",
                                NULL};
    kf_auto(kf_sandbox) jail = start(request, toolkit, NULL, argv, SHIM_SECONDS, error);
    if (!jail) return false;
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    if (result->end != KF_END_EXITED || result->status != 0) {
        const kf_buffer *output = kf_sandbox_output(jail);
        kf_autofree char *log = kf_text_clean(output->size ? output->data : "",
                                              output->size < 400 ? output->size : 400, true);
        return kf_fail(error, KF_ERROR_MACHINE, "nvcc does not compile kforge's own shim: %s",
                       log && *log ? log : "no message");
    }
    kf_autofree char *folder = gpu->cache ? kf_path_join(gpu->cache, "shims") : NULL;
    if (cached && folder && kf_directory_make_private(folder, NULL)) copy_file(object, cached);
    return true;
}

/* ---- the candidate --------------------------------------------------------------------------- */

/* Returns the status of a failed build. nvcc exits with 1, 2 or 255 for errors in the source,
 * depending on its program that found them. So the messages decide. */
static kf_status status_of(int exit_status, const char *log)
{
    (void)exit_status;
    static const char *const machine[] = {
        "host compiler",  "No space left", "Could not open output file",
        "cannot find -l", "not found",     "Unsupported gpu architecture"};
    if (strstr(log, "nvcc fatal") || strstr(log, "cannot find -l"))
        for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
            if (strstr(log, machine[i])) return KF_JUDGE_ERROR;
    return KF_COMPILE_ERROR;
}

char *kf_cuda_toolchain(const kf_cuda_device *gpu)
{
    char toolkit[4096], path[4200], *text = NULL;
    struct stat status = {0};
    if (!kf_cuda_toolkit(toolkit, NULL)) return strdup("cuda, no nvcc");
    snprintf(path, sizeof path, "%s/bin/nvcc", toolkit);
    stat(path, &status);
    return asprintf(&text, "cuda sm_%s %s %lld %lld, %s", gpu->properties.architecture, path,
                    (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                    gpu->head.compiler) < 0
               ? NULL
               : text;
}

/* Finds nvcc's default host compiler: gcc in the jail's PATH. */
static void find_host_compiler(const char *toolkit, char words[KF_COMPILER_WORDS])
{
    kf_autofree char *path = NULL, *folders = NULL;
    if (asprintf(&folders, "%s/bin" SYSTEM_PATH, toolkit) < 0) folders = NULL;
    for (char *rest = folders, *folder; rest && !path && (folder = strsep(&rest, ":"));) {
        path = kf_path_join(folder, "gcc");
        if (path && access(path, X_OK) != 0) free(path), path = NULL;
    }
    kf_compiler_find(path, "gcc", words);
}

void kf_cuda_compiler(char words[KF_COMPILER_WORDS])
{
    char toolkit[4096], path[4200], host[KF_COMPILER_WORDS];
    if (!kf_cuda_toolkit(toolkit, NULL)) {
        kf_compiler_find(NULL, "nvcc", words);
        return;
    }
    snprintf(path, sizeof path, "%s/bin/nvcc", toolkit);
    kf_compiler_find(path, "nvcc", words);
    find_host_compiler(toolkit, host);
    size_t length = strlen(words);
    snprintf(words + length, KF_COMPILER_WORDS - length, ", %s", host);
}

static bool build_once(const void *device, const kf_build_request *request, kf_build *build,
                       kf_error *error)
{
    const kf_cuda_device *gpu = device;
    char toolkit[4096], nvcc[4200], generation[96], run_path[4300], headers[4096];
    *build = (kf_build){.status = KF_JUDGE_ERROR};
    if (request->asan)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "AddressSanitizer is for device cpu; on a GPU compute-sanitizer does its work");
    if (!kf_cuda_toolkit(toolkit, error) || !kf_build_write_sources(request, NULL, error))
        return false;
    snprintf(nvcc, sizeof nvcc, "%s/bin/nvcc", toolkit);
    bool cutlass = uses_cutlass(request);
    if (cutlass && !kf_cutlass_headers(headers, error)) return false;
    if (!make_shim(gpu, request, toolkit, nvcc, error)) return false;

    const char *argv[MAX_ARGV] = {nvcc,
                                  "-shared",
                                  "-O3",
                                  "-std=c++17",
                                  "-Xcompiler",
                                  "-fPIC,-fno-lto", /* as in cpucc.c */
                                  "-Xptxas",
                                  "-v",
                                  "-cudart",
                                  "static",
                                  "-Xlinker",
                                  "--no-undefined,-s,--build-id=none",
                                  "--no-compress",
                                  "-include",
                                  "kforge_prototype.h",
                                  "-o",
                                  "candidate.so",
                                  "-gencode"};
    int argc = 0;
    while (argv[argc]) argc++;
    snprintf(generation, sizeof generation, "arch=compute_%s,code=sm_%s",
             gpu->properties.architecture, gpu->properties.architecture);
    argv[argc++] = generation;
    if (request->line_info) argv[argc++] = "-lineinfo";
    if (cutlass) {
        if (!kf_compiler_includes(headers)) {
            argv[argc++] = "-isystem";
            argv[argc++] = headers;
        }
        argv[argc++] = "--expt-relaxed-constexpr";
    }
    for (const char *const *flag = request->flags; flag && *flag; flag++) {
        if (argc >= MAX_ARGV - 20)
            return kf_fail(error, KF_ERROR_LIMIT, "more than %d compiler flags", MAX_ARGV - 40);
        argv[argc++] = *flag;
    }
    argv[argc++] = request->name;
    argv[argc++] = "kforge_shim.o";
    bool linked = false;
    for (const char *const *name = allowed(request); name && *name && argc < MAX_ARGV - 4; name++) {
        const char *flag = library_flag(*name);
        if (!flag) continue;
        argv[argc++] = flag;
        linked = true;
    }
    if (linked) {
        snprintf(run_path, sizeof run_path, "-rpath=%s/lib64", toolkit);
        argv[argc++] = "-Xlinker";
        argv[argc++] = run_path;
    }
    argv[argc] = NULL;
    kf_auto(kf_sandbox) jail =
        start(request, toolkit, cutlass ? headers : NULL, argv, request->seconds, error);
    if (!jail) return false;
    build->layers = kf_sandbox_layers(jail);
    if (kf_build_conclude(request, jail, status_of, build)) {
        build->report = kf_ptxas_report(build->log);
        if (build->report && kf_occupancy_report(build->report, gpu->head.major, gpu->head.minor))
            return true;
    }
    kf_build_free(build);
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory while building %s", request->name);
}

bool kf_build_cuda(const kf_cuda_device *gpu, const kf_build_request *request, kf_build *build,
                   kf_error *error)
{
    return kf_build_repeat(gpu, build_once, request, build, error);
}
