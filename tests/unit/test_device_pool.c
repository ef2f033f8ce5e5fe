/* Tests of parts for a GPU that need no GPU: the size of a result pool, the entries of the output
 * directory, looks into the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "test_main.h"
#include "cache_look.h"
#include "output_directory_wire.h"
#include "device_pool_cuda.h"
#include "output_directory.h"

#define GIB (1ull << 30)
#define MIB (1ull << 20)

/* allocations are of whole granules */
static const kf_cuda_memory h200 = {150109880320, 12 * GIB, 1024, 0, false},
                            of_80_gb = {85017493504, 12 * GIB, 1024, 0, false},
                            a_gpu = {48 * GIB, 12 * GIB, 1024, 0, false};

static kf_problem problem_of(int64_t rows, int64_t columns)
{
    kf_problem problem = {.argument_count = 2, .total_bytes = (uint64_t)(2 * rows * columns) * 4};
    for (int i = 0; i < 2; i++) {
        kf_problem_argument *a = &problem.arguments[i];
        *a = (kf_problem_argument){.name = i ? "out" : "x",
                                   .kind = i ? KF_OUTPUT : KF_INPUT,
                                   .dtype = KF_F32,
                                   .dims = 2,
                                   .shape = {rows, columns},
                                   .elements = rows * columns,
                                   .bytes = (uint64_t)(rows * columns) * 4};
    }
    return problem;
}

static void an_arena_leaves_room_for_what_follows(void **state)
{
    (void)state;
    static kf_problem small, large;
    small = problem_of(64, 4096);
    uint64_t bytes = kf_cuda_device_pool_bytes(&small, KF_ROLE_CANDIDATE, 8 * GIB, &h200);
    assert_true(bytes >= GIB + 1024 * small.arguments[1].bytes && bytes < 8 * GIB);
    large = problem_of(4096, 65536); /* 1 GiB each way */
    uint64_t one = large.total_bytes, free_bytes = 60 * GIB;
    uint64_t candidate = kf_cuda_device_pool_bytes(&large, KF_ROLE_CANDIDATE, free_bytes, &h200);
    assert_true(candidate >= 8 * one && candidate + one * 3 < free_bytes);
    assert_true(kf_cuda_device_pool_bytes(&large, KF_ROLE_BASELINE, free_bytes, &h200) <=
                free_bytes / 2);
    /* A pool has its least size even if less memory is free. */
    assert_int_equal(kf_cuda_device_pool_bytes(&large, KF_ROLE_BASELINE, GIB, &h200),
                     kf_cuda_device_pool_least(&large, 3));
    assert_true(kf_cuda_device_pool_least(&large, 3) > 3 * GIB);
    /* 4096 x 393216 on 140 GiB: three sets (36 GiB), the truth of one (12 GiB) and contexts take
     * memory. Both sides and the oracle still find room. */
    large = problem_of(4096, 393216);
    free_bytes = 90 * GIB;
    uint64_t baseline = kf_cuda_device_pool_bytes(&large, KF_ROLE_BASELINE, free_bytes, &h200);
    assert_true(baseline >= 18 * GIB + (256ull << 20));
    candidate = kf_cuda_device_pool_bytes(&large, KF_ROLE_CANDIDATE, free_bytes - baseline, &h200);
    assert_true(candidate >= 18 * GIB + (256ull << 20) &&
                baseline + candidate + 24 * GIB < free_bytes);
}

/* Problem 1/30 of KernelBench, x / (1 + |x|) over 4096 x 393216, holds two results and two
 * temporaries at a time in a pool (24 GiB). Its oracle holds four values in float64 (48 GiB, of
 * which 36 GiB at a time). All fit into 140 GiB if no process takes memory that another one
 * needs. */
