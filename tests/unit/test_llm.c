/* The model interface: specs, recorded replies, commands. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "api_key.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "extract.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "llm.h"
#include "tuner.h"

static kf_llm *open_spec(const char *spec)
{
    kf_error error = {0};
    kf_llm *llm = kf_llm_open(spec, &error);
    if (!llm) fail_msg("%s: %s", spec, error.text);
    return llm;
}

static void submit(kf_llm *llm, const char *prompt, int64_t tag)
{
    kf_error error = {0};
    if (!kf_llm_submit(llm, &(kf_llm_request){.prompt = prompt, .temperature = -1, .tag = tag},
                       &error))
        fail_msg("%s", error.text);
}

/* Submits one prompt and waits for its reply. */
static kf_llm_reply ask(kf_llm *llm, const char *prompt)
{
    submit(llm, prompt, 42);
    kf_llm_reply reply = {0};
    assert_int_equal(kf_llm_poll(llm, 20, &reply), 1);
    assert_int_equal(reply.tag, 42);
    assert_int_equal(kf_llm_in_flight(llm), 0);
    return reply;
}

/* Opens a provider, submits one prompt and waits for its reply. */
static kf_llm_reply ask_spec(const char *spec, const char *prompt)
{
    kf_auto(kf_llm) llm = open_spec(spec);
    return ask(llm, prompt);
}

