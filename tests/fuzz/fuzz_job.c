/* Jobs from anywhere: reading never crashes, and what was read survives being written and read
 * again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/job.h"
#include "kforge/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *to_text(const kf_job *job)
{
    kf_auto(cJSON) json = kf_job_to_json(job);
    if (!json) abort();
    return cJSON_PrintUnformatted(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kf_error error = {0};
    kf_auto(cJSON) json = kf_json_parse((const char *)data, size, 1 << 20, "fuzz", &error);
    if (!json) return 0;
    kf_auto(kf_job) job = kf_job_from_json(json, &error);
    if (!job) {
        if (error.code == KF_ERROR_NONE) abort();
        return 0;
    }
    kf_autofree char *first = to_text(job);
    kf_auto(cJSON) again = kf_json_parse(first, strlen(first), 0, "fuzz", &error);
    kf_auto(kf_job) copy = again ? kf_job_from_json(again, &error) : NULL;
    if (!copy) abort();
    kf_autofree char *second = to_text(copy);
    if (strcmp(first, second) != 0) abort();
    return 0;
}
