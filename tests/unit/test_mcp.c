/* The Model Context Protocol: each revision, garbage, batches, cancellation, progress, HTTP's
 * headers, the served folder, and what tools return. The service that judges is a double. */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/scan.h"
#include "mcp_internal.h"
#include "workers.h"

/* ---- the double of the service --------------------------------------------------------------- */

struct kf_ticket {
    kf_service *service;
    atomic_int state;
    kf_judgement judgement;
    int references;
};

struct kf_service {
    char *store;
    /* The last submission. */
    kf_judge_mode mode;
    bool fresh, python, kept;
    char source[256], flag[64];
    /* What tickets become. */
    kf_ticket_state outcome;
    kf_verdict *verdict;
    kf_ticket tickets[8];
    atomic_int count;
};

const char *kf_service_store(const kf_service *service)
{
    return service->store;
}

kf_task *kf_service_task(kf_service *service, const char *task, kf_error *error)
{
    (void)service;
    kf_fail(error, KF_ERROR_INPUT, "task: there is no task \"%s\"", task);
    return NULL;
}

cJSON *kf_service_tasks(kf_service *service, kf_error *error)
{
    (void)service;
    (void)error;
    return cJSON_Parse("[{\"name\":\"installed\",\"hash\":\"00\",\"family\":\"gemm\",\"best\":2}]");
}

void kf_service_read_figures(kf_service *service, kf_service_figures *figures)
{
    (void)service;
    *figures = (kf_service_figures){.ready = true, .device = "cpu", .environment_id = "cpu test"};
}

kf_ticket *kf_service_submit(kf_service *service, const kf_submission *submission,
                             kf_refusal *refusal, kf_error *error)
{
    (void)error;
    *refusal = KF_REFUSED_INPUT;
    service->mode = submission->mode;
    service->fresh = submission->fresh;
    service->python = submission->python;
    service->kept = submission->kept;
    snprintf(service->source, sizeof service->source, "%s", submission->source);
    snprintf(service->flag, sizeof service->flag, "%s",
             submission->flag_count ? submission->flags[0] : "");
    kf_ticket *ticket = &service->tickets[service->count];
    *ticket = (kf_ticket){.service = service, .references = 1};
    ticket->judgement.verdict = service->verdict;
    ticket->judgement.status = service->verdict ? service->verdict->status : KF_JUDGE_ERROR;
    ticket->judgement.summary = (char *)"lost";
    ticket->judgement.next = (char *)"again";
    snprintf(ticket->judgement.task, KF_HASH_HEX, "%s", kf_task_hash(submission->loaded));
    ticket->judgement.mode = submission->mode;
    atomic_store(&ticket->state, (int)service->outcome);
    atomic_fetch_add(&service->count, 1);
    return ticket;
}

const char *kf_ticket_id(const kf_ticket *ticket)
{
    static const char *const ids[] = {"00", "01", "02", "03", "04", "05", "06", "07"};
    return ids[ticket - ticket->service->tickets];
}

kf_ticket *kf_service_find(kf_service *service, const char *id)
{
    for (int i = 0; i < service->count; i++)
        if (strcmp(kf_ticket_id(&service->tickets[i]), id) == 0) {
            service->tickets[i].references++;
            return &service->tickets[i];
        }
    return NULL;
}

kf_ticket_state kf_ticket_state_now(kf_ticket *ticket)
{
    return (kf_ticket_state)atomic_load(&ticket->state);
}

kf_ticket_state kf_ticket_wait(kf_ticket *ticket, double seconds)
{
    double until = kf_now() + seconds;
    while (kf_ticket_state_now(ticket) < KF_TICKET_DONE && kf_now() < until) usleep(1000);
    return kf_ticket_state_now(ticket);
}

const kf_judgement *kf_ticket_judgement(kf_ticket *ticket)
{
    return &ticket->judgement;
}

bool kf_ticket_cancel(kf_ticket *ticket)
{
    atomic_store(&ticket->state, KF_TICKET_CANCELLED);
    return true;
}

void kf_ticket_release(kf_ticket *ticket)
{
    if (ticket) ticket->references--;
}

const char *kf_ticket_state_name(kf_ticket_state state)
{
    static const char *const names[] = {"queued", "running", "done", "cancelled", "expired"};
    return names[state];
}

const char *kf_judgement_status(const kf_judgement *judgement)
{
    return kf_status_name(judgement->status);
}

bool kf_judge_mode_parse(const char *name, kf_judge_mode *mode)
{
    *mode = strcmp(name, "check") == 0    ? KF_MODE_CHECK
            : strcmp(name, "verify") == 0 ? KF_MODE_VERIFY
                                          : KF_MODE_TIME;
    return true;
}

bool kf_scan_compile(const char *source, size_t size, char **text, size_t *text_size, char **binary,
                     size_t *binary_size, kf_error *error)
{
    (void)source;
    (void)size;
    (void)text_size;
    (void)binary_size;
    (void)error;
    *text = *binary = NULL;
    return true;
}

/* ---- surroundings ---------------------------------------------------------------------------- */

typedef struct fixture {
    char *folder;
    kf_service service;
    kf_mcp *server;
    kf_mcp_session *session;
    pthread_mutex_t lock;
    kf_buffer sent;
} fixture;

static const char task_json[] =
    "{\"schema\":\"kforge-task/1\",\"name\":\"hidden\",\"description\":\"Doubles x.\","
    "\"family\":\"elementwise\",\"params\":{\"n\":64},\"arguments\":["
    "{\"name\":\"x\",\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[\"n\"],\"distribution\":"
    "{\"kind\":\"normal\"}},{\"name\":\"y\",\"kind\":\"output\",\"dtype\":\"f32\",\"shape\":"
    "[\"n\"]},{\"name\":\"n\",\"kind\":\"scalar\",\"dtype\":\"i64\",\"value\":\"n\"}],"
    "\"oracle\":{\"file\":\"oracle.cu\"},\"baseline\":{\"file\":\"baseline.cu\"},\"workloads\":["
    "{\"name\":\"main\"},{\"name\":\"secretshape\",\"params\":{\"n\":31337},\"hidden\":true,"
    "\"timed\":false}]}";
static const char oracle_text[] = "// ORACLE_SECRET\nextern \"C\" void hidden_oracle() {}\n";

static void write_file(fixture *f, const char *name, const char *text)
{
    kf_error error = {0};
    kf_autofree char *path = kf_path_join(f->folder, name);
    if (!kf_directory_make_above(path, &error) || !kf_file_write(path, text, strlen(text), &error))
        fail_msg("%s", error.text);
}

static void note_sent(void *context, const char *text)
{
    fixture *f = context;
    pthread_mutex_lock(&f->lock);
    kf_buffer_string(&f->sent, text);
    kf_buffer_string(&f->sent, "\n");
    pthread_mutex_unlock(&f->lock);
}

