/* The files that a runner has mapped (/proc/PID/maps): before it loaded its binary, during a batch,
 * and when its files were taken. */
#include "runner_process_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

/* More than 65,530 mappings with names of 80 bytes take. A file's name takes up to 1,020 bytes of a
 * line, and each look at such a list would take seconds. */
#define MAPS_BYTES (16u << 20)

char *kf_runner_maps(kf_runner *runner)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)kf_sandbox_pid(runner->sandbox));
    char *maps = kf_system_file(path, MAPS_BYTES);
    runner->held.maps_cut = runner->held.maps_cut || (maps && strlen(maps) == MAPS_BYTES);
    return maps;
}

bool kf_runner_has_too_many_maps(const kf_runner *runner)
{
    return runner->held.maps_cut;
}

void kf_runner_look_at_maps(kf_runner *runner)
{
    kf_batch *batch = runner->look.batch;
    kf_autofree char *maps = kf_runner_maps(runner), *before = batch->maps;
    if (asprintf(&batch->maps, "%s%s", before ? before : "", maps ? maps : "") < 0)
        batch->maps = NULL;
    runner->look.after *= 2;
    if (!batch->looks_on) runner->look.batch = NULL;
}

const char *kf_runner_first_maps(const kf_runner *runner)
{
    return runner->held.maps ? runner->held.maps : "";
}

const char *kf_runner_loaded(const kf_runner *runner)
{
    return runner->binary;
}

bool kf_runner_hide_files(kf_runner *runner)
{
    if (runner->dead) return true;
    if (!runner->held.last_maps) runner->held.last_maps = kf_runner_maps(runner);
    return runner->held.last_maps && kf_sandbox_hide_files(runner->sandbox);
}

bool kf_runner_writes_proc(const kf_runner *runner)
{
    return runner->held.writes_proc;
}

const char *kf_runner_last_maps(const kf_runner *runner)
{
    return runner->held.last_maps ? runner->held.last_maps : "";
}
