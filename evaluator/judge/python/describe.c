/* Runs describe.py on one file. */
#include "describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "torch_tool.h"

#define MAX_PATCHES 64

static cJSON *ask(const kf_describe_request *request, const char *folder, const char *file,
                  const volatile int *stop, kf_error *error)
{
    char threads[16], elements[32], seconds[32];
    snprintf(threads, sizeof threads, "%d", request->threads > 0 ? request->threads : 1);
    snprintf(elements, sizeof elements, "%lld", (long long)request->max_elements);
    snprintf(seconds, sizeof seconds, "%g", request->seconds);
    const char *arguments[KF_TORCH_TOOL_ARGUMENTS] = {
        "describe",       file,
        "--threads",      threads,
        "--mode",         request->mode ? request->mode : "train",
        "--class",        request->class_name ? request->class_name : "Model",
        "--max-elements", elements,
        "--seconds",      seconds};
    int count = 0, patches = 0;
    while (arguments[count]) count++;
    if (request->bundle) arguments[count++] = "--bundle";
    for (const char *const *patch = request->patches; patch && *patch; patch++) {
        if (++patches > MAX_PATCHES) {
            kf_fail(error, KF_ERROR_LIMIT, "more than %d patches", MAX_PATCHES);
            return NULL;
        }
        arguments[count++] = "--patch";
        arguments[count++] = *patch;
    }
    const kf_torch_tool tool = {.arguments = arguments,
                                .folder = folder,
                                .name = request->name,
                                .threads = request->threads,
                                .seconds = request->seconds,
                                .memory_bytes = request->memory_bytes,
                                .strict = request->strict};
    return kf_torch_tool_run(&tool, stop, error);
}

static cJSON *describe_in(const kf_describe_request *request, const char *folder,
                          const volatile int *stop, kf_error *error)
{
    kf_autofree char *file = kf_path_join(folder, request->name);
    if (!file) return kf_fail_memory(error, "the description of a problem file"), NULL;
    if (!kf_file_write(file, request->text, request->size, error)) return NULL;
    return ask(request, folder, file, stop, error);
}

cJSON *kf_describe(const kf_describe_request *request, const volatile int *stop, kf_error *error)
{
    if (strchr(request->name, '/'))
        return kf_fail(error, KF_ERROR_INTERNAL, "%s: a name has no folders", request->name), NULL;
    kf_autofree char *folder = kf_directory_temporary("kforge-describe", error);
    cJSON *described = folder ? describe_in(request, folder, stop, error) : NULL;
    if (folder) kf_directory_remove(folder, NULL);
    return described;
}
