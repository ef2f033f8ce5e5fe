/* Exports: the table of formats with their fields, and the steps that all formats share. */
#include "kforge/export.h"

#include <math.h>
#include <string.h>

#include "export_internal.h"
#include "kforge/store_maintenance.h"

/* ---- fields ---------------------------------------------------------------------------------- */

#define ORIGIN                                                                              \
    {"task", KF_FIELD_STRING, "name of the task"},                                          \
        {"task_hash", KF_FIELD_STRING, "content address of the task, SHA-256"},             \
        {"family", KF_FIELD_STRING,                                                         \
         "family of the task, by which splits are made; the task's name when it has none"}, \
        {"run", KF_FIELD_STRING, "run of the attempt"},                                     \
        {"attempt", KF_FIELD_INTEGER, "number within the run, from 1"},                     \
    {                                                                                       \
        "device", KF_FIELD_STRING, "hardware that judged, else the run's"                   \
    }
#define MODEL(PREFIX)                                                                           \
    {PREFIX "model", KF_FIELD_STRING, "model, as the provider names it"},                       \
        {PREFIX "settings", KF_FIELD_STRING,                                                    \
         "the call's settings as sent, as JSON: temperature, max_tokens, …, and when in the " \
         "search (asked, after); \"{}\" "                                                       \
         "unknown"},                                                                            \
        {PREFIX "call_outcome", KF_FIELD_STRING,                                                \
         "ok, truncated, refused, empty, failed, exhausted; \"\" none"},                        \
        {PREFIX "prompt_tokens", KF_FIELD_INTEGER, "-1 unknown"},                               \
    {                                                                                           \
        PREFIX "completion_tokens", KF_FIELD_INTEGER, "-1 unknown"                              \
    }
#define SCORE(PREFIX)                                                                          \
    {PREFIX "candidate", KF_FIELD_STRING,                                                      \
     "content address of source and compiler flags, \"\" when the reply held no usable code"}, \
        {PREFIX "status", KF_FIELD_STRING,                                                     \
         "status of the verdict that stands, or how the attempt ended without one"},           \
        {PREFIX "speedup", KF_FIELD_FLOAT,                                                     \
         "baseline's time over the candidate's; 0 unless correct and timed"},                  \
        {PREFIX "speedup_low", KF_FIELD_FLOAT, "lower end of the 95 % interval; 0 unknown"},   \
        {PREFIX "speedup_high", KF_FIELD_FLOAT, "upper end; 0 unknown"},                       \
    {                                                                                          \
        PREFIX "reward", KF_FIELD_FLOAT, "by the reward function of the export"                \
    }
/* Fields of groups and chains: one element for each reply, in order. */
#define MEMBERS                                                                                   \
    {"statuses", KF_FIELD_STRINGS, "status of each"},                                             \
        {"speedups", KF_FIELD_FLOATS, "of each; 0 unless correct and timed"},                     \
        {"speedups_low", KF_FIELD_FLOATS, "lower end of each 95 % interval; 0 unknown"},          \
        {"speedups_high", KF_FIELD_FLOATS, "upper ends; 0 unknown"},                              \
        {"candidates", KF_FIELD_STRINGS,                                                          \
         "content address of each, \"\" where the reply held no usable code"},                    \
        {"ids", KF_FIELD_STRINGS, "RUN/NUMBER of each attempt, the id of its raw row"},           \
        {"models", KF_FIELD_STRINGS, "model, as the provider names it"},                          \
        {"settings", KF_FIELD_STRINGS, "settings of each call as sent, as JSON; \"{}\" unknown"}, \
        {"call_outcomes", KF_FIELD_STRINGS, "ok or truncated"},                                   \
        {"prompt_tokens", KF_FIELD_INTEGERS, "of each; -1 unknown"},                              \
    {                                                                                             \
        "completion_tokens", KF_FIELD_INTEGERS, "of each; -1 unknown"                             \
    }
#define PROMPT                                                             \
    {                                                                      \
        "prompt", KF_FIELD_MESSAGES,                                       \
            "system text, where there was one, and prompt exactly as sent" \
    }

