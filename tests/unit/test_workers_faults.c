/* Workers that misbehave, on a pipe and behind a folder: a table of shell scripts. In its first
 * life a worker does what its row says. In the next one it is tests/cli/fake_worker.c. Each row
 * checks what becomes of the job, and what kforge says. All rows run at the same time.
 *
 * Scripts find in $D: hello (a line), a and b (right verdicts of the jobs of these names), and job
 * files. ONLY=NAME runs one row. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/json.h"
#include "test_main.h"
#include "test_workers_common.h"

typedef enum ending {
    /* Judged in the first life, without a word. */
    FINE,
    /* Judged in a later life, with the news. */
    AGAIN,
    /* Judged in the first life, with the news. */
    JUDGED,
    REFUSED,
    /* Every life is like the first, and the worker is given up with its jobs. */
    GIVEN_UP,
    /* As GIVEN_UP, but the job is lost. */
    LOST,
} ending;

typedef struct row {
    const char *name;
    ending end;
    /* A part of the news or of the error. */
    const char *says;
    const char *script;
    /* Also sends job b. */
    bool two;
    /* Seconds. 0: the default. */
    double grace, alive;
} row;

#define HELLO "cat $D/hello; "
#define JOB HELLO "read job; "
/* Answers with the right verdict after a change by sed. */
#define CHANGED(SED) JOB "sed '" SED "' $D/a"

