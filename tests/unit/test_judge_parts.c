/* The judge's parts alone: secrets, the digest, shared loops, buffer sets of the CPU device,
 * generated files, the ELF reader. */
#include <setjmp.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glob.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_main.h"
#include "check_outputs.h"
#include "compiler.h"
#include "device.h"
#include "device_cpu.h"
#include "digest.h"
#include "judge_internal.h"
#include "libraries.h"
#include "parallel.h"
#include "paths.h"
#include "input_secret.h"
#include "kforge/buffer.h"
#include "kforge/installation.h"
#include "kforge/file.h"
#include "stream_page.h"

/* ---- compilers ------------------------------------------------------------------------------- */

static void compilers_say_their_version(void **state)
{
    (void)state;
    static const struct {
        const char *text, *version;
    } cases[] = {
        {"g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, "
         "Inc.\n",
         "12.2.0"},
        {"g++ (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3)\n", "11.4.1"},
        {"x86_64-linux-gnu-g++-13 (Ubuntu 13.2.0 (snapshot)-4) 13.2.0\n", "13.2.0"},
        {"Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", "14.0.6"},
        {"nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\n"
         "Cuda compilation tools, release 13.0, V13.0.88\nBuild "
         "cuda_13.0.r13.0/compiler.36424714_0\n",
         "13.0.88"},
        {"g++\n12.2.0\n", ""}, /* of the first line only */
        {"nvcc: release 13.0, Vanilla\n", ""},
        {"g++ (12.2.0", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char version[KF_COMPILER_WORDS / 2];
        assert_int_equal(kf_compiler_version(cases[i].text, version), cases[i].version[0] != '\0');
        assert_string_equal(version, cases[i].version);
    }
    char words[KF_COMPILER_WORDS];
    kf_compiler_find(NULL, "nvcc", words);
    assert_string_equal(words, "no nvcc");
    kf_compiler_find("/nonexistent/g++", "g++", words);
    assert_string_equal(words, "g++ of an unknown version");
}

/* ---- libraries ------------------------------------------------------------------------------- */

/* Returns the name of the first object that is not allowed, NULL without one. */
static const char *forbidden(const char *maps, const char *const *allowed)
{
    static char name[64];
    static const char first[] =
        "5500-5501 r-xp 00000000 08:01 5                  /opt/kforge/bin/kforge-runner\n"
        "7f00-7f01 r-xp 00000000 08:01 6                  /home/me/lib/libkfcpu.so\n"
        "7f02-7f03 rw-p 00000000 00:00 0 \n";
    const kf_mapped mapped = {"/tmp/inbox/candidate.so", first, "", NULL, allowed};
    return kf_library_forbidden(maps, &mapped, name) ? name : NULL;
}

#define FOLDER " 00000000 08:01 9                  /usr/lib/x86_64-linux-gnu/"
#define TOOLKIT " 00000000 08:01 8                  /usr/local/cuda-13.0/lib64/"

static void only_known_code_is_mapped(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "",
        "7f00-7f01 r-xp" FOLDER "libc.so.6\n",
        "7f00-7f01 r-xp" FOLDER "libmvec.so.1\n7f02-7f03 r-xp" FOLDER "libstdc++.so.6.0.30\n",
        "7f00-7f01 r-xp" FOLDER "libcuda.so.580.1\n",
        "7f00-7f01 r-xp" FOLDER "libnvidia-ptxjitcompiler.so.580.1\n",
        "7f00-7f01 r--p 00000000 08:01 7 /tmp/inbox/candidate.so\n7f01-7f02 r-xp 00000000 08:01 7 "
        "/tmp/inbox/candidate.so\n",
        "7f00-7f01 r-xp 00000000 08:01 6 /another/name/libkfcpu.so (deleted)\n",
        "7f00-7f01 r--p" FOLDER "gconv/gconv-modules.cache\n",
        "7f00-7f01 r--p 00000000 08:01 3 /etc/ld.so.cache\n",
        "7f00-7f01 rw-p 00000000 00:00 0 \n7f02-7f03 rw-p 00000000 00:00 0          [heap]\n",
        "7f00-7f01 rw-s 00000000 00:01 77 /memfd:buffers (deleted)\n",
        "7f00-7f01 r-xp 00000000 00:00 0                          [vdso]\n",
    };
    static const char *const bad[][2] = {
        {"7f00-7f01 r-xp" TOOLKIT "libnppc.so.13.0\n", "libnppc.so.13.0"},
        {"7f00-7f01 r-xp" TOOLKIT "libnvrtc.so.13.0\n", "libnvrtc.so.13.0"},
        {"7f00-7f01 r-xp" TOOLKIT "libnvJitLink.so.13\n", "libnvJitLink.so.13"},
        {"7f00-7f01 r-xp" TOOLKIT "libcublas.so.13\n", "libcublas.so.13"},
        {"7f00-7f01 r-xp" FOLDER "libcutensor.so.2\n", "libcutensor.so.2"},
        {"7f00-7f01 r-xp" FOLDER "libgomp.so.1.0.0\n", "libgomp.so.1.0.0"},
        {"7f00-7f01 r--p" FOLDER "libblas.so.3\n", "libblas.so.3"},
        /* a name of the runtime elsewhere, and the candidate's with an end */
        {"7f00-7f01 r-xp 00000000 08:01 9 /tmp/libc.so.6\n", "libc.so.6"},
        {"7f00-7f01 r-xp" FOLDER "libm.so.6 (deleted)", "libm.so.6 (deleted)"},
        {"7f00-7f01 r-xp 00000000 08:01 9 /tmp/inbox/candidate.so.2\n", "candidate.so.2"},
        {"7f00-7f01 r-xp 00000000 08:01 9 /home/libcuda.so.1\n", "libcuda.so.1"},
        {"7f00-7f01 r-xp 00000000 00:01 9 /memfd:libc.so (deleted)\n", "memfd:libc.so (deleted)"},
        {"7f00-7f01 r-xp 00000000 08:01 9 /tmp/x\\012[vdso]\n", "x\\012[vdso]"},
        {"7f00-7f01 r-xp 00000000 00:00 0 \n", ""},
        {"7f00-7f01 rwxp 00000000 00:00 0          [heap]\n", ""},
        {"7f00-7f01 rwxp 00000000 00:00 0          [stack]", ""},
        {"7f00-7f01 rwxp 00000000 00:00 0 [anon:vdso]\n", ""},
    };
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        if (forbidden(fine[i], NULL)) fail_msg("%s", fine[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *name = forbidden(bad[i][0], NULL);
        if (!name) fail_msg("allowed: %s", bad[i][0]);
        assert_string_equal(name, bad[i][1]);
    }
}

/* A solution in Python may map PyTorch, what that needs, compilers and what the task names. */
static void python_maps_known_code(void **state)
{
    (void)state;
#define AT " 00000000 08:01 9 "
#define SITE AT "/opt/venv/lib/python3.12/site-packages/"
    static const struct {
        const char *line, *name;
    } rows[] = {
        {"7f-80 r-xp" SITE "torch/lib/libtorch_cuda.so\n", NULL},
        {"7f-80 r-xp" SITE "nvidia/cu13/lib/libcublas.so.13\n", NULL},
        {"7f-80 r-xp" SITE "triton/_C/libtriton.so\n", NULL},
        {"7f-80 r-xp" SITE "Cython/Compiler/Code.cpython-312-x86_64-linux-gnu.so\n", NULL},
        {"7f-80 r-xp" AT "/usr/lib/python3/dist-packages/gmpy2/gmpy2.cpython-311.so\n", NULL},
        {"7f-80 r-xp" AT "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.so\n", NULL},
        {"7f-80 r-xp" AT "/v/lib/python3.12/site-packages/Cython/Compiler/Code.cpython-312.so\n",
         NULL},
        {"7f-80 r-xp" AT "/usr/lib/python3.11/lib-dynload/_ssl.cpython-311.so\n", NULL},
        {"7f-80 r-xp" AT "/usr/lib/x86_64-linux-gnu/libssl.so.3\n", NULL},
        {"7f-80 r-xp" AT "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n", NULL},
        {"7f-80 r-xp" AT "/usr/local/nvidia/lib64/libcuda.so.580\n", NULL},
        {"7f-80 r-xp" AT "/tmp/x/__triton_launcher.so\n", NULL},
        {"7f-80 rwxp 00000000 00:00 0 \n", NULL}, /* code of a compiler */
        {"7f-80 r--p" AT "/usr/share/zoneinfo/UTC\n", NULL},
        {"7f-80 r-xp" SITE "nvidia_cutlass_dsl/lib/libcute.so\n", NULL},
        {"7f-80 r-xp" AT "/home/me/first.so\n", NULL},
        {"7f-80 r-xp" SITE "flash_attn_2_cuda.so\n", "flash_attn_2_cuda.so"},
        {"7f-80 r-xp" SITE "xformers/_C.so\n", "_C.so"},
        {"7f-80 r-xp" SITE "torch_something/_C.so\n", "_C.so"},
        {"7f-80 r-xp" SITE "tensorrt_libs/libnvinfer.so.10\n", "libnvinfer.so.10"},
        {"7f-80 r--p" AT "/usr/lib/x86_64-linux-gnu/libnppc.so.12\n", "libnppc.so.12"},
        {"7f-80 r-xp" AT "/usr/local/cuda/lib64/libcutensor.so.2\n", "libcutensor.so.2"},
        {"7f-80 r-xp" AT "/home/me/torch/lib/libtorch_fast.so.1\n", NULL},
        {"7f-80 r-xp" AT "/opt/fast/libfast.so\n", "libfast.so"},
    };
    static const char *const names[] = {"cutlass", NULL}, *const none[] = {NULL};
    static const char first[] = "7f-80 r-xp 00000000 08:01 7 /home/me/first.so\n";
    char name[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const kf_mapped mapped = {NULL, strstr(rows[i].line, "first") ? rows[i].line : first, "",
                                  NULL, names};
        bool found = kf_python_library_forbidden(rows[i].line, &mapped, name);
        if (found != (rows[i].name != NULL)) fail_msg("%s", rows[i].line);
        if (found) assert_string_equal(name, rows[i].name);
    }
    const kf_mapped unnamed = {NULL, first, "", NULL, none};
    assert_true(kf_python_library_forbidden("7f-80 r-xp" SITE "nvidia_cutlass_dsl/lib/libcute.so\n",
                                            &unnamed, name));
    /* kforge's own runtime of CUDA on a processor, in its own folder alone */
    char line[PATH_MAX + 80], *runtime = kf_root_file("lib/kforge/libkfcpu.so", NULL);
    assert_non_null(runtime);
    snprintf(line, sizeof line, "7f-80 r-xp" AT "%s\n", runtime);
    assert_false(kf_python_library_forbidden(line, &unnamed, name));
    free(runtime);
    assert_true(kf_python_library_forbidden("7f-80 r-xp" AT "/home/me/lib/kforge/libkfcpu.so\n",
                                            &unnamed, name));
    kf_mapped as_oracle = {NULL, "", "7f-80 r-xp" AT "/opt/fast/libfast.so\n", NULL, none};
    assert_false(
        kf_python_library_forbidden("7f-80 r-xp" AT "/opt/fast/libfast.so\n", &as_oracle, name));
#undef AT
#undef SITE
}

/* Appends a line for each of `count` libraries in a folder of a user. `step`: from one number to
 * the next. */
static void append_libraries(kf_buffer *maps, int from, int count, int step)
{
    for (int i = 0; i < count; i++)
        kf_buffer_format(maps, "7f-80 r-xp 00000000 08:01 %d /home/me/lib%d.so\n", from + i * step,
                         from + i * step);
}

/* PyTorch maps thousands of libraries and parts of them. */
static void many_libraries_are_found_in_any_order(void **state)
{
    (void)state;
    enum { MANY = 20000, FEW = 200 };
    kf_autobuffer first = {0}, same = {0}, other = {0};
    char name[64];
    append_libraries(&first, 1, MANY, 1);
    append_libraries(&same, 1, MANY, 1);
    kf_mapped mapped = {NULL, first.data, "", NULL, NULL};
    clock_t began = clock();
    assert_false(kf_python_library_forbidden(same.data, &mapped, name));
    assert_true(clock() - began < CLOCKS_PER_SEC); /* each against each takes several seconds */
    append_libraries(&other, MANY, FEW, -1);
    append_libraries(&other, 1, FEW, 7);
    assert_false(kf_python_library_forbidden(other.data, &mapped, name));
    append_libraries(&other, MANY + 1, 1, 1);
    append_libraries(&other, 1, 1, 1);
    assert_true(kf_python_library_forbidden(other.data, &mapped, name));
    assert_string_equal(name, "lib20001.so");
}

static void a_task_names_libraries(void **state)
{
    (void)state;
    static const char maps[] =
        "7f00-7f01 r-xp" TOOLKIT "libcublas.so.13.1\n7f02-7f03 r-xp" TOOLKIT "libcublasLt.so.13.1";
    static const char *const none[] = {NULL}, *const cublas[] = {"cublas", NULL},
                             *const cudnn[] = {"curand", "cudnn", NULL},
                             *const other[] = {"cufft", NULL};
    assert_string_equal(forbidden(maps, none), "libcublas.so.13.1");
    assert_non_null(forbidden(maps, other));
    assert_null(forbidden(maps, cublas)); /* with what it loads itself */
    assert_null(forbidden(maps, cudnn));
    /* Memory without a file is fine where the driver makes code in the oracle's process. */
    char name[64];
    static const char code[] = "7f00-7f01 rwxp 00000000 00:00 0 \n";
    const kf_mapped mapped = {NULL, "", code, NULL, none};
    assert_false(kf_library_forbidden(code, &mapped, name));
    kf_autofree char *own = kf_system_file("/proc/self/maps", 1 << 20);
    assert_non_null(strstr(own, "test_judge_parts"));
    const kf_mapped self = {NULL, own, "", NULL, none};
    /* Without its files a process shows other paths, but not of other objects. */
    static const char moved[] = "7f00-7f01 r-xp 00000000 08:01 31 /candidate.so\n",
                      before[] = "7f00-7f01 r-xp 00000000 08:01 31 /tmp/inbox/candidate.so\n"
                                 "7f02-7f03 r-xp 00000000 00:00 0 \n";
    const kf_mapped hidden = {"/tmp/inbox/candidate.so", "", "", before, none};
    assert_false(kf_library_forbidden(moved, &hidden, name));
    assert_true(kf_library_forbidden("7f00-7f01 r-xp 00000000 08:01 32 /x.so\n", &hidden, name));
    assert_true(
        kf_library_forbidden("7f00-7f01 rwxp 00000000 08:01 31 /candidate.so\n", &hidden, name));
    assert_true(kf_library_forbidden("7f00-7f01 r-xp 00000000 00:00 0 \n", &hidden, name));
    assert_false(kf_library_forbidden(own, &self, name));
    assert_null(kf_system_file("/proc/no/such", 100));
    kf_autofree char *cut = kf_system_file("/proc/self/maps", 100);
    assert_true(strlen(cut) <= 100);
}

/* A process maps an allowed object 30,000 times, behind 30,000 other mappings. Each time has to be
 * looked up in less than a pass over all. */
static void many_mappings_take_little_time(void **state)
{
    (void)state;
    kf_autobuffer maps = {0};
    for (int i = 0; i < 30000; i++)
        kf_buffer_format(&maps, "%x000-%x001 %s 00000000 00:00 0 \n", i + 1, i + 1,
                         i % 2 ? "r--p" : "---p");
    for (int i = 0; i < 30000; i++)
        kf_buffer_format(&maps, "7f%x000-7f%x001 r--p 00000000 08:01 31    /tmp/candidate.so\n", i,
                         i);
    static const char *const none[] = {NULL};
    const kf_mapped mapped = {"/tmp/inbox/other.so", "", "", maps.data, none};
    char name[64];
    clock_t start = clock();
    assert_false(kf_library_forbidden(maps.data, &mapped, name));
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 5) fail_msg("60,000 mappings took %.1f s", seconds);
    kf_buffer_string(&maps, "7fff-8000 r--p 00000000 08:01 32    /tmp/fast.so\n");
    const kf_mapped unlike = {"/tmp/candidate.so", "", "", NULL, none};
    assert_true(kf_library_forbidden(maps.data, &unlike, name));
    assert_string_equal(name, "fast.so");
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void secrets_are_drawn_from(void **state)
{
    (void)state;
    kf_secret one, two, again;
    char hex[65];
    assert_true(kf_secret_new(&one, NULL, NULL) && kf_secret_new(&two, NULL, NULL));
    assert_memory_not_equal(&one, &two, sizeof one);
    kf_secret_hex(&one, hex);
    assert_true(kf_secret_new(&again, hex, NULL)); /* what a verdict reveals repeats it */
    assert_memory_equal(&one, &again, sizeof one);
    assert_true(kf_secret_draw(&one, "inputs", 0, 1) == kf_secret_draw(&again, "inputs", 0, 1));
    assert_true(kf_secret_draw(&one, "inputs", 0, 1) != kf_secret_draw(&one, "inputs", 1, 0));
    assert_true(kf_secret_draw(&one, "inputs", 0, 1) != kf_secret_draw(&one, "poison", 0, 1));
    assert_true(kf_secret_new(&one, "c0ffee", NULL) && kf_secret_new(&two, "c0ffee", NULL));
    assert_memory_equal(&one, &two, sizeof one);
}

static void permutations_are_fair(void **state)
{
    (void)state;
    kf_choices choices = {.state = 42};
    int first[5] = {0};
    for (int turn = 0; turn < 50000; turn++) {
        uint32_t items[5] = {0, 1, 2, 3, 4}, seen = 0;
        kf_choices_permute(&choices, items, 5);
        for (int i = 0; i < 5; i++) seen |= 1u << items[i];
        assert_int_equal(seen, 31);
        first[items[0]]++;
    }
    /* 10000, 4.5 standard deviations */
    for (int i = 0; i < 5; i++) assert_in_range(first[i], 9600, 10400);
}

static uint64_t unshift(uint64_t x, int by)
{
    uint64_t result = x;
    for (int done = by; done < 64; done += by) result = x ^ result >> by;
    return result;
}

/* SplitMix64 can be run backwards: from one number to the state and on to the next one. */
static void one_choice_does_not_tell_the_next(void **state)
{
    (void)state;
    kf_choices choices = {.state = 7};
    for (int i = 0; i < 20; i++) {
        uint64_t z = unshift(kf_choices_next(&choices), 31) * 0x319642b2d24d8ec3u;
        z = unshift(unshift(z, 27) * 0x96de1b173f119089u, 30) + 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        kf_choices ahead = choices;
        assert_true(kf_choices_next(&ahead) != (z ^ z >> 31));
    }
}

/* ---- samples in the stream ------------------------------------------------------------------- */

/* No sample leaves its output, and chance reaches each block of it. */
static void samples_stay_within_outputs(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1,    7,        16,       17,         1000,       1024,
                                     1040, 4096 + 8, 1u << 20, 3ull << 30, 70ull << 30};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t nonce = 0; nonce < 2000; nonce++) {
            kf_stream_sample one = kf_sample_layout(nonce * 0x9e3779b97f4a7c15u, 1, sizes[s]);
            assert_true(one.rows >= 1 && one.rows <= KF_SAMPLE_ROWS && one.width >= 1 &&
                        one.width <= KF_SAMPLE_WIDTH && one.pitch < KF_SAMPLE_PITCH);
            assert_true(one.offset + (one.rows - 1) * one.pitch + one.width <= sizes[s]);
        }
    bool reached[200] = {0};
    for (uint64_t nonce = 0; nonce < 2000; nonce++) {
        kf_stream_sample one = kf_sample_layout(nonce, 0, sizeof reached * KF_SAMPLE_WIDTH);
        for (uint32_t row = 0; row < one.rows; row++)
            reached[(one.offset + row * one.pitch) / KF_SAMPLE_WIDTH] = true;
    }
    for (size_t i = 0; i < sizeof reached; i++) assert_true(reached[i]);
    bool calls[2][10] = {{0}}, outputs[3] = {0};
    for (uint64_t nonce = 0; nonce < 2000; nonce++)
        for (uint32_t slot = 0; slot < KF_SAMPLE_SLOTS; slot++) {
            calls[slot][kf_sample_call(nonce, slot, 10)] = true;
            outputs[kf_sample_output(nonce, slot, 3)] = true;
        }
    for (int i = 0; i < 20; i++) assert_true(calls[i / 10][i % 10]);
    assert_true(outputs[0] && outputs[1] && outputs[2]);
    assert_true(kf_sample_call(5, 0, 0) == 0 && kf_sample_output(5, 0, 0) == 0);
}

