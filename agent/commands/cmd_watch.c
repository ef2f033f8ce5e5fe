/* `kforge watch`: shows a run while it works, as a page or in the terminal. */
#include <string.h>
#include <time.h>

#include "command.h"
#include "kforge/file.h"
#include "output.h"
#include "run_terminal.h"
#include "serve.h"

typedef struct settings {
    const char *store;
    int64_t port;
    bool terminal;
} settings;

static bool make_key(char key[KF_WATCH_KEY], kf_error *error)
{
    unsigned char bytes[(KF_WATCH_KEY - 1) / 2];
    if (!kf_random(bytes, sizeof bytes))
        return kf_fail(error, KF_ERROR_MACHINE, "the system's random source failed");
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Prints how to end the command, and how to keep the page of a run that is over. */
static void print_notes(FILE *log, const kf_store_run *run)
{
    fprintf(log, "Open the address in a browser of this machine. Ctrl-C ends this command.\n");
    if (run->status != KF_RUN_RUNNING || !run->alive)
        fprintf(log,
                "The run is over (%s): \"kforge show %s --html FILE\" writes the page as a file.\n",
                kf_run_state(run), run->id);
    fflush(log);
}

static int serve_page(const kf_invocation *invocation, const settings *wanted,
                      const kf_store_run *run, kf_watched *watched, kf_error *error)
{
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%lld", (long long)wanted->port);
    const char *const listen[] = {address};
    kf_web_options options = {.listen = listen,
                              .listen_count = 1,
                              .tables = {{kf_serve_watch_routes, watched}},
                              .table_count = 1};
    kf_auto(kf_web) web = kf_web_open(&options, error);
    if (!web) return -1;
    fprintf(invocation->output, "watching run %s at %s/%s/\n", watched->run, kf_web_address(web, 0),
            watched->key);
    fflush(invocation->output);
    print_notes(invocation->log, run);
    while (!*invocation->interrupts) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    return KF_EXIT_DONE;
}

static int run(const kf_invocation *invocation, const void *values, kf_error *error)
{
    const settings *wanted = values;
    const char *word = invocation->argument_count ? invocation->arguments[0] : "latest";
    kf_auto(kf_store) store = NULL;
    kf_autoresult kf_store_run found = {0};
    if (!kf_open_to_read(wanted->store, &store, error)) return -1;
    if (!store) return kf_fail(error, KF_ERROR_INPUT, "%s: the store has no runs yet", word), -1;
    if (!kf_store_find_run(store, word, &found, error)) return -1;
    if (wanted->terminal)
        return kf_run_terminal(store, found.id, invocation, error) ? KF_EXIT_DONE : -1;
    kf_watched watched = {.store = store};
    memcpy(watched.run, found.id, sizeof watched.run);
    if (!make_key(watched.key, error)) return -1;
    return serve_page(invocation, wanted, &found, &watched, error);
}

static const kf_option options[] = {
    {KF_OPTION(FLAG, "terminal", NULL, settings, terminal), .letter = 't',
     .help = "Show the run in this terminal until it ends. Into a pipe: once."},
    {KF_OPTION(INTEGER, "port", "PORT", settings, port), .letter = 'p', .fallback = "0", .low = 0,
     .high = 65535,
     .help =
         "Serve the page on this port of 127.0.0.1. 0: any free port, which the first line names."},
    KF_ROW_STORE(settings),
    {0},
};

const kf_command kf_command_watch = {
    .name = "watch",
    .synopsis = "[RUN]",
    .summary = "Watch a run while it works",
    .description =
        "RUN is an id, the beginning of one, or \"last\" (the default). The page shows the best so "
        "far, the family of candidates with their sources, prompts, replies and verdicts, and the "
        "models. It only reads the store. Its address has a secret key, and only this machine can "
        "reach it. \"kforge show RUN --html FILE\" "
        "writes the same page as one file.",
    .examples = "kforge watch\tprints the address of the latest run's page\n"
                "kforge watch --terminal\tshows it here\n",
    .most_arguments = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run,
};
