/* The tuner: declarations, constraints, points, enumeration, local search against random search,
 * resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "tuner.h"
#include "tuner_internal.h"

#define GUARDED(name, value) "#ifndef " name "\n#define " name " " value "\n#endif\n"

static kf_tune_space *read_space(const char *source)
{
    kf_error error = {0};
    kf_tune_space *space = kf_tune_space_read(source, &error);
    if (!space) fail_msg("%s", error.text);
    return space;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void reads_what_is_declared(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(
        "// kforge: tune BLOCK 64 128 256\r\n"
        "  //kforge: tune TILE 1, 2, 4\n"
        "// kforge: flags -maxrregcount=64 | --use_fast_math -O3 |\n"
        "// kforge: require BLOCK * TILE <= 512\n"
        "/*\n// kforge: tune NOT 1 2\n*/\n"
        "const char *s = \"\\\n// kforge: tune NEITHER 1 2\\\n\";\n"
        "int x; // kforge: nonsense behind code is a remark\n" GUARDED("BLOCK", "256 /* threads */")
            GUARDED("TILE", "(2*4)"));
    assert_int_equal(kf_tune_space_axes(space), 3);
    kf_tune_point point;
    char text[200];
    kf_tune_point_default(space, &point);
    kf_tune_point_describe(space, &point, text, sizeof text);
    /* 256 * 8 breaks the constraint, so the nearest valid point is taken. */
    assert_true(kf_tune_point_valid(space, &point));
    assert_string_equal(text, "BLOCK=256 TILE=2 []");
    bool exact;
    /* 64 allows 1 2 4 8, 128 allows 1 2 4, 256 allows 1 2, all with three sets of flags */
    assert_true(kf_tune_space_size(space, &exact) == 27 && exact);
}

static void a_source_without_any_is_one_point(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space("__global__ void k() {}\n");
    bool exact;
    assert_true(kf_tune_space_size(space, &exact) == 1 && exact);
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 1, 100);
    kf_tune_point point;
    char *flags[KF_MAX_TUNE_FLAGS];
    assert_true(kf_tuner_next(tuner, &point));
    assert_int_equal(kf_tune_point_flags(space, &point, flags, NULL), 0);
    assert_false(kf_tuner_next(tuner, &point));
}

