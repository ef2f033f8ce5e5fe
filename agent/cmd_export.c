/* `kforge export`: training data, cassettes and libraries of winners out of stores. */
#include <string.h>
#include <sys/stat.h>

#include "export_card.h"
#include "export_modelnew.h"
#include "export_package.h"
#include "kforge/file.h"
#include "kforge/store_care.h"
#include "secret.h"
#include "show.h"

typedef struct settings {
    const char *store, *format, *output, *as, *only, *reward, *task, *run, *group, *dedup, *license, *candidate;
    bool force, significant, include_held_out, keep_leaks, json;
    double margin, discount, test_share;
    int64_t shard_rows, least_group, pairs;
    kf_option_list held_out, test_family;
} settings;

static int index_of(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i;
    return 0;
}

static bool read_options(const settings *s, kf_export_options *options, kf_error *error)
{
    static const char *const onlys[] = {"all", "correct", "faster", "failed", "cheating", NULL};
    *options = (kf_export_options){
        .task = s->task,
        .run = s->run,
        .discount = s->discount,
        .margin = s->margin,
        .significant = s->significant,
        .by_task = strcmp(s->group, "task") == 0,
        .least_group = s->least_group,
        .most_pairs = s->pairs,
        .held_out = s->held_out.items,
        .held_out_count = s->held_out.count,
        .keep_held_out = s->include_held_out,
        .test_families = s->test_family.items,
        .test_family_count = s->test_family.count,
        .test_share = s->test_share,
        .keep_leaks = s->keep_leaks,
    };
    bool known = kf_export_format_parse(s->format, &options->format) && kf_reward_parse(s->reward, &options->reward);
    if (!known) return kf_fail(error, KF_ERROR_INTERNAL, "export: format or reward is not known: this is a bug in kforge");
    /* Imitating what failed is asked for by name only; elsewhere failures are half of what there is to learn. */
    bool imitation = options->format == KF_EXPORT_SFT;
    options->only = s->only ? (kf_export_only)index_of(onlys, s->only) : imitation ? KF_ONLY_CORRECT : KF_ONLY_ALL;
    bool whole =
        options->format == KF_EXPORT_RAW || options->format == KF_EXPORT_CASSETTE || options->format == KF_EXPORT_MULTITURN;
    options->dedup = strcmp(s->dedup, "auto") == 0 ? !whole : strcmp(s->dedup, "on") == 0;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat status;
    kf_packing packing;
    if (strcmp(path, "-") == 0) return false;
    return path[strlen(path) - 1] == '/' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) ||
           !kf_packing_of_name(path, &packing);
}

static bool read_output(const settings *s, const kf_invocation *invocation, const kf_export_options *options,
                        kf_output_settings *output, kf_error *error)
{
    static const char *const words[] = {"jsonl", "jsonl.gz", "jsonl.zst", "parquet", NULL};
    *output = (kf_output_settings){.path = s->output,
                                   .standard = invocation->output,
                                   .folder = *s->output && is_folder(s->output),
                                   .force = s->force,
                                   .shard_rows = s->shard_rows,
                                   .fields = kf_export_fields(options->format)};
    bool standard = strcmp(s->output, "-") == 0, cassette = options->format == KF_EXPORT_CASSETTE;
    if (!*s->output) return kf_fail(error, KF_ERROR_INPUT, "--output is empty: name a file, a folder, or - for standard output");
    if (s->as)
        output->packing = (kf_packing)index_of(words, s->as);
    else if (output->folder)
        output->packing = KF_PACK_GZIP; /* which every reader takes; zstd needs a package more in Python */
    else if (!standard)
        kf_packing_of_name(s->output, &output->packing);
    if (standard && output->packing == KF_PACK_PARQUET)
        return kf_fail(error, KF_ERROR_INPUT, "Parquet can't be streamed: name a file or folder with --output");
    if (cassette && (output->folder || output->packing != KF_PACK_NONE))
        return kf_fail(error, KF_ERROR_INPUT, "a cassette is one plain file: name it .jsonl");
    bool splits = options->test_family_count || options->test_share > 0 || options->keep_held_out;
    if (splits && !output->folder)
        return kf_fail(error, KF_ERROR_INPUT, "a split needs a folder for its files: give one with --output");
    return true;
}

