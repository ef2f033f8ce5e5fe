#include "device_work.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters_wire.h"
#include "kforge/json.h"
#include "kforge/verdict.h"

/* rows that are kept */
#define MAX_ROWS 24
/* origins in a line of words */
#define MAX_ORIGINS 6
/* A smaller part than this is not worth a word. */
#define LEAST_PART 0.005
/* Seconds that no call takes. */
#define MAX_SECONDS 1e6

const char *kf_work_class_name(kf_work_class kind)
{
    static const char *const names[KF_WORK_CLASSES] = {"own", "library", "framework", "copies"};
    return names[kind];
}

/* ---- files ----------------------------------------------------------------------------------- */

/* No class follows from a file or a name. */
enum { OPEN = -1 };

typedef struct sign {
    /* the begin of a file's or a kernel's name */
    const char *prefix;
    int kind;
    const char *from;
} sign;

static const sign files[] = {
    {"libcublas", KF_WORK_LIBRARY, "cuBLAS"},
    {"libcudnn", KF_WORK_LIBRARY, "cuDNN"},
    {"libcufft", KF_WORK_LIBRARY, "cuFFT"},
    {"libcusparse", KF_WORK_LIBRARY, "cuSPARSE"},
    {"libcusolver", KF_WORK_LIBRARY, "cuSOLVER"},
    {"libcurand", KF_WORK_LIBRARY, "cuRAND"},
    {"libcutensor", KF_WORK_LIBRARY, "cuTENSOR"},
    {"libnccl", KF_WORK_LIBRARY, "NCCL"},
    {"libnpp", KF_WORK_LIBRARY, "NPP"},
    {"libmagma", KF_WORK_LIBRARY, "MAGMA"},
    {"libtorch", KF_WORK_FRAMEWORK, "PyTorch"},
    {"libc10", KF_WORK_FRAMEWORK, "PyTorch"},
    {"libcaffe2", KF_WORK_FRAMEWORK, "PyTorch"},
    /* These only launch. */
    {"libtriton", OPEN, ""},
    {"libffi", OPEN, ""},
    {"libpython", OPEN, ""},
    {"python", OPEN, ""},
};

/* Packages that launch what a solution's source compiles. */
static const char *const launchers[] = {"triton",   "cupy", "cupy_backends", "numba",  "cuda",
                                        "tilelang", "tvm",  "tvm_ffi",       "pycuda", "torch"};

static const sign *find_sign(const sign *signs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, signs[i].prefix, strlen(signs[i].prefix)) == 0) return &signs[i];
    return NULL;
}

/* Copies the name of the package of a file below site-packages. False for another file. */
static bool find_package(const char *path, char package[32])
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *at = strstr(path, folders[i]);
        if (!at) continue;
        at += strlen(folders[i]);
        snprintf(package, 32, "%.*s", (int)strcspn(at, "/."), at);
        return true;
    }
    return false;
}

static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/opt/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
    return strstr(path, "/lib-dynload/") != NULL;
}

