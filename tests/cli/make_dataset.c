/* make_dataset FILE TASKS [NAME…]: writes a store for the tests of `export`. It has a run on each
 * of the named tasks of the folder TASKS (axpy, gemv, row_softmax). Its replies are correct, wrong,
 * cheating, odd or without code. It also has near-duplicates, a verdict with the machine's fault,
 * and prompts with secrets and file paths. The sources are the tasks' baselines with a mark, so
 * they compile. */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

static kf_error error;

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "make_dataset: %s: %s\n", what, error.text);
    exit(1);
}

typedef struct proposal {
    const char *step;
    int prompt; /* which one: equal numbers are equal prompts */
    int parent; /* attempt, 0 none */
    kf_attempt_outcome outcome;
    kf_status status;
    double speedup, small; /* over all, and of the workload "small" */
    int mark;              /* of the source; 0 none */
    bool twice, odd;
} proposal;

static const proposal proposals[] = {
    {"seed", 0, 0, KF_ATTEMPT_JUDGED, KF_CORRECT, 1.0, 1, 1, false, false},
    {"draft", 1, 0, KF_ATTEMPT_JUDGED, KF_CORRECT, 1.5, 1.5, 2, true, false},
    /* overlaps the one before */
    {"draft", 1, 0, KF_ATTEMPT_JUDGED, KF_CORRECT, 1.505, 1.5, 3, false, false},
    {"draft", 1, 0, KF_ATTEMPT_JUDGED, KF_WRONG_RESULT, 0, 0, 4, false, false},
    {"improve", 2, 2, KF_ATTEMPT_JUDGED, KF_CORRECT, 2.0, 1.2, 5, true, false},
    {"improve", 2, 2, KF_ATTEMPT_JUDGED, KF_COMPILE_ERROR, 0, 0, 6, false, false},
    {"improve", 2, 2, KF_ATTEMPT_NO_SOURCE, KF_JUDGE_ERROR, 0, 0, 0, false, true},
    {"improve", 3, 5, KF_ATTEMPT_JUDGED, KF_CHEATING, 0, 0, 7, false, false},
    {"improve", 3, 5, KF_ATTEMPT_JUDGED, KF_CORRECT, 1.9, 2.6, 8, true, false},
    {"improve", 3, 5, KF_ATTEMPT_JUDGED, KF_CORRECT, 0.6, 0.6, 9, false, false},
    {"improve", 3, 5, KF_ATTEMPT_JUDGED, KF_INTERFERENCE, 0, 0, 10, false, false},
    /* the source of mark 5 in another layout */
    {"improve", 4, 5, KF_ATTEMPT_JUDGED, KF_CORRECT, 2.0, 1.2, -5, false, false},
    {"improve", 4, 9, KF_ATTEMPT_MODEL_FAILED, KF_JUDGE_ERROR, 0, 0, 0, false, false},
};
#define PROPOSALS (sizeof proposals / sizeof *proposals)

/* NUL, bytes that are no UTF-8, a surrogate, an escape. */
static const char odd[] =
    "no code: \0 \xff\xfe \xed\xa0\x80 \xf0\x9f\x9a\x80 \x1b[31m \"quoted\\\" \r\n";

static char *source_of(const kf_task *task, int mark)
{
    kf_autobuffer text = {0};
    if (mark < 0) kf_buffer_string(&text, "/* the same */\n\n\n");
    kf_buffer_string(&text, kf_task_baseline(task)->text);
    if (mark < 0)
        kf_buffer_format(&text, "namespace   variant_%d{ }   // a remark\n", -mark);
    else
        kf_buffer_format(&text, "namespace variant_%d {}\n", mark);
    return kf_buffer_take(&text);
}

