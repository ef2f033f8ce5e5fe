/* What several tools share: tasks and candidates by name, jobs, and brief verdicts. */
#ifndef KFORGE_MCP_TOOLS_H
#define KFORGE_MCP_TOOLS_H

#include "kforge/job.h"
#include "kforge/json.h"
#include "mcp_internal.h"

/* Default of "wait_s": clients cut calls at 30 s. */
#define KF_MCP_WAIT 25.0

/* Loads a task: one below the served folder, of the installation, or of the store. The caller
 * frees. */
kf_task *kf_mcp_task(const kf_mcp *server, const char *word, kf_error *error);
/* Copies the family of the device that judges: "cuda" or "cpu". Waits some seconds for a worker
 * that starts. */
void kf_mcp_family(const kf_mcp *server, char family[16]);
/* Opens the store. The caller closes it. */
kf_store *kf_mcp_store(const kf_mcp *server, kf_store_mode mode, kf_error *error);
/* Finds a candidate by "c12" or by the beginning of its hash. */
bool kf_mcp_candidate(kf_store *store, const char *word, kf_store_candidate *candidate,
                      kf_error *error);
/* Returns the standing verdict of a candidate; the caller frees. KF_ERROR_INPUT without one. */
kf_verdict *kf_mcp_verdict(kf_store *store, const kf_store_candidate *candidate, kf_error *error);
/* Returns a stored task; the caller frees. */
kf_task *kf_mcp_stored_task(kf_store *store, const char *hash, kf_error *error);

/* Adds [value, low, high] in four digits, or null. */
void kf_mcp_add_speedup(cJSON *object, const char *key, kf_interval speedup);
/* Adds the id that tools take: "c12". */
void kf_mcp_add_candidate(cJSON *object, const char *key, int64_t id);
/* Finds the best candidate of a task in the environment of the workers, measured again if there is
 * one. *found is false if no candidate is correct. */
bool kf_mcp_best(const kf_mcp *server, kf_store *store, const char *task,
                 kf_store_candidate *candidate, bool *found, kf_error *error);

/* Adds the first `most` findings of a scan of the source. Returns the number of all. */
int kf_mcp_scan(cJSON *rows, int most, const char *text, size_t size, bool python);

/* Submits. Then waits at most `seconds` for the brief verdict, else returns the job. Cancelling the
 * call cancels the job. */
cJSON *kf_mcp_judge(kf_mcp_call *call, const kf_submission *submission, double seconds,
                    kf_error *error);
/* Waits for a ticket. `cancels`: cancelling the call cancels the job. */
cJSON *kf_mcp_await(kf_mcp_call *call, kf_ticket *ticket, double seconds, bool cancels,
                    kf_error *error);

#endif
