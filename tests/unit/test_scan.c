/* Static triage: what is flagged at which line, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <elf.h>

#include <cmocka.h>

#include "test_main.h"
#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/scan.h"

/* All flags as "rule:word:line:count " one after the other. */
static void note(void *context, const kf_scan_flag *flag)
{
    char *all = context;
    snprintf(all + strlen(all), 4096 - strlen(all), "%s:%s:%ld:%ld ", flag->rule, flag->word,
             flag->line, flag->count);
}

static void scan_gives(const char *source, bool python, const char *expected)
{
    char all[4096] = "";
    kf_error error = {0};
    if (!kf_scan_source(source, strlen(source), python, note, all, &error))
        fail_msg("%s", error.text);
    assert_string_equal(all, expected);
}

static void source_gives(const char *source, const char *expected)
{
    scan_gives(source, false, expected);
}

static void python_gives(const char *source, const char *expected)
{
    assert_true(kf_source_is_python(source, strlen(source)));
    scan_gives(source, true, expected);
}

static void names_are_flagged_where_they_are(void **state)
{
    (void)state;
    source_gives("void f()\n{\n    clock_gettime(1, 0);\n    fork();\n    fork();\n}\n",
                 "time.read:clock_gettime:3:1 process.start:fork:4:2 ");
    source_gives("int g = system(\"x\");", "process.start:system:1:1 ");
    source_gives("std::thread t([] {});\nt.detach();",
                 "thread.start:thread:1:1 thread.detached:detach:2:1 ");
    source_gives("static std::unordered_map<const void *, int> seen;",
                 "state.kept:unordered_map:1:1 ");
    source_gives(
        "cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);",
        "stream.side:cudaStreamCreateWithFlags:1:1 stream.side:cudaStreamNonBlocking:1:1 ");
    source_gives("__attribute__((constructor)) void early();",
                 "start.constructor:constructor:1:1 ");
    source_gives("write(3, p, 40);", "runner.descriptor:write:1:1 ");
    source_gives("asm(\".incbin \\\"/etc/shadow\\\"\");",
                 "asm:asm:1:1 build.include:\".incbin \\\"/etc/shadow\\\"\":1:1 "
                 "file.path:\".incbin \\\"/etc/shadow\\\"\":1:1 ");
    source_gives("#include \"/etc/passwd\"\n#if __has_include(\"x\")\n#endif\n",
                 "build.include:#include \"/etc/passwd\":1:1 build.include:__has_include:2:1 ");
    source_gives("#define GLUE(a, b) a##b\n", "macro.pasting:##:1:1 ");
    source_gives("__half h = __float2half(x);",
                 "precision.low:__half:1:1 precision.low:__float2half:1:1 ");
}

#define ENTRY "extern \"C\" void f(const float *x, float *y, long n, cudaStream_t s)\n{\n"

