/* The judge's side of an episode, without a jail: hostile peers at the socket, hostile files in the
 * folder, and what the stream says of its cost. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "episode_internal.h"
#include "kforge/file.h"
#include "llm.h"
#include "test_main.h"

/* ---- the socket ------------------------------------------------------------------------------ */

typedef struct bench {
    kf_episode_settings settings;
    kf_episode_server server;
    char *folder, *path;
} bench;

static void open_bench(bench *b, int evals)
{
    kf_error error = {0};
    *b = (bench){.settings = {.evals = evals, .device_seconds = 10, .seconds = 60}};
    b->folder = kf_directory_temporary("kforge-test-episode", &error);
    assert_non_null(b->folder);
    b->path = kf_path_join(b->folder, "s");
    b->server.settings = &b->settings;
    b->server.deadline = kf_now() + 600;
    if (!kf_episode_server_open(&b->server, b->path, &error)) fail_msg("%s", error.text);
}

static void close_bench(bench *b)
{
    kf_episode_server_close(&b->server);
    assert_true(kf_directory_remove(b->folder, NULL));
    free(b->folder);
    free(b->path);
}

/* Returns a connection, or -1 if the server's queue is full. */
static int dial(const bench *b)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", b->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

/* Sends all of it while the server reads. */
static void say(bench *b, int fd, const char *text, size_t size)
{
    for (int round = 0; size && round < 10000; round++) {
        ssize_t done = send(fd, text, size, MSG_NOSIGNAL);
        if (done > 0) text += done, size -= (size_t)done;
        kf_episode_server_step(&b->server);
    }
    for (int i = 0; i < 4; i++) kf_episode_server_step(&b->server);
}

/* Returns what the server has sent; "" for nothing; NULL once it closed the connection without a
 * word. */
static char *hear(bench *b, int fd)
{
    kf_autobuffer text = {0};
    char data[65536];
    for (int i = 0; i < 4; i++) kf_episode_server_step(&b->server);
    ssize_t size = recv(fd, data, sizeof data, 0);
    if (size == 0) return NULL;
    if (size > 0) kf_buffer_append(&text, data, (size_t)size);
    return kf_buffer_take(&text);
}

static void expect_answer(bench *b, int fd, const char *request, const char *expected)
{
    say(b, fd, request, strlen(request));
    kf_autofree char *answer = hear(b, fd);
    if (!answer || !strstr(answer, expected))
        fail_msg("\"%.60s\": \"%.300s\" does not say \"%s\"", request, answer ? answer : "(closed)",
                 expected);
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"garbage\n", "\"ok\":false"},
        {"\n", "\"ok\":false"},
        {"[]\n", "\"ok\":false"},
        {"{}\n", "do"},
        {"{\"do\":1}\n", "do"},
        {"{\"do\":\"eval\",\"source\":1}\n", "source"},
        {"{\"do\":\"eval\",\"source\":\"\",\"more\":1}\n", "more"},
        {"{\"do\":\"eval\"}\n", "source: missing"},
        {"{\"do\":\"remove\",\"source\":\"x\"}\n", "expected eval, check"},
    };
    bench b;
    open_bench(&b, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fd = dial(&b);
        assert_true(fd >= 0);
        expect_answer(&b, fd, rows[i][0], rows[i][1]);
        close(fd);
    }
    kf_autobuffer line = {0};
    kf_buffer_string(&line, "{\"do\":\"eval\",\"source\":\"");
    for (unsigned i = 0; i <= KF_EPISODE_SOURCE_BYTES; i++) kf_buffer_append(&line, "x", 1);
    kf_buffer_string(&line, "\"}\n");
    int fd = dial(&b);
    expect_answer(&b, fd, line.data, "more than 262144 bytes");
    close(fd);
    kf_buffer_clear(&line);
    for (unsigned i = 0; i < KF_EPISODE_LINE_BYTES + 100; i++) kf_buffer_append(&line, "x", 1);
    fd = dial(&b);
    say(&b, fd, line.data, line.size);
    close(fd);
    assert_int_equal(b.server.account.evals, 0);
    assert_int_equal(b.server.waiting_count, 0);
    close_bench(&b);
}

