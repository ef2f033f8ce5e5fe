/* Flags accesses of the host to arguments. The arguments of an entry are device memory on a GPU,
 * and the CPU device cannot tell a host's access from a kernel's. An entry is a function with C
 * linkage and a cudaStream_t parameter.
 *
 * The scan sees an access in two cases, and misses others:
 *   - The entry itself indexes or dereferences a pointer parameter.
 *   - The entry uses a pointer parameter, and no name of the source is CUDA's. */
#include <string.h>

#include "scan_internal.h"

#define MOST_PARAMETERS 64
/* comparisons of a token with a name: many entries may share one large body */
#define MOST_WORK (1u << 24)

typedef struct entry {
    /* token: the bracket of the body */
    uint32_t body;
    /* tokens: names of pointer parameters */
    uint32_t names[MOST_PARAMETERS];
    int count;
} entry;

static bool is_one_of(const kf_tokens *tokens, uint32_t i, const char *const *words)
{
    for (; *words; words++)
        if (kf_token_is(tokens, i, *words)) return true;
    return false;
}

static bool is_word(const kf_tokens *tokens, uint32_t i)
{
    return tokens->list[i].kind == KF_TOKEN_WORD;
}

static bool begins(const kf_tokens *tokens, uint32_t i, const char *prefix)
{
    size_t length = strlen(prefix);
    return is_word(tokens, i) && tokens->list[i].size >= length &&
           memcmp(tokens->text + tokens->list[i].offset, prefix, length) == 0;
}

/* True for a name that belongs to CUDA or to a library that works on device memory, and for a macro
 * that may stand for one. */
static bool is_of_cuda(const kf_tokens *tokens, uint32_t i)
{
    static const char *const prefixes[] = {"cu",     "nccl",       "npp",       "nvjpeg",
                                           "thrust", "__global__", "__device__"};
    const kf_token *token = &tokens->list[i];
    const char *text = tokens->text + token->offset;
    if (token->kind == KF_TOKEN_DIRECTIVE && memmem(text, token->size, "define", 6))
        return memmem(text, token->size, "__", 2) || memmem(text, token->size, "<<<", 3);
    if (kf_token_is(tokens, i, "cudaStream_t")) return false;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
        if (begins(tokens, i, prefixes[p])) return true;
    return kf_token_is(tokens, i, "<") && kf_token_is(tokens, i + 1, "<") &&
           kf_token_is(tokens, i + 2, "<");
}

/* True if token `i`, the name of a function, has C linkage. */
static bool has_c_linkage(const kf_tokens *tokens, uint32_t i)
{
    for (uint32_t back = i; back-- > 0;) {
        const kf_token *token = &tokens->list[back];
        if (kf_token_is(tokens, back, "extern"))
            return tokens->list[back + 1].kind == KF_TOKEN_STRING;
        if (token->kind == KF_TOKEN_WORD || kf_token_is(tokens, back, "*")) continue;
        if (token->kind == KF_TOKEN_STRING) continue;
        break;
    }
    /* inside of extern "C" { … } */
    for (uint32_t e = 0; e + 2 < i; e++)
        if (kf_token_is(tokens, e, "extern") && tokens->list[e + 1].kind == KF_TOKEN_STRING &&
            kf_token_is(tokens, e + 2, "{") && tokens->list[e + 2].match != KF_NO_TOKEN &&
            tokens->list[e + 2].match > i)
            return true;
    return false;
}

/* Reads an entry from the bracket of its parameters, token `list`. False if none begins there. */
static bool read_entry(const kf_tokens *tokens, uint32_t list, entry *e)
{
    uint32_t end = tokens->list[list].match;
    bool stream = false, pointer = false;
    *e = (entry){.body = end + 1};
    if (list == 0 || end == KF_NO_TOKEN || !is_word(tokens, list - 1) ||
        !kf_token_is(tokens, e->body, "{") || tokens->list[e->body].match == KF_NO_TOKEN)
        return false;
    for (uint32_t i = list + 1; i <= end; i++) {
        if (kf_token_is(tokens, i, "cudaStream_t")) stream = true;
        if (kf_token_is(tokens, i, "*")) pointer = true;
        if (i < end && !kf_token_is(tokens, i, ",")) continue;
        if (pointer && is_word(tokens, i - 1) && e->count < MOST_PARAMETERS)
            e->names[e->count++] = i - 1;
        pointer = false;
    }
    return stream && has_c_linkage(tokens, list - 1);
}

