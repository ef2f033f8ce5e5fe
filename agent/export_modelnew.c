#include "export_modelnew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kforge/buffer.h"
#include "kforge/build.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "show.h"

/* ---- Python ---- */

/* A string literal over several lines. */
static void write_literal(kf_buffer *text, const char *name, const char *value)
{
    kf_buffer_format(text, "%s = \"\"\"\\\n", name);
    for (const char *c = value; *c; c++) {
        bool ends = *c == '"' && (c[1] == '"' || !c[1]); /* three of them, or the last character */
        if (*c == '\\' || ends)
            kf_buffer_format(text, "\\%c", *c);
        else if (*c == '\r')
            kf_buffer_string(text, "\\r");
        else
            kf_buffer_append(text, c, 1);
    }
    kf_buffer_string(text, "\"\"\"\n\n");
}

static const char *torch_dtype(kf_dtype dtype)
{
    static const char *const names[KF_DTYPE_COUNT] = {
        [KF_F64] = "torch.float64",   [KF_F32] = "torch.float32", [KF_TF32] = "torch.float32", [KF_F16] = "torch.float16",
        [KF_BF16] = "torch.bfloat16", [KF_I64] = "torch.int64",   [KF_I32] = "torch.int32",    [KF_I16] = "torch.int16",
        [KF_I8] = "torch.int8",       [KF_U8] = "torch.uint8",    [KF_BOOL] = "torch.bool"};
    return names[dtype] ? names[dtype] : "torch.uint8";
}

static void write_shape(kf_buffer *text, const kf_problem_argument *argument, int dims)
{
    kf_buffer_string(text, "(");
    for (int i = 0; i < dims; i++) kf_buffer_format(text, "%lld, ", (long long)argument->shape[i]);
    kf_buffer_string(text, ")");
}

/* ---- the task ---- */

static const cJSON *torch_list(const kf_task *task, const char *key)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(torch, key);
    return cJSON_IsArray(list) ? list : NULL;
}

static const cJSON *origin_of(const kf_task *task)
{
    return cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "origin");
}

/* A scalar output of the module is an argument of shape [1]; the import notes how many axes it really has. */
static int real_dims(const kf_task *task, int output, const kf_problem_argument *argument)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(origin_of(task), "output_dims");
    const cJSON *one = cJSON_IsArray(all) ? cJSON_GetArrayItem(all, output) : NULL;
    return cJSON_IsNumber(one) && one->valuedouble == 0 && argument->elements == 1 ? 0 : argument->dims;
}

static const char *state_name(const kf_task *task, const char *argument)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, torch_list(task, "state"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "argument"),
                    *state = cJSON_GetObjectItemCaseSensitive(row, "name");
        if (cJSON_IsString(name) && cJSON_IsString(state) && strcmp(name->valuestring, argument) == 0) return state->valuestring;
    }
    return NULL;
}

/* The first workload as a GPU sees it: that is where KernelBench's evaluator runs. */
static bool resolve(const kf_task *task, kf_problem *problem, kf_error *error)
{
    static const char *const devices[] = {"cuda", "cpu"};
    for (int d = 0; d < 2; d++)
        for (int w = 0; w < kf_task_workload_count(task); w++) {
            bool applies;
            if (!kf_task_resolve(task, w, devices[d], problem, &applies, error)) return false;
            if (applies) return true;
        }
    return kf_fail(error, KF_ERROR_INPUT, "%s: no workload", kf_task_name(task));
}

/* ---- C++ ---- */

