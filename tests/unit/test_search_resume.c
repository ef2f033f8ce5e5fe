/* Runs that are killed with calls and jobs in flight. A process changes what it leaves behind
 * with its commits only. So a kill right after a commit leaves the same as any later kill
 * before the next commit. A run in sessions of one commit each is killed everywhere.
 *
 * With one worker the order of verdicts follows from the decisions, and a replayed model
 * answers when the live one did. So a replay that is killed again and again equals the stored
 * run. A run that is killed while it waits for a live model equals its replay. Equal are
 * attempts, candidates, parents, prompts and replies, and the positions of calls in the run.
 * With several workers a killed run is only checked to lose nothing. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kforge/hash.h"
#include "test_main.h"
#include "kforge/store_maintenance.h"
#include "test_search_common.h"

/* number of commits; 0: never */
static int kill_after;

/* Killed sessions to a check of the store, which takes as long as a session. */
#define CHECK_EACH 8
static int unchecked;

bool __real_kf_store_commit(kf_store *store, kf_error *error);
bool __wrap_kf_store_commit(kf_store *store, kf_error *error);
bool __wrap_kf_store_commit(kf_store *store, kf_error *error)
{
    bool committed = __real_kf_store_commit(store, error);
    if (committed && kill_after && --kill_after == 0) kill(getpid(), SIGKILL);
    return committed;
}

/* A model that takes some hundredths of a second. Its answers depend on the number of the
 * prompt: diagnoses, moves that become notes, good code, wrong code, known code, code with the
 * same machine code as other code, only words, nothing, or a failure. */
#define MODEL                                                                                     \
    "prompt=$(cat)\n"                                                                             \
    "n=1\n"                                                                                       \
    "until mkdir \"$1/call$n\" 2>/dev/null; do n=$((n + 1)); done\n"                              \
    "RANDOM=$((n * 7919 + $2))\n"                                                                 \
    ": $RANDOM $RANDOM\n"                                                                         \
    "printf -v nap '0.0%02d' $((RANDOM % 60))\n"                                                  \
    "sleep $nap\n"                                                                                \
    "kind=$((RANDOM % 100))\n"                                                                    \
    "case $prompt in *'JSON object'*) [ $kind -lt 20 ] || { echo \"{\\\"paid\\\": [\\\"$n\\\"], " \
    "\\\"did_not_pay\\\": [], "                                                                   \
    "\\\"bottleneck\\\": \\\"$n\\\"}\"; exit; } ;; esac\n"                                        \
    "code() { printf 'Move: did %s\\n```cuda\\n%s\\n#pragma fake: note %s\\nvoid toy() "          \
    "{}\\n```\\n' $2 \"$1\" $2; }\n"                                                              \
    "if [ $kind -lt 18 ]; then echo \"I would rather talk about the weather.\"\n"                 \
    "elif [ $kind -lt 24 ]; then echo \"no luck today\" >&2; exit 1\n"                            \
    "elif [ $kind -lt 28 ]; then :\n"                                                             \
    "elif [ $kind -lt 40 ]; then code '#pragma fake: status wrong_result' $n\n"                   \
    "elif [ $kind -lt 45 ]; then code '#pragma fake: status interference' $n\n"                   \
    "elif [ $kind -lt 55 ]; then code \"#pragma fake: speed 1.1\n// by $$\" $((n % 2))\n"         \
    "elif [ $kind -lt 62 ]; then code $'#pragma fake: speed 1.1\\n#pragma fake: code A' $n\n"     \
    "else code \"#pragma fake: speed 1.$((100 + RANDOM % 900))\n#pragma fake: optimum BLOCK "     \
    "$((64 << RANDOM % 3))\n"                                                                     \
    "// kforge: tune BLOCK 32 64 128 256 512\n#ifndef BLOCK\n#define BLOCK 32\n#endif\" $n\n"     \
    "fi\n"

