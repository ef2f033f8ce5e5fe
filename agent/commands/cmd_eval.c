/* `kforge eval`: judges candidates with the same worker and protocol as a search. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell_command.h"
#include "devices.h"
#include "eval_candidate.h"
#include "eval_output.h"
#include "extract.h"
#include "kforge/counters.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/judge.h"
#include "kforge/signature.h"
#include "named_task.h"
#include "search.h"
#include "verdict_brief.h"
#include "workers.h"

/* Most of the options with seconds. */
#define MAX_SECONDS 86400.0

typedef struct settings {
    const char *store, *device, *baseline, *sandbox, *counters, *replay, *sign, *reply;
    double seconds, timeout, build_seconds;
    bool check_only, asan, sanitize, verify, kernelbench, keep, json, brief, verbose, quiet;
    kf_option_list flags, workers;
} settings;

/* ---- repeating a verdict --------------------------------------------------------------------- */

static kf_verdict *read_verdict(const char *path, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_file_read(path, KF_JOB_BYTES, &size, error);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, KF_JOB_BYTES, path, error) : NULL;
    kf_verdict *verdict = json ? kf_verdict_from_json(json, error) : NULL;
    if (json && !verdict) kf_fail_prefix(error, "%s", path);
    return verdict;
}

/* Sets up the job so that it repeats the verdict: same keys, flags and options. Refuses another
 * task or source. */
static bool repeat(kf_job **job, const kf_verdict *verdict, const char *path, kf_error *error)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes((*job)->source, (*job)->source_size);
    kf_hash_hex(&hash, hex);
    const cJSON *keys = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "keys");
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "options"), *entry;
    const char *key = cJSON_GetStringValue(cJSON_GetArrayItem(keys, 0));
    const char *baseline = kf_json_get_text(options, "baseline", NULL);
    if (strcmp(verdict->task_hash, kf_task_hash((*job)->task)) != 0)
        return kf_fail(
            error, KF_ERROR_INPUT,
            "%s: the verdict is about another task, or another version of it (%.12s, not %.12s)",
            path, verdict->task_hash, kf_task_hash((*job)->task));
    if (strcmp(verdict->source_hash, hex) != 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the verdict is about another source (%.12s, not %.12s)", path,
                       verdict->source_hash, hex);
    if (!key || !options)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the verdict lacks the key or the options that --replay needs", path);

    const char *flags[KF_JOB_FLAGS];
    size_t flag_count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(verdict->build, "flags"))
    {
        if (cJSON_IsString(entry) && flag_count < KF_JOB_FLAGS)
            flags[flag_count++] = entry->valuestring;
    }
    kf_auto(cJSON) bundle = kf_task_bundle((*job)->task);
    kf_task *task = bundle ? kf_task_from_bundle(bundle, error) : NULL;
    kf_auto(kf_job) again = task ? kf_job_new((*job)->id, task, (*job)->source, (*job)->source_size,
                                              flags, flag_count, error)
                                 : NULL;
    if (!again) return false;
    again->options = (*job)->options;
    (*job)->options.baseline = (*job)->options.replay_key = (*job)->options.counters = NULL;
    char *device = again->device;
    again->device = (*job)->device;
    (*job)->device = device;
    kf_job_options *o = &again->options;
    o->seconds = kf_json_get_number(options, "seconds", 0);
    o->half_width = kf_json_get_number(options, "half_width", o->half_width);
    o->timeout_seconds = kf_json_get_number(options, "timeout_seconds", o->timeout_seconds);
    o->build_seconds = kf_json_get_number(options, "build_seconds", o->build_seconds);
    o->check_only = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "check_only"));
    o->asan = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "asan"));
    o->verify = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "verify"));
    o->unseen = !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(options, "unseen"));
    free(o->baseline);
    o->baseline = baseline ? strdup(baseline) : NULL;
    o->replay_key = strdup(key);
    if (!o->replay_key || (baseline && !o->baseline))
        return kf_fail_memory(error, "the candidates");
    if (baseline && !kf_task_baseline_named(again->task, baseline))
        return kf_fail(error, KF_ERROR_INPUT, "%s: the task has no baseline named \"%s\"", path,
                       baseline);
    kf_job_free(*job);
    *job = kf_steal(&again);
    return true;
}

