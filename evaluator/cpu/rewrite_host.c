#include "rewrite_host.h"

#include <stdio.h>
#include <string.h>

#include "math_names.h"

#define MAX_NAMES 256
#define MAX_USES 64
#define HEADS 256    /* of the table of names */
#define LOOK_BACK 64 /* most tokens of a declaration before its name */
#define NO_NAME UINT16_MAX

/* A function or variable of the host. */
typedef struct host_name {
    uint32_t token;
    uint16_t next; /* with the same hash */
    bool function;
    bool other; /* there is another declaration of it, which may be visible anywhere */
    bool local; /* the function that is being read declares it */
} host_name;

typedef struct host_use {
    uint16_t name;
    uint32_t token, user; /* the use, and the name of the function that it is in */
} host_use;

typedef struct reader {
    const kf_tokens *tokens;
    uint32_t at; /* where the next statement begins */
    long depth;  /* of the headers around it; 0: the file itself */
    host_name names[MAX_NAMES];
    uint16_t heads[HEADS];
    size_t name_count;
    host_use uses[MAX_USES];
    size_t use_count;
} reader;

/* A declaration at namespace scope. */
typedef struct statement {
    uint32_t first, end;
    kf_function function;
    bool own; /* of the file itself, not of a header */
} statement;

static bool is(const reader *r, uint32_t index, const char *word)
{
    return kf_token_is(r->tokens, index, word);
}

static uint32_t kind_of(const reader *r, uint32_t index)
{
    return index < r->tokens->count ? r->tokens->list[index].kind : (uint32_t)KF_TOKEN_END;
}

static bool is_any(const reader *r, uint32_t index, const char *const *words)
{
    if (kind_of(r, index) != KF_TOKEN_WORD) return false;
    for (; *words; words++)
        if (is(r, index, *words)) return true;
    return false;
}

static uint32_t close_of(const reader *r, uint32_t index)
{
    uint32_t match = index < r->tokens->count ? r->tokens->list[index].match : KF_NO_TOKEN;
    return match != KF_NO_TOKEN && match > index ? match : KF_NO_TOKEN;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static unsigned hash_of(const reader *r, uint32_t token)
{
    const kf_token *t = &r->tokens->list[token];
    unsigned hash = 5381;
    for (uint32_t i = 0; i < t->size; i++)
        hash = hash * 33 + (unsigned char)r->tokens->text[t->offset + i];
    return hash % HEADS;
}

static bool same_word(const reader *r, uint32_t a, uint32_t b)
{
    const kf_token *left = &r->tokens->list[a], *right = &r->tokens->list[b];
    return left->size == right->size &&
           memcmp(r->tokens->text + left->offset, r->tokens->text + right->offset, left->size) == 0;
}

static uint16_t find_name(const reader *r, uint32_t token)
{
    uint16_t at = r->heads[hash_of(r, token)];
    while (at != NO_NAME && !same_word(r, r->names[at].token, token)) at = r->names[at].next;
    return at;
}

/* True for functions of the C library and of CUDA, which have further declarations in headers. */
static bool is_standard(const reader *r, uint32_t token)
{
    static const char *const words[] = {"min",    "max",    "saturate",   "clamp",  "swap",
                                        "lerp",   "memcpy", "memset",     "malloc", "free",
                                        "printf", "assert", "make_float", NULL};
    static const char *const prefixes[] = {"__", "atomic", "cuda", "make_", "tex", "surf"};
    const kf_token *t = &r->tokens->list[token];
    const char *text = r->tokens->text + t->offset;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t size = strlen(prefixes[i]);
        if (t->size >= size && memcmp(text, prefixes[i], size) == 0) return true;
    }
    for (const char *const *word = words; *word; word++)
        if (strlen(*word) == t->size && memcmp(text, *word, t->size) == 0) return true;
    return kf_is_math_function(text, t->size);
}

static void add_name(reader *r, uint32_t token, bool function)
{
    uint16_t known = find_name(r, token);
    if (known != NO_NAME) {
        if (r->names[known].function != function) r->names[known].other = true;
        return;
    }
    if (r->name_count == MAX_NAMES || (function && is_standard(r, token))) return;
    uint16_t *head = &r->heads[hash_of(r, token)];
    r->names[r->name_count] = (host_name){.token = token, .next = *head, .function = function};
    *head = (uint16_t)r->name_count++;
}

