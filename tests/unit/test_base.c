/* Errors, buffers, strict JSON, files, hashes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/run_capture.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "nearest.h"
#include "kforge/list.h"

static void error_is_one_line(void **state)
{
    (void)state;
    kf_error error;
    assert_false(kf_fail(&error, KF_ERROR_INPUT, "a\nb\tc"));
    assert_string_equal(error.text, "a b c");
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    kf_fail(&error, KF_ERROR_INPUT, "%s", long_text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_string_equal(error.text + sizeof error.text - 4, "...");
    kf_fail_prefix(&error, "file");
    assert_memory_equal(error.text, "file: xxx", 9);
    assert_false(kf_fail(NULL, KF_ERROR_INPUT, "nobody listens"));
}

static void buffer_grows_and_stops_at_its_limit(void **state)
{
    (void)state;
    kf_autobuffer buffer = {.limit = 1000};
    for (int i = 0; i < 300; i++) kf_buffer_format(&buffer, "%03d,", i);
    assert_true(buffer.failed);
    assert_int_equal(buffer.size, 1000);
    assert_memory_equal(buffer.data + 996, "249,", 5);
    kf_autobuffer empty = {0};
    kf_autofree char *text = kf_buffer_take(&empty);
    assert_string_equal(text, "");
}

static void json_refuses(void **state)
{
    (void)state;
    kf_autobuffer deep = {0};
    for (int i = 0; i < 100000; i++) kf_buffer_string(&deep, "[");
    const struct {
        const char *text;
        size_t size;
        const char *expected;
    } rows[] = {
        {"{\"a\":1,\"b\":{\"c\":1,\"c\":2}}", 0, "\"c\" comes twice"},
        {"{\"a\":1", 0, "ends in the middle"},
        {"{\"a\" 1}", 0, "f:1:5: a colon is missing here"},
        {"{}\n {}", 0, "f:2:2: something follows"},
        {"\"a\0b\"", 5, "NUL byte"},
        {"\"a\\u0000b\"", 0, "NUL character"},
        {"\"\xc3(\"", 0, "invalid UTF-8"},
        {"\"\xed\xa0\x80\"", 0, "invalid UTF-8"},
        {"", 0, "the file is empty"},
        {"[1,]", 0, "f:1:3: nothing follows this comma: remove it"},
        {"[,1]", 0, "f:1:2: a value is missing here"},
        {"{\"a\":}", 0, "f:1:6: a value is missing here"},
        {"{1:2}", 0, "f:1:2: a name in double quotes is missing here"},
        {"[tru]", 0, "not valid JSON here"},
        {"[\"\\x\"]", 0, "not valid JSON here"},
        {"[\"\\ud800\"]", 0, "not valid JSON here"},
        {"[\"\\udc00\"]", 0, "not valid JSON here"},
        {"[\"\\u12g4\"]", 0, "not valid JSON here"},
        {"[1 2]", 0, "f:1:3: a comma is missing here"},
        {"{\"a\": 1\n \"b\": 2}", 0, "f:1:8: a comma is missing here"},
        {"{\"a\": {}\n\n \"b\": 2}", 0, "f:1:9: a comma is missing here"},
        {"{\"a\": 1,\n}", 0, "f:1:8: nothing follows this comma"},
        {"{\"a\": [1}]", 0, "f:1:9: a ] is missing before this }"},
        {"[{\"a\": 1]}", 0, "f:1:9: a } is missing before this ]"},
        {"{'a': 1}", 0, "f:1:2: a name in double quotes"},
        {"{\"a\": 'b'}", 0, "f:1:7: a string begins with \", not with '"},
        {"{\"a\": 1, // one\n\"b\": 2}", 0, "f:1:10: JSON has no comments"},
        {"{\"a\": 1 // one\n}", 0, "f:1:9: JSON has no comments"},
        {"# one\n{}", 0, "f:1:1: JSON has no comments"},
        {"[1 !]", 0, "f:1:4: not valid JSON here"},
        {"[01]", 0, "not valid JSON here"},
        {"[1.]", 0, "not valid JSON here"},
        {"[1e]", 0, "not valid JSON here"},
        {"[+1]", 0, "not valid JSON here"},
        {"[-]", 0, "not valid JSON here"},
        {"[1111111111222222222233333333334444444444555555555566666666667777777777]", 0,
         "not valid JSON here"},
        {deep.data, deep.size, "nested too deep"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        size_t size = rows[i].size ? rows[i].size : strlen(rows[i].text);
        assert_null(kf_json_parse(rows[i].text, size, 0, "f", &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (!strstr(error.text, rows[i].expected))
            fail_msg("%s: expected \"%s\"", error.text, rows[i].expected);
    }
    kf_error error;
    assert_null(kf_json_parse("[1,2,3]", 7, 5, "f", &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
}

/* Parses every prefix of a text with all kinds of tokens, in a buffer that ends with it, so that
 * AddressSanitizer finds reads past the end. Each prefix is refused, and never with another token's
 * message. */
