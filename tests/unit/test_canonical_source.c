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
#include <unistd.h>

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

static void a_source_that_is_not_plain_has_none(void **state)
{
    (void)state;
    static const char *const sources[] = {
        "",
        /* its own text, layout and names */
        "void f() { g(__LINE__); }", "#define HERE __FILE__ __LINE__\nvoid f() { g(HERE); }",
        "void f() { g(__func__); }", "void f() { g(__COUNTER__); }", "void f() { g(__TIME__); }",
        "void f() { g(std::source_location::current()); }", "void f(int a) { assert(a > 0); }",
        "#define GLUE(a, b) a##b\nvoid f() {}", "#define SAY(a) #a\nvoid f(int a) { g(SAY(a)); }",
        /* directives */
        "void f() {\n#if 0\nint a;\n#endif\n}", "#ifdef X\nvoid f() {\n#endif\nint a; }",
        "#if 0\nvoid f(int a) {\n#endif\nint a, b;", "void f() {\n#define X 1\n}",
        "void f() {\n#include \"x\"\n}", "#define M(o, m) o.m\nvoid f(int a) { g(M(s, a)); }",
        "#define BEGIN {\nvoid f() BEGIN int a; }", "#undef X\nvoid f() {}",
        "#define X /* more\n*/ 1\nvoid f() {}", "#line 7\nvoid f() {}",
        /* the tokens are others */
        "void f() { int a = 1; // a \\\n a = 2;\n g(a); }", "void f() { int fo\\\no; }",
        "void f() <% int a; %>", "void f() { g(x<:0:>); }", "%:define X 1\nvoid f() {}",
        "void f() { g(a ?\?! b); }", "void f() { g(\"a\"_x); }", "void f() { g('a'_x); }",
        /* names of another kind */
        "void f() { int a; a: goto a; }", "void f() { struct S { int a; } s; int a; }",
        "void f(int x, int y) { asm(\"%[x]\" :: [x] \"r\"(x)); }",
        "void f(int x) { __asm__(\"\" :: \"r\"(x)); }",
        "void f(int likely) { if (c) [[likely]] g(); }",
        "void f(int used) { __attribute__((used)) static int b; }",
        "void f(int x) { g(offsetof(S, x)); }", "void f(int x) { S s = {x: 1}; }",
        "void f(int x) { o.template x<1>(); }", "void f(int x) { using x_t = int; }",
        "void f() { enum { a, b }; }", "void f() { using namespace q; }",
        /* statements with another end */
        "void f() { for (int i = 0; ;) do g(); while (i); }",
        "void f() { for (int i = 0; ;) if constexpr (1) { } g(i); }",
        "#define RUN { }\nvoid f() { for (int i = 0; ;) RUN g(i); }",
        "void f() { for (int i = 0; ;) try { } catch (...) { } }",
        /* Python */
        "class ModelNew:\n    def forward(self):\n        return 1\n"};
    char hex[KF_HASH_HEX];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        strcpy(hex, "x");
        assert_true(kf_canonical_source_hash(sources[i], strlen(sources[i]), hex, NULL));
        if (*hex) fail_msg("has a form: %s", sources[i]);
    }
}

/* ---- equal forms, equal binaries ------------------------------------------------------------- */

/* Programs with two locals, A and B. x and y are names of something else in them. */
static const char *const programs[] = {
    "int A = n, B = 2; y[0] = A - B;",
    "int A = n, B = 2; { int B = 3; y[0] = A - B; } y[1] = B;",
    "int A = n, B = 2; pair p = {A, B}; y[0] = p.x - p.y;",
    "int A = n, B = 2; pair p = {.x = B, .y = A}; y[0] = p.x;",
    "int A = n, B = 2; pair *p = &q; p->x = A; p->y = B; y[0] = p -> x;",
    "int A = n, B = 2; y[0] = ns::x + A - ns :: y * B;",
    "int A = n, B = 2; auto add = [&](int c) { return c * A - B; }; y[0] = add(3);",
    "int A = n, B = 2; auto add = [A, B](int u) { return u * A - B; }; y[0] = add(3);",
    "int A = n, B = 2; for (int x = 0; x < A; x++) y[x] = B; y[1] = A;",
    "int A = n, B = 2; for (int i = 0; i < A; i++) if (i > B) y[i] = A; else y[i] = B; y[2] = B;",
    "int A = n, B = 2; y[0] = A > B ? A : B; y[1] = DOUBLE - A;",
    "int A = n, B = 2; y[0] = NAMED + A - B;",
    "int A = n, B = 2; extern int x; y[0] = x + A - B;",
    "int A = n, B = 2; const char *s = \"x y\"; y[0] = s[A] - B;",
    "int A = n; int B(2); y[0] = A - B;",
    "int A[2] = {n, 1}, *B = A; y[0] = *B - A[1];",
    "int A = n, B = 2; switch (A) { case 1: y[0] = B; break; default: y[1] = A; }",
    "int A = n, B = 2; do { A--; } while (A > B); y[0] = A;",
    "int A = n, B = 2; y[0] = A - -B; y[1] = A-- - B;",
    "int A = n, B = 2; while (int c = A - B) { y[c] = B; A--; }",
    "static int A = 7; int B = n; y[0] = A - B;",
    "int A = n, B = 2; y[0] = sizeof(A) - B; pair x = {A, B}; y[1] = x.x - x.y;",
    "int A = n, B = 2; { extern int A; y[1] = A; } y[0] = A - B;",
    "unsigned A = n; int B = 2; T<int> c = {B}; y[0] = A - c.x;",
    "int A = n, B = 2; y[0] = f1(A) - f1(B); (void)(A), (void)B;",
    "float A = n, B = 2; A *= B; y[0] = A; dim3 g(A, B); y[1] = g.x - g.y;",
};

