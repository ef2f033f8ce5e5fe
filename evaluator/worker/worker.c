/* A judge behind a pipe: one line in, one line out, and signs of life in between if the job asks
 * for them.
 *
 * If compilers do not disturb the device, the worker reads several jobs ahead, as many as its hello
 * says. Each job is built on a thread of its own. The judge stays on the thread that made it, and
 * measures a built job. So answers may come in another order than the jobs.
 *
 * The agent may vanish at any time (kill -9, a lost connection). End of file on the input only says
 * that no more jobs follow, since a shell pipeline may close it early. A vanished agent shows at
 * the output. A thread watches the output while the judge is busy, stops the judge, and writes the
 * signs of life. It also reads the input then, and stops the judge if its job is cancelled.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/cleanup.h"
#include "kforge/file.h"
#include "job_queue.h"
#include "kforge/json.h"
#include "worker_answer.h"
#include "parallel.h"

/* The longest time until `stop` is noticed. */
#define WATCH_MILLISECONDS 100
#define READ_BYTES 65536

/* ---- lines ----------------------------------------------------------------------------------- */

static char *print_line(cJSON *json, kf_error *error)
{
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    if (!text) kf_fail_memory(error, "an answer");
    return text;
}

char *kf_worker_hello(const kf_judge *judge, kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    bool made = cJSON_AddStringToObject(json, "schema", KF_HELLO_SCHEMA) &&
                cJSON_AddStringToObject(json, "device", kf_judge_device(judge)) &&
                cJSON_AddStringToObject(json, "hardware", kf_judge_hardware(judge)) &&
                cJSON_AddStringToObject(json, "conditions", kf_judge_environment_id(judge)) &&
                cJSON_AddStringToObject(json, "version", KFORGE_VERSION) &&
                cJSON_AddNumberToObject(json, "jobs", (double)kf_judge_jobs(judge)) &&
                cJSON_AddTrueToObject(json, "alive") && cJSON_AddTrueToObject(json, "cancel");
    cJSON *machine = made ? kf_judge_describe(judge) : NULL;
    if (machine && !cJSON_AddItemToObject(json, "machine", machine)) cJSON_Delete(machine);
    return print_line(made ? json : NULL, error);
}

char *kf_worker_refusal(const char *id, const kf_error *why, kf_error *error)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    kf_autofree char *clean = id ? kf_text_clean(id, strnlen(id, KF_JOB_ID_BYTES), true) : NULL;
    kf_autofree char *text = kf_text_clean(why->text, strlen(why->text), true);
    bool made =
        text && cJSON_AddStringToObject(json, "schema", KF_REFUSAL_SCHEMA) &&
        (clean ? cJSON_AddStringToObject(json, "id", clean) : cJSON_AddNullToObject(json, "id")) &&
        cJSON_AddStringToObject(json, "error", text);
    return print_line(made ? json : NULL, error);
}

/* True if a job for device `wanted` can run on device `have`. "cuda" is any GPU; "cpu" and "cpu:0"
 * are the same. */
static bool device_fits(const char *wanted, const char *have)
{
    size_t family = strcspn(wanted, ":");
    if (!*wanted || strcmp(wanted, have) == 0) return true;
    if (strcspn(have, ":") != family || strncmp(wanted, have, family) != 0) return false;
    return !wanted[family] || !have[family];
}

kf_job *kf_worker_read_job(const kf_judge *judge, const char *text, size_t size, const char *id,
                           char **refusal, kf_error *error)
{
    kf_error why = {0};
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "job", &why);
    const cJSON *given = cJSON_GetObjectItemCaseSensitive(json, "id");
    const char *name = id ? id : cJSON_IsString(given) ? given->valuestring : NULL;
    kf_auto(kf_job) job = json ? kf_job_from_json(json, &why) : NULL;
    bool fits = job;
    if (job && id && strcmp(job->id, id) != 0)
        fits = kf_fail(&why, KF_ERROR_INPUT,
                       "job: id: \"%s\" is not the name of the file that holds it", job->id);
    else if (job && !device_fits(job->device, kf_judge_device(judge)))
        fits = kf_fail(&why, KF_ERROR_INPUT, "job: device: this worker has %s, not %s",
                       kf_judge_device(judge), job->device);
    *refusal = fits ? NULL : kf_worker_refusal(name, &why, error);
    return fits ? kf_steal(&job) : NULL;
}

char *kf_worker_print(const kf_verdict *verdict, kf_error *error)
{
    kf_auto(cJSON) answer = kf_verdict_to_json(verdict);
    return print_line(answer, error);
}

