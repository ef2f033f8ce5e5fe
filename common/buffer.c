#include "kforge/buffer.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kf_buffer_free(kf_buffer *buffer)
{
    free(buffer->data);
    *buffer = (kf_buffer){.limit = buffer->limit};
}

void kf_buffer_clear(kf_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
    if (buffer->data) buffer->data[0] = '\0';
}

/* Makes room for `more` bytes and the NUL. */
static bool reserve(kf_buffer *buffer, size_t more)
{
    if (more > SIZE_MAX / 2 - buffer->size - 1) return false;
    size_t needed = buffer->size + more + 1;
    if (needed <= buffer->capacity) return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < needed) capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data) return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *kf_buffer_reserve(kf_buffer *buffer, size_t more)
{
    bool within = !buffer->limit || more <= buffer->limit - buffer->size;
    if (!buffer->failed && within && reserve(buffer, more)) return buffer->data + buffer->size;
    buffer->failed = true;
    return NULL;
}

void kf_buffer_append(kf_buffer *buffer, const void *data, size_t size)
{
    if (buffer->failed) return;
    if (buffer->limit && size > buffer->limit - buffer->size) {
        /* keeps the part within the limit */
        size = buffer->limit - buffer->size;
        buffer->failed = true;
    }
    if (!reserve(buffer, size)) {
        buffer->failed = true;
        return;
    }
    if (size) memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void kf_buffer_string(kf_buffer *buffer, const char *text)
{
    kf_buffer_append(buffer, text, strlen(text));
}

void kf_buffer_format_va(kf_buffer *buffer, const char *format, va_list arguments)
{
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length < 0) {
        buffer->failed = true;
    } else if ((size_t)length < sizeof small) {
        kf_buffer_append(buffer, small, (size_t)length);
    } else {
        char *large = malloc((size_t)length + 1);
        if (large) {
            vsnprintf(large, (size_t)length + 1, format, again);
            kf_buffer_append(buffer, large, (size_t)length);
            free(large);
        } else {
            buffer->failed = true;
        }
    }
    va_end(again);
}

void kf_buffer_format(kf_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kf_buffer_format_va(buffer, format, arguments);
    va_end(arguments);
}

char *kf_buffer_take(kf_buffer *buffer)
{
    if (!buffer->data) kf_buffer_append(buffer, "", 0);
    char *text = buffer->failed ? NULL : buffer->data;
    if (!text) free(buffer->data);
    *buffer = (kf_buffer){.limit = buffer->limit};
    return text;
}