/* Prints the comparison with the repeated verdict in one line. */
static void tell_replay(FILE *log, const kf_verdict *before, const kf_verdict *now)
{
    bool same = before->status == now->status &&
                strcmp(kf_verdict_first_rule(before), kf_verdict_first_rule(now)) == 0;
    fprintf(log, "replay: %s: %s%s%s then, %s%s%s now", same ? "the same" : "DIFFERENT",
            kf_status_name(before->status), kf_verdict_first_rule(before)[0] ? " " : "",
            kf_verdict_first_rule(before), kf_status_name(now->status),
            kf_verdict_first_rule(now)[0] ? " " : "", kf_verdict_first_rule(now));
    if (strcmp(before->binary_hash, now->binary_hash) != 0) fputs("; the binary is another", log);
    if (strcmp(before->device, now->device) != 0)
        fprintf(log, "; on %s, not %s", now->device, before->device);
    fputc('\n', log);
}

/* ---- judging --------------------------------------------------------------------------------- */

#define KF_EVAL_FILES 64

/* All candidates of one call, and where they are. */
typedef struct session {
    const kf_invocation *invocation;
    const settings *wanted;
    kf_eval_candidate candidates[KF_EVAL_FILES];
    kf_job *jobs[KF_EVAL_FILES];
    kf_eval_result results[KF_EVAL_FILES];
    size_t count, judged;
    /* The verdict of --replay, or NULL. */
    kf_verdict *before;
    kf_store *store;
    kf_workers *workers;
    /* For --json with several candidates. */
    cJSON *all;
    char step[128];
} session;

static void session_free(session *s)
{
    kf_workers_close(s->workers);
    kf_store_close(s->store);
    kf_verdict_free(s->before);
    cJSON_Delete(s->all);
    for (size_t i = 0; i < s->count; i++) {
        kf_eval_candidate_free(&s->candidates[i]);
        kf_job_free(s->jobs[i]);
        kf_verdict_free(s->results[i].verdict);
    }
}

/* Sets the options of a job that are texts. */
static bool set_texts(kf_job *job, const settings *wanted, kf_error *error)
{
    kf_job_options *o = &job->options;
    bool counted = strcmp(wanted->counters, "none") != 0;
    if (wanted->baseline && !kf_task_baseline_named(job->task, wanted->baseline))
        return kf_fail(error, KF_ERROR_INPUT, "%s: no baseline named \"%s\"",
                       kf_task_name(job->task), wanted->baseline);
    if (wanted->baseline) o->baseline = strdup(wanted->baseline);
    if (counted) o->counters = strdup(wanted->counters);
    if (wanted->device && *wanted->device) {
        free(job->device);
        job->device = strdup(wanted->device);
    }
    bool made = job->device && (o->baseline || !wanted->baseline) && (o->counters || !counted);
    return made || kf_fail_memory(error, "the candidates");
}

static kf_job *make_job(const settings *wanted, const char *task_path,
                        const kf_eval_candidate *candidate, kf_error *error)
{
    kf_task *task = kf_named_task_find(task_path, wanted->store, error);
    if (!task) return NULL;
    uint64_t chance = 0;
    char id[32];
    kf_random(&chance, sizeof chance);
    snprintf(id, sizeof id, "eval-%016llx", (unsigned long long)chance);
    const char *flags[KF_JOB_FLAGS];
    bool own = !wanted->flags.count && candidate->flag_count;
    for (size_t i = 0; i < candidate->flag_count; i++) flags[i] = candidate->flags[i];
    kf_auto(kf_job) job = kf_job_new(id, task, candidate->source, candidate->size,
                                     own ? flags : (const char *const *)wanted->flags.items,
                                     own ? candidate->flag_count : wanted->flags.count, error);
    if (!job || !set_texts(job, wanted, error)) return NULL;
    kf_job_options *o = &job->options;
    o->seconds = wanted->seconds;
    o->timeout_seconds = wanted->timeout;
    o->build_seconds = wanted->build_seconds;
    o->check_only = wanted->check_only;
    o->asan = wanted->asan;
    o->sanitize = wanted->sanitize;
    o->verify = wanted->verify;
    o->kernelbench = wanted->kernelbench;
    o->torch = candidate->python;
    o->strict_sandbox = strcmp(wanted->sandbox, "strict") == 0;
    return kf_steal(&job);
}

