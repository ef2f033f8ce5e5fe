#include "table.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kforge/list.h"
#include "terminal.h"

/* Between two columns. */
#define GAP 2
/* Of the further lines of a row. */
#define HANG 2
/* A flexible column is not cut to less. */
#define LEAST_CELL 8
#define LEAST_WIDTH 20
#define MOST_WIDTH 100000

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the columns of a character: two for wide East Asian characters and emoji, no column for
 * combining marks and for the styles of terminal.h. The ranges follow Unicode's EastAsianWidth. */
static int character_width(uint32_t code)
{
    if ((code >= 0x300 && code < 0x370) || (code >= 0xf8f0 && code <= 0xf8f6)) return 0;
    bool wide = (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
                (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
                (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
                (code >= 0x1f300 && code < 0x1f650) || (code >= 0x20000 && code < 0x30000);
    return wide ? 2 : 1;
}

/* Returns the code of the character at `text`, and its bytes in *length. Each byte of broken UTF-8
 * counts as one character. */
static uint32_t character(const char *text, size_t left, size_t *length)
{
    unsigned char first = (unsigned char)*text;
    size_t count = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t code = count == 1 ? first : first & (0x7fu >> count);
    *length = 1;
    if (count > left) return first;
    for (size_t i = 1; i < count; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return first;
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *length = count;
    return code;
}

size_t kf_text_width(const char *text, size_t size)
{
    size_t width = 0, length;
    for (size_t i = 0; i < size; i += length)
        width += (size_t)character_width(character(text + i, size - i, &length));
    return width;
}

/* Returns the bytes of `text` that fit in `width` columns. */
static size_t fitting(const char *text, size_t size, size_t width)
{
    size_t i = 0, length, used = 0;
    for (; i < size; i += length) {
        used += (size_t)character_width(character(text + i, size - i, &length));
        if (used > width) break;
    }
    return i;
}

void kf_text_wrap(FILE *out, const char *text, size_t size, int width, int indent, bool hang)
{
    int column = hang ? indent : 0;
    bool line_empty = true, first = true;
    for (size_t i = 0; i < size;) {
        while (i < size && (text[i] == ' ' || text[i] == '\n')) i++;
        size_t end = i;
        while (end < size && text[end] != ' ' && text[end] != '\n') end++;
        if (end == i) break;
        int word = (int)kf_text_width(text + i, end - i);
        if (!line_empty && column + 1 + word > width) {
            fputc('\n', out);
            column = 0;
            line_empty = true;
        }
        if (line_empty) {
            if (!(first && hang)) fprintf(out, "%*s", indent, "");
            column = indent;
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text + i, 1, end - i, out);
        column += word;
        line_empty = first = false;
        i = end;
    }
    fputc('\n', out);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void kf_table_add_column(kf_table *table, const char *title, kf_align align, bool flexible)
{
    if (table->column_count < KF_TABLE_COLUMNS)
        table->columns[table->column_count++] = (kf_table_column){title, align, flexible};
}

void kf_table_add_columns(kf_table *table, ...)
{
    va_list titles;
    va_start(titles, table);
    for (const char *title; (title = va_arg(titles, const char *));)
        kf_table_add_column(table, title + (*title == '>' || *title == '~'),
                            *title == '>' ? KF_RIGHT : KF_LEFT, *title == '~');
    va_end(titles);
}

void kf_table_cell(kf_table *table, const char *format, ...)
{
    /* A missing cell would move all that follow. */
    if (table->failed) return;
    if (!kf_list_grow(&table->cells, table->cell_count)) {
        table->failed = true;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    va_end(arguments);
    if (!text) {
        table->failed = true;
        return;
    }
    /* Names and messages come from files and models. They must not move the cursor or end a row. */
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = ' ';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            /* C1 control characters in UTF-8. */
            c[0] = c[1] = ' ';
    table->cells[table->cell_count++] = text;
}

static void print_cell(FILE *out, const char *text, size_t width, kf_align align, bool last)
{
    size_t size = strlen(text), own = kf_text_width(text, size);
    bool cut = own > width;
    if (cut) {
        size = fitting(text, size, width - 1);
        own = kf_text_width(text, size) + 1;
    }
    int blanks = (int)(width - own);
    if (align == KF_RIGHT) fprintf(out, "%*s", blanks, "");
    fwrite(text, 1, size, out);
    if (cut) fputs("…", out);
    if (align == KF_LEFT && !last) fprintf(out, "%*s", blanks, "");
}

/* The widths of the columns, and the lines on which a row is printed. */
typedef struct layout {
    size_t widths[KF_TABLE_COLUMNS];
    /* By column: the line of the row, from 0. */
    int lines[KF_TABLE_COLUMNS];
    int line_count;
} layout;

/* Returns the columns of a table in a file or a pipe. There no cell is cut unless the reader asks
 * for it. */
static int piped_width(void)
{
    const char *columns = getenv("COLUMNS");
    int given = columns ? atoi(columns) : 0;
    return given >= LEAST_WIDTH && given <= MOST_WIDTH ? given : INT_MAX;
}

/* Measures the columns. Returns the width of a row on one line. */
static int measure(const kf_table *table, size_t rows, int indent, layout *plan)
{
    int columns = table->column_count, total = indent;
    for (int c = 0; c < columns; c++) {
        size_t *width = &plan->widths[c], title = strlen(table->columns[c].title);
        for (size_t r = 0; r < rows; r++) {
            const char *cell = table->cells[r * (size_t)columns + (size_t)c];
            size_t own = kf_text_width(cell, strlen(cell));
            if (own > *width) *width = own;
        }
        if (!*width) continue;
        if (title > *width) *width = title;
        total += (int)*width + (total > indent ? GAP : 0);
    }
    return total;
}

/* Takes `excess` columns from the flexible ones, the last one first. Each keeps LEAST_CELL. False
 * if that is not enough: then nothing changes. */
static bool shrink(const kf_table *table, int excess, layout *plan)
{
    size_t widths[KF_TABLE_COLUMNS];
    memcpy(widths, plan->widths, sizeof widths);
    for (int c = table->column_count - 1; c >= 0 && excess > 0; c--) {
        if (!table->columns[c].flexible || widths[c] <= LEAST_CELL) continue;
        int spare = (int)widths[c] - LEAST_CELL, taken = excess < spare ? excess : spare;
        widths[c] -= (size_t)taken;
        excess -= taken;
    }
    if (excess > 0) return false;
    memcpy(plan->widths, widths, sizeof widths);
    return true;
}

/* Continues each row on further lines, which are indented. A cell that is wider than a line is cut.
 */
static void fold(const kf_table *table, int width, int indent, layout *plan)
{
    int at = indent;
    for (int c = 0; c < table->column_count; c++) {
        int own = (int)plan->widths[c], left = indent + (plan->line_count > 1 ? HANG : 0);
        if (!own) continue;
        if (at > left && at + GAP + own > width) {
            plan->line_count++;
            at = left = indent + HANG;
        }
        if (own > width - left) own = width - left > 2 ? width - left : 2;
        plan->widths[c] = (size_t)own;
        plan->lines[c] = plan->line_count - 1;
        at += own + (at > left ? GAP : 0);
    }
}

/* True if the line of a row has no text. */
static bool is_blank(const kf_table *table, const layout *plan, int line, char *const *cells)
{
    for (int c = 0; c < table->column_count; c++)
        if (plan->widths[c] && plan->lines[c] == line &&
            (cells ? cells[c] : table->columns[c].title)[0])
            return false;
    return true;
}

/* Prints one line of a row: titles, or the cells from `cells`. */
static void print_line(const kf_table *table, FILE *out, const layout *plan, int line,
                       char *const *cells)
{
    int printed = 0, last = 0;
    for (int c = 0; c < table->column_count; c++)
        if (plan->widths[c] && plan->lines[c] == line) last = c;
    for (int c = 0; c < table->column_count; c++) {
        if (!plan->widths[c] || plan->lines[c] != line) continue;
        if (printed++) fprintf(out, "%*s", GAP, "");
        print_cell(out, cells ? cells[c] : table->columns[c].title, plan->widths[c],
                   table->columns[c].align, c == last);
    }
}

void kf_table_print(const kf_table *table, FILE *out, int width, int indent, bool bold_titles)
{
    int columns = table->column_count;
    size_t rows = columns ? table->cell_count / (size_t)columns : 0;
    layout plan = {.line_count = 1};
    if (rows == 0) {
        if (table->failed) fprintf(out, "out of memory\n");
        return;
    }
    if (width <= 0) width = piped_width();
    int total = measure(table, rows, indent, &plan);
    if (total > width && !shrink(table, total - width, &plan)) fold(table, width, indent, &plan);
    bool titled = false;
    for (int c = 0; c < columns; c++) titled |= plan.widths[c] && table->columns[c].title[0];
    for (size_t row = titled ? 0 : 1; row <= rows; row++)
        for (int line = 0; line < plan.line_count; line++) {
            char *const *cells = row ? &table->cells[(row - 1) * (size_t)columns] : NULL;
            bool bold = row == 0 && bold_titles;
            if (line && is_blank(table, &plan, line, cells)) continue;
            fprintf(out, "%*s%s", indent + (line ? HANG : 0), "", bold ? KF_STYLE_BOLD : "");
            print_line(table, out, &plan, line, cells);
            fprintf(out, "%s\n", bold ? KF_STYLE_PLAIN : "");
        }
    if (table->failed) fprintf(out, "%*s… and more, but out of memory\n", indent, "");
}

void kf_table_free(kf_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) free(table->cells[i]);
    free(table->cells);
    *table = (kf_table){0};
}

/* ---- figures --------------------------------------------------------------------------------- */

static const char *no_figure(char *text)
{
    snprintf(text, KF_FIGURE, "-");
    return text;
}

/* Returns the decimals for three significant digits: 1.24, 12.4, 124. */
static int decimals(double value)
{
    return fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
}

const char *kf_figure_seconds(double seconds, char text[KF_FIGURE])
{
    if (isnan(seconds)) return no_figure(text);
    if (seconds >= 3600) {
        int minutes = (int)fmin(seconds / 60 + 0.5, 1e9);
        snprintf(text, KF_FIGURE, "%d h %02d min", minutes / 60, minutes % 60);
    } else if (seconds >= 120) {
        int whole = (int)(seconds + 0.5);
        snprintf(text, KF_FIGURE, "%d min %02d s", whole / 60, whole % 60);
    } else {
        static const struct {
            double least, scale;
            const char *unit;
        } units[] = {
            {0.9995, 1, "s"}, {0.9995e-3, 1e3, "ms"}, {0.9995e-6, 1e6, "us"}, {0, 1e9, "ns"}};
        int i = 0;
        while (i < 3 && seconds < units[i].least) i++;
        double value = seconds * units[i].scale;
        snprintf(text, KF_FIGURE, "%.*f %s", value == 0 ? 0 : decimals(value), value,
                 seconds == 0 ? "s" : units[i].unit);
    }
    return text;
}

const char *kf_figure_bytes(double bytes, char text[KF_FIGURE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    if (isnan(bytes)) return no_figure(text);
    int unit = 0;
    for (; bytes >= 1023.5 && unit < 5; unit++) bytes /= 1024;
    snprintf(text, KF_FIGURE, "%.*f %s", unit == 0 || bytes >= 99.95 ? 0 : 1, bytes, units[unit]);
    return text;
}

const char *kf_figure_count(double count, char text[KF_FIGURE])
{
    if (isnan(count)) return no_figure(text);
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%.0f", fmin(fabs(count), 1e18)), at = 0;
    if (count < 0) text[at++] = '-';
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

/* Returns the decimals of a speedup: for three significant digits if the interval is at most 5
 * units of the third digit to each side, or not known; else for two. */
static int decimals_of(kf_interval speedup)
{
    int most = speedup.value < 0.0995 ? 3 : decimals(speedup.value);
    double half = (speedup.high - speedup.low) / 2;
    return most > 0 && half > 5.5 * pow(10, -most) ? most - 1 : most;
}

const char *kf_figure_speedup(kf_interval speedup, char text[KF_FIGURE])
{
    if (isnan(speedup.value)) return no_figure(text);
    snprintf(text, KF_FIGURE, "%.*fx", decimals_of(speedup), speedup.value);
    return text;
}

const char *kf_figure_ratio(double ratio, char text[KF_FIGURE])
{
    return kf_figure_speedup((kf_interval){ratio, NAN, NAN}, text);
}

const char *kf_figure_cost(double usd, bool partly_unknown, char text[KF_FIGURE])
{
    const char *least = partly_unknown ? "at least " : "";
    if (isnan(usd) || (partly_unknown && !(usd >= 0.0001)))
        snprintf(text, KF_FIGURE, "cost unknown");
    else if (usd > 0 && usd < 0.0001)
        snprintf(text, KF_FIGURE, "under $0.0001");
    else if (usd > 0 && usd < 0.00995)
        snprintf(text, KF_FIGURE, "%s$%.2g", least, usd);
    else
        snprintf(text, KF_FIGURE, "%s$%.2f", least, usd);
    return text;
}

const char *kf_figure_interval(kf_interval interval, char text[KF_FIGURE])
{
    text[0] = '\0';
    if (isnan(interval.low) || isnan(interval.high)) return text;
    int digits = decimals_of(interval);
    snprintf(text, KF_FIGURE, "[%.*f, %.*f]", digits, interval.low, digits, interval.high);
    return text;
}

const char *kf_figure_age(double when, double now, char text[KF_FIGURE])
{
    if (isnan(when)) return no_figure(text);
    double age = now > when ? now - when : 0;
    if (age < 60)
        snprintf(text, KF_FIGURE, "just now");
    else if (age < 3600)
        snprintf(text, KF_FIGURE, "%.0f min ago", floor(age / 60));
    else if (age < 48 * 3600)
        snprintf(text, KF_FIGURE, "%.0f h ago", floor(age / 3600));
    else
        snprintf(text, KF_FIGURE, "%.0f days ago", fmin(floor(age / 86400), 1e9));
    return text;
}

const char *kf_figure_time(double when, char text[KF_FIGURE])
{
    if (isnan(when)) return no_figure(text);
    time_t seconds = (time_t)when;
    struct tm local;
    if (!localtime_r(&seconds, &local) || !strftime(text, KF_FIGURE, "%Y-%m-%d %H:%M:%S", &local))
        return no_figure(text);
    return text;
}
