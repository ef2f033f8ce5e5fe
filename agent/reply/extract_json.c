/* Finds the JSON object in a reply, as models write it: in a fence or in the text, with comments,
 * trailing commas, single or typographic quotes, bare keys, Python's True and None, line breaks
 * within texts, and cut off at the token limit. One pass without backtracking tries every object of
 * the reply. The longest counts. Code with braces fails at its first word.
 *
 * An attempt fails at the first character that does not fit. Objects inside it are tried again from
 * their own braces. MAX_READ limits the work for hostile text. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "extract_internal.h"
#include "kforge/buffer.h"
#include "extract.h"
#include "kforge/json.h"

/* Bytes read in all attempts together. */
#define MAX_READ(size) (4 * (size) + KF_ANSWER_JSON_BYTES)

typedef struct reading {
    const char *at, *end;
    int depth;
    bool out_of_memory;
} reading;

static bool starts(const reading *r, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0;
}

static void skip_blank(reading *r)
{
    while (r->at < r->end) {
        if (isspace((unsigned char)*r->at)) {
            r->at++;
        } else if (starts(r, "//")) {
            while (r->at < r->end && *r->at != '\n') r->at++;
        } else if (starts(r, "/*")) {
            const char *close = memmem(r->at + 2, (size_t)(r->end - r->at - 2), "*/", 2);
            r->at = close ? close + 2 : r->end;
        } else {
            return;
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const struct {
    const char *open, *close;
} quotes[] = {{"\"", "\""}, {"'", "'"}, {"\u201c", "\u201d"}, {"\u2018", "\u2019"}};

static void append_code(kf_buffer *text, unsigned code)
{
    unsigned char c[3];
    /* NUL, or half of a surrogate pair. */
    if (code == 0 || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    if (code < 0x80) {
        c[0] = (unsigned char)code;
        kf_buffer_append(text, c, 1);
    } else if (code < 0x800) {
        c[0] = (unsigned char)(0xc0 | code >> 6), c[1] = (unsigned char)(0x80 | (code & 63));
        kf_buffer_append(text, c, 2);
    } else {
        c[0] = (unsigned char)(0xe0 | code >> 12), c[1] = (unsigned char)(0x80 | (code >> 6 & 63)),
        c[2] = (unsigned char)(0x80 | (code & 63));
        kf_buffer_append(text, c, 3);
    }
}

static void read_escape(reading *r, kf_buffer *text)
{
    static const char letters[] = "nrtbf", values[] = "\n\r\t\b\f";
    char c = r->at < r->end ? *r->at++ : '\\';
    const char *known = c ? strchr(letters, c) : NULL;
    unsigned code = 0;
    if (known) {
        kf_buffer_append(text, &values[known - letters], 1);
    } else if (c == 'u' && r->end - r->at >= 4 && isxdigit((unsigned char)r->at[0]) &&
               isxdigit((unsigned char)r->at[1]) && isxdigit((unsigned char)r->at[2]) &&
               isxdigit((unsigned char)r->at[3])) {
        char digits[5] = {r->at[0], r->at[1], r->at[2], r->at[3], 0};
        code = (unsigned)strtoul(digits, NULL, 16);
        r->at += 4;
        append_code(text, code);
    } else {
        /* \" \\ \/ \' and characters that need no escape. */
        kf_buffer_append(text, &c, 1);
    }
}

/* True if the quote at r->at ends the text. Punctuation follows the end of a text, but not a quote
 * within it. */
static bool ends_text(const reading *r, size_t length)
{
    reading behind = {.at = r->at + length, .end = r->end};
    while (behind.at < behind.end && isspace((unsigned char)*behind.at)) behind.at++;
    return behind.at == behind.end || strchr(",:}]", *behind.at) || starts(&behind, "//") ||
           starts(&behind, "/*");
}

/* Reads a text. False if no text begins here. A text without an end reaches to the end of the
 * reply. */
static bool read_text(reading *r, kf_buffer *text)
{
    for (size_t k = 0; k < sizeof quotes / sizeof *quotes; k++) {
        if (!starts(r, quotes[k].open)) continue;
        size_t close = strlen(quotes[k].close);
        r->at += strlen(quotes[k].open);
        kf_buffer_append(text, "", 0);
        while (r->at < r->end) {
            if (starts(r, quotes[k].close) && ends_text(r, close)) {
                r->at += close;
                return true;
            }
            if (*r->at == '\\') {
                r->at++;
                read_escape(r, text);
            } else {
                kf_buffer_append(text, r->at++, 1);
            }
        }
        return true;
    }
    return false;
}

static bool read_bare_word(reading *r, kf_buffer *text)
{
    const char *from = r->at;
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '-'))
        r->at++;
    kf_buffer_append(text, from, (size_t)(r->at - from));
    return r->at > from;
}

/* ---- values ---------------------------------------------------------------------------------- */

static cJSON *read_value(reading *r);

static cJSON *made(reading *r, cJSON *item)
{
    r->out_of_memory |= !item;
    return item;
}

static cJSON *read_word(reading *r)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {{"true", cJSON_True},   {"True", cJSON_True}, {"false", cJSON_False},
                 {"False", cJSON_False}, {"null", cJSON_NULL}, {"None", cJSON_NULL},
                 {"NaN", cJSON_NULL},    {"nan", cJSON_NULL},  {"Infinity", cJSON_NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!starts(r, words[i].word)) continue;
        r->at += strlen(words[i].word);
        return made(r, words[i].type == cJSON_NULL ? cJSON_CreateNull()
                                                   : cJSON_CreateBool(words[i].type == cJSON_True));
    }
    return NULL;
}

static cJSON *read_number(reading *r)
{
    char digits[64], *end;
    size_t size = 0;
    while (size < sizeof digits - 1 && r->at + size < r->end &&
           (isdigit((unsigned char)r->at[size]) || strchr("+-.eE", r->at[size]))) {
        digits[size] = r->at[size];
        size++;
    }
    digits[size] = '\0';
    double value = strtod(digits, &end);
    if (end == digits) return NULL;
    r->at += end - digits;
    /* "speedup": 12% */
    if (r->at < r->end && *r->at == '%') r->at++;
    return made(r, cJSON_CreateNumber(value));
}

/* Skips the comma behind a member or element. True if another one may follow. */
static bool has_next(reading *r, char close, bool *well)
{
    skip_blank(r);
    *well = true;
    /* Cut off. */
    if (r->at == r->end) return false;
    if (*r->at == ',') {
        r->at++;
        skip_blank(r);
        if (r->at == r->end) return false;
        if (*r->at != close) return true;
    }
    if (*r->at == close) {
        r->at++;
        return false;
    }
    /* A comma is missing between two members on two lines. */
    *well = *r->at == '"';
    return *well;
}

/* Reads one member into `object`. False if no member follows. */
static bool read_member(reading *r, cJSON *object)
{
    kf_autobuffer key = {0};
    if (!read_text(r, &key) && !read_bare_word(r, &key)) return false;
    skip_blank(r);
    /* Cut off behind a key: leave the member out. */
    if (r->at == r->end) return true;
    if (*r->at != ':' && *r->at != '=') return false;
    r->at++;
    skip_blank(r);
    if (r->at == r->end) return true;
    cJSON *value = read_value(r);
    if (!value) return false;
    if (!key.failed && cJSON_AddItemToObject(object, key.data ? key.data : "", value)) return true;
    r->out_of_memory = true;
    cJSON_Delete(value);
    return false;
}

static bool read_element(reading *r, cJSON *array)
{
    cJSON *value = read_value(r);
    if (!value) return false;
    if (cJSON_AddItemToArray(array, value)) return true;
    r->out_of_memory = true;
    cJSON_Delete(value);
    return false;
}

static cJSON *read_container(reading *r, bool is_object)
{
    kf_auto(cJSON) container = made(r, is_object ? cJSON_CreateObject() : cJSON_CreateArray());
    char close = is_object ? '}' : ']';
    bool well = container && r->depth < KF_JSON_DEPTH;
    r->at++;
    r->depth++;
    skip_blank(r);
    if (well && r->at < r->end && *r->at == close)
        r->at++;
    else if (well && r->at < r->end)
        do well = is_object ? read_member(r, container) : read_element(r, container);
        while (well && has_next(r, close, &well));
    r->depth--;
    return well ? kf_steal(&container) : NULL;
}

static cJSON *read_value(reading *r)
{
    if (r->at == r->end) return NULL;
    if (*r->at == '{' || *r->at == '[') return read_container(r, *r->at == '{');
    kf_autobuffer text = {0};
    if (read_text(r, &text))
        return made(r, text.failed ? NULL : cJSON_CreateString(text.data ? text.data : ""));
    cJSON *word = read_word(r);
    return word ? word : read_number(r);
}

cJSON *kf_extract_json(const char *reply, size_t size, kf_error *error)
{
    bool only_reasoning;
    if (!kf_reply_check(reply, size, error)) return NULL;
    kf_span answer = kf_reply_answer(reply, size, &only_reasoning);
    kf_auto(cJSON) best = NULL;
    size_t longest = 0, read = 0;
    const char *end = answer.data + answer.size;
    for (const char *at = answer.data;
         read <= MAX_READ(answer.size) && (at = memchr(at, '{', (size_t)(end - at)));) {
        size_t left = (size_t)(end - at);
        reading r = {.at = at,
                     .end = at + (left < KF_ANSWER_JSON_BYTES ? left : KF_ANSWER_JSON_BYTES)};
        kf_auto(cJSON) found = read_container(&r, true);
        size_t length = (size_t)(r.at - at);
        if (r.out_of_memory) {
            kf_fail_memory(error, "the reply");
            return NULL;
        }
        read += length;
        at = found ? r.at : at + 1;
        if (!found || !found->child || length <= longest) continue;
        cJSON_Delete(best);
        best = kf_steal(&found);
        longest = length;
    }
    if (!best) {
        kf_fail(error, KF_ERROR_INPUT, "%s",
                only_reasoning ? "the reply holds only reasoning, and no JSON object"
                               : "the reply holds no JSON object");
        return NULL;
    }
    return kf_steal(&best);
}
