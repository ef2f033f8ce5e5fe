/* What a candidate's process has mapped.
 *
 * The list of allowed objects is closed. An object is known by its device and inode, or by a name
 * in a folder that only the machine's owner writes to. A candidate can close a library before its
 * call ends. So the judge looks at stopped processes and, at random times, at running ones. */
#include "libraries.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/installation.h"

/* One batch in so many is looked at while it runs: in timed pairs, before them, and one in so many
 * when it has stopped. All batches of a workload that is not timed are looked at. Both sides of a
 * timed pair are, since a look may delay the process. */
#define LOOKS_TIMED 8
#define LOOKS_BEFORE 4
#define LOOKS_STOPPED 4

/* Beginnings of base names. */
static const char *const runtimes[] = {
    /* The C library with its loader, character sets and name services, and the libraries of C++. */
    "libc.so",   "libc-2.",  "libm.so",      "libm-2.",     "libmvec",  "libpthread",
    "libdl.so",  "libdl-2.", "librt.so",     "librt-2.",    "ld-linux", "ld-2.",
    "libresolv", "libnss_",  "libstdc++.so", "libgcc_s.so", NULL};
/* The CUDA runtime, and the driver with its own compiler (libnvidia-ptxjitcompiler). */
static const char *const driver[] = {"libcuda.so", "libcudart.so", "libnvidia-", "libcudadebugger",
                                     NULL};
/* What a library of a task is, with what it loads itself. */
static const struct {
    const char *name;
    const char *const files[8];
} vendors[] = {
    {"cublas", {"libcublas.so", "libcublasLt.so", "libnvrtc"}},
    {"cublaslt", {"libcublas.so", "libcublasLt.so", "libnvrtc"}},
    {"cudnn",
     {"libcudnn", "libcublas.so", "libcublasLt.so", "libnvrtc", "libnvJitLink.so", "libz.so"}},
    {"cufft", {"libcufft", "libnvrtc", "libnvJitLink.so"}},
    {"curand", {"libcurand.so"}},
    {"cusolver",
     {"libcusolver", "libcublas.so", "libcublasLt.so", "libcusparse.so", "libnvJitLink.so",
      "libnvrtc"}},
    {"cusparse", {"libcusparse.so", "libnvJitLink.so", "libnvrtc"}},
    {"nvrtc", {"libnvrtc"}},
};
/* Folders of packages of Python that a solution may use: PyTorch with what it needs or imports
 * where it is installed (setuptools imports Cython, sympy gmpy2), and compilers, which make code of
 * the solution's own text. A task can name others, by the name of their folder (cutlass:
 * nvidia_cutlass_dsl). */
static const char *const packages[] = {
    "torch/",      "torch.libs/", "functorch/",  "numpy/",      "numpy.libs/",
    "numpy.core/", "nvidia/",     "triton/",     "tilelang/",   "tvm/",
    "tvm_ffi/",    "apache_tvm",  "cupy/",       "cupyx/",      "cupy_backends/",
    "numba/",      "llvmlite/",   "pycuda/",     "taichi/",     "warp/",
    "yaml/",       "_yaml/",      "ml_dtypes/",  "mkl/",        "intel_openmp/",
    "tbb/",        "z3/",         "psutil/",     "markupsafe/", "cuda/",
    "Cython/",     "gmpy2/",      "gmpy2.libs/", "optree/",     "setuptools/",
    NULL};
/* Libraries of the system that modules of the standard library, BLAS and OpenMP consist of. */
static const char *const python_system[] = {
    "libpython3", "libz.so",      "libbz2.",     "liblzma.",  "libffi.",      "libssl.",
    "libcrypto.", "libexpat.",    "libuuid.",    "libgomp.",  "libgfortran.", "libquadmath.",
    "libatomic.", "libopenblas",  "libblas.",    "liblapack", "libmkl_",      "libiomp5.",
    "libomp.",    "libtbb",       "libsqlite3.", "libcrypt.", "libutil.",     "libnuma.",
    "libtorch",   "libc10",       "libcaffe2",   "libshm.",   "libzstd.",     "libmpdec.",
    "libtinfo.",  "libreadline.", "libncurses",  "libnsl.",   "libunwind",    NULL};
static const char *const system_folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", NULL};
static const char *const toolkit_folders[] = {"/usr/lib/", "/usr/lib64/", "/usr/local/", "/opt/",
                                              NULL};

/* A line of /proc/PID/maps. Texts end with `size`. */
typedef struct region {
    bool executable, writable;
    /* Device and inode. Empty for memory without a file. */
    const char *object;
    size_t object_size;
    const char *path;
    size_t path_size;
} region;

