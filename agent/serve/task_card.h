/* A task for clients: what a candidate has to do, without the oracle and hidden shapes. */
#ifndef KFORGE_TASK_CARD_H
#define KFORGE_TASK_CARD_H

#include <cjson/cJSON.h>

#include "kforge/task.h"

/* Returns {"name","hash","family","description","entry","precision","prototype","prompt",
 * "workloads":[{"name","timed","params"}],"libraries","python","held_out"}. Workloads that models
 * do not see have no "params". `device`: "cpu" or "cuda:0". NULL without memory. */
cJSON *kf_task_card(const kf_task *task, const char *device);

#endif
