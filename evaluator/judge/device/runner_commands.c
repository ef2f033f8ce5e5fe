/* The commands to a runner but the batch: load, scalars, map, unmap, count. */
#include "runner_process_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters_wire.h"
#include "kforge/file.h"

/* Shares the page in which the runner shows its progress. Comes before any foreign code. */
static kf_runner_event share_progress(kf_runner *runner, double seconds)
{
    kf_autoclose int fd = memfd_create("kforge-progress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    long page = sysconf(_SC_PAGESIZE);
    if (fd < 0 || ftruncate(fd, page) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return kf_runner_fail(runner, "no shared memory for a runner's progress");
    void *shared = mmap(NULL, sizeof *runner->progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) return kf_runner_fail(runner, "cannot map a runner's progress");
    runner->progress = shared;
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_MAP, .flags = KF_WIRE_PROGRESS};
    kf_runner_event event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_only_good(
            runner, kf_runner_ask(runner, &command, NULL, 0, fd, seconds, &answer), &answer);
    if (event != KF_RUNNER_OK || runner->progress->kept) return event;
    munmap(shared, sizeof *runner->progress);
    runner->progress = NULL;
    return event;
}

kf_runner_event kf_runner_load(kf_runner *runner, double seconds)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_LOAD};
    kf_runner_event event =
        runner->kind == KF_RUNNER_PLAIN || (runner->kind == KF_RUNNER_TORCH && !runner->held.loaded)
            ? share_progress(runner, seconds)
            : KF_RUNNER_OK;
    if (!runner->held.maps) runner->held.maps = kf_runner_maps(runner);
    if (event == KF_RUNNER_OK) event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_ask(runner, &command, NULL, 0, -1, seconds, &answer);
    runner->held.loaded = true;
    if (event == KF_RUNNER_OK) event = kf_runner_freeze_and_seal(runner);
    if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK)
        event = kf_runner_end(runner, KF_RUNNER_REFUSED);
    runner->open = event == KF_RUNNER_OK && runner->kind == KF_RUNNER_COMPILED &&
                   !kf_sandbox_settle(runner->sandbox);
    return event;
}

kf_runner_event kf_runner_scalars(kf_runner *runner, const uint64_t *values, uint32_t count)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_SCALARS, .count = count};
    kf_runner_event event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_only_good(
            runner,
            kf_runner_ask_command(runner, &command, values, count * sizeof *values, &answer),
            &answer);
    if (event == KF_RUNNER_OK) event = kf_runner_freeze(runner);
    return event;
}

/* Sends many commands at a time, since one at a time would wait for each answer. */
kf_runner_event kf_runner_map(kf_runner *runner, const kf_runner_buffer *buffers, size_t count)
{
    /* So few that the messages of neither side fill the socket. */
    enum { AHEAD = 32 };
    kf_runner_event event = runner->dead ? KF_RUNNER_ENDED : kf_runner_let_open(runner, true);
    if (event == KF_RUNNER_OK) event = kf_runner_wake(runner);
    for (size_t first = 0; first < count && event == KF_RUNNER_OK; first += AHEAD) {
        size_t some = count - first < AHEAD ? count - first : AHEAD;
        uint64_t nonces[AHEAD];
        kf_runner_timeout own, *runner_timeout = kf_runner_command_timeout(runner, &own);
        if (!kf_random(nonces, sizeof nonces))
            return kf_runner_fail(runner, "the kernel's random source (getrandom) refuses");
        for (size_t i = 0; i < some && event == KF_RUNNER_OK; i++) {
            const kf_runner_buffer *b = &buffers[first + i];
            kf_wire_command command = {
                .magic = KF_WIRE_MAGIC,
                .type = KF_WIRE_MAP,
                .nonce = nonces[i],
                .flags = (b->read_only ? KF_WIRE_READ_ONLY : 0) |
                         (b->output_directory ? KF_WIRE_OUTPUT_DIRECTORY : 0) |
                         (b->device_pool ? KF_WIRE_DEVICE_POOL : 0) |
                         (b->stream_page ? KF_WIRE_STREAM_PAGE : 0) |
                         (b->result ? KF_WIRE_RESULT : 0) | (b->check ? KF_WIRE_CHECK : 0) |
                         (b->generate ? KF_WIRE_GENERATE : 0),
                .set = b->set,
                .argument = b->argument,
                .offset = b->offset,
                .length = b->length,
                .data_offset = b->data_offset,
                .bytes = b->bytes,
                .region_bytes = b->region_bytes,
                .address = b->address,
                .region = b->region};
            event = kf_runner_send(runner, &command, sizeof command, b->fd, runner_timeout);
        }
        for (size_t i = 0; i < some && event == KF_RUNNER_OK; i++) {
            kf_wire_answer answer;
            event = kf_runner_await(runner, nonces[i], runner_timeout, &answer);
            if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK)
                event = kf_runner_end(runner, KF_RUNNER_REFUSED);
        }
    }
    return event == KF_RUNNER_OK ? kf_runner_freeze_and_seal(runner) : event;
}

kf_runner_event kf_runner_unmap(kf_runner *runner)
{
    kf_wire_answer answer;
    kf_wire_command command = {.type = KF_WIRE_UNMAP};
    kf_runner_event event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_only_good(
            runner, kf_runner_ask_command(runner, &command, NULL, 0, &answer), &answer);
    return event == KF_RUNNER_OK ? kf_runner_freeze(runner) : event;
}

static kf_runner_event receive_header(kf_runner *runner, kf_count_header *header,
                                      kf_runner_timeout *runner_timeout)
{
    kf_runner_event event = kf_runner_receive(runner, header, sizeof *header, runner_timeout);
    bool known = header->magic == KF_WIRE_MAGIC && header->launches <= KF_COUNT_LAUNCHES &&
                 header->works <= KF_COUNT_WORKS && header->lines <= KF_COUNT_LINES;
    return event == KF_RUNNER_OK && !known ? kf_runner_end(runner, KF_RUNNER_FORGED) : event;
}

kf_runner_event kf_runner_count(kf_runner *runner, uint32_t set, uint32_t passes, double seconds,
                                kf_count_records *records)
{
    kf_wire_answer answer;
    const kf_count_header *header = &records->header;
    kf_wire_command command = {.type = KF_WIRE_COUNT, .set = set, .count = passes};
    kf_runner_timeout runner_timeout;
    kf_runner_timeout_begin(&runner_timeout, seconds, kf_now());
    kf_runner_event event = kf_runner_wake(runner);
    if (event == KF_RUNNER_OK)
        event = kf_runner_ask_within(runner, &command, NULL, 0, -1, &runner_timeout, &answer);
    if (event == KF_RUNNER_OK && answer.result != KF_WIRE_OK)
        return kf_runner_end(runner, KF_RUNNER_REFUSED);
    if (event == KF_RUNNER_OK) event = receive_header(runner, &records->header, &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = kf_runner_receive(runner, records->launches,
                                  header->launches * sizeof records->launches[0], &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = kf_runner_receive(runner, records->works, header->works * sizeof records->works[0],
                                  &runner_timeout);
    if (event == KF_RUNNER_OK)
        event = kf_runner_receive(runner, records->lines, header->lines * sizeof records->lines[0],
                                  &runner_timeout);
    return event == KF_RUNNER_OK ? kf_runner_freeze(runner) : event;
}
