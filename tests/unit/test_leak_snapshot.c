/* Tests of the leak snapshot with leaks that the test makes itself. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "leak_snapshot.h"
#include "kforge/file.h"

static char *folder;

static kf_leak_snapshot *taken(void)
{
    kf_error error = {0};
    kf_leak_snapshot *census = kf_leak_snapshot_take(folder, &error);
    if (!census) fail_msg("%s", error.text);
    return census;
}

/* Returns the differences since `before`, and appends them to `text` as lines. */
static kf_leak_snapshot_news news_since(const kf_leak_snapshot *before, kf_buffer *text)
{
    kf_leak_snapshot *after = taken();
    kf_leak_snapshot_news news = kf_leak_snapshot_compare(before, after, text);
    kf_leak_snapshot_free(after);
    return news;
}

static void nothing_is_new_where_nothing_was_left(void **state)
{
    (void)state;
    kf_leak_snapshot *before = taken();
    kf_leak_snapshot_news news = news_since(before, NULL);
    assert_int_equal(news.own, 0);
    kf_leak_snapshot_free(before);
}

/* The same descriptor under another number is no leak. Another one of its kind is. */
static void descriptors_are_counted_whatever_their_numbers(void **state)
{
    (void)state;
    int first = eventfd(0, EFD_CLOEXEC), second;
    assert_true(first >= 0);
    kf_leak_snapshot *before = taken();
    second = fcntl(first, F_DUPFD_CLOEXEC, first + 20);
    close(first);
    kf_leak_snapshot_news news = news_since(before, NULL);
    assert_int_equal(news.own, 0);
    kf_buffer text = {0};
    first = eventfd(0, EFD_CLOEXEC);
    news = news_since(before, &text);
    assert_int_equal(news.own, 1);
    assert_non_null(
        /* other programs may leave files in /tmp meanwhile */
        strstr(text.data, "descriptor anon_inode:[eventfd]\n"));
    close(first);
    close(second);
    kf_buffer_free(&text);
    kf_leak_snapshot_free(before);
}

static void an_open_descriptor_and_a_file_are_seen(void **state)
{
    (void)state;
    kf_buffer text = {0};
    char path[4096];
    kf_leak_snapshot *before = taken();
    snprintf(path, sizeof path, "%s/left", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    kf_leak_snapshot_news news = news_since(before, &text);
    assert_int_equal(news.own, 2);
    assert_non_null(strstr(text.data, "descriptor "));
    assert_non_null(strstr(text.data, "/left\n"));
    fclose(file);
    assert_int_equal(unlink(path), 0);
    kf_buffer_free(&text);
    kf_leak_snapshot_free(before);
}

/* A grandchild with a dead parent, as of a candidate that forks twice. */
static void an_orphan_is_seen(void **state)
{
    (void)state;
    kf_buffer text = {0};
    int ready[2], end[2];
    assert_int_equal(pipe(ready) | pipe(end), 0);
    kf_leak_snapshot *before = taken();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (fork() == 0) {
            char byte;
            close(end[1]);
            if (write(ready[1], "", 1) == 1 && read(end[0], &byte, 1) >= 0) _exit(0);
        }
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    kf_leak_snapshot_news news = news_since(before, &text);
    assert_int_equal(news.own, 1);
    assert_non_null(strstr(text.data, "process "));
    close(end[1]);
    assert_true(waitpid(-1, NULL, 0) > 0); /* it had become ours */
    news = news_since(before, NULL);
    assert_int_equal(news.own, 0);
    close(end[0]);
    close(ready[0]);
    close(ready[1]);
    kf_buffer_free(&text);
    kf_leak_snapshot_free(before);
}

static void a_message_queue_is_seen(void **state)
{
    (void)state;
    kf_buffer text = {0};
    kf_leak_snapshot *before = taken();
    int queue = msgget(IPC_PRIVATE, 0600);
    if (queue < 0) skip(); /* a kernel without System V's */
    kf_leak_snapshot_news news = news_since(before, &text);
    msgctl(queue, IPC_RMID, NULL);
    assert_int_equal(news.own, 0);
    assert_true(news.others >= 1);
    assert_non_null(strstr(text.data, "message queue "));
    kf_buffer_free(&text);
    kf_leak_snapshot_free(before);
}

static int own_folder(void **state)
{
    (void)state;
    kf_error error = {0};
    folder = kf_directory_temporary("census", &error);
    return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    kf_directory_remove(folder, NULL);
    free(folder);
    return 0;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_new_where_nothing_was_left),
        cmocka_unit_test(descriptors_are_counted_whatever_their_numbers),
        cmocka_unit_test(an_open_descriptor_and_a_file_are_seen),
        cmocka_unit_test(an_orphan_is_seen),
        cmocka_unit_test(a_message_queue_is_seen),
    };
    return TEST_GROUP(tests, own_folder, remove_folder);
}
