/* Faults of servers, proxies and networks. Each row is a test of its own (unit.llm_fault.NAME). All
 * rows check the reply or its documented error, the number of requests, and that each charge is
 * booked once with nothing left reserved. */
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
#include "budget.h"
#include "kforge/file.h"
#include "llm.h"
#include "model_server.h"

#define TEXT "```cuda\n// gr\xc3\xb6\xc3\x9f\x65 \xf0\x9f\x98\x80\nint x;\n```\n"
#define WHOLE "Here:\n```cuda\n// gr\xc3\xb6\xc3\x9f\x65 \xf0\x9f\x98\x80\nint x = 1;\n```\n"
#define KEY "sk-test-0123456789abcdef"

typedef struct row {
    const char *name, *scenario, *options;
    kf_llm_outcome outcome;
    /* NULL: not checked. */
    const char *text;
    /* A part of it. */
    const char *error;
    int requests;
    /* -1: the server did not say. -1 and 0: it refused everything, and no tokens are booked. */
    int64_t prompt, completion;
    /* Seconds. 0: not checked. */
    double least, most;
} row;

/* 1 USD a million tokens in, 2 out: 11 and 7 tokens cost 25e-6 USD. */
static const row rows[] = {
    {"plain", "plain", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"half_a_character", "utf8_split", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"crlf", "crlf", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"cr", "cr", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"comments", "comments", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"no_space", "no_space", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"multi_line", "multi_line", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"big_event", "big_event", "", KF_LLM_OK, NULL, "", 1, 11, 7, 0, 0},
    {"too_big_event", "too_big_event", "", KF_LLM_FAILED, NULL,
     "an event of the stream has more than 5242880 bytes", 1, -1, -1, 0, 0},
    {"no_done", "no_done", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"no_end_at_all", "no_end_at_all", "", KF_LLM_TRUNCATED, TEXT, "ended without its end mark", 1,
     -1, -1, 0, 0},
    {"error_in_stream", "error_in_stream", "", KF_LLM_OK, TEXT, "", 2, -1, -1, 0, 0},
    {"lasting_error_in_stream", "lasting_error_in_stream", "", KF_LLM_FAILED, NULL,
     "invalid_request_error: This model does not like you", 1, -1, -1, 0, 0},
    {"html", "html", ",retries=2", KF_LLM_FAILED, NULL,
     "status 200 with text/html, without the reply of a model: <!DOCTYPE html>", 3, -1, -1, 0, 0},
    {"html_once", "html_once", "", KF_LLM_OK, TEXT, "", 2, -1, -1, 0, 0},
    {"gzip", "gzip", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"one_byte_chunks", "bytes", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"stalled", "stalled", ",stall=0.3,retries=1", KF_LLM_FAILED, NULL,
     "the reply stalled: nothing for 0.3 s", 2, -1, -1, 0.6, 25},
    {"stalled_once", "stalled_once", ",stall=2", KF_LLM_OK, TEXT, "", 2, -1, -1, 2, 25},
    {"silent", "silent", ",first_byte=1,retries=1", KF_LLM_FAILED, NULL,
     "no reply within 1 s (2 attempts)", 2, -1, -1, 2, 25},
    {"thinks_in_silence", "thinking", ",stall=1,first_byte=10", KF_LLM_OK, TEXT, "", 1, 11, 7, 1.5,
     25},
    {"thinks_for_ever", "thinking-ever", ",stall=100,first_byte=3,retries=0", KF_LLM_FAILED, NULL,
     "the reply stalled: nothing for 3 s", 1, -1, -1, 3, 90},
    {"too_slow", "silent", ",timeout=1", KF_LLM_FAILED, NULL, "took longer than 1 s", 1, -1, -1, 1,
     25},
    {"closed", "closed", ",retries=1", KF_LLM_FAILED, NULL, "the connection was closed after", 2,
     -1, -1, 0, 0},
    {"closed_once", "closed_once", "", KF_LLM_OK, TEXT, "", 2, -1, -1, 0, 0},
    {"closed_before", "closed_before", "", KF_LLM_OK, TEXT, "", 2, -1, -1, 0, 0},
    {"closed_after_end", "closed_after_end", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"redirect", "redirect", "", KF_LLM_FAILED, NULL,
     "redirects to http://127.0.0.1:1/elsewhere (status 302), and kforge sends no key there", 1, -1,
     0, 0, 0},
    {"wrong_content_type", "wrong_type", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"not_streamed", "not_streamed", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"duplicate_keys", "duplicate_keys", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"no_usage", "no_usage", "", KF_LLM_OK, TEXT, "", 1, -1, -1, 0, 0},
    {"usage_everywhere", "usage_everywhere", "", KF_LLM_OK, TEXT, "", 1, 11, 7, 0, 0},
    {"nan_tokens", "nan_tokens", "", KF_LLM_OK, TEXT, "", 1, -1, -1, 0, 0},
    {"absurd_tokens", "absurd_tokens", "", KF_LLM_OK, TEXT, "", 1, -1, -1, 0, 0},
    {"retry_after_seconds", "wait_seconds", "", KF_LLM_OK, TEXT, "", 2, 11, 7, 1, 25},
    {"retry_after_date", "wait_date", "", KF_LLM_OK, TEXT, "", 2, 11, 7, 0.9, 25},
    {"retry_after_an_hour", "wait_an_hour", "", KF_LLM_FAILED, NULL,
     "the server asks to wait 3600 s", 1, -1, 0, 0, 25},
    {"rate_limit_reset", "wait_reset", "", KF_LLM_OK, TEXT, "", 2, 11, 7, 1, 25},
    {"no_credit", "no_credit", "", KF_LLM_FAILED, NULL, "the account has no credit left", 1, -1, 0,
     0, 0},
    {"five_times_500", "fails-5", "", KF_LLM_OK, TEXT, "", 6, 11, 7, 0, 0},
    {"always_500", "fails-99", ",retries=2", KF_LLM_FAILED, NULL,
     "status 500: <html>Internal Server Error</html> (3 attempts)", 3, -1, 0, 0, 0},
    {"status_401", "unauthorized", "", KF_LLM_FAILED, NULL,
     "status 401: Incorrect API key provided: Bearer [key]; check the key in KFORGE_API_KEY", 1, -1,
     0, 0, 0},
    {"status_404", "no_model", "", KF_LLM_FAILED, NULL,
     "status 404: The model `m` does not exist; check the model's name", 1, -1, 0, 0, 0},
    {"context_length", "too_long", "", KF_LLM_FAILED, NULL, "the prompt is too long for the model",
     1, -1, 0, 0, 0},
    {"content_filter", "filter", "", KF_LLM_REFUSED, NULL, "the server's filter refused the prompt",
     1, -1, 0, 0, 0},
    {"content_filter_in_stream", "filter_in_stream", "", KF_LLM_REFUSED, "half of",
     "stopped the reply (content_filter)", 1, 11, 7, 0, 0},
    {"refusal", "refusal", "", KF_LLM_REFUSED, "I'm sorry, no.", "the model declined", 1, 11, 7, 0,
     0},
    {"endless", "endless", "", KF_LLM_FAILED, NULL, "more than 8388608 bytes of text", 1, -1, -1, 0,
     0},
    {"endless_reasoning", "endless_thinking", "", KF_LLM_FAILED, NULL,
     "the reply has more than 67108864 bytes", 1, -1, -1, 0, 0},
    {"only_reasoning", "only_reasoning", "", KF_LLM_EMPTY, "", "only reasoning came (12 bytes)", 1,
     11, 7, 0, 0},
    {"only_reasoning_to_the_limit", "only_reasoning-length", "", KF_LLM_EMPTY, "",
     "give a larger max_tokens or a lower effort", 1, 11, 7, 0, 0},
    {"tool_call", "tool", "", KF_LLM_EMPTY, "",
     "the model called a tool, but kforge offers no tools", 1, 11, 7, 0, 0},
    {"empty", "empty", "", KF_LLM_EMPTY, "", "the reply is empty", 1, 11, 7, 0, 0},
    {"continued", "continued", "", KF_LLM_OK, WHOLE, "", 2, 22, 14, 0, 0},
    {"continued_from_the_line", "continued-line", "", KF_LLM_OK, WHOLE, "", 2, 22, 14, 0, 0},
    {"continued_in_a_new_block", "continued-fence", "", KF_LLM_OK, WHOLE, "", 2, 22, 14, 0, 0},
    {"continued_from_the_start", "continued-over", "", KF_LLM_OK, WHOLE, "", 2, 22, 14, 0, 0},
    {"continued_twice", "continued-twice", "", KF_LLM_OK,
     "Here:\n```cuda\n// gr\xc3\xb6\xc3\x9f\x65 \xf0\x9f\x98\x80\nint x = 1; // and on\n```\n", "",
     3, 33, 21, 0, 0},
    {"not_continued_for_ever", "truncated", "", KF_LLM_TRUNCATED, NULL,
     "cut off at the limit of 16384 tokens", 3, 33, 21, 0, 0},
    {"continuation_refused", "lost", "", KF_LLM_TRUNCATED, "```cuda\nint x",
     "could not be continued", 2, 11, 7, 0, 0},
    {"whole_enough", "enough", "", KF_LLM_TRUNCATED, "```cuda\nint x;\n```\nThis is how",
     "cut off at the limit of 16384 tokens", 1, 11, 7, 0, 0},
    {"truncated", "truncated", ",continue=0", KF_LLM_TRUNCATED, "```cuda\nint x",
     "cut off at the limit of 16384 tokens", 1, 11, 7, 0, 0},
    {"not_json", "not_json", ",retries=1", KF_LLM_FAILED, NULL, "events that are not JSON: {oops",
     2, -1, -1, 0, 0},
    {"no_events", "no_events", ",retries=1", KF_LLM_FAILED, NULL,
     "without the reply of a model: (an empty body)", 2, -1, -1, 0, 0},
    {"old_server", "old", ",effort=low", KF_LLM_OK, TEXT, "", 3, -1, -1, 0, 0},
};

