/* Variants of the benchmark's tasks as text and back. */
#include "search_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"

#define FILE_BYTES (1u << 20)

/* Returns the length of the line at `at`, without its end. *next is the start of the next line. */
static size_t line_at(const char *at, const char **next)
{
    size_t size = strcspn(at, "\n");
    *next = at + size + (at[size] == '\n');
    return size;
}

static void read_move(axis *a, const char *line, size_t size)
{
    char text[1024];
    int used = 0;
    snprintf(text, sizeof text, "%.*s", (int)size, line);
    if (sscanf(text, "//@ move %31s%n", a->name, &used) != 1) return;
    char *words = strchr(text, '|'), *at = text + used;
    if (words) *words++ = '\0';
    for (int value, step;
         a->count < CHOICES && sscanf(at, " %d:%lf%n", &value, &a->prior[a->count], &step) == 2;
         at += step)
        a->values[a->count++] = value;
    for (int i = 0; words && i < a->count; i++) {
        char *end = strstr(words, " / ");
        size_t length = end ? (size_t)(end - words) : strlen(words);
        while (length && *words == ' ') words++, length--;
        snprintf(a->words[i], sizeof a->words[i], "%.*s", (int)length, words);
        words = end ? end + 3 : NULL;
    }
}

static void read_tunable(axis *a, const char *line, size_t size)
{
    char text[1024];
    int used = 0;
    snprintf(text, sizeof text, "%.*s", (int)size, line);
    if (sscanf(text, "// kforge: tune %31s%n", a->name, &used) != 1) return;
    a->tunable = true;
    char *at = text + used;
    for (int step; a->count < CHOICES && sscanf(at, " %d%n", &a->values[a->count], &step) == 1;
         at += step)
        a->count++;
    for (int i = 0; i < a->count; i++) a->prior[i] = 1.0 / a->count;
}

bool space_read(space *s, const char *task, kf_error *error)
{
    char path[4096];
    *s = (space){0};
    snprintf(s->task, sizeof s->task, "%s", task);
    snprintf(path, sizeof path, "%s/tests/bench/search_space/%s.cu", KFORGE_SOURCE_DIR, task);
    s->text = kf_file_read(path, FILE_BYTES, NULL, error);
    if (!s->text) return false;
    for (const char *at = s->text, *next; *at; at = next) {
        size_t size = line_at(at, &next);
        axis *a = &s->axes[s->count];
        if (s->count == AXES)
            return kf_fail(error, KF_ERROR_LIMIT, "%s: more than %d choices", path, AXES);
        if (strncmp(at, "//@ move ", 9) == 0) read_move(a, at, size);
        if (strncmp(at, "// kforge: tune ", 16) == 0) read_tunable(a, at, size);
        s->count += a->count > 0;
    }
    return s->count > 0 || kf_fail(error, KF_ERROR_INPUT, "%s: no choices", path);
}

void space_free(space *s)
{
    free(s->text);
    s->text = NULL;
}

static int find_axis(const space *s, const char *name, size_t length)
{
    for (int i = 0; i < s->count; i++)
        if (strlen(s->axes[i].name) == length && strncmp(s->axes[i].name, name, length) == 0)
            return i;
    return -1;
}

static void set_value(const space *s, variant *v, int which, int value)
{
    for (int k = 0; which >= 0 && k < s->axes[which].count; k++)
        if (s->axes[which].values[k] == value) v->index[which] = k;
}

variant space_naive(const space *s)
{
    variant v = {0};
    for (int i = 0; i < s->count; i++) {
        char define[64];
        int value;
        if (!s->axes[i].tunable) continue;
        snprintf(define, sizeof define, "\n#define %s ", s->axes[i].name);
        const char *at = strstr(s->text, define);
        if (at && sscanf(at + strlen(define), "%d", &value) == 1) set_value(s, &v, i, value);
    }
    return v;
}

void space_key(const space *s, const variant *v, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < s->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%d", i ? " " : "", s->axes[i].name,
                                 s->axes[i].values[v->index[i]]);
    if (v->bug && used < size) snprintf(text + used, size - used, " BUG=%d", (int)v->bug);
}

