/* What disturbs timing, read from files that stand for /proc and /sys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "noise.h"
#include "test_main.h"

#define CPU "/sys/devices/system/cpu/cpu0/"
#define COOLING "/sys/class/thermal/cooling_device"

static const kf_interval not_measured = {NAN, NAN, NAN};

static int set_up(void **state)
{
    *state = kf_directory_temporary("kforge-test-noise", NULL);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    kf_directory_remove(*state, NULL);
    free(*state);
    return 0;
}

static void put(const char *root, const char *path, const char *text)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    assert_true(kf_directory_make_above(whole, NULL));
    assert_true(kf_file_write(whole, text, strlen(text), NULL));
}

static kf_noise read_noise(const char *root, int processors)
{
    kf_noise noise;
    kf_noise_read(root, &noise);
    noise.processors = processors;
    return noise;
}

static void assert_words(const kf_noise *start, const kf_noise *now, kf_interval baseline,
                         const char *expected)
{
    kf_autobuffer text = {0};
    assert_int_equal(kf_noise_words(start, now, baseline, &text), expected != NULL);
    if (expected) assert_string_equal(text.data, expected);
}

static void a_quiet_machine_has_no_line(void **state)
{
    const char *root = *state;
    kf_noise noise = read_noise(root, 2);
    assert_true(isnan(noise.busy));
    assert_words(&noise, NULL, not_measured, NULL);
    put(root, "/proc/loadavg", "0.31 0.20 0.10 1/200 77\n");
    put(root, CPU "cpufreq/scaling_governor", "performance\n");
    noise = read_noise(root, 2);
    assert_words(&noise, &noise, (kf_interval){1.01, 0.97, 1.05}, NULL);
    /* The load of programs that have ended. */
    put(root, "/proc/loadavg", "9.31 0.20 0.10 1/200 77\n");
    noise = read_noise(root, 2);
    assert_words(&noise, NULL, not_measured, NULL);
    assert_words(NULL, NULL, not_measured, NULL);
}

static void each_disturbance_has_its_remedy(void **state)
{
    const char *root = *state;
    put(root, "/proc/loadavg", "24.03 20.10 9.55 27/400 77\n");
    kf_noise noise = read_noise(root, 2);
    assert_words(&noise, NULL, not_measured,
                 "timing is noisy: 24 other programs run on 2 processors; remedy: end other "
                 "programs, or measure longer with --seconds");
    noise = read_noise(root, 64);
    assert_words(&noise, NULL, not_measured, NULL);
    put(root, CPU "cpufreq/scaling_governor", "powersave\n");
    noise = read_noise(root, 64);
    assert_words(&noise, NULL, not_measured,
                 "timing is noisy: the frequency governor is powersave; remedy: cpupower "
                 "frequency-set -g performance");
    put(root, CPU "cpufreq/scaling_governor", "performance\n");
    put(root, CPU "thermal_throttle/core_throttle_count", "5\n");
    noise = read_noise(root, 64);
    put(root, CPU "thermal_throttle/core_throttle_count", "8\n");
    kf_noise later = read_noise(root, 64);
    assert_words(&noise, &later, not_measured,
                 "timing is noisy: the processor was too hot 3 times; remedy: cool the machine, or "
                 "run fewer programs");
    /* Of these 5 times nothing is known. */
    assert_words(&noise, NULL, not_measured, NULL);
    /* Cooling by a lower frequency is seen at once: of one processor, not of a fan. */
    put(root, COOLING "0/type", "Fan\n");
    put(root, COOLING "0/cur_state", "1\n");
    put(root, COOLING "1/type", "Processor\n");
    put(root, COOLING "1/cur_state", "0\n");
    put(root, COOLING "2/type", "intel_powerclamp\n");
    put(root, COOLING "2/cur_state", "-1\n");
    noise = read_noise(root, 64);
    assert_words(&noise, NULL, not_measured, NULL);
    put(root, COOLING "1/cur_state", "3\n");
    noise = read_noise(root, 64);
    assert_words(&noise, NULL, not_measured,
                 "timing is noisy: the processor is too hot and slowed down; remedy: cool the "
                 "machine, or run fewer programs");
    /* It is said once, also of a start at which it was cool. */
    assert_words(&later, &noise, not_measured,
                 "timing is noisy: the processor is too hot and slowed down; remedy: cool the "
                 "machine, or run fewer programs");
    put(root, COOLING "1/cur_state", "0\n");
    put(root, COOLING "3/type", "cpufreq-cpu4\n");
    put(root, COOLING "3/cur_state", "1\n");
    noise = read_noise(root, 64);
    assert_true(noise.slowed);
    assert_words(NULL, NULL, (kf_interval){1.68, 0.56, 6.23},
                 "timing is noisy: the baseline over itself is 1.7x [0.6, 6.2]; remedy: end other "
                 "programs, or measure longer with --seconds");
    assert_words(NULL, NULL, (kf_interval){1.2, 1.19, 1.21},
                 "timing is noisy: the baseline over itself is 1.20x [1.19, 1.21]; remedy: end "
                 "other programs, or measure longer with --seconds");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quiet_machine_has_no_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_disturbance_has_its_remedy, set_up, tear_down),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
