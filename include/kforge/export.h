/* Exports: training data out of a store, one JSON object a row, handed to a callback.
 * docs/reference/datasets.md describes every field for users.
 *
 * Labels. The figures of a row are those of the verdict that stands (store.h), which a later
 * measurement may have overturned. Rows of format raw report the outcome of each attempt itself.
 * Wrong, failed and cheating attempts are rows with their label, unless `only` leaves them out. A
 * verdict that blames the machine, the task or the judge is no label. The functions of reward.h
 * compute rewards from these figures. No reward is stored.
 *
 * Types. Every field is in every row with one type, without nulls and empty lists. Readers that
 * infer a schema from the first rows (pyarrow, `datasets`) can so read the last one, too. A figure
 * that is not known is "", 0 or -1, as the description of the field says. Data without a fixed
 * shape (verdicts, counters, settings) is JSON text in a string.
 *
 * Leaks. Tasks are split by family, never by row. A row of the training split is left out, and
 * counted, if its prompt or reply holds code of a task that is kept for testing: KF_LEAK_LINES
 * equal lines in a row, without comments and white space. Secrets and paths are removed from all
 * texts (export_scrub.c lists them), and text becomes valid UTF-8.
 *
 * Memory. A store is read in one snapshot while others write. Memory does not grow with the texts.
 * Formats that compare attempts keep about 170 bytes for each attempt that a model proposed.
 *
 * Order. Rows come in the order of runs and attempts, groups in the order of their first members,
 * and verdicts outside runs in the order of their times. Row ids decide nothing, so stores with the
 * same content give the same rows.
 */
#ifndef KFORGE_EXPORT_H
#define KFORGE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/error.h"
#include "kforge/reward.h"
#include "kforge/store.h"

typedef enum kf_export_format {
    KF_EXPORT_RAW,       /* every attempt, and every verdict outside a run */
    KF_EXPORT_SFT,       /* conversations to imitate */
    KF_EXPORT_DPO,       /* preferences */
    KF_EXPORT_KTO,       /* good or bad, one by one */
    KF_EXPORT_GRPO,      /* groups with rewards and advantages */
    KF_EXPORT_CONTRAST,  /* exemplars with scores, and what came of them */
    KF_EXPORT_MULTITURN, /* chains of refinement with rewards and returns a turn */
    KF_EXPORT_CASSETTE,  /* replies for `--llm replay:` (docs/reference/replay-format.md) */
    KF_EXPORT_FORMAT_COUNT
} kf_export_format;

const char *kf_export_format_name(kf_export_format format);
bool kf_export_format_parse(const char *name, kf_export_format *format);
/* Returns one line for data set cards. */
const char *kf_export_format_summary(kf_export_format format);

typedef enum kf_export_type {
    KF_FIELD_STRING,
    KF_FIELD_FLOAT,
    KF_FIELD_INTEGER,
    KF_FIELD_BOOLEAN,
    KF_FIELD_MESSAGES, /* list of {"role", "content"} */
    KF_FIELD_STRINGS,  /* list of strings */
    KF_FIELD_FLOATS,   /* list of numbers */
    KF_FIELD_INTEGERS, /* list of whole numbers */
    /* list of {"candidate", "role", "source", "status", "speedup", "speedup_low", "speedup_high"}
     */
    KF_FIELD_EXEMPLARS,
    /* The rest occurs in dialects only. */
    KF_FIELD_MESSAGE,      /* {"role", "content"} */
    KF_FIELD_WEIGHTED,     /* list of {"role", "content", "weight"} */
    KF_FIELD_CONVERSATION, /* {"messages"} */
    KF_FIELD_INPUT,        /* {"input"}: messages */
    KF_FIELD_TRUTH,        /* {"style", "ground_truth"} */
    KF_FIELD_TASK,         /* {"task", "task_hash"} */
    KF_FIELD_EXTRA,        /* {"split", "index", "task", "task_hash"} */
    KF_EXPORT_TYPE_COUNT
} kf_export_type;
/* Returns a type in words: "list of messages". */
const char *kf_export_type_name(kf_export_type type);
/* Returns a type as JSON: "string", "float64", "int64" or "bool", a list with the type of its
 * elements, or an object with the types of its members. */
const char *kf_export_type_layout(kf_export_type type);

