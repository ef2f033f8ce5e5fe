/* `kforge selftest`: judges hostile and honest candidates and compares the verdicts with the
 * expected ones. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "leak_snapshot.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "selftest.h"
#include "table.h"
#include "terminal.h"
#include "output.h"

typedef struct settings {
    const char *device, *folder, *filter;
    bool quiet, json, all;
} settings;

typedef struct report {
    const kf_invocation *invocation;
    const settings *wanted;
    kf_table table;
    cJSON *cases; /* with --json */
    double started;
} report;

/* Shows each case on a terminal. Elsewhere writes a line after each tenth of them, with the time
 * that the rest may take. */
static void show_progress(const report *r, const kf_selftest_case *row, const char *kind)
{
    char taken[KF_FIGURE], left[KF_FIGURE];
    size_t tenth = row->total / 10;
    double seconds = kf_now() - r->started;
    if (r->invocation->terminal)
        kf_terminal_redraw(r->invocation->log, "%zu of %zu: %s/%s/%s", row->number, row->total,
                           kind, row->task, row->name);
    else if (tenth && row->number % tenth == 0 && row->number < row->total)
        fprintf(r->invocation->log, "judged %zu of %zu cases in %s, about %s more\n", row->number,
                row->total, kf_figure_seconds(seconds, taken),
                kf_figure_seconds(
                    seconds / (double)row->number * (double)(row->total - row->number), left));
    fflush(r->invocation->log);
}

static void take_case(void *context, const kf_selftest_case *row)
{
    report *r = context;
    const char *kind = row->hostile ? "hostile" : "honest";
    show_progress(r, row, kind);
    if (r->cases) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "kind", kind);
        cJSON_AddStringToObject(object, "task", row->task);
        cJSON_AddStringToObject(object, "name", row->name);
        cJSON_AddStringToObject(object, "rule", row->rule);
        cJSON_AddStringToObject(object, "expected", row->expected);
        cJSON_AddStringToObject(object, "status", row->status);
        cJSON_AddStringToObject(object, "finding", row->finding);
        cJSON_AddStringToObject(object, "message", row->verdict->message);
        cJSON_AddBoolToObject(object, "passed", row->passed);
        cJSON_AddBoolToObject(object, "measured_again", row->again);
        kf_add_figure(object, "seconds", row->seconds);
        cJSON_AddItemToArray(r->cases, object);
    }
    if (row->passed && row->seconds <= row->limit && !r->wanted->all) return;
    char seconds[KF_FIGURE];
    bool late = row->seconds > row->limit;
    kf_table_cell(&r->table, "%s",
                  late           ? "LATE"
                  : row->passed  ? "ok"
                  : row->hostile ? "MISSED"
                                 : "ACCUSED");
    kf_table_cell(&r->table, "%s/%s/%s", kind, row->task, row->name);
    kf_table_cell(&r->table, "%s%s%s", row->status, row->finding[0] ? " " : "", row->finding);
    kf_table_cell(&r->table, "%s", row->passed ? "" : row->expected);
    kf_table_cell(&r->table, "%s", kf_figure_seconds(row->seconds, seconds));
}

/* The judge's temporary files go to a folder of their own. So everything that is left there comes
 * from it or from a candidate. */
typedef struct scratch {
    char *folder, *before_folder; /* $TMPDIR now and before */
    kf_leak_snapshot *before;
} scratch;

static void scratch_free(scratch *s)
{
    if (!s) return;
    if (s->folder) kf_directory_remove(s->folder, NULL);
    if (s->before_folder)
        setenv("TMPDIR", s->before_folder, 1);
    else
        unsetenv("TMPDIR");
    kf_leak_snapshot_free(s->before);
    free(s->folder);
    free(s->before_folder);
    free(s);
}

KF_DEFINE_AUTO(scratch, scratch_free)