/* ---- the input ------------------------------------------------------------------------------- */

typedef struct reader {
    int input;
    /* The bytes of the next lines so far. */
    kf_buffer line;
    /* The first bytes of `line`, in which there is no newline. */
    size_t looked;
    /* The first bytes of `line`, in which the watch looked for cancels, and those in which it found
     * no further newline. */
    size_t peeked, scanned;
    /* More bytes are not read ahead. */
    size_t most;
    /* True if the line is over the limit. Its rest is dropped. */
    bool overlong;
    bool ended;
    /* Of read(), or ENOMEM. 0: it works. */
    int failure;
} reader;

/* Reads some bytes, without waiting if the input is readable. */
static void read_some(reader *r)
{
    char data[READ_BYTES];
    ssize_t size = read(r->input, data, sizeof data);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size < 0) r->failure = errno;
    if (size <= 0) {
        r->ended = true;
        return;
    }
    kf_buffer_append(&r->line, data, (size_t)size);
    if (r->line.failed) r->failure = ENOMEM, r->ended = true;
}

/* True if more bytes may be read ahead. An agent sends no more jobs than its worker takes at a
 * time, so a cancel behind all of them is read. */
static bool has_room(const reader *r)
{
    return !r->ended && r->line.size <= r->most;
}

/* Lets the next search for cancels begin with the first line. */
static void search_anew(reader *r)
{
    r->peeked = r->scanned = 0;
}

/* Copies the id of a line that cancels a job. False for any other line. */
static bool read_cancel(const char *text, size_t size, char id[KF_JOB_ID_BYTES + 1])
{
    if (!memmem(text, size < 64 ? size : 64, KF_CANCEL_SCHEMA, strlen(KF_CANCEL_SCHEMA)))
        return false;
    kf_auto(cJSON) json = kf_json_parse(text, size, KF_JOB_BYTES, "cancel", NULL);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(json, "schema"),
                *given = cJSON_GetObjectItemCaseSensitive(json, "id");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, KF_CANCEL_SCHEMA) != 0) return false;
    snprintf(id, KF_JOB_ID_BYTES + 1, "%s", cJSON_IsString(given) ? given->valuestring : "");
    return true;
}

/* Finds the next whole line with a cancel from r->peeked on. Looks at each byte of a long line
 * once, since the judge may be timing meanwhile. */
static bool next_cancel(reader *r, char id[KF_JOB_ID_BYTES + 1])
{
    for (;;) {
        size_t from = r->scanned > r->peeked ? r->scanned : r->peeked;
        char *feed =
            r->line.size > from ? memchr(r->line.data + from, '\n', r->line.size - from) : NULL;
        r->scanned = feed ? (size_t)(feed - r->line.data) + 1 : r->line.size;
        if (!feed) return false;
        const char *text = r->line.data + r->peeked;
        r->peeked = r->scanned;
        if (read_cancel(text, (size_t)(feed - text), id)) return true;
    }
}

/* ---- the watch on the output ----------------------------------------------------------------- */

typedef struct watch {
    /* The flag of the caller. */
    const volatile int *stop;
    /* The caller's flag, or 1 without a reader of the output. */
    volatile int stopped;
    /* The judge's flag: `stopped`, or 1 if its job is cancelled. */
    volatile int halted;
    int output, wake[2];
    pthread_t thread;
    /* For the output and all below. */
    pthread_mutex_t mutex;
    /* As asked for by the jobs. 0: none. */
    double alive_seconds;
    /* When the last line was written. */
    double written;
    /* The job in work, and what is done with it. doing "": there is no job. */
    char id[KF_JOB_ID_BYTES + 1];
    char doing[64];
    /* `doing` is not written yet. */
    bool changed;
    /* The input while the judge measures, and NULL otherwise. */
    reader *reader;
} watch;

static bool write_text(watch *w, const char *text)
{
    w->written = kf_now();
    return kf_write_all(w->output, text, strlen(text)) && kf_write_all(w->output, "\n", 1);
}

static bool write_line(watch *w, const char *text, kf_error *error)
{
    if (!text) return false;
    pthread_mutex_lock(&w->mutex);
    bool written = write_text(w, text);
    int number = errno;
    pthread_mutex_unlock(&w->mutex);
    return written || kf_fail(error, KF_ERROR_IO, "writing a verdict: %s", strerror(number));
}

