/* Tests of nvcc in the build jail, if nvcc is installed (compiling needs no GPU): the lines that
 * messages name, and the content of the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "test_main.h"
#include "device_cuda.h"
#include "paths.h"
#include "kforge/file.h"
#include "kforge/json.h"

static const char kernel[] = "#include <cuda_runtime.h>\n#include <stdint.h>\n\n"
                             "__global__ void k(const float *x, float *y, float a, int64_t n)\n{\n"
                             "    __shared__ float tile[256];\n"
                             "    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
                             "    tile[threadIdx.x] = x[i];\n    __syncthreads();\n"
                             "    if (i < n) y[i] = a * tile[threadIdx.x ^ 1] + y[i];\n}\n\n";

static bool build_with(const char *source, const char *const *libraries, kf_build *result,
                       kf_error *error)
{
    kf_cuda_device gpu = {.head = {.major = 9, .minor = 0}, .properties = {.architecture = "90a"}};
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", error);
    kf_autofree char *directory = kf_directory_temporary("kforge-test", error);
    if (!task || !directory) fail_msg("%s", error->text);
    kf_build_request request = {.task = task,
                                .source = source,
                                .size = strlen(source),
                                .name = "candidate.cu",
                                .seconds = 100,
                                .libraries = libraries,
                                .directory = directory};
    bool built = kf_build_cuda(&gpu, &request, result, error);
    kf_directory_remove(directory, NULL);
    return built;
}

static kf_build build_here(const char *source)
{
    kf_build result = {0};
    kf_error error = {0};
    if (!build_with(source, NULL, &result, &error)) fail_msg("%s", error.text);
    return result;
}

static kf_build build(const char *source)
{
    char toolkit[4096];
    if (!kf_cuda_toolkit(toolkit, NULL)) skip(); /* no nvcc here */
    return build_here(source);
}

static void messages_name_the_candidates_own_lines(void **state)
{
    (void)state;
    char source[2000];
    snprintf(source, sizeof source, "%s// line 13\nint broken = nothing_of_that_name;\n", kernel);
    kf_build result = build(source);
    assert_false(result.ok);
    assert_int_equal(result.status, KF_COMPILE_ERROR);
    if (!strstr(result.log, "candidate.cu(14): error")) fail_msg("%s", result.log);
    assert_non_null(strstr(result.reason, "candidate.cu(14)"));
    assert_null(strstr(result.log, "/tmp/")); /* nor where it was built */
    kf_build_free(&result);
}

static void a_wrong_signature_is_told(void **state)
{
    (void)state;
    char source[2000];
    snprintf(source, sizeof source,
             "%sextern \"C\" void axpy(const float *x, float *y, double a, int64_t n, cudaStream_t "
             "stream)\n{\n}\n",
             kernel);
    kf_build result = build(source);
    assert_int_equal(result.status, KF_COMPILE_ERROR);
    if (!strstr(result.reason, "candidate.cu(13)")) fail_msg("%s", result.reason);
    kf_build_free(&result);
}

static void registers_shared_memory_and_occupancy(void **state)
{
    (void)state;
    char source[2000];
    snprintf(source, sizeof source,
             "%sextern \"C\" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t "
             "stream)\n{\n"
             "    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);\n}\n",
             kernel);
    kf_build result = build(source);
    if (!result.ok) fail_msg("%s", result.log);
    double registers = kf_json_get_number(result.report, "registers", 0);
    assert_true(registers >= 4 && registers <= 64);
    assert_true(kf_json_get_number(result.report, "shared_bytes", 0) == 1024);
    assert_true(kf_json_get_number(result.report, "occupancy", 0) == 1);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(result.report, "kernels"), 0);
    assert_string_equal(cJSON_GetObjectItem(row, "name")->valuestring, "_Z1kPKfPffl");
    assert_string_equal(cJSON_GetObjectItem(row, "occupancy_limit")->valuestring, "warps");
    kf_build_free(&result);
}

