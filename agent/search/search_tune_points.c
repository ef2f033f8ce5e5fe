/* Points of the tuner as JSON, for people, the store and a resume. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "search_internal.h"

/* {"BLOCK":256,"flags":["-maxrregcount=64"]}: values in order, then one text for each line of
 * compiler flags. */
char *kf_point_json(const kf_tunable_source *tunable, const kf_tune_point *point)
{
    char text[8192], *at = text;
    kf_tune_point_describe(tunable->space, point, text, sizeof text);
    if (!*text) return NULL;
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *flags = NULL;
    while (*at) {
        at += strspn(at, " ");
        if (*at == '[') {
            char *close = strchr(at, ']');
            if (!close) break;
            *close = '\0';
            if (!flags) flags = cJSON_AddArrayToObject(json, "flags");
            cJSON_AddItemToArray(flags, cJSON_CreateString(at + 1));
            at = close + 1;
        } else {
            size_t name = strcspn(at, "=");
            if (!at[name]) break;
            at[name] = '\0';
            char *end;
            double value = strtod(at + name + 1, &end);
            cJSON_AddNumberToObject(json, at, value);
            at = end;
        }
    }
    return json ? cJSON_PrintUnformatted(json) : NULL;
}

/* Reads a point. A space that was read from the source alone lacks the axes that
 * kf_tunable_sources_start adds, and their flags, the last ones, are skipped. */
bool kf_point_read(const kf_tunable_source *tunable, const char *text, kf_tune_point *point)
{
    kf_auto(cJSON) json = *text ? kf_json_parse(text, strlen(text), 0, "tunables", NULL) : NULL;
    kf_autobuffer words = {0};
    const cJSON *item, *flag;
    int axes = 0;
    kf_buffer_string(&words, "");
    cJSON_ArrayForEach(item, json)
    {
        if (cJSON_IsNumber(item))
            kf_buffer_format(&words, "%s%s=%.0f", axes++ ? " " : "", item->string,
                             item->valuedouble);
        const cJSON *list = cJSON_IsArray(item) ? item : NULL;
        cJSON_ArrayForEach(flag, list) if (axes < kf_tune_space_axes(tunable->space))
            kf_buffer_format(&words, "%s[%s]", axes++ ? " " : "",
                             cJSON_IsString(flag) ? flag->valuestring : "");
    }
    return (json || !*text) && words.data && !words.failed &&
           kf_tune_point_parse(tunable->space, words.data, point, NULL);
}
