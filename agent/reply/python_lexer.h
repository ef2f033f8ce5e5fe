/* Separates Python from C in a block of a reply. For reply extraction. Internal to agent/reply. */
#ifndef KFORGE_AGENT_PYTHON_LEXER_H
#define KFORGE_AGENT_PYTHON_LEXER_H

#include <stdbool.h>
#include <stddef.h>

/* Returns a copy of the text with Python's string literals blanked, except their line breaks:
 * malloc'd, NUL-terminated. CUDA in a string is then no code. NULL: out of memory. */
char *kf_python_blank(const char *text, size_t size);

/* True if the blanked text defines the class `name` at its left margin. */
bool kf_python_defines(const char *blank, size_t size, const char *name);

#endif
