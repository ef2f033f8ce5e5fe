/* kforge-cpucc: the compiler driver of the CPU device, in the place that nvcc has for a GPU.
 *
 *   candidate.cu ── g++ -E ──► expanded text ── kf_rewrite ──► C++ ── g++ ──► shared object
 *                                                               (linked to libkfcpu.so)
 *
 * Both compiler runs start from the same precompiled header. It holds CUDA's declarations and the
 * usual standard headers, so g++ parses only the candidate's own text. The first run keeps CUDA's
 * qualifiers as words (kfcpu_keep.h). A -D option becomes a line of a header that follows the
 * precompiled one, because a macro on the command line would make the precompiled header invalid.
 * The driver starts no shell. It writes only to the output and to a new folder under $TMPDIR (or to
 * the folder of --keep). */
#include "cpucc.h"
#include "cpucc_config.h"
#include "cpucc_messages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "rewrite.h"
#include "unsupported.h"

/* How much of the compiler's messages is kept and shown. */
#define MESSAGES_LIMIT (1u << 20)
#define SUSPECTS 512
/* Headers for the host alone, in the folder of intermediate files. */
#define HOST_FOLDER "/kforge-host/"
/* The pragma that stands for the precompiled header is among the first bytes. */
#define MARK_WITHIN 4096
#define FAST_LINKER "/usr/bin/ld.gold"
#define EXPANDED_LIMIT (64u << 20)
#define TRACED_LIMIT (256u << 20)

typedef struct driver {
    kf_cpucc_options options;
    char prefix[PATH_MAX]; /* …/lib/kforge */
    char *header;          /* the header that comes before the candidate, precompiled or not */
    char *folder;          /* intermediate files */
    bool keep;
    kf_cpucc_command compile; /* grows while the sources are prepared */
    /* Names that probably mean something unsupported. They count if the compiler reports them. */
    kf_rewrite_finding suspects[SUSPECTS];
    int suspect_count;
    kf_host_use host_use; /* the first one of all files */
    /* __CUDA_ARCH__ is defined; a failure shows nothing, because another attempt follows. */
    bool defines_architecture, silent;
    size_t empty_kernels;
} driver;

/* Finds the library folder: PREFIX/lib/kforge for the program PREFIX/bin/kforge-cpucc. */
static bool find_prefix(const char *program, char *prefix, size_t size, kf_error *error)
{
    char self[PATH_MAX], resolved[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
    } else {
        if (!strchr(program, '/') || !realpath(program, resolved))
            return kf_fail(error, KF_ERROR_MACHINE,
                           "kforge-cpucc can't find its own folder; call it by its full path");
        snprintf(self, sizeof self, "%s", resolved);
    }
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(self, '/');
        if (!slash)
            return kf_fail(error, KF_ERROR_MACHINE,
                           "kforge-cpucc is not in a bin folder; install kforge again");
        *slash = '\0';
    }
    if (snprintf(prefix, size, "%s/lib/kforge", self) >= (int)size)
        return kf_fail(error, KF_ERROR_MACHINE,
                       "the path of kforge-cpucc is too long; install kforge in another folder");
    struct stat info;
    char header[PATH_MAX + 64];
    snprintf(header, sizeof header, "%s/cpu/include/kforge_cpu.h", prefix);
    if (stat(header, &info) != 0)
        return kf_fail(error, KF_ERROR_MACHINE, "%s: %s; install kforge again", header,
                       strerror(errno));
    return true;
}

/* Sets the header for these flags: from --precompiled if that folder has it compiled, else the
 * installation's own, which may be text alone. */
