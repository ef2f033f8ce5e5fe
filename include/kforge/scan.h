/* Static triage: what in a candidate somebody may want to look at, with the line. Flags, never
 * convictions: each of these has honest uses, and a cheat can avoid all of them
 * (docs/internals/trust.md). Pure and thread-safe; every byte may be hostile.
 */
#ifndef KFORGE_SCAN_H
#define KFORGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

#define KF_SCAN_WORD 64

typedef struct kf_scan_flag {
    const char *rule, *text; /* "code.load"; one line for people. Static strings */
    char word[KF_SCAN_WORD]; /* what was found: a name, an instruction; cut, printable */
    long line;               /* of the source, 0 where there is none */
    long count;              /* how often, from that line on */
} kf_scan_flag;

/* Called once for each different word of a rule, in the order of first occurrence. The flag is
 * borrowed. */
typedef void kf_scan_report(void *context, const kf_scan_flag *flag);

/* Tokens of CUDA C outside comments. With linemarkers (`g++ -E`) only those of the main file count,
 * at its lines; macros are then expanded, so words that were pasted together are found. Errors:
 * KF_ERROR_LIMIT, KF_ERROR_MEMORY. */
bool kf_scan_source(const char *text, size_t size, kf_scan_report *report, void *context,
                    kf_error *error);
/* Imported names, libraries, constructors, writable code and machine code in data of an ELF64 file.
 * Errors: KF_ERROR_INPUT when it is no well-formed one, KF_ERROR_MEMORY. */
bool kf_scan_elf(const void *data, size_t size, kf_scan_report *report, void *context,
                 kf_error *error);
/* A listing of `cuobjdump -sass`: the precision that matrix instructions multiply and add in. */
bool kf_scan_sass(const char *text, size_t size, kf_scan_report *report, void *context,
                  kf_error *error);

/* In kf_judge, because untrusted text is only preprocessed and disassembled in a jail: */

/* `source` preprocessed and compiled as for the CPU device; malloc'd, *text NULL where it does not
 * get that far, *binary too. False only when the machine is at fault. */
bool kf_scan_compile(const char *source, size_t size, char **text, size_t *text_size, char **binary,
                     size_t *binary_size, kf_error *error);
/* What cuobjdump says of a file with GPU code; malloc'd, NULL without an error where there is no
 * cuobjdump or nothing to disassemble. */
char *kf_scan_disassemble(const char *path, size_t *size, kf_error *error);

#endif
