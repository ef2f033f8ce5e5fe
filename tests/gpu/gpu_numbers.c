/* Tests that the GPU computes the same bits as the CPU, that damage is found at its position, and
 * that errors are summed as on the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers_cuda.h"
#include "gpu_check.h"
#include "kforge/inputs.h"

#define ELEMENTS 5003

typedef struct fixture {
    kf_device *device;
    kf_problem problem;
    kf_sets *sets;
    kf_set_variation variations[256];
    int failures;
} fixture;

static const struct {
    kf_distribution_kind kind;
    double a, b;
} rows[] = {
    {KF_NORMAL, 0, 1},           {KF_NORMAL, 3, 0.25},          {KF_UNIFORM, 0, 1},
    {KF_UNIFORM, -3, 5},         {KF_INTEGERS, -7, 100},        {KF_INTEGERS, 0, 1e15},
    {KF_PERMUTATION, 0, 0},      {KF_SORTED, 0, 1000},          {KF_OFFSETS, 40000, 1},
    {KF_OFFSETS, 40000, 2.5},    {KF_SPARSE, 0.1, 0},           {KF_CONSTANT, 2.5, 0},
    {KF_ONE_HOT, 0, 0},          {KF_POSITIVE_DEFINITE, 1, 0},  {KF_SYMMETRIC, -1, 2},
    {KF_UPPER_TRIANGULAR, 0, 1}, {KF_LOWER_TRIANGULAR, -3, -1}, {KF_SIGNS, 0, 0},
};
#define ROWS ((int)(sizeof rows / sizeof *rows))

static void add_argument(fixture *f, kf_argument_kind kind, kf_dtype dtype, int row, int64_t first,
                         int64_t second)
{
    kf_problem_argument *a = &f->problem.arguments[f->problem.argument_count++];
    *a = (kf_problem_argument){.name = "a",
                               .kind = kind,
                               .dtype = dtype,
                               .dims = 2,
                               .shape = {first, second},
                               .elements = first * second};
    a->bytes = (uint64_t)a->elements * kf_dtype_size(dtype);
    a->distribution = (kf_distribution){.kind = rows[row].kind,
                                        .a = rows[row].a,
                                        .b = rows[row].b,
                                        .vary = true,
                                        .nonfinite = true};
    if (rows[row].kind == KF_SORTED || rows[row].kind == KF_ONE_HOT)
        a->distribution.stray_low = -3, a->distribution.stray_high = 2000;
    a->tolerance = (kf_tolerance){.kind = KF_ERROR_RATIO, .ratio = 8};
    f->problem.total_bytes += a->bytes;
}

static bool make(fixture *f, uint32_t count, bool truth)
{
    kf_error error = {0};
    f->problem.workload = "numbers";
    for (int i = 0; i < 256; i++) f->variations[i] = (kf_set_variation){.argument = -1};
    f->sets = f->device->operations->buffers.sets_new(f->device, &f->problem, count, truth, &error);
    if (f->sets) return true;
    printf("  sets: %s\n", error.text);
    f->failures++;
    return false;
}

static void drop(fixture *f)
{
    if (f->sets) f->device->operations->buffers.sets_free(f->sets);
    f->sets = NULL;
    f->problem = (kf_problem){0};
}

static void fail(fixture *f, const char *what, const char *where)
{
    if (f->failures++ < 20) printf("  %s: %s\n", what, where);
}

/* Set number (argument, variation) has that argument varied in that way. */
static void check_fills(fixture *f, kf_dtype dtype)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    for (int row = 0; row < ROWS; row++)
        add_argument(f, KF_INPUT, dtype, row, row % 2 ? 37 : 1, row % 2 ? 41 : ELEMENTS);
    uint32_t count = (uint32_t)(ROWS * KF_VARIATION_COUNT);
    if (!make(f, count, false)) return;
    for (uint32_t s = 0; s < count; s++)
        f->variations[s] =
            (kf_set_variation){(int)s / KF_VARIATION_COUNT, (kf_variation)(s % KF_VARIATION_COUNT)};
    if (!o->buffers.fill(f->sets, 0x1234567890abcdefu, f->variations, &error))
        fail(f, "fill", error.text);
    for (uint32_t s = 0; s < count; s++) {
        int i = f->variations[s].argument;
        const kf_problem_argument *a = &f->problem.arguments[i];
        kf_autofree unsigned char *expected = malloc(a->bytes);
        const unsigned char *got = o->buffers.input(f->sets, s, i, &error);
        kf_input_fill(a, (kf_key){0x1234567890abcdefu, s, (uint32_t)i}, f->variations[s].variation,
                      expected, 0, a->elements);
        if (got && memcmp(expected, got, a->bytes) == 0) continue;
        char where[160];
        size_t at = 0;
        while (got && expected[at] == got[at]) at++;
        snprintf(where, sizeof where, "%s, distribution %d, %s: element %zu differs",
                 kf_dtype_name(dtype), (int)a->distribution.kind,
                 kf_variation_name(f->variations[s].variation), at / kf_dtype_size(dtype));
        fail(f, "fill", got ? where : error.text);
    }
    drop(f);
}

