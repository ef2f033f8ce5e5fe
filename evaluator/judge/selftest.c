#include "selftest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/list.h"
#include "kforge/sandbox.h"
#include "verdict_brief.h"
#include "judge_internal.h"
#include "paths.h"

#define LINE 512
#define TIMED_SECONDS 0.5
/* Timing of a case in its second measurement. */
#define AGAIN_SECONDS 3
/* Open cases, with the one that is judged. */
#define AHEAD 3
/* An honest case takes less than a tenth of this on a slow machine. */
#define CASE_SECONDS 30
/* The time to end a case. */
#define SLACK_SECONDS 2
/* of processor time: nvcc takes ten times as long as g++, and some cheats build without end */
#define BUILD_SECONDS 20
#define BUILD_SECONDS_CPU 8

/* ---- reading a case -------------------------------------------------------------------------- */

typedef struct heading {
    char about[LINE], rule[LINE], expected[LINE], expected_cuda[LINE], devices[LINE], mode[LINE],
        needs[LINE], most[LINE], says[LINE], suspects[LINE], says_cpu[LINE], suspects_cpu[LINE];
} heading;

/* The comment lines at the begin of a file. */
static void read_heading(const char *source, heading *h)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {{"rule: ", offsetof(heading, rule)},
                {"expect: ", offsetof(heading, expected)},
                {"expect-cuda: ", offsetof(heading, expected_cuda)},
                {"devices: ", offsetof(heading, devices)},
                {"mode: ", offsetof(heading, mode)},
                {"needs: ", offsetof(heading, needs)},
                {"at-most: ", offsetof(heading, most)},
                {"says: ", offsetof(heading, says)},
                {"suspects: ", offsetof(heading, suspects)},
                {"says-cpu: ", offsetof(heading, says_cpu)},
                {"suspects-cpu: ", offsetof(heading, suspects_cpu)}};
    *h = (heading){0};
    while (strncmp(source, "// ", 3) == 0) {
        size_t length = strcspn(source, "\n");
        const char *text = source + 3;
        char *into = h->about;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(text, keys[i].key, strlen(keys[i].key)) == 0) {
                into = (char *)h + keys[i].offset;
                text += strlen(keys[i].key);
                break;
            }
        snprintf(into, LINE, "%.*s", (int)(length - (size_t)(text - source)), text);
        source += length + (source[length] == '\n');
    }
}

/* True if the verdict or its next step says and suspects what the file asks for. */
static bool explains(const heading *h, const kf_verdict *verdict)
{
    const char *flag = "";
    for (size_t i = 0; i < verdict->flag_count; i++)
        if (strncmp(verdict->flags[i], KF_FLAG_SUSPECTED, strlen(KF_FLAG_SUSPECTED)) == 0)
            flag = verdict->flags[i] + strlen(KF_FLAG_SUSPECTED);
    bool suspected =
        !h->suspects[0] || strcmp(flag, strcmp(h->suspects, "nothing") ? h->suspects : "") == 0;
    kf_autofree char *next = kf_verdict_next(verdict);
    return suspected &&
           (!h->says[0] || strstr(verdict->message, h->says) || (next && strstr(next, h->says)));
}

/* True if "STATUS RULE | STATUS RULE" allows this status and rule. */
static bool allows(const char *expected, const char *status, const char *rule)
{
    char copy[LINE], *save = NULL;
    snprintf(copy, sizeof copy, "%s", expected);
    for (char *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save)) {
        char want_status[64] = "", want_rule[64] = "";
        if (sscanf(part, "%63s %63s", want_status, want_rule) > 0 &&
            strcmp(status, want_status) == 0 && strcmp(rule, want_rule) == 0)
            return true;
    }
    return false;
}

/* True if each "STATUS RULE" has a rule, except for the status correct. A status alone would match
 * no verdict. */
static bool names_rules(const char *expected)
{
    char copy[LINE], *save = NULL;
    snprintf(copy, sizeof copy, "%s", expected);
    for (char *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save)) {
        char status[64] = "", rule[64] = "";
        int words = sscanf(part, "%63s %63s", status, rule);
        if (words < 1 || (words < 2 && strcmp(status, kf_status_name(KF_CORRECT)) != 0))
            return false;
    }
    return true;
}

