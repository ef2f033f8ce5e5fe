/* The text of solution.json (export_flashinfer.h). */
#include <stdlib.h>
#include <string.h>

#include "export_flashinfer.h"
#include "kforge/buffer.h"
#include "kforge/build.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "modelnew_internal.h"

const cJSON *kf_flashinfer_definition(const kf_task *task)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(task), "definition");
    return cJSON_IsObject(found) ? found : NULL;
}

bool kf_flashinfer_is_sol(const kf_task *task)
{
    const char *suite = kf_json_get_text(kf_modelnew_origin(task), "suite", NULL);
    return suite && strcmp(suite, "sol-execbench") == 0;
}

static const cJSON *list_in(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Finds the first input with an axis. False if no input has it. */
static bool find_axis(const cJSON *definition, const char *axis, const char **input, int *dim)
{
    const cJSON *spec, *extent;
    cJSON_ArrayForEach(spec, list_in(definition, "inputs"))
    {
        *dim = 0;
        cJSON_ArrayForEach(extent, list_in(spec, "shape"))
        {
            *input = spec->string;
            if (cJSON_IsString(extent) && strcmp(extent->valuestring, axis) == 0) return true;
            ++*dim;
        }
    }
    return false;
}

/* Finds the axis of an argument that is a size. The import names it as the axis, or size_AXIS. */
static const char *axis_of_argument(const cJSON *definition, const char *argument)
{
    const cJSON *axis;
    cJSON_ArrayForEach(axis, list_in(definition, "axes"))
    {
        if (strcmp(axis->string, argument) == 0 ||
            (strncmp(argument, "size_", 5) == 0 && strcmp(axis->string, argument + 5) == 0))
            return axis->string;
    }
    return NULL;
}

static bool is_input(const cJSON *definition, const char *name)
{
    return cJSON_HasObjectItem(list_in(definition, "inputs"), name);
}

/* Writes the value of an argument that is a size: "x.shape[0]", or "x.size(0)" in C++. */
static bool write_size(kf_buffer *text, const cJSON *definition, const char *argument, bool cpp,
                       kf_error *error)
{
    const char *axis = axis_of_argument(definition, argument), *input;
    int dim;
    if (!axis || !find_axis(definition, axis, &input, &dim))
        return kf_fail(error, KF_ERROR_INPUT,
                       "the size %s is not the extent of an input: a solution can't know it",
                       argument);
    kf_buffer_format(text, cpp ? "%s.size(%d)" : "%s.shape[%d]", input, dim);
    return true;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* The candidate may have a run of its own, as an imported problem has. */
static bool write_python(kf_buffer *text, const kf_task *task, const char *source, kf_error *error)
{
    const cJSON *definition = kf_flashinfer_definition(task), *input, *name,
                *torch = list_in(kf_task_json(task), "torch");
    kf_buffer_format(text, "%s\n\n_kforge_model = ModelNew()\n\n\ndef kforge_run(", source);
    const char *comma = "";
    cJSON_ArrayForEach(input, list_in(definition, "inputs"))
    {
        kf_buffer_format(text, "%s%s", comma, input->string);
        comma = ", ";
    }
    kf_buffer_string(text, "):\n    return _kforge_model(");
    comma = "";
    cJSON_ArrayForEach(name, list_in(torch, "forward"))
    {
        kf_buffer_string(text, comma);
        if (is_input(definition, name->valuestring))
            kf_buffer_string(text, name->valuestring);
        else if (!write_size(text, definition, name->valuestring, false, error))
            return false;
        comma = ", ";
    }
    kf_buffer_string(text, ")\n");
    return true;
}

/* ---- C++ ------------------------------------------------------------------------------------- */

static bool write_arguments(kf_buffer *text, const kf_problem *problem, const cJSON *definition,
                            kf_error *error)
{
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        if (a->kind != KF_SCALAR)
            kf_buffer_format(text, "%s.data_ptr(), ", a->name);
        else {
            kf_buffer_format(text, "(%s)", kf_dtype_ctype(a->dtype));
            if (is_input(definition, a->name))
                kf_buffer_string(text, a->name);
            else if (!write_size(text, definition, a->name, true, error))
                return false;
            kf_buffer_string(text, ", ");
        }
    }
    return true;
}

/* Writes the parameters of run: inputs in the definition's order, then outputs. */
static void write_parameters(kf_buffer *text, const cJSON *definition)
{
    static const char *const groups[] = {"inputs", "outputs"};
    const char *comma = "";
    for (int g = 0; g < 2; g++) {
        const cJSON *spec;
        cJSON_ArrayForEach(spec, list_in(definition, groups[g]))
        {
            const char *dtype = kf_json_get_text(spec, "dtype", "");
            const char *type = !cJSON_IsNull(list_in(spec, "shape")) ? "torch::Tensor"
                               : strncmp(dtype, "int", 3) == 0       ? "int64_t"
                               : strcmp(dtype, "bool") == 0          ? "bool"
                                                                     : "double";
            kf_buffer_format(text, "%s%s %s", comma, type, spec->string);
            comma = ", ";
        }
    }
}

/* The entry is declared by address, because the candidate's own types are in its own file. */
static bool write_binding(kf_buffer *text, const kf_task *task, const kf_problem *problem,
                          kf_error *error)
{
    const cJSON *definition = kf_flashinfer_definition(task);
    kf_buffer_format(text,
                     "#include <cstdint>\n#include <ATen/cuda/CUDAContext.h>\n"
                     "#include <torch/extension.h>\n\nextern \"C\" void %s(",
                     kf_task_entry(task));
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *a = &problem->arguments[i];
        kf_buffer_format(text, "%s, ",
                         a->kind == KF_SCALAR  ? kf_dtype_ctype(a->dtype)
                         : a->kind == KF_INPUT ? "const void *"
                                               : "void *");
    }
    kf_buffer_string(text, "void *);\n\nvoid run(");
    write_parameters(text, definition);
    kf_buffer_format(text, ")\n{\n    %s(", kf_task_entry(task));
    if (!write_arguments(text, problem, definition, error)) return false;
    kf_buffer_string(text, "(void *)at::cuda::getCurrentCUDAStream().stream());\n}\n\n"
                           "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n{\n"
                           "    m.def(\"run\", &run);\n}\n");
    return true;
}