static void refuses_with_the_line(void **state)
{
    (void)state;
    kf_autobuffer many_values = {0}, many_tunables = {0};
    kf_buffer_string(&many_values, "// kforge: tune A");
    for (int i = 0; i < 33; i++) kf_buffer_format(&many_values, " %d", i);
    for (int i = 0; i < 17; i++)
        kf_buffer_format(&many_tunables,
                         "// kforge: tune A%d 1 2\n#ifndef A%d\n#define A%d 1\n#endif\n", i, i, i);
    const struct {
        const char *source, *expected;
    } rows[] = {
        {"\n// kforge: tune\n", "line 2: `kforge: tune` needs a name"},
        {"// kforge: tune 8 16\n", "needs a name"},
        {"// kforge: tune A\n", "line 1: the tunable A has no values"},
        {"// kforge: tune A 1 two\n", "line 1: the value \"two\" of A is not an integer"},
        {"// kforge: tune A 1 99999999999999999999\n", "not an integer"},
        {"// kforge: tune A 1 2 1\n", "line 1: the value 1 of A is listed twice"},
        {"// kforge: tune A 1 2\n\n// kforge: tune A 4\n",
         "line 3: the tunable A is already declared at line 1"},
        {many_values.data, "more than 32 values"},
        {many_tunables.data, "more than 16 tunables"},
        {"// kforge: tun A 1\n", "line 1: unknown declaration `kforge: tun`; did you mean tune"},
        {"// kforge: tune A 1 2\n", "line 1: the tunable A has no #define; add #ifndef A"},
        {"// kforge: tune A 1 2\n// #ifndef A\n// #define A 1\n", "has no #define"},
        {"// kforge: tune A 1 2\n#define A 1\n",
         "line 2: the #define of the tunable A is not guarded"},
        {"// kforge: tune BLOCK 1 2\n" GUARDED("BLOCK", "1") "// kforge: require BLOK > 1\n",
         "line 5: BLOK is not a tunable of this source; did you mean BLOCK?"},
        {"// kforge: require 1 < 2\n", "line 1: the constraint names no tunable"},
        {"// kforge: tune A 1 2\n" GUARDED("A", "1") "// kforge: require A >\n",
         "line 5: in `kforge: require`"},
        {"// kforge: tune A 1 2\n" GUARDED("A", "1") "// kforge: require A > 2\n",
         "line 5: no values of the tunables satisfy `A > 2`"},
        {"// kforge: tune A 1 2\n" GUARDED(
             "A", "1") "// kforge: require A > 1\n// kforge: require A < 2\n",
         "line 6: no values of the tunables satisfy `A < 2` together with the constraints above "
         "it"},
        {"// kforge: tune A 0 0x10\n" GUARDED("A", "0") "// kforge: require 64 % A == 1\n",
         "no values of the tunables satisfy"},
        {"// kforge: flags -O3 | rm\n",
         "line 1: in `kforge: flags`: \"rm\" is not a plain compiler flag"},
        {"// kforge: flags -O3;reboot\n", "not a plain compiler flag"},
        {"// kforge: flags -DA=\"x\"\n", "not a plain compiler flag"},
        {"// kforge: flags -O3 | -O3\n", "is listed twice"},
        {"// kforge: flags -a -b -c -d -e -f -g -h -i\n", "more than 8 flags"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_auto(kf_tune_space) space = kf_tune_space_read(rows[i].source, &error);
        assert_null(space);
        if (!strstr(error.text, rows[i].expected))
            fail_msg("row %zu: \"%s\" does not say \"%s\"", i, error.text, rows[i].expected);
    }
}

static void impossible_constraints_are_found_quickly(void **state)
{
    (void)state;
    kf_autobuffer source = {0};
    for (int i = 0; i < 16; i++) {
        kf_buffer_format(&source, "// kforge: tune A%d", i);
        for (int v = 0; v < 32; v++) kf_buffer_format(&source, " %d", v);
        kf_buffer_format(&source, "\n#ifndef A%d\n#define A%d 0\n#endif\n", i, i);
    }
    size_t declared = source.size;
    kf_buffer_string(&source, "// kforge: require A0 + A15 == 100\n");
    kf_error error;
    assert_null(kf_tune_space_read(source.data, &error));
    assert_non_null(strstr(error.text, "no values of the tunables satisfy `A0 + A15 == 100`"));
    /* 32^16 points, of which those with A0 = A15 remain. They are counted without a walk. */
    source.size = declared;
    kf_buffer_string(&source, "// kforge: require A0 == A15\n");
    kf_auto(kf_tune_space) space = read_space(source.data);
    bool exact;
    double size = kf_tune_space_size(space, &exact);
    assert_true(exact);
    assert_true(fabs(size / pow(32, 15) - 1) < 1e-12);
    /* Impossible, but known only after all 32^16 points: the search gives up in bounded time. */
    source.size = declared;
    kf_buffer_string(
        &source,
        "// kforge: require A0+A1+A2+A3+A4+A5+A6+A7+A8+A9+A10+A11+A12+A13+A14+A15 == 497\n");
    clock_t start = clock();
    assert_null(kf_tune_space_read(source.data, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
}

static void a_large_group_is_estimated(void **state)
{
    (void)state;
    kf_autobuffer source = {0};
    kf_buffer_string(&source, "// kforge: require A0 + A1 + A2 + A3 + A4 + A5 <= 60\n");
    for (int i = 0; i < 6; i++) {
        kf_buffer_format(&source, "// kforge: tune A%d", i);
        for (int v = 0; v < 20; v++) kf_buffer_format(&source, " %d", v);
        kf_buffer_format(&source, "\n#ifndef A%d\n#define A%d 0\n#endif\n", i, i);
    }
    double ways[121] = {1}; /* by convolution */
    for (int i = 0; i < 6; i++) {
        double next[121] = {0};
        for (int s = 0; s <= 120; s++)
            for (int v = 0; v < 20 && s + v <= 120; v++) next[s + v] += ways[s];
        memcpy(ways, next, sizeof ways);
    }
    double truth = 0;
    for (int s = 0; s <= 60; s++) truth += ways[s];
    kf_auto(kf_tune_space) space = read_space(source.data);
    bool exact;
    double size = kf_tune_space_size(space, &exact);
    assert_false(exact);
    assert_true(fabs(size / truth - 1) < 0.05);
}

/* ---- points ---------------------------------------------------------------------------------- */

static const char two_axes[] =
    "// kforge: tune BLOCK 64 128 256\n"
    "// kforge: tune UNROLL 1 2 4\n"
    "// kforge: flags -maxrregcount=64 | --use_fast_math |\n" GUARDED("UNROLL", "2 // times")
        GUARDED("BLOCK", "32");

static void points_become_flags_text_and_source(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(two_axes);
    kf_tune_point point, again;
    kf_error error;
    assert_true(kf_tune_point_parse(space, "BLOCK=128 UNROLL=4 [--use_fast_math]", &point, &error));
    char text[100], *flags[KF_MAX_TUNE_FLAGS];
    kf_tune_point_describe(space, &point, text, sizeof text);
    assert_string_equal(text, "BLOCK=128 UNROLL=4 [--use_fast_math]");
    assert_int_equal(kf_tune_point_flags(space, &point, flags, &error), 3);
    assert_string_equal(flags[0], "-DBLOCK=128");
    assert_string_equal(flags[1], "-DUNROLL=4");
    assert_string_equal(flags[2], "--use_fast_math");
    for (int i = 0; i < 3; i++) free(flags[i]);
    kf_autofree char *source = kf_tune_point_apply(space, &point, two_axes, &error);
    assert_non_null(strstr(source, "#define UNROLL 4 // times\n"));
    assert_non_null(strstr(source, "#define BLOCK 128\n"));
    kf_auto(kf_tune_space) tuned = read_space(source);
    kf_tune_point_default(tuned, &again);
    kf_tune_point_describe(tuned, &again, text, sizeof text);
    assert_string_equal(text, "BLOCK=128 UNROLL=4 []");
    assert_null(kf_tune_point_apply(space, &point, "another", &error));
    const char *const wrong[] = {"",
                                 "BLOCK=128",
                                 "BLOCK=100 UNROLL=4 []",
                                 "BLOCK=128 UNROLL=4 [-O9]",
                                 "BLOCK=128 UNROLL=4 [] x",
                                 "UNROLL=4 BLOCK=128 []"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(kf_tune_point_parse(space, wrong[i], &again, &error));
    char tiny[6];
    kf_tune_point_describe(space, &point, tiny, sizeof tiny);
    assert_string_equal(tiny, "BLOCK");
}

static void small_spaces_are_enumerated(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(two_axes);
    char orders[2][4000] = {"", ""};
    for (int run = 0; run < 2; run++) {
        kf_auto(kf_tuner) tuner = kf_tuner_new(space, 7 + (uint64_t)run, 1000);
        kf_tune_point point;
        int count = 0;
        char text[100];
        while (kf_tuner_next(tuner, &point)) {
            kf_tune_point_describe(space, &point, text, sizeof text);
            /* the defaults: 32 was added to the values */
            if (count == 0) assert_string_equal(text, "BLOCK=32 UNROLL=2 []");
            assert_null(strstr(orders[run], text));
            strcat(strcat(orders[run], text), ";");
            assert_true(kf_tune_point_valid(space, &point));
            count++;
        }
        assert_int_equal(count, 4 * 3 * 3);
    }
    assert_string_not_equal(orders[0], orders[1]);
}

/* ---- flags that the caller adds -------------------------------------------------------------- */

static void add_flags(kf_tune_space *space, const char *alternatives)
{
    kf_error error = {0};
    if (!kf_tune_space_add_flags(space, alternatives, &error)) fail_msg("%s", error.text);
}

/* The best value of A is 4, the best flags are those at index 2, and they help least at other
 * values. */
static double flag_score(const kf_tune_space *space, const kf_tune_point *point)
{
    char text[200];
    kf_tune_point_describe(space, point, text, sizeof text);
    double score = strstr(text, "A=4") ? 2 : 1;
    if (strstr(text, "[-O1]")) return NAN;
    if (strstr(text, "[-O2]")) score *= 1.5;
    return strstr(text, "[--use_fast_math]") ? score * 1.1 : score;
}

#define FLAGGED "// kforge: tune A 1 2 4 8\n" GUARDED("A", "1")

static void added_flags_are_tried_at_the_best_point(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(FLAGGED);
    add_flags(space, "| -O1 | -O2");
    add_flags(space, "| --use_fast_math");
    assert_true(kf_tune_space_size(space, NULL) == 24);
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 5, 64);
    /* with the same history, without new points */
    kf_auto(kf_tuner) resumed = kf_tuner_new(space, 5, 64);
    kf_tune_point point, again;
    double best = 0;
    int handed = 0;
    for (; kf_tuner_next(tuner, &point); handed++) {
        char text[200];
        kf_tune_point_describe(space, &point, text, sizeof text);
        /* The source's own axes come first. Defaults are not spelled out. */
        if (handed < 4) assert_null(strchr(text, '['));
        if (handed >= 4) assert_true(strncmp(text, "A=4 [", 5) == 0);
        assert_true(kf_tune_point_parse(space, text, &again, NULL));
        assert_memory_equal(&again, &point, sizeof point);
        double score = flag_score(space, &point);
        if (score > best) best = score;
        kf_tuner_report(tuner, &point, score);
        kf_tuner_report(resumed, &point, score);
    }
    assert_true(best == 2 * 1.5 * 1.1);
    assert_in_range(handed, 4 + 3, 4 + 5);
    assert_false(kf_tuner_next(resumed, &point));
}

static void added_flags_wait_for_all_points(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(FLAGGED);
    add_flags(space, "| -O2");
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 5, 64);
    kf_tune_point points[4], point;
    for (int i = 0; i < 4; i++) assert_true(kf_tuner_next(tuner, &points[i]));
    for (int i = 0; i < 4; i++) {
        assert_false(kf_tuner_next(tuner, &point));
        kf_tuner_report(tuner, &points[i], flag_score(space, &points[i]));
    }
    assert_true(kf_tuner_next(tuner, &point));
    char text[200];
    kf_tune_point_describe(space, &point, text, sizeof text);
    assert_string_equal(text, "A=4 [-O2]");
}

static void flags_mend_nothing_that_never_worked(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space("__global__ void k() {}\n");
    add_flags(space, "| -O2");
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 5, 64);
    kf_tune_point point;
    assert_true(kf_tuner_next(tuner, &point));
    kf_tuner_report(tuner, &point, NAN);
    assert_false(kf_tuner_next(tuner, &point));
}

static void what_the_source_sets_itself_is_left_alone(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space("// kforge: flags -maxrregcount=64 |\n");
    add_flags(space, "| -maxrregcount=32");
    assert_int_equal(kf_tune_space_axes(space), 1);
    add_flags(space, "| --use_fast_math");
    assert_int_equal(kf_tune_space_axes(space), 2);
    kf_error error = {0};
    assert_false(kf_tune_space_add_flags(space, "| not-a-flag", &error));
    assert_int_equal(kf_tune_space_axes(space), 2);
}

/* ---- search on synthetic landscapes ---------------------------------------------------------- */

#define AXES 8
#define VALUES 8

/* 8 axes of 8 values, 16.8 million points, fewer with constraints. */
static kf_tune_space *landscape_space(const char *constraints)
{
    kf_autobuffer source = {0};
    kf_buffer_string(&source, constraints);
    for (int i = 0; i < AXES; i++) {
        kf_buffer_format(&source, "// kforge: tune A%d", i);
        for (int v = 0; v < VALUES; v++) kf_buffer_format(&source, " %d", 1 << v);
        kf_buffer_format(&source, "\n#ifndef A%d\n#define A%d 1\n#endif\n", i, i);
    }
    return read_space(source.data);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Like measured speedups: smooth along each axis around an optimum that the seed places, two
 * pairs of axes that interact, a ripple of 3 % that makes local optima, and a tenth of the
 * points that fail to build. 1.0 at the optimum. */
static double landscape(const kf_tune_point *point, uint64_t seed)
{
    double score = 1;
    uint64_t all = seed;
    bool optimum = true;
    for (int i = 0; i < AXES; i++) {
        int best = (int)(mix(seed * 64 + (uint64_t)i) % VALUES), off = point->index[i] - best;
        score -= 0.015 * off * off;
        if (i % 4 == 1)
            score -=
                0.02 *
                abs(off + (point->index[i - 1] - (int)(mix(seed * 64 + (uint64_t)i - 1) % VALUES)));
        all = mix(all * 31 + point->index[i]);
        optimum &= off == 0;
    }
    if (optimum) return 1;
    if (all % 10 == 0) return NAN;
    return score - 0.03 * (double)(all % 1000) / 1000;
}

/* Returns the best score under the constraints, without the ripple. Axes interact only within
 * (0, 1), (2, 3), …, and so do the constraints here. */
static double best_possible(const kf_tune_space *space, uint64_t seed)
{
    double loss = 0;
    kf_tune_point first;
    kf_tune_point_default(space, &first);
    for (int axis = 0; axis < AXES; axis += 2) {
        double least = INFINITY;
        for (int pair = 0; pair < VALUES * VALUES; pair++) {
            kf_tune_point point = first;
            point.index[axis] = (uint8_t)(pair / VALUES);
            point.index[axis + 1] = (uint8_t)(pair % VALUES);
            if (!kf_tune_point_valid(space, &point)) continue;
            int off[2];
            for (int k = 0; k < 2; k++)
                off[k] =
                    point.index[axis + k] - (int)(mix(seed * 64 + (uint64_t)(axis + k)) % VALUES);
            double here = 0.015 * (off[0] * off[0] + off[1] * off[1]) +
                          (axis % 4 == 0 ? 0.02 * abs(off[0] + off[1]) : 0);
            if (here < least) least = here;
        }
        loss += least;
    }
    return 1 - loss;
}

static double best_of_tuner(const kf_tune_space *space, uint64_t seed, int budget, int in_flight)
{
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, seed, 1000);
    kf_tune_point queue[8];
    int waiting = 0;
    double best = -INFINITY;
    for (int used = 0; used < budget || waiting;) {
        while (waiting < in_flight && used < budget && kf_tuner_next(tuner, &queue[waiting])) {
            assert_true(kf_tune_point_valid(space, &queue[waiting]));
            waiting++, used++;
        }
        if (!waiting) break;
        int done = (int)(mix((uint64_t)used) % (uint64_t)waiting); /* out of order */
        double score = landscape(&queue[done], seed);
        kf_tuner_report(tuner, &queue[done], score);
        if (score > best) best = score;
        queue[done] = queue[--waiting];
    }
    return best;
}

/* Returns the best of random valid points, drawn by rejection. */
static double best_of_random(const kf_tune_space *space, uint64_t seed, int budget)
{
    double best = -INFINITY;
    uint64_t random = ~seed << 20;
    for (int used = 0; used < budget;) {
        kf_tune_point point = {{0}};
        for (int i = 0; i < AXES; i++) point.index[i] = (uint8_t)(mix(random++) % VALUES);
        if (!kf_tune_point_valid(space, &point)) continue;
        used++;
        double score = landscape(&point, seed);
        if (score > best) best = score;
    }
    return best;
}

static void beats_random_search(void **state)
{
    (void)state;
    const struct {
        const char *constraints;
        int in_flight;
    } rows[] = {{"", 1},
                {"", 8},
                {"// kforge: require A0 * A1 >= 8\n// kforge: require A2 * A3 <= 1024\n", 1},
                {"// kforge: require A0 * A1 == 128\n", 1}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        kf_auto(kf_tune_space) space = landscape_space(rows[row].constraints);
        double tuned = 0, random = 0, optimum = 0;
        int wins = 0;
        for (uint64_t seed = 1; seed <= 50; seed++) {
            double a = best_of_tuner(space, seed, 200, rows[row].in_flight),
                   b = best_of_random(space, seed, 200);
            tuned += a / 50, random += b / 50, optimum += best_possible(space, seed) / 50;
            wins += a > b;
        }
        print_message(
            "row %zu: tuner %.3f, random %.3f, optimum without ripple %.3f, wins %d of 50\n", row,
            tuned, random, optimum, wins);
        assert_true(wins >= 45);
        assert_true(optimum - tuned < (optimum - random) / 3);
    }
}

static void reaches_the_known_optimum(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = landscape_space("");
    int reached = 0, by_random = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        reached += best_of_tuner(space, seed, 600, 1) == 1.0;
        by_random += best_of_random(space, seed, 600) == 1.0;
    }
    print_message("optimum of 16.8 million points reached in 600: tuner %d of 50, random %d\n",
                  reached, by_random);
    assert_true(reached >= 35);
    assert_true(by_random == 0);
}

