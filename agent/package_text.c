/* The texts of a package: CMake, header, dispatch and tests (see export_package.c). */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kforge/file.h"
#include "package_internal.h"

#define SHORT 12 /* digits of a hash in names */

void kf_package_begin(kf_buffer *header, kf_buffer *cmake, kf_buffer *readme)
{
    kf_buffer_string(header, "/* Kernels that kforge found, verified and timed. Each entry enqueues its work on `stream`. Pointers "
                             "are device memory. */\n"
                             "#ifndef KFORGE_KERNELS_H\n#define KFORGE_KERNELS_H\n\n#include <stdint.h>\n#include "
                             "<cuda_runtime.h>\n#include <cuda_fp16.h>\n"
                             "#include <cuda_bf16.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    kf_buffer_string(
        cmake,
        "# cmake -B build -DCMAKE_CUDA_ARCHITECTURES=90 && cmake --build build && ctest --test-dir build\n"
        "# For kforge's CPU device instead of a GPU: cmake -B build -DKFORGE_CPUCC=/path/to/kforge-cpucc\n"
        "cmake_minimum_required(VERSION 3.22)\n"
        "set(KFORGE_CPUCC \"\" CACHE FILEPATH \"kforge-cpucc, to build for the CPU device of kforge\")\n"
        "project(kforge_kernels LANGUAGES C CXX)\n"
        "if(NOT KFORGE_CPUCC)\n"
        "  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n    set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING \"\")\n  endif()\n"
        "  enable_language(CUDA)\n"
        "endif()\n"
        "include(CTest)\n"
        "add_library(kforge_kernels INTERFACE)\n"
        "target_include_directories(kforge_kernels INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)\n\n"
        "# library(NAME SOURCES s… OPTIONS o… LIBRARIES l…): a shared library that shows nothing but what its header marks.\n"
        "function(library name)\n"
        "  cmake_parse_arguments(PARSE_ARGV 1 a \"\" \"\" \"SOURCES;OPTIONS;LIBRARIES\")\n"
        "  list(TRANSFORM a_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)\n"
        "  if(KFORGE_CPUCC)\n"
        "    set(file ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so)\n"
        "    add_custom_command(OUTPUT ${file} COMMAND ${KFORGE_CPUCC} -o ${file} -I ${CMAKE_CURRENT_SOURCE_DIR}/include "
        "-DKFORGE_LOAD=1 ${a_OPTIONS} ${a_SOURCES}\n"
        "      DEPENDS ${a_SOURCES} VERBATIM)\n"
        "    add_custom_target(${name}_build ALL DEPENDS ${file})\n"
        "    add_library(${name} SHARED IMPORTED GLOBAL)\n"
        "    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${file} IMPORTED_NO_SONAME ON)\n"
        "    add_dependencies(${name} ${name}_build)\n"
        "  else()\n"
        "    add_library(${name} SHARED ${a_SOURCES})\n"
        "    set_target_properties(${name} PROPERTIES CUDA_VISIBILITY_PRESET hidden CUDA_STANDARD 17)\n"
        "    target_compile_options(${name} PRIVATE ${a_OPTIONS})\n"
        "    target_link_libraries(${name} PRIVATE ${a_LIBRARIES})\n"
        "    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)\n"
        "  endif()\n"
        "  target_link_libraries(kforge_kernels INTERFACE ${name})\n"
        "endfunction()\n\n"
        "# check(TASK LIBRARIES l…): the test of a task, which needs the device.\n"
        "function(check task)\n"
        "  cmake_parse_arguments(PARSE_ARGV 1 a \"\" \"\" \"LIBRARIES\")\n"
        "  set(sources ${CMAKE_CURRENT_SOURCE_DIR}/test/${task}.cu)\n"
        "  if(KFORGE_CPUCC)\n"
        "    set(file ${CMAKE_CURRENT_BINARY_DIR}/test_${task})\n"
        "    set(objects)\n"
        "    foreach(name IN LISTS a_LIBRARIES)\n      list(APPEND objects ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so)\n    "
        "endforeach()\n"
        "    # Loaded when the test runs: kforge-cpucc links no other libraries.\n"
        "    add_custom_command(OUTPUT ${file} COMMAND ${KFORGE_CPUCC} --exe -o ${file} -I ${CMAKE_CURRENT_SOURCE_DIR}/include\n"
        "      -DKFORGE_LOAD=1 ${sources} DEPENDS ${sources} VERBATIM)\n"
        "    add_custom_target(${task}_test_build ALL DEPENDS ${file})\n"
        "    add_test(NAME ${task} COMMAND ${file} ${objects})\n"
        "  else()\n"
        "    add_executable(test_${task} ${sources})\n"
        "    target_include_directories(test_${task} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)\n"
        "    target_link_libraries(test_${task} PRIVATE ${a_LIBRARIES})\n"
        "    add_test(NAME ${task} COMMAND test_${task})\n"
        "  endif()\n"
        "endfunction()\n\n");
    kf_buffer_string(
        readme,
        "# Kernels\n\nFound by kforge " KFORGE_VERSION
        "; `provenance.json` says what was measured where. Build with CMake (see CMakeLists.txt) and link\n"
        "`kforge_kernels`.\n\n| entry | speedup over the baseline | 95 % interval | on | kernels |\n|---|---|---|---|---|\n");
}