/* ---- the object ------------------------------------------------------------------------------ */

static bool add_source(cJSON *sources, const char *path, const char *content)
{
    cJSON *source = cJSON_CreateObject();
    return source && content && cJSON_AddItemToArray(sources, source) &&
           cJSON_AddStringToObject(source, "path", path) &&
           cJSON_AddStringToObject(source, "content", content);
}

static bool add_sources(cJSON *solution, const kf_task *task, const kf_winner *winner,
                        kf_error *error)
{
    cJSON *sources = cJSON_AddArrayToObject(solution, "sources");
    kf_autobuffer text = {0};
    bool made;
    if (kf_source_is_python(winner->source, winner->size)) {
        if (!write_python(&text, task, winner->source, error)) return false;
        made = sources && !text.failed && add_source(sources, "main.py", text.data);
    } else {
        /* The judge includes this header before a candidate. */
        kf_autofree char *header = kf_build_prototype_header(task, false);
        kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
        kf_autobuffer kernel = {0};
        if (!problem || !header) return kf_fail_memory(error, "a solution");
        const char *pragma = strstr(header, "#pragma once\n");
        kf_buffer_string(&kernel, pragma ? pragma + 13 : header);
        kf_buffer_string(&kernel, winner->source);
        if (!kf_modelnew_resolve(task, winner->on_cpu, problem, NULL, error) ||
            !write_binding(&text, task, problem, error))
            return false;
        made = sources && !text.failed && !kernel.failed &&
               add_source(sources, "kernel.cu", kernel.data) &&
               add_source(sources, "main.cpp", text.data);
    }
    return made || kf_fail_memory(error, "a solution");
}

/* FlashInfer-Bench has one language and a binding, SOL-ExecBench a list of its own words. */
static bool add_spec(cJSON *solution, const kf_task *task, const kf_winner *winner)
{
    bool python = kf_source_is_python(winner->source, winner->size),
         sol = kf_flashinfer_is_sol(task);
    cJSON *spec = cJSON_AddObjectToObject(solution, "spec"), *languages = NULL;
    const char *language = python ? sol ? "pytorch" : "python" : sol ? "cuda_cpp" : "cuda";
    const char *const hardware[] = {sol ? "LOCAL" : winner->device}, *const none[] = {"torch"};
    cJSON *targets = cJSON_CreateStringArray(hardware, 1);
    cJSON *needs = cJSON_CreateStringArray(none, 1), *options = NULL;
    bool made = spec && targets && cJSON_AddItemToObject(spec, "target_hardware", targets) &&
                needs && cJSON_AddItemToObject(spec, "dependencies", needs) &&
                cJSON_AddStringToObject(spec, "entry_point",
                                        python ? "main.py::kforge_run" : "main.cpp::run") &&
                cJSON_AddBoolToObject(spec, "destination_passing_style", !python);
    if (made && sol)
        made = (languages = cJSON_CreateStringArray(&language, 1)) &&
               cJSON_AddItemToObject(spec, "languages", languages);
    else
        made = made && cJSON_AddStringToObject(spec, "language", language);
    if (!made || python) return made;
    kf_auto(cJSON) given = cJSON_Parse(winner->flags);
    cJSON *flags = cJSON_IsArray(given) ? kf_steal(&given) : cJSON_CreateArray();
    /* PyTorch takes the operators of half types away, and candidates may use them. It names the
     * standard that its headers need. */
    static const char *const usual[] = {
        "-O3", "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__",
        "-U__CUDA_NO_HALF2_OPERATORS__", "-U__CUDA_NO_BFLOAT16_CONVERSIONS__"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        cJSON_InsertItemInArray(flags, (int)i, cJSON_CreateString(usual[i]));
    return flags && cJSON_AddStringToObject(spec, "binding", "torch") &&
           (options = cJSON_AddObjectToObject(spec, "compile_options")) &&
           cJSON_AddItemToObject(options, "cuda_cflags", flags);
}

cJSON *kf_flashinfer_solution(const kf_task *task, const kf_winner *winner, const char *name,
                              kf_error *error)
{
    kf_auto(cJSON) solution = cJSON_CreateObject();
    const char *license = kf_json_get_text(kf_task_json(task), "license", "");
    char about[200];
    snprintf(about, sizeof about, "Candidate %.12s of kforge. Licence of the definition: %.100s.",
             winner->hash, *license ? license : "unknown");
    bool made =
        cJSON_AddStringToObject(solution, "name", name) &&
        cJSON_AddStringToObject(solution, "definition",
                                kf_json_get_text(kf_flashinfer_definition(task), "name", "")) &&
        cJSON_AddStringToObject(solution, "author", "kforge") &&
        cJSON_AddStringToObject(solution, "description", about) && add_spec(solution, task, winner);
    if (!made) return kf_fail_memory(error, "a solution"), NULL;
    return add_sources(solution, task, winner, error) ? kf_steal(&solution) : NULL;
}
