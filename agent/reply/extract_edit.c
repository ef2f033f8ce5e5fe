/* Search/replace edits.
 *
 *     <<<<<<< SEARCH
 *     the present lines
 *     =======
 *     the new lines
 *     >>>>>>> REPLACE
 *
 * Whole lines are matched, at three levels: exact, without trailing white space, without white
 * space at both ends. The first level that finds the lines decides. They must occur there only
 * once, because a wrong guess would put the edit in the wrong place. At the last level the
 * replacement gets the indentation of the lines found. The search compares hashes of lines (Knuth,
 * Morris and Pratt, 1977), then the bytes of the place found. So neither repetitive input nor a
 * hash collision does harm. */
#include "extract.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "extract_internal.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"

/* In one reply. */
#define EDIT_LIMIT 1000
/* Limit of the edited source. */
#define EDITED_BYTES (16u << 20)

typedef enum match_level { MATCH_EXACT, MATCH_TRAILING, MATCH_TRIMMED, MATCH_LEVELS } match_level;

/* ---- finding the edits ----------------------------------------------------------------------- */

/* True for a marker as "<<<<<<< SEARCH": at least five marks at any indentation, then the word in
 * upper or lower case. '=' takes no word. */
static bool is_marker(kf_span line, char mark, const char *word)
{
    line = kf_span_trim(line);
    size_t run = 0;
    while (run < line.size && line.data[run] == mark) run++;
    if (run < 5) return false;
    return kf_span_equal(kf_span_trim((kf_span){line.data + run, line.size - run}), word);
}

typedef struct edit {
    /* Of the reply, with line breaks. */
    kf_span search, replace;
} edit;

/* Reads the next edit of `rest`. Returns 1, 0 at the end, or -1 with *error for a broken edit. */
static int next_edit(kf_span *rest, int number, edit *found, kf_error *error)
{
    kf_span line;
    do {
        if (!kf_span_line(rest, &line)) return 0;
    } while (!is_marker(line, '<', "SEARCH"));
    kf_span *parts[2] = {&found->search, &found->replace};
    for (int k = 0; k < 2; k++) {
        const char *start = rest->data;
        const char *expected = k ? ">>>>>>> REPLACE" : "=======";
        do {
            if (!kf_span_line(rest, &line) || is_marker(line, '<', "SEARCH")) {
                kf_fail(error, KF_ERROR_INPUT,
                        "edit %d has no %s line; write <<<<<<< SEARCH, =======, >>>>>>> REPLACE "
                        "each on its own line",
                        number, expected);
                return -1;
            }
        } while (!(k ? is_marker(line, '>', "REPLACE") : is_marker(line, '=', "")));
        *parts[k] = (kf_span){start, (size_t)(line.data - start)};
    }
    return 1;
}

bool kf_extract_has_edits(const char *reply, size_t size)
{
    if (size > KF_REPLY_BYTES) return false;
    bool only_reasoning;
    kf_span rest = kf_reply_answer(reply, size, &only_reasoning), line;
    while (kf_span_line(&rest, &line))
        if (is_marker(line, '<', "SEARCH")) return true;
    return false;
}

/* ---- matching lines -------------------------------------------------------------------------- */

typedef struct lines {
    /* Without line breaks. */
    kf_span *line;
    uint64_t *hash;
    size_t count;
} lines;

static void lines_free(lines *all)
{
    free(all->line);
    free(all->hash);
}

static bool lines_split(kf_span text, lines *all)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) count += text.data[i] == '\n';
    *all = (lines){.line = malloc((count + 1) * sizeof *all->line),
                   .hash = malloc((count + 1) * sizeof *all->hash)};
    if (!all->line || !all->hash) return false;
    while (kf_span_line(&text, &all->line[all->count])) all->count++;
    return true;
}

/* Returns the part of a line that counts at a level. */
static kf_span significant(kf_span line, match_level level)
{
    if (level == MATCH_TRIMMED) return kf_span_trim(line);
    if (level == MATCH_TRAILING)
        while (line.size && strchr(" \t\r\v\f", line.data[line.size - 1])) line.size--;
    return line;
}

