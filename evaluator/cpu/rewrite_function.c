/* Reads declarations for the rewriter: where a function's parameters and body are, and the names of
 * its parameters. It looks only at brackets and words and resolves no types. It leaves code that it
 * does not understand to the compiler. */
#include "rewrite_internal.h"

#include <stdio.h>
#include <string.h>

#define DECLARATION_TOKENS 8192 /* longest specifier or parameter list that is read */

static bool is_one_of(const kf_tokens *tokens, uint32_t index, const char *const *words)
{
    if (index >= tokens->count || tokens->list[index].kind != KF_TOKEN_WORD) return false;
    for (; *words; words++)
        if (kf_token_is(tokens, index, *words)) return true;
    return false;
}

bool kf_is_type_word(const kf_tokens *tokens, uint32_t index)
{
    static const char *const words[] = {
        "const",  "volatile", "__restrict__", "__restrict", "restrict", "void",  "bool",   "char",
        "short",  "int",      "long",         "signed",     "unsigned", "float", "double", "auto",
        "size_t", "typename", "struct",       "class",      "enum",     "union", NULL};
    return is_one_of(tokens, index, words);
}

/* True for words with parentheses of their own, which are no parameter list: attributes and
 * operators. */
static bool takes_parentheses(const kf_tokens *tokens, uint32_t index)
{
    static const char *const words[] = {"__attribute__",
                                        "__attribute",
                                        "alignas",
                                        "__align__",
                                        "__builtin_align__",
                                        "decltype",
                                        "noexcept",
                                        "explicit",
                                        "typeof",
                                        "__typeof__",
                                        "__launch_bounds__",
                                        "__maxnreg__",
                                        "__cluster_dims__",
                                        "__block_size__",
                                        "sizeof",
                                        "alignof",
                                        "requires",
                                        "throw",
                                        NULL};
    return is_one_of(tokens, index, words);
}

static bool is_qualifier(const kf_tokens *tokens, uint32_t index)
{
    static const char *const words[] = {"__global__", "__device__", "__host__", NULL};
    return is_one_of(tokens, index, words);
}

static uint32_t skip_brackets(const kf_tokens *tokens, uint32_t open)
{
    uint32_t match = tokens->list[open].match;
    return match == KF_NO_TOKEN || match < open ? KF_NO_TOKEN : match;
}

/* Returns the word before the template arguments that end at token `close`, a '>'. */
static uint32_t template_name(const kf_tokens *tokens, uint32_t close, uint32_t first)
{
    int angle = 0;
    for (uint32_t i = close;; i--) {
        uint32_t match = tokens->list[i].match;
        if (kf_token_is(tokens, i, ">"))
            angle++;
        else if (kf_token_is(tokens, i, "<") && --angle == 0)
            return i > first && tokens->list[i - 1].kind == KF_TOKEN_WORD ? i - 1 : KF_NO_TOKEN;
        else if (match != KF_NO_TOKEN && match < i && match > first)
            i = match;
        if (i <= first) return KF_NO_TOKEN;
    }
}

/* Searches for the body behind the parameters. */
static void find_body(const kf_tokens *tokens, uint32_t params_close, kf_function *function)
{
    bool initializers = false;
    for (uint32_t i = params_close + 1; i < tokens->count && i < params_close + DECLARATION_TOKENS;
         i++) {
        if (kf_token_is(tokens, i, ";") || kf_token_is(tokens, i, "=") ||
            kf_token_is(tokens, i, ")") || (!initializers && kf_token_is(tokens, i, ",")) ||
            kf_token_is(tokens, i, "}") || is_qualifier(tokens, i))
            return;
        if (kf_token_is(tokens, i, ":")) initializers = true;
        bool brace = kf_token_is(tokens, i, "{");
        bool member = initializers && (tokens->list[i - 1].kind == KF_TOKEN_WORD ||
                                       kf_token_is(tokens, i - 1, ">"));
        if (brace && !member) {
            if (skip_brackets(tokens, i) != KF_NO_TOKEN) function->body_open = i;
            return;
        }
        if (brace || kf_token_is(tokens, i, "(") || kf_token_is(tokens, i, "[")) {
            i = skip_brackets(tokens, i);
            if (i == KF_NO_TOKEN) return;
        }
    }
}

