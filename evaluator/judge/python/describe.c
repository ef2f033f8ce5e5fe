/* Runs describe.py on one file in the sandbox. The answer comes through a descriptor of its own (a
 * memfd), apart from the output of the problem file. Without an answer, the error quotes the
 * output. */
#include "describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/sandbox.h"
#include "paths.h"
#include "python.h"

#define ANSWER_FD 3
#define MAX_PATCHES 64
#define MAX_ARGUMENTS (24 + 2 * MAX_PATCHES)

/* ---- the sandbox ----------------------------------------------------------------------------- */

static kf_sandbox *start(const kf_describe_request *request, const char *folder, const char *file,
                         int answer, kf_error *error)
{
    const kf_python *python = kf_python_find(error);
    kf_autofree char *script =
        python ? kf_root_file("lib/kforge/torch/kforge_torch.py", error) : NULL;
    if (!script) return NULL;
    char descriptor[16], threads[16], elements[32], seconds[32], omp[40];
    snprintf(descriptor, sizeof descriptor, "%d", ANSWER_FD);
    snprintf(threads, sizeof threads, "%d", request->threads > 0 ? request->threads : 1);
    snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%s", threads);
    snprintf(elements, sizeof elements, "%lld", (long long)request->max_elements);
    snprintf(seconds, sizeof seconds, "%g", request->seconds);
    const char *argv[MAX_ARGUMENTS] = {python->program,
                                       "-I",
                                       script,
                                       "describe",
                                       file,
                                       "--descriptor",
                                       descriptor,
                                       "--threads",
                                       threads,
                                       "--mode",
                                       request->mode ? request->mode : "train",
                                       "--class",
                                       request->class_name ? request->class_name : "Model",
                                       "--max-elements",
                                       elements,
                                       "--seconds",
                                       seconds};
    int argc = 0;
    while (argv[argc]) argc++;
    for (const char *const *patch = request->patches; patch && *patch; patch++) {
        if (argc + 3 > MAX_ARGUMENTS) {
            kf_fail(error, KF_ERROR_LIMIT, "more than %d patches", MAX_PATCHES);
            return NULL;
        }
        argv[argc++] = "--patch";
        argv[argc++] = *patch;
    }
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                       "LANG=C.UTF-8",
                                       "HOME=/tmp",
                                       "TMPDIR=/tmp",
                                       "PYTHONHASHSEED=0",
                                       KF_PYTHON_VARIABLES,
                                       omp,
                                       NULL};
    kf_jail jail;
    kf_jail_init(&jail, folder, KF_PATH_READ);
    for (size_t i = 0; i < python->path_count && jail.count < KF_JAIL_PATHS; i++)
        jail.paths[jail.count++] =
            (kf_sandbox_path){python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    const kf_sandbox_fd fds[] = {{answer, ANSWER_FD}};
    const kf_sandbox_spec spec = {.argv = argv,
                                  .environment = environment,
                                  .directory = folder,
                                  .paths = jail.paths,
                                  .path_count = jail.count,
                                  .fds = fds,
                                  .fd_count = 1,
                                  .limits = {.wall_seconds = request->seconds,
                                             .memory_bytes = request->memory_bytes,
                                             .file_bytes = KF_DESCRIBE_BYTES,
                                             .output_bytes = 64 << 10},
                                  .seccomp = KF_SECCOMP_BUILD,
                                  .strict = request->strict};
    return kf_sandbox_spawn(&spec, error);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(value) ? value->valuestring : "";
}

/* {"error": {"what", "where", "todo", "machine"}}; `where` names our copy of the file, so that its
 * folder is left out. */
static bool fail_as_described(const cJSON *described, const char *folder, kf_error *error)
{
    bool machine = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(described, "machine"));
    const char *where = text_of(described, "where"), *todo = text_of(described, "todo");
    size_t length = strlen(folder);
    if (strncmp(where, folder, length) == 0 && where[length] == '/') where += length + 1;
    return kf_fail(error, machine ? KF_ERROR_MACHINE : KF_ERROR_INPUT, "%s%s%s%s%s", where,
                   *where ? ": " : "", text_of(described, "what"), *todo ? "; " : "", todo);
}

