/* libkforge: judges CUDA kernels and other candidates of kforge tasks. JSON goes in and comes out.
 *
 *   kforge *k = kforge_open("{\"device\":\"cpu\"}", &error);
 *   char *answer = kforge_judge(k, "{\"task\":\"axpy\",\"reply\":\"...\",\"mode\":\"check\"}");
 *   kforge_free(answer);
 *   kforge_close(k);
 *
 * Requests and answers of kforge_judge are those of POST /v1/judge (docs/guide/serve.md). Workers
 * are child processes (`kforge worker`), so a candidate that crashes never ends this process. Link
 * with `pkg-config --libs kforge`.
 *
 * Ownership: a returned text belongs to the caller, and kforge_free releases it. Texts that go in
 * are copied. NULL instead of a text: out of memory.
 * Threads: any thread may call all functions at once, except kforge_close, which must be the last
 * call. fork() without exec leaves the child without workers.
 * Signals: the library sets no handlers. The process must not reap all children (waitpid(-1)).
 * Errors: {"error":{"what","where","todo","status"}}, with the status that an HTTP server gives. */
#ifndef KFORGE_H
#define KFORGE_H

#ifdef __cplusplus
extern "C" {
#endif

#define KFORGE_API __attribute__((visibility("default")))

typedef struct kforge kforge;

/* Opens the store and starts the workers, which may take some seconds until their first answer.
 * `options` is an object or NULL. Its keys, all optional:
 *   "device"     "cpu", "cuda" or "cuda:1"; default: the first GPU, else the CPU device
 *   "workers"    ["local*2", "ssh host kforge worker"]; default: this machine
 *   "store"      the path of the store; default: that of `kforge`; false: no store
 *   "tasks"      [paths of further task folders]
 *   "timeout_s"  limit for a candidate, from loading to its last result; default 30
 *   "strict"     true: judge only if every layer of the sandbox works
 *   "root"       the installation; default: the one that holds this library
 * NULL on failure, and *error (may be NULL) then has the text of the error. */
KFORGE_API kforge *kforge_open(const char *options, char **error);

/* Judges a candidate and waits for its verdict, at most "deadline_s" (default 120). Keys:
 *   "task" or "bundle"; "source" or "reply"; "flags", "mode" (check, time or verify), "seconds",
 *   "reward", "shape", "language" (of a source: cuda or python), "id", "group", "cache"
 * Answers: "scorable", "reward", "status", "blame", "correct", "cheating", "speedup", "summary",
 * "next", "candidate" and others. A reply without usable code has the status "no_source". */
KFORGE_API char *kforge_judge(kforge *handle, const char *request);

/* Takes the source out of a model's reply: {"task","reply"} gives {"source","language"}, or
 * {"error"} with status 422 if the reply has no usable source. */
KFORGE_API char *kforge_extract(kforge *handle, const char *request);

/* Computes a reward: {"answer": an answer of kforge_judge, "reward": "kevin", "shape": {…}} gives
 * {"scorable","reward"}. They are false and null if the verdict blames machine, task or judge, or
 * if the reward of a correct candidate has no value. */
KFORGE_API char *kforge_reward(kforge *handle, const char *request);

/* Releases a text of the functions above. NULL is allowed. */
KFORGE_API void kforge_free(char *text);

/* Cancels what is in work, ends the workers and waits for them. NULL is allowed. */
KFORGE_API void kforge_close(kforge *handle);

#ifdef __cplusplus
}
#endif

#endif