static void what_temporaries_take_is_shared_out(void **state)
{
    (void)state;
    static kf_problem softsign, convolution;
    const uint64_t free_bytes = 89 * GIB, needs = 24 * GIB + (200ull << 20), oracle = 36 * GIB;
    softsign = problem_of(4096, 393216);
    uint64_t baseline = kf_cuda_device_pool_bytes(&softsign, KF_ROLE_BASELINE, free_bytes, &h200);
    assert_true(baseline >= needs);
    uint64_t left = free_bytes - baseline;
    uint64_t candidate = kf_cuda_device_pool_bytes(&softsign, KF_ROLE_CANDIDATE, left, &h200);
    assert_true(candidate >= needs &&
                candidate + oracle <= left -
                                          /* blocks of 12 GiB that just fit do not suffice: contexts
                                           * need memory, too */
                                          GIB);
    /* both sides have equal room for workspaces */
    assert_true(candidate >= baseline - GIB && candidate <= baseline + GIB);

    /* 1/63: inputs of 1 GiB, a result of 8 GiB. Three sets with all their truths (75 GiB) would
     * leave 63 GiB for two pools of 24 GiB and the oracle. */
    convolution = problem_of(4096, 65536);
    convolution.arguments[1].bytes = convolution.arguments[1].elements * 32;
    convolution.arguments[1].elements *= 8;
    convolution.total_bytes = convolution.arguments[0].bytes + convolution.arguments[1].bytes;
    assert_true(kf_cuda_runners_need(&convolution, 3) > 63 * GIB);
    assert_int_equal(kf_cuda_runners_need(&softsign, 3),
                     2 * kf_cuda_device_pool_least(&softsign, 3) + 36 * GIB);
}

/* Inputs of 48 MiB and a result of 256 MiB on a GPU of 80 GiB: 22 of its 40 sets have their memory.
 * The free memory is not reserved for them again, so the results of a batch find room. */
static void sets_that_are_there_are_counted_once(void **state)
{
    (void)state;
    static kf_problem pointwise;
    pointwise = problem_of(4096, 3072);
    pointwise.arguments[1].elements = 16 * 64 * 65536;
    pointwise.arguments[1].bytes = (uint64_t)pointwise.arguments[1].elements * 4;
    pointwise.total_bytes = pointwise.arguments[0].bytes + pointwise.arguments[1].bytes;
    kf_cuda_memory gpu = {79 * GIB, 12 * GIB, 1024, 0, false};
    uint64_t free_bytes = 32 * GIB, batch = 22 * pointwise.arguments[1].bytes + 2 * GIB;
    assert_true(kf_cuda_device_pool_bytes(&pointwise, KF_ROLE_CANDIDATE, free_bytes, &gpu) < batch);
    gpu.sets = 22;
    assert_true(kf_cuda_device_pool_bytes(&pointwise, KF_ROLE_CANDIDATE, free_bytes, &gpu) > batch);
    gpu.sets = 1000; /* more sets than fit: no pool is larger than the free memory */
    assert_true(kf_cuda_device_pool_bytes(&pointwise, KF_ROLE_CANDIDATE, free_bytes, &gpu) <=
                free_bytes);
}

/* Problem 1/47 of KernelBench: 8 GiB of inputs, 2 MiB of results, 55 GiB of 80 are free. A baseline
 * through torch.compile needs inputs of its own in its pool when it loads. */
static void compiling_needs_inputs_in_the_pool(void **state)
{
    (void)state;
    static kf_problem sum;
    sum = problem_of(128 * 4096, 4095);
    sum.arguments[1].elements = 128 * 4095;
    sum.arguments[1].bytes = (uint64_t)sum.arguments[1].elements * 4;
    sum.total_bytes = sum.arguments[0].bytes + sum.arguments[1].bytes;
    kf_cuda_memory gpu = of_80_gb;
    uint64_t input = sum.arguments[0].bytes;
    for (uint64_t free_bytes = 40 * GIB; free_bytes <= 60 * GIB; free_bytes += 5 * GIB) {
        gpu.compiles = false;
        uint64_t plain = kf_cuda_device_pool_bytes(&sum, KF_ROLE_BASELINE, free_bytes, &gpu);
        gpu.compiles = true;
        uint64_t bytes = kf_cuda_device_pool_bytes(&sum, KF_ROLE_BASELINE, free_bytes, &gpu);
        assert_true(free_bytes > 40 * GIB || plain < input);
        assert_true(bytes >= plain && bytes >= input + 2 * sum.arguments[1].bytes);
        assert_true(bytes < free_bytes / 2);
    }
}

