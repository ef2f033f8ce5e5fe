/* kforge.json and KFORGE_ variables.
 *
 * The user's file is $XDG_CONFIG_HOME/kforge/kforge.json, by default ~/.config/kforge/kforge.json.
 * The project's file is the first kforge.json on the way from the working directory up to the
 * folder with .git, or to the home directory. Outside both, kforge looks in the working directory
 * only, so that a file that another user put into /tmp has no effect. $KFORGE_CONFIG names one file
 * to read instead of both. "none" reads no file. */
#include "options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "nearest.h"

#define MAX_KEYS 192

const kf_variable kf_variables[] = {
    {"KFORGE_API_KEY", "The key of a model server on this machine or with a numeric address."},
    {"KFORGE_CA_FILE", "Certificates of authorities for model servers, instead of the system's."},
    {"KFORGE_CONFIG", "The only kforge.json to read. \"none\": read no file."},
    {"KFORGE_CUPTI", "The libcupti.so for hardware counters, instead of the CUDA toolkit's."},
    {"KFORGE_CUTLASS", "The folder with cutlass/cutlass.h."},
    {"KFORGE_DRIVER_SECONDS", "Limit of a call into the NVIDIA driver, in seconds (60)."},
    {"KFORGE_EXEC_TIMEOUT", "Limit of one call of an exec: model, in seconds (600)."},
    {"KFORGE_KEY_FILE",
     "File of keys, lines NAME=VALUE, mode 600. Default: kforge/keys in the folder of settings."},
    {"KFORGE_PLAIN_HTTP", "1: allow plain http to model servers on other machines."},
    {"KFORGE_PRICES", "A price table instead of the built-in one (docs/reference/settings.md)."},
    {"KFORGE_PYTHON",
     "The Python with PyTorch, or with pyarrow (the first in VIRTUAL_ENV, PATH, /usr/bin)."},
    {"KFORGE_ROOT",
     "The folder with kforge's bin/ and lib/kforge/, if they are not next to the program."},
    {"KFORGE_SELFTEST",
     "The folder tests/ with the candidates of `selftest`, if it is not with the program."},
    {"KFORGE_SERVER", "Address of the server that the Python client asks. kforge ignores it."},
    {"KFORGE_SOCKET",
     "Set in an agent's jail: `kforge` is then a client of the judge outside (models agent:)."},
    {"KFORGE_STORE_PATIENCE", "Seconds to wait for another process that writes to the store (30)."},
    {NULL, NULL},
};

/* ---- environment ----------------------------------------------------------------------------- */

const char *kf_environment_get(const kf_surroundings *surroundings, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *row = surroundings->environment; row && *row; row++)
        if (strncmp(*row, name, length) == 0 && (*row)[length] == '=')
            return (*row)[length + 1] ? *row + length + 1 : NULL;
    return NULL;
}

bool kf_environment_name(const char *option, char *name, size_t size)
{
    int length = snprintf(name, size, "KFORGE_%s", option);
    if (length < 0 || (size_t)length >= size) return false;
    for (char *c = name; *c; c++) *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return true;
}

#define PREFIX "KFORGE_"

/* Collects the names of all settings, each once. With `variables`: as KFORGE_… in `memory`. */
static size_t known_names(const kf_command *const *commands, bool variables,
                          const char *names[MAX_KEYS], kf_buffer *memory)
{
    size_t count = 0;
    for (; *commands; commands++)
        for (const kf_option *option = (*commands)->options; option && option->name; option++) {
            bool seen = !option->config;
            for (size_t i = 0; i < count && !seen; i++) seen = strcmp(names[i], option->name) == 0;
            if (!seen && count < MAX_KEYS) names[count++] = option->name;
        }
    if (!variables) return count;
    size_t offsets[MAX_KEYS];
    for (size_t i = 0; i < count; i++) {
        char name[128];
        offsets[i] = memory->size;
        if (kf_environment_name(names[i], name, sizeof name))
            kf_buffer_append(memory, name, strlen(name) + 1);
    }
    for (size_t i = 0; i < count; i++) names[i] = memory->data ? memory->data + offsets[i] : "";
    for (const kf_variable *row = kf_variables; row->name && count < MAX_KEYS; row++)
        names[count++] = row->name;
    return count;
}

