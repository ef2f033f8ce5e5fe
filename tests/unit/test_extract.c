/* Code out of replies: fenced blocks, reasoning, search/replace edits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "test_main.h"
#include "c_lexer.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "extract.h"

#define ENTRY                                                                                      \
    "extern \"C\" void f(const float *x, int64_t n, cudaStream_t s)\n{\n    k<<<1, 1, 0, s>>>(x, " \
    "n);\n}\n"

/* The CUDA lies in a string of a Python program. */
#define PROGRAM                                                                               \
    "import torch\nsource = r\"\"\"\n" ENTRY "\"\"\"\nclass ModelNew(torch.nn.Module):\n    " \
    "pass\n"
#define PYTHON "```python\n" PROGRAM "```\n"

static void chooses_the_block(void **state)
{
    (void)state;
    const struct {
        const char *what, *reply, *expected;
    } rows[] = {
        {"one block", "Here:\n```cuda\n" ENTRY "```\nDone.", ENTRY},
        {"tildes", "~~~cpp\n" ENTRY "~~~\n", ENTRY},
        {"no tag", "```\n" ENTRY "```\n", ENTRY},
        {"wrong tag", "```python\n" ENTRY "```\n", ENTRY},
        {"unclosed", "```cuda\n" ENTRY, ENTRY},
        {"CRLF", "text\r\n```cuda\r\nvoid f(int a)\r\n{\r\n}\r\n```\r\n", "void f(int a)\n{\n}\n"},
        {"longer fence around a shorter one", "````cuda\n// ```\n" ENTRY "````\n",
         "// ```\n" ENTRY},
        {"Markdown in Markdown", "````markdown\n# Title\n```cuda\n" ENTRY "```\n````\n", ENTRY},
        {"nested with equal fences", "```markdown\ntext\n```cuda\n" ENTRY "```\n```\n", ENTRY},
        {"a close with an info string is none", "```cuda\n" ENTRY "```cuda\nint other;\n```\n",
         ENTRY},
        {"tilde does not close backtick", "```cuda\n// x\n~~~\n" ENTRY "```\n",
         "// x\n~~~\n" ENTRY},
        {"indented in a list",
         "1. Do:\n   ```cuda\n   void f(int a)\n   {\n       a++;\n   }\n   ```\n",
         "void f(int a)\n{\n    a++;\n}\n"},
        {"defines beats longer",
         "```cuda\n__global__ void long_helper_kernel(const float *x, float *y, int n) { y[0] = "
         "x[n]; } // f is called elsewhere, "
         "f(x)\n```\n```cuda\nvoid f(int a) {}\n```\n",
         "void f(int a) {}\n"},
        {"mention in a comment or a string is no definition",
         "```cpp\n// void f(int a) { }\nconst char *s = \"void f() {\";\n/* void f(int a) { } and "
         "more text to be long "
         "*/\n```\n```text\nvoid f(int a)\n{}\n```\n",
         "void f(int a)\n{}\n"},
        {"a declaration is no definition",
         "```cuda\nextern \"C\" void f(int a); // declared, with a long remark behind "
         "it\n```\n```cuda\nvoid f(int a) {}\n```\n",
         "void f(int a) {}\n"},
        {"a call is no definition",
         "```cuda\nint main() { f(1); if (f(2)) { return f(3); } }\n```\n```cuda\nvoid f(int a) "
         "{}\n```\n",
         "void f(int a) {}\n"},
        {"tag beats length",
         "```bash\nnvcc -O3 -o x x.cu && ./x --and --a --long --command --line\n```\n```cuda\nint "
         "g;\n```\n",
         "int g;\n"},
        {"longest of the tagged", "```cuda\nint g;\n```\n```c\nint g; int h;\n```\n",
         "int g; int h;\n"},
        {"longest of those that define",
         "```cuda\nvoid f(int a) {}\n```\n```cuda\nvoid f(int a) { a++; }\n```\n",
         "void f(int a) { a++; }\n"},
        {"definition with attributes",
         "```\nextern \"C\" __attribute__((visibility(\"default\"))) void\nf(int a, // first\n  "
         "int b) noexcept\n{\n}\n```\n",
         "extern \"C\" __attribute__((visibility(\"default\"))) void\nf(int a, // first\n  int b) "
         "noexcept\n{\n}\n"},
        {"in an extern C block", "```\nextern \"C\" {\nvoid f(int a)\n{\n}\n}\n```\n",
         "extern \"C\" {\nvoid f(int a)\n{\n}\n}\n"},
        {"reasoning first",
         "<think>\nMaybe:\n```cuda\nvoid f(int wrong) { wrong++; wrong++; "
         "}\n```\n</think>\n```cuda\nvoid f(int a) {}\n```\n",
         "void f(int a) {}\n"},
        {"reasoning without its opening tag",
         "hm\n```cuda\nvoid f(int wrong) { wrong++; }\n```\n</think>\n\n```cuda\nvoid f(int a) "
         "{}\n```\n",
         "void f(int a) {}\n"},
        {"two kinds of reasoning",
         "<thinking>a</thinking>\n<reasoning>b</reasoning>\n```cuda\nvoid f(int a) {}\n```\n",
         "void f(int a) {}\n"},
        {"reasoning never closed", "<think>\nso\n```cuda\nvoid f(int a) {}\n```\n",
         "void f(int a) {}\n"},
        {"no fence",
         "Sure, here it is.\n\n#include <cstdint>\n" ENTRY "\nThis is fast because it is.\n",
         "#include <cstdint>\n" ENTRY},
        {"no fence, code only", "#include <cstdint>\n" ENTRY, "#include <cstdint>\n" ENTRY},
        {"a usage snippet behind the kernel",
         "```cuda\n" ENTRY "```\nUse it so:\n```cpp\nint main() { f(x, n, 0); return 0; }\n```\n",
         ENTRY},
        {"CUDA in a Python string, and a block of its own",
         "```python\ns = \"\"\"\n" ENTRY ENTRY "\"\"\"\n```\n```cuda\n" ENTRY "```\n", ENTRY},
        {"a block without a tag that is Python", "```\n" PROGRAM "```\n```\n" ENTRY "```\n", ENTRY},
        {"tildes, unclosed", "~~~cuda\n" ENTRY, ENTRY},
        {"NUL-less UTF-8", "```cuda\nvoid f(int a) { /* ≤ 1 µs */ }\n```",
         "void f(int a) { /* ≤ 1 µs */ }\n"},
        {"raw strings and separators",
         "```\nconst char *s = R\"x(void f() { )y\" )x\"; int n = 1'000; char c = '\"';\nvoid "
         "f(int a) {}\n```\n",
         "const char *s = R\"x(void f() { )y\" )x\"; int n = 1'000; char c = '\"';\nvoid f(int a) "
         "{}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        kf_autofree char *source =
            kf_extract_source(rows[i].reply, strlen(rows[i].reply), "f", &error);
        if (!source) fail_msg("%s: %s", rows[i].what, error.text);
        if (strcmp(source, rows[i].expected) != 0) fail_msg("%s: got\n%s", rows[i].what, source);
    }
}

static void says_what_was_found_instead(void **state)
{
    (void)state;
    const struct {
        const char *reply;
        size_t size;
        kf_error_code code;
        const char *expected;
    } rows[] = {
        {"", 0, KF_ERROR_INPUT, "the reply is empty"},
        {" \n\t\n", 4, KF_ERROR_INPUT, "the reply is empty"},
        {"I can't help with that.", 23, KF_ERROR_INPUT,
         "0 fenced blocks, without CUDA code; answer with one ```cuda block that defines f"},
        {"```bash\nls\n```\n", 14, KF_ERROR_INPUT, "1 fenced block, without CUDA code"},
        {"```cuda\n```\n", 12, KF_ERROR_INPUT, "1 fenced block"},
        {"<think>hm", 9, KF_ERROR_INPUT, "only reasoning"},
        {PYTHON, sizeof PYTHON - 1, KF_ERROR_INPUT, "Python, and CUDA at most in its strings"},
        {"<think>hm</think>\n ", 19, KF_ERROR_INPUT, "only reasoning"},
        {"a\0b", 3, KF_ERROR_INPUT, "NUL byte at offset 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        assert_null(kf_extract_source(rows[i].reply, rows[i].size, "f", &error));
        assert_int_equal(error.code, rows[i].code);
        if (!strstr(error.text, rows[i].expected)) fail_msg("row %zu: %s", i, error.text);
    }
    kf_autofree char *huge = malloc(KF_REPLY_BYTES + 1);
    memset(huge, 'x', KF_REPLY_BYTES + 1);
    kf_error error;
    assert_null(kf_extract_source(huge, KF_REPLY_BYTES + 1, "f", &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
}

/* For a task of PyTorch a Python program is a source, and complete ones win. */
static void python_is_a_source_for_torch(void **state)
{
    (void)state;
    const struct {
        const char *what, *reply, *expected;
        bool torch, python;
    } rows[] = {
        {"tagged", PYTHON, PROGRAM, true, true},
        {"tildes", "~~~py\n" PROGRAM "~~~\n", PROGRAM, true, true},
        {"no tag, unclosed", "```\n" PROGRAM, PROGRAM, true, true},
        {"no fence", "Here:\n\n" PROGRAM "\nThat is all.\n", PROGRAM, true, true},
        {"usage behind it",
         PYTHON "```python\nmodel = ModelNew()\nprint(model(x), 'x' * 900)\n```\n", PROGRAM, true,
         true},
        {"CUDA C", "```cuda\n" ENTRY "```\n", ENTRY, true, false},
        {"a kernel apart", "```cuda\n__global__ void k() {}\n```\n" PYTHON, PROGRAM, true, true},
        {"no ModelNew", "```python\nimport torch\nx = 1\n```\n```cuda\n" ENTRY "```\n", ENTRY, true,
         false},
        {"not for CUDA C", PYTHON, NULL, false, false},
        {"no fence, not for CUDA C", PROGRAM, NULL, false, false},
        {"edits", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", NULL, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        bool python;
        kf_autofree char *source = kf_extract_candidate(rows[i].reply, strlen(rows[i].reply), "f",
                                                        rows[i].torch, &python, &error);
        if (!source != !rows[i].expected) fail_msg("%s: %s", rows[i].what, error.text);
        if (!source) continue;
        if (strcmp(source, rows[i].expected) != 0) fail_msg("%s: got\n%s", rows[i].what, source);
        if (python != rows[i].python) fail_msg("%s: the language", rows[i].what);
    }
}

/* ---- edits ----------------------------------------------------------------------------------- */

static const char parent[] = "#include <cstdint>\n"
                             "__global__ void k(float *y, int n)\n"
                             "{\n"
                             "    int i = threadIdx.x;\n"
                             "    if (i < n) {\n"
                             "        y[i] = 1;\n"
                             "    }\n"
                             "}\n"
                             "__global__ void k2(float *y, int n)\n"
                             "{\n"
                             "    int i = threadIdx.x;\n"
                             "    y[i] = 2;\n"
                             "}\n";

#define EDIT(search, replace) "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"

static void edits_apply(void **state)
{
    (void)state;
    const struct {
        const char *what, *reply, *present, *absent;
        int count;
    } rows[] = {
        {"exact", "Change:\n```\n" EDIT("        y[i] = 1;\n", "        y[i] = 3;\n") "```\n",
         "        y[i] = 3;\n    }\n", "y[i] = 1", 1},
        {"two, the second on what the first wrote",
         EDIT("        y[i] = 1;\n", "        y[i] = 3;\n") "and\n" EDIT("        y[i] = 3;\n",
                                                                         "        y[i] = 4;\n"),
         "y[i] = 4;", "y[i] = 3", 2},
        {"trailing blanks", EDIT("        y[i] = 1;   \n    } \n", "        y[i] = 5;\n    }\n"),
         "y[i] = 5;\n    }\n}\n", "y[i] = 1", 1},
        {"CRLF reply",
         "<<<<<<< SEARCH\r\n        y[i] = 1;\r\n=======\r\n        y[i] = 6;\r\n>>>>>>> "
         "REPLACE\r\n",
         "        y[i] = 6;\n", "\r", 1},
        {"other indentation",
         EDIT("if (i < n) {\n    y[i] = 1;\n}\n",
              "for (; i < n; i += 32) {\n    y[i] = 1;\n    if (i) {\n        y[i]++;\n    }\n}\n"),
         "    for (; i < n; i += 32) {\n        y[i] = 1;\n        if (i) {\n            y[i]++;\n "
         "       }\n    }\n}\n",
         "if (i < n)", 1},
        {"too much indentation",
         EDIT("            y[i] = 1;\n", "            y[i] = 7;\n                y[0] = 0;\n"),
         "\n        y[i] = 7;\n            y[0] = 0;\n    }", "y[i] = 1", 1},
        {"blank lines around", EDIT("\n      y[i] = 1;\n\n", "      y[i] = 8;\n"),
         "\n        y[i] = 8;\n", "y[i] = 1", 1},
        {"deletion", EDIT("    int i = threadIdx.x;\n    y[i] = 2;\n", ""),
         "k2(float *y, int n)\n{\n}\n", "y[i] = 2", 1},
        {"last line without line break",
         "<<<<<<< SEARCH\n    y[i] = 2;\n=======\n    y[i] = 9;\n>>>>>>> REPLACE", "y[i] = 9;\n}\n",
         "y[i] = 2", 1},
        {"shorter marks, indented",
         "  <<<<< SEARCH\n    y[i] = 2;\n  =====\n    y[i] = 9;\n  >>>>> REPLACE\n",
         "y[i] = 9;\n}\n", "y[i] = 2", 1},
        {"after reasoning",
         "<think>" EDIT("nonsense\n", "x\n") "</think>\n" EDIT("    y[i] = 2;\n",
                                                               "    y[i] = 9;\n"),
         "y[i] = 9;\n}\n", "y[i] = 2", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        int applied = 0;
        size_t size = strlen(rows[i].reply);
        assert_true(kf_extract_has_edits(rows[i].reply, size));
        kf_autofree char *source = kf_extract_apply(parent, rows[i].reply, size, &applied, &error);
        if (!source) fail_msg("%s: %s", rows[i].what, error.text);
        if (!strstr(source, rows[i].present) || strstr(source, rows[i].absent))
            fail_msg("%s: got\n%s", rows[i].what, source);
        assert_int_equal(applied, rows[i].count);
    }
    int applied;
    kf_autofree char *crlf = kf_extract_apply("a;\r\nb;\r\nc;\r\n", EDIT("b;\n", "B;\n"),
                                              strlen(EDIT("b;\n", "B;\n")), &applied, NULL);
    assert_string_equal(crlf, "a;\r\nB;\nc;\r\n");
}

static void edits_that_do_not_apply_say_why(void **state)
{
    (void)state;
    const struct {
        const char *reply, *expected;
        int applied;
    } rows[] = {
        {"no edit", "holds no search/replace edit", 0},
        {EDIT("    int i = threadIdx.x;\n", "x\n"),
         "edit 1 is ambiguous: its SEARCH lines are at lines 4 and 11 of the source; add lines", 0},
        {EDIT("int i = threadIdx.x;\n", "x\n"), "edit 1 is ambiguous", 0},
        {EDIT("    y[i] = 2;\n", "    y[i] = 3;\n") EDIT("    q[i] = 2;\n", ""),
         "edit 2 does not apply: its first line `q[i] = 2;` is not in the source", 1},
        {EDIT("    if (i < n) {\n        y[i] = 17;\n", ""),
         "its first 1 line matches at line 5 of the source, but then it has `y[i] = 17;` where the "
         "source has `y[i] = 1;`",
         0},
        {EDIT("}\nnever\n", ""), "then it has `never` where the source has `}`", 0},
        {EDIT("    y[i] = 2;\n}\nmore\n", ""), "where the source has `the end of the source`", 0},
        {EDIT("", "x\n"), "edit 1 has an empty SEARCH part", 0},
        {EDIT("  \n", "x\n"), "edit 1 has an empty SEARCH part", 0},
        {"<<<<<<< SEARCH\nx\n", "edit 1 has no ======= line", 0},
        {"<<<<<<< SEARCH\nx\n=======\ny\n", "edit 1 has no >>>>>>> REPLACE line", 0},
        {"<<<<<<< SEARCH\nx\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n",
         "edit 1 has no ======= line", 0},
        {"", "the reply is empty", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        int applied = -1;
        assert_null(
            kf_extract_apply(parent, rows[i].reply, strlen(rows[i].reply), &applied, &error));
        if (!strstr(error.text, rows[i].expected)) fail_msg("row %zu: %s", i, error.text);
        assert_int_equal(applied, rows[i].applied);
    }
    assert_false(kf_extract_has_edits("a < b", 5));
}

/* Repetitive input of the largest size: linear time, not quadratic. */
static void hostile_size_stays_quick(void **state)
{
    (void)state;
    clock_t start = clock();
    kf_autobuffer source = {0}, reply = {0}, nested = {0}, calls = {0}, preambles = {0};
    for (int i = 0; i < 1000000; i++) kf_buffer_string(&source, "a\n");
    kf_buffer_string(&reply, "<<<<<<< SEARCH\n");
    for (int i = 0; i < 500000; i++) kf_buffer_string(&reply, "a\n");
    kf_buffer_string(&reply, "b\n=======\n>>>>>>> REPLACE\n");
    int applied;
    kf_error error;
    assert_null(kf_extract_apply(source.data, reply.data, reply.size, &applied, &error));
    assert_non_null(strstr(error.text, "its first 500000 lines match at line 1 of"));
    for (int i = 0; i < 500000; i++) kf_buffer_string(&nested, "```markdown\n");
    assert_null(kf_extract_source(nested.data, nested.size, "f", &error));
    for (int i = 0; i < 100000; i++) kf_buffer_string(&preambles, "<reasoning></reasoning>");
    assert_null(kf_extract_source(preambles.data, preambles.size, "f", &error));
    kf_buffer_string(&calls, "```cuda\n");
    for (int i = 0; i < 1000000; i++) kf_buffer_string(&calls, "a f(");
    kf_autofree char *text = kf_extract_source(calls.data, calls.size, "f", &error);
    assert_non_null(text);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
}

static void code_is_separated_from_comments(void **state)
{
    (void)state;
    static const char text[] = "int a; // x\\\n y\n/* b\n */ \"c\\\"d\" 'e' 1'000 u8R\"(f\n)\" g";
    kf_autofree char *blank = kf_code_blank(text, sizeof text - 1);
    assert_string_equal(
        blank, "int a; \1\1\1\1\1\n\1\1\n    \n    \"\"\"\"\"\" \"\"\" 1'000 u8R\"\"\"\n\"\" g");
}

static void objects_are_read_as_models_write_them(void **state)
{
    (void)state;
    const struct {
        const char *what, *reply, *expected;
    } rows[] = {
        {"plain", "{\"bottleneck\": \"memory\", \"n\": 3, \"ok\": true, \"none\": null}",
         "{\"bottleneck\":\"memory\",\"n\":3,\"ok\":true,\"none\":null}"},
        {"in a fence", "Sure!\n```json\n{\"a\": [1, -2.5e1, []], \"b\": {}}\n```\nDone.",
         "{\"a\":[1,-25,[]],\"b\":{}}"},
        {"between sentences", "I think {\"a\": 1} says it.", "{\"a\":1}"},
        {"trailing commas", "{\"a\": [1, 2,], \"b\": 2,}", "{\"a\":[1,2],\"b\":2}"},
        {"comments", "{ // first\n \"a\": 1, /* then */ \"b\": 2 // last\n}", "{\"a\":1,\"b\":2}"},
        {"Python", "{'a': True, 'b': None, 'c': 'it\\'s', 'd': False}",
         "{\"a\":true,\"b\":null,\"c\":\"it's\",\"d\":false}"},
        {"bare keys", "{bottleneck: \"x\", fix = 2}", "{\"bottleneck\":\"x\",\"fix\":2}"},
        {"typographic quotes",
         "{\xe2\x80\x9c"
         "a\xe2\x80\x9d: \xe2\x80\x9c"
         "b\xe2\x80\x9d}",
         "{\"a\":\"b\"}"},
        {"quotes within", "{\"a\": \"use \"float4\" loads\", \"b\": 1}",
         "{\"a\":\"use \\\"float4\\\" loads\",\"b\":1}"},
        {"line breaks within", "{\"a\": \"one\ntwo\"}", "{\"a\":\"one\\ntwo\"}"},
        {"escapes", "{\"a\": \"\\u00e9\\n\\q\\u0000\"}", "{\"a\":\"\xc3\xa9\\nq\xef\xbf\xbd\"}"},
        {"no comma between lines", "{\"a\": 1\n \"b\": 2}", "{\"a\":1,\"b\":2}"},
        {"NaN and percent", "{\"a\": NaN, \"b\": 12%}", "{\"a\":null,\"b\":12}"},
        {"cut off in a text", "{\"a\": 1, \"b\": [\"x\", \"long te",
         "{\"a\":1,\"b\":[\"x\",\"long te\"]}"},
        {"cut off behind a key", "{\"a\": 1, \"b\":", "{\"a\":1}"},
        {"cut off behind a comma", "{\"a\": 1,", "{\"a\":1}"},
        {"code first", "```cuda\nvoid f() { int i = 0; }\n```\n{\"a\": 1}", "{\"a\":1}"},
        {"the longest", "{\"a\": 1} and {\"b\": \"longer\"} and {\"c\": 2}", "{\"b\":\"longer\"}"},
        {"reasoning first",
         "<think>{\"wrong\": \"a long remark that is not the answer\"}</think>{\"a\": 1}",
         "{\"a\":1}"},
        {"an outer one that fails", "{see {\"a\": {\"b\": 1}}}", "{\"a\":{\"b\":1}}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kf_error error = {0};
        cJSON *json = kf_extract_json(rows[i].reply, strlen(rows[i].reply), &error);
        if (!json) fail_msg("%s: %s", rows[i].what, error.text);
        char *text = cJSON_PrintUnformatted(json);
        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%s: %s instead of %s", rows[i].what, text, rows[i].expected);
        free(text);
        cJSON_Delete(json);
    }
    static const char *const none[] = {"",         "  \n",   "no braces", "void f() { return; }",
                                       "{}",       "[1, 2]", "{{{{",      "{\"a\"}",
                                       "{\"a\": }"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        kf_error error = {0};
        if (kf_extract_json(none[i], strlen(none[i]), &error))
            fail_msg("found an object in: %s", none[i]);
        assert_true(error.text[0]);
    }
}

/* 0.1 s each on a slow machine, about ten times as long with a sanitizer. Quadratic time would be
 * many minutes. */
#ifdef __SANITIZE_ADDRESS__
#define MAX_SECONDS 40
#else
#define MAX_SECONDS 5
#endif

/* Limits of depth, size and time. */
static void hostile_objects_stay_cheap(void **state)
{
    (void)state;
    static const char *const pieces[] = {"{\"a\":", "{\"",       "{'\"", "[{",
                                         "{a:[",    "{\"a\":1,", "{/*",  "\"{\":"};
    size_t size = 1u << 20;
    char *text = malloc(size);
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        size_t length = strlen(pieces[k]);
        for (size_t i = 0; i < size; i++) text[i] = pieces[k][i % length];
        memcpy(text + size - 3, "\":!", 3);
        double start = (double)clock();
        kf_error error = {0};
        cJSON_Delete(kf_extract_json(text, size, &error));
        double seconds = ((double)clock() - start) / CLOCKS_PER_SEC;
        if (seconds > MAX_SECONDS) fail_msg("%s took %.1f s", pieces[k], seconds);
    }
    free(text);
    char deep[400] = "";
    for (int i = 0; i < 60; i++) strcat(deep, "{\"a\":");
    kf_error error = {0};
    cJSON *json = kf_extract_json(deep, strlen(deep), &error);
    assert_non_null(json);
    cJSON_Delete(json);
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_block),
        cmocka_unit_test(says_what_was_found_instead),
        cmocka_unit_test(python_is_a_source_for_torch),
        cmocka_unit_test(edits_apply),
        cmocka_unit_test(edits_that_do_not_apply_say_why),
        cmocka_unit_test(hostile_size_stays_quick),
        cmocka_unit_test(code_is_separated_from_comments),
        cmocka_unit_test(objects_are_read_as_models_write_them),
        cmocka_unit_test(hostile_objects_stay_cheap),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
