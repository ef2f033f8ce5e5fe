/* The rewriter: text in, text out; line numbers; findings; and what no compiler ever wrote. */
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
#include "kforge/buffer.h"
#include "rewrite.h"

static kf_rewrite_result result;

static const char *rewrite_as(const char *text, bool sanitize)
{
    kf_rewrite_free(&result);
    kf_error error;
    assert_true(kf_rewrite(text, strlen(text), sanitize, &result, &error));
    size_t end = 0;
    for (size_t i = 0; i < result.copy_count; i++) {
        const kf_rewrite_copy *copy = &result.copies[i];
        assert_true(copy->size && copy->to >= end && copy->to + copy->size <= result.text.size);
        assert_memory_equal(result.text.data + copy->to, text + copy->from, copy->size);
        end = copy->to + copy->size;
    }
    return result.text.data ? result.text.data : "";
}

static const char *rewrite(const char *text)
{
    return rewrite_as(text, false);
}

static int release(void **state)
{
    (void)state;
    kf_rewrite_free(&result);
    return 0;
}

static void launches(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"k<<<1, 2>>>(a);", "(::kfcpu::configure(1, 2) ? (void)0 : k (a));"},
        {"if (x) k<<<g, b, s, t>>>(); else l<<<1, 1>>>();",
         "if (x) (::kfcpu::configure(g, b, s, t) ? (void)0 : k ()); else (::kfcpu::configure(1, 1) "
         "? (void)0 : l ());"},
        {"a::b<int, 3>::k<T><<<1, 2>>>(x)",
         "(::kfcpu::configure(1, 2) ? (void)0 : a::b<int, 3>::k<T> (x))"},
        {"::k<<<1, 2>>>(x)", "(::kfcpu::configure(1, 2) ? (void)0 : ::k (x))"},
        {"k<sizeof(T) < 8><<<1, 2>>>(x)",
         "(::kfcpu::configure(1, 2) ? (void)0 : k<sizeof(T) < 8> (x))"},
        {"k<A<B<int>>><<<1, f<C<D<int>>>::v>>>(x)",
         "(::kfcpu::configure(1, f<C<D<int>>>::v) ? (void)0 : k<A<B<int>>> (x))"},
        {"k<a, b<c>><<<1, 2>>>(x)", "(::kfcpu::configure(1, 2) ? (void)0 : k<a, b<c>> (x))"},
        {"(k)<<<1, 2>>>(x)", "(::kfcpu::configure(1, 2) ? (void)0 : (k) (x))"},
        {"if (a) (k)<<<1, 2>>>(x)", "if (a) (::kfcpu::configure(1, 2) ? (void)0 : (k) (x))"},
        {"(a ? k : l)<<<1, 2>>>(x)", "(::kfcpu::configure(1, 2) ? (void)0 : (a ? k : l) (x))"},
        {"p->table[i].run<<<1, 2>>>(x)",
         "(::kfcpu::configure(1, 2) ? (void)0 : p->table[i].run (x))"},
        {"get(1)(2)<<<1, 2>>>(x)", "(::kfcpu::configure(1, 2) ? (void)0 : get(1)(2) (x))"},
        {"o.template k<3><<<1, 2>>>(x)",
         "(::kfcpu::configure(1, 2) ? (void)0 : o.template k<3> (x))"},
        {"return k<<<1, 2>>>(x)", "return (::kfcpu::configure(1, 2) ? (void)0 : k (x))"},
        {"k<<<1, 2>>>(f([]{ l<<<3, 4>>>(); }))",
         "(::kfcpu::configure(1, 2) ? (void)0 : k (f([]{ (::kfcpu::configure(3, 4) ? (void)0 : l "
         "()); })))"},
        {"k<<<1\n,2>>>(\nx)", "(::kfcpu::configure(1 ,2) ? (void)0 : k \n(\nx))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(rewrite(cases[i][0]), cases[i][1]);
        assert_true(result.launches >= 1);
    }
}