/* Returns the layers that "landlock | namespaces" names, -1 for another word. */
static int needed_layers(const char *needs)
{
    char copy[LINE], *save = NULL;
    int layers = 0;
    snprintf(copy, sizeof copy, "%s", needs);
    for (char *word = strtok_r(copy, "| ", &save); word; word = strtok_r(NULL, "| ", &save)) {
        if (strcmp(word, "landlock") == 0)
            layers |= KF_LAYER_LANDLOCK;
        else if (strcmp(word, "namespaces") == 0)
            layers |= KF_LAYER_MOUNT_NS;
        else
            return -1;
    }
    return layers;
}

/* True if a verdict is as the file asks. A cheat that only its time shows may be judged correct,
 * but must not seem faster than it is. */
static bool too_fast(const heading *h, const kf_verdict *verdict)
{
    double most = strtod(h->most, NULL);
    if (!h->most[0] || verdict->status != KF_CORRECT) return false;
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *w = &verdict->workloads[i];
        if (w->timed && (w->speedup.low > most || w->latency_speedup.low > most)) return true;
    }
    return false;
}

/* True if the case has to be measured again: its time may be noise, or the machine was at fault, or
 * a timed cheat was not noticed. The judge looks at calls at random, on a busy machine at few. A
 * search measures its best candidates again, too. */
static bool needs_another(const heading *h, const char *expected, bool hostile, bool timed,
                          const kf_verdict *verdict)
{
    if (too_fast(h, verdict)) return true;
    if (allows(expected, kf_status_name(verdict->status), kf_verdict_first_rule(verdict)))
        return false;
    return verdict->blame == KF_BLAME_MACHINE ||
           (hostile && timed && verdict->status == KF_CORRECT);
}

/* ---- the list of cases ----------------------------------------------------------------------- */

typedef struct selftest_case {
    bool hostile, timed;
    char *task, *path;
    const char *name; /* in path */
    heading heading;
    /* NULL until it is opened. */
    kf_job *job;
    /* NULL also after a failure, which kf_judge_run reports. */
    kf_prepared *prepared;
} selftest_case;

typedef struct case_list {
    selftest_case *cases;
    size_t count;
} case_list;

static void close_case(selftest_case *c)
{
    kf_prepared_free(c->prepared);
    kf_job_free(c->job);
    c->prepared = NULL;
    c->job = NULL;
}

static void list_free(case_list *list)
{
    if (!list) return;
    for (size_t i = 0; i < list->count; i++) {
        close_case(&list->cases[i]);
        free(list->cases[i].task);
        free(list->cases[i].path);
    }
    free(list->cases);
    free(list);
}

KF_DEFINE_AUTO(case_list, list_free)

typedef struct selftest {
    kf_judge *judge;
    const char *folder, *filter;
    kf_selftest_part part;
    bool cuda;
    case_list *list;
    kf_selftest_summary *summary;
} selftest;

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Calls `visit` for the entries of a folder in order of their names. */
static bool each(const char *folder,
                 bool (*visit)(selftest *t, bool hostile, const char *task, const char *path,
                               const char *name, kf_error *error),
                 selftest *t, bool hostile, const char *task, kf_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, visible, alphasort);
    if (count < 0) return kf_fail(error, KF_ERROR_INPUT, "%s: %s", folder, strerror(errno));
    bool done = true;
    for (int i = 0; i < count; i++) {
        kf_autofree char *path = kf_path_join(folder, entries[i]->d_name);
        if (done && !path) done = kf_fail_memory(error, "a self test");
        if (done)
            done = visit(t, hostile, task ? task : entries[i]->d_name, path, entries[i]->d_name,
                         error);
        free(entries[i]);
    }
    free(entries);
    return done;
}

