#include "dry_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_archive.h"
#include "build_archive_file.h"
#include "extensions.h"
#include "kforge/file.h"
#include "kforge/json.h"
#include "kforge/sandbox.h"
#include "paths.h"
#include "torch_plan.h"

#define CACHES_NAME "dry-run.caches"    /* dry_run.py looks for it */
#define CACHES_BYTES ((size_t)64 << 20) /* caches.py packs 40 MiB, and what it says of them */
#define PLANS_NAME "dry-run.json"
#define PROCESSES 512
#define NOTE_BYTES 400
#define VARIABLES 40

typedef struct dry_run {
    kf_device *device;
    const kf_task *task;
    const kf_job_options *options;
    const volatile int *stop;
    char folder[4200]; /* of the solution */
    char *plans;       /* path */
    kf_build_archive_file archive;
    double seconds;
    size_t bytes;
    char note[NOTE_BYTES];
} dry_run;

static bool no_memory(kf_error *error)
{
    return kf_fail(error, KF_ERROR_MEMORY, "out of memory for a dry run");
}

static bool write_plans(dry_run *d, const char *candidate, kf_error *error)
{
    const char *slash = strrchr(candidate, '/');
    snprintf(d->folder, sizeof d->folder, "%.*s", slash ? (int)(slash - candidate) : 1,
             slash ? candidate : ".");
    kf_autofree char *text = kf_torch_plans(d->task, d->device->operations->kind, candidate, error);
    if (!text) return false;
    d->plans = kf_path_join(d->folder, PLANS_NAME);
    return d->plans ? kf_file_write(d->plans, text, strlen(text), error) : no_memory(error);
}

/* The surroundings of a runner in Python that may start compilers, but for what takes the place of
 * cudaMalloc: the memory is its own. */
static bool find_place(dry_run *d, kf_runner_place *place, const char *environment[VARIABLES + 1],
                       kf_error *error)
{
    if (!d->device->operations->place(d->device, KF_RUNNER_COMPILED, place, error)) return false;
    size_t count = 0;
    for (const char *const *variable = place->environment; *variable && count < VARIABLES;
         variable++)
        if (strncmp(*variable, "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0)
            environment[count++] = *variable;
    environment[count] = NULL;
    if (place->path_count == KF_PLACE_PATHS)
        return kf_fail(error, KF_ERROR_MACHINE, "no room for the path of a dry run");
    place->paths[place->path_count++] =
        (kf_sandbox_path){d->folder, KF_PATH_READ | KF_PATH_EXEC, false};
    place->limits.wall_seconds = KF_DRY_RUN_BUILDS * d->options->build_seconds;
    place->limits.processes = PROCESSES;
    return true;
}

static bool run_jail(dry_run *d, kf_error *error)
{
    kf_runner_place place;
    const char *environment[VARIABLES + 1];
    kf_autofree char *script = kf_root_file("lib/kforge/torch/kforge_torch.py", error);
    if (!script || !find_place(d, &place, environment, error)) return false;
    kf_autoclose int fd = kf_build_archive_file_open(error);
    if (fd < 0) return false;
    bool cuda = strcmp(d->device->operations->kind, "cuda") == 0;
    const char *const argv[] = {place.program,          "-I", script, "dry_run", d->plans,
                                cuda ? "--cuda" : NULL, NULL};
    const kf_sandbox_fd fds[] = {{.host = fd, .child = KF_BUILD_ARCHIVE_FD}};
    const kf_sandbox_spec spec = {.argv = argv,
                                  .environment = environment,
                                  .directory = d->folder,
                                  .paths = place.paths,
                                  .path_count = place.path_count,
                                  .fds = fds,
                                  .fd_count = 1,
                                  .limits = place.limits,
                                  .seccomp = KF_SECCOMP_TOOL,
                                  .strict = d->options->strict_sandbox};
    kf_auto(kf_sandbox) jail = kf_sandbox_spawn(&spec, error);
    if (!jail) return kf_fail_prefix(error, "dry run");
    while (!kf_sandbox_pump(jail, 0.1)) {
        if (!d->stop || !*d->stop) continue;
        kf_sandbox_kill(jail);
        return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    }
    const kf_sandbox_result *result = kf_sandbox_outcome(jail);
    d->seconds = result->wall_seconds;
    if (result->end != KF_END_EXITED || result->status != 0)
        kf_sandbox_describe(result, d->note, sizeof d->note);
    return kf_build_archive_file_map(&d->archive, fd, error);
}

/* Sets the note from the jail's record, which foreign code may have written, or from its end. */
static bool keep_note(dry_run *d, const kf_build_archive_record *record, kf_error *error)
{
    if (d->note[0]) return true;
    kf_autofree char *text = kf_text_clean(
        record->data, record->size < NOTE_BYTES ? record->size : NOTE_BYTES - 1, false);
    if (!text) return no_memory(error);
    snprintf(d->note, sizeof d->note, "%.*s", (int)strcspn(text, "\n"), text);
    return true;
}

/* The first record of each kind. */
static bool take_archive(dry_run *d, kf_error *error)
{
    kf_autofree char *folder = kf_path_join(d->folder, KF_EXTENSIONS_FOLDER),
                     *path = folder ? kf_path_join(folder, CACHES_NAME) : NULL;
    kf_build_archive_record record;
    if (!path) return no_memory(error);
    /* whatever their size: there may be millions without content */
    bool noted = false, taken = false;
    for (size_t at = 0; kf_build_archive_next(d->archive.data, d->archive.size, &at, &record);) {
        if (record.kind == KF_BUILD_ARCHIVE_NOTE && !noted && !keep_note(d, &record, error))
            return false;
        noted = noted || record.kind == KF_BUILD_ARCHIVE_NOTE;
        if (record.kind != KF_BUILD_ARCHIVE_CACHES || taken) continue;
        taken = true;
        if (!record.size || record.size > CACHES_BYTES) continue;
        if (!kf_directory_make(folder, error) ||
            !kf_file_write(path, record.data, record.size, error))
            return false;
        d->bytes = record.size;
    }
    return true;
}

static bool report(const dry_run *d, kf_build *build, kf_error *error)
{
    if (!build->report && !(build->report = cJSON_CreateObject())) return no_memory(error);
    cJSON *said = cJSON_AddObjectToObject(build->report, "dry_run");
    if (!said) return no_memory(error);
    kf_json_add_number(said, "seconds", d->seconds);
    kf_json_add_number(said, "bytes", (double)d->bytes);
    return cJSON_AddStringToObject(said, "note", d->note) || no_memory(error);
}

bool kf_dry_run(kf_device *device, const kf_task *task, const kf_job_options *options,
                const volatile int *stop, kf_build *build, kf_error *error)
{
    size_t size;
    if (!options->torch || !build || !build->ok ||
        cJSON_GetObjectItemCaseSensitive(build->report, "dry_run"))
        return true;
    kf_autofree char *source = kf_file_read(build->binary, KF_SOURCE_BYTES, &size, error);
    if (!source) return false;
    if (!kf_compiles_when_called(source)) return true;
    kf_autofree dry_run *d = calloc(1, sizeof *d);
    if (!d) return no_memory(error);
    *d = (dry_run){.device = device, .task = task, .options = options, .stop = stop};
    bool done = write_plans(d, build->binary, error) && run_jail(d, error) &&
                take_archive(d, error) && report(d, build, error);
    kf_build_archive_file_free(&d->archive);
    free(d->plans);
    return done;
}
