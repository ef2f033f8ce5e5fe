/* Signatures under JSON objects (Ed25519, RFC 8032, through libcrypto), so that whoever gets a
 * verdict can check who vouches for it.
 *
 * What is signed is "kforge-signature/1\n" and the object's canonical text: keys in order of their
 * bytes, no white space, strings with as few escapes as JSON allows, numbers as the shortest of
 * %.15g, %.16g and %.17g that names the same double (whole ones below 2^53 as digits). The member
 * "signature" is left out of it and holds {"algorithm":"ed25519","key":HEX,"value":HEX}. A changed
 * byte that does not change the value, such as white space, leaves a signature good.
 *
 * A key file holds one line, "kforge-ed25519 " and 64 hexadecimal digits, and is for its owner
 * alone: mode 600.
 */
#ifndef KFORGE_SIGNATURE_H
#define KFORGE_SIGNATURE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kforge/error.h"

#define KF_PUBLIC_KEY_HEX 65 /* 64 hexadecimal digits and the terminating NUL */

/* The canonical text of a value without the top object's member "signature"; malloc'd, NULL when
 * out of memory or nested too deeply. */
char *kf_json_canonical(const cJSON *json);

/* Makes a key and writes it to a file that must not exist yet. `public_key` gets the half that
 * others need. */
bool kf_signing_key_make(const char *path, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error);
/* The object's canonical text with a signature by the key in a file, in place of one that it may
 * have; malloc'd. NULL with KF_ERROR_INPUT for a file that is no key or that others may read. */
char *kf_json_signed(const cJSON *object, const char *key_path, kf_error *error);
/* False with KF_ERROR_INPUT when there is no signature, a malformed one or one that does not fit.
 * `public_key` gets the key it names, which the caller has to know from elsewhere. */
bool kf_json_verify(const cJSON *object, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error);

#endif