static bool is_same(const kf_tokens *tokens, uint32_t a, uint32_t b)
{
    const kf_token *left = &tokens->list[a], *right = &tokens->list[b];
    return right->kind == KF_TOKEN_WORD && left->size == right->size &&
           memcmp(tokens->text + left->offset, tokens->text + right->offset, left->size) == 0;
}

/* True if a body has code for the device: a function, or a lambda with a word such as __device__ or
 * a macro behind its captures. */
static bool has_device_code(const kf_tokens *tokens, const entry *e)
{
    for (uint32_t i = e->body; i < tokens->list[e->body].match; i++) {
        if (begins(tokens, i, "__device__") || begins(tokens, i, "__host__")) return true;
        uint32_t end = tokens->list[i].match;
        bool captures = kf_token_is(tokens, i, "[") && end != KF_NO_TOKEN &&
                        (!is_word(tokens, i - 1) || kf_token_is(tokens, i - 1, "return")) &&
                        !kf_token_is(tokens, i - 1, "]") && !kf_token_is(tokens, i - 1, ")");
        if (captures && is_word(tokens, end + 1)) return true;
    }
    return false;
}

/* True if token `i`, the name of a pointer, is used for the memory behind it. */
static bool is_access(const kf_tokens *tokens, uint32_t i)
{
    static const char *const elsewhere[] = {".", "->", "::", "&", NULL},
                             *const asks[] = {"sizeof", "decltype", "alignof", NULL},
                             *const before[] = {"=", "(", "{", "}", ";", "+", "-", "return", NULL};
    bool enclosed = kf_token_is(tokens, i - 1, "(");
    if (kf_token_is(tokens, i + 1, "[")) {
        if (is_one_of(tokens, i - 1, elsewhere) || is_one_of(tokens, i - 1, asks)) return false;
        if (is_word(tokens, i - 1) && !kf_token_is(tokens, i - 1, "return")) return false;
        return !enclosed || !(kf_token_is(tokens, i - 2, "&") || is_one_of(tokens, i - 2, asks));
    }
    /* `= *x`, but not `float *x`, `a * x`, `void (*x)(int)` or `sizeof(*x)` */
    return kf_token_is(tokens, i - 1, "*") && is_one_of(tokens, i - 2, before) &&
           !(kf_token_is(tokens, i + 1, ")") && kf_token_is(tokens, i + 2, "(")) &&
           !(kf_token_is(tokens, i - 2, "(") && is_one_of(tokens, i - 3, asks));
}

/* Returns the first access in the body of an entry; KF_NO_TOKEN without one. `own`: the source has
 * no code for a GPU, so that each use of a pointer ends in an access. */
static uint32_t find_access(const kf_tokens *tokens, const entry *e, bool own)
{
    if (!own && has_device_code(tokens, e)) return KF_NO_TOKEN;
    for (uint32_t i = e->body + 1; i < tokens->list[e->body].match; i++)
        for (int name = 0; name < e->count; name++)
            if (is_same(tokens, e->names[name], i) &&
                ((own && !kf_token_is(tokens, i - 1, ".") && !kf_token_is(tokens, i - 1, "->")) ||
                 is_access(tokens, i)))
                return i;
    return KF_NO_TOKEN;
}

void kf_scan_host_note(kf_scan_host *host, const kf_tokens *tokens, uint32_t i, long shift)
{
    host->cuda |= is_of_cuda(tokens, i);
    host->externs += kf_token_is(tokens, i, "extern");
    if (host->count == KF_SCAN_ENTRIES || !kf_token_is(tokens, i, "cudaStream_t")) return;
    host->streams[host->count] = i;
    host->shifts[host->count++] = shift;
}

uint32_t kf_scan_host_access(const kf_scan_host *host, const kf_tokens *tokens, long *line)
{
    entry e;
    uint64_t work = 0;
    for (int s = 0; s < host->count; s++) {
        /* Behind the stream before it there is no other list. */
        uint32_t list = host->streams[s], end = s ? host->streams[s - 1] : 0;
        while (list > end && !kf_token_is(tokens, list, "(") && !kf_token_is(tokens, list, ";"))
            list--;
        if (!kf_token_is(tokens, list, "(") || !read_entry(tokens, list, &e)) continue;
        work += (uint64_t)(tokens->list[e.body].match - e.body) * (uint64_t)(e.count + 1);
        if (work > MOST_WORK) return KF_NO_TOKEN;
        /* A declared function of another library may start kernels. */
        uint32_t found = find_access(tokens, &e, !host->cuda && host->externs == 1);
        if (found == KF_NO_TOKEN) continue;
        *line = (long)tokens->list[found].line + host->shifts[s];
        return found;
    }
    return KF_NO_TOKEN;
}