static void no_launches(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\"k<<<1, 2>>>(x)\"",
        "'<' '<' '<'",
        "R\"(k<<<1, 2>>>(x))\"",
        "u8R\"x(k<<<1, 2>>>(x) )\" )x\"",
        "// k<<<1, 2>>>(x)\n",
        "/* k<<<1, 2>>>(x) */",
        "a << b",
        "friend ostream &operator<<<T>(ostream &, T);",
        "A<B<C<int>>> x(y);",
        "k<<<1, 2>>>;",
        "k<<<1, 2>>>(x",
        "<<<1, 2>>>(x)",
        "k<<<1, 2",
        "k<<<",
        "<<<",
        ">>>",
        "k <<< 1, (2 >>> (x)",
        "L\"<<<\\\"\" k",
        "#define x k<<<1, 2>>>(y)\n",
        "x <<<< y, 2 >>>(z)",
        "\"open k<<<1, 2>>>(x)\n",
        "R\"delimiter that is too long(k<<<1,2>>>())\"",
        "0x1'0<<<1, 2>>>(x)",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(rewrite(cases[i]), cases[i]);
        assert_int_equal(result.launches, 0);
    }
}

static void kernels(void **state)
{
    (void)state;
    assert_string_equal(rewrite("__global__ void k(float *x, int n) { x[n] = 1; }"),
                        "__global__ void k(float *x, int n) { struct kfcpu_body { static "
                        "KFCPU_BODY void run(float *x,int n) { x[n] = 1; } }; "
                        "static ::kfcpu::stub kfcpu_stub(\"k\", 0); "
                        "::kfcpu::enter<kfcpu_body>(kfcpu_stub, &kfcpu_body::run, x, n); }");
    assert_int_equal(result.kernels, 1);
    const char *text = rewrite(
        "template <int N> __launch_bounds__(N * f(1, 2), 3) __global__ void ns::k<N>(void) {}");
    assert_non_null(strstr(text, "run(void) {"));
    assert_non_null(strstr(text, "kfcpu_stub(\"k\", N * f(1, 2)); "
                                 "::kfcpu::enter<kfcpu_body>(kfcpu_stub, &kfcpu_body::run);"));
    /* Declarations stay. */
    static const char *const declarations[] = {
        "__global__ void k(float *x);",
        "extern template __global__ void k<float>(float *);",
        "__device__ float x[3] = {1, 2};",
        "__device__ std::pair<int, int> f(int) { return {}; }",
        "__constant__ int c;",
        "__device__ int (*f)(int) = nullptr;",
        "struct __align__(8) S { int a; };"};
    for (size_t i = 0; i < sizeof declarations / sizeof *declarations; i++)
        assert_string_equal(rewrite(declarations[i]), declarations[i]);
}

/* Kernels that wait for other threads are marked, each by its own body. */
static void waiting_kernels(void **state)
{
    (void)state;
    static const char *const bodies[] = {"__syncthreads();",
                                         "f(); if (__syncthreads_or(a)) g();",
                                         "__syncwarp();",
                                         "x = __shfl_xor_sync(~0u, x, 1);",
                                         "cg::this_thread_block().sync();",
                                         "block->sync();",
                                         "cg::thread_block::sync();",
                                         "int f; sync(); \"__syncthreads()\"; block.sync; "
                                         "__sync_synchronize(); x.__shf_; __syncthread();"};
    size_t count = sizeof bodies / sizeof *bodies;
    for (size_t i = 0; i < count; i++) {
        char text[300];
        snprintf(text, sizeof text, "__global__ void k(int a) { %s }", bodies[i]);
        bool marked =
            strstr(rewrite(text),
                   "struct kfcpu_body { enum { kfcpu_waits = 1 }; static KFCPU_BODY void run(") !=
            NULL;
        assert_int_equal(marked, i + 1 < count);
    }
    const char *found = rewrite("__device__ void f() { c; } __global__ void k() { f(); } "
                                "__global__ void l() { __syncthreads(); } "
                                "__global__ void m() { b; }");
    assert_int_equal(result.kernels, 3);
    found = strstr(found, "kfcpu_waits");
    assert_non_null(found);
    assert_non_null(strstr(found, "kfcpu_stub(\"l\""));
    assert_null(strstr(found + 1, "kfcpu_waits"));
    /* Through the functions that it calls. */
    found = rewrite("template <int N> __device__ int warp_sum() { __syncwarp(); } __device__ int "
                    "block_sum() { return warp_sum<4>(); } "
                    "__global__ void k() { int block_summ; } __global__ void l() { block_sum(); }");
    found = strstr(found, "kfcpu_waits");
    assert_non_null(found);
    assert_null(strstr(found, "kfcpu_stub(\"k\""));
}