/* Signs the text that is printed and stored. */
static bool sign(kf_workers_result *result, const char *key, kf_error *error)
{
    kf_auto(cJSON) json =
        kf_json_parse(result->json, result->json_size, KF_JOB_BYTES, "verdict", error);
    if (json) kf_verdict_publish(json);
    char *text = json ? kf_json_signed(json, key, error) : NULL;
    if (!text) return false;
    free(result->json);
    result->json = text;
    result->json_size = strlen(text);
    return true;
}

static bool keep(session *s, const kf_job *job, const kf_workers_result *result, int64_t *candidate,
                 kf_error *error)
{
    kf_auto(cJSON) bundle = kf_task_bundle(job->task);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL;
    kf_autofree char *judged =
        kf_search_environment_id(kf_workers_environment_id(s->workers), s->wanted->baseline);
    kf_autofree char *device = NULL;
    if (judged && asprintf(&device, "%s%s", judged,
                           kf_language_mark(job->source, job->source_size, job->options.torch)) < 0)
        device = NULL;
    kf_autofree char *counters =
        result->verdict->counters ? cJSON_PrintUnformatted(result->verdict->counters) : NULL;
    if (!text || !device || (result->verdict->counters && !counters))
        return kf_fail_memory(error, "the candidates");
    const char *hash = kf_task_hash(job->task);
    kf_store_recorded recorded;
    if (!kf_store_put_task(s->store, hash, kf_task_name(job->task), text, strlen(text), error) ||
        !kf_store_record(s->store,
                         &(kf_store_attempt_new){.task = hash,
                                                 .outcome = KF_ATTEMPT_JUDGED,
                                                 .proposer = "person",
                                                 .step = "eval",
                                                 .content.source = job->source,
                                                 .content.source_size = job->source_size,
                                                 .content.flags = (const char *const *)job->flags,
                                                 .content.flag_count = job->flag_count,
                                                 .verdict = result->verdict,
                                                 .verdict_json = result->json,
                                                 .verdict_size = result->json_size,
                                                 .counters = counters,
                                                 .device = device},
                         &recorded, error))
        return false;
    *candidate = recorded.candidate;
    return true;
}

/* True if the verdict goes into the store. A check without timing or a sanitised build does not,
 * because its verdict must not replace a measurement. */
static bool is_kept(const session *s, const kf_job *job, const kf_verdict *verdict)
{
    bool on_cpu = strncmp(verdict->device, "cpu", 3) == 0;
    return s->store && !job->options.check_only && !job->options.asan &&
           !(s->wanted->sanitize && on_cpu);
}

/* Prints one line of JSON, with the file's name if there are several. */
static bool print_brief(const session *s, const kf_eval_result *result, kf_error *error)
{
    char id[32];
    snprintf(id, sizeof id, "c%lld", (long long)result->stored);
    kf_auto(cJSON) json = kf_verdict_brief(result->verdict, result->stored ? id : NULL);
    if (!json || (s->count > 1 && !cJSON_AddStringToObject(json, "file", result->name)))
        return kf_fail_memory(error, "a verdict");
    return kf_eval_print_line(s->invocation->output, json, error);
}

/* Keeps the whole verdict of one of several candidates for the end. */
static bool add_json(session *s, size_t i, const kf_workers_result *result, kf_error *error)
{
    kf_auto(cJSON) row = cJSON_CreateObject();
    kf_auto(cJSON) verdict =
        kf_json_parse(result->json, result->json_size, KF_JOB_BYTES, "verdict", error);
    if (verdict) kf_verdict_publish(verdict);
    bool made = row && verdict && cJSON_AddStringToObject(row, "file", s->results[i].name) &&
                cJSON_AddItemToObject(row, "verdict", verdict);
    if (!made) return kf_fail_memory(error, "a verdict");
    kf_steal(&verdict);
    cJSON_ReplaceItemInArray(s->all, (int)i, kf_steal(&row));
    return true;
}