/* ---- Statements ------------------------------------------------------------------------------ */

/* Follows a linemarker into a header or out of it. */
static void follow(reader *r, uint32_t index)
{
    const kf_token *token = &r->tokens->list[index];
    const char *text = r->tokens->text + token->offset;
    const char *quote = memrchr(text, '"', token->size);
    if (token->size < 3 || text[1] != ' ' || !quote || quote + 2 >= text + token->size) return;
    if (quote[2] == '1') r->depth++;
    if (quote[2] == '2') r->depth--;
}

/* Moves to the first token of a declaration, into namespaces. */
static void skip_to_declaration(reader *r)
{
    while (r->at < r->tokens->count) {
        uint32_t i = r->at, name = is(r, i, "inline") ? i + 1 : i;
        if (kind_of(r, i) == KF_TOKEN_DIRECTIVE) {
            follow(r, i);
        } else if (is(r, name, "namespace")) {
            while (i < r->tokens->count && !is(r, i, "{") && !is(r, i, ";")) i++;
        } else if (is(r, i, "extern") && kind_of(r, i + 1) == KF_TOKEN_STRING &&
                   is(r, i + 2, "{")) {
            i += 2;
        } else if (!is(r, i, ";") && !is(r, i, "}")) {
            return;
        }
        r->at = i + 1;
    }
}

static bool next_statement(reader *r, statement *s)
{
    skip_to_declaration(r);
    if (r->at >= r->tokens->count) return false;
    *s = (statement){.first = r->at, .own = r->depth == 0};
    kf_function_read(r->tokens, s->first, &s->function);
    uint32_t end = s->function.params_open == KF_NO_TOKEN ? KF_NO_TOKEN : s->function.body_open;
    if (end != KF_NO_TOKEN) {
        end = close_of(r, end);
    } else {
        for (end = s->first; end < r->tokens->count && !is(r, end, ";"); end++) {
            uint32_t close = close_of(r, end);
            if (kind_of(r, end) == KF_TOKEN_DIRECTIVE) follow(r, end);
            if (close != KF_NO_TOKEN) end = close;
        }
    }
    if (end == KF_NO_TOKEN || end > r->tokens->count) end = r->tokens->count;
    s->end = r->at = end + 1;
    return true;
}

/* Returns the name of the variable that the statement declares, KF_NO_TOKEN without one. */
static uint32_t variable_of(const reader *r, const statement *s)
{
    int angle = 0;
    for (uint32_t i = s->first; i < s->end; i++) {
        if (kind_of(r, i) == KF_TOKEN_DIRECTIVE) return KF_NO_TOKEN;
        bool ends = angle == 0 && (is(r, i, "=") || is(r, i, "[") || is(r, i, ";") ||
                                   is(r, i, "{") || is(r, i, ","));
        if (ends) {
            bool named = i > s->first + 1 && kind_of(r, i - 1) == KF_TOKEN_WORD &&
                         !kf_is_type_word(r->tokens, i - 1) && !is(r, i - 2, "::");
            return named ? i - 1 : KF_NO_TOKEN;
        }
        if (is(r, i, "<")) angle++;
        if (is(r, i, ">")) angle--;
        if (is(r, i, "(") || is(r, i, "&") || is(r, i, ":") || angle < 0) return KF_NO_TOKEN;
    }
    return KF_NO_TOKEN;
}

/* Returns the name that the statement declares for the host alone, KF_NO_TOKEN without one. */
static uint32_t plain_name(const reader *r, const statement *s)
{
    static const char *const others[] = {
        "template",   "constexpr",     "consteval",   "constinit",     "const",
        "friend",     "typedef",       "using",       "operator",      "struct",
        "class",      "union",         "enum",        "concept",       "requires",
        "asm",        "static_assert", "__device__",  "__global__",    "__host__",
        "__shared__", "__constant__",  "__managed__", "__attribute__", NULL};
    bool function = s->function.params_open != KF_NO_TOKEN;
    uint32_t name = function ? s->function.name : variable_of(r, s);
    if (name == KF_NO_TOKEN || name == s->first) return KF_NO_TOKEN;
    for (uint32_t i = s->first; i < name; i++) {
        /* A function may return a constant. */
        bool constant = function && is(r, i, "const");
        if (!constant && is_any(r, i, others)) return KF_NO_TOKEN;
    }
    return is(r, name - 1, "::") || is(r, name - 1, "~") ? KF_NO_TOKEN : name;
}

