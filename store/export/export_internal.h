/* The parts that the files of the exports share. */
#ifndef KFORGE_EXPORT_INTERNAL_H
#define KFORGE_EXPORT_INTERNAL_H

#include <string.h>

#include "internal.h"
#include "kforge/buffer.h"
#include "kforge/export.h"

/* Appends, faster than kf_buffer_append for the short pieces of a row. */
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
/* Appends scrubbed text, plain or as the inside of a JSON string. Adds to *count. */
void kf_scrub_append(const kf_scrubber *scrubber, kf_buffer *out, const char *text, size_t size,
                     bool paths, bool json, kf_scrub_count *count);
static inline void kf_scrub_count_add(kf_scrub_count *to, const kf_scrub_count *from)
{
    to->secrets += from->secrets;
    to->paths += from->paths;
}

/* ---- hashes ---------------------------------------------------------------------------------- */

/* 64-bit FNV-1a over bytes, then the mixer of MurmurHash3 (Appleby). A collision gives an adversary
 * no advantage here. */
#define KF_HASH_START 0xcbf29ce484222325

static inline uint64_t kf_hash_step(uint64_t hash, unsigned char c)
{
    return (hash ^ c) * 0x100000001b3;
}

static inline uint64_t kf_hash_finish(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
    hash *= 0xc4ceb9fe1a85ec53;
    return hash ^ hash >> 33;
}

/* A set of 64-bit hashes. Zero-initialise. */
typedef struct kf_hash_set {
    /* 0 is a free slot */
    uint64_t *slots;
    size_t size, capacity;
    /* True after lack of memory. */
    bool failed;
} kf_hash_set;
void kf_hash_set_free(kf_hash_set *set);
/* Adds a hash. True if the set did not have it. */
bool kf_hash_set_add(kf_hash_set *set, uint64_t hash);
bool kf_hash_set_has(const kf_hash_set *set, uint64_t hash);
uint64_t kf_hash_mix(uint64_t hash, const void *data, size_t size);

/* ---- export_leak.c --------------------------------------------------------------------------- */

/* Adds the fingerprints of a text: one hash for each KF_LEAK_LINES lines in a row. */
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

/* A text that is likely to occur again (export_raw.c). */
typedef struct kf_export_text {
    /* 0 for no text */
    int64_t blob;
    /* scrubbed, as the inside of a JSON string */
    kf_buffer json;
    kf_scrub_count scrubbed;
    bool leaks;
} kf_export_text;

/* The tools that the last verdict named. */
typedef struct kf_export_tool_cache {
    /* the part of its provenance that names them */
    kf_buffer text;
    kf_export_tools tools;
} kf_export_tool_cache;

typedef struct kf_exporter {
    kf_store *store;
    const kf_export_options *options;
    kf_export_sink *sink;
    void *context;
    kf_export_report *report;
    kf_scrubber *scrubber;
    /* sorted by id */
    kf_export_task *tasks;
    size_t task_count;
    kf_hash_set seen, prints;
    /* 0 for all */
    int64_t only_task, only_run;
    kf_buffer row;
    /* the same in the shape of options->shape */
    kf_buffer shaped;
    /* system text, prompt, reply */
    kf_export_text kept[3];
    /* empty without options->tools */
    kf_export_tools tools;
    kf_export_tool_cache last_tools;
} kf_exporter;

/* Reads all tasks, assigns their splits, and keeps fingerprints of the code outside the training
 * split. */
bool kf_export_load_tasks(kf_exporter *exporter, kf_error *error);
void kf_export_free_tasks(kf_exporter *exporter);
const kf_export_task *kf_export_task_of(const kf_exporter *exporter, int64_t id);

/* ---- export_duplicates.c --------------------------------------------------------------------- */

/* Hashes of normalised source and of machine code, 0 if not known. Two candidates of a task on a
 * device are the same if one of the two is equal. Duplicates are dropped after all other filters,
 * so that no row is dropped for one that another filter drops. */
typedef struct kf_fold {
    uint64_t source, code;
} kf_fold;
uint64_t kf_fold_code(const char *code_hash, size_t size);
kf_fold kf_fold_of(int64_t task, int64_t device, const char *source, size_t size, uint64_t code);
bool kf_fold_has(const kf_hash_set *seen, const kf_fold *fold);
void kf_fold_add(kf_hash_set *seen, const kf_fold *fold);
/* True if the candidate is new. Without `dedup` every candidate is. Counts the others. */
bool kf_export_is_new(kf_exporter *exporter, const kf_fold *fold);

