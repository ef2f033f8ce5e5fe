/* Providers over the network without faults, and with many requests: formats, fall-back, limits,
 * budgets, cancelling. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "budget.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "llm.h"
#include "llm_dialect.h"
#include "model_server.h"
#include "prices.h"
#include "api_key.h"

#define TEXT "```cuda\n// gr\xc3\xb6\xc3\x9f\x65 \xf0\x9f\x98\x80\nint x;\n```\n"

static model_server server;

static int start(void **state)
{
    (void)state;
    server = model_server_start();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    model_server_stop(&server);
    return 0;
}

static kf_llm *open_at(const char *before, const char *scenario)
{
    char spec[400];
    kf_error error = {0};
    snprintf(spec, sizeof spec, "%s@http://127.0.0.1:%d/%s/v1", before, server.port, scenario);
    kf_llm *llm = kf_llm_open(spec, &error);
    if (!llm) fail_msg("%s: %s", spec, error.text);
    return llm;
}

static bool submit(kf_llm *llm, int64_t tag, kf_error *error)
{
    return kf_llm_submit(
        llm,
        &(kf_llm_request){.system = "Be good.", .prompt = "Write.", .temperature = -1, .tag = tag},
        error);
}

static kf_llm_reply ask(kf_llm *llm)
{
    kf_error error = {0};
    kf_llm_reply reply = {0};
    if (!submit(llm, 3, &error)) fail_msg("%s", error.text);
    assert_int_equal(kf_llm_poll(llm, 600, &reply), 1);
    return reply;
}

/* Checks the body or a header of the last request of a scenario. */
static void expect_request(const char *scenario, const char *path, const char *body,
                           const char *header, const char *value)
{
    kf_auto(cJSON) log = model_server_log(&server, scenario);
    const cJSON *request = cJSON_GetArrayItem(log, cJSON_GetArraySize(log) - 1);
    kf_autofree char *json = cJSON_PrintUnformatted(kf_dialect_member(request, "json"));
    assert_string_equal(kf_dialect_member_text(request, "path"), path);
    if (!strstr(json, body)) fail_msg("%s: not in the request: %s in %s", scenario, body, json);
    const char *got = kf_dialect_member_text(kf_dialect_member(request, "headers"), header);
    if (strcmp(got ? got : "", value) != 0)
        fail_msg("%s: %s: %s", scenario, header, got ? got : "(none)");
}