/* "void axpy(const float *x, …)" without the linkage. */
static char *signature(const kf_task *task)
{
    kf_autofree char *prototype = kf_task_prototype(task, false);
    if (!prototype) return NULL;
    const char *start = strncmp(prototype, "extern \"C\" ", 11) == 0 ? prototype + 11 : prototype;
    return strdup(start);
}

/* The same with another name: prefix up to the entry, `name`, the rest. */
static void append_renamed(kf_buffer *out, const char *text, const char *entry, const char *suffix)
{
    const char *at = strstr(text, entry);
    size_t head = at ? (size_t)(at - text) + strlen(entry) : 0;
    kf_buffer_append(out, text, head);
    kf_buffer_string(out, suffix);
    kf_buffer_string(out, text + head);
}

/* Names of the arguments, "x, y, n". */
static void append_names(kf_buffer *out, const kf_problem *problem)
{
    for (int i = 0; i < problem->argument_count; i++) kf_buffer_format(out, "%s, ", problem->arguments[i].name);
    kf_buffer_string(out, "stream");
}

/* A workload made concrete for the device that judged; false when it does not apply there. */
static bool resolve(const kf_winners *w, int workload, kf_problem *problem)
{
    bool applies;
    return kf_task_resolve(w->task, workload, w->on_cpu ? "cpu" : "cuda", problem, &applies, NULL) && applies;
}

static bool is_integer(kf_dtype dtype)
{
    return !kf_dtype_is_float(dtype);
}

/* src/TASK.cu: scalars of a workload that another kernel wins lead to it. */
static bool write_dispatch(const char *folder, const kf_winners *w, const char *text, kf_error *error)
{
    kf_autobuffer out = {0};
    kf_problem problem;
    bool any = false;
    const char *entry = kf_task_entry(w->task);
    kf_buffer_string(&out,
                     "/* Chooses by the scalars of the call; the first kernel is the default. */\n#include <kforge_kernels.h>\n"
                     "#ifdef KFORGE_LOAD /* found when the library is loaded, after those of the kernels */\n"
                     "#define FOUND_LATER __attribute__((weak))\n#else\n#define FOUND_LATER\n#endif\n");
    for (size_t i = 0; i < w->count; i++) {
        char suffix[32];
        snprintf(suffix, sizeof suffix, "_%.*s", SHORT, w->kernels[i].hash);
        kf_buffer_string(&out, "extern \"C\" FOUND_LATER ");
        append_renamed(&out, text, entry, suffix);
        kf_buffer_string(&out, ";\n");
    }
    kf_buffer_string(&out, "\nextern \"C\" __attribute__((visibility(\"default\"))) ");
    kf_buffer_string(&out, text);
    kf_buffer_string(&out, "\n{\n");
    for (int k = 0; k < kf_task_workload_count(w->task); k++) {
        if (!resolve(w, k, &problem)) continue;
        if (!any) any = true;
        if (w->choice[k] == 0) continue;
        kf_buffer_format(&out, "    /* workload %s */\n    if (true", kf_task_workload_name(w->task, k));
        for (int i = 0; i < problem.argument_count; i++)
            if (problem.arguments[i].kind == KF_SCALAR && is_integer(problem.arguments[i].dtype))
                kf_buffer_format(&out, " && %s == %" PRId64, problem.arguments[i].name, problem.arguments[i].value.integer);
        kf_buffer_format(&out, ") return %s_%.*s(", entry, SHORT, w->kernels[w->choice[k]].hash);
        append_names(&out, &problem);
        kf_buffer_string(&out, ");\n");
    }
    for (int k = 0; k < kf_task_workload_count(w->task) && !resolve(w, k, &problem); k++) continue;
    if (!any)
        return kf_fail(error, KF_ERROR_INPUT, "task %s: no workload applies to the device that judged it", kf_task_name(w->task));
    kf_buffer_format(&out, "    %s_%.*s(", entry, SHORT, w->kernels[0].hash);
    append_names(&out, &problem);
    kf_buffer_string(&out, ");\n}\n");
    char name[300];
    snprintf(name, sizeof name, "src/%s.cu", kf_task_name(w->task));
    return kf_package_put(folder, name, &out, error);
}

