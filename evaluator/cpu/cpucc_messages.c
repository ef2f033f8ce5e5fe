/* Shows the compiler's messages with the candidate's names and places.
 *
 * g++ compiles the rewritten text and leaves out the lines of code in its messages. This file maps
 * the places back (rewrite_places.h), and writes the lines of the candidate's file. */
#include "cpucc_messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"

/* The longest line of code that is shown. */
#define CODE_BYTES 160
#define CODE_FILES 8
#define CODE_FILE_BYTES (4u << 20)

static const char include_from[] = "In file included from ",
                  include_more[] = "                 from ";
static const char expansion[] = " note: in expansion of macro \u2018", quote_end[] = "\u2019";

/* ---- lines of messages ----------------------------------------------------------------------- */

/* Reads "FILE:LINE:COLUMN:" at the start of the line. Returns the text behind it, or NULL. */
static const char *read_place(const char *line, kf_place *place)
{
    for (const char *colon = strchr(line, ':'); colon; colon = strchr(colon + 1, ':')) {
        char *end;
        if (!isdigit((unsigned char)colon[1])) continue;
        place->line = strtol(colon + 1, &end, 10);
        if (*end != ':' || !isdigit((unsigned char)end[1])) continue;
        place->column = strtol(end + 1, &end, 10);
        if (*end != ':' || (size_t)(colon - line) >= sizeof place->file) continue;
        snprintf(place->file, sizeof place->file, "%.*s", (int)(colon - line), line);
        return end + 1;
    }
    return NULL;
}

static bool starts_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

typedef struct kf_code_file {
    char name[sizeof((kf_place *)0)->file];
    /* NULL: it can't be read. */
    char *text;
} kf_code_file;

typedef struct reading {
    const kf_cpucc_messages *messages;
    /* The next line. Lines end with NUL. */
    char **lines;
    size_t count, next;
    kf_buffer *output;
    /* The errors so far, to leave out repetitions. */
    kf_buffer errors;
    /* The last line about a function, which is written with the next message. */
    const char *context;
    /* The last files that messages were about. */
    kf_code_file files[CODE_FILES];
    size_t file_count;
} reading;

