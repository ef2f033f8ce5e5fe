/* The agent's jail. It sees the system's programs and libraries read-only, a few files of /etc that
 * programs need for names, users and certificates, and its own folder and home. It uses the host's
 * network, because its model is there. It has no device of the GPU: the judge outside has it.
 *
 * kforge itself is in the jail as one file, which is a client there. The caller lists the secrets
 * that stay out, above all the tasks with their oracles. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "episode_internal.h"
#include "kforge/file.h"
#include "kforge/list.h"

/* Layers without which a jail with a network would hold nothing. */
#define NEEDED (KF_LAYER_MOUNT_NS | KF_LAYER_PID_NS | KF_LAYER_NO_NEW_PRIVS | KF_LAYER_SECCOMP)
#define MAX_PROCESSES 1024
#define MAX_MEMORY (16ull << 30)
#define MAX_FILE (1ull << 30)
#define TEMPORARY (1ull << 30)
/* bytes of stderr that are kept */
#define ERROR_BYTES (64u << 10)

/* Not /etc/profile, which would take kforge off the PATH of login shells. */
static const char *const system_paths[] = {"/usr",
                                           "/bin",
                                           "/sbin",
                                           "/lib",
                                           "/lib64",
                                           "/lib32",
                                           "/etc/alternatives",
                                           "/etc/bash.bashrc",
                                           "/etc/ca-certificates",
                                           "/etc/ca-certificates.conf",
                                           "/etc/gai.conf",
                                           "/etc/group",
                                           "/etc/host.conf",
                                           "/etc/hosts",
                                           "/etc/ld.so.cache",
                                           "/etc/ld.so.conf",
                                           "/etc/ld.so.conf.d",
                                           "/etc/localtime",
                                           "/etc/magic",
                                           "/etc/mime.types",
                                           "/etc/nsswitch.conf",
                                           "/etc/os-release",
                                           "/etc/passwd",
                                           "/etc/pki/tls/certs",
                                           "/etc/pki/ca-trust/extracted",

                                           "/etc/protocols",
                                           "/etc/resolv.conf",
                                           "/etc/services",
                                           "/etc/shells",
                                           "/etc/ssl/certs",
                                           "/etc/ssl/openssl.cnf",
                                           "/etc/terminfo",
                                           "/etc/timezone",
                                           NULL};

/* Owned copies of all paths. */
typedef struct paths {
    kf_sandbox_path *items;
    size_t count;
    bool failed;
} paths;

static void add(paths *list, const char *path, int access, bool optional)
{
    char *copy = path ? strdup(path) : NULL;
    if (!copy || list->failed || !kf_list_grow(&list->items, list->count)) {
        free(copy);
        list->failed = true;
        return;
    }
    list->items[list->count++] = (kf_sandbox_path){copy, access, optional};
}

static void paths_clear(paths *list)
{
    for (size_t i = 0; i < list->count; i++) free((char *)(uintptr_t)list->items[i].path);
    free(list->items);
}

/* Copies the real path of this program. */
static bool find_program(char path[PATH_MAX], kf_error *error)
{
    ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (size <= 0)
        return kf_fail(error, KF_ERROR_MACHINE, "/proc/self/exe: %s; mount /proc", strerror(errno));
    path[size] = '\0';
    return true;
}

static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    return strncmp(path, folder, length) == 0 &&
           (length == 1 || path[length] == '/' || !path[length]);
}

/* False if `path`, which the agent may read, holds a secret. */
static bool check_path(const char *option, const char *path, const kf_episode_settings *settings,
                       kf_error *error)
{
    kf_autofree char *real = realpath(path, NULL);
    if (!real)
        return kf_fail(error, KF_ERROR_INPUT, "agent: %s=%s: %s; name a folder that exists", option,
                       path, strerror(errno));
    for (const char *const *secret = settings->secrets; secret && *secret; secret++) {
        kf_autofree char *hidden = realpath(*secret, NULL);
        if (hidden && (lies_in(hidden, real) || lies_in(real, hidden)))
            return kf_fail(error, KF_ERROR_INPUT,
                           "agent: %s=%s would show the agent %s, which it must not read; name "
                           "another folder",
                           option, path, hidden);
    }
    return true;
}

/* True if a real path lies below a folder that every agent sees. */
static bool is_of_system(const char *path)
{
    for (const char *const *system = system_paths; *system; system++) {
        kf_autofree char *real = realpath(*system, NULL);
        if (real && lies_in(path, real)) return true;
    }
    return false;
}

bool kf_episode_check(const kf_episode_settings *settings, kf_error *error)
{
    kf_autobuffer reasons = {0};
    int missing = NEEDED & ~kf_sandbox_available(&reasons);
    if (missing)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "agent: this machine can't hold an agent: %s; `kforge doctor` shows the "
                       "remedies",
                       reasons.data ? reasons.data : "a layer of the sandbox is missing");
    if (settings->home && !check_path("home", settings->home, settings, error)) return false;
    for (const char *const *path = settings->readable; path && *path; path++)
        if (!check_path("read", *path, settings, error)) return false;
    for (const char *const *secret = settings->secrets; secret && *secret; secret++) {
        struct stat status;
        kf_autofree char *real = realpath(*secret, NULL);
        if (real && stat(real, &status) == 0 && !S_ISDIR(status.st_mode) && is_of_system(real))
            return kf_fail(error, KF_ERROR_INPUT,
                           "agent: %s lies in a folder of the system, which agents can read; move "
                           "it elsewhere",
                           real);
    }
    return true;
}