/* The names that a stub passes on, for each kind of parameter. */
static void parameters(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"int a", "run, a)"},
        {"int", "run, kfcpu_p0)"},
        {"int, float b", "run, kfcpu_p0, b)"},
        {"const T &x = T{1, 2}", "run, x)"},
        {"T", "run, kfcpu_p0)"},
        {"const T", "run, kfcpu_p0)"},
        {"a::T", "run, kfcpu_p0)"},
        {"typename A<T>::type", "run, kfcpu_p0)"},
        {"typename A<T>::type x", "run, x)"},
        {"unsigned n", "run, n)"},
        {"unsigned", "run, kfcpu_p0)"},
        {"struct S", "run, kfcpu_p0)"},
        {"struct S s", "run, s)"},
        {"T *__restrict__", "run, kfcpu_p0)"},
        {"T *__restrict__ const x", "run, x)"},
        {"float x[4][5]", "run, x)"},
        {"float (*x)[5]", "run, x)"},
        {"void (*f)(int, float y)", "run, f)"},
        {"void (*)(int)", "run, kfcpu_p0)"},
        {"Ts... args", "run, args...)"},
        {"std::pair<int, A<b, c>> p, int q", "run, p, q)"},
        {"A<(x > y), B> a = A<(x > y), B>()", "run, a)"},
        {"int x __attribute__((unused))", "run, x)"},
        {"[[maybe_unused]] int x", "run, x)"},
        {"const __grid_constant__ P p", "run, p)"},
        {"decltype(*q) z", "run, z)"},
        {"int x = 3, int y = f(1, 2)", "run, x, y)"},
        {"F f = [](int a, int b) { return a < b; }", "run, f)"},
        {"", "run)"},
        {"void", "run)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[512];
        snprintf(source, sizeof source, "__global__ void k(%s) {}", cases[i][0]);
        if (!strstr(rewrite(source), cases[i][1]))
            fail_msg("%s: %s", cases[i][0], result.text.data);
    }
    /* An added name is added to the kernel's own list as well. */
    assert_non_null(strstr(rewrite("__global__ void k(int, void (*)(int)) {}"),
                           "void k(int kfcpu_p0, void (* kfcpu_p1)(int))"));
}

