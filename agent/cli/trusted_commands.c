#include "trusted_commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "options.h"

#define LIST_BYTES (1u << 20)

/* True if a model of the list "A then B" has this provider. */
static bool has_provider(const char *value, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = value; (at = strstr(at, name)); at += length) {
        bool begins = at == value || at[-1] == ' ';
        if (begins && (at[length] == ':' || at[length] == ',')) return true;
    }
    return false;
}

bool kf_trust_is_command(const char *option, const char *value)
{
    if (strcmp(option, "model") == 0)
        return has_provider(value, "exec") || has_provider(value, "agent");
    if (strcmp(option, "workers") != 0 || strncmp(value, "spool:", 6) == 0) return false;
    size_t length = strncmp(value, "local", 5) == 0 ? 5 : 0;
    /* "local", "local*4", "local×4" */
    return !length || value[length + strspn(value + length, " *0123456789\xc3\x97")];
}

/* Returns the path of the list, NULL without a folder of settings. The caller frees. */
static char *list_path(const char *const *environment)
{
    const kf_surroundings of = {.environment = environment};
    const char *base = kf_environment_get(&of, "XDG_CONFIG_HOME"),
               *home = kf_environment_get(&of, "HOME");
    if (base && base[0] == '/') return kf_path_join(base, "kforge/trusted");
    return home && home[0] == '/' ? kf_path_join(home, ".config/kforge/trusted") : NULL;
}

static bool entry_of(const char *place, const char *command, char entry[KF_HASH_HEX])
{
    kf_autobuffer text = {0};
    kf_autofree char *real = realpath(place, NULL);
    kf_buffer_format(&text, "%s\n%s", real ? real : place, command);
    if (text.failed) return false;
    kf_hash hash = kf_hash_bytes(text.data, text.size);
    kf_hash_hex(&hash, entry);
    return true;
}

/* True if a line of the list begins with `entry`. */
static bool lists(const char *text, const char *entry)
{
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, entry, KF_HASH_HEX - 1) == 0) return true;
    }
    return false;
}

bool kf_trust_has(const char *const *environment, const char *place, const char *command)
{
    char entry[KF_HASH_HEX];
    kf_autofree char *path = list_path(environment);
    size_t size;
    kf_autofree char *text = path ? kf_file_read(path, LIST_BYTES, &size, NULL) : NULL;
    return text && kf_trust_check_owner(path, NULL) && entry_of(place, command, entry) &&
           lists(text, entry);
}

bool kf_trust_add(const char *const *environment, const char *place, const char *command,
                  kf_error *error)
{
    char entry[KF_HASH_HEX];
    kf_autofree char *path = list_path(environment), *text = NULL;
    if (!path)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "no folder for the list of allowed commands; set HOME or XDG_CONFIG_HOME");
    if (!entry_of(place, command, entry)) return kf_fail_memory(error, "an allowed command");
    size_t size = 0;
    if (access(path, F_OK) == 0 && (!kf_trust_check_owner(path, error) ||
                                    !(text = kf_file_read(path, LIST_BYTES, &size, error))))
        return false;
    if (text && lists(text, entry)) return true;
    kf_autobuffer list = {0};
    if (text) kf_buffer_append(&list, text, size);
    kf_buffer_format(&list, "%s  %s\n", entry, place);
    if (list.failed) return kf_fail_memory(error, "an allowed command");
    kf_autofree char *folder = strdup(path);
    if (!folder) return kf_fail_memory(error, "an allowed command");
    *strrchr(folder, '/') = '\0';
    return kf_directory_make_private(folder, error) &&
           kf_file_write(path, list.data, list.size, error) &&
           (chmod(path, 0600) == 0 ||
            kf_fail(error, KF_ERROR_IO, "%s: chmod 600: %s", path, strerror(errno)));
}

bool kf_trust_check_owner(const char *path, kf_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: %s", path, strerror(errno));
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s belongs to another user, and so may its commands; make a copy first",
                       path);
    if (status.st_mode & S_IWOTH && !(S_ISDIR(status.st_mode) && status.st_mode & S_ISVTX))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: everybody may change it; take that away first: chmod o-w", path);
    return true;
}
