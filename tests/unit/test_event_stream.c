/* Streams of events: files, pipes, full disks, readers that are slow or gone, forked processes. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event_stream.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "test_main.h"

/* A folder of the case, and the file in it. */
static char *folder, path[4096];

static int make_folder(void **state)
{
    (void)state;
    kf_error error;
    signal(SIGPIPE, SIG_IGN);
    folder = kf_directory_temporary("kforge-test", &error);
    if (!folder) return -1;
    snprintf(path, sizeof path, "%s/events.jsonl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    kf_directory_remove(folder, NULL);
    free(folder);
    return 0;
}

static kf_event_stream *opened(const char *where)
{
    kf_error error = {0};
    kf_event_stream *stream = kf_event_stream_open(where, &error);
    if (!stream) fail_msg("%s", error.text);
    return stream;
}

static void assert_refused(const char *where, const char *words)
{
    kf_error error = {0};
    assert_null(kf_event_stream_open(where, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    if (!strstr(error.text, words)) fail_msg("\"%s\" lacks \"%s\"", error.text, words);
}

static void write_number(kf_event_stream *stream, int number)
{
    cJSON *fields = cJSON_CreateObject();
    kf_event_number(fields, "number", number);
    kf_event_write(stream, KF_EVENT_ATTEMPT, "run1", fields);
}

static void assert_troubled(kf_event_stream *stream, const char *words)
{
    kf_error why = {0}, again;
    assert_true(kf_event_stream_trouble(stream, &why));
    if (!strstr(why.text, words)) fail_msg("\"%s\" lacks \"%s\"", why.text, words);
    assert_false(kf_event_stream_trouble(stream, &again));
}

/* Reads all lines of a text, checks the fields that each has, and returns their number. `seqs` gets
 * their numbers. */
static size_t read_lines(const char *text, double *seqs, size_t most)
{
    size_t count = 0;
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        assert_non_null(end);
        assert_true(end - at < KF_EVENT_LINE);
        kf_auto(cJSON) line = cJSON_ParseWithLength(at, (size_t)(end - at));
        if (!line) fail_msg("no JSON: %.*s", (int)(end - at), at);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(line, "schema")),
                            "kforge-event/1");
        assert_true(cJSON_GetObjectItem(line, "t")->valuedouble > 1e9);
        assert_true(cJSON_IsString(cJSON_GetObjectItem(line, "run")));
        assert_true(cJSON_IsString(cJSON_GetObjectItem(line, "event")));
        if (count < most) seqs[count] = cJSON_GetObjectItem(line, "seq")->valuedouble;
        count++;
    }
    return count;
}

static char *content(void)
{
    kf_error error;
    char *text = kf_file_read(path, 1 << 24, NULL, &error);
    if (!text) fail_msg("%s", error.text);
    return text;
}

static void test_file(void **state)
{
    (void)state;
    struct stat status;
    double seqs[4];
    mode_t mask = umask(0);
    kf_event_stream *stream = opened(path);
    umask(mask);
    kf_event_write(stream, KF_EVENT_RUN_START, "run1", NULL);
    write_number(stream, 7);
    /* Each line is there at once. */
    kf_autofree char *text = content();
    assert_int_equal(read_lines(text, seqs, 4), 2);
    assert_true(seqs[0] == 1 && seqs[1] == 2);
    assert_non_null(strstr(text, "\"event\":\"run.start\"}\n"));
    assert_non_null(strstr(text, "\"event\":\"attempt\",\"number\":7}\n"));
    kf_event_stream_close(stream);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
}

/* A killed process leaves half a line. The next one begins a line of its own. */
static void test_append(void **state)
{
    (void)state;
    kf_error error;
    assert_true(kf_file_write(path, "{\"whole\":1}\n{\"ha", 16, &error));
    kf_event_stream *stream = opened(path);
    write_number(stream, 1);
    kf_event_stream_close(stream);
    stream = opened(path);
    write_number(stream, 2);
    kf_event_stream_close(stream);
    kf_autofree char *text = content();
    assert_memory_equal(text, "{\"whole\":1}\n{\"ha\n{\"schema", 24);
    assert_int_equal(read_lines(strchr(strchr(text, '\n') + 1, '\n') + 1, NULL, 0), 2);
}