/* ---- export_leak.c, rows --------------------------------------------------------------------- */

/* True if a row for `split` must be dropped because `text` holds code of a test task. Counts it. */
bool kf_export_leaks(kf_exporter *exporter, kf_split split, const char *text, size_t size);
/* The same, if the caller has searched the text already. */
bool kf_export_count_leak(kf_exporter *exporter, kf_split split, bool found);

/* ---- export_emit.c --------------------------------------------------------------------------- */

/* Hands the row to the sink and counts it. */
bool kf_export_emit(kf_exporter *exporter, kf_split split, kf_error *error);

/* ---- export_tools.c -------------------------------------------------------------------------- */
/* Count the tools that a verdict names: of its JSON, or of its row (0 for no verdict). */
bool kf_export_note_tools(kf_exporter *exporter, const char *verdict, size_t size, kf_error *error);
bool kf_export_note_verdict(kf_exporter *exporter, int64_t verdict, kf_error *error);
/* False without memory. */
bool kf_export_tools_add(kf_export_tools *to, const kf_export_tools *from);

/* ---- building exporter->row: begin, fields in order, end ------------------------------------- */
void kf_row_begin(kf_exporter *exporter);
void kf_row_end(kf_exporter *exporter);
void kf_row_key(kf_exporter *exporter, const char *name);
void kf_row_text(kf_exporter *exporter, const char *name, const char *text, size_t size);
/* Scrubs paths, too. */
void kf_row_log(kf_exporter *exporter, const char *name, const char *text, size_t size);
/* NULL: "" */
void kf_row_word(kf_exporter *exporter, const char *name, const char *word);
/* For texts that need no escaping and no scrubbing: hashes, names, numbers. */
void kf_row_plain(kf_exporter *exporter, const char *name, const char *text, size_t size);
void kf_row_integer(kf_exporter *exporter, const char *name, int64_t value);
/* Writes every bit of a number. NaN becomes `unknown`. */
void kf_row_number(kf_exporter *exporter, const char *name, double value, double unknown);
/* Writes seconds, rounded to microseconds. */
void kf_row_seconds(kf_exporter *exporter, const char *name, double value, double unknown);
void kf_row_boolean(kf_exporter *exporter, const char *name, bool value);
/* Writes [{"role": …, "content": …}, …], without messages with NULL text. */
typedef struct kf_row_message {
    const char *role, *text;
    size_t size;
} kf_row_message;
void kf_row_messages(kf_exporter *exporter, const char *name, const kf_row_message *messages,
                     size_t count);
void kf_json_number(kf_buffer *out, double value);
void kf_json_text(kf_exporter *exporter, const char *text, size_t size, bool paths);

/* ---- export_items.c -------------------------------------------------------------------------- */

/* An attempt that a model proposed. Fields up to `parent` are rows, 0 for no row. */

