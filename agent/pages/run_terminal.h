/* A run in the terminal: `kforge watch --terminal`. */
#ifndef KFORGE_RUN_TERMINAL_H
#define KFORGE_RUN_TERMINAL_H

#include <stdbool.h>

#include "command.h"
#include "kforge/store.h"

/* Draws the run again and again until it ends or the user interrupts. Prints it once if the output
 * is no terminal. */
bool kf_run_terminal(kf_store *store, const char *run, const kf_invocation *invocation,
                     kf_error *error);

#endif