/* Faults of single bytes, statuses and headers: the scenarios of tests/llm/wire.py. They all run in
 * one test, against one server. Where a fault passes, the second request gets the reply. */
#define ONCE KF_LLM_OK, TEXT, "", 2, -1, -1
#define FINE KF_LLM_OK, TEXT, "", 1, 11, 7
#define UNCOUNTED KF_LLM_OK, TEXT, "", 1, -1, -1
#define REFUSED(ERROR) KF_LLM_FAILED, NULL, ERROR, 1, -1, 0
#define AFTER_REFUSAL KF_LLM_OK, TEXT, "", 2, 11, 7

#define WIRE(NAME, OPTIONS, ...)                 \
    {                                            \
#NAME, #NAME, OPTIONS, __VA_ARGS__, 0, 0 \
    }

static const row wire[] = {
    WIRE(chunk_cut, "", ONCE),
    WIRE(chunk_size_garbled, "", ONCE),
    WIRE(chunk_size_huge, "", ONCE),
    WIRE(chunk_extensions, "", FINE),
    WIRE(chunk_trailers, "", FINE),
    WIRE(chunk_end_missing, "", FINE),
    WIRE(chunked_error, "", AFTER_REFUSAL),
    WIRE(chunked_error_cut, "", AFTER_REFUSAL),
    WIRE(length_short, "", KF_LLM_TRUNCATED, NULL, "ended without its end mark", 1, -1, -1),
    WIRE(length_long, "", FINE),
    WIRE(length_twice, "", FINE),
    WIRE(length_negative, "", ONCE),
    WIRE(length_garbled, "", ONCE),
    WIRE(until_closed, "", FINE),
    WIRE(http_1_0, "", FINE),
    WIRE(http_0_9, "", ONCE),
    WIRE(http_2_frames, "", ONCE),
    WIRE(status_garbled, "", ONCE),
    WIRE(continue_first, "", FINE),
    WIRE(early_hints, "", FINE),
    WIRE(continue_for_ever, "", AFTER_REFUSAL),
    WIRE(header_for_ever, "", ONCE),
    WIRE(headers_slow, "", FINE),
    WIRE(headers_for_ever, ",first_byte=0.5,retries=0", KF_LLM_FAILED, NULL,
         "no reply within 0.5 s", 1, -1, -1),
    WIRE(half_closed, "", ONCE),
    WIRE(reset_at_once, "", ONCE),
    WIRE(reset_in_the_middle, "", ONCE),
    WIRE(reset_after_the_end, "", FINE),
    WIRE(two_replies, "", FINE),
    WIRE(redirect_permanent, "", REFUSED("redirects to https://elsewhere.invalid/v1 (status 301)")),
    WIRE(redirect_keeping_the_method, "",
         REFUSED("redirects to /v2/chat/completions (status 307)")),
    WIRE(redirect_to_nowhere, "", REFUSED("redirects to elsewhere (status 308)")),
    WIRE(redirect_to_a_file, "", REFUSED("redirects to file:///etc/passwd (status 302)")),
    WIRE(gzip_of_plain_text, "", ONCE),
    WIRE(gzip_cut, "", ONCE),
    WIRE(gzip_bomb, "", KF_LLM_FAILED, NULL, "the reply has more than 67108864 bytes", 1, -1, -1),
    WIRE(encoding_unknown, "", ONCE),
    WIRE(nothing, "", REFUSED("status 204: (an empty body)")),
    WIRE(error_with_status_200, "", KF_LLM_FAILED, NULL,
         "invalid_request_error: the model is not loaded", 1, -1, -1),
    WIRE(passing_error_with_status_200, "", ONCE),
    WIRE(error_that_is_a_word, "", REFUSED("status 400: out of luck")),
    WIRE(error_with_html, "", REFUSED("Blocked by the firewall")),
    WIRE(error_that_is_long, "", REFUSED("status 400: {\"error\": {\"message\": \"xxx")),
    WIRE(error_for_ever, "", AFTER_REFUSAL),
    WIRE(payment_required, "", REFUSED("status 402: top up")),
    WIRE(method_not_allowed, "", REFUSED("status 405: use GET")),
    WIRE(request_timeout, "", AFTER_REFUSAL),
    WIRE(conflict, "", AFTER_REFUSAL),
    WIRE(payload_too_large, "", REFUSED("the prompt is too long for the model (status 413)")),
    WIRE(unprocessable, "", REFUSED("status 422: ")),
    WIRE(too_early, "", AFTER_REFUSAL),
    WIRE(not_implemented, "", REFUSED("status 501: no streams here")),
    WIRE(gateway_timeout, "", AFTER_REFUSAL),
    WIRE(cloudflare, "", AFTER_REFUSAL),
    WIRE(overload, "", AFTER_REFUSAL),
    WIRE(status_unknown, "", REFUSED("status 799: what is this")),
    WIRE(wait_negative, "", AFTER_REFUSAL),
    WIRE(wait_huge, "", AFTER_REFUSAL),
    WIRE(wait_garbled, "", AFTER_REFUSAL),
    WIRE(wait_empty, "", AFTER_REFUSAL),
    WIRE(wait_until_yesterday, "", AFTER_REFUSAL),
    WIRE(wait_until_next_year, "", REFUSED("the server asks to wait 315")),
    WIRE(wait_a_day, "", REFUSED("the server asks to wait 86400 s")),
    WIRE(byte_order_mark, "", FINE),
    WIRE(byte_order_mark_in_pieces, "", FINE),
    WIRE(line_ends_mixed, "", FINE),
    WIRE(fields_in_any_order, "", FINE),
    WIRE(events_without_data, "", FINE),
    WIRE(words_between_events, "", FINE),
    WIRE(comments_in_floods, "", FINE),
    WIRE(pings_in_floods, "", FINE),
    WIRE(pings_for_ever, ",timeout=1,retries=0", KF_LLM_FAILED, NULL, "took longer than 1 s", 1, -1,
         -1),
    WIRE(line_for_ever, "", KF_LLM_FAILED, NULL,
         "an event of the stream has more than 5242880 bytes", 1, -1, -1),
    WIRE(drips, "", FINE),
    WIRE(finish_first, "", FINE),
    WIRE(usage_first, "", FINE),
    WIRE(done_twice, "", FINE),
    WIRE(text_after_done, "", FINE),
    WIRE(nothing_but_done, "", KF_LLM_EMPTY, "", "the reply is empty", 1, -1, -1),
    WIRE(error_that_is_a_word_in_the_stream, "", KF_LLM_FAILED, NULL, "CUDA out of memory", 1, -1,
         -1),
    WIRE(error_after_the_text, "", KF_LLM_FAILED, NULL, "too late", 1, -1, -1),
    WIRE(utf8_invalid, "", KF_LLM_OK,
         "a\xef\xbf\xbd\xef\xbf\xbd"
         "b",
         "", 1, 11, 7),
    WIRE(utf8_overlong, "", KF_LLM_OK,
         "a\xef\xbf\xbd\xef\xbf\xbd"
         "b",
         "", 1, 11, 7),
    WIRE(utf8_split_over_events, "", KF_LLM_OK,
         "a\xc3\xb6"
         "b",
         "", 1, 11, 7),
    WIRE(surrogate_alone, "", KF_LLM_OK,
         "a\xef\xbf\xbd"
         "b\xef\xbf\xbd"
         "c",
         "", 1, 11, 7),
    WIRE(surrogates_split_over_events, "", KF_LLM_OK,
         "a\xef\xbf\xbd\xef\xbf\xbd"
         "b",
         "", 1, 11, 7),
    WIRE(nul_escaped, "", KF_LLM_OK,
         "a\xef\xbf\xbd"
         "b\\u0000",
         "", 1, 11, 7),
    WIRE(nul_byte, "", KF_LLM_OK,
         "a\xef\xbf\xbd"
         "b",
         "", 1, 11, 7),
    WIRE(nesting_deep, "", ONCE),
    WIRE(keys_twice, "", KF_LLM_OK, "a", "", 1, 11, 7),
    WIRE(numbers_out_of_range, "", UNCOUNTED),
    WIRE(usage_negative, "", UNCOUNTED),
    WIRE(usage_over_all_limits, "", UNCOUNTED),
    WIRE(usage_of_words, "", UNCOUNTED),
    WIRE(usage_is_a_list, "", UNCOUNTED),
    WIRE(choices_missing, "", ONCE),
    WIRE(events_that_are_lists, "", ONCE),
    WIRE(lines_of_json, "", ONCE),
    WIRE(whole_after_blanks, "", FINE),
    WIRE(whole_with_a_mark, "", FINE),
    WIRE(whole_cut, "", ONCE),
    WIRE(whole_without_a_type, "", FINE),
    WIRE(words_with_status_200, "", ONCE),
};