static void specs_are_checked(void **state)
{
    (void)state;
    const struct {
        const char *spec, *expected;
    } rows[] = {
        {"", "known forms are none, replay:FILE, exec:COMMAND, openai:MODEL"},
        {"gpt", "unknown model \"gpt\""},
        {"exce:cat", "did you mean exec?"},
        {"exec", "has nothing behind the colon; the form is exec:COMMAND"},
        {"exec:", "has nothing behind the colon"},
        {"none:x", "the form is none"},
        {"exec,timeout:cat", "has no value"},
        {"exec,timeout=x:cat", "timeout=x is not a number"},
        {"exec,timeout=-1:cat", "is not a number from"},
        {"exec,timeot=1:cat", "unknown option \"timeot\"; did you mean timeout"},
        {"exec,parallel=1000:cat", "parallel=1000 is not a number from 1 to 64"},
        {"replay:/nonexistent/store.db#1h3w", "/nonexistent/store.db"},
        {"replay:/nonexistent/file", "/nonexistent/file: No such file"},
        {"openai:m",
         "openai: no key: set OPENAI_API_KEY in the environment, in .env, or in a key file"},
        {"openai,effort=huge:m@http://127.0.0.1:1/v1",
         "openai: effort=huge is unknown; expected one of default, none, minimal, low, medium, "
         "high, xhigh"},
        {"openai,price_in=1:m@http://127.0.0.1:1/v1", "give both price_in and price_out"},
        {"compatible:m", "compatible: write MODEL@http://HOST:PORT/v1"},
        {"compatible:@http://127.0.0.1/v1", "the model's name is missing"},
        {"azure:m", "set AZURE_OPENAI_ENDPOINT"},
        {"m@http://example.com/v1", "plain http to another machine would show prompts and key"},
        {"m@http://127.0.0.1.example.com/v1", "plain http to another machine"},
        {"m@http://user:secret@127.0.0.1/v1", "must not hold a user or password"},
        {"m@http://", "is no address of a server"},
        {"exec,timeout=2m:cat", NULL},
        {"exec,timeout=2x:cat", "timeout=2x is not a number"},
        {"exec,timeout=2mm:cat", "timeout=2mm is not a number"},
        {"agent:", "has nothing behind the colon; the form is agent:COMMAND"},
        {"agent,evals=0:cat", "evals=0 is not a number from 1"},
        {"agent,eval=1:cat", "did you mean evals"},
        {"agent,home=/dev/null/no:cat", "name a folder that exists"},
        {"agent,env=KFORGE_TEST_NOT_SET:cat", "the variable is not set"},
        {"fallback:exec:cat then agent:cat", NULL},
        {"fallback:agent:cat then exec:cat", "an agent can't be one of the models"},
        {"exec,weight=0:cat", "weight=0 is not a number from 0.001 to 1000"},
        {"exec,role=judge:cat", "role=judge is unknown; expected one of proposer, critic, both"},
        {"exec,wieght=2:cat", "unknown option \"wieght\"; did you mean weight"},
        {"exec,temperature_from=1:cat", "give both temperature_from and temperature_to"},
        {"fallback:exce:cat", "fallback: model 1: unknown model \"exce:cat\""},
        {"fallback:m@http://127.0.0.1:1/v1 then replay:/no/file then exec:cat",
         "fallback: model 2 (replay:/no/file): "},
        {"fallback:m@http://user:secret@127.0.0.1/v1 then exec:cat",
         "fallback: model 1 (m@http://[key]@127.0.0.1/v1): "},
        {"fallback:exec:cat then none", NULL},
        {"fallback:none then exec:cat", "\"none\" is no model; leave it out"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_llm *opened = kf_llm_open(rows[i].spec, &error);
        if (!rows[i].expected) {
            /* Options after exec: belong to the command. */
            assert_non_null(opened);
            kf_llm_close(opened);
            continue;
        }
        assert_null(opened);
        if (!strstr(error.text, rows[i].expected)) fail_msg("\"%s\": %s", rows[i].spec, error.text);
    }
    kf_auto(kf_llm) none = open_spec("none");
    assert_true(kf_llm_is_none(none));
    kf_error error;
    assert_false(kf_llm_submit(none, &(kf_llm_request){.prompt = "x"}, &error));
    assert_non_null(strstr(error.text, "no model is configured"));
    kf_llm_reply reply;
    assert_int_equal(kf_llm_poll(none, 0, &reply), 0);
    for (int i = 0; i <= KF_LLM_EXHAUSTED; i++) {
        kf_llm_outcome back;
        assert_true(kf_llm_outcome_parse(kf_llm_outcome_name((kf_llm_outcome)i), &back) &&
                    (int)back == i);
    }
}

/* Secrets in command lines of models and workers, and what only looks like one. */
static void commands_hold_no_secrets(void **state)
{
    (void)state;
    static const struct {
        const char *command, *shown;
    } rows[] = {
        {"ssh host env HF_TOKEN=abcd1234x kforge worker",
         "ssh host env HF_TOKEN=[key] kforge worker"},
        {"kubectl --token abcd1234x exec -i pod -- kforge worker",
         "kubectl --token [key] exec -i pod -- kforge worker"},
        {"kubectl --token=abcd1234x exec pod", "kubectl --token=[key] exec pod"},
        {"kubectl --username=me --password='correct horse'", "kubectl --username=me "
                                                             "--password='[key] horse'"},
        {"curl -sN https://me:correct@gpu.example/worker -T -",
         "curl -sN https://[key]@gpu.example/worker -T -"},
        {"curl -u me:correcthorse http://gpu/", "curl -u me:[key] http://gpu/"},
        {"curl --user 'me:correcthorse' http://gpu/", "curl --user 'me:[key]' http://gpu/"},
        {"curl -H 'Authorization: Basic bWU6aG9yc2U=' http://gpu/",
         "curl -H 'Authorization: Basic [key]' http://gpu/"},
        {"curl -H \"X-Auth-Token: f00f00f00\" http://gpu/",
         "curl -H \"X-Auth-Token: [key]\" http://gpu/"},
        {"curl -H 'PRIVATE-TOKEN:f00f00f00' u", "curl -H 'PRIVATE-TOKEN:[key]' u"},
        {"sshpass -p horse ssh host kforge worker", "sshpass -p [key] ssh host kforge worker"},
        {"sshpass -phorse ssh host kforge worker", "sshpass -p[key] ssh host kforge worker"},
        {"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI run", "AWS_SECRET_ACCESS_KEY=[key] run"},
        {"redis://:horsehorse@host/0", "redis://[key]@host/0"},
        /* none of these is one */
        {"ssh -i ~/.ssh/id me@host kforge worker", NULL},
        {"ssh host HF_TOKEN=$HF_TOKEN kforge worker", NULL},
        {"curl -u \"me:$PASSWORD\" http://gpu/", NULL},
        {"curl -H \"Authorization: Bearer $TOKEN\" http://me:$PASSWORD@gpu/", NULL},
        {"kubectl --token \"$(cat token)\" exec pod", NULL},
        {"kubectl --token-file /run/token exec pod", NULL},
        {"ask --password-file=secret.txt --max-tokens 100000 --tokenizer llama", NULL},
        {"docker run -u 1000:1000 image kforge worker", NULL},
        {"docker run --user 1000:1000 curlimages", NULL},
        {"srun -N1 --gres=gpu:1 kforge worker", NULL},
        {"git clone https://example.com/a:b/c@d", NULL},
        {"a http://host:8080/v1 then x@y", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t count = -1;
        kf_error error = {0};
        const char *shown = rows[i].shown ? rows[i].shown : rows[i].command;
        kf_autofree char *got = kf_api_keys_without(rows[i].command, &count);
        if (strcmp(got, shown) != 0 || (count == 1) != (rows[i].shown != NULL))
            fail_msg("%s: %s (%d)", rows[i].command, got, (int)count);
        assert_int_equal(kf_api_keys_check_command("worker", rows[i].command, &error),
                         !rows[i].shown);
        if (rows[i].shown && (!strstr(error.text, shown) || !strstr(error.text, "into a file")))
            fail_msg("%s", error.text);
    }
}

/* The options that describe a model's part among several. */
static void traits_are_read(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_auto(kf_llm) plain = open_spec("exec:cat");
    const kf_llm_traits *t = kf_llm_traits_of(plain);
    assert_true(t->weight == 1 && t->role == KF_LLM_PROPOSER && kf_llm_temperature(t, 5) == -1);
    kf_auto(kf_llm) set = open_spec("exec,weight=2.5,timeout=3,role=both,temperature_from=0.2,"
                                    "temperature_to=1,temperature_calls=5:cat");
    t = kf_llm_traits_of(set);
    assert_true(t->weight == 2.5 && t->role == KF_LLM_BOTH);
    assert_true(kf_llm_temperature(t, 0) == 0.2 && fabs(kf_llm_temperature(t, 2) - 0.6) < 1e-12);
    assert_true(kf_llm_temperature(t, 4) == 1 && kf_llm_temperature(t, 400) == 1);
    kf_auto(kf_llm) list = open_spec("fallback,weight=3,role=critic:exec,weight=9:cat");
    assert_true(kf_llm_traits_of(list)->weight == 3 &&
                kf_llm_traits_of(list)->role == KF_LLM_CRITIC);
    kf_autofree char *frozen =
        kf_llm_freeze("fallback,weight=3:openai:o3@http://127.0.0.1:1/v1 then exec:cat", &error);
    assert_non_null(frozen);
    assert_string_equal(frozen, "fallback,weight=3:openai,price_in=2,price_out=8,price_cached=0.5,"
                                "price_cache_write=2:o3@http://"
                                "127.0.0.1:1/v1 then exec:cat");
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void exec_answers(void **state)
{
    (void)state;
    kf_auto(kf_llm) llm = open_spec("exec:cat; echo to stderr >&2");
    kf_llm_reply reply = ask(llm, "hello\nworld");
    assert_int_equal(reply.outcome, KF_LLM_OK);
    assert_string_equal(reply.text, "hello\nworld");
    assert_string_equal(reply.model, "exec");
    assert_true(isnan(reply.cost_usd) && reply.prompt_tokens == -1);
    kf_llm_reply_free(&reply);
    /* The system text comes first. /dev/stdin can be opened again. Large prompts work. */
    kf_auto(kf_llm) again = open_spec("exec:cat /dev/stdin | tail -c 20; head -c 6 /dev/stdin");
    kf_autobuffer large = {0};
    for (int i = 0; i < 300000; i++) kf_buffer_format(&large, "line %6d\n", i);
    kf_error error;
    assert_true(
        kf_llm_submit(again, &(kf_llm_request){.system = "SYSTEM", .prompt = large.data}, &error));
    assert_int_equal(kf_llm_poll(again, 20, &reply), 1);
    assert_non_null(strstr(reply.text, "line 299999\n"));
    assert_string_equal(reply.text + reply.size - 6, "SYSTEM");
    kf_llm_reply_free(&reply);
}

static void exec_json_replies(void **state)
{
    (void)state;
    kf_auto(kf_llm) llm = open_spec("exec:cat");
    kf_llm_reply reply =
        ask(llm, "{\"text\": \"code\\n\", \"model\": \"m-1\", \"usage\": {\"prompt_tokens\": 12, "
                 "\"completion_tokens\": 3}, \"cost_usd\": 0.25}");
    assert_string_equal(reply.text, "code\n");
    assert_string_equal(reply.model, "m-1");
    assert_true(reply.prompt_tokens == 12 && reply.completion_tokens == 3 &&
                reply.cost_usd == 0.25);
    kf_llm_reply_free(&reply);
    /* The same without the object `usage`. */
    reply = ask(llm, "{\"text\": \"code\", \"prompt_tokens\": 12, \"completion_tokens\": 3}");
    assert_true(reply.prompt_tokens == 12 && reply.completion_tokens == 3);
    kf_llm_reply_free(&reply);
    reply = ask(llm, "{\"text\": \"cut\", \"outcome\": \"truncated\", \"usage\": 7}");
    assert_int_equal(reply.outcome, KF_LLM_TRUNCATED);
    kf_llm_reply_free(&reply);
    /* Any other output is plain text. */
    const char *const plain[] = {"{\"answer\": 1}", "{\"text\": 1}", "{\"text\": \"a\"} and more",
                                 "{ int a; }"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        reply = ask(llm, plain[i]);
        assert_int_equal(reply.outcome, KF_LLM_OK);
        assert_string_equal(reply.text, plain[i]);
        kf_llm_reply_free(&reply);
    }
}

static void exec_failures_are_reported(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        kf_llm_outcome outcome;
        const char *expected;
    } rows[] = {
        {"exec:echo partial; echo 'quota used up' >&2; exit 3", KF_LLM_FAILED,
         "ended with status 3; it wrote to stderr: quota used up"},
        {"exec:X=1 no-such-program-anywhere", KF_LLM_FAILED, "status 127"},
        {"exec:kill -9 $$", KF_LLM_FAILED, "ended by signal 9"},
        {"exec,timeout=0.2:sleep 60", KF_LLM_FAILED, "no reply within 0.2 s"},
        {"exec:true", KF_LLM_EMPTY, ""},
        {"exec:printf ' \\n'", KF_LLM_EMPTY, ""},
        {"exec:printf 'a\\0b'", KF_LLM_FAILED, "NUL byte"},
        /* A line end in a text of JSON has to be escaped. */
        {"exec:printf ' { \"text\": \"a\\nb\"}\\n'", KF_LLM_FAILED,
         "exec: the reply is no valid JSON: "},
        {"exec:head -c 9000000 /dev/zero | tr '\\0' x", KF_LLM_FAILED, "more than 8388608 bytes"},
        {"exec:yes too much | head -c 3000000 >&2; exit 1", KF_LLM_FAILED,
         "wrote to stderr: too much too much"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_llm_reply reply = ask_spec(rows[i].spec, "x");
        if (reply.outcome != rows[i].outcome || !strstr(reply.error.text, rows[i].expected))
            fail_msg("%s: outcome %d, %s", rows[i].spec, reply.outcome, reply.error.text);
        kf_llm_reply_free(&reply);
    }
    setenv("KFORGE_EXEC_TIMEOUT", "0.2", 1);
    kf_llm_reply reply = ask_spec("exec:sleep 60", "x");
    assert_non_null(strstr(reply.error.text, "within 0.2 s"));
    kf_llm_reply_free(&reply);
    setenv("KFORGE_EXEC_TIMEOUT", "soon", 1);
    kf_error error;
    assert_null(kf_llm_open("exec:cat", &error));
    unsetenv("KFORGE_EXEC_TIMEOUT");
}

static char *file_of(const char *directory, const char *what, int number)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s-%d", directory, what, number) > 0);
    return path;
}

/* A program that is not there is an error before the first call, with its name and the remedy. */
static void exec_needs_its_program(void **state)
{
    (void)state;
    kf_error error;
    assert_null(kf_llm_open("exec:no-such-program-anywhere --now", &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    assert_string_equal(error.text, "exec: there is no program no-such-program-anywhere: check its "
                                    "name, or give its path as in exec:./ask.sh");
    kf_autofree char *directory = kf_directory_temporary("kforge-llm", NULL), *spec = NULL;
    kf_autofree char *path = file_of(directory, "ask", 1);
    assert_true(kf_file_write(path, "echo hello\n", 11, NULL));
    assert_true(chmod(path, 0644) == 0 && asprintf(&spec, "exec:%s", path) > 0);
    assert_null(kf_llm_open(spec, &error));
    assert_non_null(strstr(error.text, "chmod +x"));
    assert_int_equal(chmod(path, 0755), 0);
    kf_llm_close(open_spec(spec));
    static const struct {
        const char *before, *after, *content, *words;
    } bad[] = {
        {"python3 ", "/none.py", NULL, "exec: python3 finds no script /"},
        {"python3 -u ", "/none.py --fast", NULL, "none.py: check its path"},
        {"/bin/sh ", "/none", NULL, "exec: /bin/sh finds no script /"},
        {"", "/ask-2", "#!/no/such/python3 -u\n",
         "ask-2:1: there is no program /no/such/python3: "},
        {"", "/ask-2", "#!/bin/sh\r\necho\n", "/bin/sh with a carriage return: save the file with"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kf_autofree char *made = file_of(directory, "ask", 2), *wrong = NULL;
        const char *text = bad[i].content;
        if (text) assert_true(kf_file_write(made, text, strlen(text), NULL));
        if (text) assert_int_equal(chmod(made, 0755), 0);
        assert_true(asprintf(&wrong, "exec:%s%s%s", bad[i].before, directory, bad[i].after) > 0);
        assert_null(kf_llm_open(wrong, &error));
        assert_int_equal(error.code, KF_ERROR_INPUT);
        if (!strstr(error.text, bad[i].words)) fail_msg("%s: %s", wrong, error.text);
    }
    kf_directory_remove(directory, NULL);
    /* Builtins, keywords, and what only a shell can tell. */
    static const char *const good[] = {
        "exec:exit 3",       "exec: if true; then echo; fi", "exec:cat|tac",
        "exec:X=1 nowhere",  "exec:\"$HOME\"/nowhere",       "exec:(a)",
        "exec:sh -c 'x.sh'", "exec:python3 -m x.y",          "exec:sh </no/file",
        "exec:node none.js"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) kf_llm_close(open_spec(good[i]));
}

/* Eight requests at once. Each is answered when it is done, independent of the others: the last one
 * is released first. */
static void exec_runs_many_at_once(void **state)
{
    (void)state;
    kf_autofree char *directory = kf_directory_temporary("kforge-llm", NULL), *spec = NULL;
    assert_true(asprintf(&spec,
                         "exec,parallel=8:read n; : > %s/begun-$n; until [ -e %s/go-$n ]; do sleep "
                         "0.01; done; echo $n",
                         directory, directory) > 0);
    kf_auto(kf_llm) llm = open_spec(spec);
    char prompt[8];
    for (int i = 8; i >= 1; i--) {
        snprintf(prompt, sizeof prompt, "%d\n", i);
        submit(llm, prompt, i);
    }
    assert_int_equal(kf_llm_in_flight(llm), 8);
    kf_error error;
    kf_llm_reply reply;
    assert_false(kf_llm_submit(llm, &(kf_llm_request){.prompt = "9"}, &error));
    assert_int_equal(error.code, KF_ERROR_BUSY);
    double until = kf_now() + 600;
    for (int i = 1; i <= 8; i++) {
        kf_autofree char *begun = file_of(directory, "begun", i);
        while (access(begun, F_OK) != 0) {
            if (kf_now() > until) fail_msg("request %d was not begun beside the others", i);
            assert_int_equal(kf_llm_poll(llm, 0.02, &reply), 0);
        }
    }
    for (int i = 1; i <= 8; i++) {
        kf_autofree char *go = file_of(directory, "go", i);
        assert_true(kf_file_write(go, "", 0, &error));
        assert_int_equal(kf_llm_poll(llm, 20, &reply), 1);
        assert_int_equal(reply.tag, i);
        assert_int_equal(atoi(reply.text), i);
        kf_llm_reply_free(&reply);
    }
    assert_int_equal(kf_llm_poll(llm, 0.01, &reply), 0);
    assert_true(kf_directory_remove(directory, NULL));
}

/* Waits until a process is gone: reaped, or a zombie. */
static bool gone(pid_t pid)
{
    char path[64], line[256];
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        kf_autofclose FILE *file = fopen(path, "r");
        if (!file || !fgets(line, sizeof line, file) || strstr(line, ") Z ")) return true;
        usleep(20000);
    }
    return false;
}

static void exec_leaves_nothing_behind(void **state)
{
    (void)state;
    /* A background process that keeps the pipe open neither delays the reply nor survives it. */
    double start = kf_now();
    kf_llm_reply reply = ask_spec("exec:sleep 61 & echo $!", "x");
    assert_true(kf_now() - start < 50);
    assert_true(gone((pid_t)atoi(reply.text)));
    kf_llm_reply_free(&reply);
    /* Closing ends the requests in flight and the children of the shell. */
    kf_autofree char *directory = kf_directory_temporary("kforge-llm", NULL);
    kf_autofree char *spec = NULL;
    assert_true(asprintf(&spec, "exec:sleep 62 & echo $! > %s/pid.tmp; mv %s/pid.tmp %s/pid; wait",
                         directory, directory, directory) > 0);
    kf_llm *llm = open_spec(spec);
    submit(llm, "x", 1);
    kf_autofree char *path = kf_path_join(directory, "pid");
    char *text = NULL;
    for (int i = 0; i < 200 && !text; i++) {
        assert_int_equal(kf_llm_poll(llm, 0.05, &reply), 0);
        text = kf_file_read(path, 100, NULL, NULL);
    }
    assert_non_null(text);
    pid_t child = (pid_t)atoi(text);
    assert_int_equal(kill(child, 0), 0);
    kf_llm_close(llm);
    assert_true(gone(child));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    free(text);
    assert_true(kf_directory_remove(directory, NULL));
}

static void exec_inherits_no_descriptors(void **state)
{
    (void)state;
    int leaked[2];
    /* Not close-on-exec. */
    assert_int_equal(pipe(leaked), 0);
    kf_llm_reply reply = ask_spec("exec:exec ls /proc/self/fd", "x");
    /* 3: the directory that ls reads. */
    assert_string_equal(reply.text, "0\n1\n2\n3\n");
    kf_llm_reply_free(&reply);
    close(leaked[0]);
    close(leaked[1]);
}

/* ---- replay ---------------------------------------------------------------------------------- */

#define HEADER                                                                               \
    "{\"schema\": \"kforge-cassette/1\", \"source\": \"written for this test\", \"model\": " \
    "\"m\"}\n"

typedef struct cassette {
    char *directory, *path;
    char spec[300];
} cassette;

static cassette write_cassette(const char *text)
{
    cassette c = {.directory = kf_directory_temporary("kforge-cassette", NULL)};
    c.path = kf_path_join(c.directory, "c.jsonl");
    assert_true(kf_file_write(c.path, text, strlen(text), NULL));
    snprintf(c.spec, sizeof c.spec, "replay:%s", c.path);
    return c;
}

static void drop_cassette(cassette *c)
{
    kf_directory_remove(c->directory, NULL);
    free(c->directory);
    free(c->path);
}

static void expect_reply(kf_llm *llm, const char *prompt, const char *expected)
{
    kf_llm_reply reply = ask(llm, prompt);
    if (expected)
        assert_string_equal(reply.text, expected);
    else
        assert_int_equal(reply.outcome, KF_LLM_EXHAUSTED);
    kf_llm_reply_free(&reply);
}

static void replay_prefers_the_matching_prompt(void **state)
{
    (void)state;
    kf_hash hash = kf_hash_bytes("second", 6);
    char hex[KF_HASH_HEX], text[2000];
    kf_hash_hex(&hash, hex);
    snprintf(text, sizeof text,
             HEADER "{\"match\": null, \"reply\": \"one\", \"tokens\": {\"prompt\": 5, "
                    "\"completion\": 7}, \"seconds\": 1.5, "
                    "\"cost_usd\": 0.5}\n\n"
                    "{\"match\": \"%s\", \"reply\": \"two\", \"model\": \"other\"}\r\n{\"reply\": "
                    "\"three\", \"outcome\": \"truncated\", "
                    "\"error\": \"\", \"tokens\": {\"prompt\": -1, \"completion\": -1}, "
                    "\"cost_usd\": -1.0, \"asked\": 0, \"after\": 0}\n"
                    "{\"reply\": \"\", \"outcome\": \"failed\", \"error\": \"503\"}",
             hex);
    cassette c = write_cassette(text);
    kf_auto(kf_llm) llm = open_spec(c.spec);
    expect_reply(llm, "second", "two");
    kf_llm_reply reply = ask(llm, "anything");
    assert_string_equal(reply.text, "one");
    assert_string_equal(reply.model, "m");
    assert_true(reply.prompt_tokens == 5 && reply.completion_tokens == 7 && reply.seconds == 1.5 &&
                reply.cost_usd == 0.5);
    kf_llm_reply_free(&reply);
    reply = ask(llm, "second");
    assert_int_equal(reply.outcome, KF_LLM_TRUNCATED);
    /* Negative counts are unknown. */
    assert_true(reply.prompt_tokens == -1 && reply.completion_tokens == -1 &&
                isnan(reply.cost_usd));
    assert_int_equal(reply.error.code, KF_ERROR_NONE);
    kf_llm_reply_free(&reply);
    reply = ask(llm, "x");
    assert_int_equal(reply.outcome, KF_LLM_FAILED);
    assert_string_equal(reply.error.text, "503");
    kf_llm_reply_free(&reply);
    expect_reply(llm, "x", NULL);
    /* Several in flight come back in order. */
    kf_auto(kf_llm) queue = open_spec(c.spec);
    for (int i = 0; i < 6; i++) submit(queue, "p", i);
    assert_int_equal(kf_llm_in_flight(queue), 6);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kf_llm_poll(queue, 0, &reply), 1);
        assert_int_equal(reply.tag, i);
        kf_llm_reply_free(&reply);
    }
    /* skip continues after a resume. strict never answers another prompt. */
    char spec[400];
    snprintf(spec, sizeof spec, "replay,skip=2:%s", c.path);
    kf_auto(kf_llm) resumed = open_spec(spec);
    expect_reply(resumed, "second", "three");
    snprintf(spec, sizeof spec, "replay,strict=1:%s", c.path);
    kf_auto(kf_llm) strict = open_spec(spec);
    expect_reply(strict, "anything", NULL);
    expect_reply(strict, "second", "two");
    drop_cassette(&c);
}

/* A late reply is late again, and the replies keep their order. */
static void replies_come_when_they_came(void **state)
{
    (void)state;
    kf_llm_reply reply;
    cassette c = write_cassette(
        HEADER "{\"reply\": \"one\", \"after\": 7}\n{\"reply\": \"two\", \"after\": 9}\n");
    kf_auto(kf_llm) llm = open_spec(c.spec);
    for (int i = 0; i < 3; i++) submit(llm, "p", i);
    kf_llm_progress(llm, 6);
    assert_int_equal(kf_llm_poll(llm, 0, &reply), 0);
    double wake = 1e18;
    kf_llm_watch(llm, NULL, 0, &wake);
    /* No reason to poll. */
    assert_true(wake == 1e18);
    kf_llm_progress(llm, 7);
    kf_llm_watch(llm, NULL, 0, &wake);
    assert_true(wake < 1e18);
    assert_int_equal(kf_llm_poll(llm, 0, &reply), 1);
    assert_string_equal(reply.text, "one");
    kf_llm_reply_free(&reply);
    assert_int_equal(kf_llm_poll(llm, 0, &reply), 0);
    /* A run that ends now did not receive them. */
    assert_int_equal(kf_llm_in_flight(llm), 2);
    assert_int_equal(kf_llm_ready(llm), KF_LLM_USED_UP);
    /* Without other work they come at once. A model that never answers counts as used up. */
    kf_auto(kf_llm) idle = open_spec(c.spec);
    for (int i = 0; i < 3; i++) submit(idle, "p", i);
    kf_llm_progress(idle, 100);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kf_llm_poll(idle, 0, &reply), 1);
        kf_llm_reply_free(&reply);
    }
    assert_int_equal(kf_llm_poll(idle, 0, &reply), 0);
    kf_llm_progress(idle, INT64_MAX);
    assert_int_equal(kf_llm_poll(idle, 0, &reply), 1);
    assert_int_equal(reply.outcome, KF_LLM_EXHAUSTED);
    kf_llm_reply_free(&reply);
    drop_cassette(&c);
}

