/* What control groups grant of processors. */
#ifndef KFORGE_QUOTA_H
#define KFORGE_QUOTA_H

/* Processors' time that the control groups of this process grant it, in processors; INFINITY where
 * none bounds it. `own`: /proc/self/cgroup; `root`: where control groups are mounted,
 * /sys/fs/cgroup. Both versions (Linux, Documentation/admin-guide/cgroup-v2.rst cpu.max,
 * scheduler/sched-bwc.rst). */
double kf_cgroup_cpu_limit(const char *own, const char *root);

#endif
