/* `kforge bench compare`: two results on the same problems, paired. */
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "bench_compare.h"
#include "kforge/file.h"
#include "kforge/json.h"

#define REPORT_BYTES ((size_t)512 << 20)

typedef struct settings {
    const char *store;
    bool json, by_name;
} settings;

/* A report that --json wrote, a store (its latest bench, or FILE#ID), or a bench of the store. */
static bool load(const char *word, const settings *wanted, kf_bench_result *result, kf_error *error)
{
    struct stat status;
    char id[KF_RUN_ID];
    const char *mark = strrchr(word, '#');
    kf_autofree char *path = mark ? strndup(word, (size_t)(mark - word)) : strdup(word);
    if (!path) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    const kf_option_list usual = {0};
    if (!kf_bench_thresholds(&usual, result, error)) return false;
    bool file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    size_t length = strlen(path), size;
    if (file && length > 5 && strcmp(path + length - 5, ".json") == 0) {
        kf_autofree char *text = kf_file_read(path, REPORT_BYTES, &size, error);
        kf_auto(cJSON) json = text ? kf_json_parse(text, size, REPORT_BYTES, path, error) : NULL;
        return json && kf_bench_read_json(json, path, result, error);
    }
    kf_auto(kf_store) store = kf_store_open(file ? path : wanted->store, KF_STORE_READ, error);
    return store &&
           kf_bench_find(store,
                         !file  ? word
                         : mark ? mark + 1
                                : "last",
                         id, error) &&
           kf_bench_load(store, id, result, error);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_autobenchresult before = {0}, after = {0};
    __attribute__((cleanup(kf_bench_comparison_clear))) kf_bench_comparison comparison = {0};
    bool compared = load(invocation->arguments[0], wanted, &before, error) &&
                    load(invocation->arguments[1], wanted, &after, error) &&
                    kf_bench_compare(&before, &after, wanted->by_name, &comparison, error);
    if (!compared) return -1;
    return kf_bench_comparison_write(&comparison, invocation, wanted->json, error) ? KF_EXIT_DONE
                                                                                   : -1;
}

static const kf_option options[] = {
    {.name = "by-name",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, by_name),
     .help = "Compare problems of the same name, too, where the content of their tasks differs: "
             "other sizes, another oracle."},
    {.name = "json",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, json),
     .help = "Write one JSON value instead of text."},
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_bench_compare = {
    .name = "bench compare",
    .synopsis = "BENCH BENCH",
    .summary = "Compare two benches problem by problem",
    .description =
        "Each is a bench of the store (its id, the beginning of it, or \"last\", \"latest\"), "
        "another store (its latest bench; "
        "FILE#ID another one), or a "
        "report.json that `kforge bench --json` wrote. Problems are paired by the content of their "
        "tasks, and by name where that is not known of one; only those that both have count. "
        "The ratio of speedups is "
        "over problems that both solved; intervals are 95 %, from drawing problems. Problems that "
        "one solved and the "
        "other did not are "
        "listed with what became of their samples.",
    .examples =
        "kforge bench compare b7k2m last\ttwo benches of the store\n"
        "kforge bench compare old.db new.db --json\tthe latest of two stores, for a script\n",
    .least_arguments = 2,
    .most_arguments = 2,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
