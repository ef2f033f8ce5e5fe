/* Judgements: what a client learns from a verdict, and its reward. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs_internal.h"
#include "kforge/json.h"
#include "verdict_brief.h"

/* Of the compiler's messages in memory. */
#define LOG_BYTES 8192
/* Places of kf_shape behind the statuses. */
#define NO_SOURCE KF_STATUS_COUNT
#define FAILED (KF_STATUS_COUNT + 1)

const char *kf_judge_mode_name(kf_judge_mode mode)
{
    static const char *const names[] = {"check", "time", "verify"};
    return names[mode];
}

bool kf_judge_mode_parse(const char *name, kf_judge_mode *mode)
{
    for (int i = KF_MODE_CHECK; i <= KF_MODE_VERIFY; i++)
        if (strcmp(name, kf_judge_mode_name((kf_judge_mode)i)) == 0)
            return *mode = (kf_judge_mode)i, true;
    return false;
}

/* ---- making ---------------------------------------------------------------------------------- */

static kf_judgement *blank(const kf_work_input *input)
{
    kf_judgement *judgement = calloc(1, sizeof *judgement);
    if (!judgement) return NULL;
    judgement->speedup = (kf_interval){NAN, NAN, NAN};
    judgement->build_seconds = judgement->judge_seconds = NAN;
    if (!input) return judgement;
    judgement->mode = input->mode;
    memcpy(judgement->candidate, input->candidate, sizeof judgement->candidate);
    snprintf(judgement->task, sizeof judgement->task, "%s", kf_task_hash(input->task->task));
    return judgement;
}

void kf_judgement_free(kf_judgement *judgement)
{
    if (!judgement) return;
    kf_verdict_free((kf_verdict *)(uintptr_t)judgement->verdict);
    free(judgement->summary);
    free(judgement->next);
    free(judgement);
}

static kf_judgement *with_texts(kf_judgement *judgement, char *summary, char *next)
{
    judgement->summary = summary;
    judgement->next = next;
    if (summary && next) return judgement;
    kf_judgement_free(judgement);
    return NULL;
}

/* Cuts the compiler's messages, of which a hostile source may make much. */
static void cut_log(cJSON *build)
{
    cJSON *log = cJSON_GetObjectItemCaseSensitive(build, "log");
    if (!cJSON_IsString(log) || strlen(log->valuestring) <= LOG_BYTES) return;
    size_t end = LOG_BYTES;
    /* Not within a character of UTF-8. */
    while (end > 0 && (log->valuestring[end] & 0xc0) == 0x80) end--;
    log->valuestring[end] = '\0';
    cJSON *shorter = cJSON_CreateString(log->valuestring);
    if (shorter) cJSON_ReplaceItemInObjectCaseSensitive(build, "log", shorter);
}

/* Drops what only the store keeps: raw samples, the description of the machine, long messages. */
static void strip(kf_verdict *verdict)
{
    cut_log(verdict->build);
    for (size_t i = 0; i < verdict->workload_count; i++) {
        free(verdict->workloads[i].samples);
        verdict->workloads[i].samples = NULL;
        verdict->workloads[i].sample_count = 0;
    }
    cJSON_Delete(verdict->provenance);
    verdict->provenance = NULL;
}

kf_judgement *kf_judgement_new(kf_verdict *verdict, const kf_work_input *input, kf_judge_mode mode)
{
    kf_judgement *judgement = blank(input);
    if (!judgement) {
        kf_verdict_free(verdict);
        return NULL;
    }
    strip(verdict);
    judgement->verdict = verdict;
    judgement->status = verdict->status;
    judgement->blame = verdict->blame;
    if (verdict->status == KF_CORRECT) judgement->speedup = verdict->speedup;
    judgement->reverified = verdict->reverified;
    judgement->mode = mode;
    judgement->build_seconds = verdict->build_seconds;
    judgement->judge_seconds = verdict->judge_seconds;
    snprintf(judgement->device, sizeof judgement->device, "%s", verdict->device);
    /* Clients give both texts to models. */
    kf_auto(kf_verdict) shown = kf_verdict_shown(verdict, input->task->task);
    return with_texts(judgement, shown ? kf_verdict_summary(shown) : NULL,
                      shown ? kf_verdict_next(shown) : NULL);
}

kf_judgement *kf_judgement_no_source(const char *why)
{
    kf_judgement *judgement = blank(NULL);
    if (!judgement) return NULL;
    judgement->no_source = true;
    judgement->blame = KF_BLAME_CANDIDATE;
    return with_texts(judgement, strdup(why),
                      strdup("Reply with the whole source in one fenced block."));
}

