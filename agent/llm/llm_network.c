/* All providers over the network, as one implementation. Each service has a row: address, format
 * and key. Before a request leaves, these have to allow it: its own back-off, a wait that the
 * server asked for, the rates a minute, the circuit breaker and the budget. All providers of a
 * thread share one event loop, so polling one serves all. */
#include "llm_network.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/file.h"
#include "prompt.h"
#include "api_key.h"

#define MAX_PARALLEL 1024
/* Silence of a server that never answered, after which the user hears of it. Half the time that its
 * first byte may take, if that is shorter. */
#define SILENT_SECONDS 60
#define DEFAULT_MAX_TOKENS 16384
/* With room for fewer tokens, the budget counts as spent. */
#define MIN_MAX_TOKENS 1024

/* ---- services -------------------------------------------------------------------------------- */

typedef struct service {
    const char *name;
    const kf_dialect *dialect;
    /* NULL: the spec has to give it. */
    const char *base;
    /* The environment variable that replaces it. May be NULL. */
    const char *base_variable;
    /* Appended to the variable's value. */
    const char *base_end;
    /* NULL: derived from the host's name. */
    const char *key_name;
    /* NULL: the dialect's. */
    const char *key_form;
    bool wants_cost;
} service;

static const service services[] = {
    {"openai", &kf_dialect_chat, "https://api.openai.com/v1", "OPENAI_BASE_URL", "",
     "OPENAI_API_KEY", NULL, false},
    {"anthropic", &kf_dialect_anthropic, "https://api.anthropic.com/v1", "ANTHROPIC_BASE_URL",
     "/v1", "ANTHROPIC_API_KEY", NULL, false},
    {"gemini", &kf_dialect_gemini, "https://generativelanguage.googleapis.com/v1beta", NULL, "",
     "GEMINI_API_KEY", NULL, false},
    {"openrouter", &kf_dialect_chat, "https://openrouter.ai/api/v1", NULL, "", "OPENROUTER_API_KEY",
     NULL, true},
    {"azure", &kf_dialect_chat, NULL, "AZURE_OPENAI_ENDPOINT", "/openai/v1", "AZURE_OPENAI_API_KEY",
     "api-key: %s", false},
    {"compatible", &kf_dialect_chat, NULL, NULL, "", NULL, NULL, false},
};
enum { OPENAI, ANTHROPIC, GEMINI, OPENROUTER, AZURE, COMPATIBLE };

enum {
    OPTION_EFFORT,
    OPTION_THINKING,
    OPTION_MAX_TOKENS,
    OPTION_TEMPERATURE,
    OPTION_API,
    OPTION_PARALLEL,
    OPTION_RETRIES,
    OPTION_BACKOFF,
    OPTION_RPM,
    OPTION_TPM,
    OPTION_CONNECT,
    OPTION_FIRST_BYTE,
    OPTION_STALL,
    OPTION_TIMEOUT,
    OPTION_PRICE_IN,
    OPTION_PRICE_OUT,
    OPTION_PRICE_CACHED,
    OPTION_PRICE_CACHE_WRITE,
    OPTION_CONTINUE,
};

static const char *const apis[] = {"chat", "responses", NULL};

/* ---- the event loop -------------------------------------------------------------------------- */

static __thread struct {
    kf_http *http;
    int users;
} shared;

static kf_http *acquire_http(kf_error *error)
{
    if (!shared.users && !(shared.http = kf_http_new(error))) return NULL;
    shared.users++;
    return shared.http;
}

