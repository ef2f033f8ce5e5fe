#include "jail.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

#if defined(__aarch64__)
#define LINKER "ld-linux-aarch64.so.1"
#define TRIPLE "aarch64-linux-gnu"
#else
#define LINKER "ld-linux-x86-64.so.2"
#define TRIPLE "x86_64-linux-gnu"
#endif

/* Finds each library where the dynamic linker does, in a folder of the distribution. */
void kf_jail_libraries(kf_sandbox_path *paths, size_t *count, size_t most)
{
    static const char *const folders[] = {"/lib/" TRIPLE, "/usr/lib/" TRIPLE,
                                          "/lib64",       "/usr/lib64",
                                          "/lib",         "/usr/lib"},
                             *const names[] = {LINKER,          "libc.so.6",     "libm.so.6",
                                               "libmvec.so.1",  "libgcc_s.so.1", "libstdc++.so.6",
                                               "libdl.so.2",    "librt.so.1",    "libpthread.so.0",
                                               "libatomic.so.1"},
                             *const linkers[] = {"/lib64/" LINKER, "/lib/" LINKER};
    enum { NAMES = sizeof names / sizeof *names, FOLDERS = sizeof folders / sizeof *folders };
    static char found[NAMES][64];
    for (size_t i = 0; i < sizeof linkers / sizeof *linkers && *count < most; i++)
        paths[(*count)++] = (kf_sandbox_path){linkers[i], KF_PATH_READ | KF_PATH_EXEC, true};
    for (size_t i = 0; i < NAMES && *count < most; i++) {
        for (size_t k = 0; k < FOLDERS && !found[i][0]; k++) {
            char path[64];
            snprintf(path, sizeof path, "%s/%s", folders[k], names[i]);
            if (access(path, R_OK) == 0) memcpy(found[i], path, sizeof path);
        }
        if (found[i][0])
            paths[(*count)++] = (kf_sandbox_path){found[i], KF_PATH_READ | KF_PATH_EXEC, true};
    }
    if (*count == most) return;
    paths[(*count)++] = (kf_sandbox_path){"/etc/ld.so.cache", KF_PATH_READ, true};
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
