// Offsets in struct worker that exec_switch.S needs. exec_threads.c checks them.
#pragma once
#define WORKER_ROUND 48
#define WORKER_LAST 52
#define WORKER_SP 64
