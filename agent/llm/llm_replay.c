/* Recorded replies: a cassette (docs/reference/replay-format.md) or the calls of a stored run. The
 * whole recording is read when it is opened, so an error in its last line shows before the first
 * call. Only the prompts so far decide which reply a prompt gets: with equal prompts a run repeats
 * itself.
 *
 * During a call of a live model the search does other work, and after a failure it pauses the
 * model. So a recording holds the progress of the run at the request ("asked") and at the reply
 * ("after"). A replayed run sends the request and gets the reply at the same progress
 * (kf_llm_progress). Then both runs have done the same work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extract.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "kforge/list.h"
#include "kforge/store.h"
#include "llm_provider.h"

#define CASSETTE_SCHEMA "kforge-cassette/1"
#define CASSETTE_BYTES (256u << 20)

typedef struct recording {
    /* "": any prompt. */
    char match[KF_HASH_HEX];
    /* The reply to hand out, without the tag. */
    kf_llm_reply reply;
    /* Progress (kf_llm_progress) at the request and at the reply. 0: at once. */
    int64_t asked, after;
    /* knows_resting: the recording has `resting`. */
    bool used, knows_resting;
    /* As kf_llm_resting. */
    uint64_t resting;
} recording;

typedef struct queued_reply {
    kf_llm_reply reply;
    int64_t after;
    /* The place of its recording: replies come in the recorded order. */
    size_t order;
} queued_reply;

typedef struct replay {
    /* The file, for messages. */
    char *name;
    char *model;
    recording *recordings;
    size_t count;
    /* timed: at least one recording has `after`. */
    bool strict, timed;
    /* of an agent's recorded episodes */
    bool is_agent;
    /* Answered, not yet polled. */
    queued_reply *queue;
    size_t queued;
    int64_t progress;
} replay;

static void replay_close(void *state)
{
    replay *r = state;
    for (size_t i = 0; i < r->count; i++) kf_llm_reply_free(&r->recordings[i].reply);
    for (size_t i = 0; i < r->queued; i++) kf_llm_reply_free(&r->queue[i].reply);
    free(r->recordings);
    free(r->queue);
    free(r->name);
    free(r->model);
    free(r);
}

/* ---- reading a cassette ---------------------------------------------------------------------- */

static bool read_header(replay *r, const cJSON *json, const char *where, kf_error *error)
{
    kf_json_reader reader = kf_json_object(json, where, "", error);
    const char *schema = kf_json_string(&reader, "schema"),
               *source = kf_json_string(&reader, "source");
    const char *model = kf_json_string(&reader, "model");
    if (strcmp(schema, CASSETTE_SCHEMA) != 0)
        kf_json_complain(&reader, "schema", "\"%s\" is not \"" CASSETTE_SCHEMA "\"", schema);
    if (!*source) kf_json_complain(&reader, "source", "empty; name the source of the replies");
    kf_json_string_or(&reader, "task", "");
    if (!kf_json_finish(&reader)) return false;
    r->model = strdup(model);
    return r->model || kf_fail_memory(error, "a recorded reply");
}

static bool is_hash(const char *text)
{
    return strlen(text) == KF_HASH_HEX - 1 && strspn(text, "0123456789abcdef") == KF_HASH_HEX - 1;
}

/* Fills the reply of a recording. Takes `text` over. NULL: out of memory. */
static bool set_reply(recording *rec, char *text, size_t size, const char *model,
                      kf_llm_outcome outcome, const char *failure, kf_error *error)
{
    rec->reply.model = strdup(model);
    if (text) kf_llm_reply_set_text(&rec->reply, text, size);
    if (!text || !rec->reply.model) return kf_fail_memory(error, "a recorded reply");
    rec->reply.outcome = outcome;
    /* No reply came, which is not the same as an empty text. */
    if (outcome == KF_LLM_FAILED && !size) free(kf_steal(&rec->reply.text));
    if (failure || outcome == KF_LLM_FAILED)
        kf_fail(&rec->reply.error, KF_ERROR_IO, "%s", failure ? failure : "recorded as failed");
    return true;
}

