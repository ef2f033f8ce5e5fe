/* What the wire formats share: reading members, collecting the answer, errors inside a stream. */
#include "llm_dialect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/json.h"
#include "llm_continue.h"

/* Larger counts are invalid. */
#define MAX_TOKENS 1e9

const char *const kf_effort_names[] = {"default", "none", "minimal", "low",
                                       "medium",  "high", "xhigh",   NULL};

void kf_answer_open(kf_answer *answer)
{
    *answer = (kf_answer){.text = {.limit = KF_REPLY_BYTES},
                          .prompt_tokens = -1,
                          .completion_tokens = -1,
                          .cached_tokens = -1,
                          .cache_write_tokens = -1,
                          .cost_usd = NAN};
}

void kf_answer_close(kf_answer *answer)
{
    kf_buffer_free(&answer->text);
}

/* ---- members --------------------------------------------------------------------------------- */

const cJSON *kf_dialect_member(const cJSON *object, const char *path)
{
    while (object && *path) {
        char part[64];
        size_t length = strcspn(path, ".");
        if (length >= sizeof part) return NULL;
        memcpy(part, path, length);
        part[length] = '\0';
        bool index = part[0] >= '0' && part[0] <= '9';
        object = index ? (cJSON_IsArray(object) ? cJSON_GetArrayItem(object, atoi(part)) : NULL)
                       : (cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, part)
                                                 : NULL);
        path += length + (path[length] == '.');
    }
    return object;
}