/* Sets of workers, NULL at the end. */
enum { SLOW, FAST, SEVERAL };
static const char *const ways[][4] = {
    [SLOW] = {"FAKE_SEED=1 FAKE_JITTER=0.03 exec " FAKE_WORKER},
    [FAST] = {"FAKE_SEED=4 exec " FAKE_WORKER},
    [SEVERAL] = {"FAKE_SEED=1 FAKE_JOBS=3 FAKE_JITTER=0.02 exec " FAKE_WORKER,
                 "FAKE_SEED=2 FAKE_JOBS=2 FAKE_JITTER=0.03 exec " FAKE_WORKER,
                 "FAKE_SEED=3 FAKE_JITTER=0.01 FAKE_SLEEP=0.01 exec " FAKE_WORKER},
};

/* Runs a session in its own process. *run: "" for a new run, then its id. True if the run has
 * ended, false if the process was killed. */
static bool session(fixture *f, const char *path, const kf_search_settings *settings, size_t way,
                    char run[KF_RUN_ID], int commits)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        kill_after = commits;
        f->store = kf_store_open(path, KF_STORE_CREATE, &f->error);
        size_t count = 0;
        while (ways[way][count]) count++;
        kf_workers *pool =
            kf_workers_open(ways[way], count, &(kf_workers_options){.grace_seconds = 1}, &f->error);
        kf_search_observer observer = {.notify = notify, .context = f};
        f->ran = f->store && pool &&
                 kf_search_run(f->store, f->task, *run ? run : NULL, settings, pool, &f->interrupts,
                               &observer, &f->result, &f->error);
        if (!f->ran) fprintf(stderr, "%s\n", f->error.text);
        kf_workers_close(pool);
        kf_store_close(f->store);
        _exit(!f->ran);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_WRITE, &f->error);
    if (!store) fail_msg("%s", f->error.text);
    /* A fault that a commit leaves stays in the store, so not each session has to look. */
    if ((WIFEXITED(status) || ++unchecked % CHECK_EACH == 0) && !kf_store_check(store, &f->error))
        fail_msg("%s", f->error.text);
    kf_autoresult kf_store_run latest = {0};
    bool found;
    assert_true(kf_store_latest_run(store, NULL, false, &latest, &found, &f->error) && found);
    if (!*run) snprintf(run, KF_RUN_ID, "%s", latest.id);
    assert_string_equal(run, latest.id);
    return WIFEXITED(status);
}

/* Runs sessions until the run has ended, and returns their number. Each session ends after a random
 * number of commits from 1 to `most`. With `most` = 0, a single session runs to the end. */
static int sessions(fixture *f, const char *path, const kf_search_settings *settings, size_t way,
                    char run[KF_RUN_ID], int most)
{
    uint32_t random = 12345;
    int count = 0;
    *run = '\0';
    do {
        random = random * 1103515245u + 12345u;
        assert_true(++count < 2000);
    } while (!session(f, path, settings, way, run,
                      most ? 1 + (int)((random >> 8) % (unsigned)most) : 0));
    return count;
}

static void add_text(kf_buffer *text, kf_store *store, int64_t call, kf_call_text which,
                     kf_error *error)
{
    size_t size;
    char hex[KF_HASH_HEX];
    kf_autofree char *part = kf_store_model_call_text(store, call, which, &size, error);
    kf_hash hash = kf_hash_bytes(part ? part : "", part ? size : 0);
    kf_hash_hex(&hash, hex);
    kf_buffer_format(text, " %.12s", hex);
}

