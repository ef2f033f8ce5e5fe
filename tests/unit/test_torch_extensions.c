/* Python solutions that compile extensions (tests/torch/extensions), and the archive format in
 * which extensions leave the build jail. One solution is C++ and CUDA with pybind11, which takes
 * two compilers half a minute each. The others are plain Python modules, a second each. In all the
 * program takes some 110 s of CPU time (2 shared cores at about 2 GHz), half of it for PyTorch's
 * headers. */
#include "torch_cases.h"

#include <sys/stat.h>
#include <unistd.h>

#include "build_archive.h"
#include "kforge/installation.h"

/* ---- the archive ----------------------------------------------------------------------------- */

/* Writes a record as evaluator/torch/cpp_extension/build.py does. */
static size_t put_record(char *at, unsigned kind, const char *key, const char *name,
                         const char *data, uint64_t size)
{
    memset(at, 0, 144);
    memcpy(at, "kfx1", 4);
    memcpy(at + 4, &kind, 4);
    memcpy(at + 8, &size, 8);
    memcpy(at + 16, key, strlen(key));
    memcpy(at + 80, name, strlen(name));
    memcpy(at + 144, data, strlen(data));
    return 144 + strlen(data);
}

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int count_records(const char *archive, size_t size)
{
    kf_build_archive_record record;
    size_t at = 0;
    int count = 0;
    while (kf_build_archive_next(archive, size, &at, &record)) {
        assert_true(at <= size && record.data >= archive &&
                    record.data + record.size <= archive + size);
        assert_true(strlen(record.key) <= 64 && strlen(record.name) < KF_BUILD_ARCHIVE_NAME &&
                    !strpbrk(record.name, "/."));
        count++;
    }
    return count;
}

static void records_are_read_one_after_the_other(void **state)
{
    (void)state;
    char archive[1024];
    size_t size = put_record(archive, KF_BUILD_ARCHIVE_LIBRARY, KEY, "relu_v1", "ELF", 3), at = 0;
    size += put_record(archive + size, KF_BUILD_ARCHIVE_NOTE, "", "", "words", 5);
    kf_build_archive_record record;
    assert_true(kf_build_archive_next(archive, size, &at, &record));
    assert_int_equal(record.kind, KF_BUILD_ARCHIVE_LIBRARY);
    assert_string_equal(record.key, KEY);
    assert_string_equal(record.name, "relu_v1");
    assert_int_equal(record.size, 3);
    assert_memory_equal(record.data, "ELF", 3);
    assert_true(kf_build_archive_next(archive, size, &at, &record));
    assert_int_equal(record.kind, KF_BUILD_ARCHIVE_NOTE);
    assert_memory_equal(record.data, "words", 5);
    assert_false(kf_build_archive_next(archive, size, &at, &record));
    assert_int_equal(at, size);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(count_records(archive, cut), cut >= 147);
}

/* A cache of a dry run. No test reads its content, and its key and name are meaningless. */
static void caches_are_taken_as_they_are(void **state)
{
    (void)state;
    char archive[512];
    size_t size = put_record(archive, KF_BUILD_ARCHIVE_CACHES, "../..", "../a", "any", 3), at = 0;
    kf_build_archive_record record;
    assert_true(kf_build_archive_next(archive, size, &at, &record));
    assert_int_equal(record.kind, KF_BUILD_ARCHIVE_CACHES);
    assert_int_equal(record.size, 3);
    assert_string_equal(record.key, "");
    assert_string_equal(record.name, "");
    assert_int_equal(at, size);
    for (size_t cut = 0; cut < size; cut++) assert_int_equal(count_records(archive, cut), 0);
}

