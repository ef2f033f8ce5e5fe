/* Tokens of preprocessed C++ (tokens.h). */
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    kf_tokens *tokens;
    size_t capacity;
    size_t at;
    uint32_t line;
    bool line_start; /* only white space since the last newline */
} scanner;

static bool is_word_start(unsigned char c)
{
    return isalpha(c) || c == '_' || c == '$' || c >= 0x80;
}

static bool is_word(unsigned char c)
{
    return is_word_start(c) || isdigit(c);
}

/* Returns the character `ahead` places after the current one, NUL past the end. */
static char peek(const scanner *s, size_t ahead)
{
    return ahead < s->tokens->size - s->at ? s->tokens->text[s->at + ahead] : '\0';
}

/* Skips one character and counts lines. */
static void advance(scanner *s)
{
    if (s->tokens->text[s->at++] == '\n') {
        s->line++;
        s->line_start = true;
    }
}

static void skip_white_space(scanner *s)
{
    while (s->at < s->tokens->size) {
        char c = peek(s, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f') {
            advance(s);
        } else if (c == '\\' && peek(s, 1) == '\n') {
            bool line_start = s->line_start;
            advance(s);
            advance(s);
            s->line_start = line_start;
        } else if (c == '/' && peek(s, 1) == '/') {
            while (s->at < s->tokens->size && peek(s, 0) != '\n') advance(s);
        } else if (c == '/' && peek(s, 1) == '*') {
            bool line_start = s->line_start;
            advance(s);
            advance(s);
            while (s->at < s->tokens->size && !(peek(s, 0) == '*' && peek(s, 1) == '/')) advance(s);
            for (int i = 0; i < 2 && s->at < s->tokens->size; i++) advance(s);
            s->line_start = line_start;
        } else {
            return;
        }
    }
}

/* Skips a string or character literal from its opening quote. It ends with the line if the closing
 * quote is missing. */
static void skip_quoted(scanner *s)
{
    char quote = peek(s, 0);
    advance(s);
    while (s->at < s->tokens->size && peek(s, 0) != '\n') {
        char c = peek(s, 0);
        advance(s);
        if (c == quote) return;
        if (c == '\\' && s->at < s->tokens->size) advance(s);
    }
}

/* Skips a raw string from its opening quote: "DELIMITER( … )DELIMITER". */
static void skip_raw(scanner *s)
{
    size_t start = s->at + 1, length = 0;
    const char *text = s->tokens->text;
    while (length < 17 && start + length < s->tokens->size && text[start + length] != '(') length++;
    if (length > 16 || start + length >= s->tokens->size) {
        skip_quoted(s);
        return;
    }
    while (s->at < start + length + 1) advance(s);
    for (; s->at < s->tokens->size; advance(s)) {
        if (peek(s, 0) == ')' && s->tokens->size - s->at > length + 1 &&
            memcmp(text + s->at + 1, text + start, length) == 0 &&
            text[s->at + 1 + length] == '"') {
            for (size_t i = 0; i < length + 2; i++) advance(s);
            return;
        }
    }
}

static void skip_number(scanner *s)
{
    while (s->at < s->tokens->size) {
        char c = peek(s, 0), next = peek(s, 1);
        if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (next == '+' || next == '-')) {
            s->at += 2;
        } else if (is_word((unsigned char)c) || c == '.') {
            s->at++;
        } else if (c == '\'' && is_word((unsigned char)next)) {
            s->at += 2;
        } else {
            return;
        }
    }
}

static void skip_directive(scanner *s)
{
    while (s->at < s->tokens->size && peek(s, 0) != '\n') {
        if (peek(s, 0) == '\\' && peek(s, 1) == '\n') advance(s);
        advance(s);
    }
}

