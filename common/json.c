#include "kforge/json.h"
#include "nearest.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* ---- checks that cJSON does not make --------------------------------------------------------- */

static void line_and_column(const char *text, size_t offset, int *line, int *column)
{
    *line = 1, *column = 1;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            (*line)++;
            *column = 1;
        } else {
            (*column)++;
        }
    }
}

/* Checks depth, NUL bytes, encoding and truncation before the recursive parser runs. Returns the
 * offset of the fault, and *what says which (NULL: no fault). If the text ends inside a value, the
 * offset is `size`. */
static size_t find_fault(const char *text, size_t size, const char **what)
{
    int depth = 0;
    bool in_string = false;
    *what = NULL;
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)text[i];
        size_t length = kf_utf8_length((const unsigned char *)text + i, size - i);
        if (!length) {
            *what = c ? "invalid UTF-8" : "a NUL byte";
            return i;
        }
        if (in_string) {
            if (c == '\\' && i + 1 < size) {
                if (size - i > 5 && memcmp(text + i + 1, "u0000", 5) == 0) {
                    *what = "a NUL character (\\u0000)";
                    return i;
                }
                /* Skips the escaped character. Valid JSON has ASCII there; the next round checks
                 * any other byte. */
                i++;
                if ((unsigned char)text[i] < 0x80 && text[i]) i++;
                continue;
            }
            if (c == '"') in_string = false;
            if (c < 0x20) {
                *what = "a control character in a string";
                return i;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > KF_JSON_DEPTH) {
                *what = "nested too deep";
                return i;
            }
        } else if (c == '}' || c == ']') {
            depth--;
        }
        i += length;
    }
    if (in_string || depth > 0) *what = "the JSON text ends in the middle";
    return size;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Returns the first key that occurs twice in one object of the tree, or NULL. Sets *failed without
 * memory. */
static const char *duplicate_key(const cJSON *value, bool *failed)
{
    size_t count = 0;
    for (const cJSON *child = value->child; child; child = child->next) {
        const char *found = child->child ? duplicate_key(child, failed) : NULL;
        if (found || *failed) return found;
        count++;
    }
    if (!cJSON_IsObject(value) || count < 2) return NULL;
    kf_autofree const cJSON **sorted = malloc(count * sizeof *sorted);
    if (!sorted) {
        *failed = true;
        return NULL;
    }
    size_t i = 0;
    for (const cJSON *child = value->child; child; child = child->next) sorted[i++] = child;
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->string, sorted[i]->string) == 0) return sorted[i]->string;
    return NULL;
}

/* A check of the grammar of RFC 8259. cJSON accepts more ("[01]", "\\u12g4" for a NUL), and returns
 * NULL both for bad syntax and without memory. After this check only the latter is left. find_fault
 * has bounded the recursion. After a failure `at` is the place of the fault, and `fault` says what
 * it is, or is NULL. */
typedef struct syntax {
    const char *text;
    size_t size, at;
    const char *fault;
} syntax;

static void skip_blanks(syntax *s)
{
    while (s->at < s->size && strchr(" \t\r\n", s->text[s->at])) s->at++;
}

static bool next_is(syntax *s, char c)
{
    skip_blanks(s);
    if (s->at >= s->size || s->text[s->at] != c) return false;
    s->at++;
    return true;
}

static int unit_at(const syntax *s, size_t at)
{
    int unit = 0;
    for (size_t i = at; i < at + 4; i++) {
        if (i >= s->size || !isxdigit((unsigned char)s->text[i])) return -1;
        unit = unit * 16 + (s->text[i] <= '9' ? s->text[i] - '0' : (s->text[i] | 0x20) - 'a' + 10);
    }
    return unit;
}

static bool valid_string(syntax *s)
{
    if (!next_is(s, '"')) return false;
    while (s->at < s->size && s->text[s->at] != '"') {
        if (s->text[s->at++] != '\\') continue;
        if (s->at >= s->size || !strchr("\"\\/bfnrtu", s->text[s->at])) return false;
        if (s->text[s->at++] != 'u') continue;
        int unit = unit_at(s, s->at);
        if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000)) return false;
        s->at += 4;
        if (unit < 0xd800 || unit >= 0xdc00) continue;
        if (s->size - s->at < 6 || memcmp(s->text + s->at, "\\u", 2) != 0) return false;
        unit = unit_at(s, s->at + 2);
        if (unit < 0xdc00 || unit >= 0xe000) return false;
        s->at += 6;
    }
    return s->at < s->size && s->text[s->at++] == '"';
}

