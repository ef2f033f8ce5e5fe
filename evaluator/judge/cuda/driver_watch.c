/* Watches calls into the driver. A call into the driver of a hanging GPU does not return, and even
 * SIGKILL may not interrupt it. So another thread checks regularly if the same call is still
 * running. It counts its checks, not seconds: a stopped process or a sleeping machine does not wait
 * for the driver.
 *
 * It does not affect timing. Runners load a driver of their own, which is not watched. A call of
 * the judge costs two stores to memory that no other thread writes. */
#include "driver_watch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kforge/gpu.h"
#include "parallel.h"

/* Checks in the time that a call may take. */
#define LOOKS 10

static void (*when_silent)(const char *text);
/* Odd while a call runs. */
static atomic_ulong calls;
static const char *_Atomic current;
static atomic_flag claimed = ATOMIC_FLAG_INIT;
static _Thread_local bool watched;

static double grace(void)
{
    const char *text = getenv("KFORGE_DRIVER_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds >= 0.1 && seconds <= 86400 ? seconds : KF_DRIVER_SECONDS;
}

static void *look(void *unused)
{
    (void)unused;
    char text[640];
    double seconds = grace(), pause = seconds / LOOKS;
    const struct timespec between = {.tv_sec = (time_t)pause,
                                     .tv_nsec = (long)((pause - (double)(time_t)pause) * 1e9)};
    unsigned long before = 0;
    for (int same = 0; same < LOOKS;) {
        nanosleep(&between, NULL);
        unsigned long now = atomic_load_explicit(&calls, memory_order_relaxed);
        same = now == before && now % 2 ? same + 1 : 0;
        before = now;
    }
    snprintf(text, sizeof text,
             "the NVIDIA driver does not answer: %s has not returned for %.0f s; look whether "
             "nvidia-smi answers and into dmesg "
             "for Xid, restart the machine; "
             "where starting takes so long, nvidia-persistenced, or a larger "
             "KFORGE_DRIVER_SECONDS; or --device cpu",
             atomic_load(&current), seconds);
    when_silent(text);
    return NULL;
}

void kf_gpu_on_silence(void (*handler)(const char *text))
{
    when_silent = handler;
}

/* The first thread that calls is watched. */
static void claim(void)
{
    pthread_t thread;
    if (!when_silent || atomic_flag_test_and_set(&claimed)) return;
    watched = kf_thread_start(&thread, NULL, look, NULL) == 0;
    if (watched) pthread_detach(thread);
}

void kf_gpu_enter(const char *call)
{
    if (!watched) claim();
    if (!watched) return;
    atomic_store_explicit(&current, call, memory_order_relaxed);
    atomic_store_explicit(&calls, atomic_load_explicit(&calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

void kf_gpu_leave(void)
{
    if (watched)
        atomic_store_explicit(&calls, atomic_load_explicit(&calls, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* ---- libcuda --------------------------------------------------------------------------------- */

/* The driver's functions as loaded. A library has one address for each function. */
static kf_cuda driver;

#define X(name, symbol, parameters, arguments)    \
    static cu_result watched_##name parameters    \
    {                                             \
        kf_gpu_enter(symbol);                     \
        cu_result answer = driver.name arguments; \
        kf_gpu_leave();                           \
        return answer;                            \
    }
KF_CUDA_FUNCTIONS(X)
#undef X

static void watch(kf_cuda *cuda)
{
    cu_result (*init)(unsigned flags) = cuda->init;
    driver = *cuda;
#define X(name, symbol, parameters, arguments) cuda->name = watched_##name;
    KF_CUDA_FUNCTIONS(X)
#undef X
    cuda->init = init;
}

bool kf_cuda_load_watched(kf_cuda *cuda, char *text, size_t size)
{
    kf_gpu_enter("cuInit");
    bool loaded = kf_cuda_load(cuda, text, size);
    kf_gpu_leave();
    if (loaded) watch(cuda);
    return loaded;
}