/* Returns a program with these names of locals. */
static char *program_of(const char *body, const char *a, const char *b)
{
    kf_autobuffer text = {0};
    kf_buffer_string(&text, "#include <cuda_runtime.h>\n#define DOUBLE 2 * n\n#define NAMED bound\n"
                            "struct pair { int x, y; }; template <class C> struct T { C x; };\n"
                            "namespace ns { static int x = 3, y = 4; }\nextern int u1;\n"
                            "static int f1(int x) { return x * x; }\nstatic pair q;\n"
                            "int x = 5, u1 = 1, bound = 6, a = 8, b = 9;\n"
                            "extern \"C\" void run(int n, int *y)\n{\n    ");
    for (; *body; body++) {
        bool alone = !(body[1] >= 'A' && body[1] <= 'Z');
        if (*body == 'A' && alone)
            kf_buffer_string(&text, a);
        else if (*body == 'B' && alone)
            kf_buffer_string(&text, b);
        else
            kf_buffer_append(&text, body, 1);
    }
    kf_buffer_string(&text, "\n}\n");
    return kf_buffer_take(&text);
}

/* Compiles a source and hashes the file. False if it does not compile. */
static bool binary_of(const char *folder, const char *source, char hex[KF_HASH_HEX])
{
    kf_autofree char *text = kf_path_join(folder, "candidate.cu"), *command = NULL,
                     *binary = kf_path_join(folder, "candidate.so");
    kf_error error = {0};
    size_t size;
    assert_true(kf_file_write(text, source, strlen(source), &error));
    unlink(binary);
    assert_true(asprintf(&command, "cd %s && %s -o candidate.so candidate.cu 2>/dev/null", folder,
                         KFORGE_CPUCC) > 0);
    if (system(command) != 0) return false;
    kf_autofree char *data = kf_file_read(binary, 16 << 20, &size, &error);
    assert_non_null(data);
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, hex);
    return true;
}

/* Every program with several names of its two locals: wherever forms are equal, so are binaries. */
static void equal_forms_are_equal_binaries(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"a", "b"}, {"b", "a"}, {"x", "bound"}};
    enum { NAMES = sizeof names / sizeof *names };
    kf_error error = {0};
    kf_autofree char *folder = kf_directory_temporary("kforge-test-form", &error);
    assert_non_null(folder);
    int compared = 0, apart = 0;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        char forms[NAMES][KF_HASH_HEX], binaries[NAMES][KF_HASH_HEX] = {{0}};
        for (size_t n = 0; n < NAMES; n++) {
            kf_autofree char *text = program_of(programs[p], names[n][0], names[n][1]);
            assert_true(kf_canonical_source_hash(text, strlen(text), forms[n], NULL));
            size_t same = 0;
            while (same < n && strcmp(forms[same], forms[n]) != 0) same++;
            apart += same == n && n > 0;
            if (same == n || !*forms[n]) continue;
            kf_autofree char *first = program_of(programs[p], names[same][0], names[same][1]);
            if (!*binaries[same] && !binary_of(folder, first, binaries[same])) continue;
            if (!binary_of(folder, text, binaries[n]) || strcmp(binaries[same], binaries[n]) != 0)
                fail_msg("one form and two programs:\n%s\n%s", first, text);
            compared++;
        }
    }
    kf_directory_remove(folder, NULL);
    assert_true(compared > 20 && apart > 5);
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
    enum { SIZE = 1 << 18, DEPTH = 1 << 16 };
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
    /* Loops in loops, with all their brackets. */
    kf_autobuffer deep = {0};
    kf_buffer_string(&deep, "void f(){");
    for (int i = 0; i < DEPTH; i++) kf_buffer_string(&deep, "for(;;)g([]{");
    for (int i = 0; i < DEPTH; i++) kf_buffer_string(&deep, "});");
    kf_buffer_string(&deep, "}");
    char hex[KF_HASH_HEX];
    clock_t start = clock();
    assert_true(kf_canonical_source_hash(deep.data, deep.size, hex, NULL));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5) fail_msg("loops in loops took %.1f s", seconds);
    assert_string_equal(hex, "");
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_comments_and_layout_are_taken_away),
        cmocka_unit_test(what_changes_the_program_stays),
        cmocka_unit_test(tunables_count),
        cmocka_unit_test(a_source_that_is_not_plain_has_none),
        cmocka_unit_test(equal_forms_are_equal_binaries),
        cmocka_unit_test(hostile_texts_take_little_time),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
