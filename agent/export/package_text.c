/* The texts of a package: CMake, header, dispatch and README (see export_package.c). */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "kforge/json.h"
#include "package_internal.h"

/* digits of a hash in names */
#define SHORT 12

static const char cmake_text[] =
    "# cmake -B build && cmake --build build && ctest --test-dir build; cmake --install build "
    "--prefix DIR, then "
    "find_package(kforge_kernels).\n"
    "# Each kernel is compiled for the GPU that it was measured on unless CMAKE_CUDA_ARCHITECTURES "
    "says otherwise.\n"
    "# For kforge's CPU device instead of a GPU: cmake -B build "
    "-DKFORGE_CPUCC=/path/to/kforge-cpucc\n"
    "cmake_minimum_required(VERSION 3.22)\n"
    "set(KFORGE_CPUCC \"\" CACHE FILEPATH \"kforge-cpucc, to build for the CPU device of "
    "kforge\")\n"
    "project(kforge_kernels LANGUAGES C CXX)\n"
    "if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)\n  set(CMAKE_BUILD_TYPE Release "
    "CACHE STRING \"\" FORCE)\nendif()\n"
    "include(GNUInstallDirs)\n"
    "add_library(kforge_kernels INTERFACE)\n"
    "add_library(kforge::kforge_kernels ALIAS kforge_kernels)\n"
    "target_include_directories(kforge_kernels INTERFACE "
    "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> "
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)\n"
    "if(NOT KFORGE_CPUCC)\n"
    "  set(KFORGE_ARCHITECTURES \"${CMAKE_CUDA_ARCHITECTURES}\")\n"
    "  if(NOT KFORGE_ARCHITECTURES)\n    set(CMAKE_CUDA_ARCHITECTURES 80)\n  endif()\n"
    "  enable_language(CUDA)\n"
    "  find_package(CUDAToolkit REQUIRED)\n"
    "  # The header needs CUDA's, also in C.\n"
    "  target_include_directories(kforge_kernels SYSTEM INTERFACE "
    "\"$<BUILD_INTERFACE:${CUDAToolkit_INCLUDE_DIRS}>\")\n"
    "  install(TARGETS kforge_kernels EXPORT kforge_kernels)\n"
    "  install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})\n"
    "  install(EXPORT kforge_kernels NAMESPACE kforge:: FILE kforge_kernelsConfig.cmake "
    "DESTINATION "
    "${CMAKE_INSTALL_LIBDIR}/cmake/kforge_kernels)\n"
    "endif()\n"
    "if(PROJECT_IS_TOP_LEVEL)\n  enable_testing()\nendif()\n\n"
    "# kforge_architecture(TARGET A): sets the architecture of the GPU that measured the kernel, "
    "unless CMAKE_CUDA_ARCHITECTURES is set.\n"
    "function(kforge_architecture target architecture)\n"
    "  if(architecture AND NOT KFORGE_ARCHITECTURES)\n"
    "    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES ${architecture})\n  "
    "endif()\n"
    "endfunction()\n\n"
    "# kforge_library(NAME SOURCES s… ARCHITECTURE a OPTIONS o… LIBRARIES l…): a shared library "
    "that shows nothing but what its "
    "header marks.\n"
    "function(kforge_library name)\n"
    "  cmake_parse_arguments(PARSE_ARGV 1 a \"\" \"ARCHITECTURE\" \"SOURCES;OPTIONS;LIBRARIES\")\n"
    "  list(TRANSFORM a_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)\n"
    "  if(KFORGE_CPUCC)\n"
    "    set(file ${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so)\n"
    "    add_custom_command(OUTPUT ${file} COMMAND ${KFORGE_CPUCC} -o ${file} -I "
    "${CMAKE_CURRENT_SOURCE_DIR}/include "
    "-DKFORGE_LOAD=1 ${a_OPTIONS} ${a_SOURCES}\n"
    "      DEPENDS ${a_SOURCES} VERBATIM)\n"
    "    add_custom_target(${name}_build ALL DEPENDS ${file})\n"
    "    add_library(${name} SHARED IMPORTED GLOBAL)\n"
    "    set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${file} IMPORTED_NO_SONAME "
    "ON)\n"
    "    add_dependencies(${name} ${name}_build)\n"
    "  else()\n"
    "    add_library(${name} SHARED ${a_SOURCES})\n"
    "    set_target_properties(${name} PROPERTIES CUDA_VISIBILITY_PRESET hidden CUDA_STANDARD 17 "
    "CUDA_STANDARD_REQUIRED ON "
    "INSTALL_RPATH "
    "\"$ORIGIN\")\n"
    "    kforge_architecture(${name} \"${a_ARCHITECTURE}\")\n"
    "    target_compile_options(${name} PRIVATE ${a_OPTIONS})\n"
    "    target_link_libraries(${name} PRIVATE ${a_LIBRARIES})\n"
    "    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include)\n"
    "    install(TARGETS ${name} EXPORT kforge_kernels LIBRARY DESTINATION "
    "${CMAKE_INSTALL_LIBDIR})\n"
    "  endif()\n"
    "  target_link_libraries(kforge_kernels INTERFACE ${name})\n"
    "endfunction()\n\n"
    "# kforge_check(TASK ARCHITECTURE a LIBRARIES l… LINKED l…): the test of a task, which needs "
    "the device; LINKED: CUDA's own "
    "libraries.\n"
    "function(kforge_check task)\n"
    "  cmake_parse_arguments(PARSE_ARGV 1 a \"\" \"ARCHITECTURE\" \"LIBRARIES;LINKED\")\n"
    "  if(NOT PROJECT_IS_TOP_LEVEL)\n    return()\n  endif()\n"
    "  set(sources ${CMAKE_CURRENT_SOURCE_DIR}/test/${task}.cu)\n"
    "  if(KFORGE_CPUCC)\n"
    "    set(file ${CMAKE_CURRENT_BINARY_DIR}/kforge_test_${task})\n"
    "    set(objects)\n"
    "    foreach(name IN LISTS a_LIBRARIES)\n      list(APPEND objects "
    "${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so)\n    "
    "endforeach()\n"
    "    # Loaded when the test runs: kforge-cpucc links no other libraries.\n"
    "    add_custom_command(OUTPUT ${file} COMMAND ${KFORGE_CPUCC} --exe -o ${file} -I "
    "${CMAKE_CURRENT_SOURCE_DIR}/include\n"
    "      -DKFORGE_LOAD=1 ${sources} DEPENDS ${sources} VERBATIM)\n"
    "    add_custom_target(kforge_test_${task}_build ALL DEPENDS ${file})\n"
    "    add_test(NAME ${task} COMMAND ${file} ${objects})\n"
    "  else()\n"
    "    add_executable(kforge_test_${task} ${sources})\n"
    "    set_target_properties(kforge_test_${task} PROPERTIES CUDA_STANDARD 17 "
    "CUDA_STANDARD_REQUIRED ON)\n"
    "    kforge_architecture(kforge_test_${task} \"${a_ARCHITECTURE}\")\n"
    "    target_include_directories(kforge_test_${task} PRIVATE "
    "${CMAKE_CURRENT_SOURCE_DIR}/include)\n"
    "    target_link_libraries(kforge_test_${task} PRIVATE ${a_LIBRARIES} ${a_LINKED} "
    "${CMAKE_DL_LIBS})\n"
    "    add_test(NAME ${task} COMMAND kforge_test_${task})\n"
    "  endif()\n"
    "  set_tests_properties(${task} PROPERTIES SKIP_RETURN_CODE 77)\n"
    "endfunction()\n\n";

