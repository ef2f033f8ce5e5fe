/* Makes the plan of a buffer (inputs_plan.h). The judge copies plans to its device. */
#ifndef KFORGE_INPUTS_PLAN_MAKE_H
#define KFORGE_INPUTS_PLAN_MAKE_H

#include "inputs_plan.h"
#include "kforge/inputs.h"

kf_input_plan kf_input_plan_make(const kf_problem_argument *argument, kf_key key,
                                 kf_variation variation);

#endif
