/* One attempt. The first byte of the body decides how it is read: as events, as a whole JSON reply,
 * or as the text of a proxy. The status, the server's error and the end of the answer decide if it
 * is a reply, if the request is sent again, and what it cost.
 *
 * Booked is what the server counted. If it did not count: for a reply that had begun, an estimate
 * from its bytes; for a request without a reply, an estimate of its prompt; for a refused request,
 * nothing. `settle` books each attempt exactly once. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "prompt.h"
#include "llm_continue.h"
#include "llm_network.h"
#include "api_key.h"

/* Limit of an error's body. */
#define ERROR_BYTES 65536u
/* The most that a chat template adds. */
#define OVERHEAD_TOKENS 512
/* If a server asks for a longer wait, the request fails. */
#define MAX_WAIT_SECONDS 600
/* Limit of a reply that is not streamed. */
#define WHOLE_BYTES (16u << 20)
/* The same with the text around its events. */
#define REPLY_BYTES_ALL (64u << 20)

/* ---- money ----------------------------------------------------------------------------------- */

static size_t prompt_bytes(const kf_request *request)
{
    size_t continuation =
        request->begun.size ? request->begun.size + strlen(KF_CONTINUE_PROMPT) : 0;
    return strlen(request->prompt) + (request->system ? strlen(request->system) : 0) + continuation;
}

kf_amount kf_request_most(const kf_request *request, int64_t max_tokens)
{
    if (request->listing) return (kf_amount){0};
    /* No vocabulary in use makes more than one token of a byte. */
    int64_t prompt = (int64_t)prompt_bytes(request) + OVERHEAD_TOKENS;
    const kf_price *price = &request->network->price;
    /* Of a token of the prompt. */
    double prompt_price = fmax(price->input, price->cache_write);
    double usd = price->known
                     ? ((double)prompt * prompt_price + (double)max_tokens * price->output) * 1e-6
                     : 0;
    return (kf_amount){kf_nanodollars(usd), prompt + max_tokens, 1};
}

/* Books the attempt, once. */
static void settle(kf_request *request, bool was_charged)
{
    kf_network *n = request->network;
    const kf_answer *a = &request->attempt.answer;
    kf_amount used = {0, 0, !request->listing};
    bool counted = a->prompt_tokens >= 0 && a->completion_tokens >= 0;
    if (was_charged || counted) {
        int64_t prompt =
            a->prompt_tokens >= 0 ? a->prompt_tokens : kf_prompt_tokens(prompt_bytes(request));
        int64_t completion = kf_prompt_tokens(a->text.size + a->hidden_bytes);
        if (a->completion_tokens > completion || counted) completion = a->completion_tokens;
        double usd = !isnan(a->cost_usd) ? a->cost_usd
                     : n->price.known    ? kf_price_of(&n->price, prompt, a->cached_tokens,
                                                       a->cache_write_tokens, completion)
                                         : 0;
        used.tokens = prompt + completion;
        used.nanodollars = kf_nanodollars(usd);
        /* An estimate must not exceed the reservation. */
        if (!counted && used.tokens > request->attempt.reserved.tokens)
            used.tokens = request->attempt.reserved.tokens;
        if (!counted && n->price.known && isnan(a->cost_usd) &&
            used.nanodollars > request->attempt.reserved.nanodollars)
            used.nanodollars = request->attempt.reserved.nanodollars;
        if (n->price.known || !isnan(a->cost_usd)) request->usage.any_cost = true;
        if (!counted) request->usage.counted = false;
        if (request->usage.counted) {
            request->usage.prompt_tokens += a->prompt_tokens;
            request->usage.completion_tokens += a->completion_tokens;
        }
        kf_bucket_take(&n->pace.tokens, (double)completion, kf_now());
    }
    request->usage.used.nanodollars += used.nanodollars;
    request->usage.used.tokens += used.tokens;
    request->usage.used.requests += used.requests;
    if (n->budget) kf_budget_settle(n->budget, &request->attempt.reserved, &used);
    request->attempt.reserved = (kf_amount){0};
}

