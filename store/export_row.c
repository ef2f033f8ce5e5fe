/* Rows: JSON written straight into a buffer. A tree per row would cost more than reading the row from the database does. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "export_internal.h"

void kf_row_begin(kf_exporter *e)
{
    kf_buffer_clear(&e->row);
    kf_append(&e->row, "{", 1);
}

void kf_row_end(kf_exporter *e)
{
    kf_append(&e->row, "}", 1);
}

void kf_row_key(kf_exporter *e, const char *name)
{
    if (e->row.size > 1) kf_append(&e->row, ",", 1);
    kf_append(&e->row, "\"", 1);
    kf_append(&e->row, name, strlen(name));
    kf_append(&e->row, "\":", 2);
}

void kf_json_text(kf_exporter *e, const char *text, size_t size, bool paths)
{
    kf_append(&e->row, "\"", 1);
    if (size) e->report->scrubbed += kf_scrub_append(e->scrubber, &e->row, text, size, paths, true);
    kf_append(&e->row, "\"", 1);
}

void kf_row_text(kf_exporter *e, const char *name, const char *text, size_t size)
{
    kf_row_key(e, name);
    kf_json_text(e, text, size, false);
}

void kf_row_log(kf_exporter *e, const char *name, const char *text, size_t size)
{
    kf_row_key(e, name);
    kf_json_text(e, text, size, true);
}

void kf_row_word(kf_exporter *e, const char *name, const char *word)
{
    kf_row_text(e, name, word, word ? strlen(word) : 0);
}

void kf_row_plain(kf_exporter *e, const char *name, const char *text, size_t size)
{
    kf_row_key(e, name);
    kf_append(&e->row, "\"", 1);
    kf_append(&e->row, text, size);
    kf_append(&e->row, "\"", 1);
}

static void append_integer(kf_buffer *out, uint64_t value, int least)
{
    char digits[24];
    int at = sizeof digits;
    do digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) || (int)sizeof digits - at < least);
    kf_append(out, digits + at, sizeof digits - (size_t)at);
}

void kf_row_integer(kf_exporter *e, const char *name, int64_t value)
{
    kf_row_key(e, name);
    if (value < 0) kf_append(&e->row, "-", 1);
    append_integer(&e->row, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

/* Always with a point or an exponent: readers that infer types take "1" for an integer. */
void kf_json_number(kf_buffer *out, double value)
{
    char text[40];
    if (value == 0) {
        kf_append(out, "0.0", 3);
        return;
    }
    if (!isfinite(value)) value = value > 0 ? 1.7976931348623157e308 : -1.7976931348623157e308;
    int length = snprintf(text, sizeof text, "%.17g", value);
    if (strcspn(text, ".e") == (size_t)length) length += snprintf(text + length, sizeof text - (size_t)length, ".0");
    kf_append(out, text, (size_t)length);
}

void kf_row_number(kf_exporter *e, const char *name, double value, double unknown)
{
    kf_row_key(e, name);
    kf_json_number(&e->row, isnan(value) ? unknown : value);
}

void kf_row_seconds(kf_exporter *e, const char *name, double value, double unknown)
{
    kf_row_key(e, name);
    if (isnan(value) || value < 0 || value > 1e12) {
        kf_json_number(&e->row, unknown);
        return;
    }
    uint64_t micros = (uint64_t)(value * 1e6 + 0.5);
    append_integer(&e->row, micros / 1000000, 1);
    kf_append(&e->row, ".", 1);
    append_integer(&e->row, micros % 1000000, 6);
}

void kf_row_boolean(kf_exporter *e, const char *name, bool value)
{
    kf_row_key(e, name);
    kf_buffer_string(&e->row, value ? "true" : "false");
}

void kf_row_messages(kf_exporter *e, const char *name, const kf_row_message *messages, size_t count)
{
    kf_row_key(e, name);
    bool first = true;
    kf_append(&e->row, "[", 1);
    for (size_t i = 0; i < count; i++) {
        if (!messages[i].text) continue;
        kf_buffer_format(&e->row, "%s{\"role\":\"%s\",\"content\":", first ? "" : ",", messages[i].role);
        kf_json_text(e, messages[i].text, messages[i].size, false);
        kf_append(&e->row, "}", 1);
        first = false;
    }
    kf_append(&e->row, "]", 1);
}
