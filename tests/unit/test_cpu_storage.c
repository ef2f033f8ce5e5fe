/* Tests a thread's first use of a candidate's thread-local storage (threadIdx and the like,
 * __shared__). The C library then allocates it, inside an access that the compiler takes for a load
 * that changes one register. Before version 2.40, the C library does not save the vector registers
 * of x86-64 meanwhile (https://sourceware.org/bugzilla/show_bug.cgi?id=31372). No value of a
 * candidate may be in such a register at that time. Otherwise an honest kernel would read from
 * invalid addresses whenever the allocator uses these registers. Here the allocator always uses
 * them. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"

static atomic_bool spoils;
static atomic_int spoilt;

#ifdef __x86_64__
#define ALL_ONES(n) "pcmpeqd %%xmm" #n ", %%xmm" #n "\n\t"
#define ALL_ONES_512(n) "vpternlogd $255, %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
__attribute__((target("avx512f"))) static void spoil_512(void)
{
    __asm__ volatile(
        ALL_ONES_512(16) ALL_ONES_512(17) ALL_ONES_512(18) ALL_ONES_512(19) ALL_ONES_512(20)
            ALL_ONES_512(21) ALL_ONES_512(22) ALL_ONES_512(23) ALL_ONES_512(24) ALL_ONES_512(25)
                ALL_ONES_512(26) ALL_ONES_512(27) ALL_ONES_512(28) ALL_ONES_512(29) ALL_ONES_512(30)
                    ALL_ONES_512(31) "kxorw %%k1, %%k1, %%k1\n\t"
                                     "kxorw %%k2, %%k2, %%k2\n\t"
                                     "kxorw %%k3, %%k3, %%k3\n\t"
                                     "kxorw %%k4, %%k4, %%k4\n\t" ::
                                         : "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21",
                                           "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
                                           "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3",
                                           "k4");
}
static void spoil_registers(void)
{
    __asm__ volatile(ALL_ONES(0) ALL_ONES(1) ALL_ONES(2) ALL_ONES(3) ALL_ONES(4) ALL_ONES(5)
                         ALL_ONES(6) ALL_ONES(7) ALL_ONES(8) ALL_ONES(9) ALL_ONES(10) ALL_ONES(11)
                             ALL_ONES(12) ALL_ONES(13) ALL_ONES(14) ALL_ONES(15)::
                                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                                   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                                   "xmm15");
    if (__builtin_cpu_supports("avx512f")) spoil_512();
}
#else
static void spoil_registers(void) {}
#endif

/* In place of the C library's, for all of the process: what the loader allocates storage with, too.
 */
void *__libc_malloc(size_t size);
__attribute__((visibility("default"))) void *malloc(size_t size)
{
    void *result = __libc_malloc(size);
    if (atomic_load(&spoils)) {
        atomic_fetch_add(&spoilt, 1);
        spoil_registers();
    }
    return result;
}

/* Three cases: arguments that stay in vector registers until the loop over threads begins, in each
 * kind of kernel; storage so large that the loader has to allocate it; a host function with
 * storage. */
static const char source[] =
    "#include <cuda_runtime.h>\n"
    "#define N 4096\n"
    "__global__ void plain(const float *a, const float *b, const float *c, const float *d, float "
    "*out, "
    "float alpha, float beta, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) out[i] = alpha * a[i] * b[i] + beta * c[i] * d[i];\n"
    "}\n"
    "__global__ void gathers(const int *index, const float *a, const float *b, float *out, int n)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float sum = 0;\n"
    "    if (i < n) { for (int k = 0; k < 8; k++) sum += a[index[i] + k] * b[k]; out[i] = sum; }\n"
    "}\n"
    "__global__ void waits(const float *a, const float *b, float *out, float alpha, int n)\n"
    "{\n"
    "    __shared__ float part[N];\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    part[threadIdx.x] = i < n ? alpha * a[i] : 0;\n"
    "    __syncthreads();\n"
    "    if (i < n) out[i] = part[blockDim.x - 1 - threadIdx.x] + b[i];\n"
    "}\n"
    "static thread_local double scale[N];\n"
    "extern \"C\" void set_scale(int i, double value) { scale[i] = value; }\n" /* or the compiler
                                                                                  knows it */
    "extern \"C\" double on_the_host(const double *a, const double *b, double alpha, int n)\n"
    "{\n"
    "    double sum = alpha * alpha;\n"
    "    for (int i = 0; i < n; i++) sum += (scale[i] + alpha) * a[i] * b[i];\n"
    "    return sum;\n"
    "}\n"
    "extern \"C\" void run_plain(const float *a, const float *b, float *out, int n)\n"
    "{ plain<<<n / 64, 64>>>(a, b, b, a, out, 2.0f, 3.0f, n); }\n"
    "extern \"C\" void run_gathers(const int *index, const float *a, float *out, int n)\n"
    "{ gathers<<<n / 64, 64>>>(index, a, a, out, n); }\n"
    "extern \"C\" void run_waits(const float *a, const float *b, float *out, int n)\n"
    "{ waits<<<n / 64, 64>>>(a, b, out, 2.0f, n); }\n";

