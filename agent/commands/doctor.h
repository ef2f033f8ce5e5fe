/* What `kforge doctor` looks at: facts about this machine, each with a state and, where something
 * is amiss, what to do about it. */
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
    cJSON *facts;              /* array of {"subject","state","text","hint"} */
    void (*told)(cJSON *fact); /* is given each when it is added; NULL: nobody */
} kf_doctor;

const char *kf_fact_state_name(kf_fact_state state); /* "ok", "missing", "fault" */
/* `hint` "" where there is nothing to do. */
void kf_doctor_add(kf_doctor *doctor, const char *subject, kf_fact_state state, const char *hint,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What `look` adds, in a process of its own that asks the driver: where it does not answer that is
 * a fact, too, and all else is told as well. `look` says whether the GPU can judge, and adds what
 * its judge says of itself to `judges`. (doctor_gpu_child.c) */
bool kf_doctor_gpu_child(kf_doctor *doctor, bool (*look)(kf_doctor *doctor, cJSON *judges),
                         cJSON *judges);
/* GPUs by the CUDA driver, loaded at run time; returns how many there are. */
int kf_doctor_gpu(kf_doctor *doctor);
/* Processor, memory and the compilers that candidates are built with. */
void kf_doctor_machine(kf_doctor *doctor);

#endif
