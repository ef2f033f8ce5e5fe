/* Finds the source in a reply.
 *
 * A reply is split into fenced blocks by the rules of CommonMark: a fence closes with at least as
 * many of the same character, so a longer fence encloses shorter ones. Markdown blocks are split
 * again. Each block gets a rank: it defines the entry point, it is tagged as CUDA or C, or it has
 * no tag and looks like code. The best rank wins, then the longer block. The definition counts more
 * than the tag, because models tag CUDA with many names. A block of Python is no CUDA, although it
 * may hold CUDA in a string. */
#include "extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "c_lexer.h"
#include "extract_internal.h"
#include "python_lexer.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/scan.h"

/* Depth of Markdown inside Markdown. */
#define NEST_LIMIT 4

/* ---- lines ----------------------------------------------------------------------------------- */

bool kf_span_line(kf_span *rest, kf_span *line)
{
    if (!rest->size) return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t length = end ? (size_t)(end - rest->data) : rest->size;
    *line = (kf_span){rest->data, length};
    if (line->size && line->data[line->size - 1] == '\r') line->size--;
    size_t used = length + (end ? 1 : 0);
    rest->data += used;
    rest->size -= used;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

kf_span kf_span_trim(kf_span line)
{
    while (line.size && is_space(line.data[0])) line.data++, line.size--;
    while (line.size && is_space(line.data[line.size - 1])) line.size--;
    return line;
}

bool kf_span_equal(kf_span span, const char *text)
{
    return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0;
}

static bool starts_with(kf_span span, const char *text)
{
    size_t length = strlen(text);
    return span.size >= length && memcmp(span.data, text, length) == 0;
}

/* ---- reasoning ------------------------------------------------------------------------------- */

static const struct {
    const char *open, *close;
} reasoning[] = {
    {"<think>", "</think>"},
    {"<thinking>", "</thinking>"},
    {"<thought>", "</thought>"},
    {"<reasoning>", "</reasoning>"},
};

/* Returns the first `word` in [from, end), or `end`. `known` is the result of a search that began
 * before `from`, or NULL. With it no part of a reply is searched twice. */
static const char *find_next(const char *known, const char *from, const char *end, const char *word)
{
    if (known && known >= from) return known;
    const char *found = memmem(from, (size_t)(end - from), word, strlen(word));
    return found ? found : end;
}

kf_span kf_reply_answer(const char *reply, size_t size, bool *only_reasoning)
{
    kf_span all = {reply, size}, answer = kf_span_trim(all);
    const char *closes[sizeof reasoning / sizeof *reasoning] = {NULL};
    *only_reasoning = false;
    /* Several preambles may follow each other. Some servers drop the opening tag, so a closing tag
     * alone on its line ends a preamble, too. */
    for (bool again = true; again;) {
        again = false;
        for (size_t k = 0; k < sizeof reasoning / sizeof *reasoning && !again; k++) {
            bool opened = starts_with(answer, reasoning[k].open);
            const char *end = answer.data + answer.size;
            const char *close = closes[k] =
                find_next(closes[k], answer.data, end, reasoning[k].close);
            if (opened && close == end) {
                *only_reasoning = true;
                return all;
            }
            if (close == end) continue;
            const char *behind = close + strlen(reasoning[k].close);
            bool own_line = (close == reply || close[-1] == '\n') &&
                            (behind == reply + size || is_space(*behind));
            if (!opened && !own_line) continue;
            answer = kf_span_trim((kf_span){behind, (size_t)(answer.data + answer.size - behind)});
            again = true;
        }
    }
    if (!answer.size) {
        *only_reasoning = size > 0;
        return all;
    }
    return answer;
}

bool kf_reply_check(const char *reply, size_t size, kf_error *error)
{
    if (size > KF_REPLY_BYTES)
        return kf_fail(error, KF_ERROR_LIMIT, "the reply has %zu bytes, more than the limit of %u",
                       size, KF_REPLY_BYTES);
    if (!kf_span_trim((kf_span){reply, size}).size)
        return kf_fail(error, KF_ERROR_INPUT, "the reply is empty");
    const char *nul = memchr(reply, '\0', size);
    if (nul)
        return kf_fail(error, KF_ERROR_INPUT, "the reply holds a NUL byte at offset %zu",
                       (size_t)(nul - reply));
    return true;
}

/* ---- fenced blocks --------------------------------------------------------------------------- */

typedef struct fence {
    /* ` or ~ */
    char mark;
    /* Of the run of marks. */
    size_t length;
    /* Spaces and tabs before it. */
    size_t indent;
    /* The text behind it, trimmed. */
    kf_span info;
} fence;

/* Reads a fence with any indentation: models put blocks into list items. */
static bool parse_fence(kf_span line, fence *found)
{
    size_t i = 0;
    while (i < line.size && (line.data[i] == ' ' || line.data[i] == '\t')) i++;
    size_t start = i;
    if (i >= line.size || (line.data[i] != '`' && line.data[i] != '~')) return false;
    char mark = line.data[i];
    while (i < line.size && line.data[i] == mark) i++;
    if (i - start < 3) return false;
    kf_span info = kf_span_trim((kf_span){line.data + i, line.size - i});
    /* Inline code (CommonMark 4.5). */
    if (mark == '`' && memchr(info.data, '`', info.size)) return false;
    *found = (fence){mark, i - start, start, info};
    return true;
}

static bool is_tag(kf_span info, const char *const *tags)
{
    /* The first word: "cuda", "c++ title=x", "{.cuda}". */
    size_t length = 0;
    if (info.size && info.data[0] == '{') info.data++, info.size--;
    if (info.size && info.data[0] == '.') info.data++, info.size--;
    while (length < info.size && !strchr(" \t,:}{", info.data[length])) length++;
    for (; *tags; tags++)
        if (strlen(*tags) == length && strncasecmp(info.data, *tags, length) == 0) return true;
    return false;
}

static const char *const code_tags[] = {"cuda",  "cu", "cuda-c", "cuda-cpp", "cuda-c++",
                                        "cudac", "c",  "cpp",    "c++",      "cc",
                                        "cxx",   "h",  "hpp",    "cuh",      NULL};
static const char *const python_tags[] = {"python", "py", "python3", "pytorch", "triton", NULL};
static const char *const markdown_tags[] = {"markdown", "md", "", NULL};

/* True if the line begins C, C++ or CUDA at file scope. */
static bool starts_code(kf_span line)
{
    static const char *const starts[] = {
        "#include",     "#define",    "#ifndef",    "#ifdef",     "#pragma",
        "#if ",         "// ",        "//",         "/*",         "extern ",
        "template",     "static ",    "__global__", "__device__", "__host__",
        "__constant__", "namespace ", "using ",     "typedef ",   "struct ",
        "constexpr ",   "inline ",    "void ",      "const ",     "enum "};
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++)
        if (starts_with(line, starts[k])) return true;
    return false;
}

