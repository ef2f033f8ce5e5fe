/* Shared by the tests of the judge on whole candidates: test_judge.c, which looks at no times, and
 * test_judge_timed.c, which runs alone. */
#ifndef TEST_JUDGE_COMMON_H
#define TEST_JUDGE_COMMON_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leak_snapshot.h"
#include "kforge/file.h"
#include "kforge/judge.h"

static kf_judge *judge;
static kf_leak_snapshot *before;
static char *folder; /* $TMPDIR */

static inline kf_job *job_of(const char *task_path, const char *source_path)
{
    kf_error error = {0};
    size_t size;
    kf_task *task = kf_task_load(task_path, &error);
    if (!task) fail_msg("%s", error.text);
    char *source = source_path ? kf_file_read(source_path, KF_SOURCE_BYTES, &size, &error) : NULL;
    if (source_path && !source) fail_msg("%s", error.text);
    const char *text = source ? source : kf_task_baseline(task)->text;
    kf_job *job = kf_job_new("test", task, text, strlen(text), NULL, 0, &error);
    if (!job) fail_msg("%s", error.text);
    free(source);
    return job;
}

static inline kf_verdict *judged(kf_job *job)
{
    kf_error error = {0};
    kf_verdict *verdict = kf_judge_run(judge, job, NULL, &error);
    if (!verdict) fail_msg("%s", error.text);
    return verdict;
}

static inline int open_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    /* The cache of trusted builds stays. All other files of the judge have to be gone at the
     * end. */
    folder = kf_directory_temporary("judge", &error);
    if (!folder || setenv("TMPDIR", folder, 1) != 0) fail_msg("%s", error.text);
    before = kf_leak_snapshot_take(folder, &error);
    if (!before) fail_msg("%s", error.text);
    judge = kf_judge_new(&(kf_judge_settings){.device = "cpu"}, &error);
    if (!judge) fail_msg("%s", error.text);
    return 0;
}

static inline int close_judge(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_buffer left = {0};
    kf_judge_free(judge);
    /* Candidates were judged, some of them hostile: no process, descriptor or file of theirs is
     * there, nor anything else that is new. */
    kf_leak_snapshot *after = kf_leak_snapshot_take(folder, &error);
    if (!after) fail_msg("%s", error.text);
    kf_leak_snapshot_news news = kf_leak_snapshot_compare(before, after, &left);
    if (news.own) print_error("left behind:\n%s", left.data);
    kf_buffer_free(&left);
    kf_leak_snapshot_free(before);
    kf_leak_snapshot_free(after);
    kf_directory_remove(folder, NULL);
    free(folder);
    return news.own ? -1 : 0;
}

#endif