/* FNV-1a, 64 bits. */
static void lines_hash(lines *all, match_level level)
{
    for (size_t i = 0; i < all->count; i++) {
        kf_span line = significant(all->line[i], level);
        uint64_t hash = 14695981039346656037u;
        for (size_t k = 0; k < line.size; k++)
            hash = (hash ^ (unsigned char)line.data[k]) * 1099511628211u;
        all->hash[i] = hash;
    }
}

static bool same_at(const lines *text, size_t at, const lines *search, match_level level)
{
    for (size_t i = 0; i < search->count; i++) {
        kf_span a = significant(text->line[at + i], level), b = significant(search->line[i], level);
        if (a.size != b.size || memcmp(a.data, b.data, a.size) != 0) return false;
    }
    return true;
}

typedef struct matches {
    /* Line indices of the first two places. */
    size_t first, second;
    size_t count;
    /* The most leading lines of the search that occur together, and where. */
    size_t longest, longest_at;
} matches;

/* Finds the lines by Knuth-Morris-Pratt over line hashes. False: out of memory. */
static bool find_lines(const lines *text, const lines *search, match_level level, matches *found)
{
    size_t m = search->count;
    kf_autofree size_t *border = malloc((m + 1) * sizeof *border);
    if (!border) return false;
    border[0] = 0;
    for (size_t i = 1, k = 0; i < m; i++) {
        while (k && search->hash[i] != search->hash[k]) k = border[k - 1];
        if (search->hash[i] == search->hash[k]) k++;
        border[i] = k;
    }
    *found = (matches){0};
    for (size_t i = 0, k = 0; i < text->count; i++) {
        while (k && text->hash[i] != search->hash[k]) k = border[k - 1];
        if (text->hash[i] == search->hash[k]) k++;
        if (k > found->longest) found->longest = k, found->longest_at = i + 1 - k;
        if (k < m) continue;
        size_t at = i + 1 - m;
        k = border[m - 1];
        /* Two places are enough to refuse the edit. */
        if (found->count >= 2)
            found->count++;
        else if (same_at(text, at, search, level))
            *(found->count++ ? &found->second : &found->first) = at;
    }
    return true;
}

/* ---- applying -------------------------------------------------------------------------------- */

static kf_span indentation(kf_span line)
{
    size_t size = 0;
    while (size < line.size && (line.data[size] == ' ' || line.data[size] == '\t')) size++;
    return (kf_span){line.data, size};
}

/* Writes the replacement. Moves it by the difference between the indentation found and the one
 * searched. */
static void write_replacement(kf_buffer *out, kf_span replace, kf_span searched, kf_span found,
                              bool move)
{
    kf_span line;
    while (kf_span_line(&replace, &line)) {
        if (move && kf_span_trim(line).size) {
            /* Shared with the searched indentation. */
            size_t common = 0;
            while (common < searched.size && common < line.size &&
                   line.data[common] == searched.data[common])
                common++;
            size_t lacking = searched.size - common;
            kf_buffer_append(out, found.data, found.size > lacking ? found.size - lacking : 0);
            line.data += common;
            line.size -= common;
        }
        kf_buffer_append(out, line.data, line.size);
        kf_buffer_append(out, "\n", 1);
    }
}

/* Drops blank lines at both ends of a search text. Without white space they mean nothing. */
static void drop_blank_ends(lines *search)
{
    while (search->count && !kf_span_trim(search->line[search->count - 1]).size) search->count--;
    size_t lead = 0;
    while (lead < search->count && !kf_span_trim(search->line[lead]).size) lead++;
    memmove(search->line, search->line + lead, (search->count - lead) * sizeof *search->line);
    search->count -= lead;
}

static bool complain_missing(int number, const lines *text, const lines *search,
                             const matches *found, kf_error *error)
{
    kf_span wanted =
        kf_span_trim(search->line[found->longest < search->count ? found->longest : 0]);
    if (!found->longest)
        return kf_fail(error, KF_ERROR_INPUT,
                       "edit %d does not apply: its first line `%.*s` is not in the source; copy "
                       "SEARCH lines exactly",
                       number, (int)(wanted.size < 160 ? wanted.size : 160), wanted.data);
    size_t at = found->longest_at + found->longest;
    kf_span there =
        at < text->count ? kf_span_trim(text->line[at]) : (kf_span){"the end of the source", 21};
    return kf_fail(error, KF_ERROR_INPUT,
                   "edit %d does not apply: its first %zu line%s at line %zu of the source, but "
                   "then it has `%.*s` where the "
                   "source has `%.*s`",
                   number, found->longest, found->longest == 1 ? " matches" : "s match",
                   found->longest_at + 1, (int)(wanted.size < 160 ? wanted.size : 160), wanted.data,
                   (int)(there.size < 160 ? there.size : 160), there.data);
}