/* ---- digest, loops --------------------------------------------------------------------------- */

static void every_bit_counts(void **state)
{
    (void)state;
    unsigned char data[203];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37);
    for (size_t size = 0; size <= sizeof data; size += 7) {
        uint64_t whole = kf_digest(1, data, size);
        assert_true(whole != kf_digest(2, data, size) || !size);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(kf_digest(1, data, size) != whole);
            data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        if (size) assert_true(kf_digest(1, data, size - 1) != whole);
    }
    unsigned char zeros[64] = {0};
    assert_true(kf_digest(1, zeros, 8) != kf_digest(1, zeros, 16));
}

static void count_up(void *context, size_t i)
{
    __atomic_fetch_add(&((int *)context)[i], 1, __ATOMIC_RELAXED);
}

/* A candidate may change two places so that the second cancels the first. It does not know the key,
 * so for every pair of bits the difference that the two make in the digest must hang on the key. */
static void no_two_bits_cancel(void **state)
{
    (void)state;
    enum { BITS = 8 * 192, KEYS = 3 };
    unsigned char data[192];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
    uint64_t whole[KEYS];
    for (uint64_t key = 0; key < KEYS; key++) whole[key] = kf_digest(key, data, sizeof data);
    for (int a = 0; a < BITS; a += 1 + a % 3)
        for (int b = a + 1; b < BITS; b++) {
            data[a / 8] ^= (unsigned char)(1 << a % 8);
            data[b / 8] ^= (unsigned char)(1 << b % 8);
            for (uint64_t key = 0; key < KEYS; key++)
                if (kf_digest(key, data, sizeof data) == whole[key])
                    fail_msg("bits %d and %d cancel under key %llu", a, b, (unsigned long long)key);
            data[a / 8] ^= (unsigned char)(1 << a % 8);
            data[b / 8] ^= (unsigned char)(1 << b % 8);
        }
}

