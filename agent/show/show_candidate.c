/* Shows one candidate: its latest valid verdict with every figure, its origin and its descendants.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "extract.h"
#include "kforge/json.h"
#include "kforge/roofline.h"
#include "sol_score.h"
#include "kforge/scan.h"
#include "kforge/verdict.h"
#include "show.h"
#include "table.h"
#include "terminal.h"
#include "throttling.h"

/* The names of the candidate's file in a build. */
static const char *const build_names[] = {"candidate.cu", "candidate.py"};

#define MAX_RELATIVES 20
#define LOG_LINES 20

static kf_verdict *read_verdict(kf_store *store, int64_t id, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_store_verdict_json(store, id, &size, error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "verdict in the store", error) : NULL;
    return json ? kf_verdict_from_json(json, error) : NULL;
}

char *kf_show_named(const kf_view *view, const char *text)
{
    kf_autobuffer named = {0};
    for (const char *at = text; *at;) {
        size_t length = 0;
        bool begins = at == text || !(isalnum((unsigned char)at[-1]) || strchr("_-./", at[-1]));
        for (size_t i = 0; i < sizeof build_names / sizeof *build_names && begins; i++)
            if (strncmp(at, build_names[i], strlen(build_names[i])) == 0)
                length = strlen(build_names[i]);
        bool ends = length && !isalnum((unsigned char)at[length]) && at[length] != '_';
        if (ends && view->source_name)
            kf_buffer_string(&named, view->source_name);
        else
            kf_buffer_append(&named, at, ends ? length : 1);
        at += ends ? length : 1;
    }
    return kf_buffer_take(&named);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns what the interval says about the baseline. */
static const char *comparison_of(kf_interval speedup)
{
    return speedup.low > 1 ? "faster" : speedup.high < 1 ? "slower" : "not shown to differ";
}

static void print_head(const kf_view *view, const kf_store_candidate *candidate,
                       const char *task_name)
{
    char figure[KF_FIGURE], other[KF_FIGURE];
    int width = view->width ? view->width : 100;
    fprintf(view->out,
            view->color ? KF_STYLE_BOLD "Candidate c%lld" KF_STYLE_PLAIN " of %s, %.12s\n\n"
                        : "Candidate c%lld of %s, %.12s\n\n",
            (long long)candidate->id, task_name, candidate->hash);
    if (!candidate->verdict)
        fprintf(view->out, "status    never judged\n");
    else {
        bool timed = !isnan(candidate->speedup.value), bounded = !isnan(candidate->speedup.low);
        fprintf(view->out, "status    %s%s%s%s%s%s%s%s\n", kf_status_name(candidate->status),
                timed ? ", " : "", timed ? kf_figure_speedup(candidate->speedup, figure) : "",
                timed ? " " : "", timed ? kf_figure_interval(candidate->speedup, other) : "",
                timed && bounded ? ", " : "",
                timed && bounded ? comparison_of(candidate->speedup) : "",
                candidate->reverified ? ", measured twice" : "");
        if (candidate->blame != KF_BLAME_NOBODY && candidate->blame != KF_BLAME_CANDIDATE)
            fprintf(view->out, "fault     the %s's, not the candidate's\n",
                    kf_blame_name(candidate->blame));
        /* The message of a timed verdict says the same in other digits. */
        if (candidate->message[0] && !(candidate->status == KF_CORRECT && timed && bounded)) {
            fprintf(view->out, "message   ");
            kf_text_wrap(view->out, candidate->message, strlen(candidate->message), width, 10,
                         true);
        }
        fprintf(view->out, "judged    %s (%s)", kf_figure_time(candidate->judged, figure),
                kf_figure_age(candidate->judged, (double)time(NULL), other));
        fprintf(view->out, ", built in %s", kf_figure_seconds(candidate->build_seconds, figure));
        fprintf(view->out, ", judged in %s\n", kf_figure_seconds(candidate->judge_seconds, figure));
        fprintf(view->out, "device    %s\n", candidate->device);
    }
    kf_autobuffer flags = {0};
    kf_flags_text(candidate->flags, &flags);
    if (flags.size) fprintf(view->out, "flags     %s\n", flags.data);
    if (candidate->tunables[0]) fprintf(view->out, "tunables  %s\n", candidate->tunables);
    if (candidate->run[0])
        fprintf(view->out, "proposed  run %s, attempt %lld\n", candidate->run,
                (long long)candidate->attempt);
}

static void print_timings(const kf_view *view, const kf_verdict *verdict)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "WORKLOAD", "STATUS", ">SPEEDUP", "95 %", ">BASELINE",
                         ">CANDIDATE", ">FLOOR", ">PAIRS", NULL);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *workload = &verdict->workloads[i];
        char figure[KF_FIGURE];
        bool timed = !isnan(workload->speedup.value);
        kf_table_cell(&table, "%s", workload->workload);
        kf_table_cell(&table, "%s", kf_status_name(workload->status));
        kf_table_cell(&table, "%s",
                      timed             ? kf_figure_speedup(workload->speedup, figure)
                      : workload->timed ? "-"
                                        : "untimed");
        kf_table_cell(&table, "%s", kf_figure_interval(workload->speedup, figure));
        kf_table_cell(&table, "%s",
                      timed ? kf_figure_seconds(workload->baseline_seconds, figure) : "");
        kf_table_cell(&table, "%s",
                      timed ? kf_figure_seconds(workload->candidate_seconds, figure) : "");
        kf_table_cell(&table, "%s",
                      timed && workload->floor_seconds > 0
                          ? kf_figure_seconds(workload->floor_seconds, figure)
                          : "");
        kf_table_cell(&table, timed ? "%d" : "", workload->pairs);
    }
    if (table.cell_count) fputc('\n', view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
    kf_interval score = kf_sol_score_verdict(verdict);
    char figure[KF_FIGURE];
    if (!isnan(score.value))
        fprintf(view->out, "SOL score %.2f %s (0.5: as the baseline, 1: at FLOOR)\n", score.value,
                kf_figure_interval(score, figure));
}

