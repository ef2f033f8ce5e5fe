/* Exchanges: what a handler reads from a request and writes as its answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web_internal.h"
#include "kforge/file.h"
#include "kforge/json.h"

kf_exchange *kf_exchange_new(kf_web *http, kf_web_listener *listener,
                             struct MHD_Connection *connection, const char *url, const char *method)
{
    kf_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->http = http;
    exchange->listener = listener;
    exchange->connection = connection;
    exchange->references = 1;
    exchange->path = url;
    exchange->method = method;
    exchange->began = kf_now();
    pthread_mutex_lock(&http->lock);
    http->exchanges++;
    pthread_mutex_unlock(&http->lock);
    return exchange;
}

void kf_exchange_unref(kf_exchange *exchange)
{
    if (--exchange->references) return;
    exchange->http->body_bytes -= exchange->counted;
    exchange->http->exchanges--;
    pthread_cond_broadcast(&exchange->http->freed);
    kf_buffer_free(&exchange->body);
    kf_buffer_free(&exchange->answer.stream);
    free(exchange->parts_text);
    free(exchange);
}

kf_exchange *kf_exchange_hold(kf_exchange *exchange)
{
    pthread_mutex_lock(&exchange->http->lock);
    exchange->references++;
    pthread_mutex_unlock(&exchange->http->lock);
    return exchange;
}

void kf_exchange_release(kf_exchange *exchange)
{
    kf_web *http = exchange->http;
    pthread_mutex_lock(&http->lock);
    kf_exchange_unref(exchange);
    pthread_mutex_unlock(&http->lock);
}

/* ---- the request ----------------------------------------------------------------------------- */

void *kf_exchange_context(const kf_exchange *exchange)
{
    return exchange->context;
}

const char *kf_exchange_path(const kf_exchange *exchange)
{
    return exchange->path;
}

const char *kf_exchange_part(const kf_exchange *exchange, size_t index)
{
    return index < KF_ROUTE_PARTS && exchange->parts[index] ? exchange->parts[index] : "";
}

const char *kf_exchange_header(const kf_exchange *exchange, const char *name)
{
    return exchange->http->mhd->lookup_connection_value(exchange->connection, MHD_HEADER_KIND,
                                                        name);
}

const char *kf_exchange_query(const kf_exchange *exchange, const char *name)
{
    return exchange->http->mhd->lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND,
                                                        name);
}

const char *kf_exchange_body(const kf_exchange *exchange, size_t *size)
{
    *size = exchange->body.size;
    return exchange->body.data ? exchange->body.data : "";
}

void kf_exchange_set_state(kf_exchange *exchange, void *state, void (*end)(void *state))
{
    exchange->state = state;
    exchange->end = end;
}

void *kf_exchange_state(const kf_exchange *exchange)
{
    return exchange->state;
}

/* ---- the answer ------------------------------------------------------------------------------ */

void kf_exchange_add_header(kf_exchange *exchange, const char *name, const char *value)
{
    kf_exchange_answer *answer = &exchange->answer;
    if (answer->header_count == KF_EXCHANGE_HEADERS) return;
    answer->names[answer->header_count] = name;
    snprintf(answer->values[answer->header_count++], sizeof answer->values[0], "%s", value);
}

/* Takes the text over. */
static void answer_with(kf_exchange *exchange, unsigned status, const char *type, char *text)
{
    static char no_memory[] = "{\"error\":{\"what\":\"out of memory\",\"where\":\"\","
                              "\"todo\":\"Send the request again later.\"}}";
    kf_exchange_answer *answer = &exchange->answer;
    if (!text) status = 500, type = "application/json";
    answer->status = status;
    answer->response = text ? exchange->http->mhd->create_response_from_buffer(
                                  strlen(text), text, MHD_RESPMEM_MUST_FREE)
                            : exchange->http->mhd->create_response_from_buffer(
                                  strlen(no_memory), no_memory, MHD_RESPMEM_PERSISTENT);
    if (text && !answer->response) free(text);
    kf_exchange_add_header(exchange, "Content-Type", type);
    exchange->phase = KF_EXCHANGE_ANSWERED;
}

void kf_exchange_json(kf_exchange *exchange, unsigned status, cJSON *json)
{
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    answer_with(exchange, status, "application/json", text);
}