/* Returns the class that follows from the file, or OPEN. */
static int classify_file(const char *path, char from[32])
{
    const char *slash = strrchr(path, '/');
    char package[32];
    if (!*path) return OPEN;
    const sign *s = find_sign(files, sizeof files / sizeof *files, slash ? slash + 1 : path);
    if (s) {
        snprintf(from, 32, "%s", s->from);
        return s->kind;
    }
    if (find_package(path, package)) {
        for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
            if (strcmp(package, launchers[i]) == 0) return OPEN;
        snprintf(from, 32, "%s", package);
        return KF_WORK_LIBRARY;
    }
    if (is_of_system(path)) return OPEN;
    snprintf(from, 32, "own kernels");
    return KF_WORK_OWN;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Kernels of PyTorch, of torch.compile and of libraries without a known file. */
static const sign names[] = {
    {"at::", KF_WORK_FRAMEWORK, "PyTorch"},
    {"c10::", KF_WORK_FRAMEWORK, "PyTorch"},
    {"pytorch_flash::", KF_WORK_FRAMEWORK, "PyTorch"},
    {"triton_poi_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"triton_red_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"triton_per_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"triton_tem_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"triton_for_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"triton_spl_", KF_WORK_FRAMEWORK, "torch.compile"},
    {"nvjet_", KF_WORK_LIBRARY, "cuBLAS"},
    {"cublas", KF_WORK_LIBRARY, "cuBLAS"},
    {"sm80_xmma_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"sm90_xmma_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"ampere_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"volta_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"cutlass_80_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"cutlass_75_", KF_WORK_LIBRARY, "cuBLAS or cuDNN"},
    {"cudnn", KF_WORK_LIBRARY, "cuDNN"},
    {"ncclDevKernel", KF_WORK_LIBRARY, "NCCL"},
};

static bool is_in_build(const cJSON *build, const char *symbol)
{
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItemCaseSensitive(build, "kernels"))
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(kernel, "name");
        if (cJSON_IsString(name) && strcmp(name->valuestring, symbol) == 0) return true;
    }
    return false;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* True if `word` occurs in the text, with no letter or digit next to it. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; length && (at = strstr(at, word)); at += length)
        if ((at == text || !is_of_word(at[-1])) && !is_of_word(at[length])) return true;
    return false;
}

/* Returns the class that follows from a kernel's name, or OPEN. */
static int classify_name(const kf_counters_origin *origin, const char *symbol, char from[32])
{
    char name[KF_COUNT_NAME];
    kf_kernel_name(symbol, name, sizeof name);
    const char *last = name;
    for (const char *at; (at = strstr(last, "::"));) last = at + 2;
    bool built = is_in_build(origin->build, symbol);
    const sign *s = built ? NULL : find_sign(names, sizeof names / sizeof *names, name);
    if (s) {
        snprintf(from, 32, "%s", s->from);
        return s->kind;
    }
    if (!built && !(origin->python && origin->source && has_word(origin->source, last)))
        return OPEN;
    snprintf(from, 32, "own kernels");
    return KF_WORK_OWN;
}

