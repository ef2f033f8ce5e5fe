/* Candidates as solutions of FlashInfer-Bench or SOL-ExecBench, and their verdicts as traces, for
 * tasks that were imported from there:
 *
 *   OUTPUT/solutions/NAME.json   the fastest correct candidate of a task
 *   OUTPUT/traces/TASK.jsonl     its verdict, one line a workload
 *   OUTPUT/provenance.json       hashes, and the licences of the definitions
 *
 * A candidate in CUDA C gets a binding for PyTorch in destination-passing style, for all sizes. A
 * ModelNew gets a function kforge_run() that calls it. A workload that was judged at another size
 * than its definition's (import --scale) has no trace. */
#ifndef KFORGE_EXPORT_FLASHINFER_H
#define KFORGE_EXPORT_FLASHINFER_H

#include "export_modelnew.h"

/* Exports the files. `options->candidate` and `kernelbench` have no effect. report->scaled counts
 * workloads without a trace because of their size. KF_ERROR_INPUT if no task has a candidate. */
bool kf_export_flashinfer(kf_store *store, const kf_modelnew_options *options,
                          kf_modelnew_report *report, kf_error *error);

/* Returns solution.json (flashinfer_solution.c), which the caller frees. */
cJSON *kf_flashinfer_solution(const kf_task *task, const kf_winner *winner, const char *name,
                              kf_error *error);
/* Returns the definition in the "origin" of a task; NULL for a task from elsewhere. */
const cJSON *kf_flashinfer_definition(const kf_task *task);
/* True if the task came from SOL-ExecBench. */
bool kf_flashinfer_is_sol(const kf_task *task);

#endif
