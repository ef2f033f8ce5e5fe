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

/* Copies the white space and comments between token `index` and the one before it. */
static void copy_gap(const kf_tokens *tokens, uint32_t index, bool only_newlines, kf_buffer *output)
{
    uint32_t from = index ? tokens->list[index - 1].offset + tokens->list[index - 1].size : 0;
    uint32_t to = tokens->list[index].offset;
    if (!only_newlines) {
        kf_buffer_append(output, tokens->text + from, to - from);
        return;
    }
    for (uint32_t i = from; i < to; i++)
        if (tokens->text[i] == '\n') kf_buffer_append(output, "\n", 1);
}

/* Keeps the newlines inside a removed token (raw strings, continued lines), so that line numbers
 * stay. */
static void remove_token(const kf_tokens *tokens, uint32_t index, kf_buffer *output)
{
    const kf_token *token = &tokens->list[index];
    const char *text = tokens->text + token->offset;
    if (token->kind == KF_TOKEN_DIRECTIVE) {
        bool marker =
            token->size > 2 && text[0] == '#' && text[1] == ' ' && text[2] >= '0' && text[2] <= '9';
        if (marker) {
            kf_buffer_append(output, text, token->size);
            return;
        }
    }
    for (uint32_t i = 0; i < token->size; i++)
        if (text[i] == '\n') kf_buffer_append(output, "\n", 1);
}

void kf_edits_apply(kf_edits *edits, const kf_tokens *tokens, kf_buffer *output)
{
    if (edits->count) qsort(edits->list, edits->count, sizeof *edits->list, compare_edits);
    size_t next = 0;
    uint32_t removed_until = 0; /* tokens before this one are being removed */
    for (uint32_t i = 0; i <= tokens->count; i++) {
        bool removed_before = i < removed_until;
        copy_gap(tokens, i, removed_before, output);
        for (; next < edits->count && edits->list[next].token == i &&
               edits->list[next].place != KF_EDIT_AFTER;
             next++) {
            const kf_edit *edit = &edits->list[next];
            if (edit->place == KF_EDIT_REPLACE) {
                if (i < removed_until) continue;
                removed_until = edit->last + 1;
            }
            kf_buffer_append(output, edits->texts.data + edit->text, edit->size);
        }
        const kf_token *token = &tokens->list[i];
        if (i < removed_until)
            remove_token(tokens, i, output);
        else
            kf_buffer_append(output, tokens->text + token->offset, token->size);
        for (; next < edits->count && edits->list[next].token == i; next++)
            kf_buffer_append(output, edits->texts.data + edits->list[next].text,
                             edits->list[next].size);
    }
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
        kf_buffer_append(output, tokens->text + token->offset, token->size);
    }
}