/* Returns all attempts, parents and calls of a run, a line each. */
static char *story(fixture *f, const char *path, const char *run)
{
    kf_autobuffer text = {0};
    kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &f->error);
    kf_auto(kf_store_cursor) attempts = kf_store_attempts(store, run, 1, &f->error);
    kf_auto(kf_store_cursor) family = kf_store_family(store, run, &f->error);
    kf_autoresult kf_store_attempt a = {0};
    while (kf_store_next_attempt(attempts, &a, &f->error) == 1)
        kf_buffer_format(&text, "%lld %s %s %s %.12s %s\n", (long long)a.number, a.step,
                         kf_attempt_outcome_name(a.outcome),
                         a.verdict ? kf_status_name(a.status) : "", a.hash, a.message);
    kf_autoresult kf_store_edge edge = {0};
    while (kf_store_next_edge(family, &edge, &f->error) == 1) {
        kf_autoresult kf_store_candidate parent = {0};
        assert_true(kf_store_get_candidate(store, edge.parent, NULL, &parent, &f->error));
        kf_buffer_format(&text, "%lld from %.12s %s\n", (long long)edge.attempt, parent.hash,
                         edge.role);
    }
    kf_auto(kf_store_cursor) calls = kf_store_model_calls(store, run, NULL, &f->error);
    kf_autoresult kf_store_model_call call = {0};
    while (kf_store_next_model_call(calls, &call, &f->error) == 1) {
        const char *asked = strstr(call.settings, "\"asked\":"),
                   *after = strstr(call.settings, "\"after\":");
        /* The end of the run cancelled it. */
        if (strtoll(after + 8, NULL, 10) >= INT64_C(1) << 50) continue;
        kf_buffer_format(&text, "call %s %s %s", call.purpose, call.outcome, asked);
        add_text(&text, store, call.id, KF_CALL_PROMPT, &f->error);
        add_text(&text, store, call.id, KF_CALL_REPLY, &f->error);
        kf_buffer_string(&text, "\n");
    }
    return kf_buffer_take(&text);
}

static void assert_same(const char *what, const char *whole, const char *pieces)
{
    size_t line = 0, start = 0;
    for (size_t i = 0; whole[i] && whole[i] == pieces[i]; i++)
        if (whole[i] == '\n') line++, start = i + 1;
    if (strcmp(whole, pieces) != 0 && getenv("DUMP"))
        write_text(getenv("DUMP"), "whole", whole), write_text(getenv("DUMP"), "pieces", pieces);
    if (strcmp(whole, pieces) != 0)
        fail_msg("%s: line %zu: %.*s | %.*s", what, line + 1, (int)strcspn(whole + start, "\n"),
                 whole + start, (int)strcspn(pieces + start, "\n"), pieces + start);
}

typedef struct kind {
    const char *strategy;
    int64_t calls;
    size_t models;
    /* most commits of a session of the replay */
    int most;
} kind;

static const kind kinds[] = {{"auto", 3, 1, 1}, {"evolve", 3, 2, 5},   {"critic", 3, 2, 5},
                             {"fsr", 4, 1, 5},  {"contrast", 1, 1, 5}, {"auto", 3, 2, 7}};

typedef struct models {
    char *specs[2];
    char *replays[2];
} models;

static void forget_calls(fixture *f)
{
    kf_autofree char *calls = kf_path_join(f->folder, "calls");
    kf_directory_remove(calls, NULL);
    assert_true(kf_directory_make(calls, NULL));
}

static kf_search_settings settings_of(const kind *k, uint64_t seed, char *const *specs)
{
    kf_search_settings settings = {.seed = seed,
                                   .models = (const char *const *)specs,
                                   .model_count = k->models,
                                   .calls = (int)k->calls,
                                   .budget = {.candidates = 24},
                                   .strategy = *kf_strategy_named(k->strategy)};
    return settings;
}

static void open_models(fixture *f, models *m, size_t seed)
{
    kf_autofree char *script = kf_path_join(f->folder, "model.sh");
    write_text(f->folder, "model.sh", MODEL);
    assert_true(
        asprintf(&m->specs[0], "exec,weight=2:bash %s %s/calls %zu", script, f->folder, seed) > 0);
    assert_true(asprintf(&m->specs[1], "fallback:exec:bash %s %s/calls %zu", script, f->folder,
                         seed + 1) > 0);
}

static void replay_models(models *m, const char *path, const char *run)
{
    const char *const specs[] = {m->specs[0], m->specs[1]};
    kf_autofree char *names[] = {kf_search_model_name(specs, 0), kf_search_model_name(specs, 1)};
    for (int i = 0; i < 2; i++) {
        free(m->replays[i]);
        assert_true(asprintf(&m->replays[i], "replay,strict=1%s:%s#%s#%s", i ? "" : ",weight=2",
                             path, run, names[i]) > 0);
    }
    free(names[1]);
    names[1] = NULL;
}

