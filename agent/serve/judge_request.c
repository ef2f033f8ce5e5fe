#include "judge_request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/json.h"
#include "serve.h"

#define WHERE "request"

/* ---- errors ---------------------------------------------------------------------------------- */

void kf_serve_error_set(kf_serve_error *failure, unsigned status, const kf_error *why,
                        const char *todo)
{
    const char *text = why->text;
    *failure = (kf_serve_error){.status = status, .todo = todo};
    if (strncmp(text, WHERE ": ", strlen(WHERE ": ")) == 0) text += strlen(WHERE ": ");
    size_t field = strcspn(text, ": ");
    bool has_field = field && field < sizeof failure->where && text[field] == ':';
    if (has_field) snprintf(failure->where, sizeof failure->where, "%.*s", (int)field, text);
    snprintf(failure->what, sizeof failure->what, "%s", text);
}

static cJSON *error_object(const kf_serve_error *failure)
{
    cJSON *error = cJSON_CreateObject();
    if (cJSON_AddStringToObject(error, "what", failure->what) &&
        cJSON_AddStringToObject(error, "where", failure->where) &&
        cJSON_AddStringToObject(error, "todo", failure->todo) &&
        cJSON_AddNumberToObject(error, "status", failure->status))
        return error;
    cJSON_Delete(error);
    return NULL;
}

static bool add_names(cJSON *json, const kf_judge_wish *wish)
{
    return !wish || ((!wish->id || cJSON_AddStringToObject(json, "id", wish->id)) &&
                     (!wish->group || cJSON_AddStringToObject(json, "group", wish->group)));
}

cJSON *kf_serve_error_json(const kf_serve_error *failure, const kf_judge_wish *wish)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *error = error_object(failure);
    if (!error || !add_names(json, wish) || !cJSON_AddItemToObject(json, "error", error)) {
        cJSON_Delete(error);
        return NULL;
    }
    return kf_steal(&json);
}

/* ---- requests -------------------------------------------------------------------------------- */

void kf_judge_wish_free(void *wish)
{
    kf_judge_wish *w = wish;
    if (!w) return;
    free(w->id);
    free(w->group);
    free(w);
}

static bool copy_name(kf_json_reader *reader, const char *key, size_t limit, char **copy)
{
    const char *text = kf_json_string_or(reader, key, NULL);
    *copy = NULL;
    if (!text) return true;
    if (strlen(text) > limit)
        return kf_json_complain(reader, key, "expected at most %zu bytes", limit);
    *copy = strdup(text);
    return *copy || kf_fail_memory(reader->error, "a request");
}

static bool read_flags(kf_json_reader *reader, const char *flags[KF_JOB_FLAGS], size_t *count)
{
    const cJSON *list = kf_json_array_or_null(reader, "flags"), *item;
    *count = 0;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || *count == KF_JOB_FLAGS)
            return kf_json_complain(reader, "flags", "expected at most %d texts", KF_JOB_FLAGS);
        flags[(*count)++] = item->valuestring;
    }
    return true;
}

bool kf_judge_choice_read(kf_json_reader *reader, kf_judge_wish *wish)
{
    const char *name = kf_json_string_or(reader, "reward", NULL);
    const cJSON *shape = kf_json_object_or_null(reader, "shape");
    wish->has_choice = name || shape;
    wish->choice.named = name;
    if (name && !kf_reward_parse(name, &wish->choice.function))
        return kf_json_complain(
            reader, "reward",
            "there is no \"%.40s\"; expected speedup, cuda_l1, kevin, milestones or log", name);
    return !shape || kf_shape_parse(shape, &wish->choice.shape, reader->error);
}

/* Refuses a choice that gives even a correct candidate no reward: a trainer would leave out its
 * best samples. */
static bool check_choice(kf_json_reader *reader, kf_judge_mode mode, const kf_judge_wish *wish)
{
    const kf_reward_choice *choice = &wish->choice;
    if (!wish->has_choice || !kf_reward_misses_correct(choice, mode)) return true;
    if (!choice->named)
        return kf_json_complain(reader, "shape",
                                "a correct candidate gets no value; give shape.correct or reward");
    return kf_json_complain(reader, "reward",
                            "mode \"check\" gives a correct candidate no value: the reward needs a "
                            "time; use mode \"time\", or give shape.correct");
}