void kf_exchange_text(kf_exchange *exchange, unsigned status, const char *type, const char *text)
{
    answer_with(exchange, status, type, strdup(text));
}

void kf_exchange_error(kf_exchange *exchange, unsigned status, const char *what, const char *where,
                       const char *todo)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    cJSON *error = cJSON_AddObjectToObject(json, "error");
    bool made = error && cJSON_AddStringToObject(error, "what", what) &&
                cJSON_AddStringToObject(error, "where", where) &&
                cJSON_AddStringToObject(error, "todo", todo) &&
                cJSON_AddNumberToObject(error, "status", status);
    kf_exchange_json(exchange, status, made ? kf_steal(&json) : NULL);
}

bool kf_exchange_send(kf_exchange *exchange)
{
    kf_exchange_answer *answer = &exchange->answer;
    if (!answer->response) return false;
    for (size_t i = 0; i < answer->header_count; i++)
        exchange->http->mhd->add_response_header(answer->response, answer->names[i],
                                                 answer->values[i]);
    bool queued = exchange->http->mhd->queue_response(exchange->connection, answer->status,
                                                      answer->response) == MHD_YES;
    exchange->http->mhd->destroy_response(answer->response);
    answer->response = NULL;
    return queued;
}

/* ---- streams --------------------------------------------------------------------------------- */

static ssize_t read_stream(void *argument, uint64_t position, char *bytes, size_t most)
{
    (void)position;
    kf_exchange *exchange = argument;
    kf_web *http = exchange->http;
    kf_exchange_answer *answer = &exchange->answer;
    ssize_t got = 0;
    pthread_mutex_lock(&http->lock);
    exchange->is_woken = false;
    if (exchange->is_gone || http->watch.is_closing || answer->stream.failed) {
        got = MHD_CONTENT_READER_END_WITH_ERROR;
    } else if (answer->stream.size) {
        size_t size = answer->stream.size < most ? answer->stream.size : most;
        memcpy(bytes, answer->stream.data, size);
        answer->stream.size -= size;
        memmove(answer->stream.data, answer->stream.data + size, answer->stream.size);
        got = (ssize_t)size;
    } else if (answer->is_closed) {
        got = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        kf_web_suspend(exchange, 1e18);
    }
    pthread_mutex_unlock(&http->lock);
    return got;
}

static void end_stream(void *argument)
{
    kf_exchange_release(argument);
}

void kf_exchange_stream(kf_exchange *exchange, const char *type)
{
    kf_exchange_answer *answer = &exchange->answer;
    answer->status = 200;
    answer->response = exchange->http->mhd->create_response_from_callback(
        MHD_SIZE_UNKNOWN, 16384, read_stream, kf_exchange_hold(exchange), end_stream);
    if (!answer->response) kf_exchange_release(exchange);
    kf_exchange_add_header(exchange, "Content-Type", type);
    exchange->phase = KF_EXCHANGE_ANSWERED;
}

bool kf_exchange_write(kf_exchange *exchange, const char *data, size_t size)
{
    pthread_mutex_lock(&exchange->http->lock);
    bool there = !exchange->is_gone && !exchange->answer.is_closed;
    if (there) {
        kf_buffer_append(&exchange->answer.stream, data, size);
        kf_web_resume(exchange);
    }
    bool written = there && !exchange->answer.stream.failed;
    pthread_mutex_unlock(&exchange->http->lock);
    return written;
}

void kf_exchange_close(kf_exchange *exchange)
{
    pthread_mutex_lock(&exchange->http->lock);
    exchange->answer.is_closed = true;
    if (!exchange->is_gone) kf_web_resume(exchange);
    pthread_mutex_unlock(&exchange->http->lock);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void kf_exchange_wait(kf_exchange *exchange, double seconds)
{
    exchange->wake_at = kf_now() + (seconds > 0 ? seconds : 0);
    exchange->phase = KF_EXCHANGE_WAITING;
}

void kf_exchange_wake(kf_exchange *exchange)
{
    pthread_mutex_lock(&exchange->http->lock);
    kf_web_resume(exchange);
    pthread_mutex_unlock(&exchange->http->lock);
}