/* Prints a whole verdict on one line. */
static bool print_verdict(const kf_view *view, const kf_workers_result *result, kf_error *error)
{
    kf_auto(cJSON) json =
        kf_json_parse(result->json, result->json_size, KF_JOB_BYTES, "verdict", error);
    if (!json) return false;
    kf_verdict_publish(json);
    kf_autofree char *text = kf_json_print_exact(json);
    if (!text) return kf_fail_memory(error, "a verdict");
    kf_print_exact(view->out, text, strlen(text));
    kf_print_exact(view->out, "\n", 1);
    fflush(view->out);
    return true;
}

/* Without --seconds. */
#define SECONDS_CPU 0.9
#define SECONDS_GPU 3
/* Factor of the time if the interval is too wide. */
#define LONGER 4

/* Appends the options that limit and protect a judgement, if they are not the defaults. A longer
 * time that fills half of the candidate's time limit raises that limit. */
static void word_limits(const settings *w, double seconds, kf_buffer *text)
{
    kf_job_options usual = kf_job_options_default();
    bool raised = seconds > w->seconds && seconds > w->timeout / 2;
    double timeout = raised ? fmin(MAX_SECONDS, w->timeout + seconds) : w->timeout;
    if (seconds > 0) kf_buffer_format(text, " --seconds %g", fmin(MAX_SECONDS, seconds));
    if (timeout != usual.timeout_seconds) kf_buffer_format(text, " --timeout %g", timeout);
    if (w->build_seconds != usual.build_seconds)
        kf_buffer_format(text, " --build-seconds %g", w->build_seconds);
    if (strcmp(w->sandbox, "strict") == 0) kf_command_append_option(text, "sandbox", w->sandbox);
}

/* Writes the command that judges a candidate again, with the options that choose how, and times it
 * for `seconds` (0: the default). --check-only and --asan are left out, because the command is to
 * time the candidate. */
static void word_again(const session *s, const settings *w, size_t i, double seconds,
                       kf_buffer *text)
{
    const kf_eval_result *result = &s->results[i];
    char stored[32];
    snprintf(stored, sizeof stored, "c%lld", (long long)result->stored);
    /* The source of a reply or of the standard input is not there any more. */
    bool is_there = result->is_file && !w->reply;
    bool on_cpu = strncmp(result->verdict->device, "cpu", 3) == 0;
    if (!is_there && !result->stored) return;
    /* The flags and options of --replay come from the verdict, not from the command line. */
    if (w->replay) return;
    kf_buffer_string(text, "kforge eval ");
    kf_command_append_word(text, s->invocation->arguments[0]);
    kf_buffer_string(text, " ");
    kf_command_append_word(text, is_there ? result->name : stored);
    for (size_t k = 0; k < w->flags.count; k++)
        kf_command_append_option(text, "flag", w->flags.items[k]);
    for (size_t k = 0; k < w->workers.count; k++)
        kf_command_append_option(text, "workers", w->workers.items[k]);
    if (w->device) kf_command_append_option(text, "device", w->device);
    if (w->baseline) kf_command_append_option(text, "baseline", w->baseline);
    if (w->store) kf_command_append_option(text, "store", w->store);
    word_limits(w, seconds, text);
    if (w->verify) kf_buffer_string(text, " --verify");
    if (w->sanitize && !on_cpu) kf_buffer_string(text, " --sanitize");
    if (strcmp(w->counters, "none") != 0) kf_command_append_option(text, "counters", w->counters);
    if (!w->kernelbench) kf_buffer_string(text, " --no-kernelbench");
    if (!w->keep) kf_buffer_string(text, " --no-keep");
    if (w->verbose) kf_buffer_string(text, " --verbose");
}

