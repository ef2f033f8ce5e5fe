/* libcurl, loaded when the first request needs it. Linking would load thirty more libraries and
 * cost 6 ms at every start, even for `kforge --version`. Internal to agent/. */
#ifndef KFORGE_CURL_LIBRARY_H
#define KFORGE_CURL_LIBRARY_H

#include <curl/curl.h>

#include "kforge/error.h"

// clang-format off
#define KF_CURL_FUNCTIONS(ROW) \
    ROW(global_init) ROW(easy_init) ROW(easy_cleanup) ROW(easy_setopt) ROW(easy_getinfo) ROW(easy_strerror) ROW(slist_append) \
    ROW(slist_free_all) ROW(multi_init) ROW(multi_cleanup) ROW(multi_setopt) ROW(multi_add_handle) ROW(multi_remove_handle) \
    ROW(multi_socket_action) ROW(multi_info_read) ROW(url) ROW(url_cleanup) ROW(url_set) ROW(url_get) ROW(free) ROW(getdate)
// clang-format on

/* These macros check types, which fails for the members of the table. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

typedef struct kf_curl_library {
#define MEMBER(NAME) __typeof__(curl_##NAME) *NAME;
    KF_CURL_FUNCTIONS(MEMBER)
#undef MEMBER
} kf_curl_library;

/* Returns the table. NULL with KF_ERROR_MACHINE if libcurl is not installed. Any thread may call
 * it. */
const kf_curl_library *kf_curl_load(kf_error *error);

#endif
