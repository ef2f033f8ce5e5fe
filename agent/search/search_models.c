/* The models of a run: opening them, and what their failures, useless replies and repetitions
 * lead to. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kforge/file.h"
#include "search_internal.h"

/* The rule of models that fail. A failure that stays (a wrong key, name or address, no such
 * command) ends a model that has never answered at once. Any other call without a candidate counts,
 * whether it failed, hung or gave a reply without code: after so many in a row a model gets no more
 * calls. Before the first reply of the run fewer failures suffice, because each had all its
 * retries. The run ends with its last model. */
#define MODEL_USELESS 8
#define MODEL_SILENT 3
/* candidates in a row that were judged before, after which a model gets no more calls */
#define MODEL_REPEATS 40
/* seconds of pause after a failure; they double with each further one */
#define FIRST_PAUSE 0.05
#define LONGEST_PAUSE 30
/* bytes of a kind of failure, and of all kinds that a model's user has seen */
#define KIND_BYTES 512
#define MOST_KINDS 8192
/* An id may have no digit. */
#define LONGEST_WORD 24
#define SHORTEST_HEX 8

/* ---- opening --------------------------------------------------------------------------------- */

static kf_budget budget_of(const kf_search_settings *settings, const kf_search_progress *progress)
{
    const kf_search_budget *limit = &settings->budget;
    return (kf_budget){
        .limit = {kf_nanodollars(limit->cost_usd), limit->tokens, limit->requests},
        .spent = {kf_nanodollars(progress->cost_usd), progress->tokens, progress->requests}};
}

kf_budget kf_models_budget(const kf_search *s)
{
    return budget_of(s->settings, &s->progress);
}

/* Keeps the store and the task out of an agent's jail. False if its options would show them. */
static bool hide_secrets(const kf_search *s, kf_llm *llm, kf_error *error)
{
    const char *folder = kf_task_folder(s->task);
    return kf_llm_hide(llm, kf_store_path(s->store), error) &&
           (!folder || kf_llm_hide(llm, folder, error));
}

bool kf_models_check(const kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    const kf_budget budget = budget_of(settings, &(kf_search_progress){0});
    if (settings->model_count > KF_SEARCH_MODELS)
        return kf_fail(error, KF_ERROR_INPUT, "%zu models; the most is %d", settings->model_count,
                       KF_SEARCH_MODELS);
    for (size_t i = 0; i < settings->model_count; i++) {
        kf_auto(kf_llm) llm = kf_llm_open(settings->models[i], error);
        if (!llm || !kf_llm_check_budget(llm, &budget, error) || !hide_secrets(s, llm, error))
            return false;
    }
    return true;
}

/* Returns the spec without frozen prices, malloc'd. */
static char *without_prices(const char *spec)
{
    kf_autobuffer text = {0};
    for (const char *at = spec; *at;) {
        const char *price = strstr(at, ",price_");
        kf_buffer_append(&text, at, price ? (size_t)(price - at) : strlen(at));
        at = price ? price + 1 + strcspn(price + 1, ",:") : "";
    }
    return kf_buffer_take(&text);
}

/* Returns the name without a number. */
static char *plain_name(const char *spec)
{
    char *agent = kf_llm_agent_name(spec);
    if (agent) return agent;
    /* The command line of an exec may hold secrets. */
    kf_autofree char *shown = without_prices(spec);
    const char *exec = shown ? strstr(shown, "exec") : NULL;
    bool hides = exec && (exec == shown || strncmp(shown, "fallback", 8) == 0);
    return shown ? strndup(shown, hides ? (size_t)(exec + 4 - shown) : strlen(shown)) : NULL;
}

char *kf_search_model_name(const char *const *models, size_t index)
{
    kf_autofree char *name = plain_name(models[index]);
    size_t number = 1;
    for (size_t i = 0; i < index && name; i++) {
        kf_autofree char *earlier = plain_name(models[i]);
        number += earlier && strcmp(earlier, name) == 0;
    }
    char *numbered;
    if (!name || number == 1) return kf_steal(&name);
    return asprintf(&numbered, "%s (%zu)", name, number) < 0 ? NULL : numbered;
}