static bool show(session *s, size_t i, const kf_workers_result *result, kf_error *error)
{
    const settings *wanted = s->wanted;
    kf_view view = kf_view_of(s->invocation, wanted->json);
    if (wanted->json && s->count > 1) return add_json(s, i, result, error);
    if (wanted->brief) return print_brief(s, &s->results[i], error);
    if (wanted->json) return print_verdict(&view, result, error);
    kf_autobuffer again = {0}, longer = {0}, address = {0};
    settings once = *wanted;
    once.verify = false;
    bool on_cpu = strncmp(s->results[i].verdict->device, "cpu", 3) == 0;
    double seconds = wanted->seconds > 0 ? wanted->seconds : on_cpu ? SECONDS_CPU : SECONDS_GPU;
    word_again(s, wanted, i, wanted->seconds, &again);
    word_again(s, wanted, i, LONGER * seconds, &longer);
    if (!wanted->asan && !wanted->sanitize) word_again(s, &once, i, wanted->seconds, &address);
    kf_eval_print(&view, &s->results[i],
                  &(kf_eval_style){.again = again.data ? again.data : "",
                                   .longer = longer.data ? longer.data : "",
                                   .address = address.data ? address.data : "",
                                   .verbose = wanted->verbose,
                                   .quiet = wanted->quiet,
                                   .counters = strcmp(wanted->counters, "none") != 0,
                                   .sanitizer = wanted->sanitize,
                                   .check_only = wanted->check_only,
                                   .store = wanted->store});
    fflush(view.out);
    return true;
}

/* Signs, stores and prints one verdict. */
static bool take(session *s, kf_workers_result *result, kf_error *error)
{
    size_t i = (size_t)result->ticket;
    kf_eval_result *place = &s->results[i];
    if (result->outcome != KF_WORKERS_JUDGED) {
        bool refused = result->outcome == KF_WORKERS_REFUSED;
        return kf_fail(error, refused ? KF_ERROR_INPUT : KF_ERROR_MACHINE, "%s",
                       result->error.text);
    }
    if (s->judged++ == 0 && !s->wanted->device && !s->wanted->workers.count)
        kf_devices_explain_cpu(s->invocation->log, kf_workers_hardware(s->workers),
                               kf_judge_gpu_trouble);
    if (s->wanted->sign && !sign(result, s->wanted->sign, error)) return false;
    if (s->before) tell_replay(s->invocation->log, s->before, result->verdict);
    kf_error unkept = {0};
    bool kept = !is_kept(s, s->jobs[i], result->verdict) ||
                keep(s, s->jobs[i], result, &place->stored, &unkept);
    place->verdict = result->verdict;
    result->verdict = NULL;
    if (!show(s, i, result, error)) return false;
    return kept || kf_fail_copy(error, &unkept);
}

/* How often the present step is looked at. */
#define STEP_SECONDS 0.2

static void show_step(session *s)
{
    char words[128];
    const char *step = kf_workers_doing(s->workers);
    if (s->count > 1)
        snprintf(words, sizeof words, "%zu of %zu judged; %s", s->judged, s->count,
                 *step ? step : "starting");
    else
        snprintf(words, sizeof words, "%s", *step ? step : "starting");
    kf_eval_show_step(s->invocation, s->wanted->verbose, words, s->step);
}

/* Gets all verdicts. False on an error or an interrupt. */
static bool judge(session *s, kf_error *error)
{
    bool steps = s->invocation->terminal || s->wanted->verbose;
    for (size_t i = 0; i < s->count; i++)
        if (!kf_workers_submit(s->workers, s->jobs[i], (int64_t)i, error)) return false;
    while (s->judged < s->count) {
        __attribute__((cleanup(kf_workers_result_free))) kf_workers_result result = {0};
        int got = kf_workers_wait(s->workers, steps ? STEP_SECONDS : 1, &result, error);
        if (got <= 0 && *s->invocation->interrupts)
            return kf_fail(error, KF_ERROR_BUSY, "interrupted");
        if (got < 0) return false;
        if (got == 0 && steps) show_step(s);
        if (got == 0) continue;
        if (s->invocation->terminal) kf_eval_show_step(s->invocation, false, "", s->step);
        if (!take(s, &result, error)) return false;
    }
    return true;
}