static void json_reads_no_byte_behind_the_end(void **state)
{
    (void)state;
    static const char text[] = "{\"a\\u0001\":[-1.5e5,true,null,\"\xc3\xa4\\ud83d\\ude00\\\"\"]}";
    for (size_t size = 1; size < sizeof text; size++) {
        kf_autofree char *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, text, size);
        kf_error error = {0};
        kf_auto(cJSON) tree = kf_json_parse(exact, size, 0, "f", &error);
        assert_int_equal(tree != NULL, size == sizeof text - 1);
        assert_int_equal(error.code, tree ? KF_ERROR_NONE : KF_ERROR_INPUT);
    }
    for (size_t size = 6; size >= 1; size--) { /* the end of the text inside the escape */
        kf_autofree char *exact = malloc(size + 1);
        assert_non_null(exact);
        memcpy(exact, "\"\\u0000", size + 1);
        kf_error error = {0};
        assert_null(kf_json_parse(exact, size + 1, 0, "f", &error));
        assert_non_null(strstr(error.text, size == 6 ? "NUL character" : "ends in the middle"));
    }
}

static int allocations_left;

static void *limited_malloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void json_tells_lack_of_memory_from_bad_syntax(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,{\"b\":\"c\"}]}";
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = limited_malloc, .free_fn = free});
    int failures = 0;
    for (;; failures++) {
        allocations_left = failures;
        kf_error error = {0};
        kf_auto(cJSON) tree = kf_json_parse(text, strlen(text), 0, "f", &error);
        if (tree) break;
        assert_int_equal(error.code, KF_ERROR_MEMORY);
        assert_string_equal(error.text, "out of memory for f");
    }
    cJSON_InitHooks(NULL);
    assert_true(failures >= 5); /* an item a value */
}

static void json_reader_names_the_place(void **state)
{
    (void)state;
    kf_error error = {0};
    const char *text = "{\"rows\":4,\"colz\":5,\"name\":7}";
    kf_auto(cJSON) tree = kf_json_parse(text, strlen(text), 0, "t.json", &error);
    assert_non_null(tree);
    kf_json_reader reader = kf_json_object(tree, "t.json", "params", &error);
    assert_int_equal(kf_json_integer_or(&reader, "rows", 0, 10, -1), 4);
    assert_int_equal(kf_json_integer_or(&reader, "cols", 0, 10, -1), -1);
    kf_json_any(&reader, "name");
    assert_false(kf_json_finish(&reader));
    assert_string_equal(error.text, "t.json: params.colz: unknown key; did you mean \"cols\"?");
    reader = kf_json_object(tree, "t.json", "", &error);
    kf_json_string(&reader, "name");
    assert_string_equal(error.text, "t.json: name: expected a string, found a number");
    reader = kf_json_object(tree, "t.json", "", &error);
    kf_json_integer_or(&reader, "rows", 5, 10, 0);
    assert_string_equal(error.text, "t.json: rows: 4 is out of range; expected 5 to 10");
}

static void json_numbers_round_trip(void **state)
{
    (void)state;
    const double values[] = {0.1,      1e-300,   1.7976931348623157e308, -0.0, 3.0, NAN,
                             INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        kf_auto(cJSON) object = cJSON_CreateObject();
        kf_json_add_number(object, "v", values[i]);
        kf_autofree char *text = cJSON_PrintUnformatted(object);
        kf_auto(cJSON) again = kf_json_parse(text, strlen(text), 0, "t", NULL);
        double value = kf_json_get_number(again, "v", 7);
        assert_true(value == values[i] || (isnan(value) && isnan(values[i])));
    }
}

