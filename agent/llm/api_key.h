/* Keys of model providers: taken out of the environment, kept apart, handed to nobody but the
 * request that needs one.
 *
 * Where a key is looked for, by the name of its variable (OPENAI_API_KEY; any name that ends in
 * _API_KEY is a key): the environment, then .env in the working directory, then the file that
 * $KFORGE_KEY_FILE names (default $XDG_CONFIG_HOME/kforge/keys or ~/.config/kforge/keys), which
 * must belong to the user and be readable by nobody else (mode 600). Both files hold lines
 * NAME=VALUE; nothing but keys is read from them.
 *
 * kf_api_keys_hide, called first thing in main, moves the keys out of the environment: children
 * can't inherit what is not there, and /proc/PID/environ is overwritten, too. Keys lie in pages
 * that no core dump holds and that are not swapped out where the system allows that.
 */
#ifndef KFORGE_SECRET_H
#define KFORGE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/error.h"

/* Moves all variables …_API_KEY from the environment into memory of our own. May be called again.
 * Not while other threads run. */
void kf_api_keys_hide(void);
/* The key of that name, borrowed for the life of the process; NULL without an error when there is
 * none; NULL with *error filled when a key file may not be used (wrong mode, unreadable). */
const char *kf_api_key(const char *name, kf_error *error);
/* From now on the process writes no core and can't be looked into by others of the same user. Done
 * before the first request with a key. */
void kf_api_keys_guard(void);
/* All keys that are known so far, borrowed: at most `most` of them; for exports, which must not
 * hold one. Returns their number. */
size_t kf_api_keys_known(const char **values, size_t most);
/* Replaces every key that is known by "[key]" in place: for what servers say, which repeat the key
 * they refuse, and models, which may say anything. */
void kf_api_keys_redact(char *text);
/* The same for text that may hold NUL bytes and is followed by one; returns its new size. */
size_t kf_api_keys_redact_bytes(char *text, size_t size);

#endif