static void release_http(void)
{
    if (--shared.users) return;
    kf_http_free(shared.http);
    shared.http = NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns the variable of a compatible server's key. It is MISTRAL_API_KEY for
 * https://api.mistral.ai, so that no key goes to the host of another provider. For numeric
 * addresses and this machine it is KFORGE_API_KEY. */
static char *key_name_of(const char *base)
{
    const char *host = strstr(base, "://");
    char name[128] = "";
    host = host ? host + 3 : base;
    size_t length = strcspn(host, ":/?#"), dots = 0;
    bool number = *host == '[' || strspn(host, "0123456789.") >= length;
    for (size_t i = 0; i < length; i++) dots += host[i] == '.';
    if (!number && dots > 0) {
        size_t end = length, start;
        while (end && host[end - 1] != '.') end--;
        /* Without the last label. */
        end -= end > 0;
        start = end;
        while (start && host[start - 1] != '.') start--;
        snprintf(name, sizeof name, "%.*s_API_KEY", (int)(end - start), host + start);
        for (char *c = name; *c; c++)
            *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    }
    return strdup(*name ? name : "KFORGE_API_KEY");
}

static bool find_base(kf_network *n, const service *row, const char *argument, kf_error *error)
{
    size_t model;
    const char *given = kf_llm_address(argument, &model);
    const char *variable = row->base_variable ? getenv(row->base_variable) : NULL;
    const char *base = given ? given : variable && *variable ? variable : row->base;
    if (!base && row->base_variable)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: set %s to your resource's address, or write MODEL@https://…", row->name,
                       row->base_variable);
    if (!base)
        return kf_fail(error, KF_ERROR_INPUT, "%s: write MODEL@http://HOST:PORT/v1", row->name);
    if (model == 0)
        return kf_fail(error, KF_ERROR_INPUT, "%s: the model's name is missing before @",
                       row->name);
    size_t length = strlen(base);
    while (length && base[length - 1] == '/') length--;
    const char *end = !given && variable && *variable ? row->base_end : "";
    size_t tail = strlen(end);
    if (tail && length >= tail && memcmp(base + length - tail, end, tail) == 0) end = "";
    if (asprintf(&n->base, "%.*s%s", (int)length, base, end) < 0) n->base = NULL;
    n->model = strndup(argument, model);
    /* A user writes MODEL@ADDRESS for a compatible server. */
    bool named = row != &services[COMPATIBLE];
    if (!n->base || !n->model ||
        asprintf(&n->label, "%s%s%s", named ? row->name : "", named ? ":" : "", n->model) < 0)
        return kf_fail_memory(error, "a model");
    const char *allowed = getenv("KFORGE_PLAIN_HTTP");
    return kf_http_check_url(n->base, allowed && strcmp(allowed, "1") == 0, error) ||
           kf_fail_prefix(error, "%s", row->name);
}

static bool find_key(kf_network *n, const service *row, kf_error *error)
{
    kf_error why = {0};
    n->key.name = row->key_name ? strdup(row->key_name) : key_name_of(n->base);
    n->key.form = row->key_form;
    if (!n->key.name) return kf_fail_memory(error, "a model");
    n->key.value = kf_api_key(n->key.name, &why);
    if (!n->key.value && !why.code && strcmp(n->key.name, "GEMINI_API_KEY") == 0)
        n->key.value = kf_api_key("GOOGLE_API_KEY", &why);
    if (why.code) return kf_fail_copy(error, &why);
    if (n->key.value && strpbrk(n->key.value, "\r\n"))
        return kf_fail(error, KF_ERROR_INPUT, "the key in %s holds a line feed", n->key.name);
    bool own = n->settings.official;
    if (!n->key.value && own)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: no key: set %s in the environment, in .env, or in a key file of mode "
                       "600 (docs/guide/models.md)",
                       row->name, n->key.name);
    return true;
}

static bool find_price(kf_network *n, const service *row, const double *options, kf_error *error)
{
    double in = options[OPTION_PRICE_IN], out = options[OPTION_PRICE_OUT];
    if ((in >= 0) != (out >= 0))
        return kf_fail(error, KF_ERROR_INPUT, "%s: give both price_in and price_out", row->name);
    if (in < 0) return kf_price_find(row->name, n->model, &n->price, error);
    double cached = options[OPTION_PRICE_CACHED], written = options[OPTION_PRICE_CACHE_WRITE];
    n->price = (kf_price){.input = in,
                          .output = out,
                          .cached = cached >= 0 ? cached : in,
                          .cache_write = written >= 0 ? written : in,
                          .known = true};
    n->price_given = true;
    return true;
}

static void network_close(void *state)
{
    kf_network *n = state;
    for (kf_request *request; (request = n->requests);)
        n->requests = request->next, kf_request_free(request);
    if (n->http) release_http();
    free(n->label);
    free(n->model);
    free(n->base);
    free(n->key.name);
    free(n);
}

