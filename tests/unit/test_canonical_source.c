/* The normal form of sources: what is the same program in other words, and what only looks like it.
 */
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
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "canonical_source.h"

static char *form_of(const char *source)
{
    kf_autobuffer text = {0};
    kf_error error = {0};
    if (!kf_canonical_source_text(source, strlen(source), &text, &error))
        fail_msg("%s", error.text);
    return kf_buffer_take(&text);
}

static void same(const char *a, const char *b)
{
    kf_autofree char *x = form_of(a), *y = form_of(b);
    assert_true(*x);
    assert_string_equal(x, y);
    char first[KF_HASH_HEX], second[KF_HASH_HEX];
    assert_true(kf_canonical_source_hash(a, strlen(a), first, NULL) &&
                kf_canonical_source_hash(b, strlen(b), second, NULL));
    assert_string_equal(first, second);
}

static void differ(const char *a, const char *b)
{
    kf_autofree char *x = form_of(a), *y = form_of(b);
    assert_string_not_equal(x, y);
}

static const char plain[] =
    "#include <math.h>\n"
    "#define TILE 16\n"
    "__global__ void scale(const float *x, float *y, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    __shared__ float part[TILE];\n"
    "    float sum = 0, *p = part;\n"
    "    for (int k = 0; k < TILE; k++) sum += x[i + k] * p[k];\n"
    "    if (i < n) y[i] = sum;\n"
    "}\n"
    "extern \"C\" void axpy(const float *x, float *y, int64_t n, cudaStream_t stream)\n"
    "{\n"
    "    dim3 grid((n + 255) / 256);\n"
    "    scale<<<grid, 256, 0, stream>>>(x, y, (int)n);\n"
    "}\n";

static void names_comments_and_layout_are_taken_away(void **state)
{
    (void)state;
    same(plain,
         "// A better version.\n"
         "#include  <math.h>\n"
         "#define TILE 16   // of shared memory\n"
         "__global__ void scale_kernel_v2( const float* in, float* out, int count ) {\n"
         "  int index = blockIdx.x*blockDim.x+threadIdx.x; /* mine */\n"
         "  __shared__ float tile[ TILE ];\n"
         "  float acc = 0, *q = tile;\n"
         "  for (int t = 0; t < TILE; t++)\n"
         "    acc += in[index + t] * q[t];\n"
         "  if (index < count)\n"
         "    out[index] = acc;\n"
         "}\n"
         "extern \"C\" void axpy(const float *a, float *b, int64_t elements, cudaStream_t s) {\n"
         "  dim3 blocks((elements + 255) / 256);\n"
         "  scale_kernel_v2<<<blocks, 256, 0, s>>>(a, b, (int)elements);\n"
         "}\n");
    same("void f() { float4 v = g(), w; h(v.x + w.y); }",
         "void f() { float4 a = g(), b;\n h(a.x+b.y); }");
    same("void f(float *__restrict__ x) { for (auto a : x) g(a); }",
         "void f(float* __restrict__ y) { for (auto b : y) g(b); }");
    /* Scopes: the two i are other variables, whatever they are called. */
    same("void f() { for (int i = 0; i < 2; i++) g(i); for (int i = 0; i < 3; i++) g(i); }",
         "void f() { for (int i = 0; i < 2; i++) g(i); for (int j = 0; j < 3; j++) g(j); }");
    same("void f() { int a = 1; { int a = 2; g(a); } g(a); }",
         "void f() { int x = 1; { int y = 2; g(y); } g(x); }");
    same("std::vector<int> q; void f() { T<int> x = g(); h(x); }",
         "std::vector<int> q; void f() { T<int> y = g(); h(y); }");
}

