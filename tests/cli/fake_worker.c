/* A worker for the tests of the agent: the real protocol (worker.c, spool.c) with a judge that runs
 * nothing. The candidate names its own result, so that a test is a source and an expectation.
 * "#pragma fake: …" means the same. Use it where sources must differ in more than comments, which
 * the search ignores.
 *
 *   // fake: speed 1.5            the speedup, before tunables. nan: the pairs gave no figure.
 *                                 Default: a number between 0.8 and 1.8 that depends on source
 *                                 and flags
 *   // fake: optimum BLOCK 128    with -DBLOCK=V, the speedup falls by 20 % for each factor of 2
 *                                 between V and 128
 *   // fake: flag -O2 1.3         multiplies the speedup if the job has this flag
 *   // fake: verified 1.2         the speedup when measured with `verify`
 *   // fake: interval 0.1 9       the interval of the speedup, unless measured with `verify`
 *   // fake: wide 0.1 9           the same, always
 *   // fake: quick 0.1 9          the same, if the job asks for less than a second
 *   // fake: floor 0.97            the share of the physical limit
 *   // fake: disagree             `verify` finds that the two measurements disagree
 *   // fake: throttled 12:60:heat  the verdict has a flag of a throttled GPU
 *   // fake: status crash         any status of a verdict. With "again" instead of "status", only
 *                                 for `verify`
 *   // fake: inexact PATTERN     an output that is too inexact, with this pattern
 *   // fake: python crash         the status if the source is judged as Python
 *   // fake: code NAME            same machine code as every candidate with this NAME
 *   // fake: counters yes         counters of a memory-bound kernel, if the job asks for counters.
 *                                 A number in place of "yes": the part of device time in it
 *   // fake: sleep 0.2            seconds to judge
 *   // fake: until FILE           judging ends once FILE exists
 *   // fake: build 0.2            seconds to build
 *   // fake: build until FILE     building ends once FILE exists
 *   // fake: worker die           the worker ends without an answer. Others: hang, garbage,
 *                                 wrong-id, wrong-source, twice, endless, stop, kill
 *   // fake: once FILE            the `worker` line applies only until FILE exists, and then
 *                                 creates it
 *   // fake: times N FILE         the same N times, counted in the bytes of FILE
 *
 *   $FAKE_JOBS        jobs at a time
 *   $FAKE_SLEEP       seconds for every job
 *   $FAKE_JITTER      random additional seconds, at most; the seed is $FAKE_SEED and the process
 *   $FAKE_LOG         a file that gets a line for each job
 *   $FAKE_HARDWARE    the worker's hardware
 *   $FAKE_FREE        this many jobs are judged at once, of all workers with the same $FAKE_LOG.
 *                     Each later job begins and waits for the file $FAKE_GO
 *   $FAKE_CEILINGS    the device's bytes and operations a second
 *   $FAKE_EVENTS      a file for --events
 *   $FAKE_READABLE    the watch's poll says that the input is readable, even if it is not
 *   $FAKE_FAULT       while this file exists, each verdict is the machine's fault
 *
 * Usage: fake_worker [--spool DIR [--once] [--lease SECONDS]] [--mute] [--banner] */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kforge/buffer.h"
#include "kforge/file.h"
#include "kforge/hash.h"
#include "kforge/json.h"
#include "worker.h"
#include "health_check.h"

struct kf_judge {
    const char *hardware, *environment_id;
    void (*step)(void *context, const char *words);
    void *step_context;
    double sleep, jitter;
    unsigned short chance[3]; /* of erand48 */
};

static volatile int stop;

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&stop, 1, __ATOMIC_RELAXED);
}

const char *kf_judge_device(const kf_judge *judge)
{
    (void)judge;
    return "cpu";
}

const char *kf_judge_hardware(const kf_judge *judge)
{
    return judge->hardware;
}

const char *kf_judge_environment_id(const kf_judge *judge)
{
    return judge->environment_id;
}

void kf_judge_watch(kf_judge *judge, void (*step)(void *context, const char *words), void *context)
{
    judge->step = step;
    judge->step_context = context;
}

cJSON *kf_judge_describe(const kf_judge *judge)
{
    (void)judge;
    return cJSON_CreateObject();
}

