#include "export_card.h"

#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"

/* Writes a layout (kf_export_type_layout) in the spelling of `datasets`. */
static void append_layout(kf_buffer *out, const cJSON *layout, int indent)
{
    const cJSON *inner = cJSON_IsArray(layout) ? layout->child : layout;
    const char *key = cJSON_IsArray(layout) ? "list" : cJSON_IsObject(layout) ? "struct" : "dtype";
    if (cJSON_IsString(inner)) {
        kf_buffer_format(out, "%*s%s: %s\n", indent, "", key, inner->valuestring);
        return;
    }
    kf_buffer_format(out, "%*s%s:\n", indent, "", key);
    for (const cJSON *member = inner->child; member; member = member->next) {
        kf_buffer_format(out, "%*s- name: %s\n", indent, "", member->string);
        append_layout(out, member, indent + 2);
    }
}

static void append_feature(kf_buffer *out, const kf_export_field *field)
{
    kf_auto(cJSON) layout = cJSON_Parse(kf_export_type_layout(field->type));
    kf_buffer_format(out, "  - name: %s\n", field->name);
    if (layout)
        append_layout(out, layout, 4);
    else
        out->failed = true;
}

static const kf_export_field *fields_of(const kf_card *card)
{
    const kf_export_options *options = card->options;
    return options->shape ? kf_export_shape_fields(options->shape)
                          : kf_export_fields(options->format);
}

/* Writes a YAML scalar: plain if it has no special characters, else in quotes as in JSON, which
 * YAML accepts. */
static void append_scalar(kf_buffer *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
    bool quoted = !*text || text[strspn(text, plain)];
    if (quoted) kf_buffer_string(out, "\"");
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20)
            kf_buffer_format(out, "\\u%04x", *text);
        else
            kf_buffer_format(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    }
    if (quoted) kf_buffer_string(out, "\"");
}

/* Writes a table cell: one line without a bar. */
static void append_cell(kf_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            kf_buffer_string(out, "\\|");
        else
            kf_buffer_append(out, (unsigned char)*text < 0x20 ? " " : text, 1);
    }
}

static void append_header(kf_buffer *out, const kf_card *card)
{
    kf_buffer_string(out, "---\nlicense: ");
    append_scalar(out, card->license);
    kf_buffer_string(
        out, "\ntags:\n- cuda\n- kforge\nconfigs:\n- config_name: default\n  data_files:\n");
    for (int split = 0; split < 2; split++) {
        const char *name = split ? "test" : "train";
        bool any = false;
        for (size_t i = 0; i < card->file_count; i++)
            any |= strcmp(card->files[i].split, name) == 0;
        if (any)
            kf_buffer_format(out, "  - split: %s\n    path: %s-*%s\n", name, name,
                             kf_packing_suffix(card->packing));
    }
    const kf_export_field *fields = fields_of(card);
    if (fields->name) kf_buffer_string(out, "dataset_info:\n  features:\n");
    for (; fields->name; fields++) append_feature(out, fields);
    kf_buffer_string(out, "---\n\n");
}

char *kf_export_filtered_words(const kf_export_options *options)
{
    static const char *const words[] = {
        [KF_ONLY_ALL] = "",
        [KF_ONLY_CORRECT] = "not correct",
        [KF_ONLY_FASTER] = "not faster",
        [KF_ONLY_FAILED] = "not failed",
        [KF_ONLY_CHEATING] = "not cheating",
        [KF_ONLY_SUSPECTED] = "not suspected",
    };
    const char *only = words[options->only];
    bool work = options->own_work > 0;
    kf_autobuffer out = {0};
    kf_buffer_format(&out, "%s%s%s", only, *only && work ? " or " : "",
                     work     ? "with little own work"
                     : !*only ? "filtered"
                              : "");
    return kf_buffer_take(&out);
}

char *kf_export_unused_words(const kf_export_options *options)
{
    kf_autobuffer out = {0};
    switch (options->format) {
    case KF_EXPORT_SFT: kf_buffer_string(&out, "cut off"); break;
    case KF_EXPORT_DPO: kf_buffer_string(&out, "in no pair"); break;
    case KF_EXPORT_KTO: kf_buffer_string(&out, "cut off or neither faster nor slower"); break;
    case KF_EXPORT_GRPO:
        kf_buffer_format(&out, "in groups of fewer than %lld", (long long)options->least_group);
        break;
    case KF_EXPORT_CONTRAST: kf_buffer_string(&out, "without a parent"); break;
    default: kf_buffer_string(&out, "without use");
    }
    return kf_buffer_take(&out);
}