static bool set_up(kf_network *n, const service *row, const char *argument, const double *options,
                   kf_error *error)
{
    n->provider = row->name;
    n->dialect = options[OPTION_API] > 0 && row->dialect == &kf_dialect_chat ? &kf_dialect_responses
                                                                             : row->dialect;
    n->wants_cost = row->wants_cost;
    size_t length;
    bool other_server = kf_llm_address(argument, &length);
    n->settings = (kf_call_settings){.effort = (kf_effort)options[OPTION_EFFORT],
                                     .thinking = (int64_t)options[OPTION_THINKING],
                                     .max_tokens = (int64_t)options[OPTION_MAX_TOKENS],
                                     .temperature = options[OPTION_TEMPERATURE],
                                     .official = row->base && !other_server};
    n->parallel = (int)options[OPTION_PARALLEL];
    n->retries = (int)options[OPTION_RETRIES];
    n->continuations = (int)options[OPTION_CONTINUE];
    n->backoff = options[OPTION_BACKOFF];
    n->timeouts.connect = options[OPTION_CONNECT];
    n->timeouts.first_byte = options[OPTION_FIRST_BYTE];
    n->timeouts.stall = options[OPTION_STALL];
    n->timeouts.total = options[OPTION_TIMEOUT];
    double now = kf_now();
    n->pace.requests = kf_bucket_new(options[OPTION_RPM], now);
    n->pace.tokens = kf_bucket_new(options[OPTION_TPM], now);
    if (!kf_random(&n->random, sizeof n->random)) n->random = (uint64_t)(now * 1e9);
    n->random |= 1;
    if (!find_base(n, row, argument, error) || !find_key(n, row, error) ||
        !find_price(n, row, options, error))
        return false;
    n->settings.model = n->model;
    n->http = acquire_http(error);
    return n->http;
}