static int set_up(void **state)
{
    kf_error error = {0};
    fixture *f = calloc(1, sizeof *f);
    f->folder = kf_directory_temporary("kforge-test-mcp", &error);
    assert_non_null(f->folder);
    pthread_mutex_init(&f->lock, NULL);
    write_file(f, "root/hidden/task.json", task_json);
    write_file(f, "root/hidden/oracle.cu", oracle_text);
    write_file(f, "root/hidden/baseline.cu", "extern \"C\" void hidden() {}\n");
    write_file(f, "root/mine.cu", "#include <time.h>\nlong f() { return clock_gettime(0, 0); }\n");
    write_file(f, "outside.cu", "OUTSIDE_SECRET\n");
    f->service.store = kf_path_join(f->folder, "kforge.db");
    f->service.outcome = KF_TICKET_DONE;
    kf_autofree char *root = kf_path_join(f->folder, "root");
    f->server = kf_mcp_new(&(kf_mcp_settings){.root = root, .jobs = &f->service}, &error);
    if (!f->server) fail_msg("%s", error.text);
    f->session = kf_mcp_session_new(f->server, note_sent, f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < f->service.count; i++)
        assert_int_equal(f->service.tickets[i].references, 0);
    kf_mcp_session_free(f->session);
    kf_mcp_free(f->server);
    kf_verdict_free(f->service.verdict);
    kf_directory_remove(f->folder, NULL);
    kf_buffer_free(&f->sent);
    pthread_mutex_destroy(&f->lock);
    free(f->service.store);
    free(f->folder);
    free(f);
    return 0;
}

/* Returns the answer to a message; NULL without one. The caller frees. */
static char *ask(fixture *f, const char *text, size_t size)
{
    kf_mcp_request *request = kf_mcp_accept(f->session, text, size);
    return request ? kf_mcp_run(request) : NULL;
}

static void initialize(fixture *f, const char *revision)
{
    kf_autobuffer text = {0};
    kf_buffer_format(&text,
                     "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                     "{\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}",
                     revision);
    free(ask(f, text.data, text.size));
}

/* Makes the message of a call. The caller frees. `meta` may be NULL. */
static char *call_text(const char *tool, const char *arguments, const char *meta)
{
    kf_autobuffer text = {0};
    kf_buffer_format(&text,
                     "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":"
                     "{\"name\":\"%s\",\"arguments\":%s%s%s}}",
                     tool, arguments, meta ? ",\"_meta\":" : "", meta ? meta : "");
    return kf_buffer_take(&text);
}

/* Calls a tool. Returns its result; the caller frees. */
static cJSON *call(fixture *f, const char *tool, const char *arguments)
{
    kf_autofree char *text = call_text(tool, arguments, NULL);
    kf_autofree char *answer = ask(f, text, strlen(text));
    assert_non_null(answer);
    kf_auto(cJSON) json = cJSON_Parse(answer);
    cJSON *result = cJSON_DetachItemFromObject(json, "result");
    if (!result) fail_msg("%s", answer);
    return result;
}

static const char *text_of(const cJSON *result)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "content"), 0), "text"));
}

static void call_fails(fixture *f, const char *tool, const char *arguments, const char *part)
{
    kf_auto(cJSON) result = call(f, tool, arguments);
    if (!cJSON_IsTrue(cJSON_GetObjectItem(result, "isError")))
        fail_msg("%s %s should fail: %s", tool, arguments, text_of(result));
    if (!strstr(text_of(result), part))
        fail_msg("%s %s: \"%s\" does not say \"%s\"", tool, arguments, text_of(result), part);
}

/* Returns the structured content; the caller frees. */
static cJSON *call_good(fixture *f, const char *tool, const char *arguments)
{
    kf_auto(cJSON) result = call(f, tool, arguments);
    if (cJSON_IsTrue(cJSON_GetObjectItem(result, "isError")))
        fail_msg("%s %s: %s", tool, arguments, text_of(result));
    cJSON *content = cJSON_DetachItemFromObject(result, "structuredContent");
    kf_auto(cJSON) same = cJSON_Parse(text_of(result));
    assert_true(cJSON_Compare(content, same, true));
    return content;
}

/* ---- tables of requests and answers ---------------------------------------------------------- */

/* True if all of the pattern is in the value. "*" stands for any value. */
static bool fits(const cJSON *pattern, const cJSON *value)
{
    if (!value) return false;
    if (cJSON_IsString(pattern) && strcmp(pattern->valuestring, "*") == 0) return true;
    if (cJSON_IsObject(pattern)) {
        const cJSON *entry;
        cJSON_ArrayForEach(entry, pattern)
        {
            if (!fits(entry, cJSON_GetObjectItemCaseSensitive(value, entry->string))) return false;
        }
        return cJSON_IsObject(value);
    }
    if (!cJSON_IsArray(pattern)) return cJSON_Compare(pattern, value, true);
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(pattern) != cJSON_GetArraySize(value))
        return false;
    for (int i = 0; i < cJSON_GetArraySize(pattern); i++)
        if (!fits(cJSON_GetArrayItem(pattern, i), cJSON_GetArrayItem(value, i))) return false;
    return true;
}

static void check_answer(const char *line, const char *question, const char *answer)
{
    kf_auto(cJSON) pattern = cJSON_Parse(line);
    kf_auto(cJSON) value = cJSON_Parse(answer);
    if (!pattern) fail_msg("no JSON: %s", line);
    if (!fits(pattern, value)) fail_msg("%s\ngives %s\nnot %s", question, answer, line);
    if (strchr(answer, '\n')) fail_msg("%s: more than one line", answer);
}

static void check_json(const char *pattern, const char *tool, const cJSON *json)
{
    kf_autofree char *text = cJSON_PrintUnformatted(json);
    check_answer(pattern, tool, text);
}

/* Runs a file: "> message", then "< part of the answer" or none, and "! text that is not there". */
static void test_table(void **state)
{
    kf_error error = {0};
    const char *path = *state;
    kf_autofree char *text = kf_file_read(path, 1 << 20, NULL, &error);
    if (!text) fail_msg("%s", error.text);
    void *given = NULL;
    set_up(&given);
    fixture *f = given;
    kf_autofree char *answer = NULL;
    const char *question = NULL;
    bool answered = true;
    int count = 0;
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '>') {
            if (!answered && answer) fail_msg("%s\ngives %s", question, answer);
            free(answer);
            question = line + 2;
            answer = ask(f, question, strlen(question));
            answered = false;
            count++;
        } else if (line[0] == '<') {
            if (!answer) fail_msg("%s\ngives no answer", question);
            check_answer(line + 2, question, answer);
            answered = true;
        } else if (line[0] == '!' && strstr(answer, line + 2)) {
            fail_msg("%s\ngives %s, with %s", question, answer, line + 2);
        }
    }
    assert_true(count > 0);
    if (!answered && answer) fail_msg("%s\ngives %s", question, answer);
    tear_down(&given);
}

