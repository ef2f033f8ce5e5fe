/* make_run FILE TASK COUNT [MORE PAUSE]: a run of COUNT attempts, for the tests of `kforge watch`
 * and `kforge show --html`. A family grows by chance from a fixed seed. Texts of models and
 * candidates are hostile. MORE attempts follow, while others read. PAUSE milliseconds come before
 * each, or a line of the standard input if PAUSE is "-". */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kforge/buffer.h"
#include "kforge/store.h"
#include "kforge/task.h"
#include "kforge/verdict.h"

#define HOSTILE                                                 \
    "</script><img src=x onerror=\"document.title='hacked'\"> " \
    "<!--<script>\xe2\x80\xa8\xe2\x80\xa9"                      \
    "\xe2\x80\xae gnp.exe\xe2\x80\xac \"quoted\" 'single' & {{js}} \\u003c"
#define MEMBERS 64
#define GROUP 200

static kf_error error;
static unsigned state = 12345;

static int give_up(const char *what)
{
    fprintf(stderr, "make_run: %s: %s\n", what, error.text);
    exit(1);
}

/* Returns the next number of a linear congruential generator, below `most`. */
static unsigned draw(unsigned most)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % most;
}

static kf_verdict *make_verdict(const kf_task *task, kf_status status, double speedup)
{
    kf_verdict *verdict = kf_verdict_new("job", kf_task_name(task), "cpu");
    if (!verdict) give_up("verdict");
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(task));
    verdict->build_seconds = 0.5;
    verdict->judge_seconds = 1.5;
    verdict->build = cJSON_Parse("{\"seconds\":0.5,\"log\":\"\"}");
    verdict->provenance = cJSON_Parse("{\"device\":{\"copy_bytes_per_second\":2e10,"
                                      "\"peak_flops_per_second\":4e10}}");
    if (status == KF_COMPILE_ERROR)
        kf_verdict_add_finding(verdict, NULL, status, KF_BLAME_CANDIDATE, "build.compiler", NAN,
                               NAN, "expected ';' " HOSTILE);
    for (int w = 0; w < kf_task_workload_count(task) && status != KF_COMPILE_ERROR; w++) {
        kf_workload_verdict *workload =
            kf_verdict_add_workload(verdict, kf_task_workload_name(task, w), true);
        workload->status = KF_CORRECT;
        if (status != KF_CORRECT) {
            kf_verdict_add_finding(verdict, workload, status, KF_BLAME_CANDIDATE, "output.mismatch",
                                   12, 3, "4096 of 65536 elements are wrong");
            continue;
        }
        double half = 0.004 + 0.002 * draw(10);
        workload->speedup = (kf_interval){speedup, speedup * (1 - half), speedup * (1 + half)};
        workload->baseline_seconds = 1.2e-3 * (w + 1);
        workload->candidate_seconds = 1.2e-3 * (w + 1) / speedup;
        workload->floor_seconds = 0.3e-3 * (w + 1);
        workload->pairs = 12;
    }
    kf_verdict_conclude(verdict);
    return verdict;
}

/* A source of some 40 lines, of which a few depend on the attempt. */
static char *make_source(int number)
{
    kf_buffer text = {0};
    kf_buffer_format(&text,
                     "// attempt %d %s\n#include <cstdint>\n\nconstexpr int BLOCK = %d;\n"
                     "constexpr int ITEMS = %d;\n\n__global__ void axpy_kernel(const float *x, "
                     "float *y, float a, int64_t n)\n{\n",
                     number, number % 7 == 3 ? HOSTILE : "", 64 << draw(4), 1 << draw(4));
    for (int i = 0; i < 24; i++)
        kf_buffer_format(&text, "    // step %d\n    y[i + %d] += a * x[i + %d];\n", i,
                         draw(12) ? i : number, i);
    kf_buffer_string(&text, "}\n");
    return kf_buffer_take(&text);
}

/* Members that others may improve on. */
static struct {
    int64_t candidate;
    double speedup;
} members[MEMBERS];
static int member_count;

static void keep(int64_t candidate, double speedup)
{
    int at = member_count < MEMBERS ? member_count++ : (int)draw(MEMBERS);
    members[at].candidate = candidate;
    members[at].speedup = speedup;
}

static int64_t ask(kf_store *store, const char *run, int number, const char *outcome)
{
    char prompt[400], reply[600];
    snprintf(prompt, sizeof prompt, "Make it faster, number %d. %s", number, HOSTILE);
    snprintf(reply, sizeof reply, "Use wider loads.\n```cuda\n// %d\n```\n%s", number, HOSTILE);
    bool failed = strcmp(outcome, "failed") == 0;
    int64_t id = kf_store_put_model_call(
        store,
        &(kf_store_model_call_new){.run = run,
                                   .provider = number % 3 ? "anthropic" : "openai",
                                   .model = number % 3 ? "claude-sonnet-4-5" : "gpt-5-mini",
                                   .purpose = "improve",
                                   .system = "You write CUDA kernels.",
                                   .prompt = prompt,
                                   .prompt_size = strlen(prompt),
                                   .reply = failed ? NULL : reply,
                                   .reply_size = failed ? 0 : strlen(reply),
                                   .outcome = outcome,
                                   .message = failed ? "429: rate limited " HOSTILE : NULL,
                                   .prompt_tokens = failed ? -1 : 2400 + (int)draw(800),
                                   .completion_tokens = failed ? -1 : 300 + (int)draw(900),
                                   .cost_usd = failed ? NAN : 0.004 + 0.0001 * draw(80),
                                   .seconds = 2 + 0.1 * draw(90)},
        &error);
    if (!id) give_up("call");
    return id;
}

