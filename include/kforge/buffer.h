/* A byte string that grows. A NUL follows its `size` bytes, so `data` is a C string if the content
 * has no NUL. Start with {0}, or with a `limit`.
 *
 * Without memory, or beyond its limit, a buffer becomes `failed` and ignores further appends. Test
 * `failed` once at the end. A buffer belongs to one thread at a time. */
#ifndef KFORGE_BUFFER_H
#define KFORGE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct kf_buffer {
    /* owned; NULL before the first append */
    char *data;
    /* bytes used, without the NUL at the end */
    size_t size;
    /* bytes allocated */
    size_t capacity;
    /* most bytes; 0: no limit */
    size_t limit;
    /* out of memory or over the limit; the content is the part that fitted */
    bool failed;
} kf_buffer;

void kf_buffer_free(kf_buffer *buffer);
/* Empties the buffer and keeps its memory. */
void kf_buffer_clear(kf_buffer *buffer);
void kf_buffer_append(kf_buffer *buffer, const void *data, size_t size);
/* Makes room for `more` bytes and a NUL after the content, and returns its place. The caller writes
 * there and then adds to `size`. Without memory, or beyond the limit, the buffer fails, and the
 * result is NULL. */
char *kf_buffer_reserve(kf_buffer *buffer, size_t more);
void kf_buffer_string(kf_buffer *buffer, const char *text);
void kf_buffer_format(kf_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void kf_buffer_format_va(kf_buffer *buffer, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* Returns the text ("" if empty), which the caller frees. NULL if the buffer failed. Leaves the
 * buffer empty. */
char *kf_buffer_take(kf_buffer *buffer);

#define kf_autobuffer __attribute__((cleanup(kf_buffer_free))) kf_buffer

#endif
