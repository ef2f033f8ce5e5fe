/* The sandbox on a machine without resources: each allocation fails in turn, and so does each
 * descriptor. Each time, the result is an error with a text or a working sandbox. No memory or
 * descriptor leaks, and no process is left running. The linker wraps the allocators
 * (sandbox.cmake). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/file.h"
#include "kforge/sandbox.h"

static long countdown = -1; /* allocations until the one that fails; -1: none fails */
static long live;           /* allocations not yet freed, of the wrapped kinds */
static bool counting;

static bool fails(void)
{
    if (countdown < 0) return false;
    return countdown-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *pointer);

static void *counted(void *pointer)
{
    if (pointer && counting) live++;
    return pointer;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *pointer, size_t size)
{
    if (fails()) return NULL;
    return pointer ? __real_realloc(pointer, size) : counted(__real_realloc(pointer, size));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *pointer)
{
    if (pointer && counting) live--;
    __real_free(pointer);
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

int __wrap_asprintf(char **text, const char *format, ...)
{
    if (fails()) return -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    if (length >= 0) counted(*text);
    return length;
}

static const int all = KF_LAYER_ALL, no_mounts = KF_LAYER_ALL & ~KF_LAYER_MOUNT_NS;

/* One life of a sandbox. True when it was spawned, and then it must have done what it should, but
 * for output that memory was too short to keep. */
static bool live_once(int layers, kf_error *error)
{
    static const char *const argv[] = {"/bin/sh", "-c", "echo hello; exit 4", NULL};
    static const kf_sandbox_path paths[] = {{"/usr", KF_PATH_READ | KF_PATH_EXEC, false},
                                            {"/lib", KF_PATH_READ | KF_PATH_EXEC, true},
                                            {"/lib64", KF_PATH_READ | KF_PATH_EXEC, true},
                                            {"/bin", KF_PATH_READ | KF_PATH_EXEC, true}};
    const kf_sandbox_spec spec = {.argv = argv,
                                  .paths = paths,
                                  .path_count = 4,
                                  .limits = {.wall_seconds = 20},
                                  .seccomp = KF_SECCOMP_BUILD,
                                  .layers = layers};
    kf_auto(kf_sandbox) sandbox = kf_sandbox_spawn(&spec, error);
    if (!sandbox) return false;
    assert_true(kf_sandbox_pump(sandbox, 30));
    assert_int_equal(kf_sandbox_outcome(sandbox)->end, KF_END_EXITED);
    assert_int_equal(kf_sandbox_outcome(sandbox)->status, 4);
    const kf_buffer *output = kf_sandbox_output(sandbox);
    assert_true(kf_sandbox_outcome(sandbox)->output_truncated ||
                (output->size == 6 && memcmp(output->data, "hello\n", 6) == 0));
    return true;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void expect_nothing_left(int descriptors)
{
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const int sets[] = {all, no_mounts};
    for (int i = 0; i < 2; i++) {
        kf_error error = {0};
        assert_true(live_once(sets[i], &error)); /* fills the caches */
        int descriptors = open_descriptors(), refused = 0;
        bool done = false;
        for (long nth = 0; !done; nth++) {
            assert_true(nth < 2000);
            error = (kf_error){0};
            live = 0;
            counting = true;
            countdown = nth;
            bool spawned = live_once(sets[i], &error);
            done = countdown >= 0; /* it got by with fewer */
            countdown = -1;
            counting = false;
            if (live != 0) fail_msg("allocation %ld failing leaks %ld", nth, live);
            if (!spawned) {
                refused++;
                assert_true(error.code != KF_ERROR_NONE && error.text[0]);
            }
            expect_nothing_left(descriptors);
        }
        assert_true(refused > 10);
    }
}

static void every_descriptor_may_be_missing(void **state)
{
    (void)state;
    kf_error error = {0};
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    assert_true(live_once(all, &error));
    int descriptors = open_descriptors(), refused = 0;
    bool spawned = false;
    for (int i = 0; i < 2; i++) {
        for (rlim_t limit = 3; limit < 40; limit++) {
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){limit, before.rlim_max});
            error = (kf_error){0};
            spawned = live_once(i ? no_mounts : all, &error);
            setrlimit(RLIMIT_NOFILE, &before);
            refused += !spawned;
            if (!spawned) assert_true(error.code != KF_ERROR_NONE && error.text[0]);
            expect_nothing_left(descriptors);
        }
        assert_true(spawned);
    }
    assert_true(refused > 5);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_descriptor_may_be_missing),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
