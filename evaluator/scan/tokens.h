/* Reads preprocessed C++ as tokens, for the rewriter. Pure, in linear time.
 *
 * The text is the output of `g++ -E`. It may contain comments, which are skipped. Its directives
 * are linemarkers and pragmas. A token points into the text. Only white space and comments lie
 * between two tokens, so a writer can copy the gaps. Malformed text (a string without an end, a
 * bracket without a partner) gives tokens too, so that the compiler reports the error in its own
 * words. */
#ifndef KFORGE_CPU_TOKENS_H
#define KFORGE_CPU_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/cleanup.h"
#include "kforge/error.h"

#define KF_TOKENS_BYTES (32u << 20) /* longest text */
#define KF_TOKENS_COUNT (8u << 20)  /* most tokens */
#define KF_NO_TOKEN UINT32_MAX

typedef enum kf_token_kind {
    KF_TOKEN_WORD,      /* identifier or keyword */
    KF_TOKEN_NUMBER,    /* preprocessing number */
    KF_TOKEN_STRING,    /* with its prefix, raw or not, or a character literal */
    KF_TOKEN_PUNCT,     /* one character, or one of :: -> <= >= ... */
    KF_TOKEN_DIRECTIVE, /* a whole line from '#', without its newline */
    KF_TOKEN_END,       /* the last token of every list; empty */
} kf_token_kind;

typedef struct kf_token {
    uint32_t offset, size; /* in the text */
    uint32_t line;         /* of the text, from 1 */
    uint32_t match;        /* the index of a bracket's partner, KF_NO_TOKEN without one */
    uint32_t kind;         /* kf_token_kind */
} kf_token;

typedef struct kf_tokens {
    const char *text; /* not owned */
    size_t size;
    kf_token *list; /* owned, ends with KF_TOKEN_END */
    uint32_t count; /* without KF_TOKEN_END */
} kf_tokens;

/* Reads all tokens. Errors: KF_ERROR_LIMIT (too long), KF_ERROR_MEMORY. */
bool kf_tokens_read(kf_tokens *tokens, const char *text, size_t size, kf_error *error);
void kf_tokens_free(kf_tokens *tokens);

/* True if token `index` is spelled `word`. False for an index past the end. */
bool kf_token_is(const kf_tokens *tokens, uint32_t index, const char *word);
/* True if token `index` begins where the token before it ends. */
bool kf_token_adjacent(const kf_tokens *tokens, uint32_t index);

/* Finds the place of token `index` through the linemarkers before it: copies the file name (cut to
 * fit) and returns the line. For a token in a header, this is the place of the #include in the
 * outermost file. */
long kf_token_place(const kf_tokens *tokens, uint32_t index, char *file, size_t size);

#endif
