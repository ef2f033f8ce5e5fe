/* Tasks by name, from any folder: "row_softmax" is the folder or file of that name, else
 * tasks/row_softmax, else the installation's share/kforge/tasks/row_softmax. A word with a '/' is a
 * path and nothing else. */
#ifndef KFORGE_NAMED_TASK_H
#define KFORGE_NAMED_TASK_H

#include "kforge/task.h"

/* Returns the path that `word` stands for, malloc'd. An error names the places that were searched
 * and the task with the nearest name. */
char *kf_named_task_path(const char *word, kf_error *error);
/* Loads the task that `word` stands for; as kf_task_load otherwise. */
kf_task *kf_named_task_load(const char *word, kf_error *error);
/* Returns the folder of a suite, malloc'd: as kf_named_task_path, and "tasks" is the installation's
 * where there is no such folder here. */
char *kf_named_suite_path(const char *word, kf_error *error);
/* Returns the folder of the tasks that come with kforge, malloc'd; NULL: out of memory. */
char *kf_installed_tasks(kf_error *error);

#endif
