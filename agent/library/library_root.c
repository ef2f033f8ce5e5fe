#include "library_root.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"

/* lib/kforge/ in a build folder; lib/ or lib/x86_64-linux-gnu/ in an installation. */
#define MOST_LEVELS 3

static bool holds_program(const char *root)
{
    kf_autofree char *program = kf_path_join(root, "bin/kforge");
    return program && access(program, X_OK) == 0;
}

char *kf_library_root(const char *given, kf_error *error)
{
    if (given) {
        char *root = realpath(given, NULL);
        if (root && holds_program(root)) return root;
        free(root);
        kf_fail(error, KF_ERROR_INPUT, "root: %s has no bin/kforge", given);
        return NULL;
    }
    Dl_info info;
    kf_autofree char *path = dladdr((void *)(uintptr_t)kf_library_root, &info) && info.dli_fname
                                 ? realpath(info.dli_fname, NULL)
                                 : NULL;
    for (int level = 0; path && level <= MOST_LEVELS; level++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) break;
        *slash = '\0';
        if (holds_program(path)) return kf_steal(&path);
    }
    kf_fail(error, KF_ERROR_MACHINE,
            "bin/kforge is in no folder above the library; name the installation as \"root\"");
    return NULL;
}