static scratch *scratch_new(kf_error *error)
{
    kf_auto(scratch) s = calloc(1, sizeof *s);
    const char *given = getenv("TMPDIR");
    if (!s || (given && !(s->before_folder = strdup(given)))) {
        kf_fail_memory(error, "the selftest");
        return NULL;
    }
    if (!(s->folder = kf_directory_temporary("kforge-selftest", error))) return NULL;
    if (setenv("TMPDIR", s->folder, 1) != 0) {
        kf_fail_memory(error, "the selftest");
        return NULL;
    }
    if (!(s->before = kf_leak_snapshot_take(s->folder, error))) return NULL;
    return kf_steal(&s);
}

/* A GPU's driver keeps descriptors open for the life of this program. The first verdict of the
 * judge's own opens them, so the leak snapshot is taken again after it. */
static bool use_driver(scratch *own, kf_judge *judge, const char *folder, kf_error *error)
{
    kf_autofree char *path = kf_path_join(folder, "selftest/vecadd");
    if (!path) return kf_fail_memory(error, "the selftest");
    if (strncmp(kf_judge_device(judge), "cpu", 3) == 0 || access(path, F_OK) != 0) return true;
    kf_task *task = kf_task_load(path, error);
    if (!task) return false;
    const char *text = kf_task_baseline(task)->text;
    kf_auto(kf_job) job = kf_job_new("first", task, text, strlen(text), NULL, 0, error);
    if (!job) return false;
    kf_auto(kf_verdict) verdict = kf_judge_run(judge, job, NULL, error);
    if (!verdict) return false;
    kf_leak_snapshot_free(own->before);
    own->before = kf_leak_snapshot_take(own->folder, error);
    return own->before != NULL;
}