static int status_of(const kf_verdict *verdict)
{
    if (verdict->status == KF_CORRECT) return KF_EXIT_DONE;
    bool machine = verdict->blame == KF_BLAME_MACHINE || verdict->blame == KF_BLAME_JUDGE;
    return machine                           ? KF_EXIT_MACHINE
           : verdict->blame == KF_BLAME_TASK ? KF_EXIT_INPUT
                                             : KF_EXIT_NOTHING;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool is_source(const char *word)
{
    const char *end = strrchr(word, '.');
    return end && (strcmp(end, ".cu") == 0 || strcmp(end, ".py") == 0);
}

/* Refuses `eval FILE.cu TASK`, and says the order. */
static bool check_order(const kf_invocation *invocation, kf_error *error)
{
    const char *const *words = invocation->arguments;
    if (invocation->argument_count != 2 || !is_source(words[0]) || is_source(words[1])) return true;
    kf_auto(kf_task) task = kf_named_task_load(words[1], NULL);
    kf_autobuffer order = {0};
    if (!task) return true;
    kf_command_append_word(&order, words[1]);
    kf_buffer_string(&order, " ");
    kf_command_append_word(&order, words[0]);
    return kf_fail(error, KF_ERROR_INPUT,
                   "eval: the task comes first, then the candidate; did you mean: kforge eval %s",
                   order.data ? order.data : "TASK FILE");
}

static bool check_options(const kf_invocation *invocation, const settings *wanted, kf_error *error)
{
    size_t files = invocation->argument_count - 1;
    if (wanted->verify && (wanted->check_only || wanted->asan))
        return kf_fail(error, KF_ERROR_INPUT,
                       "--verify times the candidate, but %s does not; give one of them",
                       wanted->asan ? "--asan" : "--check-only");
    if (wanted->json && wanted->brief)
        return kf_fail(error, KF_ERROR_INPUT, "--json and --brief exclude each other");
    if (wanted->reply && files)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--reply has the candidate, so \"%s\" is one too many",
                       invocation->arguments[1]);
    if (!wanted->reply && !files)
        return kf_fail(error, KF_ERROR_INPUT,
                       "eval: no candidate; give a file, \"-\" for the standard input, a stored "
                       "candidate like c4, or --reply FILE");
    if (wanted->replay && files > 1)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--replay repeats the verdict of one file, not of %zu", files);
    if (!check_order(invocation, error)) return false;
    size_t standard = 0;
    for (size_t i = 1; i <= files; i++) standard += strcmp(invocation->arguments[i], "-") == 0;
    if (standard > 1)
        return kf_fail(error, KF_ERROR_INPUT,
                       "\"-\" is given twice; the standard input is one file");
    return kf_counters_check(wanted->counters, error) || kf_fail_prefix(error, "--counters");
}

/* Reads all candidates and makes their jobs. *no_source: the reply has no usable source. */
static bool prepare(session *s, bool *no_source, kf_error *error)
{
    const char *const *words = s->invocation->arguments;
    kf_auto(kf_task) task = kf_named_task_find(words[0], s->wanted->store, error);
    *no_source = false;
    if (!task) return false;
    size_t count = s->wanted->reply ? 1 : s->invocation->argument_count - 1;
    for (size_t i = 0; i < count; i++) {
        kf_eval_candidate *c = &s->candidates[i];
        s->count = i + 1;
        bool read = s->wanted->reply
                        ? kf_eval_candidate_from_reply(s->wanted->reply, task, c, no_source, error)
                        : kf_eval_candidate_read(words[i + 1], kf_task_is_torch(task),
                                                 s->wanted->store, c, error);
        s->jobs[i] = read ? make_job(s->wanted, words[0], c, error) : NULL;
        if (!s->jobs[i]) return false;
        s->results[i] = (kf_eval_result){.name = c->name, .is_file = c->is_file};
    }
    if (!s->wanted->replay) return true;
    s->before = read_verdict(s->wanted->replay, error);
    return s->before && repeat(&s->jobs[0], s->before, s->wanted->replay, error);
}

