/* Measures the time from the last byte of a model's reply to its build. First measures storing the
 * reply alone: with a wait for the disk, as other records are stored, and as the search stores it.
 * Then measures the whole (reply_chain.c). Prints milliseconds. Fails if more than one in a hundred
 * of the search's writes takes over 5 ms, or if the median of the whole does.
 *
 * usage: bench_reply [FOLDER]   a folder on the disk to test; default: a temporary folder */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "kforge/store.h"
#include "reply_chain.h"

#define CALLS 200

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool put(kf_store *store, bool quick, int number, kf_error *error)
{
    char text[8001];
    snprintf(text, sizeof text, "%08000d", 2 * number + quick);
    bool (*begin)(kf_store *, kf_error *) = quick ? kf_store_begin_quick : kf_store_begin;
    kf_store_model_call_new call = {.provider = "bench",
                                    .model = "bench",
                                    .prompt = text,
                                    .prompt_size = strlen(text),
                                    .reply = text,
                                    .reply_size = strlen(text) / 2,
                                    .outcome = "ok",
                                    .prompt_tokens = -1,
                                    .completion_tokens = -1};
    return begin(store, error) && kf_store_put_model_call(store, &call, error) &&
           kf_store_commit(store, error);
}

int main(int argc, char **argv)
{
    kf_error error = {0};
    char self[4096] = "";
    if (argc == 3 && strcmp(argv[1], "--worker") == 0) return serve_chain(argv[2]);
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 3;
    kf_autofree char *folder =
        argc > 1 ? strdup(argv[1]) : kf_directory_temporary("kforge-bench", &error);
    kf_autofree char *path = folder ? kf_path_join(folder, "bench_reply.db") : NULL;
    kf_auto(kf_store) store = path ? kf_store_open(path, KF_STORE_CREATE, &error) : NULL;
    double times[CALLS];
    int late = 0;
    for (int quick = 0; store && quick < 2; quick++) {
        for (int i = 0; i < CALLS; i++) {
            double start = kf_now();
            if (!put(store, quick, i, &error)) break;
            times[i] = kf_now() - start;
            late += quick && times[i] > 0.005;
        }
        qsort(times, CALLS, sizeof *times, by_size);
        printf("reply %s median %.2f ms 95%% %.2f ms most %.2f ms\n", quick ? "stored" : "synced",
               times[CALLS / 2] * 1e3, times[CALLS * 95 / 100] * 1e3, times[CALLS - 1] * 1e3);
    }
    double whole = 0;
    if (!error.code) measure_chain(self, &whole, &error);
    if (error.code) fprintf(stderr, "%s\n", error.text);
    if (argc < 2 && folder) kf_directory_remove(folder, NULL);
    return error.code || late > CALLS / 100 || whole > 0.005;
}