static void refuses_bytes_that_are_no_text(void **state)
{
    fixture *f = *state;
    static const char *const lines[] = {"\xff\xfe", "\"\xc3\"", "{\"a\":\"\xed\xa0\x80\"}"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        kf_autofree char *answer = ask(f, lines[i], strlen(lines[i]));
        check_answer("{\"id\":null,\"error\":{\"code\":-32700}}", lines[i], answer);
    }
    static const char with_nul[] = "{\"jsonrpc\":\"2.0\",\"id\":1\0,\"method\":\"ping\"}";
    kf_autofree char *answer = ask(f, with_nul, sizeof with_nul - 1);
    check_answer("{\"id\":null,\"error\":{\"code\":-32700}}", with_nul, answer);
    kf_autofree char *large = malloc(KF_MCP_BYTES + 3);
    memset(large, ' ', KF_MCP_BYTES + 2);
    kf_autofree char *refusal = ask(f, large, KF_MCP_BYTES + 2);
    check_answer("{\"id\":null,\"error\":{\"code\":-32700}}", "a large message", refusal);
}

/* ---- the list of tools ----------------------------------------------------------------------- */

static void lists_eleven_small_tools(void **state)
{
    fixture *f = *state;
    static const char *const writing[] = {"kforge_submit", "kforge_note"};
    kf_autofree char *text = cJSON_PrintUnformatted(f->server->tools);
    assert_int_equal(cJSON_GetArraySize(f->server->tools), 11);
    /* 1,500 tokens of at least 4 characters */
    assert_true(strlen(text) <= 6000);
    const cJSON *tool;
    cJSON_ArrayForEach(tool, f->server->tools)
    {
        const char *name = cJSON_GetObjectItem(tool, "name")->valuestring;
        bool writes = strcmp(name, writing[0]) == 0 || strcmp(name, writing[1]) == 0;
        const cJSON *schema = cJSON_GetObjectItem(tool, "inputSchema"),
                    *annotations = cJSON_GetObjectItem(tool, "annotations");
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(annotations, "readOnlyHint")), !writes);
        assert_string_equal(cJSON_GetObjectItem(schema, "type")->valuestring, "object");
        assert_true(strlen(cJSON_GetObjectItem(tool, "description")->valuestring) > 20);
        assert_non_null(kf_mcp_find_tool(f->server, name));
        const cJSON *required;
        cJSON_ArrayForEach(required, cJSON_GetObjectItem(schema, "required"))
        {
            assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(schema, "properties"),
                                                required->valuestring));
        }
    }
}

/* ---- long calls ------------------------------------------------------------------------------ */

static void *run_request(void *request)
{
    return kf_mcp_run(request);
}

static kf_mcp_request *start_eval(fixture *f, const char *arguments, const char *meta,
                                  pthread_t *thread)
{
    kf_autofree char *text = call_text("kforge_eval", arguments, meta);
    kf_mcp_request *request = kf_mcp_accept(f->session, text, strlen(text));
    assert_non_null(request);
    assert_true(kf_mcp_is_long(request));
    assert_int_equal(pthread_create(thread, NULL, run_request, request), 0);
    return request;
}

