/* Tests of a package. Each compares an entry with the task's baseline on the smallest workload. */
#include <inttypes.h>
#include <string.h>

#include "package_internal.h"

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

/* Finds the applicable workload that needs the least memory. */
static bool smallest(const kf_winners *w, kf_problem *problem)
{
    kf_problem other;
    bool any = false;
    problem->argument_count = 0;
    for (int k = 0; k < kf_task_workload_count(w->task); k++)
        if (kf_package_resolve(w, k, &other) &&
            (!any || other.total_bytes < problem->total_bytes)) {
            *problem = other;
            any = true;
        }
    return any;
}

static bool is_generated(const kf_problem *problem)
{
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].distribution.generated) return true;
    return false;
}

/* Writes a test that is skipped, because a package has no generator of the problem's own. */
static bool put_skipped(kf_package *p, const char *name, kf_error *error)
{
    char path[400];
    kf_autobuffer out = {0};
    kf_buffer_format(
        &out,
        "/* %s: the problem's own get_inputs makes the inputs, which this package does "
        "not have. */\n#include <cstdio>\n\nint main()\n{\n    std::fprintf(stderr, "
        "\"the problem's own get_inputs makes the inputs: skipped\\n\");\n"
        "    return 77;\n}\n",
        name);
    snprintf(path, sizeof path, "test/%s.cu", name);
    if (out.failed) return kf_fail_memory(error, "a test of the package");
    return kf_winner_put(&p->files, path, out.data, out.size, error);
}

static void declare(kf_buffer *out, const kf_problem_argument *a)
{
    const char *type = kf_dtype_ctype(a->dtype);
    if (a->kind == KF_SCALAR) {
        if (kf_dtype_is_float(a->dtype))
            kf_buffer_format(out, "    %s %s = (%s)%.17g;\n", type, a->name, type, a->value.number);
        else
            kf_buffer_format(out, "    %s %s = (%s)%" PRId64 "LL;\n", type, a->name, type,
                             a->value.integer);
        return;
    }
    kf_buffer_format(out, "    kf_buffer<%s> %s(%" PRId64 ", %" PRId64 ");\n", type, a->name,
                     a->elements, a->dims ? a->shape[a->dims - 1] : (int64_t)1);
    if (a->kind == KF_INPUT || a->kind == KF_INOUT)
        kf_buffer_format(out, "    %s.%s(%.17g, %.17g);\n", a->name, fillers[a->distribution.kind],
                         a->distribution.a, a->distribution.b);
}

/* Writes a call of `name` on fresh inputs. */
static void write_call(kf_buffer *out, const kf_problem *problem, const char *name)
{
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].kind != KF_SCALAR)
            kf_buffer_format(out, "    %s.upload();\n", problem->arguments[i].name);
    kf_buffer_format(out, "    %s(", name);
    for (int i = 0; i < problem->argument_count; i++)
        kf_buffer_format(out, "%s%s, ", problem->arguments[i].name,
                         problem->arguments[i].kind == KF_SCALAR ? "" : ".device");
    kf_buffer_string(out, "kf_stream);\n    CHECK(cudaStreamSynchronize(kf_stream));\n    "
                          "CHECK(cudaGetLastError());\n");
}

static bool is_result(const kf_problem_argument *a)
{
    return a->kind == KF_OUTPUT || a->kind == KF_INOUT;
}

/* Names of the task's arguments are locals of main. Our own names begin with kf_, which the
 * arguments must not. */
