/* Verdict JSON from anywhere: reading never crashes, and what was read survives being written and
 * read again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "kforge/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *to_text(const kf_verdict *verdict)
{
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    if (!json) abort();
    return cJSON_PrintUnformatted(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kf_error error = {0};
    kf_auto(cJSON) json = kf_json_parse((const char *)data, size, 1 << 20, "fuzz", &error);
    if (!json) return 0;
    kf_auto(kf_verdict) verdict = kf_verdict_from_json(json, &error);
    if (!verdict) {
        if (error.code == KF_ERROR_NONE) abort();
        return 0;
    }
    kf_autofree char *first = to_text(verdict);
    kf_auto(cJSON) again = kf_json_parse(first, strlen(first), 0, "fuzz", &error);
    kf_auto(kf_verdict) copy = again ? kf_verdict_from_json(again, &error) : NULL;
    if (!copy) abort();
    kf_autofree char *second = to_text(copy);
    if (strcmp(first, second) != 0) abort();
    kf_verdict_conclude(copy);
    return 0;
}
