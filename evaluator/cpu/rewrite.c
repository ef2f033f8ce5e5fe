/* The rewriter (rewrite.h). A first pass over the tokens finds functions, launches, shared memory
 * and pragmas, and collects edits. A second pass writes the text. Every search ends at a bracket,
 * at the next statement or at the next match, so the whole takes linear time. */
#include "rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite_host.h"
#include "unsupported.h"

#define FILE_SCOPE_SHARED 64 /* most `extern __shared__` names at namespace scope */
#define WAITING 32           /* most device functions that are remembered because they wait */

typedef struct body {
    uint32_t open, close;
    uint32_t params_open;
    bool device;
} body;

typedef struct shared_name {
    uint32_t name; /* token */
    unsigned number;
} shared_name;

typedef struct rewriter {
    kf_tokens tokens;
    kf_edits edits;
    kf_rewrite_result *result;
    body *bodies; /* of functions with a CUDA qualifier, in the order of the text */
    size_t body_count, body_capacity;
    uint32_t device_until;   /* tokens before this one are in device-only code */
    uint32_t function_until; /* tokens before this one are in a function with a CUDA qualifier */
    uint32_t declared_until; /* tokens before this one belong to a declaration that has been read */
    uint32_t waiting[WAITING]; /* names of device functions that wait for other threads */
    size_t waiting_count;
    uint32_t next_wait; /* body_waits has searched the tokens before this one */
    shared_name shared[FILE_SCOPE_SHARED];
    size_t shared_count;
    unsigned shared_number;
    bool sanitize;
    bool failed; /* out of memory */
} rewriter;

static bool is(const rewriter *r, uint32_t index, const char *word)
{
    return kf_token_is(&r->tokens, index, word);
}

static uint32_t kind_of(const rewriter *r, uint32_t index)
{
    return index < r->tokens.count ? r->tokens.list[index].kind : (uint32_t)KF_TOKEN_END;
}

/* Returns the partner of an opening bracket. KF_NO_TOKEN: no bracket, no partner, or a closing
 * bracket. */
static uint32_t close_of(const rewriter *r, uint32_t index)
{
    uint32_t match = index < r->tokens.count ? r->tokens.list[index].match : KF_NO_TOKEN;
    return match != KF_NO_TOKEN && match > index ? match : KF_NO_TOKEN;
}