static void models_clear(models *m)
{
    for (int i = 0; i < 2; i++) free(m->specs[i]), free(m->replays[i]);
}

static char *path_of(fixture *f, const char *name, size_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s%zu.db", name, number);
    return kf_path_join(f->folder, text);
}

static void begin(fixture *f)
{
    make_task(f, (const char *const[]){TUNED("2", "256"), TUNED("1.8", "64"),
                                       "#pragma fake: status interference\n", NULL});
    if (f->store) kf_store_close(kf_steal(&f->store));
    forget_calls(f);
}

/* A replay equals its run, in one session or in many. */
static void a_killed_repetition_is_its_run(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        models m = {0};
        char run[KF_RUN_ID], again[KF_RUN_ID];
        kf_autofree char *first = path_of(f, "first", i), *second = path_of(f, "second", i),
                         *third = path_of(f, "third", i);
        begin(f);
        open_models(f, &m, i);
        kf_search_settings settings = settings_of(k, 5 + i, m.specs);
        sessions(f, first, &settings, SLOW, run, 0);
        kf_autofree char *whole = story(f, first, run);
        assert_true(count(whole, "\n") > 40);
        replay_models(&m, first, run);
        settings = settings_of(k, 5 + i, m.replays);
        sessions(f, second, &settings, FAST, again, 0);
        kf_autofree char *repeated = story(f, second, again);
        assert_same(k->strategy, whole, repeated);
        int killed = sessions(f, third, &settings, FAST, again, k->most);
        kf_autofree char *pieces = story(f, third, again);
        printf("%s, %zu models: %d lines, killed %d times\n", k->strategy, k->models,
               count(whole, "\n"), killed - 1);
        assert_same(k->strategy, whole, pieces);
        assert_true(killed > 5);
        models_clear(&m);
    }
    f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
}

/* A run that was killed while it waited for live models equals its replay. */
static void a_killed_run_is_its_repetition(void **state)
{
    fixture *f = *state;
    for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i += 2) {
        const kind *k = &kinds[i];
        models m = {0};
        char run[KF_RUN_ID], again[KF_RUN_ID];
        kf_autofree char *first = path_of(f, "first", i), *second = path_of(f, "second", i);
        begin(f);
        open_models(f, &m, i + 100);
        kf_search_settings settings = settings_of(k, 5 + i, m.specs);
        int killed = sessions(f, first, &settings, SLOW, run, k->most + 4);
        kf_autofree char *whole = story(f, first, run);
        replay_models(&m, first, run);
        settings = settings_of(k, 5 + i, m.replays);
        sessions(f, second, &settings, FAST, again, 0);
        kf_autofree char *repeated = story(f, second, again);
        printf("%s, %zu models: %d lines, killed %d times\n", k->strategy, k->models,
               count(whole, "\n"), killed - 1);
        assert_same(k->strategy, whole, repeated);
        models_clear(&m);
    }
    f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
}

/* A run counts verdicts and notes of an earlier run in its store, and so does its replay: in
 * that store, in a copy, and in many sessions. */
static void what_a_run_knew_its_repetition_knows(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < 4; i++) {
        const kind *k = &kinds[i];
        models m = {0};
        char run[KF_RUN_ID], again[KF_RUN_ID];
        kf_autofree char *path = path_of(f, "known", i), *copy = path_of(f, "copy", i);
        begin(f);
        open_models(f, &m, i + 200);
        kf_search_settings settings = settings_of(k, 5 + i, m.specs);
        sessions(f, path, &settings, SLOW, run, 0);
        /* The models repeat much of what they said before, in another order. */
        forget_calls(f);
        settings = settings_of(k, 55 + i, m.specs);
        sessions(f, path, &settings, SLOW, run, 0);
        kf_autofree char *whole = story(f, path, run);
        int known = count(whole, " known ");
        kf_store *store = kf_store_open(path, KF_STORE_WRITE, &f->error);
        assert_true(store && kf_store_backup(store, copy, &f->error));
        kf_store_close(store);
        for (int time = 0; time < 3; time++) {
            replay_models(&m, time ? copy : path, run);
            settings = settings_of(k, 55 + i, m.replays);
            settings.anew = true;
            int killed = sessions(f, time ? copy : path, &settings, FAST, again,
                                  time == 2 ? k->most + 6 : 0);
            kf_autofree char *repeated = story(f, time ? copy : path, again);
            printf("%s, %zu models: %d lines, %d known, killed %d times\n", k->strategy, k->models,
                   count(whole, "\n"), known, killed - 1);
            assert_same(k->strategy, whole, repeated);
        }
        assert_true(known > 3);
        models_clear(&m);
    }
    f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
}

