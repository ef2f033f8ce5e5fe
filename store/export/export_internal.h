/* What the files of the exports share. */
#ifndef KFORGE_EXPORT_INTERNAL_H
#define KFORGE_EXPORT_INTERNAL_H

#include <string.h>

#include "internal.h"
#include "kforge/buffer.h"
#include "kforge/export.h"

/* kf_buffer_append for the many short pieces of a row. */
static inline void kf_append(kf_buffer *out, const char *text, size_t size)
{
    if (out->failed || out->limit || out->size + size + 1 > out->capacity) {
        kf_buffer_append(out, text, size);
        return;
    }
    memcpy(out->data + out->size, text, size);
    out->size += size;
    out->data[out->size] = '\0';
}

/* ---- export_scrub.c -------------------------------------------------------------------------- */
/* Appends scrubbed text, as the inside of a JSON string or plain. Returns how often something was
 * taken out. */
int64_t kf_scrub_append(const kf_scrubber *scrubber, kf_buffer *out, const char *text, size_t size,
                        bool paths, bool json);

/* ---- export_leak.c --------------------------------------------------------------------------- */

/* A set of 64-bit hashes. Zero-initialise. */
typedef struct kf_hash_set {
    uint64_t *slots; /* 0: free */
    size_t size, capacity;
    bool failed; /* out of memory */
} kf_hash_set;
void kf_hash_set_free(kf_hash_set *set);
bool kf_hash_set_add(kf_hash_set *set, uint64_t hash); /* true: it was not there */
bool kf_hash_set_has(const kf_hash_set *set, uint64_t hash);
uint64_t kf_hash_mix(uint64_t hash, const void *data, size_t size);

/* Adds the fingerprints of a text: a hash for each KF_LEAK_LINES lines in a row. */
void kf_leak_learn(kf_hash_set *prints, const char *text, size_t size);
bool kf_leak_found(const kf_hash_set *prints, const char *text, size_t size);

/* ---- export_tasks.c -------------------------------------------------------------------------- */

typedef enum kf_split { KF_SPLIT_TRAIN, KF_SPLIT_TEST, KF_SPLIT_NONE } kf_split;

typedef struct kf_export_task {
    int64_t id;
    char hash[KF_HASH_HEX];
    char *name, *family;
    kf_split split;
} kf_export_task;

/* A text that is likely to come again (export_raw.c). */
typedef struct kf_export_text {
    int64_t blob;   /* 0: none */
    kf_buffer json; /* scrubbed, as the inside of a JSON string */
    int64_t scrubbed;
    bool leaks;
} kf_export_text;

/* What the last verdict named. */
typedef struct kf_export_tool_cache {
    kf_buffer text; /* of its provenance, as far as that tells */
    kf_export_tools tools;
} kf_export_tool_cache;

typedef struct kf_exporter {
    kf_store *store;
    const kf_export_options *options;
    kf_export_sink *sink;
    void *context;
    kf_export_report *report;
    kf_scrubber *scrubber;
    kf_export_task *tasks; /* by id */
    size_t task_count;
    kf_hash_set seen, prints;
    int64_t only_task, only_run; /* 0 all */
    kf_buffer row;
    kf_export_text kept[3]; /* system text, prompt, reply */
    kf_export_tools tools;  /* where options->tools is wanted */
    kf_export_tool_cache last_tools;
} kf_exporter;

/* Reads all tasks and assigns their splits. Remembers the code of tasks outside the training split.
 */
bool kf_export_load_tasks(kf_exporter *exporter, kf_error *error);
void kf_export_free_tasks(kf_exporter *exporter);
const kf_export_task *kf_export_task_of(const kf_exporter *exporter, int64_t id);

/* ---- export_leak.c: candidates that are the same ----------------------------------------------
 */

/* What makes two candidates of a task on a device the same: hashes of normalised source and of
 * machine code; 0: not known. Rows are folded when all else speaks for them, so that what is left
 * out never stands in another one's place. */