static bool find_header(driver *d, kf_error *error)
{
    const kf_cpucc_options *options = &d->options;
    const char *variant = options->asan        ? "asan"
                          : options->fast_math ? "fast"
                          : options->light     ? "light"
                                               : "plain";
    const char *language = strcmp(options->standard, "gnu++20") == 0 ? "-c++20" : "";
    kf_autofree char *made = NULL, *compiled = NULL, *installed = NULL;
    if (options->precompiled &&
        (asprintf(&made, "%s/%s%s/kforge_cpu.h", options->precompiled, variant, language) < 0 ||
         asprintf(&compiled, "%s.gch", made) < 0))
        return kf_fail(error, KF_ERROR_MEMORY, "no memory for file names");
    if (asprintf(&installed, "%s/cpu/pch/%s/kforge_cpu.h", d->prefix, variant) < 0)
        return kf_fail(error, KF_ERROR_MEMORY, "no memory for file names");
    bool use_made = made && access(made, R_OK) == 0 && access(compiled, R_OK) == 0;
    d->header = use_made ? kf_steal(&made) : kf_steal(&installed);
    return true;
}

/* Adds the flags that the precompiled header was made with. CMakeLists.txt has the
 * same lists. */
static void add_flags(driver *d, kf_cpucc_command *command)
{
    const kf_cpucc_options *options = &d->options;
    kf_cpucc_add(command, "%s", KFORGE_CPU_CXX);
    kf_cpucc_add(command, "-std=%s", options->standard);
    static const char *const common[] = {KFORGE_CPU_FLAGS};
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        kf_cpucc_add(command, "%s", common[i]);
    if (options->asan) {
        static const char *const sanitizer[] = {KFORGE_CPU_ASAN_FLAGS};
        for (size_t i = 0; i < sizeof sanitizer / sizeof *sanitizer; i++)
            kf_cpucc_add(command, "%s", sanitizer[i]);
    } else {
        kf_cpucc_add(command, "-O%d", options->optimize);
    }
    if (options->fast_math) {
        static const char *const fast[] = {KFORGE_CPU_FAST_FLAGS};
        for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
            kf_cpucc_add(command, "%s", fast[i]);
    }
    if (options->no_contraction) kf_cpucc_add(command, "-ffp-contract=off");
    if (options->unroll) kf_cpucc_add(command, "-funroll-loops");
    kf_cpucc_add(command, "-w");
    /* kforge writes the lines of code itself, from the candidate's file (cpucc_messages.c). */
    kf_cpucc_add(command, "-fno-diagnostics-show-caret");
    kf_cpucc_add(command, "-fdiagnostics-column-unit=byte");
    kf_cpucc_add(command, "-fmax-errors=20");
}

/* Adds the header before the candidate's first line; `include` is -include, or -imacros for its
 * macros alone. */
static void add_header(driver *d, const char *include, kf_cpucc_command *command)
{
    /* If the precompiled header does not fit these flags, g++ includes the header itself. */
    kf_cpucc_add(command, "%s", include);
    kf_cpucc_add(command, "%s", d->header);
    kf_cpucc_add(command, "-I%s/cpu/include", d->prefix);
}

static void add_includes(driver *d, kf_cpucc_command *command)
{
    kf_cpucc_add(command, "-include");
    kf_cpucc_add(command, "%s/defines.h", d->folder);
    for (int i = 0; i < d->options.include_count; i++) {
        kf_cpucc_add(command, "-include");
        kf_cpucc_add(command, "%s", d->options.includes[i]);
    }
    if (d->defines_architecture) kf_cpucc_add(command, "-I%s" HOST_FOLDER, d->folder);
    for (int i = 0; i < d->options.folder_count; i++)
        kf_cpucc_add(command, "-I%s", d->options.folders[i]);
    kf_cpucc_add(command, "-I%s" KF_UNSUPPORTED_FOLDER, d->folder);
}

/* Writes a header into a folder of the intermediate files. False without an error for a name that
 * leaves the folder, or is there already. */
static bool write_header(driver *d, const char *folder, const char *name, const char *text,
                         kf_error *error)
{
    if (name[0] == '/' || strstr(name, "..")) return false;
    kf_autofree char *path = NULL;
    if (asprintf(&path, "%s%s%s", d->folder, folder, name) < 0)
        return kf_fail(error, KF_ERROR_MEMORY, "no memory for a file name");
    if (access(path, F_OK) == 0) return false;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (!kf_directory_make(path, error)) return false;
    *slash = '/';
    return kf_file_write(path, text, strlen(text), error);
}

