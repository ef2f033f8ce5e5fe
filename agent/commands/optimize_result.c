#include "optimize_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "shell_command.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "output.h"
#include "table.h"
#include "throttling.h"
#include "kforge/verdict.h"

void kf_optimize_result_clear(kf_optimize_result *o)
{
    kf_store_clear(&o->best);
    free(o->path);
    free(o->resume);
    kf_buffer_free(&o->flags);
    kf_buffer_free(&o->noise);
}

/* Returns the flags without the -D of tunables, which are in the source. */
static void read_flags(kf_optimize_result *o)
{
    kf_auto(cJSON) flags = cJSON_Parse(o->best.flags);
    kf_auto(cJSON) tunables = cJSON_Parse(o->best.tunables);
    const cJSON *flag;
    cJSON_ArrayForEach(flag, flags)
    {
        const char *text = cJSON_IsString(flag) ? flag->valuestring : "";
        char name[128] = "";
        if (strncmp(text, "-D", 2) == 0)
            snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 2, "="), text + 2);
        if (!*text || (*name && cJSON_HasObjectItem(tunables, name))) continue;
        kf_command_append_option(&o->flags, "flag", text);
    }
}

static char *place_of_best(const char *output, const char *task, const char *run)
{
    char *path;
    int printed = output ? asprintf(&path, "%s", output)
                         : asprintf(&path, "kforge-out/%s/%s/best.cu", task, run);
    return printed < 0 ? NULL : path;
}

bool kf_optimize_result_has_place(const char *output, const char *task, const char *run,
                                  kf_error *error)
{
    kf_error why = {0};
    kf_autofree char *path = place_of_best(output, task, *run ? run : "new");
    if (!path) return kf_fail_memory(error, "the result");
    bool can = output ? kf_file_can_write(path, &why) : kf_file_can_write_own(path, &why);
    return can || kf_fail(error, why.code, "%s; choose another file with --output", why.text);
}

static bool write_best(kf_optimize_result *o, kf_store *store, kf_error *error)
{
    const kf_search_progress *p = &o->result->progress;
    char figure[KF_FIGURE], interval[KF_FIGURE];
    if (!kf_store_get_candidate(store, p->best, p->run, &o->best, error)) return false;
    read_flags(o);
    const char *task = o->task;
    o->path = place_of_best(o->output, task, p->run);
    kf_autofree char *source = kf_search_source(store, p->run, p->best, error);
    if (!source) return false;
    if (!o->path) return kf_fail_memory(error, "the result");
    kf_autobuffer text = {0};
    kf_buffer_format(&text,
                     "// %s: candidate c%lld of run %s, %s over the baseline (95 %% interval %s%s) "
                     "on %s\n",
                     task, (long long)p->best, p->run, kf_figure_speedup(p->best_speedup, figure),
                     kf_figure_interval(p->best_speedup, interval),
                     p->best_reverified ? ", measured again in fresh processes" : "",
                     o->best.device);
    if (o->flags.size) kf_buffer_format(&text, "// compiler flags:%s\n", o->flags.data);
    kf_buffer_string(&text, source);
    if (text.failed) return kf_fail_memory(error, "the result");
    if (!o->output) return kf_file_write_own(o->path, text.data, text.size, error);
    return kf_directory_make_above(o->path, error) &&
           kf_file_write(o->path, text.data, text.size, error);
}

/* Adds to the noise that the GPU ran slower than it can while the best was timed. */
static void add_throttling(kf_optimize_result *o, kf_store *store)
{
    kf_error error = {0};
    size_t size;
    if (!o->best.verdict) return;
    kf_autofree char *text = kf_store_verdict_json(store, o->best.verdict, &size, &error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_STORE_BLOB_BYTES, "verdict in the store", &error)
             : NULL;
    kf_auto(kf_verdict) verdict = json ? kf_verdict_from_json(json, &error) : NULL;
    const char *flag = verdict ? kf_throttling_find(verdict) : NULL;
    kf_autobuffer words = {0};
    if (flag && kf_throttling_words(flag, &words))
        kf_buffer_format(&o->noise, "%s%s", o->noise.size ? "; " : "", words.data);
}