/* ---- Uses ------------------------------------------------------------------------------------ */

/* True if the word at `index` stands where an expression begins. */
static bool begins_expression(const reader *r, uint32_t index)
{
    static const char *const words[] = {
        "return",    "else",     "do",  "case", "throw", "goto", "new",      "delete",
        "co_return", "co_await", "and", "or",   "not",   "xor",  "co_yield", NULL};
    return is_any(r, index, words);
}

/* True if the comma before token `index` separates declarators or names of a structured binding,
 * not arguments. */
static bool in_declarators(const reader *r, uint32_t index)
{
    uint32_t i = index - 1;
    for (int steps = 0; i > 0 && steps < LOOK_BACK; steps++, i--) {
        uint32_t match = r->tokens->list[i].match;
        if (is(r, i, "(") || is(r, i, ";") || is(r, i, "}") || is(r, i, "{") || is(r, i, "["))
            return !is(r, i, "(") && !(is(r, i, "[") && !is(r, i - 1, "auto"));
        if (match != KF_NO_TOKEN && match < i) i = match;
    }
    return true;
}

/* True if `*`, `&` or `>` before token `name` ends a type, so that the name is declared. */
static bool ends_type(const reader *r, uint32_t name)
{
    bool word = false;
    uint32_t i = name - 1;
    for (int steps = 0; i > 0; steps++, i--) {
        if (steps == LOOK_BACK) return true;
        bool part = kind_of(r, i) == KF_TOKEN_WORD || is(r, i, "::") || is(r, i, "*") ||
                    is(r, i, "&") || is(r, i, "<") || is(r, i, ">");
        if (begins_expression(r, i)) return false;
        if (!part) break;
        word = word || kind_of(r, i) == KF_TOKEN_WORD;
    }
    /* float (*f)(int), float (&a)[4] */
    if (!word && is(r, i, "("))
        return is(r, name + 1, ")") && (is(r, name + 2, "(") || is(r, name + 2, "["));
    return word &&
           (is(r, i, ";") || is(r, i, "{") || is(r, i, "}") || is(r, i, "(") || is(r, i, ",") ||
            is(r, i, ":") || kind_of(r, i) == KF_TOKEN_DIRECTIVE || i == 0);
}

/* True if token `index`, a name, may be declared there. */
static bool declares(const reader *r, uint32_t index)
{
    uint32_t before = index ? index - 1 : 0;
    if (kind_of(r, before) == KF_TOKEN_WORD) return !begins_expression(r, before);
    if (is(r, before, "*") || is(r, before, "&") || is(r, before, ">")) return ends_type(r, index);
    if (is(r, before, "[")) return is(r, before - 1, "auto") || is(r, index + 1, "=");
    if (is(r, before, "{")) return is(r, before - 1, "enum") || is(r, before - 2, "enum");
    if (is(r, before, ",")) return is(r, index + 1, "=") || in_declarators(r, index);
    return false;
}

/* Notes other declarations in [first, end), outside of functions at namespace scope. */
static void read_outside(reader *r, const statement *s, uint32_t end, uint32_t declared)
{
    bool using = is(r, s->first, "using");
    for (uint32_t i = s->first; i < end && i < r->tokens->count; i++) {
        uint16_t name = kind_of(r, i) == KF_TOKEN_WORD ? find_name(r, i) : NO_NAME;
        if (name == NO_NAME || i == declared) continue;
        if (using || declares(r, i)) r->names[name].other = true;
    }
}

