#ifndef KFORGE_ROUTES_FLASHINFER_H
#define KFORGE_ROUTES_FLASHINFER_H

#include <cjson/cJSON.h>

#include "web.h"

/* Answers POST /evaluate with a "solution": {"task_id","normalized_solution_name"}. */
void kf_flashinfer_evaluate(kf_exchange *exchange, const cJSON *request);

#endif
