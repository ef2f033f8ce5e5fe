/* Samples where the warps of one call are, by source line, with CUPTI's PC sampling. */
#ifndef KFORGE_PC_LINES_H
#define KFORGE_PC_LINES_H

#include "counters_wire.h"
#include "cupti.h"

/* Finds CUPTI's functions if the environment asks for lines. Call it before the second system call
 * filter. kf_lines_sample reports failures. */
void kf_lines_open(void *library, cu_context context);
/* True if lines are asked for: then kf_lines_module must get every resource callback. */
int kf_lines_wanted(void);
/* Copies a module that was loaded. */
void kf_lines_module(uint32_t number, const cupti_resource *resource);
/* Makes one call of about so many device seconds. Sets the header's fields for lines, and
 * KF_COUNT_LINES lines, those with the most samples first. */
void kf_lines_sample(void (*call)(void *context), void *context, cu_result (*synchronize)(void),
                     double seconds, kf_count_header *header, kf_count_line *lines);

#endif