static void loops_do_everything_once(void **state)
{
    (void)state;
    kf_auto(kf_parallel) parallel = kf_parallel_new();
    int counts[1000];
    for (int round = 0; round < 200; round++) {
        memset(counts, 0, sizeof counts);
        kf_parallel_for(parallel, (size_t)round * 5, count_up, counts);
        for (int i = 0; i < 1000; i++) assert_int_equal(counts[i], i < round * 5);
    }
}

/* ---- buffer sets ----------------------------------------------------------------------------- */

typedef struct bench {
    kf_parallel *parallel;
    kf_device *device;
    kf_task *task;
    kf_problem *problem;
    kf_sets *sets;
} bench;

static void open_bench(bench *b, const char *task, uint32_t count)
{
    kf_error error = {0};
    bool applies = false;
    b->parallel = kf_parallel_new();
    b->device = kf_device_cpu_open(b->parallel, NULL, &error);
    b->task = kf_task_load(task, &error);
    b->problem = calloc(1, sizeof *b->problem);
    if (!b->device || !b->task) fail_msg("%s", error.text);
    assert_true(kf_task_resolve(b->task, 0, "cpu", b->problem, &applies, &error) && applies);
    b->sets = b->device->operations->buffers.sets_new(b->device, b->problem, count, true, &error);
    if (!b->sets) fail_msg("%s", error.text);
}

