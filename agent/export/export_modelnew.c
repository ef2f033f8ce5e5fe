/* The text of a file for KernelBench's evaluator (export_modelnew.h). */
#include "modelnew_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/build.h"
#include "kforge/json.h"
#include "kforge/scan.h"

#define WORD "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* ---- Python ---------------------------------------------------------------------------------- */

/* Writes a string literal over several lines. */
void kf_modelnew_write_literal(kf_buffer *text, const char *name, const char *value)
{
    kf_buffer_format(text, "%s = \"\"\"\\\n", name);
    for (const char *c = value; *c; c++) {
        /* three quotes, or the last character */
        bool ends = *c == '"' && (c[1] == '"' || !c[1]);
        if (*c == '\\' || ends)
            kf_buffer_format(text, "\\%c", *c);
        else if (*c == '\r')
            kf_buffer_string(text, "\\r");
        else
            kf_buffer_append(text, c, 1);
    }
    kf_buffer_string(text, "\"\"\"\n\n");
}

const char *kf_modelnew_dtype(kf_dtype dtype)
{
    static const char *const names[KF_DTYPE_COUNT] = {
        [KF_F64] = "torch.float64", [KF_F32] = "torch.float32",   [KF_TF32] = "torch.float32",
        [KF_F16] = "torch.float16", [KF_BF16] = "torch.bfloat16", [KF_I64] = "torch.int64",
        [KF_I32] = "torch.int32",   [KF_I16] = "torch.int16",     [KF_I8] = "torch.int8",
        [KF_U8] = "torch.uint8",    [KF_BOOL] = "torch.bool"};
    return names[dtype] ? names[dtype] : "torch.uint8";
}

static void write_shape(kf_buffer *text, const kf_problem_argument *argument, int dims)
{
    kf_buffer_string(text, "(");
    for (int i = 0; i < dims; i++) kf_buffer_format(text, "%lld, ", (long long)argument->shape[i]);
    kf_buffer_string(text, ")");
}

/* Returns the text as a JSON string, which Python also reads. NULL without memory. */
static char *json_text(const char *value)
{
    kf_auto(cJSON) string = cJSON_CreateString(value);
    return string ? cJSON_PrintUnformatted(string) : NULL;
}

/* ---- the task -------------------------------------------------------------------------------- */

static const cJSON *torch_list(const kf_task *task, const char *key)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(torch, key);
    return cJSON_IsArray(list) ? list : NULL;
}

const cJSON *kf_modelnew_origin(const kf_task *task)
{
    return cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "origin");
}

/* A scalar output of the module is an argument of shape [1]. The import records its real number of
 * axes. */
static int real_dims(const kf_task *task, int output, const kf_problem_argument *argument)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(task), "output_dims");
    const cJSON *one = cJSON_IsArray(all) ? cJSON_GetArrayItem(all, output) : NULL;
    return cJSON_IsNumber(one) && one->valuedouble == 0 && argument->elements == 1 ? 0
                                                                                   : argument->dims;
}

static const char *state_name(const kf_task *task, const char *argument)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, torch_list(task, "state"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "argument"),
                    *state = cJSON_GetObjectItemCaseSensitive(row, "name");
        if (cJSON_IsString(name) && cJSON_IsString(state) &&
            strcmp(name->valuestring, argument) == 0)
            return state->valuestring;
    }
    return NULL;
}

bool kf_modelnew_resolve(const kf_task *task, bool on_cpu, kf_problem *problem, cJSON **patches,
                         kf_error *error)
{
    static const char *const devices[] = {"cuda", "cpu"};
    for (int d = 0; d < 2; d++)
        for (int w = 0; w < kf_task_workload_count(task); w++) {
            bool applies;
            const char *device = devices[on_cpu ? !d : d];
            if (!kf_task_resolve(task, w, device, problem, &applies, error)) return false;
            if (applies)
                return !patches ||
                       (*patches = kf_task_torch_patches(task, w, device, error)) != NULL;
        }
    return kf_fail(error, KF_ERROR_INPUT, "%s: no workload", kf_task_name(task));
}