static bool write_kernel(const char *folder, const kf_winners *w, const kf_kernel *kernel, const char *text, kf_error *error)
{
    char name[400];
    kf_autobuffer header = {0}, source = {0};
    kf_buffer_string(
        &header, "/* What the source must define; its entry is renamed by a macro. */\n#pragma once\n#include <stdint.h>\n#include "
                 "<cuda_runtime.h>\n");
    if (strstr(text, "__half")) kf_buffer_string(&header, "#include <cuda_fp16.h>\n");
    if (strstr(text, "__nv_bfloat16")) kf_buffer_string(&header, "#include <cuda_bf16.h>\n");
    if (strstr(text, "__nv_fp8")) kf_buffer_string(&header, "#include <cuda_fp8.h>\n");
    kf_buffer_format(&header, "#define %s %s_%.*s\nextern \"C\" __attribute__((visibility(\"default\"))) %s;\n",
                     kf_task_entry(w->task), kf_task_entry(w->task), SHORT, kernel->hash, text);
    kf_buffer_append(&source, kernel->source, kernel->size);
    snprintf(name, sizeof name, "src/%s_%.*s.h", kf_task_name(w->task), SHORT, kernel->hash);
    if (!kf_package_put(folder, name, &header, error)) return false;
    snprintf(name, sizeof name, "src/%s_%.*s.cu", kf_task_name(w->task), SHORT, kernel->hash);
    return kf_package_put(folder, name, &source, error);
}

/* ---- test ---- */

static const char *const fillers[KF_DISTRIBUTION_COUNT] = {
    [KF_NORMAL] = "normal",
    [KF_UNIFORM] = "uniform",
    [KF_INTEGERS] = "integers",
    [KF_PERMUTATION] = "permutation",
    [KF_SORTED] = "sorted",
    [KF_OFFSETS] = "offsets",
    [KF_SPARSE] = "sparse",
    [KF_CONSTANT] = "constant",
    [KF_ONE_HOT] = "one_hot",
    [KF_POSITIVE_DEFINITE] = "positive_definite",
    [KF_SYMMETRIC] = "symmetric",
    [KF_UPPER_TRIANGULAR] = "upper_triangular",
    [KF_LOWER_TRIANGULAR] = "lower_triangular",
    [KF_SIGNS] = "signs",
};

/* The applicable workload that needs the least memory. */
static bool smallest(const kf_winners *w, kf_problem *problem)
{
    kf_problem other;
    bool any = false;
    for (int k = 0; k < kf_task_workload_count(w->task); k++)
        if (resolve(w, k, &other) && (!any || other.total_bytes < problem->total_bytes)) {
            *problem = other;
            any = true;
        }
    return any;
}