typedef struct kf_export_field {
    const char *name;
    kf_export_type type;
    const char *help;
} kf_export_field;
/* Returns the fields of a format's rows in their order. A field without a name ends the list. It is
 * empty for the cassette, which has a first line of another kind. */
const kf_export_field *kf_export_fields(kf_export_format format);

/* ---- rows for trainers ----------------------------------------------------------------------- */

/* The form of the rows. A dialect has the columns that its reader takes, and no others. */
typedef enum kf_export_dialect {
    KF_DIALECT_KFORGE, /* all fields of the format */
    KF_DIALECT_TRL,
    KF_DIALECT_OPENAI,
    KF_DIALECT_LLAMAFACTORY,
    KF_DIALECT_AXOLOTL,
    KF_DIALECT_VERL,
    KF_DIALECT_NEMO_GYM,
    KF_DIALECT_COUNT
} kf_export_dialect;
bool kf_export_dialect_parse(const char *name, kf_export_dialect *dialect);
/* Returns the ending of files that suits the dialect best (".parquet"), or NULL. */
const char *kf_export_dialect_ending(kf_export_dialect dialect);
/* KF_ERROR_INPUT if the dialect's reader takes no files with this ending. */
bool kf_export_dialect_reads(kf_export_dialect dialect, const char *ending, kf_error *error);

/* The columns of rows: those of a dialect, then those of `columns` (NULL: no others), a list
 * "NAME=FIELD,NAME,…" with placeholders of store/export/export_shape.h as FIELDs. KF_ERROR_INPUT if
 * the dialect has no rows of the format, or a column does not fit. */
typedef struct kf_export_shape kf_export_shape;
kf_export_shape *kf_export_shape_new(kf_export_format format, kf_export_dialect dialect,
                                     const char *columns, kf_error *error);
void kf_export_shape_free(kf_export_shape *shape);
KF_DEFINE_AUTO(kf_export_shape, kf_export_shape_free)
/* Returns the fields of such rows, as kf_export_fields does. Borrowed. */
const kf_export_field *kf_export_shape_fields(const kf_export_shape *shape);

/* A file of rows. */
typedef struct kf_export_part {
    const char *name;
    bool test;
} kf_export_part;
/* Returns the configuration with which the trainer reads these files, malloc'd, and the name of the
 * file that it belongs in. *name is NULL, and the text "", if it needs no configuration. */
char *kf_export_shape_config(const kf_export_shape *shape, const kf_export_part *parts,
                             size_t count, const char **name, kf_error *error);

typedef enum kf_export_only {
    KF_ONLY_ALL,
    KF_ONLY_CORRECT,
    /* correct, with an interval above 1 */
    KF_ONLY_FASTER,
    /* the candidate is at fault */
    KF_ONLY_FAILED,
    KF_ONLY_CHEATING,
    /* wrong results that look like a cheat's (KF_FLAG_SUSPECTED) */
    KF_ONLY_SUSPECTED,
} kf_export_only;

/* The tools that the verdicts of the rows name, with the number of verdicts. Zero-initialise the
 * list. */
typedef struct kf_export_tool {
    char *name, *version;
    int64_t verdicts;
} kf_export_tool;
typedef struct kf_export_tools {
    kf_export_tool *list;
    size_t count;
} kf_export_tools;
void kf_export_tools_free(kf_export_tools *tools);

/* A reply that `admit` decides on. */
typedef struct kf_export_admission {
    /* hash */
    const char *task;
    const char *source;
    size_t size;
    /* compiler flags as a JSON array */
    const char *flags;
} kf_export_admission;

