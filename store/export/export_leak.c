/* Finding code of a candidate in a text, by hashes of several normalised lines in a row, and which
 * rows are left out for it. Also the sets of hashes that exports keep. */
#include <ctype.h>
#include <string.h>

#include "export_internal.h"

/* ---- hashing --------------------------------------------------------------------------------- */

uint64_t kf_hash_mix(uint64_t hash, const void *data, size_t size)
{
    hash ^= KF_HASH_START;
    for (size_t i = 0; i < size; i++) hash = kf_hash_step(hash, ((const unsigned char *)data)[i]);
    return kf_hash_finish(hash);
}

/* ---- sets ------------------------------------------------------------------------------------ */

void kf_hash_set_free(kf_hash_set *set)
{
    free(set->slots);
    *set = (kf_hash_set){0};
}

static bool grow(kf_hash_set *set)
{
    size_t capacity = set->capacity ? 2 * set->capacity : 1024;
    uint64_t *slots = calloc(capacity, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (!set->slots[i]) continue;
        size_t slot = set->slots[i] & (capacity - 1);
        while (slots[slot]) slot = (slot + 1) & (capacity - 1);
        slots[slot] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

bool kf_hash_set_add(kf_hash_set *set, uint64_t hash)
{
    if (4 * (set->size + 1) > 3 * set->capacity && !grow(set)) {
        set->failed = true;
        return true;
    }
    hash += !hash;
    size_t slot = hash & (set->capacity - 1);
    for (; set->slots[slot]; slot = (slot + 1) & (set->capacity - 1))
        if (set->slots[slot] == hash) return false;
    set->slots[slot] = hash;
    set->size++;
    return true;
}

bool kf_hash_set_has(const kf_hash_set *set, uint64_t hash)
{
    hash += !hash;
    if (!set->capacity) return false;
    for (size_t slot = hash & (set->capacity - 1); set->slots[slot];
         slot = (slot + 1) & (set->capacity - 1))
        if (set->slots[slot] == hash) return true;
    return false;
}

/* ---- windows of lines ------------------------------------------------------------------------ */

typedef struct window {
    uint64_t hashes[KF_LEAK_LINES];
    size_t sizes[KF_LEAK_LINES];
    size_t lines;
} window;

/* Returns the length of a line number at the start of a line: `12| ` or `12: `. */
static size_t line_number(const char *line, size_t size)
{
    size_t at = 0, digits;
    while (at < size && isspace((unsigned char)line[at])) at++;
    for (digits = at; at < size && isdigit((unsigned char)line[at]);) at++;
    if (at == digits) return 0;
    while (at < size && line[at] == ' ') at++;
    return at < size && (line[at] == '|' || line[at] == ':') ? at + 1 : 0;
}

/* Adds a line. True if the last lines make a fingerprint. Blank lines, lines of punctuation alone,
 * line numbers, and comments within a line do not count. */
static bool slide(window *w, const char *line, size_t size, uint64_t *print)
{
    uint64_t hash = KF_HASH_START;
    size_t count = 0;
    bool word = false;
    for (size_t i = line_number(line, size); i < size; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c == '/' && i + 1 < size && line[i + 1] == '/') break;
        if (c == '/' && i + 1 < size && line[i + 1] == '*') {
            const char *end = memmem(line + i + 2, size - i - 2, "*/", 2);
            if (!end) break;
            i = (size_t)(end - line) + 1;
            continue;
        }
        if (isspace(c)) continue;
        hash = kf_hash_step(hash, c);
        word |= isalnum(c) != 0;
        count++;
    }
    if (!word) return false;
    size_t slot = w->lines++ % KF_LEAK_LINES;
    w->hashes[slot] = hash;
    w->sizes[slot] = count;
    if (w->lines < KF_LEAK_LINES) return false;
    size_t bytes = 0;
    *print = KF_HASH_START;
    for (size_t i = 0; i < KF_LEAK_LINES; i++) {
        size_t k = (w->lines + i) % KF_LEAK_LINES;
        bytes += w->sizes[k];
        *print = kf_hash_finish(*print ^ w->hashes[k]);
    }
    return bytes >= KF_LEAK_BYTES;
}

static bool walk(const char *text, size_t size, kf_hash_set *learn, const kf_hash_set *look)
{
    window w = {0};
    uint64_t print;
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        size_t length = newline ? (size_t)(newline - (text + at)) : size - at;
        if (slide(&w, text + at, length, &print)) {
            if (learn) kf_hash_set_add(learn, print);
            if (look && kf_hash_set_has(look, print)) return true;
        }
        at += length + 1;
    }
    return false;
}

void kf_leak_learn(kf_hash_set *prints, const char *text, size_t size)
{
    walk(text, size, prints, NULL);
}

bool kf_leak_found(const kf_hash_set *prints, const char *text, size_t size)
{
    return prints->size && walk(text, size, NULL, prints);
}

/* ---- rows of the training split -------------------------------------------------------------- */

bool kf_export_count_leak(kf_exporter *e, kf_split split, bool found)
{
    if (split != KF_SPLIT_TRAIN || !found) return false;
    e->report->leaks++;
    return !e->options->keep_leaks;
}

bool kf_export_leaks(kf_exporter *e, kf_split split, const char *text, size_t size)
{
    return kf_export_count_leak(
        e, split, split == KF_SPLIT_TRAIN && text && kf_leak_found(&e->prints, text, size));
}
