/* `kforge export`. */
#include <string.h>
#include <sys/stat.h>

#include "shell_command.h"
#include "export_card.h"
#include "export_memory.h"
#include "export_flashinfer.h"
#include "export_modelnew.h"
#include "export_names.h"
#include "export_package.h"
#include "kforge/file.h"
#include "kforge/store_maintenance.h"
#include "named_task.h"
#include "api_key.h"
#include "output.h"

/* Defaults of options that other formats refuse. */
#define SHARD_ROWS 100000
#define DISCOUNT 0.4
#define MARGIN 1.05
#define MIN_GROUP 2
#define PAIRS 4
#define TEXT(NUMBER) #NUMBER
#define TEXT_OF(NUMBER) TEXT(NUMBER)

typedef struct settings {
    const char *store, *format, *output, *as, *only, *reward, *task, *run, *group, *dedup, *license,
        *candidate, *dialect, *columns;
    bool force, significant, include_held_out, keep_leaks, check_memory, quiet, json;
    double margin, discount, test_share, own_work;
    int64_t shard_rows, least_group, pairs;
    kf_option_list held_out, test_family;
} settings;

static const char *const only_words[] = {"all",      "correct",   "faster", "failed",
                                         "cheating", "suspected", NULL};
/* in the order of kf_packing */
static const char *const packing_words[] = {"jsonl", "jsonl.gz", "jsonl.zst", "parquet", NULL};

static int index_of(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i;
    return 0;
}

static kf_export_dialect dialect_of(const settings *s)
{
    kf_export_dialect dialect = KF_DIALECT_KFORGE;
    if (s->dialect) kf_export_dialect_parse(s->dialect, &dialect);
    return dialect;
}