static void check_poison(fixture *f)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    add_argument(f, KF_INPUT, KF_F32, 0, 1, 1001);
    add_argument(f, KF_OUTPUT, KF_F16, 0, 1, 777);
    add_argument(f, KF_OUTPUT, KF_U8, 0, 3, 5000001);
    if (!make(f, 3, false)) return;
    if (!o->buffers.fill(f->sets, 7, f->variations, &error) ||
        !o->buffers.poison(f->sets, KF_ROLE_BASELINE, 99, &error))
        fail(f, "poison", error.text);
    for (uint32_t s = 0; s < 3; s++)
        for (int i = 1; i < 3; i++) {
            const kf_cuda_buffer *b = &((kf_cuda_sets *)f->sets)->buffers[s * 3 + (uint32_t)i];
            uint64_t where = 0;
            const unsigned char *got = o->buffers.output(f->sets, s, i, &error);
            /* The stream counts from the buffer's start, in front of the guard. */
            if (!got || !kf_poison_intact((kf_key){99, s, (uint32_t)i}, got - b->data_offset,
                                          b->data_offset, b->bytes, &where))
                fail(f, "poison", got ? "bytes differ from the CPU's" : error.text);
        }
    drop(f);
}

static void damage_one(fixture *f, uint32_t set, int argument, int64_t byte, const bool *chosen,
                       int kind, int64_t told)
{
    const kf_device_operations *o = f->device->operations;
    kf_cuda_device *gpu = (kf_cuda_device *)f->device;
    const kf_cuda_sets *sets = (const kf_cuda_sets *)f->sets;
    kf_error error = {0};
    kf_damage damage;
    if (!o->buffers.fill(f->sets, 5, f->variations, &error) ||
        !o->buffers.poison(f->sets, KF_ROLE_BASELINE, 6, &error))
        fail(f, "damage", error.text);
    if (!o->buffers.inspect(f->sets, chosen, &damage, &error) || damage.kind != KF_DAMAGE_NONE)
        fail(f, "damage", "found where there is none");
    uint64_t address = kf_cuda_address(
        sets, &sets->buffers[set * (uint32_t)f->problem.argument_count + (uint32_t)argument]);
    unsigned char old = 0;
    gpu->cuda.copy_out(&old, address + (uint64_t)byte, 1, gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    gpu->cuda.set_bytes(address + (uint64_t)byte, (unsigned char)~old, 1, gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    if (!o->buffers.inspect(f->sets, chosen, &damage, &error)) fail(f, "damage", error.text);
    if ((int)damage.kind == kind &&
        (kind == KF_DAMAGE_NONE ||
         (damage.set == (int)set && damage.argument == argument && damage.byte == told)))
        return;
    char words[160];
    snprintf(words, sizeof words,
             "byte %lld of argument %d: expected kind %d at %lld, got %d at %lld", (long long)byte,
             argument, kind, (long long)told, (int)damage.kind, (long long)damage.byte);
    fail(f, "damage", words);
}

static void check_damage(fixture *f)
{
    const bool chosen[3] = {true, false, true};
    add_argument(f, KF_INPUT, KF_F32, 0, 1, 1001);
    add_argument(f, KF_OUTPUT, KF_F32, 0, 1, 3001);
    add_argument(f, KF_INOUT, KF_BF16, 0, 1, 777);
    add_argument(f, KF_WORKSPACE, KF_U8, 0, 1, 513);
    add_argument(f, KF_INPUT, KF_U8, 4, 5, 4000001);
    if (!make(f, 3, false)) return;
    damage_one(f, 0, 0, 4003, chosen, KF_DAMAGE_INPUT, -1);
    damage_one(f, 2, 4, 20000004, chosen, KF_DAMAGE_INPUT, -1);
    damage_one(f, 0, 1, -1, chosen, KF_DAMAGE_GUARD, -1);
    damage_one(f, 0, 1, -256, chosen, KF_DAMAGE_GUARD, -256);
    damage_one(f, 0, 1, 12004, chosen, KF_DAMAGE_GUARD, 12004);
    damage_one(f, 2, 2, 1554, chosen, KF_DAMAGE_GUARD, 1554);
    damage_one(f, 1, 3, 513, chosen, KF_DAMAGE_GUARD, 513);
    damage_one(f, 2, 4, 20000005, chosen, KF_DAMAGE_GUARD, 20000005);
    damage_one(f, 1, 1, 0, chosen, KF_DAMAGE_UNCHOSEN, 0);
    damage_one(f, 1, 1, 12003, chosen, KF_DAMAGE_UNCHOSEN, 12003);
    damage_one(f, 1, 2, 3, chosen, KF_DAMAGE_UNCHOSEN, -1);
    /* a called set's output is there to be written */
    damage_one(f, 0, 1, 17, chosen, KF_DAMAGE_NONE, 0);
    damage_one(f, 0, 2, 17, chosen, KF_DAMAGE_NONE, 0);
    drop(f);
}

static bool close_to(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(a);
}

/* Random bits against random bits: every kind of number there is. */
static void check_device_compares(fixture *f, kf_dtype dtype, kf_compare_kind kind)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    kf_device_compare comparisons[4];
    const uint32_t list[] = {1, 0};
    add_argument(f, KF_OUTPUT, dtype, 0, 3, 100003);
    add_argument(f, KF_INOUT, dtype, 3, 1, 9001);
    for (int i = 0; i < 2; i++)
        f->problem.arguments[i].tolerance =
            (kf_tolerance){.kind = kind, .ratio = 8, .rtol = 0.5, .atol = 1e-3};
    if (!make(f, 2, true)) return;
    if (!o->buffers.fill(f->sets, 11, f->variations, &error) ||
        !o->buffers.poison(f->sets, KF_ROLE_BASELINE, 12, &error) ||
        !o->buffers.prepare_truth(f->sets, list, 2, &error) ||
        !o->buffers.device_compare(f->sets, list, 2, comparisons, &error))
        fail(f, "survey", error.text);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++) {
            const kf_problem_argument *a = &f->problem.arguments[i];
            const kf_device_compare *s = &comparisons[2 * k + i];
            const void *got = o->buffers.output(f->sets, list[k], i, &error),
                       *truth = o->buffers.truth(f->sets, list[k], i, &error);
            if (!s->known || !got || !truth) continue;
            kf_error_sums sums = KF_NO_ERRORS;
            kf_error_figures figures;
            kf_error_accumulate(a, got, truth, &sums);
            kf_compare_output(a, got, truth, NULL, &figures, &error);
            bool same =
                sums.nonfinite == s->sums.nonfinite &&
                sums.first_nonfinite == s->sums.first_nonfinite && sums.count == s->sums.count &&
                close_to(sums.sum_square, s->sums.sum_square) && close_to(sums.max, s->sums.max) &&
                close_to(sums.scale_square, s->sums.scale_square) &&
                close_to(sums.scale_max, s->sums.scale_max);
            if (kind != KF_ERROR_RATIO) same = same && figures.mismatched == s->failed;
            if (same) continue;
            char words[300];
            snprintf(words, sizeof words,
                     "%s, comparison %d, argument %d: %g/%g %g/%g %g/%g %g/%g, %lld/%lld not "
                     "finite, first %lld/%lld, %lld/%lld failed",
                     kf_dtype_name(dtype), (int)kind, i, sums.sum_square, s->sums.sum_square,
                     sums.max, s->sums.max, sums.scale_square, s->sums.scale_square, sums.scale_max,
                     s->sums.scale_max, (long long)sums.nonfinite, (long long)s->sums.nonfinite,
                     (long long)sums.first_nonfinite, (long long)s->sums.first_nonfinite,
                     (long long)figures.mismatched, (long long)s->failed);
            fail(f, "survey", words);
        }
    drop(f);
}