/* ---- stores ---- */

/* Several stores are read as one: merged into a temporary one first. *folder is to be removed afterwards. */
static kf_store *open_stores(const settings *s, const kf_invocation *invocation, char **folder, kf_error *error)
{
    if (invocation->argument_count == 0) return kf_store_open(s->store, KF_STORE_READ, error);
    if (invocation->argument_count == 1) return kf_store_open(invocation->arguments[0], KF_STORE_READ, error);
    kf_autofree char *path = (*folder = kf_directory_temporary("kforge-export", error)) ? kf_path_join(*folder, "all.db") : NULL;
    kf_auto(kf_store) store = path ? kf_store_open(path, KF_STORE_CREATE, error) : NULL;
    kf_store_merged merged = {0};
    for (size_t i = 0; store && i < invocation->argument_count; i++)
        if (!kf_store_merge(store, invocation->arguments[i], &merged, error)) return NULL;
    return kf_steal(&store);
}

/* ---- a data set ---- */

typedef struct run_state {
    kf_output *output;
    const kf_invocation *invocation;
} run_state;

static bool take_row(void *context, const char *split, const char *row, size_t size, kf_error *error)
{
    const run_state *state = context;
    if (*state->invocation->interrupts) return kf_fail(error, KF_ERROR_IO, "interrupted");
    return kf_output_row(state->output, split, row, size, error);
}

static bool add_card(const settings *s, kf_store *store, const kf_export_options *options, const kf_output_settings *settings_of,
                     const kf_export_report *report, kf_output *output, kf_error *error)
{
    const kf_output_file *files;
    size_t count;
    if (!kf_output_finish(output, &files, &count, error)) return false;
    if (!settings_of->folder) return true;
    char command[512];
    snprintf(command, sizeof command, "kforge export --format %s --reward %s --margin %g %s--group %s --dedup %s --test-share %g",
             s->format, s->reward, s->margin, s->significant ? "" : "--no-significant ", s->group, options->dedup ? "on" : "off",
             s->test_share);
    kf_card card = {.options = options,
                    .report = report,
                    .files = files,
                    .file_count = count,
                    .license = s->license,
                    .command = command,
                    .packing = settings_of->packing};
    if (!kf_store_digest(store, card.digest, error)) return false;
    kf_autofree char *text = kf_card_text(&card, error);
    return text && kf_output_add(output, "README.md", text, strlen(text), error);
}

