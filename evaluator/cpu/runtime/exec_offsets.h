// Where exec_switch.S finds what it needs in a struct worker; exec_threads.c checks the numbers.
#pragma once
#define WORKER_ROUND 48
#define WORKER_LAST 52
#define WORKER_SP 64