/* Allowed objects that were met last. A process can map one object 60,000 times, and a search for
 * each time would take minutes. */
#define MET 256
typedef struct met {
    region list[MET];
    /* all so far */
    size_t count;
} met;

/* Returns the end of the word at `at`, and of the blanks behind it. */
static const char *skip_word(const char *at, const char *end)
{
    while (at < end && *at != ' ') at++;
    while (at < end && *at == ' ') at++;
    return at;
}

static region read_line(const char *line, const char *end)
{
    region r = {0};
    const char *rights = skip_word(line, end), *offset = skip_word(rights, end);
    r.object = skip_word(offset, end);
    const char *inode = skip_word(r.object, end);
    r.path = skip_word(inode, end);
    r.path_size = (size_t)(end - r.path);
    r.executable = offset - rights > 3 && rights[2] == 'x';
    r.writable = offset - rights > 3 && rights[1] == 'w';
    bool named = inode < end && *inode != '0';
    r.object_size = named ? (size_t)(r.path - r.object) : 0;
    while (r.object_size && r.object[r.object_size - 1] == ' ') r.object_size--;
    return r;
}

static bool is_same_object(const region *r, const region *other)
{
    return r->object_size == other->object_size &&
           memcmp(r->object, other->object, r->object_size) == 0;
}

static bool is_met(const met *m, const region *r)
{
    for (size_t i = 0; i < MET && i < m->count && r->object_size; i++)
        if (is_same_object(&m->list[i], r)) return true;
    return false;
}

static const char *end_of_line(const char *line)
{
    return line + strcspn(line, "\n");
}

/* True if a line has the wanted object. For memory without a file: if it is executable memory of
 * that kind. */
static bool has_same(const region *r, const region *wanted)
{
    return wanted->object_size ? is_same_object(r, wanted)
                               : !r->object_size && r->executable && !r->path_size;
}

/* Returns the first line with the object from `line` up to `until`, NULL for all lines. Returns
 * NULL without one. */
static const char *find_object(const char *line, const char *until, const region *wanted)
{
    for (const char *end; *line && line != until; line = *end ? end + 1 : end) {
        end = end_of_line(line);
        region r = read_line(line, end);
        if (has_same(&r, wanted)) return line;
    }
    return NULL;
}

/* True if a process with these maps has the object too. */
static bool has_object(const char *maps, const region *wanted)
{
    return find_object(maps, NULL, wanted) != NULL;
}

/* The same, from the line *near on, where the object of the line before was. Two processes of one
 * program map their libraries in the same order, and PyTorch has thousands of lines. */
static bool has_object_near(const char *maps, const char **near, const region *wanted)
{
    const char *found = find_object(*near, NULL, wanted);
    if (!found) found = find_object(maps, *near, wanted);
    if (found) *near = found;
    return found != NULL;
}

static bool begins(const region *r, size_t from, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(r->path + from, *words, strlen(*words)) == 0) return true;
    return false;
}

static bool is_path(const region *r, const char *path)
{
    return path && strlen(path) == r->path_size && memcmp(path, r->path, r->path_size) == 0;
}

/* Returns where the base name begins. */
static size_t base_of(const region *r)
{
    size_t at = r->path_size;
    while (at && r->path[at - 1] != '/') at--;
    return at;
}

static bool is_allowed(const region *r, const kf_mapped *mapped)
{
    size_t base = base_of(r);
    if (mapped->last && r->object_size && has_object(mapped->last, r)) return true;
    if (r->path_size > 10 && memcmp(r->path + r->path_size - 10, " (deleted)", 10) == 0)
        return has_object(mapped->first, r);
    if (begins(r, 0, system_folders) && begins(r, base, runtimes)) return true;
    if (begins(r, 0, toolkit_folders)) {
        if (begins(r, base, driver)) return true;
        for (const char *const *name = mapped->allowed; name && *name; name++)
            for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
                if (strcmp(vendors[i].name, *name) == 0 && begins(r, base, vendors[i].files))
                    return true;
    }
    return is_path(r, mapped->candidate) || has_object(mapped->first, r);
}

/* True for the name of a library: NAME.so or NAME.so.VERSION. */
static bool is_library(const region *r)
{
    static const char cache[] = "/etc/ld.so.cache";
    if (is_path(r, cache)) return false;
    for (size_t at = base_of(r); at + 3 <= r->path_size; at++)
        if (memcmp(r->path + at, ".so", 3) == 0 &&
            (at + 3 == r->path_size || r->path[at + 3] == '.' || r->path[at + 3] == ' '))
            return true;
    return false;
}

