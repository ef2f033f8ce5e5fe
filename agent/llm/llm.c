/* The provider table and the syntax of specs. */
#include "llm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"
#include "nearest.h"
#include "llm_provider.h"
#include "api_key.h"

static void *none_open(const char *argument, const double *options, kf_error *error)
{
    (void)argument, (void)options, (void)error;
    static char nothing;
    return &nothing;
}

static bool none_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    (void)state, (void)request;
    return kf_fail(error, KF_ERROR_INPUT,
                   "no model is configured; give one with --model, as in --model openai:MODEL or "
                   "--model 'exec:COMMAND'");
}

static int none_in_flight(const void *state)
{
    (void)state;
    return 0;
}

static int none_poll(void *state, double seconds, kf_llm_reply *reply)
{
    (void)state, (void)seconds, (void)reply;
    return 0;
}

static void none_close(void *state)
{
    (void)state;
}

static const kf_llm_provider none = {
    .name = "none",
    .form = "none",
    .open = none_open,
    .submit = none_submit,
    .in_flight = none_in_flight,
    .poll = none_poll,
    .close = none_close,
};

static const kf_llm_provider *const providers[] = {
    &none,          &kf_llm_replay,     &kf_llm_exec,  &kf_llm_openai,     &kf_llm_anthropic,
    &kf_llm_gemini, &kf_llm_openrouter, &kf_llm_azure, &kf_llm_compatible, &kf_llm_fallback,
    &kf_llm_agent};
#define PROVIDER_COUNT (sizeof providers / sizeof *providers)

struct kf_llm {
    const kf_llm_provider *provider;
    void *state;
    /* For a provider that does not reserve and settle by itself. */
    kf_budget *budget;
    kf_llm_traits traits;
};

/* Reserved for each call of a provider that does not reserve by itself. */
static const kf_amount one_request = {.requests = 1};

/* ---- specs ----------------------------------------------------------------------------------- */

static const kf_llm_provider *find_provider(const char *name, size_t length)
{
    for (size_t i = 0; i < PROVIDER_COUNT; i++)
        if (strlen(providers[i]->name) == length && memcmp(providers[i]->name, name, length) == 0)
            return providers[i];
    return NULL;
}

static bool complain_unknown(const char *spec, size_t length, kf_error *error)
{
    kf_autobuffer forms = {0};
    const char *names[PROVIDER_COUNT];
    for (size_t i = 0; i < PROVIDER_COUNT; i++) {
        names[i] = providers[i]->name;
        kf_buffer_format(&forms, "%s%s", i ? ", " : "", providers[i]->form);
    }
    kf_autofree char *word = strndup(spec, length);
    const char *near = word ? kf_nearest(word, names, PROVIDER_COUNT) : NULL;
    return kf_fail(error, KF_ERROR_INPUT, "unknown model \"%.200s\"; %s%s%sknown forms are %s",
                   spec, near ? "did you mean " : "", near ? near : "", near ? "? " : "",
                   forms.data ? forms.data : "");
}

/* Options of every provider, for a caller with several models. */
static const char *const roles[] = {"proposer", "critic", "both", NULL};
enum {
    TRAIT_WEIGHT,
    TRAIT_ROLE,
    TRAIT_TEMPERATURE_FROM,
    TRAIT_TEMPERATURE_TO,
    TRAIT_TEMPERATURE_CALLS,
    TRAIT_COUNT
};
static const kf_llm_option traits[TRAIT_COUNT] = {
    [TRAIT_WEIGHT] = {"weight", 1, 0.001, 1000, NULL},
    [TRAIT_ROLE] = {"role", 0, 0, 0, roles},
    [TRAIT_TEMPERATURE_FROM] = {"temperature_from", NAN, 0, 2, NULL},
    [TRAIT_TEMPERATURE_TO] = {"temperature_to", NAN, 0, 2, NULL},
    [TRAIT_TEMPERATURE_CALLS] = {"temperature_calls", 32, 1, 1e6, NULL},
};

/* The texts of a spec, until the provider is open. */
typedef struct option_texts {
    char *items[KF_LLM_OPTIONS];
} option_texts;

static void option_texts_clear(option_texts *texts)
{
    for (int i = 0; i < KF_LLM_OPTIONS; i++) free(texts->items[i]);
}

