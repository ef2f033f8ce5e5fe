/* The store of a service: verdicts that answer a job, and new ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical_source.h"
#include "extract.h"
#include "jobs_internal.h"
#include "kforge/json.h"

/* A correct result without a time must not stand for a candidate that was measured. Neither must
 * the time limit of a check, or the verdict on the same text in another language. */
static char *environment_of(const kf_service *service, const kf_work_input *input, bool check_only)
{
    char *text;
    const char *id = kf_workers_environment_id(service->pump.workers);
    if (!id) return NULL;
    return asprintf(&text, "%s%s%s", id,
                    kf_language_mark(input->source, input->size, input->python),
                    check_only ? ", check only" : "") < 0
               ? NULL
               : text;
}

static bool answers(const kf_store_candidate *known, kf_judge_mode mode)
{
    kf_judgement figures = {.mode = KF_MODE_TIME,
                            .status = known->status,
                            .blame = known->blame,
                            .speedup = known->speedup,
                            .reverified = known->reverified};
    return known->verdict && kf_judgement_answers(&figures, mode);
}

/* True if a correct verdict was timed for as many seconds as the input asks for, and a failed one
 * had as much time as a job of the service. 0 is the default of a device, which is as much as
 * another 0 alone. */
static bool timed_enough(const kf_service *service, const kf_work_input *input,
                         const kf_verdict *verdict)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(verdict->provenance, "options"),
                *item = cJSON_GetObjectItemCaseSensitive(options, "seconds");
    double seconds = cJSON_IsNumber(item) ? item->valuedouble : 0;
    kf_job_options limits = kf_job_options_default();
    limits.timeout_seconds = service->settings.timeout_seconds;
    if (!kf_job_limits_hold(&limits, verdict->status, verdict->provenance)) return false;
    if (input->mode == KF_MODE_CHECK || verdict->status != KF_CORRECT) return true;
    return seconds == input->seconds || (input->seconds > 0 && seconds > input->seconds);
}

/* Reads the verdict of a stored candidate. NULL without an error: its time does not answer. */
static kf_judgement *read_judgement(kf_service *service, const kf_work_input *input,
                                    const kf_store_candidate *known, kf_error *error)
{
    size_t size;
    kf_autofree char *text =
        kf_store_verdict_json(service->pump.store, known->verdict, &size, error);
    kf_auto(cJSON) json =
        text ? kf_json_parse(text, size, KF_JOB_BYTES, "a stored verdict", error) : NULL;
    kf_verdict *verdict = json ? kf_verdict_from_json(json, error) : NULL;
    if (!verdict) return NULL;
    if (!timed_enough(service, input, verdict)) {
        kf_verdict_free(verdict);
        return NULL;
    }
    kf_judge_mode mode = verdict->reverified          ? KF_MODE_VERIFY
                         : verdict->speedup.value > 0 ? KF_MODE_TIME
                                                      : input->mode;
    kf_judgement *judgement = kf_judgement_new(verdict, input, mode);
    if (!judgement) kf_fail_memory(error, "a verdict");
    return judgement;
}

static kf_judgement *stored_in(kf_service *service, const kf_work_input *input, bool check_only,
                               kf_error *error)
{
    kf_autoresult kf_store_candidate known = {0};
    kf_autofree char *environment = environment_of(service, input, check_only);
    bool found = false;
    if (!environment) {
        kf_fail_memory(error, "a verdict");
        return NULL;
    }
    if (!kf_store_find_candidate(service->pump.store, kf_task_hash(input->task->task),
                                 input->candidate, environment, &known, &found, error) ||
        !found || !answers(&known, input->mode))
        return NULL;
    return read_judgement(service, input, &known, error);
}

kf_judgement *kf_service_stored(kf_service *service, const kf_work_input *input)
{
    kf_error why = {0};
    if (!service->pump.store || input->fresh) return NULL;
    kf_judgement *judgement = stored_in(service, input, false, &why);
    if (!judgement && !why.code && input->mode == KF_MODE_CHECK)
        judgement = stored_in(service, input, true, &why);
    if (why.code) kf_service_log(service, "looking for a stored verdict: %s", why.text);
    return judgement;
}