static void close_bench(bench *b)
{
    b->device->operations->buffers.sets_free(b->sets);
    b->device->operations->free(b->device);
    kf_parallel_free(b->parallel);
    kf_task_free(b->task);
    free(b->problem);
}

static kf_damage inspect(bench *b, const bool *chosen)
{
    kf_damage damage;
    assert_true(b->device->operations->buffers.inspect(b->sets, chosen, &damage, NULL));
    return damage;
}

/* axpy: x is an input, y an inout. Every byte around and in the buffers is touched once, as a
 * candidate might. */
static void damage_is_found(void **state)
{
    (void)state;
    bench b = {0};
    kf_set_variation none[3] = {{-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}};
    bool chosen[3] = {true, true, false};
    open_bench(&b, KFORGE_SOURCE_DIR "/tasks/axpy", 3);
    const kf_device_operations *device = b.device->operations;
    assert_true(device->buffers.fill(b.sets, 7, none, NULL) &&
                device->buffers.poison(b.sets, KF_ROLE_BASELINE, 8, NULL));
    assert_int_equal(inspect(&b, chosen).kind, KF_DAMAGE_NONE);
    for (uint32_t set = 0; set < 3; set++)
        for (int argument = 0; argument < 2; argument++) {
            unsigned char *data =
                (unsigned char *)(uintptr_t)device->buffers.output(b.sets, set, argument, NULL);
            int64_t size = (int64_t)b.problem->arguments[argument].bytes;
            int64_t places[] = {-4096, -1, 0, size / 2, size - 1, size, size + 4095};
            for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                data[places[i]] ^= 0x10;
                kf_damage damage = inspect(&b, chosen);
                bool inside = places[i] >= 0 && places[i] < size;
                int expected = !inside         ? KF_DAMAGE_GUARD
                               : argument == 0 ? KF_DAMAGE_INPUT
                               : chosen[set]   ? KF_DAMAGE_NONE
                                               : KF_DAMAGE_UNCHOSEN;
                assert_int_equal(damage.kind, expected);
                if (expected != KF_DAMAGE_NONE) {
                    assert_int_equal(damage.set, set);
                    assert_int_equal(damage.argument, argument);
                }
                if (expected == KF_DAMAGE_GUARD) assert_int_equal(damage.byte, places[i]);
                data[places[i]] ^= 0x10;
            }
        }
    assert_int_equal(inspect(&b, chosen).kind, KF_DAMAGE_NONE);
    close_bench(&b);
}

