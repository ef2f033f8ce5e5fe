/* The checks of `kforge doctor`. Each check adds facts about this machine to a list: a subject, a
 * state, a text, and a remedy if the fact is a fault.
 *
 * doctor_report.c holds the list and prints it. The other files add facts and call nothing of each
 * other; cmd_doctor.c calls them all.
 */
#ifndef KFORGE_DOCTOR_H
#define KFORGE_DOCTOR_H

#include <cjson/cJSON.h>

#include "kforge/buffer.h"
#include "output.h"

typedef enum kf_fact_state {
    KF_FACT_GOOD,
    /* kforge works without it, with fewer features */
    KF_FACT_MISSING,
    /* the user has to repair it */
    KF_FACT_FAULT,
} kf_fact_state;

typedef struct kf_doctor {
    /* array of {"subject","state","text","hint"} */
    cJSON *facts;
    /* also do what takes seconds */
    bool full;
    /* called with each new fact; may be NULL */
    void (*on_fact)(cJSON *fact);
} kf_doctor;

/* Adds a fact. `hint` is the remedy, or "". */
void kf_doctor_add(kf_doctor *doctor, const char *subject, kf_fact_state state, const char *hint,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Prints all facts, one paragraph for each, with its hint. */
void kf_doctor_print(const kf_doctor *doctor, const kf_view *view);

/* Runs `look` in a child process and adds the facts that it finds. If the driver does not answer,
 * or the child crashes, that is a fact, too. `look` returns true if a GPU can judge, and adds the
 * description of its judge to `judges`. (doctor_gpu.c) */
bool kf_doctor_gpu_child(kf_doctor *doctor, bool (*look)(kf_doctor *doctor, cJSON *judges),
                         cJSON *judges);
/* Adds facts about the GPUs, from the CUDA driver, which it loads at run time. Returns the number
 * of GPUs. (doctor_gpu.c) */
int kf_doctor_gpu(kf_doctor *doctor);
/* Adds facts about the processor, the memory, the compilers and PyTorch. (doctor_machine.c) */
void kf_doctor_machine(kf_doctor *doctor);

#endif