typedef struct kf_item {
    int64_t run, number, call, candidate, source, system, prompt, task, device, verdict;
    /* the candidate of the first parent */
    int64_t parent;
    /* Place in the order of runs and numbers. Rows have other ids in every store. */
    uint32_t order;
    /* `order` of the first item of its group */
    uint32_t group;
    /* for kf_fold */
    uint64_t code;
    /* True if the reply was not cut off. */
    bool whole;
    /* Its verdict has a flag KF_FLAG_SUSPECTED; set only if options->only asks for it. */
    bool suspected;
    /* A correct attempt with too little work of its own (options->own_work). */
    bool borrowed;
    kf_status status;
    kf_blame blame;
    /* status, or the outcome of an attempt without a candidate */
    const char *status_name;
    kf_interval speedup;
    /* NaN for an item without a label */
    double reward;
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

/* Loads all items in the order of runs and numbers. It applies the filters of task, run and
 * held-out tasks, and leaves the others to the caller. */
bool kf_items_load(kf_exporter *exporter, kf_items *items, kf_error *error);
/* True if a verdict's JSON has a flag KF_FLAG_SUSPECTED. */
bool kf_export_is_suspected(const char *verdict, size_t size);
/* True if counters (JSON) have at least the part of options->own_work in own kernels. */
bool kf_export_has_own_work(const kf_exporter *exporter, const char *counters, size_t size);
/* True if `only` keeps the item. */
bool kf_item_wanted(const kf_exporter *exporter, const kf_item *item);
/* Keeps the items with a label that the format can use (`fits`) and that hold no code of test
 * tasks. Counts the others. */
bool kf_items_keep(kf_exporter *exporter, kf_items *items,
                   bool (*fits)(const kf_exporter *exporter, const kf_item *item), kf_error *error);
/* With `dedup`. Without it the fold is empty, and every item is new. */
bool kf_item_fold(kf_exporter *exporter, const kf_item *item, kf_fold *fold, kf_error *error);
bool kf_item_is_new(kf_exporter *exporter, const kf_item *item, bool *is_new, kf_error *error);
/* The texts of an item's call, malloc'd. `system` is NULL in a call without a system text. */
typedef struct kf_item_texts {
    char *system, *prompt, *reply;
    size_t system_size, prompt_size, reply_size;
} kf_item_texts;
void kf_item_texts_free(kf_item_texts *texts);
#define kf_autotexts __attribute__((cleanup(kf_item_texts_free))) kf_item_texts
/* Loads the attempt of this run before item->number with a candidate that begins with `hash` (12
 * digits), with the call and the texts of `item`. False with a zeroed *found if there is no such
 * attempt, or with an error. */
bool kf_item_tried(kf_exporter *exporter, const kf_item *item, const char *hash, kf_item *found,
                   kf_error *error);
bool kf_item_load_texts(kf_exporter *exporter, const kf_item *item, kf_item_texts *texts,
                        kf_error *error);
/* Write groups of fields: task … device, model … completion_tokens, candidate … reward. `prefix`
 * goes before the names. */
bool kf_row_origin(kf_exporter *exporter, const kf_item *item, kf_error *error);
bool kf_row_model(kf_exporter *exporter, const kf_item *item, const char *prefix, kf_error *error);
bool kf_row_score(kf_exporter *exporter, const kf_item *item, const char *prefix, kf_error *error);
/* Writes lists with one element for each item: status, speedup with its interval, candidate, id,
 * model, settings, tokens. */
bool kf_row_members(kf_exporter *exporter, const kf_item *const *items, size_t count,
                    kf_error *error);
/* Writes 0 for NaN. */
void kf_row_numbers(kf_exporter *exporter, const char *name, const double *values, size_t count);
/* Writes RUN/NUMBER, the `id` of raw rows. */
bool kf_row_id(kf_exporter *exporter, const char *name, const kf_item *item, kf_error *error);
/* Copies the hash of a candidate, "" for candidate 0. */
bool kf_candidate_name(kf_exporter *exporter, int64_t candidate, char hash[KF_HASH_HEX],
                       kf_error *error);

/* ---- export_episode.c ------------------------------------------------------------------------ */

/* An evaluation that the agent of an episode asked for. Texts are malloc'd. */
typedef struct kf_episode_turn {
    kf_item item;
    /* A reply with the source, and the answer as the agent saw it. */
    char *reply, *feedback;
} kf_episode_turn;

typedef struct kf_episode_turns {
    kf_episode_turn *list;
    size_t count;
    /* A reply with the candidate that the agent left. NULL: the reply is no episode with turns. */
    char *last;
} kf_episode_turns;
void kf_episode_turns_free(kf_episode_turns *turns);
/* Reads the turns of an item's reply: each evaluation with times but the last one, if that one is
 * of the candidate that the agent left. */
bool kf_episode_turns_read(kf_exporter *exporter, const kf_item *item, const char *reply,
                           size_t size, kf_episode_turns *turns, kf_error *error);

/* ---- export_raw.c, export_parallel.c --------------------------------------------------------- */

/* attempts in a chunk, on which one thread works */
#define KF_RAW_CHUNK 200
/* fewer chunks are not worth threads */
#define KF_RAW_PARALLEL 16

/* Attempts `from` … `to` of a run. */
typedef struct kf_raw_chunk {
    int64_t run, from, to;
} kf_raw_chunk;
/* Emits the rows of a chunk. Sets the bits of its verdicts (below `verdicts`) in `used`, which
 * threads may share. */
bool kf_raw_attempts(kf_exporter *exporter, const kf_raw_chunk *chunk, unsigned char *used,
                     int64_t verdicts, kf_error *error);
/* Emits the rows of many chunks in order, with one thread for each processor. *done: chunks that
 * were emitted. It is 0, without an error, if threads can't start or can't share one snapshot. The
 * caller then emits the chunks itself. */
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