/* Adds a finding at token `index`. `word` (`size` bytes) is the name of an uncertain finding. */
static void find(rewriter *r, uint32_t index, const kf_unsupported *what, bool certain,
                 const char *word, size_t size)
{
    kf_rewrite_result *result = r->result;
    if (result->finding_count == KF_REWRITE_FINDINGS) return;
    for (size_t i = 0; i < result->finding_count; i++) {
        const kf_rewrite_finding *other = &result->findings[i];
        bool same_word =
            certain || (strlen(other->word) == size && memcmp(other->word, word, size) == 0);
        if (other->construct == what->construct && other->certain == certain && same_word) return;
    }
    kf_rewrite_finding finding = {
        .construct = what->construct, .advice = what->advice, .certain = certain};
    finding.line = kf_token_place(&r->tokens, index, finding.file, sizeof finding.file);
    if (!certain)
        snprintf(finding.word, sizeof finding.word, "%.*s",
                 (int)(size < sizeof finding.word ? size : sizeof finding.word - 1), word);
    /* If a header brought this construct in, the header's finding says more: it becomes certain. */
    for (size_t i = 0; i < result->finding_count && certain; i++) {
        kf_rewrite_finding *other = &result->findings[i];
        if (other->line != finding.line || strcmp(other->file, finding.file) != 0) continue;
        other->certain = true;
        return;
    }
    result->findings[result->finding_count++] = finding;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static void add_body(rewriter *r, const kf_function *function)
{
    if (r->body_count == r->body_capacity) {
        size_t capacity = r->body_capacity ? r->body_capacity * 2 : 64;
        body *bodies = realloc(r->bodies, capacity * sizeof *bodies);
        if (!bodies) {
            r->failed = true;
            return;
        }
        r->bodies = bodies;
        r->body_capacity = capacity;
    }
    body *b = &r->bodies[r->body_count++];
    *b = (body){.open = function->body_open,
                .close = close_of(r, function->body_open),
                .params_open = function->params_open,
                .device = function->global || (function->device && !function->host)};
    if (b->device && b->close > r->device_until) r->device_until = b->close;
    if (b->close > r->function_until) r->function_until = b->close;
}

static bool same_word(const rewriter *r, uint32_t a, uint32_t b)
{
    const kf_token *left = &r->tokens.list[a], *right = &r->tokens.list[b];
    return left->size == right->size &&
           memcmp(r->tokens.text + left->offset, r->tokens.text + right->offset, left->size) == 0;
}

/* True for a call in which a thread waits for others: a barrier, a shuffle or vote, the sync() of a
 * cooperative group, a collective of CUB, or an earlier device function that contains one of
 * these. */
static bool is_wait(const rewriter *r, uint32_t index)
{
    const kf_token *token = &r->tokens.list[index];
    if (token->kind != KF_TOKEN_WORD) return false;
    const char *text = r->tokens.text + token->offset;
    static const char *const words[] = {"__syncthreads", "__syncwarp", "__shfl_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (token->size >= length && memcmp(text, words[i], length) == 0) return true;
    }
    if (is(r, index, "cub") && is(r, index + 1, "::")) return true;
    bool call = is(r, index + 1, "(");
    if (!call && !is(r, index + 1, "<")) return false;
    if (call && index && is(r, index, "sync"))
        return is(r, index - 1, ".") || is(r, index - 1, "->") || is(r, index - 1, "::");
    for (size_t i = 0; i < r->waiting_count; i++)
        if (same_word(r, index, r->waiting[i])) return true;
    return false;
}

/* True if the body that begins at `open` contains a call for which is_wait is true. Bodies come in
 * the order of the text, so the search never goes back. */
static bool body_waits(rewriter *r, uint32_t open)
{
    if (r->next_wait <= open) r->next_wait = open + 1;
    while (r->next_wait < r->tokens.count && !is_wait(r, r->next_wait)) r->next_wait++;
    return r->next_wait < close_of(r, open);
}

static bool is_empty(const rewriter *r, uint32_t open)
{
    uint32_t at = open + 1;
    while (kind_of(r, at) == KF_TOKEN_DIRECTIVE) at++;
    return at == close_of(r, open);
}

/* Turns a kernel into a stub around its own body. */
static void edit_kernel(rewriter *r, const kf_function *function)
{
    r->result->empty_kernels += is_empty(r, function->body_open);
    kf_autobuffer list = {0}, names = {0}, text = {0};
    kf_parameters_read(&r->tokens, function->params_open, &r->edits, &list, &names);
    kf_buffer_format(&text, " struct kfcpu_body { %sstatic KFCPU_BODY void run(%s) {",
                     body_waits(r, function->body_open) ? "enum { kfcpu_waits = 1 }; " : "",
                     list.data ? list.data : "");
    kf_edit_add(&r->edits, KF_EDIT_AFTER, function->body_open, 0, text.data ? text.data : "",
                text.size);
    bool failed = list.failed || names.failed || text.failed;
    kf_buffer_clear(&text);
    const kf_token *name = &r->tokens.list[function->name];
    kf_buffer_format(&text, "} }; static ::kfcpu::stub kfcpu_stub(\"%.*s\", ", (int)name->size,
                     r->tokens.text + name->offset);
    if (function->bounds_first < function->bounds_end)
        kf_flatten(&r->tokens, function->bounds_first, function->bounds_end, &text);
    else
        kf_buffer_string(&text, "0");
    kf_buffer_format(&text, "); ::kfcpu::enter<kfcpu_body>(kfcpu_stub, &kfcpu_body::run%s); ",
                     names.data ? names.data : "");
    kf_edit_add(&r->edits, KF_EDIT_BEFORE, close_of(r, function->body_open), 0,
                text.data ? text.data : "", text.size);
    if (failed || text.failed) r->failed = true;
    r->result->kernels++;
}

static void read_function(rewriter *r, uint32_t index)
{
    kf_function function;
    kf_function_read(&r->tokens, index, &function);
    if (function.body_open != KF_NO_TOKEN && (function.global || function.device)) {
        add_body(r, &function);
        if (function.global && function.name != KF_NO_TOKEN)
            edit_kernel(r, &function);
        else if (function.name != KF_NO_TOKEN && r->waiting_count < WAITING &&
                 body_waits(r, function.body_open))
            r->waiting[r->waiting_count++] = function.name;
    }
    r->declared_until = function.next;
}

/* ---- Launches -------------------------------------------------------------------------------- */

static bool is_triple(const rewriter *r, uint32_t index, const char *character)
{
    return is(r, index, character) && is(r, index + 1, character) && is(r, index + 2, character) &&
           kf_token_adjacent(&r->tokens, index + 1) && kf_token_adjacent(&r->tokens, index + 2);
}

/* Returns the first `>` of the launch's `>>>`. KF_NO_TOKEN: `<<<` at `open` begins no launch. */
static uint32_t find_launch_end(const rewriter *r, uint32_t open)
{
    unsigned commas = 0;
    for (uint32_t i = open + 3; i < r->tokens.count; i++) {
        if (kind_of(r, i) != KF_TOKEN_PUNCT) continue;
        char c = r->tokens.text[r->tokens.list[i].offset];
        if (c == '(' || c == '[' || c == '{') {
            i = close_of(r, i);
            if (i == KF_NO_TOKEN) return KF_NO_TOKEN;
        } else if (c == ';' || c == ')' || c == ']' || c == '}' || is_triple(r, i, "<")) {
            return KF_NO_TOKEN;
        } else if (c == ',') {
            commas++;
        } else if (commas && is_triple(r, i, ">") && is(r, i + 3, "(") &&
                   close_of(r, i + 3) != KF_NO_TOKEN) {
            return i;
        }
    }
    return KF_NO_TOKEN;
}

/* Returns the name before the template arguments that end with the '>' at `close`. A '<' after
 * something other than a template name is a comparison: `k<sizeof(T) < 8>`. */
static uint32_t find_template_name(const rewriter *r, uint32_t close)
{
    int angle = 0;
    for (uint32_t i = close; i != KF_NO_TOKEN; i--) {
        if (is(r, i, ">")) {
            angle++;
        } else if (is(r, i, "<")) {
            if (i >= 2 && is_triple(r, i - 2, "<")) return KF_NO_TOKEN;
            if (i == 0 || kind_of(r, i - 1) != KF_TOKEN_WORD) continue;
            if (--angle > 0) continue;
            /* Still an argument of an outer template. */
            bool inside = i >= 2 && (is(r, i - 2, "<") || is(r, i - 2, ","));
            if (!inside || is(r, i - 2, ",")) return i - 1;
            angle++;
        } else if (is(r, i, ";") || is(r, i, "{")) {
            return KF_NO_TOKEN;
        } else if (is(r, i, ")") || is(r, i, "]") || is(r, i, "}")) {
            i = r->tokens.list[i].match;
            if (i == KF_NO_TOKEN) return KF_NO_TOKEN;
        } else if (is(r, i, "(")) {
            return KF_NO_TOKEN;
        }
    }
    return KF_NO_TOKEN;
}

static bool is_statement_word(const rewriter *r, uint32_t index)
{
    static const char *const words[] = {"if", "while", "for",    "switch",    "return",   "else",
                                        "do", "case",  "sizeof", "constexpr", "co_return"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(r, index, words[i])) return true;
    return false;
}

/* Returns the first token of the postfix expression before `<<<`: a name with its namespaces,
 * objects, template arguments, calls and subscripts, or an expression in parentheses. */
static uint32_t find_callee(const rewriter *r, uint32_t open)
{
    if (open == 0) return KF_NO_TOKEN;
    uint32_t at = open - 1;
    for (;;) {
        if (is(r, at, ">")) {
            at = find_template_name(r, at);
            if (at == KF_NO_TOKEN) return KF_NO_TOKEN;
        }
        if (is(r, at, ")") || is(r, at, "]")) {
            uint32_t match = r->tokens.list[at].match;
            if (match == KF_NO_TOKEN) return KF_NO_TOKEN;
            bool subscript = is(r, at, "]");
            bool before =
                match > 0 &&
                ((kind_of(r, match - 1) == KF_TOKEN_WORD && !is_statement_word(r, match - 1)) ||
                 is(r, match - 1, "]") || is(r, match - 1, ">"));
            /* f(x)(y), but not if (x) (kernel) */
            if (!before && match > 0 && is(r, match - 1, ")")) {
                uint32_t outer = r->tokens.list[match - 1].match;
                before = outer != KF_NO_TOKEN && outer > 0 && !is_statement_word(r, outer - 1) &&
                         !is(r, outer - 1, "constexpr");
            }
            if (!before) return subscript ? KF_NO_TOKEN : match;
            at = match - 1;
            continue;
        }
        if (kind_of(r, at) != KF_TOKEN_WORD || is_statement_word(r, at)) return KF_NO_TOKEN;
        if (at >= 2 && is(r, at - 1, "template")) at--;
        if (at >= 1 && is(r, at - 1, "::")) {
            bool named = at >= 2 &&
                         ((kind_of(r, at - 2) == KF_TOKEN_WORD && !is_statement_word(r, at - 2)) ||
                          is(r, at - 2, ">"));
            if (!named) return at - 1;
            at -= 2;
        } else if (at >= 2 && (is(r, at - 1, ".") || is(r, at - 1, "->"))) {
            at -= 2;
        } else {
            return at;
        }
    }
}

static uint32_t read_launch(rewriter *r, uint32_t open)
{
    uint32_t end = find_launch_end(r, open), start = find_callee(r, open);
    if (end == KF_NO_TOKEN || start == KF_NO_TOKEN) return open + 3;
    if (open < r->device_until) {
        find(r, open, &kf_unsupported_device_launch, true, "", 0);
        return end + 3;
    }
    kf_autobuffer text = {0};
    kf_buffer_string(&text, "(::kfcpu::configure(");
    kf_flatten(&r->tokens, open + 3, end, &text);
    kf_buffer_string(&text, ") ? (void)0 : ");
    if (text.failed) r->failed = true;
    kf_edit_add(&r->edits, KF_EDIT_BEFORE, start, 0, text.data ? text.data : "", text.size);
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, open, end + 2, " ", 1);
    kf_edit_string(&r->edits, KF_EDIT_AFTER, close_of(r, end + 3), ")");
    r->result->launches++;
    return end + 3;
}