/* Writes an empty header in the place of one of an unsupported feature. */
static bool write_empty_header(driver *d, const char *name, kf_error *error)
{
    return write_header(d, KF_UNSUPPORTED_FOLDER, name, KF_UNSUPPORTED_TEXT, error);
}

/* Writes a header that includes PyTorch's of that name without __CUDA_ARCH__, as in nvcc's pass for
 * the host. */
static bool write_host_header(driver *d, const char *name, kf_error *error)
{
    kf_autofree char *text = NULL;
    if (asprintf(&text,
                 "#pragma push_macro(\"__CUDA_ARCH__\")\n#undef __CUDA_ARCH__\n"
                 "#include_next <%s>\n#pragma pop_macro(\"__CUDA_ARCH__\")\n",
                 name) < 0)
        return kf_fail(error, KF_ERROR_MEMORY, "no memory for a header");
    return write_header(d, HOST_FOLDER, name, text, error);
}

static bool is_of_torch(const char *name)
{
    return strncmp(name, "torch/", 6) == 0 || strncmp(name, "ATen/", 5) == 0 ||
           strncmp(name, "c10/", 4) == 0;
}

/* Writes an empty header for each #include of an unsupported feature's header in the file. A source
 * that includes more than it uses is fine. kf_rewrite finds the uses. Writes one for each header of
 * PyTorch, too. */
static bool write_own_headers(driver *d, const char *file, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_file_read(file, EXPANDED_LIMIT, &size, NULL);
    if (!text) return true; /* g++ reports the file. */
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n'), *at = line + strspn(line, " \t");
        line = *end ? end + 1 : end;
        if (*at != '#') continue;
        at += 1 + strspn(at + 1, " \t");
        if (strncmp(at, "include", 7) != 0) continue;
        at += 7 + strspn(at + 7, " \t");
        if (*at != '<' && *at != '"') continue;
        char name[256];
        size_t length = strcspn(++at, ">\"\r\n");
        if (length >= sizeof name) continue;
        memcpy(name, at, length);
        name[length] = '\0';
        if (is_of_torch(name) && !write_host_header(d, name, error) && error->code) return false;
        if (kf_unsupported_header(at, length) && !write_empty_header(d, name, error) && error->code)
            return false;
    }
    return true;
}

/* Writes an intermediate file. It need not outlive a crash of the machine. */
static bool write_file(const char *path, const kf_buffer *text, kf_error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = fd >= 0 && kf_write_all(fd, text->data ? text->data : "", text->size);
    int cause = errno;
    if (fd >= 0) close(fd);
    return written || kf_fail(error, KF_ERROR_IO, "%s: cannot write: %s", path, strerror(cause));
}

static bool write_defines(driver *d, kf_error *error)
{
    kf_autobuffer text = {0};
    for (int i = 0; i < d->options.define_count; i++) {
        const char *define = d->options.defines[i], *value = strchr(define, '=');
        kf_buffer_format(&text, "#define %.*s %s\n", (int)strcspn(define, "="), define,
                         value ? value + 1 : "1");
    }
    if (d->defines_architecture) kf_buffer_string(&text, "#define __CUDA_ARCH__ 860\n");
    if (text.failed) return kf_fail(error, KF_ERROR_MEMORY, "no memory for the macros");
    kf_autofree char *path = kf_path_join(d->folder, "defines.h");
    return path && write_file(path, &text, error);
}

/* Adds a header with a fixed __TIMESTAMP__. A source that undefines the macro leaves it to the
 * second run, which would give it the time of the rewritten file. The sandbox may forbid to set
 * that. */