/* Copies the rest of the first line "fake: WORD …" to `rest`. False without that line. */
static bool line_of(const char *source, const char *word, char *rest, size_t size)
{
    char start[64];
    snprintf(start, sizeof start, "fake: %s", word);
    const char *at = strstr(source, start);
    if (!at) return false;
    at += strlen(start);
    at += strspn(at, " ");
    snprintf(rest, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static bool nap(double seconds, const volatile int *stopped)
{
    double until = kf_now() + seconds;
    while (kf_now() < until) {
        if (stopped && __atomic_load_n(stopped, __ATOMIC_RELAXED)) return false;
        double left = until - kf_now(), piece = left < 0.01 ? left : 0.01;
        if (piece > 0) nanosleep(&(struct timespec){.tv_nsec = (long)(piece * 1e9)}, NULL);
    }
    return !stopped || !__atomic_load_n(stopped, __ATOMIC_RELAXED);
}

/* Naps until the file is there. */
static bool wait_for(const char *file, const volatile int *stopped)
{
    while (access(file, F_OK) != 0)
        if (!nap(0.002, stopped)) return false;
    return true;
}

static double chance_speed(const kf_job *job)
{
    kf_autobuffer text = {0};
    kf_buffer_string(&text, job->source);
    for (size_t i = 0; i < job->flag_count; i++) kf_buffer_format(&text, "\n%s", job->flags[i]);
    kf_hash hash = kf_hash_bytes(text.data, text.size);
    return 0.8 + (hash.bytes[0] * 256 + hash.bytes[1]) / 65536.0;
}

static double speed_of(const kf_job *job)
{
    char rest[256], name[64];
    double value, best;
    double speed =
        line_of(job->source, "speed", rest, sizeof rest) ? strtod(rest, NULL) : chance_speed(job);
    if (job->options.verify && line_of(job->source, "verified", rest, sizeof rest))
        return strtod(rest, NULL);
    for (const char *at = job->source; (at = strstr(at, "fake: optimum ")); at++) {
        if (sscanf(at, "fake: optimum %63s %lf", name, &best) != 2) continue;
        for (size_t i = 0; i < job->flag_count; i++) {
            size_t length = strlen(name);
            if (strncmp(job->flags[i], "-D", 2) == 0 &&
                strncmp(job->flags[i] + 2, name, length) == 0 &&
                sscanf(job->flags[i] + 2 + length, "=%lf", &value) == 1)
                speed *= pow(0.8, fabs(log2(value / best)));
        }
    }
    for (const char *at = job->source; (at = strstr(at, "fake: flag ")); at++) {
        char flag[128];
        double factor;
        if (sscanf(at, "fake: flag %127s %lf", flag, &factor) != 2) continue;
        for (size_t i = 0; i < job->flag_count; i++)
            if (strcmp(job->flags[i], flag) == 0) speed *= factor;
    }
    return speed;
}

/* Returns the job's number: how many lines the log had with its own. */
static size_t write_log(const kf_job *job)
{
    const char *path = getenv("FAKE_LOG");
    if (!path || strcmp(job->id, KF_HEALTH_CHECK_ID) == 0)
        return 0; /* a health check, not a client's job */
    kf_autobuffer line = {0};
    char hex[KF_HASH_HEX], data[4096];
    kf_hash hash = kf_hash_bytes(job->source, job->source_size);
    kf_hash_hex(&hash, hex);
    kf_buffer_format(&line, "%.12s %s %ld", hex, job->options.verify ? "verify" : "judge",
                     (long)getpid());
    for (size_t i = 0; i < job->flag_count; i++) kf_buffer_format(&line, " %s", job->flags[i]);
    kf_buffer_string(&line, "\n");
    kf_autoclose int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || !kf_write_all(fd, line.data, line.size)) return 0;
    off_t end = lseek(fd, 0, SEEK_CUR); /* of this line, whatever others append meanwhile */
    size_t number = 0;
    for (off_t at = 0; at < end;) {
        ssize_t got = pread(fd, data, sizeof data, at);
        if (got <= 0) return 0;
        for (ssize_t i = 0; i < got && at + i < end; i++) number += data[i] == '\n';
        at += got;
    }
    return number;
}

/* Later jobs than the free ones wait. False: stopped meanwhile. */
static bool is_let_through(size_t number, const volatile int *stopped)
{
    const char *free_jobs = getenv("FAKE_FREE"), *go = getenv("FAKE_GO");
    return !free_jobs || number <= strtoul(free_jobs, NULL, 10) || wait_for(go ? go : "", stopped);
}

/* True when the candidate's `worker` line counts for this job. */
static bool misbehaves(const kf_job *job, char *how, size_t size)
{
    char file[256];
    if (!line_of(job->source, "worker", how, size)) return false;
    int most, name = 0;
    if (line_of(job->source, "times", file, sizeof file) &&
        sscanf(file, "%d %n", &most, &name) == 1) {
        kf_autoclose int fd = open(file + name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        return fd >= 0 && lseek(fd, 0, SEEK_END) < most && kf_write_all(fd, "x", 1);
    }
    if (!line_of(job->source, "once", file, sizeof file)) return true;
    if (access(file, F_OK) == 0) return false;
    return kf_file_write(file, "x", 1, NULL);
}

static void misbehave(const char *how)
{
    if (strcmp(how, "die") == 0) _exit(3);
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "stop") == 0) raise(SIGSTOP);
    if (strcmp(how, "hang") == 0)
        for (;;) pause();
    if (strcmp(how, "garbage") == 0) kf_write_all(1, "?!\n", 3);
    static const char spaces[1 << 16] = "{";
    if (strcmp(how, "endless") == 0) {
        /* Signs of life would end the line, so they go elsewhere. */
        int out = dup(1);
        kf_autoclose int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (out >= 0 && nothing >= 0 && dup2(nothing, 1) == 1)
            while (kf_write_all(out, spaces, sizeof spaces)) continue;
    }
}