static bool visit_case(selftest *t, bool hostile, const char *task, const char *path,
                       const char *name, kf_error *error)
{
    size_t length = strlen(name), size;
    if (length < 4 || strcmp(name + length - 3, ".cu") != 0) return true;
    if (t->filter && !strstr(path + strlen(t->folder), t->filter)) {
        t->summary->skipped++;
        return true;
    }
    heading h;
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, error);
    if (!source) return false;
    read_heading(source, &h);
    bool cpu = strncmp(kf_judge_device(t->judge), "cpu", 3) == 0;
    if (cpu && h.says_cpu[0]) memcpy(h.says, h.says_cpu, sizeof h.says);
    if (cpu && h.suspects_cpu[0]) memcpy(h.suspects, h.suspects_cpu, sizeof h.suspects);
    if (!h.about[0] || !h.expected[0] || (hostile && !h.rule[0]))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: needs a line of what it does, \"// rule: CHEAT\" and \"// expect: "
                       "STATUS RULE\" at its top",
                       path);
    if (!names_rules(h.expected) || !names_rules(h.expected_cuda))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: \"expect: %s\" has a status without a rule. Write \"STATUS RULE\", "
                       "joined by \" | \"",
                       path, names_rules(h.expected) ? h.expected_cuda : h.expected);
    int needed = needed_layers(h.needs);
    if (needed < 0)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: \"needs: %s\" is no layer of the sandbox. Write landlock, namespaces, or "
            "\"landlock | namespaces\" if either is enough",
            path, h.needs);
    bool timed = strcmp(h.mode, "timed") == 0;
    bool elsewhere = h.devices[0] && strcmp(h.devices, t->cuda ? "cuda" : "cpu") != 0;
    bool lacking = needed && !(needed & kf_sandbox_available(NULL));
    if (elsewhere || lacking ||
        (t->part != KF_SELFTEST_ALL && timed != (t->part == KF_SELFTEST_TIMED))) {
        t->summary->skipped++;
        return true;
    }
    case_list *list = t->list;
    if (!kf_list_grow(&list->cases, list->count)) return kf_fail_memory(error, "a self test");
    selftest_case *c = &list->cases[list->count++];
    *c = (selftest_case){.hostile = hostile,
                         .timed = timed,
                         .task = strdup(task),
                         .path = strdup(path),
                         .heading = h};
    if (!c->task || !c->path) return kf_fail_memory(error, "a self test");
    c->name = c->path + strlen(path) - length;
    return true;
}