static bool add_timestamp(driver *d, kf_cpucc_command *command, kf_error *error)
{
    kf_autobuffer text = {0};
    kf_autofree char *path = kf_path_join(d->folder, "timestamp.h");
    kf_buffer_string(&text, "#define __TIMESTAMP__ \"Thu Jan  1 00:00:00 1970\"\n");
    if (!path || text.failed) return kf_fail(error, KF_ERROR_MEMORY, "no memory for the macros");
    kf_cpucc_add(command, "-include");
    kf_cpucc_add(command, "%s", path);
    return write_file(path, &text, error);
}

static int run(driver *d, const kf_cpucc_command *command, kf_buffer *messages, kf_error *error)
{
    if (d->options.verbose) {
        for (int i = 0; i < command->count; i++)
            fprintf(stderr, "%s%s", i ? " " : "", command->words[i]);
        fputc('\n', stderr);
    }
    return kf_cpucc_run(command, d->folder, messages, error);
}

static int show_finding(const driver *d, const kf_rewrite_finding *finding)
{
    if (d->silent) return KF_CPUCC_UNSUPPORTED;
    fprintf(stderr, "%s:%ld: unsupported on the CPU device: %s (%s)\n", finding->file,
            finding->line, finding->construct, finding->advice);
    return KF_CPUCC_UNSUPPORTED;
}

/* Shows messages about the sources themselves, or about their rewritten texts if there are places.
 */
static int show_messages(const driver *d, const char *text, kf_places *const *places)
{
    kf_cpucc_messages messages = {.headers = "/lib/kforge/cpu/", .count = d->options.file_count};
    kf_autobuffer output = {0};
    if (d->silent) return KF_CPUCC_COMPILE_ERROR;
    for (int i = 0; i < messages.count; i++) messages.places[i] = places ? places[i] : NULL;
    kf_cpucc_messages_write(&messages, text ? text : "", &output);
    fwrite(output.data ? output.data : "", 1, output.size, stderr);
    return KF_CPUCC_COMPILE_ERROR;
}

/* Runs g++ -E. With `precompiled`, the output leaves out the text of the precompiled header.
 * Without it, g++ reads only the header's macros. */
static int run_preprocessor(driver *d, const char *file, const char *expanded, bool precompiled,
                            bool traced, kf_buffer *messages, kf_error *error)
{
    kf_cpucc_command command = {0};
    add_flags(d, &command);
    add_header(d, precompiled ? "-include" : "-imacros", &command);
    kf_cpucc_add(&command, "-E");
    if (traced) kf_cpucc_add(&command, "-fdebug-cpp");
    kf_cpucc_add(&command, "-fpch-preprocess");
    kf_cpucc_add(&command, "-include");
    kf_cpucc_add(&command, "%s/cpu/include/kfcpu_keep.h", d->prefix);
    add_includes(d, &command);
    kf_cpucc_add(&command, "-o");
    kf_cpucc_add(&command, "%s", expanded);
    kf_cpucc_add(&command, "-x");
    kf_cpucc_add(&command, "c++");
    kf_cpucc_add(&command, "%s", file);
    int status = run(d, &command, messages, error);
    kf_cpucc_command_free(&command);
    return status;
}

/* Runs it once, and shows its messages. Header files of a candidate may include headers of
 * unsupported features, too: such a name goes to `missing`, else "". */
static int preprocess(driver *d, const char *file, const char *expanded, bool precompiled,
                      char missing[256], kf_error *error)
{
    *missing = '\0';
    kf_autobuffer messages = {.limit = MESSAGES_LIMIT};
    int status = run_preprocessor(d, file, expanded, precompiled, false, &messages, error);
    if (status <= 0) return status;
    if (messages.size && kf_cpucc_missing_header(messages.data, missing, 256) &&
        write_empty_header(d, missing, error))
        return status;
    *missing = '\0';
    return error->code ? -1 : show_messages(d, messages.data, NULL);
}

/* Reads a whole .cu file, expanded. The precompiled header does not fit other flags or another
 * compiler. In that case g++ -E writes the header's text in place of the pragma, and a second,
 * slower run is needed. */