static size_t digits(syntax *s)
{
    size_t from = s->at;
    while (s->at < s->size && s->text[s->at] >= '0' && s->text[s->at] <= '9') s->at++;
    return s->at - from;
}

static bool valid_number(syntax *s)
{
    size_t from = s->at;
    if (s->at < s->size && s->text[s->at] == '-') s->at++;
    bool zero = s->at < s->size && s->text[s->at] == '0';
    size_t whole = digits(s);
    if (!whole || (zero && whole > 1)) return false;
    if (s->at < s->size && s->text[s->at] == '.') {
        s->at++;
        if (!digits(s)) return false;
    }
    if (s->at < s->size && (s->text[s->at] == 'e' || s->text[s->at] == 'E')) {
        s->at++;
        if (s->at < s->size && (s->text[s->at] == '+' || s->text[s->at] == '-')) s->at++;
        if (!digits(s)) return false;
    }
    /* the longest number that every version of cJSON reads */
    return s->at - from < 64;
}

/* Notes the fault and its place. False, for the caller to return. */
static bool complain(syntax *s, size_t at, const char *fault)
{
    s->at = at;
    s->fault = fault;
    return false;
}

/* Says why a value does not begin here. */
static bool lacks_value(syntax *s)
{
    char c = s->at < s->size ? s->text[s->at] : '\0';
    return complain(s, s->at,
                    c == ',' || c == '}' || c == ']' ? "a value is missing here"
                    : c == '\''                      ? "a string begins with \", not with '"
                    : c == '/' || c == '#'           ? "JSON has no comments"
                                                     : NULL);
}

/* Checks the name and the colon of a member. */
static bool valid_name(syntax *s)
{
    skip_blanks(s);
    if (s->at < s->size && s->text[s->at] != '"')
        return complain(s, s->at,
                        s->text[s->at] == '/' || s->text[s->at] == '#'
                            ? "JSON has no comments"
                            : "a name in double quotes is missing here");
    if (!valid_string(s)) return false;
    size_t end = s->at;
    return next_is(s, ':') || complain(s, end, "a colon is missing here");
}

/* Checks what follows a value of an object or array: a comma, or its end. `end`: of the value. */
static bool valid_end(syntax *s, size_t end, char close)
{
    if (next_is(s, close)) return true;
    char c = s->at < s->size ? s->text[s->at] : '\0';
    if (c == '}' || c == ']')
        return complain(s, s->at,
                        close == '}' ? "a } is missing before this ]"
                                     : "a ] is missing before this }");
    if (c == '/' || c == '#') return complain(s, s->at, "JSON has no comments");
    bool follows = c && (strchr("\"{[-tfn", c) || isdigit((unsigned char)c));
    return complain(s, follows ? end : s->at, follows ? "a comma is missing here" : NULL);
}

static bool valid_value(syntax *s)
{
    bool object = next_is(s, '{');
    if (object || next_is(s, '[')) {
        char close = object ? '}' : ']';
        if (next_is(s, close)) return true;
        size_t end;
        do {
            size_t comma = s->at - 1;
            skip_blanks(s);
            if (s->at < s->size && s->text[s->at] == close)
                return complain(s, comma, "nothing follows this comma: remove it");
            if (object && !valid_name(s)) return false;
            if (!valid_value(s)) return false;
            end = s->at;
        } while (next_is(s, ','));
        return valid_end(s, end, close);
    }
    if (s->at < s->size && s->text[s->at] == '"') return valid_string(s);
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (s->size - s->at < length || memcmp(s->text + s->at, words[i], length) != 0) continue;
        s->at += length;
        return true;
    }
    bool number =
        s->at < s->size && (s->text[s->at] == '-' || isdigit((unsigned char)s->text[s->at]));
    return number ? valid_number(s) : lacks_value(s);
}