typedef struct kf_export_options {
    kf_export_format format;
    /* It selects attempts; in formats of groups, the members. */
    kf_export_only only;
    /* hash or name of a task, id of a run; NULL: all */
    const char *task, *run;
    kf_reward reward;
    /* Leaves out correct attempts with a smaller part of device time in their own kernels, or
     * without a measurement. 0: keeps all */
    double own_work;
    /* multiturn: KF_REWARD_DISCOUNT */
    double discount;
    /* dpo: the chosen reply is at least so many times as fast as a correct rejected one, >= 1 */
    double margin;
    /* dpo, kto: only where the intervals differ. Rewards: a speedup counts as 1 if its interval
     * contains 1. */
    bool significant;
    /* dpo, grpo: groups are tasks, else prompts */
    bool by_task;
    /* grpo: smaller groups are left out; at least 1 */
    int64_t least_group;
    /* dpo: a chosen reply is paired with at most so many rejected ones */
    int64_t most_pairs;
    /* Keeps only the first of the rows (dpo, grpo: members) with equal normalised source or machine
     * code on the same task and device. Attempts without a label take no part. */
    bool dedup;
    /* names, hashes or families of tasks that are left out */
    const char *const *held_out;
    size_t held_out_count;
    /* tasks that declare "held_out" themselves go to the test split instead of nowhere */
    bool keep_held_out;
    const char *const *test_families;
    size_t test_family_count;
    /* share of the other families that goes to the test split, by the hash of their names */
    double test_share;
    /* texts to remove in addition to those of the environment: keys that the program knows */
    const char *const *secrets;
    size_t secret_count;
    /* Rows with code of test or held-out tasks are counted but kept. */
    bool keep_leaks;
    /* The columns of the rows; NULL: all fields of the format. */
    const kf_export_shape *shape;
    /* sft: asked of each reply that would become a row; NULL: all do. Sets *admitted. */
    bool (*admit)(void *context, const kf_export_admission *asked, bool *admitted, kf_error *error);
    void *admit_context;
    /* For data set cards, may be NULL: a list to add to, which the caller frees. */
    kf_export_tools *tools;
    /* The same: KF_HASH_HEX bytes for kf_store_digest of the snapshot. */
    char *digest;
} kf_export_options;

/* A leak is so many equal lines in a row, with so many characters in all. */
#define KF_LEAK_LINES 6
#define KF_LEAK_BYTES 120

/* What was removed from texts. */
typedef struct kf_scrub_count {
    /* paths: also names of homes and hosts */
    int64_t secrets, paths;
} kf_scrub_count;

typedef struct kf_export_report {
    int64_t rows, train, test;
    /* attempts that `only` or `own_work` left out, and others that the format has no use for */
    int64_t filtered, unused;
    /* attempts without a reply of a model: seeds, and points of the tuner. Not for raw */
    int64_t unprompted;
    /* attempts with a verdict that is no label: it blames the machine, the task or the judge */
    int64_t unlabelled;
    int64_t duplicates, leaks, held_out;
    kf_scrub_count scrubbed;
    /* replies that `admit` left out */
    int64_t refused;
} kf_export_report;

/* Takes one row, without a newline. `split` is "train" or "test". To end the export, it fills
 * `error` and returns false. */
typedef bool kf_export_sink(void *context, const char *split, const char *row, size_t size,
                            kf_error *error);

/* Exports a store. On failure *report holds the counts up to there. */
bool kf_export(kf_store *store, const kf_export_options *options, kf_export_sink *sink,
               void *context, kf_export_report *report, kf_error *error);

/* ---- parts for tests and other writers ------------------------------------------------------- */

/* True if a list of names, hashes (prefixes of at least 8 digits) and families has this task. */
bool kf_export_listed(const char *const *list, size_t count, const char *name, const char *hash,
                      const char *family);

/* Computes a hash of a CUDA source without its comments and layout. */
uint64_t kf_normalised_source(const char *source, size_t size);
typedef struct kf_scrubber kf_scrubber;
/* Makes a scrubber. It borrows `secrets`, of at least 8 characters each, and the environment. */
kf_scrubber *kf_scrubber_new(const char *const *secrets, size_t count, kf_error *error);
/* Makes a scrubber that replaces keys alone. */
kf_scrubber *kf_scrubber_new_for_keys(const char *const *secrets, size_t count, kf_error *error);
void kf_scrubber_free(kf_scrubber *scrubber);
KF_DEFINE_AUTO(kf_scrubber, kf_scrubber_free)
/* Returns a text without secrets and paths, valid UTF-8, malloc'd. With `paths`, absolute paths
 * lose their folders: use it for logs, not for code. Adds the number of replacements to *count. */
char *kf_scrub_text(const kf_scrubber *scrubber, const char *text, size_t size, bool paths,
                    kf_scrub_count *count, kf_error *error);
/* Does the same with the secrets of the environment alone. */
char *kf_scrub(const char *text, size_t size, bool paths, kf_scrub_count *count, kf_error *error);

#endif
