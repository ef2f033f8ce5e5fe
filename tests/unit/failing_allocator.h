/* Fails allocations on demand. Link the test with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup, so that the calls of
 * kforge's own objects come here. */
#ifndef KFORGE_TEST_FAILING_ALLOCATOR_H
#define KFORGE_TEST_FAILING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

static long until_failure = -1; /* allocations that still work; negative: all do */
static bool failed_once;

/* One fails, and from there on all work: one failure has to be enough to stop. */
static bool fails_now(void)
{
    if (until_failure < 0 || until_failure-- > 0) return false;
    failed_once = true;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails_now() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails_now() ? NULL : __real_strndup(text, size);
}

#endif
