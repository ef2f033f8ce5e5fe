/* make_store FILE TASK [woken]: a store with one finished run of TASK in it, for the shell tests of
 * `list`, `show` and `store`: a correct seed, a faster child that was measured twice, a wrong
 * result, a compile error, a verdict that is the machine's fault, and attempts without a candidate.
 * With "woken", the wrong result is a cheating that a signal from outside may have caused. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

static kf_error error;

static int give_up(const char *what)
{
    fprintf(stderr, "make_store: %s: %s\n", what, error.text);
    exit(1);
}

static kf_verdict *make_verdict(const kf_task *task, kf_status status, double speedup)
{
    kf_verdict *verdict = kf_verdict_new("job", kf_task_name(task), "cpu");
    if (!verdict) give_up("verdict");
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(task));
    verdict->build_seconds = 0.75;
    verdict->judge_seconds = 4.5;
    verdict->provenance = cJSON_Parse("{\"sandbox\":[\"user_ns\",\"seccomp\"]}");
    if (status == KF_COMPILE_ERROR) {
        verdict->build = cJSON_Parse("{\"seconds\":0.75,\"log\":\"candidate.cu:3:5: error: 'idx' "
                                     "was not declared in this scope\\n\"}");
        kf_verdict_add_finding(verdict, NULL, status, KF_BLAME_CANDIDATE, "build.compiler", NAN,
                               NAN, "'idx' was not declared in this scope");
        kf_verdict_conclude(verdict);
        return verdict;
    }
    verdict->build =
        cJSON_Parse("{\"seconds\":0.75,\"log\":\"\",\"registers\":32,\"spill_bytes\":0}");
    for (int w = 0; w < 2; w++) {
        kf_workload_verdict *workload =
            kf_verdict_add_workload(verdict, kf_task_workload_name(task, w), true);
        kf_output_check *output = kf_workload_add_output(workload, "y");
        output->figures = (kf_error_figures){.rms = 1.25e-7,
                                             .max = 9.5e-7,
                                             .baseline_rms = 1e-7,
                                             .baseline_max = 8e-7,
                                             .allowed_rms = 1e-6,
                                             .allowed_max = 7e-6,
                                             .compared = 1048576,
                                             .first_index = -1,
                                             .first_expected = NAN,
                                             .first_got = NAN};
        if (status == KF_WRONG_RESULT) {
            output->figures.mismatched = 4096;
            output->figures.first_index = 1044480;
            output->figures.first_expected = 1.5;
            output->figures.first_got = 0;
            snprintf(output->figures.pattern, sizeof output->figures.pattern, "tail from 1044480");
        }
        workload->status = KF_CORRECT;
        if (status == KF_INTERFERENCE)
            kf_verdict_add_finding(verdict, workload, status, KF_BLAME_MACHINE,
                                   "timing.interference", 0.12, 0.03,
                                   "the baseline beside the candidate is slower than alone");
        if (status == KF_CHEATING)
            kf_verdict_add_finding(verdict, workload, status, KF_BLAME_CANDIDATE, "runner.woken",
                                   NAN, NAN, "the process was made to run while it was stopped");
        if (status == KF_CORRECT && speedup > 0) {
            workload->speedup = (kf_interval){speedup, speedup * 0.99, speedup * 1.01};
            workload->baseline_seconds = 1.24e-3;
            workload->candidate_seconds = 1.24e-3 / speedup;
            workload->floor_seconds = 0.4e-3;
            workload->pairs = 12;
            for (int pair = 0; pair < 4; pair++)
                for (int side = 0; side < 2; side++)
                    kf_workload_add_sample(workload,
                                           &(kf_sample){.side = side ? 'c' : 'b',
                                                        .pair = pair,
                                                        .calls = 16,
                                                        .seconds = 0.0198 / (side ? speedup : 1),
                                                        .claimed = NAN,
                                                        .clock_mhz = NAN});
        }
    }
    kf_verdict_conclude(verdict);
    return verdict;
}

typedef struct proposal {
    kf_attempt_outcome outcome;
    const char *proposer, *step, *message, *source, *flag;
    kf_status status;
    double speedup;
    int parent; /* attempt number, 0 none */
    bool twice;
} proposal;