/* ---- Shared memory --------------------------------------------------------------------------- */

/* Returns the first token of the declaration that contains token `index`. Only specifiers come
 * before it, so the search is short. */
static uint32_t declaration_start(const rewriter *r, uint32_t index)
{
    uint32_t at = index;
    for (int steps = 0; at > 0 && steps < 64; steps++) {
        uint32_t before = at - 1;
        if (is(r, before, ")")) {
            uint32_t match = r->tokens.list[before].match;
            if (match == KF_NO_TOKEN || match == 0 ||
                !(is(r, match - 1, "__align__") || is(r, match - 1, "alignas") ||
                  is(r, match - 1, "__attribute__")))
                return at;
            at = match - 1;
        } else if (kind_of(r, before) == KF_TOKEN_DIRECTIVE || is(r, before, ";") ||
                   is(r, before, "{") || is(r, before, "}") || is(r, before, ":") ||
                   is(r, before, "(")) {
            return at;
        } else {
            at = before;
        }
    }
    return at;
}

/* Writes NAME as a reference to its memory: the block's dynamic shared memory, or its own
 * allocation. */
static void add_reference(rewriter *r, uint32_t name, unsigned number, bool dynamic,
                          kf_buffer *references)
{
    const kf_token *token = &r->tokens.list[name];
    char source[64] = "::kfcpu::dynamic_shared()";
    if (!dynamic) {
        snprintf(source, sizeof source, "kfcpu_memory_%u", number);
        kf_buffer_format(references,
                         " static void *const %s = ::kfcpu::new_shared(sizeof(kfcpu_shared_%u));",
                         source, number);
    }
    kf_buffer_format(references,
                     " [[maybe_unused]] kfcpu_shared_%u &%.*s = *(kfcpu_shared_%u *)%s;", number,
                     (int)token->size, r->tokens.text + token->offset, number, source);
}

