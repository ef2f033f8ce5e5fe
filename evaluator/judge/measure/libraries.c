/* Linking is decided by the build (build_cuda.c); this is for what is opened at run time. It is
 * read once, when the candidate has made all its calls of a workload: one that closes the library
 * again behind each call gets by, and pays for loading it in each. */
#include "libraries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "paths.h"

/* Never among what CUDA's driver or runtime load by themselves. */
static const struct vendor {
    const char *file;     /* how the base name begins */
    const char *names[5]; /* of the task's libraries that cover it */
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
    /* PyTorch itself has them, and a solution may call it */
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
