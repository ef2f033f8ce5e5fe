/* A runner that does not keep to the protocol, for test_runner_process.c: argv[1] says in which
 * way. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

static void answer(uint32_t magic, uint32_t result, uint64_t nonce, int32_t code, size_t size)
{
    kf_wire_answer record = {
        .magic = magic, .result = result, .nonce = nonce, .code = code, .claimed_seconds = 1e-9};
    if (write(KF_WIRE_FD, &record, size) < 0) exit(9);
}

/* Two records in one write, so that both are there at once. */
static void twice(uint64_t nonce)
{
    kf_wire_answer records[2] = {{.magic = KF_WIRE_MAGIC, .nonce = nonce},
                                 {.magic = KF_WIRE_MAGIC, .nonce = nonce}};
    if (write(KF_WIRE_FD, records, sizeof records) < 0) exit(9);
}

static void good(uint64_t nonce)
{
    answer(KF_WIRE_MAGIC, KF_WIRE_OK, nonce, 0, sizeof(kf_wire_answer));
}

static void *rest(void *context)
{
    pause();
    return context;
}

static atomic_int kernel_thread;

static void *compute_in_the_kernel(void *context)
{
    atomic_store(&kernel_thread, gettid());
    size_t size = (size_t)1 << 42;
    void *range = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(range, size, MADV_NOHUGEPAGE);
    madvise(range, size, 22); /* MADV_POPULATE_READ */
    return context;
}

/* Waits until that thread has computed in the kernel for a clock tick. */
static void await_kernel_thread(void)
{
    for (unsigned long ticks = 0; ticks == 0; usleep(1000)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&kernel_thread));
        FILE *file = fopen(path, "r");
        /* Field 15; the name of the thread in field 2 has no space. */
        if (file && fscanf(file, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
                           &ticks) != 1)
            ticks = 0;
        if (file) fclose(file);
    }
}

/* Answers once the first thread has ended. */
static void *answer_after_the_leader(void *nonce)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    for (bool ended = false; !ended; usleep(1000)) {
        FILE *file = fopen(path, "r");
        ended = !file || !fgets(line, sizeof line, file) || strstr(line, ") Z ");
        if (file) fclose(file);
    }
    good(*(uint64_t *)nonce);
    return rest(NULL);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (strcmp(way, "no-hello") == 0) {
        pause();
    } else if (strcmp(way, "bad-hello") == 0) {
        answer(1, 0, 0, 0, sizeof(kf_wire_answer));
    } else if (strcmp(way, "short-hello") == 0) {
        answer(KF_WIRE_MAGIC, 0, 0, 0, 7);
        return 0;
    } else if (strcmp(way, "error-hello") == 0) {
        answer(KF_WIRE_MAGIC, KF_WIRE_DEVICE_ERROR, 0, 0, sizeof(kf_wire_answer));
    } else if (strcmp(way, "flooded-hello") == 0) {
        twice(0);
    } else {
        good(0);
    }
    uint64_t before = 0; /* nonce of the last answer */
    if (strcmp(way, "deaf") == 0) pause();
    for (;;) {
        kf_wire_command command;
        ssize_t got = recv(KF_WIRE_FD, &command, sizeof command, MSG_WAITALL);
        if (got != (ssize_t)sizeof command) return 0;
        if (command.type == KF_WIRE_BATCH) {
            char payload[4 * KF_WIRE_MAX_SETS];
            if (recv(KF_WIRE_FD, payload, 4 * command.count, MSG_WAITALL) < 0) return 0;
            prctl(PR_SET_NAME, "in-a-batch"); /* the test looks at it */
        }
        if (command.type == KF_WIRE_PING && strcmp(way, "refused-ping") == 0) {
            answer(KF_WIRE_MAGIC, KF_WIRE_BAD_COMMAND, command.nonce, 0, sizeof(kf_wire_answer));
            continue;
        }
        if (command.type == KF_WIRE_SCALARS) {
            char payload[8];
            if (recv(KF_WIRE_FD, payload, sizeof payload, MSG_WAITALL) < 0) return 0;
            if (strcmp(way, "dawdles") == 0) usleep(800000);
        }
        if (command.type != KF_WIRE_BATCH) {
            before = command.nonce;
            good(command.nonce);
            continue;
        }
        if (strcmp(way, "wrong-nonce") == 0)
            answer(KF_WIRE_MAGIC, KF_WIRE_OK, command.nonce + 1, 0, sizeof(kf_wire_answer));
        else if (strcmp(way, "replay") == 0)
            good(before);
        else if (strcmp(way, "wrong-magic") == 0)
            answer(0, KF_WIRE_OK, command.nonce, 0, sizeof(kf_wire_answer));
        else if (strcmp(way, "odd-result") == 0)
            answer(KF_WIRE_MAGIC, 4000000000u, command.nonce, 0, sizeof(kf_wire_answer));
        else if (strcmp(way, "no-code") == 0)
            answer(KF_WIRE_MAGIC, KF_WIRE_DEVICE_ERROR, command.nonce, 0, sizeof(kf_wire_answer));
        else if (strcmp(way, "device-error") == 0)
            answer(KF_WIRE_MAGIC, KF_WIRE_DEVICE_ERROR, command.nonce, 719, sizeof(kf_wire_answer));
        else if (strcmp(way, "twice") == 0)
            twice(command.nonce);
        else if (strcmp(way, "half") == 0)
            answer(KF_WIRE_MAGIC, KF_WIRE_OK, command.nonce, 0, 11), pause();
        else if (strcmp(way, "half-and-exit") == 0)
            return answer(KF_WIRE_MAGIC, KF_WIRE_OK, command.nonce, 0, 11), 0;
        else if (strcmp(way, "close") == 0)
            close(KF_WIRE_FD), pause();
        else if (strcmp(way, "close-and-exit") == 0)
            return close(KF_WIRE_FD), usleep(1300000), 0; /* as one that a busy machine ends late */
        else if (strcmp(way, "silent") == 0)
            pause();
        else if (strcmp(way, "slow") == 0)
            usleep(3000000), good(command.nonce);
        else if (strcmp(way, "flood") == 0) {
            char junk[4096];
            memset(junk, 0x5a, sizeof junk);
            for (;;)
                if (write(KF_WIRE_FD, junk, sizeof junk) < 0) return 0;
        } else if (strcmp(way, "helped") == 0) {
            static int helpers;
            pthread_t thread;
            if (helpers++ == 0) pthread_create(&thread, NULL, rest, NULL);
            good(command.nonce);
        } else if (strcmp(way, "unstoppable") == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, compute_in_the_kernel, NULL);
            await_kernel_thread();
            good(command.nonce);
        } else if (strcmp(way, "leader-ends") == 0) {
            static uint64_t nonce;
            pthread_t thread;
            nonce = command.nonce;
            pthread_create(&thread, NULL, answer_after_the_leader, &nonce);
            pthread_exit(NULL);
        } else if (strcmp(way, "moves") == 0) {
            cpu_set_t all;
            memset(&all, 0xff, sizeof all);
            sched_setaffinity(0, sizeof all, &all);
            good(command.nonce);
        } else if (strcmp(way, "chatter") == 0) {
            char line[4096];
            memset(line, 'x', sizeof line);
            for (int i = 0; i < 2560; i++) fwrite(line, 1, sizeof line, stdout);
            fflush(stdout);
            good(command.nonce);
        } else
            good(command.nonce);
    }
}
