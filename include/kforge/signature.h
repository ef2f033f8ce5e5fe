/* Signatures of JSON objects (Ed25519, RFC 8032, through libcrypto). With them a reader of a
 * verdict can check its origin. Thread-safe.
 *
 * The signed text is "kforge-signature/1\n" and the object's canonical text:
 *
 *   objects  keys in order of their bytes, no white space, without the top object's "signature"
 *   strings  with as few escapes as JSON allows
 *   numbers  the shortest of %.15g, %.16g and %.17g for the same double; integers below 2^53 as
 *            digits
 *
 * "signature" is {"algorithm":"ed25519","key":HEX,"value":HEX}. Changes that keep the values, such
 * as white space, keep the signature valid.
 *
 * A key file holds one line, "kforge-ed25519 " and 64 hexadecimal digits, with mode 600.
 */
#ifndef KFORGE_SIGNATURE_H
#define KFORGE_SIGNATURE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kforge/error.h"

/* 64 hexadecimal digits and a NUL */
#define KF_PUBLIC_KEY_HEX 65

/* Returns the canonical text of a value; the caller frees. NULL without memory, or if it is nested
 * too deeply. */
char *kf_json_canonical(const cJSON *json);

/* Makes a key pair and writes the private key to a new file. */
bool kf_signing_key_make(const char *path, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error);
/* Returns the object's canonical text with a new signature; the caller frees. KF_ERROR_INPUT for a
 * file that is not a key, or that other users may read. */
char *kf_json_signed(const cJSON *object, const char *key_path, kf_error *error);
/* True if the object's signature is valid. `public_key` gets the key in it; the caller must know
 * from another source that this key is trusted. KF_ERROR_INPUT for a missing, malformed or wrong
 * signature. */
bool kf_json_verify(const cJSON *object, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error);

#endif
