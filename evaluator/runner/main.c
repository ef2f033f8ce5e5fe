/* kforge-runner: the untrusted program. It loads one compiled candidate, maps buffers, and calls
 * the entry on the judge's command.
 *
 * It is the only process in its sandbox. The order of its steps matters:
 *   1. Start the device (device_cpu.c, device_cuda.c) with all its threads, so that the judge can
 *      count the honest threads.
 *   2. Install the second, stricter system call filter.
 *   3. Send the hello.
 *   4. Load the candidate. Its constructors are the first untrusted code.
 * The judge believes nothing that this program says (wire.h). So the program is simple: it keeps no
 * secrets and checks no results.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "kforge/sandbox.h"
#include "stream_page.h"

typedef void (*entry_function)(void *const *buffers, const uint64_t *scalars, void *stream);
typedef int (*error_function)(void);

static struct {
    const char *binary;
    void *stream;
    entry_function entry;
    /* Of the candidate's own copy of the CUDA runtime. */
    error_function last_error;
    /* Set by set, `arguments` of them each, so that they stay in the cache. */
    void *pointers[KF_WIRE_MAX_SETS * KF_WIRE_MAX_ARGUMENTS];
    uint64_t scalars[KF_WIRE_MAX_ARGUMENTS];
    uint32_t order[KF_WIRE_MAX_SETS];
    double pinged;
    /* Sets from set_limit on have no pointers. */
    uint32_t arguments, set_limit;
    /* The arguments that a call writes its results to, and the bytes of each argument. */
    uint32_t results[KF_WIRE_MAX_ARGUMENTS], result_count;
    uint64_t bytes[KF_WIRE_MAX_ARGUMENTS];
} runner;

static void **pointers_of(uint32_t set)
{
    return &runner.pointers[(size_t)set * runner.arguments];
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int receive_all(void *data, size_t size)
{
    char *bytes = data;
    while (size) {
        ssize_t got = read(KF_WIRE_FD, bytes, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        bytes += got;
        size -= (size_t)got;
    }
    return 1;
}

/* Receives a command. *fd: its descriptor, or -1. */
static int receive_command(kf_wire_command *command, int *fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = command, .iov_len = sizeof *command};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    *fd = -1;
    /* A batch follows a ping at once, and waking up would be timed. */
    for (double until = runner.pinged + kf_runner_lookout; now() < until;) {
        got = recv(KF_WIRE_FD, command, 1, MSG_DONTWAIT | MSG_PEEK);
        if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) break;
    }
    do got = recvmsg(KF_WIRE_FD, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *command || command->magic != KF_WIRE_MAGIC) return 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return 1;
}

static int send_all(const void *data, size_t left)
{
    const char *bytes = data;
    while (left) {
        ssize_t sent = write(KF_WIRE_FD, bytes, left);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return 0;
        bytes += sent;
        left -= (size_t)sent;
    }
    return 1;
}

static int answer(uint64_t nonce, enum kf_wire_result result, int code, double claimed, double gap)
{
    kf_wire_answer record = {.magic = KF_WIRE_MAGIC,
                             .result = result,
                             .nonce = nonce,
                             .code = code,
                             .claimed_seconds = claimed,
                             .gap_seconds = gap};
    return send_all(&record, sizeof record);
}

static enum kf_wire_result load(void)
{
    void *library = dlopen(runner.binary, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "kforge-runner: %s\n", dlerror());
        return KF_WIRE_LOAD_FAILED;
    }
    *(void **)&runner.entry = dlsym(library, "kforge_entry");
    if (!runner.entry) {
        fprintf(stderr, "kforge-runner: the binary has no kforge_entry\n");
        return KF_WIRE_LOAD_FAILED;
    }
    *(void **)&runner.last_error = dlsym(library, "kforge_error");
    return KF_WIRE_OK;
}

static enum kf_wire_result map_progress(int fd)
{
    kf_wire_progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (progress == MAP_FAILED) return KF_WIRE_MAP_FAILED;
    progress->kept = kf_runner_show_progress(&progress->begun) ? 1 : 0;
    return KF_WIRE_OK;
}

static enum kf_wire_result map_buffer(const kf_wire_command *command, int fd)
{
    if (fd >= 0 && command->flags & KF_WIRE_STREAM_PAGE) {
        void *page = kf_runner_map(command, fd);
        kf_runner_take_page(page);
        return page ? KF_WIRE_OK : KF_WIRE_MAP_FAILED;
    }
    if (command->flags & KF_WIRE_PROGRESS) return map_progress(fd);
    if (fd < 0 || command->set >= KF_WIRE_MAX_SETS || command->argument >= runner.arguments ||
        !command->length)
        return KF_WIRE_BAD_COMMAND;
    void *data = kf_runner_map(command, fd);
    pointers_of(command->set)[command->argument] = data;
    if (command->set >= runner.set_limit) runner.set_limit = command->set + 1;
    if (command->flags & KF_WIRE_RESULT && !runner.bytes[command->argument]) {
        runner.bytes[command->argument] = command->bytes;
        runner.results[runner.result_count++] = command->argument;
    }
    return data ? KF_WIRE_OK : KF_WIRE_MAP_FAILED;
}