/* Exact outputs have no tolerance. */
static void error_cell(kf_table *table, double value)
{
    kf_table_cell(table, isnan(value) ? "-" : "%.3g", value);
}

static void print_errors(const kf_view *view, const kf_verdict *verdict)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "WORKLOAD", "OUTPUT", ">RMS ERROR", ">ALLOWED", ">MAX ERROR",
                         ">ALLOWED", ">WRONG", ">OF ALL SETS", "~WHERE", NULL);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        const kf_workload_verdict *workload = &verdict->workloads[i];
        for (size_t o = 0; o < workload->output_count; o++) {
            const kf_error_figures *figures = &workload->outputs[o].figures;
            char figure[KF_FIGURE];
            kf_table_cell(&table, "%s", workload->workload);
            kf_table_cell(&table, "%s", workload->outputs[o].argument);
            error_cell(&table, figures->rms);
            error_cell(&table, figures->allowed_rms);
            error_cell(&table, figures->max);
            error_cell(&table, figures->allowed_max);
            kf_table_cell(&table, "%s", kf_figure_count((double)figures->mismatched, figure));
            kf_table_cell(&table, "%s", kf_figure_count((double)figures->compared, figure));
            kf_table_cell(&table, "%s", figures->pattern);
        }
    }
    if (table.cell_count) fputc('\n', view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
}

static void print_finding(const kf_view *view, const char *workload, const kf_finding *finding)
{
    kf_autobuffer text = {0};
    size_t size = strlen(finding->text), said = view->said ? strlen(view->said) : 0;
    /* A finding ends without a full stop. */
    if (said && view->said[said - 1] == '.') said--;
    if (said && size > said && strncmp(finding->text + size - said, view->said, said) == 0) {
        size -= said;
        while (size && strchr(". ", finding->text[size - 1])) size--;
    }
    kf_buffer_format(&text, "%s%s%s (%s): %.*s", workload ? workload : "", workload ? ": " : "",
                     kf_status_name(finding->status), finding->rule, (int)size, finding->text);
    if (!isnan(finding->measured)) kf_buffer_format(&text, " [measured %.4g", finding->measured);
    if (!isnan(finding->measured) && !isnan(finding->limit))
        kf_buffer_format(&text, ", limit %.4g", finding->limit);
    if (!isnan(finding->measured)) kf_buffer_string(&text, "]");
    fprintf(view->out, "  ");
    kf_autofree char *named = text.data ? kf_show_named(view, text.data) : NULL;
    if (named)
        kf_text_wrap(view->out, named, strlen(named), view->width ? view->width : 100, 4, true);
}

