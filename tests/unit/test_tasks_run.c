/* The shipped tasks on the CPU device: every baseline and seed, compiled by kforge-cpucc
 * with the task's own prototype in front, must agree with the oracle on all workloads
 * that are not timed (ragged and hidden shapes) and under every variation of the data that the
 * judge may make, write nothing behind its buffers and leave its inputs alone. What the oracles
 * give must not be degenerate (kf_lint_outputs). A baseline with a mistake from the table below
 * must differ from the oracle in one of these cases. Seeds with PTX are only compiled, if nvcc is
 * installed.
 *
 * This is no judge: candidates are trusted here and loaded into the test. Each task is a case, and
 * a test of ctest's (`test_tasks_run TASK`): what ends the process is then known by name, and the
 * process holds the sources of one task, as one of the judge's does. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/compare.h"
#include "kforge/inputs.h"
#include "kforge/lint.h"
#include "kforge/task.h"

#define GUARD 256 /* bytes behind every buffer */
#define MAX_CANDIDATES 8
#define MAX_MISTAKES 3
#define NVCC "/usr/local/cuda/bin/nvcc"

typedef struct built {
    const char *name; /* of the source file */
    void *library, *entry;
} built;

/* Mistakes that people make: `old` occurs once in the task's baseline. */
static const struct mistake {
    const char *task, *old, *new;
} mistakes[] = {
    /* a face is not fixed */
    {"jacobi3d", " || x == nx - 1)", ")"},
    /* the first half is overwritten before the second needs it */
    {"rope", "second * c + first * s", "second * c + __bfloat162float(*a) * s"},
    /* the tree stops early */
    {"residual_rms_norm", "half > 0;", "half > 1;"},
    /* small rows are blown up */
    {"residual_rms_norm", "cols + epsilon)", "cols)"},
    /* one clamp is missing */
    {"swiglu", "fmaxf(fminf(u, limit), -limit)", "fminf(u, limit)"},
    /* exponentials of large logits overflow */
    {"cross_entropy", "largest = partial[0];", "largest = 0.0f;"},
    /* an inclusive sum */
    {"prefix_scan", "before = sum[t] - value;", "before = sum[t];"},
    /* equal elements are taken once */
    {"top_k", "v > w || (v == w && j < i)", "v > w"},
    /* negative keys come last */
    {"radix_sort", "((uint32_t)key ^ 0x80000000u)", "((uint32_t)key)"},
    /* one scale for all tokens */
    {"fp8_gemm", "sum * x_scale[i]", "sum * x_scale[0]"},
    /* the halves of a byte are swapped */
    {"int4_gemm", "p % 2 == 0", "p % 2 == 1"},
    /* filters are not rearranged like windows */
    {"conv_im2win", "filter[p * size + q]", "filter[q * size + p]"},
    /* equal logits are taken once */
    {"moe_routing", " || (row[e] == last && e > last_expert)", ""},
    /* experts with few rows need tiles of their own */
    {"grouped_gemm", "rows / TILE + (experts < rows ? experts : rows)", "(rows + TILE - 1) / TILE"},
    /* earlier tiles keep their old maximum */
    {"paged_attention", "total *= rescale;", ""},
    /* sums are kept in 16 bits */
    {"bf16_gemm", "sum[r][c] += a[q][ty + r * 16] * b[q][tx + c * 16]",
     "sum[r][c] = __bfloat162float(__float2bfloat16(sum[r][c] + a[q][ty + r * 16] *"
     " b[q][tx + c * 16]))"},
    {"f16_gemm", "sum[r][c] += a[q][ty + r * 16] * b[q][tx + c * 16]",
     "sum[r][c] = __half2float(__float2half(sum[r][c] + a[q][ty + r * 16] * b[q][tx + c * 16]))"},
    /* elements are cut to bf16, not to tf32 */
    {"tf32_gemm", "x[(i0 + r) * k + p + tx]",
     "__int_as_float(__float_as_int(x[(i0 + r) * k + p + tx]) & 0xffff0000)"},
    /* earlier tiles keep their old maximum in the sum */
    {"bf16_attention", "sum[r] *= rescale;", ""},
    /* the state meets a key that is not normalised */
    {"delta_rule", "- seen * scale)", "- seen)"},
    /* numbers of the timed workloads in place of arguments */
    {"axpy", "a * x[i]", "1.7f * x[i]"},
    {"cg_step", "diagonal * p[k]", "4.5f * p[k]"},
    {"layernorm", "cols + epsilon)", "cols + 1e-5f)"},
    {"swiglu", "-alpha * a", "-1.702f * a"},
    {"swiglu", "fminf(g, limit)", "fminf(g, 7.0f)"},
};