static model_server server;

static void check(const row *r, kf_llm_reply *reply, const kf_budget *budget, double seconds)
{
    if (reply->outcome != r->outcome)
        fail_msg("outcome %s: %s", kf_llm_outcome_name(reply->outcome), reply->error.text);
    if (r->text && strcmp(reply->text ? reply->text : "", r->text) != 0)
        fail_msg("text: %s", reply->text);
    if (*r->error ? !strstr(reply->error.text, r->error) : reply->error.text[0])
        fail_msg("error: %s", reply->error.text);
    assert_null(strstr(reply->error.text, KEY));
    assert_int_equal(reply->requests, r->requests);
    if (reply->prompt_tokens != r->prompt ||
        reply->completion_tokens != (r->prompt < 0 ? -1 : r->completion))
        fail_msg("tokens %lld %lld", (long long)reply->prompt_tokens,
                 (long long)reply->completion_tokens);
    if (r->most > 0 && !(seconds >= r->least && seconds < r->most)) fail_msg("%g s", seconds);
    /* The bookings. */
    assert_true(budget->reserved.nanodollars == 0 && budget->reserved.tokens == 0 &&
                budget->reserved.requests == 0);
    assert_int_equal(budget->spent.requests, r->requests);
    if (r->prompt >= 0) {
        assert_int_equal(budget->spent.tokens, r->prompt + r->completion);
        assert_int_equal(budget->spent.nanodollars, 1000 * r->prompt + 2000 * r->completion);
    }
    if (r->prompt < 0 && r->completion == 0)
        assert_true(budget->spent.tokens == 0 && budget->spent.nanodollars == 0);
    double cost = isnan(reply->cost_usd) ? 0 : reply->cost_usd;
    assert_true(fabs(cost - kf_dollars(budget->spent.nanodollars)) < 1e-12);
    cJSON *log = model_server_log(&server, r->scenario);
    int seen = cJSON_GetArraySize(log);
    bool had_key = true;
    const cJSON *request;
    cJSON_ArrayForEach(request, log)
    {
        const cJSON *key =
            cJSON_GetObjectItem(cJSON_GetObjectItem(request, "headers"), "authorization");
        had_key &= cJSON_IsString(key) && strcmp(key->valuestring, "Bearer " KEY) == 0;
    }
    cJSON_Delete(log);
    assert_int_equal(seen, r->requests);
    assert_true(had_key);
}