typedef struct kf_fold {
    uint64_t source, code;
} kf_fold;
uint64_t kf_fold_code(const char *code_hash, size_t size);
kf_fold kf_fold_of(int64_t task, int64_t device, const char *source, size_t size, uint64_t code);
bool kf_fold_has(const kf_hash_set *seen, const kf_fold *fold);
void kf_fold_add(kf_hash_set *seen, const kf_fold *fold);
/* With `dedup`: false, and counted, for what is there already; else it is there from now on. */
bool kf_export_is_new(kf_exporter *exporter, const kf_fold *fold);

/* ---- export_emit.c --------------------------------------------------------------------------- */

/* True if a row for `split` must be dropped because it holds code of a test task. Counts it. */
bool kf_export_leaks(kf_exporter *exporter, kf_split split, const char *text, size_t size);
/* The same for a text in which code of such tasks was found, or not. */
bool kf_export_count_leak(kf_exporter *exporter, kf_split split, bool found);
/* Hands the row over and counts it. */
bool kf_export_emit(kf_exporter *exporter, kf_split split, kf_error *error);

/* ---- export_tools.c -------------------------------------------------------------------------- */
/* Notes which tools a verdict (its JSON; its row, 0 none) names. */
bool kf_export_note_tools(kf_exporter *exporter, const char *verdict, size_t size, kf_error *error);
bool kf_export_note_verdict(kf_exporter *exporter, int64_t verdict, kf_error *error);
/* false: out of memory */
bool kf_export_tools_add(kf_export_tools *to, const kf_export_tools *from);

/* ---- building exporter->row: begin, fields in order, end ------------------------------------- */
void kf_row_begin(kf_exporter *exporter);
void kf_row_end(kf_exporter *exporter);
void kf_row_key(kf_exporter *exporter, const char *name);
void kf_row_text(kf_exporter *exporter, const char *name, const char *text, size_t size);
/* scrubs paths too */
void kf_row_log(kf_exporter *exporter, const char *name, const char *text, size_t size);
/* NULL: "" */
void kf_row_word(kf_exporter *exporter, const char *name, const char *word);
void kf_row_plain(kf_exporter *exporter, const char *name, const char *text,
                  size_t size); /* known to be harmless: hashes, words, numbers */
void kf_row_integer(kf_exporter *exporter, const char *name, int64_t value);
/* every bit; NaN becomes `unknown` */
void kf_row_number(kf_exporter *exporter, const char *name, double value, double unknown);
/* microseconds are enough */
void kf_row_seconds(kf_exporter *exporter, const char *name, double value, double unknown);
void kf_row_boolean(kf_exporter *exporter, const char *name, bool value);
/* [{"role": …, "content": …}, …]: a message with NULL text is left out. */
typedef struct kf_row_message {
    const char *role, *text;
    size_t size;
} kf_row_message;
void kf_row_messages(kf_exporter *exporter, const char *name, const kf_row_message *messages,
                     size_t count);
void kf_json_number(kf_buffer *out, double value);
void kf_json_text(kf_exporter *exporter, const char *text, size_t size, bool paths);

/* ---- export_items.c: attempts that a model proposed, as learning formats see them ------------ */

typedef struct kf_item {
    int64_t run, number, call, candidate, source, system, prompt, task, device, verdict,
        parent;     /* rows; 0 none. parent: candidate of the first parent */
    uint32_t order; /* by runs and numbers: rows have other ids in every store */
    uint32_t group; /* `order` of the first of its group */
    uint64_t code;  /* for kf_fold */
    bool whole;     /* the reply came to its end by itself */
    kf_status status;
    kf_blame blame;
    const char *word; /* status, or the outcome of an attempt without a candidate */
    kf_interval speedup;
    double reward; /* NaN: no label */
    kf_split split;
} kf_item;

typedef struct kf_items {
    kf_item *list;
    size_t count;
} kf_items;
static inline void kf_cleanup_items(kf_items *items)
{
    free(items->list);
}
#define kf_autoitems __attribute__((cleanup(kf_cleanup_items))) kf_items

/* All, in the order of runs and numbers, after filters of task and run and held-out tasks; the rest
 * is left to the caller. */