static bool write_test(const char *folder, const kf_winners *w, const char *text, kf_error *error)
{
    kf_problem problem;
    if (!smallest(w, &problem)) return kf_fail(error, KF_ERROR_INPUT, "task %s: no workload applies", kf_task_name(w->task));
    kf_autobuffer out = {0}, baseline = {0};
    const char *entry = kf_task_entry(w->task), *name = kf_task_name(w->task);
    kf_buffer_format(
        &out,
        "/* %s on workload %s: the entry's outputs beside the baseline's. A smoke test: kforge's judge is the proof. */\n"
        "#include <kforge_kernels.h>\n#include \"fill.h\"\n#define %s %s_baseline\n#include \"%s_baseline.cu\"\n#undef %s\n\n",
        name, problem.workload, entry, entry, name, entry);
    kf_buffer_string(&out, "typedef ");
    /* A function type: "void NAME(…)" with the entry's name replaced. */
    const char *at = strstr(text, entry);
    kf_buffer_append(&out, text, at ? (size_t)(at - text) : 0);
    kf_buffer_format(&out, "entry_type%s;\n\nint main(int argc, char **argv)\n{\n", at ? at + strlen(entry) : text);
    kf_buffer_format(&out,
                     "    entry_type *entry = KFORGE_ENTRY(%s);\n    cudaStream_t stream;\n    CHECK(cudaStreamCreate(&stream));\n"
                     "    int wrong = 0;\n",
                     entry);
    for (int i = 0; i < problem.argument_count; i++) {
        const kf_problem_argument *a = &problem.arguments[i];
        const char *type = kf_dtype_ctype(a->dtype);
        if (a->kind == KF_SCALAR) {
            if (is_integer(a->dtype))
                kf_buffer_format(&out, "    %s %s = (%s)%" PRId64 "LL;\n", type, a->name, type, a->value.integer);
            else
                kf_buffer_format(&out, "    %s %s = (%s)%.17g;\n", type, a->name, type, a->value.number);
            continue;
        }
        bool filled = a->kind == KF_INPUT || a->kind == KF_INOUT;
        kf_buffer_format(&out, "    buffer<%s> %s(%" PRId64 ", %" PRId64 ");\n", type, a->name, a->elements,
                         a->dims ? a->shape[a->dims - 1] : (int64_t)1);
        if (filled)
            kf_buffer_format(&out, "    %s.%s(%.17g, %.17g);\n", a->name, fillers[a->distribution.kind], a->distribution.a,
                             a->distribution.b);
    }
    for (int run = 0; run < 2; run++) {
        for (int i = 0; i < problem.argument_count; i++)
            if (problem.arguments[i].kind != KF_SCALAR) kf_buffer_format(&out, "    %s.upload();\n", problem.arguments[i].name);
        kf_buffer_format(&out, run ? "    entry(" : "    %s_baseline(", entry);
        for (int i = 0; i < problem.argument_count; i++)
            kf_buffer_format(&out, "%s%s, ", problem.arguments[i].name, problem.arguments[i].kind == KF_SCALAR ? "" : ".device");
        kf_buffer_string(&out, "stream);\n    CHECK(cudaStreamSynchronize(stream));\n    CHECK(cudaGetLastError());\n");
        for (int i = 0; i < problem.argument_count; i++) {
            const kf_problem_argument *a = &problem.arguments[i];
            if (a->kind != KF_OUTPUT && a->kind != KF_INOUT) continue;
            if (run)
                kf_buffer_format(&out, "    wrong += %s.differs(\"%s\", %s);\n", a->name, a->name,
                                 a->tolerance.kind == KF_ANY_ORDER ? "true" : "false");
            else
                kf_buffer_format(&out, "    %s.keep();\n", a->name);
        }
    }
    kf_buffer_string(&out, "    (void)argc, (void)argv;\n    return wrong != 0;\n}\n");
    const kf_task_file *file = kf_task_baseline(w->task);
    kf_buffer_append(&baseline, file->text, file->size);
    char path[400];
    snprintf(path, sizeof path, "test/%s_baseline.cu", name);
    if (!kf_package_put(folder, path, &baseline, error)) return false;
    snprintf(path, sizeof path, "test/%s.cu", name);
    return kf_package_put(folder, path, &out, error);
}

/* ---- a task ---- */

static void append_flags(kf_buffer *cmake, const char *flags)
{
    cJSON *list = cJSON_Parse(flags);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, list)
    {
        if (cJSON_IsString(flag)) kf_buffer_format(cmake, " [==[%s]==]", flag->valuestring);
    }
    cJSON_Delete(list);
}

