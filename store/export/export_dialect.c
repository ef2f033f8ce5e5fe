/* Dialects: the rows that trainers and services read, as tables, with the configuration that names
 * their columns. The versions that were read are in README.md. */
#include <string.h>

#include "export_shape.h"
#include "export_internal.h"

#define MESSAGES                                          \
    {                                                     \
        "messages", KF_FIELD_MESSAGES, "<messages>", NULL \
    }
#define TASK                                              \
    {"task", KF_FIELD_STRING, "<task>", NULL},            \
    {                                                     \
        "task_hash", KF_FIELD_STRING, "<task_hash>", NULL \
    }
#define CONVERSATION          \
    (const kf_shape_column[]) \
    {                         \
        MESSAGES,             \
        {                     \
            0                 \
        }                     \
    }
#define PROMPTS                                                \
    (const kf_shape_column[])                                  \
    {                                                          \
        {"prompt", KF_FIELD_MESSAGES, "<prompt>", NULL}, TASK, \
        {                                                      \
            0                                                  \
        }                                                      \
    }

/* Names for LLaMA-Factory's dataset_info.json. */
static const char tags[] =
    "  \"tags\": {\"role_tag\": \"role\", \"content_tag\": \"content\", \"user_tag\": \"user\", "
    "\"assistant_tag\": \"assistant\", \"system_tag\": \"system\"}\n";

