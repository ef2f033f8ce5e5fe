/* Rows: JSON written directly into a buffer. Building a tree for each row would take longer than
 * reading the row from the database. */
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
    bool first = e->row.size <= 1;
    kf_append(&e->row, &",\""[first], 2 - first);
    kf_append(&e->row, name, strlen(name));
    kf_append(&e->row, "\":", 2);
}

void kf_json_text(kf_exporter *e, const char *text, size_t size, bool paths)
{
    kf_append(&e->row, "\"", 1);
    if (size) kf_scrub_append(e->scrubber, &e->row, text, size, paths, true, &e->report->scrubbed);
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

/* Computes the 17 significant digits of a positive double, rounded half to even as printf does, and
 * the decimal exponent of the first. False outside of the range that it handles. The double is an
 * integer over a power of two. Multiplied by a power of ten that brings 17 digits before the point
 * it is still one, of at most 120 bits, so the remainder decides the rounding exactly. */
static bool seventeen_digits(double value, uint64_t *digits, int *exponent)
{
    if (!(value >= 1e-4 && value < 1e15)) return false;
    static const uint64_t tens[] = {
        1,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
    };
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    /* value = mantissa / 2^shift, shift from 3 to 66 */
    int shift = 1075 - (int)(bits >> 52);
    /* of the power of two below; the value's is this or one more */
    *exponent = (int)floor((52 - shift) * 0.301029995664);
    for (;; ++*exponent) {
        int power = 16 - *exponent; /* from 2 to 20 */
        unsigned __int128 scaled = (unsigned __int128)mantissa * tens[power > 17 ? 17 : power];
        if (power > 17) scaled *= tens[power - 17];
        unsigned __int128 rest = scaled & (((unsigned __int128)1 << shift) - 1),
                          half = (unsigned __int128)1 << (shift - 1);
        uint64_t whole = (uint64_t)(scaled >> shift);
        if (whole >= tens[17]) continue;
        whole += rest > half || (rest == half && (whole & 1));
        if (whole == tens[17]) {
            whole = tens[16];
            ++*exponent;
        }
        *digits = whole;
        return true;
    }
}

/* Prints such a value like "%.17g", and adds ".0" if that has no point. */
static size_t print_digits(char *text, uint64_t digits, int exponent)
{
    char all[17];
    int last = 0; /* last digit that is no zero */
    for (int i = 16; i >= 0; i--, digits /= 10) {
        all[i] = (char)('0' + digits % 10);
        if (!last && all[i] != '0') last = i;
    }
    char *at = text;
    if (exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent;
        memcpy(at, all, (size_t)last + 1);
        return (size_t)(at - text) + (size_t)last + 1;
    }
    memcpy(at, all, (size_t)exponent + 1);
    at += exponent + 1;
    *at++ = '.';
    if (last <= exponent) {
        *at++ = '0';
        return (size_t)(at - text);
    }
    memcpy(at, all + exponent + 1, (size_t)(last - exponent));
    return (size_t)(at - text) + (size_t)(last - exponent);
}

/* Writes a number like "%.17g", but always with a point or an exponent, because readers that infer
 * types take "1" for an integer. printf would take a microsecond for each number. */
void kf_json_number(kf_buffer *out, double value)
{
    char text[40];
    uint64_t digits;
    int exponent;
    if (value == 0) {
        kf_append(out, "0.0", 3);
        return;
    }
    if (!isfinite(value)) value = value > 0 ? 1.7976931348623157e308 : -1.7976931348623157e308;
    if (seventeen_digits(fabs(value), &digits, &exponent)) {
        *text = '-';
        kf_append(out, text + (value > 0), print_digits(text + 1, digits, exponent) + (value < 0));
        return;
    }
    int length = snprintf(text, sizeof text, "%.17g", value);
    if (strcspn(text, ".e") == (size_t)length)
        length += snprintf(text + length, sizeof text - (size_t)length, ".0");
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
        kf_buffer_format(&e->row, "%s{\"role\":\"%s\",\"content\":", first ? "" : ",",
                         messages[i].role);
        kf_json_text(e, messages[i].text, messages[i].size, false);
        kf_append(&e->row, "}", 1);
        first = false;
    }
    kf_append(&e->row, "]", 1);
}