static void write_binding(const kf_task *task, const kf_problem *problem, kf_buffer *text)
{
    int tensors = 0;
    for (int i = 0; i < problem->argument_count; i++) tensors += problem->arguments[i].kind != KF_SCALAR;
    kf_buffer_string(text, "#include <cstdint>\n#include <vector>\n#include <torch/types.h>\n\n"
                           "// The candidate's entry, by address: its own types are in its own translation unit.\n");
    kf_buffer_format(text, "extern \"C\" void %s(", kf_task_entry(task));
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind == KF_SCALAR)
            kf_buffer_format(text, "%s, ", kf_dtype_ctype(argument->dtype));
        else
            kf_buffer_format(text, "%s, ", argument->kind == KF_INPUT ? "const void *" : "void *");
    }
    kf_buffer_format(
        text,
        "void *);\n\nvoid kforge_run(std::vector<at::Tensor> tensors, std::vector<double> numbers, std::vector<int64_t> integers, "
        "int64_t stream)\n{\n    TORCH_CHECK(tensors.size() == %d, \"expected %d tensors\");\n"
        "    for (const at::Tensor &tensor : tensors) TORCH_CHECK(tensor.is_contiguous(), \"expected contiguous tensors\");\n"
        "    (void)numbers, (void)integers;\n    %s(",
        tensors, tensors, kf_task_entry(task));
    int tensor = 0, number = 0, integer = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        const char *type = kf_dtype_ctype(argument->dtype);
        if (argument->kind != KF_SCALAR)
            kf_buffer_format(text, "tensors[%d].data_ptr(), ", tensor++);
        else if (kf_dtype_is_float(argument->dtype))
            kf_buffer_format(text, "(%s)numbers.at(%d), ", type, number++);
        else
            kf_buffer_format(text, "(%s)integers.at(%d), ", type, integer++);
    }
    kf_buffer_string(text, "(void *)stream);\n}\n");
}

char *kf_modelnew_binding(const kf_task *task, kf_error *error)
{
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    if (!problem) return kf_fail(error, KF_ERROR_MEMORY, "out of memory"), NULL;
    if (!resolve(task, problem, error)) return NULL;
    kf_autobuffer text = {0};
    write_binding(task, problem, &text);
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return taken;
}

/* ---- the file ---- */

static void write_head(const kf_task *task, const char *source, size_t size, kf_buffer *text)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(source, size);
    kf_hash_hex(&hash, hex);
    kf_buffer_format(text, "# %s: a CUDA candidate of kforge (source %.12s) for KernelBench's evaluator.\n", kf_task_name(task),
                     hex);
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(origin_of(task), "file");
    if (cJSON_IsString(file))
        kf_buffer_format(text, "# The problem is %s; its text follows, so that ModelNew is made as Model is.\n", file->valuestring);
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"), *patch,
                *patches = cJSON_GetObjectItemCaseSensitive(torch, "patches");
    if (cJSON_GetArraySize(patches)) {
        kf_buffer_string(text, "# The task is smaller than the problem: forward refuses other shapes than those with");
        cJSON_ArrayForEach(patch, patches) kf_buffer_format(text, " %s=%.0f", patch->string, patch->valuedouble);
        kf_buffer_string(text, ".\n");
    }
    kf_buffer_string(text, "\n");
}

static const char after_problem[] = "\n\n# ---- the candidate ----\n\n"
                                    "import torch\n"
                                    "from torch.utils.cpp_extension import load_inline\n\n";

static void write_loading(const kf_task *task, const char *const *flags, kf_buffer *text)
{
    kf_buffer_format(
        text,
        "_kforge_extension = load_inline(\n    name=\"kforge_%s\",\n    cpp_sources=[_KFORGE_BINDING],\n"
        "    cuda_sources=[_KFORGE_SOURCE],\n    functions=[\"kforge_run\"],\n"
        "    # PyTorch takes the operators of half types away; candidates may use them.\n"
        "    extra_cuda_cflags=[\"-O3\", \"-std=c++17\", \"-U__CUDA_NO_HALF_OPERATORS__\", \"-U__CUDA_NO_HALF_CONVERSIONS__\",\n"
        "                       \"-U__CUDA_NO_HALF2_OPERATORS__\", \"-U__CUDA_NO_BFLOAT16_CONVERSIONS__\"",
        kf_task_entry(task));
    for (; flags && *flags; flags++) {
        kf_autofree cJSON *string = cJSON_CreateString(*flags);
        kf_autofree char *json = string ? cJSON_PrintUnformatted(string) : NULL;
        kf_buffer_format(text, ", %s", json ? json : "\"\"");
        if (string) free(string->valuestring);
    }
    kf_buffer_string(text, "],\n");
    static const struct {
        const char *name, *flag;
    } links[] = {{"cublas", "-lcublas"}, {"cublaslt", "-lcublasLt"}, {"cudnn", "-lcudnn"},
                 {"cufft", "-lcufft"},   {"curand", "-lcurand"},     {"nvrtc", "-lnvrtc"}};
    kf_buffer_string(text, "    extra_ldflags=[");
    const char *comma = "";
    for (const char *const *name = kf_task_libraries(task); *name; name++)
        for (size_t i = 0; i < sizeof links / sizeof *links; i++)
            if (strcmp(*name, links[i].name) == 0) {
                kf_buffer_format(text, "%s\"%s\"", comma, links[i].flag);
                comma = ", ";
            }
    kf_buffer_string(text, "],\n    with_cuda=True,\n    verbose=False,\n)\n\n\n");
}