static const char header_text[] =
    "/* Kernels that kforge found, verified and timed.\n"
    " *\n"
    " * Each entry enqueues its work on `stream` and returns; outputs are final once the stream is "
    "synchronised. Pointers are "
    "device memory, contiguous in\n"
    " * row-major order, aligned as cudaMalloc does, and do not overlap. An entry returns nothing: "
    "cudaGetLastError reports a failed launch.\n"
    " * Results were compared with a double-precision oracle on the workloads that are named here; "
    "a call with other sizes gets "
    "the kernel of the first\n"
    " * workload, which was not verified for it.\n"
    " */\n"
    "#ifndef KFORGE_KERNELS_H\n#define KFORGE_KERNELS_H\n\n#include <stdint.h>\n"
    "#ifndef __cplusplus\n#include <stdbool.h>\n#endif\n#include <cuda_runtime.h>\n#include "
    "<cuda_fp16.h>\n"
    "#include <cuda_bf16.h>\n";

static const char readme_text[] =
    "# Kernels\n\nFound by kforge " KFORGE_VERSION
    ", which checked each against a double-precision oracle and measured it twice, "
    "in fresh processes. `include/kforge_kernels.h` says what each\n"
    "takes and on which sizes it was verified, `provenance.json` what was measured where.\n\n"
    "```sh\ncmake -S . -B build && cmake --build build     # each for the GPU that it was measured "
    "on, or "
    "-DCMAKE_CUDA_ARCHITECTURES=…\n"
    "ctest --test-dir build                         # against the baseline on the smallest "
    "workload; needs a GPU\n"
    "cmake --install build --prefix DIR\n```\n\n"
    "In your project, `add_subdirectory` of this folder or "
    "`find_package(kforge_kernels)`:\n\n"
    "```cmake\ntarget_link_libraries(yours PRIVATE kforge::kforge_kernels)\n```\n\n"
    "| entry | speedup over the baseline | 95 % interval | on | kernels |\n|---|---|---|---|---|\n";