static void release_attempt(kf_request *request)
{
    kf_answer_close(&request->attempt.answer);
    kf_sse_close(&request->attempt.sse);
    kf_buffer_free(&request->attempt.body);
    request->attempt.transfer = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_event(void *context, const char *name, const char *data, size_t size)
{
    kf_request *request = context;
    /* A broken object may be a part of the text, and no part may be missing. A few words of another
     * kind may be a greeting. */
    if (!kf_answer_event(&request->attempt.answer, request->network->dialect, name, data, size) &&
        (*data == '{' || ++request->attempt.bad_events > 3))
        return kf_fail(&request->attempt.fault, KF_ERROR_IO,
                       "the stream holds events that are not JSON: %.100s", data);
    if (request->attempt.answer.text.failed)
        return kf_fail(&request->attempt.fault, KF_ERROR_LIMIT,
                       "the reply has more than %u bytes of text", KF_REPLY_BYTES);
    return !request->attempt.answer.failed;
}

static void take_header(void *context, const char *name, const char *value)
{
    kf_request *request = context;
    if (strcmp(name, "content-type") == 0)
        snprintf(request->attempt.content_type, sizeof request->attempt.content_type, "%s", value);
    kf_server_limits_header(&request->attempt.limits, name, value, (double)time(NULL));
}

static kf_body_kind kind_of(const kf_request *request, char first)
{
    if (strncasecmp(request->attempt.content_type, "text/event-stream", 17) == 0)
        return KF_BODY_EVENTS;
    return first == '{' || first == '[' || first == '<' ? KF_BODY_WHOLE : KF_BODY_EVENTS;
}

static bool take_piece(kf_request *request, const char *data, size_t size)
{
    if (!request->attempt.status)
        request->attempt.status = kf_http_status(request->network->http, request->attempt.transfer);
    if (request->attempt.status != 200) {
        kf_buffer_append(&request->attempt.body, data, size);
        /* Longer errors are cut. */
        return !request->attempt.body.failed;
    }
    if (request->listing) return true;
    if (request->attempt.kind == KF_BODY_UNKNOWN) {
        size_t blank = 0;
        while (blank < size && isspace((unsigned char)data[blank])) blank++;
        if (blank == size) return true;
        /* A byte order mark, which both readers skip. */
        size_t mark = size - blank > 3 && memcmp(data + blank, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        request->attempt.kind = kind_of(request, data[blank + mark]);
        request->attempt.body.limit = WHOLE_BYTES;
    }
    if (request->attempt.kind == KF_BODY_EVENTS)
        return kf_sse_feed(&request->attempt.sse, data, size, &request->attempt.fault);
    kf_buffer_append(&request->attempt.body, data, size);
    return !request->attempt.body.failed ||
           kf_fail(&request->attempt.fault, KF_ERROR_LIMIT, "the reply has more than %u bytes",
                   WHOLE_BYTES);
}

static bool take_data(void *context, const char *data, size_t size)
{
    kf_request *request = context;
    bool taken = take_piece(request, data, size);
    if (request->attempt.answer.text.size || request->attempt.body.size)
        kf_http_answering(request->attempt.transfer);
    return taken;
}

/* ---- meaning --------------------------------------------------------------------------------- */

typedef enum verdict { ACCEPT, AGAIN, AGAIN_AT_ONCE, FAIL } verdict;

static bool has(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

/* Returns "; most servers need ADDRESS/v1" for an address without a path, else "". */
static char *path_hint(const char *base)
{
    const char *host = strstr(base, "://");
    char *hint = NULL;
    if (strchr(host ? host + 3 : base, '/')) return strdup("");
    return asprintf(&hint, "; most servers need %s/v1", base) < 0 ? NULL : hint;
}

/* Copies the readable start of the body, for an error. */
static void excerpt(const kf_request *request, char *text, size_t size)
{
    const char *body = request->attempt.body.data ? request->attempt.body.data : "";
    while (isspace((unsigned char)*body)) body++;
    snprintf(text, size, "%.200s%s", *body ? body : "(an empty body)",
             strlen(body) > 200 ? "..." : "");
}

/* Leaves out a parameter that the server refused, now and in later requests. True if the message
 * names one. */
static bool omit_parameter(kf_request *request, const char *message)
{
    static const struct {
        const char *word;
        int flag;
    } rows[] = {{"stream_options", KF_WITHOUT_STREAM_OPTIONS},
                {"max_completion_tokens", KF_OTHER_TOKEN_LIMIT},
                {"max_tokens", KF_OTHER_TOKEN_LIMIT},
                {"reasoning", KF_WITHOUT_EFFORT},
                {"thinking", KF_WITHOUT_EFFORT},
                {"temperature", KF_WITHOUT_TEMPERATURE}};
    static const char *const complaints[] = {"unsupported",  "not support", "unknown",
                                             "unrecognized", "unexpected",  "not permitted",
                                             "extra"};
    bool complains = false;
    for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++)
        complains |= has(message, complaints[i]);
    for (size_t i = 0; complains && i < sizeof rows / sizeof *rows; i++) {
        if (!has(message, rows[i].word) || (request->network->settings.without & rows[i].flag))
            continue;
        request->network->settings.without |= rows[i].flag;
        return true;
    }
    return false;
}

static bool is_too_long(const char *kind, const char *message)
{
    static const char *const words[] = {"context_length",
                                        "context length",
                                        "context window",
                                        "maximum context",
                                        "prompt is too long",
                                        "too many tokens",
                                        "exceeds the maximum number of tokens",
                                        "token count"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(kind, words[i]) || has(message, words[i])) return true;
    return false;
}

/* Reads the wait that Google writes in the body instead of a header: {"details": [{"@type":
 * "…RetryInfo", "retryDelay": "34s"}]}. */
static void read_delay(kf_request *request, const cJSON *error)
{
    const cJSON *detail;
    cJSON_ArrayForEach(detail, kf_dialect_member(error, "details"))
    {
        const char *delay = kf_dialect_member_text(detail, "retryDelay");
        if (delay)
            kf_server_limits_header(&request->attempt.limits, "retry-after", delay,
                                    (double)time(NULL));
    }
}

/* True if the server does not know the model, and says so with another status than 404. */
static bool is_wrong_name(const char *kind, const char *message)
{
    static const char *const words[] = {"model_not_found", "invalid model", "not a valid model",
                                        "model not exist", "model does not exist"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has(kind, words[i]) || has(message, words[i])) return true;
    return false;
}

/* Judges a reply with a status other than 200. */
static verdict judge_error(kf_request *request, int status, kf_error *error,
                           kf_llm_outcome *outcome)
{
    const kf_network *n = request->network;
    kf_auto(cJSON) json =
        request->attempt.body.data
            ? cJSON_ParseWithLength(request->attempt.body.data, request->attempt.body.size)
            : NULL;
    /* Gemini wraps errors in a list. */
    const cJSON *object = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, 0) : json;
    const cJSON *member = kf_dialect_member(object, "error");
    char words[256];
    /* FastAPI and others: {"message"} or {"detail"} at the top. */
    if (!member) member = object;
    const char *message =
        cJSON_IsString(member) ? member->valuestring : kf_dialect_member_text(member, "message");
    if (!message) message = kf_dialect_member_text(object, "detail");
    read_delay(request, member);
    const char *code = kf_dialect_member_text(member, "code"),
               *type = kf_dialect_member_text(member, "type");
    const char *kind = code ? code : type ? type : "";
    excerpt(request, words, sizeof words);
    const char *said = message ? message : words;
    /* Gemini refuses a wrong key with 400. */
    if (status == 401 || status == 403 || (status == 400 && has(said, "API key not valid"))) {
        kf_fail(error, KF_ERROR_INPUT, "status %d: %s; %s%s", status, said,
                n->key.value ? "check the key in " : "no key was sent: set ", n->key.name);
        return FAIL;
    }
    if (request->listing) return kf_fail(error, KF_ERROR_IO, "status %d: %s", status, said), FAIL;
    if (status == 404 || status == 405 || (status == 400 && is_wrong_name(kind, said))) {
        kf_autofree char *hint = path_hint(n->base);
        kf_fail(error, KF_ERROR_INPUT, "status %d: %s; check the model's name and the address %s%s",
                status, said, n->base, hint ? hint : "");
        return FAIL;
    }
    if (status == 413 || (status == 400 && is_too_long(kind, message))) {
        kf_fail(error, KF_ERROR_LIMIT, "the prompt is too long for the model (status %d): %s",
                status, said);
        return FAIL;
    }
    if (status == 400 && (has(kind, "content_filter") || has(kind, "content_policy"))) {
        *outcome = KF_LLM_REFUSED;
        kf_fail(error, KF_ERROR_LIMIT, "the server's filter refused the prompt: %s", said);
        return FAIL;
    }
    if ((status == 400 || status == 422) && omit_parameter(request, said)) return AGAIN_AT_ONCE;
    if (status == 429 && (has(kind, "insufficient_quota") || has(kind, "billing"))) {
        kf_fail(error, KF_ERROR_LIMIT, "status 429: %s; the account has no credit left", said);
        return FAIL;
    }
    kf_fail(error, status == 429 ? KF_ERROR_LIMIT : KF_ERROR_IO, "status %d%s%s: %s", status,
            *kind ? " " : "", kind, said);
    return kf_status_is_passing(status) ? AGAIN : FAIL;
}

/* Sets the outcome, text and error of the reply from a whole answer. */
static void fill_reply(kf_request *request)
{
    kf_answer *a = &request->attempt.answer;
    kf_llm_reply *reply = &request->reply;
    unsigned long long hidden = a->hidden_bytes;
    size_t size = a->text.size, whole = size;
    char *text = kf_buffer_take(&a->text);
    if (text && request->begun.size) {
        kf_reply_join(&request->begun, text, size);
        whole = request->begun.size;
        free(text);
        text = kf_buffer_take(&request->begun);
        if (!text) {
            kf_fail(&reply->error, KF_ERROR_LIMIT, "%s: the reply has more than %u bytes of text",
                    request->network->label, KF_REPLY_BYTES);
            return;
        }
    }
    if (!text) {
        kf_fail_memory(&reply->error, "a reply");
        kf_fail_prefix(&reply->error, "%s", request->network->label);
        return;
    }
    /* `settle` reads it. */
    a->text.size = size;
    kf_llm_reply_set_text(reply, text, whole);
    bool empty = reply->outcome == KF_LLM_EMPTY;
    const char *label = request->network->label;
    if (a->stop == KF_STOP_REFUSED || a->has_refusal) {
        reply->outcome = KF_LLM_REFUSED;
        kf_fail(&reply->error, KF_ERROR_INPUT, "%s: %s (%s)%s%.200s", label,
                a->has_refusal ? "the model declined" : "the model or a filter stopped the reply",
                a->stop_word, empty ? "" : ": ", text);
    } else if (empty && hidden && a->stop == KF_STOP_LENGTH) {
        kf_fail(&reply->error, KF_ERROR_LIMIT,
                "%s: only reasoning came (%llu bytes) before the limit of %lld tokens; give a "
                "larger max_tokens or a lower effort",
                label, hidden, (long long)request->max_tokens);
    } else if (empty && a->stop == KF_STOP_TOOL) {
        kf_fail(&reply->error, KF_ERROR_INPUT,
                "%s: the model called a tool, but kforge offers no tools", label);
    } else if (empty) {
        kf_fail(&reply->error, KF_ERROR_IO,
                hidden ? "%s: only reasoning came (%llu bytes)" : "%s: the reply is empty", label,
                hidden);
    } else if (a->stop == KF_STOP_LENGTH) {
        reply->outcome = KF_LLM_TRUNCATED;
        kf_fail(&reply->error, KF_ERROR_LIMIT,
                "%s: the reply was cut off at the limit of %lld tokens", label,
                (long long)request->max_tokens);
    } else if (!a->ended && a->stop == KF_STOP_NONE) {
        reply->outcome = KF_LLM_TRUNCATED;
        kf_fail(&reply->error, KF_ERROR_IO, "%s: the stream ended without its end mark", label);
    }
}

/* Judges a reply with status 200. */
static verdict judge_answer(kf_request *request, const kf_http_result *result, kf_error *error)
{
    kf_answer *a = &request->attempt.answer;
    bool whole = a->ended || a->stop != KF_STOP_NONE;
    if (request->attempt.fault.code) {
        *error = request->attempt.fault;
        return request->attempt.fault.code == KF_ERROR_LIMIT ? FAIL : AGAIN;
    }
    if (a->failed) {
        *error = a->error;
        return a->passing ? AGAIN : FAIL;
    }
    if (result->fault && !(whole && result->fault == KF_HTTP_CLOSED)) {
        *error = result->error;
        return result->fault == KF_HTTP_TOO_LARGE || result->fault == KF_HTTP_TOTAL ? FAIL : AGAIN;
    }
    if (!whole && !a->text.size && !a->hidden_bytes) {
        char words[256];
        excerpt(request, words, sizeof words);
        kf_autofree char *hint = path_hint(request->network->base);
        kf_fail(error, KF_ERROR_IO,
                "status 200 with %s, without the reply of a model: %s; check the address %s%s",
                request->attempt.content_type[0] ? request->attempt.content_type
                                                 : "no content type",
                words, request->network->base, hint ? hint : "");
        return AGAIN;
    }
    return ACCEPT;
}

static verdict judge(kf_request *request, const kf_http_result *result, kf_error *error,
                     kf_llm_outcome *outcome)
{
    *outcome = KF_LLM_FAILED;
    if (result->status == 200 && request->listing) return ACCEPT;
    if (result->status == 200) return judge_answer(request, result, error);
    if (result->status && result->fault != KF_HTTP_REDIRECT &&
        (!result->fault || result->fault == KF_HTTP_STOPPED || request->attempt.body.size))
        return judge_error(request, result->status, error, outcome);
    *error = result->error;
    switch (result->fault) {
    case KF_HTTP_CONNECT:
    case KF_HTTP_FIRST_BYTE:
    case KF_HTTP_STALL:
    case KF_HTTP_CLOSED:
    case KF_HTTP_OTHER: return AGAIN;
    default: return FAIL;
    }
}

/* True if the server may have produced a reply, even if it did not arrive whole. */
static bool may_be_charged(const kf_request *request, const kf_http_result *result)
{
    if (request->listing) return false;
    if (result->status) return result->status == 200;
    return result->was_sent && result->fault != KF_HTTP_CONNECT && result->fault != KF_HTTP_TLS;
}

static double random_fraction(kf_network *n)
{
    n->random ^= n->random << 13;
    n->random ^= n->random >> 7;
    n->random ^= n->random << 17;
    return (double)(n->random >> 11) * 0x1p-53;
}

static void complete(kf_request *request)
{
    kf_llm_reply *reply = &request->reply;
    reply->seconds = kf_now() - request->submitted;
    reply->requests = request->usage.used.requests;
    reply->prompt_tokens =
        request->usage.counted && request->usage.used.tokens ? request->usage.prompt_tokens : -1;
    reply->completion_tokens = request->usage.counted && request->usage.used.tokens
                                   ? request->usage.completion_tokens
                                   : -1;
    if (request->usage.any_cost) reply->cost_usd = kf_dollars(request->usage.used.nanodollars);
    if (!reply->model) reply->model = strdup(request->network->model);
    request->state = KF_REQUEST_DONE;
}

void kf_request_fail(kf_request *request, kf_llm_outcome outcome, kf_error_code code,
                     const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    request->reply.outcome = outcome;
    kf_fail_va(&request->reply.error, code, format, arguments);
    va_end(arguments);
    /* The rest is not available. The user has paid for the first part, and it may be useful. */
    size_t size = request->begun.size;
    char *begun = size ? kf_buffer_take(&request->begun) : NULL;
    if (begun) {
        kf_llm_reply_set_text(&request->reply, begun, size);
        request->reply.outcome = KF_LLM_TRUNCATED;
        kf_fail_prefix(&request->reply.error,
                       "the reply was cut off at the token limit, and could not be continued");
    }
    complete(request);
}

/* True if the reply was cut off at the token limit inside a block and is to be continued. Keeps the
 * text so far. */
static bool is_continued(kf_request *request)
{
    const kf_answer *a = &request->attempt.answer;
    if (a->stop != KF_STOP_LENGTH || a->has_refusal || !a->text.size ||
        request->continuations == request->network->continuations)
        return false;
    kf_autobuffer joined = {.limit = KF_REPLY_BYTES};
    if (request->begun.size) kf_buffer_append(&joined, request->begun.data, request->begun.size);
    kf_reply_join(&joined, a->text.data, a->text.size);
    if (joined.failed || !kf_reply_is_open(joined.data, joined.size)) return false;
    kf_buffer_free(&request->begun);
    request->begun = joined;
    joined = (kf_buffer){0};
    request->continuations++;
    return true;
}

static void done(void *context, const kf_http_result *result)
{
    kf_request *request = context;
    kf_network *n = request->network;
    kf_error error = {0};
    kf_llm_outcome outcome;
    request->attempt.transfer = NULL;
    /* A last event without its blank line counts at the end of a stream, but not where the stream
     * was cut off. */
    if (result->status == 200 && request->attempt.kind == KF_BODY_EVENTS && !result->fault &&
        !request->attempt.fault.code &&
        !kf_sse_end(&request->attempt.sse, &request->attempt.fault) &&
        request->attempt.fault.code == KF_ERROR_IO)
        /* Half an event: the text before it is cut off, and paid for. */
        request->attempt.fault = (kf_error){0};
    if (request->attempt.kind == KF_BODY_WHOLE && request->attempt.body.size)
        kf_answer_event(&request->attempt.answer, n->dialect, "", request->attempt.body.data,
                        request->attempt.body.size);
    verdict v = judge(request, result, &error, &outcome);
    double now = kf_now(), wait = kf_server_limits_wait(&request->attempt.limits);
    if (wait > 0) n->pace.hold_until = fmax(n->pace.hold_until, now + fmin(wait, MAX_WAIT_SECONDS));
    /* Before anything moves the text out of the answer. */
    settle(request, may_be_charged(request, result));
    bool more = v == ACCEPT && is_continued(request);
    if (request->listing && v == ACCEPT)
        request->reply.outcome = KF_LLM_OK;
    else if (v == ACCEPT && !more)
        fill_reply(request);
    if (request->attempt.answer.model[0] && !request->reply.model)
        request->reply.model = strdup(request->attempt.answer.model);
    release_attempt(request);
    n->reached = n->reached || result->status;
    /* An address that never answered is most likely a wrong one. */
    bool unreachable = result->fault == KF_HTTP_CONNECT && !n->reached;
    int retries = request->trial && !unreachable ? 0 : n->retries;
    if (unreachable && (request->failures || !retries)) {
        kf_error why = error;
        v = FAIL;
        kf_fail(&error, KF_ERROR_INPUT,
                "%.400s; check the address %.200s, and that its server runs", why.text, n->base);
    }
    if (v == AGAIN && request->failures < retries && wait <= MAX_WAIT_SECONDS) {
        request->due =
            now + fmax(wait, kf_backoff(request->failures++, n->backoff, random_fraction(n)));
        request->state = KF_REQUEST_WAITING;
        kf_fail(&n->trouble, error.code, "%s: %s; it is asked again", n->label, error.text);
        return;
    }
    n->trouble = (kf_error){0};
    if (v == AGAIN_AT_ONCE || more) {
        request->due = now;
        request->state = KF_REQUEST_WAITING;
        return;
    }
    kf_breaker_end(&n->pace.breaker, v == AGAIN, now);
    if (v == ACCEPT) {
        complete(request);
        return;
    }
    char remark[96] = "";
    if (v == AGAIN && wait > MAX_WAIT_SECONDS)
        snprintf(remark, sizeof remark, "; the server asks to wait %.0f s", wait);
    if ((v == AGAIN || unreachable) && request->failures)
        snprintf(remark, sizeof remark, " (%d attempts)", request->failures + 1);
    kf_request_fail(request, outcome, error.code, "%s: %s%s", n->label, error.text, remark);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Keeps the sampling settings and limits of the body, under the names that the services use. */
static bool keep_settings(kf_request *request, const cJSON *body)
{
    static const char *const names[] = {
        "temperature",      "max_tokens", "max_completion_tokens", "max_output_tokens", "thinking",
        "reasoning_effort", "reasoning",  "generationConfig"};
    kf_auto(cJSON) settings = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(body, names[i]);
        if (item && !cJSON_AddItemToObject(settings, names[i], cJSON_Duplicate(item, true)))
            return false;
    }
    free(request->reply.settings);
    return (request->reply.settings = cJSON_PrintUnformatted(settings));
}

static char *make_body(kf_request *request, const kf_call_settings *settings)
{
    kf_dialect_request content = {.system = request->system,
                                  .prompt = request->prompt,
                                  .begun = request->begun.size ? request->begun.data : NULL};
    kf_auto(cJSON) json = cJSON_CreateObject();
    if (!json || !request->network->dialect->body(settings, &content, json)) return NULL;
    if (request->network->wants_cost &&
        !cJSON_AddTrueToObject(cJSON_AddObjectToObject(json, "usage"), "include"))
        return NULL;
    /* A continuation has less room for the rest of the reply. */
    if (!content.begun && !keep_settings(request, json)) return NULL;
    return cJSON_PrintUnformatted(json);
}

bool kf_request_begin(kf_request *request, int64_t max_tokens, kf_error *error)
{
    kf_network *n = request->network;
    kf_call_settings settings = n->settings;
    settings.max_tokens = max_tokens;
    if (request->temperature >= 0) settings.temperature = request->temperature;
    /* Some servers refuse a limit of tokens below that of the reasoning. */
    if (request->trial) settings.thinking = 0, settings.effort = KF_EFFORT_DEFAULT;
    kf_autofree char *body = make_body(request, &settings);
    kf_autobuffer url = {0}, key = {0};
    kf_buffer_string(&url, n->base);
    if (request->listing)
        kf_buffer_string(&url, "/models");
    else
        n->dialect->path(&settings, &url);
    if (n->key.value) {
        kf_api_keys_guard();
        const char *form = n->key.form ? n->key.form : n->dialect->key_header;
        /* Without its "%s". */
        kf_buffer_append(&key, form, strlen(form) - 2);
        kf_buffer_string(&key, n->key.value);
    }
    if (!body || url.failed || key.failed) return kf_fail_memory(error, "a request");
    static const char agent[] = "User-Agent: kforge/" KFORGE_VERSION;
    const char *headers[8] = {"Content-Type: application/json",
                              "Accept: text/event-stream, application/json", agent};
    size_t count = 3;
    if (key.size) headers[count++] = key.data;
    for (const char *const *more = n->dialect->headers; more && *more && count < 7; more++)
        headers[count++] = *more;
    kf_answer_open(&request->attempt.answer);
    kf_sse_open(&request->attempt.sse, take_event, request);
    request->attempt.body = (kf_buffer){.limit = ERROR_BYTES};
    request->attempt.kind = KF_BODY_UNKNOWN;
    request->attempt.status = request->attempt.bad_events = 0;
    request->attempt.content_type[0] = '\0';
    request->attempt.limits = kf_server_limits_none();
    request->attempt.fault = (kf_error){0};
    request->attempt.transfer =
        kf_http_start(n->http,
                      &(kf_http_request){.url = url.data,
                                         .headers = headers,
                                         .body = request->listing ? NULL : body,
                                         .body_size = request->listing ? 0 : strlen(body),
                                         .connect_seconds = n->timeouts.connect,
                                         .first_byte_seconds = n->timeouts.first_byte,
                                         .stall_seconds = n->timeouts.stall,
                                         .total_seconds = n->timeouts.total,
                                         .most_bytes = REPLY_BYTES_ALL,
                                         .context = request,
                                         .header = take_header,
                                         .data = take_data,
                                         .done = done},
                      error);
    if (key.data) explicit_bzero(key.data, key.size);
    if (!request->attempt.transfer) {
        release_attempt(request);
        return false;
    }
    request->state = KF_REQUEST_IN_FLIGHT;
    return true;
}

void kf_request_abort(kf_request *request)
{
    if (!request->attempt.transfer) return;
    kf_http_cancel(request->network->http, request->attempt.transfer);
    settle(request, true);
    release_attempt(request);
}

void kf_request_free(kf_request *request)
{
    if (!request) return;
    kf_request_abort(request);
    kf_llm_reply_free(&request->reply);
    kf_buffer_free(&request->begun);
    free(request->system);
    free(request->prompt);
    free(request);
}