static bool visit_task(selftest *t, bool hostile, const char *task, const char *path,
                       const char *name, kf_error *error)
{
    (void)name;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return true;
    return each(path, visit_case, t, hostile, task, error);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Begins the builds of a case. */
static bool open_case(selftest *t, selftest_case *c, kf_error *error)
{
    size_t size;
    kf_error unprepared = {0};
    kf_autofree char *task_path = NULL,
                     *source = kf_file_read(c->path, KF_SOURCE_BYTES, &size, error);
    if (!source) return false;
    if (asprintf(&task_path, "%s/selftest/%s", t->folder, c->task) < 0) {
        task_path = NULL;
        return kf_fail_memory(error, "a self test");
    }
    kf_task *task = kf_task_load(task_path, error);
    c->job = task ? kf_job_new("selftest", task, source, size, NULL, 0, error) : NULL;
    if (!c->job) return kf_fail_prefix(error, "%s", c->path);
    c->job->options.check_only = !c->timed;
    c->job->options.seconds = TIMED_SECONDS;
    c->job->options.build_seconds = t->cuda ? BUILD_SECONDS : BUILD_SECONDS_CPU;
    c->job->options.timeout_seconds = CASE_SECONDS;
    c->prepared = kf_judge_prepare(t->judge, c->job, -1, &unprepared);
    return true;
}

/* Opens a few cases to build while case `at` is judged. Stops at a timed case, since compilers
 * would disturb its timing. */
static bool open_ahead(selftest *t, size_t at, kf_error *error)
{
    size_t jobs = kf_judge_jobs(t->judge), end = at + (jobs > AHEAD ? jobs : AHEAD);
    for (size_t i = at; i < end && i < t->list->count; i++) {
        selftest_case *c = &t->list->cases[i];
        if (!c->job && !open_case(t, c, error)) return false;
        if (c->timed) break;
    }
    return true;
}

static bool run_case(selftest *t, size_t at, kf_selftest_report *report, void *context,
                     const volatile int *stop, kf_error *error)
{
    selftest_case *c = &t->list->cases[at];
    heading *h = &c->heading;
    double started = kf_now(), waited = t->judge->waited;
    kf_auto(kf_verdict) verdict =
        c->prepared ? kf_judge_measure(t->judge, c->prepared, at + 1 < t->list->count, stop, error)
                    : kf_judge_run(t->judge, c->job, stop, error);
    const char *expected = t->cuda && h->expected_cuda[0] ? h->expected_cuda : h->expected;
    bool again = verdict && needs_another(h, expected, c->hostile, c->timed, verdict);
    if (again) {
        kf_verdict_free(verdict);
        c->job->options.verify = true;
        c->job->options.seconds = AGAIN_SECONDS;
        verdict = kf_judge_run(t->judge, c->job, stop, error);
    }
    if (!verdict) return false;
    kf_selftest_case row = {.hostile = c->hostile,
                            .task = c->task,
                            .name = c->name,
                            .about = h->about,
                            .rule = h->rule,
                            .expected = expected,
                            .status = kf_status_name(verdict->status),
                            .finding = kf_verdict_first_rule(verdict),
                            .verdict = verdict,
                            .again = again,
                            .number = at + 1,
                            .total = t->list->count,
                            .limit = KF_BUILD_TIMEOUT_FACTOR * BUILD_SECONDS +
                                     CASE_SECONDS * (c->job->options.verify ? 2 : 1) +
                                     SLACK_SECONDS,
                            .seconds = kf_now() - started - (t->judge->waited - waited)};
    row.passed =
        allows(expected, row.status, row.finding) && !too_fast(h, verdict) && explains(h, verdict);
    *(c->hostile ? &t->summary->hostile : &t->summary->honest) += 1;
    *(c->hostile ? &t->summary->caught : &t->summary->accepted) += row.passed;
    if (row.seconds > t->summary->longest) t->summary->longest = row.seconds;
    if (row.seconds > row.limit) t->summary->late++;
    t->summary->again += again;
    if (report) report(context, &row);
    return true;
}

bool kf_selftest_run(kf_judge *judge, const char *folder, kf_selftest_part part, const char *filter,
                     kf_selftest_report *report, void *context, const volatile int *stop,
                     kf_selftest_summary *summary, kf_error *error)
{
    static const char *const kinds[] = {"honest", "hostile"};
    double started = kf_now();
    *summary = (kf_selftest_summary){0};
    kf_auto(case_list) list = calloc(1, sizeof *list);
    if (!list) return kf_fail_memory(error, "a self test");
    selftest t = {.judge = judge,
                  .folder = folder,
                  .filter = filter,
                  .part = part,
                  .cuda = strncmp(kf_judge_device(judge), "cuda", 4) == 0,
                  .list = list,
                  .summary = summary};
    for (int kind = 0; kind < 2; kind++) {
        kf_autofree char *path = kf_path_join(folder, kinds[kind]);
        if (!path) return kf_fail_memory(error, "a self test");
        if (!each(path, visit_task, &t, kind == 1, NULL, error)) return false;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!open_ahead(&t, i, error) || !run_case(&t, i, report, context, stop, error))
            return false;
        close_case(&list->cases[i]);
    }
    summary->seconds = kf_now() - started;
    return true;
}

char *kf_selftest_tasks(const char *folder, kf_error *error)
{
    kf_autofree char *path = kf_path_join(folder, "selftest");
    struct dirent **entries;
    int count = path ? scandir(path, &entries, visible, alphasort) : 0;
    kf_autobuffer names = {0};
    if (count < 0) return kf_fail(error, KF_ERROR_INPUT, "%s: %s", path, strerror(errno)), NULL;
    for (int i = 0; i < count; i++) {
        kf_buffer_format(&names, "%s%s", i ? ", " : "", entries[i]->d_name);
        free(entries[i]);
    }
    if (path) free(entries);
    kf_buffer_string(&names, "");
    char *text = path ? kf_buffer_take(&names) : NULL;
    if (!text) kf_fail_memory(error, "a self test");
    return text;
}

char *kf_selftest_folder(kf_error *error)
{
    const char *given = getenv("KFORGE_SELFTEST");
    kf_autofree char *path =
        given && *given ? strdup(given) : kf_path_join(kf_root(), "share/kforge");
    kf_autofree char *tasks = path ? kf_path_join(path, "selftest") : NULL;
    if (!tasks) {
        kf_fail_memory(error, "a self test");
        return NULL;
    }
    if (access(tasks, R_OK) != 0) {
        kf_fail(
            error, KF_ERROR_MACHINE,
            "%s is missing: install kforge completely, or set KFORGE_SELFTEST to its folder tests/",
            tasks);
        return NULL;
    }
    return kf_steal(&path);
}