/* Reads a number; with `duration` it may end with s, m or h. */
static bool read_number(const char *text, bool duration, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text) return false;
    if (!duration || !*end) return !*end;
    *value *= *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
    return strchr("smh", *end) && !end[1];
}

/* Reads one `NAME=VALUE` of `length` bytes. `values` holds the provider's options, and from
 * KF_LLM_OPTIONS on the traits. */
static bool read_option(const kf_llm_provider *provider, const char *text, size_t length,
                        double *values, option_texts *texts, kf_error *error)
{
    kf_autofree char *word = strndup(text, length);
    if (!word) return kf_fail_memory(error, "a model option");
    const kf_llm_option *rows[KF_LLM_OPTIONS + TRAIT_COUNT];
    const char *known[KF_LLM_OPTIONS + TRAIT_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < KF_LLM_OPTIONS && provider->options[i].name; i++)
        rows[count++] = &provider->options[i];
    const size_t own = count;
    for (size_t i = 0; i < TRAIT_COUNT; i++) rows[count++] = &traits[i];
    for (size_t i = 0; i < count; i++) known[i] = rows[i]->name;
    char *equals = strchr(word, '=');
    if (!equals)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: the option \"%s\" has no value; write NAME=VALUE", provider->name,
                       word);
    *equals = '\0';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i], word) != 0) continue;
        double *value = &values[i < own ? i : KF_LLM_OPTIONS + i - own];
        const char *const *choices = rows[i]->words;
        bool duration = choices == kf_llm_duration;
        if (choices && !duration && choices != kf_llm_text) {
            for (int k = 0; choices[k]; k++)
                if (strcmp(choices[k], equals + 1) == 0) return *value = k, true;
            kf_autobuffer list = {0};
            for (int k = 0; choices[k]; k++)
                kf_buffer_format(&list, "%s%s", k ? ", " : "", choices[k]);
            return kf_fail(error, KF_ERROR_INPUT, "%s: %s=%s is unknown; expected one of %s",
                           provider->name, word, equals + 1, list.data ? list.data : "");
        }
        if (choices == kf_llm_text) {
            free(texts->items[i]);
            texts->items[i] = strdup(equals + 1);
            return texts->items[i] || kf_fail_memory(error, "a model option");
        }
        double given, low = rows[i]->low, high = rows[i]->high;
        if (!read_number(equals + 1, duration, &given) || !(given >= low && given <= high))
            return kf_fail(error, KF_ERROR_INPUT, "%s: %s=%s is not a number from %g to %g",
                           provider->name, word, equals + 1, low, high);
        *value = given;
        return true;
    }
    const char *near = kf_nearest(word, known, count);
    return kf_fail(error, KF_ERROR_INPUT, "%s: unknown option \"%s\"%s%s", provider->name, word,
                   near ? "; did you mean " : "", near ? near : "");
}

const char *kf_llm_address(const char *argument, size_t *model)
{
    const char *at = strstr(argument, "@http");
    *model = at ? (size_t)(at - argument) : strlen(argument);
    return at ? at + 1 : NULL;
}

/* True for "MODEL@http://…". The model may hold colons. */
static bool is_address(const char *spec)
{
    size_t model;
    const char *address = kf_llm_address(spec, &model);
    return address && model > 0 &&
           (strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0);
}

bool kf_llm_is_spec(const char *word)
{
    size_t length = strcspn(word, ",:");
    return (word[length] && find_provider(word, length)) || is_address(word);
}