static void pings_and_cancels_during_a_call(void **state)
{
    fixture *f = *state;
    pthread_t thread;
    void *answer;
    initialize(f, "2025-11-25");
    f->service.outcome = KF_TICKET_RUNNING;
    start_eval(f, "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"wait_s\":3600}", NULL, &thread);
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    kf_autofree char *pong = ask(f, ping, strlen(ping));
    assert_string_equal(pong, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    /* An id that is in flight can't be used again, and another id cancels nothing. */
    static const char again[] = "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"ping\"}";
    kf_autofree char *refusal = ask(f, again, strlen(again));
    check_answer("{\"id\":\"c\",\"error\":{\"code\":-32600}}", again, refusal);
    static const char other[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":\"d\"}}";
    assert_null(ask(f, other, strlen(other)));
    while (!f->service.count) usleep(1000);
    assert_int_equal(kf_ticket_state_now(&f->service.tickets[0]), KF_TICKET_RUNNING);
    static const char cancel[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                 "\"params\":{\"requestId\":\"c\",\"reason\":\"tired\"}}";
    assert_null(ask(f, cancel, strlen(cancel)));
    pthread_join(thread, &answer);
    assert_null(answer);
    assert_int_equal(kf_ticket_state_now(&f->service.tickets[0]), KF_TICKET_CANCELLED);
}

static void cancels_when_the_client_goes(void **state)
{
    fixture *f = *state;
    pthread_t thread;
    void *answer;
    initialize(f, "2025-11-25");
    f->service.outcome = KF_TICKET_QUEUED;
    start_eval(f, "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"wait_s\":3600}", NULL, &thread);
    while (!f->service.count) usleep(1000);
    kf_mcp_session_close(f->session);
    pthread_join(thread, &answer);
    assert_null(answer);
    assert_int_equal(kf_ticket_state_now(&f->service.tickets[0]), KF_TICKET_CANCELLED);
}

static void notifies_of_progress(void **state)
{
    fixture *f = *state;
    pthread_t thread;
    void *answer;
    initialize(f, "2025-06-18");
    f->service.outcome = KF_TICKET_RUNNING;
    start_eval(f, "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"wait_s\":3600}",
               "{\"progressToken\":\"p\"}", &thread);
    for (bool seen = false; !seen; usleep(10000)) {
        pthread_mutex_lock(&f->lock);
        seen = f->sent.size && strchr(strchr(f->sent.data, '\n') + 1, '\n');
        pthread_mutex_unlock(&f->lock);
    }
    atomic_store(&f->service.tickets[0].state, KF_TICKET_DONE);
    pthread_join(thread, &answer);
    assert_non_null(answer);
    free(answer);
    double last = -1;
    for (char *rest = NULL, *line = strtok_r(f->sent.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        check_answer("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
                     "{\"progressToken\":\"p\",\"progress\":\"*\",\"message\":\"judging\"}}",
                     "progress", line);
        kf_auto(cJSON) json = cJSON_Parse(line);
        double now =
            cJSON_GetObjectItem(cJSON_GetObjectItem(json, "params"), "progress")->valuedouble;
        assert_true(now > last);
        last = now;
    }
}

static void refuses_too_many_calls(void **state)
{
    fixture *f = *state;
    kf_mcp_request *requests[KF_MCP_CALLS];
    initialize(f, "2025-11-25");
    for (int i = 0; i <= KF_MCP_CALLS; i++) {
        char text[128];
        int size = snprintf(text, sizeof text,
                            "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i + 1);
        kf_mcp_request *request = kf_mcp_accept(f->session, text, (size_t)size);
        assert_non_null(request);
        if (i < KF_MCP_CALLS) {
            requests[i] = request;
            continue;
        }
        kf_autofree char *answer = kf_mcp_run(request);
        check_answer("{\"id\":17,\"error\":{\"code\":-32600}}", text, answer);
    }
    for (int i = 0; i < KF_MCP_CALLS; i++) {
        kf_autofree char *answer = kf_mcp_run(requests[i]);
        assert_non_null(strstr(answer, "\"result\""));
    }
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *verdict_device = "cpu:0";

static kf_verdict *new_verdict(kf_status status, const char *workload, const char *text)
{
    kf_verdict *verdict = kf_verdict_new("job", "hidden", verdict_device);
    kf_workload_verdict *w = kf_verdict_add_workload(verdict, workload, true);
    w->status = KF_CORRECT;
    if (status != KF_CORRECT) {
        kf_verdict_add_finding(verdict, w, status, KF_BLAME_CANDIDATE, "output.mismatch", 31337, 1,
                               "%s", text);
        kf_output_check *output = kf_workload_add_output(w, "y");
        output->figures = (kf_error_figures){.compared = 31337,
                                             .mismatched = 5,
                                             .first_index = 31330,
                                             .first_expected = 1.5,
                                             .first_got = 2.5,
                                             .pattern = "tail from 31330"};
    }
    kf_verdict_conclude(verdict);
    return verdict;
}

/* Stores a candidate of the task "hidden". */
static int64_t record(fixture *f, const char *source, double speedup, bool verified)
{
    kf_error error = {0};
    bool found;
    kf_auto(kf_task) task = kf_served_task(&f->server->served, "hidden", &found, &error);
    kf_auto(cJSON) bundle = kf_task_bundle(task);
    kf_autofree char *text = cJSON_PrintUnformatted(bundle);
    kf_auto(kf_store) store = kf_store_open(f->service.store, KF_STORE_CREATE, &error);
    kf_auto(kf_verdict) verdict = new_verdict(KF_CORRECT, "main", "");
    verdict->speedup = (kf_interval){speedup, speedup * 0.99, speedup * 1.01};
    verdict->reverified = verified;
    verdict->workloads[0].speedup = verdict->speedup;
    verdict->workloads[0].floor_seconds = 1e-6;
    verdict->workloads[0].candidate_seconds = 4e-6;
    kf_workload_verdict *hidden = kf_verdict_add_workload(verdict, "secretshape", false);
    hidden->status = KF_CORRECT;
    hidden->floor_seconds = hidden->candidate_seconds = 1e-6;
    verdict->build = cJSON_Parse("{\"registers\":24,\"spill_bytes\":0}");
    kf_auto(cJSON) json = kf_verdict_to_json(verdict);
    kf_autofree char *packed = cJSON_PrintUnformatted(json);
    kf_store_recorded recorded = {0};
    if (!kf_store_put_task(store, kf_task_hash(task), "hidden", text, strlen(text), &error) ||
        !kf_store_record(store,
                         &(kf_store_attempt_new){.task = kf_task_hash(task),
                                                 .outcome = KF_ATTEMPT_JUDGED,
                                                 .content.source = source,
                                                 .content.source_size = strlen(source),
                                                 .verdict = verdict,
                                                 .verdict_json = packed,
                                                 .verdict_size = strlen(packed),
                                                 .device = "cpu test"},
                         &recorded, &error))
        fail_msg("%s", error.text);
    return recorded.candidate;
}

static void evaluates_a_file(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    f->service.verdict = new_verdict(KF_CORRECT, "main", "");
    kf_auto(cJSON) answer = call_good(
        f, "kforge_eval",
        "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"flags\":[\"-DB=1\"],\"mode\":\"check\"}");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok")));
    assert_int_equal(f->service.mode, KF_MODE_CHECK);
    assert_string_equal(f->service.flag, "-DB=1");
    assert_non_null(strstr(f->service.source, "clock_gettime"));
    assert_false(f->service.python);
}

/* A next step names a tool's argument where `kforge eval` has an option. */
static void names_tools_in_the_next_step(void **state)
{
    static const struct {
        kf_status status;
        const char *rule, *text, *next;
    } rows[] = {
        {KF_CORRECT, NULL, NULL, "Time it with mode time"},
        {KF_CORRECT, "wide", NULL, "mode verify"},
        {KF_CORRECT, "verified", NULL, "kforge_submit"},
        {KF_TIMEOUT, "time.limit", "the time limit passed", "endless loop"},
        {KF_CRASH, "runner.crashed", "the process crashed", "bounds"},
        {KF_COMPILE_ERROR, "build.failed", "mine.cu does not define f", "kforge_task shows"},
    };
    fixture *f = *state;
    initialize(f, "2025-11-25");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_verdict *verdict = new_verdict(KF_CORRECT, "main", "");
        bool fails = rows[i].status != KF_CORRECT;
        if (fails)
            kf_verdict_add_finding(verdict, NULL, rows[i].status, KF_BLAME_CANDIDATE, rows[i].rule,
                                   NAN, NAN, "%s", rows[i].text);
        kf_verdict_conclude(verdict);
        if (!fails && rows[i].rule) {
            verdict->speedup = verdict->workloads[0].speedup = (kf_interval){2, 0.5, 5};
            verdict->workloads[0].pairs = 1;
        }
        kf_verdict_free(f->service.verdict);
        f->service.verdict = verdict;
        bool verified = rows[i].rule && strcmp(rows[i].rule, "verified") == 0;
        kf_auto(cJSON) answer =
            call_good(f, "kforge_eval",
                      verified ? "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"mode\":\"verify\"}"
                               : "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
        const char *next = cJSON_GetObjectItem(answer, "next")->valuestring;
        if (!strstr(next, rows[i].next) || strstr(next, "--") || strstr(next, "kforge task"))
            fail_msg("%s: %s", kf_status_name(rows[i].status), next);
    }
}

static void returns_a_job_when_time_is_over(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    f->service.outcome = KF_TICKET_RUNNING;
    f->service.verdict = new_verdict(KF_CORRECT, "main", "");
    kf_auto(cJSON) answer =
        call_good(f, "kforge_eval", "{\"task\":\"hidden\",\"source\":\"int x;\",\"wait_s\":0}");
    assert_true(f->service.kept);
    assert_string_equal(cJSON_GetObjectItem(answer, "job")->valuestring, "00");
    assert_string_equal(cJSON_GetObjectItem(answer, "state")->valuestring, "running");
    assert_non_null(strstr(cJSON_GetObjectItem(answer, "next")->valuestring, "kforge_result"));
    kf_auto(cJSON) later = call_good(f, "kforge_result", "{\"job\":\"00\",\"wait_s\":0}");
    assert_string_equal(cJSON_GetObjectItem(later, "job")->valuestring, "00");
    atomic_store(&f->service.tickets[0].state, KF_TICKET_DONE);
    kf_auto(cJSON) done = call_good(f, "kforge_result", "{\"job\":\"00\"}");
    assert_string_equal(cJSON_GetObjectItem(done, "status")->valuestring, "correct");
    call_fails(f, "kforge_result", "{\"job\":\"zz\"}", "kforge_eval");
}

static void says_what_is_wrong_with_arguments(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\"}", "either file or source");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"a\",\"source\":\"b\"}",
               "either file or source");
    kf_auto(cJSON) unknown = call(f, "kforge_eval", "{\"task\":\"nowhere\",\"file\":\"mine.cu\"}");
    assert_string_equal(text_of(unknown), "nowhere: no such task; kforge_tasks lists them");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"none.cu\"}", "none.cu");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"mode\":\"fast\"}",
               "\"verify\"");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"flags\":[1]}",
               "array of strings");
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\",\"wait_s\":4000}",
               "0 to 3600");
    call_fails(f, "kforge_best", "{\"task\":\"hidden\"}", "store");
    call_fails(f, "kforge_history", "{\"task\":\"hidden\",\"limit\":1.5}", "integer");
    call_fails(f, "kforge_note", "{\"task\":\"hidden\",\"text\":\" \"}", "1 to 600 bytes");
    f->service.outcome = KF_TICKET_EXPIRED;
    call_fails(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}", "expired");
}

