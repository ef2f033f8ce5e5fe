/* The embedded files of pages, and the policy that a page loads nothing and runs nothing else. */
#ifndef KFORGE_PAGE_FILES_H
#define KFORGE_PAGE_FILES_H

#include <stdbool.h>

#include "kforge/buffer.h"

/* Returns a file of view/. "" if there is no such file. */
const char *kf_page_file(const char *name);
/* Appends the Content-Security-Policy of a page with this style and this script. Both run by their
 * SHA-256. `live`: the page may ask the server that it came from. */
bool kf_page_policy(const char *style, const char *script, bool live, kf_buffer *out);

#endif
