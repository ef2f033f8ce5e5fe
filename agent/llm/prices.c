#include "prices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "prompt_template.h"

#define TABLE_BYTES (1u << 20)
#define SCHEMA "kforge-prices/1"

/* True if the row for `known` prices `model`. Only digits, dashes and "latest" may follow. */
static bool is_version_of(const char *model, const char *known)
{
    size_t length = strlen(known);
    if (strncmp(model, known, length) != 0) return false;
    const char *rest = model + length;
    if (*rest == '\0' || strcmp(rest, "-latest") == 0) return true;
    return (*rest == '-' || *rest == '@') && strlen(rest) >= 7 &&
           strspn(rest + 1, "0123456789-") == strlen(rest + 1);
}

static bool find_in(const char *text, size_t size, const char *where, const char *provider,
                    const char *model, kf_price *price, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, size, TABLE_BYTES, where, error);
    if (!json) return false;
    kf_json_reader top = kf_json_object(json, where, "", error);
    const char *schema = kf_json_string(&top, "schema");
    kf_json_string_or(&top, "note", "");
    const cJSON *row, *rows = kf_json_array_or_null(&top, "prices");
    if (!top.failed && strcmp(schema, SCHEMA) != 0)
        kf_json_complain(&top, "schema", "\"%s\" is not \"" SCHEMA "\"", schema);
    if (!kf_json_finish(&top)) return false;
    size_t longest = 0;
    int index = 0;
    cJSON_ArrayForEach(row, rows)
    {
        char path[32];
        snprintf(path, sizeof path, "prices[%d]", index++);
        kf_json_reader reader = kf_json_object(row, where, path, error);
        const char *of = kf_json_string(&reader, "provider"),
                   *name = kf_json_string(&reader, "model"),
                   *date = kf_json_string(&reader, "date");
        kf_price found = {.known = true};
        found.input = kf_json_number_or(&reader, "input", 0, 1e6, NAN);
        found.output = kf_json_number_or(&reader, "output", 0, 1e6, NAN);
        found.cached = kf_json_number_or(&reader, "cached", 0, 1e6, found.input);
        found.cache_write = kf_json_number_or(&reader, "cache_write", 0, 1e6, found.input);
        if (isnan(found.input) || isnan(found.output))
            kf_json_complain(&reader, NULL, "give both input and output");
        if (!kf_json_finish(&reader)) return false;
        if (strcmp(of, provider) != 0 || strlen(name) < longest || !is_version_of(model, name))
            continue;
        longest = strlen(name);
        snprintf(found.date, sizeof found.date, "%s", date);
        *price = found;
    }
    return true;
}

bool kf_price_find(const char *provider, const char *model, kf_price *price, kf_error *error)
{
    *price = (kf_price){0};
    const char *path = getenv("KFORGE_PRICES");
    if (path && *path) {
        size_t size;
        kf_autofree char *text = kf_file_read(path, TABLE_BYTES, &size, error);
        return text && find_in(text, size, path, provider, model, price, error);
    }
    return find_in(kf_price_files[0].text, kf_price_files[0].size, "prices.json", provider, model,
                   price, error);
}

double kf_price_of(const kf_price *price, int64_t prompt, int64_t cached, int64_t cache_write,
                   int64_t completion)
{
    double all = prompt > 0 ? (double)prompt : 0, read = cached > 0 ? fmin((double)cached, all) : 0;
    double written = cache_write > 0 ? fmin((double)cache_write, all - read) : 0;
    return ((all - read - written) * price->input + read * price->cached +
            written * price->cache_write +
            (completion > 0 ? (double)completion : 0) * price->output) *
           1e-6;
}