bool kf_library_forbidden(const char *maps, const kf_mapped *mapped, char name[64])
{
    met allowed = {.count = 0};
    for (const char *line = maps, *end; *line; line = *end ? end + 1 : end) {
        end = end_of_line(line);
        region r = read_line(line, end);
        if (is_path(&r, "[vdso]") || is_path(&r, "[vsyscall]")) continue;
        if (!r.executable && !(r.path_size && *r.path == '/' && is_library(&r))) continue;
        if (r.executable && r.writable && !has_object(mapped->first, &r) &&
            !has_object(mapped->oracle, &r)) {
            /* Code in it can change. */
            *name = '\0';
            return true;
        }
        bool file = r.object_size || (r.path_size && *r.path == '/');
        if (is_met(&allowed, &r)) continue;
        if (file ? is_allowed(&r, mapped)
                 : has_object(mapped->first, &r) || has_object(mapped->oracle, &r)) {
            if (r.object_size) allowed.list[allowed.count++ % MET] = r;
            continue;
        }
        size_t base = base_of(&r);
        snprintf(name, 64, "%.*s", file ? (int)(r.path_size - base) : 0, r.path + base);
        return true;
    }
    return false;
}

/* Returns where the folder of a package begins, 0 outside of packages. */
static size_t package_of(const region *r)
{
    static const char *const homes[] = {"/site-packages/", "/dist-packages/"};
    for (size_t at = r->path_size; at-- > 0;)
        for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
            size_t length = strlen(homes[i]);
            if (at + length <= r->path_size && memcmp(r->path + at, homes[i], length) == 0)
                return at + length;
        }
    return 0;
}

static bool is_named(const region *r, size_t package, const char *const *allowed)
{
    for (; allowed && *allowed; allowed++) {
        const char *folder = strcmp(*allowed, "cutlass") == 0 ? "nvidia_cutlass_dsl" : *allowed;
        size_t length = strlen(folder);
        if (package + length < r->path_size && memcmp(r->path + package, folder, length) == 0 &&
            r->path[package + length] == '/')
            return true;
    }
    return false;
}

/* True for kforge's runtime of CUDA on a processor. Extensions of a solution run on it. */
static bool is_cpu_runtime(const region *r)
{
    kf_autofree char *file = kf_root_file("lib/kforge/libkfcpu.so", NULL);
    kf_autofree char *real = file ? realpath(file, NULL) : NULL;
    return real && strlen(real) == r->path_size && memcmp(real, r->path, r->path_size) == 0;
}

/* True for code that a solution in Python may load. Its own results lie below /tmp. */
static bool is_allowed_in_python(const region *r, const kf_mapped *mapped)
{
    static const char *const own[] = {"/tmp/", NULL};
    size_t package = package_of(r), base = base_of(r);
    if (is_allowed(r, mapped) || has_object(mapped->oracle, r) || begins(r, 0, own)) return true;
    if (package) return begins(r, package, packages) || is_named(r, package, mapped->allowed);
    if (begins(r, base, python_system) || is_cpu_runtime(r)) return true;
    char path[512]; /* a module of the standard library */
    snprintf(path, sizeof path, "%.*s", (int)r->path_size, r->path);
    return strstr(path, "/lib-dynload/") != NULL;
}

bool kf_python_library_forbidden(const char *maps, const kf_mapped *mapped, char name[64])
{
    met allowed = {.count = 0};
    const char *near = mapped->first;
    for (const char *line = maps, *end; *line; line = *end ? end + 1 : end) {
        end = end_of_line(line);
        region r = read_line(line, end);
        if (!r.path_size || *r.path != '/' || (!r.executable && !is_library(&r))) continue;
        if (is_met(&allowed, &r)) continue;
        if (has_object_near(mapped->first, &near, &r) || is_allowed_in_python(&r, mapped)) {
            allowed.list[allowed.count++ % MET] = r;
            continue;
        }
        size_t base = base_of(&r);
        snprintf(name, 64, "%.*s", (int)(r.path_size - base), r.path + base);
        return true;
    }
    return false;
}

static bool is_python(const kf_runner *runner)
{
    return kf_runner_is_python(kf_runner_kind_of(runner));
}

/* Adds the finding for the maps of a solution in Python, which it frees. */
static bool judge_python_maps(kf_measurement *r, kf_runner *candidate, char *maps, kf_error *error)
{
    char name[64];
    kf_autofree char *text = maps, *oracle = NULL, *clean = NULL;
    kf_mapped mapped = {
        .first = kf_runner_first_maps(candidate), .oracle = "", .allowed = r->bench->libraries};
    if (!text || r->over || !kf_python_library_forbidden(text, &mapped, name)) return true;
    if (r->oracle && is_python(r->oracle) && (oracle = kf_runner_maps(r->oracle)))
        mapped.oracle = oracle;
    if (!kf_python_library_forbidden(text, &mapped, name)) return true;
    r->over = true;
    clean = kf_text_clean(name, strlen(name), true);
    return (clean && kf_verdict_add_finding(
                         r->bench->verdict, r->bench->result, KF_CHEATING, KF_BLAME_CANDIDATE,
                         "library.loaded", NAN, NAN,
                         "the solution's process has loaded %s. Allowed are PyTorch with what it "
                         "needs, compilers of kernels, and the task's \"libraries\"",
                         clean)) ||
           kf_fail_memory(error, "a measurement");
}