static char *print_alive(const watch *w)
{
    kf_auto(cJSON) json = cJSON_CreateObject();
    kf_autofree char *doing = kf_text_clean(w->doing, strlen(w->doing), true);
    bool made = doing && cJSON_AddStringToObject(json, "schema", KF_ALIVE_SCHEMA) &&
                cJSON_AddStringToObject(json, "id", w->id) &&
                cJSON_AddStringToObject(json, "doing", doing);
    return made ? cJSON_PrintUnformatted(json) : NULL;
}

/* Writes a sign of life if one is due, or if there is another step. Omits it if the reader is so
 * slow that a write could block.
 */
static void write_alive(watch *w)
{
    pthread_mutex_lock(&w->mutex);
    struct pollfd output = {.fd = w->output, .events = POLLOUT};
    /* A fifth earlier, because the next look is later. */
    bool due = w->changed || kf_now() - w->written >= 0.8 * w->alive_seconds;
    if (w->doing[0] && w->alive_seconds > 0 && due && poll(&output, 1, 0) == 1 &&
        output.revents == POLLOUT) {
        kf_autofree char *line = print_alive(w);
        if (line) write_text(w, line);
        w->changed = false;
    }
    pthread_mutex_unlock(&w->mutex);
}

/* Notes the job in work for signs of life. NULL: no job is in work. */
static void set_doing(watch *w, const kf_job *job, const char *doing)
{
    pthread_mutex_lock(&w->mutex);
    if (!job) doing = "";
    w->changed = w->changed || strcmp(w->doing, doing) != 0 || (job && strcmp(w->id, job->id) != 0);
    snprintf(w->doing, sizeof w->doing, "%s", doing);
    if (job) {
        snprintf(w->id, sizeof w->id, "%s", job->id);
        w->alive_seconds = job->alive_seconds;
    }
    pthread_mutex_unlock(&w->mutex);
}

/* Notes the judge's step. A kf_judge_watch function. */
static void take_step(void *context, const char *words)
{
    watch *w = context;
    pthread_mutex_lock(&w->mutex);
    w->changed = w->changed || strcmp(w->doing, words) != 0;
    snprintf(w->doing, sizeof w->doing, "%s", words);
    pthread_mutex_unlock(&w->mutex);
}

/* Returns the input to wait for. -1: there is no such input now. */
static int watched_input(watch *w)
{
    pthread_mutex_lock(&w->mutex);
    int input = w->reader && has_room(w->reader) ? w->reader->input : -1;
    pthread_mutex_unlock(&w->mutex);
    return input;
}

/* Halts the judge if its job is cancelled in what has been read. With the mutex held. */
static void read_cancels_of(watch *w)
{
    char id[KF_JOB_ID_BYTES + 1];
    while (next_cancel(w->reader, id))
        if (strcmp(id, w->id) == 0) __atomic_store_n(&w->halted, 1, __ATOMIC_RELAXED);
}

/* Reads without waiting. The main thread may have read what the watch saw, and have begun another
 * job since. A read that waits would hold the mutex. */
static void read_cancels(watch *w)
{
    pthread_mutex_lock(&w->mutex);
    struct pollfd input = {.fd = w->reader ? w->reader->input : -1, .events = POLLIN};
    if (poll(&input, 1, 0) == 1) {
        read_some(w->reader);
        read_cancels_of(w);
    }
    pthread_mutex_unlock(&w->mutex);
}

static void *watch_output(void *argument)
{
    watch *w = argument;
    for (;;) {
        struct pollfd fds[] = {{.fd = w->wake[0], .events = POLLIN},
                               {.fd = w->output},
                               {.fd = watched_input(w), .events = POLLIN}};
        poll(fds, 3, WATCH_MILLISECONDS);
        if (fds[0].revents) return NULL;
        if (fds[1].revents & (POLLERR | POLLHUP))
            __atomic_store_n(&w->stopped, 1, __ATOMIC_RELAXED);
        int asked = w->stop ? __atomic_load_n(w->stop, __ATOMIC_RELAXED) : 0;
        if (asked) __atomic_store_n(&w->stopped, asked, __ATOMIC_RELAXED);
        if (__atomic_load_n(&w->stopped, __ATOMIC_RELAXED)) {
            __atomic_store_n(&w->halted, 1, __ATOMIC_RELAXED);
            return NULL;
        }
        if (fds[2].revents) read_cancels(w);
        write_alive(w);
    }
}

