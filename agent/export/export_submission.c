/* A candidate of a task in GPU MODE's format as submission.py: a function custom_kernel(data) that
 * takes the data of the format's generator.
 *
 * A candidate in CUDA C is compiled with load_inline. Its sizes are read from the shapes of its
 * inputs. A file with custom_kernel stays as it is, and ModelNew is called. The import says in
 * origin.definition.parts which part of `data` is which argument; null is room for an output, which
 * is not used: custom_kernel returns its own tensors. */
#include <stdlib.h>
#include <string.h>

#include "kforge/build.h"
#include "kforge/scan.h"
#include "modelnew_internal.h"

static const cJSON *parts_of(const kf_task *task)
{
    const cJSON *definition =
        cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(task), "definition");
    const cJSON *parts = cJSON_GetObjectItemCaseSensitive(definition, "parts");
    return cJSON_IsArray(parts) ? parts : NULL;
}

/* Writes "a, b, _ = data" or "a = data". */
static void write_unpacking(const kf_task *task, const cJSON *parts, kf_buffer *text)
{
    const cJSON *definition =
        cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(task), "definition");
    bool whole = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(definition, "whole"));
    const cJSON *part;
    kf_buffer_string(text, "    ");
    cJSON_ArrayForEach(part, parts) kf_buffer_format(
        text, whole ? "%s" : "%s, ", cJSON_IsString(part) ? part->valuestring : "_");
    kf_buffer_string(text, whole ? " = data\n" : "= data\n");
}

/* Returns the argument of task.json. */
static const cJSON *argument_of(const kf_task *task, const char *name)
{
    const cJSON *argument;
    cJSON_ArrayForEach(argument, cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "arguments"))
    {
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(argument, "name");
        if (cJSON_IsString(own) && strcmp(own->valuestring, name) == 0) return argument;
    }
    return NULL;
}

static const cJSON *shape_of(const kf_task *task, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(argument_of(task, name), "shape");
}

/* Writes "rows = a.shape[0]" for a param that is an extent of an input. False for others. */
static bool write_size(const kf_task *task, const kf_problem *problem, const char *param,
                       kf_buffer *text)
{
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        const cJSON *extent;
        int axis = 0;
        if (argument->kind != KF_INPUT) continue;
        cJSON_ArrayForEach(extent, shape_of(task, argument->name))
        {
            if (cJSON_IsString(extent) && strcmp(extent->valuestring, param) == 0) {
                kf_buffer_format(text, "    %s = %s.shape[%d]\n", param, argument->name, axis);
                return true;
            }
            axis++;
        }
    }
    return false;
}

static bool write_sizes(const kf_task *task, const kf_problem *problem, kf_buffer *text,
                        kf_error *error)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"), *name;
    cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(torch, "sizes"))
    {
        if (!write_size(task, problem, name->valuestring, text))
            return kf_fail(error, KF_ERROR_INPUT,
                           "%s: the size %s is no extent of an input, so submission.py can't know "
                           "it; export a solution in Python with custom_kernel",
                           kf_task_name(task), name->valuestring);
    }
    return true;
}

static void write_outputs(const kf_task *task, const kf_problem *problem, const char *first,
                          kf_buffer *text)
{
    kf_buffer_string(text, "    outputs = [\n");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        const cJSON *extent;
        if (argument->kind != KF_OUTPUT) continue;
        kf_buffer_string(text, "        torch.empty((");
        cJSON_ArrayForEach(extent, shape_of(task, argument->name))
        {
            if (cJSON_IsString(extent))
                kf_buffer_format(text, "%s, ", extent->valuestring);
            else
                kf_buffer_format(text, "%.0f, ", extent->valuedouble);
        }
        kf_buffer_format(text, "), dtype=%s, device=%s.device),\n",
                         kf_modelnew_dtype(argument->dtype), first);
    }
    kf_buffer_string(text, "    ]\n");
}

