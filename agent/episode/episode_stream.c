/* The agent's stdout: kept for the store up to a limit, and searched for the cost of the session.
 *
 *   Claude Code  {"type":"result","total_cost_usd":0.4,"usage":{"input_tokens",…,"output_tokens"}}
 *                and {"type":"assistant","message":{"model","usage"}} for each turn
 *   Codex        {"type":"turn.completed","usage":{"input_tokens","output_tokens"}}
 *
 * kforge appends a line of its own, {"type":"kforge.episode",…,"turns":[…],"candidate":SOURCE}, in
 * which store/export finds the turns {"do","source","feedback","status","candidate"}. It is the
 * last line of the text, so the agent cannot write one in its place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "episode_internal.h"

#define OWN_TYPE "kforge.episode"
/* longest line that is parsed; a longer one has no figures */
#define LINE_BYTES (1u << 20)

/* ---- usage ----------------------------------------------------------------------------------- */

const kf_episode_usage kf_episode_no_usage = {-1, -1, -1, -1, NAN, ""};

static int64_t tokens(const cJSON *usage, const char *key)
{
    double value = kf_json_get_number(usage, key, 0);
    return value > 0 && value < 1e15 ? (int64_t)value : 0;
}

/* Reads a usage object. Claude Code counts cached tokens apart from input_tokens, Codex among them.
 */
static kf_episode_usage read_tokens(const cJSON *usage)
{
    int64_t written = tokens(usage, "cache_creation_input_tokens"),
            cached = tokens(usage, "cache_read_input_tokens");
    return (kf_episode_usage){
        .prompt_tokens = tokens(usage, "input_tokens") + written + cached,
        .cached_tokens = cached + tokens(usage, "cached_input_tokens"),
        .cache_write_tokens = written,
        .completion_tokens = tokens(usage, "output_tokens"),
    };
}

static void add_tokens(kf_episode_usage *sum, const kf_episode_usage *more, int64_t sign)
{
    sum->prompt_tokens += sign * more->prompt_tokens;
    sum->cached_tokens += sign * more->cached_tokens;
    sum->cache_write_tokens += sign * more->cache_write_tokens;
    sum->completion_tokens += sign * more->completion_tokens;
}

static bool is_type(const cJSON *json, const char *type)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "type");
    return cJSON_IsString(item) && strcmp(item->valuestring, type) == 0;
}

static void take_model(kf_episode_usage *usage, const cJSON *json)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    if (cJSON_IsString(model) && *model->valuestring && !*usage->model)
        snprintf(usage->model, sizeof usage->model, "%s", model->valuestring);
}

static void take_event(kf_episode_stream *stream, const cJSON *json)
{
    kf_episode_usage *total = &stream->usage;
    const cJSON *usage = cJSON_GetObjectItemCaseSensitive(json, "usage"),
                *message = cJSON_GetObjectItemCaseSensitive(json, "message");
    if (is_type(json, "assistant")) usage = cJSON_GetObjectItemCaseSensitive(message, "usage");
    take_model(total, is_type(json, "assistant") ? message : json);
    double cost = kf_json_get_number(json, "total_cost_usd", -1);
    /* It never falls. */
    if (cost >= 0 && cost < 1e6 && !(total->cost_usd > cost)) total->cost_usd = cost;
    if (!cJSON_IsObject(usage)) return;
    kf_episode_usage now = read_tokens(usage);
    if (is_type(json, "result")) {
        total->prompt_tokens = now.prompt_tokens;
        total->cached_tokens = now.cached_tokens;
        total->cache_write_tokens = now.cache_write_tokens;
        total->completion_tokens = now.completion_tokens;
        return;
    }
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id");
    bool repeats = cJSON_IsString(id) && *stream->message &&
                   strncmp(id->valuestring, stream->message, sizeof stream->message - 1) == 0;
    if (repeats) add_tokens(&stream->turns, &stream->turn, -1);
    add_tokens(&stream->turns, &now, 1);
    stream->turn = now;
    snprintf(stream->message, sizeof stream->message, "%s",
             cJSON_IsString(id) ? id->valuestring : "");
}

kf_episode_usage kf_episode_stream_usage(const kf_episode_stream *stream)
{
    kf_episode_usage usage = stream->usage;
    const kf_episode_usage *turns = &stream->turns;
    if (usage.prompt_tokens >= 0 || turns->prompt_tokens + turns->completion_tokens == 0)
        return usage;
    usage.prompt_tokens = turns->prompt_tokens;
    usage.cached_tokens = turns->cached_tokens;
    usage.cache_write_tokens = turns->cache_write_tokens;
    usage.completion_tokens = turns->completion_tokens;
    return usage;
}