/* Two calls with the same prompt, answered in reverse order: each gets its own reply. */
static void equal_prompts_get_their_own_replies(void **state)
{
    (void)state;
    kf_llm_reply reply;
    kf_hash hash = kf_hash_bytes("p", 1);
    char hex[KF_HASH_HEX], text[1000];
    kf_hash_hex(&hash, hex);
    snprintf(text, sizeof text,
             HEADER "{\"match\": \"%s\", \"reply\": \"asked second\", \"asked\": 5, \"after\": 8}\n"
                    "{\"match\": \"%s\", \"reply\": \"asked first\", \"asked\": 3, \"after\": 9}\n",
             hex, hex);
    cassette c = write_cassette(text);
    kf_auto(kf_llm) llm = open_spec(c.spec);
    kf_llm_progress(llm, 3);
    submit(llm, "p", 1);
    kf_llm_progress(llm, 5);
    submit(llm, "p", 2);
    for (int i = 0; i < 2; i++) {
        kf_llm_progress(llm, 8 + i);
        assert_int_equal(kf_llm_poll(llm, 0, &reply), 1);
        assert_int_equal(reply.tag, 2 - i);
        assert_string_equal(reply.text, i ? "asked first" : "asked second");
        kf_llm_reply_free(&reply);
    }
    drop_cassette(&c);
}