/* True if an option of an earlier version had this variable. *error then names the present one. */
static bool fail_removed_variable(const char *given, kf_error *error)
{
    char option[128], present[128];
    size_t length = 0;
    for (const char *c = given + strlen("KFORGE_"); *c; c++)
        option[length++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    option[length] = '\0';
    const char *replacement = kf_option_replacement(NULL, option);
    if (!replacement || !kf_environment_name(replacement, present, sizeof present)) return false;
    kf_fail(error, KF_ERROR_INPUT, "environment: the variable %s was removed; use %s", given,
            present);
    return true;
}

/* Room for the value of any option. */
typedef union any_value {
    bool flag;
    const char *text;
    int64_t integer;
    double number;
    kf_option_list list;
} any_value;

/* Checks the value of a variable in every command, also in one that does not read it. */
static bool check_variable(const kf_command *const *commands, const char *name, const char *value,
                           kf_error *error)
{
    char variable[128];
    bool refused = false;
    for (; *commands; commands++)
        for (const kf_option *option = (*commands)->options; option && option->name; option++) {
            any_value target = {0};
            if (!option->config || !kf_environment_name(option->name, variable, sizeof variable) ||
                strcmp(variable, name) != 0)
                continue;
            /* The limits of commands differ. */
            if (kf_option_set(option, value, name, &target, error)) return true;
            refused = true;
        }
    return !refused;
}

/* Returns the known variable nearest to `given` behind "KFORGE_". */
static const char *near_variable(const char *given, const char *const *names, size_t count)
{
    const char *tails[MAX_KEYS], *near;
    for (size_t i = 0; i < count; i++) tails[i] = names[i] + strlen(PREFIX);
    near = kf_nearest(given + strlen(PREFIX), tails, count);
    return near ? near - strlen(PREFIX) : NULL;
}

static bool is_budget(const kf_command *const *commands, const char *variable)
{
    char name[128];
    for (; *commands; commands++)
        for (const kf_option *option = (*commands)->options; option && option->name; option++)
            if (option->budget && kf_environment_name(option->name, name, sizeof name) &&
                strcmp(name, variable) == 0)
                return true;
    return false;
}

/* Returns the budget that has its whole name among the words of `given`: COST for KFORGE_MAX_COST.
 */
static const char *budget_within(const kf_command *const *commands, const char *given,
                                 const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *word = names[i] + strlen(PREFIX),
                   *at = strstr(given + strlen(PREFIX) - 1, word);
        size_t length = strlen(word);
        if (at && at[-1] == '_' && (!at[length] || at[length] == '_') &&
            is_budget(commands, names[i]))
            return names[i];
    }
    return NULL;
}

/* Appends a line for a variable that nothing reads. False with an error if it seems to mean a
 * budget, because the command would run without it. */
static bool note_unknown(const kf_command *const *commands, const char *given,
                         const char *const *names, size_t count, kf_buffer *unknown,
                         kf_error *error)
{
    const char *near = near_variable(given, names, count);
    const char *budget =
        near && is_budget(commands, near) ? near : budget_within(commands, given, names, count);
    if (budget)
        return kf_fail(error, KF_ERROR_INPUT,
                       "environment: unknown variable %s; did you mean %s? Without it there is no "
                       "such limit; correct its name or unset it",
                       given, budget);
    kf_buffer_format(unknown, "environment: unknown variable %s is ignored; ", given);
    if (near)
        kf_buffer_format(unknown, "did you mean %s?\n", near);
    else
        kf_buffer_string(unknown, "\"kforge help settings\" lists the known ones\n");
    return true;
}

