/* Exports get their names whole: every call that changes the file system is, in turn, the last one
 * of a process that is killed, or fails as on a full disk, with and without an exchange of names.
 * The calls are wrapped by the linker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "test_main.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "export_atomic_output.h"
#include "kforge/file.h"

static char *folder;              /* of the test */
static int step, die_at, fail_at; /* calls so far; at which to be killed or to fail, 0 never */
static bool no_exchange, failed;

/* True: the call is to fail. */
static bool at_call(bool may_fail)
{
    step++;
    if (step == die_at) kill(getpid(), SIGKILL);
    if (step != fail_at || !may_fail) return false;
    failed = true;
    errno = ENOSPC;
    return true;
}

#define WRAP(TYPE, NAME, PARAMETERS, ARGUMENTS, MAY_FAIL)        \
    TYPE __real_##NAME PARAMETERS;                               \
    TYPE __wrap_##NAME PARAMETERS;                               \
    TYPE __wrap_##NAME PARAMETERS                                \
    {                                                            \
        return at_call(MAY_FAIL) ? -1 : __real_##NAME ARGUMENTS; \
    }
WRAP(int, rename, (const char *from, const char *to), (from, to), true)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), true)
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) /* nothing here is to survive a power cut */
{
    (void)fd;
    return at_call(true) ? -1 : 0;
}
WRAP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), true)
WRAP(int, unlink, (const char *path), (path), false)
WRAP(int, unlinkat, (int at, const char *path, int flags), (at, path, flags), false)
WRAP(int, flock, (int fd, int how), (fd, how), false)
int __real_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    if (no_exchange) return errno = EINVAL, -1;
    return at_call(true) ? -1 : __real_renameat2(from_at, from, to_at, to, flags);
}

static char *in_folder(const char *name)
{
    char *path = kf_path_join(folder, name);
    assert_non_null(path);
    return path;
}

/* How many names begin so. */
static int names(const char *start)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    int count = 0;
    while ((entry = readdir(directory))) count += strncmp(entry->d_name, start, strlen(start)) == 0;
    closedir(directory);
    return count;
}

/* An export that says `text`: a file of it, or a folder with two. */
static bool make(const char *path, bool is_folder, const char *text, kf_error *error)
{
    kf_auto(kf_atomic_output) place = kf_atomic_output_open(path, is_folder, true, error);
    if (!place) return false;
    bool good = is_folder
                    ? kf_atomic_output_write(place, "README.md", "made by kforge", 14, error) &&
                          kf_atomic_output_write(place, "src/text", text, strlen(text), error)
                    : kf_atomic_output_write(place, NULL, text, strlen(text), error);
    return good && kf_atomic_output_commit(place, error);
}

/* True if `path` holds all of `text`. */
static bool holds(const char *path, bool is_folder, const char *text)
{
    kf_autofree char *inner = is_folder ? kf_path_join(path, "src/text") : strdup(path);
    kf_autofree char *readme = kf_path_join(path, "README.md");
    size_t size;
    kf_autofree char *got = kf_file_read(inner, 1 << 20, &size, NULL);
    return got && strcmp(got, text) == 0 && (!is_folder || access(readme, F_OK) == 0);
}

static void must_make(const char *path, bool is_folder, const char *text)
{
    kf_error error = {0};
    if (!make(path, is_folder, text, &error)) fail_msg("%s: %s", path, error.text);
}

static void set_faults(int die, int fails)
{
    step = 0;
    die_at = die;
    fail_at = fails;
    failed = false;
}

/* Clears away what earlier exports to that name left. */
static void sweep(const char *path, bool is_folder)
{
    kf_error error;
    kf_atomic_output_close(kf_atomic_output_open(path, is_folder, true, &error));
}

