#include "microhttpd_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static kf_mhd_library table;
static char failure[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        return;
    }
#define FIND(NAME)                                        \
    *(void **)&table.NAME = dlsym(library, "MHD_" #NAME); \
    if (!table.NAME && !failure[0]) snprintf(failure, sizeof failure, "it has no MHD_%s", #NAME);
    KF_MHD_FUNCTIONS(FIND)
#undef FIND
}

const kf_mhd_library *kf_mhd_load(kf_error *error)
{
    pthread_once(&once, load);
    if (!failure[0]) return &table;
    kf_fail(error, KF_ERROR_MACHINE,
            "libmicrohttpd can't be used: %s; install it (apt-get install libmicrohttpd12)",
            failure);
    return NULL;
}
