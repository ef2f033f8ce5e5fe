/* The provider table, and the spec syntax in front of it. */
#include "kforge/llm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/json.h"
#include "llm_provider.h"

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
                   "no model is configured; give one with --llm, as in --llm 'exec:COMMAND' or --llm replay:FILE");
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

static const kf_llm_provider *const providers[] = {&none, &kf_llm_replay, &kf_llm_exec};
#define PROVIDER_COUNT (sizeof providers / sizeof *providers)

struct kf_llm {
    const kf_llm_provider *provider;
    void *state;
};

/* ---- specs ----------------------------------------------------------------------------------------------------------------------- */

static const kf_llm_provider *find_provider(const char *name, size_t length)
{
    for (size_t i = 0; i < PROVIDER_COUNT; i++)
        if (strlen(providers[i]->name) == length && memcmp(providers[i]->name, name, length) == 0) return providers[i];
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
    return kf_fail(error, KF_ERROR_INPUT, "unknown model \"%.200s\"; %s%s%sknown forms are %s", spec, near ? "did you mean " : "",
                   near ? near : "", near ? "? " : "", forms.data ? forms.data : "");
}

/* One `NAME=NUMBER` of `length` bytes. */
static bool read_option(const kf_llm_provider *provider, const char *text, size_t length, double *values, kf_error *error)
{
    kf_autofree char *word = strndup(text, length);
    if (!word) return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    const char *known[KF_LLM_OPTIONS];
    size_t count = 0;
    while (count < KF_LLM_OPTIONS && provider->options[count].name) known[count] = provider->options[count].name, count++;
    char *equals = strchr(word, '=');
    if (!equals)
        return kf_fail(error, KF_ERROR_INPUT, "%s: the option \"%s\" has no value; write NAME=NUMBER", provider->name, word);
    *equals = '\0';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(known[i], word) != 0) continue;
        char *end;
        double value = strtod(equals + 1, &end), low = provider->options[i].low, high = provider->options[i].high;
        if (end == equals + 1 || *end || !(value >= low && value <= high))
            return kf_fail(error, KF_ERROR_INPUT, "%s: %s=%s is not a number from %g to %g", provider->name, word, equals + 1, low,
                           high);
        values[i] = value;
        return true;
    }
    const char *near = kf_nearest(word, known, count);
    return kf_fail(error, KF_ERROR_INPUT, "%s: unknown option \"%s\"%s%s", provider->name, word, near ? "; did you mean " : "",
                   near ? near : "");
}

kf_llm *kf_llm_open(const char *spec, kf_error *error)
{
    size_t length = strcspn(spec, ",:");
    const kf_llm_provider *provider = find_provider(spec, length);
    if (!provider) {
        complain_unknown(spec, length, error);
        return NULL;
    }
    double values[KF_LLM_OPTIONS] = {0};
    for (int i = 0; i < KF_LLM_OPTIONS && provider->options[i].name; i++) values[i] = provider->options[i].initial;
    const char *at = spec + length;
    while (*at == ',') {
        size_t option = strcspn(++at, ",:");
        if (!read_option(provider, at, option, values, error)) return NULL;
        at += option;
    }
    const char *argument = *at == ':' ? at + 1 : "";
    if (provider->takes_argument != (*argument != '\0')) {
        kf_fail(error, KF_ERROR_INPUT,
                provider->takes_argument ? "\"%.200s\" names nothing behind the colon; the form is %s"
                                         : "\"%.200s\": the form is %s",
                spec, provider->form);
        return NULL;
    }
    kf_auto(kf_llm) llm = calloc(1, sizeof *llm);
    if (!llm) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    llm->state = provider->open(argument, values, error);
    if (!llm->state) return NULL;
    llm->provider = provider;
    return kf_steal(&llm);
}

/* ---- the object ------------------------------------------------------------------------------------------------------------------ */

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

bool kf_llm_submit(kf_llm *llm, const kf_llm_request *request, kf_error *error)
{
    return llm->provider->submit(llm->state, request, error);
}

int kf_llm_in_flight(const kf_llm *llm)
{
    return llm->provider->in_flight(llm->state);
}

int kf_llm_poll(kf_llm *llm, double seconds, kf_llm_reply *reply)
{
    return llm->provider->poll(llm->state, seconds, reply);
}

/* ---- replies --------------------------------------------------------------------------------------------------------------------- */

static const char *const outcome_names[] = {
    [KF_LLM_OK] = "ok",       [KF_LLM_TRUNCATED] = "truncated", [KF_LLM_REFUSED] = "refused",
    [KF_LLM_EMPTY] = "empty", [KF_LLM_FAILED] = "failed",       [KF_LLM_EXHAUSTED] = "exhausted",
};
#define OUTCOME_COUNT (sizeof outcome_names / sizeof *outcome_names)

const char *kf_llm_outcome_name(kf_llm_outcome outcome)
{
    return (size_t)outcome < OUTCOME_COUNT ? outcome_names[outcome] : "unknown";
}

bool kf_llm_outcome_parse(const char *name, kf_llm_outcome *outcome)
{
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (strcmp(outcome_names[i], name) != 0) continue;
        *outcome = (kf_llm_outcome)i;
        return true;
    }
    return false;
}

kf_llm_reply kf_llm_reply_empty(int64_t tag)
{
    return (kf_llm_reply){.tag = tag, .outcome = KF_LLM_FAILED, .prompt_tokens = -1, .completion_tokens = -1, .cost_usd = NAN};
}

void kf_llm_reply_set_text(kf_llm_reply *reply, char *text, size_t size)
{
    free(reply->text);
    reply->text = text;
    reply->size = size;
    reply->outcome = strspn(text, " \t\r\n") == size ? KF_LLM_EMPTY : KF_LLM_OK;
}

void kf_llm_reply_free(kf_llm_reply *reply)
{
    free(reply->text);
    free(reply->model);
    *reply = (kf_llm_reply){0};
}