static char folder[] = "/tmp/kforge-test-tasks-XXXXXX";

/* ---- building -------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *first, const char *second)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(first, file) >= 0 && fputs(second, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void paths(const char *task, const kf_task_file *file, char *source, char *object,
                  size_t size)
{
    snprintf(source, size, "%s/%s-%s", folder, task, file->name);
    snprintf(object, size, "%s/%s-%s.so", folder, task, file->name);
}

/* Writes a source and a header with its prototype, which turns a wrong signature into an error. */
static void write_sources(const kf_task *task, const kf_task_file *file, bool oracle, char *source,
                          char *object, char *header)
{
    paths(kf_task_name(task), file, source, object, 512);
    snprintf(header, 516, "%s.h", source);
    char *prototype = kf_task_prototype(task, oracle);
    assert_non_null(prototype);
    char text[4096];
    snprintf(text, sizeof text,
             "#include <cuda_fp8.h>\n#include <cuda_runtime.h>\n#include <stdint.h>\n%s;\n",
             prototype);
    free(prototype);
    write_text(header, text, "");
    write_text(source, file->text, "");
}

/* Starts the compiler. */
static pid_t start_build(const kf_task *task, const kf_task_file *file, bool oracle)
{
    char source[512], object[512], header[516];
    write_sources(task, file, oracle, source, object, header);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl(KFORGE_CPUCC, KFORGE_CPUCC, "-include", header, "-o", object, source, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static built finish_build(const kf_task *task, const kf_task_file *file, bool oracle, pid_t pid)
{
    int status;
    char source[512], object[512], symbol[256];
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) fail_msg("%s/%s does not compile", kf_task_name(task), file->name);
    paths(kf_task_name(task), file, source, object, sizeof source);
    snprintf(symbol, sizeof symbol, "%s%s", kf_task_entry(task), oracle ? "_oracle" : "");
    built result = {.name = file->name, .library = dlopen(object, RTLD_NOW | RTLD_LOCAL)};
    if (!result.library) fail_msg("%s", dlerror());
    result.entry = dlsym(result.library, symbol);
    assert_non_null(result.entry);
    return result;
}

/* Compiles a seed with PTX for the GPU that it names, if nvcc is here. Sums that do not fit into
 * registers, or products that wait for each other, are faults that only cost time. */
static void check_ptx(const kf_task *task, const kf_task_file *file)
{
    char source[512], object[512], header[516], command[2600], output[16384];
    if (access(NVCC, X_OK) != 0) return;
    write_sources(task, file, false, source, object, header);
    snprintf(command, sizeof command,
             NVCC " -std=c++17 -gencode arch=compute_90a,code=sm_90a -Xptxas -v -cubin"
                  " -include %s -o %s %s 2>&1",
             header, object, source);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t length = fread(output, 1, sizeof output - 1, pipe);
    output[length] = '\0';
    if (pclose(pipe) != 0 || !strstr(output, " 0 bytes spill stores") ||
        strstr(output, "serialized"))
        fail_msg("%s/%s: %s", kf_task_name(task), file->name, output);
}

/* Makes the baseline with each of the task's mistakes. Returns how many. */
static int make_mistakes(const kf_task *task, kf_task_file wrong[MAX_MISTAKES])
{
    static char texts[MAX_MISTAKES][65536], names[MAX_MISTAKES][16];
    int count = 0;
    for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++) {
        const struct mistake *mistake = &mistakes[m];
        if (strcmp(mistake->task, kf_task_name(task)) != 0) continue;
        assert_true(count < MAX_MISTAKES);
        const kf_task_file *baseline = kf_task_baseline(task);
        const char *at = strstr(baseline->text, mistake->old);
        if (!at || strstr(at + 1, mistake->old))
            fail_msg("%s: \"%s\" is not once in its baseline", mistake->task, mistake->old);
        char *text = texts[count], *name = names[count];
        int length = snprintf(text, sizeof *texts, "%.*s%s%s", (int)(at - baseline->text),
                              baseline->text, mistake->new, at + strlen(mistake->old));
        assert_in_range(length, 1, sizeof *texts - 1);
        snprintf(name, sizeof *names, "mistake%d.cu", count);
        wrong[count++] = (kf_task_file){.name = name, .text = text, .size = (size_t)length};
    }
    return count;
}