/* Computes the hash that the store finds twins by. "" for a source without a canonical form. */
static bool form_of(const kf_work_input *input, char form[KF_HASH_HEX], kf_error *error)
{
    char hash[KF_HASH_HEX] = "";
    form[0] = '\0';
    if (input->python) return true;
    if (!kf_canonical_source_hash(input->source, input->size, hash, error)) return false;
    if (*hash)
        kf_store_candidate_hash(hash, strlen(hash), (const char *const *)input->flags,
                                input->flag_count, form);
    return true;
}

bool kf_service_twin(kf_service *service, const kf_work_input *input, char code[KF_HASH_HEX])
{
    kf_error why = {0};
    char form[KF_HASH_HEX];
    kf_autoresult kf_store_candidate twin = {0};
    bool found = false;
    if (!service->pump.store || input->fresh || !form_of(input, form, &why) || !*form) return false;
    if (!kf_store_find_canonical(service->pump.store, kf_task_hash(input->task->task), form,
                                 kf_workers_environment_id(service->pump.workers), &twin, &found,
                                 &why))
        kf_service_log(service, "looking for a stored verdict: %s", why.text);
    if (!found || !answers(&twin, input->mode) || !*twin.code_hash) return false;
    kf_auto(kf_judgement) judgement = read_judgement(service, input, &twin, &why);
    if (!judgement) return false;
    snprintf(code, KF_HASH_HEX, "%s", twin.code_hash);
    return true;
}

kf_judgement *kf_service_same_code(kf_service *service, const kf_work_input *input,
                                   const kf_verdict *verdict)
{
    kf_error why = {0};
    kf_autoresult kf_store_candidate known = {0};
    bool found = false;
    if (!service->pump.store || input->fresh || !verdict->code_hash || !*verdict->code_hash)
        return NULL;
    if (!kf_store_find_code(service->pump.store, kf_task_hash(input->task->task),
                            verdict->code_hash, kf_workers_environment_id(service->pump.workers),
                            &known, &found, &why))
        kf_service_log(service, "looking for a stored verdict: %s", why.text);
    if (!found || !answers(&known, input->mode) || strcmp(known.hash, input->candidate) == 0)
        return NULL;
    kf_judgement *judgement = read_judgement(service, input, &known, &why);
    if (why.code) kf_service_log(service, "reading a stored verdict: %s", why.text);
    return judgement;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool put_task(kf_service *service, kf_shared_task *task, kf_error *error)
{
    if (task->is_stored) return true;
    kf_auto(cJSON) bundle = kf_task_bundle(task->task);
    kf_autofree char *text = bundle ? cJSON_PrintUnformatted(bundle) : NULL;
    if (!text) return kf_fail_memory(error, "a task");
    return kf_store_put_task(service->pump.store, kf_task_hash(task->task),
                             kf_task_name(task->task), text, strlen(text), error);
}

static bool record(kf_service *service, const kf_work_input *input, const kf_workers_result *result,
                   kf_error *error)
{
    kf_store *store = service->pump.store;
    const kf_verdict *verdict = result->verdict;
    char form[KF_HASH_HEX];
    bool check_only = input->mode == KF_MODE_CHECK &&
                      (verdict->status == KF_CORRECT || verdict->status == KF_TIMEOUT);
    kf_autofree char *environment = environment_of(service, input, check_only);
    if (!environment) return kf_fail_memory(error, "a verdict");
    if (!form_of(input, form, error)) return false;
    kf_store_attempt_new attempt = {.task = kf_task_hash(input->task->task),
                                    .outcome = KF_ATTEMPT_JUDGED,
                                    .proposer = input->proposer,
                                    .step = "eval",
                                    .content.source = input->source,
                                    .content.source_size = input->size,
                                    .content.flags = (const char *const *)input->flags,
                                    .content.flag_count = input->flag_count,
                                    .content.canonical_hash = form,
                                    .verdict = verdict,
                                    .verdict_json = result->json,
                                    .verdict_size = result->json_size,
                                    .device = environment};
    /* Survives the end of the process. Jobs must not wait for the disk. */
    bool stored = kf_store_begin_quick(store, error) && put_task(service, input->task, error) &&
                  kf_store_record(store, &attempt, NULL, error) && kf_store_commit(store, error);
    if (!stored && kf_store_in_group(store)) kf_store_rollback(store);
    input->task->is_stored |= stored;
    return stored;
}

void kf_service_record(kf_service *service, const kf_work_input *input,
                       const kf_workers_result *result)
{
    kf_error why = {0};
    if (service->pump.store && !record(service, input, result, &why))
        kf_service_log(service, "a verdict was not stored: %s", why.text);
}
