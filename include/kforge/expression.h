/* Arithmetic expressions over named parameters: shapes, scalar values and work in task.json,
 * constraints of tunables.
 *
 * Grammar (C precedence): integers and decimals, names, + - * / %, comparisons, && || !,
 * parentheses, c ? a : b, min(a,b), max(a,b), ceil_div(a,b), log2(a) and abs(a). Integer arithmetic
 * is 64-bit and checked: overflow and division by zero are errors, never wrapped; so is a decimal
 * result that is not finite. `/` on integers truncates as in C. One decimal operand makes the
 * result a decimal; log2 gives a decimal; comparisons and logic give 1 or 0 and evaluate only what
 * they need. Callers check the range. Pure: no input or output, no state; a fuzz target. Limits:
 * KF_EXPRESSION_BYTES long, KF_EXPRESSION_DEPTH deep.
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

/* Named integers that an expression may use. */
typedef struct kf_binding {
    const char *name;
    int64_t value;
} kf_binding;

/* Parses; the caller frees. Errors name the column and what was expected. */
kf_expression *kf_expression_parse(const char *text, kf_error *error);
void kf_expression_free(kf_expression *expression);
KF_DEFINE_AUTO(kf_expression, kf_expression_free)
/* Evaluates. An unknown name is KF_ERROR_INPUT and names the nearest known one. */
bool kf_expression_evaluate(const kf_expression *expression, const kf_binding *bindings,
                            size_t count, kf_value *value, kf_error *error);
/* The source text, borrowed. */
const char *kf_expression_text(const kf_expression *expression);
/* Calls visit for every name used (a name may come twice). */
void kf_expression_names(const kf_expression *expression,
                         void (*visit)(void *context, const char *name), void *context);
/* True for min, max, …: words that can't name a parameter. */
bool kf_expression_is_function(const char *name);

#endif
