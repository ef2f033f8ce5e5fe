#include "llm_continue.h"

#include <string.h>

#include "extract_internal.h"

/* Bytes that a model may repeat. */
#define MAX_REPEAT 2000
/* Shorter texts may be equal by chance, unless they are a whole line. */
#define MIN_REPEAT 12
#define MIN_LINE 4
/* With so many equal bytes at its start, a continuation repeats the whole reply. */
#define RESTART_BYTES 64
#define MAX_REMARK 300

/* True if the line is a fence. *has_info: words follow it, so it opens a block. */
static bool is_fence(kf_span line, bool *has_info)
{
    kf_span text = kf_span_trim(line);
    size_t marks = 0;
    while (marks < text.size && text.data[marks] == text.data[0] &&
           (text.data[0] == '`' || text.data[0] == '~'))
        marks++;
    *has_info = text.size > marks;
    return marks >= 3;
}

/* True if a block is open at the end of the text. *closed counts the closed ones. */
static bool in_block(const char *text, size_t size, int *closed)
{
    kf_span rest = {text, size}, line;
    bool open = false, has_info;
    *closed = 0;
    while (kf_span_line(&rest, &line)) {
        if (!is_fence(line, &has_info)) continue;
        if (open && !has_info) ++*closed;
        open = !open || has_info;
    }
    return open;
}

bool kf_reply_is_open(const char *text, size_t size)
{
    int closed;
    return in_block(text, size, &closed) || !closed;
}

/* Returns the bytes of `more` up to and with a fence that opens the block again. A short remark
 * before it counts, too. 0: no such fence. */
static size_t reopening_bytes(const char *more, size_t size)
{
    kf_span rest = {more, size < MAX_REMARK ? size : MAX_REMARK}, line;
    bool has_info;
    while (kf_span_line(&rest, &line)) {
        if (!is_fence(line, &has_info)) continue;
        return has_info ? (size_t)(rest.data - more) : 0;
    }
    return 0;
}

/* Returns how many bytes at the end of `text` are the first ones of `more`. */
static size_t overlap(const char *text, size_t size, const char *more, size_t more_size)
{
    size_t most = size < more_size ? size : more_size;
    if (most > MAX_REPEAT) most = MAX_REPEAT;
    for (size_t k = most; k >= MIN_LINE; k--) {
        const char *end = text + size - k;
        bool whole_line = end == text || end[-1] == '\n';
        if ((k >= MIN_REPEAT || whole_line) && memcmp(end, more, k) == 0) return k;
    }
    return 0;
}

void kf_reply_join(kf_buffer *text, const char *more, size_t size)
{
    int closed;
    if (text->size >= RESTART_BYTES && size >= RESTART_BYTES &&
        memcmp(text->data, more, RESTART_BYTES) == 0) {
        kf_buffer_clear(text);
    } else if (text->size) {
        size_t skip = in_block(text->data, text->size, &closed) ? reopening_bytes(more, size) : 0;
        skip += overlap(text->data, text->size, more + skip, size - skip);
        more += skip;
        size -= skip;
    }
    kf_buffer_append(text, more, size);
}