/* ---- resuming -------------------------------------------------------------------------------- */

static void resuming_equals_going_on(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = landscape_space("// kforge: require A0 * A1 >= 8\n");
    const size_t exhaustive[] = {1000};
    for (size_t mode = 0; mode < sizeof exhaustive / sizeof *exhaustive; mode++) {
        static kf_tune_point history[300];
        kf_auto(kf_tuner) whole = kf_tuner_new(space, 3, exhaustive[mode]);
        for (int i = 0; i < 300; i++) {
            assert_true(kf_tuner_next(whole, &history[i]));
            kf_tuner_report(whole, &history[i], landscape(&history[i], 3));
        }
        for (int cut = 0; cut < 300; cut += 37) {
            kf_auto(kf_tuner) resumed = kf_tuner_new(space, 3, exhaustive[mode]);
            for (int i = 0; i < cut; i++)
                kf_tuner_report(resumed, &history[i], landscape(&history[i], 3));
            for (int i = cut; i < 300; i++) {
                kf_tune_point point;
                assert_true(kf_tuner_next(resumed, &point));
                assert_memory_equal(&point, &history[i], sizeof point);
                kf_tuner_report(resumed, &point, landscape(&point, 3));
            }
        }
    }
}

/* With several points outstanding, some for long, a stored history leads to the same next point
 * at any cut. */