static void write_class(const kf_task *task, const kf_problem *problem, kf_buffer *text)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"),
                *class = cJSON_GetObjectItemCaseSensitive(torch, "class"), *name;
    kf_buffer_format(text, "class ModelNew(%s):\n    def forward(self", cJSON_IsString(class) ? class->valuestring : "Model");
    const cJSON *order = torch_list(task, "forward");
    if (!order) order = torch_list(task, "inputs");
    cJSON_ArrayForEach(name, order) kf_buffer_format(text, ", %s", name->valuestring);
    kf_buffer_string(text, "):\n");
    bool state = torch_list(task, "state") && cJSON_GetArraySize(torch_list(task, "state"));
    if (state)
        kf_buffer_string(text, "        state = dict(self.named_parameters())\n        state.update(self.named_buffers())\n");
    kf_buffer_string(text, "        given = [\n");
    int outputs = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        const char *held = state_name(task, argument->name);
        if (argument->kind != KF_INPUT) continue;
        kf_buffer_format(text,
                         held ? "            _kforge_checked(state[\"%s\"], \"%s\", " : "            _kforge_checked(%s, \"%s\", ",
                         held ? held : argument->name, argument->name);
        write_shape(text, argument, argument->dims);
        kf_buffer_format(text, ", %s),\n", torch_dtype(argument->dtype));
    }
    kf_buffer_string(text, "        ]\n        device = given[0].device\n        outputs = [\n");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT) continue;
        kf_buffer_string(text, "            torch.empty(");
        write_shape(text, argument, real_dims(task, outputs++, argument));
        kf_buffer_format(text, ", dtype=%s, device=device),\n", torch_dtype(argument->dtype));
    }
    kf_buffer_string(
        text, "        ]\n        stream = torch.cuda.current_stream(device).cuda_stream if device.type == \"cuda\" else 0\n");
    kf_buffer_string(text, "        _kforge_extension.kforge_run(given + outputs, [");
    for (int kind = 0; kind < 2; kind++) {
        const char *comma = "";
        if (kind) kf_buffer_string(text, "], [");
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind != KF_SCALAR || kf_dtype_is_float(argument->dtype) != !kind) continue;
            kf_buffer_format(text, "%s%s(%s)", comma, kind ? "int" : "float", argument->name);
            comma = ", ";
        }
    }
    kf_buffer_format(text, "], stream)\n        return %s\n", outputs > 1 ? "tuple(outputs)" : "outputs[0]");
}

static const char checker[] =
    "def _kforge_checked(tensor, name, shape, dtype):\n"
    "    if tensor.numel() != torch.Size(shape).numel() or (tensor.dim() and tuple(tensor.shape) != shape) or tensor.dtype != "
    "dtype:\n"
    "        raise ValueError(f\"{name}: written for {dtype} {list(shape)}, got {tensor.dtype} {list(tensor.shape)}\")\n"
    "    return tensor.detach().contiguous()\n\n\n";

char *kf_modelnew_text(const kf_task *task, const char *source, size_t size, const char *const *flags, kf_error *error)
{
    if (strstr(source, "class ModelNew")) return strndup(source, size);
    const kf_task_file *problem_file = kf_task_is_torch(task) ? kf_task_oracle(task) : NULL;
    if (!problem_file || problem_file->kind != KF_SOURCE_TORCH)
        return kf_fail(error, KF_ERROR_INPUT, "%s is no task for PyTorch: only those have a Model to be like", kf_task_name(task)),
               NULL;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    kf_autofree char *header = kf_build_prototype_header(task, false);
    if (!problem || !header) return kf_fail(error, KF_ERROR_MEMORY, "out of memory"), NULL;
    if (!resolve(task, problem, error)) return NULL;
    kf_autobuffer text = {0}, binding = {0}, whole = {0};
    write_binding(task, problem, &binding);
    /* What the judge includes before a candidate's first line; a pragma would be in the main file here. */
    const char *pragma = strstr(header, "#pragma once\n");
    kf_buffer_string(&whole, pragma ? pragma + 13 : header);
    kf_buffer_append(&whole, source, size);
    if (binding.failed || whole.failed) return kf_fail(error, KF_ERROR_MEMORY, "out of memory"), NULL;
    write_head(task, source, size, &text);
    kf_buffer_append(&text, problem_file->text, problem_file->size);
    kf_buffer_string(&text, after_problem);
    write_literal(&text, "_KFORGE_SOURCE", whole.data);
    write_literal(&text, "_KFORGE_BINDING", binding.data);
    write_loading(task, flags, &text);
    kf_buffer_string(&text, checker);
    write_class(task, problem, &text);
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    return taken;
}

