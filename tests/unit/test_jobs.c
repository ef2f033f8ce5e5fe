/* The job API from C, with simulated workers: threads that wait, cancelling, deadlines, closing,
 * the store, and rewards. tests/cli/serve.py tests the same API over HTTP. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "jobs.h"
#include "kforge/file.h"
#include "test_main.h"

#define LONG 60

static char *folder;
static char store[512], go[512];

static int set_up(void **state)
{
    (void)state;
    folder = kf_directory_temporary("kforge-test", NULL);
    snprintf(store, sizeof store, "%s/kforge.db", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    return folder ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    kf_directory_remove(folder, NULL);
    free(folder);
    return 0;
}

static kf_service *open_service(size_t queue, bool with_store)
{
    static const char *const workers[] = {FAKE_WORKER};
    kf_error error = {0};
    kf_service *service = kf_service_open(&(kf_service_options){.store = store,
                                                                .no_store = !with_store,
                                                                .workers = workers,
                                                                .worker_count = 1,
                                                                .queue_limit = queue,
                                                                .task_paths = true},
                                          &error);
    if (!service) fail_msg("%s", error.text);
    return service;
}

static kf_ticket *try(kf_service *service, const char *source, double deadline, kf_refusal *refusal,
                      kf_error *error)
{
    return kf_service_submit(service,
                             &(kf_submission){.task = KFORGE_SOURCE_DIR "/tasks/axpy",
                                              .source = source,
                                              .source_size = strlen(source),
                                              .mode = KF_MODE_TIME,
                                              .deadline_seconds = deadline,
                                              .kept = true},
                             refusal, error);
}

static kf_ticket *submit(kf_service *service, const char *source)
{
    kf_error error = {0};
    kf_ticket *ticket = try(service, source, 0, NULL, &error);
    if (!ticket) fail_msg("%s", error.text);
    return ticket;
}

/* Returns the source of a candidate that is judged once `go` exists. */
static const char *held(int number)
{
    static char text[700];
    snprintf(text, sizeof text, "// fake: until %s\n// %d\n", go, number);
    return text;
}

static void await_running(kf_service *service)
{
    kf_service_figures figures = {0};
    for (int i = 0; i < 100 * LONG && !figures.running; i++) {
        kf_service_read_figures(service, &figures);
        usleep(10000);
    }
    assert_int_equal(figures.running, 1);
}

static void *wait_for(void *ticket)
{
    return (void *)(uintptr_t)kf_ticket_wait(ticket, LONG);
}

static void threads_share_one_judging(void **state)
{
    (void)state;
    kf_auto(kf_service) service = open_service(0, false);
    kf_ticket *tickets[8];
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        tickets[i] = submit(service, held(0));
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for, tickets[i]), 0);
    }
    await_running(service);
    assert_int_equal(kf_ticket_wait(tickets[0], 0.01), KF_TICKET_RUNNING);
    assert_null(kf_ticket_judgement(tickets[0]));
    assert_true(kf_file_write(go, "x", 1, NULL));
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_int_equal((uintptr_t)result, KF_TICKET_DONE);
        const kf_judgement *judgement = kf_ticket_judgement(tickets[i]);
        assert_ptr_equal(judgement, kf_ticket_judgement(tickets[0]));
        assert_int_equal(judgement->status, KF_CORRECT);
        assert_int_equal(judgement->verdict->workloads[0].sample_count, 0);
    }
    kf_service_figures figures;
    kf_service_read_figures(service, &figures);
    assert_int_equal(figures.judged, 1);
    for (int i = 0; i < 8; i++) kf_ticket_release(tickets[i]);
}

static void count(void *context, kf_ticket *ticket)
{
    (void)ticket;
    __atomic_add_fetch((int *)context, 1, __ATOMIC_RELAXED);
}