/* Returns the processor time for a line of so many bytes that comes in small pieces. */
static double reading_seconds(size_t size)
{
    bench b;
    open_bench(&b, 5);
    int fd = dial(&b);
    struct timespec before, after;
    char piece[64];
    memset(piece, ' ', sizeof piece);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (size_t sent = 0; sent < size; sent += sizeof piece) {
        assert_int_equal(send(fd, piece, sizeof piece, MSG_NOSIGNAL), sizeof piece);
        kf_episode_server_step(&b.server);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    expect_answer(&b, fd, "{\"do\":\"history\"}\n", "\"ok\":true");
    close(fd);
    close_bench(&b);
    return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
}

/* An agent can't keep the judge busy with a long line in small pieces. */
static void long_lines_take_time_in_proportion(void **state)
{
    (void)state;
    double small = reading_seconds(150 << 10), large = reading_seconds(1500 << 10);
    if (large > 25 * small + 0.05) fail_msg("%.3f s and %.3f s", small, large);
}

static void questions_are_answered(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, 3);
    int one = dial(&b), two = dial(&b);
    /* in pieces, and two requests at once */
    say(&b, one, "{\"do\":\"ev", 9);
    const char rest[] = "al\",\"source\":\"a\"}\n{\"do\":\"history\"}\n";
    say(&b, one, rest, strlen(rest));
    const char check[] = "{\"do\":\"check\",\"source\":\"b\"}\n";
    say(&b, two, check, strlen(check));
    assert_int_equal(b.server.waiting_count, 2);
    assert_int_equal(b.server.waiting[0].wish, KF_EPISODE_EVAL);
    assert_string_equal(b.server.waiting[0].source, "a");
    assert_int_equal(b.server.waiting[1].wish, KF_EPISODE_CHECK);
    kf_autofree char *early = hear(&b, one);
    assert_string_equal(early, "");
    kf_episode_server_answer(&b.server, 99, "{}", 1, 1, NULL);
    kf_episode_server_answer(&b.server, b.server.waiting[1].id, NULL, 0, 0, "lost \"x\"");
    kf_autofree char *lost = hear(&b, two);
    assert_non_null(strstr(lost, "\"error\":\"lost \\\"x\\\"\""));
    kf_episode_server_answer(&b.server, b.server.waiting[0].id,
                             "{\"do\":\"eval\",\"status\":\"correct\",\"speedup\":[2,1,3]}", 4, 4,
                             NULL);
    kf_autofree char *answers = hear(&b, one);
    assert_non_null(strstr(answers, "\"ok\":true,\"result\":{\"do\":\"eval\""));
    assert_non_null(strstr(answers, "\"evals_left\":1"));
    kf_autofree char *history = strstr(answers, "[{\"n\"") ? strdup(answers) : hear(&b, one);
    assert_non_null(strstr(history, "\"speedup\":[2,1,3]"));
    /* The agent has left before the question was taken. */
    say(&b, two, check, strlen(check));
    assert_int_equal(b.server.waiting_count, 3);
    close(two);
    kf_episode_server_step(&b.server);
    assert_int_equal(b.server.waiting_count, 2);
    assert_int_equal(b.server.withdrawn_count, 0);
    /* One more than the limit. */
    assert_string_equal(b.server.account.overspent, "");
    expect_answer(&b, one, "{\"do\":\"submit\",\"source\":\"c\"}\n", "all 3 judgements are used");
    assert_true(*b.server.account.overspent);
    close(one);
    close_bench(&b);
}

/* A call that is cancelled closes its connection (agent/mcp/tool_episode.c). The owner of the
 * episode learns of it, and the place is free. A client that has said everything still waits. */
