/* Which repository and commit a folder is a checkout of, read from .git: no program is run, since a checkout's own configuration could name some. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"

#define FILE_BYTES (16u << 20) /* packed-refs of large repositories */

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

/* The .git folder of the nearest folder upwards that has one; a work tree of its own has a file that names it. */
static char *find_git(const char *folder)
{
    kf_autofree char *at = strdup(folder);
    while (at && *at) {
        kf_autofree char *git = kf_path_join(at, ".git");
        struct stat status;
        if (git && stat(git, &status) == 0) {
            if (S_ISDIR(status.st_mode)) return kf_steal(&git);
            kf_autofree char *text = kf_file_read(git, 4096, NULL, NULL);
            kf_autofree char *place =
                text && strncmp(text, "gitdir: ", 8) == 0 ? strndup(text + 8, strcspn(text + 8, "\r\n")) : NULL;
            return place ? kf_path_join(at, place) : NULL;
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

/* Without "user:password@". */
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

void kf_import_checkout(const char *folder, char **url, char **commit)
{
    *url = *commit = NULL;
    kf_autofree char *git = find_git(folder);
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
