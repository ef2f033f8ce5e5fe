/* Declarations that the files of the rewriter share: the list of edits, and the reading of
 * declarations. */
#ifndef KFORGE_CPU_REWRITE_INTERNAL_H
#define KFORGE_CPU_REWRITE_INTERNAL_H

#include "rewrite.h"
#include "tokens.h"

typedef enum kf_edit_place { KF_EDIT_BEFORE, KF_EDIT_REPLACE, KF_EDIT_AFTER } kf_edit_place;

typedef struct kf_edit {
    /* REPLACE removes the tokens from `token` to `last`, but keeps their newlines and
     * linemarkers. */
    uint32_t token, last;
    uint32_t place;    /* kf_edit_place */
    uint32_t order;    /* edits at one place are applied in this order */
    size_t text, size; /* in `texts` */
} kf_edit;

typedef struct kf_edits {
    kf_edit *list;
    size_t count, capacity;
    kf_buffer texts;
    bool failed; /* out of memory */
} kf_edits;

void kf_edit_add(kf_edits *edits, kf_edit_place place, uint32_t token, uint32_t last,
                 const char *text, size_t size);
void kf_edit_string(kf_edits *edits, kf_edit_place place, uint32_t token, const char *text);
/* Adds an edit before token `token` that comes before all other edits there. */
void kf_edit_first(kf_edits *edits, uint32_t token, const char *text);
void kf_edits_free(kf_edits *edits);
/* Writes the text with all edits applied, and its copies. Of overlapping replacements only the
 * first counts. False without memory for the copies. */
bool kf_edits_apply(kf_edits *edits, const kf_tokens *tokens, kf_rewrite_result *result);
/* Writes the tokens [first, last) on one line: white space becomes one blank, directives and
 * comments disappear. A mark before each token says where it comes from. kf_edits_apply removes the
 * marks, so the output must go into an edit. */
void kf_flatten(const kf_tokens *tokens, uint32_t first, uint32_t last, kf_buffer *output);

/* A function that a CUDA qualifier declares. */
typedef struct kf_function {
    bool global, device, host;
    uint32_t name;        /* KF_NO_TOKEN for lambdas and operators */
    uint32_t params_open; /* KF_NO_TOKEN: no function */
    uint32_t body_open;   /* KF_NO_TOKEN: a declaration without a body */
    /* The text of the first argument of __launch_bounds__, empty without one. */
    uint32_t bounds_first, bounds_end;
    uint32_t next; /* where to look for further qualifiers */
} kf_function;

/* Reads the declaration that token `first`, a CUDA qualifier, belongs to. */
void kf_function_read(const kf_tokens *tokens, uint32_t first, kf_function *function);

/* Writes a kernel's parameter list to `list`, on one line and with a name for every parameter.
 * Writes the names as arguments ("a, b, rest...") to `names`, each after a comma. A missing name is
 * also added to `edits`. */
void kf_parameters_read(const kf_tokens *tokens, uint32_t open, kf_edits *edits, kf_buffer *list,
                        kf_buffer *names);

/* True for words that can end a type but are not a name: const, float, __restrict__, … */
bool kf_is_type_word(const kf_tokens *tokens, uint32_t index);

#endif
