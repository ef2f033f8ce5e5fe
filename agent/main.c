/* The kforge program. It finds the command, reads its settings, runs it, prints its error and
 * checks that its output was written. This is the only file that exits. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shell_command.h"
#include "episode.h"
#include "help.h"
#include "terminal.h"
#include "kforge/gpu.h"
#include "mcp.h"
#include "nearest.h"
#include "output.h"
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
    ROW(watch) \
    ROW(diff) \
    ROW(task_new) \
    ROW(task_lint) \
    ROW(task_show) \
    ROW(task_bundle) \
    ROW(import_kernelbench) \
    ROW(import_robust) \
    ROW(import_cuda_l1) \
    ROW(import_sol_execbench) \
    ROW(import_flashinfer) \
    ROW(import_gpu_mode) \
    ROW(import_kernelbench_com) \
    ROW(import_raw) \
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
/* The first Ctrl-C says on the terminal that a second one is possible. */
static bool explains_interrupt;

/* The first interrupt asks for an orderly end, the second for a quick one. The third exits at once.
 */
static void count_interrupt(int signal_number)
{
    static const char words[] = "\nfinishing what is in flight; Ctrl-C again stops at once\n";
    int before = errno;
    if (interrupts >= 2) _exit(KF_EXIT_INTERRUPTED);
    interrupts = interrupts + 1;
    if (interrupts == 1 && explains_interrupt && signal_number == SIGINT &&
        write(STDERR_FILENO, words, sizeof words - 1) < 0)
        errno = 0;
    errno = before;
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

/* --json was given: errors are JSON, too. */
static bool json_errors;

static int fail(const kf_error *error)
{
    static const kf_error interrupted = {.code = KF_ERROR_INPUT, .text = "interrupted"};
    const kf_error *shown = interrupts ? &interrupted : error;
    int status = interrupts ? KF_EXIT_INTERRUPTED : exit_status(error);
    fprintf(messages, "kforge: %s\n", shown->text);
    if (json_errors) {
        kf_print_json_error(output, shown, status, NULL);
        kf_terminal_flush(output);
    }
    return status;
}

/* argv[0] as a word of a command line, if "kforge" alone does not start this program: "./run",
 * "build/release/bin/kforge". */
static kf_buffer called;

/* True if the PATH finds this program as "kforge". */
static bool is_on_path(void)
{
    struct stat own, found;
    if (stat("/proc/self/exe", &own) != 0) return false;
    for (const char *at = getenv("PATH"); at; at = strchr(at, ':'), at = at ? at + 1 : NULL) {
        char path[4096];
        int size = (int)strcspn(at, ":");
        if (snprintf(path, sizeof path, "%.*s/kforge", size, at) >= (int)sizeof path ||
            stat(path, &found) != 0)
            continue;
        return found.st_dev == own.st_dev && found.st_ino == own.st_ino;
    }
    return false;
}

/* Lets hints name the program as it was called. Not those of a worker: they are about other
 * machines. */
static void name_program(void)
{
    static const char *const words[] = {"optimize", "eval",   "bench", "prompt",  "scan",
                                        "mcp",      "serve",  "list",  "show",    "task",
                                        "import",   "export", "store", "verdict", "selftest",
                                        "doctor",   "trust",  "help",  NULL};
    if (called.data) kf_terminal_name_program(called.data, words);
}

static bool gives_json(const char *const *arguments, size_t count)
{
    for (size_t i = 0; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (strcmp(arguments[i], "--json") == 0) return true;
    return false;
}

/* Prints each line of `lines` as a message. */
static void warn(const char *lines)
{
    while (lines && *lines) {
        int size = (int)strcspn(lines, "\n");
        fprintf(messages, "kforge: %.*s\n", size, lines);
        lines += size + (lines[size] != '\0');
    }
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

#define USUAL_WIDTH 80
#define LEAST_WIDTH 20

static int terminal_width(void)
{
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO)) return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col) return USUAL_WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

static bool is_quiet(const kf_command *command, const void *settings)
{
    const kf_option *option = kf_option_find(command, "quiet");
    return option && *(const bool *)((const char *)settings + option->offset);
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
    kf_autobuffer unknown = {0};
    bool settled = config && kf_environment_check(commands, &surroundings, &unknown, &config_error);
    json_errors = kf_option_find(command, "json") && gives_json(arguments, count);
    warn(unknown.data);
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
        kf_terminal_name_program(NULL, NULL);
        kf_help_command(output, command, width);
        return finish(KF_EXIT_DONE);
    }
    if (parsed.left_out) fputs(parsed.left_out, messages);
    explains_interrupt = isatty(STDERR_FILENO);
    kf_autofclose FILE *quiet = NULL;
    install_handlers();
    kf_gpu_on_silence(end_in_silence);
    kf_invocation invocation = {
        .arguments = parsed.arguments,
        .argument_count = parsed.argument_count,
        .output = output,
        .log = messages,
        .errors = messages,
        .terminal = isatty(STDERR_FILENO),
        .interrupts = &interrupts,
        .color = isatty(STDOUT_FILENO) && !kf_environment_get(&surroundings, "NO_COLOR"),
        .width = width,
        .commands = commands,
        .config = config,
        .config_error = settled ? NULL : &config_error,
    };
    if (is_quiet(command, parsed.settings) && (quiet = fopen("/dev/null", "we"))) {
        invocation.log = quiet;
        invocation.terminal = false;
    }
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

/* Serves the judge outside as tools of the Model Context Protocol. Returns an exit status, or -1.
 */
static int serve_client(const char *socket_path, kf_error *error)
{
    /* The socket lies in the agent's folder. */
    kf_autofree char *folder =
        strndup(socket_path, (size_t)(strrchr(socket_path, '/') - socket_path));
    kf_mcp_settings settings = {.root = folder, .socket = socket_path};
    kf_auto(kf_mcp) server = folder ? kf_mcp_new(&settings, error) : NULL;
    install_handlers();
    return server && kf_mcp_serve(server, STDIN_FILENO, STDOUT_FILENO, &interrupts, error)
               ? KF_EXIT_DONE
               : -1;
}

/* Runs a command in an agent's jail, where kforge is a client of the judge outside. */
static int run_client(const char *socket_path, int argc, char **argv)
{
    kf_error error = {0};
    bool serves = argc == 2 && strcmp(argv[1], "mcp") == 0 && strchr(socket_path, '/');
    int status = serves ? serve_client(socket_path, &error)
                        : kf_episode_client(socket_path, (const char *const *)argv + 1,
                                            (size_t)argc - 1, print, output, &error);
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
    if (argc >= 1 && strchr(argv[0], '/') && !is_on_path())
        kf_command_append_word(&called, argv[0]);
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
    json_errors = gives_json((const char *const *)argv + 1, (size_t)argc - 1);
    if (strcmp(argv[1], "help") != 0) name_program();
    if (argv[1][0] == '-') {
        static const char *const known[] = {"--version", "--help"};
        const char *near = kf_nearest(argv[1], known, sizeof known / sizeof *known);
        if (near)
            kf_fail(&error, KF_ERROR_INPUT, "%s: unknown option; did you mean %s?", argv[1], near);
        else
            kf_fail(&error, KF_ERROR_INPUT,
                    "%s: a command comes first, then its options; \"kforge help\" lists the "
                    "commands",
                    argv[1]);
        return fail(&error);
    }
    size_t used = 0;
    const char *const *words = (const char *const *)argv + 1;
    const kf_command *command = kf_command_find(commands, words, (size_t)argc - 1, &used, &error);
    return command ? run(command, words + used, (size_t)argc - 1 - used) : fail(&error);
}
