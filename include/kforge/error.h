/* Errors as values.
 *
 * A function that can fail takes a `kf_error *` last and returns false, NULL or -1 on failure. It
 * then has filled the error with one line: the fault, its place, and the remedy. The caller owns
 * the struct, usually on its stack; it holds no pointers. NULL is allowed if the caller needs no
 * text. Library code never prints and never exits.
 */
#ifndef KFORGE_ERROR_H
#define KFORGE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* The cause of a failure, from which the remedy follows. agent/main.c maps it to an exit status
 * (docs/internals/architecture.md, "Exit status"). */
typedef enum kf_error_code {
    KF_ERROR_NONE = 0,
    /* bad usage or bad input, which the user can correct */
    KF_ERROR_INPUT,
    /* the machine lacks or refuses something: a compiler, a device, a kernel feature */
    KF_ERROR_MACHINE,
    /* reading or writing failed: disk full, permission, broken pipe */
    KF_ERROR_IO,
    /* a documented limit was reached: size, depth, time, budget */
    KF_ERROR_LIMIT,
    /* another process uses it; trying again later may work */
    KF_ERROR_BUSY,
    /* allocation failed */
    KF_ERROR_MEMORY,
    /* a broken invariant: a bug in kforge */
    KF_ERROR_INTERNAL,
} kf_error_code;

typedef struct kf_error {
    kf_error_code code;
    /* one line without a newline; longer texts end with "..." */
    char text[1024];
} kf_error;

/* Fills *error. Returns false, for `return kf_fail(error, KF_ERROR_INPUT, "...")`. Replaces
 * newlines and other control characters by spaces, because the text may contain parts of a
 * candidate or file.
 */
bool kf_fail(kf_error *error, kf_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills *error with KF_ERROR_MEMORY and "out of memory for WHAT" ("a prompt"), without an article
 * of its own. Returns false. */
bool kf_fail_memory(kf_error *error, const char *what);

/* Like kf_fail, with a va_list. */
bool kf_fail_va(kf_error *error, kf_error_code code, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Puts "PREFIX: " before the text of the error, for a caller that knows the file or the field.
 * Returns false. */
bool kf_fail_prefix(kf_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies a failure from one struct to another; either may be NULL. Returns false. */
bool kf_fail_copy(kf_error *to, const kf_error *from);

/* Returns "input", "machine", …, for JSON and logs. */
const char *kf_error_code_name(kf_error_code code);

#endif
