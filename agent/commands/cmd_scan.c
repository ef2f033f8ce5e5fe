/* `kforge scan`: lists constructs that a reviewer may look at. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kforge/build.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/installation.h"
#include "kforge/job.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "kforge/scan.h"
#include "output.h"
#include "table.h"

typedef struct settings {
    bool json, compile;
} settings;

/* One construct of one file. */
typedef struct found {
    size_t file;
    const char *from;
    char *rule, *word, *text;
    long line, count;
    /* Printed with an equal construct of another file. */
    bool printed;
} found;

typedef struct listing {
    const kf_invocation *invocation;
    found *rows;
    size_t count, file;
    const char *from;
    /* kforge built the binary that is read. */
    bool own_build;
    bool failed;
} listing;

static void listing_free(listing *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->rows[i].rule);
        free(l->rows[i].word);
        free(l->rows[i].text);
    }
    free(l->rows);
}

/* True for a library or a path that kforge's own build adds to every source. */
static bool is_of_build(const kf_scan_flag *flag)
{
    static const char *const libraries[] = {"libkfcpu.so", "libstdc++.so.6", "libm.so.6",
                                            "libgcc_s.so.1", "libc.so.6"};
    if (strcmp(flag->rule, "library.path") == 0)
        return strncmp(flag->word, kf_root(), strlen(kf_root())) == 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(flag->rule, "library.needed") == 0 && strcmp(flag->word, libraries[i]) == 0)
            return true;
    return false;
}

static void take_flag(void *context, const kf_scan_flag *flag)
{
    listing *l = context;
    if (l->own_build && is_of_build(flag)) return;
    if (l->failed || !kf_list_grow(&l->rows, l->count)) {
        l->failed = true;
        return;
    }
    found *row = &l->rows[l->count++];
    *row = (found){.file = l->file,
                   .from = l->from,
                   .rule = strdup(flag->rule),
                   .word = strdup(flag->word),
                   .text = strdup(flag->text),
                   .line = flag->line,
                   .count = flag->count};
    if (!row->rule || !row->word || !row->text) l->failed = true;
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool scan_binary(listing *l, const char *path, const char *data, size_t size,
                        kf_error *error)
{
    size_t sass_size;
    l->from = "binary";
    if (!kf_scan_elf(data, size, take_flag, l, error)) return false;
    if (!path) return true;
    kf_error trouble = {0};
    kf_autofree char *sass = kf_scan_disassemble(path, &sass_size, &trouble);
    l->from = "sass";
    return !sass || kf_scan_sass(sass, sass_size, take_flag, l, error);
}

static bool scan_text(listing *l, const settings *wanted, const char *path, const char *source,
                      size_t size, kf_error *error)
{
    kf_autofree char *text = NULL, *binary = NULL;
    size_t text_size = 0, binary_size = 0;
    bool python = kf_file_is_python(path);
    if (!kf_source_check(source, size, path, error)) return false;
    if (wanted->compile && !python &&
        !kf_scan_compile(source, size, &text, &text_size, &binary, &binary_size, error))
        return false;
    l->from = "source";
    if (!kf_scan_source(text ? text : source, text ? text_size : size, python, take_flag, l, error))
        return false;
    l->own_build = true;
    bool done = !binary || scan_binary(l, NULL, binary, binary_size, error);
    l->own_build = false;
    return done;
}

static bool scan_file(listing *l, const settings *wanted, const char *path, kf_error *error)
{
    size_t size;
    kf_autofree char *data = kf_file_read(path, KF_BINARY_BYTES, &size, error);
    if (!data) return false;
    bool elf = size >= 4 && memcmp(data,
                                   "\x7f"
                                   "ELF",
                                   4) == 0;
    bool done = elf ? scan_binary(l, path, data, size, error)
                    : scan_text(l, wanted, path, data, size, error);
    return done && (!l->failed || kf_fail_memory(error, "the constructs"));
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Adds "file" and "flags" of one file. */
static void add_file(const listing *l, size_t file, cJSON *json)
{
    cJSON_AddStringToObject(json, "file", l->invocation->arguments[file]);
    cJSON *flags = cJSON_AddArrayToObject(json, "flags");
    for (size_t i = 0; i < l->count; i++) {
        const found *row = &l->rows[i];
        if (row->file != file) continue;
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "rule", row->rule);
        cJSON_AddStringToObject(object, "word", row->word);
        cJSON_AddStringToObject(object, "text", row->text);
        cJSON_AddStringToObject(object, "from", row->from);
        kf_add_figure(object, "line", row->line ? (double)row->line : NAN);
        kf_add_figure(object, "count", (double)row->count);
        cJSON_AddItemToArray(flags, object);
    }
}

static bool print_json(const listing *l, kf_error *error)
{
    size_t files = l->invocation->argument_count;
    kf_auto(cJSON) json = kf_json_document(files == 1 ? "kforge-scan/1" : "kforge-scans/1");
    if (files == 1) add_file(l, 0, json);
    cJSON *results = files > 1 ? cJSON_AddArrayToObject(json, "results") : NULL;
    for (size_t i = 0; i < files && results; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(results, row);
        add_file(l, i, row);
    }
    return kf_print_json(l->invocation->output, kf_steal(&json), error);
}

static void print_one(const listing *l, const kf_view *view)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, ">LINE", "RULE", "~WORD", ">TIMES", "~", NULL);
    for (size_t i = 0; i < l->count; i++) {
        const found *row = &l->rows[i];
        if (row->line)
            kf_table_cell(&table, "%ld", row->line);
        else
            kf_table_cell(&table, "%s", row->from);
        kf_table_cell(&table, "%s", row->rule);
        kf_table_cell(&table, "%s", row->word);
        kf_table_cell(&table, "%ld", row->count);
        kf_table_cell(&table, "%s", row->text);
    }
    kf_table_print(&table, view->out, view->width, 0, view->color);
}

