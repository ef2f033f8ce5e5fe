/* Tasks by name. "row_softmax" is the folder or file of that name, else tasks/row_softmax, else
 * share/kforge/tasks/row_softmax of the installation, else the store's latest task of that name. A
 * word with a '/' is always a path. */
#ifndef KFORGE_NAMED_TASK_H
#define KFORGE_NAMED_TASK_H

#include "kforge/task.h"

/* Returns the path of `word`, malloc'd. An error names the folders searched and the task with the
 * nearest name. */
char *kf_named_task_path(const char *word, kf_error *error);
/* Loads the task of `word`. Errors as kf_task_load. */
kf_task *kf_named_task_load(const char *word, kf_error *error);
/* Loads it from the folders, else by name or hash from the store at `store` (NULL: the usual one,
 * if there is one). An error names the nearest task of all places. */
kf_task *kf_named_task_find(const char *word, const char *store, kf_error *error);
/* Returns the folder of a suite, malloc'd, as kf_named_task_path. "tasks" is the installation's
 * folder if there is no such folder here. */
char *kf_named_suite_path(const char *word, kf_error *error);
/* Returns the folder of the tasks that come with kforge, malloc'd. NULL: out of memory. */
char *kf_installed_tasks(kf_error *error);

#endif