/* Hides a secret folder below the system's folders. */
static void hide(paths *list, const char *secret)
{
    kf_autofree char *real = realpath(secret, NULL);
    if (real && is_of_system(real)) add(list, real, KF_PATH_HIDE, true);
}

static void fill(paths *list, const kf_episode_folder *folder, const kf_episode_settings *settings,
                 const char *program)
{
    static const char *const fixed[] = {"TASK.md", "AGENTS.md", "baseline.cu", "baseline.py",
                                        "mcp.json"};
    const int all = KF_PATH_READ | KF_PATH_WRITE | KF_PATH_EXEC;
    for (const char *const *path = system_paths; *path; path++)
        add(list, *path, KF_PATH_READ | KF_PATH_EXEC, true);
    for (const char *const *path = settings->readable; path && *path; path++)
        add(list, *path, KF_PATH_READ | KF_PATH_EXEC, false);
    add(list, program, KF_PATH_READ | KF_PATH_EXEC, false);
    add(list, folder->work, all, false);
    add(list, settings->home ? settings->home : folder->home, all, false);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        kf_autofree char *path = kf_path_join(folder->work, fixed[i]);
        add(list, path, KF_PATH_READ, true);
    }
    for (const char *const *secret = settings->secrets; secret && *secret; secret++)
        hide(list, *secret);
}

/* Appends NAME=VALUE, owned by the list. */
static void variable(char ***list, size_t *count, const char *name, const char *value, bool *failed)
{
    char *text;
    if (*failed || !kf_list_grow(list, *count) || asprintf(&text, "%s=%s", name, value) < 0) {
        *failed = true;
        return;
    }
    (*list)[(*count)++] = text;
}

/* Returns the agent's environment, NULL without memory. */
static char **environment_of(const kf_episode_folder *folder, const kf_episode_settings *settings,
                             const char *program)
{
    char **list = NULL;
    size_t count = 0;
    bool failed = false;
    const char *home = settings->home ? settings->home : folder->home;
    kf_autofree char *mcp = kf_path_join(folder->work, "mcp.json");
    kf_autobuffer path = {0};
    kf_buffer_format(&path, "%.*s:%s/.local/bin:%s/bin:/usr/local/bin:/usr/bin:/bin",
                     (int)(strrchr(program, '/') - program), program, home, home);
    failed = path.failed || !mcp;
    variable(&list, &count, "PATH", path.data, &failed);
    variable(&list, &count, "HOME", home, &failed);
    variable(&list, &count, "TMPDIR", "/tmp", &failed);
    variable(&list, &count, "LANG", "C.UTF-8", &failed);
    variable(&list, &count, "TERM", "dumb", &failed);
    variable(&list, &count, KF_EPISODE_SOCKET, folder->socket, &failed);
    variable(&list, &count, "KFORGE_MCP", mcp, &failed);
    variable(&list, &count, "KFORGE_WORK", folder->work, &failed);
    for (const char *const *own = settings->environment; own && *own; own++) {
        const char *equals = strchr(*own, '=');
        kf_autofree char *name = equals ? strndup(*own, (size_t)(equals - *own)) : NULL;
        failed |= !name;
        if (name) variable(&list, &count, name, equals + 1, &failed);
    }
    failed |= !kf_list_grow(&list, count);
    if (!failed) return list[count] = NULL, list;
    for (size_t i = 0; i < count; i++) free(list[i]);
    free(list);
    return NULL;
}

static void free_list(char **list)
{
    for (char **item = list; item && *item; item++) free(*item);
    free(list);
}

kf_sandbox *kf_episode_jail(const kf_episode_folder *folder, const kf_episode_settings *settings,
                            int input, int output, kf_error *error)
{
    char program[PATH_MAX];
    if (!find_program(program, error)) return NULL;
    /* The shell stays process 1: it reaps what the agent leaves, and the agent itself gets SIGTERM
     * like any other process. */
    kf_autofree char *command = NULL;
    if (asprintf(&command, "exec 0<&4 1>&3 3>&- 4<&-\n%s\nexit $?", settings->command) < 0)
        command = NULL;
    paths list = {0};
    char **environment = environment_of(folder, settings, program);
    fill(&list, folder, settings, program);
    kf_sandbox *jail = NULL;
    if (!command || !environment || list.failed) {
        kf_fail_memory(error, "an episode");
    } else {
        jail = kf_sandbox_spawn(
            &(kf_sandbox_spec){
                .argv = (const char *const[]){"/bin/sh", "-c", command, NULL},
                .environment = (const char *const *)environment,
                .directory = folder->work,
                .paths = list.items,
                .path_count = list.count,
                .fds = (const kf_sandbox_fd[]){{output, 3}, {input, 4}},
                .fd_count = 2,
                .limits = {.memory_bytes = MAX_MEMORY,
                           .file_bytes = MAX_FILE,
                           .output_bytes = ERROR_BYTES,
                           .processes = MAX_PROCESSES,
                           .temporary_bytes = TEMPORARY},
                .seccomp = KF_SECCOMP_AGENT,
            },
            error);
    }
    free_list(environment);
    paths_clear(&list);
    return jail;
}
