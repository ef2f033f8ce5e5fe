/* Notes: what models changed, in their own words, and its effect. A note with a large effect also
 * applies to other tasks. Prompts quote notes as data, since models wrote them.
 *
 * Prompts show few notes. Every `summary` candidates, a model condenses all of them
 * (prompts/summary.md). Its answer is stored as a note of the kind "summary". From then on prompts
 * show the latest summary and the later notes.
 *
 * A run reads the notes of other runs from before its start. A replay reads those from before the
 * start of the replayed run, in that run's store: later notes would change the prompts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "kforge/json.h"
#include "search_internal.h"

/* most entries of one list */
#define SUMMARY_ENTRIES 12
/* most bytes of an entry */
#define SUMMARY_BYTES 300
#define SUMMARY "summary"
/* least share of the parent's speedup that counts as an improvement; most that counts as a failure
 */
#define PAID 1.03
#define FAILED 0.97
/* least effect of a note that applies to other tasks */
#define TRAVELS 1.5
/* number of latest notes to choose from */
#define LOOK 200

void kf_notes_move(const char *reply, size_t size, char move[KF_MOVE_BYTES])
{
    move[0] = '\0';
    for (size_t at = 0; at < size;) {
        const char *line = reply + at, *end = memchr(line, '\n', size - at);
        size_t length = end ? (size_t)(end - line) : size - at;
        at += length + 1;
        size_t skip = 0;
        /* Skip Markdown in front of it. */
        while (skip < length && strchr("*_# >-", line[skip])) skip++;
        if (length - skip < 6 || strncmp(line + skip, "Move:", 5) != 0) continue;
        skip += 5;
        while (skip < length && strchr("* ", line[skip])) skip++;
        kf_autofree char *clean = kf_text_clean(line + skip, length - skip, true);
        if (clean) snprintf(move, KF_MOVE_BYTES, "%s", clean);
        return;
    }
}

bool kf_notes_write(kf_search *s, const kf_proposal *p, kf_status status, double speedup,
                    int64_t candidate, kf_error *error)
{
    const kf_member *parent =
        p->origin.parent ? kf_population_find(s->selection.population, p->origin.parent) : NULL;
    if (!*p->move || p->origin.depth > 0 || !parent) return true;
    bool correct = status == KF_CORRECT && speedup > 0;
    double effect = correct ? speedup / parent->speedup : NAN;
    /* The effect is within the noise. */
    if (correct && effect < PAID && effect > FAILED) return true;
    char text[KF_MOVE_BYTES + 64];
    if (correct)
        snprintf(text, sizeof text, "%s", p->move);
    else
        snprintf(text, sizeof text, "%s (%s)", p->move, kf_search_failure_word(status));
    return kf_store_put_note(
        s->store,
        &(kf_store_note_new){.task = correct && effect >= TRAVELS ? NULL : kf_task_hash(s->task),
                             .run = s->progress.run,
                             .device = s->environment_id,
                             .kind = correct && effect > 1 ? "paid" : "failed",
                             .text = text,
                             .effect = effect,
                             .candidate = candidate},
        error);
}

static void word_entries(const cJSON *json, const char *key, const char *title, kf_buffer *out)
{
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(json, key))
    {
        if (!cJSON_IsString(entry) || count == SUMMARY_ENTRIES) continue;
        size_t size = strlen(entry->valuestring);
        kf_autofree char *clean = kf_text_clean(entry->valuestring, size, true);
        if (!clean || !*clean) continue;
        kf_buffer_format(out, "%s: %.*s\n", title, SUMMARY_BYTES, clean);
        count++;
    }
}

bool kf_notes_summarise(kf_search *s, const kf_call *call, kf_error *why, kf_error *error)
{
    kf_autobuffer text = {0};
    kf_auto(cJSON) json = kf_extract_json(call->text, call->size, NULL);
    word_entries(json, "paid", "paid", &text);
    word_entries(json, "did_not_pay", "did not pay", &text);
    if (!text.size)
        return kf_fail(why, KF_ERROR_INPUT,
                       "the reply is no JSON object with \"paid\" and \"did_not_pay\"");
    return kf_store_put_note(s->store,
                             &(kf_store_note_new){.task = kf_task_hash(s->task),
                                                  .run = s->progress.run,
                                                  .device = s->environment_id,
                                                  .kind = SUMMARY,
                                                  .text = text.data,
                                                  .effect = NAN,
                                                  .candidate = call->origin.parent},
                             error);
}

