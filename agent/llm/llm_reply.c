/* Replies of models: their outcomes by name, and the text that a reply owns. Also the two kinds of
 * options that are no words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/buffer.h"
#include "llm_provider.h"
#include "utf8.h"

const char *const kf_llm_duration[] = {NULL}, *const kf_llm_text[] = {NULL};

static const char *const outcome_names[] = {
    [KF_LLM_OK] = "ok",       [KF_LLM_TRUNCATED] = "truncated", [KF_LLM_REFUSED] = "refused",
    [KF_LLM_EMPTY] = "empty", [KF_LLM_FAILED] = "failed",       [KF_LLM_EXHAUSTED] = "exhausted",
};
#define OUTCOME_COUNT (sizeof outcome_names / sizeof *outcome_names)

const char *kf_llm_outcome_name(kf_llm_outcome outcome)
{
    return (size_t)outcome < OUTCOME_COUNT ? outcome_names[outcome] : "unknown";
}

bool kf_llm_outcome_parse(const char *name, kf_llm_outcome *outcome)
{
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        if (strcmp(outcome_names[i], name) != 0) continue;
        *outcome = (kf_llm_outcome)i;
        return true;
    }
    return false;
}

kf_llm_reply kf_llm_reply_empty(int64_t tag)
{
    return (kf_llm_reply){.tag = tag,
                          .outcome = KF_LLM_FAILED,
                          .prompt_tokens = -1,
                          .completion_tokens = -1,
                          .cost_usd = NAN,
                          .requests = 1,
                          .waited_seconds = NAN};
}

/* Returns the text with U+FFFD for each byte that is not UTF-8, and takes it over. Without memory,
 * the text stays as it is. */
static char *mend_utf8(char *text, size_t *size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    kf_autobuffer clean = {0};
    size_t start = 0;
    for (size_t at = 0, length; at < *size; at += length) {
        if ((length = kf_utf8_length(bytes + at, *size - at))) continue;
        kf_buffer_append(&clean, text + start, at - start);
        kf_buffer_string(&clean, "\xef\xbf\xbd");
        start = at += 1;
        length = 0;
    }
    if (!start) return text;
    kf_buffer_append(&clean, text + start, *size - start);
    if (clean.failed) return text;
    free(text);
    *size = clean.size;
    return kf_buffer_take(&clean);
}

void kf_llm_reply_set_text(kf_llm_reply *reply, char *text, size_t size)
{
    free(reply->text);
    reply->text = text = mend_utf8(text, &size);
    reply->size = size;
    reply->outcome = strspn(text, " \t\r\n") == size ? KF_LLM_EMPTY : KF_LLM_OK;
}

void kf_llm_reply_free(kf_llm_reply *reply)
{
    free(reply->text);
    free(reply->model);
    free(reply->settings);
    *reply = (kf_llm_reply){0};
}
