/* Starts a mode of kforge_torch.py in the sandbox. The answer comes through a descriptor of its own
 * (a memfd), apart from the output of the code that runs there. Without an answer, the error quotes
 * the output.
 *
 * That code could write to the descriptor, too. So a secret lies in the memfd at the start, which
 * the tool takes out. Its answer begins with a hash of secret and answer. This does not stop code
 * that changes the tool's own functions in its interpreter. */
#include "torch_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "kforge/sandbox.h"
#include "paths.h"
#include "python_installation.h"

#define ANSWER_FD 3
/* of the secret, and of the hash in front of the answer */
#define SECRET_BYTES (KF_HASH_HEX - 1)
#define MAX_ARGUMENTS (KF_TORCH_TOOL_ARGUMENTS + 8)

/* ---- the sandbox ----------------------------------------------------------------------------- */

static kf_sandbox *start(const kf_torch_tool *tool, int answer, kf_error *error)
{
    const kf_python *python = kf_python_find(error);
    kf_autofree char *script =
        python ? kf_root_file("lib/kforge/torch/kforge_torch.py", error) : NULL;
    if (!script) return NULL;
    char descriptor[16], omp[40];
    snprintf(descriptor, sizeof descriptor, "%d", ANSWER_FD);
    snprintf(omp, sizeof omp, "OMP_NUM_THREADS=%d", tool->threads > 0 ? tool->threads : 1);
    const char *argv[MAX_ARGUMENTS] = {python->program, "-I", script};
    int argc = 3;
    for (const char *const *each = tool->arguments; *each; each++) {
        if (argc + 3 >= MAX_ARGUMENTS) {
            kf_fail(error, KF_ERROR_LIMIT, "more than %d arguments", KF_TORCH_TOOL_ARGUMENTS);
            return NULL;
        }
        argv[argc++] = *each;
    }
    argv[argc++] = "--descriptor";
    argv[argc++] = descriptor;
    const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                       "LANG=C.UTF-8",
                                       "HOME=/tmp",
                                       "TMPDIR=/tmp",
                                       "PYTHONHASHSEED=0",
                                       KF_PYTHON_VARIABLES,
                                       omp,
                                       NULL};
    kf_jail jail;
    kf_jail_init(&jail, tool->folder, KF_PATH_READ);
    for (size_t i = 0; i < python->path_count && jail.count < KF_JAIL_PATHS; i++)
        jail.paths[jail.count++] =
            (kf_sandbox_path){python->paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    const kf_sandbox_fd fds[] = {{answer, ANSWER_FD}};
    const kf_sandbox_spec spec = {.argv = argv,
                                  .environment = environment,
                                  .directory = tool->folder,
                                  .paths = jail.paths,
                                  .path_count = jail.count,
                                  .fds = fds,
                                  .fd_count = 1,
                                  .limits = {.wall_seconds = tool->seconds,
                                             .memory_bytes = tool->memory_bytes,
                                             .file_bytes = KF_TORCH_TOOL_BYTES,
                                             .output_bytes = 64 << 10},
                                  .seccomp = KF_SECCOMP_BUILD,
                                  .strict = tool->strict};
    return kf_sandbox_spawn(&spec, error);
}

/* ---- the answer ------------------------------------------------------------------------------ */

void kf_torch_tool_name_python(const char *reason, kf_buffer *text)
{
    const kf_python *python = strstr(reason, "Error: ") ? kf_python_find(NULL) : NULL;
    if (!python) return;
    kf_buffer_format(text, " (PyTorch %s, %s%s%s)", python->torch, python->program,
                     *python->unused ? "; not used: " : "", python->unused);
}

/* {"error": {"what", "where", "todo", "machine"}}; `where` names our copy of the file, so that its
 * folder is left out. */
static bool fail_as_described(const cJSON *described, const char *folder, kf_error *error)
{
    kf_autobuffer python = {0};
    bool machine = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(described, "machine"));
    const char *where = kf_json_get_text(described, "where", ""),
               *todo = kf_json_get_text(described, "todo", "");
    size_t length = strlen(folder);
    if (strncmp(where, folder, length) == 0 && where[length] == '/') where += length + 1;
    kf_torch_tool_name_python(kf_json_get_text(described, "what", ""), &python);
    return kf_fail(error, machine ? KF_ERROR_MACHINE : KF_ERROR_INPUT, "%s%s%s%s%s%s", where,
                   *where ? ": " : "", kf_json_get_text(described, "what", ""),
                   python.data ? python.data : "", *todo ? "; " : "", todo);
}

static void last_line(const kf_buffer *output, char *line, size_t size)
{
    const char *data = output && output->data ? output->data : "";
    size_t end = strlen(data);
    while (end && (data[end - 1] == '\n' || data[end - 1] == ' ')) end--;
    size_t begin = end;
    while (begin && data[begin - 1] != '\n') begin--;
    snprintf(line, size, "%.*s", (int)(end - begin < size ? end - begin : size - 1), data + begin);
}

/* True if the answer ends at the limit of its file. */
static bool is_too_large(int answer)
{
    return lseek(answer, 0, SEEK_END) >= (off_t)KF_TORCH_TOOL_BYTES;
}

