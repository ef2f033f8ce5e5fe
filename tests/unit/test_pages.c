/* The parts of pages: JSON in a script element, the best so far, differences of texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test_main.h"
#include "best_so_far.h"
#include "kforge/json.h"
#include "page_files.h"
#include "run_page.h"
#include "text_diff.h"

static void json_cannot_leave_its_element(void **state)
{
    (void)state;
    static const char *const texts[] = {"</script><script>alert(1)</script>",
                                        "<!-- <script> -->",
                                        "]]>",
                                        "a & b &lt;",
                                        "\"quoted\" 'single' \\ \n\r\t",
                                        "\xe2\x80\xa8\xe2\x80\xa9",
                                        "\xe2\x80\x94 \xe2\x98\x83"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kf_auto(cJSON) json = cJSON_CreateObject();
        kf_autobuffer out = {0};
        cJSON_AddStringToObject(json, "text", texts[i]);
        assert_true(kf_page_embed_json(json, &out));
        assert_null(strpbrk(out.data, "<>&"));
        assert_null(strstr(out.data, "\xe2\x80\xa8"));
        assert_null(strstr(out.data, "\xe2\x80\xa9"));
        kf_auto(cJSON) again = cJSON_Parse(out.data);
        assert_non_null(again);
        assert_string_equal(cJSON_GetObjectItem(again, "text")->valuestring, texts[i]);
    }
}

static void a_page_is_whole(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autobuffer live = {0}, file = {0};
    kf_auto(cJSON) data = cJSON_CreateObject();
    assert_true(kf_page_render(NULL, NULL, &live, &error));
    assert_true(kf_page_render(data, data, &file, &error));
    assert_non_null(strstr(live.data, "connect-src 'self'"));
    assert_null(strstr(file.data, "connect-src"));
    assert_non_null(strstr(file.data, "id=\"data\">\n{}</script>"));
    assert_non_null(strstr(file.data, "id=\"details\">{}</script>\n</body>\n</html>\n"));
    assert_null(strstr(file.data, "{{"));
    assert_string_equal(kf_page_file("no such file"), "");
}

/* ---- the best so far ------------------------------------------------------------------------- */

static kf_store_attempt judged(int64_t candidate, double speedup, double half)
{
    static int64_t number;
    return (kf_store_attempt){.number = ++number,
                              .outcome = KF_ATTEMPT_JUDGED,
                              .message = "",
                              .proposer = "tuner",
                              .strategy = "tune",
                              .step = "tune",
                              .candidate = candidate,
                              .verdict = number,
                              .status = KF_CORRECT,
                              .speedup = {speedup, speedup - half, speedup + half},
                              .created = (double)number};
}

static const kf_best_step *last_step(const kf_best_so_far *best)
{
    assert_true(best->step_count > 0);
    return &best->steps[best->step_count - 1];
}

static void the_best_is_verified_first(void **state)
{
    (void)state;
    kf_best_so_far best = {0};
    kf_store_attempt a = judged(1, 9, 0.1);
    a.step = "baseline";
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(best.step_count, 0);
    a = judged(2, 2, 0.1);
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 2);
    /* A higher figure with a lower limit below is not better. */
    a = judged(3, 3, 2.5);
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 2);
    a = judged(4, 4, 0.1);
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 4);
    /* Measured again, candidate 2 is slower than 4 seems, but sure. */
    a = judged(2, 1.9, 0.1);
    a.outcome = KF_ATTEMPT_REVERIFIED;
    a.reverified = true;
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 2);
    assert_true(last_step(&best)->verified);
    /* A fault of the machine says nothing, and two measurements that disagree verify nothing. */
    a = judged(2, NAN, 0);
    a.outcome = KF_ATTEMPT_REVERIFIED;
    a.status = KF_JUDGE_ERROR;
    a.blame = KF_BLAME_MACHINE;
    assert_true(kf_best_so_far_add(&best, &a));
    a = judged(4, 4, 0.1);
    a.outcome = KF_ATTEMPT_REVERIFIED;
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 2);
    /* A later single measurement changes nothing. */
    a = judged(2, 7, 0.1);
    a.outcome = KF_ATTEMPT_KNOWN;
    size_t steps = best.step_count;
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(best.step_count, steps);
    /* Candidate 4 was wrong after all. */
    a = judged(4, NAN, NAN);
    a.outcome = KF_ATTEMPT_REVERIFIED;
    a.status = KF_WRONG_RESULT;
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 2);
    a = judged(2, NAN, NAN);
    a.outcome = KF_ATTEMPT_REVERIFIED;
    a.status = KF_CHEATING;
    assert_true(kf_best_so_far_add(&best, &a));
    assert_int_equal(last_step(&best)->candidate, 3);
    assert_false(last_step(&best)->verified);
    kf_best_so_far_clear(&best);
    assert_null(best.steps);
}

/* ---- differences ----------------------------------------------------------------------------- */

static void differences_are_unified(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_autofree char *same =
        kf_text_diff(&(kf_diff_side){"a", "x\n"}, &(kf_diff_side){"b", "x\n"}, 3, &error);
    assert_string_equal(same, "");
    kf_autofree char *other = kf_text_diff(&(kf_diff_side){"--help", "one\ntwo\nthree\n"},
                                           &(kf_diff_side){"c2", "one\n2\nthree\n"}, 1, &error);
    assert_string_equal(other, "--- --help\n+++ c2\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    /* Bytes that are no text are compared as text. */
    kf_autofree char *bytes = kf_text_diff(&(kf_diff_side){"a", "\x01\xff\n"},
                                           &(kf_diff_side){"b", "\x02\xfe"}, 0, &error);
    assert_non_null(strstr(bytes, "-\x01\xff\n+\x02\xfe\n\\ No newline at end of file"));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_cannot_leave_its_element),
        cmocka_unit_test(a_page_is_whole),
        cmocka_unit_test(the_best_is_verified_first),
        cmocka_unit_test(differences_are_unified),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