/* The snapshot finds an output that changes after the first look. */
static void check_snapshots(fixture *f)
{
    const kf_device_operations *o = f->device->operations;
    kf_cuda_device *gpu = (kf_cuda_device *)f->device;
    kf_error error = {0};
    kf_damage damage;
    const uint32_t list[] = {2, 0};
    add_argument(f, KF_OUTPUT, KF_F32, 0, 1, 100000);
    if (!make(f, 3, false)) return;
    const kf_cuda_sets *sets = (const kf_cuda_sets *)f->sets;
    if (!o->buffers.poison(f->sets, KF_ROLE_BASELINE, 3, &error) ||
        !o->buffers.snapshot(f->sets, list, 2, &error) ||
        !o->buffers.settled(f->sets, &damage, &error))
        fail(f, "snapshot", error.text);
    if (damage.kind != KF_DAMAGE_NONE)
        fail(f, "snapshot", "a change was found where there is no change");
    gpu->cuda.set_bytes(kf_cuda_address(sets, &sets->buffers[0]), 0, 400000, gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    if (!o->buffers.settled(f->sets, &damage, &error)) fail(f, "snapshot", error.text);
    if (damage.kind != KF_DAMAGE_LATE || damage.set != 0)
        fail(f, "snapshot", "the change was not found");
    drop(f);
}

/* An occupation withholds parts of inputs until its end, and sees no other work on an idle GPU. */
static void check_occupation(fixture *f)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    kf_damage damage = {.kind = KF_DAMAGE_NONE}, later = damage;
    kf_set_variation none[3] = {{.argument = -1}, {.argument = -1}, {.argument = -1}};
    bool chosen[3] = {true, true, true};
    double seconds = 0;
    add_argument(f, KF_INPUT, KF_F32, 0, 1, 100000);
    add_argument(f, KF_INOUT, KF_F16, 0, 1, 3001);
    add_argument(f, KF_INPUT, KF_U8, 0, 1, 5);
    if (!make(f, 3, false)) return;
    /* The first turn makes the judge's memory as large as it has to be. */
    for (int turn = 0; turn < 2; turn++)
        if (!o->buffers.occupy(f->sets, &error) || !o->buffers.fill(f->sets, 7, none, &error) ||
            !o->buffers.poison(f->sets, KF_ROLE_BASELINE, 8, &error) ||
            !o->buffers.withhold(f->sets, &error) ||
            !o->buffers.inspect(f->sets, chosen, &damage, &error) ||
            (o->buffers.vacate(f->sets), false) ||
            !o->buffers.interruption(f->sets, &seconds, &error) ||
            !o->buffers.inspect(f->sets, chosen, &later, &error))
            fail(f, "occupation", error.text);
    if (damage.kind != KF_DAMAGE_INPUT) fail(f, "occupation", "no input was withheld");
    if (later.kind != KF_DAMAGE_NONE) fail(f, "occupation", "the inputs did not come back");
    if (seconds > 0) fail(f, "occupation", "it was interrupted, or ended early");
    drop(f);
}

