#include "jail.h"

#include <stdio.h>

#include "paths.h"

void kf_jail_init(kf_jail *jail, const char *directory, int access)
{
    static const char *const system_paths[] = {"/usr", "/lib", "/lib64", "/lib32", "/libx32", "/bin", "/sbin"};
    /* Single files of /etc that the dynamic linker and locale-aware programs read; no users, no keys, no configuration. */
    static const char *const etc_paths[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"};
    jail->count = 0;
    for (size_t i = 0; i < sizeof system_paths / sizeof *system_paths; i++)
        jail->paths[jail->count++] = (kf_sandbox_path){system_paths[i], KF_PATH_READ | KF_PATH_EXEC, true};
    for (size_t i = 0; i < sizeof etc_paths / sizeof *etc_paths; i++) jail->paths[jail->count++] = (kf_sandbox_path){etc_paths[i], KF_PATH_READ, true};
    snprintf(jail->bin, sizeof jail->bin, "%s/bin", kf_root());
    snprintf(jail->lib, sizeof jail->lib, "%s/lib/kforge", kf_root());
    jail->paths[jail->count++] = (kf_sandbox_path){jail->bin, KF_PATH_READ | KF_PATH_EXEC, true};
    jail->paths[jail->count++] = (kf_sandbox_path){jail->lib, KF_PATH_READ | KF_PATH_EXEC, false};
    jail->paths[jail->count++] = (kf_sandbox_path){directory, access, false};
}