/* Appends "a.cu:12, b.cu:7", the places of `first` and of all equal constructs. */
static void name_places(listing *l, size_t first, kf_buffer *places)
{
    const found *wanted = &l->rows[first];
    for (size_t i = first; i < l->count; i++) {
        found *row = &l->rows[i];
        if (row->printed || strcmp(row->rule, wanted->rule) != 0 ||
            strcmp(row->word, wanted->word) != 0 || strcmp(row->from, wanted->from) != 0)
            continue;
        row->printed = true;
        kf_buffer_format(places, "%s%s", places->size ? ", " : "",
                         l->invocation->arguments[row->file]);
        if (row->line) kf_buffer_format(places, ":%ld", row->line);
    }
}

/* Prints each construct once, with its places in all files. */
static void print_all(listing *l, const kf_view *view)
{
    int width = view->width ? view->width : 100;
    for (size_t i = 0; i < l->count; i++) {
        const found *row = &l->rows[i];
        kf_autobuffer places = {0};
        if (row->printed) continue;
        name_places(l, i, &places);
        fprintf(view->out, "%s %s (%s): %s\n", row->rule, row->word, row->from, row->text);
        if (places.data) kf_text_wrap(view->out, places.data, places.size, width, 4, false);
    }
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_view view = kf_view_of(invocation, wanted->json);
    __attribute__((cleanup(listing_free))) listing l = {.invocation = invocation};
    for (; l.file < invocation->argument_count; l.file++)
        if (!scan_file(&l, wanted, invocation->arguments[l.file], error)) return -1;
    if (wanted->json) return print_json(&l, error) ? KF_EXIT_DONE : -1;
    if (!l.count)
        fputs("nothing found\n", view.out);
    else if (invocation->argument_count == 1)
        print_one(&l, &view);
    else
        print_all(&l, &view);
    return KF_EXIT_DONE;
}

static const kf_option options[] = {
    {KF_OPTION(FLAG, "compile", NULL, settings, compile), .fallback = "true",
     .help = "Preprocess and compile in the build jail first, to expand macros and find imports "
             "(the default; --no-compile does not)."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_scan = {
    .name = "scan",
    .synopsis = "FILE.cu…",
    .summary = "List constructs in candidates that a reviewer may look at",
    .description =
        "Names threads, signals, loaded code, files, clocks, streams, kept state, low precision "
        "and more, with their lines. Of a binary (FILE.so, FILE.cubin) it names imports and "
        "content.\n\nThis is not a verdict: each construct has honest uses, and a cheat can avoid "
        "all of them. `kforge eval` judges. The exit status is 0 in any case.",
    .examples = "kforge scan mine.cu\tlists the suspicious lines of mine.cu\n",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
