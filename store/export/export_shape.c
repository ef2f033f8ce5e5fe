/* Makes a row of another shape from the text of a row. The values stay as they are, so a number
 * keeps every digit. */
#include "export_shape.h"

#include <inttypes.h>
#include <string.h>

#include "export_internal.h"

/* A part of a row's text. */
typedef struct slice {
    const char *data;
    size_t size;
} slice;

/* ---- reading JSON that kforge wrote, without white space ------------------------------------- */

/* Returns the end of the string at `at`. */
static const char *string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : at;
}

static const char *value_end(const char *at)
{
    int depth = 0;
    while (*at) {
        if (*at == '"') {
            at = string_end(at);
        } else if (*at == '[' || *at == '{') {
            depth++, at++;
        } else if (*at == ']' || *at == '}') {
            if (!depth) return at;
            depth--, at++;
        } else if (*at == ',' && !depth) {
            return at;
        } else {
            at++;
            continue;
        }
        if (!depth && (*at == ',' || *at == ']' || *at == '}')) return at;
    }
    return at;
}

/* Finds the value of a member of an object. */
static bool member(slice object, const char *name, slice *value)
{
    size_t length = strlen(name);
    for (const char *at = object.data + 1; at < object.data + object.size && *at == '"';) {
        const char *key = at + 1, *end = string_end(at), *start = end + 1;
        bool found = (size_t)(end - 1 - key) == length && memcmp(key, name, length) == 0;
        end = value_end(start);
        if (found) return *value = (slice){start, (size_t)(end - start)}, true;
        at = end + (*end == ',');
    }
    return false;
}

/* Finds the next element of a list; `*at` begins as list.data + 1. */
static bool next_element(slice list, const char **at, slice *element)
{
    if (*at >= list.data + list.size - 1) return false;
    const char *end = value_end(*at);
    *element = (slice){*at, (size_t)(end - *at)};
    *at = end + (*end == ',');
    return element->size > 0;
}

static bool equals(slice text, const char *quoted)
{
    return text.size == strlen(quoted) && memcmp(text.data, quoted, text.size) == 0;
}

/* ---- placeholders ---------------------------------------------------------------------------- */

static void put(kf_buffer *out, slice text)
{
    kf_buffer_append(out, text.data, text.size);
}

/* Finds the first message of a role. */
static bool message_of(slice messages, const char *role, slice *content)
{
    const char *at = messages.data + 1;
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", role);
    for (slice message, name; next_element(messages, &at, &message);)
        if (member(message, "role", &name) && equals(name, quoted))
            return member(message, "content", content);
    return false;
}

static void put_weighted(kf_buffer *out, slice messages, slice statuses)
{
    const char *at = messages.data + 1, *status_at = statuses.size ? statuses.data + 1 : NULL;
    slice message, role, status;
    kf_buffer_string(out, "[");
    for (bool first = true; next_element(messages, &at, &message); first = false) {
        if (!first) kf_buffer_string(out, ",");
        bool reply = member(message, "role", &role) && equals(role, "\"assistant\"");
        put(out, (slice){message.data, message.size - (reply ? 1 : 0)});
        if (!reply) continue;
        bool good = !status_at ||
                    (next_element(statuses, &status_at, &status) && equals(status, "\"correct\""));
        kf_buffer_format(out, ",\"weight\":%d}", good);
    }
    kf_buffer_string(out, "]");
}

/* Writes the value of a placeholder: FIELD, FIELD+FIELD or FIELD:PART. */
static bool put_value(const slice *row, const char *text, size_t size, kf_buffer *out)
{
    char name[128];
    if (size >= sizeof name) return false;
    memcpy(name, text, size);
    name[size] = '\0';
    char *part = strchr(name, ':'), *more = strchr(name, '+');
    if (part) *part++ = '\0';
    if (more) *more++ = '\0';
    slice value, other;
    if (!member(*row, name, &value) || (more && !member(*row, more, &other))) return false;
    if (more) {
        put(out, (slice){value.data, value.size - 1});
        kf_buffer_string(out, ",");
        put(out, (slice){other.data + 1, other.size - 1});
    } else if (!part) {
        put(out, value);
    } else if (strcmp(part, "first") == 0) {
        const char *at = value.data + 1;
        if (!next_element(value, &at, &other)) return false;
        put(out, other);
    } else if (strcmp(part, "weighted") == 0) {
        if (!member(*row, "statuses", &other)) other = (slice){NULL, 0};
        put_weighted(out, value, other);
    } else if (message_of(value, part, &other)) {
        put(out, other);
    } else {
        kf_buffer_string(out, "\"\"");
    }
    return true;
}

bool kf_shape_row(const kf_export_shape *shape, const kf_buffer *row, const char *split,
                  int64_t index, kf_buffer *out, kf_error *error)
{
    const slice whole = {row->data, row->size};
    kf_buffer_clear(out);
    for (size_t i = 0; i < shape->count; i++) {
        kf_buffer_format(out, "%s\"%s\":", i ? "," : "{", shape->columns[i].name);
        for (const char *at = shape->columns[i].form; *at;) {
            size_t plain = strcspn(at, "<");
            kf_buffer_append(out, at, plain);
            at += plain;
            if (!*at) break;
            size_t size = strcspn(++at, ">");
            if (strncmp(at, "@split", size) == 0)
                kf_buffer_format(out, "\"%s\"", split);
            else if (strncmp(at, "@index", size) == 0)
                kf_buffer_format(out, "%" PRId64, index);
            else if (!put_value(&whole, at, size, out))
                return kf_fail(error, KF_ERROR_INTERNAL,
                               "export: a row has no \"%.*s\": this is a bug in kforge", (int)size,
                               at);
            at += size + (at[size] == '>');
        }
    }
    kf_buffer_string(out, "}");
    return !out->failed || kf_fail_memory(error, "an export");
}