/* ---- calling --------------------------------------------------------------------------------- */

/* Buffers of one call, by argument. Each ends in a guard. */
typedef struct call_buffers {
    unsigned char *data[KF_MAX_ARGUMENTS];
    uint64_t bytes[KF_MAX_ARGUMENTS];
    int count;
} call_buffers;

static void buffers_free(call_buffers *buffers)
{
    for (int i = 0; i < buffers->count; i++) free(buffers->data[i]);
}

static bool is_written(const kf_problem_argument *argument)
{
    return argument->kind == KF_OUTPUT || argument->kind == KF_INOUT ||
           argument->kind == KF_WORKSPACE;
}

static const kf_key poison = {.secret = 0x5eed, .set = 9, .argument = 99};

/* Inputs are copied from `inputs` (for an oracle a floating inout is widened), outputs and guards
 * are poisoned. */
static call_buffers buffers_new(const kf_problem *problem, const call_buffers *inputs, bool oracle)
{
    call_buffers result = {.count = problem->argument_count};
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind == KF_SCALAR) continue;
        bool widened = oracle && kf_dtype_is_float(argument->dtype) &&
                       (argument->kind == KF_OUTPUT || argument->kind == KF_INOUT);
        result.bytes[i] = widened ? (uint64_t)argument->elements * sizeof(double) : argument->bytes;
        void *data = NULL;
        assert_int_equal(posix_memalign(&data, 256, result.bytes[i] + GUARD), 0);
        result.data[i] = data;
        kf_poison_fill(poison, data, 0, result.bytes[i] + GUARD);
        if (!inputs || (argument->kind != KF_INPUT && argument->kind != KF_INOUT)) continue;
        if (!widened)
            memcpy(data, inputs->data[i], argument->bytes);
        else
            for (int64_t e = 0; e < argument->elements; e++)
                ((double *)data)[e] = kf_dtype_load(
                    argument->dtype, inputs->data[i] + (size_t)e * kf_dtype_size(argument->dtype));
    }
    return result;
}

/* Calls `entry` with a problem's arguments. Integers and pointers travel in registers of their own,
 * apart from floats, in the calling conventions of x86-64 and AArch64, so one type of function
 * serves all signatures with up to 13 of the one, the stream after them, and 2 (float) of the
 * other. */
static void call(void *entry, const kf_problem *problem, const call_buffers *buffers)
{
    uint64_t words[14] = {0};
    float floats[2] = {0};
    int word = 0, number = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_SCALAR) {
            assert_true(word < 13);
            words[word++] = (uint64_t)(uintptr_t)buffers->data[i];
        } else if (argument->dtype == KF_F32) {
            assert_true(number < 2);
            floats[number++] = (float)argument->value.number;
        } else {
            assert_false(kf_dtype_is_float(argument->dtype));
            assert_true(word < 13);
            words[word++] = (uint64_t)argument->value.integer;
        }
    }
    void (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                     uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, float, float);
    memcpy(&function, &entry, sizeof function);
    function(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7],
             words[8], words[9], words[10], words[11], words[12], words[13], floats[0], floats[1]);
}

static call_buffers fill_inputs(const kf_problem *problem, uint64_t secret, kf_variation variation,
                                int changed)
{
    call_buffers result = buffers_new(problem, NULL, false);
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        kf_key key = {.secret = secret + (i == changed), .set = 0, .argument = (uint32_t)i};
        if (argument->kind == KF_INPUT || argument->kind == KF_INOUT)
            kf_input_fill(argument, key, variation, result.data[i], 0, argument->elements);
    }
    return result;
}

/* ---- every candidate agrees with the oracle -------------------------------------------------- */

