/* kforge trust: allows the commands of a project's kforge.json or of a store's runs
 * (trusted_commands.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_key.h"
#include "command.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "options.h"
#include "search.h"
#include "trusted_commands.h"

typedef struct place {
    const kf_invocation *invocation;
    const char *path;
    size_t count;
} place;

static bool allow(place *p, const char *command, kf_error *error)
{
    if (!kf_trust_add((const char *const *)environ, p->path, command, error)) return false;
    p->count++;
    kf_autofree char *shown = kf_api_keys_without(command, NULL);
    fprintf(p->invocation->output, "allowed  %s\n", shown ? shown : "");
    return true;
}

static bool allow_values(place *p, const char *option, const cJSON *value, kf_error *error)
{
    const cJSON *item = cJSON_IsArray(value) ? value->child : value;
    for (; item; item = cJSON_IsArray(value) ? item->next : NULL) {
        const char *text = cJSON_GetStringValue(item);
        if (text && kf_trust_is_command(option, text) && !allow(p, text, error)) return false;
    }
    return true;
}

static bool allow_folder(place *p, kf_error *error)
{
    kf_autofree char *file = kf_path_join(p->path, KF_CONFIG_NAME);
    size_t size;
    if (!file) return kf_fail_memory(error, "a path");
    if (!kf_trust_check_owner(p->path, error) || !kf_trust_check_owner(file, error)) return false;
    kf_autofree char *text = kf_file_read(file, KF_JSON_TASK_BYTES, &size, error);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JSON_TASK_BYTES, file, error) : NULL;
    if (!json) return false;
    for (const cJSON *value = json->child; value; value = value->next)
        if (!allow_values(p, value->string, value, error)) return false;
    return true;
}

static bool allow_run(place *p, const kf_store_run *run, kf_error *error)
{
    kf_search_settings settings = {0};
    const char *models[KF_SEARCH_MODELS];
    kf_auto(cJSON) memory = NULL;
    if (!kf_search_options_read(run->options, &settings, models, &memory, error)) return false;
    for (size_t i = 0; i < settings.model_count; i++)
        if (kf_trust_is_command("model", models[i]) && !allow(p, models[i], error)) return false;
    return true;
}

static bool allow_store(place *p, kf_error *error)
{
    if (!kf_trust_check_owner(p->path, error)) return false;
    kf_auto(kf_store) store = kf_store_open(p->path, KF_STORE_READ, error);
    kf_auto(kf_store_cursor) cursor = store ? kf_store_runs(store, NULL, error) : NULL;
    if (!cursor) return false;
    kf_autoresult kf_store_run run = {0};
    int got;
    while ((got = kf_store_next_run(cursor, &run, error)) > 0)
        if (!allow_run(p, &run, error)) return false;
    return got == 0;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    (void)values;
    place p = {.invocation = invocation, .path = invocation->arguments[0]};
    struct stat status;
    bool folder = stat(p.path, &status) == 0 && S_ISDIR(status.st_mode);
    if (!(folder ? allow_folder(&p, error) : allow_store(&p, error))) return -1;
    if (!p.count) fprintf(invocation->output, "%s names no commands\n", p.path);
    return KF_EXIT_DONE;
}

const kf_command kf_command_trust = {
    .name = "trust",
    .synopsis = "DIR|STORE",
    .summary = "Allow the commands of a project or a store",
    .description =
        "A kforge.json that kforge finds in the working directory or at the top of its repository, "
        "and the runs of a store, may come from somebody else. Their models exec:COMMAND and their "
        "worker commands run only if you allow them. This lists and allows the present commands of "
        "DIR/kforge.json or of all runs of STORE. A command that changes must be allowed again. "
        "What you give on the command line, in the environment or in your own kforge.json needs no "
        "permission.",
    .examples = "kforge trust .\tallows the commands of ./kforge.json\n"
                "kforge trust ../theirs.db\tallows the models of a store's runs\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