static void what_breaks_the_format_ends_it(void **state)
{
    (void)state;
    static const struct {
        unsigned kind;
        const char *key, *name;
        uint64_t size;
    } wrong[] = {
        {0, KEY, "a", 1},
        {KF_BUILD_ARCHIVE_KINDS, KEY, "a", 1},
        {KF_BUILD_ARCHIVE_LIBRARY, KEY, "", 1},
        {KF_BUILD_ARCHIVE_LIBRARY, KEY, "../a", 1},
        {KF_BUILD_ARCHIVE_LIBRARY, KEY, "a.b", 1},
        {KF_BUILD_ARCHIVE_LIBRARY, KEY,
         "a234567890123456789012345678901234567890123456789012345678901234", 1},
        {KF_BUILD_ARCHIVE_LIBRARY,
         "../../../../../../../../../../../../../../../../../../../../tmp/x12", "a", 1},
        {KF_BUILD_ARCHIVE_LIBRARY, "0123", "a", 1},
        {KF_BUILD_ARCHIVE_FAILED, "", "", 1},
        {KF_BUILD_ARCHIVE_NOTE, "", "", 2},
        {KF_BUILD_ARCHIVE_CACHES, "", "", 2},
        {KF_BUILD_ARCHIVE_CACHES, "", "", UINT64_MAX},
        {KF_BUILD_ARCHIVE_NOTE, "", "", UINT64_MAX},
        {KF_BUILD_ARCHIVE_NOTE, "", "", UINT64_MAX - 143},
    };
    char archive[512];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t size =
            put_record(archive, wrong[i].kind, wrong[i].key, wrong[i].name, "x", wrong[i].size);
        if (count_records(archive, size) != 0) fail_msg("record %zu was taken", i);
    }
    unsigned random = 1;
    for (int round = 0; round < 20000; round++) {
        size_t size = put_record(archive, KF_BUILD_ARCHIVE_LIBRARY, KEY, "a", "xyz", 3);
        size += put_record(archive + size, KF_BUILD_ARCHIVE_NOTE, "", "", "x", 1);
        for (int i = 0; i < 3; i++) {
            random = random * 1664525u + 1013904223u;
            archive[(random >> 8) % size] = (char)(random >> 24);
        }
        count_records(archive, size);
    }
}

/* ---- solutions ------------------------------------------------------------------------------- */

static void solutions_compile_extensions(void **state)
{
    (void)state;
    every_file_of("extensions", false, 9);
    static const char *const left[] = {"/tmp/kforge-left-behind", "/var/tmp/kforge-left-behind",
                                       "/dev/shm/kforge-left-behind"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        assert_int_not_equal(access(left[i], F_OK), 0);
    assert_false(is_running("sleep 76543"));
    assert_false(is_running("wait.sh"));
}

/* The compiled extension is part of the binary that the verdict names. It is not compiled again. */
static void a_second_verdict_compiles_nothing(void **state)
{
    (void)state;
    size_t size;
    kf_autofree char *source =
        kf_file_read(DATA "extensions/many_places.py", KF_SOURCE_BYTES, &size, NULL);
    assert_non_null(source);
    kf_auto(kf_verdict) verdict = judge_source("relu", source, false, false);
    assert_string_equal(kf_status_name(verdict->status), "correct");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(verdict->build, "cached")));
    const cJSON *all = cJSON_GetObjectItem(verdict->build, "extensions");
    assert_int_equal(cJSON_GetArraySize(all), 2);
    assert_int_equal(
        strlen(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(all, 0), "sha256"))),
        64);
    assert_string_not_equal(verdict->binary_hash, verdict->source_hash);
    /* Another solution, though it asks for the same: nothing that one jail wrote gets into the
     * next. */
    kf_autofree char *other = NULL;
    assert_true(asprintf(&other, "%s\n# other\n", source) > 0);
    kf_auto(kf_verdict) second = judge_source("relu", other, false, false);
    assert_string_equal(kf_status_name(second->status), "correct");
    assert_null(cJSON_GetObjectItem(second->build, "cached"));
}

/* ---- compilers that the machine ends --------------------------------------------------------- */

/* A virtual environment of Python, with a compiler that a signal ends on some extensions. */
static char machine[4200];