/* ---- C++ ------------------------------------------------------------------------------------- */

static void write_binding(const kf_task *task, const kf_problem *problem, kf_buffer *text)
{
    int tensors = 0;
    for (int i = 0; i < problem->argument_count; i++)
        tensors += problem->arguments[i].kind != KF_SCALAR;
    kf_buffer_string(
        text,
        "#include <cstdint>\n#include <vector>\n#include <torch/types.h>\n\n"
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
        "void *);\n\nvoid kforge_run(std::vector<at::Tensor> tensors, std::vector<double> numbers, "
        "std::vector<int64_t> integers, "
        "int64_t stream)\n{\n    TORCH_CHECK(tensors.size() == %d, \"expected %d tensors\");\n"
        "    for (const at::Tensor &tensor : tensors) TORCH_CHECK(tensor.is_contiguous(), "
        "\"expected contiguous tensors\");\n"
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
    if (!problem) return kf_fail_memory(error, "a ModelNew file"), NULL;
    if (!kf_modelnew_resolve(task, false, problem, NULL, error)) return NULL;
    kf_autobuffer text = {0};
    write_binding(task, problem, &text);
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail_memory(error, "a ModelNew file");
    return taken;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_head(const kf_task *task, const char *hex, const char *notes,
                       const cJSON *patches, kf_buffer *text)
{
    kf_buffer_format(
        text, "# %s: a CUDA candidate of kforge (source %.12s) for KernelBench's evaluator.\n",
        kf_task_name(task), hex);
    kf_buffer_string(text, notes ? notes : "");
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(kf_modelnew_origin(task), "file"), *patch;
    if (cJSON_IsString(file))
        kf_buffer_format(
            text, "# The problem is %s; its text follows, so that ModelNew is made as Model is.\n",
            file->valuestring);
    if (cJSON_GetArraySize(patches)) {
        kf_buffer_string(
            text,
            "# The task is smaller than the problem: forward refuses other shapes than those with");
        cJSON_ArrayForEach(patch, patches)
            kf_buffer_format(text, " %s=%.15g", patch->string, patch->valuedouble);
        kf_buffer_string(text, ".\n");
    }
    kf_buffer_string(text, "\n");
}

static const char after_problem[] = "\n\n# ---- the candidate ----\n\n"
                                    "import torch\n"
                                    "from torch.utils.cpp_extension import load_inline\n\n";

static const char architecture[] =
    "# From Hopper on with what only this very architecture has, as kforge's judge compiles; else "
    "as PyTorch does.\n"
    "_kforge_architecture = []\n"
    "if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9:\n"
    "    _kforge_architecture = "
    "[\"-gencode=arch=compute_{0}{1}a,code=sm_{0}{1}a\".format(*torch.cuda.get_device_capability())"
    "]\n\n";

void kf_modelnew_write_loading(const kf_task *task, const char *hex, const char *const *flags,
                               kf_buffer *text)
{
    /* The name contains the source's hash, so that candidates of one task do not share a build
     * folder. */
    kf_buffer_string(text, architecture);
    kf_buffer_format(text,
                     "_kforge_extension = load_inline(\n    name=\"kforge_%s_%.12s\",\n    "
                     "cpp_sources=[_KFORGE_BINDING],\n"
                     "    cuda_sources=[_KFORGE_SOURCE],\n    functions=[\"kforge_run\"],\n"
                     "    # PyTorch takes the operators of half types away; candidates may use "
                     "them. It names the\n"
                     "    # standard that its headers need: C++17 in 2.0, C++20 in 2.15.\n"
                     "    extra_cuda_cflags=[\"-O3\", \"-U__CUDA_NO_HALF_OPERATORS__\", "
                     "\"-U__CUDA_NO_HALF_CONVERSIONS__\",\n"
                     "                       \"-U__CUDA_NO_HALF2_OPERATORS__\", "
                     "\"-U__CUDA_NO_BFLOAT16_CONVERSIONS__\"",
                     kf_task_entry(task), hex);
    for (; flags && *flags; flags++) {
        kf_autofree char *json = json_text(*flags);
        kf_buffer_format(text, ", %s", json ? json : "\"\"");
    }
    kf_buffer_string(text, "] + _kforge_architecture,\n");
    static const struct {
        const char *name, *flag;
    } links[] = {{"cublas", "-lcublas"},     {"cublaslt", "-lcublasLt"}, {"cudnn", "-lcudnn"},
                 {"cufft", "-lcufft"},       {"curand", "-lcurand"},     {"cusolver", "-lcusolver"},
                 {"cusparse", "-lcusparse"}, {"nvrtc", "-lnvrtc"}};
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

/* Writes "a.0.weight" as getattr(self.a, "0").weight. A list of all names would cost more time than
 * many kernels. */
static void write_state(kf_buffer *text, const char *name)
{
    kf_autobuffer path = {0};
    kf_buffer_string(&path, "self");
    for (const char *part = name; *part;) {
        size_t length = strcspn(part, ".");
        kf_autofree char *one = strndup(part, length), *before = kf_buffer_take(&path);
        if (!one || !before) path.failed = true;
        if (path.failed) break;
        bool plain = (isalpha((unsigned char)*one) || *one == '_') && strspn(one, WORD) == length;
        kf_autofree char *quoted = json_text(one);
        kf_buffer_format(&path, plain ? "%s.%s" : "getattr(%s, %s)", before,
                         plain    ? one
                         : quoted ? quoted
                                  : "");
        part += length + (part[length] == '.');
    }
    if (path.failed) text->failed = true;
    kf_buffer_string(text, path.data);
}

/* True if forward does not take the scalar. */
static bool is_size(const kf_task *task, const char *scalar)
{
    const cJSON *name;
    cJSON_ArrayForEach(name, torch_list(task, "sizes")) if (strcmp(name->valuestring, scalar) ==
                                                            0) return true;
    return false;
}

static void write_class(const kf_task *task, const kf_problem *problem, kf_buffer *text)
{
    const cJSON *torch = cJSON_GetObjectItemCaseSensitive(kf_task_json(task), "torch"),
                *class = cJSON_GetObjectItemCaseSensitive(torch, "class"), *name;
    kf_buffer_format(text, "class ModelNew(%s):\n    def forward(self",
                     cJSON_IsString(class) ? class->valuestring : "Model");
    const cJSON *order = torch_list(task, "forward");
    if (!order) order = torch_list(task, "inputs");
    cJSON_ArrayForEach(name, order) kf_buffer_format(text, ", %s", name->valuestring);
    kf_buffer_string(text, "):\n");
    kf_buffer_string(text, "        given = [\n");
    int outputs = 0;
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        const char *held = state_name(task, argument->name);
        if (argument->kind != KF_INPUT) continue;
        kf_buffer_string(text, "            _kforge_checked(");
        if (held)
            write_state(text, held);
        else
            kf_buffer_string(text, argument->name);
        kf_buffer_format(text, ", \"%s\", ", argument->name);
        write_shape(text, argument, argument->dims);
        kf_buffer_format(text, ", %s),\n", kf_modelnew_dtype(argument->dtype));
    }
    kf_buffer_string(text, "        ]\n        device = given[0].device\n        outputs = [\n");
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_OUTPUT) continue;
        kf_buffer_string(text, "            torch.empty(");
        write_shape(text, argument, real_dims(task, outputs++, argument));
        kf_buffer_format(text, ", dtype=%s, device=device),\n", kf_modelnew_dtype(argument->dtype));
    }
    kf_buffer_string(text,
                     "        ]\n        stream = torch.cuda.current_stream(device).cuda_stream if "
                     "device.type == \"cuda\" else 0\n");
    kf_buffer_string(text, "        _kforge_extension.kforge_run(given + outputs, [");
    for (int kind = 0; kind < 2; kind++) {
        const char *comma = "";
        if (kind) kf_buffer_string(text, "], [");
        for (int i = 0; i < problem->argument_count; i++) {
            const kf_problem_argument *argument = &problem->arguments[i];
            if (argument->kind != KF_SCALAR || kf_dtype_is_float(argument->dtype) != !kind)
                continue;
            if (is_size(task, argument->name))
                kf_buffer_format(text, "%s%lld", comma, (long long)argument->value.integer);
            else
                kf_buffer_format(text, "%s%s(%s)", comma, kind ? "int" : "float", argument->name);
            comma = ", ";
        }
    }
    kf_buffer_format(text, "], stream)\n        return %s\n",
                     outputs > 1 ? "tuple(outputs)" : "outputs[0]");
}

