#include <string.h>

#include "device.h"

void kf_problem_scalars(const kf_problem *problem, uint64_t *values)
{
    memset(values, 0, KF_MAX_ARGUMENTS * sizeof *values);
    for (int i = 0; i < problem->argument_count; i++) {
        const kf_problem_argument *argument = &problem->arguments[i];
        if (argument->kind != KF_SCALAR) continue;
        if (argument->dtype == KF_I64)
            memcpy(&values[i], &argument->value.integer,
                   sizeof values[i]); /* a double would lose bits */
        else
            kf_dtype_store(argument->dtype, &values[i], argument->value.number);
    }
}
