/* Recorded replies: a cassette (docs/cassette-format.md) is read whole when it is opened, so that a fault in its last line is known
 * before the first call. Which reply a prompt gets depends only on the prompts before it: with the same prompts a run repeats itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/extract.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "llm_provider.h"

#define CASSETTE_SCHEMA "kforge-cassette/1"
#define CASSETTE_BYTES (256u << 20)

typedef struct recording {
    char match[KF_HASH_HEX]; /* "" any prompt */
    kf_llm_reply reply;      /* as it will be handed out, but for the tag */
    bool used;
} recording;

typedef struct replay {
    char *name; /* of the file, for messages */
    char *model;
    recording *recordings;
    size_t count, capacity;
    bool strict;
    kf_llm_reply *queue; /* answered, not yet polled */
    size_t queued, queue_capacity;
} replay;

static void replay_close(void *state)
{
    replay *r = state;
    for (size_t i = 0; i < r->count; i++) kf_llm_reply_free(&r->recordings[i].reply);
    for (size_t i = 0; i < r->queued; i++) kf_llm_reply_free(&r->queue[i]);
    free(r->recordings);
    free(r->queue);
    free(r->name);
    free(r->model);
    free(r);
}

/* ---- reading a cassette ------------------------------------------------------------------------------------------------------------ */

static bool read_header(replay *r, const cJSON *json, const char *where, kf_error *error)
{
    kf_json_reader reader = kf_json_object(json, where, "", error);
    const char *schema = kf_json_string(&reader, "schema"), *source = kf_json_string(&reader, "source");
    const char *model = kf_json_string(&reader, "model");
    if (strcmp(schema, CASSETTE_SCHEMA) != 0) kf_json_complain(&reader, "schema", "\"%s\" is not \"" CASSETTE_SCHEMA "\"", schema);
    if (!*source) kf_json_complain(&reader, "source", "empty; say who or what wrote the replies");
    kf_json_string_or(&reader, "task", "");
    if (!kf_json_finish(&reader)) return false;
    r->model = strdup(model);
    return r->model || kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory", where);
}

static bool is_hash(const char *text)
{
    return strlen(text) == KF_HASH_HEX - 1 && strspn(text, "0123456789abcdef") == KF_HASH_HEX - 1;
}

static bool read_recording(const replay *r, recording *rec, const cJSON *json, const char *where, kf_error *error)
{
    kf_json_reader reader = kf_json_object(json, where, "", error);
    const cJSON *match = kf_json_any(&reader, "match");
    if (match && !cJSON_IsNull(match) && !(cJSON_IsString(match) && is_hash(match->valuestring)))
        kf_json_complain(&reader, "match", "expected null or the 64 hexadecimal digits of a SHA-256");
    kf_json_string_or(&reader, "prompt", "");
    kf_json_string_or(&reader, "system", "");
    kf_json_string_or(&reader, "note", "");
    const char *text = kf_json_string(&reader, "reply"), *outcome = kf_json_string_or(&reader, "outcome", "ok");
    const char *failure = kf_json_string_or(&reader, "error", NULL), *model = kf_json_string_or(&reader, "model", r->model);
    rec->reply.cost_usd = kf_json_number_or(&reader, "cost_usd", 0, 1e6, NAN);
    rec->reply.seconds = kf_json_number_or(&reader, "seconds", 0, 1e6, 0);
    const cJSON *tokens = kf_json_object_or_null(&reader, "tokens");
    kf_llm_outcome known;
    if (!kf_llm_outcome_parse(outcome, &known)) kf_json_complain(&reader, "outcome", "unknown outcome \"%s\"", outcome);
    if (strlen(text) > KF_REPLY_BYTES) kf_json_complain(&reader, "reply", "more than %u bytes", KF_REPLY_BYTES);
    if (!kf_json_finish(&reader)) return false;
    if (tokens) {
        kf_json_reader counts = kf_json_object(tokens, where, "tokens", error);
        rec->reply.prompt_tokens = kf_json_integer_or(&counts, "prompt", 0, INT64_MAX, -1);
        rec->reply.completion_tokens = kf_json_integer_or(&counts, "completion", 0, INT64_MAX, -1);
        if (!kf_json_finish(&counts)) return false;
    }
    if (cJSON_IsString(match)) memcpy(rec->match, match->valuestring, KF_HASH_HEX);
    char *copy = strdup(text);
    rec->reply.model = strdup(model);
    if (copy) kf_llm_reply_set_text(&rec->reply, copy, strlen(copy));
    if (!copy || !rec->reply.model) return kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory", where);
    rec->reply.outcome = known;
    if (failure || known == KF_LLM_FAILED) kf_fail(&rec->reply.error, KF_ERROR_IO, "%s", failure ? failure : "recorded as failed");
    return true;
}

/* Reserves one more element. */
static bool grow(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) return true;
    size_t more = *capacity ? *capacity * 2 : 16;
    void *larger = realloc(*items, more * size);
    if (!larger) return false;
    *items = larger;
    *capacity = more;
    return true;
}

