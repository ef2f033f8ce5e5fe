/* Replies that were cut off at the token limit: what is worth continuing, and how two parts become
 * one text. Pure. Internal to agent/.
 *
 * The way that works with every provider is a conversation: the part that came as the model's turn,
 * then the request to go on. Prefilled turns, which some providers continue exactly, are refused by
 * others (OpenAI, newer models of Anthropic). So a model may repeat a little, or open its code
 * block again: that is taken out where the parts meet.
 */
#ifndef KFORGE_LLM_CONTINUE_H
#define KFORGE_LLM_CONTINUE_H

#include <stdbool.h>
#include <stddef.h>

#include "kforge/buffer.h"

#define KF_CONTINUE_PROMPT                                                                         \
    "Your reply was cut off at the token limit. Continue exactly where it stopped, with the very " \
    "next character: repeat nothing, "                                                             \
    "open no new code block, add no remarks."

/* Is something of use still missing? True when a code block is open, or when there is no whole one
 * yet. */
bool kf_reply_is_open(const char *text, size_t size);
/* Appends the continuation to `text`. */
void kf_reply_join(kf_buffer *text, const char *more, size_t size);

#endif