/* What one side writes to its buffers is seen neither by the other side nor by the oracle. */
static void sides_share_no_buffer(void **state)
{
    (void)state;
    bench b = {0};
    kf_set_variation none[3] = {{-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}};
    bool chosen[3] = {false, false, false};
    open_bench(&b, KFORGE_SOURCE_DIR "/tasks/axpy", 3);
    const kf_buffer_operations *buffers = &b.device->operations->buffers;
    float *expected = malloc(b.problem->arguments[0].bytes);
    for (uint64_t secret = 7; secret < 9; secret++) {
        assert_true(buffers->fill(b.sets, secret, none, NULL));
        const kf_role roles[] = {KF_ROLE_CANDIDATE, KF_ROLE_BASELINE, KF_ROLE_CANDIDATE};
        for (size_t i = 0; i < 3; i++) {
            assert_true(buffers->turn_to(b.sets, roles[i], NULL));
            if (i == 2) { /* its damage of its first turn is still there */
                assert_int_not_equal(inspect(&b, chosen).kind, KF_DAMAGE_NONE);
                continue;
            }
            assert_true(buffers->poison(b.sets, roles[i], secret + i, NULL));
            assert_int_equal(inspect(&b, chosen).kind, KF_DAMAGE_NONE);
            for (uint32_t set = 0; set < 3 && i == 0; set++)
                for (int argument = 0; argument < 2; argument++)
                    memset((void *)(uintptr_t)buffers->output(b.sets, set, argument, NULL), 0x5a,
                           b.problem->arguments[argument].bytes);
        }
        kf_input_fill(&b.problem->arguments[0], (kf_key){secret, 1, 0}, KF_VARY_NONE, expected, 0,
                      b.problem->arguments[0].elements);
        assert_memory_equal(buffers->input(b.sets, 1, 0, NULL), expected,
                            b.problem->arguments[0].bytes);
    }
    free(expected);
    close_bench(&b);
}

/* A part of an inout is written before its call, with the initial values, or after it, without the
 * results. */
static void parts_of_inouts_are_written(void **state)
{
    (void)state;
    bench b = {0};
    kf_set_variation none[3] = {{-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}, {-1, KF_VARY_NONE}};
    const uint32_t list[] = {1};
    open_bench(&b, KFORGE_SOURCE_DIR "/tests/selftest/relax", 3);
    const kf_buffer_operations *buffers = &b.device->operations->buffers;
    assert_true(buffers->fill(b.sets, 7, none, NULL) &&
                buffers->turn_to(b.sets, KF_ROLE_CANDIDATE, NULL) &&
                buffers->poison(b.sets, KF_ROLE_CANDIDATE, 8, NULL));
    const kf_part part = {.offset = 40, .bytes = 8};
    for (int live = 1; live >= 0; live--) {
        float values[2] = {(float)live + 3, -5}, now[2];
        assert_true(buffers->write_part(b.sets, 1, 0, &part, values, live, NULL) &&
                    buffers->accept_input(b.sets, 1, 0, NULL) &&
                    buffers->turn_to(b.sets, KF_ROLE_CANDIDATE, NULL) &&
                    buffers->read_part(b.sets, 1, 0, &part, now, NULL) &&
                    buffers->prepare_truth(b.sets, list, 1, NULL));
        assert_true(now[0] == 4 && now[1] == -5);
        const double *truth = buffers->truth(b.sets, 1, 0, NULL);
        assert_true(truth[10] == live + 3 && truth[11] == -5);
        assert_true(buffers->turn_to(b.sets, KF_ROLE_BASELINE, NULL) &&
                    buffers->read_part(b.sets, 1, 0, &part, now, NULL));
        assert_true(now[0] == (float)live + 3);
        assert_true(buffers->turn_to(b.sets, KF_ROLE_CANDIDATE, NULL));
    }
    close_bench(&b);
}

