/* Episodes: the calls of agents (llm_agent.c). While an episode is in flight, its agent has
 * candidates judged. Each of them is an attempt of the run with the step "try": its parent is the
 * one before, and it joins the population. Only the candidate that the agent leaves, with the step
 * "episode", counts for the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "kforge/json.h"
#include "search_internal.h"

bool kf_is_agent(const kf_search *s, int model)
{
    return model >= 0 && model < (int)s->models.count && s->models.items[model].llm &&
           kf_llm_episodes(s->models.items[model].llm) > 0;
}

int kf_episodes_open(const kf_search *s, int model)
{
    int count = (int)kf_calls_count(&s->calls, model);
    for (const kf_call *c = s->calls.replies; c; c = c->next) count += c->origin.model == model;
    for (const kf_proposal *p = s->jobs.in_flight; p; p = p->next)
        count += p->origin.model == model && p->origin.step == KF_STEP_EPISODE;
    for (const kf_proposal *p = s->jobs.retries; p; p = p->next)
        count += p->origin.model == model && p->origin.step == KF_STEP_EPISODE;
    return count;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns the source that the agent starts from, malloc'd. */
static char *first_source(kf_search *s, const kf_call *call, const kf_task_file *baseline,
                          kf_error *error)
{
    if (call->origin.parent)
        return kf_search_source(s->store, s->progress.run, call->origin.parent, error);
    char *text = NULL;
    if (baseline->kind != KF_SOURCE_TORCH) {
        text = strdup(baseline->text);
    } else {
        kf_autofree char *prototype = kf_task_prototype(s->task, false);
        if (!prototype || asprintf(&text, "// Define this function:\n/*\n%s\n*/\n", prototype) < 0)
            text = NULL;
    }
    if (!text) kf_fail_memory(error, "an episode");
    return text;
}

