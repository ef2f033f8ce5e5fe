/* The server: its settings, and the table of tools. Schemas and descriptions are in tools.json. */
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "mcp_internal.h"
#include "prompt_template.h"

typedef struct row {
    const char *name;
    kf_mcp_tool *tool;
} row;

static const row tools[] = {
    {"kforge_tasks", kf_tool_tasks},     {"kforge_task", kf_tool_task},
    {"kforge_eval", kf_tool_eval},       {"kforge_result", kf_tool_result},
    {"kforge_profile", kf_tool_profile}, {"kforge_scan", kf_tool_scan},
    {"kforge_history", kf_tool_history}, {"kforge_best", kf_tool_best},
    {"kforge_diff", kf_tool_diff},       {"kforge_submit", kf_tool_submit},
    {"kforge_note", kf_tool_note},       {NULL, NULL},
};
static const row episode_tools[] = {
    {"kforge_eval", kf_tool_episode_eval},       {"kforge_profile", kf_tool_episode_profile},
    {"kforge_submit", kf_tool_episode_submit},   {"kforge_result", kf_tool_episode_result},
    {"kforge_history", kf_tool_episode_history}, {NULL, NULL},
};

kf_mcp_tool *kf_mcp_find_tool(const kf_mcp *server, const char *name)
{
    for (const row *r = server->questions ? episode_tools : tools; r->name; r++)
        if (strcmp(r->name, name) == 0) return r->tool;
    return NULL;
}

kf_mcp *kf_mcp_new(const kf_mcp_settings *settings, kf_error *error)
{
    kf_auto(kf_mcp) server = calloc(1, sizeof *server);
    if (!server) {
        kf_fail_memory(error, "the server");
        return NULL;
    }
    server->served.folder = -1;
    server->jobs = settings->jobs;
    server->questions = settings->socket ? kf_mcp_questions_new(settings->socket) : NULL;
    if (settings->socket && !server->questions) {
        kf_fail_memory(error, "the server");
        return NULL;
    }
    const kf_template_builtin *file = &kf_mcp_files[0];
    kf_auto(cJSON) json = kf_json_parse(file->text, file->size, 0, file->name, error);
    bool served =
        json && (!settings->root || kf_served_open(&server->served, settings->root, error));
    if (!served) return NULL;
    server->tools = cJSON_DetachItemFromObject(json, settings->socket ? "episode_tools" : "tools");
    return kf_steal(&server);
}

void kf_mcp_free(kf_mcp *server)
{
    if (!server) return;
    kf_served_close(&server->served);
    kf_mcp_questions_free(server->questions);
    cJSON_Delete(server->tools);
    free(server);
}