static void check_candidate(const kf_problem *problem, const built *candidate, const char *where,
                            const call_buffers *inputs, const call_buffers *expected,
                            kf_error_sums *baseline, bool is_baseline)
{
    call_buffers got = buffers_new(problem, inputs, false);
    call(candidate->entry, problem, &got);
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        uint64_t at;
        if (argument->kind == KF_SCALAR) continue;
        if (!kf_poison_intact(poison, got.data[i], argument->bytes, GUARD, &at))
            fail_msg("%s: %s wrote behind %s", where, candidate->name, argument->name);
        if (argument->kind == KF_INPUT &&
            memcmp(got.data[i], inputs->data[i], argument->bytes) != 0)
            fail_msg("%s: %s changed its input %s", where, candidate->name, argument->name);
        if (!is_written(argument) || argument->kind == KF_WORKSPACE) continue;
        if (is_baseline)
            kf_error_accumulate(argument, got.data[i], expected->data[i], &baseline[i]);
        kf_error_figures figures;
        kf_error error = {0};
        if (!kf_compare_output(argument, got.data[i], expected->data[i], &baseline[i], &figures,
                               &error))
            fail_msg("%s: %s: %s is wrong: RMS %g (allowed %g), maximum %g (allowed %g), first at "
                     "%lld: %.9g for %.9g %s %s",
                     where, candidate->name, argument->name, figures.rms, figures.allowed_rms,
                     figures.max, figures.allowed_max, (long long)figures.first_index,
                     figures.first_got, figures.first_expected, figures.pattern, error.text);
    }
    buffers_free(&got);
}

/* True if an output of the candidate is wrong. */
static bool is_wrong(const kf_problem *problem, const built *candidate, const call_buffers *inputs,
                     const call_buffers *expected, kf_error_sums *baseline)
{
    call_buffers got = buffers_new(problem, inputs, false);
    call(candidate->entry, problem, &got);
    bool wrong = false;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        kf_error_figures figures;
        kf_error error = {0};
        if (argument->kind == KF_OUTPUT || argument->kind == KF_INOUT)
            wrong |= !kf_compare_output(argument, got.data[i], expected->data[i], &baseline[i],
                                        &figures, &error);
    }
    buffers_free(&got);
    return wrong;
}

/* Counts in found[] the cases in which each of the `wrong` programs behind the candidates fails. */
static void check_workload(const kf_task *task, const kf_problem *problem, const built *oracle,
                           const built *candidates, int count, int wrong, int *found)
{
    for (int variation = 0; variation < KF_VARIATION_COUNT; variation++) {
        char where[256];
        snprintf(where, sizeof where, "%s, workload %s, variation %s", kf_task_name(task),
                 problem->workload, kf_variation_name((kf_variation)variation));
        call_buffers inputs =
            fill_inputs(problem, 4711 + (uint64_t)variation, (kf_variation)variation, -1);
        call_buffers expected = buffers_new(problem, &inputs, true);
        call(oracle->entry, problem, &expected);
        kf_error_sums baseline[KF_MAX_ARGUMENTS] = {0};
        for (int i = 0; i < count; i++)
            check_candidate(problem, &candidates[i], where, &inputs, &expected, baseline, i == 0);
        for (int i = 0; i < wrong; i++)
            found[i] += is_wrong(problem, &candidates[count + i], &inputs, &expected, baseline);
        buffers_free(&expected);
        buffers_free(&inputs);
    }
}

/* ---- no task is degenerate ------------------------------------------------------------------- */

/* Arguments as doubles, for the lint. */
static double **to_doubles(const kf_problem *problem, const call_buffers *buffers, bool expected,
                           bool given)
{
    double **result = calloc((size_t)problem->argument_count, sizeof *result);
    assert_non_null(result);
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        bool wanted =
            argument->kind == KF_INOUT || argument->kind == (given ? KF_INPUT : KF_OUTPUT);
        if (!wanted) continue;
        result[i] = malloc((size_t)argument->elements * sizeof(double));
        assert_non_null(result[i]);
        bool wide = expected && kf_dtype_is_float(argument->dtype);
        for (int64_t e = 0; e < argument->elements; e++)
            result[i][e] =
                wide ? ((const double *)buffers->data[i])[e]
                     : kf_dtype_load(argument->dtype,
                                     buffers->data[i] + (size_t)e * kf_dtype_size(argument->dtype));
    }
    return result;
}

static void free_doubles(const kf_problem *problem, const double *const *doubles)
{
    for (int i = 0; i < problem->argument_count; i++) free((void *)doubles[i]);
    free((void *)doubles);
}

static void print_finding(void *context, const kf_lint_finding *finding)
{
    print_error("%s: %s: %s: %s\n", (const char *)context, finding->rule, finding->path,
                finding->text);
}