static void resuming_with_points_outstanding(void **state)
{
    (void)state;
    enum { POINTS = 400, OUTSTANDING = 6 };
    static const char *const extras[] = {"// kforge: require A0 * A1 >= 8\n",
                                         "// kforge: flags -O3 | --use_fast_math\n"};
    for (size_t kind = 0; kind < 2; kind++) {
        kf_auto(kf_tune_space) space = landscape_space(extras[kind]);
        static kf_tune_point handed[POINTS];
        /* the order of reports with OUTSTANDING points out: all but every thirteenth */
        static int order[POINTS];
        kf_auto(kf_tuner) whole = kf_tuner_new(space, 3, 1000);
        uint64_t random = 17;
        int out[OUTSTANDING], count = 0, reported = 0;
        for (int i = 0; i < POINTS; i++) {
            assert_true(kf_tuner_next(whole, &handed[i]));
            out[count++] = i;
            if (count < OUTSTANDING) continue;
            int which = (int)kf_tune_below(&random, OUTSTANDING), point = out[which];
            memmove(out + which, out + which + 1, (size_t)(--count - which) * sizeof *out);
            order[reported++] = point;
            if (point % 13) kf_tuner_report(whole, &handed[point], landscape(&handed[point], 3));
        }
        for (int cut = 20; cut < POINTS; cut += 29) {
            kf_auto(kf_tuner) resumed = kf_tuner_new(space, 3, 1000);
            for (int i = 0; i < POINTS; i++) {
                kf_tune_point point;
                if (i < cut) {
                    assert_true(kf_tuner_handed_out(resumed, &handed[i]));
                    assert_false(kf_tuner_handed_out(resumed, &handed[i]));
                } else {
                    assert_true(kf_tuner_next(resumed, &point));
                    assert_memory_equal(&point, &handed[i], sizeof point);
                }
                int due = i - OUTSTANDING + 1;
                if (due >= 0 && order[due] % 13)
                    kf_tuner_report(resumed, &handed[order[due]],
                                    landscape(&handed[order[due]], 3));
            }
        }
    }
}

