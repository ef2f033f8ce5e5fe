/* Asks a program that is trusted, an interpreter or a compiler of this machine, for what it says of
 * itself. */
#ifndef KFORGE_ASK_H
#define KFORGE_ASK_H

#include <stddef.h>

/* What argv[0] (looked for in PATH when it holds no slash) writes to standard output, malloc'd;
 * what it says beside is dropped, it reads nothing. NULL when it does not start, says more than
 * `limit` bytes, or takes longer than `seconds`. It is killed then, and when it has closed its
 * output. Its exit status does not matter: who needs an answer finds it in the text. `environment`
 * NULL: this process's. */
char *kf_run_capture(const char *const *argv, const char *const *environment, size_t limit,
                     double seconds);

#endif