const char *kf_models_shown(const char *name)
{
    static const char prefix[] = "compatible:";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

const char *kf_models_cause(const kf_models *models)
{
    for (size_t i = models->count; i-- > 0;)
        if (models->items[i].cause.text[0]) return models->items[i].cause.text;
    return "";
}

bool kf_models_open(kf_search *s, kf_error *error)
{
    const kf_search_settings *settings = s->settings;
    /* An open question has a reservation. */
    kf_amount reserved = s->models.budget.reserved;
    s->models.budget = kf_models_budget(s);
    s->models.budget.reserved = reserved;
    /* The strategy uses the tuner alone. */
    if (!kf_strategy_calls_models(&s->strategy)) return true;
    for (size_t i = 0; i < settings->model_count; i++) {
        kf_model *model = &s->models.items[s->models.count];
        /* The stored state applies only to the same model. */
        if (!model->spec || strcmp(model->spec, settings->models[i]) != 0) {
            free(model->spec);
            free(model->note);
            free(model->failure);
            free(model->trouble);
            *model = (kf_model){.spec = strdup(settings->models[i])};
        }
        if (!model->spec) return kf_fail_memory(error, "a model");
        model->given = i;
        model->llm = kf_llm_open(model->spec, error);
        if (!model->llm) return false;
        if (kf_llm_is_none(model->llm)) {
            kf_llm_close(kf_steal(&model->llm));
            continue;
        }
        kf_llm_set_budget(model->llm, &s->models.budget);
        if (!hide_secrets(s, model->llm, error)) return false;
        model->name = kf_search_model_name(settings->models, i);
        if (!model->name) return kf_fail_memory(error, "a model");
        s->models.count++;
    }
    /* With another budget or another model, calls may be possible again. */
    const kf_amount *limit = &s->models.budget.limit;
    const int64_t limits[] = {limit->nanodollars, limit->tokens, limit->requests};
    if (s->models.budget_spent && memcmp(limits, s->models.spent_limits, sizeof limits) != 0) {
        for (size_t i = 0; i < s->models.count; i++) s->models.items[i].exhausted = false;
        s->models.budget_spent = false;
    }
    if (kf_ensemble_alive(&s->models)) s->models.gone = false, s->models.why = (kf_error){0};
    if (!s->models.count) return true;
    s->models.system_text = kf_search_system(s, error);
    return s->models.system_text;
}

void kf_models_close(kf_models *models)
{
    for (int i = 0; i < KF_SEARCH_MODELS; i++) {
        kf_llm_close(models->items[i].llm);
        free(models->items[i].spec);
        free(models->items[i].name);
        free(models->items[i].note);
        free(models->items[i].failure);
        free(models->items[i].trouble);
        kf_llm_close(models->probes[i].llm);
        free(models->probes[i].refusal);
    }
    free(models->system_text);
}

/* ---- models that fail ------------------------------------------------------------------------ */

void kf_models_budget_spent(kf_models *models, int index, const kf_error *why)
{
    models->budget_spent = true;
    models->items[index].exhausted = true;
    if (!kf_ensemble_alive(models)) models->why = *why;
}

void kf_models_give_up(kf_search *s, int index, bool quiet, const char *what)
{
    kf_model *model = &s->models.items[index];
    /* Of several calls at a time the first refusal is the reason. */
    if (model->exhausted) return;
    model->exhausted = true;
    kf_fail(&s->models.why, KF_ERROR_MACHINE, "model %s: %s", kf_models_shown(model->name), what);
    if (!kf_ensemble_alive(&s->models)) s->models.gone = true;
    if (quiet) return;
    kf_search_notify(s, KF_SEARCH_NEWS, "%s. It gets no more calls in this session.",
                     s->models.why.text);
}

/* Counts a call without a candidate, and gives the model up at the limit. */
static void count_call(kf_search *s, int index, const char *why)
{
    kf_model *model = &s->models.items[index];
    char text[800];
    if (++model->useless < MODEL_USELESS) return;
    snprintf(text, sizeof text, "%d calls in a row without a candidate; the last: %.500s",
             model->useless, why);
    kf_models_give_up(s, index, false, text);
}

/* True if a word of a message differs between failures of one kind: a number, a time, an id. */
static bool is_varying(const char *word, size_t size)
{
    size_t hex = 0;
    for (size_t i = 0; i < size; i++) {
        if (isdigit((unsigned char)word[i])) return true;
        hex += isxdigit((unsigned char)word[i]) != 0;
    }
    return size >= LONGEST_WORD || (size >= SHORTEST_HEX && hex == size);
}

/* Writes the words of a message without those that vary, apart from a number behind "status". */
static void write_kind(const char *why, char kind[KIND_BYTES])
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t used = 0;
    bool of_status = false;
    for (const char *word = why; *(word += strcspn(word, letters));) {
        size_t size = strspn(word, letters);
        bool kept = of_status || !is_varying(word, size);
        of_status = size == 6 && strncasecmp(word, "status", size) == 0;
        if (kept && used + size + 2 < KIND_BYTES)
            used += (size_t)sprintf(kind + used, "%.*s ", (int)size, word);
        word += size;
    }
    snprintf(kind + used, KIND_BYTES - used, "\n");
}

/* True if the user has not seen a failure of this kind, which is then noted in *seen. Once there
 * are too many kinds, further ones are like those that were seen. */
static bool is_new_kind(char **seen, const char *why)
{
    char kind[KIND_BYTES], *more;
    write_kind(why, kind);
    size_t size = strlen(kind), room = *seen ? strlen(*seen) : 0;
    for (const char *at = *seen; at && *at; at += strcspn(at, "\n") + 1)
        if (strncmp(at, kind, size) == 0) return false;
    if (room > MOST_KINDS || asprintf(&more, "%s%s", *seen ? *seen : "", kind) < 0) return false;
    free(*seen);
    *seen = more;
    return true;
}

