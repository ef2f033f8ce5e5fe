/* libmicrohttpd, loaded when a server opens. Linking would load ten more libraries and double the
 * time of every start, also of each worker's. Internal to agent/serve. */
#ifndef KFORGE_MICROHTTPD_LIBRARY_H
#define KFORGE_MICROHTTPD_LIBRARY_H

#include <microhttpd.h>

#include "kforge/error.h"

// clang-format off
#define KF_MHD_FUNCTIONS(ROW) \
    ROW(start_daemon) ROW(stop_daemon) ROW(suspend_connection) ROW(resume_connection) \
    ROW(get_connection_info) ROW(lookup_connection_value) ROW(create_response_from_buffer) \
    ROW(create_response_from_callback) ROW(add_response_header) ROW(queue_response) \
    ROW(destroy_response)
// clang-format on

typedef struct kf_mhd_library {
#define MEMBER(NAME) __typeof__(MHD_##NAME) *NAME;
    KF_MHD_FUNCTIONS(MEMBER)
#undef MEMBER
} kf_mhd_library;

/* Returns the table. NULL with KF_ERROR_MACHINE if libmicrohttpd is not installed. Any thread may
 * call it. */
const kf_mhd_library *kf_mhd_load(kf_error *error);

#endif
