/* Flags words of a source by the rules of scan_words.c. A word counts if it is used as a name, not
 * in comments or strings. Strings count for the paths in them. In preprocessed text, linemarkers
 * (`# LINE "FILE" FLAGS`) give the file of each token. The first one names the main file. Tokens of
 * headers do not count. */
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "scan_internal.h"
#include "tokens.h"

typedef struct place {
    const char *main;
    size_t main_size;
    /* line of the main file at `token_line` of the text */
    long line;
    uint32_t token_line;
    /* marked: the text has linemarkers; inside: the current one is of the main file */
    bool marked, inside;
} place;

/* Reads a linemarker: `# 12 "name" 1`. */
static bool take_linemarker(place *p, const char *text, size_t size, uint32_t at)
{
    const char *end = text + size, *c = text + 1;
    while (c < end && *c == ' ') c++;
    if (c == end || *c < '0' || *c > '9') return false;
    long line = 0;
    for (; c < end && *c >= '0' && *c <= '9'; c++)
        if (line < 100000000) line = 10 * line + (*c - '0');
    while (c < end && *c == ' ') c++;
    if (c == end || *c != '"') return false;
    const char *name = ++c;
    while (c < end && *c != '"') c += *c == '\\' && c + 1 < end ? 2 : 1;
    size_t length = (size_t)((c < end ? c : end) - name);
    if (!p->main) p->main = name, p->main_size = length;
    p->marked = true;
    p->inside = length == p->main_size && memcmp(name, p->main, length) == 0;
    p->line = line;
    /* the number belongs to the line after the marker */
    p->token_line = at + 1;
    return true;
}

static long line_of(const place *p, uint32_t at)
{
    return p->marked ? p->line + (long)at - (long)p->token_line : (long)at;
}

static bool holds(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what)) != NULL;
}

static bool take_directive(kf_scan_found *found, const char *text, size_t size, long line)
{
    bool good = true;
    if (holds(text, size, "##"))
        good = kf_scan_add(found, "macro.pasting", "pastes words together", "##", 2, line);
    if (good && holds(text, size, "include") &&
        (holds(text, size, "\"/") || holds(text, size, "</") || holds(text, size, "..")))
        good = kf_scan_add(found, "build.include", "includes a file by its path", text, size, line);
    if (good && holds(text, size, "__has_include"))
        good = kf_scan_add(found, "build.include", "tests which files exist", "__has_include", 13,
                           line);
    if (good && holds(text, size, "pragma") && holds(text, size, "message"))
        good = kf_scan_add(found, "build.message", "prints a message from the compiler", text, size,
                           line);
    return good;
}

