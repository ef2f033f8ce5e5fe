/* The main function of all unit programs (test_main.c). A program runs all of its cases or some.
 *
 *   test_NAME            all cases
 *   test_NAME TEXT…      the case named TEXT, else all cases with TEXT in their names. TEXT may be
 *                        a pattern with * and ?
 *   test_NAME -CASE…     all cases but those named CASE, unless a TEXT is given, too
 *   test_NAME --list     prints the names
 *
 * $KFORGE_TEST_CASES holds further TEXTs, separated by blanks. `./run test unit.NAME/TEXT` sets it.
 * A program without a matching case fails. */
#ifndef KFORGE_TESTS_TEST_MAIN_H
#define KFORGE_TESTS_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs the program's groups and returns its exit status (77: skipped). Each program defines it. */
int test_program(void);

/* Runs the cases that the arguments name, with the group's fixtures around them, or lists them.
 * Returns how many failed. */
int test_group(const char *name, const struct CMUnitTest *cases, size_t count,
               CMFixtureFunction setup, CMFixtureFunction teardown);

/* Counts the cases that the arguments name. Only a program that runs its groups in processes of
 * their own needs it. */
size_t test_count_named(const struct CMUnitTest *cases, size_t count);

/* True if the cases are to be listed only. */
int test_lists_only(void);

/* Makes a case of each file BEFORE*BEHIND. Its name is `label` and the text that * matches. Its
 * initial state is the file's path. Returns the number of cases, at most `room`. test_main.c owns
 * the texts. */
size_t test_cases_of_files(const char *label, const char *before, const char *behind,
                           CMUnitTestFunction function, struct CMUnitTest *cases, size_t room);

#define TEST_GROUP(cases, setup, teardown) \
    test_group(#cases, cases, sizeof(cases) / sizeof *(cases), setup, teardown)

#endif