/* Rows of a dialect for a format. */
static const struct {
    kf_export_dialect dialect;
    kf_export_format format;
    const kf_shape_column *columns;
    /* Lines of the trainer's configuration, or NULL. */
    const char *config;
} shapes[] = {
    {KF_DIALECT_TRL, KF_EXPORT_SFT, CONVERSATION, NULL},
    {KF_DIALECT_TRL, KF_EXPORT_MULTITURN, CONVERSATION, NULL},
    {KF_DIALECT_TRL, KF_EXPORT_DPO,
     (const kf_shape_column[]){{"prompt", KF_FIELD_MESSAGES, "<prompt>", NULL},
                               {"chosen", KF_FIELD_MESSAGES, "<chosen>", NULL},
                               {"rejected", KF_FIELD_MESSAGES, "<rejected>", NULL},
                               {0}},
     NULL},
    {KF_DIALECT_TRL, KF_EXPORT_KTO,
     (const kf_shape_column[]){{"prompt", KF_FIELD_MESSAGES, "<prompt>", NULL},
                               {"completion", KF_FIELD_MESSAGES, "<completion>", NULL},
                               {"label", KF_FIELD_BOOLEAN, "<label>", NULL},
                               {0}},
     NULL},
    /* Other columns would be arguments of the reward function, some of them twice. */
    {KF_DIALECT_TRL, KF_EXPORT_GRPO, PROMPTS, NULL},

    {KF_DIALECT_OPENAI, KF_EXPORT_SFT, CONVERSATION, NULL},
    {KF_DIALECT_OPENAI, KF_EXPORT_MULTITURN,
     (const kf_shape_column[]){{"messages", KF_FIELD_WEIGHTED, "<messages:weighted>",
                                "the chain of prompts and replies; weight 1: a correct reply, "
                                "which is trained"},
                               {0}},
     NULL},
    {KF_DIALECT_OPENAI, KF_EXPORT_DPO,
     (const kf_shape_column[]){{"input", KF_FIELD_CONVERSATION, "{\"messages\":<prompt>}",
                                "system text, where there was one, and prompt"},
                               {"preferred_output", KF_FIELD_MESSAGES, "<chosen>", NULL},
                               {"non_preferred_output", KF_FIELD_MESSAGES, "<rejected>", NULL},
                               {0}},
     NULL},
    /* Reinforcement fine-tuning: a grader reads the other columns. */
    {KF_DIALECT_OPENAI, KF_EXPORT_GRPO,
     (const kf_shape_column[]){{"messages", KF_FIELD_MESSAGES, "<prompt>", NULL}, TASK, {0}}, NULL},

    {KF_DIALECT_LLAMAFACTORY, KF_EXPORT_SFT, CONVERSATION,
     "  \"formatting\": \"sharegpt\",\n  \"columns\": {\"messages\": \"messages\"},\n"},
    {KF_DIALECT_LLAMAFACTORY, KF_EXPORT_MULTITURN, CONVERSATION,
     "  \"formatting\": \"sharegpt\",\n  \"columns\": {\"messages\": \"messages\"},\n"},
    {KF_DIALECT_LLAMAFACTORY, KF_EXPORT_DPO,
     (const kf_shape_column[]){{"messages", KF_FIELD_MESSAGES, "<prompt>", NULL},
                               {"chosen", KF_FIELD_MESSAGE, "<chosen:first>", NULL},
                               {"rejected", KF_FIELD_MESSAGE, "<rejected:first>", NULL},
                               {0}},
     "  \"formatting\": \"sharegpt\",\n  \"ranking\": true,\n  \"columns\": {\"messages\": "
     "\"messages\", \"chosen\": \"chosen\", \"rejected\": \"rejected\"},\n"},
    {KF_DIALECT_LLAMAFACTORY, KF_EXPORT_KTO,
     (const kf_shape_column[]){{"messages", KF_FIELD_MESSAGES, "<prompt+completion>",
                                "system text, where there was one, prompt and reply"},
                               {"label", KF_FIELD_BOOLEAN, "<label>", NULL},
                               {0}},
     "  \"formatting\": \"sharegpt\",\n  \"columns\": {\"messages\": \"messages\", \"kto_tag\": "
     "\"label\"},\n"},

    {KF_DIALECT_AXOLOTL, KF_EXPORT_SFT, CONVERSATION,
     "    type: chat_template\n    field_messages: messages\n"},
    {KF_DIALECT_AXOLOTL, KF_EXPORT_MULTITURN, CONVERSATION,
     "    type: chat_template\n    field_messages: messages\n"},
    {KF_DIALECT_AXOLOTL, KF_EXPORT_DPO,
     (const kf_shape_column[]){{"prompt", KF_FIELD_MESSAGES, "<prompt>", NULL},
                               {"chosen", KF_FIELD_MESSAGE, "<chosen:first>", NULL},
                               {"rejected", KF_FIELD_MESSAGE, "<rejected:first>", NULL},
                               {0}},
     "    type: chat_template.default\n    field_messages: prompt\n    field_chosen: chosen\n"
     "    field_rejected: rejected\n"},
    {KF_DIALECT_AXOLOTL, KF_EXPORT_KTO,
     (const kf_shape_column[]){
         {"system", KF_FIELD_STRING, "<prompt:system>", "system text; \"\" without one"},
         {"prompt", KF_FIELD_STRING, "<prompt:user>", "prompt exactly as sent"},
         {"completion", KF_FIELD_STRING, "<completion:assistant>", NULL},
         {"label", KF_FIELD_BOOLEAN, "<label>", NULL},
         {0}},
     "    type: chatml.ultra  # or llama3.ultra\n"},
    {KF_DIALECT_AXOLOTL, KF_EXPORT_GRPO, PROMPTS, NULL},

    {KF_DIALECT_VERL, KF_EXPORT_SFT, CONVERSATION, NULL},
    {KF_DIALECT_VERL, KF_EXPORT_MULTITURN, CONVERSATION, NULL},
    {KF_DIALECT_VERL, KF_EXPORT_GRPO,
     (const kf_shape_column[]){
         {"data_source", KF_FIELD_STRING, "\"kforge\"", "\"kforge\", for the reward function"},
         {"prompt", KF_FIELD_MESSAGES, "<prompt>", NULL},
         {"ability", KF_FIELD_STRING, "\"cuda\"", "\"cuda\""},
         {"reward_model", KF_FIELD_TRUTH, "{\"style\":\"rule\",\"ground_truth\":<task>}",
          "name of the task, for the reward function"},
         {"extra_info", KF_FIELD_EXTRA,
          "{\"split\":<@split>,\"index\":<@index>,\"task\":<task>,\"task_hash\":<task_hash>}",
          "split, number of the row, name and hash of the task"},
         {0}},
     NULL},

    {KF_DIALECT_NEMO_GYM, KF_EXPORT_GRPO,
     (const kf_shape_column[]){{"responses_create_params", KF_FIELD_INPUT, "{\"input\":<prompt>}",
                                "system text, where there was one, and prompt"},
                               {"verifier_metadata", KF_FIELD_TASK,
                                "{\"task\":<task>,\"task_hash\":<task_hash>}",
                                "name and hash of the task, for the verifier"},
                               {0}},
     NULL},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static const struct {
    const char *name, *reader;
    /* Endings of files that the reader takes; the first is the default in a folder. NULL: all. */
    const char *endings[3];
    /* Name of the file for the configuration. */
    const char *config;
} dialects[KF_DIALECT_COUNT] = {
    [KF_DIALECT_KFORGE] = {"kforge", "kforge", {NULL}, NULL},
    [KF_DIALECT_TRL] = {"trl", "TRL", {NULL}, NULL},
    [KF_DIALECT_OPENAI] = {"openai", "OpenAI's fine-tuning", {".jsonl"}, NULL},
    [KF_DIALECT_LLAMAFACTORY] = {"llamafactory",
                                 "LLaMA-Factory",
                                 {".jsonl", ".parquet"},
                                 "dataset_info.json"},
    [KF_DIALECT_AXOLOTL] = {"axolotl",
                            "axolotl",
                            {".jsonl", ".jsonl.gz", ".parquet"},
                            "axolotl.yml"},
    [KF_DIALECT_VERL] = {"verl", "verl", {".parquet", ".jsonl"}, NULL},
    [KF_DIALECT_NEMO_GYM] = {"nemo-gym", "NeMo-Gym", {".jsonl"}, NULL},
};

bool kf_export_dialect_parse(const char *name, kf_export_dialect *dialect)
{
    for (size_t i = 0; i < KF_DIALECT_COUNT; i++)
        if (strcmp(dialects[i].name, name) == 0) return *dialect = (kf_export_dialect)i, true;
    return false;
}

const char *kf_export_dialect_ending(kf_export_dialect dialect)
{
    return dialects[dialect].endings[0];
}

bool kf_export_dialect_reads(kf_export_dialect dialect, const char *ending, kf_error *error)
{
    const char *const *endings = dialects[dialect].endings;
    bool any = !endings[0];
    for (size_t i = 0; i < 3 && endings[i]; i++) any |= strcmp(endings[i], ending) == 0;
    return any || kf_fail(error, KF_ERROR_INPUT, "%s does not read %s; write %s%s%s",
                          dialects[dialect].reader, ending, endings[0], endings[1] ? " or " : "",
                          endings[1] ? endings[1] : "");
}

static bool fail_format(kf_export_dialect dialect, kf_export_format format, kf_error *error)
{
    kf_autobuffer list = {0};
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].dialect == dialect)
            kf_buffer_format(&list, "%s%s", list.size ? ", " : "",
                             kf_export_format_name(shapes[i].format));
    return kf_fail(error, KF_ERROR_INPUT, "%s has no rows of format %s; --dialect %s takes: %s",
                   dialects[dialect].reader, kf_export_format_name(format), dialects[dialect].name,
                   list.data ? list.data : "");
}