static bool read_submission(kf_json_reader *reader, kf_submission *s, kf_judge_wish *wish,
                            const char *flags[KF_JOB_FLAGS])
{
    const char *mode = kf_json_string_or(reader, "mode", "time");
    const char *language = kf_json_string_or(reader, "language", "cuda");
    s->task = kf_json_string_or(reader, "task", NULL);
    s->bundle = kf_json_object_or_null(reader, "bundle");
    s->source = kf_json_string_or(reader, "source", NULL);
    s->reply = kf_json_string_or(reader, "reply", NULL);
    s->seconds = kf_json_number_or(reader, "seconds", 0.01, 3600, 0);
    s->deadline_seconds =
        kf_json_number_or(reader, "deadline_s", 0.001, KF_SERVE_MOST_DEADLINE, s->deadline_seconds);
    s->fresh = !kf_json_boolean_or(reader, "cache", true);
    if (!read_flags(reader, flags, &s->flag_count) ||
        !copy_name(reader, "id", KF_GROUP_BYTES, &wish->id) ||
        !copy_name(reader, "group", KF_GROUP_BYTES, &wish->group))
        return false;
    s->flags = flags;
    if (!kf_judge_mode_parse(mode, &s->mode))
        return kf_json_complain(reader, "mode", "expected check, time or verify, not \"%.40s\"",
                                mode);
    if (strcmp(language, "cuda") != 0 && strcmp(language, "python") != 0)
        return kf_json_complain(reader, "language", "expected cuda or python, not \"%.40s\"",
                                language);
    s->python = strcmp(language, "python") == 0;
    if (!s->task == !s->bundle)
        return kf_json_complain(reader, "task", "expected exactly one of task and bundle");
    if (!s->source == !s->reply)
        return kf_json_complain(reader, "source", "expected exactly one of source and reply");
    if (s->source) s->source_size = strlen(s->source);
    if (s->reply) s->reply_size = strlen(s->reply);
    return kf_judge_choice_read(reader, wish) && check_choice(reader, s->mode, wish) &&
           kf_json_finish(reader);
}

static const char *todo_of(kf_refusal refusal)
{
    static const char *const texts[] = {
        [KF_REFUSED_INPUT] = "Correct the request; docs/guide/serve.md lists its fields.",
        [KF_REFUSED_TASK] =
            "GET /v1/tasks lists the tasks. Send \"bundle\" for a task of your own.",
        [KF_REFUSED_FULL] = "Send the request again after the seconds of Retry-After.",
        [KF_REFUSED_FAILED] = "Send the request again later."};
    return texts[refusal];
}

kf_ticket *kf_judge_request_submit(kf_service *service, const cJSON *request,
                                   const kf_submission *base, kf_judge_wish **wish,
                                   kf_serve_error *failure)
{
    static const unsigned statuses[] = {[KF_REFUSED_INPUT] = 400,
                                        [KF_REFUSED_TASK] = 404,
                                        [KF_REFUSED_FULL] = 429,
                                        [KF_REFUSED_FAILED] = 503};
    const char *flags[KF_JOB_FLAGS];
    kf_error why = {0};
    kf_submission submission = *base;
    kf_refusal refusal = KF_REFUSED_INPUT;
    kf_ticket *ticket = NULL;
    *wish = calloc(1, sizeof **wish);
    if (!*wish) {
        kf_fail_memory(&why, "a request");
        refusal = KF_REFUSED_FAILED;
    } else {
        kf_json_reader reader = kf_json_object(request, WHERE, "", &why);
        submission.proposer = "serve";
        if (submission.kept) {
            submission.data = *wish;
            submission.free_data = kf_judge_wish_free;
        }
        if (read_submission(&reader, &submission, *wish, flags) && !reader.failed)
            ticket = kf_service_submit(service, &submission, &refusal, &why);
    }
    if (ticket) return ticket;
    kf_serve_error_set(failure, statuses[refusal], &why, todo_of(refusal));
    return NULL;
}

cJSON *kf_judge_request_answer(kf_ticket *ticket, const kf_judge_wish *wish, unsigned *status)
{
    kf_ticket_state state = kf_ticket_state_now(ticket);
    *status = 200;
    if (state == KF_TICKET_DONE) {
        kf_auto(cJSON) json =
            kf_ticket_answer(ticket, wish && wish->has_choice ? &wish->choice : NULL);
        return json && add_names(json, wish) ? kf_steal(&json) : NULL;
    }
    kf_serve_error failure = {.status = state == KF_TICKET_EXPIRED ? 504 : 503};
    bool expired = state == KF_TICKET_EXPIRED;
    snprintf(failure.where, sizeof failure.where, "%s", expired ? "deadline_s" : "");
    snprintf(failure.what, sizeof failure.what, "%s",
             expired ? "the deadline passed before the verdict" : "the job was cancelled");
    failure.todo = expired ? "Give a later deadline_s, or use POST /v1/jobs. The verdict is stored "
                             "once a worker has begun the job."
                           : "Send the request again.";
    *status = failure.status;
    return kf_serve_error_json(&failure, wish);
}
