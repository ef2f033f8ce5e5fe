/* Errors as values.
 *
 * Every fallible function of libkforge takes a `kf_error *` last, returns false / NULL / -1 on
 * failure and then has filled it with one line that says what failed, where, and what to do. The
 * caller owns the struct (usually on its stack); it holds no pointers. Passing NULL is allowed
 * where the caller does not care. Library code never prints and never exits.
 */
#ifndef KFORGE_ERROR_H
#define KFORGE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* Whose fault it is and what the caller can do; main.c maps these to exit statuses
 * (docs/internals/architecture.md, "Exit status"). */
typedef enum kf_error_code {
    KF_ERROR_NONE = 0,
    KF_ERROR_INPUT, /* bad usage or bad input: the user can mend it */
    /* the machine lacks or refuses something: a compiler, a device, a kernel feature */
    KF_ERROR_MACHINE,
    KF_ERROR_IO,       /* reading or writing failed: disk full, permission, broken pipe */
    KF_ERROR_LIMIT,    /* a documented limit was reached: size, depth, time, budget */
    KF_ERROR_BUSY,     /* somebody else holds it; trying again later may work */
    KF_ERROR_MEMORY,   /* allocation failed */
    KF_ERROR_INTERNAL, /* a broken invariant: a bug in kforge */
} kf_error_code;

typedef struct kf_error {
    kf_error_code code;
    char text[1024]; /* one line, no trailing newline; longer texts end in "..." */
} kf_error;

/* Fills *error and returns false, so that `return kf_fail(error, KF_ERROR_INPUT, "...")` reads as
 * one step. Newlines and other control characters in the formatted text are replaced by spaces: an
 * error is one line whatever a candidate or file contained. */
bool kf_fail(kf_error *error, kf_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fills *error with KF_ERROR_MEMORY and "out of memory for WHAT" ("a prompt"), without an article
 * of its own. Returns false. */
bool kf_fail_memory(kf_error *error, const char *what);

/* The same as kf_fail with a va_list. */
bool kf_fail_va(kf_error *error, kf_error_code code, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Puts "PREFIX: " before the text that is already there: where a caller knows the file or the
 * field. Returns false. */
bool kf_fail_prefix(kf_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies a failure from one struct to another; either may be NULL. Returns false. */
bool kf_fail_copy(kf_error *to, const kf_error *from);

/* "input", "machine", … for JSON and logs. */
const char *kf_error_code_name(kf_error_code code);

#endif