static void test_links(void **state)
{
    (void)state;
    char link[4200];
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("events.jsonl", link), 0);
    kf_event_stream *stream = opened(link);
    write_number(stream, 1);
    kf_event_stream_close(stream);
    kf_autofree char *text = content();
    assert_int_equal(read_lines(text, NULL, 0), 1);
    char loop[4200];
    snprintf(loop, sizeof loop, "%s/loop", folder);
    assert_int_equal(symlink("loop", loop), 0);
    assert_refused(loop, "symbolic link");
    if (geteuid() != 0) return; /* only root can make another user's link */
    assert_int_equal(lchown(link, 12345, 12345), 0);
    assert_refused(link, "symbolic link of another user");
}

static void test_refused(void **state)
{
    (void)state;
    char missing[4200], number[32];
    snprintf(missing, sizeof missing, "%s/no/such", folder);
    assert_refused(missing, "cannot write there");
    assert_refused(folder, "cannot write there");
    assert_refused("", "is empty");
    assert_refused("fd:", "expected fd:N");
    assert_refused("fd:3x", "expected fd:N");
    assert_refused("fd:0", "expected fd:N");
    assert_refused("fd:-1", "expected fd:N");
    assert_refused("fd:987654", "not open for writing");
    int own = open("/dev/null", O_WRONLY | O_CLOEXEC); /* as of the store */
    snprintf(number, sizeof number, "fd:%d", own);
    assert_refused(number, "not open for writing");
    close(own);
    int reader = open("/dev/null", O_RDONLY);
    snprintf(number, sizeof number, "fd:%d", reader);
    assert_refused(number, "not open for writing");
    close(reader);
}

static void test_no_reader(void **state)
{
    (void)state;
    char got[8192];
    double seqs[4];
    assert_int_equal(mkfifo(path, 0600), 0);
    kf_event_stream *stream = opened(path);
    for (int i = 0; i < 100; i++) write_number(stream, i);
    assert_troubled(stream, "no reader");
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    write_number(stream, 100);
    ssize_t size = read(reader, got, sizeof got - 1);
    assert_true(size > 0);
    got[size] = '\0';
    assert_int_equal(read_lines(got, seqs, 4), 1);
    assert_true(seqs[0] == 101);
    /* The reader may leave and come again. */
    close(reader);
    for (int i = 0; i < 100; i++) write_number(stream, i);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    write_number(stream, 0);
    size = read(reader, got, sizeof got - 1);
    assert_true(size > 0);
    got[size] = '\0';
    assert_int_equal(read_lines(got, seqs, 4), 1);
    assert_true(seqs[0] == 202);
    close(reader);
    kf_event_stream_close(stream);
}

/* Opens a stream on one end of a new pipe or socket, which the stream then owns. */
static kf_event_stream *opened_end(int end)
{
    char name[32];
    snprintf(name, sizeof name, "fd:%d", end);
    kf_event_stream *stream = opened(name);
    assert_int_equal(fcntl(end, F_GETFD), -1);
    return stream;
}

static void test_closed_reader(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        if (before) close(ends[0]);
        kf_event_stream *stream = opened_end(ends[1]);
        if (!before) {
            write_number(stream, 1);
            close(ends[0]);
        }
        for (int i = 0; i < 1000; i++) write_number(stream, i);
        assert_troubled(stream, "the reader has ended; the run goes on without events");
        kf_event_stream_close(stream);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    kf_event_stream *stream = opened("/dev/full");
    for (int i = 0; i < 30000; i++) write_number(stream, i);
    assert_troubled(stream, "the disk is full");
    kf_event_stream_close(stream);
}

/* A reader that does not read makes the writer lose lines, but not wait. What it gets later is
 * whole lines in order. */