static void hides_hidden_workloads(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    record(f, "of a task that the store has", 2, true);
    f->service.verdict =
        new_verdict(KF_WRONG_RESULT, "secretshape", "output y: 5 of 31337 elements are wrong");
    kf_auto(cJSON) hidden = call(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
    assert_null(strstr(text_of(hidden), "secretshape"));
    assert_null(strstr(text_of(hidden), "3133"));
    assert_non_null(strstr(text_of(hidden), "wrong_result"));
    kf_verdict_free(f->service.verdict);
    f->service.verdict = new_verdict(KF_CORRECT, "main", "");
    kf_verdict_add_finding(f->service.verdict, NULL, KF_OUT_OF_MEMORY, KF_BLAME_MACHINE,
                           "memory.short", NAN, NAN, "too little memory in workload secretshape");
    kf_verdict_conclude(f->service.verdict);
    kf_auto(cJSON) named = call(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
    assert_null(strstr(text_of(named), "secretshape"));
    assert_non_null(strstr(text_of(named), "out_of_memory"));
    kf_verdict_free(f->service.verdict);
    /* A name can be a part of another word: "all" of "call". */
    f->service.verdict = new_verdict(KF_CORRECT, "main", "");
    kf_verdict_add_finding(f->service.verdict, NULL, KF_CRASH, KF_BLAME_CANDIDATE, "runner.crashed",
                           NAN, NAN, "the process crashed at secretshape_kernel");
    kf_verdict_conclude(f->service.verdict);
    kf_auto(cJSON) part = call(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
    if (!strstr(text_of(part), "crashed at")) fail_msg("%s", text_of(part));
    kf_verdict_free(f->service.verdict);
    f->service.verdict =
        new_verdict(KF_WRONG_RESULT, "main", "output y: 5 of 31337 elements are wrong");
    kf_auto(cJSON) shown = call(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
    if (!strstr(text_of(shown), "main")) fail_msg("%s", text_of(shown));
    assert_non_null(strstr(text_of(shown), "31330"));
}

static void reports_a_loss(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    kf_auto(cJSON) answer =
        call_good(f, "kforge_eval", "{\"task\":\"hidden\",\"file\":\"mine.cu\"}");
    assert_string_equal(cJSON_GetObjectItem(answer, "status")->valuestring, "judge_error");
    assert_string_equal(cJSON_GetObjectItem(answer, "next")->valuestring, "again");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(answer, "candidate")));
}

/* ---- tasks and candidates -------------------------------------------------------------------- */

static void lists_tasks(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    record(f, "fast", 2, true);
    kf_auto(cJSON) all = call_good(f, "kforge_tasks", "{}");
    check_json("{\"tasks\":[{\"name\":\"hidden\",\"family\":\"elementwise\",\"best\":2},"
               "{\"name\":\"installed\",\"family\":\"gemm\",\"best\":2}]}",
               "kforge_tasks", all);
    kf_auto(cJSON) some = call_good(f, "kforge_tasks", "{\"filter\":\"GEMM\"}");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(some, "tasks")), 1);
}

static void describes_a_task(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    kf_auto(cJSON) note =
        call_good(f, "kforge_note", "{\"task\":\"hidden\",\"text\":\"float4 loads pay\"}");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(note, "stored")));
    kf_auto(cJSON) task = call_good(f, "kforge_task", "{\"task\":\"hidden\"}");
    kf_autofree char *text = cJSON_PrintUnformatted(task);
    check_answer("{\"name\":\"hidden\",\"description\":\"Doubles x.\",\"workloads\":[{\"name\":"
                 "\"main\",\"n\":64,\"timed\":true}],\"hidden_workloads\":1,\"notes\":[\"float4 "
                 "loads pay\"],\"tolerance\":{\"y\":\"*\"},\"baseline\":\"baseline.cu\"}",
                 "kforge_task", text);
    assert_non_null(strstr(text, "extern \\\"C\\\" void hidden(const float *x"));
    kf_auto(cJSON) full = call_good(f, "kforge_task", "{\"task\":\"hidden\",\"detail\":\"full\"}");
    assert_non_null(cJSON_GetObjectItem(full, "baseline_source"));
}

static void shows_candidates(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    int64_t slow = record(f, "one\ntwo\nthree\n", 1.5, true),
            fast = record(f, "one\n2\nthree\n", 3, false);
    assert_true(slow == 1 && fast == 2);
    kf_auto(cJSON) best = call_good(f, "kforge_best", "{\"task\":\"hidden\"}");
    check_json("{\"candidate\":\"c1\",\"speedup\":[1.5,1.485,1.515],\"verified\":true}",
               "kforge_best", best);
    assert_null(cJSON_GetObjectItem(best, "source"));
    kf_auto(cJSON) source = call_good(f, "kforge_best", "{\"task\":\"hidden\",\"source\":true}");
    assert_string_equal(cJSON_GetObjectItem(source, "source")->valuestring, "one\ntwo\nthree\n");
    kf_auto(cJSON) history = call_good(f, "kforge_history", "{\"task\":\"hidden\"}");
    check_json("{\"history\":[{\"candidate\":\"c2\",\"status\":\"correct\",\"speedup\":"
               "[3,2.97,3.03],\"move\":\"eval\"},{\"candidate\":\"c1\"}]}",
               "kforge_history", history);
    kf_auto(cJSON) latest = call_good(f, "kforge_history", "{\"task\":\"hidden\",\"limit\":1}");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(latest, "history")), 1);
    kf_auto(cJSON) diff = call_good(f, "kforge_diff", "{\"a\":\"c1\",\"b\":\"c2\"}");
    assert_string_equal(cJSON_GetObjectItem(diff, "diff")->valuestring,
                        "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_true(cJSON_GetObjectItem(diff, "ratio")->valuedouble == 2);
    call_fails(f, "kforge_diff", "{\"a\":\"c1\",\"b\":\"c99\"}", "kforge_history");
}

static void profiles_without_counters(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    record(f, "#include <time.h>\nlong x = clock_gettime(0, 0);\n", 1.5, true);
    kf_auto(cJSON) profile = call_good(f, "kforge_profile", "{\"candidate\":\"c1\"}");
    kf_autofree char *text = cJSON_PrintUnformatted(profile);
    check_answer("{\"candidate\":\"c1\",\"floor_share\":{\"main\":0.25},\"registers\":24,"
                 "\"spill_bytes\":0}",
                 "kforge_profile", text);
    assert_non_null(strstr(cJSON_GetObjectItem(profile, "counters")->valuestring, "none"));
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(profile, "scan")) > 0);
    assert_null(strstr(text, "secretshape"));
    call_fails(f, "kforge_profile", "{\"candidate\":\"c1\",\"workload\":\"secretshape\"}",
               "no such workload");
    call_fails(f, "kforge_profile", "{\"candidate\":\"c7\"}", "no such candidate");
}

