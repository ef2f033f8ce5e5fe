/* Calls in flight. Each call is stored before it is sent, with its prompt and its place in the run,
 * until its reply is stored. So a run that was killed sends the same request to the same model
 * again, before it does anything else, as if the reply had only taken longer.
 *
 * A recorded model (`replay:`) must also know the requests of earlier sessions, and when they were
 * sent: this decides which of its replies are used up. */
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "search_internal.h"

/* seconds before a model that takes no more requests gets another one */
#define BUSY_PAUSE 0.5

bool kf_pending_call_store(kf_search *s, const kf_call *call, kf_error *error)
{
    return kf_store_begin_quick(s->store, error) &&
           kf_store_put_pending_call(s->store, s->progress.run, call->tag, call->prompt,
                                     strlen(call->prompt), error) &&
           kf_state_commit(s, error);
}

bool kf_call_take_back(kf_search *s, kf_call *call, const kf_error *why, kf_error *error)
{
    kf_model *model = &s->models.items[call->origin.model];
    if (why->code != KF_ERROR_BUSY && why->code != KF_ERROR_LIMIT) return kf_fail_copy(error, why);
    if (why->code == KF_ERROR_LIMIT) kf_models_budget_spent(&s->models, call->origin.model, why);
    model->not_before = kf_now() + BUSY_PAUSE;
    return kf_choose_again(s, call, error);
}

/* ---- after a resume -------------------------------------------------------------------------- */

/* An earlier request to a model, answered or not. */
typedef struct earlier {
    int64_t sent_at, order;
    /* the stored call; 0: in flight */
    int64_t call;
    /* the call in flight; NULL: it was answered */
    kf_call *open;
} earlier;

static int compare(const void *a, const void *b)
{
    const earlier *x = a, *y = b;
    if (x->sent_at != y->sent_at) return x->sent_at < y->sent_at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

typedef struct earlier_list {
    earlier *items;
    size_t count;
} earlier_list;

static bool add(earlier_list *list, earlier item, kf_error *error)
{
    if (!kf_list_grow(&list->items, list->count))
        return kf_fail_memory(error, "the calls of a run");
    item.order = (int64_t)list->count;
    list->items[list->count++] = item;
    return true;
}

static bool read_answered(kf_search *s, int model, earlier_list *list, kf_error *error)
{
    if (!kf_llm_is_recorded(s->models.items[model].llm)) return true;
    kf_auto(kf_store_cursor) cursor =
        kf_store_model_calls(s->store, s->progress.run, s->models.items[model].name, error);
    kf_autoresult kf_store_model_call call = {0};
    int row = cursor ? 1 : -1;
    while ((row = row == 1 ? kf_store_next_model_call(cursor, &call, error) : row) == 1) {
        kf_auto(cJSON) settings = *call.settings ? cJSON_Parse(call.settings) : NULL;
        if ((int)kf_json_get_number(settings, "seat", model) != model) continue;
        if (!add(list,
                 (earlier){.sent_at = (int64_t)kf_json_get_number(settings, "asked", 0),
                           .call = call.id},
                 error))
            return false;
    }
    return row == 0;
}

/* Sends the request. A busy model gets it again later. */
static bool send(kf_search *s, kf_call *call, kf_error *error)
{
    kf_error why = {0};
    if (kf_call_submit(s, call, &why)) {
        call->unsent = false;
        return true;
    }
    if (why.code == KF_ERROR_BUSY) return true;
    bool taken_back = kf_call_take_back(s, call, &why, error);
    kf_call_free(kf_call_unlink(&s->calls, call->tag));
    return taken_back;
}

static bool replay_request(kf_search *s, int model, const earlier *e, kf_error *error)
{
    kf_llm *llm = s->models.items[model].llm;
    kf_llm_progress(llm, e->sent_at);
    if (e->open) return send(s, e->open, error);
    kf_autofree char *prompt =
        kf_store_model_call_text(s->store, e->call, KF_CALL_PROMPT, NULL, error);
    if (!prompt) return false;
    kf_llm_pass(llm, prompt);
    return true;
}

/* Sends the requests in their original order, since identical prompts get different replies. */
static bool go_on(kf_search *s, int model, kf_error *error)
{
    earlier_list list = {0};
    bool good = read_answered(s, model, &list, error);
    for (kf_call *call = s->calls.in_flight; call && good; call = call->next)
        if (call->origin.model == model)
            good = add(&list, (earlier){.sent_at = call->sent_at, .open = call}, error);
    if (good && list.count) qsort(list.items, list.count, sizeof *list.items, compare);
    for (size_t i = 0; i < list.count && good; i++)
        good = replay_request(s, model, &list.items[i], error);
    free(list.items);
    return good;
}

/* Drops calls without a model in this session or without a prompt. Due requests stay due. */
static bool forget(kf_search *s, kf_error *error)
{
    for (kf_call *call = s->calls.in_flight, *next; call; call = next) {
        next = call->next;
        if (call->origin.model >= 0 && call->origin.model < (int)s->models.count && call->prompt)
            continue;
        bool kept = kf_choose_again(s, call, error);
        kf_call_free(kf_call_unlink(&s->calls, call->tag));
        if (!kept) return false;
    }
    return true;
}

bool kf_pending_call_again(kf_search *s, kf_error *error)
{
    bool good = forget(s, error);
    for (int i = 0; i < (int)s->models.count && good; i++) good = go_on(s, i, error);
    return good;
}

bool kf_pending_call_send(kf_search *s, kf_error *error)
{
    for (kf_call *call = s->calls.in_flight, *next; call; call = next) {
        next = call->next;
        if (call->unsent && !send(s, call, error)) return false;
    }
    return true;
}
