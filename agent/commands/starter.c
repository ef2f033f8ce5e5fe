#include "starter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/task.h"
#include "prompt_template.h"

/* Makes a C identifier for the entry: "top-k.v2" gives top_k_v2, "3d_blur" gives task_3d_blur. */
static void entry_of(const char *name, kf_buffer *entry)
{
    if (isdigit((unsigned char)name[0])) kf_buffer_string(entry, "task_");
    for (; *name; name++)
        kf_buffer_format(entry, "%c", isalnum((unsigned char)*name) ? *name : '_');
}

static void fill_in(const char *text, const char *name, const char *entry, kf_buffer *out)
{
    for (const char *at; (at = strchr(text, '@'));) {
        kf_buffer_append(out, text, (size_t)(at - text));
        bool is_name = strncmp(at, "@NAME@", 6) == 0, is_entry = strncmp(at, "@ENTRY@", 7) == 0;
        kf_buffer_string(out, is_name ? name : is_entry ? entry : "@");
        text = at + (is_name ? 6 : is_entry ? 7 : 1);
    }
    kf_buffer_string(out, text);
}

static bool write_files(const char *folder, const char *name, kf_error *error)
{
    kf_autobuffer entry = {0};
    entry_of(name, &entry);
    for (const kf_template_builtin *file = kf_starter_files; file->name; file++) {
        kf_autobuffer text = {0};
        kf_autofree char *path = kf_path_join(folder, file->name);
        if (!entry.failed) fill_in(file->text, name, entry.data, &text);
        if (!path || entry.failed || text.failed) return kf_fail_memory(error, "the task");
        if (!kf_file_write(path, text.data, text.size, error)) return false;
    }
    kf_error reason = {0};
    kf_auto(kf_task) task = kf_task_load(folder, &reason);
    if (task) return true;
    /* The reason names the temporary folder. Only the name can be wrong. */
    const char *behind = strstr(reason.text, "task.json: ");
    return kf_fail(error, reason.code, "\"%s\" cannot be a task's name: %s", name,
                   behind ? behind + 11 : reason.text);
}

bool kf_starter_write(const char *folder, kf_error *error)
{
    kf_autofree char *target = strdup(folder);
    if (!target) return kf_fail_memory(error, "the task");
    for (size_t size = strlen(target); size > 1 && target[size - 1] == '/'; size--)
        target[size - 1] = '\0';
    char *slash = strrchr(target, '/');
    const char *name = slash ? slash + 1 : target;
    struct stat status;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return kf_fail(error, KF_ERROR_INPUT, "\"%s\": give the name of a new folder", folder);
    if (lstat(target, &status) == 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: exists already; choose another name", target);
    kf_autofree char *parent = slash == target ? strdup("/")
                               : slash         ? strndup(target, (size_t)(slash - target))
                                               : strdup(".");
    if (!parent) return kf_fail_memory(error, "the task");
    if (!kf_directory_make(parent, error)) return false;
    kf_autofree char *temporary = NULL;
    if (asprintf(&temporary, "%s/.%.60s.XXXXXX", parent, name) < 0) temporary = NULL;
    if (!temporary) return kf_fail_memory(error, "the task");
    if (!mkdtemp(temporary))
        return kf_fail(error, KF_ERROR_IO, "%s: cannot make a folder there: %s", parent,
                       strerror(errno));
    bool written = write_files(temporary, name, error);
    mode_t mask = umask(0);
    umask(mask);
    if (written && (chmod(temporary, 0777 & ~mask) != 0 || rename(temporary, target) != 0))
        written = kf_fail(error, KF_ERROR_IO, "%s: cannot make it: %s", target, strerror(errno));
    if (!written) kf_directory_remove(temporary, NULL);
    return written;
}