static const kf_export_field raw_fields[] = {
    {"id", KF_FIELD_STRING,
     "RUN/NUMBER of an attempt; verdict/HASH@TIME of a verdict outside a run"},
    ORIGIN,
    {"created", KF_FIELD_FLOAT, "seconds since 1970"},
    {"outcome", KF_FIELD_STRING,
     "how the attempt ended: judged, known, same_code, reverified, model_failed, no_source, "
     "bad_edit, rejected, lost"},
    {"message", KF_FIELD_STRING, "one line on how it ended"},
    {"proposer", KF_FIELD_STRING, "seed, tuner, person, or the model's spec"},
    {"strategy", KF_FIELD_STRING, "strategy of the search"},
    {"step", KF_FIELD_STRING, "kind of request: draft, improve, repair_build, …"},
    {"island", KF_FIELD_INTEGER, "sub-population"},
    {"parents", KF_FIELD_STRING, "JSON array of {\"candidate\", \"role\"}"},
    {"candidate", KF_FIELD_STRING,
     "content address of source and compiler flags; \"\" when the attempt yielded none"},
    {"source", KF_FIELD_STRING, "the CUDA source"},
    {"flags", KF_FIELD_STRING, "compiler flags as a JSON array"},
    {"tunables", KF_FIELD_STRING, "values of tunables as JSON; \"{}\" none"},
    {"features", KF_FIELD_STRING, "features for novelty and MAP-Elites, as JSON; \"{}\" none"},
    {"status", KF_FIELD_STRING, "status of this attempt's verdict; \"\" none"},
    {"blame", KF_FIELD_STRING, "nobody, candidate, task, machine, judge; \"\" without a verdict"},
    {"verdict_message", KF_FIELD_STRING, "the verdict in one line"},
    {"speedup", KF_FIELD_FLOAT, "baseline's time over the candidate's; 0 unless correct and timed"},
    {"speedup_low", KF_FIELD_FLOAT, "lower end of the 95 % interval; 0 unknown"},
    {"speedup_high", KF_FIELD_FLOAT, "upper end; 0 unknown"},
    {"reverified", KF_FIELD_BOOLEAN, "measured again in fresh processes, and the intervals agree"},
    {"stands", KF_FIELD_BOOLEAN,
     "this verdict is the one that counts for the candidate on its device"},
    {"labelled", KF_FIELD_BOOLEAN,
     "the verdict says something of the candidate, so the reward means something"},
    {"reward", KF_FIELD_FLOAT, "by the reward function of the export; 0 where not labelled"},
    {"code_hash", KF_FIELD_STRING, "hash of the binary; \"\" unknown"},
    {"build_seconds", KF_FIELD_FLOAT, "-1 unknown"},
    {"judge_seconds", KF_FIELD_FLOAT, "-1 unknown"},
    {"verdict", KF_FIELD_STRING,
     "the verdict as JSON (kforge-verdict/1): findings, errors, flags, raw samples, build log; "
     "\"{}\" none"},
    {"counters", KF_FIELD_STRING, "hardware counters as JSON; \"{}\" none"},
    {"provider", KF_FIELD_STRING, "of the model call; \"\" none"},
    MODEL(""),
    {"system", KF_FIELD_STRING, "system text as sent"},
    {"prompt", KF_FIELD_STRING, "prompt as sent"},
    {"reply", KF_FIELD_STRING, "reply as received"},
    {"cost_usd", KF_FIELD_FLOAT, "-1 unknown"},
    {"call_seconds", KF_FIELD_FLOAT, "-1 unknown"},
    {0},
};
static const kf_export_field sft_fields[] = {
    {"messages", KF_FIELD_MESSAGES,
     "system text, where there was one, prompt and reply exactly as sent and received"},
    ORIGIN,
    MODEL(""),
    SCORE(""),
    {0},
};
static const kf_export_field dpo_fields[] = {
    PROMPT,
    {"chosen", KF_FIELD_MESSAGES, "the better reply"},
    {"rejected", KF_FIELD_MESSAGES, "the worse one"},
    {"same_prompt", KF_FIELD_BOOLEAN,
     "both answer this very prompt; false: the rejected one answered another prompt on the same "
     "task"},
    ORIGIN,
    {"chosen_id", KF_FIELD_STRING, "RUN/NUMBER of the attempt, the id of its raw row"},
    SCORE("chosen_"),
    MODEL("chosen_"),
    {"rejected_id", KF_FIELD_STRING, "RUN/NUMBER of the attempt, the id of its raw row"},
    SCORE("rejected_"),
    MODEL("rejected_"),
    {0},
};
static const kf_export_field kto_fields[] = {
    PROMPT,
    {"completion", KF_FIELD_MESSAGES, "the reply"},
    {"label", KF_FIELD_BOOLEAN,
     "true: correct and faster than the baseline; false: failed, or slower"},
    ORIGIN,
    MODEL(""),
    SCORE(""),
    {0},
};
static const kf_export_field grpo_fields[] = {
    PROMPT,
    {"completions", KF_FIELD_STRINGS, "the replies of the group"},
    {"rewards", KF_FIELD_FLOATS, "of each, by the reward function of the export"},
    {"advantages", KF_FIELD_FLOATS,
     "(reward - mean) / standard deviation within the group; 0 in a group without a better reply"},
    MEMBERS,
    {"group", KF_FIELD_INTEGER, "number of replies"},
    ORIGIN,
    {0},
};
static const kf_export_field contrast_fields[] = {
    PROMPT,
    {"exemplars", KF_FIELD_EXEMPLARS,
     "the candidates that the prompt showed, with the figures that stand now"},
    {"reply", KF_FIELD_STRING, "the reply as received"},
    {"target", KF_FIELD_STRING, "the source that came of it"},
    ORIGIN,
    MODEL(""),
    SCORE(""),
    {0},
};
static const kf_export_field multiturn_fields[] = {
    {"messages", KF_FIELD_MESSAGES, "the chain of prompts and replies, oldest first"},
    {"turns", KF_FIELD_INTEGER, "number of replies"},
    {"rewards", KF_FIELD_FLOATS, "of each reply"},
    {"returns", KF_FIELD_FLOATS, "reward plus discounted rewards of the turns after it"},
    MEMBERS,
    ORIGIN,
    SCORE(""),
    {0},
};
static const kf_export_field no_fields[] = {{0}};

