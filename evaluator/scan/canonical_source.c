/* The canonical form of a source (canonical_source.h): one pass over its tokens with a stack of
 * scopes.
 *
 * A declaration binds a name: a parameter of a function with a body, or inside a body a statement
 * that begins with a type and a name. From there to the end of its scope the name is written as
 * @NUMBER. Other names stay. `binds` marks the declarations at the beginning of a statement or
 * parameter list, and `lookup` finds the meaning of a name.
 */
#include "canonical_source.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "tokens.h"

/* bound names at a time, and open scopes; names beyond stay as they are */
#define MAX_BOUND 256
#define MAX_SCOPES 1024
/* nested statements without braces */
#define MAX_NESTED 64
/* tokens of a statement that are examined, so that the time is linear in the text */
#define MAX_TOKENS 4096
/* loops without braces around a token, on average; a source with more has no form */
#define MAX_LOOPS 16
#define MAX_KERNELS 64
#define HELD_BITS (1u << 16)

typedef struct bound {
    /* of the declaration */
    uint32_t token;
    uint32_t number, until;
} bound;

typedef struct former {
    kf_tokens tokens;
    /* for each token: it declares a local */
    bool *binds;
    /* for each token: the opening brace of a struct, class, union or enum */
    bool *is_data;
    bound bounds[MAX_BOUND];
    size_t bound_count;
    /* numbers in use */
    uint32_t numbers;
    uint32_t kernels[MAX_KERNELS];
    size_t kernel_count;
    /* sets of words in directives (held) and in strings (said), by hash, so some other words also
     * count */
    uint8_t held[HELD_BITS / 8], said[HELD_BITS / 8];
    kf_buffer *out;
} former;

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_one_of(const kf_tokens *t, uint32_t i, const char *const *words)
{
    for (; *words; words++)
        if (kf_token_is(t, i, *words)) return true;
    return false;
}

static const kf_token *token_at(const kf_tokens *t, uint32_t i)
{
    return &t->list[i < t->count ? i : t->count];
}

static bool is_word(const kf_tokens *t, uint32_t i)
{
    return token_at(t, i)->kind == KF_TOKEN_WORD;
}

static bool same_word(const kf_tokens *t, uint32_t a, uint32_t b)
{
    const kf_token *x = token_at(t, a), *y = token_at(t, b);
    return x->size == y->size && memcmp(t->text + x->offset, t->text + y->offset, x->size) == 0;
}

static const char *const keywords[] = {
    "return",   "else",     "case",          "goto",       "new",      "delete",
    "throw",    "sizeof",   "typename",      "using",      "if",       "for",
    "while",    "do",       "switch",        "break",      "continue", "default",
    "struct",   "class",    "union",         "enum",       "typedef",  "template",
    "operator", "public",   "private",       "and",        "or",       "not",
    "asm",      "alignof",  "namespace",     "friend",     "this",     "try",
    "catch",    "co_await", "static_assert", "decltype",   "true",     "false",
    "nullptr",  "noexcept", "__restrict__",  "__restrict", NULL};

static const char *const qualifiers[] = {
    "const",      "constexpr",    "static",       "volatile",   "register",
    "extern",     "thread_local", "inline",       "__shared__", "__constant__",
    "__device__", "__managed__",  "__restrict__", "__restrict", NULL};

static const char *const types[] = {
    "void",    "bool",          "char",           "short",       "int",  "long",  "float",
    "double",  "signed",        "unsigned",       "auto",        "half", "half2", "__half",
    "__half2", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "dim3", NULL};

/* A type that no variable can be: what stands before a '*' is one, and not a factor. */
static bool is_type(const kf_tokens *t, uint32_t i)
{
    if (!is_word(t, i)) return false;
    if (is_one_of(t, i, types)) return true;
    static const char *const vectors[] = {"char", "uchar", "short", "ushort", "int", "uint",
                                          "long", "ulong", "float", "double", NULL};
    const kf_token *token = token_at(t, i);
    const char *word = t->text + token->offset;
    if (token->size > 2 && memcmp(word + token->size - 2, "_t", 2) == 0) return true;
    for (const char *const *v = vectors; *v; v++)
        if (token->size == strlen(*v) + 1 && memcmp(word, *v, token->size - 1) == 0 &&
            word[token->size - 1] >= '1' && word[token->size - 1] <= '4')
            return true;
    return false;
}

