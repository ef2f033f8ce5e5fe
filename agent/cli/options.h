/* Settings from option tables, files, the environment and the command line. These functions neither
 * print nor exit.
 *
 * kforge.json is one object. Its keys are option names: {"device": "cpu", "store": "runs.db",
 * "model": ["exec:./model", "none"]}. kforge reads the user's file and the project's file (config.c
 * finds them). Each key of the project's file replaces that of the user's. Every command checks all
 * keys, values and KFORGE_ variables. */
#ifndef KFORGE_OPTIONS_H
#define KFORGE_OPTIONS_H

#include <cjson/cJSON.h>

#include "command.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"

#define KF_CONFIG_NAME "kforge.json"
#define KF_CONFIG_FILES 2

/* Variables that belong to no option. They are listed here so that a misspelt KFORGE_ variable is
 * found. */
typedef struct kf_variable {
    const char *name, *help;
} kf_variable;
/* Ends with a row without a name. */
extern const kf_variable kf_variables[];

typedef struct kf_config_file {
    char *path, *folder;
    cJSON *json;
    /* The project's file. Its commands run only if they are allowed (trusted_commands.h). */
    bool foreign;
} kf_config_file;

struct kf_config {
    /* Weakest first. */
    kf_config_file files[KF_CONFIG_FILES];
    size_t count;
};

/* The source of files and variables. Tests give their own. */
typedef struct kf_surroundings {
    /* The working directory, absolute. */
    const char *directory;
    /* As environ. */
    const char *const *environment;
} kf_surroundings;

/* Reads and checks the files in force, if there are any. KF_ERROR_INPUT names file and key. Release
 * with kf_config_free. */
kf_config *kf_config_load(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_error *error);
void kf_config_free(kf_config *config);
KF_DEFINE_AUTO(kf_config, kf_config_free)

/* Checks all KFORGE_ variables. False for a value that does not fit its option, and for a variable
 * of a removed option. Appends a line to *unknown for each one that neither an option nor
 * kf_variables knows, with the nearest known one. */
bool kf_environment_check(const kf_command *const *commands, const kf_surroundings *surroundings,
                          kf_buffer *unknown, kf_error *error);
/* Returns the value of a variable. NULL if it is unset or empty. */
const char *kf_environment_get(const kf_surroundings *surroundings, const char *name);
/* Writes "KFORGE_BUILD_SECONDS" for "build-seconds". False if it does not fit. */
bool kf_environment_name(const char *option, char *name, size_t size);

typedef struct kf_parsed {
    /* settings_size bytes. Texts borrow from argv, the environment, config or `texts`. */
    void *settings;
    const char **arguments;
    size_t argument_count;
    /* --help was given. Nothing else was checked. */
    bool help;
    /* Which settings were left out, and how to allow them; owned, NULL: none was. */
    char *left_out;
    /* Texts that belong to this struct. */
    char **texts;
    size_t text_count;
} kf_parsed;

/* Fills *parsed from the `arguments` behind the command's name. `config` may be NULL. Borrowed
 * strings must outlive *parsed. KF_ERROR_INPUT names the option, the value found and what was
 * expected. Release with kf_parsed_clear, even after a failure. */
bool kf_options_parse(const kf_command *command, const kf_config *config,
                      const kf_surroundings *surroundings, const char *const *arguments,
                      size_t count, kf_parsed *parsed, kf_error *error);
void kf_parsed_clear(kf_parsed *parsed);
#define kf_autoparsed __attribute__((cleanup(kf_parsed_clear))) kf_parsed

/* Reads a text as the value of `option` into `target`, its place in the settings struct. `source`
 * is its name in errors: "--seconds". */
bool kf_option_set(const kf_option *option, const char *text, const char *source, void *target,
                   kf_error *error);
/* Returns the option of that name in `command`. NULL: no such option. */
const kf_option *kf_option_find(const kf_command *command, const char *name);
/* The present name of a removed option of `command`, NULL for those of all ("model" for "llm").
 * NULL: no option had that name. */
const char *kf_option_replacement(const char *command, const char *removed);
/* Returns the option of that name in any command that takes it from files and the environment. */
const kf_option *kf_option_configurable(const kf_command *const *commands, const char *name);

/* Returns the command that the first one or two of `words` name. *used is the number of words.
 * KF_ERROR_INPUT names the nearest known command. */
const kf_command *kf_command_find(const kf_command *const *commands, const char *const *words,
                                  size_t count, size_t *used, kf_error *error);

#endif
