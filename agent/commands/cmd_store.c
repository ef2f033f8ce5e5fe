/* `kforge store merge|check|repair|delete|vacuum|migrate|stats|backup`
 * (kforge/store_maintenance.h). */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "kforge/store_maintenance.h"
#include "kforge/verdict.h"
#include "machine_failures.h"
#include "output.h"

typedef struct settings {
    const char *store;
    bool json, digest, samples, yes;
    double keep_samples;
} settings;

/* Prints `json` or, without --json, `text`. Takes ownership of json. */
static int answer(const kf_invocation *invocation, const settings *wanted, cJSON *json,
                  kf_error *error)
{
    return !wanted->json || kf_print_json(invocation->output, json, error) ? KF_EXIT_DONE : -1;
}

/* ---- merge ----------------------------------------------------------------------------------- */

/* Opens all stores before one is made or changed. Damage deeper in a file is found later. */
static bool all_are_stores(const kf_invocation *invocation, kf_error *error)
{
    for (size_t i = 0; i < invocation->argument_count; i++) {
        kf_auto(kf_store) source = kf_store_open(invocation->arguments[i], KF_STORE_READ, error);
        if (!source) return false;
    }
    return true;
}

static int run_merge(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    if (!all_are_stores(invocation, error)) return -1;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_CREATE, error);
    if (!store) return -1;
    kf_store_merged total = {0};
    for (size_t i = 0; i < invocation->argument_count; i++) {
        /* everything merged so far is in the store */
        if (*invocation->interrupts) return KF_EXIT_INTERRUPTED;
        kf_store_merged one = total;
        one.same = false;
        if (!kf_store_merge(store, invocation->arguments[i], &one, error)) {
            kf_store_discard(kf_steal(&store));
            return -1;
        }
        if (one.same)
            fprintf(invocation->log, "%s: is the target store itself\n", invocation->arguments[i]);
        else if (invocation->argument_count > 1 && !wanted->json)
            fprintf(invocation->log, "%s: %lld candidates, %lld verdicts were new\n",
                    invocation->arguments[i], (long long)(one.candidates - total.candidates),
                    (long long)(one.verdicts - total.verdicts));
        total = one;
    }
    if (wanted->json) {
        cJSON *json = kf_json_document("kforge-store-merge/1");
        const struct {
            const char *key;
            int64_t value;
        } rows[] = {
            {"tasks", total.tasks},
            {"runs", total.runs},
            {"attempts", total.attempts},
            {"candidates", total.candidates},
            {"verdicts", total.verdicts},
            {"model_calls", total.model_calls},
            {"replaced", total.replaced},
            {"diverged", total.diverged},
            {"name_clashes", total.name_clashes},
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            cJSON_AddNumberToObject(json, rows[i].key, (double)rows[i].value);
        return answer(invocation, wanted, json, error);
    }
    fprintf(invocation->output,
            "%s: %lld tasks, %lld runs with %lld attempts, %lld candidates, %lld verdicts and %lld "
            "model calls were new\n",
            kf_store_path(store), (long long)total.tasks, (long long)total.runs,
            (long long)total.attempts, (long long)total.candidates, (long long)total.verdicts,
            (long long)total.model_calls);
    if (total.replaced)
        fprintf(invocation->output,
                "%lld runs continued in the other store: it now has the longer history\n",
                (long long)total.replaced);
    if (total.diverged)
        fprintf(invocation->output,
                "%lld runs continued in both stores: the longer history stays, and candidates, "
                "verdicts and calls of the other are added\n",
                (long long)total.diverged);
    if (total.name_clashes)
        fprintf(invocation->output,
                "%lld task names now have several contents: name these tasks by their hash\n",
                (long long)total.name_clashes);
    return KF_EXIT_DONE;
}

/* ---- labels that events from outside caused ------------------------------------------------- */

#define REOPENED                                                                              \
    "judged again when it comes up: `kforge store repair` took back a verdict that a signal " \
    "from outside, or too little memory, may have caused"
/* Labels that are listed one by one. */
#define LISTED 12

/* True if the verdict rests on a finding that something outside kforge may have caused. */
static bool is_doubtful(const char *text, size_t size)
{
    kf_auto(cJSON) json = cJSON_ParseWithLength(text, size);
    kf_auto(kf_verdict) verdict = json ? kf_verdict_from_json(json, NULL) : NULL;
    return verdict && kf_verdict_is_doubtful_old(verdict);
}