/* True if a side has the inputs that the oracle reads. */
static bool has_inputs(fixture *f, kf_role side)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    bool same = o->buffers.turn_to(f->sets, side, &error);
    for (uint32_t s = 0; s < 3 && same; s++)
        for (int i = 0; i < f->problem.argument_count && same; i++) {
            if (f->problem.arguments[i].kind != KF_INPUT) continue;
            const void *read = o->buffers.input(f->sets, s, i, &error),
                       *has = o->buffers.output(f->sets, s, i, &error);
            same = read && has && memcmp(read, has, f->problem.arguments[i].bytes) == 0;
        }
    return same;
}

/* A side has the inputs that the oracle reads, and what it writes is in no other side's buffers. */
static void check_sides(fixture *f)
{
    const kf_device_operations *o = f->device->operations;
    kf_cuda_device *gpu = (kf_cuda_device *)f->device;
    kf_error error = {0};
    kf_damage damage = {.kind = KF_DAMAGE_NONE};
    const bool chosen[3] = {true, false, true};
    const uint32_t list[] = {1};
    add_argument(f, KF_INPUT, KF_F32, 0, 1, 100000);
    add_argument(f, KF_OUTPUT, KF_F32, 0, 3, 1000001);
    add_argument(f, KF_INPUT, KF_F16, 0, 3, 3000001);
    add_argument(f, KF_INOUT, KF_F32, 0, 1, 3001);
    if (!make(f, 3, true)) return;
    kf_cuda_sets *sets = (kf_cuda_sets *)f->sets;
    for (int turn = 0; turn < 6; turn++) {
        kf_role side = turn % 2 ? KF_ROLE_BASELINE : KF_ROLE_CANDIDATE;
        bool done = true;
        if (turn == 0) done = o->buffers.fill(f->sets, 21, f->variations, &error);
        if (turn == 2) done = o->buffers.copy_input(f->sets, 0, 2, 2, &error);
        if (turn == 4) done = o->buffers.nudge_input(f->sets, 1, 0, 5, 1, &error);
        if (turn == 5) done = kf_cuda_redraw(sets, list, 1, &error);
        if (!done || !has_inputs(f, side)) fail(f, "sides", "an input is not there");
        if (!o->buffers.poison(f->sets, side, 30 + (uint64_t)turn, &error) ||
            !o->buffers.inspect(f->sets, chosen, &damage, &error))
            fail(f, "sides", error.text);
        if (damage.kind != KF_DAMAGE_NONE)
            fail(f, "sides", "damage was found in buffers that are as before");
    }
    if (!has_inputs(f, KF_ROLE_CANDIDATE)) fail(f, "sides", "a new input is not there");
    for (int i = 0; i < 4; i++)
        gpu->cuda.set_bytes(kf_cuda_address(sets, &sets->buffers[i]), 0x5a,
                            f->problem.arguments[i].bytes, gpu->stream);
    gpu->cuda.stream_synchronize(gpu->stream);
    if (!o->buffers.inspect(f->sets, chosen, &damage, &error) || damage.kind != KF_DAMAGE_INPUT)
        fail(f, "sides", "a changed input was not found");
    if (!has_inputs(f, KF_ROLE_BASELINE) || !o->buffers.inspect(f->sets, chosen, &damage, &error) ||
        damage.kind != KF_DAMAGE_NONE)
        fail(f, "sides", "the baseline's buffers have changed");
    if (kf_cuda_sides_share(f->sets)) fail(f, "sides", "all have the same buffers");
    drop(f);
}

