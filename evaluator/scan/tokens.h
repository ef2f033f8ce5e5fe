/* Tokens of preprocessed C++: what the rewriter works on. Pure; linear in the size of the text.
 *
 * The text is what `g++ -E` writes: no comments needed (they are skipped all the same), directives are linemarkers and pragmas. A token
 * borrows from the text. Everything between two tokens is white space or a comment and can be copied as it is. Malformed text (a string
 * without an end, a bracket without its partner) gives tokens all the same: the compiler will complain about it in its own words.
 */
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
    KF_TOKEN_STRING,    /* with its prefix, raw or not; also a character literal */
    KF_TOKEN_PUNCT,     /* one character, or one of :: -> <= >= ... */
    KF_TOKEN_DIRECTIVE, /* a whole line from '#', without its newline */
    KF_TOKEN_END,       /* the last token of every list; empty */
} kf_token_kind;

typedef struct kf_token {
    uint32_t offset, size; /* in the text */
    uint32_t line;         /* of the text, from 1 */
    uint32_t match;        /* ( [ { and ) ] }: the partner's index, KF_NO_TOKEN without one */
    uint32_t kind;         /* kf_token_kind */
} kf_token;

typedef struct kf_tokens {
    const char *text; /* borrowed */
    size_t size;
    kf_token *list; /* owned; ends with KF_TOKEN_END */
    uint32_t count; /* without the end */
} kf_tokens;

/* Reads all tokens. Errors: KF_ERROR_LIMIT (too long), KF_ERROR_MEMORY. */
bool kf_tokens_read(kf_tokens *tokens, const char *text, size_t size, kf_error *error);
void kf_tokens_free(kf_tokens *tokens);

/* True when token `index` is spelled `word`. Any index is allowed: past the end nothing is equal. */
bool kf_token_is(const kf_tokens *tokens, uint32_t index, const char *word);
/* True when token `index` begins where the one before it ends. */
bool kf_token_adjacent(const kf_tokens *tokens, uint32_t index);

/* Where token `index` came from by the linemarkers before it: copies the file name (cut to fit) and returns the line. Inside a header the
 * place is that of the #include in the outermost file that is no header. */
long kf_token_place(const kf_tokens *tokens, uint32_t index, char *file, size_t size);

#endif
