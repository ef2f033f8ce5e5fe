/* Static triage: flags parts of a candidate that a person may want to read. A flag is never a
 * conviction: each rule has honest uses, and a cheat can avoid all of them
 * (docs/internals/trust.md). Pure and thread-safe. Any byte of the input may be hostile.
 */
#ifndef KFORGE_SCAN_H
#define KFORGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_SCAN_WORD 64

/* Rule of an argument that the host accesses. On a GPU it is device memory, out of the host's
 * reach.
 */
#define KF_SCAN_HOST_ACCESS "memory.host"

typedef struct kf_scan_flag {
    /* "code.load", and one line for people; static */
    const char *rule, *text;
    /* the name or instruction, truncated and printable */
    char word[KF_SCAN_WORD];
    /* first line in the source, 0 without a line */
    long line;
    /* number of occurrences */
    long count;
} kf_scan_flag;

/* Gets each different word of a rule once, in the order of first occurrence. The flag is borrowed.
 */
typedef void kf_scan_report(void *context, const kf_scan_flag *flag);

/* True if a file's name ends with ".py". */
bool kf_file_is_python(const char *name);
/* Guesses the language of a source without a file name. True if a line imports a module, or defines
 * a function or a class, and no line is one that only CUDA C has. Not for preprocessed text. */
bool kf_source_is_python(const char *text, size_t size);
/* Scans the tokens of CUDA C, or with `python` of Python, outside comments. In preprocessed text
 * (`g++ -E`, with linemarkers) only tokens of the main file count, at its lines. Macros are then
 * expanded, so the scan finds words that
 * ## joins. Errors: KF_ERROR_LIMIT, KF_ERROR_MEMORY. */
bool kf_scan_source(const char *text, size_t size, bool python, kf_scan_report *report,
                    void *context, kf_error *error);
/* Finds the flag KF_SCAN_HOST_ACCESS of CUDA C. *found has line 0 without one. Errors as before. */
bool kf_scan_host_flag(const char *text, size_t size, kf_scan_flag *found, kf_error *error);
/* Scans an ELF64 file for imported names, libraries, constructors, writable code, and machine code
 * in data. Errors: KF_ERROR_INPUT for a malformed file, KF_ERROR_MEMORY. */
bool kf_scan_elf(const void *data, size_t size, kf_scan_report *report, void *context,
                 kf_error *error);
/* Scans a listing of `cuobjdump -sass` for the precision of matrix instructions. */
bool kf_scan_sass(const char *text, size_t size, kf_scan_report *report, void *context,
                  kf_error *error);

/* evaluator/judge implements the next two functions, because they run tools on untrusted text in a
 * sandbox. */

/* Preprocesses and compiles `source` as for the CPU device. The caller frees. *text and *binary are
 * NULL if the source does not get that far. False only if the machine is at fault. */
bool kf_scan_compile(const char *source, size_t size, char **text, size_t *text_size, char **binary,
                     size_t *binary_size, kf_error *error);
/* Returns cuobjdump's listing of a file with GPU code. The caller frees. NULL without an error if
 * there is no cuobjdump or no GPU code. */
char *kf_scan_disassemble(const char *path, size_t *size, kf_error *error);

#endif