cJSON *kf_json_parse(const char *text, size_t size, size_t limit, const char *where,
                     kf_error *error)
{
    if (limit && size > limit) {
        kf_fail(error, KF_ERROR_LIMIT, "%s: %zu bytes of JSON, more than the limit of %zu", where,
                size, limit);
        return NULL;
    }
    const char *what = NULL;
    int line, column;
    size_t fault = find_fault(text, size, &what);
    if (what) {
        line_and_column(text, fault, &line, &column);
        kf_fail(error, KF_ERROR_INPUT, "%s:%d:%d: %s", where, line, column, what);
        return NULL;
    }
    syntax check = {.text = text, .size = size};
    bool valid = valid_value(&check);
    if (valid) skip_blanks(&check);
    if (!valid || check.at < size) {
        line_and_column(text, check.at, &line, &column);
        kf_fail(error, KF_ERROR_INPUT, "%s:%d:%d: %s", where, line, column,
                valid         ? "something follows the end of the JSON value"
                : size == 0   ? "the file is empty"
                : check.fault ? check.fault
                              : "not valid JSON here");
        return NULL;
    }
    kf_auto(cJSON) tree = cJSON_ParseWithLengthOpts(text, size, NULL, false);
    if (!tree) {
        kf_fail_memory(error, where);
        return NULL;
    }
    bool failed = false;
    const char *twice = duplicate_key(tree, &failed);
    if (twice || failed) {
        if (failed)
            kf_fail_memory(error, where);
        else
            kf_fail(error, KF_ERROR_INPUT, "%s: the key \"%s\" comes twice in one object", where,
                    twice);
        return NULL;
    }
    return kf_steal(&tree);
}

/* ---- reading with a path --------------------------------------------------------------------- */

static const char *type_name(const cJSON *value)
{
    return cJSON_IsObject(value)   ? "an object"
           : cJSON_IsArray(value)  ? "an array"
           : cJSON_IsString(value) ? "a string"
           : cJSON_IsNumber(value) ? "a number"
           : cJSON_IsBool(value)   ? "true or false"
           : cJSON_IsNull(value)   ? "null"
                                   : "nothing";
}

bool kf_json_complain(kf_json_reader *reader, const char *key, const char *format, ...)
{
    if (reader->failed) return false;
    reader->failed = true;
    va_list arguments;
    va_start(arguments, format);
    kf_fail_va(reader->error, KF_ERROR_INPUT, format, arguments);
    va_end(arguments);
    const char *dot = reader->path[0] && key ? "." : "";
    if (reader->path[0] || key)
        kf_fail_prefix(reader->error, "%s: %s%s%s", reader->where, reader->path, dot,
                       key ? key : "");
    else
        kf_fail_prefix(reader->error, "%s", reader->where);
    return false;
}

kf_json_reader kf_json_object(const cJSON *object, const char *where, const char *path,
                              kf_error *error)
{
    kf_json_reader reader = {.object = object, .where = where, .error = error};
    snprintf(reader.path, sizeof reader.path, "%s", path);
    if (!cJSON_IsObject(object))
        kf_json_complain(&reader, NULL, "expected an object, found %s", type_name(object));
    return reader;
}

const cJSON *kf_json_any(kf_json_reader *reader, const char *key)
{
    if (reader->failed) return NULL;
    bool seen = false;
    for (int i = 0; i < reader->known_count && !seen; i++)
        seen = strcmp(reader->known[i], key) == 0;
    if (!seen && reader->known_count < KF_JSON_KEYS) reader->known[reader->known_count++] = key;
    return cJSON_GetObjectItemCaseSensitive(reader->object, key);
}

const char *kf_json_string_or(kf_json_reader *reader, const char *key, const char *fallback)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value) return fallback;
    if (cJSON_IsString(value)) return value->valuestring;
    kf_json_complain(reader, key, "expected a string, found %s", type_name(value));
    return fallback;
}

const char *kf_json_string(kf_json_reader *reader, const char *key)
{
    const char *text = kf_json_string_or(reader, key, NULL);
    if (!text && !reader->failed) kf_json_complain(reader, key, "missing; expected a string");
    return text ? text : "";
}

int64_t kf_json_integer_or(kf_json_reader *reader, const char *key, int64_t low, int64_t high,
                           int64_t fallback)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value) return fallback;
    double number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    /* beyond 2^53 a double is not exact for integers */
    if (!(fabs(number) <= 9007199254740992.0) || number != floor(number)) {
        kf_json_complain(reader, key, "expected an integer%s%s",
                         cJSON_IsNumber(value) ? "" : ", found ",
                         cJSON_IsNumber(value) ? "" : type_name(value));
        return fallback;
    }
    if ((int64_t)number < low || (int64_t)number > high) {
        kf_json_complain(reader, key, "%lld is out of range; expected %lld to %lld",
                         (long long)number, (long long)low, (long long)high);
        return fallback;
    }
    return (int64_t)number;
}