static void files_are_whole_or_absent(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error);
    assert_non_null(directory);
    kf_autofree char *path = kf_path_join(directory, "a/b/c.txt");
    assert_false(kf_file_write(path, "x", 1, &error));
    kf_autofree char *sub = kf_path_join(directory, "a/b");
    assert_true(kf_directory_make(sub, &error));
    assert_true(kf_file_write(path, "hello", 5, &error));
    size_t size;
    kf_autofree char *text = kf_file_read(path, 5, &size, &error);
    assert_string_equal(text, "hello");
    assert_null(kf_file_read(path, 4, &size, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    kf_autofree char *link = kf_path_join(directory, "a/link");
    assert_int_equal(symlink("/etc", link), 0);
    assert_true(kf_directory_remove(directory, &error));
    struct stat status;
    assert_int_equal(stat(directory, &status), -1);
    assert_int_equal(stat("/etc", &status), 0);
}

static void assert_place(const char *directory, const char *name, kf_error_code code)
{
    kf_error error = {0};
    kf_autofree char *path = *name ? kf_path_join(directory, name) : strdup("");
    assert_int_equal(kf_file_can_write(path, &error), code == KF_ERROR_NONE);
    assert_int_equal(error.code, code);
    if (code && *name) assert_non_null(strstr(error.text, path));
}

/* The answer means that the file can be written. The check leaves no file. */
static void places_for_files_are_tried_without_a_trace(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error),
                     *file = kf_path_join(directory, "file");
    kf_autofree char *deep = kf_path_join(directory, "a//b/../new"),
                     *fifo = kf_path_join(directory, "fifo");
    char longest[NAME_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_true(kf_file_write(file, "mine", 4, &error));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_place(directory, "file", KF_ERROR_NONE);
    assert_place(directory, "new", KF_ERROR_NONE);
    assert_place(directory, "a/b/c/new", KF_ERROR_NONE);
    assert_place(directory, "a//b/../new", KF_ERROR_NONE);
    assert_place(directory, "", KF_ERROR_INPUT);
    assert_place(directory, "new/", KF_ERROR_INPUT);
    assert_place(directory, ".", KF_ERROR_INPUT);
    assert_place(directory, "fifo", KF_ERROR_INPUT);
    assert_place(directory, "file/new", KF_ERROR_INPUT);
    assert_place(directory, "file/a/new", KF_ERROR_INPUT);
    assert_place(directory, longest, KF_ERROR_INPUT);
    assert_place(directory, "/proc/new", KF_ERROR_INPUT);
    assert_place(directory, "/proc/a/new", KF_ERROR_INPUT);
    assert_int_equal(unlink(fifo), 0);
    kf_autofree char *text = kf_file_read(file, 10, NULL, &error);
    assert_string_equal(text, "mine");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(directory), 0); /* it is empty */
    assert_true(kf_directory_make_above(deep, &error) && kf_file_write(deep, "x", 1, &error));
    assert_true(kf_directory_make_above("name", &error) &&
                kf_directory_make_above("/name", &error));
    assert_true(kf_directory_remove(directory, &error));
}

/* Simulates a sandbox without a mount namespace, which denies every change of a mode. */
static int write_without_chmod(const char *path)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 2;
    if (fchmod(0, 0600) != -1 || errno != EPERM) return 3;
    umask(027);
    return !kf_file_write(path, "x", 1, NULL);
}

static void files_get_their_mode_from_the_umask(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error);
    assert_non_null(directory);
    kf_autofree char *path = kf_path_join(directory, "file");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(write_without_chmod(path));
    int result;
    assert_int_equal(waitpid(pid, &result, 0), pid);
    assert_int_equal(result, 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_true(kf_directory_remove(directory, &error));
}