enum { N = 4096 };
static char folder[] = "/tmp/kforge-test-storage-XXXXXX";
static char library[64];
static float a[N + 8], b[N], out[N];
static int indices[N];

/* The entry of that name. What loads the candidate touches its storage, too. */
static void *open_entry(const char *name)
{
    atomic_store(&spoils, true);
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL),
         *entry = opened ? dlsym(opened, name) : NULL;
    atomic_store(&spoils, false);
    if (!entry) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(2);
    }
    return entry;
}

typedef struct launch {
    void (*run)(const void *, const float *, float *, int);
    const void *first;
    const float *second;
} launch;

static void *launch_spoilt(void *argument)
{
    const launch *l = argument;
    atomic_store(&spoils, true);
    l->run(l->first, l->second, out, N);
    atomic_store(&spoils, false);
    return NULL;
}

/* In a new thread, which has not touched anything: the one that launches works on blocks itself. */
static void launch_in_thread(const char *name, const void *first, const float *second)
{
    launch l = {.first = first, .second = second};
    *(void **)&l.run = open_entry(name);
    atomic_store(&spoilt, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, launch_spoilt, &l) || pthread_join(thread, NULL)) _exit(2);
}

static bool plain_is_right(void)
{
    launch_in_thread("run_plain", a, b);
    for (int i = 0; i < N; i++)
        if (out[i] != 5 * a[i] * b[i]) return false;
    return true;
}

static bool gathers_is_right(void)
{
    launch_in_thread("run_gathers", indices, a);
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int k = 0; k < 8; k++) sum += a[indices[i] + k] * a[k];
        if (out[i] != sum) return false;
    }
    return true;
}

static bool waits_is_right(void)
{
    launch_in_thread("run_waits", a, b);
    for (int i = 0; i < N; i++)
        if (out[i] != 2 * a[i / 64 * 64 + 63 - i % 64] + b[i]) return false;
    return true;
}

/* In the thread that loads it. */
static bool host_is_right(void)
{
    double (*run)(const double *, const double *, double, int);
    *(void **)&run = open_entry("on_the_host");
    static double x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = i % 8, y[i] = i % 5;
    double sum = 9;
    for (int i = 0; i < N; i++) sum += 3 * x[i] * y[i];
    atomic_store(&spoils, true);
    double got = run(x, y, 3, N);
    atomic_store(&spoils, false);
    return got == sum;
}

/* In a process of its own: storage is touched once a thread. */
static void test_kernel(void **state)
{
    bool (*is_right)(void);
    memcpy(&is_right, *state, sizeof is_right);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with the tests */
        _exit(is_right() ? atomic_load(&spoilt) ? 0 : 3 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) fail_msg("ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == 3) fail_msg("nothing was allocated: this test has seen nothing");
    if (WEXITSTATUS(status) != 0) fail_msg("wrong results (%d)", WEXITSTATUS(status));
}

static int build(void **state)
{
    (void)state;
    char file[64];
    if (!mkdtemp(folder)) return -1;
    snprintf(file, sizeof file, "%s/candidate.cu", folder);
    snprintf(library, sizeof library, "%s/candidate.so", folder);
    FILE *to = fopen(file, "w");
    if (!to || fputs(source, to) < 0 || fclose(to) != 0) return -1;
    for (int i = 0; i < N; i++)
        a[i] = (float)(i % 16), b[i] = (float)(i % 9), indices[i] = i * 7 % N;
    pid_t pid = fork();
    if (pid == 0) {
        execl(KFORGE_CPUCC, KFORGE_CPUCC, "-o", library, file, (char *)NULL);
        _exit(127);
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int clean(void **state)
{
    (void)state;
    char file[64];
    snprintf(file, sizeof file, "%s/candidate.cu", folder);
    return unlink(file) || unlink(library) || rmdir(folder) ? -1 : 0;
}

typedef bool (*check)(void);

int test_program(void)
{
    static const check checks[] = {plain_is_right, gathers_is_right, waits_is_right, host_is_right};
    const struct CMUnitTest tests[] = {
        {"plain", test_kernel, NULL, NULL, (void *)&checks[0]},
        {"gathers", test_kernel, NULL, NULL, (void *)&checks[1]},
        {"waits", test_kernel, NULL, NULL, (void *)&checks[2]},
        {"on_the_host", test_kernel, NULL, NULL, (void *)&checks[3]},
    };
    return TEST_GROUP(tests, build, clean);
}