static void sets_hold_what_the_secret_says(void **state)
{
    (void)state;
    bench b = {0};
    kf_set_variation variations[3] = {
        {-1, KF_VARY_NONE}, {0, KF_VARY_SCALE_UP}, {1, KF_VARY_OFFSET}};
    uint32_t list[3] = {0, 1, 2};
    open_bench(&b, KFORGE_SOURCE_DIR "/tasks/axpy", 3);
    const kf_device_operations *device = b.device->operations;
    const kf_problem_argument *y = &b.problem->arguments[1];
    assert_true(device->buffers.fill(b.sets, 7, variations, NULL) &&
                device->buffers.poison(b.sets, KF_ROLE_BASELINE, 8, NULL) &&
                device->buffers.prepare_truth(b.sets, list, 3, NULL));
    float *expected = malloc(y->bytes);
    for (uint32_t set = 0; set < 3; set++)
        for (int argument = 0; argument < 2; argument++) {
            kf_variation variation =
                variations[set].argument == argument ? variations[set].variation : KF_VARY_NONE;
            kf_input_fill(&b.problem->arguments[argument], (kf_key){7, set, (uint32_t)argument},
                          variation, expected, 0, y->elements);
            assert_memory_equal(device->buffers.input(b.sets, set, argument, NULL), expected,
                                y->bytes);
            if (argument == 0) continue;
            const double *truth = device->buffers.truth(b.sets, set, argument, NULL);
            for (int64_t i = 0; i < y->elements; i++) assert_true(truth[i] == (double)expected[i]);
        }
    /* Copies survive poisoning. */
    assert_true(device->buffers.copy_input(b.sets, 0, 2, 1, NULL) &&
                device->buffers.poison(b.sets, KF_ROLE_BASELINE, 9, NULL) &&
                device->buffers.prepare_truth(b.sets, list, 3, NULL));
    assert_memory_equal(device->buffers.input(b.sets, 2, 1, NULL),
                        device->buffers.input(b.sets, 0, 1, NULL), y->bytes);
    assert_memory_equal(device->buffers.truth(b.sets, 2, 1, NULL),
                        device->buffers.truth(b.sets, 0, 1, NULL), y->elements * sizeof(double));
    bool chosen[3] = {false, false, false};
    assert_int_equal(inspect(&b, chosen).kind, KF_DAMAGE_NONE);
    /* Plain numbers bear no variation, are the same again, and no others. */
    const uint32_t plain = KF_PLAIN_INPUT;
    kf_input_fill(&b.problem->arguments[0], (kf_key){7, plain, 0}, KF_VARY_NONE, expected, 0,
                  y->elements);
    for (int time = 0; time < 2; time++) {
        assert_true(device->buffers.copy_input(b.sets, plain, 1, 0, NULL));
        assert_memory_equal(device->buffers.input(b.sets, 1, 0, NULL), expected, y->bytes);
    }
    assert_true(device->buffers.copy_input(b.sets, KF_FRESH_INPUT, 1, 0, NULL));
    for (uint32_t other = 0; other < 3; other += 2)
        assert_memory_not_equal(device->buffers.input(b.sets, 1, 0, NULL),
                                device->buffers.input(b.sets, other, 0, NULL), y->bytes);
    free(expected);
    close_bench(&b);
}

/* A shortcut for one kind of data may bear all variations but one: with the sets that a check
 * compares none is left out by chance. */
static void every_variation_gets_its_turn(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, KFORGE_SOURCE_DIR "/tests/selftest/softmax", 3);
    for (int round = 0; round < 50; round++) {
        bool seen[KF_VARIATION_COUNT] = {false};
        int plain = 0, varied = 0, small = 0;
        kf_secret secret;
        assert_true(kf_secret_new(&secret, NULL, NULL));
        for (int workload = 0; workload < 3; workload++) {
            kf_workbench table = {.device = b.device,
                                  .parallel = b.parallel,
                                  .problem = b.problem,
                                  .workload = workload,
                                  .secret = &secret};
            kf_auto(kf_checker) checker = kf_checker_new(&table);
            kf_choices choices = {.state = (uint64_t)round * 3 + (uint64_t)workload};
            assert_non_null(checker);
            bool has_small = false;
            for (int pair = 0; pair < 3; pair++) {
                uint32_t order[3] = {0, 1, 2};
                kf_set_variation variations[3];
                kf_choices_permute(&choices, order, 3);
                kf_checker_vary(checker, &choices, order, 2, 3, false, KF_ALL_SETS, variations);
                for (int k = 0; k < 2; k++) { /* the two that are called */
                    const kf_set_variation *v = &variations[order[k]];
                    seen[v->variation] = true;
                    has_small |= v->variation == KF_VARY_SCALE_DOWN;
                    *(v->variation == KF_VARY_NONE ? &plain : &varied) += 1;
                }
            }
            small += has_small;
        }
        /* Small inputs alone show that small terms are left out, and a shortcut may be for one
         * workload. */
        assert_int_equal(small, 3);
        assert_int_equal(plain + varied, 18);
        assert_in_range(varied, 9, 12);
        for (int v = 0; v < KF_VARIATION_COUNT; v++)
            assert_int_equal(seen[v],
                             v == KF_VARY_NONE ||
                                 kf_variation_applies(&b.problem->arguments[0], (kf_variation)v));
    }
    close_bench(&b);
}

/* Two sets, and a batch of one call: of the two pairs in which the baseline is compared one is
 * varied, or no other would be. */
static void one_call_is_varied_every_other_time(void **state)
{
    (void)state;
    bench b;
    open_bench(&b, KFORGE_SOURCE_DIR "/tests/selftest/softmax", 3);
    int first = 0;
    for (uint64_t round = 0; round < 100; round++) {
        kf_secret secret;
        assert_true(kf_secret_new(&secret, NULL, NULL));
        kf_workbench table = {
            .device = b.device, .parallel = b.parallel, .problem = b.problem, .secret = &secret};
        kf_auto(kf_checker) checker = kf_checker_new(&table);
        kf_choices choices = {.state = round};
        assert_non_null(checker);
        bool varied[2];
        for (int pair = 0; pair < 2; pair++) {
            const uint32_t order[2] = {1, 0};
            kf_set_variation variations[2];
            kf_checker_vary(checker, &choices, order, 1, 2, false, 0, variations);
            varied[pair] = variations[1].variation != KF_VARY_NONE;
        }
        assert_true(varied[0] != varied[1]);
        first += varied[0];
    }
    assert_true(first > 25 && first < 75);
    close_bench(&b);
}

static double device_compareed; /* the RMS error that the device says */
static uint32_t arguments;
static int brought; /* outputs that were asked for */

static bool device_compare(kf_sets *sets, const uint32_t *list, uint32_t count,
                           kf_device_compare *comparisons, kf_error *error)
{
    (void)sets, (void)list, (void)error;
    for (uint32_t i = 0; i < arguments * count; i++)
        comparisons[i] =
            (kf_device_compare){.known = true,
                                .sums = {.count = 1000,
                                         .sum_square = 1000 * device_compareed * device_compareed,
                                         .max = device_compareed,
                                         .scale_square = 1000,
                                         .scale_max = 1,
                                         .first_nonfinite = -1}};
    return true;
}

static const void *bring_output(kf_sets *sets, uint32_t set, int argument, kf_error *error)
{
    brought++;
    return kf_cpu_output(sets, set, argument, error);
}

/* A request for correctness only gets no description of a clear mismatch, and no output is copied
 * for one. Close results are still inspected. */
