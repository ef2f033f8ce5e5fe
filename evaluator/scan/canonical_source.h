/* The canonical form of a candidate's source, without layout, comments and names of locals. Two
 * sources with one form are probably the same program. Pure and thread-safe. Any byte of the source
 * may be hostile.
 *
 *   white space, comments  removed, except `// kforge:` lines, because other tunables make
 *                          another candidate
 *   locals, parameters     become numbers in the order of declaration, scope by scope
 *   kernels                become numbers, unless a string of the source contains the name
 *   all else               stays: literals, macros, words in directives, types, members, helpers,
 *                          the entry point
 *
 * Declarations are recognised by their form, without types. A missed declaration keeps its name, so
 * equal programs may have different forms. Different programs should never have one form, but a
 * tokenizer is not a compiler. So a form is only a hint which binaries to compare, and a source
 * that is not plain has no form: with conditional directives, macros with parameters, names of
 * members, labels, attributes or types in a body, assembler, line continuations, digraphs, or
 * user-defined literals.
 */
#ifndef KFORGE_CANONICAL_SOURCE_H
#define KFORGE_CANONICAL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"
#include "kforge/hash.h"

/* Computes the SHA-256 of the form. "" for a source without one. Errors: KF_ERROR_LIMIT,
 * KF_ERROR_MEMORY. */
bool kf_canonical_source_hash(const char *source, size_t size, char hex[KF_HASH_HEX],
                              kf_error *error);
/* Appends the form, for people and tests. Appends nothing if the source has no form. */
bool kf_canonical_source_text(const char *source, size_t size, kf_buffer *out, kf_error *error);

#endif