static void set_hash(char **field, const void *data, size_t size)
{
    char hex[KF_HASH_HEX];
    kf_hash hash = kf_hash_bytes(data, size);
    kf_hash_hex(&hash, hex);
    kf_verdict_set_text(field, hex);
}

static void set_hashes(kf_verdict *verdict, const kf_job *job, bool wrong_source)
{
    char name[256];
    kf_autobuffer code = {0};
    if (line_of(job->source, "code", name, sizeof name)) {
        kf_buffer_format(&code, "code %s", name);
    } else {
        kf_buffer_string(&code, job->source);
        for (size_t i = 0; i < job->flag_count; i++) kf_buffer_format(&code, "\n%s", job->flags[i]);
    }
    set_hash(&verdict->source_hash, job->source, job->source_size - wrong_source);
    set_hash(&verdict->code_hash, code.data, code.size);
    kf_verdict_set_text(&verdict->task_hash, kf_task_hash(job->task));
}

static bool fill(kf_verdict *verdict, const kf_job *job, const char *how)
{
    char rest[256];
    kf_status status;
    const char *fault = getenv("FAKE_FAULT");
    if (fault && access(fault, F_OK) == 0) {
        set_hashes(verdict, job, false);
        kf_verdict_set_text(&verdict->code_hash, "");
        return kf_verdict_add_finding(verdict, NULL, KF_JUDGE_ERROR, KF_BLAME_MACHINE,
                                      "judge.failed", NAN, NAN, "nvcc is on fire");
    }
    kf_workload_verdict *workload = kf_verdict_add_workload(verdict, "main", true);
    if (!workload) return false;
    set_hashes(verdict, job, strcmp(how, "wrong-source") == 0);
    bool given = line_of(job->source, "status", rest, sizeof rest) ||
                 (job->options.verify && line_of(job->source, "again", rest, sizeof rest)) ||
                 (job->options.torch && line_of(job->source, "python", rest, sizeof rest));
    if (given && kf_status_parse(rest, &status)) {
        bool machine = status == KF_INTERFERENCE, judge = status == KF_JUDGE_ERROR;
        kf_blame blame = machine ? KF_BLAME_MACHINE : judge ? KF_BLAME_JUDGE : KF_BLAME_CANDIDATE;
        if (status == KF_COMPILE_ERROR) {
            verdict->build = cJSON_CreateObject();
            cJSON_AddStringToObject(verdict->build, "log",
                                    "candidate.cu:1: error: as the test asked");
        }
        return kf_verdict_add_finding(verdict, status == KF_COMPILE_ERROR ? NULL : workload, status,
                                      blame, "fake", NAN, NAN, "as the test asked");
    }
    if (line_of(job->source, "inexact", rest, sizeof rest)) {
        kf_output_check *output = kf_workload_add_output(workload, "y");
        if (!output) return false;
        output->figures.compared = output->figures.mismatched = 64;
        snprintf(output->figures.pattern, sizeof output->figures.pattern, "%.60s", rest);
        return kf_verdict_add_finding(verdict, workload, KF_WRONG_RESULT, KF_BLAME_CANDIDATE,
                                      "output.inaccurate", NAN, NAN, "y: 64 of 64 elements");
    }
    double speed = job->options.check_only ? NAN : speed_of(job);
    workload->status = KF_CORRECT;
    workload->speedup = (kf_interval){speed, speed * 0.99, speed * 1.01};
    double low, high;
    bool quick = job->options.seconds > 0 && job->options.seconds < 1;
    if (((!job->options.verify && line_of(job->source, "interval", rest, sizeof rest)) ||
         (quick && line_of(job->source, "quick", rest, sizeof rest)) ||
         line_of(job->source, "wide", rest, sizeof rest)) &&
        sscanf(rest, "%lf %lf", &low, &high) == 2)
        workload->speedup = (kf_interval){speed, low, high};
    workload->pairs = job->options.check_only ? 0 : 8;
    workload->baseline_seconds = 1e-3;
    workload->candidate_seconds = 1e-3 / speed;
    if (line_of(job->source, "floor", rest, sizeof rest))
        workload->floor_seconds = strtod(rest, NULL) * workload->candidate_seconds;
    verdict->reverified =
        job->options.verify && !line_of(job->source, "disagree", rest, sizeof rest);
    if (job->options.verify && !verdict->reverified &&
        !kf_verdict_add_flag(verdict, "verify.disagrees:%.4f..%.4f", workload->speedup.low,
                             workload->speedup.high))
        return false;
    if (line_of(job->source, "throttled", rest, sizeof rest) &&
        !kf_verdict_add_flag(verdict, "clocks.throttled:%s:%s", workload->workload, rest))
        return false;
    return kf_workload_add_sample(
        workload,
        &(kf_sample){.side = 'b', .calls = 1, .seconds = 1e-3, .claimed = NAN, .clock_mhz = NAN});
}

