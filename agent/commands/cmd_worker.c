/* `kforge worker`: a judge that takes jobs from a pipe or a folder. */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "worker.h"

typedef struct settings {
    const char *device, *cache, *spool, *events;
    bool once;
} settings;

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    if (wanted->once && !wanted->spool)
        return kf_fail(error, KF_ERROR_INPUT, "--once needs --spool DIR") - 1;
    /* Standard output has the verdicts. */
    if (wanted->events && !wanted->spool && strcmp(wanted->events, "fd:1") == 0)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--events fd:1: standard output has the verdicts; name another descriptor") -
               1;
    kf_auto(kf_event_stream) events = NULL;
    if (wanted->events && !(events = kf_event_stream_open(wanted->events, error))) return -1;
    kf_auto(kf_judge) judge =
        kf_judge_new(&(kf_judge_settings){.device = wanted->device, .cache = wanted->cache}, error);
    if (!judge) return -1;
    kf_event_process_start(events, "worker", kf_judge_hardware(judge));
    bool served = wanted->spool
                      ? kf_worker_spool(judge, wanted->spool,
                                        &(kf_spool_options){.once = wanted->once, .events = events},
                                        invocation->interrupts, error)
                      : kf_worker_serve(judge, STDIN_FILENO, STDOUT_FILENO, invocation->interrupts,
                                        events, error);
    kf_event_process_end(events, served ? NULL : error, *invocation->interrupts);
    kf_error why;
    if (kf_event_stream_trouble(events, &why)) fprintf(invocation->log, "kforge: %s\n", why.text);
    if (!served) return -1;
    return *invocation->interrupts ? KF_EXIT_INTERRUPTED : KF_EXIT_DONE;
}

static const kf_option options[] = {
    KF_ROW_DEVICE(settings),
    {KF_OPTION(PATH, "spool", "DIR", settings, spool),
     .help = "Take jobs from this folder instead of standard input. --workers spool:DIR fills it."},
    {KF_OPTION(FLAG, "once", NULL, settings, once),
     .help = "With --spool: end when no job is left."},
    KF_ROW_EVENTS(settings),
    {KF_OPTION(PATH, "cache", "DIR", settings, cache), .config = true,
     .help = "Folder for builds of oracles and baselines; default $XDG_CACHE_HOME/kforge or "
             "~/.cache/kforge."},
    {0},
};

const kf_command kf_command_worker = {
    .name = "worker",
    .synopsis = "",
    .summary = "Judge candidates for a kforge elsewhere: jobs in, verdicts out, as JSON lines",
    .description =
        "Writes a line that names its device, then one line for each job until its input ends. On "
        "a GPU answers come in any order. \"kforge optimize --workers 'ssh host kforge worker'\" "
        "starts it on the machine with the device. Any program that connects input and output will "
        "do.\n\nWith --spool it takes jobs from a folder and waits for more. Several workers may "
        "share a folder. If a worker dies, another takes over its jobs after two minutes.",
    .examples = "kforge worker --device cuda:1\tjudges jobs from standard input on the second GPU\n"
                "kforge worker --spool /shared/jobs\tjudges jobs from a folder\n",
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
