/* `kforge show`: finds the run, candidate or task with the given name and shows it. */
#include <string.h>
#include <sys/stat.h>

#include "kforge/file.h"
#include "named_task.h"
#include "run_page.h"
#include "show.h"

typedef struct settings {
    const char *store, *run, *format, *html;
    bool source, samples, tree, json;
    int64_t top, attempts;
} settings;

static bool is_path(const char *word)
{
    struct stat status;
    return strchr(word, '/') || (stat(word, &status) == 0);
}

/* Refuses options of another kind of object: --source of a run is a mistake. */
static bool fits(const settings *wanted, bool candidate, const char *what, kf_error *error)
{
    const char *of_run = wanted->tree                          ? "--tree"
                         : strcmp(wanted->format, "text") != 0 ? "--format"
                         : wanted->html                        ? "--html"
                                                               : NULL;
    if (of_run && strcmp(what, "run") != 0)
        return kf_fail(error, KF_ERROR_INPUT, "show: %s is for a run, but this is a %s", of_run,
                       what);
    if (candidate || (!wanted->source && !wanted->samples && !wanted->run)) return true;
    return kf_fail(error, KF_ERROR_INPUT, "show: %s is for a candidate, but this is a %s",
                   wanted->source    ? "--source"
                   : wanted->samples ? "--samples"
                                     : "--run",
                   what);
}

static bool show_candidate(const kf_view *view, kf_store *store, const settings *wanted,
                           const kf_store_candidate *candidate, kf_error *error)
{
    if (!fits(wanted, true, "candidate", error)) return false;
    if (wanted->source) return kf_show_source(view, store, candidate, error);
    return kf_show_candidate(view, store, candidate, wanted->samples, error);
}

static bool write_page(const kf_view *view, kf_store *store, const kf_store_run *run,
                       const char *path, kf_error *error)
{
    kf_autobuffer text = {0};
    bool written = kf_page_whole(store, run->id, &text, error) &&
                   kf_directory_make_above(path, error) &&
                   kf_file_write(path, text.data, text.size, error);
    if (written)
        fprintf(view->out, "%s: the page of run %s; open it in a browser\n", path, run->id);
    return written;
}

static bool show_run(const kf_view *view, kf_store *store, const settings *wanted,
                     const kf_store_run *run, kf_error *error)
{
    if (wanted->html)
        return fits(wanted, false, "run", error) &&
               write_page(view, store, run, wanted->html, error);
    kf_show_run_limits limits = {.top = wanted->top, .attempts = wanted->attempts};
    if (wanted->tree || strcmp(wanted->format, "text") != 0)
        return fits(wanted, false, "run", error) &&
               kf_show_tree(view, store, run, wanted->format, error);
    return fits(wanted, false, "run", error) && kf_show_run(view, store, run, &limits, error);
}

static bool show_numbered(const kf_view *view, kf_store *store, const settings *wanted,
                          int64_t number, kf_error *error)
{
    kf_autoresult kf_store_candidate candidate = {0};
    kf_autoresult kf_store_run run = {0};
    if (wanted->run && !kf_store_find_run(store, wanted->run, &run, error)) return false;
    return kf_store_get_candidate(store, number, wanted->run ? run.id : NULL, &candidate, error) &&
           show_candidate(view, store, wanted, &candidate, error);
}

/* Lists all other objects with that name. */
static bool show_latest(const kf_view *view, kf_store *store, const settings *wanted,
                        const char *word, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    return kf_store_find_run(store, word, &run, error) &&
           show_run(view, store, wanted, &run, error);
}

static bool show_task_at(const kf_view *view, const settings *wanted, const char *path,
                         kf_error *error)
{
    kf_auto(kf_task) task = fits(wanted, false, "task", error) ? kf_task_load(path, error) : NULL;
    return task && kf_show_task(view, task, error);
}

/* A run's id, a candidate's hash and a task's name or hash look alike, so the store decides. A name
 * of several objects is an error. */