bool kf_environment_check(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_buffer *unknown, kf_error *error)
{
    const char *names[MAX_KEYS];
    kf_autobuffer memory = {0};
    size_t count = 0;
    for (const char *const *row = surroundings->environment; row && *row; row++) {
        const char *equals = strchr(*row, '=');
        if (strncmp(*row, PREFIX, strlen(PREFIX)) != 0 || !equals) continue;
        if (!count) count = known_names(commands, true, names, &memory);
        if (memory.failed) return kf_fail_memory(error, "the names of settings");
        size_t length = (size_t)(equals - *row);
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = strlen(names[i]) == length && strncmp(*row, names[i], length) == 0;
        char given[128];
        snprintf(given, sizeof given, "%.*s", (int)length, *row);
        if (!known && fail_removed_variable(given, error)) return false;
        if (!known && !note_unknown(commands, given, names, count, unknown, error)) return false;
        if (known && equals[1] && !check_variable(commands, given, equals + 1, error)) return false;
    }
    return !unknown->failed || kf_fail_memory(error, "the names of settings");
}

/* ---- kforge.json ----------------------------------------------------------------------------- */

/* True if `value` has the JSON type of the option. kf_option_set checks the text of a string. */
static bool right_type(const kf_option *option, const cJSON *value, const char **expected)
{
    switch (option->type) {
    case KF_OPTION_FLAG: *expected = "true or false"; return cJSON_IsBool(value);
    case KF_OPTION_INTEGER: *expected = "an integer"; return cJSON_IsNumber(value);
    case KF_OPTION_NUMBER: *expected = "a number"; return cJSON_IsNumber(value);
    case KF_OPTION_DURATION:
        *expected = "seconds or a string such as \"5m\"";
        return cJSON_IsNumber(value) || cJSON_IsString(value);
    case KF_OPTION_LIST:
        *expected = "a string or an array of strings";
        return cJSON_IsString(value);
    default: *expected = "a string"; return cJSON_IsString(value);
    }
}

static bool check_value(const kf_option *option, const cJSON *value, const char *source,
                        kf_error *error)
{
    const char *expected;
    if (option->type == KF_OPTION_LIST && cJSON_IsArray(value)) {
        if (cJSON_GetArraySize(value) > KF_OPTION_LIST_MAX)
            return kf_fail(error, KF_ERROR_INPUT, "%s: more than %d items", source,
                           KF_OPTION_LIST_MAX);
        for (const cJSON *item = value->child; item; item = item->next)
            if (!cJSON_IsString(item))
                return kf_fail(error, KF_ERROR_INPUT,
                               "%s: expected a string or an array of strings", source);
        return true;
    }
    if (!right_type(option, value, &expected))
        return kf_fail(error, KF_ERROR_INPUT, "%s: expected %s", source, expected);
    any_value target = {0};
    char number[40];
    const char *text = cJSON_IsString(value) ? value->valuestring : number;
    if (cJSON_IsBool(value))
        text = cJSON_IsTrue(value) ? "true" : "false";
    else if (cJSON_IsNumber(value))
        snprintf(number, sizeof number, option->type == KF_OPTION_INTEGER ? "%.15g" : "%.17g",
                 value->valuedouble);
    return kf_option_set(option, text, source, &target, error);
}

static bool check_file(const kf_command *const *commands, const kf_config_file *file,
                       kf_error *error)
{
    if (!cJSON_IsObject(file->json))
        return kf_fail(error, KF_ERROR_INPUT, "%s: expected an object of settings", file->path);
    for (const cJSON *value = file->json->child; value; value = value->next) {
        const kf_option *option = kf_option_configurable(commands, value->string);
        char source[4400];
        snprintf(source, sizeof source, "%s: %s", file->path, value->string);
        if (!option) {
            for (const kf_command *const *row = commands; *row; row++)
                if (kf_option_find(*row, value->string))
                    return kf_fail(
                        error, KF_ERROR_INPUT,
                        "%s: not a setting; give it as the option --%s on the command line", source,
                        value->string);
            const char *present = kf_option_replacement(NULL, value->string);
            if (present)
                return kf_fail(error, KF_ERROR_INPUT, "%s: the key was removed; use \"%s\"", source,
                               present);
            const char *names[MAX_KEYS],
                *near = kf_nearest(value->string, names, known_names(commands, false, names, NULL));
            if (near)
                return kf_fail(error, KF_ERROR_INPUT, "%s: unknown key; did you mean \"%s\"?",
                               source, near);
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: unknown key; \"kforge help settings\" lists the known ones",
                           source);
        }
        if (!check_value(option, value, source, error)) return false;
    }
    return true;
}

