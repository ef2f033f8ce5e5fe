/* The way of a reply from the last byte that its server sends to the worker that begins to build
 * its candidate. */
#ifndef KFORGE_BENCH_REPLY_CHAIN_H
#define KFORGE_BENCH_REPLY_CHAIN_H

#include "kforge/error.h"

/* Prints one line. *median is in seconds. `self` is this program, which also runs as a worker. */
bool measure_chain(const char *self, double *median, kf_error *error);
/* The worker: notes in `marks` when the job of a reply came. */
int serve_chain(const char *marks);

#endif
