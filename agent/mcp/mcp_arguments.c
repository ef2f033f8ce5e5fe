/* Checks the arguments of a tool against its input schema: the part of JSON Schema that tools.json
 * uses. */
#include <math.h>
#include <string.h>

#include "kforge/json.h"
#include "nearest.h"
#include "mcp_internal.h"

#define MOST_KEYS 16

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool fail_unknown(const cJSON *properties, const char *key, kf_error *error)
{
    const char *known[MOST_KEYS];
    size_t count = 0;
    for (const cJSON *p = properties->child; p && count < MOST_KEYS; p = p->next)
        known[count++] = p->string;
    const char *near = kf_nearest(key, known, count);
    return kf_fail(error, KF_ERROR_INPUT, "%.64s: no such argument%s%s%s", key,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static bool has_type(const cJSON *value, const char *type)
{
    if (strcmp(type, "string") == 0) return cJSON_IsString(value);
    if (strcmp(type, "boolean") == 0) return cJSON_IsBool(value);
    if (strcmp(type, "array") == 0) return cJSON_IsArray(value);
    if (strcmp(type, "integer") == 0)
        return cJSON_IsNumber(value) && trunc(value->valuedouble) == value->valuedouble;
    return cJSON_IsNumber(value) && isfinite(value->valuedouble);
}

static bool is_one_of(const cJSON *value, const cJSON *choices)
{
    const cJSON *choice;
    cJSON_ArrayForEach(choice, choices)
    {
        if (cJSON_Compare(choice, value, true)) return true;
    }
    return false;
}

static bool check_value(const cJSON *schema, const cJSON *value, kf_error *error)
{
    const char *name = value->string, *type = cJSON_GetStringValue(get(schema, "type"));
    const cJSON *choices = get(schema, "enum"), *low = get(schema, "minimum"),
                *high = get(schema, "maximum"), *items = get(schema, "items"), *item;
    if (!has_type(value, type))
        return kf_fail(error, KF_ERROR_INPUT, "%s: expected %s %s", name,
                       strchr("aeiou", type[0]) ? "an" : "a", type);
    if (choices && !is_one_of(value, choices)) {
        char *text = cJSON_PrintUnformatted(choices);
        kf_fail(error, KF_ERROR_INPUT, "%s: expected one of %s", name, text ? text : "its enum");
        cJSON_free(text);
        return false;
    }
    if (low && (value->valuedouble < low->valuedouble || value->valuedouble > high->valuedouble))
        return kf_fail(error, KF_ERROR_INPUT, "%s: expected %g to %g", name, low->valuedouble,
                       high->valuedouble);
    cJSON_ArrayForEach(item, value)
    {
        if (items && !has_type(item, cJSON_GetStringValue(get(items, "type"))))
            return kf_fail(error, KF_ERROR_INPUT, "%s: expected an array of strings", name);
    }
    return true;
}

bool kf_mcp_check_arguments(const cJSON *schema, const cJSON *arguments, kf_error *error)
{
    const cJSON *properties = get(schema, "properties"), *required = get(schema, "required"),
                *entry;
    cJSON_ArrayForEach(entry, required)
    {
        if (!get(arguments, entry->valuestring))
            return kf_fail(error, KF_ERROR_INPUT, "%s: this argument is missing",
                           entry->valuestring);
    }
    cJSON_ArrayForEach(entry, arguments)
    {
        const cJSON *known = get(properties, entry->string);
        if (!known) return fail_unknown(properties, entry->string, error);
        if (!check_value(known, entry, error)) return false;
    }
    return true;
}