/* Records attempt `number`. Every twentieth measures the last correct candidate again. */
static void record(kf_store *store, const kf_task *task, const char *run, int number)
{
    static int64_t last;
    static double last_speedup;
    bool again = number % 20 == 0 && last, seed = number < 4;
    unsigned luck = draw(100);
    kf_status status = seed || again || luck < 62 ? KF_CORRECT
                       : luck < 76                ? KF_COMPILE_ERROR
                       : luck < 90                ? KF_WRONG_RESULT
                       : luck < 93                ? KF_TIMEOUT
                                                  : KF_CHEATING;
    bool silent = !seed && !again && luck >= 95, failed = luck >= 98;
    /* The better of two parents. */
    int from = member_count ? (int)draw((unsigned)member_count) : 0,
        other = member_count ? (int)draw((unsigned)member_count) : 0;
    if (members[other].speedup > members[from].speedup) from = other;
    double speedup = seed           ? 0.6 + 0.2 * number
                     : again        ? last_speedup * (draw(4) ? 0.995 : 0.7)
                     : member_count ? members[from].speedup * (0.88 + 0.002 * draw(100))
                                    : 1;
    speedup = fmin(speedup, 3.6 - 0.001 * draw(300));
    kf_store_parent parent = {.candidate = members[from].candidate, .role = "base"};
    kf_store_attempt_new attempt = {.run = run,
                                    .outcome = again    ? KF_ATTEMPT_REVERIFIED
                                               : failed ? KF_ATTEMPT_MODEL_FAILED
                                               : silent ? KF_ATTEMPT_NO_SOURCE
                                                        : KF_ATTEMPT_JUDGED,
                                    .message = silent ? "the reply holds no code block" : "",
                                    .proposer = seed              ? "seed"
                                                : number % 5 == 0 ? "tuner"
                                                : number % 3      ? "anthropic:claude-sonnet-4-5"
                                                                  : "openai:gpt-5-mini",
                                    .strategy = "evolve",
                                    .step = seed              ? number == 1 ? "baseline" : "seed"
                                            : number % 5 == 0 ? "tune"
                                                              : "improve",
                                    .parents = &parent,
                                    .parent_count = !seed && !again && !silent && member_count > 0};
    if (!seed && !again && number % 5)
        attempt.model_call = ask(store, run, number, failed ? "failed" : "ok");
    kf_auto(kf_verdict) verdict = silent ? NULL : make_verdict(task, status, speedup);
    kf_autofree char *source = make_source(number), *json = NULL;
    if (verdict) {
        cJSON *tree = NULL;
        verdict->reverified = again;
        tree = kf_verdict_to_json(verdict);
        json = cJSON_PrintUnformatted(tree);
        cJSON_Delete(tree);
        attempt.verdict = verdict;
        attempt.verdict_json = json;
        attempt.verdict_size = strlen(json);
        if (again) attempt.candidate = last;
        if (!again)
            attempt.content =
                (kf_store_candidate_new){.source = source, .source_size = strlen(source)};
    }
    kf_store_recorded recorded;
    if (!kf_store_record(store, &attempt, &recorded, &error)) give_up("attempt");
    if (status == KF_CORRECT && verdict && !again && number > 1) {
        keep(recorded.candidate, speedup);
        last = recorded.candidate;
        last_speedup = speedup;
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    int count = atoi(argv[3]), more = argc > 5 ? atoi(argv[4]) : 0;
    int wait = argc > 5 ? atoi(argv[5]) : 0;
    bool asked = argc > 5 && strcmp(argv[5], "-") == 0;
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
                              .options = "{\"model\":[\"anthropic:claude-sonnet-4-5\"]}",
                              .seed = 7};
    if (!kf_store_begin_run(store, &start, run, &error)) give_up("run");
    for (int i = 1; i <= count; i++) {
        if ((i - 1) % GROUP == 0 && !kf_store_begin_quick(store, &error)) give_up("group");
        record(store, task, run, i);
        if ((i % GROUP == 0 || i == count) && !kf_store_commit(store, &error)) give_up("commit");
    }
    printf("%s\n", run);
    fflush(stdout);
    for (int i = count + 1; i <= count + more; i++) {
        nanosleep(&(struct timespec){wait / 1000, (long)(wait % 1000) * 1000000}, NULL);
        for (int c = 0; asked && c != '\n' && c != EOF;) c = getchar();
        record(store, task, run, i);
    }
    if (!kf_store_end_run(store, run, KF_RUN_FINISHED, &error)) give_up("end");
    return 0;
}