static kf_verdict *verdict_of(const kf_task *task, const proposal *p)
{
    kf_verdict *verdict = kf_verdict_new("job", kf_task_name(task), "cpu");
    must(verdict, "verdict");
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(task));
    char code[32];
    snprintf(code, sizeof code, "code%d-%.8s", abs(p->mark), kf_task_hash(task));
    kf_verdict_set_text(&verdict->code_hash, code);
    verdict->build_seconds = 0.75;
    verdict->judge_seconds = 4.5;
    verdict->provenance =
        cJSON_Parse("{\"kforge\":\"0.0.9\",\"toolchain\":\"cuda sm_90 /data/jane/bin/nvcc 17 "
                    "18\",\"host\":\"secret-host-17\",\"torch\":{\"python\":"
                    "\"3.11.7\",\"torch\":\"2.9.1\"},\"device\":{\"hardware\":\"Test "
                    "GPU\",\"driver\":\"570.1\",\"driver_cuda\":\"12.8\","
                    "\"nvrtc\":\"12.4\"},\"options\":{},\"sandbox\":[\"user_ns\"]}");
    verdict->build = cJSON_Parse("{\"seconds\":0.75,\"log\":\"/home/jane/work/candidate.cu:3: "
                                 "warning, see /data/jane/notes.txt\\n\"}");
    kf_verdict_add_flag(verdict, "sandbox.denied:fork");
    if (p->status == KF_WRONG_RESULT)
        kf_verdict_add_flag(verdict, KF_FLAG_SUSPECTED "state.skips_work");
    for (int w = 0; w < 2; w++) {
        kf_workload_verdict *workload =
            kf_verdict_add_workload(verdict, kf_task_workload_name(task, w), true);
        double speedup = w ? p->small : p->speedup;
        workload->status = KF_CORRECT;
        workload->pairs = 2;
        if (p->status == KF_CORRECT)
            workload->speedup = (kf_interval){speedup, speedup * 0.99, speedup * 1.01};
        for (int i = 0; i < 4; i++)
            kf_workload_add_sample(
                workload, &(kf_sample){i % 2 ? 'c' : 'b', i / 2, 16,
                                       0.02 / (i % 2 && speedup > 0 ? speedup : 1), NAN, NAN, 0});
    }
    if (p->status != KF_CORRECT)
        kf_verdict_add_finding(verdict, NULL, p->status,
                               p->status == KF_INTERFERENCE ? KF_BLAME_MACHINE : KF_BLAME_CANDIDATE,
                               "test", NAN, NAN, "what went wrong");
    kf_verdict_conclude(verdict);
    verdict->reverified = p->twice;
    /* kforge's combined figure is the geometric mean. The tests use a simpler one. */
    if (p->status == KF_CORRECT)
        verdict->speedup = (kf_interval){p->speedup, p->speedup * 0.99, p->speedup * 1.01};
    return verdict;
}

static int64_t put_call(kf_store *store, const char *run, const kf_task *task, const proposal *p,
                        const char *code, const char *shown)
{
    kf_autobuffer prompt = {0}, reply = {0};
    kf_buffer_format(&prompt,
                     "Make %s faster, variant %d.\n\n```cuda\n%s```\nMy key is sk-proj-%s and I "
                     "live in /home/jane/work.\n",
                     kf_task_name(task), p->prompt, shown ? shown : "",
                     "abcdefghijklmnop0123456789");
    if (code)
        kf_buffer_format(&reply, "Here it is \xe2\x80\x94 na\xc3\xafve:\n```cuda\n%s```\n", code);
    if (p->odd) kf_buffer_append(&reply, odd, sizeof odd - 1);
    bool failed = p->outcome == KF_ATTEMPT_MODEL_FAILED;
    return kf_store_put_model_call(
        store,
        &(kf_store_model_call_new){.run = run,
                                   .provider = "exec",
                                   .model = "ask-1",
                                   .purpose = p->step,
                                   .system = "You write CUDA.",
                                   .prompt = prompt.data,
                                   .prompt_size = prompt.size,
                                   .reply = failed       ? NULL
                                            : reply.data ? reply.data
                                                         : "",
                                   .reply_size = reply.size,
                                   .settings = "{\"temperature\":0.7}",
                                   .outcome = failed ? "failed" : "ok",
                                   .message = failed ? "timeout" : NULL,
                                   .prompt_tokens = 100,
                                   .completion_tokens = p->odd ? -1 : 200,
                                   .cost_usd = p->odd ? NAN : 0.01,
                                   .seconds = 2},
        &error);
}

