/* The interface between unit.count_runner and its simulated CUPTI (fake_cupti.c). */
#ifndef KFORGE_FAKE_CUPTI_H
#define KFORGE_FAKE_CUPTI_H

#include <stddef.h>

/* The program finds it in the library by the name "fake". */
typedef struct fake_cupti {
    size_t metrics_a_pass; /* as many as fit; 0: all */
    int endless;           /* passes that never end */
    int refuses_fewer;     /* a host object after the first is refused */
    /* the calls that the runner made */
    size_t hosts, configured, set_up, evaluated_names;
    size_t ranges, data_ranges, nodes;
    size_t started, stopped, decoded, evaluated;
    size_t outside;      /* launches while no pass ran */
    int refuses_samples; /* PC sampling is refused */
    size_t parts;        /* parts of the samples that were taken */
    int refuses_records; /* activity records are refused */
    int late_records;    /* records get no launch number, as those of a graph */
} fake_cupti;

/* The runner finds this function by the name "fake_launch". It launches a kernel named `symbol`, or
 * a graph if `symbol` is NULL. */
typedef void (*fake_launch_function)(const char *symbol);

#endif
