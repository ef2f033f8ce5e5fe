/* How many processors control groups grant. */
#ifndef KFORGE_CGROUP_CPU_LIMIT_H
#define KFORGE_CGROUP_CPU_LIMIT_H

/* Returns the processor time that the control groups of this process grant, in processors, or
 * INFINITY without a limit. `own` is /proc/self/cgroup, and `root` is where control groups are
 * mounted, /sys/fs/cgroup. Reads both versions of control groups (Linux,
 * Documentation/admin-guide/cgroup-v2.rst cpu.max, scheduler/sched-bwc.rst). */
double kf_cgroup_cpu_limit(const char *own, const char *root);

#endif
