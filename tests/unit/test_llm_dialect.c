/* Each wire format: ends, refusals, limits, tools, reasoning, counts, and the request that
 * continues a reply. The events are those of the providers' documentation. No network. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/cleanup.h"
#include "kforge/json.h"
#include "llm_continue.h"
#include "llm_dialect.h"

#define MAX_EVENTS 6

typedef struct expected {
    const char *text;
    kf_stop stop;
    /* The server's own word for the end. */
    const char *word;
    uint64_t hidden;
    /* -1: not given. */
    int64_t prompt, completion, cached, written;
    bool ended, refusal, failed, passing;
} expected;

typedef struct row {
    const char *what;
    const kf_dialect *dialect;
    const char *events[MAX_EVENTS];
    expected is;
} row;

#define CHAT(delta, end)                                                                           \
    "{\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" end "}]" \
    "}"
#define MESSAGE_START                                                                           \
    "{\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":5," \
    "\"cache_read_input_tokens\":40,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}"
#define MESSAGE_END(reason)                                            \
    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason \
    "\"},\"usage\":{\"output_tokens\":7}}",                            \
        "{\"type\":\"message_stop\"}"
#define BLOCK(delta) "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":" delta "}"
#define RESPONSE(type, status, more)                                                       \
    "{\"type\":\"response." type "\",\"response\":{\"model\":\"m-1\",\"status\":\"" status \
    "\"" more "}}"
#define RESPONSE_USAGE                                                                        \
    ",\"usage\":{\"input_tokens\":47,\"output_tokens\":7,\"input_tokens_details\":{\"cached_" \
    "tokens\":40},"                                                                           \
    "\"output_tokens_details\":{\"reasoning_tokens\":3}}"
#define CANDIDATE(parts, end)                                                                      \
    "{\"modelVersion\":\"m-1\",\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[" parts \
    "]}" end "}],"                                                                                 \
    "\"usageMetadata\":{\"promptTokenCount\":47,\"cachedContentTokenCount\":40,"                   \
    "\"candidatesTokenCount\":4,\"thoughtsTokenCount\":"                                           \
    "3}}"

