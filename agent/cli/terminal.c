#include "terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/verdict.h"
#include "table.h"
#include "utf8.h"

#define STREAMS 2
#define OWN_NAME "kforge "

typedef struct stream {
    FILE *under, *out;
    bool terminal;
    /* Breaks long lines at blanks: a terminal that shows text for people. */
    bool wraps;
    /* The first bytes of a character that was cut at the end of the last write. */
    char cut[4];
    size_t cut_size;
} stream;

static stream streams[STREAMS];
static size_t stream_count;

static const struct {
    const char *style, *sequence;
} styles[] = {
    {KF_STYLE_PLAIN, "\033[0m"},  {KF_STYLE_BOLD, "\033[1m"},    {KF_STYLE_RED, "\033[31m"},
    {KF_STYLE_GREEN, "\033[32m"}, {KF_STYLE_YELLOW, "\033[33m"}, {KF_STYLE_GREY, "\033[90m"},
    {KF_STYLE_CLEAR, "\r\033[K"},
};

/* Returns the sequence for the style at `text`, or NULL. All styles have three bytes. */
static const char *sequence_at(const char *text)
{
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strncmp(text, styles[i].style, 3) == 0) return styles[i].sequence;
    return NULL;
}

/* Returns how many bytes at the end of `text` begin a character that is not complete. */
static size_t unfinished(const char *text, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = (unsigned char)text[size - back];
        if ((c & 0xc0) == 0x80) continue;
        size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

static const char *program_name;
static const char *const *program_words;

void kf_terminal_name_program(const char *name, const char *const *words)
{
    program_name = name;
    program_words = words;
}

/* True if a command line may begin at `at`: behind a quote, a colon or at the start of a line, but
 * not within a sentence ("no kforge store"). */
static bool may_begin(const char *text, const char *at)
{
    if (at == text || strchr("\"`'(\n", at[-1])) return true;
    return at[-1] == ' ' && at - 1 > text && strchr(":;> ", at[-2]);
}

/* True if "kforge COMMAND" is at `at`, as a command line in `text`. */
static bool names_command(const char *text, const char *at)
{
    const char *word = at + strlen(OWN_NAME);
    if (!may_begin(text, at)) return false;
    size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyz");
    for (const char *const *known = program_words; *known; known++)
        if (strlen(*known) == size && strncmp(*known, word, size) == 0) return true;
    return false;
}

/* Appends the text, with the program's name as it was called. */
static void append_named(kf_buffer *out, const char *text)
{
    const char *at = text;
    for (const char *found; program_name && (found = strstr(at, OWN_NAME));) {
        kf_buffer_append(out, at, (size_t)(found - at));
        kf_buffer_format(out, "%s ", names_command(text, found) ? program_name : "kforge");
        at = found + strlen(OWN_NAME);
    }
    kf_buffer_string(out, at);
}

/* Returns the columns of a terminal, 0 if they are not known. */
static int columns_of(const stream *s)
{
    struct winsize size = {0};
    return ioctl(fileno(s->under), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Returns where the further lines of a long line begin: below the text behind "label   ", else
 * below the first word. */
static int hang_of(const char *line, size_t size, int columns)
{
    size_t blanks = strspn(line, " "), label = strcspn(line + blanks, " \n");
    size_t gap = blanks + label < size ? strspn(line + blanks + label, " ") : 0;
    int column = (int)kf_text_width(line, blanks + (gap > 1 ? label + gap : 0));
    return column < columns / 2 ? column : 0;
}

/* Appends one line without its newline, broken at blanks. */
static void append_wrapped(kf_buffer *out, const char *line, size_t size, int columns)
{
    int column = 0, hang = hang_of(line, size, columns);
    for (size_t i = 0; i < size;) {
        size_t blanks = strspn(line + i, " "), word = strcspn(line + i + blanks, " \n");
        int wide = (int)kf_text_width(line + i + blanks, word);
        if (column > hang && word && column + (int)blanks + wide > columns) {
            kf_buffer_format(out, "\n%*s", hang, "");
            column = hang;
        } else {
            kf_buffer_append(out, line + i, blanks);
            column += (int)blanks;
        }
        kf_buffer_append(out, line + i + blanks, word);
        column += wide;
        i += blanks + word;
    }
}

/* Appends the text, each line within the columns of the terminal. */
static void append_lines(kf_buffer *out, const char *text, int columns)
{
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        if ((int)kf_text_width(line, size) > columns)
            append_wrapped(out, line, size, columns);
        else
            kf_buffer_append(out, line, size);
        line += size;
        if (*line) kf_buffer_append(out, line++, 1);
    }
}

/* Prints text with its styles. In a file or a pipe it has no styles. */
static void print_styled(const stream *s, const char *text)
{
    for (const char *at = text; *at;) {
        const char *sequence = sequence_at(at);
        size_t length = strcspn(at, "\xef");
        if (sequence) {
            if (s->terminal) fputs(sequence, s->under);
            at += 3;
        } else {
            /* At least the byte at which the search stopped. */
            length += !length;
            fwrite(at, 1, length, s->under);
            at += length;
        }
    }
}

static bool print_clean(const stream *s, const char *text, size_t size)
{
    kf_autofree char *clean = kf_text_clean(text, size, false);
    kf_autobuffer named = {0}, lines = {0};
    if (!clean) return false;
    append_named(&named, clean);
    int columns = s->wraps ? columns_of(s) : 0;
    if (columns > 0 && named.data) append_lines(&lines, named.data, columns);
    if (named.failed || lines.failed) return false;
    print_styled(s, lines.data ? lines.data : named.data ? named.data : "");
    return !ferror(s->under);
}

/* The stream's write function. See fopencookie. */
static ssize_t write_clean(void *cookie, const char *data, size_t size)
{
    stream *s = cookie;
    kf_autofree char *text = malloc(s->cut_size + size);
    if (!text) return errno = ENOMEM, 0;
    memcpy(text, s->cut, s->cut_size);
    memcpy(text + s->cut_size, data, size);
    size_t all = s->cut_size + size, rest = unfinished(text, all);
    bool printed = print_clean(s, text, all - rest) && fflush(s->under) == 0;
    memcpy(s->cut, text + all - rest, rest);
    s->cut_size = rest;
    return printed ? (ssize_t)size : 0;
}

FILE *kf_terminal_stream(FILE *under, bool buffered)
{
    if (stream_count == STREAMS) return under;
    stream *s = &streams[stream_count];
    *s = (stream){.under = under, .terminal = isatty(fileno(under))};
    s->out = fopencookie(s, "w", (cookie_io_functions_t){.write = write_clean});
    if (!s->out) return under;
    s->wraps = s->terminal && buffered;
    setvbuf(s->out, NULL, !buffered ? _IONBF : s->terminal ? _IOLBF : _IOFBF, BUFSIZ);
    stream_count++;
    return s->out;
}

static stream *stream_of(FILE *out)
{
    for (size_t i = 0; i < stream_count; i++)
        if (streams[i].out == out) return &streams[i];
    return NULL;
}

int kf_terminal_columns(FILE *out)
{
    const stream *s = stream_of(out);
    return s ? columns_of(s) : 0;
}

void kf_terminal_redraw(FILE *out, const char *format, ...)
{
    va_list arguments;
    kf_autofree char *text = NULL;
    int columns = kf_terminal_columns(out);
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text = NULL;
        return;
    }
    /* The cursor stands behind the line. */
    while (columns > 1 && size && (int)kf_text_width(text, (size_t)size) >= columns) {
        size--;
        while (size && ((unsigned char)text[size] & 0xc0) == 0x80) size--;
    }
    fprintf(out, KF_STYLE_CLEAR "%.*s", size, text);
    fflush(out);
}

FILE *kf_exact_stream(FILE *out)
{
    stream *s = stream_of(out);
    if (s && s->wraps) {
        fflush(out);
        s->wraps = false;
    }
    if (!s || s->terminal) return out;
    /* A failure stays set, and kf_terminal_flush reports it. */
    fflush(out);
    return s->under;
}

bool kf_print_exact(FILE *out, const char *data, size_t size)
{
    stream *s = stream_of(out);
    bool wrapped = s && s->wraps, good = fwrite(data, 1, size, kf_exact_stream(out)) == size;
    if (!wrapped) return good;
    good &= fflush(out) == 0;
    s->wraps = true;
    return good;
}

static void send(FILE *out, const char *sequence)
{
    const stream *s = stream_of(out);
    if (!s || !s->terminal) return;
    fflush(out);
    fputs(sequence, s->under);
    fflush(s->under);
}

void kf_terminal_top(FILE *out)
{
    send(out, "\033[H");
}

void kf_terminal_clear_below(FILE *out)
{
    send(out, "\033[J");
}

bool kf_terminal_flush(FILE *out)
{
    stream *s = stream_of(out);
    bool failed = ferror(out) || (s && ferror(s->under));
    errno = 0;
    failed |= fflush(out) != 0;
    if (!s) return !failed;
    s->cut_size = 0;
    return fflush(s->under) == 0 && !failed;
}