typedef struct chosen {
    double effect;
    char text[KF_MOVE_BYTES + 64];
} chosen;

/* Inserts the note if it is among the `most` with the highest effect, sorted by it. */
static void keep_best(chosen *list, int *count, int most, const kf_store_note *note)
{
    int at = *count;
    while (at > 0 && list[at - 1].effect < note->effect) at--;
    if (at >= most) return;
    if (*count < most) ++*count;
    memmove(list + at + 1, list + at, (size_t)(*count - 1 - at) * sizeof *list);
    list[at].effect = note->effect;
    snprintf(list[at].text, sizeof list[at].text, "%s", note->text);
}

/* The notes of a prompt. */
typedef struct shown {
    chosen paid[32], failed[32];
    /* most of each list */
    int paid_count, failed_count, most;
    int seen;
    char *summary;
} shown;

static bool show(shown *n, const kf_store_note *note, kf_error *error)
{
    if (strcmp(note->kind, SUMMARY) == 0) {
        n->summary = strdup(note->text);
        return n->summary || kf_fail_memory(error, "notes");
    }
    if (strcmp(note->kind, "paid") == 0) {
        keep_best(n->paid, &n->paid_count, n->most, note);
        /* Only the latest are kept. */
    } else if (strcmp(note->kind, "failed") == 0 && n->failed_count < n->most) {
        chosen *failed = &n->failed[n->failed_count++];
        failed->effect = note->effect;
        snprintf(failed->text, sizeof failed->text, "%s", note->text);
    }
    return true;
}

/* Reads the latest notes of this run (`own`), or of earlier runs. */
static bool look(const kf_search *s, bool own, shown *n, kf_error *error)
{
    kf_store *store = own || !s->notes.store ? s->store : s->notes.store;
    kf_auto(kf_store_cursor) cursor = kf_store_notes(store, kf_task_hash(s->task), error);
    kf_autoresult kf_store_note note = {0};
    int row = cursor ? 1 : -1;
    while (n->seen < LOOK && !n->summary &&
           (row = row == 1 ? kf_store_next_note(cursor, &note, error) : row) == 1) {
        bool is_own = strcmp(note.run, s->progress.run) == 0;
        if (own != (is_own && *note.run)) continue;
        if (!own && note.created > s->notes.until) continue;
        n->seen++;
        if (*note.device && s->environment_id && strcmp(note.device, s->environment_id) != 0)
            continue;
        if (!show(n, &note, error)) return false;
    }
    return row >= 0;
}

bool kf_notes_read(kf_search *s, int count, kf_buffer *out, kf_error *error)
{
    if (count <= 0 || !s->store) return true;
    shown n = {.most = (count + 1) / 2 < 32 ? (count + 1) / 2 : 32};
    bool looked = look(s, true, &n, error) && look(s, false, &n, error);
    kf_autofree char *summary = n.summary;
    if (!looked) return false;
    if (summary) kf_buffer_format(out, "A summary of earlier candidates, by a model:\n%s", summary);
    if (summary && n.paid_count + n.failed_count) kf_buffer_string(out, "Since then:\n");
    for (int i = 0; i < n.paid_count; i++)
        kf_buffer_format(out, "paid, %.2f times as fast: %s\n", n.paid[i].effect, n.paid[i].text);
    for (int i = 0; i < n.failed_count; i++)
        if (isnan(n.failed[i].effect))
            kf_buffer_format(out, "failed: %s\n", n.failed[i].text);
        else
            kf_buffer_format(out, "did not pay, %.2f times as fast: %s\n", n.failed[i].effect,
                             n.failed[i].text);
    return true;
}
