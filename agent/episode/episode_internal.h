/* What the files of agent/episode share. */
#ifndef KFORGE_EPISODE_INTERNAL_H
#define KFORGE_EPISODE_INTERNAL_H

#include "episode.h"
#include "kforge/json.h"
#include "kforge/sandbox.h"

/* longest line on the socket: a source in JSON, where a byte may take six */
#define KF_EPISODE_LINE_BYTES (6u * KF_EPISODE_SOURCE_BYTES + 4096)
/* bytes of the agent's stdout that are kept. The rest is dropped. */
#define KF_EPISODE_STREAM_BYTES (4u << 20)

/* bytes of sources and answers that are kept for exports, the latest ones; and of kforge's own line
 * with them */
#define KF_EPISODE_TURNS_BYTES (4u << 20)
#define KF_EPISODE_OWN_BYTES (6u * KF_EPISODE_TURNS_BYTES + KF_EPISODE_LINE_BYTES)

/* ---- episode_folder.c ------------------------------------------------------------------------ */

typedef struct kf_episode_folder {
    /* kforge's own, with `work` in it; NULL: not made */
    char *outer, *work;
    char *home, *socket;
    /* candidate.cu at the start */
    char *candidate;
} kf_episode_folder;

bool kf_episode_folder_make(kf_episode_folder *folder, const kf_episode_settings *settings,
                            const kf_episode_files *files, kf_error *error);
/* Reads candidate.cu, which the agent may have replaced by anything. NULL with *error for no
 * regular file of this folder alone, or one that is too large. */
char *kf_episode_folder_candidate(const kf_episode_folder *folder, size_t *size, kf_error *error);
void kf_episode_folder_remove(kf_episode_folder *folder);

/* ---- episode_jail.c -------------------------------------------------------------------------- */

kf_sandbox *kf_episode_jail(const kf_episode_folder *folder, const kf_episode_settings *settings,
                            int input, int output, kf_error *error);

/* ---- episode_server.c ------------------------------------------------------------------------ */

typedef struct kf_episode_connection {
    /* -1: the place is free */
    int fd;
    /* of the question in work; 0: there is no question */
    int64_t question;
    /* kf_now of the last byte */
    double active;
    kf_buffer in, out;
    /* the first bytes of `in`, which have no end of a line */
    size_t looked;
    size_t written;
    /* close it once the answer is written */
    bool ends;
} kf_episode_connection;

/* What the server counts, against the limits. */
typedef struct kf_episode_account {
    int evals;
    double device_seconds;
    /* in which questions waited for a worker */
    double waited_seconds;
    /* connections and lines; a flood of them ends the episode */
    int64_t requests;
    /* the agent asked for more than its limits allow, in words; "": no */
    char overspent[96];
} kf_episode_account;

typedef struct kf_episode_server {
    int listener;
    kf_episode_connection connections[KF_EPISODE_CONNECTIONS];
    kf_episode_question waiting[KF_EPISODE_CONNECTIONS];
    size_t waiting_count;
    /* questions that were taken, and that no client waits for any more */
    int64_t withdrawn[KF_EPISODE_CONNECTIONS];
    size_t withdrawn_count;
    /* withdrawn questions without an answer, waiting or taken from `withdrawn` */
    size_t withdrawn_open;
    int64_t last_question;
    kf_episode_account account;
    /* an array of earlier answers in brief */
    cJSON *history;
    /* an array of {"id","do","source"} of each judgement, and once it is answered "feedback",
     * "status" and "candidate" */
    cJSON *turns;
    size_t turns_bytes;
    /* without the time in which questions wait */
    double deadline;
    /* since when there is a question without an answer; 0: there is no question */
    double open_since;
    /* since then: seconds of building and judging */
    double judged_seconds;
    const kf_episode_settings *settings;
} kf_episode_server;

bool kf_episode_server_open(kf_episode_server *server, const char *path, kf_error *error);
void kf_episode_server_close(kf_episode_server *server);
void kf_episode_server_step(kf_episode_server *server);
size_t kf_episode_server_watch(const kf_episode_server *server, struct pollfd *fds, size_t most);
/* As kf_episode_next. */
bool kf_episode_server_next(kf_episode_server *server, kf_episode_question *question);
void kf_episode_server_answer(kf_episode_server *server, int64_t id, const char *json,
                              double device_seconds, double judging_seconds, const char *reason);
/* Returns the seconds until the deadline. The time since a question without an answer counts only
 * as far as it was judged. */
double kf_episode_server_left(const kf_episode_server *server, double now);

/* ---- episode_stream.c ------------------------------------------------------------------------ */

typedef struct kf_episode_stream {
    /* the first KF_EPISODE_STREAM_BYTES of stdout, and the line that arrives now */
    kf_buffer text, line;
    uint64_t dropped;
    /* its tokens are those of a `result` line */
    kf_episode_usage usage;
    /* tokens of the turns so far, and of the last one among them */
    kf_episode_usage turns, turn;
    /* id of the last turn's message: Claude Code repeats a message with its usage */
    char message[64];
} kf_episode_stream;

/* What a stream knows before its first line. */
extern const kf_episode_usage kf_episode_no_usage;
/* Returns the figures so far: those of the `result` line, else those of the turns. */
kf_episode_usage kf_episode_stream_usage(const kf_episode_stream *stream);

void kf_episode_stream_take(kf_episode_stream *stream, const char *data, size_t size);
/* Appends kforge's own line. `candidate` NULL: unchanged. `turns`: of kf_episode_server. Returns
 * the whole text, malloc'd. */
char *kf_episode_stream_close(kf_episode_stream *stream, const char *ended,
                              const kf_episode_account *account, const cJSON *turns,
                              const char *candidate, size_t *size);
void kf_episode_stream_free(kf_episode_stream *stream);

#endif
