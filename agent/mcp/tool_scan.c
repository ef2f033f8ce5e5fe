/* kforge_scan: constructs that a reviewer would question. */
#include <string.h>

#include "kforge/job.h"
#include "kforge/scan.h"
#include "kforge/json.h"
#include "mcp_tools.h"

#define SHOWN 40

typedef struct listing {
    cJSON *rows;
    int count, most;
} listing;

static void take_flag(void *context, const kf_scan_flag *flag)
{
    listing *list = context;
    if (list->count++ >= list->most) return;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(list->rows, row);
    cJSON_AddNumberToObject(row, "line", (double)flag->line);
    cJSON_AddStringToObject(row, "rule", flag->rule);
    cJSON_AddStringToObject(row, "word", flag->word);
}

int kf_mcp_scan(cJSON *rows, int most, const char *text, size_t size, bool python)
{
    listing list = {.rows = rows, .most = most};
    return kf_scan_source(text, size, python, take_flag, &list, NULL) ? list.count : 0;
}

cJSON *kf_tool_scan(kf_mcp_call *call, const cJSON *arguments, kf_error *error)
{
    const char *file = kf_json_get_text(arguments, "file", "");
    bool python = kf_file_is_python(file);
    size_t size, text_size = 0, binary_size = 0;
    kf_autofree char *source = kf_served_read(&call->server->served, file, &size, error);
    kf_autofree char *text = NULL, *binary = NULL;
    if (!source || !kf_source_check(source, size, file, error) ||
        (!python &&
         !kf_scan_compile(source, size, &text, &text_size, &binary, &binary_size, error)))
        return NULL;
    kf_auto(cJSON) answer = cJSON_CreateObject();
    listing list = {.rows = cJSON_AddArrayToObject(answer, "findings"), .most = SHOWN};
    if (!kf_scan_source(text ? text : source, text ? text_size : size, python, take_flag, &list,
                        error))
        return NULL;
    if (list.count > SHOWN) cJSON_AddNumberToObject(answer, "more", list.count - SHOWN);
    return kf_steal(&answer);
}
