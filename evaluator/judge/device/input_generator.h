/* Inputs that kforge cannot describe: arguments of the distribution "generated". The problem file's
 * own get_inputs makes them, in the process of the oracle's runner (evaluator/torch/generated.py).
 * The candidate shares no memory with it, and has no seed: each set of each fill has one that is
 * drawn from the judge's secret. All generated arguments of a set come from one call.
 *
 * The judge asks for one set at a time, and keeps the rows that it took last. An oracle's runner
 * has to be handed over first. It runs on the processor. Where the device is occupied or a batch is
 * held, the rows must have been taken before. */
#ifndef KFORGE_JUDGE_INPUT_GENERATOR_H
#define KFORGE_JUDGE_INPUT_GENERATOR_H

#include "clock.h"
#include "kforge/task.h"
#include "runner_process.h"

typedef struct kf_generator kf_generator;

/* True if an argument of the problem needs a generator. */
bool kf_generator_is_needed(const kf_problem *problem);
/* Returns the memory of a row. */
uint64_t kf_generator_row_bytes(const kf_problem *problem);
/* Makes a generator that keeps so many rows, at most KF_WIRE_MAX_SETS. `clock`: gets the time back
 * that it takes; may be NULL.
 * Both are borrowed. */
kf_generator *kf_generator_new(const kf_problem *problem, uint32_t rows, kf_clock *clock,
                               kf_error *error);
void kf_generator_free(kf_generator *generator);
/* Maps the rows into the oracle's runner, which makes the inputs from now on. NULL: the oracle's
 * runner ends. */
kf_runner_event kf_generator_hand_over(kf_generator *generator, kf_runner *oracle);
/* Returns an argument's bytes for the numbers `source` of a fill from `secret`, valid until the
 * next call. The same pair gives the same bytes. NULL: *error says why the problem's get_inputs
 * failed. */
const void *kf_generator_take(kf_generator *generator, uint64_t secret, uint32_t source,
                              int argument, kf_error *error);
/* Returns how the oracle's last call of get_inputs ended. *code: the device's error. */
kf_runner_event kf_generator_event(const kf_generator *generator, int *code);

#endif
