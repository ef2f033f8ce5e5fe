/* A streaming server process records when it is about to send the last bytes of reply i. A worker,
 * the real protocol with a judge that runs nothing, records when the build of reply i would begin.
 * Both write to one shared file. The time in between is kforge's: the end of the stream, storing
 * the reply and its source, looking up known results, sending the job through the pipe, and the
 * worker's parsing. The search is the ordinary one with one call at a time, so that a worker is
 * free when a reply arrives. */
#include "reply_chain.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "kforge/store.h"
#include "worker.h"
#include "search.h"

#define REPLIES 100
#define EVENTS 30 /* of a reply, 1 ms apart */

typedef struct marks {
    double sent[REPLIES], begun[REPLIES];
} marks;

static marks *map(const char *path)
{
    kf_autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(marks)) != 0) return NULL;
    void *at = mmap(NULL, sizeof(marks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* ---- the worker ------------------------------------------------------------------------------ */

struct kf_judge {
    marks *marks;
};

const char *kf_judge_device(const kf_judge *judge)
{
    (void)judge;
    return "cpu";
}

const char *kf_judge_hardware(const kf_judge *judge)
{
    (void)judge;
    return "cpu, nothing is judged";
}

const char *kf_judge_environment_id(const kf_judge *judge)
{
    (void)judge;
    return "cpu, nothing is judged";
}

void kf_judge_watch(kf_judge *judge, void (*step)(void *context, const char *words), void *context)
{
    (void)judge;
    (void)step;
    (void)context;
}

cJSON *kf_judge_describe(const kf_judge *judge)
{
    (void)judge;
    return cJSON_CreateObject();
}

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stopped,
                         kf_error *error)
{
    double now = kf_now();
    (void)stopped;
    const char *at = strstr(job->source, "reply = ");
    long number = at ? strtol(at + 8, NULL, 10) : -1;
    if (number >= 0 && number < REPLIES && !(judge->marks->begun[number] > 0))
        judge->marks->begun[number] = now;
    kf_auto(kf_verdict) verdict = kf_verdict_new(job->id, kf_task_name(job->task), "cpu:0");
    kf_workload_verdict *workload = verdict ? kf_verdict_add_workload(verdict, "main", true) : NULL;
    if (!workload) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    kf_hash_hex(&hash, hex);
    kf_verdict_set_text(&verdict->source_hash, hex);
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(job->task));
    kf_verdict_set_text(&verdict->code_hash, hex);
    workload->status = KF_CORRECT;
    workload->speedup = (kf_interval){1, 0.99, 1.01};
    workload->baseline_seconds = workload->candidate_seconds = 1e-3;
    kf_verdict_conclude(verdict);
    return kf_steal(&verdict);
}

int serve_chain(const char *path)
{
    struct kf_judge judge = {.marks = map(path)};
    kf_error error = {0};
    static volatile int never;
    if (!judge.marks || !kf_worker_serve(&judge, 0, 1, &never, &error))
        return fprintf(stderr, "bench_reply: %s\n", error.text), 3;
    return 0;
}

/* ---- the server ------------------------------------------------------------------------------ */

static bool send_all(int fd, const char *text)
{
    size_t size = strlen(text);
    return kf_write_all(fd, text, size);
}

static bool send_event(int fd, const char *content, const char *finish)
{
    char event[512], chunk[600];
    int size = snprintf(event, sizeof event,
                        "data: "
                        "{\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%"
                        "s\"},\"finish_reason\":%s}]}\n\n",
                        content, finish);
    snprintf(chunk, sizeof chunk, "%x\r\n%s\r\n", (unsigned)size, event);
    return send_all(fd, chunk);
}

/* Reads one request. False if the connection has ended. */
static bool read_request(int fd)
{
    static char buffer[1 << 20];
    size_t size = 0, head = 0, body = 0;
    for (;;) {
        ssize_t got = read(fd, buffer + size, sizeof buffer - 1 - size);
        if (got <= 0) return false;
        buffer[size += (size_t)got] = '\0';
        char *end = strstr(buffer, "\r\n\r\n"), *length = strcasestr(buffer, "content-length:");
        if (end && !head)
            head = (size_t)(end - buffer) + 4, body = length ? strtoul(length + 15, NULL, 10) : 0;
        if (head && size >= head + body) return true;
        if (size == sizeof buffer - 1) return false;
    }
}