static bool fail_without_answer(const kf_torch_tool *tool, kf_sandbox *jail, int answer,
                                kf_error *error)
{
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    char how[256], line[400];
    kf_sandbox_describe(result, how, sizeof how);
    last_line(kf_sandbox_output(jail), line, sizeof line);
    if (result->end == KF_END_WALL)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "%s: takes longer than %.0f s to import and try; --timeout gives it more",
                       tool->name, tool->seconds);
    if (result->end == KF_END_MEMORY || strstr(line, "MemoryError") || strstr(line, "bad_alloc"))
        return kf_fail(error, KF_ERROR_LIMIT,
                       "%s: needs more than %.1f GiB of memory; --memory gives it more", tool->name,
                       (double)tool->memory_bytes / (1u << 30));
    if (is_too_large(answer))
        return kf_fail(error, KF_ERROR_LIMIT,
                       "%s: its description has more than %u MiB; use smaller or fewer constants",
                       tool->name, KF_TORCH_TOOL_BYTES >> 20);
    return kf_fail(error, KF_ERROR_INPUT, "%s: ends Python without an answer (%s)%s%s", tool->name,
                   how, *line ? ": " : "", line);
}

/* Leaves a secret in the answer's file (load.py, class Answer). */
static bool put_secret(int answer, char secret[KF_HASH_HEX], kf_error *error)
{
    kf_hash chance;
    if (!kf_random(&chance, sizeof chance))
        return kf_fail(error, KF_ERROR_MACHINE, "the kernel provides no random numbers");
    kf_hash_hex(&chance, secret);
    return kf_write_all(answer, secret, SECRET_BYTES) ||
           kf_fail(error, KF_ERROR_MACHINE, "cannot write to a memfd");
}

/* True if the file begins with the hash of the secret and the text behind it. */
static bool is_sealed(const char *file, size_t size, const char *secret)
{
    kf_autobuffer sealed = {0};
    char hex[KF_HASH_HEX];
    if (size <= SECRET_BYTES || file[SECRET_BYTES] != '\n') return false;
    kf_buffer_append(&sealed, secret, SECRET_BYTES);
    kf_buffer_append(&sealed, file + SECRET_BYTES + 1, size - SECRET_BYTES - 1);
    kf_buffer_append(&sealed, secret, SECRET_BYTES);
    if (sealed.failed) return false;
    kf_hash hash = kf_hash_bytes(sealed.data, sealed.size);
    kf_hash_hex(&hash, hex);
    return memcmp(hex, file, SECRET_BYTES) == 0;
}

/* Returns the answer. NULL without one; *forged is true if other code wrote in its place, or if a
 * limit cut the answer. */
static cJSON *read_answer(int answer, const char *name, const char *secret, bool *forged)
{
    off_t size = lseek(answer, 0, SEEK_END);
    *forged = false;
    if (size <= 0 || size > (off_t)KF_TORCH_TOOL_BYTES) return NULL;
    kf_autofree char *text = malloc((size_t)size + 1);
    if (!text || lseek(answer, 0, SEEK_SET) != 0 || !kf_read_all(answer, text, (size_t)size))
        return NULL;
    text[size] = '\0';
    if (size == SECRET_BYTES && memcmp(text, secret, SECRET_BYTES) == 0) return NULL;
    *forged = !is_sealed(text, (size_t)size, secret);
    if (*forged) return NULL;
    size_t before = SECRET_BYTES + 1;
    return kf_json_parse(text + before, (size_t)size - before, KF_TORCH_TOOL_BYTES, name, NULL);
}

cJSON *kf_torch_tool_run(const kf_torch_tool *tool, const volatile int *stop, kf_error *error)
{
    kf_autoclose int answer = memfd_create("kforge-torch-tool", MFD_CLOEXEC);
    if (answer < 0) return kf_fail(error, KF_ERROR_MACHINE, "no memfd for an answer"), NULL;
    char secret[KF_HASH_HEX];
    bool forged;
    if (!put_secret(answer, secret, error)) return NULL;
    kf_auto(kf_sandbox) jail = start(tool, answer, error);
    if (!jail) return NULL;
    while (!kf_sandbox_pump(jail, 0.1)) {
        if (!stop || !*stop) continue;
        kf_sandbox_kill(jail);
        kf_fail(error, KF_ERROR_BUSY, "interrupted");
        return NULL;
    }
    kf_auto(cJSON) answered = read_answer(answer, tool->name, secret, &forged);
    bool cut = is_too_large(answer) || kf_sandbox_outcome(jail)->end != KF_END_EXITED;
    if (forged && !cut) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: its code wrote to a descriptor that it did not open. The description does "
                "not count. Write to files of its own only",
                tool->name);
        return NULL;
    }
    if (!answered || !cJSON_IsObject(answered))
        return fail_without_answer(tool, jail, answer, error), NULL;
    const cJSON *fault = cJSON_GetObjectItemCaseSensitive(answered, "error");
    if (fault) return fail_as_described(fault, tool->folder, error), NULL;
    return kf_steal(&answered);
}
