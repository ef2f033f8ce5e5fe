/* The normal form of a candidate's source: what is left of it when layout, comments and the names
 * of locals are taken away. Two sources of one form are the same program written twice, so the
 * verdict on one answers the other. Pure and thread-safe; every byte may be hostile.
 *
 *   white space and comments      go, but for `// kforge:` lines: other tunables are another
 * candidate to a search locals and parameters         become numbers, in the order in which they
 * are declared, scope by scope kernels                       become numbers, unless a string of the
 * source names one everything else               stays: literals, macros and every word that a
 * directive holds, types, members, helpers, the entry point
 *
 * Declarations are recognised by their look, without knowing types; one that is missed keeps its
 * name, so that equal programs may have different forms. The reverse is meant not to happen, but a
 * tokenizer is no compiler: whoever uses this lets the *earlier source* stand for the later one,
 * and never gives a verdict to a source that was not judged.
 */
#ifndef KFORGE_FORM_H
#define KFORGE_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"
#include "kforge/error.h"
#include "kforge/hash.h"

/* SHA-256 of the form. "" where a source has none: it looks at its own text (__LINE__, __func__ …).
 * Errors: KF_ERROR_LIMIT, KF_ERROR_MEMORY. */
bool kf_canonical_source_hash(const char *source, size_t size, char hex[KF_HASH_HEX],
                              kf_error *error);
/* The form itself, for people and tests; nothing is appended where there is none. */
bool kf_canonical_source_text(const char *source, size_t size, kf_buffer *out, kf_error *error);

#endif
