/* What `nvcc -Xptxas -v` says of the machine code. */
#ifndef KFORGE_PTXAS_H
#define KFORGE_PTXAS_H

#include <cjson/cJSON.h>

/* {"kernels": [{"name", "registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes",
 * "shared_bytes", "barriers"}…], "registers", "spill_bytes", "shared_bytes", "stack_bytes"}, the
 * latter the largest of all kernels; names as the compiler mangles them. Untrusted text. The
 * occupancy is added by kf_occupancy_report. NULL: out of memory. */
cJSON *kf_ptxas_report(const char *log);

#endif
