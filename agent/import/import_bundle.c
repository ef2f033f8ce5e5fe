/* Problems in formats that a translator in the sandbox reads (evaluator/torch/formats). A problem
 * is a folder with certain files. Their texts go into one JSON text, a *bundle*: {"format",
 * "folder", "files": {path: text}}. Paths are relative to the folder.
 *
 * - gpu-mode: task.yml, with reference.py and the Python files that task.yml names
 * - kernelbench.com: reference.py, shapes.py, problem.yaml
 * - raw: init.cu, driver.cpp; or any .cu file with an entry solve */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define DEPTH 8
#define FILE_BYTES (1u << 20)
#define PATH_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"

typedef struct format {
    const char *name;
    /* the folders with these files are problems */
    const char *mark[2];
    /* endings of the files that are read, with NULL at the end */
    const char *endings[5];
    /* what a user expects in the folder */
    const char *expected;
} format;

static const format formats[] = {
    {"gpu-mode", {"task.yml", "reference.py"}, {".py", ".yml"}, "task.yml and reference.py"},
    {"kernelbench.com",
     {"reference.py", "shapes.py"},
     {".py", ".yaml"},
     "reference.py and shapes.py"},
    {"raw",
     {"init.cu", "driver.cpp"},
     {".cu", ".cuh", ".cpp", ".h"},
     "init.cu and driver.cpp, or a .cu file with void solve(…)"},
};

typedef struct search {
    const format *format;
    kf_import_suite *suite;
    /* nothing outside it is read; absolute */
    char root[PATH_MAX];
} search;

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_file_in(const char *folder, const char *name)
{
    struct stat status;
    kf_autofree char *path = kf_path_join(folder, name);
    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_below(const char *root, const char *path)
{
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || length == 1);
}

/* ---- bundles --------------------------------------------------------------------------------- */

/* Adds a file's text, unless it is missing, large, or outside the root. */
static bool add_file(const search *s, cJSON *files, const char *folder, const char *name,
                     kf_error *error)
{
    char real[PATH_MAX];
    size_t size;
    kf_autofree char *path = kf_path_join(folder, name);
    if (!path) return kf_fail_memory(error, "a bundle");
    if (cJSON_HasObjectItem(files, name) || !realpath(path, real) || !is_below(s->root, real))
        return true;
    kf_autofree char *text = kf_file_read(real, FILE_BYTES, &size, NULL);
    if (!text || strlen(text) != size) return true;
    return cJSON_AddStringToObject(files, name, text) || kf_fail_memory(error, "a bundle");
}

/* Adds the Python files that task.yml names: words with the ending .py. */
static bool add_named(const search *s, cJSON *files, const char *folder, kf_error *error)
{
    const cJSON *task = cJSON_GetObjectItemCaseSensitive(files, "task.yml");
    const char *at = cJSON_IsString(task) ? task->valuestring : "";
    while (*at) {
        size_t length = strspn(at, PATH_CHARACTERS);
        if (length && length < PATH_MAX) {
            kf_autofree char *word = strndup(at, length);
            if (!word) return kf_fail_memory(error, "a bundle");
            if (ends_with(word, ".py") && word[0] != '/' &&
                !add_file(s, files, folder, word, error))
                return false;
        }
        at += length;
        if (*at) at++;
    }
    return true;
}

/* `only`: the one file that is read; NULL for all of the folder. */
static char *bundle_of(const search *s, const char *folder, const char *only, kf_error *error)
{
    kf_auto(cJSON) bundle = cJSON_CreateObject();
    cJSON *files = bundle ? cJSON_AddObjectToObject(bundle, "files") : NULL;
    if (!files || !cJSON_AddStringToObject(bundle, "format", s->format->name) ||
        !cJSON_AddStringToObject(bundle, "folder", strrchr(folder, '/') + 1))
        return kf_fail_memory(error, "a bundle"), NULL;
    if (only) {
        if (!add_file(s, files, folder, only, error)) return NULL;
        char *single = cJSON_PrintUnformatted(bundle);
        if (!single) kf_fail_memory(error, "a bundle");
        return single;
    }
    DIR *listing = opendir(folder);
    bool good = listing || kf_fail(error, KF_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; listing && good && (entry = readdir(listing));)
        for (const char *const *ending = s->format->endings; good && *ending; ending++)
            if (entry->d_name[0] != '.' && ends_with(entry->d_name, *ending))
                good = add_file(s, files, folder, entry->d_name, error);
    if (listing) closedir(listing);
    if (!good || !add_named(s, files, folder, error)) return NULL;
    char *text = cJSON_PrintUnformatted(bundle);
    if (!text) kf_fail_memory(error, "a bundle");
    return text;
}