static double percent(int part, int whole)
{
    return whole ? 100.0 * part / whole : 100;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    kf_autofree char *folder = wanted->folder ? strdup(wanted->folder) : kf_selftest_folder(error);
    if (!folder) return -1;
    kf_auto(scratch) own = scratch_new(error);
    if (!own) return -1;
    kf_auto(kf_judge) judge = kf_judge_new(&(kf_judge_settings){.device = wanted->device}, error);
    if (!judge || !use_driver(own, judge, folder, error)) return -1;
    kf_auto(cJSON) json = wanted->json ? kf_json_document("kforge-selftest/1") : NULL;
    report r = {.invocation = invocation,
                .wanted = wanted,
                .started = kf_now(),
                .cases = json ? cJSON_AddArrayToObject(json, "cases") : NULL};
    kf_table_add_columns(&r.table, "", "~CASE", "VERDICT", "~EXPECTED", ">TIME", NULL);
    kf_selftest_summary sum;
    bool done = kf_selftest_run(judge, folder, KF_SELFTEST_ALL, wanted->filter, take_case, &r,
                                invocation->interrupts, &sum, error);
    if (invocation->terminal) fputs(KF_STYLE_CLEAR, invocation->log);
    kf_autobuffer left = {0};
    kf_leak_snapshot_news news = {0};
    kf_autofree char *device = done ? strdup(kf_judge_device(judge)) : NULL,
                     *hardware = done ? strdup(kf_judge_hardware(judge)) : NULL;
    /* "0 of 0 caught (100 %)" would look like a proof */
    if (done && sum.hostile + sum.honest == 0 && wanted->filter) {
        kf_autofree char *tasks = kf_selftest_tasks(folder, error);
        done = false;
        if (tasks)
            kf_fail(error, KF_ERROR_INPUT,
                    "--filter: no case for this device has \"%.200s\" in its path. Paths are "
                    "hostile/TASK/NAME.cu and honest/TASK/NAME.cu in %s; each TASK is one of %s",
                    wanted->filter, folder, tasks);
    }
    if (done && (!device || !hardware)) done = kf_fail_memory(error, "the selftest");
    /* descriptors that it still holds are not leaks */
    if (done) {
        kf_judge_free(kf_steal(&judge));
        kf_auto(kf_leak_snapshot) after = kf_leak_snapshot_take(own->folder, error);
        done = after != NULL;
        if (after) news = kf_leak_snapshot_compare(own->before, after, &left);
    }
    bool good = done && news.own == 0 && sum.late == 0 && sum.hostile + sum.honest > 0 &&
                sum.caught == sum.hostile && sum.accepted == sum.honest;
    int status = good ? KF_EXIT_DONE : KF_EXIT_NOTHING;
    if (!done) {
        status = error && error->code == KF_ERROR_BUSY ? KF_EXIT_INTERRUPTED : -1;
    } else if (json) {
        cJSON_AddStringToObject(json, "version", KFORGE_VERSION);
        cJSON_AddStringToObject(json, "device", device);
        cJSON_AddStringToObject(json, "hardware", hardware);
        cJSON_AddNumberToObject(json, "hostile", sum.hostile);
        cJSON_AddNumberToObject(json, "caught", sum.caught);
        cJSON_AddNumberToObject(json, "honest", sum.honest);
        cJSON_AddNumberToObject(json, "accused", sum.honest - sum.accepted);
        kf_add_figure(json, "seconds", sum.seconds);
        kf_add_figure(json, "longest_seconds", sum.longest);
        cJSON_AddNumberToObject(json, "late", sum.late);
        cJSON_AddNumberToObject(json, "measured_again", sum.again);
        cJSON_AddNumberToObject(json, "left_behind", (double)news.own);
        cJSON_AddStringToObject(json, "new_on_machine", left.data ? left.data : "");
        if (!kf_print_json(view.out, kf_steal(&json), error)) status = -1;
    } else {
        char seconds[KF_FIGURE], longest[KF_FIGURE];
        kf_table_print(&r.table, view.out, view.width, 0, view.color);
        fprintf(view.out,
                "%sselftest on %s (%s): %d of %d hostile candidates caught (%.1f %%), %d of %d "
                "honest ones accused (%.1f %%), %d measured again, %s, "
                "longest %s\n",
                r.table.cell_count ? "\n" : "", device, hardware, sum.caught, sum.hostile,
                percent(sum.caught, sum.hostile), sum.honest - sum.accepted, sum.honest,
                sum.honest ? 100 - percent(sum.accepted, sum.honest) : 0, sum.again,
                kf_figure_seconds(sum.seconds, seconds), kf_figure_seconds(sum.longest, longest));
        if (news.own)
            fprintf(view.out, "left behind: %s", left.data);
        else if (news.others)
            fprintf(view.out,
                    "candidates left nothing behind; new on this machine, perhaps from other "
                    "programs:\n%s",
                    left.data);
        else
            fputs("candidates left nothing behind: no process, descriptor, file, shared memory or "
                  "socket\n",
                  view.out);
    }
    kf_table_free(&r.table);
    return status;
}

static const kf_option options[] = {
    KF_ROW_DEVICE(settings),
    {KF_OPTION(TEXT, "filter", "TEXT", settings, filter),
     .help = "Only cases with this text in their path: hostile/, scale/graph, …"},
    {KF_OPTION(PATH, "folder", "DIR", settings, folder),
     .help = "Your own cases: DIR/hostile/TASK/NAME.cu, DIR/honest/TASK/NAME.cu and "
             "DIR/selftest/TASK/task.json."},
    {KF_OPTION(FLAG, "all", NULL, settings, all), .letter = 'a',
     .help = "List every case, not only failed ones."},
    KF_ROW_QUIET(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_selftest = {
    .name = "selftest",
    .synopsis = "",
    .summary = "Prove that this machine's judge catches cheats and accepts honest candidates",
    .description = "Judges a collection of cheating candidates and one of unusual honest ones, and "
                   "lists wrong verdicts. Publish its output with each leaderboard of this "
                   "machine's verdicts.\n\nExit status: 0 if all verdicts are right and no "
                   "candidate left a process, descriptor or file behind, else 1.",
    .examples = "kforge selftest --device cpu\ton the processor\n",
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
