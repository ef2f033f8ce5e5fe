/* Shared by the tests of the search: a task with candidates that name their own speed ("#pragma
 * fake: …", tests/cli/fake_worker.c), runs, their histories, recorded replies. */
#ifndef KFORGE_TEST_SEARCH_COMMON_H
#define KFORGE_TEST_SEARCH_COMMON_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "search.h"

#define TUNED(SPEED, BEST)                                             \
    "#pragma fake: speed " SPEED "\n#pragma fake: optimum BLOCK " BEST \
    "\n// kforge: tune BLOCK 32 64 128 256 512\n#ifndef BLOCK\n"       \
    "#define BLOCK 32\n#endif\n"

typedef struct fixture {
    char *folder, *path, *task_folder;
    kf_task *task;
    kf_store *store;
    volatile int interrupts;
    /* after this many attempts; 0: never */
    int64_t interrupt_at;
    char news[4096];
    kf_search_result result;
    kf_error error;
    bool ran;
} fixture;

static inline void write_text(const char *folder, const char *name, const char *text)
{
    kf_autofree char *path = kf_path_join(folder, name);
    assert_true(kf_file_write(path, text, strlen(text), NULL));
}

/* Makes a task with these seeds, NULL at the end. */
static inline void make_task(fixture *f, const char *const *seeds)
{
    kf_autobuffer json = {0};
    kf_buffer_string(
        &json,
        "{\"schema\": \"kforge-task/1\", \"name\": \"toy\", \"description\": \"A toy.\", "
        "\"params\": {\"n\": 64},"
        "\"arguments\": [{\"name\": \"x\", \"kind\": \"input\", \"dtype\": \"f32\", \"shape\": "
        "[\"n\"]},"
        "{\"name\": \"y\", \"kind\": \"output\", \"dtype\": \"f32\", \"shape\": [\"n\"]}],"
        "\"oracle\": {\"file\": \"oracle.cu\"}, \"baseline\": {\"file\": \"baseline.cu\"},"
        "\"tolerance\": {\"error_ratio\": 8}, \"workloads\": [{\"name\": \"main\"}], \"seeds\": [");
    for (int i = 0; seeds[i]; i++) {
        char name[32];
        snprintf(name, sizeof name, "seed%d.cu", i);
        kf_buffer_format(&json, "%s\"%s\"", i ? ", " : "", name);
        write_text(f->task_folder, name, seeds[i]);
    }
    kf_buffer_string(&json, "]}");
    write_text(f->task_folder, "task.json", json.data);
    write_text(f->task_folder, "oracle.cu", "void toy_oracle() {}\n");
    write_text(f->task_folder, "baseline.cu", "#pragma fake: speed 1\nvoid toy() {}\n");
    kf_task_free(f->task);
    f->task = kf_task_load(f->task_folder, &f->error);
    if (!f->task) fail_msg("%s", f->error.text);
}

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->folder = kf_directory_temporary("kforge-test-search", NULL);
    f->path = kf_path_join(f->folder, "s.db");
    f->task_folder = kf_path_join(f->folder, "toy");
    kf_directory_make(f->task_folder, NULL);
    f->store = kf_store_open(f->path, KF_STORE_CREATE, NULL);
    *state = f;
    return f->store ? 0 : -1;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    unsetenv("FAKE_SLEEP");
    kf_store_close(f->store);
    kf_task_free(f->task);
    kf_directory_remove(f->folder, NULL);
    free(f->folder);
    free(f->path);
    free(f->task_folder);
    free(f);
    return 0;
}

static inline void notify(void *context, kf_search_event event, const kf_search_progress *progress,
                          const char *text)
{
    fixture *f = context;
    if (event == KF_SEARCH_NEWS) snprintf(f->news, sizeof f->news, "%s", text);
    if (f->interrupt_at && progress->attempts >= f->interrupt_at && event == KF_SEARCH_ATTEMPT)
        f->interrupts = 1;
}

/* Runs a session of a new run, or of the one in f->result. */
static inline void run_session(fixture *f, const char *workers, const kf_search_settings *settings,
                               const char *run)
{
    kf_error error = {0};
    kf_auto(kf_workers) pool =
        kf_workers_open(&workers, 1, &(kf_workers_options){.grace_seconds = 1}, &error);
    assert_non_null(pool);
    kf_search_observer observer = {.notify = notify, .context = f};
    f->ran = kf_search_run(f->store, f->task, run, settings, pool, &f->interrupts, &observer,
                           &f->result, &f->error);
}

static inline void search(fixture *f, const kf_search_settings *settings)
{
    run_session(f, FAKE_WORKER, settings, NULL);
    if (!f->ran) fail_msg("%s", f->error.text);
    if (!kf_store_check(f->store, &f->error)) fail_msg("%s", f->error.text);
    /* The reported best is that of `list` and `show`. */
    kf_autoresult kf_store_run run = {0};
    if (!kf_store_find_run(f->store, f->result.progress.run, &run, &f->error))
        fail_msg("%s", f->error.text);
    if (run.best != f->result.progress.best)
        fail_msg("c%lld is reported as best, and c%lld is it in the store",
                 (long long)f->result.progress.best, (long long)run.best);
}

/* Returns "step outcome status speedup" of every attempt, a line each, with hashes if `hashes` is
 * set. Free the text with free(). */
static inline char *history(fixture *f, const char *run, bool hashes)
{
    kf_autobuffer text = {0};
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(f->store, run, 1, &f->error);
    kf_autoresult kf_store_attempt attempt = {0};
    int64_t number = 0;
    while (kf_store_next_attempt(cursor, &attempt, &f->error) == 1) {
        assert_int_equal(attempt.number, ++number);
        kf_buffer_format(&text, "%s %s", attempt.step, kf_attempt_outcome_name(attempt.outcome));
        if (attempt.verdict) kf_buffer_format(&text, " %s", kf_status_name(attempt.status));
        if (attempt.verdict && attempt.speedup.value > 0)
            kf_buffer_format(&text, " %.2f", attempt.speedup.value);
        if (hashes) kf_buffer_format(&text, " %.8s", attempt.hash);
        kf_buffer_string(&text, "\n");
    }
    return kf_buffer_take(&text);
}

static inline int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

/* Opens an empty store, so that no candidate is known. */
static inline void fresh_store(fixture *f)
{
    kf_store_close(f->store);
    unlink(f->path);
    kf_autofree char *wal = NULL, *shm = NULL;
    assert_true(asprintf(&wal, "%s-wal", f->path) > 0 && asprintf(&shm, "%s-shm", f->path) > 0);
    unlink(wal);
    unlink(shm);
    assert_non_null(f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error));
}

static inline double best_of(const fixture *f)
{
    return f->result.progress.best_speedup.value;
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 0.005)

#define REPLY(TEXT) "{\"reply\": \"```cuda\\n#pragma fake: " TEXT "\\nvoid toy() {}\\n```\"}\n"
#define CASSETTE_HEAD \
    "{\"schema\": \"kforge-cassette/1\", \"source\": \"this test\", \"model\": \"test\"}\n"

static inline char *cassette(fixture *f, const char *replies)
{
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%s%s", CASSETTE_HEAD, replies);
    write_text(f->folder, "replies.jsonl", text.data);
    char *spec;
    assert_true(asprintf(&spec, "replay:%s/replies.jsonl", f->folder) > 0);
    return spec;
}

#endif
