/* The kforge program. It finds the command, reads its settings, runs it, prints its error and
 * checks that its output was written. This is the only file that exits. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "episode.h"
#include "help.h"
#include "terminal.h"
#include "kforge/gpu.h"
#include "api_key.h"

/* One row for each command, in the order of the overview. Commands of a group ("task new", "task
 * lint") are adjacent, and come before the command with the name of the group ("bench"). */
// clang-format off
#define COMMANDS(ROW) \
    ROW(optimize) \
    ROW(eval) \
    ROW(bench_report) \
    ROW(bench_compare) \
    ROW(bench) \
    ROW(prompt) \
    ROW(scan) \
    ROW(worker) \
    ROW(mcp) \
    ROW(serve) \
    ROW(list) \
    ROW(show) \
    ROW(task_new) \
    ROW(task_lint) \
    ROW(task_show) \
    ROW(task_bundle) \
    ROW(import_kernelbench) \
    ROW(import_robust) \
    ROW(import_cuda_l1) \
    ROW(import_torch) \
    ROW(export) \
    ROW(store_merge) \
    ROW(store_check) \
    ROW(store_repair) \
    ROW(store_delete) \
    ROW(store_stats) \
    ROW(store_backup) \
    ROW(store_vacuum) \
    ROW(store_migrate) \
    ROW(verdict_keygen) \
    ROW(verdict_verify) \
    ROW(selftest) \
    ROW(doctor) \
    ROW(trust) \
    ROW(help)
// clang-format on

#define DECLARE(NAME) extern const kf_command kf_command_##NAME;
#define LIST(NAME) &kf_command_##NAME,
COMMANDS(DECLARE)
static const kf_command *const commands[] = {COMMANDS(LIST) NULL};

static volatile int interrupts;

/* The first interrupt asks for an orderly end, the second for a quick one. The third exits at once.
 */
static void count_interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupts >= 2) _exit(KF_EXIT_INTERRUPTED);
    interrupts = interrupts + 1;
}

/* Asks for an orderly end. A terminal that closes sends this signal more than once, from the kernel
 * and from the shell, so it never ends kforge at once. */
static void take_hangup(int signal_number)
{
    (void)signal_number;
    if (!interrupts) interrupts = 1;
}

/* Lets a write to a closed pipe fail with EPIPE, and one beyond the limit of `ulimit -f` with
 * EFBIG. It is a handler, because child programs would inherit SIG_IGN. */
static void take_failed_write(int signal_number)
{
    (void)signal_number;
}

static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = count_interrupt, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = take_failed_write;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    /* nohup ignores it */
    struct sigaction before;
    action.sa_handler = take_hangup;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

/* Opens closed standard descriptors in a mode that fails. Otherwise the next opened file would get
 * their number, and output would go into the store. */
static void occupy_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(KF_EXIT_MACHINE);
}

/* Ends the process from another thread than the one that waits for the driver. The driver may still
 * keep the process alive, so the standard descriptors are closed first. */
static void end_in_silence(const char *text)
{
    char line[1024];
    int size = snprintf(line, sizeof line, "kforge: %s\n", text);
    if (write(STDERR_FILENO, line, (size_t)size) != size) errno = 0;
    for (int fd = 0; fd <= 2; fd++) close(fd);
    _exit(KF_EXIT_MACHINE);
}

static int exit_status(const kf_error *error)
{
    switch (error->code) {
    case KF_ERROR_INPUT:
    case KF_ERROR_LIMIT: return KF_EXIT_INPUT;
    default: return KF_EXIT_MACHINE;
    }
}

/* What commands print to (terminal.h). */
static FILE *output, *messages;

static int fail(const kf_error *error)
{
    fprintf(messages, "kforge: %s\n", interrupts ? "interrupted" : error->text);
    return interrupts ? KF_EXIT_INTERRUPTED : exit_status(error);
}

/* Turns unwritten output into a failure. A reader that ended early (`kforge list | head`) needs no
 * message. */
static int finish(int status)
{
    if (kf_terminal_flush(output)) return status;
    if (errno != EPIPE)
        fprintf(messages, "kforge: cannot write the results: %s\n",
                errno ? strerror(errno) : "the output failed");
    return status == KF_EXIT_INTERRUPTED ? status : KF_EXIT_MACHINE;
}