/* True if the name at `index` is used there, and can only mean one at namespace scope. */
static bool is_plain_use(const reader *r, uint32_t index, bool function)
{
    static const char *const unevaluated[] = {"sizeof", "alignof", "typeid", "goto", NULL};
    uint32_t before = index - 1;
    if (is(r, before, ".") || is(r, before, "->") || is(r, before, "::") ||
        is_any(r, before, unevaluated))
        return false;
    return function ? is(r, index + 1, "(") : !is(r, index + 1, "::") && !is(r, index + 1, "(");
}

/* Notes the uses in a function, and drops them if the function declares the name itself or is too
 * intricate. */
static void read_function(reader *r, const statement *s)
{
    static const char *const unevaluated[] = {"sizeof", "alignof",    "typeid",   "decltype",
                                              "typeof", "__typeof__", "noexcept", NULL};
    const kf_function *f = &s->function;
    size_t before = r->use_count, kept = before;
    bool device = s->own && (f->global || f->device) && !f->host && f->name != KF_NO_TOKEN &&
                  !is(r, s->first, "template");
    for (size_t i = 0; i < r->name_count; i++) r->names[i].local = false;
    for (uint32_t i = f->params_open; i < s->end && i < r->tokens->count; i++) {
        if (kind_of(r, i) != KF_TOKEN_WORD) continue;
        if (is(r, i, "constexpr") && is(r, i - 1, "if")) device = false;
        if (is(r, i, "__host__") || is(r, i, "template")) device = false;
        if (is_any(r, i, unevaluated) && close_of(r, i + 1) != KF_NO_TOKEN) {
            i = close_of(r, i + 1);
            continue;
        }
        uint16_t name = find_name(r, i);
        if (name == NO_NAME) continue;
        if (declares(r, i))
            r->names[name].local = true;
        else if (r->use_count < MAX_USES && is_plain_use(r, i, r->names[name].function))
            r->uses[r->use_count++] = (host_use){.name = name, .token = i, .user = f->name};
    }
    for (size_t i = before; i < r->use_count; i++)
        if (device && !r->names[r->uses[i].name].local) r->uses[kept++] = r->uses[i];
    r->use_count = kept;
}

static void copy_word(const reader *r, uint32_t token, char *to, size_t size)
{
    const kf_token *t = &r->tokens->list[token];
    snprintf(to, size, "%.*s", (int)(t->size < size ? t->size : size - 1),
             r->tokens->text + t->offset);
}

/* True if a macro of a header that is included later may hide CUDA's qualifiers. */
static bool has_late_headers(const kf_tokens *tokens)
{
    static const char pragma[] = "#pragma kforge";
    for (uint32_t i = 0; i < tokens->count; i++) {
        const kf_token *t = &tokens->list[i];
        if (t->kind == KF_TOKEN_DIRECTIVE && t->size > sizeof pragma &&
            memcmp(tokens->text + t->offset, pragma, sizeof pragma - 1) == 0)
            return true;
    }
    return false;
}

void kf_host_use_find(const kf_tokens *tokens, kf_host_use *use)
{
    reader r = {.tokens = tokens};
    statement s;
    memset(r.heads, 0xff, sizeof r.heads);
    if (has_late_headers(tokens)) return;
    while (next_statement(&r, &s)) {
        uint32_t name = plain_name(&r, &s);
        bool function = s.function.params_open != KF_NO_TOKEN;
        bool defined = function ? s.function.body_open != KF_NO_TOKEN : !is(&r, s.first, "extern");
        if (name != KF_NO_TOKEN && s.own && defined) add_name(&r, name, function);
    }
    r.at = 0;
    r.depth = 0;
    while (r.name_count && next_statement(&r, &s)) {
        bool body = s.function.params_open != KF_NO_TOKEN && s.function.body_open != KF_NO_TOKEN;
        read_outside(&r, &s, body ? s.function.params_open : s.end, plain_name(&r, &s));
        if (body) read_function(&r, &s);
    }
    for (size_t i = 0; i < r.use_count; i++) {
        const host_name *name = &r.names[r.uses[i].name];
        if (name->other) continue;
        use->line = kf_token_place(tokens, r.uses[i].token, use->file, sizeof use->file);
        use->function = name->function;
        copy_word(&r, name->token, use->name, sizeof use->name);
        copy_word(&r, r.uses[i].user, use->user, sizeof use->user);
        return;
    }
}
