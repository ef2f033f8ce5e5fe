/* `kforge mcp`: tools for coding agents, over the Model Context Protocol on stdin and stdout. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "jobs.h"
#include "mcp.h"

typedef struct settings {
    const char *root, *store, *device, *sandbox;
    double timeout;
    kf_option_list workers;
} settings;

typedef struct log {
    FILE *stream;
    pthread_mutex_t lock;
} log;

/* Prints a line of the service. Standard output belongs to the protocol alone. */
static void print_line(void *context, const char *line)
{
    log *l = context;
    pthread_mutex_lock(&l->lock);
    fprintf(l->stream, "kforge: %s\n", line);
    pthread_mutex_unlock(&l->lock);
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    log messages = {.stream = invocation->log, .lock = PTHREAD_MUTEX_INITIALIZER};
    kf_auto(kf_service) service = kf_service_open(
        &(kf_service_options){.store = wanted->store,
                              .workers = wanted->workers.items,
                              .worker_count = wanted->workers.count,
                              .device = wanted->device,
                              .timeout_seconds = wanted->timeout,
                              .strict_sandbox = strcmp(wanted->sandbox, "strict") == 0,
                              .log = print_line,
                              .log_context = &messages},
        error);
    kf_auto(kf_mcp) server =
        service ? kf_mcp_new(&(kf_mcp_settings){.root = wanted->root, .jobs = service}, error)
                : NULL;
    if (!server ||
        !kf_mcp_serve(server, STDIN_FILENO, STDOUT_FILENO, invocation->interrupts, error))
        return -1;
    return *invocation->interrupts ? KF_EXIT_INTERRUPTED : KF_EXIT_DONE;
}

static const kf_option options[] = {
    {KF_OPTION(PATH, "root", "DIR", settings, root), .fallback = ".",
     .help = "The folder that the agent works in. Only files below it can be judged or scanned."},
    KF_ROW_DEVICE(settings),
    KF_ROW_TIMEOUT(settings),
    KF_ROW_SANDBOX(settings),
    KF_ROW_WORKERS(settings),
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_mcp = {
    .name = "mcp",
    .synopsis = "",
    .summary = "Offer kforge's tools to a coding agent (Model Context Protocol)",
    .description =
        "Speaks the Model Context Protocol on standard input and output, in the revisions "
        "2024-11-05 to 2026-07-28. The agent gets eleven tools: it lists and reads tasks, judges "
        "and profiles its kernels, reads the history, and submits the best one.\n\nNo tool "
        "returns the oracle or a hidden workload. A call ends after 25 seconds with a job that "
        "the agent asks for again, unless the agent wants to wait longer.",
    .examples =
        "claude mcp add kforge -- kforge mcp\tadds the tools to Claude Code\n"
        "codex mcp add kforge -- kforge mcp --device cuda:1\tadds them to Codex, on the second "
        "GPU\n",
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
