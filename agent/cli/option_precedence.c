/* Merges the sources of options. Four passes read them into one settings struct, weakest first:
 * defaults, kforge.json, environment, command line. A later pass overwrites an earlier one.
 * Exception: the first item that a source gives for a list empties the list. */
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_key.h"
#include "shell_command.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "misplaced_word.h"
#include "nearest.h"
#include "kforge/list.h"
#include "trusted_commands.h"

#define MAX_OPTIONS 64

/* ---- the four passes ------------------------------------------------------------------------- */

typedef struct parser {
    const kf_command *command;
    kf_parsed *parsed;
    /* By option number: this source has given the list an item. */
    bool listed[MAX_OPTIONS];
    const char *const *environment;
    kf_error *error;
} parser;

static bool set(parser *p, const kf_option *option, const char *text, const char *source)
{
    char *target = (char *)p->parsed->settings + option->offset;
    size_t number = (size_t)(option - p->command->options);
    if (option->type == KF_OPTION_LIST && number < MAX_OPTIONS && !p->listed[number]) {
        p->listed[number] = true;
        ((kf_option_list *)target)->count = 0;
    }
    return kf_option_set(option, text, source, target, p->error);
}

static bool set_defaults(parser *p)
{
    for (const kf_option *option = p->command->options; option && option->name; option++)
        if (option->fallback && !set(p, option, option->fallback, option->name)) return false;
    return true;
}

/* Keeps a text until kf_parsed_clear. Takes it over. */
static const char *keep(parser *p, char *text)
{
    kf_parsed *parsed = p->parsed;
    if (!text || !kf_list_grow(&parsed->texts, parsed->text_count)) {
        free(text);
        kf_fail_memory(p->error, "an option");
        return NULL;
    }
    return parsed->texts[parsed->text_count++] = text;
}

/* Returns one value of kforge.json as the command line would hold it. A string is borrowed from the
 * tree. */
static const char *config_text(parser *p, const kf_option *option, const cJSON *value,
                               const char *folder)
{
    if (cJSON_IsBool(value)) return cJSON_IsTrue(value) ? "true" : "false";
    if (cJSON_IsString(value)) {
        if (option->type != KF_OPTION_PATH) return value->valuestring;
        const char *home = value->valuestring[0] == '/' ? NULL : folder;
        return home ? keep(p, kf_path_join(home, value->valuestring)) : value->valuestring;
    }
    char *text = NULL;
    double number = value->valuedouble;
    if (asprintf(&text, number == floor(number) && fabs(number) < 1e15 ? "%.0f" : "%.17g", number) <
        0)
        text = NULL;
    return keep(p, text);
}

/* True unless the setting of a project names a command that the user has not allowed. Notes a
 * refusal in `left_out`. */
static bool may_run(parser *p, const kf_config_file *from, const kf_option *option,
                    const cJSON *value)
{
    const cJSON *item = cJSON_IsArray(value) ? value->child : value;
    for (; item; item = cJSON_IsArray(value) ? item->next : NULL) {
        const char *text = cJSON_GetStringValue(item);
        if (!text || !kf_trust_is_command(option->name, text) ||
            kf_trust_has(p->environment, from->folder, text))
            continue;
        char *before = p->parsed->left_out, *note = NULL;
        kf_autofree char *shown = kf_api_keys_without(text, NULL);
        kf_autobuffer folder = {0};
        kf_command_append_word(&folder, from->folder);
        if (asprintf(&note,
                     "%s%s: %s is ignored: it runs the command \"%s\"; if you trust it: kforge "
                     "trust %s\n",
                     before ? before : "", from->path, option->name, shown ? shown : "",
                     folder.data ? folder.data : from->folder) < 0)
            return false;
        free(before);
        p->parsed->left_out = note;
        return false;
    }
    return true;
}