kf_llm *kf_llm_open(const char *spec, kf_error *error)
{
    size_t length = strcspn(spec, ",:");
    const kf_llm_provider *provider = find_provider(spec, length);
    bool bare = !provider && is_address(spec);
    if (bare) provider = &kf_llm_compatible;
    if (!provider) {
        complain_unknown(spec, length, error);
        return NULL;
    }
    __attribute__((cleanup(option_texts_clear))) option_texts texts = {{0}};
    double values[KF_LLM_OPTIONS + TRAIT_COUNT] = {0}, *traits_given = values + KF_LLM_OPTIONS;
    for (int i = 0; i < TRAIT_COUNT; i++) traits_given[i] = traits[i].initial;
    for (int i = 0; i < KF_LLM_OPTIONS && provider->options[i].name; i++)
        values[i] = provider->options[i].initial;
    const char *at = spec + length;
    while (!bare && *at == ',') {
        size_t option = strcspn(++at, ",:");
        if (!read_option(provider, at, option, values, &texts, error)) return NULL;
        at += option;
    }
    const char *argument = bare ? spec : *at == ':' ? at + 1 : "";
    if (isnan(traits_given[TRAIT_TEMPERATURE_FROM]) != isnan(traits_given[TRAIT_TEMPERATURE_TO])) {
        kf_fail(error, KF_ERROR_INPUT, "%s: give both temperature_from and temperature_to",
                provider->name);
        return NULL;
    }
    if (provider->takes_argument != (*argument != '\0')) {
        kf_fail(error, KF_ERROR_INPUT,
                provider->takes_argument ? "\"%.200s\" has nothing behind the colon; the form is %s"
                                         : "\"%.200s\": the form is %s",
                spec, provider->form);
        return NULL;
    }
    kf_auto(kf_llm) llm = calloc(1, sizeof *llm);
    if (!llm) {
        kf_fail_memory(error, "a model");
        return NULL;
    }
    llm->state = provider->open(argument, values, error);
    if (!llm->state) return NULL;
    llm->provider = provider;
    for (int i = 0; i < KF_LLM_OPTIONS; i++)
        if (texts.items[i] && !provider->set_text(llm->state, i, texts.items[i], error))
            return NULL;
    llm->traits =
        (kf_llm_traits){.weight = traits_given[TRAIT_WEIGHT],
                        .role = (kf_llm_role)(traits_given[TRAIT_ROLE] + 1),
                        .temperature_from = traits_given[TRAIT_TEMPERATURE_FROM],
                        .temperature_to = traits_given[TRAIT_TEMPERATURE_TO],
                        .temperature_calls = (int64_t)traits_given[TRAIT_TEMPERATURE_CALLS]};
    return kf_steal(&llm);
}

/* ---- the object ------------------------------------------------------------------------------ */

void kf_llm_close(kf_llm *llm)
{
    if (!llm) return;
    if (llm->provider) llm->provider->close(llm->state);
    free(llm);
}

bool kf_llm_is_none(const kf_llm *llm)
{
    return llm->provider == &none;
}

bool kf_llm_is_remote(const kf_llm *llm)
{
    return llm->provider->is_remote && llm->provider->is_remote(llm->state);
}

const kf_llm_traits *kf_llm_traits_of(const kf_llm *llm)
{
    return &llm->traits;
}

double kf_llm_temperature(const kf_llm_traits *t, int64_t calls)
{
    if (isnan(t->temperature_from)) return -1;
    double part =
        t->temperature_calls > 1 ? fmin(1, (double)calls / (double)(t->temperature_calls - 1)) : 1;
    return t->temperature_from + part * (t->temperature_to - t->temperature_from);
}

bool kf_llm_submit(kf_llm *llm, const kf_llm_request *request, kf_error *error)
{
    if (!llm->budget) return llm->provider->submit(llm->state, request, error);
    switch (kf_budget_reserve(llm->budget, &one_request, error)) {
    case KF_BUDGET_GRANTED: break;
    case KF_BUDGET_WAIT:
        return kf_fail(error, KF_ERROR_BUSY,
                       "the rest of the budget is reserved for requests in flight");
    case KF_BUDGET_SPENT: return false;
    }
    if (llm->provider->submit(llm->state, request, error)) return true;
    kf_budget_settle(llm->budget, &one_request, &(kf_amount){0});
    return false;
}

int kf_llm_in_flight(const kf_llm *llm)
{
    return llm->provider->in_flight(llm->state);
}

static void settle(kf_llm *llm, const kf_llm_reply *reply)
{
    kf_amount used = {kf_nanodollars(reply->cost_usd), 0, reply->outcome != KF_LLM_EXHAUSTED};
    if (reply->prompt_tokens > 0) used.tokens += reply->prompt_tokens;
    if (reply->completion_tokens > 0) used.tokens += reply->completion_tokens;
    kf_budget_settle(llm->budget, &one_request, &used);
}