static bool looks_like_code(kf_span text)
{
    bool marked = memmem(text.data, text.size, "__global__", 10) ||
                  memmem(text.data, text.size, "#include", 8) ||
                  memmem(text.data, text.size, "extern \"C\"", 10);
    return marked && memchr(text.data, '{', text.size) && memchr(text.data, ';', text.size);
}

enum { RANK_NONE, RANK_UNTAGGED, RANK_TAGGED, RANK_DEFINES };

typedef struct choice {
    const char *entry;
    /* A block of Python may be the source. */
    bool torch;
    /* The best block so far, with LF line ends, without the fence's indentation. */
    kf_buffer text;
    int rank;
    /* The best block is Python. */
    bool python;
    /* Blocks seen, and those of Python. */
    int blocks, python_blocks;
    /* Out of memory. */
    bool failed;
} choice;

static bool defines(const char *text, size_t size, const char *entry, bool *failed)
{
    kf_autofree char *blank = kf_code_blank(text, size);
    if (!blank) *failed = true;
    return blank && kf_code_defines(blank, size, entry);
}

/* Returns the rank of a block as C or CUDA. In Python text that lies in a string is no code. */
static int rank_code(choice *best, kf_span content, kf_span info, bool python)
{
    kf_autofree char *outside = python ? kf_python_blank(content.data, content.size) : NULL;
    if (python && !outside) best->failed = true;
    const char *text = outside ? outside : content.data;
    if (defines(text, content.size, best->entry, &best->failed)) return RANK_DEFINES;
    if (is_tag(info, code_tags)) return RANK_TAGGED;
    return !python && !info.size && looks_like_code(content) ? RANK_UNTAGGED : RANK_NONE;
}

