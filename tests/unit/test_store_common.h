/* Shared by the tests of the store: a store in a folder of its own, hand-made verdicts, one-line
 * recording. */
#ifndef TEST_STORE_COMMON_H
#define TEST_STORE_COMMON_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/store.h"

#define TASK "00000000000000000000000000000000000000000000000000000000000000aa"
#define TASK2 "00000000000000000000000000000000000000000000000000000000000000bb"
#define BUNDLE "{\"schema\":\"kforge-bundle/1\",\"json\":{\"name\":\"axpy\"},\"files\":{}}"

/* Assertions that show the error's text. */
#define assert_ok(error, call)                                 \
    do {                                                       \
        (error)->text[0] = '\0';                               \
        if (!(call)) fail_msg("%s: %s", #call, (error)->text); \
    } while (0)
#define assert_fails(error, expected, fragment, call)                                              \
    do {                                                                                           \
        memset(error, 0, sizeof *(error));                                                         \
        if (call) fail_msg("%s should fail", #call);                                               \
        if ((error)->code != (expected))                                                           \
            fail_msg("%s: %s (code %s)", #call, (error)->text, kf_error_code_name((error)->code)); \
        if (!strstr((error)->text, fragment))                                                      \
            fail_msg("%s: \"%s\" does not say \"%s\"", #call, (error)->text, fragment);            \
        if (strchr((error)->text, '\n')) fail_msg("%s: more than one line", #call);                \
    } while (0)

typedef struct fixture {
    char *folder, *path;
    kf_store *store;
    char run[KF_RUN_ID];
} fixture;

static inline fixture *fixture_new(bool with_run)
{
    kf_error error;
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_ok(&error, f->folder = kf_directory_temporary("kforge-test-store", &error));
    f->path = kf_path_join(f->folder, "kforge.db");
    assert_non_null(f->path);
    assert_ok(&error, f->store = kf_store_open(f->path, KF_STORE_CREATE, &error));
    if (with_run) {
        assert_ok(&error,
                  kf_store_put_task(f->store, TASK, "axpy", BUNDLE, strlen(BUNDLE), &error));
        assert_ok(&error,
                  kf_store_begin_run(
                      f->store, &(kf_store_run_new){.task = TASK, .device = "cpu test", .seed = 7},
                      f->run, &error));
    }
    return f;
}

static inline void fixture_free(fixture *f)
{
    kf_store_close(f->store);
    kf_directory_remove(f->folder, NULL);
    free(f->path);
    free(f->folder);
    free(f);
}

static inline int set_up(void **state)
{
    *state = fixture_new(true);
    return 0;
}

static inline int tear_down(void **state)
{
    fixture_free(*state);
    return 0;
}

/* Returns a verdict on the stack. Its strings are literals, so it needs no free. `speedup` 0: the
 * status alone. */
static inline kf_verdict make_verdict(kf_status status, double speedup)
{
    kf_verdict verdict = {.id = (char *)"job",
                          .task = (char *)"axpy",
                          .task_hash = (char *)TASK,
                          .device = (char *)"cpu:0"};
    verdict.source_hash = verdict.binary_hash = verdict.code_hash = (char *)"";
    verdict.status = status;
    verdict.blame = status == KF_CORRECT        ? KF_BLAME_NOBODY
                    : status == KF_INTERFERENCE ? KF_BLAME_MACHINE
                                                : KF_BLAME_CANDIDATE;
    verdict.message = (char *)"what happened";
    bool timed = status == KF_CORRECT && speedup > 0;
    verdict.speedup = timed ? (kf_interval){speedup, speedup * 0.99, speedup * 1.01}
                            : (kf_interval){NAN, NAN, NAN};
    verdict.build_seconds = 0.5;
    verdict.judge_seconds = 1.5;
    return verdict;
}

/* Records source number `number` with that verdict. The JSON holds the number, so that tests can
 * recognise rows. */
static inline bool record_number(kf_store *store, const char *run, int number, kf_status status,
                                 double speedup, kf_store_recorded *recorded, kf_error *error)
{
    char source[128], json[128];
    int source_size = snprintf(source, sizeof source, "__global__ void k%d() {}\n", number);
    int json_size =
        snprintf(json, sizeof json, "{\"schema\":\"kforge-verdict/1\",\"id\":\"%d\"}", number);
    kf_verdict verdict = make_verdict(status, speedup);
    return kf_store_record(store,
                           &(kf_store_attempt_new){.run = run,
                                                   .outcome = KF_ATTEMPT_JUDGED,
                                                   .proposer = "tuner",
                                                   .strategy = "tune",
                                                   .step = "improve",
                                                   .content.source = source,
                                                   .content.source_size = (size_t)source_size,
                                                   .verdict = &verdict,
                                                   .verdict_json = json,
                                                   .verdict_size = (size_t)json_size},
                           recorded, error);
}

#endif
