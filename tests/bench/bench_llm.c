/* Reads 256 streaming replies at once, in one thread. Each has some 39 events a second, 10,000 in
 * all, from tests/llm/server.py. Prints the client's use of memory and CPU. Fails if an event is
 * lost, or above the limits in docs/guide/models.md: 64 MiB resident, half a core.
 *
 * usage: bench_llm [STREAMS [EVENTS]]   EVENTS of each stream; default: 256 and 400 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kforge/file.h"
#include "llm.h"
#include "model_server.h"

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* "0 1 2 … " to `events`, nothing missing, nothing twice. */
static bool is_complete(const char *text, int events)
{
    char *end;
    for (int i = 0; i < events; i++, text = end)
        if (strtol(text, &end, 10) != i || end == text) return false;
    return strcmp(text, " ") == 0;
}

int main(int argc, char **argv)
{
    int streams = argc > 1 ? atoi(argv[1]) : 256, events = argc > 2 ? atoi(argv[2]) : 400,
        complete = 0, ended = 0;
    kf_error error = {0};
    char spec[200];
    model_server server = model_server_start();
    snprintf(spec, sizeof spec,
             "compatible,parallel=1024,retries=0:m@http://127.0.0.1:%d/paced-%d/v1", server.port,
             events);
    kf_llm *llm = kf_llm_open(spec, &error);
    double cpu = cpu_seconds(), start = kf_now();
    for (int i = 0; llm && i < streams; i++)
        if (!kf_llm_submit(
                llm,
                &(kf_llm_request){
                    .system = "Be good.", .prompt = "Count.", .temperature = -1, .tag = i},
                &error))
            break;
    while (llm && kf_llm_in_flight(llm) && kf_now() - start < 100) {
        kf_llm_reply reply;
        if (kf_llm_poll(llm, 1, &reply) != 1) continue;
        ended++;
        if (reply.outcome == KF_LLM_OK && is_complete(reply.text, events))
            complete++;
        else
            fprintf(stderr, "%s\n", reply.error.text);
        kf_llm_reply_free(&reply);
    }
    double seconds = kf_now() - start, used = cpu_seconds() - cpu;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    kf_llm_close(llm);
    model_server_stop(&server);
    if (error.code) fprintf(stderr, "%s\n", error.text);
    double streaming = seconds - 1; /* the server's events begin a second after the request */
    printf("llm streams %d complete %d events/s %.0f\n", streams, complete,
           (double)streams * events / streaming);
    printf("llm cpu %.1f %% of a core\nllm resident %.1f MiB\n", 100 * used / streaming,
           (double)usage.ru_maxrss / 1024);
    bool good = complete == streams && ended == streams && used / streaming < 0.5 &&
                usage.ru_maxrss <= 64 * 1024;
    if (!good) fprintf(stderr, "bench_llm: over the limits, or events were lost\n");
    return !good;
}
