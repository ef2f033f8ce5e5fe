#include "jail.h"

#include <stdio.h>

#include "paths.h"

void kf_jail_system(kf_sandbox_path *paths, size_t *count, size_t most)
{
    static const struct {
        const char *path;
        int access;
    } rows[] = {
        {"/usr", KF_PATH_READ | KF_PATH_EXEC},
        {"/lib", KF_PATH_READ | KF_PATH_EXEC},
        {"/lib64", KF_PATH_READ | KF_PATH_EXEC},
        {"/lib32", KF_PATH_READ | KF_PATH_EXEC},
        {"/libx32", KF_PATH_READ | KF_PATH_EXEC},
        {"/bin", KF_PATH_READ | KF_PATH_EXEC},
        {"/sbin", KF_PATH_READ | KF_PATH_EXEC},
        /* Of /etc only the dynamic linker's files and the alternatives: no users, keys or
           configuration. */
        {"/etc/ld.so.cache", KF_PATH_READ},
        {"/etc/ld.so.conf", KF_PATH_READ},
        {"/etc/ld.so.conf.d", KF_PATH_READ},
        {"/etc/alternatives", KF_PATH_READ},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && *count < most; i++)
        paths[(*count)++] = (kf_sandbox_path){rows[i].path, rows[i].access, true};
}

void kf_jail_init(kf_jail *jail, const char *directory, int access)
{
    jail->count = 0;
    kf_jail_system(jail->paths, &jail->count, KF_JAIL_PATHS - 3);
    snprintf(jail->bin, sizeof jail->bin, "%s/bin", kf_root());
    snprintf(jail->lib, sizeof jail->lib, "%s/lib/kforge", kf_root());
    jail->paths[jail->count++] = (kf_sandbox_path){jail->bin, KF_PATH_READ | KF_PATH_EXEC, true};
    jail->paths[jail->count++] = (kf_sandbox_path){jail->lib, KF_PATH_READ | KF_PATH_EXEC, false};
    jail->paths[jail->count++] = (kf_sandbox_path){directory, access, false};
}