double kf_json_number_or(kf_json_reader *reader, const char *key, double low, double high,
                         double fallback)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value) return fallback;
    if (!cJSON_IsNumber(value)) {
        kf_json_complain(reader, key, "expected a number, found %s", type_name(value));
        return fallback;
    }
    if (!(value->valuedouble >= low && value->valuedouble <= high)) {
        kf_json_complain(reader, key, "%g is out of range; expected %g to %g", value->valuedouble,
                         low, high);
        return fallback;
    }
    return value->valuedouble;
}

bool kf_json_boolean_or(kf_json_reader *reader, const char *key, bool fallback)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value) return fallback;
    if (!cJSON_IsBool(value)) {
        kf_json_complain(reader, key, "expected true or false, found %s", type_name(value));
        return fallback;
    }
    return cJSON_IsTrue(value);
}

const cJSON *kf_json_array_or_null(kf_json_reader *reader, const char *key)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value || cJSON_IsArray(value)) return value;
    kf_json_complain(reader, key, "expected an array, found %s", type_name(value));
    return NULL;
}

const cJSON *kf_json_object_or_null(kf_json_reader *reader, const char *key)
{
    const cJSON *value = kf_json_any(reader, key);
    if (!value || cJSON_IsObject(value)) return value;
    kf_json_complain(reader, key, "expected an object, found %s", type_name(value));
    return NULL;
}

bool kf_json_finish(kf_json_reader *reader)
{
    if (reader->failed) return false;
    for (const cJSON *child = reader->object->child; child; child = child->next) {
        bool known = false;
        for (int i = 0; i < reader->known_count && !known; i++)
            known = strcmp(reader->known[i], child->string) == 0;
        if (known) continue;
        const char *near = kf_nearest(child->string, reader->known, (size_t)reader->known_count);
        if (near)
            return kf_json_complain(reader, child->string, "unknown key; did you mean \"%s\"?",
                                    near);
        return kf_json_complain(reader, child->string, "unknown key");
    }
    return true;
}

/* ---- NaN and infinities ---------------------------------------------------------------------- */

/* cJSON prints 15 digits when that is within an epsilon; 17 digits always keep every bit. */
static void print_number(double value, char text[40])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
}

bool kf_json_put(cJSON *parent, const char *key, cJSON *item)
{
    if (item &&
        (key ? cJSON_AddItemToObject(parent, key, item) : cJSON_AddItemToArray(parent, item)))
        return true;
    cJSON_Delete(item);
    return false;
}

const char *kf_json_get_text(const cJSON *object, const char *key, const char *fallback)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : fallback;
}

void kf_json_add_number(cJSON *object, const char *key, double value)
{
    char text[40];
    if (!isfinite(value)) {
        cJSON_AddStringToObject(object, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    print_number(value, text);
    cJSON_AddRawToObject(object, key, text);
}

/* Makes all numbers of a value raw items. `depth` bounds the recursion. */
static bool make_raw(cJSON *item, int depth)
{
    for (cJSON *child = item->child; child; child = child->next)
        if (depth == KF_JSON_DEPTH || !make_raw(child, depth + 1)) return false;
    if (!cJSON_IsNumber(item)) return true;
    char text[40];
    print_number(item->valuedouble, text);
    item->valuestring = strdup(text);
    item->type = (item->type & ~0xff) | cJSON_Raw;
    return item->valuestring != NULL;
}

char *kf_json_print_exact(cJSON *json)
{
    return make_raw(json, 0) ? cJSON_PrintUnformatted(json) : NULL;
}

double kf_json_get_number(const cJSON *object, const char *key, double fallback)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsNumber(value)) return value->valuedouble;
    /* made by kf_json_add_number, not yet printed */
    if (cJSON_IsRaw(value)) return strtod(value->valuestring, NULL);
    if (!cJSON_IsString(value)) return fallback;
    if (strcmp(value->valuestring, "nan") == 0) return NAN;
    if (strcmp(value->valuestring, "inf") == 0) return INFINITY;
    if (strcmp(value->valuestring, "-inf") == 0) return -INFINITY;
    return fallback;
}