/* Returns the text of a file, or NULL. */
static const char *text_of(reading *r, const char *name)
{
    kf_error ignored;
    for (size_t i = 0; i < r->file_count; i++)
        if (strcmp(r->files[i].name, name) == 0) return r->files[i].text;
    if (r->file_count == CODE_FILES) free(r->files[--r->file_count].text);
    kf_code_file *file = &r->files[r->file_count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->text = kf_file_read(name, CODE_FILE_BYTES, NULL, &ignored);
    return file->text;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Writes a message with the candidate's names: the body of kernel k, which the compiler knows as
 * the function "run" of a struct in k, becomes k again. */
static void write_names(const char *text, kf_buffer *output)
{
    static const char member[] = "static member function \u2018static void ",
                      body[] = "::kfcpu_body::run(";
    while (*text) {
        const char *next = text;
        while (*next && !starts_with(next, member) && !starts_with(next, body)) next++;
        kf_buffer_append(output, text, (size_t)(next - text));
        text = next;
        if (*next == 's') {
            kf_buffer_string(output, "function \u2018void ");
            text += sizeof member - 1;
        } else if (*next) {
            const char *close = strstr(next, quote_end);
            text = close ? close : next + strlen(next);
        }
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

/* True if the message misses something in front of its place. */
static bool is_missing_before(const char *text)
{
    static const char *const words[] = {" error: expected \u2018;\u2019 before ",
                                        " error: expected \u2018,\u2019 or \u2018;\u2019 before ",
                                        " error: expected initializer before "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (starts_with(text, words[i])) return true;
    return false;
}

static bool find_place(const kf_cpucc_messages *m, const char *text, kf_place *place, kf_place *use)
{
    use->line = 0;
    for (int i = 0; i < m->count; i++)
        if (m->places[i] && kf_places_find(m->places[i], is_missing_before(text), place, use))
            return true;
    return false;
}

/* Sets an unknown column to the line's first character, and skips blanks before a macro's use. */
static void settle_column(reading *r, kf_place *place)
{
    const char *line = kf_places_line(text_of(r, place->file), place->line);
    if (!line) return;
    size_t at = place->column > 0 ? (size_t)place->column - 1 : 0;
    if (at > strcspn(line, "\n")) return;
    at += strspn(line + at, " \t");
    if (line[at] && line[at] != '\n') place->column = (long)at + 1;
}

/* Writes the line of code and a caret below the column. */
static void write_code(reading *r, const kf_place *place)
{
    kf_buffer *output = r->output;
    const char *line = kf_places_line(text_of(r, place->file), place->line);
    size_t size = line ? strcspn(line, "\r\n") : 0;
    if (!line || !place->column || (size_t)place->column > size + 1) return;
    if (size > CODE_BYTES || !size) return;
    kf_buffer_format(output, "%5ld | %.*s\n      | ", place->line, (int)size, line);
    for (long i = 0; i < place->column - 1; i++) {
        if (((unsigned char)line[i] & 0xc0) == 0x80) continue;
        kf_buffer_append(output, line[i] == '\t' ? "\t" : " ", 1);
    }
    kf_buffer_string(output, "^");
    for (size_t i = (size_t)place->column - 1;
         i + 1 < size && (isalnum((unsigned char)line[i]) || line[i] == '_') &&
         (isalnum((unsigned char)line[i + 1]) || line[i + 1] == '_');
         i++)
        kf_buffer_string(output, "~");
    kf_buffer_string(output, "\n");
}

static void write_place(const kf_place *place, kf_buffer *output)
{
    kf_buffer_format(output, "%s:%ld:", place->file, place->line);
    if (place->column) kf_buffer_format(output, "%ld:", place->column);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* True if the message is about a macro of kforge's headers that the candidate used. Its place is
 * then the use, and its text names the macro. */
static bool take_expansion(reading *r, kf_place *place, const char **text, kf_buffer *changed)
{
    kf_place use;
    const char *behind = r->next < r->count ? read_place(r->lines[r->next], &use) : NULL;
    if (!strstr(place->file, r->messages->headers) || !behind || !starts_with(behind, expansion) ||
        strstr(use.file, r->messages->headers))
        return false;
    const char *name = behind + sizeof expansion - 1, *end = strstr(name, quote_end);
    static const char before[] = " before \u2018";
    const char *found = strstr(*text, before);
    const char *close = found ? strstr(found, quote_end) : NULL;
    if (!end) return false;
    r->next++;
    *place = use;
    if (!close) return true;
    kf_buffer_format(changed, "%.*s%.*s%s", (int)(found + sizeof before - 1 - *text), *text,
                     (int)(end - name), name, close);
    *text = changed->data ? changed->data : *text;
    return true;
}

/* Drops the lines "In file included from" that lead to kforge's own headers. */
static void skip_inclusion(reading *r)
{
    size_t at = r->next;
    while (at < r->count &&
           (starts_with(r->lines[at], include_from) || starts_with(r->lines[at], include_more)))
        at++;
    if (at > r->next && at < r->count && strstr(r->lines[at - 1], r->messages->headers))
        r->next = at;
}

static bool is_repeated(reading *r, const kf_place *place, const char *text)
{
    kf_autobuffer now = {0};
    bool error = starts_with(text, " error:") || starts_with(text, " fatal error:");
    if (!error) return false;
    write_place(place, &now);
    kf_buffer_string(&now, text);
    kf_buffer_string(&now, "\n");
    if (r->errors.data && now.data && strstr(r->errors.data, now.data)) return true;
    kf_buffer_string(&r->errors, now.data ? now.data : "");
    return false;
}

/* True for "FILE: In function …:", "FILE: At global scope:" and the like. */
static bool is_context(const char *line)
{
    const char *colon = strstr(line, ": In ");
    if (!colon) colon = strstr(line, ": At ");
    size_t size = strlen(line);
    return colon && size && line[size - 1] == ':';
}

static void write_line(reading *r, const char *line)
{
    write_names(line, r->output);
    kf_buffer_string(r->output, "\n");
}

static void write_context(reading *r)
{
    if (r->context) write_line(r, r->context);
    r->context = NULL;
}

static void write_message(reading *r)
{
    kf_place place, use = {.line = 0};
    const char *line = r->lines[r->next++], *text = read_place(line, &place);
    if (!text && is_context(line)) {
        r->context = line;
        return;
    }
    if (!text) {
        write_context(r);
        write_line(r, line);
        return;
    }
    kf_autobuffer changed = {0};
    take_expansion(r, &place, &text, &changed);
    if (find_place(r->messages, text, &place, &use) && !place.column) settle_column(r, &place);
    if (is_repeated(r, &place, text)) return;
    write_context(r);
    write_place(&place, r->output);
    write_line(r, text);
    write_code(r, &place);
    if (!use.line) return;
    settle_column(r, &use);
    write_place(&use, r->output);
    kf_buffer_string(r->output, " note: in expansion of a macro\n");
    write_code(r, &use);
}

void kf_cpucc_messages_write(const kf_cpucc_messages *messages, const char *text, kf_buffer *output)
{
    kf_autofree char *copy = strdup(text);
    size_t count = 1;
    for (const char *c = text; *c; c++) count += *c == '\n';
    kf_autofree char **lines = calloc(count, sizeof *lines);
    if (!copy || !lines) {
        kf_buffer_string(output, text);
        return;
    }
    reading r = {.messages = messages, .lines = lines, .output = output};
    char *rest = copy;
    while (rest && *rest) lines[r.count++] = strsep(&rest, "\n");
    while (r.next < r.count) {
        skip_inclusion(&r);
        write_message(&r);
    }
    kf_buffer_free(&r.errors);
    while (r.file_count) free(r.files[--r.file_count].text);
}