static void brief_answers_bring_nothing(void **state)
{
    (void)state;
    bench b;
    kf_secret secret;
    kf_error error = {0};
    open_bench(&b, KFORGE_SOURCE_DIR "/tests/selftest/softmax", 1);
    kf_device_operations operations = *b.device->operations;
    operations.buffers.device_compare = device_compare;
    operations.buffers.output = bring_output;
    kf_device device = {.operations = &operations};
    kf_auto(kf_verdict) verdict = kf_verdict_new("", "", "");
    assert_true(verdict && kf_secret_new(&secret, NULL, NULL));
    arguments = (uint32_t)b.problem->argument_count;
    kf_workbench table = {.device = &device,
                          .parallel = b.parallel,
                          .problem = b.problem,
                          .secret = &secret,
                          .verdict = verdict,
                          .result = kf_verdict_add_workload(verdict, "main", false)};
    kf_auto(kf_checker) checker = kf_checker_new(&table);
    const kf_set_variation plain = {-1, KF_VARY_NONE};
    const uint32_t list[1] = {0};
    bool passed = false;
    device_compareed = 1e-6;
    assert_true(kf_checker_compare(checker, b.sets, &plain, list, 1, true, NULL, &passed, &error) &&
                passed);
    static const struct {
        bool brief;
        double error;
        bool passes, looks;
    } rows[] = {{false, 1e-6, true, false},
                {true, 1e-6, true, false},
                {true, 0.5, false, false},
                {false, 0.5, true, true}, /* looked at, it is right */
                {true, 1.5e-5, true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        device_compareed = rows[i].error;
        brought = 0;
        kf_checker_be_brief(checker, rows[i].brief);
        assert_true(
            kf_checker_compare(checker, b.sets, &plain, list, 1, false, NULL, &passed, &error));
        if ((brought > 0) != rows[i].looks)
            fail_msg("row %zu: %d outputs brought, passed %d", i, brought, passed);
        assert_int_equal(passed, rows[i].passes);
        assert_int_equal(table.result->finding_count, 0);
    }
    close_bench(&b);
}

/* What one candidate leaves in its buffers, the next one cannot read, and neither can the oracle's
 * truth. The baseline's memory may serve again: before its batches every byte of it is written. */
static void candidates_get_new_memory(void **state)
{
    (void)state;
    bench b = {0};
    kf_error error = {0};
    kf_set_variation none = {-1, KF_VARY_NONE};
    bool chosen = false;
    open_bench(&b, KFORGE_SOURCE_DIR "/tasks/axpy", 1);
    const kf_buffer_operations *buffers = &b.device->operations->buffers;
    const size_t bytes = b.problem->arguments[1].bytes;
    for (int job = 0; job < 3; job++) {
        assert_true(buffers->fill(b.sets, 7, &none, NULL));
        for (int side = 0; side < 2; side++) {
            kf_role role = side ? KF_ROLE_BASELINE : KF_ROLE_CANDIDATE;
            assert_true(buffers->turn_to(b.sets, role, NULL));
            unsigned char *y = (void *)(uintptr_t)buffers->output(b.sets, 0, 1, NULL);
            if (side == 0)
                for (int at = -256; at < 0; at++) assert_int_equal(y[at], 0); /* no guard yet */
            assert_true(buffers->poison(b.sets, role, 8, NULL));
            assert_int_equal(inspect(&b, &chosen).kind, KF_DAMAGE_NONE);
            memset(y - 256, 0x5a, bytes + 512);
        }
        buffers->sets_free(b.sets);
        b.sets = buffers->sets_new(b.device, b.problem, 1, true, &error);
        if (!b.sets) fail_msg("%s", error.text);
    }
    close_bench(&b);
}

static void too_large_a_problem_is_refused(void **state)
{
    (void)state;
    bench b = {0};
    kf_error error = {0};
    open_bench(&b, KFORGE_SOURCE_DIR "/tasks/axpy", 1);
    b.problem->arguments[0].bytes = (uint64_t)1 << 44;
    assert_null(b.device->operations->buffers.sets_new(b.device, b.problem, 3, true, &error));
    assert_int_equal(error.code, KF_ERROR_LIMIT);
    assert_non_null(strstr(error.text, "device_params"));
    close_bench(&b);
}

/* ---- generated files, binaries --------------------------------------------------------------- */

static void the_shim_calls_the_entry(void **state)
{
    (void)state;
    kf_error error = {0};
    kf_task *task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    assert_non_null(task);
    char *shim = kf_build_shim(task, false), *oracle = kf_build_shim(task, true),
         *header = kf_build_prototype_header(task, true);
    assert_non_null(strstr(
        shim,
        "axpy((const float *)buffers[0], (float *)buffers[1], *(const float *)&scalars[2], *(const "
        "int64_t *)&scalars[3], stream);"));
    assert_non_null(
        strstr(oracle, "axpy_oracle((const float *)buffers[0], (double *)buffers[1], "));
    assert_non_null(strstr(header, "axpy_oracle("));
    /* The CPU device's own has no header of CUDA. */
    char *plain = kf_build_plain_shim(task, false);
    assert_non_null(strstr(plain, "void axpy(void *, void *, float, int64_t, void *);"));
    assert_null(strstr(plain, "cuda_runtime.h"));
    free(plain);
    free(shim);
    free(oracle);
    free(header);
    kf_task_free(task);
}

/* Builds axpy's baseline with headers and shims from that cache. */
static void build_with(const char *cache, const char *flag, char hash[KF_HASH_HEX])
{
    kf_error error = {0};
    kf_build result;
    kf_parallel *parallel = kf_parallel_new();
    kf_device *device = kf_device_cpu_open(parallel, cache, &error);
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", &error);
    kf_autofree char *directory = kf_directory_temporary("kforge-test", &error);
    if (!device || !task || !directory) fail_msg("%s", error.text);
    const kf_task_file *file = kf_task_baseline(task);
    kf_build_request request = {.task = task,
                                .source = file->text,
                                .size = file->size,
                                .name = "candidate.cu",
                                .flags = (const char *[]){flag, NULL},
                                .seconds = 60,
                                .directory = directory};
    if (!device->operations->build(device, &request, &result, &error)) fail_msg("%s", error.text);
    if (!result.ok) fail_msg("%s", result.reason);
    memcpy(hash, result.binary_hash, KF_HASH_HEX);
    kf_build_free(&result);
    kf_directory_remove(directory, NULL);
    device->operations->free(device);
    kf_parallel_free(parallel);
}

static void cxx20_has_a_header_of_its_own(void **state)
{
    (void)state;
    char hash[KF_HASH_HEX];
    kf_autofree char *cache = kf_directory_temporary("kforge-test", NULL);
    kf_autofree char *pattern = kf_path_join(cache, "headers/*/*-c++20/kforge_cpu.h.gch");
    glob_t found;
    assert_non_null(pattern);
    build_with(cache, "-std=c++17", hash);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
    build_with(cache, "-std=c++20", hash);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    globfree(&found);
    kf_directory_remove(cache, NULL);
}

/* Returns the time of the only shim in the cache. */
static struct timespec shim_time(const char *cache)
{
    glob_t found;
    struct stat status;
    kf_autofree char *pattern = kf_path_join(cache, "headers/*/shims/*");
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    assert_int_equal(stat(found.gl_pathv[0], &status), 0);
    globfree(&found);
    return status.st_mtim;
}

static void a_shim_is_compiled_once(void **state)
{
    (void)state;
    char without[KF_HASH_HEX], first[KF_HASH_HEX], second[KF_HASH_HEX];
    kf_autofree char *cache = kf_directory_temporary("kforge-test", NULL);
    assert_non_null(cache);
    build_with(NULL, NULL, without);
    build_with(cache, NULL, first);
    const struct timespec made = shim_time(cache);
    build_with(cache, NULL, second);
    const struct timespec later = shim_time(cache);
    assert_memory_equal(&later, &made, sizeof made);
    assert_string_equal(first, without);
    assert_string_equal(second, without);
    kf_directory_remove(cache, NULL);
}

/* The first cache cannot be written: its folder is a file. */
static void a_shim_is_compiled_after_a_failure(void **state)
{
    (void)state;
    char without[KF_HASH_HEX], with[KF_HASH_HEX];
    kf_autofree char *cache = kf_directory_temporary("kforge-test", NULL);
    kf_autofree char *file = cache ? kf_path_join(cache, "file") : NULL;
    assert_true(file && kf_file_write(file, "", 0, NULL));
    build_with(file, NULL, without);
    build_with(cache, NULL, with);
    shim_time(cache);
    assert_string_equal(with, without);
    kf_directory_remove(cache, NULL);
}

static void damaged_binaries_are_refused(void **state)
{
    (void)state;
    kf_error error = {0};
    size_t size;
    char hex[KF_HASH_HEX], other[KF_HASH_HEX];
    char *self = kf_file_read("/proc/self/exe", 256u << 20, &size, &error);
    if (!self) fail_msg("%s", error.text);
    assert_true(kf_elf_code_hash(self, size, hex, &error));
    assert_true(kf_elf_code_hash(self, size, other, &error));
    assert_string_equal(hex, other);
    for (size_t cut = 0; cut < size; cut += size / 97 + 1)
        assert_false(kf_elf_code_hash(self, cut, other, &error) && strcmp(hex, other) == 0 &&
                     cut < size / 2);
    /* Any byte of the header may have any value. No byte outside may be read (AddressSanitizer). */
    for (size_t at = 0; at < 64; at++)
        for (int value = 0; value < 256; value += 51) {
            char kept = self[at];
            self[at] = (char)value;
            kf_elf_code_hash(self, size, other, &error);
            self[at] = kept;
        }
    /* Behind the header, every byte counts. */
    for (size_t at = 64; at < size; at += size / 61) {
        self[at] ^= 1;
        assert_true(kf_elf_code_hash(self, size, other, &error));
        assert_string_not_equal(hex, other);
        self[at] ^= 1;
    }
    assert_false(kf_elf_code_hash("\177ELF", 4, other, &error));
    free(self);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Processors of a simulated machine, or 0. */
static long processors;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return processors && name == _SC_NPROCESSORS_ONLN ? processors : __real_sysconf(name);
}

/* While one job is measured, every second processor builds another, and 8 at most. */
static void builds_leave_processors_to_the_judge(void **state)
{
    (void)state;
    static const struct {
        long processors;
        size_t jobs;
    } rows[] = {{1, 2}, {2, 2}, {3, 2}, {4, 3}, {15, 8}, {16, 9}, {18, 9}, {256, 9}};
    kf_device device = {.slow_start = true};
    kf_judge some = {.device = &device};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        processors = rows[i].processors;
        assert_int_equal(kf_judge_jobs(&some), rows[i].jobs);
    }
    /* The CPU device measures on the processors that would build. */
    device.slow_start = false;
    assert_int_equal(kf_judge_jobs(&some), 1);
    processors = 0;
}