/* Problems 1/38 and 1/39 of KernelBench are norms over 32768 x 65535. Three sets (48 GiB), a truth
 * (16 GiB), the oracle and two pools for three results each do not fit on an H200. With two sets
 * they fit: a batch is then one call. Its pool holds its result, a temporary of the same size and,
 * until it is released, the previous result. */
static void the_largest_problems_have_two_sets(void **state)
{
    (void)state;
    static kf_problem norm, softsign, small;
    norm = problem_of(32768, 65535);
    softsign = problem_of(4096, 393216);
    small = problem_of(64, 4096);
    assert_int_equal(kf_cuda_first_sets(&norm, h200.device_bytes, 2), 2);
    assert_int_equal(kf_cuda_first_sets(&softsign, h200.device_bytes, 2), 3);
    assert_int_equal(kf_cuda_first_sets(&small, h200.device_bytes, 2), 3);
    static kf_problem between;
    /* 13 GiB: three results and a temporary exceed the largest pool */
    between = problem_of(4096, 425984);
    assert_int_equal(kf_cuda_first_sets(&between, h200.device_bytes, 2), 2);
    assert_int_equal(kf_cuda_first_sets(&small, 4 * GIB, 2), 3);
    const uint64_t needs = 16 * GIB + (200ull << 20), oracle = 4 * GIB; /* in parts */
    uint64_t free_bytes = h200.device_bytes - 2 * norm.total_bytes - 16 * GIB - 5 * GIB;
    uint64_t baseline = kf_cuda_device_pool_bytes(&norm, KF_ROLE_BASELINE, free_bytes, &h200);
    assert_true(baseline >= needs);
    uint64_t left = free_bytes - baseline;
    uint64_t candidate = kf_cuda_device_pool_bytes(&norm, KF_ROLE_CANDIDATE, left, &h200);
    assert_true(candidate >= needs && candidate + oracle <= left);
}

/* The size of intermediate values is not known in advance. 1/94: from two inputs of 4 GiB, the
 * oracle makes 16 GiB, their difference and its square. 3/17: a network ends in a result of 4 GiB,
 * and its oracle had 12 GiB and needed 8 GiB more. 3/31: results of 16 MiB, but eager attention
 * used 16 GiB of a pool of 24 GiB and needed 8 GiB more. */
static void what_lies_between_has_what_is_there(void **state)
{
    (void)state;
    static kf_problem difference, fire, attention;
    difference = problem_of(32768, 32768);
    difference.arguments[1].elements = 1;
    difference.arguments[1].bytes = 4;
    difference.total_bytes = 8 * GIB;
    fire = problem_of(16, 65536);
    fire.arguments[1].elements = 1 << 30;
    fire.arguments[1].bytes = 4 * GIB;
    fire.total_bytes = fire.arguments[0].bytes + 4 * GIB;
    attention = problem_of(2048, 1024);
    const struct {
        const kf_problem *problem;
        uint64_t free_bytes, oracle, device_pool;
    } rows[] = {{&difference, 110 * GIB, 33 * GIB, 13 * GIB},
                {&fire, 97 * GIB, 25 * GIB, 17 * GIB},
                {&attention, 132 * GIB, 49 * GIB, 26 * GIB}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t baseline = kf_cuda_device_pool_bytes(rows[i].problem, KF_ROLE_BASELINE,
                                                      rows[i].free_bytes, &h200),
                 left = rows[i].free_bytes - baseline,
                 candidate =
                     kf_cuda_device_pool_bytes(rows[i].problem, KF_ROLE_CANDIDATE, left, &h200);
        assert_true(baseline >= rows[i].device_pool && candidate >= rows[i].device_pool);
        assert_true(candidate + rows[i].oracle <= left);
    }
}

