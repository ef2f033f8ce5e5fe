/* `kforge worker`: a judge behind a pipe or a folder. */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "worker.h"

typedef struct settings {
    const char *device, *cache, *spool;
    bool once;
} settings;

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    if (wanted->once && !wanted->spool)
        return kf_fail(error, KF_ERROR_INPUT, "--once needs --spool DIR") - 1;
    kf_auto(kf_judge) judge =
        kf_judge_new(&(kf_judge_settings){.device = wanted->device, .cache = wanted->cache}, error);
    if (!judge) return -1;
    bool served =
        wanted->spool
            ? kf_worker_spool(judge, wanted->spool, &(kf_spool_options){.once = wanted->once},
                              invocation->interrupts, error)
            : kf_worker_serve(judge, STDIN_FILENO, STDOUT_FILENO, invocation->interrupts, error);
    if (!served) return -1;
    return *invocation->interrupts ? KF_EXIT_INTERRUPTED : KF_EXIT_DONE;
}

static const kf_option options[] = {
    KF_ROW_DEVICE(settings),
    {.name = "spool",
     .type = KF_OPTION_PATH,
     .argument = "DIR",
     .offset = offsetof(settings, spool),
     .help = "Take jobs from this folder, which --workers spool:DIR fills, instead of from "
             "standard input."},
    {.name = "once",
     .type = KF_OPTION_FLAG,
     .offset = offsetof(settings, once),
     .help = "With --spool: end when there is no job left."},
    {.name = "cache",
     .type = KF_OPTION_PATH,
     .argument = "DIR",
     .offset = offsetof(settings, cache),
     .config = true,
     .help = "Where builds of oracles and baselines are kept; default $XDG_CACHE_HOME/kforge or "
             "~/.cache/kforge."},
    {0},
};

const kf_command kf_command_worker = {
    .name = "worker",
    .synopsis = "",
    .summary = "Judge candidates for kforge elsewhere: jobs in, verdicts out, as JSON lines",
    .description =
        "It says hello with a line that names its device, then answers every job with one line "
        "until its input ends. On a GPU it "
        "takes several "
        "jobs at a time, compiles some while it measures one, and answers whichever is done. "
        "\"kforge optimize --workers 'ssh host kforge worker'\" starts it where the device is; "
        "whatever starts a program and "
        "carries its input and output will do.\n\n"
        "With --spool it takes jobs from a folder instead and waits for more. Several workers may "
        "share one; what a worker "
        "that died had taken is taken over by the others after two minutes.",
    .examples =
        "kforge worker --device cuda:1\tjudges what comes on standard input on the second GPU\n"
        "kforge worker --spool /shared/jobs\tjudges what is put into a folder\n",
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
