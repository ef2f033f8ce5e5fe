#include "input_generator.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error_codes.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "wire.h"

/* A call of get_inputs may take so many seconds. */
#define GENERATE_SECONDS 120.0

typedef struct row {
    bool known;
    /* When it was last taken. */
    uint64_t taken;
    uint64_t secret;
    uint32_t source;
} row;

struct kf_generator {
    const kf_problem *problem;
    kf_clock *clock;
    kf_runner *oracle;
    int fd;
    unsigned char *base;
    /* Of a row, and of each argument in it. */
    uint64_t row_bytes, offsets[KF_MAX_ARGUMENTS];
    uint32_t row_count;
    uint64_t takes;
    row *rows;
    /* How the oracle failed, and the device's error. */
    kf_runner_event event;
    int code;
    kf_runner_buffer *buffers;
    size_t buffer_count;
};

static uint64_t whole_pages(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* Lists the memory of each argument in each row. */
static void list_buffers(kf_generator *generator)
{
    const kf_problem *problem = generator->problem;
    for (uint32_t number = 0; number < generator->row_count; number++)
        for (int i = 0; i < problem->argument_count; i++)
            if (problem->arguments[i].distribution.generated)
                generator->buffers[generator->buffer_count++] = (kf_runner_buffer){
                    .fd = generator->fd,
                    .set = number,
                    .argument = (uint32_t)i,
                    .offset = number * generator->row_bytes + generator->offsets[i],
                    .length = whole_pages(problem->arguments[i].bytes),
                    .bytes = problem->arguments[i].bytes,
                    .generate = true};
}

bool kf_generator_is_needed(const kf_problem *problem)
{
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].distribution.generated) return true;
    return false;
}

uint64_t kf_generator_row_bytes(const kf_problem *problem)
{
    uint64_t bytes = 0;
    for (int i = 0; i < problem->argument_count; i++)
        if (problem->arguments[i].distribution.generated)
            bytes += whole_pages(problem->arguments[i].bytes);
    return bytes;
}

kf_generator *kf_generator_new(const kf_problem *problem, uint32_t rows, kf_clock *clock,
                               kf_error *error)
{
    kf_generator *made = calloc(1, sizeof *made);
    if (!made) return kf_fail_memory(error, "a generator of inputs"), NULL;
    if (rows > KF_WIRE_MAX_SETS) rows = KF_WIRE_MAX_SETS;
    *made = (kf_generator){.problem = problem, .clock = clock, .row_count = rows, .fd = -1};
    for (int i = 0; i < problem->argument_count; i++) {
        made->offsets[i] = made->row_bytes;
        if (problem->arguments[i].distribution.generated)
            made->row_bytes += whole_pages(problem->arguments[i].bytes);
    }
    uint64_t size = rows * made->row_bytes;
    made->rows = calloc(rows, sizeof *made->rows);
    made->buffers = calloc((size_t)rows * (size_t)problem->argument_count, sizeof *made->buffers);
    made->fd = memfd_create("kforge-inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool sealed = made->rows && made->buffers && made->fd >= 0 &&
                  ftruncate(made->fd, (off_t)size) == 0 &&
                  fcntl(made->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    void *base = sealed ? mmap(NULL, size, PROT_READ, MAP_SHARED, made->fd, 0) : MAP_FAILED;
    if (base != MAP_FAILED) {
        made->base = base;
        list_buffers(made);
        return made;
    }
    kf_generator_free(made);
    return kf_fail_memory(error, "a generator of inputs"), NULL;
}

void kf_generator_free(kf_generator *generator)
{
    if (!generator) return;
    if (generator->base) munmap(generator->base, generator->row_count * generator->row_bytes);
    if (generator->fd >= 0) close(generator->fd);
    free(generator->rows);
    free(generator->buffers);
    free(generator);
}

kf_runner_event kf_generator_hand_over(kf_generator *generator, kf_runner *oracle)
{
    generator->oracle = oracle;
    if (!oracle) return KF_RUNNER_OK;
    return kf_runner_map(oracle, generator->buffers, generator->buffer_count);
}

/* Returns the seed for one call of get_inputs. */
static uint64_t seed_of(uint64_t secret, uint32_t source)
{
    const uint64_t label[] = {secret, source, 0x67656e6572617465u};
    kf_hash hash = kf_hash_bytes(label, sizeof label);
    uint64_t seed;
    memcpy(&seed, hash.bytes, sizeof seed);
    return seed >> 1;
}

kf_runner_event kf_generator_event(const kf_generator *generator, int *code)
{
    *code = generator->code;
    return generator->event;
}

static bool fail(const kf_generator *generator, kf_runner_event event, int code, kf_error *error)
{
    kf_runner_explanation why;
    kf_autofree char *said = kf_runner_output(generator->oracle, 300);
    if (event == KF_RUNNER_STOPPED) return kf_fail(error, KF_ERROR_BUSY, "interrupted");
    kf_runner_explain(generator->oracle, event, "making inputs", &why);
    bool machine = event == KF_RUNNER_MACHINE || why.outside ||
                   (event == KF_RUNNER_DEVICE_ERROR && kf_cuda_error_is_machine(code));
    return kf_fail(error,
                   machine                      ? KF_ERROR_MACHINE
                   : event == KF_RUNNER_TIMEOUT ? KF_ERROR_LIMIT
                                                : KF_ERROR_INPUT,
                   "workload %s: the problem's own get_inputs fails: %s",
                   generator->problem->workload, said && said[0] ? said : why.text);
}

/* Has the oracle's runner fill a row. */
static bool make(kf_generator *generator, uint32_t number, uint64_t seed, kf_error *error)
{
    const uint32_t order[] = {number, (uint32_t)seed, (uint32_t)(seed >> 32)};
    kf_batch batch = {.order = order, .count = 3, .generate = true, .timeout = GENERATE_SECONDS};
    kf_clock *clock = generator->clock;
    double began = kf_now();
    kf_runner_event event = kf_runner_batch(generator->oracle, &batch);
    /* A slow generator ends the job at its ceiling. The time of one that fails is not given back:
     * the machine would be to blame for it. */
    if (event == KF_RUNNER_OK && clock && !clock->paused)
        kf_clock_exclude(clock, KF_PAUSE_STALL, kf_now() - began);
    generator->event = event;
    generator->code = batch.code;
    return event == KF_RUNNER_OK || fail(generator, event, batch.code, error);
}

const void *kf_generator_take(kf_generator *generator, uint64_t secret, uint32_t source,
                              int argument, kf_error *error)
{
    if (!generator || !generator->oracle)
        return kf_fail(error, KF_ERROR_INPUT,
                       "inputs of the problem's own get_inputs exist only while it is measured"),
               NULL;
    uint32_t number = 0;
    while (number < generator->row_count &&
           !(generator->rows[number].known && generator->rows[number].secret == secret &&
             generator->rows[number].source == source))
        number++;
    if (number == generator->row_count) {
        number = 0;
        for (uint32_t other = 1; other < generator->row_count; other++)
            if (generator->rows[other].taken < generator->rows[number].taken) number = other;
        generator->rows[number].known = false;
        if (!make(generator, number, seed_of(secret, source), error)) return NULL;
        generator->rows[number] = (row){.known = true, .secret = secret, .source = source};
    }
    generator->rows[number].taken = ++generator->takes;
    return generator->base + number * generator->row_bytes + generator->offsets[argument];
}