static void tell(const settings *s, const kf_invocation *invocation, const kf_export_report *r)
{
    bool standard = strcmp(s->output, "-") == 0;
    if (s->json && !standard) {
        fprintf(invocation->output,
                "{\"rows\": %lld, \"train\": %lld, \"test\": %lld, \"filtered\": %lld, \"unlabelled\": %lld, \"duplicates\": %lld, "
                "\"leaks\": %lld, "
                "\"held_out\": %lld, \"scrubbed\": %lld}\n",
                (long long)r->rows, (long long)r->train, (long long)r->test, (long long)r->filtered, (long long)r->unlabelled,
                (long long)r->duplicates, (long long)r->leaks, (long long)r->held_out, (long long)r->scrubbed);
        return;
    }
    fprintf(invocation->log, "%lld rows", (long long)r->rows);
    const struct {
        int64_t count;
        const char *what;
    } parts[] = {{r->test, "of them to test"},
                 {r->filtered, "filtered"},
                 {r->unlabelled, "without a label"},
                 {r->duplicates, "duplicates"},
                 {r->leaks, "with code of test or held-out tasks"},
                 {r->held_out, "of held-out tasks"},
                 {r->scrubbed, "secrets and places taken out"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count) fprintf(invocation->log, ", %lld %s", (long long)parts[i].count, parts[i].what);
    fputc('\n', invocation->log);
}

static bool export_rows(const settings *s, const kf_invocation *invocation, kf_store *store, kf_error *error)
{
    kf_export_options options;
    kf_output_settings output_settings;
    kf_export_report report;
    if (!read_options(s, &options, error) || !read_output(s, invocation, &options, &output_settings, error)) return false;
    /* Keys of the usual names are looked for in key files too; a file that may not be used is none of our business. */
    static const char *const names[] = {"OPENAI_API_KEY",     "ANTHROPIC_API_KEY",    "GEMINI_API_KEY",   "GOOGLE_API_KEY",
                                        "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY", "DEEPSEEK_API_KEY", "KFORGE_API_KEY"};
    const char *keys[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) kf_secret(names[i], NULL);
    options.secrets = keys;
    options.secret_count = kf_secrets_known(keys, sizeof keys / sizeof *keys);
    kf_auto(kf_output) output = kf_output_open(&output_settings, error);
    if (!output) return false;
    run_state state = {output, invocation};
    if (!kf_export(store, &options, take_row, &state, &report, error) ||
        !add_card(s, store, &options, &output_settings, &report, output, error) || !kf_output_commit(output, error))
        return false;
    tell(s, invocation, &report);
    return true;
}

static bool export_package(const settings *s, const kf_invocation *invocation, kf_store *store, kf_error *error)
{
    kf_package_report report = {0};
    if (strcmp(s->output, "-") == 0) return kf_fail(error, KF_ERROR_INPUT, "a package is a folder: name one with --output");
    kf_package_options options = {.task = s->task, .output = s->output, .force = s->force, .license = s->license};
    if (!kf_export_package(store, &options, &report, error)) return false;
    fprintf(invocation->log, "%s: %lld tasks, %lld kernels\n", s->output, (long long)report.tasks, (long long)report.kernels);
    if (report.skipped)
        fprintf(invocation->log, "%lld tasks have no candidate that was measured twice and is faster than the baseline\n",
                (long long)report.skipped);
    return true;
}

/* ---- files for PyTorch ---- */

static bool is_modelnew(const settings *s)
{
    return strcmp(s->format, "modelnew") == 0 || strcmp(s->format, "kernelbench") == 0;
}

static bool export_modelnew(const settings *s, const kf_invocation *invocation, kf_store *store, kf_error *error)
{
    bool kernelbench = strcmp(s->format, "kernelbench") == 0;
    int64_t count = 0;
    const kf_modelnew_options wanted = {
        .task = s->task, .candidate = s->candidate, .output = s->output, .kernelbench = kernelbench, .force = s->force};
    if (!kf_export_modelnew(store, &wanted, &count, error)) return false;
    fprintf(invocation->log, "%s: %lld files\n", s->output, (long long)count);
    return true;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *s = values;
    if (s->candidate && !is_modelnew(s))
        return kf_fail(error, KF_ERROR_INPUT, "--candidate goes with --format modelnew or kernelbench"), -1;
    if (is_modelnew(s) && strcmp(s->output, "-") == 0)
        return kf_fail(error, KF_ERROR_INPUT, "--format %s writes files: name one with --output, or a folder", s->format), -1;
    if (s->candidate) return export_modelnew(s, invocation, NULL, error) ? KF_EXIT_DONE : -1;
    kf_autofree char *folder = NULL;
    bool ok = false;
    {
        kf_auto(kf_store) store = open_stores(s, invocation, &folder, error);
        if (store)
            ok = strcmp(s->format, "package") == 0 ? export_package(s, invocation, store, error)
                 : is_modelnew(s)                  ? export_modelnew(s, invocation, store, error)
                                                   : export_rows(s, invocation, store, error);
    }
    if (folder) kf_directory_remove(folder, NULL);
    if (!ok && ferror(invocation->output) && strstr(error->text, "reader has gone")) {
        clearerr(invocation->output); /* `kforge export | head` has what it wanted */
        return KF_EXIT_MACHINE;
    }
    return ok ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    KF_ROW_STORE(settings),
    {.name = "format",
     .letter = 'f',
     .type = KF_OPTION_CHOICE,
     .argument = "FORMAT",
     .offset = offsetof(settings, format),
     .choices = "raw|sft|dpo|kto|grpo|contrast|multiturn|cassette|package|modelnew|kernelbench",
     .fallback = "raw",
     .help = "What a row is; docs/datasets.md describes every field."},
    {.name = "output",
     .letter = 'o',
     .type = KF_OPTION_PATH,
     .argument = "FILE",
     .offset = offsetof(settings, output),
     .fallback = "-",
     .help = "A file (.jsonl, .jsonl.gz, .jsonl.zst, .parquet), a folder for a data set with shards and a card, or - for standard "
             "output."},
    {.name = "as",
     .type = KF_OPTION_CHOICE,
     .argument = "KIND",
     .offset = offsetof(settings, as),
     .choices = "jsonl|jsonl.gz|jsonl.zst|parquet",
     .help = "Kind of file where the name does not tell; in a folder jsonl.gz. Reading zst takes the Python package zstandard. "
             "Parquet needs a Python with pyarrow."},
    {.name = "shard-rows",
     .type = KF_OPTION_INTEGER,
     .argument = "N",
     .offset = offsetof(settings, shard_rows),
     .fallback = "100000",
     .low = 0,
     .high = 1e12,
     .help = "Rows a file in a folder; 0: all in one."},
    {.name = "force", .type = KF_OPTION_FLAG, .offset = offsetof(settings, force), .help = "Replace what has that name."},
    {.name = "task",
     .letter = 't',
     .type = KF_OPTION_TEXT,
     .argument = "TASK",
     .offset = offsetof(settings, task),
     .help = "Only this task, by name or hash."},
    {.name = "candidate",
     .type = KF_OPTION_PATH,
     .argument = "FILE.cu",
     .offset = offsetof(settings, candidate),
     .help = "modelnew, kernelbench: this source instead of the store's fastest; --task names the task's folder."},
    {.name = "run",
     .letter = 'r',
     .type = KF_OPTION_TEXT,
     .argument = "RUN",
     .offset = offsetof(settings, run),
     .help = "Only this run."},
    {.name = "only",
     .type = KF_OPTION_CHOICE,
     .argument = "WHICH",
     .offset = offsetof(settings, only),
     .choices = "all|correct|faster|failed|cheating",
     .help = "Which attempts: faster ones are correct with their whole interval above 1, failed ones failed by their own fault. "
             "Default: "
             "correct for sft, all else."},
    {.name = "reward",
     .type = KF_OPTION_CHOICE,
     .argument = "NAME",
     .offset = offsetof(settings, reward),
     .choices = "speedup|cuda_l1|kevin|milestones|log",
     .fallback = "kevin",
     .help = "Reward function."},
    {.name = "discount",
     .type = KF_OPTION_NUMBER,
     .argument = "GAMMA",
     .offset = offsetof(settings, discount),
     .fallback = "0.4",
     .low = 0,
     .high = 1,
     .help = "multiturn: what a turn's reward is worth to the turn before it."},
    {.name = "margin",
     .type = KF_OPTION_NUMBER,
     .argument = "RATIO",
     .offset = offsetof(settings, margin),
     .fallback = "1.05",
     .low = 1,
     .high = 1e6,
     .help = "dpo: the chosen one is at least so many times as fast as a correct rejected one."},
    {.name = "significant",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, significant),
     .fallback = "true",
     .help = "No preference where intervals overlap, no reward for a speedup whose interval contains 1."},
    {.name = "group",
     .type = KF_OPTION_CHOICE,
     .argument = "BY",
     .offset = offsetof(settings, group),
     .choices = "prompt|task",
     .fallback = "prompt",
     .help = "dpo, grpo: compare replies to one prompt, or all on one task."},
    {.name = "least-group",
     .type = KF_OPTION_INTEGER,
     .argument = "N",
     .offset = offsetof(settings, least_group),
     .fallback = "2",
     .low = 1,
     .high = 1e6,
     .help = "grpo: leave smaller groups out."},
    {.name = "pairs",
     .type = KF_OPTION_INTEGER,
     .argument = "N",
     .offset = offsetof(settings, pairs),
     .fallback = "4",
     .low = 1,
     .high = 1e6,
     .help = "dpo: rejected replies for each chosen one."},
    {.name = "dedup",
     .type = KF_OPTION_CHOICE,
     .argument = "WHEN",
     .offset = offsetof(settings, dedup),
     .choices = "auto|on|off",
     .fallback = "auto",
     .help =
         "Of candidates with equal normalised source or machine code only the first; auto: not for raw, multiturn and cassette."},
    {.name = "held-out",
     .type = KF_OPTION_LIST,
     .argument = "TASK",
     .offset = offsetof(settings, held_out),
     .help =
         "A task (name or hash) or family that must not appear, nor its code in prompts; may be given again. Tasks that declare "
         "held_out always are."},
    {.name = "include-held-out",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, include_held_out),
     .help = "Tasks that declare held_out go to the test split."},
    {.name = "test-family",
     .type = KF_OPTION_LIST,
     .argument = "FAMILY",
     .offset = offsetof(settings, test_family),
     .help = "A family of tasks that goes to the test split; may be given again."},
    {.name = "test-share",
     .type = KF_OPTION_NUMBER,
     .argument = "SHARE",
     .offset = offsetof(settings, test_share),
     .fallback = "0",
     .low = 0,
     .high = 1,
     .help = "Share of the other families that goes to the test split, chosen by the hash of their names."},
    {.name = "keep-leaks",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, keep_leaks),
     .help = "Count rows that hold code of test or held-out tasks, but keep them."},
    {.name = "license",
     .type = KF_OPTION_TEXT,
     .argument = "SPDX",
     .offset = offsetof(settings, license),
     .fallback = "unknown",
     .help = "Licence of the data for the card. What models wrote is under their providers' terms: kforge can't know."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_export = {
    .name = "export",
    .synopsis = "[STORE…]",
    .summary = "Write training data, cassettes or a library of the winners",
    .description =
        "Reads one store, or several as if they were merged. Labels are those of the verdicts that stand; wrong, failed "
        "and cheating attempts "
        "are there with theirs unless --only leaves them out, and verdicts that blame the machine are no label. Files "
        "appear under their "
        "name only when they are complete.\n\n"
        "package writes a C library with CMake files: for each task the fastest candidate that was measured twice, "
        "dispatched by shape.\n\n"
        "modelnew writes Python files that KernelBench's evaluator takes: class ModelNew, made as the problem's Model is, whose "
        "forward "
        "calls the CUDA candidate through torch.utils.cpp_extension.load_inline. kernelbench writes them as a run's folder, with "
        "eval_results.json.",
    .examples =
        "kforge export --format raw | head -1\tone attempt\n"
        "kforge export --format sft --only faster -o data/sft\ta data set with a card\n"
        "kforge export --format dpo --group task --margin 1.2 -o dpo.jsonl.zst a.db b.db\tpreferences out of two stores\n"
        "kforge export --format cassette --run 1h3w -o run.jsonl\treplies to replay\n"
        "kforge export --format modelnew -t tasks/relu --candidate relu.cu -o relu_new.py\tfor KernelBench's own evaluator\n"
        "kforge export --format package -o kernels\ta library of the winners",
    .most_arguments = SIZE_MAX,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
