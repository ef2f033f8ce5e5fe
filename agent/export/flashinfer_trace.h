/* Traces of FlashInfer-Bench and SOL-ExecBench: the result of one solution on one workload
 * (flashinfer-ai/flashinfer-bench, docs/flashinfer-trace/trace.mdx; NVIDIA/SOL-ExecBench,
 * docs/trace.md). A cheating candidate is REWARD_HACK in SOL-ExecBench, and a RUNTIME_ERROR in
 * FlashInfer-Bench, which has no word for it. */
#ifndef KFORGE_FLASHINFER_TRACE_H
#define KFORGE_FLASHINFER_TRACE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <time.h>

#include "kforge/verdict_types.h"

typedef struct kf_flashinfer_trace {
    const char *definition, *solution;
    /* of the whole verdict, and one line for people */
    kf_status status;
    const char *summary;
    /* NULL: the status is that of all workloads */
    const kf_workload_verdict *workload;
    /* the workload as its definition gives it (uuid, axes, inputs); NULL: only its name is known */
    const cJSON *given;
    /* "" if unknown */
    const char *hardware;
    time_t when;
    bool sol_execbench;
} kf_flashinfer_trace;

/* Returns the trace, which the caller frees. NULL without memory. */
cJSON *kf_flashinfer_trace_json(const kf_flashinfer_trace *trace);
/* True if a workload's verdict makes a trace: it was timed, or it failed by itself. */
bool kf_flashinfer_has_trace(const kf_workload_verdict *workload);

#endif