/* Reads and checks one file. Takes `path` over. */
static bool add_file(kf_config *config, const kf_command *const *commands, char *path,
                     kf_error *error)
{
    kf_config_file *file = &config->files[config->count++];
    file->path = path;
    file->folder = path ? strdup(path) : NULL;
    if (!file->folder) return kf_fail_memory(error, "a path");
    char *slash = strrchr(file->folder, '/');
    if (slash) *(slash == file->folder ? slash + 1 : slash) = '\0';
    size_t size;
    kf_autofree char *text = kf_file_read(path, KF_JSON_TASK_BYTES, &size, error);
    if (!text) return false;
    file->json = kf_json_parse(text, size, KF_JSON_TASK_BYTES, path, error);
    return file->json && check_file(commands, file, error);
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Finds the project's file, malloc'd, or NULL. False: out of memory. */
static bool project_file(const kf_surroundings *surroundings, char **found)
{
    const char *home = kf_environment_get(surroundings, "HOME");
    kf_autofree char *folder = strdup(surroundings->directory), *candidate = NULL;
    if (!folder) return false;
    for (bool first = true;; first = false) {
        kf_autofree char *file = kf_path_join(folder, KF_CONFIG_NAME),
                         *repository = kf_path_join(folder, ".git");
        if (!file || !repository) return false;
        if (!candidate && exists(file)) candidate = kf_steal(&file);
        /* A file further up counts only if the search ends at a repository or the home directory.
         */
        if ((first && candidate) || exists(repository) || (home && strcmp(folder, home) == 0)) {
            *found = kf_steal(&candidate);
            return true;
        }
        char *slash = strrchr(folder, '/');
        if (!slash || !folder[1]) return true;
        *(slash == folder ? slash + 1 : slash) = '\0';
    }
}

/* Finds the user's file, malloc'd, or NULL. False: out of memory. */
static bool user_file(const kf_surroundings *surroundings, char **found)
{
    const char *base = kf_environment_get(surroundings, "XDG_CONFIG_HOME"),
               *home = kf_environment_get(surroundings, "HOME");
    bool given = base && base[0] == '/';
    if (!given && !home) return true;
    kf_autofree char *path = given ? kf_path_join(base, "kforge/" KF_CONFIG_NAME)
                                   : kf_path_join(home, ".config/kforge/" KF_CONFIG_NAME);
    if (!path) return false;
    if (exists(path)) *found = kf_steal(&path);
    return true;
}

kf_config *kf_config_load(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_error *error)
{
    kf_auto(kf_config) config = calloc(1, sizeof *config);
    kf_autofree char *user = NULL, *project = NULL;
    const char *given = kf_environment_get(surroundings, "KFORGE_CONFIG");
    bool none = given && strcmp(given, "none") == 0;
    if (!config ||
        (!given && (!user_file(surroundings, &user) || !project_file(surroundings, &project)))) {
        kf_fail_memory(error, "the settings");
        return NULL;
    }
    bool good = true;
    if (given && !none)
        good = add_file(config, commands, kf_path_join(surroundings->directory, given), error);
    bool same = user && project && strcmp(user, project) == 0;
    if (user) good = add_file(config, commands, kf_steal(&user), error);
    if (good && project && !same) {
        good = add_file(config, commands, kf_steal(&project), error);
        config->files[config->count - 1].foreign = true;
    }
    return good ? kf_steal(&config) : NULL;
}

void kf_config_free(kf_config *config)
{
    if (!config) return;
    for (size_t i = 0; i < config->count; i++) {
        free(config->files[i].path);
        free(config->files[i].folder);
        cJSON_Delete(config->files[i].json);
    }
    free(config);
}
