/* Exports: training data out of a store, one JSON object a row, handed to a sink.
 * docs/reference/datasets.md describes every field for users.
 *
 * Labels. A row's figures are those of the verdict that stands (store.h), which a later measurement
 * may have overturned; `raw` rows tell what each attempt itself ended with. Wrong, failed and
 * cheating attempts are there with their label unless `only` leaves them out. What blames the
 * machine, the task or the judge says nothing of a candidate and is no label. Rewards are computed
 * here from those figures by the functions of reward.h; none is stored.
 *
 * Types. Every field is in every row with one type: no nulls and no empty lists, so that readers
 * which infer a schema from the first rows (pyarrow, `datasets`) read the last one too. What is not
 * known is "", 0 or -1, as the field's description says. Whatever has no fixed shape (verdicts,
 * counters, settings) is JSON text in a string.
 *
 * Leaks. Tasks are split by family, never by row. Rows of training whose prompt or reply holds code
 * of a task that is kept for testing are left out and counted (KF_LEAK_LINES equal lines in a row,
 * comments and white space aside). Secrets and places are taken out of all texts (export_scrub.c
 * lists what), and text is made valid UTF-8.
 *
 * A store is read in one snapshot while others write. Memory does not grow with the texts; formats
 * that compare attempts keep some 170 bytes for each of those that a model proposed.
 *
 * Order. Rows come in the order of runs and attempts, groups in that of their first members,
 * verdicts outside runs in that of their times: ids within the file decide nothing, so stores that
 * hold the same give the same rows, whatever was merged into them first.
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
const char *kf_export_format_summary(kf_export_format format); /* one line for cards */

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
} kf_export_type;

typedef struct kf_export_field {
    const char *name;
    kf_export_type type;
    const char *help;
} kf_export_field;
/* The fields of a format's rows in their order; ends with a row without a name. Empty for the
 * cassette, whose first line is another one. */
const kf_export_field *kf_export_fields(kf_export_format format);

typedef enum kf_export_only {
    KF_ONLY_ALL,
    KF_ONLY_CORRECT,
    KF_ONLY_FASTER, /* correct, and the whole interval above 1 */
    KF_ONLY_FAILED, /* the candidate's own fault */
    KF_ONLY_CHEATING,
} kf_export_only;

/* What the verdicts of the rows name as their tools: name, version, how many verdicts.
 * Zero-initialise. */
typedef struct kf_export_tool {
    char *name, *version;
    int64_t verdicts;
} kf_export_tool;
typedef struct kf_export_tools {
    kf_export_tool *list;
    size_t count;
} kf_export_tools;
void kf_export_tools_free(kf_export_tools *tools);

typedef struct kf_export_options {
    kf_export_format format;
    kf_export_only only;    /* of single-attempt formats; of groups it selects the members */
    const char *task, *run; /* hash or name, id; NULL all */
    kf_reward reward;
    double discount; /* multiturn: KF_REWARD_DISCOUNT */
    /* dpo: the chosen is at least so many times as fast as a correct rejected one, >= 1 */
    double margin;
    /* dpo, kto: only where the intervals say so; rewards: a speedup whose interval contains 1
     * counts as 1 */
    bool significant;
    bool by_task;        /* dpo, grpo: groups are tasks; else prompts */
    int64_t least_group; /* grpo: smaller groups are left out; at least 1 */
    int64_t most_pairs;  /* dpo: a chosen reply is paired with at most so many rejected ones */
    /* Of the rows (dpo, grpo: members of groups that are rows) that there would be, only the first
     * of those with equal normalised source or machine code on the same task and device. Attempts
     * without a label fold nothing and stay where they are rows at all (raw). */
    bool dedup;
    /* names, hashes or families of tasks that must not appear at all */
    const char *const *held_out;
    size_t held_out_count;
    /* tasks that declare "held_out" themselves go to the test split instead of nowhere */
    bool keep_held_out;
    const char *const *test_families;
    size_t test_family_count;
    double test_share; /* of other families, chosen by the hash of their names */
    /* texts that must not appear, beside those of the environment: keys that the program knows */
    const char *const *secrets;
    size_t secret_count;
    bool keep_leaks; /* rows with code of test or held-out tasks are counted but kept */
    /* For cards; NULL: not wanted. */
    kf_export_tools *tools; /* added to; the caller frees them */
    char *digest;           /* KF_HASH_HEX bytes: kf_store_digest of the same snapshot */
} kf_export_options;

#define KF_LEAK_LINES 6   /* equal lines in a row that make a leak … */
#define KF_LEAK_BYTES 120 /* … with so many characters in them */

typedef struct kf_export_report {
    int64_t rows, train, test;
    int64_t filtered;   /* attempts that `only` or the format had no use for */
    int64_t unlabelled; /* … whose verdict says nothing of the candidate */
    int64_t duplicates, leaks, held_out, scrubbed;
} kf_export_report;

/* Takes one row, without a newline; `split` is "train" or "test". False with `error` filled ends
 * the export. */
typedef bool kf_export_sink(void *context, const char *split, const char *row, size_t size,
                            kf_error *error);

/* *report is filled as far as it got also on failure. */
bool kf_export(kf_store *store, const kf_export_options *options, kf_export_sink *sink,
               void *context, kf_export_report *report, kf_error *error);

/* ---- pieces, for tests and other writers ----------------------------------------------------- */

/* Does a list of names, hashes (8 digits of it and more) and families have this task? */
bool kf_export_listed(const char *const *list, size_t count, const char *name, const char *hash,
                      const char *family);

/* A hash of what a CUDA source means to a reader: comments are out, white space is one blank or
 * none. Equal for sources that differ in layout. */
uint64_t kf_normalised_source(const char *source, size_t size);
typedef struct kf_scrubber kf_scrubber;
/* `secrets` (8 characters and more each) are borrowed, as is the environment. */
kf_scrubber *kf_scrubber_new(const char *const *secrets, size_t count, kf_error *error);
void kf_scrubber_free(kf_scrubber *scrubber);
KF_DEFINE_AUTO(kf_scrubber, kf_scrubber_free)
/* Text without secrets and places, valid UTF-8, malloc'd. `paths`: absolute paths lose their
 * folders (for logs, not for code). *count is added to. */
char *kf_scrub_text(const kf_scrubber *scrubber, const char *text, size_t size, bool paths,
                    int64_t *count, kf_error *error);
/* The same with the secrets of the environment alone. */
char *kf_scrub(const char *text, size_t size, bool paths, int64_t *count, kf_error *error);

#endif
