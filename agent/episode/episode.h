/* An episode: a coding agent works on one candidate, in a jail, with files and with the program
 * `kforge` as a client of the judge outside.
 *
 * The agent's folder holds TASK.md, AGENTS.md, candidate.cu, baseline.cu (read-only) and the socket
 * kforge.sock. The caller judges what the agent asks for: kf_episode_next gives the question, and
 * kf_episode_answer the verdict. README.md describes the protocol on the socket.
 *
 * The agent is not trusted. kforge believes neither its output nor its exit status. Its result is
 * the content of candidate.cu after its last process has ended.
 *
 * No call waits, except for kf_episode_pause and kf_episode_free, which kills the processes first.
 * An object belongs to the thread that started it (kforge/sandbox.h). */
#ifndef KFORGE_EPISODE_H
#define KFORGE_EPISODE_H

#include <cjson/cJSON.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kforge/buffer.h"
#include "kforge/error.h"

/* most names in a list of the settings */
#define KF_EPISODE_NAMES 32
/* longest source that an agent may have judged */
#define KF_EPISODE_SOURCE_BYTES (256u << 10)
/* most questions of an episode without an answer: one a connection */
#define KF_EPISODE_CONNECTIONS 8

/* Lists end with NULL. Texts are borrowed while episodes run. */
typedef struct kf_episode_settings {
    /* for /bin/sh -c */
    const char *command;
    /* HOME of the agent, which it may write to; NULL: an empty folder for each episode */
    const char *home;
    /* variables NAME=VALUE that the agent gets besides kforge's own */
    const char *const *environment;
    /* further files and folders that the agent may read and execute */
    const char *const *readable;
    /* files and folders that the agent must not see */
    const char *const *secrets;
    /* 0: no limit, except for `seconds`, which do not count the wait for a worker */
    double seconds, device_seconds, cost_usd;
    int evals;
} kf_episode_settings;

/* The content of the folder. */
typedef struct kf_episode_files {
    const char *task, *rules, *candidate, *baseline;
    /* The baseline is a PyTorch module. */
    bool baseline_module;
} kf_episode_files;

typedef enum kf_episode_wish {
    /* judge with times */
    KF_EPISODE_EVAL,
    /* correctness only */
    KF_EPISODE_CHECK,
    /* judge with times and hardware counters */
    KF_EPISODE_PROFILE,
    /* judge with times, for longer */
    KF_EPISODE_SUBMIT,
    KF_EPISODE_WISHES
} kf_episode_wish;

typedef struct kf_episode_question {
    /* positive, for kf_episode_answer */
    int64_t id;
    kf_episode_wish wish;
    /* owned by the receiver. NULL: the client of question `id` has left, so nothing reads an answer
     */
    char *source;
    size_t size;
} kf_episode_question;

/* What the stream says of its own cost: Claude Code's --output-format stream-json and Codex's
 * --json. An estimate at best, because the agent wrote it. */
typedef struct kf_episode_usage {
    /* -1: unknown. Both kinds of cached tokens are part of the prompt. */
    int64_t prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens;
    /* NaN: unknown */
    double cost_usd;
    /* "": unknown */
    char model[128];
} kf_episode_usage;

typedef struct kf_episode_result {
    /* The agent's stdout, and a last line of kforge's own (episode_stream.c); owned. */
    char *text;
    size_t size;
    kf_episode_usage usage;
    double seconds;
    /* Of `seconds`: questions waited for a worker. This time is not the agent's. */
    double waited_seconds;
    /* The agent changed candidate.cu. */
    bool changed;
    /* The agent failed before it changed anything; `why` says how. */
    bool failed;
    kf_error why;
} kf_episode_result;

typedef struct kf_episode kf_episode;

/* True if this machine can hold an agent, and the settings name no secret. */
bool kf_episode_check(const kf_episode_settings *settings, kf_error *error);
/* Makes the folder and starts the agent. */
kf_episode *kf_episode_start(const kf_episode_settings *settings, const kf_episode_files *files,
                             kf_error *error);
/* Reads, writes, watches limits. True once the agent and all its processes have ended. */
bool kf_episode_step(kf_episode *episode);
/* As kf_llm_watch. */
size_t kf_episode_watch(const kf_episode *episode, struct pollfd *fds, size_t most, double *wake);
/* Takes the next question, or the end of an earlier one. False without one. */
bool kf_episode_next(kf_episode *episode, kf_episode_question *question);
/* Answers question `id` with a JSON object (README.md), or with NULL and the reason. Of the time
 * since the question, judging_seconds count for the agent: building and judging. */
void kf_episode_answer(kf_episode *episode, int64_t id, const char *json, double device_seconds,
                       double judging_seconds, const char *reason);
/* Returns what the stream says so far. */
kf_episode_usage kf_episode_spent(const kf_episode *episode);
/* Ends the agent: SIGTERM, and SIGKILL a few seconds later. Without `patient` SIGKILL at once. */
void kf_episode_end(kf_episode *episode, const char *why, bool patient);
/* Waits a short time for something to do in kf_episode_step. */
void kf_episode_pause(kf_episode *episode);
/* Reads the result of an ended episode. False with an error if the folder can't be read. */
bool kf_episode_take(kf_episode *episode, kf_episode_result *result, kf_error *error);
/* Kills what is left and removes the folder. */
void kf_episode_free(kf_episode *episode);

/* Returns the candidate from the last line of a stored result, malloc'd. NULL with *error if the
 * agent left the candidate as it was. *is_episode: the text is that of an episode. */
char *kf_episode_candidate(const char *text, size_t size, bool *is_episode, kf_error *error);

/* ---- in the jail (episode_client.c) ---------------------------------------------------------- */

/* The variable with the path of the socket. With it, `kforge` is a client. */
#define KF_EPISODE_SOCKET "KFORGE_SOCKET"
/* Sends a question on a connection of its own: "eval", "check", "profile" or "submit" with a
 * source, "history" without. Returns the connection, which the caller closes, or -1. */
int kf_episode_send(const char *socket_path, const char *action, const char *source,
                    kf_error *error);
/* Waits at most `seconds` for the answer. `answer` keeps the bytes between calls. Returns the
 * server's object (README.md). NULL without *error: the judge has not answered yet. */
cJSON *kf_episode_receive(int connection, kf_buffer *answer, double seconds, kf_error *error);
/* Runs a command of the client. Returns its exit status, or -1 with *error. */
int kf_episode_client(const char *socket_path, const char *const *arguments, size_t count,
                      void (*print)(void *context, const char *text), void *context,
                      kf_error *error);

#endif