static const struct {
    const char *name, *summary;
    const kf_export_field *fields;
    bool (*export)(kf_exporter *exporter, kf_error *error);
} formats[KF_EXPORT_FORMAT_COUNT] = {
    [KF_EXPORT_RAW] = {"raw",
                       "every attempt with its source, verdict, samples, counters and model call",
                       raw_fields, kf_export_raw},
    [KF_EXPORT_SFT] = {"sft", "conversations to imitate: messages", sft_fields, kf_export_sft},
    [KF_EXPORT_DPO] = {"dpo", "preferences: prompt, chosen, rejected", dpo_fields, kf_export_dpo},
    [KF_EXPORT_KTO] = {"kto", "good or bad one by one: prompt, completion, label", kto_fields,
                       kf_export_kto},
    [KF_EXPORT_GRPO] = {"grpo", "groups of replies with rewards and advantages", grpo_fields,
                        kf_export_grpo},
    [KF_EXPORT_CONTRAST] = {"contrast", "exemplars with scores, and what came of them",
                            contrast_fields, kf_export_contrast},
    [KF_EXPORT_MULTITURN] = {"multiturn",
                             "chains of refinement with rewards and discounted returns",
                             multiturn_fields, kf_export_multiturn},
    [KF_EXPORT_CASSETTE] = {"cassette", "replies that `--llm replay:` can repeat", no_fields,
                            kf_export_cassette},
};

const char *kf_export_format_name(kf_export_format format)
{
    return (size_t)format < KF_EXPORT_FORMAT_COUNT ? formats[format].name : "unknown";
}
const char *kf_export_format_summary(kf_export_format format)
{
    return (size_t)format < KF_EXPORT_FORMAT_COUNT ? formats[format].summary : "";
}
const kf_export_field *kf_export_fields(kf_export_format format)
{
    return (size_t)format < KF_EXPORT_FORMAT_COUNT ? formats[format].fields : no_fields;
}
bool kf_export_format_parse(const char *name, kf_export_format *format)
{
    for (size_t i = 0; i < KF_EXPORT_FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0) return *format = (kf_export_format)i, true;
    return false;
}

/* ---- types ----------------------------------------------------------------------------------- */

#define LAYOUT_MESSAGE "{\"role\": \"string\", \"content\": \"string\"}"