bool kf_package_write_test(kf_package *p, const kf_winners *w, const char *signature,
                           kf_error *error)
{
    kf_problem problem;
    if (!smallest(w, &problem))
        return kf_fail(error, KF_ERROR_INPUT, "task %s: no workload applies",
                       kf_task_name(w->task));
    kf_autobuffer out = {0};
    const char *entry = kf_task_entry(w->task), *name = kf_task_name(w->task);
    const kf_task_file *baseline = kf_task_baseline(w->task);
    bool compares = baseline->kind == KF_SOURCE_CUDA;
    char called[300], path[400];
    if (is_generated(&problem)) return put_skipped(p, name, error);
    kf_buffer_format(
        &out,
        compares ? "/* %s on workload %s: compares the entry's outputs with the baseline's. "
                   "This is a smoke test; kforge's judge is the proof. */\n"
                 : "/* %s on workload %s: the entry runs and writes its outputs. Its "
                   "baseline is PyTorch's, so nothing is compared. "
                   "*/\n",
        name, problem.workload);
    kf_buffer_string(&out, "#include <kforge_kernels.h>\n#include \"fill.h\"\n");
    if (compares)
        kf_buffer_format(&out, "#define %s kf_baseline\n#include \"%s_baseline.cu\"\n#undef %s\n",
                         entry, name, entry);
    /* A function type: "void NAME(…)" without the entry's name. */
    kf_buffer_format(&out,
                     "\ntypedef void kf_entry_type%s;\n\nint main(int argc, char **argv)\n{\n",
                     signature + strlen("void ") + strlen(entry));
    kf_buffer_format(&out,
                     "    (void)argc, (void)argv;\n    kf_need_device();\n    kf_entry_type "
                     "*kf_entry = KFORGE_ENTRY(%s);\n"
                     "    cudaStream_t kf_stream;\n    CHECK(cudaStreamCreate(&kf_stream));\n    "
                     "int kf_wrong = 0;\n",
                     entry);
    for (int i = 0; i < problem.argument_count; i++) declare(&out, &problem.arguments[i]);
    if (compares) {
        write_call(&out, &problem, "kf_baseline");
        for (int i = 0; i < problem.argument_count; i++)
            if (is_result(&problem.arguments[i]))
                kf_buffer_format(&out, "    %s.keep();\n", problem.arguments[i].name);
    }
    for (int i = 0; !compares && i < problem.argument_count; i++)
        if (problem.arguments[i].kind == KF_OUTPUT)
            kf_buffer_format(&out, "    %s.poison();\n", problem.arguments[i].name);
    write_call(&out, &problem, "kf_entry");
    for (int i = 0; i < problem.argument_count; i++) {
        const kf_problem_argument *a = &problem.arguments[i];
        if (compares && is_result(a))
            kf_buffer_format(&out, "    kf_wrong += %s.differs(\"%s\", %s);\n", a->name, a->name,
                             a->tolerance.kind == KF_ANY_ORDER ? "true" : "false");
        else if (!compares && a->kind == KF_OUTPUT)
            kf_buffer_format(&out, "    kf_wrong += %s.unwritten(\"%s\");\n", a->name, a->name);
    }
    kf_buffer_string(&out, "    return kf_wrong != 0;\n}\n");
    if (out.failed) return kf_fail_memory(error, "a test of the package");
    snprintf(called, sizeof called, "test/%s.cu", name);
    snprintf(path, sizeof path, "test/%s_baseline.cu", name);
    return (!compares || kf_winner_put(&p->files, path, baseline->text, baseline->size, error)) &&
           kf_winner_put(&p->files, called, out.data, out.size, error);
}