static void clients_that_leave_withdraw_their_questions(void **state)
{
    (void)state;
    bench b;
    kf_episode_question question;
    const char eval[] = "{\"do\":\"eval\",\"source\":\"a\"}\n";
    open_bench(&b, 100);
    int patient = dial(&b);
    say(&b, patient, eval, strlen(eval));
    assert_true(kf_episode_server_next(&b.server, &question));
    free(question.source);
    assert_int_equal(shutdown(patient, SHUT_WR), 0);
    for (int64_t id = 2; id < 40; id++) {
        int fd = dial(&b);
        say(&b, fd, eval, strlen(eval));
        assert_true(kf_episode_server_next(&b.server, &question));
        assert_int_equal(question.id, id);
        assert_non_null(question.source);
        free(question.source);
        assert_false(kf_episode_server_next(&b.server, &question));
        struct pollfd fds[KF_EPISODE_CONNECTIONS + 1];
        size_t count = kf_episode_server_watch(&b.server, fds, KF_EPISODE_CONNECTIONS + 1);
        assert_int_equal(poll(fds, count, 0), 0);
        close(fd);
        count = kf_episode_server_watch(&b.server, fds, KF_EPISODE_CONNECTIONS + 1);
        assert_int_equal(poll(fds, count, 0), 1);
        kf_episode_server_step(&b.server);
        assert_true(kf_episode_server_next(&b.server, &question));
        assert_int_equal(question.id, id);
        assert_null(question.source);
        assert_false(kf_episode_server_next(&b.server, &question));
        /* The time of its job counts. */
        kf_episode_server_answer(&b.server, id, NULL, 0.125, 0.125, "cancelled");
    }
    assert_true(b.server.account.device_seconds == 38 * 0.125);
    kf_episode_server_answer(&b.server, 1, "{}", 0, 0, NULL);
    kf_autofree char *answer = hear(&b, patient);
    assert_non_null(strstr(answer, "\"ok\":true"));
    close(patient);
    close_bench(&b);
}

/* Moves the begin of the episode and of its questions back by so many seconds. */
static void pass(bench *b, double seconds)
{
    assert_true(b->server.open_since > 0);
    b->server.open_since -= seconds;
    b->server.deadline -= seconds;
}

/* True if so many seconds of the episode are spent, give or take those of this test. */
static bool has_spent(const bench *b, double seconds)
{
    double spent = 600 - kf_episode_server_left(&b->server, kf_now());
    return spent > seconds - 1e-6 && spent < seconds + 100;
}

/* The time in which a question waits for a worker is not the agent's. That of its judging is, also
 * if the client has left. Questions at the same time cost no more than the time that passed. */