static void killed_at_every_call(bool is_folder, bool replaces)
{
    kf_autofree char *path = in_folder("export");
    int status = -1, calls = 0;
    bool seen_new = false;
    for (int n = 1; n < 200; n++) {
        kf_directory_remove(path, NULL);
        unlink(path);
        if (replaces) must_make(path, is_folder, "old");
        pid_t child = fork();
        if (child == 0) {
            kf_error error;
            set_faults(n, 0);
            _exit(make(path, is_folder, "new", &error) ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) break;
        calls++;
        /* A file under the final name is complete. It may be missing for a moment only if the file
         * system can't exchange names. */
        bool there = access(path, F_OK) == 0;
        if (there && !holds(path, is_folder, "old") && !holds(path, is_folder, "new"))
            fail_msg("half an export after call %d", n);
        if (replaces && !there) assert_true(no_exchange && is_folder);
        sweep(path, is_folder);
        /* The next export then first restores the old file. */
        if (replaces) assert_true(holds(path, is_folder, "old") || holds(path, is_folder, "new"));
        if (names("export.") != 0) fail_msg("left over after call %d and another export", n);
        seen_new |= holds(path, is_folder, "new");
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(calls >= 4);
    assert_true(seen_new);
    assert_true(holds(path, is_folder, "new"));
    assert_int_equal(names("export."), 0);
}

static void full_at_every_call(bool is_folder, bool replaces)
{
    kf_autofree char *path = in_folder("export");
    for (int n = 1; n < 200; n++) {
        kf_directory_remove(path, NULL);
        unlink(path);
        if (replaces) must_make(path, is_folder, "old");
        kf_error error = {0};
        set_faults(0, n);
        bool good = make(path, is_folder, "new", &error);
        int calls = step;
        set_faults(0, 0);
        if (good)
            assert_true(holds(path, is_folder, "new"));
        else if (replaces)
            assert_true(holds(path, is_folder, "old"));
        else
            assert_int_not_equal(access(path, F_OK), 0);
        if (!good && !strstr(error.text, "disk is full") && !strstr(error.text, "No space left"))
            fail_msg("%s", error.text);
        assert_int_equal(names("export."), 0);
        if (n > calls) return;
    }
    fail();
}

static void whole_or_nothing(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++)
        for (int kind = 0; kind < 4; kind++) {
            no_exchange = without;
            killed_at_every_call(kind & 1, kind & 2);
            full_at_every_call(kind & 1, kind & 2);
        }
    no_exchange = false;
}

/* The partial file of a running process stays. Once the process is killed, the next export removes
 * the file. */
static void parts_of_the_living_stay(void **state)
{
    (void)state;
    kf_autofree char *path = in_folder("shared");
    int ready[2], end[2];
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        kf_error error;
        kf_atomic_output *place = kf_atomic_output_open(path, true, false, &error);
        if (!place || !kf_atomic_output_write(place, "README.md", "kforge", 6, &error)) _exit(1);
        close(end[1]);
        bool told = write(ready[1], &byte, 1) == 1 && read(end[0], &byte, 1) == 0;
        _exit(told);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(names("shared.part-kforge-"), 1);
    must_make(path, true, "mine");
    assert_int_equal(names("shared.part-kforge-"), 1);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    must_make(path, true, "again");
    assert_int_equal(names("shared."), 0);
    assert_true(holds(path, true, "again"));
    for (int i = 0; i < 2; i++) close(ready[i]), close(end[i]);
}

/* Files that only resemble partial files stay. */
static void names_of_others_stay(void **state)
{
    (void)state;
    static const char *const others[] = {"x.part-1",         "x.part-kforge-",
                                         "x.part-kforge-1a", "x.part-kforge-1.gz",
                                         "xx.part-kforge-1", "x.old-2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kf_autofree char *path = in_folder(others[i]);
        assert_true(kf_file_write(path, "y", 1, NULL));
    }
    kf_autofree char *path = in_folder("x"), *target = in_folder("x.part-1"),
                     *link = in_folder("x.part-kforge-12"), *left = in_folder("x.part-kforge-13");
    assert_int_equal(symlink(target, link), 0);
    assert_true(kf_file_write(left, "y", 1, NULL));
    must_make(path, false, "text");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kf_autofree char *other = in_folder(others[i]);
        if (access(other, F_OK) != 0) fail_msg("%s is gone", others[i]);
    }
    assert_int_equal(access(link, F_OK), 0);
    assert_int_not_equal(access(left, F_OK), 0);
}