/* ---- out of a store ---- */

typedef struct exporting {
    kf_store *store;
    const kf_modelnew_options *options;
    cJSON *results[10]; /* eval_results.json of each level */
    int64_t count;
} exporting;

static bool put(const exporting *e, const char *path, const char *text, kf_error *error)
{
    struct stat status;
    if (!e->options->force && lstat(path, &status) == 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: exists already: name another with --output, or give --force to replace it",
                       path);
    return kf_file_write(path, text, strlen(text), error);
}

static bool is_file_name(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".py") == 0;
}

/* What KernelBench's evaluator would have noted, with kforge's figures: times in milliseconds. */
static bool note_result(exporting *e, int level, int problem, const kf_store_candidate *candidate, kf_error *error)
{
    size_t size;
    char key[16];
    kf_autofree char *text = kf_store_verdict_json(e->store, candidate->verdict, &size, error);
    if (!text) return false;
    kf_auto(cJSON) verdict = cJSON_ParseWithLength(text, size);
    double seconds = NAN;
    const cJSON *workload;
    cJSON_ArrayForEach(workload, cJSON_GetObjectItemCaseSensitive(verdict, "workloads"))
    {
        if (isnan(seconds)) seconds = kf_json_get_number(workload, "candidate_seconds", NAN);
    }
    if (!e->results[level] && !(e->results[level] = cJSON_CreateObject())) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    snprintf(key, sizeof key, "%d", problem);
    cJSON *list = cJSON_AddArrayToObject(e->results[level], key), *row = cJSON_CreateObject();
    if (!list || !row || !cJSON_AddItemToArray(list, row)) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    bool correct = candidate->status == KF_CORRECT;
    cJSON_AddNumberToObject(row, "sample_id", 0);
    cJSON_AddBoolToObject(row, "compiled", candidate->status != KF_COMPILE_ERROR);
    cJSON_AddBoolToObject(row, "correctness", correct);
    cJSON *metadata = cJSON_AddObjectToObject(row, "metadata");
    cJSON_AddStringToObject(metadata, "hardware", candidate->device);
    cJSON_AddStringToObject(metadata, "kforge_status", kf_status_name(candidate->status));
    kf_json_add_number(metadata, "kforge_speedup", candidate->speedup.value);
    kf_json_add_number(row, "runtime", correct && !isnan(seconds) ? 1e3 * seconds : -1.0);
    cJSON_AddObjectToObject(row, "runtime_stats");
    return true;
}

static bool write_one(exporting *e, const kf_task *task, const char *source, size_t size, const char *const *flags,
                      const kf_store_candidate *candidate, kf_error *error)
{
    kf_autofree char *text = kf_modelnew_text(task, source, size, flags, error), *path = NULL;
    if (!text) return false;
    const kf_modelnew_options *o = e->options;
    char name[300];
    snprintf(name, sizeof name, "%s.py", kf_task_name(task));
    if (o->kernelbench) {
        const cJSON *level = cJSON_GetObjectItemCaseSensitive(origin_of(task), "level"),
                    *problem = cJSON_GetObjectItemCaseSensitive(origin_of(task), "problem");
        if (!cJSON_IsNumber(level) || !cJSON_IsNumber(problem) || level->valuedouble < 0 || level->valuedouble > 9)
            return true; /* not KernelBench's */
        snprintf(name, sizeof name, "level_%d_problem_%d_sample_0_kernel.py", level->valueint, problem->valueint);
        if (candidate && !note_result(e, level->valueint, problem->valueint, candidate, error)) return false;
    }
    bool file = !o->kernelbench && is_file_name(o->output);
    if (!file && !kf_directory_make(o->output, error)) return false;
    path = file ? strdup(o->output) : kf_path_join(o->output, name);
    if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    if (!put(e, path, text, error)) return false;
    e->count++;
    return true;
}

