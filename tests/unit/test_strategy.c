/* Strategies by name and from JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "strategy.h"
#include "kforge/file.h"
#include "kforge/json.h"

static bool read_text(const char *text, kf_strategy *strategy, kf_error *error)
{
    kf_auto(cJSON) json = kf_json_parse(text, strlen(text), 0, "own.json", error);
    return json && kf_strategy_read(json, "own.json", strategy, error);
}

/* A strategy survives being stored as JSON. */
static void named_ones_survive_json(void **state)
{
    (void)state;
    int count = 0;
    for (const char *const *name = kf_strategy_names(); *name; name++, count++) {
        const kf_strategy *named = kf_strategy_named(*name);
        kf_auto(cJSON) json = kf_strategy_json(named);
        kf_autofree char *text = cJSON_PrintUnformatted(json);
        kf_strategy back;
        kf_error error = {0};
        if (!read_text(text, &back, &error)) fail_msg("%s: %s", *name, error.text);
        kf_auto(cJSON) again = kf_strategy_json(&back);
        assert_true(cJSON_Compare(json, again, true));
        assert_string_equal(back.name, *name);
        assert_true(*kf_strategy_summary(*name));
    }
    assert_int_equal(count, 8);
    assert_null(kf_strategy_named("nothing"));
}

static void own_ones_start_from_a_named_one(void **state)
{
    (void)state;
    kf_strategy s;
    kf_error error = {0};
    assert_true(read_text("{\"name\": \"mine\", \"like\": \"evolve\", \"islands\": 7, \"parents\": "
                          "\"tournament\", \"best\": false}",
                          &s, &error));
    assert_string_equal(s.name, "mine");
    assert_int_equal(s.survivors.islands, 7);
    assert_int_equal(s.survivors.parents, KF_PARENTS_TOURNAMENT);
    assert_false(s.context.best);
    assert_int_equal(s.survivors.migrate, kf_strategy_named("evolve")->survivors.migrate);
    /* Without "like" only the named weights count. */
    assert_true(read_text("{\"contrast\": 2, \"exemplars\": 3}", &s, &error));
    assert_true(s.propose.draft <= 0 && s.propose.improve <= 0 && s.propose.contrast >= 2);
    kf_autofree char *folder = kf_directory_temporary("kforge-test-strategy", &error),
                     *path = kf_path_join(folder, "own.json");
    assert_true(kf_file_write(path, "{\"tune\": 3}", 11, &error));
    assert_true(kf_strategy_load(path, &s, &error));
    assert_int_equal(s.propose.tune, 3);
    assert_true(kf_directory_remove(folder, &error));
}

static void faults_are_told_in_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part[3];
    } rows[] = {
        {"{\"improve\": 1, \"ilands\": 3}", {"own.json", "ilands", "islands"}},
        {"{\"improve\": 1, \"islands\": 0}", {"own.json", "islands", "1"}},
        {"{\"improve\": \"much\"}", {"own.json", "improve", "number"}},
        {"{\"improve\": 1, \"parents\": \"turnament\"}",
         {"parents", "turnament", "did you mean tournament"}},
        {"{\"improve\": 1, \"edits\": 3}", {"own.json", "edits", ""}},
        {"{\"like\": \"evolv\"}", {"like", "did you mean evolve", ""}},
        {"{\"islands\": 3}", {"own.json", "the strategy proposes nothing", ""}},
        {"[]", {"own.json", "object", ""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_strategy s;
        kf_error error = {0};
        if (read_text(rows[i].text, &s, &error)) fail_msg("accepted %s", rows[i].text);
        for (int k = 0; k < 3; k++)
            if (!strstr(error.text, rows[i].part[k]))
                fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].text, error.text, rows[i].part[k]);
        assert_null(strchr(error.text, '\n'));
    }
    kf_strategy s;
    kf_error error = {0};
    assert_false(kf_strategy_load("contrst", &s, &error));
    assert_non_null(strstr(error.text, "did you mean contrast"));
    assert_false(kf_strategy_load("nowhere/own.json", &s, &error));
    assert_non_null(strstr(error.text, "nowhere/own.json"));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_ones_survive_json),
        cmocka_unit_test(own_ones_start_from_a_named_one),
        cmocka_unit_test(faults_are_told_in_one_line),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