static kf_token_kind skip_word(scanner *s)
{
    size_t start = s->at;
    while (s->at < s->tokens->size && is_word((unsigned char)peek(s, 0))) s->at++;
    char quote = peek(s, 0);
    size_t length = s->at - start;
    if ((quote != '"' && quote != '\'') || length > 3) return KF_TOKEN_WORD;
    const char *word = s->tokens->text + start;
    bool raw = word[length - 1] == 'R';
    size_t prefix = length - raw; /* L, u, U, u8, or nothing before R */
    bool encoding = (prefix == 1 && strchr("LuU", word[0])) ||
                    (prefix == 2 && word[0] == 'u' && word[1] == '8');
    if (raw && quote == '"' && (encoding || prefix == 0)) {
        skip_raw(s);
        return KF_TOKEN_STRING;
    }
    if (!raw && encoding) {
        skip_quoted(s);
        return KF_TOKEN_STRING;
    }
    return KF_TOKEN_WORD;
}

static kf_token_kind skip_punctuation(scanner *s)
{
    static const char *const pairs[] = {"::", "->", "<=", ">="};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (peek(s, 0) == pairs[i][0] && peek(s, 1) == pairs[i][1]) {
            s->at += 2;
            return KF_TOKEN_PUNCT;
        }
    s->at += peek(s, 0) == '.' && peek(s, 1) == '.' && peek(s, 2) == '.' ? 3 : 1;
    return KF_TOKEN_PUNCT;
}

static kf_token_kind skip_token(scanner *s)
{
    char c = peek(s, 0);
    if (c == '#' && s->line_start) {
        skip_directive(s);
        return KF_TOKEN_DIRECTIVE;
    }
    s->line_start = false;
    if (is_word_start((unsigned char)c)) return skip_word(s);
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(s, 1)))) {
        skip_number(s);
        return KF_TOKEN_NUMBER;
    }
    if (c == '"' || c == '\'') {
        skip_quoted(s);
        s->line_start = false;
        return KF_TOKEN_STRING;
    }
    return skip_punctuation(s);
}

static bool append(scanner *s, const kf_token *token, kf_error *error)
{
    kf_tokens *tokens = s->tokens;
    if (tokens->count == KF_TOKENS_COUNT)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "the preprocessed source has more than %u tokens; make it smaller",
                       KF_TOKENS_COUNT);
    if (tokens->count + (size_t)1 >= s->capacity) { /* one place stays free for KF_TOKEN_END */
        size_t capacity = s->capacity ? s->capacity * 2 : 1024;
        kf_token *list = realloc(tokens->list, capacity * sizeof *list);
        if (!list) return kf_fail_memory(error, "the tokens of a source");
        tokens->list = list;
        s->capacity = capacity;
    }
    tokens->list[tokens->count++] = *token;
    return true;
}

/* Finds the partner of every bracket. A closing bracket that fits no opening one gets no partner.
 * An opening bracket gets no partner if an outer one closes first. Until then, the `match` fields
 * of the open brackets form a stack. */
static void match_brackets(kf_tokens *tokens)
{
    uint32_t top = KF_NO_TOKEN;
    uint32_t depth[3] = {0};
    for (uint32_t i = 0; i < tokens->count; i++) {
        kf_token *token = &tokens->list[i];
        if (token->kind != KF_TOKEN_PUNCT) continue;
        char c = tokens->text[token->offset];
        const char *open = memchr("([{", c, 3), *close = memchr(")]}", c, 3); /* c may be NUL */
        if (open) {
            token->match = top;
            top = i;
            depth[open - "([{"]++;
        } else if (close && depth[close - ")]}"] > 0) {
            char wanted = "([{"[close - ")]}"];
            /* Ends, because `depth` says that the stack holds the wanted bracket. */
            while (tokens->text[tokens->list[top].offset] != wanted) {
                uint32_t below = tokens->list[top].match;
                depth[strchr("([{", tokens->text[tokens->list[top].offset]) - "([{"]--;
                tokens->list[top].match = KF_NO_TOKEN;
                top = below;
            }
            uint32_t below = tokens->list[top].match;
            depth[close - ")]}"]--;
            tokens->list[top].match = i;
            token->match = top;
            top = below;
        }
    }
    while (top != KF_NO_TOKEN) {
        uint32_t below = tokens->list[top].match;
        tokens->list[top].match = KF_NO_TOKEN;
        top = below;
    }
}