static const row rows[] = {
    {"chat, whole",
     &kf_dialect_chat,
     {CHAT("{\"role\":\"assistant\",\"content\":\"\"}", "null"),
      CHAT("{\"content\":\"code\"}", "null"), CHAT("{}", "\"stop\""),
      "{\"choices\":[],\"usage\":{\"prompt_tokens\":47,\"completion_tokens\":7,\"prompt_tokens_"
      "details\":{\"cached_tokens\":40}}}",
      "[DONE]"},
     {"code", KF_STOP_END, "stop", 0, 47, 7, 40, -1, true, false, false, false}},
    {"chat, the limit",
     &kf_dialect_chat,
     {CHAT("{\"content\":\"co\"}", "\"length\"")},
     {"co", KF_STOP_LENGTH, "length", 0, -1, -1, -1, -1, false, false, false, false}},
    {"chat, a filter",
     &kf_dialect_chat,
     {CHAT("{\"content\":\"co\"}", "\"content_filter\"")},
     {"co", KF_STOP_REFUSED, "content_filter", 0, -1, -1, -1, -1, false, false, false, false}},
    {"chat, declined",
     &kf_dialect_chat,
     {CHAT("{\"refusal\":\"No.\"}", "\"stop\"")},
     {"No.", KF_STOP_END, "stop", 0, -1, -1, -1, -1, false, true, false, false}},
    {"chat, a tool",
     &kf_dialect_chat,
     {CHAT("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}",
           "\"tool_calls\"")},
     {"", KF_STOP_TOOL, "tool_calls", 2, -1, -1, -1, -1, false, false, false, false}},
    {"chat, reasoning of DeepSeek and of OpenRouter",
     &kf_dialect_chat,
     {CHAT("{\"reasoning_content\":\"hm\"}", "null"), CHAT("{\"reasoning\":\"hmm\"}", "null"),
      CHAT("{\"content\":\"x\"}", "\"stop\"")},
     {"x", KF_STOP_END, "stop", 5, -1, -1, -1, -1, false, false, false, false}},
    {"chat, not streamed",
     &kf_dialect_chat,
     {"{\"model\":\"m-1\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"code\"},"
      "\"finish_reason\":\"stop\"}],"
      "\"usage\":{\"prompt_tokens\":47,\"completion_tokens\":7,\"prompt_cache_hit_tokens\":40}}"},
     {"code", KF_STOP_END, "stop", 0, 47, 7, 40, -1, true, false, false, false}},
    {"chat, a passing error",
     &kf_dialect_chat,
     {"{\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\",\"code\":503}}"},
     {"", KF_STOP_NONE, "", 0, -1, -1, -1, -1, false, false, true, true}},
    {"chat, no credit left",
     &kf_dialect_chat,
     {"{\"error\":{\"message\":\"Pay\",\"type\":\"insufficient_quota\",\"code\":429}}"},
     {"", KF_STOP_NONE, "", 0, -1, -1, -1, -1, false, false, true, false}},
    {"responses, whole",
     &kf_dialect_responses,
     {RESPONSE("created", "in_progress", ""),
      "{\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"hm\"}",
      "{\"type\":\"response.output_text.delta\",\"delta\":\"code\"}",
      "{\"type\":\"response.output_text.done\",\"text\":\"code\"}",
      RESPONSE("completed", "completed", RESPONSE_USAGE)},
     {"code", KF_STOP_END, "completed", 2, 47, 7, 40, -1, true, false, false, false}},
    {"responses, the limit",
     &kf_dialect_responses,
     {"{\"type\":\"response.output_text.delta\",\"delta\":\"co\"}",
      RESPONSE("incomplete", "incomplete",
               ",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}" RESPONSE_USAGE)},
     {"co", KF_STOP_LENGTH, "max_output_tokens", 0, 47, 7, 40, -1, true, false, false, false}},
    {"responses, a filter",
     &kf_dialect_responses,
     {RESPONSE("incomplete", "incomplete",
               ",\"incomplete_details\":{\"reason\":\"content_filter\"}")},
     {"", KF_STOP_REFUSED, "content_filter", 0, -1, -1, -1, -1, true, false, false, false}},
    {"responses, declined",
     &kf_dialect_responses,
     {"{\"type\":\"response.refusal.delta\",\"delta\":\"No.\"}",
      RESPONSE("completed", "completed", "")},
     {"No.", KF_STOP_END, "completed", 0, -1, -1, -1, -1, true, true, false, false}},
    {"responses, a tool",
     &kf_dialect_responses,
     {"{\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{}\"}",
      RESPONSE("completed", "completed", "")},
     {"", KF_STOP_TOOL, "function_call", 2, -1, -1, -1, -1, true, false, false, false}},
    {"responses, failed",
     &kf_dialect_responses,
     {RESPONSE("failed", "failed", ",\"error\":{\"code\":\"server_error\",\"message\":\"Oh\"}")},
     {"", KF_STOP_NONE, "", 0, -1, -1, -1, -1, true, false, true, true}},
    {"responses, an error",
     &kf_dialect_responses,
     {"{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Slow down\"}"},
     {"", KF_STOP_NONE, "", 0, -1, -1, -1, -1, false, false, true, true}},
    {"responses, not streamed",
     &kf_dialect_responses,
     {"{\"object\":\"response\",\"model\":\"m-1\",\"status\":\"completed\",\"error\":null,"
      "\"output\":[{\"type\":\"reasoning\","
      "\"summary\":[]},"
      "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"code\"}]}"
      "]" RESPONSE_USAGE "}"},
     {"code", KF_STOP_END, "completed", 0, 47, 7, 40, -1, true, false, false, false}},
    {"messages, whole",
     &kf_dialect_anthropic,
     {MESSAGE_START, "{\"type\":\"ping\"}",
      BLOCK("{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}"),
      BLOCK("{\"type\":\"text_delta\",\"text\":\"code\"}"), MESSAGE_END("end_turn")},
     {"code", KF_STOP_END, "end_turn", 2, 47, 7, 40, 2, true, false, false, false}},
    {"messages, the limit",
     &kf_dialect_anthropic,
     {MESSAGE_START, BLOCK("{\"type\":\"text_delta\",\"text\":\"co\"}"), MESSAGE_END("max_tokens")},
     {"co", KF_STOP_LENGTH, "max_tokens", 0, 47, 7, 40, 2, true, false, false, false}},
    {"messages, declined",
     &kf_dialect_anthropic,
     {MESSAGE_START, MESSAGE_END("refusal")},
     {"", KF_STOP_REFUSED, "refusal", 0, 47, 7, 40, 2, true, false, false, false}},
    {"messages, a tool",
     &kf_dialect_anthropic,
     {MESSAGE_START, BLOCK("{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}"),
      MESSAGE_END("tool_use")},
     {"", KF_STOP_TOOL, "tool_use", 2, 47, 7, 40, 2, true, false, false, false}},
    {"messages, an error",
     &kf_dialect_anthropic,
     {MESSAGE_START,
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"},
     {"", KF_STOP_NONE, "", 0, 47, 1, 40, 2, false, false, true, true}},
    {"messages, not streamed",
     &kf_dialect_anthropic,
     {"{\"type\":\"message\",\"model\":\"m-1\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
      "\"hm\"},{\"type\":\"text\","
      "\"text\":\"code\"}],"
      "\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":47,\"output_tokens\":7}}"},
     {"code", KF_STOP_END, "end_turn", 0, 47, 7, -1, -1, true, false, false, false}},
    {"Gemini, whole",
     &kf_dialect_gemini,
     {CANDIDATE("{\"text\":\"hm\",\"thought\":true}", ""),
      CANDIDATE("{\"text\":\"code\"}", ",\"finishReason\":\"STOP\"")},
     {"code", KF_STOP_END, "STOP", 2, 47, 7, 40, -1, true, false, false, false}},
    {"Gemini, the limit",
     &kf_dialect_gemini,
     {CANDIDATE("{\"text\":\"co\"}", ",\"finishReason\":\"MAX_TOKENS\"")},
     {"co", KF_STOP_LENGTH, "MAX_TOKENS", 0, 47, 7, 40, -1, true, false, false, false}},
    {"Gemini, stopped",
     &kf_dialect_gemini,
     {CANDIDATE("{\"text\":\"co\"}", ",\"finishReason\":\"RECITATION\"")},
     {"co", KF_STOP_REFUSED, "RECITATION", 0, 47, 7, 40, -1, true, false, false, false}},
    {"Gemini, the prompt blocked",
     &kf_dialect_gemini,
     {"{\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}"},
     {"", KF_STOP_REFUSED, "SAFETY", 0, -1, -1, -1, -1, true, false, false, false}},
    {"Gemini, a tool",
     &kf_dialect_gemini,
     {CANDIDATE("{\"functionCall\":{\"name\":\"f\",\"args\":{}}}", ",\"finishReason\":\"STOP\"")},
     {"", KF_STOP_TOOL, "STOP", 0, 47, 7, 40, -1, true, false, false, false}},
    {"Gemini, an error",
     &kf_dialect_gemini,
     {"{\"error\":{\"code\":503,\"message\":\"Busy\",\"status\":\"UNAVAILABLE\"}}"},
     {"", KF_STOP_NONE, "", 0, -1, -1, -1, -1, false, false, true, true}},
};

static void check(const row *r, kf_answer *a)
{
    const expected *is = &r->is;
    const char *text = a->text.size ? a->text.data : "";
    if (strcmp(text, is->text) != 0) fail_msg("%s: text \"%s\"", r->what, text);
    if (a->stop != is->stop || strcmp(a->stop_word, is->word) != 0)
        fail_msg("%s: stop %d \"%s\"", r->what, a->stop, a->stop_word);
    if (a->hidden_bytes != is->hidden)
        fail_msg("%s: %llu hidden bytes", r->what, (unsigned long long)a->hidden_bytes);
    if (a->prompt_tokens != is->prompt || a->completion_tokens != is->completion ||
        a->cached_tokens != is->cached || a->cache_write_tokens != is->written)
        fail_msg("%s: tokens %lld %lld %lld %lld", r->what, (long long)a->prompt_tokens,
                 (long long)a->completion_tokens, (long long)a->cached_tokens,
                 (long long)a->cache_write_tokens);
    if (a->ended != is->ended || a->has_refusal != is->refusal || a->failed != is->failed ||
        a->passing != is->passing)
        fail_msg("%s: ended %d refusal %d failed %d passing %d", r->what, a->ended, a->has_refusal,
                 a->failed, a->passing);
    if (!a->failed && is->prompt >= 0 && a->model[0] && strcmp(a->model, "m-1") != 0)
        fail_msg("%s: model %s", r->what, a->model);
}

static void replies_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_answer answer;
        kf_answer_open(&answer);
        for (int k = 0; k < MAX_EVENTS && rows[i].events[k]; k++) {
            const char *event = rows[i].events[k];
            if (!kf_answer_event(&answer, rows[i].dialect, "", event, strlen(event)))
                fail_msg("%s: no event: %s", rows[i].what, event);
        }
        check(&rows[i], &answer);
        kf_answer_close(&answer);
    }
}