static bool show_named(const kf_view *view, kf_store *store, const settings *wanted,
                       const char *word, kf_error *error)
{
    kf_autoresult kf_store_run run = {0};
    kf_autoresult kf_store_candidate candidate = {0};
    kf_autoresult kf_store_task task = {0};
    kf_error run_error = {0}, candidate_error = {0}, task_error = {0};
    bool is_run = kf_store_find_run(store, word, &run, &run_error);
    bool is_candidate =
        kf_store_find_candidate_prefix(store, NULL, word, &candidate, &candidate_error);
    bool is_task = kf_store_find_task(store, word, &task, &task_error);
    if (is_run + is_candidate + is_task > 1)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s names%s%s%s%s%s: give more of it, or cNUMBER for a candidate", word,
                       is_run ? " a run" : "", is_run && (is_candidate || is_task) ? " and" : "",
                       is_candidate ? " a candidate" : "", is_candidate && is_task ? " and" : "",
                       is_task ? " a task" : "");
    if (is_run) return show_run(view, store, wanted, &run, error);
    if (is_candidate) return show_candidate(view, store, wanted, &candidate, error);
    if (is_task) {
        kf_auto(kf_task) stored =
            fits(wanted, false, "task", error) ? kf_stored_task(store, task.hash, error) : NULL;
        return stored && kf_show_task(view, stored, error);
    }
    kf_error unknown = {0};
    kf_autofree char *path = kf_named_task_path(word, &unknown);
    if (path) return show_task_at(view, wanted, path, error);
    const kf_error *all[] = {&run_error, &candidate_error, &task_error};
    for (int i = 0; i < 3; i++) /* a broken store, or too short a word */
        if (all[i]->code != KF_ERROR_INPUT || strstr(all[i]->text, "several"))
            return kf_fail_copy(error, all[i]);
    if (strstr(unknown.text, "did you mean")) return kf_fail_copy(error, &unknown);
    return kf_fail(error, KF_ERROR_INPUT,
                   "%s: no run, candidate or task has this name; \"kforge list\" and \"kforge list "
                   "--tasks\" list them",
                   word);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    const char *word = invocation->argument_count ? invocation->arguments[0] : "latest";
    kf_view view = kf_view_of(invocation, wanted->json);
    int64_t number = 0;
    bool latest = kf_store_means_latest(word), numbered = kf_candidate_parse(word, &number);
    if (!latest && !numbered && is_path(word))
        return show_task_at(&view, wanted, word, error) ? KF_EXIT_DONE : -1;
    kf_auto(kf_store) store = NULL;
    if (!kf_open_to_read(wanted->store, &store, error)) return -1;
    if (!store) {
        kf_autofree char *path = latest || numbered ? NULL : kf_named_task_path(word, NULL);
        if (path) return show_task_at(&view, wanted, path, error) ? KF_EXIT_DONE : -1;
        kf_fail(error, KF_ERROR_INPUT, "%s: the store has no runs yet", word);
        return -1;
    }
    bool good = latest     ? show_latest(&view, store, wanted, word, error)
                : numbered ? show_numbered(&view, store, wanted, number, error)
                           : show_named(&view, store, wanted, word, error);
    return good ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    KF_ROW_STORE(settings),
    {KF_OPTION(FLAG, "source", NULL, settings, source), .letter = 's',
     .help = "Of a candidate: only its source."},
    {KF_OPTION(FLAG, "samples", NULL, settings, samples),
     .help = "Of a candidate: also all raw timings."},
    {KF_OPTION(TEXT, "run", "RUN", settings, run), .letter = 'r',
     .help = "Of a candidate given by number: its state in this run (id, the beginning of one, or "
             "last)."},
    {KF_OPTION(INTEGER, "top", "N", settings, top), .fallback = "5", .low = 0, .high = 100000,
     .help = "Of a run: number of best candidates."},
    {KF_OPTION(INTEGER, "attempts", "N", settings, attempts), .fallback = "10", .low = 0,
     .high = 1e9, .help = "Of a run: number of latest attempts."},
    {KF_OPTION(FLAG, "tree", NULL, settings, tree),
     .help = "Of a run: the family tree of its candidates."},
    {KF_OPTION(CHOICE, "format", "FORMAT", settings, format), .choices = "text|dot|svg",
     .fallback = "text", .help = "Of a run: its family tree for Graphviz or as a picture."},
    {KF_OPTION(PATH, "html", "FILE", settings, html),
     .help = "Of a run: write the page of \"kforge watch\" as one file."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_show = {
    .name = "show",
    .synopsis = "[RUN|CANDIDATE|TASK]",
    .summary = "Show a run, a candidate or a task",
    .description =
        "RUN is an id, the beginning of one, or \"last\" (the default). CANDIDATE is c and its "
        "number, or at least 4 digits of its hash. TASK is a task.json, its folder, or the name or "
        "hash of a task in the store.\n\nSpeedup is the baseline's time divided by the "
        "candidate's, with a 95 % interval. FLOOR is the time of the workload's memory traffic and "
        "arithmetic at the measured peak of the device.",
    .examples = "kforge show\tthe latest run\n"
                "kforge show c12\tone candidate: verdict, timings, errors, family\n"
                "kforge show last --html run.html\tthe run as a page\n"
                "kforge show last --format svg > tree.svg\tthe family tree of the latest run\n"
                "kforge show c12 --source > best.cu\tits source",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