static void slow(int input, int output)
{
    kf_event_stream *stream = opened_end(output);
    kf_autobuffer text = {0};
    enum { EVENTS = 20000 };
    static double seqs[EVENTS + 100];
    char part[65536];
    for (int i = 0; i < EVENTS; i++) write_number(stream, i);
    assert_troubled(stream, "too slow");
    assert_int_equal(fcntl(input, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 100; i++) {
        ssize_t size;
        while ((size = read(input, part, sizeof part)) > 0)
            kf_buffer_append(&text, part, (size_t)size);
        if (i < 99) kf_event_stream_flush(stream);
    }
    write_number(stream, 0);
    ssize_t last = read(input, part, sizeof part);
    assert_true(last > 0);
    kf_buffer_append(&text, part, (size_t)last);
    kf_event_stream_close(stream);
    size_t count = read_lines(text.data, seqs, EVENTS + 100);
    assert_true(count > 1000 && count < EVENTS);
    for (size_t i = 1; i < count; i++) assert_true(seqs[i] > seqs[i - 1]);
    assert_true(seqs[count - 1] == EVENTS + 1);
    close(input);
}

static void test_slow_reader(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    slow(ends[0], ends[1]);
}

/* The flags of a shared descriptor stay as they are. */
static void test_shared_flags(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int kept = dup(ends[1]);
    kf_event_stream *stream = opened_end(ends[1]);
    assert_int_equal(fcntl(kept, F_GETFL) & O_NONBLOCK, 0);
    write_number(stream, 1);
    kf_event_stream_close(stream);
    assert_int_equal(fcntl(kept, F_GETFL) & O_NONBLOCK, 0);
    close(kept);
    close(ends[0]);
}

static void test_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 3, EVENTS = 300, ALL = PROCESSES * EVENTS + 1 };
    static double seqs[ALL];
    bool seen[ALL + 1] = {false};
    kf_event_stream *stream = opened(path);
    write_number(stream, 0);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            for (int k = 0; k < EVENTS; k++) write_number(stream, k);
            kf_event_stream_close(stream);
            _exit(0);
        }
    while (wait(NULL) > 0) continue;
    kf_event_stream_close(stream);
    kf_autofree char *text = content();
    assert_int_equal(read_lines(text, seqs, ALL), ALL);
    for (size_t i = 0; i < ALL; i++) {
        assert_true(seqs[i] >= 1 && seqs[i] <= ALL && !seen[(size_t)seqs[i]]);
        seen[(size_t)seqs[i]] = true;
    }
}

/* A child must not repeat what waits in its parent, and one of them reports the trouble. */
static void test_waiting_child(void **state)
{
    (void)state;
    kf_error why;
    kf_event_stream *stream = opened("/dev/full");
    write_number(stream, 0);
    write_number(stream, 1);
    pid_t child = fork();
    if (child == 0) {
        write_number(stream, 2);
        _exit(kf_event_stream_trouble(stream, &why) ? 7 : 8);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_false(kf_event_stream_trouble(stream, &why));
    kf_event_stream_close(stream);
}

static void test_fields(void **state)
{
    (void)state;
    char longest[3000];
    memset(longest, '"', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    kf_event_stream *stream = opened(path);
    cJSON *fields = cJSON_CreateObject();
    kf_event_text(fields, "odd", "a\x1b[31m\xff\nb\xc3\xa9");
    kf_event_text(fields, "none", NULL);
    kf_event_text(fields, "long", longest);
    kf_event_number(fields, "nan", NAN);
    kf_event_number(fields, "half", 0.5);
    kf_event_boolean(fields, "yes", true);
    kf_event_interval(fields, "speedup", 2, 1.5, 3);
    kf_event_interval(fields, "unknown", NAN, NAN, NAN);
    kf_event_write(stream, KF_EVENT_BEST, "run1", fields);
    kf_event_stream_close(stream);
    kf_autofree char *text = content();
    assert_int_equal(read_lines(text, NULL, 0), 1);
    kf_auto(cJSON) line = cJSON_Parse(text);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(line, "odd")),
                        "a?[31m? b\xc3\xa9");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(line, "none")), "");
    assert_int_equal(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(line, "long"))),
                     KF_EVENT_TEXT);
    assert_non_null(strstr(text, "\"nan\":null,\"half\":0.5,\"yes\":true,\"speedup\":[2,1.5,3],"
                                 "\"unknown\":null}\n"));
}

/* A stream that was not asked for. */
static void test_null(void **state)
{
    (void)state;
    kf_error why;
    write_number(NULL, 1);
    kf_event_stream_flush(NULL);
    assert_false(kf_event_stream_trouble(NULL, &why));
    kf_event_stream_close(NULL);
}

static void test_traceparent(void **state)
{
    (void)state;
    static const char good[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    static const char *const bad[] = {"", "00",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
                                      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 "};
    unsetenv("TRACEPARENT");
    assert_string_equal(kf_event_traceparent(), "");
    setenv("TRACEPARENT", good, 1);
    assert_string_equal(kf_event_traceparent(), good);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("TRACEPARENT", bad[i], 1);
        assert_string_equal(kf_event_traceparent(), "");
    }
    unsetenv("TRACEPARENT");
}

#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, make_folder, remove_folder)

int test_program(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_file),      CASE(test_append),        CASE(test_links),
        CASE(test_refused),   CASE(test_no_reader),     CASE(test_closed_reader),
        CASE(test_full_disk), CASE(test_slow_reader),   CASE(test_shared_flags),
        CASE(test_processes), CASE(test_waiting_child), CASE(test_fields),
        CASE(test_null),      CASE(test_traceparent),
    };
    return TEST_GROUP(cases, NULL, NULL);
}