bool kf_tokens_read(kf_tokens *tokens, const char *text, size_t size, kf_error *error)
{
    *tokens = (kf_tokens){.text = text, .size = size};
    if (size > KF_TOKENS_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT,
                       "the preprocessed source is longer than %u MiB; make it smaller",
                       KF_TOKENS_BYTES >> 20);
    scanner s = {.tokens = tokens, .line = 1, .line_start = true};
    for (;;) {
        skip_white_space(&s);
        if (s.at >= size) break;
        kf_token token = {.offset = (uint32_t)s.at, .line = s.line, .match = KF_NO_TOKEN};
        token.kind = skip_token(&s);
        token.size = (uint32_t)(s.at - token.offset);
        if (!append(&s, &token, error)) {
            kf_tokens_free(tokens);
            return false;
        }
    }
    kf_token end = {
        .offset = (uint32_t)size, .line = s.line, .match = KF_NO_TOKEN, .kind = KF_TOKEN_END};
    if (!append(&s, &end, error)) {
        kf_tokens_free(tokens);
        return false;
    }
    tokens->count--;
    match_brackets(tokens);
    return true;
}

void kf_tokens_free(kf_tokens *tokens)
{
    free(tokens->list);
    *tokens = (kf_tokens){0};
}

bool kf_token_is(const kf_tokens *tokens, uint32_t index, const char *word)
{
    if (index >= tokens->count) return false;
    const kf_token *token = &tokens->list[index];
    const char *text = tokens->text + token->offset;
    return *text == *word && strlen(word) == token->size && memcmp(text, word, token->size) == 0;
}

bool kf_token_adjacent(const kf_tokens *tokens, uint32_t index)
{
    if (index == 0 || index >= tokens->count) return false;
    const kf_token *before = &tokens->list[index - 1];
    return before->offset + before->size == tokens->list[index].offset;
}

/* Reads `# LINE "FILE" FLAGS…` or `#line LINE "FILE"`. Sets *enter for flag 1 and *leave for flag
 * 2. */
static bool read_linemarker(const char *text, size_t size, long *line, char *file, size_t file_size,
                            bool *enter, bool *leave)
{
    const char *end = text + size, *at = text + 1;
    *enter = *leave = false;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (end - at > 5 && memcmp(at, "line ", 5) == 0) at += 5;
    if (at == end || !isdigit((unsigned char)*at)) return false;
    long value = 0;
    for (; at < end && isdigit((unsigned char)*at); at++)
        if (value < 1000000000) value = value * 10 + (*at - '0');
    while (at < end && *at == ' ') at++;
    *line = value;
    if (at == end || *at != '"') return true;
    size_t length = 0;
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end) at++;
        if (length + 1 < file_size) file[length++] = *at;
    }
    file[length] = '\0';
    for (; at < end; at++) {
        if (*at == '1') *enter = true;
        if (*at == '2') *leave = true;
    }
    return true;
}

long kf_token_place(const kf_tokens *tokens, uint32_t index, char *file, size_t size)
{
    char current[1024] = "";
    long base = 1;     /* the line of the file that ... */
    uint32_t from = 1; /* ... this line of the text comes from */
    long depth = 0, result = 0;
    file[0] = '\0';
    for (uint32_t i = 0; i < index && i < tokens->count; i++) {
        const kf_token *token = &tokens->list[i];
        if (token->kind != KF_TOKEN_DIRECTIVE) continue;
        bool enter, leave;
        char name[1024];
        snprintf(name, sizeof name, "%s", current);
        long line;
        if (!read_linemarker(tokens->text + token->offset, token->size, &line, name, sizeof name,
                             &enter, &leave))
            continue;
        if (enter && depth++ == 0) {
            /* The place of the #include, in case the token is in this header. */
            result = base + (long)(token->line - from);
            snprintf(file, size, "%s", current);
        }
        if (leave && depth > 0) depth--;
        memcpy(current, name, sizeof current);
        base = line;
        from = token->line + 1;
    }
    if (depth > 0) return result;
    snprintf(file, size, "%s", current);
    const kf_token *token = &tokens->list[index < tokens->count ? index : tokens->count];
    return base + (long)token->line - (long)from;
}
