/* What judge.c and lint.c share. */
#ifndef KFORGE_JUDGE_INTERNAL_H
#define KFORGE_JUDGE_INTERNAL_H

#include "device.h"
#include "kforge/judge.h"
#include "parallel.h"

struct kf_judge {
    kf_device *device;
    kf_parallel *parallel;
    char *cache; /* NULL: none */
};

#endif