static int expand(driver *d, const char *file, const char *expanded, char **text, size_t *size,
                  kf_error *error)
{
    if (!write_own_headers(d, file, error)) return -1;
    for (int attempt = 0; attempt < 2; attempt++) {
        char missing[256];
        int status = preprocess(d, file, expanded, attempt == 0, missing, error);
        while (*missing) status = preprocess(d, file, expanded, attempt == 0, missing, error);
        if (status != 0) return status;
        *text = kf_file_read(expanded, EXPANDED_LIMIT, size, error);
        if (!*text) return -1;
        static const char mark[] = "#pragma GCC pch_preprocess";
        if (attempt == 1 ||
            memmem(*text, *size < MARK_WITHIN ? *size : MARK_WITHIN, mark, sizeof mark - 1))
            break;
        free(*text);
        *text = NULL;
    }
    return 0;
}

/* True if the file may hold other text for a GPU in the place of a function that is not for it. */
static bool differs_on_gpu(const char *file)
{
    size_t size;
    kf_autofree char *text = kf_file_read(file, EXPANDED_LIMIT, &size, NULL);
    return !text || strstr(text, "__CUDA_ARCH__");
}

static int show_host_use(const kf_host_use *use)
{
    fprintf(stderr,
            "%s:%ld: error: %s uses \"%s\", which is a %s of the host. A GPU cannot %s it: %s\n",
            use->file, use->line, use->user, use->name, use->function ? "function" : "variable",
            use->function ? "call" : "reach",
            use->function ? "write __device__ before its definition"
                          : "pass it as an argument, or declare it with __device__");
    return KF_CPUCC_COMPILE_ERROR;
}

/* Turns one .cu file into the C++ that is compiled. */
static int prepare(driver *d, int number, kf_error *error)
{
    kf_autofree char *expanded = NULL, *rewritten = NULL;
    if (asprintf(&expanded, "%s/%d.ii", d->folder, number) < 0) expanded = NULL;
    if (asprintf(&rewritten, "%s/%d.cpp", d->folder, number) < 0) rewritten = NULL;
    if (!expanded || !rewritten) {
        kf_fail(error, KF_ERROR_MEMORY, "no memory for file names");
        return -1;
    }
    size_t size;
    kf_autofree char *text = NULL;
    int status = expand(d, d->options.files[number], expanded, &text, &size, error);
    if (status != 0) return status;
    kf_rewrite_result result;
    if (!kf_rewrite(text, size, d->options.asan, &result, error)) {
        kf_rewrite_free(&result);
        kf_fail_prefix(error, "%s", d->options.files[number]);
        return -1;
    }
    d->empty_kernels += result.empty_kernels;
    for (size_t i = 0; i < result.finding_count && status == 0; i++) {
        if (result.findings[i].certain) status = show_finding(d, &result.findings[i]);
        if (d->suspect_count < SUSPECTS) d->suspects[d->suspect_count++] = result.findings[i];
    }
    if (!d->host_use.line && !differs_on_gpu(d->options.files[number]))
        d->host_use = result.host_use;
    if (status == 0 && !write_file(rewritten, &result.text, error)) status = -1;
    kf_rewrite_free(&result);
    kf_cpucc_add(&d->compile, "%s", rewritten);
    return status;
}

static bool is_cuda(const char *file)
{
    const char *dot = strrchr(file, '.');
    return dot && (strcmp(dot, ".cu") == 0 || strcmp(dot, ".cuh") == 0);
}