static const struct {
    const char *name, *layout;
} types[KF_EXPORT_TYPE_COUNT] = {
    [KF_FIELD_STRING] = {"string", "\"string\""},
    [KF_FIELD_FLOAT] = {"float", "\"float64\""},
    [KF_FIELD_INTEGER] = {"integer", "\"int64\""},
    [KF_FIELD_BOOLEAN] = {"boolean", "\"bool\""},
    [KF_FIELD_MESSAGES] = {"list of messages", "[" LAYOUT_MESSAGE "]"},
    [KF_FIELD_STRINGS] = {"list of strings", "[\"string\"]"},
    [KF_FIELD_FLOATS] = {"list of floats", "[\"float64\"]"},
    [KF_FIELD_INTEGERS] = {"list of integers", "[\"int64\"]"},
    [KF_FIELD_EXEMPLARS] = {"list of exemplars",
                            "[{\"candidate\": \"string\", \"role\": \"string\", \"source\": "
                            "\"string\", \"status\": \"string\", \"speedup\": \"float64\", "
                            "\"speedup_low\": \"float64\", \"speedup_high\": \"float64\"}]"},
    [KF_FIELD_MESSAGE] = {"message", LAYOUT_MESSAGE},
    [KF_FIELD_WEIGHTED] = {"list of messages",
                           "[{\"role\": \"string\", \"content\": \"string\", \"weight\": "
                           "\"int64\"}]"},
    [KF_FIELD_CONVERSATION] = {"object", "{\"messages\": [" LAYOUT_MESSAGE "]}"},
    [KF_FIELD_INPUT] = {"object", "{\"input\": [" LAYOUT_MESSAGE "]}"},
    [KF_FIELD_TRUTH] = {"object", "{\"style\": \"string\", \"ground_truth\": \"string\"}"},
    [KF_FIELD_TASK] = {"object", "{\"task\": \"string\", \"task_hash\": \"string\"}"},
    [KF_FIELD_EXTRA] = {"object",
                        "{\"split\": \"string\", \"index\": \"int64\", \"task\": \"string\", "
                        "\"task_hash\": \"string\"}"},
};

const char *kf_export_type_name(kf_export_type type)
{
    return types[type].name;
}
const char *kf_export_type_layout(kf_export_type type)
{
    return types[type].layout;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool resolve(kf_exporter *e, kf_error *error)
{
    const kf_export_options *options = e->options;
    if (options->task) {
        kf_autoresult kf_store_task task = {0};
        if (!kf_store_find_task(e->store, options->task, &task, error)) return false;
        e->only_task = kf_task_row(e->store, task.hash, error);
    }
    if (options->run) {
        kf_autoresult kf_store_run run = {0};
        if (!kf_store_find_run(e->store, options->run, &run, error)) return false;
        e->only_run = kf_run_row(e->store, run.id, error);
    }
    return true;
}

static bool check(const kf_export_options *o, kf_error *error)
{
    if ((size_t)o->format >= KF_EXPORT_FORMAT_COUNT || (size_t)o->reward >= KF_REWARD_COUNT)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "export: no such format or reward: this is a bug in kforge");
    if (!(o->margin >= 1))
        return kf_fail(error, KF_ERROR_INPUT,
                       "the margin of preferences is a ratio of speedups, 1 or more");
    if (!(o->test_share >= 0 && o->test_share <= 1))
        return kf_fail(error, KF_ERROR_INPUT, "the share of the test split is between 0 and 1");
    return true;
}

static void release(kf_exporter *e)
{
    kf_export_free_tasks(e);
    kf_hash_set_free(&e->seen);
    kf_hash_set_free(&e->prints);
    kf_buffer_free(&e->row);
    kf_buffer_free(&e->shaped);
    for (size_t i = 0; i < sizeof e->kept / sizeof *e->kept; i++) kf_buffer_free(&e->kept[i].json);
    kf_buffer_free(&e->last_tools.text);
    kf_export_tools_free(&e->last_tools.tools);
    kf_export_tools_free(&e->tools);
    kf_scrubber_free(e->scrubber);
}

bool kf_export(kf_store *store, const kf_export_options *options, kf_export_sink *sink,
               void *context, kf_export_report *report, kf_error *error)
{
    kf_exporter e = {
        .store = store, .options = options, .sink = sink, .context = context, .report = report};
    *report = (kf_export_report){0};
    if (!check(options, error)) return false;
    e.scrubber = kf_scrubber_new(options->secrets, options->secret_count, error);
    bool own = sqlite3_get_autocommit(store->db) != 0;
    bool ok = e.scrubber && (!own || kf_sql_do(store, error, "BEGIN", "")); /* one snapshot */
    ok = ok && kf_export_load_tasks(&e, error) && resolve(&e, error) &&
         formats[options->format].export(&e, error) &&
         (!options->digest || kf_store_digest(store, options->digest, error));
    if (ok && options->tools && !kf_export_tools_add(options->tools, &e.tools))
        ok = kf_fail_memory(error, "an export");
    if (own && !sqlite3_get_autocommit(store->db)) kf_sql_do(store, NULL, "COMMIT", "");
    release(&e);
    return ok;
}
