/* Helpers that the files of a run's page share. */
#ifndef KFORGE_PAGE_INTERNAL_H
#define KFORGE_PAGE_INTERNAL_H

#include <cjson/cJSON.h>

#include "kforge/store.h"
#include "kforge/verdict.h"

/* Add a cleaned text, a number, or [value, low, high]. They leave out "" and numbers that are not
 * finite. */
void kf_page_add_text(cJSON *object, const char *key, const char *text);
void kf_page_add_number(cJSON *object, const char *key, double value);
void kf_page_add_interval(cJSON *object, const char *key, kf_interval interval);

/* Returns a stored verdict, or NULL if it can't be read. */
kf_verdict *kf_page_verdict(kf_store *store, int64_t id);

#endif
