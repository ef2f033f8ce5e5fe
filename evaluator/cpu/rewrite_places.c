#include "rewrite_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A token of the expanded text, and its place. */
typedef struct mark {
    uint32_t offset;
    uint32_t file, file_size; /* in `names` */
    uint32_t line, column;
} mark;

struct kf_places {
    const char *file, *source;
    const char *expanded;
    size_t size;
    const kf_rewrite_result *rewritten;
    mark *marks;
    size_t count, capacity;
    kf_buffer names;
};

/* ---- marks ----------------------------------------------------------------------------------- */

static const char mark_start[] = "{P:";

/* Reads "{P:FILE;F:…;L:4;C:12;…,R:…}" at `at`. Returns the text behind it, or NULL. */
static const char *read_mark(const char *at, const char *end, kf_place *place)
{
    const char *file = at + sizeof mark_start - 1;
    const char *from = memmem(file, (size_t)(end - file), ";F:", 3);
    const char *line = from ? memmem(from, (size_t)(end - from), ";L:", 3) : NULL;
    const char *column = line ? memmem(line, (size_t)(end - line), ";C:", 3) : NULL;
    const char *rest = column ? memmem(column, (size_t)(end - column), ",R:", 3) : NULL;
    const char *close = rest ? memchr(rest, '}', (size_t)(end - rest)) : NULL;
    if (!close || (size_t)(from - file) >= sizeof place->file) return NULL;
    snprintf(place->file, sizeof place->file, "%.*s", (int)(from - file), file);
    place->line = strtol(line + 3, NULL, 10);
    place->column = strtol(column + 3, NULL, 10);
    return close + 1;
}

static bool add_mark(kf_places *places, uint32_t offset, const kf_place *place)
{
    if (places->count == places->capacity) {
        size_t capacity = places->capacity ? 2 * places->capacity : 1024;
        mark *marks = realloc(places->marks, capacity * sizeof *marks);
        if (!marks) return false;
        places->marks = marks;
        places->capacity = capacity;
    }
    size_t length = strlen(place->file);
    mark *last = places->count ? &places->marks[places->count - 1] : NULL;
    bool same = last && last->file_size == length &&
                memcmp(places->names.data + last->file, place->file, length) == 0;
    uint32_t file = same ? last->file : (uint32_t)places->names.size;
    if (!same) kf_buffer_append(&places->names, place->file, length);
    places->marks[places->count++] =
        (mark){offset, file, (uint32_t)length, (uint32_t)place->line, (uint32_t)place->column};
    return !places->names.failed;
}

/* Reads all marks. They count only if the rest is the expanded text. */
static bool read_marks(kf_places *places, const char *traced, size_t size)
{
    const char *at = traced, *end = traced + size;
    size_t offset = 0;
    bool fits = true;
    while (at < end && fits) {
        const char *next = memmem(at, (size_t)(end - at), mark_start, sizeof mark_start - 1);
        size_t plain = (size_t)((next ? next : end) - at);
        fits = offset + plain <= places->size && memcmp(places->expanded + offset, at, plain) == 0;
        offset += plain;
        at += plain;
        if (!next || !fits) break;
        kf_place place;
        const char *behind = read_mark(at, end, &place);
        fits = behind != NULL;
        if (fits && !add_mark(places, (uint32_t)offset, &place)) return false;
        at = behind;
    }
    if (!fits || offset != places->size) places->count = 0;
    return true;
}

kf_places *kf_places_new(const char *file, const char *source, const char *expanded, size_t size,
                         const char *traced, size_t traced_size, const kf_rewrite_result *rewritten)
{
    kf_auto(kf_places) places = calloc(1, sizeof *places);
    if (!places) return NULL;
    places->file = file;
    places->source = source;
    places->expanded = expanded;
    places->size = size;
    places->rewritten = rewritten;
    if (traced && !read_marks(places, traced, traced_size)) return NULL;
    return kf_steal(&places);
}

void kf_places_free(kf_places *places)
{
    if (!places) return;
    free(places->marks);
    kf_buffer_free(&places->names);
    free(places);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Reads the linemarker `# 12 "file" 1`. False for any other line. */
static bool read_linemarker(const char *line, size_t size, kf_place *place)
{
    if (size < 5 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9')
        return false;
    const char *open = memchr(line, '"', size);
    const char *close = open ? memchr(open + 1, '"', size - (size_t)(open + 1 - line)) : NULL;
    if (!close || (size_t)(close - open) > sizeof place->file) return false;
    snprintf(place->file, sizeof place->file, "%.*s", (int)(close - open - 1), open + 1);
    place->line = strtol(line + 2, NULL, 10);
    return true;
}

/* Finds a place in the rewritten text by its linemarkers. A line may be there in several parts: the
 * first one that is long enough counts. */
static bool find_offset(const kf_buffer *text, const kf_place *wanted, size_t *offset)
{
    kf_place here = {.line = 1};
    bool found = false;
    for (size_t at = 0; at < text->size;) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->size - at);
        size_t size = end ? (size_t)(end - line) : text->size - at;
        kf_place marker;
        if (read_linemarker(line, size, &marker)) {
            here = marker;
        } else {
            bool same = here.line == wanted->line && strcmp(here.file, wanted->file) == 0;
            size_t column = wanted->column > 0 ? (size_t)wanted->column - 1 : 0;
            if (same && (!found || column <= size)) {
                *offset = at + (column < size ? column : size);
                found = true;
                if (column <= size) return true;
            }
            here.line++;
        }
        at += size + 1;
    }
    return found;
}

