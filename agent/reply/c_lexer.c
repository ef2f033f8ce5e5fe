/* A small lexer that separates code from comments and literals. It knows only what that needs:
 * comment starts, escapes, raw strings, line continuations, and digit separators (1'000 is no
 * character literal). */
#include "c_lexer.h"

#include <stdlib.h>
#include <string.h>

bool kf_code_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Fills [from, to) with `fill` and keeps line breaks. */
static void fill_span(char *blank, size_t from, size_t to, char fill)
{
    for (size_t i = from; i < to; i++)
        if (blank[i] != '\n' && blank[i] != '\r') blank[i] = fill;
}

/* Returns the end of a // comment: the line break without a backslash before it. */
static size_t line_comment_end(const char *text, size_t size, size_t i)
{
    for (; i < size; i++) {
        if (text[i] != '\n') continue;
        size_t before = i;
        if (before > 0 && text[before - 1] == '\r') before--;
        if (before == 0 || text[before - 1] != '\\') return i;
    }
    return size;
}

static size_t block_comment_end(const char *text, size_t size, size_t i)
{
    for (i += 2; i + 1 < size; i++)
        if (text[i] == '*' && text[i + 1] == '/') return i + 2;
    return size;
}

/* Returns the end of a literal: its closing quote, or the end of the line, as compilers recover. */
static size_t literal_end(const char *text, size_t size, size_t i)
{
    char quote = text[i++];
    for (; i < size; i++) {
        if (text[i] == '\\' && i + 1 < size)
            i++;
        else if (text[i] == quote)
            return i + 1;
        else if (text[i] == '\n')
            return i;
    }
    return size;
}

/* Returns the end of R"delimiter( … )delimiter". The delimiter has at most 16 characters
 * ([lex.string] of the C++ standard). 0: no raw string. */
static size_t raw_string_end(const char *text, size_t size, size_t quote)
{
    size_t open = quote + 1;
    while (open < size && open - quote <= 17 && text[open] != '(' && text[open] != '\n') open++;
    if (open >= size || text[open] != '(') return 0;
    size_t delimiter = open - quote - 1;
    for (size_t i = open + 1; i + delimiter + 1 < size; i++)
        if (text[i] == ')' && text[i + delimiter + 1] == '"' &&
            memcmp(text + i + 1, text + quote + 1, delimiter) == 0)
            return i + delimiter + 2;
    return size;
}

char *kf_code_blank(const char *text, size_t size)
{
    char *blank = malloc(size + 1);
    if (!blank) return NULL;
    memcpy(blank, text, size);
    blank[size] = '\0';
    for (size_t i = 0; i < size;) {
        char c = text[i], next = i + 1 < size ? text[i + 1] : '\0';
        size_t end;
        if (c == '/' && next == '/') {
            end = line_comment_end(text, size, i);
            fill_span(blank, i, end, KF_LINE_COMMENT);
        } else if (c == '/' && next == '*') {
            end = block_comment_end(text, size, i);
            fill_span(blank, i, end, ' ');
        } else if (c == '"') {
            bool raw = i > 0 && text[i - 1] == 'R' &&
                       (i < 2 || !kf_code_is_word(text[i - 2]) || strchr("uUL8", text[i - 2]));
            end = raw ? raw_string_end(text, size, i) : 0;
            if (!end) end = literal_end(text, size, i);
            fill_span(blank, i, end, '"');
        } else if (c == '\'' && !(i > 0 && kf_code_is_word(text[i - 1]))) {
            end = literal_end(text, size, i);
            fill_span(blank, i, end, '"');
        } else {
            end = i + 1;
            /* A number includes its digit separators. */
            if (c >= '0' && c <= '9' && !(i > 0 && kf_code_is_word(text[i - 1])))
                while (end < size &&
                       (kf_code_is_word(text[end]) ||
                        (text[end] == '\'' && end + 1 < size && kf_code_is_word(text[end + 1]))))
                    end++;
        }
        i = end;
    }
    return blank;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == KF_LINE_COMMENT;
}

static size_t skip_blanks(const char *blank, size_t size, size_t i)
{
    while (i < size && is_blank(blank[i])) i++;
    return i;
}

/* Returns the offset behind the parenthesis that closes the one at `i`, or 0. */
static size_t close_parenthesis(const char *blank, size_t size, size_t i)
{
    int depth = 0;
    for (; i < size; i++) {
        if (blank[i] == '(') depth++;
        if (blank[i] == '{' || blank[i] == '}' || blank[i] == ';') return 0;
        if (blank[i] == ')' && --depth == 0) return i + 1;
    }
    return 0;
}

/* True if the text before `at` can end a return type: `*`, `&`, or a word that is no statement's
 * keyword. */
static bool type_precedes(const char *blank, size_t at)
{
    while (at > 0 && is_blank(blank[at - 1])) at--;
    if (at == 0) return false;
    char c = blank[at - 1];
    if (c == '*' || c == '&' || c == '>') return !(c == '>' && at > 1 && blank[at - 2] == '-');
    /* __attribute__((…)) or __launch_bounds__(…) before the name. */
    if (!kf_code_is_word(c)) return c == ')';
    size_t start = at;
    while (start > 0 && kf_code_is_word(blank[start - 1])) start--;
    static const char *const statements[] = {"return", "else",   "do", "new",  "case",
                                             "goto",   "define", "if", "while"};
    for (size_t k = 0; k < sizeof statements / sizeof *statements; k++)
        if (at - start == strlen(statements[k]) &&
            memcmp(blank + start, statements[k], at - start) == 0)
            return false;
    return true;
}

bool kf_code_defines(const char *blank, size_t size, const char *name)
{
    size_t length = strlen(name);
    if (!length) return false;
    /* Of parentheses. A definition has depth 0. The check also keeps hostile nesting linear. */

    int depth = 0;
    for (size_t i = 0; i + length <= size; i++) {
        if (blank[i] == '(') depth++;
        if (blank[i] == ')' && depth > 0) depth--;
        if (blank[i] == ';' || blank[i] == '{' || blank[i] == '}') depth = 0;
        if (depth > 0 || blank[i] != name[0] || memcmp(blank + i, name, length) != 0) continue;
        if ((i > 0 && kf_code_is_word(blank[i - 1])) ||
            (i + length < size && kf_code_is_word(blank[i + length])))
            continue;
        size_t open = skip_blanks(blank, size, i + length);
        if (open >= size || blank[open] != '(' || !type_precedes(blank, i)) continue;
        size_t after = close_parenthesis(blank, size, open);
        if (!after) continue;
        after = skip_blanks(blank, size, after);
        while (after < size && kf_code_is_word(blank[after])) { /* noexcept */
            while (after < size && kf_code_is_word(blank[after])) after++;
            after = skip_blanks(blank, size, after);
        }
        if (after < size && blank[after] == '{') return true;
    }
    return false;
}
