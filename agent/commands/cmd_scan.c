/* `kforge scan`: lists constructs that a reviewer may look at. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kforge/build.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/job.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "output.h"
#include "table.h"

typedef struct settings {
    bool json, compile;
} settings;

typedef struct listing {
    kf_table table;
    cJSON *flags; /* with --json */
    const char *from;
    int count;
} listing;

static void take_flag(void *context, const kf_scan_flag *flag)
{
    listing *l = context;
    l->count++;
    if (l->flags) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "rule", flag->rule);
        cJSON_AddStringToObject(object, "word", flag->word);
        cJSON_AddStringToObject(object, "text", flag->text);
        cJSON_AddStringToObject(object, "from", l->from);
        if (flag->line) cJSON_AddNumberToObject(object, "line", (double)flag->line);
        cJSON_AddNumberToObject(object, "count", (double)flag->count);
        cJSON_AddItemToArray(l->flags, object);
    }
    if (flag->line)
        kf_table_cell(&l->table, "%ld", flag->line);
    else
        kf_table_cell(&l->table, "%s", l->from);
    kf_table_cell(&l->table, "%s", flag->rule);
    kf_table_cell(&l->table, "%s", flag->word);
    kf_table_cell(&l->table, "%ld", flag->count);
    kf_table_cell(&l->table, "%s", flag->text);
}

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
    if (!kf_source_check(source, size, path, error)) return false;
    if (wanted->compile &&
        !kf_scan_compile(source, size, &text, &text_size, &binary, &binary_size, error))
        return false;
    l->from = "source";
    if (text ? !kf_scan_source(text, text_size, take_flag, l, error)
             : !kf_scan_source(source, size, take_flag, l, error))
        return false;
    return !binary || scan_binary(l, NULL, binary, binary_size, error);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    const char *path = invocation->arguments[0];
    kf_view view = kf_view_of(invocation, wanted->json);
    size_t size;
    kf_autofree char *data = kf_file_read(path, KF_BINARY_BYTES, &size, error);
    if (!data) return -1;
    kf_auto(cJSON) json = wanted->json ? cJSON_CreateObject() : NULL;
    listing l = {.flags = json ? cJSON_AddArrayToObject(json, "flags") : NULL};
    kf_table_add_column(&l.table, "LINE", KF_RIGHT, false);
    kf_table_add_column(&l.table, "RULE", KF_LEFT, false);
    kf_table_add_column(&l.table, "WORD", KF_LEFT, true);
    kf_table_add_column(&l.table, "TIMES", KF_RIGHT, false);
    kf_table_add_column(&l.table, "", KF_LEFT, true);
    bool elf = size >= 4 && memcmp(data,
                                   "\x7f"
                                   "ELF",
                                   4) == 0;
    bool done = elf ? scan_binary(&l, path, data, size, error)
                    : scan_text(&l, wanted, path, data, size, error);
    if (done && json) {
        cJSON_AddStringToObject(json, "schema", "kforge-scan/1");
        cJSON_AddStringToObject(json, "file", path);
        done = kf_print_json(view.out, kf_steal(&json), error);
    } else if (done) {
        if (l.count) kf_table_print(&l.table, view.out, view.width, 0, view.color);
        if (!l.count) fputs("nothing found\n", view.out);
    }
    kf_table_free(&l.table);
    return done ? KF_EXIT_DONE : -1;
}

static const kf_option options[] = {
    {.name = "compile",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, compile),
     .fallback = "true",
     .help = "Preprocess and compile in the build jail first, to expand macros and find imports "
             "(the default; --no-compile does not)."},
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_scan = {
    .name = "scan",
    .synopsis = "FILE.cu",
    .summary = "List constructs in a candidate that a reviewer may look at",
    .description =
        "Names threads, signals, loaded code, files, clocks, streams, kept state, low precision "
        "and more, with their lines. Of a binary (FILE.so, FILE.cubin) it names imports and "
        "content.\n\nThis is not a verdict: each construct has honest uses, and a cheat can avoid "
        "all of them. `kforge eval` judges. The exit status is 0 in any case.",
    .examples = "kforge scan mine.cu\tlists the suspicious lines of mine.cu\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