static bool read_recording(const replay *r, recording *rec, const cJSON *json, const char *where,
                           kf_error *error)
{
    kf_json_reader reader = kf_json_object(json, where, "", error);
    const cJSON *match = kf_json_any(&reader, "match");
    if (match && !cJSON_IsNull(match) && !(cJSON_IsString(match) && is_hash(match->valuestring)))
        kf_json_complain(&reader, "match",
                         "expected null or the 64 hexadecimal digits of a SHA-256");
    kf_json_string_or(&reader, "prompt", "");
    kf_json_string_or(&reader, "system", "");
    kf_json_string_or(&reader, "note", "");
    const char *text = kf_json_string(&reader, "reply"),
               *outcome = kf_json_string_or(&reader, "outcome", "ok");
    const char *failure = kf_json_string_or(&reader, "error", NULL),
               *model = kf_json_string_or(&reader, "model", r->model);
    double cost = kf_json_number_or(&reader, "cost_usd", -1, 1e6, -1);
    rec->reply.cost_usd = cost < 0 ? NAN : cost;
    rec->reply.seconds = kf_json_number_or(&reader, "seconds", 0, 1e6, 0);
    rec->asked = kf_json_integer_or(&reader, "asked", 0, INT64_C(1) << 50, 0);
    rec->after = kf_json_integer_or(&reader, "after", 0, INT64_C(1) << 50, 0);
    const cJSON *tokens = kf_json_object_or_null(&reader, "tokens");
    kf_llm_outcome known;
    if (!kf_llm_outcome_parse(outcome, &known))
        kf_json_complain(&reader, "outcome", "unknown outcome \"%s\"", outcome);
    if (strlen(text) > KF_REPLY_BYTES)
        kf_json_complain(&reader, "reply", "more than %u bytes", KF_REPLY_BYTES);
    if (!kf_json_finish(&reader)) return false;
    if (tokens) {
        kf_json_reader counts = kf_json_object(tokens, where, "tokens", error);
        rec->reply.prompt_tokens = kf_json_integer_or(&counts, "prompt", -1, INT64_MAX, -1);
        rec->reply.completion_tokens = kf_json_integer_or(&counts, "completion", -1, INT64_MAX, -1);
        if (!kf_json_finish(&counts)) return false;
    }
    if (cJSON_IsString(match)) memcpy(rec->match, match->valuestring, KF_HASH_HEX);
    char *copy = strdup(text);
    return set_reply(rec, copy, copy ? strlen(copy) : 0, model, known,
                     failure && *failure ? failure : NULL, error);
}

static recording *add_recording(replay *r, kf_error *error)
{
    if (!kf_list_grow(&r->recordings, r->count)) {
        kf_fail_memory(error, "a recorded reply");
        return NULL;
    }
    recording *rec = &r->recordings[r->count++];
    *rec = (recording){.reply = kf_llm_reply_empty(0)};
    return rec;
}

static bool read_line(replay *r, const char *text, size_t size, int line, kf_error *error)
{
    char where[512];
    snprintf(where, sizeof where, "%.480s:%d", r->name, line);
    kf_auto(cJSON) json = kf_json_parse(text, size, 0, where, error);
    if (!json) return false;
    if (!r->model) return read_header(r, json, where, error);
    recording *rec = add_recording(r, error);
    return rec && read_recording(r, rec, json, where, error);
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
        while (start + blank < end && (text[start + blank] == ' ' || text[start + blank] == '\t' ||
                                       text[start + blank] == '\r'))
            blank++;
        if (start + blank < end && !read_line(r, text + start, end - start, line, error))
            return false;
    }
    if (!r->model)
        return kf_fail(error, KF_ERROR_INPUT,
                       "%s: empty; a cassette starts with a line {\"schema\": \"" CASSETTE_SCHEMA
                       "\", …}",
                       r->name);
    return true;
}

/* ---- reading a run --------------------------------------------------------------------------- */

static bool take_call(replay *r, kf_store *store, const kf_store_model_call *call, kf_error *error)
{
    kf_llm_outcome outcome;
    size_t size, prompt_size;
    if (!kf_llm_outcome_parse(call->outcome, &outcome))
        return kf_fail(error, KF_ERROR_INPUT, "%s: call %lld has the unknown outcome \"%s\"",
                       r->name, (long long)call->id, call->outcome);
    kf_autofree char *prompt =
        kf_store_model_call_text(store, call->id, KF_CALL_PROMPT, &prompt_size, error);
    char *text =
        prompt ? kf_store_model_call_text(store, call->id, KF_CALL_REPLY, &size, error) : NULL;
    recording *rec = text ? add_recording(r, error) : NULL;
    if (!rec) {
        free(text);
        return false;
    }
    kf_hash hash = kf_hash_bytes(prompt, prompt_size);
    kf_hash_hex(&hash, rec->match);
    kf_auto(cJSON) settings = *call->settings ? cJSON_Parse(call->settings) : NULL;
    rec->asked = (int64_t)kf_json_get_number(settings, "asked", 0);
    rec->after = (int64_t)kf_json_get_number(settings, "after", 0);
    const cJSON *model, *resting = cJSON_GetObjectItemCaseSensitive(settings, "resting");
    rec->knows_resting = cJSON_IsArray(resting);
    cJSON_ArrayForEach(model, resting)
    {
        if (cJSON_IsNumber(model) && model->valuedouble >= 0 && model->valuedouble < 64)
            rec->resting |= UINT64_C(1) << (int)model->valuedouble;
    }
    rec->reply.prompt_tokens = call->prompt_tokens;
    rec->reply.completion_tokens = call->completion_tokens;
    rec->reply.cost_usd = call->cost_usd;
    rec->reply.seconds = isnan(call->seconds) ? 0 : call->seconds;
    return set_reply(rec, text, size, call->model, outcome, *call->message ? call->message : NULL,
                     error);
}

