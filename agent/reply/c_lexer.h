/* Separates code from comments and literals in a C, C++ or CUDA source. For reply extraction and
 * the tuner. Internal to agent/. */
#ifndef KFORGE_AGENT_C_LEXER_H
#define KFORGE_AGENT_C_LEXER_H

#include <stdbool.h>
#include <stddef.h>

/* Stands for every byte of a // comment, slashes included. */
#define KF_LINE_COMMENT '\1'

/* Returns a copy of `text` with all but the code blanked: malloc'd, of the same length, with the
 * same line breaks, NUL-terminated. Bytes of line comments become KF_LINE_COMMENT, of block
 * comments ' ', of string and character literals '"'. NULL: out of memory. */
char *kf_code_blank(const char *text, size_t size);

/* True if the blanked text defines a function `name`: the name, a parameter list and a body, at a
 * place where a definition may stand. */
bool kf_code_defines(const char *blank, size_t size, const char *name);

/* True for a letter, digit or underscore. */
bool kf_code_is_word(char c);

#endif