const kf_shape_column *kf_dialect_columns(kf_export_dialect dialect, kf_export_format format,
                                          kf_error *error)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].dialect == dialect && shapes[i].format == format) return shapes[i].columns;
    fail_format(dialect, format, error);
    return NULL;
}

/* ---- configuration --------------------------------------------------------------------------- */

static void llamafactory(const kf_export_shape *s, const char *lines, const kf_export_part *parts,
                         size_t count, kf_buffer *out)
{
    size_t number[2] = {0};
    kf_buffer_string(out, "{\n");
    for (size_t i = 0; i < count; i++) {
        kf_buffer_format(out, "%s \"kforge_%s%s", i ? ",\n" : "", kf_export_format_name(s->format),
                         parts[i].test ? "_test" : "");
        if (number[parts[i].test]++) kf_buffer_format(out, "_%zu", number[parts[i].test]);
        kf_buffer_format(out, "\": {\n  \"file_name\": \"%s\",\n%s%s }", parts[i].name, lines,
                         tags);
    }
    kf_buffer_string(out, "\n}\n");
}

static void axolotl(const kf_export_shape *s, const char *lines, const kf_export_part *parts,
                    size_t count, kf_buffer *out)
{
    if (s->format == KF_EXPORT_DPO || s->format == KF_EXPORT_KTO)
        kf_buffer_format(out, "rl: %s\n", kf_export_format_name(s->format));
    for (int test = 0; test < 2; test++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            if (parts[i].test != test) continue;
            size_t length = strlen(parts[i].name);
            bool parquet = length > 8 && strcmp(parts[i].name + length - 8, ".parquet") == 0;
            if (!any) kf_buffer_string(out, test ? "test_datasets:\n" : "datasets:\n");
            any = true;
            kf_buffer_format(out, "  - path: %s\n    ds_type: %s\n    split: train\n%s",
                             parts[i].name, parquet ? "parquet" : "json", lines);
        }
    }
}

char *kf_export_shape_config(const kf_export_shape *s, const kf_export_part *parts, size_t count,
                             const char **name, kf_error *error)
{
    kf_autobuffer out = {0};
    const char *lines = NULL;
    *name = NULL;
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].dialect == s->dialect && shapes[i].format == s->format)
            lines = shapes[i].config;
    if (!lines) return strdup("");
    *name = dialects[s->dialect].config;
    if (s->dialect == KF_DIALECT_LLAMAFACTORY)
        llamafactory(s, lines, parts, count, &out);
    else
        axolotl(s, lines, parts, count, &out);
    char *text = kf_buffer_take(&out);
    if (!text) kf_fail_memory(error, "an export");
    return text;
}
