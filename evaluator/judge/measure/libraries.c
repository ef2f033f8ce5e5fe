/* The build decides on libraries that are linked (build_cuda.c). This file finds libraries that are
 * opened at run time. It looks once, after all calls of a workload. A candidate that closes the
 * library after each call goes unnoticed, but pays for loading it in each call. */
#include "libraries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paths.h"

/* CUDA's driver and runtime load no library of this list themselves. */
static const struct vendor {
    /* the beginning of the base name */
    const char *file;
    /* libraries of a task that cover it */
    const char *names[5];
} vendors[] = {
    {"libcublas.so", {"cublas", "cublaslt", "cudnn"}},
    {"libcublasLt.so", {"cublas", "cublaslt", "cudnn"}},
    {"libcudnn", {"cudnn"}},
    {"libcufft", {"cufft"}},
    {"libcurand.so", {"curand"}},
    {"libcusolver", {""}},
    {"libcusparse.so", {""}},
};

static bool covered(const struct vendor *vendor, const char *const *allowed)
{
    for (; allowed && *allowed; allowed++)
        for (const char *const *name = vendor->names; *name; name++)
            if (strcmp(*name, *allowed) == 0) return true;
    return false;
}

bool kf_library_forbidden(const char *maps, const char *const *allowed, char name[64])
{
    for (const char *line = maps; *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n"), start = length;
        while (start && line[start - 1] != '/') start--;
        for (size_t i = 0; start && i < sizeof vendors / sizeof *vendors; i++) {
            size_t prefix = strlen(vendors[i].file);
            if (length - start < prefix || strncmp(line + start, vendors[i].file, prefix) != 0 ||
                covered(&vendors[i], allowed))
                continue;
            snprintf(name, 64, "%.*s", (int)(length - start), line + start);
            return true;
        }
        line += length;
    }
    return false;
}

bool kf_measurement_audit(kf_measurement *r, kf_runner *candidate, kf_error *error)
{
    char path[64], name[64];
    /* PyTorch itself loads them, and a solution may call PyTorch. */
    if (kf_runner_kind_of(candidate) == KF_RUNNER_TORCH) return true;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)kf_runner_pid(candidate));
    kf_autofree char *maps = kf_system_file(path, 16u << 20);
    if (!maps || !kf_library_forbidden(maps, r->bench->libraries, name)) return true;
    r->over = true;
    kf_autofree char *clean = kf_text_clean(name, strlen(name), true);
    return (clean && kf_verdict_add_finding(r->bench->verdict, r->bench->result, KF_CHEATING,
                                            KF_BLAME_CANDIDATE, "library.loaded", NAN, NAN,
                                            "the candidate's process has loaded %s, which the "
                                            "task's \"libraries\" do not allow",
                                            clean)) ||
           kf_fail_memory(error, "a measurement");
}
