/* What is code and what is not, in a C, C++ or CUDA source: shared by reply extraction and the
 * tuner. Internal to agent/. */
#ifndef KFORGE_AGENT_EXTRACT_CODE_H
#define KFORGE_AGENT_EXTRACT_CODE_H

#include <stdbool.h>
#include <stddef.h>

#define KF_LINE_COMMENT '\1' /* stands for every byte of a // comment, its slashes included */

/* A copy of `text` (malloc'd, same length, same line breaks, NUL-terminated) in which everything
 * that is not code is blanked: bytes of line comments become KF_LINE_COMMENT, of block comments '
 * ', of string and character literals '"'. NULL when out of memory. */
char *kf_code_blank(const char *text, size_t size);

/* True when the blanked text defines a function `name`: the name, a parameter list and a body,
 * where a definition may stand. */
bool kf_code_defines(const char *blank, size_t size, const char *name);

bool kf_code_is_word(char c); /* letter, digit or underscore */

#endif