static const row rows[] = {
    {"says_nothing", AGAIN, "ended with status 0", "exit 0", 0, 0, 0},
    {"answers_at_once", AGAIN, "first line is not a hello", "cat $D/a", 0, 0, 0},
    {"other_version", AGAIN, "check that it is the same version",
     "sed s,hello/1,hello/9, $D/hello; sleep 9", 0, 0, 0},
    {"hello_cut", AGAIN, "first line is not a hello", "head -c 30 $D/hello; echo; sleep 9", 0, 0,
     0},
    {"hello_cut_and_dead", AGAIN, "ended with status 7", "head -c 30 $D/hello; exit 7", 0, 0, 0},
    {"hello_without_hardware", AGAIN, "not a hello", "sed s/hardware/hardwear/ $D/hello; sleep 9",
     0, 0, 0},
    {"hello_with_a_number", AGAIN, "not a hello",
     "sed 's/\"hardware\":\"[^\"]*\"/\"hardware\":7/' $D/hello; sleep 9", 0, 0, 0},
    {"hello_with_keys_twice", AGAIN, "first line is not a hello",
     "sed 's/{/{\"device\":\"x\",/' $D/hello; sleep 9", 0, 0, 0},
    /* Lines before the hello that are no JSON are a banner. */
    {"hello_with_a_mark", AGAIN, "ended with status 0",
     "printf '\\357\\273\\277'; " HELLO "sleep 0.2", 0, 0, 0},
    {"hello_nested_deeply", AGAIN, "first line is not a hello",
     "printf '{'; yes '\"a\":{' | head -n 100000 | tr -d '\\n'; echo; sleep 9", 0, 0, 0},
    {"hello_for_ever", AGAIN, "a line of more than",
     "printf '{'; head -c 70000000 /dev/zero | tr '\\0' x; sleep 9", 0, 0, 0},
    {"hello_twice", AGAIN, "a line without a job",
     "cat $D/hello $D/hello >$D/two; cat $D/two; "
     "sleep 9",
     0, 0, 0},
    {"banner", FINE, "", "echo Welcome.; echo; " JOB "cat $D/a; read more", 0, 0, 0},
    {"banner_for_ever", AGAIN, "first line is not a hello", "yes Welcome.", 0, 0, 0},
    {"jobs_below_zero", FINE, "",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":-5/' $D/hello; read job; cat $D/a; read more", 0, 0, 0},
    {"jobs_beyond_sense", FINE, "",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":1e300/' $D/hello; read job; cat $D/a; read more", 0, 0, 0},
    {"jobs_in_words", FINE, "",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":\"many\"/' $D/hello; read job; cat $D/a; read more", 0, 0, 0},
    {"line_ends_of_dos", FINE, "",
     "sed 's/$/\\r/' $D/hello; read job; sed 's/$/\\r/' $D/a; read more", 0, 0, 0},
    {"answers_before_the_job", AGAIN, "a line without a job",
     "cat $D/hello $D/a >$D/early; cat $D/early; sleep 9", 0, 0, 0},
    {"garbage", AGAIN, "verdict", JOB "echo '?!'; sleep 9", 0, 0, 0},
    {"noise", AGAIN, "verdict", JOB "head -c 3000 /dev/urandom | tr '\\n' x; echo; sleep 9", 0, 0,
     0},
    {"nul_first", AGAIN, "verdict", JOB "printf '\\0?!\\n'; sleep 9", 0, 0, 0},
    {"nul_bytes", AGAIN, "verdict", JOB "printf '{\"id\\0\":1}\\n'; sleep 9", 0, 0, 0},
    {"bytes_that_are_no_utf8", AGAIN, "verdict",
     JOB "sed 's/\"status\"/\"x\":\"\\xff\",\"status\"/' $D/a; sleep 9", 0, 0, 0},
    {"half_a_verdict", AGAIN, "ended with status 5", JOB "head -c 99 $D/a; exit 5", 0, 0, 0},
    {"half_a_verdict_and_a_newline", AGAIN, "verdict", JOB "head -c 99 $D/a; echo; sleep 9", 0, 0,
     0},
    {"output_closed", AGAIN, "it was ended by signal", JOB "exec >&-; sleep 9", 0, 0, 0},
    {"input_closed", AGAIN, "no verdict within", HELLO "exec <&-; exec sleep 99", 0, 3, 0},
    {"verdict_of_another_job", AGAIN, "it answered job b instead of a", JOB "cat $D/b; sleep 9", 0,
     0, 0},
    {"verdict_without_an_id", AGAIN, "", CHANGED("s/\"id\":\"a\",//") "; sleep 9", 0, 0, 0},
    {"verdict_of_another_task", AGAIN, "another task",
     CHANGED("s/\\(\"task_hash\":\"\\)./\\1z/;s/\\(task.:{[^}]*hash\":\"\\)./\\1z/") "; sleep 9", 0,
     0, 0},
    {"verdict_of_another_source", AGAIN, "another source", JOB "cat $D/source; sleep 9", 0, 0, 0},
    {"verdict_of_another_version", AGAIN, "", CHANGED("s,verdict/1,verdict/9,") "; sleep 9", 0, 0,
     0},
    {"status_unknown", AGAIN, "",
     CHANGED("s/\"status\":\"correct\"/\"status\":\"great\"/g") "; "
                                                                "sleep 9",
     0, 0, 0},
    {"keys_twice", AGAIN, "", CHANGED("s/{/{\"id\":\"a\",/") "; sleep 9", 0, 0, 0},
    {"nested_deeply", AGAIN, "verdict",
     JOB "printf '{'; yes '\"a\":{' | head -n 100000 | tr -d '\\n'; echo; sleep 9", 0, 0, 0},
    {"faster_than_light", AGAIN, "impossible figures",
     CHANGED("s/\"value\":2,/\"value\":1e300,/g") "; sleep 9", 0, 0, 0},
    {"slower_than_nothing", AGAIN, "impossible figures",
     CHANGED("s/\"value\":2,/\"value\":-2,/g") "; sleep 9", 0, 0, 0},
    {"outside_of_its_interval", AGAIN, "impossible figures",
     CHANGED("s/\"value\":2,/\"value\":9,/g") "; sleep 9", 0, 0, 0},
    {"took_ages", AGAIN, "impossible figures",
     CHANGED("s/\"judge_seconds\":[^,}]*/\"judge_seconds\":1e99/") "; sleep 9", 0, 0, 0},
    {"answers_twice", JUDGED, "a line without a job",
     JOB "cat $D/a $D/a >$D/pair; cat $D/pair; sleep 9", 0, 0, 0},
    {"answers_in_another_order", FINE, "",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":2/' $D/hello; read job; read more; cat $D/b $D/a; read end",
     true, 0, 0},
    {"answers_one_of_two_twice", AGAIN, "it answered job b instead of a",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":2/' $D/hello; read job; read more; cat $D/b $D/b; sleep 9",
     true, 0, 0},
    {"answers_one_of_two_and_ends", AGAIN, "ended with status 0",
     "sed 's/\"jobs\":[0-9]*/\"jobs\":2/' $D/hello; read job; read more; cat $D/b", true, 0, 0},
    {"refuses", REFUSED, "no such task",
     JOB "echo '{\"schema\":\"kforge-refusal/1\",\"id\":\"a\",\"error\":\"no such task\"}'; read "
         "more",
     0, 0, 0},
    {"refuses_another_job", AGAIN, "",
     JOB "echo '{\"schema\":\"kforge-refusal/1\",\"id\":\"b\",\"error\":\"no\"}'; sleep 9", 0, 0,
     0},
    {"refuses_without_a_reason", AGAIN, "",
     JOB "echo '{\"schema\":\"kforge-refusal/1\",\"id\":\"a\"}'; sleep 9", 0, 0, 0},
    {"line_for_ever", AGAIN, "a line of more than",
     JOB "head -c 70000000 /dev/zero | tr '\\0' x; sleep 9", 0, 0, 0},
    {"lines_for_ever", AGAIN, "verdict", JOB "yes", 0, 0, 0},
    {"blank_lines", FINE, "", JOB "yes '' | head -n 20000; cat $D/a; read more", 0, 0, 0},
    {"byte_by_byte", FINE, "",
     JOB "for i in 0 1 2 3 4 5 6 7 8 9; do dd if=$D/a bs=$(($(wc -c <$D/a) / 9)) skip=$i count=1 "
         "2>/dev/null; sleep 0.02; done; read more",
     0, 0, 0},
    {"silent", AGAIN, "no verdict within", JOB "exec sleep 99", 0, 3, 0},
    {"silent_without_signs_of_life", AGAIN, "no sign of life", JOB "exec sleep 99", 0, 600, 0.5},
    {"stopped", AGAIN, "no sign of life", JOB "kill -STOP $$; sleep 99", 0, 600, 0.5},
    {"signs_of_life_alone", AGAIN, "no verdict within",
     JOB
     "while echo '{\"schema\":\"kforge-alive/1\",\"id\":\"a\",\"doing\":\"nothing\"}'; do sleep "
     "0.1; done",
     0, 3, 0.5},
    {"signs_of_life_without_a_job", FINE, "",
     HELLO "echo '{\"schema\":\"kforge-alive/1\",\"id\":\"b\"}'; read job; cat $D/a; read more", 0,
     0, 0},
    {"signs_of_life_in_floods", FINE, "",
     JOB "yes '{\"schema\":\"kforge-alive/1\",\"id\":\"a\",\"doing\":\"x\"}' | head -n 20000; cat "
         "$D/a; read more",
     0, 0, 0},
    {"signs_of_life_cut", AGAIN, "verdict", JOB "echo '{\"schema\":\"kforge-alive/1\"'; sleep 9", 0,
     0, 0},
    {"complains_a_lot", FINE, "", JOB "yes | head -c 5000000 >&2; cat $D/a; read more", 0, 0, 0},
    {"complains_for_ever", FINE, "", JOB "yes >&2 & cat $D/a; read more", 0, 0, 0},
    {"complains_without_a_line", AGAIN, "ended with status 1",
     JOB "head -c 5000000 /dev/zero >&2; exit 1", 0, 0, 0},
    {"ends_with_0", AGAIN, "ended with status 0", JOB "exit 0", 0, 0, 0},
    {"ends_with_77", AGAIN, "ended with status 77: no such node",
     JOB "echo no such node >&2; exit 77", 0, 0, 0},
    {"ends_with_130", AGAIN, "ended with status 130", JOB "exit 130", 0, 0, 0},
    {"ends_by_a_signal", AGAIN, "ended by signal 11", JOB "kill -SEGV $$", 0, 0, 0},
    {"a_child_keeps_the_pipe", AGAIN, "ended with status 3", JOB "sleep 99 & exit 3", 0, 0, 0},
    {"a_child_takes_the_place", FINE, "", JOB "(sleep 0.3; cat $D/a) & wait; read more", 0, 0, 0},
    {"never_there", GIVEN_UP, "status 127", "exec /nowhere/kforge worker", 0, 0, 0},
    {"always_garbage", LOST, "verdict", JOB "echo '?!'; sleep 9", 0, 0, 0},
    {"always_another_job", LOST, "it answered job b instead of a", JOB "cat $D/b; sleep 9", 0, 0,
     0},
};