/* Returns the rank of a block of Python for a task of PyTorch. */
static int rank_python(choice *best, kf_span content, kf_span info)
{
    kf_autofree char *outside = kf_python_blank(content.data, content.size);
    if (!outside) best->failed = true;
    if (outside && kf_python_defines(outside, content.size, KF_SOLUTION_CLASS)) return RANK_DEFINES;
    return is_tag(info, python_tags) ? RANK_TAGGED : RANK_UNTAGGED;
}

/* Takes `text` over. Keeps it if it is the better block. */
static void consider(choice *best, kf_buffer *text, kf_span info)
{
    kf_span content = {text->data ? text->data : "", text->size};
    bool tagged = is_tag(info, python_tags);
    bool python =
        tagged || (!is_tag(info, code_tags) && kf_source_is_python(content.data, content.size));
    best->blocks++;
    best->failed |= text->failed;
    int rank = rank_code(best, content, info, python);
    bool as_python = python && rank != RANK_DEFINES;
    best->python_blocks += as_python;
    if (as_python) rank = best->torch ? rank_python(best, content, info) : RANK_NONE;
    if (kf_span_trim(content).size && rank != RANK_NONE &&
        (rank > best->rank || (rank == best->rank && text->size > best->text.size))) {
        kf_buffer_free(&best->text);
        best->text = *text;
        best->rank = rank;
        best->python = as_python;
        *text = (kf_buffer){0};
    }
    kf_buffer_free(text);
}

static void scan_blocks(choice *best, kf_span text, int nest)
{
    kf_span line;
    fence open, next;
    bool opened = false;
    while (opened || kf_span_line(&text, &line)) {
        if (!opened && !parse_fence(line, &open)) continue;
        opened = false;
        bool code = is_tag(open.info, code_tags), inner = false;
        kf_autobuffer content = {0};
        while (kf_span_line(&text, &line)) {
            if (parse_fence(line, &next)) {
                if (next.mark == open.mark && next.length >= open.length && !next.info.size) break;
                /* No line of code looks like an opening fence, so the block before was not closed.
                 */
                if (code && next.info.size) {
                    opened = true;
                    break;
                }
                inner = true;
            }
            size_t cut = 0;
            while (cut < open.indent && cut < line.size &&
                   (line.data[cut] == ' ' || line.data[cut] == '\t'))
                cut++;
            kf_buffer_append(&content, line.data + cut, line.size - cut);
            kf_buffer_append(&content, "\n", 1);
        }
        if (inner && nest < NEST_LIMIT && is_tag(open.info, markdown_tags))
            scan_blocks(best, (kf_span){content.data ? content.data : "", content.size}, nest + 1);
        else
            consider(best, &content, open.info);
        if (opened) open = next;
        best->failed |= content.failed;
    }
}

/* True if the line begins Python at its left margin. */
static bool starts_python(kf_span line)
{
    return starts_with(line, "import ") || starts_with(line, "from ") ||
           starts_with(line, "class ") || starts_with(line, "def ") || starts_with(line, "@");
}

/* Reads a reply without fences that is Python: from the first line that begins code to the last
 * that is indented. */
static void scan_bare_python(choice *best, kf_span text)
{
    kf_autobuffer content = {0};
    kf_span line;
    size_t end = 0;
    while (kf_span_line(&text, &line)) {
        bool starts = starts_python(line);
        if (!content.size && !starts) continue;
        kf_buffer_append(&content, line.data, line.size);
        kf_buffer_append(&content, "\n", 1);
        bool indented = line.size && (line.data[0] == ' ' || line.data[0] == '\t');
        if ((starts || indented) && kf_span_trim(line).size) end = content.size;
    }
    best->failed |= content.failed;
    if (!end || content.failed) return;
    content.size = end;
    content.data[end] = '\0';
    kf_autofree char *outside = kf_python_blank(content.data, end);
    if (!outside) best->failed = true;
    if (outside && kf_python_defines(outside, end, KF_SOLUTION_CLASS))
        consider(best, &content, (kf_span){python_tags[0], strlen(python_tags[0])});
}

