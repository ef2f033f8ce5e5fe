/* The texts of a judgement: the verdict in one line, and the next step. */
#ifndef KFORGE_JOB_NEXT_H
#define KFORGE_JOB_NEXT_H

#include "kforge/verdict.h"

/* Return a text; the caller frees. NULL without memory. */
char *kf_next_summary(const kf_verdict *verdict);
char *kf_next_step(const kf_verdict *verdict);

#endif
