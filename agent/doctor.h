/* What `kforge doctor` looks at: facts about this machine, each with a state and, where something is amiss, what to do about it. */
#ifndef KFORGE_DOCTOR_H
#define KFORGE_DOCTOR_H

#include <cjson/cJSON.h>

#include "kforge/buffer.h"

typedef enum kf_fact_state {
    KF_FACT_GOOD,
    KF_FACT_MISSING, /* kforge works without it, with less */
    KF_FACT_FAULT,   /* has to be mended */
} kf_fact_state;

typedef struct kf_doctor {
    cJSON *facts; /* array of {"subject","state","text","hint"} */
} kf_doctor;

const char *kf_fact_state_name(kf_fact_state state); /* "ok", "missing", "fault" */
/* `hint` "" where there is nothing to do. */
void kf_doctor_add(kf_doctor *doctor, const char *subject, kf_fact_state state, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* GPUs by the CUDA driver, loaded at run time; returns how many there are. */
int kf_doctor_gpu(kf_doctor *doctor);
/* Processor, memory and the compilers that candidates are built with. */
void kf_doctor_machine(kf_doctor *doctor);

#endif