/* Prints in words that two measurements disagree. False for another flag. */
static bool print_disagreement(const kf_view *view, const kf_verdict *verdict, const char *flag)
{
    double low, high;
    char first[KF_FIGURE], second[KF_FIGURE];
    if (sscanf(flag, "verify.disagrees:%lf..%lf", &low, &high) != 2) return false;
    const kf_interval *now = &verdict->speedup;
    fprintf(view->out,
            "  two measurements disagree: %s at first, %s again. Measure once more on a quiet "
            "machine\n",
            kf_figure_interval((kf_interval){sqrt(low * high), low, high}, first),
            kf_figure_interval(*now, second));
    return true;
}

/* Prints in words that the GPU ran slower than it can. False for another flag. */
static bool print_throttling(const kf_view *view, const char *flag)
{
    kf_autobuffer text = {0};
    if (!kf_throttling_words(flag, &text)) return false;
    fprintf(view->out, "  ");
    kf_text_wrap(view->out, text.data, text.size, view->width ? view->width : 100, 4, true);
    return true;
}

/* True for flags about unseen workloads. The message of a verdict says the same in words. */
static bool is_on_unseen(const char *flag)
{
    return strncmp(flag, "sizes.", 6) == 0 || strncmp(flag, "data.", 5) == 0;
}

static void print_findings(const kf_view *view, const kf_verdict *verdict)
{
    size_t count = verdict->finding_count;
    for (size_t i = 0; i < verdict->flag_count; i++) count += !is_on_unseen(verdict->flags[i]);
    for (size_t i = 0; i < verdict->workload_count; i++)
        count += verdict->workloads[i].finding_count;
    if (!count) return;
    kf_heading(view, "Findings");
    for (size_t i = 0; i < verdict->finding_count; i++)
        print_finding(view, NULL, &verdict->findings[i]);
    for (size_t i = 0; i < verdict->workload_count; i++)
        for (size_t f = 0; f < verdict->workloads[i].finding_count; f++)
            print_finding(view, verdict->workloads[i].workload, &verdict->workloads[i].findings[f]);
    for (size_t i = 0; i < verdict->flag_count; i++) {
        const char *flag = verdict->flags[i];
        if (is_on_unseen(flag) || print_disagreement(view, verdict, flag) ||
            print_throttling(view, flag))
            continue;
        fprintf(view->out, "  %s: %s\n",
                strcmp(flag, KF_FLAG_FROZEN) == 0
                    ? "with frozen weights: it transforms them once and keeps the result"
                : strcmp(flag, KF_FLAG_TF32) == 0 ? "as exact as tf32, which PyTorch allows for "
                                                    "convolutions; the baseline was more exact"
                : strcmp(flag, KF_FLAG_FULL_F32) == 0
                    ? "convolutions in f32 on both sides: with tf32 the baseline differs too much "
                      "from the oracle"
                : strncmp(flag, KF_SCAN_HOST_ACCESS ":", sizeof KF_SCAN_HOST_ACCESS) == 0
                    ? "the host accesses an argument, so the candidate fails on a GPU"
                : strcmp(flag, KF_FLAG_GENERATED) == 0
                    ? "the problem's own generator made inputs, with secret seeds"
                    : "suspicious, no conviction",
                flag);
    }
}

/* Prints "name value, name value" of an object. */
static void print_object(const kf_view *view, const char *title, const cJSON *object)
{
    kf_autobuffer text = {0};
    const cJSON *value;
    cJSON_ArrayForEach(value, object)
    {
        /* shown elsewhere, or only with --json */
        static const char *const omitted[] = {"log",     "seconds",    "flags",
                                              "kernels", "extensions", "dry_run"};
        bool skip = false;
        for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++)
            skip |= strcmp(value->string, omitted[i]) == 0;
        if (skip) continue;
        char *rest = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
        kf_buffer_format(&text, "%s%s %s", text.size ? ", " : "", value->string,
                         rest                    ? rest
                         : cJSON_IsString(value) ? value->valuestring
                                                 : "");
        cJSON_free(rest);
    }
    if (!text.size) return;
    fprintf(view->out, "%-10s", title);
    kf_text_wrap(view->out, text.data, text.size, view->width ? view->width : 100, 10, true);
}