bool kf_items_load(kf_exporter *exporter, kf_items *items, kf_error *error);
bool kf_item_wanted(const kf_exporter *exporter, const kf_item *item); /* `only` */
/* Keeps those that have a label, that the format has a use for (`fits`), and that hold no code of
 * tasks for testing. Counts the others. */
bool kf_items_keep(kf_exporter *exporter, kf_items *items,
                   bool (*fits)(const kf_exporter *exporter, const kf_item *item), kf_error *error);
/* With `dedup`; else it is empty, and everything is new. */
bool kf_item_fold(kf_exporter *exporter, const kf_item *item, kf_fold *fold, kf_error *error);
bool kf_item_is_new(kf_exporter *exporter, const kf_item *item, bool *is_new, kf_error *error);
/* The texts of an item's call; malloc'd. `system` is NULL when there was none. */
typedef struct kf_item_texts {
    char *system, *prompt, *reply;
    size_t system_size, prompt_size, reply_size;
} kf_item_texts;
void kf_item_texts_free(kf_item_texts *texts);
#define kf_autotexts __attribute__((cleanup(kf_item_texts_free))) kf_item_texts
bool kf_item_load_texts(kf_exporter *exporter, const kf_item *item, kf_item_texts *texts,
                        kf_error *error);
/* Groups of fields: task … device; model … completion_tokens and candidate … reward, with `prefix`
 * before their names. */
bool kf_row_origin(kf_exporter *exporter, const kf_item *item, kf_error *error);
bool kf_row_model(kf_exporter *exporter, const kf_item *item, const char *prefix, kf_error *error);
bool kf_row_score(kf_exporter *exporter, const kf_item *item, const char *prefix, kf_error *error);
/* Lists, one of each of `count` items: status, speedup with its interval, candidate, id, model,
 * settings, tokens. */
bool kf_row_members(kf_exporter *exporter, const kf_item *const *items, size_t count,
                    kf_error *error);
/* NaN: 0 */
void kf_row_numbers(kf_exporter *exporter, const char *name, const double *values, size_t count);
/* RUN/NUMBER, as `id` of raw rows. */
bool kf_row_id(kf_exporter *exporter, const char *name, const kf_item *item, kf_error *error);
/* The candidate's hash, "" for none. */
bool kf_candidate_name(kf_exporter *exporter, int64_t candidate, char hash[KF_HASH_HEX],
                       kf_error *error);

/* ---- export_raw.c, export_parallel.c --------------------------------------------------------- */

#define KF_RAW_CHUNK 200   /* attempts a thread works on at once */
#define KF_RAW_PARALLEL 16 /* so many chunks are worth threads */

/* Attempts `from` … `to` of a run. */
typedef struct kf_raw_chunk {
    int64_t run, from, to;
} kf_raw_chunk;
/* Emits a chunk's rows; marks its verdicts (below `verdicts`) in `used`, a bit each, which threads
 * may share. */
bool kf_raw_attempts(kf_exporter *exporter, const kf_raw_chunk *chunk, unsigned char *used,
                     int64_t verdicts, kf_error *error);
/* The same for many chunks on all processors, rows in their order. *done: chunks that were emitted;
 * 0, without an error, where threads can't be had or do not see the same moment of the store, and
 * then the caller goes on alone. */
bool kf_raw_parallel(kf_exporter *exporter, const kf_raw_chunk *chunks, size_t count, size_t *done,
                     unsigned char *used, int64_t verdicts, kf_error *error);

/* ---- one function a format ------------------------------------------------------------------- */
bool kf_export_raw(kf_exporter *exporter, kf_error *error);
bool kf_export_sft(kf_exporter *exporter, kf_error *error);
bool kf_export_kto(kf_exporter *exporter, kf_error *error);
bool kf_export_dpo(kf_exporter *exporter, kf_error *error);
bool kf_export_grpo(kf_exporter *exporter, kf_error *error);
bool kf_export_contrast(kf_exporter *exporter, kf_error *error);
bool kf_export_multiturn(kf_exporter *exporter, kf_error *error);
bool kf_export_cassette(kf_exporter *exporter, kf_error *error);

#endif