/* Opens the store before the judging, to find errors early, and the workers. */
static bool open_all(session *s, kf_error *error)
{
    const settings *wanted = s->wanted;
    bool kept =
        wanted->keep && !s->jobs[0]->options.check_only && !s->jobs[0]->options.asan && !s->before;
    if (kept && !(s->store = kf_store_open(wanted->store, KF_STORE_CREATE, error))) return false;
    s->workers = kf_workers_open(wanted->workers.items, wanted->workers.count,
                                 &(kf_workers_options){.device = wanted->device}, error);
    if (!s->workers || !wanted->json || s->count == 1) return s->workers != NULL;
    s->all = cJSON_CreateArray();
    for (size_t i = 0; i < s->count; i++) cJSON_AddItemToArray(s->all, cJSON_CreateNull());
    return s->all || kf_fail_memory(error, "the verdicts");
}

/* Prints the status of a reply without a source. */
static int say_no_source(const session *s, const kf_error *why, kf_error *error)
{
    const settings *wanted = s->wanted;
    kf_auto(cJSON) json = kf_brief_no_source(why->text);
    if (!json) return kf_fail_memory(error, "a verdict") - 1;
    if (wanted->json) {
        cJSON *document = kf_json_document("kforge-brief/1");
        while (document && json->child) {
            cJSON *part = cJSON_DetachItemViaPointer(json, json->child);
            cJSON_AddItemToObject(document, part->string, part);
        }
        return kf_print_json(s->invocation->output, document, error) ? KF_EXIT_NO_SOURCE : -1;
    }
    if (wanted->brief)
        return kf_eval_print_line(s->invocation->output, json, error) ? KF_EXIT_NO_SOURCE : -1;
    fprintf(s->invocation->output, "%s: " KF_STATUS_NO_SOURCE ": %s\nnext: %s\n",
            s->candidates[0].name, why->text, kf_json_get_text(json, "next", NULL));
    return KF_EXIT_NO_SOURCE;
}

static bool finish(session *s, kf_error *error)
{
    kf_view view = kf_view_of(s->invocation, s->wanted->json);
    if (s->all) {
        cJSON *json = kf_json_document("kforge-evals/1");
        bool made = json && cJSON_AddItemToObject(json, "results", s->all);
        if (made) s->all = NULL;
        return kf_print_json(view.out, json, error);
    }
    if (s->count > 1 && !s->wanted->json && !s->wanted->brief)
        kf_eval_print_ranking(&view, s->results, s->count);
    return true;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    kf_error why = {0};
    __attribute__((cleanup(session_free))) session s = {.invocation = invocation, .wanted = values};
    bool no_source;
    if (!check_options(invocation, s.wanted, error)) return -1;
    if (!prepare(&s, &no_source, &why))
        return no_source ? say_no_source(&s, &why, error) : kf_fail_copy(error, &why) - 1;
    if (!open_all(&s, error)) return -1;
    bool judged = judge(&s, error);
    if (invocation->terminal) kf_eval_show_step(invocation, false, "", s.step);
    if (!judged || !finish(&s, error)) return -1;
    int status = KF_EXIT_DONE;
    for (size_t i = 0; i < s.count; i++) {
        int one = status_of(s.results[i].verdict);
        if (one > status) status = one;
    }
    return status;
}