void kf_package_begin(kf_package *p)
{
    kf_buffer_string(&p->header, header_text);
    kf_buffer_string(&p->cmake, cmake_text);
    kf_buffer_string(&p->readme, readme_text);
}

void kf_package_end(kf_package *p)
{
    kf_buffer_string(&p->header, "\n#endif\n");
}

/* Returns "void axpy(const float *x, …)" without the linkage. */
static char *signature(const kf_task *task)
{
    kf_autofree char *prototype = kf_task_prototype(task, false);
    if (!prototype) return NULL;
    return strdup(strncmp(prototype, "extern \"C\" ", 11) == 0 ? prototype + 11 : prototype);
}

/* Appends the prototype with another name. */
static void append_renamed(kf_buffer *out, const char *text, const char *entry,
                           const kf_package_kernel *kernel)
{
    kf_buffer_format(out, "void %s_%.*s%s", entry, SHORT, kernel->winner.hash,
                     text + strlen("void ") + strlen(entry));
}

/* Appends the names of the arguments, "x, y, n". */
static void append_names(kf_buffer *out, const kf_problem *problem)
{
    for (int i = 0; i < problem->argument_count; i++)
        kf_buffer_format(out, "%s, ", problem->arguments[i].name);
    kf_buffer_string(out, "stream");
}

static bool put(kf_package *p, const char *folder, const char *name, const char *suffix,
                const kf_buffer *text, kf_error *error)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    if (text->failed) return kf_fail_memory(error, "a text of the package");
    return kf_winner_put(&p->files, path, text->data, text->size, error);
}

/* Writes src/TASK.cu: the scalars of a workload select its kernel. */
static bool write_dispatch(kf_package *p, const kf_winners *w, const char *text, kf_error *error)
{
    kf_autobuffer out = {0};
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    bool any = false;
    const char *entry = kf_task_entry(w->task);
    if (!problem) return kf_fail_memory(error, "a text of the package");
    kf_buffer_string(
        &out,
        "/* Chooses by the integers of the call, where another kernel than the first is faster "
        "without doubt. */\n"
        "#include <kforge_kernels.h>\n"
        "#ifdef KFORGE_LOAD /* found when the library is loaded, after those of the kernels */\n"
        "#define FOUND_LATER __attribute__((weak))\n#else\n#define FOUND_LATER\n#endif\n");
    for (size_t i = 0; i < w->count; i++) {
        kf_buffer_string(&out, "extern \"C\" FOUND_LATER ");
        append_renamed(&out, text, entry, &w->kernels[i]);
        kf_buffer_string(&out, ";\n");
    }
    kf_buffer_format(&out, "\nextern \"C\" __attribute__((visibility(\"default\"))) %s\n{\n", text);
    for (int k = 0; k < kf_task_workload_count(w->task); k++) {
        if (!kf_package_resolve(w, k, problem)) continue;
        any = true;
        if (w->choice[k] == 0) continue;
        const char *join = "if (";
        kf_buffer_format(&out, "    /* workload %s */\n    ", kf_task_workload_name(w->task, k));
        for (int i = 0; i < problem->argument_count; i++)
            if (kf_package_is_key(&problem->arguments[i])) {
                kf_buffer_format(&out, "%s%s == %" PRId64, join, problem->arguments[i].name,
                                 problem->arguments[i].value.integer);
                join = " && ";
            }
        kf_buffer_format(&out, ") return %s_%.*s(", entry, SHORT,
                         w->kernels[w->choice[k]].winner.hash);
        append_names(&out, problem);
        kf_buffer_string(&out, ");\n");
    }
    for (int k = 0; k < kf_task_workload_count(w->task) && !kf_package_resolve(w, k, problem); k++)
        continue;
    if (!any)
        return kf_fail(error, KF_ERROR_INPUT,
                       "task %s: no workload applies to the device that judged it",
                       kf_task_name(w->task));
    kf_buffer_format(&out, "    %s_%.*s(", entry, SHORT, w->kernels[0].winner.hash);
    append_names(&out, problem);
    kf_buffer_string(&out, ");\n}\n");
    return put(p, "src", kf_task_name(w->task), ".cu", &out, error);
}