/* Models write halves of surrogate pairs. cJSON refuses them, and a refused event would be a
 * repeated and paid request. */
static void half_characters_are_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *sent, *text;
    } halves[] = {
        {"a\\ud83d!", "a\xef\xbf\xbd!"},
        {"a\\ude00!", "a\xef\xbf\xbd!"},
        {"\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\\uD83D\\n", "\xef\xbf\xbd\n"},
        {"\\\\ud83d", "\\ud83d"},
        {"\\ud83d", "\xef\xbf\xbd"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        char event[300];
        snprintf(event, sizeof event, CHAT("{\"content\":\"%s\"}", "\"stop\""), halves[i].sent);
        kf_answer answer;
        kf_answer_open(&answer);
        assert_true(kf_answer_event(&answer, &kf_dialect_chat, "", event, strlen(event)));
        assert_string_equal(answer.text.data, halves[i].text);
        kf_answer_close(&answer);
    }
}

static void what_a_call_has_cost_is_taken_over(void **state)
{
    (void)state;
    static const struct {
        const char *cost;
        double usd;
    } costs[] = {{"0.0125", 0.0125}, {"0", 0},          {"-1", NAN},
                 {"1e300", NAN},     {"\"much\"", NAN}, {"null", NAN}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        kf_answer answer;
        char event[200];
        kf_answer_open(&answer);
        snprintf(
            event, sizeof event,
            "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"cost\":%s}}",
            costs[i].cost);
        assert_true(kf_answer_event(&answer, &kf_dialect_chat, "", event, strlen(event)));
        if (!(answer.cost_usd == costs[i].usd || (isnan(answer.cost_usd) && isnan(costs[i].usd))))
            fail_msg("%s: %g", costs[i].cost, answer.cost_usd);
        kf_answer_close(&answer);
    }
}

