#include "bench_details.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html_text.h"
#include "kforge/verdict.h"
#include "output.h"
#include "search.h"
#include "text_diff.h"

/* Most bytes of one text. */
#define TEXT_BYTES (96u << 10)
#define CONTEXT 3

static void begin_text(kf_buffer *out, const char *title)
{
    kf_buffer_format(out, "<details class=\"text\"><summary>%s</summary><pre>", title);
}

static void end_text(kf_buffer *out)
{
    kf_buffer_string(out, "</pre></details>");
}

/* Writes a foreign text of any bytes. */
static void write_text(kf_buffer *out, const char *title, const char *text, size_t size,
                       size_t *left)
{
    size_t most = size < TEXT_BYTES ? size : TEXT_BYTES;
    kf_autofree char *clean = size && most <= *left ? kf_text_clean(text, most, false) : NULL;
    if (!clean) return;
    *left -= most;
    begin_text(out, title);
    kf_html_text(out, clean);
    if (size > most) kf_buffer_string(out, "\n… the rest is left out");
    end_text(out);
}

/* Writes a unified difference with its lines coloured. */
static void write_diff(kf_buffer *out, const char *title, const char *diff, size_t *left)
{
    size_t size = strlen(diff);
    if (!size || size > TEXT_BYTES || size > *left) return;
    kf_autofree char *clean = kf_text_clean(diff, size, false);
    if (!clean) return;
    *left -= size;
    begin_text(out, title);
    for (char *line = clean; *line;) {
        char *end = line + strcspn(line, "\n");
        bool more = *end;
        const char *kind = *line == '+' ? "came" : *line == '-' ? "gone" : "";
        *end = '\0';
        if (*kind) kf_buffer_format(out, "<span class=\"%s\">", kind);
        kf_html_text(out, line);
        kf_buffer_string(out, *kind ? "</span>\n" : "\n");
        line = end + more;
    }
    end_text(out);
}

/* Returns the source that the sample was made from: its parent, else the task's baseline in the
 * same language. NULL if there is no such source. `label` names it. */
static char *origin_of(kf_store *store, const kf_bench_row *row, const kf_bench_sample *sample,
                       char label[32])
{
    kf_autoresult kf_store_edge edge = {0};
    kf_auto(kf_store_cursor) cursor = kf_store_ancestors(store, sample->candidate, row->run, NULL);
    if (cursor && kf_store_next_edge(cursor, &edge, NULL) == 1) {
        snprintf(label, 32, "c%lld", (long long)edge.parent);
        return kf_search_source(store, row->run, edge.parent, NULL);
    }
    kf_auto(kf_task) task = sample->python ? NULL : kf_stored_task(store, row->hash, NULL);
    const kf_task_file *baseline = task ? kf_task_baseline(task) : NULL;
    snprintf(label, 32, "the baseline");
    return baseline && baseline->kind == KF_SOURCE_CUDA ? strdup(baseline->text) : NULL;
}

static void write_change(kf_store *store, const kf_bench_row *row, const kf_bench_sample *sample,
                         const char *source, size_t *left, kf_buffer *out)
{
    char label[32], child[32], title[80];
    kf_autofree char *before = origin_of(store, row, sample, label);
    snprintf(child, sizeof child, "c%lld", (long long)sample->candidate);
    kf_autofree char *diff = before ? kf_text_diff(&(kf_diff_side){label, before},
                                                   &(kf_diff_side){child, source}, CONTEXT, NULL)
                                    : NULL;
    if (!diff) return;
    snprintf(title, sizeof title, "change from %s", label);
    write_diff(out, title, diff, left);
}

void kf_bench_details(const kf_bench_result *result, const kf_bench_row *row,
                      const kf_bench_sample *sample, size_t *left, kf_buffer *out)
{
    kf_store *store = result->store;
    if (!store || !*left || (!sample->candidate && !sample->model_call)) return;
    kf_buffer_string(out, "<div class=\"texts\">");
    if (sample->candidate) {
        kf_autofree char *source = kf_search_source(store, row->run, sample->candidate, NULL);
        kf_buffer_format(out, "<span class=\"id\">c%lld</span>", (long long)sample->candidate);
        if (source) write_text(out, "source", source, strlen(source), left);
        if (source) write_change(store, row, sample, source, left, out);
    }
    if (sample->model_call) {
        size_t size = 0;
        kf_autofree char *reply =
            kf_store_model_call_text(store, sample->model_call, KF_CALL_REPLY, &size, NULL);
        if (reply) write_text(out, "reply", reply, size, left);
    }
    kf_buffer_string(out, "</div>");
}