/* ---- problems -------------------------------------------------------------------------------- */

static bool is_problem(const format *f, const char *folder)
{
    return is_file_in(folder, f->mark[0]) && is_file_in(folder, f->mark[1]);
}

/* `only`: a file that is a problem alone, or NULL. */
static bool add_problem(const search *s, const char *folder, const char *only, kf_error *error)
{
    const char *mark = only ? only : s->format->mark[0], *end = strrchr(mark, '.');
    kf_autofree char *path = kf_path_join(folder, mark),
                     *name = only ? strndup(only, (size_t)(end - only))
                                  : strdup(strrchr(folder, '/') + 1);
    kf_autofree char *text = path && name ? bundle_of(s, folder, only, error) : NULL;
    if (!text) return path && name ? false : kf_fail_memory(error, "a bundle");
    if (!kf_import_add(s->suite, name, path, -1, -1, NULL, NULL, error)) return false;
    kf_import_problem *p = &s->suite->problems[s->suite->count - 1];
    /* messages name the problem file */
    free(p->path);
    p->path = strdup("/problem.py");
    p->text = kf_steal(&text);
    p->bundle = true;
    return p->path || kf_fail_memory(error, "a bundle");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* True for a file of CUDA with an entry solve. */
static bool has_solve(const search *s, const char *path)
{
    if (strcmp(s->format->name, "raw") != 0 || !ends_with(path, ".cu")) return false;
    kf_autofree char *text = kf_file_read(path, FILE_BYTES, NULL, NULL);
    const char *found = text ? strstr(text, "solve(") : NULL;
    return found && found > text && found[-1] == ' ';
}

static bool look_into(const search *s, const char *folder, int depth, kf_error *error)
{
    if (is_problem(s->format, folder)) return add_problem(s, folder, NULL, error);
    struct dirent **entries = NULL;
    int count = depth ? scandir(folder, &entries, is_visible, by_name) : 0;
    bool good = true;
    for (int i = 0; i < count; i++) {
        struct stat status;
        kf_autofree char *path = kf_path_join(folder, entries[i]->d_name);
        if (good && path && lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
            good = look_into(s, path, depth - 1, error);
        else if (good && path && has_solve(s, path))
            good = add_problem(s, folder, entries[i]->d_name, error);
        good = good && (path || kf_fail_memory(error, "the problems of the suite"));
        free(entries[i]);
    }
    free(entries);
    return good;
}

/* Finds the folder outside of which nothing is read: that of the checkout, else the given one. */
static void find_root(const char *folder, char *root)
{
    snprintf(root, PATH_MAX, "%s", folder);
    for (char *slash = root + strlen(root); slash && slash > root; slash = strrchr(root, '/')) {
        *slash = '\0';
        kf_autofree char *git = kf_path_join(root, ".git");
        if (git && access(git, F_OK) == 0) return;
    }
    snprintf(root, PATH_MAX, "%s", folder);
}

bool kf_import_bundles(const char *name, const char *path, kf_import_suite *suite, kf_error *error)
{
    search s = {.suite = suite};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0) s.format = &formats[i];
    if (!s.format) return kf_fail(error, KF_ERROR_INTERNAL, "there is no format %s", name);
    if (!kf_import_begin(suite, name, path, error)) return false;
    find_root(suite->folder, s.root);
    for (char folder[PATH_MAX], *end = strcpy(folder, suite->folder) + strlen(folder);
         !suite->license && end && end >= folder + strlen(s.root); end = strrchr(folder, '/')) {
        *end = '\0';
        suite->license = kf_import_license(folder);
    }
    if (!look_into(&s, suite->folder, DEPTH, error)) return false;
    if (!suite->count)
        return kf_fail(error, KF_ERROR_INPUT, "%s: no folder in it has %s", path,
                       s.format->expected);
    return kf_import_tell_apart(suite, error);
}
