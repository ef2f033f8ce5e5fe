/* Joining the two parts of a reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test_main.h"
#include "llm_continue.h"

static void what_is_open(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool open;
    } rows[] = {{"", true},
                {"I will now", true},
                {"```cuda\nint x", true},
                {"```cuda\nint x;\n```", false},
                {"```cuda\nint x;\n```\nand so on", false},
                {"```cuda\nint x;\n```\n```cuda\nint y", true},
                {"~~~\nint x;\n~~~\n", false},
                {"```markdown\n```cuda\nint x;\n```\n", false},
                {"``\nx\n``\n", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (kf_reply_is_open(rows[i].text, strlen(rows[i].text)) != rows[i].open)
            fail_msg("%s", rows[i].text);
}

static void parts_meet(void **state)
{
    (void)state;
    static const struct {
        const char *begun, *more, *whole;
    } rows[] = {
        {"", "all", "all"},
        {"abc", "", "abc"},
        {"```cuda\nint x", " = 1;\n```\n", "```cuda\nint x = 1;\n```\n"},
        {"```cuda\nint x", "int x = 1;\n```\n", "```cuda\nint x = 1;\n```\n"},
        /* 14 bytes */
        {"```cuda\nint x = threadIdx.", "x = threadIdx.y;\n", "```cuda\nint x = threadIdx.y;\n"},
        /* One equal byte is chance. */

        {"```cuda\nint a = 1", "1;\n", "```cuda\nint a = 11;\n"},
        {"```cuda\nint x;\n", "```cuda\nint y;\n```\n", "```cuda\nint x;\nint y;\n```\n"},
        {"```cuda\nint x;\n", "Here is the rest:\n```cpp\nint y;\n```\n",
         "```cuda\nint x;\nint y;\n```\n"},
        {"```cuda\nint x;\n", "```\nDone.", "```cuda\nint x;\n```\nDone."},
        {"First some words, ", "then\n```cuda\nint x;\n```\n",
         "First some words, then\n```cuda\nint x;\n```\n"},
        {"The kernel is bound by memory, so it loads float4, and then it goes on\n```cuda\nin",
         "The kernel is bound by memory, so it loads float4, and then it goes on\n```cuda\nint "
         "x;\n```\n",
         "The kernel is bound by memory, so it loads float4, and then it goes on\n```cuda\nint "
         "x;\n```\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_autobuffer text = {0};
        kf_buffer_string(&text, rows[i].begun);
        kf_reply_join(&text, rows[i].more, strlen(rows[i].more));
        if (strcmp(text.data ? text.data : "", rows[i].whole) != 0)
            fail_msg("%zu: %s", i, text.data);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_open),
                                       cmocka_unit_test(parts_meet)};
    return TEST_GROUP(tests, NULL, NULL);
}