/* Writes the file and line of an offset in the expanded text, by its linemarkers. */
static void place_of_line(const kf_places *places, size_t offset, kf_place *place)
{
    *place = (kf_place){.line = 1};
    for (size_t at = 0; at < places->size;) {
        const char *line = places->expanded + at, *end = memchr(line, '\n', places->size - at);
        size_t size = end ? (size_t)(end - line) : places->size - at;
        kf_place marker;
        bool moved = read_linemarker(line, size, &marker);
        if (moved) *place = marker;
        if (at + size >= offset) return;
        if (!moved) place->line++;
        at += size + 1;
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Returns the offset in the expanded text. New text counts as the end of the copy before it, unless
 * a copy begins there. */
static size_t expanded_offset(const kf_places *places, size_t offset)
{
    const kf_rewrite_result *r = places->rewritten;
    size_t low = 0, high = r->copy_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->copies[middle].to <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return r->copy_count ? r->copies[0].from : 0;
    const kf_rewrite_copy *copy = &r->copies[low - 1];
    size_t inside = offset - copy->to;
    return copy->from + (inside < copy->size ? inside : copy->size);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the size of the token at a mark, 0 for white space. */
static size_t token_size(const kf_places *places, size_t index)
{
    size_t start = places->marks[index].offset,
           end = index + 1 < places->count ? places->marks[index + 1].offset : places->size;
    while (end > start && is_blank(places->expanded[end - 1])) end--;
    return end - start;
}

/* Returns the last token that begins at or before the offset, or places->count. */
static size_t token_at(const kf_places *places, size_t offset)
{
    size_t low = 0, high = places->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (places->marks[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && !token_size(places, low - 1)) low--;
    return low ? low - 1 : places->count;
}

static void place_of_mark(const kf_places *places, const mark *m, kf_place *place)
{
    snprintf(place->file, sizeof place->file, "%.*s", (int)m->file_size,
             places->names.data + m->file);
    place->line = m->line;
    place->column = m->column;
}

const char *kf_places_line(const char *text, long line)
{
    while (text && line-- > 1) {
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return text;
}

/* True if a name follows the column, as the name of a macro follows the token before its use. A
 * comma or a bracket follows an argument. */
static bool is_before_name(const kf_places *places, const kf_place *place, long column)
{
    if (!places->source || strcmp(places->file, place->file) != 0) return true;
    const char *line = kf_places_line(places->source, place->line);
    if (!line || (size_t)column - 1 > strcspn(line, "\n")) return true;
    line += column - 1;
    line += strspn(line, " \t");
    return *line == '_' || (*line >= 'A' && *line <= 'Z') || (*line >= 'a' && *line <= 'z');
}

/* Writes the use of the macro that gave the token: behind the last token before the use that is in
 * its own line. Column 0 if the line begins with the macro. */
static void place_of_use(const kf_places *places, size_t index, const kf_place *line, kf_place *use)
{
    *use = *line;
    use->column = 0;
    for (size_t i = index; i-- > 0;) {
        kf_place before;
        if (memchr(places->expanded + places->marks[i].offset, '\n',
                   places->marks[i + 1].offset - places->marks[i].offset))
            return;
        if (!token_size(places, i)) continue;
        place_of_mark(places, &places->marks[i], &before);
        long behind = before.column + (long)token_size(places, i);
        if (strcmp(before.file, line->file) != 0 || before.line != line->line ||
            !is_before_name(places, &before, behind))
            continue;
        use->column = behind;
        return;
    }
}

/* True for a word that the compiler sees as nothing or as an attribute. */
static bool is_qualifier(const kf_places *places, size_t index)
{
    static const char *const words[] = {
        "__global__",  "__device__",   "__host__",        "__shared__", "__constant__",
        "__managed__", "__noinline__", "__forceinline__", "extern",     "static"};
    const char *text = places->expanded + places->marks[index].offset;
    size_t size = token_size(places, index);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == size && memcmp(text, words[i], size) == 0) return true;
    return false;
}

/* Returns the end of the token before the offset, without qualifiers. */
static size_t end_before(const kf_places *places, size_t offset)
{
    size_t index = token_at(places, offset);
    if (index == places->count || places->marks[index].offset != offset) return offset;
    while (index-- > 0) {
        size_t size = token_size(places, index);
        const char *text = places->expanded + places->marks[index].offset;
        if (!size || is_qualifier(places, index)) continue;
        return text[0] == '#' ? offset : places->marks[index].offset + size;
    }
    return offset;
}

bool kf_places_find(const kf_places *places, bool before_it, kf_place *place, kf_place *use)
{
    size_t offset;
    use->line = use->column = 0;
    if (!find_offset(&places->rewritten->text, place, &offset)) return false;
    size_t from = expanded_offset(places, offset);
    if (before_it) from = end_before(places, from);
    kf_place line, exact;
    place_of_line(places, from, &line);
    size_t index = token_at(places, from);
    if (index == places->count) {
        *place = line;
        return true;
    }
    const mark *m = &places->marks[index];
    size_t inside = from - m->offset, most = token_size(places, index);
    place_of_mark(places, m, &exact);
    exact.column += (long)(inside < most ? inside : most);
    bool same_file = strcmp(exact.file, line.file) == 0;
    if (same_file && exact.line >= line.line) {
        *place = exact;
        return true;
    }
    /* A message about the end of a line may belong to the token on a line before it. */
    kf_place before;
    place_of_line(places, m->offset, &before);
    if (same_file && exact.line == before.line) {
        *place = exact;
        return true;
    }
    place_of_use(places, index, &before, use);
    *place = same_file ? exact : *use;
    if (!same_file) use->line = 0;
    return true;
}