static bool watch_start(watch *w, kf_error *error)
{
    if (pipe2(w->wake, O_CLOEXEC) < 0)
        return kf_fail(error, KF_ERROR_MACHINE, "no pipe: %s", strerror(errno));
    pthread_mutex_init(&w->mutex, NULL);
    int failed = kf_thread_start(&w->thread, NULL, watch_output, w);
    if (!failed) return true;
    pthread_mutex_destroy(&w->mutex);
    close(w->wake[0]);
    close(w->wake[1]);
    return kf_fail(error, KF_ERROR_MACHINE, "no thread: %s", strerror(failed));
}

static void watch_end(watch *w)
{
    /* The hang-up wakes the thread. */
    close(w->wake[1]);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->mutex);
    close(w->wake[0]);
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef enum reading { READ_LINE, READ_NOTHING, READ_END, READ_FAILED } reading;

/* Reads the next line. READ_LINE: r->line begins with a line of *length bytes without its newline.
 * READ_NOTHING, if not `wait`: there is no line yet. */
static reading read_line(reader *r, const watch *w, bool wait, size_t *length, kf_error *error)
{
    for (;;) {
        if (r->failure)
            return kf_fail(error, r->failure == ENOMEM ? KF_ERROR_MEMORY : KF_ERROR_IO,
                           "reading jobs: %s", strerror(r->failure)),
                   READ_FAILED;
        char *feed = r->line.size > r->looked
                         ? memchr(r->line.data + r->looked, '\n', r->line.size - r->looked)
                         : NULL;
        if (feed) {
            *length = (size_t)(feed - r->line.data);
            r->overlong = r->overlong || *length > KF_JOB_BYTES;
            return READ_LINE;
        }
        if (r->line.size > KF_JOB_BYTES) r->overlong = true, kf_buffer_free(&r->line);
        r->looked = r->line.size;
        if (r->peeked > r->looked || r->scanned > r->looked) search_anew(r);
        if (r->ended)
            return *length = r->line.size, r->line.size > 0 || r->overlong ? READ_LINE : READ_END;
        if (__atomic_load_n(&w->stopped, __ATOMIC_RELAXED)) return READ_END;
        struct pollfd fd = {.fd = r->input, .events = POLLIN};
        int ready = poll(&fd, 1, wait ? WATCH_MILLISECONDS : 0);
        if (ready <= 0 && !wait) return READ_NOTHING;
        if (ready <= 0) continue;
        read_some(r);
    }
}

static void drop_line(reader *r, size_t length)
{
    size_t used = length < r->line.size ? length + 1 : length;
    memmove(r->line.data, r->line.data + used, r->line.size - used);
    r->line.size -= used;
    r->peeked = r->peeked > used ? r->peeked - used : 0;
    r->scanned = r->scanned > used ? r->scanned - used : 0;
    r->looked = 0;
    r->overlong = false;
    /* A large job must not leave a large buffer. */
    if (r->line.size == 0) kf_buffer_free(&r->line);
}

static bool is_blank(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r", text[at]) && text[at]) at++;
    return at == size;
}

/* Answers a job that the agent cancelled. */
static bool refuse_cancelled(watch *w, const char *id, kf_error *error)
{
    kf_error why;
    kf_fail(&why, KF_ERROR_BUSY, "cancelled");
    kf_autofree char *refusal = kf_worker_refusal(id, &why, error);
    return write_line(w, refusal, error);
}

/* Removes a cancelled job from the queue and answers it. A job that is not there was answered. */
static bool cancel_queued(kf_job_queue *h, watch *w, const char *id, kf_error *error)
{
    for (size_t i = 0; i < h->count; i++) {
        if (strcmp(h->jobs[i].job->id, id) != 0) continue;
        kf_job_queue_remove(h, i);
        return refuse_cancelled(w, id, error);
    }
    return true;
}

/* Looks for cancels behind the jobs that a full queue leaves in the input. */
static bool cancel_ahead(kf_job_queue *h, reader *r, watch *w, kf_error *error)
{
    char id[KF_JOB_ID_BYTES + 1];
    if (h->count < h->most) return true;
    struct pollfd fd = {.fd = has_room(r) ? r->input : -1, .events = POLLIN};
    if (poll(&fd, 1, 0) == 1) read_some(r);
    while (next_cancel(r, id))
        if (!cancel_queued(h, w, id, error)) return false;
    return true;
}