static void unmap_all(void)
{
    kf_runner_unmap();
    memset(runner.pointers, 0,
           (size_t)runner.set_limit * runner.arguments * sizeof runner.pointers[0]);
    runner.set_limit = runner.result_count = 0;
    memset(runner.bytes, 0, sizeof runner.bytes);
}

/* Samples the results of call `number` if it is one of those that the nonce chooses. */
static void sample_results(const kf_wire_command *command, uint32_t number, void *const *pointers)
{
    for (uint32_t slot = 0; slot < KF_SAMPLE_SLOTS && runner.result_count; slot++) {
        if (kf_sample_call(command->nonce, slot, command->count) != number) continue;
        uint32_t argument =
            runner.results[kf_sample_output(command->nonce, slot, runner.result_count)];
        kf_runner_sample(command->nonce, slot, pointers[argument], runner.bytes[argument]);
    }
}

static int run_batch(const kf_wire_command *command)
{
    if (command->count > KF_WIRE_MAX_SETS ||
        !receive_all(runner.order, command->count * sizeof *runner.order))
        return 0;
    bool empty = (command->flags & KF_WIRE_EMPTY) || !runner.entry;
    kf_runner_reverse(command->flags & KF_WIRE_REVERSED            ? 1
                      : command->flags & KF_WIRE_REVERSED_BUT_LAST ? 2
                                                                   : 0);
    double started = now();
    if (empty) kf_runner_nothing();
    for (uint32_t i = 0; i < command->count; i++) {
        if (runner.order[i] >= KF_WIRE_MAX_SETS)
            return answer(command->nonce, KF_WIRE_BAD_COMMAND, 0, 0, 0);
        void **pointers = pointers_of(runner.order[i]);
        if (empty) continue;
        kf_runner_begin_call(i);
        runner.entry(pointers, runner.scalars, runner.stream);
        sample_results(command, i, pointers);
    }
    int code = kf_runner_wait_stream();
    double streamed = now();
    int device_code = kf_runner_wait_device();
    double ended = now();
    int last = runner.last_error ? runner.last_error() : 0;
    if (!code) code = device_code ? device_code : last;
    if (code) kf_runner_complain(code);
    return answer(command->nonce, code ? KF_WIRE_DEVICE_ERROR : KF_WIRE_OK, code, ended - started,
                  ended - streamed);
}

static void call_one(void *context)
{
    runner.entry(pointers_of(*(const uint32_t *)context), runner.scalars, runner.stream);
}

static int run_count(const kf_wire_command *command)
{
    static kf_count_records records;
    const kf_count_header *header = &records.header;
    uint32_t set = command->set;
    if (set >= KF_WIRE_MAX_SETS || !runner.entry ||
        !kf_runner_count(call_one, &set, command->count, &records))
        return answer(command->nonce, KF_WIRE_BAD_COMMAND, 0, 0, 0);
    return answer(command->nonce, KF_WIRE_OK, 0, 0, 0) && send_all(header, sizeof *header) &&
           send_all(records.launches, header->launches * sizeof records.launches[0]) &&
           send_all(records.works, header->works * sizeof records.works[0]) &&
           send_all(records.lines, header->lines * sizeof records.lines[0]);
}

static int serve(void)
{
    for (;;) {
        kf_wire_command command;
        int fd;
        if (!receive_command(&command, &fd)) return 0;
        int alive = 1;
        switch (command.type) {
        case KF_WIRE_LOAD: alive = answer(command.nonce, load(), 0, 0, 0); break;
        case KF_WIRE_SCALARS: {
            alive = command.count <= KF_WIRE_MAX_ARGUMENTS &&
                    receive_all(runner.scalars, command.count * sizeof *runner.scalars);
            runner.arguments = alive ? command.count : 0;
            if (alive) alive = answer(command.nonce, KF_WIRE_OK, 0, 0, 0);
            break;
        }
        case KF_WIRE_MAP: alive = answer(command.nonce, map_buffer(&command, fd), 0, 0, 0); break;
        case KF_WIRE_UNMAP:
            unmap_all();
            alive = answer(command.nonce, KF_WIRE_OK, 0, 0, 0);
            break;
        case KF_WIRE_PING:
            kf_runner_ready();
            alive = answer(command.nonce, KF_WIRE_OK, 0, 0, 0);
            runner.pinged = now();
            break;
        case KF_WIRE_BATCH: alive = run_batch(&command); break;
        case KF_WIRE_COUNT: alive = run_count(&command); break;
        case KF_WIRE_QUIT: return 1;
        default: alive = answer(command.nonce, KF_WIRE_BAD_COMMAND, 0, 0, 0);
        }
        if (fd >= 0) close(fd);
        if (!alive) return 0;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "kforge-runner: kforge starts this program; start `kforge eval` instead\n");
        return 2;
    }
    runner.binary = argv[1];
    runner.stream = kf_runner_start();
    if (!runner.stream) return 3;
    int refused = kf_sandbox_lockdown();
    if (refused) fprintf(stderr, "kforge-runner: second filter refused: %s\n", strerror(-refused));
    if (!answer(0, KF_WIRE_OK, refused, 0, 0)) return 1;
    return serve() ? 0 : 1;
}
