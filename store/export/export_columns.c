/* Shapes of rows: the columns of a dialect, and those of --columns. */
#include <string.h>

#include "export_internal.h"
#include "export_shape.h"

/* ---- types ----------------------------------------------------------------------------------- */

static const kf_export_field *field_of(kf_export_format format, const char *name, size_t size)
{
    for (const kf_export_field *f = kf_export_fields(format); f->name; f++)
        if (strlen(f->name) == size && memcmp(f->name, name, size) == 0) return f;
    return NULL;
}

/* Finds the type of an element of a list. */
static bool element_type(kf_export_type list, kf_export_type *type)
{
    switch (list) {
    case KF_FIELD_MESSAGES: *type = KF_FIELD_MESSAGE; return true;
    case KF_FIELD_STRINGS: *type = KF_FIELD_STRING; return true;
    case KF_FIELD_FLOATS: *type = KF_FIELD_FLOAT; return true;
    case KF_FIELD_INTEGERS: *type = KF_FIELD_INTEGER; return true;
    default: return false;
    }
}

static bool shape_type(kf_export_format format, const char *placeholder, kf_export_type *type,
                       kf_error *error)
{
    size_t size = strcspn(placeholder, ":+");
    const char *rest = placeholder + size;
    const kf_export_field *field = field_of(format, placeholder, size), *other = NULL;
    if (!field)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--columns: format %s has no field \"%.*s\"; docs/reference/datasets.md "
                       "lists its fields",
                       kf_export_format_name(format), (int)size, placeholder);
    *type = field->type;
    bool good = !*rest;
    if (*rest == '+') {
        other = field_of(format, rest + 1, strlen(rest + 1));
        good = other && other->type == KF_FIELD_MESSAGES && field->type == KF_FIELD_MESSAGES;
    } else if (strcmp(rest, ":first") == 0) {
        good = element_type(field->type, type);
    } else if (strcmp(rest, ":weighted") == 0) {
        good = field->type == KF_FIELD_MESSAGES;
        *type = KF_FIELD_WEIGHTED;
    } else if (*rest == ':') {
        good = field->type == KF_FIELD_MESSAGES &&
               (strcmp(rest, ":system") == 0 || strcmp(rest, ":user") == 0 ||
                strcmp(rest, ":assistant") == 0);
        *type = KF_FIELD_STRING;
    }
    return good || kf_fail(error, KF_ERROR_INPUT,
                           "--columns: \"%s\" does not fit; expected FIELD, FIELD:first of a list, "
                           "or of messages FIELD+FIELD, FIELD:weighted, FIELD:system, FIELD:user "
                           "or FIELD:assistant",
                           placeholder);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool add_column(kf_export_shape *s, const kf_shape_column *column, kf_error *error)
{
    if (s->count == KF_SHAPE_COLUMNS)
        return kf_fail(error, KF_ERROR_INPUT, "--columns: more than %d columns", KF_SHAPE_COLUMNS);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->columns[i].name, column->name) == 0)
            return kf_fail(error, KF_ERROR_INPUT, "--columns: two columns have the name \"%s\"",
                           column->name);
    s->columns[s->count] = *column;
    const char *help = column->help;
    size_t size = strcspn(column->form + (*column->form == '<'), ":+>");
    for (const kf_export_field *f = kf_export_fields(s->format); f->name && !help; f++)
        if (strlen(f->name) == size && strncmp(f->name, column->form + 1, size) == 0)
            help = f->help;
    s->fields[s->count++] = (kf_export_field){column->name, column->type, help ? help : ""};
    return true;
}

static bool add_dialect(kf_export_shape *s, kf_error *error)
{
    const kf_shape_column *columns = kf_dialect_columns(s->dialect, s->format, error);
    for (; columns && columns->name; columns++)
        if (!add_column(s, columns, error)) return false;
    return columns;
}

/* Keeps a text of printf for the shape. */
static const char *keep(kf_export_shape *s, const char *before, const char *text, size_t size,
                        const char *behind)
{
    char *kept;
    if (s->text_count == 2 * KF_SHAPE_COLUMNS ||
        asprintf(&kept, "%s%.*s%s", before, (int)size, text, behind) < 0)
        return NULL;
    return s->texts[s->text_count++] = kept;
}

/* Adds "NAME=FIELD", or "NAME" for NAME=NAME. */
static bool add_given(kf_export_shape *s, const char *text, size_t size, kf_error *error)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *equals = memchr(text, '=', size);
    size_t length = equals ? (size_t)(equals - text) : size;
    const char *from = equals ? equals + 1 : text;
    size_t from_size = equals ? size - length - 1 : size;
    if (!length || !from_size || strspn(text, letters) < length)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--columns: \"%.*s\": expected NAME=FIELD, with a NAME of letters, digits, "
                       "_, . and -",
                       (int)size, text);
    if (s->count == KF_SHAPE_COLUMNS)
        return kf_fail(error, KF_ERROR_INPUT, "--columns: more than %d columns", KF_SHAPE_COLUMNS);
    kf_autofree char *plain = strndup(from, from_size);
    kf_shape_column column = {.name = keep(s, "", text, length, ""),
                              .form = keep(s, "<", from, from_size, ">")};
    if (!plain || !column.name || !column.form) return kf_fail_memory(error, "an export");
    return shape_type(s->format, plain, &column.type, error) && add_column(s, &column, error);
}

kf_export_shape *kf_export_shape_new(kf_export_format format, kf_export_dialect dialect,
                                     const char *columns, kf_error *error)
{
    kf_auto(kf_export_shape) s = calloc(1, sizeof *s);
    if (!s) return kf_fail_memory(error, "an export"), NULL;
    s->format = format;
    s->dialect = dialect;
    if (dialect != KF_DIALECT_KFORGE && !add_dialect(s, error)) return NULL;
    if (columns && !kf_export_fields(format)->name)
        return kf_fail(error, KF_ERROR_INPUT, "--columns has no effect on --format %s",
                       kf_export_format_name(format)),
               NULL;
    for (const char *at = columns; at;) {
        size_t size = strcspn(at, ",");
        if (!add_given(s, at, size, error)) return NULL;
        at = at[size] ? at + size + 1 : NULL;
    }
    return kf_steal(&s);
}

void kf_export_shape_free(kf_export_shape *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->text_count; i++) free(s->texts[i]);
    free(s);
}

const kf_export_field *kf_export_shape_fields(const kf_export_shape *s)
{
    return s->fields;
}
