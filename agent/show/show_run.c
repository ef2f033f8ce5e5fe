/* Shows one run: its state, the outcomes of its attempts, its proposers, the best candidates and
 * the latest attempts. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "kforge/json.h"
#include "refuted.h"
#include "search.h"
#include "show.h"
#include "table.h"
#include "terminal.h"

/* Counts in one pass over all attempts: outcomes, and the numbers of the latest. */
typedef struct history {
    /* not confirmed when they were measured again */
    kf_refuted refuted;
    int64_t outcomes[KF_ATTEMPT_OUTCOME_COUNT];
    /* correct verdicts on the baseline, which is no candidate of the search */
    int64_t baselines;
    int64_t last; /* highest number */
} history;

static void history_clear(history *h)
{
    kf_refuted_clear(&h->refuted);
}

static bool read_history(kf_store *store, const char *run, history *h, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run, 1, error);
    if (!cursor) return false;
    kf_autoresult kf_store_attempt attempt = {0};
    int more;
    while ((more = kf_store_next_attempt(cursor, &attempt, error)) > 0) {
        if (attempt.outcome < KF_ATTEMPT_OUTCOME_COUNT) h->outcomes[attempt.outcome]++;
        h->baselines +=
            attempt.status == KF_CORRECT && attempt.step && strcmp(attempt.step, "baseline") == 0;
        h->last = attempt.number;
    }
    return more == 0;
}

/* "correct 28, wrong_result 4" */
static void counts_text(kf_buffer *text, const char *name, int64_t count)
{
    if (count) kf_buffer_format(text, "%s%lld %s", text->size ? ", " : "", (long long)count, name);
}

/* Prints "12 ok ($0.31), 2 truncated ($0.10)", or the same as an object. */
/* Returns a cost for JSON; NaN if it is not known. */
static double cost_of(double usd, int64_t unpriced)
{
    return unpriced && !(usd > 0) ? NAN : usd;
}

static bool word_calls(kf_store *store, const kf_store_run *run, kf_buffer *text, cJSON *json,
                       kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_call_outcomes(store, run->id, error);
    kf_autoresult kf_store_call_outcome outcome = {0};
    char figure[KF_FIGURE];
    int more = cursor ? 1 : -1;
    while (more > 0 && (more = kf_store_next_call_outcome(cursor, &outcome, error)) > 0) {
        if (text)
            kf_buffer_format(
                text, "%s%lld %s (%s)", text->size ? ", " : "", (long long)outcome.spent.calls,
                outcome.outcome,
                kf_figure_cost(outcome.spent.cost_usd, outcome.spent.unpriced, figure));
        if (!json) continue;
        cJSON *row = cJSON_AddObjectToObject(json, outcome.outcome);
        kf_add_figure(row, "calls", (double)outcome.spent.calls);
        kf_add_figure(row, "cost_usd", cost_of(outcome.spent.cost_usd, outcome.spent.unpriced));
        kf_add_figure(row, "seconds", outcome.spent.seconds);
    }
    return more == 0;
}

/* Prints "attempts  23: 10 judged, 4 measured again". */
static void print_counts(const kf_view *view, const char *title, int64_t all, const char *what,
                         const kf_buffer *counts, int width)
{
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "%lld%s%s%s", (long long)all, what, counts->size ? ": " : "",
                     counts->size ? counts->data : "");
    fprintf(view->out, "%-10s", title);
    if (text.data) kf_text_wrap(view->out, text.data, text.size, width, 10, true);
}