static void profiles_with_counters(void **state)
{
    fixture *f = *state;
    kf_error error = {0};
    static const char counters[] =
        "{\"candidate\":\"00\",\"workload\":\"main\",\"kernels\":[{\"name\":\"run\",\"part\":0.9,"
        "\"registers\":40,\"local_bytes\":16,\"occupancy\":0.75,\"occupancy_limit\":\"registers\","
        "\"metrics\":{\"sm__cycles\":5},\"roofline\":{\"bound\":\"dram\",\"percent\":88,\"stalls\":"
        "[{\"name\":\"long_scoreboard\",\"percent\":62}]}},{\"name\":\"b\"},{\"name\":\"c\"}],"
        "\"work\":{"
        "\"own\":1,\"rows\":[{\"from\":\"own kernels\",\"part\":1}]},\"lines\":[{\"file\":"
        "\"candidate.cu\",\"line\":2,\"part\":0.6,\"stalls\":[{\"name\":\"barrier\",\"percent\":75}"
        "]"
        "}]}";
    initialize(f, "2025-11-25");
    record(f, "first\n  counted;\n", 1.5, true);
    kf_store *store = kf_store_open(f->service.store, KF_STORE_WRITE, &error);
    assert_true(kf_store_put_counters(store, 1, "cpu test", counters, &error));
    kf_store_close(store);
    kf_auto(cJSON) profile = call_good(f, "kforge_profile", "{\"candidate\":\"c1\"}");
    kf_autofree char *text = cJSON_PrintUnformatted(profile);
    check_answer(
        "{\"floor_share\":{\"main\":0.25},\"work\":\"device time: 100 % own "
        "kernels\",\"kernels\":[{\"name\":\"run\",\"registers\":40,"
        "\"local_bytes\":16,\"occupancy\":0.75,\"bound\":\"dram\",\"percent\":88,\"stalls\":"
        "[{\"name\":\"long_scoreboard\",\"percent\":62}]},{\"name\":\"b\"}]}",
        "kforge_profile", text);
    check_answer("{\"lines\":[{\"line\":2,\"part\":0.6,\"text\":\"counted;\",\"stall\":{\"name\":"
                 "\"barrier\",\"percent\":75}}]}",
                 "kforge_profile", text);
    assert_null(strstr(text, "metrics"));
}

/* A worker on a GPU that counts. The linker's --wrap sends the calls here. */
static struct {
    const char *counters; /* of the next run */
    int runs;
} gpu;

kf_workers *__wrap_kf_workers_open(const char *const *specs, size_t count,
                                   const kf_workers_options *options, kf_error *error);
kf_workers *__wrap_kf_workers_open(const char *const *specs, size_t count,
                                   const kf_workers_options *options, kf_error *error)
{
    (void)specs, (void)count, (void)error;
    assert_string_equal(options->device, "cuda:0");
    return (kf_workers *)&gpu;
}

bool __wrap_kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket,
                              kf_error *error);
bool __wrap_kf_workers_submit(kf_workers *workers, const kf_job *job, int64_t ticket,
                              kf_error *error)
{
    (void)workers, (void)ticket, (void)error;
    assert_string_equal(job->options.counters, "all");
    gpu.runs++;
    return true;
}

int __wrap_kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result,
                           kf_error *error);
int __wrap_kf_workers_wait(kf_workers *workers, double seconds, kf_workers_result *result,
                           kf_error *error)
{
    (void)workers, (void)seconds, (void)error;
    result->outcome = KF_WORKERS_JUDGED;
    result->verdict = new_verdict(KF_CORRECT, "main", "");
    result->verdict->counters = cJSON_Parse(gpu.counters);
    return 1;
}

void __wrap_kf_workers_close(kf_workers *workers);
void __wrap_kf_workers_close(kf_workers *workers)
{
    (void)workers;
}

/* Profiles c1 and returns the answer, after so many runs in all. */
static char *profile_after(fixture *f, const char *arguments, const char *counters, int runs)
{
    gpu.counters = counters;
    kf_auto(cJSON) profile = call_good(f, "kforge_profile", arguments);
    assert_int_equal(gpu.runs, runs);
    return cJSON_PrintUnformatted(profile);
}

#define C1 "{\"candidate\":\"c1\"}"
#define C1_AGAIN "{\"candidate\":\"c1\",\"again\":true}"
#define REFUSED "{\"note\":\"CUPTI refuses\"}"

/* Counters with a note are stored, and only a client that asks for it gets new ones. */
static void counts_once(void **state)
{
    fixture *f = *state;
    kf_error error = {0};
    gpu.runs = 0;
    initialize(f, "2025-11-25");
    verdict_device = "cuda:0";
    record(f, "first\n", 1.5, true);
    kf_autofree char *first = profile_after(f, C1, REFUSED, 1),
                     *second = profile_after(f, C1, "{}", 1);
    assert_non_null(strstr(first, "CUPTI refuses"));
    assert_string_equal(first, second);
    kf_autofree char *third =
        profile_after(f, C1_AGAIN, "{\"kernels\":[{\"name\":\"run\"}],\"lines\":[]}", 2);
    kf_autofree char *fourth = profile_after(f, C1, "{}", 2);
    assert_non_null(strstr(third, "\"run\""));
    assert_string_equal(third, fourth);
    /* Those of a search have no lines. Where lines cannot be had, the figures stay. */
    kf_auto(kf_store) store = kf_store_open(f->service.store, KF_STORE_WRITE, &error);
    assert_true(kf_store_put_counters(store, 1, "cpu test",
                                      "{\"kernels\":[{\"name\":\"searched\"}]}", &error));
    kf_autofree char *fifth = profile_after(f, C1, REFUSED, 3),
                     *sixth = profile_after(f, C1, "{}", 3);
    assert_true(strstr(fifth, "searched") && strstr(fifth, "CUPTI refuses"));
    assert_string_equal(fifth, sixth);
    verdict_device = "cpu:0";
}

static void submits_in_fresh_processes(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    record(f, "the source", 1.5, true);
    f->service.verdict = new_verdict(KF_CORRECT, "main", "");
    kf_auto(cJSON) answer =
        call_good(f, "kforge_submit", "{\"candidate\":\"c1\",\"note\":\"fewer barriers\"}");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok")));
    assert_int_equal(f->service.mode, KF_MODE_VERIFY);
    assert_true(f->service.fresh);
    assert_string_equal(f->service.source, "the source");
    kf_auto(cJSON) task = call_good(f, "kforge_task", "{\"task\":\"hidden\"}");
    check_json("{\"notes\":[\"fewer barriers\"]}", "kforge_task", task);
}

static void scans_a_file(void **state)
{
    fixture *f = *state;
    initialize(f, "2025-11-25");
    kf_auto(cJSON) scan = call_good(f, "kforge_scan", "{\"file\":\"mine.cu\"}");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(scan, "findings"), 0);
    assert_int_equal(cJSON_GetObjectItem(first, "line")->valueint, 2);
    assert_string_equal(cJSON_GetObjectItem(first, "word")->valuestring, "clock_gettime");
}

