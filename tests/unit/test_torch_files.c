/* Judges the Python solutions under tests/torch/{bad,honest,hostile}, a case each, with the
 * ordinary judge on the CPU device (torch_cases.h). ctest runs each as corpus.torch.FOLDER.NAME.
 * Timed solutions run while no other test does. Skipped with a message without PyTorch.
 *
 * Most of a judgement is the start of PyTorch, and a judge reuses the runners of its baselines and
 * oracles. So corpus.torch_together.FOLDER judges the untimed files of a folder in one process.
 * With $KFORGE_TORCH_TOGETHER the program leaves out timed files. */
#include "torch_cases.h"

enum { MIN_FILES = 60, MAX_FILES = 256 };

/* Timed files are left out. */
static bool untimed_only;

/* Opens the judge for the first file that needs it. Skips the test without PyTorch. */
static void open_judge_once(void)
{
    int status = judge ? 0 : open_torch_judge("");
    if (status == 77) {
        results_unread = true;
        skip();
    }
    assert_int_equal(status, 0);
}

/* Chance decides if one measurement finds what shows in watched batches only. */
static int most_tries(const char *folder, const char *source)
{
    return strcmp(folder, "hostile") == 0 && is_timed(source) ? 3 : 1;
}

static void file_is_judged_as_it_says(void **state)
{
    char folder[64];
    const char *path = (const char *)*state + strlen(DATA), *slash = strchr(path, '/');
    assert_non_null(slash);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    open_judge_once();
    size_t size;
    kf_error error = {0};
    kf_autofree char *source = kf_file_read(*state, KF_SOURCE_BYTES, &size, &error);
    if (!source) fail_msg("%s", error.text);
    int judged = 0;
    if (untimed_only && is_timed(source)) return;
    int tries = 0, wrong;
    do {
        wrong = judge_file(folder, slash + 1, is_timed(source), &judged);
        assert_int_equal(judged, ++tries);
    } while (wrong && tries < most_tries(folder, source));
    assert_int_equal(wrong, 0);
}

int test_program(void)
{
    static const struct {
        const char *label, *before;
    } folders[] = {
        {"bad.", DATA "bad/"}, {"honest.", DATA "honest/"}, {"hostile.", DATA "hostile/"}};
    static struct CMUnitTest tests[MAX_FILES];
    size_t count = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        count += test_cases_of_files(folders[i].label, folders[i].before, ".py",
                                     file_is_judged_as_it_says, tests + count, MAX_FILES - count);
    if (count < MIN_FILES) {
        fprintf(stderr, "%zu files under " DATA ", expected %d\n", count, MIN_FILES);
        return 1;
    }
    untimed_only = getenv("KFORGE_TORCH_TOGETHER") != NULL;
    int status = test_group("files", tests, count, NULL, NULL);
    if (judge) kf_judge_free(judge);
    return results_unread ? 77 : status;
}