static bool apply_edit(kf_buffer *source, const edit *change, int number, kf_error *error)
{
    __attribute__((cleanup(lines_free))) lines text = {0}, search = {0};
    if (!lines_split((kf_span){source->data ? source->data : "", source->size}, &text) ||
        !lines_split(change->search, &search))
        return kf_fail_memory(error, "an edit");
    if (!kf_span_trim(change->search).size)
        return kf_fail(error, KF_ERROR_INPUT,
                       "edit %d has an empty SEARCH part; give the lines that it replaces", number);
    matches found = {0};
    match_level level = MATCH_EXACT;
    for (; level < MATCH_LEVELS; level++) {
        if (level == MATCH_TRIMMED) drop_blank_ends(&search);
        lines_hash(&text, level);
        lines_hash(&search, level);
        if (!find_lines(&text, &search, level, &found)) return kf_fail_memory(error, "an edit");
        if (found.count) break;
    }
    if (!found.count) return complain_missing(number, &text, &search, &found, error);
    if (found.count > 1)
        return kf_fail(error, KF_ERROR_INPUT,
                       "edit %d is ambiguous: its SEARCH lines are at lines %zu and %zu of the "
                       "source%s; add lines around them "
                       "until only one place fits",
                       number, found.first + 1, found.second + 1,
                       found.count > 2 ? " and elsewhere" : "");
    kf_span first = text.line[found.first], last = text.line[found.first + search.count - 1];
    const char *end = source->data + source->size, *behind = last.data + last.size;
    /* The CR of a CRLF. */
    while (behind < end && *behind != '\n') behind++;
    if (behind < end) behind++;
    kf_buffer edited = {.limit = EDITED_BYTES};
    kf_buffer_append(&edited, source->data, (size_t)(first.data - source->data));
    write_replacement(&edited, change->replace, indentation(search.line[0]), indentation(first),
                      level == MATCH_TRIMMED);
    kf_buffer_append(&edited, behind, (size_t)(end - behind));
    if (edited.failed) {
        bool large = edited.size >= EDITED_BYTES;
        kf_buffer_free(&edited);
        return large
                   ? kf_fail(error, KF_ERROR_LIMIT, "edit %d makes the source larger than %u bytes",
                             number, EDITED_BYTES)
                   : kf_fail_memory(error, "an edit");
    }
    kf_buffer_free(source);
    *source = edited;
    return true;
}

char *kf_extract_apply(const char *parent, const char *reply, size_t size, int *applied,
                       kf_error *error)
{
    *applied = 0;
    if (!kf_reply_check(reply, size, error)) return NULL;
    bool only_reasoning;
    kf_span rest = kf_reply_answer(reply, size, &only_reasoning);
    kf_autobuffer source = {.limit = EDITED_BYTES};
    kf_buffer_string(&source, parent);
    if (source.failed) {
        if (source.size >= EDITED_BYTES)
            kf_fail(error, KF_ERROR_LIMIT, "the source to edit is larger than %u bytes",
                    EDITED_BYTES);
        else
            kf_fail_memory(error, "the source to edit");
        return NULL;
    }
    edit change;
    for (;;) {
        int got = next_edit(&rest, *applied + 1, &change, error);
        if (got < 0) return NULL;
        if (got == 0) break;
        if (*applied >= EDIT_LIMIT) {
            kf_fail(error, KF_ERROR_LIMIT,
                    "the reply has more than %d edits; send the whole source instead", EDIT_LIMIT);
            return NULL;
        }
        if (!apply_edit(&source, &change, *applied + 1, error)) return NULL;
        (*applied)++;
    }
    if (!*applied) {
        kf_fail(error, KF_ERROR_INPUT, "the reply holds no search/replace edit");
        return NULL;
    }
    return kf_buffer_take(&source);
}