static void waiting_for_a_worker_is_free(void **state)
{
    (void)state;
    bench b;
    kf_episode_question question;
    const char eval[] = "{\"do\":\"eval\",\"source\":\"a\"}\n";
    open_bench(&b, 100);
    int one = dial(&b), two = dial(&b);
    say(&b, one, eval, strlen(eval));
    pass(&b, 10000);
    assert_true(has_spent(&b, 0));
    kf_episode_server_answer(&b.server, b.server.waiting[0].id, "{}", 1, 200, NULL);
    assert_true(has_spent(&b, 200));
    kf_autofree char *answer = hear(&b, one);
    assert_non_null(strstr(answer, "\"seconds_left\":39"));
    assert_true(fabs(b.server.account.waited_seconds - 9800) < 100);
    /* The time between two questions is the agent's. */
    assert_true(b.server.open_since == 0);
    b.server.deadline -= 100;
    assert_true(has_spent(&b, 300));
    free(b.server.waiting[0].source);
    b.server.waiting_count = 0;
    /* A client that leaves while its job is judged. */
    say(&b, two, eval, strlen(eval));
    assert_true(kf_episode_server_next(&b.server, &question));
    free(question.source);
    pass(&b, 10000);
    close(two);
    kf_episode_server_step(&b.server);
    assert_true(has_spent(&b, 300));
    assert_true(kf_episode_server_next(&b.server, &question));
    assert_null(question.source);
    kf_episode_server_answer(&b.server, question.id, NULL, 0, 100, "cancelled");
    assert_true(b.server.open_since == 0);
    assert_true(has_spent(&b, 400));
    /* A client that leaves before its question was taken costs nothing. */
    two = dial(&b);
    say(&b, two, eval, strlen(eval));
    pass(&b, 10000);
    close(two);
    kf_episode_server_step(&b.server);
    assert_true(b.server.open_since == 0);
    assert_true(has_spent(&b, 400));
    /* Two jobs at a time, on two devices. */
    two = dial(&b);
    say(&b, one, eval, strlen(eval));
    say(&b, two, eval, strlen(eval));
    assert_int_equal(b.server.waiting_count, 2);
    pass(&b, 100);
    for (int i = 0; i < 2; i++)
        kf_episode_server_answer(&b.server, b.server.waiting[i].id, "{}", 0, 90, NULL);
    assert_true(has_spent(&b, 500));
    assert_true(kf_episode_server_left(&b.server, kf_now()) > 0);
    close(one);
    close(two);
    close_bench(&b);
}

static void device_time_is_limited(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, 100);
    int fd = dial(&b);
    const char eval[] = "{\"do\":\"eval\",\"source\":\"a\"}\n";
    say(&b, fd, eval, strlen(eval));
    kf_episode_server_answer(&b.server, b.server.waiting[0].id, "{}", 10.5, 10.5, NULL);
    kf_autofree char *answer = hear(&b, fd);
    assert_non_null(strstr(answer, "\"ok\":true"));
    expect_answer(&b, fd, eval, "10 s of the device are used");
    close(fd);
    close_bench(&b);
}

/* A connection with a question keeps its place among a thousand others. */
static void floods_do_not_displace_questions(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, 5);
    int asking = dial(&b);
    const char eval[] = "{\"do\":\"eval\",\"source\":\"a\"}\n";
    say(&b, asking, eval, strlen(eval));
    int held[1000];
    size_t held_count = 0;
    for (int i = 0; i < 1000; i++) {
        int fd = dial(&b);
        if (fd >= 0) say(&b, fd, i % 2 ? "x" : "{\"do\":", i % 2 ? 1 : 6);
        kf_episode_server_step(&b.server);
        if (fd >= 0 && i % 3)
            close(fd);
        else if (fd >= 0)
            held[held_count++] = fd;
    }
    kf_episode_server_answer(&b.server, b.server.waiting[0].id, "{}", 0, 0, NULL);
    kf_autofree char *answer = hear(&b, asking);
    assert_non_null(answer);
    assert_non_null(strstr(answer, "\"ok\":true"));
    close(asking);
    assert_string_equal(b.server.account.overspent, "");
    for (int i = 0; i < 40000 && !*b.server.account.overspent; i++) {
        int fd = dial(&b);
        kf_episode_server_step(&b.server);
        if (fd >= 0) close(fd);
    }
    assert_non_null(strstr(b.server.account.overspent, "requests"));
    close_bench(&b);
    while (held_count) close(held[--held_count]);
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void expect_candidate(const kf_episode_folder *folder, const char *expected)
{
    size_t size;
    kf_error error = {0};
    kf_autofree char *text = kf_episode_folder_candidate(folder, &size, &error);
    assert_null(text);
    if (!strstr(error.text, expected)) fail_msg("\"%s\" does not say \"%s\"", error.text, expected);
}

