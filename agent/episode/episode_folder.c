/* The agent's folder. It lies in a folder of kforge's own. The agent can't change the mode and
 * time of that one, so a later process finds and removes it if kforge is killed
 * (common/temporary.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "episode_internal.h"
#include "kforge/file.h"

static const char limits_title[] = "\n## Limits of this episode\n\n";

static bool write_file(const char *folder, const char *name, const char *text, mode_t mode,
                       kf_error *error)
{
    kf_autofree char *path = kf_path_join(folder, name);
    if (!path) return kf_fail_memory(error, "an episode");
    kf_autoclose int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 || !kf_write_all(fd, text, strlen(text)))
        return kf_fail(error, KF_ERROR_IO, "%s: %s", path, strerror(errno));
    return true;
}

static void word_limits(const kf_episode_settings *settings, kf_buffer *out)
{
    kf_buffer_format(out,
                     "%s- %g s of wall clock\n- %d judgements (eval, check, profile, submit)\n",
                     limits_title, settings->seconds, settings->evals);
    if (settings->device_seconds > 0)
        kf_buffer_format(out, "- %g s of the device\n", settings->device_seconds);
    if (settings->cost_usd > 0) kf_buffer_format(out, "- $%g\n", settings->cost_usd);
    kf_buffer_string(
        out, "\nThe episode ends at a limit. What candidate.cu holds then is the result.\n");
}

/* Returns $KFORGE_MCP: the server of the Model Context Protocol that the agent may start. Clients
 * of the protocol pass no variables but those that the list names. NULL without memory. */
static char *mcp_config(const kf_episode_folder *folder)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *servers = cJSON_AddObjectToObject(json, "mcpServers");
    cJSON *server = cJSON_AddObjectToObject(servers, "kforge");
    cJSON_AddStringToObject(server, "type", "stdio");
    cJSON_AddStringToObject(server, "command", "kforge");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(server, "args"), cJSON_CreateString("mcp"));
    cJSON *environment = cJSON_AddObjectToObject(server, "env");
    cJSON_AddStringToObject(environment, KF_EPISODE_SOCKET, folder->socket);
    cJSON_AddStringToObject(environment, "KFORGE_WORK", folder->work);
    return cJSON_PrintUnformatted(json);
}

static const char rules_end[] =
    "\nTASK.md has the task and says how to evaluate candidate.cu with `kforge`.\n";

static bool write_files(const kf_episode_folder *folder, const kf_episode_settings *settings,
                        const kf_episode_files *files, kf_error *error)
{
    kf_autobuffer task = {0}, rules = {0};
    kf_buffer_string(&task, files->task);
    word_limits(settings, &task);
    kf_buffer_format(&rules, "%s%s", files->rules, rules_end);
    kf_autofree char *servers = mcp_config(folder);
    if (task.failed || rules.failed || !servers) return kf_fail_memory(error, "an episode");
    return write_file(folder->work, "TASK.md", task.data, 0444, error) &&
           write_file(folder->work, "AGENTS.md", rules.data, 0444, error) &&
           write_file(folder->work, "candidate.cu", files->candidate, 0644, error) &&
           write_file(folder->work, files->baseline_module ? "baseline.py" : "baseline.cu",
                      files->baseline, 0444, error) &&
           write_file(folder->work, "mcp.json", servers, 0444, error);
}

static bool make_below(const char *above, const char *name, char **path, kf_error *error)
{
    *path = kf_path_join(above, name);
    if (!*path) return kf_fail_memory(error, "an episode");
    if (mkdir(*path, 0700) == 0) return true;
    return kf_fail(error, KF_ERROR_IO, "%s: %s", *path, strerror(errno));
}

bool kf_episode_folder_make(kf_episode_folder *folder, const kf_episode_settings *settings,
                            const kf_episode_files *files, kf_error *error)
{
    folder->outer = kf_directory_temporary("kforge-episode", error);
    if (!folder->outer || !make_below(folder->outer, "work", &folder->work, error) ||
        !make_below(folder->outer, "home", &folder->home, error))
        return false;
    folder->socket = kf_path_join(folder->work, "kforge.sock");
    folder->candidate = strdup(files->candidate);
    if (!folder->socket || !folder->candidate) return kf_fail_memory(error, "an episode");
    return write_files(folder, settings, files, error);
}

char *kf_episode_folder_candidate(const kf_episode_folder *folder, size_t *size, kf_error *error)
{
    static const char name[] = "candidate.cu";
    struct stat status;
    kf_autoclose int directory =
        open(folder->work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* O_NONBLOCK: a FIFO must not wait for a writer. */
    kf_autoclose int fd =
        directory < 0 ? -1
                      : openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        return kf_fail(error, KF_ERROR_INPUT, "the agent left no readable %s: %s", name,
                       strerror(errno)),
               NULL;
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
        return kf_fail(error, KF_ERROR_INPUT, "the agent's %s is no regular file of its own", name),
               NULL;
    if (status.st_size > (off_t)KF_EPISODE_SOURCE_BYTES)
        return kf_fail(error, KF_ERROR_INPUT, "the agent's %s has more than %u bytes", name,
                       KF_EPISODE_SOURCE_BYTES),
               NULL;
    kf_autofree char *text = malloc((size_t)status.st_size + 1);
    if (!text) return kf_fail_memory(error, "a candidate"), NULL;
    if (!kf_read_all(fd, text, (size_t)status.st_size))
        return kf_fail(error, KF_ERROR_IO, "reading the agent's %s failed", name), NULL;
    *size = (size_t)status.st_size;
    text[*size] = '\0';
    if (memchr(text, '\0', *size))
        return kf_fail(error, KF_ERROR_INPUT, "the agent's %s holds a NUL byte", name), NULL;
    return kf_steal(&text);
}

void kf_episode_folder_remove(kf_episode_folder *folder)
{
    if (folder->outer) kf_directory_remove(folder->outer, NULL);
    free(folder->outer);
    free(folder->work);
    free(folder->home);
    free(folder->candidate);
    free(folder->socket);
    *folder = (kf_episode_folder){0};
}
