/* Finding equal candidates, by hashes of normalised source, and finding code of one in a text, by
 * hashes of several normalised lines in a row. */
#include <ctype.h>
#include <string.h>

#include "export_internal.h"

/* ---- hashing --------------------------------------------------------------------------------- */

/* 64-bit FNV-1a over bytes, then the mixer of MurmurHash3 (Appleby). A collision gives an adversary
 * no advantage here. */
static uint64_t finish(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53;
    return hash ^ hash >> 33;
}

#define START 0xcbf29ce484222325

static inline uint64_t step(uint64_t hash, unsigned char c)
{
    return (hash ^ c) * 0x100000001b3;
}

uint64_t kf_hash_mix(uint64_t hash, const void *data, size_t size)
{
    hash ^= START;
    for (size_t i = 0; i < size; i++) hash = step(hash, ((const unsigned char *)data)[i]);
    return finish(hash);
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

/* ---- normalised source ----------------------------------------------------------------------- */

/* Returns the end of the string or character literal that begins at `at`. */
static size_t skip_literal(const char *text, size_t size, size_t at)
{
    char quote = text[at++];
    while (at < size && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return at < size ? at + 1 : size;
}

static bool is_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

uint64_t kf_normalised_source(const char *source, size_t size)
{
    uint64_t hash = START;
    bool gap = false;       /* white space or a comment since the last byte */
    unsigned char last = 0; /* byte that was hashed last */
    for (size_t at = 0; at < size;) {
        unsigned char c = (unsigned char)source[at];
        if (c == '/' && at + 1 < size && source[at + 1] == '/') {
            while (at < size && source[at] != '\n') at++;
            gap = true;
        } else if (c == '/' && at + 1 < size && source[at + 1] == '*') {
            at += 2;
            while (at < size && !(source[at] == '*' && at + 1 < size && source[at + 1] == '/'))
                at++;
            at += 2;
            gap = true;
        } else if (isspace(c)) {
            /* The end of a preprocessor line has a meaning. Other white space only separates words.
             */
            gap = true;
            at++;
        } else {
            if (gap &&
                ((is_word(last) && is_word(c)) || (last == c && strchr("+-&|<>=", c)) || c == '#'))
                hash = step(hash, ' ');
            gap = false;
            size_t end = c == '"' || c == '\'' ? skip_literal(source, size, at) : at + 1;
            if (end > size) end = size;
            for (; at < end; at++) hash = step(hash, (unsigned char)source[at]);
            last = (unsigned char)source[end - 1];
        }
    }
    return finish(hash);
}

/* ---- folding --------------------------------------------------------------------------------- */

uint64_t kf_fold_code(const char *code_hash, size_t size)
{
    return code_hash && size ? kf_hash_mix(1, code_hash, size) : 0;
}

kf_fold kf_fold_of(int64_t task, int64_t device, const char *source, size_t size, uint64_t code)
{
    uint64_t place[3] = {(uint64_t)task, (uint64_t)device, kf_normalised_source(source, size)};
    kf_fold fold = {.source = kf_hash_mix(2, place, sizeof place)};
    place[2] = code;
    if (code) fold.code = kf_hash_mix(3, place, sizeof place);
    return fold;
}

bool kf_fold_has(const kf_hash_set *seen, const kf_fold *fold)
{
    return (fold->source && kf_hash_set_has(seen, fold->source)) ||
           (fold->code && kf_hash_set_has(seen, fold->code));
}

void kf_fold_add(kf_hash_set *seen, const kf_fold *fold)
{
    if (fold->source) kf_hash_set_add(seen, fold->source);
    if (fold->code) kf_hash_set_add(seen, fold->code);
}

bool kf_export_is_new(kf_exporter *e, const kf_fold *fold)
{
    if (!e->options->dedup) return true;
    if (kf_fold_has(&e->seen, fold)) return e->report->duplicates++, false;
    kf_fold_add(&e->seen, fold);
    return true;
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
    uint64_t hash = START;
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
        hash = step(hash, c);
        word |= isalnum(c) != 0;
        count++;
    }
    if (!word) return false;
    size_t slot = w->lines++ % KF_LEAK_LINES;
    w->hashes[slot] = hash;
    w->sizes[slot] = count;
    if (w->lines < KF_LEAK_LINES) return false;
    size_t bytes = 0;
    *print = START;
    for (size_t i = 0; i < KF_LEAK_LINES; i++) {
        size_t k = (w->lines + i) % KF_LEAK_LINES;
        bytes += w->sizes[k];
        *print = finish(*print ^ w->hashes[k]);
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