bool kf_optimize_result_word_resume(kf_optimize_result *o, const char *store_path, kf_error *error)
{
    const kf_search_result *r = o->result;
    const kf_search_budget *budget = &r->progress.budget;
    kf_autobuffer text = {0};
    kf_buffer_format(&text, "kforge optimize --resume %s", r->progress.run);
    if (o->store) kf_command_append_option(&text, "store", store_path);
    if (budget->seconds > 0 && r->time_spent)
        kf_buffer_format(&text, " --time %.0f", ceil(r->progress.elapsed + budget->seconds));
    if (budget->candidates > 0 && r->progress.judged >= budget->candidates)
        kf_buffer_format(&text, " --candidates %lld", (long long)(2 * budget->candidates));
    if (budget->replies > 0 && r->progress.replies >= budget->replies)
        kf_buffer_format(&text, " --replies %lld", (long long)(2 * budget->replies));
    if (budget->cost_usd > 0 && r->progress.cost_usd >= budget->cost_usd)
        kf_buffer_format(&text, " --cost %g", 2 * budget->cost_usd);
    if (budget->tokens > 0 && r->progress.tokens >= budget->tokens)
        kf_buffer_format(&text, " --tokens %lld", (long long)(2 * budget->tokens));
    if (budget->requests > 0 && r->progress.requests >= budget->requests)
        kf_buffer_format(&text, " --budget-requests %lld", (long long)(2 * budget->requests));
    if (budget->device_seconds > 0 && r->progress.device_seconds >= budget->device_seconds)
        kf_buffer_format(&text, " --gpu-seconds %g", 2 * budget->device_seconds);
    o->resume = kf_buffer_take(&text);
    return o->resume || kf_fail_memory(error, "the result");
}

/* True if the best is not slower than the baseline. Only then it is a result. */
static bool has_result(const kf_optimize_result *o)
{
    return o->result->progress.best && o->result->progress.best_speedup.value > 1;
}

static bool is_faster(const kf_optimize_result *o)
{
    return o->result->progress.best_speedup.low > 1;
}

static void print_best(const kf_optimize_result *o, FILE *out)
{
    const kf_search_progress *p = &o->result->progress;
    char speedup[KF_FIGURE], interval[KF_FIGURE];
    kf_figure_speedup(p->best_speedup, speedup);
    kf_figure_interval(p->best_speedup, interval);
    const char *again =
        p->best_reverified ? "measured again in fresh processes" : "not measured again";
    if (has_result(o))
        fprintf(out, "best      %s %s over the baseline, %s\n", speedup, interval, again);
    else
        fprintf(out,
                "best      no candidate is faster than the baseline, so no file is written; the "
                "fastest: %s %s, %s\n",
                speedup, interval, again);
    if (o->quiet) return;
    if (has_result(o) && !is_faster(o))
        fprintf(out, "          the interval reaches below 1: it may not be faster; a machine "
                     "with less load measures better\n");
    if (o->path) fprintf(out, "source    %s\n", o->path);
    if (o->flags.size) fprintf(out, "flags    %s\n", o->flags.data);
    kf_autobuffer store = {0};
    if (o->store) kf_command_append_option(&store, "store", o->store);
    fprintf(out, "candidate c%lld: kforge show c%lld%s\n", (long long)p->best, (long long)p->best,
            store.data ? store.data : "");
}

/* Prints the work, its time and its cost. */
static void print_spent(const kf_optimize_result *o, FILE *out)
{
    const kf_search_progress *p = &o->result->progress;
    char figure[KF_FIGURE];
    fprintf(out, "judged    %lld candidate%s", (long long)p->judged, p->judged == 1 ? "" : "s");
    if (p->known) fprintf(out, " and %lld known from earlier runs", (long long)p->known);
    fprintf(out, ", %lld correct\n", (long long)p->correct);
    fprintf(out, "took      %s", kf_figure_seconds(p->elapsed, figure));
    if (o->models || p->calls) {
        fprintf(out, ", %lld model repl%s", (long long)p->replies, p->replies == 1 ? "y" : "ies");
        int64_t known = o->result->repeated;
        if (p->useless) fprintf(out, " (%lld without code", (long long)p->useless);
        if (known) fprintf(out, "%s%lld judged before", p->useless ? ", " : " (", (long long)known);
        if (p->useless || known) fputc(')', out);
        fprintf(out, ", %s", kf_figure_cost(p->cost_usd, p->cost_unknown, figure));
    }
    fputc('\n', out);
}

/* Prints what was left out, and the command that measures a candidate again. */
static void print_left_out(const kf_optimize_result *o, FILE *out)
{
    kf_autobuffer command = {0};
    fprintf(out, "left out  %s\n", o->result->left_out.text);
    if (!o->result->unmeasured) return;
    kf_buffer_string(&command, "kforge eval ");
    kf_command_append_word(&command, o->named);
    kf_buffer_format(&command, " c%lld --verify", (long long)o->result->unmeasured);
    if (o->store) kf_command_append_option(&command, "store", o->store);
    if (command.data) fprintf(out, "          %s\n", command.data);
}

/* Returns the reason of the end, or words that point to it. */
static const char *reason_of(const kf_optimize_result *o)
{
    return o->reason_was_shown ? "see the reason above" : o->result->why.text;
}