static bool write_kernel(kf_package *p, const kf_winners *w, const kf_package_kernel *kernel,
                         const char *text, kf_error *error)
{
    char name[320];
    const char *entry = kf_task_entry(w->task);
    kf_autobuffer header = {0};
    kf_buffer_string(&header, "/* What the source must define; its entry is renamed by a macro. "
                              "*/\n#pragma once\n#include <stdint.h>\n#include "
                              "<cuda_runtime.h>\n");
    if (strstr(text, "__half")) kf_buffer_string(&header, "#include <cuda_fp16.h>\n");
    if (strstr(text, "__nv_bfloat16")) kf_buffer_string(&header, "#include <cuda_bf16.h>\n");
    if (strstr(text, "__nv_fp8")) kf_buffer_string(&header, "#include <cuda_fp8.h>\n");
    kf_buffer_format(
        &header, "#define %s %s_%.*s\nextern \"C\" __attribute__((visibility(\"default\"))) %s;\n",
        entry, entry, SHORT, kernel->winner.hash, text);
    snprintf(name, sizeof name, "%s_%.*s", kf_task_name(w->task), SHORT, kernel->winner.hash);
    kf_autobuffer source = {0};
    kf_buffer_append(&source, kernel->winner.source, kernel->winner.size);
    return put(p, "src", name, ".h", &header, error) && put(p, "src", name, ".cu", &source, error);
}

/* ---- the common files ------------------------------------------------------------------------ */

/* Appends a text that is safe in a comment. */
static void append_comment(kf_buffer *out, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        kf_buffer_append(out, *c == '\n' || *c == '\r' ? " " : c, 1);
        if ((*c == '*' && c[1] == '/') || (*c == '/' && c[1] == '*')) kf_buffer_string(out, " ");
    }
}

static void append_shape(kf_buffer *out, const cJSON *argument)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(argument, "shape"), *axis;
    const char *join = " [";
    cJSON_ArrayForEach(axis, shape)
    {
        kf_buffer_string(out, join);
        if (cJSON_IsString(axis)) append_comment(out, axis->valuestring);
        if (cJSON_IsNumber(axis)) kf_buffer_format(out, "%.0f", axis->valuedouble);
        join = ", ";
    }
    if (*join == ',') kf_buffer_string(out, "]");
}

/* Describes each argument and the verified sizes. */
static bool describe(kf_buffer *out, const kf_winners *w)
{
    static const char *const kinds[] = {"input", "output", "read and written", "scalar",
                                        "workspace"};
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(kf_task_json(w->task), "arguments");
    const kf_winner *best = &w->kernels[0].winner;
    if (!problem) return false;
    for (int k = 0; k < kf_task_workload_count(w->task) && !kf_package_resolve(w, k, problem); k++)
        continue;
    kf_buffer_format(out, "\n/* %s: ", kf_task_name(w->task));
    append_comment(out, kf_task_description(w->task));
    kf_buffer_string(out, "\n");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        if (a->kind == KF_SCALAR) continue;
        kf_buffer_format(out, " *     %s: %s, %s", a->name, kinds[a->kind],
                         kf_dtype_name(a->dtype));
        append_shape(out, cJSON_GetArrayItem(list, i));
        kf_buffer_string(out, "\n");
    }
    kf_buffer_format(out,
                     " * %.3f times as fast as its baseline (95 %% interval %.3f to %.3f) on %s.\n "
                     "* Verified for:",
                     best->speedup.value, best->speedup.low, best->speedup.high, best->device);
    for (int k = 0; k < kf_task_workload_count(w->task); k++) {
        if (!kf_package_resolve(w, k, problem)) continue;
        kf_buffer_format(out, "%s %s (", k ? ";" : "", kf_task_workload_name(w->task, k));
        const char *join = "";
        for (int i = 0; i < problem->argument_count; i++)
            if (kf_package_is_key(&problem->arguments[i])) {
                kf_buffer_format(out, "%s%s = %" PRId64, join, problem->arguments[i].name,
                                 problem->arguments[i].value.integer);
                join = ", ";
            }
        kf_buffer_string(out, *join ? ")" : "its one size)");
    }
    kf_buffer_string(out, " */\n");
    return true;
}