bool kf_call_submit(kf_search *s, const kf_call *call, kf_error *why)
{
    kf_llm_request request = {.system = s->models.system_text,
                              .prompt = call->prompt,
                              .temperature = call->temperature,
                              .tag = call->tag};
    kf_autofree char *source = NULL;
    /* After a resume with other models, an agent may get a call of another kind. */
    if (call->origin.step == KF_STEP_EPISODE || kf_is_agent(s, call->origin.model)) {
        const kf_task_file *baseline = kf_search_baseline(s);
        source = first_source(s, call, baseline, why);
        if (!source) return false;
        request.candidate = source;
        request.baseline = baseline->text;
        request.baseline_module = baseline->kind == KF_SOURCE_TORCH;
    }
    return kf_llm_submit(s->models.items[call->origin.model].llm, &request, why);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Takes a proposal that answers the question out of a list. NULL: the list has no such proposal. */
static kf_proposal *take_proposal(kf_proposal **list, int model, const kf_llm_question *asked)
{
    for (; *list; list = &(*list)->next) {
        kf_proposal *p = *list;
        if (p->origin.model != model || p->asked.tag != asked->tag || p->asked.id != asked->id)
            continue;
        *list = p->next;
        p->next = NULL;
        return p;
    }
    return NULL;
}

/* Drops a question after its client has left. It may wait to be proposed, be a job, or wait to be
 * judged once more. The time since a worker began its job counts for the agent. */
static void withdraw(kf_search *s, int model, const kf_llm_question *asked)
{
    for (kf_agent_question **at = &s->calls.questions; *at; at = &(*at)->next) {
        kf_agent_question *q = *at;
        if (q->model != model || q->asked.tag != asked->tag || q->asked.id != asked->id) continue;
        *at = q->next;
        free(q->asked.source);
        free(q);
        break;
    }
    double seconds = 0;
    kf_proposal *job = take_proposal(&s->jobs.in_flight, model, asked);
    if (job) {
        seconds = kf_workers_cancel(s->workers, job->ticket);
        if (job->tunable) job->tunable->in_flight--;
        kf_proposal_free(job);
    }
    kf_proposal_free(take_proposal(&s->jobs.retries, model, asked));
    s->progress.device_seconds += seconds;
    kf_llm_answer(s->models.items[model].llm, asked->tag, asked->id, NULL, seconds, seconds,
                  "cancelled by the agent");
}

bool kf_episodes_collect(kf_search *s, kf_error *error)
{
    for (int i = 0; i < (int)s->models.count; i++) {
        kf_llm_question asked;
        while (kf_is_agent(s, i) && kf_llm_next_question(s->models.items[i].llm, &asked)) {
            if (!asked.source) {
                withdraw(s, i, &asked);
                continue;
            }
            kf_agent_question *question = malloc(sizeof *question), **end = &s->calls.questions;
            if (!question) {
                free(asked.source);
                return kf_fail_memory(error, "a question of an agent");
            }
            while (*end) end = &(*end)->next;
            *question = (kf_agent_question){.model = i, .asked = asked};
            *end = question;
        }
    }
    return true;
}

void kf_episodes_clear(kf_calls *calls)
{
    for (kf_agent_question *q; (q = calls->questions);) {
        calls->questions = q->next;
        free(q->asked.source);
        free(q);
    }
}

static kf_call *call_of(const kf_search *s, int64_t tag)
{
    kf_call *call = s->calls.in_flight;
    while (call && call->tag != tag) call = call->next;
    return call;
}

static bool propose(kf_search *s, const kf_agent_question *question, kf_call *call,
                    kf_proposal **proposal, kf_error *error)
{
    const kf_llm_question *asked = &question->asked;
    kf_tunable_source *tunable = kf_tunable_source_find(&s->sources, asked->source, asked->size);
    if (!tunable)
        tunable = kf_tunable_source_add(s, kf_step_name(KF_STEP_TRY), asked->source, asked->size,
                                        false, error);
    kf_proposal *p =
        tunable ? kf_proposal_new(KF_STEP_TRY, tunable, &tunable->initial, error) : NULL;
    if (!p) return false;
    p->origin.model = question->model;
    p->origin.parent = call->last ? call->last : call->origin.parent;
    p->origin.island = call->origin.island;
    p->asked = (kf_asked){.tag = asked->tag, .id = asked->id, .wish = asked->wish};
    *proposal = p;
    return true;
}

bool kf_episodes_propose(kf_search *s, kf_proposal **proposal, kf_error *error)
{
    *proposal = NULL;
    while (s->calls.questions && !*proposal) {
        kf_agent_question *question = s->calls.questions;
        kf_call *call = call_of(s, question->asked.tag);
        s->calls.questions = question->next;
        /* Without its call the episode has ended. */
        bool good = !call || propose(s, question, call, proposal, error);
        free(question->asked.source);
        free(question);
        if (!good) return false;
    }
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

bool kf_episodes_only_checks(const kf_proposal *p)
{
    return p->asked.wish == KF_LLM_WISH_CHECK;
}

/* Returns the agent's model of a proposal that answers a question, or NULL. */
static kf_llm *agent_of(const kf_search *s, const kf_proposal *p)
{
    return p->asked.tag && kf_is_agent(s, p->origin.model) ? s->models.items[p->origin.model].llm
                                                           : NULL;
}

void kf_episodes_answer(kf_search *s, const kf_proposal *p, const kf_verdict *verdict,
                        const char *reason, int64_t candidate)
{
    kf_llm *llm = agent_of(s, p);
    if (!llm) return;
    kf_call *call = call_of(s, p->asked.tag);
    if (call && candidate) call->last = candidate;
    char hash[KF_HASH_HEX];
    kf_store_candidate_hash(p->source, p->size, (const char *const *)p->flags,
                            (size_t)p->flag_count, hash);
    kf_autofree char *json = verdict ? kf_answer_json(s, p->asked.wish, verdict, hash) : NULL;
    double judged = verdict ? verdict->judge_seconds : 0,
           built = verdict ? verdict->build_seconds : 0;
    kf_llm_answer(llm, p->asked.tag, p->asked.id, json, judged, fmax(judged, 0) + fmax(built, 0),
                  verdict ? "out of memory for an answer" : reason);
}

void kf_episodes_answer_known(kf_search *s, const kf_proposal *p, int64_t verdict,
                              int64_t candidate)
{
    if (!agent_of(s, p)) return;
    size_t size;
    kf_error why = {0};
    kf_autofree char *text = kf_store_verdict_json(s->store, verdict, &size, &why);
    kf_auto(cJSON) json = text ? kf_json_parse(text, size, 0, "verdict", &why) : NULL;
    kf_auto(kf_verdict) stored = json ? kf_verdict_from_json(json, &why) : NULL;
    /* The judge did not measure anything for it. */
    if (stored) stored->judge_seconds = stored->build_seconds = 0;
    kf_episodes_answer(s, p, stored, why.text, candidate);
}