static bool print_head(const kf_view *view, kf_store *store, const kf_store_run *run,
                       const history *h, kf_error *error)
{
    char figure[KF_FIGURE], other[KF_FIGURE], third[KF_FIGURE];
    fprintf(view->out,
            view->color ? KF_STYLE_BOLD "Run %s" KF_STYLE_PLAIN " of %s: %s\n\n"
                        : "Run %s of %s: %s\n\n",
            run->id, run->task_name, kf_run_state(run));
    fprintf(view->out, "device    %s on %s\n", run->device, run->host);
    bool lives = run->status == KF_RUN_RUNNING && run->alive;
    kf_autotime kf_run_time took = {0};
    if (!kf_run_time_read(store, run, &took, error)) return false;
    fprintf(view->out, "started   %s (%s), %s %s%s\n", kf_figure_time(run->started, figure),
            kf_figure_age(run->started, (double)time(NULL), other),
            lives          ? "running for"
            : took.counted ? "took"
                           : "ended",
            kf_figure_seconds(took.seconds, third), lives || took.counted ? "" : " later");
    if (run->best && !(run->best_speedup.value > 1))
        fprintf(view->out,
                "best      no candidate is faster than the baseline; the fastest: c%lld, %s %s\n",
                (long long)run->best, kf_figure_speedup(run->best_speedup, figure),
                kf_figure_interval(run->best_speedup, other));
    else if (run->best)
        fprintf(view->out, "best      c%lld, %s %s over the baseline%s\n", (long long)run->best,
                kf_figure_speedup(run->best_speedup, figure),
                kf_figure_interval(run->best_speedup, other),
                run->best_reverified ? ", measured again in fresh processes"
                                     : ", not measured again");
    else
        fprintf(view->out, "best      no correct and timed candidate%s\n",
                h->baselines ? " but the baseline" : "");
    int64_t statuses[KF_STATUS_COUNT];
    if (!kf_store_count_statuses(store, run->id, statuses, error)) return false;
    kf_autobuffer judged = {0}, outcomes = {0};
    for (int s = KF_STATUS_COUNT - 1; s >= 0; s--)
        counts_text(&judged, kf_status_name((kf_status)s), statuses[s]);
    for (int o = 0; o < KF_ATTEMPT_OUTCOME_COUNT; o++)
        counts_text(&outcomes, kf_outcome_words((kf_attempt_outcome)o), h->outcomes[o]);
    int width = view->width ? view->width : 100;
    print_counts(view, "attempts", h->last, "", &outcomes, width);
    if (judged.size) print_counts(view, "verdicts", run->judged, " candidates", &judged, width);
    kf_store_spent spent;
    if (!kf_store_run_spent(store, run->id, &spent, error)) return false;
    if (spent.calls)
        fprintf(view->out, "models    %lld calls, %s tokens in, %s out, %s\n",
                (long long)spent.calls, kf_figure_count((double)spent.prompt_tokens, figure),
                kf_figure_count((double)spent.completion_tokens, other),
                kf_figure_cost(spent.cost_usd, spent.unpriced, third));
    if (spent.device_seconds > 0)
        fprintf(view->out, "judging   %s of devices\n",
                kf_figure_seconds(spent.device_seconds, figure));
    kf_autobuffer calls = {0};
    if (spent.calls && !word_calls(store, run, &calls, NULL, error)) return false;
    if (calls.size) {
        fprintf(view->out, "replies   ");
        kf_text_wrap(view->out, calls.data, calls.size, width, 10, true);
    }
    return true;
}

static bool print_best(const kf_view *view, kf_store *store, const kf_store_run *run,
                       const kf_refuted *refuted, int64_t top, cJSON *array, kf_error *error)
{
    kf_store_scope scope = {.run = run->id, .island = -1};
    kf_auto(kf_store_cursor) cursor =
        top > 0 ? kf_store_best(store, &scope, (size_t)top, error) : NULL;
    if (!cursor) return top <= 0;
    kf_autotable table = {0};
    kf_table_add_columns(&table, "BEST", ">SPEEDUP", "95 %", ">ATTEMPT", "MEASURED", "~SETTINGS",
                         NULL);
    kf_autoresult kf_store_candidate candidate = {0};
    int more;
    while ((more = kf_store_next_candidate(cursor, &candidate, error)) > 0) {
        char figure[KF_FIGURE];
        if (array) {
            cJSON *row = cJSON_CreateObject();
            cJSON_AddItemToArray(array, row);
            kf_add_candidate(row, "id", candidate.id);
            cJSON_AddStringToObject(row, "hash", candidate.hash);
            kf_add_interval(row, "speedup", candidate.speedup);
            cJSON_AddBoolToObject(row, "reverified", candidate.reverified);
            cJSON_AddBoolToObject(row, "refuted", kf_refuted_has(refuted, candidate.id));
            kf_add_figure(row, "attempt", (double)candidate.attempt);
            kf_add_embedded(row, "flags", candidate.flags);
            kf_add_embedded(row, "tunables", candidate.tunables);
            continue;
        }
        bool doubtful = kf_refuted_has(refuted, candidate.id);
        const char *style = doubtful && view->color ? KF_STYLE_GREY : "",
                   *plain = *style ? KF_STYLE_PLAIN : "";
        kf_table_cell(&table, "%sc%lld%s", style, (long long)candidate.id, plain);
        kf_table_cell(&table, "%s%s%s", style, kf_figure_speedup(candidate.speedup, figure), plain);
        kf_table_cell(&table, "%s%s%s", style, kf_figure_interval(candidate.speedup, figure),
                      plain);
        kf_table_cell(&table, "%s%lld%s", style, (long long)candidate.attempt, plain);
        kf_table_cell(&table, "%s%s%s", style,
                      doubtful               ? "not confirmed"
                      : candidate.reverified ? "twice"
                                             : "once",
                      plain);
        kf_autobuffer flags = {0};
        kf_flags_text(candidate.flags, &flags);
        /* Shortens "-DROWS=4 -DLANES=32" to "ROWS=4 LANES=32" for a narrow column. */
        for (char *at = flags.data; at && (at = strstr(at, "-D"));)
            if (at == flags.data || at[-1] == ' ')
                memmove(at, at + 2, strlen(at + 2) + 1);
            else
                at += 2;
        kf_table_cell(&table, "%s", flags.data ? flags.data : "");
    }
    if (!array && table.cell_count) fputc('\n', view->out);
    if (!array) kf_table_print(&table, view->out, view->width, 0, view->color);
    return more == 0;
}