static void malformed_cassettes_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *text, *expected;
    } rows[] = {
        {"", "c.jsonl: empty; a cassette starts with"},
        {"\n\n", "c.jsonl: empty"},
        {"{\"schema\": \"kforge-cassette/2\", \"source\": \"x\", \"model\": \"m\"}\n",
         "c.jsonl:1: schema: \"kforge-cassette/2\" is not"},
        {"{\"schema\": \"kforge-cassette/1\", \"model\": \"m\"}\n", "c.jsonl:1: source: missing"},
        {"{\"schema\": \"kforge-cassette/1\", \"source\": \"\", \"model\": \"m\"}\n",
         "c.jsonl:1: source: empty"},
        {"{\"reply\": \"x\"}\n", "c.jsonl:1: schema: missing"},
        {HEADER "{\"match\": null}\n", "c.jsonl:2: reply: missing"},
        {HEADER "\n{\"reply\": 1}\n", "c.jsonl:3: reply: expected a string"},
        {HEADER "{\"reply\": \"x\"\n", "c.jsonl:2:"},
        {HEADER "{\"reply\": \"x\", \"match\": \"abc\"}\n",
         "c.jsonl:2: match: expected null or the 64"},
        {HEADER "{\"reply\": \"x\", \"outcome\": \"good\"}\n",
         "c.jsonl:2: outcome: unknown outcome \"good\""},
        {HEADER "{\"reply\": \"x\", \"tokens\": {\"prompt\": -2}}\n",
         "c.jsonl:2: tokens.prompt: -2 is out of range"},
        {HEADER "{\"reply\": \"x\", \"tokens\": [1]}\n", "c.jsonl:2: tokens: expected an object"},
        {HEADER "{\"reply\": \"x\", \"reply\": \"y\"}\n", "comes twice"},
        {HEADER "{\"replay\": \"x\", \"reply\": \"y\"}\n",
         "c.jsonl:2: replay: unknown key; did you mean \"reply\"?"},
        {HEADER "[]\n", "c.jsonl:2: expected an object"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cassette c = write_cassette(rows[i].text);
        kf_error error = {0};
        assert_null(kf_llm_open(c.spec, &error));
        if (!strstr(error.text, rows[i].expected)) fail_msg("row %zu: %s", i, error.text);
        drop_cassette(&c);
    }
}