/* True if an error of the compiler is about an unknown name. */
static bool is_unknown_name(const char *line, size_t size)
{
    static const char *const texts[] = {"was not declared in this scope", "does not name a type",
                                        "has not been declared", "is not a template"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (memmem(line, size, texts[i], strlen(texts[i]))) return true;
    return false;
}

/* True if an error of the compiler or the linker mentions the word, or lies in a header of that
 * name. */
static bool is_blamed(const char *messages, const char *word)
{
    if (strchr(word, '.') || strchr(word, '/')) return strstr(messages, word) != NULL;
    bool any = strcmp(word, KF_REWRITE_ANY_NAME) == 0;
    for (const char *line = messages; *line;) {
        const char *end = strchrnul(line, '\n');
        size_t size = (size_t)(end - line);
        bool error =
            memmem(line, size, "error: ", 7) || memmem(line, size, "undefined reference", 19);
        if (error && any && is_unknown_name(line, size)) return true;
        if (error && memmem(line, size, word, strlen(word))) return true;
        line = *end ? end + 1 : end;
    }
    return false;
}

/* What the messages about one rewritten file need. */
typedef struct traced_file {
    char *source, *expanded, *traced;
    kf_rewrite_result rewritten;
    kf_places *places;
} traced_file;

/* Reads the file's texts again, and has g++ say where each token comes from. Leaves `places` NULL
 * if that fails: the messages then keep the places of the rewritten text. */
static void trace(driver *d, int number, traced_file *file)
{
    kf_error error;
    kf_autobuffer ignored = {.limit = MESSAGES_LIMIT};
    kf_autofree char *expanded = NULL, *traced = NULL;
    size_t size, traced_size = 0;
    if (asprintf(&expanded, "%s/%d.ii", d->folder, number) < 0) expanded = NULL;
    if (asprintf(&traced, "%s/%d.traced", d->folder, number) < 0) traced = NULL;
    if (!expanded || !traced) return;
    const char *name = d->options.files[number];
    file->source = kf_file_read(name, EXPANDED_LIMIT, &traced_size, &error);
    file->expanded = kf_file_read(expanded, EXPANDED_LIMIT, &size, &error);
    if (!file->expanded ||
        !kf_rewrite(file->expanded, size, d->options.asan, &file->rewritten, &error))
        return;
    /* Marks take ten times the text's own size. */
    bool small = size < TRACED_LIMIT / 100;
    for (int attempt = 0; attempt < 2 && small && !file->places; attempt++) {
        if (run_preprocessor(d, name, traced, attempt == 0, true, &ignored, &error) != 0) break;
        free(file->traced);
        file->traced = kf_file_read(traced, TRACED_LIMIT, &traced_size, &error);
        if (!file->traced) break;
        file->places = kf_places_new(name, file->source, file->expanded, size, file->traced,
                                     traced_size, &file->rewritten);
    }
    if (!file->places)
        file->places =
            kf_places_new(name, file->source, file->expanded, size, NULL, 0, &file->rewritten);
}

/* Shows the messages of the compiler about the rewritten files. */
static int show_traced(driver *d, const char *messages)
{
    traced_file *files = calloc((size_t)d->options.file_count + 1, sizeof *files);
    kf_places *places[KF_CPUCC_FILES] = {0};
    for (int i = 0; files && i < d->options.file_count; i++) {
        if (is_cuda(d->options.files[i])) trace(d, i, &files[i]);
        places[i] = files[i].places;
    }
    int status = show_messages(d, messages, places);
    for (int i = 0; files && i < d->options.file_count; i++) {
        kf_places_free(files[i].places);
        kf_rewrite_free(&files[i].rewritten);
        free(files[i].source);
        free(files[i].expanded);
        free(files[i].traced);
    }
    free(files);
    return status;
}

static int compile(driver *d, kf_error *error)
{
    kf_cpucc_command *command = &d->compile;
    if (!d->options.program) kf_cpucc_add(command, d->options.object ? "-c" : "-shared");
    kf_cpucc_add(command, "-o");
    kf_cpucc_add(command, "%s", d->options.output);
    /* asm() lets a source put any section into its object. With link-time optimisation the linker
     * would start another compiler on the contents of these sections. */
    kf_cpucc_add(command, "-fno-lto");
    /* Where it is installed: it takes half the time. */
    if (!d->options.asan && access(FAST_LINKER, X_OK) == 0) kf_cpucc_add(command, "-fuse-ld=gold");
    kf_cpucc_add(command, "-L%s", d->prefix);
    kf_cpucc_add(command, "-Wl,-rpath,%s", d->prefix);
    kf_cpucc_add(command, "-Wl,--no-undefined");
    /* Equal programs give equal files: names of temporary files and of locals are left out. */
    if (!d->options.program && !d->options.object && !d->options.asan)
        kf_cpucc_add(command, "-Wl,-s,--build-id=none");
    kf_cpucc_add(command, d->options.asan ? "-lkfcpu-asan" : "-lkfcpu");
    kf_cpucc_add(command, "-lpthread");
    kf_autobuffer messages = {.limit = MESSAGES_LIMIT};
    int status = run(d, command, &messages, error);
    if (status <= 0) return status;
    for (int i = 0; i < d->suspect_count && messages.size; i++)
        if (is_blamed(messages.data, d->suspects[i].word)) return show_finding(d, &d->suspects[i]);
    char line[2048];
    if (messages.size && kf_cpucc_unsupported_use(messages.data, line, sizeof line)) {
        if (!d->silent) fprintf(stderr, "%s\n", line);
        return KF_CPUCC_UNSUPPORTED;
    }
    return d->silent ? KF_CPUCC_COMPILE_ERROR : show_traced(d, messages.data);
}

/* Compiles the file of --plain, and adds it to the link, if there is one. */
static int compile_plain(driver *d, kf_error *error)
{
    bool alone = d->options.file_count == 0;
    kf_cpucc_command command = {0};
    add_flags(d, &command);
    kf_cpucc_add(&command, "-fno-lto");
    kf_cpucc_add(&command, "-c");
    kf_cpucc_add(&command, "-o");
    kf_cpucc_add(&command, alone ? "%s" : "%s/plain.o", alone ? d->options.output : d->folder);
    kf_cpucc_add(&command, "%s", d->options.plain);
    kf_cpucc_add(&d->compile, "%s/plain.o", d->folder);
    kf_autobuffer messages = {.limit = MESSAGES_LIMIT};
    int status = run(d, &command, &messages, error);
    kf_cpucc_command_free(&command);
    return status <= 0 ? status : show_messages(d, messages.data, NULL);
}

static int build_once(driver *d, kf_error *error)
{
    kf_cpucc_command_free(&d->compile);
    d->suspect_count = 0;
    d->host_use.line = 0;
    d->empty_kernels = 0;
    if (!write_defines(d, error)) return -1;
    add_flags(d, &d->compile);
    /* This run expands __BASE_FILE__ if the source has undefined it in the first one. */
    kf_cpucc_add(&d->compile, "-fmacro-prefix-map=%s=.", d->folder);
    add_header(d, "-include", &d->compile);
    if (!add_timestamp(d, &d->compile, error)) return -1;
    /* Not with -pipe: the second compiler run could then read from the pipe that it writes to. A
     * candidate can build a directive that only this run sees (with a macro for "#"). If it
     * includes /proc/self/fd/1, g++ would wait for its own output forever. */
    for (int i = 0; i < d->options.folder_count; i++)
        kf_cpucc_add(&d->compile, "-I%s", d->options.folders[i]);

    for (int i = 0; i < d->options.file_count; i++) {
        const char *file = d->options.files[i];
        if (!is_cuda(file)) {
            kf_cpucc_add(&d->compile, "%s", file);
        } else {
            int status = prepare(d, i, error);
            if (status != 0) return status;
        }
    }
    int plain = d->options.plain ? compile_plain(d, error) : 0;
    if (plain != 0 || !d->options.file_count) return plain;
    int status = compile(d, error);
    /* After the compiler's own errors, since a name means nothing in malformed text. */
    return status == 0 && d->host_use.line ? show_host_use(&d->host_use) : status;
}

static bool any_differs_on_gpu(const driver *d)
{
    for (int i = 0; i < d->options.file_count; i++)
        if (is_cuda(d->options.files[i]) && differs_on_gpu(d->options.files[i])) return true;
    return false;
}

/* Kernels may have their only code behind `#if __CUDA_ARCH__ >= 800`. Others have PTX there, and
 * plain code for a processor without that macro. So the second attempt leaves it out. If a kernel
 * loses all its code by that, the first attempt's failure is the result. */
static int build(driver *d, kf_error *error)
{
    if (!any_differs_on_gpu(d)) return build_once(d, error);
    d->defines_architecture = d->silent = true;
    int status = build_once(d, error);
    if (status == KF_CPUCC_OK || (status < 0 && error->code == KF_ERROR_BUSY)) return status;
    size_t empty = d->empty_kernels;
    *error = (kf_error){0};
    d->defines_architecture = d->silent = false;
    status = build_once(d, error);
    if (status != KF_CPUCC_OK || d->empty_kernels <= empty) return status;
    d->defines_architecture = true;
    return build_once(d, error);
}

/* Compiles the header that is the only file. */
static int precompile(driver *d, kf_error *error)
{
    add_flags(d, &d->compile);
    kf_cpucc_add(&d->compile, "-I%s/cpu/include", d->prefix);
    kf_cpucc_add(&d->compile, "-x");
    kf_cpucc_add(&d->compile, "c++-header");
    kf_cpucc_add(&d->compile, "%s", d->options.files[0]);
    kf_cpucc_add(&d->compile, "-o");
    kf_cpucc_add(&d->compile, "%s", d->options.output);
    kf_autobuffer messages = {.limit = MESSAGES_LIMIT};
    int status = run(d, &d->compile, &messages, error);
    return status <= 0 ? status : show_messages(d, messages.data, NULL);
}

static bool make_folder(driver *d, kf_error *error)
{
    if (!d->options.keep)
        return (d->folder = kf_directory_temporary("kforge-cpucc", error)) != NULL;
    d->keep = true;
    d->folder = strdup(d->options.keep);
    return d->folder ? kf_directory_make(d->folder, error)
                     : kf_fail(error, KF_ERROR_MEMORY, "no memory for the path of --keep");
}

static int say_version(kf_error *error)
{
    kf_cpucc_command command = {0};
    kf_autobuffer text = {.limit = MESSAGES_LIMIT};
    kf_cpucc_add(&command, "%s", KFORGE_CPU_CXX);
    kf_cpucc_add(&command, "--version");
    int status = kf_cpucc_run(&command, "/tmp", &text, error);
    kf_cpucc_command_free(&command);
    if (text.size) fwrite(text.data, 1, text.size, stdout);
    return status;
}

int main(int argc, char **argv)
{
    driver d = {0};
    kf_error error = {0};
    int status = -1;
    if (!kf_cpucc_read_options(argc, argv, &d.options, &error)) {
        fprintf(stderr, "kforge-cpucc: %s\n", error.text);
        return KF_CPUCC_USAGE;
    }
    if (d.options.help) {
        fputs(kf_cpucc_usage, stdout);
        return KF_CPUCC_OK;
    }
    if (d.options.version) {
        status = say_version(&error);
    } else if (find_prefix(argv[0], d.prefix, sizeof d.prefix, &error) && find_header(&d, &error) &&
               make_folder(&d, &error)) {
        status = d.options.precompile ? precompile(&d, &error) : build(&d, &error);
        if (!d.keep) kf_directory_remove(d.folder, NULL);
    }
    if (status < 0) {
        fprintf(stderr, "kforge-cpucc: %s\n", error.text);
        /* A text that gets too long or needs too much memory is an error of the source. Something
         * missing on the machine is not. */
        status = error.code == KF_ERROR_LIMIT || error.code == KF_ERROR_MEMORY
                     ? KF_CPUCC_COMPILE_ERROR
                 : error.code == KF_ERROR_BUSY ? KF_CPUCC_KILLED
                                               : KF_CPUCC_USAGE;
    }
    kf_cpucc_command_free(&d.compile);
    free(d.folder);
    free(d.header);
    return status;
}
