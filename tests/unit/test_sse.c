/* Event streams, whole and in pieces of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "kforge/cleanup.h"
#include "sse.h"

typedef struct record {
    kf_buffer text; /* "NAME=DATA|" for each event */
    /* Events until the handler stops. Negative: never. */
    int left;
} record;

static bool note(void *context, const char *name, const char *data, size_t size)
{
    record *r = context;
    kf_buffer_format(&r->text, "%s=", name);
    kf_buffer_append(&r->text, data, size);
    kf_buffer_string(&r->text, "|");
    return r->left < 0 || --r->left > 0;
}

/* Returns the events of a stream in pieces of `piece` bytes. */
static char *parse(const char *stream, size_t size, size_t piece)
{
    record r = {.left = -1};
    kf_sse sse;
    kf_error error = {0};
    kf_sse_open(&sse, note, &r);
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        /* A copy of exactly the text's size, so that a sanitizer finds a read past its end. */
        kf_autofree char *copy = malloc(length);
        memcpy(copy, stream + at, length);
        assert_true(kf_sse_feed(&sse, copy, length, &error));
    }
    assert_true(kf_sse_end(&sse, &error));
    kf_sse_close(&sse);
    return kf_buffer_take(&r.text);
}

static void streams_are_read_however_they_are_cut(void **state)
{
    (void)state;
    const struct {
        const char *stream, *expected;
    } rows[] = {
        {"", ""},
        {"data: a\n\n", "=a|"},
        {"data: a\r\n\r\ndata: b\r\n\r\n", "=a|=b|"},
        {"data: a\r\rdata: b\r\r", "=a|=b|"},
        {"data: a\r\n\ndata: b\n\r\n", "=a|=b|"},
        {"data:no space\n\n", "=no space|"},
        {"data:  two\n\n", "= two|"},
        {"data: a\ndata: b\ndata\ndata:\n\n", "=a\nb\n\n|"},
        {": keep-alive\n\n: another\ndata: a\n: within\n\n:\n\n", "=a|"},
        {"event: ping\ndata: {}\n\ndata: x\n\n", "ping={}|=x|"},
        {"event: lost\n\ndata: x\n\n", "=x|"},
        {"id: 7\nretry: 10\nunknown: y\ndatabase: z\ndata: x\n\n", "=x|"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "=a|"},
        {"\xef\xbb"
         "data: a\n\ndata: b\n\n",
         "=b|"},
        {"data: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n\n",
         "=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80|"},
        {"\n\n\ndata: a\n\n\n\n", "=a|"},
        {"data: forgotten end", "=forgotten end|"},
        {"data: one\n\ndata: [DONE]\n", "=one|=[DONE]|"},
        {"data: a:b: c\n\n", "=a:b: c|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t piece = 1; piece <= 16; piece++) {
            kf_autofree char *got = parse(rows[i].stream, strlen(rows[i].stream), piece);
            if (strcmp(got, rows[i].expected) != 0)
                fail_msg("row %zu in pieces of %zu: \"%s\"", i, piece, got);
        }
    kf_autofree char *with_nul = parse("data: a\0b\n\n", 11, 3);
    assert_memory_equal(with_nul, "=a\0b|", 5);
}

static void five_megabytes_are_the_limit(void **state)
{
    (void)state;
    size_t size = KF_SSE_BYTES;
    kf_autobuffer stream = {0};
    kf_buffer_string(&stream, "data: ");
    kf_autofree char *filler = malloc(size);
    memset(filler, 'x', size);
    kf_buffer_append(&stream, filler, size);
    kf_buffer_string(&stream, "\n\n");
    kf_autofree char *got = parse(stream.data, stream.size, 65536);
    assert_int_equal(strlen(got), size + 2);
    /* One more byte, as one line and as several. */
    for (int lines = 0; lines < 2; lines++) {
        record r = {.left = -1};
        kf_sse sse;
        kf_error error = {0};
        kf_sse_open(&sse, note, &r);
        bool fed = kf_sse_feed(&sse, "data: ", 6, &error) &&
                   kf_sse_feed(&sse, filler, size - 10, &error) &&
                   (!lines || kf_sse_feed(&sse, "\ndata:", 6, &error)) &&
                   kf_sse_feed(&sse, filler, 11, &error) && kf_sse_feed(&sse, "\n\n", 2, &error);
        assert_false(fed);
        assert_int_equal(error.code, KF_ERROR_LIMIT);
        assert_false(kf_sse_feed(&sse, "data: x\n\n", 9, &error));
        assert_null(r.text.data);
        kf_sse_close(&sse);
    }
}

static void a_handler_can_stop(void **state)
{
    (void)state;
    record r = {.left = 2};
    kf_sse sse;
    kf_error error = {0};
    kf_sse_open(&sse, note, &r);
    const char stream[] = "data: a\n\ndata: b\n\ndata: c\n\n";
    assert_false(kf_sse_feed(&sse, stream, strlen(stream), &error));
    assert_false(kf_sse_end(&sse, &error));
    assert_string_equal(r.text.data, "=a|=b|");
    kf_sse_close(&sse);
    kf_buffer_free(&r.text);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_read_however_they_are_cut),
        cmocka_unit_test(five_megabytes_are_the_limit),
        cmocka_unit_test(a_handler_can_stop),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
