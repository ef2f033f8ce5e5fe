/* Keys of model providers: taken out of the environment, and given only to the request that needs
 * one.
 *
 * Every variable with a name that ends in _API_KEY is a key. kforge looks for it in the
 * environment, then in .env in the working directory, then in the file that $KFORGE_KEY_FILE names
 * (default $XDG_CONFIG_HOME/kforge/keys or ~/.config/kforge/keys). That file must belong to the
 * user and have mode 600. Both files hold lines NAME=VALUE. kforge reads only keys from them.
 *
 * main calls kf_api_keys_hide first. It moves the keys out of the environment, so child processes
 * do not inherit them. It also overwrites /proc/PID/environ. The keys lie in pages that core dumps
 * leave out and that, if the system allows it, are not swapped out. */
#ifndef KFORGE_API_KEY_H
#define KFORGE_API_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"

/* Moves all variables …_API_KEY from the environment into the process's own memory. May be called
 * again. Call it before other threads run. */
void kf_api_keys_hide(void);
/* True: processes that kforge forks and that stay kforge have the keys. False, as at first: the
 * pages are empty in them. Call it around such a fork, in a process of one thread. */
void kf_api_keys_inherit(bool inherited);
/* Returns the key, borrowed for the life of the process. NULL if there is no such key. NULL with
 * *error if a key file must not be used (wrong mode, unreadable). */
const char *kf_api_key(const char *name, kf_error *error);
/* Forbids core dumps, and access by other processes of the user. Called before the first request
 * with a key. */
void kf_api_keys_guard(void);
/* Returns the number of keys that kforge knows and up to `most` of them, borrowed. Includes keys of
 * the known providers in key files. Exports use it to check that they hold no key. */
size_t kf_api_keys_known(const char **values, size_t most);
/* Replaces every known key in `text` by "[key]". For texts of servers, which repeat a key they
 * refuse, and of models. */
void kf_api_keys_redact(char *text);
/* As kf_api_keys_redact, for text that may hold NUL bytes and has one behind it. Returns its new
 * size. */
size_t kf_api_keys_redact_bytes(char *text, size_t size);
/* Returns a copy with "[key]" for each known key, for each value of a variable …TOKEN, …SECRET or
 * …PASSWORD, for text that looks like a key (sk-…), for the user and password of a URL, and for
 * values with a name that says so (--token VALUE, PASSWORD=VALUE, Authorization: Basic VALUE). Sets
 * *count, which may be NULL, to their number. NULL without memory. For command lines of users. */
char *kf_api_keys_without(const char *text, int64_t *count);
/* False if the command of a model or worker holds a key: kforge prints and stores commands. `what`
 * names it in the error ("model"), which shows the command without the key. */
bool kf_api_keys_check_command(const char *what, const char *command, kf_error *error);

#endif