static void candidates_are_files_of_the_folder(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_episode_folder folder = {0};
    const kf_episode_settings settings = {.seconds = 60, .evals = 3};
    const kf_episode_files files = {
        .task = "task", .rules = "rules", .candidate = "start", .baseline = "baseline"};
    assert_true(kf_episode_folder_make(&folder, &settings, &files, &error));
    kf_autofree char *path = kf_path_join(folder.work, "candidate.cu");
    kf_autofree char *other = kf_path_join(folder.work, "TASK.md");
    size_t size;
    kf_autofree char *text = kf_episode_folder_candidate(&folder, &size, &error);
    assert_non_null(text);
    assert_string_equal(text, "start");
    kf_autofree char *task = kf_file_read(other, 1000, &size, &error);
    assert_non_null(strstr(task, "3 judgements"));
    assert_int_equal(unlink(path), 0);
    expect_candidate(&folder, "no readable candidate.cu");
    assert_int_equal(symlink("TASK.md", path), 0);
    expect_candidate(&folder, "no readable candidate.cu");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(link(other, path), 0);
    expect_candidate(&folder, "no regular file of its own");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_candidate(&folder, "no regular file of its own");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_candidate(&folder, "no regular file of its own");
    assert_int_equal(rmdir(path), 0);
    assert_true(kf_file_write(path, "a\0b", 3, &error));
    expect_candidate(&folder, "NUL");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)KF_EPISODE_SOURCE_BYTES + 1), 0);
    close(fd);
    expect_candidate(&folder, "more than 262144 bytes");
    kf_autofree char *outer = strdup(folder.outer);
    kf_episode_folder_remove(&folder);
    assert_int_equal(access(outer, F_OK), -1);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static char *closed(const char *text, kf_episode_usage *usage, size_t *size)
{
    kf_episode_stream stream = {.usage = kf_episode_no_usage};
    const kf_episode_account account = {.evals = 2, .device_seconds = 1.5};
    /* in pieces of seven bytes */
    for (size_t at = 0, all = strlen(text); at < all; at += 7)
        kf_episode_stream_take(&stream, text + at, all - at < 7 ? all - at : 7);
    char *result =
        kf_episode_stream_close(&stream, "exit status 0", &account, NULL, "SOURCE\n", size);
    *usage = kf_episode_stream_usage(&stream);
    kf_episode_stream_free(&stream);
    assert_non_null(result);
    return result;
}

static void costs_are_read(void **state)
{
    (void)state;
    kf_episode_usage usage;
    size_t size;
    kf_autofree char *claude = closed(
        "{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"m-1\"}\n"
        "{\"type\":\"assistant\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":5,"
        "\"output_tokens\":6}}}\n"
        "{\"type\":\"result\",\"total_cost_usd\":0.5,\"usage\":{\"input_tokens\":10,"
        "\"cache_read_input_tokens\":20,\"cache_creation_input_tokens\":30,\"output_tokens\":7}}",
        &usage, &size);
    assert_int_equal(usage.prompt_tokens, 60);
    assert_int_equal(usage.completion_tokens, 7);
    assert_true(fabs(usage.cost_usd - 0.5) < 1e-9);
    assert_string_equal(usage.model, "m-1");
    kf_autofree char *codex =
        closed("{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":100,"
               "\"cached_input_tokens\":80,\"output_tokens\":9}}\n"
               "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n",
               &usage, &size);
    assert_int_equal(usage.prompt_tokens, 101);
    assert_int_equal(usage.cached_tokens, 80);
    assert_int_equal(usage.completion_tokens, 10);
    assert_true(isnan(usage.cost_usd));
    /* A session that ended before its result. A message comes once for each of its blocks. */
    kf_autofree char *cut =
        closed("{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"model\":\"m-2\",\"usage\":{"
               "\"input_tokens\":5,\"output_tokens\":6}}}\n"
               "{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"usage\":{"
               "\"input_tokens\":5,\"output_tokens\":8}}}\n"
               "{\"type\":\"assistant\",\"message\":{\"id\":\"b\",\"usage\":{"
               "\"input_tokens\":7,\"cache_read_input_tokens\":100,\"output_tokens\":1}}}\n",
               &usage, &size);
    assert_int_equal(usage.prompt_tokens, 112);
    assert_int_equal(usage.cached_tokens, 100);
    assert_int_equal(usage.completion_tokens, 9);
    assert_string_equal(usage.model, "m-2");
    /* Nothing else is believed. */
    kf_autofree char *nothing = closed("{\"usage\":3,\"total_cost_usd\":-1}\n"
                                       "{\"total_cost_usd\":\"1\"}\n{\"usage\":{\"input_tokens\":"
                                       "-5,\"output_tokens\":1e300}}\nplain text\n",
                                       &usage, &size);
    assert_int_equal(usage.prompt_tokens, -1);
    assert_true(isnan(usage.cost_usd));
}