/* A problem is refused by its size before anything fails. The error must not look like a failing
 * machine. KernelBench's largest problems fit on a GPU of 80 GiB. */
static void what_is_too_large_for_a_device(void **state)
{
    (void)state;
    static kf_problem relu, norm, larger;
    relu = problem_of(4096, 393216);
    norm = problem_of(32768, 65535);
    larger = problem_of(65536, 65536);
    assert_true(kf_cuda_least_bytes(&relu, of_80_gb.device_bytes) < of_80_gb.device_bytes);
    assert_true(kf_cuda_least_bytes(&norm, of_80_gb.device_bytes) < of_80_gb.device_bytes);
    assert_true(kf_cuda_least_bytes(&larger, of_80_gb.device_bytes) > of_80_gb.device_bytes);
    assert_true(kf_cuda_least_bytes(&larger, h200.device_bytes) < h200.device_bytes);
}

/* On 80 GiB, one set leaves room for both sides and for parts of the oracle. The figures of `needs`
 * are peaks of the references: 1/30 and 1/25 hold a result and two temporaries, 1/38 and 1/37 a
 * result. The results of two calls have to fit as well. 1/37 divides by the norm of everything. So
 * its oracle cannot compute in parts, and continues in the host's memory. */
static void one_set_is_enough_for_the_largest(void **state)
{
    (void)state;
    static kf_problem relu, norm, whole;
    relu = problem_of(4096, 393216);
    norm = problem_of(32768, 65535);
    whole = problem_of(112 * 64, 512 * 512);
    const struct {
        const kf_problem *problem;
        uint64_t needs;
    } rows[] = {{&relu, 18 * GIB + 512 * MIB},
                {&norm, 16 * GIB + 512 * MIB},
                {&whole, 14 * GIB + 512 * MIB}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const kf_problem *problem = rows[i].problem;
        kf_cuda_memory memory = of_80_gb;
        assert_int_equal(kf_cuda_first_sets(problem, memory.device_bytes, 1), 1);
        /* a candidate in CUDA C writes its results into the sets, and has no pool */
        assert_int_equal(kf_cuda_first_sets(problem, memory.device_bytes, 2), 2);
        memory.sets = 1;
        uint64_t contexts = 3 * GIB, truth = 2 * problem->arguments[1].bytes,
                 free_bytes = memory.device_bytes - contexts - problem->total_bytes - truth,
                 baseline =
                     kf_cuda_device_pool_bytes(problem, KF_ROLE_BASELINE, free_bytes, &memory),
                 left = free_bytes - baseline,
                 candidate = kf_cuda_device_pool_bytes(problem, KF_ROLE_CANDIDATE, left, &memory);
        assert_true(baseline >= rows[i].needs && candidate >= rows[i].needs);
        assert_true(candidate + 4 * GIB <= left);
        /* cuDNN chooses other algorithms in a smaller pool */
        assert_true(candidate >= baseline - GIB && candidate <= baseline + GIB);
    }
    static kf_problem small;
    small = problem_of(64, 4096);
    assert_int_equal(kf_cuda_first_sets(&small, of_80_gb.device_bytes, 1), 3);
}