/* Says which options were judged, as the real judge does. */
static void add_origin(kf_verdict *verdict, const kf_job *job)
{
    verdict->provenance = cJSON_CreateObject();
    cJSON *options = cJSON_AddObjectToObject(verdict->provenance, "options");
    cJSON_AddNumberToObject(options, "seconds", job->options.seconds);
    const char *ceilings = getenv("FAKE_CEILINGS");
    double bytes, flops;
    if (!ceilings || sscanf(ceilings, "%lf %lf", &bytes, &flops) != 2) return;
    cJSON *device = cJSON_AddObjectToObject(verdict->provenance, "device");
    cJSON_AddNumberToObject(device, "copy_bytes_per_second", bytes);
    cJSON_AddNumberToObject(device, "peak_flops_per_second", flops);
}

/* Adds device time of which so much is in the candidate's kernel, the rest in cuBLAS. */
static void add_work(cJSON *counters, double own)
{
    char text[600];
    snprintf(text, sizeof text,
             "{\"own\":%g,\"library\":%g,\"framework\":0,\"copies\":0,\"seconds\":1e-5,"
             "\"rows\":[{\"class\":\"own\",\"from\":\"own kernels\",\"name\":\"axpy_kernel\","
             "\"launches\":1,\"part\":%g},{\"class\":\"library\",\"from\":\"cuBLAS\","
             "\"name\":\"nvjet\",\"launches\":1,\"part\":%g}]}",
             own, 1 - own, own, 1 - own);
    cJSON_AddItemToObject(counters, "work", cJSON_Parse(text));
}

int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    bool readable = count == 3 && fds[2].fd >= 0 && getenv("FAKE_READABLE");
    int ready = __real_poll(fds, count, readable ? 10 : timeout);
    if (readable) fds[2].revents = POLLIN;
    return ready;
}