static void *open_service(int index, const char *argument, const double *options, kf_error *error)
{
    kf_network *n = calloc(1, sizeof *n);
    if (!n) {
        kf_fail_memory(error, "a model");
        return NULL;
    }
    if (set_up(n, &services[index], argument, options, error)) return n;
    network_close(n);
    return NULL;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static bool network_submit(void *state, const kf_llm_request *given, kf_error *error)
{
    kf_network *n = state;
    double wait = kf_breaker_wait(&n->pace.breaker, kf_now());
    if (wait > 0)
        return kf_fail(error, KF_ERROR_BUSY,
                       "%s: %d requests in a row failed; the next one is sent in %.0f s", n->label,
                       n->pace.breaker.failures, wait);
    if (n->request_count >= n->parallel)
        return kf_fail(error, KF_ERROR_BUSY,
                       "%s: %d requests are in flight, as many as `parallel` allows", n->label,
                       n->request_count);
    kf_request *request = calloc(1, sizeof *request), **end = &n->requests;
    if (request) {
        *request = (kf_request){
            .network = n,
            .system = given->system && *given->system ? strdup(given->system) : NULL,
            .prompt = strdup(given->prompt),
            .temperature = given->temperature,
            .max_tokens = given->max_tokens > 0 ? given->max_tokens : n->settings.max_tokens,
            .trial = given->trial,
            .listing = given->listing,
            .submitted = kf_now(),
            .usage = {.counted = true},
            .reply = kf_llm_reply_empty(given->tag)};
    }
    if (!request || !request->prompt || (given->system && *given->system && !request->system)) {
        kf_request_free(request);
        return kf_fail_memory(error, "a request");
    }
    while (*end) end = &(*end)->next;
    *end = request;
    n->request_count++;
    kf_breaker_begin(&n->pace.breaker);
    return true;
}

/* Reserves the attempt. May lower its token limit to the rest of the budget. */
static kf_budget_answer reserve(kf_request *request, int64_t *max_tokens, kf_error *error)
{
    kf_network *n = request->network;
    kf_budget_answer answer = KF_BUDGET_GRANTED;
    request->attempt.reserved = (kf_amount){0};
    for (*max_tokens = request->max_tokens; n->budget; *max_tokens /= 2) {
        kf_amount most = kf_request_most(request, *max_tokens);
        answer = kf_budget_reserve(n->budget, &most, error);
        if (answer == KF_BUDGET_GRANTED) request->attempt.reserved = most;
        if (answer != KF_BUDGET_SPENT || *max_tokens / 2 < MIN_MAX_TOKENS) break;
    }
    return answer;
}

/* Sends the request if all limits allow it. Otherwise lowers *wake to the time to try again. */
static void try_to_send(kf_request *request, double now, double *wake)
{
    kf_network *n = request->network;
    kf_error error = {0};
    int64_t max_tokens;
    double due = fmax(request->due, n->pace.hold_until);
    double wait =
        fmax(kf_bucket_wait(&n->pace.requests, now), kf_bucket_wait(&n->pace.tokens, now));
    due = fmax(due, now + wait);
    if (due > now) {
        *wake = fmin(*wake, due);
        return;
    }
    switch (reserve(request, &max_tokens, &error)) {
    /* Until another request settles. */
    case KF_BUDGET_WAIT: return;
    case KF_BUDGET_SPENT:
        kf_breaker_end(&n->pace.breaker, false, now);
        /* With an earlier charge it is a failed call. Without one, no call was made. */
        kf_request_fail(request, request->usage.used.requests ? KF_LLM_FAILED : KF_LLM_EXHAUSTED,
                        KF_ERROR_LIMIT, "%s", error.text);
        return;
    case KF_BUDGET_GRANTED: break;
    }
    kf_bucket_take(&n->pace.requests, 1, now);
    kf_bucket_take(&n->pace.tokens,
                   (double)kf_prompt_tokens(strlen(request->prompt) +
                                            (request->system ? strlen(request->system) : 0)),
                   now);
    if (kf_request_begin(request, max_tokens, &error)) return;
    if (n->budget) kf_budget_settle(n->budget, &request->attempt.reserved, &(kf_amount){0});
    kf_breaker_end(&n->pace.breaker, true, now);
    kf_request_fail(request, KF_LLM_FAILED, error.code, "%s: %s", n->label, error.text);
}

static void send_due(kf_network *n, double *wake)
{
    double now = kf_now();
    for (kf_request *request = n->requests; request; request = request->next)
        if (request->state == KF_REQUEST_WAITING) try_to_send(request, now, wake);
}

static bool take_done(kf_network *n, kf_llm_reply *reply)
{
    for (kf_request **at = &n->requests; *at; at = &(*at)->next) {
        kf_request *request = *at;
        if (request->state != KF_REQUEST_DONE) continue;
        *at = request->next;
        n->request_count--;
        *reply = request->reply;
        request->reply = (kf_llm_reply){0};
        kf_request_free(request);
        return true;
    }
    return false;
}

static int network_poll(void *state, double seconds, kf_llm_reply *reply)
{
    kf_network *n = state;
    double until = kf_now() + (seconds > 0 ? seconds : 0);
    for (bool last = false;;) {
        double wake = until;
        send_due(n, &wake);
        if (take_done(n, reply)) return 1;
        if (last || !n->request_count) return 0;
        double now = kf_now();
        /* Look once at what has arrived, even if there is no time to wait. */
        last = now >= until;
        if (!kf_http_step(n->http, wake - now)) last = true;
    }
}

static int network_in_flight(const void *state)
{
    return ((const kf_network *)state)->request_count;
}

static bool network_is_remote(const void *state)
{
    (void)state;
    return true;
}

static const char *network_trouble(void *state)
{
    kf_network *n = state;
    double silent = fmin(SILENT_SECONDS, n->timeouts.first_byte / 2);
    for (const kf_request *r = n->requests; r && !n->reached && !*n->trouble.text; r = r->next)
        if (r->state == KF_REQUEST_IN_FLIGHT && kf_now() - r->submitted > silent)
            kf_fail(&n->trouble, KF_ERROR_LIMIT, "%s: no reply yet from %s after %.2g s", n->label,
                    n->base, silent);
    return *n->trouble.text ? n->trouble.text : NULL;
}

static size_t network_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    const kf_network *n = state;
    if (!n->request_count || !most) return 0;
    for (const kf_request *request = n->requests; request; request = request->next) {
        if (request->state == KF_REQUEST_DONE) *wake = fmin(*wake, kf_now());
        if (request->state == KF_REQUEST_WAITING)
            *wake = fmin(*wake, fmax(request->due, n->pace.hold_until));
    }
    fds[0] = (struct pollfd){.fd = kf_http_watch(n->http, wake), .events = POLLIN};
    return 1;
}

static void network_cancel(void *state)
{
    kf_network *n = state;
    for (kf_request *request = n->requests; request; request = request->next) {
        if (request->state == KF_REQUEST_DONE) continue;
        kf_request_abort(request);
        kf_request_fail(request, KF_LLM_FAILED, KF_ERROR_BUSY,
                        "%s: the run ended before the reply came", n->label);
    }
}

/* ---- budgets and prices ---------------------------------------------------------------------- */

