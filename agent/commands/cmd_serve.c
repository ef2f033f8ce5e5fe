/* `kforge serve`: judges candidates for clients over HTTP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "devices.h"
#include "kforge/file.h"
#include "kforge/judge.h"
#include "mcp.h"
#include "serve.h"

#define TOKEN_BYTES 4096
#define LEAST_TOKEN 16

typedef struct settings {
    const char *store, *device, *devices, *sandbox, *token, *root, *events;
    double timeout;
    int64_t port, queue;
    kf_option_list workers, listen;
} settings;

/* Reads the first line of the file with the token. */
static char *read_token(const char *path, kf_error *error)
{
    size_t size;
    char *text = kf_file_read(path, TOKEN_BYTES, &size, error);
    if (!text) return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    if (strlen(text) >= LEAST_TOKEN) return text;
    free(text);
    kf_fail(error, KF_ERROR_INPUT,
            "--token %s: the token has fewer than %d characters; write one with \"openssl rand "
            "-hex 32 > %s\"",
            path, LEAST_TOKEN, path);
    return NULL;
}

static void log_line(void *context, const char *line)
{
    const kf_invocation *invocation = context;
    fprintf(invocation->log, "kforge: %s\n", line);
}

static bool open_service(const kf_invocation *invocation, const settings *wanted,
                         kf_event_stream *events, kf_service **service, kf_error *error)
{
    kf_devices devices = {0};
    if (wanted->devices && wanted->device)
        return kf_fail(error, KF_ERROR_INPUT,
                       "--devices %s and --device %s exclude each other; give one of them",
                       wanted->devices, wanted->device);
    if (wanted->devices &&
        !kf_devices_parse(wanted->devices, kf_judge_gpu_count(), &devices, error))
        return kf_fail_prefix(error, "--devices");
    kf_service_options options = {.store = wanted->store,
                                  .workers = wanted->workers.items,
                                  .worker_count = wanted->workers.count,
                                  .device = wanted->device,
                                  .devices = devices.items,
                                  .device_count = devices.count,
                                  .tasks = invocation->arguments,
                                  .task_count = invocation->argument_count,
                                  .queue_limit = (size_t)wanted->queue,
                                  .timeout_seconds = wanted->timeout,
                                  .strict_sandbox = strcmp(wanted->sandbox, "strict") == 0,
                                  .log = log_line,
                                  .log_context = (void *)(uintptr_t)invocation,
                                  .events = events};
    *service = kf_service_open(&options, error);
    return *service != NULL;
}

/* Waits for Ctrl-C or SIGTERM. */
static void wait_for_end(const kf_invocation *invocation)
{
    while (!*invocation->interrupts) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static int serve(const kf_invocation *invocation, const settings *wanted, kf_event_stream *events,
                 kf_error *error)
{
    char own[32];
    snprintf(own, sizeof own, "127.0.0.1:%lld", (long long)wanted->port);
    const char *standard[] = {own};
    kf_autofree char *token = wanted->token ? read_token(wanted->token, error) : NULL;
    if (wanted->token && !token) return -1;
    kf_web_options options = {.listen = wanted->listen.count ? wanted->listen.items : standard,
                              .listen_count = wanted->listen.count ? wanted->listen.count : 1,
                              .token = token};
    if (!kf_web_check(&options, error)) return -1;
    kf_auto(kf_service) service = NULL;
    if (!open_service(invocation, wanted, events, &service, error)) return -1;
    const kf_route *const routes[] = {kf_serve_judge_routes, kf_serve_read_routes,
                                      kf_serve_flashinfer_routes, kf_serve_kernelgym_routes};
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        options.tables[options.table_count++] = (kf_route_table){routes[i], service};
    kf_auto(kf_mcp) mcp =
        kf_mcp_new(&(kf_mcp_settings){.root = wanted->root, .jobs = service}, error);
    if (!mcp) return -1;
    options.tables[options.table_count++] = (kf_route_table){kf_serve_mcp_routes, mcp};
    kf_auto(kf_web) http = kf_web_open(&options, error);
    if (!http) return -1;
    const char *address;
    for (size_t i = 0; (address = kf_web_address(http, i)); i++)
        fprintf(invocation->output, "listening on %s\n", address);
    fflush(invocation->output);
    wait_for_end(invocation);
    return KF_EXIT_DONE;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    kf_auto(kf_event_stream) events = NULL;
    if (wanted->events && !(events = kf_event_stream_open(wanted->events, error))) return -1;
    kf_event_process_start(events, "serve", NULL);
    int status = serve(invocation, wanted, events, error);
    kf_event_process_end(events, status < 0 ? error : NULL, true);
    kf_error why;
    if (kf_event_stream_trouble(events, &why)) fprintf(invocation->log, "kforge: %s\n", why.text);
    return status;
}

static const kf_option options[] = {
    {KF_OPTION(INTEGER, "port", "PORT", settings, port), .letter = 'p', .fallback = "8642",
     .low = 0, .high = 65535,
     .help = "Listen on this port of 127.0.0.1. 0: any free port, which the first line names."},
    {KF_OPTION(LIST, "listen", "ADDRESS", settings, listen),
     .help = "Listen on ADDRESS:PORT or unix:PATH instead of --port. May be given several times."},
    {KF_OPTION(PATH, "token", "FILE", settings, token), .config = true,
     .help =
         "Ask clients for the token in this file. Addresses that other machines reach need it."},
    {KF_OPTION(INTEGER, "queue", "JOBS", settings, queue), .fallback = "1024", .low = 1,
     .high = 1000000, .help = "The most jobs that wait. Further ones are refused with status 429."},
    {KF_OPTION(PATH, "root", "DIR", settings, root),
     .help = "Let MCP clients (POST /mcp) name files below this folder. Default: they send "
             "sources."},
    KF_ROW_DEVICE(settings),
    {KF_OPTION(TEXT, "devices", "LIST", settings, devices), .config = true,
     .help = "Judge on these GPUs, one worker each: 0,2 or all."},
    KF_ROW_WORKERS(settings),
    KF_ROW_TIMEOUT(settings),
    KF_ROW_SANDBOX(settings),
    KF_ROW_EVENTS(settings),
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_serve = {
    .name = "serve",
    .synopsis = "[TASK...]",
    .summary = "Judge candidates for other programs over HTTP",
    .description =
        "One process owns the devices, a queue and a cache. Equal requests are judged once, and "
        "stored verdicts answer at once. docs/guide/serve.md has the routes.\n\nThe server offers "
        "the tasks of tasks/ and of the installation, and each TASK. It listens on this machine "
        "alone, unless --listen gives another address and --token a secret. It prints a line "
        "\"listening on ADDRESS\" for each address. Ctrl-C or SIGTERM ends it with all its jobs.",
    .examples =
        "kforge serve\tserves on http://127.0.0.1:8642\n"
        "kforge serve --devices all my_task\tuses all GPUs, and offers a task of your own, too\n"
        "kforge serve --listen 0.0.0.0:8642 --token token.txt\tserves other machines\n"
        "kforge serve --listen unix:/run/user/1000/kforge.sock\tserves programs of this user\n",
    .most_arguments = 100000,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