static void cancelled_jobs_never_run(void **state)
{
    (void)state;
    int calls = 0, taken_back = 0;
    kf_error error = {0};
    kf_refusal refusal;
    kf_auto(kf_service) service = open_service(2, false);
    kf_auto(kf_ticket) first = submit(service, held(1));
    await_running(service);
    kf_auto(kf_ticket) second = submit(service, "// fake: speed 1.1\n");
    kf_auto(kf_ticket) third = try(service, "// fake: speed 1.2\n", 0.05, NULL, &error);
    assert_true(kf_ticket_watch(second, count, &calls));
    assert_true(kf_ticket_watch(second, count, &taken_back));
    assert_true(kf_ticket_unwatch(second, &taken_back));
    assert_null(try(service, "// fake: speed 1.3\n", 0, &refusal, &error));
    assert_int_equal(refusal, KF_REFUSED_FULL);
    assert_int_equal(kf_ticket_wait(third, LONG), KF_TICKET_EXPIRED);
    assert_true(kf_ticket_cancel(second));
    assert_false(kf_ticket_cancel(second));
    assert_int_equal(kf_ticket_state_now(second), KF_TICKET_CANCELLED);
    assert_int_equal(calls, 1);
    assert_int_equal(taken_back, 0);
    /* A watcher of a final ticket is called at once. */
    assert_true(kf_ticket_watch(second, count, &calls));
    assert_int_equal(calls, 2);
    kf_auto(kf_ticket) found = kf_service_find(service, kf_ticket_id(first));
    assert_ptr_equal(found, first);
    assert_null(kf_service_find(service, "0123"));
    assert_true(kf_file_write(go, "x", 1, NULL));
    assert_int_equal(kf_ticket_wait(first, LONG), KF_TICKET_DONE);
    kf_service_figures figures;
    kf_service_read_figures(service, &figures);
    assert_int_equal(figures.judged, 1);
    assert_int_equal(figures.queued, 0);
}

/* Cancelling a running job frees its worker and stores nothing. A job in flight with another client
 * goes on. */
static void cancelled_jobs_stop(void **state)
{
    (void)state;
    kf_service_figures figures;
    char candidate[KF_HASH_HEX], source[700];
    kf_auto(kf_service) service = open_service(0, true);
    snprintf(source, sizeof source, "%s", held(1));
    kf_store_candidate_hash(source, strlen(source), NULL, 0, candidate);
    kf_auto(kf_ticket) first = submit(service, source);
    kf_auto(kf_ticket) same = submit(service, source);
    await_running(service);
    assert_true(kf_ticket_cancel(same));
    usleep(100000);
    assert_int_equal(kf_ticket_state_now(first), KF_TICKET_RUNNING);
    assert_true(kf_ticket_cancel(first));
    kf_service_read_figures(service, &figures);
    assert_int_equal(figures.running, 0);
    /* The worker has no other way to this one than to stop the first. */
    kf_auto(kf_ticket) next = submit(service, "// fake: speed 1.25\n");
    assert_int_equal(kf_ticket_wait(next, LONG), KF_TICKET_DONE);
    cJSON *stored = kf_service_candidate(service, candidate, NULL);
    assert_null(stored);
    /* It was not answered, so it is judged when it comes again. */
    kf_auto(kf_ticket) again = submit(service, source);
    assert_false(kf_ticket_cached(again));
    assert_true(kf_file_write(go, "x", 1, NULL));
    assert_int_equal(kf_ticket_wait(again, LONG), KF_TICKET_DONE);
    kf_service_read_figures(service, &figures);
    assert_int_equal(figures.judged, 2);
    assert_int_equal(figures.cancelled, 2);
}

static void closing_cancels(void **state)
{
    (void)state;
    int calls = 0;
    kf_service *service = open_service(0, true);
    for (int i = 0; i < 5; i++) {
        kf_auto(kf_ticket) ticket = submit(service, held(10 + i));
        assert_true(kf_ticket_watch(ticket, count, &calls));
    }
    kf_service_close(service);
    assert_int_equal(calls, 5);
}