kf_work_class kf_work_classify(const kf_counters_origin *origin, const kf_count_work *work,
                               char from[32])
{
    char symbol[KF_COUNT_NAME], module[KF_COUNT_MODULE];
    snprintf(symbol, sizeof symbol, "%.*s", (int)strnlen(work->name, sizeof symbol), work->name);
    snprintf(module, sizeof module, "%.*s", (int)strnlen(work->module, sizeof module),
             work->module);
    from[0] = '\0';
    if (work->kind != KF_COUNT_KERNEL) {
        snprintf(from, 32, "%s", work->kind == KF_COUNT_FILL ? "memset" : "memcpy");
        return KF_WORK_COPIES;
    }
    int kind = classify_file(module, from);
    if (kind == OPEN) kind = classify_name(origin, symbol, from);
    /* The launcher of torch.compile's kernels is part of PyTorch. */
    if (kind == KF_WORK_FRAMEWORK && strncmp(symbol, "triton_", 7) == 0)
        snprintf(from, 32, "torch.compile");
    if (kind != OPEN) return (kf_work_class)kind;
    snprintf(from, 32, "%s", origin->python ? "unknown origin" : "own kernels");
    return origin->python ? KF_WORK_FRAMEWORK : KF_WORK_OWN;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool put_text(cJSON *object, const char *key, const char *text)
{
    kf_autofree char *clean = kf_text_clean(text, strlen(text), true);
    return clean && kf_json_put(object, key, cJSON_CreateString(clean));
}

bool kf_work_put_note(cJSON *counters, const char *note)
{
    return kf_json_put(counters, "work", cJSON_CreateNull()) &&
           put_text(counters, "work_note", note);
}

/* Returns the seconds of a record; 0 for a value that no call takes. */
static double seconds_of(double seconds)
{
    return isfinite(seconds) && seconds > 0 && seconds < MAX_SECONDS ? seconds : 0;
}

static int longer(const void *a, const void *b)
{
    const kf_count_work *const *x = a, *const *y = b;
    double first = seconds_of((*x)->seconds), second = seconds_of((*y)->seconds);
    return first < second ? 1 : first > second ? -1 : 0;
}

static bool put_row(cJSON *rows, const kf_count_work *work, kf_work_class kind, const char *from,
                    double part)
{
    cJSON *row = cJSON_CreateObject();
    char symbol[KF_COUNT_NAME], name[KF_COUNT_NAME];
    snprintf(symbol, sizeof symbol, "%.*s", (int)strnlen(work->name, sizeof symbol), work->name);
    kf_kernel_name(symbol, name, sizeof name);
    if (!kf_json_put(rows, NULL, row) ||
        !kf_json_put(row, "class", cJSON_CreateString(kf_work_class_name(kind))) ||
        !put_text(row, "from", from) || !put_text(row, "name", name))
        return false;
    kf_json_add_number(row, "launches", work->launches);
    kf_json_add_number(row, "part", part);
    return true;
}

bool kf_work_put(cJSON *counters, const kf_counters_origin *origin, const kf_count_header *header,
                 const kf_count_work *works)
{
    const kf_count_work *sorted[KF_COUNT_WORKS];
    double parts[KF_WORK_CLASSES] = {0}, rest = seconds_of(header->work_rest_seconds), total = rest;
    uint32_t count = header->works < KF_COUNT_WORKS ? header->works : KF_COUNT_WORKS;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = &works[i];
        total += seconds_of(works[i].seconds);
    }
    char said[KF_COUNT_NOTE + 1];
    snprintf(said, sizeof said, "%.*s", (int)strnlen(header->work_note, KF_COUNT_NOTE),
             header->work_note);
    if (said[0] || !(total > 0))
        return kf_work_put_note(counters, said[0] ? said : "no kernel had a device time");
    qsort(sorted, count, sizeof *sorted, longer);
    cJSON *work = cJSON_CreateObject(), *rows = cJSON_CreateArray();
    bool good = rows && kf_json_put(counters, "work", work);
    for (uint32_t i = 0; i < count && good; i++) {
        char from[32];
        kf_work_class kind = kf_work_classify(origin, sorted[i], from);
        double part = seconds_of(sorted[i]->seconds) / total;
        parts[kind] += part;
        if (i < MAX_ROWS) good = put_row(rows, sorted[i], kind, from, part);
    }
    for (int kind = 0; kind < KF_WORK_CLASSES && good; kind++)
        kf_json_add_number(work, kf_work_class_name(kind), parts[kind]);
    if (good && rest > 0) kf_json_add_number(work, "rest", rest / total);
    if (good) kf_json_add_number(work, "seconds", total);
    if (good) return kf_json_put(work, "rows", rows);
    cJSON_Delete(rows);
    return false;
}

double kf_work_part(const cJSON *counters, kf_work_class kind)
{
    return kf_json_get_number(cJSON_GetObjectItemCaseSensitive(counters, "work"),
                              kf_work_class_name(kind), NAN);
}

/* ---- words ----------------------------------------------------------------------------------- */

typedef struct share {
    const char *from;
    double part;
} share;

static size_t add_share(share *shares, size_t count, const char *from, double part)
{
    size_t i = 0;
    while (i < count && strcmp(shares[i].from, from) != 0) i++;
    if (i == MAX_ORIGINS) return count;
    if (i == count) shares[count++] = (share){from, 0};
    shares[i].part += part;
    return count;
}

static int larger(const void *a, const void *b)
{
    double x = ((const share *)a)->part, y = ((const share *)b)->part;
    return x < y ? 1 : x > y ? -1 : 0;
}

void kf_work_words(const cJSON *counters, kf_buffer *out)
{
    share shares[MAX_ORIGINS];
    size_t count = 0;
    double said = 0;
    const cJSON *work = cJSON_GetObjectItemCaseSensitive(counters, "work"), *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(work, "rows"))
    {
        const char *from = kf_json_get_text(row, "from", NULL);
        double part = kf_json_get_number(row, "part", 0);
        if (from && part > 0) count = add_share(shares, count, from, part);
    }
    if (!count) return;
    qsort(shares, count, sizeof *shares, larger);
    kf_buffer_string(out, "device time: ");
    for (size_t i = 0; i < count; i++) {
        if (i && shares[i].part < LEAST_PART) break;
        kf_buffer_format(out, "%s%.0f %% %s", i ? ", " : "", 100 * shares[i].part, shares[i].from);
        said += shares[i].part;
    }
    if (1 - said > 0.01) kf_buffer_format(out, ", %.0f %% other", 100 * (1 - said));
    kf_buffer_string(out, "\n");
}

