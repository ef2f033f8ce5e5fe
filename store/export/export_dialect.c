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

const kf_shape_column *kf_dialect_columns(kf_export_dialect dialect, kf_export_format format)
{
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].dialect == dialect && shapes[i].format == format) return shapes[i].columns;
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool add_column(kf_export_shape *s, const kf_shape_column *column, kf_error *error)
{
    if (s->count == KF_SHAPE_COLUMNS)
        return kf_fail(error, KF_ERROR_INPUT, "--columns: more than %d columns", KF_SHAPE_COLUMNS);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->columns[i].name, column->name) == 0)
            return kf_fail(error, KF_ERROR_INPUT, "--columns: two columns have the name \"%s\"",
                           column->name);
    s->columns[s->count] = *column;
    const char *help = column->help;
    size_t size = strcspn(column->form + (*column->form == '<'), ":+>");
    for (const kf_export_field *f = kf_export_fields(s->format); f->name && !help; f++)
        if (strlen(f->name) == size && strncmp(f->name, column->form + 1, size) == 0)
            help = f->help;
    s->fields[s->count++] = (kf_export_field){column->name, column->type, help ? help : ""};
    return true;
}

/* Lists the formats that a dialect has. */
static bool fail_format(const kf_export_shape *s, kf_error *error)
{
    kf_autobuffer list = {0};
    for (size_t i = 0; i < SHAPES; i++)
        if (shapes[i].dialect == s->dialect)
            kf_buffer_format(&list, "%s%s", list.size ? ", " : "",
                             kf_export_format_name(shapes[i].format));
    return kf_fail(error, KF_ERROR_INPUT, "%s has no rows of format %s; --dialect %s takes: %s",
                   dialects[s->dialect].reader, kf_export_format_name(s->format),
                   dialects[s->dialect].name, list.data ? list.data : "");
}

static bool add_dialect(kf_export_shape *s, kf_error *error)
{
    const kf_shape_column *columns = kf_dialect_columns(s->dialect, s->format);
    if (!columns) return fail_format(s, error);
    for (; columns->name; columns++)
        if (!add_column(s, columns, error)) return false;
    return true;
}

/* Keeps a text of printf for the shape. */
static const char *keep(kf_export_shape *s, const char *before, const char *text, size_t size,
                        const char *behind)
{
    char *kept;
    if (s->text_count == 2 * KF_SHAPE_COLUMNS ||
        asprintf(&kept, "%s%.*s%s", before, (int)size, text, behind) < 0)
        return NULL;
    return s->texts[s->text_count++] = kept;
}

/* Adds "NAME=FIELD", or "NAME" for NAME=NAME. */
static bool add_given(kf_export_shape *s, const char *text, size_t size, kf_error *error)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *equals = memchr(text, '=', size);
    size_t length = equals ? (size_t)(equals - text) : size;
    const char *from = equals ? equals + 1 : text;
    size_t from_size = equals ? size - length - 1 : size;
    if (!length || !from_size || strspn(text, letters) < length)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--columns: \"%.*s\": expected NAME=FIELD, with a NAME of letters, digits, "
                       "_, . and -",
                       (int)size, text);
    if (s->count == KF_SHAPE_COLUMNS)
        return kf_fail(error, KF_ERROR_INPUT, "--columns: more than %d columns", KF_SHAPE_COLUMNS);
    kf_autofree char *plain = strndup(from, from_size);
    kf_shape_column column = {.name = keep(s, "", text, length, ""),
                              .form = keep(s, "<", from, from_size, ">")};
    if (!plain || !column.name || !column.form) return kf_fail_memory(error, "an export");
    return kf_shape_type(s->format, plain, &column.type, error) && add_column(s, &column, error);
}

kf_export_shape *kf_export_shape_new(kf_export_format format, kf_export_dialect dialect,
                                     const char *columns, kf_error *error)
{
    kf_auto(kf_export_shape) s = calloc(1, sizeof *s);
    if (!s) return kf_fail_memory(error, "an export"), NULL;
    s->format = format;
    s->dialect = dialect;
    if (dialect != KF_DIALECT_KFORGE && !add_dialect(s, error)) return NULL;
    if (columns && !kf_export_fields(format)->name)
        return kf_fail(error, KF_ERROR_INPUT, "--columns has no effect on --format %s",
                       kf_export_format_name(format)),
               NULL;
    for (const char *at = columns; at;) {
        size_t size = strcspn(at, ",");
        if (!add_given(s, at, size, error)) return NULL;
        at = at[size] ? at + size + 1 : NULL;
    }
    return kf_steal(&s);
}

void kf_export_shape_free(kf_export_shape *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->text_count; i++) free(s->texts[i]);
    free(s);
}

const kf_export_field *kf_export_shape_fields(const kf_export_shape *s)
{
    return s->fields;
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