/* Reads the first argument of __launch_bounds__. Token `open` is its '('. */
static void read_bounds(const kf_tokens *tokens, uint32_t open, uint32_t close,
                        kf_function *function)
{
    function->bounds_first = open + 1;
    function->bounds_end = close;
    int angle = 0;
    for (uint32_t i = open + 1; i < close; i++) {
        uint32_t match = tokens->list[i].match;
        if (match != KF_NO_TOKEN && match > i) i = match;
        if (kf_token_is(tokens, i, "<") && tokens->list[i - 1].kind == KF_TOKEN_WORD) angle++;
        if (kf_token_is(tokens, i, ">") && angle > 0) angle--;
        if (kf_token_is(tokens, i, ",") && angle == 0) {
            function->bounds_end = i;
            return;
        }
    }
}

/* True if '(' at `open` begins the parameters. `operator_seen`: the function is an operator. */
static bool begins_parameters(const kf_tokens *tokens, uint32_t first, uint32_t open,
                              bool operator_seen, kf_function *function)
{
    uint32_t before = open - 1;
    if (operator_seen) return true;
    if (is_qualifier(tokens, before)) return true; /* a lambda */
    if (tokens->list[before].kind == KF_TOKEN_WORD && !kf_is_type_word(tokens, before)) {
        function->name = before;
        return true;
    }
    if (kf_token_is(tokens, before, ">")) {
        function->name = template_name(tokens, before, first);
        return function->name != KF_NO_TOKEN;
    }
    return false;
}

void kf_function_read(const kf_tokens *tokens, uint32_t first, kf_function *function)
{
    *function =
        (kf_function){.name = KF_NO_TOKEN, .params_open = KF_NO_TOKEN, .body_open = KF_NO_TOKEN};
    bool operator_seen = false;
    int angle = 0;
    uint32_t i = first;
    for (; i < tokens->count && i < first + DECLARATION_TOKENS; i++) {
        if (kf_token_is(tokens, i, "__global__")) function->global = true;
        if (kf_token_is(tokens, i, "__device__")) function->device = true;
        if (kf_token_is(tokens, i, "__host__")) function->host = true;
        if (kf_token_is(tokens, i, "operator")) operator_seen = true;
        if (tokens->list[i].kind != KF_TOKEN_PUNCT) continue;
        if (kf_token_is(tokens, i, "(")) {
            uint32_t close = skip_brackets(tokens, i);
            if (close == KF_NO_TOKEN) break;
            bool call_operator = kf_token_is(tokens, i - 1, "operator") && close == i + 1;
            if (angle == 0 && i > first && !call_operator && !takes_parentheses(tokens, i - 1)) {
                if (begins_parameters(tokens, first, i, operator_seen, function)) {
                    function->params_open = i;
                    find_body(tokens, close, function);
                }
                break;
            }
            if (i > 0 && kf_token_is(tokens, i - 1, "__launch_bounds__"))
                read_bounds(tokens, i, close, function);
            i = close;
        } else if (kf_token_is(tokens, i, "[") && kf_token_is(tokens, i + 1, "[") &&
                   skip_brackets(tokens, i) != KF_NO_TOKEN) {
            i = skip_brackets(tokens, i); /* [[attribute]] */
        } else if (kf_token_is(tokens, i, "<")) {
            if (!operator_seen) angle++;
        } else if (kf_token_is(tokens, i, ">")) {
            if (angle > 0) angle--;
        } else if (memchr("[]{};", tokens->text[tokens->list[i].offset], 5) ||
                   (angle == 0 && !operator_seen &&
                    memchr("=,)", tokens->text[tokens->list[i].offset], 3)) ||
                   (angle == 0 && kf_token_is(tokens, i, ":"))) {
            break;
        }
    }
    /* Qualifiers inside a parameter list are skipped: they can only belong to a lambda in a default
     * argument. */
    bool list = function->params_open != KF_NO_TOKEN;
    function->next = list ? tokens->list[function->params_open].match : i > first ? i : first + 1;
}

/* Returns the name of the parameter in [first, end), which holds no default value. Without a name,
 * returns KF_NO_TOKEN and sets *where to the token after which one can be added. */
