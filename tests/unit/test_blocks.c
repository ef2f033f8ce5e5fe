/* Tests the bookkeeping of a GPU runner's cudaMalloc against a table of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "blocks.h"
#include "host_blocks.h"

#define MIB (1ull << 20)

static void whole(const kf_blocks *blocks, uint64_t size)
{
    uint64_t at = 0;
    for (size_t i = 0; i < blocks->count; i++) {
        assert_int_equal(blocks->list[i].offset, at);
        assert_true(blocks->list[i].size > 0);
        assert_true(!i || blocks->list[i].used || blocks->list[i - 1].used);
        at += blocks->list[i].size;
    }
    assert_int_equal(at, size);
}

/* Returns the size of the taken block that begins there; 0 without one. */
static uint64_t size_of(const kf_blocks *blocks, uint64_t offset)
{
    uint64_t at = 0;
    for (size_t i = 0; i < blocks->count; at += blocks->list[i++].size)
        if (at == offset) return blocks->list[i].used ? blocks->list[i].size : 0;
    return 0;
}

static void large_ones_begin_at_pages(void **state)
{
    (void)state;
    kf_blocks blocks;
    assert_true(kf_blocks_make(&blocks, 16 * MIB));
    assert_int_equal(kf_blocks_take(&blocks, 100), 0);
    assert_int_equal(kf_blocks_take(&blocks, 513), 512);
    uint64_t large = kf_blocks_take(&blocks, 3 * MIB);
    assert_int_equal(large, 2 * MIB);
    assert_int_equal(size_of(&blocks, large), 4 * MIB);
    assert_int_equal(kf_blocks_take(&blocks, 100), 1536); /* in front of it */
    whole(&blocks, 16 * MIB);
    assert_int_equal(kf_blocks_take(&blocks, 11 * MIB), KF_NO_BLOCK);
    assert_int_equal(kf_blocks_take(&blocks, 10 * MIB), 6 * MIB);
    assert_int_equal(kf_blocks_take(&blocks, 0), KF_NO_BLOCK);
    assert_int_equal(kf_blocks_take(&blocks, UINT64_MAX), KF_NO_BLOCK);
    whole(&blocks, 16 * MIB);
    kf_blocks_free(&blocks);
}

static void only_what_was_taken_comes_back(void **state)
{
    (void)state;
    kf_blocks blocks;
    assert_true(kf_blocks_make(&blocks, 8 * MIB));
    uint64_t one = kf_blocks_take(&blocks, 2 * MIB), two = kf_blocks_take(&blocks, 2 * MIB),
             three = kf_blocks_take(&blocks, 2 * MIB);
    assert_false(kf_blocks_give_back(&blocks, two + 512));
    assert_false(kf_blocks_give_back(&blocks, three + 2 * MIB)); /* free */
    assert_true(kf_blocks_give_back(&blocks, one));
    assert_false(kf_blocks_give_back(&blocks, one));
    assert_int_equal(size_of(&blocks, one), 0);
    assert_true(kf_blocks_give_back(&blocks, three));
    whole(&blocks, 8 * MIB);
    assert_true(kf_blocks_give_back(&blocks, two));
    assert_int_equal(blocks.count, 1); /* all one again */
    whole(&blocks, 8 * MIB);
    kf_blocks_free(&blocks);
}

/* No block is handed out twice, in any order of calls. */
static void at_random(void **state)
{
    (void)state;
    enum { UNITS = 4096, HELD = 64 };
    static unsigned char owner[UNITS];
    struct {
        uint64_t offset, size;
    } held[HELD] = {{0, 0}};
    kf_blocks blocks;
    uint32_t number = 12345;
    memset(owner, 0, sizeof owner);
    assert_true(kf_blocks_make(&blocks, (uint64_t)UNITS * 4096));
    for (int step = 0; step < 20000; step++) {
        number = number * 1664525u + 1013904223u;
        int i = (int)(number >> 24) % HELD;
        if (held[i].size) {
            for (uint64_t k = held[i].offset / 4096; k < (held[i].offset + held[i].size) / 4096;
                 k++) {
                assert_int_equal(owner[k], i + 1);
                owner[k] = 0;
            }
            assert_true(kf_blocks_give_back(&blocks, held[i].offset));
            held[i].size = 0;
        } else {
            uint64_t size = (1 + (number >> 8) % 300) * 4096,
                     offset = kf_blocks_take(&blocks, size);
            if (offset == KF_NO_BLOCK) continue;
            held[i].offset = offset;
            held[i].size = size_of(&blocks, offset);
            assert_true(held[i].size >= size && offset % 4096 == 0);
            for (uint64_t k = offset / 4096; k < (offset + held[i].size) / 4096; k++) {
                assert_int_equal(owner[k], 0);
                owner[k] = (unsigned char)(i + 1);
            }
        }
        if (step % 512 == 0) whole(&blocks, (uint64_t)UNITS * 4096);
    }
    kf_blocks_free(&blocks);
}

/* Blocks of the host's memory are kept until all unused ones are dropped. */
static void host_blocks_serve_again(void **state)
{
    (void)state;
    static kf_host_blocks blocks;
    static char memory[KF_HOST_BLOCKS + 1];
    assert_null(kf_host_blocks_take(&blocks, 1000));
    assert_true(kf_host_blocks_add(&blocks, &memory[0], 1000));
    assert_true(kf_host_blocks_add(&blocks, &memory[1], 900));
    assert_null(kf_host_blocks_take(&blocks, 500)); /* both are used */
    assert_null(kf_host_blocks_drop(&blocks));
    assert_true(kf_host_blocks_give_back(&blocks, &memory[0]));
    assert_false(kf_host_blocks_give_back(&blocks, &memory[0]));
    assert_false(kf_host_blocks_give_back(&blocks, &memory[2]));
    assert_false(kf_host_blocks_give_back(&blocks, NULL));
    assert_null(kf_host_blocks_take(&blocks, 1001));
    assert_null(kf_host_blocks_take(&blocks, 499)); /* too large for it */
    assert_true(kf_host_blocks_give_back(&blocks, &memory[1]));
    assert_ptr_equal(kf_host_blocks_take(&blocks, 800), &memory[1]); /* the smaller one */
    assert_ptr_equal(kf_host_blocks_take(&blocks, 800), &memory[0]);
    assert_true(kf_host_blocks_give_back(&blocks, &memory[0]));
    assert_ptr_equal(kf_host_blocks_drop(&blocks), &memory[0]);
    assert_null(kf_host_blocks_drop(&blocks));
    assert_true(kf_host_blocks_give_back(&blocks, &memory[1]));
    for (int i = 0; i < KF_HOST_BLOCKS - 1; i++)
        assert_true(kf_host_blocks_add(&blocks, &memory[2 + i], 10));
    assert_false(kf_host_blocks_add(&blocks, memory, 10));
    assert_ptr_equal(kf_host_blocks_drop(&blocks), &memory[1]);
    assert_true(kf_host_blocks_add(&blocks, memory, 10));
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_ones_begin_at_pages),
        cmocka_unit_test(only_what_was_taken_comes_back),
        cmocka_unit_test(at_random),
        cmocka_unit_test(host_blocks_serve_again),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