static void print_doubtful(FILE *out, int64_t id, const char *text, size_t size)
{
    kf_auto(cJSON) json = cJSON_ParseWithLength(text, size);
    kf_auto(kf_verdict) verdict = json ? kf_verdict_from_json(json, NULL) : NULL;
    if (!verdict) return;
    kf_autofree char *message = kf_text_clean(verdict->message, strlen(verdict->message), true);
    fprintf(out, "verdict %lld of %s: %s: %s\n", (long long)id, verdict->task,
            kf_status_name(verdict->status), message ? message : "");
}

/* Lists the doubtful labels of a store, and with `repair` re-opens them. *count: how many. */
static bool each_doubtful(const kf_invocation *invocation, kf_store *store, bool repair,
                          int64_t *count, kf_error *error)
{
    int64_t id = 0;
    int row;
    *count = 0;
    while ((row = kf_store_next_accusation(store, id, &id, error)) == 1) {
        size_t size;
        kf_autofree char *text = kf_store_verdict_json(store, id, &size, error);
        if (!text) return false;
        if (!is_doubtful(text, size)) continue;
        if (++*count <= LISTED) print_doubtful(invocation->output, id, text, size);
        if (repair && !kf_store_reopen(store, id, REOPENED, error)) return false;
    }
    if (*count > LISTED)
        fprintf(invocation->output, "… and %lld more\n", (long long)(*count - LISTED));
    return row == 0;
}

static int run_repair(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    int64_t count;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_WRITE, error);
    if (!store || !kf_store_check(store, error) || !kf_store_begin(store, error)) return -1;
    if (!each_doubtful(invocation, store, true, &count, error)) {
        kf_store_rollback(store);
        return -1;
    }
    if (!kf_store_commit(store, error)) return -1;
    if (count)
        fprintf(invocation->output,
                "%s: %lld verdicts re-opened: they no longer count, and their candidates are "
                "judged again when they come up\n",
                kf_store_path(store), (long long)count);
    else
        fprintf(invocation->output, "%s: nothing to repair\n", kf_store_path(store));
    return KF_EXIT_DONE;
}

/* ---- delete ---------------------------------------------------------------------------------- */

/* Asks on the terminal. True for "y" and "yes". */
static bool is_confirmed(const kf_invocation *invocation, const char *path, const kf_store_run *run)
{
    kf_autofree char *answer = NULL;
    size_t room = 0;
    fprintf(invocation->log,
            "Delete run %s of %s with its %lld attempts from %s? Only a backup brings it back. "
            "[y/N] ",
            run->id, run->task_name, (long long)run->attempts, path);
    fflush(invocation->log);
    /* Unlike getline(), poll() ends with a signal. */
    if (poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1) < 0 ||
        getline(&answer, &room, stdin) < 0) {
        fputc('\n', invocation->log);
        return false;
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static int run_delete(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_store_deleted deleted;
    kf_autoresult kf_store_run run = {0};
    const char *word = invocation->arguments[0];
    if (kf_store_means_latest(word)) {
        kf_fail(error, KF_ERROR_INPUT,
                "store delete: give the id of the run, not \"%s\" (`kforge list` shows ids)", word);
        return -1;
    }
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_WRITE, error);
    if (!store || !kf_store_find_run(store, word, &run, error)) return -1;
    if (!wanted->yes && !(invocation->terminal && isatty(STDIN_FILENO))) {
        kf_fail(error, KF_ERROR_INPUT,
                "store delete: there is no terminal to ask on; give --yes to delete run %s of %s",
                run.id, run.task_name);
        return -1;
    }
    if (!wanted->yes && !is_confirmed(invocation, kf_store_path(store), &run)) {
        if (*invocation->interrupts) return KF_EXIT_INTERRUPTED;
        fprintf(invocation->log, "nothing was deleted\n");
        return KF_EXIT_NOTHING;
    }
    if (!kf_store_delete_run(store, run.id, &deleted, error)) return -1;
    fprintf(invocation->output,
            "%s: run %s of %s is deleted: %lld attempts, %lld candidates with %lld verdicts, %lld "
            "model calls. `kforge store vacuum` gives the space back\n",
            kf_store_path(store), run.id, run.task_name, (long long)deleted.attempts,
            (long long)deleted.candidates, (long long)deleted.verdicts,
            (long long)deleted.model_calls);
    return KF_EXIT_DONE;
}

/* ---- check, migrate, backup, vacuum ---------------------------------------------------------- */