static bool read_options(const settings *s, kf_export_options *options, kf_error *error)
{
    *options = (kf_export_options){
        .task = s->task,
        .run = s->run,
        .discount = s->discount,
        .margin = s->margin,
        .own_work = s->own_work,
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
    bool known = kf_export_format_parse(s->format, &options->format) &&
                 kf_reward_parse(s->reward, &options->reward);
    if (!known)
        return kf_fail(error, KF_ERROR_INTERNAL,
                       "export: format or reward is not known: this is a bug in kforge");
    /* Failed attempts are imitated only on request. Other formats need failures, too. */
    bool imitation =
        options->format == KF_EXPORT_SFT || (options->format == KF_EXPORT_MULTITURN &&
                                             /* its chains need a reply to imitate, too */
                                             dialect_of(s) == KF_DIALECT_OPENAI);
    options->only = s->only     ? (kf_export_only)index_of(only_words, s->only)
                    : imitation ? KF_ONLY_CORRECT
                                : KF_ONLY_ALL;
    bool whole = options->format == KF_EXPORT_RAW || options->format == KF_EXPORT_CASSETTE ||
                 options->format == KF_EXPORT_MULTITURN ||
                 /* a group is what one prompt yielded, with its repetitions */
                 options->format == KF_EXPORT_GRPO;
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

/* Chooses the file type by --as, by the name, or in a folder by the reader. */
static bool choose_packing(const settings *s, bool standard, kf_output_settings *output,
                           kf_error *error)
{
    const char *ending = kf_export_dialect_ending(dialect_of(s));
    if (s->as) {
        output->packing = (kf_packing)index_of(packing_words, s->as);
    } else if (output->folder) {
        /* Every reader of data sets takes gzip. zstd needs another package in Python. */
        output->packing = ending ? (kf_packing)index_of(packing_words, ending + 1) : KF_PACK_GZIP;
    } else if (!standard) {
        kf_packing_of_name(s->output, &output->packing);
    }
    /* Standard output goes to another program. */
    return standard ||
           kf_export_dialect_reads(dialect_of(s), kf_packing_suffix(output->packing), error);
}

static bool read_output(const settings *s, const kf_invocation *invocation,
                        const kf_export_options *options, kf_output_settings *output,
                        kf_error *error)
{
    *output = (kf_output_settings){.path = s->output,
                                   .standard = kf_exact_stream(invocation->output),
                                   .folder = *s->output && is_folder(s->output),
                                   .force = s->force,
                                   .shard_rows = s->shard_rows,
                                   .fields = options->shape ? kf_export_shape_fields(options->shape)
                                                            : kf_export_fields(options->format)};
    bool standard = strcmp(s->output, "-") == 0, cassette = options->format == KF_EXPORT_CASSETTE;
    if (!*s->output)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--output is empty: name a file, a folder, or - for standard output");
    if (!choose_packing(s, standard, output, error)) return false;
    if (standard && output->packing == KF_PACK_PARQUET)
        return kf_fail(error, KF_ERROR_INPUT,
                       "Parquet can't be streamed: name a file or folder with --output");
    if (cassette && (output->folder || output->packing != KF_PACK_NONE))
        return kf_fail(error, KF_ERROR_INPUT,
                       "a cassette is one plain file; give a name that ends in .jsonl");
    bool splits = options->test_family_count || options->test_share > 0 || options->keep_held_out;
    if (splits && !output->folder)
        return kf_fail(error, KF_ERROR_INPUT,
                       "a split needs a folder for its files: give one with --output");
    return true;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Merges several stores into a temporary one. The caller removes *folder. */
static kf_store *open_stores(const settings *s, const kf_invocation *invocation, char **folder,
                             kf_error *error)
{
    if (invocation->argument_count <= 1) {
        kf_auto(kf_store) only = kf_store_open(
            invocation->argument_count ? invocation->arguments[0] : s->store, KF_STORE_READ, error);
        if (only) kf_store_set_interrupt(only, invocation->interrupts);
        return kf_steal(&only);
    }
    kf_autofree char *path = (*folder = kf_directory_temporary("kforge-export", error))
                                 ? kf_path_join(*folder, "all.db")
                                 : NULL;
    kf_auto(kf_store) store = path ? kf_store_open(path, KF_STORE_CREATE, error) : NULL;
    kf_store_merged merged = {0};
    if (store) kf_store_set_interrupt(store, invocation->interrupts);
    for (size_t i = 0; store && i < invocation->argument_count; i++)
        if (*invocation->interrupts
                ? !kf_fail(error, KF_ERROR_IO, "interrupted")
                : !kf_store_merge(store, invocation->arguments[i], &merged, error))
            return NULL;
    return kf_steal(&store);
}

/* ---- a data set ------------------------------------------------------------------------------ */

typedef struct run_state {
    kf_output *output;
    const kf_invocation *invocation;
} run_state;

static bool take_row(void *context, const char *split, const char *row, size_t size,
                     kf_error *error)
{
    const run_state *state = context;
    if (*state->invocation->interrupts) return kf_fail(error, KF_ERROR_IO, "interrupted");
    return kf_output_row(state->output, split, row, size, error);
}

extern const kf_command kf_command_export;

/* Returns the command that makes the same data set from stores with these names in an empty place.
 * It has no paths. */
static char *command_of(const settings *s, const kf_invocation *invocation, kf_store *store,
                        const kf_export_options *options, kf_packing packing, kf_error *error)
{
    size_t count = invocation->argument_count, length = strlen(s->output);
    while (length > 1 && s->output[length - 1] == '/') length--;
    kf_autofree char *output = strndup(s->output, length);
    kf_autofree const char **stores = calloc(count + 1, sizeof *stores);
    if (!output || !stores) return kf_fail_memory(error, "the export"), NULL;
    for (size_t i = 0; i < count; i++) stores[i] = kf_path_name(invocation->arguments[i]);
    if (!count) stores[count++] = kf_path_name(kf_store_path(store));
    const kf_command_word instead[] = {
        {"store", NULL},
        {"force", NULL},
        {"json", NULL},
        {"candidate", NULL},
        {"output", kf_path_name(output)},
        {"as", packing_words[packing]},
        {"only", only_words[options->only]},
        {"run", options->run},
        {"dedup", options->dedup ? "on" : "off"},
        {NULL, NULL},
    };
    return kf_command_line(&kf_command_export, s, KF_COMMAND_ALL, instead, stores, count, error);
}

static bool add_card(const settings *s, const kf_invocation *invocation, kf_store *store,
                     const kf_export_options *options, const kf_output_settings *settings_of,
                     const kf_export_report *report, kf_output *output, kf_error *error)
{
    const kf_output_file *files;
    size_t count;
    if (!kf_output_finish(output, &files, &count, error)) return false;
    if (!settings_of->folder) return true;
    kf_autofree char *command =
        command_of(s, invocation, store, options, settings_of->packing, error);
    if (!command) return false;
    kf_card card = {.options = options,
                    .report = report,
                    .files = files,
                    .file_count = count,
                    .license = s->license,
                    .command = command,
                    .packing = settings_of->packing};
    kf_autofree char *text = kf_card_text(&card, error);
    return text && kf_output_add(output, "README.md", text, strlen(text), error);
}

/* Adds the trainer's configuration to the folder, or prints it. */
static bool add_config(const kf_invocation *invocation, const kf_export_options *options,
                       const kf_output_settings *settings_of, kf_output *output, kf_error *error)
{
    const kf_output_file *files;
    size_t count;
    const char *name;
    if (!options->shape || !kf_output_finish(output, &files, &count, error)) return !options->shape;
    kf_autofree kf_export_part *parts = calloc(count + 1, sizeof *parts);
    if (!parts) return kf_fail_memory(error, "the export");
    for (size_t i = 0; i < count; i++)
        parts[i] =
            (kf_export_part){settings_of->folder ? files[i].name : kf_path_name(settings_of->path),
                             strcmp(files[i].split, "test") == 0};
    kf_autofree char *text = kf_export_shape_config(options->shape, parts, count, &name, error);
    if (!text) return false;
    if (!name || !count) return true;
    if (settings_of->folder) return kf_output_add(output, name, text, strlen(text), error);
    fprintf(invocation->log, "%s needs these lines:\n%s", name, text);
    return true;
}

static void add_scrubbed(cJSON *json, const kf_scrub_count *count)
{
    kf_add_figure(json, "secrets", (double)count->secrets);
    kf_add_figure(json, "paths", (double)count->paths);
}

typedef struct count_of {
    int64_t count;
    /* key of JSON, and the words for people */
    const char *key, *words;
} count_of;

/* Says why an export is empty, since a trainer would only say that it has no data. */
static void tell_empty(FILE *log, const settings *s, const kf_export_options *options,
                       const count_of *counts, size_t count)
{
    bool any = false;
    fprintf(log, "kforge: the data set has no rows:");
    for (size_t i = 0; i < count; i++)
        if (counts[i].count) {
            fprintf(log, "%s %lld %s", any ? "," : "", (long long)counts[i].count, counts[i].words);
            any = true;
        }
    if (!any)
        fputs(options->format == KF_EXPORT_RAW ? " the store has no attempts"
                                               : " no attempt has a reply of a model",
              log);
    fprintf(log, "; it took --only %s%s%s%s%s; ", only_words[options->only],
            options->task ? " --task " : "", options->task ? options->task : "",
            options->run ? " --run " : "", options->run ? options->run : "");
    if (s->only && counts->count && !(options->own_work > 0))
        fprintf(log, "try without --only %s; ", s->only);
    fprintf(log, "\"kforge list\" shows the runs\n");
}

static bool tell(const settings *s, const kf_invocation *invocation,
                 const kf_export_options *options, const kf_export_report *r,
                 const kf_memory_check *memory, kf_error *error)
{
    kf_autofree char *filtered = kf_export_filtered_words(options),
                     *unused = kf_export_unused_words(options);
    if (!filtered || !unused) return kf_fail_memory(error, "the export");
    const count_of counts[] = {{r->filtered, "filtered", filtered},
                               {r->unused, "unused", unused},
                               {r->unprompted, "unprompted", "without a prompt"},
                               {r->unlabelled, "unlabelled", "without a label"},
                               {r->duplicates, "duplicates", "duplicates"},
                               {r->leaks, "leaks", "with code of test or held-out tasks"},
                               {r->held_out, "held_out", "of held-out tasks"},
                               {r->refused, "memory_errors", "with memory errors"},
                               {memory->unchecked, "unchecked", "not checked for memory errors"}};
    size_t count = sizeof counts / sizeof *counts;
    if (!r->rows && options->format != KF_EXPORT_CASSETTE)
        tell_empty(invocation->errors, s, options, counts, count);
    if (s->json && strcmp(s->output, "-") != 0) {
        cJSON *json = kf_json_document("kforge-export/1");
        kf_add_figure(json, "rows", (double)r->rows);
        kf_add_figure(json, "train", (double)r->train);
        kf_add_figure(json, "test", (double)r->test);
        for (size_t i = 0; i < count; i++)
            kf_add_figure(json, counts[i].key, (double)counts[i].count);
        add_scrubbed(json, &r->scrubbed);
        return kf_print_json(invocation->output, json, error);
    }
    fprintf(invocation->log, "%lld row%s", (long long)r->rows, r->rows == 1 ? "" : "s");
    if (r->test) fprintf(invocation->log, ", %lld of them in the test split", (long long)r->test);
    bool any = false;
    for (size_t i = 0; i < count && r->rows; i++)
        if (counts[i].count) {
            fprintf(invocation->log, "%s %lld %s",
                    any ? "," : "; left out:", (long long)counts[i].count, counts[i].words);
            any = true;
        }
    if (r->scrubbed.secrets || r->scrubbed.paths)
        fprintf(invocation->log, "; removed from texts: %lld secrets, %lld paths",
                (long long)r->scrubbed.secrets, (long long)r->scrubbed.paths);
    fputc('\n', invocation->log);
    return true;
}

#define KEYS 64

/* Keys of the usual names are also read from key files. A key file with wrong permissions is
 * ignored. */
static bool export_rows(const settings *s, const kf_invocation *invocation, kf_store *store,
                        kf_error *error)
{
    kf_export_options options;
    kf_output_settings output_settings;
    kf_export_report report;
    kf_autoresult kf_store_run run = {0};
    if (!read_options(s, &options, error)) return false;
    kf_auto(kf_export_shape) shape = NULL;
    if ((s->dialect || s->columns) &&
        !(shape = kf_export_shape_new(options.format, dialect_of(s), s->columns, error)))
        return false;
    options.shape = shape;
    if (!read_output(s, invocation, &options, &output_settings, error)) return false;
    if (s->run && !kf_store_find_run(store, s->run, &run, error)) return false;
    /* "last" may be another run tomorrow, so the card names the run */
    if (s->run) options.run = run.id;
    const char *keys[KEYS];
    options.secrets = keys;
    options.secret_count = kf_api_keys_known(keys, KEYS);
    kf_auto(kf_output) output = kf_output_open(&output_settings, error);
    if (!output) return false;
    run_state state = {output, invocation};
    char digest[KF_HASH_HEX];
    kf_export_tools tools = {0};
    if (output_settings.folder) {
        options.digest = digest;
        options.tools = &tools;
    }
    __attribute__((cleanup(kf_memory_check_close))) kf_memory_check memory = {0};
    if (s->check_memory) {
        if (!kf_memory_check_open(&memory, store, invocation->interrupts, error)) return false;
        options.admit = kf_memory_check_admit;
        options.admit_context = &memory;
    }
    bool ok = kf_export(store, &options, take_row, &state, &report, error) &&
              add_card(s, invocation, store, &options, &output_settings, &report, output, error) &&
              add_config(invocation, &options, &output_settings, output, error) &&
              kf_output_commit(output, error);
    kf_export_tools_free(&tools);
    if (ok) ok = tell(s, invocation, &options, &report, &memory, error);
    return ok;
}

/* ---- winners --------------------------------------------------------------------------------- */

static bool is_modelnew(const settings *s)
{
    return strcmp(s->format, "modelnew") == 0 || strcmp(s->format, "kernelbench") == 0 ||
           strcmp(s->format, "submission") == 0;
}

static bool is_solutions(const settings *s)
{
    return strcmp(s->format, "flashinfer") == 0;
}

static bool is_winners(const settings *s)
{
    return is_modelnew(s) || is_solutions(s) || strcmp(s->format, "package") == 0;
}

static bool refuse(const char *option, const char *format, const char *why, kf_error *error)
{
    return kf_fail(error, KF_ERROR_INPUT, "--%s has no effect on --format %s: %s", option, format,
                   why);
}

/* Refuses options about rows, splits or shards for formats without them. */
static bool check_winners(const settings *s, kf_error *error)
{
    static const char rows[] = "it writes the winners' files, no rows",
                      splits[] = "it is no training data and has no splits";
    const struct {
        bool given;
        const char *option, *why;
    } wrong[] = {
        {s->as, "as", rows},
        {s->shard_rows != SHARD_ROWS, "shard-rows", rows},
        {strcmp(s->reward, "kevin") != 0, "reward", rows},
        {s->discount != DISCOUNT, "discount", rows},
        {s->margin != MARGIN, "margin", rows},
        {s->own_work > 0, "own-work", "it takes the fastest of each task"},
        {!s->significant, "no-significant",
         "winners always have their whole interval above 1, unless --only says otherwise"},
        {strcmp(s->group, "prompt") != 0, "group", rows},
        {s->least_group != MIN_GROUP, "least-group", rows},
        {s->pairs != PAIRS, "pairs", rows},
        {strcmp(s->dedup, "auto") != 0, "dedup",
         "it takes one candidate for each task and workload"},
        {s->test_family.count > 0, "test-family", splits},
        {s->test_share > 0, "test-share", splits},
        {s->keep_leaks, "keep-leaks", "it has no prompts"},
        {s->dialect, "dialect", rows},
        {s->columns, "columns", rows},
        {s->check_memory, "check-memory", "its candidates were measured twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (wrong[i].given) return refuse(wrong[i].option, s->format, wrong[i].why, error);
    if (strcmp(s->output, "-") == 0)
        return is_modelnew(s) || is_solutions(s)
                   ? kf_fail(error, KF_ERROR_INPUT,
                             "--format %s writes files: name one with --output, or a folder",
                             s->format)
                   : kf_fail(error, KF_ERROR_INPUT,
                             "a package is a folder: name one with --output");
    bool package = !is_modelnew(s) && !is_solutions(s);
    if (s->only && strcmp(s->only, "faster") != 0 && (package || strcmp(s->only, "correct") != 0))
        return kf_fail(error, KF_ERROR_INPUT, "--only %s has no effect on --format %s: it takes %s",
                       s->only, s->format,
                       package ? "candidates that are faster"
                               : "the fastest of each task, correct or faster");
    if (s->candidate && (s->run || s->only || s->held_out.count || s->include_held_out))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--candidate names the source: --run, --only and --held-out choose among "
                       "those of a store");
    return true;
}

/* Refuses options that have no effect on these rows. */
static bool check_rows(const settings *s, kf_error *error)
{
    if (s->check_memory && strcmp(s->format, "sft") != 0)
        return refuse("check-memory", s->format, "it checks the replies that sft imitates", error);
    if (strcmp(s->format, "cassette") == 0 && s->only && strcmp(s->only, "all") != 0)
        return refuse("only", s->format, "a cassette has all replies of a run", error);
    if (strcmp(s->format, "cassette") == 0 && s->own_work > 0)
        return refuse("own-work", s->format, "a cassette has all replies of a run", error);
    if (strcmp(s->format, "cassette") == 0 && strcmp(s->dedup, "on") == 0)
        return refuse("dedup", s->format, "a cassette has all replies of a run", error);
    return true;
}

static bool tell_winners(const settings *s, const kf_invocation *invocation, const char *what,
                         int64_t tasks, int64_t count, const kf_package_report *r, int64_t scaled,
                         kf_error *error)
{
    const struct {
        int64_t count;
        const char *name, *words;
    } parts[] = {
        {r->skipped, "skipped",
         is_modelnew(s) || is_solutions(s)
             ? "tasks without a matching candidate"
             : "tasks without a candidate that was measured twice and is faster than the baseline"},
        {r->held_out, "held_out", "tasks are held out"},
        {r->changed, "changed",
         "sources differ from the judged ones, because secrets or paths were removed; "
         "provenance.json marks them"},
        {scaled, "scaled",
         is_solutions(s)
             ? "workloads have no trace: they were judged at other sizes than their definition's"
             : "files are for other sizes than the problem's: KernelBench's evaluator can't run "
               "them"}};
    if (s->json) {
        cJSON *json = kf_json_document("kforge-export-files/1");
        kf_add_figure(json, "tasks", (double)tasks);
        kf_add_figure(json, what, (double)count);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            kf_add_figure(json, parts[i].name, (double)parts[i].count);
        add_scrubbed(json, &r->scrubbed);
        return kf_print_json(invocation->output, json, error);
    }
    fprintf(invocation->log, "%s: %lld tasks, %lld %s\n", s->output, (long long)tasks,
            (long long)count, what);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count)
            fprintf(invocation->log, "%lld %s\n", (long long)parts[i].count, parts[i].words);
    if (r->scrubbed.secrets || r->scrubbed.paths)
        fprintf(invocation->log, "removed from texts: %lld secrets, %lld paths\n",
                (long long)r->scrubbed.secrets, (long long)r->scrubbed.paths);
    return true;
}

static bool export_winners(const settings *s, const kf_invocation *invocation, kf_store *store,
                           kf_error *error)
{
    const char *keys[KEYS];
    kf_autofree char *folder = s->candidate && s->task ? kf_named_task_path(s->task, error) : NULL;
    if (s->candidate && s->task && !folder) return false;
    const kf_selection selection = {.task = folder ? folder : s->task,
                                    .run = s->run,
                                    .faster = s->only && strcmp(s->only, "faster") == 0,
                                    .held_out = s->held_out.items,
                                    .held_out_count = s->held_out.count,
                                    .include_held_out = s->include_held_out,
                                    .secrets = keys,
                                    .secret_count = kf_api_keys_known(keys, KEYS),
                                    .interrupts = invocation->interrupts};
    kf_package_report report = {0};
    if (!is_modelnew(s) && !is_solutions(s)) {
        const kf_package_options options = {
            .selection = selection, .output = s->output, .license = s->license, .force = s->force};
        if (!kf_export_package(store, &options, &report, error)) return false;
        return tell_winners(s, invocation, "kernels", report.tasks, report.kernels, &report, 0,
                            error);
    }
    kf_modelnew_report files = {0};
    const kf_modelnew_options options = {.selection = selection,
                                         .candidate = s->candidate,
                                         .output = s->output,
                                         .license = s->license,
                                         .kernelbench = strcmp(s->format, "kernelbench") == 0,
                                         .submission = strcmp(s->format, "submission") == 0,
                                         .force = s->force};
    bool done = is_solutions(s) ? kf_export_flashinfer(store, &options, &files, error)
                                : kf_export_modelnew(store, &options, &files, error);
    if (!done) return false;
    report = (kf_package_report){.skipped = files.skipped,
                                 .held_out = files.held_out,
                                 .changed = files.changed,
                                 .scrubbed = files.scrubbed};
    return tell_winners(s, invocation, "files", files.files, files.files, &report, files.scaled,
                        error);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *s = values;
    if (s->candidate && !is_modelnew(s))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--candidate needs --format modelnew, kernelbench or submission"),
               -1;
    if (!(is_winners(s) ? check_winners(s, error) : check_rows(s, error))) return -1;
    if (s->candidate) return export_winners(s, invocation, NULL, error) ? KF_EXIT_DONE : -1;
    kf_autofree char *folder = NULL;
    bool ok = false;
    {
        kf_auto(kf_store) store = open_stores(s, invocation, &folder, error);
        ok = store &&
             kf_export_tell_unknown(store, &s->held_out, &s->test_family, invocation->log, error);
        if (ok)
            ok = is_winners(s) ? export_winners(s, invocation, store, error)
                               : export_rows(s, invocation, store, error);
    }
    if (folder) kf_directory_remove(folder, NULL);
    if (!ok && ferror(kf_exact_stream(invocation->output)) &&
        strstr(error->text, "the reader of the output has ended")) {
        /* `kforge export | head` needs no message */
        clearerr(kf_exact_stream(invocation->output));
        return KF_EXIT_MACHINE;
    }
    return ok ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(CHOICE, "format", "FORMAT", settings, format), .letter = 'f',
     .choices = "raw|sft|dpo|kto|grpo|contrast|multiturn|cassette|package|modelnew|kernelbench|"
                "flashinfer|submission",
     .fallback = "raw", .help = "Content of a row (docs/reference/datasets.md)."},
    {KF_OPTION(PATH, "output", "FILE", settings, output), .letter = 'o', .fallback = "-",
     .help = "A file (.jsonl, .jsonl.gz, .jsonl.zst, .parquet; .py for modelnew), a folder for "
             "shards and a card, or - for standard output."},
    {KF_OPTION(CHOICE, "as", "KIND", settings, as), .choices = "jsonl|jsonl.gz|jsonl.zst|parquet",
     .help = "File type if the name does not show it; in a folder jsonl.gz. Parquet needs Python "
             "with pyarrow."},
    {KF_OPTION(CHOICE, "dialect", "READER", settings, dialect),
     .choices = "trl|openai|llamafactory|axolotl|verl|nemo-gym",
     .help = "Only the columns of this reader, in its form, with its configuration."},
    {KF_OPTION(TEXT, "columns", "NAME=FIELD,…", settings, columns),
     .help = "Only these columns; after --dialect further ones (docs/reference/datasets.md)."},
    {KF_OPTION(INTEGER, "shard-rows", "N", settings, shard_rows), .fallback = TEXT_OF(SHARD_ROWS),
     .low = 0, .high = 1e12, .help = "Rows in each file of a folder; 0: one file."},
    {KF_OPTION(FLAG, "force", NULL, settings, force),
     .help = "Replace an existing file, or a folder that an export made."},
    {KF_OPTION(TEXT, "task", "TASK", settings, task), .letter = 't',
     .help = "Only this task, by name or hash."},
    {KF_OPTION(PATH, "candidate", "FILE.cu", settings, candidate),
     .help = "modelnew, kernelbench: this source instead of the store's fastest, for --task."},
    {KF_OPTION(TEXT, "run", "RUN", settings, run), .letter = 'r',
     .help = "Only this run: its id, the beginning of its id, or \"last\"."},
    {KF_OPTION(CHOICE, "only", "WHICH", settings, only),
     .choices = "all|correct|faster|failed|cheating|suspected",
     .help = "Which attempts. faster: correct, with the whole interval above 1. failed: by their "
             "own fault. suspected: wrong results like a cheat's. Default: correct for sft, "
             "modelnew and kernelbench, faster for package, "
             "else all."},
    {KF_OPTION(CHOICE, "reward", "NAME", settings, reward),
     .choices = "speedup|cuda_l1|kevin|milestones|log", .fallback = "kevin",
     .help = "Reward function."},
    {KF_OPTION(NUMBER, "discount", "GAMMA", settings, discount), .fallback = TEXT_OF(DISCOUNT),
     .low = 0, .high = 1, .help = "multiturn: factor on the reward of the next turn."},
    {KF_OPTION(NUMBER, "own-work", "P", settings, own_work), .low = 0, .high = 1,
     .help = "Leave out correct attempts with less than this part of their device time, 0 to 1, in "
             "their own kernels, and those without counters."},
    {KF_OPTION(NUMBER, "margin", "RATIO", settings, margin), .fallback = TEXT_OF(MARGIN), .low = 1,
     .high = 1e6,
     .help = "dpo: minimum speed ratio of the chosen reply to a correct rejected one."},
    {KF_OPTION(FLAG, "significant", NULL, settings, significant), .fallback = "true",
     .help = "Make no preference from overlapping intervals. In rewards, a speedup counts as 1 if "
             "its interval contains 1."},
    {KF_OPTION(CHOICE, "group", "BY", settings, group), .choices = "prompt|task",
     .fallback = "prompt", .help = "dpo, grpo: compare replies to one prompt, or to one task."},
    {KF_OPTION(INTEGER, "least-group", "N", settings, least_group), .fallback = TEXT_OF(MIN_GROUP),
     .low = 1, .high = 1e6, .help = "grpo: minimum size of a group."},
    {KF_OPTION(INTEGER, "pairs", "N", settings, pairs), .fallback = TEXT_OF(PAIRS), .low = 1,
     .high = 1e6, .help = "dpo: rejected replies for each chosen one."},
    {KF_OPTION(CHOICE, "dedup", "WHEN", settings, dedup), .choices = "auto|on|off",
     .fallback = "auto",
     .help = "Keep the first of candidates with equal normalised source or machine code. auto: not "
             "for raw, grpo, multiturn and cassette."},
    {KF_OPTION(LIST, "held-out", "TASK", settings, held_out),
     .help = "A task (name or hash) or family to exclude, also from prompts. Tasks that declare "
             "held_out are always excluded."},
    {KF_OPTION(FLAG, "include-held-out", NULL, settings, include_held_out),
     .help = "Put tasks that declare held_out into the test split, or into the package."},
    {KF_OPTION(LIST, "test-family", "FAMILY", settings, test_family),
     .help = "A family of tasks for the test split."},
    {KF_OPTION(NUMBER, "test-share", "SHARE", settings, test_share), .fallback = "0", .low = 0,
     .high = 1,
     .help = "Share of the other families in the test split, by the hash of their names."},
    {KF_OPTION(FLAG, "keep-leaks", NULL, settings, keep_leaks),
     .help = "Keep rows with code of test or held-out tasks."},
    {KF_OPTION(FLAG, "check-memory", NULL, settings, check_memory),
     .help = "sft: leave out sources that fail with AddressSanitizer on the CPU device."},
    {KF_OPTION(TEXT, "license", "SPDX", settings, license), .fallback = "unknown",
     .help = "Licence of the output. Code of models is under their providers' terms, which kforge "
             "does not know."},
    KF_ROW_QUIET(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_export = {
    .name = "export",
    .synopsis = "[STORE…]",
    .summary = "Write training data, cassettes or a library of the winners",
    .description =
        "Reads one store, or several as if they were merged. Wrong, failed and cheating attempts "
        "are included unless --only excludes them. A file appears under its name when it is "
        "complete.\n\npackage writes a C library with CMake files: for each task the fastest "
        "candidate that was measured twice and has its whole interval above 1, dispatched by "
        "shape.\n\nmodelnew writes a class ModelNew for KernelBench's evaluator around the fastest "
        "candidate of each task. kernelbench writes such files as a run's folder.\n\nsubmission "
        "writes a submission.py for a task of GPU MODE.\n\nflashinfer writes solutions/ and "
        "traces/ "
        "for tasks of import sol-execbench and flashinfer-bench.\n\nThese five take --task, --run, "
        "--only, --held-out and --include-held-out, and refuse options about "
        "rows, splits or shards. They prefer a GPU to the CPU device (docs/reference/datasets.md).",
    .examples = "kforge export --format raw | head -1\tone attempt\n"
                "kforge export --format sft --only faster -o data/sft\ta data set with a card\n"
                "kforge export --format dpo --group task --margin 1.2 -o dpo.jsonl.zst a.db "
                "b.db\tpreferences from two stores\n"
                "kforge export --format modelnew -t tasks/relu --candidate relu.cu -o "
                "relu_new.py\tfor KernelBench's evaluator\n"
                "kforge export --format package -o kernels\ta library of the winners",
    .most_arguments = SIZE_MAX,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