static bool print_proposers(const kf_view *view, kf_store *store, const kf_store_run *run,
                            cJSON *array, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_proposers(store, run->id, error);
    if (!cursor) return false;
    kf_autotable table = {0};
    /* PER FASTER: cost of a candidate that beats the baseline */
    kf_table_add_columns(&table, "~PROPOSER", ">ATTEMPTS", ">CORRECT", ">FASTER", ">BEST", ">CALLS",
                         ">COST", ">PER FASTER", NULL);
    kf_autoresult kf_store_proposer proposer = {0};
    int more;
    while ((more = kf_store_next_proposer(cursor, &proposer, error)) > 0) {
        if (array) {
            cJSON *row = cJSON_CreateObject();
            cJSON_AddItemToArray(array, row);
            cJSON_AddStringToObject(row, "proposer", proposer.proposer);
            kf_add_figure(row, "attempts", (double)proposer.attempts);
            kf_add_figure(row, "judged", (double)proposer.judged);
            kf_add_figure(row, "correct", (double)proposer.correct);
            kf_add_figure(row, "faster", (double)proposer.faster);
            kf_add_figure(row, "best_speedup", proposer.best_speedup.value);
            kf_add_figure(row, "calls", (double)proposer.calls);
            kf_add_figure(row, "prompt_tokens", (double)proposer.prompt_tokens);
            kf_add_figure(row, "completion_tokens", (double)proposer.completion_tokens);
            kf_add_figure(row, "cost_usd", cost_of(proposer.cost_usd, proposer.unpriced));
            kf_add_figure(row, "cost_per_faster",
                          proposer.faster ? proposer.cost_usd / (double)proposer.faster : NAN);
            kf_add_figure(row, "seconds", proposer.seconds);
            continue;
        }
        char figure[KF_FIGURE];
        kf_table_cell(&table, "%s", kf_proposer_words(proposer.proposer, ""));
        kf_table_cell(&table, "%lld", (long long)proposer.attempts);
        kf_table_cell(&table, "%lld", (long long)proposer.correct);
        kf_table_cell(&table, "%lld", (long long)proposer.faster);
        kf_table_cell(&table, "%s", kf_figure_speedup(proposer.best_speedup, figure));
        kf_table_cell(&table, proposer.calls ? "%lld" : "", (long long)proposer.calls);
        kf_table_cell(&table, "%s",
                      proposer.calls ? kf_figure_cost(proposer.cost_usd, proposer.unpriced, figure)
                                     : "");
        bool pays = proposer.faster && proposer.cost_usd > 0;
        kf_table_cell(
            &table, "%s",
            pays ? kf_figure_cost(proposer.cost_usd / (double)proposer.faster, false, figure) : "");
    }
    if (!array && table.cell_count) fputc('\n', view->out);
    if (!array) kf_table_print(&table, view->out, view->width, 0, view->color);
    return more == 0;
}

static cJSON *attempt_json(const kf_store_attempt *attempt)
{
    cJSON *row = cJSON_CreateObject();
    kf_add_figure(row, "number", (double)attempt->number);
    cJSON_AddStringToObject(row, "outcome", kf_attempt_outcome_name(attempt->outcome));
    cJSON_AddStringToObject(row, "message", attempt->message);
    cJSON_AddStringToObject(row, "proposer", attempt->proposer);
    cJSON_AddStringToObject(row, "strategy", attempt->strategy);
    cJSON_AddStringToObject(row, "step", attempt->step);
    kf_add_candidate(row, "candidate", attempt->candidate);
    kf_add_figure(row, "model_call", attempt->model_call ? (double)attempt->model_call : NAN);
    if (attempt->verdict)
        cJSON_AddStringToObject(row, "status", kf_status_name(attempt->status));
    else
        cJSON_AddNullToObject(row, "status");
    cJSON_AddBoolToObject(row, "unverified", attempt->unverified);
    kf_add_interval(row, "speedup",
                    attempt->verdict ? attempt->speedup : (kf_interval){NAN, NAN, NAN});
    kf_add_time(row, "created", attempt->created);
    return row;
}

