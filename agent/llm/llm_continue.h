/* Replies that were cut off at the token limit: which of them kforge continues, and how it joins
 * two parts. Pure. Internal to agent/.
 *
 * Every provider accepts a conversation: the first part as the model's turn, then the request to
 * continue. Some providers continue a prefilled turn exactly, but others refuse it (OpenAI, newer
 * models of Anthropic). In a conversation a model may repeat a few words, or open its code block
 * again. kf_reply_join removes both. */
#ifndef KFORGE_LLM_CONTINUE_H
#define KFORGE_LLM_CONTINUE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"

#define KF_CONTINUE_PROMPT                                                                         \
    "Your reply was cut off at the token limit. Continue exactly where it stopped, with the very " \
    "next character: repeat nothing, "                                                             \
    "open no new code block, add no remarks."

/* True if the reply is incomplete: a code block is open, or there is no whole block yet. */
bool kf_reply_is_open(const char *text, size_t size);
/* Appends the continuation to `text`. */
void kf_reply_join(kf_buffer *text, const char *more, size_t size);

#endif
