#include "kforge/selftest.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/file.h"
#include "paths.h"

#define LINE 512
#define TIMED_SECONDS 0.5
#define AGAIN_SECONDS 3  /* what seemed too fast, measured again */
#define BUILD_SECONDS 20 /* some of them are about builds that never end */

/* ---- reading a case ------------------------------------------------------------------------------------------------------------------------- */

typedef struct heading {
    char about[LINE], rule[LINE], expected[LINE], expected_cuda[LINE], devices[LINE], mode[LINE], most[LINE];
} heading;

/* The comment lines that a file begins with. */
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
                {"at-most: ", offsetof(heading, most)}};
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

/* Does "STATUS RULE | STATUS RULE" allow this? */
static bool allows(const char *expected, const char *status, const char *rule)
{
    char copy[LINE], *save = NULL;
    snprintf(copy, sizeof copy, "%s", expected);
    for (char *part = strtok_r(copy, "|", &save); part; part = strtok_r(NULL, "|", &save)) {
        char want_status[64] = "", want_rule[64] = "";
        if (sscanf(part, "%63s %63s", want_status, want_rule) >= 1 && strcmp(status, want_status) == 0 &&
            strcmp(rule, want_rule) == 0)
            return true;
    }
    return false;
}

/* A cheat that is caught by its time alone may be judged correct, but not faster than it is. */
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

static const char *first_rule(const kf_verdict *verdict)
{
    for (size_t i = 0; i < verdict->workload_count; i++)
        if (verdict->workloads[i].finding_count) return verdict->workloads[i].findings[0].rule;
    return verdict->finding_count ? verdict->findings[0].rule : "";
}

/* ---- running ----------------------------------------------------------------------------------------------------------------------------------- */

typedef struct selftest {
    kf_judge *judge;
    const char *folder, *filter;
    kf_selftest_report *report;
    void *context;
    const volatile int *stop;
    kf_selftest_summary *summary;
} selftest;

static bool run_case(selftest *t, bool hostile, const char *task_name, const char *path, const char *name, kf_error *error)
{
    heading h;
    size_t size;
    kf_autofree char *source = kf_file_read(path, KF_SOURCE_BYTES, &size, error), *task_path = NULL;
    if (!source) return false;
    read_heading(source, &h);
    if (!h.about[0] || !h.expected[0] || (hostile && !h.rule[0]))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: needs a line of what it does, \"// rule: CHEAT\" and \"// expect: STATUS RULE\" at its top", path);
    bool cuda = strncmp(kf_judge_device(t->judge), "cuda", 4) == 0;
    if (h.devices[0] && strcmp(h.devices, cuda ? "cuda" : "cpu") != 0) {
        t->summary->skipped++;
        return true;
    }
    if (asprintf(&task_path, "%s/selftest/%s", t->folder, task_name) < 0) {
        task_path = NULL;
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    }
    kf_task *task = kf_task_load(task_path, error);
    kf_auto(kf_job) job = task ? kf_job_new("selftest", task, source, size, NULL, 0, error) : NULL;
    if (!job) return kf_fail_prefix(error, "%s", path);
    job->options.check_only = strcmp(h.mode, "timed") != 0;
    job->options.seconds = TIMED_SECONDS;
    job->options.build_seconds = BUILD_SECONDS;
    double started = kf_now();
    kf_auto(kf_verdict) verdict = kf_judge_run(t->judge, job, t->stop, error);
    if (verdict && too_fast(&h, verdict)) { /* once may be a noisy machine's luck: as the search does, it is measured again */
        kf_verdict_free(verdict);
        job->options.verify = true;
        job->options.seconds = AGAIN_SECONDS;
        verdict = kf_judge_run(t->judge, job, t->stop, error);
    }
    if (!verdict) return false;
    const char *expected = cuda && h.expected_cuda[0] ? h.expected_cuda : h.expected;
    kf_selftest_case row = {.hostile = hostile,
                            .task = task_name,
                            .name = name,
                            .about = h.about,
                            .rule = h.rule,
                            .expected = expected,
                            .status = kf_status_name(verdict->status),
                            .finding = first_rule(verdict),
                            .verdict = verdict,
                            .seconds = kf_now() - started};
    row.passed = allows(expected, row.status, row.finding) && !too_fast(&h, verdict);
    *(hostile ? &t->summary->hostile : &t->summary->honest) += 1;
    *(hostile ? &t->summary->caught : &t->summary->accepted) += row.passed;
    if (row.seconds > t->summary->longest) t->summary->longest = row.seconds;
    if (t->report) t->report(t->context, &row);
    return true;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Calls `visit` for the entries of a folder in order of their names. */
static bool each(const char *folder,
                 bool (*visit)(selftest *t, bool hostile, const char *task, const char *path, const char *name, kf_error *error),
                 selftest *t, bool hostile, const char *task, kf_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, visible, alphasort);
    if (count < 0) return kf_fail(error, KF_ERROR_INPUT, "%s: %s", folder, strerror(errno));
    bool done = true;
    for (int i = 0; i < count; i++) {
        kf_autofree char *path = kf_path_join(folder, entries[i]->d_name);
        if (done && !path) done = kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        if (done) done = visit(t, hostile, task ? task : entries[i]->d_name, path, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    return done;
}

static bool visit_case(selftest *t, bool hostile, const char *task, const char *path, const char *name, kf_error *error)
{
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 3, ".cu") != 0) return true;
    if (t->filter && !strstr(path + strlen(t->folder), t->filter)) {
        t->summary->skipped++;
        return true;
    }
    return run_case(t, hostile, task, path, name, error);
}

static bool visit_task(selftest *t, bool hostile, const char *task, const char *path, const char *name, kf_error *error)
{
    (void)name;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return true;
    return each(path, visit_case, t, hostile, task, error);
}

bool kf_selftest_run(kf_judge *judge, const char *folder, const char *filter, kf_selftest_report *report, void *context,
                     const volatile int *stop, kf_selftest_summary *summary, kf_error *error)
{
    static const char *const kinds[] = {"honest", "hostile"};
    double started = kf_now();
    *summary = (kf_selftest_summary){0};
    selftest t = {judge, folder, filter, report, context, stop, summary};
    for (int kind = 0; kind < 2; kind++) {
        kf_autofree char *path = kf_path_join(folder, kinds[kind]);
        if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        if (!each(path, visit_task, &t, kind == 1, NULL, error)) return false;
    }
    summary->seconds = kf_now() - started;
    return true;
}

char *kf_selftest_folder(kf_error *error)
{
    const char *given = getenv("KFORGE_SELFTEST");
    kf_autofree char *path = given && *given ? strdup(given) : kf_path_join(kf_root(), "share/kforge");
    kf_autofree char *tasks = path ? kf_path_join(path, "selftest") : NULL;
    if (!tasks) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (access(tasks, R_OK) != 0) {
        kf_fail(error, KF_ERROR_MACHINE, "%s is missing: install kforge completely, or set KFORGE_SELFTEST to its folder tests/",
                tasks);
        return NULL;
    }
    return kf_steal(&path);
}