/* Reads a reply without fences: from the first line that begins code to the last that can end it.
 */
static void scan_bare(choice *best, kf_span text)
{
    kf_autobuffer content = {0};
    kf_span line;
    size_t end = 0;
    bool started = false;
    while (kf_span_line(&text, &line)) {
        if (!started && !starts_code(line)) continue;
        started = true;
        kf_buffer_append(&content, line.data, line.size);
        kf_buffer_append(&content, "\n", 1);
        kf_span trimmed = kf_span_trim(line);
        char last = trimmed.size ? trimmed.data[trimmed.size - 1] : '\0';
        if (last == '}' || last == ';' || starts_with(trimmed, "#") || starts_with(trimmed, "//") ||
            last == '/')
            end = content.size;
    }
    if (!end) return;
    content.size = end;
    content.data[end] = '\0';
    if (looks_like_code((kf_span){content.data, content.size}))
        consider(best, &content, (kf_span){"", 0});
}

/* Says what the reply holds instead of a source. */
static void complain(const choice *best, bool only_reasoning, kf_error *error)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "answer with one ```cuda block that defines %s%s", best->entry,
             best->torch ? ", or one ```python block that defines " KF_SOLUTION_CLASS : "");
    if (only_reasoning)
        kf_fail(error, KF_ERROR_INPUT, "the reply holds only reasoning and no code; %s", wanted);
    else if (best->python_blocks)
        kf_fail(error, KF_ERROR_INPUT,
                "the reply holds Python, and CUDA at most in its strings; %s", wanted);
    else
        kf_fail(error, KF_ERROR_INPUT, "the reply holds %d fenced block%s, without CUDA code; %s",
                best->blocks, best->blocks == 1 ? "" : "s", wanted);
}

/* True if the text is Python in which the entry is at most in a string. */
static bool is_python_alone(choice *best, kf_span text)
{
    if (best->python_blocks) return true;
    if (!kf_source_is_python(text.data, text.size)) return false;
    kf_autofree char *outside = kf_python_blank(text.data, text.size);
    if (!outside) best->failed = true;
    bool alone = outside && !defines(outside, text.size, best->entry, &best->failed);
    best->python_blocks += alone;
    return alone;
}

static char *extract(const char *reply, size_t size, choice *best, kf_error *error)
{
    if (!kf_reply_check(reply, size, error)) return NULL;
    bool only_reasoning;
    kf_span answer = kf_reply_answer(reply, size, &only_reasoning);
    scan_blocks(best, answer, 0);
    if (best->rank == RANK_NONE && best->torch) scan_bare_python(best, answer);
    if (best->rank == RANK_NONE && !is_python_alone(best, answer)) scan_bare(best, answer);
    if (!best->failed && best->rank != RANK_NONE) return kf_buffer_take(&best->text);
    if (best->failed)
        kf_fail_memory(error, "a reply");
    else
        complain(best, only_reasoning, error);
    kf_buffer_free(&best->text);
    return NULL;
}

char *kf_extract_source(const char *reply, size_t size, const char *entry, kf_error *error)
{
    choice best = {.entry = entry};
    return extract(reply, size, &best, error);
}

char *kf_extract_candidate(const char *reply, size_t size, const char *entry, bool torch,
                           bool *python, kf_error *error)
{
    *python = false;
    if (kf_extract_has_edits(reply, size)) {
        kf_fail(error, KF_ERROR_INPUT,
                "the reply holds edits, without the source that they change; answer with the whole "
                "source");
        return NULL;
    }
    choice best = {.entry = entry, .torch = torch};
    char *source = extract(reply, size, &best, error);
    *python = source && best.python;
    return source;
}

static const char as_python[] = ", as Python", as_cuda[] = ", as CUDA";

const char *kf_language_mark(const char *source, size_t size, bool python)
{
    if (kf_source_is_python(source, size) == python) return "";
    return python ? as_python : as_cuda;
}

bool kf_judged_as_python(const char *environment, const char *source, size_t size)
{
    if (environment && strstr(environment, as_python)) return true;
    return !(environment && strstr(environment, as_cuda)) && kf_source_is_python(source, size);
}