/* Prints "dry run   21.1 s, 203 kB kept: 25 files, 12 programs asked" for a solution that compiles
 * when it is called. */
static void print_dry_run(const kf_view *view, const kf_verdict *verdict)
{
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(verdict->build, "dry_run"),
                *seconds = cJSON_GetObjectItemCaseSensitive(run, "seconds"),
                *bytes = cJSON_GetObjectItemCaseSensitive(run, "bytes");
    const char *note = kf_json_get_text(run, "note", NULL);
    if (!cJSON_IsNumber(seconds) || !cJSON_IsNumber(bytes)) return;
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%.1f s, %.0f kB kept%s%s", seconds->valuedouble,
                     bytes->valuedouble / 1e3, note && *note ? ": " : "", note ? note : "");
    fprintf(view->out, "%-10s", "dry run");
    if (text.data)
        kf_text_wrap(view->out, text.data, text.size, view->width ? view->width : 100, 10, true);
}

/* Prints "sanitizer memcheck 0, racecheck 0, initcheck 1 on workload ragged", or why it did not
 * run. */
void kf_show_sanitizer(const kf_view *view, const kf_verdict *verdict)
{
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "sanitizer"), *tool;
    const char *note = kf_json_get_text(said, "note", NULL),
               *remedy = kf_json_get_text(said, "remedy", NULL),
               *workload = kf_json_get_text(said, "workload", NULL);
    if (!said) return;
    kf_autobuffer text = {0};
    cJSON_ArrayForEach(tool, cJSON_GetObjectItemCaseSensitive(said, "tools"))
    {
        if (text.size) kf_buffer_string(&text, ", ");
        if (cJSON_IsString(tool))
            kf_buffer_format(&text, "%s did not end (%s)", tool->string, tool->valuestring);
        else
            kf_buffer_format(&text, "%s %.0f", tool->string,
                             cJSON_IsNumber(tool) ? tool->valuedouble : 0.0);
    }
    if (workload && text.size) kf_buffer_format(&text, " findings on workload %s", workload);
    if (note) kf_buffer_format(&text, "%s%s%s", note, remedy ? "; " : "", remedy ? remedy : "");
    fprintf(view->out, "sanitizer ");
    if (text.data)
        kf_text_wrap(view->out, text.data, text.size, view->width ? view->width : 100, 10, true);
}

/* Prints each line of the text, wrapped at the width of the screen. */
void kf_show_counters(const kf_view *view, const kf_verdict *verdict)
{
    kf_autobuffer text = {0};
    kf_counters_words(verdict->counters, &text);
    if (!text.size) return;
    kf_heading(view, "Hardware counters (from a separate run; not part of the verdict)");
    for (const char *line = text.data; *line; line += *line == '\n') {
        size_t size = strcspn(line, "\n"), indent = strspn(line, " ");
        fprintf(view->out, "  %*s", (int)indent, "");
        kf_text_wrap(view->out, line + indent, size - indent, view->width ? view->width : 100,
                     (int)indent + 4, true);
        line += size;
    }
}

/* Prints both results for a solution in Python, kforge's last. */
static void print_kernelbench(const kf_view *view, const kf_verdict *verdict)
{
    const cJSON *claim = verdict->kernelbench,
                *metadata = cJSON_GetObjectItemCaseSensitive(claim, "metadata"), *reason = NULL;
    static const char *const reasons[] = {"compilation_error", "runtime_error",
                                          "correctness_issue"};
    if (!claim) return;
    bool compiled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(claim, "compiled")),
         correct = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(claim, "correctness"));
    for (size_t i = 0; i < 3 && !reason; i++)
        reason = cJSON_GetObjectItemCaseSensitive(metadata, reasons[i]);
    if (!reason) reason = cJSON_GetObjectItemCaseSensitive(claim, "error");
    const char *trials = kf_json_get_text(metadata, "correctness_trials", NULL),
               *why = correct ? NULL : cJSON_GetStringValue(reason);
    char time[KF_FIGURE], ratio[KF_FIGURE];
    double runtime = kf_json_get_number(claim, "runtime", NAN),
           speedup = kf_json_get_number(claim, "speedup", NAN);
    fprintf(view->out, "\nKernelBench would say: %s%s%s",
            !compiled ? "does not compile"
            : correct ? "correct"
                      : "incorrect",
            trials ? " " : "", trials ? trials : "");
    if (correct && !isnan(runtime))
        fprintf(view->out, ", %s, %s over the eager baseline",
                kf_figure_seconds(1e-3 * runtime, time), kf_figure_ratio(speedup, ratio));
    if (why) fprintf(view->out, ": %.200s", why);
    fprintf(view->out,
            "\n  (unverified: its protocol runs in the solution's own process)\nkforge says: %s\n",
            kf_status_name(verdict->status));
}