/* Makes `levels` folders, each in the one before, with a file in the last. */
static void make_nest(int parent, int levels)
{
    int fd = fcntl(parent, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < levels; i++) {
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(fd);
        fd = next;
    }
    close(openat(fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(fd);
}

/* Programs that are not trusted fill folders that kforge removes. */
static void folders_are_removed_whatever_they_hold(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error),
                     *outside = kf_directory_temporary("kforge-test", &error);
    kf_autofree char *kept = kf_path_join(outside, "kept"), *locked = kf_path_join(directory, "l"),
                     *file = kf_path_join(locked, "file"), *link = kf_path_join(directory, "link");
    assert_true(kf_file_write(kept, "x", 1, &error));
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(mkdir(locked, 0700), 0);
    assert_true(kf_file_write(file, "x", 1, &error));
    assert_int_equal(chmod(locked, 0500), 0);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    make_nest(fd, 3000);
    close(fd);
    if (!kf_directory_remove(directory, &error)) fail_msg("%s", error.text);
    assert_int_equal(access(directory, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_true(kf_directory_remove(outside, &error));
    /* It is gone already. A file is removed, too. */
    assert_true(kf_directory_remove(outside, &error));
    assert_true(kf_file_write(outside, "x", 1, &error) && kf_directory_remove(outside, &error));
    assert_int_equal(access(outside, F_OK), -1);
}

static void hash_is_sha256(void **state)
{
    (void)state;
    char hex[KF_HASH_HEX], other[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes("abc", 3); /* FIPS 180-4 example */
    kf_hash_hex(&hash, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    kf_hash_parts_hex(hex, (const char *[]){"ab", "c"}, (size_t[]){2, 1}, 2);
    kf_hash_parts_hex(other, (const char *[]){"a", "bc"}, (size_t[]){1, 2}, 2);
    assert_string_not_equal(hex, other);
}

/* kf_run_capture() stops once it has the whole answer. */
static void asking_ends_with_the_answer(void **state)
{
    (void)state;
    double started = kf_now();
    const char *const goes_on[] = {"/bin/sh", "-c", "echo 1.2; exec >&-; exec sleep 30", NULL};
    kf_autofree char *answer = kf_run_capture(goes_on, NULL, 100, 20);
    assert_string_equal(answer, "1.2\n");
    assert_true(kf_now() - started < 20); /* else the 30 s of its sleep */
    const char *const floods[] = {"/bin/sh", "-c", "while echo 12345678; do :; done", NULL};
    started = kf_now();
    assert_null(kf_run_capture(floods, NULL, 100, 20));
    assert_true(kf_now() - started < 20);
    const char *const missing[] = {"/nowhere/program", NULL};
    assert_null(kf_run_capture(missing, NULL, 100, 20));
}

static void lists_grow_by_one(void **state)
{
    (void)state;
    int *numbers = NULL;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(kf_list_grow(&numbers, i));
        numbers[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++) assert_int_equal(numbers[i], i);
    assert_null(kf_list_grown(numbers, (size_t)1 << 62, sizeof *numbers));
    free(numbers);
}

static void lack_of_memory_has_one_wording(void **state)
{
    (void)state;
    kf_error error;
    assert_false(kf_fail_memory(&error, "a prompt"));
    assert_int_equal(error.code, KF_ERROR_MEMORY);
    assert_string_equal(error.text, "out of memory for a prompt");
    assert_false(kf_fail_memory(NULL, "a prompt"));
}

static void the_nearest_word_is_found(void **state)
{
    (void)state;
    static const char *const known[] = {"f16",    "bf16",      "f32",  "kind",    "low",
                                        "high",   "lint",      "list", "compare", "cuda",
                                        "--help", "--version", "x"};
    static const struct {
        const char *word, *near;
    } cases[] = {{"--verison", "--version"},
                 {"compre", "compare"},
                 {"lsit", "list"},
                 {"float16", "f16"},
                 {"Half", "f16"},
                 {"bfloat16", "bf16"},
                 {"min", "low"},
                 {"gpu", "cuda"},
                 {"LINT", "lint"},
                 {"comp", "compare"},
                 {"xyz", NULL},
                 {"", NULL},
                 {"knd", "kind"},
                 {"y", NULL},
                 {"xx", "x"},
                 {"ab", NULL},
                 {"zzzzzzzz", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *near = kf_nearest(cases[i].word, known, sizeof known / sizeof *known);
        if (cases[i].near)
            assert_string_equal(near ? near : "nothing", cases[i].near);
        else
            assert_null(near);
    }
    /* A synonym that is not known, and a word that is longer than the table. */
    static const char *const few[] = {"normal"};
    char longer[100];
    memset(longer, 'n', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_null(kf_nearest("float16", few, 1));
    assert_null(kf_nearest(longer, few, 1));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_grow_by_one),
        cmocka_unit_test(lack_of_memory_has_one_wording),
        cmocka_unit_test(error_is_one_line),
        cmocka_unit_test(asking_ends_with_the_answer),
        cmocka_unit_test(buffer_grows_and_stops_at_its_limit),
        cmocka_unit_test(json_refuses),
        cmocka_unit_test(json_reads_no_byte_behind_the_end),
        cmocka_unit_test(json_tells_lack_of_memory_from_bad_syntax),
        cmocka_unit_test(json_reader_names_the_place),
        cmocka_unit_test(json_numbers_round_trip),
        cmocka_unit_test(files_are_whole_or_absent),
        cmocka_unit_test(places_for_files_are_tried_without_a_trace),
        cmocka_unit_test(files_get_their_mode_from_the_umask),
        cmocka_unit_test(folders_are_removed_whatever_they_hold),
        cmocka_unit_test(hash_is_sha256),
        cmocka_unit_test(the_nearest_word_is_found),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
