/* Judges the Python solutions under tests/torch/{bad,honest,hostile}, a case each, with the
 * ordinary judge on the CPU device (torch_cases.h). ctest runs each as corpus.torch.FOLDER.NAME.
 * Timed solutions run while no other test does. Skipped with a message without PyTorch.
 *
 * Most of a judgement is the start of PyTorch, and a judge reuses the runners of its baselines and
 * oracles. So corpus.torch_together.FOLDER ($KFORGE_TORCH_TOGETHER is FOLDER) judges the untimed
 * files of a folder in one process, and lists those that passed in torch_passed.FOLDER. The test of
 * a file in this list has passed, if the same ctest made the list. Otherwise it judges its file. */
#include "torch_cases.h"

#include <unistd.h>

enum { MIN_FILES = 60, MAX_FILES = 256 };

/* The list that this process makes. NULL: it makes no list. */
static FILE *passed_list;

/* Writes the process id and the start of the parent, which together name one ctest. */
static void name_of_parent(char *name, size_t size)
{
    char path[64], line[1024] = "";
    long parent = (long)getppid();
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", parent);
    kf_autofclose FILE *stat = fopen(path, "re");
    const char *at = stat && fgets(line, sizeof line, stat) ? strrchr(line, ')') : NULL;
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    if (at) start = strtoull(at, NULL, 10);
    snprintf(name, size, "ctest %ld %llu", parent, start);
}

static FILE *open_list(const char *folder, const char *mode)
{
    const char *root = getenv("KFORGE_ROOT");
    char path[512];
    snprintf(path, sizeof path, "%s/tests/torch_passed.%s", root ? root : ".", folder);
    return fopen(path, mode);
}

/* True if `name`, which is FOLDER.FILE, has passed together with others in this run of ctest. */
static bool has_passed(const char *name)
{
    char folder[64], parent[64], line[256];
    snprintf(folder, sizeof folder, "%.*s", (int)strcspn(name, "."), name);
    name_of_parent(parent, sizeof parent);
    kf_autofclose FILE *list = open_list(folder, "re");
    bool ours = false, passed = false;
    for (int i = 0; list && !passed && fgets(line, sizeof line, list); i++) {
        line[strcspn(line, "\n")] = '\0';
        if (i == 0) ours = strcmp(line, parent) == 0;
        passed = ours && strcmp(line, name) == 0;
    }
    return passed;
}

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
    char folder[64], name[256];
    const char *path = (const char *)*state + strlen(DATA), *slash = strchr(path, '/');
    assert_non_null(slash);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    snprintf(name, sizeof name, "%s.%.*s", folder, (int)strcspn(slash + 1, "."), slash + 1);
    if (!passed_list && has_passed(name)) {
        printf("passed in corpus.torch_together.%s\n", folder);
        return;
    }
    open_judge_once();
    size_t size;
    kf_error error = {0};
    kf_autofree char *source = kf_file_read(*state, KF_SOURCE_BYTES, &size, &error);
    if (!source) fail_msg("%s", error.text);
    int judged = 0;
    if (passed_list && is_timed(source)) return;
    int tries = 0, wrong;
    do {
        wrong = judge_file(folder, slash + 1, is_timed(source), &judged);
        assert_int_equal(judged, ++tries);
    } while (wrong && tries < most_tries(folder, source));
    assert_int_equal(wrong, 0);
    if (!passed_list || results_unread) return;
    fprintf(passed_list, "%s\n", name);
    fflush(passed_list);
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
    const char *together = getenv("KFORGE_TORCH_TOGETHER");
    if (together) {
        char parent[64];
        name_of_parent(parent, sizeof parent);
        if (!(passed_list = open_list(together, "we"))) {
            fprintf(stderr, "torch_passed.%s cannot be written in the build folder\n", together);
            return 1;
        }
        fprintf(passed_list, "%s\n", parent);
    }
    int status = test_group("files", tests, count, NULL, NULL);
    if (judge) kf_judge_free(judge);
    if (passed_list) fclose(passed_list);
    return results_unread ? 77 : status;
}