static void write_machine(const char *name, const char *text)
{
    kf_error error = {0};
    kf_autofree char *path = kf_path_join(machine, name);
    if (!kf_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
    chmod(path, 0755);
}

/* False: the tests use a Python of their own. */
static bool make_machine(void)
{
    if (getenv("KFORGE_PYTHON")) return false;
    snprintf(machine, sizeof machine, "%s/torch-machine.%d", kf_root(), (int)getpid());
    kf_autofree char *bin = kf_path_join(machine, "bin"),
                     *python = kf_path_join(machine, "bin/python3");
    if (!kf_directory_make(machine, NULL) || !kf_directory_make(bin, NULL) ||
        symlink("/usr/bin/python3", python) != 0)
        return false;
    write_machine("pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = true\n");
    return setenv("KFORGE_PYTHON", python, 1) == 0;
}

/* Judges a solution if a signal ends the compiler of every extension with a name of that pattern.
 * The compiler refuses others. */
static kf_verdict *compiled_by(const char *killed)
{
    static const char source[] =
        "import torch\n"
        "from torch.utils.cpp_extension import load_inline\n"
        "load_inline(name='honest', cpp_sources='int one() { return 1; }', functions=['one'])\n"
        "class ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.relu(x)\n";
    char script[512];
    snprintf(script, sizeof script,
             "#!/bin/sh\ncase \"$*\" in *EXTENSION_NAME=%s*) kill -9 $$;;\n"
             "*EXTENSION_NAME=*) echo 'main.cpp:1:1: error: no'; exit 1;; esac\n"
             "exec /usr/bin/c++ \"$@\"\n",
             killed);
    write_machine("bin/c++", script);
    return judge_source("relu", source, false, false);
}

static void a_compiler_that_the_machine_ends_is_no_compile_error(void **state)
{
    (void)state;
    if (!machine[0]) skip();
    kf_auto(kf_verdict) all = compiled_by("");
    if (all->status != KF_JUDGE_ERROR || all->blame != KF_BLAME_MACHINE)
        fail_msg("%s: %s", kf_status_name(all->status), all->message);
    /* It happens with this solution only. */
    kf_auto(kf_verdict) one = compiled_by("honest");
    if (one->status != KF_COMPILE_ERROR)
        fail_msg("%s: %s", kf_status_name(one->status), one->message);
    kf_auto(kf_verdict) other = compiled_by("another");
    assert_int_equal(other->status, KF_COMPILE_ERROR);
    write_machine("bin/c++", "#!/bin/sh\nexec /usr/bin/c++ \"$@\"\n");
}

/* True if extensions can be compiled: that needs headers, ninja and setuptools. Prints the missing
 * ones. */
static bool can_compile(void)
{
    static const char question[] =
        "import importlib.util as u, os, sys, sysconfig\n"
        "folder = list(u.find_spec('torch').submodule_search_locations)[0]\n"
        "missing = [n for n, there in (('setuptools', u.find_spec('setuptools')),\n"
        "    ('headers of Python', os.path.exists(os.path.join(sysconfig.get_path('include', "
        "'posix_prefix'), 'Python.h'))),\n"
        "    ('headers of PyTorch', os.path.exists(folder + '/include/torch/extension.h'))) if not "
        "there]\n"
        "print('skipped: no ' + ', no '.join(missing) if missing else '', flush=True)\n"
        "sys.exit(bool(missing))\n";
    kf_auto(cJSON) torch = kf_judge_torch(NULL);
    const char *python = cJSON_GetStringValue(cJSON_GetObjectItem(torch, "program"));
    kf_autofree char *command = NULL;
    if (!python) return true; /* it is said elsewhere */
    assert_true(asprintf(&command, "PATH=\"%.*s:$PATH\" '%s' -I -c \"%s\"",
                         (int)(strrchr(python, '/') - python), python, python, question) > 0);
    fflush(stdout);
    return system(command) == 0;
}

int test_program(void)
{
    char cache[] = "/tmp/kforge-test-cache.XXXXXX";
    const struct CMUnitTest pure[] = {
        cmocka_unit_test(records_are_read_one_after_the_other),
        cmocka_unit_test(caches_are_taken_as_they_are),
        cmocka_unit_test(what_breaks_the_format_ends_it),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_compiler_that_the_machine_ends_is_no_compile_error),
        cmocka_unit_test(solutions_compile_extensions),
        cmocka_unit_test(a_second_verdict_compiles_nothing),
    };
    int failed = TEST_GROUP(pure, NULL, NULL);
    if (failed || !mkdtemp(cache)) return 1;
    if (!test_lists_only() && !make_machine()) machine[0] = '\0';
    failed = can_compile()
                 ? judge_tests("torch_extensions", tests, sizeof tests / sizeof *tests, cache)
                 : 77;
    kf_directory_remove(cache, NULL);
    if (machine[0]) kf_directory_remove(machine, NULL);
    return failed;
}
