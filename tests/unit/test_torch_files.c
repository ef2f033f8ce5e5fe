/* Judges the Python solutions under tests/torch/{bad,honest,hostile}, a case each, with the
 * ordinary judge on the CPU device (torch_cases.h). ctest runs each as corpus.torch.FOLDER.NAME.
 * Timed solutions run while no other test does. Skipped with a message without PyTorch. */
#include "torch_cases.h"

enum { MIN_FILES = 60, MAX_FILES = 256 };

static void file_is_judged_as_it_says(void **state)
{
    char folder[64];
    const char *path = (const char *)*state + strlen(DATA), *slash = strchr(path, '/');
    assert_non_null(slash);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    size_t size;
    kf_error error = {0};
    kf_autofree char *source = kf_file_read(*state, KF_SOURCE_BYTES, &size, &error);
    if (!source) fail_msg("%s", error.text);
    int judged = 0;
    assert_int_equal(judge_file(folder, slash + 1, is_timed(source), &judged), 0);
    assert_int_equal(judged, 1);
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
    int status = test_lists_only() ? 0 : open_torch_judge("");
    if (status) return status;
    status = test_group("files", tests, count, NULL, NULL);
    kf_judge_free(judge);
    return results_unread ? 77 : status;
}