/* A baseline's runner keeps its pool for the next task. */
static void an_arena_is_kept_for_a_problem_of_its_size(void **state)
{
    (void)state;
    static kf_problem small, large;
    small = problem_of(64, 4096);
    large = problem_of(4096, 65536);
    uint64_t of_small = kf_cuda_device_pool_wanted(&small, &a_gpu),
             of_large = kf_cuda_device_pool_wanted(&large, &a_gpu);
    assert_true(kf_cuda_device_pool_suits(of_small, &small, &a_gpu));
    assert_true(kf_cuda_device_pool_suits(of_large, &large, &a_gpu));
    /* its results would not fit */
    assert_false(kf_cuda_device_pool_suits(of_small, &large, &a_gpu));
    /* it would take memory that other processes need */
    assert_false(kf_cuda_device_pool_suits(of_large, &small, &a_gpu));
    /* If memory is plentiful, a pool starts at the size that most problems need, and serves all of
     * them. */
    uint64_t common = kf_cuda_device_pool_common(h200.device_bytes),
             given = kf_cuda_device_pool_bytes(&small, KF_ROLE_BASELINE, 100 * GIB, &h200);
    assert_true(common > of_small && given == common);
    assert_true(kf_cuda_device_pool_suits(given, &small, &h200));
    assert_int_equal(given % (2 << 20), 0);
    assert_true(common > 34 * GIB && common < 36 * GIB);
    assert_true(kf_cuda_device_pool_suits(given, &large, &h200));
    static kf_problem huge;
    huge = problem_of(8192, 65536); /* 2 GiB each way */
    assert_false(kf_cuda_device_pool_suits(given, &huge, &h200));
    /* A solution's pool, too: 2/67 has inputs of 64 MiB and a result of 32 KiB, but a convolution
     * of 2 GiB and its GELU in between. */
    assert_int_equal(kf_cuda_device_pool_bytes(&small, KF_ROLE_CANDIDATE, 100 * GIB, &h200),
                     common);
    assert_true(kf_cuda_device_pool_bytes(&small, KF_ROLE_CANDIDATE, 10 * GIB, &h200) >= of_small);
    assert_true(kf_cuda_device_pool_bytes(&small, KF_ROLE_BASELINE, 20 * GIB, &h200) <= 10 * GIB);
    static kf_problem medium;
    medium = problem_of(1024, 65536); /* 256 MiB each way */
    assert_true(kf_cuda_device_pool_suits(given, &medium, &h200));
    assert_false(kf_cuda_device_pool_suits(given, &medium, &a_gpu));
}

/* Each side has buffers of its own, except where that would leave too little for runners. */
static void sides_are_apart_if_memory_is_there(void **state)
{
    (void)state;
    static kf_problem small, large, huge;
    const uint64_t h100 = 79 * GIB;
    small = problem_of(64, 4096);
    large = problem_of(4096, 65536); /* 1 GiB each way */
    huge = problem_of(4096, 393216); /* 6 GiB each way */
    assert_true(kf_cuda_has_room_for_sides(&small, 1024, h100));
    assert_true(kf_cuda_has_room_for_sides(&large, 3, h100));
    assert_true(kf_cuda_has_room_for_sides(&large, 6, h100));
    assert_false(kf_cuda_has_room_for_sides(&huge, 3, h100));
    assert_true(kf_cuda_has_room_for_sides(&huge, 3, 4 * h100));
    /* A pool leaves the memory that later sets of both sides need. */
    const kf_cuda_memory memory = {h100, 12 * GIB, 1024, 0, false};
    uint64_t pool = kf_cuda_device_pool_bytes(&large, KF_ROLE_CANDIDATE, 40 * GIB, &memory);
    assert_true(pool + (6 - 3) * (2 * large.total_bytes + 2 * GIB) <= 40 * GIB);
}