/* Reads the calls of one model, or with `name` NULL of all. */
static bool read_run(replay *r, const char *path, const char *id, const char *name, kf_error *error)
{
    /* The latest run may be the one that asks. */
    if (kf_store_means_latest(id))
        return kf_fail(
            error, KF_ERROR_INPUT,
            "replay:%s: give the id of the run (\"kforge list\" shows it) instead of \"%s\"",
            r->name, id);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, error);
    kf_autoresult kf_store_run run = {0};
    if (!store || !kf_store_find_run(store, id, &run, error)) return false;
    kf_auto(kf_store_cursor) cursor = kf_store_model_calls(store, run.id, name, error);
    kf_autoresult kf_store_model_call call = {0};
    int row = cursor ? 1 : -1;
    while (row == 1 && (row = kf_store_next_model_call(cursor, &call, error)) == 1)
        if (!take_call(r, store, &call, error)) return false;
    if (row == 0 && !r->count && !name)
        return kf_fail(error, KF_ERROR_INPUT, "%s: run %s has no model calls", kf_store_path(store),
                       run.id);
    return row == 0;
}

/* True if `text` may be the id of a run and is no file. */
static bool is_run(const char *text)
{
    size_t length = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz");
    return length && length < KF_RUN_ID && !text[length] && access(text, F_OK) != 0;
}

char *kf_llm_replayed_run(const char *spec)
{
    bool is_replay = strncmp(spec, "replay", 6) == 0 && (spec[6] == ':' || spec[6] == ',');
    const char *argument = is_replay ? strchr(spec, ':') : NULL;
    return argument && is_run(argument + 1) ? strdup(argument + 1) : NULL;
}

/* Reads a file, else STORE#RUN[#NAME], else RUN. */
static bool read_argument(replay *r, kf_error *error)
{
    if (is_run(r->name)) return read_run(r, NULL, r->name, NULL, error);
    const char *mark = strchr(r->name, '#');
    if (!mark || access(r->name, F_OK) == 0) return read_cassette(r, error);
    kf_autofree char *path = strndup(r->name, (size_t)(mark - r->name)), *run = strdup(mark + 1);
    if (!path || !run) return kf_fail_memory(error, "a model spec");
    char *name = strchr(run, '#');
    if (name) *name++ = '\0';
    r->is_agent = name && strncmp(name, "agent:", 6) == 0;
    return read_run(r, path, run, name, error);
}

enum { OPTION_SKIP, OPTION_STRICT };

static void *replay_open(const char *argument, const double *options, kf_error *error)
{
    replay *r = calloc(1, sizeof *r);
    if (r) r->name = strdup(argument);
    if (!r || !r->name) {
        free(r);
        kf_fail_memory(error, "a model");
        return NULL;
    }
    if (!read_argument(r, error)) {
        replay_close(r);
        return NULL;
    }
    r->strict = options[OPTION_STRICT] != 0;
    for (size_t i = 0; i < r->count; i++) r->timed |= r->recordings[i].after > 0;
    for (size_t i = 0; i < r->count && (double)i < options[OPTION_SKIP]; i++)
        r->recordings[i].used = true;
    return r;
}

/* ---- answering ------------------------------------------------------------------------------- */

/* Returns the reply recorded for this prompt, else the next one for any prompt, else, unless
 * strict, the next of all. The recordings lie in the order of the replies. Calls in flight at the
 * same time often have equal prompts but different roles in the search. Their progress at the
 * request decides. */