static int run_check(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    int64_t unverified, doubtful;
    if (!store || !kf_store_check(store, error) ||
        !kf_store_unverified(store, &unverified, error) ||
        !each_doubtful(invocation, store, false, &doubtful, error))
        return -1;
    fprintf(invocation->output, "%s: sound\n", kf_store_path(store));
    if (unverified)
        fprintf(invocation->output,
                "%lld attempts of older versions do not count: their verdicts are of other texts "
                "with an equal hash. Judge such a candidate again with: kforge eval\n",
                (long long)unverified);
    if (doubtful)
        fprintf(invocation->output,
                "a signal from outside, or too little memory, may have caused the %lld verdicts "
                "above: `kforge store repair` re-opens them\n",
                (long long)doubtful);
    return KF_EXIT_DONE;
}

static int run_migrate(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    int from, to;
    kf_autofree char *path = wanted->store ? strdup(wanted->store) : kf_store_default_path(error);
    if (!path || !kf_store_migrate(path, &from, &to, error)) return -1;
    if (from == to)
        fprintf(invocation->output, "%s: schema %d, up to date\n", path, to);
    else
        fprintf(invocation->output, "%s: updated from schema %d to %d\n", path, from, to);
    return KF_EXIT_DONE;
}

static int run_backup(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    if (!store || !kf_store_backup(store, invocation->arguments[0], error)) return -1;
    fprintf(invocation->output, "%s: copied to %s\n", kf_store_path(store),
            invocation->arguments[0]);
    return KF_EXIT_DONE;
}

static int run_vacuum(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_store_stats before, after;
    int64_t dropped = 0;
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_WRITE, error);
    if (!store || !kf_store_get_stats(store, &before, error)) return -1;
    double days = wanted->samples ? wanted->keep_samples / 86400 : -1;
    if (!kf_store_vacuum(store, days, &dropped, error) || !kf_store_get_stats(store, &after, error))
        return -1;
    fprintf(invocation->output, "%s: %.1f MiB, was %.1f MiB", kf_store_path(store),
            (double)after.bytes / (1 << 20), (double)before.bytes / (1 << 20));
    if (wanted->samples)
        fprintf(invocation->output, "; raw timings of %lld verdicts dropped", (long long)dropped);
    fputc('\n', invocation->output);
    return KF_EXIT_DONE;
}

/* ---- stats ----------------------------------------------------------------------------------- */

static void print_date(FILE *out, const char *label, double seconds)
{
    if (isnan(seconds)) return;
    time_t time = (time_t)seconds;
    struct tm parts;
    char text[64];
    if (gmtime_r(&time, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts))
        fprintf(out, "%-14s %s\n", label, text);
}

static int run_stats(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_store_stats stats;
    char digest[KF_HASH_HEX] = "";
    kf_auto(kf_store) store = kf_store_open(wanted->store, KF_STORE_READ, error);
    if (!store || !kf_store_get_stats(store, &stats, error)) return -1;
    if (wanted->digest && !kf_store_digest(store, digest, error)) return -1;
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"store_schema", stats.schema},
        {"bytes", stats.bytes},
        {"unused", stats.unused},
        {"tasks", stats.tasks},
        {"devices", stats.devices},
        {"runs", stats.runs},
        {"attempts", stats.attempts},
        {"candidates", stats.candidates},
        {"verdicts", stats.verdicts},
        {"correct", stats.correct},
        {"samples", stats.samples},
        {"model_calls", stats.model_calls},
        {"notes", stats.notes},
        {"texts", stats.blobs},
        {"text_bytes", stats.blob_bytes},
        {"text_stored", stats.blob_stored_bytes},
        {"verdict_bytes", stats.verdict_bytes},
        {"verdict_stored", stats.verdict_stored_bytes},
        {"sample_bytes", stats.sample_bytes},
        {"sample_stored", stats.sample_stored_bytes},
    };
    size_t count = sizeof rows / sizeof *rows;
    if (wanted->json) {
        cJSON *json = kf_json_document("kforge-store-stats/1");
        for (size_t i = 0; i < count; i++)
            cJSON_AddNumberToObject(json, rows[i].key, (double)rows[i].value);
        kf_add_time(json, "first", stats.first);
        kf_add_time(json, "last", stats.last);
        if (wanted->digest) cJSON_AddStringToObject(json, "digest", digest);
        return answer(invocation, wanted, json, error);
    }
    fprintf(invocation->output, "%s\n", kf_store_path(store));
    for (size_t i = 0; i < count; i++)
        fprintf(invocation->output, "%-14s %lld\n", rows[i].key, (long long)rows[i].value);
    print_date(invocation->output, "first", stats.first);
    print_date(invocation->output, "last", stats.last);
    if (wanted->digest) fprintf(invocation->output, "%-14s %s\n", "digest", digest);
    return KF_EXIT_DONE;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const kf_option store_options[] = {KF_ROW_STORE(settings), {0}};