int kf_llm_poll(kf_llm *llm, double seconds, kf_llm_reply *reply)
{
    int got = llm->provider->poll(llm->state, seconds, reply);
    if (got != 1) return got;
    if (llm->budget) settle(llm, reply);
    /* The text is shown, stored and sent to other models, so redact it before any use. */
    if (reply->text) reply->size = kf_api_keys_redact_bytes(reply->text, reply->size);
    if (reply->model) kf_api_keys_redact(reply->model);
    kf_api_keys_redact(reply->error.text);
    return got;
}

size_t kf_llm_watch(const kf_llm *llm, struct pollfd *fds, size_t most, double *wake)
{
    return llm->provider->watch ? llm->provider->watch(llm->state, fds, most, wake) : 0;
}

const char *kf_llm_trouble(kf_llm *llm)
{
    return llm->provider->trouble ? llm->provider->trouble(llm->state) : NULL;
}

void kf_llm_cancel(kf_llm *llm)
{
    if (llm->provider->cancel) llm->provider->cancel(llm->state);
}

void kf_llm_progress(kf_llm *llm, int64_t done)
{
    if (llm->provider->progress) llm->provider->progress(llm->state, done);
}

bool kf_llm_is_recorded(const kf_llm *llm)
{
    return llm->provider->pass;
}

void kf_llm_pass(kf_llm *llm, const char *prompt)
{
    if (llm->provider->pass) llm->provider->pass(llm->state, prompt);
}

kf_llm_readiness kf_llm_ready(const kf_llm *llm)
{
    return llm->provider->ready ? llm->provider->ready(llm->state) : KF_LLM_LIVE;
}

bool kf_llm_resting(const kf_llm *llm, uint64_t *models)
{
    return llm->provider->resting && llm->provider->resting(llm->state, models);
}

int kf_llm_episodes(const kf_llm *llm)
{
    return llm->provider->episodes ? llm->provider->episodes(llm->state) : 0;
}

bool kf_llm_hide(kf_llm *llm, const char *path, kf_error *error)
{
    return !llm->provider->hide || llm->provider->hide(llm->state, path, error);
}

bool kf_llm_next_question(kf_llm *llm, kf_llm_question *question)
{
    return llm->provider->next_question && llm->provider->next_question(llm->state, question);
}

void kf_llm_answer(kf_llm *llm, int64_t tag, int64_t id, const char *json, double device_seconds,
                   double judging_seconds, const char *reason)
{
    if (llm->provider->answer)
        llm->provider->answer(llm->state, tag, id, json, device_seconds, judging_seconds, reason);
}

void kf_llm_set_budget(kf_llm *llm, kf_budget *budget)
{
    if (llm->provider->set_budget)
        llm->provider->set_budget(llm->state, budget);
    else
        llm->budget = budget;
}

bool kf_llm_check_budget(const kf_llm *llm, const kf_budget *budget, kf_error *error)
{
    return !llm->provider->check_budget || llm->provider->check_budget(llm->state, budget, error);
}

char *kf_llm_freeze(const char *spec, kf_error *error)
{
    kf_auto(kf_llm) llm = kf_llm_open(spec, error);
    if (!llm || !kf_api_keys_check_command("model", spec, error)) return NULL;
    kf_autobuffer options = {0}, text = {0};
    bool frozen =
        llm->provider->freeze && llm->provider->freeze(llm->state, &options) && options.size;
    if (!frozen) {
        kf_buffer_string(&text, spec);
    } else if (llm->provider == &kf_llm_fallback) {
        /* The members' specs are written anew, behind the text before the colon. */
        kf_buffer_format(&text, "%.*s%s", (int)strcspn(spec, ":"), spec, strchr(options.data, ':'));
    } else {
        bool bare = !find_provider(spec, strcspn(spec, ",:"));
        size_t head = bare ? 0 : strcspn(spec, ":");
        kf_buffer_format(&text, "%.*s%s%s%s", (int)head, spec, bare ? "compatible" : "",
                         options.data, bare ? ":" : "");
        kf_buffer_string(&text, spec + head);
    }
    char *result = options.failed ? NULL : kf_buffer_take(&text);
    if (!result) kf_fail_memory(error, "a model spec");
    return result;
}