static void host_accesses_are_flagged(void **state)
{
    (void)state;
    static const struct {
        const char *body, *flag;
    } rows[] = {
        {ENTRY "for (long i = 0; i < n; i++) y[i] = x[i];\n}", "memory.host:y:3:1 "},
        {ENTRY "k<<<1, 1, 0, s>>>(x, y, n);\nfloat first = x[0];\n}", "memory.host:x:4:1 "},
        {ENTRY "k<<<1, 1, 0, s>>>(y, *x > 0);\nif (n) return;\nfloat a = *x;\n}",
         "memory.host:x:5:1 "},
        {"void add(const float *, float *, long);\n" ENTRY "add(x, y, n);\n}",
         "memory.host:x:4:1 "},
        {"extern \"C\" {\nvoid f(float *x, cudaStream_t s)\n{\nx[0] = 1;\n}\n}",
         "memory.host:x:4:1 "},
        {ENTRY "auto g = [=] { y[0] = 1; };\ng();\n}", "memory.host:y:3:1 "},
        {"# 1 \"c.cu\"\n# 1 \"cuda.h\" 1\nextern \"C\" int cudaFree(void *);\n# 2 \"c.cu\" "
         "2\n" ENTRY "y[0] = 1;\n}",
         "memory.host:y:4:1 "},
        /* honest */
        {ENTRY "k<<<1, 1, 0, s>>>(&x[3], y + 3, n * 2);\n}", ""},
        {ENTRY "float h[4];\ncudaMemcpy(h, x, sizeof x[0] * 4, cudaMemcpyDefault);\nh[0] = "
               "sizeof(x[0]) + sizeof(*x);\n}",
         ""},
        {ENTRY "thrust::for_each(p, p + n, [=] __device__(long i) { y[i] = x[i]; });\n}", ""},
        {"#define KERNEL __device__\n" ENTRY "run(n, [=] KERNEL(long i) { y[i] = x[i]; });\n}", ""},
        {ENTRY "struct { float x[4]; } a;\na.x[0] = 1;\nfloat *z[2];\nk<<<1, 1>>>(a);\n}", ""},
        {"__global__ void k(float *x) { x[0] = 1; }\n" ENTRY "k<<<1, 1, 0, s>>>(y);\n}", ""},
        {"extern \"C\" void lib(const float *, float *);\n" ENTRY "lib(x, y);\n}", ""},
        {"static void f(float *host, cudaStream_t s)\n{\nhost[0] = 1;\n}", ""},
        {ENTRY "}", ""},
        {"extern \"C\" void f(float *x, cudaStream_t s);\nfloat g(float *x) { return x[0]; }", ""},
        {"(cudaStream_t", ""},
        {"extern \"C\" f(float *x, cudaStream_t s) {", ""},
        {"cudaStream_t) {", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        source_gives(rows[i].body, rows[i].flag);
}

/* Many streams in one list, and many lists around one large body, take no time of their own. */
static void host_accesses_are_found_in_bounded_time(void **state)
{
    (void)state;
    kf_autobuffer same = {0}, nested = {0};
    kf_buffer_string(&same, "extern \"C\" void f(");
    for (int i = 0; i < 63; i++) kf_buffer_format(&same, "float *name_%02d, cudaStream_t s, ", i);
    kf_buffer_string(&same, "cudaStream_t t) {\n");
    kf_buffer_string(&nested, "extern \"C\" {\n");
    for (int i = 0; i < 64; i++) {
        kf_buffer_string(&nested, "void f(");
        for (int k = 0; k < 63; k++) kf_buffer_format(&nested, "float *n_%02d_%02d, ", i, k);
        kf_buffer_string(&nested, "cudaStream_t s) {\n");
    }
    for (int i = 0; i < 100000; i++) {
        kf_buffer_string(&same, "name_ab;\n");
        kf_buffer_string(&nested, "name_ab;\n");
    }
    kf_buffer_string(&same, "}\n");
    for (int i = 0; i < 65; i++) kf_buffer_string(&nested, "}\n");
    clock_t start = clock();
    source_gives(same.data, "");
    source_gives(nested.data, "");
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 4);
}

static void python_has_rules_of_its_own(void **state)
{
    (void)state;
    /* kinds of hacks that a timing in the same process falls for */
    python_gives("import torch\ntorch.cuda.Event.elapsed_time = lambda self, end: 0.0\n",
                 "time.read:elapsed_time:2:1 python.replaced:torch.cuda.Event.elapsed_time:2:1 ");
    python_gives("import numpy as np, time as clock\nif x: clock.time = still\n"
                 "a = np.add = b\nsetattr(np, 'dot', f)\n",
                 "python.replaced:clock.time:2:1 python.replaced:np.add:3:1 "
                 "python.replaced:np:4:1 ");
    python_gives("from torch import (nn,\n  cuda as c)\nc.synchronize = nn.relu = quiet\n",
                 "python.replaced:c.synchronize:3:1 python.replaced:nn.relu:3:1 ");
    python_gives("import torch\nclass T(torch.Tensor):\n    pass\nx = y.as_subclass(T)\n",
                 "python.tensor:as_subclass:4:1 ");
    python_gives("import threading\ndef f():\n    threading.Thread(target=g).start()\n",
                 "thread.start:Thread:3:1 ");
    python_gives("import torch\ns = torch.cuda.Stream()\n", "stream.side:Stream:2:1 ");
    python_gives("import gc\ngc.get_objects()\n", "python.objects:get_objects:2:1 ");
    /* settings, keywords, strings, comments, comparisons and own objects */
    python_gives("import torch\ntorch.backends.cuda.matmul.x = True\n"
                 "torch.zeros(3,\n  torch.device=1)\nself.torch.x = 1\nif torch.x == 1: pass\n"
                 "'''\nfork()\n''' # fork()\ns = \"open\"\nmodel.scale = 2\n",
                 "");
    python_gives("import torch\ns = '''\n# torch.x = 1", "");
    /* a solution in a text that the file executes */
    python_gives(
        "import sys\nsource = r'''\nimport torch\ndef f():\n    torch.relu = g\n'''\nfork()\n",
        "python.replaced:torch.relu:5:1 process.start:fork:7:1 ");
    python_gives("import x\nimport", "");
    python_gives("import x\nfrom", "");
}

static void imports_are_compared_in_bounded_time(void **state)
{
    (void)state;
    kf_autobuffer source = {0};
    char all[4096] = "";
    kf_error error;
    for (int i = 0; i < 100000; i++) kf_buffer_format(&source, "import a%06d\n", i);
    kf_buffer_string(&source, "import torch\n");
    for (int i = 0; i < 100000; i++) kf_buffer_string(&source, "b000000.y = 1\n");
    kf_buffer_string(&source, "torch.relu = x\n");
    clock_t start = clock();
    assert_true(kf_scan_source(source.data, source.size, true, note, all, &error));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5) fail_msg("100,000 imports took %.1f s", seconds);
    /* Behind so many imports each name may be imported. */
    assert_string_equal(all, "python.replaced:b000000.y:100002:100000 "
                             "python.replaced:torch.relu:200002:1 ");
}

