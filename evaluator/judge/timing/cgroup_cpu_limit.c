#include "cgroup_cpu_limit.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"

static bool read_numbers(const char *folder, const char *name, double *first, double *second)
{
    char path[PATH_MAX], text[128] = "", word[64];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    kf_autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file)) return false;
    int found = sscanf(text, "%63s %lf", word, second);
    *first = strtod(word, NULL); /* 0 for "max" */
    return found >= 1;
}

/* Returns the smallest limit of a group and of all groups above it, up to the mount. */
static double granted_below(const char *mount, const char *group, bool second_version)
{
    char folder[PATH_MAX];
    double least = INFINITY;
    size_t top = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group) >=
        (int)sizeof folder)
        return least;
    for (;;) {
        double quota = 0, period = 0, unused;
        bool known = second_version
                         ? read_numbers(folder, "cpu.max", &quota, &period)
                         : read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) &&
                               read_numbers(folder, "cpu.cfs_period_us", &period, &unused);
        if (known && quota > 0 && period > 0) least = fmin(least, quota / period);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < top) return least;
        *slash = '\0';
    }
}

double kf_cgroup_cpu_limit(const char *own, const char *root)
{
    char line[PATH_MAX + 256], mount[PATH_MAX];
    double least = INFINITY;
    kf_autofclose FILE *file = fopen(own, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        bool second_version = !names[1];
        if (second_version) least = fmin(least, granted_below(root, group, true));
        bool processors = false;
        for (char *save = NULL, *name = strtok_r(names + 1, ",", &save); name;
             name = strtok_r(NULL, ",", &save))
            processors = processors || strcmp(name, "cpu") == 0;
        if (!processors) continue;
        for (int turn = 0; turn < 2; turn++) /* either name is in use */
            if (snprintf(mount, sizeof mount, "%s/%s", root, turn ? "cpu,cpuacct" : "cpu") <
                (int)sizeof mount)
                least = fmin(least, granted_below(mount, group, false));
    }
    return least;
}
