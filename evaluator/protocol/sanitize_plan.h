/* The plan of kforge-runner-sanitize: the file "plan" in the folder of its command line holds this
 * struct as it lies in memory. Files "argument-N" in the same folder hold the inputs. */
#ifndef KFORGE_SANITIZE_PLAN_H
#define KFORGE_SANITIZE_PLAN_H

#include <stdint.h>

#define KF_SANITIZE_MAGIC 0x31736b66u /* "fks1" */
#define KF_SANITIZE_ARGUMENTS 512

typedef struct kf_sanitize_plan {
    uint32_t magic, count;
    /* By argument number. */
    uint64_t scalars[KF_SANITIZE_ARGUMENTS];
    /* Of a buffer. 0: no buffer. */
    uint64_t bytes[KF_SANITIZE_ARGUMENTS];
    /* 1: the file holds the contents. 0: the buffer stays uninitialised, for initcheck. */
    uint8_t content[KF_SANITIZE_ARGUMENTS];
} kf_sanitize_plan;

#endif
