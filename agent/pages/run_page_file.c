/* The page as text: the template with its style, its script, and perhaps its data. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "page_files.h"
#include "output.h"
#include "prompt_template.h"
#include "run_page.h"

/* Bytes of attempts' texts in one file. */
#define DETAIL_BYTES (24u << 20)

bool kf_page_embed_json(const cJSON *json, kf_buffer *out)
{
    char *text = cJSON_PrintUnformatted(json);
    if (!text) return false;
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "<>&\xe2");
        kf_buffer_append(out, at, plain);
        at += plain;
        if (!*at) break;
        /* U+2028 and U+2029 ended a line in old scripts. */
        bool separator = strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0;
        if (separator)
            kf_buffer_string(out, at[2] == '\xa8' ? "\\u2028" : "\\u2029");
        else if (*at == '\xe2')
            kf_buffer_append(out, at, 1);
        else
            kf_buffer_format(out, "\\u%04x", (unsigned)*at);
        at += separator ? 3 : 1;
    }
    cJSON_free(text);
    return !out->failed;
}

bool kf_page_render(const cJSON *data, kf_buffer *out, kf_error *error)
{
    kf_autobuffer style = {0}, policy = {0}, script = {0};
    kf_buffer_string(&style, kf_page_file("base.css"));
    kf_buffer_string(&style, kf_page_file("run.css"));
    kf_buffer_string(&script, kf_page_file("model.js"));
    kf_buffer_string(&script, kf_page_file("run.js"));
    const char *html = kf_page_file("run.html");
    if (!style.data || !script.data ||
        !kf_page_policy(style.data, script.data, data == NULL, &policy))
        return kf_fail_memory(error, "the page");
    const kf_template_value values[] = {{.name = "policy", .text = policy.data},
                                        {.name = "css", .text = style.data},
                                        {.name = "js", .text = script.data}};
    kf_autofree char *text = kf_template_render("run.html", html, strlen(html), values,
                                                sizeof values / sizeof *values, error);
    if (!text) return false;
    /* The data is the end of the page, and may be larger than a template. */
    kf_buffer_string(out, text);
    bool made = true;
    if (data)
        made = kf_page_embed_json(data, out);
    else
        kf_buffer_string(out, "null");
    kf_buffer_string(out, "</script>\n</body>\n</html>\n");
    return (made && !out->failed) || kf_fail_memory(error, "the page");
}

/* ---- the whole run --------------------------------------------------------------------------- */

static int64_t number_of(const cJSON *row, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    return item ? (int64_t)item->valuedouble : 0;
}

/* Adds the texts of an attempt, unless the file is full. */
static bool add_detail(kf_store *store, const char *run, int64_t number, cJSON *details,
                       size_t *left, kf_error *error)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    if (cJSON_GetObjectItemCaseSensitive(details, key)) return true;
    kf_auto(cJSON) detail = kf_page_attempt(store, run, number, error);
    if (!detail) return false;
    char *text = cJSON_PrintUnformatted(detail);
    size_t size = text ? strlen(text) : 0;
    cJSON_free(text);
    if (size > *left) *left = 0;
    if (size > *left) return true;
    *left -= size;
    return cJSON_AddItemToObject(details, key, kf_steal(&detail));
}

/* Adds the line of ancestors of the best, then the attempts from the first on. */
static bool add_details(kf_store *store, const kf_store_run *run, const cJSON *attempts,
                        cJSON *details, kf_error *error)
{
    size_t left = DETAIL_BYTES;
    int64_t wanted = run->best;
    while (wanted) {
        int64_t next = 0;
        const cJSON *row;
        cJSON_ArrayForEach(row, attempts)
        {
            if (number_of(row, "c") != wanted) continue;
            if (!add_detail(store, run->id, number_of(row, "n"), details, &left, error))
                return false;
            const cJSON *from = cJSON_GetObjectItemCaseSensitive(row, "from");
            next = from ? (int64_t)from->child->valuedouble : 0;
            break;
        }
        /* Parents are older. */
        wanted = next < wanted ? next : 0;
    }
    const cJSON *row;
    cJSON_ArrayForEach(row, attempts)
    {
        if (left && !add_detail(store, run->id, number_of(row, "n"), details, &left, error))
            return false;
    }
    return true;
}

bool kf_page_whole(kf_store *store, const char *run, kf_buffer *out, kf_error *error)
{
    kf_page_position position = {0};
    kf_autoresult kf_store_run state = {0};
    if (!kf_store_find_run(store, run, &state, error)) return false;
    kf_auto(cJSON) data = kf_page_news(store, run, &position, 0, error);
    if (!data) return false;
    kf_error roof_error = {0};
    cJSON *roofline = kf_page_roofline(store, &state, &roof_error);
    if (roofline) cJSON_AddItemToObject(data, "roofline", roofline);
    cJSON *details = cJSON_AddObjectToObject(data, "details");
    return add_details(store, &state, cJSON_GetObjectItemCaseSensitive(data, "attempts"), details,
                       error) &&
           kf_page_render(data, out, error);
}
