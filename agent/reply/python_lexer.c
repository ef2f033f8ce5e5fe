/* A small lexer of Python's string literals. */
#include "python_lexer.h"

#include <stdlib.h>
#include <string.h>

#include "c_lexer.h"
#include "extract_internal.h"

static bool starts_with(kf_span line, const char *word)
{
    size_t length = strlen(word);
    return line.size >= length && memcmp(line.data, word, length) == 0;
}

/* Returns the end of the literal that begins at `i`. One quote ends at the end of the line. */
static size_t literal_end(const char *text, size_t size, size_t i)
{
    char quote = text[i];
    bool triple = i + 2 < size && text[i + 1] == quote && text[i + 2] == quote;
    for (i += triple ? 3 : 1; i < size; i++) {
        if (text[i] == '\\' && i + 1 < size)
            i++;
        else if (!triple && (text[i] == quote || text[i] == '\n'))
            return i + 1;
        else if (triple && text[i] == quote && i + 2 < size && text[i + 1] == quote &&
                 text[i + 2] == quote)
            return i + 3;
    }
    return size;
}

char *kf_python_blank(const char *text, size_t size)
{
    char *blank = malloc(size + 1);
    if (!blank) return NULL;
    memcpy(blank, text, size);
    blank[size] = '\0';
    for (size_t i = 0; i < size;) {
        size_t end = i + 1;
        char fill = ' ';
        if (text[i] == '"' || text[i] == '\'')
            end = literal_end(text, size, i);
        else if (text[i] == '#')
            while (end < size && text[end] != '\n') end++;
        else
            fill = text[i];
        for (size_t k = i; k < end; k++)
            if (blank[k] != '\n' && blank[k] != '\r') blank[k] = fill;
        i = end;
    }
    return blank;
}

bool kf_python_defines(const char *blank, size_t size, const char *name)
{
    size_t length = strlen(name);
    kf_span rest = {blank, size}, line;
    while (kf_span_line(&rest, &line)) {
        if (!starts_with(line, "class ")) continue;
        kf_span found = kf_span_trim((kf_span){line.data + 6, line.size - 6});
        if (starts_with(found, name) &&
            (found.size == length || !kf_code_is_word(found.data[length])))
            return true;
    }
    return false;
}
