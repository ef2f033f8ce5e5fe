/* The compiler's messages with the candidate's names, lines and columns. */
#ifndef KFORGE_CPUCC_MESSAGES_H
#define KFORGE_CPUCC_MESSAGES_H

#include "cpucc.h"
#include "kforge/buffer.h"
#include "rewrite_places.h"

typedef struct kf_cpucc_messages {
    /* The folder of kforge's headers, as it is in messages. */
    const char *headers;
    /* The sources: their names, their texts (NULL: unknown), and their places (NULL: the messages
     * are about the sources themselves). Borrowed. */
    const char *files[KF_CPUCC_FILES];
    const char *texts[KF_CPUCC_FILES];
    const kf_places *places[KF_CPUCC_FILES];
    int count;
} kf_cpucc_messages;

/* Writes the messages of g++ -fno-diagnostics-show-caret. */
void kf_cpucc_messages_write(const kf_cpucc_messages *messages, const char *text,
                             kf_buffer *output);

#endif