static void only_the_last_line_is_kforges(void **state)
{
    (void)state;
    kf_episode_usage usage;
    kf_error error = {0};
    size_t size;
    bool is_episode;
    kf_autofree char *text = closed("{\"type\":\"kforge.episode\",\"candidate\":\"FAKE\"}\n"
                                    "{\"type\":\"kforge.episode\",\"candidate\":\"FAKE\"}",
                                    &usage, &size);
    kf_autofree char *candidate = kf_episode_candidate(text, size, &is_episode, &error);
    assert_true(is_episode);
    assert_string_equal(candidate, "SOURCE\n");
    assert_null(kf_episode_candidate("plain", 5, &is_episode, &error));
    assert_false(is_episode);
    const char unchanged[] = "x\n{\"type\":\"kforge.episode\",\"ended\":\"exit status 0\"}";
    assert_null(kf_episode_candidate(unchanged, strlen(unchanged), &is_episode, &error));
    assert_true(is_episode);
    assert_non_null(strstr(error.text, "left candidate.cu as it was"));
}

static void streams_are_bounded(void **state)
{
    (void)state;
    kf_episode_stream stream = {.usage = kf_episode_no_usage};
    const kf_episode_account account = {0};
    kf_autofree char *block = malloc(1 << 20);
    memset(block, 0, 1 << 20);
    for (int i = 0; i < 10; i++) kf_episode_stream_take(&stream, block, 1 << 20);
    const char late[] = "\n{\"total_cost_usd\":2}\n";
    kf_episode_stream_take(&stream, late, strlen(late));
    size_t size;
    kf_autofree char *text = kf_episode_stream_close(&stream, "end", &account, NULL, NULL, &size);
    assert_true(size < KF_EPISODE_STREAM_BYTES + 1000);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "\"dropped_bytes\":"));
    assert_true(stream.usage.cost_usd > 1.9);
    kf_episode_stream_free(&stream);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names_hide_commands(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"agent:claude -p --key secret", "agent:claude"},
        {"agent,evals=3,name=mine:claude -p", "agent:mine"},
        {"agent,timeout=20m:/usr/local/bin/codex exec", "agent:codex"},
        {"agent:KEY=secret OTHER=1 ./run x", "agent:run"},
        {"agent:'quoted secret'", "agent"},
        {"agent:{ cat; }", "agent"},
        {"agents:x", NULL},
        {"exec:agent:x", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_autofree char *name = kf_llm_agent_name(rows[i][0]);
        if (!rows[i][1])
            assert_null(name);
        else
            assert_string_equal(name, rows[i][1]);
    }
}

int test_program(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(clients_that_leave_withdraw_their_questions),
        cmocka_unit_test(waiting_for_a_worker_is_free),
        cmocka_unit_test(long_lines_take_time_in_proportion),
        cmocka_unit_test(device_time_is_limited),
        cmocka_unit_test(floods_do_not_displace_questions),
        cmocka_unit_test(candidates_are_files_of_the_folder),
        cmocka_unit_test(costs_are_read),
        cmocka_unit_test(only_the_last_line_is_kforges),
        cmocka_unit_test(streams_are_bounded),
        cmocka_unit_test(names_hide_commands),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
