/* The compiler's messages with the candidate's names, lines and columns. */
#ifndef KFORGE_CPUCC_MESSAGES_H
#define KFORGE_CPUCC_MESSAGES_H

#include "cpucc.h"
#include "kforge/buffer.h"
#include "rewrite_places.h"

typedef struct kf_cpucc_messages {
    /* The folder of kforge's headers, as it is in messages. */
    const char *headers;
    /* The places of the rewritten sources. NULL: the messages are about the source itself.
     * Borrowed. */
    const kf_places *places[KF_CPUCC_FILES];
    int count;
} kf_cpucc_messages;

/* Writes the messages of g++ -fno-diagnostics-show-caret, with the lines of code that they are
 * about. */
void kf_cpucc_messages_write(const kf_cpucc_messages *messages, const char *text,
                             kf_buffer *output);

#endif