bool kf_package_write_task(const char *folder, const kf_winners *w, kf_buffer *header, kf_buffer *cmake, kf_buffer *readme,
                           kf_error *error)
{
    kf_autofree char *text = signature(w->task);
    const char *name = kf_task_name(w->task);
    if (!text) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    const kf_kernel *best = &w->kernels[0];
    kf_buffer_format(header, "\n/* %s: %.3f times as fast as its baseline (95 %% interval %.3f to %.3f) on %s. */\n%s;\n",
                     kf_task_name(w->task), best->speedup.value, best->speedup.low, best->speedup.high, best->device, text);
    kf_buffer_format(readme, "| `%s` | %.3f | %.3f to %.3f | %s | %zu |\n", text, best->speedup.value, best->speedup.low,
                     best->speedup.high, best->device, w->count);
    for (size_t i = 0; i < w->count; i++) {
        if (!write_kernel(folder, w, &w->kernels[i], text, error)) return false;
        kf_buffer_format(cmake, "library(%s_%.*s SOURCES src/%s_%.*s.cu OPTIONS -include ${CMAKE_CURRENT_SOURCE_DIR}/src/%s_%.*s.h",
                         name, SHORT, w->kernels[i].hash, name, SHORT, w->kernels[i].hash, name, SHORT, w->kernels[i].hash);
        append_flags(cmake, w->kernels[i].flags);
        kf_buffer_string(cmake, ")\n");
    }
    kf_buffer_format(cmake, "library(%s SOURCES src/%s.cu LIBRARIES", name, name);
    for (size_t i = 0; i < w->count; i++) kf_buffer_format(cmake, " %s_%.*s", name, SHORT, w->kernels[i].hash);
    kf_buffer_format(cmake, ")\ncheck(%s LIBRARIES", name);
    for (size_t i = 0; i < w->count; i++) kf_buffer_format(cmake, " %s_%.*s", name, SHORT, w->kernels[i].hash);
    kf_buffer_format(cmake, " %s)\n\n", name);
    return write_dispatch(folder, w, text, error) && write_test(folder, w, text, error);
}

