/* Arithmetic expressions over named integers: shapes, scalar values and work in task.json,
 * constraints of tunables.
 *
 * Grammar, with C's precedence: integers and decimals, names, + - * / %, comparisons, && || !,
 * parentheses, c ? a : b, min(a,b), max(a,b), ceil_div(a,b), log2(a) and abs(a).
 *
 * Integers have 64 bits. Overflow, division by zero and a decimal result that is not finite are
 * errors. `/` on integers truncates as in C. One decimal operand makes the result a decimal, and so
 * does log2. Comparisons and logic give 1 or 0, and evaluate only the operands they need. The range
 * of the result is for the caller to check.
 *
 * Pure: no input or output, no state. Threads may share an expression. An expression has at most
 * KF_EXPRESSION_BYTES bytes and KF_EXPRESSION_DEPTH levels.
 */
#ifndef KFORGE_EXPRESSION_H
#define KFORGE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/argument.h"
#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_EXPRESSION_BYTES 1024
#define KF_EXPRESSION_DEPTH 64

typedef struct kf_expression kf_expression;

/* A name and its value. */
typedef struct kf_binding {
    const char *name;
    int64_t value;
} kf_binding;

/* Parses; the caller frees. The error has the column and the expected token. */
kf_expression *kf_expression_parse(const char *text, kf_error *error);
void kf_expression_free(kf_expression *expression);
KF_DEFINE_AUTO(kf_expression, kf_expression_free)
/* Evaluates. KF_ERROR_INPUT for an unknown name (with the nearest known one) and for arithmetic
 * errors. */
bool kf_expression_evaluate(const kf_expression *expression, const kf_binding *bindings,
                            size_t count, kf_value *value, kf_error *error);
/* Returns the source text, borrowed. */
const char *kf_expression_text(const kf_expression *expression);
/* Calls visit for each use of a name. */
void kf_expression_names(const kf_expression *expression,
                         void (*visit)(void *context, const char *name), void *context);
/* True for min, max and the other functions, which cannot be names of params. */
bool kf_expression_is_function(const char *name);

#endif