static void append_flags(kf_buffer *cmake, const char *flags)
{
    kf_auto(cJSON) list = cJSON_Parse(flags);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, list)
    {
        if (cJSON_IsString(flag)) kf_buffer_format(cmake, " [==[%s]==]", flag->valuestring);
    }
}

/* Links the CUDA libraries that the task allows. */
static void append_libraries(kf_buffer *cmake, const char *const *names)
{
    static const struct {
        const char *name, *target;
    } libraries[] = {{"cublas", "CUDA::cublas"},
                     {"cublaslt", "CUDA::cublasLt"},
                     {"cudnn", "cudnn"},
                     {"cufft", "CUDA::cufft"},
                     {"curand", "CUDA::curand"},
                     {"cusolver", "CUDA::cusolver"},
                     {"cusparse", "CUDA::cusparse"},
                     {"nvrtc", "CUDA::nvrtc"}};
    for (; names && *names; names++)
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
            if (strcmp(*names, libraries[i].name) == 0)
                kf_buffer_format(cmake, " %s", libraries[i].target);
}

static void add_to_cmake(kf_buffer *cmake, const kf_winners *w)
{
    const char *name = kf_task_name(w->task);
    for (size_t i = 0; i < w->count; i++) {
        const kf_winner *kernel = &w->kernels[i].winner;
        kf_buffer_format(cmake, "kforge_library(kforge_%s_%.*s SOURCES src/%s_%.*s.cu", name, SHORT,
                         kernel->hash, name, SHORT, kernel->hash);
        if (*w->kernels[i].architecture)
            kf_buffer_format(cmake, " ARCHITECTURE %s", w->kernels[i].architecture);
        kf_buffer_format(cmake, " OPTIONS -include ${CMAKE_CURRENT_SOURCE_DIR}/src/%s_%.*s.h", name,
                         SHORT, kernel->hash);
        append_flags(cmake, kernel->flags);
        kf_buffer_string(cmake, " LIBRARIES");
        append_libraries(cmake, kf_task_libraries(w->task));
        kf_buffer_string(cmake, ")\n");
    }
    kf_buffer_format(cmake, "kforge_library(kforge_%s SOURCES src/%s.cu LIBRARIES", name, name);
    for (size_t i = 0; i < w->count; i++)
        kf_buffer_format(cmake, " kforge_%s_%.*s", name, SHORT, w->kernels[i].winner.hash);
    kf_buffer_format(cmake, ")\nkforge_check(%s", name);
    if (*w->kernels[0].architecture)
        kf_buffer_format(cmake, " ARCHITECTURE %s", w->kernels[0].architecture);
    kf_buffer_string(cmake, " LIBRARIES");
    for (size_t i = 0; i < w->count; i++)
        kf_buffer_format(cmake, " kforge_%s_%.*s", name, SHORT, w->kernels[i].winner.hash);
    kf_buffer_format(cmake, " kforge_%s LINKED", name);
    append_libraries(cmake, kf_task_file_libraries(w->task, kf_task_baseline(w->task)));
    kf_buffer_string(cmake, ")\n\n");
}

bool kf_package_write_task(kf_package *p, const kf_winners *w, kf_error *error)
{
    kf_autofree char *text = signature(w->task);
    if (!text) return kf_fail_memory(error, "a text of the package");
    const kf_winner *best = &w->kernels[0].winner;
    if (strstr(text, "__nv_fp8")) kf_buffer_string(&p->header, "#include <cuda_fp8.h>\n");
    if (!describe(&p->header, w)) return kf_fail_memory(error, "a text of the package");
    kf_buffer_format(&p->header, "#ifdef __cplusplus\nextern \"C\"\n#endif\n%s;\n", text);
    kf_buffer_format(&p->readme, "| `%s` | %.3f | %.3f to %.3f | %s | %zu |\n", text,
                     best->speedup.value, best->speedup.low, best->speedup.high, best->device,
                     w->count);
    add_to_cmake(&p->cmake, w);
    for (size_t i = 0; i < w->count; i++)
        if (!write_kernel(p, w, &w->kernels[i], text, error)) return false;
    return write_dispatch(p, w, text, error) && kf_package_write_test(p, w, text, error);
}