kf_judgement *kf_judgement_lost(const kf_work_input *input, const char *why)
{
    kf_judgement *judgement = blank(input);
    if (!judgement) return NULL;
    judgement->status = KF_JUDGE_ERROR;
    judgement->blame = KF_BLAME_MACHINE;
    return with_texts(judgement, kf_text_clean(why, strlen(why), true),
                      strdup("The machine failed, not the candidate. Submit it again later."));
}

/* ---- reading --------------------------------------------------------------------------------- */

bool kf_judgement_counts(const kf_judgement *judgement)
{
    return judgement->no_source || judgement->blame == KF_BLAME_CANDIDATE ||
           (judgement->blame == KF_BLAME_NOBODY && judgement->status == KF_CORRECT);
}

bool kf_judgement_answers(const kf_judgement *judgement, kf_judge_mode mode)
{
    if (!kf_judgement_counts(judgement)) return false;
    /* A check is built with less optimisation, so its time limit proves nothing about a time. */
    if (judgement->mode == KF_MODE_CHECK && judgement->status == KF_TIMEOUT)
        return mode == KF_MODE_CHECK;
    if (judgement->no_source || judgement->status != KF_CORRECT || mode == KF_MODE_CHECK)
        return true;
    return mode == KF_MODE_TIME ? judgement->speedup.value > 0 : judgement->reverified;
}

const char *kf_judgement_status(const kf_judgement *judgement)
{
    return judgement->no_source ? "no_source" : kf_status_name(judgement->status);
}

/* ---- rewards --------------------------------------------------------------------------------- */

static bool shape_key(const char *name, int *key)
{
    kf_status status;
    *key = strcmp(name, "no_source") == 0   ? NO_SOURCE
           : strcmp(name, "failed") == 0    ? FAILED
           : kf_status_parse(name, &status) ? (int)status
                                            : -1;
    return *key >= 0;
}

bool kf_shape_parse(const cJSON *json, kf_shape *shape, kf_error *error)
{
    *shape = (kf_shape){0};
    if (!cJSON_IsObject(json))
        return kf_fail(error, KF_ERROR_INPUT, "shape: expected an object of statuses and numbers");
    for (const cJSON *item = json->child; item; item = item->next) {
        int key;
        if (!shape_key(item->string, &key))
            return kf_fail(error, KF_ERROR_INPUT,
                           "shape.%s: no such outcome; expected a status (\"wrong_result\"), "
                           "\"no_source\" or \"failed\"",
                           item->string);
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return kf_fail(error, KF_ERROR_INPUT, "shape.%s: expected a number", item->string);
        shape->given[key] = true;
        shape->values[key] = item->valuedouble;
    }
    return true;
}

static double failure_reward(const kf_judgement *judgement, const kf_reward_choice *choice)
{
    const kf_shape *shape = &choice->shape;
    int key = judgement->no_source ? NO_SOURCE : (int)judgement->status;
    if (shape->given[key]) return shape->values[key];
    if (shape->given[FAILED]) return shape->values[FAILED];
    if (!choice->named) return 0;
    kf_reward_input failure = {
        .status = KF_COMPILE_ERROR, .blame = KF_BLAME_CANDIDATE, .speedup = {NAN, NAN, NAN}};
    if (!judgement->no_source) failure.status = judgement->status;
    return kf_reward_of(choice->function, &failure);
}

static double correct_reward(kf_interval speedup, const kf_reward_choice *choice)
{
    kf_reward_input input = {.status = KF_CORRECT, .blame = KF_BLAME_NOBODY, .speedup = speedup};
    double value = choice->named ? kf_reward_of(choice->function, &input) : NAN;
    return isnan(value) && choice->shape.given[KF_CORRECT] ? choice->shape.values[KF_CORRECT]
                                                           : value;
}

double kf_judgement_reward(const kf_judgement *judgement, const kf_reward_choice *choice)
{
    if (!kf_judgement_counts(judgement)) return NAN;
    if (judgement->no_source || judgement->status != KF_CORRECT)
        return failure_reward(judgement, choice);
    return correct_reward(judgement->speedup, choice);
}

bool kf_reward_misses_correct(const kf_reward_choice *choice, kf_judge_mode mode)
{
    double figure = mode == KF_MODE_CHECK ? NAN : 1;
    return isnan(correct_reward((kf_interval){figure, figure, figure}, choice));
}