char *kf_card_text(const kf_card *card, kf_error *error)
{
    const kf_export_report *r = card->report;
    kf_autobuffer out = {0};
    kf_autofree char *filtered = kf_export_filtered_words(card->options),
                     *unused = kf_export_unused_words(card->options);
    if (!filtered || !unused) return kf_fail_memory(error, "the data card"), NULL;
    append_header(&out, card);
    kf_buffer_format(&out, "# kforge %s: %s\n\n", kf_export_format_name(card->options->format),
                     kf_export_format_summary(card->options->format));
    kf_buffer_format(&out,
                     "CUDA kernels by language models, a tuner and people, with measurements of "
                     "kforge's judge. Speedups are the baseline's time over the candidate's, with "
                     "a 95 %% interval. Another process than the candidate's measured them.\n\n");
    kf_buffer_format(&out, "| | |\n|---|---|\n| made by | kforge %s |\n| store | content %s |\n",
                     KFORGE_VERSION, card->options->digest);
    kf_buffer_format(
        &out, "| reward | %s: %s%s |\n| licence | ", kf_reward_name(card->options->reward),
        kf_reward_formula(card->options->reward),
        card->options->significant ? "; a speedup counts as 1 if its interval contains 1" : "");
    append_cell(&out, card->license);
    kf_buffer_string(&out, " |\n");
    kf_buffer_format(
        &out,
        "| rows | %lld, %lld of them to train and %lld to test; the splits share no "
        "family of tasks |\n| left out | %lld %s, %lld %s, %lld without a prompt, %lld "
        "without a label, %lld duplicates, %lld with code of test or held-out tasks, %lld of "
        "held-out tasks "
        "|\n| removed from texts | %lld secrets, %lld paths |\n\n",
        (long long)r->rows, (long long)r->train, (long long)r->test, (long long)r->filtered,
        filtered, (long long)r->unused, unused, (long long)r->unprompted, (long long)r->unlabelled,
        (long long)r->duplicates, (long long)(card->options->keep_leaks ? 0 : r->leaks),
        (long long)r->held_out, (long long)r->scrubbed.secrets, (long long)r->scrubbed.paths);
    /* The fence is longer than any run of backquotes in the command. */
    size_t fence = 3, run = 0;
    for (const char *at = card->command; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        if (run >= fence) fence = run + 1;
    }
    kf_buffer_string(&out, "Made with this command. The same store gives the same files:\n\n");
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i < fence; i++) kf_buffer_string(&out, "`");
        kf_buffer_format(&out, end ? "\n\n" : "sh\n%s\n", card->command);
    }
    kf_buffer_string(&out, "## Tools\n\nFrom the verdicts of the rows.\n\n| tool | version | "
                           "verdicts |\n|---|---|---|\n");
    for (size_t i = 0; i < card->options->tools->count; i++) {
        const kf_export_tool *tool = &card->options->tools->list[i];
        kf_buffer_format(&out, "| %s | ", tool->name);
        append_cell(&out, tool->version);
        kf_buffer_format(&out, " | %lld |\n", (long long)tool->verdicts);
    }
    kf_buffer_string(
        &out, "\n## Files\n\n| file | split | rows | bytes | SHA-256 |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < card->file_count; i++) {
        const kf_output_file *file = &card->files[i];
        kf_buffer_format(&out, "| %s | %s | %lld | %lld | %s |\n", file->name, file->split,
                         (long long)file->rows, (long long)file->bytes, file->hash);
    }
    kf_buffer_string(&out, "\n## Fields\n\n| field | type | meaning |\n|---|---|---|\n");
    for (const kf_export_field *field = fields_of(card); field->name; field++)
        kf_buffer_format(&out, "| `%s` | %s | %s |\n", field->name,
                         kf_export_type_name(field->type), field->help);
    char *text = kf_buffer_take(&out);
    if (!text) kf_fail_memory(error, "the data card");
    return text;
}
