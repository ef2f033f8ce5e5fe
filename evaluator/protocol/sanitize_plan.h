/* What compute-sanitizer's program is told: the file "plan" in the folder it is started with, this
 * struct as it lies in memory; contents of inputs are in files "argument-N" beside it. */
#ifndef KFORGE_SANITIZE_PLAN_H
#define KFORGE_SANITIZE_PLAN_H

#include <stdint.h>

#define KF_SANITIZE_MAGIC 0x31736b66u /* "fks1" */
#define KF_SANITIZE_ARGUMENTS 512

typedef struct kf_sanitize_plan {
    uint32_t magic, count;
    uint64_t scalars[KF_SANITIZE_ARGUMENTS]; /* by argument number */
    uint64_t bytes[KF_SANITIZE_ARGUMENTS];   /* of a buffer; 0: none */
    uint8_t content[KF_SANITIZE_ARGUMENTS];  /* 1: the file holds what is in it; 0: it is left as it
                                                is allocated, which initcheck watches */
} kf_sanitize_plan;

#endif
