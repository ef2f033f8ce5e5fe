/* JSON answers of critics: whatever a model sends, there is an object that prints and reads back,
 * or an error. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of exactly the size, so that a read past the end is found. */
    kf_autofree char *reply = malloc(size ? size : 1);
    memcpy(reply, data, size);
    kf_error error = {0};
    kf_auto(cJSON) json = kf_extract_json(reply, size, &error);
    if (!json) {
        if (!error.text[0] || strchr(error.text, '\n')) abort();
        return 0;
    }
    if (!cJSON_IsObject(json) || !json->child) abort();
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    kf_auto(cJSON) again = text ? cJSON_Parse(text) : NULL;
    if (!again) abort();
    return 0;
}
