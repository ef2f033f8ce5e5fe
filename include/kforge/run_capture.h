/* Runs a trusted program, for example a compiler or an interpreter of this machine, and returns its
 * output. Untrusted programs run in a sandbox (sandbox.h). Thread-safe. */
#ifndef KFORGE_RUN_CAPTURE_H
#define KFORGE_RUN_CAPTURE_H

#include <stddef.h>
#include <sys/types.h>

/* Returns the standard output of argv[0]; the caller frees. A name without a slash is looked up in
 * PATH. Standard input is empty, standard error is dropped. `environment` NULL: this process's.
 *
 * Returns NULL if the program does not start, writes more than `limit` bytes, or takes longer than
 * `seconds`. Kills the program after that, and after it has closed its output. The exit status is
 * not reported. */
char *kf_run_capture(const char *const *argv, const char *const *environment, size_t limit,
                     double seconds);

/* Prepares a child between fork and exec, with async-signal-safe calls alone: a process group of
 * its own, the end with its parent, default signals, and no descriptors but these three. */
void kf_child_begin(pid_t parent, int in, int out, int err);

#endif