static void expect_refusal(const char *path, bool is_folder, bool force, const char *why)
{
    kf_error error = {0};
    assert_null(kf_atomic_output_open(path, is_folder, force, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    if (!strstr(error.text, why)) fail_msg("\"%s\" does not say \"%s\"", error.text, why);
}

static void force_replaces_exports_alone(void **state)
{
    (void)state;
    kf_autofree char *home = in_folder("home"), *letter = in_folder("home/letter"),
                     *empty = in_folder("empty"), *file = in_folder("file"),
                     *slashes = in_folder("empty//"), *dot = in_folder("home/..");
    assert_int_equal(mkdir(home, 0700) | mkdir(empty, 0700), 0);
    assert_true(kf_file_write(letter, "dear", 4, NULL) && kf_file_write(file, "x", 1, NULL));
    expect_refusal(home, true, true, "holds other files than an export");
    expect_refusal(home, true, false, "exists already");
    expect_refusal(home, false, true, "a folder has this name, but the output is a file");
    expect_refusal(file, true, true, "a file has this name, but the output is a folder");
    kf_autofree char *queue = in_folder("queue");
    assert_int_equal(mkfifo(queue, 0600), 0);
    expect_refusal(queue, false, true, "not a regular file");
    expect_refusal(dot, true, true, "not a possible name");
    expect_refusal("/", true, true, "not a possible name");
    assert_int_equal(access(letter, F_OK), 0);
    must_make(slashes, true, "in");
    assert_true(holds(empty, true, "in"));
    /* Something that came while the export was made is not overwritten unasked. */
    kf_error error = {0};
    kf_autofree char *late = in_folder("late"), *deep = in_folder("a/b/c");
    for (int is_folder = 0; is_folder < 2; is_folder++)
        for (int without = 0; without < 2; without++) {
            no_exchange = without;
            kf_auto(kf_atomic_output) place = kf_atomic_output_open(late, is_folder, false, &error);
            assert_non_null(place);
            assert_true(kf_file_write(late, "first", 5, NULL));
            assert_false(kf_atomic_output_commit(place, &error));
            assert_non_null(strstr(error.text, "another process created it meanwhile"));
            assert_true(holds(late, false, "first"));
            unlink(late);
        }
    no_exchange = false;
    assert_int_equal(names("late"), 0);
    must_make(deep, true, "deep");
    assert_true(holds(deep, true, "deep"));
}

/* A process that has all the descriptors it may have makes the folder, and can't open it. */
static void no_descriptor_leaves_nothing(void **state)
{
    (void)state;
    struct rlimit before, none;
    kf_error error = {0};
    kf_autofree char *path = in_folder("starved");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    /* one of these is too few for what follows the making of the folder */
    for (rlim_t most = 3; most < 24; most++) {
        none = (struct rlimit){most, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        kf_atomic_output *place = kf_atomic_output_open(path, true, false, &error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        kf_atomic_output_close(place);
        assert_int_equal(names("starved"), 0);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_descriptor_leaves_nothing), cmocka_unit_test(whole_or_nothing),
        cmocka_unit_test(parts_of_the_living_stay),     cmocka_unit_test(names_of_others_stay),
        cmocka_unit_test(force_replaces_exports_alone),
    };
    kf_error error;
    if (!(folder = kf_directory_temporary("kforge-place", &error))) return 1;
    int failures = TEST_GROUP(tests, NULL, NULL);
    kf_directory_remove(folder, NULL);
    free(folder);
    return failures;
}