/* The first part of the reply as the model's turn, and the request to continue, in each format. */
static void requests_go_on(void **state)
{
    (void)state;
    static const struct {
        const kf_dialect *dialect;
        const char *turns;
    } formats[] = {
        {&kf_dialect_chat,
         "{\"role\":\"user\",\"content\":\"Write.\"},{\"role\":\"assistant\",\"content\":\"int "
         "x\"},{\"role\":\"user\",\"content\":\"" KF_CONTINUE_PROMPT "\"}]"},
        {&kf_dialect_responses, "\"input\":[{\"role\":\"user\",\"content\":\"Write.\"},{\"role\":"
                                "\"assistant\",\"content\":\"int "
                                "x\"},{\"role\":\"user\",\"content\":\"" KF_CONTINUE_PROMPT "\"}]"},
        {&kf_dialect_anthropic,
         "\"messages\":[{\"role\":\"user\",\"content\":\"Write.\"},{\"role\":\"assistant\","
         "\"content\":"
         "\"int x\"},{\"role\":\"user\",\"content\":\"" KF_CONTINUE_PROMPT "\"}]"},
        {&kf_dialect_gemini,
         "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Write.\"}]},{\"role\":\"model\","
         "\"parts\":[{"
         "\"text\":\"int x\"}]},"
         "{\"role\":\"user\",\"parts\":[{\"text\":\"" KF_CONTINUE_PROMPT "\"}]}]"},
    };
    const kf_call_settings settings = {.model = "m", .max_tokens = 4000, .temperature = -1};
    const kf_dialect_request request = {.system = "Be good.", .prompt = "Write.", .begun = "int x"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        kf_auto(cJSON) json = cJSON_CreateObject();
        assert_true(formats[i].dialect->body(&settings, &request, json));
        kf_autofree char *text = cJSON_PrintUnformatted(json);
        if (!strstr(text, formats[i].turns))
            fail_msg("%s: %s not in %s", formats[i].dialect->name, formats[i].turns, text);
    }
}