/* Replaces a declaration of shared memory, without storage class and alignment: `T a[], b[]`
 * becomes `typedef T kfcpu_shared_1[], kfcpu_shared_2[]`, followed by the references. */
static void edit_shared(rewriter *r, uint32_t start, uint32_t end, bool dynamic)
{
    const kf_tokens *tokens = &r->tokens;
    bool local = start < r->function_until;
    kf_autobuffer text = {0}, references = {0};
    kf_buffer_string(&text, "typedef");
    int angle = 0;
    uint32_t angled = KF_NO_TOKEN; /* last word outside of template arguments */
    for (uint32_t i = start; i <= end; i++) {
        if (kind_of(r, i) == KF_TOKEN_DIRECTIVE || is(r, i, "extern") || is(r, i, "static") ||
            is(r, i, "__shared__"))
            continue;
        if (is(r, i, "__align__") || is(r, i, "alignas") || is(r, i, "__attribute__")) {
            if (close_of(r, i + 1) != KF_NO_TOKEN) i = close_of(r, i + 1);
            continue;
        }
        if (is(r, i, "<")) angle++;
        if (is(r, i, ">")) angle--;
        bool ends_name = angle <= 0 && (is(r, i, "[") || is(r, i, ",") || is(r, i, ";"));
        if (ends_name && angled != KF_NO_TOKEN) {
            unsigned number = ++r->shared_number;
            kf_buffer_format(&text, " kfcpu_shared_%u", number);
            add_reference(r, angled, number, dynamic, &references);
            if (!local && r->shared_count < FILE_SCOPE_SHARED)
                r->shared[r->shared_count++] = (shared_name){angled, number};
            angled = KF_NO_TOKEN;
        }
        bool type_follows = kind_of(r, i) == KF_TOKEN_WORD && angle <= 0;
        bool is_name =
            type_follows && (is(r, i + 1, "[") || is(r, i + 1, ",") || is(r, i + 1, ";"));
        if (is_name) {
            angled = i;
        } else {
            uint32_t close = close_of(r, i);
            uint32_t last = close == KF_NO_TOKEN ? i : close;
            kf_buffer_string(&text, " ");
            kf_flatten(tokens, i, last + 1, &text);
            i = last;
        }
    }
    if (!references.size) return; /* no declarator of a known form */
    if (local) kf_buffer_append(&text, references.data, references.size);
    if (text.failed || references.failed) r->failed = true;
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, start, end, text.data ? text.data : "", text.size);
}

