/* A growable byte string. Always NUL-terminated behind `size`, so `data` is a C string when it
 * holds no NUL of its own. A buffer that ran out of memory or over its limit becomes `failed` and
 * ignores further appends; test once at the end. Zero-initialise ({0}) or set `limit` to bound it.
 * Not thread-safe. */
#ifndef KFORGE_BUFFER_H
#define KFORGE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct kf_buffer {
    char *data;      /* owned; NULL while nothing was ever appended */
    size_t size;     /* bytes used, without the terminating NUL */
    size_t capacity; /* bytes allocated */
    size_t limit;    /* most bytes it may hold; 0: no limit */
    bool failed;     /* out of memory or over the limit: contents are what fitted */
} kf_buffer;

void kf_buffer_free(kf_buffer *buffer);
void kf_buffer_clear(kf_buffer *buffer); /* keeps the allocation */
void kf_buffer_append(kf_buffer *buffer, const void *data, size_t size);
/* Room for `more` bytes and a NUL behind what is there, for who writes there and then adds to
 * `size`; NULL, and the buffer failed, when there is none within memory and limit. */
char *kf_buffer_reserve(kf_buffer *buffer, size_t more);
void kf_buffer_string(kf_buffer *buffer, const char *text);
void kf_buffer_format(kf_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void kf_buffer_format_va(kf_buffer *buffer, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* The text as a malloc'd string that the caller frees, "" when empty; NULL when the buffer failed.
 * Leaves the buffer empty. */
char *kf_buffer_take(kf_buffer *buffer);

#define kf_autobuffer __attribute__((cleanup(kf_buffer_free))) kf_buffer

#endif