static const char fill_text[] =
    "/* Buffers of a test: filled like the task's inputs, uploaded, compared. */\n"
    "#pragma once\n#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include "
    "<cstdio>\n#include <cstdlib>\n#include "
    "<cstring>\n#include "
    "<numeric>\n"
    "#include <random>\n#include <type_traits>\n#include <vector>\n#include <dlfcn.h>\n#include "
    "<cuda_runtime.h>\n\n"
    "#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { std::fprintf(stderr, "
    "\"%s: %s\\n\", #call, "
    "cudaGetErrorString(e)); "
    "std::exit(1); } } while (0)\n"
    "/* Status 77, which CTest takes for skipped, where there is nothing to run on. */\n"
    "static inline void kf_need_device()\n{\n    int count = 0;\n"
    "    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) return;\n"
    "    std::fprintf(stderr, \"no GPU: skipped\\n\");\n    std::exit(77);\n}\n"
    "#ifdef KFORGE_LOAD /* the libraries are the arguments, the one with the entry last */\n"
    "static void *kforge_load(int argc, char **argv, const char *name)\n{\n    void *found = "
    "nullptr;\n"
    "    for (int i = 1; i < argc; i++) {\n        void *library = dlopen(argv[i], RTLD_LAZY | "
    "RTLD_GLOBAL);\n"
    "        if (!library) { std::fprintf(stderr, \"%s\\n\", dlerror()); std::exit(1); }\n"
    "        if (void *symbol = dlsym(library, name)) found = symbol;\n    }\n    if (!found) "
    "std::exit(1);\n    return found;\n}\n"
    "#define KFORGE_ENTRY(NAME) ((kf_entry_type *)kforge_load(argc, argv, #NAME))\n"
    "#else\n#define KFORGE_ENTRY(NAME) (&NAME)\n#endif\n\n"
    "template <typename T> struct kf_buffer {\n"
    "    std::vector<T> host, kept;\n    T *device = nullptr;\n    int64_t last;\n    "
    "std::mt19937_64 random{42};\n"
    "    kf_buffer(int64_t count, int64_t last_axis) : host(count), last(last_axis)\n    {\n"
    "        CHECK(cudaMalloc((void **)&device, count * sizeof(T)));\n        "
    "std::fill(host.begin(), host.end(), T(0.0f));\n    "
    "}\n"
    "    static double number(T value) { return (double)(float)value; }\n"
    "    template <typename D> void draw(D d) { for (T &x : host) x = T((float)d(random)); }\n"
    "    void normal(double mean, double deviation) { draw(std::normal_distribution<float>(mean, "
    "deviation)); }\n"
    "    void uniform(double low, double high) { draw(std::uniform_real_distribution<float>(low, "
    "high)); }\n"
    "    void integers(double low, double high)\n    {\n"
    "        std::uniform_int_distribution<int64_t> d((int64_t)low, (int64_t)high - 1);\n        "
    "for (T &x : host) x = "
    "T(d(random));\n    }\n"
    "    void permutation(double, double)\n    {\n        std::vector<int64_t> p(host.size());\n   "
    "     std::iota(p.begin(), "
    "p.end(), 0);\n"
    "        std::shuffle(p.begin(), p.end(), random);\n        for (size_t i = 0; i < p.size(); "
    "i++) host[i] = T(p[i]);\n    }\n"
    "    void sorted(double low, double high)\n    {\n        std::vector<float> row(last);\n"
    "        std::uniform_real_distribution<float> d(low, high);\n"
    "        for (size_t i = 0; i < host.size(); i += last) {\n            for (float &x : row) x "
    "= d(random);\n"
    "            std::sort(row.begin(), row.end());\n            for (int64_t k = 0; k < last; "
    "k++) host[i + k] = T(row[k]);\n     "
    "   }\n    }\n"
    "    void offsets(double total, double)\n    {\n        size_t n = host.size();\n"
    "        for (size_t i = 0; i < n; i++) host[i] = T(n > 1 ? (int64_t)(total * (double)i / "
    "(double)(n - 1)) : 0);\n    }\n"
    "    void sparse(double density, double)\n    {\n        std::normal_distribution<float> d;\n  "
    "      "
    "std::bernoulli_distribution some(density);\n"
    "        for (T &x : host) x = T(some(random) ? d(random) : 0.0f);\n    }\n"
    "    void constant(double value, double) { std::fill(host.begin(), host.end(), "
    "T((float)value)); }\n"
    "    void one_hot(double, double)\n    {\n        for (size_t i = 0; i < host.size(); i += "
    "last) host[i + random() % last] = "
    "T(1.0f);\n    }\n"
    "    void positive_definite(double dominance, double)\n    {\n        "
    "std::normal_distribution<float> d;\n"
    "        int64_t n = last;\n        for (size_t m = 0; m < host.size(); m += n * n)\n          "
    "  for (int64_t i = 0; i < n; "
    "i++)\n"
    "                for (int64_t k = 0; k <= i; k++) {\n                    float x = i == k ? "
    "(float)(n * (1 + dominance)) : "
    "d(random);\n"
    "                    host[m + i * n + k] = host[m + k * n + i] = T(x);\n                }\n    "
    "}\n"
    "    void square(double low, double high, int zero)\n    {\n        "
    "std::uniform_real_distribution<float> d(low, high);\n"
    "        int64_t n = last;\n        for (size_t m = 0; m < host.size(); m += n * n)\n          "
    "  for (int64_t i = 0; i < n; "
    "i++)\n"
    "                for (int64_t k = 0; k <= i; k++) {\n                    float x = d(random);\n"
    "                    host[m + i * n + k] = T(i != k && zero > 0 ? 0.0f : x);\n"
    "                    host[m + k * n + i] = T(i != k && zero < 0 ? 0.0f : x);\n                "
    "}\n    }\n"
    "    void symmetric(double low, double high) { square(low, high, 0); }\n"
    "    void upper_triangular(double low, double high) { square(low, high, 1); }\n"
    "    void lower_triangular(double low, double high) { square(low, high, -1); }\n"
    "    void signs(double, double) { for (T &x : host) x = T(random() & 1 ? 1.0f : -1.0f); }\n"
    "    void upload() { CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), "
    "cudaMemcpyHostToDevice)); }\n"
    "    std::vector<T> download()\n    {\n        std::vector<T> result(host.size());\n"
    "        CHECK(cudaMemcpy(result.data(), device, host.size() * sizeof(T), "
    "cudaMemcpyDeviceToHost));\n        return result;\n  "
    "  }\n"
    "    void keep() { kept = download(); }\n"
    "    void poison() { std::memset((void *)host.data(), 0xff, host.size() * sizeof(T)); }\n"
    "    /* Floats that are all ones are NaN; integers may be. */\n"
    "    int unwritten(const char *name)\n    {\n        if (std::is_integral<T>::value) return "
    "0;\n"
    "        std::vector<T> got = download();\n        size_t left = 0;\n"
    "        for (const T &x : got) left += std::memcmp(&x, host.data(), sizeof(T)) == 0;\n"
    "        std::printf(\"%s: %zu of %zu elements not written\\n\", name, left, got.size());\n    "
    "    return left != 0;\n    }\n"
    "    int differs(const char *name, bool any_order)\n    {\n        std::vector<T> got = "
    "download();\n"
    "        std::vector<double> a, b;\n        for (T x : kept) a.push_back(number(x));\n        "
    "for (T x : got) "
    "b.push_back(number(x));\n"
    "        if (any_order) std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());\n        "
    "double error = 0, scale = 0;\n"
    "        for (size_t i = 0; i < a.size(); i++) error += (a[i] - b[i]) * (a[i] - b[i]), scale "
    "+= a[i] * a[i];\n"
    "        double relative = std::sqrt(error / (scale > 0 ? scale : 1)), limit = "
    "std::is_integral<T>::value ? 0 : sizeof(T) >= 4 "
    "? 1e-3 : 3e-2;\n"
    "        bool wrong = !(relative <= limit);\n"
    "        std::printf(\"%s: relative difference to the baseline %.3g, %s\\n\", name, relative, "
    "wrong ? \"WRONG\" : \"fine\");\n"
    "        return wrong;\n    }\n};\n";

bool kf_package_write_fill(kf_package *p, kf_error *error)
{
    return kf_winner_put(&p->files, "test/fill.h", fill_text, strlen(fill_text), error);
}