const char *kf_dialect_member_text(const cJSON *object, const char *path)
{
    const cJSON *item = kf_dialect_member(object, path);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

int64_t kf_dialect_member_count(const cJSON *object, const char *path)
{
    const cJSON *item = kf_dialect_member(object, path);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= MAX_TOKENS
               ? (int64_t)item->valuedouble
               : -1;
}

void kf_answer_text(kf_answer *answer, const char *text)
{
    if (text) kf_buffer_string(&answer->text, text);
}

void kf_answer_hidden(kf_answer *answer, const char *text)
{
    if (text) answer->hidden_bytes += strlen(text);
}

void kf_answer_model(kf_answer *answer, const char *model)
{
    if (model && *model) snprintf(answer->model, sizeof answer->model, "%s", model);
}

void kf_answer_stop(kf_answer *answer, kf_stop stop, const char *word)
{
    answer->stop = stop;
    snprintf(answer->stop_word, sizeof answer->stop_word, "%s", word);
}

cJSON *kf_message(cJSON *list, const char *role, const char *content)
{
    cJSON *message = cJSON_CreateObject();
    bool whole = cJSON_AddStringToObject(message, "role", role) &&
                 cJSON_AddStringToObject(message, "content", content);
    if (whole && cJSON_AddItemToArray(list, message)) return message;
    cJSON_Delete(message);
    return NULL;
}

bool kf_messages(cJSON *list, const kf_dialect_request *request)
{
    return kf_message(list, "user", request->prompt) &&
           (!request->begun || (kf_message(list, "assistant", request->begun) &&
                                kf_message(list, "user", KF_CONTINUE_PROMPT)));
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Returns the code unit of an escape \uXXXX, or -1. */
static int escaped_unit(const char *at)
{
    char digits[5] = "";
    if (at[0] != '\\' || at[1] != 'u') return -1;
    memcpy(digits, at + 2, strnlen(at + 2, 4));
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int)strtoul(digits, NULL, 16) : -1;
}

/* Replaces the escape by that of U+FFFD if it is half of a surrogate pair, or NUL, which would end
 * the text. Returns its length. */
static size_t mend_escape(char *at)
{
    int unit = escaped_unit(at);
    if (unit != 0 && (unit < 0xd800 || unit > 0xdfff)) return 2;
    int next = unit && unit < 0xdc00 ? escaped_unit(at + 6) : -1;
    if (next >= 0xdc00 && next <= 0xdfff) return 12;
    memcpy(at, "\\ufffd", 6);
    return 6;
}

/* Returns a copy with U+FFFD in place of each NUL byte, malloc'd. */
static char *without_nul(const char *text, size_t size)
{
    kf_autobuffer copy = {0};
    const char *end = text + size;
    for (const char *nul; (nul = memchr(text, '\0', (size_t)(end - text))); text = nul + 1) {
        kf_buffer_append(&copy, text, (size_t)(nul - text));
        kf_buffer_string(&copy, "\xef\xbf\xbd");
    }
    kf_buffer_append(&copy, text, (size_t)(end - text));
    return kf_buffer_take(&copy);
}

char *kf_mend_json(const char *text, size_t size)
{
    static const struct {
        /* -1: an invalid count. */
        const char *word, *instead;
    } rows[] = {
        {"-Infinity", "-1       "}, {"Infinity", "-1      "}, {"NaN", "-1 "}, {"nan", "-1 "}};
    char *copy = without_nul(text, size);
    bool quoted = false;
    for (char *at = copy; at && *at; at++) {
        if (*at == '\\' && quoted && at[1]) {
            at += mend_escape(at) - 1;
            continue;
        }
        if (*at == '"') quoted = !quoted;
        for (size_t i = 0; !quoted && i < sizeof rows / sizeof *rows; i++)
            if (strncmp(at, rows[i].word, strlen(rows[i].word)) == 0) {
                memcpy(at, rows[i].instead, strlen(rows[i].word));
                break;
            }
    }
    return copy;
}

/* Parses a value with nothing behind it: of several values, all but the first would be lost. */
static cJSON *parse_all(const char *text, size_t size)
{
    const char *end = NULL;
    kf_auto(cJSON) json = cJSON_ParseWithLengthOpts(text, size, &end, false);
    while (json && end < text + size && strchr(" \t\r\n", *end) && *end) end++;
    return json && end == text + size ? kf_steal(&json) : NULL;
}

bool kf_answer_event(kf_answer *answer, const kf_dialect *dialect, const char *name,
                     const char *data, size_t size)
{
    while (size && strchr(" \t\r\n", data[size - 1])) size--;
    if (size == 0) return true;
    if (size == 6 && memcmp(data, "[DONE]", 6) == 0) {
        answer->ended = true;
        return true;
    }
    bool has_nul = memchr(data, '\0', size) || memmem(data, size, "\\u0000", 6);
    kf_auto(cJSON) json = has_nul ? NULL : parse_all(data, size);
    if (!json) {
        kf_autofree char *mended = kf_mend_json(data, size);
        json = mended ? parse_all(mended, strlen(mended)) : NULL;
    }
    if (!cJSON_IsObject(json)) return false;
    const cJSON *error = kf_dialect_member(json, "error");
    if (error && !cJSON_IsNull(error)) {
        kf_answer_error(answer, error);
        return true;
    }
    dialect->event(answer, name, json);
    return true;
}

static bool mentions(const char *text, const char *const *words)
{
    for (; text && *words; words++)
        if (strcasestr(text, *words)) return true;
    return false;
}

void kf_answer_error(kf_answer *answer, const cJSON *error)
{
    static const char *const passing[] = {"overloaded", "rate_limit",         "server_error",
                                          "internal",   "api_error",          "unavailable",
                                          "timeout",    "resource_exhausted", NULL};
    const char *message =
        cJSON_IsString(error) ? error->valuestring : kf_dialect_member_text(error, "message");
    const char *type = kf_dialect_member_text(error, "type"),
               *code = kf_dialect_member_text(error, "code"),
               *status = kf_dialect_member_text(error, "status");
    const cJSON *number = kf_dialect_member(error, "code");
    const char *kind = type ? type : code ? code : status ? status : "error";
    if (answer->failed) return;
    answer->failed = true;
    answer->passing =
        mentions(type, passing) || mentions(code, passing) || mentions(status, passing) ||
        (cJSON_IsNumber(number) && (number->valuedouble == 429 || number->valuedouble >= 500));
    static const char *const lasting[] = {"insufficient_quota", "billing", NULL};
    if (mentions(type, lasting) || mentions(code, lasting)) answer->passing = false;
    kf_fail(&answer->error, KF_ERROR_IO, "%s: %.600s", kind, message ? message : "(no message)");
}