/* If memory is short, all have the same buffers. Then what one side's turn wrote is as it should be
 * at the other's, too. */
static void check_shared_sides(fixture *f)
{
    const kf_device_operations *o = f->device->operations;
    kf_error error = {0};
    const bool chosen[3] = {true, false, true};
    static const kf_role roles[] = {KF_ROLE_BASELINE, KF_ROLE_CANDIDATE};
    add_argument(f, KF_INPUT, KF_F32, 0, 1, 100000);
    add_argument(f, KF_OUTPUT, KF_F32, 0, 3, 1000001);
    add_argument(f, KF_INOUT, KF_F32, 0, 1, 3001);
    f->device->next_sets.sides_share = true;
    bool made = make(f, 3, true);
    f->device->next_sets.sides_share = false;
    if (!made) return;
    if (!kf_cuda_sides_share(f->sets)) fail(f, "shared sides", "each side has its own buffers");
    if (!o->buffers.fill(f->sets, 21, f->variations, &error)) fail(f, "shared sides", error.text);
    for (int turn = 0; turn < 4; turn++) {
        kf_damage damage = {.kind = KF_DAMAGE_NONE};
        if (!o->buffers.poison(f->sets, roles[turn % 2], 30 + (uint64_t)turn, &error))
            fail(f, "shared sides", error.text);
        for (int side = 0; side < 2; side++)
            if (!o->buffers.turn_to(f->sets, roles[side], &error) ||
                !o->buffers.inspect(f->sets, chosen, &damage, &error))
                fail(f, "shared sides", error.text);
            else if (damage.kind != KF_DAMAGE_NONE)
                fail(f, "shared sides", "damage was found in buffers that are as before");
    }
    drop(f);
}

int check_numbers(void)
{
    kf_error error = {0};
    fixture *f = calloc(1, sizeof *f);
    if (!f || !(f->device = kf_device_cuda_open(0, NULL, &error))) {
        printf("  %s\n", error.text);
        free(f);
        return 1;
    }
    for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++) check_fills(f, (kf_dtype)dtype);
    check_poison(f);
    check_damage(f);
    for (int dtype = 0; dtype < KF_DTYPE_COUNT; dtype++) {
        check_device_compares(f, (kf_dtype)dtype, KF_ERROR_RATIO);
        check_device_compares(f, (kf_dtype)dtype, KF_ALLCLOSE);
        check_device_compares(f, (kf_dtype)dtype, KF_EXACT);
    }
    check_snapshots(f);
    check_occupation(f);
    check_sides(f);
    check_shared_sides(f);
    int failures = f->failures;
    f->device->operations->free(f->device);
    free(f);
    return failures;
}