int test_program(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compilers_say_their_version),
        cmocka_unit_test(only_known_code_is_mapped),
        cmocka_unit_test(python_maps_known_code),
        cmocka_unit_test(many_libraries_are_found_in_any_order),
        cmocka_unit_test(a_task_names_libraries),
        cmocka_unit_test(many_mappings_take_little_time),
        cmocka_unit_test(secrets_are_drawn_from),
        cmocka_unit_test(permutations_are_fair),
        cmocka_unit_test(samples_stay_within_outputs),
        cmocka_unit_test(one_choice_does_not_tell_the_next),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(no_two_bits_cancel),
        cmocka_unit_test(loops_do_everything_once),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(sides_share_no_buffer),
        cmocka_unit_test(parts_of_inouts_are_written),
        cmocka_unit_test(sets_hold_what_the_secret_says),
        cmocka_unit_test(every_variation_gets_its_turn),
        cmocka_unit_test(one_call_is_varied_every_other_time),
        cmocka_unit_test(brief_answers_bring_nothing),
        cmocka_unit_test(candidates_get_new_memory),
        cmocka_unit_test(the_shim_calls_the_entry),
        cmocka_unit_test(a_shim_is_compiled_once),
        cmocka_unit_test(cxx20_has_a_header_of_its_own),
        cmocka_unit_test(a_shim_is_compiled_after_a_failure),
        cmocka_unit_test(too_large_a_problem_is_refused),
        cmocka_unit_test(damaged_binaries_are_refused),
        cmocka_unit_test(builds_leave_processors_to_the_judge),
    };
    return TEST_GROUP(tests, NULL, NULL);
}