/* Reads the jobs that have arrived. Waits for one only if the queue is empty. */
static reading take_in(kf_job_queue *h, reader *r, watch *w, kf_error *error)
{
    size_t length;
    reading got = READ_NOTHING;
    while (h->count < h->most &&
           (got = read_line(r, w, h->count == 0, &length, error)) == READ_LINE) {
        kf_error why;
        char id[KF_JOB_ID_BYTES + 1];
        kf_autofree char *refusal = NULL;
        kf_job *job = NULL;
        if (!r->overlong && read_cancel(r->line.data, length, id)) {
            drop_line(r, length);
            if (!cancel_queued(h, w, id, error)) return READ_FAILED;
            continue;
        }
        bool blank = !r->overlong && is_blank(r->line.data, length);
        kf_fail(&why, KF_ERROR_LIMIT, "job: more than %u bytes", KF_JOB_BYTES);
        if (r->overlong)
            refusal = kf_worker_refusal(NULL, &why, error);
        else if (!blank)
            job = kf_worker_read_job(h->judge, r->line.data, length, NULL, &refusal, error);
        drop_line(r, length);
        if (!blank && !job && !write_line(w, refusal, error)) return READ_FAILED;
        if (!job) continue;
        kf_job_queue_add(h, job, NULL);
        /* The agent learns that this job has begun. */
        set_doing(w, job, "compiling");
        write_alive(w);
        /* Its cancel may have been read already. */
        search_anew(r);
    }
    return got;
}

/* Lets the watch read the input, or takes it back (NULL). */
static void lend_reader(watch *w, reader *r)
{
    pthread_mutex_lock(&w->mutex);
    /* The watch looks for cancels of one job, and the queue has others. */
    search_anew(r ? r : w->reader);
    w->reader = r;
    if (r) {
        __atomic_store_n(&w->halted, __atomic_load_n(&w->stopped, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
        read_cancels_of(w);
    }
    pthread_mutex_unlock(&w->mutex);
}

static bool measure_one(kf_job_queue *h, reader *r, size_t at, watch *w, bool *stopped,
                        kf_error *error)
{
    kf_error failure = {0};
    char id[KF_JOB_ID_BYTES + 1];
    snprintf(id, sizeof id, "%s", h->jobs[at].job->id);
    set_doing(w, h->jobs[at].job, "measuring");
    lend_reader(w, r);
    kf_auto(kf_verdict) verdict = kf_job_queue_measure(h, at, &w->halted, &failure);
    lend_reader(w, NULL);
    kf_job_queue_remove(h, at);
    bool halted = !verdict && failure.code == KF_ERROR_BUSY;
    /* The agent gives an interrupted job to another worker. */
    *stopped = halted && __atomic_load_n(&w->stopped, __ATOMIC_RELAXED);
    if (*stopped) return true;
    if (halted) return refuse_cancelled(w, id, error);
    if (!verdict) return kf_fail_copy(error, &failure);
    kf_autofree char *answer = kf_worker_print(verdict, error);
    return write_line(w, answer, error);
}

static bool serve(kf_job_queue *h, reader *r, watch *w, kf_error *error)
{
    for (bool stopped = false; !stopped;) {
        set_doing(w, h->count ? h->jobs[0].job : NULL, "compiling");
        reading got = take_in(h, r, w, error);
        if (got == READ_FAILED || !cancel_ahead(h, r, w, error)) return false;
        if (!h->count && got != READ_END) continue;
        if (got == READ_END && (!h->count || __atomic_load_n(&w->stopped, __ATOMIC_RELAXED)))
            return true;
        int at = kf_job_queue_choose(h);
        if (at >= 0) {
            if (!measure_one(h, r, (size_t)at, w, &stopped, error)) return false;
            continue;
        }
        set_doing(w, h->jobs[0].job, "compiling");
        struct pollfd fds[] = {{.fd = h->built[0], .events = POLLIN},
                               {.fd = has_room(r) ? r->input : -1, .events = POLLIN}};
        poll(fds, 2, WATCH_MILLISECONDS);
    }
    return true;
}

bool kf_worker_serve(kf_judge *judge, int input, int output, const volatile int *stop,
                     kf_event_stream *events, kf_error *error)
{
    kf_autofree char *hello = kf_worker_hello(judge, error);
    watch w = {.stop = stop, .output = output};
    if (!hello || !watch_start(&w, error)) return false;
    kf_judge_watch(judge, take_step, &w);
    reader r = {.input = input};
    kf_job_queue h;
    bool served = write_line(&w, hello, error) && kf_job_queue_open(&h, judge, error);
    if (served) {
        h.events = events;
        r.most = (h.most + 1) * (size_t)KF_JOB_BYTES;
        served = serve(&h, &r, &w, error);
        kf_job_queue_close(&h);
    }
    kf_judge_watch(judge, NULL, NULL);
    watch_end(&w);
    kf_buffer_free(&r.line);
    return served;
}
