/* Words of a command line that belong to an option or to another command: "bench axpy gemm" for
 * "bench tasks --only axpy --only gemm". */
#ifndef KFORGE_MISPLACED_WORD_H
#define KFORGE_MISPLACED_WORD_H

#include "options.h"

/* True if an argument belongs elsewhere. *error then has the corrected command line. `words` are
 * the `count` words behind the command's name, from which `parsed` was made. */
bool kf_misplaced_word(const kf_command *command, const char *const *words, size_t count,
                       const kf_parsed *parsed, kf_error *error);
/* Appends the command that was meant by a first word that is no command, or by a group and a second
 * word that names no command of it: "list" for "ls", "import torch my.py" for "import my.py".
 * `second` may be NULL. False: not known. */
bool kf_meant_command(const char *first, const char *second, kf_buffer *text);

#endif