bool space_parse(const space *s, const char *source, variant *v)
{
    const char *at = strstr(source, "// variant: ");
    *v = space_naive(s);
    if (!at) return false;
    for (at += 12; *at && *at != '\n';) {
        size_t word = strcspn(at, " \n"), name = strcspn(at, "= \n");
        if (name < word) {
            int value = atoi(at + name + 1);
            if (name == 3 && strncmp(at, "BUG", 3) == 0)
                v->bug = value > 0 && value < BUG_COUNT ? (enum bug)value : BUG_NONE;
            else
                set_value(s, v, find_axis(s, at, name), value);
        }
        at += word;
        at += *at == ' ';
    }
    return true;
}

void space_flag(const space *s, variant *v, const char *flag)
{
    size_t name = strncmp(flag, "-D", 2) == 0 ? strcspn(flag + 2, "=") : 0;
    if (name && flag[2 + name])
        set_value(s, v, find_axis(s, flag + 2, name), atoi(flag + 2 + name + 1));
}

bool space_next(const space *s, variant *v)
{
    for (int i = s->count - 1; i >= 0; i--) {
        if (++v->index[i] < s->axes[i].count) return true;
        v->index[i] = 0;
    }
    return false;
}

/* ---- sources --------------------------------------------------------------------------------- */

static void emit_bug(const char *line, size_t size, enum bug bug, kf_buffer *out)
{
    const char *name = line + strlen("//@ bug ");
    int length = (int)(size - strlen("//@ bug "));
    if (bug == BUG_COMPILE)
        kf_buffer_format(out, "    %.*s = missing_%.*s;\n", length, name, length, name);
    if (bug == BUG_WRONG) kf_buffer_format(out, "    %.*s -= 1;\n", length, name);
    if (bug == BUG_CHEAT)
        kf_buffer_string(out, "    static int calls;\n    if (calls++ > 2) return;\n");
}

/* Returns the value of the tunable that the line defines, or -1. */
static int defined_here(const space *s, const variant *v, const char *line, size_t *which)
{
    for (int i = 0; i < s->count; i++) {
        char define[64];
        int length = snprintf(define, sizeof define, "#define %s ", s->axes[i].name);
        if (!s->axes[i].tunable || strncmp(line, define, (size_t)length) != 0) continue;
        *which = (size_t)i;
        return s->axes[i].values[v->index[i]];
    }
    return -1;
}

void space_emit(const space *s, const variant *v, bool declared, kf_buffer *out)
{
    char key[512];
    /* the depth of nested parts; the depth from which lines are left out, or 0 */
    int hidden = 0, depth = 0;
    space_key(s, v, key, sizeof key);
    kf_buffer_format(out, "// variant: %s\n", key);
    for (const char *at = s->text, *next; *at; at = next) {
        size_t size = line_at(at, &next), which = 0;
        char name[32];
        int value, define;
        if (strncmp(at, "//@ move ", 9) == 0) continue;
        if (sscanf(at, "//@ if %31s %d", name, &value) == 2 && strncmp(at, "//@ if ", 7) == 0) {
            int i = find_axis(s, name, strlen(name));
            depth++;
            if (!hidden && (i < 0 || s->axes[i].values[v->index[i]] != value)) hidden = depth;
        } else if (strncmp(at, "//@ end", 7) == 0) {
            if (hidden == depth) hidden = 0;
            depth--;
        } else if (hidden) {
            continue;
        } else if (strncmp(at, "//@ bug ", 8) == 0) {
            emit_bug(at, size, v->bug, out);
        } else if (!declared && (strncmp(at, "// kforge: ", 11) == 0)) {
            continue;
        } else if ((define = defined_here(s, v, at, &which)) >= 0) {
            kf_buffer_format(out, "#define %s %d\n", s->axes[which].name, define);
        } else {
            kf_buffer_append(out, at, size);
            kf_buffer_string(out, "\n");
        }
    }
}
