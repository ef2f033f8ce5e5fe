#include "kforge/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define PREFIX "kforge-signature/1\n"
#define KEY_WORD "kforge-ed25519 "
#define KEY_BYTES 32
#define SIGNATURE_BYTES 64
#define KEY_FILE_BYTES 256

/* ---- the canonical text ---------------------------------------------------------------------- */

static void write_string(kf_buffer *text, const char *string)
{
    kf_buffer_string(text, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\')
            kf_buffer_format(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            kf_buffer_format(text, "\\u%04x", (unsigned)*c);
        else
            kf_buffer_format(text, "%c", *c);
    }
    kf_buffer_string(text, "\"");
}

static void write_number(kf_buffer *text, double value)
{
    char number[40];
    /* JSON has no infinities, but parsers read 1e999 as one */
    if (!isfinite(value)) {
        kf_buffer_string(text, isnan(value) ? "null" : value > 0 ? "1e999" : "-1e999");
        return;
    }
    if (value == 0) value = 0; /* -0 is 0 */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g",
                 fabs(value) < 9007199254740992.0 && value == floor(value) ? 16 : digits, value);
        if (strtod(number, NULL) == value) break;
    }
    kf_buffer_string(text, number);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static bool write_value(kf_buffer *text, const cJSON *value, int depth);

static bool write_object(kf_buffer *text, const cJSON *object, int depth)
{
    size_t count = 0, used = 0;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, object) count++;
    kf_autofree const cJSON **entries = calloc(count + 1, sizeof *entries);
    if (!entries) return false;
    cJSON_ArrayForEach(entry, object)
    {
        if (depth > 0 || strcmp(entry->string, "signature") != 0) entries[used++] = entry;
    }
    qsort(entries, used, sizeof *entries, by_key);
    kf_buffer_string(text, "{");
    for (size_t i = 0; i < used; i++) {
        if (i) kf_buffer_string(text, ",");
        write_string(text, entries[i]->string);
        kf_buffer_string(text, ":");
        if (!write_value(text, entries[i], depth + 1)) return false;
    }
    kf_buffer_string(text, "}");
    return true;
}