/* True if only a type and specifiers come before `__shared__`. Otherwise the statement before it
 * has no end, and an edit would hide that. */
static bool is_specifier_list(const rewriter *r, uint32_t start, uint32_t index)
{
    int angle = 0;
    for (uint32_t i = start; i < index; i++) {
        uint32_t close = close_of(r, i);
        if (is(r, i, "<")) angle++;
        bool specifier = angle > 0 || kind_of(r, i) == KF_TOKEN_WORD ||
                         kind_of(r, i) == KF_TOKEN_DIRECTIVE || is(r, i, "::") || is(r, i, "*") ||
                         is(r, i, "&") || close != KF_NO_TOKEN;
        if (is(r, i, ">")) angle--;
        if (!specifier) return false;
        if (close != KF_NO_TOKEN) i = close;
    }
    return true;
}

/* Moves an alignas behind __shared__ to the declaration's first token `start`: nvcc takes it behind
 * its own specifier, C++ takes it first. */
static void move_alignas(rewriter *r, uint32_t start, uint32_t index)
{
    uint32_t close = is(r, index, "alignas") ? close_of(r, index + 1) : KF_NO_TOKEN;
    kf_autobuffer text = {0};
    if (close == KF_NO_TOKEN) return;
    kf_flatten(&r->tokens, index, close + 1, &text);
    kf_buffer_string(&text, " ");
    r->failed = r->failed || text.failed;
    if (r->failed) return;
    kf_edit_add(&r->edits, KF_EDIT_BEFORE, start, 0, text.data, text.size);
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, index, close, "", 0);
}

static uint32_t read_shared(rewriter *r, uint32_t index)
{
    uint32_t start = declaration_start(r, index), end = index;
    if (!is_specifier_list(r, start, index)) return index + 1;
    while (end < r->tokens.count && end < index + 1024 && !is(r, end, ";") && !is(r, end, "}")) {
        uint32_t close = close_of(r, end);
        end = close == KF_NO_TOKEN ? end + 1 : close + 1;
    }
    if (end >= r->tokens.count || !is(r, end, ";")) return index + 1;
    bool dynamic = false;
    for (uint32_t i = start; i < end && !is(r, i, "["); i++)
        dynamic = dynamic || is(r, i, "extern");
    if (dynamic) {
        edit_shared(r, start, end, true);
        return end + 1;
    }
    if (r->sanitize && start < r->function_until) {
        edit_shared(r, start, end, false);
        return end + 1;
    }
    /* The macro __shared__ contains `static`. */
    for (uint32_t i = start; i < end && !is(r, i, "=") && !is(r, i, "["); i++)
        if (is(r, i, "static")) kf_edit_add(&r->edits, KF_EDIT_REPLACE, i, i, "", 0);
    move_alignas(r, start, index + 1);
    return index + 1;
}

static bool uses(const rewriter *r, uint32_t first, uint32_t last, uint32_t name)
{
    for (uint32_t i = first; i < last; i++)
        if (kind_of(r, i) == KF_TOKEN_WORD && same_word(r, i, name)) return true;
    return false;
}