static void shared_memory(void **state)
{
    (void)state;
    assert_non_null(strstr(
        rewrite("__device__ void f() { extern __shared__ __align__(16) float s[]; s[0] = 1; }"),
        "{ typedef float kfcpu_shared_1 [] ; [[maybe_unused]] kfcpu_shared_1 &s = *(kfcpu_shared_1 "
        "*)::kfcpu::dynamic_shared(); s[0] = 1; }"));
    const char *text = rewrite("extern __shared__ T s[][2];\n__global__ void k() { s[0][0] = 1; "
                               "}\n__device__ void f(int *s) { *s = 1; }\nvoid g() {}");
    assert_non_null(strstr(text, "typedef T kfcpu_shared_1 [] [2] ;\n"));
    assert_non_null(strstr(text, "run() { kfcpu_shared_1 &s = *(kfcpu_shared_1 "
                                 "*)::kfcpu::dynamic_shared(); { s[0][0] = 1; }} }; static"));
    assert_non_null(strstr(text, "f(int *s) { *s = 1; }\nvoid g() {}"));
    assert_string_equal(rewrite("__device__ void f() { static __shared__ int x[3]; }"),
                        "__device__ void f() {  __shared__ int x[3]; }");
    assert_string_equal(rewrite("__device__ void f() { __shared__ int x[3]; }"),
                        "__device__ void f() { __shared__ int x[3]; }");
    text = rewrite("__device__ void f() { extern a::V<4, float> __shared__ s[]; s[0]; }");
    assert_non_null(strstr(text, "typedef a :: V < 4 , float > kfcpu_shared_1 [] ;"));
    /* The semicolon in front is missing, so the compiler has to see the text. */
    static const char open[] = "__device__ void f() { int v = 4\nextern __shared__ float s[]; }";
    assert_string_equal(rewrite(open), open);
    text = rewrite_as("__device__ void f() { __shared__ int x[N + 1], y; }", true);
    assert_non_null(strstr(text, "typedef int kfcpu_shared_1 [N + 1] , kfcpu_shared_2 ;"));
    assert_non_null(strstr(text, "new_shared(sizeof(kfcpu_shared_2));"));
    rewrite_as("__device__ void f() { __shared__ struct { int a, b; } x; __shared__ int (*p)[3]; }",
               true);
}