static bool write_kernel(const kf_task *task, const kf_problem *problem, kf_buffer *text,
                         kf_error *error)
{
    const char *first = NULL;
    int outputs = 0;
    kf_buffer_string(text, "def custom_kernel(data):\n");
    write_unpacking(task, parts_of(task), text);
    if (!write_sizes(task, problem, text, error)) return false;
    for (int i = 0; i < problem->argument_count; i++) {
        outputs += problem->arguments[i].kind == KF_OUTPUT;
        if (!first && problem->arguments[i].kind == KF_INPUT) first = problem->arguments[i].name;
    }
    write_outputs(task, problem, first, text);
    kf_buffer_format(text,
                     "    stream = torch.cuda.current_stream(%s.device).cuda_stream if %s.is_cuda "
                     "else 0\n    _kforge_extension.kforge_run([",
                     first, first);
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind == KF_INPUT)
            kf_buffer_format(text, "%s.contiguous(), ", problem->arguments[i].name);
    kf_buffer_string(text, "] + outputs, ");
    for (int kind = 0; kind < 2; kind++) {
        kf_buffer_string(text, "[");
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind == KF_SCALAR && kf_dtype_is_float(argument->dtype) == !kind)
                kf_buffer_format(text, "%s, ", argument->name);
        }
        kf_buffer_string(text, "], ");
    }
    kf_buffer_format(text, "stream)\n    return %s\n",
                     outputs > 1 ? "tuple(outputs)" : "outputs[0]");
    return true;
}

/* Writes custom_kernel around a class ModelNew. */
static void write_adapter(const kf_task *task, kf_buffer *text)
{
    const cJSON *part;
    kf_buffer_string(text, "\n\n_kforge_model = ModelNew()\n\n\ndef custom_kernel(data):\n");
    write_unpacking(task, parts_of(task), text);
    kf_buffer_string(text, "    return _kforge_model(");
    cJSON_ArrayForEach(part, parts_of(task)) if (cJSON_IsString(part))
        kf_buffer_format(text, "%s, ", part->valuestring);
    kf_buffer_string(text, ")\n");
}

char *kf_submission_text(const kf_task *task, const kf_modelnew_source *given, kf_error *error)
{
    kf_autobuffer text = {0}, whole = {0};
    kf_buffer_format(&text, "#!POPCORN leaderboard %s\n%s", kf_task_name(task),
                     given->notes ? given->notes : "");
    bool own = strstr(given->text, "def custom_kernel") != NULL;
    if (!own && !parts_of(task))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: its data is nested; export a solution in Python with custom_kernel",
                       kf_task_name(task)),
               NULL;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    kf_autofree char *header = kf_build_prototype_header(task, false);
    kf_autofree char *binding = kf_modelnew_binding(task, error);
    if (!problem || !header || !binding)
        return binding ? kf_fail_memory(error, "a submission") : false, NULL;
    if (!kf_modelnew_resolve(task, given->on_cpu, problem, NULL, error)) return NULL;
    if (kf_source_is_python(given->text, given->size)) {
        if (own) text.size = 0;
        kf_buffer_append(&text, given->text, given->size);
        if (!own) write_adapter(task, &text);
    } else {
        const char *pragma = strstr(header, "#pragma once\n");
        kf_buffer_string(&whole, pragma ? pragma + 13 : header);
        kf_buffer_append(&whole, given->text, given->size);
        if (whole.failed) return kf_fail_memory(error, "a submission"), NULL;
        char hex[KF_HASH_HEX];
        kf_hash hash = kf_hash_bytes(given->text, given->size);
        kf_hash_hex(&hash, hex);
        kf_buffer_string(&text,
                         "import torch\nfrom torch.utils.cpp_extension import load_inline\n\n");
        kf_modelnew_write_literal(&text, "_KFORGE_SOURCE", whole.data);
        kf_modelnew_write_literal(&text, "_KFORGE_BINDING", binding);
        kf_modelnew_write_loading(task, hex, given->flags, &text);
        if (!write_kernel(task, problem, &text, error)) return NULL;
    }
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail_memory(error, "a submission");
    return taken;
}