/* True for the linker's words about kforge's own file. The first line says that the candidate
 * does not define its entry. */
static bool is_of_linker(const char *line, size_t size)
{
    return memmem(line, size, "kforge_shim", 11) || memmem(line, size, "ld returned", 11);
}

/* Prints the first lines. Nothing if the candidate compiles. */
void kf_show_build_log(const kf_view *view, const kf_verdict *verdict)
{
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(verdict->build, "log");
    if (verdict->status != KF_COMPILE_ERROR && verdict->status != KF_UNSUPPORTED_DEVICE) return;
    if (!cJSON_IsString(log) || !log->valuestring[0]) return;
    kf_autofree char *text = kf_show_named(view, log->valuestring);
    const char *line = text ? text : log->valuestring;
    for (int shown = 0; *line && shown < LOG_LINES;) {
        size_t size = strcspn(line, "\n");
        if (!is_of_linker(line, size)) {
            fprintf(view->out, "%.*s\n", (int)size, line);
            shown++;
        }
        line += size + (line[size] != '\0');
    }
    if (*line) fprintf(view->out, "… (--json has all of it)\n");
}

/* ---- relatives ------------------------------------------------------------------------------- */

static bool print_ancestors(const kf_view *view, kf_store *store,
                            const kf_store_candidate *candidate, cJSON *array, kf_error *error)
{
    const char *run = candidate->run[0] ? candidate->run : NULL;
    kf_auto(kf_store_cursor) cursor = kf_store_ancestors(store, candidate->id, run, error);
    if (!cursor) return false;
    kf_autotable table = {0};
    kf_table_add_columns(&table, "ANCESTOR", "STATUS", ">SPEEDUP", "LED TO", "AS", NULL);
    kf_autoresult kf_store_edge edge = {0};
    kf_autoresult kf_store_candidate parent = {0};
    int more, shown = 0;
    while ((more = kf_store_next_edge(cursor, &edge, error)) > 0 &&
           (array || shown++ < MAX_RELATIVES)) {
        if (!kf_store_get_candidate(store, edge.parent, run, &parent, error)) return false;
        if (array) {
            cJSON *row = cJSON_CreateObject();
            cJSON_AddItemToArray(array, row);
            kf_add_candidate(row, "child", edge.child);
            kf_add_candidate(row, "parent", edge.parent);
            cJSON_AddStringToObject(row, "role", edge.role);
            kf_add_figure(row, "depth", edge.depth);
            kf_add_interval(row, "parent_speedup",
                            parent.verdict ? parent.speedup : (kf_interval){NAN, NAN, NAN});
            continue;
        }
        char figure[KF_FIGURE];
        kf_table_cell(&table, "%*sc%lld",
                      edge.depth > 1 ? (edge.depth < 10 ? edge.depth : 10) - 1 : 0, "",
                      (long long)edge.parent);
        kf_table_cell(&table, "%s",
                      parent.verdict ? kf_status_name(parent.status) : "never judged");
        kf_table_cell(&table, "%s",
                      parent.verdict ? kf_figure_speedup(parent.speedup, figure) : "-");
        kf_table_cell(&table, "c%lld", (long long)edge.child);
        kf_table_cell(&table, "%s", edge.role);
    }
    if (!array && table.cell_count) fputc('\n', view->out);
    if (!array) kf_table_print(&table, view->out, view->width, 0, view->color);
    if (shown > MAX_RELATIVES) fprintf(view->out, "… and older ones\n");
    return more >= 0;
}