static const kf_option options[] = {
    KF_ROW_DEVICE(settings),
    {KF_OPTION(DURATION, "seconds", "SECONDS", settings, seconds), .low = 0.01, .high = MAX_SECONDS,
     .help = "Time limit for timing all workloads (CPU 0.9, GPU 3). Timing ends early at an "
             "interval within 1 %."},
    {KF_OPTION(DURATION, "timeout", "SECONDS", settings, timeout), .fallback = "120", .low = 0.1,
     .high = MAX_SECONDS,
     .help = "Time limit for the candidate, from loading to the last result. One call may take "
             "1/24 of it. Waits that a busy machine causes add up to twice it."},
    {KF_OPTION(DURATION, "build-seconds", "SECONDS", settings, build_seconds), .fallback = "60",
     .low = 0.1, .high = MAX_SECONDS, .help = "Limit of processor time for a compilation."},
    {KF_OPTION(FLAG, "check-only", NULL, settings, check_only),
     .help = "Check the results without timing."},
    {KF_OPTION(FLAG, "asan", NULL, settings, asan),
     .help = "CPU device: build with AddressSanitizer, without timing."},
    {KF_OPTION(FLAG, "sanitize", NULL, settings, sanitize),
     .help = "GPU: run memcheck, racecheck and initcheck of compute-sanitizer on a correct "
             "candidate. CPU device: as --asan."},
    {KF_OPTION(FLAG, "verify", NULL, settings, verify),
     .help = "Measure twice, in fresh processes; on a GPU also as --sanitize."},
    {KF_OPTION(FLAG, "kernelbench", NULL, settings, kernelbench), .fallback = "true",
     .help = "Solution in Python: add the result of KernelBench's own protocol (default; "
             "--no-kernelbench omits it)."},
    {KF_OPTION(TEXT, "counters", "WHICH", settings, counters), .fallback = "none",
     .help = "Hardware counters of a correct candidate's kernels, from a separate run: all, none, "
             "or names of CUPTI, separated by commas. --flag=-lineinfo adds the source lines where "
             "warps wait."},
    {KF_OPTION(LIST, "flag", "FLAG", settings, flags), .letter = 'f',
     .help = "A compiler flag for the candidate, as in --flag=-DBLOCK=256."},
    KF_ROW_BASELINE(settings),
    KF_ROW_SANDBOX(settings),
    {KF_OPTION(PATH, "replay", "VERDICT", settings, replay),
     .help = "Repeat a verdict of --json: same inputs, orders, choices, flags and options. The "
             "result is not stored."},
    {KF_OPTION(PATH, "sign", "KEYFILE", settings, sign), .config = true,
     .help = "Sign the verdict with this key (`kforge verdict keygen`)."},
    KF_ROW_WORKERS(settings),
    {KF_OPTION(FLAG, "keep", NULL, settings, keep), .fallback = "true",
     .help = "Keep candidate and verdict in the store (default; --no-keep does not)."},
    KF_ROW_STORE(settings),
    {KF_OPTION(PATH, "reply", "FILE", settings, reply),
     .help = "Judge the source in a model's whole reply; - reads the standard input."},
    {KF_OPTION(FLAG, "brief", NULL, settings, brief),
     .help = "Write one line of JSON with status, speedup, errors and the next step."},
    KF_ROW_VERBOSE(settings),
    KF_ROW_QUIET(settings),
    KF_ROW_JSON(settings),
    {0},
};

const kf_command kf_command_eval = {
    .name = "eval",
    .synopsis = "TASK FILE.cu…",
    .summary = "Judge candidates: check them and measure their speed",
    .description = "Compiles the candidate, runs it on fresh inputs in a sandbox, compares it with "
                   "the oracle, and times it against the baseline. TASK is a task.json, its "
                   "folder, or the name of a task in tasks/ or of one that comes with kforge "
                   "(`kforge list --tasks`). FILE is a file, - for the standard input, or a "
                   "stored candidate like c4. Several candidates are ranked.\n\nExit status: 0 "
                   "correct, 1 not correct, 2 bad input or a broken task, 3 the machine or the "
                   "judge failed, 5 the reply holds no usable source.",
    .examples =
        "kforge eval tasks/axpy mine.cu\tchecks and times mine.cu\n"
        "kforge eval tasks/axpy a.cu b.cu c4\tranks three candidates\n"
        "kforge eval tasks/axpy --reply answer.md\tjudges the source in a model's reply\n"
        "kforge eval tasks/axpy mine.cu --sanitize\tfinds accesses out of bounds and races, with "
        "source lines\n"
        "kforge eval tasks/axpy mine.cu --counters all\tshows the limits and stalls of its "
        "kernels\n"
        "kforge eval tasks/axpy mine.cu --json --sign key > verdict.json\twrites a signed verdict\n"
        "kforge eval tasks/axpy mine.cu --replay verdict.json\trepeats it with the same inputs\n",
    .least_arguments = 1,
    .most_arguments = KF_EVAL_FILES + 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