static bool set_from_config(parser *p, const kf_config *config)
{
    for (size_t file = 0; config && file < config->count; file++) {
        memset(p->listed, 0, sizeof p->listed);
        const kf_config_file *from = &config->files[file];
        for (const kf_option *option = p->command->options; option && option->name; option++) {
            const cJSON *value =
                option->config ? cJSON_GetObjectItemCaseSensitive(from->json, option->name) : NULL;
            if (!value) continue;
            char source[4400];
            snprintf(source, sizeof source, "%s: %s", from->path, option->name);
            if (from->foreign && !may_run(p, from, option, value)) continue;
            bool many = cJSON_IsArray(value);
            if (many && !value->child)
                ((kf_option_list *)((char *)p->parsed->settings + option->offset))->count = 0;
            for (const cJSON *item = many ? value->child : value; item;
                 item = many ? item->next : NULL) {
                const char *text = config_text(p, option, item, from->folder);
                if (!text || !set(p, option, text, source)) return false;
            }
        }
    }
    return true;
}

static bool set_from_environment(parser *p, const kf_surroundings *surroundings)
{
    memset(p->listed, 0, sizeof p->listed);
    for (const kf_option *option = p->command->options; surroundings && option && option->name;
         option++) {
        char name[128];
        if (!option->config || !kf_environment_name(option->name, name, sizeof name)) continue;
        const char *text = kf_environment_get(surroundings, name);
        if (text && !set(p, option, text, name)) return false;
    }
    return true;
}

static bool unknown_option(const parser *p, const char *given)
{
    const char *names[MAX_OPTIONS], *present = kf_option_replacement(p->command->name, given);
    if (present && kf_option_find(p->command, present))
        return kf_fail(p->error, KF_ERROR_INPUT, "%s: the option --%s was removed; use --%s",
                       p->command->name, given, present);
    size_t count = 0;
    for (const kf_option *option = p->command->options;
         option && option->name && count < MAX_OPTIONS - 1; option++)
        names[count++] = option->name;
    names[count++] = "help";
    const char *near = kf_nearest(given, names, count);
    if (near)
        return kf_fail(p->error, KF_ERROR_INPUT, "%s: unknown option --%s; did you mean --%s?",
                       p->command->name, given, near);
    return kf_fail(p->error, KF_ERROR_INPUT,
                   "%s: unknown option --%s; \"kforge %s --help\" lists them", p->command->name,
                   given, p->command->name);
}

/* Reads --name, --name=value, --name value or --no-name. *next is the next argument, taken if
 * needed. */
static bool set_long(parser *p, const char *argument, const char *const *next, bool *took_next)
{
    char name[64], source[80];
    const char *value = strchr(argument + 2, '=');
    size_t length = value ? (size_t)(value - argument - 2) : strlen(argument + 2);
    if (value) value++;
    if (length >= sizeof name)
        return kf_fail(p->error, KF_ERROR_INPUT, "%s: unknown option %.80s", p->command->name,
                       argument);
    memcpy(name, argument + 2, length);
    name[length] = '\0';
    snprintf(source, sizeof source, "--%s", name);
    const kf_option *option = kf_option_find(p->command, name);
    bool negated = !option && strncmp(name, "no-", 3) == 0;
    if (negated) option = kf_option_find(p->command, name + 3);
    if (!option || (negated && option->type != KF_OPTION_FLAG)) return unknown_option(p, name);
    if (option->type == KF_OPTION_FLAG) {
        if (value) return kf_fail(p->error, KF_ERROR_INPUT, "%s takes no value", source);
        return set(p, option, negated ? "false" : "true", source);
    }
    if (!value) {
        if (!next)
            return kf_fail(p->error, KF_ERROR_INPUT, "%s: a value is missing: %s %s", source,
                           source, option->argument);
        value = *next;
        *took_next = true;
    }
    return set(p, option, value, source);
}

static const kf_option *find_letter(const kf_command *command, char letter)
{
    for (const kf_option *option = command->options; option && option->name; option++)
        if (option->letter == letter) return option;
    return NULL;
}

