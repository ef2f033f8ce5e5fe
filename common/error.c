#include "kforge/error.h"

#include <stdio.h>
#include <string.h>

/* Replaces control characters, because text from candidates and files may contain any bytes. */
static void make_one_line(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f) *c = ' ';
}

static void mark_cut(char *text, size_t size)
{
    /* cuts between characters, so that the text stays valid UTF-8 */
    size_t end = size - 4;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, "...", 4);
}

bool kf_fail_va(kf_error *error, kf_error_code code, const char *format, va_list arguments)
{
    if (!error) return false;
    error->code = code;
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    if (length < 0) error->text[0] = '\0';
    if (length >= (int)sizeof error->text) mark_cut(error->text, sizeof error->text);
    make_one_line(error->text);
    return false;
}

bool kf_fail(kf_error *error, kf_error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kf_fail_va(error, code, format, arguments);
    va_end(arguments);
    return false;
}

bool kf_fail_memory(kf_error *error, const char *what)
{
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory for %s", what);
}

bool kf_fail_prefix(kf_error *error, const char *format, ...)
{
    if (!error) return false;
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof text - 2) return false;
    int total = snprintf(text + length, sizeof text - (size_t)length, ": %s", error->text);
    if (length + total >= (int)sizeof text) mark_cut(text, sizeof text);
    memcpy(error->text, text, sizeof text);
    make_one_line(error->text);
    return false;
}

bool kf_fail_copy(kf_error *to, const kf_error *from)
{
    if (to && from && to != from) *to = *from;
    return false;
}

const char *kf_error_code_name(kf_error_code code)
{
    static const char *const names[] = {
        [KF_ERROR_NONE] = "none",       [KF_ERROR_INPUT] = "input",
        [KF_ERROR_MACHINE] = "machine", [KF_ERROR_IO] = "io",
        [KF_ERROR_LIMIT] = "limit",     [KF_ERROR_BUSY] = "busy",
        [KF_ERROR_MEMORY] = "memory",   [KF_ERROR_INTERNAL] = "internal",
    };
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "unknown";
}
