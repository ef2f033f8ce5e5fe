/* Solutions that compile when they are called (tests/torch/dry_run), and which those are. What a
 * dry run says is the field "dry_run" of their first line. */
#include "torch_cases.h"

#include <unistd.h>

#include "kforge/job.h"

static void compilers_are_told_by_whole_words(void **state)
{
    (void)state;
    static const char *const compile[] = {"import triton\n",
                                          "@triton.jit",
                                          "x=torch.compile(f)",
                                          "from torch._inductor import config",
                                          "import cupy as cp",
                                          "import subprocess",
                                          "numba",
                                          "import cutlass.cute as cute",
                                          "# nothing\nimport triton",
                                          "print('#'); import triton",
                                          "x = \"it's\"; import triton # and more",
                                          "it isn't clear # whether triton is in this text",
                                          "f(\"triton\")",
                                          "x = \"\"\"triton\"\"\"",
                                          "x = (\n\"\"\"triton\"\"\")",
                                          "x = \\\n'triton'",
                                          "'triton'.join(names)",
                                          "\"\"\"a\"\"\"; import triton",
                                          "'''a # b'''\nimport triton",
                                          "'not closed\nimport triton",
                                          "'a\\'b'\nimport triton",
                                          "\"\"\"it's\"\"\"\nimport triton",
                                          "x = [1,\n'triton'\n]",
                                          "x = br'triton'",
                                          "fr = triton"};
    static const char *const others[] = {"",
                                         "import torch",
                                         "tritonic",
                                         "my_triton",
                                         "torch.compiled",
                                         "torch_compile",
                                         "cp.cupyx",
                                         "numbas",
                                         "warp shuffles",
                                         "my_triton = 1; # (triton)",
                                         "# torch.compile would do\nimport torch",
                                         "x = 'a\\'b' # numba",
                                         "\"\"\"No triton, no torch.compile.\"\"\"\nimport torch",
                                         "def f():\n    '''triton\n    numba'''\n    return 1",
                                         "def f(\n):\n    r\"triton\"  # as above",
                                         "x = 1; 'triton'; y = 2",
                                         "'triton",
                                         "\"\"\"triton",
                                         "'triton\\",
                                         "a) ]\n'triton'"};
    for (size_t i = 0; i < sizeof compile / sizeof *compile; i++)
        if (!kf_compiles_when_called(compile[i])) fail_msg("not seen: %s", compile[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (kf_compiles_when_called(others[i])) fail_msg("seen: %s", others[i]);
}

static void solutions_compile_when_they_are_called(void **state)
{
    (void)state;
    every_file_of("dry_run", false, 15);
    static const char *const left[] = {"/kforge-elsewhere", "/tmp/kforge-elsewhere"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        assert_int_not_equal(access(left[i], F_OK), 0);
    assert_false(is_running("sleep 7654"));
}

int test_program(void)
{
    const struct CMUnitTest pure[] = {cmocka_unit_test(compilers_are_told_by_whole_words)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions_compile_when_they_are_called)};
    int failed = TEST_GROUP(pure, NULL, NULL);
    return failed ? failed : judge_tests("torch_dry_run", tests, sizeof tests / sizeof *tests, "");
}