/* ---- source lines ---------------------------------------------------------------------------- */

/* lines that are kept, and lines in words */
#define MAX_LINES 12
#define WORD_LINES 3
/* A line with fewer samples than this part is left out. */
#define LEAST_LINE 0.01

static bool put_stalls(cJSON *row, const kf_count_line *line)
{
    cJSON *stalls = cJSON_AddArrayToObject(row, "stalls");
    for (int i = 0; stalls && i < KF_COUNT_REASONS && line->reasons[i].samples; i++) {
        char name[KF_COUNT_FILE];
        snprintf(name, sizeof name, "%.*s", (int)strnlen(line->reasons[i].name, sizeof name - 1),
                 line->reasons[i].name);
        cJSON *stall = cJSON_CreateObject();
        if (!kf_json_put(stalls, NULL, stall) || !put_text(stall, "name", name)) return false;
        kf_json_add_number(stall, "percent",
                           round(fmin(100, 100.0 * line->reasons[i].samples / line->samples)));
    }
    return stalls != NULL;
}

static bool put_line(cJSON *rows, const kf_count_line *line, double part)
{
    char symbol[KF_COUNT_NAME], name[KF_COUNT_NAME], file[KF_COUNT_FILE];
    cJSON *row = cJSON_CreateObject();
    snprintf(symbol, sizeof symbol, "%.*s", (int)strnlen(line->kernel, sizeof symbol - 1),
             line->kernel);
    snprintf(file, sizeof file, "%.*s", (int)strnlen(line->file, sizeof file - 1), line->file);
    kf_kernel_name(symbol, name, sizeof name);
    if (!kf_json_put(rows, NULL, row) || !put_text(row, "file", file)) return false;
    kf_json_add_number(row, "line", line->line);
    if (!put_text(row, "kernel", name)) return false;
    kf_json_add_number(row, "part", round(1e3 * part) / 1e3);
    return put_stalls(row, line);
}

bool kf_lines_put(cJSON *counters, const kf_count_header *header, const kf_count_line *lines)
{
    char said[KF_COUNT_NOTE + 1];
    snprintf(said, sizeof said, "%.*s", (int)strnlen(header->line_note, KF_COUNT_NOTE),
             header->line_note);
    if (said[0]) return put_text(counters, "lines_note", said);
    if (!header->lines || !header->line_samples) return true;
    cJSON *rows = cJSON_AddArrayToObject(counters, "lines");
    for (uint32_t i = 0; rows && i < header->lines && i < MAX_LINES; i++) {
        double part = fmin(1, (double)lines[i].samples / (double)header->line_samples);
        if (!lines[i].line || !lines[i].samples || part < LEAST_LINE) continue;
        if (!put_line(rows, &lines[i], part)) return false;
    }
    return rows != NULL;
}

void kf_lines_words(const cJSON *counters, kf_buffer *out)
{
    int count = 0;
    const cJSON *line, *stall;
    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(counters, "lines"))
    {
        const char *file = kf_json_get_text(line, "file", NULL), *between = ": ";
        if (count++ == WORD_LINES) return;
        kf_buffer_format(out, "%.0f %% of the samples are at %s:%.0f",
                         100 * kf_json_get_number(line, "part", 0), file ? file : "",
                         kf_json_get_number(line, "line", 0));
        cJSON_ArrayForEach(stall, cJSON_GetObjectItemCaseSensitive(line, "stalls"))
        {
            const char *name = kf_json_get_text(stall, "name", NULL);
            kf_buffer_format(out, "%s%.0f %% %s", between, kf_json_get_number(stall, "percent", 0),
                             name ? name : "");
            between = ", ";
        }
        kf_buffer_string(out, "\n");
    }
}