/* Declares names that are `extern __shared__` at namespace scope in the functions that use them:
 * the declarations go to the beginning of the function, followed by a block around the old body. */
static void place_shared(rewriter *r)
{
    uint32_t until = 0; /* functions inside a function see the outer function's declarations */
    for (size_t b = 0; b < r->body_count && r->shared_count; b++) {
        const body *function = &r->bodies[b];
        if (function->open < until) continue;
        until = function->close;
        kf_autobuffer text = {0};
        for (size_t s = r->shared_count; s-- > 0;) {
            const shared_name *shared = &r->shared[s];
            if (shared->name > function->open ||
                !uses(r, function->open, function->close, shared->name) ||
                uses(r, function->params_open, r->tokens.list[function->params_open].match,
                     shared->name))
                continue;
            bool again = false; /* a later declaration of the same name has been placed */
            for (size_t t = s + 1; t < r->shared_count; t++)
                again = again || (r->shared[t].name < function->open &&
                                  same_word(r, r->shared[t].name, shared->name));
            if (again) continue;
            const kf_token *name = &r->tokens.list[shared->name];
            kf_buffer_format(
                &text, " kfcpu_shared_%u &%.*s = *(kfcpu_shared_%u *)::kfcpu::dynamic_shared();",
                shared->number, (int)name->size, r->tokens.text + name->offset, shared->number);
        }
        if (!text.size) continue;
        kf_buffer_string(&text, " {");
        if (text.failed) r->failed = true;
        kf_edit_add(&r->edits, KF_EDIT_AFTER, function->open, 0, text.data ? text.data : "",
                    text.size);
        /* Comes before the text that ends a kernel, because the new block is the inner one. */
        kf_edit_first(&r->edits, function->close, "}");
    }
}

/* ---- Pragmas and assembly -------------------------------------------------------------------- */

/* Adds a finding if a linemarker enters a header of an unsupported feature: one of a CUDA toolkit
 * on this machine, or the empty one that stands in its place. The headers of the CPU device do not
 * count. */
static void read_linemarker(rewriter *r, uint32_t index)
{
    const kf_token *token = &r->tokens.list[index];
    const char *text = r->tokens.text + token->offset, *end = text + token->size;
    const char *open = memchr(text, '"', token->size);
    const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
    if (!close || end - close < 3 || close[2] != '1') return;
    static const char ours[] = "/lib/kforge/cpu/include/", folder[] = "/include/",
                      empty[] = KF_UNSUPPORTED_FOLDER;
    if (memmem(open, (size_t)(close - open), ours, sizeof ours - 1)) return;
    const char *name = memmem(open, (size_t)(close - open), empty, sizeof empty - 1);
    if (name) name += sizeof empty - 1;
    for (const char *at = name ? close : open;
         (at = memmem(at, (size_t)(close - at), folder, sizeof folder - 1)); at++)
        name = at + sizeof folder - 1;
    const kf_unsupported *what = name ? kf_unsupported_header(name, (size_t)(close - name)) : NULL;
    if (what) find(r, index, what, false, name, (size_t)(close - name));
}

static void read_directive(rewriter *r, uint32_t index)
{
    const kf_token *token = &r->tokens.list[index];
    if (token->size > 2 && r->tokens.text[token->offset + 1] == ' ') {
        read_linemarker(r, index);
        return;
    }
    kf_autobuffer line = {0};
    kf_buffer_append(&line, r->tokens.text + token->offset + 1, token->size - 1);
    char *save = NULL;
    char *pragma = line.data ? strtok_r(line.data, " \t\r", &save) : NULL;
    char *what = pragma && strcmp(pragma, "pragma") == 0 ? strtok_r(NULL, " \t\r(", &save) : NULL;
    if (!what) return;
    if (strcmp(what, "GCC") == 0) {
        char *detail = strtok_r(NULL, " \t\r", &save);
        if (detail && strcmp(detail, "pch_preprocess") == 0)
            kf_edit_add(&r->edits, KF_EDIT_REPLACE, index, index, "", 0);
        return;
    }
    if (strcmp(what, "kforge") == 0) {
        /* "#pragma kforge include <FILE>" includes a large header without CUDA code only after the
         * rewriter has run. */
        kf_autofree char *include = NULL;
        while (save && *save == ' ') save++;
        if (!save || strncmp(save, "include ", 8) != 0) return;
        int size = asprintf(&include, "#%s", save);
        if (size < 0)
            r->failed = true;
        else
            kf_edit_add(&r->edits, KF_EDIT_REPLACE, index, index, include, (size_t)size);
        return;
    }
    if (strcmp(what, "unroll") != 0) return;
    char *argument = strtok_r(NULL, " \t\r()", &save);
    long times = argument ? strtol(argument, NULL, 10) : 0;
    /* A full unrolling, or a count given by an unknown name: enough for the usual short loops. */
    times = times < 1 ? 16 : times > 64 ? 64 : times;
    uint32_t next = index + 1;
    bool loop = is(r, next, "for") || is(r, next, "while") || is(r, next, "do");
    char text[48] = "";
    int length = loop ? snprintf(text, sizeof text, "#pragma GCC unroll %ld", times) : 0;
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, index, index, text, (size_t)length);
}