static void what_changes_the_program_stays(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"TILE 16", "TILE 32"},
        {"sum += x", "sum -= x"},
        {"i < n", "i <= n"},
        {"x[i + k]", "x[k + k]"},
        {"sum = 0", "sum = 1"},
        {"threadIdx.x", "threadIdx.y"},
        {"void axpy", "void saxpy"},
        {"__shared__ float part", "float part"},
        {"<math.h>", "<cmath>"},
        {"y[i] = sum", "y[i] = n"},
        {"256, 0, stream", "128, 0, stream"},
        {"const float *x, float *y, int n)", "const float *y, float *x, int n)"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        kf_autobuffer other = {0};
        const char *at = strstr(plain, changes[i].from);
        assert_non_null(at);
        kf_buffer_append(&other, plain, (size_t)(at - plain));
        kf_buffer_string(&other, changes[i].to);
        kf_buffer_string(&other, at + strlen(changes[i].from));
        differ(plain, other.data);
    }
    differ("void f() { g(fmaxf(a, b)); }", "void f() { g(fminf(a, b)); }");
    differ("void f() { int a = 1, b = 2; g(a - b); }", "void f() { int a = 1, b = 2; g(b - a); }");
    differ("void f() { int a = 1; { int b = 2; g(a); } }",
           "void f() { int a = 1; { int b = 2; g(b); } }");
    /* Names that mean something elsewhere: a member, a macro's argument, a helper, a global. */
    differ("void f() { S s; g(s.a); }", "void f() { S s; g(s.b); }");
    differ("struct S { int a, b; };", "struct S { int b, a; };");
    differ("#define AT (row * 4)\nvoid f() { int row = 1; g(AT); }",
           "#define AT (row * 4)\nvoid f() { int r = 1; g(AT); }");
    differ("__device__ int p(int); void f() { p(1); }",
           "__device__ int q(int); void f() { q(1); }");
    differ("int a, b; void f() { g(a); }", "int a, b; void f() { g(b); }");
    /* A product is no declaration of a pointer. */
    differ("void f(int a, int b, int c) { a * b; g(b); }",
           "void f(int a, int b, int c) { a * c; g(c); }");
    /* Operators. */
    differ("void f(int a, int b) { g(a - -b); }", "void f(int a, int b) { g(a--b); }");
    differ("void f(int a, int b) { g(a & &b); }", "void f(int a, int b) { g(a && b); }");
    same("void f(int a, int b) { g(a&&b, a<<b); }", "void f(int x, int y) { g(x && y, x << y); }");
    differ("void f() { g(\"a  b\"); }", "void f() { g(\"a b\"); }");
    differ("#define F(x) 1\n", "#define F (x) 1\n");
    /* A string that names the kernel (loading it by name): the name counts. */
    differ("__global__ void k1() {} const char *n = \"k1\";",
           "__global__ void k2() {} const char *n = \"k2\";");
}

static void tunables_count(void **state)
{
    (void)state;
    differ("// kforge: tune B 1 2\nvoid f() {}", "// kforge: tune B 1 2 4\nvoid f() {}");
    differ("// kforge: tune B 1 2\nvoid f() {}", "void f() {}");
    same("// kforge: tune B 1 2\nvoid f() {}",
         "  //  kforge: tune  B 1 2\n// what B is\nvoid f() {}");
}

static void a_source_that_looks_at_itself_has_none(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "void f() { g(__LINE__); }", "#define HERE __FILE__ __LINE__\nvoid f() { g(HERE); }",
        "#define GLUE(a, b) a##b\nvoid f() {}", "void f() { g(__func__); }", ""};
    char hex[KF_HASH_HEX];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        strcpy(hex, "x");
        assert_true(kf_canonical_source_hash(sources[i], strlen(sources[i]), hex, NULL));
        assert_string_equal(hex, "");
    }
}

/* Hostile texts take linear time, too, and no byte past the end is read (checked by a
 * sanitizer). */
static void hostile_texts_take_little_time(void **state)
{
    (void)state;
    static const char *const units[] = {
        "{int a ",     "for(;;)", "f(int a){",   "int a;",
        "unsigned ",   "a<",      "{",           "void f(){",
        "* ",          "\"",      "/*",          "#a\n",
        "f(){int a;{", "struct{", "__global__ ", "if(a)for(int i=0;;)",
        "//kforge:\n", "(",       "a,b c="};
    enum { SIZE = 1 << 18 };
    kf_autofree char *text = malloc(SIZE + 1);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (int inside = 0; inside < 2; inside++) {
            size_t size = 0, length = strlen(units[u]);
            if (inside) memcpy(text, "void f(){", size = 9);
            for (; size + length <= SIZE; size += length) memcpy(text + size, units[u], length);
            char hex[KF_HASH_HEX];
            clock_t start = clock(); /* of the processor: others may use it, too */
            assert_true(kf_canonical_source_hash(text, size, hex, NULL));
            double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            if (seconds > 5) fail_msg("%s took %.1f s", units[u], seconds);
            assert_true(kf_canonical_source_hash(text, size - length / 2, hex, NULL));
        }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_comments_and_layout_are_taken_away),
        cmocka_unit_test(what_changes_the_program_stays),
        cmocka_unit_test(tunables_count),
        cmocka_unit_test(a_source_that_looks_at_itself_has_none),
        cmocka_unit_test(hostile_texts_take_little_time),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
