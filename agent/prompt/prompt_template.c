/* Renders a template in one pass: it copies text and handles tags. Conditions are a stack. A
 * part that is left out is still checked, so that its errors show at once. */
#include "prompt_template.h"

#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/json.h"
#include "nearest.h"

typedef struct condition {
    /* `outer`: the part around it is written */
    bool holds, outer;
    bool has_else;
    int line;
} condition;

typedef struct renderer {
    const char *name;
    const kf_template_value *values;
    size_t count;
    kf_buffer out;
    int line;
    condition conditions[KF_TEMPLATE_DEPTH];
    int depth;
    bool writing;
    kf_error *error;
} renderer;

static const kf_template_value *find_value(renderer *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->values[i].name, name) == 0) return &r->values[i];
    /* Without memory there is no suggestion. */
    kf_autofree const char **known = malloc((r->count + 1) * sizeof *known);
    for (size_t i = 0; known && i < r->count; i++) known[i] = r->values[i].name;
    const char *near = known ? kf_nearest(name, known, r->count) : NULL;
    kf_fail(r->error, KF_ERROR_INPUT, "%s:%d: unknown placeholder {{%.60s}}%s%s", r->name, r->line,
            name, near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

/* Returns the longest run of `mark` at the start of a line, after blanks. Carriage returns do
 * not count, since they are not written. */
static size_t longest_fence(const char *text, char mark)
{
    size_t longest = 0;
    for (const char *line = text; *line;) {
        const char *at = line + strspn(line, " \t\r");
        size_t run = 0;
        for (; *at == mark || *at == '\r'; at++) run += *at == mark;
        if (run > longest) longest = run;
        line = strchr(at, '\n');
        if (!line) break;
        line++;
    }
    return longest;
}

/* Control characters, which could hide text from a reader, become '?'. */
void kf_template_quote(kf_buffer *out, const char *text, const char *info)
{
    size_t fence = longest_fence(text, '`') + 1;
    if (fence < 3) fence = 3;
    for (size_t i = 0; i < fence; i++) kf_buffer_append(out, "`", 1);
    kf_buffer_format(out, "%s\n", info);
    size_t size = strlen(text);
    for (size_t i = 0; i < size;) {
        size_t run = i;
        while (run < size &&
               ((unsigned char)text[run] >= 0x20 || text[run] == '\n' || text[run] == '\t') &&
               text[run] != 0x7f)
            run++;
        kf_buffer_append(out, text + i, run - i);
        if (run < size && text[run] != '\r') kf_buffer_append(out, "?", 1);
        i = run + 1;
    }
    if (size && text[size - 1] != '\n') kf_buffer_append(out, "\n", 1);
    for (size_t i = 0; i < fence; i++) kf_buffer_append(out, "`", 1);
}

static bool open_condition(renderer *r, const char *name)
{
    if (r->depth == KF_TEMPLATE_DEPTH)
        return kf_fail(r->error, KF_ERROR_LIMIT, "%s:%d: more than %d nested {{#if}}", r->name,
                       r->line, KF_TEMPLATE_DEPTH);
    const kf_template_value *value = find_value(r, name);
    if (!value) return false;
    bool holds = value->text && *value->text;
    r->conditions[r->depth++] = (condition){.holds = holds, .outer = r->writing, .line = r->line};
    r->writing = r->writing && holds;
    return true;
}

static bool turn_condition(renderer *r)
{
    condition *top = r->depth ? &r->conditions[r->depth - 1] : NULL;
    if (!top || top->has_else)
        return kf_fail(r->error, KF_ERROR_INPUT, "%s:%d: {{else}} without {{#if}}", r->name,
                       r->line);
    top->has_else = true;
    r->writing = top->outer && !top->holds;
    return true;
}

static bool close_condition(renderer *r)
{
    if (!r->depth)
        return kf_fail(r->error, KF_ERROR_INPUT, "%s:%d: {{/if}} without {{#if}}", r->name,
                       r->line);
    r->writing = r->conditions[--r->depth].outer;
    return true;
}

static bool insert(renderer *r, const char *name, bool quoted, const char *info)
{
    const kf_template_value *value = find_value(r, name);
    if (!value) return false;
    if (value->data && !quoted)
        return kf_fail(r->error, KF_ERROR_INPUT,
                       "%s:%d: %s holds data of a candidate or a tool; use {{quote %s}}", r->name,
                       r->line, name, name);
    if (!r->writing) return true;
    if (quoted)
        kf_template_quote(&r->out, value->text ? value->text : "", info);
    else
        kf_buffer_string(&r->out, value->text ? value->text : "");
    return true;
}

/* Splits a tag's text into up to three words; the caller rejects more. */
static int split_words(char *text, char *words[4])
{
    int count = 0;
    for (char *save, *word = strtok_r(text, " \t", &save); word && count < 4;
         word = strtok_r(NULL, " \t", &save))
        words[count++] = word;
    return count;
}

/* Handles a tag; `text` is between the braces. */
static bool handle_tag(renderer *r, char *text)
{
    if (text[0] == '!') return true;
    char *words[4];
    int count = split_words(text, words);
    if (count == 2 && strcmp(words[0], "#if") == 0) return open_condition(r, words[1]);
    if (count == 1 && strcmp(words[0], "else") == 0) return turn_condition(r);
    if (count == 1 && strcmp(words[0], "/if") == 0) return close_condition(r);
    if (count >= 2 && count <= 3 && strcmp(words[0], "quote") == 0)
        return insert(r, words[1], true, count == 3 ? words[2] : "");
    if (count == 1 && words[0][0] != '#' && words[0][0] != '/')
        return insert(r, words[0], false, "");
    return kf_fail(r->error, KF_ERROR_INPUT,
                   "%s:%d: {{%.60s%s}} is not a tag; tags are {{NAME}}, {{quote NAME}}, {{#if "
                   "NAME}}, {{else}}, {{/if}}, {{! remark}}",
                   r->name, r->line, count ? words[0] : "", count > 1 ? " …" : "");
}

/* True if the tag inserts nothing. */
static bool is_silent(const char *tag, size_t size)
{
    while (size && (*tag == ' ' || *tag == '\t')) tag++, size--;
    return size && (*tag == '#' || *tag == '/' || *tag == '!' ||
                    (size >= 4 && memcmp(tag, "else", 4) == 0 && (size == 4 || tag[4] == ' ')));
}

/* True if a silent tag is alone on its line: *start is the start of the line, *next that of the
 * next line. */
static bool alone_on_line(const char *text, size_t size, size_t open, size_t behind, size_t *start,
                          size_t *next)
{
    *start = open;
    while (*start > 0 && (text[*start - 1] == ' ' || text[*start - 1] == '\t')) (*start)--;
    *next = behind;
    while (*next < size && (text[*next] == ' ' || text[*next] == '\t' || text[*next] == '\r'))
        (*next)++;
    if ((*start > 0 && text[*start - 1] != '\n') || (*next < size && text[*next] != '\n'))
        return false;
    if (*next < size) (*next)++;
    return true;
}

static int count_lines(const char *text, size_t from, size_t to)
{
    int lines = 0;
    for (size_t i = from; i < to; i++) lines += text[i] == '\n';
    return lines;
}

static bool render(renderer *r, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const char *open = memmem(text + at, size - at, "{{", 2);
        size_t tag = open ? (size_t)(open - text) : size, copy_to = tag, next = size;
        const char *close = open ? memmem(open + 2, size - tag - 2, "}}", 2) : NULL;
        int line = r->line + count_lines(text, at, tag);
        if (open && (!close || memchr(open, '\n', (size_t)(close - open))))
            return kf_fail(r->error, KF_ERROR_INPUT, "%s:%d: {{ without }} on its line", r->name,
                           line);
        if (open) {
            size_t start, behind = (size_t)(close - text) + 2;
            next = behind;
            size_t line_next;
            if (is_silent(open + 2, (size_t)(close - open) - 2) &&
                alone_on_line(text, size, tag, behind, &start, &line_next) && start >= at) {
                copy_to = start;
                next = line_next;
            }
        }
        if (r->writing) kf_buffer_append(&r->out, text + at, copy_to - at);
        if (open) {
            kf_autofree char *inside = strndup(open + 2, (size_t)(close - open) - 2);
            if (!inside) return kf_fail_memory(r->error, "a prompt");
            r->line = line;
            if (!handle_tag(r, inside)) return false;
        }
        r->line = line + count_lines(text, tag, next);
        at = next;
    }
    if (r->depth)
        return kf_fail(r->error, KF_ERROR_INPUT, "%s:%d: {{#if}} without {{/if}}", r->name,
                       r->conditions[r->depth - 1].line);
    return true;
}

char *kf_template_render(const char *name, const char *text, size_t size,
                         const kf_template_value *values, size_t count, kf_error *error)
{
    renderer r = {.name = name,
                  .values = values,
                  .count = count,
                  .out = {.limit = KF_PROMPT_BYTES},
                  .line = 1,
                  .writing = true,
                  .error = error};
    if (!render(&r, text, size)) {
        kf_buffer_free(&r.out);
        return NULL;
    }
    if (r.out.failed && r.out.size < KF_PROMPT_BYTES)
        kf_fail_memory(error, "a prompt");
    else if (r.out.failed)
        kf_fail(error, KF_ERROR_LIMIT, "%s: the prompt is larger than %u bytes", name,
                KF_PROMPT_BYTES);
    return kf_buffer_take(&r.out);
}