static void check_lint(const kf_task *task, const kf_problem *problem, const built *oracle,
                       const built *baseline)
{
    kf_lint_case cases[KF_MAX_ARGUMENTS + 2];
    size_t count = 0;
    for (int changed = -2; changed < problem->argument_count; changed++) {
        if (changed >= 0 && problem->arguments[changed].kind != KF_INPUT &&
            problem->arguments[changed].kind != KF_INOUT)
            continue;
        call_buffers inputs =
            fill_inputs(problem, changed == -2 ? 1234 : 99, KF_VARY_NONE, changed);
        call_buffers expected = buffers_new(problem, &inputs, true),
                     got = buffers_new(problem, &inputs, false);
        call(oracle->entry, problem, &expected);
        call(baseline->entry, problem, &got);
        cases[count++] = (kf_lint_case){
            .problem = problem,
            .given = (const double *const *)to_doubles(problem, &inputs, false, true),
            .expected = (const double *const *)to_doubles(problem, &expected, true, false),
            .baseline = (const double *const *)to_doubles(problem, &got, false, false),
            .base = changed >= 0 ? 1 : -1,
            .changed = changed >= 0 ? changed : 0};
        buffers_free(&got);
        buffers_free(&expected);
        buffers_free(&inputs);
    }
    kf_error error = {0};
    int errors = kf_lint_outputs(cases, count, print_finding, (void *)kf_task_name(task), &error);
    for (size_t i = 0; i < count; i++) {
        free_doubles(problem, cases[i].given);
        free_doubles(problem, cases[i].expected);
        free_doubles(problem, cases[i].baseline);
    }
    if (errors != 0) fail_msg("%s: %d findings %s", kf_task_name(task), errors, error.text);
}

/* ---- a task ---------------------------------------------------------------------------------- */

static void test_task(void **state)
{
    kf_error error = {0};
    kf_auto(kf_task) task = kf_task_load(*state, &error);
    if (!task) fail_msg("%s", error.text);

    const kf_task_file *files[MAX_CANDIDATES + MAX_MISTAKES + 2] = {kf_task_oracle(task),
                                                                    kf_task_baseline(task)};
    int count = 2;
    for (int s = 0; s < kf_task_seed_count(task); s++) {
        if (strstr(kf_task_seed(task, s)->text, "asm")) { /* for GPUs only */
            check_ptx(task, kf_task_seed(task, s));
            continue;
        }
        assert_true(count <= MAX_CANDIDATES);
        files[count++] = kf_task_seed(task, s);
    }
    kf_task_file wrong[MAX_MISTAKES];
    int mistaken = make_mistakes(task, wrong), built_count = count + mistaken;
    for (int i = 0; i < mistaken; i++) files[count + i] = &wrong[i];
    pid_t pids[MAX_CANDIDATES + MAX_MISTAKES + 2];
    built builds[MAX_CANDIDATES + MAX_MISTAKES + 2];
    for (int i = 0; i < built_count; i++) pids[i] = start_build(task, files[i], i == 0);
    for (int i = 0; i < built_count; i++) builds[i] = finish_build(task, files[i], i == 0, pids[i]);

    bool linted = false;
    int found[MAX_MISTAKES] = {0};
    for (int w = 0; w < kf_task_workload_count(task); w++) {
        kf_problem problem;
        bool applies;
        if (!kf_task_resolve(task, w, "cpu", &problem, &applies, &error))
            fail_msg("%s", error.text);
        if (!applies || problem.timed) continue;
        check_workload(task, &problem, &builds[0], builds + 1, count - 1, mistaken, found);
        if (!linted) check_lint(task, &problem, &builds[0], &builds[1]);
        linted = true;
    }
    assert_true(linted);
    for (int i = 0; i < mistaken; i++)
        if (!found[i]) fail_msg("%s: mistake %d of the table passes", kf_task_name(task), i);
    for (int i = 0; i < built_count; i++) dlclose(builds[i].library);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

int test_program(void)
{
    struct CMUnitTest tests[64];
    size_t count = test_cases_of_files("", KFORGE_SOURCE_DIR "/tasks/", "/task.json", test_task,
                                       tests, sizeof tests / sizeof *tests);
    return test_group("tasks", tests, count, make_folder, remove_folder);
}