/* An effort in formats that take a token budget, and for a server that knows no effort. */
static void efforts_become_budgets(void **state)
{
    (void)state;
    static const struct {
        const kf_dialect *dialect;
        kf_effort effort;
        int64_t thinking, max_tokens;
        int without;
        const char *present, *absent;
    } cases[] = {
        {&kf_dialect_anthropic, KF_EFFORT_LOW, 0, 16384, 0, "\"budget_tokens\":2048",
         "temperature"},
        /* Leaves room for the answer. */
        {&kf_dialect_anthropic, KF_EFFORT_HIGH, 0, 16384, 0, "\"budget_tokens\":8192", "24576"},
        {&kf_dialect_anthropic, KF_EFFORT_XHIGH, 0, 128000, 0, "\"budget_tokens\":49152",
         "temperature"},
        {&kf_dialect_gemini, KF_EFFORT_XHIGH, 0, 65536, 0, "\"thinkingBudget\":24576", "xhigh"},
        {&kf_dialect_responses, KF_EFFORT_XHIGH, 0, 65536, 0, "\"effort\":\"xhigh\"", "thinking"},
        {&kf_dialect_anthropic, KF_EFFORT_DEFAULT, 3000, 16384, 0, "\"budget_tokens\":3000",
         "temperature"},
        {&kf_dialect_anthropic, KF_EFFORT_NONE, 0, 16384, 0, "\"temperature\":0.5", "thinking"},
        {&kf_dialect_anthropic, KF_EFFORT_HIGH, 0, 1500, 0, "\"temperature\":0.5",
         /* The format refuses less than 1024. */
         "thinking"},
        {&kf_dialect_anthropic, KF_EFFORT_HIGH, 0, 16384, KF_WITHOUT_EFFORT, "\"max_tokens\":16384",
         "thinking"},
        {&kf_dialect_gemini, KF_EFFORT_NONE, 0, 16384, 0, "\"thinkingBudget\":0", "none"},
        {&kf_dialect_gemini, KF_EFFORT_MEDIUM, 0, 16384, 0, "\"thinkingBudget\":8192", "medium"},
        {&kf_dialect_gemini, KF_EFFORT_MEDIUM, 700, 16384, KF_WITHOUT_TEMPERATURE,
         "\"thinkingBudget\":700", "temperature"},
        {&kf_dialect_gemini, KF_EFFORT_DEFAULT, 0, 16384, 0, "\"maxOutputTokens\":16384",
         "thinking"},
        {&kf_dialect_chat, KF_EFFORT_MINIMAL, 0, 16384, 0, "\"reasoning_effort\":\"minimal\"",
         "thinking"},
        {&kf_dialect_chat, KF_EFFORT_MINIMAL, 0, 16384,
         KF_WITHOUT_EFFORT | KF_WITHOUT_STREAM_OPTIONS, "\"max_tokens\":16384", "_effort"},
        {&kf_dialect_chat, KF_EFFORT_DEFAULT, 0, 16384, KF_OTHER_TOKEN_LIMIT,
         "\"max_completion_tokens\":16384", "\"max_tokens\""},
        {&kf_dialect_responses, KF_EFFORT_HIGH, 0, 16384, 0, "\"reasoning\":{\"effort\":\"high\"}",
         "thinking"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kf_call_settings settings = {.model = "m",
                                     .effort = cases[i].effort,
                                     .thinking = cases[i].thinking,
                                     .max_tokens = cases[i].max_tokens,
                                     .temperature = 0.5,
                                     .without = cases[i].without};
        kf_auto(cJSON) json = cJSON_CreateObject();
        assert_true(
            cases[i].dialect->body(&settings, &(kf_dialect_request){.prompt = "Write."}, json));
        kf_autofree char *text = cJSON_PrintUnformatted(json);
        if (!strstr(text, cases[i].present) || strstr(text, cases[i].absent))
            fail_msg("row %zu: %s", i, text);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_understood),
        cmocka_unit_test(half_characters_are_replaced),
        cmocka_unit_test(what_a_call_has_cost_is_taken_over),
        cmocka_unit_test(requests_go_on),
        cmocka_unit_test(efforts_become_budgets),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