/* The conversations that come with kforge: every reply holds a source for its task, the last one
 * declares tunables. */
static void kept_conversations_hold_sources(void **state)
{
    (void)state;
    const char *const tasks[] = {"row_softmax", "axpy", "transpose", "reduction"};
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        char spec[600];
        snprintf(spec, sizeof spec, "replay:%s/tests/replay/%s.jsonl", KFORGE_SOURCE_DIR, tasks[i]);
        kf_auto(kf_llm) llm = open_spec(spec);
        double points = 0;
        int replies = 0;
        for (;;) {
            kf_llm_reply reply = ask(llm, "next");
            if (reply.outcome == KF_LLM_EXHAUSTED) {
                kf_llm_reply_free(&reply);
                break;
            }
            kf_error error = {0};
            kf_autofree char *source = kf_extract_source(reply.text, reply.size, tasks[i], &error);
            if (!source) fail_msg("%s", error.text);
            assert_non_null(strstr(source, "extern \"C\""));
            kf_auto(kf_tune_space) space = kf_tune_space_read(source, &error);
            if (!space) fail_msg("%s", error.text);
            points = kf_tune_space_size(space, NULL);
            replies++;
            kf_llm_reply_free(&reply);
        }
        assert_true(replies >= 2);
        /* The last one is tunable. */
        assert_true(points > 1);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_are_checked),
        cmocka_unit_test(traits_are_read),
        cmocka_unit_test(commands_hold_no_secrets),
        cmocka_unit_test(exec_answers),
        cmocka_unit_test(exec_json_replies),
        cmocka_unit_test(exec_failures_are_reported),
        cmocka_unit_test(exec_needs_its_program),
        cmocka_unit_test(exec_runs_many_at_once),
        cmocka_unit_test(exec_leaves_nothing_behind),
        cmocka_unit_test(exec_inherits_no_descriptors),
        cmocka_unit_test(replay_prefers_the_matching_prompt),
        cmocka_unit_test(replies_come_when_they_came),
        cmocka_unit_test(equal_prompts_get_their_own_replies),
        cmocka_unit_test(malformed_cassettes_are_refused),
        cmocka_unit_test(kept_conversations_hold_sources),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
