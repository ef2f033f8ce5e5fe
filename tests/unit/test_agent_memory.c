/* Fails each allocation of the agent's pure parts and of replay once.
 *
 * The linker redirects the allocations of kforge's own objects to this file (-Wl,--wrap), and
 * cJSON's hooks do the same. The n-th allocation fails, for n = 1, 2, … until everything works.
 * Each time there must be an error, or the result of a run without failures. Nothing may crash, and
 * sanitizer builds must find no leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "extract.h"
#include "kforge/json.h"
#include "llm.h"
#include "prompt.h"
#include "tuner.h"
#include "llm_dialect.h"
#include "prices.h"
#include "sse.h"
#include "failing_allocator.h"

/* Runs `work` with each of its allocations failed in turn. Compares its result with the whole one.
 */
static long fail_each(char *(*work)(kf_error *))
{
    until_failure = -1;
    kf_error error = {0};
    char *whole = work(&error);
    if (!whole) fail_msg("%s", error.text);
    for (long n = 0;; n++) {
        error = (kf_error){0};
        failed_once = false;
        until_failure = n;
        char *result = work(&error);
        until_failure = -1;
        if (result && strcmp(result, whole) != 0)
            fail_msg("allocation %ld: another result:\n%s", n, result);
        if (!result && !error.text[0]) fail_msg("allocation %ld: no error told", n);
        free(result);
        if (!failed_once) {
            free(whole);
            return n;
        }
    }
}

#define TUNED                                                                                      \
    "// kforge: tune A 1 2 4\n// kforge: tune B 1 2\n// kforge: require A * B <= 4\n// kforge: "   \
    "flags -O3 | --use_fast_math |\n"                                                              \
    "#ifndef A\n#define A (1+1)\n#endif\n#ifndef B\n#define B 3\n#endif\nextern \"C\" void f(int " \
    "a)\n{\n}\n"

static char *extract(kf_error *error)
{
    static const char reply[] = "<think>x</think>\n````md\ntext\n```bash\nls\n```\n```cuda\n" TUNED
                                "```\n````\n```c\nint x;\n```\n";
    return kf_extract_source(reply, sizeof reply - 1, "f", error);
}

static char *extract_bare(kf_error *error)
{
    static const char reply[] =
        "So:\n#include <cstdint>\nextern \"C\" void f(int a)\n{\n    a;\n}\nDone\n";
    return kf_extract_source(reply, sizeof reply - 1, "f", error);
}

static char *edit(kf_error *error)
{
    static const char reply[] = "<<<<<<< SEARCH\nb;\n=======\nB;\n>>>>>>> REPLACE\n<<<<<<< "
                                "SEARCH\n  B; \n\n=======\nC;\n>>>>>>> REPLACE\n";
    int applied;
    return kf_extract_apply("a;\n    b;\nc;\n", reply, sizeof reply - 1, &applied, error);
}

/* All properties of a space as text. */
static char *tune(kf_error *error)
{
    kf_auto(kf_tune_space) space = kf_tune_space_read(TUNED, error);
    if (!space) return NULL;
    kf_tune_point point;
    char *flags[KF_MAX_TUNE_FLAGS];
    kf_tune_point_default(space, &point);
    int count = kf_tune_point_flags(space, &point, flags, error);
    if (count < 0) return NULL;
    while (count) free(flags[--count]);
    return kf_tune_point_apply(space, &point, TUNED, error);
}

/* If memory is short, the search may end early but must not fail otherwise. */
static char *search(kf_error *error)
{
    kf_auto(kf_tune_space) space = kf_tune_space_read(TUNED, error);
    if (!space) return NULL;
    for (size_t exhaustive = 0; exhaustive <= 1000; exhaustive += 1000) {
        kf_auto(kf_tuner) tuner = kf_tuner_new(space, 1, exhaustive);
        if (!tuner) {
            kf_fail(error, KF_ERROR_MEMORY, "no tuner");
            return NULL;
        }
        kf_tune_point point;
        for (int i = 0; i < 100 && kf_tuner_next(tuner, &point); i++)
            if (i % 3) kf_tuner_report(tuner, &point, i);
    }
    return __real_strdup("done");
}

static char *prompt(kf_error *error)
{
    kf_prompt_context context = {.task.name = "t",
                                 .task.baseline_source = "```\n",
                                 .parent.source = "x",
                                 .parent.build_log = "log",
                                 .edits = true};
    return kf_prompt_build(KF_PROMPT_REPAIR_BUILD, &context, KFORGE_SOURCE_DIR "/prompts", error);
}