static void never_the_same_point_twice(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = landscape_space("");
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 11, 1000);
    static kf_tune_point seen[1500];
    int count = 0;
    /* Every fifth point is never reported. Reports of other points come in between, some twice. */
    while (count < 1500 && kf_tuner_next(tuner, &seen[count])) {
        for (int i = 0; i < count; i++)
            assert_memory_not_equal(&seen[i], &seen[count], sizeof seen[0]);
        if (count % 5) kf_tuner_report(tuner, &seen[count], landscape(&seen[count], 11));
        if (count % 7 == 0) kf_tuner_report(tuner, &seen[count / 2], 5);
        count++;
    }
    assert_true(count > 200);
    kf_tune_point outside = {{255}};
    /* It is ignored. */
    kf_tuner_report(tuner, &outside, 1e9);
}

static void ends_when_everything_is_known_or_converged(void **state)
{
    (void)state;
    kf_auto(kf_tune_space) space = read_space(two_axes);
    /* 36 points are too many for 4: local search */
    kf_auto(kf_tuner) tuner = kf_tuner_new(space, 1, 4);
    kf_tune_point point;
    int count = 0;
    while (count < 100 && kf_tuner_next(tuner, &point)) {
        /* No point ever works. */
        kf_tuner_report(tuner, &point, NAN);
        count++;
    }
    assert_in_range(count, 20, 36);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_flags_are_tried_at_the_best_point),
        cmocka_unit_test(added_flags_wait_for_all_points),
        cmocka_unit_test(flags_mend_nothing_that_never_worked),
        cmocka_unit_test(what_the_source_sets_itself_is_left_alone),
        cmocka_unit_test(reads_what_is_declared),
        cmocka_unit_test(a_source_without_any_is_one_point),
        cmocka_unit_test(refuses_with_the_line),
        cmocka_unit_test(impossible_constraints_are_found_quickly),
        cmocka_unit_test(a_large_group_is_estimated),
        cmocka_unit_test(points_become_flags_text_and_source),
        cmocka_unit_test(small_spaces_are_enumerated),
        cmocka_unit_test(beats_random_search),
        cmocka_unit_test(reaches_the_known_optimum),
        cmocka_unit_test(resuming_equals_going_on),
        cmocka_unit_test(resuming_with_points_outstanding),
        cmocka_unit_test(never_the_same_point_twice),
        cmocka_unit_test(ends_when_everything_is_known_or_converged),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