/* Equal code has one verdict, and a verdict survives the service. */
static void the_store_answers(void **state)
{
    (void)state;
    char hash[KF_HASH_HEX];
    for (int round = 0; round < 2; round++) {
        kf_error error = {0};
        kf_auto(kf_service) service = open_service(0, true);
        kf_auto(kf_ticket) ticket = submit(service, "// fake: speed 1.5\n// fake: code A\n");
        assert_int_equal(kf_ticket_wait(ticket, LONG), KF_TICKET_DONE);
        assert_int_equal(kf_ticket_cached(ticket), round);
        assert_true(fabs(kf_ticket_judgement(ticket)->speedup.value - 1.5) < 1e-9);
        memcpy(hash, kf_ticket_judgement(ticket)->candidate, sizeof hash);
        kf_auto(kf_ticket) twin = submit(service, "// fake: speed 1.9\n// fake: code A\n");
        assert_int_equal(kf_ticket_wait(twin, LONG), KF_TICKET_DONE);
        assert_true(fabs(kf_ticket_judgement(twin)->speedup.value - 1.5) < 1e-9);
        assert_true(kf_ticket_cached(twin));
        cJSON *candidate = kf_service_candidate(service, hash, &error);
        if (!candidate) fail_msg("%s", error.text);
        assert_string_equal(cJSON_GetObjectItem(candidate, "candidate")->valuestring, hash);
        cJSON_Delete(candidate);
    }
}

static void rewards_have_no_value_for_faults(void **state)
{
    (void)state;
    kf_judgement fault = {.status = KF_INTERFERENCE, .blame = KF_BLAME_MACHINE},
                 none = {.no_source = true, .blame = KF_BLAME_CANDIDATE},
                 wrong = {.status = KF_WRONG_RESULT, .blame = KF_BLAME_CANDIDATE},
                 broken_task = {.status = KF_JUDGE_ERROR, .blame = KF_BLAME_TASK},
                 correct = {.status = KF_CORRECT, .speedup = {2, 1.9, 2.1}},
                 untimed = {.status = KF_CORRECT, .speedup = {NAN, NAN, NAN}};
    kf_reward_choice choice = {.named = true, .function = KF_REWARD_MILESTONES};
    kf_error error = {0};
    assert_true(isnan(kf_judgement_reward(&fault, &choice)));
    assert_true(isnan(kf_judgement_reward(&broken_task, &choice)));
    assert_true(kf_judgement_reward(&none, &choice) == -1);
    assert_true(kf_judgement_reward(&wrong, &choice) == -1);
    assert_true(kf_judgement_reward(&correct, &choice) == 2);
    choice.function = KF_REWARD_SPEEDUP;
    assert_true(isnan(kf_judgement_reward(&untimed, &choice)));
    assert_true(kf_reward_misses_correct(&choice, KF_MODE_CHECK));
    assert_false(kf_reward_misses_correct(&choice, KF_MODE_TIME));
    assert_true(kf_reward_misses_correct(&(kf_reward_choice){0}, KF_MODE_VERIFY));
    cJSON *json = cJSON_Parse("{\"correct\":0.5,\"failed\":-2,\"no_source\":-3}");
    assert_true(kf_shape_parse(json, &choice.shape, &error));
    cJSON_Delete(json);
    assert_true(kf_judgement_reward(&untimed, &choice) == 0.5);
    assert_true(kf_judgement_reward(&correct, &choice) == 2);
    assert_true(kf_judgement_reward(&wrong, &choice) == -2);
    assert_true(kf_judgement_reward(&none, &choice) == -3);
    assert_true(isnan(kf_judgement_reward(&fault, &choice)));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_share_one_judging, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cancelled_jobs_never_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cancelled_jobs_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_cancels, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_store_answers, set_up, tear_down),
        cmocka_unit_test(rewards_have_no_value_for_faults)};
    return TEST_GROUP(tests, NULL, NULL);
}