static uint32_t parameter_name(const kf_tokens *tokens, uint32_t first, uint32_t end,
                               uint32_t *where)
{
    for (uint32_t i = first; i < end; i++) { /* void (*f)(int), float (&a)[4] */
        if (!kf_token_is(tokens, i, "(")) continue;
        uint32_t close = skip_brackets(tokens, i);
        if (close == KF_NO_TOKEN || close >= end) break;
        if ((kf_token_is(tokens, i + 1, "*") || kf_token_is(tokens, i + 1, "&")) &&
            !(i > first && takes_parentheses(tokens, i - 1))) {
            *where = i + 1;
            for (uint32_t j = i + 1;
                 j < close && !kf_token_is(tokens, j, "(") && !kf_token_is(tokens, j, "["); j++)
                if (tokens->list[j].kind == KF_TOKEN_WORD && !kf_is_type_word(tokens, j)) return j;
            return KF_NO_TOKEN;
        }
        i = close;
    }
    uint32_t last = end - 1;
    while (last > first) { /* arrays and attributes behind the name */
        uint32_t match = tokens->list[last].match;
        bool bracket = kf_token_is(tokens, last, "]") && match != KF_NO_TOKEN && match > first;
        bool attribute = kf_token_is(tokens, last, ")") && match != KF_NO_TOKEN &&
                         match > first + 1 && takes_parentheses(tokens, match - 1) &&
                         !kf_token_is(tokens, match - 1, "decltype");
        if (bracket)
            last = match - 1;
        else if (attribute)
            last = match - 2;
        else
            break;
    }
    *where = last;
    if (tokens->list[last].kind != KF_TOKEN_WORD || kf_is_type_word(tokens, last) ||
        last == first || kf_token_is(tokens, last - 1, "::"))
        return KF_NO_TOKEN;
    static const char *const no_type[] = {
        "const", "volatile",          "typename",     "struct",     "class", "enum",
        "union", "__grid_constant__", "__restrict__", "__restrict", NULL};
    for (uint32_t i = first; i < last; i++) {
        uint32_t kind = tokens->list[i].kind;
        if ((kind == KF_TOKEN_WORD && !is_one_of(tokens, i, no_type)) ||
            (kind == KF_TOKEN_PUNCT && !kf_token_is(tokens, i, "::")))
            return last;
    }
    return KF_NO_TOKEN;
}

static void read_parameter(const kf_tokens *tokens, uint32_t first, uint32_t end, unsigned number,
                           kf_edits *edits, kf_buffer *list, kf_buffer *names)
{
    uint32_t declared = end;
    bool pack = false;
    int angle = 0;
    for (uint32_t i = first; i < end && declared == end; i++) {
        uint32_t match = tokens->list[i].match;
        if (match != KF_NO_TOKEN && match > i && match < end) i = match;
        if (kf_token_is(tokens, i, "<")) angle++;
        if (kf_token_is(tokens, i, ">")) angle--;
        if (kf_token_is(tokens, i, "...") && angle == 0) pack = true;
        if (kf_token_is(tokens, i, "=") && angle <= 0) declared = i;
    }
    while (first < declared && tokens->list[first].kind == KF_TOKEN_DIRECTIVE) first++;
    uint32_t last = declared;
    while (last > first && tokens->list[last - 1].kind == KF_TOKEN_DIRECTIVE) last--;
    if (first >= last || (last == first + 1 && kf_token_is(tokens, first, "void"))) {
        kf_flatten(tokens, first, end, list);
        return;
    }
    uint32_t where = last - 1;
    uint32_t name = parameter_name(tokens, first, last, &where);
    kf_buffer_string(names, ", ");
    if (name != KF_NO_TOKEN) {
        kf_flatten(tokens, first, end, list);
        kf_buffer_append(names, tokens->text + tokens->list[name].offset, tokens->list[name].size);
    } else {
        char added[40];
        int length = snprintf(added, sizeof added, " kfcpu_p%u", number);
        kf_edit_add(edits, KF_EDIT_AFTER, where, where, added, (size_t)length);
        kf_flatten(tokens, first, where + 1, list);
        kf_buffer_string(list, added);
        kf_buffer_string(list, " ");
        kf_flatten(tokens, where + 1, end, list);
        kf_buffer_string(names, added + 1);
    }
    if (pack) kf_buffer_string(names, "...");
}

void kf_parameters_read(const kf_tokens *tokens, uint32_t open, kf_edits *edits, kf_buffer *list,
                        kf_buffer *names)
{
    uint32_t close = tokens->list[open].match, first = open + 1;
    unsigned number = 0;
    int angle = 0;
    for (uint32_t i = open + 1; i <= close; i++) {
        uint32_t match = tokens->list[i].match;
        if (i < close && match != KF_NO_TOKEN && match > i && match < close) {
            i = match;
            continue;
        }
        if (kf_token_is(tokens, i, "<") && tokens->list[i - 1].kind == KF_TOKEN_WORD) angle++;
        if (kf_token_is(tokens, i, ">") && angle > 0) angle--;
        bool end = i == close;
        if (!end && !(angle == 0 && kf_token_is(tokens, i, ","))) continue;
        read_parameter(tokens, first, i, number++, edits, list, names);
        if (!end) kf_buffer_string(list, ",");
        first = i + 1;
    }
}
