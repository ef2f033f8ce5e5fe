/* The answer to a client, as JSON. */
#include <math.h>

#include "jobs_internal.h"
#include "kforge/json.h"

static bool add_number(cJSON *object, const char *key, double value)
{
    return isfinite(value) ? cJSON_AddNumberToObject(object, key, value) != NULL
                           : cJSON_AddNullToObject(object, key) != NULL;
}

/* Rounds seconds to a tenth of a millisecond. */
static double rounded(double seconds)
{
    return round(seconds * 1e4) / 1e4;
}

static bool add_speedup(cJSON *object, const kf_judgement *judgement)
{
    if (!(judgement->speedup.value > 0)) return cJSON_AddNullToObject(object, "speedup");
    cJSON *speedup = cJSON_AddObjectToObject(object, "speedup");
    return speedup && add_number(speedup, "value", judgement->speedup.value) &&
           add_number(speedup, "low", judgement->speedup.low) &&
           add_number(speedup, "high", judgement->speedup.high);
}

static bool add_verdict(cJSON *object, const kf_judgement *j)
{
    bool correct = !j->no_source && j->status == KF_CORRECT;
    return cJSON_AddStringToObject(object, "status", kf_judgement_status(j)) &&
           cJSON_AddStringToObject(object, "blame", kf_blame_name(j->blame)) &&
           cJSON_AddBoolToObject(object, "correct", correct) &&
           cJSON_AddBoolToObject(object, "cheating", !j->no_source && j->status == KF_CHEATING) &&
           add_speedup(object, j) && cJSON_AddBoolToObject(object, "reverified", j->reverified) &&
           cJSON_AddStringToObject(object, "summary", j->summary) &&
           cJSON_AddStringToObject(object, "next", j->next) &&
           (*j->candidate ? cJSON_AddStringToObject(object, "candidate", j->candidate)
                          : cJSON_AddNullToObject(object, "candidate")) &&
           (*j->task ? cJSON_AddStringToObject(object, "task", j->task)
                     : cJSON_AddNullToObject(object, "task"));
}

cJSON *kf_ticket_answer(kf_ticket *ticket, const kf_reward_choice *choice)
{
    const kf_judgement *j = kf_ticket_judgement(ticket);
    if (!j) return NULL;
    double reward = choice ? kf_judgement_reward(j, choice) : NAN;
    bool scorable = choice ? !isnan(reward) : kf_judgement_counts(j);
    kf_auto(cJSON) object = cJSON_CreateObject();
    bool made = object && cJSON_AddBoolToObject(object, "scorable", scorable) &&
                add_number(object, "reward", reward) && add_verdict(object, j) &&
                cJSON_AddStringToObject(object, "mode", kf_judge_mode_name(j->mode)) &&
                cJSON_AddBoolToObject(object, "cached", kf_ticket_cached(ticket)) &&
                add_number(object, "queue_s", rounded(kf_ticket_queue_seconds(ticket))) &&
                add_number(object, "build_s", rounded(j->build_seconds)) &&
                add_number(object, "judge_s", rounded(j->judge_seconds)) &&
                (*j->device ? cJSON_AddStringToObject(object, "device", j->device)
                            : cJSON_AddNullToObject(object, "device"));
    return made ? kf_steal(&object) : NULL;
}