/* Headers of CUTLASS are found in the package's place, and only where the task allows them. */
static void cutlass_is_for_tasks_that_allow_it(void **state)
{
    (void)state;
    static const char *const allowing[] = {"cutlass", NULL}, *const none[] = {NULL};
    static const char header[] = "#pragma once\n#define TWICE 2\n";
    char toolkit[4096], source[2000], folder[4096];
    if (!kf_cuda_toolkit(toolkit, NULL)) skip(); /* no nvcc here */
    snprintf(
        source, sizeof source,
        "#include <cutlass/cutlass.h>\n%sextern \"C\" void axpy(const float *x, float *y, float a, "
        "int64_t n, cudaStream_t stream)\n{\n    k<<<1, 256, 0, stream>>>(x, y, TWICE * a, "
        "n);\n}\n",
        kernel);
    kf_error error = {0};
    kf_build result = {0};
    kf_autofree char *before = getenv("KFORGE_PYTHON") ? strdup(getenv("KFORGE_PYTHON")) : NULL;
    kf_autofree char *given = getenv("KFORGE_CUTLASS") ? strdup(getenv("KFORGE_CUTLASS")) : NULL;
    unsetenv("KFORGE_CUTLASS");
    kf_autofree char *place = kf_directory_temporary("kforge-test", &error);
    kf_autofree char *empty = place ? kf_path_join(place, "bin") : NULL, *path = NULL,
                     *package = NULL;
    if (!empty || asprintf(&path, "%s/python3", empty) < 0 ||
        asprintf(&package, "%s/lib/python3.11/site-packages/cutlass_library/source/include/cutlass",
                 place) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(mkdir(empty, 0755), 0);
    if (!kf_directory_make(package, &error)) fail_msg("%s", error.text);
    kf_autofree char *name = kf_path_join(package, "cutlass.h");
    if (!kf_file_write(name, header, strlen(header), &error)) fail_msg("%s", error.text);
    setenv("KFORGE_PYTHON", path, 1);
    assert_true(kf_cutlass_headers(folder, &error));
    assert_true(strncmp(package, folder, strlen(folder)) == 0);
    if (!build_with(source, allowing, &result, &error)) fail_msg("%s", error.text);
    if (!result.ok) fail_msg("%s", result.log);
    kf_build_free(&result);
    /* a task without the library */
    if (!build_with(source, none, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.status, KF_COMPILE_ERROR);
    kf_build_free(&result);
    /* missing headers are the machine's fault, and matter to sources that name them */
    setenv("KFORGE_CUTLASS", empty, 1);
    assert_false(build_with(source, allowing, &result, &error));
    assert_int_equal(error.code, KF_ERROR_MACHINE);
    assert_non_null(strstr(error.text, "KFORGE_CUTLASS"));
    error = (kf_error){0};
    snprintf(source, sizeof source, "// without #include <cutlass/cutlass.h> or cute/\n%s", kernel);
    if (!build_with(source, allowing, &result, &error)) fail_msg("%s", error.text);
    assert_int_equal(result.status, KF_COMPILE_ERROR); /* no entry */
    kf_build_free(&result);
    /* the variable names one folder */
    kf_autofree char *pattern = kf_path_join(place, "lib/python*/site-packages/cutlass_library");
    setenv("KFORGE_CUTLASS", pattern, 1);
    assert_false(kf_cutlass_headers(folder, &error));
    error = (kf_error){0};
    given ? setenv("KFORGE_CUTLASS", given, 1) : unsetenv("KFORGE_CUTLASS");
    before ? setenv("KFORGE_PYTHON", before, 1) : unsetenv("KFORGE_PYTHON");
    kf_directory_remove(place, NULL);
}

/* -isystem with the system's own folder breaks <cstdlib>. */
static void folders_of_the_system_are_no_options(void **state)
{
    (void)state;
    assert_true(kf_compiler_includes("/usr/include"));
    assert_true(kf_compiler_includes("/usr/include/../include/"));
    assert_false(kf_compiler_includes("/usr"));
    assert_false(kf_compiler_includes("/nowhere"));
}

static void put_program(const char *folder, const char *name, const char *script)
{
    kf_autofree char *path = kf_path_join(folder, name);
    kf_error error = {0};
    if (!kf_file_write(path, script, strlen(script), &error)) fail_msg("%s", error.text);
    assert_int_equal(chmod(path, 0755), 0);
}

/* nvcc leaves half of a candidate to the host's compiler, which it finds in the jail's PATH: the
 * toolkit's folder comes first there. */
static void the_host_compiler_is_named_beside_nvcc(void **state)
{
    (void)state;
    kf_error error = {0};
    char words[KF_COMPILER_WORDS];
    kf_autofree char *toolkit = kf_directory_temporary("kforge-test", &error);
    kf_autofree char *bin = toolkit ? kf_path_join(toolkit, "bin") : NULL;
    kf_autofree char *before = getenv("CUDA_HOME") ? strdup(getenv("CUDA_HOME")) : NULL;
    if (!bin || mkdir(bin, 0755) != 0 || setenv("CUDA_HOME", toolkit, 1) != 0)
        fail_msg("%s", error.text);
    put_program(bin, "nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n");
    put_program(bin, "gcc", "#!/bin/sh\necho 'gcc (Some Linux 4.5.6-7) 4.5.6'\n");
    kf_cuda_compiler(words);
    kf_cuda_device gpu = {.properties = {.architecture = "90a"}};
    snprintf(gpu.head.compiler, sizeof gpu.head.compiler, "%s", words);
    kf_autofree char *toolchain = kf_cuda_toolchain(&gpu);
    before ? setenv("CUDA_HOME", before, 1) : unsetenv("CUDA_HOME");
    kf_directory_remove(toolkit, NULL);
    assert_string_equal(words, "nvcc 13.0.88, gcc 4.5.6");
    /* the cache key contains the compiler, too */
    assert_non_null(strstr(toolchain, "gcc 4.5.6"));
}

/* A source can have the compiler print any words, on lines of their own: they are the machine's
 * only where an empty source brings them about as well. */
static void nobody_blames_the_machine_by_words_of_his_own(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *toolkit = kf_directory_temporary("kforge-test", &error);
    kf_autofree char *bin = toolkit ? kf_path_join(toolkit, "bin") : NULL;
    kf_autofree char *before = getenv("CUDA_HOME") ? strdup(getenv("CUDA_HOME")) : NULL;
    if (!bin || mkdir(bin, 0755) != 0 || setenv("CUDA_HOME", toolkit, 1) != 0)
        fail_msg("%s", error.text);
    static const char shim[] =
        "#!/bin/sh\ncase \"$*\" in '-c '*) : > kforge_shim.o; exit 0;; esac\n";
    static const char fatal[] = "echo 'nvcc fatal   : host compiler not found'; exit 1";
    char script[1000];
    for (int broken = 0; broken < 2; broken++) {
        snprintf(script, sizeof script, "%s%s\n%s%s\ncp /bin/sh candidate.so\n", shim,
                 broken ? "" : "if grep -q not.found candidate.cu; then", fatal,
                 broken ? "" : "; fi");
        put_program(bin, "nvcc", script);
        kf_build result =
            build_here("#pragma message(\"\\nnvcc fatal   : host compiler not found\")\n");
        if (result.status != (broken ? KF_JUDGE_ERROR : KF_COMPILE_ERROR))
            fail_msg("%d: %s: %s", broken, kf_status_name(result.status), result.reason);
        kf_build_free(&result);
    }
    before ? setenv("CUDA_HOME", before, 1) : unsetenv("CUDA_HOME");
    kf_directory_remove(toolkit, NULL);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_name_the_candidates_own_lines),
        cmocka_unit_test(a_wrong_signature_is_told),
        cmocka_unit_test(registers_shared_memory_and_occupancy),
        cmocka_unit_test(cutlass_is_for_tasks_that_allow_it),
        cmocka_unit_test(folders_of_the_system_are_no_options),
        cmocka_unit_test(the_host_compiler_is_named_beside_nvcc),
        cmocka_unit_test(nobody_blames_the_machine_by_words_of_his_own),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