/* Other programs have a part of the device. What a candidate takes later changes nothing. */
static void other_programs_memory_is_no_room(void **state)
{
    (void)state;
    static kf_problem large;
    large = problem_of(4096, 65536); /* 1 GiB each way */
    const uint64_t all = 80 * GIB;
    const struct {
        /* when the device is opened, and when sets are made */
        uint64_t free_before, free_now;
        bool apart;
        uint32_t sets;
    } rows[] = {
        {79 * GIB, 78 * GIB, true, 3}, {79 * GIB, 8 * GIB, true, 3}, {20 * GIB, 19 * GIB, false, 2},
        {20 * GIB, 78 * GIB, true, 3}, {8 * GIB, 8 * GIB, false, 1}, {0, 0, false, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_cuda_properties gpu = {.memory_bytes = all,
                                  .others_bytes = kf_cuda_others_bytes(all, rows[i].free_before)};
        uint64_t room = kf_cuda_room(&gpu, rows[i].free_now);
        bool apart = kf_cuda_has_room_for_sides(&large, 3, room);
        uint32_t sets = kf_cuda_first_sets(&large, room, 1);
        if (apart != rows[i].apart || sets != rows[i].sets)
            fail_msg("row %zu: %d, %u sets in %.1f GiB", i, apart, sets, (double)room / GIB);
        assert_int_equal(kf_cuda_room(&gpu, 0), room);
    }
}

static kf_output_directory_entry entry_at(uint64_t address, int64_t rows, int64_t columns,
                                          int64_t row_stride, int64_t column_stride)
{
    return (kf_output_directory_entry){.address = address,
                                       .dtype = KF_F32,
                                       .dims = 2,
                                       .sizes = {rows, columns},
                                       .strides = {row_stride, column_stride}};
}

static void write_record(unsigned char *memory, uint32_t set, kf_output_directory_entry entry)
{
    kf_output_directory_head head = {.tensors = 1};
    size_t record = sizeof head + sizeof entry;
    memcpy(memory + set * record, &head, sizeof head);
    memcpy(memory + set * record + sizeof head, &entry, sizeof entry);
}

static void a_ledger_says_where_a_result_lies(void **state)
{
    (void)state;
    static kf_problem problem;
    problem = problem_of(8, 4);
    kf_error error = {0};
    kf_output_directory *output_directory = kf_output_directory_new(3, 1, &error);
    assert_non_null(output_directory);
    kf_runner_buffer shared = kf_output_directory_buffer(output_directory);
    unsigned char *memory =
        mmap(NULL, shared.length, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0);
    assert_true(memory != MAP_FAILED);
    const kf_problem_argument *out = &problem.arguments[1];
    kf_output_directory_place place;
    kf_fetch_fault fault = {0};

    write_record(memory, 0, entry_at(0x1000, 8, 4, 4, 1));
    assert_true(kf_output_directory_locate(output_directory, 0, 0, out, 1, &place, &fault));
    assert_true(place.plain && place.address == 0x1000 && place.span == out->bytes);
    write_record(memory, 1, entry_at(0x2000, 8, 4, 1, 8)); /* transposed */
    assert_true(kf_output_directory_locate(output_directory, 1, 0, out, 1, &place, &fault));
    assert_true(!place.plain && place.span == out->bytes);
    write_record(memory, 2, entry_at(0x3000, 8, 4, 1ll << 40, 1));
    assert_false(kf_output_directory_locate(output_directory, 2, 0, out, 1, &place, &fault));
    assert_string_equal(fault.rule, "output.unreadable");
    fault = (kf_fetch_fault){0};
    write_record(memory, 2, entry_at(0x3000, 4, 8, 8, 1));
    assert_false(kf_output_directory_locate(output_directory, 2, 0, out, 1, &place, &fault));
    assert_string_equal(fault.rule, "output.shape");

    /* Remembered entries stay until the output directory is cleared, whatever the runner writes
     * afterwards. */
    const uint32_t list[] = {0};
    assert_true(kf_output_directory_remember(output_directory, list, 1));
    write_record(memory, 0, entry_at(0x5000, 8, 4, 4, 1));
    write_record(memory, 1, entry_at(0x6000, 8, 4, 4, 1));
    fault = (kf_fetch_fault){0};
    assert_true(kf_output_directory_locate(output_directory, 0, 0, out, 1, &place, &fault));
    assert_int_equal(place.address, 0x1000);
    assert_true(kf_output_directory_locate(output_directory, 1, 0, out, 1, &place, &fault));
    assert_int_equal(place.address, 0x6000);
    kf_output_directory_clear(output_directory);
    assert_true(kf_output_directory_locate(output_directory, 0, 0, out, 1, &place, &fault));
    assert_int_equal(place.address, 0);

    /* Results of one set share no memory with those that are held. */
    const bool chosen[] = {true, false, false};
    const int outputs[] = {1};
    for (int shares = 0; shares < 2; shares++) {
        write_record(memory, 0, entry_at(0x1000, 8, 4, 4, 1));
        assert_true(kf_output_directory_remember(output_directory, list, 1));
        assert_true(kf_output_directory_hold(output_directory, list, 1));
        write_record(memory, 0, entry_at(shares ? 0x1040 : 0x1080, 8, 4, 4, 1));
        assert_true(kf_output_directory_remember(output_directory, list, 1));
        fault = (kf_fetch_fault){0};
        assert_true(kf_output_directory_check_overlap(output_directory, chosen, 3, outputs, &fault,
                                                      &error));
        assert_string_equal(fault.rule, shares ? "output.aliased" : "");
        kf_output_directory_clear(output_directory);
        fault = (kf_fetch_fault){0};
        assert_true(kf_output_directory_check_overlap(output_directory, chosen, 3, outputs, &fault,
                                                      &error));
        assert_string_equal(fault.rule, "");
    }
    munmap(memory, shared.length);
    kf_output_directory_free(output_directory);
}

static long peak_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* A result that spans 64 times its size costs the judge no such memory. */
static void strided_results_are_read_in_pieces(void **state)
{
    (void)state;
    static kf_problem problem;
    const struct {
        int64_t rows, columns, row_stride, column_stride;
    } rows[] = {
        {64, 4096, 63 * 4096, 1},
        {4096, 64, 63, 63 * 4096},
        {64, 4096, 1, 63 * 64},
        {1024, 1024, 1, 1024},
        {1024, 1025, 1025, 1},
        {3000, 1000, 0, 7},
        {1000, 3000, 1, 0},
        {1000, 2000, 1, 1},
        {4, 4, 4 << 20, 1 << 20},
        {2, 2000000, 1, 3},
        {1, 1, 5, 5},
        {2000000, 1, 5, 0},
        {1000, 1000, 16000, 16000}, /* overlaps itself: its pieces have 64 GB */
    };
    const size_t all = 512 * MIB;
    float *region =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(region != MAP_FAILED);
    long before = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_fetch_fault fault = {0};
        problem = problem_of(rows[i].rows, rows[i].columns);
        const kf_problem_argument *out = &problem.arguments[1];
        kf_output_directory *output_directory = kf_output_directory_new(1, 1, &error);
        assert_non_null(output_directory);
        kf_runner_buffer shared = kf_output_directory_buffer(output_directory);
        unsigned char *memory =
            mmap(NULL, shared.length, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0);
        assert_true(memory != MAP_FAILED);
        write_record(memory, 0,
                     entry_at((uint64_t)(uintptr_t)region, rows[i].rows, rows[i].columns,
                              rows[i].row_stride, rows[i].column_stride));
        float *result = test_malloc(out->bytes);
        for (int64_t r = 0; r < rows[i].rows; r++)
            for (int64_t c = 0; c < rows[i].columns; c++) {
                int64_t at = r * rows[i].row_stride + c * rows[i].column_stride;
                region[at] = (float)(at % 1000003);
                result[r * rows[i].columns + c] = -1;
            }
        if (i == 0) before = peak_kilobytes();
        clock_t began = clock();
        assert_true(kf_output_directory_fetch(output_directory, getpid(), 0, 0, out, 1, result,
                                              &fault, &error));
        assert_string_equal(fault.rule, "");
        assert_true(clock() - began < 4 * CLOCKS_PER_SEC);
        if (i == 0) assert_in_range(peak_kilobytes() - before, 0, 32 * MIB / 1024);
        for (int64_t k = 0; k < out->elements; k++) {
            int64_t r = k / rows[i].columns, c = k % rows[i].columns,
                    at = r * rows[i].row_stride + c * rows[i].column_stride;
            if (result[k] != (float)(at % 1000003))
                fail_msg("row %zu: element %lld is %g", i, (long long)k, (double)result[k]);
        }
        test_free(result);
        munmap(memory, shared.length);
        kf_output_directory_free(output_directory);
        assert_int_equal(madvise(region, all, MADV_DONTNEED), 0);
    }
    munmap(region, all);
}