/* Writes the name of the function that stands for the PTX at a token. It has the file and the line,
 * so that the compiler's message leads there, also where several files are compiled. */
static void name_assembly(const rewriter *r, uint32_t index, char name[64])
{
    char file[256];
    long line = kf_token_place(&r->tokens, index, file, sizeof file);
    uint32_t key = 5381;
    for (const char *c = file; *c; c++) key = key * 33 + (unsigned char)*c;
    snprintf(name, 64, "kfcpu_inline_ptx_%08x_%ld_", key, line);
}

/* Replaces inline PTX by a call of a function that the compiler refuses to call. So code that no
 * kernel in use reaches may have PTX. The last finding stands for all further PTX. */
static void replace_assembly(rewriter *r, uint32_t index, uint32_t last)
{
    char name[64], text[256];
    kf_rewrite_result *result = r->result;
    kf_rewrite_finding *end = &result->findings[KF_REWRITE_FINDINGS - 1];
    if (result->finding_count == KF_REWRITE_FINDINGS &&
        end->construct != kf_unsupported_assembly.construct)
        result->finding_count--;
    name_assembly(r, index, name);
    if (result->finding_count == KF_REWRITE_FINDINGS)
        snprintf(name, sizeof name, "%s", end->word);
    else
        find(r, index, &kf_unsupported_assembly, false, name, strlen(name));
    int size = snprintf(text, sizeof text,
                        "({ extern void %s() __attribute__((error(\"inline PTX\"))); %s(); })",
                        name, name);
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, index, last, text, (size_t)size);
}

/* Reads an asm statement in device code. Without instructions it is a compiler barrier and
 * supported. Returns the token to go on with. */
static uint32_t read_assembly(rewriter *r, uint32_t index)
{
    uint32_t at = index + 1;
    while (kind_of(r, at) == KF_TOKEN_WORD) at++;
    if (!is(r, at, "(")) return index + 1;
    uint32_t last = close_of(r, at);
    bool empty = kind_of(r, at + 1) == KF_TOKEN_STRING;
    for (at++; kind_of(r, at) == KF_TOKEN_STRING; at++) {
        const kf_token *token = &r->tokens.list[at];
        for (uint32_t i = 0; i < token->size; i++)
            if (!strchr("\" \t", r->tokens.text[token->offset + i])) empty = false;
    }
    if (empty || last == KF_NO_TOKEN) return index + 1;
    replace_assembly(r, index, last);
    return last + 1;
}

/* Replaces clock() where device code may run: the C library's clock has another unit. */
static void read_clock(rewriter *r, uint32_t i)
{
    bool member = is(r, i - 1, ".") || is(r, i - 1, "->");
    bool scoped = is(r, i - 1, "::") && kind_of(r, i - 2) == KF_TOKEN_WORD;
    bool declared = kind_of(r, i - 1) == KF_TOKEN_WORD && !is(r, i - 1, "return");
    if (i >= r->function_until || member || scoped || declared || !is(r, i + 1, "(") ||
        !is(r, i + 2, ")"))
        return;
    static const char name[] = "kfcpu_clock";
    kf_edit_add(&r->edits, KF_EDIT_REPLACE, i, i, name, sizeof name - 1);
}

/* Adds a finding for `using namespace X` of an unsupported library. The library's names stand alone
 * then, so any unknown name may be one of them. */