static bool write_value(kf_buffer *text, const cJSON *value, int depth)
{
    if (depth > KF_JSON_DEPTH) return false;
    if (cJSON_IsObject(value)) return write_object(text, value, depth);
    if (cJSON_IsArray(value)) {
        const cJSON *entry;
        bool first = true;
        kf_buffer_string(text, "[");
        cJSON_ArrayForEach(entry, value)
        {
            if (!first) kf_buffer_string(text, ",");
            first = false;
            if (!write_value(text, entry, depth + 1)) return false;
        }
        kf_buffer_string(text, "]");
    } else if (cJSON_IsString(value)) {
        write_string(text, value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        write_number(text, value->valuedouble);
    } else if (cJSON_IsRaw(value)) {
        /* a number that kf_json_add_number wrote */
        write_number(text, strtod(value->valuestring, NULL));
    } else {
        kf_buffer_string(text, cJSON_IsTrue(value)    ? "true"
                               : cJSON_IsFalse(value) ? "false"
                                                      : "null");
    }
    return true;
}

char *kf_json_canonical(const cJSON *json)
{
    kf_autobuffer text = {0};
    if (!json || !write_value(&text, json, 0)) return NULL;
    return kf_buffer_take(&text);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void to_hex(const unsigned char *bytes, size_t size, char *hex)
{
    for (size_t i = 0; i < size; i++) snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads exactly 2 * size digits. */
static bool from_hex(const char *hex, unsigned char *bytes, size_t size)
{
    if (!hex || strlen(hex) != 2 * size) return false;
    for (size_t i = 0; i < size; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        bytes[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static bool crypto_failed(kf_error *error)
{
    return kf_fail(error, KF_ERROR_MACHINE,
                   "libcrypto refuses Ed25519; its FIPS mode may forbid the algorithm");
}

static bool public_of(EVP_PKEY *key, char hex[KF_PUBLIC_KEY_HEX])
{
    unsigned char bytes[KEY_BYTES];
    size_t size = sizeof bytes;
    if (EVP_PKEY_get_raw_public_key(key, bytes, &size) != 1 || size != sizeof bytes) return false;
    to_hex(bytes, sizeof bytes, hex);
    return true;
}

bool kf_signing_key_make(const char *path, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error)
{
    unsigned char secret[KEY_BYTES];
    char line[sizeof KEY_WORD + 2 * KEY_BYTES + 2], hex[KF_PUBLIC_KEY_HEX];
    if (!kf_random(secret, sizeof secret))
        return kf_fail(error, KF_ERROR_MACHINE,
                       "the operating system's random source (getrandom) failed");
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, sizeof secret);
    bool made = key && public_of(key, hex);
    EVP_PKEY_free(key);
    size_t used = (size_t)snprintf(line, sizeof line, "%s", KEY_WORD);
    to_hex(secret, sizeof secret, line + used);
    explicit_bzero(secret, sizeof secret);
    strcat(line, "\n");
    kf_autoclose int fd =
        made ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    bool written = fd >= 0 && kf_write_all(fd, line, strlen(line)) && fsync(fd) == 0;
    int number = errno;
    explicit_bzero(line, sizeof line);
    if (!made) return crypto_failed(error);
    if (written) {
        memcpy(public_key, hex, sizeof hex);
        return true;
    }
    if (fd >= 0) unlink(path);
    return kf_fail(error, number == EEXIST ? KF_ERROR_INPUT : KF_ERROR_MACHINE, "%s: %s%s", path,
                   strerror(number),
                   number == EEXIST ? "; kforge never overwrites a key, so give another name" : "");
}

static EVP_PKEY *read_key(const char *path, kf_error *error)
{
    char line[KEY_FILE_BYTES] = "";
    unsigned char secret[KEY_BYTES];
    struct stat status;
    kf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        kf_fail(error, KF_ERROR_INPUT, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077)) {
        kf_fail(error, KF_ERROR_INPUT,
                "%s: only its owner may be able to read a signing key; run chmod 600 on it", path);
        return NULL;
    }
    ssize_t size = read(fd, line, sizeof line - 1);
    EVP_PKEY *key = NULL;
    if (size > 0) line[strcspn(line, "\r\n")] = '\0';
    bool good = size > 0 && strncmp(line, KEY_WORD, strlen(KEY_WORD)) == 0 &&
                from_hex(line + strlen(KEY_WORD), secret, sizeof secret);
    if (good) key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, sizeof secret);
    explicit_bzero(line, sizeof line);
    explicit_bzero(secret, sizeof secret);
    if (!good)
        kf_fail(error, KF_ERROR_INPUT, "%s: not a signing key; `kforge verdict keygen` makes one",
                path);
    else if (!key)
        crypto_failed(error);
    return key;
}

/* ---- signing --------------------------------------------------------------------------------- */

/* Returns the text to sign; the caller frees. */
static char *message_of(const cJSON *object, size_t *size, kf_error *error)
{
    kf_autofree char *canonical = cJSON_IsObject(object) ? kf_json_canonical(object) : NULL;
    char *message = NULL;
    if (!canonical || asprintf(&message, "%s%s", PREFIX, canonical) < 0) {
        kf_fail(error, KF_ERROR_MEMORY,
                "out of memory for the text to sign, or it is nested more than %d levels deep",
                KF_JSON_DEPTH);
        return NULL;
    }
    *size = strlen(message);
    return message;
}

char *kf_json_signed(const cJSON *object, const char *key_path, kf_error *error)
{
    unsigned char value[SIGNATURE_BYTES];
    char key_hex[KF_PUBLIC_KEY_HEX], value_hex[2 * SIGNATURE_BYTES + 1], *text = NULL;
    size_t size, value_size = sizeof value;
    kf_autofree char *message = message_of(object, &size, error);
    EVP_PKEY *key = message ? read_key(key_path, error) : NULL;
    if (!key) return NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done =
        context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestSign(context, value, &value_size, (const unsigned char *)message, size) == 1 &&
        public_of(key, key_hex);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    if (!done) {
        crypto_failed(error);
        return NULL;
    }
    to_hex(value, sizeof value, value_hex);
    message[size - 1] = '\0'; /* the closing brace */
    const char *canonical = message + strlen(PREFIX);
    if (asprintf(&text,
                 "%s%s\"signature\":{\"algorithm\":\"ed25519\",\"key\":\"%s\",\"value\":\"%s\"}}",
                 canonical, canonical[1] ? "," : "", key_hex, value_hex) < 0) {
        kf_fail_memory(error, "a signature");
        return NULL;
    }
    return text;
}

bool kf_json_verify(const cJSON *object, char public_key[KF_PUBLIC_KEY_HEX], kf_error *error)
{
    const cJSON *signature = cJSON_GetObjectItemCaseSensitive(object, "signature");
    const char *algorithm = kf_json_get_text(signature, "algorithm", NULL);
    const char *key_hex = kf_json_get_text(signature, "key", NULL);
    const char *value_hex = kf_json_get_text(signature, "value", NULL);
    unsigned char key_bytes[KEY_BYTES], value[SIGNATURE_BYTES];
    if (!signature) return kf_fail(error, KF_ERROR_INPUT, "not signed");
    if (!algorithm || strcmp(algorithm, "ed25519") != 0 ||
        !from_hex(key_hex, key_bytes, sizeof key_bytes) ||
        !from_hex(value_hex, value, sizeof value))
        return kf_fail(
            error, KF_ERROR_INPUT,
            "the signature is malformed; expected ed25519, a key of 64 digits and a value of 128");
    snprintf(public_key, KF_PUBLIC_KEY_HEX, "%s", key_hex);
    size_t size;
    kf_autofree char *message = message_of(object, &size, error);
    if (!message) return false;
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key_bytes, sizeof key_bytes);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good =
        key && context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(context, value, sizeof value, (const unsigned char *)message, size) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return good ||
           kf_fail(error, KF_ERROR_INPUT,
                   "the signature does not match: the text has changed, or another key signed it");
}