static const proposal proposals[] = {
    {KF_ATTEMPT_JUDGED, "seed", "seed", "", "// the seed\n", NULL, KF_CORRECT, 1.002, 0, false},
    {KF_ATTEMPT_JUDGED, "tuner", "tune", "", "// the seed\n", "-DITEMS=8", KF_CORRECT, 1.41, 1,
     false},
    {KF_ATTEMPT_JUDGED, "exec:./ask", "improve", "", "// vectors\n", NULL, KF_CORRECT, 1.84, 2,
     true},
    {KF_ATTEMPT_JUDGED, "exec:./ask", "improve", "", "// wrong at the end\n", NULL, KF_WRONG_RESULT,
     0, 3, false},
    {KF_ATTEMPT_JUDGED, "exec:./ask", "improve", "", "int y = idx;\n", NULL, KF_COMPILE_ERROR, 0, 3,
     false},
    {KF_ATTEMPT_JUDGED, "exec:./ask", "repair_build", "", "// disturbed\n", NULL, KF_INTERFERENCE,
     0, 5, false},
    {KF_ATTEMPT_NO_SOURCE, "exec:./ask", "improve", "the reply holds no code block", NULL, NULL,
     KF_CORRECT, 0, 3, false},
};

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    bool woken = argc == 4 && !strcmp(argv[3], "woken");
    kf_auto(kf_store) store = kf_store_open(argv[1], KF_STORE_CREATE, &error);
    kf_auto(kf_task) task = kf_task_load(argv[2], &error);
    if (!store || !task) give_up("opening");
    cJSON *bundle = kf_task_bundle(task);
    char *text = cJSON_PrintUnformatted(bundle);
    if (!kf_store_put_task(store, kf_task_hash(task), kf_task_name(task), text, strlen(text),
                           &error))
        give_up("task");
    cJSON_free(text);
    cJSON_Delete(bundle);
    char run[KF_RUN_ID];
    kf_store_run_new start = {.task = kf_task_hash(task),
                              .device = "cpu Test Processor 9000",
                              .options = "{\"model\":[\"exec:./ask\"]}",
                              .seed = 7};
    if (!kf_store_begin_run(store, &start, run, &error)) give_up("run");
    int64_t candidates[16] = {0};
    for (size_t i = 0; i < sizeof proposals / sizeof *proposals; i++) {
        const proposal *p = &proposals[i];
        kf_store_parent parent = {.candidate = candidates[p->parent], .role = "base"};
        kf_store_attempt_new attempt = {.run = run,
                                        .outcome = p->outcome,
                                        .message = p->message,
                                        .proposer = p->proposer,
                                        .strategy = "evolve",
                                        .step = p->step,
                                        .parents = &parent,
                                        .parent_count = p->source && candidates[p->parent] != 0};
        kf_auto(kf_verdict) verdict = NULL;
        kf_status status = woken && p->status == KF_WRONG_RESULT ? KF_CHEATING : p->status;
        if (p->source) verdict = make_verdict(task, status, p->speedup);
        cJSON *json = NULL;
        if (verdict) {
            verdict->reverified = p->twice;
            if (p->twice) {
                kf_verdict_add_flag(verdict, "clocks.throttled:main:12:60:heat");
                verdict->kernelbench =
                    cJSON_Parse("{\"compiled\":true,\"correctness\":true,\"runtime\":0.674,"
                                "\"speedup\":1.3912,"
                                "\"metadata\":{\"correctness_trials\":\"(5 / 5)\"}}");
            }
            json = kf_verdict_to_json(verdict);
            attempt.verdict = verdict;
            attempt.verdict_json = cJSON_PrintUnformatted(json);
            attempt.verdict_size = strlen(attempt.verdict_json);
            attempt.content.source = p->source;
            attempt.content.source_size = strlen(p->source);
            attempt.content.flags = &p->flag;
            attempt.content.flag_count = p->flag != NULL;
        }
        if (strncmp(p->proposer, "exec", 4) == 0)
            attempt.model_call =
                kf_store_put_model_call(store,
                                        &(kf_store_model_call_new){.run = run,
                                                                   .provider = "exec",
                                                                   .model = "ask",
                                                                   .purpose = p->step,
                                                                   .prompt = "?",
                                                                   .prompt_size = 1,
                                                                   .outcome = "ok",
                                                                   .prompt_tokens = 1200,
                                                                   .completion_tokens = 340,
                                                                   .cost_usd = 0.01,
                                                                   .seconds = 2},
                                        &error);
        kf_store_recorded recorded;
        if (!kf_store_record(store, &attempt, &recorded, &error)) give_up("attempt");
        candidates[i + 1] = recorded.candidate;
        cJSON_Delete(json);
        free((char *)attempt.verdict_json);
    }
    if (!kf_store_end_run(store, run, KF_RUN_FINISHED, &error)) give_up("end");
    printf("%s\n", run);
    return 0;
}