static char *replay(kf_error *error)
{
    kf_auto(kf_llm) llm =
        kf_llm_open("replay:" KFORGE_SOURCE_DIR "/tests/replay/axpy.jsonl", error);
    if (!llm) return NULL;
    kf_llm_request request = {.prompt = "x"};
    kf_llm_reply reply = {0};
    if (!kf_llm_submit(llm, &request, error) || !kf_llm_submit(llm, &request, error)) return NULL;
    kf_llm_poll(llm, 0, &reply);
    char *text = kf_steal(&reply.text);
    kf_llm_reply_free(&reply);
    return text;
}

static char *exec(kf_error *error)
{
    kf_auto(kf_llm) llm = kf_llm_open("exec:echo '{\"text\": \"x\", \"model\": \"m\"}'", error);
    if (!llm || !kf_llm_submit(llm, &(kf_llm_request){.prompt = "x"}, error)) return NULL;
    kf_llm_reply reply = {0};
    if (kf_llm_poll(llm, 20, &reply) != 1) return NULL;
    if (reply.error.text[0]) kf_fail_copy(error, &reply.error);
    /* Out of memory, JSON that can't be parsed counts as text: the caller sees JSON instead of
     * code. */
    char *text = reply.text && reply.text[0] != '{' ? kf_steal(&reply.text) : NULL;
    if (!text && !error->text[0]) kf_fail(error, KF_ERROR_MEMORY, "JSON left as it is");
    kf_llm_reply_free(&reply);
    return text;
}

/* Writes the bodies of requests in all formats. */
static char *bodies(kf_error *error)
{
    static const kf_dialect *const dialects[] = {&kf_dialect_chat, &kf_dialect_responses,
                                                 &kf_dialect_anthropic, &kf_dialect_gemini};
    const kf_call_settings settings = {
        .model = "m", .effort = KF_EFFORT_LOW, .max_tokens = 9999, .temperature = 1};
    const kf_dialect_request request = {.system = "s", .prompt = "p", .begun = "b"};
    kf_autobuffer all = {0};
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++) {
        kf_auto(cJSON) json = cJSON_CreateObject();
        kf_autofree char *text = json && dialects[i]->body(&settings, &request, json)
                                     ? cJSON_PrintUnformatted(json)
                                     : NULL;
        dialects[i]->path(&settings, &all);
        if (text) kf_buffer_string(&all, text);
        if (!text || all.failed) {
            kf_fail(error, KF_ERROR_MEMORY, "no body");
            return NULL;
        }
    }
    return kf_buffer_take(&all);
}

static bool take_event(void *context, const char *name, const char *data, size_t size)
{
    kf_answer *answer = context;
    return kf_answer_event(answer, &kf_dialect_chat, name, data, size) && !answer->text.failed;
}

/* Reads a stream up to its text. */
static char *stream(kf_error *error)
{
    static const char text[] = "data: {\"choices\": [{\"delta\": {\"content\": \"a\"}}]}\n\ndata: "
                               "{\"choices\": [{\"delta\": {\"content\": \"b\"}}],\n"
                               "data: \"usage\": {\"prompt_tokens\": NaN}}\n\ndata: [DONE]\n\n";
    kf_answer answer;
    kf_sse sse;
    kf_answer_open(&answer);
    kf_sse_open(&sse, take_event, &answer);
    bool read = true;
    for (size_t i = 0; i < sizeof text - 1 && read; i += 7)
        read =
            kf_sse_feed(&sse, text + i, i + 7 < sizeof text - 1 ? 7 : sizeof text - 1 - i, error);
    char *whole = read && kf_sse_end(&sse, error) && !answer.text.failed
                      ? kf_buffer_take(&answer.text)
                      : NULL;
    if (!whole && !error->text[0]) kf_fail(error, KF_ERROR_MEMORY, "no text");
    kf_sse_close(&sse);
    kf_answer_close(&answer);
    return whole;
}

static char *price(kf_error *error)
{
    kf_price found;
    if (!kf_price_find("openai", "gpt-4o-2024-08-06", &found, error)) return NULL;
    return __real_strdup(found.known && found.input == 2.5 ? "2.5" : "another");
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(extract) > 5);
    assert_true(fail_each(extract_bare) > 1);
    assert_true(fail_each(edit) > 10);
    assert_true(fail_each(tune) > 10);
    assert_true(fail_each(search) > 10);
    assert_true(fail_each(prompt) > 20);
    assert_true(fail_each(replay) > 20);
    assert_true(fail_each(exec) > 5);
    assert_true(fail_each(bodies) > 50);
    assert_true(fail_each(stream) > 20);
    assert_true(fail_each(price) > 100);
}

int test_program(void)
{
    until_failure = -1;
    cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
    cJSON_InitHooks(&hooks);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_may_fail)};
    return TEST_GROUP(tests, NULL, NULL);
}