/* Returns the last line of the output. */
static void last_line(const kf_buffer *output, char *line, size_t size)
{
    const char *data = output && output->data ? output->data : "";
    size_t end = strlen(data);
    while (end && (data[end - 1] == '\n' || data[end - 1] == ' ')) end--;
    size_t begin = end;
    while (begin && data[begin - 1] != '\n') begin--;
    snprintf(line, size, "%.*s", (int)(end - begin < size ? end - begin : size - 1), data + begin);
}

static bool fail_without_answer(const kf_describe_request *request, kf_sandbox *jail,
                                kf_error *error)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    char how[256], line[400];
    kf_sandbox_describe(result, how, sizeof how);
    last_line(kf_sandbox_output(jail), line, sizeof line);
    if (result->end == KF_END_WALL)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "%s: takes longer than %.0f s to import and try; --timeout gives it more",
                       request->name, request->seconds);
    if (result->end == KF_END_MEMORY || strstr(line, "MemoryError") || strstr(line, "bad_alloc"))
        return kf_fail(error, KF_ERROR_LIMIT,
                       "%s: needs more than %.1f GiB of memory; --memory gives it more",
                       request->name, (double)request->memory_bytes / (1u << 30));
    return kf_fail(error, KF_ERROR_INPUT, "%s: ends Python without an answer (%s)%s%s",
                   request->name, how, *line ? ": " : "", line);
}

static cJSON *read_answer(int answer, const char *name, kf_error *error)
{
    off_t size = lseek(answer, 0, SEEK_END);
    if (size <= 0 || size > (off_t)KF_DESCRIBE_BYTES) return NULL;
    kf_autofree char *text = malloc((size_t)size + 1);
    if (!text || lseek(answer, 0, SEEK_SET) != 0 || !kf_read_all(answer, text, (size_t)size))
        return NULL;
    text[size] = '\0';
    return kf_json_parse(text, (size_t)size, KF_DESCRIBE_BYTES, name, error);
}

static cJSON *ask(const kf_describe_request *request, const char *folder, const volatile int *stop,
                  kf_error *error)
{
    kf_autofree char *file = kf_path_join(folder, request->name);
    kf_autoclose int answer = memfd_create("kforge-describe", MFD_CLOEXEC);
    if (!file) return kf_fail_memory(error, "the description of a problem file"), NULL;
    if (answer < 0) return kf_fail(error, KF_ERROR_MACHINE, "no memfd for an answer"), NULL;
    if (!kf_file_write(file, request->text, request->size, error)) return NULL;
    kf_auto(kf_sandbox) jail = start(request, folder, file, answer, error);
    if (!jail) return NULL;
    while (!kf_sandbox_pump(jail, 0.1)) {
        if (!stop || !*stop) continue;
        kf_sandbox_kill(jail);
        kf_fail(error, KF_ERROR_BUSY, "interrupted");
        return NULL;
    }
    kf_auto(cJSON) described = read_answer(answer, request->name, NULL);
    if (!described || !cJSON_IsObject(described))
        return fail_without_answer(request, jail, error), NULL;
    const cJSON *fault = cJSON_GetObjectItemCaseSensitive(described, "error");
    if (fault) return fail_as_described(fault, folder, error), NULL;
    return kf_steal(&described);
}

cJSON *kf_describe(const kf_describe_request *request, const volatile int *stop, kf_error *error)
{
    if (strchr(request->name, '/'))
        return kf_fail(error, KF_ERROR_INTERNAL, "%s: a name has no folders", request->name), NULL;
    kf_autofree char *folder = kf_directory_temporary("kforge-describe", error);
    cJSON *described = folder ? ask(request, folder, stop, error) : NULL;
    if (folder) kf_directory_remove(folder, NULL);
    return described;
}