static void read_using(rewriter *r, uint32_t i)
{
    uint32_t name = is(r, i + 2, "::") ? i + 3 : i + 2;
    if (!is(r, i + 1, "namespace") || kind_of(r, name) != KF_TOKEN_WORD) return;
    const kf_token *token = &r->tokens.list[name];
    const kf_unsupported *what =
        kf_unsupported_find(r->tokens.text + token->offset, token->size, true);
    if (what) find(r, i, what, false, KF_REWRITE_ANY_NAME, sizeof KF_REWRITE_ANY_NAME - 1);
}

/* Returns the token with the name that the device lacks if it lacks anything: of a library that it
 * has in part, the name in the library's namespaces. */
static uint32_t lacking_part(const rewriter *r, uint32_t i, const kf_unsupported *what)
{
    if (!kf_unsupported_has_parts(what)) return i;
    bool space = true;
    while (space && is(r, i + 1, "::") && kind_of(r, i + 2) == KF_TOKEN_WORD) {
        i += 2;
        space = is(r, i, "std") || is(r, i, "cuda") || is(r, i, "system") || is(r, i, "device");
    }
    return i;
}

static uint32_t read_word(rewriter *r, uint32_t i)
{
    const kf_token *token = &r->tokens.list[i];
    const char *text = r->tokens.text + token->offset;
    if (text[0] == '_' || text[0] == 'a') {
        if (i >= r->declared_until && (is(r, i, "__global__") || is(r, i, "__device__") ||
                                       is(r, i, "__host__") || is(r, i, "__launch_bounds__")))
            read_function(r, i);
        if (is(r, i, "__shared__")) return read_shared(r, i);
        bool attribute = i > 0 && (is(r, i - 1, "(") || is(r, i - 1, ",") || is(r, i + 1, ")"));
        if (is(r, i, "__noinline__") && !attribute)
            kf_edit_add(&r->edits, KF_EDIT_REPLACE, i, i, "__attribute__((noinline))", 25);
        if (is(r, i, "asm") || is(r, i, "__asm__") || is(r, i, "__asm")) {
            if (i < r->device_until) return read_assembly(r, i);
        }
    }
    if (i >= 2 && is(r, i, "clock")) read_clock(r, i);
    if (is(r, i, "using")) read_using(r, i);
    bool scope = is(r, i + 1, "::"), member = i > 0 && (is(r, i - 1, ".") || is(r, i - 1, "->"));
    const kf_unsupported *what = member ? NULL : kf_unsupported_find(text, token->size, scope);
    if (what) {
        const kf_token *name = &r->tokens.list[scope ? lacking_part(r, i, what) : i];
        find(r, i, what, what->certain, r->tokens.text + name->offset, name->size);
    }
    return i + 1;
}

static void read_all(rewriter *r)
{
    for (uint32_t i = 0; i < r->tokens.count && !r->failed && !r->edits.failed;) {
        switch (r->tokens.list[i].kind) {
        case KF_TOKEN_WORD: i = read_word(r, i); break;
        case KF_TOKEN_DIRECTIVE: read_directive(r, i++); break;
        case KF_TOKEN_PUNCT:
            if (is_triple(r, i, "<") && i > 0 && !is(r, i - 1, "operator") && !is(r, i - 1, "<") &&
                !is(r, i + 3, "<"))
                i = read_launch(r, i);
            else
                i++;
            break;
        default: i++;
        }
    }
    place_shared(r);
}

bool kf_rewrite(const char *text, size_t size, bool sanitize, kf_rewrite_result *result,
                kf_error *error)
{
    *result = (kf_rewrite_result){0};
    rewriter r = {.result = result, .sanitize = sanitize};
    if (!kf_tokens_read(&r.tokens, text, size, error)) return false;
    result->text.limit = 4 * size + (1u << 16); /* far more than real code grows */
    /* A mark before each token (kf_flatten). */
    r.edits.texts.limit = 20 * result->text.limit;
    read_all(&r);
    kf_host_use_find(&r.tokens, &result->host_use);
    bool ok = !r.failed && !r.edits.failed;
    if (ok) {
        ok = kf_edits_apply(&r.edits, &r.tokens, result) && !result->text.failed;
    }
    if (!ok)
        kf_fail(error, KF_ERROR_MEMORY,
                "no memory to rewrite the source, or the rewritten source is too long; make it "
                "smaller");
    kf_tokens_free(&r.tokens);
    kf_edits_free(&r.edits);
    free(r.bodies);
    return ok;
}

void kf_rewrite_free(kf_rewrite_result *result)
{
    kf_buffer_free(&result->text);
    free(result->copies);
    *result = (kf_rewrite_result){0};
}