static bool print_children(const kf_view *view, kf_store *store,
                           const kf_store_candidate *candidate, cJSON *array, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor =
        kf_store_children(store, candidate->id, candidate->run[0] ? candidate->run : NULL, error);
    if (!cursor) return false;
    kf_autobuffer text = {0};
    kf_autoresult kf_store_candidate child = {0};
    int more, count = 0;
    char id[KF_CANDIDATE_ID];
    while ((more = kf_store_next_candidate(cursor, &child, error)) > 0) {
        if (array)
            cJSON_AddItemToArray(array, cJSON_CreateString(kf_candidate_id(child.id, id)));
        else if (count++ < MAX_RELATIVES)
            kf_buffer_format(&text, "%sc%lld", text.size ? ", " : "", (long long)child.id);
    }
    if (text.size)
        fprintf(view->out, "\nchildren  %s%s\n", text.data, count > MAX_RELATIVES ? ", …" : "");
    return more == 0;
}

/* ---- flags of the source --------------------------------------------------------------------- */

typedef struct flag_list {
    cJSON *array; /* NULL for the table */
    kf_table table;
} flag_list;

static void take_flag(void *context, const kf_scan_flag *flag)
{
    flag_list *list = context;
    if (list->array) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list->array, row);
        cJSON_AddStringToObject(row, "rule", flag->rule);
        cJSON_AddStringToObject(row, "word", flag->word);
        cJSON_AddStringToObject(row, "text", flag->text);
        kf_add_figure(row, "line", (double)flag->line);
        kf_add_figure(row, "count", (double)flag->count);
        return;
    }
    kf_table_cell(&list->table, "%ld", flag->line);
    kf_table_cell(&list->table, "%s", flag->word);
    kf_table_cell(&list->table, "%ld", flag->count);
    kf_table_cell(&list->table, "%s", flag->text);
}

/* Prints the findings of `kforge scan --no-compile`, which are not part of the verdict. */
static bool print_flags(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                        cJSON *array, kf_error *error)
{
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, error);
    flag_list list = {.array = array};
    kf_table_add_columns(&list.table, ">LINE", "~WORD", ">TIMES", "~", NULL);
    bool done =
        source && kf_scan_source(source, size, kf_judged_as_python(candidate->device, source, size),
                                 take_flag, &list, error);
    if (done && list.table.cell_count) {
        kf_heading(view, "Constructs to review in the source (kforge scan; not a verdict, each has "
                         "honest uses)");
        kf_table_print(&list.table, view->out, view->width, 2, view->color);
    }
    kf_table_free(&list.table);
    return done;
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool print_samples(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                          const kf_verdict *verdict, kf_error *error)
{
    kf_autotable table = {0};
    kf_table_add_columns(&table, "WORKLOAD", "SIDE", ">PAIR", ">CALLS", ">SECONDS", ">CLAIMED",
                         ">MHZ", ">THROTTLE", NULL);
    for (size_t w = 0; w < verdict->workload_count; w++) {
        kf_autofree kf_sample *samples = NULL;
        size_t count;
        if (!kf_store_samples(store, candidate->verdict, verdict->workloads[w].workload, &samples,
                              &count, error))
            return false;
        for (size_t i = 0; i < count; i++) {
            const kf_sample *sample = &samples[i];
            const char *side = sample->side == 'b'   ? "baseline"
                               : sample->side == 'c' ? "candidate"
                               : sample->side == 'n' ? "null"
                               : sample->side == 'a' ? "baseline alone"
                                                     : "?";
            kf_table_cell(&table, "%s", verdict->workloads[w].workload);
            kf_table_cell(&table, "%s", side);
            kf_table_cell(&table, sample->pair >= 0 ? "%d" : "", sample->pair);
            kf_table_cell(&table, "%d", sample->calls);
            kf_table_cell(&table, "%.9f", sample->seconds);
            kf_table_cell(&table, isnan(sample->claimed) ? "" : "%.9f", sample->claimed);
            kf_table_cell(&table, isnan(sample->clock_mhz) ? "" : "%.0f", sample->clock_mhz);
            kf_table_cell(&table, sample->throttle ? "0x%llx" : "",
                          (unsigned long long)sample->throttle);
        }
    }
    fputc('\n', view->out);
    if (!table.cell_count) fputs("no raw timings\n", view->out);
    kf_table_print(&table, view->out, view->width, 0, view->color);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool print_json(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                       const char *task_name, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_document("kforge-candidate/1");
    kf_add_candidate(json, "id", candidate->id);
    cJSON_AddStringToObject(json, "hash", candidate->hash);
    cJSON_AddStringToObject(json, "task", task_name);
    cJSON_AddStringToObject(json, "task_hash", candidate->task);
    kf_add_embedded(json, "flags", candidate->flags);
    kf_add_embedded(json, "tunables", candidate->tunables);
    kf_add_embedded(json, "features", candidate->features);
    if (candidate->run[0])
        cJSON_AddStringToObject(json, "run", candidate->run);
    else
        cJSON_AddNullToObject(json, "run");
    kf_add_figure(json, "attempt", candidate->attempt ? (double)candidate->attempt : NAN);
    cJSON_AddBoolToObject(json, "reverified", candidate->verdict && candidate->reverified);
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, error);
    if (!source) return false;
    kf_autofree char *clean = kf_text_clean(source, size, false);
    if (!clean) return kf_fail_memory(error, "the source");
    cJSON_AddStringToObject(json, "source", clean);
    if (candidate->verdict) {
        kf_autofree char *text = kf_store_verdict_json(store, candidate->verdict, &size, error);
        kf_auto(kf_verdict) verdict = text ? read_verdict(store, candidate->verdict, error) : NULL;
        if (!verdict) return false;
        kf_add_interval(json, "sol_score", kf_sol_score_verdict(verdict));
        kf_add_embedded(json, "verdict", text);
        kf_verdict_publish(cJSON_GetObjectItemCaseSensitive(json, "verdict"));
    } else
        cJSON_AddNullToObject(json, "verdict");
    return print_flags(view, store, candidate, cJSON_AddArrayToObject(json, "scan"), error) &&
           print_ancestors(view, store, candidate, cJSON_AddArrayToObject(json, "ancestors"),
                           error) &&
           print_children(view, store, candidate, cJSON_AddArrayToObject(json, "children"),
                          error) &&
           kf_print_json(view->out, kf_steal(&json), error);
}

