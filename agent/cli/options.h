/* From tables, files, environment and command line to settings. Nothing here prints or exits.
 *
 * kforge.json is one object whose keys are option names: {"device": "cpu", "store": "runs.db",
 * "model": ["exec:./ask", "none"]}. Two files are read, the user's and the project's, which wins
 * key by key (config.c says where they are looked for). Every key and value is checked when the
 * file is read, whichever command runs; the same holds for variables of the environment that begin
 * with KFORGE_.
 */
#ifndef KFORGE_OPTIONS_H
#define KFORGE_OPTIONS_H

#include <cjson/cJSON.h>

#include "command.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"

#define KF_CONFIG_NAME "kforge.json"
#define KF_CONFIG_FILES 2

/* Variables that are no option's: read where the name says, listed here so that a misspelt KFORGE_
 * variable can be told. */
typedef struct kf_variable {
    const char *name, *help;
} kf_variable;
extern const kf_variable kf_variables[]; /* ends with a row without a name */

typedef struct kf_config_file {
    char *path, *folder;
    cJSON *json;
} kf_config_file;

struct kf_config {
    kf_config_file files[KF_CONFIG_FILES]; /* weakest first */
    size_t count;
};

/* Where files and variables come from; a test gives its own. */
typedef struct kf_surroundings {
    const char *directory;          /* working directory, absolute */
    const char *const *environment; /* as environ */
} kf_surroundings;

/* Reads and checks the files in force. No file at all is fine. Errors: KF_ERROR_INPUT naming file
 * and key. Free with kf_config_free. */
kf_config *kf_config_load(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_error *error);
void kf_config_free(kf_config *config);
KF_DEFINE_AUTO(kf_config, kf_config_free)

/* Refuses variables KFORGE_… that no option and no row of kf_variables knows, naming the nearest
 * that is known. */
bool kf_environment_check(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_error *error);
/* The value of a variable in surroundings; NULL when unset or empty. */
const char *kf_environment_get(const kf_surroundings *surroundings, const char *name);
/* "KFORGE_BUILD_SECONDS" of "build-seconds". False when it does not fit. */
bool kf_environment_name(const char *option, char *name, size_t size);

typedef struct kf_parsed {
    /* settings_size bytes; texts borrow from argv, environment, config or `texts` */
    void *settings;
    const char **arguments;
    size_t argument_count;
    bool help;    /* --help: nothing else was checked */
    char **texts; /* put together here */
    size_t text_count;
} kf_parsed;

/* Fills *parsed for `arguments` (those behind the command's name). `config` may be NULL. Borrowed
 * strings must outlive *parsed. Errors: KF_ERROR_INPUT naming the option, what was found and what
 * was expected. Release with kf_parsed_clear, also after a failure. */
bool kf_options_parse(const kf_command *command, const kf_config *config,
                      const kf_surroundings *surroundings, const char *const *arguments,
                      size_t count, kf_parsed *parsed, kf_error *error);
void kf_parsed_clear(kf_parsed *parsed);
#define kf_autoparsed __attribute__((cleanup(kf_parsed_clear))) kf_parsed

/* One value as text for `option` into `target` (the place in the settings struct); `source` is what
 * errors call it: "--seconds". */
bool kf_option_set(const kf_option *option, const char *text, const char *source, void *target,
                   kf_error *error);
/* The option of that name in `command`; NULL when there is none. */
const kf_option *kf_option_find(const kf_command *command, const char *name);
/* The present name of a removed option ("model" for "llm"). NULL: no option had that name. */
const char *kf_option_replacement(const char *removed);
/* The option of that name in any command that takes it from files and environment. */
const kf_option *kf_option_configurable(const kf_command *const *commands, const char *name);

/* The command named by the first one or two of `words`; *used tells how many. Errors
 * (KF_ERROR_INPUT) name the nearest known command. */
const kf_command *kf_command_find(const kf_command *const *commands, const char *const *words,
                                  size_t count, size_t *used, kf_error *error);

#endif