static bool read_line(replay *r, const char *text, size_t size, int line, kf_error *error)
{
    char where[512];
    snprintf(where, sizeof where, "%.480s:%d", r->name, line);
    kf_auto(cJSON) json = kf_json_parse(text, size, 0, where, error);
    if (!json) return false;
    if (!r->model) return read_header(r, json, where, error);
    if (!grow((void **)&r->recordings, r->count, &r->capacity, sizeof *r->recordings))
        return kf_fail(error, KF_ERROR_MEMORY, "%s: out of memory", where);
    recording *rec = &r->recordings[r->count++];
    *rec = (recording){.reply = kf_llm_reply_empty(0)};
    return read_recording(r, rec, json, where, error);
}

static bool read_cassette(replay *r, kf_error *error)
{
    size_t size;
    kf_autofree char *text = kf_file_read(r->name, CASSETTE_BYTES, &size, error);
    if (!text) return false;
    int line = 1;
    for (size_t start = 0, end; start < size; start = end + 1, line++) {
        const char *feed = memchr(text + start, '\n', size - start);
        end = feed ? (size_t)(feed - text) : size;
        size_t blank = 0;
        while (start + blank < end && (text[start + blank] == ' ' || text[start + blank] == '\t' || text[start + blank] == '\r'))
            blank++;
        if (start + blank < end && !read_line(r, text + start, end - start, line, error)) return false;
    }
    if (!r->model)
        return kf_fail(error, KF_ERROR_INPUT, "%s: empty; a cassette starts with a line {\"schema\": \"" CASSETTE_SCHEMA "\", …}",
                       r->name);
    return true;
}

enum { OPTION_SKIP, OPTION_STRICT };

static void *replay_open(const char *argument, const double *options, kf_error *error)
{
    replay *r = calloc(1, sizeof *r);
    if (r) r->name = strdup(argument);
    if (!r || !r->name) {
        free(r);
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    if (!read_cassette(r, error)) {
        replay_close(r);
        return NULL;
    }
    r->strict = options[OPTION_STRICT] != 0;
    for (size_t i = 0; i < r->count && (double)i < options[OPTION_SKIP]; i++) r->recordings[i].used = true;
    return r;
}

/* ---- answering -------------------------------------------------------------------------------------------------------------------- */

/* The reply recorded for this very prompt; else the next for any prompt; else, unless strict, the next of all. */
static recording *choose(replay *r, const char *prompt)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(prompt, strlen(prompt));
    kf_hash_hex(&hash, hex);
    recording *any = NULL, *next = NULL;
    for (size_t i = 0; i < r->count; i++) {
        recording *rec = &r->recordings[i];
        if (rec->used) continue;
        if (strcmp(rec->match, hex) == 0) return rec;
        if (!any && !rec->match[0]) any = rec;
        if (!next) next = rec;
    }
    return r->strict ? NULL : any ? any : next;
}

static bool replay_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    replay *r = state;
    if (!grow((void **)&r->queue, r->queued, &r->queue_capacity, sizeof *r->queue))
        return kf_fail(error, KF_ERROR_MEMORY, "out of memory");
    kf_llm_reply *reply = &r->queue[r->queued++];
    recording *rec = choose(r, request->prompt);
    if (rec) {
        *reply = rec->reply; /* handed over: a recording is used once */
        rec->reply = (kf_llm_reply){0};
        rec->used = true;
    } else {
        *reply = kf_llm_reply_empty(request->tag);
        reply->outcome = KF_LLM_EXHAUSTED;
        kf_fail(&reply->error, KF_ERROR_LIMIT, "%s: no recorded reply is left for this prompt (%zu in all)", r->name, r->count);
    }
    reply->tag = request->tag;
    return true;
}

static int replay_in_flight(const void *state)
{
    return (int)((const replay *)state)->queued;
}

static int replay_poll(void *state, double seconds, kf_llm_reply *reply)
{
    (void)seconds; /* a reply is there at once or never */
    replay *r = state;
    if (!r->queued) return 0;
    *reply = r->queue[0];
    memmove(r->queue, r->queue + 1, --r->queued * sizeof *r->queue);
    return 1;
}

static size_t replay_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    (void)fds, (void)most;
    if (((const replay *)state)->queued) *wake = fmin(*wake, kf_now());
    return 0;
}

const kf_llm_provider kf_llm_replay = {
    .name = "replay",
    .form = "replay:FILE",
    .takes_argument = true,
    .options = {[OPTION_SKIP] = {"skip", 0, 0, 1e9, NULL}, [OPTION_STRICT] = {"strict", 0, 0, 1, NULL}},
    .open = replay_open,
    .submit = replay_submit,
    .in_flight = replay_in_flight,
    .poll = replay_poll,
    .close = replay_close,
    .watch = replay_watch,
};