/* Reads -x, -xyz of flags, -nVALUE or -n VALUE. */
static bool set_short(parser *p, const char *argument, const char *const *next, bool *took_next)
{
    /* "-device" instead of "--device" would read as -d evice. */
    if (argument[2] && kf_option_find(p->command, argument + 1))
        return kf_fail(p->error, KF_ERROR_INPUT, "%s: unknown option %s; did you mean -%s?",
                       p->command->name, argument, argument);
    for (const char *letter = argument + 1; *letter; letter++) {
        const kf_option *option = find_letter(p->command, *letter);
        if (!option) {
            return kf_fail(p->error, KF_ERROR_INPUT,
                           "%s: unknown option -%c; \"kforge %s --help\" lists them",
                           p->command->name, *letter, p->command->name);
        }
        char source[80];
        snprintf(source, sizeof source, "-%c", *letter);
        if (option->type == KF_OPTION_FLAG) {
            if (!set(p, option, "true", source)) return false;
            continue;
        }
        if (letter[1]) return set(p, option, letter + 1, source);
        if (!next)
            return kf_fail(p->error, KF_ERROR_INPUT, "%s: a value is missing: %s %s", source,
                           source, option->argument);
        *took_next = true;
        return set(p, option, *next, source);
    }
    return true;
}

/* True if help is requested. Checked first, so help works whatever else is wrong. The value of an
 * option counts, too: "--name --help" is rare. */
static bool asks_for_help(const char *const *arguments, size_t count)
{
    for (size_t i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) return true;
    return false;
}

static bool set_from_arguments(parser *p, const char *const *arguments, size_t count)
{
    memset(p->listed, 0, sizeof p->listed);
    bool options_end = false;
    for (size_t i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (options_end || argument[0] != '-' || !argument[1]) {
            p->parsed->arguments[p->parsed->argument_count++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            options_end = true;
            continue;
        }
        bool took_next = false;
        const char *const *next = i + 1 < count ? &arguments[i + 1] : NULL;
        bool good = argument[1] == '-' ? set_long(p, argument, next, &took_next)
                                       : set_short(p, argument, next, &took_next);
        if (!good) return false;
        i += took_next;
    }
    return true;
}

static bool check_count(const parser *p)
{
    const kf_command *command = p->command;
    size_t count = p->parsed->argument_count;
    if (count >= command->least_arguments && count <= command->most_arguments) return true;
    const char *synopsis = command->synopsis ? command->synopsis : "";
    if (count > command->most_arguments) {
        const char *extra = p->parsed->arguments[command->most_arguments];
        return kf_fail(p->error, KF_ERROR_INPUT,
                       "%s: unexpected argument \"%s\"; usage: kforge %s%s%s", command->name, extra,
                       command->name, *synopsis ? " " : "", synopsis);
    }
    return kf_fail(p->error, KF_ERROR_INPUT, "%s: %s; usage: kforge %s %s", command->name,
                   count ? "an argument is missing" : "arguments are missing", command->name,
                   synopsis);
}

bool kf_options_parse(const kf_command *command, const kf_config *config,
                      const kf_surroundings *surroundings, const char *const *arguments,
                      size_t count, kf_parsed *parsed, kf_error *error)
{
    *parsed = (kf_parsed){0};
    parsed->help = asks_for_help(arguments, count);
    if (parsed->help) return true;
    parser p = {.command = command,
                .parsed = parsed,
                .environment = surroundings ? surroundings->environment : NULL,
                .error = error};
    parsed->settings = calloc(1, command->settings_size ? command->settings_size : 1);
    parsed->arguments = calloc(count + 1, sizeof *parsed->arguments);
    if (!parsed->settings || !parsed->arguments) return kf_fail_memory(error, "the options");
    return set_defaults(&p) && set_from_config(&p, config) &&
           set_from_environment(&p, surroundings) && set_from_arguments(&p, arguments, count) &&
           !kf_misplaced_word(command, arguments, count, parsed, error) && check_count(&p);
}

void kf_parsed_clear(kf_parsed *parsed)
{
    for (size_t i = 0; i < parsed->text_count; i++) free(parsed->texts[i]);
    free(parsed->texts);
    free(parsed->left_out);
    free(parsed->settings);
    free(parsed->arguments);
    *parsed = (kf_parsed){0};
}