static void formats(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *scenario, *model, *path, *body, *header, *value, *settings;
    } rows[] = {
        {"openai,effort=high,max_tokens=999:gpt-x", "one", "served-1", "/one/v1/chat/completions",
         "\"messages\":[{\"role\":\"system\",\"content\":\"Be "
         "good.\"},{\"role\":\"user\",\"content\":\"Write.\"}],\"stream\":true,"
         "\"stream_options\":{\"include_usage\":true},\"max_tokens\":999,\"reasoning_effort\":"
         "\"high\"}",
         "authorization", "Bearer openai-key",
         "{\"max_tokens\":999,\"reasoning_effort\":\"high\"}"},
        {"openai,api=responses,effort=low:gpt-x", "two", "served-2", "/two/v1/responses",
         "\"instructions\":\"Be "
         "good.\",\"input\":\"Write.\",\"stream\":true,\"store\":false,\"max_output_tokens\":16384,"
         "\"reasoning\":{\"effort\":"
         "\"low\"}}",
         "authorization", "Bearer openai-key",
         "{\"max_output_tokens\":16384,\"reasoning\":{\"effort\":\"low\"}}"},
        {"anthropic,thinking=2000:claude-x", "three", "served-3", "/three/v1/messages",
         "\"system\":[{\"type\":\"text\",\"text\":\"Be "
         "good.\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":[{\"role\":\"user\","
         "\"content\":\"Write.\"}],\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}}",
         "x-api-key", "anthropic-key",
         "{\"max_tokens\":16384,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}}"},
        {"anthropic,temperature=0.5:claude-x", "threeb", "served-3", "/threeb/v1/messages",
         "\"temperature\":0.5}", "anthropic-version", "2023-06-01",
         "{\"temperature\":0.5,\"max_tokens\":16384}"},
        {"gemini,thinking=500:gemini-x", "four", "served-4",
         "/four/v1/models/gemini-x:streamGenerateContent?alt=sse",
         "{\"systemInstruction\":{\"parts\":[{\"text\":\"Be "
         "good.\"}]},\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Write.\"}]}],"
         "\"generationConfig\":{\"maxOutputTokens\":16384,\"thinkingConfig\":{\"thinkingBudget\":"
         "500}}}",
         "x-goog-api-key", "gemini-key",
         "{\"generationConfig\":{\"maxOutputTokens\":16384,\"thinkingConfig\":{\"thinkingBudget\":"
         "500}}}"},
        {"azure:deployed", "five", "served-1", "/five/v1/chat/completions",
         "\"model\":\"deployed\"", "api-key", "azure-key", "{\"max_tokens\":16384}"},
        {"openrouter:a/b", "six", "served-1", "/six/v1/chat/completions",
         "\"usage\":{\"include\":true}}", "authorization", "Bearer openrouter-key",
         "{\"max_tokens\":16384}"},
        {"qwen2.5:7b", "seven", "served-1", "/seven/v1/chat/completions",
         "\"model\":\"qwen2.5:7b\"", "authorization", "", "{\"max_tokens\":16384}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_llm) llm = open_at(rows[i].spec, rows[i].scenario);
        kf_llm_reply reply = ask(llm);
        if (reply.outcome != KF_LLM_OK) fail_msg("%s: %s", rows[i].spec, reply.error.text);
        assert_string_equal(reply.text, TEXT);
        assert_string_equal(reply.model, rows[i].model);
        if (reply.prompt_tokens != 11 || reply.completion_tokens != 7)
            fail_msg("%s: %lld %lld", rows[i].spec, (long long)reply.prompt_tokens,
                     (long long)reply.completion_tokens);
        expect_request(rows[i].scenario, rows[i].path, rows[i].body, rows[i].header, rows[i].value);
        if (strcmp(reply.settings, rows[i].settings) != 0)
            fail_msg("%s: %s", rows[i].spec, reply.settings);
        kf_llm_reply_free(&reply);
    }
}

static void faults_of_other_formats(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *scenario;
        kf_llm_outcome outcome;
        int requests;
        /* Seconds. */
        double least;
    } rows[] = {{"anthropic,backoff=0.01:c", "overloaded", KF_LLM_OK, 2, 0},
                {"anthropic,backoff=0.01:c", "error_in_stream", KF_LLM_OK, 2, 0},
                {"gemini:g", "blocked", KF_LLM_REFUSED, 1, 0},
                {"gemini,backoff=0.01:g", "delayed", KF_LLM_OK, 2, 1},
                {"openai,api=responses,stall=1:r", "thinking", KF_LLM_OK, 1, 1.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_auto(kf_llm) llm = open_at(rows[i].spec, rows[i].scenario);
        kf_llm_reply reply = ask(llm);
        if (reply.outcome != rows[i].outcome)
            fail_msg("%s: %s", rows[i].scenario, reply.error.text);
        assert_int_equal(reply.requests, rows[i].requests);
        assert_true(reply.seconds >= rows[i].least);
        kf_llm_reply_free(&reply);
    }
}

static void the_next_model_answers(void **state)
{
    (void)state;
    char spec[500];
    kf_error error = {0};
    snprintf(spec, sizeof spec,
             "fallback:compatible,retries=0:m@http://127.0.0.1:%d/fails-999/v1 then "
             "compatible,price_in=1,price_out=2:m@http://127.0.0.1:%d/back/v1",
             server.port, server.port);
    kf_auto(kf_llm) llm = kf_llm_open(spec, &error);
    assert_non_null(llm);
    kf_budget budget = {.limit = {0, 0, 100}};
    kf_llm_set_budget(llm, &budget);
    for (int i = 0; i < 6; i++) {
        kf_llm_reply reply = ask(llm);
        assert_int_equal(reply.outcome, KF_LLM_OK);
        assert_true(reply.prompt_tokens == -1 || reply.prompt_tokens == 11);
        assert_int_equal(reply.tag, 3);
        kf_llm_reply_free(&reply);
    }
    assert_int_equal(kf_llm_in_flight(llm), 0);
    kf_auto(cJSON) first = model_server_log(&server, "fails-999");
    kf_auto(cJSON) second = model_server_log(&server, "back");
    /* Then its breaker is open. */
    assert_int_equal(cJSON_GetArraySize(first), 3);
    assert_int_equal(cJSON_GetArraySize(second), 6);
    assert_true(budget.spent.requests == 9 && budget.reserved.requests == 0);
}

static void a_broken_circuit_is_busy(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(kf_llm) llm = open_at("compatible,retries=0:m", "fails-998");
    for (int i = 0; i < 3; i++) {
        kf_llm_reply reply = ask(llm);
        assert_int_equal(reply.outcome, KF_LLM_FAILED);
        kf_llm_reply_free(&reply);
    }
    assert_false(submit(llm, 1, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
    static const char message[] = "3 requests in a row failed; the next one is sent in ";
    const char *at = strstr(error.text, message);
    /* The time left of 15 s since the third request. */
    double left = at ? strtod(at + strlen(message), NULL) : 0;
    if (left < 1 || left > 15) fail_msg("%s", error.text);
}

static void requests_a_minute(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_llm_reply reply;
    kf_auto(kf_llm) llm = open_at("compatible,rpm=120,parallel=200:m", "paced_rpm");
    double start_time = kf_now();
    for (int i = 0; i < 122; i++) assert_true(submit(llm, i, &error));
    for (int i = 0; i < 122; i++) {
        assert_int_equal(kf_llm_poll(llm, 600, &reply), 1);
        kf_llm_reply_free(&reply);
    }
    /* 120 at once, two more in a second. */
    double seconds = kf_now() - start_time;
    assert_true(seconds >= 0.9);
    assert_false(kf_llm_poll(llm, 0, &reply));
    kf_auto(kf_llm) narrow = open_at("compatible,parallel=2:m", "narrow");
    assert_true(submit(narrow, 1, &error) && submit(narrow, 2, &error));
    assert_false(submit(narrow, 3, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
}

/* After a reply that used more than the limit, the next request waits until the debt is paid off.
 */
static void tokens_a_minute(void **state)
{
    (void)state;
    /* 1020 tokens each. */
    kf_auto(kf_llm) llm = open_at("compatible,tpm=1000:m", "heavy");
    double start_time = kf_now();
    kf_llm_reply first = ask(llm);
    /* 20 tokens and one more at 16.7 a second, counted from the first reply */
    kf_llm_reply second = ask(llm);
    assert_true(kf_now() - start_time >= 1.2);
    assert_true(first.outcome == KF_LLM_OK && second.outcome == KF_LLM_OK &&
                second.completion_tokens == 1020);
    kf_llm_reply_free(&first);
    kf_llm_reply_free(&second);
}

/* The cost that the server reports is booked, whatever the price table says. */
static void servers_that_say_what_they_charge(void **state)
{
    (void)state;
    kf_budget budget = {.limit = {kf_nanodollars(1), 0, 0}};
    kf_auto(kf_llm) llm = open_at("openrouter,price_in=1,price_out=2:a/b", "billed");
    kf_llm_set_budget(llm, &budget);
    kf_llm_reply reply = ask(llm);
    assert_true(reply.cost_usd == 0.0125);
    assert_int_equal(budget.spent.nanodollars, 12500000);
    assert_int_equal(budget.reserved.nanodollars, 0);
    kf_llm_reply_free(&reply);
}

/* Opens a port of this machine that refuses connections, or with `full` lets them wait for ever.
 * *fds keep it so. */
static int refusing_port(bool full, int fds[16])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    for (int i = 0; i < 16; i++) fds[i] = -1;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fds[0], (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fds[0], (struct sockaddr *)&address, &size), 0);
    if (full) assert_int_equal(listen(fds[0], 0), 0);
    /* No process accepts them. */
    for (int i = 1; full && i < 16; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(fds[i], (struct sockaddr *)&address, size);
    }
    return ntohs(address.sin_port);
}

static void servers_that_are_not_there(void **state)
{
    (void)state;
    static const struct {
        bool full;
        const char *options;
        double least;
    } rows[] = {{false, "retries=2,backoff=0.01", 0},
                {true, "retries=2,backoff=0.01,connect=0.3", 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fds[16];
        char spec[200];
        kf_error error = {0};
        kf_budget budget = {.limit = {kf_nanodollars(1), 0, 0}};
        int port = refusing_port(rows[i].full, fds);
        snprintf(spec, sizeof spec, "compatible,price_in=1,price_out=2,%s:m@http://127.0.0.1:%d/v1",
                 rows[i].options, port);
        kf_auto(kf_llm) llm = kf_llm_open(spec, &error);
        if (!llm) fail_msg("%s", error.text);
        kf_llm_set_budget(llm, &budget);
        double start_time = kf_now();
        kf_llm_reply reply = ask(llm);
        assert_int_equal(reply.outcome, KF_LLM_FAILED);
        if (!strstr(reply.error.text, "no connection: ") ||
            !strstr(reply.error.text, "(2 attempts)"))
            fail_msg("%s", reply.error.text);
        assert_true(kf_now() - start_time >= rows[i].least);
        /* An address that never answered is asked twice. */
        assert_int_equal(reply.error.code, KF_ERROR_INPUT);
        assert_int_equal(reply.requests, 2);
        assert_true(budget.spent.tokens == 0 && budget.spent.nanodollars == 0 &&
                    budget.reserved.nanodollars == 0);
        kf_llm_reply_free(&reply);
        for (int k = 0; k < 16; k++)
            if (fds[k] >= 0) close(fds[k]);
    }
}

/* No request is sent, so nothing is booked. A label of 64 bytes is no name that a resolver sends
 * on.
 */
static void addresses_that_lead_nowhere(void **state)
{
    (void)state;
    static const struct {
        const char *address, *error;
    } rows[] = {
        {"https://a123456789b123456789c123456789d123456789e123456789f123456789abcd.invalid/v1",
         "no connection: "},
        /* The server waits for the rest of what it takes for a request. */
        {"https://127.0.0.1:%d/plain/v1", "no connection: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char spec[300], address[200];
        kf_error error = {0};
        kf_budget budget = {.limit = {kf_nanodollars(1), 0, 0}};
        const char *port = strstr(rows[i].address, "%d");
        snprintf(address, sizeof address, "%.*s", (int)(port ? port - rows[i].address : 199),
                 rows[i].address);
        if (port) snprintf(address + strlen(address), 60, "%d%s", server.port, port + 2);
        snprintf(spec, sizeof spec,
                 "compatible,price_in=1,price_out=2,retries=1,backoff=0.01,connect=0.5:m@%s",
                 address);
        kf_auto(kf_llm) llm = kf_llm_open(spec, &error);
        if (!llm) fail_msg("%s", error.text);
        kf_llm_set_budget(llm, &budget);
        kf_llm_reply reply = ask(llm);
        assert_int_equal(reply.outcome, KF_LLM_FAILED);
        if (!strstr(reply.error.text, rows[i].error)) fail_msg("%s", reply.error.text);
        assert_true(budget.spent.nanodollars == 0 && budget.reserved.nanodollars == 0);
        kf_llm_reply_free(&reply);
    }
}

/* Gateways: all models of a provider go to another address. */
static void addresses_from_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *end, *spec, *path;
    } rows[] = {
        {"OPENAI_BASE_URL", "/gate1/v1", "openai:gpt-x", "/gate1/v1/chat/completions"},
        {"OPENAI_BASE_URL", "/gate2/v1/", "openai,api=responses:gpt-x", "/gate2/v1/responses"},
        {"ANTHROPIC_BASE_URL", "/gate3", "anthropic:c", "/gate3/v1/messages"},
        {"ANTHROPIC_BASE_URL", "/gate4/v1", "anthropic:c", "/gate4/v1/messages"},
        {"AZURE_OPENAI_ENDPOINT", "/gate5/", "azure:d", "/gate5/openai/v1/chat/completions"},
        {"OPENAI_BASE_URL", "/wrong/v1", "openai:gpt-x@%s/gate6/v1", "/gate6/v1/chat/completions"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char base[100], address[200], spec[300], scenario[8];
        kf_error error = {0};
        snprintf(base, sizeof base, "http://127.0.0.1:%d", server.port);
        snprintf(address, sizeof address, "%s%s", base, rows[i].end);
        const char *at = strstr(rows[i].spec, "%s");
        snprintf(spec, sizeof spec, "%.*s%s%s", (int)(at ? at - rows[i].spec : 300), rows[i].spec,
                 at ? base : "", at ? at + 2 : "");
        snprintf(scenario, sizeof scenario, "gate%zu", i + 1);
        setenv(rows[i].variable, address, 1);
        kf_auto(kf_llm) llm = kf_llm_open(spec, &error);
        unsetenv(rows[i].variable);
        if (!llm) fail_msg("%s: %s", spec, error.text);
        kf_llm_reply reply = ask(llm);
        if (reply.outcome != KF_LLM_OK) fail_msg("%s: %s", spec, reply.error.text);
        kf_llm_reply_free(&reply);
        expect_request(scenario, rows[i].path, "\"model\":", "content-type", "application/json");
    }
    /* Plain http to another machine is allowed on request. unit.llm tests that it is refused
     * otherwise. */
    kf_error error = {0};
    setenv("KFORGE_PLAIN_HTTP", "1", 1);
    kf_auto(kf_llm) plain = kf_llm_open("m@http://example.com/v1", &error);
    unsetenv("KFORGE_PLAIN_HTTP");
    if (!plain) fail_msg("%s", error.text);
}

/* Room for one request at a time: the others wait. All are answered until the last finds no room.
 */
static void budgets_hold_with_many_in_flight(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_llm_reply reply;
    kf_auto(kf_llm) llm = open_at("compatible,price_in=1,price_out=2,max_tokens=1000:m", "booked");
    /* 14 bytes of prompt and 512 of overhead, 1000 tokens of reply: 2526e-6 USD; 25e-6 are used
     * each time. */
    kf_budget budget = {.limit = {kf_nanodollars(2600e-6), 0, 0}};
    assert_true(kf_llm_check_budget(llm, &budget, &error));
    kf_llm_set_budget(llm, &budget);
    for (int i = 0; i < 8; i++) assert_true(submit(llm, i, &error));
    int answered = 0, refused = 0;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(kf_llm_poll(llm, 600, &reply), 1);
        assert_true(budget.spent.nanodollars + budget.reserved.nanodollars <=
                    budget.limit.nanodollars);
        answered += reply.outcome == KF_LLM_OK;
        refused += reply.outcome == KF_LLM_EXHAUSTED;
        if (reply.outcome == KF_LLM_EXHAUSTED)
            assert_non_null(strstr(reply.error.text, "the money is spent"));
        kf_llm_reply_free(&reply);
    }
    assert_int_equal(answered + refused, 8);
    assert_true(answered >= 3 && refused >= 1);
    assert_int_equal(budget.spent.nanodollars, answered * 25000);
    assert_int_equal(budget.reserved.nanodollars, 0);
}

static void what_is_cancelled_is_booked(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_llm_reply reply;
    kf_budget budget = {.limit = {kf_nanodollars(1), 0, 0}};
    kf_auto(kf_llm) llm = open_at("compatible,price_in=1,price_out=2:m", "stalled");
    kf_llm_set_budget(llm, &budget);
    assert_true(submit(llm, 5, &error));
    double until = kf_now() + 600;
    /* A request that was never sent costs nothing. */
    for (int arrived = 0; !arrived;) {
        assert_true(kf_now() < until);
        assert_int_equal(kf_llm_poll(llm, 0.1, &reply), 0);
        kf_auto(cJSON) log = model_server_log(&server, "stalled");
        arrived = cJSON_GetArraySize(log);
    }
    assert_true(budget.reserved.nanodollars > 0);
    kf_llm_cancel(llm);
    assert_int_equal(kf_llm_poll(llm, 0, &reply), 1);
    assert_true(reply.outcome == KF_LLM_FAILED && reply.requests == 1 && reply.cost_usd > 0 &&
                reply.tag == 5);
    assert_true(budget.reserved.nanodollars == 0 &&
                kf_dollars(budget.spent.nanodollars) == reply.cost_usd);
    kf_llm_reply_free(&reply);
}

/* A caller that waits for descriptors notices a reply when its last byte is there. */
static void waiting_for_descriptors(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_llm_reply reply = {0};
    kf_auto(kf_llm) llm = open_at("m", "bytes");
    assert_true(submit(llm, 5, &error));
    double until = kf_now() + 600;
    while (kf_now() < until && kf_llm_poll(llm, 0, &reply) == 0) {
        struct pollfd fds[4];
        double wake = until;
        nfds_t count = (nfds_t)kf_llm_watch(llm, fds, 4, &wake);
        assert_int_equal(count, 1);
        double left = wake - kf_now();
        assert_true(poll(fds, count, left > 0 ? (int)(left * 1000) + 1 : 0) >= 0);
    }
    assert_int_equal(reply.outcome, KF_LLM_OK);
    assert_string_equal(reply.text, TEXT);
    kf_llm_reply_free(&reply);
}

/* errno of epoll_ctl if it adds a socket; 0: it adds it */
static int no_watch;

int __real_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    if (!no_watch || what != EPOLL_CTL_ADD) return __real_epoll_ctl(epoll, what, fd, event);
    errno = no_watch;
    return -1;
}

static void note_end(void *context, const kf_http_result *result)
{
    kf_http_result *got = context;
    *got = *result;
    model_server_done = true;
}

/* A request ends at once if epoll does not take its socket. It does not wait for its time limit. */
static void a_socket_that_is_not_watched(void **state)
{
    (void)state;
    char url[200];
    kf_error error = {0};
    kf_http_result result = {0};
    kf_auto(kf_http) http = kf_http_new(&error);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/log/unwatched", server.port);
    no_watch = ENOSPC;
    model_server_done = false;
    assert_non_null(kf_http_start(http,
                                  &(kf_http_request){.url = url,
                                                     .context = &result,
                                                     .data = model_server_data,
                                                     .done = note_end,
                                                     .first_byte_seconds = 5,
                                                     .connect_seconds = 5},
                                  &error));
    while (!model_server_done) kf_http_step(http, 1);
    no_watch = 0;
    assert_int_equal(result.fault, KF_HTTP_OTHER);
    assert_non_null(strstr(result.error.text, "No space left on device"));
    assert_non_null(strstr(result.error.text, "fs.epoll.max_user_watches"));
}

static void prices(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_price price;
    assert_true(kf_price_find("openai", "gpt-4o-2024-08-06", &price, &error) && price.known &&
                price.input == 2.5);
    assert_true(kf_price_find("anthropic", "claude-3-5-haiku-latest", &price, &error) &&
                price.known && price.cache_write == 1);
    assert_true(kf_price_find("openai", "gpt-4o-mini", &price, &error) && price.input == 0.15);
    assert_true(kf_price_find("openai", "gpt-4o-audio", &price, &error) && !price.known);
    assert_true(kf_price_find("compatible", "gpt-4o", &price, &error) && !price.known);
    kf_price p = {.input = 10, .cached = 1, .cache_write = 12, .output = 20, .known = true};
    assert_true(fabs(kf_price_of(&p, 1000, 600, 100, 50) -
                     (300 * 10 + 600 * 1 + 100 * 12 + 50 * 20) * 1e-6) < 1e-15);
    kf_autofree char *frozen = kf_llm_freeze("openai,effort=low:gpt-5-mini", &error);
    assert_string_equal(frozen, "openai,effort=low,price_in=0.25,price_out=2,price_cached=0.025,"
                                "price_cache_write=0.25:gpt-5-mini");
    kf_autofree char *again = kf_llm_freeze(frozen, &error),
                     *exec = kf_llm_freeze("exec:cat", &error);
    assert_string_equal(again, frozen);
    assert_string_equal(exec, "exec:cat");
    kf_autofree char *list = kf_llm_freeze("fallback:openai:o3 then exec:cat", &error);
    assert_string_equal(list, "fallback:openai,price_in=2,price_out=8,price_cached=0.5,price_cache_"
                              "write=2:o3 then exec:cat");
    setenv("KFORGE_PRICES", KFORGE_SOURCE_DIR "/tests/llm/bad_prices.json", 1);
    assert_false(kf_price_find("openai", "gpt-5", &price, &error));
    assert_non_null(strstr(error.text, "bad_prices.json: prices[0]: give both input and output"));
    unsetenv("KFORGE_PRICES");
}

static void keys_are_kept_apart(void **state)
{
    (void)state;
    assert_null(getenv("OPENAI_API_KEY"));
    assert_string_equal(kf_api_key("OPENAI_API_KEY", NULL), "openai-key");
    assert_null(kf_api_key("NO_SUCH_API_KEY", NULL));
    char text[] = "Bearer anthropic-key and openai-key, anthropic-key";
    kf_api_keys_redact(text);
    assert_string_equal(text, "Bearer [key] and [key], [key]");
    char bytes[] = "a\0openai-key\0b";
    assert_int_equal(kf_api_keys_redact_bytes(bytes, sizeof bytes - 1), sizeof "a\0[key]\0b" - 1);
    assert_memory_equal(bytes, "a\0[key]\0b", sizeof "a\0[key]\0b");
    /* The pages of the keys are left out of core dumps: "dd" is among their flags. */
    char line[512];
    const char *key = kf_api_key("OPENAI_API_KEY", NULL);
    bool inside = false, left_out = false;
    kf_autofclose FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
            inside = (uintptr_t)key >= low && (uintptr_t)key < high;
        if (inside && strncmp(line, "VmFlags:", 8) == 0) left_out = strstr(line, " dd");
    }
    assert_true(left_out);
    kf_api_keys_guard();
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
#endif
}

int test_program(void)
{
    setenv("OPENAI_API_KEY", "openai-key", 1);
    setenv("ANTHROPIC_API_KEY", "anthropic-key", 1);
    setenv("GEMINI_API_KEY", "gemini-key", 1);
    setenv("AZURE_OPENAI_API_KEY", "azure-key", 1);
    setenv("OPENROUTER_API_KEY", "openrouter-key", 1);
    kf_api_keys_hide();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(faults_of_other_formats),
        cmocka_unit_test(the_next_model_answers),
        cmocka_unit_test(a_broken_circuit_is_busy),
        cmocka_unit_test(requests_a_minute),
        cmocka_unit_test(tokens_a_minute),
        cmocka_unit_test(servers_that_say_what_they_charge),
        cmocka_unit_test(servers_that_are_not_there),
        cmocka_unit_test(addresses_that_lead_nowhere),
        cmocka_unit_test(addresses_from_the_environment),
        cmocka_unit_test(budgets_hold_with_many_in_flight),
        cmocka_unit_test(what_is_cancelled_is_booked),
        cmocka_unit_test(waiting_for_descriptors),
        cmocka_unit_test(a_socket_that_is_not_watched),
        cmocka_unit_test(prices),
        cmocka_unit_test(keys_are_kept_apart),
    };
    return TEST_GROUP(tests, start, stop);
}
