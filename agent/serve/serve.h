/* `kforge serve`: the routes of the job API (agent/jobs) over HTTP (web.h). */
#ifndef KFORGE_SERVE_H
#define KFORGE_SERVE_H

#include "web.h"
#include "jobs.h"
#include "kforge/store.h"

/* Most bytes of a request for one candidate, and of a batch. */
#define KF_SERVE_BODY_BYTES (256u << 10)
#define KF_SERVE_BATCH_BYTES (16u << 20)
#define KF_SERVE_BATCH_ITEMS 1024
/* Deadlines without a wish: an answer that the client waits for, and a job. */
#define KF_SERVE_DEADLINE 30.0
#define KF_SERVE_JOB_DEADLINE 3600.0
#define KF_SERVE_MOST_DEADLINE 86400.0
/* The longest wait for a job's state. */
#define KF_SERVE_MOST_WAIT 600.0

/* The routes. Their context is the kf_service. */
extern const kf_route kf_serve_judge_routes[], kf_serve_read_routes[], kf_serve_flashinfer_routes[],
    kf_serve_kernelgym_routes[];
/* The routes of a run's page (agent/pages). Their context is a kf_watched. */
extern const kf_route kf_serve_watch_routes[];
#define KF_WATCH_KEY 33
typedef struct kf_watched {
    /* Belongs to the listener's thread from kf_web_open on. */
    kf_store *store;
    char run[KF_RUN_ID];
    /* The first part of each path. Other users of the machine can't guess it. */
    char key[KF_WATCH_KEY];
} kf_watched;
/* The route of the Model Context Protocol. Its context is a kf_mcp. */
extern const kf_route kf_serve_mcp_routes[];

#endif
