#include "curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static kf_curl_library table;
static char failure[300];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    /* Debian's two names for one ABI: with OpenSSL, with GnuTLS. */
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(failure, sizeof failure, "%s", dlerror());
        library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) return;
    failure[0] = '\0';
#define FIND(NAME)                                         \
    *(void **)&table.NAME = dlsym(library, "curl_" #NAME); \
    if (!table.NAME && !failure[0]) snprintf(failure, sizeof failure, "it has no curl_%s", #NAME);
    KF_CURL_FUNCTIONS(FIND)
#undef FIND
    if (!failure[0] && table.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        snprintf(failure, sizeof failure, "it does not start");
}

const kf_curl_library *kf_curl_load(kf_error *error)
{
    pthread_once(&once, load);
    if (!failure[0]) return &table;
    kf_fail(error, KF_ERROR_MACHINE,
            "libcurl can't be used: %s; install it (apt-get install libcurl4)", failure);
    return NULL;
}