/* "[\"-DX=1\"]" of a stored candidate. */
static bool write_stored(exporting *e, const kf_task *task, const kf_store_candidate *candidate, kf_error *error)
{
    size_t size;
    const char *flags[65] = {0};
    int count = 0;
    kf_autofree char *source = kf_store_source(e->store, candidate->id, &size, error);
    kf_auto(cJSON) list = cJSON_Parse(candidate->flags);
    const cJSON *flag;
    if (!source) return false;
    cJSON_ArrayForEach(flag, list) if (cJSON_IsString(flag) && count < 64) flags[count++] = flag->valuestring;
    return write_one(e, task, source, size, flags, candidate, error);
}

static bool export_stored(exporting *e, const char *hash, kf_error *error)
{
    kf_auto(kf_task) task = kf_stored_task(e->store, hash, error);
    if (!task) return false;
    if (!kf_task_is_torch(task)) return true;
    kf_store_scope scope = {.task = hash, .island = -1};
    kf_autoresult kf_store_candidate best = {0};
    int row;
    {
        kf_auto(kf_store_cursor) cursor = kf_store_best(e->store, &scope, 1, error);
        row = cursor ? kf_store_next_candidate(cursor, &best, error) : -1;
    }
    return row == 1 ? write_stored(e, task, &best, error) : row == 0;
}

static bool export_all(exporting *e, kf_error *error)
{
    kf_autoresult kf_store_task task = {0};
    if (e->options->task) return kf_store_find_task(e->store, e->options->task, &task, error) && export_stored(e, task.hash, error);
    kf_autofree char(*hashes)[KF_HASH_HEX] = NULL;
    size_t count = 0;
    int row;
    {
        kf_auto(kf_store_cursor) cursor = kf_store_tasks(e->store, error);
        row = cursor ? 1 : -1;
        while (row == 1 && (row = kf_store_next_task(cursor, &task, error)) == 1) {
            char(*grown)[KF_HASH_HEX] = realloc(hashes, (count + 1) * sizeof *grown);
            if (!grown) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
            hashes = grown;
            memcpy(hashes[count++], task.hash, KF_HASH_HEX);
        }
    }
    for (size_t i = 0; row == 0 && i < count; i++)
        if (!export_stored(e, hashes[i], error)) return false;
    return row == 0;
}

static bool write_results(exporting *e, kf_error *error)
{
    int levels = 0;
    for (int i = 0; i < 10; i++) levels += e->results[i] != NULL;
    for (int i = 0; i < 10; i++) {
        if (!e->results[i]) continue;
        char name[40];
        /* Numbers of problems are unique within a level. */
        snprintf(name, sizeof name, levels > 1 ? "level_%d_eval_results.json" : "eval_results.json", i);
        kf_autofree char *path = kf_path_join(e->options->output, name), *text = cJSON_Print(e->results[i]);
        if (!path || !text) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        if (!put(e, path, text, error)) return false;
    }
    return true;
}

bool kf_export_modelnew(kf_store *store, const kf_modelnew_options *options, int64_t *count, kf_error *error)
{
    exporting e = {.store = store, .options = options};
    bool good;
    if (options->candidate) {
        size_t size;
        if (!options->task) return kf_fail(error, KF_ERROR_INPUT, "--candidate goes with --task: the folder of its task");
        kf_auto(kf_task) task = kf_task_load(options->task, error);
        kf_autofree char *source = task ? kf_file_read(options->candidate, KF_SOURCE_BYTES, &size, error) : NULL;
        good = source && write_one(&e, task, source, size, NULL, NULL, error);
    } else {
        good = export_all(&e, error) && write_results(&e, error);
        if (good && !e.count)
            good = kf_fail(error, KF_ERROR_INPUT, "the store has no correct candidate of a task %s",
                           options->kernelbench ? "of KernelBench" : "for PyTorch");
    }
    for (int i = 0; i < 10; i++) cJSON_Delete(e.results[i]);
    *count = e.count;
    return good;
}