/* No tool returns the oracle or a hidden workload, whatever a client asks for. */
static void keeps_secrets(void **state)
{
    fixture *f = *state;
    static const char *const calls[][2] = {
        {"kforge_tasks", "{}"},
        {"kforge_task", "{\"task\":\"hidden\"}"},
        {"kforge_task", "{\"task\":\"hidden\",\"detail\":\"full\"}"},
        {"kforge_task", "{\"task\":\"hidden/task.json\",\"detail\":\"full\"}"},
        {"kforge_task", "{\"task\":\"hidden/oracle.cu\"}"},
        {"kforge_eval", "{\"task\":\"hidden\",\"file\":\"hidden/oracle.cu\"}"},
        {"kforge_eval", "{\"task\":\"hidden\",\"file\":\"alias.cu\"}"},
        {"kforge_eval", "{\"task\":\"hidden\",\"file\":\"hidden/../hidden/oracle.cu\"}"},
        {"kforge_eval", "{\"task\":\"hidden\",\"file\":\"out.cu\"}"},
        {"kforge_eval", "{\"task\":\"leak\",\"file\":\"mine.cu\"}"},
        {"kforge_task", "{\"task\":\"leak\",\"detail\":\"full\"}"},
        {"kforge_scan", "{\"file\":\"hidden/oracle.cu\"}"},
        {"kforge_scan", "{\"file\":\"out.cu\"}"},
        {"kforge_best", "{\"task\":\"hidden\",\"source\":true}"},
        {"kforge_history", "{\"task\":\"hidden\"}"},
        {"kforge_profile", "{\"candidate\":\"c1\"}"},
        {"kforge_submit", "{\"candidate\":\"c1\"}"},
        {"kforge_diff", "{\"a\":\"c1\",\"b\":\"c1\"}"},
        {"kforge_result", "{\"job\":\"00\"}"},
    };
    initialize(f, "2025-11-25");
    record(f, "mine", 2, true);
    f->service.verdict = new_verdict(KF_WRONG_RESULT, "secretshape", "at 31337");
    kf_autofree char *alias = kf_path_join(f->folder, "root/alias.cu");
    kf_autofree char *out = kf_path_join(f->folder, "root/out.cu");
    kf_autofree char *leak = kf_path_join(f->folder, "root/leak/baseline.cu");
    write_file(f, "root/leak/task.json", task_json);
    write_file(f, "root/leak/oracle.cu", oracle_text);
    assert_int_equal(symlink("hidden/oracle.cu", alias), 0);
    assert_int_equal(symlink("../outside.cu", out), 0);
    assert_int_equal(symlink("../../outside.cu", leak), 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        kf_auto(cJSON) result = call(f, calls[i][0], calls[i][1]);
        kf_autofree char *text = cJSON_PrintUnformatted(result);
        if (strstr(text, "SECRET") || strstr(text, "secretshape") || strstr(text, "31337"))
            fail_msg("%s %s gives %s", calls[i][0], calls[i][1], text);
        if (f->service.count > 6) f->service.count = 0;
    }
    assert_null(strstr(f->service.source, "SECRET"));
}

/* ---- the served folder ----------------------------------------------------------------------- */

static void reads_below_the_folder_alone(void **state)
{
    fixture *f = *state;
    kf_error error = {0};
    size_t size;
    kf_autofree char *root = kf_path_join(f->folder, "root");
    kf_autofree char *fifo = kf_path_join(root, "fifo.cu");
    kf_autofree char *big = kf_path_join(root, "big.cu");
    kf_autofree char *inner = kf_path_join(root, "inner.cu");
    kf_autofree char *device = kf_path_join(root, "device.cu");
    kf_autofree char *absolute = kf_path_join(root, "mine.cu");
    kf_autofree char *outside = kf_path_join(f->folder, "outside.cu");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("/dev/zero", device), 0);
    assert_int_equal(symlink("mine.cu", inner), 0);
    kf_autofree char *text = calloc(1, KF_SERVED_BYTES + 1);
    assert_true(kf_file_write(big, text, KF_SERVED_BYTES + 1, &error));
    const char *const good[] = {"mine.cu", "./mine.cu", "inner.cu", absolute, "hidden/baseline.cu"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        kf_autofree char *read = kf_served_read(&f->server->served, good[i], &size, &error);
        if (!read) fail_msg("%s: %s", good[i], error.text);
        assert_int_equal(size, strlen(read));
    }
    const char *const bad[] = {"",
                               ".",
                               "..",
                               "../outside.cu",
                               "hidden/../../outside.cu",
                               outside,
                               "/etc/passwd",
                               "fifo.cu",
                               "big.cu",
                               "device.cu",
                               "hidden",
                               "none.cu",
                               "/proc/self/environ",
                               "hidden/../mine.cu",
                               "hidden/oracle.cu"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        error = (kf_error){0};
        kf_autofree char *read = kf_served_read(&f->server->served, bad[i], &size, &error);
        if (read) fail_msg("%s can be read", bad[i]);
        assert_true(error.code != KF_ERROR_NONE && error.text[0]);
    }
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

#define META                                                                      \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io." \
    "modelcontextprotocol/clientCapabilities\":{}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\""
#define CALL                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"kforge_task\"" \
    ",\"arguments\":{\"task\":\"hidden\"}," META "}}"

