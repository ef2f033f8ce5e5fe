/* Processors that do not sleep while something is timed. A process that is woken on one that slept deeply comes 150 us later and is slow for some 60 more
 * (docs/measurements/2026-11-23-h200.md). The kernel's interface for it is PM QoS: a file that holds, for as long as it is
 * open, the most microseconds that waking may take (Linux, Documentation/power/pm_qos_interface.rst). Root may open it, and whom it is given to. */
#ifndef KFORGE_WAKEFUL_H
#define KFORGE_WAKEFUL_H

#define KF_WAKEFUL_FILE "/dev/cpu_dma_latency"

/* A descriptor that keeps all processors awake until it is closed; -1 where that is not to be had. */
int kf_wakeful_begin(void);

#endif