static const char checker[] = "def _kforge_checked(tensor, name, shape, dtype):\n"
                              "    # KernelBench's evaluator casts all inputs to the precision "
                              "that it is asked for, integers and masks too.\n"
                              "    if not dtype.is_floating_point and tensor.is_floating_point():\n"
                              "        tensor = tensor.to(dtype)\n"
                              "    if tensor.numel() != torch.Size(shape).numel() or (tensor.dim() "
                              "and tuple(tensor.shape) != shape) or tensor.dtype != "
                              "dtype:\n"
                              "        raise ValueError(f\"{name}: written for {dtype} "
                              "{list(shape)}, got {tensor.dtype} {list(tensor.shape)}\")\n"
                              "    return tensor.detach().contiguous()\n\n\n";

char *kf_modelnew_text(const kf_task *task, const kf_modelnew_source *given, kf_error *error)
{
    const char *notes = given->notes ? given->notes : "";
    kf_autobuffer text = {0}, binding = {0}, whole = {0};
    if (kf_source_is_python(given->text, given->size)) {
        kf_buffer_string(&text, notes);
        kf_buffer_append(&text, given->text, given->size);
        char *taken = kf_buffer_take(&text);
        return taken ? taken : (kf_fail_memory(error, "a ModelNew file"), NULL);
    }
    const kf_task_file *problem_file = kf_task_is_torch(task) ? kf_task_oracle(task) : NULL;
    if (!problem_file || problem_file->kind != KF_SOURCE_TORCH)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: not a task for PyTorch; only PyTorch tasks can be exported as modelnew",
                       kf_task_name(task)),
               NULL;
    if (strstr(problem_file->text, "\nfrom formats"))
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: its problem file uses modules of kforge, which KernelBench's evaluator "
                       "lacks; use --format submission for a task of GPU MODE, else package",
                       kf_task_name(task)),
               NULL;
    kf_autofree kf_problem *problem = calloc(1, sizeof *problem);
    kf_autofree char *header = kf_build_prototype_header(task, false);
    kf_auto(cJSON) patches = NULL;
    if (!problem || !header) return kf_fail_memory(error, "a ModelNew file"), NULL;
    if (!kf_modelnew_resolve(task, given->on_cpu, problem, &patches, error)) return NULL;
    write_binding(task, problem, &binding);
    /* The judge includes these headers before a candidate. A pragma is not possible here, because
     * the file is the main file. */
    const char *pragma = strstr(header, "#pragma once\n");
    kf_buffer_string(&whole, pragma ? pragma + 13 : header);
    kf_buffer_append(&whole, given->text, given->size);
    if (binding.failed || whole.failed) return kf_fail_memory(error, "a ModelNew file"), NULL;
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(given->text, given->size);
    kf_hash_hex(&hash, hex);
    write_head(task, hex, notes, patches, &text);
    kf_buffer_append(&text, problem_file->text, problem_file->size);
    kf_buffer_string(&text, after_problem);
    kf_modelnew_write_literal(&text, "_KFORGE_SOURCE", whole.data);
    kf_modelnew_write_literal(&text, "_KFORGE_BINDING", binding.data);
    kf_modelnew_write_loading(task, hex, given->flags, &text);
    kf_buffer_string(&text, checker);
    write_class(task, problem, &text);
    char *taken = kf_buffer_take(&text);
    if (!taken) kf_fail_memory(error, "a ModelNew file");
    return taken;
}