static void checks_the_headers_of_posts(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *version, *method, *name, *body;
        int status;
        const char *answer;
    } posts[] = {
        {"2026-07-28", "tools/list", NULL, LIST ",\"params\":{" META "}}", 200,
         "{\"result\":{\"resultType\":\"complete\"}}"},
        {"2026-07-28", "tools/call", "kforge_task", CALL, 200, "{\"result\":{\"isError\":false}}"},
        {"2026-07-28", "tools/call", "=?base64?a2ZvcmdlX3Rhc2s=?=", CALL, 200, "{\"result\":{}}"},
        {"2026-07-28", "tools/call", "=?base64?a2ZvcmdlX3Rhc2t?=", CALL, 400,
         "{\"error\":{\"code\":-32020}}"},
        {"2026-07-28", "tools/call", "kforge_note", CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {"2026-07-28", "tools/call", NULL, CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {"2026-07-28", "tools/list", "kforge_task", CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {"2026-07-28", NULL, "kforge_task", CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {NULL, "tools/call", "kforge_task", CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {"2025-11-25", "tools/call", "kforge_task", CALL, 400, "{\"error\":{\"code\":-32020}}"},
        {"2026-07-28", "tools/list", NULL, LIST "}", 400, "{\"id\":1,\"error\":{\"code\":-32020}}"},
        {"2026-07-28", "ping", NULL,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}", 404,
         "{\"error\":{\"code\":-32601}}"},
        {"2026-07-28", NULL, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
         202, NULL},
        {"2025-11-25", NULL, NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
         202, NULL},
        {NULL, NULL, NULL,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
         "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{}}}",
         200, "{\"result\":{\"protocolVersion\":\"2025-06-18\"}}"},
        {"2025-06-18", NULL, NULL, LIST "}", 200, "{\"result\":{\"tools\":\"*\"}}"},
        {NULL, NULL, NULL, "[" LIST "}]", 200, "[{\"result\":{}}]"},
        {"2025-06-18", NULL, NULL, "[" LIST "}]", 400, "{\"error\":{\"code\":-32600}}"},
        {"1999-01-01", NULL, NULL, LIST "}", 400, "{\"id\":1,\"error\":{\"code\":-32600}}"},
        {"2025-06-18", NULL, NULL, "{", 400, "{\"error\":{\"code\":-32700}}"},
        {"2025-06-18", NULL, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", 200,
         "{\"error\":{\"code\":-32601}}"},
    };
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
        int status = 0;
        kf_autofree char *answer = kf_mcp_post(f->server,
                                               &(kf_mcp_http){.version = posts[i].version,
                                                              .method = posts[i].method,
                                                              .name = posts[i].name,
                                                              .body = posts[i].body,
                                                              .size = strlen(posts[i].body)},
                                               &status);
        if (status != posts[i].status)
            fail_msg("post %zu: status %d, expected %d; %s", i, status, posts[i].status, answer);
        assert_int_equal(answer != NULL, posts[i].answer != NULL);
        if (answer) check_answer(posts[i].answer, posts[i].body, answer);
    }
}

static void cancels_a_post_when_the_connection_ends(void **state)
{
    fixture *f = *state;
    static atomic_bool closed;
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"kforge_eval\",\"arguments\":{\"task\":\"hidden\",\"file\":\"mine.cu\"}," META "}}";
    f->service.outcome = KF_TICKET_RUNNING;
    atomic_store(&closed, true);
    int status;
    kf_autofree char *answer = kf_mcp_post(f->server,
                                           &(kf_mcp_http){.version = "2026-07-28",
                                                          .method = "tools/call",
                                                          .name = "kforge_eval",
                                                          .body = body,
                                                          .size = sizeof body - 1,
                                                          .closed = &closed},
                                           &status);
    assert_non_null(answer);
    assert_int_equal(kf_ticket_state_now(&f->service.tickets[0]), KF_TICKET_CANCELLED);
}

/* ---- stdio ----------------------------------------------------------------------------------- */

typedef struct stdio_server {
    kf_mcp *server;
    int input, output;
    volatile int stop;
    bool good;
} stdio_server;

static void *run_server(void *argument)
{
    stdio_server *s = argument;
    s->good = kf_mcp_serve(s->server, s->input, s->output, &s->stop, NULL);
    close(s->output);
    return NULL;
}

/* Sends lines and returns all that the server wrote until the end. The caller frees. */
static char *converse(fixture *f, const char *lines, size_t size)
{
    int in[2], out[2];
    pthread_t thread;
    assert_int_equal(pipe(in) | pipe(out), 0);
    stdio_server s = {.server = f->server, .input = in[0], .output = out[1]};
    assert_int_equal(pthread_create(&thread, NULL, run_server, &s), 0);
    /* The server answers a line at a time, and its answers fit into the pipe. */
    assert_true(kf_write_all(in[1], lines, size));
    close(in[1]);
    kf_autobuffer text = {0};
    char part[4096];
    for (ssize_t got; (got = read(out[0], part, sizeof part)) > 0;)
        kf_buffer_append(&text, part, (size_t)got);
    pthread_join(thread, NULL);
    assert_true(s.good);
    close(in[0]);
    close(out[0]);
    return kf_buffer_take(&text);
}

#define PING(ID) "{\"jsonrpc\":\"2.0\",\"id\":" #ID ",\"method\":\"ping\"}"
#define PONG(ID) "{\"jsonrpc\":\"2.0\",\"id\":" #ID ",\"result\":{}}\n"

static void serves_lines(void **state)
{
    fixture *f = *state;
    /* Empty lines and carriage returns are allowed, and a line without an end is no message. */
    static const char lines[] = "\n\r\n  \n" PING(1) "\r\n" PING(2) "\n" PING(3);
    kf_autofree char *text = converse(f, lines, sizeof lines - 1);
    assert_string_equal(text, PONG(1) PONG(2));
}

static void goes_on_after_a_line_that_is_too_long(void **state)
{
    fixture *f = *state;
    size_t size = 3 * KF_MCP_BYTES;
    kf_autobuffer lines = {0};
    char *place = kf_buffer_reserve(&lines, size);
    memset(place, 'x', size);
    lines.size += size;
    kf_buffer_string(&lines, "\n" PING(1) "\n");
    kf_autofree char *text = converse(f, lines.data, lines.size);
    const char *second = strchr(text, '\n') + 1;
    assert_non_null(strstr(text, "-32600"));
    assert_string_equal(second, PONG(1));
}

static void ends_when_the_output_has_no_reader(void **state)
{
    fixture *f = *state;
    int in[2], out[2];
    pthread_t thread;
    assert_int_equal(pipe(in) | pipe(out), 0);
    stdio_server s = {.server = f->server, .input = in[0], .output = out[1]};
    f->service.outcome = KF_TICKET_RUNNING;
    assert_int_equal(pthread_create(&thread, NULL, run_server, &s), 0);
    static const char lines[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"kforge_eval\",\"arguments\":{\"task\":\"hidden\",\"file\":\"mine.cu\",\"wait_s\":3600}"
        "," META "}}\n";
    assert_true(kf_write_all(in[1], lines, sizeof lines - 1));
    while (!f->service.count) usleep(1000);
    close(out[0]);
    pthread_join(thread, NULL);
    assert_int_equal(kf_ticket_state_now(&f->service.tickets[0]), KF_TICKET_CANCELLED);
    close(in[0]);
    close(in[1]);
}

/* ---- all ------------------------------------------------------------------------------------- */

int test_program(void)
{
    signal(SIGPIPE, SIG_IGN);
    static struct CMUnitTest tables[32];
    size_t count = test_cases_of_files("mcp/", KFORGE_SOURCE_DIR "/tests/unit/data/mcp/", ".txt",
                                       test_table, tables, 32);
    static const struct CMUnitTest cases[] = {
#define CASE(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)
        CASE(refuses_bytes_that_are_no_text),
        CASE(lists_eleven_small_tools),
        CASE(pings_and_cancels_during_a_call),
        CASE(cancels_when_the_client_goes),
        CASE(notifies_of_progress),
        CASE(refuses_too_many_calls),
        CASE(evaluates_a_file),
        CASE(names_tools_in_the_next_step),
        CASE(returns_a_job_when_time_is_over),
        CASE(says_what_is_wrong_with_arguments),
        CASE(hides_hidden_workloads),
        CASE(reports_a_loss),
        CASE(lists_tasks),
        CASE(describes_a_task),
        CASE(shows_candidates),
        CASE(profiles_without_counters),
        CASE(profiles_with_counters),
        CASE(counts_once),
        CASE(submits_in_fresh_processes),
        CASE(scans_a_file),
        CASE(keeps_secrets),
        CASE(reads_below_the_folder_alone),
        CASE(checks_the_headers_of_posts),
        CASE(cancels_a_post_when_the_connection_ends),
        CASE(serves_lines),
        CASE(goes_on_after_a_line_that_is_too_long),
        CASE(ends_when_the_output_has_no_reader),
#undef CASE
    };
    return test_group("tables", tables, count, NULL, NULL) + TEST_GROUP(cases, NULL, NULL);
}
