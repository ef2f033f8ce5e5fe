/* Measures the cost of the sandbox: from spawn to the end of /bin/true, and a stop and continuation
 * of a running program with busy threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/sandbox.h"

enum { SPAWNS = 100, STOPS = 500 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static kf_sandbox *spawn(const char *const *argv)
{
    static const kf_sandbox_path paths[] = {{"/usr", KF_PATH_READ | KF_PATH_EXEC, false},
                                            {"/lib", KF_PATH_READ | KF_PATH_EXEC, true},
                                            {"/lib64", KF_PATH_READ | KF_PATH_EXEC, true},
                                            {"/bin", KF_PATH_READ | KF_PATH_EXEC, true}};
    const kf_sandbox_spec spec = {.argv = argv,
                                  .paths = paths,
                                  .path_count = 4,
                                  .limits.wall_seconds = 60,
                                  .seccomp = KF_SECCOMP_RUNNER};
    kf_error error;
    kf_sandbox *sandbox = kf_sandbox_spawn(&spec, &error);
    if (!sandbox) {
        fprintf(stderr, "%s\n", error.text);
        exit(3);
    }
    return sandbox;
}

int main(void)
{
    static double spawns[SPAWNS], stops[STOPS], starts[STOPS];
    static const char *const true_argv[] = {"/bin/true", NULL}, *const busy_argv[] = {
                                                                    "/bin/sh", "-c",
                                                                    "while :; do :; done", NULL};
    int layers = kf_sandbox_available(NULL); /* the probe is not part of it */
    for (int i = 0; i < SPAWNS; i++) {
        double start = kf_now();
        kf_sandbox *sandbox = spawn(true_argv);
        kf_sandbox_pump(sandbox, -1);
        kf_sandbox_free(sandbox);
        spawns[i] = kf_now() - start;
    }
    kf_sandbox *busy = spawn(busy_argv);
    kf_sandbox_pump(busy, 0.1);
    for (int i = 0; i < STOPS; i++) {
        kf_error error;
        double start = kf_now();
        if (!kf_sandbox_freeze(busy, &error)) return 1;
        double frozen = kf_now();
        if (!kf_sandbox_thaw(busy, &error)) return 1;
        starts[i] = kf_now() - frozen;
        stops[i] = frozen - start;
        usleep(200);
    }
    kf_sandbox_free(busy);
    double spawning = median(spawns, SPAWNS), freeze = median(stops, STOPS),
           thaw = median(starts, STOPS);
    printf("sandbox: spawn to exit %.2f ms median, %.2f ms at 95 %%; freeze %.1f us + thaw %.1f us "
           "median, freeze %.1f us at 95 %% "
           "(layers %#x)\n",
           1e3 * spawning, 1e3 * spawns[SPAWNS * 95 / 100], 1e6 * freeze, 1e6 * thaw,
           1e6 * stops[STOPS * 95 / 100], (unsigned)layers);
    return 0;
}
