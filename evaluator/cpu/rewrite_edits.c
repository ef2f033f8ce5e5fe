/* The rewriter's list of edits: added in any order, applied in one pass over the tokens. */
#include "rewrite_internal.h"

#include <stdlib.h>
#include <string.h>

void kf_edit_add(kf_edits *edits, kf_edit_place place, uint32_t token, uint32_t last,
                 const char *text, size_t size)
{
    if (edits->failed) return;
    if (edits->count == edits->capacity) {
        size_t capacity = edits->capacity ? edits->capacity * 2 : 64;
        kf_edit *list = realloc(edits->list, capacity * sizeof *list);
        if (!list) {
            edits->failed = true;
            return;
        }
        edits->list = list;
        edits->capacity = capacity;
    }
    edits->list[edits->count] = (kf_edit){.token = token,
                                          .last = last,
                                          .place = place,
                                          .order = (uint32_t)edits->count + 1,
                                          .text = edits->texts.size,
                                          .size = size};
    edits->count++;
    kf_buffer_append(&edits->texts, text, size);
    if (edits->texts.failed) edits->failed = true;
}

void kf_edit_string(kf_edits *edits, kf_edit_place place, uint32_t token, const char *text)
{
    kf_edit_add(edits, place, token, token, text, strlen(text));
}

void kf_edit_first(kf_edits *edits, uint32_t token, const char *text)
{
    kf_edit_string(edits, KF_EDIT_BEFORE, token, text);
    if (!edits->failed) edits->list[edits->count - 1].order = 0;
}

void kf_edits_free(kf_edits *edits)
{
    free(edits->list);
    kf_buffer_free(&edits->texts);
    *edits = (kf_edits){0};
}

static int compare_edits(const void *left, const void *right)
{
    const kf_edit *a = left, *b = right;
    if (a->token != b->token) return a->token < b->token ? -1 : 1;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Before a token in the text of an edit: this byte, its offset and its size. Only marked tokens may
 * hold the byte themselves. */
#define MARK '\1'
#define MARK_SIZE 17

typedef struct writer {
    const kf_tokens *tokens;
    kf_rewrite_result *result;
    size_t capacity;
    bool failed; /* out of memory */
} writer;

/* Writes a part of the old text, and notes where it comes from. */
static void copy(writer *w, uint32_t from, uint32_t size)
{
    kf_rewrite_result *result = w->result;
    kf_rewrite_copy *last = result->copy_count ? &result->copies[result->copy_count - 1] : NULL;
    uint32_t to = (uint32_t)result->text.size;
    if (!size) return;
    kf_buffer_append(&result->text, w->tokens->text + from, size);
    if (last && last->to + last->size == to && last->from + last->size == from) {
        last->size += size;
        return;
    }
    if (result->copy_count == w->capacity) {
        size_t capacity = w->capacity ? w->capacity * 2 : 256;
        kf_rewrite_copy *copies = realloc(result->copies, capacity * sizeof *copies);
        if (!copies) {
            w->failed = true;
            return;
        }
        result->copies = copies;
        w->capacity = capacity;
    }
    result->copies[result->copy_count++] = (kf_rewrite_copy){to, from, size};
}

/* Reads the 8 digits of a mark. (sscanf would take the time of the whole text.) */
static uint32_t read_hex(const char *digits)
{
    char word[9] = "";
    memcpy(word, digits, 8);
    return (uint32_t)strtoul(word, NULL, 16);
}

/* Writes the text of an edit without its marks. */
static void write_edit(writer *w, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const char *mark = memchr(text + i, MARK, size - i);
        size_t plain = mark ? (size_t)(mark - text) - i : size - i;
        kf_buffer_append(&w->result->text, text + i, plain);
        i += plain;
        if (!mark) return;
        uint32_t from = read_hex(mark + 1), length = read_hex(mark + 9);
        copy(w, from, length);
        i += MARK_SIZE + length;
    }
}

/* Copies the white space and comments between token `index` and the one before it. */
static void copy_gap(writer *w, uint32_t index, bool only_newlines)
{
    const kf_tokens *tokens = w->tokens;
    uint32_t from = index ? tokens->list[index - 1].offset + tokens->list[index - 1].size : 0;
    uint32_t to = tokens->list[index].offset;
    if (!only_newlines) {
        copy(w, from, to - from);
        return;
    }
    for (uint32_t i = from; i < to; i++)
        if (tokens->text[i] == '\n') kf_buffer_append(&w->result->text, "\n", 1);
}

/* Keeps the newlines inside a removed token (raw strings, continued lines), so that line numbers
 * stay. */
static void remove_token(writer *w, uint32_t index)
{
    const kf_token *token = &w->tokens->list[index];
    const char *text = w->tokens->text + token->offset;
    if (token->kind == KF_TOKEN_DIRECTIVE) {
        bool marker =
            token->size > 2 && text[0] == '#' && text[1] == ' ' && text[2] >= '0' && text[2] <= '9';
        if (marker) {
            copy(w, token->offset, token->size);
            return;
        }
    }
    for (uint32_t i = 0; i < token->size; i++)
        if (text[i] == '\n') kf_buffer_append(&w->result->text, "\n", 1);
}

bool kf_edits_apply(kf_edits *edits, const kf_tokens *tokens, kf_rewrite_result *result)
{
    if (edits->count) qsort(edits->list, edits->count, sizeof *edits->list, compare_edits);
    size_t next = 0;
    uint32_t removed_until = 0; /* tokens before this one are being removed */
    writer w = {.tokens = tokens, .result = result};
    for (uint32_t i = 0; i <= tokens->count; i++) {
        copy_gap(&w, i, i < removed_until);
        for (; next < edits->count && edits->list[next].token == i &&
               edits->list[next].place != KF_EDIT_AFTER;
             next++) {
            const kf_edit *edit = &edits->list[next];
            if (edit->place == KF_EDIT_REPLACE) {
                if (i < removed_until) continue;
                removed_until = edit->last + 1;
            }
            write_edit(&w, edits->texts.data + edit->text, edit->size);
        }
        const kf_token *token = &tokens->list[i];
        if (i < removed_until)
            remove_token(&w, i);
        else
            copy(&w, token->offset, token->size);
        for (; next < edits->count && edits->list[next].token == i; next++)
            write_edit(&w, edits->texts.data + edits->list[next].text, edits->list[next].size);
    }
    return !w.failed;
}

void kf_flatten(const kf_tokens *tokens, uint32_t first, uint32_t last, kf_buffer *output)
{
    bool blank = false;
    for (uint32_t i = first; i < last && i < tokens->count; i++) {
        const kf_token *token = &tokens->list[i];
        blank = blank || (i > first && !kf_token_adjacent(tokens, i));
        if (token->kind == KF_TOKEN_DIRECTIVE) {
            blank = true;
            continue;
        }
        if (blank) kf_buffer_append(output, " ", 1);
        blank = false;
        kf_buffer_format(output, "%c%08x%08x", MARK, (unsigned)token->offset,
                         (unsigned)token->size);
        kf_buffer_append(output, tokens->text + token->offset, token->size);
    }
}