static bool print_attempts(const kf_view *view, kf_store *store, const kf_store_run *run,
                           int64_t from, cJSON *array, kf_error *error)
{
    kf_auto(kf_store_cursor) cursor = kf_store_attempts(store, run->id, from, error);
    if (!cursor) return false;
    kf_autotable table = {0};
    kf_table_add_columns(&table, ">ATTEMPT", "CANDIDATE", "~PROPOSER", "STEP", "OUTCOME",
                         ">SPEEDUP", "~MESSAGE", NULL);
    kf_autoresult kf_store_attempt attempt = {0};
    int more;
    while ((more = kf_store_next_attempt(cursor, &attempt, error)) > 0) {
        if (array) {
            cJSON_AddItemToArray(array, attempt_json(&attempt));
            continue;
        }
        char figure[KF_FIGURE];
        kf_table_cell(&table, "%lld", (long long)attempt.number);
        kf_table_cell(&table, attempt.candidate ? "c%lld" : "", (long long)attempt.candidate);
        kf_table_cell(&table, "%s", kf_proposer_words(attempt.proposer, attempt.step));
        kf_table_cell(&table, "%s", attempt.step);
        kf_table_cell(&table, "%s",
                      attempt.unverified ? "unverified"
                      : attempt.verdict  ? kf_status_name(attempt.status)
                                         : kf_outcome_words(attempt.outcome));
        kf_table_cell(&table, "%s",
                      attempt.verdict && !isnan(attempt.speedup.value)
                          ? kf_figure_speedup(attempt.speedup, figure)
                          : "");
        kf_table_cell(&table, "%s", attempt.message);
    }
    if (!array && table.cell_count) fputc('\n', view->out);
    if (!array) kf_table_print(&table, view->out, view->width, 0, view->color);
    return more == 0;
}

static bool print_json(const kf_view *view, kf_store *store, const kf_store_run *run,
                       const kf_show_run_limits *limits, const history *h, int64_t from,
                       kf_error *error)
{
    kf_auto(cJSON) json = kf_json_document("kforge-run/1");
    kf_add_run(json, run);
    int64_t statuses[KF_STATUS_COUNT];
    kf_store_spent spent;
    kf_autotime kf_run_time took = {0};
    if (!kf_run_time_read(store, run, &took, error) ||
        !kf_store_count_statuses(store, run->id, statuses, error) ||
        !kf_store_run_spent(store, run->id, &spent, error))
        return false;
    kf_add_figure(json, "seconds", took.counted ? took.seconds : NAN);
    cJSON *counts = cJSON_AddObjectToObject(json, "statuses");
    for (int s = 0; s < KF_STATUS_COUNT; s++)
        if (statuses[s]) kf_add_figure(counts, kf_status_name((kf_status)s), (double)statuses[s]);
    counts = cJSON_AddObjectToObject(json, "outcomes");
    for (int o = 0; o < KF_ATTEMPT_OUTCOME_COUNT; o++)
        if (h->outcomes[o])
            kf_add_figure(counts, kf_attempt_outcome_name((kf_attempt_outcome)o),
                          (double)h->outcomes[o]);
    cJSON *spent_json = cJSON_AddObjectToObject(json, "spent");
    kf_add_figure(spent_json, "calls", (double)spent.calls);
    kf_add_figure(spent_json, "prompt_tokens", (double)spent.prompt_tokens);
    kf_add_figure(spent_json, "completion_tokens", (double)spent.completion_tokens);
    kf_add_figure(spent_json, "cost_usd", cost_of(spent.cost_usd, spent.unpriced));
    kf_add_figure(spent_json, "seconds", spent.seconds);
    kf_add_figure(spent_json, "gpu_seconds", spent.device_seconds);
    return word_calls(store, run, NULL, cJSON_AddObjectToObject(spent_json, "outcomes"), error) &&
           print_best(view, store, run, &h->refuted, limits->top,
                      cJSON_AddArrayToObject(json, "candidates"), error) &&
           print_proposers(view, store, run, cJSON_AddArrayToObject(json, "proposers"), error) &&
           print_attempts(view, store, run, from, cJSON_AddArrayToObject(json, "latest_attempts"),
                          error) &&
           kf_print_json(view->out, kf_steal(&json), error);
}

bool kf_show_run(const kf_view *view, kf_store *store, const kf_store_run *run,
                 const kf_show_run_limits *limits, kf_error *error)
{
    __attribute__((cleanup(history_clear))) history h = {0};
    if (!kf_refuted_read(store, run->id, &h.refuted, error) ||
        !read_history(store, run->id, &h, error))
        return false;
    int64_t from = h.last - limits->attempts + 1 > 1 ? h.last - limits->attempts + 1 : 1;
    if (view->json) return print_json(view, store, run, limits, &h, from, error);
    return print_head(view, store, run, &h, error) &&
           print_best(view, store, run, &h.refuted, limits->top, NULL, error) &&
           print_proposers(view, store, run, NULL, error) &&
           (limits->attempts == 0 || print_attempts(view, store, run, from, NULL, error));
}
