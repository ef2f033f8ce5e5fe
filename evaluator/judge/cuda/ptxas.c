/* Lines look like this (CUDA 11 to 13):
 *
 *   ptxas info    : Compiling entry function '_Z3addPf' for 'sm_90a'
 *   ptxas info    : Function properties for _Z3addPf
 *       8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
 *   ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem, 380 bytes cmem[0]
 */
#include "ptxas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/json.h"

#define MAX_KERNELS 256

/* Returns the number before `words` in a line; 0 without them. */
static double number_before(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    if (!at) return 0;
    while (at > line && at[-1] == ' ') at--;
    const char *end = at;
    while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
    return at == end ? 0 : strtod(at, NULL);
}

cJSON *kf_ptxas_report(const char *log)
{
    kf_auto(cJSON) report = cJSON_CreateObject();
    cJSON *kernels = report ? cJSON_AddArrayToObject(report, "kernels") : NULL, *kernel = NULL;
    double registers = 0, spill = 0, shared = 0, stack = 0;
    if (!kernels) return NULL;
    for (const char *start = log; *start;) {
        size_t length = strcspn(start, "\n");
        char line[1024], name[512];
        snprintf(line, sizeof line, "%.*s",
                 (int)(length < sizeof line - 1 ? length : sizeof line - 1), start);
        start += length + (start[length] == '\n');
        const char *entry = strstr(line, "Compiling entry function '");
        if (entry) {
            kernel = NULL;
            if (sscanf(entry, "Compiling entry function '%511[^']'", name) != 1 ||
                cJSON_GetArraySize(kernels) >= MAX_KERNELS)
                continue;
            if (!(kernel = cJSON_CreateObject()) || !cJSON_AddItemToArray(kernels, kernel))
                return NULL;
            if (!cJSON_AddStringToObject(kernel, "name", name)) return NULL;
        } else if (kernel && strstr(line, "bytes stack frame")) {
            double stores = number_before(line, "bytes spill stores"),
                   loads = number_before(line, "bytes spill loads");
            kf_json_add_number(kernel, "stack_bytes", number_before(line, "bytes stack frame"));
            kf_json_add_number(kernel, "spill_store_bytes", stores);
            kf_json_add_number(kernel, "spill_load_bytes", loads);
            spill = fmax(spill, stores + loads);
            stack = fmax(stack, number_before(line, "bytes stack frame"));
        } else if (kernel && strstr(line, "Used ") && strstr(line, " registers")) {
            kf_json_add_number(kernel, "registers", number_before(line, "registers"));
            kf_json_add_number(kernel, "shared_bytes", number_before(line, "bytes smem"));
            kf_json_add_number(kernel, "barriers", number_before(line, "barriers"));
            registers = fmax(registers, number_before(line, "registers"));
            shared = fmax(shared, number_before(line, "bytes smem"));
            kernel = NULL;
        }
    }
    if (cJSON_GetArraySize(kernels) > 0) {
        kf_json_add_number(report, "registers", registers);
        kf_json_add_number(report, "spill_bytes", spill);
        kf_json_add_number(report, "shared_bytes", shared);
        kf_json_add_number(report, "stack_bytes", stack);
    }
    return kf_steal(&report);
}
