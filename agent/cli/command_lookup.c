/* Finds the command that the first words of a command line name, and the nearest one for a misspelt
 * name. */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "misplaced_word.h"
#include "named_task.h"
#include "nearest.h"

#define MAX_COMMANDS 64

/* The commands that may be meant: all names, and the second words of those that begin with `first`.
 */
typedef struct command_names {
    const char *all[MAX_COMMANDS], *group[MAX_COMMANDS];
    size_t count, group_count;
    /* The command `first` itself, or NULL. */
    const kf_command *single;
} command_names;

static void collect(const kf_command *const *commands, const char *first, command_names *names)
{
    size_t length = strlen(first);
    for (const kf_command *const *row = commands; *row && names->count < MAX_COMMANDS; row++) {
        const char *name = (*row)->name;
        if (strcmp(name, first) == 0) names->single = *row;
        if (!(*row)->hidden) names->all[names->count++] = name;
        if (strncmp(name, first, length) == 0 && name[length] == ' ')
            names->group[names->group_count++] = name + length + 1;
    }
}

/* Returns the group of commands with the name nearest to `first`, as "task" for "tsk", in `word`.
 * NULL: none is near. */
static const char *near_group(const command_names *names, const char *first, char word[32])
{
    for (size_t i = 0; i < names->count; i++) {
        size_t length = strcspn(names->all[i], " ");
        if (!names->all[i][length] || length >= 32) continue;
        memcpy(word, names->all[i], length);
        word[length] = '\0';
        const char *const one[] = {word};
        if (kf_nearest(first, one, 1)) return word;
    }
    return NULL;
}

/* Returns the command that is near `first`, also by its second word: "task lint" for "lint". */
static const char *near_command(const command_names *names, const char *first)
{
    const char *seconds[MAX_COMMANDS], *near = NULL;
    for (size_t i = 0; i < names->count; i++) {
        const char *blank = strchr(names->all[i], ' ');
        seconds[i] = blank ? blank + 1 : names->all[i];
    }
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(seconds[i], first) == 0) return names->all[i];
    if ((near = kf_nearest(first, names->all, names->count))) return near;
    near = kf_nearest(first, seconds, names->count);
    for (size_t i = 0; near && i < names->count; i++)
        if (seconds[i] == near) return names->all[i];
    return NULL;
}

/* Fails for the second word of a group. */
static bool fail_group(const command_names *names, const char *first, const char *second,
                       kf_error *error)
{
    const char *near = second ? kf_nearest(second, names->group, names->group_count) : NULL;
    if (near)
        return kf_fail(error, KF_ERROR_INPUT, "unknown command \"%s %s\"; did you mean \"%s %s\"?",
                       first, second, first, near);
    kf_autobuffer list = {0}, meant = {0};
    if (kf_meant_command(first, second, &meant))
        return kf_fail(error, KF_ERROR_INPUT, "unknown command \"%s %s\"; did you mean: kforge %s",
                       first, second, meant.data);
    for (size_t i = 0; i < names->group_count; i++)
        kf_buffer_format(&list, "%s%s", i ? ", " : "", names->group[i]);
    if (list.failed) return kf_fail_memory(error, "the names of commands");
    if (second)
        return kf_fail(error, KF_ERROR_INPUT,
                       "unknown command \"%s %s\"; expected %s and one of: %s", first, second,
                       first, list.data);
    return kf_fail(error, KF_ERROR_INPUT, "\"%s\" takes one of: %s", first, list.data);
}

/* True if `second` is a misspelt word of the group and no argument of the command `first`. */
static bool is_misspelt(const command_names *names, const char *second)
{
    if (!second || !kf_nearest(second, names->group, names->group_count)) return false;
    kf_error why = {0};
    kf_autofree char *path = kf_named_task_path(second, &why);
    if (!path && why.code == KF_ERROR_MEMORY) return false;
    return !path || (strchr(second, '/') == NULL && access(path, F_OK) != 0);
}

const kf_command *kf_command_find(const kf_command *const *commands, const char *const *words,
                                  size_t count, size_t *used, kf_error *error)
{
    const char *first = words[0], *second = count > 1 && words[1][0] != '-' ? words[1] : NULL;
    size_t length = strlen(first);
    for (const kf_command *const *row = commands; *row && second; row++) {
        const char *name = (*row)->name;
        if (strncmp(name, first, length) != 0 || name[length] != ' ' ||
            strcmp(name + length + 1, second) != 0)
            continue;
        *used = 2;
        return *row;
    }
    command_names names = {0};
    collect(commands, first, &names);
    if (names.single && !is_misspelt(&names, second)) {
        *used = 1;
        return names.single;
    }
    if (names.group_count) {
        fail_group(&names, first, second, error);
        return NULL;
    }
    char group[32];
    kf_autobuffer meant = {0};
    const char *near =
        kf_meant_command(first, NULL, &meant) ? meant.data : near_command(&names, first);
    if (!near) near = near_group(&names, first, group);
    if (near)
        kf_fail(error, KF_ERROR_INPUT, "unknown command \"%s\"; did you mean \"%s\"?", first, near);
    else
        kf_fail(error, KF_ERROR_INPUT, "unknown command \"%s\"; \"kforge help\" lists all", first);
    return NULL;
}