/* Adds the finding for maps, which it frees. */
static bool judge_maps(kf_measurement *r, kf_runner *candidate, char *maps, kf_error *error)
{
    char name[64];
    kf_autofree char *text = maps, *oracle = NULL;
    kf_mapped mapped = {.candidate = kf_runner_loaded(candidate),
                        .first = kf_runner_first_maps(candidate),
                        .oracle = "",
                        .last = kf_runner_last_maps(candidate),
                        .allowed = r->bench->libraries};
    if (!text || r->over || !kf_library_forbidden(text, &mapped, name)) return true;
    if (!*name && r->oracle && !is_python(r->oracle) && (oracle = kf_runner_maps(r->oracle))) {
        mapped.oracle = oracle;
        if (!kf_library_forbidden(text, &mapped, name)) return true;
    }
    r->over = true;
    kf_autofree char *clean = kf_text_clean(name, strlen(name), true);
    return (clean && kf_verdict_add_finding(
                         r->bench->verdict, r->bench->result, KF_CHEATING, KF_BLAME_CANDIDATE,
                         "library.loaded", NAN, NAN,
                         *clean ? "the candidate's process has loaded %s. Allowed are the runtimes "
                                  "of C, C++ and CUDA, and the task's \"libraries\""
                                : "the candidate's process has made executable memory%s. Put all "
                                  "code into the source",
                         clean)) ||
           kf_fail_memory(error, "a measurement");
}

/* Adds a finding if the list of a candidate's mappings was cut off. */
static bool judge_size(kf_measurement *r, const kf_runner *candidate, kf_error *error)
{
    if (r->over || !kf_runner_has_too_many_maps(candidate)) return true;
    r->over = true;
    return kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_OUT_OF_MEMORY,
                                  KF_BLAME_CANDIDATE, "memory.limit", NAN, NAN,
                                  "the list of what the process has mapped (/proc/PID/maps) is "
                                  "longer than the judge reads. Map fewer regions") ||
           kf_fail_memory(error, "a measurement");
}

bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error)
{
    kf_autofree char *maps = kf_runner_maps(candidate);
    if (!judge_size(r, candidate, error)) return false;
    return is_python(candidate) ? judge_python_maps(r, candidate, kf_steal(&maps), error)
                                : judge_maps(r, candidate, kf_steal(&maps), error);
}

void kf_measurement_plan_look(kf_measurement *r, kf_side side, int pair, kf_batch *batch)
{
    const kf_runner *candidate = r->runners[CANDIDATE];
    bool timed = r->schedule.timed && pair >= 0;
    if (!candidate || is_python(candidate) || (side == BASELINE && !timed)) return;
    int number = timed ? pair : (int)(kf_runner_calls(candidate) & 0x7fffffff);
    uint64_t drawn = kf_measurement_draw(r, timed ? "looks" : "looks before", number);
    if (r->schedule.timed && drawn % (timed ? LOOKS_TIMED : LOOKS_BEFORE)) return;
    /* A look near the end of a timed batch would delay the judge's clock. */
    double expected = (timed ? 0.8 : 1) * r->schedule.baseline_call * batch->count;
    batch->look_at = fmax(expected * (double)(drawn >> 11) * 0x1p-53, 1e-5);
    batch->looks_on = !timed;
}

bool kf_measurement_look(kf_measurement *r, kf_side side, kf_batch *batch, bool alive,
                         kf_error *error)
{
    kf_runner *candidate = r->runners[CANDIDATE];
    char *maps = batch->maps;
    batch->maps = NULL;
    if (side == BASELINE) {
        free(maps);
        return true;
    }
    if (maps && !judge_maps(r, candidate, maps, error)) return false;
    if (!judge_size(r, candidate, error)) return false;
    int number = (int)(kf_runner_calls(candidate) & 0x7fffffff);
    bool looks = kf_runner_calls(candidate) <= batch->count ||
                 kf_measurement_draw(r, "stopped looks", number) % LOOKS_STOPPED == 0;
    return r->over || !looks || !alive || kf_measurement_audit(r, candidate, error);
}