/* Returns a look at inputs of 2,000 words, of which these shares are cached. */
static kf_cache_shares looked(double first, double second)
{
    return (kf_cache_shares){
        .count = 2,
        .inputs = {{2000, (uint32_t)(2000 * first)}, {2000, (uint32_t)(2000 * second)}}};
}

/* A candidate that reads every other line of an input reads half of the lines of the second look,
 * and no line is in both looks. */
static void each_look_has_half_of_the_even_lines(void **state)
{
    (void)state;
    const uint64_t secrets[] = {0, 1, 0x123456789abcdef};
    for (int s = 0; s < 3; s++) {
        int odd = 0, alternating = 0, pairs = 4096;
        for (int pair = 0; pair < pairs; pair++) {
            bool again = kf_cache_odd_line(secrets[s], (uint64_t)pair, true);
            assert_int_not_equal(kf_cache_odd_line(secrets[s], (uint64_t)pair, false), again);
            odd += again;
            alternating += again == pair % 2;
        }
        assert_in_range(odd, pairs * 45 / 100, pairs * 55 / 100);
        assert_in_range(alternating, pairs * 45 / 100, pairs * 55 / 100);
    }
}

/* Each input is compared with itself: flushing may leave much of one and little of another. */
static void reads_between_two_looks_are_seen(void **state)
{
    (void)state;
    static const struct {
        double before[2], now[2], read;
    } cases[] = {
        {{0.01, 0.01}, {0.01, 0.02}, 0},
        {{0.02, 0.36}, {0.03, 0.36}, 0},
        {{0.03, 0.69}, {0.03, 0.71}, 0},
        {{0.02, 0.75}, {0.02, 1}, 0},
        {{0.02, 0.36}, {0.02, 0.68}, 0.5},
        {{0.01, 0.01}, {0.505, 0.01}, 0.5},
        {{0, 0}, {1, 0}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kf_cache_shares before = looked(cases[i].before[0], cases[i].before[1]),
                        now = looked(cases[i].now[0], cases[i].now[1]);
        assert_float_equal(kf_cache_read_since(&before, &now), cases[i].read, 0.001);
    }
    kf_cache_shares none = {0}, now = looked(1, 1);
    assert_float_equal(kf_cache_read_since(&none, &now), 0, 0);
    static const kf_cache_sample samples[] = {
        {.first = 300, .again = 300, .third = 310}, {.first = 490, .again = 480, .third = 300},
        {.first = 560, .again = 300, .third = 500}, {.first = 770, .again = 480, .third = 290},
        {.first = 250, .again = 280, .third = 280},
    };
    assert_int_equal(kf_cache_count(samples, 5).cached, 3);
    assert_int_equal(kf_cache_count(samples, 5).words, 5);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_leaves_room_for_what_follows),
        cmocka_unit_test(what_temporaries_take_is_shared_out),
        cmocka_unit_test(sets_that_are_there_are_counted_once),
        cmocka_unit_test(compiling_needs_inputs_in_the_pool),
        cmocka_unit_test(the_largest_problems_have_two_sets),
        cmocka_unit_test(what_lies_between_has_what_is_there),
        cmocka_unit_test(what_is_too_large_for_a_device),
        cmocka_unit_test(one_set_is_enough_for_the_largest),
        cmocka_unit_test(an_arena_is_kept_for_a_problem_of_its_size),
        cmocka_unit_test(a_ledger_says_where_a_result_lies),
        cmocka_unit_test(strided_results_are_read_in_pieces),
        cmocka_unit_test(each_look_has_half_of_the_even_lines),
        cmocka_unit_test(reads_between_two_looks_are_seen),
        cmocka_unit_test(sides_are_apart_if_memory_is_there),
        cmocka_unit_test(other_programs_memory_is_no_room),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