static const char fill_text[] =
    "/* Buffers of a test: filled like the task's inputs, uploaded, compared. */\n"
    "#pragma once\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include "
    "<numeric>\n"
    "#include <random>\n#include <type_traits>\n#include <vector>\n#include <dlfcn.h>\n#include <cuda_runtime.h>\n\n"
    "#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::fprintf(stderr, \"%s: %s\\n\", #call, "
    "cudaGetErrorString(e)); "
    "std::exit(77); } } while (0)\n"
    "#ifdef KFORGE_LOAD /* the libraries are the arguments, the one with the entry last */\n"
    "static void *kforge_load(int argc, char **argv, const char *name)\n{\n    void *found = nullptr;\n"
    "    for (int i = 1; i < argc; i++) {\n        void *library = dlopen(argv[i], RTLD_LAZY | RTLD_GLOBAL);\n"
    "        if (!library) { std::fprintf(stderr, \"%s\\n\", dlerror()); std::exit(1); }\n"
    "        if (void *symbol = dlsym(library, name)) found = symbol;\n    }\n    if (!found) std::exit(1);\n    return found;\n}\n"
    "#define KFORGE_ENTRY(NAME) ((entry_type *)kforge_load(argc, argv, #NAME))\n"
    "#else\n#define KFORGE_ENTRY(NAME) (&NAME)\n#endif\n\n"
    "template <typename T> struct buffer {\n"
    "    std::vector<T> host, kept;\n    T *device = nullptr;\n    int64_t last;\n    std::mt19937_64 random{42};\n"
    "    buffer(int64_t count, int64_t last_axis) : host(count), last(last_axis)\n    {\n"
    "        CHECK(cudaMalloc((void **)&device, count * sizeof(T)));\n        std::fill(host.begin(), host.end(), T(0.0f));\n    "
    "}\n"
    "    static double number(T value) { return (double)(float)value; }\n"
    "    template <typename D> void draw(D d) { for (T &x : host) x = T((float)d(random)); }\n"
    "    void normal(double mean, double deviation) { draw(std::normal_distribution<float>(mean, deviation)); }\n"
    "    void uniform(double low, double high) { draw(std::uniform_real_distribution<float>(low, high)); }\n"
    "    void integers(double low, double high)\n    {\n"
    "        std::uniform_int_distribution<int64_t> d((int64_t)low, (int64_t)high - 1);\n        for (T &x : host) x = "
    "T(d(random));\n    }\n"
    "    void permutation(double, double)\n    {\n        std::vector<int64_t> p(host.size());\n        std::iota(p.begin(), "
    "p.end(), 0);\n"
    "        std::shuffle(p.begin(), p.end(), random);\n        for (size_t i = 0; i < p.size(); i++) host[i] = T(p[i]);\n    }\n"
    "    void sorted(double low, double high)\n    {\n        std::vector<float> row(last);\n"
    "        std::uniform_real_distribution<float> d(low, high);\n"
    "        for (size_t i = 0; i < host.size(); i += last) {\n            for (float &x : row) x = d(random);\n"
    "            std::sort(row.begin(), row.end());\n            for (int64_t k = 0; k < last; k++) host[i + k] = T(row[k]);\n     "
    "   }\n    }\n"
    "    void offsets(double total, double)\n    {\n        size_t n = host.size();\n"
    "        for (size_t i = 0; i < n; i++) host[i] = T(n > 1 ? (int64_t)(total * (double)i / (double)(n - 1)) : 0);\n    }\n"
    "    void sparse(double density, double)\n    {\n        std::normal_distribution<float> d;\n        "
    "std::bernoulli_distribution some(density);\n"
    "        for (T &x : host) x = T(some(random) ? d(random) : 0.0f);\n    }\n"
    "    void constant(double value, double) { std::fill(host.begin(), host.end(), T((float)value)); }\n"
    "    void one_hot(double, double)\n    {\n        for (size_t i = 0; i < host.size(); i += last) host[i + random() % last] = "
    "T(1.0f);\n    }\n"
    "    void positive_definite(double dominance, double)\n    {\n        std::normal_distribution<float> d;\n"
    "        int64_t n = last;\n        for (size_t m = 0; m < host.size(); m += n * n)\n            for (int64_t i = 0; i < n; "
    "i++)\n"
    "                for (int64_t k = 0; k <= i; k++) {\n                    float x = i == k ? (float)(n * (1 + dominance)) : "
    "d(random);\n"
    "                    host[m + i * n + k] = host[m + k * n + i] = T(x);\n                }\n    }\n"
    "    void square(double low, double high, int zero)\n    {\n        std::uniform_real_distribution<float> d(low, high);\n"
    "        int64_t n = last;\n        for (size_t m = 0; m < host.size(); m += n * n)\n            for (int64_t i = 0; i < n; "
    "i++)\n"
    "                for (int64_t k = 0; k <= i; k++) {\n                    float x = d(random);\n"
    "                    host[m + i * n + k] = T(i != k && zero > 0 ? 0.0f : x);\n"
    "                    host[m + k * n + i] = T(i != k && zero < 0 ? 0.0f : x);\n                }\n    }\n"
    "    void symmetric(double low, double high) { square(low, high, 0); }\n"
    "    void upper_triangular(double low, double high) { square(low, high, 1); }\n"
    "    void lower_triangular(double low, double high) { square(low, high, -1); }\n"
    "    void signs(double, double) { for (T &x : host) x = T(random() & 1 ? 1.0f : -1.0f); }\n"
    "    void upload() { CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice)); }\n"
    "    std::vector<T> download()\n    {\n        std::vector<T> result(host.size());\n"
    "        CHECK(cudaMemcpy(result.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));\n        return result;\n  "
    "  }\n"
    "    void keep() { kept = download(); }\n"
    "    int differs(const char *name, bool any_order)\n    {\n        std::vector<T> got = download();\n"
    "        std::vector<double> a, b;\n        for (T x : kept) a.push_back(number(x));\n        for (T x : got) "
    "b.push_back(number(x));\n"
    "        if (any_order) std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());\n        double error = 0, scale = 0;\n"
    "        for (size_t i = 0; i < a.size(); i++) error += (a[i] - b[i]) * (a[i] - b[i]), scale += a[i] * a[i];\n"
    "        double relative = std::sqrt(error / (scale > 0 ? scale : 1)), limit = std::is_integral<T>::value ? 0 : sizeof(T) >= 4 "
    "? 1e-3 : 3e-2;\n"
    "        bool wrong = !(relative <= limit);\n"
    "        std::printf(\"%s: relative difference to the baseline %.3g, %s\\n\", name, relative, wrong ? \"WRONG\" : \"fine\");\n"
    "        return wrong;\n    }\n};\n";

bool kf_package_write_fixed(const char *folder, kf_error *error)
{
    kf_autobuffer text = {0};
    kf_buffer_string(&text, fill_text);
    return kf_package_put(folder, "test/fill.h", &text, error);
}
