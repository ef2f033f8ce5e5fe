/* Replies of model servers, all four formats: whatever comes, there is a text within its limit and
 * counts that are counts or -1. The first byte says which format, and whether the rest is one
 * event's data or a stream. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "extract.h"
#include "llm_dialect.h"
#include "sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const kf_dialect *const dialects[] = {&kf_dialect_chat, &kf_dialect_responses,
                                             &kf_dialect_anthropic, &kf_dialect_gemini};
static const kf_dialect *dialect;

static bool take(void *context, const char *name, const char *data, size_t size)
{
    kf_answer *answer = context;
    kf_answer_event(answer, dialect, name, data, size);
    return !answer->failed;
}

static void check_count(int64_t count)
{
    if (count < -1 || count > INT64_C(4000000000)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    kf_answer answer;
    kf_error error = {0};
    kf_sse sse;
    dialect = dialects[data[0] & 3];
    kf_answer_open(&answer);
    if (data[0] & 4) {
        kf_autofree char *text = strndup((const char *)data + 1, size - 1);
        take(&answer, "", text, strlen(text));
    } else {
        kf_sse_open(&sse, take, &answer);
        if (kf_sse_feed(&sse, (const char *)data + 1, size - 1, &error)) kf_sse_end(&sse, &error);
        kf_sse_close(&sse);
    }
    if (answer.text.size > KF_REPLY_BYTES) abort();
    check_count(answer.prompt_tokens);
    check_count(answer.completion_tokens);
    check_count(answer.cached_tokens);
    check_count(answer.cache_write_tokens);
    if (!isnan(answer.cost_usd) && !(answer.cost_usd >= 0 && answer.cost_usd < 1e6)) abort();
    if (answer.failed && !answer.error.text[0]) abort();
    kf_answer_close(&answer);
    return 0;
}