static recording *choose(replay *r, const char *prompt)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(prompt, strlen(prompt));
    kf_hash_hex(&hash, hex);
    recording *same = NULL, *any = NULL, *next = NULL;
    for (size_t i = 0; i < r->count; i++) {
        recording *rec = &r->recordings[i];
        if (rec->used) continue;
        bool matches = strcmp(rec->match, hex) == 0;
        if (matches && (!r->progress || rec->asked == r->progress)) return rec;
        if (matches && !same) same = rec;
        if (!any && !rec->match[0]) any = rec;
        if (!next) next = rec;
    }
    return same ? same : r->strict ? NULL : any ? any : next;
}

static bool replay_submit(void *state, const kf_llm_request *request, kf_error *error)
{
    replay *r = state;
    if (!kf_list_grow(&r->queue, r->queued)) return kf_fail_memory(error, "a reply");
    queued_reply *q = &r->queue[r->queued++];
    recording *rec = choose(r, request->prompt);
    *q = (queued_reply){.reply = kf_llm_reply_empty(request->tag), .order = r->count};
    if (rec) {
        *q = (queued_reply){
            .reply = rec->reply, .after = rec->after, .order = (size_t)(rec - r->recordings)};
        /* Moved: each recording is used once. */
        rec->reply = (kf_llm_reply){0};
        rec->used = true;
    } else {
        q->reply.outcome = KF_LLM_EXHAUSTED;
        /* The model had not answered when its run ended. */
        if (r->timed) q->after = INT64_MAX;
        kf_fail(&q->reply.error, KF_ERROR_LIMIT,
                "%s: no recorded reply is left for this prompt (%zu in all)", r->name, r->count);
    }
    q->reply.tag = request->tag;
    return true;
}

static void replay_pass(void *state, const char *prompt)
{
    recording *rec = choose(state, prompt);
    if (rec) rec->used = true;
}

static int replay_in_flight(const void *state)
{
    return (int)((const replay *)state)->queued;
}

/* Returns the reply that is due first, NULL if no reply is due. The order is that of the requests,
 * or if it is known that of the recorded replies. */
static queued_reply *due(const replay *r)
{
    queued_reply *first = NULL;
    for (size_t i = 0; i < r->queued; i++) {
        queued_reply *q = &r->queue[i];
        bool held = r->progress && q->after > r->progress;
        if (!held && (!first || (r->timed && q->order < first->order))) first = q;
    }
    return first;
}

static int replay_poll(void *state, double seconds, kf_llm_reply *reply)
{
    /* A reply is there at once, or after other work of the caller. */
    (void)seconds;
    replay *r = state;
    queued_reply *q = due(r);
    if (!q) return 0;
    *reply = q->reply;
    memmove(q, q + 1, (size_t)(r->queue + --r->queued - q) * sizeof *q);
    return 1;
}

static size_t replay_watch(const void *state, struct pollfd *fds, size_t most, double *wake)
{
    (void)fds, (void)most;
    if (due(state)) *wake = fmin(*wake, kf_now());
    return 0;
}

static void replay_progress(void *state, int64_t done)
{
    ((replay *)state)->progress = done;
}

/* The recorded run already contains the pauses of the model. */
static kf_llm_readiness replay_ready(const void *state)
{
    const replay *r = state;
    bool any = false;
    if (!r->timed || !r->progress) return KF_LLM_LIVE;
    for (size_t i = 0; i < r->count; i++) {
        if (r->recordings[i].used) continue;
        if (r->recordings[i].asked <= r->progress) return KF_LLM_READY;
        any = true;
    }
    return any ? KF_LLM_NOT_YET : KF_LLM_USED_UP;
}

static bool replay_resting(const void *state, uint64_t *models)
{
    const replay *r = state;
    for (size_t i = 0; i < r->count; i++) {
        const recording *rec = &r->recordings[i];
        if (rec->used || rec->asked != r->progress || !rec->knows_resting) continue;
        *models = rec->resting;
        return true;
    }
    return false;
}

/* An agent's recorded episodes are replies like others, to the same requests. */
static int replay_episodes(const void *state)
{
    return ((const replay *)state)->is_agent;
}

const kf_llm_provider kf_llm_replay = {
    .name = "replay",
    .form = "replay:FILE",
    .takes_argument = true,
    .options =
        {[OPTION_SKIP] = {"skip", 0, 0, 1e9, NULL}, [OPTION_STRICT] = {"strict", 0, 0, 1, NULL}},
    .open = replay_open,
    .submit = replay_submit,
    .in_flight = replay_in_flight,
    .poll = replay_poll,
    .close = replay_close,
    .watch = replay_watch,
    .progress = replay_progress,
    .pass = replay_pass,
    .ready = replay_ready,
    .resting = replay_resting,
    .episodes = replay_episodes,
};