static void fill(kf_store *store, const char *tasks, const char *name, const char *leak)
{
    char path[4096], run[KF_RUN_ID];
    snprintf(path, sizeof path, "%s/%s", tasks, name);
    kf_auto(kf_task) task = kf_task_load(path, &error);
    must(task, path);
    cJSON *bundle = kf_task_bundle(task);
    char *text = cJSON_PrintUnformatted(bundle);
    must(kf_store_put_task(store, kf_task_hash(task), name, text, strlen(text), &error), "task");
    cJSON_free(text);
    cJSON_Delete(bundle);
    kf_store_run_new start = {.task = kf_task_hash(task),
                              .device = "cpu Test Processor 9000",
                              .options = "{}",
                              .seed = 7};
    must(kf_store_begin_run(store, &start, run, &error), "run");
    int64_t candidates[PROPOSALS + 1] = {0};
    char *sources[PROPOSALS + 1] = {0};
    for (size_t i = 0; i < PROPOSALS; i++) {
        const proposal *p = &proposals[i];
        char *source = sources[i + 1] = p->mark ? source_of(task, p->mark) : NULL;
        kf_store_parent parents[2] = {{candidates[p->parent], "base"}, {candidates[1], "exemplar"}};
        kf_auto(kf_verdict) verdict = source ? verdict_of(task, p) : NULL;
        cJSON *json = verdict ? kf_verdict_to_json(verdict) : NULL;
        char *json_text = json ? cJSON_PrintUnformatted(json) : NULL;
        kf_store_attempt_new attempt = {.run = run,
                                        .outcome = p->outcome,
                                        .proposer = p->prompt ? "exec" : "seed",
                                        .strategy = "evolve",
                                        .step = p->step,
                                        .parents = parents,
                                        .parent_count = source && p->parent ? 2 : 0,
                                        .content.source = source,
                                        .content.source_size = source ? strlen(source) : 0,
                                        .verdict = verdict,
                                        .verdict_json = json_text,
                                        .verdict_size = json_text ? strlen(json_text) : 0,
                                        .counters = source ? "{\"registers\":32}" : NULL};
        if (p->prompt)
            attempt.model_call = put_call(store, run, task, p, source,
                                          leak && i == 1 ? leak
                                          : p->parent    ? sources[p->parent]
                                                         : NULL);
        must(!p->prompt || attempt.model_call, "call");
        kf_store_recorded recorded;
        must(kf_store_record(store, &attempt, &recorded, &error), "attempt");
        candidates[i + 1] = recorded.candidate;
        cJSON_Delete(json);
        free(json_text);
    }
    for (size_t i = 0; i <= PROPOSALS; i++) free(sources[i]);
    must(kf_store_end_run(store, run, KF_RUN_FINISHED, &error), "end");
    /* One verdict outside a run, as `kforge eval` leaves it. */
    kf_auto(kf_verdict) verdict = verdict_of(task, &proposals[1]);
    must(kf_store_record(store,
                         &(kf_store_attempt_new){.task = kf_task_hash(task),
                                                 .device = "cpu Test Processor 9000",
                                                 .content.source = "// evaluated\n",
                                                 .content.source_size = 13,
                                                 .verdict = verdict,
                                                 .verdict_json = "{}",
                                                 .verdict_size = 2},
                         NULL, &error),
         "eval");
    printf("%s %s\n", name, run);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"axpy", "gemv", "row_softmax"};
    if (argc < 3) return 2;
    kf_auto(kf_store) store = kf_store_open(argv[1], KF_STORE_CREATE, &error);
    must(store, "opening");
    char path[4096];
    snprintf(path, sizeof path, "%s/row_softmax", argv[2]);
    kf_auto(kf_task) softmax = kf_task_load(path, &error);
    must(softmax, path);
    /* A prompt on gemv shows code of row_softmax. */
    for (int i = 0; i < (argc > 3 ? argc - 3 : 3); i++) {
        const char *name = argc > 3 ? argv[3 + i] : usual[i];
        fill(store, argv[2], name,
             strcmp(name, "gemv") == 0 ? kf_task_baseline(softmax)->text : NULL);
    }
    return 0;
}