static bool take_string(kf_scan_found *found, const char *text, size_t size, long line)
{
    static const struct {
        const char *part, *rule, *text;
    } rows[] = {
        {".incbin", "build.include", "makes the assembler include a file"},
        {"/proc/", "file.path", "names a file of the kernel"},
        {"/etc/", "file.path", "names a file of the machine"},
        {"/dev/", "file.path", "names a device"},
        {"libcu", "code.load", "names a library"},
        {"\x7f"
         "ELF",
         "code.load", "holds a program"},
        {"\\x7f"
         "ELF",
         "code.load", "holds a program"},
        {"\\177ELF", "code.load", "holds a program"},
        {".visible .entry", "code.load", "holds PTX"},
        {"discard.L2", "cache.persisting", "controls the cache"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (holds(text, size, rows[i].part) &&
            !kf_scan_add(found, rows[i].rule, rows[i].text, text, size, line))
            return false;
    return size < 4096 || kf_scan_add(found, "huge.literal", "a literal of thousands of characters",
                                      text, 24, line);
}

static bool take_word(kf_scan_found *found, const kf_tokens *tokens, uint32_t i, long line)
{
    const kf_token *token = &tokens->list[i];
    const char *word = tokens->text + token->offset;
    bool called = kf_token_is(tokens, i + 1, "(");
    if (kf_token_is(tokens, i, "asm") || kf_token_is(tokens, i, "__asm__") ||
        kf_token_is(tokens, i, "__asm"))
        return kf_scan_add(found, "asm", "inline assembly", word, token->size, line);
    if (kf_token_is(tokens, i, "constructor") && i > 0 &&
        (kf_token_is(tokens, i - 1, "(") || kf_token_is(tokens, i - 1, ",")))
        return kf_scan_add(found, "start.constructor", "runs before the first call", word,
                           token->size, line);
    /* write(3, …): descriptor 3 is the connection to the judge */
    if (called && kf_token_is(tokens, i + 2, "3") && kf_token_is(tokens, i + 3, ",") &&
        !kf_scan_add(found, "runner.descriptor", "uses descriptor 3, which is the judge's", word,
                     token->size, line))
        return false;
    const kf_scan_rule *rule = kf_scan_name(word, token->size);
    if (!rule) return true;
    /* only types, constants and calls count, not members or variables of the same name */
    bool member = i > 0 && (kf_token_is(tokens, i - 1, ".") || kf_token_is(tokens, i - 1, "->"));
    bool scoped = i > 0 && kf_token_is(tokens, i - 1, "::");
    bool container = strcmp(rule->rule, "state.kept") == 0,
         threads = strcmp(rule->rule, "thread.start") == 0;
    if (strcmp(rule->rule, "thread.detached") == 0
            ? !called
            : member && strncmp(word, "accessPolicyWindow", 18) != 0)
        return true;
    /* std::map and std::thread count, the candidate's own names do not */
    if ((container || (threads && word[0] != 'p')) && !scoped) return true;
    bool name_only =
        word[0] == 'c' || threads || container || strcmp(rule->rule, "precision.low") == 0 ||
        strcmp(rule->rule, "environment") == 0 || strcmp(rule->rule, "time.read") == 0 ||
        strcmp(rule->rule, "cache.persisting") == 0;
    if (!called && !name_only && !kf_token_is(tokens, i + 1, ")") &&
        !kf_token_is(tokens, i + 1, ","))
        return true;
    return kf_scan_add(found, rule->rule, rule->text, word, token->size, line);
}

bool kf_scan_source(const char *text, size_t size, bool python, kf_scan_report *report,
                    void *context, kf_error *error)
{
    if (python) return kf_scan_python(text, size, report, context, error);
    kf_tokens tokens = {0};
    kf_scan_found found = {0};
    kf_scan_host host = {0};
    place p = {0};
    bool good = true;
    long line = 0;
    if (!kf_tokens_read(&tokens, text, size, error)) return false;
    for (uint32_t i = 0; i < tokens.count && good; i++) {
        const kf_token *token = &tokens.list[i];
        const char *word = text + token->offset;
        if (token->kind == KF_TOKEN_DIRECTIVE &&
            take_linemarker(&p, word, token->size, token->line))
            continue;
        if (p.marked && !p.inside) continue;
        line = line_of(&p, token->line);
        kf_scan_host_note(&host, &tokens, i, line - (long)token->line);
        if (token->kind == KF_TOKEN_DIRECTIVE)
            good = take_directive(&found, word, token->size, line);
        if (token->kind == KF_TOKEN_STRING) good = take_string(&found, word, token->size, line);
        if (token->kind == KF_TOKEN_WORD) good = take_word(&found, &tokens, i, line);
    }
    uint32_t access = kf_scan_host_access(&host, &tokens, &line);
    if (good && access != KF_NO_TOKEN)
        good = kf_scan_add(&found, KF_SCAN_HOST_ACCESS,
                           "the host accesses an argument, which is device memory on a GPU",
                           text + tokens.list[access].offset, tokens.list[access].size, line);
    kf_tokens_free(&tokens);
    kf_scan_finish(&found, good ? report : NULL, context);
    return good || kf_fail_memory(error, "the flags of a scan");
}

static void take_host_flag(void *context, const kf_scan_flag *flag)
{
    if (strcmp(flag->rule, KF_SCAN_HOST_ACCESS) == 0) *(kf_scan_flag *)context = *flag;
}

bool kf_scan_host_flag(const char *text, size_t size, kf_scan_flag *found, kf_error *error)
{
    *found = (kf_scan_flag){0};
    return kf_scan_source(text, size, false, take_host_flag, found, error);
}