/* Checks a row against the server that runs. */
static void ask_and_check(const row *r)
{
    char spec[300];
    kf_error error = {0};
    kf_budget budget = {.limit = {kf_nanodollars(1), 10000000, 1000}};
    snprintf(spec, sizeof spec,
             "compatible,backoff=0.01,price_in=1,price_out=2%s:m@http://127.0.0.1:%d/%s/v1",
             r->options, server.port, r->scenario);
    kf_llm *llm = kf_llm_open(spec, &error);
    if (!llm) fail_msg("%s", error.text);
    kf_llm_set_budget(llm, &budget);
    double start = kf_now();
    assert_true(kf_llm_submit(
        llm,
        &(kf_llm_request){.system = "Be good.", .prompt = "Write.", .temperature = -1, .tag = 7},
        &error));
    kf_llm_reply reply = {0};
    assert_int_equal(kf_llm_poll(llm, 600, &reply), 1);
    assert_int_equal(reply.tag, 7);
    assert_int_equal(kf_llm_in_flight(llm), 0);
    check(r, &reply, &budget, kf_now() - start);
    kf_llm_reply_free(&reply);
    kf_llm_close(llm);
}

static void row_holds(void **state)
{
    server = model_server_start();
    ask_and_check(*state);
    model_server_stop(&server);
}

static void the_wire(void **state)
{
    (void)state;
    server = model_server_start();
    const char *only = getenv("ONLY");
    for (size_t i = 0; i < sizeof wire / sizeof *wire; i++) {
        if (only && strcmp(only, wire[i].name) != 0) continue;
        /* The last line names the row of a failure. */
        print_message("%s\n", wire[i].name);
        ask_and_check(&wire[i]);
    }
    model_server_stop(&server);
}

int test_program(void)
{
    struct CMUnitTest tests[sizeof rows / sizeof *rows + 1];
    size_t count = sizeof rows / sizeof *rows;
    setenv("KFORGE_API_KEY", KEY, 1);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = row_holds,
                                       .initial_state = (void *)(uintptr_t)&rows[i]};
    tests[count] = (struct CMUnitTest){.name = "the_wire", .test_func = the_wire};
    return test_group("faults", tests, count + 1, NULL, NULL);
}