static int terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO)) return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40 ? size.ws_col : 80;
}

static int run(const kf_command *command, const char *const *arguments, size_t count)
{
    kf_error error = {0}, config_error = {0};
    char directory[4096];
    if (!getcwd(directory, sizeof directory))
        snprintf(directory, sizeof directory,
                 /* a deleted folder: files relative to it fail later */
                 "/nonexistent");
    const kf_surroundings surroundings = {.directory = directory,
                                          .environment = (const char *const *)environ};
    kf_autoparsed parsed = {0};
    kf_auto(kf_config) config = kf_config_load(commands, &surroundings, &config_error);
    bool settled = config && kf_environment_check(commands, &surroundings, &config_error);
    if (!settled && !command->tolerant) {
        /* Help works even with wrong settings. */
        if (!kf_options_parse(command, NULL, NULL, arguments, count, &parsed, &error) ||
            !parsed.help)
            return fail(&config_error);
    } else if (!kf_options_parse(command, settled ? config : NULL, settled ? &surroundings : NULL,
                                 arguments, count, &parsed, &error)) {
        return fail(&error);
    }
    int width = terminal_width();
    if (parsed.help) {
        kf_help_command(output, command, width);
        return finish(KF_EXIT_DONE);
    }
    if (parsed.left_out) fputs(parsed.left_out, messages);
    install_handlers();
    kf_gpu_on_silence(end_in_silence);
    kf_invocation invocation = {
        .program = "kforge",
        .arguments = parsed.arguments,
        .argument_count = parsed.argument_count,
        .output = output,
        .log = messages,
        .terminal = isatty(STDERR_FILENO),
        .interrupts = &interrupts,
        .color = isatty(STDOUT_FILENO) && !kf_environment_get(&surroundings, "NO_COLOR"),
        .width = width,
        .commands = commands,
        .config = config,
        .config_error = settled ? NULL : &config_error,
    };
    int status = command->run(&invocation, parsed.settings, &error);
    if (status < 0) {
        kf_terminal_flush(output);
        return fail(&error);
    }
    return finish(status);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static void print(void *context, const char *text)
{
    fputs(text, context);
}

/* Runs a command in an agent's jail, where kforge is a client of the judge outside. */
static int run_client(const char *socket_path, int argc, char **argv)
{
    kf_error error = {0};
    int status = kf_episode_client(socket_path, (const char *const *)argv + 1, (size_t)argc - 1,
                                   print, output, &error);
    if (status >= 0) return finish(status);
    kf_terminal_flush(output);
    return fail(&error);
}

int main(int argc, char **argv)
{
    /* before a child program can inherit them */
    kf_api_keys_hide();
    occupy_standard_descriptors();
    output = kf_terminal_stream(stdout, true);
    messages = kf_terminal_stream(stderr, false);
    const char *socket_path = getenv(KF_EPISODE_SOCKET);
    if (argc >= 1 && socket_path && *socket_path) return run_client(socket_path, argc, argv);
    if (argc == 2 && is_one_of(argv[1], "--version", "-V", "version")) {
        fputs("kforge " KFORGE_VERSION "\n", output);
        return finish(KF_EXIT_DONE);
    }
    if (argc < 2 || is_one_of(argv[1], "--help", "-h", "-?")) {
        kf_help_overview(output, commands, terminal_width());
        return finish(KF_EXIT_DONE);
    }
    if (argc == 3 && is_one_of(argv[2], "--help", "-h", "-?") &&
        kf_help_group(output, commands, argv[1], terminal_width()))
        return finish(KF_EXIT_DONE);
    kf_error error = {0};
    if (argv[1][0] == '-') {
        kf_fail(&error, KF_ERROR_INPUT,
                "%s: a command comes first, then its options; \"kforge help\" lists the commands",
                argv[1]);
        return fail(&error);
    }
    size_t used = 0;
    const char *const *words = (const char *const *)argv + 1;
    const kf_command *command = kf_command_find(commands, words, (size_t)argc - 1, &used, &error);
    return command ? run(command, words + used, (size_t)argc - 1 - used) : fail(&error);
}
