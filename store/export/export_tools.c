/* The tools that the verdicts of exported rows name. Verdicts of one judge begin their provenance
 * with the same text, so the result for the last verdict mostly holds for the next. */
#include <string.h>

#include "export_internal.h"
#include "kforge/list.h"
#include "kforge/json.h"

void kf_export_tools_free(kf_export_tools *tools)
{
    for (size_t i = 0; i < tools->count; i++) {
        free(tools->list[i].name);
        free(tools->list[i].version);
    }
    free(tools->list);
    *tools = (kf_export_tools){0};
}

/* Tools are sorted by name in the order of this table, then by version. */
static const struct {
    const char *name, *parent, *member;
} kinds[] = {
    {"kforge", NULL, "kforge"},
    {"device", "device", "hardware"},
    {"compute capability", "device", "compute_capability"},
    {"driver", "device", "driver"},
    {"CUDA of the driver", "device", "driver_cuda"},
    {"NVRTC of the toolkit", "device", "nvrtc"},
    {"toolchain", NULL, "toolchain"},
    {"compiler", NULL, "compiler"},
    {"PyTorch", "torch", "torch"},
    {"Python", "torch", "python"},
};
#define KINDS (sizeof kinds / sizeof *kinds)
#define NONE "not recorded"

static int rank(const char *name)
{
    int i = 0;
    while (i < (int)KINDS && strcmp(kinds[i].name, name) != 0) i++;
    return i;
}

/* Adds `verdicts` to the count of a tool. Returns the index of its entry, -1 without memory. */
static int count(kf_export_tools *tools, const char *name, const char *version, int64_t verdicts)
{
    size_t at = 0;
    for (; at < tools->count; at++) {
        int order = rank(tools->list[at].name) - rank(name);
        if (!order) order = strcmp(tools->list[at].version, version);
        if (order == 0) return tools->list[at].verdicts += verdicts, (int)at;
        if (order > 0) break;
    }
    if (!kf_list_grow(&tools->list, tools->count)) return -1;
    kf_export_tool *list = tools->list;
    kf_export_tool tool = {strdup(name), strdup(version), verdicts};
    if (!tool.name || !tool.version) return free(tool.name), free(tool.version), -1;
    memmove(list + at + 1, list + at, (tools->count++ - at) * sizeof *list);
    list[at] = tool;
    return (int)at;
}

bool kf_export_tools_add(kf_export_tools *to, const kf_export_tools *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (count(to, from->list[i].name, from->list[i].version, from->list[i].verdicts) < 0)
            return false;
    return true;
}

/* A version as others may read it. */
static char *clean(const kf_exporter *e, const char *text)
{
    kf_autobuffer out = {0};
    kf_scrub_count ignored = {0};
    kf_scrub_append(e->scrubber, &out, text, strlen(text), true, false, &ignored);
    return out.size ? kf_buffer_take(&out) : strdup("");
}

static bool read_tools(const kf_exporter *e, const cJSON *provenance, kf_export_tools *found)
{
    for (size_t i = 0; i < KINDS; i++) {
        const cJSON *from = kinds[i].parent
                                ? cJSON_GetObjectItemCaseSensitive(provenance, kinds[i].parent)
                                : provenance;
        const char *text = kf_json_get_text(from, kinds[i].member, NULL);
        if (i == 0 && !text) text = NONE;
        if (!text) continue;
        kf_autofree char *version = clean(e, text);
        if (!version || count(found, kinds[i].name, version, 1) < 0) return false;
    }
    return true;
}

/* The text from START to END is the same for all verdicts of a judge and a device. Options, layers
 * and keys follow, which differ. */
#define START "\"provenance\":{"
#define END ",\"options\":"

bool kf_export_note_tools(kf_exporter *e, const char *verdict, size_t size, kf_error *error)
{
    if (!e->options->tools) return true;
    kf_export_tool_cache *last = &e->last_tools;
    const char *start = memmem(verdict, size, START, strlen(START)), *end = NULL;
    if (start) end = memmem(start, size - (size_t)(start - verdict), END, strlen(END));
    size_t length = end ? (size_t)(end - start) : 0;
    bool ok = true;
    if (!length || length != last->text.size || memcmp(last->text.data, start, length) != 0) {
        kf_auto(cJSON) json = cJSON_ParseWithLength(verdict, size);
        kf_export_tools_free(&last->tools);
        ok = read_tools(e, cJSON_GetObjectItemCaseSensitive(json, "provenance"), &last->tools);
        kf_buffer_clear(&last->text);
        if (length) kf_buffer_append(&last->text, start, length);
    }
    ok = ok && kf_export_tools_add(&e->tools, &last->tools) && !last->text.failed;
    return ok || kf_fail_memory(error, "an export");
}

bool kf_export_note_verdict(kf_exporter *e, int64_t verdict, kf_error *error)
{
    if (!e->options->tools || !verdict) return true;
    kf_autoreset *statement =
        kf_sql(e->store, error, "SELECT size, codec, data FROM verdict_json WHERE verdict = ?", "i",
               verdict);
    int row = statement ? kf_sql_step(e->store, statement, error) : -1;
    if (row != 1) return row == 0;
    size_t size;
    kf_autofree char *text = kf_unpack(e->store, statement, 0, &size, error);
    return text && kf_export_note_tools(e, text, size, error);
}