static void cuda_is_not_taken_for_python(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "/* Copies\nfrom the host side\n*/\nint g = system(\"x\");\n",
        "class Tile\n{\n    int a;\n};\nint g = system(\"x\");\n",
        "/*\nimport x\n*/\nint g = system(\"x\");\n",
        "#include <math.h>\nimport x\n",
        "extern \"C\" void f();\nclass X:\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(kf_source_is_python(texts[i], strlen(texts[i])));
    size_t size;
    kf_error error = {0};
    kf_autofree char *source = kf_file_read(
        KFORGE_SOURCE_DIR "/tests/honest/softmax/pool_drained.cu", 1u << 20, &size, &error);
    assert_non_null(source);
    assert_false(kf_source_is_python(source, size));
    /* CUDA in a string of Python, and a comment of Python */
    static const char holds[] = "import torch\n# it's\ns = '''\n#include <math.h>\n"
                                "__global__ void k();\n'''\n";
    assert_true(kf_source_is_python(holds, strlen(holds)));
    assert_true(kf_file_is_python("a.py"));
    assert_false(kf_file_is_python(".py"));
    assert_false(kf_file_is_python("a.cu"));
}

static void what_only_looks_like_it_is_not(void **state)
{
    (void)state;
    source_gives("// fork(); dlopen(\"x\")\n/* system() */ int system_of_equations, exit_code; "
                 "const char *s = \"fork exit\";",
                 "");
    source_gives(
        "int cache, stream, fork_join; queue.exit(); map[3] = set; float signal = 1; double alarm;",
        "");
    source_gives("__global__ void exit_kernel(const float *x) { x.signal(); }", "");
    source_gives("", "");
}

/* The scan reads the expanded macros of the source, but no text of its headers. */
static void preprocessed_text_is_read_by_its_markers(void **state)
{
    (void)state;
    source_gives("# 0 \"mine.cu\"\n# 1 \"/usr/include/unistd.h\" 1 3 4\nint fork(void);\nint x = "
                 "fork();\n# 7 \"mine.cu\" 2\nvoid "
                 "f()\n{\n    fork();\n}\n",
                 "process.start:fork:9:1 ");
    source_gives("# 1 \"mine.cu\"\n# 5 \"mine.cu\"\nauto p = dlopen(name, 1);\n",
                 "code.load:dlopen:5:1 ");
    source_gives("# 1 \"mine.cu\n# 99999999999999999999 \"mine.cu\nfork();\n",
                 "process.start:fork:999999999:1 ");
}