void kf_models_count_useless(kf_search *s, int index, const char *why)
{
    kf_model *model = &s->models.items[index];
    free(model->note);
    model->note = NULL;
    if (asprintf(&model->note, "Your last reply could not be used: %s", why) < 0)
        model->note = NULL;
    if (is_new_kind(&model->failure, why))
        kf_search_notify(s, KF_SEARCH_NEWS, "model %s: a reply could not be used: %.500s",
                         kf_models_shown(model->name), why);
    /* In a benchmark each reply is a sample. */
    if (!s->settings->samples) count_call(s, index, why);
}

void kf_models_count_failure(kf_search *s, int index, const kf_error *error, const char *why)
{
    kf_model *model = &s->models.items[index];
    if (model->failures < MODEL_USELESS) model->failures++;
    kf_fail(&model->cause, KF_ERROR_IO, "%.300s", why);
    /* An agent may do better next time. */
    if (error->code == KF_ERROR_INPUT && !model->answered && !kf_is_agent(s, index)) {
        kf_models_give_up(s, index, false, why);
        return;
    }
    if (is_new_kind(&model->failure, why))
        kf_search_notify(s, KF_SEARCH_NEWS, "model %s: a call failed: %.500s",
                         kf_models_shown(model->name), why);
    /* A failed episode of an agent takes no retries, and the next one may do better. A call in
     * flight may still get the first reply. */
    if (!s->progress.replies && model->failures >= MODEL_SILENT && !kf_is_agent(s, index) &&
        !kf_calls_count(&s->calls, index)) {
        char text[800];
        snprintf(text, sizeof text,
                 "%d calls in a row failed, and no reply has come; the last: %.500s; check it with "
                 "kforge doctor --model",
                 model->failures, why);
        kf_models_give_up(s, index, false, text);
        return;
    }
    model->not_before =
        kf_now() + fmin(FIRST_PAUSE * (double)(1 << (model->failures - 1)), LONGEST_PAUSE);
    count_call(s, index, why);
}

void kf_models_note_trouble(kf_search *s, int index)
{
    kf_model *model = &s->models.items[index];
    const char *why = model->answered ? NULL : kf_llm_trouble(model->llm);
    if (!why) return;
    const char *again = strstr(why, "; it is asked again");
    kf_fail(&model->cause, KF_ERROR_IO, "%.*s", again ? (int)(again - why) : 300, why);
    if (is_new_kind(&model->trouble, why))
        kf_search_notify(s, KF_SEARCH_NEWS, "model %s: %.500s", kf_models_shown(model->name), why);
}

/* Counts known candidates in a row. They cost a call without a result, so the next prompt says it.
 * A model that only repeats itself gets no more calls. */
static void count_repeat(kf_search *s, const kf_proposal *p, bool known, kf_status status,
                         double speedup)
{
    int index = p->origin.model;
    kf_model *model = &s->models.items[index];
    char came_of_it[96];
    model->repeats = known ? model->repeats + 1 : 0;
    if (!known) return;
    if (status == KF_CORRECT && speedup > 0)
        snprintf(came_of_it, sizeof came_of_it, "correct, %.2f times as fast as the baseline",
                 speedup);
    else
        snprintf(came_of_it, sizeof came_of_it, "%s", kf_search_failure_word(status));
    free(model->note);
    if (asprintf(&model->note,
                 "Your last candidate is one that was judged before%s: %s. Change something that "
                 "was not tried yet.",
                 p->same_code ? ", in other words: its machine code is the same" : "",
                 came_of_it) < 0)
        model->note = NULL;
    if (model->repeats < MODEL_REPEATS || model->exhausted || s->settings->samples) return;
    /* It is no failure: the model has nothing new, like a recorded model at its end. */
    model->exhausted = true;
    kf_error why = {0};
    kf_fail(&why, KF_ERROR_LIMIT, "model %s: its last %d candidates had been judged before",
            kf_models_shown(model->name), model->repeats);
    if (!kf_ensemble_alive(&s->models)) s->models.why = why;
    kf_search_notify(s, KF_SEARCH_NEWS, "%s. It gets no more calls in this session.", why.text);
}

bool kf_models_judged(kf_search *s, const kf_proposal *p, bool known, kf_status status,
                      kf_blame blame, double speedup, int64_t candidate, kf_error *error)
{
    s->sources.quota = s->strategy.propose.tune;
    if (p->origin.model < (int)s->models.count) count_repeat(s, p, known, status, speedup);
    bool counts = status == KF_CORRECT || blame == KF_BLAME_CANDIDATE;
    if (counts && !kf_choose_summary(s, error)) return false;
    bool repairable = blame == KF_BLAME_CANDIDATE && status != KF_CORRECT &&
                      status != KF_CHEATING && status != KF_IMPOSSIBLE;
    return !repairable || kf_choose_repair(s, p, status, candidate, error);
}