/* ---- folders --------------------------------------------------------------------------------- */

/* Puts job a into $S/taken, as a worker does. Ends with the folder of the test. */
#define SPOOL_JOB                     \
    "cp $D/hello $S/workers/w.json; " \
    "until mv $S/jobs/a.json $S/taken/a.json 2>/dev/null || [ ! -e $D ]; do sleep 0.02; done; "
/* Waits until the judge has given the job back, or the agent has removed its files. */
#define SPOOL_REST "until [ ! -e $S/taken/a.json ]; do sleep 0.05; done; rm -f $S/workers/w.json"

/* The same with the first worker of a folder. Where the end is AGAIN, a second one follows it. */
static const row spools[] = {
    {"answers", FINE, "", SPOOL_JOB "cp $D/a $S/v && mv $S/v $S/verdicts/a.json", 0, 0, 0},
    {"verdict_half_written", AGAIN, "verdict",
     SPOOL_JOB "head -c 99 $D/a >$S/v && mv $S/v $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_empty", AGAIN, "verdict", SPOOL_JOB ": >$S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_huge", AGAIN, "more than the limit",
     SPOOL_JOB "truncate -s 100M $S/v && mv $S/v $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_of_another_job", AGAIN, "it answered job b",
     SPOOL_JOB "cp $D/b $S/v && mv $S/v $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_is_a_link", AGAIN, "verdict",
     SPOOL_JOB "ln -s /etc/passwd $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_is_a_device", AGAIN, "not a regular file",
     SPOOL_JOB "ln -s /dev/zero $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_is_a_pipe", AGAIN, "not a regular file",
     SPOOL_JOB "mkfifo $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_is_a_folder", AGAIN, "not a regular file",
     SPOOL_JOB "mkdir $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0},
    {"verdict_leads_nowhere", AGAIN, "has not touched it",
     SPOOL_JOB "ln -s nowhere $S/verdicts/a.json; " SPOOL_REST, 0, 0, 0.4},
    {"job_lost", AGAIN, "has not touched it", SPOOL_JOB "rm $S/taken/a.json $S/workers/w.json", 0,
     0, 0.4},
    {"lease_stale", AGAIN, "has not touched it", SPOOL_JOB SPOOL_REST, 0, 0, 0.4},
    {"clock_in_the_past", FINE, "",
     SPOOL_JOB "touch -d 1980-01-01 $S/taken/a.json; sleep 0.3; touch -d 1980-01-02 "
               "$S/taken/a.json; sleep 0.3; cp $D/a $S/v && mv $S/v $S/verdicts/a.json",
     0, 0, 0.6},
    {"clock_in_the_future", FINE, "",
     SPOOL_JOB "touch -d 2100-01-01 $S/taken/a.json; sleep 0.3; cp $D/a $S/v && mv $S/v "
               "$S/verdicts/a.json",
     0, 0, 0.6},
    {"gives_the_job_back", FINE, "",
     SPOOL_JOB "mv $S/taken/a.json $S/jobs/a.json; until mv $S/jobs/a.json $S/taken/a.json; do "
               "sleep 0.02; done; cp $D/a $S/v && mv $S/v $S/verdicts/a.json",
     0, 0, 0},
    {"hello_of_another_version", GIVEN_UP, "check that it is the same version",
     "sed s,hello/1,hello/9, $D/hello >$S/h; mv $S/h $S/workers/w.json", 0, 0, 0},
    {"hello_is_a_device", AGAIN, "", "ln -s /dev/zero $S/workers/w.json; sleep 0.3", 0, 0, 0},
    {"hello_is_a_pipe", AGAIN, "", "mkfifo $S/workers/w.json; sleep 0.3; rm $S/workers/w.json", 0,
     0, 0},
    {"folder_gone", GIVEN_UP, "is gone",
     "cp $D/hello $S/workers/w.json; until [ -e $S/jobs/a.json ] || [ ! -e $D ]; do sleep 0.02; "
     "done; rm -rf $S",
     0, 0, 0},
    {"verdicts_gone", GIVEN_UP, "is gone", "cp $D/hello $S/workers/w.json; rm -rf $S/verdicts", 0,
     0, 0},
    /* What a real worker makes of a folder that others fill. */
    {"names_that_are_no_jobs", AGAIN, "",
     "cd $S/jobs; for n in -rf.json .hidden.json ..json 'a b.json' '$(touch owned).json' '*.json' "
     "a.json.tmp x.txt; do cp $D/hello \"./$n\"; done; mkdir d.json; mkfifo f.json; ln -s "
     "/dev/zero z.json; ln -s ../../../../etc/passwd p.json",
     0, 0, 0},
    {"owner_is_another", AGAIN, "has not touched it",
     SPOOL_JOB "echo somebody >$S/taken/a.owner; " SPOOL_REST, 0, 0, 0.4},
    {"owner_is_a_folder", AGAIN, "has not touched it",
     SPOOL_JOB "mkdir $S/taken/a.owner; " SPOOL_REST "; rmdir $S/taken/a.owner", 0, 0, 0.4},
};

/* ---- running all rows ------------------------------------------------------------------------ */

typedef struct trial {
    const row *row;
    char *directory;
    kf_workers *workers;
    char news[1200];
    int results;
    bool done;
    /* The script and the worker of a folder. */
    pid_t pid, second;
} trial;

static void write_text(const char *directory, const char *name, const char *text)
{
    kf_autofree char *path = kf_path_join(directory, name);
    kf_error error = {0};
    if (!kf_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

/* Writes hello, a, b and source: what fake_worker answers. */
static void prepare(const char *directory)
{
    static const char *const files[] = {"a", "b", "source"};
    for (size_t i = 0; i < 3; i++) {
        char command[1400], name[20];
        kf_auto(kf_job) job = make_job(i == 1 ? "b" : "a", i == 2 ? "// fake: speed 2\n// else\n"
                                                                  : "// fake: speed 2\n");
        kf_auto(cJSON) json = kf_job_to_json(job);
        kf_autofree char *line = cJSON_PrintUnformatted(json);
        kf_autobuffer text = {0};
        kf_buffer_format(&text, "%s\n", line);
        snprintf(name, sizeof name, "job-%zu", i);
        write_text(directory, name, text.data);
        snprintf(command, sizeof command,
                 FAKE_WORKER " <%s/%s >%s/out; head -n 1 %s/out >%s/hello; tail -n 1 %s/out >%s/%s",
                 directory, name, directory, directory, directory, directory, directory, files[i]);
        assert_int_equal(system(command), 0);
    }
}

static pid_t start(const char *command)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void begin(trial *t, const row *r, bool spool)
{
    kf_autofree char *spec = NULL, *script = NULL;
    kf_error error = {0};
    *t = (trial){.row = r, .directory = kf_path_join(folder, r->name)};
    assert_int_equal(mkdir(t->directory, 0700), 0);
    prepare(t->directory);
    /* Silence counts only where a row says so, however busy the machine is. */
    kf_workers_options options = {.grace_seconds = r->grace > 0 ? r->grace : 600,
                                  .alive_seconds = r->alive > 0 ? r->alive : 60};
    bool always = r->end == GIVEN_UP || r->end == LOST;
    if (spool)
        assert_true(asprintf(&spec, "spool:%s/s", t->directory) > 0);
    else
        assert_true(asprintf(&spec,
                             "D=%s; %s mkdir $D/once 2>/dev/null || exec " FAKE_WORKER "; %s",
                             t->directory, always ? "true ||" : "", r->script) > 0);
    t->workers = kf_workers_open((const char *const[]){spec}, 1, &options, &error);
    if (!t->workers) fail_msg("%s: %s", r->name, error.text);
    submit(t->workers, "a", 1, "// fake: speed 2\n");
    if (r->two) submit(t->workers, "b", 2, "// fake: speed 2\n");
    if (!spool) return;
    assert_true(asprintf(&script, "D=%s; S=$D/s; %s", t->directory, r->script) > 0);
    t->pid = start(script);
}

/* Starts the worker that follows the script of a folder. */
static void follow(trial *t)
{
    if (!t->pid || waitpid(t->pid, NULL, WNOHANG) != t->pid) return;
    t->pid = 0;
    kf_autofree char *command = NULL;
    assert_true(asprintf(&command, "exec " FAKE_WORKER " --spool %s/s --lease 60", t->directory) >
                0);
    if (t->row->end == AGAIN) t->second = start(command);
}

static void step(trial *t)
{
    kf_workers_result result = {0};
    kf_error error = {0};
    const row *r = t->row;
    follow(t);
    int got = kf_workers_wait(t->workers, 0, &result, &error);
    const char *news = kf_workers_news(t->workers);
    if (news && strlen(t->news) + strlen(news) + 2 < sizeof t->news)
        strcat(strcat(t->news, news), "\n");
    if (got == 0) return;
    if (got < 0) {
        t->done = true;
        if (r->end != GIVEN_UP || !says(error.text, r->says))
            fail_msg("%s: no worker is left: %s", r->name, error.text);
        return;
    }
    t->done = ++t->results == 1 + r->two;
    kf_workers_outcome expected = r->end == REFUSED ? KF_WORKERS_REFUSED
                                  : r->end == LOST  ? KF_WORKERS_LOST
                                                    : KF_WORKERS_JUDGED;
    if (result.outcome != expected || r->end == GIVEN_UP)
        fail_msg("%s: outcome %d: %s\n%s", r->name, result.outcome, result.error.text, t->news);
    if (result.verdict)
        assert_true(result.verdict->status == KF_CORRECT && result.verdict->speedup.value > 1.9 &&
                    result.verdict->speedup.value < 2.1);
    if (result.outcome != KF_WORKERS_JUDGED && !says(result.error.text, r->says))
        fail_msg("%s: %s", r->name, result.error.text);
    kf_workers_result_free(&result);
}

static void end(trial *t, bool spool)
{
    const row *r = t->row;
    /* What follows a verdict in the same write is read with it. */
    bool expected = r->end == AGAIN || r->end == JUDGED;
    bool quiet = r->end == FINE || (spool && !*r->says);
    if (expected && !spool && !*t->news) fail_msg("%s: no news", r->name);
    if (expected && !says(t->news, r->says)) fail_msg("%s: %s", r->name, t->news);
    if (quiet && *t->news) fail_msg("%s: %s", r->name, t->news);
    kf_workers_close(t->workers);
    pid_t pids[] = {t->pid, t->second};
    for (int i = 0; i < 2; i++)
        if (pids[i]) kill(-pids[i], SIGKILL), waitpid(pids[i], NULL, 0);
    free(t->directory);
}

#define AT_ONCE 24

static void run(const row *table, size_t count, bool spool)
{
    const char *only = getenv("ONLY");
    trial trials[AT_ONCE];
    size_t running = 0, next_row = 0;
    double until = kf_now() + 1200;
    while (next_row < count || running) {
        for (; next_row < count && running < AT_ONCE; next_row++)
            if (!only || strcmp(only, table[next_row].name) == 0)
                begin(&trials[running++], &table[next_row], spool);
        for (size_t i = 0; i < running;) {
            step(&trials[i]);
            if (kf_now() > until)
                fail_msg("%s does not end: %s", trials[i].row->name, trials[i].news);
            if (!trials[i].done) {
                i++;
                continue;
            }
            end(&trials[i], spool);
            trials[i] = trials[--running];
        }
        usleep(5000);
    }
}

static void on_pipes(void **state)
{
    (void)state;
    run(rows, sizeof rows / sizeof *rows, false);
}

static void behind_folders(void **state)
{
    (void)state;
    run(spools, sizeof spools / sizeof *spools, true);
    kf_autofree char *owned = kf_path_join(folder, "names_that_are_no_jobs/s/jobs/owned");
    assert_int_not_equal(access(owned, F_OK), 0);
}

int test_program(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {TEST(on_pipes), TEST(behind_folders)};
    return TEST_GROUP(tests, NULL, NULL);
}