static void listings_say_what_is_added_up_in_what(void **state)
{
    (void)state;
    char all[4096] = "";
    const char *text =
        "        /*0070*/                   HMMA.16816.F16 R4, R8, R12, R4 ;\n"
        "        /*0080*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n"
        "        /*0090*/                   HMMA.1688.F32.TF32 R4, R8, R12, R4 ;\n"
        "        /*00a0*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR4], R24 ;\n"
        "        /*00b0*/                   QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24 ;\n"
        "        /*00c0*/                   HFMA2.MMA R1, -RZ, RZ, 0, 0 ;\n"
        "        /*00d0*/                   FFMA R1, R2, R3, R4 ;\n";
    kf_error error = {0};
    assert_true(kf_scan_sass(text, strlen(text), note, all, &error));
    assert_string_equal(
        all, "sass.f16_accumulate:HMMA.16816.F16:0:1 sass.f16:HMMA.16816.F32:0:1 "
             "sass.tf32:HMMA.1688.F32.TF32:0:1 "
             "sass.bf16:HGMMA.64x128x16.F32.BF16:0:1 sass.f8:QGMMA.64x64x32.F32.E4M3.E4M3:0:1 "
             "sass.f16_arithmetic:HFMA2.MMA:0:1 ");
}

/* This very program imports what the test uses. */
static void binaries_tell_their_imports(void **state)
{
    (void)state;
    char all[4096] = "";
    size_t size;
    kf_error error = {0};
    kf_autofree char *self = kf_file_read("/proc/self/exe", 256u << 20, &size, &error);
    if (!self) fail_msg("%s", error.text);
    assert_true(getenv("PATH") != NULL);
    if (!kf_scan_elf(self, size, note, all, &error)) fail_msg("%s", error.text);
    assert_non_null(strstr(all, "environment:getenv"));
    assert_non_null(strstr(all, "library.needed:libc.so.6:0:1"));
    assert_null(strstr(all, "process.trace"));
}

static void broken_binaries_are_refused(void **state)
{
    (void)state;
    kf_error error = {0};
    Elf64_Ehdr header = {.e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = 3,
                         .e_shstrndx = 1,
                         .e_shoff = UINT64_MAX - 8};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    assert_false(kf_scan_elf(&header, sizeof header, note, NULL, &error));
    header.e_shoff = sizeof header;
    assert_false(kf_scan_elf(&header, sizeof header, note, NULL, &error));
    assert_false(kf_scan_elf("\x7f"
                             "ELF",
                             4, note, NULL, &error));
    assert_false(kf_scan_elf("", 0, note, NULL, &error));
    assert_int_equal(error.code, KF_ERROR_INPUT);
    /* Sections that point anywhere are left out, not followed. */
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[3];
    } file = {header,
              {{0},
               {.sh_type = SHT_DYNSYM,
                .sh_entsize = sizeof(Elf64_Sym),
                .sh_link = 2,
                .sh_offset = 1u << 30,
                .sh_size = UINT64_MAX},
               {.sh_type = SHT_DYNAMIC, .sh_link = 1, .sh_offset = 64, .sh_size = UINT64_MAX / 2}}};
    char all[4096] = "";
    assert_true(kf_scan_elf(&file, sizeof file, note, all, &error));
    assert_string_equal(all, "");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_flagged_where_they_are),
        cmocka_unit_test(host_accesses_are_flagged),
        cmocka_unit_test(host_accesses_are_found_in_bounded_time),
        cmocka_unit_test(python_has_rules_of_its_own),
        cmocka_unit_test(imports_are_compared_in_bounded_time),
        cmocka_unit_test(cuda_is_not_taken_for_python),
        cmocka_unit_test(what_only_looks_like_it_is_not),
        cmocka_unit_test(preprocessed_text_is_read_by_its_markers),
        cmocka_unit_test(listings_say_what_is_added_up_in_what),
        cmocka_unit_test(binaries_tell_their_imports),
        cmocka_unit_test(broken_binaries_are_refused),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