static bool reply(int fd, marks *m, int number)
{
    char code[64];
    bool sent = send_all(
        fd,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    sent = sent && send_event(fd, "Move: ", "null");
    for (int i = 0; i < EVENTS && sent; i++) {
        sent = send_event(fd, "word ", "null");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    snprintf(code, sizeof code, "\\n```cuda\\nvoid axpy() { float reply = %d; }\\n```\\n", number);
    sent = sent && send_event(fd, code, "null");
    if (number < REPLIES) m->sent[number] = kf_now();
    static const char last[] = "data: "
                               "{\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{},"
                               "\"finish_reason\":\"stop\"}],\"usage\":"
                               "{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
    char chunk[sizeof last + 32];
    snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n0\r\n\r\n", sizeof last - 1, last);
    return sent && send_all(fd, chunk);
}

static void serve_replies(int listener, marks *m)
{
    for (int number = 0;;) {
        kf_autoclose int fd = accept(listener, NULL, NULL);
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        while (read_request(fd) && reply(fd, m, number)) number++;
    }
}

static pid_t start_server(marks *m, int *port)
{
    kf_autoclose int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return -1;
    *port = ntohs(address.sin_port);
    pid_t pid = fork();
    if (pid != 0) return pid;
    signal(SIGPIPE, SIG_IGN);
    serve_replies(listener, m);
    _exit(0);
}

/* ---- both ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool run(const char *self, const char *folder, const char *marks_path, int port,
                kf_error *error)
{
    char worker[4096 + 64], model[128];
    kf_auto(kf_task) task = kf_task_load(KFORGE_SOURCE_DIR "/tasks/axpy", error);
    kf_autofree char *path = kf_path_join(folder, "chain.db");
    kf_auto(kf_store) store = task && path ? kf_store_open(path, KF_STORE_CREATE, error) : NULL;
    snprintf(worker, sizeof worker, "exec %s --worker %s", self, marks_path);
    snprintf(model, sizeof model, "bench@http://127.0.0.1:%d/v1", port);
    kf_auto(kf_workers) workers =
        store ? kf_workers_open((const char *const[]){worker}, 1,
                                &(kf_workers_options){.device = NULL}, error)
              : NULL;
    kf_search_settings settings = {.declared_flags = true,
                                   .seed = 1,
                                   .models = (const char *const[]){model},
                                   .model_count = 1,
                                   .calls = 1,
                                   .budget = {.requests = REPLIES}};
    settings.strategy = *kf_strategy_named("sample");
    kf_search_result result;
    return workers &&
           kf_search_run(store, task, NULL, &settings, workers, NULL, NULL, &result, error);
}

bool measure_chain(const char *self, double *median, kf_error *error)
{
    kf_autofree char *folder = kf_directory_temporary("kforge-bench-chain", error);
    kf_autofree char *path = folder ? kf_path_join(folder, "marks") : NULL;
    marks *m = path ? map(path) : NULL;
    int port = 0;
    pid_t server = m ? start_server(m, &port) : -1;
    bool done = server > 0 ? run(self, folder, path, port, error)
                           : kf_fail(error, KF_ERROR_MACHINE, "no server on 127.0.0.1");
    if (server > 0) kill(server, SIGKILL), waitpid(server, NULL, 0);
    double times[REPLIES];
    size_t count = 0;
    for (int i = 0; done && i < REPLIES; i++)
        if (m->sent[i] > 0 && m->begun[i] > 0) times[count++] = m->begun[i] - m->sent[i];
    if (m) munmap(m, sizeof *m);
    if (folder && !kf_directory_remove(folder, done ? error : NULL)) return false;
    if (!done) return false;
    if (count < REPLIES / 2)
        return kf_fail(error, KF_ERROR_INTERNAL, "only %zu of %d replies came to a build", count,
                       REPLIES);
    qsort(times, count, sizeof *times, by_size);
    *median = times[count / 2];
    printf("from the last byte of a reply to its build: median %.2f ms 95%% %.2f ms most %.2f ms "
           "of %zu replies\n",
           times[count / 2] * 1e3, times[count * 95 / 100] * 1e3, times[count - 1] * 1e3, count);
    return true;
}