static bool can_be_name(const kf_tokens *t, uint32_t i)
{
    return is_word(t, i) && !is_one_of(t, i, keywords) && !is_one_of(t, i, qualifiers) &&
           !is_one_of(t, i, types);
}

/* A name of which only the last part is looked up here. */
static bool is_qualified(const kf_tokens *t, uint32_t i)
{
    bool behind = i > 0 && (kf_token_is(t, i - 1, ".") || kf_token_is(t, i - 1, "->") ||
                            kf_token_is(t, i - 1, "::"));
    return behind || kf_token_is(t, i + 1, "::");
}

static uint32_t hash_word(const char *word, size_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)word[i]) * 16777619u;
    return (hash ^ hash >> 16) % HELD_BITS;
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Adds the words of a directive or a string to a set. Such names must stay. */
static void hold_words(uint8_t *set, const char *text, size_t size)
{
    for (size_t i = 0, length; i < size; i += length ? length : 1) {
        for (length = 0; i + length < size && is_letter(text[i + length]);) length++;
        uint32_t bit = hash_word(text + i, length);
        if (length) set[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}

static bool is_held(const former *f, const uint8_t *set, uint32_t word)
{
    const kf_token *w = token_at(&f->tokens, word);
    uint32_t bit = hash_word(f->tokens.text + w->offset, w->size);
    return set[bit / 8] >> bit % 8 & 1;
}

static void hold_all(former *f)
{
    for (uint32_t i = 0; i < f->tokens.count; i++) {
        const kf_token *token = &f->tokens.list[i];
        if (token->kind == KF_TOKEN_DIRECTIVE)
            hold_words(f->held, f->tokens.text + token->offset, token->size);
        if (token->kind == KF_TOKEN_STRING)
            hold_words(f->said, f->tokens.text + token->offset, token->size);
        /* A variable of elsewhere, wherever its name is declared again. */
        if (kf_token_is(&f->tokens, i, "extern") && token[1].kind == KF_TOKEN_WORD)
            for (uint32_t k = i + 1;
                 k < i + 64 && k < f->tokens.count && !kf_token_is(&f->tokens, k, ";") &&
                 !kf_token_is(&f->tokens, k, "{");
                 k++)
                hold_words(f->held, f->tokens.text + f->tokens.list[k].offset,
                           f->tokens.list[k].size);
    }
}

/* ---- declarations ---------------------------------------------------------------------------- */

static uint32_t behind(const kf_tokens *t, uint32_t i)
{
    uint32_t match = token_at(t, i)->match;
    return (match != KF_NO_TOKEN && match > i ? match : i) + 1;
}

static uint32_t skip_qualifiers(const kf_tokens *t, uint32_t i)
{
    for (;;) {
        if (is_one_of(t, i, qualifiers))
            i++;
        else if ((kf_token_is(t, i, "alignas") || kf_token_is(t, i, "__align__") ||
                  kf_token_is(t, i, "__attribute__")) &&
                 kf_token_is(t, i + 1, "("))
            i = behind(t, i + 1);
        else
            return i;
    }
}

/* Returns the token after <…>, or `i` without one. */
static uint32_t skip_angles(const kf_tokens *t, uint32_t i)
{
    int depth = 0;
    for (uint32_t k = i; k < i + 64 && k < t->count; k++) {
        if (kf_token_is(t, k, "<")) depth++;
        if (kf_token_is(t, k, ">") && --depth == 0) return k + 1;
        if (kf_token_is(t, k, ";") || kf_token_is(t, k, "{") || kf_token_is(t, k, "}")) break;
    }
    return i;
}

/* Returns the token after a type at `i`, with its * and &, or `i` without a type. *sure: only a
 * type is possible there. */
static uint32_t skip_type(const kf_tokens *t, uint32_t i, bool *sure)
{
    uint32_t at = skip_qualifiers(t, i);
    *sure = at > i;
    if (is_type(t, at)) {
        *sure = true;
        while (is_type(t, at) || is_one_of(t, at, qualifiers)) at++;
    } else if (can_be_name(t, at)) {
        at++;
        while (kf_token_is(t, at, "::") && is_word(t, at + 1)) at += 2;
        if (kf_token_is(t, at, "<")) at = skip_angles(t, at);
    } else {
        return i;
    }
    while (kf_token_is(t, at, "*") || kf_token_is(t, at, "&") || is_one_of(t, at, qualifiers)) at++;
    return at;
}

static void bind(former *f, uint32_t i)
{
    if (can_be_name(&f->tokens, i) && !is_held(f, f->held, i) && !is_held(f, f->said, i))
        f->binds[i] = true;
}

/* Binds the names of the statement at `i`: `float *a = …, b[4];`. */
static void bind_statement(former *f, uint32_t i, bool in_for)
{
    static const char *const after[] = {"=", ";", ",", "[", "{", NULL};
    const kf_tokens *t = &f->tokens;
    bool sure;
    uint32_t name = skip_type(t, i, &sure);
    if (name == i || !can_be_name(t, name)) return;
    /* `a * b;` is a product unless a is certainly a type. Two adjacent words are always a
     * declaration. */
    bool pointer = !is_word(t, name - 1) && !kf_token_is(t, name - 1, ">");
    if (pointer && !sure) return;
    bool is_grid = kf_token_is(t, skip_qualifiers(t, i), "dim3") && kf_token_is(t, name + 1, "(");
    bool ranged = in_for && kf_token_is(t, name + 1, ":");
    if (!is_one_of(t, name + 1, after) && !is_grid && !ranged) return;
    bind(f, name);
    for (uint32_t k = name + 1; k < name + MAX_TOKENS && k < t->count && !kf_token_is(t, k, ";") &&
                                !kf_token_is(t, k, "}");
         k = behind(t, k)) {
        if (!sure || !kf_token_is(t, k, ",")) continue;
        uint32_t next = k + 1;
        while (kf_token_is(t, next, "*") || kf_token_is(t, next, "&") ||
               is_one_of(t, next, qualifiers))
            next++;
        if (is_word(t, next) &&
            (is_one_of(t, next + 1, after) || (is_grid && kf_token_is(t, next + 1, "("))))
            bind(f, next);
    }
}

/* Binds the parameters in the parentheses at `open`. */
static void bind_parameters(former *f, uint32_t open)
{
    const kf_tokens *t = &f->tokens;
    uint32_t close = t->list[open].match, first = open + 1;
    for (uint32_t i = open + 1; i <= close; i = i == close ? close + 1 : behind(t, i)) {
        bool ends = i == close || kf_token_is(t, i, ",") || kf_token_is(t, i, "=") ||
                    kf_token_is(t, i, "[");
        if (!ends) continue;
        uint32_t name = i - 1;
        bool typed =
            name > first && (is_word(t, name - 1) || kf_token_is(t, name - 1, "*") ||
                             kf_token_is(t, name - 1, "&") || kf_token_is(t, name - 1, ">"));
        if (name >= first && typed) bind(f, name);
        /* skips a default or an extent */
        while (i < close && !kf_token_is(t, i, ","))
            i = behind(t, i) < close ? behind(t, i) : close;
        first = i + 1;
    }
}

/* Returns the opening brace of the body, if the parenthesis at `i` begins the parameter list of a
 * function with a body; otherwise KF_NO_TOKEN. */
static uint32_t body_of(const kf_tokens *t, uint32_t i)
{
    uint32_t close = t->list[i].match;
    if (!i || close == KF_NO_TOKEN || close < i || !can_be_name(t, i - 1)) return KF_NO_TOKEN;
    uint32_t at = close + 1;
    while (kf_token_is(t, at, "const") || kf_token_is(t, at, "noexcept") ||
           kf_token_is(t, at, "override"))
        at++;
    return kf_token_is(t, at, "{") && token_at(t, at)->match != KF_NO_TOKEN ? at : KF_NO_TOKEN;
}

/* Returns the last token of the statement at `i`. */
static uint32_t end_of_statement(const kf_tokens *t, uint32_t i, int depth)
{
    static const char *const heads[] = {"for", "while", "if", "switch", NULL};
    while (token_at(t, i)->kind == KF_TOKEN_DIRECTIVE) i++;
    if (kf_token_is(t, i, "{")) return behind(t, i) - 1;
    if (depth < MAX_NESTED && is_one_of(t, i, heads) && kf_token_is(t, i + 1, "(")) {
        uint32_t end = end_of_statement(t, behind(t, i + 1), depth + 1);
        return kf_token_is(t, i, "if") && kf_token_is(t, end + 1, "else")
                   ? end_of_statement(t, end + 2, depth + 1)
                   : end;
    }
    for (uint32_t most = i + MAX_TOKENS;
         i < most && i < t->count && !kf_token_is(t, i, ";") && !kf_token_is(t, i, "}");)
        i = behind(t, i);
    return i;
}

static void find_kernels(former *f)
{
    const kf_tokens *t = &f->tokens;
    for (uint32_t i = 0; i < t->count && f->kernel_count < MAX_KERNELS; i++) {
        if (!kf_token_is(t, i, "__global__")) continue;
        uint32_t at = i + 1;
        for (uint32_t end = i + 24; at < end && at < t->count && !kf_token_is(t, at + 1, "("); at++)
            continue;
        if (kf_token_is(t, at, "__launch_bounds__"))
            for (at = behind(t, at + 1);
                 at < t->count && at < i + 64 && !kf_token_is(t, at + 1, "("); at++)
                continue;
        if (!can_be_name(t, at) || !kf_token_is(t, at + 1, "(")) continue;
        bool known = is_held(f, f->held, at) || is_held(f, f->said, at);
        for (size_t k = 0; k < f->kernel_count && !known; k++)
            known = same_word(t, f->kernels[k], at);
        if (!known) f->kernels[f->kernel_count++] = at;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Writes a line with single blanks, and directives without comments. */
static void write_line(former *f, const char *text, size_t size)
{
    bool blank = false;
    char quote = 0;
    kf_buffer_string(f->out, "\n");
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool continued = c == '\\' && i + 1 < size && (text[i + 1] == '\n' || text[i + 1] == '\r');
        if (!quote && text[0] == '#' && c == '/' && i + 1 < size && text[i + 1] == '/') break;
        if (!quote && text[0] == '#' && c == '/' && i + 1 < size && text[i + 1] == '*') {
            const char *end = memmem(text + i + 2, size - i - 2, "*/", 2);
            i = end ? (size_t)(end - text) + 1 : size;
            blank = true;
            continue;
        }
        if (!quote && (is_blank(c) || c == '\n' || continued)) {
            blank = true;
            continue;
        }
        if (blank) kf_buffer_string(f->out, " ");
        blank = false;
        if (c == '"' || c == '\'') quote = !quote ? c : quote == c ? 0 : quote;
        kf_buffer_append(f->out, &c, 1);
        if (quote && c == '\\' && i + 1 < size) kf_buffer_append(f->out, &text[++i], 1);
    }
    kf_buffer_string(f->out, "\n");
}

/* Writes the `// kforge:` lines between two tokens. */
static void write_declarations(former *f, size_t from, size_t to)
{
    const char *text = f->tokens.text;
    for (const char *at = text + from; (at = memmem(at, (size_t)(text + to - at), "kforge:", 7));
         at += 7) {
        const char *start = at, *end = memchr(at, '\n', (size_t)(text + to - at));
        while (start > text + from && is_blank(start[-1])) start--;
        if (start < text + from + 2 || start[-1] != '/' || start[-2] != '/') continue;
        write_line(f, at, (size_t)((end ? end : text + to) - at));
    }
}

/* True if two adjacent characters form another operator. */
static bool joins(char before, char after)
{
    static const char pairs[] = "++ -- && || << >> += -= *= /= %= &= |= ^= == != .* >*";
    for (const char *p = pairs; *p; p += p[2] ? 3 : 2)
        if (p[0] == before && p[1] == after) return true;
    return false;
}

static void write_token(former *f, uint32_t i)
{
    const kf_token *token = &f->tokens.list[i], *before = i ? token - 1 : NULL;
    const char *text = f->tokens.text + token->offset;
    bool glued = before && before->kind == KF_TOKEN_PUNCT && token->kind == KF_TOKEN_PUNCT &&
                 kf_token_adjacent(&f->tokens, i) && joins(text[-1], *text);
    if (!glued) kf_buffer_string(f->out, " ");
    kf_buffer_append(f->out, text, token->size);
}

static const bound *lookup(const former *f, uint32_t i)
{
    for (size_t k = f->bound_count; k-- > 0;)
        if (same_word(&f->tokens, f->bounds[k].token, i)) return &f->bounds[k];
    return NULL;
}

static void write_word(former *f, uint32_t i)
{
    const bound *local = is_qualified(&f->tokens, i) ? NULL : lookup(f, i);
    if (local) {
        kf_buffer_format(f->out, " @%u", local->number);
        return;
    }
    for (size_t k = 0; k < f->kernel_count && !is_qualified(&f->tokens, i); k++)
        if (same_word(&f->tokens, f->kernels[k], i)) {
            kf_buffer_format(f->out, " @k%zu", k);
            return;
        }
    write_token(f, i);
}

/* ---- the pass -------------------------------------------------------------------------------- */

typedef struct scopes {
    /* last token of each open scope */
    uint32_t ends[MAX_SCOPES];
    size_t count;
    /* last token of the function's body, 0 outside of a body */
    uint32_t body;
} scopes;

static void open_scope(scopes *s, uint32_t end)
{
    if (s->count == MAX_SCOPES) return;
    if (s->count && s->ends[s->count - 1] < end) end = s->ends[s->count - 1];
    s->ends[s->count++] = end;
}

static bool begins_statement(const kf_tokens *t, uint32_t i)
{
    return kf_token_is(t, i - 1, ";") || kf_token_is(t, i - 1, "{") || kf_token_is(t, i - 1, "}") ||
           t->list[i - 1].kind == KF_TOKEN_DIRECTIVE;
}

static bool in_data(const former *f, uint32_t i)
{
    const kf_tokens *t = &f->tokens;
    /* finds the brace around the statement */
    for (uint32_t k = i; k-- > 0;) {
        if (kf_token_is(t, k, "{")) return f->is_data[k];
        if (kf_token_is(t, k, "}") && t->list[k].match != KF_NO_TOKEN) k = t->list[k].match;
        if (k + 512 < i) break;
    }
    return false;
}

static void take_punctuation(former *f, scopes *s, uint32_t i)
{
    const kf_tokens *t = &f->tokens;
    if (!s->body && kf_token_is(t, i, "(")) {
        uint32_t brace = body_of(t, i);
        if (brace == KF_NO_TOKEN) return;
        s->body = t->list[brace].match;
        open_scope(s, s->body);
        bind_parameters(f, i);
    } else if (s->body && kf_token_is(t, i, "{") && t->list[i].match != KF_NO_TOKEN) {
        open_scope(s, t->list[i].match);
    } else if (s->body && kf_token_is(t, i, "(") && i && kf_token_is(t, i - 1, "for")) {
        open_scope(s, end_of_statement(t, behind(t, i), 0));
        bind_statement(f, i + 1, true);
    }
}

static void find_data(former *f)
{
    static const char *const heads[] = {"struct", "class", "union", "enum", NULL};
    const kf_tokens *t = &f->tokens;
    for (uint32_t i = 0; i < t->count; i++) {
        if (!is_one_of(t, i, heads)) continue;
        for (uint32_t k = i + 1;
             k < i + 32 && k < t->count && !kf_token_is(t, k, ";") && !kf_token_is(t, k, "("); k++)
            if (kf_token_is(t, k, "{")) {
                f->is_data[k] = true;
                break;
            }
    }
}

static void pass(former *f)
{
    const kf_tokens *t = &f->tokens;
    kf_autofree scopes *s = calloc(1, sizeof *s);
    if (!s) {
        f->out->failed = true;
        return;
    }
    size_t last = 0;
    for (uint32_t i = 0; i < t->count && !f->out->failed; i++) {
        const kf_token *token = &t->list[i];
        while (s->count && s->ends[s->count - 1] < i) s->count--;
        while (f->bound_count && f->bounds[f->bound_count - 1].until < i) f->bound_count--;
        if (s->body && i > s->body) s->body = 0;
        write_declarations(f, last, token->offset);
        last = token->offset + token->size;
        if (s->body && i && begins_statement(t, i) && !in_data(f, i)) bind_statement(f, i, false);
        if (f->binds[i] && s->count && s->count < MAX_SCOPES && f->bound_count < MAX_BOUND)
            f->bounds[f->bound_count++] =
                (bound){.token = i, .number = f->numbers++, .until = s->ends[s->count - 1]};
        if (token->kind == KF_TOKEN_DIRECTIVE)
            write_line(f, t->text + token->offset, token->size);
        else if (token->kind == KF_TOKEN_WORD)
            write_word(f, i);
        else
            write_token(f, i);
        if (token->kind == KF_TOKEN_PUNCT) take_punctuation(f, s, i);
    }
    write_declarations(f, last, t->size);
}

/* ---- sources without a form ------------------------------------------------------------------ */

/* True if a string of the list occurs in the text. */
static bool has_one_of(const char *text, size_t size, const char *const *words)
{
    for (; *words; words++)
        if (memmem(text, size, *words, strlen(*words))) return true;
    return false;
}

/* Words by which a program sees its own text, layout or names, or gives a name of another kind:
 * a member, a label, an attribute, a symbol. */
static const char *const revealing[] = {
    "__LINE__", "__COUNTER__", "__func__", "__FUNC", "__PRETTY_FUNCTION__", "__FILE", "__BASE_FILE",
    "__DATE__", "__TIME", "__INCLUDE_LEVEL__", "__builtin_LINE", "__builtin_F", "__builtin_COLUMN",
    "source_location", "assert", "offsetof", "_Pragma", "__attribute", "__declspec", "asm", "goto",
    /* trigraphs */
    "?\?", NULL};

/* True for a directive that the pass understands: #include, #pragma, and a #define without
 * parameters, # and open brackets. It must end where the tokenizer ends it. */
static bool is_plain_directive(const kf_token *token, const char *text)
{
    const char *at = text + token->offset + 1, *end = text + token->offset + token->size;
    while (at < end && is_blank(*at)) at++;
    size_t length = 0, size = (size_t)(end - at);
    while (length < size && is_letter(at[length])) length++;
    static const char *const unclear[] = {"#", "%:", "/*", "R\"", NULL};
    if (has_one_of(at, size, unclear)) return false;
    if (length == 7 && memcmp(at, "include", 7) == 0) return true;
    if (length == 6 && memcmp(at, "pragma", 6) == 0) return true;
    if (length != 6 || memcmp(at, "define", 6) != 0) return false;
    for (at += 6; at < end && is_blank(*at);) at++;
    while (at < end && is_letter(*at)) at++;
    if (at < end && !is_blank(*at) && *at != '/') return false;
    int braces = 0, brackets = 0;
    for (; at < end; at++) {
        braces += (*at == '{') - (*at == '}');
        brackets += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
    }
    return !braces && !brackets;
}

/* True if a backslash or a digraph outside of strings and directives changes what the tokens are.
 * A line of a comment that ends with a backslash goes on. */
static bool has_other_tokens(const kf_tokens *t)
{
    size_t from = 0;
    for (uint32_t i = 0; i <= t->count; i++) {
        const kf_token *token = token_at(t, i);
        if (memchr(t->text + from, '\\', token->offset - from)) return true;
        from = token->offset + token->size;
        const char *text = t->text + token->offset;
        bool adjacent = kf_token_adjacent(t, i);
        if (i == t->count) break;
        if (token->kind == KF_TOKEN_PUNCT && (*text == '\\' || *text == '#')) return true;
        if (token->kind == KF_TOKEN_PUNCT && adjacent &&
            (memcmp(text - 1, "<:", 2) == 0 || memcmp(text - 1, "<%", 2) == 0 ||
             memcmp(text - 1, "%:", 2) == 0 || memcmp(text - 1, "%>", 2) == 0 ||
             memcmp(text - 1, ":>", 2) == 0))
            return true;
        /* A suffix or prefix of a literal. */
        const kf_token *before = i ? token - 1 : token;
        if (adjacent && token->kind != KF_TOKEN_PUNCT && before->kind != KF_TOKEN_PUNCT &&
            before->kind != KF_TOKEN_DIRECTIVE)
            return true;
        if (token->kind == KF_TOKEN_STRING && (token->size < 2 || text[token->size - 1] != *text) &&
            text[token->size - 1] != '"' && text[token->size - 1] != '\'')
            return true;
    }
    return false;
}

/* True for a word that, inside of a function, gives names that are no variables, or that begins a
 * statement with an end that end_of_statement does not find. */
static bool is_beyond_locals(const kf_tokens *t, uint32_t i)
{
    static const char *const words[] = {"struct",   "class",    "union", "enum",
                                        "template", "operator", "using", "namespace",
                                        "concept",  "requires", "try",   NULL};
    static const char *const ends[] = {";", "{", "}", NULL};
    if (is_one_of(t, i, words)) return true;
    if (kf_token_is(t, i, "if") && !kf_token_is(t, i + 1, "(")) return true;
    if (kf_token_is(t, i, "do") && i && !is_one_of(t, i - 1, ends)) return true;
    /* An attribute, and a member before its value: {x: 1}. */
    if (kf_token_is(t, i, "[") && kf_token_is(t, i + 1, "[")) return true;
    return is_word(t, i) && kf_token_is(t, i + 1, ":") && i &&
           (kf_token_is(t, i - 1, "{") || kf_token_is(t, i - 1, ","));
}

/* True if the body of a loop at `open`, its parenthesis, has no braces and uses a macro, which may
 * be a whole statement. *examined grows by the tokens of the body. */
static bool has_macro_body(const former *f, uint32_t open, uint64_t *examined)
{
    const kf_tokens *t = &f->tokens;
    uint32_t at = behind(t, open), end = end_of_statement(t, at, 0);
    if (kf_token_is(t, at, "{")) return false;
    *examined += end - at;
    for (; at < end; at++)
        if (is_word(t, at) && is_held(f, f->held, at)) return true;
    return false;
}

/* True if the source has a form: it is plain enough that a renamed local is the same program. Any
 * doubt means no form, which costs one measurement. */
static bool has_form(const former *f)
{
    const kf_tokens *t = &f->tokens;
    if (has_one_of(t->text, t->size, revealing) || has_other_tokens(t)) return false;
    uint32_t body = 0;
    uint64_t examined = 0, most = (uint64_t)MAX_LOOPS * t->count + MAX_TOKENS;
    for (uint32_t i = 0; i < t->count; i++) {
        const kf_token *token = &t->list[i];
        bool directive = token->kind == KF_TOKEN_DIRECTIVE;
        if (directive && !is_plain_directive(token, t->text)) return false;
        /* Python's layout is part of a program. */
        if (kf_token_is(t, i, "def") && is_word(t, i + 1)) return false;
        if (i > body && kf_token_is(t, i, "(")) {
            uint32_t brace = body_of(t, i);
            if (brace != KF_NO_TOKEN) body = t->list[brace].match;
        }
        if (i >= body) continue;
        static const char include[] = "include", define[] = "define";
        if (directive && (memmem(t->text + token->offset, token->size, include, 7) ||
                          memmem(t->text + token->offset, token->size, define, 6)))
            return false;
        if (is_beyond_locals(t, i)) return false;
        if (kf_token_is(t, i, "for") && kf_token_is(t, i + 1, "(") &&
            (has_macro_body(f, i + 1, &examined) || examined > most))
            return false;
    }
    return true;
}

bool kf_canonical_source_text(const char *source, size_t size, kf_buffer *out, kf_error *error)
{
    kf_autofree former *f = calloc(1, sizeof *f);
    if (!f) return kf_fail_memory(error, "the canonical form of a source");
    if (!kf_tokens_read(&f->tokens, source, size, error)) return false;
    f->out = out;
    f->binds = calloc(f->tokens.count + 1, sizeof *f->binds);
    f->is_data = calloc(f->tokens.count + 1, sizeof *f->is_data);
    bool good = f->binds && f->is_data;
    if (good) hold_all(f);
    if (good && has_form(f)) {
        find_kernels(f);
        find_data(f);
        pass(f);
    }
    free(f->binds);
    free(f->is_data);
    kf_tokens_free(&f->tokens);
    return (good && !out->failed) || kf_fail_memory(error, "the canonical form of a source");
}

bool kf_canonical_source_hash(const char *source, size_t size, char hex[KF_HASH_HEX],
                              kf_error *error)
{
    kf_autobuffer text = {0};
    hex[0] = '\0';
    if (!kf_canonical_source_text(source, size, &text, error)) return false;
    if (!text.size) return true;
    kf_hash hash = kf_hash_bytes(text.data, text.size);
    kf_hash_hex(&hash, hex);
    return true;
}
