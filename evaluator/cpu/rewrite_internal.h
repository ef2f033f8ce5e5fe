/* Shared by the parts of the rewriter: the list of edits, and the analysis of declarations. */
#ifndef KFORGE_CPU_REWRITE_INTERNAL_H
#define KFORGE_CPU_REWRITE_INTERNAL_H

#include "rewrite.h"
#include "tokens.h"

typedef enum kf_edit_place { KF_EDIT_BEFORE, KF_EDIT_REPLACE, KF_EDIT_AFTER } kf_edit_place;

typedef struct kf_edit {
    uint32_t token, last; /* REPLACE: tokens from `token` to `last` go; their newlines and linemarkers stay */
    uint32_t place;       /* kf_edit_place */
    uint32_t order;       /* edits at one place keep the order in which they were made */
    size_t text, size;    /* in `texts` */
} kf_edit;

typedef struct kf_edits {
    kf_edit *list;
    size_t count, capacity;
    kf_buffer texts;
    bool failed; /* out of memory */
} kf_edits;

void kf_edit_add(kf_edits *edits, kf_edit_place place, uint32_t token, uint32_t last, const char *text, size_t size);
void kf_edit_string(kf_edits *edits, kf_edit_place place, uint32_t token, const char *text);
/* Before token `token` and before all other edits there. */
void kf_edit_first(kf_edits *edits, uint32_t token, const char *text);
void kf_edits_free(kf_edits *edits);
/* Writes the text with all edits made. Of overlapping replacements the first wins. */
void kf_edits_apply(kf_edits *edits, const kf_tokens *tokens, kf_buffer *output);
/* Tokens [first, last) on one line: white space becomes one blank, directives and comments go. */
void kf_flatten(const kf_tokens *tokens, uint32_t first, uint32_t last, kf_buffer *output);

/* A function that a CUDA qualifier declares. */
typedef struct kf_function {
    bool global, device, host;
    uint32_t name;                     /* KF_NO_TOKEN for lambdas and operators */
    uint32_t params_open;              /* KF_NO_TOKEN: it is no function */
    uint32_t body_open;                /* KF_NO_TOKEN: a declaration without a body */
    uint32_t bounds_first, bounds_end; /* text of __launch_bounds__' first argument; empty: none */
    uint32_t next;                     /* where to look for further qualifiers */
} kf_function;

/* Reads the declaration that token `first`, a CUDA qualifier, belongs to. */
void kf_function_read(const kf_tokens *tokens, uint32_t first, kf_function *function);

/* Writes the parameter list of a kernel, on one line and with every parameter named, to `list`, and the names as arguments ("a, b, rest...")
 * to `names`, each led by a comma; names that had to be added become edits too. */
void kf_parameters_read(const kf_tokens *tokens, uint32_t open, kf_edits *edits, kf_buffer *list, kf_buffer *names);

/* True for words that can end a type but name nothing: const, float, __restrict__, … */
bool kf_is_type_word(const kf_tokens *tokens, uint32_t index);

#endif