static const kf_option delete_options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(FLAG, "yes", NULL, settings, yes), .letter = 'y',
     .help = "Do not ask. Without a terminal this option is needed."},
    {0},
};
static const kf_option merge_options[] = {KF_ROW_STORE(settings), KF_ROW_JSON(settings), {0}};
static const kf_option stats_options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(FLAG, "digest", NULL, settings, digest),
     .help = "Add a hash over all content. Stores with equal content have equal hashes. This reads "
             "the whole store."},
    KF_ROW_JSON(settings),
    {0},
};
static const kf_option vacuum_options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(FLAG, "drop-samples", NULL, settings, samples),
     .help = "Delete old raw timings, but not those of valid correct verdicts."},
    {KF_OPTION(DURATION, "older-than", "TIME", settings, keep_samples), .fallback = "720h",
     .low = 0, .high = 1e10, .help = "Age of raw timings that --drop-samples deletes."},
    {0},
};

const kf_command kf_command_store_merge = {
    .name = "store merge",
    .synopsis = "FILE…",
    .summary = "Copy everything that other stores hold into one",
    .description =
        "A union by content: each content hash, run id or text is there once, in any order of "
        "merging. After an interruption, run it again: each FILE is in completely or not at all. A "
        "missing --store is made.\n\nIf a run continued in two copies of a store, the longer "
        "history is kept. Tasks with the same name and different content stay different.",
    .examples = "kforge store merge node1.db node2.db --store all.db\ttwo stores into one",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = merge_options,
    .settings_size = sizeof(settings),
    .run = run_merge,
};

const kf_command kf_command_store_check = {
    .name = "store check",
    .synopsis = "",
    .summary = "Check every page, reference, count and hash of a store",
    .description =
        "Prints \"sound\" with status 0, or names the first fault. Also lists verdicts of older "
        "versions that a signal from outside, or too little memory, may have caused.",
    .options = store_options,
    .settings_size = sizeof(settings),
    .run = run_check,
};

const kf_command kf_command_store_repair = {
    .name = "store repair",
    .synopsis = "",
    .summary = "Re-open verdicts that events outside kforge caused",
    .description =
        "Older versions blamed a candidate or a task when something else killed their process, or "
        "when the machine had too little memory. These verdicts become faults of the machine: they "
        "no longer count, exports leave them out, and their candidates are judged again when they "
        "come up. A damaged store stays as it is.",
    .options = store_options,
    .settings_size = sizeof(settings),
    .run = run_repair,
};

const kf_command kf_command_store_stats = {
    .name = "store stats",
    .synopsis = "",
    .summary = "Count the contents of a store",
    .description =
        "Bytes are those of the file and its log. \"kforge store vacuum\" frees unused ones.",
    .options = stats_options,
    .settings_size = sizeof(settings),
    .run = run_stats,
};

const kf_command kf_command_store_backup = {
    .name = "store backup",
    .synopsis = "FILE",
    .summary = "Copy a store, also while a run writes to it",
    .description = "FILE must not exist. It is a consistent copy, complete or not there at all.",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = store_options,
    .settings_size = sizeof(settings),
    .run = run_backup,
};

const kf_command kf_command_store_delete = {
    .name = "store delete",
    .synopsis = "RUN",
    .summary = "Delete a run",
    .description = "Deletes attempts, model calls and notes of the run. Its candidates go with it, "
                   "except for those that another run or `kforge eval` judged, too. On a "
                   "terminal it asks first. There is no way back but a backup.",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = delete_options,
    .settings_size = sizeof(settings),
    .run = run_delete,
};

const kf_command kf_command_store_vacuum = {
    .name = "store vacuum",
    .synopsis = "",
    .summary = "Free unused space, delete old raw timings",
    .description = "Deletes texts without a reference and rewrites the file, which needs as much "
                   "free space again.",
    .options = vacuum_options,
    .settings_size = sizeof(settings),
    .run = run_vacuum,
};

const kf_command kf_command_store_migrate = {
    .name = "store migrate",
    .synopsis = "",
    .summary = "Update a store that an older kforge wrote",
    .description = "Commands that write do this automatically. Commands that only read ask for it.",
    .options = store_options,
    .settings_size = sizeof(settings),
    .run = run_migrate,
};