static void take_line(kf_episode_stream *stream)
{
    const char *text = stream->line.data;
    if (stream->line.failed || !text || text[strspn(text, " \t\r")] != '{') return;
    static const char *const marks[] = {"\"usage\"", "\"total_cost_usd\"", "\"init\""};
    bool marked = false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        marked |= strstr(text, marks[i]) != NULL;
    if (!marked) return;
    kf_auto(cJSON) json = kf_json_parse(text, stream->line.size, LINE_BYTES, "stream", NULL);
    if (cJSON_IsObject(json)) take_event(stream, json);
}

/* ---- the text -------------------------------------------------------------------------------- */

void kf_episode_stream_take(kf_episode_stream *stream, const char *data, size_t size)
{
    size_t room = KF_EPISODE_STREAM_BYTES > stream->text.size
                      ? KF_EPISODE_STREAM_BYTES - stream->text.size
                      : 0;
    size_t kept = size < room ? size : room;
    kf_buffer_append(&stream->text, data, kept);
    stream->dropped += size - kept;
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t length = end ? (size_t)(end - data) : size;
        stream->line.limit = LINE_BYTES;
        if (!stream->line.failed) kf_buffer_append(&stream->line, data, length);
        if (!end) return;
        take_line(stream);
        kf_buffer_free(&stream->line);
        data = end + 1;
        size -= length + 1;
    }
}

/* Adds the turns that were answered. */
static void add_turns(cJSON *own, const cJSON *turns)
{
    cJSON *list = cJSON_AddArrayToObject(own, "turns");
    const cJSON *turn;
    cJSON_ArrayForEach(turn, turns)
    {
        if (!cJSON_GetObjectItemCaseSensitive(turn, "feedback")) continue;
        cJSON *copy = cJSON_Duplicate(turn, true);
        cJSON_DeleteItemFromObject(copy, "id");
        cJSON_AddItemToArray(list, copy);
    }
}

char *kf_episode_stream_close(kf_episode_stream *stream, const char *ended,
                              const kf_episode_account *account, const cJSON *turns,
                              const char *candidate, size_t *size)
{
    take_line(stream);
    kf_auto(cJSON) own = cJSON_CreateObject();
    cJSON_AddStringToObject(own, "type", OWN_TYPE);
    cJSON_AddStringToObject(own, "ended", ended);
    cJSON_AddNumberToObject(own, "evals", account->evals);
    cJSON_AddNumberToObject(own, "device_seconds", account->device_seconds);
    cJSON_AddNumberToObject(own, "waited_seconds", round(account->waited_seconds * 1e3) / 1e3);
    if (stream->dropped) cJSON_AddNumberToObject(own, "dropped_bytes", (double)stream->dropped);
    if (cJSON_GetArraySize(turns)) add_turns(own, turns);
    bool complete = !candidate || cJSON_AddStringToObject(own, "candidate", candidate);
    kf_autofree char *line = complete ? cJSON_PrintUnformatted(own) : NULL;
    kf_autobuffer text = {0};
    if (stream->text.size) kf_buffer_append(&text, stream->text.data, stream->text.size);
    /* A NUL byte ends texts of the store. */
    for (size_t i = 0; i < text.size; i++)
        if (!text.data[i]) text.data[i] = ' ';
    if (text.size && text.data[text.size - 1] != '\n') kf_buffer_string(&text, "\n");
    if (!line) return NULL;
    kf_buffer_string(&text, line);
    *size = text.size;
    return kf_buffer_take(&text);
}

void kf_episode_stream_free(kf_episode_stream *stream)
{
    kf_buffer_free(&stream->text);
    kf_buffer_free(&stream->line);
}

char *kf_episode_candidate(const char *text, size_t size, bool *is_episode, kf_error *error)
{
    size_t start = size;
    while (start && text[start - 1] != '\n') start--;
    kf_auto(cJSON) json =
        size > start && text[start] == '{'
            ? kf_json_parse(text + start, size - start, KF_EPISODE_OWN_BYTES, "episode", NULL)
            : NULL;
    *is_episode = cJSON_IsObject(json) && is_type(json, OWN_TYPE);
    const cJSON *candidate = cJSON_GetObjectItemCaseSensitive(json, "candidate");
    if (*is_episode && cJSON_IsString(candidate)) {
        char *copy = strdup(candidate->valuestring);
        if (!copy) kf_fail_memory(error, "a candidate");
        return copy;
    }
    kf_fail(error, KF_ERROR_INPUT, "the agent left candidate.cu as it was");
    return NULL;
}
