/* Finds repository and commit of a checkout. It reads .git and runs no program, because the
 * configuration of a checkout can name programs. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"

/* packed-refs of large repositories */
#define FILE_BYTES (16u << 20)
/* index of half a million files */
#define INDEX_BYTES (64u << 20)

static char *read_in(const char *folder, const char *name)
{
    kf_autofree char *path = kf_path_join(folder, name);
    return path ? kf_file_read(path, FILE_BYTES, NULL, NULL) : NULL;
}

static char *first_word(const char *text)
{
    size_t length = strcspn(text, " \t\r\n");
    return length ? strndup(text, length) : NULL;
}

static bool is_commit(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdef");
    return (digits == 40 || digits == 64) && !isalnum((unsigned char)text[digits]);
}

static uint32_t big_endian(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* True if the repository with the work tree `root` tracks the file or folder, or something in it.
 * An untracked copy in another project has no commit. Reads git's index (gitformat-index(5),
 * versions 2 and 3). Returns true if it cannot decide. */
static bool is_tracked(const char *git, const char *root, const char *what)
{
    kf_autofree char *path = kf_path_join(git, "index");
    size_t size = 0, name = strlen(root);
    kf_autofree char *text = path ? kf_file_read(path, INDEX_BYTES, &size, NULL) : NULL;
    const unsigned char *index = (const unsigned char *)text;
    if (!what[name] || size < 12 || memcmp(index, "DIRC", 4) != 0 || big_endian(index + 4, 4) > 3)
        return true;
    const char *wanted = what + name + 1;
    kf_autofree char *config = read_in(git, "config");
    /* after the fields of stat and a hash */
    size_t flags = config && strstr(config, "objectformat = sha256") ? 72 : 60;
    for (size_t at = 12, left = big_endian(index + 8, 4); left; left--) {
        if (at + flags + 4 > size) return true;
        const char *file = text + at + flags + (big_endian(index + at + flags, 2) & 0x4000 ? 4 : 2);
        size_t most = (size_t)(text + size - file), length = strnlen(file, most);
        if (length == most) return true;
        if (strncmp(file, wanted, strlen(wanted)) == 0 && strchr("/", file[strlen(wanted)]))
            return true;
        at += ((size_t)(file - text) + length - at) / 8 * 8 + 8;
    }
    return false;
}

/* Returns the .git folder of the nearest parent folder that has one and tracks this file or folder.
 * In a linked work tree .git is a file that names it. */
static char *find_git(const char *what)
{
    kf_autofree char *at = strdup(what);
    while (at && *at) {
        kf_autofree char *git = kf_path_join(at, ".git");
        struct stat status;
        if (git && stat(git, &status) == 0) {
            kf_autofree char *text =
                S_ISDIR(status.st_mode) ? NULL : kf_file_read(git, 4096, NULL, NULL);
            kf_autofree char *place = text && strncmp(text, "gitdir: ", 8) == 0
                                          ? strndup(text + 8, strcspn(text + 8, "\r\n"))
                                          : NULL;
            kf_autofree char *found = S_ISDIR(status.st_mode) ? kf_steal(&git)
                                      : place                 ? kf_path_join(at, place)
                                                              : NULL;
            return found && is_tracked(found, at, what) ? kf_steal(&found) : NULL;
        }
        char *slash = strrchr(at, '/');
        if (!slash) break;
        *slash = '\0';
    }
    return NULL;
}

static char *resolve_reference(const char *git, const char *name)
{
    kf_autofree char *loose = strstr(name, "..") ? NULL : read_in(git, name);
    if (loose && is_commit(loose)) return first_word(loose);
    kf_autofree char *packed = read_in(git, "packed-refs");
    for (const char *line = packed; line && *line;) {
        const char *end = strchr(line, '\n'), *space = strchr(line, ' ');
        size_t length = strlen(name);
        if (is_commit(line) && space && strncmp(space + 1, name, length) == 0 &&
            (space[1 + length] == '\n' || space[1 + length] == '\0'))
            return first_word(line);
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

/* Removes "user:password@". */
static char *without_credentials(char *url)
{
    char *scheme = strstr(url, "://"), *at = scheme ? strchr(scheme + 3, '@') : NULL,
         *slash = scheme ? strchr(scheme + 3, '/') : NULL;
    if (at && (!slash || at < slash)) memmove(scheme + 3, at + 1, strlen(at + 1) + 1);
    return url;
}

static char *origin_url(const char *git)
{
    kf_autofree char *config = read_in(git, "config");
    const char *section = config ? strstr(config, "[remote \"origin\"]") : NULL;
    const char *end = section ? strchr(section + 1, '[') : NULL;
    const char *url = section ? strstr(section, "url = ") : NULL;
    if (!url || (end && url > end)) return NULL;
    char *word = first_word(url + 6);
    return word ? without_credentials(word) : NULL;
}

void kf_import_checkout(const char *path, char **url, char **commit)
{
    *url = *commit = NULL;
    kf_autofree char *git = find_git(path);
    kf_autofree char *head = git ? read_in(git, "HEAD") : NULL;
    if (!head) return;
    if (strncmp(head, "ref: ", 5) == 0) {
        kf_autofree char *name = first_word(head + 5);
        *commit = name ? resolve_reference(git, name) : NULL;
    } else if (is_commit(head)) {
        *commit = first_word(head);
    }
    *url = origin_url(git);
}
