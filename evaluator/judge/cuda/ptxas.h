/* Reads the report of `nvcc -Xptxas -v` on the machine code. */
#ifndef KFORGE_PTXAS_H
#define KFORGE_PTXAS_H

#include <cjson/cJSON.h>

/* Returns {"kernels": [{"name", "registers", "stack_bytes", "spill_store_bytes",
 * "spill_load_bytes", "shared_bytes", "barriers"}…], "registers", "spill_bytes", "shared_bytes",
 * "stack_bytes"}. The last four are the largest of all kernels. Names are mangled. The log is
 * untrusted text. kf_occupancy_report adds the occupancy. NULL without memory. */
cJSON *kf_ptxas_report(const char *log);

#endif