kf_verdict *kf_judge_run(kf_judge *judge, const kf_job *job, const volatile int *stopped,
                         kf_error *error)
{
    char rest[256], file[512], how[64] = "";
    double seconds =
        line_of(job->source, "sleep", rest, sizeof rest) ? strtod(rest, NULL) : judge->sleep;
    size_t number = write_log(job);
    if (!misbehaves(job, how, sizeof how)) how[0] = '\0';
    misbehave(how);
    if (judge->step) judge->step(judge->step_context, "timing fake, 1 of 1");
    if (!is_let_through(number, stopped) ||
        !nap(seconds + judge->jitter * erand48(judge->chance), stopped) ||
        (line_of(job->source, "until", file, sizeof file) && !wait_for(file, stopped))) {
        kf_fail(error, KF_ERROR_BUSY, "interrupted");
        return NULL;
    }
    kf_auto(kf_verdict) verdict = kf_verdict_new(strcmp(how, "wrong-id") == 0 ? "another" : job->id,
                                                 kf_task_name(job->task), "cpu:0");
    if (!verdict || !fill(verdict, job, how)) {
        kf_fail(error, KF_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    add_origin(verdict, job);
    char counters[256];
    if (job->options.counters && line_of(job->source, "counters", counters, sizeof counters)) {
        verdict->counters = cJSON_Parse("{\"kernels\":[{\"name\":\"axpy_kernel\",\"part\":1,"
                                        "\"grid\":[8,1,1],\"block\":[256,1,1],"
                                        "\"registers\":16,\"metrics\":{\"dram__throughput.avg.pct_"
                                        "of_peak_sustained_elapsed\":88}}]}");
        double own = strtod(counters, NULL);
        if (own > 0) add_work(verdict->counters, own);
    }
    verdict->judge_seconds = seconds;
    kf_verdict_conclude(verdict);
    if (strcmp(how, "twice") == 0) {
        kf_auto(cJSON) json = kf_verdict_to_json(verdict);
        kf_autofree char *text = cJSON_PrintUnformatted(json);
        kf_write_all(1, text, strlen(text));
        kf_write_all(1, "\n", 1);
    }
    return kf_steal(&verdict);
}

int main(int argc, char **argv)
{
    const char *spool = NULL, *hardware = getenv("FAKE_HARDWARE"),
               *sleep_text = getenv("FAKE_SLEEP");
    kf_spool_options options = {.poll_seconds = 0.02};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--spool") == 0 && i + 1 < argc)
            spool = argv[++i];
        else if (strcmp(argv[i], "--lease") == 0 && i + 1 < argc)
            options.lease_seconds = strtod(argv[++i], NULL);
        else if (strcmp(argv[i], "--once") == 0)
            options.once = true;
        else if (strcmp(argv[i], "--banner") == 0)
            puts("Welcome to this machine."), fflush(stdout);
        else if (strcmp(argv[i], "--mute") == 0)
            pause();
        else
            return fprintf(stderr, "fake_worker: unknown argument %s\n", argv[i]), 2;
    }
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    const char *environment_id = getenv("FAKE_CONDITIONS");
    const char *jitter = getenv("FAKE_JITTER"), *seed = getenv("FAKE_SEED");
    if (!hardware) hardware = "cpu test";
    struct kf_judge judge = {.hardware = hardware,
                             .environment_id = environment_id ? environment_id : hardware,
                             .sleep = sleep_text ? strtod(sleep_text, NULL) : 0,
                             .jitter = jitter ? strtod(jitter, NULL) : 0,
                             .chance = {seed ? (unsigned short)strtoul(seed, NULL, 10) : 0,
                                        (unsigned short)getpid(), 1}};
    kf_error error = {0};
    const char *events_text = getenv("FAKE_EVENTS");
    kf_event_stream *events = events_text ? kf_event_stream_open(events_text, &error) : NULL;
    options.events = events;
    bool served = spool ? kf_worker_spool(&judge, spool, &options, &stop, &error)
                        : kf_worker_serve(&judge, 0, 1, &stop, events, &error);
    kf_event_stream_close(events);
    if (!served) fprintf(stderr, "fake_worker: %s\n", error.text);
    return served ? 0 : 3;
}
