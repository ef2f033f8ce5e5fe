#include "test_main.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATTERNS = 64, MAX_CASES = 512 };

static const char *patterns[MAX_PATTERNS], *left_out[MAX_PATTERNS];
static size_t pattern_count, left_out_count, named_count;
static bool lists_only;

static bool has_case(const struct CMUnitTest *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0) return true;
    return false;
}

static bool is_named(const struct CMUnitTest *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < pattern_count; i++) {
        const char *pattern = patterns[i];
        bool exact = has_case(cases, count, pattern), glob = strpbrk(pattern, "*?[") != NULL;
        if (exact  ? strcmp(name, pattern) == 0
            : glob ? fnmatch(pattern, name, 0) == 0
                   : strstr(name, pattern) != NULL)
            return true;
    }
    for (size_t i = 0; i < left_out_count; i++)
        if (strcmp(name, left_out[i]) == 0) return false;
    return pattern_count == 0;
}

size_t test_count_named(const struct CMUnitTest *cases, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) found += is_named(cases, count, cases[i].name);
    named_count += found;
    return found;
}

int test_lists_only(void)
{
    return lists_only;
}

int test_group(const char *name, const struct CMUnitTest *cases, size_t count,
               CMFixtureFunction setup, CMFixtureFunction teardown)
{
    static struct CMUnitTest chosen[MAX_CASES];
    size_t chosen_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_named(cases, count, cases[i].name)) continue;
        if (chosen_count == MAX_CASES) {
            fprintf(stderr, "%s has more than %d cases: raise MAX_CASES in test_main.c\n", name,
                    MAX_CASES);
            return 1;
        }
        chosen[chosen_count++] = cases[i];
        if (lists_only) puts(cases[i].name);
    }
    named_count += chosen_count;
    if (lists_only || chosen_count == 0) return 0;
    return _cmocka_run_group_tests(name, chosen, chosen_count, setup, teardown);
}

/* Returns the concatenation of two texts, or NULL without room for it. */
static const char *keep_text(const char *first, const char *second, size_t second_length)
{
    static char kept[1 << 16];
    static size_t used;
    char *copy = kept + used;
    int length = snprintf(copy, sizeof kept - used, "%s%.*s", first, (int)second_length, second);
    if (length < 0 || (size_t)length >= sizeof kept - used) return NULL;
    used += (size_t)length + 1;
    return copy;
}

size_t test_cases_of_files(const char *label, const char *before, const char *behind,
                           CMUnitTestFunction function, struct CMUnitTest *cases, size_t room)
{
    char pattern[1024];
    glob_t files;
    size_t count = 0;
    snprintf(pattern, sizeof pattern, "%s*%s", before, behind);
    if (glob(pattern, 0, NULL, &files) != 0) return 0;
    for (size_t i = 0; i < files.gl_pathc && count < room; i++) {
        const char *path = files.gl_pathv[i], *text = path + strlen(before);
        const char *name = keep_text(label, text, strlen(text) - strlen(behind)),
                   *kept = keep_text("", path, strlen(path));
        if (!name || !kept) break;
        cases[count++] = (struct CMUnitTest){
            .name = name, .test_func = function, .initial_state = (void *)(uintptr_t)kept};
    }
    globfree(&files);
    return count;
}

static bool add_pattern(const char *pattern)
{
    if (pattern[0] == '-') {
        if (left_out_count == MAX_PATTERNS) return false;
        left_out[left_out_count++] = pattern + 1;
        return true;
    }
    if (pattern_count == MAX_PATTERNS) return false;
    patterns[pattern_count++] = pattern;
    return true;
}

int main(int argc, char **argv)
{
    static char from_environment[4096];
    const char *given = getenv("KFORGE_TEST_CASES");
    bool kept = true;
    snprintf(from_environment, sizeof from_environment, "%s", given ? given : "");
    for (char *save = NULL, *part = strtok_r(from_environment, " ", &save); part;
         part = strtok_r(NULL, " ", &save))
        kept = add_pattern(part) && kept;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0)
            lists_only = true;
        else
            kept = add_pattern(argv[i]) && kept;
    }
    if (!kept) {
        fprintf(stderr, "%s takes at most %d names of cases\n", argv[0], MAX_PATTERNS);
        return 2;
    }
    int status = test_program();
    if (status != 0 || named_count > 0) return status;
    fprintf(stderr, "%s has no case with that name; --list shows those that it has\n", argv[0]);
    return 1;
}
