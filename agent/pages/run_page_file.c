/* The page as text: the template with its style, its script, and perhaps its data. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "page_files.h"
#include "output.h"
#include "prompt_template.h"
#include "run_page.h"

/* Most bytes of attempts' texts in one file. */
#define DETAIL_BYTES (12u << 20)
/* Most attempts with texts, and of these the fastest. */
#define DETAIL_COUNT 2000
#define DETAIL_RANKED 500

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

static bool append_json(const cJSON *json, kf_buffer *out)
{
    if (json) return kf_page_embed_json(json, out);
    kf_buffer_string(out, "null");
    return !out->failed;
}

bool kf_page_render(const cJSON *data, const cJSON *details, kf_buffer *out, kf_error *error)
{
    kf_autobuffer style = {0}, policy = {0}, script = {0};
    kf_buffer_string(&style, kf_page_file("base.css"));
    kf_buffer_string(&style, kf_page_file("run.css"));
    static const char *const scripts[] = {"model.js", "parts.js", "chart.js", "detail.js",
                                          "run.js"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        kf_buffer_string(&script, kf_page_file(scripts[i]));
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
    bool made = append_json(data, out);
    kf_buffer_string(out, "</script>\n<script type=\"application/json\" id=\"details\">");
    made = made && append_json(details, out);
    kf_buffer_string(out, "</script>\n</body>\n</html>\n");
    return (made && !out->failed) || kf_fail_memory(error, "the page");
}

/* ---- the whole run --------------------------------------------------------------------------- */

static int64_t number_of(const cJSON *row, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    return item ? (int64_t)item->valuedouble : 0;
}

/* The texts of attempts, by number. */
typedef struct details {
    kf_store *store;
    const char *run;
    const cJSON *attempts;
    cJSON *json;
    /* Bytes and attempts that the file may still take. */
    size_t left, count;
    kf_error *error;
} details;

/* Adds the texts of an attempt, unless the file is full. */
static bool add_detail(details *d, int64_t number)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    if (!d->left || cJSON_GetObjectItemCaseSensitive(d->json, key)) return true;
    kf_auto(cJSON) detail = kf_page_attempt(d->store, d->run, number, d->error);
    if (!detail) return false;
    char *text = cJSON_PrintUnformatted(detail);
    size_t size = text ? strlen(text) : 0;
    cJSON_free(text);
    bool fits = size < d->left && d->count > 1;
    d->left = fits ? d->left - size : 0;
    d->count--;
    return !fits || cJSON_AddItemToObject(d->json, key, kf_steal(&detail));
}

/* Returns the attempt that brought a candidate in. */
static const cJSON *attempt_of(const cJSON *attempts, int64_t candidate)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, attempts)
    {
        if (number_of(row, "c") == candidate) return row;
    }
    return NULL;
}

/* Adds the best and its ancestors. */
static bool add_line(details *d, int64_t candidate)
{
    while (candidate) {
        const cJSON *row = attempt_of(d->attempts, candidate);
        const cJSON *from = cJSON_GetObjectItemCaseSensitive(row, "from");
        int64_t parent = from ? (int64_t)from->child->valuedouble : 0;
        if (row && !add_detail(d, number_of(row, "n"))) return false;
        /* Parents are older. */
        candidate = parent < candidate ? parent : 0;
    }
    return true;
}

static bool add_ranked(details *d)
{
    kf_store_scope scope = {.run = d->run, .island = -1};
    kf_auto(kf_store_cursor) cursor = kf_store_best(d->store, &scope, DETAIL_RANKED, d->error);
    kf_autoresult kf_store_candidate candidate = {0};
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = kf_store_next_candidate(cursor, &candidate, d->error)) == 1)
        if (!add_detail(d, candidate.attempt)) return false;
    return more == 0;
}

/* Adds the line of the best, the fastest, then the latest. */
static bool add_details(details *d, const kf_store_run *run)
{
    if (!add_line(d, run->best) || !add_ranked(d)) return false;
    for (int64_t n = run->attempts; n > 0 && d->left; n--)
        if (!add_detail(d, n)) return false;
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
    kf_auto(cJSON) texts = cJSON_CreateObject();
    details all = {.store = store,
                   .run = run,
                   .attempts = cJSON_GetObjectItemCaseSensitive(data, "attempts"),
                   .json = texts,
                   .left = DETAIL_BYTES,
                   .count = DETAIL_COUNT,
                   .error = error};
    if (!add_details(&all, &state)) return false;
    cJSON_AddNumberToObject(data, "left", (double)(state.attempts - cJSON_GetArraySize(texts)));
    return kf_page_render(data, texts, out, error);
}