static void pragmas(void **state)
{
    (void)state;
    assert_string_equal(rewrite("#pragma unroll\nfor(;;);"), "#pragma GCC unroll 16\nfor(;;);");
    assert_string_equal(rewrite("#pragma unroll 4\nwhile(1);"), "#pragma GCC unroll 4\nwhile(1);");
    assert_string_equal(rewrite("#pragma unroll (1000000)\ndo;while(1);"),
                        "#pragma GCC unroll 64\ndo;while(1);");
    assert_string_equal(rewrite("#pragma unroll N\nfor(;;);"), "#pragma GCC unroll 16\nfor(;;);");
    assert_string_equal(rewrite("#pragma unroll\nx++;"), "\nx++;");
    assert_string_equal(rewrite("#pragma once\n"), "#pragma once\n");
    assert_string_equal(rewrite("#pragma kforge include <torch/types.h>\nint x;"),
                        "#include <torch/types.h>\nint x;");
    assert_string_equal(rewrite("#pragma kforge other\n"), "#pragma kforge other\n");
    assert_string_equal(rewrite("#pragma kforge"), "#pragma kforge");
    assert_string_equal(rewrite("#pragma GCC pch_preprocess \"x\"\n"), "\n");
    assert_string_equal(rewrite("#"), "#");
    assert_string_equal(rewrite("#pragma"), "#pragma");
    assert_string_equal(
        rewrite("__noinline__ int f(); __attribute__((__noinline__, cold)) int g();"),
        "__attribute__((noinline)) int f(); __attribute__((__noinline__, cold)) int g();");
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

static void lines_stay(void **state)
{
    (void)state;
    const char *text = "__global__ void k(\n int *x,\n int n)\n{\n extern __shared__ int\n "
                       "s[];\n#pragma unroll\n x++;\n}\nvoid "
                       "f()\n{\n k\n<<<\n1,\n2\n>>>\n(\nx,\n1\n);\n last;\n}\n";
    assert_int_equal(count_lines(rewrite(text)), count_lines(text));
    /* A linemarker inside a removed part stays a line of its own. */
    assert_string_equal(rewrite("k<<<1,\n# 7 \"f\"\n2>>>(x)"),
                        "(::kfcpu::configure(1, 2) ? (void)0 : k \n# 7 \"f\"\n(x))");
}

static void assert_finding(const char *text, const char *file, long line, const char *construct,
                           bool certain)
{
    rewrite(text);
    assert_true(result.finding_count >= 1);
    assert_string_equal(result.findings[0].file, file);
    assert_int_equal(result.findings[0].line, line);
    if (!strstr(result.findings[0].construct, construct))
        fail_msg("%s: %s", text, result.findings[0].construct);
    assert_int_equal(result.findings[0].certain, certain);
}

static void findings(void **state)
{
    (void)state;
    assert_finding("# 1 \"a.cu\"\n\n__device__ void f() {\n asm volatile(\"bar.sync 0;\");}",
                   "a.cu", 3, "PTX", false);
    assert_finding("# 10 \"a.cu\"\n__global__ void k() { __asm__ (\"x\" \"y\" : : ); }", "a.cu", 10,
                   "PTX", false);
    assert_finding("# 1 \"a.cu\"\n__global__ void k() { l<<<1, 1>>>(); }", "a.cu", 1,
                   "launch in device code", true);
    assert_finding("struct S { __device__ S(int x) : a{x}, b(x) { asm(\"x\"); } };", "", 1, "PTX",
                   false);
    assert_finding("auto f = [=] __device__ (int i) { asm(\"x\"); };", "", 1, "PTX", false);
    assert_finding("struct S { __device__ bool operator()(int i) const noexcept { asm(\"x\"); } };",
                   "", 1, "PTX", false);
    assert_finding("struct S { __device__ bool operator<(S i) const { asm(\"x\"); } };", "", 1,
                   "PTX", false);
    assert_finding("\nusing namespace nvcuda::wmma;", "", 2, "tensor cores", false);
    assert_finding("# 1 \"a.cu\"\n# 5 \"a.cu\"\n# 1 \"/usr/local/include/cub/cub.cuh\" 1 3\nint x;",
                   "a.cu", 5, "CUB", false);
    assert_finding("# 1 \"a.cu\"\nint a;\n# 1 \"h.cuh\" 1\nint b;\n# 1 \"g.cuh\" 1\n__device__ "
                   "void f() { asm(\"x\"); }\n# 2 \"h.cuh\" 2\n",
                   "a.cu", 2, "PTX", false);
    static const char *const none[] = {"__device__ void f() { asm volatile(\"\" ::: \"memory\"); }",
                                       "void f() { asm(\"nop\"); }",
                                       "__host__ __device__ void f() { asm(\"nop\"); }",
                                       "__device__ int f(); void g() { asm(\"nop\"); }",
                                       "__device__ void f() {} void g() { k<<<1, 1>>>(); }",
                                       "x.cub.thrust = 1;",
                                       "int cub, thrust;",
                                       "// nvcuda::wmma\n\"nvcuda::wmma\"",
                                       "# 1 \"/opt/include/mine/cub.h\" 1\n"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        rewrite(none[i]);
        if (result.finding_count) fail_msg("%s: %s", none[i], result.findings[0].construct);
    }
}

/* Text of `count` times `piece`: must take no more than about linear time. */
static double seconds_for(const char *piece, size_t count)
{
    kf_autobuffer text = {0};
    for (size_t i = 0; i < count; i++) kf_buffer_string(&text, piece);
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    kf_rewrite_result bulk;
    kf_error error;
    if (!kf_rewrite(text.data, text.size, false, &bulk, &error))
        assert_int_not_equal(error.code, KF_ERROR_NONE);
    kf_rewrite_free(&bulk);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

/* Quadratic time would take more than 5 s for so many. A sanitizer looks for other faults. */
#ifdef __SANITIZE_ADDRESS__
enum { PIECES = 10000 };
#else
enum { PIECES = 100000 };
#endif

static void nasty_text(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "k<<<",
        "<",
        ">",
        "k<<<1,1>>>(",
        ">>>(",
        "{",
        "(",
        "[",
        "}",
        ")",
        "__global__ ",
        "__global__ void k(",
        "__global__ void k() {",
        "__device__ f()",
        "__device__ f() x ",
        "extern __shared__ ",
        "extern __shared__ int s[]; ",
        "__device__ void f() { s;",
        "x > <<<1,1>>>() ",
        "template<",
        "k<a,",
        "operator<<<",
        "__launch_bounds__(",
        "asm(",
        "#pragma unroll\n",
        "R\"(",
        "\"",
        "'",
        "/*",
        "\\\n",
        "# 1 \"a\" 1\n",
        "a::",
        "a.",
        "int x, ",
        "k<<<1,(",
        "(x)",
        "[x]<<<1,2>>>(y)",
        "k<<<1, 2>>>(x);",
        "__shared__ ",
        "__global__ void k(int = [](int a) {}",
        "\\",
        "\x80\xff",
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        double seconds = seconds_for(pieces[i], PIECES);
        if (seconds > 5) fail_msg("%s: %.1f s for %d pieces", pieces[i], seconds, PIECES);
    }
    kf_error error;
    kf_rewrite_result empty;
    assert_true(kf_rewrite("", 0, false, &empty, &error));
    kf_rewrite_free(&empty);
    assert_true(kf_rewrite("a\0b", 3, false, &empty, &error));
    assert_int_equal(empty.text.size, 3);
    kf_rewrite_free(&empty);
}

static void limits(void **state)
{
    (void)state;
    size_t size = (32u << 20) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    kf_error error;
    kf_rewrite_result none;
    assert_false(kf_rewrite(text, size, false, &none, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    kf_rewrite_free(&none);
    memset(text, ';', size);
    assert_false(kf_rewrite(text, size - 1, false, &none, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    kf_rewrite_free(&none);
    free(text);
}

#define KERNEL "__global__ void k(float *y, float a) "

/* Device code that uses the host's names: every compiler for GPUs refuses it. */
static void host_uses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *user;
        long line;
    } found[] = {
        {"static float f(float x) { return x; }\n" KERNEL "{ *y = f(a); }", "f", "k", 2},
        {"float f(float x);\n" KERNEL "{\n*y = a * f(a); }\nfloat f(float x) { return x; }", "f",
         "k", 3},
        {"namespace n { inline const float *f(int x) { return 0; }\n"
         "__device__ float g() { return *f(1); } }",
         "f", "g", 2},
        {"extern \"C\" { void f(int x) {} }\n" KERNEL "{ if (a > 1) f(a); else f(2); }", "f", "k",
         2},
        {"void f() {}\n" KERNEL "{ auto g = [&] { f(); }; g(); }", "f", "k", 2},
        {"void f() {}\nvoid g(int f) {}\n" KERNEL "{ f(); }", "f", "k", 3},
        {"static float t[9];\n" KERNEL "{ *y = t[3] * a; }", "t", "k", 2},
        {"float *t = nullptr;\n" KERNEL "{ *y = a + (*t); }", "t", "k", 2},
        {"static std::vector<std::pair<int, int>> t;\n" KERNEL "{ *y = t[0].first; }", "t", "k", 2},
        {"int t{3};\n" KERNEL "{ g(a, t); }", "t", "k", 2},
        {"# 1 \"a.cu\"\n# 1 \"h.h\" 1\nint x;\n# 2 \"a.cu\" 2\nint t;\n" KERNEL "{\n*y = t;\n}",
         "t", "k", 4},
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        rewrite(found[i].text);
        const kf_host_use *use = &result.host_use;
        if (strcmp(use->name, found[i].name) || strcmp(use->user, found[i].user) ||
            use->line != found[i].line)
            fail_msg("%s: \"%s\" in \"%s\", line %ld", found[i].text, use->name, use->user,
                     use->line);
    }
    static const char *const none[] = {
        "__host__ __device__ float f(float x) { return x; } " KERNEL "{ *y = f(a); }",
        "constexpr float f(float x) { return x; } " KERNEL "{ *y = f(a); }",
        "template <class T> T f(T x) { return x; } " KERNEL "{ *y = f(a); }",
        "float f(int x) { return x; } __device__ float f(float x) { return x; } " KERNEL
        "{ *y = f(a); }",
        "float f(int x) { return x; } namespace n { __device__ float f(float x); } " KERNEL
        "{ *y = f(a); }",
        "float f(int x) { return x; } using n::f; " KERNEL "{ *y = f(a); }",
        "float f(int x) { return x; } struct s { __device__ float f(float); }; " KERNEL
        "{ s v; *y = v.f(a) + n::f(a); }",
        "float f(int x) { return x; } " KERNEL "{ auto f = [](float x) { return x; }; *y = f(a); }",
        "float f(int x) { return x; } " KERNEL "{ int b = 1, f = 2; float(f(b)); }",
        "float f(int x) { return x; } __global__ void k(float (*f)(float)) { f(1); }",
        "float f(int x) { return x; } template <int> " KERNEL "{ *y = f(a); }",
        "float f(int x) { return x; } " KERNEL "{ decltype(f(1)) b = sizeof(f(2)); *y = b; }",
        "float f(int x) { return x; } " KERNEL "{ if constexpr (false) f(1); }",
        "float f(int x) { return x; } __host__ " KERNEL "{ *y = f(a); }",
        "float f(int x) { return x; } void g() { f(1); }",
        "float f(int x) { return x; } template <float (*)(int)> struct u; " KERNEL "{ u<f> v; }",
        "float max(float x, float z) { return x; } " KERNEL "{ *y = max(a, a); }",
        "# 1 \"a.cu\"\n# 1 \"h.h\" 1\nfloat f(int x) { return x; }\n# 2 \"a.cu\" 2\n" KERNEL
        "{ *y = f(a); }",
        "#pragma kforge include <x.h>\nMACRO float f(int x) { return x; } " KERNEL "{ *y = f(a); }",
        "const int t = 3; static constexpr float u[] = {1}; " KERNEL "{ *y = t * u[0]; }",
        "__device__ float t[9]; __constant__ float u; __managed__ int v; " KERNEL
        "{ *y = t[0] * u * v; }",
        "static float t; __global__ void k(float *t) { *t = 1; }",
        "static float *t; " KERNEL "{ float b = 1, t = 2; *y = t; }",
        "static float *t; " KERNEL "{ auto [b, t] = pair(); *y = t; }",
        "static float t[4]; " KERNEL "{ __shared__ float t[4]; *y = t[0]; }",
        "static float *t; " KERNEL "{ for (const float &t : list) *y = t; }",
        "static float *t; " KERNEL "{ enum { t, u }; *y = t; }",
        "static float t; struct s { float t; __device__ float g() { return t; } }; " KERNEL
        "{ s v{}; *y = v.t; }",
        "static float t; " KERNEL "{ s v = {.t = 1}; *y = sizeof t; }",
        "extern __shared__ float t[]; " KERNEL "{ *y = t[0]; }",
        "static float t; void g() { k<<<1, 1>>>(&t); } " KERNEL "{ *y = a; }",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        rewrite(none[i]);
        if (result.host_use.line) fail_msg("%s: %s", none[i], result.host_use.name);
    }
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches),   cmocka_unit_test(no_launches),
        cmocka_unit_test(kernels),    cmocka_unit_test(waiting_kernels),
        cmocka_unit_test(parameters), cmocka_unit_test(shared_memory),
        cmocka_unit_test(pragmas),    cmocka_unit_test(lines_stay),
        cmocka_unit_test(findings),   cmocka_unit_test(nasty_text),
        cmocka_unit_test(limits),     cmocka_unit_test(host_uses),
    };
    return TEST_GROUP(tests, NULL, release);
}