/* A replay also ends at the same point: with a budget of requests, and with models that only
 * fail. */
static void the_end_is_the_same(void **state)
{
    fixture *f = *state;
    const kind auto_alone = {"auto", 3, 1, 1};
    const char *const ends[] = {"requests", "failing"};
    for (size_t i = 0; i < 2; i++) {
        models m = {0};
        char run[KF_RUN_ID], again[KF_RUN_ID];
        kf_autofree char *first = path_of(f, "first", i), *second = path_of(f, "second", i);
        begin(f);
        open_models(f, &m, i + 300);
        if (i) write_text(f->folder, "model.sh", "sleep 0.0$((RANDOM % 5))\nexit 1\n");
        kf_search_settings settings = settings_of(&auto_alone, 5 + i, m.specs);
        settings.budget = (kf_search_budget){.requests = i ? 0 : 9};
        sessions(f, first, &settings, SLOW, run, 0);
        kf_autofree char *whole = story(f, first, run);
        replay_models(&m, first, run);
        settings.models = (const char *const *)m.replays;
        int killed = sessions(f, second, &settings, FAST, again, auto_alone.most);
        kf_autofree char *repeated = story(f, second, again);
        printf("%s: %d lines, killed %d times\n", ends[i], count(whole, "\n"), killed - 1);
        assert_same(ends[i], whole, repeated);
        models_clear(&m);
    }
    f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
}

/* A run of several workers goes on after each kill to the end of its budget. Its attempts are
 * numbered without a gap. */
static void several_workers_lose_nothing(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < 2; i++) {
        const kind *k = &kinds[i];
        models m = {0};
        char run[KF_RUN_ID];
        kf_autofree char *path = path_of(f, "several", i);
        begin(f);
        open_models(f, &m, i + 400);
        kf_search_settings settings = settings_of(k, 5 + i, m.specs);
        settings.calls = 0;
        int killed = sessions(f, path, &settings, SEVERAL, run, k->most + 4);
        kf_autofree char *whole = story(f, path, run);
        printf("%s, %zu models: %d lines, killed %d times\n", k->strategy, k->models,
               count(whole, "\n"), killed - 1);
        assert_true(killed > 5);
        kf_auto(kf_store) store = kf_store_open(path, KF_STORE_READ, &f->error);
        kf_autoresult kf_store_run found = {0};
        assert_true(store && kf_store_find_run(store, run, &found, &f->error));
        assert_int_equal(found.status, KF_RUN_FINISHED);
        kf_auto(kf_store_cursor) attempts = kf_store_attempts(store, run, 1, &f->error);
        kf_autoresult kf_store_attempt a = {0};
        int64_t judged = 0, number = 0;
        while (kf_store_next_attempt(attempts, &a, &f->error) == 1) {
            assert_int_equal(a.number, ++number);
            judged += a.outcome == KF_ATTEMPT_JUDGED || a.outcome == KF_ATTEMPT_SAME_CODE;
        }
        assert_true(judged >= settings.budget.candidates);
        models_clear(&m);
    }
    f->store = kf_store_open(f->path, KF_STORE_CREATE, &f->error);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_killed_repetition_is_its_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_killed_run_is_its_repetition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_is_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_run_knew_its_repetition_knows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_workers_lose_nothing, set_up, tear_down),
    };
    if (getenv("ONLY")) cmocka_set_test_filter(getenv("ONLY"));
    return TEST_GROUP(tests, NULL, NULL);
}