/* Prints the verdict without the proposer. */
void kf_show_verdict(const kf_view *view, const kf_verdict *verdict)
{
    print_object(view, "build", verdict->build);
    print_dry_run(view, verdict);
    const cJSON *sandbox = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "sandbox"), *layer;
    kf_autobuffer layers = {0};
    cJSON_ArrayForEach(layer, sandbox) kf_buffer_format(
        &layers, "%s%s", layers.size ? ", " : "", cJSON_IsString(layer) ? layer->valuestring : "?");
    if (layers.size) {
        fprintf(view->out, "sandbox   ");
        kf_text_wrap(view->out, layers.data, layers.size, view->width ? view->width : 100, 10,
                     true);
    }
    kf_show_sanitizer(view, verdict);
    print_timings(view, verdict);
    print_errors(view, verdict);
    kf_show_counters(view, verdict);
    print_findings(view, verdict);
    print_kernelbench(view, verdict);
}

bool kf_show_candidate(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                       bool samples, kf_error *error)
{
    kf_autoresult kf_store_task task = {0};
    if (!kf_store_find_task(store, candidate->task, &task, error)) return false;
    if (view->json) return print_json(view, store, candidate, task.name, error);
    print_head(view, candidate, task.name);
    kf_auto(kf_verdict) verdict =
        candidate->verdict ? read_verdict(store, candidate->verdict, error) : NULL;
    if (candidate->verdict && !verdict) return false;
    if (verdict) kf_show_verdict(view, verdict);
    if (verdict &&
        (verdict->status == KF_COMPILE_ERROR || verdict->status == KF_UNSUPPORTED_DEVICE)) {
        kf_heading(view, "The compiler said");
        kf_show_build_log(view, verdict);
    }
    if (!print_flags(view, store, candidate, NULL, error)) return false;
    if (!print_ancestors(view, store, candidate, NULL, error) ||
        !print_children(view, store, candidate, NULL, error))
        return false;
    return !samples || !verdict || print_samples(view, store, candidate, verdict, error);
}

bool kf_show_source(const kf_view *view, kf_store *store, const kf_store_candidate *candidate,
                    kf_error *error)
{
    size_t size;
    kf_autofree char *source = kf_store_source(store, candidate->id, &size, error);
    if (!source) return false;
    kf_print_exact(view->out, source, size);
    return true;
}