static void print_text(const kf_optimize_result *o, FILE *out)
{
    const kf_search_result *r = o->result;
    if (r->progress.best)
        print_best(o, out);
    else
        fprintf(out, "no correct candidate%s: %s\n",
                r->progress.correct > 1    ? " with a measured speed"
                : r->progress.correct == 1 ? " but the baseline"
                                           : "",
                reason_of(o));
    if (o->quiet) {
        /* A failure needs its reason. */
        if (r->progress.best && kf_optimize_result_status(r) == KF_EXIT_MACHINE)
            fprintf(out, "ended     %s\n", reason_of(o));
        return;
    }
    if (*r->question.text) fprintf(out, "check     %s\n", r->question.text);
    if (*r->left_out.text) print_left_out(o, out);
    if (o->noise.size) fprintf(out, "noise     %s\n", o->noise.data);
    print_spent(o, out);
    if (r->progress.best) fprintf(out, "ended     %s\n", reason_of(o));
    if (!r->settled) fprintf(out, "resume    %s\n", o->resume);
}

static void add_text_or_null(cJSON *json, const char *key, const char *text)
{
    if (text && *text)
        cJSON_AddStringToObject(json, key, text);
    else
        cJSON_AddNullToObject(json, key);
}

static bool print_json(const kf_optimize_result *o, FILE *out, kf_error *error)
{
    const kf_search_progress *p = &o->result->progress;
    kf_auto(cJSON) json = kf_json_document("kforge-result/2");
    add_text_or_null(json, "run", p->run);
    cJSON_AddStringToObject(json, "task", o->task);
    cJSON_AddStringToObject(json, "device", p->hardware);
    cJSON_AddStringToObject(json, "end", kf_search_end_name(o->result->end));
    cJSON_AddStringToObject(json, "reason", o->result->why.text);
    cJSON_AddNumberToObject(json, "attempts", (double)p->attempts);
    cJSON_AddNumberToObject(json, "judged", (double)p->judged);
    cJSON_AddNumberToObject(json, "known", (double)p->known);
    cJSON_AddNumberToObject(json, "correct", (double)p->correct);
    cJSON_AddNumberToObject(json, "model_calls", (double)p->calls);
    cJSON_AddNumberToObject(json, "replies", (double)p->replies);
    cJSON_AddNumberToObject(json, "requests", (double)p->requests);
    cJSON_AddNumberToObject(json, "tokens", (double)p->tokens);
    kf_add_figure(json, "cost_usd", p->cost_unknown && !(p->cost_usd > 0) ? NAN : p->cost_usd);
    kf_add_figure(json, "seconds", p->elapsed);
    kf_add_figure(json, "gpu_seconds", p->device_seconds);
    add_text_or_null(json, "question", o->result->question.text);
    add_text_or_null(json, "left_out", o->result->left_out.text);
    add_text_or_null(json, "noise", o->noise.data);
    add_text_or_null(json, "resume", o->result->settled ? NULL : o->resume);
    cJSON *best =
        has_result(o) ? cJSON_AddObjectToObject(json, "best") : cJSON_AddNullToObject(json, "best");
    if (has_result(o)) {
        kf_add_candidate(best, "candidate", p->best);
        cJSON_AddStringToObject(best, "hash", o->best.hash);
        cJSON_AddStringToObject(best, "source", o->path);
        kf_add_interval(best, "speedup", p->best_speedup);
        cJSON_AddBoolToObject(best, "reverified", p->best_reverified);
        cJSON_AddBoolToObject(best, "faster", is_faster(o));
        kf_add_embedded(best, "flags", o->best.flags);
        kf_add_embedded(best, "tunables", o->best.tunables);
    }
    return kf_print_json(out, kf_steal(&json), error);
}

int kf_optimize_result_status(const kf_search_result *result)
{
    if (result->end == KF_SEARCH_INTERRUPTED) return KF_EXIT_INTERRUPTED;
    if (result->end == KF_SEARCH_STOPPED) return KF_EXIT_MACHINE;
    if (result->models_silent) return KF_EXIT_MACHINE;
    if (result->progress.best) return KF_EXIT_DONE;
    return result->end == KF_SEARCH_SPENT ? KF_EXIT_BUDGET : KF_EXIT_NOTHING;
}

bool kf_optimize_result_report(kf_optimize_result *o, kf_store *store, bool json, FILE *out,
                               kf_error *error)
{
    if (has_result(o) && !write_best(o, store, error)) return false;
    if (has_result(o)) add_throttling(o, store);
    if (!kf_optimize_result_word_resume(o, kf_store_path(store), error)) return false;
    if (json) return print_json(o, out, error);
    print_text(o, out);
    return true;
}