static void network_set_budget(void *state, kf_budget *budget)
{
    ((kf_network *)state)->budget = budget;
}

static bool network_check_budget(const void *state, const kf_budget *budget, kf_error *error)
{
    const kf_network *n = state;
    if (budget->limit.nanodollars <= 0 || n->price.known) return true;
    return kf_fail(error, KF_ERROR_INPUT,
                   "the price of %s is unknown, but a budget in USD needs it; give the price of a "
                   "million tokens: %s,price_in=USD,price_out=USD:MODEL "
                   "(0 for your own server), or a price file in KFORGE_PRICES",
                   n->label, n->provider);
}

static bool network_freeze(const void *state, kf_buffer *options)
{
    const kf_network *n = state;
    if (!n->price.known || n->price_given) return false;
    kf_buffer_format(options,
                     ",price_in=%.9g,price_out=%.9g,price_cached=%.9g,price_cache_write=%.9g",
                     n->price.input, n->price.output, n->price.cached, n->price.cache_write);
    return !options->failed;
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROW(NAME, INDEX, FORM)                                                              \
    static void *open_##NAME(const char *argument, const double *options, kf_error *error)  \
    {                                                                                       \
        return open_service(INDEX, argument, options, error);                               \
    }                                                                                       \
    const kf_llm_provider kf_llm_##NAME = {                                                 \
        .name = #NAME,                                                                      \
        .form = FORM,                                                                       \
        .takes_argument = true,                                                             \
        .options = {[OPTION_EFFORT] = {"effort", 0, 0, 0, kf_effort_names},                 \
                    [OPTION_THINKING] = {"thinking", 0, 0, 1e6, NULL},                      \
                    [OPTION_MAX_TOKENS] = {"max_tokens", DEFAULT_MAX_TOKENS, 1, 1e6, NULL}, \
                    [OPTION_TEMPERATURE] = {"temperature", -1, 0, 2, NULL},                 \
                    [OPTION_API] = {"api", 0, 0, 0, apis},                                  \
                    [OPTION_PARALLEL] = {"parallel", 64, 1, MAX_PARALLEL, NULL},            \
                    [OPTION_RETRIES] = {"retries", 6, 0, 100, NULL},                        \
                    [OPTION_BACKOFF] = {"backoff", 1, 0.001, 60, NULL},                     \
                    [OPTION_RPM] = {"rpm", 0, 0, 1e9, NULL},                                \
                    [OPTION_TPM] = {"tpm", 0, 0, 1e12, NULL},                               \
                    [OPTION_CONNECT] = {"connect", 15, 0.01, 86400, NULL},                  \
                    [OPTION_FIRST_BYTE] = {"first_byte", 600, 0.01, 86400, NULL},           \
                    [OPTION_STALL] = {"stall", 120, 0.01, 86400, NULL},                     \
                    [OPTION_TIMEOUT] = {"timeout", 1800, 0.01, 86400, NULL},                \
                    [OPTION_PRICE_IN] = {"price_in", -1, 0, 1e6, NULL},                     \
                    [OPTION_PRICE_OUT] = {"price_out", -1, 0, 1e6, NULL},                   \
                    [OPTION_PRICE_CACHED] = {"price_cached", -1, 0, 1e6, NULL},             \
                    [OPTION_PRICE_CACHE_WRITE] = {"price_cache_write", -1, 0, 1e6, NULL},   \
                    [OPTION_CONTINUE] = {"continue", 2, 0, 16, NULL}},                      \
        .open = open_##NAME,                                                                \
        .submit = network_submit,                                                           \
        .in_flight = network_in_flight,                                                     \
        .poll = network_poll,                                                               \
        .close = network_close,                                                             \
        .is_remote = network_is_remote,                                                     \
        .trouble = network_trouble,                                                         \
        .watch = network_watch,                                                             \
        .cancel = network_cancel,                                                           \
        .set_budget = network_set_budget,                                                   \
        .check_budget = network_check_budget,                                               \
        .freeze = network_freeze,                                                           \
    };

ROW(openai, OPENAI, "openai:MODEL")
ROW(anthropic, ANTHROPIC, "anthropic:MODEL")
ROW(gemini, GEMINI, "gemini:MODEL")
ROW(openrouter, OPENROUTER, "openrouter:MODEL")
ROW(azure, AZURE, "azure:DEPLOYMENT")
ROW(compatible, COMPATIBLE, "MODEL@http://HOST:PORT/v1")
